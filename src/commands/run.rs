//! `harness run`: build what is missing, measure, judge, report.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use sha2::{Digest, Sha256};

use super::past::Known;
use super::{Loaded, bisect, load, matrices};
use crate::cli::RunArgs;
use crate::error::{Error, Kind, Result};
use crate::exit::Exit;
use crate::host;
use crate::journal::{self, Header, Journal, MatrixFacts, Record, Run, SCHEMA, Summary};
use crate::live::{self, Live};
use crate::load::tool;
use crate::matrix::{Design, Matrix, SourceKind, Stop};
use crate::pipeline::{self, Recorder};
use crate::process;
use crate::progress::{self, Progress};
use crate::report::Report;
use crate::source;
use crate::verdict::{Comparison, Judgement, Verdict};
use crate::workplace::Workplace;

/// Open files that the program itself needs beside the load's sockets.
const OWN_FILES: u64 = 128;
/// Versions and sessions of `--quick`.
const QUICK_VERSIONS: usize = 3;
const QUICK_SESSIONS: u32 = 4;

pub(super) async fn run(workplace: &Workplace, arguments: &RunArgs) -> Result<Exit> {
    let mut worst = Exit::Done;
    let begun = host::monotonic();
    let matrices = matrices(workplace, &arguments.selected)?;
    if arguments.bisect {
        matrices
            .iter()
            .try_for_each(|(matrix, _)| has_commits(matrix))?;
    }
    let lock = workplace.lock()?;
    workplace.empty_scratch(&lock)?;
    let count = u32::try_from(matrices.len()).unwrap_or(u32::MAX);
    for (place, (mut matrix, text)) in (1..).zip(matrices) {
        adjust(&mut matrix, arguments);
        // Each matrix has an equal part of the time, and what those before it have left.
        let time = arguments.budget.map(|budget| budget * place / count);
        let budget = time.map(|time| pipeline::Budget { begun, time });
        let exit = Box::pin(run_one(workplace, (matrix, text), (arguments, budget))).await?;
        worst = worse(worst, exit);
    }
    Ok(worst)
}

/// Makes sure that there is something to search between two versions.
fn has_commits(matrix: &Matrix) -> Result<()> {
    if matches!(matrix.source.kind, SourceKind::Git(_)) {
        return Ok(());
    }
    let message = format!("{} has no commits to search", matrix.file.display());
    let error =
        Error::new(Kind::Usage, message).because("`--bisect` is for versions of a git repository");
    Err(error.hint("`harness bisect A..B` searches the versions between two"))
}

async fn run_one(
    workplace: &Workplace,
    matrix: (Matrix, String),
    (arguments, budget): (&RunArgs, Option<pipeline::Budget>),
) -> Result<Exit> {
    let mut progress = Progress::new();
    progress.doing(&format!(
        "{}: asking which versions there are",
        matrix.0.title
    ));
    let whole = matrix.clone();
    let loaded = load(workplace, matrix, &selected(arguments)).await?;
    loaded.warn(|text| progress.say(text));
    needs(&loaded)?;
    let header = header(workplace, &loaded, arguments).await?;
    let bench = Arc::new(Live::new(
        workplace,
        loaded,
        header.cpus.clone(),
        &header.run,
    )?);
    let mut recorder = built(workplace, &bench, header, arguments, &mut progress).await?;
    let mut watch = |event: &pipeline::Event<'_>, run: &Run| progress.show(event, run);
    let judgement = pipeline::measure(&*bench, &mut recorder, budget, &mut watch).await?;
    progress.finish();
    if arguments.bisect {
        let steps = flagged(&recorder.run, &judgement);
        Box::pin(go_deeper(workplace, whole, (steps, arguments, budget))).await?;
    }
    end(workplace, recorder, &judgement, arguments)
}

/// A step between two commits: its ends' hashes, and its values of the axes as the command line has them.
type Between = (String, String, Vec<String>);

/// Returns the steps for the worse between cells that are commits.
fn flagged(run: &Run, judgement: &Judgement) -> Vec<Between> {
    let pairs = judgement.comparisons.iter();
    let worse = pairs.filter(|pair| pair.verdict == Verdict::Regression);
    let between = worse.filter_map(|pair| {
        let [good, bad] =
            [pair.pair.baseline, pair.pair.candidate].map(|cell| &run.header.cells[cell]);
        let axes = bad
            .axes
            .iter()
            .map(|(name, value)| format!("{name}={value}"));
        let ends = (good.version.commit.clone()?, bad.version.commit.clone()?);
        Some((ends.0, ends.1, axes.collect()))
    });
    between.collect()
}

