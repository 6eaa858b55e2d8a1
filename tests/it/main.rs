//! The real program in a sealed world, below it tiny real servers named by their fault.
#![expect(clippy::disallowed_methods, reason = "tests work on the real machine")]
#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot be set up has failed"
)]

mod world;

mod cells;
mod faults;
mod foreign;
mod interruption;
mod messages;
mod resuming;
mod shipped;
mod supervision;
mod workloads;
