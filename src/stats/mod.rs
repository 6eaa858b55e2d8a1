//! Numbers in, numbers out. Pure.
//!
//! Distributions come from statrs; what it lacks or has wrong (exact rank tests, a t quantile to full precision) is
//! written here. Nothing here knows of versions, sessions or reports.

mod bootstrap;
mod family;
mod holm;
mod kendall;
mod moderate;
mod power;
mod rank;
mod rehearsal;
mod segment;
mod sequential;
mod size;
mod student;
mod two;
mod walsh;

pub use bootstrap::bca;
pub use family::{Family, Tested};
pub use holm::holm;
pub use kendall::kendall_p;
pub use moderate::Prior;
pub use power::{Power, sd_interval, sessions_to_see, smallest_effect};
pub use rank::signed_rank_p;
pub use rehearsal::{Draws, Rehearsal, Rehearsed};
pub use segment::{Suspects, suspects};
pub use sequential::{Look, bounds, level_of};
pub use size::{Thresholds, sessions_until};
pub use student::{TTest, paired, quantile, two_sided_p};
pub use two::{benjamini_hochberg, mann_whitney_p, welch};
pub use walsh::{hodges_lehmann, walsh_interval};

/// Returns a count as a real number.
#[expect(
    clippy::cast_precision_loss,
    reason = "counts of sessions and windows stay far below 2^53"
)]
pub(crate) fn real(count: usize) -> f64 {
    count as f64
}

/// Returns the arithmetic mean; none of nothing.
pub fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / real(values.len()))
}

/// Returns the standard deviation with n − 1 below the line; none of fewer than two values.
pub fn sd(values: &[f64]) -> Option<f64> {
    if values.len() < 2 {
        return None;
    }
    let centre = mean(values)?;
    let squares: f64 = values.iter().map(|value| (value - centre).powi(2)).sum();
    Some((squares / real(values.len() - 1)).sqrt())
}

/// Returns the median, the mean of the middle two of an even number; none of nothing.
pub fn median(values: &[f64]) -> Option<f64> {
    let sorted = sorted(values);
    let upper = *sorted.get(sorted.len() / 2)?;
    if sorted.len() % 2 == 1 {
        return Some(upper);
    }
    sorted
        .get(sorted.len() / 2 - 1)
        .map(|lower| f64::midpoint(*lower, upper))
}

/// Returns the values in ascending order.
pub(crate) fn sorted(values: &[f64]) -> Vec<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted
}

#[cfg(test)]
pub(crate) mod reference {
    //! The samples of the project's reference table (values made with scipy 1.17).

    const BASELINE: [f64; 8] = [102.1, 99.8, 101.3, 100.4, 98.9, 103.0, 100.9, 99.5];
    const CANDIDATE: [f64; 8] = [98.7, 97.9, 99.6, 98.1, 97.0, 100.2, 98.8, 97.6];

    /// Returns the two samples.
    pub(crate) fn samples() -> ([f64; 8], [f64; 8]) {
        (BASELINE, CANDIDATE)
    }

    /// Returns ln candidate − ln baseline.
    pub(crate) fn differences() -> Vec<f64> {
        std::iter::zip(CANDIDATE, BASELINE)
            .map(|(candidate, baseline)| candidate.ln() - baseline.ln())
            .collect()
    }

    /// Asserts that two numbers agree to a relative tolerance.
    pub(crate) fn assert_close(got: f64, wanted: f64, tolerance: f64) {
        let error = (got - wanted).abs() / wanted.abs();
        assert!(error <= tolerance, "{got} is not {wanted}: {error:e} off");
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::reference::{assert_close, differences};
    use super::*;

    #[test]
    fn mean_and_sd_agree_with_the_reference() {
        // The reference is printed to 12 decimals: 5e-13 absolute, 2e-10 relative of the smaller one.
        let values = differences();
        assert_close(mean(&values).unwrap(), -0.022_557_504_114_741, 1e-10);
        assert_close(sd(&values).unwrap(), 0.005_596_504_630_567, 2e-10);
    }

    #[test]
    fn nothing_has_no_mean_and_one_value_has_no_spread() {
        assert_eq!(mean(&[]), None);
        assert_eq!(median(&[]), None);
        assert_eq!(sd(&[1.0]), None);
    }

    #[test]
    fn the_median_is_in_the_middle() {
        assert_eq!(median(&[3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), Some(2.5));
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn averages_lie_between_the_extremes(values in prop::collection::vec(-1e6..1e6_f64, 1..40)) {
            let sorted = sorted(&values);
            let (least, most) = (sorted[0] - 1e-6, sorted[sorted.len() - 1] + 1e-6);
            for average in [mean(&values), median(&values)] {
                let average = average.unwrap();
                prop_assert!(least <= average && average <= most);
            }
        }
    }
}
