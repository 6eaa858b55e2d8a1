//! Looking more than once: how far a test must reach at each look so that all looks together keep one level.

use statrs::distribution::{Continuous, ContinuousCDF, Normal};

use super::real;

/// Steps of the integration for each standard deviation of what one look adds.
const FINENESS: f64 = 5.0;

/// Halvings that find a bound to the last digit that matters.
const HALVINGS: usize = 45;

/// The chance density of the score at one look, of the paths that crossed no bound before, at evenly spaced points.
struct Density {
    /// The first point; the last is its mirror image.
    first: f64,
    step: f64,
    heights: Vec<f64>,
}

/// One look.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Look {
    /// How many values it has seen, in any unit.
    pub seen: f64,
    /// Which part of all the level that there is for a test may be spent once it is over, as a time between 0 and 1: the part
    /// of the greatest number of values that it has seen; 1 at the last look, whatever that has seen.
    pub time: f64,
}

/// Returns for each look the least |z| that crosses, for two sides at level `alpha` together.
///
/// Both members of the looks ascend. The level is spent as Lan and `DeMets` (1983) do after O'Brien and Fleming, α/2 on
/// each side as R's ldbounds does: little at first, nearly all at the end. A run that must end early may spend the rest at
/// its last look, if the end does not depend on the values. For a t test, take the two-sided p that |z| stands for.
pub fn bounds(looks: &[Look], alpha: f64) -> Vec<f64> {
    let normal = Normal::standard();
    let whole = normal.inverse_cdf(1.0 - alpha / 4.0);
    let spent = |time: f64| 2.0 * normal.sf(whole / time.sqrt());
    let finest = steps_of(looks).fold(f64::INFINITY, f64::min);
    let mut bounds = Vec::with_capacity(looks.len());
    let mut before: Option<(Look, Density)> = None;
    for (place, look) in looks.iter().enumerate() {
        let seen = look.seen;
        let left = match &before {
            Some((before, _)) => spent(look.time) - spent(before.time),
            None => spent(look.time),
        };
        let tail = |score: f64| match &before {
            Some((before, density)) => density.tail(score, (seen - before.seen).sqrt()),
            None => normal.sf(score / seen.sqrt()),
        };
        let bound = crossing(&tail, left, seen.sqrt());
        bounds.push(bound / seen.sqrt());
        if place + 1 == looks.len() {
            break;
        }
        let height = |score: f64| match &before {
            Some((before, density)) => density.height(score, (seen - before.seen).sqrt()),
            None => normal.pdf(score / seen.sqrt()) / seen.sqrt(),
        };
        let density = Density::new(bound, finest / FINENESS, &height);
        before = Some((*look, density));
    }
    bounds
}

/// Returns the standard deviation of what each look adds.
fn steps_of(looks: &[Look]) -> impl Iterator<Item = f64> {
    let seen = |look: &Look| look.seen;
    let before = std::iter::once(0.0).chain(looks.iter().map(seen));
    std::iter::zip(looks, before).map(|(look, before)| (look.seen - before).sqrt())
}

/// Returns the two-sided p that stands for |z|.
pub fn level_of(z: f64) -> f64 {
    2.0 * Normal::standard().sf(z)
}

/// Returns the score of that standard deviation that is exceeded with chance `left`.
fn crossing(tail: &dyn Fn(f64) -> f64, left: f64, sd: f64) -> f64 {
    let (mut low, mut high) = (0.0, 40.0 * sd);
    for _ in 0..HALVINGS {
        let middle = f64::midpoint(low, high);
        if tail(middle) > left {
            low = middle;
        } else {
            high = middle;
        }
    }
    f64::midpoint(low, high)
}

impl Density {
    /// Takes the heights between two bounds, at an odd number of points no farther apart than `step`.
    fn new(bound: f64, step: f64, height: &dyn Fn(f64) -> f64) -> Self {
        let mut steps = 2;
        while 2.0 * bound / real(steps) > step {
            steps += 2;
        }
        let step = 2.0 * bound / real(steps);
        let points = (0..=steps).map(|place| real(place) * step - bound);
        Self {
            first: -bound,
            step,
            heights: points.map(height).collect(),
        }
    }

    /// Integrates a function of the score over the density, by Simpson's rule.
    fn integrate(&self, of: &dyn Fn(f64) -> f64) -> f64 {
        let last = self.heights.len() - 1;
        let weight = |place: usize| match place {
            0 => 1.0,
            place if place == last => 1.0,
            place if place % 2 == 1 => 4.0,
            _ => 2.0,
        };
        let parts = self.heights.iter().enumerate().map(|(place, height)| {
            weight(place) * height * of(self.first + real(place) * self.step)
        });
        parts.sum::<f64>() * self.step / 3.0
    }

