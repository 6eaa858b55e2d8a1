//! Sentences about the whole run: machine, method, how to repeat it.

use std::collections::BTreeSet;

use super::words::{command, count, list, share};
use crate::journal::{Header, Imported, Machine, Run, SessionRecord, Sharing};
use crate::matrix::{Arrivals, Compare, Design, Manner, Protocol, Sessions, Stop, Workload};
use crate::verdict::Judgement;
use crate::version::Order;

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

/// Returns `Example CPU, 2 CPUs, linux 6.1.0, KVM`.
pub(super) fn machine_in_short(machine: &Machine) -> String {
    let cores = (machine.cores > 0).then(|| count(machine.cores, "CPU"));
    let parts = [
        machine.cpu.clone(),
        cores.unwrap_or_default(),
        format!("{} {}", machine.os, machine.kernel),
        machine.virtualisation.clone().unwrap_or_default(),
    ];
    told(parts).join(", ")
}

/// Returns the parts that say something: of results of another program nothing may be known.
fn told<const N: usize>(parts: [String; N]) -> Vec<String> {
    let parts = parts.into_iter().map(|part| part.trim().to_owned());
    parts.filter(|part| !part.is_empty()).collect()
}

/// Returns the machine's facts, name and value.
pub(super) fn machine(run: &Run) -> Vec<(String, String)> {
    let (header, machine) = (&run.header, &run.header.machine);
    let cpus = |cpus: &[usize]| {
        cpus.iter()
            .map(ToString::to_string)
            .collect::<Vec<_>>()
            .join(", ")
    };
    let virtualisation = machine.virtualisation.as_deref().unwrap_or("none seen");
    let online = (machine.cores > 0).then(|| format!("{} online", count(machine.cores, "CPU")));
    let cpu = told([machine.cpu.clone(), online.unwrap_or_default()]).join(", ");
    let memory = (machine.memory_bytes > 0).then(|| format!("{} MiB", machine.memory_bytes >> 20));
    let system = [&machine.os, &machine.kernel, &machine.arch].map(String::clone);
    let mut facts = vec![
        ("Host", machine.host.clone()),
        ("CPU", cpu),
        ("CPUs of the servers", cpus(&header.cpus.server)),
        ("CPUs of the load", cpus(&header.cpus.load)),
        ("Memory", memory.unwrap_or_default()),
        ("System", told(system).join(" ")),
        ("Virtualisation", virtualisation.to_owned()),
    ];
    facts.extend(load_in_short(run).map(|load| ("Load", load)));
    facts.extend(sharing(run).map(|sharing| ("CPU time between servers", sharing.to_owned())));
    facts.extend(
        machine
            .tools
            .iter()
            .map(|(tool, version)| (tool.as_str(), version.clone())),
    );
    let known = facts.into_iter().filter(|(_, value)| !value.is_empty());
    known
        .map(|(name, value)| (name.to_owned(), value))
        .collect()
}

/// Returns what sent the requests and how busy that was; none where the sessions do not say.
pub(super) fn load_in_short(run: &Run) -> Option<String> {
    let told = |session: &&SessionRecord| !session.client.engine.is_empty();
    let sessions: Vec<&SessionRecord> = run.sessions.iter().filter(told).collect();
    let engines: BTreeSet<&str> = sessions
        .iter()
        .map(|session| session.client.engine.as_str())
        .collect();
    let engines: Vec<String> = engines.into_iter().map(str::to_owned).collect();
    let busy = sessions.iter().map(|session| session.client_share);
    let busy = busy.reduce(f64::max)?;
    Some(format!(
        "{}, used at most {:.0} % of its CPUs in any session",
        list(&engines, "and"),
        busy * 100.0
    ))
}

/// Returns how CPU time was shared out between racing servers; none where none raced or the sessions do not say.
fn sharing(run: &Run) -> Option<&'static str> {
    let mut raced = run
        .sessions
        .iter()
        .filter(|session| session.design == Design::Race && !session.client.engine.is_empty());
    Some(match raced.next()?.sharing {
        Sharing::Sessions => "shared out by the kernel between threads or sessions",
        Sharing::CgroupV1 => "shared out equally, by control groups (version 1)",
        Sharing::CgroupV2 => "shared out equally, by control groups (version 2)",
    })
}

/// Returns how it was measured and judged, one paragraph each.
pub(super) fn method(header: &Header, judgement: &Judgement) -> Vec<String> {
    vec![
        load(&header.workload),
        sessions(header),
        rule(header, judgement),
        levels(),
    ]
}

/// Returns how it was measured where each version was measured once.
pub(super) fn method_of_one_run(header: &Header) -> Vec<String> {
    if let Some(imported) = &header.imported {
        return of_others(imported);
    }
    let once = "Each version was measured once. That says how fast it was then, and not which of two is faster: nothing is \
                judged.";
    vec![load(&header.workload), once.to_owned()]
}

/// Returns how what other programs measured is to be read.
fn of_others(imported: &Imported) -> Vec<String> {
    let files = match imported.files.as_slice() {
        [only] => only.clone(),
        all => count(all.len(), "file"),
    };
    let whose = format!(
        "Another program measured it; taken from {files}. One value of each version says how fast it was then, and not which \
         of two is faster: nothing is judged. `harness history` names what deserves another look."
    );
    std::iter::once(whose)
        .chain(imported.note.clone())
        .collect()
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
    let paths: Vec<String> = workload.paths().map(str::to_owned).collect();
    format!(
        "Load {}: {} {} over {} to each server{}, {connections}, measured for {stop} after at least {} answers of \
         warm-up. {}",
        workload.name,
        workload.method,
        list(&paths, "and"),
        count(
            usize::try_from(workload.connections).unwrap_or(usize::MAX),
            "connection"
        ),
        transport(&workload.manner),
        workload.warmup_answers,
        pace(&workload.manner),
    )
}

