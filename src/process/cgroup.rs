//! A control group for each server, so that all servers of a session have the same weight, however many threads each
//! has. Edge.
//!
//! The groups are made below Harness's own, wherever that is, if its user may; else there are none, and the kernel shares
//! the CPU between threads or sessions. A new group has the kernel's default weight, so all of them have the same.
#![expect(
    clippy::disallowed_methods,
    reason = "control groups are folders and files"
)]

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use procfs::ProcessCGroups;
use procfs::process::{MountInfo, MountInfos, Process};
use rustix::process::Pid;

use crate::journal::Sharing;

/// Longest wait for the last process to leave a group.
const LEAVE_DEADLINE: Duration = Duration::from_secs(2);

/// A control group of a server's own. Dropping it removes it, for which its processes must have ended.
#[derive(Debug)]
pub struct Group {
    /// Its folder in each hierarchy that is of use.
    folders: Vec<PathBuf>,
    sharing: Sharing,
    usage: Option<Usage>,
    /// Whether a process was not let in: then the group does not stand for the server.
    is_partial: AtomicBool,
}

/// Where a group's CPU time is told.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Usage {
    /// A file that holds nothing but nanoseconds.
    Nanoseconds(PathBuf),
    /// A file with one line for each figure, in microseconds.
    Statistics(PathBuf),
}

impl Group {
    /// Makes a group; none where that is not allowed. The first call also removes what dead Harnesses left.
    pub fn new() -> Option<Self> {
        static HOME: OnceLock<Option<Home>> = OnceLock::new();
        let home = HOME.get_or_init(|| {
            let home = Home::find()?;
            home.sweep();
            Some(home)
        });
        home.as_ref()?.make(&next_name()?)
    }

    /// Moves a process into the group; what it will start is in it too.
    pub fn admit(&self, pid: Pid) {
        let id = pid.as_raw_pid().to_string();
        let is_in = |folder: &PathBuf| fs::write(folder.join("cgroup.procs"), &id).is_ok();
        if !self.folders.iter().all(is_in) {
            self.is_partial.store(true, Ordering::Relaxed);
        }
    }

    /// Returns how the CPU is shared out between servers that each have such a group.
    pub fn sharing(&self) -> Sharing {
        if self.is_partial.load(Ordering::Relaxed) {
            return Sharing::Sessions;
        }
        self.sharing
    }

    /// Returns the CPU time of all that ever ran in the group, but for what runs on a CPU since the kernel's last tick, as
    /// with a process's CPU clock; none where the kernel does not tell.
    pub fn cpu_usage(&self) -> Option<Duration> {
        if self.is_partial.load(Ordering::Relaxed) {
            return None;
        }
        self.usage.as_ref()?.read()
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let deadline = Instant::now() + LEAVE_DEADLINE;
        for folder in &self.folders {
            while fs::remove_dir(folder).is_err() && folder.exists() && Instant::now() < deadline {
                thread::sleep(Duration::from_millis(1));
            }
        }
    }
}

impl Usage {
    fn read(&self) -> Option<Duration> {
        match self {
            Self::Nanoseconds(file) => {
                let text = fs::read_to_string(file).ok()?;
                text.trim().parse().ok().map(Duration::from_nanos)
            }
            Self::Statistics(file) => {
                let text = fs::read_to_string(file).ok()?;
                let mut lines = text.lines();
                let told = lines.find_map(|line| line.strip_prefix("usage_usec "))?;
                told.trim().parse().ok().map(Duration::from_micros)
            }
        }
    }
}

/// The groups that this process is in, as far as groups below them are of use.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Home {
    /// Version 1: one hierarchy shares out the CPU, maybe another one accounts for it.
    V1 {
        cpu: PathBuf,
        accounting: Option<PathBuf>,
    },
    /// Version 2: one hierarchy for all.
    V2(PathBuf),
}

impl Home {
    fn find() -> Option<Self> {
        let own = Process::myself().ok()?;
        Self::among(&own.mountinfo().ok()?, &own.cgroups().ok()?)
    }

    fn among(mounts: &MountInfos, groups: &ProcessCGroups) -> Option<Self> {
        let of_version_1 = |controller: &str| {
            let is_of = |names: &[String]| names.iter().any(|name| name == controller);
            let group = groups.0.iter().find(|group| is_of(&group.controllers))?;
            let mount = mounts.iter().find(|mount| {
                mount.fs_type == "cgroup" && mount.super_options.contains_key(controller)
            })?;
            folder(mount, &group.pathname)
        };
        if let Some(cpu) = of_version_1("cpu") {
            let accounting = of_version_1("cpuacct");
            return Some(Self::V1 { cpu, accounting });
        }
        let group = groups.0.iter().find(|group| group.hierarchy == 0)?;
        let mount = mounts.iter().find(|mount| mount.fs_type == "cgroup2")?;
        folder(mount, &group.pathname).map(Self::V2)
    }

