//! What is kept of builds, and what of it is deleted to bound it. Edge.

#![expect(
    clippy::disallowed_methods,
    reason = "it measures and deletes the cache's folders"
)]

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use super::folder::{OUTCOME, cannot, delete};
use crate::error::Result;

/// The files that mark a folder as ours to delete; what a folder without one holds is never touched.
pub(crate) const MARKS: [&str; 4] = [super::folder::MARK, LOGS_MARK, MIRROR_MARK, DOWNLOAD_MARK];
/// The mark of a run's folder of server logs.
pub const LOGS_MARK: &str = ".harness-logs";
/// The mark of a repository's mirror.
pub(crate) const MIRROR_MARK: &str = ".harness-mirror";
/// The mark of a fetched file's folder.
pub(super) const DOWNLOAD_MARK: &str = ".harness-download";
/// The files that make a build a finished one and a mirror a whole one.
const WHOLE: [&str; 2] = [OUTCOME, "HEAD"];
/// How deep below the cache such a folder lies at most.
const DEPTH: usize = 3;

/// A folder of the cache that can be deleted as a whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unit {
    /// The folder.
    pub path: PathBuf,
    /// What it takes on the disk, bytes.
    pub bytes: u64,
    /// How long ago it was last used.
    pub unused: Duration,
}

/// Lists what can be deleted.
pub fn units(cache: &Path) -> Vec<Unit> {
    let now = SystemTime::now();
    let mut found = Vec::new();
    collect(cache, DEPTH, now, &mut found);
    found.sort_by(|one, other| one.path.cmp(&other.path));
    found
}

fn collect(folder: &Path, depth: usize, now: SystemTime, found: &mut Vec<Unit>) {
    if let Some(used) = MARKS.iter().find_map(|mark| last_used(&folder.join(mark))) {
        found.push(Unit {
            path: folder.to_owned(),
            bytes: size(folder),
            unused: now.duration_since(used).unwrap_or_default(),
        });
        return;
    }
    let Some(depth) = depth.checked_sub(1) else {
        return;
    };
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let folders = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    folders.for_each(|entry| collect(&entry.path(), depth, now, found));
}

/// Returns when a folder with this mark was last used; none if it has no such mark.
fn last_used(mark: &Path) -> Option<SystemTime> {
    let metadata = fs::symlink_metadata(mark).ok()?;
    metadata.is_file().then(|| metadata.modified().ok())?
}

/// Notes that a folder with this mark is used now. Where that cannot be noted it is only deleted sooner.
pub(crate) fn touch(mark: &Path) {
    if let Ok(file) = OpenOptions::new().append(true).open(mark) {
        drop(file.set_modified(SystemTime::now()));
    }
}

/// Returns what a folder takes on the disk, bytes: of a file with names elsewhere, its share. Links are not followed; what
/// cannot be read is not counted.
pub(super) fn size(path: &Path) -> u64 {
    let Ok(metadata) = fs::symlink_metadata(path) else {
        return 0;
    };
    let own = metadata.blocks() * 512;
    if !metadata.is_dir() {
        return own / metadata.nlink().max(1);
    }
    let entries = fs::read_dir(path).into_iter().flatten().flatten();
    own + entries.map(|entry| size(&entry.path())).sum::<u64>()
}

/// Chooses what to delete: what was not used for `age`, and then the longest unused until at most `keep` bytes are
/// left. Pure.
pub fn choose(units: &[Unit], age: Duration, keep: u64) -> Vec<&Unit> {
    let mut by_use: Vec<&Unit> = units.iter().collect();
    by_use.sort_by_key(|unit| std::cmp::Reverse(unit.unused));
    let mut left: u64 = units.iter().map(|unit| unit.bytes).sum();
    let goes = |unit: &&Unit| {
        let goes = unit.unused >= age || left > keep;
        left -= if goes { unit.bytes } else { 0 };
        goes
    };
    by_use.into_iter().filter(goes).collect()
}

