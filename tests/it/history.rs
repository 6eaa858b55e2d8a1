//! `harness history` on journals that the test writes.

use harness::journal::{BuildRecord, Built, Record, SCHEMA};
use harness::outcome::{Gap, GapKind};
use serde_json::{Value, json};

use crate::world::World;

/// A real journal, whose records are taken as patterns.
const PATTERN: &str = include_str!("../data/journal-1.jsonl");

/// Newest first, as it was published; a gap has no figure.
const PUBLISHED: &str = include_str!("../data/node-2012.csv");

/// Returns a record of the pattern of which this holds.
fn pattern(holds: impl Fn(&Value) -> bool) -> Value {
    let records = PATTERN
        .lines()
        .map(|line| serde_json::from_str(line).unwrap());
    records.into_iter().find(holds).unwrap()
}

/// A run that is to be written down.
pub(crate) struct Told {
    header: Value,
    pub(crate) records: Vec<Value>,
}

impl Told {
    /// Begins a run of these versions on a day of November 2026.
    pub(crate) fn new(day: usize, versions: &[&str]) -> Self {
        let mut header = pattern(|record| record["record"] == "header");
        let cells = versions.iter();
        let cells: Vec<Value> = cells
            .map(|name| json!({ "id": name, "version": { "name": name } }))
            .collect();
        header["schema"] = json!(SCHEMA);
        header["run"] = json!(format!("202611{day:02}T020000Z-lab-0001"));
        header["started"] = json!(format!("2026-11-{day:02}T02:00:00Z"));
        header["order"] = json!("listed");
        header["cells"] = json!(cells);
        let records = Vec::new();
        Self { header, records }
    }

    /// Adds a session in which the cells gave so many answers per second.
    fn session(&mut self, design: &str, rates: &[(usize, f64)]) {
        let mut session = pattern(|record| record["design"] == "solo");
        let sample = session["launches"][0]["sample"].clone();
        let launch = |(cell, rate): &(usize, f64)| {
            let mut sample = sample.clone();
            let seconds = sample["load"]["seconds"].as_f64().unwrap();
            let answers = format!("{:.0}", rate * seconds);
            sample["load"]["answers"] = json!(answers.parse::<u64>().unwrap());
            sample["resources"]["cpu_seconds"] = json!(1.0);
            json!({ "cell": cell, "sample": sample })
        };
        session["index"] = json!(self.records.len());
        session["design"] = json!(design);
        session["launches"] = rates.iter().map(launch).collect();
        session["windows"] = json!([]);
        self.records.push(session);
    }

    /// Adds a solo trial of each cell and five races of all of them.
    pub(crate) fn nightly(&mut self, rates: &[f64]) {
        let all = |shift: usize| -> Vec<(usize, f64)> {
            let noise = [0.003, -0.002, 0.001, -0.004, 0.002, 0.004, -0.003];
            let noise = |cell: usize| 1.0 + noise[(3 * cell + shift) % noise.len()];
            let cells = rates.iter().enumerate();
            cells
                .map(|(cell, rate)| (cell, rate * noise(cell)))
                .collect()
        };
        let day = self.header["started"].as_str().unwrap()[8..10]
            .parse()
            .unwrap();
        for one in all(day) {
            self.session("solo", &[one]);
        }
        (0..5).for_each(|race| self.session("race", &all(day * 5 + race)));
    }

    /// Writes it down as a run that has ended.
    pub(crate) fn write(mut self, world: &World) {
        self.records
            .push(pattern(|record| record["record"] == "summary"));
        self.write_unfinished(world);
    }

    fn write_unfinished(self, world: &World) {
        let mut lines = vec![self.header.to_string()];
        lines.extend(self.records.iter().map(ToString::to_string));
        let name = self.header["run"].as_str().unwrap();
        world.write(
            &format!("reports/data/node/{name}.jsonl"),
            &(lines.join("\n") + "\n"),
        );
    }
}

const VERSIONS: [&str; 4] = ["1.0.0", "1.1.0", "1.2.0", "1.3.0"];

/// Writes the run of a day, with what the truth makes of each version's 8,000 answers per second.
fn write_night(world: &World, day: usize, truth: impl Fn(usize) -> f64) {
    let mut told = Told::new(day, &VERSIONS);
    let rates: Vec<f64> = (0..VERSIONS.len())
        .map(|cell| 8000.0 * truth(cell))
        .collect();
    told.nightly(&rates);
    told.write(world);
}

