//! The report as GitHub Markdown.

use super::details::{COLUMNS, Column, Details};
use super::plot::forest;
use super::words::{count, list, number, p_value, stopped};
use super::{CellReport, CellState, Figures, GapGroup, Report, Row, Step, Table, Triple};
use crate::outcome::Class;
use crate::verdict::Verdict;

/// Versions side by side at most; a longer release line goes on in the next row.
const SIDE_BY_SIDE: usize = 8;

/// Breaks what GitHub would take for a mention of somebody or of an issue, and is not seen.
const NOTHING: &str = "&#8203;";

/// Returns the whole report, ending with a line break.
pub(super) fn render(report: &Report) -> String {
    let sections = [
        format!("# {}", escape(&report.title)),
        escape(&report.status_line()),
        news(report),
        levels(report),
        steps(report),
        pairs(report),
        others(report),
        versions(report),
        gaps(report),
        warnings(report),
        machine(report),
        method(report),
        repeat(report),
    ];
    let mut text = sections
        .into_iter()
        .filter(|text| !text.is_empty())
        .collect::<Vec<_>>()
        .join("\n\n");
    text.push('\n');
    text
}

/// Returns the tables in the manner of the 2012 page.
fn levels(report: &Report) -> String {
    let mut parts = vec![format!(
        "Fetches/sec of each version, fitted to solo trials and races; one release line in a row, newest first. `-` \
         is a gap, its reason stands below; ▼ is a regression and ▲ an improvement against {}.",
        escape(&report.compared_with)
    )];
    for table in &report.tables {
        if !table.axes.is_empty() {
            parts.push(format!("**{}**", escape(&table.axes)));
        }
        parts.push(level_table(report, table));
    }
    parts.join("\n\n")
}

fn level_table(report: &Report, table: &Table) -> String {
    let columns = table
        .rows
        .iter()
        .map(|row| row.cells.len())
        .max()
        .unwrap_or(1)
        .min(SIDE_BY_SIDE);
    let named = table.rows.iter().any(|row| !row.line.is_empty());
    let mut header = vec![String::new(); columns];
    if let Some(first) = header.first_mut() {
        "fetches/sec".clone_into(first);
    }
    if named {
        header.insert(0, "line".to_owned());
    }
    let rows = table
        .rows
        .iter()
        .flat_map(|row| level_rows(report, row, columns, named));
    grid(&header, &rows.collect::<Vec<_>>())
}

/// Returns a release line's rows, each as wide as the table.
fn level_rows(report: &Report, row: &Row, columns: usize, named: bool) -> Vec<Vec<String>> {
    let mut rows = Vec::new();
    for (index, part) in row.cells.chunks(columns).enumerate() {
        let mut entries: Vec<String> = Vec::new();
        if named {
            entries.push(if index == 0 {
                escape(&row.line)
            } else {
                String::new()
            });
        }
        entries.extend(
            part.iter()
                .map(|cell| level_entry(report, &report.cells[*cell])),
        );
        entries.resize(columns + usize::from(named), String::new());
        rows.push(entries);
    }
    rows
}

fn level_entry(report: &Report, cell: &CellReport) -> String {
    let figure = match &cell.state {
        CellState::Measured {
            level: Some(level), ..
        } => number(level.fetches_per_second),
        CellState::Measured { level: None, .. } => "not measured alone".to_owned(),
        CellState::Gap { .. } => "-".to_owned(),
        CellState::Pending => "…".to_owned(),
    };
    let verdict = cell.pair.map(|pair| report.pairs[pair].verdict);
    let mark = match verdict {
        Some(Verdict::Regression) => " ▼",
        Some(Verdict::Improvement) => " ▲",
        Some(Verdict::Same | Verdict::Unknown | Verdict::Incomparable) | None => "",
    };
    format!("{}<br>{figure}{mark}", escape(&cell.version))
}

