//! What is wrong is said: what, where, why, and what to do; with the exit code of the table.

use std::net::TcpListener;

use crate::world::World;

const SESSIONS: &str = "[sessions]\ncount = 3\nsolo = 1";

#[test]
fn wrong_toml_is_shown_with_file_line_column_and_caret() {
    let world = World::new();
    world.write("broken.toml", "schema = 1\ntitle = \"open\nstart = 3\n");
    let ended = world.run(&["check", "broken.toml"]).expect(128);
    assert!(ended.stderr.contains("broken.toml:2:"), "{}", ended.stderr);
    assert!(ended.stderr.contains('^'), "{}", ended.stderr);
}

#[test]
fn unknown_keys_are_all_shown_with_what_was_probably_meant() {
    let world = World::new();
    let file = world.write_faults(&["steady"], "[sesions]\ncount = 3");
    let text = std::fs::read_to_string(&file)
        .unwrap()
        .replace("connections =", "conections =");
    std::fs::write(&file, text).unwrap();
    let ended = world.run(&["run", "faults.toml"]).expect(128);
    assert!(
        ended.stderr.contains("did you mean `sessions`?"),
        "{}",
        ended.stderr
    );
    assert!(
        ended.stderr.contains("did you mean `connections`?"),
        "{}",
        ended.stderr
    );
}

#[test]
fn a_matrix_that_is_not_there_is_named() {
    let world = World::new();
    let ended = world.run(&["run", "nowhere.toml"]).expect(128);
    assert!(ended.stderr.contains("nowhere.toml"), "{}", ended.stderr);
    assert!(ended.stderr.contains("try:"), "{}", ended.stderr);
}

#[test]
fn without_any_matrix_it_says_how_to_name_one() {
    let world = World::new();
    let ended = world.run(&["run"]).expect(128);
    assert!(ended.stderr.contains("harness run"), "{}", ended.stderr);
}

#[test]
fn wrong_usage_has_its_own_code_that_git_bisect_stops_at() {
    let world = World::new();
    world.run(&["runn"]).expect(129);
    world.run(&["run", "--sessions", "none"]).expect(129);
    world.run(&["--help"]).expect(0);
}

#[test]
fn a_selection_of_nothing_says_what_there_is() {
    let world = World::new();
    world.write_faults(&["steady", "slow"], "");
    let ended = world
        .run(&["run", "faults.toml", "--last", "0"])
        .expect(129);
    assert!(ended.stderr.contains("nothing to do"), "{}", ended.stderr);
    let ended = world
        .run(&["run", "faults.toml", "--skip", "steady", "--skip", "slow"])
        .expect(128);
    assert!(ended.stderr.contains("steady"), "{}", ended.stderr);
}

#[test]
fn a_range_that_an_order_does_not_take_is_refused_before_anything_is_asked_or_begun() {
    let world = World::new();
    world.write_faults(&["1.0", "1.1"], "");
    world.change(
        "faults.toml",
        "[source]\n",
        "[source]\norder = \"pep440\"\n",
    );
    let ended = world.run(&["run", "faults.toml", "^1"]).expect(129);
    assert!(
        ended.stderr.contains("the order `pep440`"),
        "{}",
        ended.stderr
    );
    assert!(world.journal("faults").is_none());

    world.change("faults.toml", "[\"1.0\", \"1.1\"]", "\"^1\"");
    world.change(
        "faults.toml",
        "[source.list]",
        "[source.list]\ncommand = [\"true\"]",
    );
    let ended = world.run(&["check", "faults.toml"]).expect(128);
    for part in [
        "faults.toml:6:",
        "^^^^",
        "does not begin with",
        "the order `pep440`",
    ] {
        assert!(ended.stderr.contains(part), "{}", ended.stderr);
    }
}

#[test]
fn a_missing_tool_is_the_machines_fault_and_no_gap() {
    let world = World::new();
    let file = world.write_faults(&["steady"], SESSIONS);
    let text = std::fs::read_to_string(&file)
        .unwrap()
        .replace("\"rustc\"", "\"no-such-compiler\"");
    std::fs::write(&file, text).unwrap();
    let ended = world.run(&["run", "faults.toml"]).expect(128);
    assert!(
        ended.stderr.contains("no-such-compiler"),
        "{}",
        ended.stderr
    );
    assert!(ended.stderr.contains("harness doctor"), "{}", ended.stderr);
    assert_eq!(
        world.count("faults", "build"),
        0,
        "nothing is held against the version"
    );
}

#[test]
fn a_folder_that_cannot_be_written_is_named() {
    let world = World::new();
    world.write_faults(&["steady"], SESSIONS);
    // A file where the folder should be: this stops root too, whom permissions do not.
    world.write("reports", "not a folder");
    let ended = world.run(&["run", "faults.toml"]).expect(128);
    assert!(ended.stderr.contains("reports"), "{}", ended.stderr);
    assert!(ended.stderr.contains("try:"), "{}", ended.stderr);

    world.write(
        "elsewhere/harness.toml",
        "schema = 1\nmatrices = [\"../faults.toml\"]\ncache = \"taken\"\n",
    );
    world.write("elsewhere/taken", "not a folder");
    let ended = world
        .run(&["--project", "elsewhere/harness.toml", "run"])
        .expect(128);
    assert!(ended.stderr.contains("taken"), "{}", ended.stderr);
}

