//! Building with one version of a Go module, or of Go itself. Edge.

use super::{Bench, Fetched, OrStop, Workshop};
use crate::error::{Error, Kind, Result};
use crate::matrix::Go;
use crate::version::Version;

/// Returns what tells one version from all others.
#[expect(clippy::unused_async, reason = "it will hash the server's folder")]
pub(super) async fn identity(_shop: &Workshop, _go: &Go, version: &Version) -> Result<Vec<String>> {
    Ok(vec!["go".to_owned(), version.name.clone()])
}

/// Returns what the tools say of their own versions.
#[expect(clippy::unused_async, reason = "it will ask the tools")]
pub(super) async fn toolchain(_shop: &Workshop, _go: &Go) -> Result<Vec<String>> {
    Ok(Vec::new())
}

/// Gets the version, ready for the steps.
#[expect(clippy::unused_async, reason = "it will fetch")]
pub(super) async fn fetch(_bench: &Bench<'_>, _go: &Go) -> OrStop<Fetched> {
    Err(Error::new(Kind::Source, "this kind of source cannot be built yet").into())
}
