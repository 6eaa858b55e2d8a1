//! The supervisor: a small process of this same program between Harness and each child.
//!
//! It makes sure that nothing outlives Harness, whatever happens to Harness: its standard input is a pipe whose other
//! end only Harness holds, so even after `kill -9` it reads the end of the file and kills everything below it. As a
//! child subreaper it inherits what a daemon leaves behind, so a double fork does not escape. A parent-death signal
//! would do neither: it fires when the spawning *thread* ends and does not reach grandchildren.

use std::collections::BTreeMap;
use std::io::{self, BufRead, Write};
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike;
use rustix::process::{Pid, Signal, WaitOptions, WaitStatus};
use rustix::thread::CpuSet;
use rustix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};

use super::below::{children, descendants};
use super::confine::{self, Closing, Walls};
use super::limits::{self, Limit, Limits};
use super::output::{self, Copy};
use crate::matrix::StopSignal;

/// How long killed processes may take to vanish (one in an uninterruptible wait may never).
const KILL_DEADLINE: Duration = Duration::from_secs(5);

/// How often the children are killed for each time that all processes are looked through.
const QUICK_PASSES: usize = 20;

/// The first line of the supervisor's standard input.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Order {
    pub(super) program: String,
    pub(super) args: Vec<String>,
    pub(super) cwd: PathBuf,
    pub(super) env: BTreeMap<String, String>,
    pub(super) cpus: Vec<usize>,
    pub(super) stdout: PathBuf,
    pub(super) stderr: PathBuf,
    pub(super) limits: Limits,
    pub(super) walls: Walls,
}

/// Any later line of it.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct StopRequest {
    pub(super) signal: StopSignal,
    pub(super) grace_ms: u64,
}

/// What the supervisor says on its standard output, one JSON object per line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Report {
    /// The child runs; `at_ns` is the monotonic clock just before it was started.
    Started { pid: i32, at_ns: u64 },
    /// It could not be started, because of itself or (a full disk, no memory) because of the machine.
    NotStarted { reason: String, machine: bool },
    /// It ended, and so did everything below it; `over` is the limit that it was ended for, `cpu_ns` the CPU time of
    /// all that was waited for.
    Ended {
        code: Option<i32>,
        signal: Option<i32>,
        over: Option<Limit>,
        cpu_ns: u64,
    },
}

enum Event {
    Stop(StopRequest),
    ParentGone,
    Exited(WaitStatus),
    NothingLeft,
    Over(Limit),
    /// A log has got all that was printed, or no more is wanted.
    Copied,
}

/// Runs as the supervisor: reads an order from standard input, starts the child, and ends with it.
pub fn supervise() -> io::Result<()> {
    let mut line = String::new();
    io::stdin().lock().read_line(&mut line)?;
    let order: Order = serde_json::from_str(&line).map_err(io::Error::other)?;
    isolate(&order.cpus)?;
    let (events, received) = mpsc::channel();
    let at = clock_gettime(ClockId::Monotonic);
    match start(&order, &events) {
        Ok((child, logs)) => {
            let at_ns = u64::try_from(at.tv_sec).unwrap_or(0) * 1_000_000_000
                + u64::try_from(at.tv_nsec).unwrap_or(0);
            // If nobody hears this, Harness is gone, and the child is killed at once.
            drop(say(&Report::Started {
                pid: child.as_raw_pid(),
                at_ns,
            }));
            let mut watch = Watch::new(child, received, logs);
            watch.until_gone(&events, &order.limits);
            say(&watch.report())
        }
        Err(NoStart { reason, machine }) => say(&Report::NotStarted { reason, machine }),
    }
}

/// Leaves Harness's session, so that ^C at a terminal reaches Harness alone and the scheduler's autogroups see each
/// server apart, and takes over the orphans and the CPUs of everything below.
fn isolate(cpus: &[usize]) -> io::Result<()> {
    if let Err(error) = rustix::process::setsid()
        && error != rustix::io::Errno::PERM
    {
        return Err(error.into());
    }
    rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?;
    if !cpus.is_empty() {
        let mut set = CpuSet::new();
        for &cpu in cpus {
            set.set(cpu);
        }
        rustix::thread::sched_setaffinity(None, &set)?;
    }
    Ok(())
}

/// Why a child could not be started.
struct NoStart {
    reason: String,
    machine: bool,
}

