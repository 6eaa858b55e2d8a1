//! `harness compare`: two versions, or folders, head to head. Glue.

use std::path::{Path, PathBuf};

use super::report::{colour, width};
use super::sides::{built, keep_source, of_folder};
use super::{Loaded, is_matrix, load, print, run as of_run};
use crate::cli::{CompareArgs, Format, RunArgs, Selected};
use crate::error::{Error, Kind, Result};
use crate::exit::Exit;
use crate::host;
use crate::journal::{Record, Run};
use crate::matrix::{Compare, Matrix, Select};
use crate::pipeline;
use crate::progress::Progress;
use crate::report::Duel;
use crate::verdict::Judgement;
use crate::workplace::Workplace;

pub(super) async fn run(workplace: &Workplace, arguments: &CompareArgs) -> Result<Exit> {
    let begun = host::monotonic();
    let lock = workplace.lock()?;
    workplace.empty_scratch(&lock)?;
    let how = how(arguments);
    let (mut matrix, text) = matrix(workplace, arguments)?;
    of_run::adjust(&mut matrix, &how);
    let mut progress = Progress::new();
    progress.doing(&format!("{}: looking for the two", matrix.title));
    let mut sides = Vec::new();
    for name in [&arguments.baseline, &arguments.candidate] {
        sides.push(side(workplace, (&matrix, &text), (name, arguments)).await?);
    }
    let verb = ("compare", Compare::Previous);
    let (bench, mut recorder) = built(workplace, sides, verb, &how, &mut progress).await?;
    let mut watch = |event: &pipeline::Event<'_>, run: &Run| progress.show(event, run);
    let budget = arguments
        .budget
        .map(|time| pipeline::Budget { begun, time });
    let judgement = pipeline::measure(&*bench, &mut recorder, budget, &mut watch).await?;
    progress.finish();
    let exit = exit_of(&judgement);
    let summary = Record::Summary(of_run::summary(&judgement, exit));
    recorder.record(summary)?;
    show(&recorder.run, &judgement, arguments.format)?;
    Ok(exit)
}

/// Returns how it is measured, as `run` takes it.
fn how(arguments: &CompareArgs) -> RunArgs {
    RunArgs {
        selected: Selected::default(),
        quick: arguments.quick,
        sessions: arguments.sessions,
        solo: None,
        seed: arguments.seed,
        budget: arguments.budget,
        fresh: arguments.fresh,
        server_cpus: None,
        load_cpus: None,
        bisect: false,
        format: arguments.format,
    }
}

/// Returns the matrix file that is named, or the first of harness.toml.
pub(super) fn matrix_file(workplace: &Workplace, named: Option<&Path>) -> Result<PathBuf> {
    Ok(match named {
        Some(file) => file.to_owned(),
        None => workplace
            .default_matrices()?
            .into_iter()
            .next()
            .unwrap_or_default(),
    })
}

fn matrix(workplace: &Workplace, arguments: &CompareArgs) -> Result<(Matrix, String)> {
    let file = matrix_file(workplace, arguments.matrix.as_deref())?;
    for name in [&arguments.baseline, &arguments.candidate] {
        if is_matrix(name) {
            let message = format!("{name} is a matrix, not one of the two to compare");
            let hint = format!("harness compare A B --matrix {name}");
            return Err(Error::new(Kind::Usage, message).hint(hint));
        }
    }
    workplace.matrix(&file)
}

/// Loads one of the two: a version of the matrix's source, or a folder in place of one.
async fn side(
    workplace: &Workplace,
    (matrix, text): (&Matrix, &str),
    (name, arguments): (&str, &CompareArgs),
) -> Result<Loaded> {
    let mut selected = Selected {
        only: arguments.only.clone(),
        ..Selected::default()
    };
    let mut matrix = matrix.clone();
    matrix.source.select = Select::All;
    if is_folder(name) {
        matrix = of_folder(workplace, matrix, name)?;
    } else {
        selected.what.push(name.to_owned());
    }
    let loaded = load(workplace, (matrix, text.to_owned()), &selected).await;
    let mut loaded = loaded.map_err(|error| {
        if Path::new(name).is_dir() && !is_folder(name) {
            return error.hint(format!("the folder {name} is meant as `./{name}`"));
        }
        error
    })?;
    if is_folder(name) {
        keep_source(&mut loaded);
        for cell in &mut loaded.expansion.cells {
            let axes = cell.id.strip_prefix(&cell.version.name).unwrap_or("");
            cell.id = format!("{name}{axes}");
        }
    }
    let versions = loaded.expansion.cells.iter().map(|cell| &cell.version.name);
    let versions: std::collections::BTreeSet<&String> = versions.collect();
    if versions.len() != 1 {
        let message = format!("`{name}` means {} versions", versions.len());
        let error = Error::new(Kind::Usage, message).because("two are compared, one on each side");
        return Err(
            error.hint("name one version as `harness list` shows it, or a folder as `./name`")
        );
    }
    Ok(loaded)
}

/// Returns whether a word means a folder and no version: it begins as a path does, and as no version's name.
fn is_folder(name: &str) -> bool {
    matches!(name, "." | "..")
        || ["./", "../", "/"]
            .iter()
            .any(|begin| name.starts_with(begin))
}

/// Returns the exit code: what could not be compared is undecided, whatever came of the rest.
fn exit_of(judgement: &Judgement) -> Exit {
    let exit = of_run::exit_of(judgement);
    if exit == Exit::Done && !judgement.gaps.is_empty() {
        return Exit::Undecided;
    }
    exit
}

fn show(run: &Run, judgement: &Judgement, format: Format) -> Result<()> {
    let duels = Duel::all(run, judgement);
    print(&match format {
        Format::Human => Duel::terminal(&duels, width(), colour()),
        Format::Json => serde_json::to_string_pretty(&duels).unwrap_or_default(),
        Format::Md => Duel::markdown(&duels),
    })
}
