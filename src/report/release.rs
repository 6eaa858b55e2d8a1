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

/// Which version it is that the newest is held against.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum What {
    /// The one that it is compared with anyway.
    Compared,
    /// The last of the minor line before.
    LastMinor,
}

impl Release {
    /// Returns the pair of it and the version that it is compared with, as an index into the report's pairs.
    pub(super) fn compared(&self) -> Option<usize> {
        self.against.first()?.pairs.first().copied()
    }
}

/// Returns the newest version for each combination of axes, where any was come to.
pub(super) fn releases(run: &Run, judgement: &Judgement) -> Vec<Release> {
    let chains = chains(&run.header.cells).into_iter();
    let release = |chain: Vec<usize>| {
        let mut newest = chain.into_iter().rev();
        let cell = newest.find(|cell| is_told(run, *cell))?;
        Some(Release {
            axes: axes_name(&run.header.cells[cell]).to_owned(),
            cell,
            against: against(run, judgement, cell),
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
    let back = |what, is_reached: &dyn Fn(usize) -> bool| {
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
    };
    let compared = back(What::Compared, &|cell| cell != newest);
    let last_minor = back(What::LastMinor, &|cell| line(&cells[cell]) != own);
    let mut against: Vec<Against> = compared.into_iter().collect();
    let is_another = |minor: &Against| against.iter().all(|known| known.cell != minor.cell);
    let last_minor = last_minor.filter(is_another);
    against.extend(last_minor);
    against
}
