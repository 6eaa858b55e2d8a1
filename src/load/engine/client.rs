//! What a thread of the load does with its connections, whoever moves their bytes.
//!
//! It decides when a request is sent and on which connection, reads the answers and counts them. What moves the bytes
//! tells it what came and does what it says next; times are arguments, in nanoseconds of the load's clock.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use super::connection::{Connection, MILLISECOND, Request, State};
use super::lane::Lane;
use super::pace::{Pace, Part};
use super::plan::{Peer, Place, Plan};
use super::shared::Shared;
use super::tally::{Tally, Times};
use super::turns::Turns;
use crate::load::Schedule;
use crate::load::http1::{Answer, Malformed, Parser};
use crate::load::latency::nanoseconds;
use crate::outcome::ErrorKind;

/// Requests past their time are looked for at least this often.
const SWEEP: u64 = 50 * MILLISECOND;
/// A request that had no answer in the whole measured part and for so long is not merely slow.
const STARVED: u64 = 1000 * MILLISECOND;
/// How soon a server is asked again that had no room for a connection.
const ROOM: u64 = MILLISECOND / 2;

/// What is to be done next with a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Next {
    /// Nothing but to wait for what the server says.
    Await,
    /// Send what [`Client::outgoing`] returns.
    Send,
    /// Close its socket if it has one, and connect.
    Open,
    /// Close its socket.
    Close,
}

/// One thread's connections and what is done with them.
#[derive(Debug)]
pub(super) struct Client {
    plan: Arc<Plan>,
    shared: Arc<Shared>,
    thread: usize,
    connections: Vec<Connection>,
    /// By target.
    lanes: Vec<Lane>,
    /// Closed connections by the time at which they are to be looked at.
    waiting: BinaryHeap<Reverse<(u64, usize)>>,
    turn: Turn,
    phase: u32,
    measured_since: u64,
    next_sweep: u64,
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
#[derive(Debug)]
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

impl Client {
    /// Makes a thread's share of every target's connections, all of them to be opened at once.
    pub(super) fn new(plan: Arc<Plan>, shared: Arc<Shared>, thread: usize) -> io::Result<Self> {
        let lanes: io::Result<Vec<Lane>> = (0..plan.servers.len())
            .map(|target| lane(&plan, thread, target))
            .collect();
        let connections = connections(&plan, thread);
        let turns = match plan.schedule {
            Schedule::Together => None,
            Schedule::Slices { slice, seed } => {
                Some(Turns::new(plan.servers.len(), nanoseconds(slice), seed))
            }
        };
        Ok(Self {
            lanes: lanes?,
            waiting: (0..connections.len())
                .map(|index| Reverse((0, index)))
                .collect(),
            connections,
            turn: Turn {
                turns,
                target: 0,
                ends: u64::MAX,
            },
            phase: 0,
            measured_since: 0,
            next_sweep: 0,
            plan,
            shared,
            thread,
        })
    }

    /// Returns how many connections it has.
    pub(super) fn connections(&self) -> usize {
        self.connections.len()
    }

    /// Returns what a connection is doing.
    pub(super) fn state(&self, index: usize) -> State {
        self.connections[index].state
    }

    /// Returns where a connection goes.
    pub(super) fn peer(&self, index: usize) -> &Peer {
        &self.place(index).peer
    }

    fn place(&self, index: usize) -> &Place {
        let connection = &self.connections[index];
        &self.plan.servers[connection.target].places[connection.address]
    }

    /// Returns what is to be sent on a connection and is not sent.
    pub(super) fn outgoing(&self, index: usize) -> &[u8] {
        let connection = &self.connections[index];
        let script = &self.place(index).script;
        script.rest(connection.place, connection.requests.len(), connection.left)
    }

    /// Begins the load.
    pub(super) fn start(&mut self, now: u64) {
        self.measured_since = now;
        match &mut self.turn.turns {
            None => self.lanes.iter_mut().for_each(|lane| lane.resume(now)),
            Some(turns) => {
                (self.turn.target, self.turn.ends) = turns.at(now);
                self.lanes[self.turn.target].resume(now);
            }
        }
    }

    /// Begins to measure, if that was asked for.
    pub(super) fn notice_phase(&mut self, now: u64) {
        let phase = self.shared.phase();
        if phase == self.phase {
            return;
        }
        self.phase = phase;
        self.measured_since = now;
        let limit = self.plan.limited.then_some(phase);
        self.lanes
            .iter_mut()
            .for_each(|lane| lane.begin_phase(limit, now));
        if self.plan.limited || self.plan.rate.is_some() {
            let requests = self
                .connections
                .iter_mut()
                .flat_map(|connection| &mut connection.requests);
            requests.for_each(|request| request.measured = false);
        }
        self.shared.thread(self.thread).enter(phase);
    }

