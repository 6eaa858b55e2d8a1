//! A second opinion by ranks: the estimate and the interval that belong to Wilcoxon's signed-rank test.

use statrs::distribution::{ContinuousCDF, Normal};

use super::rank::{EXACT_BELOW, chances};
use super::{median, real, sorted};

/// Returns the Hodges–Lehmann estimate of the centre, the median of the means of all pairs of values, each with itself too;
/// none of nothing.
///
/// Hodges and Lehmann (1963); R's `wilcox.test(conf.int = TRUE)` gives the same where it counts exactly.
pub fn hodges_lehmann(values: &[f64]) -> Option<f64> {
    median(&averages(values))
}

/// Returns the interval of the centre that misses it with chance `level` at most, whatever symmetric distribution the
/// values have; none where there are too few to say so at that level (below six at 5 %).
///
/// Its ends are Walsh averages, as many from either side as the signed-rank test allows (Tukey's; see Hollander and Wolfe).
/// From 60 values on that number is taken from the normal distribution.
pub fn walsh_interval(values: &[f64], level: f64) -> Option<(f64, f64)> {
    if values.iter().any(|value| !value.is_finite()) {
        return None;
    }
    let averages = sorted(&averages(values));
    let place = from_the_side(values.len(), level)?;
    let low = averages.get(place)?;
    let high = averages.get(averages.len().checked_sub(1 + place)?)?;
    Some((*low, *high))
}

/// Returns the means of all pairs of values, each with itself too.
fn averages(values: &[f64]) -> Vec<f64> {
    let with = |(place, first): (usize, &f64)| {
        let others = values[place..].iter();
        others
            .map(|second| f64::midpoint(*first, *second))
            .collect()
    };
    let all: Vec<Vec<f64>> = values.iter().enumerate().map(with).collect();
    all.concat()
}

/// Returns the greatest k for which a rank sum of at most k has chance `level` ÷ 2 at most; none if not even 0 has.
pub(super) fn from_the_side(count: usize, level: f64) -> Option<usize> {
    if count >= EXACT_BELOW {
        return approximate(count, level);
    }
    // Twice the ranks, as rank.rs counts them: every second chance is 0.
    let doubled: Vec<usize> = (1..=count).map(|rank| 2 * rank).collect();
    let mut below = 0.0;
    let fits = |chance: &f64| {
        below += chance;
        below <= level / 2.0
    };
    let chances = chances(&doubled);
    let fitting = chances.iter().step_by(2).copied();
    fitting.take_while(fits).count().checked_sub(1)
}

/// Returns the same by the normal distribution, with the correction for continuity.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the number is between 0 and that of the averages"
)]
fn approximate(count: usize, level: f64) -> Option<usize> {
    let n = real(count);
    let centre = n * (n + 1.0) / 4.0;
    let sd = (n * (n + 1.0) * (2.0 * n + 1.0) / 24.0).sqrt();
    let place = centre + Normal::standard().inverse_cdf(level / 2.0) * sd - 0.5;
    (place >= 0.0).then_some(place as usize)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::reference::{assert_close, differences};
    use super::super::signed_rank_p;
    use super::*;

    #[test]
    fn estimate_and_interval_agree_with_the_reference() {
        // scipy's sample of the project's reference table; the ends are the fourth averages from either side.
        let values = differences();
        assert_close(
            hodges_lehmann(&values).unwrap(),
            -0.021_257_023_060_852,
            1e-12,
        );
        let (low, high) = walsh_interval(&values, 0.05).unwrap();
        assert_close(low, -0.027_560_799_578_872, 1e-12);
        assert_close(high, -0.018_161_253_394_684, 1e-12);
    }

    #[test]
    fn five_values_say_nothing_at_five_percent_and_six_the_whole_range() {
        let values = [3.0, 1.0, 2.0, 5.0, 4.0, 6.0];
        assert_eq!(walsh_interval(&values[..5], 0.05), None);
        assert_eq!(walsh_interval(&values, 0.05), Some((1.0, 6.0)));
        assert_eq!(
            (hodges_lehmann(&[]), walsh_interval(&[], 0.05)),
            (None, None)
        );
        assert_eq!(walsh_interval(&[f64::NAN; 9], 0.05), None);
    }

    #[test]
    fn the_count_and_the_normal_form_meet() {
        // Of 1,770 averages; far out the normal form is on the safe side.
        for (level, most) in [(0.05, 2), (0.001, 10)] {
            let exact = from_the_side(EXACT_BELOW - 1, level).unwrap();
            let normal = approximate(EXACT_BELOW - 1, level).unwrap();
            assert!(
                (normal..=normal + most).contains(&exact),
                "{exact} {normal}"
            );
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn what_the_interval_leaves_out_the_test_rejects(
            values in prop::collection::vec(-9.0..9.0_f64, 6..20), shift in -9.0..9.0_f64,
        ) {
            let (low, high) = walsh_interval(&values, 0.05).unwrap();
            prop_assert!(low <= hodges_lehmann(&values).unwrap() && hodges_lehmann(&values).unwrap() <= high);
            let shifted: Vec<f64> = values.iter().map(|value| value - shift).collect();
            let p = signed_rank_p(&shifted).unwrap();
            prop_assert_eq!(shift < low || high < shift, p <= 0.05);
        }
    }
}
