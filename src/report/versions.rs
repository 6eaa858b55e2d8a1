//! The figures of the versions as tables of GitHub Markdown.

use super::details::{COLUMNS, Column, Details, positive};
use super::markdown::{escape, grid};
use super::{CellReport, Figures, Report, Triple};

/// A column: what it is headed with, and its entry where there is one.
type Figure = (&'static str, fn(&Report, &Figures) -> Option<String>);

/// What the load saw, in the manner of the 2012 page.
const OF_THE_LOAD: [Figure; 5] = [
    ("trials", |_, figures| Some(figures.trials.to_string())),
    ("fetches/sec", |report, figures| {
        shown(report, figures.fetches_per_second)
    }),
    ("bytes/sec", |report, figures| {
        shown(report, figures.bytes_per_second)
    }),
    ("msecs/connect mean, max, min", |report, figures| {
        triple(report, &figures.connect_ms)
    }),
    ("msecs/first-response mean, max, min", |report, figures| {
        triple(report, &figures.first_response_ms)
    }),
];

/// What else is known.
const OF_THE_SERVER: [Figure; 9] = [
    ("latency p50 ms", |report, figures| {
        shown(report, figures.latency_p50_ms)
    }),
    ("p90 ms", |report, figures| {
        shown(report, figures.latency_p90_ms)
    }),
    ("p99 ms", |report, figures| {
        shown(report, figures.latency_p99_ms)
    }),
    ("max ms", |report, figures| {
        shown(report, figures.latency_max_ms)
    }),
    ("CPU µs/answer", |report, figures| {
        shown(report, figures.cpu_us_per_answer?)
    }),
    ("peak RSS MiB", |report, figures| {
        shown(report, figures.rss_peak_mib?)
    }),
    ("PSS MiB", |report, figures| shown(report, figures.pss_mib?)),
    ("threads", |_, figures| {
        figures.threads.map(|threads| format!("{threads}"))
    }),
    ("start-up ms", |report, figures| {
        shown(report, figures.startup_ms?)
    }),
];

/// Returns a figure as text; none of a zero: what was not told is no figure.
fn shown(report: &Report, figure: f64) -> Option<String> {
    positive(figure).map(|figure| report.shown(figure))
}

fn triple(report: &Report, triple: &Triple) -> Option<String> {
    positive(triple.max)?;
    let parts = [triple.mean, triple.max, triple.min].map(|part| report.shown(part));
    Some(parts.join(", "))
}

/// Returns the section with all tables, then shorter ones down to none; nothing where no version has figures.
pub(super) fn sections(report: &Report) -> Vec<String> {
    let measured: Vec<(&CellReport, &Figures)> = report
        .cells
        .iter()
        .filter_map(|cell| Some((cell, cell.figures()?)))
        .collect();
    if measured.is_empty() {
        return Vec::new();
    }
    let of_trials = if report.single {
        "The figures of each version's only trial."
    } else {
        "Medians over the solo trials of each version, each figure for itself."
    };
    let parts = [
        format!("## Versions\n\n{of_trials}"),
        table(report, &measured, &OF_THE_LOAD),
        table(report, &measured, &OF_THE_SERVER),
        details(&measured),
    ];
    let lengths = [4, 3, 2];
    let joined = |length: usize| {
        let parts = parts.iter().take(length).filter(|part| !part.is_empty());
        parts.cloned().collect::<Vec<_>>().join("\n\n")
    };
    let mut forms: Vec<String> = lengths.into_iter().map(joined).collect();
    forms.push(String::new());
    forms
}

/// Returns a table of the columns that have any entry; nothing where none has.
fn table(report: &Report, measured: &[(&CellReport, &Figures)], columns: &[Figure]) -> String {
    let any = |(_, entry): &&Figure| {
        let mut entries = measured.iter().map(|(_, figures)| entry(report, figures));
        entries.any(|entry| entry.is_some())
    };
    let columns: Vec<&Figure> = columns.iter().filter(any).collect();
    if columns.is_empty() {
        return String::new();
    }
    let row = |(cell, figures): &(&CellReport, &Figures)| {
        let entry =
            |column: &&Figure| column.1(report, figures).unwrap_or_else(|| "not known".to_owned());
        let entries = columns.iter().map(entry);
        std::iter::once(escape(&cell.id)).chain(entries).collect()
    };
    let rows: Vec<Vec<String>> = measured.iter().map(row).collect();
    grid(&header(columns.iter().map(|column| column.0)), &rows)
}

fn header<'a>(names: impl Iterator<Item = &'a str>) -> Vec<String> {
    let names = std::iter::once("version").chain(names);
    names.map(str::to_owned).collect()
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
    let row = |(id, details): &(&str, &Details)| {
        let entry = |column: &&Column| column.1(details).unwrap_or_else(|| "none".to_owned());
        let entries = columns.iter().map(|column| escape(&entry(column)));
        std::iter::once(escape(id)).chain(entries).collect()
    };
    let rows: Vec<Vec<String>> = known.iter().map(row).collect();
    format!(
        "<details><summary>More figures of the same trials</summary>\n\n{}\n\n</details>",
        grid(&header(columns.iter().map(|column| column.0)), &rows)
    )
}
