//! Hardware counters of a process tree, where the machine has them. Edge.
//!
//! They are opened on a supervisor before it starts anything, and every process and thread inherits them: so those that
//! begin later count, and those that end are not lost.

use std::io;
use std::sync::{Mutex, PoisonError};

use perf_event::events::{Event, Hardware};
use perf_event::{Builder, CountAndTime, Counter};
use rustix::process::Pid;

use crate::outcome::Counters;

/// Instructions and cycles of everything below some supervisors, in user space, as the kernel's need more rights.
#[derive(Debug, Default)]
pub(super) struct Counting(Mutex<Vec<Option<[Counter; 2]>>>);

/// What was counted up to a moment, for each supervisor.
#[derive(Debug, Clone)]
pub(super) struct Counted(Vec<[CountAndTime; 2]>);

impl Counting {
    /// Counts a process as well from now on, with all that it will start.
    pub(super) fn add(&mut self, pid: Pid) {
        let open = |event| counter(pid, event).ok();
        let pair = open(Hardware::INSTRUCTIONS).zip(open(Hardware::CPU_CYCLES));
        let all = self.0.get_mut().unwrap_or_else(PoisonError::into_inner);
        all.push(pair.map(<[Counter; 2]>::from));
    }

    /// Reads all; none where the machine has no such counters, or nothing is counted.
    pub(super) fn read(&self) -> Option<Counted> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let read = |pair: &mut Option<[Counter; 2]>| {
            let [instructions, cycles] = pair.as_mut()?;
            Some([
                instructions.read_count_and_time().ok()?,
                cycles.read_count_and_time().ok()?,
            ])
        };
        let counted: Option<Vec<_>> = all.iter_mut().map(read).collect();
        counted.filter(|all| !all.is_empty()).map(Counted)
    }
}

impl Counted {
    /// Returns what was counted since an earlier moment.
    pub(super) fn since(&self, earlier: &Self) -> Counters {
        let sum = |place: usize| {
            let pairs = earlier.0.iter().zip(&self.0);
            let grown = pairs.map(|(earlier, later)| between(&earlier[place], &later[place]));
            grown.sum()
        };
        Counters {
            instructions: sum(0),
            cycles: sum(1),
        }
    }
}

fn counter(pid: Pid, event: impl Event) -> io::Result<Counter> {
    Builder::new(event)
        .observe_pid(pid.as_raw_pid())
        .inherit(true)
        .enabled(true)
        .build()
}

/// Returns the growth of a counter, scaled up where it had to share the hardware with others and ran only in part.
fn between(earlier: &CountAndTime, later: &CountAndTime) -> u64 {
    let grown = |later: u64, earlier: u64| u128::from(later.saturating_sub(earlier));
    let running = grown(later.time_running, earlier.time_running);
    let enabled = grown(later.time_enabled, earlier.time_enabled);
    let count = grown(later.count, earlier.count);
    u64::try_from((count * enabled).checked_div(running).unwrap_or(0)).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use perf_event::events::Software;

    use super::*;

    fn moment(count: u64, time_enabled: u64, time_running: u64) -> CountAndTime {
        CountAndTime {
            count,
            time_enabled,
            time_running,
        }
    }

    #[test]
    fn a_counter_that_ran_half_of_the_time_is_scaled_up() {
        let earlier = moment(1000, 100, 100);
        assert_eq!(between(&earlier, &moment(1500, 200, 200)), 500);
        assert_eq!(between(&earlier, &moment(1500, 300, 200)), 1000);
        assert_eq!(between(&earlier, &moment(1000, 200, 100)), 0);
    }

    #[test]
    fn threads_that_begin_and_end_while_counting_are_counted() {
        let own = Pid::from_raw(rustix::thread::gettid().as_raw_pid()).unwrap();
        let mut counter = match counter(own, Software::TASK_CLOCK) {
            Ok(counter) => counter,
            Err(error) => return println!("skipped: this machine counts nothing: {error}"),
        };
        let before = counter.read_count_and_time().unwrap();
        std::thread::spawn(|| {
            (0..20_000_000_u64).fold(1, |sum, next| sum ^ std::hint::black_box(next))
        })
        .join()
        .unwrap();
        let after = counter.read_count_and_time().unwrap();
        let own_part = std::time::Duration::from_millis(1).as_nanos();
        assert!(u128::from(between(&before, &after)) > own_part);
    }

    #[test]
    fn a_machine_without_hardware_counters_gives_none() {
        let own = rustix::process::getpid();
        let mut counting = Counting::default();
        assert!(counting.read().is_none(), "nothing is counted yet");
        counting.add(own);
        let has_them = counter(own, Hardware::INSTRUCTIONS).is_ok();
        assert_eq!(counting.read().is_some(), has_them);
    }

    #[test]
    fn all_supervisors_count_together() {
        let at = |count| Counted(vec![[moment(count, 1, 1), moment(2 * count, 1, 1)]; 2]);
        let expected = Counters {
            instructions: 0,
            cycles: 0,
        };
        assert_eq!(at(500).since(&at(500)), expected);
        let later = Counted(vec![[moment(700, 2, 2), moment(1300, 2, 2)]; 2]);
        let expected = Counters {
            instructions: 400,
            cycles: 600,
        };
        assert_eq!(later.since(&at(500)), expected);
    }
}
