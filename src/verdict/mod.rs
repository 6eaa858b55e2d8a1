//! Samples → comparisons → verdicts. Pure.
//!
//! `state` says what is known of each cell, `signs` what its figures give away, `pollution` which sessions the machine
//! spoilt, `evidence` turns the others into one log ratio per session and pair, `warn` says what is odd about these, `judge`
//! holds the rule, `looks` when it is applied while a run goes on, `levels` fits what the table shows, and `boil` adds up
//! steps that are each too small.

mod bimodal;
mod boil;
mod evidence;
#[cfg(test)]
pub(crate) mod fixture;
mod judge;
mod levels;
mod looks;
pub(crate) mod pollution;
pub(crate) mod signs;
pub(crate) mod state;
mod warn;
#[cfg(test)]
mod properties;
#[cfg(test)]
mod tests;

pub use boil::{Boil, Way, boils, way};
pub use evidence::Evidence;
pub(crate) use evidence::{cpu_per_answer, levels, metric_of};
pub(crate) use judge::facts;
pub use judge::{conclude, evidence, judge, so_far};
pub use looks::{Judged, Looks, Spending, decide, decide_with};

use serde::{Deserialize, Serialize};

pub use crate::matrix::Metric;
use crate::outcome::Gap;
use crate::version::Pair;

/// What is concluded of a pair.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// The candidate is worse.
    Regression,
    /// The candidate is better.
    Improvement,
    /// Any difference is smaller than the margin.
    Same,
    /// Not enough evidence.
    Unknown,
    /// The two may not be compared.
    Incomparable,
}

/// What is known of a pair by one metric. Effects are log ratios, turned so that negative is worse: of what is better when
/// greater candidate − baseline, of what is better when smaller baseline − candidate.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// The pair.
    pub pair: Pair,
    /// The number that decided.
    pub metric: Metric,
    /// The conclusion.
    pub verdict: Verdict,
    /// Mean log ratio over the sessions that count; none when there are none.
    pub effect: Option<f64>,
    /// Interval of the effect at the level adjusted for the number of pairs.
    pub interval: Option<(f64, f64)>,
    /// p after Holm's correction over all pairs of the run.
    pub adjusted_p: Option<f64>,
    /// Standard deviation of the sessions' log ratios, moderated by all pairs of the run.
    pub sd: Option<f64>,
    /// Sessions that count.
    pub sessions: usize,
    /// The least size of an effect, as a log ratio, that so many sessions of such noise would flag with a chance of 80 %.
    #[serde(default)]
    pub detectable: Option<f64>,
    /// Whether fresh sessions confirmed a flag; none where none were asked for or held.
    pub confirmed: Option<bool>,
    /// For `unknown`: how many more sessions it would take, by the noise seen.
    pub sessions_needed: Option<u32>,
    /// What a reader should know.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<Warning>,
}

