//! The versions of a crate, from cargo's own copy of its registry's index. Edge.

#![expect(
    clippy::disallowed_methods,
    reason = "it looks for cargo's configuration files"
)]

use std::path::Path;

use tame_index::flock::LockOptions;
use tame_index::index::{ComboIndexCache, FileLock, IndexLocation};
use tame_index::{IndexKrate, IndexUrl, KrateName};

use super::{Available, PATIENCE, ask, failure, first_complaint};
use crate::error::{Error, Kind, Result};
use crate::process::Captured;

/// Lets cargo refresh its copy of the index and reads the versions from it; yanked ones are left out.
///
/// Where cargo cannot refresh, an older copy is used with a warning.
pub(super) async fn available(package: &str, dir: &Path) -> Result<Available> {
    let name = KrateName::cargo(package).map_err(|error| {
        Error::new(Kind::Source, format!("`{package}` is not a crate's name")).because(error)
    })?;
    let refreshed = refresh(package, dir).await?;
    let version = cargo_version().await?;
    let krate = cached(name, dir, &version).map_err(|error| {
        Error::new(
            Kind::Source,
            format!("cargo's index could not be read for `{package}`"),
        )
        .because(error)
    })?;
    let failure = failure(&refreshed.ended);
    match (krate, failure) {
        (Some(krate), None) => Ok(Available::named(names(&krate))),
        (Some(krate), Some(how)) => Ok(Available {
            warnings: vec![stale(package, &refreshed, &how)],
            ..Available::named(names(&krate))
        }),
        (None, how) => Err(unknown(package, &refreshed, how)),
    }
}

/// Lets cargo fetch what the registry says of the crate.
///
/// It runs outside any cargo project, since inside one whose lock file holds the crate cargo does not ask the
/// registry; the matrix's configuration files are passed by name instead.
async fn refresh(package: &str, dir: &Path) -> Result<Captured> {
    let mut configurations: Vec<String> = dir
        .ancestors()
        .map(|folder| folder.join(".cargo/config.toml"))
        .filter(|file| file.is_file())
        .filter_map(|file| file.to_str().map(str::to_owned))
        .collect();
    // The last one wins, and that must be the nearest.
    configurations.reverse();
    let mut args = vec!["info", "--quiet"];
    for configuration in &configurations {
        args.extend(["--config", configuration]);
    }
    args.push(package);
    ask("cargo", &args, Path::new("/"), PATIENCE).await
}

/// Asks cargo for its version, which decides where its index is.
async fn cargo_version() -> Result<String> {
    let captured = ask("cargo", &["--version"], Path::new("/"), PATIENCE).await?;
    let version = captured.stdout.split_whitespace().nth(1).map(str::to_owned);
    version.ok_or_else(|| {
        Error::new(Kind::Machine, "`cargo --version` does not say its version")
            .because(captured.stderr.trim())
            .hint("see what `cargo --version` says")
    })
}

/// Reads what cargo's copy of the index says of a crate; none if it is not in there.
fn cached(
    name: KrateName<'_>,
    dir: &Path,
    cargo_version: &str,
) -> std::result::Result<Option<IndexKrate>, tame_index::Error> {
    let root = tame_index::PathBuf::from_path_buf(dir.to_owned()).ok();
    let url = IndexUrl::crates_io(root, None, Some(cargo_version))?;
    let mut location = IndexLocation::new(url);
    location.cargo_version = Some(cargo_version.parse()?);
    let index = ComboIndexCache::new(location)?;
    // Cargo holds this lock while it writes; without it a torn entry is an error and not a wrong answer.
    let lock = LockOptions::cargo_package_lock(None)?.shared().try_lock();
    let lock = lock.unwrap_or_else(|_| FileLock::unlocked());
    index
        .cached_krate(name, &lock)?
        .map(|entry| entry.deserialize())
        .transpose()
}

/// Returns the versions that are not yanked.
fn names(krate: &IndexKrate) -> Vec<String> {
    let usable = krate.versions.iter().filter(|version| !version.is_yanked());
    usable.map(|version| version.version.to_string()).collect()
}

/// The warning for versions from an older copy of the index.
fn stale(package: &str, captured: &Captured, how: &str) -> String {
    let said = first_complaint(captured).unwrap_or(how);
    format!(
        "cargo could not refresh what it knows of `{package}`, so newer versions may be missing: {said}"
    )
}

/// The error for a crate that cargo has nothing of.
fn unknown(package: &str, captured: &Captured, how: Option<String>) -> Error {
    let error = Error::new(Kind::Source, format!("cargo finds no crate `{package}`"));
    let said = first_complaint(captured).map(str::to_owned).or(how);
    said.into_iter().fold(error, Error::because).hint(format!(
        "see what `cargo info {package}` says; it needs cargo 1.82 or newer"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::Ended;

    #[test]
    fn yanked_versions_are_left_out() {
        let line = |version: &str, yanked: bool| {
            format!(
                r#"{{"name":"x","vers":"{version}","deps":[],"features":{{}},"yanked":{yanked},"cksum":"{}"}}"#,
                "0".repeat(64)
            )
        };
        let text = [
            line("1.0.0", false),
            line("1.1.0", true),
            line("1.2.0-rc.1", false),
        ]
        .join("\n");
        let krate = IndexKrate::from_slice(text.as_bytes()).unwrap();
        assert_eq!(names(&krate), ["1.0.0", "1.2.0-rc.1"]);
    }

    #[test]
    fn an_unknown_crate_shows_what_cargo_said() {
        let captured = Captured {
            ended: Ended::Code(101),
            stdout: String::new(),
            stderr: "warning: x\nerror: could not find `nosuch` in registry\n".to_owned(),
        };
        let error = unknown("nosuch", &captured, failure(&captured.ended));
        assert_eq!(error.kind, Kind::Source);
        assert_eq!(error.causes, ["error: could not find `nosuch` in registry"]);
        assert!(
            stale("nosuch", &captured, "").ends_with("error: could not find `nosuch` in registry")
        );
    }

    #[test]
    fn a_silent_failure_shows_how_it_ended() {
        let captured = Captured {
            ended: Ended::TimedOut,
            stdout: String::new(),
            stderr: String::new(),
        };
        assert_eq!(
            unknown("x", &captured, failure(&captured.ended)).causes,
            ["it did not end in time"]
        );
    }
}
