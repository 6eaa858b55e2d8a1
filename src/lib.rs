//! Harness: which version made my server slower?
//!
//! The modules stand in the order of the path that a version takes.

// The command line: what is asked for, what came of it.
pub mod cli;
pub mod commands;
pub mod exit;
pub mod error;
// From text to an ordered list of versions.
pub mod workplace;
pub mod matrix;
pub mod source;
pub mod version;
// From a version to an artifact, to a running server, to counts.
pub mod build;
pub mod address;
mod tls;
mod dial;
pub mod serve;
pub mod load;
pub mod outcome;
// The loop: what is asked next, one session, what came of it.
pub mod plan;
pub mod session;
pub mod pipeline;
pub mod hunt;
pub mod live;
pub mod journal;
pub mod import;
// From numbers to conclusions to text.
pub mod stats;
pub mod verdict;
pub mod bisect;
pub mod step;
pub mod history;
pub mod nightly;
pub mod report;
pub mod export;
// The machine and the person in front of it.
pub mod process;
pub mod host;
pub mod progress;
pub mod notify;
// A server whose cost is known, to try all of it by.
pub mod known;
