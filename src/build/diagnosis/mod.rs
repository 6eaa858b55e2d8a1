//! From the text of a log to the first real error in it, what kind of cause that is, and what could be tried. Pure.
//!
//! Build tools repeat a failure at every level on the way out, and the last lines are the least telling ones. So each
//! line is looked at by itself, the first one that names a cause wins, and lines that only pass a failure on
//! (`make: *** Error 1`, `could not compile`) count when there is nothing better.

mod causes;
mod explain;
mod finding;
mod lines;
mod managed;
mod native;
mod packages;
mod place;
mod rust;
mod surroundings;

use std::fmt;

use crate::outcome::Class;
use finding::Finding;
use lines::{Line, shorten};

/// Error lines that a diagnosis shows at most.
const SHOWN: usize = 5;
/// Characters of a line that are shown at most.
const WIDTH: usize = 240;

/// What kind of cause it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Nature {
    /// The compiler refused the source.
    Compiler,
    /// The linker did not find what it needs.
    Linker,
    /// A dependency does not exist or does not fit.
    Dependency,
    /// An exception or a panic that nobody caught.
    Exception,
    /// A shared library is missing or too old.
    Library,
    /// A program is missing or cannot run here.
    Program,
    /// Memory ran out.
    Memory,
    /// The disk is full.
    Space,
    /// The network failed.
    Network,
    /// The address to listen on is taken.
    Port,
    /// None of these.
    Other,
}

impl Nature {
    /// Returns whether trying again may help.
    pub fn class(self) -> Class {
        match self {
            Self::Memory | Self::Space | Self::Network | Self::Port => Class::Transient,
            Self::Compiler
            | Self::Linker
            | Self::Dependency
            | Self::Exception
            | Self::Library
            | Self::Program
            | Self::Other => Class::Permanent,
        }
    }

    /// Returns what could be tried where no more than the nature is known.
    pub fn hint(self) -> Option<&'static str> {
        match self {
            Self::Memory => Some("fewer jobs at once, or a machine with more memory"),
            Self::Space => Some("free some space, and run again"),
            Self::Compiler
            | Self::Linker
            | Self::Dependency
            | Self::Exception
            | Self::Library
            | Self::Program
            | Self::Network
            | Self::Port
            | Self::Other => None,
        }
    }
}

impl fmt::Display for Nature {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Compiler => "compile error",
            Self::Linker => "link error",
            Self::Dependency => "dependency",
            Self::Exception => "exception",
            Self::Library => "shared library",
            Self::Program => "program",
            Self::Memory => "out of memory",
            Self::Space => "disk full",
            Self::Network => "network",
            Self::Port => "address in use",
            Self::Other => "error",
        })
    }
}

/// What a log says of a failure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnosis {
    /// What the tool says, in one line; none when the log says nothing.
    pub cause: Option<String>,
    /// The first real error lines, at most five.
    pub errors: Vec<String>,
    /// What kind of cause it is.
    pub nature: Nature,
    /// The kind of cause in plain words; none where it is not sure.
    pub explanation: Option<String>,
    /// What could be tried; none where it is not sure.
    pub hint: Option<String>,
}

impl Diagnosis {
    /// Returns the cause and its explanation in one line.
    pub fn in_one_line(&self) -> Option<String> {
        Some(self.explaining(self.cause.as_deref()?))
    }

    /// Returns a cause with the explanation after it; the cause is shortened when they are too long together.
    pub fn explaining(&self, cause: &str) -> String {
        let Some(explanation) = &self.explanation else {
            return cause.to_owned();
        };
        let left = WIDTH.saturating_sub(explanation.chars().count() + 2);
        format!("{}; {explanation}", shorten(cause, left))
    }
}

/// Finds the first real error in the log of a build or of a server.
///
/// Lines that begin with `$ ` are taken for the commands that a build log echoes and are not looked at.
pub fn diagnose(log: &str) -> Diagnosis {
    let lines: Vec<Line> = log.lines().map(Line::new).collect();
    let found: Vec<(usize, Finding)> = lines
        .iter()
        .enumerate()
        .filter_map(|(index, line)| Some((index, finding::find(line)?)))
        .collect();
    let first = found
        .iter()
        .find(|(index, finding)| finding.names_cause && !is_superseded(&lines, *index))
        .or_else(|| found.first());
    match first {
        Some((index, finding)) => describe(&lines, *index, finding, &found),
        None => from_last_lines(&lines),
    }
}

/// Returns whether the exception on a line was caught, and what was then tried failed too.
fn is_superseded(lines: &[Line], index: usize) -> bool {
    lines[index + 1..]
        .iter()
        .find(|line| !line.said().is_empty())
        .is_some_and(|line| {
            line.said()
                .starts_with("During handling of the above exception")
        })
}

/// Puts the finding at `index` into words and adds the error lines that follow it.
fn describe(
    lines: &[Line],
    index: usize,
    finding: &Finding,
    found: &[(usize, Finding)],
) -> Diagnosis {
    let text = whole_text(lines, index, finding);
    let nature = nature_in_context(lines, index, finding, &text);
    let place = place::of(lines, index);
    let explained = explain::explain(&explain::Case {
        nature,
        text: &text,
        place: place.as_deref(),
        around: &lines::around(lines, index),
    });
    let place = place.map_or_else(String::new, |place| {
        format!(", at {}", place::short(&place))
    });
    let cause = format!("{nature}: {}{place}", place::without_registry(&text));
    Diagnosis {
        cause: Some(shorten(&cause, WIDTH)),
        errors: first_errors(lines, index, finding, found),
        nature,
        explanation: explained.explanation,
        hint: explained.hint,
    }
}

