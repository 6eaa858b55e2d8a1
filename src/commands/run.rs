//! `harness run`: build what is missing, measure, judge, report.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use sha2::{Digest, Sha256};

use super::{Loaded, load, matrices};
use crate::cli::{Format, RunArgs};
use crate::error::Result;
use crate::exit::Exit;
use crate::host;
use crate::journal::{self, CpuPlan, Header, Journal, MatrixFacts, Record, Run, SCHEMA, Summary};
use crate::live::Live;
use crate::matrix::{Matrix, Stop};
use crate::pipeline::{self, Recorder};
use crate::process;
use crate::progress::Progress;
use crate::report::Report;
use crate::source;
use crate::verdict::{Judgement, Verdict};
use crate::workplace::{self, Workplace};

/// Versions and sessions of `--quick`.
const QUICK_VERSIONS: usize = 3;
const QUICK_SESSIONS: u32 = 4;

pub(super) async fn run(workplace: &Workplace, arguments: &RunArgs) -> Result<Exit> {
    let mut worst = Exit::Done;
    let matrices = matrices(workplace, &arguments.selected)?;
    let lock = workplace.lock()?;
    workplace.empty_scratch(&lock)?;
    for mut matrix in matrices {
        adjust(&mut matrix, arguments);
        worst = worse(worst, run_one(workplace, matrix, arguments).await?);
    }
    Ok(worst)
}

async fn run_one(workplace: &Workplace, matrix: Matrix, arguments: &RunArgs) -> Result<Exit> {
    let mut progress = Progress::new();
    progress.doing(&format!(
        "{}: asking which versions there are",
        matrix.title
    ));
    let loaded = load(matrix, &selected(arguments)).await?;
    loaded
        .warnings
        .iter()
        .for_each(|warning| progress.say(&format!("warning: {warning}")));
    let cpus = host::cpu_plan(
        arguments
            .server_cpus
            .clone()
            .or_else(|| loaded.matrix.start.cpus.clone()),
        arguments.load_cpus.clone(),
    )?;
    let header = header(workplace, &loaded, &cpus, arguments).await?;
    let mut recorder = open_journal(workplace, header, arguments.fresh)?;
    let shown = recorder.journal.path().strip_prefix(&workplace.root);
    progress.say(&format!(
        "journal {}",
        shown.unwrap_or(recorder.journal.path()).display()
    ));
    let bench = Arc::new(Live::new(
        workplace,
        loaded,
        cpus,
        &recorder.run.header.run,
    )?);
    let mut watch = |event: &pipeline::Event<'_>, run: &Run| progress.show(event, run);
    pipeline::build(
        &bench,
        &mut recorder,
        host::allowed_cpus().len(),
        &mut watch,
    )
    .await?;
    let judgement = pipeline::measure(&*bench, &mut recorder, &mut watch).await?;
    progress.finish();
    let exit = exit_of(&judgement);
    recorder.record(Record::Summary(summary(&judgement, exit)))?;
    publish(workplace, &recorder.run, &judgement, arguments.format)?;
    Ok(exit)
}

/// The command line's selection; a quick run takes few versions unless told otherwise.
fn selected(arguments: &RunArgs) -> crate::cli::Selected {
    let mut selected = arguments.selected.clone();
    if arguments.quick && selected.limit.is_none() {
        selected.limit = Some(QUICK_VERSIONS);
    }
    selected
}

/// Lays the command line's figures over the matrix's.
fn adjust(matrix: &mut Matrix, arguments: &RunArgs) {
    if arguments.quick {
        matrix.sessions.count = QUICK_SESSIONS;
        matrix.sessions.solo = 1;
        matrix.load.stop = match matrix.load.stop {
            Stop::Duration(duration) => Stop::Duration(duration.min(Duration::from_secs(1))),
            Stop::Requests(requests) => Stop::Requests(requests.min(5_000)),
        };
        matrix.load.warmup_answers = matrix.load.warmup_answers.min(1_000);
        matrix.load.warmup_at_most = matrix.load.warmup_at_most.min(Duration::from_secs(3));
    }
    if let Some(sessions) = arguments.sessions {
        matrix.sessions.count = sessions;
    }
    if let Some(solo) = arguments.solo {
        matrix.sessions.solo = solo;
    }
}

/// Goes on with the newest unfinished journal of the same plan on the same machine, or begins a new one.
fn open_journal(workplace: &Workplace, header: Header, fresh: bool) -> Result<Recorder> {
    let folder = workplace.journals(&header.matrix.name);
    if let Some(path) = unfinished(&folder, &header).filter(|_| !fresh) {
        let (journal, run) = Journal::resume(&path, host::now())?;
        return Ok(Recorder { run, journal });
    }
    let journal = Journal::create(&folder.join(format!("{}.jsonl", header.run)), &header)?;
    Ok(Recorder {
        run: Run::new(header),
        journal,
    })
}

