//! The git command, for all that moves objects or writes files. Edge only by the program that it runs.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use crate::error::Result;
use crate::process::{self, Captured};
use crate::source;

/// What is set before every command: no hook of anybody's runs, no address names a program to run, and files come out
/// as they were committed.
const SETTINGS: [&str; 3] = [
    "core.hooksPath=/dev/null",
    "protocol.ext.allow=never",
    "core.autocrlf=false",
];

/// Runs git and returns what it said. It never asks a person anything.
pub(crate) async fn git(args: &[&str], cwd: &Path, patience: Duration) -> Result<Captured> {
    let settings = SETTINGS.iter().flat_map(|setting| ["-c", setting]);
    let args: Vec<&str> = settings.chain(args.iter().copied()).collect();
    source::ask_with(environment(), "git", &args, cwd, patience).await
}

/// Returns how a command failed: the first line that git complained with; none if it ended well.
pub(crate) fn complaint(captured: &Captured) -> Option<String> {
    let how = source::failure(&captured.ended)?;
    Some(source::first_complaint(captured).map_or(how, str::to_owned))
}

fn environment() -> BTreeMap<String, String> {
    let mut environment = process::client_environment();
    let fixed = [
        // No question on a terminal and none in a window.
        ("GIT_TERMINAL_PROMPT", "0"),
        ("GIT_ASKPASS", ""),
        // libgit2 reads no other format of refs; gits that know none ignore this.
        ("GIT_DEFAULT_REF_FORMAT", "files"),
        // Large files that git keeps elsewhere stay the pointers that were committed.
        ("GIT_LFS_SKIP_SMUDGE", "1"),
        // What it says is quoted in messages, and read by the diagnosis, in one language.
        ("LC_ALL", "C"),
    ];
    environment.extend(fixed.map(|(name, value)| (name.to_owned(), value.to_owned())));
    environment
}
