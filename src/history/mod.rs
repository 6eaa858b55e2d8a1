//! The same versions over many runs: the drift of the machine against the drift of each version. Pure.
//!
//! `night` takes from a run what a history needs, `table` takes versions × nights apart, `change` finds and tests new
//! levels in a series of nights, and `single` looks along the versions of a run whose pairs never raced.

mod change;
mod night;
mod single;
mod table;
#[cfg(test)]
mod tests;

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;

use jiff::Timestamp;
use serde::Serialize;

use change::{Step, steps};
pub use night::{LeftOut, Night, Why, why_not};
pub use single::{Shape, Suspect};
use table::{Fit, Table, fit, linked};

use crate::journal::Header;
use crate::matrix::Rule;
use crate::stats::benjamini_hochberg;

/// The number of the JSON form, raised by any change that an older reader would misread.
const SCHEMA: u32 = 1;

/// Level of the Mann–Whitney gate, which keeps one wild night from deciding alone.
const RANK_LEVEL: f64 = 0.05;

/// What many runs of one matrix say together. Effects are log ratios, negative is worse.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct History {
    /// The number of this form.
    pub schema: u32,
    /// The matrix's title.
    pub title: String,
    /// The matrix's file.
    pub file: PathBuf,
    /// Chance of a false one among the changes that are told.
    pub alpha: f64,
    /// Least change worth telling, as a share.
    pub min_effect: f64,
    /// The runs, the oldest first.
    pub nights: Vec<RunName>,
    /// How fast the machine was in each, against the median one.
    pub machine: Vec<f64>,
    /// Versions measured in the usual night; below three, machine and version can hardly be told apart.
    pub versions_a_night: usize,
    /// Each version.
    pub versions: Vec<Line>,
    /// New levels in the series of the machine, the versions and the pairs.
    pub changes: Vec<Change>,
    /// Series that were looked at for changes.
    pub series: usize,
    /// What stands out along the versions of a run whose pairs never raced.
    pub suspects: Vec<Suspect>,
    /// Versions of the newest run that came down in small steps, one sentence each.
    pub boils: Vec<String>,
    /// Runs that are not part of it.
    pub left_out: Vec<LeftOut>,
}

/// One run of a history.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RunName {
    /// Its name.
    pub run: String,
    /// When it began.
    pub started: Timestamp,
}

/// One version over all nights.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Line {
    /// The cell's name.
    pub id: String,
    /// Its level in the median night.
    pub fetches_per_second: f64,
    /// In how many nights it was measured.
    pub measured: usize,
    /// What is left of each night's level without the version's and the night's; none where it was not measured.
    pub residuals: Vec<Option<f64>>,
    /// The sum of its changes; none where none is seen.
    pub drift: Option<f64>,
}

/// What changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Of {
    /// The machine, or whatever all versions share.
    Machine,
    /// One version against the others.
    Version(String),
    /// Candidate against baseline, though neither of them stands out alone.
    Pair(String, String),
}

/// A new level in a series of nights.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Change {
    /// What changed.
    pub of: Of,
    /// When the first run at the new level began.
    pub on: Timestamp,
    /// When the last one before it began that measured the same.
    pub after: Timestamp,
    /// Nights at the level before and at the new one.
    pub nights: (usize, usize),
    /// By how much.
    pub effect: f64,
    /// p of Welch's test, corrected for the place and for all series looked at.
    pub adjusted_p: f64,
    /// p of the Mann–Whitney test.
    pub rank_p: f64,
    /// Whether it is sure. Otherwise it is a suspect.
    pub sure: bool,
    /// Whether the version's program is another than before, byte for byte; none where that is not known.
    pub new_program: Option<bool>,
}

