//! The order in which the paths of a mix are asked for: one round, gone through again and again. Pure.

/// Returns which path each request of a round is for, given each path's share of them.
///
/// Over a whole round the shares are exact, and within it each path's requests lie as evenly as they can: each step
/// gives every path its share of credit, and the richest one pays for a request (smooth weighted round robin).
pub(super) fn round(shares: &[u32]) -> Vec<usize> {
    let divisor = shares.iter().copied().fold(0, greatest_common_divisor);
    let shares = shares.iter().map(|share| i64::from(share / divisor.max(1)));
    let shares: Vec<i64> = shares.collect();
    let whole: i64 = shares.iter().sum();
    let mut credits = vec![0; shares.len()];
    let mut step = || {
        credits
            .iter_mut()
            .zip(&shares)
            .for_each(|(credit, share)| *credit += share);
        let richest = richest(&credits);
        credits[richest] -= whole;
        richest
    };
    (0..whole).map(|_| step()).collect()
}

/// Returns the first of the greatest.
fn richest(credits: &[i64]) -> usize {
    let (mut best, mut most) = (0, i64::MIN);
    for (place, &credit) in credits.iter().enumerate() {
        if credit > most {
            (best, most) = (place, credit);
        }
    }
    best
}

fn greatest_common_divisor(one: u32, other: u32) -> u32 {
    if other == 0 {
        one
    } else {
        greatest_common_divisor(other, one % other)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn shares_are_spread_over_the_round() {
        assert_eq!(round(&[1]), [0]);
        assert_eq!(round(&[5, 1, 1]), [0, 0, 1, 0, 2, 0, 0]);
        assert_eq!(round(&[2, 2]), [0, 1]);
        assert_eq!(round(&[30, 10]), [0, 0, 1, 0]);
        assert_eq!(round(&[0, 3]), [1]);
        assert!(round(&[0, 0]).is_empty() && round(&[]).is_empty());
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn shares_are_exact_over_a_round_and_near_at_any_time(shares in prop::collection::vec(1..20_u32, 1..6)) {
            let order = round(&shares);
            let whole: u32 = shares.iter().sum();
            for (path, &share) in shares.iter().enumerate() {
                let mut asked = 0_i64;
                for (done, &chosen) in (1..).zip(&order) {
                    asked += i64::from(chosen == path);
                    let off = asked * i64::from(whole) - done * i64::from(share);
                    prop_assert!(off.abs() < i64::from(whole) * i64::try_from(shares.len()).unwrap());
                }
                prop_assert_eq!(asked * i64::from(whole), i64::try_from(order.len()).unwrap() * i64::from(share));
            }
        }
    }
}