/// What a reader of a comparison should know.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Warning {
    /// Fewer sessions than planned.
    FewSessions {
        /// Sessions that count.
        held: usize,
        /// Sessions planned.
        planned: u32,
    },
    /// CPU shares of the racing servers differed, so throughput was not valid.
    UnfairRace {
        /// How much more CPU time the candidate got than the baseline on average, as a share (0.1 is 10 %, negative is less).
        difference: f64,
        /// Threads of the baseline and of the candidate, where they differ.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        threads: Option<(u64, u64)>,
    },
    /// CPU shares differed because this version takes less CPU by itself: it waits for something, and throughput decides.
    Waits {
        /// The cell.
        cell: usize,
    },
    /// The solo trials of a flagged pair point the other way: what races show may be a cost of sharing a CPU.
    SoloDisagrees {
        /// Log ratio of the median solo fetches/sec, candidate against baseline.
        solo: f64,
    },
    /// The load generator was the limit in this many sessions.
    GeneratorBound {
        /// Sessions.
        sessions: usize,
    },
    /// Requests came at a given rate and the CPU time of the servers is not known, so nothing decides.
    OnlyRate,
    /// The metric was not measured, so nothing is known of the pair by it.
    NotMeasured,
    /// Measuring began before CPU per answer was steady, in this many launches.
    Unsteady {
        /// Launches.
        launches: usize,
    },
    /// The launches of the two versions vary unlike: the sd of one is so many times that of the other.
    UnequalVariances {
        /// The cell that varies more.
        cell: usize,
        /// How many times more.
        ratio: f64,
    },
    /// The pair's log ratio drifts over the run.
    Drift {
        /// How far it went from the first session to the last, by the fitted line.
        change: f64,
    },
    /// Sessions in which the machine was busy with something else did not count and were held again.
    Polluted {
        /// Sessions.
        sessions: usize,
    },
    /// Launches of one version settle at two levels.
    Bimodal {
        /// The cell.
        cell: usize,
    },
    /// Sessions lay so far outside the others that they do not count.
    SetAside {
        /// Sessions.
        sessions: usize,
    },
    /// A step was flagged by the first sessions and not confirmed by fresh ones.
    NotConfirmed,
    /// Both artifacts are the same program.
    SameProgram,
    /// The figures of one of the two give something away.
    #[serde(untagged)]
    Sign(Sign),
}

/// What the figures of one version give away.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Sign {
    /// In all its solo trials the load generator was the limit: alone it gives at least the shown figure.
    AtLeast {
        /// The cell.
        cell: usize,
    },
    /// It gave fewer answers per second than the rate asks for.
    RateNotKept {
        /// The cell.
        cell: usize,
        /// Answers per second ÷ rate.
        share: f64,
    },
    /// The load's own figures contradict one another.
    LittlesLaw {
        /// The cell.
        cell: usize,
        /// Requests under way on average, as counted.
        expected: f64,
        /// Answers per second × mean latency.
        found: f64,
    },
    /// Its answers wait for the client's acknowledgement of their first part.
    DelayedAck {
        /// The cell.
        cell: usize,
    },
}

/// The level of one cell: what the table shows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Level {
    /// The cell's index.
    pub cell: usize,
    /// Right answers per second of the server alone, fitted so that ratios of neighbours are the verdicts' effects.
    pub fetches_per_second: f64,
    /// Standard error of its logarithm; none where there are too few trials or sessions to tell.
    pub relative_error: Option<f64>,
}

/// What a whole run says.
#[derive(Debug, Clone, PartialEq)]
pub struct Judgement {
    /// Pairs of neighbours in order, by the main metric.
    pub comparisons: Vec<Comparison>,
    /// The same pairs by the other metrics that decide, pair by pair.
    pub others: Vec<Comparison>,
    /// What is still to be held of each pair.
    pub held: Vec<Held>,
    /// A level for each measured cell, in order.
    pub levels: Vec<Level>,
    /// A gap for each cell that has no number, in order.
    pub gaps: Vec<(usize, Gap)>,
    /// Cells that have neither yet: the run has not come to them.
    pub pending: Vec<usize>,
}

impl Judgement {
    /// Returns what is known of all pairs by all metrics.
    pub fn all(&self) -> impl Iterator<Item = &Comparison> {
        self.comparisons.iter().chain(&self.others)
    }
}

/// What is still to be held of a pair.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Held {
    /// The pair.
    pub pair: Pair,
    /// Further sessions that the next look waits for; 0 when it is decided, or waits for others.
    pub wanted: usize,
    /// Further sessions that it may get at most.
    pub at_most: usize,
    /// Fresh sessions that are to confirm it, those already held included; 0 where nothing is flagged.
    ///
    /// It stays, whatever the fresh sessions say: if it did not, the end of a confirmation would depend on its outcome.
    pub fresh: usize,
}

impl Held {
    pub(crate) fn new(pair: Pair) -> Self {
        Self {
            pair,
            wanted: 0,
            at_most: 0,
            fresh: 0,
        }
    }
}
