//! The load of a session: warm-up, windows, and how busy each side was.

use std::collections::BTreeSet;
use std::time::Duration;

use bytes::Bytes;

use super::{Setting, client, tool};
use crate::error::{Error, Kind, Result};
use crate::host::{self, CpuTimes};
use crate::journal::{Client, CpuPlan, Window};
use crate::load::tool::program;
use crate::load::{self, Counts, Expected, Running, Schedule, Scheduling, Target};
use crate::matrix::{Design, Stop, Workload};
use crate::outcome::{Gap, LoadFigures, Resources};
use crate::plan::SessionPlan;
use crate::serve::Instance;
use crate::serve::meter::Meters;
use crate::stats::real;

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
    /// CPU time ÷ measured time ÷ CPUs.
    pub(super) shares: Shares,
    /// What the client itself was like.
    pub(super) client: Client,
}

/// How busy the CPUs were: CPU time ÷ measured time ÷ CPUs.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Shares {
    /// Of the load's threads, of their CPUs.
    pub(super) client: f64,
    /// Of all servers, of their CPUs.
    pub(super) servers: f64,
    /// Of the hypervisor.
    pub(super) stolen: f64,
    /// Of everybody else; 0 where the servers' CPU time is not known.
    pub(super) others: f64,
}

/// What measuring gave of one server.
#[derive(Debug, Default)]
pub(super) struct Server {
    /// What the client counted over the measured part.
    pub(super) load: LoadFigures,
    /// Right answers since the load began, warm-up included.
    pub(super) answers: u64,
    /// What it used over the measured part.
    pub(super) resources: Resources,
    pub(super) warmup_answers: u64,
    pub(super) steady: bool,
    /// Whether nothing is known of it: it was loaded alone, the client set the pace, and its CPU time is not known.
    pub(super) hidden: bool,
    /// Why its figures do not count, where another program that sent the requests cannot be believed.
    pub(super) gap: Option<Gap>,
}

#[derive(Debug, Clone, Copy)]
struct Warmup {
    answers: u64,
    steady: bool,
}

/// Loads the servers as the plan has it: warms them up, then measures.
pub(super) async fn measure(
    setting: &Setting<'_>,
    plan: &SessionPlan,
    up: &[&Instance],
) -> Result<Measured> {
    if let Some(program) = program(setting.matrix.load.manner.tool) {
        return tool::measure(setting, up[0], program).await;
    }
    let targets: Vec<Target> = up
        .iter()
        .map(|instance| target(setting, instance))
        .collect();
    let running = start(setting, plan, &targets)?;
    let mut watch = Watch {
        running: &running,
        meters: Meters::new(up.iter().map(|instance| &instance.tree)),
        workload: &setting.matrix.load,
        turns: turns(plan.design, up.len()),
        cpus: in_use(setting.cpus),
    };
    let warmups = watch.warm_up(setting.matrix.sessions.slice).await;
    watch.meters.begin();
    let before = running.scheduling();
    running.begin_measuring();
    let windows = watch.windows().await;
    let client = client_of(&running, before);
    let resources = watch.meters.finish();
    // A server that died gives no more answers, so of such a one this is all that there were.
    let counts = running.counts();
    let loads = running.stop();
    let servers = loads.into_iter().zip(resources).zip(warmups).zip(counts);
    let servers = servers.map(|(((load, resources), warmup), counts)| Server {
        load,
        answers: counts.answers,
        resources,
        warmup_answers: warmup.answers,
        steady: warmup.steady,
        hidden: false,
        gap: None,
    });
    Ok(Measured::new(
        servers.collect(),
        windows,
        setting.cpus,
        client,
    ))
}

/// Returns what the client was like since `before`.
fn client_of(running: &Running, before: Scheduling) -> Client {
    let after = running.scheduling();
    Client {
        engine: running.engine().to_owned(),
        generator_bound: false,
        voluntary_switches: after.voluntary_switches - before.voluntary_switches,
        involuntary_switches: after.involuntary_switches - before.involuntary_switches,
        run_delay_seconds: after
            .run_delay
            .saturating_sub(before.run_delay)
            .as_secs_f64(),
    }
}

impl Measured {
    /// Says what the counts and the CPU times of a session mean. Pure.
    pub(super) fn new(
        mut servers: Vec<Server>,
        windows: Vec<Window>,
        cpus: &CpuPlan,
        client: Client,
    ) -> Self {
        let shares = shares(&windows, cpus);
        let loads = servers.iter().map(|server| &server.load);
        let generator_bound =
            client::set_the_pace((shares.client, shares.servers), &windows, cpus, loads);
        if let [only] = servers.as_mut_slice() {
            only.hidden = generator_bound && only.resources.cpu_seconds <= 0.0;
        }
        let client = Client {
            generator_bound,
            ..client
        };
        Self {
            servers,
            windows,
            shares,
            client,
        }
    }
}

