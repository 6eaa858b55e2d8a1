//! The matrix: where versions come from, and how to build, start, check and load them. Pure.
//!
//! The types here are what the rest of the program works with; `wire` holds the shape of the TOML file. Whatever is
//! checked at this door is not checked again behind it.

mod convert;
mod diagnostic;
mod document;
pub mod expand;
mod layer;
mod parse;
pub mod project;
pub mod reference;
pub mod schema;
mod shape;
mod source;
pub mod template;
mod values;
mod wire;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use diagnostic::Texts;
pub(crate) use diagnostic::did_you_mean;
pub use layer::{Exclude, Include, Layer, Scope};
pub use parse::parse;
pub use source::{
    Attach, Compare, Crates, Folder, Git, GitRefs, Go, GoSubject, Installer, List, Maven, Npm,
    Operator, Pypi, Range, Select, Source, SourceKind, Url, Wanted,
};

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
    /// The numbers that decide, the main one first.
    pub metrics: Vec<Metric>,
    /// Which cells each `[[override]]` is for, in the file's order.
    pub overrides: Vec<Scope>,
    /// The cells that are named, in the file's order.
    pub includes: Vec<Include>,
    /// The cells that are not measured.
    pub excludes: Vec<Exclude>,
    /// What it was made of, so that others can be made of it for some cells.
    written: Written,
}

/// The texts that a matrix was made of.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Written {
    file: String,
    /// Text and path of the defaults under it.
    defaults: Option<(String, PathBuf)>,
}

impl Written {
    /// Returns the texts as the parser takes them.
    fn texts<'a>(&'a self, file: &'a Path) -> Texts<'a> {
        let defaults = self.defaults.as_ref();
        Texts {
            file: (&self.file, file),
            defaults: defaults.map(|(text, file)| (text.as_str(), file.as_path())),
        }
    }

    fn of(texts: &Texts<'_>) -> Self {
        Self {
            file: texts.file.0.to_owned(),
            defaults: texts
                .defaults
                .map(|(text, file)| (text.to_owned(), file.to_owned())),
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
    /// Where the program comes from whose versions the values are; none if they are mere words.
    pub from: Option<Provider>,
}

/// Where the programs come from that an axis chooses between: a runtime, say, under every version of a package.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Provider {
    /// An npm package whose tarball holds the program.
    Npm {
        /// Its name.
        package: String,
    },
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

impl Command {
    /// Returns its words, each a template.
    pub fn templates(&self) -> impl Iterator<Item = &str> {
        let words: &[String] = match self {
            Self::Argv(words) => words,
            Self::Shell(line) => std::slice::from_ref(line),
        };
        words.iter().map(String::as_str)
    }
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
    /// Patch files, absolute, applied to the version's own source before the steps.
    pub patches: Vec<PathBuf>,
    /// Extra environment, templates.
    pub env: BTreeMap<String, String>,
    /// Whether the steps may reach the network.
    pub network: bool,
    /// Deadline of fetching and of all steps together.
    pub timeout: Duration,
    /// What a build may use up.
    pub limits: Limits,
    /// How a failure that may pass is tried again.
    pub retry: Retry,
    /// How to see that the right version was built.
    pub proof: Option<Proof>,
}

/// What a build may use up before it is ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Memory of all its processes, bytes; most of the machine's if none is given.
    pub memory: Option<u64>,
    /// Its folder on the disk, bytes.
    pub disk: u64,
    /// What its steps print, bytes.
    pub log: u64,
}

/// How a failure that may pass is tried again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retry {
    /// Tries in all.
    pub attempts: u32,
    /// The pause before the second one; it doubles each time.
    pub wait: Duration,
}

/// A command that says which version the built program is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Proof {
    /// The command, templates.
    pub cmd: Command,
    /// A regular expression that its output must match, a template; the version's name by itself if none is given.
    pub pattern: Option<String>,
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
    /// What kind of address it listens on.
    pub listen: Listen,
    /// How many copies of it are one cell, each on an address of its own.
    pub instances: u32,
}

impl Start {
    /// Returns every template in it.
    pub fn templates(&self) -> impl Iterator<Item = &str> {
        let more = self
            .cwd
            .as_deref()
            .into_iter()
            .chain(self.env.values().map(String::as_str));
        self.cmd.templates().chain(more)
    }
}

/// What kind of address a server listens on.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Listen {
    /// 127.0.0.1 and a port.
    #[default]
    Ipv4,
    /// `::1` and a port.
    Ipv6,
    /// A socket in the file system, `{socket}`.
    Unix,
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
    /// Whether every answer under load must have the body of the checked one, byte for byte.
    #[serde(default)]
    pub same_body: bool,
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
    /// How requests are sent.
    #[serde(default, skip_serializing_if = "Manner::is_plain")]
    pub manner: Manner,
}

