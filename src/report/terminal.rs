//! The report as a summary for a terminal.

use super::columns::{Column, lines};
use super::plot::{BAR, bar, spark};
use super::words::{number, one_line, signed_percent, stopped};
use super::{CellReport, CellState, Details, Figures, GapGroup, Report, Step};
use crate::stats::sorted;
use crate::verdict::Verdict;

/// Columns of a version's sessions.
const SPARK: usize = 10;

/// So many of a hundred sessions have their place in the picture; the wildest may lie beyond its end.
const DRAWN: usize = 90;

/// The picture of sessions reaches at least this far, percent: smaller noise is not to look like steps.
const LEAST_END: f64 = 1.0;

/// What the column of sessions is headed with.
const SESSIONS: &str = "sessions";

pub(super) const RED: &str = "\u{1b}[31m";
pub(super) const GREEN: &str = "\u{1b}[32m";
pub(super) const YELLOW: &str = "\u{1b}[33m";
pub(super) const PLAIN: &str = "\u{1b}[0m";

/// Returns the summary: title, counts, a table with every version in its place, the flagged steps
/// and the gaps.
pub(super) fn render(report: &Report, width: u16, colour: bool) -> String {
    let mut text = format!(
        "{}\n{}\n\n",
        one_line(&report.title),
        one_line(&report.status_line())
    );
    text.push_str(&painted(&table(report, width), colour));
    text.push_str("\n\n");
    if !report.others.is_empty() {
        text.push_str(&painted(&others(report, width), colour));
        text.push_str("\n\n");
    }
    for step in report.flagged() {
        text.push_str(&step_line(step, colour));
        text.push('\n');
    }
    if report.pairs.is_empty() {
        text.push_str("Nothing was compared.\n");
    } else if report.flagged().next().is_none() {
        text.push_str("No step is flagged.\n");
    }
    for sentence in report.news.sentences() {
        text.push_str(&one_line(&sentence));
        text.push('\n');
    }
    for cell in &report.cells {
        let details = cell.figures().and_then(|figures| figures.details.as_ref());
        if let Some(failures) = details.and_then(Details::failures) {
            text.push_str(&one_line(&format!(
                "{}: failed requests: {failures}",
                cell.id
            )));
            text.push('\n');
        }
    }
    for group in &report.gaps {
        text.push_str(&gap_line(group));
        text.push('\n');
        if let Some(hint) = &group.hint {
            text.push_str(&one_line(&format!("    try: {hint}")));
            text.push('\n');
        }
    }
    for warning in &report.warnings {
        text.push_str("note: ");
        text.push_str(&one_line(warning));
        text.push('\n');
    }
    text
}

fn step_line(step: &Step, colour: bool) -> String {
    let changes = step.other_changes();
    let changes = changes.map_or_else(String::new, |changes| format!("; {changes}"));
    let culprit = step.culprit.as_ref();
    let culprit = culprit.map_or_else(String::new, |commit| format!("; by {commit}"));
    let line = format!("{}: {}{culprit}{changes}", step.name(), step.sentence());
    let line = one_line(&line);
    let ink = if step.verdict == Verdict::Regression {
        RED
    } else {
        GREEN
    };
    if colour {
        format!("{ink}{line}{PLAIN}")
    } else {
        line
    }
}

/// Returns the pairs by further numbers.
fn others(report: &Report, width: u16) -> String {
    let column = |entry: fn(&Step) -> String| -> Vec<String> {
        let entries = report.others.iter().map(entry);
        entries.map(|entry| one_line(&entry)).collect()
    };
    let columns = vec![
        Column::text("pair", column(Step::name)),
        Column::text("number", column(|step| step.quantity().to_owned())),
        Column::numbers("change", 1, column(Step::effect)),
        Column::text("interval", column(Step::interval)).giving_way(2),
        Column::text("verdict", column(Step::conclusion)).or(3, column(Step::conclusion_in_short)),
    ];
    lines(columns, width).join("\n")
}

/// Returns the table with every version in its place; those with the same axes stand below these.
fn table(report: &Report, width: u16) -> String {
    let mut lines = lines(columns(report), width);
    let head = lines.len().saturating_sub(report.cells.len());
    let sessions = lines[..head].iter().any(|line| line.contains(SESSIONS));
    let rows = lines.split_off(head);
    let mut axes = "";
    for (cell, row) in std::iter::zip(&report.cells, rows) {
        if cell.axes != axes {
            axes = &cell.axes;
            lines.push(format!(" {}", one_line(axes)));
        }
        lines.push(row);
    }
    lines.extend(sessions.then(|| legend(report)));
    lines.join("\n")
}

