//! Tables as RFC 4180 has them, for spreadsheets, R and pandas. Pure.
//!
//! One table in a text: a reader of CSV knows no second one. Each row says of which run it is, so that the tables of several
//! nights can be put below one another.

use std::collections::BTreeSet;

use super::{figures, legible, level, name, told};
use crate::journal::Run;
use crate::report::{CellReport, CellState, Figures, Report, Step};
use crate::stats::real;

/// A figure of a version: what it is headed with, and its value where there is one.
type Column = (&'static str, fn(&Figures) -> Option<f64>);

const FIGURES: [Column; 18] = [
    ("solo_trials", |figures| Some(real(figures.trials))),
    ("bytes_per_second", |figures| Some(figures.bytes_per_second)),
    ("connect_mean_ms", |figures| Some(figures.connect_ms.mean)),
    ("connect_max_ms", |figures| Some(figures.connect_ms.max)),
    ("connect_min_ms", |figures| Some(figures.connect_ms.min)),
    ("first_response_mean_ms", |figures| {
        Some(figures.first_response_ms.mean)
    }),
    ("first_response_max_ms", |figures| {
        Some(figures.first_response_ms.max)
    }),
    ("first_response_min_ms", |figures| {
        Some(figures.first_response_ms.min)
    }),
    ("latency_p50_ms", |figures| Some(figures.latency_p50_ms)),
    ("latency_p90_ms", |figures| Some(figures.latency_p90_ms)),
    ("latency_p99_ms", |figures| Some(figures.latency_p99_ms)),
    ("latency_max_ms", |figures| Some(figures.latency_max_ms)),
    ("cpu_us_per_answer", |figures| figures.cpu_us_per_answer),
    ("rss_peak_mib", |figures| figures.rss_peak_mib),
    ("pss_mib", |figures| figures.pss_mib),
    ("threads", |figures| figures.threads),
    ("startup_ms", |figures| figures.startup_ms),
    ("answers_per_second_alone", |figures| {
        Some(figures.fetches_per_second)
    }),
];

/// Returns a row for each version, gaps in place.
pub fn versions(run: &Run, report: &Report) -> String {
    let axes: BTreeSet<&String> = run
        .header
        .cells
        .iter()
        .flat_map(|cell| cell.axes.keys())
        .collect();
    let mut header = words(&["run", "started", "matrix", "cell", "version"]);
    header.extend(axes.iter().map(|axis| format!("axis_{axis}")));
    header.extend(words(&[
        "state",
        "answers_per_second",
        "standard_error_percent",
    ]));
    header.extend(FIGURES.iter().map(|(name, _)| (*name).to_owned()));
    header.extend(words(&["gap_stage", "gap_kind", "gap_class", "gap_cause"]));
    let cells = run.header.cells.iter().zip(&report.cells);
    let rows = cells.map(|(cell, told)| {
        let mut row = whence(run);
        row.extend([told.id.clone(), told.version.clone()]);
        row.extend(axes.iter().map(|axis| {
            let value = cell.axes.get(*axis);
            value.cloned().unwrap_or_default()
        }));
        row.extend(version(told));
        row
    });
    table(header, rows)
}

/// Returns the rest of a version's row.
fn version(cell: &CellReport) -> Vec<String> {
    let level = level(cell);
    let error = level.and_then(|level| level.relative_error);
    let mut row = vec![
        state(cell).to_owned(),
        number(level.map(|level| level.fetches_per_second)),
        number(error.map(|error| error * 100.0)),
    ];
    let figures = figures(cell);
    row.extend(
        FIGURES
            .iter()
            .map(|(_, figure)| number(told(figures.and_then(figure)))),
    );
    row.extend(match &cell.state {
        CellState::Gap { gap } => [
            gap.stage.to_string(),
            gap.kind.to_string(),
            name(gap.class),
            gap.cause.clone(),
        ],
        CellState::Measured { .. } | CellState::Pending => [const { String::new() }; 4],
    });
    row
}

/// Returns what came of a cell, in a word.
pub(super) fn state(cell: &CellReport) -> &'static str {
    match cell.state {
        CellState::Measured { .. } => "measured",
        CellState::Gap { .. } => "gap",
        CellState::Pending => "pending",
    }
}

const STEP: [&str; 17] = [
    "run",
    "started",
    "matrix",
    "baseline",
    "candidate",
    "skipped",
    "number",
    "worse",
    "change_percent",
    "change_low_percent",
    "change_high_percent",
    "adjusted_p",
    "sessions",
    "verdict",
    "confirmed",
    "detectable_percent",
    "sessions_needed",
];