    /// Lets the next target have its turn once the last one's is over and all its requests are answered.
    pub(super) fn change_turn(&mut self, now: u64) {
        let Some(turns) = &mut self.turn.turns else {
            return;
        };
        if now < self.turn.ends {
            return;
        }
        let lane = &mut self.lanes[self.turn.target];
        let (target, ends) = turns.at(now);
        if target != self.turn.target {
            lane.pause(now);
            if lane.is_busy() {
                return;
            }
            lane.leave(now);
            self.lanes[target].resume(now);
            self.turn.target = target;
        }
        self.turn.ends = ends;
    }

    /// Returns when something is to be done even if no server says anything; `u64::MAX` if nobody knows.
    pub(super) fn next_due(&self) -> u64 {
        let waiting = self.waiting.peek().map(|Reverse((due, _))| *due);
        let due = self.lanes.iter().filter_map(Lane::next_due).chain(waiting);
        due.min().unwrap_or(u64::MAX).min(self.turn.ends)
    }

    /// Returns a connection whose time to be looked at has come, and what to do with it.
    pub(super) fn awake(&mut self, now: u64) -> Option<(usize, Next)> {
        let &Reverse((due, index)) = self.waiting.peek()?;
        if due > now {
            return None;
        }
        self.waiting.pop();
        let begun = self.begin(index, now);
        // A kept connection is opened before anyone needs it.
        if begun || self.plan.keep_alive {
            return Some((index, Next::Open));
        }
        self.connections[index].close(State::Closed);
        self.set_free(index);
        Some((index, Next::Close))
    }

    /// Returns an idle connection on which a request is to be sent now, and what to do with it.
    pub(super) fn dispatch(&mut self, now: u64) -> Option<(usize, Next)> {
        (0..self.lanes.len()).find_map(|target| self.dispatch_to(target, now))
    }

    fn dispatch_to(&mut self, target: usize, now: u64) -> Option<(usize, Next)> {
        while self.lanes[target].waits(now) {
            let index = self.lanes[target].free.pop_front()?;
            self.connections[index].free = false;
            let next = match self.connections[index].state {
                State::Open => Next::Send,
                State::Closed => Next::Open,
                // It comes back by itself.
                State::Resting | State::Queueing | State::Connecting => continue,
            };
            if self.begin(index, now) {
                return Some((index, next));
            }
            self.set_free(index);
            return None;
        }
        None
    }

    /// Begins as many requests on a connection as may be sent on it now, and returns whether any is to be sent.
    fn begin(&mut self, index: usize, now: u64) -> bool {
        let connection = &mut self.connections[index];
        let lane = &mut self.lanes[connection.target];
        while connection.requests.len() < self.plan.pipeline
            && let Some(mut request) = lane.begin(&self.shared, now)
        {
            if connection.state == State::Open {
                lane.sends(&mut request, now);
                let server = &self.plan.servers[connection.target];
                let script = &server.places[connection.address].script;
                connection.left += script.length(connection.place + connection.requests.len());
            }
            connection.requests.push_back(request);
        }
        !connection.requests.is_empty()
    }

    /// Begins the requests that follow the one just answered, and returns whether any is to be sent.
    ///
    /// Those of a given rate go to the connection that has been idle longest, at a time of their own.
    fn begin_at_once(&mut self, index: usize, now: u64) -> bool {
        if self.plan.rate.is_some() {
            return !self.connections[index].requests.is_empty();
        }
        self.begin(index, now)
    }

    fn set_free(&mut self, index: usize) {
        let connection = &mut self.connections[index];
        if !connection.free {
            connection.free = true;
            self.lanes[connection.target].free.push_back(index);
        }
    }

    /// Takes note that a connection is being opened.
    pub(super) fn connecting(&mut self, index: usize, now: u64) {
        let connection = &mut self.connections[index];
        let script = &self.plan.servers[connection.target].places[connection.address].script;
        connection.connecting(script, now);
    }

    /// Takes note that the server has no room for a connection, which is to be tried again a little later.
    pub(super) fn no_room(&mut self, index: usize, now: u64) -> Next {
        let connection = &mut self.connections[index];
        if now.saturating_sub(connection.since) >= self.plan.timeout {
            return self.fail(index, ErrorKind::Timeout, now);
        }
        connection.close(State::Queueing);
        self.waiting.push(Reverse((now + ROOM, index)));
        Next::Close
    }

