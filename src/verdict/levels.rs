//! Levels for the table, fitted so that rows agree with verdicts.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use super::evidence::mean_of;
use super::state::solo_rates;
use super::{Comparison, Level, Metric};
use crate::journal::Run;
use crate::stats::real;

/// Cells connected by compared pairs: a chain of neighbours, a star around a reference, or any other tree.
struct Tree {
    /// Its cells, in order.
    cells: Vec<usize>,
    /// For each of its cells the comparisons that lead to it from the root.
    paths: Vec<Vec<usize>>,
    /// For each of its cells the sum of the effects along its path.
    heights: Vec<f64>,
}

/// Fits a level to each measured cell that has solo trials in its tree, in the order of the cells.
///
/// Inside a tree the differences of log levels are exactly the pairs' effects. One constant per tree is fitted by
/// least squares to the cells' mean log fetches/second alone. A cell without a pair that is compared by speed has its own
/// mean.
pub(crate) fn fit(
    run: &Run,
    (measured, polluted): (&dyn Fn(usize) -> bool, &BTreeSet<usize>),
    comparisons: &[Comparison],
) -> Vec<Level> {
    let solos: Vec<Vec<f64>> = (0..run.header.cells.len())
        .map(|cell| solo_rates(run, cell, polluted))
        .collect();
    let trees = trees(solos.len(), measured, comparisons);
    let mut levels: Vec<Level> = trees
        .iter()
        .flat_map(|tree| tree.levels(&solos, comparisons))
        .collect();
    levels.sort_by_key(|level| level.cell);
    levels
}

/// Returns the trees of the measured cells. A cell is the candidate of at most one pair, and no pairs form a circle.
fn trees(count: usize, measured: &dyn Fn(usize) -> bool, comparisons: &[Comparison]) -> Vec<Tree> {
    let mut leading: Vec<Option<usize>> = vec![None; count];
    for (index, comparison) in comparisons.iter().enumerate() {
        if comparison.effect.is_some() && is_of_speed(comparison.metric) {
            leading[comparison.pair.candidate] = Some(index);
        }
    }
    let mut cells: BTreeMap<usize, Vec<(usize, Vec<usize>)>> = BTreeMap::new();
    for cell in (0..count).filter(|cell| measured(*cell)) {
        let before = |edge: &usize| leading[comparisons[*edge].pair.baseline];
        let path: Vec<usize> = std::iter::successors(leading[cell], before).collect();
        let root = path
            .last()
            .map_or(cell, |edge| comparisons[*edge].pair.baseline);
        cells.entry(root).or_default().push((cell, path));
    }
    let effect = |edge: &usize| comparisons[*edge].effect;
    let tree = |cells: Vec<(usize, Vec<usize>)>| {
        let (cells, paths): (Vec<usize>, Vec<Vec<usize>>) = cells.into_iter().unzip();
        let heights = paths
            .iter()
            .map(|path| path.iter().rev().filter_map(effect).sum());
        Tree {
            heights: heights.collect(),
            cells,
            paths,
        }
    };
    cells.into_values().map(tree).collect()
}

/// Returns whether an effect says how the answers per second of two servers stand to one another.
pub(super) fn is_of_speed(metric: Metric) -> bool {
    match metric {
        Metric::Throughput | Metric::CpuPerAnswer => true,
        Metric::Memory | Metric::Startup | Metric::Latency => false,
    }
}

impl Tree {
    /// Returns the levels of its cells; nothing when none of them was measured alone.
    fn levels(&self, solos: &[Vec<f64>], comparisons: &[Comparison]) -> Vec<Level> {
        let trials = |place: usize| &solos[self.cells[place]];
        let anchored: Vec<usize> = (0..self.cells.len())
            .filter(|place| !trials(*place).is_empty())
            .collect();
        let offsets = anchored.iter().filter_map(|place| {
            let alone = mean_of(trials(*place).iter().copied())?;
            Some(alone - self.heights[*place])
        });
        let Some(constant) = mean_of(offsets) else {
            return Vec::new();
        };
        let residuals = anchored.iter().flat_map(|place| {
            trials(*place)
                .iter()
                .map(|alone| alone - constant - self.heights[*place])
        });
        let constant_variance = variance_of_mean(residuals);
        let shares = self.shares_beyond(&anchored);
        let level = |place: usize| {
            let effects = self.variance_of_effects(place, &shares, comparisons);
            Level {
                cell: self.cells[place],
                fetches_per_second: (constant + self.heights[place]).exp(),
                relative_error: constant_variance
                    .and_then(|constant| Some((constant + effects?).sqrt())),
            }
        };
        (0..self.cells.len()).map(level).collect()
    }

    /// Returns for each edge of the tree the share of the anchored cells that lie beyond it.
    fn shares_beyond(&self, anchored: &[usize]) -> BTreeMap<usize, f64> {
        let mut beyond: BTreeMap<usize, usize> =
            self.paths.iter().flatten().map(|edge| (*edge, 0)).collect();
        for edge in anchored.iter().flat_map(|place| &self.paths[*place]) {
            *beyond.entry(*edge).or_default() += 1;
        }
        let share = |(edge, count)| (edge, real(count) / real(anchored.len()));
        beyond.into_iter().map(share).collect()
    }

    /// Returns the variance that the pairs' effects bring into the level at `place`.
    ///
    /// The level holds each effect on its own path, less the mean over the anchored cells of what stands on theirs.
    fn variance_of_effects(
        &self,
        place: usize,
        shares: &BTreeMap<usize, f64>,
        comparisons: &[Comparison],
    ) -> Option<f64> {
        let own: HashSet<usize> = self.paths[place].iter().copied().collect();
        let variance = |(edge, beyond): (&usize, &f64)| {
            let weight = f64::from(u8::from(own.contains(edge))) - beyond;
            let comparison = &comparisons[*edge];
            let error = comparison.sd? / real(comparison.sessions).sqrt();
            Some((weight * error).powi(2))
        };
        shares.iter().map(variance).sum()
    }
}

/// Returns the variance of the mean of residuals around a fitted constant; none of fewer than two.
fn variance_of_mean(residuals: impl Iterator<Item = f64>) -> Option<f64> {
    let (squares, count) = residuals.fold((0.0, 0), |(sum, count), value| {
        (sum + value * value, count + 1)
    });
    (count > 1).then(|| squares / real(count - 1) / real(count))
}