fn start(setting: &Setting<'_>, plan: &SessionPlan, targets: &[Target]) -> Result<Running> {
    let schedule = match plan.design {
        Design::Race | Design::Solo => Schedule::Together,
        Design::Slices => Schedule::Slices {
            slice: setting.matrix.sessions.slice,
            seed: plan.seed,
        },
    };
    load::start(&setting.matrix.load, targets, &setting.cpus.load, schedule).map_err(|error| {
        Error::new(Kind::Machine, "cannot start the load")
            .because(error)
            .hint("harness doctor")
    })
}

/// Returns by how many servers the time is shared that the load takes: each is to be loaded for as long as the workload
/// says, in every design.
fn turns(design: Design, servers: usize) -> u32 {
    match design {
        Design::Race | Design::Solo => 1,
        Design::Slices => u32::try_from(servers).unwrap_or(u32::MAX),
    }
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

/// Works out how busy the CPUs were. Pure.
fn shares(windows: &[Window], cpus: &CpuPlan) -> Shares {
    let sum = |part: fn(&Window) -> f64| windows.iter().map(part).sum::<f64>();
    let total = Window {
        seconds: sum(|window| window.seconds),
        answers: Vec::new(),
        cpu_seconds: windows
            .iter()
            .flat_map(|window| &window.cpu_seconds)
            .copied()
            .collect(),
        client_cpu_seconds: sum(|window| window.client_cpu_seconds),
        stolen_seconds: sum(|window| window.stolen_seconds),
        others_seconds: sum(|window| window.others_seconds),
    };
    let (client, servers) = client::shares(&total, cpus);
    let had = total.seconds * real(in_use(cpus).len().max(1));
    let share = |seconds: f64| if had > 0.0 { seconds / had } else { 0.0 };
    Shares {
        client,
        servers,
        stolen: share(total.stolen_seconds),
        others: if servers > 0.0 {
            share(total.others_seconds).max(0.0)
        } else {
            0.0
        },
    }
}

/// Returns the CPUs of both sides.
pub(super) fn in_use(cpus: &CpuPlan) -> BTreeSet<usize> {
    cpus.server.iter().chain(&cpus.load).copied().collect()
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

/// Whoever looks at a load while it goes on.
struct Watch<'a> {
    running: &'a Running,
    meters: Meters<'a>,
    workload: &'a Workload,
    /// By how many servers the time is shared.
    turns: u32,
    /// The CPUs of servers and load.
    cpus: BTreeSet<usize>,
}

impl Watch<'_> {
    /// Waits until every server has given enough answers and its CPU per answer has stopped falling, or the time is up.
    async fn warm_up(&mut self, slice: Duration) -> Vec<Warmup> {
        let deadline = host::monotonic() + self.workload.warmup_at_most * self.turns;
        let step = warmup_step(self.workload.window, slice, self.turns);
        let mut last = self.read();
        let mut history: Vec<Vec<f64>> = vec![Vec::new(); last.counts.len()];
        loop {
            tokio::time::sleep(step).await;
            let next = self.read();
            for (place, costs) in history.iter_mut().enumerate() {
                costs.push(cost(
                    last.counts[place],
                    next.counts[place],
                    next.cpu_seconds[place],
                ));
            }
            last = next;
            let warm = warmups(&last.counts, &history, self.workload.warmup_answers);
            if warm.iter().all(|warmup| warmup.steady) || last.at >= deadline {
                return warm;
            }
        }
    }

    /// Measures window by window until the workload says that it is enough.
    async fn windows(&mut self) -> Vec<Window> {
        let begun = host::monotonic();
        let (end, patience) = match self.workload.stop {
            Stop::Duration(duration) => (begun + duration * self.turns, Duration::MAX),
            Stop::Requests(_) => {
                let patience = self.workload.timeout * 2;
                (begun + LONGEST_LOAD * self.turns, patience * self.turns)
            }
        };
        let mut windows = Vec::new();
        let mut last = self.read();
        let mut quiet = vec![Duration::ZERO; last.counts.len()];
        // A server that gives no more answers would keep a number of requests from ever being reached.
        while last.at < end
            && !self.running.finished()
            && quiet.iter().all(|&quiet| quiet < patience)
        {
            let left = end.saturating_sub(last.at);
            tokio::time::sleep(self.workload.window.min(left)).await;
            let next = self.read();
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

    fn read(&mut self) -> Reading {
        Reading {
            at: host::monotonic(),
            counts: self.running.counts(),
            cpu_seconds: self.meters.sample(),
            client_cpu: self.running.client_cpu(),
            machine: host::cpu_times(&self.cpus),
        }
    }
}

/// Returns how often warm-up is judged: by the window, and at least by the time in which each server has surely had its
/// turn. Pure.
fn warmup_step(window: Duration, slice: Duration, turns: u32) -> Duration {
    if turns > 1 {
        window.max(slice * turns * 2)
    } else {
        window
    }
}

/// Says of each server whether it is warm. Pure.
fn warmups(counts: &[Counts], history: &[Vec<f64>], wanted: u64) -> Vec<Warmup> {
    let warmup = |(count, costs): (&Counts, &Vec<f64>)| Warmup {
        answers: count.answers,
        steady: count.answers >= wanted && is_steady(costs),
    };
    counts.iter().zip(history).map(warmup).collect()
}

/// The counters at one moment.
struct Reading {
    at: Duration,
    counts: Vec<Counts>,
    /// Of each server since the reading before, s.
    cpu_seconds: Vec<f64>,
    client_cpu: Duration,
    machine: CpuTimes,
}

impl Reading {
    fn until(&self, next: &Self) -> Window {
        let passed = |of: fn(&Self) -> Duration| of(next).saturating_sub(of(self)).as_secs_f64();
        let servers: f64 = next.cpu_seconds.iter().sum();
        let client = passed(|reading| reading.client_cpu);
        let differences = |(earlier, later): (&Counts, &Counts)| later.answers - earlier.answers;
        Window {
            seconds: passed(|reading| reading.at),
            answers: self
                .counts
                .iter()
                .zip(&next.counts)
                .map(differences)
                .collect(),
            cpu_seconds: next.cpu_seconds.clone(),
            client_cpu_seconds: client,
            stolen_seconds: passed(|reading| reading.machine.stolen),
            others_seconds: passed(|reading| reading.machine.busy) - servers - client,
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
    fn each_server_has_had_its_turn_before_warm_up_is_judged() {
        let ms = Duration::from_millis;
        assert_eq!(warmup_step(ms(50), ms(20), 1), ms(50));
        assert_eq!(warmup_step(ms(50), ms(20), 4), ms(160));
        assert_eq!(warmup_step(ms(250), ms(20), 4), ms(250));
    }

    #[test]
    fn a_server_with_too_few_answers_is_not_warm_however_steady_it_is() {
        let counts = |answers| Counts { answers, failed: 0 };
        let steady = vec![5.0; 6];
        let warm = warmups(&[counts(99), counts(100)], &[steady.clone(), steady], 100);
        let steady: Vec<bool> = warm.iter().map(|warmup| warmup.steady).collect();
        assert_eq!(steady, [false, true]);
    }

    /// A window of two seconds.
    fn window(client: f64, servers: [f64; 2]) -> Window {
        Window {
            seconds: 2.0,
            answers: vec![1, 1],
            cpu_seconds: servers.to_vec(),
            client_cpu_seconds: client,
            stolen_seconds: 0.6,
            others_seconds: 0.2,
        }
    }

    #[test]
    fn shares_are_of_the_cpus_that_each_side_has() {
        let cpus = CpuPlan {
            server: vec![0],
            load: vec![1, 2],
        };
        let shares_of = |window| shares(&[window], &cpus);
        let all = shares_of(window(1.0, [1.0, 0.5]));
        let found = [all.client, all.servers, all.stolen, all.others];
        for (found, wanted) in found.into_iter().zip([0.25, 0.75, 0.1, 0.2 / 6.0]) {
            assert!((found - wanted).abs() < 1e-12, "{found} {wanted}");
        }
        let unknown = shares_of(window(1.0, [0.0, 0.0])).others;
        assert!(unknown <= 0.0, "the servers' own time would be in it");
        assert_eq!(shares(&[], &cpus), Shares::default());
    }

    #[test]
    fn nothing_is_known_of_a_server_whose_cpu_time_is_not_when_the_client_set_the_pace() {
        let cpus = CpuPlan {
            server: vec![0],
            load: vec![1],
        };
        let hidden = |client: f64, used: &[f64]| -> Vec<bool> {
            let server = |&cpu_seconds: &f64| Server {
                resources: Resources {
                    cpu_seconds,
                    ..Resources::default()
                },
                ..Server::default()
            };
            let servers = used.iter().map(server).collect();
            let measured = Measured::new(
                servers,
                vec![window(client, [0.0; 2])],
                &cpus,
                Client::default(),
            );
            assert_eq!(measured.client.generator_bound, client > 1.9);
            measured
                .servers
                .iter()
                .map(|server| server.hidden)
                .collect()
        };
        assert_eq!(hidden(1.99, &[0.0]), [true]);
        assert_eq!(hidden(1.99, &[0.7]), [false], "its CPU time is known");
        assert_eq!(hidden(1.00, &[0.0]), [false], "the client had time left");
        assert_eq!(hidden(1.99, &[0.0, 0.0]), [false, false], "a race");
    }
}
