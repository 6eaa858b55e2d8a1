//! What the load's threads and their owner tell one another, without locks.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

use super::gauge::Cost;
use crate::load::Counts;

/// The end that has not come.
const NEVER: u64 = u64::MAX;

/// An allowance holds its number of requests in so many bits, and the phase in the rest.
const REQUEST_BITS: u32 = 48;
/// The most requests of an allowance.
const MOST_REQUESTS: u64 = (1 << REQUEST_BITS) - 1;
/// The most requests that a thread takes leave for at once.
const LARGEST_BATCH: u64 = 256;

/// The state of a load. Each cell is written by one thread only; the rest is written seldom.
#[derive(Debug)]
pub(crate) struct Shared {
    stop: AtomicBool,
    /// 0 before measuring, raised by each beginning.
    phase: AtomicU32,
    /// When every target had its answers, in nanoseconds of the load's clock.
    finished_at: AtomicU64,
    /// Answers that each target is measured for, where they decide the end.
    wanted: Option<u64>,
    /// Requests that may be sent to each target and are not taken by any thread, with the phase that they are of.
    allowances: Vec<AtomicU64>,
    threads: Vec<ThreadCell>,
}

/// What one thread tells. Cells have cache lines of their own, so that no thread slows another's counting.
#[derive(Debug)]
#[repr(align(128))]
pub(crate) struct ThreadCell {
    /// The phase to which `measured` belongs.
    phase: AtomicU32,
    cpu: AtomicU64,
    voluntary_switches: AtomicU64,
    involuntary_switches: AtomicU64,
    run_delay: AtomicU64,
    targets: Vec<TargetCell>,
}

/// What one thread has counted for one target.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(crate) struct TargetCell {
    answers: AtomicU64,
    failed: AtomicU64,
    measured: AtomicU64,
}

impl Shared {
    /// Makes the state of a load that has not begun.
    pub(crate) fn new(threads: usize, targets: usize, wanted: Option<u64>) -> Self {
        let thread_cell = || ThreadCell {
            phase: AtomicU32::new(0),
            cpu: AtomicU64::new(0),
            voluntary_switches: AtomicU64::new(0),
            involuntary_switches: AtomicU64::new(0),
            run_delay: AtomicU64::new(0),
            targets: (0..targets).map(|_| TargetCell::default()).collect(),
        };
        Self {
            stop: AtomicBool::new(false),
            phase: AtomicU32::new(0),
            finished_at: AtomicU64::new(NEVER),
            wanted,
            allowances: (0..targets).map(|_| AtomicU64::new(0)).collect(),
            threads: (0..threads).map(|_| thread_cell()).collect(),
        }
    }

    /// Returns the counts of each target since the load began.
    pub(crate) fn counts(&self) -> Vec<Counts> {
        let counts = |target| Counts {
            answers: self.sum(target, |cell| &cell.answers),
            failed: self.sum(target, |cell| &cell.failed),
        };
        self.targets().map(counts).collect()
    }

    fn sum(&self, target: usize, field: fn(&TargetCell) -> &AtomicU64) -> u64 {
        let cells = self.threads.iter().map(|thread| &thread.targets[target]);
        cells.map(|cell| field(cell).load(Ordering::Relaxed)).sum()
    }

    /// Returns what all threads have cost together, a few milliseconds old at most.
    pub(crate) fn cost(&self) -> Cost {
        let sum = |field: fn(&ThreadCell) -> &AtomicU64| {
            let cells = self.threads.iter();
            cells.map(|cell| field(cell).load(Ordering::Relaxed)).sum()
        };
        Cost {
            cpu: sum(|cell| &cell.cpu),
            voluntary_switches: sum(|cell| &cell.voluntary_switches),
            involuntary_switches: sum(|cell| &cell.involuntary_switches),
            run_delay: sum(|cell| &cell.run_delay),
        }
    }

    /// Begins a measured phase; each thread notices it at its next turn.
    pub(crate) fn begin_measuring(&self) {
        let phase = self.phase() + 1;
        let wanted = self.wanted.unwrap_or(0).min(MOST_REQUESTS);
        for allowance in &self.allowances {
            allowance.store(stamp(phase) | wanted, Ordering::Relaxed);
        }
        self.phase.store(phase, Ordering::Release);
    }

    /// Takes leave to send some requests to a target that count in a phase; none if all is taken.
    ///
    /// The fewer are left the fewer are taken at once, so that no thread has many left when another has none.
    pub(crate) fn take(&self, target: usize, phase: u32) -> u64 {
        let threads = self.threads.len() as u64;
        let batch = |left: u64| (left / threads / 4).clamp(1, LARGEST_BATCH);
        let some = |packed: u64| left_in(packed, phase).map(|left| packed - batch(left));
        let (order, cell) = (Ordering::Relaxed, &self.allowances[target]);
        let before = cell.fetch_update(order, order, some).ok();
        let left = before.and_then(|packed| left_in(packed, phase));
        left.map_or(0, batch)
    }

    /// Returns whether for any target requests are left that count in a phase.
    pub(crate) fn some_left(&self, phase: u32) -> bool {
        let mut allowances = self.allowances.iter();
        allowances.any(|cell| left_in(cell.load(Ordering::Relaxed), phase).is_some())
    }

    /// Asks the threads to end.
    pub(crate) fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    /// Returns whether the threads are to end.
    pub(crate) fn ended(&self) -> bool {
        self.stop.load(Ordering::Relaxed) || self.finished()
    }

    /// Returns whether every target had its answers.
    pub(crate) fn finished(&self) -> bool {
        self.finished_at().is_some()
    }

