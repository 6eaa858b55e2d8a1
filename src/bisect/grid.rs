//! Guesses at effect and noise, close together where the truth is likely. Pure.

use std::iter;

use super::evidence::Evidence;
use super::likelihood::Truth;
use crate::stats::{median, real, sd};

/// The chance that there is no change at all, before anything is measured.
const NONE: f64 = 0.1;

/// The greatest effect thought of, as a log ratio: twenty times as slow.
const GREATEST: f64 = 3.0;

/// The least and the greatest scale of a session's noise.
const SCALES: (f64, f64) = (1e-4, 2.0);

/// Where guesses stand on either side of the centre, in steps.
const OFFSETS: [f64; 8] = [0.5, 1.0, 1.5, 2.0, 3.0, 5.0, 9.0, 20.0];

/// Where a quantity is looked for, as logs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Around {
    pub(super) centre: f64,
    pub(super) step: f64,
}

/// Where effect and noise are looked for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Pilot {
    pub(super) effect: Around,
    pub(super) sd: Around,
}

/// A guess and the log of its chance before anything is measured.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Cell {
    pub(super) truth: Truth,
    pub(super) prior: f64,
}

/// All guesses. The logs of effect and scale are alike likely anywhere between their bounds.
#[derive(Debug, Clone)]
pub(super) struct Grid {
    /// Those with a change, all scales of one effect after the other.
    pub(super) changes: Vec<Cell>,
    /// Those without.
    pub(super) none: Vec<Cell>,
}

impl Grid {
    /// Places the guesses. An effect of half the least that counts is still thought of.
    pub(super) fn new(pilot: Pilot, least: f64) -> Self {
        let lowest = (least / 2.0).min(GREATEST / 2.0);
        let effects = nodes(pilot.effect, (lowest.ln(), GREATEST.ln()));
        let scales = nodes(pilot.sd, (SCALES.0.ln(), SCALES.1.ln()));
        let cell = |fall: f64, share: f64, (scale, part): &(f64, f64)| Cell {
            truth: Truth {
                fall,
                sd: scale.exp(),
            },
            prior: share.ln() + part.ln(),
        };
        let row = |(effect, share): &(f64, f64)| {
            let (fall, share) = (-effect.exp(), share * (1.0 - NONE));
            let cells = scales.iter().map(|scale| cell(fall, share, scale));
            cells.collect::<Vec<_>>()
        };
        Self {
            changes: effects.iter().flat_map(row).collect(),
            none: scales.iter().map(|scale| cell(0.0, NONE, scale)).collect(),
        }
    }
}

impl Pilot {
    /// Looks where the differences of the ends point to; everywhere where there are none.
    pub(super) fn of(evidence: &Evidence, least: f64) -> Self {
        let Some(middle) = median(&evidence.falls) else {
            return Self::new((4.0 * least, 0.5), least);
        };
        let effect = (-middle).clamp(least / 2.0, GREATEST.max(least));
        let spread = sd(&evidence.falls).unwrap_or(effect / 3.0);
        let error = spread / real(evidence.falls.len()).sqrt() / effect;
        Self::new((effect, error.clamp(0.02, 0.6)), spread.max(effect / 100.0))
    }

    fn new((effect, step): (f64, f64), sd: f64) -> Self {
        let around = |centre: f64, step| Around {
            centre: centre.ln(),
            step,
        };
        Self {
            effect: around(effect, step),
            sd: around(sd, 0.5),
        }
    }
}

/// Returns values between two bounds, and which share of all between them each stands for, by the trapezoidal rule.
fn nodes(around: Around, (low, high): (f64, f64)) -> Vec<(f64, f64)> {
    let below = OFFSETS.iter().rev().map(|offset| -offset);
    let offsets = below.chain([0.0]).chain(OFFSETS);
    let places = offsets.map(|offset| around.centre + offset * around.step);
    let inner = places.filter(|place| low < *place && *place < high);
    let values: Vec<f64> = iter::once(low).chain(inner).chain([high]).collect();
    let last = values.len() - 1;
    let share = |(place, value): (usize, &f64)| {
        let reach = values[last.min(place + 1)] - values[place.saturating_sub(1)];
        (*value, reach / 2.0 / (high - low))
    };
    values.iter().enumerate().map(share).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_guesses_together_are_certain() {
        for falls in [vec![], vec![0.3], vec![-0.05, -0.06], vec![-2.0; 5]] {
            let evidence = Evidence {
                falls,
                ..Evidence::default()
            };
            let grid = Grid::new(Pilot::of(&evidence, 0.01), 0.01);
            let sum = |cells: &[Cell]| cells.iter().map(|cell| cell.prior.exp()).sum::<f64>();
            assert!((sum(&grid.changes) - 1.0 + NONE).abs() < 1e-9);
            assert!((sum(&grid.none) - NONE).abs() < 1e-9);
        }
    }

    #[test]
    fn they_stand_closest_where_the_effect_is() {
        let evidence = Evidence {
            falls: vec![-0.05, -0.054, -0.046],
            ..Evidence::default()
        };
        let grid = Grid::new(Pilot::of(&evidence, 0.01), 0.01);
        let near = |cell: &&Cell| (cell.truth.fall + 0.05).abs() < 0.005;
        assert!(grid.changes.iter().filter(near).count() * 4 > grid.changes.len());
    }
}
