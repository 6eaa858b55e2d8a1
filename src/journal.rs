//! The journal: one run as JSON Lines, append-only, torn tail tolerated. Edge.
//!
//! It is the only store. Every report and every verdict can be made again from it.
#![expect(
    clippy::disallowed_methods,
    reason = "this module writes and reads journals"
)]

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::error::{Error, Kind, Result};
use crate::matrix::{Check, Compare, Design, Metric, Rule, Sessions, Workload};
use crate::outcome::{Artifact, Gap, Sample};
use crate::step::StepRecord;
use crate::version::{Cell, Order, Pair, pairs};

/// The journal format's number, raised by any change that an older reader would misread.
///
/// 2: the header says in which order the versions are, and which of them each is compared with.
/// 3: the design `slices`, loads of another manner than a plain closed loop, and what the client itself was like.
/// 4: pairs are judged while the run goes on and get no more sessions once they are decided; several metrics decide.
/// 5: the run may be a bisection, or results of other programs.
pub const SCHEMA: u32 = 5;

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
    /// What a step of `git bisect run` came to.
    Step(Box<StepRecord>),
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
    /// The numbers that decide, the main one first.
    #[serde(default = "throughput_alone")]
    pub metrics: Vec<Metric>,
    /// The machine.
    pub machine: Machine,
    /// The CPUs of the servers and of the load.
    pub cpus: CpuPlan,
    /// The order of the versions.
    #[serde(default)]
    pub order: Order,
    /// Which version each is compared with.
    #[serde(default)]
    pub compare: Compare,
    /// The cells in order.
    pub cells: Vec<Cell>,
    /// What is searched for, where the run is a bisection of its cells.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bisect: Option<Hunted>,
    /// Where the results come from, where another program measured them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub imported: Option<Imported>,
}

/// Where results come from that other programs measured.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Imported {
    /// The files, as they were named.
    pub files: Vec<String>,
    /// What somebody says of them: the load, the machine, where they were published.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// What a bisection searches for: the first of the cells is the good end, the last one the bad end.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Hunted {
    /// Of each cell, the cells that it grew out of.
    pub parents: Vec<Vec<usize>>,
    /// Whether it is what became better, and not what became worse.
    pub improvement: bool,
    /// How sure the culprit must be.
    pub certainty: f64,
    /// Sessions at most.
    pub most_sessions: usize,
}

/// Returns what decided before there were several metrics.
fn throughput_alone() -> Vec<Metric> {
    vec![Metric::Throughput]
}

impl Header {
    /// Pairs each measured cell with the one that it is compared with.
    pub fn pairs(&self, measured: &dyn Fn(usize) -> bool) -> Vec<Pair> {
        pairs(&self.cells, self.order, &self.compare, measured)
    }
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
    /// The tools that the builds used, and what each says of its version.
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
    /// CPU time that neither servers nor load used ÷ measured time ÷ CPUs; 0 where that of the servers is not known.
    #[serde(default)]
    pub others_share: f64,
    /// What the client itself was like.
    #[serde(default)]
    pub client: Client,
    /// How CPU time was shared out between the servers.
    #[serde(default)]
    pub sharing: Sharing,
}

/// What the load's own side was like in a session.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Client {
    /// What sent the requests: `epoll`, `io_uring`, `http/2`, or another program with its version.
    #[serde(default)]
    pub engine: String,
    /// Whether the client and not the servers set the pace: then no throughput of the session counts.
    #[serde(default)]
    pub generator_bound: bool,
    /// How often its threads gave up their CPU by themselves.
    #[serde(default)]
    pub voluntary_switches: u64,
    /// How often the CPU was taken from its threads.
    #[serde(default)]
    pub involuntary_switches: u64,
    /// Time that its threads were ready and waited for a CPU, s.
    #[serde(default)]
    pub run_delay_seconds: f64,
}

impl Client {
    /// The client is the limit when its threads use more than this share of their CPUs …
    const BUSY: f64 = 0.95;

    /// … while the servers use less than this share of theirs.
    const SERVERS_IDLE: f64 = 0.90;

    /// Returns whether a client sets the pace that uses this share of its CPUs while the servers use that of theirs. Pure.
    pub fn sets_the_pace(client_share: f64, server_share: f64) -> bool {
        Self::is_busy(client_share) && server_share < Self::SERVERS_IDLE
    }

    /// Returns whether the client has hardly any CPU time left. Pure.
    pub fn is_busy(client_share: f64) -> bool {
        client_share > Self::BUSY
    }
}

/// How CPU time was shared out between the servers of a session.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Sharing {
    /// By the kernel between threads or sessions.
    #[default]
    Sessions,
    /// By a control group of equal weight for each server, version 1.
    CgroupV1,
    /// By a control group of equal weight for each server, version 2.
    CgroupV2,
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
    /// CPU time stolen by the hypervisor, of all CPUs in use, s.
    #[serde(default)]
    pub stolen_seconds: f64,
    /// CPU time that neither servers nor load used, of all CPUs in use, s. Interrupts are no part of it. It is the difference
    /// of clocks of unlike kinds, and where the kernel charges interrupts to whoever runs, it may be below zero.
    #[serde(default)]
    pub others_seconds: f64,
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
    /// What it came to, where it was a step of `git bisect run`.
    pub step: Option<StepRecord>,
    /// Set when the run ended by itself.
    pub summary: Option<Summary>,
    /// Whether the last line was torn off.
    pub torn: bool,
}

