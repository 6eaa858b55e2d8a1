//! Run → what to say → how to say it. Pure.
//!
//! [`Report`] holds everything that is said; `markdown` (style `full`), `notes` (style `release`), `terminal`, `json` and
//! `chart` only lay it out.

mod bisect;
mod boil;
mod chart;
mod columns;
mod compare;
mod details;
mod figures;
mod fit;
mod gaps;
mod history;
pub(crate) mod html;
mod json;
mod load;
mod markdown;
pub mod nightly;
mod notes;
mod past;
mod plot;
mod release;
pub mod step;
mod steps;
mod terminal;
mod texts;
mod versions;
mod warnings;
mod windows;
pub(crate) mod words;

use jiff::Timestamp;
use serde::Serialize;

use crate::journal::Run;
use crate::outcome::Gap;
use crate::verdict::{Comparison, Evidence, Judgement, Level, Verdict, evidence};
use crate::version::{Cell, line};

pub use bisect::{Hunt, Outcome, Suspect, Tried, standing};
pub(crate) use boil::sentences as boils;
pub use chart::Picture;
pub use compare::{Beside, Duel, Opinion};
pub use details::Details;
pub use figures::{Figures, Triple};
pub use gaps::GapGroup;
pub use load::{Load, loads};
pub use past::{Accepted, Acknowledgement, Blamed, News, Past, accepted};
pub use release::{Against, Release, Span, What};
pub use steps::{DependencyChange, Step};
pub(crate) use warnings::DELAYED_ACK;
pub use windows::Windows;

/// The number of the JSON form, raised by any change that an older reader would misread.
const SCHEMA: u32 = 2;

/// What is said of a run, before it is Markdown, text or JSON.
#[derive(Debug, Clone, PartialEq, Serialize, schemars::JsonSchema)]
pub struct Report {
    /// The number of this form.
    #[schemars(extend("const" = SCHEMA))]
    pub schema: u32,
    /// The matrix's title.
    pub title: String,
    /// The run's name.
    pub run: String,
    /// The version of Harness that measured.
    pub harness: String,
    /// When the run began.
    #[schemars(with = "String")]
    pub started: Timestamp,
    /// When it ended by itself; none where it was interrupted or still goes on.
    #[schemars(with = "Option<String>")]
    pub ended: Option<Timestamp>,
    /// The counts.
    pub status: Status,
    /// Whether each version was measured once and none was raced: then nothing can be judged.
    pub single: bool,
    /// The newest version for each combination of axes, against those before it.
    pub releases: Vec<Release>,
    /// Levels in the manner of the 2012 page, one table for each combination of axes.
    pub tables: Vec<Table>,
    /// What each version is compared with: `the version before`, `the version that it grew out of`, or the reference.
    pub compared_with: String,
    /// Every pair, in order.
    pub pairs: Vec<Step>,
    /// The pairs by the further numbers that decide, pair by pair.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub others: Vec<Step>,
    /// Every cell, in order, gaps in place.
    pub cells: Vec<CellReport>,
    /// The gaps, equal neighbours together.
    pub gaps: Vec<GapGroup>,
    /// What changed since the run before.
    pub news: News,
    /// What a reader should know, one sentence each.
    pub warnings: Vec<String>,
    /// The machine in a few words.
    pub machine_in_short: String,
    /// The machine, name and value.
    pub machine: Vec<(String, String)>,
    /// How it was measured and judged, one paragraph each.
    pub method: Vec<String>,
    /// What the servers of one session did, moment by moment; none where no session tells.
    #[serde(skip)]
    pub windows: Option<Windows>,
    /// The seed of every random order.
    pub seed: u64,
    /// A command that repeats the run with the same seed.
    pub repeat: String,
}

