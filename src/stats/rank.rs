//! Wilcoxon's signed-rank test, counted out or by the normal distribution.

use super::real;

/// From this many differences on the normal approximation serves: its error is then far below any level in use.
pub(super) const EXACT_BELOW: usize = 60;

/// Returns the two-sided p of Wilcoxon's signed-rank test that the differences lie around zero.
///
/// Zeros are left out and ties share their mean rank. Below 60 differences the null distribution is counted, ties
/// included; from there on it is taken as normal. None when no difference is left. Wilcoxon (1945), as scipy's
/// `wilcoxon(zero_method="wilcox", correction=False)`, whose exact form leaves ties out.
pub fn signed_rank_p(differences: &[f64]) -> Option<f64> {
    let mut sizes: Vec<f64> = differences.iter().copied().filter(|d| *d != 0.0).collect();
    if sizes.is_empty() || sizes.iter().any(|d| d.is_nan()) {
        return None;
    }
    sizes.sort_by(|left, right| f64::total_cmp(&left.abs(), &right.abs()));
    let ranks = doubled_ranks(&sizes);
    let positive = std::iter::zip(&sizes, &ranks)
        .filter(|(size, _)| **size > 0.0)
        .map(|(_, rank)| rank)
        .sum();
    Some(if sizes.len() < EXACT_BELOW {
        counted(&ranks, positive)
    } else {
        normal(&ranks, positive)
    })
}

/// Returns twice the mean rank of each of the differences sorted by size: whole numbers, ties or not.
fn doubled_ranks(sizes: &[f64]) -> Vec<usize> {
    let mut ranks = Vec::with_capacity(sizes.len());
    for tied in sizes.chunk_by(|left, right| left.abs().total_cmp(&right.abs()).is_eq()) {
        let first = ranks.len() + 1;
        let last = ranks.len() + tied.len();
        ranks.extend(std::iter::repeat_n(first + last, tied.len()));
    }
    ranks
}

/// Returns the two-sided p from the distribution of the rank sum when every sign is a fair coin.
fn counted(ranks: &[usize], positive: usize) -> f64 {
    let chances = chances(ranks);
    let below: f64 = chances[..=positive].iter().sum();
    let above: f64 = chances[positive..].iter().sum();
    (2.0 * below.min(above)).min(1.0)
}

/// Returns the chance of each rank sum, from 0 on, when every sign is a fair coin.
pub(super) fn chances(ranks: &[usize]) -> Vec<f64> {
    let total: usize = ranks.iter().sum();
    let mut chances = vec![0.0; total + 1];
    chances[0] = 1.0;
    for &rank in ranks {
        for sum in (0..=total).rev() {
            let with = if sum >= rank {
                chances[sum - rank]
            } else {
                0.0
            };
            chances[sum] = f64::midpoint(chances[sum], with);
        }
    }
    chances
}

/// Returns the two-sided p from the normal distribution with the rank sum's own mean and variance.
fn normal(ranks: &[usize], positive: usize) -> f64 {
    let total: usize = ranks.iter().sum();
    let variance: f64 = ranks.iter().map(|rank| real(*rank).powi(2) / 4.0).sum();
    let z = (real(positive) - real(total) / 2.0) / variance.sqrt();
    statrs::function::erf::erfc(z.abs() / std::f64::consts::SQRT_2)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::reference::{assert_close, differences};
    use super::*;

    /// Counts all sign patterns one by one.
    fn enumerated(ranks: &[usize], positive: usize) -> f64 {
        let patterns = 1_usize << ranks.len();
        let sum = |pattern: usize| -> usize {
            let chosen = ranks
                .iter()
                .enumerate()
                .filter(|(bit, _)| pattern >> bit & 1 == 1);
            chosen.map(|(_, rank)| rank).sum()
        };
        let below = (0..patterns)
            .filter(|pattern| sum(*pattern) <= positive)
            .count();
        let above = (0..patterns)
            .filter(|pattern| sum(*pattern) >= positive)
            .count();
        (2.0 * real(below.min(above)) / real(patterns)).min(1.0)
    }

    #[test]
    fn eight_of_one_sign_give_two_in_256() {
        assert_close(signed_rank_p(&differences()).unwrap(), 0.007_812_5, 1e-14);
    }

    #[test]
    fn six_sessions_of_one_sign_are_the_fewest_that_pass_at_5_percent() {
        assert_close(signed_rank_p(&[1.0; 5]).unwrap(), 0.0625, 1e-14);
        assert_close(signed_rank_p(&[-1.0; 6]).unwrap(), 0.031_25, 1e-14);
    }

    #[test]
    fn count_and_normal_form_agree_with_scipy() {
        // scipy 1.17: wilcoxon, method="exact" of values without ties; "asymptotic" of two zeros and ten values with ties.
        let values = [1.5, -0.3, 2.2, 0.8, -1.1, 3.0, 0.4, 1.9, -0.6, 2.7];
        assert_close(signed_rank_p(&values).unwrap(), 0.064_453_125, 1e-13);
        let tied = [1.0, -1.0, 2.0, -2.0, 3.0, 3.0, 4.0, 5.0, 5.0, 6.0];
        let ranks = doubled_ranks(&tied);
        let negative = ranks[1] + ranks[3];
        let positive = ranks.iter().sum::<usize>() - negative;
        assert_close(normal(&ranks, positive), 0.021_482_656_547_255_445, 1e-10);
    }

    #[test]
    fn zeros_say_nothing() {
        assert_eq!(signed_rank_p(&[0.0, 0.0]), None);
        assert_eq!(signed_rank_p(&[]), None);
        assert_eq!(signed_rank_p(&[0.0, 1.0, 2.0]), signed_rank_p(&[1.0, 2.0]));
    }

    #[test]
    fn the_count_and_the_normal_form_meet_at_59() {
        // For 59 untied ranks the sum has sd 132.5 and excess kurtosis -3.6/59. The normal form leaves out half a step,
        // at most 0.399 / 132.5 = 0.0030 for both sides together, and the first Edgeworth term, at most
        // 2 × 0.061/24 × 0.55 = 0.0028. Terms of higher order are smaller by another factor of 59.
        let ranks: Vec<usize> = (1..=59).map(|rank| 2 * rank).collect();
        for positive in (0..=59 * 60).step_by(50) {
            let difference = counted(&ranks, positive) - normal(&ranks, positive);
            assert!(difference.abs() < 0.006, "{positive}: {difference}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn counting_agrees_with_enumeration_ties_included(values in prop::collection::vec(-4_i8..=4, 1..11)) {
            let values: Vec<f64> = values.into_iter().map(f64::from).collect();
            let mut kept: Vec<f64> = values.iter().copied().filter(|value| *value != 0.0).collect();
            kept.sort_by(|left, right| f64::total_cmp(&left.abs(), &right.abs()));
            let ranks = doubled_ranks(&kept);
            let positive = kept.iter().zip(&ranks).filter(|(d, _)| **d > 0.0).map(|(_, r)| *r).sum();
            match signed_rank_p(&values) {
                Some(p) => prop_assert!((p - enumerated(&ranks, positive)).abs() < 1e-12),
                None => prop_assert!(kept.is_empty()),
            }
        }

        #[test]
        fn changing_every_sign_changes_nothing(values in prop::collection::vec(-9.0..9.0_f64, 1..20)) {
            let mirrored: Vec<f64> = values.iter().map(|value| -value).collect();
            prop_assert!((signed_rank_p(&values).unwrap() - signed_rank_p(&mirrored).unwrap()).abs() < 1e-12);
        }
    }
}
