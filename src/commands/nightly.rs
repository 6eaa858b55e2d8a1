//! `harness nightly`: what is new and the last few again, every night; says something only when there is something to say.

use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use super::past::read_accepted;
use super::{Loaded, load, print, run as of_run};
use crate::build::cache;
use crate::cli::{FailOn, NightlyArgs, RunArgs, Selected};
use crate::error::{Error, Kind, Result};
use crate::exit::Exit;
use crate::host;
use crate::journal::{Built, Launched, Purpose, Record, Run, Summary};
use crate::live::Live;
use crate::matrix::{Design, Select};
use crate::nightly::ledger::Ledger;
use crate::nightly::{
    Health, Matter, Measured, Night, Outcome, Picked, Settled, Story, Wish, pick,
};
use crate::notify;
use crate::pipeline::{self, Bench, Budget, Recorder};
use crate::plan::SessionPlan;
use crate::progress::{self, Progress};
use crate::report::{self, Acknowledgement, nightly as words};
use crate::stats::paired;
use crate::verdict::Judgement;
use crate::workplace::{self, Lock, Workplace};

/// Sessions of a version against itself.
const AGAINST_ITSELF: u32 = 6;

/// The level of their interval.
const LEVEL: f64 = 0.05;

/// What the cache may hold after a night, bytes.
const CACHE_BYTES: u64 = 20 << 30;

pub(super) async fn run(workplace: &Workplace, arguments: &NightlyArgs) -> Result<Exit> {
    let begun = host::monotonic();
    let lock = workplace.lock()?;
    workplace.empty_scratch(&lock)?;
    let files = if arguments.matrices.is_empty() {
        workplace.default_matrices()?
    } else {
        arguments.matrices.clone()
    };
    let accepted = read_accepted(workplace)?;
    let count = u32::try_from(files.len()).unwrap_or(u32::MAX);
    let (mut ledgers, mut stories) = (Vec::new(), Vec::new());
    for (place, file) in (1..).zip(&files) {
        // Each matrix has an equal part of the time, and what those before it have left.
        let time = arguments.budget.map(|budget| budget * place / count);
        let budget = time.map(|time| Budget { begun, time });
        let name = name_of(file);
        let mut ledger = Ledger::open(&ledger_path(workplace, &name))?;
        Box::pin(night(workplace, file, &mut ledger, (arguments, budget))).await?;
        stories.extend(story(&name, &ledger, &accepted));
        ledgers.push(ledger);
    }
    let report = write_reports(workplace, &stories)?;
    if tell(workplace, arguments, (&stories, &report)).await? {
        for ledger in &mut ledgers {
            ledger.tell()?;
        }
    }
    tidy(workplace, &lock, arguments.keep)?;
    Ok(exit_of(&stories, arguments.fail_on))
}

/// Returns the report of the last night of a matrix, or of all of harness.toml, as that night wrote it, and its exit code.
pub(super) fn again(workplace: &Workplace, matrix: Option<&Path>) -> Result<(String, Exit)> {
    let files = match matrix {
        Some(file) => vec![file.to_owned()],
        None => workplace.default_matrices()?,
    };
    let accepted = read_accepted(workplace)?;
    let mut stories = Vec::new();
    for file in &files {
        let name = name_of(file);
        let ledger = Ledger::open(&ledger_path(workplace, &name))?;
        stories.extend(story(&name, &ledger, &accepted));
    }
    if stories.is_empty() {
        let names: Vec<String> = files.iter().map(|file| name_of(file)).collect();
        let message = format!("there has been no night of {} yet", names.join(", "));
        return Err(Error::new(Kind::Configuration, message).hint("harness nightly"));
    }
    let text = words::markdown(&date(&stories), &stories);
    Ok((text, exit_of(&stories, None)))
}

/// Returns the name of a matrix file's journals and reports.
fn name_of(file: &Path) -> String {
    let stem = file.file_stem().unwrap_or_default();
    stem.to_string_lossy().into_owned()
}

fn folder(workplace: &Workplace) -> PathBuf {
    workplace.reports().join("nightly")
}

fn ledger_path(workplace: &Workplace, matrix: &str) -> PathBuf {
    folder(workplace).join(format!("{matrix}.jsonl"))
}

fn story(matrix: &str, ledger: &Ledger, accepted: &[Acknowledgement]) -> Option<Story> {
    let reason = |matter: &Matter| report::accepted(accepted, matrix, matter);
    Story::new(matrix, &ledger.nights, ledger.told, &reason)
}

