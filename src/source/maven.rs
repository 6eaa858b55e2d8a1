//! The versions of a Maven artifact. Edge only by the program that it runs.

use std::path::Path;

use super::Available;
use crate::error::{Error, Kind, Result};
use crate::matrix::Maven;

/// Asks for the versions.
#[expect(clippy::unused_async, reason = "it will ask the registry's client")]
pub(super) async fn available(_maven: &Maven, _dir: &Path) -> Result<Available> {
    Err(Error::new(
        Kind::Source,
        "this kind of source cannot be asked yet",
    ))
}
