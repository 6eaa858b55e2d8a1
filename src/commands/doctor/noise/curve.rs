//! The power curve of a machine and a matrix: which change is seen, with what certainty, in how many minutes. Pure.

use serde::Serialize;

use super::figures::DesignNoise;
use crate::matrix::{Design, Rule, Sessions};
use crate::stats::{Draws, Rehearsal, Thresholds, real};

/// Changes that are looked for, as shares.
const CHANGES: [f64; 5] = [0.01, 0.02, 0.03, 0.05, 0.1];
/// Chances with which they are to be seen.
const CERTAINTIES: [f64; 3] = [0.5, 0.8, 0.95];
/// Times to spend.
const MINUTES: [f64; 5] = [1.0, 2.0, 5.0, 10.0, 30.0];
/// The chance with which a change is seen in them.
const REACH: f64 = 0.8;

/// Runs that are simulated. A share of them has a standard error of 2.5 points at most, far less than the noise is known to.
const RUNS: usize = 400;
/// What they are drawn from.
const SEED: u64 = 1;
/// More sessions than this are not tried.
const MOST: usize = 300;
/// Looks at most that are simulated: a run of up to 26 sessions has no more, and of more looks each further one adds little.
const LOOKS: usize = 12;
/// The least and the greatest change that may be the smallest seen, and the halvings between.
const RANGE: (f64, f64) = (0.0001, 1.0);
const HALVINGS: usize = 9;

/// The power curve of some pairs of versions that are measured together.
#[derive(Debug, Serialize)]
pub(super) struct Curve {
    pub(super) pairs: usize,
    /// The level that one of them has.
    pub(super) level: f64,
    /// What one session of each pair takes in all.
    pub(super) seconds_per_round: f64,
    pub(super) rows: Vec<Row>,
    pub(super) reach: Vec<Reach>,
}

/// What it costs to see a change of one pair.
#[derive(Debug, Serialize)]
pub(super) struct Row {
    pub(super) change_percent: f64,
    pub(super) cells: Vec<Cell>,
}

/// What it costs to see it with some chance; nothing where even the most sessions that are tried do not.
#[derive(Debug, Serialize)]
pub(super) struct Cell {
    pub(super) certainty_percent: f64,
    /// Sessions of the pair at most: the `sessions.count` to ask for.
    pub(super) sessions: Option<usize>,
    /// Sessions of the pair on average, as a run ends it when it is decided.
    pub(super) mean_sessions: Option<f64>,
    /// What the most sessions take.
    pub(super) minutes: Option<f64>,
    /// The same at either end of the interval of the noise.
    pub(super) minutes_interval: (Option<f64>, Option<f64>),
}

/// The smallest change that is seen in some time.
#[derive(Debug, Serialize)]
pub(super) struct Reach {
    pub(super) minutes: f64,
    /// Sessions that it has time for.
    pub(super) sessions: usize,
    /// Nothing where there are too few sessions, or no change is great enough.
    pub(super) change_percent: Option<f64>,
    /// The same at either end of the interval of the noise.
    pub(super) change_interval_percent: (Option<f64>, Option<f64>),
}

/// Returns the curve of one pair, and that of all pairs of the matrix where it has more.
pub(super) fn curves(
    noise: &DesignNoise,
    rule: &Rule,
    (sessions, versions): (&Sessions, usize),
) -> Vec<Curve> {
    let whole = versions.saturating_sub(1);
    let mut counts = vec![1];
    counts.extend((whole > 1).then_some(whole));
    let curve = |pairs| {
        let thresholds = Thresholds {
            level: rule.alpha / real(pairs),
            least: rule.min_effect.ln_1p(),
            margin: rule.same_within.ln_1p(),
        };
        let seconds = round(noise, pairs, sessions.group);
        let first = usize::try_from(sessions.least.min(sessions.count)).unwrap_or(MOST);
        Lab::new(noise, thresholds, first.clamp(3, MOST)).curve((pairs, seconds))
    };
    counts.into_iter().map(curve).collect()
}

/// Returns how long one session of each pair takes. A race of a whole group takes as long as one of two; slices and solo
/// trials load one server after the other.
fn round(noise: &DesignNoise, pairs: usize, group: usize) -> f64 {
    let groups = pairs.div_ceil(group.max(2) - 1);
    let times = match noise.design {
        Design::Race => real(groups),
        Design::Slices => real(pairs + groups) / 2.0,
        Design::Solo => real(pairs + 1) / 2.0,
    };
    noise.seconds_per_pair * times
}

