//! Where what a child prints goes: into a file, or by way of a pipe that lets through only so much. Edge.
//!
//! To look at a file's length now and then would not do: what is printed in a moment can fill a disk.
#![expect(clippy::disallowed_methods, reason = "logs are files")]

use std::fs::{File, OpenOptions};
use std::io::{self, PipeReader, Read, Write};
use std::os::fd::OwnedFd;
use std::path::Path;

/// A log that is written from a pipe, up to a length.
pub(super) struct Copy {
    from: PipeReader,
    log: File,
    most: u64,
}

/// Opens a log to append to. Returns what the child is given, and what has to be copied meanwhile if there is a limit.
pub(super) fn open(path: &Path, most: Option<u64>) -> io::Result<(OwnedFd, Option<Copy>)> {
    let log = OpenOptions::new().create(true).append(true).open(path)?;
    let Some(most) = most else {
        return Ok((log.into(), None));
    };
    let (from, to) = io::pipe()?;
    Ok((to.into(), Some(Copy { from, log, most })))
}

impl Copy {
    /// Copies until everything is printed or the log has its length. Returns whether more was printed than that.
    ///
    /// Once this is given up nobody reads any more, and whoever goes on printing is ended by the kernel.
    pub(super) fn run(mut self) -> io::Result<bool> {
        let mut left = self.most.saturating_sub(self.log.metadata()?.len());
        let mut buffer = vec![0; 1 << 16];
        loop {
            let read = self.from.read(&mut buffer)?;
            if read == 0 {
                return Ok(false);
            }
            let kept = read.min(usize::try_from(left).unwrap_or(usize::MAX));
            self.log.write_all(&buffer[..kept])?;
            left -= kept as u64;
            if kept < read {
                return Ok(true);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_keeps_what_came_first() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("log");
        std::fs::write(&path, "before ").unwrap();
        for (said, is_cut, kept) in [
            ("one", false, "before one"),
            (" two", false, "before one two"),
            (" three", true, "before one two t"),
            ("", false, "before one two t"),
            ("x", true, "before one two t"),
        ] {
            let (to, copy) = open(&path, Some(16)).unwrap();
            File::from(to).write_all(said.as_bytes()).unwrap();
            assert_eq!(copy.unwrap().run().unwrap(), is_cut, "{said}");
            assert_eq!(std::fs::read_to_string(&path).unwrap(), kept);
        }
    }

    #[test]
    fn a_log_without_a_limit_is_the_childs_own() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("log");
        let (to, copy) = open(&path, None).unwrap();
        File::from(to).write_all(b"all of it").unwrap();
        assert!(copy.is_none());
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "all of it");
    }
}
