//! Harness: which version made my server slower?
//!
//! The modules stand in the order of the path that a version takes.

// The seam of the command line.
pub mod error;
pub mod exit;
// From text to an ordered list of versions.
pub mod matrix;
pub mod version;
pub mod source;
// From a version to an artifact, to a running server, to counts.
pub mod build;
pub mod serve;
pub mod load;
// What is asked next, and what came of it.
pub mod plan;
pub mod journal;
pub mod outcome;
// From numbers to conclusions to text.
pub mod stats;
pub mod verdict;
pub mod report;
// The machine.
pub mod process;
pub mod host;
