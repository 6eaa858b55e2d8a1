//! `harness check`: is the matrix right, and why is each version in or out?

use super::{Loaded, load, matrices, print};
use crate::cli::{CheckArgs, DataFormat, SchemaOf};
use crate::error::{Error, Kind, Result};
use crate::exit::Exit;
use crate::live;
use crate::matrix::expand::Expansion;
use crate::matrix::{Matrix, SourceKind, schema};
use crate::version::Version;
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
        let missing = missing_here(&matrix.0);
        if !missing.is_empty() {
            return Err(missing.into_iter().fold(
                Error::new(
                    Kind::Configuration,
                    format!("{} cannot run here", matrix.0.file.display()),
                ),
                Error::because,
            ));
        }
        let loaded = load(workplace, matrix, &arguments.selected).await?;
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
        let missing = expansion.missing.contains(&index);
        let note = if missing {
            "  (not in the source: will be a gap)"
        } else {
            ""
        };
        lines.push(format!("  in   {}{note}", cell.id));
    }
    lines.extend(stretches(expansion));
    let (cells, out) = (expansion.cells.len(), expansion.left_out.len());
    lines.push(format!("{cells} cells in, {out} versions out"));
    lines.join("\n")
}

/// Returns a line for each stretch of versions that are left out for the same reason, none in between.
fn stretches(expansion: &Expansion) -> Vec<String> {
    let place = |name: &str| Version::semantic(name).and_then(|version| version.semver);
    let kept: Vec<_> = expansion
        .cells
        .iter()
        .filter_map(|cell| cell.version.semver.as_ref())
        .collect();
    let same = |one: &(String, String), other: &(String, String)| {
        let between = match (place(&one.0), place(&other.0)) {
            (Some(low), Some(high)) => kept
                .iter()
                .any(|version| low < **version && **version < high),
            (None, _) | (_, None) => false,
        };
        one.1 == other.1 && !between
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
        SourceKind::Pypi(_)
        | SourceKind::Go(_)
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
