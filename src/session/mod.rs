//! One session: launch, warm, measure, stop. Edge.
#![expect(
    clippy::disallowed_methods,
    reason = "a session waits for windows to pass, and drops empty logs"
)]

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::error::{Error, Kind, Result};
use crate::host;
use crate::journal::{CpuPlan, Launch, Launched, SessionRecord, Window};
use crate::load::{self, Counts, Running, Target};
use crate::matrix::{Design, Matrix, Stop, Workload};
use crate::outcome::{ErrorKind, Gap, GapKind, LoadFigures, Sample};
use crate::plan::SessionPlan;
use crate::process::Ended;
use crate::serve::{self, Instance};

/// Windows on each side of the question whether CPU per answer still falls.
const STEADY_WINDOWS: usize = 3;
/// A fall of CPU per answer from one such stretch to the next that still counts as warming up.
const STEADY_FALL: f64 = 0.03;
/// Longest measured part of a session that counts requests.
const LONGEST_LOAD: Duration = Duration::from_mins(10);

/// What a session needs to know beside its plan.
#[derive(Debug)]
pub struct Setting<'a> {
    /// The matrix.
    pub matrix: &'a Matrix,
    /// The CPUs of each side.
    pub cpus: &'a CpuPlan,
    /// Makes the launch of a cell on an address.
    pub starts: Vec<Start<'a>>,
}

/// How to start one cell of the plan.
#[derive(Debug)]
pub struct Start<'a> {
    /// The cell's index.
    pub cell: usize,
    /// The launch.
    pub launch: serve::Launch<'a>,
}

/// What measuring gave, by server.
#[derive(Debug, Default)]
struct Measured {
    figures: Vec<LoadFigures>,
    cpu_seconds: Vec<f64>,
    warmup: Vec<Warmup>,
    windows: Vec<Window>,
    client_share: f64,
    server_share: f64,
    steal_share: f64,
}

#[derive(Debug, Clone, Copy, Default)]
struct Warmup {
    answers: u64,
    steady: bool,
}

/// Holds one session and returns what is to be written down of it.
pub async fn hold(setting: &Setting<'_>, plan: &SessionPlan, index: u32) -> Result<SessionRecord> {
    let started = host::now();
    let begun = host::monotonic();
    let mut instances: Vec<Option<Instance>> = Vec::new();
    let mut launches = Vec::new();
    for start in &setting.starts {
        let (instance, gap) = match serve::start(&start.launch).await? {
            Ok(instance) => (Some(instance), None),
            Err(gap) => (None, Some(gap)),
        };
        instances.push(instance);
        launches.push((start.cell, gap));
    }
    let up: Vec<&Instance> = instances.iter().flatten().collect();
    let measured = if up.len() >= least_servers(plan.design) {
        measure(setting, &up).await?
    } else {
        Measured::default()
    };
    let mut record = SessionRecord {
        index,
        purpose: plan.purpose,
        design: plan.design,
        started,
        seconds: 0.0,
        launches: Vec::new(),
        windows: measured.windows.clone(),
        client_share: measured.client_share,
        server_share: measured.server_share,
        steal_share: measured.steal_share,
    };
    let (launches, counted) = finish(setting, instances, launches, &measured).await;
    record.launches = launches;
    record
        .windows
        .iter_mut()
        .for_each(|window| keep(window, &counted));
    record.seconds = host::since(begun).as_secs_f64();
    Ok(record)
}

/// A race with one server left is no race.
fn least_servers(design: Design) -> usize {
    match design {
        Design::Race => 2,
        Design::Solo => 1,
    }
}

