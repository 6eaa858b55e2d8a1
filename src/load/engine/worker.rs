//! One thread of the load: a closed loop over its share of every target's connections.
//!
//! An answer costs one read and one write. The poll is level-triggered and each ready connection is served once per
//! poll, so a short read needs no second one to see that nothing is left, and no target is served before another.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use rustix::event::{Timespec, epoll};
use rustix::io::Errno;
use rustix::net::{self, RecvFlags, SendFlags};
use rustix::time::{ClockId, clock_gettime};

use super::connection::{Connection, MILLISECOND, State};
use super::shared::{Shared, TargetCell};
use super::socket::{self, Sources};
use super::tally::{Tally, Times};
use crate::address::Address;
use crate::load::Expected;
use crate::load::http1::{Answer, Malformed, Whole};
use crate::load::latency::nanoseconds;
use crate::outcome::ErrorKind;

/// The longest sleep: how late a thread may notice that it is to measure or to end.
const TICK: u64 = 5 * MILLISECOND;
/// How old the reported CPU time may be.
const CPU_REPORT: u64 = 2 * MILLISECOND;
/// Requests past their time are looked for at least this often.
const SWEEP: u64 = 50 * MILLISECOND;
/// A request that had no answer in the whole measured part and for so long is not merely slow.
const STARVED: u64 = 1000 * MILLISECOND;
/// The most bytes of one read.
const READ: usize = 64 * 1024;

/// What a thread is to do.
#[derive(Debug, Clone)]
pub(crate) struct Plan {
    /// The servers.
    pub(crate) servers: Vec<Server>,
    /// The method of the requests.
    pub(crate) method: String,
    /// Whether a connection carries many requests.
    pub(crate) keep_alive: bool,
    /// The longest wait for one answer.
    pub(crate) timeout: Duration,
    /// The zero of the load's clock.
    pub(crate) began: Instant,
}

/// What is sent to a server and expected of it.
#[derive(Debug, Clone)]
pub(crate) struct Server {
    /// Where it listens; connections go to several addresses in turn.
    pub(crate) addresses: Vec<Address>,
    /// The request's bytes.
    pub(crate) request: Vec<u8>,
    /// The status that every answer must have.
    pub(crate) status: u16,
    /// What every answer must be.
    pub(crate) expected: Expected,
}

impl Server {
    /// Returns what is wrong with an answer.
    fn fault(&self, answer: Answer) -> Option<ErrorKind> {
        if answer.status != self.status {
            return Some(ErrorKind::BadStatus);
        }
        let of_body = |body: &Bytes| body.len() as u64;
        let length = self.expected.length;
        let length = length.or_else(|| self.expected.body.as_ref().map(of_body));
        if length.is_some_and(|length| length != answer.body_length) {
            return Some(ErrorKind::BadLength);
        }
        (!answer.body_right).then_some(ErrorKind::BadBody)
    }
}

/// What a thread gives back at its end.
#[derive(Debug)]
pub(crate) struct Done {
    /// Length of the thread's measured part, s.
    pub(crate) seconds: f64,
    /// What it has seen of each target.
    pub(crate) tallies: Vec<Tally>,
}

/// One thread's whole state. Times are nanoseconds of the load's clock.
#[derive(Debug)]
pub(crate) struct Worker {
    plan: Plan,
    shared: Arc<Shared>,
    /// Which of the threads it is.
    thread: usize,
    tallies: Vec<Tally>,
    connections: Vec<Connection>,
    /// Closed connections by the time at which they are to be opened.
    waiting: BinaryHeap<Reverse<(u64, usize)>>,
    sources: Sources,
    epoll: OwnedFd,
    buffer: Vec<u8>,
    phase: u32,
    measured_since: u64,
    timeout: u64,
    next_sweep: u64,
    next_cpu_report: u64,
}

