//! What a reader of release notes asks: the newest version against the one before it and the last minor version. Pure.

use serde::Serialize;

use super::axes_name;
use super::words::{change_percent, changes_percent};
use crate::journal::Run;
use crate::outcome::GapKind;
use crate::verdict::state::{State, state};
use crate::verdict::{Judgement, Metric, way};
use crate::version::{Cell, chains, minor_line};

/// The newest version with the same axes, and those that it is held against.
#[derive(Debug, Clone, PartialEq, Serialize, schemars::JsonSchema)]
pub struct Release {
    /// Their values of the axes, `body=buffer`; empty where there are no axes.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub axes: String,
    /// The newest version, as an index into the report's cells.
    pub cell: usize,
    /// What it is held against, the nearest first; nothing where it has no number, or is the first that has one.
    pub against: Vec<Against>,
}

/// A version that the newest is held against.
#[derive(Debug, Clone, PartialEq, Serialize, schemars::JsonSchema)]
pub struct Against {
    /// Which it is.
    pub what: What,
    /// It, as an index into the report's cells.
    pub cell: usize,
    /// The pairs that lead from it to the newest, the newest first, as indices into the report's pairs.
    pub pairs: Vec<usize>,
    /// The number that decided.
    pub metric: Metric,
    /// Change over all of them, percent of it.
    pub effect_percent: Option<f64>,
    /// Its interval; of more than one pair one that holds for itself alone.
    pub interval_percent: Option<(f64, f64)>,
}

/// Between which versions somebody asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Span<'a> {
    /// What the version is held against; the one that it is compared with and the last minor version by default.
    pub from: Option<&'a str>,
    /// The version that is told of; the newest by default.
    pub to: Option<&'a str>,
}

/// Which version it is that the newest is held against.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum What {
    /// The one that somebody asked for.
    Asked,
    /// The one that it is compared with anyway.
    Compared,
    /// The last of the minor line before.
    LastMinor,
}

impl Release {
    /// Returns the pair of it and the version that it is held against first, as an index into the report's pairs; none where
    /// several lie between the two.
    pub(super) fn compared(&self) -> Option<usize> {
        match self.against.first()?.pairs.as_slice() {
            [pair] => Some(*pair),
            _ => None,
        }
    }
}

/// Returns the newest version for each combination of axes, or the one that is asked for, where any was come to.
pub(super) fn releases(run: &Run, judgement: &Judgement, span: Span<'_>) -> Vec<Release> {
    let chains = chains(&run.header.cells).into_iter();
    let is_named = |cell: usize, name: &str| run.header.cells[cell].version.name == name;
    let is_meant = |cell: usize| span.to.is_none_or(|name| is_named(cell, name));
    let release = |chain: Vec<usize>| {
        let mut newest = chain.into_iter().rev();
        let cell = newest.find(|cell| is_meant(*cell) && is_told(run, *cell))?;
        let against = match span.from {
            Some(name) => {
                let is_reached = |from| from != cell && is_named(from, name);
                let asked = back(run, judgement, (What::Asked, cell), &is_reached);
                asked.into_iter().collect()
            }
            None => against(run, judgement, cell),
        };
        Some(Release {
            axes: axes_name(&run.header.cells[cell]).to_owned(),
            cell,
            against,
        })
    };
    chains.filter_map(release).collect()
}

/// Returns whether a cell has a number or a reason of its own to have none.
fn is_told(run: &Run, cell: usize) -> bool {
    match state(run, cell) {
        State::Measured => true,
        State::Gap(gap) => gap.kind != GapKind::Excluded,
        State::Pending => false,
    }
}

fn against(run: &Run, judgement: &Judgement, newest: usize) -> Vec<Against> {
    let cells = &run.header.cells;
    let line = |cell: &Cell| minor_line(&cell.version, run.header.order);
    let own = line(&cells[newest]);
    let compared = back(run, judgement, (What::Compared, newest), &|cell| {
        cell != newest
    });
    let last_minor = back(run, judgement, (What::LastMinor, newest), &|cell| {
        line(&cells[cell]) != own
    });
    let mut against: Vec<Against> = compared.into_iter().collect();
    let is_another = |minor: &Against| against.iter().all(|known| known.cell != minor.cell);
    let last_minor = last_minor.filter(is_another);
    against.extend(last_minor);
    against
}

/// Returns the way back from a version to the first one that is reached; none where no pairs lead there.
fn back(
    run: &Run,
    judgement: &Judgement,
    (what, newest): (What, usize),
    is_reached: &dyn Fn(usize) -> bool,
) -> Option<Against> {
    let way = way(
        &judgement.comparisons,
        newest,
        run.header.rule.alpha,
        is_reached,
    )?;
    let last = &judgement.comparisons[*way.steps.first()?];
    let alone = way.steps.len() == 1;
    let interval = if alone { last.interval } else { way.interval };
    Some(Against {
        what,
        cell: way.from,
        metric: last.metric,
        effect_percent: way.effect.map(|effect| change_percent(last.metric, effect)),
        interval_percent: interval.map(|ends| changes_percent(last.metric, ends)),
        pairs: way.steps,
    })
}