#[test]
fn a_slower_machine_and_a_slower_version_are_told_apart_with_their_days() {
    let world = World::new();
    for day in 1..=18 {
        let machine = if day >= 12 { 0.88 } else { 1.0 };
        let own = if day >= 8 { 0.94 } else { 1.0 };
        write_night(&world, day, |cell| {
            machine * if cell == 2 { own } else { 1.0 }
        });
    }
    let ended = world.run(&["history", "node.toml"]).expect(1);
    for line in [
        "the machine got 12.0 % slower on 2026-11-12 (11 runs before, 7 since, p ",
        "1.2.0 got 6.0 % slower on 2026-11-08 against the others, though it is the same version (7 runs before, 11 since, ",
    ] {
        assert!(ended.stdout.contains(line), "{}", ended.stdout);
    }
    assert!(!ended.stdout.contains("suspect:"), "{}", ended.stdout);
    assert_eq!(ended.stderr, "");
    let table: Vec<&str> = ended.stdout.lines().skip(3).take(6).collect();
    assert_eq!(
        table,
        [
            "machine  ███████████▁▁▁▁▁▁▁",
            "version                      fetches/sec  runs    change",
            "1.0.0    ▅▄▄▄▅▄▄▅▅▄▄▅▄▅▅▅▅▄         7994    18         -",
            "1.1.0    ▄▄▅▄▄▄▅▅▄▅▅▅▅▅▄▄▅▄         7997    18         -",
            "1.2.0    ███████▄▄▄▄▄▄▄▅▄▄▅         7522    18    -6.0 %",
            "1.3.0    ▄▅▄▅▄▅▄▄▅▅▅▄▅▄▄▅▄▅         7996    18         -",
        ]
    );
    let markdown = world
        .run(&["history", "node.toml", "--format", "md"])
        .expect(1);
    assert!(
        markdown.stdout.contains("| 1.2.0 | `"),
        "{}",
        markdown.stdout
    );
    let json = world
        .run(&["history", "node.toml", "1.3.0", "--format", "json"])
        .expect(0);
    let json: Value = serde_json::from_str(&json.stdout).unwrap();
    assert_eq!(json["versions"].as_array().unwrap().len(), 1);
    assert_eq!(json["changes"][0]["of"], "machine");
}

#[test]
fn the_days_and_the_number_of_runs_can_be_bounded() {
    let world = World::new();
    (1..=6).for_each(|day| write_night(&world, day, |_| 1.0));
    let runs = |arguments: &[&str]| {
        let ended = world.run(&[&["history", "node.toml", "--format", "json"], arguments].concat());
        let json: Value = serde_json::from_str(&ended.expect(0).stdout).unwrap();
        json["nights"].as_array().unwrap().len()
    };
    assert_eq!(runs(&[]), 6);
    assert_eq!(runs(&["--since", "2026-11-03"]), 4);
    assert_eq!(runs(&["--last", "3"]), 3);
    let ended = world
        .run(&["history", "node.toml", "--since", "2026-12-01"])
        .expect(128);
    assert!(
        ended
            .stderr
            .contains("all of its runs began before the day that `--since` names")
    );
    let ended = world
        .run(&["history", "node.toml", "--since", "yesterday"])
        .expect(129);
    assert!(
        ended.stderr.contains("write it as in 2026-11-30"),
        "{}",
        ended.stderr
    );
}

#[test]
fn what_may_not_be_compared_is_named_and_never_mixed() {
    let world = World::new();
    (3..=7).for_each(|day| write_night(&world, day, |_| 1.0));
    let mut machine = Told::new(1, &VERSIONS);
    machine.header["machine"]["class"] = json!("another");
    machine.header["machine"]["kernel"] = json!("5.4.0");
    machine.nightly(&[4000.0; 4]);
    machine.write(&world);
    let mut load = Told::new(2, &VERSIONS);
    load.header["workload_key"] = json!("another");
    load.nightly(&[2000.0; 4]);
    load.write(&world);
    Told::new(8, &VERSIONS).write_unfinished(&world);
    world.write(
        "reports/data/node/20261109T020000Z-lab-0001.jsonl",
        "not a journal\n",
    );
    let ended = world.run(&["history", "node.toml"]).expect(0);
    assert!(
        ended.stdout.contains("5 runs, 2026-11-03 to 2026-11-07;"),
        "{}",
        ended.stdout
    );
    for line in [
        "note: 1 run left out, another machine than that of the newest run (kernel 5.4.0 in place of ",
        "note: 1 run left out, another load, check or generator than the newest run: 20261102T020000Z-lab-0001.",
        "note: 1 run left out, not ended: 20261108T020000Z-lab-0001.",
        "note: 1 run left out, the journal cannot be read (",
        "): 20261109T020000Z-lab-0001.jsonl.",
        "No change is seen.",
    ] {
        assert!(ended.stdout.contains(line), "{line} in {}", ended.stdout);
    }
}

