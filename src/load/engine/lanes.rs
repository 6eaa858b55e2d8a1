//! One thread's part in the load of all targets: whose turn it is, when measuring began, and what came of it.

use std::io;
use std::mem::take;
use std::sync::Arc;
use std::time::Duration;

use super::connection::Request;
use super::lane::Lane;
use super::pace::{Pace, Part};
use super::plan::Plan;
use super::shared::Shared;
use super::tally::{Tally, Times};
use super::turns::Turns;
use crate::load::Schedule;
use crate::load::http1::Answer;
use crate::load::latency::nanoseconds;
use crate::outcome::ErrorKind;

/// A request that had no answer in the whole measured part and for so long is not merely slow.
const STARVED: u64 = 1_000_000_000;

/// One thread's part in the load of all targets. Times are nanoseconds of the load's clock.
#[derive(Debug)]
pub(super) struct Lanes {
    plan: Arc<Plan>,
    shared: Arc<Shared>,
    thread: usize,
    by_target: Vec<Lane>,
    turn: Turn,
    phase: u32,
    measured_since: u64,
}

/// Whose turn it is.
#[derive(Debug)]
struct Turn {
    /// None where all are loaded at once.
    turns: Option<Turns>,
    target: usize,
    /// When it is the next one's.
    ends: u64,
}

/// What a thread gives back at its end.
#[derive(Debug, Default)]
pub(crate) struct Done {
    /// By target.
    pub(crate) parts: Vec<Measured>,
}

/// What a thread has measured of a target.
#[derive(Debug)]
pub(crate) struct Measured {
    /// What it has seen.
    pub(crate) tally: Tally,
    /// For how long the target was loaded, s; until its last answer where a number of answers is asked for.
    pub(crate) seconds: f64,
    /// Requests under way on average.
    pub(crate) in_flight: f64,
}

impl Lanes {
    /// Makes a thread's part.
    pub(super) fn new(plan: Arc<Plan>, shared: Arc<Shared>, thread: usize) -> io::Result<Self> {
        let lanes = (0..plan.servers.len()).map(|target| lane(&plan, thread, target));
        let lanes: io::Result<Vec<Lane>> = lanes.collect();
        let turns = match plan.schedule {
            Schedule::Together => None,
            Schedule::Slices { slice, seed } => {
                Some(Turns::new(plan.servers.len(), nanoseconds(slice), seed))
            }
        };
        Ok(Self {
            by_target: lanes?,
            turn: Turn {
                turns,
                target: 0,
                ends: u64::MAX,
            },
            phase: 0,
            measured_since: 0,
            plan,
            shared,
            thread,
        })
    }

    /// Returns the part in one target's load.
    pub(super) fn of(&mut self, target: usize) -> &mut Lane {
        &mut self.by_target[target]
    }

    /// Begins a request to a target if one is to be sent now.
    pub(super) fn begin(&mut self, target: usize, now: u64) -> Option<Request> {
        self.by_target[target].begin(&self.shared, now)
    }

    /// Returns when a turn ends or a request of a given rate may be sent; `u64::MAX` if nobody knows.
    pub(super) fn next_due(&self) -> u64 {
        let due = self.by_target.iter().filter_map(Lane::next_due);
        due.min().unwrap_or(u64::MAX).min(self.turn.ends)
    }

    /// Begins the load.
    pub(super) fn start(&mut self, now: u64) {
        self.measured_since = now;
        match &mut self.turn.turns {
            None => self.by_target.iter_mut().for_each(|lane| lane.resume(now)),
            Some(turns) => {
                (self.turn.target, self.turn.ends) = turns.at(now);
                self.by_target[self.turn.target].resume(now);
            }
        }
    }

