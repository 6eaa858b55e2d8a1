//! The figures of single loads, in the units that `http_load`, `ab`, `wrk` and `httpbench` tell theirs in. Pure.
//!
//! A figure of 0 that cannot be 0 is one that the program which sent the requests does not tell; it is left out.

use std::fmt::Write;

use serde::Serialize;

use super::words::{number, one_line, share};
use crate::journal::{Launched, Run};
use crate::matrix::{Design, Workload};
use crate::outcome::{Gap, Latency, LoadFigures, Sample, Spread};
use crate::verdict::cpu_per_answer;

/// What came of loading a cell once.
#[derive(Debug, Serialize)]
pub struct Load<'a> {
    /// The session's number.
    session: u32,
    /// Race, slices or solo.
    design: Design,
    /// What sent the requests; empty in a run that did not write it down.
    engine: &'a str,
    /// Share of the CPUs in use that neither servers nor load used.
    others_share: f64,
    /// The figures, or why there are none.
    #[serde(flatten)]
    outcome: Outcome<'a>,
    #[serde(skip)]
    workload: &'a Workload,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
enum Outcome<'a> {
    Sample(&'a Sample),
    Gap(&'a Gap),
}

/// Returns what came of each load of a cell, in the order of the sessions.
pub fn loads(run: &Run, cell: usize) -> Vec<Load<'_>> {
    let sessions = run.sessions.iter();
    sessions
        .filter_map(|session| {
            let mut launches = session.launches.iter();
            let launch = launches.find(|launch| launch.cell == cell)?;
            Some(Load {
                session: session.index,
                design: session.design,
                engine: &session.client.engine,
                others_share: session.others_share,
                outcome: match &launch.outcome {
                    Launched::Sample(sample) => Outcome::Sample(sample),
                    Launched::Gap(gap) => Outcome::Gap(gap),
                },
                workload: &run.header.workload,
            })
        })
        .collect()
}

impl Load<'_> {
    /// Returns it as a paragraph for a person.
    pub fn text(&self) -> String {
        let design = match self.design {
            Design::Race => "race",
            Design::Slices => "slices",
            Design::Solo => "solo",
        };
        let engine = match self.engine {
            "" => String::new(),
            engine => format!(", {engine}"),
        };
        let mut text = format!("session {}, {design}{engine}\n", self.session);
        let others = format!("{} of the CPU time in use", share(self.others_share));
        row(
            &mut text,
            "others took",
            (self.others_share > 0.0).then_some(others),
        );
        match self.outcome {
            Outcome::Gap(gap) => row(&mut text, "gap", Some(one_line(&gap.in_one_line()))),
            Outcome::Sample(sample) => rows(&mut text, sample, self.workload),
        }
        text
    }
}

fn rows(text: &mut String, sample: &Sample, workload: &Workload) {
    let load = &sample.load;
    let rows = [
        ("fetches", Some(fetches(load, workload))),
        ("body", bytes(load, load.body_bytes)),
        ("wire", bytes(load, load.wire_bytes)),
        ("connect", spread(&load.connect)),
        ("connections", connections(load)),
        ("first response", spread(&load.first_response)),
        ("latency", latency(&load.latency)),
        ("percentiles", percentiles(&load.latency)),
        ("under way", under_way(load)),
        ("late", lateness(load)),
        ("errors", Some(errors(load))),
        ("threads", threads(load)),
        ("server CPU", server(sample)),
    ];
    for (label, figure) in rows {
        row(text, label, figure);
    }
}

fn row(text: &mut String, label: &str, figure: Option<String>) {
    if let Some(figure) = figure {
        // Writing to a text never fails.
        let _ = writeln!(text, "  {label:<15} {figure}");
    }
}

