//! The load of a session: warm-up, windows, and how busy each side was.

use std::collections::BTreeSet;
use std::time::Duration;

use bytes::Bytes;

use super::Setting;
use crate::error::{Error, Kind, Result};
use crate::host;
use crate::journal::{CpuPlan, Window};
use crate::load::{self, Counts, Expected, Running, Schedule, Target};
use crate::matrix::{Stop, Workload};
use crate::outcome::LoadFigures;
use crate::serve::Instance;
use crate::serve::tree::{CpuTimes, Tree};

/// Windows on each side of the question whether CPU per answer still falls.
const STEADY_WINDOWS: usize = 3;
/// A fall of CPU per answer from one such stretch to the next that still counts as warming up.
const STEADY_FALL: f64 = 0.03;
/// Longest measured part of a session that counts requests.
const LONGEST_LOAD: Duration = Duration::from_mins(10);

/// What measuring gave.
#[derive(Debug, Default)]
pub(super) struct Measured {
    /// By server.
    pub(super) servers: Vec<Server>,
    /// The measured part, slice by slice.
    pub(super) windows: Vec<Window>,
    /// Client, servers, stolen: CPU time ÷ measured time ÷ CPUs.
    pub(super) shares: (f64, f64, f64),
}

/// What measuring gave of one server.
#[derive(Debug)]
pub(super) struct Server {
    pub(super) load: LoadFigures,
    pub(super) cpu_seconds: f64,
    pub(super) warmup_answers: u64,
    pub(super) steady: bool,
}

#[derive(Debug, Clone, Copy)]
struct Warmup {
    answers: u64,
    steady: bool,
}

/// Loads all servers at once: warms them up, then measures.
pub(super) async fn measure(setting: &Setting<'_>, up: &[&Instance]) -> Result<Measured> {
    let workload = &setting.matrix.load;
    let targets: Vec<Target> = up
        .iter()
        .map(|instance| target(setting, instance))
        .collect();
    let mut trees: Vec<Tree> = up.iter().map(|instance| instance.tree.clone()).collect();
    let running = load::start(workload, &targets, &setting.cpus.load, Schedule::Together).map_err(
        |error| {
            Error::new(Kind::Machine, "cannot start the load")
                .because(error)
                .hint("harness doctor")
        },
    )?;
    let warmups = warm_up(&running, &trees, workload).await;
    // A server may have started its workers only under load.
    trees.iter_mut().for_each(Tree::renew);
    let (stolen, cpu) = (host::stolen(), cpu_times(&trees));
    running.begin_measuring();
    let windows = windows(&running, &trees, workload).await;
    let stolen = host::stolen().saturating_sub(stolen);
    let cpu_seconds = cpu_between(&cpu, &cpu_times(&trees));
    let servers = running.stop().into_iter().zip(cpu_seconds).zip(warmups);
    Ok(Measured {
        servers: servers
            .map(|((load, cpu_seconds), warmup)| Server {
                load,
                cpu_seconds,
                warmup_answers: warmup.answers,
                steady: warmup.steady,
            })
            .collect(),
        shares: shares(&windows, setting.cpus, stolen),
        windows,
    })
}

fn target(setting: &Setting<'_>, instance: &Instance) -> Target {
    let check = &setting.matrix.check;
    let expected = |body: &Bytes| Expected {
        length: check.same_length.then_some(body.len() as u64),
        body: check.same_body.then(|| body.clone()),
    };
    Target {
        addresses: instance.addresses.clone(),
        status: check.status,
        expected: instance.bodies.iter().map(expected).collect(),
    }
}

/// Works out how busy each side was. Pure.
#[expect(
    clippy::cast_precision_loss,
    reason = "a machine has fewer than 2^53 CPUs"
)]
fn shares(windows: &[Window], cpus: &CpuPlan, stolen: Duration) -> (f64, f64, f64) {
    let seconds: f64 = windows.iter().map(|window| window.seconds).sum();
    if seconds <= 0.0 {
        return (0.0, 0.0, 0.0);
    }
    let client: f64 = windows.iter().map(|window| window.client_cpu_seconds).sum();
    let servers: f64 = windows.iter().flat_map(|window| &window.cpu_seconds).sum();
    let all: BTreeSet<_> = cpus.server.iter().chain(&cpus.load).collect();
    let of = |time: f64, cpus: usize| time / seconds / cpus.max(1) as f64;
    (
        of(client, cpus.load.len()),
        of(servers, cpus.server.len()),
        of(stolen.as_secs_f64(), all.len()),
    )
}