impl NoStart {
    fn of_machine(what: impl std::fmt::Display, error: &io::Error) -> Self {
        Self {
            reason: format!("{what}: {error}"),
            machine: true,
        }
    }
}

/// Starts the child. Returns it, and how many logs are being copied.
fn start(order: &Order, events: &Sender<Event>) -> Result<(Pid, usize), NoStart> {
    std::fs::read_dir(&order.cwd)
        .map_err(|error| NoStart::of_machine(order.cwd.display(), &error))?;
    if order.walls.network == Some(Closing::Whole) {
        confine::leave_network()
            .map_err(|error| NoStart::of_machine("it gets no network of its own", &error))?;
    }
    let (outputs, copies) = open_logs(order)?;
    let child = spawn_confined(order, outputs)?;
    let count = copies.len();
    for copy in copies {
        let events = events.clone();
        thread::spawn(move || {
            if matches!(copy.run(), Ok(true)) {
                drop(events.send(Event::Over(Limit::Log)));
            }
            drop(events.send(Event::Copied));
        });
    }
    Ok((child, count))
}

/// Opens stdout and stderr, which may be one log.
fn open_logs(order: &Order) -> Result<([OwnedFd; 2], Vec<Copy>), NoStart> {
    let open = |path: &Path| {
        output::open(path, order.limits.log_bytes)
            .map_err(|error| NoStart::of_machine(path.display(), &error))
    };
    let (stdout, copy) = open(&order.stdout)?;
    let mut copies = Vec::from_iter(copy);
    let stderr = if order.stderr == order.stdout {
        stdout
            .try_clone()
            .map_err(|error| NoStart::of_machine(order.stderr.display(), &error))?
    } else {
        let (stderr, copy) = open(&order.stderr)?;
        copies.extend(copy);
        stderr
    };
    Ok(([stdout, stderr], copies))
}

/// Starts the child from a thread that has given up what the child must not do. This process itself keeps it, or it
/// could not end what is below it; and what is below it cannot end this process.
fn spawn_confined(order: &Order, outputs: [OwnedFd; 2]) -> Result<Pid, NoStart> {
    if order.walls.writable.is_none() {
        return spawn(order, outputs);
    }
    let spawn = || {
        confine::restrict(&order.walls)
            .map_err(|error| NoStart::of_machine("it cannot be confined", &error))?;
        spawn(order, outputs)
    };
    thread::scope(|scope| scope.spawn(spawn).join()).unwrap_or_else(|_| {
        Err(NoStart {
            reason: "the thread that starts it has failed".to_owned(),
            machine: true,
        })
    })
}

fn spawn(order: &Order, [stdout, stderr]: [OwnedFd; 2]) -> Result<Pid, NoStart> {
    let child = Command::new(&order.program)
        .args(&order.args)
        .current_dir(&order.cwd)
        .env_clear()
        .envs(&order.env)
        .stdin(Stdio::null())
        .stdout(stdout)
        .stderr(stderr)
        .process_group(0)
        .spawn()
        .map_err(|error| NoStart {
            reason: error.to_string(),
            machine: is_of_machine(&error),
        })?;
    i32::try_from(child.id())
        .ok()
        .and_then(Pid::from_raw)
        .ok_or_else(|| NoStart {
            reason: "the kernel gave no process id".to_owned(),
            machine: true,
        })
}

/// Returns whether a program could not be started for want of processes, memory or open files.
fn is_of_machine(error: &io::Error) -> bool {
    use rustix::io::Errno;
    let scarce = [Errno::AGAIN, Errno::NOMEM, Errno::MFILE, Errno::NFILE];
    Errno::from_io_error(error).is_some_and(|errno| scarce.contains(&errno))
}

/// The watch over a running child.
struct Watch {
    child: Pid,
    events: Receiver<Event>,
    /// How the child itself ended.
    status: Option<WaitStatus>,
    /// The limit that it was ended for.
    over: Option<Limit>,
    /// How many logs are still being copied.
    logs: usize,
    /// Whether nothing is left below this process.
    is_empty: bool,
}

impl Watch {
    fn new(child: Pid, events: Receiver<Event>, logs: usize) -> Self {
        Self {
            child,
            events,
            status: None,
            over: None,
            logs,
            is_empty: false,
        }
    }

