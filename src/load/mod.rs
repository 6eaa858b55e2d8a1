//! The load: epoll threads of its own that drive several servers at once, or another program. Edge.

mod engine;
mod http1;
mod latency;
#[cfg(any(test, fuzzing))]
pub mod reading;
pub mod tool;

use std::io;
use std::panic::resume_unwind;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use bytes::Bytes;
use engine::{Done, Measured, Shared};

use crate::address::Address;
use crate::matrix::{Stop, Workload};
use crate::outcome::LoadFigures;

/// One server to load.
#[derive(Debug, Clone)]
pub struct Target {
    /// Where it listens; connections go to several addresses in turn. At least one.
    pub addresses: Vec<Address>,
    /// The status that every answer must have.
    pub status: u16,
    /// What answers must be, for each path of the workload in its order.
    pub expected: Vec<Expected>,
}

/// What the answers to one path must be.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Expected {
    /// The body's length, where that is fixed.
    pub length: Option<u64>,
    /// The body, where that is fixed.
    pub body: Option<Bytes>,
}

/// What has been counted for one server since the load began; cheap to read at any time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Whole right answers.
    pub answers: u64,
    /// Failed requests.
    pub failed: u64,
}

/// Which targets are loaded when.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Schedule {
    /// All at once.
    Together,
    /// One at a time, in turns. All connections are open all the time; each round has one turn of every target, in an
    /// order of its own.
    Slices {
        /// How long a turn lasts. What is under way at its end is waited for.
        slice: Duration,
        /// What the orders are drawn from.
        seed: u64,
    },
}

/// What the kernel did with the load's threads since the load began.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Scheduling {
    /// How often they gave up their CPU by themselves.
    pub voluntary_switches: u64,
    /// How often the CPU was taken from them.
    pub involuntary_switches: u64,
    /// Time that they were ready and waited for a CPU; none where the kernel does not tell.
    pub run_delay: Duration,
}

/// A load in progress. Dropping it stops its threads.
#[derive(Debug)]
pub struct Running {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<Done>>,
    engine: &'static str,
    /// Whether the number of answers decides the end.
    limited: bool,
}

impl Running {
    /// Returns the counts of each target since the load began.
    pub fn counts(&self) -> Vec<Counts> {
        self.shared.counts()
    }

    /// Returns the CPU time that the load's threads have used, as of at most a few milliseconds ago.
    pub fn client_cpu(&self) -> Duration {
        Duration::from_nanos(self.shared.cost().cpu)
    }

    /// Returns what the kernel did with the load's threads, as of at most a few milliseconds ago.
    pub fn scheduling(&self) -> Scheduling {
        let cost = self.shared.cost();
        Scheduling {
            voluntary_switches: cost.voluntary_switches,
            involuntary_switches: cost.involuntary_switches,
            run_delay: Duration::from_nanos(cost.run_delay),
        }
    }

    /// Returns what moves the bytes.
    pub fn engine(&self) -> &'static str {
        self.engine
    }

    /// Forgets what was counted so far: the measured part begins now.
    ///
    /// Each thread takes note within a few milliseconds and times its own measured part. Without this call the
    /// measured part is the whole load.
    pub fn begin_measuring(&self) {
        self.shared.begin_measuring();
    }

    /// Returns whether every target has given the answers that [`Stop::Requests`] asks for, since measuring began.
    ///
    /// No request is sent from then on. With [`Stop::Duration`] it is never so, as the caller keeps the time. A
    /// server that no longer answers keeps the load from finishing; [`Running::counts`] shows that.
    pub fn finished(&self) -> bool {
        self.shared.finished()
    }

    /// Stops the load and returns the figures of each target over the measured part.
    ///
    /// It blocks for a few milliseconds. Requests that are still waiting for their answer count as nothing.
    pub fn stop(mut self) -> Vec<LoadFigures> {
        self.shared.stop();
        let threads = self.threads.drain(..);
        let done = threads.map(|thread| thread.join().unwrap_or_else(|panic| resume_unwind(panic)));
        figures(&done.collect::<Vec<_>>(), self.limited)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.shared.stop();
        for thread in self.threads.drain(..) {
            // Whoever drops a load has no use for its figures, nor for a thread's panic.
            drop(thread.join());
        }
    }
}

/// Merges what the threads have seen of each target.
fn figures(threads: &[Done], limited: bool) -> Vec<LoadFigures> {
    let targets = threads.first().map_or(0, |done| done.parts.len());
    let of = |target: usize| {
        let parts = threads.iter().map(|done| &done.parts[target]);
        merge(&parts.collect::<Vec<_>>(), limited)
    };
    (0..targets).map(of).collect()
}

/// Merges what the threads have seen of one target.
///
/// Their measured parts begin and end some milliseconds apart, so the mean stands for all; where a number of answers
/// decides the end, the part lasts until the last of them.
#[expect(
    clippy::cast_precision_loss,
    reason = "there are as many threads as CPUs"
)]
fn merge(parts: &[&Measured], limited: bool) -> LoadFigures {
    let Some((first, others)) = parts.split_first() else {
        return LoadFigures::default();
    };
    let mut tally = first.tally.clone();
    for other in others {
        tally.merge(&other.tally);
    }
    let all: f64 = parts.iter().map(|part| part.seconds).sum();
    let longest = parts.iter().map(|part| part.seconds).fold(0.0, f64::max);
    LoadFigures {
        seconds: if limited {
            longest
        } else {
            all / parts.len() as f64
        },
        thread_seconds: all,
        in_flight: parts.iter().map(|part| part.in_flight).sum(),
        ..tally.figures()
    }
}

/// Starts the workload on the targets, one thread pinned to each of `cpus`.
///
/// Each target gets the workload's connections, split evenly over the threads. An error means that a thread could not
/// be started or pinned, that `cpus` is empty, or that the workload cannot be sent; what a server does wrong is counted.
pub fn start(
    workload: &Workload,
    targets: &[Target],
    cpus: &[usize],
    schedule: Schedule,
) -> io::Result<Running> {
    if cpus.is_empty() {
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "the load needs a CPU",
        ));
    }
    let wanted = match workload.stop {
        Stop::Requests(answers) => Some(answers),
        Stop::Duration(_) => None,
    };
    let plan = engine::plan(workload, targets, cpus.len(), schedule)?;
    let mut running = Running {
        shared: Arc::new(Shared::new(cpus.len(), targets.len(), wanted)),
        threads: Vec::new(),
        engine: engine::name(&plan),
        limited: wanted.is_some(),
    };
    let shared = Arc::clone(&running.shared);
    engine::spawn_all(&plan, &shared, cpus, |thread| {
        running.threads.push(thread);
    })?;
    Ok(running)
}