/// Where runs of different length are rehearsed, on noise as it was measured.
struct Lab {
    level: f64,
    draws: Draws,
    /// Runs by their most sessions, ascending.
    runs: Vec<(usize, Rehearsal)>,
    sd: f64,
    sd_interval: (f64, f64),
}

impl Lab {
    fn new(noise: &DesignNoise, thresholds: Thresholds, first: usize) -> Self {
        let prepare = |most: usize| (most, Rehearsal::new(&looks(first, most), thresholds));
        let (low, high) = noise.sd_interval_percent;
        Self {
            level: thresholds.level,
            draws: Draws::new(RUNS, MOST, SEED),
            runs: lengths(first).map(prepare).collect(),
            sd: noise.sd_percent / 100.0,
            sd_interval: (low / 100.0, high / 100.0),
        }
    }

    fn curve(&self, (pairs, seconds_per_round): (usize, f64)) -> Curve {
        let minutes = |sessions: usize| real(sessions) * seconds_per_round / 60.0;
        let row = |change: f64| Row {
            change_percent: change * 100.0,
            cells: CERTAINTIES
                .map(|certainty| self.cell((change.ln_1p(), certainty), &minutes))
                .into(),
        };
        Curve {
            pairs,
            level: self.level,
            seconds_per_round,
            rows: CHANGES.map(row).into(),
            reach: MINUTES
                .map(|time| self.reach(time, seconds_per_round))
                .into(),
        }
    }

    fn cell(&self, (change, certainty): (f64, f64), minutes: &dyn Fn(usize) -> f64) -> Cell {
        let shortest = |sd: f64| self.shortest((change, certainty), sd);
        let found = shortest(self.sd);
        let taken = |found: Option<&(usize, Rehearsal)>| found.map(|(most, _)| minutes(*most));
        let mean = |(_, run): &(usize, Rehearsal)| run.hold(&self.draws, change, self.sd).sessions;
        let (low, high) = self.sd_interval;
        Cell {
            certainty_percent: certainty * 100.0,
            sessions: found.map(|(most, _)| *most),
            mean_sessions: found.map(mean),
            minutes: taken(found),
            minutes_interval: (taken(shortest(low)), taken(shortest(high))),
        }
    }

    /// Returns the shortest run that sees a change with such a chance.
    fn shortest(&self, (change, certainty): (f64, f64), sd: f64) -> Option<&(usize, Rehearsal)> {
        let blind = |(_, run): &(usize, Rehearsal)| !self.sees(run, (change, certainty), sd);
        self.runs.get(self.runs.partition_point(blind))
    }

    fn sees(&self, run: &Rehearsal, (change, certainty): (f64, f64), sd: f64) -> bool {
        run.hold(&self.draws, change, sd).flagged >= certainty
    }

    fn reach(&self, minutes: f64, seconds: f64) -> Reach {
        let fits = |(most, _): &&(usize, Rehearsal)| real(*most) * seconds <= minutes * 60.0;
        let run = self.runs.iter().take_while(fits).last();
        let smallest = |sd: f64| Some(self.smallest(&run?.1, sd)? * 100.0);
        let (low, high) = self.sd_interval;
        Reach {
            minutes,
            sessions: run.map_or(0, |(most, _)| *most),
            change_percent: smallest(self.sd),
            change_interval_percent: (smallest(low), smallest(high)),
        }
    }

    /// Returns the smallest change that a run sees, as a share.
    fn smallest(&self, run: &Rehearsal, sd: f64) -> Option<f64> {
        let sees = |change: f64| self.sees(run, (change.ln_1p(), REACH), sd);
        let (mut low, mut high) = RANGE;
        if !sees(high) {
            return None;
        }
        for _ in 0..HALVINGS {
            let middle = (low * high).sqrt();
            if sees(middle) {
                high = middle;
            } else {
                low = middle;
            }
        }
        Some(high)
    }
}

/// Returns how many sessions runs have at most: each length by two greater than the one before, later by a quarter.
fn lengths(first: usize) -> impl Iterator<Item = usize> {
    let longer = |most: &usize| Some(most + (most / 8 * 2).max(2));
    std::iter::successors(Some(first), longer).take_while(|most| *most <= MOST)
}

/// Returns when a run of that length is looked at: as [`crate::verdict::Looks`] does, at every second session from the first
/// look on, as long as these are not too many.
fn looks(first: usize, most: usize) -> Vec<usize> {
    let step = 2 * (most - first).div_ceil(2 * (LOOKS - 1)).max(1);
    let mut looks: Vec<usize> = (first..most).step_by(step).collect();
    looks.push(most);
    looks
}

