//! One thread of the load that moves bytes with epoll.
//!
//! An answer costs one read and one write. The poll is level-triggered and each ready connection is served once per
//! poll, so a short read needs no second one to see that nothing is left, and no target is served before another.
//!
//! The clock is read once per poll, right after it: what is ready then has come by then, and in a closed loop the next
//! request counts from there as well. Where a rate is given it is read again for each request that is sent.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Instant;

use rustix::event::{Timespec, epoll};
use rustix::io::Errno;
use rustix::net::{self, RecvFlags, SendFlags, sockopt};
use rustls::ClientConfig;

use super::alarm::Alarm;
use super::client::{Client, Next};
use super::connection::{MILLISECOND, State};
use super::gauge::Gauge;
use super::lanes::Done;
use super::plan::{Peer, Plan};
use super::session::{ROOM, Session};
use super::shared::Shared;
use super::socket::{self, Sources};
use crate::load::latency::nanoseconds;
use crate::outcome::ErrorKind;

/// What moves the bytes.
pub(super) const NAME: &str = "epoll";

/// The longest sleep: how late a thread may notice that it is to measure or to end.
const TICK: u64 = 5 * MILLISECOND;
/// How old the reported CPU time may be.
const REPORT: u64 = 2 * MILLISECOND;
/// The most bytes of one read.
const READ: usize = 64 * 1024;

/// One thread's whole state.
#[derive(Debug)]
pub(super) struct Worker {
    pub(super) client: Client,
    shared: Arc<Shared>,
    /// Which of the threads it is.
    thread: usize,
    /// By connection.
    pub(super) sockets: Vec<Socket>,
    sources: Sources,
    epoll: OwnedFd,
    alarm: Alarm,
    pub(super) buffer: Vec<u8>,
    /// How connections are encrypted, where they are.
    tls: Option<Arc<ClientConfig>>,
    /// What is decrypted.
    pub(super) plain: Vec<u8>,
    /// The zero of the load's clock.
    began: Instant,
    /// Whether requests are sent at given times.
    paced: bool,
    next_report: u64,
}

/// A connection's socket.
#[derive(Debug)]
pub(super) struct Socket {
    /// None while it is closed.
    pub(super) descriptor: Option<OwnedFd>,
    /// What the poll looks for.
    interest: epoll::EventFlags,
    /// None on a plain connection.
    pub(super) session: Option<Box<Session>>,
}

impl Socket {
    fn closed() -> Self {
        Self {
            descriptor: None,
            interest: epoll::EventFlags::empty(),
            session: None,
        }
    }
}

impl Worker {
    /// Makes a thread's state.
    pub(super) fn new(plan: &Arc<Plan>, shared: &Arc<Shared>, thread: usize) -> io::Result<Self> {
        let client = Client::new(Arc::clone(plan), Arc::clone(shared), thread)?;
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let alarm = Alarm::new()?;
        // No connection has this number.
        let data = epoll::EventData::new_u64(u64::MAX);
        epoll::add(&epoll, alarm.descriptor(), data, epoll::EventFlags::IN)?;
        Ok(Self {
            shared: Arc::clone(shared),
            thread,
            sockets: (0..client.connections())
                .map(|_| Socket::closed())
                .collect(),
            client,
            sources: Sources::new(thread),
            epoll,
            alarm,
            buffer: vec![0; READ],
            plain: vec![0; plan.tls.as_ref().map_or(0, |_| READ + ROOM)],
            tls: plan.tls.clone(),
            began: plan.began,
            paced: plan.rate.is_some(),
            next_report: 0,
        })
    }

    /// Loads the targets until the load ends.
    pub(super) fn run(mut self) -> Done {
        let mut gauge = Gauge::new();
        self.client.start(self.now());
        let mut events = no_events(self.sockets.len() + 1);
        while !self.shared.ended() {
            self.turn(&mut events, &mut gauge);
        }
        self.shared.thread(self.thread).report(gauge.read());
        let now = self.now();
        self.client.done(now)
    }

