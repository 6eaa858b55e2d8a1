//! crates: a library with nothing below it, of which one version was yanked.

use super::{World, built, expect_gap};

#[test]
fn a_server_is_built_against_versions_of_a_crate() {
    let world = World::new();
    world.write(
        "server/Cargo.toml",
        "[package]\nname = \"mine\"\nversion = \"0.0.0\"\nedition = \"2021\"\n\n[workspace]\n",
    );
    world.write(
        "server/src/main.rs",
        "cfg_if::cfg_if! { if #[cfg(unix)] { fn main() {} } }\n",
    );
    world.write(
        "cfg-if.toml",
        "schema = 2\n[source]\nversions = [\"1.0.1\", \"1.0.2\", \"1.0.99\"]\n\
         [source.crates]\npackage = \"cfg-if\"\nserver = \"server\"\n\
         [start]\ncmd = [\"{binary}\", \"{port}\"]\n",
    );
    let cells = built(&world, "cfg-if.toml");
    let artifact = &cells[0]["artifact"];
    assert_eq!(artifact["dependencies"]["cfg-if"], "1.0.1", "{}", cells[0]);
    let binary = artifact["binary"].as_str().unwrap();
    assert!(world.path().join(binary).is_file());
    expect_gap(&cells[1], "not-found", "it is yanked");
    expect_gap(&cells[2], "not-found", "has no version 1.0.99");
}

#[test]
fn an_unknown_crate_is_an_error_in_cargos_words() {
    let world = World::new();
    world.write(
        "unknown.toml",
        "schema = 2\n[source.crates]\npackage = \"harness-test-that-nobody-publishes\"\n\
         [start]\ncmd = [\"{binary}\", \"{port}\"]\n",
    );
    let said = world.run(&["check", "unknown.toml"]).expect(128).stderr;
    assert!(
        said.contains("could not be found in registry index"),
        "{said}"
    );
}