    /// Returns when every target had its answers, in nanoseconds of the load's clock.
    pub(crate) fn finished_at(&self) -> Option<u64> {
        let at = self.finished_at.load(Ordering::Relaxed);
        (at != NEVER).then_some(at)
    }

    /// Ends the load now if every target has its answers.
    pub(crate) fn finish_if_complete(&self, now: u64) {
        if self.wanted.is_some_and(|wanted| self.complete(wanted)) {
            // The first thread to see it says when; what the others say is no news.
            self.finished_at.fetch_min(now, Ordering::Relaxed);
        }
    }

    fn complete(&self, wanted: u64) -> bool {
        let phase = self.phase();
        let mut threads = self.threads.iter();
        // Until a thread has noticed the phase, its measured answers are those of the phase before.
        phase > 0
            && threads.all(|thread| thread.phase.load(Ordering::Acquire) == phase)
            && self
                .targets()
                .all(|target| self.sum(target, |cell| &cell.measured) >= wanted)
    }

    fn targets(&self) -> Range<usize> {
        let first = self.threads.first();
        0..first.map_or(0, |thread| thread.targets.len())
    }

    /// Returns the phase that the load is in.
    pub(crate) fn phase(&self) -> u32 {
        self.phase.load(Ordering::Acquire)
    }

    /// Returns a thread's own cell.
    pub(crate) fn thread(&self, thread: usize) -> &ThreadCell {
        &self.threads[thread]
    }
}

impl ThreadCell {
    /// Tells that the thread counts for this phase from now on.
    pub(crate) fn enter(&self, phase: u32) {
        for cell in &self.targets {
            cell.measured.store(0, Ordering::Relaxed);
        }
        self.phase.store(phase, Ordering::Release);
    }

    /// Tells what the thread has cost so far.
    pub(crate) fn report(&self, cost: Cost) {
        for (cell, value) in [
            (&self.cpu, cost.cpu),
            (&self.voluntary_switches, cost.voluntary_switches),
            (&self.involuntary_switches, cost.involuntary_switches),
            (&self.run_delay, cost.run_delay),
        ] {
            cell.store(value, Ordering::Relaxed);
        }
    }

    /// Returns the thread's own cell of a target.
    pub(crate) fn target(&self, target: usize) -> &TargetCell {
        &self.targets[target]
    }
}

impl TargetCell {
    /// Counts a right answer.
    pub(crate) fn answered(&self, measured: bool) {
        add(&self.answers, 1);
        add(&self.measured, u64::from(measured));
    }

    /// Counts a failed request.
    pub(crate) fn failed(&self) {
        add(&self.failed, 1);
    }
}

/// Adds to a counter that only this thread writes, which needs no locked instruction.
fn add(counter: &AtomicU64, more: u64) {
    counter.store(counter.load(Ordering::Relaxed) + more, Ordering::Relaxed);
}

/// Returns what marks an allowance as that of a phase.
fn stamp(phase: u32) -> u64 {
    u64::from(phase) << REQUEST_BITS
}

/// Returns how many requests are left in an allowance; none if there are none for this phase.
fn left_in(packed: u64, phase: u32) -> Option<u64> {
    let left = packed & MOST_REQUESTS;
    (packed - left == stamp(phase) && left > 0).then_some(left)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(shared: &Shared, thread: usize, target: usize, times: u64) {
        (0..times).for_each(|_| shared.thread(thread).target(target).answered(true));
    }

    fn finishes(shared: &Shared) -> bool {
        shared.finish_if_complete(7);
        shared.finished()
    }

    #[test]
    fn answers_of_all_threads_and_targets_are_needed() {
        let shared = Shared::new(2, 2, Some(3));
        shared.begin_measuring();
        (0..2).for_each(|thread| shared.thread(thread).enter(1));
        answer(&shared, 0, 0, 9);
        answer(&shared, 0, 1, 1);
        answer(&shared, 1, 1, 1);
        assert!(!finishes(&shared));
        answer(&shared, 1, 1, 1);
        assert!(finishes(&shared) && shared.ended());
        shared.finish_if_complete(8);
        assert_eq!(shared.finished_at(), Some(7));
    }

    #[test]
    fn answers_before_the_phase_do_not_end_it() {
        let shared = Shared::new(2, 1, Some(3));
        answer(&shared, 0, 0, 5);
        assert!(!finishes(&shared));
        shared.begin_measuring();
        shared.thread(1).enter(1);
        assert!(!finishes(&shared));
        shared.thread(0).enter(1);
        answer(&shared, 1, 0, 2);
        assert!(!finishes(&shared));
        answer(&shared, 0, 0, 1);
        assert!(finishes(&shared));
        assert_eq!(
            shared.counts(),
            [Counts {
                answers: 8,
                failed: 0
            }]
        );
    }

    #[test]
    fn leave_to_send_is_given_once_and_only_in_its_phase() {
        let shared = Shared::new(2, 2, Some(1000));
        assert_eq!((shared.take(0, 0), shared.some_left(0)), (0, false));
        shared.begin_measuring();
        let mut taken = 0;
        while let batch @ 1.. = shared.take(0, 1) {
            taken += batch;
        }
        assert_eq!(
            (taken, shared.take(0, 1), shared.some_left(1)),
            (1000, 0, true)
        );
        assert_eq!(shared.take(1, 1), 125);
        shared.begin_measuring();
        assert_eq!((shared.take(1, 1), shared.take(1, 2)), (0, 125));
    }

    #[test]
    fn a_load_of_a_given_time_never_finishes() {
        let shared = Shared::new(1, 1, None);
        shared.begin_measuring();
        shared.thread(0).enter(1);
        answer(&shared, 0, 0, 1000);
        assert!(!finishes(&shared) && !shared.ended());
        shared.stop();
        assert!(shared.ended() && !shared.finished());
    }
}
