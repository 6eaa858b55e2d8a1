//! `harness list`: the cells in order with their state.

use std::collections::HashMap;

use super::{load, matrices, print};
use crate::cli::{DataFormat, ListArgs};
use crate::error::Result;
use crate::exit::Exit;
use crate::journal::{self, Built, Launched, Run};
use crate::matrix::expand::Expansion;
use crate::matrix::{Compare, Matrix};
use crate::pipeline;
use crate::progress;
use crate::version;
use crate::workplace::Workplace;

/// One line of the list.
#[derive(Debug, serde::Serialize)]
struct Row {
    cell: String,
    state: String,
    predecessor: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    date: Option<jiff::Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    withdrawn: Option<String>,
}

pub(super) async fn run(workplace: &Workplace, arguments: &ListArgs) -> Result<Exit> {
    for matrix in matrices(workplace, &arguments.selected)? {
        let journals = journal::list(&workplace.journals(&matrix.0.name));
        let run = journals.iter().find_map(|path| journal::read(path).ok());
        let relation = match matrix.0.source.compare {
            Compare::Lineage | Compare::Previous => "after",
            Compare::Reference(_) => "against",
        };
        let rows = rows(workplace, matrix, (arguments, run.as_ref())).await?;
        print(&match arguments.format {
            DataFormat::Json => serde_json::to_string_pretty(&rows).unwrap_or_default(),
            DataFormat::Human => text(&rows, relation, run.as_ref()),
        })?;
    }
    Ok(Exit::Done)
}

async fn rows(
    workplace: &Workplace,
    matrix: (Matrix, String),
    (arguments, run): (&ListArgs, Option<&Run>),
) -> Result<Vec<Row>> {
    let order = matrix.0.source.order;
    let loaded = load(workplace, matrix, &arguments.selected).await?;
    loaded.warn(progress::line);
    let expansion = &loaded.expansion;
    let cells = &expansion.cells;
    let measured = |cell: usize| unbuilt(expansion, cell).is_none();
    let pairs = version::pairs(cells, order, &expansion.compare, &measured);
    let baselines: HashMap<usize, usize> = pairs
        .iter()
        .map(|pair| (pair.candidate, pair.baseline))
        .collect();
    let known = run.map(Known::new);
    let mut rows = Vec::new();
    for (index, cell) in cells.iter().enumerate() {
        let baseline = baselines.get(&index);
        let state = known.as_ref().and_then(|known| known.state(&cell.id));
        let unknown = unbuilt(expansion, index).unwrap_or("new");
        rows.push(Row {
            cell: cell.id.clone(),
            state: state.unwrap_or_else(|| unknown.to_owned()),
            predecessor: baseline.map(|baseline| cells[*baseline].id.clone()),
            date: cell.version.date,
            withdrawn: cell.version.withdrawn.clone(),
        });
    }
    Ok(rows)
}

/// Returns why a cell will not be built; none if it will.
fn unbuilt(expansion: &Expansion, cell: usize) -> Option<&'static str> {
    if expansion.excluded.contains_key(&cell) {
        return Some("excluded");
    }
    let missing = expansion.missing.binary_search(&cell).is_ok();
    missing.then_some("not in the source")
}

/// What the newest journal knows.
struct Known<'run> {
    run: &'run Run,
    places: HashMap<&'run str, usize>,
    /// How many samples there are of each cell.
    samples: Vec<usize>,
}

impl<'run> Known<'run> {
    fn new(run: &'run Run) -> Self {
        let cells = &run.header.cells;
        let mut samples = vec![0; cells.len()];
        let launches = run.sessions.iter().flat_map(|session| &session.launches);
        for launch in launches.filter(|launch| matches!(launch.outcome, Launched::Sample(_))) {
            if let Some(count) = samples.get_mut(launch.cell) {
                *count += 1;
            }
        }
        let names = cells.iter().map(|cell| cell.id.as_str());
        Self {
            run,
            places: names.zip(0..).collect(),
            samples,
        }
    }

    /// Returns what it knows of a cell; none where that was no part of the run.
    fn state(&self, id: &str) -> Option<String> {
        let index = *self.places.get(id)?;
        let built = self.run.builds.get(&index);
        let given_up = self.run.given_up.get(&index);
        Some(match (built, given_up, self.samples[index]) {
            (Some(Built::Gap(gap)), _, _) | (_, Some(gap), _) => {
                format!("gap: {}: {}", gap.stage, gap.kind)
            }
            (None, None, 0) => "planned".to_owned(),
            (Some(Built::Artifact(_)), None, 0) => "built".to_owned(),
            (_, None, count) => format!("measured in {count} sessions"),
        })
    }
}

fn text(rows: &[Row], relation: &str, run: Option<&Run>) -> String {
    let width = rows.iter().map(|row| row.cell.len()).max().unwrap_or(0);
    let dated = rows.iter().any(|row| row.date.is_some());
    let line = |row: &Row| {
        let mut notes = Vec::new();
        if dated {
            let date = row.date.map(|date| date.strftime("%Y-%m-%d").to_string());
            notes.push(format!("{:10}", date.unwrap_or_default()));
        }
        let relative = row.predecessor.as_ref();
        notes.extend(relative.map(|name| format!("{relation} {name}")));
        notes.extend(
            row.withdrawn
                .as_ref()
                .map(|why| format!("withdrawn: {why}")),
        );
        let line = format!(
            "{:width$}  {:24}  {}",
            row.cell,
            row.state,
            notes.join("  ")
        );
        line.trim_end().to_owned()
    };
    let mut lines: Vec<String> = rows.iter().map(line).collect();
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
