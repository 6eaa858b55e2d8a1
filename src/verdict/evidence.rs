//! What the sessions say of one pair: one log ratio for each session, by the metric that is fair.

use std::collections::BTreeSet;

use super::pollution::polluted;
use super::signs::signs;
use super::state::{held, is_client_bound, sample, solo_samples};
use super::{Metric, Warning, warn};
use crate::journal::{Launch, Launched, Purpose, Run, SessionRecord, Sharing};
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
    /// One value for each solo trial of both, the k-th of one against the k-th of the other, in designs that have others.
    pub alone: Vec<f64>,
    /// Sessions held to measure in which both were launched, whatever they gave.
    pub attempts: usize,
    /// What a reader should know.
    pub warnings: Vec<Warning>,
}

/// What is known of a whole run, whatever pair is looked at.
#[derive(Debug)]
pub(crate) struct Facts {
    /// Cells whose launches settle at two levels.
    pub(crate) bimodal: BTreeSet<usize>,
    /// Places of the sessions that the machine spoilt.
    pub(crate) polluted: BTreeSet<usize>,
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
    /// Whether the machine spoilt it.
    polluted: bool,
}

/// Collects what the run says of a pair by the main metric.
pub(crate) fn gather(run: &Run, pair: Pair, facts: &Facts) -> Evidence {
    let mut meetings = meetings(run, &pair, facts);
    let held = meetings.len();
    meetings.retain(|meeting| !meeting.polluted);
    let sessions = held - meetings.len();
    let (metric, mut warnings) = resolve(run, &pair, (&meetings, main_metric(run)));
    warnings.extend((sessions > 0).then_some(Warning::Polluted { sessions }));
    warnings.extend(unsteady(&meetings));
    let cells = [pair.baseline, pair.candidate];
    let split = cells
        .into_iter()
        .filter(|cell| facts.bimodal.contains(cell));
    warnings.extend(split.map(|cell| Warning::Bimodal { cell }));
    let signs = cells.into_iter().flat_map(|cell| signs(run, cell));
    warnings.extend(signs.map(Warning::Sign));
    let mut evidence = by_metric((run, facts), pair, (&meetings, metric));
    evidence.warnings.splice(..0, warnings);
    evidence
}

/// Returns by which number two cells of a run are judged: throughput may not be the servers' own.
pub(crate) fn metric_of(run: &Run, pair: Pair, facts: &Facts) -> Metric {
    gather(run, pair, facts).metric
}

/// Returns the natural logs of what each cell of a session shows by a metric, turned so that less is worse; nothing of a session
/// that does not count.
pub(crate) fn levels(run: &Run, place: usize, metric: Metric) -> Vec<(usize, f64)> {
    let session = &run.sessions[place];
    if polluted(run).contains(&place) || !counts(run, is_client_bound(run, session), metric) {
        return Vec::new();
    }
    let level = |sample: &Sample| match metric {
        Metric::Throughput => positive(sample.load.fetches_per_second()).map(f64::ln),
        Metric::CpuPerAnswer | Metric::Memory | Metric::Startup | Metric::Latency => {
            figure(sample, metric).map(|figure| -figure.ln())
        }
    };
    let launches = session.launches.iter();
    let levels = launches.filter_map(|launch| Some((launch.cell, level(sample(launch)?)?)));
    levels.collect()
}

/// Collects what the run says of a pair by the further metrics, each of them once. What is to be known of the pair itself is
/// said with the main metric.
pub(crate) fn gather_others(run: &Run, pair: &Pair, facts: &Facts) -> Vec<Evidence> {
    let mut meetings = meetings(run, pair, facts);
    meetings.retain(|meeting| !meeting.polluted);
    let resolved = |metric| resolve(run, pair, (&meetings, metric));
    let mut taken = vec![resolved(main_metric(run)).0];
    let mut others = Vec::new();
    for wanted in run.header.metrics.iter().skip(1) {
        let (metric, warnings) = resolved(*wanted);
        if !taken.contains(&metric) {
            taken.push(metric);
            let mut evidence = by_metric((run, facts), pair.clone(), (&meetings, metric));
            evidence.warnings.splice(..0, warnings);
            others.push(evidence);
        }
    }
    others
}

