//! Sums over counters that come and go with the processes and threads that they belong to. Pure.

use std::collections::BTreeMap;

/// How much the counters of some processes or threads have grown since a first look.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Growth<Key: Ord, const COUNTERS: usize> {
    known: BTreeMap<Key, [u64; COUNTERS]>,
    /// The sum of what each counter has grown. One that was not there before has grown from 0, and what one that is
    /// gone has grown since it was last seen is not known.
    pub(super) grown: [u64; COUNTERS],
    /// The sum of the last values of those that are gone.
    pub(super) gone: [u64; COUNTERS],
}

impl<Key: Ord, const COUNTERS: usize> Growth<Key, COUNTERS> {
    /// Begins with a first look.
    pub(super) fn since(known: BTreeMap<Key, [u64; COUNTERS]>) -> Self {
        Self {
            known,
            grown: [0; COUNTERS],
            gone: [0; COUNTERS],
        }
    }

    /// Takes another look into account.
    pub(super) fn note(&mut self, now: BTreeMap<Key, [u64; COUNTERS]>) {
        for (key, counters) in &now {
            let earlier = self.known.remove(key).unwrap_or([0; COUNTERS]);
            for (place, counter) in counters.iter().enumerate() {
                self.grown[place] += counter.saturating_sub(earlier[place]);
            }
        }
        for counters in self.known.values() {
            for (sum, last) in self.gone.iter_mut().zip(counters) {
                *sum += last;
            }
        }
        self.known = now;
    }
}

/// A process, as long as it lives: its id and the time of its start, as ids are given again.
pub(super) type ProcessKey = (i32, u64);

/// The CPU time of a tree, out of each process's own and that of the children which it has waited for, ns.
///
/// When a process ends, its time becomes a part of what its parent has waited for; what of that was counted before, while
/// the process lived, is taken off again. Parents that do not wait for their children lose the rest of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CpuLedger {
    processes: Growth<ProcessKey, 2>,
    /// What ended processes have used and nobody had counted before. The kernel tells waited time in ticks, rounded down:
    /// so this never falls, and rounding does not add up.
    ended: u64,
}

impl CpuLedger {
    /// Begins with a first look.
    pub(super) fn since(known: BTreeMap<ProcessKey, [u64; 2]>) -> Self {
        Self {
            processes: Growth::since(known),
            ended: 0,
        }
    }

    /// Takes another look into account and returns the CPU time since the first one, ns.
    pub(super) fn note(&mut self, now: BTreeMap<ProcessKey, [u64; 2]>) -> u64 {
        self.processes.note(now);
        let [own, waited] = self.processes.grown;
        let counted: u64 = self.processes.gone.iter().sum();
        self.ended = self.ended.max(waited.saturating_sub(counted));
        own + self.ended
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn look(processes: &[(i32, u64, u64)]) -> BTreeMap<ProcessKey, [u64; 2]> {
        processes
            .iter()
            .map(|&(pid, own, waited)| ((pid, 7), [own, waited]))
            .collect()
    }

    #[test]
    fn what_was_used_before_the_first_look_does_not_count() {
        let mut ledger = CpuLedger::since(look(&[(1, 100, 900), (2, 50, 0)]));
        assert_eq!(ledger.note(look(&[(1, 130, 900), (2, 50, 0)])), 30);
        assert_eq!(ledger.note(look(&[(1, 130, 900), (2, 55, 0)])), 35);
    }

    #[test]
    fn a_child_that_is_born_later_counts_whole() {
        let mut ledger = CpuLedger::since(look(&[(1, 100, 0)]));
        assert_eq!(ledger.note(look(&[(1, 100, 0), (2, 40, 0)])), 40);
    }

    #[test]
    fn an_ended_child_counts_once_however_often_it_was_seen() {
        // It used 60 before the first look, 20 that were seen, and 10 that were not.
        let mut ledger = CpuLedger::since(look(&[(1, 100, 0), (2, 60, 0)]));
        assert_eq!(ledger.note(look(&[(1, 100, 0), (2, 80, 0)])), 20);
        assert_eq!(ledger.note(look(&[(1, 100, 90)])), 30);
        assert_eq!(ledger.note(look(&[(1, 105, 90)])), 35);
    }

    #[test]
    fn a_child_that_was_never_seen_counts_when_it_was_waited_for() {
        let mut ledger = CpuLedger::since(look(&[(1, 100, 0)]));
        assert_eq!(ledger.note(look(&[(1, 100, 25)])), 25);
    }

    #[test]
    fn a_family_that_ends_from_below_counts_once() {
        // 1 has a child 2 with a child 3; 3 ends first, then 2.
        let mut ledger = CpuLedger::since(look(&[(1, 0, 0), (2, 10, 0), (3, 20, 0)]));
        assert_eq!(ledger.note(look(&[(1, 0, 0), (2, 15, 30)])), 15);
        assert_eq!(ledger.note(look(&[(1, 0, 48)])), 18);
    }

    #[test]
    fn a_child_that_nobody_waits_for_takes_nothing_away() {
        let mut ledger = CpuLedger::since(look(&[(1, 100, 0), (2, 5000, 0)]));
        assert_eq!(ledger.note(look(&[(1, 110, 0)])), 10);
        assert_eq!(ledger.note(look(&[(1, 120, 0)])), 20);
    }

    #[test]
    fn time_in_whole_ticks_neither_falls_nor_adds_up() {
        // A hundred children of 13 each, all seen at 13, while the parent's sum is told in tens.
        let mut ledger = CpuLedger::since(look(&[(1, 0, 0)]));
        let mut last = 0;
        for child in 1..=100_i32 {
            let waited = |children: i32| u64::from(children.unsigned_abs()) * 13 / 10 * 10;
            let seen = ledger.note(look(&[(1, 0, waited(child - 1)), (child + 1, 13, 0)]));
            let reaped = ledger.note(look(&[(1, 0, waited(child))]));
            assert!(last <= seen && seen <= reaped, "{last} {seen} {reaped}");
            let used = u64::from(child.unsigned_abs()) * 13;
            assert!(reaped.abs_diff(used) <= 10, "{child}: {reaped}");
            last = reaped;
        }
    }

    #[test]
    fn another_process_with_the_same_id_is_another_one() {
        let mut ledger = CpuLedger::since(BTreeMap::from([((1, 1), [500, 0])]));
        assert_eq!(ledger.note(BTreeMap::from([((1, 2), [40, 0])])), 40);
    }
}
