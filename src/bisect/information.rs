//! How much one reading tells. Pure.

use std::f64::consts::{FRAC_PI_2, LN_2};
use std::sync::LazyLock;

use super::likelihood::{FREEDOM, Truth};
use crate::stats::real;

/// Chances that are tabulated: the square of each of so many even parts, up to one half, as little is gained near certainty.
const CHANCES: usize = 16;

/// Distances that are tabulated: from the first on, each √2 times the one before.
const DISTANCES: usize = 16;
const NEAREST: f64 = 0.25;

/// Points of the integral.
const POINTS: usize = 100;

/// What questions tell at one distance, by chance.
type Row = [f64; CHANCES + 1];

/// Bits by distance and chance. It depends on nothing but the noise.
static TABLE: LazyLock<Vec<Row>> = LazyLock::new(|| {
    let distance = |place| NEAREST * (real(place) / 2.0).exp2();
    let row = |place| std::array::from_fn(|part| bits(chance(part), distance(place)));
    (0..DISTANCES).map(row).collect()
});

/// What a yes or no of each chance tells in some form of a question, in bits, on average over effects and noises.
#[derive(Debug, Clone)]
pub(super) struct Gain(Row);

impl Gain {
    /// Averages over what the truth may be; a form sets its two answers so many times the effect apart, in units of its noise.
    pub(super) fn of(truths: &[(Truth, f64)], times: f64) -> Self {
        let mut gain = [0.0; CHANCES + 1];
        for (truth, share) in truths {
            let (below, above, way) = place(times * truth.fall.abs() / truth.sd);
            for (part, sum) in gain.iter_mut().enumerate() {
                let low = below.map_or(0.0, |row| row[part]);
                *sum += share * (low + way * (above[part] - low));
            }
        }
        Self(gain)
    }

    /// Returns the bits that a question tells whose answer is yes with that chance.
    pub(super) fn bits(&self, chance: f64) -> f64 {
        let part = (chance.min(1.0 - chance).max(0.0) * 2.0).sqrt() * real(CHANCES);
        let (low, way) = whole(part, CHANCES - 1);
        self.0[low] + way * (self.0[low + 1] - self.0[low])
    }
}

/// Returns the rows of the table around a distance, and how far it is from the first to the second.
fn place(distance: f64) -> (Option<&'static Row>, &'static Row, f64) {
    let table: &'static Vec<Row> = &TABLE;
    if distance < NEAREST {
        // Far below the noise it goes with the square.
        return (None, &table[0], (distance / NEAREST).powi(2));
    }
    let (row, way) = whole((distance / NEAREST).log2() * 2.0, DISTANCES - 2);
    (Some(&table[row]), &table[row + 1], way)
}

/// Splits a number of at least 0 into a whole one, `most` at most, and a rest, 1 at most.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the number is between 0 and the size of a small table"
)]
fn whole(number: f64, most: usize) -> (usize, f64) {
    let whole = number.min(real(most)).max(0.0) as usize;
    (whole, (number - real(whole)).min(1.0))
}

/// Returns a chance that is tabulated.
fn chance(part: usize) -> f64 {
    (real(part) / real(CHANCES)).powi(2) / 2.0
}

/// Returns the mutual information of a yes of that chance and a reading whose two means are so many scales of its noise apart.
fn bits(chance: f64, distance: f64) -> f64 {
    if chance <= 0.0 {
        return 0.0;
    }
    let of = |own: f64| own * surprise(own, distance);
    (of(chance) + of(1.0 - chance)) / LN_2
}

/// Returns the mean of −ln(own + other × r) under the noise, where r is how many times likelier the reading is on the other side.
fn surprise(own: f64, distance: f64) -> f64 {
    let power = -(FREEDOM + 1.0) / 2.0;
    let density = |value: f64| (1.0 + value * value / FREEDOM).powf(power);
    let (mut sum, mut all) = (0.0, 0.0);
    for point in 0..POINTS {
        // The tangent takes a finite range to all values.
        let angle = FRAC_PI_2 * ((real(point) + 0.5) * 2.0 / real(POINTS) - 1.0);
        let value = 2.0 * angle.tan();
        let weight = density(value) * (1.0 + angle.tan().powi(2));
        let ratio = density(value - distance) / density(value);
        sum -= weight * (own + (1.0 - own) * ratio).ln();
        all += weight;
    }
    sum / all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gain(effect: f64) -> Gain {
        let truth = Truth {
            fall: -effect,
            sd: 1.0,
        };
        Gain::of(&[(truth, 1.0)], 1.0)
    }

    #[test]
    fn far_apart_a_question_tells_all_there_is_to_know() {
        let entropy =
            |chance: f64| -chance * chance.log2() - (1.0 - chance) * (1.0 - chance).log2();
        for chance in [0.5, 0.3, 0.9] {
            let bits = gain(60.0).bits(chance);
            assert!((bits - entropy(chance)).abs() < 0.02, "{chance} {bits}");
        }
        assert!(gain(60.0).bits(0.0) < 1e-9 && gain(60.0).bits(1.0) < 1e-9);
    }

    #[test]
    fn it_tells_more_the_farther_apart_and_the_opener_it_is() {
        let distances = [
            0.05, 0.1, 0.24, 0.26, 0.5, 1.0, 2.0, 3.0, 5.0, 9.0, 40.0, 100.0,
        ];
        let bits = distances.map(|distance| gain(distance).bits(0.5));
        assert!(bits.is_sorted(), "{bits:?}");
        let chances = [0.001, 0.01, 0.1, 0.3, 0.5].map(|chance| gain(2.0).bits(chance));
        assert!(chances.is_sorted() && (gain(2.0).bits(0.7) - chances[3]).abs() < 1e-12);
    }

    #[test]
    fn far_below_the_noise_it_goes_with_the_square() {
        // Half the Fisher information of a t with 4 degrees, 5/7, times p (1 − p) d² ÷ ln 2.
        let wanted = 0.5 * 5.0 / 7.0 * 0.25 * 0.01 / LN_2;
        let bits = gain(0.1).bits(0.5);
        assert!((bits / wanted - 1.0).abs() < 0.05, "{bits} {wanted}");
    }
}