/// Returns the columns, of which the less important give way where there is no room.
fn columns(report: &Report) -> Vec<Column> {
    let of_cells = |entry: &dyn Fn(&CellReport) -> String| -> Vec<String> {
        report.cells.iter().map(entry).collect()
    };
    let figures = |take: fn(&Figures) -> Option<f64>| {
        of_cells(&|cell| {
            cell.figures()
                .and_then(take)
                .map_or_else(String::new, number)
        })
    };
    let step = |cell: &CellReport| cell.pair.and_then(|pair| report.pairs.get(pair));
    let greatest = report.cells.iter().filter_map(level).fold(0.0, f64::max);
    let bar =
        |cell: &CellReport| level(cell).map_or_else(String::new, |level| bar(level, greatest));
    let end = end(report);
    let mut columns = vec![
        Column::text("version", of_cells(&|cell| one_line(&cell.version))),
        Column::numbers(
            "fetches\n/sec",
            2,
            of_cells(&|cell| {
                level(cell).map_or_else(|| "-".to_owned(), |level| report.shown(level))
            }),
        ),
        Column::text("", of_cells(&|cell| format!("{:BAR$}", bar(cell)))).giving_way(9),
        Column::numbers(
            "change",
            1,
            of_cells(&|cell| step(cell).map_or_else(String::new, Step::effect)),
        ),
        Column::text(SESSIONS, of_cells(&|cell| sessions(cell, end))).giving_way(4),
        Column::numbers(
            "CPU\nµs/answer",
            5,
            figures(|figures| figures.cpu_us_per_answer),
        ),
        Column::numbers(
            "memory\nMiB",
            6,
            figures(|figures| figures.pss_mib.or(figures.rss_peak_mib)),
        ),
        Column::numbers("start-up\nms", 7, figures(|figures| figures.startup_ms)),
        Column::text(
            "verdict",
            of_cells(&|cell| note(cell, step(cell), Step::conclusion)),
        )
        .or(
            8,
            of_cells(&|cell| note(cell, step(cell), Step::conclusion_in_short)),
        ),
    ];
    columns.retain(Column::has_any);
    columns
}

/// Draws the sessions of a version against the one that it is compared with.
fn sessions(cell: &CellReport, end: f64) -> String {
    let values: Vec<Option<f64>> = cell.sessions_percent.iter().copied().map(Some).collect();
    if values.is_empty() {
        return String::new();
    }
    spark(&values, (-end, end), SPARK)
}

/// Returns how far the pictures of all sessions go, so that they can be held against each other, percent.
fn end(report: &Report) -> f64 {
    let values = report.cells.iter().flat_map(|cell| &cell.sessions_percent);
    let sizes = sorted(&values.map(|value| value.abs()).collect::<Vec<f64>>());
    let usual = sizes.get(sizes.len() * DRAWN / 100).copied();
    usual.unwrap_or(0.0).max(LEAST_END)
}

/// Returns what the pictures of sessions mean.
fn legend(report: &Report) -> String {
    let end = end(report);
    format!(
        " {SESSIONS}: ▁ {} or less, █ {} or more",
        signed_percent(-end),
        signed_percent(end)
    )
}

fn level(cell: &CellReport) -> Option<f64> {
    cell.level().map(|level| level.fetches_per_second)
}

/// Returns what came of a cell in the last column.
fn note(cell: &CellReport, step: Option<&Step>, conclusion: fn(&Step) -> String) -> String {
    match &cell.state {
        CellState::Gap { gap } => format!("gap: {}", stopped(gap.stage, gap.kind)),
        CellState::Pending => "not come to yet".to_owned(),
        CellState::Measured { .. } => step.map_or_else(String::new, conclusion),
    }
}

fn gap_line(group: &GapGroup) -> String {
    let known = group.acknowledged.as_ref();
    let known = known.map_or_else(String::new, |reason| format!(" (known: {reason})"));
    let error = group
        .errors
        .first()
        .filter(|error| !group.cause.contains(error.trim()))
        .map_or_else(String::new, |error| format!(": {error}"));
    one_line(&format!(
        "{}: {}{known}: {}{error}",
        group.name,
        stopped(group.stage, group.kind),
        group.cause
    ))
}

/// Colours the verdicts. It is done after the layout, for escapes would count as width.
fn painted(table: &str, colour: bool) -> String {
    if !colour {
        return table.to_owned();
    }
    let inks = [
        ("regression", RED),
        ("improvement", GREEN),
        ("gap:", YELLOW),
    ];
    inks.into_iter()
        .fold(table.to_owned(), |text, (word, ink)| {
            text.replace(word, &format!("{ink}{word}{PLAIN}"))
        })
}
