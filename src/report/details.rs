//! What is known of a version's load beside the figures that everybody asks for.

use std::collections::BTreeMap;

use serde::Serialize;

use super::words::{list, number};
use crate::journal::{Run, SessionRecord};
use crate::matrix::Design;
use crate::outcome::{Counters, ErrorKind, Sample};
use crate::stats::median;
use crate::verdict::state::{launches, sample};

/// Medians over the solo trials of a cell, each figure for itself.
#[derive(Debug, Clone, PartialEq, Serialize, schemars::JsonSchema)]
pub struct Details {
    /// What sent the requests.
    pub engine: String,
    /// Share of its CPUs that the load used, percent.
    pub client_percent: f64,
    /// 95th percentile of latency, ms.
    pub latency_p95_ms: f64,
    /// 99.9th percentile of latency, ms.
    pub latency_p99_9_ms: f64,
    /// How much later than due requests of a given rate were sent, mean, ms; none in a closed loop.
    pub lateness_ms: Option<f64>,
    /// Requests of a given rate that were due and not sent, in all trials.
    pub unsent: u64,
    /// Requests under way on average; none where that was not counted.
    pub in_flight: Option<f64>,
    /// Right answers for each connection that was opened in the measured part; none where all were open already.
    pub answers_per_connection: Option<f64>,
    /// Failed requests by kind, in all trials.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub errors: BTreeMap<ErrorKind, u64>,
    /// How often the server gave up a CPU by itself, for each answer; none where that was not counted.
    pub voluntary_switches_per_answer: Option<f64>,
    /// How often a CPU was taken from the server, for each answer; none where that was not counted.
    pub involuntary_switches_per_answer: Option<f64>,
    /// Share of the measured time that the server's threads waited for a CPU, percent; none where that is not known.
    pub run_delay_percent: Option<f64>,
    /// Instructions for each answer; none where the machine has no counters.
    pub instructions_per_answer: Option<f64>,
    /// CPU cycles for each answer; none where the machine has no counters.
    pub cycles_per_answer: Option<f64>,
    /// Mean resident set of the process tree, MiB; none where that was not measured.
    pub rss_mean_mib: Option<f64>,
    /// Greatest proportional set of the process tree that was seen, MiB; none where the kernel does not tell.
    pub pss_peak_mib: Option<f64>,
}

/// A solo trial.
type Trial<'run> = (&'run SessionRecord, &'run Sample);

impl Details {
    /// Takes the medians over a cell's solo trials; none where its sessions do not say what the load was like.
    pub(super) fn of_solo_trials(run: &Run, cell: usize) -> Option<Self> {
        let trials: Vec<Trial<'_>> = launches(run, cell)
            .filter(|(session, _)| session.design == Design::Solo)
            .filter(|(session, _)| !session.client.engine.is_empty())
            .filter_map(|(session, launch)| Some((session, sample(launch)?)))
            .collect();
        let (first, _) = trials.first()?;
        let middle = |figure: &dyn Fn(Trial<'_>) -> Option<f64>| -> Option<f64> {
            median(
                &trials
                    .iter()
                    .copied()
                    .filter_map(figure)
                    .collect::<Vec<_>>(),
            )
        };
        let per_answer = |count: fn(&Sample) -> Option<u64>| {
            middle(&|(_, sample)| Some(real(count(sample)?) / real(sample.load.answers)))
        };
        let counted = |take: fn(&Counters) -> u64| {
            middle(&|(_, sample)| {
                let count = take(sample.resources.counters.as_ref()?);
                Some(real(count) / real(sample.load.answers))
            })
        };
        let has_rate = run.header.workload.manner.rate.is_some();
        Some(Self {
            engine: first.client.engine.clone(),
            client_percent: middle(&|(session, _)| Some(session.client_share * 100.0))?,
            latency_p95_ms: middle(&|(_, sample)| Some(sample.load.latency.p95))?,
            latency_p99_9_ms: middle(&|(_, sample)| Some(sample.load.latency.p99_9))?,
            lateness_ms: middle(&|(_, sample)| has_rate.then_some(sample.load.lateness.mean)),
            unsent: trials.iter().map(|(_, sample)| sample.load.unsent).sum(),
            in_flight: middle(&|(_, sample)| positive(sample.load.in_flight)),
            answers_per_connection: middle(&|(_, sample)| {
                let connections = positive(real(sample.load.connections_measured))?;
                Some(real(sample.load.answers) / connections)
            }),
            errors: errors(&trials),
            voluntary_switches_per_answer: per_answer(|sample| {
                known(sample, sample.resources.voluntary_switches)
            }),
            involuntary_switches_per_answer: per_answer(|sample| {
                known(sample, sample.resources.involuntary_switches)
            }),
            run_delay_percent: middle(&|(_, sample)| {
                let waited = positive(sample.resources.run_delay_seconds)?;
                Some(waited / sample.load.seconds * 100.0)
            }),
            instructions_per_answer: counted(|counters| counters.instructions),
            cycles_per_answer: counted(|counters| counters.cycles),
            rss_mean_mib: middle(&|(_, sample)| {
                Some(positive(real(sample.resources.rss_mean_bytes))? / super::figures::MIB)
            }),
            pss_peak_mib: middle(&|(_, sample)| {
                Some(real(sample.resources.pss_peak_bytes?) / super::figures::MIB)
            }),
        })
    }

