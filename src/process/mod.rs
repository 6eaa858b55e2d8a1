//! The only place that spawns: own session and group, deadline, log, kill the whole tree. Edge.
//!
//! Every child runs below a [`supervisor`], which ends with all that is below it as soon as Harness lets go.
#![expect(
    clippy::disallowed_methods,
    reason = "spawning, its logs and its deadlines are this module's work"
)]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::process::{ChildStdin, ChildStdout};
use tokio::sync::OnceCell;

use crate::error::{Error, Kind, Result};
use crate::matrix::StopSignal;

pub(crate) mod again;
pub(crate) mod below;
pub mod cgroup;
mod confine;
mod environment;
pub(crate) mod limits;
mod output;
pub mod supervisor;

pub use confine::{Closing, Confinement, Support};
pub use environment::{
    base_environment, build_environment, client_environment, installer_settings,
};
pub use limits::{Limit, Limits};

use confine::Walls;
use supervisor::{Order, Report, StopRequest};

/// The hidden verb that makes this program a supervisor.
pub const SUPERVISE: &str = "__supervise";

/// Longest wait for a supervisor to end when its child is dropped.
const DROP_DEADLINE: Duration = Duration::from_secs(6);

static SUPERVISOR: OnceLock<PathBuf> = OnceLock::new();

/// Names the program that supervises, where this process is not `harness` itself (a test). The first call counts.
pub fn use_supervisor(program: impl Into<PathBuf>) {
    drop(SUPERVISOR.set(program.into()));
}

/// Bytes that a program may say to be captured.
const CAPTURED_AT_MOST: u64 = 64 << 20;

static CLOSING: OnceCell<Closing> = OnceCell::const_new();

/// A program to run: nothing of it is parsed again, and its environment is exactly `env`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Spec {
    /// The program, found through `PATH` of `env` when it has no slash.
    pub program: String,
    /// Its arguments.
    pub args: Vec<String>,
    /// The folder it runs in.
    pub cwd: PathBuf,
    /// Its whole environment.
    pub env: BTreeMap<String, String>,
    /// The CPUs it is pinned to; empty for all.
    pub cpus: Vec<usize>,
    /// What it may use up before it is ended.
    pub limits: Limits,
    /// What it may do to the rest of the machine; none for everything that its user may.
    pub confinement: Option<Confinement>,
}

/// How a program ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ended {
    /// With this exit code.
    Code(i32),
    /// By this signal.
    Signal(i32),
    /// It was killed at its deadline.
    TimedOut,
    /// It was killed at this limit.
    OverLimit(Limit),
    /// It could not be started at all (missing, not executable), with the reason.
    NotStarted(String),
}

/// What a short program said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Captured {
    /// How it ended.
    pub ended: Ended,
    /// What it wrote to stdout.
    pub stdout: String,
    /// What it wrote to stderr.
    pub stderr: String,
}

/// A running program with everything below it. Dropping it kills all of that and waits until it is gone.
#[derive(Debug)]
pub struct Child {
    supervisor: tokio::process::Child,
    stdin: Option<ChildStdin>,
    reports: Lines<BufReader<ChildStdout>>,
    root: Pid,
    /// The program's own group, once it is started.
    group: Option<Pid>,
    started: Duration,
    end: Option<Ended>,
    /// CPU time of the program and what it waited for, once it has ended.
    cpu: Duration,
}

impl Child {
    /// Starts a program with its output appended to the two files.
    ///
    /// The inner error is the reason why the program itself could not be started.
    pub async fn spawn(
        spec: &Spec,
        stdout: &Path,
        stderr: &Path,
    ) -> Result<std::result::Result<Self, String>> {
        Self::spawn_known(spec, (stdout, stderr), |_| {}).await
    }

    /// Starts a program after `known` was told of the supervisor above it, below which there is nothing yet.
    pub async fn spawn_known(
        spec: &Spec,
        output: (&Path, &Path),
        known: impl FnOnce(Pid),
    ) -> Result<std::result::Result<Self, String>> {
        let walls = match &spec.confinement {
            Some(confinement) => walls(confinement).await,
            None => Walls::default(),
        };
        Self::start(spec, output, walls, known).await
    }

