//! The folder of one build: locked, begun, and finished by its outcome. Edge.

#![expect(
    clippy::disallowed_methods,
    reason = "it makes and empties the cache's folders"
)]

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::error::{Error, Kind, Result};
use crate::journal::Built;
use crate::workplace;
pub(super) use crate::workplace::safe_name as safe;

/// The file that marks a folder as ours to empty.
pub(super) const MARK: &str = ".harness-build";
/// The file that makes a build a finished one; written last.
pub(super) const OUTCOME: &str = "outcome.json";

/// The folder of one build. As long as a clone of it lives, no other build, in this process or another, enters it.
#[derive(Debug, Clone)]
pub(super) struct Folder {
    /// All of it: a build may write here and in package managers' caches.
    pub(super) root: PathBuf,
    /// For what is fetched.
    pub(super) src: PathBuf,
    /// Where the steps run.
    pub(super) work: PathBuf,
    /// For what the build leaves.
    pub(super) out: PathBuf,
    /// For what its steps need for a moment.
    pub(super) tmp: PathBuf,
    /// What the steps say.
    pub(super) log: PathBuf,
    #[expect(
        dead_code,
        reason = "it is held, not read: closing the file gives the lock back"
    )]
    lock: Arc<File>,
}

impl Folder {
    /// Waits until nobody else builds here, and locks the folder. Its content is left as it is.
    pub(super) async fn lock(builds: &Path, name: &str) -> Result<Self> {
        fs::create_dir_all(builds).map_err(|error| cannot("make", builds, error))?;
        // Beside the folder and not in it, as it outlives what is in the folder.
        let path = builds.join(format!("{name}.lock"));
        let lock = workplace::wait_for_lock(&path, File::try_lock).await?;
        let root = builds.join(name);
        Ok(Self {
            src: root.join("src"),
            work: root.join("work"),
            out: root.join("out"),
            tmp: root.join("tmp"),
            log: root.join("build.log"),
            root,
            lock: Arc::new(lock),
        })
    }

    /// Returns what an earlier build here gave; none if it was never finished or what it left is no longer there.
    pub(super) fn outcome(&self) -> Option<Built> {
        let text = fs::read_to_string(self.root.join(OUTCOME)).ok()?;
        match serde_json::from_str(&text).ok()? {
            Built::Artifact(mut artifact) => {
                let is_whole = artifact.work == self.work
                    && artifact.binary.iter().all(|binary| binary.is_file());
                artifact.cached = true;
                super::cache::touch(&self.root.join(MARK));
                is_whole.then_some(Built::Artifact(artifact))
            }
            Built::Gap(gap) => Some(Built::Gap(gap)),
        }
    }

    /// Empties the folder of whatever an unfinished build left, and makes it ready for a new one.
    pub(super) fn begin(&self) -> Result<()> {
        let mark = self.root.join(MARK);
        let left = self.content()?;
        if !left.is_empty() && !mark.is_file() {
            return Err(self.foreign());
        }
        // What makes it a finished one goes first, and the mark not at all, so that a deletion cut short can be gone on with.
        let outcome = self.root.join(OUTCOME);
        if left.contains(&outcome) {
            delete(&outcome).map_err(|error| cannot("delete", &outcome, error))?;
        }
        let left: Vec<PathBuf> = left.into_iter().filter(|path| *path != outcome).collect();
        for path in left.iter().filter(|path| **path != mark) {
            delete(path).map_err(|error| cannot("delete", path, error))?;
        }
        fs::create_dir_all(&self.root).map_err(|error| cannot("make", &self.root, error))?;
        fs::write(&mark, "A build of harness; safe to delete.\n")
            .map_err(|error| cannot("write", &mark, error))?;
        for folder in [&self.src, &self.work, &self.out, &self.tmp] {
            fs::create_dir(folder).map_err(|error| cannot("make", folder, error))?;
        }
        Ok(())
    }

    /// Deletes what the steps needed for a moment.
    pub(super) fn clear_temporary(&self) -> Result<()> {
        delete(&self.tmp).map_err(|error| cannot("delete", &self.tmp, error))
    }

