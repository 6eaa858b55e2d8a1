//! What a thread of the load has cost so far, as the kernel tells.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::time::Duration;

use nix::sys::resource::{UsageWho, getrusage};
use rustix::time::{ClockId, clock_gettime};

use crate::load::latency::nanoseconds;

/// What a thread has cost since it began.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Cost {
    /// CPU time, ns.
    pub(crate) cpu: u64,
    /// How often it gave up its CPU by itself.
    pub(crate) voluntary_switches: u64,
    /// How often its CPU was taken from it.
    pub(crate) involuntary_switches: u64,
    /// Time that it was ready and waited for its CPU, ns; 0 where the kernel does not tell.
    pub(crate) run_delay: u64,
}

/// Reads the cost of the thread that made it.
#[derive(Debug)]
pub(crate) struct Gauge {
    schedstat: Option<File>,
}

impl Gauge {
    /// Makes the gauge of the calling thread.
    pub(crate) fn new() -> Self {
        Self {
            schedstat: File::open("/proc/thread-self/schedstat").ok(),
        }
    }

    /// Returns the cost so far.
    pub(crate) fn read(&mut self) -> Cost {
        let cpu = Duration::try_from(clock_gettime(ClockId::ThreadCPUTime));
        let usage = getrusage(UsageWho::RUSAGE_THREAD).ok();
        let count = |count: i64| u64::try_from(count).unwrap_or(0);
        Cost {
            cpu: nanoseconds(cpu.unwrap_or_default()),
            voluntary_switches: usage.map_or(0, |usage| count(usage.voluntary_context_switches())),
            involuntary_switches: usage
                .map_or(0, |usage| count(usage.involuntary_context_switches())),
            run_delay: self.run_delay().unwrap_or(0),
        }
    }

    /// Reads the second of three numbers: time on the CPU, time ready to be, and how often it was.
    fn run_delay(&self) -> Option<u64> {
        let mut buffer = [0; 64];
        let length = self.schedstat.as_ref()?.read_at(&mut buffer, 0).ok()?;
        let text = std::str::from_utf8(&buffer[..length]).ok()?;
        text.split_whitespace().nth(1)?.parse().ok()
    }
}
