//! The command line. Pure: what is asked for, as values.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;

use crate::matrix::Metric;

/// Which version made my server slower?
///
/// Harness builds the versions that a matrix names, loads each with one fixed workload, and says which steps between
/// neighbours are real. Data goes to stdout, progress and messages to stderr; nothing ever prompts.
#[derive(Debug, Parser)]
#[command(name = "harness", version, propagate_version = true, after_help = EXIT_CODES)]
pub struct Cli {
    /// The project file; looked for here and in the folders above.
    #[arg(long, global = true, value_name = "FILE", env = "HARNESS_PROJECT")]
    pub project: Option<PathBuf>,
    /// What to do.
    #[command(subcommand)]
    pub verb: Verb,
}

const EXIT_CODES: &str = "\
Exit codes (safe under `git bisect run`):
  0    done; no regression among the pairs that could be compared
  1    at least one regression
  125  undecided: nothing could be compared, or every pair is unknown
  128  the tool cannot run: configuration, machine, lock held, port taken, disk full
  129  wrong usage
  130  interrupted; 143 terminated; results are kept
  255  a bug";

/// The verbs.
#[derive(Debug, Subcommand)]
pub enum Verb {
    /// Build what is missing, measure, judge, report: the main job.
    Run(RunArgs),
    /// Hold two versions or folders against each other, and answer in one screen.
    Compare(CompareArgs),
    /// Search the commit or version between two that made it slower.
    Bisect(BisectArgs),
    /// Answer `git bisect run`: is what is checked out as fast as the good reference?
    Step(StepArgs),
    /// Fetch and build only, in parallel.
    Build(BuildArgs),
    /// Show the cells in order with their state.
    List(ListArgs),
    /// Parse and expand matrices, and explain why each version is in or out.
    Check(CheckArgs),
    /// Measure what is new, and the last few again with it; say something only when there is something to say.
    Nightly(NightlyArgs),
    /// Make the report again from a journal.
    Report(ReportArgs),
    /// Show all runs and nights to a browser on this machine.
    Serve(ServeArgs),
    /// Take in what other programs measured, as single values that can be looked at and not judged.
    Import(ImportArgs),
    /// Hand the results of a run to another tool, in a format that it reads.
    Export(ExportArgs),
    /// Hold all runs of a matrix against each other: what the machine did, and what each version did.
    History(HistoryArgs),
    /// Show the build or server log of a cell, or the figures of its loads.
    Log(LogArgs),
    /// Accept a known gap or regression, so that it is no news; without a cell, list those that are accepted.
    Ack(AckArgs),
    /// Bound the cache of builds and logs by size and age.
    Clean(CleanArgs),
    /// Say whether this machine is fit.
    Doctor(DoctorArgs),
    /// Print a script that completes commands and options in a shell.
    ///
    /// bash reads it from `~/.local/share/bash-completion/completions/harness`, fish from `~/.config/fish/completions/harness.fish`,
    /// and zsh as `_harness` from a folder of its `fpath`.
    Completions(CompletionsArgs),
    /// Print the manual page, or write the pages of all verbs into a folder.
    Man(ManArgs),
}

/// Which cells.
#[derive(Debug, Clone, Default, Args)]
pub struct Selected {
    /// Matrix files (*.toml), then versions: `20.11.0`, `20.0.0..22.0.0`, `^18`. Versions named here replace the
    /// matrix's own selection. Without a matrix file those of harness.toml are meant.
    #[arg(value_name = "MATRIX|VERSION")]
    pub what: Vec<String>,
    /// Which of the versions to take: all, last-patch-per-minor, last-per-major, last:N, every:N.
    #[arg(long, value_name = "RULE")]
    pub select: Option<String>,
    /// Only the last N of the wanted versions.
    #[arg(long, value_name = "N", value_parser = at_least_one)]
    pub last: Option<usize>,
    /// At most N of the selected versions, the newest.
    #[arg(long, value_name = "N", value_parser = at_least_one)]
    pub limit: Option<usize>,
    /// Only this value of an axis.
    #[arg(long, value_name = "AXIS=VALUE")]
    pub only: Vec<String>,
    /// Leave out a version or a cell, by its exact name, or an axis's value as AXIS=VALUE; may be given again.
    #[arg(long, value_name = "NAME")]
    pub skip: Vec<String>,
}

