//! What kind of archive a file is, by its first bytes and not by its name. Edge only by the file that it reads.

use std::fs::File;
use std::io::{self, Read, Seek};

use tar::Header;

/// The kinds that are unpacked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Format {
    GzipTar,
    XzTar,
    Tar,
    Zip,
    /// An archive of another kind, by its name.
    Other(&'static str),
}

/// How each kind begins.
const BEGINNINGS: [(&[u8], Format); 10] = [
    (b"\x1f\x8b", Format::GzipTar),
    (b"\xfd7zXZ\0", Format::XzTar),
    (b"PK\x03\x04", Format::Zip),
    // A zip with nothing in it, and the first part of a divided one.
    (b"PK\x05\x06", Format::Zip),
    (b"PK\x07\x08", Format::Zip),
    (b"BZh", Format::Other("bzip2")),
    (b"\x28\xb5\x2f\xfd", Format::Other("Zstandard")),
    (b"7z\xbc\xaf\x27\x1c", Format::Other("7z")),
    (b"Rar!\x1a\x07", Format::Other("RAR")),
    (b"LZIP", Format::Other("lzip")),
];

/// Returns the kind of archive that a file is, and leaves the file at its beginning; none if it is no archive.
pub(super) fn of(file: &mut File) -> io::Result<Option<Format>> {
    let mut first = Vec::new();
    file.take(512).read_to_end(&mut first)?;
    file.rewind()?;
    Ok(by_beginning(&first))
}

fn by_beginning(first: &[u8]) -> Option<Format> {
    let known = BEGINNINGS
        .iter()
        .find(|(magic, _)| first.starts_with(magic));
    let is_tar = || is_tar_header(first).then_some(Format::Tar);
    known.map(|&(_, format)| format).or_else(is_tar)
}

/// A tar has no beginning of its own, but its first header has a checksum.
fn is_tar_header(first: &[u8]) -> bool {
    let Ok(block) = <&[u8; 512]>::try_from(first) else {
        return false;
    };
    let mut header = Header::new_old();
    header.as_mut_bytes().copy_from_slice(block);
    let said = header.cksum();
    header.set_cksum();
    said.is_ok_and(|said| header.cksum().is_ok_and(|right| right == said))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn archives_are_known_by_their_first_bytes() {
        assert_eq!(by_beginning(b"\x1f\x8b\x08"), Some(Format::GzipTar));
        assert_eq!(by_beginning(b"PK\x03\x04\x14"), Some(Format::Zip));
        assert_eq!(by_beginning(b"BZh91AY"), Some(Format::Other("bzip2")));
        let mut header = Header::new_ustar();
        header.set_path("a").unwrap();
        header.set_cksum();
        assert_eq!(by_beginning(header.as_bytes()), Some(Format::Tar));
    }

    #[test]
    fn anything_else_is_no_archive() {
        let program = [b"\x7fELF".as_slice(), &[7; 600]].concat();
        for bytes in [&b""[..], b"#!/bin/sh\n", &program[..512], &[0; 512], b"P"] {
            assert_eq!(by_beginning(bytes), None);
        }
    }
}