impl Run {
    /// Makes a run that has only begun.
    pub fn new(header: Header) -> Self {
        Self {
            header,
            builds: BTreeMap::new(),
            sessions: Vec::new(),
            given_up: BTreeMap::new(),
            step: None,
            summary: None,
            torn: false,
        }
    }

    /// Takes in one more record. A second header is ignored: there is only one.
    pub fn apply(&mut self, record: Record) {
        match record {
            Record::Header(_) | Record::Verdict(_) => {}
            Record::Resumed { .. } => self.summary = None,
            Record::Build(build) => drop(self.builds.insert(build.cell, build.outcome)),
            Record::Session(session) => self.sessions.push(*session),
            Record::Gap { cell, gap } => drop(self.given_up.insert(cell, gap)),
            Record::Step(step) => self.step = Some(*step),
            Record::Summary(summary) => self.summary = Some(summary),
        }
    }
}

/// A journal that is being written. Each record is one write, so that a kill tears at most the last line.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    file: File,
}

impl Journal {
    /// Begins a journal; the file must not exist yet.
    pub fn create(path: &Path, header: &Header) -> Result<Self> {
        let cannot = |error: io::Error| unwritable(path, &error);
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder).map_err(cannot)?;
        }
        let file = OpenOptions::new()
            .create_new(true)
            .append(true)
            .open(path)
            .map_err(cannot)?;
        let mut journal = Self {
            path: path.to_owned(),
            file,
        };
        journal.append(&Record::Header(Box::new(header.clone())))?;
        Ok(journal)
    }

    /// Takes up a journal where it was left, without its torn tail.
    pub fn resume(path: &Path, at: Timestamp) -> Result<(Self, Run)> {
        let text = read_text(path)?;
        let (mut run, whole) = parse(&text, path)?;
        let cannot = |error: io::Error| unwritable(path, &error);
        let file = OpenOptions::new().append(true).open(path).map_err(cannot)?;
        file.set_len(whole as u64).map_err(cannot)?;
        run.torn = false;
        let mut journal = Self {
            path: path.to_owned(),
            file,
        };
        journal.append(&Record::Resumed { at })?;
        Ok((journal, run))
    }

    /// Writes one record down to the disk.
    pub fn append(&mut self, record: &Record) -> Result<()> {
        let cannot = |error: io::Error| unwritable(&self.path, &error);
        let mut line = serde_json::to_vec(record).map_err(|error| cannot(error.into()))?;
        line.push(b'\n');
        self.file.write_all(&line).map_err(cannot)?;
        self.file.sync_data().map_err(cannot)
    }

    /// Returns where the journal is.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// Reads a whole run.
pub fn read(path: &Path) -> Result<Run> {
    parse(&read_text(path)?, path).map(|(run, _)| run)
}

/// Returns the journals of a matrix, the newest first.
pub fn list(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(folder) else {
        return Vec::new();
    };
    let mut paths: Vec<PathBuf> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| {
            path.extension()
                .is_some_and(|extension| extension == "jsonl")
        })
        .collect();
    // Names begin with the time.
    paths.sort();
    paths.reverse();
    paths
}

