//! The levels of all versions in order, with intervals; gaps are hatched and flagged steps marked.

use super::axis::{Axis, with_room};
use super::svg::{Anchor, Point, Svg};
use super::{Picture, TITLE};
use crate::report::words::{clipped, count, list, number, percent_range, stopped};
use crate::report::{CellReport, CellState, Report, Step};
use crate::verdict::{Level, Verdict};

/// Left and right end of the plot.
const PLOT: (f64, f64) = (88.0, 944.0);

/// Height of the plot.
const HEIGHT: f64 = 220.0;

/// Room below a plot for names of no letters, and for each letter of the longest.
const BELOW: f64 = 26.0;
const LETTER: f64 = 4.8;

/// Room for the axes' values above a plot.
const HEADING: f64 = 26.0;

/// Distance of two names at least, and letters of a name at most.
const NAME_ROOM: f64 = 18.0;
const LETTERS: usize = 18;

/// Standard errors from a level to an end of its interval.
const ERRORS: f64 = 2.0;

/// What the marks mean.
const LEGEND: &str = "▼ regression · ▲ improvement · hatched: gap · bars: ± 2 standard errors of the level; steps are judged pair by pair";

/// Gaps and steps that are named in words at most.
const NAMED: usize = 8;

/// Draws the levels; none where no version has one.
pub(super) fn picture(report: &Report) -> Option<Picture> {
    report.cells.iter().find_map(CellReport::level)?;
    let mut svg = Svg::new(
        "series",
        &format!("{}: fetches/sec of each version", report.title),
    );
    let mut top = TITLE;
    for table in &report.tables {
        let cells = report.cells.iter().filter(|cell| cell.axes == table.axes);
        let panel = Panel::new(report, cells.collect(), top);
        top += panel.draw(&mut svg, &table.axes);
    }
    svg.text("value", (PLOT.0, top + 6.0), Anchor::Start, LEGEND);
    Some(svg.finish(top + 18.0, &description(report)))
}

/// The plot of the cells with the same axes.
struct Panel<'a> {
    report: &'a Report,
    cells: Vec<&'a CellReport>,
    /// From the top of the chart to that of the plot.
    top: f64,
    axis: Axis,
}

impl<'a> Panel<'a> {
    fn new(report: &'a Report, cells: Vec<&'a CellReport>, above: f64) -> Self {
        let top = above + HEADING;
        let levels: Vec<&Level> = cells.iter().filter_map(|cell| cell.level()).collect();
        let (low, high) = levels
            .iter()
            .fold((f64::INFINITY, 0.0_f64), |(low, high), level| {
                let level = level.fetches_per_second;
                (low.min(level), high.max(level))
            });
        // An interval that is wider than all levels together would flatten them.
        let ends = levels.iter().filter_map(|level| ends(level));
        let ends = ends.flat_map(|(from, to)| [from.max(low * 0.7), to.min(high * 1.3)]);
        let all = levels
            .iter()
            .map(|level| level.fetches_per_second)
            .chain(ends);
        Self {
            report,
            cells,
            top,
            axis: Axis::around(all, (top + HEIGHT, top)),
        }
    }

    /// Returns how much room one version has.
    fn step(&self) -> f64 {
        (PLOT.1 - PLOT.0) / crate::stats::real(self.cells.len().max(1))
    }

    fn x(&self, place: usize) -> f64 {
        PLOT.0 + (crate::stats::real(place) + 0.5) * self.step()
    }

    fn point(&self, place: usize) -> Option<Point> {
        let level = self.cells[place].level()?;
        Some((self.x(place), self.axis.place(level.fetches_per_second)))
    }

    /// Draws everything and returns the height that it takes.
    fn draw(&self, svg: &mut Svg, axes: &str) -> f64 {
        if !axes.is_empty() {
            let at = (PLOT.0, self.top - 8.0);
            svg.text("strong", at, Anchor::Start, &clipped(axes, 120));
        }
        let known = self.cells.iter().any(|cell| cell.level().is_some());
        for (value, text) in self.axis.lines().into_iter().filter(|_| known) {
            let y = self.axis.place(value);
            svg.line("grid", (PLOT.0, y), (PLOT.1, y));
            svg.text("value", (PLOT.0 - 6.0, y + 4.0), Anchor::End, &text);
        }
        self.draw_gaps(svg);
        self.draw_lines(svg);
        for place in 0..self.cells.len() {
            self.draw_level(svg, place);
        }
        self.draw_names(svg);
        let letters = self.cells.iter().map(|cell| cell.version.chars().count());
        let letters = letters.max().unwrap_or(0).min(LETTERS);
        HEADING + HEIGHT + BELOW + LETTER * crate::stats::real(letters)
    }

    fn draw_gaps(&self, svg: &mut Svg) {
        let is_gap = |place: &usize| matches!(self.cells[*place].state, CellState::Gap { .. });
        let places: Vec<usize> = (0..self.cells.len()).filter(is_gap).collect();
        for run in places.chunk_by(|one, other| one + 1 == *other) {
            let (Some(first), Some(last)) = (run.first(), run.last()) else {
                continue;
            };
            let half = self.step() / 2.0;
            let (left, right) = (self.x(*first) - half, self.x(*last) + half);
            let (top, bottom) = (self.top, self.top + HEIGHT);
            let names: Vec<String> = run.iter().map(|place| self.words(*place)).collect();
            svg.begin(&clipped(&names.join("; "), 300));
            svg.shape(
                "gap",
                &[(left, top), (right, top), (right, bottom), (left, bottom)],
            );
            svg.end();
        }
    }

