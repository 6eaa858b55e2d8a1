//! One thread's part in the load of one target: when it may send, and what came of it.

use std::collections::VecDeque;
use std::io;

use super::connection::Request;
use super::pace::Pace;
use super::shared::Shared;
use super::tally::Tally;

/// One thread's part in the load of one target. Times are nanoseconds of the load's clock.
#[derive(Debug)]
pub(super) struct Lane {
    /// What came of it.
    pub(super) tally: Tally,
    /// Connections on which nothing is under way, the longest idle first. Some may have closed since.
    pub(super) free: VecDeque<usize>,
    target: usize,
    /// When requests are due; none in a closed loop.
    pace: Option<Pace>,
    permits: Permits,
    /// Requests begun and not ended.
    busy: usize,
    clock: Clock,
}

/// How long a target has been the loaded one in the measured part.
#[derive(Debug, Clone, Copy, Default)]
struct Clock {
    /// Whether requests may be sent.
    sending: bool,
    /// Since when it has been the loaded one; none while it is not.
    since: Option<u64>,
    /// How long it was in earlier turns.
    before: u64,
    /// When the last turn's sending ended.
    paused: u64,
    /// How long it had been at the last measured answer.
    at_answer: u64,
}

/// Leave to send requests that count, where a number of answers is asked for.
#[derive(Debug, Clone, Copy, Default)]
struct Permits {
    /// The phase in which they are needed; none while every request counts.
    phase: Option<u32>,
    held: u64,
}

impl Lane {
    /// Makes the part in a target's load, with as many connections.
    pub(super) fn new(target: usize, pace: Option<Pace>, connections: usize) -> io::Result<Self> {
        Ok(Self {
            tally: Tally::new()?,
            free: VecDeque::with_capacity(connections),
            target,
            pace,
            permits: Permits::default(),
            busy: 0,
            clock: Clock::default(),
        })
    }

    /// Begins a phase. With `phase` a number of answers is asked for in it.
    ///
    /// A schedule begins anew: what the server owes from before is not measured.
    pub(super) fn begin_phase(&mut self, phase: Option<u32>, now: u64) {
        self.tally.begin_measuring(now);
        self.permits = Permits { phase, held: 0 };
        if let Some(pace) = &mut self.pace {
            pace.start(now);
        }
        self.clock.since = self.clock.since.map(|_| now);
        self.clock.paused = now;
        self.clock.before = 0;
        self.clock.at_answer = 0;
    }

    /// Makes the target the loaded one.
    pub(super) fn resume(&mut self, now: u64) {
        if let Some(pace) = &mut self.pace {
            pace.put_off(now.saturating_sub(self.clock.paused));
        }
        self.clock.sending = true;
        self.clock.since = Some(now);
    }

    /// Sends no more. The target stays the loaded one until all is answered.
    pub(super) fn pause(&mut self, now: u64) {
        if self.clock.sending {
            self.clock.sending = false;
            self.clock.paused = now;
        }
    }

    /// Ends the target's turn.
    pub(super) fn leave(&mut self, now: u64) {
        self.clock.before = self.loaded(now);
        self.clock.since = None;
    }

    /// Returns for how long the target has been the loaded one since measuring began.
    pub(super) fn loaded(&self, now: u64) -> u64 {
        let turn = self
            .clock
            .since
            .map_or(0, |since| now.saturating_sub(since));
        self.clock.before + turn
    }

    /// Returns for how long it had been so at the last answer that counts.
    pub(super) fn loaded_at_answer(&self) -> u64 {
        self.clock.at_answer
    }

    /// Returns whether any request is under way.
    pub(super) fn is_busy(&self) -> bool {
        self.busy > 0
    }

    /// Returns when the next request may be sent, if a connection is free; none if nobody knows.
    pub(super) fn next_due(&self) -> Option<u64> {
        let pace = self.pace.as_ref().filter(|_| self.clock.sending);
        pace.filter(|_| !self.free.is_empty()).map(Pace::due)
    }

    /// Returns whether it may be that a request is to be sent now on a free connection.
    pub(super) fn waits(&self, now: u64) -> bool {
        let due = |pace: &Pace| pace.due() <= now;
        self.clock.sending && !self.free.is_empty() && self.pace.as_ref().is_none_or(due)
    }

    /// Begins a request if one is to be sent now.
    pub(super) fn begin(&mut self, shared: &Shared, now: u64) -> Option<Request> {
        let due = |pace: &Pace| pace.due() <= now;
        if !self.clock.sending || !self.pace.as_ref().is_none_or(due) {
            return None;
        }
        let measured = self.permits.take(shared, self.target)?;
        let due = self.pace.as_mut().map(Pace::advance);
        if let Some(due) = due {
            self.tally.begins(due);
        }
        self.busy += 1;
        Some(Request {
            due,
            sent: None,
            measured,
        })
    }

    /// Takes note that a request goes out now.
    pub(super) fn sends(&mut self, request: &mut Request, now: u64) {
        if request.sent.is_some() {
            return;
        }
        request.sent = Some(now);
        match request.due {
            Some(due) => self.tally.late(now.saturating_sub(due)),
            None => self.tally.begins(now),
        }
    }

    /// Takes note that a request is to be sent again. One of a given rate stays due from when it was.
    pub(super) fn sends_again(&mut self, request: &mut Request, now: u64) {
        if request.due.is_none() && request.sent.take().is_some() {
            self.tally.ends(now);
        }
    }

    /// Takes note that a request has its answer, or that it failed.
    pub(super) fn ends(&mut self, request: Request, now: u64) {
        self.busy -= 1;
        if request.since().is_some() {
            self.tally.ends(now);
        }
    }

    /// Takes note that a request that counts was answered well.
    pub(super) fn answered(&mut self, now: u64) {
        if self.permits.phase.is_some() {
            self.clock.at_answer = self.loaded(now);
        }
    }

    /// Gives the leave of a failed request to another one.
    pub(super) fn failed(&mut self, request: Request) {
        if self.permits.phase.is_some() && request.measured {
            self.permits.held += 1;
        }
    }

    /// Counts what was due before the end and was not sent.
    pub(super) fn count_unsent(&mut self, shared: &Shared, end: u64) {
        let Some(pace) = &mut self.pace else {
            return;
        };
        let end = if self.clock.sending {
            end
        } else {
            self.clock.paused.min(end)
        };
        while pace.due() <= end && self.permits.take(shared, self.target) == Some(true) {
            self.tally.unsent(pace.advance());
        }
    }
}

impl Permits {
    /// Takes leave to send a request: whether it counts, or none if no more are to be sent.
    ///
    /// A target that has its answers before the others goes on being loaded, or they would have it easier.
    fn take(&mut self, shared: &Shared, target: usize) -> Option<bool> {
        let Some(phase) = self.phase else {
            return Some(true);
        };
        if self.held == 0 {
            self.held = shared.take(target, phase);
        }
        if self.held > 0 {
            self.held -= 1;
            return Some(true);
        }
        shared.some_left(phase).then_some(false)
    }
}
