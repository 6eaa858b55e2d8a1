//! The journal: one run as JSON Lines, append-only, torn tail tolerated. Edge.
//!
//! It is the only store. Every report and every verdict can be made again from it.

use std::collections::BTreeMap;
use std::path::PathBuf;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::matrix::{Check, Design, Rule, Sessions, Workload};
use crate::outcome::{Artifact, Gap, Sample};
use crate::version::Cell;

/// The journal format's number, raised by any change that an older reader would misread.
pub const SCHEMA: u32 = 1;

/// One line of a journal.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "record", rename_all = "kebab-case")]
pub enum Record {
    /// The first line.
    Header(Box<Header>),
    /// The run goes on after it was stopped.
    Resumed {
        /// When.
        at: Timestamp,
    },
    /// What building one cell gave.
    Build(BuildRecord),
    /// One round of launches.
    Session(Box<SessionRecord>),
    /// A cell that is no longer tried.
    Gap {
        /// The cell's index.
        cell: usize,
        /// Why.
        gap: Gap,
    },
    /// A conclusion, for readers of the journal; it is always made again from the sessions.
    Verdict(crate::verdict::Comparison),
    /// The last line of a run that ended by itself.
    Summary(Summary),
}

/// Everything a run needs to be believed and repeated.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Header {
    /// [`SCHEMA`].
    pub schema: u32,
    /// The version of Harness.
    pub harness: String,
    /// The run's name: UTC time, machine, four random digits.
    pub run: String,
    /// When it began.
    pub started: Timestamp,
    /// The command line.
    pub command: Vec<String>,
    /// The seed of every random order.
    pub seed: u64,
    /// The matrix.
    pub matrix: MatrixFacts,
    /// The load, whole.
    pub workload: Workload,
    /// What a right answer is.
    pub check: Check,
    /// The hash of check, load and generator: results with different keys are never compared.
    pub workload_key: String,
    /// How often and in what design.
    pub sessions: Sessions,
    /// How it is judged.
    pub rule: Rule,
    /// The machine.
    pub machine: Machine,
    /// The CPUs of the servers and of the load.
    pub cpus: CpuPlan,
    /// The cells in order.
    pub cells: Vec<Cell>,
}

/// Which matrix it was.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MatrixFacts {
    /// The file's stem.
    pub name: String,
    /// Its title.
    pub title: String,
    /// Its path, relative to the project where it lies inside.
    pub file: PathBuf,
    /// SHA-256 of its text and of the command line's changes to it.
    pub hash: String,
    /// The commit of the repository that holds it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// Whether that repository's work tree differed from the commit.
    #[serde(default)]
    pub modified: bool,
}

/// Facts about the machine; results from machines that differ in `class` are never compared.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Machine {
    /// The hash of CPU model, cores, kernel and virtualisation.
    pub class: String,
    /// The host's name.
    pub host: String,
    /// The CPU's model name.
    pub cpu: String,
    /// Online CPUs.
    pub cores: usize,
    /// Memory, bytes.
    pub memory_bytes: u64,
    /// Kernel release.
    pub kernel: String,
    /// Operating system.
    pub os: String,
    /// Architecture.
    pub arch: String,
    /// The hypervisor, where the CPU tells that there is one.
    pub virtualisation: Option<String>,
    /// Tools and their versions.
    #[serde(default)]
    pub tools: BTreeMap<String, String>,
}

/// Which CPUs do what.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CpuPlan {
    /// The servers' CPUs.
    pub server: Vec<usize>,
    /// The load's CPUs.
    pub load: Vec<usize>,
}

/// What building one cell gave.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BuildRecord {
    /// The cell's index.
    pub cell: usize,
    /// An artifact or a gap.
    #[serde(flatten)]
    pub outcome: Built,
}

/// An artifact or a gap.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Built {
    /// It built.
    Artifact(Artifact),
    /// It did not.
    Gap(Gap),
}

/// Why a session was held.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Purpose {
    /// To measure.
    Measure,
    /// To confirm a flagged pair with fresh launches.
    Confirm,
}

/// One round of launches: the cells of a group started together, warmed, measured, stopped.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SessionRecord {
    /// Its number in the run, from 0.
    pub index: u32,
    /// Why it was held.
    pub purpose: Purpose,
    /// Race or solo.
    pub design: Design,
    /// When it began.
    pub started: Timestamp,
    /// Wall time of all of it, s.
    pub seconds: f64,
    /// The launches, in the order in which they were started.
    pub launches: Vec<Launch>,
    /// Short slices of the measured part.
    pub windows: Vec<Window>,
    /// CPU time of the load's threads ÷ measured time ÷ threads.
    pub client_share: f64,
    /// CPU time of all servers ÷ measured time ÷ server CPUs.
    pub server_share: f64,
    /// CPU time stolen by the hypervisor ÷ measured time ÷ CPUs.
    pub steal_share: f64,
}

/// One cell's part in a session.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Launch {
    /// The cell's index.
    pub cell: usize,
    /// A sample or a gap.
    #[serde(flatten)]
    pub outcome: Launched,
    /// The server's log.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log: Option<PathBuf>,
}

/// A sample or a gap.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Launched {
    /// It was measured.
    Sample(Box<Sample>),
    /// It was not.
    Gap(Gap),
}

/// A short slice of a session. The lists run over the launches that gave a sample, in the order of `launches`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Window {
    /// Length, s.
    pub seconds: f64,
    /// Answers of each server.
    pub answers: Vec<u64>,
    /// CPU time of each server's tree, s.
    pub cpu_seconds: Vec<f64>,
    /// CPU time of the load's threads, s.
    pub client_cpu_seconds: f64,
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Summary {
    /// When.
    pub ended: Timestamp,
    /// The exit code.
    pub exit: u8,
    /// Regressions among the pairs.
    pub regressions: usize,
    /// Pairs that could be compared.
    pub compared: usize,
    /// Cells without a number.
    pub gaps: usize,
}

/// A run as read from its journal.
#[derive(Debug, Clone, PartialEq)]
pub struct Run {
    /// The first line.
    pub header: Header,
    /// What building gave, the last word on each cell.
    pub builds: BTreeMap<usize, Built>,
    /// The sessions in order.
    pub sessions: Vec<SessionRecord>,
    /// Cells that were given up.
    pub given_up: BTreeMap<usize, Gap>,
    /// Set when the run ended by itself.
    pub summary: Option<Summary>,
    /// Whether the last line was torn off.
    pub torn: bool,
}
