//! What can come of a cell: a sample, or a gap with its reason.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// The result of something that a version may fail at: a value, or the gap to record in its place.
///
/// The tool's own failures are never an `Outcome`; they are a [`crate::error::Error`].
pub type Outcome<T> = Result<T, Gap>;

/// The part of a version's path at which it stopped.
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
)]
#[serde(rename_all = "kebab-case")]
pub enum Stage {
    /// Getting the version from its source.
    Fetch,
    /// Making the artifact.
    Build,
    /// Starting the server until it answers.
    Start,
    /// Holding its answer against the expected one.
    Check,
    /// Running the workload.
    Load,
    /// Decided before anything was done with the version.
    Plan,
}

/// Why a cell has no number.
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
)]
#[serde(rename_all = "kebab-case")]
pub enum GapKind {
    /// The source has no such version.
    NotFound,
    /// The source could not be reached.
    Network,
    /// The fetched bytes are not the published ones.
    Checksum,
    /// The archive could not be unpacked.
    Unpack,
    /// A build step ended with an error.
    Failed,
    /// A build step did not end in time.
    Timeout,
    /// The build ended well but left no binary where one was expected.
    NoBinary,
    /// The built program says that it is another version.
    WrongVersion,
    /// The server process ended before it answered.
    Exited,
    /// Somebody else's server holds the port.
    PortTaken,
    /// The server did not answer in time.
    NotReady,
    /// The server answers, but not what it should.
    WrongAnswer,
    /// More requests failed than the workload allows.
    Errors,
    /// The server died under load.
    Crashed,
    /// The server stopped answering under load.
    Stalled,
    /// The load generator was the limit, not the server.
    GeneratorBound,
    /// The client ran out of ports.
    PortsExhausted,
    /// Left out by the matrix.
    Excluded,
    /// Left out because the time budget was spent.
    Budget,
    /// The run was interrupted first.
    Interrupted,
}

/// How long a gap is expected to last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Class {
    /// The same input will fail the same way again.
    Permanent,
    /// Trying again may help (network, time-out, no space).
    Transient,
    /// Somebody decided so.
    Policy,
}

impl GapKind {
    /// Returns the stage at which this kind of gap arises.
    pub fn stage(self) -> Stage {
        match self {
            Self::NotFound | Self::Network | Self::Checksum | Self::Unpack => Stage::Fetch,
            Self::Failed | Self::Timeout | Self::NoBinary | Self::WrongVersion => Stage::Build,
            Self::Exited | Self::PortTaken | Self::NotReady => Stage::Start,
            Self::WrongAnswer => Stage::Check,
            Self::Errors
            | Self::Crashed
            | Self::Stalled
            | Self::GeneratorBound
            | Self::PortsExhausted => Stage::Load,
            Self::Excluded | Self::Budget | Self::Interrupted => Stage::Plan,
        }
    }

    /// Returns the class that this kind has unless something more is known.
    pub fn class(self) -> Class {
        match self {
            Self::NotFound
            | Self::Unpack
            | Self::Failed
            | Self::NoBinary
            | Self::WrongVersion
            | Self::Exited
            | Self::NotReady
            | Self::WrongAnswer
            | Self::Errors
            | Self::Crashed
            | Self::Stalled => Class::Permanent,
            Self::Network
            | Self::Checksum
            | Self::Timeout
            | Self::PortTaken
            | Self::GeneratorBound
            | Self::PortsExhausted
            | Self::Interrupted => Class::Transient,
            Self::Excluded | Self::Budget => Class::Policy,
        }
    }

    /// Returns the name used in journals and reports, `not-found` for [`GapKind::NotFound`].
    pub fn name(self) -> &'static str {
        match self {
            Self::NotFound => "not-found",
            Self::Network => "network",
            Self::Checksum => "checksum",
            Self::Unpack => "unpack",
            Self::Failed => "failed",
            Self::Timeout => "timeout",
            Self::NoBinary => "no-binary",
            Self::WrongVersion => "wrong-version",
            Self::Exited => "exited",
            Self::PortTaken => "port-taken",
            Self::NotReady => "not-ready",
            Self::WrongAnswer => "wrong-answer",
            Self::Errors => "errors",
            Self::Crashed => "crashed",
            Self::Stalled => "stalled",
            Self::GeneratorBound => "generator-bound",
            Self::PortsExhausted => "ports-exhausted",
            Self::Excluded => "excluded",
            Self::Budget => "budget",
            Self::Interrupted => "interrupted",
        }
    }
}

impl fmt::Display for GapKind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

impl fmt::Display for Stage {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Fetch => "fetch",
            Self::Build => "build",
            Self::Start => "start",
            Self::Check => "check",
            Self::Load => "load",
            Self::Plan => "plan",
        })
    }
}

