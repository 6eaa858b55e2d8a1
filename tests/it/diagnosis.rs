//! Logs of builds and servers that really failed become gaps of the right stage, kind, cause and advice.
//!
//! Each log in `tests/logs` has a row in `table.toml` there. The step of a build, or the server, writes it and ends, and
//! the real program says what it makes of that.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::PathBuf;

use harness::build::diagnosis::diagnose;
use harness::matrix::parse;
use harness::process::{Ended, Spec};
use harness::serve::{self, Launch, Place};
use proptest::prelude::*;
use serde::Deserialize;
use serde_json::Value;

use crate::world::World;

/// What is expected of one log.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    /// The log's name without its extension.
    log: String,
    /// How it was made, for readers.
    #[serde(rename = "made")]
    _made: String,
    /// Whether a `build` failed or the `start` of a server.
    during: String,
    stage: String,
    kind: String,
    class: String,
    /// How what failed ended: `failed`, `killed` or `hung`.
    #[serde(default = "failed")]
    ended: String,
    /// What kind of cause the log tells; absent where the gap's kind says it all.
    nature: Option<String>,
    /// The first error line.
    first: String,
    /// The cause in the tool's own words.
    says: String,
    /// What it means; absent where that is not sure.
    means: Option<String>,
    /// What could be tried; absent where that is not sure.
    #[serde(rename = "try")]
    hint: Option<String>,
}

fn failed() -> String {
    "failed".to_owned()
}

#[derive(Deserialize)]
struct Table {
    row: Vec<Row>,
}

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/logs")
}

fn rows(during: &str, hung: bool) -> Vec<Row> {
    let text = std::fs::read_to_string(folder().join("table.toml")).unwrap();
    let table: Table = toml::from_str(&text).unwrap();
    table
        .row
        .into_iter()
        .filter(|row| row.during == during && (row.ended == "hung") == hung)
        .collect()
}

/// Returns the matrix whose versions are these logs, with the tables that make them fail.
fn matrix(rows: &[Row], tables: &str) -> String {
    let names: Vec<&str> = rows.iter().map(|row| row.log.as_str()).collect();
    format!(
        "schema = 1\n[source]\nversions = {names:?}\n[source.list]\n[load]\nduration = \"250ms\"\n{tables}"
    )
}

/// Returns a shell's line that writes a version's log and ends as the row says.
fn command(rows: &[Row]) -> String {
    let killed: Vec<&str> = rows
        .iter()
        .filter(|row| row.ended == "killed")
        .map(|row| row.log.as_str())
        .collect();
    let killed = if killed.is_empty() {
        "-".to_owned()
    } else {
        killed.join("|")
    };
    format!(
        r#"{{ shell = 'cat "{}/$HARNESS_VERSION.log"; case "$HARNESS_VERSION" in {killed}) kill -9 $$;; esac; exit 1' }}"#,
        folder().display()
    )
}

fn hanging_command() -> String {
    format!(
        r#"{{ shell = 'cat "{}/$HARNESS_VERSION.log"; exec sleep 600' }}"#,
        folder().display()
    )
}

/// Builds the logs that these rows describe and holds the gaps against them.
fn build(rows: &[Row], command: &str, more: &str) {
    let world = World::new();
    let tables = format!("[build]\nsteps = [{command}]\n{more}\n[start]\ncmd = [\"true\"]\n");
    world.write("logs.toml", &matrix(rows, &tables));
    let ended = world
        .run(&["build", "logs.toml", "--format", "json"])
        .expect(125);
    let gaps = ended.stdout.lines().map(|line| {
        let line: Value = serde_json::from_str(line).unwrap();
        let gap = line["outcome"]["gap"].clone();
        (line["cell"].as_str().unwrap().to_owned(), gap)
    });
    hold(rows, &gaps.collect());
}

