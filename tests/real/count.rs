//! What was concluded of pairs of which the truth is known.

use std::collections::BTreeMap;
use std::fmt::Write;

use harness::journal::Run;
use harness::matrix::Design;
use harness::verdict::{Comparison, Verdict, Warning, conclude};

use super::sessions::Name;

/// The true changes of the pairs in order, percent.
pub(crate) const TRUTH: [i32; 7] = [0, 0, 0, -2, 2, -5, 5];

/// What was concluded of the pairs of one size, of all runs of one server in one condition.
#[derive(Debug, Default)]
pub(crate) struct Count {
    /// Pairs.
    pub(crate) pairs: usize,
    /// Those flagged with the right sign; of equal ones none can be.
    pub(crate) found: usize,
    /// Those flagged with the wrong sign, or though the two are equal.
    pub(crate) wrong: usize,
    /// Those found to be the same.
    pub(crate) same: usize,
    /// Those whose estimate is below zero.
    pub(crate) below: usize,
    /// The estimates, percent of a log ratio, signed so that a true change is positive.
    pub(crate) effects: Vec<f64>,
    /// Wall time of the sessions until the look that decided, s: of the pair, and its part of sessions of several.
    pub(crate) seconds: Vec<(f64, f64)>,
}

/// Counts by server, condition and size of the true change.
pub(crate) fn count(runs: &BTreeMap<Name, Run>) -> BTreeMap<(&str, &str, i32), Count> {
    let mut counts: BTreeMap<(&str, &str, i32), Count> = BTreeMap::new();
    for ((server, condition, _), run) in runs {
        let judged = conclude(run).comparisons;
        assert_eq!(judged.len(), TRUTH.len(), "a pair has no number");
        for (comparison, truth) in std::iter::zip(judged, TRUTH) {
            let key = (server.as_str(), condition.as_str(), truth.abs());
            counts.entry(key).or_default().add(run, &comparison, truth);
        }
    }
    counts
}

impl Count {
    fn add(&mut self, run: &Run, comparison: &Comparison, truth: i32) {
        let effect = comparison.effect.unwrap_or(f64::NAN);
        self.pairs += 1;
        self.below += usize::from(effect < 0.0);
        let sign = if truth < 0 { -1.0 } else { 1.0 };
        self.effects.push(100.0 * sign * effect);
        match comparison.verdict {
            Verdict::Regression if truth < 0 => self.found += 1,
            Verdict::Improvement if truth > 0 => self.found += 1,
            Verdict::Regression | Verdict::Improvement => self.wrong += 1,
            Verdict::Same => self.same += 1,
            Verdict::Unknown | Verdict::Incomparable => {}
        }
        self.seconds.push(spent(run, comparison));
    }

    /// Returns the mean of the estimates.
    pub(crate) fn mean(&self) -> f64 {
        harness::stats::mean(&self.effects).unwrap_or(f64::NAN)
    }
}

/// Returns the wall time of the races of a pair that its conclusion rests on, whole and by the servers of each, s.
fn spent(run: &Run, comparison: &Comparison) -> (f64, f64) {
    let mut seen = comparison.sessions;
    for warning in &comparison.warnings {
        if let Warning::SetAside { sessions } = warning {
            seen += sessions;
        }
    }
    let pair = [comparison.pair.baseline, comparison.pair.candidate];
    let races = run.sessions.iter().filter(|session| {
        let there = |cell: &usize| session.launches.iter().any(|launch| launch.cell == *cell);
        session.design == Design::Race && pair.iter().all(there)
    });
    let spent = races.take(seen).map(|session| {
        let servers = u32::try_from(session.launches.len()).map_or(1.0, f64::from);
        (session.seconds, session.seconds / servers)
    });
    spent.fold((0.0, 0.0), |sum, one| (sum.0 + one.0, sum.1 + one.1))
}

/// Returns the counts as a table.
pub(crate) fn table(counts: &BTreeMap<(&str, &str, i32), Count>) -> String {
    let mut text = "| server | machine | true change | pairs | found | wrong | same | estimates below zero | mean estimate | \
                    wall time to the decision | for each version |\n|---|---|---|---|---|---|---|---|---|---|---|\n"
        .to_owned();
    for ((server, condition, truth), count) in counts {
        let middle = |of: fn(&(f64, f64)) -> f64| {
            let seconds: Vec<f64> = count.seconds.iter().map(of).collect();
            let greatest = seconds.iter().copied().fold(0.0, f64::max);
            let median = harness::stats::median(&seconds).unwrap_or(f64::NAN);
            format!("{median:.0} s, at most {greatest:.0} s")
        };
        let _ = writeln!(
            text,
            "| {server} | {condition} | {truth} % | {} | {} | {} | {} | {} | {:.2} % | {} | {} |",
            count.pairs,
            count.found,
            count.wrong,
            count.same,
            count.below,
            count.mean(),
            middle(|seconds| seconds.0),
            middle(|seconds| seconds.1),
        );
    }
    text
}
