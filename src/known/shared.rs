//! What the threads of the known server tell one another.

use std::sync::atomic::{AtomicU64, Ordering};

/// The answers that each thread has given. Each counter is written by one thread only and has a cache line of its own.
#[derive(Debug)]
pub(super) struct Shared {
    answers: Vec<Counter>,
}

#[derive(Debug, Default)]
#[repr(align(128))]
struct Counter(AtomicU64);

impl Shared {
    pub(super) fn new(threads: usize) -> Self {
        Self {
            answers: (0..threads).map(|_| Counter::default()).collect(),
        }
    }

    /// Counts answers of a thread.
    pub(super) fn answered(&self, thread: usize, answers: u64) {
        let counter = &self.answers[thread].0;
        let before = counter.load(Ordering::Relaxed);
        counter.store(before + answers, Ordering::Relaxed);
    }

    /// Returns the answers of all threads.
    pub(super) fn answers(&self) -> u64 {
        let each = self.answers.iter();
        each.map(|counter| counter.0.load(Ordering::Relaxed)).sum()
    }
}