/// Deletes a unit unless somebody works in it; returns whether it did.
pub fn remove(unit: &Unit) -> Result<bool> {
    // What is made under another name first is locked by its last one.
    let named = match unit.path.extension() {
        Some(end) if end == "half" => unit.path.with_extension(""),
        Some(_) | None => unit.path.clone(),
    };
    let mut lock = named.into_os_string();
    lock.push(".lock");
    let lock = PathBuf::from(lock);
    // Held until the folder is gone. The lock file itself stays: somebody may be waiting for it.
    let held = match File::options().write(true).open(&lock) {
        Ok(file) => Some(file),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(cannot("open", &lock, error)),
    };
    if held.as_ref().is_some_and(|file| file.try_lock().is_err()) {
        return Ok(false);
    }
    // What makes it a whole one goes first, so that one cut short here is never taken for whole, and the mark last, so
    // that the deletion can be gone on with.
    for file in WHOLE {
        match fs::remove_file(unit.path.join(file)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(cannot("delete", &unit.path, error));
            }
            Ok(()) | Err(_) => {}
        }
    }
    let entries = fs::read_dir(&unit.path).map_err(|error| cannot("list", &unit.path, error))?;
    for entry in entries.flatten() {
        let is_mark = MARKS.iter().any(|mark| entry.file_name() == *mark);
        if !is_mark {
            delete(&entry.path()).map_err(|error| cannot("delete", &entry.path(), error))?;
        }
    }
    delete(&unit.path).map_err(|error| cannot("delete", &unit.path, error))?;
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unit(name: &str, bytes: u64, days: u64) -> Unit {
        Unit {
            path: PathBuf::from(name),
            bytes,
            unused: Duration::from_hours(24 * days),
        }
    }

    fn chosen(age: u64, keep: u64) -> Vec<String> {
        let units = [
            unit("new", 10, 1),
            unit("old", 20, 40),
            unit("older", 30, 50),
            unit("used", 40, 0),
        ];
        let chosen = choose(&units, Duration::from_hours(24 * age), keep);
        chosen
            .iter()
            .map(|unit| unit.path.display().to_string())
            .collect()
    }

    #[test]
    fn the_old_goes_and_then_the_longest_unused_until_the_rest_fits() {
        assert!(chosen(60, 100).is_empty());
        assert_eq!(chosen(30, 100), ["older", "old"]);
        assert_eq!(chosen(60, 99), ["older"]);
        assert_eq!(chosen(60, 49), ["older", "old", "new"]);
        assert_eq!(chosen(0, 100).len(), 4);
    }

    #[test]
    fn a_file_with_two_names_takes_its_room_once() {
        let cache = tempfile::tempdir().unwrap();
        for name in ["mirror", "build"] {
            fs::create_dir(cache.path().join(name)).unwrap();
        }
        let empty = size(cache.path());
        let pack = cache.path().join("mirror/pack");
        fs::write(&pack, vec![1; 1 << 20]).unwrap();
        let whole = size(cache.path()) - empty;
        fs::hard_link(&pack, cache.path().join("build/pack")).unwrap();
        assert!(whole >= 1 << 20);
        assert_eq!(size(cache.path()) - empty, whole);
    }

    #[test]
    fn only_marked_folders_are_found_and_one_in_use_is_left() {
        let cache = tempfile::tempdir().unwrap();
        for name in ["builds/a/1", "builds/a/2", "builds/a/theirs"] {
            fs::create_dir_all(cache.path().join(name).join("work")).unwrap();
            fs::write(cache.path().join(name).join("work/file"), "x").unwrap();
        }
        for name in ["1", "2"] {
            fs::write(cache.path().join("builds/a").join(name).join(MARKS[0]), "").unwrap();
        }
        let lock = File::create(cache.path().join("builds/a/2.lock")).unwrap();
        lock.lock().unwrap();
        let units = units(cache.path());
        assert_eq!(units.len(), 2);
        assert!(units[0].bytes >= 1);
        assert!(remove(&units[0]).unwrap());
        assert!(!remove(&units[1]).unwrap());
        assert!(!units[0].path.exists() && units[1].path.join("work/file").exists());
        assert!(cache.path().join("builds/a/theirs/work/file").exists());
    }
}
