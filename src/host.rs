//! Facts about the machine. Edge.
#![expect(
    clippy::disallowed_methods,
    reason = "this module reads what the kernel tells"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::OnceLock;
use std::time::Duration;

use procfs::Current;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use rustix::thread::CpuSet;
use sha2::{Digest, Sha256};

use crate::error::{Error, Kind, Result};
use crate::journal::{CpuPlan, Machine};

/// Returns the facts that a run's header holds.
pub fn machine() -> Machine {
    let info = procfs::CpuInfo::current().ok();
    let cpu = info
        .as_ref()
        .and_then(|info| info.model_name(0).map(str::to_owned))
        .unwrap_or_else(|| "unknown".to_owned());
    let virtual_machine = info
        .as_ref()
        .and_then(|info| info.flags(0).map(|flags| flags.contains(&"hypervisor")))
        .unwrap_or(false);
    let name = rustix::system::uname();
    let text = |value: &std::ffi::CStr| value.to_string_lossy().into_owned();
    let mut machine = Machine {
        class: String::new(),
        host: text(name.nodename()),
        cpu,
        cores: online_cpus(),
        memory_bytes: procfs::Meminfo::current().map_or(0, |memory| memory.mem_total),
        kernel: text(name.release()),
        os: os_name(),
        arch: std::env::consts::ARCH.to_owned(),
        virtualisation: virtual_machine.then(hypervisor),
        tools: BTreeMap::new(),
    };
    machine.class = class_of(&machine);
    machine
}

/// Returns the memory that this process and its children can have, bytes: the machine's, or less where a container's
/// limit says so.
pub fn memory_bytes() -> u64 {
    let limits = [
        "/sys/fs/cgroup/memory.max",
        "/sys/fs/cgroup/memory/memory.limit_in_bytes",
    ];
    let limit = |file| std::fs::read_to_string(file).ok()?.trim().parse().ok();
    let machine = procfs::Meminfo::current().map_or(u64::MAX, |memory| memory.mem_total);
    limits.into_iter().filter_map(limit).fold(machine, u64::min)
}

/// Returns the hash that two machines share when their results may be compared: 12 hexadecimal digits.
fn class_of(machine: &Machine) -> String {
    let facts = format!(
        "{}\n{}\n{}\n{}\n{:?}",
        machine.cpu, machine.cores, machine.kernel, machine.arch, machine.virtualisation
    );
    let digest = Sha256::digest(facts.as_bytes());
    data_encoding::HEXLOWER.encode(&digest[..6])
}

fn hypervisor() -> String {
    let vendor = std::fs::read_to_string("/sys/class/dmi/id/sys_vendor").unwrap_or_default();
    if vendor.trim().is_empty() {
        "virtual machine".to_owned()
    } else {
        vendor.trim().to_owned()
    }
}

fn os_name() -> String {
    std::fs::read_to_string("/etc/os-release")
        .ok()
        .and_then(|text| {
            let value = text
                .lines()
                .find_map(|line| line.strip_prefix("PRETTY_NAME="))?;
            Some(value.trim_matches('"').to_owned())
        })
        .unwrap_or_else(|| std::env::consts::OS.to_owned())
}

fn online_cpus() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}

/// Returns the CPUs that this process may use, in order.
pub fn allowed_cpus() -> Vec<usize> {
    match rustix::thread::sched_getaffinity(None) {
        Ok(set) => (0..CpuSet::MAX_CPU)
            .filter(|&cpu| set.is_set(cpu))
            .collect(),
        Err(_) => (0..online_cpus()).collect(),
    }
}

