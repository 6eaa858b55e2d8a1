//! A search over real commits and real versions: the culprit named, the gap named, nobody named, and one that is killed.

use std::fmt::Write;
use std::process::{Command, Stdio};

use rustix::process::Signal;

use crate::world::{Ended, HARNESS, World, send, until};

/// How a commit's server is built, and what one request costs it in turns of a loop. Below zero it does not build.
type Turns = i64;

const FAST: Turns = 0;
const SLOW: Turns = 20_000;
const BROKEN: Turns = -1;

/// A world with a repository of these commits on a line, the first tagged `v1.0.0` and the last `v1.1.0`, and a matrix of it.
fn history(commits: &[Turns]) -> World {
    let world = World::new();
    world.write("git.config", "[protocol \"file\"]\nallow = always\n");
    git(&world, &["init", "--quiet", "--bare", "project.git"]);
    let mut stream = String::new();
    for (number, turns) in commits.iter().enumerate() {
        let (message, file) = (format!("change {number}"), format!("{turns}\n"));
        let _ = write!(
            stream,
            "commit refs/heads/main\nmark :{mark}\ncommitter a <a@example.org> {} +0000\ndata {}\n{message}\n\
             M 100644 inline turns\ndata {}\n{file}\n",
            1_700_000_000 + 60 * number,
            message.len(),
            file.len(),
            mark = number + 1,
        );
    }
    let _ = write!(
        stream,
        "reset refs/tags/v1.0.0\nfrom :1\n\nreset refs/tags/v1.1.0\nfrom :{}\n\n",
        commits.len()
    );
    let stream = world.write("stream", &stream);
    let mut import = Command::new("git");
    import.args(["-C", "project.git", "fast-import", "--quiet"]);
    import.current_dir(world.path());
    let status = import.stdin(std::fs::File::open(stream).unwrap()).status();
    assert!(status.unwrap().success());
    matrix(
        &world,
        "[source.git]\nrepository = \"project.git\"\n",
        "{src}",
    );
    world
}

