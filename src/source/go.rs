//! The versions of a Go module, or of Go itself, as `go list` tells them. Edge only by the program that it runs.

use std::path::Path;
use std::time::Duration;

use serde::Deserialize;

use super::{Available, PATIENCE, ask_with, failure, first_complaint};
use crate::error::{Error, Kind, Result};
use crate::matrix::{Go, GoSubject};
use crate::process::{self, Captured};
use crate::version::{Order, Version};

/// The toolchain that every question is asked of: the one that is installed.
pub(crate) const LOCAL: &str = "local";
/// The module as which the go command knows Go's own releases.
const TOOLCHAIN: &str = "golang.org/toolchain";

/// Asks for the versions of what the matrix measures.
pub(super) async fn available(go: &Go, named: &[String]) -> Result<Available> {
    let versions = match &go.subject {
        GoSubject::Module(module) => of_module(module, named).await?,
        GoSubject::Toolchain => of_toolchain().await?,
    };
    Ok(Available::certain(versions))
}

/// Runs the go command with this toolchain.
pub(crate) async fn ask(
    toolchain: &str,
    args: &[&str],
    cwd: &Path,
    patience: Duration,
) -> Result<Captured> {
    let mut env = process::client_environment();
    env.extend(environment(toolchain));
    ask_with(env, "go", args, cwd, patience).await
}

/// Returns what the go command's environment has for a toolchain: no workspace above a folder may interfere, and
/// nothing may choose another toolchain by itself.
pub(crate) fn environment(toolchain: &str) -> [(String, String); 2] {
    [("GOWORK", "off"), ("GOTOOLCHAIN", toolchain)]
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
}

/// What the go command says of a module, or of one version of it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
struct Module {
    version: String,
    /// The version as it was asked for, where it was not the whole name.
    query: Option<String>,
    versions: Vec<String>,
    /// Why its authors took it back: a reason for each line of its `go.mod` that does so.
    retracted: Option<Vec<String>>,
    error: Option<serde_json::Value>,
}

/// Asks for the versions of a module.
///
/// A proxy lists only what it was asked for before, so versions asked for by name are looked up one by one. Those that
/// were retracted are looked up as well, for the reason.
async fn of_module(module: &str, named: &[String]) -> Result<Vec<Version>> {
    let (standing, all) = tokio::try_join!(
        listed(module, &["-versions"]),
        listed(module, &["-versions", "-retracted"])
    )?;
    let (standing, all) = (names(standing), names(all));
    let mut doubtful = unlisted(named, &all);
    doubtful.extend(all.into_iter().filter(|name| !standing.contains(name)));
    let mut versions: Vec<Version> = standing.iter().map(Version::listed).collect();
    if !doubtful.is_empty() {
        let known = looked_up(module, &doubtful).await?;
        versions.extend(known.into_iter().filter_map(version));
    }
    Ok(versions)
}

/// Asks for the versions of Go itself for this machine, all that the go command can fetch.
async fn of_toolchain() -> Result<Vec<Version>> {
    let platform = ["env", "GOHOSTOS", "GOHOSTARCH"];
    let platform = ask(LOCAL, &platform, Path::new("/"), PATIENCE).await?;
    let platform: Vec<&str> = platform.stdout.split_whitespace().collect();
    let names = names(listed(TOOLCHAIN, &["-versions"]).await?);
    let end = platform.join("-");
    Ok(names
        .iter()
        .filter_map(|name| toolchain(name, &end))
        .collect())
}

/// Asks what the go command lists of a module.
async fn listed(module: &str, flags: &[&str]) -> Result<Vec<Module>> {
    let args = [&["list", "-m", "-json"], flags, &["--", module]].concat();
    let captured = ask(LOCAL, &args, Path::new("/"), PATIENCE).await?;
    match failure(&captured.ended) {
        None => read(&captured.stdout).ok_or_else(|| refused(module, &captured, None)),
        Some(how) => Err(refused(module, &captured, Some(how))),
    }
}