    fn now(&self) -> u64 {
        nanoseconds(self.began.elapsed())
    }

    /// Serves every ready connection once, then does what is due.
    fn turn(&mut self, events: &mut [epoll::Event], gauge: &mut Gauge) {
        let ready = self.wait(events);
        let now = self.now();
        self.client.notice_phase(now);
        for event in &events[..ready] {
            let index = usize::try_from(event.data.u64()).unwrap_or(usize::MAX);
            if index < self.sockets.len() {
                self.serve(index, event.flags, now);
            } else {
                self.alarm.ring();
            }
        }
        self.do_due(now);
        if now >= self.next_report {
            self.next_report = now + REPORT;
            self.shared.thread(self.thread).report(gauge.read());
        }
        self.shared.finish_if_complete(now);
    }

    /// Waits for ready connections or the next thing due, and returns how many are ready.
    fn wait(&mut self, events: &mut [epoll::Event]) -> usize {
        let due = self.client.next_due();
        let sleep = if due == u64::MAX {
            TICK
        } else {
            TICK.min(due.saturating_sub(self.now()))
        };
        if (1..TICK).contains(&sleep) {
            self.alarm.set(due, sleep);
        }
        let most = if sleep == 0 { 0 } else { TICK };
        let most = Timespec {
            tv_sec: 0,
            tv_nsec: i64::try_from(most).unwrap_or(0),
        };
        // Nothing but a signal can end it early, and then the next turn comes at once.
        epoll::wait(&self.epoll, events, Some(&most)).unwrap_or(0)
    }

    fn do_due(&mut self, now: u64) {
        self.client.change_turn(now);
        while let Some((index, next)) = self.client.awake(now) {
            self.act(index, next, now);
        }
        let mut moment = self.moment(now);
        while let Some((index, next)) = self.client.dispatch(moment) {
            self.act(index, next, moment);
            moment = self.moment(now);
        }
        if self.client.is_sweep_due(now) {
            for index in 0..self.sockets.len() {
                if self.client.is_late(index, now) {
                    let next = self.client.fail(index, ErrorKind::Timeout, now);
                    self.act(index, next, now);
                }
            }
        }
    }

    /// Returns the time at which a request is sent.
    fn moment(&self, now: u64) -> u64 {
        if self.paced { self.now() } else { now }
    }

    fn serve(&mut self, index: usize, flags: epoll::EventFlags, now: u64) {
        match self.client.state(index) {
            State::Resting | State::Closed | State::Queueing => {}
            State::Connecting if self.tls.is_none() => self.transmit(index, now),
            // A handshake is under way.
            State::Connecting | State::Open if flags == epoll::EventFlags::OUT => {
                self.transmit(index, now);
            }
            State::Connecting | State::Open => self.receive(index, now),
        }
    }

    /// Does what the client wants next.
    pub(super) fn act(&mut self, index: usize, next: Next, now: u64) {
        match next {
            Next::Await => {}
            Next::Send => self.transmit(index, now),
            Next::Open => self.open(index),
            Next::Close => self.close(index),
        }
    }

    /// Closes a socket, which also ends the poll's interest in it.
    fn close(&mut self, index: usize) {
        self.sockets[index] = Socket::closed();
    }

    /// Begins to connect.
    fn open(&mut self, index: usize) {
        self.close(index);
        let now = self.now();
        self.client.connecting(index, now);
        let connected = match self.client.peer(index) {
            Peer::Tcp(address) => socket::connect(*address, self.sources.next(*address)).map(Some),
            Peer::Unix(address) => socket::connect_unix(address),
        };
        let next = match connected {
            Ok(Some(descriptor)) => {
                self.sockets[index].descriptor = Some(descriptor);
                self.sockets[index].session = self.session(index);
                // Over loopback it is established by now, which saves asking the poll.
                Next::Send
            }
            Ok(None) => self.client.no_room(index, now),
            Err(errno) => self.client.fail(index, socket::kind_of(errno), now),
        };
        self.act(index, next, now);
    }