/// Starts servers that write the logs that these rows describe and holds the gaps against them.
fn start(rows: &[Row], command: &str, more: &str) {
    let world = World::new();
    let tables = format!("[start]\ncmd = {command}\n{more}\n");
    world.write("logs.toml", &matrix(rows, &tables));
    world.run(&["run", "logs.toml"]).expect(125);
    let given_up = world.records("logs").into_iter();
    let gaps = given_up
        .filter(|record| record["record"] == "gap")
        .map(|record| {
            let cell = usize::try_from(record["cell"].as_u64().unwrap()).unwrap();
            (rows[cell].log.clone(), record["gap"].clone())
        });
    hold(rows, &gaps.collect());
}

/// Returns what is made of a server that wrote the log and ended.
fn exited(row: &Row) -> Value {
    let text = matrix(std::slice::from_ref(row), "[start]\ncmd = [\"true\"]\n");
    let matrix = parse(&text, &folder().join("logs.toml"), None).unwrap();
    let spec = Spec {
        program: "true".to_owned(),
        args: Vec::new(),
        cwd: folder(),
        env: BTreeMap::new(),
        ..Spec::default()
    };
    let address = std::net::SocketAddr::from(([127, 0, 0, 1], 1));
    let launch = Launch {
        instances: vec![Place {
            spec: Some(spec),
            address: address.into(),
        }],
        log: folder().join(format!("{}.log", row.log)),
        ready: &matrix.ready,
        check: &matrix.check,
        workload: &matrix.load,
        stop: (matrix.start.stop_signal, matrix.start.stop_grace),
    };
    serde_json::to_value(serve::exited(&launch, 0, &Ended::Code(1))).unwrap()
}

