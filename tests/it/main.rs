//! The real program in a sealed world, below it tiny real servers named by their fault.
#![expect(clippy::disallowed_methods, reason = "tests work on the real machine")]
#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot be set up has failed"
)]

mod world;

mod attach;
mod bisect;
mod browser;
mod budget;
mod builds;
mod cells;
mod compare;
mod culprits;
mod diagnosis;
mod doctor;
mod encrypted;
mod export;
mod faults;
mod foreign;
mod git;
mod history;
mod hostile;
mod hunting;
mod import;
mod interruption;
mod known;
mod known_server;
mod malice;
mod messages;
mod nightly;
mod orders;
mod places;
mod pollution;
mod resuming;
mod serve;
mod sharing;
mod shell;
mod shelf;
mod shipped;
mod site;
mod sources;
mod step;
mod supervision;
mod tools;
mod url;
mod usage;
mod workloads;