/// Returns what is special of the connections: `, HTTP/2 over TLS, up to 10 requests under way on each`.
fn transport(manner: &Manner) -> String {
    let protocol = match manner.protocol {
        Protocol::Http1 => "",
        Protocol::Http2 => ", HTTP/2",
    };
    let tls = if manner.tls { ", over TLS" } else { "" };
    let most = manner.pipeline.or(manner.streams);
    let most = most.map_or_else(String::new, |most| {
        format!(", up to {most} requests under way on each")
    });
    format!("{protocol}{tls}{most}")
}

/// Returns when requests were sent, and what that means for the figures.
fn pace(manner: &Manner) -> String {
    let Some(rate) = manner.rate else {
        return "The loop is closed, a connection asks again when its answer is whole: so mean latency is connections ÷ \
                fetches/sec and not a second finding, and nothing here tells of latency at a given rate."
            .to_owned();
    };
    let arrivals = match manner.arrivals {
        Arrivals::Even => "at equal distances",
        Arrivals::Poisson => "at random distances",
    };
    format!(
        "Requests are due {rate} times a second at each server, {arrivals}, whether earlier ones have their answers or not, \
         and latency counts from then. Answers per second are that rate as long as a server keeps up, and say nothing: so \
         answers per CPU second decide."
    )
}

fn sessions(header: &Header) -> String {
    let sessions = &header.sessions;
    match sessions.design {
        Design::Race => format!(
            "Each version races {}: up to {} servers run and are loaded at once on the same CPUs, so that what slows the \
             machine slows all of them. Each pair races in {} of fresh launches; a session counts once, with \
             the log ratio of their answers. Besides, each version is \
             measured alone in {}.",
            compared_with(header),
            sessions.group,
            how_many(sessions, "session"),
            count(
                usize::try_from(sessions.solo).unwrap_or(usize::MAX),
                "solo trial"
            ),
        ),
        Design::Slices => format!(
            "The servers of a group, each version with {}, run at the same time, and one at a time is loaded, in slices of {:?} of \
             random order. Each pair is measured so in {} of fresh launches; a session counts once, with the log \
             ratio of their answers per second. Besides, each version is measured alone in {}.",
            compared_with(header),
            sessions.slice,
            how_many(sessions, "session"),
            count(
                usize::try_from(sessions.solo).unwrap_or(usize::MAX),
                "solo trial"
            ),
        ),
        Design::Solo => format!(
            "One server runs at a time, in {} that hold each version once in random order; the k-th trials of \
             the two of a pair are held against each other. This takes many more sessions than a race for the same certainty.",
            how_many(sessions, "block"),
        ),
    }
}

/// Returns `8 sessions`, or `4 to 12 sessions` where a pair gets as many as it takes.
fn how_many(sessions: &Sessions, noun: &str) -> String {
    let most = count(usize::try_from(sessions.count).unwrap_or(usize::MAX), noun);
    if is_looked_at(sessions) {
        format!("{} to {most}", sessions.least)
    } else {
        most
    }
}

/// Returns whether pairs are judged while the run goes on.
fn is_looked_at(sessions: &Sessions) -> bool {
    sessions.least < sessions.count
}

fn rule(header: &Header, judgement: &Judgement) -> String {
    let rule = &header.rule;
    let tests = judgement.all().count();
    let pairs = count(judgement.comparisons.len(), "pair");
    let family = if judgement.others.is_empty() {
        pairs
    } else {
        format!("{pairs} by several numbers, {tests} tests in all,")
    };
    let confirm = if rule.confirm {
        " A flagged pair is measured again with fresh launches; effect and interval are then of all sessions: the \
         first ones, picked for showing it, overstate it a little still."
    } else {
        ""
    };
    format!(
        "A step is flagged when a paired t test over sessions, corrected by Holm's method for {} at {} for the whole run, \
         and the signed-rank test at 5 % both show it and it is at least {}. A pair is the same when its interval lies \
         inside ± {}. {}{confirm}",
        family,
        share(rule.alpha),
        share(rule.min_effect),
        share(rule.same_within),
        intervals(header, tests),
    )
}

/// Returns at which level the intervals are, and what looking at pairs while the run goes on has to do with that.
fn intervals(header: &Header, tests: usize) -> String {
    let alpha = header.rule.alpha;
    let all = share(1.0 - alpha);
    let sessions = &header.sessions;
    if is_looked_at(sessions) {
        return format!(
            "Pairs are judged after {} and then again and again until they are decided; the level of each is spent over these \
             looks, so that looking often raises no more false alarms, and each interval is at the level of the last look: \
             all hold at once at {all}.",
            count(
                usize::try_from(sessions.least).unwrap_or(usize::MAX),
                "session"
            ),
        );
    }
    let each = 1.0 - alpha / crate::stats::real(tests.max(1));
    format!(
        "Each interval is at {}, so that all hold at once at {all}.",
        share(each)
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
