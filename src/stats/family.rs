//! Many small samples judged together: outlying values set aside, variances moderated by all.

use statrs::distribution::{Continuous, ContinuousCDF, Normal};

use super::{Prior, TTest, mean, median, real, sd, two_sided_p};

/// Level of the test for outlying values of one sample.
const OUTLYING: f64 = 0.003;

/// What samples of the same kind have in common.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Family {
    /// How much the inner values of each vary, which outlying ones cannot spoil.
    rough: Prior,
    /// How much those vary that were kept.
    prior: Prior,
}

/// What the values of one sample say.
#[derive(Debug, Clone, PartialEq)]
pub struct Tested {
    /// The values that count, in their order.
    pub kept: Vec<f64>,
    /// How many were set aside.
    pub aside: usize,
    /// The moderated t test of those that count.
    pub test: TTest,
}

impl Family {
    /// Learns from samples how much values vary.
    pub fn of<'sample>(samples: impl Iterator<Item = &'sample [f64]> + Clone) -> Self {
        let rough: Vec<(f64, f64)> = samples.clone().filter_map(rough_variance).collect();
        let rough = Prior::fit(&rough);
        let kept = samples.filter_map(|sample| variance(&kept(sample, &rough)));
        let prior = Prior::fit(&kept.collect::<Vec<_>>());
        Self { rough, prior }
    }

    /// Tests whether a sample has mean zero; none of fewer than two values, or where one of them is no finite number.
    pub fn test(&self, sample: &[f64]) -> Option<Tested> {
        if sample.iter().any(|value| !value.is_finite()) {
            return None;
        }
        let kept = kept(sample, &self.rough);
        let (own, freedom) = variance(&kept)?;
        let (variance, freedom) = self.prior.squeeze(own, freedom);
        Some(Tested {
            aside: sample.len() - kept.len(),
            test: TTest::new(mean(&kept)?, variance.sqrt(), kept.len(), freedom),
            kept,
        })
    }
}

/// Returns how many of so many values may be set aside: 1 of 4, 2 of 6, 3 of 8, 4 of 12.
fn most_aside(count: usize) -> usize {
    (count + 1) / 3
}

/// Returns the variance of values and its degrees of freedom.
fn variance(values: &[f64]) -> Option<(f64, f64)> {
    Some((sd(values)?.powi(2), real(values.len() - 1)))
}

/// Returns the values in the order of their distance from the median, nearest first.
fn by_distance(values: &[f64]) -> Vec<f64> {
    let centre = median(values).unwrap_or(0.0);
    let distance = |value: &f64| (value - centre).abs();
    let mut sorted = values.to_vec();
    sorted.sort_by(|left, right| f64::total_cmp(&distance(left), &distance(right)));
    sorted
}

/// Returns a variance that as many values as may be set aside cannot spoil: that of the others, made good for what a
/// normal distribution loses with so much of its tails.
fn rough_variance(values: &[f64]) -> Option<(f64, f64)> {
    let near = values.len() - most_aside(values.len());
    let (variance, freedom) = variance(&by_distance(values)[..near])?;
    let part = real(near) / real(values.len());
    let normal = Normal::standard();
    let cut = normal.inverse_cdf(f64::midpoint(1.0, part));
    let left = 1.0 - 2.0 * cut * normal.pdf(cut) / part;
    Some((variance / left, freedom))
}

