//! The effects of all pairs with their intervals: a forest plot.

use super::axis::{Axis, with_room};
use super::svg::{Anchor, Point, Svg};
use super::{Picture, TITLE};
use crate::report::plot::{drawn, interval, scale};
use crate::report::words::{clipped, count};
use crate::report::{Report, Step};
use crate::stats::real;
use crate::verdict::Verdict;

/// Left and right end of the plot; names stand left of it, effects right.
const PLOT: (f64, f64) = (300.0, 860.0);

/// Room for the axis above the plot.
const AXIS: f64 = 34.0;

/// Height of a pair's row, of all rows together at most, and of a row at least.
const ROW: f64 = 20.0;
const ROWS: f64 = 1400.0;
const LEAST_ROW: f64 = 3.0;

/// Distance of two names at least, and letters of a name at most.
const NAME_ROOM: f64 = 14.0;
const LETTERS: usize = 42;

/// What the marks mean.
const LEGEND: &str = "◀ regression · ▶ improvement · ● the same · ○ unknown";

/// Draws the pairs that have an effect, by the main number; none where none has.
pub(super) fn picture(report: &Report) -> Option<Picture> {
    let drawn = drawn(&report.pairs);
    if drawn.is_empty() {
        return None;
    }
    let end = f64::from(scale(&drawn));
    let axis = Axis {
        values: (-end, end),
        places: PLOT,
    };
    let row = (ROWS / real(drawn.len())).clamp(LEAST_ROW, ROW);
    let top = TITLE + AXIS;
    let bottom = top + row * real(drawn.len());
    let mut svg = Svg::new("effects", &format!("{}: effect of each step", report.title));
    draw_axis(&mut svg, &axis, (top, bottom), &drawn);
    let rows: Vec<f64> = (0..drawn.len())
        .map(|index| top + (real(index) + 0.5) * row)
        .collect();
    for (y, (step, effect)) in rows.iter().zip(&drawn) {
        svg.begin(&format!(
            "{}: {} ({}), {}",
            step.name(),
            step.effect(),
            step.interval(),
            step.conclusion()
        ));
        if let Some((low, high)) = interval(step) {
            svg.line("zero", (axis.place(low), *y), (axis.place(high), *y));
        }
        draw_mark(
            &mut svg,
            step.verdict,
            (axis.place(*effect), *y),
            row.min(ROW) / ROW,
        );
        svg.end();
    }
    let flagged = (0..drawn.len()).filter(|index| drawn[*index].0.is_flagged());
    for index in with_room(&rows, flagged.chain(0..drawn.len()), NAME_ROOM) {
        let (step, y) = (drawn[index].0, rows[index] + 4.0);
        let class = if step.is_flagged() {
            "name strong"
        } else {
            "name"
        };
        svg.text(
            class,
            (PLOT.0 - 10.0, y),
            Anchor::End,
            &clipped(&step.name(), LETTERS),
        );
        svg.text("effect", (PLOT.1 + 84.0, y), Anchor::End, &step.effect());
    }
    svg.text("value", (PLOT.0, bottom + 18.0), Anchor::Start, LEGEND);
    Some(svg.finish(bottom + 30.0, &description(report, &drawn)))
}

/// Draws the zero line, those around it, and what they mean.
fn draw_axis(svg: &mut Svg, axis: &Axis, (top, bottom): (f64, f64), drawn: &[(&Step, f64)]) {
    // Worse is left whatever the number; so its sign is turned where less is better.
    let turned = drawn.iter().all(|(step, _)| step.better_smaller);
    let sign = if turned { -1.0 } else { 1.0 };
    for part in [-1.0, -0.5, 0.0, 0.5, 1.0] {
        let value = part * axis.values.1;
        let x = axis.place(value);
        svg.line(
            if part == 0.0 { "zero" } else { "grid" },
            (x, top - 4.0),
            (x, bottom),
        );
        let text = if part == 0.0 {
            "0".to_owned()
        } else {
            format!("{:+} %", sign * value)
        };
        svg.text("value", (x, top - 8.0), Anchor::Middle, &text);
    }
    svg.text("strong", (PLOT.0, top - 22.0), Anchor::Start, "← worse");
    svg.text("strong", (PLOT.1, top - 22.0), Anchor::End, "better →");
}

/// Draws the effect itself: its form tells the verdict as well as its colour does.
fn draw_mark(svg: &mut Svg, verdict: Verdict, (x, y): Point, size: f64) {
    let half = (5.0 * size).max(3.0);
    match verdict {
        Verdict::Regression => svg.shape(
            "worse",
            &[(x + half, y - half), (x + half, y + half), (x - half, y)],
        ),
        Verdict::Improvement => svg.shape(
            "better",
            &[(x - half, y - half), (x - half, y + half), (x + half, y)],
        ),
        Verdict::Same => svg.dot("same", (x, y), half * 0.7),
        Verdict::Unknown | Verdict::Incomparable => svg.dot("unknown", (x, y), half * 0.7),
    }
}

/// Returns the chart in words.
fn description(report: &Report, drawn: &[(&Step, f64)]) -> String {
    let of = |verdict: Verdict| {
        drawn
            .iter()
            .filter(|(step, _)| step.verdict == verdict)
            .count()
    };
    format!(
        "{} with intervals, percent of {}, worse to the left: {}, {}, {} the same (full dots), {} unknown (empty dots).",
        count(drawn.len(), "step"),
        report.compared_with,
        count(of(Verdict::Regression), "regression"),
        count(of(Verdict::Improvement), "improvement"),
        of(Verdict::Same),
        of(Verdict::Unknown)
    )
}
