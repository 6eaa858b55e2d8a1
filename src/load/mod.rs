//! The load: epoll threads of its own that drive several servers at once. Edge.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use crate::matrix::Workload;
use crate::outcome::LoadFigures;

/// One server to load.
#[derive(Debug, Clone)]
pub struct Target {
    /// Where it listens.
    pub address: SocketAddr,
    /// The status that every answer must have.
    pub status: u16,
    /// The body length that every answer must have, where that is fixed.
    pub body_length: Option<u64>,
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
pub struct Running {}

impl Running {
    /// Returns the counts of each target since the load began.
    pub fn counts(&self) -> Vec<Counts> {
        Vec::new()
    }

    /// Returns the CPU time that the load's threads have used.
    pub fn client_cpu(&self) -> Duration {
        Duration::ZERO
    }

    /// Forgets what was counted so far: the measured part begins now.
    pub fn begin_measuring(&self) {}

    /// Stops the load and returns the figures of each target over the measured part.
    pub fn stop(self) -> Vec<LoadFigures> {
        Vec::new()
    }
}

/// Starts the workload on all targets at once, one thread pinned to each of `cpus`.
pub fn start(_workload: &Workload, _targets: &[Target], _cpus: &[usize]) -> io::Result<Running> {
    Ok(Running {})
}
