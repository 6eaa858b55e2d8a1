//! `harness import`: what other programs measured, as a journal of single values. Glue.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::run as of_run;
use crate::build::diagnosis::diagnose;
use crate::cli::ImportArgs;
use crate::error::{Error, Kind, Result};
use crate::exit::Exit;
use crate::host;
use crate::import::{self, Entry, Outcome, Wrong};
use crate::journal::{
    BuildRecord, Built, CpuPlan, Header, Imported, Journal, Launch, Launched, Machine, MatrixFacts,
    Purpose, Record, Run, SCHEMA, SessionRecord, Summary,
};
use crate::matrix::{Check, Compare, Design, Manner, Metric, Rule, Sessions, Stop, Workload};
use crate::outcome::{Gap, GapKind, LoadFigures, Resources, Sample, Stage};
use crate::progress;
use crate::report::{Past, Report};
use crate::verdict;
use crate::version::{Cell, Order, Version};
use crate::workplace::{self, Workplace};

/// A result with the version that it is of.
type OfVersion = (String, Vec<(String, String)>, Outcome);

pub(super) fn run(workplace: &Workplace, arguments: &ImportArgs) -> Result<Exit> {
    let mut results = Vec::new();
    for file in &arguments.files {
        results.extend(of_file(file, arguments)?);
    }
    for gap in &arguments.gap {
        results.push(of_gap(gap)?);
    }
    let (cells, order) = cells(&results);
    let header = header(arguments, cells, order);
    let path = workplace
        .journals(&header.matrix.name)
        .join(format!("{}.jsonl", header.run));
    let mut journal = Journal::create(&path, &header)?;
    let mut run = Run::new(header);
    for record in records(&run, &results) {
        journal.append(&record)?;
        run.apply(record);
    }
    let judgement = verdict::judge(&run);
    let exit = of_run::exit_of(&judgement);
    let summary = Record::Summary(Summary {
        exit: Exit::Done.code(),
        ..of_run::summary(&judgement, exit)
    });
    journal.append(&summary)?;
    run.apply(summary);
    progress::line(&format!("journal {}", of_run::shown(workplace, &path)));
    let report = Report::new(&run, &judgement, &Past::default());
    let file = workplace
        .reports()
        .join(format!("{}.md", run.header.matrix.name));
    super::report::save(&file, &report)?;
    super::report::show(&report, arguments.format)?;
    progress::line(&format!("report  {}", of_run::shown(workplace, &file)));
    Ok(Exit::Done)
}

/// Reads one file.
fn of_file(file: &Path, arguments: &ImportArgs) -> Result<Vec<OfVersion>> {
    let text = workplace::read(file)?;
    let format = arguments.what.or_else(|| import::guess(&text));
    let unknown = || {
        let message = format!(
            "{} is not known for the output of any program",
            file.display()
        );
        let error = Error::new(Kind::Configuration, message);
        error.hint("say what it is: `--what wrk`; `harness import --help` lists what can be read")
    };
    let entries = import::read(format.ok_or_else(unknown)?, &text);
    let entries = entries.map_err(|wrong| in_file(file, &text, &wrong))?;
    let stem = file.file_stem().unwrap_or_default().to_string_lossy();
    let named = |entry: Entry| {
        let version = arguments.of.clone().or(entry.version);
        (
            version.unwrap_or_else(|| stem.clone().into_owned()),
            entry.axes,
            entry.outcome,
        )
    };
    Ok(entries.into_iter().map(named).collect())
}

/// Returns what is wrong with a file as an error that shows the line.
fn in_file(file: &Path, text: &str, wrong: &Wrong) -> Error {
    let place = match wrong.line {
        Some(line) => format!("{}:{line}", file.display()),
        None => file.display().to_string(),
    };
    let error = Error::new(Kind::Configuration, format!("{place}: {}", wrong.what));
    let line = wrong
        .line
        .and_then(|line| text.lines().nth(line.checked_sub(1)?));
    let error = match line {
        Some(line) => error.because(format!("the line is `{}`", line.trim())),
        None => error,
    };
    error.hint(
        "nothing was imported: leave the file out, or say with `--what` which program printed it",
    )
}

