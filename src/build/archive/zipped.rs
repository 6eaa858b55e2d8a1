//! Reading zip archives by their central directory. Edge only by the file that it reads.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::rc::Rc;

use zip::read::{ArchiveOffset, Config, ZipFile};
use zip::result::ZipError;
use zip::{CompressionMethod, ZipArchive};

use super::meter::{Meter, Metered};
use super::place::{LONGEST_PATH, Place};
use super::{Flaw, shown};

/// Bytes that the directory of a zip may have, as it is taken into memory.
const DIRECTORY: u64 = 128 << 20;
/// Bytes of the end of a zip in which its directory's end is looked for: its record, its longest comment, and more.
const END: u64 = (64 << 10) + 128;
/// The kind of a file in its Unix mode.
const KIND: u32 = 0o170_000;

/// Unpacks a zip. Only its directory counts, not what stands before each file.
pub(super) fn unpack(mut file: File, meter: &Rc<Meter>, place: &mut Place) -> Result<(), Flaw> {
    // Before the reader of zips makes room for as many.
    place.expect(said_entries(&mut file).map_err(Flaw::Machine)?)?;
    meter.begin("the directory", DIRECTORY);
    let mut zip = open(Metered::new(BufReader::new(file), meter)).map_err(broken)?;
    if zip.has_overlapping_entries().map_err(broken)? {
        return Err(Flaw::Archive("some of its files overlap".to_owned()));
    }
    meter.end();
    for index in 0..zip.len() {
        let entry = zip.by_index_data(index).map_err(broken)?;
        let path = Path::new(OsStr::from_bytes(entry.name_raw())).to_owned();
        refuse_unreadable(&path, entry.encrypted(), entry.compression())?;
        let mut entry = zip.by_index(index).map_err(broken)?;
        write(&mut entry, &path, place)?;
    }
    Ok(())
}

/// Returns whether a zip is a program of Java's, which is run as it is.
pub(super) fn is_java(file: File) -> bool {
    let zip = open(BufReader::new(file));
    zip.is_ok_and(|zip| zip.index_for_name_raw(b"META-INF/MANIFEST.MF").is_some())
}

fn open<R: Read + Seek>(reader: R) -> Result<ZipArchive<R>, ZipError> {
    // The file begins as a zip does, so places in it are counted from there.
    let config = Config {
        archive_offset: ArchiveOffset::Known(0),
    };
    ZipArchive::with_config(config, reader)
}

/// Returns the greatest number of entries that a large zip's records of its end tell.
///
/// Small ones have two bytes for it and no such record.
fn said_entries(file: &mut File) -> io::Result<u64> {
    let length = file.seek(SeekFrom::End(0))?;
    file.seek(SeekFrom::Start(length.saturating_sub(END)))?;
    let mut end = Vec::new();
    file.take(END).read_to_end(&mut end)?;
    let mut most = 0;
    for locator in end
        .windows(16)
        .filter(|bytes| bytes.starts_with(b"PK\x06\x07"))
    {
        file.seek(SeekFrom::Start(number(locator, 8).min(length)))?;
        let mut record = Vec::new();
        file.take(40).read_to_end(&mut record)?;
        if record.len() == 40 && record.starts_with(b"PK\x06\x06") {
            most = most.max(number(&record, 32));
        }
    }
    file.rewind()?;
    Ok(most)
}

fn number(bytes: &[u8], at: usize) -> u64 {
    bytes[at..at + 8]
        .iter()
        .rev()
        .fold(0, |number, &byte| number << 8 | u64::from(byte))
}

fn refuse_unreadable(
    path: &Path,
    encrypted: bool,
    compression: CompressionMethod,
) -> Result<(), Flaw> {
    let name = shown(path);
    if encrypted {
        return Err(Flaw::Archive(format!("{name} is encrypted")));
    }
    let known = [CompressionMethod::Stored, CompressionMethod::Deflated];
    if !known.contains(&compression) {
        return Err(Flaw::Archive(format!(
            "{name} is compressed by {compression}, which cannot be unpacked"
        )));
    }
    Ok(())
}

/// Writes one entry.
fn write<R: Read>(entry: &mut ZipFile<'_, R>, path: &Path, place: &mut Place) -> Result<(), Flaw> {
    let mode = entry.unix_mode().unwrap_or(0o644);
    match mode & KIND {
        _ if entry.is_dir() => place.folder(path),
        0 | 0o100_000 => place.file(path, mode, entry),
        0o040_000 => place.folder(path),
        0o120_000 => {
            let mut target = Vec::new();
            // One byte more than a target may have, so that a longer one is seen.
            let read = entry.take(LONGEST_PATH as u64 + 1).read_to_end(&mut target);
            read.map_err(|error| Flaw::broken(&error))?;
            place.link(path, Path::new(OsStr::from_bytes(&target)))
        }
        _ => Err(Flaw::Archive(format!(
            "{} is neither file, folder nor link",
            shown(path)
        ))),
    }
}

#[expect(clippy::needless_pass_by_value, reason = "it is mapped over errors")]
fn broken(error: ZipError) -> Flaw {
    Flaw::Archive(error.to_string())
}