/// Why a cell has no number: a recorded result, never a hole and never a zero.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Gap {
    /// Where the version stopped.
    pub stage: Stage,
    /// What happened.
    pub kind: GapKind,
    /// Whether trying again may help.
    pub class: Class,
    /// One line for a person.
    pub cause: String,
    /// What could be tried; none where that is not sure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// The first real error lines of the log, at most a few.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<String>,
    /// The whole log.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log: Option<PathBuf>,
}

impl Gap {
    /// Makes a gap with the stage and class that belong to its kind.
    pub fn new(kind: GapKind, cause: impl Into<String>) -> Self {
        Self {
            stage: kind.stage(),
            kind,
            class: kind.class(),
            cause: cause.into(),
            hint: None,
            errors: Vec::new(),
            log: None,
        }
    }

    /// Adds the first error lines found in the log.
    #[must_use]
    pub fn with_errors(mut self, errors: Vec<String>) -> Self {
        self.errors = errors;
        self
    }

    /// Adds what could be tried, where something is known.
    #[must_use]
    pub fn with_hint(mut self, hint: Option<String>) -> Self {
        self.hint = hint;
        self
    }

    /// Adds where the whole log is.
    #[must_use]
    pub fn with_log(mut self, log: impl Into<PathBuf>) -> Self {
        self.log = Some(log.into());
        self
    }

    /// Sets the class where more is known than the kind tells.
    #[must_use]
    pub fn with_class(mut self, class: Class) -> Self {
        self.class = class;
        self
    }

    /// Returns it in one line: `build: failed: …`.
    pub fn in_one_line(&self) -> String {
        format!("{}: {}: {}", self.stage, self.kind, self.cause)
    }

    /// Returns what could be tried in a line to follow that one; none where nothing is known.
    pub fn advice(&self) -> Option<String> {
        self.hint.as_ref().map(|hint| format!("try: {hint}"))
    }
}

/// What building a cell gives. In a journal its paths are relative to the project.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Artifact {
    /// The hash of everything that decides the build, 64 hexadecimal digits.
    pub key: String,
    /// The version's own folder or file (`{src}`).
    pub src: PathBuf,
    /// The scratch folder of the build (`{work}`).
    pub work: PathBuf,
    /// The folder for what the build leaves (`{out}`).
    pub out: PathBuf,
    /// The program to start (`{binary}`), where the matrix or the package names one.
    pub binary: Option<PathBuf>,
    /// Wall time of fetching and building, in seconds; that of the first time when it came from the cache.
    pub seconds: f64,
    /// Whether it was found in the cache.
    pub cached: bool,
    /// The version of each package that was built into it, by name, where the source tells.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub dependencies: BTreeMap<String, String>,
    /// SHA-256 of what the server is started from, 64 hexadecimal digits: equal artifacts cannot differ in speed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<String>,
    /// The programs of the cell's axes (`{axis.NAME.binary}`), by the axis's name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub axis_programs: BTreeMap<String, PathBuf>,
}

/// Mean, least and greatest of a duration, in milliseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Spread {
    /// Arithmetic mean, ms.
    pub mean: f64,
    /// Greatest value, ms.
    pub max: f64,
    /// Least value, ms.
    pub min: f64,
    /// How many values.
    pub count: u64,
}

/// Latency of answers in milliseconds, from sending the request to the last byte of the answer.
///
/// In a closed loop the mean is connections ÷ throughput and not a second finding. With a given rate it counts from the
/// time at which the request was due, whenever it was sent: a server that stalls makes all wait that come meanwhile.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Latency {
    /// Arithmetic mean, ms.
    pub mean: f64,
    /// Standard deviation, ms.
    pub sd: f64,
    /// Median, ms.
    pub p50: f64,
    /// 75th percentile, ms.
    pub p75: f64,
    /// 90th percentile, ms.
    pub p90: f64,
    /// 95th percentile, ms.
    pub p95: f64,
    /// 99th percentile, ms.
    pub p99: f64,
    /// 99.9th percentile, ms.
    pub p99_9: f64,
    /// 99.99th percentile, ms.
    pub p99_99: f64,
    /// Greatest value, ms.
    pub max: f64,
    /// Share of the values that lie within one standard deviation of the mean, `wrk`'s ± Stdev.
    pub within_sd: f64,
}

/// Why a request got no right answer.
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
)]
#[serde(rename_all = "kebab-case")]
pub enum ErrorKind {
    /// The server refused the connection.
    Refused,
    /// The connection was reset.
    Reset,
    /// The server closed the connection before any byte of an answer.
    Closed,
    /// The server closed the connection inside an answer.
    Short,
    /// No whole answer in time.
    Timeout,
    /// The bytes are not an HTTP answer.
    Malformed,
    /// An answer with another status than the checked one.
    BadStatus,
    /// An answer with another length than the checked one.
    BadLength,
    /// An answer with another body than the checked one, of the same length.
    BadBody,
    /// The client had no local port left; not the server's fault.
    PortsExhausted,
    /// Any other failure of the client's own system calls.
    Client,
}