    /// Takes note that a connection is established.
    pub(super) fn established(&mut self, index: usize, now: u64) {
        let connection = &mut self.connections[index];
        connection.state = State::Open;
        let lane = &mut self.lanes[connection.target];
        lane.tally.connected(now.saturating_sub(connection.since));
        for request in &mut connection.requests {
            lane.sends(request, now);
        }
        if connection.requests.is_empty() {
            self.set_free(index);
        }
    }

    /// Takes note that so many of the outgoing bytes are sent.
    pub(super) fn sent(&mut self, index: usize, bytes: usize) {
        self.connections[index].left -= bytes;
    }

    /// Makes what can be made of bytes that came.
    pub(super) fn received(&mut self, index: usize, mut bytes: &[u8], now: u64) -> Next {
        let target = self.connections[index].target;
        self.lanes[target].tally.received(bytes.len());
        while !bytes.is_empty() {
            let connection = &mut self.connections[index];
            if connection.requests.is_empty() {
                return self.fail(index, ErrorKind::Malformed, now);
            }
            connection.first_byte.get_or_insert(now);
            let (server, path) = (
                &self.plan.servers[target],
                self.plan.round[connection.place],
            );
            let whole = match connection.parser.feed(bytes, server.body(path)) {
                Ok(None) if server.is_much_too_long(path, connection.parser.least_length()) => {
                    return self.fail(index, ErrorKind::BadLength, now);
                }
                Ok(None) => break,
                Ok(Some(whole)) => whole,
                Err(Malformed) => return self.fail(index, ErrorKind::Malformed, now),
            };
            bytes = &bytes[whole.used..];
            if !bytes.is_empty() && connection.requests.len() == 1 {
                // More than was asked for leaves nothing to hold the next answer to.
                return self.fail(index, ErrorKind::Malformed, now);
            }
            if !self.answered(index, whole.answer, now) {
                return self.renew(index, now);
            }
        }
        self.go_on(index, now)
    }

    /// Sends the next requests where answers left room for them.
    fn go_on(&mut self, index: usize, now: u64) -> Next {
        if !self.begin_at_once(index, now) {
            self.set_free(index);
        }
        if self.connections[index].left > 0 {
            Next::Send
        } else {
            Next::Await
        }
    }

    /// Takes note that the server closed a connection.
    pub(super) fn closed(&mut self, index: usize, now: u64) -> Next {
        match self.connections[index].parser.finish() {
            Some(answer) => {
                self.answered(index, answer, now);
                self.renew(index, now)
            }
            None => self.lost(index, ErrorKind::Closed, now),
        }
    }

    /// Counts a whole answer and returns whether the connection may carry more.
    fn answered(&mut self, index: usize, answer: Answer, now: u64) -> bool {
        let connection = &mut self.connections[index];
        let (target, path) = (connection.target, self.plan.round[connection.place]);
        let server = &self.plan.servers[target];
        let script = &server.places[connection.address].script;
        let round = self.plan.round.len();
        // The server may answer before it has the whole request.
        let whole_request =
            connection.left == 0 || connection.left <= connection.after_first(script);
        let first_byte = connection.first_byte.unwrap_or(now);
        let Some(request) = connection.answered(round) else {
            return false;
        };
        self.lanes[target].ends(request, now);
        if let Some(kind) = server.fault(path, answer) {
            self.count_failure(target, kind, Some(request));
        } else {
            let times = Times {
                since: request.since().unwrap_or(now),
                first_byte,
                last_byte: now,
            };
            self.count(target, answer, times, request.measured);
        }
        self.plan.keep_alive && answer.keep_alive && whole_request
    }

    fn count(&mut self, target: usize, answer: Answer, times: Times, measured: bool) {
        if measured {
            let lane = &mut self.lanes[target];
            lane.tally.answered(answer, times);
            lane.answered(times.last_byte);
        }
        self.shared
            .thread(self.thread)
            .target(target)
            .answered(measured);
    }

    fn count_failure(&mut self, target: usize, kind: ErrorKind, request: Option<Request>) {
        let lane = &mut self.lanes[target];
        lane.tally.failed(kind);
        if let Some(request) = request {
            lane.failed(request);
        }
        self.shared.thread(self.thread).target(target).failed();
    }

    /// Takes note that a connection is gone, which need not be a failure.
    pub(super) fn lost(&mut self, index: usize, kind: ErrorKind, now: u64) -> Next {
        let connection = &mut self.connections[index];
        let idle = connection.requests.is_empty() && connection.state == State::Open;
        if idle {
            connection.close(State::Closed);
            return Next::Close;
        }
        if connection.was_idle(kind) && self.plan.may_send_again() {
            return self.renew(index, now);
        }
        let inside = kind == ErrorKind::Closed && connection.first_byte.is_some();
        self.fail(index, if inside { ErrorKind::Short } else { kind }, now)
    }

