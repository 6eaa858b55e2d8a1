//! Whose turn it is to be loaded, in slices of time. Pure; times are arguments, in nanoseconds.

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_pcg::Pcg64;

/// One target at a time: rounds in which each has one slice, in an order of their own. What comes is a function of the
/// clock and the seed, so that all threads agree without a word.
#[derive(Debug)]
pub(super) struct Turns {
    slice: u64,
    seed: u64,
    /// The round that `order` is of.
    round: Option<u64>,
    order: Vec<usize>,
}

impl Turns {
    /// Makes the turns of so many targets.
    pub(super) fn new(targets: usize, slice: u64, seed: u64) -> Self {
        Self {
            slice: slice.max(1),
            seed,
            round: None,
            order: (0..targets).collect(),
        }
    }

    /// Returns whose turn it is at a time, and when that ends.
    pub(super) fn at(&mut self, now: u64) -> (usize, u64) {
        let number = now / self.slice;
        let targets = self.order.len().max(1) as u64;
        self.go_to(number / targets);
        let place = usize::try_from(number % targets).unwrap_or(0);
        let target = self.order.get(place).copied();
        (target.unwrap_or(0), (number + 1).saturating_mul(self.slice))
    }

    fn go_to(&mut self, round: u64) {
        if self.round == Some(round) {
            return;
        }
        self.round = Some(round);
        self.order.sort_unstable();
        // Neighbouring seeds give unlike numbers only if they are far apart.
        let seed = self.seed ^ round.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        self.order.shuffle(&mut Pcg64::seed_from_u64(seed));
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn order(seed: u64, slices: u64) -> Vec<usize> {
        let mut turns = Turns::new(4, 10, seed);
        let turn = |slice| {
            let (target, end) = turns.at(slice * 10 + 3);
            assert_eq!(end, (slice + 1) * 10);
            target
        };
        (0..slices).map(turn).collect()
    }

    #[test]
    fn each_round_has_every_target_once_in_an_order_of_its_own() {
        let order = order(7, 400);
        let rounds: Vec<&[usize]> = order.chunks(4).collect();
        for round in &rounds {
            assert_eq!(round.iter().collect::<BTreeSet<_>>().len(), 4);
        }
        // All 24 orders come up among 100.
        assert!(rounds.iter().collect::<BTreeSet<_>>().len() > 18);
        assert_eq!(order, self::order(7, 400));
        assert_ne!(order, self::order(8, 400));
    }

    #[test]
    fn turns_do_not_depend_on_when_one_looks() {
        let expected = order(7, 40);
        let mut turns = Turns::new(4, 10, 7);
        for slice in [39_u64, 0, 17, 18, 2, 39] {
            let place = usize::try_from(slice).unwrap();
            assert_eq!(turns.at(slice * 10).0, expected[place]);
            assert_eq!(turns.at(slice * 10 + 9).0, expected[place]);
        }
    }

    #[test]
    fn a_single_target_has_every_turn() {
        let mut turns = Turns::new(1, 5, 1);
        assert_eq!((turns.at(4), turns.at(5)), ((0, 5), (0, 10)));
    }
}
