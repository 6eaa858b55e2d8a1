//! A checkout of the user's: what is checked out in it, and what git has written down of a bisection. It is only read. Edge.

#![expect(
    clippy::disallowed_methods,
    reason = "it reads what git has written down of a bisection"
)]

use std::path::{Path, PathBuf};

use git2::{Commit, Repository, StatusOptions};

use super::history::{DIGITS, version};
use crate::error::{Error, Kind, Result};
use crate::step::Bisection;
use crate::version::Version;

/// A checkout of the user's.
pub(crate) struct Checkout {
    repository: Repository,
    /// Its folder.
    pub(crate) root: PathBuf,
}

impl Checkout {
    /// Finds the checkout that a folder lies in; none where it lies in none.
    pub(crate) fn around(folder: &Path) -> Option<Self> {
        let repository = Repository::discover(folder).ok()?;
        let root = repository.workdir()?.canonicalize().ok()?;
        Some(Self { repository, root })
    }

    /// Returns the commit that is checked out.
    pub(crate) fn head(&self) -> Result<Version> {
        let commit = self
            .repository
            .head()
            .and_then(|head| head.peel_to_commit());
        let commit = commit.map_err(|error| {
            let message = format!("{} has no commit checked out", self.root.display());
            Error::new(Kind::Source, message)
                .because(error.message())
                .hint("run it in a checkout, as `git bisect run harness step` does")
        })?;
        Ok(named(&commit))
    }

    /// Returns whether files that git follows differ from that commit.
    pub(crate) fn is_modified(&self) -> bool {
        let mut options = StatusOptions::new();
        options.include_untracked(false).include_ignored(false);
        let statuses = self.repository.statuses(Some(&mut options));
        statuses.is_ok_and(|statuses| !statuses.is_empty())
    }

    /// Finds the commit that a person, or git itself, names.
    pub(crate) fn commit(&self, name: &str) -> Result<Version> {
        let found = self.repository.revparse_single(name);
        let commit = found.and_then(|object| object.peel_to_commit());
        let commit = commit.map_err(|error| {
            let message = format!("{} has no commit `{name}`", self.root.display());
            Error::new(Kind::Source, message)
                .because(error.message())
                .hint("name a tag, a branch or a commit of the repository that is checked out")
        })?;
        Ok(named(&commit))
    }

    /// Returns the bisection that is under way here, or was and is not reset yet.
    pub(crate) fn bisection(&self) -> Option<Bisection> {
        // A worktree has bisections of its own, and so has its own folder in the repository.
        let read = |name: &str| std::fs::read_to_string(self.repository.path().join(name)).ok();
        let log = read("BISECT_LOG")?;
        Some(Bisection::read(&log, read("BISECT_TERMS").as_deref()))
    }
}

fn named(commit: &Commit<'_>) -> Version {
    let name: String = commit.id().to_string().chars().take(DIGITS).collect();
    version(name, None, commit)
}
