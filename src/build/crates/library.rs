//! Building the matrix's own server against one version of a crate. Edge.

#![expect(
    clippy::disallowed_methods,
    reason = "it reads the server's manifest and the lock file that cargo left"
)]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::argv;
use crate::build::folder::{Folder, cannot};
use crate::build::{Bench, Fetched, OrStop, blocking, dependencies, tree};
use crate::error::{Error, Kind, Result};
use crate::matrix::{Command, Crates};

/// Copies the server's project and says how it is built.
pub(super) async fn fetch(bench: &Bench<'_>, crates: &Crates, server: &Path) -> OrStop<Fetched> {
    copy(server, bench.folder).await?;
    let binary = match bench.matrix.build.binary {
        Some(_) => None,
        None => Some(binary(server, &bench.folder.work)?),
    };
    Ok(Fetched {
        src: bench.folder.work.clone(),
        binary,
        steps: steps(crates),
        ..bench.nothing_fetched()
    })
}

/// The steps of a crates matrix with a server that names none.
fn steps(crates: &Crates) -> Vec<Command> {
    // It keeps the features that the server's manifest asks for, and adds those of the matrix.
    let mut add = vec!["cargo", "add", "--quiet", "{package}@={version}"];
    for feature in &crates.features {
        add.extend(["--features", feature]);
    }
    let mut steps = vec![argv(&add)];
    for (name, version) in crates.with.iter().filter_map(|word| word.rsplit_once('@')) {
        let update = ["cargo", "update", "--quiet", "--package", name];
        steps.push(argv(&[&update[..], &["--precise", version]].concat()));
    }
    steps.push(argv(&["cargo", "build", "--release", "-j", "{jobs}"]));
    steps
}

/// Copies the server's project into the build's work folder; its `Cargo.lock` keeps all other crates as they are.
async fn copy(server: &Path, folder: &Folder) -> Result<()> {
    let (server, folder) = (server.to_owned(), folder.clone());
    blocking(move || {
        tree::copy(&server, &folder.work, tree::cargo_project)
            .map_err(|error| cannot("copy", &server, error))
    })
    .await
}

/// Returns the program that cargo leaves.
fn binary(server: &Path, work: &Path) -> Result<PathBuf> {
    let path = server.join("Cargo.toml");
    let wrong = |why: String| {
        Error::new(
            Kind::Configuration,
            format!("{} names no program to build", path.display()),
        )
        .because(why)
        .hint("check `source.crates.server`, or name the program with `build.binary`")
    };
    let text = fs::read_to_string(&path).map_err(|error| wrong(error.to_string()))?;
    let name = program_name(&text).map_err(wrong)?;
    Ok(work.join("target/release").join(name))
}

/// Reads from a manifest what its program is called: its first `[[bin]]`, or the package.
fn program_name(manifest: &str) -> std::result::Result<String, String> {
    #[derive(Deserialize)]
    struct Manifest {
        package: Named,
        #[serde(default)]
        bin: Vec<Named>,
    }
    #[derive(Deserialize)]
    struct Named {
        name: String,
    }
    let manifest: Manifest =
        toml::from_str(manifest).map_err(|error| error.message().to_owned())?;
    let program = manifest.bin.into_iter().next().unwrap_or(manifest.package);
    Ok(program.name)
}

/// Returns the crates that cargo resolved for the server, from its lock file.
pub(super) fn dependencies(work: &Path) -> BTreeMap<String, String> {
    let list = tree::read_left(&work.join("Cargo.lock"));
    list.map_or_else(BTreeMap::new, |text| locked(&text))
}

/// Reads a lock file, the server's own crates apart; a text that is none lists nothing.
fn locked(text: &str) -> BTreeMap<String, String> {
    #[derive(Deserialize)]
    struct Lock {
        #[serde(default)]
        package: Vec<Package>,
    }
    #[derive(Deserialize)]
    struct Package {
        name: String,
        version: String,
        source: Option<String>,
    }
    let lock: Option<Lock> = toml::from_str(text).ok();
    let packages = lock.into_iter().flat_map(|lock| lock.package);
    let others = packages.filter(|package| package.source.is_some());
    dependencies::gather(others.map(|package| (package.name, package.version)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_program_is_called_like_the_package_or_its_first_bin() {
        assert_eq!(
            program_name("[package]\nname = \"hyper-hello\"\n").unwrap(),
            "hyper-hello"
        );
        let two = "[package]\nname = \"x\"\n[[bin]]\nname = \"serve\"\npath = \"a.rs\"\n[[bin]]\nname = \"b\"\n";
        assert_eq!(program_name(two).unwrap(), "serve");
    }

    #[test]
    fn features_are_added_and_companions_are_kept_at_their_version() {
        let crates = Crates {
            package: "tokio".to_owned(),
            server: None,
            bin: None,
            features: vec!["net".to_owned(), "rt".to_owned()],
            locked: true,
            with: vec!["time@0.3.36".to_owned()],
        };
        let lines: Vec<String> = steps(&crates)
            .iter()
            .map(|step| match step {
                Command::Argv(words) => words.join(" "),
                Command::Shell(line) => line.clone(),
            })
            .collect();
        assert_eq!(
            lines,
            [
                "cargo add --quiet {package}@={version} --features net --features rt",
                "cargo update --quiet --package time --precise 0.3.36",
                "cargo build --release -j {jobs}",
            ]
        );
    }

    #[test]
    fn a_lock_file_lists_every_crate_but_the_servers_own() {
        let text = r#"
            version = 4

            [[package]]
            name = "hyper-hello"
            version = "0.0.0"
            dependencies = ["hyper"]

            [[package]]
            name = "hyper"
            version = "1.6.0"
            source = "registry+https://registry.example/index"
            checksum = "cc2b571658e38e0c01b1fdca3bbbe93c00d3d71693ff2770043f8c29bc7d6f80"

            [[package]]
            name = "windows-sys"
            version = "0.52.0"
            source = "registry+https://registry.example/index"

            [[package]]
            name = "windows-sys"
            version = "0.59.0"
            source = "registry+https://registry.example/index"
        "#;
        let listed: Vec<(String, String)> = locked(text).into_iter().collect();
        let pair = |name: &str, version: &str| (name.to_owned(), version.to_owned());
        assert_eq!(
            listed,
            [
                pair("hyper", "1.6.0"),
                pair("windows-sys", "0.52.0, 0.59.0")
            ]
        );
        assert!(locked("no lock = [").is_empty());
    }

    #[test]
    fn a_manifest_without_a_package_is_refused_with_the_reason() {
        assert!(
            program_name("[workspace]\n")
                .unwrap_err()
                .contains("package")
        );
        let error = binary(Path::new("/nowhere"), Path::new("/work")).unwrap_err();
        assert_eq!(error.kind, Kind::Configuration);
        assert!(error.message.contains("/nowhere/Cargo.toml"));
    }
}