    /// Begins the encryption of a connection, where it is to be encrypted.
    fn session(&self, index: usize) -> Option<Box<Session>> {
        let config = self.tls.as_ref()?;
        // Nothing but a wrong name of the server fails here, and none is wrong.
        let session = Session::new(config, self.client.address(index)).ok()?;
        Some(Box::new(session))
    }

    /// Sends what is to be sent as far as the socket takes it, which is not at all before it is established.
    fn transmit(&mut self, index: usize, now: u64) {
        if self.tls.is_some() {
            return self.transmit_secured(index, now);
        }
        let connecting = self.client.state(index) == State::Connecting;
        let now = if connecting { self.now() } else { now };
        let Some(socket) = &self.sockets[index].descriptor else {
            return;
        };
        let outgoing = self.client.outgoing(index);
        let sent = if outgoing.is_empty() {
            is_established(socket)
        } else {
            net::send(socket, outgoing, SendFlags::NOSIGNAL)
        };
        match sent {
            Ok(length) => {
                if connecting {
                    self.client.established(index, now);
                }
                self.client.sent(index, length);
            }
            Err(Errno::AGAIN | Errno::INTR) => {}
            Err(errno) => {
                let next = self.client.lost(index, socket::kind_of(errno), now);
                return self.act(index, next, now);
            }
        }
        self.look_for(index, now);
    }

    /// Tells the poll what to look for on a connection, where that changes.
    pub(super) fn look_for(&mut self, index: usize, now: u64) {
        let interest = match self.client.state(index) {
            _ if self.tls.is_some() => self.interest_secured(index),
            State::Connecting => epoll::EventFlags::OUT,
            // An answer may come before the request's end.
            State::Open if !self.client.outgoing(index).is_empty() => {
                epoll::EventFlags::IN | epoll::EventFlags::OUT
            }
            State::Open | State::Resting | State::Closed | State::Queueing => epoll::EventFlags::IN,
        };
        let socket = &mut self.sockets[index];
        let Some(descriptor) = &socket.descriptor else {
            return;
        };
        if socket.interest == interest {
            return;
        }
        let data = epoll::EventData::new_u64(index as u64);
        let told = if socket.interest.is_empty() {
            epoll::add(&self.epoll, descriptor, data, interest)
        } else {
            epoll::modify(&self.epoll, descriptor, data, interest)
        };
        socket.interest = interest;
        if told.is_err() {
            let next = self.client.fail(index, ErrorKind::Client, now);
            self.act(index, next, now);
        }
    }

    /// Reads once.
    fn receive(&mut self, index: usize, now: u64) {
        if self.tls.is_some() {
            return self.receive_secured(index, now);
        }
        let Some(socket) = &self.sockets[index].descriptor else {
            return;
        };
        let next = match net::recv(socket, &mut self.buffer[..], RecvFlags::empty()) {
            Ok((0, _)) => self.client.closed(index, now),
            Ok((length, _)) => self.client.received(index, &self.buffer[..length], now),
            Err(Errno::AGAIN | Errno::INTR) => Next::Await,
            Err(errno) => self.client.lost(index, socket::kind_of(errno), now),
        };
        self.act(index, next, now);
    }
}

/// Returns no bytes sent once a connection is established, and an error if it cannot be or is not yet.
fn is_established(socket: &OwnedFd) -> Result<usize, Errno> {
    sockopt::socket_error(socket)??;
    match net::getpeername(socket) {
        Ok(_) => Ok(0),
        Err(Errno::NOTCONN) => Err(Errno::AGAIN),
        Err(errno) => Err(errno),
    }
}

/// Returns room for so many events.
fn no_events(most: usize) -> Vec<epoll::Event> {
    let nothing = epoll::Event {
        flags: epoll::EventFlags::empty(),
        data: epoll::EventData::new_u64(0),
    };
    vec![nothing; most]
}
