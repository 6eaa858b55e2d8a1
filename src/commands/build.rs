//! `harness build`: fetch and build only, in parallel.

use std::sync::Arc;

use super::{load, matrices, print};
use crate::cli::{BuildArgs, DataFormat};
use crate::error::Result;
use crate::exit::Exit;
use crate::host;
use crate::journal::Built;
use crate::live::Live;
use crate::matrix::Matrix;
use crate::pipeline::{self, Step};
use crate::progress::Progress;
use crate::workplace::Workplace;

pub(super) async fn run(workplace: &Workplace, arguments: &BuildArgs) -> Result<Exit> {
    // A build beside a measurement would spoil it.
    let _lock = workplace.lock()?;
    let mut exit = Exit::Done;
    for matrix in matrices(workplace, &arguments.selected)? {
        if !build_one(workplace, matrix, arguments).await? {
            exit = Exit::Undecided;
        }
    }
    Ok(exit)
}

/// Builds the cells of one matrix. Returns whether any of them built.
async fn build_one(
    workplace: &Workplace,
    matrix: (Matrix, String),
    arguments: &BuildArgs,
) -> Result<bool> {
    let progress = Progress::new();
    progress.doing(&format!(
        "{}: asking which versions there are",
        matrix.0.title
    ));
    let loaded = load(workplace, matrix, &arguments.selected).await?;
    loaded.warn(|text| progress.say(text));
    let cells = loaded.expansion.cells.clone();
    let bench = Arc::new(Live::new(
        workplace,
        loaded,
        host::cpu_plan(None, None)?,
        "build",
    )?);
    let mut results: Vec<(usize, Built)> = Vec::new();
    pipeline::build_each(
        &bench,
        0..cells.len(),
        host::allowed_cpus().len(),
        &mut |step| {
            match step {
                Step::Started(cell) => progress.doing(&format!("building {}", cells[cell].id)),
                Step::Ended(cell, built) => results.push((cell, *built)),
            }
            Ok(())
        },
    )
    .await?;
    progress.finish();
    results.sort_by_key(|(cell, _)| *cell);
    let lines = results.iter().map(|(cell, built)| match arguments.format {
        DataFormat::Json => {
            serde_json::json!({ "cell": cells[*cell].id, "outcome": built }).to_string()
        }
        DataFormat::Human => line(&cells[*cell].id, built),
    });
    print(&lines.collect::<Vec<_>>().join("\n"))?;
    Ok(results
        .iter()
        .any(|(_, built)| matches!(built, Built::Artifact(_))))
}

fn line(id: &str, built: &Built) -> String {
    match built {
        Built::Artifact(artifact) => {
            let binary = artifact
                .binary
                .as_ref()
                .map_or(String::new(), |path| path.display().to_string());
            format!("built  {id}  {binary}")
        }
        Built::Gap(gap) => {
            let said = format!("gap    {id}  {}", gap.in_one_line());
            let advice = gap.advice().map(|advice| format!("       {advice}"));
            std::iter::once(said)
                .chain(advice)
                .collect::<Vec<_>>()
                .join("\n")
        }
    }
}
