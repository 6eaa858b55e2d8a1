//! A thread of the load that speaks HTTP/2, by hyper on a runtime of its own.
//!
//! Each connection is a task, and so is each of the requests that may be under way on it; one more watches the clock. They
//! all run on the one thread, so what they share needs no locks.

mod crew;
mod failure;
mod stream;
mod wire;

use std::io;
use std::panic::resume_unwind;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::Full;
use hyper::Request;
use tokio::runtime::{Builder, Runtime};
use tokio::task::{JoinSet, LocalSet};

use super::gauge::Gauge;
use super::lanes::Done;
use super::plan::{Plan, Post};
use super::shared::Shared;
use crate::dial;
use crate::load::Target;
use crate::matrix::{PathShare, Workload};
use crew::Crew;

/// What moves the bytes.
pub(super) const NAME: &str = "http/2 (hyper)";

/// How late a thread may notice that it is to measure or to end; a runtime's clock knows nothing shorter.
const TICK: Duration = Duration::from_millis(1);

/// What is sent where HTTP/2 is spoken.
#[derive(Debug)]
pub(super) struct Orders {
    /// How many requests may be under way on a connection.
    streams: usize,
    /// By target, its addresses and the paths.
    requests: Vec<Vec<Vec<Request<Full<Bytes>>>>>,
}

impl Orders {
    /// Works out what is sent.
    pub(super) fn new(
        workload: &Workload,
        targets: &[Target],
        mix: &[PathShare],
    ) -> io::Result<Self> {
        let mut requests = Vec::new();
        for target in targets {
            let mut places = Vec::new();
            for address in &target.addresses {
                let request = |path: &PathShare| dial::request(workload, &path.path, address);
                let paths: Result<Vec<_>, _> = mix.iter().map(request).collect();
                places.push(paths.map_err(io::Error::other)?);
            }
            requests.push(places);
        }
        let streams = workload.manner.streams.unwrap_or(1).max(1) as usize;
        Ok(Self { streams, requests })
    }
}

/// One thread's whole state.
#[derive(Debug)]
pub(super) struct Worker {
    crew: Crew,
    posts: Vec<Post>,
    runtime: Runtime,
}

impl Worker {
    /// Makes a thread's state.
    pub(super) fn new(
        plan: &Arc<Plan>,
        orders: &Arc<Orders>,
        shared: &Arc<Shared>,
        thread: usize,
    ) -> io::Result<Self> {
        Ok(Self {
            crew: Crew::new(plan, orders, shared, thread)?,
            posts: plan.posts(thread),
            runtime: Builder::new_current_thread().enable_all().build()?,
        })
    }

    /// Loads the targets until the load ends.
    pub(super) fn run(self) -> Done {
        let crew = Rc::new(self.crew);
        let tasks = LocalSet::new();
        tasks.block_on(&self.runtime, async {
            let mut connections = JoinSet::new();
            for post in self.posts {
                connections.spawn_local(stream::keep_up(Rc::clone(&crew), post));
            }
            watch(&crew, &mut connections).await;
            crew.done()
        })
    }
}

/// Notices what the clock and the load's owner say, until the load ends.
async fn watch(crew: &Crew, connections: &mut JoinSet<()>) {
    let mut gauge = Gauge::new();
    crew.start();
    let mut ticks = tokio::time::interval(TICK);
    while !crew.has_ended() {
        ticks.tick().await;
        crew.look_at_the_clock();
        crew.report(gauge.read());
        // A connection is kept up for ever: one that is not has panicked.
        if let Some(Err(bug)) = connections.try_join_next()
            && let Ok(panic) = bug.try_into_panic()
        {
            resume_unwind(panic);
        }
    }
}
