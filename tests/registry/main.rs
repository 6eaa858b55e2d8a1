//! What needs a registry: the real program, the registry's own client, and packages that are small.
#![expect(clippy::disallowed_methods, reason = "tests work on the real machine")]
#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot be set up has failed"
)]

mod axis;

use std::path::Path;
use std::process::{Command, Output, Stdio};

/// Runs the real program in a folder to its end.
fn harness(folder: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_harness"))
        .args(arguments)
        .current_dir(folder)
        .env_remove("HARNESS_PROJECT")
        .env("NO_COLOR", "1")
        .stdin(Stdio::null())
        .output()
        .unwrap()
}
