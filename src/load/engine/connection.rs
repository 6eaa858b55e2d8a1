//! One connection's place in a thread of the load, whatever moves its bytes.

use std::collections::VecDeque;

use super::plan::Script;
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
    /// Which of the target's addresses it goes to.
    pub(super) address: usize,
    /// What it is doing.
    pub(super) state: State,
    /// The awaited answer so far.
    pub(super) parser: Parser,
    /// Requests begun and not ended, the first one first.
    pub(super) requests: VecDeque<Request>,
    /// Where the first of them, or the next one, stands in the round.
    pub(super) place: usize,
    /// Bytes of the requests that are not sent, always the last ones.
    pub(super) left: usize,
    /// When the connecting began.
    pub(super) since: u64,
    /// When the first byte of the awaited answer came.
    pub(super) first_byte: Option<u64>,
    /// Whether it is among its lane's free ones.
    pub(super) free: bool,
    /// Whether this socket has given an answer before.
    reused: bool,
    /// How long it is closed after a failure.
    pub(super) delay: Delay,
}

/// How long to wait after a failure, in nanoseconds: each failure in a row doubles it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Delay(u64);

impl Default for Delay {
    fn default() -> Self {
        Self(FIRST_DELAY)
    }
}

impl Delay {
    /// Returns how long to wait after another failure.
    pub(super) fn next(&mut self) -> u64 {
        let delay = self.0;
        self.0 = (delay * 2).min(LONGEST_DELAY);
        delay
    }
}

/// What a connection is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    /// Closed, to be looked at again at a known time.
    Resting,
    /// Closed, to be opened for the next request.
    Closed,
    /// The server had no room for it; to be tried again at a known time.
    Queueing,
    /// On its way to be established.
    Connecting,
    /// Established.
    Open,
}

/// A request begun. Times are nanoseconds of the load's clock.
#[derive(Debug, Clone, Copy)]
pub(super) struct Request {
    /// When it was due, where a rate is given.
    pub(super) due: Option<u64>,
    /// When it was sent.
    pub(super) sent: Option<u64>,
    /// Whether what comes of it belongs to the measured part.
    pub(super) measured: bool,
}

impl Request {
    /// Returns since when its answer is waited for.
    pub(super) fn since(&self) -> Option<u64> {
        self.due.or(self.sent)
    }
}

impl Connection {
    /// Makes a place that was never open.
    pub(super) fn new(target: usize, address: usize, place: usize, parser: Parser) -> Self {
        Self {
            target,
            address,
            state: State::Resting,
            parser,
            requests: VecDeque::new(),
            place,
            left: 0,
            since: 0,
            first_byte: None,
            free: false,
            reused: false,
            delay: Delay::default(),
        }
    }

    /// Takes note that it is being connected.
    pub(super) fn connecting(&mut self, script: &Script, now: u64) {
        self.left = self.length_from(0, script);
        if self.state != State::Queueing {
            self.since = now;
        }
        self.state = State::Connecting;
    }

    /// Returns the bytes of all requests but the first.
    pub(super) fn after_first(&self, script: &Script) -> usize {
        self.length_from(1, script)
    }

    fn length_from(&self, first: usize, script: &Script) -> usize {
        let places = (first..self.requests.len()).map(|more| self.place + more);
        places.map(|place| script.length(place)).sum()
    }

    /// Closes it.
    pub(super) fn close(&mut self, state: State) {
        self.state = state;
        self.reused = false;
        self.first_byte = None;
        self.parser.reset();
    }

    /// Takes the first request off, now that it has its answer.
    pub(super) fn answered(&mut self, round: usize) -> Option<Request> {
        self.first_byte = None;
        self.reused = true;
        self.delay = Delay::default();
        self.pass(round)
    }

    /// Takes the first request off, whatever came of it.
    pub(super) fn pass(&mut self, round: usize) -> Option<Request> {
        let request = self.requests.pop_front();
        if request.is_some() {
            self.place = (self.place + 1) % round;
        }
        request
    }

    /// Returns since when it has been waiting for the server; none if it is not.
    pub(super) fn waiting_since(&self) -> Option<u64> {
        match self.state {
            State::Resting | State::Closed => None,
            State::Queueing | State::Connecting => Some(self.since),
            State::Open => self.requests.front().and_then(|request| request.sent),
        }
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
}

#[cfg(test)]
mod tests {
    use super::*;

    fn connection() -> Connection {
        Connection::new(0, 0, 2, Parser::new("GET"))
    }

    fn sent(sent: u64) -> Request {
        Request {
            due: None,
            sent: Some(sent),
            measured: true,
        }
    }

    #[test]
    fn delays_grow_with_each_failure_until_an_answer() {
        let mut connection = connection();
        let delays: Vec<u64> = (0..7)
            .map(|_| connection.delay.next() / MILLISECOND)
            .collect();
        assert_eq!(delays, [5, 10, 20, 40, 80, 100, 100]);
        connection.answered(3);
        assert_eq!(connection.delay.next(), FIRST_DELAY);
    }

    #[test]
    fn only_a_used_connection_without_a_byte_of_the_answer_can_have_been_idle() {
        let mut connection = connection();
        assert!(!connection.was_idle(ErrorKind::Closed));
        connection.answered(3);
        assert!(connection.was_idle(ErrorKind::Closed) && connection.was_idle(ErrorKind::Reset));
        assert!(!connection.was_idle(ErrorKind::Timeout));
        connection.first_byte = Some(1);
        assert!(!connection.was_idle(ErrorKind::Closed));
    }

    #[test]
    fn requests_are_taken_off_in_order_through_the_round() {
        let mut connection = connection();
        connection.requests.extend([sent(5), sent(6)]);
        connection.state = State::Open;
        assert_eq!(connection.waiting_since(), Some(5));
        assert_eq!(connection.answered(3).unwrap().sent, Some(5));
        assert_eq!((connection.place, connection.waiting_since()), (0, Some(6)));
        assert!(connection.pass(3).is_some() && connection.pass(3).is_none());
        assert_eq!((connection.place, connection.waiting_since()), (1, None));
    }

    #[test]
    fn waiting_for_room_counts_as_connecting() {
        let script = Script::new(&[b"ab".to_vec()], &[0, 0, 0], 1);
        let mut connection = connection();
        connection.connecting(&script, 3);
        connection.close(State::Queueing);
        connection.connecting(&script, 9);
        assert_eq!(connection.waiting_since(), Some(3));
        connection.close(State::Closed);
        connection.connecting(&script, 11);
        assert_eq!(connection.waiting_since(), Some(11));
    }
}
