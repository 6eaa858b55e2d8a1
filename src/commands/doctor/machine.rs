//! What this machine is like: CPUs, limits, disk, tools.

use std::time::Duration;

use rustix::process::{Resource, getrlimit};

use super::finding::{Finding, Grade, advise, finding};
use crate::error::Result;
use crate::host;
use crate::load::tool::{self, Program};
use crate::matrix::Matrix;
use crate::process::{self, Closing, Ended, Spec};
use crate::source;
use crate::workplace::Workplace;

/// Looks at everything that takes no load to find out.
pub(super) async fn findings(workplace: &Workplace) -> Result<Vec<Finding>> {
    Ok(vec![
        cpus()?,
        load(),
        governor(),
        virtualisation(),
        steal().await,
        files(),
        ports(),
        disk(workplace),
        counters(),
        processes().await,
        confinement().await,
    ])
}

/// Looks for the programs that builds need.
pub(super) async fn programs(workplace: &Workplace) -> Vec<Finding> {
    let files = workplace.default_matrices().unwrap_or_default();
    let matrices: Vec<Matrix> = files
        .iter()
        .filter_map(|file| Some(workplace.matrix(file).ok()?.0))
        .collect();
    let mut findings = Vec::new();
    for tool in tools(&matrices) {
        findings.push(tool_version(&tool, &matrices).await);
    }
    for program in matrices.iter().filter_map(load_tool) {
        findings.push(load_tool_version(program).await);
    }
    findings
}

fn cpus() -> Result<Finding> {
    let plan = host::cpu_plan(None, None)?;
    let shared = plan.server == plan.load;
    let grade = if shared { Grade::Note } else { Grade::Good };
    let found = format!("servers on {:?}, load on {:?}", plan.server, plan.load);
    Ok(advise(
        finding("CPUs", grade, found),
        "one CPU for both: races still compare versions, but absolute figures are low",
    ))
}

fn load() -> Finding {
    let average = host::load_average();
    let grade = if average < 0.5 {
        Grade::Good
    } else {
        Grade::Note
    };
    advise(
        finding("load", grade, format!("{average:.2} over the last minute")),
        "other programs are at work: races stand that better than solo trials",
    )
}

fn governor() -> Finding {
    let file = "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor";
    match std::fs::read_to_string(file) {
        Ok(name) if name.trim() == "performance" => finding("governor", Grade::Good, "performance"),
        Ok(name) => advise(
            finding("governor", Grade::Note, name.trim()),
            "the clock changes with load; `cpupower frequency-set -g performance` holds it",
        ),
        Err(_) => finding("governor", Grade::Good, "not visible here"),
    }
}

fn virtualisation() -> Finding {
    let machine = host::machine();
    let memory = machine.memory_bytes >> 20;
    let found = format!(
        "{}, {} cores, {memory} MiB, Linux {}",
        machine.cpu, machine.cores, machine.kernel
    );
    match machine.virtualisation {
        None => finding("machine", Grade::Good, found),
        Some(kind) => finding("machine", Grade::Note, format!("{found}; {kind}")),
    }
}

/// Watches for a moment how much CPU time the hypervisor takes away.
async fn steal() -> Finding {
    let cpus = host::allowed_cpus().into_iter().collect();
    let (before, begun) = (host::cpu_times(&cpus), host::monotonic());
    tokio::time::sleep(Duration::from_millis(500)).await;
    let seconds = host::since(begun).as_secs_f64();
    let stolen = host::cpu_times(&cpus).since(before).stolen;
    let share = stolen.as_secs_f64() / seconds;
    let grade = if share < 0.02 {
        Grade::Good
    } else {
        Grade::Note
    };
    advise(
        finding(
            "steal",
            grade,
            format!("{:.1} % of a CPU taken by the hypervisor", share * 100.0),
        ),
        "the machine is shared and busy now; a run takes more sessions",
    )
}

fn files() -> Finding {
    let limit = getrlimit(Resource::Nofile);
    let (soft, hard) = (
        limit.current.unwrap_or(u64::MAX),
        limit.maximum.unwrap_or(u64::MAX),
    );
    let grade = match hard {
        0..512 => Grade::Bad,
        512..4096 => Grade::Note,
        _ => Grade::Good,
    };
    advise(
        finding(
            "open files",
            grade,
            format!("{soft}, may be raised to {hard}"),
        ),
        "four racing servers with 100 connections each need about 530: `ulimit -n 20000`",
    )
}

