//! One connection's place in a worker.

use std::os::fd::OwnedFd;

use rustix::event::epoll;

use crate::load::http1::Parser;
use crate::outcome::ErrorKind;

/// In nanoseconds.
pub(super) const MILLISECOND: u64 = 1_000_000;
/// A failed connection is opened again after this, in nanoseconds.
const FIRST_DELAY: u64 = 5 * MILLISECOND;
/// Further failures double the delay up to this, in nanoseconds.
const LONGEST_DELAY: u64 = 100 * MILLISECOND;

/// A place for one connection to a target, through all the sockets that it takes.
#[derive(Debug)]
pub(super) struct Connection {
    /// Which target it belongs to.
    pub(super) target: usize,
    /// What it is doing.
    pub(super) state: State,
    /// None while it waits.
    pub(super) socket: Option<OwnedFd>,
    /// What the poll looks for.
    pub(super) interest: epoll::EventFlags,
    /// The awaited answer so far.
    pub(super) parser: Parser,
    /// When the connecting or the request began.
    pub(super) since: u64,
    /// Bytes of the request that are sent.
    pub(super) sent: usize,
    /// When the first byte of the awaited answer came.
    pub(super) first_byte: Option<u64>,
    /// Whether this socket has given an answer before.
    pub(super) reused: bool,
    /// How long it is closed after its next failure.
    delay: u64,
}

/// What a connection is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    /// Closed, to be opened at a time that the worker keeps.
    Waiting,
    /// On its way to be established.
    Connecting,
    /// With a request under way.
    Open,
}

impl State {
    /// Returns what the poll looks for, given whether the whole request is sent.
    pub(super) fn interest(self, whole_request: bool) -> epoll::EventFlags {
        match self {
            Self::Waiting => epoll::EventFlags::empty(),
            Self::Connecting => epoll::EventFlags::OUT,
            Self::Open if whole_request => epoll::EventFlags::IN,
            // An answer may come before the request's end.
            Self::Open => epoll::EventFlags::IN | epoll::EventFlags::OUT,
        }
    }
}

impl Connection {
    /// Makes a place that holds no socket yet.
    pub(super) fn new(target: usize, method: &str) -> Self {
        Self {
            target,
            state: State::Waiting,
            socket: None,
            interest: epoll::EventFlags::empty(),
            parser: Parser::new(method),
            since: 0,
            sent: 0,
            first_byte: None,
            reused: false,
            delay: FIRST_DELAY,
        }
    }

    /// Takes a socket that is being connected since `now`.
    pub(super) fn connecting(&mut self, socket: OwnedFd, now: u64) {
        self.socket = Some(socket);
        self.state = State::Connecting;
        self.interest = epoll::EventFlags::empty();
        self.since = now;
        self.sent = 0;
    }

    /// Begins a request on the open socket.
    pub(super) fn begin_request(&mut self, now: u64) {
        self.state = State::Open;
        self.since = now;
        self.sent = 0;
        self.first_byte = None;
        self.parser.reset();
    }

    /// Closes the socket, which also ends the poll's interest in it.
    pub(super) fn close(&mut self) {
        self.socket = None;
        self.state = State::Waiting;
        self.reused = false;
        self.first_byte = None;
    }

    /// Returns whether a loss of the connection now is the end of an idle connection and no failed request.
    ///
    /// A server may close a connection after any answer without saying so before, and the next request may have been
    /// under way by then. HTTP has the client send it again on a new connection (RFC 9112, section 9.3.1).
    pub(super) fn was_idle(&self, kind: ErrorKind) -> bool {
        self.reused
            && self.first_byte.is_none()
            && matches!(kind, ErrorKind::Closed | ErrorKind::Reset)
    }

    /// Returns how long to stay closed after a failure; each failure in a row doubles it.
    pub(super) fn next_delay(&mut self) -> u64 {
        let delay = self.delay;
        self.delay = (delay * 2).min(LONGEST_DELAY);
        delay
    }

    /// Takes note that the server answers, so that its next failure is the first again.
    pub(super) fn forget_failures(&mut self) {
        self.delay = FIRST_DELAY;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_grow_with_each_failure_until_an_answer() {
        let mut connection = Connection::new(0, "GET");
        let delays: Vec<u64> = (0..7)
            .map(|_| connection.next_delay() / MILLISECOND)
            .collect();
        assert_eq!(delays, [5, 10, 20, 40, 80, 100, 100]);
        connection.forget_failures();
        assert_eq!(connection.next_delay(), FIRST_DELAY);
    }

    #[test]
    fn only_a_used_connection_without_a_byte_of_the_answer_can_have_been_idle() {
        let mut connection = Connection::new(0, "GET");
        assert!(!connection.was_idle(ErrorKind::Closed));
        connection.reused = true;
        assert!(connection.was_idle(ErrorKind::Closed) && connection.was_idle(ErrorKind::Reset));
        assert!(!connection.was_idle(ErrorKind::Timeout));
        connection.first_byte = Some(1);
        assert!(!connection.was_idle(ErrorKind::Closed));
    }
}
