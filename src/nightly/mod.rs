//! Night after night: what to measure, what is news, what is still open. Pure but for `ledger`, which is a file.

pub mod ledger;
mod pick;
mod story;

pub use pick::{Picked, Settled, Wish, pick};
pub use story::{How, Matter, Open, Recovery, Story, Trend};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::journal::Run;
use crate::outcome::{Class, Gap, GapKind, Stage};
use crate::verdict::{Comparison, Judgement, Metric, Verdict};

/// What one night found out about one matrix.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Night {
    /// When it began by the machine's clock. The order of nights is that of the ledger: a clock may be set back.
    pub started: Timestamp,
    /// What came of it.
    #[serde(flatten)]
    pub outcome: Outcome,
}

impl Night {
    /// Returns whether another is the same night, gone on with after it was cut short.
    fn is_of(&self, other: &Self) -> bool {
        match (&self.outcome, &other.outcome) {
            (Outcome::Measured(one), Outcome::Measured(other)) => one.run == other.run,
            (Outcome::Measured(_) | Outcome::Failed { .. }, _) => false,
        }
    }
}

/// What came of a night.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "outcome")]
pub enum Outcome {
    /// It was measured.
    Measured(Measured),
    /// Nothing could be measured.
    Failed {
        /// Why.
        why: String,
    },
}

/// What was measured in a night.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Measured {
    /// The run's name, which is that of its journal.
    pub run: String,
    /// The least effect worth a flag, as a share.
    pub min_effect: f64,
    /// Every pair that was compared.
    pub steps: Vec<Seen>,
    /// Every cell without a number.
    pub gaps: Vec<Lost>,
    /// Every cell with one.
    pub levels: Vec<Level>,
    /// Versions that no night has come to yet.
    pub waiting: usize,
    /// The newest version against itself.
    pub health: Option<Health>,
    /// What else a reader should know, one sentence each.
    pub notes: Vec<String>,
}

/// A pair that was compared.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Seen {
    /// The earlier cell's name.
    pub baseline: String,
    /// The later cell's name.
    pub candidate: String,
    /// Whether it is by the main number, and not by a further one that decides.
    pub main: bool,
    /// The number that decided. The main one may be answers per second one night and per CPU second another.
    pub metric: Metric,
    /// The conclusion.
    pub verdict: Verdict,
    /// Log ratio whose negative is worse.
    pub effect: Option<f64>,
    /// Its interval.
    pub interval: Option<(f64, f64)>,
    /// Whether fresh sessions confirmed a flag.
    pub confirmed: Option<bool>,
}

/// A cell without a number.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lost {
    /// The cell's name.
    pub cell: String,
    /// Its commit, in git.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// Where it stops.
    pub stage: Stage,
    /// What happens.
    pub kind: GapKind,
    /// Whether another try may help.
    pub class: Class,
    /// Why, in one line.
    pub cause: String,
}

/// A cell with a number.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Level {
    /// The cell's name.
    pub cell: String,
    /// Its commit, in git.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// Right answers per second.
    pub fetches_per_second: f64,
}

/// One version against itself: what the machine was like that night.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Health {
    /// The cell's name.
    pub cell: String,
    /// Sessions.
    pub sessions: usize,
    /// Mean log ratio of the two launches; 0 is right.
    pub effect: f64,
    /// Its 95 % interval.
    pub interval: (f64, f64),
    /// Standard deviation of the sessions' log ratios.
    pub sd: f64,
}

impl Health {
    /// Returns whether the machine found a difference where there is none.
    pub fn is_wrong(&self) -> bool {
        self.interval.0 > 0.0 || self.interval.1 < 0.0
    }
}

impl Measured {
    /// Takes from a run what the nights after it need to know.
    pub fn new(run: &Run, judgement: &Judgement) -> Self {
        let seen = |main| move |one: &Comparison| Seen::new(run, one, main);
        let steps = judgement.comparisons.iter().map(seen(true));
        let lost = |(cell, gap): &(usize, Gap)| Lost::new(run, *cell, gap);
        let level = |level: &crate::verdict::Level| Level {
            cell: run.header.cells[level.cell].id.clone(),
            commit: run.header.cells[level.cell].version.commit.clone(),
            fetches_per_second: level.fetches_per_second,
        };
        Self {
            run: run.header.run.clone(),
            min_effect: run.header.rule.min_effect,
            steps: steps
                .chain(judgement.others.iter().map(seen(false)))
                .collect(),
            gaps: judgement.gaps.iter().map(lost).collect(),
            levels: judgement.levels.iter().map(level).collect(),
            waiting: 0,
            health: None,
            notes: Vec::new(),
        }
    }
}

impl Seen {
    fn new(run: &Run, one: &Comparison, main: bool) -> Self {
        let name = |cell: usize| run.header.cells[cell].id.clone();
        Self {
            baseline: name(one.pair.baseline),
            candidate: name(one.pair.candidate),
            main,
            metric: one.metric,
            verdict: one.verdict,
            effect: one.effect,
            interval: one.interval,
            confirmed: one.confirmed,
        }
    }

    /// Returns by which of the further numbers it is; none if it is by the main one.
    pub fn number(&self) -> Option<Metric> {
        (!self.main).then_some(self.metric)
    }

    /// Returns whether another is of the same pair and number.
    fn is_of(&self, other: &Self) -> bool {
        self.number() == other.number()
            && self.baseline == other.baseline
            && self.candidate == other.candidate
    }
}

impl Lost {
    fn new(run: &Run, cell: usize, gap: &Gap) -> Self {
        let of = &run.header.cells[cell];
        Self {
            cell: of.id.clone(),
            commit: of.version.commit.clone(),
            stage: gap.stage,
            kind: gap.kind,
            class: gap.class,
            cause: gap.cause.clone(),
        }
    }

    /// Returns whether it says something of the version: what the matrix leaves out does not, nor what a night did not
    /// come to.
    fn is_told(&self) -> bool {
        !matches!(
            self.kind,
            GapKind::Excluded | GapKind::Budget | GapKind::Interrupted
        )
    }
}

#[cfg(test)]
mod tests;