/// As `http_load` begins, with `ab`'s time per request.
fn fetches(load: &LoadFigures, workload: &Workload) -> String {
    let manner = &workload.manner;
    let each = manner.streams.or(manner.pipeline).unwrap_or(1);
    let parallel = u64::from(workload.connections) * u64::from(each);
    let rate = load.fetches_per_second();
    format!(
        "{} in {} s, {parallel} at most in parallel: {} fetches/sec, one each {} ms",
        load.answers,
        number(load.seconds),
        number(rate),
        number(1e3 / rate),
    )
}

fn bytes(load: &LoadFigures, bytes: u64) -> Option<String> {
    (bytes > 0).then(|| {
        let (count, answers) = (real(bytes), real(load.answers));
        let (each, rate) = (number(count / answers), number(count / load.seconds));
        format!("{bytes} bytes, {each} each, {rate} bytes/sec")
    })
}

fn spread(spread: &Spread) -> Option<String> {
    (spread.max > 0.0).then(|| {
        let [mean, max, min] = [spread.mean, spread.max, spread.min].map(number);
        format!("{mean} mean, {max} max, {min} min msecs")
    })
}

/// How many there were, and how well they were made use of.
fn connections(load: &LoadFigures) -> Option<String> {
    (load.connections_opened > 0).then(|| {
        let (opened, measured) = (load.connections_opened, load.connections_measured);
        let requests = real(load.answers + load.failed());
        let reused = share((1.0 - real(measured) / requests).max(0.0));
        let resent = match load.resent {
            0 => String::new(),
            resent => format!(", {resent} requests sent again"),
        };
        format!("{opened} opened, {measured} of them while measuring: {reused} of requests found one open{resent}")
    })
}

/// As `wrk` has it.
fn latency(latency: &Latency) -> Option<String> {
    (latency.max > 0.0).then(|| {
        let [mean, max] = [latency.mean, latency.max].map(number);
        let sd = match latency.sd {
            sd if sd > 0.0 => format!(", {} sd", number(sd)),
            _ => String::new(),
        };
        let within = match latency.within_sd {
            within if within > 0.0 => format!(", {} within one sd", share(within)),
            _ => String::new(),
        };
        format!("{mean} mean{sd}, {max} max msecs{within}")
    })
}

fn percentiles(latency: &Latency) -> Option<String> {
    let all = [
        ("50", latency.p50),
        ("75", latency.p75),
        ("90", latency.p90),
        ("95", latency.p95),
        ("99", latency.p99),
        ("99.9", latency.p99_9),
        ("99.99", latency.p99_99),
    ];
    let told = all.iter().filter(|(_, time)| *time > 0.0);
    let told: Vec<String> = told
        .map(|(name, time)| format!("{name} % {}", number(*time)))
        .collect();
    (!told.is_empty()).then(|| told.join(", ") + " msecs")
}

/// What was counted beside what it must be by Little's law, where both are known.
fn under_way(load: &LoadFigures) -> Option<String> {
    let by_law = load.fetches_per_second() * load.latency.mean / 1e3;
    let by_law = format!("{} by answers/sec × mean latency", number(by_law));
    match (load.in_flight > 0.0, load.latency.mean > 0.0) {
        (true, true) => Some(format!("{} on average, {by_law}", number(load.in_flight))),
        (true, false) => Some(format!("{} on average", number(load.in_flight))),
        (false, true) => Some(by_law),
        (false, false) => None,
    }
}

/// Only a given rate can be fallen behind.
fn lateness(load: &LoadFigures) -> Option<String> {
    let late = spread(&load.lateness);
    let unsent = (load.unsent > 0).then(|| format!("{} never sent", load.unsent));
    match (late, unsent) {
        (Some(late), Some(unsent)) => Some(format!("{late}; {unsent}")),
        (late, unsent) => late.or(unsent),
    }
}

fn errors(load: &LoadFigures) -> String {
    let name = |kind| serde_json::to_value(kind).unwrap_or_default();
    let kinds = load.errors.iter();
    let kinds: Vec<String> = kinds
        .map(|(kind, count)| format!("{} {count}", name(kind).as_str().unwrap_or_default()))
        .collect();
    let (failed, all) = (load.failed(), load.answers + load.failed());
    match failed {
        0 => "none".to_owned(),
        _ => format!("{failed} of {all} requests: {}", kinds.join(", ")),
    }
}