/// Asks about single versions of a module; one that does not exist is told so in its place.
async fn looked_up(module: &str, names: &[String]) -> Result<Vec<Module>> {
    let queries: Vec<String> = names
        .iter()
        .map(|name| format!("{module}@{name}"))
        .collect();
    let mut args = vec!["list", "-m", "-json", "-e", "-retracted", "--"];
    args.extend(queries.iter().map(String::as_str));
    let captured = ask(LOCAL, &args, Path::new("/"), PATIENCE).await?;
    read(&captured.stdout).ok_or_else(|| refused(module, &captured, failure(&captured.ended)))
}

/// Reads the go command's answer, one JSON object after another.
fn read(stdout: &str) -> Option<Vec<Module>> {
    serde_json::Deserializer::from_str(stdout)
        .into_iter()
        .collect::<serde_json::Result<_>>()
        .ok()
}

fn names(modules: Vec<Module>) -> Vec<String> {
    modules
        .into_iter()
        .flat_map(|module| module.versions)
        .collect()
}

/// Returns the versions asked for by name that are not in the list, as the go command writes them.
fn unlisted(named: &[String], listed: &[String]) -> Vec<String> {
    let is_listed = |name: &String| {
        let mut listed = listed.iter();
        listed.any(|listed| Order::Semver.same(listed, name))
    };
    named
        .iter()
        .filter(|name| Version::semantic(name).is_some() && !is_listed(name))
        .map(|name| format!("v{}", name.strip_prefix('v').unwrap_or(name)))
        .collect()
}

/// Makes a version of what was looked up; none if it does not exist.
fn version(module: Module) -> Option<Version> {
    let found = module.error.is_none();
    let reasons = module.retracted.map(|reasons| reasons.join("; "));
    let withdrawn = reasons.map(|reason| match reason.as_str() {
        "" => "retracted".to_owned(),
        reason => format!("retracted: {reason}"),
    });
    found.then(|| Version {
        withdrawn,
        ..Version::listed(module.query.unwrap_or(module.version))
    })
}

/// Reads a version of Go from one of the module that its releases are published as, `v0.0.1-go1.21.13.linux-amd64`;
/// none if it is for another machine.
fn toolchain(name: &str, platform: &str) -> Option<Version> {
    let (_, name) = name.split_once("-go")?;
    let name = name.strip_suffix(platform)?.strip_suffix('.')?;
    Some(Version {
        semver: Some(semantic(name)?),
        ..Version::listed(name)
    })
}

/// Returns the semantic version that orders a release of Go: `1.22.0-rc.1` for `1.22rc1`, `1.20.0` for `1.20`.
fn semantic(name: &str) -> Option<semver::Version> {
    let is_release = |letter: char| letter.is_ascii_digit() || letter == '.';
    let (release, rest) = name.split_at(
        name.find(|letter| !is_release(letter))
            .unwrap_or(name.len()),
    );
    let mut numbers = release.split('.').map(str::parse);
    let mut number = || numbers.next().unwrap_or(Ok(0)).ok();
    let mut version = semver::Version::new(number()?, number()?, number()?);
    if let Some(digits) = rest.find(|letter: char| letter.is_ascii_digit()) {
        let (stage, number) = rest.split_at(digits);
        version.pre = semver::Prerelease::new(&format!("{stage}.{number}")).ok()?;
    }
    Some(version)
}

