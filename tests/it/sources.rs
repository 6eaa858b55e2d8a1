//! Sources and their registries: the real clients against a registry of the test's own on the loopback interface.

use std::path::Path;
use std::process::Command;

use data_encoding::HEXLOWER;
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

/// Returns the name of an artifact's program.
fn program(outcome: &Value) -> &str {
    let binary = outcome["artifact"]["binary"].as_str();
    let binary = binary.unwrap_or_else(|| panic!("{outcome}"));
    Path::new(binary).file_name().unwrap().to_str().unwrap()
}

const STARTS: &str = "\n[start]\ncmd = [\"{binary}\", \"{port}\"]\n";

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

/// Puts a crate on the shelf, with the lock file that it is published with, if any.
fn publish(files: &mut Files, version: &str, bins: &[&str], (lock, yanked): (Option<&str>, bool)) {
    let bins = bins
        .iter()
        .map(|name| format!("[[bin]]\nname = \"{name}\"\npath = \"src/main.rs\"\n"));
    let manifest = format!(
        "[package]\nname = \"serving\"\nversion = \"{version}\"\nedition = \"2021\"\n\
         [dependencies]\nbelow = \"1\"\n{}",
        bins.collect::<String>()
    );
    let main = ("src/main.rs", "fn main() {}\n");
    let mut content = vec![("Cargo.toml", manifest.as_str()), main];
    content.extend(lock.map(|lock| ("Cargo.lock", lock)));
    let needs = json!([{
        "name": "below", "req": "^1", "features": [], "optional": false, "default_features": true,
        "target": null, "kind": "normal",
    }]);
    shelve(files, ("serving", version), &content, (needs, yanked));
}

/// Puts a crate and its line of the index on the shelf.
fn shelve(
    files: &mut Files,
    (name, version): (&str, &str),
    content: &[(&str, &str)],
    (needs, yanked): (Value, bool),
) {
    let archive = shelf::archive(&format!("{name}-{version}"), content);
    let line = json!({
        "name": name, "vers": version, "deps": needs, "features": {}, "yanked": yanked,
        "cksum": HEXLOWER.encode(&Sha256::digest(&archive)),
    });
    files.insert(format!("dl/{name}/{version}/download"), archive);
    let index = format!("{}/{}/{name}", &name[..2], &name[2..4]);
    let index = files.entry(index).or_default();
    index.extend_from_slice(format!("{line}\n").as_bytes());
}

/// A registry of crates with one program in several versions and one library below it.
fn crates(address: &str) -> Files {
    let mut files = Files::new();
    let config = json!({ "dl": format!("{address}/dl/{{crate}}/{{version}}/download") });
    files.insert("config.json".to_owned(), config.to_string().into_bytes());
    for version in ["1.0.0", "1.1.0"] {
        let manifest =
            format!("[package]\nname = \"below\"\nversion = \"{version}\"\nedition = \"2021\"\n");
        let content = [("Cargo.toml", manifest.as_str()), ("src/lib.rs", "")];
        shelve(&mut files, ("below", version), &content, (json!([]), false));
    }
    let lock = "version = 4\n\n[[package]]\nname = \"below\"\nversion = \"1.0.0\"\n\
        source = \"registry+https://github.com/rust-lang/crates.io-index\"\n\n\
        [[package]]\nname = \"serving\"\nversion = \"0.1.0\"\ndependencies = [\"below\"]\n";
    publish(
        &mut files,
        "0.1.0",
        &["admin", "serving"],
        (Some(lock), false),
    );
    publish(&mut files, "0.2.0", &["serving"], (None, true));
    publish(&mut files, "0.3.0", &["only"], (None, false));
    publish(&mut files, "0.4.0", &["one", "other"], (None, false));
    files
}

/// Returns the real program, with a cargo that knows no registry but the one at this address.
fn with_crates(world: &World, address: &str, arguments: &[&str]) -> Command {
    let home = world.write(
        "cargo/config.toml",
        &format!(
            "[source.crates-io]\nreplace-with = \"shelf\"\n[source.shelf]\nregistry = \"sparse+{address}/\"\n"
        ),
    );
    let mut command = world.harness(arguments);
    command.env("CARGO_HOME", home.parent().unwrap());
    command
}

#[test]
fn crates_are_installed_with_their_lock_file_or_without_and_yanked_ones_are_gaps() {
    let world = World::new();
    let address = shelf::serve(crates);
    let matrix = |more: &str| {
        let text = format!(
            "schema = 2\n[source]\nversions = [\"0.1.0\", \"0.2.0\", \"0.3.0\", \"0.4.0\", \"0.9.0\"]\n\
             [source.crates]\npackage = \"serving\"\n{more}{STARTS}"
        );
        world.write("serving.toml", &text);
    };
    matrix("");
    let arguments = ["build", "serving.toml", "--format", "json"];
    let cells = built(&mut with_crates(&world, &address, &arguments));
    let outcomes: Vec<&Value> = cells.iter().map(|(_, outcome)| outcome).collect();
    let [first, yanked, third, fourth, missing] = outcomes.as_slice() else {
        panic!("{cells:?}")
    };
    assert_eq!(program(first), "serving");
    assert_eq!(
        first["artifact"]["dependencies"],
        json!({ "below": "1.0.0", "serving": "0.1.0" })
    );
    let (kind, cause) = gap(yanked);
    assert_eq!(kind, "not-found");
    assert!(cause.ends_with("it is yanked"), "{cause}");
    assert_eq!(program(third), "only");
    let (kind, cause) = gap(fourth);
    assert_eq!(kind, "no-binary");
    assert!(cause.contains("one, other; `source.crates.bin`"), "{cause}");
    assert_eq!(gap(missing).0, "not-found");

    matrix("locked = false\nbin = \"admin\"\n");
    let arguments = [&arguments[..], &["0.1.0"]].concat();
    let cells = built(&mut with_crates(&world, &address, &arguments));
    let unlocked = &cells[0].1;
    assert_eq!(program(unlocked), "admin");
    assert_eq!(unlocked["artifact"]["dependencies"]["below"], "1.1.0");
}

#[test]
fn a_companion_is_kept_at_its_version_under_the_matrixs_own_server() {
    let world = World::new();
    let address = shelf::serve(crates);
    world.write(
        "server/Cargo.toml",
        "[package]\nname = \"mine\"\nversion = \"0.0.0\"\nedition = \"2021\"\n\n[workspace]\n",
    );
    world.write("server/src/main.rs", "fn main() {}\n");
    world.write(
        "below.toml",
        &format!(
            "schema = 2\n[source]\nversions = [\"1.1.0\"]\n[source.crates]\npackage = \"below\"\n\
             server = \"server\"\nwith = [\"absent@1.0.0\"]\n{STARTS}"
        ),
    );
    let arguments = ["build", "below.toml", "--format", "json"];
    let ended = Ended::of(with_crates(&world, &address, &arguments).output().unwrap()).expect(125);
    assert!(ended.stdout.contains("absent"), "{}", ended.stdout);
    world.change("below.toml", "package = \"below\"", "package = \"serving\"");
    world.change("below.toml", "absent@1.0.0", "below@1.0.0");
    world.change("below.toml", "\"1.1.0\"", "\"0.1.0\"");
    let cells = built(&mut with_crates(&world, &address, &arguments));
    assert_eq!(program(&cells[0].1), "mine");
    assert_eq!(
        cells[0].1["artifact"]["dependencies"],
        json!({ "below": "1.0.0", "serving": "0.1.0" })
    );
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
