//! The real program against the real registries, through their own clients: small packages, few questions.
#![expect(clippy::disallowed_methods, reason = "tests work on the real machine")]
#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot be set up has failed"
)]

#[path = "../it/world.rs"]
#[expect(dead_code, reason = "the other tests need more of it")]
mod world;

mod axis;
mod crates;
mod export;
mod go;
mod maven;
mod npm;
mod pypi;

use std::process::Command;

use harness::matrix::{self, Wanted};
use harness::source::{self, Available};
use serde_json::Value;

use world::{Ended, HARNESS, World};

/// Runs `harness build` and returns the outcome of each cell, in order.
fn built(world: &World, matrix: &str) -> Vec<Value> {
    built_by(world.harness(&["build", matrix, "--format", "json"]))
}

/// Does so with a command that is ready to run.
fn built_by(mut command: Command) -> Vec<Value> {
    let ended = Ended::of(command.output().unwrap()).expect(0);
    let cells = ended.stdout.lines().map(|line| {
        let cell: Value = serde_json::from_str(line).unwrap();
        cell["outcome"].clone()
    });
    cells.collect()
}

/// Fails unless a cell is a gap of this kind whose cause says this.
#[track_caller]
fn expect_gap(outcome: &Value, kind: &str, cause: &str) {
    let gap = &outcome["gap"];
    assert_eq!(gap["kind"], kind, "{outcome}");
    assert!(gap["cause"].as_str().unwrap().contains(cause), "{outcome}");
}

/// Asks the source of a matrix in this world which versions there are.
async fn available(world: &World, text: &str) -> harness::error::Result<Available> {
    harness::process::use_supervisor(HARNESS);
    let text = format!("schema = 2\n[start]\ncmd = [\"x\"]\n[source]\n{text}\n");
    let matrix = matrix::parse(&text, &world.path().join("asked.toml"), None)?;
    let named = match &matrix.source.versions {
        Wanted::Names(names) => names.as_slice(),
        Wanted::All | Wanted::Range(_) => &[],
    };
    source::available(&matrix, named, world.path()).await
}
