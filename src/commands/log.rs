//! `harness log CELL`: the build or server log of a cell, or the figures of its loads.

use std::path::PathBuf;

use super::{print, report};
use crate::build;
use crate::cli::{DataFormat, LogArgs, LogOf};
use crate::error::{Error, Kind, Result};
use crate::exit::Exit;
use crate::journal::{self, Built, Launched, Run};
use crate::outcome::Gap;
use crate::progress;
use crate::report::{Load, loads};
use crate::workplace::Workplace;

pub(super) fn run(workplace: &Workplace, arguments: &LogArgs) -> Result<Exit> {
    let (matrix, name) = report::matrix_of(workplace, arguments.matrix.as_deref())?;
    let run = report::journal_of(workplace, Some(&matrix)).and_then(|path| journal::read(&path));
    if arguments.load {
        return show_loads(&run?, arguments);
    }
    let built = build::newest_log(&workplace.cache(), &name, &arguments.cell);
    let log = match (&run, &built) {
        // A build that no run has come to yet.
        (Err(_), Some(_)) => built,
        (Err(_), None) => None,
        (Ok(run), _) => match run
            .header
            .cells
            .iter()
            .position(|cell| cell.id == arguments.cell)
        {
            Some(cell) => of_run(workplace, run, cell, arguments.of).or(built),
            None if built.is_some() => built,
            None => return Err(unknown(run, &arguments.cell, "log")),
        },
    };
    let Some(log) = log else {
        run?;
        return Err(Error::new(
            Kind::Configuration,
            format!("there is no log of {}", arguments.cell),
        )
        .because(
            "it has not been built or started yet, it wrote nothing, or its log was cleaned away",
        )
        .hint("harness list"));
    };
    let bytes = std::fs::read(&log).map_err(|error| {
        Error::new(Kind::Machine, format!("cannot read {}", log.display())).because(error)
    })?;
    print(&String::from_utf8_lossy(&bytes))?;
    if let Some(gap) = run.ok().and_then(|run| gap(&run, &arguments.cell)) {
        progress::line(&gap.in_one_line());
        gap.advice()
            .iter()
            .for_each(|advice| progress::line(advice));
    }
    Ok(Exit::Done)
}

/// Prints what came of each load of a cell.
fn show_loads(run: &Run, arguments: &LogArgs) -> Result<Exit> {
    let id = &arguments.cell;
    let cell = run.header.cells.iter().position(|cell| cell.id == *id);
    let cell = cell.ok_or_else(|| unknown(run, id, "log --load"))?;
    let loads = loads(run, cell);
    if loads.is_empty() {
        return Err(Error::new(
            Kind::Configuration,
            format!("{id} was not loaded in {}", run.header.run),
        )
        .because("it was not built, or the run has not come to it yet")
        .hint(format!("harness log '{id}'")));
    }
    print(&match arguments.format {
        DataFormat::Json => serde_json::to_string_pretty(&loads).unwrap_or_default(),
        DataFormat::Human => {
            let texts: Vec<String> = loads.iter().map(Load::text).collect();
            texts.join("\n")
        }
    })?;
    Ok(Exit::Done)
}

/// Returns why a cell has no number, as far as the run knows.
fn gap(run: &Run, id: &str) -> Option<Gap> {
    let cell = run.header.cells.iter().position(|cell| cell.id == id)?;
    match run.builds.get(&cell) {
        Some(Built::Gap(gap)) => Some(gap.clone()),
        Some(Built::Artifact(_)) | None => run.given_up.get(&cell).cloned(),
    }
}

/// Returns the log of a cell that a run knows.
fn of_run(workplace: &Workplace, run: &Run, cell: usize, of: Option<LogOf>) -> Option<PathBuf> {
    [server_log(run, cell), build_log(run, cell)]
        .into_iter()
        .zip([LogOf::Server, LogOf::Build])
        .filter(|(_, kind)| of.is_none_or(|wanted| wanted == *kind))
        .find_map(|(log, _)| {
            log.map(|log| workplace.root.join(log))
                .filter(|log| log.is_file())
        })
}

/// The error for a cell that a run does not know, with what the verb could be given instead.
pub(super) fn unknown(run: &Run, cell: &str, verb: &str) -> Error {
    let names: Vec<&str> = run
        .header
        .cells
        .iter()
        .map(|cell| cell.id.as_str())
        .collect();
    let error = Error::new(
        Kind::Usage,
        format!("there is no cell {cell} in {}", run.header.run),
    );
    match nearest(&names, cell) {
        Some(near) => error.hint(format!("harness {verb} '{near}'")),
        None => error,
    }
}

/// Returns the name that is most like another one.
pub(super) fn nearest<'name>(names: &[&'name str], wanted: &str) -> Option<&'name str> {
    let like = |name: &str| strsim::jaro_winkler(wanted, name);
    let names = names.iter().copied();
    names.max_by(|left, right| like(left).total_cmp(&like(right)))
}

/// Returns the log of the newest launch, a failed one first.
fn server_log(run: &Run, cell: usize) -> Option<PathBuf> {
    let launches = || {
        run.sessions
            .iter()
            .rev()
            .flat_map(|session| &session.launches)
            .filter(|launch| launch.cell == cell)
    };
    launches()
        .find(|launch| matches!(launch.outcome, Launched::Gap(_)))
        .or_else(|| launches().next())
        .and_then(|launch| launch.log.clone())
}

fn build_log(run: &Run, cell: usize) -> Option<PathBuf> {
    match run.builds.get(&cell)? {
        Built::Gap(gap) => gap.log.clone(),
        Built::Artifact(artifact) => Some(artifact.work.parent()?.join("build.log")),
    }
}