/// Takes the last figures of each server, stops it, and says what came of its launch. The second list runs over the
/// servers that were up and says whose figures count.
async fn finish(
    setting: &Setting<'_>,
    instances: Vec<Option<Instance>>,
    launches: Vec<(usize, Option<Gap>)>,
    measured: &Measured,
) -> (Vec<Launch>, Vec<bool>) {
    let mut finished = Vec::new();
    let mut counted = Vec::new();
    for ((instance, (cell, gap)), start) in instances.into_iter().zip(launches).zip(&setting.starts)
    {
        let log = start.launch.log.clone();
        let Some(instance) = instance else {
            let gap = gap.unwrap_or_else(|| Gap::new(GapKind::NotReady, "it was not started"));
            finished.push(Launch {
                cell,
                outcome: Launched::Gap(gap),
                log: kept(log),
            });
            continue;
        };
        let outcome = conclude(start, instance, measured, counted.len(), setting).await;
        counted.push(matches!(outcome, Launched::Sample(_)));
        finished.push(Launch {
            cell,
            outcome,
            log: kept(log),
        });
    }
    (finished, counted)
}

/// Returns the log if the server wrote anything; an empty one is not kept.
fn kept(log: PathBuf) -> Option<PathBuf> {
    if std::fs::metadata(&log).is_ok_and(|file| file.len() > 0) {
        return Some(log);
    }
    // One that cannot be removed does no harm.
    drop(std::fs::remove_file(&log));
    None
}

async fn conclude(
    start: &Start<'_>,
    mut instance: Instance,
    measured: &Measured,
    place: usize,
    setting: &Setting<'_>,
) -> Launched {
    let Some(load) = measured.figures.get(place).cloned() else {
        return Launched::Gap(Gap::new(
            GapKind::Interrupted,
            "no other server was left to race against",
        ));
    };
    let ended = instance.has_ended().await;
    let workload = &setting.matrix.load;
    let mut fault = fault_under_load(&load, ended.as_ref(), workload);
    if fault.is_none() {
        fault = instance.check_again(&start.launch).await.err();
    }
    let mut resources = instance.tree.resources();
    resources.cpu_seconds = measured.cpu_seconds.get(place).copied().unwrap_or_default();
    let startup_ms = instance.startup.as_secs_f64() * 1e3;
    let log = instance.log.clone();
    instance
        .stop(
            setting.matrix.start.stop_signal,
            setting.matrix.start.stop_grace,
        )
        .await;
    if let Some(gap) = fault {
        return Launched::Gap(
            gap.with_errors(serve::diagnosis_of(&log).errors)
                .with_log(log),
        );
    }
    let warmup = measured.warmup.get(place).copied().unwrap_or_default();
    Launched::Sample(Box::new(Sample {
        load,
        resources,
        startup_ms,
        warmup_answers: warmup.answers,
        steady: warmup.steady,
    }))
}

/// Returns what was wrong with a server under load; none if its figures count. Pure.
fn fault_under_load(load: &LoadFigures, ended: Option<&Ended>, workload: &Workload) -> Option<Gap> {
    let failed = load.failed();
    if let Some(ended) = ended {
        let how = serve::how_it_ended(ended);
        let cause = format!(
            "the server {how} under load, after {} answers",
            load.answers
        );
        return Some(Gap::new(GapKind::Crashed, cause));
    }
    #[expect(clippy::cast_precision_loss, reason = "counts stay far below 2^53")]
    let rate = failed as f64 / (load.answers + failed).max(1) as f64;
    if load.answers == 0 {
        let cause = format!("no right answer under load{}", errors_in_words(load));
        let wrong = load.errors.contains_key(&ErrorKind::BadStatus)
            || load.errors.contains_key(&ErrorKind::BadLength);
        let kind = if wrong {
            GapKind::Errors
        } else {
            GapKind::Stalled
        };
        return Some(Gap::new(kind, cause));
    }
    if rate <= workload.max_error_rate {
        return None;
    }
    let exhausted = load
        .errors
        .get(&ErrorKind::PortsExhausted)
        .copied()
        .unwrap_or(0);
    if exhausted * 2 > failed {
        let cause = "the client ran out of local ports; this is not the server's fault";
        return Some(Gap::new(GapKind::PortsExhausted, cause));
    }
    let total = load.answers + failed;
    let cause = format!(
        "{failed} of {total} requests failed{}",
        errors_in_words(load)
    );
    Some(Gap::new(GapKind::Errors, cause))
}

