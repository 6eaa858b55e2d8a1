//! Crates: one that is itself the program, or one that a server of the matrix is built against. Edge.

#![expect(
    clippy::disallowed_methods,
    reason = "it looks for cargo's configuration files"
)]

mod library;
mod program;

use std::path::{Path, PathBuf};

use super::{Bench, Fetched, OrStop, Workshop, blocking, tree};
use crate::error::Result;
use crate::matrix::{Command, Crates};
use crate::outcome::{Gap, GapKind};
use crate::process;
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
        crates.features.join(" "),
    ];
    if let Some(server) = &crates.server {
        identity.push(shop.hash(server, tree::cargo_project).await?);
        identity.push(crates.with.join(" "));
    } else {
        identity.push(format!("locked: {}", crates.locked));
        identity.extend(crates.bin.clone());
    }
    Ok(identity)
}

/// Asks cargo and rustc for their versions and looks how cargo is configured, once in the life of the workshop.
pub(super) async fn toolchain(shop: &Workshop, crates: &Crates) -> Result<Vec<String>> {
    let server = crates.server.as_deref().unwrap_or(&shop.cache);
    let question = format!("cargo in {}", server.display());
    let versions = async { Ok(tools(server, &shop.cache).await?.join("\n")) };
    let mut toolchain = vec![shop.memo.once(question, versions).await?];
    for file in configuration(&shop.cache) {
        toolchain.push(shop.hash(&file, tree::everything).await?);
    }
    Ok(toolchain)
}

/// Asks cargo and rustc for their versions, as they are chosen where the build will run.
///
/// A toolchain file of the server's project goes with it into the work folder; otherwise those above the cache count.
async fn tools(server: &Path, builds: &Path) -> Result<[String; 2]> {
    let has_own = ["rust-toolchain.toml", "rust-toolchain"]
        .iter()
        .any(|name| server.join(name).is_file());
    let cwd = if has_own { server } else { builds };
    Ok([
        source::told("cargo", &["--version"], cwd).await?,
        source::told("rustc", &["--version", "--verbose"], cwd).await?,
    ])
}

/// Lists the files that configure cargo in the builds: flags, linker and profiles may stand in them. Those of the
/// server's project are hashed with it.
fn configuration(cache: &Path) -> Vec<PathBuf> {
    let env = process::base_environment();
    let own = env.get("CARGO_HOME").map(PathBuf::from);
    let own = own.or_else(|| Some(Path::new(env.get("HOME")?).join(".cargo")));
    let above = cache.ancestors().map(|folder| folder.join(".cargo"));
    let folders = above.chain(own);
    let files = folders.flat_map(|folder| [folder.join("config"), folder.join("config.toml")]);
    files.filter(|file| file.is_file()).collect()
}

/// Gets the crate ready for the steps.
pub(super) async fn fetch(bench: &Bench<'_>, crates: &Crates) -> OrStop<Fetched> {
    let version = &bench.cell.version;
    if let Some(why) = version
        .withdrawn
        .as_ref()
        .filter(|_| bench.matrix.build.steps.is_empty())
    {
        return Err(withdrawn(crates, version, why).into());
    }
    match &crates.server {
        Some(server) => library::fetch(bench, crates, server).await,
        None => Ok(program::fetch(bench, crates)),
    }
}

/// The gap of a version that its publisher took back: cargo takes such a one only where a lock file already has it.
fn withdrawn(crates: &Crates, version: &Version, why: &str) -> Gap {
    let (package, version) = (&crates.package, &version.name);
    let cause = format!("cargo gives {package} {version} to nobody who asks for it: it is {why}");
    Gap::new(GapKind::NotFound, cause)
}

/// Finds the program that was installed, and the crates that were built into it.
pub(super) async fn finish(
    bench: &Bench<'_>,
    crates: &Crates,
    fetched: Fetched,
) -> OrStop<Fetched> {
    let is_installed = crates.server.is_none();
    let binary = if is_installed && bench.matrix.build.binary.is_none() {
        Some(program::binary(bench, crates)?)
    } else {
        fetched.binary
    };
    let work = fetched.work.clone();
    let list = if is_installed {
        program::dependencies
    } else {
        library::dependencies
    };
    let dependencies = blocking(move || list(&work)).await;
    Ok(Fetched {
        binary,
        dependencies,
        ..fetched
    })
}

fn argv(words: &[&str]) -> Command {
    Command::Argv(words.iter().map(|&word| word.to_owned()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_configuration_above_the_builds_counts() {
        let project = tempfile::tempdir().unwrap();
        let folder = project.path().join(".cargo");
        std::fs::create_dir(&folder).unwrap();
        let file = folder.join("config.toml");
        let cache = project.path().join("deep/.harness");
        assert!(!configuration(&cache).contains(&file));
        std::fs::write(&file, "[build]\nrustflags = [\"-Ctarget-cpu=native\"]\n").unwrap();
        assert!(configuration(&cache).contains(&file));
    }
}
