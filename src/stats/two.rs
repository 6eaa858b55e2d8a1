//! Two samples that have nothing to do with each other, and correction for many tests of which some may be false.

use statrs::distribution::{ContinuousCDF, Normal};

use super::{TTest, mean, real, sd, sorted};

/// Up to so many pairs of values the distribution of the rank sum is counted out; beyond, the normal one is close enough.
const COUNTED: usize = 400;

/// Tests whether two samples have the same mean, whatever their variances, with the degrees of freedom of Welch (1947) and
/// Satterthwaite (1946), as scipy's `ttest_ind(equal_var=False)`; none where one has fewer than two
/// values, or one that is no finite number. The mean is right − left, the count that of both, and the standard error that of
/// the difference.
pub fn welch(left: &[f64], right: &[f64]) -> Option<TTest> {
    if !left.iter().chain(right).all(|value| value.is_finite()) {
        return None;
    }
    let share = |values: &[f64]| Some(sd(values)?.powi(2) / real(values.len()));
    let (first, second) = (share(left)?, share(right)?);
    let both = first + second;
    let count = left.len() + right.len();
    let freedom = if both > 0.0 {
        both.powi(2)
            / (first.powi(2) / real(left.len() - 1) + second.powi(2) / real(right.len() - 1))
    } else {
        // Neither varies: then they differ or not, without any doubt.
        real(count - 2)
    };
    let sd = (both * real(count)).sqrt();
    Some(TTest::new(mean(right)? - mean(left)?, sd, count, freedom))
}

/// Returns the two-sided p of the Mann–Whitney test; none where a sample is empty.
///
/// Exact for small samples without ties, by the recurrence of Mann and Whitney (1947); otherwise by the normal distribution,
/// with the corrections for ties and continuity, as scipy's `mannwhitneyu`.
pub fn mann_whitney_p(left: &[f64], right: &[f64]) -> Option<f64> {
    let no_number = left.iter().chain(right).any(|value| value.is_nan());
    if left.is_empty() || right.is_empty() || no_number {
        return None;
    }
    let all = sorted(&[left, right].concat());
    let ties: Vec<usize> = all
        .chunk_by(|one, next| one.total_cmp(next).is_eq())
        .map(<[f64]>::len)
        .collect();
    let doubled = |one: &f64, other: &f64| {
        let order = other.total_cmp(one);
        usize::from(order.is_ge()) + usize::from(order.is_gt())
    };
    let against = |one: &f64| -> usize { right.iter().map(|other| doubled(one, other)).sum() };
    let wins: usize = left.iter().map(against).sum();
    let pairs = left.len() * right.len();
    // Twice the statistic, so that a draw is a whole number; the smaller of the two sides'.
    let doubled = wins.min(2 * pairs - wins);
    Some(if pairs <= COUNTED && ties.len() == all.len() {
        counted(left.len(), right.len(), doubled / 2)
    } else {
        approximate(pairs, &ties, doubled)
    })
}

/// Returns twice the share of all orders in which the statistic is at most `most`.
fn counted(first: usize, second: usize, most: usize) -> f64 {
    // ways[k]: orders of so many values of each sample in which the statistic is k. A sample's last value stands above
    // all those of the other, or the other's last value stands above it: Mann and Whitney's own recurrence.
    let mut rows = vec![vec![1.0]; second + 1];
    for taken in 1..=first {
        let mut next = vec![vec![1.0]];
        for other in 1..=second {
            let mut ways = vec![0.0; taken * other + 1];
            for (k, way) in next[other - 1].iter().enumerate() {
                ways[k] += way;
            }
            for (k, way) in rows[other].iter().enumerate() {
                ways[k + other] += way;
            }
            next.push(ways);
        }
        rows = next;
    }
    let ways = &rows[second];
    let all: f64 = ways.iter().sum();
    (2.0 * ways[..=most].iter().sum::<f64>() / all).min(1.0)
}

fn approximate(pairs: usize, ties: &[usize], doubled: usize) -> f64 {
    let count = real(ties.iter().sum());
    let cubes: f64 = ties.iter().map(|tie| real(*tie).powi(3) - real(*tie)).sum();
    let spread = count + 1.0 - cubes / (count * (count - 1.0));
    let sd = (real(pairs) / 12.0 * spread).sqrt();
    let off = real(pairs) / 2.0 - real(doubled) / 2.0 - 0.5;
    if off <= 0.0 || sd == 0.0 {
        return 1.0;
    }
    2.0 * Normal::standard().sf(off / sd)
}

/// Returns Benjamini and Hochberg's (1995) adjusted p values, as R's `p.adjust(method = "BH")`, in the order given: of those at most alpha, a share of alpha is false
/// on average, also where the tests depend on each other positively.
pub fn benjamini_hochberg(values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|&left, &right| f64::total_cmp(&values[right], &values[left]));
    let mut adjusted = vec![1.0; values.len()];
    let mut least = 1.0_f64;
    for (above, index) in order.into_iter().enumerate() {
        let rank = real(values.len() - above);
        least = least.min(values[index] * real(values.len()) / rank);
        adjusted[index] = least;
    }
    adjusted
}

#[cfg(test)]
mod tests {
    use super::super::reference::{assert_close, samples};
    use super::*;

