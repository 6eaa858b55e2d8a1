//! The supervisor: a small process of this same program between Harness and each child.
//!
//! It makes sure that nothing outlives Harness, whatever happens to Harness: its standard input is a pipe whose other
//! end only Harness holds, so even after `kill -9` it reads the end of the file and kills everything below it. As a
//! child subreaper it inherits what a daemon leaves behind, so a double fork does not escape. A parent-death signal
//! would do neither: it fires when the spawning *thread* ends and does not reach grandchildren.

use std::collections::{BTreeMap, HashSet};
use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, WaitOptions, WaitStatus};
use rustix::thread::CpuSet;
use rustix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};

use crate::matrix::StopSignal;

/// How long killed processes may take to vanish (one in an uninterruptible wait may never).
const KILL_DEADLINE: Duration = Duration::from_secs(5);

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
    /// It ended, and so did everything below it.
    Ended {
        code: Option<i32>,
        signal: Option<i32>,
    },
}

enum Event {
    Stop(StopRequest),
    ParentGone,
    Exited(WaitStatus),
    NothingLeft,
}

/// Runs as the supervisor: reads an order from standard input, starts the child, and ends with it.
pub fn supervise() -> io::Result<()> {
    let mut line = String::new();
    io::stdin().lock().read_line(&mut line)?;
    let order: Order = serde_json::from_str(&line).map_err(io::Error::other)?;
    isolate(&order.cpus)?;
    let at = clock_gettime(ClockId::Monotonic);
    match start(&order) {
        Ok(pid) => {
            let at_ns = u64::try_from(at.tv_sec).unwrap_or(0) * 1_000_000_000
                + u64::try_from(at.tv_nsec).unwrap_or(0);
            // If nobody hears this, Harness is gone, and `watch` kills the child at once.
            drop(say(&Report::Started {
                pid: pid.as_raw_pid(),
                at_ns,
            }));
            let status = watch(pid);
            say(&Report::Ended {
                code: status.and_then(WaitStatus::exit_status),
                signal: status.and_then(WaitStatus::terminating_signal),
            })
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

fn start(order: &Order) -> Result<Pid, NoStart> {
    let machine = |what: &Path, error: io::Error| NoStart {
        reason: format!("{}: {error}", what.display()),
        machine: true,
    };
    std::fs::read_dir(&order.cwd).map_err(|error| machine(&order.cwd, error))?;
    let stdout = append_to(&order.stdout).map_err(|error| machine(&order.stdout, error))?;
    let stderr = append_to(&order.stderr).map_err(|error| machine(&order.stderr, error))?;
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

fn append_to(path: &Path) -> io::Result<File> {
    OpenOptions::new().create(true).append(true).open(path)
}

/// Waits until the child has ended or is to be ended, then ends everything below. Returns the child's own status.
fn watch(child: Pid) -> Option<WaitStatus> {
    let (sender, events) = mpsc::channel();
    let reaper = sender.clone();
    thread::spawn(move || reap(child, &reaper));
    thread::spawn(move || listen(&sender));
    let mut status = None;
    match events.recv() {
        Ok(Event::Exited(exited)) => status = Some(exited),
        Ok(Event::Stop(request)) => status = ask_to_end(child, &request, &events),
        Ok(Event::ParentGone | Event::NothingLeft) | Err(_) => {}
    }
    kill_all(child, &events, &mut status);
    status
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

fn ask_to_end(child: Pid, request: &StopRequest, events: &Receiver<Event>) -> Option<WaitStatus> {
    // The group may be gone already: then there is an `Exited` in the queue.
    let _ = rustix::process::kill_process_group(child, signal_of(request.signal));
    let deadline = Instant::now() + Duration::from_millis(request.grace_ms);
    loop {
        match events.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
            Ok(Event::Exited(status)) => return Some(status),
            Ok(Event::Stop(_)) => {}
            Ok(Event::ParentGone | Event::NothingLeft) | Err(_) => return None,
        }
    }
}

fn signal_of(signal: StopSignal) -> Signal {
    match signal {
        StopSignal::Term => Signal::TERM,
        StopSignal::Int => Signal::INT,
        StopSignal::Quit => Signal::QUIT,
        StopSignal::Hup => Signal::HUP,
    }
}

/// Kills everything below this process until nothing is left; new forks are met by the next pass.
fn kill_all(child: Pid, events: &Receiver<Event>, status: &mut Option<WaitStatus>) {
    let deadline = Instant::now() + KILL_DEADLINE;
    while Instant::now() < deadline {
        // The group as well: a process whose first thread has ended looks dead while others of its threads run.
        let _ = rustix::process::kill_process_group(child, Signal::KILL);
        for pid in descendants(rustix::process::getpid()) {
            let _ = rustix::process::kill_process(pid, Signal::KILL);
        }
        match events.recv_timeout(Duration::from_millis(2)) {
            Ok(Event::NothingLeft) | Err(mpsc::RecvTimeoutError::Disconnected) => return,
            Ok(Event::Exited(exited)) => *status = Some(exited),
            Ok(Event::Stop(_) | Event::ParentGone) | Err(mpsc::RecvTimeoutError::Timeout) => {}
        }
    }
}

/// Returns every living process below `root`, `root` itself not among them.
pub(crate) fn descendants(root: Pid) -> Vec<Pid> {
    let Ok(all) = procfs::process::all_processes() else {
        return Vec::new();
    };
    let parents: Vec<(i32, i32)> = all
        .filter_map(|process| process.ok()?.stat().ok())
        .filter(|stat| stat.state != 'Z' && stat.state != 'X')
        .map(|stat| (stat.pid, stat.ppid))
        .collect();
    let mut below = HashSet::from([root.as_raw_pid()]);
    let mut found = Vec::new();
    let mut grew = true;
    while grew {
        grew = false;
        for &(pid, parent) in &parents {
            if below.contains(&parent) && below.insert(pid) {
                found.extend(Pid::from_raw(pid));
                grew = true;
            }
        }
    }
    found
}

fn say(report: &Report) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    serde_json::to_writer(&mut stdout, report)?;
    stdout.write_all(b"\n")?;
    stdout.flush()
}