    /// Deletes all that a build has fetched and made; its log stays.
    pub(super) fn clear(&self) -> Result<()> {
        for path in [&self.src, &self.work, &self.out] {
            delete(path).map_err(|error| cannot("delete", path, error))?;
        }
        Ok(())
    }

    /// Lists what is in the folder; nothing where there is no folder yet.
    fn content(&self) -> Result<Vec<PathBuf>> {
        let list = || -> io::Result<Vec<PathBuf>> {
            fs::read_dir(&self.root)?
                .map(|entry| Ok(entry?.path()))
                .collect()
        };
        match list() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
            listed => listed.map_err(|error| cannot("list", &self.root, error)),
        }
    }

    fn foreign(&self) -> Error {
        let message = format!(
            "{} is in the way and not a build of harness",
            self.root.display()
        );
        Error::new(Kind::Machine, message)
            .because(format!(
                "it has no file `{MARK}`, so nothing in it is deleted"
            ))
            .hint(format!("look at it, then `rm -r {}`", self.root.display()))
    }

    /// Finishes the build: from here on its outcome is known without building.
    pub(super) fn finish(&self, built: &Built) -> Result<()> {
        let path = self.root.join(OUTCOME);
        self.write_outcome(built, &path)
            .map_err(|error| cannot("write", &path, error))
    }

    fn write_outcome(&self, built: &Built, path: &Path) -> io::Result<()> {
        // As readable as every other file; it holds no secret.
        let readable = fs::Permissions::from_mode(0o644);
        let mut file = tempfile::Builder::new()
            .permissions(readable)
            .tempfile_in(&self.root)?;
        serde_json::to_writer_pretty(&mut file, built)?;
        file.write_all(b"\n")?;
        file.as_file().sync_all()?;
        file.persist(path)?;
        File::open(&self.root)?.sync_all()
    }
}

/// Deletes a file, or a folder even where a build made folders in it write-protected. What is not there is deleted.
pub(super) fn delete(path: &Path) -> io::Result<()> {
    match fs::symlink_metadata(path) {
        Ok(metadata) if metadata.is_dir() => {}
        Ok(_) => return fs::remove_file(path),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    }
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            allow_deletion(path)?;
            fs::remove_dir_all(path)
        }
        other => other,
    }
}

/// Gives the owner back all rights on a folder and those in it.
fn allow_deletion(folder: &Path) -> io::Result<()> {
    fs::set_permissions(folder, fs::Permissions::from_mode(0o700))?;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            allow_deletion(&entry.path())?;
        }
    }
    Ok(())
}

/// The error for a file of the cache that cannot be worked with.
pub(super) fn cannot(what: &str, path: &Path, error: io::Error) -> Error {
    let is_full =
        [io::ErrorKind::StorageFull, io::ErrorKind::QuotaExceeded].contains(&error.kind());
    let hint = if is_full {
        "make room: `harness clean` deletes old builds"
    } else {
        "check the rights of the cache's folder, `.harness`"
    };
    Error::new(
        Kind::Machine,
        format!("could not {what} {}", path.display()),
    )
    .because(error)
    .hint(hint)
}