impl Worker {
    /// Makes a thread's state with so many connections to each target.
    pub(crate) fn new(
        plan: Plan,
        shared: Arc<Shared>,
        thread: usize,
        connections: usize,
    ) -> io::Result<Self> {
        let targets = plan.servers.len();
        // One of each target in turn, so that none is opened before the others.
        let connections: Vec<_> = (0..connections * targets)
            .map(|place| Connection::new(place % targets, &plan.method))
            .collect();
        let timeout = nanoseconds(plan.timeout);
        let tallies: io::Result<_> = plan.servers.iter().map(|_| Tally::new()).collect();
        let at_once = (0..connections.len()).map(|index| Reverse((0, index)));
        Ok(Self {
            shared,
            thread,
            tallies: tallies?,
            waiting: at_once.collect(),
            sources: Sources::new(thread),
            epoll: epoll::create(epoll::CreateFlags::CLOEXEC)?,
            buffer: vec![0; READ],
            phase: 0,
            measured_since: 0,
            timeout,
            next_sweep: 0,
            next_cpu_report: 0,
            connections,
            plan,
        })
    }

    /// Loads the targets until the load ends.
    pub(crate) fn run(mut self) -> Done {
        self.measured_since = self.now();
        let mut events = no_events(self.connections.len());
        while !self.shared.ended() {
            self.turn(&mut events);
        }
        self.done()
    }

    /// Ends the thread's part.
    pub(crate) fn done(mut self) -> Done {
        let now = self.now();
        self.shared.thread(self.thread).report_cpu(own_cpu());
        let end = self.shared.finished_at().unwrap_or(now);
        self.count_starved();
        Done {
            seconds: Duration::from_nanos(end.saturating_sub(self.measured_since)).as_secs_f64(),
            tallies: self.tallies,
        }
    }

    /// Counts as timed out each request that was under way when measuring began and has had no answer since: a server
    /// that serves only some of its connections would look well otherwise.
    fn count_starved(&mut self) {
        let oldest = self.measured_since.min(self.now().saturating_sub(STARVED));
        let measuring = self.phase > 0;
        let starved = self.connections.iter().filter(|connection| {
            measuring && connection.state != State::Waiting && connection.since < oldest
        });
        let targets: Vec<usize> = starved.map(|connection| connection.target).collect();
        for target in targets {
            self.count_failure(target, ErrorKind::Timeout);
        }
    }

    fn now(&self) -> u64 {
        nanoseconds(self.plan.began.elapsed())
    }

    /// Serves every ready connection once, then does what is due.
    fn turn(&mut self, events: &mut [epoll::Event]) {
        let ready = self.wait(events);
        self.notice_phase();
        for event in &events[..ready] {
            if let Ok(index) = usize::try_from(event.data.u64()) {
                self.serve(index, event.flags);
            }
        }
        let now = self.now();
        self.open_due(now);
        self.time_out(now);
        self.report_cpu(now);
        self.shared.finish_if_complete(now);
    }

    /// Waits for ready connections or the next thing due, and returns how many are ready.
    fn wait(&self, events: &mut [epoll::Event]) -> usize {
        let due = self
            .waiting
            .peek()
            .map_or(u64::MAX, |Reverse((due, _))| *due);
        let sleep = TICK.min(due.saturating_sub(self.now()));
        let sleep = Timespec {
            tv_sec: 0,
            tv_nsec: i64::try_from(sleep).unwrap_or(0),
        };
        // Nothing but a signal can end it early, and then the next turn comes at once.
        epoll::wait(&self.epoll, events, Some(&sleep)).unwrap_or(0)
    }

    fn notice_phase(&mut self) {
        let phase = self.shared.phase();
        if phase == self.phase {
            return;
        }
        self.phase = phase;
        self.tallies.iter_mut().for_each(Tally::begin_measuring);
        self.shared.thread(self.thread).enter(phase);
        self.measured_since = self.now();
    }

