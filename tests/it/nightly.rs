//! Nights, one after another: what is new is told once, what goes wrong in a night leaves the next one right.

use std::path::PathBuf;

use rustix::process::Signal;

use crate::world::{Ended, HARNESS, World, send, until};

/// A world whose source prints the names in a file; a server turns a loop as often as its file says.
fn world(versions: &[(&str, u32)]) -> World {
    let world = World::new();
    let text = format!(
        r#"
schema = 4
title = "a server"
[source]
order = "semver"
[source.list]
command = ["cat", "versions"]
[build]
steps = [["cp", "{{matrix_dir}}/turns-{{version}}", "{{out}}/turns"]]
[start.cmd]
shell = 'exec "{HARNESS}" known-server --listen "{{host}}:{{port}}" --turns "$(cat "{{out}}/turns")"'
[load]
connections = 4
duration = "200ms"
window = "50ms"
warmup = {{ answers = 20, at_most = "1s" }}
[sessions]
count = 4
solo = 1
[verdict]
confirm = false
min_effect = "20%"
same_within = "40%"
"#
    );
    world.write("hello.toml", &text);
    world.write("harness.toml", "schema = 1\nmatrices = [\"hello.toml\"]\n");
    publish(&world, versions);
    world
}

/// Lets the source have these versions, with what each costs.
fn publish(world: &World, versions: &[(&str, u32)]) {
    for (name, turns) in versions {
        world.write(&format!("turns-{name}"), &format!("{turns}\n"));
    }
    let names: Vec<&str> = versions.iter().map(|(name, _)| *name).collect();
    world.write("versions", &(names.join("\n") + "\n"));
}

fn night(world: &World, code: i32) -> Ended {
    world.run(&["nightly"]).expect(code)
}

/// A night in which nothing is new. Whether equal servers are found the same depends on how quiet the machine is.
fn quiet_night(world: &World) {
    let ended = world.run(&["nightly"]);
    assert!(matches!(ended.code, Some(0 | 125)), "{ended:?}");
    assert_eq!((ended.stdout.as_str(), ended.stderr.as_str()), ("", ""));
}

fn reports(world: &World) -> Vec<PathBuf> {
    let folder = world.path().join("reports/nightly");
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    files.retain(|file| file.extension().is_some_and(|end| end == "md"));
    files.sort();
    files
}

fn latest(world: &World) -> String {
    std::fs::read_to_string(world.path().join("reports/latest.md")).unwrap()
}

const FAST: [(&str, u32); 2] = [("1.0.0", 0), ("1.1.0", 0)];
const SLOWER: [(&str, u32); 3] = [("1.0.0", 0), ("1.1.0", 0), ("1.2.0", 20_000)];

/// The last night again, as it was told.
fn again(world: &World, code: i32) {
    let again = ["report", "hello.toml", "--style", "nightly"];
    assert_eq!(world.run(&again).expect(code).stdout, latest(world));
}

#[test]
fn a_night_is_told_again_and_one_that_never_was_is_not() {
    let world = world(&FAST);
    let none = world.run(&["report", "--style", "nightly"]).expect(128);
    assert!(none.stderr.contains("no night of hello"), "{}", none.stderr);
    publish(&world, &SLOWER);
    night(&world, 1);
    again(&world, 1);
    let json = ["report", "--style", "nightly", "--format", "json"];
    world.run(&json).expect(129);
}

#[test]
fn a_regression_is_told_once_and_silence_says_that_all_is_well() {
    let world = world(&FAST);
    quiet_night(&world);
    assert!(latest(&world).contains("All well"), "{}", latest(&world));
    assert!(
        latest(&world).contains("1.1.0 against itself"),
        "{}",
        latest(&world)
    );
    publish(&world, &SLOWER);
    let told = night(&world, 1);
    assert!(
        told.stdout.starts_with("1 new regression."),
        "{}",
        told.stdout
    );
    assert!(told.stdout.contains("1.1.0 → 1.2.0: "), "{}", told.stdout);
    quiet_night(&world);
    assert!(
        latest(&world).contains("### Still open"),
        "{}",
        latest(&world)
    );
    assert_eq!(reports(&world).len(), 3, "none takes another's place");
    let reason = ["ack", "1.2.0", "--reason", "it logs more"];
    world.run(&reason).expect(0);
    quiet_night(&world);
    assert!(
        latest(&world).contains("(accepted: it logs more)"),
        "{}",
        latest(&world)
    );
    world.expect_no_process();
}