fn news(report: &Report) -> String {
    let sentences = report.news.sentences();
    if sentences.is_empty() {
        return String::new();
    }
    let lines: Vec<String> = sentences
        .iter()
        .map(|text| format!("- {}", escape(text)))
        .collect();
    format!("## News\n\n{}", lines.join("\n"))
}

fn steps(report: &Report) -> String {
    let lines: Vec<String> = report
        .flagged()
        .map(|step| {
            let (name, sentence) = (escape(&step.name()), escape(&step.sentence()));
            match step.other_changes() {
                Some(changes) => format!("- **{name}**: {sentence}; {}.", escape(&changes)),
                None => format!("- **{name}**: {sentence}."),
            }
        })
        .collect();
    if lines.is_empty() {
        return "## Steps\n\nNo step is flagged.".to_owned();
    }
    format!("## Steps\n\n{}", lines.join("\n"))
}

fn pairs(report: &Report) -> String {
    if report.pairs.is_empty() {
        return "## Pairs\n\nThere are no two versions to compare.".to_owned();
    }
    let header = [
        "pair",
        "change of",
        "effect",
        "interval",
        "p (adjusted)",
        "sessions",
        "verdict",
    ];
    let table = grid(
        &header.map(str::to_owned),
        &report.pairs.iter().map(pair_row).collect::<Vec<_>>(),
    );
    let picture = forest(&report.pairs);
    if picture.is_empty() {
        return format!("## Pairs\n\n{table}");
    }
    format!(
        "## Pairs\n\n{table}\n\nEffects with their intervals, percent of the baseline; left is worse.\n\n{}",
        fence(&picture)
    )
}

/// Returns what is known of the pairs by further numbers; nothing where only one decides.
fn others(report: &Report) -> String {
    if report.others.is_empty() {
        return String::new();
    }
    let header = ["pair", "number", "change", "interval", "verdict"];
    let row = |step: &Step| {
        vec![
            escape(&step.name()),
            step.quantity().to_owned(),
            step.effect(),
            step.interval(),
            escape(&step.conclusion()),
        ]
    };
    let rows: Vec<Vec<String>> = report.others.iter().map(row).collect();
    let table = grid(&header.map(str::to_owned), &rows);
    format!("## Other numbers\n\n{table}")
}

fn pair_row(step: &Step) -> Vec<String> {
    let none = || "none".to_owned();
    let mut name = escape(&step.name());
    if !step.skipped.is_empty() {
        let skipped = step.skipped_versions();
        name = format!("{name} (across {})", escape(&list(&skipped, "and")));
    }
    vec![
        name,
        step.quantity().to_owned(),
        step.effect(),
        step.interval(),
        step.adjusted_p.map_or_else(none, p_value),
        step.sessions.to_string(),
        escape(&step.conclusion()),
    ]
}

fn versions(report: &Report) -> String {
    let measured: Vec<(&CellReport, &Figures)> = report
        .cells
        .iter()
        .filter_map(|cell| match &cell.state {
            CellState::Measured {
                figures: Some(figures),
                ..
            } => Some((cell, figures.as_ref())),
            CellState::Measured { figures: None, .. }
            | CellState::Gap { .. }
            | CellState::Pending => None,
        })
        .collect();
    if measured.is_empty() {
        return String::new();
    }
    let rows = |row: fn(&Figures) -> Vec<String>| -> Vec<Vec<String>> {
        let named = |(cell, figures): &(&CellReport, &Figures)| {
            [vec![escape(&cell.id)], row(figures)].concat()
        };
        measured.iter().map(named).collect()
    };
    let load = [
        "version",
        "trials",
        "fetches/sec",
        "bytes/sec",
        "msecs/connect mean, max, min",
        "msecs/first-response mean, max, min",
    ];
    let rest = [
        "version",
        "latency p50 ms",
        "p90 ms",
        "p99 ms",
        "max ms",
        "CPU µs/answer",
        "peak RSS MiB",
        "PSS MiB",
        "threads",
        "start-up ms",
    ];
    let parts = [
        "## Versions".to_owned(),
        "Medians over the solo trials of each version, each figure for itself.".to_owned(),
        grid(&load.map(str::to_owned), &rows(load_figures)),
        grid(&rest.map(str::to_owned), &rows(other_figures)),
        details(&measured),
    ];
    let parts: Vec<String> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    parts.join("\n\n")
}