    fn serve(&mut self, index: usize, flags: epoll::EventFlags) {
        match self.connections[index].state {
            State::Waiting => {}
            State::Connecting => self.transmit(index),
            State::Open if flags == epoll::EventFlags::OUT => self.transmit(index),
            State::Open => self.receive(index),
        }
    }

    fn open_due(&mut self, now: u64) {
        while let Some(&Reverse((due, index))) = self.waiting.peek()
            && due <= now
        {
            self.waiting.pop();
            self.open(index);
        }
    }

    /// Fails the requests that have waited too long for an answer.
    fn time_out(&mut self, now: u64) {
        if now < self.next_sweep {
            return;
        }
        self.next_sweep = now + (self.timeout / 8).min(SWEEP);
        for index in 0..self.connections.len() {
            let connection = &self.connections[index];
            let waited = now.saturating_sub(connection.since);
            if connection.state != State::Waiting && waited >= self.timeout {
                self.fail(index, ErrorKind::Timeout);
            }
        }
    }

    fn report_cpu(&mut self, now: u64) {
        if now >= self.next_cpu_report {
            self.next_cpu_report = now + CPU_REPORT;
            self.shared.thread(self.thread).report_cpu(own_cpu());
        }
    }

    /// Begins to connect.
    fn open(&mut self, index: usize) {
        let now = self.now();
        let connection = &mut self.connections[index];
        let address = &self.plan.servers[connection.target].addresses[0];
        let Address::Tcp(address) = *address else {
            return self.fail(index, ErrorKind::Client);
        };
        match socket::connect(address, self.sources.next(address)) {
            Ok(socket) => {
                connection.connecting(socket, now);
                // Over loopback it is established by now, which saves asking the poll.
                self.transmit(index);
            }
            Err(errno) => self.fail(index, socket::kind_of(errno)),
        }
    }

    /// Tells the poll what to look for on a connection, where that changes.
    fn look_for(&mut self, index: usize, interest: epoll::EventFlags) {
        let connection = &mut self.connections[index];
        let Some(socket) = &connection.socket else {
            return;
        };
        if connection.interest == interest {
            return;
        }
        let data = epoll::EventData::new_u64(index as u64);
        let told = if connection.interest.is_empty() {
            epoll::add(&self.epoll, socket, data, interest)
        } else {
            epoll::modify(&self.epoll, socket, data, interest)
        };
        connection.interest = interest;
        if told.is_err() {
            self.fail(index, ErrorKind::Client);
        }
    }

    /// Sends the next request on an open connection.
    fn send(&mut self, index: usize, now: u64) {
        self.connections[index].begin_request(now);
        self.transmit(index);
    }

    /// Sends what is left of a request as far as the socket takes it, which is not at all before it is established.
    fn transmit(&mut self, index: usize) {
        let connecting = self.connections[index].state == State::Connecting;
        let established = connecting.then(|| self.now());
        let connection = &mut self.connections[index];
        let Some(socket) = &connection.socket else {
            return;
        };
        let request = &self.plan.servers[connection.target].request;
        match net::send(socket, &request[connection.sent..], SendFlags::NOSIGNAL) {
            Ok(length) => {
                if let Some(now) = established {
                    self.tallies[connection.target].connected(now.saturating_sub(connection.since));
                    connection.begin_request(now);
                }
                connection.sent += length;
            }
            Err(Errno::AGAIN | Errno::INTR) => {}
            Err(errno) => return self.lose(index, socket::kind_of(errno)),
        }
        let whole = connection.sent == request.len();
        let interest = connection.state.interest(whole);
        self.look_for(index, interest);
    }

    /// Reads once.
    fn receive(&mut self, index: usize) {
        let connection = &mut self.connections[index];
        let Some(socket) = &connection.socket else {
            return;
        };
        match net::recv(socket, &mut self.buffer[..], RecvFlags::empty()) {
            Ok((0, _)) => self.closed(index),
            Ok((length, _)) => self.received(index, length),
            Err(Errno::AGAIN | Errno::INTR) => {}
            Err(errno) => self.lose(index, socket::kind_of(errno)),
        }
    }

