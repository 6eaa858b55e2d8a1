//! Load generators: the engine in a process of its own, and other programs as the product runs and reads them.

use std::net::SocketAddr;
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail, ensure};
use harness::known::trial;
use harness::load;
use harness::load::tool::{self, Aim};
use harness::matrix::{Stop, Tool, Workload};
use harness::outcome::LoadFigures;
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::{TimeVal, TimeValLike};
use serde::{Deserialize, Serialize};

/// Connections of every client.
pub(crate) const CONNECTIONS: u32 = 100;

/// How long a client may take beyond its load before it is killed, s.
const GRACE: u32 = 10;

/// Whether a connection carries many requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Mode {
    Kept,
    New,
}

impl Mode {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Kept => "keep-alive",
            Self::New => "a connection per request",
        }
    }
}

/// One load.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Trial {
    pub(crate) address: SocketAddr,
    pub(crate) mode: Mode,
    pub(crate) seconds: u32,
    pub(crate) cpu: usize,
}

/// What a client saw.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Seen {
    /// Right answers, by its own count.
    pub(crate) answers: u64,
    /// How long it loaded, by its own clock, s.
    pub(crate) seconds: f64,
    /// CPU time of its process, s.
    pub(crate) cpu_seconds: f64,
    /// CPU time of the server meanwhile, as a share of that time.
    pub(crate) server_busy: f64,
    /// What it, or the server's count, says against that.
    pub(crate) wrong: Vec<String>,
}

#[expect(clippy::cast_precision_loss, reason = "counts stay far below 2^53")]
impl Seen {
    fn of(figures: &LoadFigures) -> Self {
        Self {
            answers: figures.answers,
            seconds: figures.seconds,
            wrong: crate::common::in_words(&figures.errors)
                .into_iter()
                .collect(),
            ..Self::default()
        }
    }

    pub(crate) fn rate(&self) -> f64 {
        self.answers as f64 / self.seconds
    }

    pub(crate) fn cpu_us(&self) -> f64 {
        self.cpu_seconds * 1e6 / self.answers as f64
    }
}

/// A load generator.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Client {
    /// The engine of Harness, by its name.
    Engine(&'static str),
    /// Another program.
    Tool(Tool),
}

impl Client {
    /// The one that the others are held against.
    pub(crate) const YARDSTICK: Self = Self::Tool(Tool::Wrk);

    /// All that are known and keep connections.
    pub(crate) const ALL: [Self; 6] = [
        Self::Engine("epoll"),
        Self::YARDSTICK,
        Self::Tool(Tool::Ab),
        Self::Tool(Tool::Hey),
        Self::Tool(Tool::Oha),
        Self::Tool(Tool::H2load),
    ];

    pub(crate) fn name(self) -> String {
        match self {
            Self::Engine(engine) => format!("Harness, {engine}"),
            Self::Tool(tool) => tool::program(tool)
                .map_or("", |program| program.name)
                .to_owned(),
        }
    }

    pub(crate) fn is_here(self) -> bool {
        let Self::Tool(_) = self else { return true };
        let found = Command::new("sh")
            .args(["-c", "command -v \"$0\"", &self.name()])
            .stdout(Stdio::null())
            .status();
        found.is_ok_and(|status| status.success())
    }

    /// Returns whether it can load in this mode.
    pub(crate) fn can(self, mode: Mode) -> bool {
        mode == Mode::Kept || self != Self::Tool(Tool::H2load)
    }

    /// Loads, in a process of its own on its CPU, and returns what it saw.
    pub(crate) async fn load(self, trial: &Trial) -> Result<Seen> {
        match self {
            Self::Engine(engine) => of_engine(engine, trial),
            Self::Tool(tool) => of_tool(tool, trial).await,
        }
    }
}

/// Returns the load that every client is given.
fn workload(mode: Mode) -> Workload {
    Workload {
        keep_alive: mode == Mode::Kept,
        ..trial::workload(CONNECTIONS)
    }
}

async fn of_tool(tool: Tool, trial: &Trial) -> Result<Seen> {
    let program = tool::program(tool).context("that is the engine")?;
    let aim = Aim {
        address: trial.address.into(),
        cpus: 1,
        stop: Stop::Duration(Duration::from_secs(trial.seconds.into())),
        same_length: false,
    };
    let workload = workload(trial.mode);
    let ran = tool::run::run(program, &workload, (&aim, None), &[trial.cpu]).await?;
    let ran = ran.map_err(|gap| anyhow!(gap.cause))?;
    Ok(Seen {
        cpu_seconds: ran.cpu.as_secs_f64(),
        ..Seen::of(&ran.figures)
    })
}

fn of_engine(engine: &str, trial: &Trial) -> Result<Seen> {
    let limit = (trial.seconds + GRACE).to_string();
    let cpu = trial.cpu.to_string();
    let (address, seconds) = (trial.address.to_string(), trial.seconds.to_string());
    let before = cpu_of_children()?;
    let output = Command::new("timeout")
        .args(["-k", "5", &limit, "taskset", "-c", &cpu])
        .arg(std::env::current_exe()?)
        .args(["--engine", engine, "--address", &address])
        .args(["--for-seconds", &seconds, "--cpu", &cpu])
        .args((trial.mode == Mode::New).then_some("--new-connections"))
        .stdin(Stdio::null())
        .output()?;
    let cpu_seconds = cpu_of_children()? - before;
    let said = String::from_utf8_lossy(&output.stdout);
    let seen: Seen = serde_json::from_str(&said)
        .with_context(|| String::from_utf8_lossy(&output.stderr).into_owned())?;
    Ok(Seen {
        cpu_seconds,
        ..seen
    })
}

/// Returns the CPU time of all children that have ended, and of theirs.
fn cpu_of_children() -> Result<f64> {
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN)?;
    #[expect(
        clippy::cast_precision_loss,
        reason = "microseconds stay far below 2^53"
    )]
    let seconds = |time: TimeVal| time.num_microseconds() as f64 / 1e6;
    Ok(seconds(usage.user_time()) + seconds(usage.system_time()))
}

/// What the engine is to do in a process of its own.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Child {
    #[arg(long, hide = true, default_value = "127.0.0.1:0")]
    address: SocketAddr,
    #[arg(long, hide = true, default_value_t = 0)]
    for_seconds: u64,
    #[arg(long, hide = true, default_value_t = 0)]
    cpu: usize,
    #[arg(long, hide = true)]
    new_connections: bool,
}

/// Loads with an engine of Harness and says what it saw.
#[expect(clippy::print_stdout, reason = "that is how a child answers")]
pub(crate) fn run_engine(engine: &str, child: &Child) -> Result<()> {
    if engine != "epoll" {
        bail!("there is no engine {engine}");
    }
    let mode = if child.new_connections {
        Mode::New
    } else {
        Mode::Kept
    };
    let running = load::start(
        &workload(mode),
        &[trial::target(child.address)],
        &[child.cpu],
        load::Schedule::Together,
    )?;
    std::thread::sleep(Duration::from_secs(child.for_seconds));
    let figures = running.stop().pop().context("no figures")?;
    ensure!(figures.seconds > 0.0, "nothing was measured");
    println!("{}", serde_json::to_string(&Seen::of(&figures))?);
    Ok(())
}
