//! What one line of a log says of a failure. Pure.

use super::Nature;
use super::lines::Line;
use super::{managed, native, packages, rust, surroundings};

/// What one line says.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Finding {
    pub(super) nature: Nature,
    pub(super) text: String,
    /// Whether it names a cause or only passes one on.
    pub(super) names_cause: bool,
}

impl Finding {
    pub(super) fn new(nature: Nature, text: &str) -> Self {
        Self {
            nature,
            text: text.trim().to_owned(),
            names_cause: true,
        }
    }

    pub(super) fn passing_on(nature: Nature, text: &str) -> Self {
        Self {
            names_cause: false,
            ..Self::new(nature, text)
        }
    }
}

/// Those who know a tool's way to report a failure; the first that knows a line has it.
const EXPERTS: &[fn(&str) -> Option<Finding>] = &[
    native::library,
    native::linker,
    native::program,
    packages::pip,
    packages::uv,
    managed::java,
    managed::go,
    rust::finding,
    managed::exception,
    native::compiler,
    passing_on,
];

/// Returns what one line says, if it says anything of a failure.
pub(super) fn find(line: &Line) -> Option<Finding> {
    let said = line.said();
    if said.is_empty() || is_beside_the_point(line) {
        return None;
    }
    let around = surroundings::nature(said);
    if line.is_npms()
        && let Some(finding) = packages::npm(said)
    {
        let nature = around.unwrap_or(finding.nature);
        return Some(Finding { nature, ..finding });
    }
    if let Some(nature) = around {
        return Some(Finding::new(nature, said));
    }
    EXPERTS.iter().find_map(|expert| expert(said))
}

/// Returns whether a line says nothing of the cause: an echoed command, a warning, or a mere echo of a failure.
fn is_beside_the_point(line: &Line) -> bool {
    let lower = line.said().to_lowercase();
    let begins = [
        "warning",
        "npm warn",
        "note:",
        "a complete log",
        // What configure scripts and CMake look for is not what they miss.
        "checking ",
        "-- ",
        // Who finds no ready-made add-on goes on and compiles it.
        "node-pre-gyp http",
        "node-pre-gyp err! tried to download",
        "prebuild-install",
    ];
    let holds = [
        "ld returned",
        "linker command failed",
        ": warning: ",
        "spurious network error",
    ];
    line.is_echo()
        || is_quoted_source(&lower)
        || begins.iter().any(|begin| lower.starts_with(begin))
        || holds.iter().any(|part| lower.contains(part))
}

/// Returns whether a compiler quotes the source on this line: `  12 | …`.
fn is_quoted_source(line: &str) -> bool {
    line.trim_start_matches(|letter: char| letter.is_ascii_digit())
        .trim_start()
        .starts_with('|')
}

/// Recognises lines that pass a failure on without naming its cause.
fn passing_on(line: &str) -> Option<Finding> {
    let begins = [
        "ERROR: ",
        "fatal: ",
        "FATAL ERROR: ",
        "Fatal error: ",
        "Error: ",
        "gyp ERR! ",
        "Segmentation fault",
    ];
    let ends_a_build = line.starts_with("make") && line.contains(": *** ");
    let is_one = ends_a_build || begins.iter().any(|begin| line.starts_with(begin));
    is_one.then(|| Finding::passing_on(Nature::Other, line))
}
