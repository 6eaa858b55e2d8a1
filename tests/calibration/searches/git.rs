//! `git bisect run` with a threshold.

use super::rivals::{Given, Named};
use super::world::World;
use crate::suite::noise::Random;

/// Searches to the end, each answer the majority of some measurements.
///
/// It asks the commit that has closest to half of the suspects behind it; one that cannot be built is skipped. It takes
/// both ends for granted.
pub(crate) fn search(
    world: &World,
    (given, repeats): (Given, usize),
    random: &mut Random,
) -> Named {
    let lineage = &world.lineage;
    let mut bad = lineage.count() - 1;
    let mut suspects: Vec<usize> = (1..=bad).filter(|one| lineage.holds(bad, *one)).collect();
    let mut launches = 0;
    loop {
        let behind = |commit: usize| {
            let behind = suspects.iter().filter(|one| lineage.holds(commit, **one));
            behind.count()
        };
        let askable = suspects.iter().filter(|one| **one != bad);
        let built = askable.filter(|one| !world.gaps.contains(one));
        let halves = |commit: &&usize| behind(**commit).min(suspects.len() - behind(**commit));
        let Some(next) = built.max_by_key(halves).copied() else {
            return Named {
                named: suspects,
                launches,
            };
        };
        let slow = (0..repeats).filter(|_| given.is_slow(world, next, random));
        let is_bad = slow.count() * 2 > repeats;
        launches += repeats * given.launches();
        if is_bad {
            bad = next;
        }
        suspects.retain(|one| lineage.holds(next, *one) == is_bad);
    }
}
