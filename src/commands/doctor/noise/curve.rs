//! Which change can be seen, with what certainty, in how many minutes. Pure.

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;
use serde::Serialize;
use statrs::distribution::{ContinuousCDF, Normal};

use crate::matrix::{Metric, Rule, Sessions};
use crate::stats::{Power, TTest, real, smallest_effect};
use crate::verdict::{Evidence, Looks, Verdict, decide};
use crate::version::Pair;

/// Changes that are looked at, as shares.
const CHANGES: [f64; 5] = [0.01, 0.02, 0.03, 0.05, 0.10];
/// Chances with which they are to be seen.
pub(super) const CHANCES: [f64; 3] = [0.5, 0.8, 0.95];
/// Simulated runs of each change: a chance of 80 % is then known to 6 points.
const RUNS: usize = 200;
/// Times for which the smallest change is named, minutes.
const MINUTES: [f64; 5] = [1.0, 2.0, 5.0, 10.0, 30.0];
/// The chance with which it is seen.
const CHANCE: f64 = 0.8;

/// What is measured, and how it is judged.
#[derive(Debug, Clone, Copy)]
pub(super) struct Setting<'a> {
    /// Standard deviation of a pair's log ratio from session to session.
    pub(super) sd: f64,
    /// Wall time of a session, s.
    pub(super) seconds: f64,
    /// How often pairs are measured.
    pub(super) sessions: &'a Sessions,
    /// How they are judged.
    pub(super) rule: &'a Rule,
}

/// What it takes to see changes in a run of so many pairs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Curve {
    /// Pairs of the run.
    pub(super) pairs: usize,
    /// One for each change.
    pub(super) changes: Vec<Seen>,
}

/// What it takes to see a change.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Seen {
    /// How much slower, percent.
    pub(super) change_percent: f64,
    /// For each chance of 50, 80 and 95 % the sessions of each pair and the minutes of the whole run, if none of its pairs is
    /// decided before; none where the run's most sessions do not do.
    pub(super) needed: Vec<Option<Needed>>,
}

/// Sessions and the time they take.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub(super) struct Needed {
    /// Sessions of each pair.
    pub(super) sessions: usize,
    /// Minutes of wall time.
    pub(super) minutes: f64,
}

/// The smallest change that is seen with a chance of 80 % in a time.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub(super) struct Smallest {
    /// Minutes spent on one pair.
    pub(super) minutes: f64,
    /// Percent; none where the time is too short for the sessions that decide anything.
    pub(super) change_percent: Option<f64>,
}

/// Simulates runs of so many pairs, of which one is slower, with normal noise of that spread, judged by the product's own rule
/// as a run judges: look by look.
pub(super) fn curve(setting: &Setting<'_>, pairs: usize) -> Curve {
    let per_round = pairs.div_ceil(setting.sessions.group.max(2) - 1);
    let needed = |found: &[usize], chance: f64| {
        let least = looks(setting.sessions).least..=looks(setting.sessions).most;
        let enough = |sessions: &usize| {
            let seen = found.iter().filter(|at| *at <= sessions).count();
            real(seen) >= chance * real(RUNS)
        };
        let sessions = least.into_iter().find(enough)?;
        Some(Needed {
            sessions,
            minutes: real(sessions * per_round) * setting.seconds / 60.0,
        })
    };
    let seen = |change: &f64| {
        let found = found_after(setting, pairs, *change);
        Seen {
            change_percent: change * 100.0,
            needed: CHANCES.map(|chance| needed(&found, chance)).to_vec(),
        }
    };
    Curve {
        pairs,
        changes: CHANGES.iter().map(seen).collect(),
    }
}

/// Returns after how many sessions each simulated run that finds the change finds it.
fn found_after(setting: &Setting<'_>, pairs: usize, change: f64) -> Vec<usize> {
    let mut random = Pcg64::seed_from_u64(1);
    let looks = looks(setting.sessions);
    let mut run = || {
        let evidence: Vec<Evidence> = (0..pairs)
            .map(|place| {
                let effect = if place == 0 { (1.0 - change).ln() } else { 0.0 };
                evidence(place, normal((effect, setting.sd), looks.most, &mut random))
            })
            .collect();
        let first = decide(&evidence, setting.rule, looks).swap_remove(0);
        let found = first.comparison.verdict == Verdict::Regression;
        found.then_some(first.seen)
    };
    (0..RUNS).filter_map(|_| run()).collect()
}

