//! The matrix: where versions come from, and how to build, start, check and load them. Pure.
//!
//! The types here are what the rest of the program works with; `wire` holds the shape of the TOML file. Whatever is
//! checked at this door is not checked again behind it.

mod convert;
mod diagnostic;
mod document;
pub mod expand;
mod parse;
pub mod project;
pub mod schema;
mod shape;
pub mod template;
mod values;
mod wire;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

pub use parse::parse;

use crate::version::Order;

/// A whole matrix, checked.
#[derive(Debug, Clone, PartialEq)]
pub struct Matrix {
    /// The file's stem; names reports and cache folders.
    pub name: String,
    /// What the report is headed with.
    pub title: String,
    /// The file.
    pub file: PathBuf,
    /// The folder of the file (`{matrix_dir}`), absolute.
    pub dir: PathBuf,
    /// Where versions come from.
    pub source: Source,
    /// Named axes in the file's order.
    pub axes: Vec<Axis>,
    /// How to build.
    pub build: Build,
    /// How to start.
    pub start: Start,
    /// How to see that it is ready.
    pub ready: Ready,
    /// What a right answer is.
    pub check: Check,
    /// The fixed load.
    pub load: Workload,
    /// How often and in what design it is measured.
    pub sessions: Sessions,
    /// How it is judged.
    pub verdict: Rule,
}

/// Where versions come from.
#[derive(Debug, Clone, PartialEq)]
pub struct Source {
    /// The kind and what it needs.
    pub kind: SourceKind,
    /// Which versions of those that exist are wanted.
    pub versions: Wanted,
    /// Which of the wanted ones are measured.
    pub select: Select,
    /// Whether pre-releases are among them.
    pub prerelease: bool,
    /// Their order.
    pub order: Order,
}

/// The kinds of source.
#[derive(Debug, Clone, PartialEq)]
pub enum SourceKind {
    /// A crate; a server program of the matrix is built against each version.
    Crates {
        /// The crate's name.
        package: String,
        /// The folder of the server's cargo project, absolute.
        server: PathBuf,
    },
    /// An npm package whose tarball holds the program.
    Npm {
        /// The package's name.
        package: String,
    },
    /// Names listed in the matrix; the build steps know what to do with them.
    List,
    /// A folder whose entries are the versions.
    Path {
        /// The folder, absolute.
        dir: PathBuf,
    },
}

/// Which versions of those that exist are wanted.
#[derive(Debug, Clone, PartialEq)]
pub enum Wanted {
    /// Every one.
    All,
    /// Those in a range.
    Range(Range),
    /// These, in this order unless the order says otherwise. One that does not exist is a gap.
    Names(Vec<String>),
}

/// A range of semantic versions.
#[derive(Debug, Clone, PartialEq)]
pub enum Range {
    /// A requirement in cargo's syntax: `^18`, `>=0.14, <2`.
    Requirement(semver::VersionReq),
    /// `A..B`, both ends included.
    Between(semver::Version, semver::Version),
}

/// Which of the wanted versions are measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Select {
    /// Every one.
    All,
    /// The last of each minor line.
    LastPatchPerMinor,
    /// The last of each release line: a major version, or a minor one below 1.0.
    LastPerMajor,
    /// The last N.
    Last(usize),
    /// Every Nth, counted back from the last.
    Every(usize),
}

impl Select {
    /// Returns whether it selects from release lines, which only semantic versions have.
    pub fn needs_lines(self) -> bool {
        match self {
            Self::LastPatchPerMinor | Self::LastPerMajor => true,
            Self::All | Self::Last(_) | Self::Every(_) => false,
        }
    }
}

/// A named axis.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Axis {
    /// Its name, `{axis.NAME}` in templates.
    pub name: String,
    /// Its values in order.
    pub values: Vec<String>,
    /// Whether its value changes what is built.
    pub build: bool,
}

/// A command: arguments are never parsed again.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Command {
    /// Program and arguments, each a template.
    Argv(Vec<String>),
    /// A line for `sh -c`, where a user insists.
    Shell(String),
}

/// How to build.
#[derive(Debug, Clone, PartialEq)]
pub struct Build {
    /// The steps in order; empty where the source already gives a program.
    pub steps: Vec<Command>,
    /// The program that must exist after the steps, a template.
    pub binary: Option<String>,
    /// Files and folders, absolute, whose content is part of the build key.
    pub inputs: Vec<PathBuf>,
    /// Extra environment, templates.
    pub env: BTreeMap<String, String>,
    /// Deadline of fetching and of all steps together.
    pub timeout: Duration,
}

