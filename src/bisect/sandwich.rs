//! Whether fresh sessions of the culprit and what came before it show the step too. Pure.

use super::Effect;
use super::likelihood::{FREEDOM, Truth, log_density};
use super::posterior::Posterior;
use super::reading::Reading;
use crate::stats::{median, quantile, real};

/// Fresh sessions before anything is said, so that one launch that went wrong cannot.
const LEAST: usize = 2;

/// Fresh sessions after which what is not confirmed is not.
const MOST: usize = 32;

/// A step that is there is missed so rarely.
const MISSED: f64 = 0.002;

/// The culprit and what it is raced against, and the levels of all fresh sessions.
pub(super) struct Sandwich<'search> {
    pub(super) raced: usize,
    pub(super) against: Vec<usize>,
    pub(super) fresh: &'search [Vec<(usize, f64)>],
}

/// What fresh sessions say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Outcome {
    /// Not enough yet.
    Open,
    /// The step is there.
    Confirmed,
    /// It is not, or cannot be seen.
    Contradicted,
}

impl Sandwich<'_> {
    /// Returns who is in a session, the culprit last.
    pub(super) fn members(&self) -> Vec<usize> {
        let mut members = self.against.clone();
        members.push(self.raced);
        members
    }

    /// Tests the step against each that came before, every one of which it must show against.
    ///
    /// Wald's (1945) sequential test of the step that the search has found against none at all; how great it is and the noise, the
    /// search knows. What it concludes of the culprit is no part of it.
    pub(super) fn outcome(&self, posterior: &Posterior, certainty: f64) -> Outcome {
        let held = self.held();
        if held < LEAST {
            return Outcome::Open;
        }
        let least = self.least(posterior);
        if least >= enough(certainty) {
            Outcome::Confirmed
        } else if least <= missing(certainty) || held >= MOST {
            Outcome::Contradicted
        } else {
            Outcome::Open
        }
    }

    /// Returns the log of how many times likelier the fresh sessions are with the step than without, if they say that it is not
    /// there.
    pub(super) fn contradiction(&self, posterior: &Posterior, certainty: f64) -> Option<f64> {
        let least = self.least(posterior);
        (self.held() >= LEAST && least <= missing(certainty)).then_some(least)
    }

    /// Returns the log of how many times likelier the step makes the fresh sessions, against that which it shows least against.
    fn least(&self, posterior: &Posterior) -> f64 {
        let steps = self.steps();
        let all = steps.iter().map(|steps| evidence(steps, posterior));
        all.fold(f64::INFINITY, f64::min)
    }

    /// Returns how many fresh sessions a step that is there is expected to take.
    pub(super) fn expected(posterior: &Posterior, certainty: f64) -> f64 {
        let distance = posterior.effect().estimate / posterior.sd();
        // What one session adds on average to the log: half of Fisher's information times the square of the distance.
        let each = distance * distance / 2.0 * (FREEDOM + 1.0) / (FREEDOM + 3.0);
        (enough(certainty) / each).max(real(LEAST))
    }

    /// Returns how many fresh sessions compared the culprit with all that it is raced against.
    pub(super) fn held(&self) -> usize {
        self.steps().iter().map(Vec::len).min().unwrap_or(0)
    }

    /// Returns what the culprit differs by from that which it differs from least; none without a fresh session.
    pub(super) fn effect(&self, posterior: &Posterior, readings: usize) -> Option<Effect> {
        let steps = self.steps();
        let middle = |steps: &Vec<f64>| Some((median(steps)?, steps.len()));
        let least = |one: &(f64, usize), other: &(f64, usize)| f64::total_cmp(&one.0, &other.0);
        let (estimate, held) = steps.iter().filter_map(middle).max_by(least)?;
        // The error of the centre of a t distribution (Fisher's information), with the scale that the search has found.
        let error = posterior.sd() * ((FREEDOM + 3.0) / (FREEDOM + 1.0) / real(held)).sqrt();
        let half = error * quantile(0.05, real(readings));
        Some(Effect {
            estimate,
            interval: (estimate - half, estimate + half),
        })
    }

    /// Returns the differences of the culprit from each that it is raced against.
    fn steps(&self) -> Vec<Vec<f64>> {
        let level = |levels: &[(usize, f64)], wanted: usize| {
            let own = levels.iter().find(|(commit, _)| *commit == wanted);
            own.map(|(_, level)| *level)
                .filter(|level| level.is_finite())
        };
        let of = |before: &usize| {
            let step = |levels: &Vec<_>| Some(level(levels, self.raced)? - level(levels, *before)?);
            self.fresh.iter().filter_map(step).collect()
        };
        self.against.iter().map(of).collect()
    }
}

/// Returns how great the log of the ratio must be to confirm a step.
fn enough(certainty: f64) -> f64 {
    (certainty / (1.0 - certainty)).ln()
}

/// Returns how small it must be to contradict one.
fn missing(certainty: f64) -> f64 {
    (MISSED / certainty).ln()
}

/// Returns the log of how many times likelier differences are with the step than without, on average over effects and noises.
fn evidence(steps: &[f64], posterior: &Posterior) -> f64 {
    let log = |truth: Truth, level: f64| -> f64 {
        let readings = steps.iter().map(|step| Reading::Good(*step));
        readings
            .map(|reading| log_density(reading, level, truth, FREEDOM))
            .sum()
    };
    let with: Vec<(f64, f64)> = posterior
        .changes
        .iter()
        .map(|(truth, share)| (log(*truth, truth.fall), *share))
        .collect();
    let without: Vec<(f64, f64)> = posterior
        .changes
        .iter()
        .map(|(truth, share)| (log(*truth, 0.0), *share))
        .collect();
    log_mean(&with) - log_mean(&without)
}

/// Returns the log of the mean of numbers whose logs are given, each with its share.
fn log_mean(logs: &[(f64, f64)]) -> f64 {
    let top = logs.iter().map(|(log, _)| *log).fold(f64::MIN, f64::max);
    let parts = logs.iter().map(|(log, share)| share * (log - top).exp());
    top + parts.sum::<f64>().ln()
}
