//! Facts about the machine. Edge.
#![expect(
    clippy::disallowed_methods,
    reason = "this module reads what the kernel tells"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::OnceLock;
use std::time::Duration;

use procfs::{Current, CurrentSI};
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

/// Returns the CPU time that the hypervisor has taken from this machine since boot, all CPUs together.
pub fn stolen() -> Duration {
    let ticks = procfs::KernelStats::current()
        .ok()
        .and_then(|stats| stats.total.steal)
        .unwrap_or(0);
    Duration::from_millis(ticks * 1000 / procfs::ticks_per_second().max(1))
}

/// Returns the time since boot in which some CPUs worked, for programs, for the kernel and for interrupts. It is counted in
/// ticks, so a difference is off by up to one of each CPU.
pub fn busy(cpus: &BTreeSet<usize>) -> Duration {
    let Ok(stats) = procfs::KernelStats::current() else {
        return Duration::ZERO;
    };
    let of_each = cpus.iter().filter_map(|cpu| stats.cpu_time.get(*cpu));
    // What guests ran is a part of the users' time.
    let ticks = of_each.map(|cpu| {
        let interrupts = cpu.irq.unwrap_or(0) + cpu.softirq.unwrap_or(0);
        cpu.user + cpu.nice + cpu.system + interrupts
    });
    let ticks: u64 = ticks.sum();
    Duration::from_millis(ticks * 1000 / procfs::ticks_per_second().max(1))
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