/// Returns the figures that few ask for, folded; nothing where none are known.
fn details(measured: &[(&CellReport, &Figures)]) -> String {
    let known: Vec<(&str, &Details)> = measured
        .iter()
        .filter_map(|(cell, figures)| Some((cell.id.as_str(), figures.details.as_ref()?)))
        .collect();
    let any = |(_, entry): &&Column| known.iter().any(|(_, details)| entry(details).is_some());
    let columns: Vec<&Column> = COLUMNS.iter().filter(any).collect();
    if columns.is_empty() {
        return String::new();
    }
    let header = columns.iter().map(|(name, _)| (*name).to_owned());
    let header: Vec<String> = std::iter::once("version".to_owned())
        .chain(header)
        .collect();
    let row = |(id, details): &(&str, &Details)| {
        let entry = |column: &&Column| column.1(details).unwrap_or_else(|| "none".to_owned());
        let entries = columns.iter().map(|column| escape(&entry(column)));
        std::iter::once(escape(id)).chain(entries).collect()
    };
    let rows: Vec<Vec<String>> = known.iter().map(row).collect();
    format!(
        "<details><summary>More figures of the same trials</summary>\n\n{}\n\n</details>",
        grid(&header, &rows)
    )
}

fn load_figures(figures: &Figures) -> Vec<String> {
    vec![
        figures.trials.to_string(),
        number(figures.fetches_per_second),
        number(figures.bytes_per_second),
        triple(&figures.connect_ms),
        triple(&figures.first_response_ms),
    ]
}

fn triple(triple: &Triple) -> String {
    [triple.mean, triple.max, triple.min].map(number).join(", ")
}

fn other_figures(figures: &Figures) -> Vec<String> {
    let optional = |figure: Option<f64>| figure.map_or_else(|| "not known".to_owned(), number);
    vec![
        number(figures.latency_p50_ms),
        number(figures.latency_p90_ms),
        number(figures.latency_p99_ms),
        number(figures.latency_max_ms),
        optional(figures.cpu_us_per_answer),
        optional(figures.rss_peak_mib),
        optional(figures.pss_mib),
        figures
            .threads
            .map_or_else(|| optional(None), |threads| format!("{threads}")),
        optional(figures.startup_ms),
    ]
}

fn gaps(report: &Report) -> String {
    if report.gaps.is_empty() {
        return String::new();
    }
    let groups: Vec<String> = report.gaps.iter().map(gap).collect();
    format!("## Gaps\n\n{}", groups.join("\n\n"))
}

fn gap(group: &GapGroup) -> String {
    let class = match group.class {
        Class::Permanent => "permanent",
        Class::Transient => "transient, trying again may help",
        Class::Policy => "by decision",
    };
    let mut parts = vec![format!(
        "**{}**: {} ({class}): {}",
        escape(&group.name),
        stopped(group.stage, group.kind),
        escape(&group.cause)
    )];
    if let Some(hint) = &group.hint {
        parts.push(format!("try: {}", escape(hint)));
    }
    if let Some(reason) = &group.acknowledged {
        parts.push(format!("Known: {}", escape(reason)));
    }
    if !group.errors.is_empty() {
        parts.push(fence(&group.errors.join("\n")));
    }
    let logs: Vec<String> = group
        .logs
        .iter()
        .map(|log| code(&log.display().to_string()))
        .collect();
    if !logs.is_empty() {
        parts.push(format!(
            "{}: {}",
            if logs.len() == 1 { "Log" } else { "Logs" },
            logs.join(", ")
        ));
    }
    parts.join("\n\n")
}