#[test]
fn a_fixed_port_that_somebody_holds_stops_the_run_and_blames_no_version() {
    let world = World::new();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let sessions = "[sessions]\ncount = 3\nsolo = 1\ndesign = \"solo\"";
    let file = world.write_faults(&["steady"], sessions);
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(
        &file,
        text.replace("[start]\n", &format!("[start]\nport = {port}\n")),
    )
    .unwrap();
    let ended = world.run(&["run", "faults.toml"]).expect(128);
    assert!(ended.stderr.contains(&port.to_string()), "{}", ended.stderr);
    assert!(ended.stderr.contains("try:"), "{}", ended.stderr);
    assert_eq!(world.count("faults", "session"), 0);
}

#[test]
fn a_fixed_port_and_a_race_do_not_go_together() {
    let world = World::new();
    let file = world.write_faults(&["steady"], SESSIONS);
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, text.replace("[start]\n", "[start]\nport = 8080\n")).unwrap();
    let ended = world.run(&["check", "faults.toml"]).expect(128);
    assert!(
        ended.stderr.contains("design = \"solo\""),
        "{}",
        ended.stderr
    );
}

#[test]
fn two_at_once_are_refused_by_the_lock() {
    let world = World::new();
    world.write_faults(&["steady", "steady_again"], SESSIONS);
    let mut first = world.start(&["run", "faults.toml"]);
    crate::world::until("the first run measures", || {
        world.count("faults", "session") >= 1
    });
    let ended = world.run(&["run", "faults.toml"]).expect(128);
    assert!(ended.stderr.contains("another Harness"), "{}", ended.stderr);
    crate::world::send(&first, rustix::process::Signal::TERM);
    first.wait().unwrap();
}

#[test]
fn an_unknown_cell_gets_the_nearest_name() {
    let world = World::new();
    world.write_faults(&["steady", "build_fail"], SESSIONS);
    world.run(&["run", "faults.toml"]);
    let ended = world
        .run(&["log", "--matrix", "faults.toml", "buid_fail"])
        .expect(129);
    assert!(ended.stderr.contains("build_fail"), "{}", ended.stderr);
    let ended = world
        .run(&["log", "--matrix", "faults.toml", "build_fail"])
        .expect(0);
    assert!(
        ended.stdout.contains("this version does not build"),
        "{}",
        ended.stdout
    );
}

#[test]
fn the_verbs_that_look_work_on_a_finished_run() {
    let world = World::new();
    world.write_faults(&["steady", "build_fail", "slow"], SESSIONS);
    world.run(&["run", "faults.toml"]);
    let list = world.run(&["list", "faults.toml"]).expect(0);
    assert!(
        list.stdout.contains("gap: build: failed"),
        "{}",
        list.stdout
    );
    assert!(list.stdout.contains("measured in"), "{}", list.stdout);
    let check = world.run(&["check", "faults.toml", "slow"]).expect(0);
    assert!(check.stdout.contains("out  steady"), "{}", check.stdout);
    for format in ["human", "json", "md"] {
        let report = world.run(&["report", "faults.toml", "--format", format]);
        assert!(
            report.stdout.contains("build_fail"),
            "{format}: {}",
            report.stdout
        );
    }
    let json = world.run(&["report", "faults.toml", "--format", "json"]);
    serde_json::from_str::<serde_json::Value>(&json.stdout).unwrap();
    let release = ["report", "faults.toml", "--style", "release"];
    let notes = world.run(&release).stdout;
    assert!(notes.contains("<summary>Repeat this</summary>"), "{notes}");
    world
        .run(&[&release[..], &["--format", "json"]].concat())
        .expect(129);
    for (more, said) in [
        (["--from", "steddy"], "has no version `steddy`"),
        (["--from", "build_fail"], "no pairs lead from build_fail"),
    ] {
        let ended = world.run(&[&release[..], &more[..]].concat()).expect(129);
        assert!(ended.stderr.contains(said), "{}", ended.stderr);
    }
    let full = ["report", "faults.toml", "--to", "steady"];
    world.run(&full).expect(129);
    let reports = world.path().join("reports");
    let text = std::fs::read_to_string(reports.join("faults.md")).unwrap();
    assert!(text.contains("](faults-series.svg)"), "{text}");
    let chart = std::fs::read_to_string(reports.join("faults-series.svg")).unwrap();
    assert!(chart.contains("build_fail: build failed"), "{chart}");
}

#[test]
fn a_start_command_that_is_no_tool_of_the_machine_blames_no_version() {
    let world = World::new();
    world.write_faults(&["steady"], SESSIONS);
    world.change(
        "faults.toml",
        "cmd = [\"{binary}\"",
        "cmd = [\"no-such-runtime\"",
    );
    let ended = world.run(&["run", "faults.toml"]).expect(128);
    assert!(ended.stderr.contains("no-such-runtime"), "{}", ended.stderr);
    assert_eq!(world.count("faults", "session"), 0);
}

