//! Where versions come from. Edge.
//!
//! Registries are asked only through their own clients, so that a user's mirror, proxy and credentials work. What is
//! returned is every version that exists; which of them are wanted, and in what order, is decided elsewhere.

mod crates;
pub(crate) mod git;
pub(crate) mod go;
mod list;
mod maven;
mod npm;
mod path;
pub(crate) mod pypi;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::error::{Error, Kind, Result};
use crate::matrix::{Folder, Installer, Matrix, Npm, SourceKind};
use crate::process::{self, Captured, Ended, Spec};
use crate::version::Version;
pub(crate) use npm::{Refusal, refusal};

/// How long a registry's client may take to answer a question.
pub(crate) const PATIENCE: Duration = Duration::from_mins(2);

/// The versions that a source has.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Available {
    /// Their names as the source writes them and what it says of them, in its own order.
    pub versions: Vec<Version>,
    /// What a user should know of how they were found.
    pub warnings: Vec<String>,
}

impl Available {
    fn certain(versions: Vec<Version>) -> Self {
        Self {
            versions,
            warnings: Vec::new(),
        }
    }

    fn named(names: Vec<String>) -> Self {
        Self::certain(names.into_iter().map(Version::listed).collect())
    }
}

/// Returns the versions that the matrix's source has. `named` are those that are asked for by name, and `cache` is the
/// folder of fetched and built versions.
pub async fn available(matrix: &Matrix, named: &[String], cache: &Path) -> Result<Available> {
    let dir = matrix.dir.as_path();
    match &matrix.source.kind {
        SourceKind::Crates(crates) => crates::available(&crates.package, dir).await,
        SourceKind::Npm(npm) => npm::available(&npm.package, dir).await,
        SourceKind::Pypi(pypi) => pypi::available(pypi, dir).await,
        SourceKind::Go(go) => go::available(go, named).await,
        SourceKind::Maven(maven) => maven::available(maven, dir).await,
        SourceKind::Git(git) => git::available(git, matrix.source.order, cache).await,
        SourceKind::Url(url) => Ok(Available::named(url.sha256.keys().cloned().collect())),
        // It is told by its own name, whatever else lies beside it.
        SourceKind::Path(path) if path.copied.is_some() => Ok(Available::named(named.to_vec())),
        SourceKind::Path(path) => path::names(&path.dir).map(Available::named),
        SourceKind::Attach(attach) => {
            let all = attach.addresses.iter().map(|(name, _)| name.clone());
            Ok(Available::named(all.collect()))
        }
        SourceKind::List(list) => list::available(list, &matrix.source.versions, dir).await,
    }
}

/// Returns the programs that fetching and building from a source needs.
fn tools(kind: &SourceKind) -> Vec<String> {
    let tools: &[&str] = match kind {
        SourceKind::Crates(_) => &["cargo", "rustc", "cc"],
        SourceKind::Npm(Npm { server: None, .. }) => &["npm"],
        SourceKind::Npm(_) => &["npm", "node"],
        SourceKind::Pypi(pypi) => match pypi.installer {
            Installer::Pip => &[&pypi.python],
            Installer::Uv => &[&pypi.python, "uv"],
        },
        SourceKind::Go(_) => &["go"],
        SourceKind::Maven(_) => &["mvn", "java"],
        SourceKind::Git(_) => &["git"],
        SourceKind::Url(_) | SourceKind::Path(_) | SourceKind::Attach(_) | SourceKind::List(_) => {
            &[]
        }
    };
    tools.iter().map(|&tool| tool.to_owned()).collect()
}

/// Returns the programs that a matrix needs, its own steps and start apart.
pub fn tools_of(matrix: &Matrix) -> Vec<String> {
    let mut tools = tools(&matrix.source.kind);
    let has_programs = matrix.axes.iter().any(|axis| axis.from.is_some());
    let npm = "npm".to_owned();
    if has_programs && !tools.contains(&npm) {
        tools.push(npm);
    }
    if !matrix.build.patches.is_empty() {
        tools.push("patch".to_owned());
    }
    tools
}

/// Finds the entry of a path source that a version's name stands for; none if there is no such entry.
pub fn path_entry(path: &Folder, name: &str) -> Result<Option<PathBuf>> {
    match path.copied {
        Some(_) => Ok(path::folder(&path.dir, name)),
        None => path::entry(&path.dir, name),
    }
}

/// Runs a registry's client and returns what it said; a client that cannot be started is the machine's fault.
pub(crate) async fn ask(
    program: &str,
    args: &[&str],
    cwd: &Path,
    patience: Duration,
) -> Result<Captured> {
    ask_with(process::client_environment(), program, args, cwd, patience).await
}

/// Does so with an environment of its own.
pub(crate) async fn ask_with(
    env: BTreeMap<String, String>,
    program: &str,
    args: &[&str],
    cwd: &Path,
    patience: Duration,
) -> Result<Captured> {
    let spec = Spec {
        program: program.to_owned(),
        args: args.iter().map(|&arg| arg.to_owned()).collect(),
        cwd: cwd.to_owned(),
        env,
        ..Spec::default()
    };
    let captured = process::capture(&spec, patience).await?;
    if let Ended::NotStarted(reason) = &captured.ended {
        return Err(cannot_start(program, reason));
    }
    Ok(captured)
}

/// Returns what a tool of the machine prints about itself; it must end well.
pub(crate) async fn told(program: &str, args: &[&str], cwd: &Path) -> Result<String> {
    let captured = ask(program, args, cwd, PATIENCE).await?;
    let Some(how) = failure(&captured.ended) else {
        return Ok(captured.stdout);
    };
    let line = format!("{program} {}", args.join(" "));
    let error = Error::new(Kind::Machine, format!("`{line}` failed: {how}"));
    let said = captured.stderr.trim();
    let error = if said.is_empty() {
        error
    } else {
        error.because(said)
    };
    Err(error.hint(format!("run `{line}` in {}", cwd.display())))
}

/// The error for a program of the machine that cannot be started.
pub(crate) fn cannot_start(program: &str, reason: &str) -> Error {
    Error::new(
        Kind::Machine,
        format!("`{program}` is needed and cannot be started"),
    )
    .because(reason)
    .hint(format!(
        "install `{program}` or put it on PATH; `harness doctor` lists what is there"
    ))
}

/// Says in a few words how a client ended other than well; none if it ended well.
pub(crate) fn failure(ended: &Ended) -> Option<String> {
    match ended {
        Ended::Code(0) => None,
        Ended::Code(code) => Some(format!("it ended with exit code {code}")),
        Ended::Signal(signal) => Some(format!("it was ended by signal {signal}")),
        Ended::TimedOut => Some("it did not end in time".to_owned()),
        Ended::OverLimit(limit) => Some(format!("it {limit}")),
        Ended::NotStarted(reason) => Some(format!("it could not be started: {reason}")),
    }
}

/// Returns the first line that a client complained with.
pub(crate) fn first_complaint(captured: &Captured) -> Option<&str> {
    let lines = captured.stderr.lines().map(str::trim);
    lines
        .filter(|line| !line.is_empty())
        .find(|line| !line.to_lowercase().starts_with("warning"))
}