fn errors_in_words(load: &LoadFigures) -> String {
    let name = |kind: &ErrorKind| serde_json::to_value(kind).unwrap_or_default();
    let words: Vec<String> = load
        .errors
        .iter()
        .map(|(kind, count)| format!("{} {count}", name(kind).as_str().unwrap_or("other")))
        .collect();
    if words.is_empty() {
        String::new()
    } else {
        format!(" ({})", words.join(", "))
    }
}

/// Drops from a window the servers whose launch did not count, so that its lists run over the samples.
fn keep(window: &mut Window, counted: &[bool]) {
    let mut kept = counted.iter();
    window
        .answers
        .retain(|_| kept.next().copied().unwrap_or(false));
    let mut kept = counted.iter();
    window
        .cpu_seconds
        .retain(|_| kept.next().copied().unwrap_or(false));
}

async fn measure(setting: &Setting<'_>, up: &[&Instance]) -> Result<Measured> {
    let workload = &setting.matrix.load;
    let targets: Vec<Target> = up
        .iter()
        .map(|instance| Target {
            address: instance.address,
            status: setting.matrix.check.status,
            body_length: setting
                .matrix
                .check
                .same_length
                .then_some(instance.body_length),
        })
        .collect();
    let running = load::start(workload, &targets, &setting.cpus.load).map_err(|error| {
        Error::new(Kind::Machine, "cannot start the load")
            .because(error)
            .hint("harness doctor")
    })?;
    let mut measured = Measured {
        warmup: warm_up(&running, up, workload).await,
        ..Measured::default()
    };
    let stolen = host::stolen();
    let cpu_before = cpu_of(up);
    running.begin_measuring();
    measured.windows = windows(&running, up, workload).await;
    let stolen = host::stolen().saturating_sub(stolen);
    measured.cpu_seconds = cpu_of(up)
        .iter()
        .zip(cpu_before)
        .map(|(after, before)| (*after - before).max(0.0))
        .collect();
    measured.figures = running.stop();
    shares(&mut measured, setting.cpus, stolen);
    Ok(measured)
}

/// Works out how busy each side was. Pure.
#[expect(
    clippy::cast_precision_loss,
    reason = "a machine has fewer than 2^53 CPUs"
)]
fn shares(measured: &mut Measured, cpus: &CpuPlan, stolen: Duration) {
    let seconds: f64 = measured.windows.iter().map(|window| window.seconds).sum();
    if seconds <= 0.0 {
        return;
    }
    let client: f64 = measured
        .windows
        .iter()
        .map(|window| window.client_cpu_seconds)
        .sum();
    let servers: f64 = measured
        .windows
        .iter()
        .flat_map(|window| &window.cpu_seconds)
        .sum();
    measured.client_share = client / seconds / cpus.load.len().max(1) as f64;
    measured.server_share = servers / seconds / cpus.server.len().max(1) as f64;
    let all: std::collections::BTreeSet<_> = cpus.server.iter().chain(&cpus.load).collect();
    measured.steal_share = stolen.as_secs_f64() / seconds / all.len().max(1) as f64;
}

fn cpu_of(up: &[&Instance]) -> Vec<f64> {
    up.iter()
        .map(|instance| instance.tree.cpu().as_secs_f64())
        .collect()
}

