//! The rules of tools that look for steps in a series with one value for each version.
//!
//! Each is written from its documentation and source, with its defaults. A series is of log speeds in units of its noise;
//! where a tool has a threshold in percent, the noise is taken as 2 %.

use harness::stats::{median, suspects, two_sided_p};

use super::{mean, real};

/// A rule that finds steps in a series.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Watch {
    /// This product.
    Harness,
    /// Otava, formerly Hunter: E-divisive with a t test, in windows of 50.
    Otava,
    /// rustc-perf: a change beyond Q3 + 3 (Q3 − Q1) of the 30 changes before it.
    RustcPerf,
    /// Perfherder: t above 7 between 12 values before and after.
    Perfherder,
    /// asv: the best fit by levels with least absolute deviations, then steps to slower of more than 5 %.
    Asv,
}

impl Watch {
    /// All of them, in the order of a table's columns.
    pub(crate) const ALL: [Self; 5] = [
        Self::Harness,
        Self::Otava,
        Self::RustcPerf,
        Self::Perfherder,
        Self::Asv,
    ];

    /// Returns what a table calls it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Harness => "Harness",
            Self::Otava => "Otava",
            Self::RustcPerf => "rustc-perf",
            Self::Perfherder => "Perfherder",
            Self::Asv => "asv",
        }
    }

    /// Returns the first places of new levels.
    pub(crate) fn steps(self, series: &[f64]) -> Vec<usize> {
        match self {
            Self::Harness => suspects(&series.iter().copied().map(Some).collect::<Vec<_>>()).steps,
            Self::Otava => otava(series),
            Self::RustcPerf => rustc_perf(series),
            Self::Perfherder => perfherder(series),
            Self::Asv => super::asv::steps(series),
        }
    }
}

/// Changes that rustc-perf looks back on, and the fewest that say anything.
const HISTORY: usize = 30;
const LEAST_HISTORY: usize = 10;

fn rustc_perf(series: &[f64]) -> Vec<usize> {
    let changes: Vec<f64> = series
        .windows(2)
        .map(|two| (two[1] - two[0]).abs())
        .collect();
    let is_outside = |place: &usize| {
        let mut before = changes[place.saturating_sub(HISTORY)..*place].to_vec();
        before.sort_by(f64::total_cmp);
        let (lower, upper) = before.split_at(before.len() / 2);
        let upper = &upper[before.len() % 2..];
        let (Some(first), Some(third)) = (median(lower), median(upper)) else {
            return false;
        };
        before.len() >= LEAST_HISTORY && changes[*place] > third + 3.0 * (third - first)
    };
    (0..changes.len())
        .filter(is_outside)
        .map(|place| place + 1)
        .collect()
}

/// Values that Perfherder needs on either side, the most it takes from before, and its threshold.
const WINDOW: usize = 12;
const MOST_BEFORE: usize = 24;
const T: f64 = 7.0;

fn perfherder(series: &[f64]) -> Vec<usize> {
    let mut scores = vec![0.0; series.len()];
    let mut quiet = 0;
    for place in 1..series.len() {
        let reach = quiet.clamp(WINDOW, MOST_BEFORE).min(place);
        let before: Vec<f64> = series[place - reach..place].iter().rev().copied().collect();
        let after = &series[place..(place + WINDOW).min(series.len())];
        scores[place] = weighted_t(&before, after);
        quiet = if scores[place] > T { 0 } else { quiet + 1 };
    }
    let peaks = |place: &usize| {
        let next = scores.get(place + 1).copied().unwrap_or(0.0);
        scores[*place] > T && scores[place - 1] <= scores[*place] && next <= scores[*place]
    };
    (WINDOW..(series.len() + 1).saturating_sub(WINDOW))
        .filter(peaks)
        .collect()
}

/// Returns |t| between two windows whose values count the less the farther they are away.
fn weighted_t(before: &[f64], after: &[f64]) -> f64 {
    let side = |values: &[f64]| {
        let count = real(values.len());
        let weight = |place: usize| (count - real(place)) / count;
        let weights: f64 = (0..values.len()).map(weight).sum();
        let weighted = values
            .iter()
            .enumerate()
            .map(|(place, value)| weight(place) * value);
        let level = weighted.sum::<f64>() / weights;
        let squares: f64 = values.iter().map(|value| (value - level).powi(2)).sum();
        let variance = if values.len() > 1 {
            squares / (count - 1.0)
        } else {
            0.0
        };
        (level, variance / count)
    };
    let ((before, own), (after, other)) = (side(before), side(after));
    (after - before).abs() / (own + other).sqrt()
}