/// Chooses which CPUs the servers and the load get, where the user has not.
///
/// With one CPU both share it. With more, half of the cores go to each side, whole cores with all their hardware
/// threads, because two threads of one core slow each other.
pub fn cpu_plan(server: Option<Vec<usize>>, load: Option<Vec<usize>>) -> Result<CpuPlan> {
    let allowed = allowed_cpus();
    let distinct = |cpus: Option<Vec<usize>>| {
        cpus.map(|cpus| {
            cpus.into_iter()
                .collect::<BTreeSet<_>>()
                .into_iter()
                .collect::<Vec<_>>()
        })
    };
    let (server, load) = (distinct(server), distinct(load));
    for &cpu in server.iter().chain(&load).flatten() {
        if !allowed.contains(&cpu) {
            return Err(
                Error::new(Kind::Machine, format!("CPU {cpu} is not available here"))
                    .because(format!("this process may use the CPUs {allowed:?}"))
                    .hint("name other CPUs in `start.cpus`, `--server-cpus` or `--load-cpus`"),
            );
        }
    }
    Ok(split(&cores(&allowed), server, load))
}

/// Splits cores (each a list of its hardware threads) between servers and load. Pure.
fn split(cores: &[Vec<usize>], server: Option<Vec<usize>>, load: Option<Vec<usize>>) -> CpuPlan {
    let flat = |cores: &[Vec<usize>]| cores.iter().flatten().copied().collect::<Vec<_>>();
    let others = |taken: &[usize]| {
        let rest: Vec<usize> = flat(cores)
            .into_iter()
            .filter(|cpu| !taken.contains(cpu))
            .collect();
        if rest.is_empty() { flat(cores) } else { rest }
    };
    match (server, load) {
        (Some(server), Some(load)) => CpuPlan { server, load },
        (Some(server), None) => CpuPlan {
            load: others(&server),
            server,
        },
        (None, Some(load)) => CpuPlan {
            server: others(&load),
            load,
        },
        // Two threads of one core are what a small virtual machine often has: apart they at least share no run queue.
        (None, None) if cores.len() == 1 && cores[0].len() > 1 => {
            let (server, load) = cores[0].split_at(cores[0].len() / 2);
            CpuPlan {
                server: server.to_vec(),
                load: load.to_vec(),
            }
        }
        (None, None) if cores.len() < 2 => CpuPlan {
            server: flat(cores),
            load: flat(cores),
        },
        (None, None) => {
            let (server, load) = cores.split_at(cores.len() / 2);
            CpuPlan {
                server: flat(server),
                load: flat(load),
            }
        }
    }
}

/// Groups CPUs by the core they are threads of.
fn cores(cpus: &[usize]) -> Vec<Vec<usize>> {
    let sibling_list = |cpu: usize| {
        let path = format!("/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list");
        std::fs::read_to_string(path).unwrap_or_else(|_| cpu.to_string())
    };
    let mut by_core: BTreeMap<String, BTreeSet<usize>> = BTreeMap::new();
    for &cpu in cpus {
        by_core.entry(sibling_list(cpu)).or_default().insert(cpu);
    }
    let mut cores: Vec<Vec<usize>> = by_core
        .into_values()
        .map(|threads| threads.into_iter().collect())
        .collect();
    cores.sort();
    cores
}

/// CPU time since boot of some CPUs together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CpuTimes {
    /// Of programs and of the kernel on their behalf, without interrupts and what these leave to be done at once.
    pub busy: Duration,
    /// Taken by the hypervisor.
    pub stolen: Duration,
}

impl CpuTimes {
    /// Returns what came on top since an earlier moment.
    #[must_use]
    pub fn since(self, earlier: Self) -> Self {
        Self {
            busy: self.busy.saturating_sub(earlier.busy),
            stolen: self.stolen.saturating_sub(earlier.stolen),
        }
    }
}

/// Returns the CPU time since boot of those CPUs; zeros where the kernel does not tell. It is counted in ticks, so a
/// difference is off by up to one of each CPU.
pub fn cpu_times(cpus: &BTreeSet<usize>) -> CpuTimes {
    let text = std::fs::read_to_string("/proc/stat").unwrap_or_default();
    times_of(&text, cpus, procfs::ticks_per_second())
}

