//! CSV that Apache Otava (once Hunter) reads: the versions in order as a series, to look for change points in. Pure.

use jiff::SignedDuration;

use super::csv::{number, table};
use super::{figures, level, told};
use crate::journal::Run;
use crate::report::{CellReport, Figures, Report};

/// A figure that Otava may be told to look at: its column, and its value where there is one.
type Column = (&'static str, fn(&Figures) -> Option<f64>);

const FIGURES: [Column; 4] = [
    ("cpu_us_per_answer", |figures| figures.cpu_us_per_answer),
    ("rss_peak_mib", |figures| figures.rss_peak_mib),
    ("startup_ms", |figures| figures.startup_ms),
    ("latency_p99_ms", |figures| Some(figures.latency_p99_ms)),
];

/// Returns a row for each version that has a level. Where there are axes, each combination of values is a branch of its own:
/// Otava refuses to mix those.
pub fn render(run: &Run, report: &Report) -> String {
    let has_axes = report.cells.iter().any(|cell| !cell.axes.is_empty());
    let mut header = vec!["time".to_owned(), "version".to_owned()];
    header.extend(has_axes.then(|| "branch".to_owned()));
    header.push("answers_per_second".to_owned());
    header.extend(FIGURES.iter().map(|(name, _)| (*name).to_owned()));
    let times = (0..).map(|place| {
        // When a version was made is often not known, and Otava leaves out what is older than a year.
        let time = run.header.started + SignedDuration::from_secs(place);
        time.strftime("%Y-%m-%d %H:%M:%S +0000").to_string()
    });
    let rows = times.zip(&report.cells).filter_map(|(time, cell)| {
        let level = level(cell)?;
        let mut row = vec![time, cell.version.clone()];
        row.extend(has_axes.then(|| cell.axes.clone()));
        row.push(number(Some(level.fetches_per_second)));
        row.extend(rest(cell));
        Some(row)
    });
    table(header, rows)
}

/// Returns the figures beside the level.
fn rest(cell: &CellReport) -> impl Iterator<Item = String> {
    let figures = figures(cell);
    FIGURES
        .iter()
        .map(move |(_, figure)| number(told(figures.and_then(figure))))
}

#[cfg(test)]
mod tests {
    use super::super::fixture::story;
    use super::*;

    #[test]
    fn gaps_are_left_out_and_times_stand_in_order() {
        let (run, report) = story("1.2.0, \"the last\"");
        insta::assert_snapshot!(render(&run, &report).replace("\r\n", "\n"));
    }

    #[test]
    fn each_combination_of_axes_is_a_branch() {
        let (run, mut report) = story("1.2.0");
        for cell in &mut report.cells {
            "body=json".clone_into(&mut cell.axes);
        }
        let text = render(&run, &report);
        assert!(
            text.starts_with("time,version,branch,answers_per_second,"),
            "{text}"
        );
        assert!(text.contains(" +0000,1.0.0,body=json,"), "{text}");
    }
}