/// Otava's window, its level and that of its first pass.
const SPAN: usize = 50;
const LEVEL: f64 = 0.001;
const WEAK_LEVEL: f64 = 0.01;

fn otava(series: &[f64]) -> Vec<usize> {
    let mut weak: Vec<usize> = Vec::new();
    let mut start = 0;
    while start < series.len() {
        let end = (start + SPAN).min(series.len());
        let found = divide(&series[start..end]);
        let last = found.last().map_or(0, |last| last + start);
        weak.extend(found.into_iter().map(|step| step + start));
        start = last.max(start + SPAN / 2);
    }
    weak.sort_unstable();
    weak.dedup();
    merge(series, weak)
}

/// Splits a window again and again where its parts differ most, while they differ surely.
fn divide(values: &[f64]) -> Vec<usize> {
    let mut cuts: Vec<usize> = Vec::new();
    loop {
        let borders = [&[0], cuts.as_slice(), &[values.len()]].concat();
        let splits = borders.windows(2).filter_map(|two| {
            let (gain, cut) = split(&values[two[0]..two[1]])?;
            Some((gain, two[0] + cut, two[0], two[1]))
        });
        let Some((_, cut, start, end)) = splits.max_by(|a, b| f64::total_cmp(&a.0, &b.0)) else {
            return cuts;
        };
        if pooled_p(&values[start..cut], &values[cut..end]) > WEAK_LEVEL {
            return cuts;
        }
        cuts.push(cut);
        cuts.sort_unstable();
    }
}

/// Returns where a stretch is split best and by how much the parts differ: the energy distance of Matteson and James (2014)
/// between what is before the cut and a stretch after it.
fn split(values: &[f64]) -> Option<(f64, usize)> {
    let count = values.len();
    // within[i][j]: the distances between all pairs of values from i up to j.
    let mut within = vec![vec![0.0; count + 1]; count + 1];
    for first in (0..count).rev() {
        let mut row = 0.0;
        for end in first + 1..=count {
            row += (values[first] - values[end - 1]).abs();
            within[first][end] = within[first + 1][end] + row;
        }
    }
    let spread = |first: usize, end: usize| match end - first {
        0 | 1 => 0.0,
        size => within[first][end] / real(size - 1),
    };
    let gain = |cut: usize, end: usize| {
        let (left, right) = (real(cut), real(end - cut));
        let between = within[0][end] - within[0][cut] - within[cut][end];
        2.0 / real(end) * (between - right * spread(0, cut) - left * spread(cut, end))
    };
    let cuts = (1..count).flat_map(|cut| (cut + 1..=count).map(move |end| (cut, end)));
    cuts.map(|(cut, end)| (gain(cut, end), cut))
        .max_by(|left, right| f64::total_cmp(&left.0, &right.0))
}

/// Takes away the weakest step until all differ surely.
fn merge(series: &[f64], mut cuts: Vec<usize>) -> Vec<usize> {
    loop {
        let borders = [&[0], cuts.as_slice(), &[series.len()]].concat();
        let p = borders
            .windows(3)
            .map(|three| pooled_p(&series[three[0]..three[1]], &series[three[1]..three[2]]));
        let weakest = p
            .enumerate()
            .max_by(|left, right| f64::total_cmp(&left.1, &right.1));
        match weakest {
            Some((place, p)) if p >= LEVEL => cuts.remove(place),
            Some(_) | None => return cuts,
        };
    }
}

/// Returns the p of Student's t with one variance for both, which Otava takes with n below the line.
fn pooled_p(left: &[f64], right: &[f64]) -> f64 {
    let (n, m) = (real(left.len()), real(right.len()));
    if n + m <= 2.0 {
        return 1.0;
    }
    let variance = |values: &[f64]| {
        let centre = mean(values);
        values
            .iter()
            .map(|value| (value - centre).powi(2))
            .sum::<f64>()
            / real(values.len())
    };
    let pooled = ((n - 1.0) * variance(left) + (m - 1.0) * variance(right)) / (n + m - 2.0);
    let t = (mean(left) - mean(right)) / (pooled * (1.0 / n + 1.0 / m)).sqrt();
    two_sided_p(t, n + m - 2.0)
}
