//! The chance of every culprit, of no change, and of every effect and noise, given what was seen. Pure.

use std::collections::BTreeMap;
use std::iter;

use super::Effect;
use super::evidence::Evidence;
use super::grid::{Around, Cell, Grid, Pilot};
use super::likelihood::{FREEDOM, Thought, Truth, log_density, weigh};
use super::lineage::Lineage;
use super::set::Set;
use crate::stats::real;

/// What is thought after all sessions so far.
#[derive(Debug, Clone)]
pub(super) struct Posterior {
    /// The chance that there is no change at all.
    pub(super) none: f64,
    /// The chance of each commit that it is the culprit.
    pub(super) culprits: Vec<f64>,
    /// Of each commit that was asked, if there is a change, the chances that it stands at a level of its own and is good, and that it
    /// does and is bad.
    pub(super) odd: BTreeMap<usize, [f64; 2]>,
    /// What the truth may be if there is a change, with chances that add up to 1; all scales of one effect after the other.
    pub(super) changes: Vec<(Truth, f64)>,
    /// The same if there is none, with chances that add up to that of none.
    still: Vec<(Truth, f64)>,
}

/// Suspects that no session so far can tell apart: which of the asked commits hold them, and who they are.
type Group = (Set, Vec<usize>);

/// Weighs all that was seen.
///
/// Every suspect is alike likely at first. The guesses at effect and noise are placed twice: where the ends point to, then where
/// the first round found them.
pub(super) fn posterior(lineage: &Lineage, evidence: &Evidence, least: f64) -> Posterior {
    let groups = groups(lineage, evidence);
    let round = |pilot| {
        let grid = Grid::new(pilot, least);
        Posterior::on(&grid, evidence, (&groups, lineage.count()))
    };
    let pilot = Pilot::of(evidence, least);
    let first = round(pilot);
    round(first.pilot(pilot))
}

fn groups(lineage: &Lineage, evidence: &Evidence) -> Vec<Group> {
    let mut groups: BTreeMap<Set, Vec<usize>> = BTreeMap::new();
    for suspect in lineage.suspects() {
        let mut holders = Set::new(evidence.asked.len());
        for (place, asked) in evidence.asked.keys().enumerate() {
            if lineage.holds(*asked, suspect) {
                holders.insert(place);
            }
        }
        groups.entry(holders).or_default().push(suspect);
    }
    groups.into_iter().collect()
}

impl Posterior {
    fn on(grid: &Grid, evidence: &Evidence, (groups, count): (&[Group], usize)) -> Self {
        let suspects: usize = groups.iter().map(|(_, members)| members.len()).sum();
        let base = base(&grid.changes, evidence, real(suspects).ln());
        let thoughts = thoughts(&grid.changes, evidence);
        let field = |(holders, _): &Group| field(&base, &thoughts, holders);
        let mut fields: Vec<Vec<f64>> = groups.iter().map(field).collect();
        // Without a change both sides are the same.
        let still = base_still(&grid.none, evidence);
        fields.push(still);
        shares(&mut fields, groups);
        let still = fields.pop().unwrap_or_default();
        let none: f64 = still.iter().sum();
        let mut posterior = Self {
            none,
            culprits: vec![0.0; count],
            odd: BTreeMap::new(),
            changes: grid.changes.iter().map(|cell| (cell.truth, 0.0)).collect(),
            still: iter::zip(&grid.none, still)
                .map(|(cell, share)| (cell.truth, share))
                .collect(),
        };
        posterior.gather(&fields, groups);
        posterior.odd = oddness(&fields, groups, &thoughts)
            .into_iter()
            .zip(evidence.asked.keys())
            .map(|(odd, commit)| (*commit, odd.map(|part| part / posterior.change())))
            .collect();
        posterior
    }