/// Reads a number from 1 on.
fn at_least_one(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(0) => Err("with none there is nothing to do".to_owned()),
        Ok(number) => Ok(number),
        Err(error) => Err(format!("{error}")),
    }
}

/// How plain data is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum DataFormat {
    /// For a person at a terminal.
    #[default]
    Human,
    /// For a program.
    Json,
}

/// How a report is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum Format {
    /// For a person at a terminal.
    #[default]
    Human,
    /// For a program.
    Json,
    /// Markdown.
    #[value(alias = "markdown")]
    Md,
}

/// How a report that is made again is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum ReportFormat {
    /// For a person at a terminal.
    Human,
    /// For a program.
    Json,
    /// Markdown.
    #[default]
    #[value(alias = "markdown")]
    Md,
    /// One HTML file, which needs nothing beside it.
    Html,
}

impl From<Format> for ReportFormat {
    fn from(format: Format) -> Self {
        match format {
            Format::Human => Self::Human,
            Format::Json => Self::Json,
            Format::Md => Self::Md,
        }
    }
}

/// Arguments of `run`.
#[derive(Debug, Clone, Args)]
pub struct RunArgs {
    /// Which cells.
    #[command(flatten)]
    pub selected: Selected,
    /// A short run that proves that everything works: 3 versions, 4 short sessions.
    #[arg(long)]
    pub quick: bool,
    /// Sessions of each pair at most, at least three.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(3..=1000))]
    pub sessions: Option<u32>,
    /// Solo trials of each version.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub solo: Option<u32>,
    /// Seed of every random order; chosen and written down when not given.
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// End after this time, builds included, as in `20m`: what is flagged by then is confirmed within it, what is not decided
    /// is unknown, and says how many sessions it still needs.
    #[arg(long, value_name = "TIME", value_parser = crate::matrix::duration)]
    pub budget: Option<std::time::Duration>,
    /// Begin a new run even where an unfinished one could go on.
    #[arg(long)]
    pub fresh: bool,
    /// CPUs of the servers, as in `0,2`.
    #[arg(long, value_name = "CPUS", value_delimiter = ',')]
    pub server_cpus: Option<Vec<usize>>,
    /// CPUs of the load, as in `1,3`.
    #[arg(long, value_name = "CPUS", value_delimiter = ',')]
    pub load_cpus: Option<Vec<usize>>,
    /// Search each step for the worse between two tags of a git repository on for the commit that made it.
    #[arg(long)]
    pub bisect: bool,
    /// How the result is written to stdout.
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
}

/// Arguments of `compare`.
#[derive(Debug, Clone, Args)]
pub struct CompareArgs {
    /// What is held against: a version of the matrix's source (also a tag or commit of a git source), or a folder, `.` or
    /// `./name`: a checkout with the changes that are there, built in a copy as the matrix builds its versions.
    #[arg(value_name = "A")]
    pub baseline: String,
    /// What is judged, in the same way.
    #[arg(value_name = "B")]
    pub candidate: String,
    /// The matrix that says how to build, start and load; the first of harness.toml by default.
    #[arg(long, value_name = "FILE")]
    pub matrix: Option<PathBuf>,
    /// Only this value of an axis.
    #[arg(long, value_name = "AXIS=VALUE")]
    pub only: Vec<String>,
    /// Few and short sessions.
    #[arg(long)]
    pub quick: bool,
    /// Sessions at most, at least three.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(3..=1000))]
    pub sessions: Option<u32>,
    /// Seed of every random order; chosen and written down when not given.
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// End after this time, builds included, as in `5m`.
    #[arg(long, value_name = "TIME", value_parser = crate::matrix::duration)]
    pub budget: Option<std::time::Duration>,
    /// Begin anew even where an unfinished comparison could go on.
    #[arg(long)]
    pub fresh: bool,
    /// How the result is written to stdout.
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
}

