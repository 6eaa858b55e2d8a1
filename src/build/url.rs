//! Fetching one version from its address. Edge.

use super::{Bench, Fetched, OrStop};
use crate::error::{Error, Kind};
use crate::matrix::Url;
use crate::version::Version;

/// Returns what tells one version from all others.
pub(super) fn identity(_url: &Url, version: &Version) -> Vec<String> {
    vec!["url".to_owned(), version.name.clone()]
}

/// Gets the version, ready for the steps.
#[expect(clippy::unused_async, reason = "it will fetch")]
pub(super) async fn fetch(_bench: &Bench<'_>, _url: &Url) -> OrStop<Fetched> {
    Err(Error::new(Kind::Source, "this kind of source cannot be built yet").into())
}