/// The error for a module that the go command lists no versions of.
fn refused(module: &str, captured: &Captured, how: Option<String>) -> Error {
    let error = Error::new(
        Kind::Source,
        format!("go could not list the versions of `{module}`"),
    );
    let said = first_complaint(captured).map(str::to_owned).or(how);
    said.into_iter().fold(error, Error::because).hint(format!(
        "see what `go list -m -versions {module}` says outside of any module"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn semantic_text(name: &str) -> Option<String> {
        semantic(name).map(|version| version.to_string())
    }

    #[test]
    fn a_release_of_go_has_a_place_in_semantic_order() {
        let places = [
            ("1.21.13", "1.21.13"),
            ("1.20", "1.20.0"),
            ("1.22rc1", "1.22.0-rc.1"),
            ("1.9.2rc2", "1.9.2-rc.2"),
            ("1.18beta1", "1.18.0-beta.1"),
        ];
        for (name, place) in places {
            assert_eq!(semantic_text(name).as_deref(), Some(place));
        }
        for name in ["", "tip", "1.x"] {
            assert_eq!(semantic_text(name), None);
        }
    }

    #[test]
    fn toolchains_of_other_machines_are_none() {
        let here = |name: &str| toolchain(name, "linux-amd64").map(|version| version.name);
        let name = here("v0.0.1-go1.21.13.linux-amd64");
        assert_eq!(name.as_deref(), Some("1.21.13"));
        let name = here("v0.0.1-go1.26rc1.linux-amd64");
        assert_eq!(name.as_deref(), Some("1.26rc1"));
        assert_eq!(here("v0.0.1-go1.21.13.linux-arm64"), None);
        assert_eq!(here("v0.0.1-go1.9rc2.windows-amd64"), None);
    }

    const LISTED: &str = r#"{
	"Path": "github.com/mattn/go-sqlite3",
	"Versions": [
		"v1.14.52",
		"v1.14.53"
	]
}
"#;

    const LOOKED_UP: &str = r#"{
	"Path": "github.com/mattn/go-sqlite3",
	"Version": "v2.0.3+incompatible",
	"Query": "v2.0.3",
	"Time": "2020-01-28T10:25:19Z",
	"Retracted": [
		"Accidental; no major changes or features."
	]
}
{
	"Path": "github.com/mattn/go-sqlite3",
	"Version": "v2.0.1+incompatible",
	"Retracted": [
		""
	]
}
{
	"Path": "github.com/mattn/go-sqlite3",
	"Version": "v9.9.9",
	"Error": {
		"Err": "github.com/mattn/go-sqlite3@v9.9.9: reading …: 404 Not Found"
	}
}
{
	"Path": "github.com/mattn/go-sqlite3",
	"Version": "v1.14.0"
}
"#;

    #[test]
    fn a_list_of_versions_is_read() {
        let modules = read(LISTED).unwrap();
        assert_eq!(names(modules), ["v1.14.52", "v1.14.53"]);
        assert_eq!(names(read("{\"Path\": \"x\"}").unwrap()).len(), 0);
        assert_eq!(read("go: not found"), None);
    }

    #[test]
    fn a_version_that_was_looked_up_exists_or_not_and_may_be_retracted() {
        let found = read(LOOKED_UP).unwrap().into_iter().filter_map(version);
        let found: Vec<(String, Option<String>)> = found
            .map(|version| (version.name, version.withdrawn))
            .collect();
        let reason = "retracted: Accidental; no major changes or features.";
        let expected = [
            ("v2.0.3", Some(reason)),
            ("v2.0.1+incompatible", Some("retracted")),
            ("v1.14.0", None),
        ];
        let expected = expected.map(|(name, why)| (name.to_owned(), why.map(str::to_owned)));
        assert_eq!(found, expected);
    }

    #[test]
    fn named_versions_that_are_not_listed_are_looked_up() {
        let named = |names: &[&str]| {
            names
                .iter()
                .map(|&name| name.to_owned())
                .collect::<Vec<_>>()
        };
        let listed = ["v1.32.0".to_owned()];
        let wanted = named(&["v1.31.0", "1.32.0", "1.33.0", "main"]);
        assert_eq!(unlisted(&wanted, &listed), ["v1.31.0", "v1.33.0"]);
        assert!(unlisted(&[], &listed).is_empty());
    }
}