#[test]
fn a_variable_of_the_environment_that_is_missing_is_said_before_anything_is_built() {
    let world = World::new();
    world.write_faults(&["steady"], SESSIONS);
    world.change(
        "faults.toml",
        "\"{port}\"",
        "\"{port}\", \"{env:SURELY_NOT_SET}\"",
    );
    let ended = world.run(&["run", "faults.toml"]).expect(128);
    assert!(ended.stderr.contains("SURELY_NOT_SET"), "{}", ended.stderr);
    assert!(world.journal("faults").is_none(), "nothing was begun");
}

#[test]
fn two_matrices_of_one_name_are_refused() {
    let world = World::new();
    let file = world.write_faults(&["steady"], SESSIONS);
    world.write("other/faults.toml", &std::fs::read_to_string(file).unwrap());
    let ended = world
        .run(&["run", "faults.toml", "other/faults.toml"])
        .expect(129);
    assert!(
        ended.stderr.contains("two matrices are called faults"),
        "{}",
        ended.stderr
    );
}

#[test]
fn a_scratch_folder_of_somebody_else_is_left_alone() {
    let world = World::new();
    world.write_faults(&["steady"], SESSIONS);
    world.write("harness.toml", "schema = 1\ncache = \"shared\"\n");
    let kept = world.write("shared/scratch/kept", "somebody else's");
    world.run(&["run", "faults.toml"]).expect(128);
    assert!(kept.is_file());
}

#[test]
fn a_reader_that_goes_away_does_not_end_a_run() {
    let world = World::new();
    world.write_faults(&["steady", "steady_again"], SESSIONS);
    let mut child = world.start(&["run", "faults.toml"]);
    drop(child.stderr.take());
    drop(child.stdout.take());
    let status = child.wait().unwrap();
    assert!(matches!(status.code(), Some(0 | 1 | 125)), "{status:?}");
    assert_eq!(world.count("faults", "summary"), 1);
}

#[test]
fn the_log_of_a_build_is_there_before_any_run() {
    let world = World::new();
    world.write_faults(&["build_fail", "steady"], SESSIONS);
    world.run(&["build", "faults.toml"]).expect(0);
    let log = world
        .run(&["log", "--matrix", "faults.toml", "build_fail"])
        .expect(0);
    assert!(
        log.stdout.contains("this version does not build"),
        "{}",
        log.stdout
    );
}

#[test]
fn check_says_what_this_machine_lacks() {
    let world = World::new();
    world.write_faults(&["steady"], SESSIONS);
    world.change(
        "faults.toml",
        "inputs = [\"fault.rs\"]",
        "inputs = [\"fault.rs\", \"nowhere\"]",
    );
    world.change(
        "faults.toml",
        "\"{port}\"",
        "\"{port}\", \"{env:SURELY_NOT_SET}\"",
    );
    let ended = world.run(&["check", "faults.toml"]).expect(128);
    assert!(
        ended.stderr.contains("nowhere is not there"),
        "{}",
        ended.stderr
    );
    assert!(
        ended.stderr.contains("SURELY_NOT_SET is not set"),
        "{}",
        ended.stderr
    );
}

#[test]
fn a_file_that_is_not_utf_8_is_told_with_its_line() {
    let world = World::new();
    std::fs::write(
        world.path().join("latin.toml"),
        b"schema = 1\ntitle = \"caf\xe9\"\n",
    )
    .unwrap();
    let ended = world.run(&["check", "latin.toml"]).expect(128);
    assert!(
        ended.stderr.contains("line 2 is not UTF-8"),
        "{}",
        ended.stderr
    );
}

#[test]
fn a_broken_newest_journal_does_not_hide_the_others() {
    let world = World::new();
    world.write_faults(&["steady", "steady_again"], SESSIONS);
    world.run(&["run", "faults.toml"]);
    world.write("reports/data/faults/99990101T000000Z-x-0000.jsonl", "");
    let report = world.run(&["report", "faults.toml"]);
    assert!(report.stdout.contains("# faults"), "{report:?}");
    let list = world.run(&["list", "faults.toml"]).expect(0);
    assert!(list.stdout.contains("measured in"), "{}", list.stdout);
}

#[test]
fn a_number_that_cannot_be_in_a_journal_is_no_panic() {
    let world = World::new();
    world.write_faults(&["steady", "steady_again"], SESSIONS);
    world.run(&["run", "faults.toml"]);
    let path = world.journal("faults").unwrap();
    let text = std::fs::read_to_string(&path).unwrap();
    let odd = regex::Regex::new("\"cpu_seconds\":[0-9.e-]+")
        .unwrap()
        .replace_all(&text, "\"cpu_seconds\":1e-320");
    std::fs::write(&path, odd.as_bytes()).unwrap();
    let report = world.run(&["report", "faults.toml"]);
    assert!(matches!(report.code, Some(0 | 1 | 125)), "{report:?}");
}
