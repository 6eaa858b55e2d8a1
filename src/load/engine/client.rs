//! What a thread of the load does with its connections, whoever moves their bytes.
//!
//! It decides when a request is sent and on which connection, reads the answers and counts them. What moves the bytes
//! tells it what came and does what it says next; times are arguments, in nanoseconds of the load's clock.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io;
use std::sync::Arc;

use super::connection::{Connection, MILLISECOND, State};
use super::lanes::{Done, Lanes};
use super::plan::{Peer, Place, Plan, Post};
use super::shared::Shared;
use super::tally::Times;
use crate::address::Address;
use crate::load::http1::{Answer, Malformed, Parser};
use crate::outcome::ErrorKind;

/// Requests past their time are looked for at least this often.
const SWEEP: u64 = 50 * MILLISECOND;
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
    connections: Vec<Connection>,
    lanes: Lanes,
    /// Closed connections by the time at which they are to be looked at.
    waiting: BinaryHeap<Reverse<(u64, usize)>>,
    next_sweep: u64,
}

impl Client {
    /// Makes a thread's share of every target's connections, all of them to be opened at once.
    pub(super) fn new(plan: Arc<Plan>, shared: Arc<Shared>, thread: usize) -> io::Result<Self> {
        let connections = connections(&plan, thread);
        Ok(Self {
            lanes: Lanes::new(Arc::clone(&plan), shared, thread)?,
            waiting: (0..connections.len())
                .map(|index| Reverse((0, index)))
                .collect(),
            connections,
            next_sweep: 0,
            plan,
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

    /// Returns the address of the server that a connection goes to.
    pub(super) fn address(&self, index: usize) -> &Address {
        &self.place(index).address
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
        self.lanes.start(now);
    }

    /// Begins to measure, if that was asked for.
    pub(super) fn notice_phase(&mut self, now: u64) {
        if self.lanes.notice_phase(now) && (self.plan.limited || self.plan.rate.is_some()) {
            let connections = self.connections.iter_mut();
            let requests = connections.flat_map(|connection| &mut connection.requests);
            requests.for_each(|request| request.measured = false);
        }
    }

    /// Lets the next target have its turn once the last one's is over and all its requests are answered.
    pub(super) fn change_turn(&mut self, now: u64) {
        self.lanes.change_turn(now);
    }

    /// Returns when something is to be done even if no server says anything; `u64::MAX` if nobody knows.
    pub(super) fn next_due(&self) -> u64 {
        let waiting = self.waiting.peek().map(|Reverse((due, _))| *due);
        waiting.unwrap_or(u64::MAX).min(self.lanes.next_due())
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
        (0..self.plan.servers.len()).find_map(|target| self.dispatch_to(target, now))
    }

    fn dispatch_to(&mut self, target: usize, now: u64) -> Option<(usize, Next)> {
        while self.lanes.of(target).waits(now) {
            let index = self.lanes.of(target).free.pop_front()?;
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
        while connection.requests.len() < self.plan.pipeline
            && let Some(mut request) = self.lanes.begin(connection.target, now)
        {
            if connection.state == State::Open {
                self.lanes.of(connection.target).sends(&mut request, now);
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
            self.lanes.of(connection.target).free.push_back(index);
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
        let lane = self.lanes.of(connection.target);
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
        self.lanes.of(target).tally.received(bytes.len());
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
        self.lanes.of(target).ends(request, now);
        if let Some(kind) = server.fault(path, answer) {
            self.lanes.count_failure(target, kind, Some(request));
        } else {
            let times = Times {
                since: request.since().unwrap_or(now),
                first_byte,
                last_byte: now,
            };
            self.lanes.count(target, answer, times, request.measured);
        }
        self.plan.keep_alive && answer.keep_alive && whole_request
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
            let lane = self.lanes.of(connection.target);
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
            self.lanes
                .count_failure(self.connections[index].target, kind, None);
        }
        self.fail_requests(index, kind, now);
        let connection = &mut self.connections[index];
        connection.close(State::Resting);
        // Without a pause, a server that fails at once would only show how fast the client can ask.
        let due = now + connection.delay.next();
        self.waiting.push(Reverse((due, index)));
        Next::Close
    }

    fn fail_requests(&mut self, index: usize, mut kind: ErrorKind, now: u64) {
        let target = self.connections[index].target;
        while let Some(request) = self.connections[index].pass(self.plan.round.len()) {
            self.lanes.of(target).ends(request, now);
            self.lanes.count_failure(target, kind, Some(request));
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

    /// Ends the thread's part.
    pub(super) fn done(mut self, now: u64) -> Done {
        let since =
            |connection: &Connection| Some((connection.target, connection.waiting_since()?));
        self.lanes
            .done(self.connections.iter().filter_map(since), now)
    }
}

fn connections(plan: &Plan, thread: usize) -> Vec<Connection> {
    let connection = |post: Post| {
        let parser = Parser::new(&plan.method);
        Connection::new(post.target, post.address, post.place, parser)
    };
    plan.posts(thread).into_iter().map(connection).collect()
}
