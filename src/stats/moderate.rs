//! Variances of many small samples, each moderated by all of them (Smyth 2004, as in limma).

use statrs::function::gamma::digamma;

use super::{mean, median, real, sd};

/// Variances below this part of their median are taken as this part, so that equal values are no infinite evidence.
const FLOOR: f64 = 1e-5;

/// Part of the family's degrees of freedom that a moderated variance may have.
const POOLED_PART: f64 = 0.5;

/// What a family of variances says of one more: as much as `freedom` further values with variance `variance` would.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Prior {
    /// The variance that the family has in common.
    pub variance: f64,
    /// How much that counts, in degrees of freedom; infinite when the variances differ no more than chance makes them.
    pub freedom: f64,
    /// The degrees of freedom that the family has together.
    pub pooled: f64,
}

impl Prior {
    /// A prior that says nothing.
    pub const NONE: Self = Self {
        variance: 0.0,
        freedom: 0.0,
        pooled: 0.0,
    };

    /// Fits a prior to variances with their degrees of freedom, by the moments of their logarithms (limma's `fitFDist`).
    ///
    /// Each variance is taken as s0² times an F variable. Variances without freedom do not count, and fewer than two
    /// have nothing in common.
    pub fn fit(variances: &[(f64, f64)]) -> Self {
        let mut counted: Vec<(f64, f64)> = variances.to_vec();
        counted.retain(|(variance, freedom)| *freedom > 0.0 && variance.is_finite());
        let values: Vec<f64> = counted.iter().map(|(variance, _)| *variance).collect();
        let floor = FLOOR * median(&values).unwrap_or(0.0);
        if floor <= 0.0 {
            return Self::NONE;
        }
        for (variance, _) in &mut counted {
            *variance = variance.max(floor);
        }
        let Some((centre, excess)) = log_moments(&counted) else {
            return Self::NONE;
        };
        let (variance, freedom) = if excess <= 0.0 {
            let total: f64 = counted.iter().map(|(variance, _)| variance).sum();
            (total / real(counted.len()), f64::INFINITY)
        } else {
            let freedom = 2.0 * trigamma_inverse(excess);
            ((centre + log_bias(freedom)).exp(), freedom)
        };
        Self {
            variance,
            freedom,
            pooled: counted.iter().map(|(_, freedom)| freedom).sum(),
        }
    }

    /// Returns a variance moderated by the prior, and its degrees of freedom.
    ///
    /// As limma's `squeezeVar` and `eBayes` do it, but on the safe side in two points. A variance is never moderated
    /// below what it is: the prior takes all variances for draws of one distribution, and where a few versions vary more
    /// than the others it would flatter them. And the freedom is at most half of what the family has together (or its
    /// own), where limma stops at the whole: neighbours share a version, so their variances tell partly the same.
    pub fn squeeze(&self, variance: f64, freedom: f64) -> (f64, f64) {
        let total = self.freedom + freedom;
        if total <= 0.0 {
            return (variance, freedom);
        }
        let moderated = if self.freedom.is_infinite() {
            self.variance
        } else {
            (self.freedom * self.variance + freedom * variance) / total
        };
        let most = (POOLED_PART * self.pooled).max(freedom);
        (moderated.max(variance), total.min(most))
    }
}

/// Returns the mean logarithm of variances without what chance adds to it, and by how much their logarithms vary more
/// than chance makes them; none of fewer than two.
fn log_moments(variances: &[(f64, f64)]) -> Option<(f64, f64)> {
    let logs: Vec<f64> = variances
        .iter()
        .map(|(variance, freedom)| variance.ln() - log_bias(*freedom))
        .collect();
    let chance = variances.iter().map(|(_, freedom)| trigamma(freedom / 2.0));
    let chance = mean(&chance.collect::<Vec<_>>())?;
    Some((mean(&logs)?, sd(&logs)?.powi(2) - chance))
}

/// Returns by how much the mean logarithm of a chi-squared variable over its freedom lies from zero.
fn log_bias(freedom: f64) -> f64 {
    digamma(freedom / 2.0) - (freedom / 2.0).ln()
}

/// Returns the second derivative of ln Γ at x > 0: by recurrence up to 12, then by its asymptotic series.
fn trigamma(x: f64) -> f64 {
    let (mut x, mut sum) = (x, 0.0);
    while x < 12.0 {
        sum += 1.0 / (x * x);
        x += 1.0;
    }
    let square = 1.0 / (x * x);
    let tail = 1.0 / 6.0 - square * (1.0 / 30.0 - square * (1.0 / 42.0 - square * (1.0 / 30.0)));
    sum + 1.0 / x + square / 2.0 + square / x * tail
}

