//! The versions in a git repository: its tags, its branches, or each commit of a range.
//!
//! The `git` command brings the repository into a mirror of our own, with the user's credentials and proxies; git2 reads
//! the history there. The user's own checkout is only ever read from, and what is checked out or not committed in it
//! plays no part.

pub(crate) mod checkout;
pub(crate) mod command;
pub(crate) mod mirror;

mod history;

use std::path::Path;

use super::Available;
use crate::error::Result;
use crate::matrix::{Git, GitRefs};
use crate::version::Order;
use history::History;
use mirror::Mirror;

/// Brings the repository's mirror up to date and lists its versions.
///
/// It is asked each time, as a registry is: that costs one question to the server, and a mirror that is merely young
/// would hide the tag that somebody has just pushed.
pub(super) async fn available(git: &Git, order: Order, cache: &Path) -> Result<Available> {
    let mirror = Mirror::of(&git.repository, cache);
    let stale = mirror.refresh().await?;
    let _reading = mirror.read_lock().await?;
    let history = History::open(mirror.path())?;
    let mut available = match &git.refs {
        GitRefs::Tags(pattern) => history.tags(pattern, order == Order::Topo)?,
        GitRefs::Branches(names) => history.branches(names)?,
        GitRefs::Commits(range) => history.commits(range, git.first_parent)?,
    };
    available.warnings.extend(stale);
    available.warnings.extend(history.warning());
    Ok(available)
}

/// Returns of each of these commits, named by their whole hashes, the places among them of all that it grew out of. The mirror is
/// taken as it is.
pub(crate) async fn parents(git: &Git, cache: &Path, commits: &[&str]) -> Result<Vec<Vec<usize>>> {
    let mirror = Mirror::of(&git.repository, cache);
    let _reading = mirror.read_lock().await?;
    History::open(mirror.path())?.parents(commits)
}

/// Returns the whole hash of the commit that a person names.
pub(crate) async fn commit(git: &Git, cache: &Path, revision: &str) -> Result<String> {
    let mirror = Mirror::of(&git.repository, cache);
    let _reading = mirror.read_lock().await?;
    History::open(mirror.path())?.commit(revision)
}

/// Returns the commit that `HEAD` or one before it means, where the repository is a folder of this machine.
pub(crate) fn checked_out(git: &Git, revision: &str) -> Option<String> {
    let head = revision.starts_with("HEAD") || revision.starts_with('@');
    let repository = head.then(|| git2::Repository::open(&git.repository));
    let repository = repository?.ok()?;
    let commit = repository.revparse_single(revision).ok()?;
    Some(commit.peel_to_commit().ok()?.id().to_string())
}
