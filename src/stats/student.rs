//! The paired t test.

use statrs::distribution::{Continuous, ContinuousCDF, Normal, StudentsT};

use super::{mean, real, sd};

/// From this many degrees of freedom on, t is taken as normal: the two differ by less than a part in 100,000.
const NORMAL_FROM: f64 = 1e7;

/// The least level that a quantile is found for.
const FAINTEST: f64 = 1e-12;

/// What a paired t test found.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TTest {
    /// Mean difference.
    pub mean: f64,
    /// Standard deviation of the differences.
    pub sd: f64,
    /// How many differences.
    pub count: usize,
    /// Degrees of freedom of the standard deviation: those of its own, and what other samples add to them.
    pub freedom: f64,
    /// The statistic; infinite when the differences are all equal and not zero.
    pub t: f64,
    /// Two-sided p.
    pub p: f64,
}

/// Tests whether differences have mean zero; none of fewer than two, or where one of them is no finite number.
pub fn paired(differences: &[f64]) -> Option<TTest> {
    let (mean, sd) = (mean(differences)?, sd(differences)?);
    if !mean.is_finite() || !sd.is_finite() {
        return None;
    }
    let count = differences.len();
    Some(TTest::new(mean, sd, count, real(count - 1)))
}

impl TTest {
    /// Tests a mean against zero.
    pub(super) fn new(mean: f64, sd: f64, count: usize, freedom: f64) -> Self {
        let t = if mean == 0.0 {
            0.0
        } else {
            mean * real(count).sqrt() / sd
        };
        Self {
            mean,
            sd,
            count,
            freedom,
            t,
            p: two_sided_p(t, freedom),
        }
    }

    /// Returns the standard error of the mean.
    pub fn standard_error(&self) -> f64 {
        self.sd / real(self.count).sqrt()
    }

    /// Returns the interval that misses the true mean with chance `alpha`.
    pub fn interval(&self, alpha: f64) -> (f64, f64) {
        let half = quantile(alpha, self.freedom) * self.standard_error();
        (self.mean - half, self.mean + half)
    }

    /// Returns whether the interval at `alpha` lies inside ± `margin`.
    ///
    /// That is TOST, the two one-sided tests of Schuirmann (1987): both that the mean is above −margin and that it is below
    /// margin are shown, each at half of `alpha`.
    pub fn within(&self, alpha: f64, margin: f64) -> bool {
        let (low, high) = self.interval(alpha);
        -margin <= low && high <= margin
    }
}

/// Returns the chance that |t| is at least this great with that many degrees of freedom; 1 of no degrees.
pub fn two_sided_p(t: f64, freedom: f64) -> f64 {
    if t.is_nan() || freedom.is_nan() || freedom <= 0.0 {
        1.0
    } else if t.is_infinite() {
        0.0
    } else {
        2.0 * upper_tail(t.abs(), freedom)
    }
}

/// Returns the chance that t is at least this great; `freedom` must be more than 0.
fn upper_tail(t: f64, freedom: f64) -> f64 {
    match StudentsT::new(0.0, 1.0, freedom) {
        Ok(distribution) if freedom < NORMAL_FROM => distribution.sf(t),
        Ok(_) | Err(_) => Normal::standard().sf(t),
    }
}

/// Returns the value that |t| exceeds with chance `alpha`; infinite without degrees of freedom or when `alpha` is not
/// between 0 and 1.
///
/// The quantile of statrs is good to about three digits far out, so it is only where Newton's method begins. A level below
/// 1e-12 is taken as that: statrs cannot go much farther out, and the first of very many looks asks for less. Where Newton's
/// method fails (one degree of freedom, below 1e-7) it is infinite: nothing is concluded.
pub fn quantile(alpha: f64, freedom: f64) -> f64 {
    if freedom.is_nan() || freedom <= 0.0 || !(alpha > 0.0 && alpha < 1.0) {
        return f64::INFINITY;
    }
    let tail = alpha.max(FAINTEST) / 2.0;
    match StudentsT::new(0.0, 1.0, freedom) {
        Ok(distribution) if freedom < NORMAL_FROM => refined(tail, &distribution),
        Ok(_) | Err(_) => refined(tail, &Normal::standard()),
    }
}

