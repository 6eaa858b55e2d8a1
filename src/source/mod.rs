//! Where versions come from. Edge.
//!
//! Registries are asked only through their own clients, so that a user's mirror, proxy and credentials work. What is
//! returned is every version that exists; which of them are wanted, and in what order, is decided elsewhere.

mod crates;
mod list;
mod npm;
mod path;

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::error::{Error, Kind, Result};
use crate::matrix::{Matrix, SourceKind};
use crate::process::{self, Captured, Ended, Spec};
pub(crate) use npm::{Refusal, refusal};

/// How long a registry's client may take to answer a question.
pub(crate) const PATIENCE: Duration = Duration::from_mins(2);

/// The versions that a source has.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Available {
    /// Their names as the source writes them, in its own order.
    pub names: Vec<String>,
    /// What a user should know of how they were found.
    pub warnings: Vec<String>,
}

impl Available {
    fn certain(names: Vec<String>) -> Self {
        Self {
            names,
            warnings: Vec::new(),
        }
    }
}

/// Returns the versions that the matrix's source has.
pub async fn available(matrix: &Matrix) -> Result<Available> {
    match &matrix.source.kind {
        SourceKind::Crates { package, .. } => crates::available(package, &matrix.dir).await,
        SourceKind::Npm { package } => npm::available(package, &matrix.dir).await,
        SourceKind::List => Ok(Available::certain(list::names(&matrix.source.versions))),
        SourceKind::Path { dir } => path::names(dir).map(Available::certain),
    }
}

/// Returns the programs that fetching and building from a source needs, the matrix's own steps apart.
pub fn tools(kind: &SourceKind) -> &'static [&'static str] {
    match kind {
        SourceKind::Crates { .. } => &["cargo", "rustc", "cc"],
        SourceKind::Npm { .. } => &["npm"],
        SourceKind::List | SourceKind::Path { .. } => &[],
    }
}

/// Finds the entry of a path source that a version's name stands for; none if there is no such entry.
pub fn path_entry(dir: &Path, name: &str) -> Result<Option<PathBuf>> {
    path::entry(dir, name)
}

/// Runs a registry's client and returns what it said; a client that cannot be started is the machine's fault.
pub(crate) async fn ask(
    program: &str,
    args: &[&str],
    cwd: &Path,
    patience: Duration,
) -> Result<Captured> {
    let spec = Spec {
        program: program.to_owned(),
        args: args.iter().map(|&arg| arg.to_owned()).collect(),
        cwd: cwd.to_owned(),
        env: process::base_environment(),
        cpus: Vec::new(),
    };
    let captured = process::capture(&spec, patience).await?;
    if let Ended::NotStarted(reason) = &captured.ended {
        return Err(cannot_start(program, reason));
    }
    Ok(captured)
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
        Ended::NotStarted(reason) => Some(format!("it could not be started: {reason}")),
    }
}