/// The counts of the first line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct Status {
    /// Cells with a number.
    pub measured: usize,
    /// Cells without, and why is known.
    pub gaps: usize,
    /// Of these, the ones that somebody accepts.
    pub known_gaps: usize,
    /// Cells that the run has not come to.
    pub pending: usize,
    /// Pairs of neighbours.
    pub pairs: usize,
    /// Pairs whose candidate is worse, by each number that decides.
    pub regressions: usize,
    /// Pairs whose candidate is better, by each number that decides.
    pub improvements: usize,
    /// Pairs whose difference by the main number is smaller than the margin.
    pub same: usize,
    /// Pairs without enough evidence by the main number.
    pub unknown: usize,
}

/// The levels of the cells with the same axes.
#[derive(Debug, Clone, PartialEq, Serialize, schemars::JsonSchema)]
pub struct Table {
    /// `body=buffer`, or empty where there are no axes.
    pub axes: String,
    /// One row for each release line, newest first.
    pub rows: Vec<Row>,
}

/// One release line.
#[derive(Debug, Clone, PartialEq, Serialize, schemars::JsonSchema)]
pub struct Row {
    /// `20`, or `0.12` below 1.0; empty for names without numbers.
    pub line: String,
    /// Indices into the report's cells, newest first.
    pub cells: Vec<usize>,
}

/// What is said of one cell.
#[derive(Debug, Clone, PartialEq, Serialize, schemars::JsonSchema)]
pub struct CellReport {
    /// The cell's name.
    pub id: String,
    /// The version's name.
    pub version: String,
    /// `body=buffer`, or empty where there are no axes.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub axes: String,
    /// What came of it.
    #[serde(flatten)]
    pub state: CellState,
    /// The pair whose candidate it is, as an index into the report's pairs.
    pub pair: Option<usize>,
    /// Change of each session against the version that it is compared with, percent of that one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub sessions_percent: Vec<f64>,
}

/// What came of one cell.
#[derive(Debug, Clone, PartialEq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case", tag = "state")]
pub enum CellState {
    /// It has a number.
    Measured {
        /// The fitted level; none where neither it nor a version that it was raced with was measured alone.
        level: Option<Level>,
        /// Medians of its solo trials; none where it had none.
        figures: Option<Box<Figures>>,
    },
    /// It has none, and this is why.
    Gap {
        /// Why.
        gap: Gap,
    },
    /// The run has not come to it.
    Pending,
}

impl Report {
    /// Says what a run and its judgement hold, against what is known from before.
    pub fn new(run: &Run, judgement: &Judgement, past: &Past<'_>) -> Self {
        let header = &run.header;
        let evidence = evidence(run);
        let cells: Vec<CellReport> = (0..header.cells.len())
            .map(|cell| cell_report(run, (judgement, &evidence), cell))
            .collect();
        let single = header.imported.is_some() || is_single(judgement, &cells);
        Self {
            schema: SCHEMA,
            title: header.matrix.title.clone(),
            run: header.run.clone(),
            harness: header.harness.clone(),
            started: header.started,
            ended: run.summary.as_ref().map(|summary| summary.ended),
            status: status(run, judgement, past),
            single,
            releases: release::releases(run, judgement, Span::default()),
            tables: tables(run),
            compared_with: texts::compared_with(header),
            pairs: steps(run, judgement, past),
            others: judgement
                .others
                .iter()
                .map(|pair| Step::new(run, pair))
                .collect(),
            cells,
            gaps: gaps::groups(run, &judgement.gaps, past),
            news: past.news(run),
            warnings: warnings::sentences(run, judgement),
            machine_in_short: texts::machine_in_short(&header.machine),
            machine: texts::machine(run),
            method: if single {
                texts::method_of_one_run(header)
            } else {
                texts::method(header, judgement)
            },
            windows: Windows::of(run, judgement),
            seed: header.seed,
            repeat: texts::repeat(header),
        }
    }

    /// Tells of other releases than the newest, or what they are against others. `run` and `judgement` are those of the report.
    #[must_use]
    pub fn between(mut self, run: &Run, judgement: &Judgement, span: Span<'_>) -> Self {
        self.releases = release::releases(run, judgement, span);
        self
    }

