//! What the servers of a session use over its measured part. Edge.
//!
//! `docs/method.md` says how each figure is come by and what it leaves out.

use std::collections::BTreeMap;
use std::time::Duration;

use nix::time::clock_getcpuclockid;
use procfs::process::{Process, Stat, Task};

use super::counters::Counted;
use super::ledger::{CpuLedger, Growth, ProcessKey};
use super::tree::{Look, Tree};
use crate::host;
use crate::outcome::Resources;
use crate::process::cgroup::Group;
use crate::process::limits::proportional_set;

/// The part of its time that is spent on looking at each thread is one in so many: a server may have hundreds.
const RESTS: u32 = 200;

/// The meters of a session's servers, in their order.
#[derive(Debug)]
pub struct Meters<'a>(Vec<Meter<'a>>);

impl<'a> Meters<'a> {
    /// Makes a meter for each server. From now on `sample` tells its CPU time.
    pub fn new(trees: impl IntoIterator<Item = &'a Tree>) -> Self {
        Self(trees.into_iter().map(Meter::new).collect())
    }

    /// Begins the measured part. What is dear to look at is looked at first, so that CPU times begin together and late.
    pub fn begin(&mut self) {
        for meter in &mut self.0 {
            meter.prepare();
        }
        for meter in &mut self.0 {
            meter.begin();
        }
    }

    /// Takes a sample of each and returns the CPU time since the one before, s.
    pub fn sample(&mut self) -> Vec<f64> {
        self.0.iter_mut().map(Meter::sample).collect()
    }

    /// Ends the measured part, of which the last sample was the end, and returns what each server used in it.
    pub fn finish(self) -> Vec<Resources> {
        self.0.into_iter().map(Meter::finish).collect()
    }
}

/// The meter of one server.
#[derive(Debug)]
struct Meter<'a> {
    tree: &'a Tree,
    cpu: Cpu<'a>,
    /// CPU time from the beginning to the last sample.
    used: Duration,
    resident: Resident,
    /// By thread: switches of its own will, others, and time that it waited for a CPU, ns.
    threads: Growth<i32, 3>,
    /// When all threads were last looked at, and how long that took.
    threads_seen: (Duration, Duration),
    counted: Option<Counted>,
    proportional: Option<u64>,
}

/// Where the CPU time of a tree is known from.
#[derive(Debug)]
enum Cpu<'a> {
    /// Its control group, and what that had used at the beginning.
    Group(&'a Group, Duration),
    /// Its processes, one by one.
    Processes(CpuLedger),
}

/// The resident sets of a tree, over the samples, bytes.
#[derive(Debug, Default)]
struct Resident {
    sum: u64,
    samples: u64,
    greatest: u64,
}

impl<'a> Meter<'a> {
    fn new(tree: &'a Tree) -> Self {
        Self {
            tree,
            cpu: Cpu::begin(tree, &tree.look()),
            used: Duration::ZERO,
            resident: Resident::default(),
            threads: Growth::since(BTreeMap::new()),
            threads_seen: (Duration::ZERO, Duration::ZERO),
            counted: None,
            proportional: None,
        }
    }

    /// Looks at what is dear to look at.
    fn prepare(&mut self) {
        let look = self.tree.look();
        self.proportional = proportional_sets(&look);
        self.threads = Growth::since(self.look_at_threads(&look));
    }

    fn begin(&mut self) {
        let look = self.tree.look();
        self.resident = Resident::default();
        self.resident.note(&look);
        self.counted = self.tree.counting.read();
        self.used = Duration::ZERO;
        self.cpu = Cpu::begin(self.tree, &look);
    }

    fn sample(&mut self) -> f64 {
        let look = self.tree.look();
        // Where the kernel suddenly tells no more, nothing more is known to have been used.
        let used = self.cpu.used(&look).unwrap_or_default();
        let since = used.saturating_sub(self.used);
        self.used += since;
        self.resident.note(&look);
        let (seen, cost) = self.threads_seen;
        if host::since(seen) >= cost * RESTS {
            let threads = self.look_at_threads(&look);
            self.threads.note(threads);
        }
        since.as_secs_f64()
    }

    fn look_at_threads(&mut self, look: &Look) -> BTreeMap<i32, [u64; 3]> {
        let begun = host::monotonic();
        let threads = look.living().flat_map(threads_of).collect();
        self.threads_seen = (host::monotonic(), host::since(begun));
        threads
    }