fn warnings(report: &Report) -> String {
    if report.warnings.is_empty() {
        return String::new();
    }
    let lines: Vec<String> = report
        .warnings
        .iter()
        .map(|text| format!("- Note: {}", escape(text)))
        .collect();
    format!("## Warnings\n\n{}", lines.join("\n"))
}

fn machine(report: &Report) -> String {
    let rows: Vec<Vec<String>> = report
        .machine
        .iter()
        .map(|(name, value)| vec![escape(name), escape(value)])
        .collect();
    format!(
        "## Machine\n\n{}",
        grid(&["fact".to_owned(), "value".to_owned()], &rows)
    )
}

fn method(report: &Report) -> String {
    let paragraphs: Vec<String> = report.method.iter().map(|text| escape(text)).collect();
    format!("## Method\n\n{}", paragraphs.join("\n\n"))
}

fn repeat(report: &Report) -> String {
    let ended = match report.ended {
        Some(ended) => format!("ended {ended:.0}"),
        None => "not ended".to_owned(),
    };
    format!(
        "## Repeat\n\nRun {} by Harness {}, begun {:.0}, {ended}; {} in order, seed {}. To repeat it:\n\n{}",
        code(&report.run),
        escape(&report.harness),
        report.started,
        count(report.cells.len(), "cell"),
        report.seed,
        fence(&report.repeat)
    )
}

/// Lays out a table; cells must be escaped already.
pub(super) fn grid(header: &[String], rows: &[Vec<String>]) -> String {
    let rule = vec!["---".to_owned(); header.len()];
    let line = |cells: &[String]| format!("| {} |", cells.join(" | "));
    let mut lines = vec![line(header), line(&rule)];
    lines.extend(rows.iter().map(|row| line(row)));
    lines.join("\n")
}

/// Returns text that reads as itself wherever Markdown has inline text, also inside a table's cell, and calls nobody: GitHub
/// would take `@name` for a person, `#1` and `GH-1` for an issue, and tell them.
pub(super) fn escape(text: &str) -> String {
    let text: Vec<char> = super::words::one_line(text).chars().collect();
    let mut escaped = String::with_capacity(text.len());
    for (place, character) in text.iter().enumerate() {
        if "\\`*_[]<>|~&$#".contains(*character) {
            escaped.push('\\');
        }
        escaped.push(*character);
        let next = text.get(place + 1);
        if next.is_some_and(|next| begins_reference(&text[..=place], *next)) {
            escaped.push_str(NOTHING);
        }
    }
    escaped
}

/// Returns whether GitHub would take what goes on so for a mention of a person or an issue.
fn begins_reference(before: &[char], next: char) -> bool {
    match before {
        [.., '@'] => next.is_alphanumeric(),
        [.., '#'] | [.., 'G' | 'g', 'H' | 'h', '-'] => next.is_ascii_digit(),
        _ => false,
    }
}

/// Returns text in a fenced block whose fence is longer than any run of backticks inside.
fn fence(text: &str) -> String {
    let kept = |character: &char| !character.is_control() || matches!(character, '\n' | '\t');
    let text: String = text.chars().filter(kept).collect();
    let fence = "`".repeat(longest_run(&text).max(2) + 1);
    format!("{fence}text\n{text}\n{fence}")
}

/// Returns text as inline code, outside tables.
pub(super) fn code(text: &str) -> String {
    let text = super::words::one_line(text);
    let ticks = "`".repeat(longest_run(&text) + 1);
    let pad = if text.starts_with('`') || text.ends_with('`') {
        " "
    } else {
        ""
    };
    format!("{ticks}{pad}{text}{pad}{ticks}")
}

/// Returns the length of the longest run of backticks.
fn longest_run(text: &str) -> usize {
    text.split(|character| character != '`')
        .map(str::len)
        .max()
        .unwrap_or(0)
}
