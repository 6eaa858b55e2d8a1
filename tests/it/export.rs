//! `harness export`, read again by Python's own readers where a format has one there.

use std::process::Command;

use harness::journal::{BuildRecord, Built, Record};
use harness::outcome::{Gap, GapKind};
use serde_json::{Value, json};

use crate::history::Told;
use crate::world::{Ended, World};

/// What versions are called by those who mean harm, and by those who do not know better.
const NAMES: [&str; 21] = [
    "1.0.0",
    "a,b;c",
    "say \"hi\" and 'ho'",
    "two\nlines",
    "\r\n",
    "tab\there",
    "nul\0byte",
    "\u{1b}[31mred\u{1b}[0m",
    "<script>alert('x')</script>",
    "]]><!--",
    "&amp;&#10;",
    "back\\slash\\",
    "`pipe` | pipe",
    "100%0Adone",
    "::error file=a,title=b::c",
    "=1+1",
    "é\u{2028}😀\u{85}!",
    "\u{fffe}",
    "# EOF",
    "BenchmarkSolo 1 1 answers/s",
    "2.0.0",
];

/// Writes down a run of these versions in which the last one is slower, and one more that is a gap.
fn write_run(world: &World) {
    let gap = [NAMES.as_slice(), &["gap"]].concat();
    let mut told = Told::new(1, &gap);
    let mut rates = [8000.0; NAMES.len()];
    rates[NAMES.len() - 1] = 6000.0;
    told.nightly(&rates);
    let outcome = Built::Gap(Gap::new(GapKind::Failed, NAMES.concat()));
    let record = Record::Build(BuildRecord {
        cell: NAMES.len(),
        outcome,
    });
    told.records.push(serde_json::to_value(record).unwrap());
    told.write(world);
}

/// Returns the file of a format.
fn export(world: &World, format: &str) -> String {
    let file = format!("out/{format}");
    let ended = world.run(&["export", format, "node.toml", "-o", &file]);
    assert_eq!(ended.expect(0).stdout, "");
    let text = std::fs::read_to_string(world.path().join(file)).unwrap();
    assert!(text.ends_with('\n'), "{text}");
    text
}

/// Returns what a program in Python prints of files, as JSON.
fn python(world: &World, program: &str, files: &[&str]) -> Value {
    let mut command = Command::new("python3");
    command.args(["-c", program]).args(files);
    let output = command.current_dir(world.path().join("out")).output();
    serde_json::from_str(&Ended::of(output.unwrap()).expect(0).stdout).unwrap()
}

/// Returns a name as a format has it that cannot hold every character.
fn legible(name: &str) -> String {
    name.replace(['\0', '\u{1b}', '\u{fffe}'], "\u{fffd}")
}

#[test]
fn tables_are_what_pythons_reader_reads() {
    let world = World::new();
    write_run(&world);
    let formats = ["csv", "csv-steps", "otava"];
    for format in formats {
        export(&world, format);
    }
    let program = "import csv, json, sys\n\
                   read = lambda name: list(csv.DictReader(open(name, newline='', encoding='utf-8'), strict=True))\n\
                   print(json.dumps([read(name) for name in sys.argv[1:]]))";
    let read = python(&world, program, &formats);
    let column = |table: usize, column: &str| -> Vec<String> {
        let rows = read[table].as_array().unwrap().iter();
        let text = rows.map(|row| row[column].as_str().unwrap().to_owned());
        text.collect()
    };
    let names = NAMES.map(legible);
    assert_eq!(column(0, "version")[..NAMES.len()], names);
    assert_eq!(
        column(0, "gap_cause")[NAMES.len()],
        legible(&NAMES.concat())
    );
    assert_eq!(column(0, "answers_per_second")[NAMES.len()], "");
    assert_eq!(column(1, "candidate"), names[1..]);
    let last = column(1, "verdict").pop();
    assert_eq!(last.as_deref(), Some("regression"));
    assert_eq!(column(2, "version"), names);
    assert_eq!(column(2, "time")[20], "2026-11-01 02:00:20 +0000");
}

