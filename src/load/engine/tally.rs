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
    errors: BTreeMap<ErrorKind, u64>,
    resent: u64,
    connect: SpreadRecorder,
}

/// When things happened on the way to an answer, in nanoseconds of the load's clock.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Times {
    /// The request was sent.
    pub(crate) sent: u64,
    /// The first byte of the answer was there.
    pub(crate) first_byte: u64,
    /// The last byte of the answer was there.
    pub(crate) last_byte: u64,
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
            errors: BTreeMap::new(),
            resent: 0,
            connect: SpreadRecorder::default(),
        })
    }

    /// Counts a right answer.
    pub(crate) fn answered(&mut self, answer: Answer, times: Times) {
        self.answers += 1;
        self.body_bytes += answer.body_length;
        self.first_response
            .record(times.first_byte.saturating_sub(times.sent));
        self.latency
            .record(times.last_byte.saturating_sub(times.sent));
    }

    /// Counts received bytes of whatever kind.
    pub(crate) fn received(&mut self, bytes: usize) {
        self.wire_bytes += bytes as u64;
    }

    /// Counts a failed request.
    pub(crate) fn failed(&mut self, kind: ErrorKind) {
        *self.errors.entry(kind).or_default() += 1;
    }

    /// Counts a request that is sent again.
    pub(crate) fn sent_again(&mut self) {
        self.resent += 1;
    }

    /// Counts an established connection.
    pub(crate) fn connected(&mut self, nanoseconds: u64) {
        self.connect.record(nanoseconds);
    }

    /// Forgets everything but the connections: the measured part begins.
    pub(crate) fn begin_measuring(&mut self) {
        self.answers = 0;
        self.body_bytes = 0;
        self.wire_bytes = 0;
        self.first_response = SpreadRecorder::default();
        self.latency.clear();
        self.errors.clear();
        self.resent = 0;
    }

    /// Adds what another thread has seen of the same target.
    pub(crate) fn merge(&mut self, other: &Self) {
        self.answers += other.answers;
        self.body_bytes += other.body_bytes;
        self.wire_bytes += other.wire_bytes;
        self.first_response.merge(&other.first_response);
        self.latency.merge(&other.latency);
        for (&kind, count) in &other.errors {
            *self.errors.entry(kind).or_default() += count;
        }
        self.resent += other.resent;
        self.connect.merge(&other.connect);
    }

    /// Returns the figures of a measured part that took so many seconds.
    pub(crate) fn figures(&self, seconds: f64) -> LoadFigures {
        let connect = self.connect.spread();
        LoadFigures {
            answers: self.answers,
            seconds,
            body_bytes: self.body_bytes,
            wire_bytes: self.wire_bytes,
            resent: self.resent,
            connections_opened: connect.count,
            connect,
            first_response: self.first_response.spread(),
            latency: self.latency.latency(),
            errors: self.errors.clone(),
            ..LoadFigures::default()
        }
    }
}
