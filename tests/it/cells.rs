//! Cells that are not like the others: overridden, included, excluded, or with a build that they share.

use crate::world::{Ended, World};

/// Five versions in two lines, of which the old line builds only with a variable set. Nothing is compiled.
const LINES: &str = r#"schema = 2
title = "two lines"

[source]
versions = ["0.1.0", "0.2.0", "1.0.0", "1.1.0", "2.0.0-rc.1"]
order = "semver"
[source.list]

[axes]
mode = { values = ["fast", "safe"] }

[build]
steps = [
  { shell = 'case "$HARNESS_VERSION$OLD" in 0.*yes | [1-9]*) ;; *) echo "error: an old interface"; exit 1 ;; esac' },
  { shell = 'echo "$HARNESS_VERSION $OLD" >> "$XDG_CACHE_HOME/built.txt"' },
]

[start]
cmd = ["server", "{axis.mode}"]

[[override]]
versions = "<1"
build.env = { OLD = "yes" }

[[override]]
versions = "^3"
build.env = { NEW = "yes" }

[[include]]
version = "1.1.0"
axes.mode = "odd"

[[exclude]]
versions = ["1.1.0"]
axes.mode = ["fast", "safe"]
reason = "1.1.0 is broken"
"#;

fn lines(text: &str) -> Vec<&str> {
    text.lines().collect()
}

#[test]
fn check_says_of_each_cell_what_is_special_about_it() {
    let world = World::new();
    world.write("lines.toml", LINES);
    let ended = world.run(&["check", "lines.toml"]).expect(0);
    let said = ended.stdout.replace(world.path().to_str().unwrap(), "");
    insta::assert_snapshot!(said, @r"
    /lines.toml: two lines
    warning: `[[override]]` of line 25 matches nothing: none of these versions is measured
      in   0.1.0 mode=fast  (with `[[override]]` of line 21)
      in   0.2.0 mode=fast  (with `[[override]]` of line 21)
      in   1.0.0 mode=fast
      in   1.1.0 mode=fast  (excluded, will be a gap: 1.1.0 is broken)
      in   2.0.0-rc.1 mode=fast
      in   0.1.0 mode=safe  (with `[[override]]` of line 21)
      in   0.2.0 mode=safe  (with `[[override]]` of line 21)
      in   1.0.0 mode=safe
      in   1.1.0 mode=safe  (excluded, will be a gap: 1.1.0 is broken)
      in   2.0.0-rc.1 mode=safe
      in   1.1.0 mode=odd  (with `[[include]]` of line 29)
    11 cells in, 0 versions out
    ");
    let ended = world.run(&["list", "lines.toml"]).expect(0);
    assert_eq!(
        lines(&ended.stdout)[3]
            .split_whitespace()
            .collect::<Vec<_>>(),
        ["1.1.0", "mode=fast", "excluded"]
    );
}

#[test]
fn an_override_repairs_a_stretch_and_cells_that_differ_only_at_their_start_share_a_build() {
    let world = World::new();
    world.write("lines.toml", LINES);
    // A step can write there and leave word of itself.
    let caches = world.path().join("caches");
    let harness_builds = |more: &[&str]| {
        let mut harness = world.harness(&[&["build", "lines.toml"], more].concat());
        Ended::of(harness.env("XDG_CACHE_HOME", &caches).output().unwrap())
    };
    let ended = harness_builds(&[]).expect(0);
    let said: Vec<&str> = ended.stdout.lines().map(str::trim_end).collect();
    insta::assert_snapshot!(said.join("\n"), @r"
    built  0.1.0 mode=fast
    built  0.2.0 mode=fast
    built  1.0.0 mode=fast
    gap    1.1.0 mode=fast  plan: excluded: 1.1.0 is broken
    built  2.0.0-rc.1 mode=fast
    built  0.1.0 mode=safe
    built  0.2.0 mode=safe
    built  1.0.0 mode=safe
    gap    1.1.0 mode=safe  plan: excluded: 1.1.0 is broken
    built  2.0.0-rc.1 mode=safe
    built  1.1.0 mode=odd
    ");
    let built = std::fs::read_to_string(caches.join("built.txt")).unwrap();
    let mut built = lines(&built);
    built.sort_unstable();
    let expected = ["0.1.0 yes", "0.2.0 yes", "1.0.0 ", "1.1.0 ", "2.0.0-rc.1 "];
    assert_eq!(built, expected, "one line for each version");
    let log = world.run(&["log", "0.1.0 mode=safe", "--matrix", "lines.toml"]);
    assert!(log.expect(0).stdout.contains("built.txt"));

    world.change("lines.toml", "OLD = \"yes\"", "OLD = \"no\"");
    let ended = harness_builds(&["<1"]).expect(125);
    let gap = "gap    0.1.0 mode=fast  build: failed";
    assert!(ended.stdout.contains(gap), "{}", ended.stdout);
}

#[test]
fn a_run_goes_across_excluded_cells_and_starts_each_server_in_its_own_way() {
    let world = World::new();
    let special = r#"
[axes]
way = { values = ["plain"] }

[[override]]
versions = ["wrong_body"]
build.steps = [["rustc", "--edition=2024", "-o", "{out}/server", "{matrix_dir}/fault.rs"]]

[[override]]
axes.way = "shell"
start.cmd = { shell = 'touch "$HARNESS_MATRIX_DIR/by-shell"; exec "$HARNESS_BINARY" "$HARNESS_PORT"' }

[[include]]
version = "wrong_body"
axes.way = "shell"

[[exclude]]
versions = ["answers_500"]
reason = "known to be broken"

[sessions]
count = 3
solo = 1
[verdict]
confirm = false
"#;
    world.write_faults(&["steady", "answers_500", "wrong_body"], special);
    let ended = world.run(&["run", "faults.toml"]);
    assert!(matches!(ended.code, Some(0 | 1 | 125)), "{ended:?}");
    let records = world.records("faults");
    let is = |kind: &'static str| records.iter().filter(move |it| it["record"] == kind);
    let gaps: Vec<_> = is("build").filter(|it| it["gap"].is_object()).collect();
    assert_eq!(gaps.len(), 1, "{gaps:?}");
    assert_eq!(gaps[0]["gap"]["kind"], "excluded");
    assert_eq!(gaps[0]["gap"]["class"], "policy");
    assert_eq!(gaps[0]["gap"]["cause"], "known to be broken");
    let pairs: Vec<_> = is("verdict").map(|it| it["pair"].clone()).collect();
    let expected = serde_json::json!([{"baseline": 0, "candidate": 2, "skipped": [1]}]);
    assert_eq!(serde_json::json!(pairs), expected);
    assert_eq!(is("gap").count(), 0, "{}", ended.stderr);
    assert!(world.path().join("by-shell").is_file());
}

#[test]
fn a_table_for_no_cell_is_warned_of_and_a_wrong_one_is_shown_with_its_place() {
    let world = World::new();
    world.write("lines.toml", LINES);
    let ended = world.run(&["check", "lines.toml"]).expect(0);
    let warning = "warning: `[[override]]` of line 25 matches nothing";
    assert!(ended.stdout.contains(warning), "{}", ended.stdout);
    world.change(
        "lines.toml",
        "build.env = { NEW",
        "load.connections = 1\nbuild.evn = { NEW",
    );
    let ended = world.run(&["check", "lines.toml"]).expect(128);
    for part in [
        "lines.toml:27:1",
        "cannot change `load`",
        "did you mean `env`?",
        "^^^",
    ] {
        assert!(ended.stderr.contains(part), "{part}: {}", ended.stderr);
    }
}