/// Returns the value that a symmetric distribution exceeds with chance `tail`.
fn refined<D>(tail: f64, distribution: &D) -> f64
where
    D: Continuous<f64, f64> + ContinuousCDF<f64, f64>,
{
    let mut value = -distribution.inverse_cdf(tail);
    for _ in 0..8 {
        if !value.is_finite() {
            break;
        }
        let step = (distribution.sf(value) - tail) / distribution.pdf(value);
        value += step;
        if step.abs() <= 1e-14 * value.abs() {
            break;
        }
    }
    if value.is_finite() {
        value
    } else {
        f64::INFINITY
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::reference::{assert_close, differences};
    use super::*;

    #[test]
    fn the_paired_test_agrees_with_the_reference() {
        // Printed to 13 digits; statrs' incomplete beta function is good to about 1e-13.
        let test = paired(&differences()).unwrap();
        assert_close(test.t, -11.400_375_898_239_833, 1e-10);
        assert_close(test.p, 8.962_395_567_431e-06, 1e-9);
        let (low, high) = test.interval(0.05);
        assert_close(low, -0.027_236_299_073_893, 1e-10);
        assert_close(high, -0.017_878_709_155_589, 1e-10);
    }

    #[test]
    fn quantiles_agree_with_closed_forms_of_one_and_two_degrees() {
        // One degree: tan(π(½ − α/2)). Two degrees: u √(2 / (1 − u²)) with u = 1 − α.
        for alpha in [0.5, 0.05, 0.05 / 9.0, 1e-5] {
            let one = (std::f64::consts::PI * (0.5 - alpha / 2.0)).tan();
            assert_close(quantile(alpha, 1.0), one, 1e-9);
            let u: f64 = 1.0 - alpha;
            let two = u * (2.0 / (1.0 - u * u)).sqrt();
            assert_close(quantile(alpha, 2.0), two, 1e-9);
        }
    }

    #[test]
    fn within_is_two_one_sided_tests() {
        // scipy 1.17: the greater p of ttest_1samp(d, -margin, alternative="greater") and (d, margin, alternative="less").
        let test = paired(&differences()).unwrap();
        for (margin, p) in [
            (0.03, 0.003_531_077_618_580_079),
            (0.025, 0.128_438_115_395_611_6),
        ] {
            assert!(test.within(2.0 * p * (1.0 + 1e-9), margin));
            assert!(!test.within(2.0 * p * (1.0 - 1e-9), margin));
        }
    }

    #[test]
    fn equal_differences_leave_no_doubt_and_zeros_no_evidence() {
        let test = paired(&[0.5; 4]).unwrap();
        assert!(test.p <= 0.0 && test.interval(0.05) == (0.5, 0.5));
        let none = paired(&[0.0; 4]).unwrap();
        assert!(none.p >= 1.0 - 1e-12 && none.within(0.05, 0.001));
    }

    #[test]
    fn one_difference_is_no_test() {
        assert_eq!(paired(&[0.5]), None);
        assert!(quantile(0.05, 0.0).is_infinite());
        assert!(quantile(0.0, 5.0).is_infinite());
    }

    #[test]
    fn the_first_of_very_many_looks_may_have_next_to_no_level() {
        for exponent in 8..=300 {
            let level = 10.0_f64.powi(-exponent);
            for freedom in [1.0, 2.0, 3.0, 5.0, 8.5, 30.0, 200.0, 1e8] {
                let found = quantile(level, freedom);
                assert!(
                    found > quantile(1e-7, freedom) && (found.is_finite() || freedom < 2.0),
                    "{level} {freedom} {found}"
                );
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn the_quantile_inverts_the_tail(alpha in 1e-7..0.99_f64, freedom in 1.0..400.0_f64) {
            let back = two_sided_p(quantile(alpha, freedom), freedom);
            prop_assert!((back / alpha - 1.0).abs() < 1e-9, "{alpha} came back as {back}");
        }

        #[test]
        fn an_interval_excludes_zero_just_when_p_is_below_its_level(
            values in prop::collection::vec(-1.0..1.5_f64, 2..12),
            alpha in 0.001..0.5_f64,
        ) {
            let test = paired(&values).unwrap();
            prop_assume!((test.p / alpha - 1.0).abs() > 1e-9);
            let (low, high) = test.interval(alpha);
            prop_assert_eq!(low > 0.0 || high < 0.0, test.p < alpha);
        }
    }
}
