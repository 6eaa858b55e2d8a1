//! What all tasks of a thread share.

use std::cell::{Cell, RefCell};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::sync::Notify;

use super::super::connection::Request;
use super::super::gauge::Cost;
use super::super::lanes::{Done, Lanes};
use super::super::plan::Plan;
use super::super::shared::Shared;
use super::super::tally::Times;
use super::Orders;
use crate::address::Address;
use crate::load::http1::Answer;
use crate::load::latency::nanoseconds;
use crate::outcome::ErrorKind;

/// What all tasks of a thread share. Times are nanoseconds of the load's clock.
#[derive(Debug)]
pub(super) struct Crew {
    pub(super) plan: Arc<Plan>,
    pub(super) orders: Arc<Orders>,
    shared: Arc<Shared>,
    thread: usize,
    lanes: RefCell<Lanes>,
    /// How often measuring has begun.
    phase: Cell<u32>,
    /// By stream: its target, and since when it waits for the server.
    waiting: RefCell<Vec<(usize, Option<u64>)>>,
    /// Bytes received of each target in the measured part.
    received: Vec<Arc<AtomicU64>>,
    /// Told when requests may be sent that could not be before.
    changed: Notify,
}

/// A request that is begun.
#[derive(Debug, Clone, Copy)]
pub(super) struct Begun {
    request: Request,
    phase: u32,
}

impl Crew {
    /// Makes what the tasks of a thread share.
    pub(super) fn new(
        plan: &Arc<Plan>,
        orders: &Arc<Orders>,
        shared: &Arc<Shared>,
        thread: usize,
    ) -> io::Result<Self> {
        Ok(Self {
            lanes: RefCell::new(Lanes::new(Arc::clone(plan), Arc::clone(shared), thread)?),
            phase: Cell::new(0),
            waiting: RefCell::default(),
            received: plan.servers.iter().map(|_| Arc::default()).collect(),
            changed: Notify::new(),
            plan: Arc::clone(plan),
            orders: Arc::clone(orders),
            shared: Arc::clone(shared),
            thread,
        })
    }

    /// Returns the load's clock.
    pub(super) fn now(&self) -> u64 {
        nanoseconds(self.plan.began.elapsed())
    }

    /// Returns where one of a target's addresses is.
    pub(super) fn address(&self, target: usize, address: usize) -> &Address {
        &self.plan.servers[target].places[address].address
    }

    /// Returns the longest wait for a connection or an answer.
    pub(super) fn timeout(&self) -> Duration {
        Duration::from_nanos(self.plan.timeout)
    }

    /// Begins the load.
    pub(super) fn start(&self) {
        self.lanes.borrow_mut().start(self.now());
        self.changed.notify_waiters();
    }

    /// Returns whether the load is over.
    pub(super) fn has_ended(&self) -> bool {
        self.shared.ended()
    }

    /// Does what is due: begins to measure, changes the turn, ends the load.
    pub(super) fn look_at_the_clock(&self) {
        let now = self.now();
        let mut lanes = self.lanes.borrow_mut();
        if lanes.notice_phase(now) {
            self.phase.set(self.phase.get() + 1);
            for received in &self.received {
                received.store(0, Ordering::Relaxed);
            }
            self.changed.notify_waiters();
        }
        if lanes.change_turn(now) {
            self.changed.notify_waiters();
        }
        self.shared.finish_if_complete(now);
    }

    /// Tells what the thread has cost so far.
    pub(super) fn report(&self, cost: Cost) {
        self.shared.thread(self.thread).report(cost);
    }

    /// Makes room for another stream to a target and returns its number.
    pub(super) fn enlist(&self, target: usize) -> usize {
        let mut waiting = self.waiting.borrow_mut();
        waiting.push((target, None));
        waiting.len() - 1
    }

    /// Takes note since when a stream waits for the server; none if it does not.
    pub(super) fn waits(&self, stream: usize, since: Option<u64>) {
        self.waiting.borrow_mut()[stream].1 = since;
    }

    /// Returns the count of the bytes received of a target.
    pub(super) fn received(&self, target: usize) -> Arc<AtomicU64> {
        Arc::clone(&self.received[target])
    }

    /// Takes note that a connection is established that was begun at this time.
    pub(super) fn connected(&self, target: usize, since: u64) {
        let took = self.now().saturating_sub(since);
        self.lanes.borrow_mut().of(target).tally.connected(took);
    }

    /// Waits until a request to a target is to be sent; for ever once the load is over.
    pub(super) async fn begin(&self, target: usize) -> Begun {
        loop {
            if let Some(begun) = self.try_begin(target) {
                return begun;
            }
            self.changed.notified().await;
        }
    }

    fn try_begin(&self, target: usize) -> Option<Begun> {
        if self.shared.ended() {
            return None;
        }
        let now = self.now();
        let mut lanes = self.lanes.borrow_mut();
        if lanes.change_turn(now) {
            self.changed.notify_waiters();
        }
        let request = lanes.begin(target, now)?;
        Some(Begun {
            request,
            phase: self.phase.get(),
        })
    }

    /// Takes note that a request goes out now.
    pub(super) fn sends(&self, target: usize, begun: &mut Begun, now: u64) {
        let mut lanes = self.lanes.borrow_mut();
        lanes.of(target).sends(&mut begun.request, now);
    }

    /// Takes note that the server has not taken a request, which is to be sent again.
    pub(super) fn not_taken(&self, target: usize, begun: &mut Begun) {
        let mut lanes = self.lanes.borrow_mut();
        lanes.of(target).sends_again(&mut begun.request, self.now());
    }

    /// Counts an answer to a path, which came since the request was sent.
    pub(super) fn answered(
        &self,
        target: usize,
        begun: Begun,
        (path, answer): (usize, Answer),
        times: Times,
    ) {
        let fault = self.plan.servers[target].fault(path, answer);
        let mut lanes = self.lanes.borrow_mut();
        let request = self.ends(&mut lanes, target, begun, times.last_byte);
        match fault {
            None => lanes.count(target, answer, times, request.measured),
            Some(kind) => lanes.count_failure(target, kind, Some(request)),
        }
        drop(lanes);
        self.shared.finish_if_complete(times.last_byte);
    }

    /// Counts a failed request, or a connection that failed before there was one.
    pub(super) fn failed(&self, target: usize, kind: ErrorKind, begun: Option<Begun>) {
        let mut lanes = self.lanes.borrow_mut();
        let now = self.now();
        let request = begun.map(|begun| self.ends(&mut lanes, target, begun, now));
        lanes.count_failure(target, kind, request);
    }

    /// Ends a request. Where a number of answers is asked for, one that began before measuring is not among them.
    fn ends(&self, lanes: &mut Lanes, target: usize, begun: Begun, now: u64) -> Request {
        let mut request = begun.request;
        if self.plan.limited && begun.phase != self.phase.get() {
            request.measured = false;
        }
        lanes.of(target).ends(request, now);
        request
    }

    /// Ends the thread's part.
    pub(super) fn done(&self) -> Done {
        let mut lanes = self.lanes.borrow_mut();
        for (target, received) in self.received.iter().enumerate() {
            let bytes = usize::try_from(received.load(Ordering::Relaxed));
            lanes.of(target).tally.received(bytes.unwrap_or(usize::MAX));
        }
        let waiting = self.waiting.borrow();
        let since = waiting
            .iter()
            .filter_map(|&(target, since)| Some((target, since?)));
        lanes.done(since, self.now())
    }
}