/// Loads until every server has given enough answers and its CPU per answer has stopped falling.
async fn warm_up(running: &Running, up: &[&Instance], workload: &Workload) -> Vec<Warmup> {
    let deadline = host::monotonic() + workload.warmup_at_most;
    let mut history: Vec<Vec<f64>> = vec![Vec::new(); up.len()];
    let (mut counts, mut cpu) = (running.counts(), cpu_of(up));
    loop {
        tokio::time::sleep(workload.window).await;
        let (counts_now, cpu_now) = (running.counts(), cpu_of(up));
        for (place, costs) in history.iter_mut().enumerate() {
            costs.push(cost(
                counts[place],
                counts_now[place],
                cpu_now[place] - cpu[place],
            ));
        }
        (counts, cpu) = (counts_now, cpu_now);
        let warm: Vec<Warmup> = counts
            .iter()
            .zip(&history)
            .map(|(count, costs)| Warmup {
                answers: count.answers,
                steady: is_steady(costs),
            })
            .collect();
        let enough = |warmup: &Warmup| warmup.steady && warmup.answers >= workload.warmup_answers;
        if warm.iter().all(enough) || host::monotonic() >= deadline {
            return warm;
        }
    }
}

/// Returns CPU seconds per answer between two counts; infinite when there was none.
#[expect(clippy::cast_precision_loss, reason = "counts stay far below 2^53")]
fn cost(before: Counts, after: Counts, cpu_seconds: f64) -> f64 {
    cpu_seconds / (after.answers - before.answers) as f64
}

/// Returns whether CPU per answer has stopped falling: the mean of the last windows against that of those before. Pure.
///
/// Warm-up is judged by cost, not by time: with one second of it Node 22 read 35 % slower than Node 20, after four
/// seconds 2.5 %.
fn is_steady(costs: &[f64]) -> bool {
    let Some(recent) = costs
        .len()
        .checked_sub(2 * STEADY_WINDOWS)
        .map(|start| &costs[start..])
    else {
        return false;
    };
    let (before, after) = recent.split_at(STEADY_WINDOWS);
    let before: f64 = before.iter().sum();
    let after: f64 = after.iter().sum();
    after.is_finite() && before.is_finite() && after >= before * (1.0 - STEADY_FALL)
}

/// Measures window by window until the workload says that it is enough.
async fn windows(running: &Running, up: &[&Instance], workload: &Workload) -> Vec<Window> {
    let begun = host::monotonic();
    let (end, mut stalled) = match workload.stop {
        Stop::Duration(duration) => (begun + duration, Duration::MAX),
        Stop::Requests(_) => (begun + LONGEST_LOAD, workload.timeout * 2),
    };
    let patience = stalled;
    let mut windows = Vec::new();
    let mut last = Reading::take(running, up);
    while last.at < end && !running.finished() && !stalled.is_zero() {
        tokio::time::sleep(workload.window.min(end.saturating_sub(last.at))).await;
        let next = Reading::take(running, up);
        let window = last.until(&next);
        let quiet = window.answers.iter().all(|&answers| answers == 0);
        stalled = if quiet {
            stalled.saturating_sub(next.at.saturating_sub(last.at))
        } else {
            patience
        };
        windows.push(window);
        last = next;
    }
    windows
}

/// The counters at one moment.
struct Reading {
    at: Duration,
    counts: Vec<Counts>,
    cpu: Vec<f64>,
    client_cpu: Duration,
}

impl Reading {
    fn take(running: &Running, up: &[&Instance]) -> Self {
        Self {
            at: host::monotonic(),
            counts: running.counts(),
            cpu: cpu_of(up),
            client_cpu: running.client_cpu(),
        }
    }

    fn until(&self, next: &Self) -> Window {
        let differences = |pair: (&Counts, &Counts)| pair.1.answers - pair.0.answers;
        Window {
            seconds: next.at.saturating_sub(self.at).as_secs_f64(),
            answers: self
                .counts
                .iter()
                .zip(&next.counts)
                .map(differences)
                .collect(),
            cpu_seconds: self
                .cpu
                .iter()
                .zip(&next.cpu)
                .map(|(a, b)| (b - a).max(0.0))
                .collect(),
            client_cpu_seconds: next
                .client_cpu
                .saturating_sub(self.client_cpu)
                .as_secs_f64(),
        }
    }
}

