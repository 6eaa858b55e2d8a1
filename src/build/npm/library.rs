//! Installing one version of an npm package beside the server that uses it. Edge.

#![expect(
    clippy::disallowed_methods,
    reason = "it copies npm's settings and reads what npm installed"
)]

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::build::folder::cannot;
use crate::build::{
    Bench, Fetched, OrStop, Stop, Workshop, blocking, dependencies, log, steps, tree,
};
use crate::error::Result;
use crate::matrix::{Build, Npm};
use crate::process::{self, Captured, Ended, Spec};
use crate::source;

/// The manifest of a server that has none; without one npm would look for one in the folders above.
const MANIFEST: &str = "{ \"name\": \"server\", \"private\": true }\n";
/// npm's settings of a project.
const SETTINGS: &str = ".npmrc";

/// Returns what decides an installation beside the package's own version.
pub(super) async fn identity(shop: &Workshop, npm: &Npm, server: &Path) -> Result<Vec<String>> {
    let mut identity = vec![
        file_name(server),
        shop.hash(server, tree::node_project).await?,
        npm.with.join(" "),
        format!("scripts: {}", npm.scripts),
    ];
    if let Some(settings) = settings(shop, server).await? {
        identity.push(shop.hash(&settings, tree::everything).await?);
    }
    Ok(identity)
}

fn file_name(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default();
    name.to_string_lossy().into_owned()
}

/// Copies the server and lets npm install the package beside it.
pub(super) async fn fetch(bench: &Bench<'_>, npm: &Npm, server: &Path) -> OrStop<Fetched> {
    let settings = settings(bench.shop, server).await?;
    let (from, work) = (server.to_owned(), bench.folder.work.clone());
    blocking(move || {
        copy(&from, settings.as_deref(), &work).map_err(|error| cannot("copy", &from, error))
    })
    .await?;
    install(bench, npm).await?;
    let modules = bench.folder.work.join("node_modules");
    Ok(Fetched {
        src: modules.join(&npm.package),
        ..bench.nothing_fetched()
    })
}

/// Finds npm's settings for the place where the server lies, where they are not among what is copied with it: npm looks
/// for them in the project's folder only, which may be above the server's.
async fn settings(shop: &Workshop, server: &Path) -> Result<Option<PathBuf>> {
    let folder = if server.is_dir() {
        server
    } else {
        server.parent().unwrap_or(server)
    };
    let question = format!("npm prefix in {}", folder.display());
    let prefix = source::told("npm", &["prefix"], folder);
    let prefix = shop.memo.once(question, prefix).await?;
    let settings = Path::new(prefix.trim()).join(SETTINGS);
    Ok(settings.is_file().then_some(settings))
}

/// Copies the server: a folder's content, or a file under its own name.
fn copy(server: &Path, settings: Option<&Path>, work: &Path) -> io::Result<()> {
    if server.is_dir() {
        tree::copy(server, work, tree::node_project)?;
    } else {
        tree::copy(server, &work.join(file_name(server)), tree::everything)?;
    }
    if let Some(settings) = settings {
        fs::copy(settings, work.join(SETTINGS))?;
    }
    let manifest = work.join("package.json");
    if !manifest.is_file() {
        fs::write(manifest, MANIFEST)?;
    }
    Ok(())
}

/// Lets npm install the package, and those named with it, in the work folder.
async fn install(bench: &Bench<'_>, npm: &Npm) -> OrStop<()> {
    let package = format!("{}@{}", npm.package, bench.cell.version.name);
    let words = ("npm".to_owned(), arguments(npm, &package));
    // Without the logins of the environment: npm prepares a package that comes from git by running what is in it, with
    // install scripts off too.
    let spec = steps::fetch_spec(bench, words, &bench.folder.work);
    let captured = process::capture(&spec, bench.time_left()).await?;
    let said = format!("$ npm {}\n{}", spec.args.join(" "), captured.stderr);
    let log = &bench.folder.log;
    log::append(log, &said).map_err(|error| cannot("write", log, error))?;
    if captured.ended == Ended::Code(0) {
        return Ok(());
    }
    Err(failed(&spec, &package, &captured, &bench.matrix.build).with_log(log))
}

