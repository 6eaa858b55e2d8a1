//! Reading a build's or a server's log without loading a huge one. Edge.

#![expect(
    clippy::disallowed_methods,
    reason = "it reads and appends to log files"
)]

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;

/// Bytes read from either end of a log.
const END: u64 = 2 << 20;

/// Returns a log's text from byte `from` on; of a long one only its first and last two megabytes.
///
/// Bytes that are not UTF-8 are replaced. A missing log is an empty one: a program may end before it writes.
pub fn read_ends(log: &Path, from: u64) -> io::Result<String> {
    let mut file = match File::open(log) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(String::new()),
        Err(error) => return Err(error),
    };
    let length = file.metadata()?.len();
    let mut bytes = Vec::new();
    file.seek(SeekFrom::Start(from))?;
    (&file).take(END).read_to_end(&mut bytes)?;
    let read = from + bytes.len() as u64;
    if read < length {
        let start = read.max(length.saturating_sub(END));
        if start > read {
            bytes.extend_from_slice(b"\n");
        }
        file.seek(SeekFrom::Start(start))?;
        (&file).take(END).read_to_end(&mut bytes)?;
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Appends to a log and returns its length after that, bytes.
pub(super) fn append(log: &Path, text: &str) -> io::Result<u64> {
    let mut file = OpenOptions::new().create(true).append(true).open(log)?;
    file.write_all(text.as_bytes())?;
    Ok(file.metadata()?.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_log_is_read_whole_or_from_a_place() {
        let dir = tempfile::tempdir().unwrap();
        let log = dir.path().join("build.log");
        assert_eq!(read_ends(&log, 0).unwrap(), "");
        let length = append(&log, "one\n").unwrap();
        assert_eq!(append(&log, "two\n").unwrap(), 8);
        assert_eq!(read_ends(&log, 0).unwrap(), "one\ntwo\n");
        assert_eq!(read_ends(&log, length).unwrap(), "two\n");
    }

    #[test]
    fn a_long_log_is_read_at_its_ends_only() {
        let dir = tempfile::tempdir().unwrap();
        let log = dir.path().join("build.log");
        let middle = "x".repeat(5 << 20);
        append(&log, &format!("first error\n{middle}\nlast words\n")).unwrap();
        let text = read_ends(&log, 0).unwrap();
        assert!(text.starts_with("first error\n") && text.ends_with("\nlast words\n"));
        assert_eq!(text.len() as u64, 2 * END + 1);
    }

    #[test]
    fn a_log_a_little_too_long_for_one_end_is_read_once() {
        let dir = tempfile::tempdir().unwrap();
        let log = dir.path().join("build.log");
        let whole = "0123456789abcdef".repeat(3 << 16);
        append(&log, &whole).unwrap();
        assert_eq!(read_ends(&log, 0).unwrap(), whole);
    }
}
