//! Every faulty server ends in the gap that its name promises, and leaves no process behind.

use std::collections::BTreeMap;

use crate::world::World;

/// What must become of each version: measured, or a gap of this stage and kind.
const EXPECTED: [(&str, &str); 15] = [
    ("steady", "measured"),
    ("slow", "measured"),
    ("build_fail", "build: failed"),
    ("build_hangs", "build: timeout"),
    ("never_listens", "start: not-ready"),
    ("exits_at_start", "start: exited"),
    ("wrong_body", "check: wrong-answer"),
    ("answers_500", "check: wrong-answer"),
    ("dies_under_load", "load: crashed"),
    ("stalls_under_load", "load: stalled"),
    ("errors_under_load", "load: errors"),
    ("wrong_body_later", "load: errors"),
    ("ignores_sigterm", "measured"),
    ("forks_a_child", "measured"),
    ("steady_again", "measured"),
];

#[test]
fn every_fault_ends_in_the_right_gap_and_leaves_no_process() {
    let world = World::new();
    let versions = EXPECTED.map(|(version, _)| version);
    world.write_faults(
        &versions,
        "[sessions]\ncount = 3\nsolo = 1\n[verdict]\nconfirm = false",
    );
    world.change(
        "faults.toml",
        "[ready]\ntimeout = \"10s\"",
        "[ready]\ntimeout = \"3s\"",
    );
    let ended = world.run(&["run", "faults.toml"]);
    assert!(matches!(ended.code, Some(0 | 1 | 125)), "{ended:?}");

    let journal = std::fs::read_to_string(world.journal("faults").unwrap()).unwrap();
    let folder = world.path().to_str().unwrap();
    assert!(
        !journal.contains(folder) && !report(&world).contains(folder),
        "a path of this machine"
    );

    let found = outcomes(&world);
    let expected: BTreeMap<String, String> = EXPECTED
        .iter()
        .map(|&(version, state)| (version.to_owned(), state.to_owned()))
        .collect();
    assert_eq!(found, expected, "{}", ended.stderr);

    let report = report(&world);
    for (version, state) in EXPECTED {
        assert!(
            report.contains(&version.replace('_', "\\_")),
            "{version} ({state}) is missing from the report"
        );
    }
    assert!(report.contains("this version does not build"), "{report}");
    assert!(report.contains("cannot read the configuration"), "{report}");
    world.expect_no_process();
}

#[test]
fn a_server_that_stops_says_after_how_many_answers_in_warm_up_and_later() {
    let world = World::new();
    // The first one is gone long before its first window has passed, the second one long after.
    world.write_faults(&["dies_after_300", "dies_after_10000"], "");
    world.change("faults.toml", "duration = \"400ms\"", "requests = 100000");
    world.change(
        "faults.toml",
        "answers = 100, at_most = \"600ms\"",
        "answers = 0, at_most = \"0s\"",
    );
    world.change("faults.toml", "timeout = \"5s\"", "timeout = \"100ms\"");
    let ended = world.run(&["run", "faults.toml"]).expect(125);
    let causes: Vec<String> = world
        .records("faults")
        .iter()
        .filter(|record| record["record"] == "gap")
        .map(|record| record["gap"]["cause"].as_str().unwrap().to_owned())
        .collect();
    let told =
        |answers| format!("the server ended with code 9 under load, after {answers} answers");
    assert_eq!(causes.len(), 2, "{ended:?}");
    for answers in [300, 10_000] {
        assert!(causes.contains(&told(answers)), "{causes:?}");
    }
}

fn report(world: &World) -> String {
    std::fs::read_to_string(world.path().join("reports/faults.md")).unwrap()
}

/// Returns what the journal says became of each version.
fn outcomes(world: &World) -> BTreeMap<String, String> {
    let records = world.records("faults");
    let cells = records[0]["cells"].as_array().unwrap();
    let name = |index: &serde_json::Value| {
        let index = usize::try_from(index.as_u64().unwrap()).unwrap();
        cells[index]["id"].as_str().unwrap().to_owned()
    };
    let gap = |gap: &serde_json::Value| {
        format!(
            "{}: {}",
            gap["stage"].as_str().unwrap(),
            gap["kind"].as_str().unwrap()
        )
    };
    let mut outcomes = BTreeMap::new();
    for record in &records {
        match record["record"].as_str().unwrap() {
            "build" if record["gap"].is_object() => {
                outcomes.insert(name(&record["cell"]), gap(&record["gap"]));
            }
            "gap" => drop(outcomes.insert(name(&record["cell"]), gap(&record["gap"]))),
            "session" => {
                for launch in record["launches"].as_array().unwrap() {
                    if launch["sample"].is_object() {
                        outcomes
                            .entry(name(&launch["cell"]))
                            .or_insert_with(|| "measured".to_owned());
                    }
                }
            }
            _ => {}
        }
    }
    outcomes
}
