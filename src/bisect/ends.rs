//! Whether the ends differ at all. Pure.

use super::{Alike, Effect, Spent};
use crate::stats::{
    Look, Power, bounds, level_of, median, paired, real, signed_rank_p, smallest_effect,
};

/// How many sessions each look has seen.
const LOOKS: [usize; 11] = [3, 4, 5, 6, 8, 10, 12, 14, 17, 20, 24];

/// From so many sessions on ranks decide: an outlier hides a change from the t test, but fewer ranks can say too little.
const RANKS_FROM: usize = 8;

/// The chance with which the change that is told as detectable would have been seen.
const POWER: f64 = 0.8;

/// When the ends are looked at, and how clearly they must differ.
///
/// A group sequential test, one-sided, of a level that is what the certainty asked for leaves. Much of it is spent on the first
/// looks: a search that begins for nothing costs time, but the chance of no change, which it goes on weighing, and fresh
/// sessions at its end stand between that and a false culprit.
#[derive(Debug, Clone)]
pub(super) struct Looks {
    /// Sessions seen, and the two-sided p at most.
    looks: Vec<(usize, f64)>,
    /// The two-sided level of all looks.
    level: f64,
}

impl Looks {
    /// Plans the looks at so many sessions at most.
    pub(super) fn new(most: usize, certainty: f64) -> Self {
        let last = most.clamp(LOOKS[0], LOOKS[LOOKS.len() - 1]);
        let seen: Vec<usize> = LOOKS
            .iter()
            .copied()
            .filter(|seen| *seen < last)
            .chain([last])
            .collect();
        let look = |seen: &usize| Look {
            seen: real(*seen),
            time: (real(*seen) / real(last)).sqrt().sqrt(),
        };
        let looks: Vec<Look> = seen.iter().map(look).collect();
        let level = 2.0 * (1.0 - certainty);
        let levels = bounds(&looks, level).into_iter().map(level_of);
        Self {
            looks: seen.into_iter().zip(levels).collect(),
            level,
        }
    }

    /// Returns whether a look has found the bad end slower.
    pub(super) fn differ(&self, falls: &[f64]) -> bool {
        let found = |seen: usize, level: f64| {
            let falls = &falls[..seen];
            let p = if seen < RANKS_FROM {
                paired(falls).map(|test| test.p)
            } else {
                signed_rank_p(falls)
            };
            let is_slower = median(falls).is_some_and(|middle| middle < 0.0);
            is_slower && p.is_some_and(|p| p <= level)
        };
        let mut held = self.looks.iter().filter(|(seen, _)| *seen <= falls.len());
        held.any(|(seen, level)| found(*seen, *level))
    }

    /// Returns whether the last look was held.
    pub(super) fn are_over(&self, falls: &[f64]) -> bool {
        self.looks
            .last()
            .is_none_or(|(seen, _)| *seen <= falls.len())
    }

    /// Returns what there is to say of ends that do not differ.
    pub(super) fn alike(&self, falls: &[f64], odds: f64, spent: Spent) -> Alike {
        let test = paired(falls);
        let wanted = Power {
            level: self.level,
            least: 0.0,
            power: POWER,
        };
        Alike {
            odds,
            effect: test.map(|test| Effect {
                estimate: test.mean,
                interval: test.interval(0.05),
            }),
            detectable: test.and_then(|test| smallest_effect(&test, &wanted)),
            spent,
        }
    }
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};
    use rand_pcg::Pcg64;

    use super::*;

    /// A normal value, by the method of Box and Muller.
    fn gauss(random: &mut Pcg64) -> f64 {
        let (one, two): (f64, f64) = (1.0 - random.random::<f64>(), random.random());
        (-2.0 * one.ln()).sqrt() * (std::f64::consts::TAU * two).cos()
    }

    /// The share of races of the ends that find them different, with an effect of so many standard deviations.
    fn found(effect: f64) -> f64 {
        let looks = Looks::new(100, 0.95);
        let mut random = Pcg64::seed_from_u64(3);
        let differ = (0..2000).filter(|_| {
            let falls: Vec<f64> = (0..24).map(|_| gauss(&mut random) - effect).collect();
            looks.differ(&falls)
        });
        real(differ.count()) / 2000.0
    }

    #[test]
    fn ends_that_do_not_differ_are_taken_to_with_the_level_at_most() {
        // More than 142 of 2,000 at 5 % have a chance of 1 in 100,000 (binomial).
        let share = found(0.0);
        assert!(share <= 0.071 && share > 0.02, "{share}");
    }

    #[test]
    fn an_effect_of_one_standard_deviation_is_seen_in_time() {
        assert!(found(1.0) > 0.97);
    }

    #[test]
    fn a_clear_effect_is_seen_at_once_and_an_improvement_never() {
        let looks = Looks::new(100, 0.95);
        assert!(looks.differ(&[-0.1, -0.11, -0.09]) && !looks.differ(&[-0.1, -0.11]));
        assert!(!looks.differ(&[0.1, 0.11, 0.09]));
    }

    #[test]
    fn an_outlier_does_not_hide_a_change() {
        let looks = Looks::new(100, 0.95);
        let usual = (0..16_u32).map(|place| -0.05 - 0.001 * f64::from(place % 5));
        let falls: Vec<f64> = [0.9].into_iter().chain(usual).collect();
        assert!(!looks.differ(&falls[..6]) && looks.differ(&falls));
        assert!(paired(&falls).unwrap().p > 0.5);
    }

    #[test]
    fn the_last_look_is_the_last_session_that_is_allowed() {
        let looks = Looks::new(7, 0.95);
        assert!(!looks.are_over(&[0.0; 6]) && looks.are_over(&[0.0; 7]));
        assert_eq!(
            looks.looks.iter().map(|look| look.0).collect::<Vec<_>>(),
            [3, 4, 5, 6, 7]
        );
        let alike = looks.alike(&[0.01, -0.01, 0.005], 0.5, Spent::default());
        let (effect, detectable) = (alike.effect.unwrap(), alike.detectable.unwrap());
        assert!(effect.interval.0 < 0.0 && effect.interval.1 > 0.0);
        assert!((0.01..0.1).contains(&detectable), "{detectable}");
    }
}
