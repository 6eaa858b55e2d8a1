//! The report as a summary for a terminal.

use comfy_table::{CellAlignment, ContentArrangement, LineStyle, Table, TableStyle};

use super::plot::{BAR, bar};
use super::words::{number, one_line, stopped};
use super::{CellReport, CellState, Details, Figures, GapGroup, Report, Step};
use crate::verdict::Verdict;

/// Below this many columns the bars are left out.
const WIDTH_FOR_BARS: u16 = 100;

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
        let details = figures(cell).and_then(|figures| figures.details.as_ref());
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
    let line = one_line(&format!("{}: {}{changes}", step.name(), step.sentence()));
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

/// Returns an empty table that many columns wide.
fn empty(width: u16) -> Table {
    let mut table = Table::new();
    let rule = LineStyle::none().fill('─').junction('─');
    table
        .load_style(TableStyle::new().header_separator(rule))
        .set_content_arrangement(ContentArrangement::Dynamic)
        .set_width(width);
    table
}

/// Returns the pairs by further numbers.
fn others(report: &Report, width: u16) -> String {
    let mut table = empty(width);
    table.set_header(vec!["pair", "number", "change", "interval", "verdict"]);
    for step in &report.others {
        table.add_row(vec![
            one_line(&step.name()),
            step.quantity().to_owned(),
            step.effect(),
            step.interval(),
            step.conclusion(),
        ]);
    }
    if let Some(column) = table.column_mut(2) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table.trim_fmt()
}

fn table(report: &Report, width: u16) -> String {
    let bars = width >= WIDTH_FOR_BARS;
    let mut table = empty(width);
    let mut header = vec![
        "version",
        "fetches\n/sec",
        "change",
        "CPU\nµs/answer",
        "memory\nMiB",
        "start-up\nms",
        "verdict",
    ];
    if bars {
        header.insert(2, "");
    }
    let numbers = 1..header.len() - 1;
    table.set_header(header);
    let greatest = report.cells.iter().filter_map(level).fold(0.0, f64::max);
    let mut axes = "";
    for cell in &report.cells {
        if cell.axes != axes {
            axes = &cell.axes;
            table.add_row(vec![one_line(axes)]);
        }
        table.add_row(row(report, cell, bars.then_some(greatest)));
    }
    for index in numbers.filter(|index| !(bars && *index == 2)) {
        if let Some(column) = table.column_mut(index) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table.trim_fmt()
}

/// Returns one version's row; with a bar where the greatest level is given.
fn row(report: &Report, cell: &CellReport, greatest: Option<f64>) -> Vec<String> {
    let figures = figures(cell);
    let figure =
        |take: fn(&Figures) -> Option<f64>| figures.and_then(take).map_or_else(String::new, number);
    let step = cell.pair.and_then(|pair| report.pairs.get(pair));
    let mut row = vec![
        one_line(&cell.version),
        level(cell).map_or_else(|| "-".to_owned(), number),
        step.map_or_else(String::new, Step::effect),
        figure(|figures| figures.cpu_us_per_answer),
        figure(|figures| figures.pss_mib.or(figures.rss_peak_mib)),
        figure(|figures| figures.startup_ms),
        note(cell, step),
    ];
    if let Some(greatest) = greatest {
        let bar = level(cell).map_or_else(String::new, |level| bar(level, greatest));
        row.insert(2, format!("{bar:BAR$}"));
    }
    row
}

fn level(cell: &CellReport) -> Option<f64> {
    match &cell.state {
        CellState::Measured { level, .. } => level.as_ref().map(|level| level.fetches_per_second),
        CellState::Gap { .. } | CellState::Pending => None,
    }
}

fn figures(cell: &CellReport) -> Option<&Figures> {
    match &cell.state {
        CellState::Measured { figures, .. } => figures.as_deref(),
        CellState::Gap { .. } | CellState::Pending => None,
    }
}

fn note(cell: &CellReport, step: Option<&Step>) -> String {
    match &cell.state {
        CellState::Gap { gap } => format!("gap: {}", stopped(gap.stage, gap.kind)),
        CellState::Pending => "not come to yet".to_owned(),
        CellState::Measured { .. } => step.map_or_else(String::new, Step::conclusion),
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