/// How to start a server.
#[derive(Debug, Clone, PartialEq)]
pub struct Start {
    /// The command; it stays in the foreground.
    pub cmd: Command,
    /// The folder it runs in, a template; its own scratch folder if none is given.
    pub cwd: Option<String>,
    /// Extra environment, templates.
    pub env: BTreeMap<String, String>,
    /// The signal that asks it to end.
    pub stop_signal: StopSignal,
    /// How long it may take to end before it is killed.
    pub stop_grace: Duration,
    /// The CPUs it is pinned to; chosen by the tool if none are given.
    pub cpus: Option<Vec<usize>>,
    /// The port of a server that cannot be told one; each launch gets a free one if none is given.
    pub port: Option<u16>,
}

impl Start {
    /// Returns every template in it.
    pub fn templates(&self) -> impl Iterator<Item = &str> {
        let words = match &self.cmd {
            Command::Argv(words) => words.iter().map(String::as_str).collect(),
            Command::Shell(line) => vec![line.as_str()],
        };
        let more = self
            .cwd
            .as_deref()
            .into_iter()
            .chain(self.env.values().map(String::as_str));
        words.into_iter().chain(more)
    }
}

/// The signal that asks a server to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "UPPERCASE")]
pub enum StopSignal {
    /// SIGTERM.
    Term,
    /// SIGINT.
    Int,
    /// SIGQUIT.
    Quit,
    /// SIGHUP.
    Hup,
}

/// How to see that a server is ready: by a real request.
#[derive(Debug, Clone, PartialEq)]
pub struct Ready {
    /// The path asked for.
    pub path: String,
    /// How long it may take from the start to the first right answer.
    pub timeout: Duration,
}

/// What a right answer is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Check {
    /// The status code.
    pub status: u16,
    /// The exact body.
    pub body: Option<String>,
    /// A regular expression that the body matches.
    pub body_regex: Option<String>,
    /// Whether every answer under load must have the length of the checked one.
    pub same_length: bool,
}

/// The fixed load.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Workload {
    /// Its name in reports.
    pub name: String,
    /// The method, in capitals.
    pub method: String,
    /// The path with its query.
    pub path: String,
    /// Extra request headers.
    pub headers: BTreeMap<String, String>,
    /// The request's body.
    pub body: Option<String>,
    /// Connections to each server at once.
    pub connections: u32,
    /// One connection for many requests, or one for each.
    pub keep_alive: bool,
    /// When a session's measured part ends.
    pub stop: Stop,
    /// Answers each server must have given before measuring.
    pub warmup_answers: u64,
    /// Longest warm-up.
    #[serde(with = "crate::matrix::seconds")]
    pub warmup_at_most: Duration,
    /// Length of a window.
    #[serde(with = "crate::matrix::seconds")]
    pub window: Duration,
    /// Longest wait for one answer.
    #[serde(with = "crate::matrix::seconds")]
    pub timeout: Duration,
    /// Failed requests allowed, as a share of all.
    pub max_error_rate: f64,
}

/// When a session's measured part ends.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stop {
    /// After this time.
    Duration(#[serde(with = "crate::matrix::seconds")] Duration),
    /// When each server has given this many answers.
    Requests(u64),
}

/// How often and in what design a matrix is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sessions {
    /// Race sessions of each pair.
    pub count: u32,
    /// Servers in one race at most.
    pub group: usize,
    /// Solo trials of each cell.
    pub solo: u32,
    /// How pairs are measured.
    pub design: Design,
}

/// How pairs are measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Design {
    /// All servers of a group up and loaded at once.
    Race,
    /// One server at a time.
    Solo,
}

/// The thresholds of the verdicts, in one place.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Rule {
    /// Chance of any false alarm in the whole run.
    pub alpha: f64,
    /// Least change worth a flag, as a share (0.01 is 1 %).
    pub min_effect: f64,
    /// A pair is `same` when its interval lies inside ± this share.
    pub same_within: f64,
    /// Whether a flagged pair is raced again in fresh sessions before it is reported.
    pub confirm: bool,
}

/// Durations as seconds in journals.
pub mod seconds {
    use std::time::Duration;

    use serde::{Deserialize, Deserializer, Serializer};

    /// Writes a duration as a number of seconds.
    pub fn serialize<S: Serializer>(duration: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(duration.as_secs_f64())
    }

    /// Reads a number of seconds.
    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
        let seconds = f64::deserialize(deserializer)?;
        Duration::try_from_secs_f64(seconds).map_err(serde::de::Error::custom)
    }
}