#[test]
fn junit_is_what_pythons_reader_of_xml_reads() {
    let world = World::new();
    write_run(&world);
    export(&world, "junit");
    let program = "import json, sys, xml.etree.ElementTree as tree\n\
                   suite = tree.parse(sys.argv[1]).getroot()[0]\n\
                   cases = [[case.get('name'), case[0].tag, case[0].get('message')] for case in suite]\n\
                   print(json.dumps([suite.attrib, cases]))";
    let read = python(&world, program, &["junit"]);
    let cases = read[1].as_array().unwrap();
    assert_eq!(read[0]["tests"], json!(cases.len().to_string()));
    assert_eq!(
        (&read[0]["failures"], &read[0]["errors"]),
        (&json!("1"), &json!("0"))
    );
    assert_eq!(cases.len(), NAMES.len());
    for (case, pair) in cases.iter().zip(NAMES.windows(2)) {
        let name = format!("{} → {}", pair[0].trim_end(), pair[1].trim_end());
        assert_eq!(case[0], json!(legible(&name)));
    }
    assert_eq!(cases[19][1], "failure");
    let gap = format!("build: failed: {}", legible(&NAMES.concat()));
    assert_eq!(cases[20], json!(["gap", "skipped", gap]));
}

#[test]
fn what_is_json_names_each_measured_version() {
    let world = World::new();
    write_run(&world);
    let read = |format| serde_json::from_str::<Value>(&export(&world, format)).unwrap();
    let bencher = read("bencher");
    assert_eq!(bencher.as_object().unwrap().len(), NAMES.len());
    assert!(
        bencher["node 2.0.0"]["throughput"]["value"].is_f64(),
        "{bencher}"
    );
    let entries = read("github-action-benchmark");
    assert_eq!(entries.as_array().unwrap().len(), NAMES.len());
    assert_eq!(entries[0]["name"], "node 1.0.0");
}

#[test]
fn formats_of_lines_have_one_for_each_thing_whatever_it_is_called() {
    let world = World::new();
    write_run(&world);
    let annotations = export(&world, "github-annotations");
    let starts: Vec<&str> = annotations
        .split_inclusive('\n')
        .map(|line| &line[..8])
        .collect();
    assert_eq!(starts, ["::error ", "::notice"]);
    let metrics = export(&world, "openmetrics");
    let of_levels = |line: &&str| line.starts_with("harness_answers_per_second{");
    assert_eq!(metrics.split('\n').filter(of_levels).count(), NAMES.len());
    assert!(metrics.ends_with("\n# EOF\n"));
    let text = export(&world, "benchstat");
    let of_versions = |line: &&str| line.starts_with("version: ");
    assert_eq!(text.split('\n').filter(of_versions).count(), NAMES.len());
    let of_loads = |line: &&str| line.starts_with("Benchmark");
    // A solo trial of each and five races.
    assert_eq!(text.split('\n').filter(of_loads).count(), 6 * NAMES.len());
}

#[test]
fn without_a_file_it_goes_to_stdout_and_without_a_journal_it_says_so() {
    let world = World::new();
    world.write_faults(&["steady"], "");
    let ended = world.run(&["export", "csv", "faults.toml"]).expect(128);
    assert!(
        ended.stderr.contains("there is no journal of faults yet"),
        "{}",
        ended.stderr
    );
    write_run(&world);
    let ended = world.run(&["export", "csv", "node.toml"]).expect(0);
    assert!(
        ended.stdout.starts_with("run,started,matrix,cell,"),
        "{}",
        ended.stdout
    );
    let ended = world.run(&["export", "excel"]).expect(129);
    assert!(ended.stderr.contains("csv-steps"), "{}", ended.stderr);
}