    #[test]
    fn the_tests_agree_with_the_reference() {
        let (baseline, candidate) = samples();
        let [left, right] = [&baseline, &candidate]
            .map(|values| values.iter().map(|value| value.ln()).collect::<Vec<f64>>());
        let test = welch(&left, &right).unwrap();
        assert_close(test.t, -3.683_098_612_783_72, 1e-9);
        assert_close(test.freedom, 13.263_970_974, 1e-9);
        assert_close(test.p, 0.002_672_187_316_288, 1e-9);
        assert_close(
            mann_whitney_p(&left, &right).unwrap(),
            0.002_952_602_952_603,
            1e-9,
        );
    }

    #[test]
    fn few_values_are_counted_out() {
        // One order of 252 on either side.
        let p = mann_whitney_p(&[1.0, 2.0, 3.0, 4.0, 5.0], &[6.0, 7.0, 8.0, 9.0, 10.0]);
        assert_close(p.unwrap(), 2.0 / 252.0, 1e-12);
        assert_eq!(mann_whitney_p(&[], &[1.0]), None);
        assert_eq!(mann_whitney_p(&[1.0], &[1.0]), Some(1.0));
        assert_eq!(welch(&[1.0], &[1.0, 2.0]), None);
    }

    #[test]
    fn counts_and_ties_agree_with_scipy_whichever_sample_is_longer() {
        // scipy 1.17: mannwhitneyu, method="exact", then "asymptotic"; printed to 16 digits.
        let (few, more) = ([1.1, 3.2, 0.4], [2.5, 4.4, 5.1, 6.0, 7.3]);
        for (left, right) in [(&few[..], &more[..]), (&more, &few)] {
            assert_close(
                mann_whitney_p(left, right).unwrap(),
                0.071_428_571_428_571_42,
                1e-13,
            );
        }
        let left = [1.0, 2.0, 2.0, 3.0, 5.0, 5.0, 7.0, 8.0];
        let right = [2.0, 4.0, 5.0, 6.0, 8.0, 9.0, 9.0, 10.0, 11.0];
        assert_close(
            mann_whitney_p(&left, &right).unwrap(),
            0.052_818_400_770_548_85,
            1e-10,
        );
    }

    #[test]
    fn welch_of_unlike_sizes_agrees_with_scipy() {
        // scipy 1.17: ttest_ind(right, left, equal_var=False), with its df and confidence_interval(). The
        // incomplete beta function of statrs is good to 5e-9 here.
        let (left, right) = ([1.0, 2.0, 4.0, 8.0], [3.0, 3.5, 9.0, 12.0, 15.0, 2.0]);
        let test = welch(&left, &right).unwrap();
        assert_close(test.t, 1.363_072_063_779_337_7, 1e-12);
        assert_close(test.freedom, 7.934_736_854_413_432, 1e-12);
        assert_close(test.p, 0.210_279_185_166_305_02, 1e-8);
        let (low, high) = test.interval(0.05);
        assert_close(low, -2.545_381_324_839_351_8, 1e-7);
        assert_close(high, 9.878_714_658_172_687, 1e-7);
    }

    #[test]
    fn what_does_not_vary_is_in_no_doubt_and_what_is_no_number_says_nothing() {
        let p = |left: &[f64], right: &[f64]| welch(left, right).map(|test| test.p);
        assert_eq!(p(&[1.0, 1.0], &[2.0, 2.0]), Some(0.0));
        assert_eq!(p(&[1.0, 1.0], &[1.0, 1.0]), Some(1.0));
        assert_eq!(p(&[1.0, f64::NAN], &[1.0, 2.0]), None);
        assert_eq!(mann_whitney_p(&[1.0, f64::NAN], &[1.0, 2.0]), None);
    }

    #[test]
    fn many_values_and_ties_are_approximate() {
        let left: Vec<f64> = (0..30).map(f64::from).collect();
        let right: Vec<f64> = left.iter().map(|value| value + 3.5).collect();
        let doubled = 2 * 351;
        let near = approximate(900, &[1; 60], doubled);
        assert_close(mann_whitney_p(&left, &right).unwrap(), near, 1e-12);
        assert_close(near, counted(30, 30, 351), 0.01);
    }

    #[test]
    fn the_share_of_false_ones_is_bounded_step_by_step() {
        // By hand: 0.01 × 4 ÷ 1, 0.02 × 4 ÷ 2 and 0.03 × 4 ÷ 3 are 0.04; 0.5 × 4 ÷ 4.
        let adjusted = benjamini_hochberg(&[0.5, 0.01, 0.03, 0.02]);
        for (got, wanted) in adjusted.into_iter().zip([0.5, 0.04, 0.04, 0.04]) {
            assert_close(got, wanted, 1e-12);
        }
        assert!(benjamini_hochberg(&[]).is_empty());
        // scipy 1.17: false_discovery_control(ps), of values in no order.
        let values = [
            0.074, 0.001, 0.205, 0.039, 0.008, 0.042, 0.216, 0.041, 0.06, 0.212,
        ];
        let wanted = [
            0.105_714_285_714,
            0.01,
            0.216,
            0.084,
            0.04,
            0.084,
            0.216,
            0.084,
            0.1,
            0.216,
        ];
        for (got, wanted) in std::iter::zip(benjamini_hochberg(&values), wanted) {
            assert_close(got, wanted, 1e-11);
        }
    }
}
