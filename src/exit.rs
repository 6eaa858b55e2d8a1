//! The exit codes, one table for every verb, safe under `git bisect run`. Pure.
//!
//! git reads 0 as good, 125 as skip, any other code up to 127 as bad, and from 128 on stops the bisection.

/// How a verb ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Exit {
    /// Done; no regression among the pairs that could be compared.
    Done = 0,
    /// At least one regression.
    Regression = 1,
    /// Undecided: nothing could be compared, or every pair is unknown.
    Undecided = 125,
    /// The tool cannot run: configuration, machine, lock held, disk full.
    CannotRun = 128,
    /// Wrong usage.
    Usage = 129,
    /// Interrupted by ^C; results are kept.
    Interrupted = 130,
    /// Terminated; results are kept.
    Terminated = 143,
    /// A bug: a caught panic.
    Bug = 255,
}

impl Exit {
    /// Returns the code.
    pub fn code(self) -> u8 {
        self as u8
    }
}
