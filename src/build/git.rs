//! Checking one commit out of a repository. Edge.

use super::{Bench, Fetched, OrStop};
use crate::error::{Error, Kind};
use crate::matrix::Git;
use crate::version::Version;

/// Returns what tells one version from all others.
pub(super) fn identity(_git: &Git, version: &Version) -> Vec<String> {
    vec!["git".to_owned(), version.name.clone()]
}

/// Gets the version, ready for the steps.
#[expect(clippy::unused_async, reason = "it will fetch")]
pub(super) async fn fetch(_bench: &Bench<'_>, _git: &Git) -> OrStop<Fetched> {
    Err(Error::new(Kind::Source, "this kind of source cannot be built yet").into())
}
