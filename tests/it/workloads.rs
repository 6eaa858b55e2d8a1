//! The same server under each way to load it, through the whole program.

use crate::world::{World, unused_port};

fn run_with(load: &str, more: &str) -> Vec<serde_json::Value> {
    let world = World::new();
    let file = world.write_faults(&["steady", "steady_again"], more);
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, text.replace("duration = \"400ms\"", load)).unwrap();
    let ended = world.run(&["run", "faults.toml"]);
    assert!(matches!(ended.code, Some(0 | 1 | 125)), "{ended:?}");
    sessions(&world)
}

fn sessions(world: &World) -> Vec<serde_json::Value> {
    let records = world.records("faults").into_iter();
    records
        .filter(|record| record["record"] == "session")
        .collect()
}

fn samples(sessions: &[serde_json::Value]) -> Vec<serde_json::Value> {
    let launches = sessions
        .iter()
        .flat_map(|session| session["launches"].as_array().unwrap());
    launches.map(|launch| launch["sample"].clone()).collect()
}

const FEW: &str = "[sessions]\ncount = 3\nsolo = 1\n[verdict]\nconfirm = false";

#[test]
fn a_connection_for_each_request_opens_as_many_as_it_gets_answers() {
    let sessions = run_with("duration = \"400ms\"\nkeep_alive = false", FEW);
    let samples = samples(&sessions);
    assert_eq!(samples.len(), 2 + 3 * 2);
    for sample in samples {
        let load = &sample["load"];
        let answers = load["answers"].as_u64().unwrap();
        assert!(answers > 0, "{load}");
        assert!(
            load["connections_opened"].as_u64().unwrap() >= answers,
            "{load}"
        );
        assert!(load["connect"]["mean"].as_f64().unwrap() > 0.0, "{load}");
    }
}

#[test]
fn kept_connections_are_few_and_the_numbers_of_http_load_are_there() {
    for sample in samples(&run_with("duration = \"400ms\"", FEW)) {
        let load = &sample["load"];
        let answers = load["answers"].as_u64().unwrap();
        assert_eq!(load["connections_opened"], 4, "{load}");
        assert_eq!(load["body_bytes"].as_u64().unwrap(), answers * 12, "{load}");
        for figure in ["connect", "first_response"] {
            let spread = |part: &str| load[figure][part].as_f64().unwrap();
            assert!(
                spread("min") <= spread("mean") && spread("mean") <= spread("max"),
                "{load}"
            );
        }
        assert!(sample["startup_ms"].as_f64().unwrap() > 0.0);
        assert!(sample["resources"]["rss_peak_bytes"].as_u64().unwrap() > 100_000);
        assert!(sample["resources"]["cpu_seconds"].as_f64().unwrap() > 0.0);
        assert!(sample["resources"]["threads"].as_u64().unwrap() >= 1);
    }
}

#[test]
fn a_number_of_requests_is_reached_by_every_server_of_a_race() {
    let sessions = run_with("requests = 3000", FEW);
    for sample in samples(&sessions) {
        let answers = sample["load"]["answers"].as_u64().unwrap();
        assert!(answers >= 3000, "{answers}");
    }
    let solo = sessions
        .iter()
        .filter(|session| session["design"] == "solo");
    for sample in samples(&solo.cloned().collect::<Vec<_>>()) {
        // Four connections, so at most four answers on their way when the last one is counted.
        assert!(
            sample["load"]["answers"].as_u64().unwrap() <= 3004,
            "{sample}"
        );
    }
}

#[test]
fn one_at_a_time_works_with_a_fixed_port() {
    let world = World::new();
    let port = unused_port();
    let solo = "[sessions]\ncount = 3\nsolo = 1\ndesign = \"solo\"\n[verdict]\nconfirm = false";
    let file = world.write_faults(&["steady", "steady_again"], solo);
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(
        &file,
        text.replace("[start]\n", &format!("[start]\nport = {port}\n")),
    )
    .unwrap();
    let ended = world.run(&["run", "faults.toml"]);
    assert!(matches!(ended.code, Some(0 | 1 | 125)), "{ended:?}");
    assert_eq!(world.count("faults", "session"), 6);
    assert_eq!(world.count("faults", "verdict"), 1);
}

#[test]
fn axes_are_measured_apart_and_compared_with_their_like() {
    let world = World::new();
    let axes = format!("{FEW}\n[axes]\nround = {{ values = [\"one\", \"two\"] }}");
    world.write_faults(&["steady", "steady_again"], &axes);
    let ended = world.run(&["run", "faults.toml", "--only", "round=two"]);
    assert!(matches!(ended.code, Some(0 | 1 | 125)), "{ended:?}");
    let list = world.run(&["list", "faults.toml"]).expect(0).stdout;
    assert!(list.contains("steady_again round=two  measured"), "{list}");
    assert!(
        list.lines()
            .any(|line| line.starts_with("steady round=one") && line.contains("new")),
        "{list}"
    );
    assert!(list.contains("after steady round=two"), "{list}");
}