/// Returns the newest journal if its run did not end and was planned exactly as this one.
fn unfinished(folder: &Path, wanted: &Header) -> Option<PathBuf> {
    let path = journal::list(folder).into_iter().next()?;
    let run = journal::read(&path).ok()?;
    let same = run.header.matrix.hash == wanted.matrix.hash
        && run.header.cells == wanted.cells
        && run.header.workload_key == wanted.workload_key
        && run.header.machine.class == wanted.machine.class
        && run.header.cpus == wanted.cpus
        && run.header.sessions == wanted.sessions
        && run.header.harness == wanted.harness;
    (same && run.summary.is_none()).then_some(path)
}

async fn header(
    workplace: &Workplace,
    loaded: &Loaded,
    cpus: &CpuPlan,
    arguments: &RunArgs,
) -> Result<Header> {
    let matrix = &loaded.matrix;
    let mut machine = host::machine();
    for &tool in source::tools(&matrix.source.kind) {
        let version = process::version_of(tool).await;
        machine
            .tools
            .extend(version.map(|version| (tool.to_owned(), version)));
    }
    let started = host::now();
    let seed = arguments.seed.unwrap_or_else(host::fresh_seed);
    let commit = host::commit_of(&matrix.file);
    let time = started.strftime("%Y%m%dT%H%M%SZ");
    Ok(Header {
        schema: SCHEMA,
        harness: env!("CARGO_PKG_VERSION").to_owned(),
        run: format!(
            "{time}-{}-{:04x}",
            machine.host,
            host::fresh_seed() & 0xffff
        ),
        started,
        command: command_line(),
        seed,
        matrix: MatrixFacts {
            name: matrix.name.clone(),
            title: matrix.title.clone(),
            file: matrix
                .file
                .strip_prefix(&workplace.root)
                .unwrap_or(&matrix.file)
                .to_owned(),
            hash: hash(&workplace.matrix_text(&matrix.file)?),
            modified: commit.as_ref().is_some_and(|(_, modified)| *modified),
            commit: commit.map(|(commit, _)| commit),
        },
        workload: matrix.load.clone(),
        check: matrix.check.clone(),
        workload_key: workload_key(matrix),
        sessions: matrix.sessions,
        rule: matrix.verdict,
        machine,
        cpus: cpus.clone(),
        cells: loaded.expansion.cells.clone(),
    })
}

/// Returns the command line as typed, the program by its bare name.
fn command_line() -> Vec<String> {
    let mut words: Vec<String> = std::env::args_os()
        .map(|word| word.to_string_lossy().into_owned())
        .collect();
    if let Some(program) = words.first_mut() {
        "harness".clone_into(program);
    }
    words
}

/// Returns the hash of load, check and generator: results with different keys are never compared.
fn workload_key(matrix: &Matrix) -> String {
    let facts = BTreeMap::from([
        (
            "load",
            serde_json::to_string(&matrix.load).unwrap_or_default(),
        ),
        (
            "check",
            serde_json::to_string(&matrix.check).unwrap_or_default(),
        ),
        ("generator", format!("native {}", env!("CARGO_PKG_VERSION"))),
    ]);
    hash(&format!("{facts:?}"))
}

fn hash(text: &str) -> String {
    data_encoding::HEXLOWER.encode(&Sha256::digest(text.as_bytes()))
}

fn summary(judgement: &Judgement, exit: Exit) -> Summary {
    let decided = |wanted: &[Verdict]| {
        judgement
            .comparisons
            .iter()
            .filter(|pair| wanted.contains(&pair.verdict))
            .count()
    };
    Summary {
        ended: host::now(),
        exit: exit.code(),
        regressions: decided(&[Verdict::Regression]),
        compared: decided(&[
            Verdict::Regression,
            Verdict::Improvement,
            Verdict::Same,
            Verdict::Unknown,
        ]),
        gaps: judgement.gaps.len(),
    }
}

/// Returns the exit code of what a run says. Pure.
pub(super) fn exit_of(judgement: &Judgement) -> Exit {
    let any = |wanted: Verdict| {
        judgement
            .comparisons
            .iter()
            .any(|pair| pair.verdict == wanted)
    };
    if any(Verdict::Regression) {
        Exit::Regression
    } else if any(Verdict::Same) || any(Verdict::Improvement) {
        Exit::Done
    } else {
        Exit::Undecided
    }
}

fn worse(one: Exit, other: Exit) -> Exit {
    let rank = |exit: Exit| match exit {
        Exit::Done => 0,
        Exit::Undecided => 1,
        Exit::Regression => 2,
        Exit::CannotRun | Exit::Usage | Exit::Interrupted | Exit::Terminated | Exit::Bug => 3,
    };
    if rank(other) > rank(one) { other } else { one }
}

/// Writes the report beside the journal's folder and the result to stdout.
fn publish(workplace: &Workplace, run: &Run, judgement: &Judgement, format: Format) -> Result<()> {
    let report = Report::new(run, judgement);
    let file = workplace
        .reports()
        .join(format!("{}.md", run.header.matrix.name));
    workplace::write(&file, &report.markdown())?;
    super::report::show(&report, format);
    Progress::new().say(&format!(
        "report  {}",
        file.strip_prefix(&workplace.root)
            .unwrap_or(&file)
            .display()
    ));
    Ok(())
}