    /// Returns the report as GitHub Markdown in the style `full`, ending with a line break.
    pub fn markdown(&self) -> String {
        self.markdown_beside("", &[])
    }

    /// Returns the same with links to pictures that lie beside it, in files whose names begin with `stem`.
    pub fn markdown_beside(&self, stem: &str, pictures: &[Picture]) -> String {
        markdown::render(self, (stem, pictures))
    }

    /// Returns what release notes need as GitHub Markdown in the style `release`, ending with a line break.
    pub fn notes(&self) -> String {
        notes::render(self)
    }

    /// Returns the charts; none of what there is nothing to show of.
    pub fn pictures(&self) -> Vec<Picture> {
        chart::pictures(self)
    }

    /// Returns a summary for a terminal that many columns wide, ending with a line break.
    pub fn terminal(&self, width: u16, colour: bool) -> String {
        terminal::render(self, width, colour)
    }

    /// Returns the report as one HTML file; `root` is the way from its folder to that of the project, such as `../`.
    pub fn html(&self, root: &str) -> String {
        html::render(self, root)
    }

    /// Returns the whole report as JSON. Numbers that are not finite are `null`.
    pub fn json(&self) -> serde_json::Result<String> {
        json::render(self)
    }

    /// Returns a figure as text: of a single run as its program wrote it, else with no more digits than tell something.
    fn shown(&self, figure: f64) -> String {
        if self.single {
            words::digits(figure)
        } else {
            words::number(figure)
        }
    }

    /// Returns the steps that are flagged, those by the main number first.
    fn flagged(&self) -> impl Iterator<Item = &Step> {
        let all = self.pairs.iter().chain(&self.others);
        all.filter(|step| step.is_flagged())
    }

    /// Returns the first line after the title: the counts and the machine.
    pub(crate) fn status_line(&self) -> String {
        let status = &self.status;
        let mut parts = vec![
            format!("{} measured", words::count(status.measured, "version")),
            match status.known_gaps {
                0 => words::count(status.gaps, "gap"),
                known => format!("{} ({known} known)", words::count(status.gaps, "gap")),
            },
        ];
        if status.pending > 0 {
            let pending = words::count(status.pending, "version");
            parts.push(format!("{pending} not come to yet"));
        }
        if !self.single {
            parts.extend([
                words::count(status.regressions, "regression"),
                words::count(status.improvements, "improvement"),
                format!("{} the same", words::count(status.same, "pair")),
                format!("{} unknown", status.unknown),
            ]);
        }
        let parts = parts.join(", ");
        match self.machine_in_short.as_str() {
            "" => format!("{parts}."),
            machine => format!("{parts}; {machine}."),
        }
    }
}

impl CellReport {
    /// Returns its level; none of one that has no number or was not measured alone.
    pub(crate) fn level(&self) -> Option<&Level> {
        match &self.state {
            CellState::Measured { level, .. } => level.as_ref(),
            CellState::Gap { .. } | CellState::Pending => None,
        }
    }

    /// Returns the figures of its solo trials; none of one that had none.
    pub(crate) fn figures(&self) -> Option<&Figures> {
        match &self.state {
            CellState::Measured { figures, .. } => figures.as_deref(),
            CellState::Gap { .. } | CellState::Pending => None,
        }
    }
}

/// Returns whether there is one value of each of several versions and no more.
fn is_single(judgement: &Judgement, cells: &[CellReport]) -> bool {
    let trials = cells.iter().filter_map(CellReport::figures);
    let trials: Vec<usize> = trials.map(|figures| figures.trials).collect();
    let raced = judgement.all().any(|pair| pair.effect.is_some());
    !raced && trials.len() > 1 && trials.iter().all(|trials| *trials == 1)
}