    /// Returns the chance that the score exceeds `score` after a further step of this size.
    fn tail(&self, score: f64, step: f64) -> f64 {
        let normal = Normal::standard();
        self.integrate(&|from| normal.sf((score - from) / step))
    }

    /// Returns the density of the score after a further step of this size.
    fn height(&self, score: f64, step: f64) -> f64 {
        let normal = Normal::standard();
        self.integrate(&|from| normal.pdf((score - from) / step) / step)
    }
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};
    use rand_pcg::Pcg64;

    use super::*;

    /// Looks that have seen these parts of all values.
    fn planned(times: &[f64]) -> Vec<Look> {
        let look = |&time: &f64| Look { seen: time, time };
        times.iter().map(look).collect()
    }

    fn assert_bounds(times: &[f64], alpha: f64, wanted: &[f64]) {
        for (got, wanted) in std::iter::zip(bounds(&planned(times), alpha), wanted) {
            assert!((got - wanted).abs() < 6e-4, "{got} is not {wanted}");
        }
    }

    #[test]
    fn even_fifths_agree_with_ldbounds() {
        // R: ldbounds::ldBounds(1:5/5, iuse = c(1, 1), alpha = c(0.025, 0.025)), printed to three decimals.
        let times = [0.2, 0.4, 0.6, 0.8, 1.0];
        assert_bounds(&times, 0.05, &[4.877, 3.357, 2.680, 2.290, 2.031]);
    }

    #[test]
    fn looks_after_4_6_8_10_and_12_of_12_agree_with_the_reference() {
        let times = [4.0, 6.0, 8.0, 10.0, 12.0].map(|sessions| sessions / 12.0);
        assert_bounds(&times, 0.05, &[3.710, 2.970, 2.539, 2.252, 2.045]);
        assert_bounds(&times, 0.05 / 9.0, &[5.050, 4.073, 3.491, 3.100, 2.815]);
    }

    #[test]
    fn what_is_counted_changes_nothing() {
        let looks = planned(&[1.0 / 3.0, 0.5, 1.0]);
        let counted = looks.iter().map(|look| Look {
            seen: 12.0 * look.seen,
            ..*look
        });
        let counted = bounds(&counted.collect::<Vec<_>>(), 0.01);
        for (one, other) in std::iter::zip(bounds(&looks, 0.01), counted) {
            assert!((one - other).abs() < 1e-6, "{one} {other}");
        }
    }

    #[test]
    fn a_run_that_ends_early_spends_the_rest_at_its_last_look() {
        let at = |seen: f64, time: f64| Look { seen, time };
        // The end comes at 6 of 12, in place of the look that was planned there.
        let ended = bounds(&[at(4.0, 4.0 / 12.0), at(6.0, 1.0)], 0.05);
        let planned = bounds(&[at(4.0, 4.0 / 12.0), at(6.0, 0.5)], 0.05);
        assert!((ended[0] - planned[0]).abs() < 1e-9);
        assert!(ended[1] < planned[1]);
        // 200,000 walks: five standard errors of 5 % are 0.24 points.
        let mut random = Pcg64::seed_from_u64(5);
        let walks = 200_000;
        let crossed = (0..walks).filter(|_| {
            let (first, more) = (gauss(&mut random), gauss(&mut random));
            let second = (first * 4.0_f64.sqrt() + more * 2.0_f64.sqrt()) / 6.0_f64.sqrt();
            first.abs() > ended[0] || second.abs() > ended[1]
        });
        let share = real(crossed.count()) / real(walks);
        assert!((share - 0.05).abs() < 0.0024, "{share}");
    }

    /// A normal value, by the method of Box and Muller.
    fn gauss(random: &mut Pcg64) -> f64 {
        let (one, two): (f64, f64) = (1.0 - random.random::<f64>(), random.random());
        (-2.0 * one.ln()).sqrt() * (std::f64::consts::TAU * two).cos()
    }

    #[test]
    fn one_look_is_the_plain_test() {
        let bound = bounds(&planned(&[1.0]), 0.05)[0];
        assert!((bound - 1.959_963_984_540_054).abs() < 1e-9, "{bound}");
        assert!((level_of(1.959_963_984_540_054) - 0.05).abs() < 1e-9);
    }
}