/// Writes a matrix whose servers turn a loop as often as the file `turns` in a folder says.
fn matrix(world: &World, source: &str, folder: &str) {
    let text = format!(
        r#"
schema = 4
title = "a server"
{source}
[build]
steps = [
  {{ shell = 'test "$(cat "{folder}/turns")" -ge 0' }},
  ["cp", "{folder}/turns", "{{out}}/turns"],
]
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
    world.write("server.toml", &text);
}

fn git(world: &World, arguments: &[&str]) {
    let status = Command::new("git")
        .args(arguments)
        .current_dir(world.path())
        .env("GIT_CONFIG_GLOBAL", world.path().join("git.config"))
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .status();
    assert!(status.unwrap().success(), "git {arguments:?}");
}

fn command(world: &World, arguments: &[&str]) -> Command {
    let mut command = world.harness(arguments);
    command
        .env("GIT_CONFIG_GLOBAL", world.path().join("git.config"))
        .env("GIT_CONFIG_NOSYSTEM", "1");
    command
}

fn bisect(world: &World, arguments: &[&str]) -> Ended {
    let all = [&["bisect"], arguments, &["--matrix", "server.toml"]].concat();
    Ended::of(command(world, &all).output().unwrap())
}

fn found(ended: &Ended) -> serde_json::Value {
    serde_json::from_str(&ended.stdout).unwrap_or_else(|error| panic!("{error}: {ended:?}"))
}

#[test]
fn the_commit_that_made_it_slower_is_named() {
    let commits = [[FAST; 6].as_slice(), &[SLOW; 5]].concat();
    let world = history(&commits);
    let ended = bisect(&world, &["v1.0.0..v1.1.0", "--format", "json"]).expect(1);
    let hunt = found(&ended);
    assert_eq!(hunt["outcome"], "found", "{hunt}");
    assert_eq!(hunt["suspects"][0]["subject"], "change 6", "{hunt}");
    assert!(hunt["effect_percent"].as_f64().unwrap() < -20.0, "{hunt}");
    assert!(hunt["odds"].as_f64().unwrap() >= 0.95, "{hunt}");
    let report = std::fs::read_to_string(world.path().join("reports/server-bisect.md")).unwrap();
    assert!(report.contains("change 6"), "{report}");
    assert!(!world.path().join("reports/data/server").exists());
    // The ends the other way round have nothing between them.
    let ended = bisect(&world, &["v1.1.0..v1.0.0"]).expect(128);
    assert!(ended.stderr.contains("v1.0.0..v1.1.0"), "{ended:?}");
    world.expect_no_process();
}

#[test]
fn a_culprit_among_commits_that_do_not_build_is_one_of_these() {
    let commits = [FAST, FAST, FAST, BROKEN, BROKEN, SLOW, SLOW];
    let world = history(&commits);
    let ended = bisect(&world, &["v1.0.0..v1.1.0", "--format", "json"]).expect(1);
    let hunt = found(&ended);
    assert_eq!(hunt["outcome"], "found-within-a-gap", "{hunt}");
    let suspects = hunt["suspects"].as_array().unwrap();
    let subjects: Vec<&str> = suspects
        .iter()
        .map(|suspect| suspect["subject"].as_str().unwrap())
        .collect();
    assert_eq!(subjects, ["change 3", "change 4", "change 5"], "{hunt}");
}

#[test]
fn what_made_it_faster_is_found_by_asking_for_it() {
    let world = history(&[SLOW, SLOW, SLOW, FAST, FAST]);
    let arguments = ["v1.0.0..v1.1.0", "--invert", "--format", "json"];
    let hunt = found(&bisect(&world, &arguments).expect(0));
    assert_eq!(hunt["suspects"][0]["subject"], "change 3", "{hunt}");
    assert!(hunt["effect_percent"].as_f64().unwrap() > 20.0, "{hunt}");
}

#[test]
fn versions_of_a_list_are_searched_as_well() {
    let world = World::new();
    let names = ["a", "b", "c", "d", "e"];
    for (name, turns) in names.iter().zip([FAST, FAST, FAST, SLOW, SLOW]) {
        world.write(&format!("{name}/turns"), &format!("{turns}\n"));
    }
    let source = "[source]\nversions = [\"a\", \"b\", \"c\", \"d\", \"e\"]\n[source.list]\n";
    matrix(&world, source, "{matrix_dir}/{version}");
    let hunt = found(&bisect(&world, &["a..e", "--format", "json"]).expect(1));
    assert_eq!(hunt["suspects"][0]["cell"], "d", "{hunt}");
    let ended = bisect(&world, &["a..x"]).expect(129);
    assert!(ended.stderr.contains("no version `x`"), "{ended:?}");
    let ended = bisect(&world, &["d..b"]).expect(129);
    assert!(ended.stderr.contains("does not come before"), "{ended:?}");
    for wrong in ["a", "a..", "..e", ".."] {
        let ended = bisect(&world, &[wrong]).expect(129);
        assert!(ended.stderr.contains("is no range"), "{ended:?}");
    }
}

#[test]
fn ends_that_are_alike_are_not_searched() {
    let world = history(&[FAST; 5]);
    let ended = bisect(&world, &["v1.0.0..v1.1.0", "--format", "json"]);
    let hunt = found(&ended);
    assert_ne!(hunt["outcome"], "found", "{hunt}");
    assert!(matches!(ended.code, Some(0 | 125)), "{ended:?}");
    assert!(
        hunt["suspects"].as_array().unwrap().is_empty() || ended.code == Some(125),
        "{hunt}"
    );
}

#[test]
fn a_search_that_is_killed_goes_on() {
    let world = history(&[FAST, FAST, FAST, SLOW, SLOW]);
    let arguments = [
        "bisect",
        "v1.0.0..v1.1.0",
        "--matrix",
        "server.toml",
        "--format",
        "json",
    ];
    let mut child = command(&world, &arguments)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    until("two sessions are held", || {
        world.count("server-bisect", "session") >= 2
    });
    send(&child, Signal::KILL);
    child.wait().unwrap();
    let held = world.count("server-bisect", "session");
    let ended = bisect(&world, &["v1.0.0..v1.1.0", "--format", "json"]).expect(1);
    assert!(ended.stderr.contains("going on with"), "{}", ended.stderr);
    let hunt = found(&ended);
    assert_eq!(hunt["suspects"][0]["subject"], "change 3", "{hunt}");
    assert!(hunt["tried"]["sessions"].as_u64().unwrap() >= held as u64);
    world.expect_no_process();
}

#[test]
fn a_step_between_two_tags_goes_on_to_its_commit() {
    let world = history(&[FAST, FAST, FAST, SLOW, SLOW]);
    let arguments = ["run", "server.toml", "--bisect"];
    let ended = Ended::of(command(&world, &arguments).output().unwrap()).expect(1);
    assert!(ended.stdout.contains("change 3"), "{}", ended.stdout);
    let report = std::fs::read_to_string(world.path().join("reports/server.md")).unwrap();
    assert!(report.contains("change 3"), "{report}");
    // Made again from the journals, it names the commit as well.
    let ended = Ended::of(
        command(&world, &["report", "server.toml"])
            .output()
            .unwrap(),
    );
    assert!(ended.stdout.contains("change 3"), "{}", ended.stdout);
}
