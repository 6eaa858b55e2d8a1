//! Killed at any moment, Harness leaves no process, loses nothing measured, and goes on the next time.

use crate::world::{Ended, World, send, until};
use rustix::process::Signal;

const SESSIONS: &str = "[sessions]\ncount = 4\nsolo = 1\n[verdict]\nconfirm = false";

#[test]
fn killed_under_load_it_leaves_no_server_and_goes_on_where_it_stopped() {
    let world = World::new();
    world.write_faults(&["steady", "forks_a_child"], SESSIONS);
    let mut child = world.start(&["run", "faults.toml"]);
    until("three sessions are written down", || {
        world.count("faults", "session") >= 3
    });
    until("a server is up", || !servers(&world).is_empty());
    send(&child, Signal::KILL);
    child.wait().unwrap();
    world.expect_no_process();

    let before = world.records("faults");
    let ended = world.run(&["run", "faults.toml"]);
    assert!(matches!(ended.code, Some(0 | 1 | 125)), "{ended:?}");
    let after = world.records("faults");
    assert_eq!(
        after[..before.len()],
        before[..],
        "what was measured is still there"
    );
    assert_eq!(world.count("faults", "resumed"), 1);
    assert_eq!(world.count("faults", "summary"), 1);
    // Two solo trials and four races, however often it was stopped in between.
    assert_eq!(world.count("faults", "session"), 6);
}

#[test]
fn killed_in_a_build_it_leaves_no_builder_and_the_build_is_made_again() {
    let world = World::new();
    world.write_faults(&["build_hangs", "steady"], SESSIONS);
    let mut child = world.start(&["build", "faults.toml"]);
    until("the build hangs", || {
        world
            .processes()
            .iter()
            .any(|process| process.contains("sleep 600"))
    });
    send(&child, Signal::KILL);
    child.wait().unwrap();
    world.expect_no_process();

    let ended = world.run(&["build", "faults.toml", "steady"]).expect(0);
    assert!(ended.stdout.contains("built  steady"), "{ended:?}");
}

#[test]
fn a_torn_journal_is_read_up_to_its_last_whole_line() {
    let world = World::new();
    world.write_faults(&["steady", "steady_again"], SESSIONS);
    let mut child = world.start(&["run", "faults.toml"]);
    until("two sessions are written down", || {
        world.count("faults", "session") >= 2
    });
    send(&child, Signal::KILL);
    child.wait().unwrap();

    let path = world.journal("faults").unwrap();
    let whole = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, format!("{whole}{{\"record\":\"session\",\"ind")).unwrap();
    let ended = world.run(&["run", "faults.toml"]);
    assert!(matches!(ended.code, Some(0 | 1 | 125)), "{ended:?}");
    let text = std::fs::read_to_string(&path).unwrap();
    assert!(text.starts_with(&whole), "what was measured is still there");
    assert!(
        !text.contains("\"ind\n") && !text.contains("\"ind{"),
        "the torn line is gone"
    );
    assert_eq!(world.count("faults", "session"), 6);
}

#[test]
fn interrupted_it_stops_every_server_says_so_and_keeps_what_it_measured() {
    for (signal, code) in [(Signal::INT, 130), (Signal::TERM, 143)] {
        let world = World::new();
        world.write_faults(&["steady", "ignores_sigterm"], SESSIONS);
        let child = world.start(&["run", "faults.toml"]);
        until("a session is written down", || {
            world.count("faults", "session") >= 1
        });
        until("a server is up", || !servers(&world).is_empty());
        send(&child, signal);
        let ended = Ended::of(child.wait_with_output().unwrap()).expect(code);
        assert!(
            ended.stderr.contains("what was measured is kept"),
            "{}",
            ended.stderr
        );
        assert_eq!(
            servers(&world),
            Vec::<String>::new(),
            "it waits until its servers are gone"
        );
        assert!(world.count("faults", "session") >= 1);
    }
}

#[test]
fn a_report_that_cannot_be_finished_leaves_the_old_one_whole() {
    let world = World::new();
    world.write_faults(&["steady", "steady_again"], SESSIONS);
    world.run(&["run", "faults.toml"]);
    let report = world.path().join("reports/faults.md");
    let whole = std::fs::read_to_string(&report).unwrap();
    let output = report.to_str().unwrap();
    for _ in 0..20 {
        let mut child = world.start(&["report", "faults.toml", "--output", output]);
        send(&child, Signal::KILL);
        child.wait().unwrap();
        assert_eq!(std::fs::read_to_string(&report).unwrap(), whole);
    }
    world.run(&["report", "faults.toml", "--output", output]);
    assert_eq!(
        std::fs::read_to_string(&report).unwrap(),
        whole,
        "the journal alone makes the report"
    );
}

fn servers(world: &World) -> Vec<String> {
    world
        .processes()
        .into_iter()
        .filter(|process| process.contains("/out/server"))
        .collect()
}

#[test]
fn another_server_than_was_measured_begins_a_new_run() {
    let world = World::new();
    world.write_faults(&["steady", "steady_again"], SESSIONS);
    let mut child = world.start(&["run", "faults.toml"]);
    until("a session is written down", || {
        world.count("faults", "session") >= 1
    });
    send(&child, Signal::KILL);
    child.wait().unwrap();
    let source = std::fs::read_to_string(world.path().join("fault.rs")).unwrap();
    world.write("fault.rs", &format!("{source}\n// changed\n"));
    let ended = world.run(&["run", "faults.toml"]);
    assert!(
        ended.stderr.contains("a new run begins"),
        "{}",
        ended.stderr
    );
    let journals = std::fs::read_dir(world.path().join("reports/data/faults")).unwrap();
    assert_eq!(journals.count(), 2);
}

#[test]
fn an_unfinished_run_goes_on_even_after_another_was_finished() {
    let world = World::new();
    world.write_faults(&["steady", "steady_again"], SESSIONS);
    let mut child = world.start(&["run", "faults.toml"]);
    until("a session is written down", || {
        world.count("faults", "session") >= 1
    });
    send(&child, Signal::KILL);
    child.wait().unwrap();
    world.run(&["run", "faults.toml", "steady"]);
    let ended = world.run(&["run", "faults.toml"]);
    assert!(ended.stderr.contains("going on with"), "{}", ended.stderr);
}