/// Returns where a launch's log goes: `<logs>/<session>-<cell>.log`.
pub fn log_path(logs: &Path, index: u32, cell: &str) -> PathBuf {
    let safe: String = cell
        .chars()
        .map(|c| {
            if c.is_ascii_alphanumeric() || "._-=".contains(c) {
                c
            } else {
                '_'
            }
        })
        .collect();
    logs.join(format!("{index:04}-{safe}.log"))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn workload(max_error_rate: f64) -> Workload {
        Workload {
            name: "hello".to_owned(),
            method: "GET".to_owned(),
            path: "/".to_owned(),
            headers: BTreeMap::new(),
            body: None,
            connections: 1,
            keep_alive: true,
            stop: Stop::Requests(1),
            warmup_answers: 0,
            warmup_at_most: Duration::ZERO,
            window: Duration::from_millis(250),
            timeout: Duration::from_secs(1),
            max_error_rate,
        }
    }

    fn figures(answers: u64, errors: &[(ErrorKind, u64)]) -> LoadFigures {
        LoadFigures {
            answers,
            seconds: 1.0,
            errors: errors.iter().copied().collect(),
            ..LoadFigures::default()
        }
    }

    fn kind(load: &LoadFigures, ended: Option<&Ended>, rate: f64) -> Option<GapKind> {
        fault_under_load(load, ended, &workload(rate)).map(|gap| gap.kind)
    }

    #[test]
    fn a_clean_load_has_no_fault() {
        assert_eq!(kind(&figures(100, &[]), None, 0.0), None);
    }

    #[test]
    fn a_dead_server_has_crashed_however_many_answers_it_gave() {
        let load = figures(4352, &[(ErrorKind::Reset, 1)]);
        let gap = fault_under_load(&load, Some(&Ended::Code(1)), &workload(1.0)).unwrap();
        assert_eq!(gap.kind, GapKind::Crashed);
        assert!(gap.cause.contains("after 4352 answers"), "{}", gap.cause);
    }

    #[test]
    fn silence_is_a_stall_and_wrong_answers_are_errors() {
        assert_eq!(kind(&figures(0, &[]), None, 0.0), Some(GapKind::Stalled));
        let wrong = figures(0, &[(ErrorKind::BadStatus, 9)]);
        assert_eq!(kind(&wrong, None, 0.0), Some(GapKind::Errors));
    }

    #[test]
    fn errors_count_against_the_allowed_rate() {
        let load = figures(99, &[(ErrorKind::Closed, 1)]);
        assert_eq!(kind(&load, None, 0.0), Some(GapKind::Errors));
        assert_eq!(kind(&load, None, 0.01), None);
    }

    #[test]
    fn the_clients_own_ports_are_never_the_servers_fault() {
        let load = figures(
            10,
            &[(ErrorKind::PortsExhausted, 90), (ErrorKind::Closed, 1)],
        );
        assert_eq!(kind(&load, None, 0.0), Some(GapKind::PortsExhausted));
    }

    #[test]
    fn warm_up_lasts_while_cost_per_answer_falls() {
        assert!(!is_steady(&[5.0, 4.0, 3.0]), "too few windows to tell");
        assert!(!is_steady(&[9.0, 8.0, 7.0, 6.0, 5.0, 4.0]));
        assert!(is_steady(&[9.0, 5.0, 5.0, 5.0, 5.0, 4.9, 5.1]));
        assert!(
            !is_steady(&[f64::INFINITY, 5.0, 5.0, 5.0, 5.0, 5.0]),
            "a window without answers"
        );
    }

    #[test]
    fn a_window_keeps_only_the_servers_whose_launch_counts() {
        let mut window = Window {
            seconds: 0.25,
            answers: vec![1, 2, 3],
            cpu_seconds: vec![0.1, 0.2, 0.3],
            client_cpu_seconds: 0.1,
        };
        keep(&mut window, &[true, false, true]);
        assert_eq!(
            (window.answers, window.cpu_seconds),
            (vec![1, 3], vec![0.1, 0.3])
        );
    }
}
