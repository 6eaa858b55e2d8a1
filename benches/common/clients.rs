//! Load generators as programs: how each is called, and what it says that it has done.

use std::net::SocketAddr;
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use harness::known::trial;
use harness::load;
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::{TimeVal, TimeValLike};
use regex::Regex;
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
    Wrk,
    Ab,
    Hey,
    Oha,
    H2load,
}

impl Client {
    /// All that are known.
    pub(crate) const ALL: [Self; 6] = [
        Self::Engine("epoll"),
        Self::Wrk,
        Self::Ab,
        Self::Hey,
        Self::Oha,
        Self::H2load,
    ];

    pub(crate) fn name(self) -> String {
        match self {
            Self::Engine(engine) => format!("Harness, {engine}"),
            Self::Wrk | Self::Ab | Self::Hey | Self::Oha | Self::H2load => {
                self.program().to_owned()
            }
        }
    }

    fn program(self) -> &'static str {
        match self {
            Self::Engine(_) => "/proc/self/exe",
            Self::Wrk => "wrk",
            Self::Ab => "ab",
            Self::Hey => "hey",
            Self::Oha => "oha",
            Self::H2load => "h2load",
        }
    }

    pub(crate) fn is_here(self) -> bool {
        let found = Command::new("sh")
            .args(["-c", "command -v \"$0\"", self.program()])
            .stdout(Stdio::null())
            .status();
        found.is_ok_and(|status| status.success())
    }

    /// Returns whether it can load in this mode.
    pub(crate) fn can(self, mode: Mode) -> bool {
        match self {
            Self::H2load => mode == Mode::Kept,
            Self::Engine(_) | Self::Wrk | Self::Ab | Self::Hey | Self::Oha => true,
        }
    }

    /// Loads, in a process of its own on its CPU, and returns what it saw.
    pub(crate) fn load(self, trial: &Trial) -> Result<Seen> {
        let limit = (trial.seconds + GRACE).to_string();
        let cpu = trial.cpu.to_string();
        let before = cpu_of_children()?;
        let program = match self {
            Self::Engine(_) => std::env::current_exe()?,
            Self::Wrk | Self::Ab | Self::Hey | Self::Oha | Self::H2load => self.program().into(),
        };
        let output = Command::new("timeout")
            .args(["-k", "5", &limit, "taskset", "-c", &cpu])
            .arg(program)
            .args(self.arguments(trial))
            .stdin(Stdio::null())
            .output()?;
        let cpu_seconds = cpu_of_children()? - before;
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        let mut seen = self.read(&said).with_context(|| {
            format!(
                "{}: {said}{}",
                self.name(),
                String::from_utf8_lossy(&output.stderr)
            )
        })?;
        seen.cpu_seconds = cpu_seconds;
        Ok(seen)
    }

    fn arguments(self, trial: &Trial) -> Vec<String> {
        let Trial {
            address,
            mode,
            seconds,
            ..
        } = trial;
        let kept = *mode == Mode::Kept;
        let line = match self {
            Self::Engine(engine) => {
                let new = if kept { "" } else { "--new-connections" };
                format!(
                    "--engine {engine} --address {address} --for-seconds {seconds} --cpu {} {new}",
                    trial.cpu
                )
            }
            Self::Wrk => format!("-t1 -c{CONNECTIONS} -d{seconds}s http://{address}/"),
            Self::Ab => {
                let kept = if kept { "-k" } else { "" };
                format!("-q -r -t {seconds} -n 100000000 -c {CONNECTIONS} {kept} http://{address}/")
            }
            Self::Hey => {
                let new = if kept { "" } else { "-disable-keepalive" };
                format!("-z {seconds}s -c {CONNECTIONS} {new} http://{address}/")
            }
            Self::Oha => {
                let new = if kept { "" } else { "--disable-keepalive" };
                format!(
                    "--no-tui --output-format json -z {seconds}s -c {CONNECTIONS} {new} http://{address}/"
                )
            }
            Self::H2load => format!("--h1 -t1 -c{CONNECTIONS} -D{seconds} http://{address}/"),
        };
        let mut words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        if self == Self::Wrk && !kept {
            // It has no option for that, and takes no header without the blank.
            words.extend(["-H", "Connection: close"].map(str::to_owned));
        }
        words
    }

    /// Reads what the client said.
    fn read(self, said: &str) -> Result<Seen> {
        match self {
            Self::Engine(_) => Ok(serde_json::from_str(said)?),
            Self::Oha => oha(said),
            Self::Wrk => by_lines(
                said,
                r"(\d+) requests in ([\d.]+)s",
                &[
                    r"Socket errors: (?:connect 0, read 0, write 0, timeout 0|(.+))",
                    r"(Non-2xx or 3xx responses: \d+)",
                ],
            ),
            Self::Ab => by_lines(
                said,
                r"(?s)Time taken for tests: +(?<seconds>[\d.]+).*Complete requests: +(?<answers>\d+)",
                &[
                    r"Failed requests: +(?:0|(\d+))\n",
                    r"(Non-2xx responses: +\d+)",
                ],
            ),
            Self::Hey => by_lines(
                said,
                r"(?s)Total:\s+(?<seconds>[\d.]+) secs.*\[200\]\s+(?<answers>\d+) responses",
                &[
                    r"(?s)Error distribution:\s+(.+)",
                    r"(\[[13-5]\d\d\]\s+\d+ responses)",
                ],
            ),
            Self::H2load => by_lines(
                said,
                r"(?s)finished in (?<seconds>[\d.]+)s.* done, (?<answers>\d+) succeeded",
                &[r"succeeded, (?:0 failed, 0 errored, 0 timeout|(.+))"],
            ),
        }
    }
}