#[cfg(test)]
mod tests {
    use super::super::figures::tests::{RULE, noise};
    use super::*;
    use crate::verdict::{Evidence, Looks, Metric, Verdict, decide};
    use crate::version::Pair;

    fn cells(curve: &Curve) -> impl Iterator<Item = &Cell> {
        curve.rows.iter().flat_map(|row| &row.cells)
    }

    #[test]
    fn a_greater_change_takes_no_longer_and_more_certainty_no_less() {
        for curve in &noise().curves {
            let count = |row: usize, cell: usize| {
                let sessions = curve.rows[row].cells[cell].sessions;
                sessions.unwrap_or(usize::MAX)
            };
            for (row, cell) in (0..4).flat_map(|row| [(row, 0), (row, 1)]) {
                assert!(count(row + 1, cell) <= count(row, cell));
                assert!(count(row, cell) <= count(row, cell + 1));
            }
            assert!(cells(curve).all(|cell| cell.mean_sessions <= cell.sessions.map(real)));
        }
    }

    #[test]
    fn more_time_shows_smaller_changes_and_all_pairs_take_more_than_one() {
        let noise = noise();
        let [one, all] = noise.curves.as_slice() else {
            panic!("one pair and all nine");
        };
        assert_eq!((one.pairs, all.pairs), (1, 9));
        // Nine neighbours go into three groups of four.
        assert!((all.seconds_per_round - 3.0 * one.seconds_per_round).abs() < 1e-9);
        for two in one.reach.windows(2) {
            assert!(two[1].change_percent <= two[0].change_percent);
        }
        for (one, all) in std::iter::zip(&one.reach, &all.reach) {
            assert!(
                all.change_percent
                    .is_none_or(|all| Some(all) >= one.change_percent)
            );
        }
    }

    #[test]
    fn a_change_of_the_least_size_is_flagged_half_the_time_at_most() {
        for curve in &noise().curves {
            assert_eq!(
                (
                    curve.rows[0].cells[1].sessions,
                    curve.rows[0].cells[2].sessions
                ),
                (None, None)
            );
        }
    }

    #[test]
    fn a_design_that_was_not_measured_has_no_curve_and_other_designs_load_in_turn() {
        let noise = noise();
        let seconds = |design: usize| round(&noise.designs[design], 9, 4);
        // Slices: twelve servers in three groups, where two take 9 s. Solo: ten versions, where two take 12 s.
        assert!((seconds(1) - 54.0).abs() < 1e-9 && (seconds(2) - 60.0).abs() < 1e-9);
    }

    /// Returns what a run says of one pair, by the rule of runs.
    fn run_flags(values: Vec<f64>, looks: Looks) -> bool {
        let evidence = Evidence {
            pair: Pair {
                baseline: 0,
                candidate: 1,
                skipped: Vec::new(),
            },
            metric: Metric::Throughput,
            attempts: values.len(),
            measure: values,
            confirm: Vec::new(),
            alone: Vec::new(),
            warnings: Vec::new(),
        };
        let judged = decide(
            &[evidence],
            &Rule {
                confirm: false,
                ..RULE
            },
            looks,
        );
        judged[0].comparison.verdict == Verdict::Improvement
    }

    #[test]
    fn rehearsals_flag_as_often_as_the_rule_of_runs() {
        // 200 runs of a change that is seen about half the time, each by both: they differ only where a run sets a session aside,
        // which of normal noise it does in 1 of 333 at each look, and Box and Muller's values are the same.
        let thresholds = Thresholds {
            level: 0.05,
            least: 0.01_f64.ln_1p(),
            margin: 0.02_f64.ln_1p(),
        };
        let (runs, change, sd) = (200, 0.016, 0.014);
        let draws = Draws::new(runs, 8, 9);
        let rehearsed = Rehearsal::new(&looks(4, 8), thresholds).hold(&draws, change, sd);
        let looks = Looks {
            least: 4,
            most: 8,
            over: true,
        };
        let values = draws.values();
        let shifted = values.map(|run| run.map(|value| change + sd * value).collect());
        let flags = shifted
            .filter(|run: &Vec<f64>| run_flags(run.clone(), looks))
            .count();
        let off = (real(flags) / real(runs) - rehearsed.flagged).abs();
        assert!(off <= 0.03, "{flags} {rehearsed:?}");
        assert!((0.2..0.8).contains(&rehearsed.flagged));
    }
}
