//! Sources and their registries: the real clients against a registry of the test's own on the loopback interface.

use std::process::Command;

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::shelf::{self, Files};
use crate::world::{Ended, World};

/// Runs `harness build` and returns the outcome of each cell by name, in order.
fn built(command: &mut Command) -> Vec<(String, Value)> {
    let ended = Ended::of(command.output().unwrap()).expect(0);
    let cells = ended.stdout.lines().map(|line| {
        let cell: Value = serde_json::from_str(line).unwrap();
        let name = cell["cell"].as_str().unwrap().to_owned();
        (name, cell["outcome"].clone())
    });
    cells.collect()
}

/// Returns kind and cause of a gap.
fn gap(outcome: &Value) -> (&str, &str) {
    let gap = &outcome["gap"];
    let text = |key: &str| gap[key].as_str().unwrap_or_else(|| panic!("{outcome}"));
    (text("kind"), text("cause"))
}

#[test]
fn a_lists_command_names_the_versions_and_its_failure_is_told() {
    let world = World::new();
    let matrix = |command: &str| {
        let text = format!(
            "schema = 2\n[source]\nversions = \">=1.1\"\n[source.list]\ncommand = {command}\n\
             [start]\ncmd = [\"true\"]\n"
        );
        world.write("list.toml", &text);
    };
    world.write("releases.txt", "# ours\n1.0.0\n\n1.2.0\n 1.1.0 \n");
    matrix(r#"["cat", "releases.txt"]"#);
    let said = world.run(&["check", "list.toml"]).expect(0).stdout;
    // In the order of the list, which is what decides where no other order is asked for.
    assert!(
        said.contains("  in   1.2.0\n  in   1.1.0\n  out  1.0.0"),
        "{said}"
    );
    matrix(r#"{ shell = "echo asking; echo 'error: no such remote' >&2; exit 3" }"#);
    let said = world.run(&["check", "list.toml"]).expect(128).stderr;
    for part in [
        "`source.list.command` failed",
        "exit code 3",
        "error: no such remote",
    ] {
        assert!(said.contains(part), "{said}");
    }
    matrix(r#"["printf", "1.2.0\\n1.2.0\\n"]"#);
    let said = world.run(&["check", "list.toml"]).expect(128).stderr;
    assert!(said.contains("`1.2.0` twice"), "{said}");
}

/// A registry for npm with a library in two versions, of which one was taken back, and a script that must not run.
fn packages(address: &str) -> Files {
    let mut files = Files::new();
    let mut packument = |name: &str, times: Value| {
        let manifest = json!({
            "name": name, "version": "1.0.0",
            "scripts": { "install": "node -e \"process.exit(7)\"" },
        });
        let text = manifest.to_string();
        let content = [
            ("package.json", text.as_str()),
            ("index.js", "exports.is = 1;\n"),
        ];
        let tarball = format!("{name}-1.0.0.tgz");
        let archive = shelf::archive("package", &content);
        let mut version = manifest.clone();
        version["hasInstallScript"] = json!(true);
        version["deprecated"] = json!("no longer kept");
        version["dist"] = json!({
            "tarball": format!("{address}/{tarball}"),
            "integrity": format!("sha256-{}", data_encoding::BASE64.encode(&Sha256::digest(&archive))),
        });
        files.insert(tarball, archive);
        let whole = json!({
            "name": name, "dist-tags": { "latest": "1.0.0" }, "time": times,
            "versions": { "1.0.0": version },
        });
        files.insert(name.to_owned(), whole.to_string().into_bytes());
    };
    packument(
        "library",
        json!({ "created": "2020-01-01T00:00:00Z", "0.9.0": "2020-01-01T00:00:00Z", "1.0.0": "2021-01-01T00:00:00Z" }),
    );
    packument("companion", json!({ "1.0.0": "2021-01-01T00:00:00Z" }));
    files
}

#[test]
fn an_npm_library_is_installed_beside_its_server_without_its_scripts() {
    let world = World::new();
    let address = shelf::serve(packages);
    let run = |arguments: &[&str]| {
        let mut command = world.harness(arguments);
        command.env("npm_config_cache", world.path().join("npm-cache"));
        command
    };
    // npm finds it in the folder of the project, above the server's.
    world.write("package.json", "{}\n");
    world.write(".npmrc", &format!("registry={address}/\n"));
    world.write("servers/hello.js", "require('library');\n");
    world.write(
        "matrices/library.toml",
        "schema = 2\n[source]\nversions = [\"0.8.0\", \"0.9.0\", \"1.0.0\"]\n[source.npm]\npackage = \"library\"\n\
         server = \"../servers/hello.js\"\nwith = [\"companion@1\"]\n\
         [start]\ncmd = [\"node\", \"{work}/hello.js\", \"{port}\"]\n",
    );
    let arguments = ["build", "matrices/library.toml", "--format", "json"];
    let cells = built(&mut run(&arguments));
    let (kind, cause) = gap(&cells[0].1);
    assert_eq!(kind, "not-found");
    assert!(
        cause.ends_with("unpublished, or never published"),
        "{cause}"
    );
    let (kind, cause) = gap(&cells[1].1);
    assert_eq!(kind, "not-found");
    assert!(
        cause.ends_with("library@0.9.0 any more: unpublished"),
        "{cause}"
    );
    let artifact = &cells[2].1["artifact"];
    assert_eq!(
        artifact["dependencies"],
        json!({ "companion": "1.0.0", "library": "1.0.0" })
    );
    let src = world.path().join(artifact["src"].as_str().unwrap());
    assert!(src.ends_with("work/node_modules/library") && src.join("index.js").is_file());
    assert!(src.join("../../hello.js").is_file());
    let log = std::fs::read_to_string(src.join("../../../build.log")).unwrap();
    assert!(log.contains("library@1.0.0: no longer kept"), "{log}");

    world.change(
        "matrices/library.toml",
        "with = [",
        "scripts = true\nwith = [",
    );
    let arguments = [&arguments[..], &["1.0.0"]].concat();
    let ended = Ended::of(run(&arguments).output().unwrap()).expect(125);
    let cell: Value = serde_json::from_str(ended.stdout.trim()).unwrap();
    assert_eq!(gap(&cell["outcome"]).0, "failed");
}
