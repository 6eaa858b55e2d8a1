//! Correction for looking at many pairs at once.

use super::real;

/// Returns Holm's step-down adjusted p values, in the order given.
///
/// The chance that any true null hypothesis is rejected at level alpha stays at most alpha, however the tests depend on
/// each other; neighbouring pairs share a version, so they do.
pub fn holm(values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|&left, &right| f64::total_cmp(&values[left], &values[right]));
    let mut adjusted = vec![1.0; values.len()];
    let mut greatest = 0.0_f64;
    for (rank, index) in order.into_iter().enumerate() {
        greatest = greatest.max(values[index] * real(values.len() - rank));
        adjusted[index] = greatest.min(1.0);
    }
    adjusted
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::reference::assert_close;
    use super::*;

    #[test]
    fn the_smallest_is_multiplied_most_and_the_order_is_kept() {
        // By hand: 0.01 × 4, then 0.02 × 3, then 0.03 × 2 (not less than the one before), then 0.04 × 1.
        let adjusted = holm(&[0.04, 0.01, 0.03, 0.02]);
        for (got, wanted) in adjusted.into_iter().zip([0.06, 0.04, 0.06, 0.06]) {
            assert_close(got, wanted, 1e-12);
        }
        assert!(holm(&[]).is_empty());
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn adjusted_values_are_no_smaller_in_the_same_order_and_at_most_bonferroni(
            values in prop::collection::vec(0.0..=1.0_f64, 1..30),
        ) {
            let adjusted = holm(&values);
            for left in 0..values.len() {
                prop_assert!(adjusted[left] >= values[left]);
                prop_assert!(adjusted[left] <= (values[left] * real(values.len())).min(1.0) + 1e-12);
                for right in 0..values.len() {
                    prop_assert!(values[left] > values[right] || adjusted[left] <= adjusted[right]);
                }
            }
        }
    }
}