fn arguments(npm: &Npm, package: &str) -> Vec<String> {
    let options = [
        "install",
        "--json",
        "--save-exact",
        "--no-audit",
        "--no-fund",
    ];
    let mut words = options.to_vec();
    words.push("--no-update-notifier");
    if !npm.scripts {
        words.push("--ignore-scripts");
    }
    words.extend(["--", package]);
    words.extend(npm.with.iter().map(String::as_str));
    words.into_iter().map(str::to_owned).collect()
}

/// Judges how an installation failed: the fetch's fault where npm reports one, otherwise what its words tell.
fn failed(spec: &Spec, package: &str, captured: &Captured, build: &Build) -> Stop {
    let refusal = source::refusal(&captured.stdout);
    if let Some(gap) = refusal
        .as_ref()
        .and_then(|refusal| super::refused(package, refusal))
    {
        return gap.into();
    }
    // What a script printed stands in the report as it was, and on stderr behind a mark on each line.
    let script = refusal.filter(|refusal| refusal.code.parse::<i32>().is_ok());
    let said = script.map_or_else(|| captured.stderr.clone(), |refusal| refusal.detail);
    steps::failed(spec, &captured.ended, &said, build)
}

/// Returns the packages that npm installed, from the list that it leaves beside them.
pub(super) fn dependencies(work: &Path) -> BTreeMap<String, String> {
    let list = tree::read_left(&work.join("node_modules/.package-lock.json"));
    list.map_or_else(BTreeMap::new, |text| listed(&text))
}

