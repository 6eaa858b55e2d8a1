//! The cache's folder of one download: what is there so far, what it is a part of, and the whole. Edge.

#![expect(
    clippy::disallowed_methods,
    reason = "it keeps the files of a download"
)]

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use data_encoding::HEXLOWER;
use sha2::{Digest, Sha256};

use crate::build::cache::DOWNLOAD_MARK;
use crate::build::folder::cannot;
use crate::build::tree;
use crate::error::Result;
use crate::workplace;

/// The folder of one file, by its checksum. As long as a clone of it lives, nobody else has it.
#[derive(Debug, Clone)]
pub(super) struct Shelf {
    sha256: String,
    /// The whole file, once it is there and right.
    pub(super) kept: PathBuf,
    /// What has come of it.
    part: PathBuf,
    /// What that is a part of: a hash of the address, and what the server calls this state of the file.
    of: PathBuf,
    #[expect(
        dead_code,
        reason = "it is held, not read: closing the file gives the lock back"
    )]
    lock: Arc<File>,
}

/// The part of a file that is there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Begun {
    /// Bytes.
    pub(super) length: u64,
    /// What the server calls the state of the file that they are of.
    pub(super) validator: String,
}

impl Shelf {
    /// Waits until nobody else fetches this file, in this process or another, and locks it.
    pub(super) async fn lock(downloads: &Path, sha256: &str) -> Result<Self> {
        let make = |folder: &Path| {
            fs::create_dir_all(folder).map_err(|error| cannot("make", folder, error))
        };
        make(downloads)?;
        // Beside the folder and not in it, as it outlives the folder.
        let lock = downloads.join(format!("{sha256}.lock"));
        let lock = workplace::wait_for_lock(&lock, File::try_lock).await?;
        let root = downloads.join(sha256);
        make(&root)?;
        let mark = root.join(DOWNLOAD_MARK);
        fs::write(&mark, "A download of harness; safe to delete.\n")
            .map_err(|error| cannot("write", &mark, error))?;
        Ok(Self {
            sha256: sha256.to_owned(),
            kept: root.join("file"),
            part: root.join("part"),
            of: root.join("part-of"),
            lock: Arc::new(lock),
        })
    }

    /// Returns whether the whole file is there and still right; a wrong one is deleted.
    pub(super) fn is_kept(&self) -> Result<bool> {
        if !self.kept.is_file() {
            return Ok(false);
        }
        let is_right = hash(&self.kept)? == self.sha256;
        if !is_right {
            delete(&self.kept)?;
        }
        Ok(is_right)
    }

    /// Returns what there is of the file at this address, if it can be gone on with.
    pub(super) fn begun(&self, url: &str) -> Option<Begun> {
        let known = fs::read_to_string(&self.of).ok()?;
        let (of, validator) = known.split_once('\n')?;
        let length = fs::metadata(&self.part).ok()?.len();
        (of == address(url) && length > 0).then(|| Begun {
            length,
            validator: validator.to_owned(),
        })
    }

    /// Opens the file to write it from its beginning, or to go on with it.
    pub(super) fn open(&self, from: u64) -> Result<File> {
        let mut options = OpenOptions::new();
        let options = if from == 0 {
            options.write(true).create(true).truncate(true)
        } else {
            options.append(true)
        };
        let file = options.open(&self.part);
        file.map_err(|error| cannot("open", &self.part, error))
    }

    /// Writes down what the bytes that follow are a part of, so that they can be gone on with.
    pub(super) fn note(&self, url: &str, validator: Option<&str>) -> Result<()> {
        let Some(validator) = validator else {
            return delete(&self.of);
        };
        let of = format!("{}\n{validator}", address(url));
        fs::write(&self.of, of).map_err(|error| cannot("write", &self.of, error))
    }

    /// The error for bytes that could not be written.
    pub(super) fn unwritten(&self, error: io::Error) -> crate::error::Error {
        cannot("write", &self.part, error)
    }

    /// Keeps the file if its checksum is right; otherwise returns the one it has, and its size.
    pub(super) fn keep(&self) -> Result<Option<(String, u64)>> {
        let found = hash(&self.part)?;
        if found != self.sha256 {
            let size = fs::metadata(&self.part).map_or(0, |metadata| metadata.len());
            return Ok(Some((found, size)));
        }
        let keep = || {
            File::open(&self.part)?.sync_all()?;
            fs::rename(&self.part, &self.kept)
        };
        keep().map_err(|error| cannot("keep", &self.part, error))?;
        delete(&self.of)?;
        Ok(None)
    }

    /// Deletes what has come of the file.
    pub(super) fn forget(&self) -> Result<()> {
        delete(&self.of)?;
        delete(&self.part)
    }
}

fn hash(path: &Path) -> Result<String> {
    let hash = tree::file_hash(path).map_err(|error| cannot("read", path, error))?;
    Ok(HEXLOWER.encode(&hash))
}

/// Returns what stands for an address in the cache, as it may hold a password.
fn address(url: &str) -> String {
    HEXLOWER.encode(&Sha256::digest(url))
}

/// Deletes a file that may not be there.
fn delete(path: &Path) -> Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(cannot("delete", path, error)),
        Ok(()) | Err(_) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    const HELLO: &str = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824";

    async fn shelf(dir: &tempfile::TempDir) -> Shelf {
        Shelf::lock(dir.path(), HELLO).await.unwrap()
    }

    #[tokio::test]
    async fn a_part_is_gone_on_with_only_at_its_own_address() {
        let dir = tempfile::tempdir().unwrap();
        let shelf = shelf(&dir).await;
        assert_eq!(shelf.begun("http://a"), None);
        shelf.note("http://a", Some("\"v1\"")).unwrap();
        shelf.open(0).unwrap().write_all(b"he").unwrap();
        let begun = Begun {
            length: 2,
            validator: "\"v1\"".to_owned(),
        };
        assert_eq!(shelf.begun("http://a"), Some(begun));
        assert_eq!(shelf.begun("http://b"), None);
        shelf.note("http://a", None).unwrap();
        assert_eq!(shelf.begun("http://a"), None, "nobody knows a part of what");
    }

    #[tokio::test]
    async fn only_a_right_file_is_kept_and_only_as_long_as_it_is_right() {
        let dir = tempfile::tempdir().unwrap();
        let shelf = shelf(&dir).await;
        shelf.open(0).unwrap().write_all(b"help").unwrap();
        let (found, size) = shelf.keep().unwrap().unwrap();
        assert_eq!((found.len(), size), (64, 4));
        assert!(!shelf.is_kept().unwrap());
        shelf.open(0).unwrap().write_all(b"hel").unwrap();
        shelf.open(3).unwrap().write_all(b"lo").unwrap();
        assert_eq!(shelf.keep().unwrap(), None);
        assert!(shelf.is_kept().unwrap());
        fs::write(&shelf.kept, "jello").unwrap();
        assert!(!shelf.is_kept().unwrap());
        assert!(!shelf.kept.is_file());
    }

    #[tokio::test]
    async fn what_is_forgotten_leaves_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let shelf = shelf(&dir).await;
        shelf.note("http://a", Some("x")).unwrap();
        shelf.open(0).unwrap().write_all(b"he").unwrap();
        shelf.forget().unwrap();
        shelf.forget().unwrap();
        assert!(!shelf.part.exists() && !shelf.of.exists());
    }
}
