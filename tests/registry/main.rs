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
mod maven;
mod npm;

use serde_json::Value;

use world::World;

/// Runs `harness build` and returns the outcome of each cell, in order.
fn built(world: &World, matrix: &str) -> Vec<Value> {
    let ended = world.run(&["build", matrix, "--format", "json"]).expect(0);
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