    fn folders(&self) -> Vec<&Path> {
        match self {
            Self::V1 { cpu, accounting } => {
                // Both are often one hierarchy.
                let other = accounting.iter().filter(|folder| *folder != cpu);
                [cpu]
                    .into_iter()
                    .chain(other)
                    .map(PathBuf::as_path)
                    .collect()
            }
            Self::V2(folder) => vec![folder],
        }
    }

    /// Removes the groups of Harnesses that are no more. A group with a process in it cannot be removed.
    fn sweep(&self) {
        for folder in self.folders() {
            for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
                if entry.file_name().to_str().is_some_and(is_stale) {
                    // One that cannot be removed now is met again by the next start.
                    drop(fs::remove_dir(entry.path()));
                }
            }
        }
    }

    fn make(&self, name: &str) -> Option<Group> {
        // What is made before something fails is removed again by being dropped.
        let mut group = Group {
            folders: Vec::new(),
            sharing: Sharing::Sessions,
            usage: None,
            is_partial: AtomicBool::new(false),
        };
        for folder in self.folders() {
            let folder = folder.join(name);
            fs::create_dir(&folder).ok()?;
            group.folders.push(folder);
        }
        match self {
            Self::V1 { accounting, .. } => {
                group.sharing = Sharing::CgroupV1;
                let file = |folder: &PathBuf| folder.join(name).join("cpuacct.usage");
                group.usage = accounting.as_ref().map(file).map(Usage::Nanoseconds);
            }
            Self::V2(folder) => {
                let own = folder.join(name);
                if let Some(()) = share_out(folder, &own) {
                    group.sharing = Sharing::CgroupV2;
                }
                // The kernel keeps this one even where it does not share out the CPU by groups.
                group.usage = Some(Usage::Statistics(own.join("cpu.stat")));
            }
        }
        Some(group)
    }
}

/// Makes a group of version 2 one that the CPU is shared out to; none where that is not allowed.
///
/// A group with processes of its own, as Harness's is, may share out the CPU only to groups of threads.
fn share_out(home: &Path, group: &Path) -> Option<()> {
    let enabled = fs::read_to_string(home.join("cgroup.subtree_control")).ok()?;
    if !enabled.split_whitespace().any(|one| one == "cpu") {
        fs::write(home.join("cgroup.subtree_control"), "+cpu").ok()?;
    }
    let kind = group.join("cgroup.type");
    if fs::read_to_string(&kind).is_ok_and(|kind| kind.trim() == "domain invalid") {
        fs::write(&kind, "threaded").ok()?;
    }
    Some(())
}

/// Returns the folder of a group; none if it lies outside what is mounted.
fn folder(mount: &MountInfo, group: &str) -> Option<PathBuf> {
    let below = Path::new(group).strip_prefix(&mount.root).ok()?;
    // Joining nothing would leave a slash at the end.
    let parts = mount.mount_point.components().chain(below.components());
    Some(parts.collect())
}

/// Returns a name that tells who made the group: `harness-<process>-<its start>-<number>`.
fn next_name() -> Option<String> {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    let own = rustix::process::getpid().as_raw_pid();
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    Some(format!("harness-{own}-{}-{number}", start_of(own)?))
}

/// Returns whether a name is that of a group whose Harness is no more.
fn is_stale(name: &str) -> bool {
    maker(name).is_some_and(|(pid, start)| start_of(pid) != Some(start))
}

/// Returns the process that made a group, and its start; none if the name is none of ours.
fn maker(name: &str) -> Option<(i32, u64)> {
    let (pid, rest) = name.strip_prefix("harness-")?.split_once('-')?;
    let (start, number) = rest.split_once('-')?;
    number.parse::<u64>().ok()?;
    Some((pid.parse().ok()?, start.parse().ok()?))
}

/// Returns when a living process was started, in ticks since the machine's start.
fn start_of(pid: i32) -> Option<u64> {
    let stat = Process::new(pid).and_then(|process| process.stat()).ok()?;
    Some(stat.starttime)
}

#[cfg(test)]
mod tests {
    use procfs::FromRead;

    use super::*;

    fn home(mounts: &str, groups: &str) -> Option<Home> {
        let mounts = MountInfos::from_read(mounts.as_bytes()).unwrap();
        let groups = ProcessCGroups::from_read(groups.as_bytes()).unwrap();
        Home::among(&mounts, &groups)
    }