    async fn start(
        spec: &Spec,
        (stdout, stderr): (&Path, &Path),
        walls: Walls,
        known: impl FnOnce(Pid),
    ) -> Result<std::result::Result<Self, String>> {
        let unusable = || Error::new(Kind::Machine, "cannot talk to the supervisor process");
        // From here on dropping this, by ^C too, ends the supervisor and whatever it has started.
        let mut child = start_supervisor()?;
        known(child.root);
        let order = Order {
            program: resolve(spec),
            args: spec.args.clone(),
            cwd: spec.cwd.clone(),
            env: spec.env.clone(),
            cpus: spec.cpus.clone(),
            stdout: stdout.to_owned(),
            stderr: stderr.to_owned(),
            limits: spec.limits.clone(),
            walls,
        };
        child
            .send(&order)
            .await
            .map_err(|error| unusable().because(error))?;
        match next_report(&mut child.reports).await {
            Some(Report::Started { pid, at_ns }) => {
                child.group = Pid::from_raw(pid);
                child.started = Duration::from_nanos(at_ns);
                Ok(Ok(child))
            }
            Some(Report::NotStarted {
                reason,
                machine: false,
            }) => Ok(Err(reason)),
            Some(Report::NotStarted {
                reason,
                machine: true,
            }) => Err(
                Error::new(Kind::Machine, format!("cannot start `{}`", spec.program))
                    .because(reason)
                    .hint("harness doctor"),
            ),
            Some(Report::Ended { .. }) | None => Err(unusable().because("it ended by itself")),
        }
    }

    async fn send(&mut self, message: &impl serde::Serialize) -> std::io::Result<()> {
        let Some(stdin) = &mut self.stdin else {
            return Ok(());
        };
        let mut line = serde_json::to_vec(message)?;
        line.push(b'\n');
        stdin.write_all(&line).await?;
        stdin.flush().await
    }

    /// Returns the process above the program; the program and all it started are its descendants.
    pub fn root(&self) -> Pid {
        self.root
    }

    /// Returns the monotonic clock just before the program was started.
    pub fn started(&self) -> Duration {
        self.started
    }

    /// Waits until the program has ended and nothing of it is left. The wait may be given up and taken up again.
    pub async fn ended(&mut self) -> Ended {
        if self.end.is_none() {
            let report = next_report(&mut self.reports).await;
            if let Some(Report::Ended { cpu_ns, .. }) = report {
                self.cpu = Duration::from_nanos(cpu_ns);
            }
            let ended = match report {
                Some(Report::Ended {
                    over: Some(limit), ..
                }) => Ended::OverLimit(limit),
                Some(Report::Ended {
                    code: Some(code), ..
                }) => Ended::Code(code),
                Some(Report::Ended {
                    signal: Some(signal),
                    ..
                }) => Ended::Signal(signal),
                Some(Report::Ended { .. } | Report::Started { .. } | Report::NotStarted { .. })
                | None => Ended::Signal(Signal::KILL.as_raw()),
            };
            self.end = Some(ended);
        }
        self.end.clone().unwrap_or(Ended::TimedOut)
    }

    /// Asks the program to end, kills it after the grace, and waits until nothing of it is left.
    pub async fn stop(mut self, signal: StopSignal, grace: Duration) -> Ended {
        let grace_ms = u64::try_from(grace.as_millis()).unwrap_or(u64::MAX);
        // If this fails the supervisor has ended already, and says how.
        drop(self.send(&StopRequest { signal, grace_ms }).await);
        self.ended().await
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        drop(self.stdin.take());
        let deadline = Instant::now() + DROP_DEADLINE;
        while Instant::now() < deadline {
            match self.supervisor.try_wait() {
                Ok(None) => std::thread::sleep(Duration::from_millis(1)),
                Ok(Some(status)) if status.success() => return,
                Ok(Some(_)) | Err(_) => break,
            }
        }
        // Only a supervisor that was itself killed comes here: then its orphans are ours.
        if let Some(group) = self.group {
            let _ = rustix::process::kill_process_group(group, Signal::KILL);
        }
        drop(self.supervisor.start_kill());
    }
}

/// Runs a program to its end or deadline, with stdout and stderr appended to `log`, and leaves no process of its tree.
pub async fn run(spec: &Spec, log: &Path, deadline: Duration) -> Result<Ended> {
    let (ended, _) = run_with(spec, (log, log), deadline).await?;
    Ok(ended)
}

/// Runs a short program to its end or deadline and returns what it said; leaves no process of its tree.
///
/// One that says far too much is ended, as what it said is kept in memory.
pub async fn capture(spec: &Spec, deadline: Duration) -> Result<Captured> {
    let (captured, _) = capture_with_cpu(spec, deadline).await?;
    Ok(captured)
}

/// Does so and returns the CPU time that it used as well; none of one that was killed.
pub async fn capture_with_cpu(spec: &Spec, deadline: Duration) -> Result<(Captured, Duration)> {
    let mut spec = spec.clone();
    spec.limits.log_bytes.get_or_insert(CAPTURED_AT_MOST);
    let cannot = |error| Error::new(Kind::Machine, "cannot make a temporary file").because(error);
    let stdout = tempfile::NamedTempFile::new().map_err(cannot)?;
    let stderr = tempfile::NamedTempFile::new().map_err(cannot)?;
    let output = (stdout.path(), stderr.path());
    let (ended, cpu) = run_with(&spec, output, deadline).await?;
    let text = |path: &Path| {
        std::fs::read(path)
            .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
            .map_err(cannot)
    };
    let captured = Captured {
        ended,
        stdout: text(stdout.path())?,
        stderr: text(stderr.path())?,
    };
    Ok((captured, cpu))
}