/// What the load generator counted for one server over the measured part of a session.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct LoadFigures {
    /// Whole right answers.
    pub answers: u64,
    /// Measured time, s.
    pub seconds: f64,
    /// Right answers per second by the reckoning of the program that counted them, where that is all that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub told_rate: Option<f64>,
    /// Body bytes per second by the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub told_bytes_rate: Option<f64>,
    /// Body bytes received.
    pub body_bytes: u64,
    /// All bytes received: heads, bodies and framing.
    pub wire_bytes: u64,
    /// Requests sent again because the server closed the kept connection without a word before any byte of an answer.
    #[serde(default)]
    pub resent: u64,
    /// Connections opened since the load began, warm-up included.
    pub connections_opened: u64,
    /// Connections opened in the measured part.
    #[serde(default)]
    pub connections_measured: u64,
    /// Measured time of all threads together, s: `httpbench` counts so.
    #[serde(default)]
    pub thread_seconds: f64,
    /// Requests under way on average over the measured part, counted at each beginning and end of one; 0 where that was
    /// not counted. By Little's law it is answers per second × mean latency.
    #[serde(default)]
    pub in_flight: f64,
    /// How much later than due requests of a given rate were sent.
    #[serde(default)]
    pub lateness: Spread,
    /// Requests of a given rate that were due and not sent before the measured part ended.
    #[serde(default)]
    pub unsent: u64,
    /// Time to establish a connection; counted since the load began, as keep-alive opens them all in the warm-up.
    pub connect: Spread,
    /// From sending a request to the first byte of its answer.
    pub first_response: Spread,
    /// From sending a request to the last byte of its answer.
    pub latency: Latency,
    /// Failed requests by kind.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub errors: BTreeMap<ErrorKind, u64>,
}

impl LoadFigures {
    /// Returns how many requests failed.
    pub fn failed(&self) -> u64 {
        self.errors.values().sum()
    }

    /// Returns right answers per second, `http_load`'s fetches/sec; 0 when nothing was measured.
    pub fn fetches_per_second(&self) -> f64 {
        self.told_rate
            .unwrap_or_else(|| self.each_second(self.answers))
    }

    /// Returns body bytes per second; 0 when nothing was measured.
    pub fn bytes_per_second(&self) -> f64 {
        let told = self.told_bytes_rate;
        told.unwrap_or_else(|| self.each_second(self.body_bytes))
    }

    fn each_second(&self, count: u64) -> f64 {
        if self.seconds > 0.0 {
            #[expect(clippy::cast_precision_loss, reason = "counts stay far below 2^53")]
            return count as f64 / self.seconds;
        }
        0.0
    }
}

/// What one server's process tree used.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Resources {
    /// CPU time of the whole tree over the measured part, s.
    pub cpu_seconds: f64,
    /// Greatest resident set of the tree, bytes.
    pub rss_peak_bytes: u64,
    /// Resident set of the tree, mean over the measured part, bytes; 0 where that was not measured.
    #[serde(default)]
    pub rss_mean_bytes: u64,
    /// Proportional set of the tree at the end, bytes; none where the kernel does not tell.
    pub pss_bytes: Option<u64>,
    /// Greatest proportional set that was seen, bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pss_peak_bytes: Option<u64>,
    /// Threads of the tree at the end.
    pub threads: u64,
    /// Processes of the tree at the end.
    pub processes: u64,
    /// How often its threads gave up the CPU by themselves, over the measured part.
    #[serde(default)]
    pub voluntary_switches: u64,
    /// How often the CPU was taken from its threads, over the measured part.
    #[serde(default)]
    pub involuntary_switches: u64,
    /// Time that its threads were ready and waited for a CPU, over the measured part, s.
    #[serde(default)]
    pub run_delay_seconds: f64,
    /// Hardware counters over the measured part; none where the machine has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counters: Option<Counters>,
}

/// Hardware counters of a process tree.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counters {
    /// Instructions.
    pub instructions: u64,
    /// CPU cycles.
    pub cycles: u64,
}

/// What one session says of one cell. A launch, not a window, is the unit of replication.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Sample {
    /// What the client counted.
    pub load: LoadFigures,
    /// What the server used.
    pub resources: Resources,
    /// From the start of the process to the first right answer, ms.
    pub startup_ms: f64,
    /// Answers given before measuring began.
    pub warmup_answers: u64,
    /// Whether CPU per request had stopped trending when measuring began.
    pub steady: bool,
}