fn read_text(path: &Path) -> Result<String> {
    let bytes = std::fs::read(path).map_err(|error| {
        Error::new(
            Kind::Machine,
            format!("cannot read the journal {}", path.display()),
        )
        .because(error)
    })?;
    // A torn line may end inside a character; a whole one never holds half of one.
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn unwritable(path: &Path, error: &io::Error) -> Error {
    Error::new(
        Kind::Machine,
        format!("cannot write the journal {}", path.display()),
    )
    .because(error)
    .hint("make the folder writable and free some space; the next run goes on from what is written")
}

/// What every schema's header has.
#[derive(Deserialize)]
struct AnyHeader {
    schema: u32,
}

/// Refuses another schema before anything else of the header is looked at: that may well differ.
fn check_schema(text: &str, path: &Path) -> Result<()> {
    let first = text.lines().next().unwrap_or_default();
    match serde_json::from_str(first) {
        Ok(AnyHeader { schema: 1..=SCHEMA }) | Err(_) => Ok(()),
        Ok(AnyHeader { schema }) => Err(broken(
            path,
            0,
            format!("its schema is {schema}, this Harness knows 1 to {SCHEMA}"),
        )
        .hint("use the Harness that wrote it")),
    }
}

/// Makes a run of a journal's text. Returns it with the length of the text up to the last whole line. Pure.
fn parse(text: &str, path: &Path) -> Result<(Run, usize)> {
    check_schema(text, path)?;
    let mut run: Option<Run> = None;
    let mut whole = 0;
    for (number, line) in text.split_inclusive('\n').enumerate() {
        let last = whole + line.len() == text.len();
        match (serde_json::from_str(line), &mut run) {
            (Ok(Record::Header(header)), None) if line.ends_with('\n') => {
                run = Some(Run::new(*header));
            }
            (Ok(record), Some(run)) if line.ends_with('\n') => run.apply(record),
            (_, Some(run)) if last => {
                run.torn = true;
                break;
            }
            (Ok(_), _) => return Err(broken(path, number, "the first line is not a header")),
            (Err(error), _) => return Err(broken(path, number, error)),
        }
        whole += line.len();
    }
    let run = run.ok_or_else(|| broken(path, 0, "it is empty"))?;
    Ok((run, whole))
}

fn broken(path: &Path, line: usize, why: impl std::fmt::Display) -> Error {
    let place = format!("{}:{}", path.display(), line + 1);
    Error::new(
        Kind::Machine,
        format!("{place}: this is not a journal of Harness"),
    )
    .because(why)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verdict::fixture;

    fn header_line() -> String {
        let run = fixture::run(&["1.0.0", "2.0.0"]);
        serde_json::to_string(&Record::Header(Box::new(run.header))).unwrap() + "\n"
    }

    fn gap_line(cell: usize) -> String {
        let gap = Gap::new(crate::outcome::GapKind::Crashed, "it died");
        serde_json::to_string(&Record::Gap { cell, gap }).unwrap() + "\n"
    }

    #[test]
    fn a_torn_last_line_is_left_out_wherever_it_is_torn() {
        let whole = header_line() + &gap_line(0);
        let last = gap_line(1);
        for length in 0..last.len() {
            let text = format!("{whole}{}", &last[..length]);
            let (run, kept) = parse(&text, Path::new("j.jsonl")).unwrap();
            assert_eq!(kept, whole.len(), "torn after {length} bytes");
            assert_eq!(run.given_up.len(), 1);
            assert_eq!(run.torn, length > 0);
        }
    }

    #[test]
    fn a_broken_line_in_the_middle_is_an_error_with_its_number() {
        let text = header_line() + "{\"record\":\n" + &gap_line(0);
        let error = parse(&text, Path::new("j.jsonl")).unwrap_err();
        assert!(error.message.starts_with("j.jsonl:2:"), "{error}");
    }

    #[test]
    fn a_journal_without_a_whole_header_is_none() {
        let header = header_line();
        assert!(parse("", Path::new("j.jsonl")).is_err());
        assert!(parse(&header[..header.len() - 1], Path::new("j.jsonl")).is_err());
        assert!(parse(&(gap_line(0) + &header), Path::new("j.jsonl")).is_err());
    }

    #[test]
    fn another_schema_is_refused_and_says_which() {
        let known = format!("\"schema\":{SCHEMA},");
        let text = header_line().replace(&known, "\"schema\":999,");
        let error = parse(&text, Path::new("j.jsonl")).unwrap_err();
        assert!(error.to_string().contains("schema is 999"), "{error}");
    }

    /// Part of a real journal: its header and what there is of four neighbours.
    #[test]
    fn a_journal_of_schema_1_is_read_and_judged_as_ever() {
        let text = include_str!("../tests/data/journal-1.jsonl");
        let (run, whole) = parse(text, Path::new("j.jsonl")).unwrap();
        assert_eq!((run.header.schema, whole), (1, text.len()));
        assert_eq!((run.builds.len(), run.sessions.len()), (4, 5));
        assert!(run.summary.is_some());
        let pair = |baseline| (baseline, baseline + 1);
        let pairs = crate::verdict::judge(&run).comparisons;
        let pairs = pairs
            .iter()
            .map(|one| (one.pair.baseline, one.pair.candidate));
        assert_eq!(pairs.collect::<Vec<_>>(), [pair(14), pair(15), pair(16)]);
    }

    #[test]
    fn a_header_says_what_is_compared_with_what() {
        let mut header = fixture::run(&["1.0", "2.0"]).header;
        header.order = Order::Pep440;
        header.compare = Compare::Reference("2.0".to_owned());
        let line = serde_json::to_string(&Record::Header(Box::new(header.clone()))).unwrap();
        let told = r#""order":"pep440","compare":{"reference":"2.0"}"#;
        assert!(line.contains(told), "{line}");
        let (run, _) = parse(&(line + "\n"), Path::new("j.jsonl")).unwrap();
        assert_eq!(run.header, header);
        let pair = Pair {
            baseline: 1,
            candidate: 0,
            skipped: vec![],
        };
        assert_eq!(run.header.pairs(&|_| true), [pair]);
    }

    #[test]
    fn a_resumed_run_is_open_again() {
        let summary = Record::Summary(Summary {
            ended: Timestamp::UNIX_EPOCH,
            exit: 0,
            regressions: 0,
            compared: 0,
            gaps: 0,
        });
        let mut run = fixture::run(&["1.0.0"]);
        run.apply(summary);
        assert!(run.summary.is_some());
        run.apply(Record::Resumed {
            at: Timestamp::UNIX_EPOCH,
        });
        assert!(run.summary.is_none());
    }
}
