//! What one run says of its versions, and whether it may be held against another. Pure.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::Serialize;

use crate::journal::{Built, Header, Run};
use crate::matrix::Metric;
use crate::verdict::Judgement;

/// What one run says.
#[derive(Debug, Clone, PartialEq)]
pub struct Night {
    /// The run's name.
    pub run: String,
    /// When it began.
    pub started: Timestamp,
    /// Log of fetches/second of each version, in the order of the run.
    pub(super) levels: Vec<(String, f64)>,
    /// The effect of each pair that was raced more than once, with the number that decided.
    pub(super) effects: BTreeMap<(String, String), (Metric, f64)>,
    /// The hash of what each version was started from, where it is known.
    pub(super) programs: BTreeMap<String, String>,
}

impl Night {
    /// Takes from a run and its judgement what a history needs.
    pub fn new(run: &Run, judgement: &Judgement) -> Self {
        let name = |cell: usize| run.header.cells[cell].id.clone();
        let levels = judgement.levels.iter();
        let raced = judgement.comparisons.iter().filter(|one| one.sd.is_some());
        let program = |(cell, built): (&usize, &Built)| match built {
            Built::Artifact(artifact) => Some((name(*cell), artifact.content.clone()?)),
            Built::Gap(_) => None,
        };
        Self {
            run: run.header.run.clone(),
            started: run.header.started,
            levels: levels
                .map(|level| (name(level.cell), level.fetches_per_second.ln()))
                .collect(),
            effects: raced
                .filter_map(|one| {
                    let pair = (name(one.pair.baseline), name(one.pair.candidate));
                    Some((pair, (one.metric, one.effect?)))
                })
                .collect(),
            programs: run.builds.iter().filter_map(program).collect(),
        }
    }

    /// Returns the names of the cells that have a level.
    pub fn cells(&self) -> impl Iterator<Item = &str> {
        self.levels.iter().map(|(id, _)| id.as_str())
    }
}

/// A run that is not part of a history.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LeftOut {
    /// Its name, or its journal's where that cannot be read.
    pub run: String,
    /// Why.
    #[serde(flatten)]
    pub why: Why,
}

/// Why a run is not part of a history.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case", tag = "why", content = "what")]
pub enum Why {
    /// Its journal cannot be read, for this reason.
    Unreadable(String),
    /// It has not ended by itself.
    Unfinished,
    /// The load, the check or the generator is another.
    OtherLoad,
    /// Another number decides.
    OtherMetric,
    /// The machine is another; this of it differs.
    OtherMachine(Vec<String>),
    /// No version connects it with the newest run.
    Unlinked,
}

/// Returns why a run may not be held against the newest one; none if it may.
pub fn why_not(newest: &Header, other: &Header) -> Option<Why> {
    if newest.workload_key != other.workload_key {
        return Some(Why::OtherLoad);
    }
    if newest.metrics.first() != other.metrics.first() {
        return Some(Why::OtherMetric);
    }
    (newest.machine.class != other.machine.class).then(|| Why::OtherMachine(differs(newest, other)))
}

/// Returns what of two machines differs: `kernel 6.1.0 in place of 6.2.0`.
fn differs(newest: &Header, other: &Header) -> Vec<String> {
    let facts = |header: &Header| {
        let machine = &header.machine;
        let virtualisation = machine.virtualisation.clone();
        [
            ("CPU", machine.cpu.clone()),
            ("cores", machine.cores.to_string()),
            ("kernel", machine.kernel.clone()),
            (
                "virtualisation",
                virtualisation.unwrap_or("none".to_owned()),
            ),
        ]
    };
    std::iter::zip(facts(newest), facts(other))
        .filter(|(now, then)| now != then)
        .map(|((what, now), (_, then))| format!("{what} {then} in place of {now}"))
        .collect()
}
