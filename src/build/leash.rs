//! How long blocking work may go on: until its time is over, or nobody waits for it any more. Edge.

#![expect(clippy::disallowed_methods, reason = "it holds work against the clock")]

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// What work on another thread looks at between two pieces of it.
#[derive(Debug, Clone)]
pub(super) struct Leash {
    until: Instant,
    dropped: Arc<AtomicBool>,
}

/// Held by whoever waits for the work; dropping it ends the work.
#[derive(Debug)]
pub(super) struct Holder(Arc<AtomicBool>);

impl Leash {
    /// Makes a leash for work that may take this long.
    pub(super) fn new(time: Duration) -> (Self, Holder) {
        let dropped = Arc::new(AtomicBool::new(false));
        let leash = Self {
            until: Instant::now() + time,
            dropped: Arc::clone(&dropped),
        };
        (leash, Holder(dropped))
    }

    /// Returns whether the work must end.
    pub(super) fn is_over(&self) -> bool {
        self.dropped.load(Ordering::Relaxed) || Instant::now() >= self.until
    }
}

impl Drop for Holder {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_ends_when_nobody_waits_or_its_time_is_over() {
        let (leash, holder) = Leash::new(Duration::from_mins(1));
        assert!(!leash.is_over());
        drop(holder);
        assert!(leash.is_over());
        let (leash, _holder) = Leash::new(Duration::ZERO);
        assert!(leash.is_over());
    }
}