    /// Draws a line through neighbours; it is broken where one of them has no number.
    fn draw_lines(&self, svg: &mut Svg) {
        let points: Vec<Option<Point>> = (0..self.cells.len())
            .map(|place| self.point(place))
            .collect();
        for run in points.split(Option::is_none) {
            svg.lines("line", &run.iter().flatten().copied().collect::<Vec<_>>());
        }
    }

    fn draw_level(&self, svg: &mut Svg, place: usize) {
        let cell = self.cells[place];
        let (Some(at), Some(level)) = (self.point(place), cell.level()) else {
            return;
        };
        svg.begin(&self.words(place));
        if let Some((low, high)) = ends(level) {
            let (low, high) = (self.axis.place(low), self.axis.place(high));
            svg.line("whisker", (at.0, low), (at.0, high));
        }
        svg.dot("dot", at, (self.step() / 3.0).clamp(1.0, 3.5));
        let (x, y) = at;
        match self.pair(cell).map(|pair| pair.verdict) {
            Some(Verdict::Regression) => {
                let y = (y + 9.0).min(self.top + HEIGHT - 10.0);
                svg.shape("worse", &[(x - 5.0, y), (x + 5.0, y), (x, y + 9.0)]);
            }
            Some(Verdict::Improvement) => {
                let y = (y - 9.0).max(self.top + 10.0);
                svg.shape("better", &[(x - 5.0, y), (x + 5.0, y), (x, y - 9.0)]);
            }
            Some(Verdict::Same | Verdict::Unknown | Verdict::Incomparable) | None => {}
        }
        svg.end();
    }

    /// Writes as many names as have room: the newest and those of flagged steps first.
    fn draw_names(&self, svg: &mut Svg) {
        let count = self.cells.len();
        let places: Vec<f64> = (0..count).map(|place| self.x(place)).collect();
        let flagged = |place: &usize| self.pair(self.cells[*place]).is_some_and(Step::is_flagged);
        let first = count
            .checked_sub(1)
            .into_iter()
            .chain((0..count).filter(flagged));
        for place in with_room(&places, first.chain(0..count), NAME_ROOM) {
            let name = clipped(&self.cells[place].version, LETTERS);
            let class = if flagged(&place) {
                "name strong"
            } else {
                "name"
            };
            svg.rising(
                class,
                (places[place] + 4.0, self.top + HEIGHT + 14.0),
                &name,
            );
        }
    }

    fn pair(&self, cell: &CellReport) -> Option<&Step> {
        self.report.pairs.get(cell.pair?)
    }

    /// Returns what is known of one version in a line.
    fn words(&self, place: usize) -> String {
        let cell = self.cells[place];
        let state = match &cell.state {
            CellState::Gap { gap } => stopped(gap.stage, gap.kind),
            CellState::Pending => "not come to yet".to_owned(),
            CellState::Measured { level: None, .. } => "not measured alone".to_owned(),
            CellState::Measured {
                level: Some(level), ..
            } => {
                let rate = self.report.shown(level.fetches_per_second);
                let ends = ends(level).map_or_else(String::new, |(low, high)| {
                    format!(" ({} to {})", number(low), number(high))
                });
                format!("{rate} fetches/sec{ends}")
            }
        };
        let step = self.pair(cell).map_or_else(String::new, |step| {
            format!("; {} {}", step.effect(), step.conclusion_in_short())
        });
        format!("{}: {state}{step}", cell.version)
    }
}

/// Returns two standard errors to each side of a level; none where there is too little to tell.
fn ends(level: &Level) -> Option<(f64, f64)> {
    let error = level.relative_error?;
    let end = |errors: f64| level.fetches_per_second * (errors * error).exp();
    Some((end(-ERRORS), end(ERRORS)))
}

/// Returns the chart in words.
fn description(report: &Report) -> String {
    let names = |cells: &[String]| {
        let mut named: Vec<String> = cells.iter().take(NAMED).cloned().collect();
        let more = cells.len() - named.len();
        named.extend((more > 0).then(|| format!("{more} more")));
        list(&named, "and")
    };
    let of = |verdict: Verdict, noun: &str| {
        let pairs = report.pairs.iter().filter(|step| step.verdict == verdict);
        let pairs: Vec<String> = pairs
            .map(|step| {
                let interval = step.interval_percent.map(percent_range);
                format!(
                    "{} {}",
                    step.name(),
                    interval.unwrap_or_else(|| step.effect())
                )
            })
            .collect();
        (!pairs.is_empty()).then(|| format!("{}: {}.", count(pairs.len(), noun), names(&pairs)))
    };
    let levels = report.cells.iter().filter_map(CellReport::level);
    let levels: Vec<f64> = levels.map(|level| level.fetches_per_second).collect();
    let low = levels.iter().copied().fold(f64::INFINITY, f64::min);
    let high = levels.iter().copied().fold(0.0, f64::max);
    let mut sentences = vec![format!(
        "{} with a number, oldest left, from {} to {} fetches/sec; bars are two standard errors to each side, hatched \
         stretches are gaps, triangles flagged steps; the axis need not begin at zero.",
        count(levels.len(), "version"),
        number(low),
        number(high)
    )];
    let gaps: Vec<String> = report.gaps.iter().map(|group| group.name.clone()).collect();
    sentences.extend((!gaps.is_empty()).then(|| format!("No number: {}.", names(&gaps))));
    sentences.extend(of(Verdict::Regression, "regression"));
    sentences.extend(of(Verdict::Improvement, "improvement"));
    clipped(&sentences.join(" "), 1500)
}