impl Workload {
    /// Returns the paths that are asked for, its own first.
    pub fn paths(&self) -> impl Iterator<Item = &str> {
        let others = self.manner.mix.iter().skip(1);
        std::iter::once(self.path.as_str()).chain(others.map(|part| part.path.as_str()))
    }
}

/// How requests are sent. By default: each connection sends the next when it has the whole answer to the last (a closed
/// loop), one at a time, HTTP/1.1 over plain TCP, from the engine of Harness.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Manner {
    /// The paths that are asked for and how often each, the workload's own path first; empty if that is the only one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub mix: Vec<PathShare>,
    /// Requests per second to each server, sent at times that do not wait for answers; none for a closed loop.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<u64>,
    /// How requests of a given rate follow each other.
    pub arrivals: Arrivals,
    /// HTTP/1.1 requests under way on a connection at most; none for one at a time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pipeline: Option<u32>,
    /// The protocol.
    pub protocol: Protocol,
    /// HTTP/2 requests under way on a connection at most; none for one at a time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub streams: Option<u32>,
    /// Whether connections are encrypted; whatever certificate a server shows is taken.
    pub tls: bool,
    /// What sends the requests.
    pub tool: Tool,
}

impl Manner {
    /// Returns whether it is the default one.
    pub fn is_plain(&self) -> bool {
        *self == Self::default()
    }
}

/// A path and its share of the requests.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PathShare {
    /// The path with its query.
    pub path: String,
    /// How many of each round's requests ask for it.
    pub share: u32,
}

/// How requests of a given rate follow each other.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Arrivals {
    /// At equal distances.
    #[default]
    Even,
    /// At random, as from many users who know nothing of each other: the distances are exponential.
    Poisson,
}

/// The protocol of a load.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema,
)]
pub enum Protocol {
    /// HTTP/1.1.
    #[default]
    #[serde(rename = "http/1.1")]
    Http1,
    /// HTTP/2, without an upgrade from HTTP/1.1.
    #[serde(rename = "http/2")]
    Http2,
}

/// What sends the requests.
#[derive(
    Debug,
    Clone,
    Copy,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Serialize,
    Deserialize,
    schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Tool {
    /// The engine of Harness.
    #[default]
    Native,
    /// `wrk`.
    Wrk,
    /// `ab`, of the Apache server.
    Ab,
    /// `hey`.
    Hey,
    /// `oha`.
    Oha,
    /// `h2load`, of nghttp2.
    H2load,
    /// `http_load`, of ACME.
    HttpLoad,
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
    /// Sessions of each pair at most.
    pub count: u32,
    /// Sessions of each pair before it is first judged; from then on it is judged at every second one. Journals of the
    /// schemas 1 to 3 lack it: they held `count` and judged once.
    #[serde(default = "never_before_the_end")]
    pub least: u32,
    /// Servers in one race at most.
    pub group: usize,
    /// Solo trials of each cell.
    pub solo: u32,
    /// How pairs are measured.
    pub design: Design,
    /// How long one server is loaded before it is another's turn, in the design [`Design::Slices`].
    #[serde(with = "crate::matrix::seconds", default = "default_slice")]
    pub slice: Duration,
}

/// Returns so many sessions that no run has them before its end.
fn never_before_the_end() -> u32 {
    u32::MAX
}

/// Returns the length of a slice where none is given: of 500, 100 and 20 ms the shortest told servers apart best.
fn default_slice() -> Duration {
    Duration::from_millis(20)
}

/// How pairs are measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Design {
    /// All servers of a group up and loaded at once.
    Race,
    /// All servers of a group up, loaded one at a time in short slices of random order.
    Slices,
    /// One server at a time.
    Solo,
}

/// A number that may decide a pair.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    schemars::JsonSchema,
    clap::ValueEnum,
)]
#[serde(rename_all = "kebab-case")]
pub enum Metric {
    /// Right answers per second; more is better.
    Throughput,
    /// The server's CPU time per answer; less is better. It decides where answers per second are not the server's own.
    CpuPerAnswer,
    /// Greatest memory of the server's process tree; less is better.
    Memory,
    /// Time from the start to the first right answer; less is better.
    Startup,
    /// Mean latency at a given rate, from the time at which a request was due; less is better.
    Latency,
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

/// Reads a size, `20GiB`, as bytes; the error says what to write.
pub fn size(text: &str) -> Result<u64, String> {
    values::size(text).map_err(|wrong| format!("{}; {}", wrong.why, wrong.help))
}

/// Reads a duration, `5ms`; the error says what to write.
pub fn duration(text: &str) -> Result<Duration, String> {
    values::duration(text).map_err(|wrong| format!("{}; {}", wrong.why, wrong.help))
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
