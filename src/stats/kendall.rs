//! Kendall's rank correlation, exact.

use statrs::distribution::{ContinuousCDF, Normal};

use super::real;

/// From this many values on the normal approximation serves.
const EXACT_BELOW: usize = 60;

/// Returns the two-sided p of Kendall's test that two lists of values have nothing to do with one another; none of fewer
/// than two values, of lists of unlike length or of values that are no number.
///
/// Below 60 values the null distribution is counted, from there on it is taken as normal. A tie counts for neither side,
/// which leaves the test a little less power and never a higher level.
pub fn kendall_p(left: &[f64], right: &[f64]) -> Option<f64> {
    let mut all = left.iter().chain(right);
    if left.len() != right.len() || left.len() < 2 || all.any(|value| value.is_nan()) {
        return None;
    }
    let score = score(left, right).unsigned_abs();
    Some(if left.len() < EXACT_BELOW {
        counted(left.len(), score)
    } else {
        let count = real(left.len());
        let sd = (count * (count - 1.0) * (2.0 * count + 5.0) / 18.0).sqrt();
        let above = real(score.saturating_sub(1)) / sd;
        2.0 * Normal::standard().sf(above)
    })
}

/// Returns how many pairs of places go the same way in both lists, less those that go opposite ways.
fn score(left: &[f64], right: &[f64]) -> isize {
    let way = |values: &[f64], early: usize, late: usize| {
        isize::from(values[early] < values[late]) - isize::from(values[early] > values[late])
    };
    let places = 0..left.len();
    let pairs = places.flat_map(|late| (0..late).map(move |early| (early, late)));
    pairs
        .map(|(early, late)| way(left, early, late) * way(right, early, late))
        .sum()
}

/// Returns the chance that the score of so many values is at least this far from zero when every order is as likely: from
/// the number of inversions, of which the k-th value adds 0 to k − 1, each as likely.
fn counted(count: usize, score: usize) -> f64 {
    let most = count * (count - 1) / 2;
    let mut chances = vec![0.0; most + 1];
    chances[0] = 1.0;
    for value in 2..=count {
        let before = chances.clone();
        let mut window = 0.0;
        for inversions in 0..=most {
            window += before[inversions];
            if inversions >= value {
                window -= before[inversions - value];
            }
            chances[inversions] = window / real(value);
        }
    }
    // A score is the number of all pairs less twice that of inversions.
    let few = most.saturating_sub(score) / 2;
    let tail: f64 = chances[..=few].iter().sum();
    (2.0 * tail).min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the one-sided chance of a table, for an order of so many values with that score.
    fn tail(count: usize, score: usize) -> f64 {
        counted(count, score) / 2.0
    }

    #[test]
    fn chances_agree_with_kendalls_table() {
        // Kendall (1970), appendix table 1, printed to three digits after the zeros.
        let table = [
            (4, 6, 0.042),
            (4, 4, 0.167),
            (5, 8, 0.042),
            (5, 6, 0.117),
            (8, 18, 0.016),
            (8, 20, 0.0071),
            (10, 21, 0.036),
            (10, 23, 0.023),
        ];
        for (count, score, chance) in table {
            let got = tail(count, score);
            assert!((got - chance).abs() < 6e-4, "{count} {score}: {got}");
        }
    }

    #[test]
    fn the_two_ways_to_a_chance_meet() {
        // Near 5 %, 1 % and 0.1 % of 59 values, whose scores have an sd of 152.9.
        let sd = (59.0 * 58.0 * 123.0 / 18.0_f64).sqrt();
        for score in [299, 393, 503] {
            let normal = 2.0 * Normal::standard().sf(real(score - 1) / sd);
            let exact = counted(59, score);
            assert!((exact / normal - 1.0).abs() < 0.15, "{exact} {normal}");
        }
    }

    #[test]
    fn one_order_is_sure_and_ties_say_nothing() {
        let order: Vec<f64> = (0..6).map(real).collect();
        let p = kendall_p(&order, &order).unwrap();
        assert!((p - 2.0 / 720.0).abs() < 1e-12);
        let back: Vec<f64> = order.iter().map(|value| -value).collect();
        assert_eq!(kendall_p(&order, &back), Some(p));
        assert_eq!(kendall_p(&order, &[1.0; 6]), Some(1.0));
        assert_eq!(kendall_p(&order, &order[..5]), None);
        assert_eq!(kendall_p(&[1.0], &[1.0]), None);
        assert_eq!(kendall_p(&[1.0, f64::NAN], &[1.0, 2.0]), None);
    }
}
