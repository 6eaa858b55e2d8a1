//! What the sessions say of one pair: one log ratio for each session, by the metric that is fair.

use std::collections::BTreeSet;

use super::state::{launches, sample, solo_samples};
use super::{Metric, Warning};
use crate::journal::{Launch, Launched, Purpose, Run, SessionRecord};
use crate::matrix::Design;
use crate::outcome::Sample;
use crate::stats::{median, paired, real};
use crate::version::Pair;

/// Part of the least effect worth a flag by which the CPU shares of two racing servers may differ on average before
/// throughput is no longer valid: a difference of shares goes into it whole.
const FAIR_PART: f64 = 0.5;

/// Level at which such a difference is taken for more than noise.
const UNFAIR_LEVEL: f64 = 0.05;

/// Two servers use the CPU alike while the log ratio of what each takes alone is at most this. Where they do not, one of
/// them waits for something else, and unequal shares are its own doing.
const ALIKE: f64 = 0.05;

/// The client is the limit when its threads use more than this share of their CPUs …
const CLIENT_BUSY: f64 = 0.95;

/// … while the servers use less than this share of theirs.
const SERVER_IDLE: f64 = 0.90;

/// What the sessions say of one pair, as log ratios of speed: candidate − baseline.
#[derive(Debug, Clone, PartialEq)]
pub struct Evidence {
    /// The pair.
    pub pair: Pair,
    /// The number that decides.
    pub metric: Metric,
    /// One value for each session held to measure.
    pub measure: Vec<f64>,
    /// One value for each session held to confirm.
    pub confirm: Vec<f64>,
    /// What a reader should know.
    pub warnings: Vec<Warning>,
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
        Design::Race => fair_metric(run, &pair, &meetings),
        Design::Slices | Design::Solo => (Metric::Throughput, Vec::new()),
    };
    warnings.extend(unsteady(&meetings));
    let cells = [pair.baseline, pair.candidate];
    let split = cells.into_iter().filter(|cell| bimodal.contains(cell));
    warnings.extend(split.map(|cell| Warning::Bimodal { cell }));
    // Where the client set the pace and the servers' CPU time is not known, nothing is known of the servers.
    let measurable = is_measurable(&meetings);
    let counts = |meeting: &&Meeting<'_>| measurable || !meeting.client_bound;
    let values = |purpose| -> Vec<f64> {
        let held = meetings.iter().filter(|meeting| meeting.purpose == purpose);
        let held = held.filter(counts);
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
        together @ (Design::Race | Design::Slices) => run
            .sessions
            .iter()
            .filter(|session| session.design == together)
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
    Some(Meeting {
        purpose: session.purpose,
        baseline,
        candidate,
        throughput: ratio_of_totals(baseline, candidate),
        client_bound: session.client_share > CLIENT_BUSY && session.server_share < SERVER_IDLE,
    })
}

/// Returns the log ratio of answers per second over the whole measured part.
///
/// Not a trimmed mean over its windows: a pause of one server is a part of what it costs, windows of a race are
/// negatively correlated (what one server did not get in one it gets in the next), and in the runs at hand the ratio of
/// totals agrees better with CPU time per answer and varies no more.
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
///
/// Shares that differ on average mean an unfair race only between servers that would both take all the CPU they can
/// get. One that waits for a lock or a timer takes less by itself, and throughput is what shows it.
fn fair_metric(run: &Run, pair: &Pair, meetings: &[Meeting<'_>]) -> (Metric, Vec<Warning>) {
    let measured = || meetings.iter().filter(|m| m.purpose == Purpose::Measure);
    let shares: Vec<f64> = measured().filter_map(Meeting::share).collect();
    let mut warnings = Vec::new();
    let mut metric = Metric::Throughput;
    if let Some(difference) = systematic(&shares, FAIR_PART * run.header.rule.min_effect.ln_1p()) {
        if let Some(cell) = waiting(run, pair) {
            warnings.push(Warning::Waits { cell });
        } else {
            let difference = difference.exp_m1();
            metric = Metric::CpuPerAnswer;
            warnings.push(Warning::UnfairRace { difference });
        }
    }
    let sessions = measured().filter(|meeting| meeting.client_bound).count();
    let measurable = is_measurable(meetings);
    if sessions * 2 > measured().count() || (sessions > 0 && !measurable) {
        metric = Metric::CpuPerAnswer;
        warnings.push(Warning::GeneratorBound { sessions });
    }
    (
        if measurable {
            metric
        } else {
            Metric::Throughput
        },
        warnings,
    )
}

/// Returns whether the CPU time of the two servers is known at all.
fn is_measurable(meetings: &[Meeting<'_>]) -> bool {
    let mut measured = meetings.iter().filter(|m| m.purpose == Purpose::Measure);
    measured.any(|meeting| meeting.value(Metric::CpuPerAnswer).is_some())
}

/// Returns the mean of log ratios if it is surely not zero and larger than `least`.
fn systematic(ratios: &[f64], least: f64) -> Option<f64> {
    let test = paired(ratios)?;
    (test.mean.abs() > least && test.p <= UNFAIR_LEVEL).then_some(test.mean)
}

/// Returns the one of the two that, alone, takes less CPU than the other; none while they are alike.
fn waiting(run: &Run, pair: &Pair) -> Option<usize> {
    let alone = |cell| {
        let used = |sample: &Sample| sample.resources.cpu_seconds / sample.load.seconds;
        median(&solo_samples(run, cell).map(used).collect::<Vec<_>>()).filter(|used| *used > 0.0)
    };
    let ratio = (alone(pair.candidate)? / alone(pair.baseline)?).ln();
    (ratio.abs() > ALIKE).then_some(if ratio < 0.0 {
        pair.candidate
    } else {
        pair.baseline
    })
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
