//! Published figures come in with every digit, and what is no figure does not.
#![expect(
    clippy::float_cmp,
    reason = "what was printed must come in to the last digit"
)]

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde_json::Value;

use crate::world::{Ended, World};

fn published(name: &str) -> PathBuf {
    let data = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data");
    data.join("published").join(name)
}

fn files(folder: &str) -> Vec<String> {
    let entries = std::fs::read_dir(published(folder)).unwrap();
    let mut files: Vec<String> = entries
        .map(|entry| entry.unwrap().path().display().to_string())
        .collect();
    files.sort();
    files
}

fn import(world: &World, files: &[String], more: &[&str]) -> Ended {
    let files: Vec<&str> = files.iter().map(String::as_str).collect();
    world.run(&[&["import"], files.as_slice(), more].concat())
}

/// Returns the cells of an import by name.
fn imported(world: &World, files: &[String], more: &[&str]) -> BTreeMap<String, Value> {
    let more = [more, &["--format", "json"]].concat();
    let ended = import(world, files, &more).expect(0);
    let report: Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!(report["single"], true);
    let cells = report["cells"].as_array().unwrap().iter();
    cells
        .map(|cell| (cell["id"].as_str().unwrap().to_owned(), cell.clone()))
        .collect()
}

/// The page of 2012: what did not build or start, with the reason where one was kept.
fn of_2012(world: &World) -> Vec<String> {
    let log = |name: &str| published("gaps").join(name).display().to_string();
    let gaps = [
        format!("0.5.4=build:{}", log("node-0.5.4.build.log")),
        format!("0.1.0=start:{}", log("node-0.1.0.start.log")),
        "0.5.1=build".to_owned(),
        "0.5.0=build".to_owned(),
        "0.3.0=build".to_owned(),
    ];
    assert!(world.path().exists());
    gaps.into_iter()
        .flat_map(|gap| ["--gap".to_owned(), gap])
        .collect()
}

#[test]
fn the_page_of_2012_comes_out_again() {
    let world = World::new();
    let gaps = of_2012(&world);
    let more: Vec<&str> = gaps.iter().map(String::as_str).collect();
    let cells = imported(&world, &files("http_load/node-2012"), &more);
    let table = include_str!("../data/node-2012.csv");
    let (mut figures, mut dashes) = (0, 0);
    for row in table.lines().skip(1) {
        let columns: Vec<&str> = row.split(',').collect();
        let cell = &cells[columns[0]];
        if columns[1] == "gap" {
            dashes += 1;
            assert_eq!(cell["state"], "gap", "{row}");
            continue;
        }
        figures += 1;
        let known = &cell["figures"];
        let triple = |name: &str| ["mean", "max", "min"].map(|part| known[name][part].as_f64());
        let wanted: Vec<Option<f64>> = columns[2..].iter().map(|text| text.parse().ok()).collect();
        let mut got = vec![
            known["fetches_per_second"].as_f64(),
            known["bytes_per_second"].as_f64(),
        ];
        got.extend(triple("connect_ms"));
        got.extend(triple("first_response_ms"));
        assert_eq!(got, wanted, "{row}");
    }
    assert_eq!((figures, dashes), (60, 5));
    assert_eq!(cells.len(), 65);
    let page = std::fs::read_to_string(world.path().join("reports/imported.md")).unwrap();
    // Release lines stand in rows, the newest first; what has no number is a dash.
    for words in [
        "7675.8",
        "8157.38",
        "0.5.4<br>-",
        "0.1.0<br>-",
        "sync_file_range",
        "createServer",
    ] {
        assert!(page.contains(words), "{words}\n{page}");
    }
    assert!(!page.contains("regression"), "{page}");
}

