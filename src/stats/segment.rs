//! Steps in a series of single values, whose noise may itself be correlated.

use super::{mean, median, real};

/// What one more step must bring, in units of n·ln of the variance of what one value does not tell of the next.
///
/// Calibrated by simulation, not derived: of series without a step, normal or heavy-tailed (t, 5 degrees of freedom), 20 to 200
/// long, at most 5 % show any, and at most 7 % where neighbouring values correlate by up to 0.6. `tests/calibration` holds it.
const PENALTY: f64 = 12.0;

/// A level lasts at least this many values: one alone cannot be told from noise.
const LEAST: usize = 2;

/// At most one step in this many values, and at most so many in all.
const VALUES_A_STEP: usize = 5;
const MOST_STEPS: usize = 15;

/// A single value this many times the noise away from its neighbours is named and left out.
const SINGLE: f64 = 5.0;

/// Correlation of neighbours at most; more cannot be told from one step after the other.
const CORRELATION: f64 = 0.95;

/// The standard deviation of a normal distribution in units of its median distance from the middle.
const NORMAL_MEDIAN: f64 = 1.4826;

/// What in a series deserves to be measured again, as places in it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Suspects {
    /// The first values of new levels.
    pub steps: Vec<usize>,
    /// Single values far from their neighbours: a step there and back, or a bad moment.
    pub singles: Vec<usize>,
}

/// Returns what looks like a step in a series in which some values may be missing; those are skipped, not filled.
///
/// Of all ways to cut the series into levels, for each number of cuts the one with the least squares is taken; what is left
/// of it is fitted as a process in which each value pulls the next along; and the number of cuts is that with the least
/// n·ln(variance) + 12 a cut. So a series that wanders is explained by its wandering, if that takes less.
pub fn suspects(series: &[Option<f64>]) -> Suspects {
    let known = series.iter().enumerate();
    let known: Vec<(usize, f64)> = known
        .filter_map(|(place, value)| Some((place, (*value)?)))
        .collect();
    let values: Vec<f64> = known.iter().map(|(_, value)| *value).collect();
    let singles = singles(&values);
    let calm = |place: &usize| !singles.contains(place);
    let kept: Vec<usize> = (0..values.len()).filter(calm).collect();
    let calm: Vec<f64> = kept.iter().map(|place| values[*place]).collect();
    Suspects {
        steps: steps(&calm)
            .into_iter()
            .map(|step| known[kept[step]].0)
            .collect(),
        singles: singles.into_iter().map(|single| known[single].0).collect(),
    }
}

/// Returns the noise of a series from its first differences, which steps and single values hardly move.
fn noise(values: &[f64]) -> f64 {
    let differences: Vec<f64> = values
        .windows(2)
        .map(|two| (two[1] - two[0]).abs())
        .collect();
    NORMAL_MEDIAN * median(&differences).unwrap_or(0.0) * std::f64::consts::FRAC_1_SQRT_2
}

/// Returns the values that lie far from two on either side of them, which agree better with each other.
fn singles(values: &[f64]) -> Vec<usize> {
    let noise = noise(values);
    let is_single = |place: &usize| {
        let [a, b, value, c, d] = values[place - 2..=place + 2] else {
            return false;
        };
        let around = median(&[a, b, c, d]).unwrap_or(value);
        let off = (value - around).abs();
        let apart = (f64::midpoint(a, b) - f64::midpoint(c, d)).abs();
        off > SINGLE * noise && apart < off / 2.0
    };
    (2..values.len().saturating_sub(2))
        .filter(is_single)
        .collect()
}

/// Returns where new levels begin.
fn steps(values: &[f64]) -> Vec<usize> {
    let most = (values.len() / VALUES_A_STEP).min(MOST_STEPS);
    let cost = |cuts: &Vec<usize>| {
        real(values.len()) * innovation(values, cuts).ln() + PENALTY * real(cuts.len())
    };
    let ways = ways_to_cut(values, most).into_iter();
    ways.min_by(|left, right| f64::total_cmp(&cost(left), &cost(right)))
        .unwrap_or_default()
}

/// Returns for each number of cuts up to `most` the cuts that leave the least squares, by dynamic programming.
fn ways_to_cut(values: &[f64], most: usize) -> Vec<Vec<usize>> {
    let squares = Squares::new(values);
    let end = values.len();
    // best[j]: the least squares of the first j values and the cuts that leave them.
    let mut best: Vec<Option<(f64, Vec<usize>)>> = (0..=end)
        .map(|j| (j >= LEAST).then(|| (squares.between(0, j), Vec::new())))
        .collect();
    let mut ways = Vec::new();
    for _ in 0..=most {
        ways.extend(best[end].as_ref().map(|(_, cuts)| cuts.clone()));
        best = (0..=end).map(|j| squares.one_more(&best, j)).collect();
    }
    ways
}

/// Sums from which the squares of any stretch follow.
struct Squares {
    sums: Vec<f64>,
    squares: Vec<f64>,
}

impl Squares {
    fn new(values: &[f64]) -> Self {
        let centre = mean(values).unwrap_or(0.0);
        let running = |of: &dyn Fn(f64) -> f64| {
            let add = |sum: &mut f64, value: &f64| {
                *sum += of(value - centre);
                Some(*sum)
            };
            std::iter::once(0.0)
                .chain(values.iter().scan(0.0, add))
                .collect()
        };
        Self {
            sums: running(&|value| value),
            squares: running(&|value| value * value),
        }
    }