/// Holds all gaps against their rows, and tells of all that differ at once.
#[track_caller]
fn hold(rows: &[Row], gaps: &BTreeMap<String, Value>) {
    let mut wrong = String::new();
    for row in rows {
        let gap = &gaps[&row.log];
        let text = |key: &str| gap[key].as_str().unwrap_or_default().to_owned();
        let found = (text("stage"), text("kind"), text("class"));
        let wanted = (row.stage.clone(), row.kind.clone(), row.class.clone());
        let is_right = found == wanted
            && text("cause").contains(&row.says)
            && (row.means.iter()).all(|means| text("cause").ends_with(&format!("; {means}")))
            && (row.nature.iter()).all(|nature| row.says.starts_with(&format!("{nature}: ")))
            && gap["errors"][0].as_str().map(str::trim) == Some(row.first.as_str())
            && gap["hint"].as_str() == row.hint.as_deref();
        if !is_right {
            writeln!(wrong, "{row:#?}\n{gap:#}").unwrap();
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
fn failed_builds_become_the_gaps_of_the_table() {
    let rows = rows("build", false);
    build(&rows, &command(&rows), "");
}

#[test]
fn servers_that_did_not_start_become_the_gaps_of_the_table() {
    let rows = rows("start", false);
    let gaps = rows.iter().map(|row| (row.log.clone(), exited(row)));
    hold(&rows, &gaps.collect());
}

#[test]
fn a_run_records_the_gaps_of_the_table() {
    let mut rows = rows("start", false);
    rows.retain(|row| ["go-port-taken", "node-missing-module"].contains(&row.log.as_str()));
    start(&rows, &command(&rows), "");
}

#[test]
fn a_build_that_does_not_end_becomes_the_gap_of_the_table() {
    let rows = rows("build", true);
    build(&rows, &hanging_command(), "timeout = \"1s\"");
}

#[test]
fn a_server_that_never_listens_becomes_the_gap_of_the_table() {
    let rows = rows("start", true);
    start(&rows, &hanging_command(), "[ready]\ntimeout = \"300ms\"");
}

#[test]
fn every_log_has_a_row_and_every_row_a_log() {
    let logs: BTreeSet<String> = std::fs::read_dir(folder())
        .unwrap()
        .filter_map(|entry| {
            Some(
                entry
                    .unwrap()
                    .file_name()
                    .to_str()?
                    .strip_suffix(".log")?
                    .to_owned(),
            )
        })
        .collect();
    let both = [
        rows("build", false),
        rows("build", true),
        rows("start", false),
        rows("start", true),
    ];
    let named: Vec<String> = both.into_iter().flatten().map(|row| row.log).collect();
    assert_eq!(named.len(), logs.len());
    assert_eq!(named.into_iter().collect::<BTreeSet<_>>(), logs);
}

/// Returns all logs of the table.
fn logs() -> Vec<String> {
    let both = [
        ("build", false),
        ("build", true),
        ("start", false),
        ("start", true),
    ];
    let rows = both
        .into_iter()
        .flat_map(|(during, hung)| rows(during, hung));
    rows.map(|row| std::fs::read_to_string(folder().join(row.log + ".log")).unwrap())
        .collect()
}

#[test]
fn colours_and_overwritten_words_change_nothing() {
    for log in logs() {
        let line = |line| format!("50 %\r\u{1b}[1;31m{line}\u{1b}[0m\r\n");
        let coloured = log.lines().map(line).collect::<Vec<_>>().concat();
        assert_eq!(diagnose(&coloured), diagnose(&log), "{log}");
    }
}

#[test]
fn a_huge_log_is_read_in_reasonable_time() {
    let lines =
        |count: usize, line: &dyn Fn(usize) -> String| -> String { (0..count).map(line).collect() };
    let logs = [
        lines(10_000, &|at| {
            format!("src/file{at}.c:{at}:1: error: ‘thing{at}’ undeclared in this function\n")
        }),
        lines(10_000, &|at| {
            format!("KeyError: '{at}'\n\nDuring handling of the above exception, another one\n")
        }),
        "error: ".repeat(600_000),
        "\n".repeat(1 << 20),
    ];
    let begun = std::time::Instant::now();
    for log in &logs {
        assert!(diagnose(log).errors.len() <= 5);
    }
    // What grows with the square of the lines would take hours.
    assert!(begun.elapsed() < std::time::Duration::from_mins(2));
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn lines_of_real_logs_in_any_order_give_short_lines(picks in prop::collection::vec(any::<prop::sample::Index>(), 0..40)) {
        let logs = logs().concat();
        let lines: Vec<&str> = logs.lines().collect();
        let mixed: Vec<&str> = picks.iter().map(|pick| *pick.get(&lines)).collect();
        let diagnosis = diagnose(&mixed.join("\n"));
        prop_assert!(diagnosis.errors.len() <= 5);
        prop_assert!(diagnosis.errors.iter().all(|line| line.chars().count() <= 240));
        let line = diagnosis.in_one_line().unwrap_or_default();
        prop_assert!(line.chars().count() <= 240 && !line.contains('\n'), "{}", line);
    }
}

#[test]
fn advice_is_given_wherever_the_gap_is_shown() {
    let world = World::new();
    let mut rows = rows("build", false);
    rows.retain(|row| row.log == "gcc-undefined-reference");
    let tables = format!(
        "[build]\nsteps = [{}]\n[start]\ncmd = [\"true\"]\n",
        command(&rows)
    );
    world.write("logs.toml", &matrix(&rows, &tables));
    let advice = format!("try: {}", rows[0].hint.as_ref().unwrap());
    let built = world.run(&["build", "logs.toml"]).expect(125);
    assert!(built.stdout.contains(&advice), "{built:?}");
    let run = world.run(&["run", "logs.toml"]).expect(125);
    assert!(run.stdout.contains(&advice), "{run:?}");
    let report = std::fs::read_to_string(world.path().join("reports/logs.md")).unwrap();
    assert!(report.replace('\\', "").contains(&advice), "{report}");
    let log = world
        .run(&["log", &rows[0].log, "--matrix", "logs.toml"])
        .expect(0);
    assert!(
        log.stderr.contains(&advice) && !log.stdout.contains(&advice),
        "{log:?}"
    );
}
