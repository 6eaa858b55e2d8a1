//! Building the matrix's own server against one version of a crate. Edge.

#![expect(clippy::disallowed_methods, reason = "it reads the server's manifest")]

use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::{Bench, Fetched, OrStop, Workshop, tree};
use crate::error::{Error, Kind, Result};
use crate::matrix::{Command, Crates};
use crate::source;
use crate::version::Version;

/// Returns what tells one version of a crate from all others, the server that is built against it included.
pub(super) async fn identity(
    shop: &Workshop,
    crates: &Crates,
    version: &Version,
) -> Result<Vec<String>> {
    let mut identity = vec![
        "crates".to_owned(),
        crates.package.clone(),
        version.name.clone(),
    ];
    if let Some(server) = &crates.server {
        identity.push(shop.hash(server, tree::cargo_project).await?);
    }
    Ok(identity)
}

/// Asks cargo and rustc for their versions, once in the life of the workshop.
pub(super) async fn toolchain(shop: &Workshop, crates: &Crates) -> Result<Vec<String>> {
    let server = crates.server.as_deref().unwrap_or(&shop.cache);
    let question = format!("cargo in {}", server.display());
    let versions = async { Ok(tools(server, &shop.cache).await?.join("\n")) };
    Ok(vec![shop.memo.once(question, versions).await?])
}

/// Copies the server's project and says how it is built.
pub(super) async fn fetch(bench: &Bench<'_>, crates: &Crates) -> OrStop<Fetched> {
    let Some(server) = &crates.server else {
        let message = "installing a crate cannot be done yet";
        return Err(Error::new(Kind::Source, message).into());
    };
    // Its `Cargo.lock` keeps all other crates as they are.
    bench.copy(server, tree::cargo_project).await?;
    let binary = match bench.matrix.build.binary {
        Some(_) => None,
        None => Some(binary(server, &bench.folder.work)?),
    };
    Ok(Fetched {
        src: bench.folder.work.clone(),
        binary,
        steps: default_steps(),
        ..bench.nothing_fetched()
    })
}

/// The steps of a crates matrix that names none.
fn default_steps() -> Vec<Command> {
    let command =
        |words: &[&str]| Command::Argv(words.iter().map(|&word| word.to_owned()).collect());
    vec![
        // It keeps the features that the server's manifest asks for.
        command(&["cargo", "add", "--quiet", "{package}@={version}"]),
        command(&["cargo", "build", "--release", "-j", "{jobs}"]),
    ]
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

/// Asks cargo and rustc for their versions, as they are chosen where the build will run.
///
/// A toolchain file of the server's project goes with it into the work folder; otherwise those above the cache count.
async fn tools(server: &Path, builds: &Path) -> Result<Vec<String>> {
    let has_own = ["rust-toolchain.toml", "rust-toolchain"]
        .iter()
        .any(|name| server.join(name).is_file());
    let cwd = if has_own { server } else { builds };
    let mut versions = Vec::new();
    for (program, args) in [
        ("cargo", &["--version"][..]),
        ("rustc", &["--version", "--verbose"][..]),
    ] {
        let captured = source::ask(program, args, cwd, source::PATIENCE).await?;
        if let Some(how) = source::failure(&captured.ended) {
            return Err(Error::new(
                Kind::Machine,
                format!("`{program} --version` failed: {how}"),
            )
            .because(captured.stderr.trim())
            .hint(format!("run `{program} --version` in {}", cwd.display())));
        }
        versions.push(captured.stdout);
    }
    Ok(versions)
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