    /// Makes what can be made of the bytes just read.
    fn received(&mut self, index: usize, length: usize) {
        let now = self.now();
        let connection = &mut self.connections[index];
        connection.first_byte.get_or_insert(now);
        self.tallies[connection.target].received(length);
        let expected = self.plan.servers[connection.target]
            .expected
            .body
            .as_deref();
        match connection.parser.feed(&self.buffer[..length], expected) {
            Ok(None) => {}
            Ok(Some(Whole { answer, used })) if used == length => self.answered(index, answer, now),
            // More than was asked for leaves nothing to hold the next answer to.
            Ok(Some(_)) | Err(Malformed) => self.fail(index, ErrorKind::Malformed),
        }
    }

    /// Takes note that the server closed the connection.
    fn closed(&mut self, index: usize) {
        let now = self.now();
        match self.connections[index].parser.finish() {
            Some(answer) => self.answered(index, answer, now),
            None if self.connections[index].first_byte.is_some() => {
                self.fail(index, ErrorKind::Short);
            }
            None => self.lose(index, ErrorKind::Closed),
        }
    }

    /// Counts a whole answer and sends the next request.
    fn answered(&mut self, index: usize, answer: Answer, now: u64) {
        let connection = &mut self.connections[index];
        connection.forget_failures();
        let server = &self.plan.servers[connection.target];
        let whole_request = connection.sent == server.request.len();
        let fault = server.fault(answer);
        let times = Times {
            sent: connection.since,
            first_byte: connection.first_byte.unwrap_or(now),
            last_byte: now,
        };
        self.count(index, answer, times, fault);
        if self.plan.keep_alive && answer.keep_alive && whole_request {
            self.connections[index].reused = true;
            self.send(index, now);
        } else {
            self.connections[index].close();
            self.open(index);
        }
    }

    fn count(&mut self, index: usize, answer: Answer, times: Times, fault: Option<ErrorKind>) {
        let target = self.connections[index].target;
        match fault {
            None => {
                self.tallies[target].answered(answer, times);
                self.cell(target).answered();
            }
            Some(kind) => self.count_failure(target, kind),
        }
    }

    fn count_failure(&mut self, target: usize, kind: ErrorKind) {
        self.tallies[target].failed(kind);
        self.cell(target).failed();
    }

    fn cell(&self, target: usize) -> &TargetCell {
        self.shared.thread(self.thread).target(target)
    }

    /// Takes note that the connection is gone, which need not be a failure.
    fn lose(&mut self, index: usize, kind: ErrorKind) {
        let resendable = matches!(
            self.plan.method.as_str(),
            "GET" | "HEAD" | "OPTIONS" | "PUT" | "DELETE"
        );
        if resendable && self.connections[index].was_idle(kind) {
            self.tallies[self.connections[index].target].sent_again();
            self.connections[index].close();
            self.open(index);
        } else {
            self.fail(index, kind);
        }
    }

    /// Counts a failed request and closes its connection for a while.
    fn fail(&mut self, index: usize, kind: ErrorKind) {
        self.count_failure(self.connections[index].target, kind);
        self.connections[index].close();
        // Without a pause, a server that fails at once would only show how fast the client can ask.
        let due = self.now() + self.connections[index].next_delay();
        self.waiting.push(Reverse((due, index)));
    }
}

/// Returns the CPU time of the calling thread in nanoseconds.
fn own_cpu() -> u64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    let time = Duration::try_from(time).unwrap_or_default();
    nanoseconds(time)
}

/// Returns room for the events of so many connections; the poll refuses to have none.
fn no_events(connections: usize) -> Vec<epoll::Event> {
    let nothing = epoll::Event {
        flags: epoll::EventFlags::empty(),
        data: epoll::EventData::new_u64(0),
    };
    vec![nothing; connections.max(1)]
}