/// `httpbench` adds up the time of its threads.
fn threads(load: &LoadFigures) -> Option<String> {
    let seconds = load.thread_seconds;
    (seconds > 0.0).then(|| format!("{} s of all together", number(seconds)))
}

fn server(sample: &Sample) -> Option<String> {
    let each = cpu_per_answer(sample)? * 1e6;
    let all = number(sample.resources.cpu_seconds);
    Some(format!("{} µs/answer, {all} s", number(each)))
}

#[expect(clippy::cast_precision_loss, reason = "counts stay far below 2^53")]
fn real(count: u64) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outcome::{ErrorKind, GapKind, Resources};
    use crate::verdict::fixture;

    fn shown(sample: Sample, engine: &str) -> String {
        let mut run = fixture::run(&["1.0.0"]);
        fixture::session(
            &mut run,
            crate::journal::Purpose::Measure,
            Design::Solo,
            vec![(0, Launched::Sample(Box::new(sample)))],
        );
        run.sessions[0].client.engine = engine.to_owned();
        run.sessions[0].others_share = if engine == "epoll" { 0.034 } else { 0.0 };
        loads(&run, 0)[0].text()
    }

    #[test]
    fn a_load_is_told_in_the_units_of_the_known_programs() {
        let mut sample = fixture::sample(7130.0, 9.9);
        sample.load.connections_measured = 3;
        sample.load.in_flight = 100.1;
        sample.load.thread_seconds = 20.0;
        insta::assert_snapshot!(shown(sample, "epoll"));
    }

    #[test]
    fn failures_and_a_rate_that_was_not_kept_are_told() {
        let mut sample = fixture::sample(7130.0, 9.9);
        sample.load.errors = [(ErrorKind::Closed, 12), (ErrorKind::BadStatus, 3)].into();
        sample.load.resent = 2;
        sample.load.unsent = 17;
        sample.load.lateness = Spread {
            mean: 0.02,
            max: 31.5,
            min: 0.0,
            count: 71_300,
        };
        insta::assert_snapshot!(shown(sample, ""));
    }

    #[test]
    fn what_a_program_does_not_tell_is_left_out() {
        let sample = Sample {
            load: LoadFigures {
                answers: 14_494,
                seconds: 1.0,
                body_bytes: 173_928,
                connections_opened: 14_494,
                connections_measured: 14_494,
                ..LoadFigures::default()
            },
            resources: Resources::default(),
            startup_ms: 0.0,
            warmup_answers: 0,
            steady: false,
        };
        insta::assert_snapshot!(shown(sample, "http_load"));
    }

    #[test]
    fn loads_stand_in_the_order_of_the_sessions_with_their_gaps() {
        let mut run = fixture::run(&["1.0.0", "2.0.0"]);
        fixture::solo(&mut run, 1, 900.0);
        fixture::fail(&mut run, 0, Gap::new(GapKind::Stalled, "no\nanswer"));
        fixture::race(
            &mut run,
            crate::journal::Purpose::Measure,
            &[(0, 500.0), (1, 400.0)],
        );
        let texts: Vec<String> = loads(&run, 0).iter().map(Load::text).collect();
        assert_eq!(
            texts[0],
            "session 1, solo\n  gap             load: stalled: no answer\n"
        );
        assert!(
            texts[1].starts_with("session 2, race\n  fetches         5000 in 10.0 s"),
            "{texts:?}"
        );
        assert_eq!(texts.len(), 2);
        let json = serde_json::to_value(loads(&run, 0)).unwrap();
        assert_eq!(json[1]["sample"]["load"]["answers"], 5000);
        assert_eq!(json[0]["gap"]["kind"], "stalled");
    }
}
