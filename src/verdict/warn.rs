//! What is odd about the sessions of one pair: launches that vary unlike, and a difference that drifts. Pure.

use std::collections::BTreeMap;

use super::evidence::{Evidence, Facts, figure};
use super::state::sample;
use super::{Metric, Warning};
use crate::journal::{Purpose, Run, SessionRecord};
use crate::matrix::Design;
use crate::stats::{kendall_p, median, real, sorted};

/// Level of either test. Fewer than six sessions cannot reach it.
const LEVEL: f64 = 0.01;

/// The launches of two versions vary unlike from this ratio of their spreads on.
const UNLIKE: f64 = 2.5;

/// Returns what is odd about the sessions of a pair by one metric. A version that drifts varies more than one that does not,
/// which is no second finding.
pub(super) fn warnings(run: &Run, facts: &Facts, evidence: &Evidence) -> Vec<Warning> {
    if let Some(change) = drift(&evidence.measure) {
        let much = change.abs() > run.header.rule.min_effect.ln_1p();
        return much
            .then_some(Warning::Drift { change })
            .into_iter()
            .collect();
    }
    let pair = &evidence.pair;
    let unequal = unequal(&launches(run, facts, evidence)).map(|(second, ratio)| {
        let cell = if second {
            pair.candidate
        } else {
            pair.baseline
        };
        Warning::UnequalVariances { cell, ratio }
    });
    unequal.into_iter().collect()
}

/// Returns how far values went from the first to the last, if they surely went one way.
///
/// Whether they did is for the rank correlation of values with their order to say (Mann 1945), how far for the median of the slopes
/// between any two (Theil 1950, Sen 1968): so one wild session makes no drift.
fn drift(values: &[f64]) -> Option<f64> {
    let order: Vec<f64> = (0..values.len()).map(real).collect();
    if !surely_correlated(&order, values) {
        return None;
    }
    let slopes = (0..values.len()).flat_map(|early| {
        let slope = move |late: usize| (values[late] - values[early]) / real(late - early);
        (early + 1..values.len()).map(slope)
    });
    let slope = median(&slopes.collect::<Vec<_>>())?;
    Some(slope * real(values.len() - 1))
}

/// Returns which of two varies more and how many times, if they surely vary unlike, and that much.
///
/// Two paired values vary alike just when their sum and their difference are not correlated (Pitman 1939, Morgan 1939),
/// whatever both have in common; with ranks in place of values, after `McCulloch` (1987), that needs no normal distribution.
/// What both have in common is in either spread, so the ratio is the least that it can be.
fn unequal(launches: &[(f64, f64)]) -> Option<(bool, f64)> {
    let of = |value: fn(&(f64, f64)) -> f64| launches.iter().map(value).collect::<Vec<f64>>();
    let sums = of(|(one, other)| one + other);
    let differences = of(|(one, other)| other - one);
    if !surely_correlated(&sums, &differences) {
        return None;
    }
    let ratio = spread(&of(|launch| launch.1))? / spread(&of(|launch| launch.0))?;
    let (second, ratio) = (ratio > 1.0, ratio.max(1.0 / ratio));
    (ratio >= UNLIKE && ratio.is_finite()).then_some((second, ratio))
}

fn surely_correlated(left: &[f64], right: &[f64]) -> bool {
    kendall_p(left, right).is_some_and(|p| p <= LEVEL)
}

/// Returns the range of the inner half, which one wild launch does not widen.
fn spread(values: &[f64]) -> Option<f64> {
    let sorted = sorted(values);
    let cut = sorted.len() / 4;
    Some(sorted.get(sorted.len().checked_sub(cut + 1)?)? - sorted.get(cut)?)
}