fn looks(sessions: &Sessions) -> Looks {
    let number = |count: u32| usize::try_from(count).unwrap_or(usize::MAX / 4);
    Looks {
        least: number(sessions.least.min(sessions.count)),
        most: number(sessions.count),
        over: true,
    }
}

fn normal((centre, sd): (f64, f64), count: usize, random: &mut Pcg64) -> Vec<f64> {
    let standard = Normal::standard();
    let draw = |_| centre + sd * standard.inverse_cdf(random.random_range(1e-12..1.0));
    (0..count).map(draw).collect()
}

fn evidence(place: usize, measure: Vec<f64>) -> Evidence {
    Evidence {
        pair: Pair {
            baseline: place,
            candidate: place + 1,
            skipped: Vec::new(),
        },
        metric: Metric::Throughput,
        attempts: measure.len(),
        measure,
        confirm: Vec::new(),
        alone: Vec::new(),
        warnings: Vec::new(),
    }
}

/// Returns what one pair shows in a few times, if all its sessions are judged at once.
pub(super) fn smallest(setting: &Setting<'_>) -> Vec<Smallest> {
    let wanted = Power {
        level: setting.rule.alpha,
        least: setting.rule.min_effect,
        power: CHANCE,
    };
    let change = |minutes: f64| {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a number of sessions"
        )]
        let sessions = (minutes * 60.0 / setting.seconds) as usize;
        if sessions < 3 {
            return None;
        }
        let test = TTest::new(0.0, setting.sd, sessions, real(sessions - 1));
        smallest_effect(&test, &wanted)
    };
    let each = MINUTES.iter().map(|minutes| Smallest {
        minutes: *minutes,
        change_percent: change(*minutes).map(|change| (1.0 - (-change).exp()) * 100.0),
    });
    each.collect()
}

#[cfg(test)]
pub(super) mod tests {
    use std::time::Duration;

    use super::super::figures::tests::RULE;
    use super::*;
    use crate::matrix::Design;

    pub(in super::super) const SESSIONS: Sessions = Sessions {
        count: 12,
        least: 4,
        group: 4,
        solo: 3,
        design: Design::Race,
        slice: Duration::from_millis(20),
    };

    fn setting(sd: f64) -> Setting<'static> {
        Setting {
            sd,
            seconds: 6.0,
            sessions: &SESSIONS,
            rule: &RULE,
        }
    }

    #[test]
    fn a_greater_change_and_less_certainty_take_fewer_sessions() {
        let curve = curve(&setting(0.013), 1);
        let sessions = |change: usize, chance: usize| {
            let needed = &curve.changes[change].needed[chance];
            needed.map_or(usize::MAX, |needed| needed.sessions)
        };
        for chance in 1..3 {
            assert!((0..5).all(|change| sessions(change, chance) >= sessions(change, chance - 1)));
        }
        for change in 1..5 {
            assert!((0..3).all(|chance| sessions(change, chance) <= sessions(change - 1, chance)));
        }
        assert!(sessions(4, 1) <= 6, "10 % is seen by the second look");
        assert_eq!(
            sessions(0, 1),
            usize::MAX,
            "half of the least changes are below it"
        );
    }

    #[test]
    fn a_session_of_four_serves_three_pairs() {
        let minutes = |pairs| curve(&setting(0.002), pairs).changes[3].needed[0].unwrap();
        let (one, nine) = (minutes(1), minutes(9));
        assert_eq!((one.sessions, nine.sessions), (4, 4));
        assert!((nine.minutes - 3.0 * one.minutes).abs() < 1e-9);
    }

    #[test]
    fn more_time_shows_smaller_changes_and_a_moment_none() {
        let smallest = smallest(&setting(0.013));
        let changes: Vec<f64> = smallest
            .iter()
            .filter_map(|one| one.change_percent)
            .collect();
        assert_eq!(changes.len(), 5);
        assert!(changes.windows(2).all(|two| two[1] < two[0]));
        let slow = Setting {
            seconds: 30.0,
            ..setting(0.013)
        };
        assert_eq!(super::smallest(&slow)[0].change_percent, None);
    }
}