#[test]
fn a_gap_that_heals_is_told_twice_in_all() {
    let world = world(&SLOWER[..2]);
    let broken = std::fs::remove_file(world.path().join("turns-1.1.0"));
    broken.unwrap();
    let arguments = ["nightly", "--fail-on", "new-gap"];
    let told = world.run(&arguments).expect(125);
    assert!(told.stdout.starts_with("1 new gap."), "{}", told.stdout);
    quiet_night(&world);
    publish(&world, &SLOWER[..2]);
    world.run(&["clean", "--all"]).expect(0);
    let told = world.run(&["nightly"]);
    assert!(told.stdout.starts_with("1 recovery."), "{}", told.stdout);
    assert!(
        told.stdout.contains("1.1.0 has a number again"),
        "{}",
        told.stdout
    );
}

#[test]
fn a_source_that_is_down_is_told_once_and_the_next_night_is_right() {
    let world = world(&FAST);
    quiet_night(&world);
    let versions = world.path().join("versions");
    std::fs::rename(&versions, world.path().join("away")).unwrap();
    let told = night(&world, 128);
    assert!(
        told.stdout.starts_with("1 matrix not measured."),
        "{}",
        told.stdout
    );
    assert_eq!(night(&world, 128).stdout, "", "it is told once");
    publish(&world, &SLOWER);
    let told = night(&world, 1);
    assert!(
        told.stdout.starts_with("1 new regression, 1 recovery."),
        "{}",
        told.stdout
    );
}

#[test]
fn a_night_that_is_killed_is_gone_on_with_and_two_at_once_are_one() {
    let world = world(&FAST);
    let mut child = world.start(&["nightly"]);
    until("two sessions are written down", || {
        world.count("hello", "session") >= 2
    });
    let second = night(&world, 128);
    assert!(
        second.stderr.contains("another Harness is at work"),
        "{}",
        second.stderr
    );
    send(&child, Signal::KILL);
    child.wait().unwrap();
    world.expect_no_process();
    let before = world.records("hello");
    quiet_night(&world);
    let after = world.records("hello");
    assert_eq!(after[..before.len()], before[..], "nothing is lost");
    assert_eq!(world.count("hello", "summary"), 1);
    assert_eq!(reports(&world).len(), 1);
}

#[test]
fn who_could_not_be_told_is_told_the_next_night() {
    let world = world(&SLOWER);
    world.write(
        "tell",
        "#!/bin/sh\ntest -e there || exit 3\necho \"$HARNESS_NEWS\" \"$1\" > told\n",
    );
    let path = world.path().join("tell");
    let executable = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(path, executable).unwrap();
    let arguments = ["nightly", "--notify", "./tell"];
    let failed = world.run(&arguments).expect(1);
    assert!(
        failed.stderr.contains("could not be told the news"),
        "{}",
        failed.stderr
    );
    world.write("there", "");
    world.run(&arguments).expect(1);
    let told = std::fs::read_to_string(world.path().join("told")).unwrap();
    assert!(
        told.contains("1.1.0 → 1.2.0") && told.contains("reports/nightly/"),
        "{told}"
    );
    std::fs::remove_file(world.path().join("told")).unwrap();
    assert!(matches!(world.run(&arguments).code, Some(0 | 125)));
    assert!(!world.path().join("told").exists(), "once is enough");
}

#[test]
fn old_reports_go_and_journals_stay() {
    let world = world(&FAST);
    for day in 1..=4 {
        world.write(&format!("reports/nightly/2020-01-0{day}.md"), "old\n");
    }
    let ended = world.run(&["nightly", "--keep", "2"]);
    assert!(matches!(ended.code, Some(0 | 125)), "{ended:?}");
    let names: Vec<_> = reports(&world)
        .iter()
        .map(|file| file.file_name().unwrap().to_owned())
        .collect();
    assert_eq!(names.len(), 2);
    assert_eq!(names[0], "2020-01-04.md");
    assert!(world.journal("hello").is_some());
}