fn cpu_times(trees: &[Tree]) -> Vec<CpuTimes> {
    trees.iter().map(Tree::cpu).collect()
}

fn cpu_between(earlier: &[CpuTimes], later: &[CpuTimes]) -> Vec<f64> {
    later
        .iter()
        .zip(earlier)
        .map(|(later, earlier)| later.seconds_since(earlier))
        .collect()
}

/// Loads until every server has given enough answers and its CPU per answer has stopped falling.
async fn warm_up(running: &Running, trees: &[Tree], workload: &Workload) -> Vec<Warmup> {
    let deadline = host::monotonic() + workload.warmup_at_most;
    let mut history: Vec<Vec<f64>> = vec![Vec::new(); trees.len()];
    let (mut counts, mut cpu) = (running.counts(), cpu_times(trees));
    loop {
        tokio::time::sleep(workload.window).await;
        let (counts_now, cpu_now) = (running.counts(), cpu_times(trees));
        let used = cpu_between(&cpu, &cpu_now);
        for (place, costs) in history.iter_mut().enumerate() {
            costs.push(cost(counts[place], counts_now[place], used[place]));
        }
        (counts, cpu) = (counts_now, cpu_now);
        let enough = |answers: u64| answers >= workload.warmup_answers;
        let warm: Vec<Warmup> = counts
            .iter()
            .zip(&history)
            .map(|(count, costs)| Warmup {
                answers: count.answers,
                steady: enough(count.answers) && is_steady(costs),
            })
            .collect();
        if warm.iter().all(|warmup| warmup.steady) || host::monotonic() >= deadline {
            return warm;
        }
    }
}

/// Returns CPU seconds per answer between two counts; infinite or no number when there was none.
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
async fn windows(running: &Running, trees: &[Tree], workload: &Workload) -> Vec<Window> {
    let begun = host::monotonic();
    let (end, patience) = match workload.stop {
        Stop::Duration(duration) => (begun + duration, Duration::MAX),
        Stop::Requests(_) => (begun + LONGEST_LOAD, workload.timeout * 2),
    };
    let mut windows = Vec::new();
    let mut last = Reading::take(running, trees);
    let mut quiet = vec![Duration::ZERO; trees.len()];
    // A server that gives no more answers would keep a number of requests from ever being reached.
    while last.at < end && !running.finished() && quiet.iter().all(|&quiet| quiet < patience) {
        tokio::time::sleep(workload.window.min(end.saturating_sub(last.at))).await;
        let next = Reading::take(running, trees);
        let window = last.until(&next);
        for (quiet, &answers) in quiet.iter_mut().zip(&window.answers) {
            let passed = next.at.saturating_sub(last.at);
            *quiet = if answers == 0 {
                *quiet + passed
            } else {
                Duration::ZERO
            };
        }
        windows.push(window);
        last = next;
    }
    windows
}

/// The counters at one moment.
struct Reading {
    at: Duration,
    counts: Vec<Counts>,
    cpu: Vec<CpuTimes>,
    client_cpu: Duration,
}

impl Reading {
    fn take(running: &Running, trees: &[Tree]) -> Self {
        Self {
            at: host::monotonic(),
            counts: running.counts(),
            cpu: cpu_times(trees),
            client_cpu: running.client_cpu(),
        }
    }

    fn until(&self, next: &Self) -> Window {
        let differences = |(earlier, later): (&Counts, &Counts)| later.answers - earlier.answers;
        Window {
            seconds: next.at.saturating_sub(self.at).as_secs_f64(),
            answers: self
                .counts
                .iter()
                .zip(&next.counts)
                .map(differences)
                .collect(),
            cpu_seconds: cpu_between(&self.cpu, &next.cpu),
            client_cpu_seconds: next
                .client_cpu
                .saturating_sub(self.client_cpu)
                .as_secs_f64(),
            stolen_seconds: 0.0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
    fn shares_are_of_the_cpus_that_each_side_has() {
        let window = Window {
            seconds: 2.0,
            answers: vec![1, 1],
            cpu_seconds: vec![1.0, 0.5],
            client_cpu_seconds: 1.0,
            stolen_seconds: 0.0,
        };
        let cpus = CpuPlan {
            server: vec![0],
            load: vec![1, 2],
        };
        let (client, server, stolen) = shares(&[window], &cpus, Duration::from_millis(600));
        assert!((client - 0.25).abs() < 1e-12);
        assert!((server - 0.75).abs() < 1e-12);
        assert!((stolen - 0.1).abs() < 1e-12);
        assert_eq!(shares(&[], &cpus, Duration::ZERO), (0.0, 0.0, 0.0));
    }
}
