//! Downloads: gone on with where they broke off, checked, and kept by their content. Edge.

#![expect(
    clippy::disallowed_methods,
    reason = "it pauses between two connections"
)]

mod answer;
mod shelf;
mod transfer;

use std::path::PathBuf;
use std::time::Duration;

use super::folder::cannot;
use super::{Bench, OrStop, Stop, blocking, log};
use crate::error::{Error, Result};
use crate::outcome::{Class, Gap, GapKind};
use shelf::Shelf;
use transfer::Line;

/// How often one fetch goes on with a file whose connections break; each of them must have brought something.
const CONNECTIONS: u32 = 10;
/// The pause before the next of them.
const PAUSE: Duration = Duration::from_millis(200);

/// A file to fetch.
#[derive(Debug, Clone)]
pub(super) struct Wanted {
    /// Its address.
    pub(super) url: String,
    /// The address for a person to read, without what the environment adds to it, which may be secret.
    pub(super) shown: String,
    /// Its checksum, 64 small hexadecimal digits.
    pub(super) sha256: String,
}

/// A fetched file. As long as this lives, nobody else touches it.
#[derive(Debug)]
pub(super) struct Kept {
    /// Where it is.
    pub(super) path: PathBuf,
    #[expect(dead_code, reason = "it is held, not read")]
    shelf: Shelf,
}

/// Why a connection did not bring the whole file.
#[derive(Debug)]
enum Break {
    /// It ended too early, or was never made; so many bytes came.
    Passing { why: String, received: u64 },
    /// What was there of the file does not fit the server's answer, and must go.
    Changed(&'static str),
    /// Trying again would not help.
    Lasting {
        kind: GapKind,
        class: Class,
        why: String,
    },
    /// This machine or the matrix is to blame.
    Error(Error),
}

/// What is done after a connection.
enum Next {
    Done,
    Again(String),
}

/// Fetches a file, unless it has been fetched before.
///
/// What has come of it stays in the cache until the rest comes, in this build or a later one.
pub(super) async fn fetch(bench: &Bench<'_>, wanted: &Wanted) -> OrStop<Kept> {
    let folder = bench.shop.cache.join("downloads");
    let shelf = Shelf::lock(&folder, &wanted.sha256).await?;
    if !is_kept(&shelf).await? {
        get(bench, &shelf, wanted).await?;
    }
    let path = shelf.kept.clone();
    Ok(Kept { path, shelf })
}

/// Returns whether the right file is there already. One that has changed since is deleted.
async fn is_kept(shelf: &Shelf) -> Result<bool> {
    let shelf = shelf.clone();
    blocking(move || shelf.is_kept()).await
}

/// Fetches the file over as many connections as it takes, and holds it against its checksum.
async fn get(bench: &Bench<'_>, shelf: &Shelf, wanted: &Wanted) -> OrStop<()> {
    let mut was_resumed = false;
    note(bench, &format!("$ fetch {}", wanted.shown))?;
    for number in 1..=CONNECTIONS {
        let ended = one_connection(bench.time_left(), shelf, wanted).await;
        was_resumed |= matches!(ended, Ok(true));
        match next(bench, shelf, wanted, (ended, was_resumed)).await? {
            Next::Done => return Ok(()),
            Next::Again(why) if number == CONNECTIONS || bench.time_left().is_zero() => {
                return Err(unreached(bench, wanted, &why).into());
            }
            Next::Again(why) => note(bench, &format!("{why}; trying again"))?,
        }
        tokio::time::sleep(PAUSE).await;
    }
    Ok(())
}

/// Decides what comes after a connection: nothing if it has brought the right file, or another one if that may help.
async fn next(
    bench: &Bench<'_>,
    shelf: &Shelf,
    wanted: &Wanted,
    (ended, was_resumed): (std::result::Result<bool, Break>, bool),
) -> OrStop<Next> {
    match ended {
        Ok(_) => check(bench, shelf, wanted, was_resumed).await,
        Err(Break::Changed(why)) => {
            shelf.forget()?;
            Ok(Next::Again(why.to_owned()))
        }
        Err(Break::Passing { why, received }) if received > 0 => Ok(Next::Again(why)),
        Err(Break::Passing { why, .. }) => Err(unreached(bench, wanted, &why).into()),
        Err(Break::Lasting { kind, class, why }) => {
            let cause = format!("{} could not be fetched: {why}", wanted.shown);
            let gap = Gap::new(kind, cause).with_class(class);
            Err(gap.with_log(&bench.folder.log).into())
        }
        Err(Break::Error(error)) => Err(error.into()),
    }
}

/// Lets one connection bring what it can. Returns whether it went on with what was there.
async fn one_connection(
    time: Duration,
    shelf: &Shelf,
    wanted: &Wanted,
) -> std::result::Result<bool, Break> {
    let line = Line::new(&wanted.url, time);
    let (agent, shelf, wanted) = (line.agent(), shelf.clone(), wanted.clone());
    blocking(move || transfer::receive(&agent, &shelf, &wanted)).await
}

/// Keeps the file if its checksum is right, and deletes it if not: nothing of a wrong file is built on.
async fn check(
    bench: &Bench<'_>,
    shelf: &Shelf,
    wanted: &Wanted,
    was_resumed: bool,
) -> OrStop<Next> {
    let held = shelf.clone();
    let Some((found, size)) = blocking(move || held.keep()).await? else {
        return Ok(Next::Done);
    };
    shelf.forget()?;
    if was_resumed {
        return Ok(Next::Again("its pieces do not fit together".to_owned()));
    }
    let cause = format!(
        "{} has the SHA-256 {found} and not {} ({size} bytes came)",
        wanted.shown, wanted.sha256
    );
    let gap = Gap::new(GapKind::Checksum, cause);
    Err(gap.with_log(&bench.folder.log).into())
}

/// The gap of a file that did not come, and may come another time.
fn unreached(bench: &Bench<'_>, wanted: &Wanted, why: &str) -> Gap {
    let cause = format!("{} could not be fetched: {why}", wanted.shown);
    Gap::new(GapKind::Network, cause).with_log(&bench.folder.log)
}

/// Writes a line into the build's log.
fn note(bench: &Bench<'_>, line: &str) -> OrStop<()> {
    let path = &bench.folder.log;
    let written = log::append(path, &format!("{line}\n"));
    written.map_err(|error| Stop::Error(cannot("write", path, error)))?;
    Ok(())
}