/// Returns the metric that decides first.
fn main_metric(run: &Run) -> Metric {
    let metrics = &run.header.metrics;
    metrics.first().copied().unwrap_or(Metric::Throughput)
}

/// Returns by which number a pair is judged where a metric is asked for, with what is to be said of it: throughput may not
/// be the servers' own, every other one is what it is.
fn resolve(
    run: &Run,
    pair: &Pair,
    (meetings, wanted): (&[Meeting<'_>], Metric),
) -> (Metric, Vec<Warning>) {
    match wanted {
        Metric::Throughput => choose(run, pair, meetings),
        Metric::CpuPerAnswer | Metric::Memory | Metric::Startup | Metric::Latency => {
            (wanted, not_measured(meetings, wanted))
        }
    }
}

/// Warns of a metric that no meeting has.
fn not_measured(meetings: &[Meeting<'_>], metric: Metric) -> Vec<Warning> {
    let known = |meeting: &Meeting<'_>| meeting.value(metric).is_some();
    if meetings.is_empty() || meetings.iter().any(known) {
        return Vec::new();
    }
    vec![Warning::NotMeasured]
}

/// Collects what the run says of a pair by one metric, and what is odd about that.
fn by_metric(
    (run, facts): (&Run, &Facts),
    pair: Pair,
    (meetings, metric): (&[Meeting<'_>], Metric),
) -> Evidence {
    let values = |purpose| -> Vec<f64> {
        let held = meetings.iter().filter(|meeting| meeting.purpose == purpose);
        held.filter_map(|meeting| value(run, meeting, metric))
            .collect()
    };
    let mut evidence = Evidence {
        metric,
        measure: values(Purpose::Measure),
        confirm: values(Purpose::Confirm),
        alone: alone(run, &pair, (metric, facts)),
        attempts: attempts(run, &pair),
        warnings: Vec::new(),
        pair,
    };
    evidence.warnings = warn::warnings(run, facts, &evidence);
    evidence
}

/// Returns the values of the solo trials of a pair; none in the design that has no others.
fn alone(run: &Run, pair: &Pair, (metric, facts): (Metric, &Facts)) -> Vec<f64> {
    if run.header.sessions.design == Design::Solo {
        return Vec::new();
    }
    let purposes = [Purpose::Measure, Purpose::Confirm].into_iter();
    let trials = purposes.flat_map(|purpose| solos(run, pair, (purpose, facts)));
    trials
        .filter_map(|meeting| value(run, &meeting, metric))
        .collect()
}

/// Returns in how many sessions held to measure both of a pair were launched; in the design `solo`, how many trials the one
/// with fewer has had.
fn attempts(run: &Run, pair: &Pair) -> usize {
    let design = run.header.sessions.design;
    let cells = [pair.baseline, pair.candidate];
    let held = |cells: &[usize]| held(run, (Purpose::Measure, design), cells).count();
    match design {
        Design::Race | Design::Slices => held(&cells),
        Design::Solo => cells
            .map(|cell| held(&[cell]))
            .into_iter()
            .min()
            .unwrap_or(0),
    }
}

/// Returns the value of a meeting that counts. Where the client set the pace neither answers per second nor latency are the
/// servers', and where a rate was given, answers per second are that.
fn value(run: &Run, meeting: &Meeting<'_>, metric: Metric) -> Option<f64> {
    let value = meeting.value(metric);
    value.filter(|_| counts(run, meeting.client_bound, metric))
}

/// Returns whether a metric is the servers' own in a session.
fn counts(run: &Run, client_bound: bool, metric: Metric) -> bool {
    match metric {
        Metric::CpuPerAnswer | Metric::Memory | Metric::Startup => true,
        Metric::Latency => !client_bound,
        Metric::Throughput => !client_bound && !has_rate(run),
    }
}

/// Returns whether requests came at a given rate: then answers per second are that rate.
fn has_rate(run: &Run) -> bool {
    run.header.workload.manner.rate.is_some()
}

impl Meeting<'_> {
    /// Returns the log ratio by a metric, negative where the candidate is worse; none where it was not measured.
    fn value(&self, metric: Metric) -> Option<f64> {
        let of = |sample| figure(sample, metric).map(f64::ln);
        match metric {
            Metric::Throughput => Some(self.throughput),
            Metric::Memory => memory(self.baseline, self.candidate),
            Metric::CpuPerAnswer | Metric::Startup | Metric::Latency => {
                Some(of(self.baseline)? - of(self.candidate)?)
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

/// Returns the log ratio of the greatest memory of the two process trees, negative where the candidate takes more: of the
/// proportional sets where the kernel tells both, for pages that two processes share count twice in the resident ones.
fn memory(baseline: &Sample, candidate: &Sample) -> Option<f64> {
    let ratio = |of: fn(&Sample) -> Option<f64>| Some(of(baseline)?.ln() - of(candidate)?.ln());
    ratio(proportional).or_else(|| ratio(resident))
}

/// Returns the greatest proportional set of the process tree, bytes; none where the kernel does not tell.
#[expect(clippy::cast_precision_loss, reason = "bytes stay far below 2^53")]
fn proportional(sample: &Sample) -> Option<f64> {
    let used = &sample.resources;
    positive(used.pss_peak_bytes.or(used.pss_bytes)? as f64)
}

/// Returns the greatest resident set of the process tree, bytes; none where its processes are not known.
#[expect(clippy::cast_precision_loss, reason = "bytes stay far below 2^53")]
fn resident(sample: &Sample) -> Option<f64> {
    positive(sample.resources.rss_peak_bytes as f64)
}

/// Returns what a launch shows by a metric that is better when smaller, and CPU time per answer in place of answers per
/// second.
pub(super) fn figure(sample: &Sample, metric: Metric) -> Option<f64> {
    match metric {
        Metric::Throughput | Metric::CpuPerAnswer => cpu_per_answer(sample),
        Metric::Memory => proportional(sample).or_else(|| resident(sample)),
        Metric::Startup => startup(sample),
        Metric::Latency => latency(sample),
    }
}

/// Returns the time from the start to the first right answer, ms.
fn startup(sample: &Sample) -> Option<f64> {
    positive(sample.startup_ms)
}

/// Returns the mean latency, in the load's own unit.
fn latency(sample: &Sample) -> Option<f64> {
    positive(sample.load.latency.mean)
}

/// Returns a value that has a logarithm; none of one that was not measured.
fn positive(value: f64) -> Option<f64> {
    (value > 0.0 && value.is_finite()).then_some(value)
}

/// Returns the meetings of a pair in the design of the run.
fn meetings<'run>(run: &'run Run, pair: &Pair, facts: &Facts) -> Vec<Meeting<'run>> {
    match run.header.sessions.design {
        together @ (Design::Race | Design::Slices) => run
            .sessions
            .iter()
            .enumerate()
            .filter(|(_, session)| session.design == together)
            .filter_map(|(place, session)| {
                let polluted = facts.polluted.contains(&place);
                together_in(run, (session, polluted), pair)
            })
            .collect(),
        Design::Solo => [Purpose::Measure, Purpose::Confirm]
            .into_iter()
            .flat_map(|purpose| solos(run, pair, (purpose, facts)))
            .collect(),
    }
}

/// Returns the meeting of a pair in one session, if both gave a sample.
fn together_in<'run>(
    run: &Run,
    (session, polluted): (&'run SessionRecord, bool),
    pair: &Pair,
) -> Option<Meeting<'run>> {
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
        client_bound: is_client_bound(run, session),
        polluted,
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

/// Pairs the k-th solo trials of the two cells, of those that the machine did not spoil.
fn solos<'run>(
    run: &'run Run,
    pair: &Pair,
    (purpose, facts): (Purpose, &Facts),
) -> Vec<Meeting<'run>> {
    let kind = (purpose, Design::Solo);
    let trials = |cell| {
        let samples = samples(run, kind, cell);
        samples.filter(|(place, ..)| !facts.polluted.contains(place))
    };
    std::iter::zip(trials(pair.baseline), trials(pair.candidate))
        .map(|((_, first, baseline), (_, second, candidate))| Meeting {
            purpose,
            baseline,
            candidate,
            throughput: ratio_of_totals(baseline, candidate),
            client_bound: is_client_bound(run, first) || is_client_bound(run, second),
            polluted: false,
        })
        .collect()
}

/// Returns the samples of a cell in sessions of a kind, with the sessions and their places in the run.
fn samples(
    run: &Run,
    (purpose, design): (Purpose, Design),
    cell: usize,
) -> impl Iterator<Item = (usize, &SessionRecord, &Sample)> {
    let of_kind = move |(_, session): &(usize, &SessionRecord)| {
        session.purpose == purpose && session.design == design
    };
    let sessions = run.sessions.iter().enumerate().filter(of_kind);
    sessions.flat_map(move |(place, session)| {
        let own = session.launches.iter();
        let own = own.filter(move |launch| launch.cell == cell);
        own.filter_map(move |launch| Some((place, session, sample(launch)?)))
    })
}

/// Chooses the metric of a pair by the sessions held to measure: throughput unless that is not the servers' own.
fn choose(run: &Run, pair: &Pair, meetings: &[Meeting<'_>]) -> (Metric, Vec<Warning>) {
    let measured = meetings.iter().filter(|m| m.purpose == Purpose::Measure);
    let measured: Vec<&Meeting<'_>> = measured.collect();
    let measurable = is_measurable(&measured);
    let mut warnings = Vec::new();
    // At a given rate each server takes what CPU time it needs, so unequal shares are what there is to see.
    if run.header.sessions.design == Design::Race && !has_rate(run) {
        warnings.extend(unequal_shares(run, pair, &measured));
    }
    let unfair = warnings
        .iter()
        .any(|warning| matches!(warning, Warning::UnfairRace { .. }));
    let sessions = measured.iter().filter(|m| m.client_bound).count();
    warnings.extend((sessions > 0).then_some(Warning::GeneratorBound { sessions }));
    warnings.extend((has_rate(run) && !measurable).then_some(Warning::OnlyRate));
    let invalid = unfair || sessions * 2 > measured.len() || has_rate(run);
    let metric = if invalid && measurable {
        Metric::CpuPerAnswer
    } else {
        Metric::Throughput
    };
    (metric, warnings)
}

/// Warns where the CPU shares of two racing servers surely differ.
///
/// That means an unfair race only between servers that would both take all the CPU they can get. One that waits for a
/// lock or a timer takes less by itself, and throughput is what shows it.
fn unequal_shares(run: &Run, pair: &Pair, measured: &[&Meeting<'_>]) -> Option<Warning> {
    let shares: Vec<f64> = measured.iter().filter_map(|m| m.share()).collect();
    let least = FAIR_PART * run.header.rule.min_effect.ln_1p();
    let difference = systematic(&shares, least)?.exp_m1();
    Some(match waiting(run, pair) {
        Some(cell) => Warning::Waits { cell },
        None => Warning::UnfairRace {
            difference,
            threads: threads(measured).filter(|_| is_shared_by_threads(run)),
        },
    })
}

/// Returns whether the kernel may have shared CPU time out between threads in any race: with control groups it does not.
fn is_shared_by_threads(run: &Run) -> bool {
    let by_threads = |session: &SessionRecord| session.sharing == Sharing::Sessions;
    let mut races = run
        .sessions
        .iter()
        .filter(|session| session.design == Design::Race);
    races.any(by_threads)
}

/// Returns how many threads the two servers usually had, where the numbers differ.
fn threads(measured: &[&Meeting<'_>]) -> Option<(u64, u64)> {
    let usual = |of: fn(&Meeting<'_>) -> u64| {
        let mut counts: Vec<u64> = measured.iter().map(|meeting| of(meeting)).collect();
        counts.sort_unstable();
        counts.get(counts.len() / 2).copied()
    };
    let baseline = usual(|meeting| meeting.baseline.resources.threads)?;
    let candidate = usual(|meeting| meeting.candidate.resources.threads)?;
    (baseline != candidate).then_some((baseline, candidate))
}

/// Returns whether the CPU time of the two servers is known at all.
fn is_measurable(measured: &[&Meeting<'_>]) -> bool {
    let known = |meeting: &&Meeting<'_>| meeting.value(Metric::CpuPerAnswer).is_some();
    measured.iter().any(known)
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
