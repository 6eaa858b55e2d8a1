//! Whether the machine is fit, and how much it varies.

use serde_json::Value;

use crate::world::World;

/// The known server, loaded for as short as can be.
const KNOWN: &str = r#"schema = 1
[source]
versions = ["older", "newer"]
[source.list]
[build]
steps = [{ shell = 'test "$HARNESS_VERSION" = older' }]
[start]
cmd = ["/proc/self/exe", "known-server", "--listen", "{host}:{port}"]
[check]
body = "Hello World\n"
[load]
connections = 4
duration = "60ms"
window = "10ms"
warmup = { answers = 10, at_most = "100ms" }
[verdict]
min_effect = "3%"
"#;

#[test]
fn the_engine_is_tried_and_its_count_is_the_servers() {
    let world = World::new();
    let ended = world.run(&["doctor", "--format", "json"]).expect(0);
    let findings: Vec<Value> = serde_json::from_str(&ended.stdout).unwrap();
    let named = |finding: &&Value| finding["what"] == "load engine";
    let engine = findings.iter().find(named).unwrap();
    assert_ne!(engine["grade"], "bad", "{engine}");
    let count = |name: &str| engine["figures"][name].as_u64().unwrap();
    let unread = count("server_count") - count("client_count");
    assert!(unread <= 100 && count("client_count") > 100, "{engine}");
    assert!(ended.stderr.contains("loading a server of known cost"));
}

#[test]
fn the_noise_is_that_of_the_newest_version_that_builds_in_each_design() {
    let world = World::new();
    world.write("small.toml", KNOWN);
    let arguments = [
        "doctor",
        "--noise",
        "small.toml",
        "--sessions",
        "3",
        "--format",
        "json",
    ];
    let ended = world.run(&arguments).expect(0);
    let noise: Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!(
        (&noise["title"], &noise["version"]),
        (&"small".into(), &"older".into())
    );
    assert!(
        ended.stderr.contains("gap     newer  build: failed"),
        "{}",
        ended.stderr
    );
    let designs = noise["designs"].as_array().unwrap();
    let names: Vec<&str> = designs
        .iter()
        .map(|it| it["design"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["race", "slices", "solo"]);
    for design in designs {
        assert_eq!(design["differences_percent"].as_array().unwrap().len(), 3);
        let changes = design["costs"].as_array().unwrap().iter();
        let changes: Vec<f64> = changes
            .map(|cost| cost["change_percent"].as_f64().unwrap())
            .collect();
        assert_eq!(
            changes,
            [3.0, 5.0],
            "2 % is less than the least change worth a flag"
        );
    }
    let curves = noise["curves"].as_array().unwrap();
    assert_eq!(curves.len(), 1, "the matrix has one pair");
    let rows = curves[0]["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 5);
    assert_eq!(rows[4]["cells"].as_array().unwrap().len(), 3);
    assert_eq!(curves[0]["reach"].as_array().unwrap().len(), 5);
    assert!(!world.path().join("reports").exists(), "it is no run");
}

#[test]
fn a_matrix_of_which_nothing_builds_has_no_noise() {
    let world = World::new();
    world.write("small.toml", &KNOWN.replace("= older", "= none"));
    let ended = world.run(&["doctor", "--noise", "small.toml"]).expect(128);
    assert!(
        ended
            .stderr
            .contains("no version of the matrix can be built"),
        "{}",
        ended.stderr
    );
    world.run(&["doctor", "--sessions", "3"]).expect(129);
}
