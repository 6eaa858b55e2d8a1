//! Levels for the table, fitted so that rows agree with verdicts.

use super::evidence::mean_of;
use super::state::solo_samples;
use super::{Comparison, Level};
use crate::journal::Run;
use crate::stats::real;

/// A chain of cells connected by compared pairs.
struct Chain {
    /// Its cells, in order.
    cells: Vec<usize>,
    /// For each of its cells the comparisons that lead to it from the first.
    paths: Vec<Vec<usize>>,
    /// For each of its cells the sum of the effects along its path.
    heights: Vec<f64>,
}

/// Fits a level to each measured cell that has solo trials in its chain, in the order of the cells.
///
/// Inside a chain the differences of log levels are exactly the pairs' effects. One constant per chain is fitted by
/// least squares to the cells' mean log fetches/second alone. A cell without a compared pair has its own mean.
pub(crate) fn fit(
    run: &Run,
    measured: &dyn Fn(usize) -> bool,
    comparisons: &[Comparison],
) -> Vec<Level> {
    let solos: Vec<Vec<f64>> = (0..run.header.cells.len())
        .map(|cell| {
            let trials = solo_samples(run, cell);
            trials
                .map(|sample| sample.load.fetches_per_second().ln())
                .collect()
        })
        .collect();
    let chains = chains(solos.len(), measured, comparisons);
    let mut levels: Vec<Level> = chains
        .iter()
        .flat_map(|chain| chain.levels(&solos, comparisons))
        .collect();
    levels.sort_by_key(|level| level.cell);
    levels
}

/// Returns the chains of the measured cells. A cell is the candidate of at most one pair.
fn chains(
    count: usize,
    measured: &dyn Fn(usize) -> bool,
    comparisons: &[Comparison],
) -> Vec<Chain> {
    let mut paths = vec![Vec::new(); count];
    let mut heights = vec![0.0; count];
    let mut roots: Vec<usize> = (0..count).collect();
    for (index, comparison) in comparisons.iter().enumerate() {
        let (baseline, candidate) = (comparison.pair.baseline, comparison.pair.candidate);
        if let Some(effect) = comparison.effect {
            roots[candidate] = roots[baseline];
            heights[candidate] = heights[baseline] + effect;
            paths[candidate] = [paths[baseline].as_slice(), &[index]].concat();
        }
    }
    let chain = |root: usize| {
        let cells: Vec<usize> = (0..count).filter(|cell| roots[*cell] == root).collect();
        Chain {
            paths: cells.iter().map(|cell| paths[*cell].clone()).collect(),
            heights: cells.iter().map(|cell| heights[*cell]).collect(),
            cells,
        }
    };
    let firsts = (0..count).filter(|cell| roots[*cell] == *cell && measured(*cell));
    firsts.map(chain).collect()
}

impl Chain {
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
        let level = |place: usize| {
            let effects = self.variance_of_effects(place, &anchored, comparisons);
            Level {
                cell: self.cells[place],
                fetches_per_second: (constant + self.heights[place]).exp(),
                relative_error: constant_variance
                    .and_then(|constant| Some((constant + effects?).sqrt())),
            }
        };
        (0..self.cells.len()).map(level).collect()
    }

    /// Returns the variance that the pairs' effects bring into the level at `place`.
    ///
    /// The level holds each effect on its own path, less the mean over the anchored cells of what stands on theirs.
    fn variance_of_effects(
        &self,
        place: usize,
        anchored: &[usize],
        comparisons: &[Comparison],
    ) -> Option<f64> {
        let mut edges: Vec<usize> = self.paths.concat();
        edges.sort_unstable();
        edges.dedup();
        let variance = |edge: usize| {
            let on = |place: usize| self.paths[place].contains(&edge);
            let beyond = anchored.iter().filter(|place| on(**place)).count();
            let weight = f64::from(u8::from(on(place))) - real(beyond) / real(anchored.len());
            let comparison = &comparisons[edge];
            let error = comparison.sd? / real(comparison.sessions).sqrt();
            Some((weight * error).powi(2))
        };
        edges.into_iter().map(variance).sum()
    }
}

/// Returns the variance of the mean of residuals around a fitted constant; none of fewer than two.
fn variance_of_mean(residuals: impl Iterator<Item = f64>) -> Option<f64> {
    let (squares, count) = residuals.fold((0.0, 0), |(sum, count), value| {
        (sum + value * value, count + 1)
    });
    (count > 1).then(|| squares / real(count - 1) / real(count))
}
