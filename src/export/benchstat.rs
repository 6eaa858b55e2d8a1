//! Go's benchmark text, one line for each launch, so that `benchstat -col version` has its samples. Pure.
//!
//! The version is a configuration line: a name of a benchmark has no spaces and ends at a dash with digits. How many servers
//! shared the machine is part of the name, for only figures of equal company may be held against each other. Launches
//! that do not count for a verdict are left out here too.

use std::collections::BTreeSet;

use crate::journal::{Run, SessionRecord};
use crate::matrix::Design;
use crate::outcome::Sample;
use crate::report::words::one_line;
use crate::report::{CellReport, CellState, Report};
use crate::verdict::cpu_per_answer;
use crate::verdict::pollution::polluted;
use crate::verdict::state::{is_client_bound, sample};

const UNITS: &str = "\
Unit answers/s better=higher
Unit latency-ns/op better=lower
Unit cpu-ns/op better=lower
";

/// Returns the versions in order, so that the oldest is what `benchstat` compares with; gaps are comments.
pub fn render(run: &Run, report: &Report) -> String {
    let mut text = UNITS.to_owned();
    for (key, value) in [
        ("harness", &report.harness),
        ("matrix", &run.header.matrix.name),
        ("workload", &run.header.workload.name),
        ("machine", &report.machine_in_short),
    ] {
        text += &setting(key, value);
    }
    let spoilt = polluted(run);
    for (index, cell) in report.cells.iter().enumerate() {
        text += &match &cell.state {
            CellState::Gap { gap } => {
                one_line(&format!("# {}: {}", cell.id, gap.in_one_line())) + "\n"
            }
            CellState::Pending => String::new(),
            CellState::Measured { .. } => version(run, (index, cell), &spoilt),
        };
    }
    text
}

/// Returns a line that holds for all below it.
fn setting(key: &str, value: &str) -> String {
    format!("{key}: {}\n", one_line(value).trim())
}

fn version(run: &Run, (index, cell): (usize, &CellReport), spoilt: &BTreeSet<usize>) -> String {
    let mut text = setting("version", &cell.version);
    if !cell.axes.is_empty() {
        text += &setting("axes", &cell.axes);
    }
    let sessions = run.sessions.iter().enumerate();
    for (_, session) in sessions.filter(|(place, _)| !spoilt.contains(place)) {
        let own = session.launches.iter();
        let samples = own.filter(|launch| launch.cell == index).filter_map(sample);
        text.extend(samples.filter_map(|sample| line(run, session, sample)));
    }
    text
}

/// Returns the line of a launch; none where nothing of it counts.
fn line(run: &Run, session: &SessionRecord, sample: &Sample) -> Option<String> {
    let mut figures = Vec::new();
    if !is_client_bound(run, session) {
        // At a given rate answers per second are that rate, and else latency is answers per second told again.
        figures.push(match run.header.workload.manner.rate {
            Some(_) => format!("{} latency-ns/op", sample.load.latency.mean * 1e6),
            None => format!("{} answers/s", sample.load.fetches_per_second()),
        });
    }
    let cpu = cpu_per_answer(sample);
    figures.extend(cpu.map(|seconds| format!("{} cpu-ns/op", seconds * 1e9)));
    let (name, answers) = (name(session), sample.load.answers);
    (!figures.is_empty()).then(|| format!("Benchmark{name} {answers} {}\n", figures.join(" ")))
}

/// Returns what a session is called: `Solo`, or `Race/servers=4`.
fn name(session: &SessionRecord) -> String {
    let servers = session.launches.iter().filter_map(sample).count();
    match session.design {
        Design::Race => format!("Race/servers={servers}"),
        Design::Slices => format!("Slices/servers={servers}"),
        Design::Solo => "Solo".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::fixture::{NASTY, story};
    use super::*;

    #[test]
    fn a_story_as_benchstat_reads_it() {
        let (run, report) = story("1.2.0");
        insta::assert_snapshot!(render(&run, &report));
    }

    #[test]
    fn at_a_given_rate_latency_takes_the_place_of_answers_per_second() {
        let (mut run, report) = story("1.2.0");
        run.header.workload.manner.rate = Some(1000);
        let text = render(&run, &report);
        let lines: Vec<&str> = text
            .lines()
            .filter(|line| line.starts_with("Benchmark"))
            .collect();
        assert!(!lines.is_empty());
        for line in lines {
            assert!(
                line.contains(" latency-ns/op ") && !line.contains("answers/s"),
                "{line}"
            );
        }
    }

    #[test]
    fn what_only_the_client_sets_is_left_out() {
        let (mut run, report) = story("1.2.0");
        for session in &mut run.sessions {
            session.client.generator_bound = true;
        }
        let text = render(&run, &report);
        assert_eq!(
            text.matches(" answers/s").count(),
            1,
            "the unit alone: {text}"
        );
        assert!(text.contains(" cpu-ns/op\n"), "{text}");
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, cases: 64, ..ProptestConfig::default() })]

        #[test]
        fn any_name_is_one_line(name in NASTY) {
            let (run, report) = story(&name);
            let text = render(&run, &report);
            let (plain, told) = story("1.2.0");
            prop_assert_eq!(text.lines().count(), render(&plain, &told).lines().count());
            let version = setting("version", &name);
            prop_assert!(text.contains(&version));
        }
    }
}
