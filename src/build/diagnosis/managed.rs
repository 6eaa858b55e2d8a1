//! What Go, Java, Maven, and programs with exceptions (Node.js, Python, Java) say. Pure.

use super::Nature;
use super::finding::Finding;
use super::place;

/// Recognises Go's compiler and its module tool.
pub(super) fn go(line: &str) -> Option<Finding> {
    let holds = |parts: &[&str], text: &str| parts.iter().any(|part| text.contains(part));
    if let Some(text) = line.strip_prefix("go: ") {
        return holds(GO_MODULE, text).then(|| Finding::new(Nature::Dependency, text));
    }
    let (file, rest) = line.split_once(".go:")?;
    let (position, text) = rest.split_once(": ")?;
    let is_position = position
        .chars()
        .all(|letter| letter.is_ascii_digit() || letter == ':');
    let nature = if holds(GO_MODULE, text) {
        Nature::Dependency
    } else {
        Nature::Compiler
    };
    let text = text.split("; to add").next().unwrap_or(text);
    (is_position && !file.contains(' ')).then(|| Finding::new(nature, text))
}

/// What the module tool says when it refuses, and not while it works.
const GO_MODULE: &[&str] = &[
    "requires go >= ",
    ": reading ",
    "unknown revision",
    "no matching versions",
    "updates to go.mod needed",
    "inconsistent vendoring",
    "cannot find main module",
    "go.mod file not found",
    "errors parsing go.mod",
    "missing go.sum entry",
    "no required module provides package",
    "cannot find module providing package",
    "checksum mismatch",
];

/// Recognises Maven's own reports, and what javac says of its own options.
pub(super) fn java(line: &str) -> Option<Finding> {
    if line.starts_with("Error: LinkageError occurred while loading") {
        return Some(Finding::passing_on(Nature::Exception, line));
    }
    if let Some((file, rest)) = line.split_once(".java:[")
        && !file.contains(' ')
        && let Some((_, text)) = rest.split_once("] ")
    {
        return Some(Finding::new(Nature::Compiler, text));
    }
    let refused = [
        " could not be resolved: ",
        "Could not resolve dependencies ",
    ];
    if refused.iter().any(|part| line.contains(part)) {
        let start = line.find("Could not find artifact").unwrap_or(0);
        let text = line[start..].trim_end_matches(" -> [Help 1]");
        return Some(Finding::new(Nature::Dependency, text));
    }
    let text = line.strip_prefix("error: ").unwrap_or(line);
    let options = [
        "Source option ",
        "Target option ",
        "release version ",
        "invalid target release",
    ];
    let is_refused = options.iter().any(|option| text.starts_with(option));
    is_refused.then(|| Finding::new(Nature::Compiler, text))
}

/// Recognises an exception nobody caught: `TypeError: …`, `a.b.SomeException: …`, with or without a place before it.
pub(super) fn exception(line: &str) -> Option<Finding> {
    if line.starts_with("panic: ") {
        return Some(Finding::new(Nature::Exception, line));
    }
    let line = line
        .strip_prefix("Uncaught ")
        .or_else(|| line.strip_prefix("Caused by: "))
        .or_else(|| {
            Some(
                line.strip_prefix("Exception in thread \"")?
                    .split_once("\" ")?
                    .1,
            )
        })
        .unwrap_or(line);
    let (before, after) = line.split_once(": ").unwrap_or((line, ""));
    let text = if place::file_and_line(before).is_some() {
        after
    } else {
        line
    };
    let (name, message) = text.split_once(": ").unwrap_or((text, ""));
    let name = name.split(" [").next().unwrap_or(name);
    let class = name.rsplit('.').next().unwrap_or(name);
    let is_name = class
        .chars()
        .all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
        && class.starts_with(|first: char| first.is_ascii_uppercase())
        && (class.ends_with("Error") || class.ends_with("Exception"));
    let is_said = !message.trim().is_empty() || (class.len() > "Exception".len() && text == name);
    let passes_on =
        class == "CalledProcessError" || RUNNERS.iter().any(|begin| message.starts_with(begin));
    (is_name && is_said).then(|| Finding {
        names_cause: !passes_on,
        ..Finding::new(Nature::Exception, text)
    })
}

/// How the messages of those begin that only ran what failed.
const RUNNERS: &[&str] = &[
    "`make` failed",
    "`gyp` failed",
    "Failed to execute ",
    "Command failed",
];