#[test]
fn its_steps_are_suspects_and_no_more() {
    let world = World::new();
    let gaps = of_2012(&world);
    let more: Vec<&str> = gaps.iter().map(String::as_str).collect();
    import(&world, &files("http_load/node-2012"), &more).expect(0);
    let ended = world.run(&["history", "imported.toml", "--format", "json"]);
    let history: Value =
        serde_json::from_str(&ended.stdout).unwrap_or_else(|_| panic!("{ended:?}"));
    let suspects = history["suspects"].as_array().unwrap();
    let named: Vec<&str> = suspects
        .iter()
        .map(|suspect| suspect["version"].as_str().unwrap())
        .collect();
    for version in ["0.3.1", "0.5.10"] {
        assert!(named.contains(&version), "{named:?}");
    }
}

#[test]
fn wrk_ab_and_httpbench_come_in_with_their_numbers() {
    let world = World::new();
    let figure = |cell: &Value, name: &str| cell["figures"][name].as_f64().unwrap();
    let wrk = imported(&world, &files("wrk/languages-2019"), &["--name", "wrk"]);
    assert_eq!(wrk.len(), 4);
    for (name, cell) in &wrk {
        let text =
            std::fs::read_to_string(published(&format!("wrk/languages-2019/{name}.txt"))).unwrap();
        let line = text
            .lines()
            .find(|line| line.starts_with("Requests/sec:"))
            .unwrap();
        let told: f64 = line.split_whitespace().nth(1).unwrap().parse().unwrap();
        assert_eq!(figure(cell, "fetches_per_second"), told, "{name}");
        assert!(figure(cell, "latency_p99_ms") > 0.0, "{name}");
    }
    let ab = imported(
        &world,
        &files("ab/buffer-vs-string-2010"),
        &["--name", "ab"],
    );
    let rates = ["buffer", "string"].map(|name| figure(&ab[name], "fetches_per_second").round());
    assert_eq!(rates, [8566.0, 2776.0]);
    let bench = imported(
        &world,
        &files("httpbench/windows-2012"),
        &["--name", "httpbench"],
    );
    let seconds =
        ["iis", "node", "tomcat"].map(|name| 1e5 / figure(&bench[name], "fetches_per_second"));
    assert_eq!(seconds.map(f64::round), [16.0, 27.0, 5.0]);
    let mongo = imported(&world, &files("ab/mongo-insert"), &["--name", "mongo"]);
    let gap = &mongo["fibjs"]["gap"];
    assert_eq!(
        (gap["stage"].as_str(), gap["kind"].as_str()),
        (Some("load"), Some("crashed"))
    );
    assert!(
        gap["cause"].as_str().unwrap().contains("4352 answers"),
        "{gap}"
    );
    assert_eq!(mongo["node"]["state"], "measured");
}

#[test]
fn what_is_no_figure_is_told_with_file_and_line() {
    let world = World::new();
    let wrong = |name: &str, text: &str, words: &[&str]| {
        world.write(name, text);
        let ended = import(&world, &[name.to_owned()], &[]).expect(128);
        for word in words {
            assert!(ended.stderr.contains(word), "{word}: {}", ended.stderr);
        }
    };
    wrong(
        "letter.txt",
        "Dear all, our server is fast.\n",
        &["letter.txt is not known", "--what"],
    );
    wrong(
        "t.csv",
        "version,fetches_per_sec\n1.0.0,many\n",
        &["t.csv:2:", "`many`"],
    );
    wrong(
        "cut.txt",
        "8157.38 fetches/sec, 97888.5 bytes/sec\n",
        &["cut.txt: it ends before"],
    );
    wrong(
        "k6.json",
        "{\"metrics\":{},\"root_group\":{}}",
        &["k6.json:1:", "missing field"],
    );
    assert!(
        !world.path().join("reports").exists(),
        "nothing was imported"
    );
    world.write("0.6.0.txt", "8157.38 fetches/sec, 97888.5 bytes/sec\n");
    import(&world, &["0.6.0.txt".to_owned()], &["--gap", "0.5.1"]).expect(128);
    import(&world, &["nowhere.txt".to_owned()], &[]).expect(128);
}
