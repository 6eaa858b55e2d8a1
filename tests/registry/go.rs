//! go: a module with nothing below it, a program of a few files, and the list of Go's own releases.

use std::process::Command;

use harness::source::Available;
use harness::version::Version;

use super::{World, available, built, expect_gap};

const SERVER: &str = r#"package main

import (
	"fmt"

	"github.com/pkg/errors"
)

func main() { fmt.Println(errors.New("a server")) }
"#;

#[test]
fn a_server_is_built_with_each_version_of_a_module() {
    let world = World::new();
    world.write("server/main.go", SERVER);
    world.write("server/go.mod", "module example.org/server\n\ngo 1.18\n");
    world.write("server/.hidden.go", "this is not Go\n");
    // A workspace around the build is the user's own affair.
    world.write("go.work", "go 1.18\n\nuse ./nowhere\n");
    world.write(
        "errors.toml",
        "schema = 2\n[source]\nversions = [\"v0.8.1\", \"0.9.1\", \"v99.0.0\"]\n\
         [source.go]\nmodule = \"github.com/pkg/errors\"\nserver = \"server\"\n\
         [start]\ncmd = [\"{binary}\", \"{port}\"]\n",
    );
    let cells = built(&world, "errors.toml");
    for (cell, version) in cells.iter().zip(["v0.8.1", "v0.9.1"]) {
        let artifact = &cell["artifact"];
        let dependencies = &artifact["dependencies"];
        assert_eq!(dependencies["github.com/pkg/errors"], version, "{cell}");
        assert!(dependencies["go"].is_string());
        let binary = world.path().join(artifact["binary"].as_str().unwrap());
        let said = Command::new(binary).output().unwrap().stdout;
        assert_eq!(said, b"a server\n");
    }
    expect_gap(&cells[2], "not-found", "has no version v99.0.0");
    let project = std::fs::read_to_string(world.path().join("server/go.mod")).unwrap();
    assert!(!project.contains("require"), "the user's own is left alone");
}

#[test]
fn a_module_that_is_itself_the_program_is_installed() {
    let world = World::new();
    world.write(
        "report.toml",
        "schema = 2\n[source]\nversions = [\"v1.0.0\"]\n\
         [source.go]\nmodule = \"github.com/jstemmer/go-junit-report\"\n\
         [start]\ncmd = [\"{binary}\", \"{port}\"]\n",
    );
    let artifact = &built(&world, "report.toml")[0]["artifact"];
    let binary = artifact["binary"].as_str().unwrap();
    assert!(binary.ends_with("/out/bin/go-junit-report"), "{binary}");
    let module = "github.com/jstemmer/go-junit-report";
    assert_eq!(artifact["dependencies"][module], "v1.0.0");
}

/// Returns what is known of a version; none if there is no such version.
fn version<'a>(found: &'a Available, name: &str) -> Option<&'a Version> {
    found.versions.iter().find(|version| version.name == name)
}

#[tokio::test]
async fn retracted_versions_say_why() {
    let world = World::new();
    let text = "go.module = \"github.com/mattn/go-sqlite3\"";
    let found = available(&world, text).await.unwrap();
    let retracted = version(&found, "v2.0.3+incompatible").unwrap();
    let why = "retracted: Accidental; no major changes or features.";
    assert_eq!(retracted.withdrawn.as_deref(), Some(why));
    assert_eq!(version(&found, "v1.14.16").unwrap().withdrawn, None);
}

#[tokio::test]
async fn a_version_that_no_proxy_lists_is_found_by_its_name() {
    let world = World::new();
    let unlisted = "v0.9.2-0.20201214064552-5dd12d0cfe7f";
    let module = "go.module = \"github.com/pkg/errors\"";
    let text = format!("{module}\nversions = [\"{unlisted}\", \"v9.9.9\"]");
    let found = available(&world, &text).await.unwrap();
    assert!(version(&found, unlisted).is_some());
    assert_eq!(version(&found, "v9.9.9"), None);
    let found = available(&world, module).await.unwrap();
    assert_eq!(version(&found, unlisted), None);
}

#[tokio::test]
async fn the_releases_of_go_for_this_machine_have_semantic_places() {
    let world = World::new();
    let found = available(&world, "go = { toolchain = true, server = \".\" }")
        .await
        .unwrap();
    let release = version(&found, "1.21.13").unwrap();
    assert_eq!(release.semver, Some(semver::Version::new(1, 21, 13)));
    let mut places = found.versions.iter().flat_map(|version| &version.semver);
    assert!(places.any(|place| !place.pre.is_empty()));
}
