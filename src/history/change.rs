//! Where a series over many nights changed its level, and how surely. Pure.

use crate::stats::{mann_whitney_p, mean, real, suspects, welch};

/// A series with fewer values than this can show no step.
pub(super) const LEAST: usize = 5;

/// Correlation of neighbours at most; more cannot be told from one step after the other.
const CORRELATION: f64 = 0.95;

/// A new level in a series of nights.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Step {
    /// The first night of the new level.
    pub(super) night: usize,
    /// The last one before it that has a value.
    pub(super) last: usize,
    /// Nights with a value at the level before and at the new one.
    pub(super) nights: (usize, usize),
    /// New level − level before.
    pub(super) effect: f64,
    /// p of Welch's test between the two, times the number of nights at which the step could have been; 1 where there are
    /// too few nights to test.
    pub(super) p: f64,
    /// p of the Mann–Whitney test between the two, as it is.
    pub(super) rank_p: f64,
}

/// Values between two steps, with their nights.
type Level = Vec<(usize, f64)>;

/// Returns the steps of a series; nights without a value are skipped.
///
/// The places are those of [`suspects`], which are calibrated under autocorrelation. Nights that follow each other are alike, so
/// the tests are of values less what the night before tells of them: each night pulls the next along with one
/// correlation, estimated from all levels together and made good for what their means took out of it.
pub(super) fn steps(series: &[Option<f64>]) -> Vec<Step> {
    let levels = levels(series);
    let places = real(levels.iter().map(Vec::len).sum::<usize>().saturating_sub(1));
    let pull = pull(&levels);
    let step = |two: &[Level]| {
        let (before, after) = (&two[0], &two[1]);
        let [left, right] = [before, after].map(values);
        let [own_left, own_right] = [&left, &right].map(|values| own(values, pull));
        Some(Step {
            night: after.first()?.0,
            last: before.last()?.0,
            nights: (before.len(), after.len()),
            effect: mean(&right)? - mean(&left)?,
            p: welch(&own_left, &own_right).map_or(1.0, |test| (test.p * places).min(1.0)),
            rank_p: mann_whitney_p(&own_left, &own_right).unwrap_or(1.0),
        })
    };
    levels.windows(2).filter_map(step).collect()
}

/// Cuts a series at its steps. Single values far from their neighbours are left out.
pub(super) fn levels(series: &[Option<f64>]) -> Vec<Level> {
    let found = suspects(series);
    let mut levels = vec![Level::new()];
    for (night, value) in series.iter().enumerate() {
        if found.steps.contains(&night) {
            levels.push(Level::new());
        }
        let level = levels
            .last_mut()
            .filter(|_| !found.singles.contains(&night));
        if let Some((level, value)) = level.zip(*value) {
            level.push((night, value));
        }
    }
    levels
}

fn values(level: &Level) -> Vec<f64> {
    level.iter().map(|(_, value)| *value).collect()
}

/// Returns how much of a night's distance from its level the next one shares.
fn pull(levels: &[Level]) -> f64 {
    let (mut together, mut all) = (0.0, 0.0);
    for level in levels {
        let values = values(level);
        let centre = mean(&values).unwrap_or(0.0);
        let left: Vec<f64> = values.iter().map(|value| value - centre).collect();
        together += left.windows(2).map(|two| two[0] * two[1]).sum::<f64>();
        all += left.iter().map(|one| one * one).sum::<f64>();
    }
    let found = if all > 0.0 { together / all } else { 0.0 };
    let nights: usize = levels.iter().map(Vec::len).sum();
    // A mean that is taken out of n values takes (1 + 3ρ) ÷ n of their correlation with it (Kendall 1954).
    let lost = (1.0 + 3.0 * found.max(0.0)) * real(levels.len()) / real(nights.max(1));
    (found + lost).clamp(0.0, CORRELATION)
}

