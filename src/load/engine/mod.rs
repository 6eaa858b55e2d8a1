//! The load's threads and all that they share. Edge.
#![expect(
    clippy::disallowed_methods,
    reason = "the load opens sockets and reads the clock for every answer"
)]

mod connection;
mod shared;
mod socket;
mod tally;
mod worker;
#[cfg(test)]
mod tests;

use std::io;
use std::sync::Arc;
use std::sync::mpsc::sync_channel;
use std::thread::{self, JoinHandle};
use std::time::Instant;

use rustix::thread::{CpuSet, sched_setaffinity};

pub(super) use shared::Shared;
pub(super) use tally::Tally;
pub(super) use worker::Done;
use worker::{Plan, Server, Worker};

use super::Target;
use super::http1::request;
use crate::matrix::Workload;

/// Starts a load's threads, one pinned to each of `cpus`, and hands each over as soon as it runs.
pub(super) fn spawn_all(
    workload: &Workload,
    targets: &[Target],
    shared: &Arc<Shared>,
    cpus: &[usize],
    mut hand_over: impl FnMut(JoinHandle<Done>),
) -> io::Result<()> {
    let plan = plan(workload, targets);
    let connections = workload.connections as usize;
    for (thread, &cpu) in cpus.iter().enumerate() {
        let share = connections / cpus.len() + usize::from(thread < connections % cpus.len());
        let worker = Worker::new(plan.clone(), Arc::clone(shared), thread, share)?;
        hand_over(spawn(worker, cpu)?);
    }
    Ok(())
}

fn plan(workload: &Workload, targets: &[Target]) -> Plan {
    let server = |target: &Target| Server {
        addresses: target.addresses.clone(),
        request: request(workload, &workload.path, &target.addresses[0]),
        status: target.status,
        expected: target.expected[0].clone(),
    };
    Plan {
        servers: targets.iter().map(server).collect(),
        method: workload.method.clone(),
        keep_alive: workload.keep_alive,
        timeout: workload.timeout,
        began: Instant::now(),
    }
}

/// Starts one thread and returns when it is pinned.
fn spawn(worker: Worker, cpu: usize) -> io::Result<JoinHandle<Done>> {
    let (tell, told) = sync_channel(1);
    let thread = thread::Builder::new()
        .name(format!("load-{cpu}"))
        .spawn(move || {
            let pinned = pin(cpu);
            let usable = pinned.is_ok();
            // The other side waits for this one message.
            drop(tell.send(pinned));
            if usable { worker.run() } else { worker.done() }
        })?;
    told.recv().map_err(io::Error::other)??;
    Ok(thread)
}

/// Pins the calling thread to one CPU.
fn pin(cpu: usize) -> io::Result<()> {
    if cpu >= CpuSet::MAX_CPU {
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            format!("there is no CPU {cpu}"),
        ));
    }
    let mut set = CpuSet::new();
    set.set(cpu);
    sched_setaffinity(None, &set).map_err(|errno| {
        let kind = io::Error::from(errno).kind();
        io::Error::new(
            kind,
            format!("cannot pin a load thread to CPU {cpu}: {errno}"),
        )
    })
}