    /// Adds up the shares of each culprit, and those of each effect and noise.
    fn gather(&mut self, fields: &[Vec<f64>], groups: &[Group]) {
        let change = self.change();
        for (field, (_, members)) in iter::zip(fields, groups) {
            let sum: f64 = field.iter().sum();
            for member in members {
                self.culprits[*member] = sum;
            }
            for ((_, share), part) in iter::zip(&mut self.changes, field) {
                *share += part * real(members.len()) / change;
            }
        }
    }

    /// Weighs what else is known of some culprits: that it is so many times likelier, as a log, if it is one of them.
    pub(super) fn reweigh(&mut self, members: &[usize], log: f64) {
        for member in members {
            self.culprits[*member] *= log.exp();
        }
        let all = self.none + self.culprits.iter().sum::<f64>();
        self.none /= all;
        let culprits = self.culprits.iter_mut();
        let still = self.still.iter_mut().map(|(_, share)| share);
        culprits.chain(still).for_each(|share| *share /= all);
    }

    /// Returns the chance that there is a change, never quite 0.
    pub(super) fn change(&self) -> f64 {
        (1.0 - self.none).max(f64::MIN_POSITIVE)
    }

    /// Returns the chance that there is no change that counts. One that may as well be the least that counts does.
    pub(super) fn no_change(&self, least: f64) -> f64 {
        let slight =
            |(truth, _): &&(Truth, f64)| -truth.fall < least * std::f64::consts::FRAC_1_SQRT_2;
        let slight: f64 = self.changes.iter().filter(slight).map(|cell| cell.1).sum();
        self.none + (1.0 - self.none) * slight
    }

    /// Returns where to look more closely.
    fn pilot(&self, before: Pilot) -> Pilot {
        let change = 1.0 - self.none;
        let effects = self
            .changes
            .iter()
            .map(|(truth, share)| ((-truth.fall).ln(), *share));
        let scales = self
            .changes
            .iter()
            .map(|(truth, share)| (truth.sd.ln(), share * change));
        let still = self
            .still
            .iter()
            .map(|(truth, share)| (truth.sd.ln(), *share));
        Pilot {
            effect: closer(effects, before.effect),
            sd: closer(scales.chain(still), before.sd),
        }
    }

    /// Returns the effect if there is a change: the median, and an interval that holds it with 95 %.
    pub(super) fn effect(&self) -> Effect {
        let rows = self
            .changes
            .chunk_by(|one, next| one.0.fall.total_cmp(&next.0.fall).is_eq());
        let sum = |row: &[(Truth, f64)]| (row[0].0.fall, row.iter().map(|cell| cell.1).sum());
        // From the slightest effect to the greatest.
        let falls: Vec<(f64, f64)> = rows.map(sum).collect();
        let [most, estimate, least] = [0.975, 0.5, 0.025].map(|level| quantile(&falls, level));
        Effect {
            estimate,
            interval: (most, least),
        }
    }

    /// Returns the scale of the noise of a difference of two launches, on average.
    pub(super) fn sd(&self) -> f64 {
        let part = |(truth, share): &(Truth, f64)| truth.sd * share;
        self.changes.iter().map(part).sum()
    }
}

/// Returns the logs of the chances of all guesses and of what the ends alone said.
fn base(cells: &[Cell], evidence: &Evidence, suspects: f64) -> Vec<f64> {
    let of_ends = |cell: &Cell| -> f64 {
        let ends = evidence.ends.iter();
        ends.map(|one| log_density(*one, 0.0, cell.truth, FREEDOM))
            .sum()
    };
    let log = |cell: &Cell| cell.prior - suspects + of_ends(cell);
    cells.iter().map(log).collect()
}

fn base_still(cells: &[Cell], evidence: &Evidence) -> Vec<f64> {
    let mut logs = base(cells, evidence, 0.0);
    for thoughts in thoughts(cells, evidence) {
        for (log, thought) in iter::zip(&mut logs, thoughts) {
            *log += thought.side(false);
        }
    }
    logs
}