    /// Returns the squares around the mean of the values from `first` up to `end`.
    fn between(&self, first: usize, end: usize) -> f64 {
        let sum = self.sums[end] - self.sums[first];
        self.squares[end] - self.squares[first] - sum * sum / real(end - first)
    }

    /// Returns the best way to cut the first `end` values once more than `best` does.
    fn one_more(
        &self,
        best: &[Option<(f64, Vec<usize>)>],
        end: usize,
    ) -> Option<(f64, Vec<usize>)> {
        let last = end.checked_sub(LEAST)?;
        let with = |cut: usize| Some((best[cut].as_ref()?.0 + self.between(cut, end), cut));
        let (squares, cut) = (0..=last)
            .filter_map(with)
            .min_by(|left, right| f64::total_cmp(&left.0, &right.0))?;
        let mut cuts = best[cut].as_ref()?.1.clone();
        cuts.push(cut);
        Some((squares, cuts))
    }
}

/// Returns the variance of what a value's distance from its level does not tell of the next one's.
fn innovation(values: &[f64], cuts: &[usize]) -> f64 {
    let starts = std::iter::once(0).chain(cuts.iter().copied());
    let ends = cuts.iter().copied().chain(std::iter::once(values.len()));
    let mut left = Vec::with_capacity(values.len());
    for (start, end) in std::iter::zip(starts, ends) {
        let level = mean(&values[start..end]).unwrap_or(0.0);
        left.extend(values[start..end].iter().map(|value| value - level));
    }
    let together: f64 = left.windows(2).map(|two| two[0] * two[1]).sum();
    let before: f64 = left
        .iter()
        .take(left.len().saturating_sub(1))
        .map(|one| one * one)
        .sum();
    let pull = if before > 0.0 {
        (together / before).clamp(0.0, CORRELATION)
    } else {
        0.0
    };
    let first = left
        .first()
        .map_or(0.0, |first| first * first * (1.0 - pull * pull));
    let rest: f64 = left
        .windows(2)
        .map(|two| (two[1] - pull * two[0]).powi(2))
        .sum();
    ((first + rest) / real(values.len())).max(f64::MIN_POSITIVE)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A quiet series of 40 values with spread 1, without anything in it.
    fn quiet() -> Vec<f64> {
        let noise = [0.4, -0.7, 0.1, 0.9, -0.3, 0.2, -0.8, 0.2, 1.1, -1.1];
        let mixed = |place: usize| noise[(place * 7 + place / 10 * 3) % 10];
        (0..40).map(mixed).collect()
    }

    fn whole(values: &[f64]) -> Vec<Option<f64>> {
        values.iter().copied().map(Some).collect()
    }

    #[test]
    fn nothing_is_suspected_in_noise_and_in_too_little() {
        assert_eq!(suspects(&whole(&quiet())), Suspects::default());
        assert_eq!(suspects(&[]), Suspects::default());
        assert_eq!(suspects(&[Some(1.0), None, Some(9.0)]), Suspects::default());
    }

    #[test]
    fn the_noise_of_first_differences_is_hardly_moved_by_steps() {
        // scipy 1.17: median_abs_deviation of the differences of both signs, scale="normal", / sqrt(2); 1.4826 is rounded.
        let values = [0.4, -0.7, 0.1, 0.9, -0.3, 0.2, -0.8, 0.2, 1.1, -1.1];
        assert!((noise(&values) - 1.048_358_082_507_530_5).abs() < 5e-5);
        let stepped = [values, values.map(|value| value + 100.0)].concat();
        assert!((noise(&stepped) / noise(&values) - 1.0).abs() < 0.1);
        assert!(noise(&[1.0]).abs() < 1e-12);
    }

    #[test]
    fn a_step_a_dip_and_a_single_value_are_told_apart() {
        let mut values = quiet();
        for value in &mut values[10..14] {
            *value -= 12.0;
        }
        for value in &mut values[30..] {
            *value += 9.0;
        }
        values[22] += 20.0;
        let found = suspects(&whole(&values));
        assert_eq!((found.steps, found.singles), (vec![10, 14, 30], vec![22]));
    }

    #[test]
    fn gaps_are_skipped_and_places_stay_those_of_the_series() {
        let mut values = quiet();
        for value in &mut values[20..] {
            *value += 9.0;
        }
        let mut series = whole(&values);
        for gap in [3, 4, 18, 19, 20, 35] {
            series[gap] = None;
        }
        assert_eq!(suspects(&series).steps, [21]);
    }

    #[test]
    fn the_best_cuts_are_found_among_all() {
        // By trying all: 12 values, up to two cuts.
        let values: Vec<f64> = quiet()[..12]
            .iter()
            .enumerate()
            .map(|(i, v)| v + real(i % 5))
            .collect();
        let squares = Squares::new(&values);
        let ways = ways_to_cut(&values, 2);
        let least = |cuts: &[usize]| {
            let borders = [&[0], cuts, &[12]].concat();
            borders
                .windows(2)
                .map(|two| squares.between(two[0], two[1]))
                .sum::<f64>()
        };
        let mut best = f64::INFINITY;
        for first in 2..=8 {
            for second in first + 2..=10 {
                best = best.min(least(&[first, second]));
            }
        }
        assert!((least(&ways[2]) - best).abs() < 1e-9);
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 32, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn scale_and_sign_change_nothing(
            values in prop::collection::vec(-4.0..4.0_f64, 0..40),
            scale in prop_oneof![Just(-1.0), 0.01..100.0_f64],
        ) {
            let scaled: Vec<f64> = values.iter().map(|value| value * scale).collect();
            prop_assert_eq!(suspects(&whole(&values)), suspects(&whole(&scaled)));
        }
    }
}
