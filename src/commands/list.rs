//! `harness list`: the cells in order with their state.

use super::{load, matrices, print};
use crate::cli::{DataFormat, ListArgs};
use crate::error::Result;
use crate::exit::Exit;
use crate::journal::{self, Built, Launched, Run};
use crate::matrix::Matrix;
use crate::matrix::expand::Expansion;
use crate::pipeline;
use crate::version;
use crate::workplace::Workplace;

/// One line of the list.
#[derive(Debug, serde::Serialize)]
struct Row {
    cell: String,
    state: String,
    predecessor: Option<String>,
}

pub(super) async fn run(workplace: &Workplace, arguments: &ListArgs) -> Result<Exit> {
    for matrix in matrices(workplace, &arguments.selected)? {
        let journals = journal::list(&workplace.journals(&matrix.0.name));
        let run = journals.iter().find_map(|path| journal::read(path).ok());
        let rows = rows(workplace, matrix, (arguments, run.as_ref())).await?;
        print(&match arguments.format {
            DataFormat::Json => serde_json::to_string_pretty(&rows).unwrap_or_default(),
            DataFormat::Human => text(&rows, run.as_ref()),
        })?;
    }
    Ok(Exit::Done)
}

async fn rows(
    workplace: &Workplace,
    matrix: (Matrix, String),
    (arguments, run): (&ListArgs, Option<&Run>),
) -> Result<Vec<Row>> {
    let loaded = load(workplace, matrix, &arguments.selected).await?;
    let cells = &loaded.expansion.cells;
    let measured = |cell: usize| !loaded.expansion.excluded.contains_key(&cell);
    let pairs = version::pairs(cells, &measured);
    let predecessor = |index: usize| {
        pairs
            .iter()
            .find(|pair| pair.candidate == index)
            .map(|pair| cells[pair.baseline].id.clone())
    };
    Ok(cells
        .iter()
        .enumerate()
        .map(|(index, cell)| Row {
            cell: cell.id.clone(),
            state: state(&cell.id, unbuilt(&loaded.expansion, index), run),
            predecessor: predecessor(index),
        })
        .collect())
}

/// Returns why a cell will not be built; none if it will.
fn unbuilt(expansion: &Expansion, cell: usize) -> Option<&'static str> {
    if expansion.excluded.contains_key(&cell) {
        return Some("excluded");
    }
    let missing = expansion.missing.contains(&cell);
    missing.then_some("not in the source")
}

/// Returns what the newest journal knows of a cell.
fn state(id: &str, unbuilt: Option<&str>, run: Option<&Run>) -> String {
    let known = run.and_then(|run| {
        let index = run.header.cells.iter().position(|cell| cell.id == id)?;
        Some((run, index))
    });
    let Some((run, index)) = known else {
        return unbuilt.unwrap_or("new").to_owned();
    };
    if let Some(Built::Gap(gap)) = run.builds.get(&index) {
        return format!("gap: {}: {}", gap.stage, gap.kind);
    }
    if let Some(gap) = run.given_up.get(&index) {
        return format!("gap: {}: {}", gap.stage, gap.kind);
    }
    let samples = run
        .sessions
        .iter()
        .flat_map(|session| &session.launches)
        .filter(|launch| launch.cell == index && matches!(launch.outcome, Launched::Sample(_)))
        .count();
    match (samples, run.builds.contains_key(&index)) {
        (0, false) => "planned".to_owned(),
        (0, true) => "built".to_owned(),
        (count, _) => format!("measured in {count} sessions"),
    }
}

fn text(rows: &[Row], run: Option<&Run>) -> String {
    let width = rows.iter().map(|row| row.cell.len()).max().unwrap_or(0);
    let mut lines: Vec<String> = rows
        .iter()
        .map(|row| {
            let after = row
                .predecessor
                .as_ref()
                .map_or(String::new(), |name| format!("after {name}"));
            format!("{:width$}  {:24}  {after}", row.cell, row.state)
                .trim_end()
                .to_owned()
        })
        .collect();
    if let Some(run) = run.filter(|run| run.summary.is_none()) {
        let left = pipeline::sessions_left(run);
        let spent: f64 = run.sessions.iter().map(|session| session.seconds).sum();
        #[expect(clippy::cast_precision_loss, reason = "an estimate of minutes")]
        let minutes = spent / run.sessions.len().max(1) as f64 * left as f64 / 60.0;
        lines.push(format!(
            "the run is unfinished: {left} sessions left, about {minutes:.0} min"
        ));
    }
    lines.join("\n")
}