/// Arguments of `bisect`.
#[derive(Debug, Clone, Args)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a flag of the command line"
)]
pub struct BisectArgs {
    /// The last one that is known to be good, and one that is known to be bad: tags, branches or commits where the matrix's
    /// source is a git repository, else versions.
    #[arg(value_name = "GOOD..BAD")]
    pub range: String,
    /// The matrix that says how to build, start and load; the first of harness.toml by default.
    #[arg(long, value_name = "FILE")]
    pub matrix: Option<PathBuf>,
    /// Search what made it faster.
    #[arg(long)]
    pub invert: bool,
    /// The number that decides, not the first of the matrix.
    #[arg(long, value_enum)]
    pub metric: Option<Metric>,
    /// Take a merged branch for one change, the merge.
    #[arg(long)]
    pub first_parent: bool,
    /// Only this value of an axis.
    #[arg(long, value_name = "AXIS=VALUE")]
    pub only: Vec<String>,
    /// Short sessions.
    #[arg(long)]
    pub quick: bool,
    /// Sessions at most.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(4..=10_000))]
    pub sessions: Option<u32>,
    /// Seed of every random order; chosen and written down when not given.
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// End after this time, builds included, as in `20m`, with what is known by then; the same command goes on.
    #[arg(long, value_name = "TIME", value_parser = crate::matrix::duration)]
    pub budget: Option<std::time::Duration>,
    /// Begin anew even where an unfinished search could go on.
    #[arg(long)]
    pub fresh: bool,
    /// How the result is written to stdout.
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
}

/// Arguments of `step`.
#[derive(Debug, Clone, Args)]
#[command(after_help = STEP_CODES)]
pub struct StepArgs {
    /// The good reference, a tag, branch or commit of the repository that is checked out; that of the bisection under way
    /// when not given, and then its bad one too.
    #[arg(long, value_name = "REV")]
    pub good: Option<String>,
    /// The bad reference: then the question is which of the two the checkout is like.
    #[arg(long, value_name = "REV")]
    pub bad: Option<String>,
    /// The matrix that says how to build, start and load; the first of harness.toml by default. One that lies outside of the
    /// checkout brings the project of its own folder with it.
    #[arg(long, value_name = "FILE")]
    pub matrix: Option<PathBuf>,
    /// What a commit without a number is. `bad` looks for where it stopped building or running: nothing is raced, and
    /// a commit with a number is good.
    #[arg(long, value_enum, value_name = "MARK", default_value_t)]
    pub gap_is: GapIs,
    /// The number that decides, as in `verdict.metrics`; the first of the matrix by default.
    #[arg(long, value_enum)]
    pub metric: Option<Metric>,
    /// Look for what made it better: like the good reference is what is not better.
    #[arg(long)]
    pub invert: bool,
    /// Give up on a commit after this time, builds included, as in `10m`: it is skipped.
    #[arg(long, value_name = "TIME", value_parser = crate::matrix::duration)]
    pub budget: Option<std::time::Duration>,
    /// Sessions at most, at least three.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(3..=1000))]
    pub sessions: Option<u32>,
    /// Only this value of an axis.
    #[arg(long, value_name = "AXIS=VALUE")]
    pub only: Vec<String>,
    /// Seed of every random order; chosen and written down when not given.
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// Measure nothing: show the steps of the last bisection as a table, with the mark that git gave each commit.
    #[arg(long, conflicts_with_all = ["good", "bad", "gap_is", "metric", "invert", "budget", "sessions", "only", "seed"])]
    pub summary: bool,
    /// How the result is written to stdout.
    #[arg(long, value_enum, default_value_t)]
    pub format: DataFormat,
}