/// Reads npm's list; a text that is none lists nothing.
fn listed(text: &str) -> BTreeMap<String, String> {
    #[derive(Deserialize)]
    struct Lock {
        packages: BTreeMap<String, Package>,
    }
    #[derive(Deserialize)]
    struct Package {
        name: Option<String>,
        version: Option<String>,
    }
    let lock: Option<Lock> = serde_json::from_str(text).ok();
    let packages = lock.into_iter().flat_map(|lock| lock.packages);
    dependencies::gather(packages.filter_map(|(path, package)| {
        // It names itself only where it is installed under another name.
        let (_, name) = path.rsplit_once("node_modules/")?;
        let name = package.name.unwrap_or_else(|| name.to_owned());
        Some((name, package.version?))
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outcome::{Class, Gap, GapKind, Stage};

    fn npm(scripts: bool, with: &[&str]) -> Npm {
        Npm {
            package: "restify".to_owned(),
            server: Some(PathBuf::from("/m/server")),
            scripts,
            with: with.iter().map(|&word| word.to_owned()).collect(),
        }
    }

    fn judged(stdout: &str, stderr: &str, ended: Ended) -> Gap {
        let spec = Spec {
            program: "npm".to_owned(),
            args: arguments(&npm(true, &[]), "uws@0.12.0"),
            cwd: PathBuf::from("/work"),
            ..Spec::default()
        };
        let captured = Captured {
            ended,
            stdout: stdout.to_owned(),
            stderr: stderr.to_owned(),
        };
        match failed(&spec, "uws@0.12.0", &captured, &steps::tests::build()) {
            Stop::Gap(gap) | Stop::Limit(gap) => gap,
            Stop::Error(error) => panic!("{error}"),
        }
    }

    #[test]
    fn scripts_are_off_unless_they_are_asked_for_and_companions_come_last() {
        let off = arguments(&npm(false, &["formidable@2"]), "restify@8.5.1");
        let (_, packages) = off.split_at(off.len() - 3);
        assert_eq!(packages, ["--", "restify@8.5.1", "formidable@2"]);
        let scripts = "--ignore-scripts".to_owned();
        assert!(off.contains(&scripts));
        assert!(!arguments(&npm(true, &[]), "restify@8.5.1").contains(&scripts));
    }

    #[test]
    fn a_file_keeps_its_name_and_gets_a_manifest_and_a_folder_leaves_its_modules_behind() {
        let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        fs::create_dir_all(from.path().join("node_modules/x")).unwrap();
        fs::write(from.path().join("hello.js"), "//").unwrap();
        fs::write(from.path().join("package.json"), "{\"own\": 1}").unwrap();
        let rc = from.path().join("above.npmrc");
        fs::write(&rc, "save=false\n").unwrap();
        copy(&from.path().join("hello.js"), Some(&rc), to.path()).unwrap();
        let read = |name: &str| fs::read_to_string(to.path().join(name)).unwrap();
        assert_eq!(
            (read("hello.js").as_str(), read("package.json").as_str()),
            ("//", MANIFEST)
        );
        assert_eq!(read(".npmrc"), "save=false\n");
        let to = tempfile::tempdir().unwrap();
        copy(from.path(), None, to.path()).unwrap();
        let manifest = fs::read_to_string(to.path().join("package.json")).unwrap();
        assert_eq!(manifest, "{\"own\": 1}");
        assert!(!to.path().join("node_modules").exists());
    }

    #[test]
    fn a_missing_version_is_a_gap_of_the_fetch_in_npms_words() {
        let report = r#"{"error": {"code": "ETARGET", "summary": "No matching version found for uws@0.12.0.",
            "detail": "In most cases you or one of your dependencies are requesting a package version that doesn't exist."}}"#;
        let gap = judged(report, "npm error code ETARGET\n", Ended::Code(1));
        assert_eq!((gap.stage, gap.kind), (Stage::Fetch, GapKind::NotFound));
        assert_eq!(
            gap.cause,
            "npm could not fetch uws@0.12.0: No matching version found for uws@0.12.0."
        );
    }

    #[test]
    fn a_script_that_failed_shows_its_own_error() {
        let report = r#"{"error": {"code": 1, "summary": "command failed",
            "detail": "sh -c node install.js\n/w/install.js:2\nthrow new TypeError('no prebuilt')\n^\n\nTypeError: no prebuilt\n    at x"}}"#;
        let gap = judged(report, "npm error code 1\n", Ended::Code(1));
        assert_eq!(
            (gap.stage, gap.kind, gap.class),
            (Stage::Build, GapKind::Failed, Class::Permanent)
        );
        assert_eq!(
            gap.cause,
            "exception: TypeError: no prebuilt, at install.js:2"
        );
    }

    #[test]
    fn packages_that_do_not_fit_each_other_are_a_failed_build() {
        let report = r#"{"error": {"code": "ERESOLVE", "summary": "unable to resolve dependency tree", "detail": ""}}"#;
        let said = "npm error code ERESOLVE\nnpm error ERESOLVE unable to resolve dependency tree\nnpm error\n\
            npm error While resolving: server@undefined\nnpm error Found: react@17.0.2\n";
        let gap = judged(report, said, Ended::Code(1));
        assert_eq!((gap.stage, gap.kind), (Stage::Build, GapKind::Failed));
        assert!(
            gap.cause.contains("unable to resolve dependency tree"),
            "{}",
            gap.cause
        );
    }

    #[test]
    fn an_installation_over_its_time_is_a_timeout() {
        let gap = judged("", "", Ended::TimedOut);
        assert_eq!(gap.kind, GapKind::Timeout);
        assert_eq!(
            gap.cause,
            "`npm install` did not end: the build may take 600 s"
        );
    }

    #[test]
    fn every_installed_package_is_listed_by_its_own_name_with_all_its_versions() {
        let text = r#"{
            "name": "work", "lockfileVersion": 3, "requires": true,
            "packages": {
                "node_modules/@hapi/hoek": {"version": "11.0.7"},
                "node_modules/debug": {"version": "2.6.9"},
                "node_modules/finalhandler/node_modules/debug": {"version": "10.0.0"},
                "node_modules/send/node_modules/debug": {"version": "2.6.9"},
                "node_modules/old": {"name": "express", "version": "4.21.2"},
                "node_modules/mine": {"link": true, "resolved": "packages/mine"}
            }
        }"#;
        let listed: Vec<(String, String)> = listed(text).into_iter().collect();
        let pair = |name: &str, version: &str| (name.to_owned(), version.to_owned());
        assert_eq!(
            listed,
            [
                pair("@hapi/hoek", "11.0.7"),
                pair("debug", "2.6.9, 10.0.0"),
                pair("express", "4.21.2"),
            ]
        );
        assert!(super::listed("no list").is_empty());
    }
}