/// Returns what is thought of each commit that was asked, by each guess.
fn thoughts(cells: &[Cell], evidence: &Evidence) -> Vec<Vec<Thought>> {
    let of = |readings: &Vec<_>| {
        cells
            .iter()
            .map(|cell| weigh(readings, cell.truth))
            .collect()
    };
    evidence.asked.values().map(of).collect()
}

/// Returns the logs of how likely all of it is, by each guess, if the culprit is one that these of the asked commits hold.
fn field(base: &[f64], thoughts: &[Vec<Thought>], holders: &Set) -> Vec<f64> {
    let mut logs = base.to_vec();
    for (place, thoughts) in thoughts.iter().enumerate() {
        let is_bad = holders.holds(place);
        for (log, thought) in iter::zip(&mut logs, thoughts) {
            *log += thought.side(is_bad);
        }
    }
    logs
}

/// Turns logs into chances of one culprit each (the last field: of none), which add up to 1 over all culprits and none.
fn shares(fields: &mut [Vec<f64>], groups: &[Group]) {
    let top = fields.iter().flatten().copied().fold(f64::MIN, f64::max);
    let sizes: Vec<f64> = groups
        .iter()
        .map(|(_, members)| real(members.len()))
        .collect();
    let mut all = 0.0;
    for (field, size) in iter::zip(fields.iter_mut(), sizes.into_iter().chain([1.0])) {
        for share in field.iter_mut() {
            *share = (*share - top).exp();
            all += *share * size;
        }
    }
    for share in fields.iter_mut().flatten() {
        *share /= all;
    }
}

/// Returns of each commit that was asked the chances that there is a change, that it stands at a level of its own, and that it is
/// good, or bad.
fn oddness(fields: &[Vec<f64>], groups: &[Group], thoughts: &[Vec<Thought>]) -> Vec<[f64; 2]> {
    let of = |(place, thoughts): (usize, &Vec<Thought>)| {
        [false, true].map(|is_bad| {
            let odd: Vec<f64> = thoughts.iter().map(|one| one.oddness(is_bad)).collect();
            let on_side = |(_, (holders, _)): &(&Vec<f64>, &Group)| holders.holds(place) == is_bad;
            let part = |(field, (_, members)): (&Vec<f64>, &Group)| {
                let parts = iter::zip(field, &odd).map(|(share, odd)| share * odd);
                parts.sum::<f64>() * real(members.len())
            };
            iter::zip(fields, groups).filter(on_side).map(part).sum()
        })
    };
    thoughts.iter().enumerate().map(of).collect()
}

/// Returns mean and spread of what was found, no closer than the last guesses can tell.
fn closer(found: impl Iterator<Item = (f64, f64)> + Clone, before: Around) -> Around {
    let all: f64 = found.clone().map(|(_, share)| share).sum();
    let centre = found
        .clone()
        .map(|(value, share)| value * share)
        .sum::<f64>()
        / all;
    let square = |(value, share): (f64, f64)| (value - centre).powi(2) * share;
    let spread = (found.map(square).sum::<f64>() / all).sqrt();
    Around {
        centre,
        step: spread.max(before.step / 4.0),
    }
}

/// Returns the value below which that share of all lies, between values whose shares reach half way to their neighbours.
fn quantile(shares: &[(f64, f64)], level: f64) -> f64 {
    let mut below: Option<(f64, f64)> = None;
    let mut sum = 0.0;
    for (value, share) in shares {
        let middle = sum + share / 2.0;
        if middle >= level {
            let (before, reached) = below.unwrap_or((*value, 0.0));
            let way = (level - reached) / (middle - reached).max(f64::MIN_POSITIVE);
            return before + way * (value - before);
        }
        below = Some((*value, middle));
        sum += share;
    }
    below.map_or(0.0, |(value, _)| value)
}