const STEP_CODES: &str = "\
Exit codes, and what git does:
  0    like the good reference: git marks it good
  1    like the bad reference, or surely worse than the good one: git marks it bad
  125  undecided, or it has no number: git skips it
  128  and above: no fault of the commit; git stops, and marks nothing

  git bisect start --term-old=fast --term-new=slow v1.4.0 v1.3.2
  git bisect run harness step --good v1.3.2 --bad v1.4.0 --matrix ../perf/server.toml
  harness step --summary --matrix ../perf/server.toml";

/// What a commit without a number is to git.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum GapIs {
    /// It can be neither.
    #[default]
    Skip,
    /// It is what is looked for.
    Bad,
}

/// Arguments of `nightly`.
#[derive(Debug, Clone, Args)]
pub struct NightlyArgs {
    /// Matrix files; those of harness.toml by default.
    #[arg(value_name = "MATRIX")]
    pub matrices: Vec<PathBuf>,
    /// How many of the versions that were measured before are measured again.
    #[arg(long, value_name = "K", default_value_t = 3)]
    pub again: usize,
    /// New versions of one night at most, the newest first; the others wait for another night.
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = at_least_one)]
    pub new: usize,
    /// End after this time, builds included, as in `2h`; what is not reached waits for another night.
    #[arg(long, value_name = "TIME", value_parser = crate::matrix::duration)]
    pub budget: Option<std::time::Duration>,
    /// A program that is run when there is news, with the path of the report; the news is in `HARNESS_NEWS`.
    #[arg(long, value_name = "PROGRAM")]
    pub notify: Option<PathBuf>,
    /// An address that the news is posted to, as JSON with a `text`.
    #[arg(long, value_name = "URL")]
    pub webhook: Option<String>,
    /// End with 125 where there is such news.
    #[arg(long, value_enum, value_name = "NEWS")]
    pub fail_on: Option<FailOn>,
    /// Reports of so many nights are kept, and builds that were used in so many days; journals are never deleted.
    #[arg(long, value_name = "N", default_value_t = 90, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub keep: u32,
    /// Few and short sessions.
    #[arg(long)]
    pub quick: bool,
    /// Seed of every random order; chosen and written down when not given.
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
}

/// What else than a regression ends a night badly.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum FailOn {
    /// A version that has no number, and was not known to have none.
    NewGap,
}

/// Arguments of `build`.
#[derive(Debug, Clone, Args)]
pub struct BuildArgs {
    /// Which cells.
    #[command(flatten)]
    pub selected: Selected,
    /// How the result is written to stdout.
    #[arg(long, value_enum, default_value_t)]
    pub format: DataFormat,
}

/// Arguments of `list`.
#[derive(Debug, Clone, Args)]
pub struct ListArgs {
    /// Which cells.
    #[command(flatten)]
    pub selected: Selected,
    /// How the result is written to stdout.
    #[arg(long, value_enum, default_value_t)]
    pub format: DataFormat,
}

/// Arguments of `check`.
#[derive(Debug, Clone, Args)]
pub struct CheckArgs {
    /// Which cells.
    #[command(flatten)]
    pub selected: Selected,
    /// Print the JSON Schema of a matrix or of harness.toml, for editors, or of a report, for programs.
    #[arg(long, value_enum, value_name = "OF", num_args = 0..=1, default_missing_value = "matrix")]
    pub print_schema: Option<SchemaOf>,
    /// How the result is written to stdout.
    #[arg(long, value_enum, default_value_t)]
    pub format: DataFormat,
}

/// What a schema describes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum SchemaOf {
    /// A matrix.
    Matrix,
    /// harness.toml.
    Project,
    /// A matrix, as a page of Markdown: every key with its default.
    Reference,
    /// What `report --format json` writes.
    Report,
}

