//! What the sessions say of one pair: one log ratio for each session, by the metric that is fair.

use std::collections::BTreeSet;

use super::state::{launches, sample};
use super::{Metric, Warning};
use crate::journal::{Launch, Launched, Purpose, Run, SessionRecord, Window};
use crate::matrix::Design;
use crate::outcome::Sample;
use crate::stats::{median, real, trimmed_mean};
use crate::version::Pair;

/// A race is fair while the log ratio of the two servers' CPU times is at most this. In the trials of the method's
/// part A identical servers kept equal shares to a few percent, and a server that gained a thread gained share.
const FAIR_SHARES: f64 = 0.05;

/// The client is the limit when its threads use more than this share of their CPUs …
const CLIENT_BUSY: f64 = 0.95;

/// … while the servers use less than this share of theirs.
const SERVER_IDLE: f64 = 0.90;

/// Percent of a session's windows left out at each end before they are averaged.
const TRIMMED_PERCENT: usize = 20;

/// What the sessions say of one pair, as log ratios of speed: candidate − baseline.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Evidence {
    /// The pair.
    pub(crate) pair: Pair,
    /// The number that decides.
    pub(crate) metric: Metric,
    /// One value for each session held to measure.
    pub(crate) measure: Vec<f64>,
    /// One value for each session held to confirm.
    pub(crate) confirm: Vec<f64>,
    /// What a reader should know.
    pub(crate) warnings: Vec<Warning>,
}

/// Two samples that may be held against each other: of one race, or the k-th solo trials of each.
#[derive(Debug, Clone, Copy)]
struct Meeting<'run> {
    purpose: Purpose,
    baseline: &'run Sample,
    candidate: &'run Sample,
    /// Log ratio of answers per second.
    throughput: f64,
    /// Whether the client and not the servers set the pace.
    client_bound: bool,
}

/// Collects what the run says of a pair.
pub(crate) fn gather(run: &Run, pair: Pair, bimodal: &BTreeSet<usize>) -> Evidence {
    let meetings = meetings(run, &pair);
    let (metric, mut warnings) = match run.header.sessions.design {
        Design::Race => fair_metric(&meetings),
        Design::Solo => (Metric::Throughput, Vec::new()),
    };
    warnings.extend(unsteady(&meetings));
    let cells = [pair.baseline, pair.candidate];
    let split = cells.into_iter().filter(|cell| bimodal.contains(cell));
    warnings.extend(split.map(|cell| Warning::Bimodal { cell }));
    let values = |purpose| -> Vec<f64> {
        let held = meetings.iter().filter(|meeting| meeting.purpose == purpose);
        held.filter_map(|meeting| meeting.value(metric)).collect()
    };
    Evidence {
        metric,
        measure: values(Purpose::Measure),
        confirm: values(Purpose::Confirm),
        warnings,
        pair,
    }
}

impl Meeting<'_> {
    /// Returns the log ratio of speed by a metric; none where the CPU time was not measured.
    fn value(&self, metric: Metric) -> Option<f64> {
        match metric {
            Metric::Throughput => Some(self.throughput),
            Metric::CpuPerAnswer => {
                Some(cpu_per_answer(self.baseline)?.ln() - cpu_per_answer(self.candidate)?.ln())
            }
        }
    }

    /// Returns the log ratio of the CPU times that the two got.
    fn share(&self) -> Option<f64> {
        let (baseline, candidate) = (&self.baseline.resources, &self.candidate.resources);
        let measured = baseline.cpu_seconds > 0.0 && candidate.cpu_seconds > 0.0;
        measured.then(|| (candidate.cpu_seconds / baseline.cpu_seconds).ln())
    }
}

/// Returns the server's CPU time per answer, s; none where either was not measured.
pub(crate) fn cpu_per_answer(sample: &Sample) -> Option<f64> {
    let answers = sample.load.fetches_per_second() * sample.load.seconds;
    let cpu = sample.resources.cpu_seconds;
    (answers > 0.0 && cpu > 0.0).then(|| cpu / answers)
}

/// Returns the meetings of a pair in the design of the run.
fn meetings<'run>(run: &'run Run, pair: &Pair) -> Vec<Meeting<'run>> {
    match run.header.sessions.design {
        Design::Race => run
            .sessions
            .iter()
            .filter(|session| session.design == Design::Race)
            .filter_map(|session| race(session, pair))
            .collect(),
        Design::Solo => [Purpose::Measure, Purpose::Confirm]
            .into_iter()
            .flat_map(|purpose| solos(run, pair, purpose))
            .collect(),
    }
}

