//! The rule of the product, and those of tools that compare two versions, on one simulated run.
//!
//! Each tool's rule is written from its documentation and source, with its defaults, on as many launches of each version
//! as the product has sessions.

use harness::matrix::Rule;
use harness::verdict::{Comparison, Evidence, Looks, Metric, Verdict, decide};
use harness::version::Pair;

use super::noise::{Plan, Random};
use super::rank::{kolmogorov_smirnov, mann_whitney, mann_whitney_normal};
use super::{mean, real};

/// The product's rule as its documentation gives it, without confirmation.
pub(crate) const RULE: Rule = Rule {
    alpha: 0.05,
    min_effect: 0.01,
    same_within: 0.02,
    confirm: false,
};

/// Returns what is judged of the differences of one run.
pub(crate) fn judged(sets: Vec<Vec<f64>>, rule: &Rule) -> Vec<Comparison> {
    let pairs: Vec<Evidence> = sets.into_iter().enumerate().map(evidence).collect();
    at_once(&pairs, rule)
}

/// Returns what is judged of pairs by a single look.
pub(crate) fn at_once(pairs: &[Evidence], rule: &Rule) -> Vec<Comparison> {
    let judged = decide(pairs, rule, Looks::once()).into_iter();
    judged.map(|one| one.comparison).collect()
}

/// Makes evidence of the differences of the pair that is this manieth.
pub(crate) fn evidence((place, measure): (usize, Vec<f64>)) -> Evidence {
    Evidence {
        pair: Pair {
            baseline: place,
            candidate: place + 1,
            skipped: Vec::new(),
        },
        metric: Metric::Throughput,
        attempts: measure.len(),
        measure,
        confirm: Vec::new(),
        alone: Vec::new(),
        warnings: Vec::new(),
    }
}

/// Returns whether a pair is flagged.
pub(crate) fn is_flag(comparison: &Comparison) -> bool {
    matches!(
        comparison.verdict,
        Verdict::Regression | Verdict::Improvement
    )
}

/// A rule that flags pairs of neighbours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tool {
    /// This product.
    Harness,
    /// A paired t test and nothing else, for comparison.
    PlainT,
    /// Go's benchstat: Mann and Whitney's exact test at 5 % for each pair.
    Benchstat,
    /// criterion.rs: a bootstrapped t test at 5 %, and an interval of the change beyond ± 1 %.
    Criterion,
    /// Pinpoint: the smaller p of two tests at most 1 %. One look; the tool itself would look again and again.
    Pinpoint,
}

impl Tool {
    /// All of them, in the order of a table's columns.
    pub(crate) const ALL: [Self; 5] = [
        Self::Harness,
        Self::PlainT,
        Self::Benchstat,
        Self::Criterion,
        Self::Pinpoint,
    ];

    /// Returns what a table calls it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Harness => "Harness",
            Self::PlainT => "paired t",
            Self::Benchstat => "benchstat",
            Self::Criterion => "criterion",
            Self::Pinpoint => "Pinpoint",
        }
    }

    /// Simulates one run and returns for each pair whether it is flagged.
    pub(crate) fn flags(self, plan: &Plan, random: &mut Random) -> Vec<bool> {
        let differs: fn(&[f64], &[f64], &mut Random) -> bool = match self {
            Self::Harness => {
                let judged = judged(plan.differences(random), &RULE);
                return judged.iter().map(is_flag).collect();
            }
            Self::PlainT => {
                let sets = plan.differences(random);
                let p = |set: &Vec<f64>| harness::stats::paired(set).map(|test| test.p);
                return sets.iter().map(|set| p(set) <= Some(0.05)).collect();
            }
            Self::Benchstat => |before, after, _| mann_whitney(before, after) < 0.05,
            Self::Criterion => criterion,
            Self::Pinpoint => |before, after, _| {
                let p = mann_whitney_normal(before, after);
                p.min(kolmogorov_smirnov(before, after)) <= 0.01
            },
        };
        let levels = plan.levels(random);
        levels
            .windows(2)
            .map(|two| differs(&two[0], &two[1], random))
            .collect()
    }
}

/// Resamples of criterion; its own default is 100,000.
const RESAMPLES: usize = 400;

/// Returns whether criterion would say that the time changed.
fn criterion(before: &[f64], after: &[f64], random: &mut Random) -> bool {
    let times =
        |levels: &[f64]| -> Vec<f64> { levels.iter().map(|level| (-level).exp()).collect() };
    let (before, after) = (times(before), times(after));
    let pool = [before.as_slice(), &after].concat();
    let t = welch(&after, &before);
    let mut greater = 0;
    let mut changes = Vec::with_capacity(RESAMPLES);
    for _ in 0..RESAMPLES {
        let one = resample(&pool, after.len(), random);
        let other = resample(&pool, before.len(), random);
        greater += usize::from(welch(&one, &other) < t);
        let after = resample(&after, after.len(), random);
        let before = resample(&before, before.len(), random);
        changes.push(mean(&after) / mean(&before) - 1.0);
    }
    changes.sort_by(f64::total_cmp);
    let (low, high) = (
        changes[RESAMPLES / 40],
        changes[RESAMPLES - 1 - RESAMPLES / 40],
    );
    let p = 2.0 * real(greater.min(RESAMPLES - greater)) / real(RESAMPLES);
    p < 0.05 && (low > 0.01 || high < -0.01)
}

/// Draws with replacement.
fn resample(values: &[f64], count: usize, random: &mut Random) -> Vec<f64> {
    let draw = |_| values[random.below(values.len())];
    (0..count).map(draw).collect()
}

/// Returns Welch's t.
pub(crate) fn welch(left: &[f64], right: &[f64]) -> f64 {
    let error = |values: &[f64]| {
        let sd = harness::stats::sd(values).unwrap_or(0.0);
        sd * sd / real(values.len())
    };
    (mean(left) - mean(right)) / (error(left) + error(right)).sqrt()
}