/// Measures one matrix and writes down what came of it. What keeps one from being measured keeps no other from it.
async fn night(
    workplace: &Workplace,
    file: &Path,
    ledger: &mut Ledger,
    how: (&NightlyArgs, Option<Budget>),
) -> Result<()> {
    let started = host::now();
    match measure(workplace, file, ledger, how).await {
        Ok((measured, mut recorder, summary)) => {
            let outcome = Outcome::Measured(measured);
            ledger.add(Night { started, outcome })?;
            // Last of all: a night that is cut short before this goes on with the same journal.
            recorder.record(Record::Summary(summary))
        }
        Err(error) => {
            let why = error.to_string();
            let outcome = Outcome::Failed { why };
            let last = ledger.nights.last();
            let known = last.is_some_and(|night| matches!(night.outcome, Outcome::Failed { .. }));
            if !known {
                progress::line(&error.to_string());
            }
            ledger.add(Night { started, outcome })
        }
    }
}

async fn measure(
    workplace: &Workplace,
    file: &Path,
    ledger: &Ledger,
    (arguments, budget): (&NightlyArgs, Option<Budget>),
) -> Result<(Measured, Recorder, Summary)> {
    let mut progress = Progress::quiet();
    let how = how(arguments);
    let (mut loaded, waiting) = chosen(workplace, file, ledger, arguments).await?;
    of_run::needs(&loaded)?;
    let header = of_run::header(workplace, &loaded, &how).await?;
    super::twice(&mut loaded);
    let bench = Live::new(workplace, loaded, header.cpus.clone(), &header.run)?;
    let bench = Arc::new(bench);
    let mut recorder = of_run::built(workplace, &bench, header, &how, &mut progress).await?;
    let mut watch = |event: &pipeline::Event<'_>, run: &Run| progress.show(event, run);
    let judgement = pipeline::measure(&*bench, &mut recorder, budget, &mut watch).await?;
    let mut measured = Measured::new(&recorder.run, &judgement);
    measured.waiting = waiting;
    measured.notes = report::boils(&recorder.run, &judgement);
    if budget.is_none_or(|budget| host::since(budget.begun) < budget.time) {
        progress.doing("one version against itself");
        measured.health = health(&bench, &recorder.run, &judgement).await?;
    }
    progress.finish();
    let summary = of_run::summary(&judgement, of_run::exit_of(&judgement));
    Ok((measured, recorder, summary))
}

/// Asks the source what there is, and loads what this night measures.
async fn chosen(
    workplace: &Workplace,
    file: &Path,
    ledger: &Ledger,
    arguments: &NightlyArgs,
) -> Result<(Loaded, usize)> {
    let (mut matrix, text) = workplace.matrix(file)?;
    of_run::adjust(&mut matrix, &how(arguments));
    let all = load(
        workplace,
        (matrix.clone(), text.clone()),
        &Selected::default(),
    )
    .await?;
    let wish = Wish {
        again: arguments.again,
        new: arguments.new,
    };
    let order = (matrix.source.order, &all.expansion.compare);
    let settled = Settled::after(&ledger.nights);
    let Picked { versions, waiting } = pick(&all.expansion.cells, order, &settled, wish);
    if versions.is_empty() {
        let message = format!("{}: there is no version to measure", matrix.file.display());
        let hint = "`harness check` says which versions the matrix selects, and why";
        return Err(Error::new(Kind::Configuration, message).hint(hint));
    }
    let selected = Selected {
        what: versions,
        ..Selected::default()
    };
    matrix.source.select = Select::All;
    let loaded = load(workplace, (matrix, text), &selected).await?;
    Ok((loaded, waiting))
}

/// Returns how it is measured, as `run` takes it.
fn how(arguments: &NightlyArgs) -> RunArgs {
    RunArgs {
        selected: Selected::default(),
        quick: arguments.quick,
        sessions: None,
        solo: None,
        seed: arguments.seed,
        budget: arguments.budget,
        fresh: false,
        server_cpus: None,
        load_cpus: None,
        bisect: false,
        format: crate::cli::Format::Human,
    }
}

/// Races the newest version that was measured against itself; behind the run's cells the bench has a twin of each.
async fn health(bench: &Live, run: &Run, judgement: &Judgement) -> Result<Option<Health>> {
    let Some(cell) = judgement.levels.last().map(|level| level.cell) else {
        return Ok(None);
    };
    let twin = cell + run.header.cells.len();
    let mut builds = run.builds.clone();
    let same: Option<Built> = builds.get(&cell).cloned();
    builds.extend(same.map(|built| (twin, built)));
    let mut differences = Vec::new();
    for number in 0..AGAINST_ITSELF {
        let index = u32::try_from(run.sessions.len()).unwrap_or(u32::MAX / 2) + number;
        let rates = together(bench, (run, index), (cell, twin), &builds).await?;
        if let [Some(one), Some(other)] = rates {
            differences.push((other / one).ln());
        }
    }
    Ok(paired(&differences).map(|test| Health {
        cell: run.header.cells[cell].id.clone(),
        sessions: test.count,
        effect: test.mean,
        interval: test.interval(LEVEL),
        sd: test.sd,
    }))
}

