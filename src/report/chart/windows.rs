//! The answers per second of all servers of one session, window by window.

use super::axis::Axis;
use super::svg::{Anchor, Point, Svg};
use super::{Picture, TITLE};
use crate::journal::Purpose;
use crate::report::words::{clipped, count, list};
use crate::report::{Report, Windows};
use crate::stats::real;

/// Left and right end of the plot.
const PLOT: (f64, f64) = (76.0, 944.0);

/// Height of the plot, of the axis below it, and of a line of the legend.
const HEIGHT: f64 = 220.0;
const AXIS: f64 = 40.0;
const LEGEND: f64 = 18.0;

/// Kinds of lines that can be told apart.
const KINDS: usize = 4;

/// Draws the session that the report tells of; none where it tells of none.
pub(super) fn picture(report: &Report) -> Option<Picture> {
    let windows = report.windows.as_ref()?;
    let mut svg = Svg::new("windows", &title(report, windows));
    let top = TITLE + 10.0;
    let bottom = top + HEIGHT;
    let times = middles(windows);
    let rates = Axis::around(windows.rates.iter().flatten().copied(), (bottom, top));
    let time = Axis {
        values: (0.0, windows.seconds.iter().sum()),
        places: PLOT,
    };
    for (value, text) in rates.lines() {
        let y = rates.place(value);
        svg.line("grid", (PLOT.0, y), (PLOT.1, y));
        svg.text("value", (PLOT.0 - 6.0, y + 4.0), Anchor::End, &text);
    }
    for (value, text) in time.lines() {
        svg.text(
            "value",
            (time.place(value), bottom + 16.0),
            Anchor::Middle,
            &text,
        );
    }
    svg.text("value", (PLOT.1, bottom + 32.0), Anchor::End, "seconds");
    for (index, (cell, rates_of)) in windows.cells.iter().zip(&windows.rates).enumerate() {
        let class = format!("l{}", index % KINDS);
        let points = times.iter().zip(rates_of);
        let points: Vec<Point> = points
            .map(|(at, rate)| (time.place(*at), rates.place(*rate)))
            .collect();
        svg.begin(cell);
        svg.lines(&class, &points);
        svg.end();
        let y = bottom + AXIS + LEGEND * real(index);
        svg.line(&class, (PLOT.0, y), (PLOT.0 + 40.0, y));
        svg.text(
            "name",
            (PLOT.0 + 48.0, y + 4.0),
            Anchor::Start,
            &clipped(cell, 120),
        );
    }
    let height = bottom + AXIS + LEGEND * real(windows.cells.len());
    Some(svg.finish(height, &description(windows)))
}

fn title(report: &Report, windows: &Windows) -> String {
    let purpose = match windows.purpose {
        Purpose::Measure => "to measure",
        Purpose::Confirm => "to confirm",
    };
    format!(
        "{}: answers per second in session {}, held {purpose}",
        report.title, windows.session
    )
}

/// Returns the time in the middle of each window, s.
fn middles(windows: &Windows) -> Vec<f64> {
    let mut end = 0.0;
    let middle = |seconds: &f64| {
        end += seconds;
        end - seconds / 2.0
    };
    windows.seconds.iter().map(middle).collect()
}

/// Returns the chart in words.
fn description(windows: &Windows) -> String {
    format!(
        "Answers per second of {} in {} of one session; the axis need not begin at zero.",
        clipped(&list(&windows.cells, "and"), 300),
        count(windows.seconds.len(), "window"),
    )
}
