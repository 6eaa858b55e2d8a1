//! Servers on other addresses, and several instances of one.

use serde_json::Value;

use crate::world::World;

const FEW: &str = "[sessions]\ncount = 3\nsolo = 1\n[verdict]\nconfirm = false";

/// Writes the matrix of these versions with these keys in `[start]`, and tells the server its place with this template.
fn write(world: &World, versions: &[&str], keys: &str, place: &str) {
    world.write_faults(versions, FEW);
    let old = "[start]\ncmd = [\"{binary}\", \"{port}\"]\n";
    let new = format!("[start]\n{keys}\ncmd = [\"{{binary}}\", \"{place}\"]\n");
    world.change("faults.toml", old, &new);
}

/// Runs the matrix and returns the launches of all its sessions.
fn launches(world: &World) -> Vec<Value> {
    let ended = world.run(&["run", "faults.toml"]);
    assert!(matches!(ended.code, Some(0 | 1 | 125)), "{ended:?}");
    let sessions = world
        .records("faults")
        .into_iter()
        .filter(|record| record["record"] == "session");
    sessions
        .flat_map(|session| session["launches"].as_array().unwrap().clone())
        .collect()
}

/// Returns the gap of the first version of the matrix.
fn gap(world: &World) -> Value {
    let launches = launches(world);
    let gap = launches.iter().find(|launch| launch["gap"].is_object());
    gap.expect("a gap")["gap"].clone()
}

#[test]
fn a_server_that_listens_elsewhere_is_a_gap_that_says_where() {
    let world = World::new();
    let keys = "listen = \"ipv6\"";
    write(&world, &["steady"], keys, "127.0.0.1:{port}");
    world.change("faults.toml", "timeout = \"10s\"", "timeout = \"300ms\"");
    let gap = gap(&world);
    assert_eq!(gap["kind"], "not-ready");
    let cause = gap["cause"].as_str().unwrap();
    assert!(
        cause.starts_with("nothing listens on [::1]:")
            && cause.contains("; the server listens on 127.0.0.1:"),
        "{cause}"
    );
    assert!(gap["hint"].as_str().unwrap().contains("`listen`"), "{gap}");
}

#[test]
fn an_instance_that_ends_at_its_start_is_named_and_no_other_is_left() {
    let world = World::new();
    let keys = "instances = 3";
    write(&world, &["steady"], keys, "{port}");
    let old = "cmd = [\"{binary}\", \"{port}\"]";
    let new = "cmd = { shell = 'test {instance} != 2 || exit 5; exec \"{binary}\" {port}' }";
    world.change("faults.toml", old, new);
    let gap = gap(&world);
    assert_eq!(gap["kind"], "exited", "{gap}");
    let cause = "instance 2 of the server ended with code 5 before it answered";
    assert_eq!(gap["cause"], cause);
    world.expect_no_process();
}

#[test]
fn a_variable_of_another_kind_of_address_is_shown_with_its_place() {
    let world = World::new();
    write(&world, &["steady"], "listen = \"unix\"", "{port}");
    let ended = world.run(&["check", "faults.toml"]).expect(128);
    let why = "with `listen = \"unix\"` there is `{socket}` in its place";
    assert!(ended.stderr.contains(why), "{}", ended.stderr);
    world.change("faults.toml", "listen = \"unix\"", "listen = \"ipv6\"");
    world.change("faults.toml", "\"{port}\"]\nstop", "\"{socket}\"]\nstop");
    let ended = world.run(&["check", "faults.toml"]).expect(128);
    let why = "only a server with `listen = \"unix\"` has one";
    assert!(ended.stderr.contains(why), "{}", ended.stderr);
}

#[test]
fn the_processes_of_a_cluster_are_one_cell() {
    let world = World::new();
    let server = include_str!("../../servers/hello-cluster.js");
    world.write("hello-cluster.js", server);
    write(&world, &["steady"], "", "{port}");
    let old = "cmd = [\"{binary}\", \"{port}\"]";
    let new = "cmd = [\"node\", \"{matrix_dir}/hello-cluster.js\", \"{port}\", \"4\"]";
    world.change("faults.toml", old, new);
    world.change("faults.toml", "connections = 4", "connections = 8");
    for launch in launches(&world) {
        let sample = &launch["sample"];
        let resources = &sample["resources"];
        // The one that was started, and its workers.
        assert_eq!(resources["processes"], 5, "{launch}");
        let cpu = resources["cpu_seconds"].as_f64().unwrap();
        let seconds = sample["load"]["seconds"].as_f64().unwrap();
        assert!(cpu > 0.1 * seconds, "{launch}");
    }
}
