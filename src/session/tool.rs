//! The load of a session by another program: rounds to warm up, then one measured run.

use std::time::Duration;

use super::Setting;
use super::measure::{Measured, Server, in_use};
use crate::error::Result;
use crate::host;
use crate::journal::{Client, CpuPlan, Window};
use crate::load::tool::run::{self, Ran};
use crate::load::tool::{Aim, Program};
use crate::matrix::{Stop, Workload};
use crate::outcome::{Gap, Outcome, Resources};
use crate::serve::Instance;
use crate::serve::meter::Meters;

/// Length of a round of the warm-up: the shortest that every program knows.
const ROUND: Duration = Duration::from_secs(1);
/// A fall of the server's CPU time per answer from one round to the next that still counts as warming up.
const STEADY_FALL: f64 = 0.03;

/// One server and the program that loads it.
struct Bench<'a> {
    program: &'a Program,
    setting: &'a Setting<'a>,
    instance: &'a Instance,
}

/// What the warm-up came to.
#[derive(Debug, Clone, Copy, Default)]
struct Warmup {
    answers: u64,
    steady: bool,
}

/// What one round or the measured part came to.
struct Turn {
    ran: Ran,
    window: Window,
    resources: Resources,
}

/// Loads one server with another program: warms it up, then measures.
pub(super) async fn measure(
    setting: &Setting<'_>,
    instance: &Instance,
    program: &Program,
) -> Result<Measured> {
    let bench = Bench {
        program,
        setting,
        instance,
    };
    let engine = run::find(program).await?.engine;
    let (warmup, turn) = match bench.warm_up().await? {
        Err(gap) => (Warmup::default(), Err(gap)),
        Ok(warmup) => (warmup, bench.turn(setting.matrix.load.stop).await?),
    };
    let client = Client {
        engine,
        ..Client::default()
    };
    Ok(match turn {
        Ok(turn) => bench.measured(turn, warmup, client),
        Err(gap) => failed(gap, client),
    })
}

impl Bench<'_> {
    fn workload(&self) -> &Workload {
        &self.setting.matrix.load
    }

    /// Loads in rounds until the server has given enough answers and its CPU time per answer has stopped falling.
    async fn warm_up(&self) -> Result<Outcome<Warmup>> {
        let workload = self.workload();
        let deadline = host::monotonic() + workload.warmup_at_most;
        let mut warmup = Warmup::default();
        let mut cost = None;
        // A round is not cut off, so one must fit; but a server is never measured cold where it may be warmed.
        while !warmup.steady && !workload.warmup_at_most.is_zero() {
            let turn = match self.turn(Stop::Duration(ROUND)).await? {
                Ok(turn) => turn,
                Err(gap) => return Ok(Err(gap)),
            };
            warmup.answers += turn.ran.figures.answers;
            let before = cost.replace(turn.cost());
            let enough = warmup.answers >= workload.warmup_answers;
            warmup.steady = enough && before.is_some_and(|before| is_steady(before, turn.cost()));
            if host::monotonic() + ROUND > deadline {
                break;
            }
        }
        Ok(Ok(warmup))
    }

    /// Runs the program once.
    async fn turn(&self, stop: Stop) -> Result<Outcome<Turn>> {
        let check = &self.setting.matrix.check;
        let cpus = &self.setting.cpus.load;
        let aim = Aim {
            address: self.instance.addresses[0].clone(),
            cpus: cpus.len(),
            stop,
            same_length: check.same_length,
        };
        let length = self.instance.bodies.first().map(|body| body.len() as u64);
        let mut meters = Meters::new([&self.instance.tree]);
        meters.begin();
        let all = in_use(self.setting.cpus);
        let before = host::cpu_times(&all);
        let ran = run::run(self.program, self.workload(), (&aim, length), cpus).await?;
        let passed = host::cpu_times(&all).since(before);
        let busy = passed.busy.as_secs_f64();
        let cpu_seconds = meters.sample();
        let resources = meters.finish().remove(0);
        Ok(ran.map(|ran| Turn {
            window: Window {
                seconds: ran.figures.seconds,
                answers: vec![ran.figures.answers],
                others_seconds: busy - cpu_seconds.iter().sum::<f64>() - ran.cpu.as_secs_f64(),
                cpu_seconds,
                client_cpu_seconds: ran.cpu.as_secs_f64(),
                stolen_seconds: passed.stolen.as_secs_f64(),
            },
            resources,
            ran,
        }))
    }

    /// Answers of parts of it are not told, so all of it is one window.
    fn measured(&self, turn: Turn, warmup: Warmup, client: Client) -> Measured {
        let cpus = CpuPlan {
            load: turn.ran.cpus,
            ..self.setting.cpus.clone()
        };
        let server = Server {
            answers: warmup.answers + turn.ran.figures.answers,
            load: turn.ran.figures,
            resources: turn.resources,
            warmup_answers: warmup.answers,
            steady: warmup.steady,
            ..Server::default()
        };
        Measured::new(vec![server], vec![turn.window], &cpus, client)
    }
}

impl Turn {
    /// Returns CPU seconds of the server per answer; no number when there was none.
    #[expect(clippy::cast_precision_loss, reason = "counts stay far below 2^53")]
    fn cost(&self) -> f64 {
        self.window.cpu_seconds[0] / self.ran.figures.answers as f64
    }
}

fn is_steady(before: f64, after: f64) -> bool {
    after.is_finite() && after >= before * (1.0 - STEADY_FALL)
}

fn failed(gap: Gap, client: Client) -> Measured {
    Measured {
        servers: vec![Server {
            gap: Some(gap),
            ..Server::default()
        }],
        client,
        ..Measured::default()
    }
}