/// Returns a row for each pair of versions and each number that decides.
pub fn steps(run: &Run, report: &Report) -> String {
    let all = report.pairs.iter().chain(&report.others);
    let rows = all.map(|step| [whence(run), self::step(step)].concat());
    table(words(&STEP), rows)
}

fn step(step: &Step) -> Vec<String> {
    let (low, high) = step.interval_percent.unzip();
    vec![
        step.baseline.clone(),
        step.candidate.clone(),
        step.skipped.join("; "),
        step.quantity().to_owned(),
        if step.better_smaller { "more" } else { "less" }.to_owned(),
        number(step.effect_percent),
        number(low),
        number(high),
        number(step.adjusted_p),
        step.sessions.to_string(),
        name(step.verdict),
        step.confirmed.map_or_else(String::new, |is| is.to_string()),
        number(step.detectable_percent),
        number(step.sessions_needed.map(f64::from)),
    ]
}

/// Returns what says of which run a row is.
fn whence(run: &Run) -> Vec<String> {
    let header = &run.header;
    let started = format!("{:.0}", header.started);
    vec![header.run.clone(), started, header.matrix.name.clone()]
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

/// Returns a number that reads back as itself; nothing of none.
pub(super) fn number(number: Option<f64>) -> String {
    let number = number.filter(|number| number.is_finite());
    number.map_or_else(String::new, |number| number.to_string())
}

/// Lays out a table.
pub(super) fn table(header: Vec<String>, rows: impl Iterator<Item = Vec<String>>) -> String {
    let line = |fields: Vec<String>| {
        let fields: Vec<String> = fields.iter().map(|field| quoted(field)).collect();
        fields.join(",") + "\r\n"
    };
    std::iter::once(header).chain(rows).map(line).collect()
}

/// Returns a field in quotes where it needs them.
fn quoted(field: &str) -> String {
    let field = legible(field);
    if field.contains([',', '"', '\n', '\r']) {
        return format!("\"{}\"", field.replace('"', "\"\""));
    }
    field
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::fixture::{NASTY, forget, story};
    use super::*;

    /// Reads a table as RFC 4180 tells to.
    fn read(text: &str) -> Vec<Vec<String>> {
        let (mut rows, mut row, mut field, mut inside) = (vec![], vec![], String::new(), false);
        let mut letters = text.chars().peekable();
        while let Some(letter) = letters.next() {
            match letter {
                '"' if inside && letters.next_if_eq(&'"').is_some() => field.push('"'),
                '"' => inside = !inside,
                ',' if !inside => row.push(std::mem::take(&mut field)),
                '\r' if !inside => {
                    assert_eq!(letters.next(), Some('\n'));
                    row.push(std::mem::take(&mut field));
                    rows.push(std::mem::take(&mut row));
                }
                letter => field.push(letter),
            }
        }
        assert!(row.is_empty() && field.is_empty() && !inside, "{text}");
        rows
    }

    #[test]
    fn a_story_as_tables() {
        let (run, report) = story("1.2.0");
        insta::assert_snapshot!(versions(&run, &report).replace("\r\n", "\n"));
        insta::assert_snapshot!(steps(&run, &report).replace("\r\n", "\n"));
    }

    #[test]
    fn what_no_program_has_told_is_empty_and_not_zero() {
        let (run, mut report) = story("1.2.0");
        forget(&mut report);
        let rows = read(&versions(&run, &report));
        let place = |column: &str| rows[0].iter().position(|name| name == column).unwrap();
        let of = |column| rows[1][place(column)].as_str();
        assert_eq!(
            [of("latency_p99_ms"), of("startup_ms"), of("rss_peak_mib")],
            ["", "", "50"]
        );
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, cases: 64, ..ProptestConfig::default() })]

        #[test]
        fn any_name_is_one_field(name in NASTY) {
            let (run, report) = story(&name);
            let name = legible(&name);
            let rows = read(&versions(&run, &report));
            prop_assert!(rows.iter().all(|row| row.len() == rows[0].len()));
            prop_assert_eq!([&rows[3][2], &rows[3][3], &rows[3][4]], [&name; 3]);
            prop_assert_eq!(rows[2].last(), Some(&name));
            let rows = read(&steps(&run, &report));
            prop_assert_eq!((rows.len(), rows[1].len()), (2, STEP.len()));
            prop_assert_eq!(&rows[1][4], &name);
        }
    }
}