/// Returns the lines of the finding at `index`, and of those of its kind that follow.
fn first_errors(
    lines: &[Line],
    index: usize,
    finding: &Finding,
    found: &[(usize, Finding)],
) -> Vec<String> {
    let same_kind = found
        .iter()
        .filter(|(at, other)| *at >= index && other.names_cause == finding.names_cause);
    let mut errors = Vec::new();
    if !finding.names_cause {
        errors.extend(last_words_before(lines, index));
    }
    for (at, other) in same_kind {
        for line in error_lines(lines, *at, other) {
            if !errors.contains(&line) {
                errors.push(line);
            }
        }
        if errors.len() >= SHOWN {
            break;
        }
    }
    errors.truncate(SHOWN);
    errors
}

/// Returns the line above one that only passes a failure on: what failed may have said why in its own words.
fn last_words_before(lines: &[Line], index: usize) -> Option<String> {
    let mut above = lines[..index].iter().rev();
    let line = above.find(|line| !line.said().is_empty() && !line.is_echo())?;
    Some(shorten(line.shown(), WIDTH))
}

/// Falls back on the last lines, the best there is in a log without a known error.
fn from_last_lines(lines: &[Line]) -> Diagnosis {
    let said: Vec<&Line> = lines
        .iter()
        .filter(|line| !line.said().is_empty() && !line.is_echo())
        // Node.js ends each report of an exception with its version.
        .filter(|line| !line.said().starts_with("Node.js v"))
        .collect();
    let last = &said[said.len().saturating_sub(3)..];
    Diagnosis {
        cause: last
            .last()
            .map(|line| shorten(&format!("last words: {}", line.shown().trim()), WIDTH)),
        errors: last
            .iter()
            .map(|line| shorten(line.shown(), WIDTH))
            .collect(),
        nature: Nature::Other,
        explanation: None,
        hint: None,
    }
}

/// Returns the finding's text, with what some tools write on the lines after it.
fn whole_text(lines: &[Line], index: usize, finding: &Finding) -> String {
    let (text, line) = (&finding.text, lines[index].said());
    if text == "cannot find symbol" {
        return format!("{text}{}", symbol(&lines[index + 1..]));
    }
    if let Some(reason) = reason(&lines[index + 1..]).filter(|_| line.starts_with("error: ")) {
        return format!("{text}: {reason}");
    }
    let goes_on = line.contains("panicked at ")
        || line.starts_with("CMake Error")
        || line.ends_with("the following package:")
        || (lines[index].is_npms() && line.starts_with("code "));
    let next = lines[index + 1..]
        .iter()
        .map(|next| packages::npm_detail(next.said()))
        .find(|next| {
            !next.is_empty() && !next.starts_with("syscall ") && !next.starts_with("errno ")
        });
    match next {
        Some(next) if goes_on => format!("{text} {next}"),
        Some(_) | None => text.clone(),
    }
}

/// Returns what cargo writes below an error, under a heading of its own.
fn reason(below: &[Line]) -> Option<&str> {
    let mut said = below.iter().map(Line::said).filter(|said| !said.is_empty());
    (said.next()? == "Caused by:")
        .then(|| said.next())
        .flatten()
}

/// Returns what javac writes some lines below: ` (method off(String), interface List)`.
fn symbol(below: &[Line]) -> String {
    let value = |name: &str| {
        let mut near = below.iter().take(5);
        near.find_map(|line| line.said().strip_prefix(name))
            .map(str::trim)
    };
    match (value("symbol:"), value("location:")) {
        (Some(symbol), Some(location)) => format!(" ({symbol}, {location})"),
        (Some(symbol), None) => format!(" ({symbol})"),
        (None, _) => String::new(),
    }
}

/// Returns the finding's nature, seen together with the rest of the log.
///
/// A panic's message is on the next line, and pip reports an unreachable index as a missing package after mere warnings.
fn nature_in_context(lines: &[Line], index: usize, finding: &Finding, text: &str) -> Nature {
    if let Some(surroundings) = surroundings::nature(text) {
        return surroundings;
    }
    let unreachable = || {
        lines
            .iter()
            .any(|line| surroundings::nature(line.said()) == Some(Nature::Network))
    };
    if lines[index].said().contains("(from versions: none)") && unreachable() {
        return Nature::Network;
    }
    finding.nature
}

/// Returns the lines to show for a finding: itself, and the details that some tools put below.
fn error_lines(lines: &[Line], index: usize, finding: &Finding) -> Vec<String> {
    let details = match finding.nature {
        Nature::Dependency => 3,
        Nature::Compiler | Nature::Exception => 1,
        Nature::Linker
        | Nature::Library
        | Nature::Program
        | Nature::Memory
        | Nature::Space
        | Nature::Network
        | Nature::Port
        | Nature::Other => 0,
    };
    let below = lines[index + 1..]
        .iter()
        .take(details)
        .take_while(|line| !line.said().is_empty())
        .filter(|line| finding.nature == Nature::Dependency || is_detail(line, &lines[index]));
    std::iter::once(&lines[index])
        .chain(below)
        .map(|line| shorten(line.shown(), WIDTH))
        .collect()
}

/// Returns whether a line belongs to the error line before it: rustc's place, or a panic's message.
fn is_detail(line: &Line, before: &Line) -> bool {
    line.said().starts_with("--> ") || before.said().contains("panicked at ")
}

#[cfg(test)]
mod tests;