/// Reads the lines `cpuN user nice system idle iowait irq softirq steal guest guest_nice`. Pure.
///
/// What guests use is in user and nice already. Interrupts are left out: most of that work is for the packets of the very
/// servers that are measured. A kernel with `IRQ_TIME_ACCOUNTING` keeps it out of programs' clocks, where it would look
/// like the work of others, and more so of a faster server; one without charges it to whoever runs. So programs' clocks
/// never have less than their part of `busy`.
fn times_of(text: &str, cpus: &BTreeSet<usize>, ticks_per_second: u64) -> CpuTimes {
    let (mut busy, mut stolen) = (0, 0);
    for line in text.lines() {
        let mut words = line.split_ascii_whitespace();
        let name = words.next().and_then(|name| name.strip_prefix("cpu"));
        let number = name.and_then(|number| number.parse().ok());
        if number.is_some_and(|number: usize| cpus.contains(&number)) {
            let ticks: Vec<u64> = words.map(|word| word.parse().unwrap_or(0)).collect();
            busy += ticks.iter().take(3).sum::<u64>();
            stolen += ticks.get(7).copied().unwrap_or(0);
        }
    }
    let time = |ticks: u64| Duration::from_millis(ticks * 1000 / ticks_per_second.max(1));
    CpuTimes {
        busy: time(busy),
        stolen: time(stolen),
    }
}

/// Returns the monotonic clock, the one that a supervisor's start time is of.
pub fn monotonic() -> Duration {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    Duration::new(
        u64::try_from(now.tv_sec).unwrap_or(0),
        u32::try_from(now.tv_nsec).unwrap_or(0),
    )
}

/// Returns the time since an earlier moment of the monotonic clock.
pub fn since(earlier: Duration) -> Duration {
    monotonic().saturating_sub(earlier)
}

/// Returns the time of day.
pub fn now() -> jiff::Timestamp {
    jiff::Timestamp::now()
}

/// Returns a seed for a run that was given none.
pub fn fresh_seed() -> u64 {
    // Four bytes: small enough to be typed again by hand.
    let mut bytes = [0_u8; 4];
    match rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty()) {
        Ok(_) => u64::from(u32::from_le_bytes(bytes)),
        Err(_) => u64::from(monotonic().subsec_nanos()),
    }
}

/// Returns the commit of the repository that holds a file, and whether the file differs from it.
pub fn commit_of(file: &Path) -> Option<(String, bool)> {
    let repository = git2::Repository::discover(file.parent()?).ok()?;
    let commit = repository
        .head()
        .ok()?
        .peel_to_commit()
        .ok()?
        .id()
        .to_string();
    let root = repository.workdir()?.canonicalize().ok()?;
    let inside = file
        .canonicalize()
        .ok()?
        .strip_prefix(root)
        .ok()?
        .to_owned();
    let clean = repository
        .status_file(&inside)
        .is_ok_and(|status| status.is_empty());
    Some((commit, !clean))
}

/// Makes sure that so many files and sockets can be open at once, as far as the hard limit lets us.
pub fn allow_open_files(needed: u64) -> Result<()> {
    let limit = getrlimit(Resource::Nofile);
    if limit.current.is_none_or(|current| current >= needed) {
        return Ok(());
    }
    let raised = Rlimit {
        current: Some(needed),
        maximum: limit.maximum,
    };
    setrlimit(Resource::Nofile, raised).map_err(|error| {
        Error::new(
            Kind::Machine,
            format!("the load needs {needed} open files at once"),
        )
        .because(format!(
            "the limit is {:?}, and raising it failed: {error}",
            limit.current
        ))
        .hint(format!(
            "`ulimit -n {needed}`, or fewer connections or a smaller group in the matrix"
        ))
    })
}

