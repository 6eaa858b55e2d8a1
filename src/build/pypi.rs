//! Installing one version of a Python package into a virtual environment. Edge.

use super::{Bench, Fetched, OrStop, Workshop};
use crate::error::{Error, Kind, Result};
use crate::matrix::Pypi;
use crate::version::Version;

/// Returns what tells one version from all others.
pub(super) fn identity(_pypi: &Pypi, version: &Version) -> Vec<String> {
    vec!["pypi".to_owned(), version.name.clone()]
}

/// Returns what the tools say of their own versions.
#[expect(clippy::unused_async, reason = "it will ask the tools")]
pub(super) async fn toolchain(_shop: &Workshop, _pypi: &Pypi) -> Result<Vec<String>> {
    Ok(Vec::new())
}

/// Gets the version, ready for the steps.
#[expect(clippy::unused_async, reason = "it will fetch")]
pub(super) async fn fetch(_bench: &Bench<'_>, _pypi: &Pypi) -> OrStop<Fetched> {
    Err(Error::new(Kind::Source, "this kind of source cannot be built yet").into())
}