#[test]
fn one_run_alone_decides_nothing() {
    let world = World::new();
    write_night(&world, 1, |_| 1.0);
    let ended = world.run(&["history", "node.toml"]).expect(125);
    assert!(
        ended
            .stdout
            .contains("note: there is only one run to look at"),
        "{}",
        ended.stdout
    );
    assert!(
        ended
            .stdout
            .contains("`harness run matrices/node.toml` makes another")
    );
}

#[test]
fn what_cannot_be_answered_says_what_to_do() {
    let world = World::new();
    world.write_faults(&["steady"], "");
    let ended = world.run(&["history", "faults.toml"]).expect(128);
    assert!(
        ended.stderr.contains("there is no journal of faults yet"),
        "{}",
        ended.stderr
    );
    let ended = world.run(&["history", "a.toml", "b.toml"]).expect(129);
    assert!(
        ended.stderr.contains("several are named"),
        "{}",
        ended.stderr
    );
    Told::new(2, &VERSIONS).write_unfinished(&world);
    world.write(
        "reports/data/node/20261101T020000Z-lab-0001.jsonl",
        "no journal\n",
    );
    let ended = world.run(&["history", "node.toml"]).expect(128);
    for line in [
        "no run of node can be looked at",
        "because: 20261102T020000Z-lab-0001 has not ended",
        "because: 20261101T020000Z-lab-0001.jsonl: ",
        "try: harness run node.toml",
    ] {
        assert!(ended.stderr.contains(line), "{line} in {}", ended.stderr);
    }
    write_night(&world, 3, |_| 1.0);
    let ended = world.run(&["history", "node.toml", "1.2.1"]).expect(129);
    assert!(
        ended
            .stderr
            .contains("there is no version 1.2.1 in any run"),
        "{}",
        ended.stderr
    );
    assert!(
        ended.stderr.contains("try: harness history '1.2.0'"),
        "{}",
        ended.stderr
    );
}

/// Makes a run of the published figures, one solo trial of each version.
fn published() -> Told {
    let rows: Vec<Vec<&str>> = PUBLISHED
        .lines()
        .skip(1)
        .map(|line| line.split(',').collect())
        .collect();
    let names: Vec<&str> = rows.iter().rev().map(|row| row[0]).collect();
    let mut told = Told::new(1, &names);
    told.header["sessions"] = json!({ "count": 1, "group": 2, "solo": 1, "design": "race" });
    for (cell, row) in rows.iter().rev().enumerate() {
        if let Ok(rate) = row[2].parse() {
            told.session("solo", &[(cell, rate)]);
        } else {
            let outcome = Built::Gap(Gap::new(GapKind::Failed, "it did not compile or start"));
            let record = Record::Build(BuildRecord { cell, outcome });
            told.records.push(serde_json::to_value(record).unwrap());
        }
    }
    told
}

#[test]
fn the_published_series_gives_suspects_and_the_commands_that_would_decide() {
    let world = World::new();
    published().write(&world);
    let ended = world
        .run(&["history", "node.toml", "--format", "json"])
        .expect(125);
    let json: Value = serde_json::from_str(&ended.stdout).unwrap();
    let suspects = json["suspects"].as_array().unwrap();
    let of = |shape: &str| -> Vec<&str> {
        let suspects = suspects.iter().filter(|one| one["shape"] == shape);
        suspects
            .map(|one| one["version"].as_str().unwrap())
            .collect()
    };
    assert_eq!(of("step"), ["0.1.94", "0.3.1", "0.3.6", "0.5.6", "0.5.10"]);
    assert_eq!(of("single"), ["0.4.8"]);
    // Five versions have no figure; they are skipped and not filled.
    assert_eq!(json["versions"].as_array().unwrap().len(), 60);
    assert_eq!(suspects[1]["before"], "0.2.6");
    let ended = world.run(&["history", "node.toml"]).expect(125);
    assert!(
        ended.stdout.contains(
            "`harness run matrices/node.toml 0.1.93..0.1.94 --sessions 8` would decide it."
        ),
        "{}",
        ended.stdout
    );
    assert!(
        ended.stdout.contains("suspect: 0.4.8 alone is "),
        "{}",
        ended.stdout
    );
    assert!(ended.stdout.contains("0.4.7..0.4.9"), "{}", ended.stdout);
}