/// Returns the logarithms of what the launches of a pair show in sessions held to measure in which both gave it: the metric
/// itself, and CPU time per answer in place of answers per second, of which a racing server gets what the others leave it.
fn launches(run: &Run, facts: &Facts, evidence: &Evidence) -> Vec<(f64, f64)> {
    let pair = [evidence.pair.baseline, evidence.pair.candidate];
    let design = run.header.sessions.design;
    let counts = |(place, session): &(usize, &SessionRecord)| {
        let of_kind = session.purpose == Purpose::Measure && session.design == design;
        of_kind && !facts.polluted.contains(place)
    };
    let sessions = run.sessions.iter().enumerate().filter(counts);
    let logs = sessions.map(|(_, session)| logs(session, evidence.metric));
    let logs: Vec<BTreeMap<usize, f64>> = logs.collect();
    match design {
        Design::Race | Design::Slices => without_common(&logs, pair),
        Design::Solo => {
            let [first, second] =
                pair.map(|cell| logs.iter().filter_map(move |logs| logs.get(&cell).copied()));
            std::iter::zip(first, second).collect()
        }
    }
}

/// Returns the logarithm of a metric of each launch of a session.
fn logs(session: &SessionRecord, metric: Metric) -> BTreeMap<usize, f64> {
    let launches = session.launches.iter();
    launches
        .filter_map(|launch| Some((launch.cell, figure(sample(launch)?, metric)?.ln())))
        .collect()
}

