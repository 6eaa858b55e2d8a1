//! The numbers of one version.

use serde::Serialize;

use super::details::Details;
use crate::journal::Run;
use crate::outcome::{Sample, Spread};
use crate::stats::median;
use crate::verdict::cpu_per_answer;
use crate::verdict::state::solo_samples;

/// Bytes of a MiB.
pub(super) const MIB: f64 = 1_048_576.0;

/// Medians over the solo trials of a cell, each figure for itself.
#[derive(Debug, Clone, PartialEq, Serialize, schemars::JsonSchema)]
pub struct Figures {
    /// How many trials.
    pub trials: usize,
    /// Right answers per second.
    pub fetches_per_second: f64,
    /// Body bytes per second.
    pub bytes_per_second: f64,
    /// Time to connect, ms.
    pub connect_ms: Triple,
    /// Time to the first byte of an answer, ms.
    pub first_response_ms: Triple,
    /// Median latency, ms.
    pub latency_p50_ms: f64,
    /// 90th percentile of latency, ms.
    pub latency_p90_ms: f64,
    /// 99th percentile of latency, ms.
    pub latency_p99_ms: f64,
    /// Greatest latency, ms.
    pub latency_max_ms: f64,
    /// CPU time of the server per answer, µs; none where it was not measured.
    pub cpu_us_per_answer: Option<f64>,
    /// Greatest resident set of the process tree, MiB; none where its processes are not known.
    pub rss_peak_mib: Option<f64>,
    /// Proportional set of the process tree, MiB; none where the kernel does not tell.
    pub pss_mib: Option<f64>,
    /// Threads of the process tree; none where its processes are not known.
    pub threads: Option<f64>,
    /// From the start of the process to the first right answer, ms; none where it ran already.
    pub startup_ms: Option<f64>,
    /// What else is known; none of journals that do not say what the load was like.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub details: Option<Details>,
}

/// Mean, greatest and least of a duration, ms, in `http_load`'s order.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, schemars::JsonSchema)]
pub struct Triple {
    /// Mean, ms.
    pub mean: f64,
    /// Greatest, ms.
    pub max: f64,
    /// Least, ms.
    pub min: f64,
}

impl Figures {
    /// Takes the medians over a cell's solo trials; none where it has none.
    pub(super) fn of_solo_trials(run: &Run, cell: usize) -> Option<Self> {
        let trials: Vec<&Sample> = solo_samples(run, cell).collect();
        let middle =
            |figure: &dyn Fn(&Sample) -> f64| middle(&trials, &|sample| Some(figure(sample)));
        let own: Vec<&Sample> = trials
            .iter()
            .copied()
            .filter(|sample| is_own(sample))
            .collect();
        let of_own =
            |figure: &dyn Fn(&Sample) -> f64| self::middle(&own, &|sample| Some(figure(sample)));
        Some(Self {
            trials: trials.len(),
            fetches_per_second: middle(&|sample| sample.load.fetches_per_second())?,
            bytes_per_second: middle(&|sample| sample.load.bytes_per_second())?,
            connect_ms: triple(&trials, |sample| sample.load.connect)?,
            first_response_ms: triple(&trials, |sample| sample.load.first_response)?,
            latency_p50_ms: middle(&|sample| sample.load.latency.p50)?,
            latency_p90_ms: middle(&|sample| sample.load.latency.p90)?,
            latency_p99_ms: middle(&|sample| sample.load.latency.p99)?,
            latency_max_ms: middle(&|sample| sample.load.latency.max)?,
            cpu_us_per_answer: self::middle(&trials, &|sample| Some(cpu_per_answer(sample)? * 1e6)),
            rss_peak_mib: of_own(&|sample| real(sample.resources.rss_peak_bytes) / MIB),
            pss_mib: self::middle(&trials, &|sample| {
                Some(real(sample.resources.pss_bytes?) / MIB)
            }),
            threads: of_own(&|sample| real(sample.resources.threads)),
            startup_ms: of_own(&|sample| sample.startup_ms),
            details: Details::of_solo_trials(run, cell),
        })
    }
}

/// Returns whether the server was started for the trial, so that its processes are known.
fn is_own(sample: &Sample) -> bool {
    sample.resources.processes > 0
}

/// Returns the median of a figure over the trials that have it.
fn middle(trials: &[&Sample], figure: &dyn Fn(&Sample) -> Option<f64>) -> Option<f64> {
    median(
        &trials
            .iter()
            .filter_map(|sample| figure(sample))
            .collect::<Vec<f64>>(),
    )
}

fn triple(trials: &[&Sample], spread: fn(&Sample) -> Spread) -> Option<Triple> {
    Some(Triple {
        mean: middle(trials, &|sample| Some(spread(sample).mean))?,
        max: middle(trials, &|sample| Some(spread(sample).max))?,
        min: middle(trials, &|sample| Some(spread(sample).min))?,
    })
}

#[expect(clippy::cast_precision_loss, reason = "counts stay far below 2^53")]
fn real(count: u64) -> f64 {
    count as f64
}