/// Returns what a tool says of its version, its first line; none if it is not there.
pub async fn version_of(tool: &str) -> Option<String> {
    let question = if tool == "go" { "version" } else { "--version" };
    let spec = Spec {
        program: tool.to_owned(),
        args: vec![question.to_owned()],
        cwd: std::env::temp_dir(),
        env: base_environment(),
        ..Spec::default()
    };
    let captured = capture(&spec, Duration::from_secs(30)).await.ok()?;
    let said = captured.stdout.lines().next().map(str::to_owned);
    said.filter(|_| captured.ended == Ended::Code(0))
}

/// Returns how far this machine lets a program be confined. What is tried out is tried once.
pub async fn confinement_support() -> Support {
    Support {
        files: confine::holds_files(),
        network: *CLOSING.get_or_init(closing).await,
    }
}

/// Turns what a program may do into what its supervisor gives up, as far as this machine knows how to.
async fn walls(confinement: &Confinement) -> Walls {
    let network = if confinement.network {
        None
    } else {
        Some(*CLOSING.get_or_init(closing).await)
    };
    Walls {
        writable: confine::holds_files().then(|| confinement.writable.clone()),
        network,
    }
}

/// Finds out how the network can be closed, by starting a program without one.
async fn closing() -> Closing {
    let spec = Spec {
        program: "sh".to_owned(),
        args: vec!["-c".to_owned(), ":".to_owned()],
        cwd: PathBuf::from("/"),
        env: base_environment(),
        ..Spec::default()
    };
    let nowhere = Path::new("/dev/null");
    let whole = Walls {
        network: Some(Closing::Whole),
        ..Walls::default()
    };
    match Child::start(&spec, (nowhere, nowhere), whole, |_| {}).await {
        Ok(Ok(_)) => Closing::Whole,
        Ok(Err(_)) | Err(_) if confine::holds_tcp() => Closing::Tcp,
        Ok(Err(_)) | Err(_) => Closing::Not,
    }
}

async fn run_with(
    spec: &Spec,
    output: (&Path, &Path),
    deadline: Duration,
) -> Result<(Ended, Duration)> {
    let mut child = match Child::spawn(spec, output.0, output.1).await? {
        Ok(child) => child,
        Err(reason) => return Ok((Ended::NotStarted(reason), Duration::ZERO)),
    };
    let ended = tokio::time::timeout(deadline, child.ended()).await;
    Ok((ended.unwrap_or(Ended::TimedOut), child.cpu))
}

fn start_supervisor() -> Result<Child> {
    // `/proc/self/exe` stays this very program even after a new one was installed over it.
    let program = SUPERVISOR
        .get()
        .cloned()
        .unwrap_or_else(|| PathBuf::from("/proc/self/exe"));
    let cannot = || {
        Error::new(
            Kind::Machine,
            format!("cannot start the supervisor {}", program.display()),
        )
    };
    let mut supervisor = tokio::process::Command::new(&program)
        .arg(SUPERVISE)
        // The child may look at its parent's.
        .env_clear()
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|error| cannot().because(error))?;
    let stdin = supervisor.stdin.take();
    let output = supervisor.stdout.take().ok_or_else(cannot)?;
    let root = supervisor.id().and_then(pid_of).ok_or_else(cannot)?;
    Ok(Child {
        supervisor,
        stdin,
        reports: BufReader::new(output).lines(),
        root,
        group: None,
        started: Duration::ZERO,
        end: None,
        cpu: Duration::ZERO,
    })
}

/// Finds the program through the child's own `PATH`, which may differ from ours.
fn resolve(spec: &Spec) -> String {
    let path = spec.env.get("PATH").map_or("", String::as_str);
    Some(&spec.program)
        .filter(|program| !program.contains('/'))
        .and_then(|program| find(program, path))
        .and_then(|found| found.into_os_string().into_string().ok())
        .unwrap_or_else(|| spec.program.clone())
}

/// Returns where a program is found through a `PATH`.
pub(crate) fn find(program: &str, path: &str) -> Option<PathBuf> {
    std::env::split_paths(path)
        .map(|folder| folder.join(program))
        .find(|candidate| {
            // A folder may be entered, which the kernel calls the same right.
            let allowed = rustix::fs::access(candidate, rustix::fs::Access::EXEC_OK).is_ok();
            allowed && candidate.is_file()
        })
}

async fn next_report(reports: &mut Lines<BufReader<ChildStdout>>) -> Option<Report> {
    let line = reports.next_line().await.ok()??;
    serde_json::from_str(&line).ok()
}

fn pid_of(id: u32) -> Option<Pid> {
    i32::try_from(id).ok().and_then(Pid::from_raw)
}
