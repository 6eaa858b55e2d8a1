//! Checking one commit out of the mirror. Edge only by the program that it runs.
//!
//! Each version has a whole repository of its own, so that tools that ask git for the version (`git describe`,
//! `setuptools_scm`) work in it and deleting its folder is all that it takes to be rid of it. It shares no file with the
//! mirror, though that would cost no room: a version's own code could change files of the mirror, and so other versions. A
//! worktree would have to be signed off at the mirror, and borrowed objects (`--shared`) would be lost with it.

use std::path::Path;

use super::diagnosis::{self, Nature};
use super::folder::cannot;
use super::{Bench, Fetched, OrStop, Stop, log};
use crate::error::{Error, Kind};
use crate::matrix::{Git, SourceKind};
use crate::outcome::{Gap, GapKind};
use crate::process::{Captured, Ended};
use crate::source::git::command::{complaint, git};
use crate::source::git::mirror::{Mirror, public};
use crate::version::Version;

/// Returns what tells one version from all others: its commit, and whether its submodules are there.
pub(super) fn identity(git: &Git, version: &Version) -> Vec<String> {
    let commit = version.commit.clone().unwrap_or_default();
    vec!["git".to_owned(), commit, git.submodules.to_string()]
}

/// Checks the version out, with `.git` and all; that folder is both `{src}` and `{work}`.
pub(super) async fn fetch(bench: &Bench<'_>, git: &Git) -> OrStop<Fetched> {
    let name = &bench.cell.version.name;
    let mirror = Mirror::of(&git.repository, &bench.shop.cache);
    let commit = bench.cell.version.commit.as_deref();
    let Some(commit) = commit.filter(|commit| mirror.has(commit)) else {
        return Err(Gap::new(GapKind::NotFound, format!("the repository has no {name}")).into());
    };
    clone(bench, git, &mirror).await?;
    check_out(bench, commit).await?;
    if git.submodules {
        for path in submodules(&bench.folder.work) {
            update(bench, &path).await?;
        }
    }
    let work = bench.folder.work.clone();
    Ok(Fetched {
        src: work,
        ..bench.nothing_fetched()
    })
}

/// Adds to a failed build of a repository that its submodules were never there, where that is so.
pub(super) fn explain(bench: &Bench<'_>, stop: Stop) -> Stop {
    let SourceKind::Git(git) = &bench.matrix.source.kind else {
        return stop;
    };
    match stop {
        Stop::Gap(mut gap)
            if gap.kind == GapKind::Failed
                && !git.submodules
                && !submodules(&bench.folder.work).is_empty() =>
        {
            let why = "its submodules were not fetched, which `submodules = true` in `[source.git]` would do";
            gap.cause = format!("{}; {why}", gap.cause);
            gap.into()
        }
        Stop::Gap(_) | Stop::Limit(_) | Stop::Error(_) => stop,
    }
}

/// Makes the version's own repository, with nothing checked out yet.
async fn clone(bench: &Bench<'_>, source: &Git, mirror: &Mirror) -> OrStop<()> {
    let _reading = mirror.read_lock().await?;
    let from = mirror.path().to_string_lossy();
    let args = [
        "clone",
        "--quiet",
        "--no-checkout",
        "--no-hardlinks",
        "--template=",
        "--config",
        "core.autocrlf=false",
        "--",
    ];
    let args: Vec<&str> = args.into_iter().chain([&*from, "."]).collect();
    if let Some(said) = complaint(&run(bench, &args).await?) {
        return Err(broken(mirror, &said).into());
    }
    // Submodules with relative addresses lie beside the repository, not beside its mirror. It is not logged: there may
    // be a password in it, which is nobody's business where there are none.
    let origin = if source.submodules {
        mirror.origin()
    } else {
        public(&mirror.origin())
    };
    let args = ["remote", "set-url", "--", "origin", &origin];
    match complaint(&git(&args, &bench.folder.work, bench.time_left()).await?) {
        Some(said) => Err(broken(mirror, &said).into()),
        None => Ok(()),
    }
}

/// Writes the files of a commit; one that git refuses to write, for its names say, is the version's fault.
async fn check_out(bench: &Bench<'_>, commit: &str) -> OrStop<()> {
    let captured = run(bench, &["checkout", "--quiet", "--detach", commit, "--"]).await?;
    let Some(said) = complaint(&captured) else {
        return Ok(());
    };
    let nature = diagnosis::diagnose(&captured.stderr).nature;
    let gap = Gap::new(
        GapKind::Unpack,
        format!("git could not check the commit out: {said}"),
    );
    Err(gap
        .with_class(nature.class())
        .with_log(&bench.folder.log)
        .into())
}

/// Fetches one submodule and those in it.
async fn update(bench: &Bench<'_>, path: &str) -> OrStop<()> {
    let args = [
        "submodule",
        "--quiet",
        "update",
        "--init",
        "--recursive",
        "--",
        path,
    ];
    let captured = run(bench, &args).await?;
    let Some(said) = complaint(&captured) else {
        return Ok(());
    };
    let diagnosis = diagnosis::diagnose(&captured.stderr);
    let kind = if diagnosis.nature == Nature::Network {
        GapKind::Network
    } else {
        GapKind::NotFound
    };
    let gap = Gap::new(
        kind,
        format!("the submodule `{path}` could not be fetched: {said}"),
    );
    Err(gap
        .with_errors(diagnosis.errors)
        .with_log(&bench.folder.log)
        .into())
}

/// Returns the paths at which a checkout has submodules, whether fetched or not.
fn submodules(checkout: &Path) -> Vec<String> {
    const SUBMODULE: u32 = 0o160_000;
    let index = git2::Repository::open(checkout).and_then(|repository| repository.index());
    let entries = index.iter().flat_map(git2::Index::iter);
    let paths = entries.filter(|entry| entry.mode == SUBMODULE);
    paths
        .map(|entry| String::from_utf8_lossy(&entry.path).into_owned())
        .collect()
}

/// Runs git in the checkout, with what it says in the build's log.
async fn run(bench: &Bench<'_>, args: &[&str]) -> OrStop<Captured> {
    let (log, timeout) = (&bench.folder.log, bench.matrix.build.timeout);
    let captured = git(args, &bench.folder.work, bench.time_left()).await?;
    let said = format!("$ git {}\n{}", args.join(" "), captured.stderr);
    log::append(log, &said).map_err(|error| cannot("write", log, error))?;
    if captured.ended == Ended::TimedOut {
        let cause = format!(
            "`git {}` did not end: the build may take {} s",
            args[0],
            timeout.as_secs()
        );
        return Err(Gap::new(GapKind::Timeout, cause).with_log(log).into());
    }
    Ok(captured)
}

/// The error for a mirror of ours that nothing can be got from.
fn broken(mirror: &Mirror, said: &str) -> Error {
    let path = mirror.path().display();
    Error::new(Kind::Machine, format!("could not clone the mirror {path}"))
        .because(said)
        .hint(format!("make room on the disk; if it is the mirror, delete it to have it fetched again: rm -r {path}"))
}