/// Reads `VERSION=STAGE` or `VERSION=STAGE:LOG`.
fn of_gap(text: &str) -> Result<OfVersion> {
    let wrong = || {
        let error = Error::new(Kind::Usage, format!("`--gap {text}` is no gap"));
        error.hint("--gap 0.5.4=build:build.log, or --gap 0.5.1=build; stages are fetch, build, start, check, load")
    };
    let (version, rest) = text.split_once('=').ok_or_else(wrong)?;
    let (stage, log) = match rest.split_once(':') {
        Some((stage, log)) => (stage, Some(PathBuf::from(log))),
        None => (rest, None),
    };
    let kinds = [
        GapKind::NotFound,
        GapKind::Failed,
        GapKind::Exited,
        GapKind::WrongAnswer,
        GapKind::Crashed,
    ];
    let kind = kinds
        .into_iter()
        .find(|kind| kind.stage().to_string() == stage);
    let kind = kind.filter(|_| !version.is_empty()).ok_or_else(wrong)?;
    let gap = match &log {
        Some(log) => explained(kind, &workplace::read(log)?).with_log(log),
        None => Gap::new(kind, untold(kind.stage())),
    };
    Ok((version.to_owned(), Vec::new(), Outcome::Gap(gap)))
}

/// Returns a gap with the reason that its log tells.
fn explained(kind: GapKind, log: &str) -> Gap {
    let diagnosis = diagnose(log);
    let cause = diagnosis.in_one_line();
    let cause = cause.unwrap_or_else(|| untold(kind.stage()).to_owned());
    let hint = diagnosis.hint.clone();
    Gap::new(kind, cause)
        .with_errors(diagnosis.errors)
        .with_hint(hint)
}

fn untold(stage: Stage) -> &'static str {
    match stage {
        Stage::Fetch => "it could not be fetched; no text was kept",
        Stage::Build => "it did not build; no text was kept",
        Stage::Start => "it did not start; no text was kept",
        Stage::Check => "it did not answer rightly; no text was kept",
        Stage::Load | Stage::Plan => "it could not be loaded; no text was kept",
    }
}

/// Returns each version with its axes once, in the order of their numbers where all have some.
fn cells(results: &[OfVersion]) -> (Vec<Cell>, Order) {
    let numbered = results
        .iter()
        .all(|(name, ..)| Version::semantic(name).is_some());
    let mut cells: Vec<Cell> = Vec::new();
    for (name, axes, _) in results {
        let version = Version::semantic(name).filter(|_| numbered);
        let cell = Cell {
            id: id(name, axes),
            version: version.unwrap_or_else(|| Version::listed(name.clone())),
            axes: axes.iter().cloned().collect(),
        };
        if !cells.iter().any(|known| known.id == cell.id) {
            cells.push(cell);
        }
    }
    if numbered {
        cells.sort_by(|one, other| {
            let key = |cell: &Cell| (cell.axes.clone(), cell.version.semver.clone());
            key(one).cmp(&key(other))
        });
    }
    let order = if numbered {
        Order::Semver
    } else {
        Order::Listed
    };
    (cells, order)
}

fn id(name: &str, axes: &[(String, String)]) -> String {
    let axes = axes.iter().map(|(name, value)| format!(" {name}={value}"));
    format!("{name}{}", axes.collect::<String>())
}

/// Returns what is written down of each result.
fn records(run: &Run, results: &[OfVersion]) -> Vec<Record> {
    let mut index = 0;
    let record = |(name, axes, outcome): &OfVersion| {
        let cell = run
            .header
            .cells
            .iter()
            .position(|cell| cell.id == id(name, axes))?;
        Some(match outcome {
            Outcome::Gap(gap) if gap.stage != Stage::Load => Record::Build(BuildRecord {
                cell,
                outcome: Built::Gap(gap.clone()),
            }),
            Outcome::Gap(gap) => session(cell, Launched::Gap(gap.clone()), &mut index),
            Outcome::Figures(figures) => session(cell, launched(figures), &mut index),
        })
    };
    results.iter().filter_map(record).collect()
}

