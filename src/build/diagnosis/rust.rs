//! What rustc, cargo and Rust programs say. Pure.

use super::Nature;
use super::finding::Finding;

/// Recognises the messages of rustc, cargo and Rust programs.
pub(super) fn finding(line: &str) -> Option<Finding> {
    if let Some((_, rest)) = line.split_once("panicked at ") {
        let text = format!("panicked at {rest}");
        return Some(Finding::new(Nature::Exception, &text));
    }
    if let Some((code, text)) = line
        .strip_prefix("error[")
        .and_then(|rest| rest.split_once("]: "))
    {
        return Some(Finding::new(Nature::Compiler, &format!("{text} ({code})")));
    }
    if line.starts_with("package `") && line.contains(" but ") {
        return Some(Finding::new(Nature::Dependency, line));
    }
    let text = line.strip_prefix("error: ")?;
    let begins = |beginnings: &[&str]| beginnings.iter().any(|begin| text.starts_with(begin));
    let nature = if begins(DOWNLOAD) {
        Nature::Network
    } else if begins(DEPENDENCY) || text.contains("--locked was passed") {
        Nature::Dependency
    } else {
        Nature::Compiler
    };
    Some(Finding {
        names_cause: !begins(PASSING_ON),
        ..Finding::new(nature, text)
    })
}

const DOWNLOAD: &[&str] = &[
    "failed to download",
    "failed to fetch",
    "failed to load source",
];

const DEPENDENCY: &[&str] = &[
    "failed to select a version",
    "no matching package",
    "failed to get",
    "the crate `",
    "could not find `",
    "failed to parse manifest",
    "rustc ",
    "package `",
];

/// How `error: ` lines go on that only pass a failure on.
const PASSING_ON: &[&str] = &[
    "could not compile",
    "aborting due to",
    "linking with",
    "build failed",
    "failed to run custom build command",
    "failed to select a version for `",
    "failed to get",
    "failed to download",
    "failed to load source",
    "failed to fetch",
    "failed to compile",
    "subprocess-exited-with-error",
    "process didn't exit",
    "the following",
    "test failed",
    // setuptools, after the compiler has said why
    "command '",
    "Command '",
];