/// Returns the third derivative of ln Γ at x > 0.
fn tetragamma(x: f64) -> f64 {
    let (mut x, mut sum) = (x, 0.0);
    while x < 12.0 {
        sum -= 2.0 / (x * x * x);
        x += 1.0;
    }
    let square = 1.0 / (x * x);
    let tail = 0.5 - square * (1.0 / 6.0 - square * (1.0 / 6.0 - square * (3.0 / 10.0)));
    sum - square - square / x - square * square * tail
}

/// Returns the x with trigamma(x) = `value` > 0, by Newton's method on 1 ÷ trigamma, which is nearly straight.
fn trigamma_inverse(value: f64) -> f64 {
    if value > 1e7 {
        return 1.0 / value.sqrt();
    }
    if value < 1e-6 {
        return 1.0 / value;
    }
    let mut x = 0.5 + 1.0 / value;
    for _ in 0..50 {
        let now = trigamma(x);
        let step = now * (1.0 - now / value) / tetragamma(x);
        x += step;
        if -step / x < 1e-12 {
            break;
        }
    }
    x
}

#[cfg(test)]
mod tests {
    use super::super::reference::assert_close;
    use super::*;

    #[test]
    fn derivatives_of_ln_gamma_agree_with_the_reference() {
        // scipy.special.polygamma(1, x) and (2, x) of SciPy 1.17.
        for (x, first, second) in [
            (0.1, 101.433_299_150_792_75, -2_001.861_457_378_343_9),
            (0.5, 4.934_802_200_544_68, -16.828_796_644_234_316),
            (1.0, 1.644_934_066_848_226_6, -2.404_113_806_319_188),
            (3.5, 0.330_357_756_100_234_9, -0.108_204_051_641_727_4),
            (
                100.0,
                0.010_050_166_663_333_573,
                -0.000_101_004_999_833_350_01,
            ),
        ] {
            assert_close(trigamma(x), first, 1e-9);
            assert_close(tetragamma(x), second, 1e-8);
        }
    }

    #[test]
    fn trigamma_is_inverted() {
        for x in [0.01, 0.14, 0.5, 1.4, 10.5, 1000.5] {
            assert_close(trigamma_inverse(trigamma(x)), x, 1e-9);
        }
        assert_close(trigamma_inverse(1e8), 1e-4, 1e-3);
        assert_close(trigamma_inverse(1e-7), 1e7, 1e-3);
    }

    #[test]
    fn the_prior_agrees_with_the_formulas_of_fit_f_dist() {
        // The lines of limma's fitFDist (Smyth 2004, section 6.2) written with scipy.special.polygamma of SciPy 1.17.
        let equal_freedom: Vec<(f64, f64)> =
            [0.5, 1.0, 2.0, 4.0, 8.0, 1.5].map(|v| (v, 7.0)).to_vec();
        let prior = Prior::fit(&equal_freedom);
        assert_close(prior.variance, 1.689_877_602_559_238_4, 1e-8);
        assert_close(prior.freedom, 4.002_933_977_150_333, 1e-8);
        let unequal = [(0.2, 3.0), (3.0, 5.0), (1.0, 7.0), (10.0, 7.0), (0.7, 4.0)];
        let prior = Prior::fit(&unequal);
        assert_close(prior.variance, 0.995_040_218_745_457_8, 1e-8);
        assert_close(prior.freedom, 2.187_634_870_186_651, 1e-8);
    }

    #[test]
    fn variances_that_differ_less_than_by_chance_are_pooled() {
        let prior = Prior::fit(&[(1.0, 7.0), (1.1, 7.0), (0.9, 7.0), (1.05, 7.0)]);
        assert!(prior.freedom.is_infinite());
        assert_close(prior.variance, 1.0125, 1e-12);
        // Half of 28 degrees of freedom; the own variance where it is the larger one.
        assert_eq!(prior.squeeze(0.5, 7.0), (prior.variance, 14.0));
        assert_eq!(prior.squeeze(5.0, 7.0), (5.0, 14.0));
    }

    #[test]
    fn a_moderated_variance_lies_between_its_own_and_the_common_one_and_never_below_its_own() {
        let prior = Prior {
            variance: 2.0,
            freedom: 3.0,
            pooled: 63.0,
        };
        assert_eq!(prior.squeeze(1.0, 7.0), (1.3, 10.0));
        assert_eq!(prior.squeeze(4.0, 7.0), (4.0, 10.0));
    }

    #[test]
    fn one_variance_has_nothing_in_common_with_others() {
        assert_eq!(Prior::fit(&[(1.0, 7.0)]), Prior::NONE);
        assert_eq!(Prior::fit(&[(0.0, 7.0), (0.0, 7.0)]), Prior::NONE);
        assert_eq!(Prior::NONE.squeeze(1.5, 7.0), (1.5, 7.0));
    }
}
