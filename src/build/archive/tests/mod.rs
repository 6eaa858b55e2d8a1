//! Archives made by hand, and a world in which unpacking them can be watched.

mod hostile;
mod noise;
mod round_trip;

use super::*;
use flate2::Compression;
use flate2::write::GzEncoder;
use lzma_rust2::{XzOptions, XzWriter};
use std::io::Write;
use std::path::PathBuf;
use std::time::Duration;
use tar::{EntryType, Header};

const FILE: EntryType = EntryType::Regular;
const FOLDER: EntryType = EntryType::Directory;
const LINK: EntryType = EntryType::Symlink;
const HARD: EntryType = EntryType::Link;

/// One entry of a tar: path, kind, and content or the link's target.
type Part<'a> = (&'a str, EntryType, &'a str);

/// Limits that a test reaches soon.
const SMALL: Limits = Limits {
    bytes: 1 << 20,
    least: 100_000,
    ratio: 200,
    entries: 50,
};

/// Returns the header of an entry, whose path nobody checks, with its checksum.
fn header(name: &[u8], kind: EntryType, size: u64) -> Header {
    let mut header = Header::new_gnu();
    header.as_old_mut().name[..name.len()].copy_from_slice(name);
    header.set_entry_type(kind);
    header.set_mode(if name.ends_with(b"node") {
        0o4755
    } else {
        0o444
    });
    header.set_size(size);
    header.set_cksum();
    header
}

/// Returns a header and its content, filled up to whole blocks.
fn blocks(header: &Header, content: &[u8]) -> Vec<u8> {
    let mut bytes = header.as_bytes().to_vec();
    bytes.extend_from_slice(content);
    bytes.resize(bytes.len().next_multiple_of(512), 0);
    bytes
}

fn entry(&(name, kind, content): &Part<'_>) -> Vec<u8> {
    let is_link = kind.is_symlink() || kind.is_hard_link();
    let data = if is_link { "" } else { content };
    let mut header = header(name.as_bytes(), kind, data.len() as u64);
    if is_link {
        header.as_old_mut().linkname[..content.len()].copy_from_slice(content.as_bytes());
        header.set_cksum();
    }
    blocks(&header, data.as_bytes())
}

/// Returns a tar of blocks, with its end.
fn tar_of(blocks: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes = blocks.concat();
    bytes.resize(bytes.len() + 1024, 0);
    bytes
}

