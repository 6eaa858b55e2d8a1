//! Sentences about the whole run: warnings, machine, method.

use std::collections::BTreeSet;

use super::words::{command, count, share};
use crate::journal::{Header, Launched, Machine, Run};
use crate::matrix::{Compare, Design, Stop, Workload};
use crate::verdict::{Comparison, Judgement, Metric, Warning};
use crate::version::{Cell, Order};

/// Returns what a reader should know, one sentence each, without repeating one.
pub(super) fn warnings(run: &Run, judgement: &Judgement) -> Vec<String> {
    let mut sentences = Vec::new();
    if run.summary.is_none() {
        sentences.push("The run has not ended by itself: these are its results so far.".to_owned());
    }
    if run.torn {
        sentences.push("The last line of the journal was torn off and is left out.".to_owned());
    }
    if is_attached(run) {
        sentences.push(
            "The servers ran already and were not started anew for each session, so what differs from one start of a \
             version to the next is not in the intervals."
                .to_owned(),
        );
    }
    if run.header.matrix.modified {
        sentences.push("The matrix file differed from its commit.".to_owned());
    }
    sentences.extend(reference_gaps(&run.header, judgement));
    sentences.extend(withdrawn(&run.header));
    for comparison in &judgement.comparisons {
        for warning in &comparison.warnings {
            let sentence = warning_text(run, comparison, warning);
            if !sentences.contains(&sentence) {
                sentences.push(sentence);
            }
        }
    }
    sentences
}

/// Returns a sentence for each reference that has no number, so that nothing is compared with it.
fn reference_gaps(header: &Header, judgement: &Judgement) -> Vec<String> {
    let Compare::Reference(name) = &header.compare else {
        return Vec::new();
    };
    let gaps = judgement.gaps.iter().map(|(cell, _)| &header.cells[*cell]);
    gaps.filter(|cell| cell.version.name == *name)
        .map(|cell| {
            format!(
                "The reference {} has no number: nothing is compared with it.",
                cell.id
            )
        })
        .collect()
}

/// Returns a sentence for each version that its publisher took back.
fn withdrawn(header: &Header) -> BTreeSet<String> {
    let sentence = |cell: &Cell| {
        let why = cell.version.withdrawn.as_ref()?;
        Some(format!("{} is withdrawn: {why}.", cell.version.name))
    };
    header.cells.iter().filter_map(sentence).collect()
}

/// Returns what each version is compared with.
pub(super) fn compared_with(header: &Header) -> String {
    match (&header.compare, header.order) {
        (Compare::Reference(name), _) => format!("the reference {name}"),
        (Compare::Lineage, Order::Topo | Order::Date) => {
            "the version that it grew out of".to_owned()
        }
        (
            Compare::Lineage,
            Order::Semver | Order::Pep440 | Order::Maven | Order::Debian | Order::Listed,
        )
        | (Compare::Previous, _) => "the version before".to_owned(),
    }
}

/// Returns whether somebody else has started the servers: then none of their processes is known.
fn is_attached(run: &Run) -> bool {
    let launches = run.sessions.iter().flat_map(|session| &session.launches);
    let mut samples = launches.filter_map(|launch| match &launch.outcome {
        Launched::Sample(sample) => Some(sample),
        Launched::Gap(_) => None,
    });
    samples
        .next()
        .is_some_and(|sample| sample.resources.processes == 0)
}

fn warning_text(run: &Run, comparison: &Comparison, warning: &Warning) -> String {
    let name = |cell: usize| run.header.cells[cell].id.as_str();
    let pair = format!(
        "{} → {}",
        name(comparison.pair.baseline),
        name(comparison.pair.candidate)
    );
    match warning {
        Warning::FewSessions { held, planned } => {
            let held = count(*held, "session");
            format!("{pair}: {held} count, {planned} were planned.")
        }
        Warning::UnfairRace { difference } => format!(
            "{pair}: the race was not fair, the second got {:+.1} % CPU time against the first, so answers per CPU second \
             decide.",
            difference * 100.0
        ),
        Warning::Waits { cell } => format!(
            "{pair}: {} uses less CPU than the other by itself, it waits for something; answers per second decide.",
            name(*cell)
        ),
        Warning::SoloDisagrees { solo } => format!(
            "{pair}: the solo trials point the other way ({:+.1} % answers per second alone). They are few and noisy; but \
             a race shows versions that share a CPU, and sharing may cost one of them more. `--solo 10` tells more.",
            solo.exp_m1() * 100.0
        ),
        Warning::GeneratorBound { sessions } => {
            let sessions = count(*sessions, "session");
            let so = match comparison.metric {
                Metric::CpuPerAnswer => "so answers per CPU second decide",
                Metric::Throughput => {
                    "and the servers' CPU time is not known, so these do not count"
                }
            };
            format!("{pair}: the load generator was the limit in {sessions}, {so}.")
        }
        Warning::Unsteady { launches } => format!(
            "{pair}: measuring began before CPU time per answer was steady in {}.",
            if *launches == 1 {
                "1 launch".to_owned()
            } else {
                format!("{launches} launches")
            }
        ),
        Warning::Bimodal { cell } => format!(
            "{}: its launches settle at two levels of CPU time per answer; a mean over them describes neither.",
            name(*cell)
        ),
        Warning::SameProgram => format!(
            "{pair}: the two programs are the same, byte for byte; only what they read when they run can make a difference."
        ),
        Warning::SetAside { sessions: 1 } => {
            format!("{pair}: one session lay far outside the others and does not count.")
        }
        Warning::SetAside { sessions } => {
            format!("{pair}: {sessions} sessions lay far outside the others and do not count.")
        }
        Warning::NotConfirmed => {
            format!("{pair}: the first sessions showed a step that fresh sessions did not confirm.")
        }
    }
}