impl History {
    /// Puts runs together that may be compared; `newest` is the header of the newest. With `names`, only these cells are
    /// looked at, but nights are fitted to all.
    pub fn new(
        newest: &Header,
        mut nights: Vec<Night>,
        names: &[String],
        mut left_out: Vec<LeftOut>,
    ) -> Self {
        nights.sort_by(|left, right| (left.started, &left.run).cmp(&(right.started, &right.run)));
        let nights = only_linked(nights, &mut left_out);
        let rows = rows(&nights);
        let table = table(&nights, &rows);
        let fit = fit(&table, nights.len());
        let looked_at = |id: &str| names.is_empty() || names.iter().any(|name| name == id);
        let mut series = vec![(Of::Machine, fit.nights.iter().copied().map(Some).collect())];
        let shown = std::iter::zip(&rows, &fit.residuals).filter(|(id, _)| looked_at(id));
        series.extend(shown.map(|(id, left)| (Of::Version(id.clone()), left.clone())));
        series.extend(pairs(&nights, &looked_at));
        series.retain(|(_, values)| values.iter().flatten().count() >= change::LEAST);
        let changes = changes(&series, &nights, &newest.rule);
        Self {
            schema: SCHEMA,
            title: newest.matrix.title.clone(),
            file: newest.matrix.file.clone(),
            alpha: newest.rule.alpha,
            min_effect: newest.rule.min_effect,
            versions_a_night: usual(&table, nights.len()),
            versions: lines(&rows, &fit, &changes)
                .filter(|line| looked_at(&line.id))
                .collect(),
            suspects: single::suspects(newest, &nights, &levels(&rows, &fit)),
            nights: nights.into_iter().map(RunName::from).collect(),
            machine: fit.nights,
            changes,
            series: series.len(),
            boils: Vec::new(),
            left_out,
        }
    }

    /// Returns whether a version surely became worse.
    pub fn has_regression(&self) -> bool {
        let worse = |change: &Change| {
            change.sure && change.effect < 0.0 && !matches!(change.of, Of::Machine)
        };
        self.changes.iter().any(worse)
    }
}

impl From<Night> for RunName {
    fn from(night: Night) -> Self {
        Self {
            run: night.run,
            started: night.started,
        }
    }
}

/// Leaves out the nights that no version connects with the newest.
fn only_linked(nights: Vec<Night>, left_out: &mut Vec<LeftOut>) -> Vec<Night> {
    let linked = linked(&table(&nights, &rows(&nights)), nights.len());
    let (kept, alone): (Vec<_>, Vec<_>) = std::iter::zip(nights, linked).partition(|one| one.1);
    left_out.extend(alone.into_iter().map(|(night, _)| LeftOut {
        run: night.run,
        why: Why::Unlinked,
    }));
    kept.into_iter().map(|(night, _)| night).collect()
}

/// Returns all versions in the order of the newest run. One that it does not have follows the one that it follows in the
/// newest run that has it.
fn rows(nights: &[Night]) -> Vec<String> {
    let mut rows: Vec<String> = Vec::new();
    let mut known = HashSet::new();
    for night in nights.iter().rev() {
        if night.levels.iter().all(|(id, _)| known.contains(id)) {
            continue;
        }
        let mut place = 0;
        for (id, _) in &night.levels {
            match rows.iter().position(|row| row == id) {
                Some(found) => place = found,
                None => rows.insert(place, id.clone()),
            }
            place += 1;
        }
        known.extend(rows.iter().cloned());
    }
    rows
}

fn table(nights: &[Night], rows: &[String]) -> Table {
    let places: HashMap<&String, usize> = rows.iter().zip(0..).collect();
    let mut table = vec![vec![None; nights.len()]; rows.len()];
    for (column, night) in nights.iter().enumerate() {
        for (id, level) in &night.levels {
            table[places[id]][column] = Some(*level);
        }
    }
    table
}

/// Returns how many versions the median night measured.
fn usual(table: &Table, nights: usize) -> usize {
    let measured = |night: usize| table.iter().filter(|row| row[night].is_some()).count();
    let mut counts: Vec<usize> = (0..nights).map(measured).collect();
    counts.sort_unstable();
    counts.get(nights / 2).copied().unwrap_or(0)
}

/// Returns the effects of each pair over the nights, as far as the number decided that did so last.
fn pairs(nights: &[Night], looked_at: &dyn Fn(&str) -> bool) -> Vec<(Of, Vec<Option<f64>>)> {
    let mut places = HashMap::new();
    let mut pairs = Vec::new();
    for (night, one) in nights.iter().enumerate().rev() {
        for (pair, (metric, effect)) in &one.effects {
            if !looked_at(&pair.0) && !looked_at(&pair.1) {
                continue;
            }
            let place = *places.entry(pair).or_insert_with(|| {
                let of = Of::Pair(pair.0.clone(), pair.1.clone());
                pairs.push((of, *metric, vec![None; nights.len()]));
                pairs.len() - 1
            });
            if pairs[place].1 == *metric {
                pairs[place].2[night] = Some(*effect);
            }
        }
    }
    let series = |(of, _, values)| (of, values);
    pairs.into_iter().map(series).collect()
}