/// Arguments of `report`.
#[derive(Debug, Clone, Args)]
pub struct ReportArgs {
    /// A journal (*.jsonl), or a matrix file whose newest journal is meant; the first matrix of harness.toml by default.
    #[arg(value_name = "JOURNAL|MATRIX")]
    pub of: Option<PathBuf>,
    /// What the report is for.
    #[arg(long, value_enum, default_value_t)]
    pub style: Style,
    /// In the style `release`: hold the version against this one, not against the one before and the last minor version.
    #[arg(long, value_name = "VERSION")]
    pub from: Option<String>,
    /// In the style `release`: tell of this version, not of the newest.
    #[arg(long, value_name = "VERSION")]
    pub to: Option<String>,
    /// How the report is written to stdout.
    #[arg(long, value_enum, default_value_t)]
    pub format: ReportFormat,
    /// Write it to this file instead; Markdown in the style `full` gets its charts beside it, FILE-series.svg and so on.
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

/// Arguments of `serve`.
#[derive(Debug, Clone, Args)]
pub struct ServeArgs {
    /// The port on localhost; 0 for a free one.
    #[arg(long, value_name = "PORT", default_value_t = 8044)]
    pub port: u16,
}

/// What other tools read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ExportFormat {
    /// A table of the versions, for spreadsheets.
    Csv,
    /// A table of the steps between them, for spreadsheets.
    CsvSteps,
    /// JUnit XML, for CI servers.
    Junit,
    /// Annotations of a step of GitHub Actions; they go to stdout there.
    GithubAnnotations,
    /// JSON for github-action-benchmark, tool `customBiggerIsBetter`.
    GithubActionBenchmark,
    /// Bencher Metric Format, JSON for `bencher run --adapter json`.
    Bencher,
    /// Benchmark text of Go with every launch, for `benchstat -col version`.
    Benchstat,
    /// OpenMetrics text, for the textfile collector of Prometheus's `node_exporter`.
    Openmetrics,
    /// A table of the series of versions, for Apache Otava.
    Otava,
}

/// Arguments of `import`.
#[derive(Debug, Clone, Args)]
pub struct ImportArgs {
    /// What other programs printed or wrote; a file is of the version that it is called, `0.6.0.txt`, unless it tells one itself.
    #[arg(value_name = "FILE", required = true)]
    pub files: Vec<PathBuf>,
    /// Which program it was; told from the files where that is sure.
    #[arg(long, value_enum)]
    pub what: Option<crate::import::Format>,
    /// The version, where the file's name is none.
    #[arg(long, value_name = "VERSION")]
    pub of: Option<String>,
    /// A version without a number: where it stopped (fetch, build, start, check, load), and the log that says why.
    #[arg(long, value_name = "VERSION=STAGE[:LOG]")]
    pub gap: Vec<String>,
    /// What journal and report are called.
    #[arg(long, value_name = "NAME", default_value = "imported")]
    pub name: String,
    /// The report's title.
    #[arg(long)]
    pub title: Option<String>,
    /// What is known of them: the load, the machine, where they were published.
    #[arg(long)]
    pub note: Option<String>,
    /// How the report is written to stdout.
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
}

/// Arguments of `export`.
#[derive(Debug, Clone, Args)]
pub struct ExportArgs {
    /// For which tool; what Harness itself knows of a run is `report --format json`.
    #[arg(value_enum)]
    pub format: ExportFormat,
    /// A journal (*.jsonl), or a matrix file whose newest journal is meant; the first matrix of harness.toml by default.
    #[arg(value_name = "JOURNAL|MATRIX")]
    pub of: Option<PathBuf>,
    /// Write it to this file instead of stdout, whole or not at all.
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

/// What a report is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum Style {
    /// To paste into release notes or a comment: one sentence, a small table, the rest folded; Markdown only.
    Release,
    /// The last night of `nightly` again, of one matrix or of all of harness.toml: what is new first; Markdown only.
    Nightly,
    /// To look things up: everything that is known.
    #[default]
    Full,
}

/// Arguments of `history`.
#[derive(Debug, Clone, Args)]
pub struct HistoryArgs {
    /// A matrix file (*.toml), the first of harness.toml by default; then versions: only these are looked at.
    #[arg(value_name = "MATRIX|VERSION")]
    pub what: Vec<String>,
    /// Only runs that began on this day (UTC) or later.
    #[arg(long, value_name = "DATE", value_parser = day)]
    pub since: Option<Timestamp>,
    /// Only the newest N of the runs that may be compared.
    #[arg(long, value_name = "N", value_parser = at_least_one)]
    pub last: Option<usize>,
    /// How the history is written to stdout.
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
}

