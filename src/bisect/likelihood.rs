//! How well a noise and an effect explain what sessions said of one commit. Pure.

use std::f64::consts::{PI, TAU};

use super::reading::Reading;
use crate::stats::{median, real};

/// Degrees of freedom of the noise of a session: tails so heavy that a launch that went wrong says little, rather than
/// something false.
pub(super) const FREEDOM: f64 = 4.0;

/// The chance that a commit stands at a level of its own, neither that of the good end nor that of the bad one.
const ODD: f64 = 0.01;

/// Scales of the noise: a commit that stands less far aside misleads nobody, and is not looked for.
const ASIDE: f64 = 3.0;

/// One guess at the truth.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Truth {
    /// How far the bad end stands above the good one: below 0, or 0 for no change.
    pub(super) fall: f64,
    /// The scale of the difference of two launches.
    pub(super) sd: f64,
}

/// The logs of how likely some readings of one commit are, on either side of the culprit.
#[derive(Debug, Clone, Copy)]
pub(super) struct Thought {
    /// If it is good, and if it is bad.
    sides: [f64; 2],
    odd: f64,
}

/// Returns the log of how likely a reading is where the candidate stands at `level` above the good end, up to a constant that
/// is the same for every truth.
///
/// A multivariate t: its two differences have one noise in common, so that a launch of an end that went wrong takes the weight
/// off what the same session says of the candidate.
pub(super) fn log_density(reading: Reading, level: f64, truth: Truth, freedom: f64) -> f64 {
    let Truth { fall, sd } = truth;
    let (squares, values) = match reading {
        Reading::Ends(ends) => ((ends - fall).powi(2), 1.0),
        Reading::Good(above) => ((above - level).powi(2), 1.0),
        Reading::Bad(above) => ((above + fall - level).powi(2), 1.0),
        Reading::Both { ends, sum } => {
            let aside = sum + fall - 2.0 * level;
            ((ends - fall).powi(2) + aside * aside / 3.0, 2.0)
        }
    };
    let beyond = (squares / (freedom * sd * sd)).ln_1p();
    -values * sd.ln() - f64::midpoint(freedom, values) * beyond
}

/// Weighs all readings of one commit.
///
/// Whichever side it is on, it may be odd: faster or slower by itself, for reasons of its own. What it says is then said again in
/// every session, so that without this thought asking it twice would convince of anything. With it the readings of one
/// commit count only so far, and its neighbours are asked.
pub(super) fn weigh(readings: &[Reading], truth: Truth) -> Thought {
    let at = |level: f64| -> f64 {
        let densities = readings.iter();
        densities
            .map(|one| log_density(*one, level, truth, FREEDOM))
            .sum()
    };
    let levels: Vec<f64> = readings.iter().map(|one| one.level(truth.fall)).collect();
    let own = median(&levels).unwrap_or(0.0);
    let odd = ODD.ln() + at(own) + room(own, readings.len(), truth).ln().min(0.0);
    let side = |level: f64| {
        let usual = (1.0 - ODD).ln() + at(level);
        let (less, more) = (usual.min(odd), usual.max(odd));
        more + (less - more).exp().ln_1p()
    };
    Thought {
        sides: [side(0.0), side(truth.fall)],
        odd,
    }
}

/// Returns which part of all levels of its own a commit has that fit its readings as well as this: the width of a peak (Laplace)
/// times the density of a Cauchy distribution as wide as the effect, or as the noise is far.
fn room(level: f64, readings: usize, truth: Truth) -> f64 {
    let reach = truth.fall.abs().max(ASIDE * truth.sd);
    let width = (TAU / real(readings)).sqrt() * truth.sd;
    width / (PI * reach * (1.0 + (level / reach).powi(2)))
}

impl Thought {
    /// Returns the log of how likely the readings are if the commit is bad, or if it is not.
    pub(super) fn side(&self, is_bad: bool) -> f64 {
        self.sides[usize::from(is_bad)]
    }

    /// Returns the chance that the commit is odd, given its side.
    pub(super) fn oddness(&self, is_bad: bool) -> f64 {
        (self.odd - self.side(is_bad)).exp()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRUTH: Truth = Truth {
        fall: -0.05,
        sd: 0.01,
    };

    /// How many times likelier the readings are if the commit is good.
    fn odds_of_good(readings: &[Reading]) -> f64 {
        let thought = weigh(readings, TRUTH);
        (thought.side(false) - thought.side(true)).exp()
    }

    #[test]
    fn a_reading_speaks_for_its_side() {
        assert!(odds_of_good(&[Reading::Good(0.0)]) > 50.0);
        assert!(odds_of_good(&[Reading::Bad(0.05)]) > 50.0);
        assert!(odds_of_good(&[Reading::Good(-0.05)]) < 0.02);
        assert!(odds_of_good(&[Reading::Bad(0.0)]) < 0.02);
        let both = |sum: f64| Reading::Both { ends: -0.05, sum };
        assert!(odds_of_good(&[both(0.05)]) > 100.0);
        assert!(odds_of_good(&[both(-0.05)]) < 0.01);
        assert!((odds_of_good(&[both(0.0)]) - 1.0).abs() < 1e-9);
    }

    #[test]
    fn a_launch_of_an_end_that_went_wrong_takes_the_weight_off_its_session() {
        let odds = |ends: f64| odds_of_good(&[Reading::Both { ends, sum: 0.05 }]);
        assert!(odds(-0.35) > 1.0 && odds(-0.35) < 0.1 * odds(-0.05));
    }

    #[test]
    fn a_commit_that_is_faster_by_itself_says_nothing_however_often_it_is_asked() {
        for times in 2..20 {
            let odds = odds_of_good(&vec![Reading::Good(0.06); times]);
            assert!((0.5..2.0).contains(&odds), "{times}: {odds}");
        }
        // And one that stands where the good end does is believed, the more the oftener.
        assert!(odds_of_good(&[Reading::Good(0.001); 3]) > 300.0);
    }
}
