//! The model of `git_bayesect`: commits fail by one chance from the culprit on and by another before it, both unknown.

use std::iter;

use statrs::function::beta::ln_beta;

use super::rivals::{Given, Named, buildable};
use super::world::World;
use crate::suite::noise::Random;

/// What it thinks of the chance to fail, from the culprit on and before it: its defaults, as α and β of a beta distribution.
const SLOW: (f64, f64) = (0.9, 0.1);
const FAST: (f64, f64) = (0.05, 0.95);

/// It stops at this chance, or here after so many measurements.
const SURE: f64 = 0.95;
const MOST: usize = 500;

/// How often each commit failed, and how often it was measured.
type Seen = Vec<(f64, f64)>;

/// Searches to the end.
pub(crate) fn search(world: &World, given: Given, random: &mut Random) -> Named {
    let commits = buildable(world);
    let mut seen: Seen = vec![(0.0, 0.0); commits.len()];
    for measured in 0..=MOST {
        let chances = chances(&seen);
        let likeliest =
            (0..commits.len()).max_by(|one, other| chances[*one].total_cmp(&chances[*other]));
        if let Some(one) = likeliest.filter(|one| chances[*one] >= SURE) {
            // The first may have been slow before: then it names the good end.
            let first = one.checked_sub(1).map_or(0, |before| commits[before] + 1);
            return Named {
                named: (first..=commits[one]).collect(),
                launches: measured * given.launches(),
            };
        }
        let next = select(&seen, &chances);
        seen[next].0 += f64::from(u8::from(given.is_slow(world, commits[next], random)));
        seen[next].1 += 1.0;
    }
    Named {
        named: Vec::new(),
        launches: MOST * given.launches(),
    }
}

/// Returns for each commit, if it is the culprit, failures and measurements before it, and from it on.
fn sides(seen: &Seen) -> Vec<[(f64, f64); 2]> {
    let add = |sum: (f64, f64), one: &(f64, f64)| (sum.0 + one.0, sum.1 + one.1);
    let all = seen.iter().fold((0.0, 0.0), add);
    let mut before = (0.0, 0.0);
    let mut side = |one: &(f64, f64)| {
        let sides = [before, (all.0 - before.0, all.1 - before.1)];
        before = add(before, one);
        sides
    };
    seen.iter().map(&mut side).collect()
}

/// Returns the chance of each commit that it is the culprit.
fn chances(seen: &Seen) -> Vec<f64> {
    let likely = |(alpha, beta): (f64, f64), (failed, all): (f64, f64)| {
        ln_beta(alpha + failed, beta + all - failed) - ln_beta(alpha, beta)
    };
    let sides = sides(seen);
    let log = |[before, after]: &[(f64, f64); 2]| likely(FAST, *before) + likely(SLOW, *after);
    let logs: Vec<f64> = sides.iter().map(log).collect();
    let top = logs.iter().copied().fold(f64::MIN, f64::max);
    let all: f64 = logs.iter().map(|log| (log - top).exp()).sum();
    logs.iter().map(|log| (log - top).exp() / all).collect()
}

/// Returns the commit whose measurement leaves least to know on average.
fn select(seen: &Seen, chances: &[f64]) -> usize {
    let fails = |(alpha, beta): (f64, f64), (failed, all): (f64, f64)| {
        (alpha + failed) / (alpha + beta + all)
    };
    // By culprit, the chance that a commit fails that is before it, and one that is not.
    let sides = sides(seen);
    let rates = sides
        .iter()
        .map(|[before, after]| (fails(FAST, *before), fails(SLOW, *after)));
    let rates: Vec<(f64, f64)> = rates.collect();
    let failed = unknown(chances, &rates);
    let flip = |(before, after): &(f64, f64)| (1.0 - before, 1.0 - after);
    let passed = unknown(chances, &rates.iter().map(flip).collect::<Vec<_>>());
    let left = |commit: &usize| failed[*commit] + passed[*commit];
    let least = (0..seen.len()).min_by(|one, other| left(one).total_cmp(&left(other)));
    least.unwrap_or(0)
}

/// Returns for each commit the bits that are missing after an answer of it, times the chance of the answer, which has these
/// chances by culprit.
fn unknown(chances: &[f64], rates: &[(f64, f64)]) -> Vec<f64> {
    let term = |weight: f64| {
        let bits = if weight > 0.0 {
            weight * weight.log2()
        } else {
            0.0
        };
        (weight, bits)
    };
    let terms = iter::zip(chances, rates);
    let terms: Vec<[(f64, f64); 2]> = terms
        .map(|(chance, (before, after))| [term(chance * before), term(chance * after)])
        .collect();
    // All culprits after the commit at first, then one after the other at it or before.
    let mut sum = (0.0, 0.0);
    for [before, _] in &terms {
        sum = (sum.0 + before.0, sum.1 + before.1);
    }
    let mut next = |[before, after]: &[(f64, f64); 2]| {
        sum = (sum.0 + after.0 - before.0, sum.1 + after.1 - before.1);
        sum.0 * sum.0.log2() - sum.1
    };
    terms.iter().map(&mut next).collect()
}