/// Finds the new levels in all series. Benjamini and Hochberg's correction goes over all of them: of the changes that are
/// told as sure, a share of alpha is false on average.
fn changes(series: &[(Of, Vec<Option<f64>>)], nights: &[Night], rule: &Rule) -> Vec<Change> {
    let mut found: Vec<(&Of, Step)> = Vec::new();
    let mut silent = 0;
    for (of, values) in series {
        let steps = steps(values);
        silent += usize::from(steps.is_empty());
        found.extend(steps.into_iter().map(|step| (of, step)));
    }
    let mut p_values: Vec<f64> = found.iter().map(|(_, step)| step.p).collect();
    p_values.resize(found.len() + silent, 1.0);
    let adjusted = benjamini_hochberg(&p_values);
    // Of a quiet series one in twenty shows a step: a suspect must be likely by itself, or too new to test.
    let is_told = |step: &Step| {
        let few = step.nights.0.min(step.nights.1) < change::LEAST;
        (few || step.p <= rule.alpha) && step.effect.abs() >= rule.min_effect.ln_1p()
    };
    let changes = std::iter::zip(found, adjusted)
        .filter(|((_, step), _)| is_told(step))
        .map(|((of, step), p)| Change::new((of, step, p), nights, rule));
    let (pairs, mut changes): (Vec<Change>, Vec<Change>) =
        changes.partition(|change| matches!(change.of, Of::Pair(..)));
    let told = changes.clone();
    changes.extend(pairs.into_iter().filter(|pair| !pair.is_told(&told)));
    changes
}

impl Change {
    fn new((of, step, p): (&Of, Step, f64), nights: &[Night], rule: &Rule) -> Self {
        let (last, night) = (&nights[step.last], &nights[step.night]);
        let program = |id: &String| Some(last.programs.get(id)? != night.programs.get(id)?);
        Self {
            on: night.started,
            after: last.started,
            nights: step.nights,
            effect: step.effect,
            adjusted_p: p,
            rank_p: step.rank_p,
            sure: p <= rule.alpha && step.rank_p <= RANK_LEVEL,
            new_program: match of {
                Of::Version(id) => program(id),
                Of::Machine | Of::Pair(..) => None,
            },
            of: of.clone(),
        }
    }

    /// Returns whether the change of a pair is that of one of its two versions, which `told` has already.
    fn is_told(&self, told: &[Self]) -> bool {
        let Of::Pair(baseline, candidate) = &self.of else {
            return false;
        };
        let same = |change: &Self| match &change.of {
            Of::Version(id) => {
                (id == baseline || id == candidate)
                    && change.after <= self.on
                    && self.after <= change.on
            }
            Of::Machine | Of::Pair(..) => false,
        };
        told.iter().any(same)
    }
}

/// Returns the level of each version in the median night, by its name.
fn levels<'rows>(rows: &'rows [String], fit: &Fit) -> HashMap<&'rows str, f64> {
    let levels = std::iter::zip(rows, &fit.levels);
    levels
        .filter_map(|(id, level)| Some((id.as_str(), (*level)?)))
        .collect()
}

fn lines(rows: &[String], fit: &Fit, changes: &[Change]) -> impl Iterator<Item = Line> {
    let levels = std::iter::zip(&fit.levels, &fit.residuals);
    std::iter::zip(rows, levels).filter_map(|(id, (level, residuals))| {
        let own = |change: &&Change| matches!(&change.of, Of::Version(of) if of == id);
        let effects = changes.iter().filter(own).map(|change| change.effect);
        Some(Line {
            id: id.clone(),
            fetches_per_second: (*level)?.exp(),
            measured: residuals.iter().flatten().count(),
            residuals: residuals.clone(),
            drift: effects.reduce(|sum, effect| sum + effect),
        })
    })
}