/// Returns whether this process was started with a signal ignored.
pub fn ignores_signal(number: i32) -> bool {
    // Read once, before any handler of our own changes it.
    static IGNORED: OnceLock<u64> = OnceLock::new();
    let ignored = *IGNORED.get_or_init(|| {
        let status = procfs::process::Process::myself().and_then(|process| process.status());
        status.map_or(0, |status| status.sigign)
    });
    u32::try_from(number - 1).is_ok_and(|bit| ignored.checked_shr(bit).unwrap_or(0) & 1 == 1)
}

/// Returns the load average over one minute.
pub fn load_average() -> f32 {
    procfs::LoadAverage::current().map_or(0.0, |load| load.one)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_memory_is_at_most_the_machines() {
        let all = machine().memory_bytes;
        assert!((1 << 20..=all).contains(&memory_bytes()));
    }

    #[test]
    fn only_the_cpus_in_use_count_and_interrupts_do_not() {
        let text = "cpu  9 9 9 9 9 9 9 9 0 0\n\
                    cpu0 100 20 3 400 5 60 70 8 90 10\n\
                    cpu2 1000 200 30 4000 50 600 700 80 0 0\n\
                    cpu12 1 1 1 1 1 1 1 1 0 0\n\
                    intr 12345 0 9\n";
        let times = |cpus: &[usize]| times_of(text, &cpus.iter().copied().collect(), 100);
        let milliseconds = |times: CpuTimes| (times.busy.as_millis(), times.stolen.as_millis());
        assert_eq!(milliseconds(times(&[0])), (1230, 80));
        assert_eq!(milliseconds(times(&[0, 2])), (13530, 880));
        assert_eq!(milliseconds(times(&[1])), (0, 0));
        assert_eq!(
            times_of("cpu0 1 x", &[0].into(), 100).busy,
            Duration::from_millis(10)
        );
    }

    #[test]
    fn what_this_thread_does_is_busy_time() {
        let cpus = allowed_cpus().into_iter().collect();
        let (before, begun) = (cpu_times(&cpus).busy, monotonic());
        while cpu_times(&cpus).busy < before + Duration::from_millis(50) {
            assert!(
                since(begun) < Duration::from_secs(20),
                "no CPU time is told"
            );
        }
    }

    #[test]
    fn two_cores_give_one_to_each_side() {
        let plan = split(&[vec![0], vec![1]], None, None);
        assert_eq!(
            plan,
            CpuPlan {
                server: vec![0],
                load: vec![1]
            }
        );
    }

    #[test]
    fn two_threads_of_one_core_are_better_than_one_for_both() {
        let plan = split(&[vec![0, 1]], None, None);
        assert_eq!(
            plan,
            CpuPlan {
                server: vec![0],
                load: vec![1]
            }
        );
    }

    #[test]
    fn one_core_is_shared() {
        let plan = split(&[vec![0]], None, None);
        assert_eq!(
            plan,
            CpuPlan {
                server: vec![0],
                load: vec![0]
            }
        );
    }

    #[test]
    fn threads_of_one_core_stay_on_one_side() {
        let plan = split(
            &[vec![0, 4], vec![1, 5], vec![2, 6], vec![3, 7]],
            None,
            None,
        );
        assert_eq!(
            plan,
            CpuPlan {
                server: vec![0, 4, 1, 5],
                load: vec![2, 6, 3, 7]
            }
        );
    }

    #[test]
    fn a_side_that_is_given_leaves_the_rest_to_the_other() {
        let plan = split(&[vec![0], vec![1], vec![2]], Some(vec![1]), None);
        assert_eq!(
            plan,
            CpuPlan {
                server: vec![1],
                load: vec![0, 2]
            }
        );
        let shared = split(&[vec![0]], None, Some(vec![0]));
        assert_eq!(
            shared,
            CpuPlan {
                server: vec![0],
                load: vec![0]
            }
        );
    }

    #[test]
    fn the_class_does_not_depend_on_the_hosts_name() {
        let mut first = machine();
        first.host = "one".to_owned();
        assert_eq!(class_of(&first), machine().class);
        first.kernel.push('x');
        assert_ne!(class_of(&first), machine().class);
    }
}