fn ports() -> Finding {
    let file = "/proc/sys/net/ipv4/ip_local_port_range";
    let range = std::fs::read_to_string(file).unwrap_or_default();
    let ends: Vec<u32> = range
        .split_whitespace()
        .filter_map(|end| end.parse().ok())
        .collect();
    let count = ends
        .last()
        .zip(ends.first())
        .map_or(0, |(last, first)| last.saturating_sub(*first));
    let grade = if count >= 10_000 {
        Grade::Good
    } else {
        Grade::Note
    };
    advise(
        finding(
            "local ports",
            grade,
            format!("{count} for each source address"),
        ),
        "a connection per request needs many: the load spreads over 127.0.0.0/8, other networks cannot",
    )
}

fn disk(workplace: &Workplace) -> Finding {
    let cache = workplace.cache();
    let place = cache
        .ancestors()
        .find(|folder| folder.is_dir())
        .unwrap_or(&workplace.root);
    let free = rustix::fs::statvfs(place).map_or(0, |disk| disk.f_bavail * disk.f_frsize);
    let grade = match free >> 30 {
        0 => Grade::Bad,
        1..5 => Grade::Note,
        _ => Grade::Good,
    };
    advise(
        finding(
            "disk",
            grade,
            format!("{:.1} GiB free for builds", gibibytes(free)),
        ),
        "each built version keeps its program; put `cache` in harness.toml on a larger disk",
    )
}

#[expect(clippy::cast_precision_loss, reason = "shown with one decimal")]
fn gibibytes(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 30)
}

fn counters() -> Finding {
    let file = "/proc/sys/kernel/perf_event_paranoid";
    let found = match std::fs::read_to_string(file) {
        Ok(level) => format!(
            "perf_event_paranoid is {}; /proc is the main road",
            level.trim()
        ),
        Err(_) => "none; /proc is the main road".to_owned(),
    };
    finding("counters", Grade::Good, found)
}

/// Proves that a program can be started below a supervisor and is gone afterwards.
async fn processes() -> Finding {
    let spec = Spec {
        program: "sh".to_owned(),
        args: vec!["-c".to_owned(), ":".to_owned()],
        cwd: std::env::temp_dir(),
        env: process::base_environment(),
        ..Spec::default()
    };
    match process::capture(&spec, Duration::from_secs(10)).await {
        Ok(captured) if captured.ended == Ended::Code(0) => {
            finding("processes", Grade::Good, "started, supervised and ended")
        }
        Ok(captured) => finding("processes", Grade::Bad, format!("sh: {:?}", captured.ended)),
        Err(error) => finding("processes", Grade::Bad, error.to_string()),
    }
}

/// Finds out how far a build can be kept from the rest of the machine.
async fn confinement() -> Finding {
    let support = process::confinement_support().await;
    let (files, network) = (
        if support.files {
            "only in its own folder"
        } else {
            "wherever you may"
        },
        match support.network {
            Closing::Whole => "closes all of it",
            Closing::Tcp => "closes TCP alone",
            Closing::Not => "does not close it",
        },
    );
    let is_whole = support.files && support.network == Closing::Whole;
    advise(
        finding(
            "builds",
            if is_whole { Grade::Good } else { Grade::Note },
            format!("write {files}; `network = false` {network}"),
        ),
        "files need Landlock (Linux 5.19, `lsm=…,landlock`), the network user namespaces or, for TCP, Linux 6.7",
    )
}

/// Returns the programs to look for, those that the sources of the default matrices need among them.
fn tools(matrices: &[Matrix]) -> Vec<String> {
    let mut tools = ["git", "cargo", "cc", "npm"].map(str::to_owned).to_vec();
    tools.extend(matrices.iter().flat_map(source::tools_of));
    tools.sort_unstable();
    tools.dedup();
    tools
}

async fn tool_version(tool: &str, matrices: &[Matrix]) -> Finding {
    let mut tools = matrices.iter().flat_map(source::tools_of);
    let needed = tools.any(|needed| needed == tool);
    match process::version_of(tool).await {
        Some(version) => finding(tool, Grade::Good, version),
        None if needed => advise(
            finding(tool, Grade::Bad, "not found, and a default matrix needs it"),
            "install it, or choose other matrices in harness.toml",
        ),
        None => finding(tool, Grade::Note, "not found; no default matrix needs it"),
    }
}

fn load_tool(matrix: &Matrix) -> Option<&'static Program> {
    tool::program(matrix.load.manner.tool)
}

/// Says which version of a program that sends the requests is there.
async fn load_tool_version(program: &Program) -> Finding {
    match tool::run::find(program).await {
        Ok(found) => match found.note {
            None => finding(program.name, Grade::Good, found.engine),
            Some(note) => finding(program.name, Grade::Note, note),
        },
        Err(_) => advise(
            finding(
                program.name,
                Grade::Bad,
                "not found, and a default matrix loads with it",
            ),
            program.install,
        ),
    }
}
