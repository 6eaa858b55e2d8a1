//! `harness check`: is the matrix right, and why is each version in or out?

use super::{Loaded, load, matrices, print};
use crate::cli::{CheckArgs, Format, SchemaOf};
use crate::error::Result;
use crate::exit::Exit;
use crate::matrix::schema;
use crate::workplace::Workplace;

pub(super) fn schema(arguments: &CheckArgs) -> Result<Exit> {
    print(&match arguments.print_schema {
        Some(SchemaOf::Project) => schema::project_json_schema(),
        Some(SchemaOf::Matrix) | None => schema::json_schema(),
    })?;
    Ok(Exit::Done)
}

pub(super) async fn run(workplace: &Workplace, arguments: &CheckArgs) -> Result<Exit> {
    for matrix in matrices(workplace, &arguments.selected)? {
        let loaded = load(matrix, &arguments.selected).await?;
        print(&match arguments.format {
            Format::Json => json(&loaded),
            Format::Human | Format::Md => text(&loaded),
        })?;
    }
    Ok(Exit::Done)
}

fn text(loaded: &Loaded) -> String {
    let Loaded {
        matrix,
        expansion,
        warnings,
        ..
    } = loaded;
    let mut lines = vec![format!("{}: {}", matrix.file.display(), matrix.title)];
    lines.extend(warnings.iter().map(|warning| format!("warning: {warning}")));
    for (index, cell) in expansion.cells.iter().enumerate() {
        let missing = expansion.missing.contains(&index);
        let note = if missing {
            "  (not in the source: will be a gap)"
        } else {
            ""
        };
        lines.push(format!("  in   {}{note}", cell.id));
    }
    lines.extend(stretches(&expansion.left_out));
    let (cells, out) = (expansion.cells.len(), expansion.left_out.len());
    lines.push(format!("{cells} cells in, {out} versions out"));
    lines.join("\n")
}

/// Returns a line for each stretch of versions that are left out for the same reason.
fn stretches(left_out: &[(String, String)]) -> Vec<String> {
    let same = |one: &(String, String), other: &(String, String)| one.1 == other.1;
    let line = |stretch: &[(String, String)]| match stretch {
        [] => String::new(),
        [(version, why)] => format!("  out  {version}  {why}"),
        [(first, why), .., (last, _)] => {
            format!(
                "  out  {first} … {last} ({} versions)  {why}",
                stretch.len()
            )
        }
    };
    left_out.chunk_by(same).map(line).collect()
}

fn json(loaded: &Loaded) -> String {
    let expansion = &loaded.expansion;
    let out: Vec<_> = expansion
        .left_out
        .iter()
        .map(|(version, why)| serde_json::json!({ "version": version, "why": why }))
        .collect();
    let value = serde_json::json!({
        "matrix": loaded.matrix.file,
        "title": loaded.matrix.title,
        "cells": expansion.cells,
        "missing": expansion.missing,
        "left_out": out,
        "warnings": loaded.warnings,
    });
    format!("{value:#}")
}
