//! What a reader should know, one sentence each.

use std::collections::BTreeSet;

use super::words::{
    change_in_words, change_percent, count, list, number, quantity, share, signed_percent,
};
use crate::journal::{Header, Launched, Run};
use crate::matrix::Compare;
use crate::verdict::signs::signs;
use crate::verdict::{Comparison, Judgement, Metric, Sign, Warning};
use crate::version::Cell;

/// What it means that answers take some 40 ms while nobody is busy.
pub(crate) const DELAYED_ACK: &str = "many answers take 40 to 48 ms while servers and load are idle. That is how long TCP holds an \
     acknowledgement back: the server writes an answer in two pieces and waits for the client's acknowledgement of the first \
     (Nagle's algorithm); TCP_NODELAY on the server mends it, or writing the answer in one piece.";

/// Returns what a reader should know, one sentence each, without repeating one.
pub(super) fn sentences(run: &Run, judgement: &Judgement) -> Vec<String> {
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
    sentences.extend(super::boil::sentences(run, judgement));
    sentences.extend(reference_gaps(&run.header, judgement));
    sentences.extend(withdrawn(&run.header));
    for comparison in judgement.all() {
        for warning in &comparison.warnings {
            let sentence = of_pair(run, comparison, warning);
            sentences.extend(sentence.filter(|sentence| !sentences.contains(sentence)));
        }
    }
    sentences.extend(of_versions(run, judgement));
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

/// Returns what is to be said of launches that were measured too soon.
fn unsteady(launches: usize) -> String {
    let launches = match launches {
        1 => "1 launch".to_owned(),
        more => format!("{more} launches"),
    };
    format!("measuring began before CPU time per answer was steady in {launches}.")
}

/// Returns what is to be said of solo trials against a verdict.
fn solo_disagrees(solo: f64, metric: Metric) -> String {
    let metric = match metric {
        Metric::CpuPerAnswer => Metric::Throughput,
        Metric::Throughput | Metric::Memory | Metric::Startup | Metric::Latency => metric,
    };
    let alone = change_in_words(metric, change_percent(metric, solo));
    format!(
        "the solo trials point the other way ({alone} alone). They are few and noisy; but \
         a race shows versions that share a CPU, and sharing may cost one of them more. `--solo 10` tells more.",
    )
}

/// Returns what is to be said of a version whose launches vary more than those of the other.
fn varies(cell: &str, ratio: f64, metric: Metric) -> String {
    let by = match metric {
        Metric::Throughput | Metric::CpuPerAnswer => "CPU time per answer",
        Metric::Memory | Metric::Startup | Metric::Latency => quantity(metric),
    };
    format!(
        "from launch to launch {by} of {cell} varies at least {ratio:.1} times as much as that of the other."
    )
}

/// Returns what is to be said of a difference that is not the same all the time.
fn drifted(change: f64, metric: Metric) -> String {
    let change = signed_percent(change_percent(metric, change));
    let quantity = quantity(metric);
    format!(
        "the difference in {quantity} drifted by {change} from the first session to the last, so something else changed \
         meanwhile; what is shown is its mean."
    )
}

/// Returns what is to be said of sessions in which the client set the pace.
fn bound(sessions: usize, metric: Metric) -> String {
    let sessions = count(sessions, "session");
    let so = match metric {
        Metric::CpuPerAnswer => "so answers per CPU second decide",
        Metric::Latency => "and latency in such a session does not count",
        Metric::Throughput | Metric::Memory | Metric::Startup => {
            "and answers per second of such a session do not count"
        }
    };
    format!("the load generator was the limit in {sessions}, {so}.")
}

/// Returns what is to be said of a pair; nothing where it is said of the version, pair or not.
fn of_pair(run: &Run, comparison: &Comparison, warning: &Warning) -> Option<String> {
    let name = |cell: usize| run.header.cells[cell].id.as_str();
    let pair = format!(
        "{} → {}",
        name(comparison.pair.baseline),
        name(comparison.pair.candidate)
    );
    Some(match warning {
        Warning::FewSessions { held, planned } => {
            let held = count(*held, "session");
            format!("{pair}: {held} count, {planned} were planned.")
        }
        Warning::UnfairRace {
            difference,
            threads,
        } => format!("{pair}: {}", unfair(*difference, *threads)),
        Warning::Waits { cell } => format!(
            "{pair}: {} uses less CPU than the other by itself, it waits for something; answers per second decide.",
            name(*cell)
        ),
        Warning::SoloDisagrees { solo } => {
            format!("{pair}: {}", solo_disagrees(*solo, comparison.metric))
        }
        Warning::GeneratorBound { sessions } => {
            format!("{pair}: {}", bound(*sessions, comparison.metric))
        }
        Warning::OnlyRate => format!(
            "{pair}: answers per second are the rate that was asked for, and the servers' CPU time is not known, so nothing \
             decides."
        ),
        Warning::NotMeasured => format!(
            "{pair}: {} was not measured, so nothing is known of it.",
            quantity(comparison.metric)
        ),
        Warning::Unsteady { launches } => format!("{pair}: {}", unsteady(*launches)),
        Warning::UnequalVariances { cell, ratio } => {
            format!("{pair}: {}", varies(name(*cell), *ratio, comparison.metric))
        }
        Warning::Drift { change } => format!("{pair}: {}", drifted(*change, comparison.metric)),
        Warning::Polluted { sessions } => {
            let sessions = count(*sessions, "session");
            format!("{pair}: {sessions} left out, the machine was busy with something else.")
        }
        Warning::Bimodal { cell } => format!(
            "{}: its launches settle at two levels of CPU time per answer; a mean over them describes neither.",
            name(*cell)
        ),
        Warning::SameProgram => format!(
            "{pair}: the two programs are the same, byte for byte; only what they read when they run can make a difference."
        ),
        Warning::SetAside { sessions } => format!(
            "{pair}: {} far outside the others, set aside.",
            count(*sessions, "session")
        ),
        Warning::NotConfirmed => {
            format!("{pair}: the first sessions showed a step that fresh sessions did not confirm.")
        }
        Warning::Sign(_) => return None,
    })
}

/// Returns what became of a race whose servers did not get the same CPU time.
fn unfair(difference: f64, threads: Option<(u64, u64)>) -> String {
    let threads = threads.map_or_else(String::new, |(first, second)| {
        format!(" (they have {first} and {second} threads, and the kernel may share it out between those)")
    });
    format!(
        "the race was not fair, the second got {:+.1} % CPU time against the first{threads}, so answers per CPU second \
         decide. `design = \"slices\"` is the other way out: it loads one server at a time.",
        difference * 100.0
    )
}

/// Returns what the figures of the versions give away, whether they are part of a pair or not. What is the same of several
/// is said once.
fn of_versions(run: &Run, judgement: &Judgement) -> Vec<String> {
    let mut told: Vec<(String, Vec<String>)> = Vec::new();
    for cell in 0..run.header.cells.len() {
        let has_number = !judgement.gaps.iter().any(|(gap, _)| *gap == cell);
        let signs = if has_number {
            signs(run, cell)
        } else {
            Vec::new()
        };
        for text in signs.iter().map(in_words) {
            let name = run.header.cells[cell].id.clone();
            match told.iter_mut().find(|(known, _)| *known == text) {
                Some((_, names)) => names.push(name),
                None => told.push((text, vec![name])),
            }
        }
    }
    let sentence =
        |(text, names): (String, Vec<String>)| format!("{}: {text}", list(&names, "and"));
    told.into_iter().map(sentence).collect()
}

/// Returns what is to be said of a version, without its name.
fn in_words(sign: &Sign) -> String {
    match sign {
        Sign::AtLeast { .. } => {
            "the load generator was the limit in all solo trials, so the fetches/sec that are shown are what the load \
             could ask for and the server may give more. `--load-cpus` gives the load more CPUs."
                .to_owned()
        }
        Sign::RateNotKept { share: kept, .. } => format!(
            "only {} of the answers per second that the rate asks for were given.",
            share(*kept)
        ),
        Sign::LittlesLaw {
            expected, found, ..
        } => format!(
            "{} requests were under way on average, but answers per second × mean latency is {}. By Little's law the two \
             are one number, so the load's own figures are not to be trusted here.",
            number(*expected),
            number(*found)
        ),
        Sign::DelayedAck { .. } => DELAYED_ACK.to_owned(),
    }
}