fn tar(parts: &[Part<'_>]) -> Vec<u8> {
    tar_of(&parts.iter().map(entry).collect::<Vec<_>>())
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn xz(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = XzWriter::new(Vec::new(), XzOptions::with_preset(1)).unwrap();
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// One file of a zip, written by hand so that nothing of it need be true.
#[derive(Clone)]
struct Zipped<'a> {
    name: &'a str,
    /// Its name where the content stands, if that is another.
    local_name: Option<&'a str>,
    content: &'a [u8],
    /// The Unix mode with the kind of file.
    mode: u32,
    flags: u16,
    method: u16,
    /// The size it says to have, if that is another.
    said_size: Option<u32>,
    /// The place of its content, if that is another's.
    place: Option<u32>,
}

impl<'a> Zipped<'a> {
    fn new(name: &'a str, mode: u32, content: &'a [u8]) -> Self {
        Self {
            name,
            local_name: None,
            content,
            mode,
            flags: 0,
            method: 0,
            said_size: None,
            place: None,
        }
    }

    fn file(name: &'a str, content: &'a [u8]) -> Self {
        Self::new(name, 0o100_644, content)
    }

    /// Returns what both of its headers have in common.
    fn common(&self, name: &str) -> Vec<u8> {
        let mut crc = flate2::Crc::new();
        crc.update(self.content);
        let size = u32::try_from(self.content.len()).unwrap();
        let mut bytes = Vec::new();
        for number in [20, self.flags, self.method, 0, 0x21] {
            bytes.extend_from_slice(&number.to_le_bytes());
        }
        for number in [crc.sum(), size, self.said_size.unwrap_or(size)] {
            bytes.extend_from_slice(&number.to_le_bytes());
        }
        bytes.extend_from_slice(&u16::try_from(name.len()).unwrap().to_le_bytes());
        bytes.extend_from_slice(&[0; 2]);
        bytes
    }
}

/// Returns a zip of files, with its directory at the end.
fn zip(files: &[Zipped<'_>]) -> Vec<u8> {
    let (mut bytes, mut directory) = (Vec::new(), Vec::new());
    for file in files {
        let place = file.place.unwrap_or(u32::try_from(bytes.len()).unwrap());
        let local = file.local_name.unwrap_or(file.name);
        if file.place.is_none() {
            bytes.extend_from_slice(b"PK\x03\x04");
            bytes.extend(file.common(local));
            bytes.extend_from_slice(local.as_bytes());
            bytes.extend_from_slice(file.content);
        }
        // Made by version 3.0 on Unix, which is what gives the mode a meaning.
        directory.extend_from_slice(b"PK\x01\x02\x1e\x03");
        directory.extend(file.common(file.name));
        directory.extend_from_slice(&[0; 6]);
        directory.extend_from_slice(&(file.mode << 16).to_le_bytes()[..]);
        directory.extend_from_slice(&place.to_le_bytes());
        directory.extend_from_slice(file.name.as_bytes());
    }
    let end = end_of_zip(files.len(), directory.len(), bytes.len());
    [bytes, directory, end].concat()
}

fn end_of_zip(count: usize, size: usize, place: usize) -> Vec<u8> {
    let mut end = b"PK\x05\x06\0\0\0\0".to_vec();
    let count = u16::try_from(count).unwrap().to_le_bytes();
    end.extend_from_slice(&[count, count].concat());
    end.extend_from_slice(&u32::try_from(size).unwrap().to_le_bytes());
    end.extend_from_slice(&u32::try_from(place).unwrap().to_le_bytes());
    end.extend_from_slice(&[0; 2]);
    end
}

/// A folder to unpack into, with something beside it and above it that must stay as it is.
struct World {
    dir: tempfile::TempDir,
}

impl World {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir_all(dir.path().join("inner/into")).unwrap();
        fs::write(dir.path().join("canary"), "sings").unwrap();
        fs::write(dir.path().join("inner/canary"), "sings").unwrap();
        Self { dir }
    }

    fn folder(&self) -> PathBuf {
        self.dir.path().join("inner/into")
    }

    fn unpack(&self, bytes: &[u8], strip: Option<usize>) -> Result<(), Flaw> {
        let archive = self.dir.path().join("archive");
        fs::write(&archive, bytes).unwrap();
        let (leash, _holder) = Leash::new(Duration::from_mins(1));
        let result = unpack_within(&SMALL, &archive, &self.folder(), strip, &leash);
        self.expect_nothing_outside();
        result
    }

    fn expect_nothing_outside(&self) {
        let names = |folder: &Path| {
            let mut names: Vec<_> = fs::read_dir(folder)
                .unwrap()
                .map(|entry| entry.unwrap().file_name())
                .collect();
            names.sort();
            names
        };
        assert_eq!(names(self.dir.path()), ["archive", "canary", "inner"]);
        assert_eq!(names(&self.dir.path().join("inner")), ["canary", "into"]);
        for canary in ["canary", "inner/canary"] {
            let path = self.dir.path().join(canary);
            assert_eq!(fs::read_to_string(path).unwrap(), "sings");
        }
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.folder().join(name)).unwrap()
    }
}

/// Fails unless the archive is refused and nothing is left of it; returns why.
#[track_caller]
fn refusal(bytes: &[u8]) -> String {
    let world = World::new();
    match world.unpack(bytes, Some(0)) {
        Err(Flaw::Archive(why)) => {
            assert_eq!(fs::read_dir(world.folder()).unwrap().count(), 0, "{why}");
            why
        }
        Err(other) => panic!("the archive is to blame: {other:?}"),
        Ok(()) => panic!("it was not refused"),
    }
}

/// Fails unless a tar is refused for this reason in each of its wrappings.
#[track_caller]
fn expect_refusal(tar: &[u8], why: &str) {
    for bytes in [tar.to_vec(), gzip(tar), xz(tar)] {
        let said = refusal(&bytes);
        assert!(said.contains(why), "{said:?} instead of {why:?}");
    }
}
