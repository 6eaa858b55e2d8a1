//! Which of two ends a single commit is like, whatever lies between. Pure.

use serde::{Deserialize, Serialize};

use super::ends::Looks;
use super::evidence::Evidence;
use super::grid::{Cell, Grid, Pilot};
use super::likelihood::{FREEDOM, Truth, log_density};
use super::reading::{Reading, reading};

/// The good end in a session's levels.
pub const GOOD: usize = 0;

/// The commit that is asked about.
pub const CANDIDATE: usize = 1;

/// The bad end.
pub const BAD: usize = 2;

/// How sure a side must be.
///
/// `git bisect` believes each answer for ever: of the seven steps that 128 commits take, all are right with 93 % at least. At 95 %
/// it would be 70 %.
const CERTAINTY: f64 = 0.99;

/// How sure it must be that the ends differ at all, and that they do not.
const OF_ENDS: f64 = 0.95;

/// Sessions of both ends before it is claimed that they do not differ: a few may lie close together by accident.
const LEAST_FOR_NOTHING: usize = 8;

/// A change that may as well be the least that counts does count.
const SLIGHT: f64 = std::f64::consts::FRAC_1_SQRT_2;

/// The chances that a commit is like one end or the other, or that there is nothing to be like. They add up to 1.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Likeness {
    /// Like the good end.
    pub good: f64,
    /// Like the bad end.
    pub bad: f64,
    /// The ends do not differ by anything that counts.
    pub alike: f64,
    /// What is to be believed.
    pub side: Side,
}

/// What is to be believed of a commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Side {
    /// It is like the good end.
    Good,
    /// It is like the bad end.
    Bad,
    /// It is not clear yet.
    Open,
    /// The ends do not differ, so it can be like neither.
    Alike,
}

/// Weighs what sessions of a commit and both ends said, with `most` of them at most. `least` is the least change that counts, as a
/// log ratio greater than 0; levels are turned so that the change looked for is a fall.
///
/// By Bayes' rule, with the effect and the noise of each session (a multivariate t, as in the search) averaged over all that may be.
/// Both sides are alike likely at first. The chances may be looked at after every session: they are what they are
/// whenever one stops, and a wrong side is believed with less than the chance left to it, on average over effects and noises. A
/// commit between both ends is like the nearer one, and one beyond an end like that one.
///
/// A side is believed only if the ends have been found to differ, by a group sequential test of their own differences: a commit that is
/// slower than both of two ends alike is like neither.
pub fn likeness(sessions: &[Vec<(usize, f64)>], least: f64, most: usize) -> Likeness {
    let mut evidence = Evidence::default();
    let mut readings = Vec::new();
    for levels in sessions {
        if let Some((candidate, reading)) = reading(levels, BAD) {
            evidence.add(candidate, reading);
            readings.push(reading);
        }
    }
    let grid = Grid::new(Pilot::of(&evidence, least), least);
    let [good, bad, alike] = shares(&grid, &readings, least);
    let looks = Looks::new(most, OF_ENDS);
    let differ = looks.differ(&evidence.falls);
    let side = if differ && good >= CERTAINTY {
        Side::Good
    } else if differ && bad >= CERTAINTY {
        Side::Bad
    } else if !differ && alike >= CERTAINTY && evidence.falls.len() >= LEAST_FOR_NOTHING {
        Side::Alike
    } else {
        Side::Open
    };
    Likeness {
        good,
        bad,
        alike,
        side,
    }
}