/// Returns the change of each session as that of the number itself.
fn changes(evidence: &Evidence) -> Vec<f64> {
    let effects = evidence.measure.iter().chain(&evidence.confirm);
    let change = |effect: &f64| words::change_percent(evidence.metric, *effect);
    effects.map(change).collect()
}

fn steps(run: &Run, judgement: &Judgement, past: &Past<'_>) -> Vec<Step> {
    let step = |pair: &Comparison| {
        let step = Step::new(run, pair);
        let culprit = past.culprit(&step.baseline, &step.candidate);
        Step {
            culprit: culprit.filter(|_| step.is_flagged()),
            ..step
        }
    };
    judgement.comparisons.iter().map(step).collect()
}

fn status(run: &Run, judgement: &Judgement, past: &Past<'_>) -> Status {
    let is = |verdict| move |pair: &&Comparison| pair.verdict == verdict;
    let steps = |verdict| judgement.all().filter(is(verdict)).count();
    let with = |verdict| judgement.comparisons.iter().filter(is(verdict)).count();
    let known = |(cell, gap): &&(usize, Gap)| {
        let id = &run.header.cells[*cell].id;
        past.acknowledged(&run.header.matrix.name, id, gap)
            .is_some()
    };
    let (gaps, pending) = (judgement.gaps.len(), judgement.pending.len());
    Status {
        measured: run.header.cells.len() - gaps - pending,
        gaps,
        known_gaps: judgement.gaps.iter().filter(known).count(),
        pending,
        pairs: judgement.comparisons.len(),
        regressions: steps(Verdict::Regression),
        improvements: steps(Verdict::Improvement),
        same: with(Verdict::Same),
        unknown: with(Verdict::Unknown),
    }
}

/// Returns the tables' layout: a row for each release line, in the order in which the lines are met from the newest on.
fn tables(run: &Run) -> Vec<Table> {
    let mut tables: Vec<Table> = Vec::new();
    for (index, cell) in run.header.cells.iter().enumerate().rev() {
        let axes = axes_name(cell).to_owned();
        let line = line(&cell.version, run.header.order).unwrap_or_default();
        let place = tables
            .iter()
            .position(|table| table.axes == axes)
            .unwrap_or_else(|| {
                tables.push(Table {
                    axes,
                    rows: Vec::new(),
                });
                tables.len() - 1
            });
        let rows = &mut tables[place].rows;
        match rows.iter_mut().find(|row| row.line == line) {
            Some(row) => row.cells.push(index),
            None => rows.push(Row {
                line,
                cells: vec![index],
            }),
        }
    }
    // The newest version comes first, but the axes stay in the matrix's order.
    tables.reverse();
    tables
}

/// Returns a cell's values of the axes as its name has them.
fn axes_name(cell: &Cell) -> &str {
    let name = cell.id.strip_prefix(&cell.version.name);
    name.unwrap_or_default().trim_start()
}

fn cell_report(
    run: &Run,
    (judgement, evidence): (&Judgement, &[Evidence]),
    index: usize,
) -> CellReport {
    let cell = &run.header.cells[index];
    let gap = judgement.gaps.iter().find(|(of, _)| *of == index);
    let state = match gap {
        Some((_, gap)) => CellState::Gap { gap: gap.clone() },
        None if judgement.pending.contains(&index) => CellState::Pending,
        None => CellState::Measured {
            level: judgement
                .levels
                .iter()
                .find(|level| level.cell == index)
                .cloned(),
            figures: Figures::of_solo_trials(run, index).map(Box::new),
        },
    };
    let pair = judgement
        .comparisons
        .iter()
        .position(|pair| pair.pair.candidate == index);
    let sessions = evidence.iter().find(|one| one.pair.candidate == index);
    CellReport {
        id: cell.id.clone(),
        version: cell.version.name.clone(),
        axes: axes_name(cell).to_owned(),
        state,
        pair,
        sessions_percent: sessions.map(changes).unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests;