/// Returns the meeting of a pair in one race, if both gave a sample.
fn race<'run>(session: &'run SessionRecord, pair: &Pair) -> Option<Meeting<'run>> {
    let raced: Vec<&Launch> = session
        .launches
        .iter()
        .filter(|launch| matches!(launch.outcome, Launched::Sample(_)))
        .collect();
    let place = |cell| raced.iter().position(|launch| launch.cell == cell);
    let (first, second) = (place(pair.baseline)?, place(pair.candidate)?);
    let (baseline, candidate) = (sample(raced[first])?, sample(raced[second])?);
    let windows = session.windows.iter();
    let ratios: Vec<f64> = windows
        .filter_map(|window| ratio(window, first, second))
        .collect();
    Some(Meeting {
        purpose: session.purpose,
        baseline,
        candidate,
        throughput: trimmed_mean(&ratios, TRIMMED_PERCENT)
            .unwrap_or_else(|| ratio_of_totals(baseline, candidate)),
        client_bound: session.client_share > CLIENT_BUSY && session.server_share < SERVER_IDLE,
    })
}

/// Returns the log ratio of answers in one window; none where one of the two gave no answer.
fn ratio(window: &Window, baseline: usize, candidate: usize) -> Option<f64> {
    let count = |place: usize| {
        window
            .answers
            .get(place)
            .copied()
            .filter(|count| *count > 0)
    };
    #[expect(clippy::cast_precision_loss, reason = "counts stay far below 2^53")]
    let ratio = count(candidate)? as f64 / count(baseline)? as f64;
    Some(ratio.ln())
}

/// Returns the log ratio of answers per second over the whole measured part.
fn ratio_of_totals(baseline: &Sample, candidate: &Sample) -> f64 {
    (candidate.load.fetches_per_second() / baseline.load.fetches_per_second()).ln()
}

/// Pairs the k-th solo trials of the two cells.
fn solos<'run>(run: &'run Run, pair: &Pair, purpose: Purpose) -> Vec<Meeting<'run>> {
    let trials = move |cell| {
        launches(run, cell)
            .filter(move |(session, _)| {
                session.design == Design::Solo && session.purpose == purpose
            })
            .filter_map(|(_, launch)| sample(launch))
    };
    std::iter::zip(trials(pair.baseline), trials(pair.candidate))
        .map(|(baseline, candidate)| Meeting {
            purpose,
            baseline,
            candidate,
            throughput: ratio_of_totals(baseline, candidate),
            client_bound: false,
        })
        .collect()
}

/// Chooses the metric of a raced pair by the sessions held to measure: throughput unless that was not fair.
fn fair_metric(meetings: &[Meeting<'_>]) -> (Metric, Vec<Warning>) {
    let measured = || meetings.iter().filter(|m| m.purpose == Purpose::Measure);
    let shares: Vec<f64> = measured().filter_map(|m| m.share().map(f64::abs)).collect();
    let mut warnings = Vec::new();
    if median(&shares).is_some_and(|share| share > FAIR_SHARES) {
        let greatest = shares.iter().copied().fold(0.0, f64::max);
        warnings.push(Warning::UnfairRace {
            difference: greatest.exp_m1(),
        });
    }
    let sessions = measured().filter(|meeting| meeting.client_bound).count();
    if sessions * 2 > measured().count() {
        warnings.push(Warning::GeneratorBound { sessions });
    }
    let measurable = measured().any(|m| m.value(Metric::CpuPerAnswer).is_some());
    let metric = if warnings.is_empty() || !measurable {
        Metric::Throughput
    } else {
        Metric::CpuPerAnswer
    };
    (metric, warnings)
}

/// Warns of launches that were still warming up when they were measured.
fn unsteady(meetings: &[Meeting<'_>]) -> Option<Warning> {
    let launches = meetings
        .iter()
        .flat_map(|meeting| [meeting.baseline, meeting.candidate])
        .filter(|sample| !sample.steady)
        .count();
    (launches > 0).then_some(Warning::Unsteady { launches })
}

/// Returns Σ value ÷ n of an iterator, with n.
pub(crate) fn mean_of(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (sum, count) = values.fold((0.0, 0), |(sum, count), value| (sum + value, count + 1));
    (count > 0).then(|| sum / real(count))
}