    /// Returns the failures by kind, `reset 3, timeout 1`; none where there are none.
    pub(super) fn failures(&self) -> Option<String> {
        let name = |kind: &ErrorKind| serde_json::to_value(kind).unwrap_or_default();
        let words: Vec<String> = self
            .errors
            .iter()
            .map(|(kind, count)| format!("{} {count}", name(kind).as_str().unwrap_or("other")))
            .collect();
        (!words.is_empty()).then(|| list(&words, "and"))
    }
}

/// Returns how often a tree's threads changed, where that was counted: a tree that never did was not looked at.
fn known(sample: &Sample, count: u64) -> Option<u64> {
    let resources = &sample.resources;
    (resources.voluntary_switches + resources.involuntary_switches > 0).then_some(count)
}

fn errors(trials: &[Trial<'_>]) -> BTreeMap<ErrorKind, u64> {
    let mut errors = BTreeMap::new();
    for (kind, count) in trials.iter().flat_map(|(_, sample)| &sample.load.errors) {
        *errors.entry(*kind).or_default() += count;
    }
    errors
}

/// Returns a figure that was told; what was not is a zero.
pub(super) fn positive(number: f64) -> Option<f64> {
    (number > 0.0).then_some(number)
}

#[expect(clippy::cast_precision_loss, reason = "counts stay far below 2^53")]
fn real(count: u64) -> f64 {
    count as f64
}

/// A column of the table of details: what it is headed with, and its entry where there is one.
pub(super) type Column = (&'static str, fn(&Details) -> Option<String>);

/// The columns of the table; those without any entry are left out.
pub(super) const COLUMNS: [Column; 13] = [
    ("load", |details| Some(details.engine.clone())),
    ("load CPU %", |details| {
        positive(details.client_percent).map(number)
    }),
    ("p95 ms", |details| {
        positive(details.latency_p95_ms).map(number)
    }),
    ("p99.9 ms", |details| {
        positive(details.latency_p99_9_ms).map(number)
    }),
    ("sent late ms", |details| details.lateness_ms.map(number)),
    ("not sent", |details| {
        (details.unsent > 0).then(|| details.unsent.to_string())
    }),
    ("answers/connection", |details| {
        details.answers_per_connection.map(number)
    }),
    ("failed requests", Details::failures),
    ("switches/answer own", |details| {
        details.voluntary_switches_per_answer.map(number)
    }),
    ("switches/answer forced", |details| {
        details.involuntary_switches_per_answer.map(number)
    }),
    ("waited for CPU %", |details| {
        details.run_delay_percent.map(number)
    }),
    ("instructions/answer", |details| {
        details.instructions_per_answer.map(number)
    }),
    ("cycles/answer", |details| {
        details.cycles_per_answer.map(number)
    }),
];
