//! The load's threads and all that they share. Edge.
#![expect(
    clippy::disallowed_methods,
    reason = "the load opens sockets and reads the clock for every answer"
)]

mod alarm;
mod client;
mod connection;
mod gauge;
mod http2;
mod lane;
mod lanes;
mod mix;
mod pace;
mod plan;
mod secured;
mod session;
mod shared;
mod socket;
mod tally;
mod turns;
mod worker;
#[cfg(test)]
mod tests;

use std::io;
use std::sync::Arc;
use std::sync::mpsc::sync_channel;
use std::thread::{self, JoinHandle};
use std::time::Instant;

use rustix::thread::{CpuSet, sched_setaffinity};

pub(super) use lanes::{Done, Measured};
use plan::Plan;
pub(super) use shared::Shared;
use worker::Worker;

use super::{Schedule, Target};
use crate::matrix::Workload;

/// Returns what moves the bytes.
pub(super) fn name(plan: &Plan) -> &'static str {
    match plan.http2 {
        Some(_) => http2::NAME,
        None => worker::NAME,
    }
}

/// Works out what the threads are to do.
pub(super) fn plan(
    workload: &Workload,
    targets: &[Target],
    threads: usize,
    schedule: Schedule,
) -> io::Result<Arc<Plan>> {
    Plan::new(workload, targets, threads, schedule, Instant::now()).map(Arc::new)
}

/// Starts a load's threads, one pinned to each of `cpus`, and hands each over as soon as it runs.
pub(super) fn spawn_all(
    plan: &Arc<Plan>,
    shared: &Arc<Shared>,
    cpus: &[usize],
    mut hand_over: impl FnMut(JoinHandle<Done>),
) -> io::Result<()> {
    for (thread, &cpu) in cpus.iter().enumerate() {
        hand_over(match &plan.http2 {
            None => {
                let worker = Worker::new(plan, shared, thread)?;
                spawn(cpu, move || worker.run())?
            }
            Some(orders) => {
                let worker = http2::Worker::new(plan, orders, shared, thread)?;
                spawn(cpu, move || worker.run())?
            }
        });
    }
    Ok(())
}

/// Starts one thread and returns when it is pinned.
fn spawn(cpu: usize, work: impl FnOnce() -> Done + Send + 'static) -> io::Result<JoinHandle<Done>> {
    let (tell, told) = sync_channel(1);
    let thread = thread::Builder::new()
        .name(format!("load-{cpu}"))
        .spawn(move || {
            let pinned = pin(cpu);
            let usable = pinned.is_ok();
            // The other side waits for this one message.
            drop(tell.send(pinned));
            if usable { work() } else { Done::default() }
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