/// Returns the chances of the good side, of the bad side and of no change that counts.
fn shares(grid: &Grid, readings: &[Reading], least: f64) -> [f64; 3] {
    let log = |cell: &Cell, level: f64| -> f64 {
        let of = |one: &Reading| log_density(*one, level, cell.truth, FREEDOM);
        cell.prior + readings.iter().map(of).sum::<f64>()
    };
    let is_slight = |truth: Truth| -truth.fall < least * SLIGHT;
    let mut logs: Vec<(usize, f64)> = Vec::new();
    for cell in &grid.changes {
        let of = |side: usize| if is_slight(cell.truth) { 2 } else { side };
        let half = std::f64::consts::LN_2;
        logs.push((of(0), log(cell, 0.0) - half));
        logs.push((of(1), log(cell, cell.truth.fall) - half));
    }
    logs.extend(grid.none.iter().map(|cell| (2, log(cell, 0.0))));
    let top = logs.iter().map(|(_, log)| *log).fold(f64::MIN, f64::max);
    let mut shares = [0.0; 3];
    for (side, log) in logs {
        shares[side] += (log - top).exp();
    }
    let all: f64 = shares.iter().sum();
    shares.map(|share| share / all)
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};
    use rand_pcg::Pcg64;

    use super::*;
    use crate::stats::real;

    const LEAST: f64 = 0.01;
    const MOST: usize = 32;
    /// The noise of a launch; that of a difference of two is √2 times as great.
    const SD: f64 = 0.01;

    /// A normal value, by the method of Box and Muller.
    fn gauss(random: &mut Pcg64) -> f64 {
        let (one, two): (f64, f64) = (1.0 - random.random::<f64>(), random.random());
        (-2.0 * one.ln()).sqrt() * (std::f64::consts::TAU * two).cos()
    }

    /// A value of Student's t with three degrees of freedom.
    fn heavy(random: &mut Pcg64) -> f64 {
        let squares: f64 = (0..3).map(|_| gauss(random).powi(2)).sum();
        gauss(random) / (squares / 3.0).sqrt()
    }

    /// What comes of steps of a candidate at this level with the bad end at that one: how many ended on each side, and the
    /// sessions that it took on average.
    fn steps(
        (candidate, bad): (f64, f64),
        noise: fn(&mut Pcg64) -> f64,
        count: u64,
    ) -> ([usize; 4], f64) {
        let (mut sides, mut held) = ([0; 4], 0);
        for seed in 0..count {
            let mut random = Pcg64::seed_from_u64(seed);
            let mut sessions = Vec::new();
            let side = loop {
                let mut level = |end, at| (end, at + SD * noise(&mut random));
                sessions.push(vec![
                    level(GOOD, 0.0),
                    level(CANDIDATE, candidate),
                    level(BAD, bad),
                ]);
                let side = likeness(&sessions, LEAST, MOST).side;
                if side != Side::Open || sessions.len() == MOST {
                    break side;
                }
            };
            held += sessions.len();
            let place = [Side::Good, Side::Bad, Side::Open, Side::Alike];
            sides[place.iter().position(|one| *one == side).unwrap()] += 1;
        }
        (sides, real(held) / real(usize::try_from(count).unwrap()))
    }

    /// Of 20 steps more than 2 wrong ones have a chance of 1 in 1,000 if each is wrong with 1 % (binomial).
    const WRONG: usize = 2;

    #[test]
    fn a_side_is_wrong_as_seldom_as_it_says_however_often_one_looks() {
        type Noise = (fn(&mut Pcg64) -> f64, &'static str);
        let noises: [Noise; 2] = [(gauss, "normal"), (heavy, "t3")];
        for (noise, name) in noises {
            for fall in [-0.03, -0.06] {
                let ([good, wrong, ..], _) = steps((0.0, fall), noise, 20);
                assert!(wrong <= WRONG && good > 16, "{name} {fall}: {wrong} wrong");
                let ([wrong, bad, ..], _) = steps((fall, fall), noise, 20);
                assert!(wrong <= WRONG && bad > 16, "{name} {fall}: {wrong} wrong");
            }
        }
    }

    #[test]
    fn a_great_effect_is_told_at_once_and_between_the_ends_the_nearer_one_counts() {
        let ([good, ..], held) = steps((0.0, -0.3), gauss, 20);
        assert_eq!(good, 20);
        assert!(held < 4.0, "{held}");
        let ([good, bad, ..], _) = steps((-0.02, -0.06), gauss, 20);
        assert!(good >= 17 && bad <= 2, "{good} {bad}");
        let ([good, bad, ..], _) = steps((-0.04, -0.06), gauss, 20);
        assert!(bad >= 17 && good <= 2, "{good} {bad}");
    }

    #[test]
    fn beyond_an_end_it_is_like_that_one() {
        let ([good, ..], _) = steps((0.05, -0.04), gauss, 15);
        assert_eq!(good, 15);
        let ([_, bad, ..], _) = steps((-0.1, -0.04), gauss, 15);
        assert_eq!(bad, 15);
    }

    #[test]
    fn where_the_ends_are_alike_it_is_like_neither_of_them() {
        // The ends are taken to differ in one of 20 at most; of 15 more than 4 have a chance of 1 in 1,600.
        let ([good, bad, ..], _) = steps((-0.05, 0.0), gauss, 15);
        assert!(good + bad <= 4, "{good} {bad}");
        let (sides, _) = steps((0.0, 0.0), |random| gauss(random) / 10.0, 15);
        assert!(sides[3] >= 12, "{sides:?}");
        // So it is where the bad end is the faster one.
        let ([good, bad, ..], _) = steps((0.0, 0.05), gauss, 5);
        assert_eq!(good + bad, 0);
    }

    #[test]
    fn nothing_is_known_of_nothing() {
        let none = likeness(&[], LEAST, MOST);
        assert_eq!(none.side, Side::Open);
        assert!((none.good - none.bad).abs() < 1e-9);
        assert!((none.good + none.bad + none.alike - 1.0).abs() < 1e-9);
    }
}