/// Reads answers and seconds by one pattern, in that order where it does not name them, and what was wrong by others.
fn by_lines(said: &str, pattern: &str, wrong: &[&str]) -> Result<Seen> {
    let found = Regex::new(pattern)?.captures(said);
    let found = found.context("it does not say what it has done")?;
    let group = |name, place| found.name(name).or_else(|| found.get(place));
    let answers = group("answers", 1)
        .context("no answers")?
        .as_str()
        .parse()?;
    let seconds = group("seconds", 2).context("no time")?.as_str().parse()?;
    let mut seen = Seen {
        answers,
        seconds,
        ..Seen::default()
    };
    for pattern in wrong {
        let found = Regex::new(pattern)?
            .captures(said)
            .and_then(|found| found.get(1));
        seen.wrong
            .extend(found.map(|text| text.as_str().trim().to_owned()));
    }
    Ok(seen)
}

fn oha(said: &str) -> Result<Seen> {
    let said: serde_json::Value = serde_json::from_str(said)?;
    let statuses = said["statusCodeDistribution"]
        .as_object()
        .context("no status codes")?;
    let count = |status: &str| statuses.get(status).and_then(serde_json::Value::as_u64);
    let others = statuses.keys().filter(|status| *status != "200");
    let errors = said["errorDistribution"].as_object().into_iter().flatten();
    // Requests that its own end cut off are no failures.
    let errors = errors.filter(|(kind, _)| *kind != "aborted due to deadline");
    Ok(Seen {
        answers: count("200").unwrap_or(0),
        seconds: said["summary"]["total"].as_f64().context("no time")?,
        wrong: others
            .map(|status| format!("status {status}"))
            .chain(errors.map(|(kind, count)| format!("{count} {kind}")))
            .collect(),
        ..Seen::default()
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
    let mut workload = trial::workload(CONNECTIONS);
    workload.keep_alive = !child.new_connections;
    let running = load::start(
        &workload,
        &[trial::target(child.address)],
        &[child.cpu],
        load::Schedule::Together,
    )?;
    std::thread::sleep(Duration::from_secs(child.for_seconds));
    let figures = running.stop().pop().context("no figures")?;
    ensure!(figures.seconds > 0.0, "nothing was measured");
    let seen = Seen {
        answers: figures.answers,
        seconds: figures.seconds,
        wrong: crate::common::in_words(&figures.errors)
            .into_iter()
            .collect(),
        ..Seen::default()
    };
    println!("{}", serde_json::to_string(&seen)?);
    Ok(())
}