/// Returns the values of a pair in each session, less what the session did to the other cells in it, so that what two
/// launches have in common does not hide how they vary.
fn without_common(sessions: &[BTreeMap<usize, f64>], pair: [usize; 2]) -> Vec<(f64, f64)> {
    let together = |logs: &&BTreeMap<usize, f64>| pair.iter().all(|cell| logs.contains_key(cell));
    let sessions: Vec<&BTreeMap<usize, f64>> = sessions.iter().filter(together).collect();
    let usual = |cell: usize| {
        let of = sessions.iter().filter_map(|logs| logs.get(&cell).copied());
        median(&of.collect::<Vec<_>>()).unwrap_or(0.0)
    };
    let shift = |logs: &BTreeMap<usize, f64>| {
        let others = logs.iter().filter(|(cell, _)| !pair.contains(cell));
        let moved = others.map(|(cell, log)| log - usual(*cell));
        median(&moved.collect::<Vec<_>>()).unwrap_or(0.0)
    };
    let both = |logs: &BTreeMap<usize, f64>| {
        let shift = shift(logs);
        (logs[&pair[0]] - shift, logs[&pair[1]] - shift)
    };
    sessions.iter().copied().map(both).collect()
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};
    use rand_pcg::Pcg64;
    use statrs::distribution::{Beta, ContinuousCDF};

    use super::super::fixture::{NOISE, race, run};
    use super::super::judge;
    use super::*;

    /// Noise of one launch.
    type Shape = fn(&mut Pcg64) -> f64;

    /// A normal value, by the method of Box and Muller.
    fn gauss(random: &mut Pcg64) -> f64 {
        let (one, other): (f64, f64) = (random.random(), random.random());
        (-2.0 * (1.0 - one).ln()).sqrt() * (std::f64::consts::TAU * other).cos()
    }

    /// Student's t with three degrees of freedom.
    fn heavy(random: &mut Pcg64) -> f64 {
        let squares = (0..3).map(|_| gauss(random).powi(2)).sum::<f64>();
        gauss(random) / (squares / 3.0).sqrt()
    }

    /// A normal value, and one in twenty ten sd slower.
    fn spiked(random: &mut Pcg64) -> f64 {
        let late = random.random::<f64>() < 0.05;
        gauss(random) - if late { 10.0 } else { 0.0 }
    }

    const SHAPES: [Shape; 3] = [gauss, heavy, spiked];

    /// Tries of each simulation.
    const TRIES: usize = 1000;

    /// Returns the most false alarms among the tries that a test of that level may give: more of them leave the Clopper–Pearson
    /// interval of 99.99 % above the level.
    fn most_alarms(level: f64) -> usize {
        let low = |alarms: usize| {
            let beta = Beta::new(real(alarms), real(TRIES - alarms + 1)).unwrap();
            beta.inverse_cdf(5e-5)
        };
        (1..TRIES)
            .take_while(|alarms| low(*alarms) <= level)
            .last()
            .unwrap()
    }

    #[test]
    fn nothing_odd_is_seldom_called_odd_whatever_the_noise() {
        let most = most_alarms(LEVEL);
        for (shape, noise) in SHAPES.into_iter().enumerate() {
            for sessions in [6, 8, 12, 20] {
                let mut random = Pcg64::seed_from_u64(3);
                let (mut drifts, mut unlike) = (0, 0);
                for _ in 0..TRIES {
                    let launch = |random: &mut Pcg64| {
                        let common = 3.0 * gauss(random);
                        (common + noise(random), common + noise(random))
                    };
                    let pairs: Vec<_> = (0..sessions).map(|_| launch(&mut random)).collect();
                    let values: Vec<f64> = pairs.iter().map(|pair| pair.1 - pair.0).collect();
                    drifts += usize::from(drift(&values).is_some());
                    unlike += usize::from(unequal(&pairs).is_some());
                }
                assert!(
                    drifts <= most,
                    "shape {shape}, {sessions} sessions: {drifts}"
                );
                assert!(
                    unlike <= most,
                    "shape {shape}, {sessions} sessions: {unlike}"
                );
            }
        }
    }

    #[test]
    fn launches_that_vary_four_times_as_much_and_drifts_of_five_sd_are_mostly_seen() {
        let mut random = Pcg64::seed_from_u64(4);
        let (mut drifts, mut unlike) = (0, 0);
        for _ in 0..TRIES {
            let pairs = (0..12).map(|_| (gauss(&mut random), 4.0 * gauss(&mut random)));
            unlike += usize::from(unequal(&pairs.collect::<Vec<_>>()).is_some());
            let values: Vec<f64> = (0..12)
                .map(|at| real(at) * 5.0 / 11.0 + gauss(&mut random))
                .collect();
            drifts += usize::from(drift(&values).is_some());
        }
        assert!(unlike * 3 >= TRIES * 2, "{unlike}");
        assert!(drifts * 3 >= TRIES * 2, "{drifts}");
    }

    #[test]
    fn the_size_of_a_drift_is_from_the_first_session_to_the_last() {
        let mut values: Vec<f64> = (0..9).map(|at| 0.01 * real(at)).collect();
        values[4] = 0.5;
        assert!((drift(&values).unwrap() - 0.08).abs() < 1e-9);
    }

    #[test]
    fn a_version_that_varies_more_is_named_and_what_the_machine_does_to_all_hides_it_not() {
        let mut run = run(&["1.0.0", "2.0.0", "3.0.0", "4.0.0"]);
        for (index, noise) in NOISE.iter().chain(&NOISE).enumerate() {
            let machine = if index % 3 == 0 { 0.75 } else { 1.0 };
            let own = |place: usize| NOISE[(3 * index + 5 * place) % NOISE.len()] / 4.0;
            let rates = [own(0), *noise * 3.0, own(1), own(2)];
            let raced = rates.iter().enumerate();
            let raced: Vec<(usize, f64)> = raced
                .map(|(cell, own)| (cell, 20_000.0 * machine * (1.0 + own)))
                .collect();
            race(&mut run, Purpose::Measure, &raced);
        }
        let warned = judge(&run).comparisons.into_iter();
        let warned = warned.map(|comparison| {
            comparison.warnings.into_iter().find_map(|warning| {
                let Warning::UnequalVariances { cell, .. } = warning else {
                    return None;
                };
                Some(cell)
            })
        });
        assert_eq!(warned.collect::<Vec<_>>(), [Some(1), Some(1), None]);
    }

    #[test]
    fn a_difference_that_drifts_is_told() {
        let mut run = run(&["1.0.0", "2.0.0"]);
        for (noise, session) in NOISE.into_iter().zip(0..) {
            let slower = 1.0 - 0.01 * f64::from(session) + noise / 4.0;
            race(
                &mut run,
                Purpose::Measure,
                &[(0, 8000.0), (1, 8000.0 * slower)],
            );
        }
        let warnings = judge(&run).comparisons.remove(0).warnings;
        let [Warning::Drift { change }] = warnings[..] else {
            panic!("{warnings:?}");
        };
        assert!((change + 0.07).abs() < 0.01, "{change}");
    }
}
