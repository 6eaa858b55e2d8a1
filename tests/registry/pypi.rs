//! pip: packages of a few files, one version that was yanked, and one for another Python.

use std::path::Path;
use std::process::Command;

use super::{World, available, built_by, expect_gap};

#[test]
fn each_version_is_installed_with_its_companions_and_nothing_of_the_users() {
    let world = World::new();
    // Whatever Python starts with this folder on its path cannot go on.
    let folder = world.write("evil/sitecustomize.py", "raise SystemExit(1)\n");
    let evil = folder.parent().unwrap().to_owned();
    world.write(
        "attrs.toml",
        "schema = 2\n[source]\nversions = [\"20.3.0\", \"21.1.0\", \"99.0\"]\n\
         [source.pypi]\npackage = \"attrs\"\nwith = [\"iniconfig==2.0.0\"]\n\
         [start]\ncmd = [\"{binary}\", \"-m\", \"http.server\", \"{port}\"]\n",
    );
    let mut command = world.harness(&["build", "attrs.toml", "--format", "json"]);
    command.env("PYTHONPATH", &evil).env("VIRTUAL_ENV", &evil);
    let cells = built_by(command);
    // 21.1.0 was yanked: named, it is installed all the same.
    for (cell, version) in cells.iter().zip(["20.3.0", "21.1.0"]) {
        let artifact = &cell["artifact"];
        assert_eq!(artifact["dependencies"]["attrs"], version, "{cell}");
        assert_eq!(artifact["dependencies"]["iniconfig"], "2.0.0");
        let binary = world.path().join(artifact["binary"].as_str().unwrap());
        assert_eq!(version_of_attrs(&binary), version);
    }
    expect_gap(&cells[2], "not-found", "has no version 99.0");
}

fn version_of_attrs(python: &Path) -> String {
    let question = "import attr; print(attr.__version__)";
    let output = Command::new(python)
        .args(["-c", question])
        .output()
        .unwrap();
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

#[test]
fn a_version_for_another_python_is_a_gap_of_the_build() {
    let world = World::new();
    world.write(
        "futures.toml",
        "schema = 2\n[source]\nversions = [\"3.2.0\"]\n[source.pypi]\npackage = \"futures\"\n\
         [start]\ncmd = [\"{binary}\", \"{port}\"]\n",
    );
    let ended = world.run(&["build", "futures.toml"]).expect(125);
    let gap = "gap    3.2.0  build: failed: ";
    assert!(ended.stdout.starts_with(gap), "{}", ended.stdout);
}

#[tokio::test]
async fn yanked_versions_are_told_from_the_others() {
    let world = World::new();
    let found = available(&world, "pypi.package = \"attrs\"").await.unwrap();
    let place = |name: &str| {
        let mut versions = found.versions.iter();
        versions.position(|version| version.name == name).unwrap()
    };
    assert!(place("20.3.0") < place("21.2.0") && place("21.2.0") < place("21.4.0"));
    let yanked = &found.versions[place("21.1.0")];
    assert_eq!(yanked.withdrawn.as_deref(), Some("yanked"));
    assert_eq!(found.versions[place("21.2.0")].withdrawn, None);
}

#[tokio::test]
async fn an_interpreter_that_is_not_there_is_the_machines_fault() {
    let world = World::new();
    let text = "pypi = { package = \"attrs\", python = \"./no-such-python\" }";
    let error = available(&world, text).await.unwrap_err();
    assert_eq!(error.kind, harness::error::Kind::Machine);
    assert!(error.message.contains("no-such-python"), "{error}");
}