    /// Begins to measure, if that was asked for, and returns whether it was.
    pub(super) fn notice_phase(&mut self, now: u64) -> bool {
        let phase = self.shared.phase();
        if phase == self.phase {
            return false;
        }
        self.phase = phase;
        self.measured_since = now;
        let limit = self.plan.limited.then_some(phase);
        for lane in &mut self.by_target {
            lane.begin_phase(limit, now);
        }
        self.shared.thread(self.thread).enter(phase);
        true
    }

    /// Lets the next target have its turn once the last one's is over and all its requests are answered, and returns whether
    /// a turn began.
    pub(super) fn change_turn(&mut self, now: u64) -> bool {
        let Some(turns) = &mut self.turn.turns else {
            return false;
        };
        if now < self.turn.ends {
            return false;
        }
        let lane = &mut self.by_target[self.turn.target];
        let (target, ends) = turns.at(now);
        if target != self.turn.target {
            lane.pause(now);
            if lane.is_busy() {
                return false;
            }
            lane.leave(now);
            self.by_target[target].resume(now);
            self.turn.target = target;
        }
        self.turn.ends = ends;
        true
    }

    /// Counts a right answer, which may belong to the measured part.
    pub(super) fn count(&mut self, target: usize, answer: Answer, times: Times, measured: bool) {
        if measured {
            let lane = &mut self.by_target[target];
            lane.tally.answered(answer, times);
            lane.answered(times.last_byte);
        }
        let cell = self.shared.thread(self.thread).target(target);
        cell.answered(measured);
    }

    /// Counts a failed request, or a connection that failed before there was one.
    pub(super) fn count_failure(
        &mut self,
        target: usize,
        kind: ErrorKind,
        request: Option<Request>,
    ) {
        let lane = &mut self.by_target[target];
        lane.tally.failed(kind);
        if let Some(request) = request {
            lane.failed(request);
        }
        self.shared.thread(self.thread).target(target).failed();
    }

    /// Counts as timed out each request that was under way when measuring began and has had no answer since, given the
    /// targets and beginnings of those under way: a server that serves only some of its connections would look well
    /// otherwise.
    fn count_starved(&mut self, under_way: impl Iterator<Item = (usize, u64)>, now: u64) {
        let oldest = self.measured_since.min(now.saturating_sub(STARVED));
        for (target, since) in under_way {
            if self.phase > 0 && since < oldest {
                self.count_failure(target, ErrorKind::Timeout, None);
            }
        }
    }

    /// Ends the thread's part, given the targets and beginnings of the requests that are under way.
    pub(super) fn done(&mut self, under_way: impl Iterator<Item = (usize, u64)>, now: u64) -> Done {
        let end = self.shared.finished_at().unwrap_or(now);
        self.count_starved(under_way, now);
        for lane in &mut self.by_target {
            lane.count_unsent(&self.shared, end);
        }
        let limited = self.plan.limited && self.phase > 0;
        let measured = |lane: Lane| Measured::of(lane, limited, (end, now));
        Done {
            parts: take(&mut self.by_target)
                .into_iter()
                .map(measured)
                .collect(),
        }
    }
}

impl Measured {
    /// Makes what was measured until `end`, of a lane that goes on until `now`.
    fn of(lane: Lane, limited: bool, (end, now): (u64, u64)) -> Self {
        let loaded = if limited {
            lane.loaded_at_answer()
        } else {
            lane.loaded(end)
        };
        let seconds = |time: u64| Duration::from_nanos(time).as_secs_f64();
        Self {
            in_flight: seconds(lane.tally.flow(now)) / seconds(lane.loaded(now).max(1)),
            seconds: seconds(loaded),
            tally: lane.tally,
        }
    }
}

fn lane(plan: &Plan, thread: usize, target: usize) -> io::Result<Lane> {
    let part = Part {
        target,
        targets: plan.servers.len(),
        thread,
        threads: plan.threads,
        connections: plan.connections,
    };
    let pace = plan.rate.and_then(|rate| Pace::new(rate, part));
    Lane::new(target, pace, part.connections())
}