/// Searches each step on for its culprit. The report finds what came of it in the journals of the searches.
async fn go_deeper(
    workplace: &Workplace,
    matrix: (Matrix, String),
    (steps, arguments, budget): (Vec<Between>, &RunArgs, Option<pipeline::Budget>),
) -> Result<()> {
    for (good, bad, only) in steps {
        let wish = bisect::Wish {
            good,
            bad,
            first_parent: false,
            improvement: false,
            metric: None,
            most_sessions: None,
            only,
            budget,
            how: arguments.clone(),
        };
        let hunt = Box::pin(bisect::search(workplace, matrix.clone(), &wish));
        match hunt.await {
            Ok(hunt) => progress::line(&hunt.sentence),
            // Two tags of which neither grew out of the other have nothing between them to search.
            Err(error) if error.kind == Kind::Usage => progress::line(&error.to_string()),
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Opens the journal to write and has every cell built.
pub(super) async fn built(
    workplace: &Workplace,
    bench: &Arc<Live>,
    header: Header,
    arguments: &RunArgs,
    progress: &mut Progress,
) -> Result<Recorder> {
    let parallel = host::allowed_cpus().len();
    if let Some(mut recorder) = go_on(workplace, &header, arguments)? {
        let held = recorder.run.sessions.len();
        progress.say(&format!(
            "going on with {}: {held} sessions held",
            recorder.run.header.run
        ));
        let mut watch = |event: &pipeline::Event<'_>, run: &Run| progress.show(event, run);
        if pipeline::build(bench, &mut recorder, parallel, &mut watch).await? {
            return Ok(recorder);
        }
        progress.say("what is built differs from what was measured so far: a new run begins");
    }
    let mut recorder = begun(workplace, header, progress)?;
    let mut watch = |event: &pipeline::Event<'_>, run: &Run| progress.show(event, run);
    pipeline::build(bench, &mut recorder, parallel, &mut watch).await?;
    Ok(recorder)
}

/// Begins a journal.
pub(super) fn begun(
    workplace: &Workplace,
    header: Header,
    progress: &Progress,
) -> Result<Recorder> {
    let path = workplace
        .journals(&header.matrix.name)
        .join(format!("{}.jsonl", header.run));
    let journal = Journal::create(&path, &header)?;
    progress.say(&format!("journal {}", shown(workplace, &path)));
    Ok(Recorder {
        run: Run::new(header),
        journal,
    })
}

/// Writes the report, then closes the journal: a run whose report could not be written is not at its end.
fn end(
    workplace: &Workplace,
    mut recorder: Recorder,
    judgement: &Judgement,
    arguments: &RunArgs,
) -> Result<Exit> {
    let exit = exit_of(judgement);
    let summary = Record::Summary(summary(judgement, exit));
    recorder.run.apply(summary.clone());
    let known = Known::before(workplace, &recorder.run)?;
    let report = Report::new(&recorder.run, judgement, &known.past());
    let file = workplace
        .reports()
        .join(report_name(&recorder.run.header, arguments));
    super::report::save(&file, &report)?;
    recorder.journal.append(&summary)?;
    super::report::show(&report, arguments.format)?;
    progress::line(&format!("report  {}", shown(workplace, &file)));
    Ok(exit)
}

/// The report of a part of the matrix does not take the place of the whole one's.
fn report_name(header: &Header, arguments: &RunArgs) -> String {
    let selected = &arguments.selected;
    let versions = selected.what.iter().any(|word| !super::is_matrix(word));
    let part = versions
        || arguments.quick
        || selected.select.is_some()
        || selected.last.is_some()
        || selected.limit.is_some()
        || !selected.only.is_empty()
        || !selected.skip.is_empty();
    let end = if part { "-part.md" } else { ".md" };
    format!("{}{end}", header.matrix.name)
}

pub(super) fn shown(workplace: &Workplace, path: &Path) -> String {
    path.strip_prefix(&workplace.root)
        .unwrap_or(path)
        .display()
        .to_string()
}

/// Makes sure, before anything is built, that the run can be held at all.
pub(super) fn needs(loaded: &Loaded) -> Result<()> {
    let matrix = &loaded.matrix;
    for (name, value) in environment(loaded) {
        if value.is_none() {
            return Err(Error::new(
                Kind::Configuration,
                format!("the environment variable {name} is not set"),
            )
            .because(format!("`[start]` of {} names it", matrix.file.display()))
            .hint(format!("{name}=… harness run {}", matrix.file.display())));
        }
    }
    let servers = match matrix.sessions.design {
        Design::Race | Design::Slices => matrix.sessions.group,
        Design::Solo => 1,
    };
    host::allow_open_files(u64::from(matrix.load.connections) * servers as u64 + OWN_FILES)
}

/// Returns the variables of the environment that the starts of all cells name, with their values.
fn environment(loaded: &Loaded) -> BTreeMap<String, Option<String>> {
    let matrices = loaded.matrices().into_iter();
    matrices
        .flat_map(|matrix| live::environment(&matrix.start))
        .collect()
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
pub(super) fn adjust(matrix: &mut Matrix, arguments: &RunArgs) {
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
    matrix.sessions.least = matrix.sessions.least.min(matrix.sessions.count);
    if let Some(solo) = arguments.solo {
        matrix.sessions.solo = solo;
    }
}

/// Takes up the newest unfinished run of the same plan on the same machine, if there is one.
pub(super) fn go_on(
    workplace: &Workplace,
    header: &Header,
    arguments: &RunArgs,
) -> Result<Option<Recorder>> {
    if arguments.fresh {
        return Ok(None);
    }
    let journals = journal::list(&workplace.journals(&header.matrix.name)).into_iter();
    let unfinished = |path: &PathBuf| {
        journal::read(path).is_ok_and(|run| {
            let seeded = arguments.seed.is_none_or(|seed| seed == run.header.seed);
            run.summary.is_none() && seeded && same_plan(&run.header, header)
        })
    };
    let Some(path) = journals.into_iter().find(unfinished) else {
        return Ok(None);
    };
    let (journal, run) = Journal::resume(&path, host::now())?;
    Ok(Some(Recorder { run, journal }))
}

fn same_plan(one: &Header, other: &Header) -> bool {
    one.matrix.hash == other.matrix.hash
        && one.cells == other.cells
        && one.order == other.order
        && one.compare == other.compare
        && one.workload_key == other.workload_key
        && one.machine.class == other.machine.class
        && one.cpus == other.cpus
        && one.sessions == other.sessions
        && one.metrics == other.metrics
        && one.bisect == other.bisect
        && one.harness == other.harness
}

pub(super) async fn header(
    workplace: &Workplace,
    loaded: &Loaded,
    arguments: &RunArgs,
) -> Result<Header> {
    let matrix = &loaded.matrix;
    let mut machine = host::machine();
    let tools: BTreeSet<String> = loaded
        .matrices()
        .into_iter()
        .flat_map(source::tools_of)
        .collect();
    for tool in tools {
        let version = process::version_of(&tool).await;
        machine.tools.extend(version.map(|version| (tool, version)));
    }
    let started = host::now();
    let seed = arguments.seed.unwrap_or_else(host::fresh_seed);
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
        matrix: matrix_facts(workplace, loaded),
        workload: matrix.load.clone(),
        check: matrix.check.clone(),
        workload_key: workload_key(matrix, &generator(matrix).await?),
        sessions: matrix.sessions,
        rule: matrix.verdict,
        metrics: matrix.metrics.clone(),
        machine,
        cpus: host::cpu_plan(
            arguments
                .server_cpus
                .clone()
                .or_else(|| matrix.start.cpus.clone()),
            arguments.load_cpus.clone(),
        )?,
        order: matrix.source.order,
        compare: loaded.expansion.compare.clone(),
        cells: loaded.expansion.cells.clone(),
        bisect: None,
        imported: None,
    })
}

fn matrix_facts(workplace: &Workplace, loaded: &Loaded) -> MatrixFacts {
    let matrix = &loaded.matrix;
    let commit = host::commit_of(&matrix.file);
    let relative = matrix.file.strip_prefix(&workplace.root);
    let environment = environment(loaded);
    MatrixFacts {
        name: matrix.name.clone(),
        title: matrix.title.clone(),
        file: relative.unwrap_or(&matrix.file).to_owned(),
        hash: hash(&format!("{}\0{environment:?}", loaded.text)),
        modified: commit.as_ref().is_some_and(|(_, modified)| *modified),
        commit: commit.map(|(commit, _)| commit),
    }
}

/// Returns the command line as typed, the program by its bare name.
pub(super) fn command_line() -> Vec<String> {
    let mut words: Vec<String> = std::env::args_os()
        .map(|word| word.to_string_lossy().into_owned())
        .collect();
    if let Some(program) = words.first_mut() {
        "harness".clone_into(program);
    }
    words
}

/// Returns what sends the requests, with its version. Another program must be there before anything is built.
async fn generator(matrix: &Matrix) -> Result<String> {
    let Some(program) = tool::program(matrix.load.manner.tool) else {
        return Ok(format!("native {}", env!("CARGO_PKG_VERSION")));
    };
    let found = tool::run::find(program).await?;
    if let Some(note) = &found.note {
        progress::line(&format!("note: {note}"));
    }
    Ok(found.engine)
}

/// Returns the hash of load, check and generator: results with different keys are never compared.
fn workload_key(matrix: &Matrix, generator: &str) -> String {
    let facts = BTreeMap::from([
        (
            "load",
            serde_json::to_string(&matrix.load).unwrap_or_default(),
        ),
        (
            "check",
            serde_json::to_string(&matrix.check).unwrap_or_default(),
        ),
        ("generator", generator.to_owned()),
    ]);
    hash(&format!("{facts:?}"))
}

fn hash(text: &str) -> String {
    data_encoding::HEXLOWER.encode(&Sha256::digest(text.as_bytes()))
}

pub(super) fn summary(judgement: &Judgement, exit: Exit) -> Summary {
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
        regressions: judgement
            .all()
            .filter(|one| one.verdict == Verdict::Regression)
            .count(),
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
    let worse = |one: &Comparison| one.verdict == Verdict::Regression;
    if judgement.all().any(worse) {
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
