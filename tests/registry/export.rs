//! What `harness export` writes, read by those for whom it is, where a package manager brings them.

use std::path::Path;
use std::process::Command;

use crate::world::{Ended, World};

/// Part of a real journal: four neighbours of Node.js.
const JOURNAL: &str = "tests/data/journal-1.jsonl";

#[test]
fn benchstat_compares_the_versions_of_a_real_run() {
    let world = World::new();
    let journal = Path::new(env!("CARGO_MANIFEST_DIR")).join(JOURNAL);
    let journal = journal.to_str().unwrap();
    world
        .run(&["export", "benchstat", journal, "-o", "run.txt"])
        .expect(0);
    let mut benchstat = Command::new("go");
    benchstat
        .args([
            "run",
            "golang.org/x/perf/cmd/benchstat@latest",
            "-format",
            "csv",
        ])
        .args(["-col", "version", "-filter", ".unit:cpu-sec/op", "run.txt"])
        .current_dir(world.path());
    let told = Ended::of(benchstat.output().unwrap()).expect(0);
    assert!(told.stdout.contains("\nRace/servers=4,"), "{}", told.stdout);
    assert!(
        !told.stderr.contains("run.txt:"),
        "a line was refused: {}",
        told.stderr
    );
}
