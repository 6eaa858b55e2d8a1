//! Two versions head to head: a tag against the work tree, a folder that does not build, and words that mean neither.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use crate::world::{Ended, HARNESS, World};

/// A world with a repository whose servers turn a loop as often as a file says, and a matrix of it.
fn project(turns: u64) -> World {
    let world = World::new();
    world.write("git.config", "[protocol \"file\"]\nallow = always\n");
    git(&world, &["init", "--quiet", "project"]);
    world.write("project/turns", &format!("{turns}\n"));
    git(&world, &["-C", "project", "add", "turns"]);
    let author = ["-c", "user.name=a", "-c", "user.email=a@example.org"];
    let commit = ["-C", "project", "commit", "--quiet", "-m", "words"];
    git(&world, &[author.as_slice(), &commit].concat());
    git(&world, &["-C", "project", "tag", "v1.0.0"]);
    let text = format!(
        r#"
schema = 4
title = "a server"
[source.git]
repository = "project"
[build]
steps = [["cp", "{{src}}/turns", "{{out}}/turns"]]
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
"#
    );
    world.write("server.toml", &text);
    world
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

fn compare(world: &World, arguments: &[&str]) -> Ended {
    let mut command = world.harness(&["compare"]);
    command
        .args(arguments)
        .args(["--matrix", "server.toml"])
        .env("GIT_CONFIG_GLOBAL", world.path().join("git.config"))
        .env("GIT_CONFIG_NOSYSTEM", "1");
    Ended::of(command.output().unwrap())
}

/// Returns every file below a folder with what is in it.
fn everything(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(everything(&path));
        } else {
            found.insert(path.display().to_string(), std::fs::read(&path).unwrap());
        }
    }
    found
}

#[test]
fn the_work_tree_is_held_against_a_tag_as_it_is() {
    let world = project(0);
    // Not committed, and more work.
    world.write("project/turns", "5000\n");
    let before = everything(&world.path().join("project"));
    let ended = compare(&world, &["v1.0.0", "./project"]).expect(1);
    let first = ended.stdout.lines().nth(1).unwrap().to_owned();
    assert!(first.starts_with("1.0.0 → ./project: "), "{first}");
    // Which of the two numbers tells it first depends on how quiet the machine is.
    assert!(first.contains("fewer answers per "), "{first}");
    assert!(ended.stdout.lines().count() <= 24, "{}", ended.stdout);
    assert!(ended.stdout.contains("by ranks"), "{}", ended.stdout);
    assert_eq!(everything(&world.path().join("project")), before);
    // The other way round it is an improvement, told in Markdown.
    let ended = compare(&world, &["./project", "v1.0.0", "--format", "md"]).expect(0);
    assert!(ended.stdout.contains("improvement") || ended.stdout.contains("more answers"));
    let journals = |name: &str| world.path().join("reports/data").join(name);
    assert!(!journals("server").exists(), "it is no run of the matrix");
    assert_eq!(everything(&journals("server-compare")).len(), 2);
    world.expect_no_process();
}

#[test]
fn a_folder_that_does_not_build_is_a_gap_and_the_other_is_not_blamed() {
    let world = project(0);
    std::fs::remove_file(world.path().join("project/turns")).unwrap();
    let ended = compare(&world, &["v1.0.0", "./project"]).expect(125);
    let said = &ended.stdout;
    assert!(said.contains("were not compared"), "{said}");
    assert!(said.contains("./project has no number"), "{said}");
    assert!(!said.contains("v1.0.0 has no number"), "{said}");
}

#[test]
fn words_that_mean_neither_a_version_nor_a_folder_are_told() {
    let world = project(0);
    let wrong = |arguments: &[&str], code: i32, words: &str| {
        let ended = compare(&world, arguments).expect(code);
        assert!(ended.stderr.contains(words), "{}", ended.stderr);
    };
    wrong(
        &["v1.0.0", "./nowhere"],
        129,
        "there is no folder ./nowhere",
    );
    wrong(&["v1.0.0", "./git.config"], 129, "it is a file");
    wrong(&["v1.0.0", "project"], 129, "meant as `./project`");
    wrong(&["v1.0.0", "v9.0.0"], 128, "does not have v9.0.0");
    wrong(&["server.toml", "v1.0.0"], 129, "is a matrix");
    world.change(
        "server.toml",
        "[source.git]\nrepository = \"project\"",
        "[source]\nversions = [\"a\"]\n[source.list]",
    );
    wrong(&["a", "./project"], 129, "`./project` is a folder");
}

#[test]
fn two_folders_are_built_from_what_is_in_them_and_neither_is_touched() {
    let world = project(0);
    git(
        &world,
        &[
            "-C", "project", "worktree", "add", "--quiet", "../.base", "v1.0.0",
        ],
    );
    world.write("project/turns", "5000\n");
    // Neither a hidden name nor what lies beside a folder is in the way.
    world.write("project.txt", "");
    // A build that could reach the user's repository could change it.
    world.change(
        "server.toml",
        "steps = [",
        "steps = [{ shell = 'echo made > made; test ! -f .git' }, ",
    );
    let folders = [".base", "project"].map(|name| world.path().join(name));
    let before = folders.each_ref().map(|folder| everything(folder));
    let ended = compare(&world, &["./.base", "./project", "--format", "json"]).expect(1);
    let told: serde_json::Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!(
        told[0]["names"],
        serde_json::json!(["./.base", "./project"])
    );
    assert_eq!(told[0]["step"]["verdict"], "regression");
    assert_eq!(folders.each_ref().map(|folder| everything(folder)), before);
}

#[test]
fn a_project_held_against_itself_is_built_once_whatever_harness_writes_there() {
    let world = project(0);
    world.write("turns", "0\n");
    let arguments = [".", ".", "--format", "json", "--sessions", "3"];
    for _ in 0..2 {
        let ended = compare(&world, &arguments);
        assert!(ended.stdout.contains("\". again\""), "{}", ended.stderr);
    }
    let journals = everything(&world.path().join("reports/data/server-compare"));
    let keys = journals.values().flat_map(|journal| {
        let records = journal.split(|byte| *byte == b'\n');
        let records = records.filter(|line| !line.is_empty());
        let records = records.map(|line| serde_json::from_slice(line).unwrap());
        let builds = records.filter(|record: &serde_json::Value| record["record"] == "build");
        builds.map(|build| build["artifact"]["key"].as_str().unwrap().to_owned())
    });
    let keys: Vec<String> = keys.collect();
    assert_eq!(keys.len(), 4);
    assert!(keys.iter().all(|key| *key == keys[0]), "{keys:?}");
}