#[test]
fn a_reference_is_measured_though_not_selected_and_races_every_other_version() {
    let world = World::new();
    world.write_faults(&["slow", "steady", "steady_again"], FEW);
    let reference = "[source]\ncompare = \"reference\"\nreference = \"steady_again\"\n";
    world.change("faults.toml", "[source]\n", reference);
    let ended = world.run(&["run", "faults.toml", "steady"]);
    assert!(matches!(ended.code, Some(0 | 1 | 125)), "{ended:?}");
    let records = world.records("faults");
    let told = serde_json::json!({ "reference": "steady_again" });
    assert_eq!(records[0]["compare"], told);
    assert_eq!(records[0]["order"], "listed");
    let verdicts = records
        .iter()
        .filter(|record| record["record"] == "verdict");
    let pairs: Vec<_> = verdicts.map(|verdict| verdict["pair"].clone()).collect();
    let pair = serde_json::json!({ "baseline": 1, "candidate": 0, "skipped": [] });
    assert_eq!(pairs, [pair]);
    let list = world.run(&["list", "faults.toml"]).expect(0).stdout;
    let against = list.matches("against steady_again").count();
    assert_eq!(against, 2, "{list}");
}

#[test]
fn a_server_on_all_addresses_finds_its_port_free_after_many_connections() {
    let world = World::new();
    world.write_faults(&["listens_everywhere", "steady"], FEW);
    world.change(
        "faults.toml",
        "connections = 4",
        "connections = 50\nkeep_alive = false",
    );
    let ended = world.run(&["run", "faults.toml"]);
    assert!(matches!(ended.code, Some(0 | 1 | 125)), "{ended:?}");
    let sessions = sessions(&world);
    assert_eq!(sessions.len(), 5, "no launch had to be repeated");
    assert!(
        samples(&sessions).iter().all(serde_json::Value::is_object),
        "{sessions:?}"
    );
}

#[test]
fn a_server_that_serves_only_some_connections_is_a_gap() {
    let world = World::new();
    world.write_faults(&["serves_two", "steady"], FEW);
    world.change("faults.toml", "connections = 4", "connections = 20");
    world.change(
        "faults.toml",
        "duration = \"400ms\"",
        "duration = \"1500ms\"",
    );
    let ended = world.run(&["run", "faults.toml"]).expect(125);
    assert!(ended.stdout.contains("load errors"), "{ended:?}");
    assert!(ended.stdout.contains("timeout"), "{ended:?}");
}

#[test]
fn readiness_may_be_asked_for_on_a_path_of_its_own() {
    let world = World::new();
    world.write_faults(&["steady", "steady_again"], FEW);
    world.change("faults.toml", "[ready]\n", "[ready]\nhttp = \"/health\"\n");
    let ended = world.run(&["run", "faults.toml"]);
    assert!(matches!(ended.code, Some(0 | 1 | 125)), "{ended:?}");
    assert!(
        ended.stdout.contains("2 versions measured, 0 gaps"),
        "{ended:?}"
    );
}

#[test]
fn every_path_of_a_mix_is_checked_before_the_load() {
    let world = World::new();
    world.write_faults(&["steady"], FEW);
    let mix = "paths = [{ path = \"/\" }, { path = \"/health\" }, { path = \"/missing\" }]";
    world.change(
        "faults.toml",
        "connections = 4",
        &format!("{mix}\nconnections = 4"),
    );
    world.change("faults.toml", "\"10s\"", "\"300ms\"");
    let ended = world.run(&["run", "faults.toml"]).expect(125);
    let told = ["check wrong-answer: ", "status 404 instead of 200"];
    assert!(
        told.iter().all(|told| ended.stdout.contains(told)),
        "{ended:?}"
    );
}

#[test]
fn a_server_whose_answers_wait_for_an_acknowledgement_is_told_why() {
    let world = World::new();
    world.write_faults(&["writes_twice"], "[sessions]\ncount = 3\nsolo = 1");
    let ended = world.run(&["run", "faults.toml"]);
    let told = "writes_twice: many answers take 40 to 48 ms while servers and load are idle.";
    assert!(ended.stdout.contains(told), "{ended:?}");
    let noted = ended
        .stderr
        .lines()
        .filter(|line| line.starts_with("note "));
    assert_eq!(noted.count(), 1, "{ended:?}");
}

#[test]
fn in_slices_each_server_is_loaded_for_a_time_of_its_own_and_one_that_is_slower_is_found() {
    let design = "[sessions]\ncount = 4\nsolo = 1\ndesign = \"slices\"\nslice = \"10ms\"\n[verdict]\nconfirm = false";
    let world = World::new();
    world.write_faults(&["steady", "slow"], design);
    world.change(
        "faults.toml",
        "duration = \"400ms\"",
        "duration = \"200ms\"",
    );
    world.change("faults.toml", "at_most = \"600ms\"", "at_most = \"200ms\"");
    let ended = world.run(&["run", "faults.toml"]).expect(1);
    assert!(ended.stdout.contains("fewer answers per "), "{ended:?}");
    let sessions = sessions(&world).into_iter();
    let sliced: Vec<_> = sessions
        .filter(|session| session["design"] == "slices")
        .collect();
    assert_eq!(sliced.len(), 4, "no launch had to be repeated");
    for session in &sliced {
        let windows = session["windows"].as_array().unwrap();
        let whole: f64 = windows
            .iter()
            .map(|window| window["seconds"].as_f64().unwrap())
            .sum();
        let own: Vec<f64> = samples(std::slice::from_ref(session))
            .iter()
            .map(|sample| sample["load"]["seconds"].as_f64().unwrap())
            .collect();
        // One at a time: together they have the whole time, not each of them.
        let all: f64 = own.iter().sum();
        assert!((0.5..1.1).contains(&(all / whole)), "{own:?} of {whole}");
        assert!(
            whole >= 0.4,
            "twice the workload's time, as there are two: {whole}"
        );
    }
}
