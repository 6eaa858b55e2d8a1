//! The report as GitHub Markdown, in the style `full`: everything.

use super::chart::Picture;
use super::fit::{Part, SUMMARY, fitted};
use super::plot::forest;
use super::words::{count, list, p_value, stopped};
use super::{CellReport, CellState, GapGroup, Report, Row, Step, Table, versions};
use crate::outcome::Class;
use crate::verdict::Verdict;

/// Versions side by side at most; a longer release line goes on in the next row.
const SIDE_BY_SIDE: usize = 8;

/// Breaks what GitHub would take for a mention of somebody or of an issue, and is not seen.
const NOTHING: &str = "&#8203;";

/// Pictures that lie beside a text, in files that begin with this name.
pub(super) type Beside<'a> = (&'a str, &'a [Picture]);

/// Returns the whole report, ending with a line break.
pub(super) fn render(report: &Report, beside: Beside<'_>) -> String {
    let parts = vec![
        Part::fixed(format!("# {}", escape(&report.title))),
        Part::fixed(escape(&report.status_line())),
        Part::new("news", 1, vec![news(report), String::new()]),
        Part::fixed(levels(report)),
        Part::fixed(picture(beside, "series")),
        Part::new("steps", 1, vec![steps(report), String::new()]),
        Part::new("pairs", 5, pairs(report, beside)),
        Part::new("other numbers", 6, vec![others(report), String::new()]),
        Part::fixed(picture(beside, "windows")),
        Part::new("figures of the versions", 7, versions::sections(report)),
        Part::new("gaps", 4, gaps(report)),
        Part::new("warnings", 2, vec![warnings(report), String::new()]),
        Part::new("machine", 3, vec![machine(report), String::new()]),
        Part::new(
            "method",
            3,
            vec![section("Method", &method(report)), String::new()],
        ),
        Part::fixed(section("Repeat", &repeat(report))),
    ];
    fitted(parts, SUMMARY)
}

/// Returns a link to a picture; nothing where there is none of that name.
fn picture((stem, pictures): Beside<'_>, name: &str) -> String {
    let picture = pictures.iter().find(|picture| picture.name == name);
    picture.map_or_else(String::new, |picture| {
        format!(
            "![{}]({})",
            escape(&picture.alternative),
            encoded(&picture.file(stem))
        )
    })
}

/// Returns a file's name as part of an address.
fn encoded(file: &str) -> String {
    let letter = |byte: u8| match char::from(byte) {
        letter if letter.is_ascii_alphanumeric() || "-._~".contains(letter) => letter.to_string(),
        _ => format!("%{byte:02X}"),
    };
    file.bytes().map(letter).collect()
}

/// Returns the tables in the manner of the 2012 page.
fn levels(report: &Report) -> String {
    let (how, marks) = if report.single {
        ("one trial each", String::new())
    } else {
        let against = escape(&report.compared_with);
        let marks = format!("; ▼ is a regression and ▲ an improvement against {against}");
        ("fitted to solo trials and races", marks)
    };
    let mut parts = vec![format!(
        "Fetches/sec of each version, {how}; one release line in a row, newest first. `-` is a gap, its reason stands below{marks}."
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
        } => report.shown(level.fetches_per_second),
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

/// Returns sentences as a list of points.
pub(super) fn points(sentences: &[String]) -> String {
    let lines = sentences.iter().map(|text| format!("- {}", escape(text)));
    lines.collect::<Vec<_>>().join("\n")
}

fn news(report: &Report) -> String {
    let sentences = report.news.sentences();
    if sentences.is_empty() {
        return String::new();
    }
    format!("## News\n\n{}", points(&sentences))
}

fn steps(report: &Report) -> String {
    if report.single {
        return "## Steps\n\nEach version was measured once, which cannot tell a step from a bad moment: none is judged. `harness \
                history` names those that deserve another look."
            .to_owned();
    }
    let lines: Vec<String> = report.flagged().map(flagged).collect();
    if lines.is_empty() {
        return "## Steps\n\nNo step is flagged.".to_owned();
    }
    format!("## Steps\n\n{}", lines.join("\n"))
}

/// Returns a flagged step as a point of a list.
pub(super) fn flagged(step: &Step) -> String {
    let (name, sentence) = (escape(&step.name()), escape(&step.sentence()));
    let culprit = step.culprit.as_ref();
    let culprit = culprit.map_or_else(String::new, |commit| {
        format!("; `harness bisect` found {}", escape(commit))
    });
    let changes = step.other_changes();
    let changes = changes.map_or_else(String::new, |changes| format!("; {}", escape(&changes)));
    format!("- **{name}**: {sentence}{culprit}{changes}.")
}

/// Returns the pairs with and without their picture.
fn pairs(report: &Report, beside: Beside<'_>) -> Vec<String> {
    if report.single {
        return Vec::new();
    }
    if report.pairs.is_empty() {
        return vec!["## Pairs\n\nThere are no two versions to compare.".to_owned()];
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
    let table = format!("## Pairs\n\n{table}");
    let picture = match picture(beside, "effects") {
        none if none.is_empty() => forest(&report.pairs).map(|picture| fence(&picture)),
        picture => Some(picture),
    };
    let Some(picture) = picture else {
        return vec![table];
    };
    let whole = format!(
        "{table}\n\nEffects with their intervals, percent of the baseline; left is worse.\n\n{picture}"
    );
    vec![whole, table]
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

/// Returns the gaps with all that is known of them, and in a line each.
fn gaps(report: &Report) -> Vec<String> {
    if report.gaps.is_empty() {
        return Vec::new();
    }
    let groups: Vec<String> = report.gaps.iter().map(gap).collect();
    vec![
        format!("## Gaps\n\n{}", groups.join("\n\n")),
        format!("## Gaps\n\n{}", gaps_in_short(&report.gaps)),
        String::new(),
    ]
}

/// Returns a line for each group of gaps.
pub(super) fn gaps_in_short(groups: &[GapGroup]) -> String {
    let line = |group: &GapGroup| {
        let known = group.acknowledged.as_ref();
        let known = known.map_or_else(String::new, |reason| {
            format!(" (known: {})", escape(reason))
        });
        format!(
            "- **{}**: {}{known}: {}",
            escape(&group.name),
            stopped(group.stage, group.kind),
            escape(&group.cause)
        )
    };
    groups.iter().map(line).collect::<Vec<_>>().join("\n")
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
    let notes = report.warnings.iter().map(|text| format!("Note: {text}"));
    format!("## Warnings\n\n{}", points(&notes.collect::<Vec<_>>()))
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

fn section(heading: &str, text: &str) -> String {
    format!("## {heading}\n\n{text}")
}

/// Returns how it was measured and judged, in paragraphs.
pub(super) fn method(report: &Report) -> String {
    let paragraphs: Vec<String> = report.method.iter().map(|text| escape(text)).collect();
    paragraphs.join("\n\n")
}

/// Returns which run it was and how to repeat it.
pub(super) fn repeat(report: &Report) -> String {
    let ended = match report.ended {
        Some(ended) => format!("ended {ended:.0}"),
        None => "not ended".to_owned(),
    };
    format!(
        "Run {} by Harness {}, begun {:.0}, {ended}; {} in order, seed {}. To repeat it:\n\n{}",
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
pub(super) fn fence(text: &str) -> String {
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