/// Returns the values without those that lie too far out.
///
/// The generalised extreme studentised deviate of Rosner (1983), with the family's variance in it: of the k values
/// farthest from the median, the nearest is held against those inside it. The greatest k at which it lies too far out is
/// how many are set aside. They go on both sides alike, so a difference that is not there is not made.
fn kept(values: &[f64], rough: &Prior) -> Vec<f64> {
    let sorted = by_distance(values);
    let outlying = |aside: &usize| {
        let (inner, outer) = sorted.split_at(values.len() - aside);
        let (Some((own, freedom)), Some(centre)) = (variance(inner), mean(inner)) else {
            return false;
        };
        let (variance, freedom) = rough.squeeze(own, freedom);
        let error = (variance * (1.0 + 1.0 / real(inner.len()))).sqrt();
        let p = two_sided_p((outer[0] - centre) / error, freedom);
        p * real(inner.len() + 1) <= OUTLYING
    };
    let aside = (1..=most_aside(values.len())).rev().find(outlying);
    let mut outer = sorted[values.len() - aside.unwrap_or(0)..].to_vec();
    let mut kept = values.to_vec();
    kept.retain(
        |value| match outer.iter().position(|far| far.total_cmp(value).is_eq()) {
            Some(place) => {
                outer.swap_remove(place);
                false
            }
            None => true,
        },
    );
    kept
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::paired;
    use super::super::reference::{assert_close, differences};
    use super::*;

    /// Eight values around zero, nothing special about any.
    const QUIET: [f64; 8] = [0.4, -0.7, 0.1, 0.9, -0.3, 0.2, -0.8, 0.2];

    fn family(samples: &[Vec<f64>]) -> Family {
        Family::of(samples.iter().map(Vec::as_slice))
    }

    #[test]
    fn one_sample_alone_gives_the_plain_paired_test() {
        let values = differences();
        let tested = family(std::slice::from_ref(&values)).test(&values).unwrap();
        assert_eq!(Some(tested.test), paired(&values));
        assert_eq!((tested.kept, tested.aside), (values, 0));
    }

    #[test]
    fn values_far_out_are_set_aside_on_either_side_also_when_there_are_two() {
        for far in [[20.0, 30.0], [-20.0, -30.0], [25.0, -25.0]] {
            let mut values = QUIET.to_vec();
            (values[2], values[5]) = (far[0], far[1]);
            let tested = family(std::slice::from_ref(&values)).test(&values).unwrap();
            assert_eq!((tested.kept.len(), tested.aside), (6, 2));
            assert_eq!(tested.kept, [0.4, -0.7, 0.9, -0.3, -0.8, 0.2]);
        }
    }

    #[test]
    fn a_third_of_the_values_at_another_level_is_more_than_an_accident() {
        let mut values = QUIET.to_vec();
        for value in values.iter_mut().take(4) {
            *value += 30.0;
        }
        assert_eq!(
            family(std::slice::from_ref(&values))
                .test(&values)
                .unwrap()
                .aside,
            0
        );
    }

    #[test]
    fn the_family_knows_a_value_that_its_own_sample_cannot() {
        let mut values = QUIET[..4].to_vec();
        values[3] = 5.0;
        let alone = family(std::slice::from_ref(&values)).test(&values).unwrap();
        assert_eq!(alone.aside, 0);
        let mut samples = vec![QUIET.to_vec(); 8];
        samples.push(values.clone());
        assert_eq!(family(&samples).test(&values).unwrap().aside, 1);
    }

    #[test]
    fn two_equal_values_far_out_count_as_two() {
        let mut values = QUIET.to_vec();
        (values[0], values[7]) = (30.0, 30.0);
        assert_eq!(kept(&values, &Prior::NONE), QUIET[1..7]);
    }

    #[test]
    fn the_rough_variance_is_right_in_the_middle_of_a_normal_sample() {
        // 200 quantiles of the standard normal distribution, evenly spaced in chance: variance 1 but for the outermost ones.
        let normal = Normal::standard();
        let values: Vec<f64> = (0..200)
            .map(|place| normal.inverse_cdf((real(place) + 0.5) / 200.0))
            .collect();
        assert_close(rough_variance(&values).unwrap().0, 1.0, 0.02);
    }

    #[test]
    fn nothing_and_numbers_that_are_none_are_no_test() {
        let family = family(&[QUIET.to_vec()]);
        assert_eq!(family.test(&[]), None);
        assert_eq!(family.test(&[1.0]), None);
        assert_eq!(family.test(&[1.0, f64::NAN, 2.0]), None);
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn signs_scale_and_order_change_nothing_else(
            values in prop::collection::vec(-4.0..4.0_f64, 3..13),
            other in prop::collection::vec(-4.0..4.0_f64, 3..13),
            scale in prop_oneof![Just(-1.0), 0.01..100.0_f64],
        ) {
            let plain = family(&[values.clone(), other.clone()]).test(&values).unwrap();
            let mut scaled: Vec<f64> = values.iter().map(|value| value * scale).collect();
            let other: Vec<f64> = other.iter().map(|value| value * scale).collect();
            scaled.reverse();
            let again = family(&[other, scaled.clone()]).test(&scaled).unwrap();
            prop_assert_eq!(plain.aside, again.aside);
            prop_assert!((plain.test.mean * scale - again.test.mean).abs() <= 1e-9 * scale.abs());
            prop_assert!((plain.test.p - again.test.p).abs() <= 1e-9);
        }
    }
}
