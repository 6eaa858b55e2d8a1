//! `harness check`: is the matrix right, and why is each version in or out?

use std::collections::BTreeSet;

use super::{Loaded, load, matrices, print};
use crate::cli::{CheckArgs, DataFormat, SchemaOf};
use crate::error::{Error, Kind, Result};
use crate::exit::Exit;
use crate::export;
use crate::live;
use crate::matrix::expand::Expansion;
use crate::matrix::{Layer, Matrix, SourceKind, reference, schema};
use crate::version::{Order, Parsed};
use crate::workplace::Workplace;

pub(super) fn schema(arguments: &CheckArgs) -> Result<Exit> {
    print(&match arguments.print_schema {
        Some(SchemaOf::Project) => schema::project_json_schema(),
        Some(SchemaOf::Reference) => reference::reference(),
        Some(SchemaOf::Report) => export::schema::report(),
        Some(SchemaOf::Matrix) | None => schema::json_schema(),
    })?;
    Ok(Exit::Done)
}

pub(super) async fn run(workplace: &Workplace, arguments: &CheckArgs) -> Result<Exit> {
    for matrix in matrices(workplace, &arguments.selected)? {
        can_run_here(&matrix.0, &[&matrix.0])?;
        let loaded = load(workplace, matrix, &arguments.selected).await?;
        can_run_here(&loaded.matrix, &loaded.matrices())?;
        print(&match arguments.format {
            DataFormat::Json => json(&loaded),
            DataFormat::Human => text(&loaded),
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
        lines.push(format!("  in   {}{}", cell.id, note(loaded, index)));
    }
    lines.extend(stretches(expansion, matrix.source.order));
    let (cells, out) = (expansion.cells.len(), expansion.left_out.len());
    lines.push(format!("{cells} cells in, {out} versions out"));
    lines.join("\n")
}

/// Returns what is special about a cell.
fn note(loaded: &Loaded, cell: usize) -> String {
    let expansion = &loaded.expansion;
    let layers = expansion.layers[cell].iter();
    let layers: Vec<String> = layers.map(|layer| layer.name(&loaded.matrix)).collect();
    let mut notes = Vec::new();
    if let Some(reason) = expansion.excluded.get(&cell) {
        notes.push(format!("excluded, will be a gap: {reason}"));
    } else if expansion.missing.binary_search(&cell).is_ok() {
        notes.push("not in the source: will be a gap".to_owned());
    } else if !layers.is_empty() {
        notes.push(format!("with {}", layers.join(" and ")));
    }
    let withdrawn = &expansion.cells[cell].version.withdrawn;
    notes.extend(withdrawn.iter().map(|why| format!("withdrawn: {why}")));
    match notes.as_slice() {
        [] => String::new(),
        notes => format!("  ({})", notes.join("; ")),
    }
}

/// Returns a line for each stretch of versions that are left out for the same reason, none in between.
fn stretches(expansion: &Expansion, order: Order) -> Vec<String> {
    let kept = expansion.cells.iter();
    let kept: BTreeSet<Parsed> = kept.filter_map(|cell| cell.version.parsed(order)).collect();
    let between = |low: Parsed, high: Parsed| low < high && kept.range(low..high).next().is_some();
    let same = |one: &(String, String), other: &(String, String)| {
        let ends = order.parse(&one.0).zip(order.parse(&other.0));
        one.1 == other.1 && !ends.is_some_and(|(low, high)| between(low, high))
    };
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
    expansion.left_out.chunk_by(same).map(line).collect()
}

/// Makes sure that nothing is missing on this machine that the matrix, as it is for some of its cells, names.
fn can_run_here(matrix: &Matrix, variants: &[&Matrix]) -> Result<()> {
    let mut missing: Vec<String> = variants.iter().flat_map(|it| missing_here(it)).collect();
    missing.sort();
    missing.dedup();
    let message = format!("{} cannot run here", matrix.file.display());
    let error = Error::new(Kind::Configuration, message);
    match missing.as_slice() {
        [] => Ok(()),
        _ => Err(missing.into_iter().fold(error, Error::because)),
    }
}

/// Returns what a run of the matrix would stumble over on this machine.
fn missing_here(matrix: &Matrix) -> Vec<String> {
    let mut missing = Vec::new();
    missing.extend(missing_server(&matrix.source.kind));
    for input in matrix.build.inputs.iter().filter(|input| !input.exists()) {
        missing.push(format!("`build.inputs`: {} is not there", input.display()));
    }
    for (name, _) in live::environment(&matrix.start)
        .iter()
        .filter(|(_, value)| value.is_none())
    {
        missing.push(format!(
            "`start`: the environment variable {name} is not set"
        ));
    }
    missing
}

/// Returns why the server that a source builds or installs with is none; nothing if it is one, or if there is none.
fn missing_server(kind: &SourceKind) -> Option<String> {
    let (key, server, manifest, what) = match kind {
        SourceKind::Crates(crates) => {
            let server = crates.server.as_ref()?;
            (
                "crates",
                server,
                server.join("Cargo.toml"),
                "is no cargo project",
            )
        }
        SourceKind::Npm(npm) => {
            let server = npm.server.as_ref()?;
            ("npm", server, server.clone(), "is not there")
        }
        SourceKind::Maven(maven) => {
            let manifest = maven.server.join("pom.xml");
            ("maven", &maven.server, manifest, "is no Maven project")
        }
        SourceKind::Go(go) => {
            let server = go.server.as_ref()?;
            ("go", server, server.join("go.mod"), "is no Go project")
        }
        SourceKind::Pypi(_)
        | SourceKind::Git(_)
        | SourceKind::Url(_)
        | SourceKind::Path(_)
        | SourceKind::Attach(_)
        | SourceKind::List(_) => return None,
    };
    let is_there = manifest.exists();
    (!is_there).then(|| format!("`source.{key}.server`: {} {what}", server.display()))
}

fn json(loaded: &Loaded) -> String {
    let expansion = &loaded.expansion;
    let out: Vec<_> = expansion
        .left_out
        .iter()
        .map(|(version, why)| serde_json::json!({ "version": version, "why": why }))
        .collect();
    let line = |layer: &Layer| layer.line(&loaded.matrix);
    let lines = |layers: &Vec<Layer>| layers.iter().map(line).collect::<Vec<_>>();
    let layers: Vec<_> = expansion.layers.iter().map(lines).collect();
    let value = serde_json::json!({
        "matrix": loaded.matrix.file,
        "title": loaded.matrix.title,
        "cells": expansion.cells,
        "missing": expansion.missing,
        "excluded": expansion.excluded,
        "layers": layers,
        "left_out": out,
        "warnings": loaded.warnings,
    });
    format!("{value:#}")
}