fn launched(figures: &LoadFigures) -> Launched {
    Launched::Sample(Box::new(Sample {
        load: figures.clone(),
        resources: Resources::default(),
        startup_ms: 0.0,
        warmup_answers: 0,
        steady: true,
    }))
}

fn session(cell: usize, outcome: Launched, index: &mut u32) -> Record {
    let session = SessionRecord {
        index: *index,
        purpose: Purpose::Measure,
        design: Design::Solo,
        started: host::now(),
        seconds: 0.0,
        launches: vec![Launch {
            cell,
            outcome,
            log: None,
        }],
        windows: Vec::new(),
        client_share: 0.0,
        server_share: 0.0,
        steal_share: 0.0,
        others_share: 0.0,
        client: crate::journal::Client::default(),
        sharing: crate::journal::Sharing::default(),
    };
    *index += 1;
    Record::Session(Box::new(session))
}

fn header(arguments: &ImportArgs, cells: Vec<Cell>, order: Order) -> Header {
    let started = host::now();
    let time = started.strftime("%Y%m%dT%H%M%SZ");
    let random = host::fresh_seed() & 0xffff;
    let files = arguments
        .files
        .iter()
        .map(|file| file.display().to_string());
    let title = arguments.title.clone();
    Header {
        schema: SCHEMA,
        harness: env!("CARGO_PKG_VERSION").to_owned(),
        run: format!("{time}-imported-{random:04x}"),
        started,
        command: of_run::command_line(),
        seed: 0,
        matrix: MatrixFacts {
            name: arguments.name.clone(),
            title: title.unwrap_or_else(|| arguments.name.clone()),
            file: PathBuf::new(),
            hash: String::new(),
            commit: None,
            modified: false,
        },
        workload: workload(),
        check: unchecked(),
        // Nothing is known of the load or the machine, so each import may be compared with itself alone.
        workload_key: format!("imported {time} {random:04x}"),
        sessions: Sessions {
            count: 1,
            least: 1,
            group: 1,
            solo: 1,
            design: Design::Race,
            slice: Duration::from_millis(20),
        },
        rule: Rule {
            alpha: 0.05,
            min_effect: 0.01,
            same_within: 0.02,
            confirm: false,
        },
        metrics: vec![Metric::Throughput],
        machine: nobodys(&format!("{time}-{random:04x}")),
        cpus: CpuPlan {
            server: Vec::new(),
            load: Vec::new(),
        },
        order,
        compare: Compare::Lineage,
        cells,
        bisect: None,
        imported: Some(Imported {
            files: files.collect(),
            note: arguments.note.clone(),
        }),
    }
}

fn unchecked() -> Check {
    Check {
        status: 200,
        body: None,
        body_regex: None,
        same_length: false,
        same_body: false,
    }
}

/// Returns a machine of which nothing is known, which is no other's.
fn nobodys(name: &str) -> Machine {
    Machine {
        class: format!("imported {name}"),
        host: String::new(),
        cpu: String::new(),
        cores: 0,
        memory_bytes: 0,
        kernel: String::new(),
        os: String::new(),
        arch: String::new(),
        virtualisation: None,
        tools: BTreeMap::new(),
    }
}

fn workload() -> Workload {
    Workload {
        name: "imported".to_owned(),
        method: "GET".to_owned(),
        path: "/".to_owned(),
        headers: BTreeMap::new(),
        body: None,
        connections: 0,
        keep_alive: false,
        stop: Stop::Requests(0),
        warmup_answers: 0,
        warmup_at_most: Duration::ZERO,
        window: Duration::ZERO,
        timeout: Duration::ZERO,
        max_error_rate: 1.0,
        manner: Manner::default(),
    }
}
