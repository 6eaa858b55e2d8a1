//! The load: epoll threads of its own that drive several servers at once. Edge.

mod engine;
mod http1;
mod latency;
#[cfg(any(test, fuzzing))]
pub mod reading;

use std::io;
use std::panic::resume_unwind;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use bytes::Bytes;
use engine::{Done, Shared, Tally};

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

/// A load in progress. Dropping it stops its threads.
#[derive(Debug)]
pub struct Running {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<Done>>,
}

impl Running {
    /// Returns the counts of each target since the load began.
    pub fn counts(&self) -> Vec<Counts> {
        self.shared.counts()
    }

    /// Returns the CPU time that the load's threads have used, as of at most a few milliseconds ago.
    pub fn client_cpu(&self) -> Duration {
        self.shared.cpu()
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
        figures(&done.collect::<Vec<_>>())
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

/// Merges what the threads have seen; their measured parts differ by milliseconds, so the mean stands for all.
fn figures(threads: &[Done]) -> Vec<LoadFigures> {
    let Some((first, others)) = threads.split_first() else {
        return Vec::new();
    };
    #[expect(
        clippy::cast_precision_loss,
        reason = "there are as many threads as CPUs"
    )]
    let seconds = threads.iter().map(|done| done.seconds).sum::<f64>() / threads.len() as f64;
    let of_target = |(target, tally): (usize, &Tally)| {
        let mut tally = tally.clone();
        for other in others {
            tally.merge(&other.tallies[target]);
        }
        tally.figures(seconds)
    };
    first.tallies.iter().enumerate().map(of_target).collect()
}

/// Starts the workload on all targets at once, one thread pinned to each of `cpus`.
///
/// Each target gets the workload's connections, split evenly over the threads. An error means that a thread could not
/// be started or pinned, or that `cpus` is empty; what a server does wrong is counted.
pub fn start(workload: &Workload, targets: &[Target], cpus: &[usize]) -> io::Result<Running> {
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
    let mut running = Running {
        shared: Arc::new(Shared::new(cpus.len(), targets.len(), wanted)),
        threads: Vec::new(),
    };
    let shared = Arc::clone(&running.shared);
    engine::spawn_all(workload, targets, &shared, cpus, |thread| {
        running.threads.push(thread);
    })?;
    Ok(running)
}