/// Reads a day as the time at which it begins.
fn day(text: &str) -> Result<Timestamp, String> {
    let day: Date = text
        .parse()
        .map_err(|error| format!("{error}; write it as in 2026-11-30"))?;
    let begins = TimeZone::UTC.to_timestamp(day.at(0, 0, 0, 0));
    begins.map_err(|error| error.to_string())
}

/// Arguments of `log`.
#[derive(Debug, Clone, Args)]
pub struct LogArgs {
    /// The cell, as `list` shows it.
    pub cell: String,
    /// The matrix; the first of harness.toml by default.
    #[arg(long, value_name = "FILE")]
    pub matrix: Option<PathBuf>,
    /// Which log: the newest of any kind by default.
    #[arg(long, value_enum)]
    pub of: Option<LogOf>,
    /// In place of a log: what every load of it in the newest run gave, in the units of `http_load`, `ab`, `wrk`
    /// and `httpbench`.
    #[arg(long, conflicts_with = "of")]
    pub load: bool,
    /// How the figures are written to stdout.
    #[arg(long, value_enum, default_value_t, requires = "load")]
    pub format: DataFormat,
}

/// Whose log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum LogOf {
    /// The build's.
    Build,
    /// The server's.
    Server,
}

/// Arguments of `ack`.
#[derive(Debug, Clone, Args)]
pub struct AckArgs {
    /// The cells whose gaps, or steps down, are accepted as they were in the newest run, as `list` shows them.
    #[arg(value_name = "CELL")]
    pub cells: Vec<String>,
    /// The matrix; the first of harness.toml by default.
    #[arg(long, value_name = "FILE")]
    pub matrix: Option<PathBuf>,
    /// Why it is accepted; reports show it.
    #[arg(long, value_name = "TEXT", default_value = "accepted")]
    pub reason: String,
    /// Accept them no longer.
    #[arg(long)]
    pub remove: bool,
}

/// Arguments of `clean`.
#[derive(Debug, Clone, Args)]
pub struct CleanArgs {
    /// Delete what was not used for so many days.
    #[arg(long, value_name = "DAYS", default_value_t = 30)]
    pub unused_days: u32,
    /// Then delete the longest unused until no more than this is left: 20GiB, 500MiB.
    #[arg(long, value_name = "SIZE", default_value = "20GiB", value_parser = crate::matrix::size)]
    pub keep: u64,
    /// Delete everything that is not in use.
    #[arg(long)]
    pub all: bool,
    /// Only say what would be deleted.
    #[arg(long)]
    pub dry_run: bool,
}

/// Arguments of `doctor`.
#[derive(Debug, Clone, Args)]
pub struct DoctorArgs {
    /// Measure how much two launches of the same program differ here, in each design, and what it then costs to see a
    /// change: of the newest version of a matrix that builds, or without one of a small server of Harness's own.
    #[arg(long, value_name = "MATRIX", num_args = 0..=1)]
    pub noise: Option<Option<PathBuf>>,
    /// Pairs of launches of each design.
    #[arg(long, value_name = "N", default_value_t = 8, requires = "noise", value_parser = clap::value_parser!(u32).range(3..=1000))]
    pub sessions: u32,
    /// How the result is written to stdout.
    #[arg(long, value_enum, default_value_t)]
    pub format: DataFormat,
}

/// Arguments of `completions`.
#[derive(Debug, Clone, Args)]
pub struct CompletionsArgs {
    /// The shell.
    #[arg(value_enum)]
    pub shell: clap_complete::Shell,
}

/// Arguments of `man`.
#[derive(Debug, Clone, Args)]
pub struct ManArgs {
    /// The folder, as in `~/.local/share/man/man1`; it is made where it is not there.
    #[arg(value_name = "DIR")]
    pub folder: Option<PathBuf>,
}