    /// Waits until the child has ended or is to be ended, then ends everything below.
    fn until_gone(&mut self, sender: &Sender<Event>, limits: &Limits) {
        let (child, reaper, listener, limiter) =
            (self.child, sender.clone(), sender.clone(), sender.clone());
        thread::spawn(move || reap(child, &reaper));
        thread::spawn(move || listen(&listener));
        limits::watch(limits, move |limit| drop(limiter.send(Event::Over(limit))));
        loop {
            match self.events.recv() {
                Ok(Event::Copied) => self.logs -= 1,
                Ok(Event::Stop(request)) => break self.ask_to_end(&request),
                Ok(event) => break self.note(&event),
                Err(_) => break,
            }
        }
        self.kill_all();
    }

    /// Notes what has happened.
    fn note(&mut self, event: &Event) {
        match event {
            Event::Exited(status) => self.status = Some(*status),
            Event::Over(limit) => self.over = self.over.or(Some(*limit)),
            Event::Copied => self.logs -= 1,
            Event::NothingLeft => self.is_empty = true,
            Event::Stop(_) | Event::ParentGone => {}
        }
    }

    fn ask_to_end(&mut self, request: &StopRequest) {
        // The group may be gone already: then there is an `Exited` in the queue.
        let _ = rustix::process::kill_process_group(self.child, signal_of(request.signal));
        let deadline = Instant::now() + Duration::from_millis(request.grace_ms);
        while self.status.is_none() {
            match self
                .events
                .recv_timeout(deadline.saturating_duration_since(Instant::now()))
            {
                Ok(Event::ParentGone | Event::NothingLeft) | Err(_) => return,
                Ok(event) => self.note(&event),
            }
        }
    }

    /// Kills everything below this process until nothing is left; new forks are met by the next pass.
    fn kill_all(&mut self) {
        let deadline = Instant::now() + KILL_DEADLINE;
        while Instant::now() < deadline && !(self.is_empty && self.logs == 0) {
            if !self.is_empty {
                self.kill_once();
            }
            match self.events.recv_timeout(Duration::from_millis(2)) {
                Ok(event) => self.note(&event),
                Err(mpsc::RecvTimeoutError::Timeout) => {}
                Err(mpsc::RecvTimeoutError::Disconnected) => return,
            }
        }
    }

    /// Kills whatever is seen below this process.
    fn kill_once(&self) {
        let own = rustix::process::getpid();
        // The group as well: a process whose first thread has ended looks dead while others of its threads run.
        let _ = rustix::process::kill_process_group(self.child, Signal::KILL);
        for pid in descendants(own) {
            let _ = rustix::process::kill_process(pid, Signal::KILL);
        }
        // One that forks and ends at once is gone before all processes are listed; but what it forked is ours by then.
        for _ in 0..QUICK_PASSES {
            for pid in children(own) {
                let _ = rustix::process::kill_process(pid, Signal::KILL);
            }
        }
    }

    fn report(&self) -> Report {
        Report::Ended {
            code: self.status.and_then(WaitStatus::exit_status),
            signal: self.status.and_then(WaitStatus::terminating_signal),
            over: self.over,
            cpu_ns: cpu_of_children(),
        }
    }
}

/// Returns the CPU time of the processes below this one that have ended, ns.
fn cpu_of_children() -> u64 {
    getrusage(UsageWho::RUSAGE_CHILDREN).map_or(0, |usage| {
        let microseconds = usage.user_time() + usage.system_time();
        u64::try_from(microseconds.num_microseconds()).unwrap_or(0) * 1000
    })
}

/// Reaps every process that ends below this one, for as long as there are any.
fn reap(child: Pid, events: &Sender<Event>) {
    loop {
        match rustix::process::wait(WaitOptions::empty()) {
            Ok(Some((pid, status))) if pid == child => drop(events.send(Event::Exited(status))),
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(_) => break drop(events.send(Event::NothingLeft)),
        }
    }
}

fn listen(events: &Sender<Event>) {
    for line in io::stdin().lock().lines() {
        let request = line.ok().and_then(|line| serde_json::from_str(&line).ok());
        let Some(request) = request else { break };
        drop(events.send(Event::Stop(request)));
    }
    drop(events.send(Event::ParentGone));
}

fn signal_of(signal: StopSignal) -> Signal {
    match signal {
        StopSignal::Term => Signal::TERM,
        StopSignal::Int => Signal::INT,
        StopSignal::Quit => Signal::QUIT,
        StopSignal::Hup => Signal::HUP,
    }
}

fn say(report: &Report) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    serde_json::to_writer(&mut stdout, report)?;
    stdout.write_all(b"\n")?;
    stdout.flush()
}
