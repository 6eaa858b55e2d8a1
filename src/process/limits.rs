//! What a program may use up before it is ended, and the watch over it. Edge.
#![expect(
    clippy::disallowed_methods,
    reason = "it measures what a program uses while it runs"
)]

use std::collections::HashSet;
use std::fmt;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use procfs::process::{Process, Stat};
use rustix::process::getpid;
use serde::{Deserialize, Serialize};

use super::below::living_below;

/// How often memory and processes are looked at, at the most.
const MEMORY_PACE: Duration = Duration::from_millis(100);
/// How often a folder is added up, at the most.
const DISK_PACE: Duration = Duration::from_millis(500);
/// The part of its time that a watch spends on looking is one in so many.
const RESTS: u32 = 20;

/// What a program, with everything below it, may use; none is without a limit.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// Resident memory of all its processes, bytes.
    pub memory_bytes: Option<u64>,
    /// Processes at one time.
    pub processes: Option<u64>,
    /// Length of each of its logs, bytes, with what was there before.
    pub log_bytes: Option<u64>,
    /// A folder, and the bytes that it may take up on the disk.
    pub disk: Option<(PathBuf, u64)>,
}

/// The limit that a program was ended for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Limit {
    /// It used too much memory.
    Memory,
    /// It started too many processes.
    Processes,
    /// It printed too much; the log keeps what came first.
    Log,
    /// It filled its folder.
    Disk,
}

impl fmt::Display for Limit {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Memory => "used too much memory",
            Self::Processes => "started too many processes",
            Self::Log => "printed too much",
            Self::Disk => "filled its folder",
        })
    }
}

/// Starts to watch what is below this process. The first limit that is passed is told, and the watch over it ends.
///
/// A limit of the log is not among them: whoever copies the log keeps it.
pub(super) fn watch(limits: &Limits, passed: impl Fn(Limit) + Clone + Send + 'static) {
    let Limits {
        memory_bytes,
        processes,
        log_bytes: _,
        disk,
    } = limits.clone();
    if memory_bytes.is_some() || processes.is_some() {
        watch_one(MEMORY_PACE, passed.clone(), move || {
            let tree = living_below(getpid());
            let is_crowded = processes.is_some_and(|most| tree.len() as u64 > most);
            let is_swollen = memory_bytes.is_some_and(|most| uses_more_than(&tree, most));
            if is_crowded {
                Some(Limit::Processes)
            } else {
                is_swollen.then_some(Limit::Memory)
            }
        });
    }
    if let Some((folder, most)) = disk {
        watch_one(DISK_PACE, passed, move || {
            (size_on_disk(&folder) > most).then_some(Limit::Disk)
        });
    }
}

/// Looks again and again, at a pace at which the looking itself costs next to nothing.
fn watch_one(
    pace: Duration,
    passed: impl Fn(Limit) + Send + 'static,
    look: impl Fn() -> Option<Limit> + Send + 'static,
) {
    thread::spawn(move || {
        loop {
            let begun = Instant::now();
            if let Some(limit) = look() {
                return passed(limit);
            }
            thread::sleep(pace.max(begun.elapsed() * RESTS));
        }
    });
}

/// Returns whether processes have more in memory than they may.
///
/// What is resident is quickly asked, and counts pages that two processes share twice; so whoever seems to have too much
/// is asked more exactly.
fn uses_more_than(tree: &[Stat], most: u64) -> bool {
    let resident = |stat: &Stat| stat.rss * rustix::param::page_size() as u64;
    if tree.iter().map(resident).sum::<u64>() <= most {
        return false;
    }
    let proportional = |stat: &Stat| {
        let process = Process::new(stat.pid).ok();
        process.and_then(|process| proportional_set(&process))
    };
    let shares = tree
        .iter()
        .map(|stat| proportional(stat).unwrap_or_else(|| resident(stat)));
    shares.sum::<u64>() > most
}

/// Returns a process's share of the memory, bytes: pages that others use as well count in part. None where the kernel
/// does not tell.
pub(crate) fn proportional_set(process: &Process) -> Option<u64> {
    let rollup = process.smaps_rollup().ok()?;
    let map = rollup.memory_map_rollup.into_iter().next()?;
    map.extension.map.get("Pss").copied()
}

/// Returns the bytes that a folder's content takes up on its disk. What cannot be looked at is not counted.
fn size_on_disk(folder: &Path) -> u64 {
    let mut linked = HashSet::new();
    let mut folders = vec![folder.to_owned()];
    let mut bytes = 0;
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let Ok(metadata) = entry.metadata() else {
                continue;
            };
            if metadata.is_dir() {
                folders.push(entry.path());
            }
            // A file with two names takes its place once.
            if metadata.nlink() < 2 || metadata.is_dir() || linked.insert(metadata.ino()) {
                bytes += metadata.blocks() * 512;
            }
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_as_large_as_its_files_and_a_linked_one_counts_once() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("a")).unwrap();
        let empty = size_on_disk(dir.path());
        let file = dir.path().join("a/file");
        fs::write(&file, vec![1; 1 << 20]).unwrap();
        fs::hard_link(&file, dir.path().join("again")).unwrap();
        std::os::unix::fs::symlink("/", dir.path().join("everything")).unwrap();
        let grown = size_on_disk(dir.path()) - empty;
        assert!((1 << 20..1 << 21).contains(&grown), "{grown}");
        assert_eq!(size_on_disk(Path::new("/nowhere/at/all")), 0);
    }

    #[test]
    fn memory_is_what_all_processes_hold() {
        let own = Process::myself().unwrap();
        let tree = [own.stat().unwrap()];
        assert!(uses_more_than(&tree, 1 << 10));
        assert!(!uses_more_than(&tree, 1 << 40));
        assert!(proportional_set(&own).is_some());
    }
}
