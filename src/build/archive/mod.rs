//! Unpacking archives that other people made. Edge.
//!
//! Nothing is written outside the folder, no entry is special, and no archive takes more of the machine than its size
//! justifies. What is refused leaves nothing behind.

#![expect(
    clippy::disallowed_methods,
    reason = "it reads archives and empties the folder of one that is refused"
)]

mod format;
mod meter;
mod place;
mod links;
mod tarball;
mod zipped;
#[cfg(test)]
mod tests;

use std::fs::{self, File};
use std::io::{self, BufReader};
use std::path::Path;
use std::rc::Rc;

use flate2::bufread::MultiGzDecoder;
use lzma_rust2::XzReader;

use super::Stop;
use super::folder::cannot;
use super::leash::Leash;
use crate::outcome::{Gap, GapKind};
use format::Format;
use meter::Meter;
use place::Place;

/// Memory that unpacking an `.xz` may take, KiB; `xz -9` needs a quarter of it.
const XZ_MEMORY: u32 = 256 << 10;
/// Characters of a name that a message shows.
const SHOWN: usize = 120;

/// Why an archive was not unpacked.
#[derive(Debug)]
pub(super) enum Flaw {
    /// The archive is to blame.
    Archive(String),
    /// This machine is: its disk is full, or does not let us write.
    Machine(io::Error),
    /// It was not done in time.
    Late,
}

impl Flaw {
    /// The flaw of an archive that could not be read to its end.
    fn broken(error: &io::Error) -> Self {
        let known = [
            (
                io::ErrorKind::OutOfMemory,
                "it takes too much memory to unpack",
            ),
            (io::ErrorKind::UnexpectedEof, "it is cut off"),
        ];
        let known = known.iter().find(|(kind, _)| *kind == error.kind());
        Self::Archive(known.map_or_else(|| error.to_string(), |(_, why)| (*why).to_owned()))
    }

    /// Says what it means for the build; `what` is the archive's name for a person.
    pub(super) fn stop(self, what: &str, archive: &Path, log: &Path) -> Stop {
        let (kind, cause) = match self {
            Self::Machine(error) => return cannot("unpack", archive, error).into(),
            Self::Archive(why) => (
                GapKind::Unpack,
                format!("{what} could not be unpacked: {why}"),
            ),
            Self::Late => (
                GapKind::Timeout,
                format!("{what} was not unpacked in the time that a build may take"),
            ),
        };
        Gap::new(kind, cause).with_log(log).into()
    }
}

/// What archives may cost.
#[derive(Debug, Clone)]
struct Limits {
    /// Bytes that any archive may unpack to.
    bytes: u64,
    /// Bytes that even the smallest may unpack to.
    least: u64,
    /// Bytes that each byte of an archive may unpack to.
    ratio: u64,
    entries: u64,
}

/// Sources of large projects unpack to a tenth of these, and programs to a hundredth of the ratio.
const LIMITS: Limits = Limits {
    bytes: 4 << 30,
    least: 64 << 20,
    ratio: 200,
    entries: 1_000_000,
};

/// What one archive may cost.
#[derive(Debug, Clone)]
struct Bounds {
    bytes: u64,
    entries: u64,
    /// The archive's own size.
    size: u64,
}

impl Bounds {
    fn new(limits: &Limits, size: u64) -> Self {
        let fair = size.saturating_mul(limits.ratio).max(limits.least);
        Self {
            bytes: fair.min(limits.bytes),
            entries: limits.entries,
            size,
        }
    }

    fn exceeded(&self) -> Flaw {
        Flaw::Archive(format!(
            "it unpacks to more than {} bytes, too much for an archive of {}",
            self.bytes, self.size
        ))
    }
}

/// Returns whether a file is an archive to unpack. A program of Java's is one by its form only.
pub(super) fn is_archive(path: &Path) -> io::Result<bool> {
    let mut file = File::open(path)?;
    Ok(match format::of(&mut file)? {
        None => false,
        Some(Format::Zip) => !zipped::is_java(file),
        Some(Format::GzipTar | Format::XzTar | Format::Tar | Format::Other(_)) => true,
    })
}

/// Unpacks an archive into an existing folder without the first `strip` folders of each path; without a number, a
/// single folder around everything is cut off.
///
/// Archives with devices, with paths or links that lead out, or that are out of all proportion are refused; the folder
/// is then left empty.
pub(super) fn unpack(
    archive: &Path,
    into: &Path,
    strip: Option<usize>,
    leash: &Leash,
) -> Result<(), Flaw> {
    unpack_within(&LIMITS, archive, into, strip, leash)
}

fn unpack_within(
    limits: &Limits,
    archive: &Path,
    into: &Path,
    strip: Option<usize>,
    leash: &Leash,
) -> Result<(), Flaw> {
    let result = fill(limits, archive, into, strip, leash);
    if result.is_err() {
        empty(into).map_err(Flaw::Machine)?;
    }
    result
}

/// Unpacks, and leaves behind what there was before a refusal.
fn fill(
    limits: &Limits,
    archive: &Path,
    into: &Path,
    strip: Option<usize>,
    leash: &Leash,
) -> Result<(), Flaw> {
    let root = into.canonicalize().map_err(Flaw::Machine)?;
    let mut file = File::open(archive).map_err(Flaw::Machine)?;
    let size = file.metadata().map_err(Flaw::Machine)?.len();
    let format = format::of(&mut file).map_err(Flaw::Machine)?;
    let bounds = Bounds::new(limits, size);
    let meter = Meter::new(&bounds, leash);
    let mut place = Place::new(root, strip.unwrap_or(0), bounds, leash.clone());
    read(format, file, &meter, &mut place).map_err(|flaw| meter.reason(flaw))?;
    place.finish(strip.is_none())
}

/// Puts what an archive holds in its place.
fn read(
    format: Option<Format>,
    file: File,
    meter: &Rc<Meter>,
    place: &mut Place,
) -> Result<(), Flaw> {
    let known = "Harness unpacks .tar.gz, .tar.xz, .tar and .zip";
    match format {
        Some(Format::GzipTar) => {
            let bytes = MultiGzDecoder::new(BufReader::new(file));
            tarball::unpack(bytes, meter, place)
        }
        Some(Format::XzTar) => {
            let bytes = XzReader::new_mem_limit(BufReader::new(file), true, XZ_MEMORY);
            tarball::unpack(bytes, meter, place)
        }
        Some(Format::Tar) => tarball::unpack(BufReader::new(file), meter, place),
        Some(Format::Zip) => zipped::unpack(file, meter, place),
        Some(Format::Other(kind)) => Err(Flaw::Archive(format!("it is a {kind} file; {known}"))),
        None => Err(Flaw::Archive(format!("it is no archive; {known}"))),
    }
}

/// Deletes whatever is in a folder.
fn empty(folder: &Path) -> io::Result<()> {
    fs::remove_dir_all(folder)?;
    fs::create_dir(folder)
}

/// Returns a name of an archive as a message can show it: nothing in it that a terminal would obey, and not all of a
/// long one.
fn shown(path: &Path) -> String {
    let name = path.to_string_lossy();
    let short: String = name.chars().take(SHOWN).collect();
    let dots = if short.len() < name.len() { "…" } else { "" };
    format!("{}{dots}", short.escape_debug())
}