    /// Goes on with a new connection after the end of an old one, whose other requests the server did not take.
    fn renew(&mut self, index: usize, now: u64) -> Next {
        if self.plan.may_send_again() {
            let connection = &mut self.connections[index];
            let lane = &mut self.lanes[connection.target];
            lane.tally.sent_again(connection.requests.len());
            for request in &mut connection.requests {
                lane.sends_again(request, now);
            }
        } else {
            self.fail_requests(index, ErrorKind::Closed, now);
        }
        self.connections[index].close(State::Closed);
        if self.begin_at_once(index, now) {
            return Next::Open;
        }
        self.set_free(index);
        Next::Close
    }

    /// Counts what is under way on a connection as failed and closes it for a while.
    pub(super) fn fail(&mut self, index: usize, kind: ErrorKind, now: u64) -> Next {
        if self.connections[index].requests.is_empty() {
            self.count_failure(self.connections[index].target, kind, None);
        }
        self.fail_requests(index, kind, now);
        let connection = &mut self.connections[index];
        connection.close(State::Resting);
        // Without a pause, a server that fails at once would only show how fast the client can ask.
        let due = now + connection.next_delay();
        self.waiting.push(Reverse((due, index)));
        Next::Close
    }

    fn fail_requests(&mut self, index: usize, mut kind: ErrorKind, now: u64) {
        let target = self.connections[index].target;
        while let Some(request) = self.connections[index].pass(self.plan.round.len()) {
            self.lanes[target].ends(request, now);
            self.count_failure(target, kind, Some(request));
            if kind == ErrorKind::Short {
                // It was inside the first answer.
                kind = ErrorKind::Closed;
            }
        }
    }

    /// Returns whether it is time to look for requests that have waited too long for an answer.
    pub(super) fn is_sweep_due(&mut self, now: u64) -> bool {
        let due = now >= self.next_sweep;
        if due {
            self.next_sweep = now + (self.plan.timeout / 8).min(SWEEP);
        }
        due
    }

    /// Returns whether a connection has waited too long for the server.
    pub(super) fn is_late(&self, index: usize, now: u64) -> bool {
        let since = self.connections[index].waiting_since();
        since.is_some_and(|since| now.saturating_sub(since) >= self.plan.timeout)
            && self.connections[index].state != State::Queueing
    }

    /// Counts as timed out each request that was under way when measuring began and has had no answer since: a server
    /// that serves only some of its connections would look well otherwise.
    fn count_starved(&mut self, now: u64) {
        let oldest = self.measured_since.min(now.saturating_sub(STARVED));
        let starved = self.connections.iter().filter(|connection| {
            let since = connection.waiting_since();
            self.phase > 0 && since.is_some_and(|since| since < oldest)
        });
        let targets: Vec<usize> = starved.map(|connection| connection.target).collect();
        for target in targets {
            self.count_failure(target, ErrorKind::Timeout, None);
        }
    }

    /// Ends the thread's part.
    pub(super) fn done(mut self, now: u64) -> Done {
        let end = self.shared.finished_at().unwrap_or(now);
        self.count_starved(now);
        for lane in &mut self.lanes {
            lane.count_unsent(&self.shared, end);
        }
        let limited = self.plan.limited && self.phase > 0;
        let measured = |lane: Lane| Measured::of(lane, limited, (end, now));
        Done {
            parts: self.lanes.into_iter().map(measured).collect(),
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

fn part(plan: &Plan, thread: usize, target: usize) -> Part {
    Part {
        target,
        targets: plan.servers.len(),
        thread,
        threads: plan.threads,
        connections: plan.connections,
    }
}

fn lane(plan: &Plan, thread: usize, target: usize) -> io::Result<Lane> {
    let part = part(plan, thread, target);
    let pace = plan.rate.and_then(|rate| Pace::new(rate, part));
    Lane::new(target, pace, part.connections())
}

/// Makes a thread's connections, one of each target in turn, so that none is opened before the others.
fn connections(plan: &Plan, thread: usize) -> Vec<Connection> {
    let connection = |number: usize, target: usize| {
        let address = number % plan.servers[target].places.len();
        // Each begins at another place of the round, so that all paths are asked for at any time.
        let round = plan.round.len();
        let place = number * round / plan.connections % round;
        Connection::new(target, address, place, Parser::new(&plan.method))
    };
    (thread..plan.connections)
        .step_by(plan.threads)
        .flat_map(|number| (0..plan.servers.len()).map(move |target| (number, target)))
        .map(|(number, target)| connection(number, target))
        .collect()
}
