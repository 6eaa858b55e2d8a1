//! What a process tree uses: CPU time, memory, threads, and the socket it listens on.

use std::collections::BTreeMap;
use std::time::Duration;

use nix::time::clock_getcpuclockid;
use procfs::process::Process;
use rustix::process::Pid;

use super::listening;
use crate::address::Address;
use crate::outcome::Resources;
use crate::process::below::descendants;
use crate::process::limits::proportional_set;

/// The processes below some supervisors. Reading the list is dear, so it is renewed only when asked for. By default there
/// are none: those of a server on another machine.
#[derive(Debug, Clone, Default)]
pub struct Tree {
    roots: Vec<Pid>,
    members: Vec<Pid>,
}

impl Tree {
    /// Finds the processes below all of these.
    pub fn below_all(roots: &[Pid]) -> Self {
        let mut tree = Self {
            roots: roots.to_vec(),
            members: Vec::new(),
        };
        tree.renew();
        tree
    }

    /// Looks again.
    pub fn renew(&mut self) {
        self.members = self
            .roots
            .iter()
            .flat_map(|&root| descendants(root))
            .collect();
    }

    /// Returns the CPU time of each known process, threads that have ended included.
    ///
    /// The kernel's CPU clock of a process counts in nanoseconds and keeps the time of ended threads, which a sum over
    /// `/proc/PID/task/*/schedstat` loses. Processes that began since the list was made are not among them.
    pub fn cpu(&self) -> CpuTimes {
        let time = |&pid: &Pid| cpu_of(pid).map(|time| (pid.as_raw_pid(), time));
        CpuTimes(self.members.iter().filter_map(time).collect())
    }

    /// Returns memory, threads and processes of the whole tree now; CPU time is the caller's to fill in.
    pub fn resources(&mut self) -> Resources {
        self.renew();
        let mut resources = Resources::default();
        let mut pss = Some(0);
        for pid in &self.members {
            let Ok(process) = Process::new(pid.as_raw_pid()) else {
                continue;
            };
            let Ok(status) = process.status() else {
                continue;
            };
            resources.processes += 1;
            resources.threads += status.threads;
            resources.rss_peak_bytes += status.vmhwm.unwrap_or(0) * 1024;
            pss = pss
                .zip(proportional_set(&process))
                .map(|(sum, own)| sum + own);
        }
        resources.pss_bytes = pss.filter(|_| resources.processes > 0);
        resources
    }

    /// Returns every address at which a process of the tree listens.
    pub fn listening(&mut self) -> Vec<Address> {
        self.renew();
        listening::addresses(&self.members)
    }
}

/// The CPU times of a tree's processes at one moment.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CpuTimes(BTreeMap<i32, Duration>);

impl CpuTimes {
    /// Returns the CPU time used since an earlier moment, s. Each process is held against itself: one that has ended in
    /// between adds nothing and takes nothing away.
    pub fn seconds_since(&self, earlier: &Self) -> f64 {
        let used = |(pid, time): (&i32, &Duration)| {
            time.saturating_sub(earlier.0.get(pid).copied().unwrap_or_default())
        };
        self.0.iter().map(used).sum::<Duration>().as_secs_f64()
    }
}

fn cpu_of(pid: Pid) -> Option<Duration> {
    let clock = clock_getcpuclockid(nix::unistd::Pid::from_raw(pid.as_raw_pid())).ok()?;
    clock.now().ok().map(Duration::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A tree whose only member is this process.
    fn own() -> Tree {
        let root = rustix::process::getpid();
        Tree {
            roots: vec![root],
            members: vec![root],
        }
    }

    #[test]
    fn cpu_time_grows_with_work_and_keeps_that_of_ended_threads() {
        let tree = own();
        let before = tree.cpu();
        std::thread::spawn(|| {
            (0..20_000_000_u64).fold(1, |sum, next| sum ^ std::hint::black_box(next))
        })
        .join()
        .unwrap();
        assert!(tree.cpu().seconds_since(&before) > 0.001);
    }

    #[test]
    fn a_process_that_has_ended_takes_nothing_away() {
        let times = |list: &[(i32, u64)]| {
            CpuTimes(
                list.iter()
                    .map(|&(pid, ms)| (pid, Duration::from_millis(ms)))
                    .collect(),
            )
        };
        let earlier = times(&[(1, 100), (2, 5000)]);
        let later = times(&[(1, 350), (3, 50)]);
        assert!((later.seconds_since(&earlier) - 0.3).abs() < 1e-9);
    }
}
