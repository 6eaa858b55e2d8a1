//! A second opinion by resampling.

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;
use statrs::distribution::{ContinuousCDF, Normal};

use super::{mean, real, sorted};

/// Returns the bootstrap interval of a statistic that misses the true value with chance `level`, bias-corrected and accelerated;
/// none where the statistic cannot be taken of the values, of all but one of them or of a resample.
///
/// Efron (1987), in the form of Efron and Tibshirani (1993, chapter 14), as in scipy's `bootstrap(method="BCa")`. With few
/// values it is too narrow.
pub fn bca(
    values: &[f64],
    statistic: fn(&[f64]) -> Option<f64>,
    level: f64,
    resamples: usize,
    seed: u64,
) -> Option<(f64, f64)> {
    let found = statistic(values)?;
    let mut random = Pcg64::seed_from_u64(seed);
    let draw = |_| statistic(&resampled(values, &mut random));
    let drawn = sorted(&(0..resamples).map(draw).collect::<Option<Vec<f64>>>()?);
    let below = drawn.iter().filter(|one| **one < found).count();
    let equal = drawn
        .iter()
        .filter(|one| one.total_cmp(&found).is_eq())
        .count();
    let bias = (real(below) + real(equal) / 2.0) / real(resamples);
    if !(bias > 0.0 && bias < 1.0) {
        return None;
    }
    let normal = Normal::standard();
    let bias = normal.inverse_cdf(bias);
    let acceleration = acceleration(values, statistic)?;
    let end = |chance: f64| {
        let z = bias + normal.inverse_cdf(chance);
        // Beyond its pole the correction means nothing.
        let slope = Some(1.0 - acceleration * z).filter(|slope| *slope > 0.0)?;
        quantile(&drawn, normal.cdf(bias + z / slope))
    };
    Some((end(level / 2.0)?, end(1.0 - level / 2.0)?))
}

/// Draws as many values with replacement.
fn resampled(values: &[f64], random: &mut Pcg64) -> Vec<f64> {
    let draw = |_| values[random.random_range(0..values.len())];
    (0..values.len()).map(draw).collect()
}

/// Returns a sixth of the skewness of the statistic's jackknife values.
fn acceleration(values: &[f64], statistic: fn(&[f64]) -> Option<f64>) -> Option<f64> {
    let without = |place: usize| statistic(&[&values[..place], &values[place + 1..]].concat());
    let left: Vec<f64> = (0..values.len()).map(without).collect::<Option<_>>()?;
    let centre = mean(&left)?;
    let sum = |power: i32| -> f64 { left.iter().map(|one| (centre - one).powi(power)).sum() };
    let spread = sum(2);
    Some(if spread > 0.0 {
        sum(3) / (6.0 * spread.powf(1.5))
    } else {
        0.0
    })
}

/// Returns the value below which that share of sorted values lies, between the two nearest.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a place among the values"
)]
fn quantile(values: &[f64], share: f64) -> Option<f64> {
    let place = share * real(values.len().checked_sub(1)?);
    let low = values.get(place.floor() as usize)?;
    let high = values.get(place.ceil() as usize)?;
    Some(low + (high - low) * place.fract())
}

#[cfg(test)]
mod tests {
    use super::super::reference::differences;
    use super::*;

    #[test]
    fn the_interval_of_the_reference_agrees_with_scipy() {
        // scipy 1.17: bootstrap((d,), mean, method="BCa", n_resamples=1_000_000); 1 % of its width is allowed for the
        // chance of 50,000 resamples.
        let (low, high) = bca(&differences(), mean, 0.05, 50_000, 1).unwrap();
        let wanted = (-0.027_526_264_694, -0.019_733_704_881);
        let width = wanted.1 - wanted.0;
        assert!((low - wanted.0).abs() < 0.01 * width, "{low}");
        assert!((high - wanted.1).abs() < 0.01 * width, "{high}");
    }

    #[test]
    fn one_seed_gives_one_interval_and_swapping_mirrors_it_nearly() {
        let values = differences();
        let interval = bca(&values, mean, 0.05, 2000, 7).unwrap();
        assert_eq!(bca(&values, mean, 0.05, 2000, 7), Some(interval));
        let mirrored: Vec<f64> = values.iter().map(|value| -value).collect();
        let (low, high) = bca(&mirrored, mean, 0.05, 2000, 7).unwrap();
        let width = interval.1 - interval.0;
        assert!((low + interval.1).abs() < 0.01 * width);
        assert!((high + interval.0).abs() < 0.01 * width);
    }

    #[test]
    fn what_does_not_vary_or_is_too_little_has_no_interval() {
        assert_eq!(bca(&[], mean, 0.05, 100, 1), None);
        assert_eq!(bca(&[1.0], mean, 0.05, 100, 1), None);
        assert_eq!(bca(&[2.0; 5], mean, 0.05, 100, 1), Some((2.0, 2.0)));
    }
}
