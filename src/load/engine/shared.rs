//! What the load's threads and their owner tell one another, without locks.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use crate::load::Counts;

/// The end that has not come.
const NEVER: u64 = u64::MAX;

/// The state of a load. Each cell is written by one thread only; the rest is written once or twice in all.
#[derive(Debug)]
pub(crate) struct Shared {
    stop: AtomicBool,
    /// 0 before measuring, raised by each beginning.
    phase: AtomicU32,
    /// When every target had its answers, in nanoseconds of the load's clock.
    finished_at: AtomicU64,
    /// Answers that each target is measured for, where they decide the end.
    wanted: Option<u64>,
    threads: Vec<ThreadCell>,
}

/// What one thread tells. Cells have cache lines of their own, so that no thread slows another's counting.
#[derive(Debug)]
#[repr(align(128))]
pub(crate) struct ThreadCell {
    /// The phase to which `measured` belongs.
    phase: AtomicU32,
    cpu_nanoseconds: AtomicU64,
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
            cpu_nanoseconds: AtomicU64::new(0),
            targets: (0..targets).map(|_| TargetCell::default()).collect(),
        };
        Self {
            stop: AtomicBool::new(false),
            phase: AtomicU32::new(0),
            finished_at: AtomicU64::new(NEVER),
            wanted,
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

    /// Returns the CPU time of all threads, a few milliseconds old at most.
    pub(crate) fn cpu(&self) -> Duration {
        let each = self
            .threads
            .iter()
            .map(|thread| thread.cpu_nanoseconds.load(Ordering::Relaxed));
        Duration::from_nanos(each.sum())
    }

    /// Begins a measured phase; each thread notices it at its next turn.
    pub(crate) fn begin_measuring(&self) {
        self.phase.fetch_add(1, Ordering::Relaxed);
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
        self.phase.load(Ordering::Relaxed)
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

    /// Tells the CPU time that the thread has used.
    pub(crate) fn report_cpu(&self, nanoseconds: u64) {
        self.cpu_nanoseconds.store(nanoseconds, Ordering::Relaxed);
    }

    /// Returns the thread's own cell of a target.
    pub(crate) fn target(&self, target: usize) -> &TargetCell {
        &self.targets[target]
    }
}

impl TargetCell {
    /// Counts a right answer.
    pub(crate) fn answered(&self) {
        add_one(&self.answers);
        add_one(&self.measured);
    }

    /// Counts a failed request.
    pub(crate) fn failed(&self) {
        add_one(&self.failed);
    }
}

/// Adds one to a counter that only this thread writes, which needs no locked instruction.
fn add_one(counter: &AtomicU64) {
    counter.store(counter.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(shared: &Shared, thread: usize, target: usize, times: u64) {
        (0..times).for_each(|_| shared.thread(thread).target(target).answered());
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