#[cfg(test)]
mod tests {
    use super::super::reading::Reading;
    use super::*;

    const LEAST: f64 = 0.01;

    /// What is thought on a line of nine after these readings.
    fn after(readings: &[(Option<usize>, Reading)]) -> Posterior {
        let mut evidence = Evidence::default();
        for (candidate, reading) in readings {
            evidence.add(*candidate, *reading);
        }
        posterior(&Lineage::line(9), &evidence, LEAST)
    }

    fn ends(falls: &[f64]) -> Vec<(Option<usize>, Reading)> {
        falls
            .iter()
            .map(|fall| (None, Reading::Ends(*fall)))
            .collect()
    }

    #[test]
    fn at_first_all_are_alike_likely() {
        let posterior = after(&[]);
        assert!((posterior.none - 0.1).abs() < 1e-6, "{}", posterior.none);
        assert!(posterior.culprits[0] <= 0.0);
        for chance in &posterior.culprits[1..] {
            assert!((chance - 0.9 / 8.0).abs() < 1e-6, "{chance}");
        }
    }

    #[test]
    fn ends_that_differ_tell_the_effect_and_nothing_of_the_culprit() {
        let posterior = after(&ends(&[-0.05, -0.055, -0.045, -0.05, -0.052]));
        assert!(posterior.none < 1e-3 && posterior.no_change(LEAST) < 0.01);
        let Effect { estimate, interval } = posterior.effect();
        assert!((estimate + 0.0505).abs() < 0.001, "{estimate}");
        // A t interval of these is 0.0046 wide on either side.
        assert!((-0.058..-0.0535).contains(&interval.0), "{interval:?}");
        assert!((-0.0475..-0.043).contains(&interval.1), "{interval:?}");
        assert!(
            (posterior.sd() / 0.0037 - 1.0).abs() < 0.5,
            "{}",
            posterior.sd()
        );
        assert!((posterior.culprits[1] / posterior.culprits[8] - 1.0).abs() < 1e-9);
    }

    #[test]
    fn ends_that_are_alike_speak_for_no_change_and_a_slight_change_is_none() {
        let alike = after(&ends(&[
            0.004, -0.006, 0.002, -0.001, 0.003, -0.004, 0.001, 0.0,
        ]));
        assert!(alike.none > 0.8, "{}", alike.none);
        let slight = after(&ends(&[
            -0.004, -0.0045, -0.0038, -0.0041, -0.0042, -0.0039,
        ]));
        assert!(
            slight.none < 0.5 && slight.no_change(LEAST) > 0.99,
            "{slight:?}"
        );
    }

    #[test]
    fn a_great_effect_is_known_as_closely_as_it_is_seen() {
        let posterior = after(&ends(&[-1.0, -1.01, -0.99, -1.004, -0.996]));
        let Effect { estimate, interval } = posterior.effect();
        assert!((estimate + 1.0).abs() < 0.004, "{estimate}");
        assert!(interval.1 - interval.0 < 0.04, "{interval:?}");
    }

    #[test]
    fn candidates_tell_who_it_is() {
        let mut readings = ends(&[-0.05, -0.055, -0.045]);
        readings.push((Some(3), Reading::Good(0.002)));
        readings.push((Some(4), Reading::Bad(-0.003)));
        readings.push((
            Some(4),
            Reading::Both {
                ends: -0.05,
                sum: -0.047,
            },
        ));
        let posterior = after(&readings);
        assert!(posterior.culprits[4] > 0.85, "{:?}", posterior.culprits);
        let all: f64 = posterior.culprits.iter().sum();
        assert!((all + posterior.none - 1.0).abs() < 1e-9);
        assert!(posterior.odd[&4].iter().sum::<f64>() < 0.1);
        // One that is far faster than either is odd.
        readings.push((Some(6), Reading::Good(0.2)));
        assert!(after(&readings).odd[&6].iter().sum::<f64>() > 0.5);
    }
}
