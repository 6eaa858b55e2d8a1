//! What one thread has seen of one target.

use std::collections::BTreeMap;
use std::io;

use crate::load::http1::Answer;
use crate::load::latency::{Recorder, SpreadRecorder};
use crate::outcome::{ErrorKind, LoadFigures};

/// Totals of the measured part, and of connections since the load began.
#[derive(Debug, Clone)]
pub(crate) struct Tally {
    answers: u64,
    body_bytes: u64,
    wire_bytes: u64,
    first_response: SpreadRecorder,
    latency: Recorder,
    lateness: SpreadRecorder,
    unsent: u64,
    errors: BTreeMap<ErrorKind, u64>,
    resent: u64,
    connections: u64,
    connect: SpreadRecorder,
    flow: Flow,
}

/// When things happened on the way to an answer, in nanoseconds of the load's clock.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Times {
    /// The request was sent, or was due where a rate is given.
    pub(crate) since: u64,
    /// The first byte of the answer was there.
    pub(crate) first_byte: u64,
    /// The last byte of the answer was there.
    pub(crate) last_byte: u64,
}

/// Requests under way, integrated over time.
///
/// The integral is the sum of all ends less the sum of all beginnings, where those under way end now: two additions a
/// request. The sums wrap around, their difference does not.
#[derive(Debug, Clone, Copy, Default)]
struct Flow {
    under_way: u64,
    /// Ends less beginnings so far.
    balance: u64,
    /// The integral when measuring began.
    before: u64,
}

impl Flow {
    fn begins(&mut self, at: u64) {
        self.under_way += 1;
        self.balance = self.balance.wrapping_sub(at);
    }

    fn ends(&mut self, at: u64) {
        self.under_way = self.under_way.saturating_sub(1);
        self.balance = self.balance.wrapping_add(at);
    }

    fn integral(&self, now: u64) -> u64 {
        self.balance.wrapping_add(self.under_way.wrapping_mul(now))
    }

    fn begin_measuring(&mut self, now: u64) {
        self.before = self.integral(now);
    }

    /// Returns requests × nanoseconds since measuring began.
    fn measured(&self, now: u64) -> u64 {
        self.integral(now).wrapping_sub(self.before)
    }
}

impl Tally {
    /// Makes an empty tally.
    pub(crate) fn new() -> io::Result<Self> {
        Ok(Self {
            answers: 0,
            body_bytes: 0,
            wire_bytes: 0,
            first_response: SpreadRecorder::default(),
            latency: Recorder::new()?,
            lateness: SpreadRecorder::default(),
            unsent: 0,
            errors: BTreeMap::new(),
            resent: 0,
            connections: 0,
            connect: SpreadRecorder::default(),
            flow: Flow::default(),
        })
    }

    /// Counts a right answer.
    pub(crate) fn answered(&mut self, answer: Answer, times: Times) {
        self.answers += 1;
        self.body_bytes += answer.body_length;
        self.first_response
            .record(times.first_byte.saturating_sub(times.since));
        self.latency
            .record(times.last_byte.saturating_sub(times.since));
    }

    /// Counts received bytes of whatever kind.
    pub(crate) fn received(&mut self, bytes: usize) {
        self.wire_bytes += bytes as u64;
    }

    /// Counts a failed request.
    pub(crate) fn failed(&mut self, kind: ErrorKind) {
        *self.errors.entry(kind).or_default() += 1;
    }

    /// Counts requests that are sent again.
    pub(crate) fn sent_again(&mut self, requests: usize) {
        self.resent += requests as u64;
    }

    /// Counts a request of a given rate that was sent so much later than due.
    pub(crate) fn late(&mut self, nanoseconds: u64) {
        self.lateness.record(nanoseconds);
    }

    /// Counts a request that was due and will not be sent.
    pub(crate) fn unsent(&mut self, due: u64) {
        self.unsent += 1;
        self.flow.begins(due);
    }

    /// Counts an established connection.
    pub(crate) fn connected(&mut self, nanoseconds: u64) {
        self.connections += 1;
        self.connect.record(nanoseconds);
    }

    /// Takes note that a request is under way since this time.
    pub(crate) fn begins(&mut self, at: u64) {
        self.flow.begins(at);
    }

    /// Takes note that a request is no longer under way.
    pub(crate) fn ends(&mut self, at: u64) {
        self.flow.ends(at);
    }

    /// Returns requests × nanoseconds under way since measuring began.
    pub(crate) fn flow(&self, now: u64) -> u64 {
        self.flow.measured(now)
    }

    /// Forgets everything but the connections: the measured part begins.
    pub(crate) fn begin_measuring(&mut self, now: u64) {
        self.answers = 0;
        self.body_bytes = 0;
        self.wire_bytes = 0;
        self.first_response = SpreadRecorder::default();
        self.latency.clear();
        self.lateness = SpreadRecorder::default();
        self.errors.clear();
        self.resent = 0;
        self.connections = 0;
        self.flow.begin_measuring(now);
    }

    /// Adds what another thread has seen of the same target.
    pub(crate) fn merge(&mut self, other: &Self) {
        self.answers += other.answers;
        self.body_bytes += other.body_bytes;
        self.wire_bytes += other.wire_bytes;
        self.first_response.merge(&other.first_response);
        self.latency.merge(&other.latency);
        self.lateness.merge(&other.lateness);
        self.unsent += other.unsent;
        for (&kind, count) in &other.errors {
            *self.errors.entry(kind).or_default() += count;
        }
        self.resent += other.resent;
        self.connections += other.connections;
        self.connect.merge(&other.connect);
    }

    /// Returns the figures but for those of time.
    pub(crate) fn figures(&self) -> LoadFigures {
        let connect = self.connect.spread();
        LoadFigures {
            answers: self.answers,
            body_bytes: self.body_bytes,
            wire_bytes: self.wire_bytes,
            resent: self.resent,
            connections_opened: connect.count,
            connections_measured: self.connections,
            lateness: self.lateness.spread(),
            unsent: self.unsent,
            connect,
            first_response: self.first_response.spread(),
            latency: self.latency.latency(),
            errors: self.errors.clone(),
            ..LoadFigures::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_under_way_are_integrated_over_the_measured_part() {
        let mut tally = Tally::new().unwrap();
        tally.begins(10);
        tally.begins(20);
        tally.ends(25);
        tally.begin_measuring(30);
        // One until 40, two until 45, one until 50, none until 60.
        tally.begins(40);
        tally.ends(45);
        assert_eq!(tally.flow(47), 10 + 10 + 2);
        tally.ends(50);
        assert_eq!(tally.flow(60), 10 + 10 + 5);
    }

    #[test]
    fn what_is_due_and_unsent_waits_until_the_end() {
        let mut tally = Tally::new().unwrap();
        tally.begin_measuring(100);
        tally.unsent(120);
        assert_eq!((tally.flow(150), tally.figures().unsent), (30, 1));
    }
}