    fn finish(mut self) -> Resources {
        let look = self.tree.look();
        let counted = self.tree.counting.read();
        let threads = self.look_at_threads(&look);
        self.threads.note(threads);
        let [voluntary_switches, involuntary_switches, delay] = self.threads.grown;
        let proportional = proportional_sets(&look);
        let mut resources = Resources {
            cpu_seconds: self.used.as_secs_f64(),
            rss_mean_bytes: self.resident.mean(),
            pss_bytes: proportional,
            pss_peak_bytes: proportional.max(self.proportional),
            voluntary_switches,
            involuntary_switches,
            run_delay_seconds: Duration::from_nanos(delay).as_secs_f64(),
            counters: counted
                .zip(self.counted)
                .map(|(later, earlier)| later.since(&earlier)),
            ..Resources::default()
        };
        add_statuses(&mut resources, &look);
        resources.rss_peak_bytes = resources.rss_peak_bytes.max(self.resident.greatest);
        resources
    }
}

/// Adds what each process's status says.
fn add_statuses(resources: &mut Resources, look: &Look) {
    let statuses = look
        .living()
        .filter_map(|stat| Process::new(stat.pid).ok()?.status().ok());
    for status in statuses {
        resources.processes += 1;
        resources.threads += status.threads;
        resources.rss_peak_bytes += status.vmhwm.unwrap_or(0) * 1024;
    }
}

impl<'a> Cpu<'a> {
    fn begin(tree: &'a Tree, look: &Look) -> Self {
        let group = tree.group.as_ref();
        match group.and_then(|group| Some((group, group.cpu_usage()?))) {
            Some((group, begun)) => Self::Group(group, begun),
            None => Self::Processes(CpuLedger::since(cpu_times(look))),
        }
    }

    /// Returns the CPU time since the beginning.
    fn used(&mut self, look: &Look) -> Option<Duration> {
        match self {
            Self::Group(group, begun) => Some(group.cpu_usage()?.saturating_sub(*begun)),
            Self::Processes(ledger) => Some(Duration::from_nanos(ledger.note(cpu_times(look)))),
        }
    }
}

impl Resident {
    fn note(&mut self, look: &Look) {
        let pages: u64 = look.members.iter().map(|stat| stat.rss).sum();
        let bytes = pages * rustix::param::page_size() as u64;
        self.sum += bytes;
        self.samples += 1;
        self.greatest = self.greatest.max(bytes);
    }

    fn mean(&self) -> u64 {
        self.sum.checked_div(self.samples).unwrap_or(0)
    }
}

/// Returns for each process its own CPU time and that of the children which it has waited for, ns. Of a supervisor only
/// the second counts: that is of processes whose parents are gone.
fn cpu_times(look: &Look) -> BTreeMap<ProcessKey, [u64; 2]> {
    let members = look
        .members
        .iter()
        .map(|stat| (key(stat), [own_time(stat), waited_time(stat)]));
    let supervisors = look
        .supervisors
        .iter()
        .map(|stat| (key(stat), [0, waited_time(stat)]));
    members.chain(supervisors).collect()
}

fn key(stat: &Stat) -> ProcessKey {
    (stat.pid, stat.starttime)
}

/// Returns the CPU time of a process with that of its ended threads, ns: by its clock, and if it is gone by now, by what
/// was said of it.
fn own_time(stat: &Stat) -> u64 {
    let clock = clock_getcpuclockid(nix::unistd::Pid::from_raw(stat.pid));
    let time = clock.and_then(nix::time::ClockId::now);
    time.map(Duration::from)
        .ok()
        .and_then(|time| u64::try_from(time.as_nanos()).ok())
        .unwrap_or_else(|| ticks(stat.utime + stat.stime))
}

fn waited_time(stat: &Stat) -> u64 {
    ticks(u64::try_from(stat.cutime + stat.cstime).unwrap_or(0))
}

fn ticks(count: u64) -> u64 {
    count * 1_000_000_000 / rustix::param::clock_ticks_per_second().max(1)
}

/// Returns what the kernel counts of each thread of a process that lives.
fn threads_of(stat: &Stat) -> Vec<(i32, [u64; 3])> {
    let threads = Process::new(stat.pid).and_then(|process| process.tasks());
    let read = |thread: Task| {
        let status = thread.status().ok()?;
        // A kernel without this one still counts switches.
        let delay = thread.schedstat().map_or(0, |stat| stat.run_delay);
        let switches = [
            status.voluntary_ctxt_switches?,
            status.nonvoluntary_ctxt_switches?,
        ];
        Some((thread.tid, [switches[0], switches[1], delay]))
    };
    let threads = threads.into_iter().flatten();
    threads.filter_map(|thread| read(thread.ok()?)).collect()
}

/// Returns the proportional sets of all living processes together, bytes; none where there are none or the kernel does not
/// tell.
fn proportional_sets(look: &Look) -> Option<u64> {
    let mut sum = None;
    for process in look.living().filter_map(|stat| Process::new(stat.pid).ok()) {
        match proportional_set(&process) {
            Some(own) => sum = Some(sum.unwrap_or(0) + own),
            None if process.is_alive() => return None,
            None => {}
        }
    }
    sum
}
