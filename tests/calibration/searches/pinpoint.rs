//! Pinpoint's rule: two neighbours that differ get the commit half way between them, two that may differ more repeats.

use std::collections::BTreeMap;

use statrs::distribution::{ContinuousCDF, Normal};

use super::rivals::{Given, Named, buildable};
use super::world::World;
use crate::suite::noise::Random;
use crate::suite::rank::{kolmogorov_smirnov, mann_whitney_normal, u};
use crate::suite::{mean, real};

/// Repeats of a commit at first; every time more are needed their number is doubled.
const FIRST: usize = 10;

/// Two samples differ from this p downwards.
const LOW: f64 = 0.01;

/// What two samples may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Compared {
    Different,
    Unknown,
    Same,
}

/// The p above which two samples of so many values are the same: of a hundred pairs of samples that lie so many tenths
/// of an interquartile range apart, one has a greater p. Remembered, as it is simulated.
#[derive(Debug, Default)]
struct High(BTreeMap<(usize, usize), f64>);

/// The distances that are told apart, in tenths.
const DISTANCES: (f64, f64) = (3.0, 40.0);

/// Simulated pairs of samples for each.
const PAIRS: usize = 100;

impl High {
    fn threshold(&mut self, distance: f64, values: usize) -> f64 {
        let tenths = (distance * 10.0).floor().clamp(DISTANCES.0, DISTANCES.1);
        let key = (whole(tenths), values);
        *self
            .0
            .entry(key)
            .or_insert_with(|| simulate(tenths / 10.0, values))
    }
}

/// Searches to the end. Pinpoint is told how great the change is.
pub(crate) fn search(world: &World, given: Given, random: &mut Random) -> Named {
    let commits = buildable(world);
    let mut high = High::default();
    let mut samples: BTreeMap<usize, Vec<f64>> = BTreeMap::new();
    let mut more = vec![0, commits.len() - 1];
    while !more.is_empty() {
        for place in more {
            let sample = samples.entry(place).or_default();
            for _ in 0..sample.len().max(FIRST) {
                sample.push(given.measure(world, commits[place], random));
            }
        }
        more = wanted(&samples, -world.fall, &mut high);
    }
    let different = |(one, other): &(usize, usize)| {
        compare(&samples[one], &samples[other], (-world.fall, &mut high)) == Compared::Different
    };
    let named = neighbours(&samples).into_iter().filter(different);
    let stretch = |(one, other): (usize, usize)| commits[one] + 1..=commits[other];
    // It may name several; it is taken to be right if the culprit is among them.
    let named = named.flat_map(stretch).collect();
    let launches = samples.values().map(Vec::len).sum::<usize>() * given.launches();
    Named { named, launches }
}

fn neighbours(samples: &BTreeMap<usize, Vec<f64>>) -> Vec<(usize, usize)> {
    let places: Vec<usize> = samples.keys().copied().collect();
    places.windows(2).map(|two| (two[0], two[1])).collect()
}

/// Returns where more is to be measured.
fn wanted(samples: &BTreeMap<usize, Vec<f64>>, effect: f64, high: &mut High) -> Vec<usize> {
    let mut wanted = Vec::new();
    for (one, other) in neighbours(samples) {
        match compare(&samples[&one], &samples[&other], (effect, high)) {
            Compared::Different if other - one > 1 => wanted.push(usize::midpoint(one, other)),
            Compared::Unknown if samples[&one].len() <= samples[&other].len() => wanted.push(one),
            Compared::Unknown => wanted.push(other),
            Compared::Different | Compared::Same => {}
        }
    }
    wanted.dedup();
    wanted
}

fn compare(one: &[f64], other: &[f64], (effect, high): (f64, &mut High)) -> Compared {
    let p = mann_whitney_normal(one, other).min(kolmogorov_smirnov(one, other));
    if p <= LOW {
        return Compared::Different;
    }
    let distance = effect / spread(one).max(spread(other));
    if p <= high.threshold(distance, usize::midpoint(one.len(), other.len())) {
        Compared::Unknown
    } else {
        Compared::Same
    }
}

/// Returns the distance of the quartiles.
fn spread(sample: &[f64]) -> f64 {
    let mut sorted = sample.to_vec();
    sorted.sort_by(f64::total_cmp);
    let quarter = sorted.len() / 4;
    sorted[sorted.len() - 1 - quarter] - sorted[quarter]
}

/// Returns the p that one of a hundred pairs of normal samples exceeds, by the normal distribution of their U.
fn simulate(distance: f64, values: usize) -> f64 {
    let apart = distance * 2.0 * Normal::standard().inverse_cdf(0.75);
    let mut random = Random::new(17);
    let mut draw = |by: f64| {
        (0..values)
            .map(|_| by + random.normal())
            .collect::<Vec<f64>>()
    };
    let wins: Vec<f64> = (0..PAIRS).map(|_| u(&draw(apart), &draw(0.0))).collect();
    let spread = harness::stats::sd(&wins).unwrap_or(0.0);
    let count = real(values);
    let slight = mean(&wins) - Normal::standard().inverse_cdf(0.99) * spread;
    let off = (slight - count * count / 2.0 - 0.5).max(0.0);
    let z = off / (count * count * (2.0 * count + 1.0) / 12.0).sqrt();
    2.0 * Normal::standard().sf(z)
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the number is between 3 and 40"
)]
fn whole(number: f64) -> usize {
    number as usize
}