/// Returns `Example CPU, 2 CPUs, linux 6.1.0, KVM`.
pub(super) fn machine_in_short(machine: &Machine) -> String {
    let mut parts = vec![
        machine.cpu.clone(),
        count(machine.cores, "CPU"),
        format!("{} {}", machine.os, machine.kernel),
    ];
    parts.extend(machine.virtualisation.clone());
    parts.join(", ")
}

/// Returns the machine's facts, name and value.
pub(super) fn machine(header: &Header) -> Vec<(String, String)> {
    let machine = &header.machine;
    let cpus = |cpus: &[usize]| {
        cpus.iter()
            .map(ToString::to_string)
            .collect::<Vec<_>>()
            .join(", ")
    };
    let virtualisation = machine.virtualisation.as_deref().unwrap_or("none seen");
    let mut facts = vec![
        ("Host", machine.host.clone()),
        (
            "CPU",
            format!("{}, {} online", machine.cpu, count(machine.cores, "CPU")),
        ),
        ("CPUs of the servers", cpus(&header.cpus.server)),
        ("CPUs of the load", cpus(&header.cpus.load)),
        ("Memory", format!("{} MiB", machine.memory_bytes >> 20)),
        (
            "System",
            format!("{} {} {}", machine.os, machine.kernel, machine.arch),
        ),
        ("Virtualisation", virtualisation.to_owned()),
    ];
    facts.extend(
        machine
            .tools
            .iter()
            .map(|(tool, version)| (tool.as_str(), version.clone())),
    );
    facts
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value))
        .collect()
}

/// Returns how it was measured and judged, one paragraph each.
pub(super) fn method(header: &Header, pairs: usize) -> Vec<String> {
    vec![
        load(&header.workload),
        sessions(header),
        rule(header, pairs),
        levels(),
    ]
}

fn load(workload: &Workload) -> String {
    let connections = if workload.keep_alive {
        "each kept alive for many requests"
    } else {
        "a new one for each request"
    };
    let stop = match workload.stop {
        Stop::Duration(duration) => format!("{} s", duration.as_secs_f64()),
        Stop::Requests(requests) => format!("{requests} answers"),
    };
    format!(
        "Load {}: {} {} over {} to each server, {connections}, measured for {stop} after at least {} answers of \
         warm-up. The loop is closed, a connection asks again when its answer is whole: so mean latency is connections ÷ \
         fetches/sec and not a second finding, and nothing here tells of latency at a given rate.",
        workload.name,
        workload.method,
        workload.path,
        count(
            usize::try_from(workload.connections).unwrap_or(usize::MAX),
            "connection"
        ),
        workload.warmup_answers,
    )
}

fn sessions(header: &Header) -> String {
    let sessions = &header.sessions;
    match sessions.design {
        Design::Race => format!(
            "Each version races {}: up to {} servers run and are loaded at once on the same CPUs, so that what slows the \
             machine slows all of them. Each pair races in {} sessions of fresh launches; a session counts once, with \
             the log ratio of their answers. Besides, each version is \
             measured alone in {}.",
            compared_with(header),
            sessions.group,
            sessions.count,
            count(
                usize::try_from(sessions.solo).unwrap_or(usize::MAX),
                "solo trial"
            ),
        ),
        Design::Slices => format!(
            "The servers of a group, each version with {}, run at the same time, and one at a time is loaded, in slices of {:?} of \
             random order. Each pair is measured so in {} sessions of fresh launches; a session counts once, with the log \
             ratio of their answers per second. Besides, each version is measured alone in {}.",
            compared_with(header),
            sessions.slice,
            sessions.count,
            count(
                usize::try_from(sessions.solo).unwrap_or(usize::MAX),
                "solo trial"
            ),
        ),
        Design::Solo => format!(
            "One server runs at a time, in {} blocks that hold each version once in random order; the k-th trials of \
             the two of a pair are held against each other. This takes many more sessions than a race for the same certainty.",
            sessions.count,
        ),
    }
}

fn rule(header: &Header, pairs: usize) -> String {
    let rule = &header.rule;
    let each = 1.0 - rule.alpha / crate::stats::real(pairs.max(1));
    let confirm = if rule.confirm {
        " A flagged pair is measured again with fresh launches; effect and interval are then of all sessions: the \
         first ones, picked for showing it, overstate it a little still."
    } else {
        ""
    };
    format!(
        "A step is flagged when a paired t test over sessions, corrected by Holm's method for {} at {} for the whole run, \
         and the signed-rank test at 5 % both show it and it is at least {}. A pair is the same when its interval lies \
         inside ± {}. Each interval is at {}, so that all hold at once at {}.{confirm}",
        count(pairs, "pair"),
        share(rule.alpha),
        share(rule.min_effect),
        share(rule.same_within),
        share(each),
        share(1.0 - rule.alpha),
    )
}

fn levels() -> String {
    "The table's fetches/sec are fitted: the two of a pair stand exactly in the ratio that their comparison found, and \
     the solo trials set the height of all that pairs connect. The figures of each version are medians of its solo trials \
     alone."
        .to_owned()
}

/// Returns a command that repeats the run with the same seed.
pub(super) fn repeat(header: &Header) -> String {
    let mut words = header.command.clone();
    let seeded = words
        .iter()
        .any(|word| word == "--seed" || word.starts_with("--seed="));
    if !seeded {
        words.push("--seed".to_owned());
        words.push(header.seed.to_string());
    }
    command(&words)
}