/// Returns a name for a build's folder: the cell's identity made safe for file systems, and the key's first digits.
pub(super) fn name(cell: &str, key: &str) -> String {
    let safe = safe(cell);
    let short: String = key.chars().take(12).collect();
    format!("{safe}-{short}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outcome::{Artifact, Gap, GapKind};
    use proptest::prelude::*;
    use std::pin::Pin;
    use std::task::Poll;

    async fn folder(builds: &Path) -> Folder {
        Folder::lock(builds, "1.0.0-abc").await.unwrap()
    }

    fn artifact(folder: &Folder) -> Built {
        Built::Artifact(Artifact {
            key: "k".to_owned(),
            src: folder.src.clone(),
            work: folder.work.clone(),
            out: folder.out.clone(),
            binary: Some(folder.out.join("server")),
            seconds: 1.5,
            cached: false,
            dependencies: std::collections::BTreeMap::new(),
            content: None,
            axis_programs: std::collections::BTreeMap::new(),
        })
    }

    #[tokio::test]
    async fn a_finished_build_is_found_again() {
        let dir = tempfile::tempdir().unwrap();
        let folder = folder(dir.path()).await;
        assert_eq!(folder.outcome(), None);
        folder.begin().unwrap();
        assert_eq!(folder.outcome(), None);
        fs::write(folder.out.join("server"), "").unwrap();
        folder.finish(&artifact(&folder)).unwrap();
        match folder.outcome() {
            Some(Built::Artifact(found)) => assert!(found.cached),
            other => panic!("{other:?}"),
        }
        fs::remove_file(folder.out.join("server")).unwrap();
        assert_eq!(
            folder.outcome(),
            None,
            "an artifact that is gone is built again"
        );
    }

    #[tokio::test]
    async fn a_gap_is_found_again() {
        let dir = tempfile::tempdir().unwrap();
        let folder = folder(dir.path()).await;
        folder.begin().unwrap();
        let gap = Built::Gap(Gap::new(GapKind::Failed, "x").with_log(&folder.log));
        folder.finish(&gap).unwrap();
        assert_eq!(folder.outcome(), Some(gap));
    }

    #[tokio::test]
    async fn an_unfinished_build_is_begun_again_from_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let folder = folder(dir.path()).await;
        folder.begin().unwrap();
        fs::create_dir(folder.work.join("locked")).unwrap();
        fs::write(folder.work.join("locked/half"), "").unwrap();
        fs::set_permissions(
            folder.work.join("locked"),
            fs::Permissions::from_mode(0o500),
        )
        .unwrap();
        fs::write(&folder.log, "old").unwrap();
        folder.begin().unwrap();
        assert_eq!(fs::read_dir(&folder.work).unwrap().count(), 0);
        assert!(!folder.log.is_file());
    }

    #[tokio::test]
    async fn a_torn_outcome_is_an_unfinished_build() {
        let dir = tempfile::tempdir().unwrap();
        let folder = folder(dir.path()).await;
        folder.begin().unwrap();
        fs::write(folder.root.join(OUTCOME), "{\"artifact\":{\"key\"").unwrap();
        assert_eq!(folder.outcome(), None);
    }

    #[tokio::test]
    async fn a_folder_without_our_mark_is_never_emptied() {
        let dir = tempfile::tempdir().unwrap();
        let folder = folder(dir.path()).await;
        fs::create_dir_all(&folder.src).unwrap();
        fs::write(folder.src.join("thesis.txt"), "years of work").unwrap();
        let error = folder.begin().unwrap_err();
        assert_eq!(error.kind, Kind::Machine);
        assert!(folder.src.join("thesis.txt").is_file());
    }

    /// Polls a future once.
    async fn is_pending<F: Future + Unpin>(future: &mut F) -> bool {
        std::future::poll_fn(|context| {
            Poll::Ready(Pin::new(&mut *future).poll(context).is_pending())
        })
        .await
    }

    #[tokio::test]
    async fn a_second_build_waits_for_the_first() {
        let dir = tempfile::tempdir().unwrap();
        let first = folder(dir.path()).await;
        let clone = first.clone();
        let mut second = Box::pin(folder(dir.path()));
        assert!(is_pending(&mut second).await);
        drop(first);
        assert!(
            is_pending(&mut second).await,
            "a clone holds the lock as well"
        );
        drop(clone);
        second.await;
    }

    #[test]
    fn a_name_shows_the_cell_and_the_key() {
        let key = "0123456789abcdef";
        assert_eq!(
            name("20.11.0 body=buffer", key),
            "20.11.0-body-buffer-0123456789ab"
        );
        assert_eq!(name("../é", key), "_..---0123456789ab");
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn a_name_is_one_safe_part_of_a_path(cell in "\\PC{0,200}") {
            let name = name(&cell, "0123456789abcdef");
            prop_assert!(name.len() <= 100 && !name.contains('/') && !name.starts_with(['.', '-']));
            prop_assert_eq!(Path::new(&name).components().count(), 1);
        }
    }
}