/// Returns values less what each tells of the next, at the level where they were.
fn own(values: &[f64], pull: f64) -> Vec<f64> {
    if pull == 0.0 {
        return values.to_vec();
    }
    let own = |two: &[f64]| (two[1] - pull * two[0]) / (1.0 - pull);
    values.windows(2).map(own).collect()
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};
    use rand_pcg::Pcg64;

    use super::*;

    /// Returns nights of which each keeps so much of the one before.
    fn nights(count: usize, pull: f64, random: &mut Pcg64) -> Vec<Option<f64>> {
        let mut noise = || (0..12).map(|_| random.random::<f64>()).sum::<f64>() - 6.0;
        let mut state = noise();
        let mut next = || {
            state = pull * state + (1.0 - pull * pull).sqrt() * noise();
            Some(state)
        };
        (0..count).map(|_| next()).collect()
    }

    #[test]
    fn a_step_is_found_and_tested_across_nights_without_a_value() {
        let mut series = nights(40, 0.3, &mut Pcg64::seed_from_u64(1));
        for value in series[25..].iter_mut().flatten() {
            *value -= 8.0;
        }
        for gap in [3, 24, 25, 31] {
            series[gap] = None;
        }
        let found = steps(&series);
        let [step] = &found[..] else {
            panic!("{found:?}");
        };
        assert_eq!((step.last, step.night, step.nights), (23, 26, (23, 13)));
        assert!((step.effect + 8.0).abs() < 1.0);
        assert!(step.p < 1e-6 && step.rank_p < 1e-4);
    }

    #[test]
    fn two_nights_at_a_new_level_cannot_be_sure() {
        let mut series = nights(30, 0.0, &mut Pcg64::seed_from_u64(2));
        for value in series[28..].iter_mut().flatten() {
            *value += 12.0;
        }
        let found = steps(&series);
        assert_eq!(found.len(), 1);
        assert!(found[0].rank_p > 0.05);
    }

    #[test]
    fn nights_that_pull_each_other_along_raise_no_more_false_alarms() {
        for pull in [0.0, 0.6, 0.9] {
            let mut random = Pcg64::seed_from_u64(3);
            let sure = |step: &Step| step.p <= 0.05 && step.rank_p <= 0.05;
            let alarms = (0..200)
                .filter(|_| steps(&nights(60, pull, &mut random)).iter().any(sure))
                .count();
            assert!(alarms <= 10, "{alarms} of 200 with correlation {pull}");
        }
    }

    #[test]
    fn ten_nights_show_a_step_of_five_times_the_noise() {
        let mut random = Pcg64::seed_from_u64(9);
        let mut found = 0;
        for _ in 0..100 {
            let mut series = nights(50, 0.0, &mut random);
            for value in series[40..].iter_mut().flatten() {
                *value -= 5.0;
            }
            // The hardest that the correction over 20 series can ask.
            let sure =
                |step: &Step| step.night == 40 && step.p <= 0.05 / 20.0 && step.rank_p <= 0.05;
            found += usize::from(steps(&series).iter().any(sure));
        }
        assert!(found >= 95, "{found} of 100");
    }

    #[test]
    fn the_correlation_is_found_again() {
        for truth in [0.0, 0.5, 0.8] {
            let mut random = Pcg64::seed_from_u64(4);
            let found = (0..50).map(|_| {
                let series = nights(100, truth, &mut random);
                let level = series.into_iter().flatten().enumerate().collect();
                pull(&[level])
            });
            let found = mean(&found.collect::<Vec<_>>()).unwrap();
            // Negative estimates are taken for none, which lifts their mean where there is no correlation.
            assert!((found - truth).abs() < 0.06, "{found} for {truth}");
        }
    }

    #[test]
    fn nothing_has_no_steps() {
        assert_eq!(steps(&[]), []);
        assert_eq!(steps(&[None, None]), []);
        assert_eq!(steps(&[Some(1.0); 20]), []);
    }
}