    #[test]
    fn version_1_is_taken_where_it_shares_out_the_cpu() {
        let mounts = "32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n\
                      41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n";
        let both = PathBuf::from("/sys/fs/cgroup/cpu,cpuacct/user.slice");
        let found = home(mounts, "4:cpu,cpuacct:/user.slice\n0::/user.slice\n").unwrap();
        assert_eq!(found.folders(), [&both]);
        let expected = Home::V1 {
            cpu: both.clone(),
            accounting: Some(both),
        };
        assert_eq!(found, expected);
    }

    #[test]
    fn a_hierarchy_for_accounting_is_another_folder() {
        let mounts = "32 31 0:29 / /cg/cpu rw shared:9 - cgroup cgroup rw,cpu\n\
                      33 31 0:30 / /cg/acct rw - cgroup cgroup rw,cpuacct\n";
        let found = home(mounts, "2:cpuacct:/\n1:cpu:/\n0::/\n").unwrap();
        assert_eq!(
            found.folders(),
            [Path::new("/cg/cpu"), Path::new("/cg/acct")]
        );
    }

    #[test]
    fn a_group_is_looked_for_below_what_is_mounted() {
        let mounts = "32 31 0:29 /docker/ab /sys/fs/cgroup rw - cgroup2 cgroup rw\n";
        let inside = home(mounts, "0::/docker/ab/in\n");
        assert_eq!(inside, Some(Home::V2("/sys/fs/cgroup/in".into())));
        assert_eq!(home(mounts, "0::/docker/other\n"), None);
        assert_eq!(home(mounts, "3:memory:/\n"), None);
    }

    /// A folder with the files that version 2 has, as far as they are asked.
    fn version_2(folder: &Path, enabled: &str) -> Group {
        fs::write(folder.join("cgroup.subtree_control"), enabled).unwrap();
        let group = Home::V2(folder.to_owned()).make("harness-1-2-3").unwrap();
        fs::write(group.folders[0].join("cgroup.procs"), "").unwrap();
        group
    }

    #[test]
    fn version_2_shares_out_the_cpu_once_it_is_told_to() {
        let folder = tempfile::tempdir().unwrap();
        let group = version_2(folder.path(), "memory pids\n");
        let told = fs::read_to_string(folder.path().join("cgroup.subtree_control"));
        assert_eq!(told.unwrap(), "+cpu");
        group.admit(rustix::process::getpid());
        assert_eq!(group.sharing(), Sharing::CgroupV2);

        let statistics = "usage_usec 1500\nuser_usec 1000\nsystem_usec 500\n";
        fs::write(group.folders[0].join("cpu.stat"), statistics).unwrap();
        assert_eq!(group.cpu_usage(), Some(Duration::from_micros(1500)));
        // A kernel's folder goes with its files.
        fs::remove_dir_all(&group.folders[0]).unwrap();
    }

    #[test]
    fn what_is_shared_out_already_is_left_as_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let group = version_2(folder.path(), "cpu pids\n");
        let told = fs::read_to_string(folder.path().join("cgroup.subtree_control"));
        assert_eq!(told.unwrap(), "cpu pids\n");
        assert_eq!(group.sharing(), Sharing::CgroupV2);
        fs::remove_dir_all(&group.folders[0]).unwrap();
    }

    #[test]
    fn a_group_that_lets_nobody_in_stands_for_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let group = version_2(folder.path(), "cpu\n");
        fs::remove_dir_all(&group.folders[0]).unwrap();
        group.admit(rustix::process::getpid());
        assert_eq!(
            (group.sharing(), group.cpu_usage()),
            (Sharing::Sessions, None)
        );
    }

    #[test]
    fn no_group_is_made_where_that_is_not_allowed() {
        let nowhere = Home::V2(PathBuf::from("/proc/self"));
        assert!(nowhere.make("harness-1-2-3").is_none());
    }

    #[test]
    fn only_groups_of_dead_harnesses_are_stale() {
        let own = next_name().unwrap();
        assert!(!is_stale(&own));
        let (pid, start) = maker(&own).unwrap();
        assert!(is_stale(&format!("harness-{pid}-{}-0", start + 1)));
        // No kernel gives ids as high as this.
        assert!(is_stale(&format!("harness-{}-{start}-0", i32::MAX)));
        for foreign in [
            "harness",
            "harness-1",
            "harness-1-2",
            "harness-a-2-3",
            "docker",
        ] {
            assert!(!is_stale(foreign), "{foreign}");
        }
    }

    #[test]
    fn what_a_dead_harness_left_is_removed() {
        let folder = tempfile::tempdir().unwrap();
        let stale = format!("harness-{}-1-0", i32::MAX);
        let own = next_name().unwrap();
        for name in [stale.as_str(), own.as_str(), "other"] {
            fs::create_dir(folder.path().join(name)).unwrap();
        }
        Home::V2(folder.path().to_owned()).sweep();
        assert!(!folder.path().join(stale).exists());
        assert!(folder.path().join(own).exists() && folder.path().join("other").exists());
    }
}