/// Holds a session of two cells in the run's design, the two in turn first. Returns the answers per second of each.
async fn together(
    bench: &Live,
    (run, index): (&Run, u32),
    (cell, twin): (usize, usize),
    builds: &std::collections::BTreeMap<usize, Built>,
) -> Result<[Option<f64>; 2]> {
    let design = run.header.sessions.design;
    let order = if index.is_multiple_of(2) {
        [cell, twin]
    } else {
        [twin, cell]
    };
    let sessions: Vec<Vec<usize>> = match design {
        Design::Race | Design::Slices => vec![order.to_vec()],
        Design::Solo => order.iter().map(|cell| vec![*cell]).collect(),
    };
    let mut rates = [None; 2];
    for cells in sessions {
        let plan = SessionPlan {
            purpose: Purpose::Measure,
            design,
            cells,
            seed: run.header.seed.wrapping_add(index.into()),
        };
        let session = bench.session(&plan, index, builds).await?;
        for launch in &session.launches {
            if let Launched::Sample(sample) = &launch.outcome {
                let rate = sample.load.fetches_per_second();
                rates[usize::from(launch.cell == twin)] = Some(rate).filter(|rate| *rate > 0.0);
            }
        }
    }
    Ok(rates)
}

/// Writes the night's report, and again as the latest. Returns where.
fn write_reports(workplace: &Workplace, stories: &[Story]) -> Result<PathBuf> {
    let date = date(stories);
    let folder = folder(workplace);
    let text = words::markdown(&date, stories);
    let file = free(&folder, &date);
    workplace::write(&file, &text)?;
    workplace::write(&workplace.reports().join("latest.md"), &text)?;
    Ok(file)
}

/// Returns the day on which the first of them began, of none today.
fn date(stories: &[Story]) -> String {
    let started = stories.iter().map(|story| story.started).min();
    let started = started.unwrap_or_else(host::now);
    started.strftime("%Y-%m-%d").to_string()
}

/// Returns a name that no report has: a day may have two nights, and a clock that is set back gives a day twice.
fn free(folder: &Path, date: &str) -> PathBuf {
    let numbered = (2_u32..).map(|number| format!("{date}-{number}.md"));
    let names = std::iter::once(format!("{date}.md")).chain(numbered);
    let mut files = names.map(|name| folder.join(name));
    let first = files.find(|file| !file.exists());
    first.unwrap_or_else(|| folder.join(format!("{date}.md")))
}

/// Tells the news to whoever is named. Returns whether everybody named has been told.
async fn tell(
    workplace: &Workplace,
    arguments: &NightlyArgs,
    (stories, report): (&[Story], &Path),
) -> Result<bool> {
    let news = words::news(stories);
    if !stories.iter().any(Story::has_news) {
        if std::io::stdout().is_terminal() {
            print(&news)?;
        }
        return Ok(true);
    }
    print(&format!(
        "{news}\nreport  {}",
        of_run::shown(workplace, report)
    ))?;
    let mut told = Ok(());
    if let Some(program) = &arguments.notify {
        told = told.and(notify::run(program, report, &news).await);
    }
    if let Some(address) = &arguments.webhook {
        told = told.and(notify::post(address, &news).await);
    }
    if let Err(error) = &told {
        progress::line(&error.to_string());
    }
    Ok(told.is_ok())
}

/// Deletes reports of nights long past and what the cache does not use any more.
fn tidy(workplace: &Workplace, _lock: &Lock, keep: u32) -> Result<()> {
    let units = cache::units(&workplace.cache());
    let age = Duration::from_hours(24) * keep;
    for unit in cache::choose(&units, age, CACHE_BYTES) {
        cache::remove(unit)?;
    }
    let entries = folder(workplace).read_dir().into_iter().flatten().flatten();
    let mut reports: Vec<PathBuf> = entries
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|end| end == "md"))
        .collect();
    reports.sort();
    let keep = usize::try_from(keep).unwrap_or(usize::MAX);
    for old in &reports[..reports.len().saturating_sub(keep)] {
        // What cannot be deleted takes room and does no other harm.
        drop(std::fs::remove_file(old));
    }
    Ok(())
}

/// Returns the exit code: what is open and was told before is no reason to alarm again.
fn exit_of(stories: &[Story], fail_on: Option<FailOn>) -> Exit {
    let any = |kind: fn(&Matter) -> bool| stories.iter().any(|story| story.has_new(kind));
    let decided = |story: &Story| story.counts.1 > story.counts.2;
    if stories.iter().any(|story| story.run.is_none()) {
        Exit::CannotRun
    } else if any(words::is_regression) {
        Exit::Regression
    } else if any(words::is_gap) && fail_on == Some(FailOn::NewGap) {
        Exit::Undecided
    } else if stories.iter().any(decided) {
        Exit::Done
    } else {
        Exit::Undecided
    }
}
