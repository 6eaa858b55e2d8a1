//! The versions in a git repository. Edge.

use std::path::Path;

use super::Available;
use crate::error::{Error, Kind, Result};
use crate::matrix::Git;

/// Fetches the repository's mirror into the cache and lists its versions.
#[expect(clippy::unused_async, reason = "it will fetch")]
pub(super) async fn available(_git: &Git, _cache: &Path) -> Result<Available> {
    Err(Error::new(
        Kind::Source,
        "this kind of source cannot be asked yet",
    ))
}
