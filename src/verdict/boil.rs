//! Slow boil: a version that is worse than the best before it, though no single step on the way is flagged. Pure.

use std::collections::{HashMap, HashSet};

use super::{Comparison, Metric, Verdict};
use crate::matrix::Rule;
use crate::stats::{holm, quantile, real, two_sided_p};

/// Fewer steps than this are no way: one alone is what its own verdict is about.
const LEAST_STEPS: usize = 2;

/// A version that became worse by steps too small to be flagged.
#[derive(Debug, Clone, PartialEq)]
pub struct Boil {
    /// The version.
    pub candidate: usize,
    /// The best one before it, as far back as no step is flagged.
    pub best: usize,
    /// Whether a flagged step ends the way back, so that `best` is the best since then.
    pub since_flag: bool,
    /// The number that decided.
    pub metric: Metric,
    /// Sum of the steps' effects, a log ratio; negative.
    pub effect: f64,
    /// Its interval; those of all versions and all before each hold at once.
    pub interval: (f64, f64),
    /// p after correction.
    pub adjusted_p: f64,
}

/// Finds the versions that are worse than the best before them by at least the minimum effect, with no flagged step
/// between the two. Of several on one line the newest is told.
///
/// The effect is the sum of the pairs' effects on the way, as in the fitted levels. Its variance is the sum of theirs:
/// where two pairs share a version in one race, what that version's launch was like enters both with opposite signs and
/// cancels, so the true variance is smaller and the test errs towards silence. Degrees of freedom are Satterthwaite's, of
/// the sessions alone. Which one was best is chosen by looking at all of them, so p is multiplied by their number (Bonferroni);
/// then Holm's correction goes over the versions. This family has the level of the run for itself.
pub fn boils(comparisons: &[Comparison], rule: &Rule) -> Vec<Boil> {
    let steps = steps(comparisons);
    let candidates = comparisons.iter().map(|one| one.pair.candidate);
    let climbs: Vec<Climb> = candidates
        .filter_map(|cell| Climb::new(cell, &steps))
        .collect();
    let all: usize = climbs.iter().map(|climb| climb.passed.len()).sum();
    let p_values: Vec<f64> = climbs.iter().map(Climb::p).collect();
    let is_worse = |(climb, p): &(&Climb, f64)| {
        let worst = &climb.worst;
        *p <= rule.alpha && worst.steps >= LEAST_STEPS && worst.effect <= -rule.min_effect.ln_1p()
    };
    let worse = std::iter::zip(&climbs, holm(&p_values)).filter(is_worse);
    let worse: Vec<(&Climb, f64)> = worse.collect();
    let passed = worse.iter().flat_map(|(climb, _)| &climb.passed);
    let passed: HashSet<usize> = passed.copied().collect();
    let is_newest = |(climb, _): &(&Climb, f64)| !passed.contains(&climb.cell);
    let newest = worse.into_iter().filter(is_newest);
    newest
        .map(|(climb, p)| climb.boil(p, rule.alpha / real(all)))
        .collect()
}

/// Returns the steps whose error is known, by their candidate.
fn steps(comparisons: &[Comparison]) -> HashMap<usize, &Comparison> {
    let known = comparisons
        .iter()
        .filter(|one| one.effect.is_some() && one.sd.is_some() && one.sessions > 1);
    known.map(|one| (one.pair.candidate, one)).collect()
}

/// What lies between a version and one before it.
#[derive(Debug, Clone, Copy)]
struct Sum {
    from: usize,
    steps: usize,
    effect: f64,
    variance: f64,
    /// Σ variance² ÷ degrees of freedom, of the steps.
    uncertainty: f64,
}

impl Sum {
    fn none(cell: usize) -> Self {
        Self {
            from: cell,
            steps: 0,
            effect: 0.0,
            variance: 0.0,
            uncertainty: 0.0,
        }
    }

    /// Adds one more step before it; none where its error is not known.
    fn and(self, step: &Comparison) -> Option<Self> {
        let variance = step.sd?.powi(2) / real(step.sessions);
        Some(Self {
            from: step.pair.baseline,
            steps: self.steps + 1,
            effect: self.effect + step.effect?,
            variance: self.variance + variance,
            uncertainty: self.uncertainty + variance.powi(2) / real(step.sessions - 1),
        })
    }

    fn freedom(&self) -> f64 {
        self.variance.powi(2) / self.uncertainty
    }

    /// Returns the interval that misses the truth with this chance.
    fn interval(&self, level: f64) -> (f64, f64) {
        let half = quantile(level, self.freedom()) * self.variance.sqrt();
        (self.effect - half, self.effect + half)
    }

    fn p(&self) -> f64 {
        two_sided_p(self.effect / self.variance.sqrt(), self.freedom())
    }
}

/// What a version changed against one some steps before it.
#[derive(Debug, Clone, PartialEq)]
pub struct Way {
    /// The comparisons on it, the newest first, as indices.
    pub steps: Vec<usize>,
    /// The one that it begins at.
    pub from: usize,
    /// Sum of the steps' effects, a log ratio whose negative is worse; none where one of them has none.
    pub effect: Option<f64>,
    /// Its interval, which holds for itself alone; none where the error of a step is not known.
    pub interval: Option<(f64, f64)>,
}

/// Adds up the steps that lead back from a version until one is reached that is far enough; none where none is.
/// As in a slow boil the variance is rather too great than too small.
pub fn way(
    comparisons: &[Comparison],
    cell: usize,
    alpha: f64,
    is_reached: impl Fn(usize) -> bool,
) -> Option<Way> {
    let candidates = comparisons.iter().enumerate();
    let by_candidate: HashMap<usize, usize> = candidates
        .map(|(index, one)| (one.pair.candidate, index))
        .collect();
    let mut way = Way {
        steps: Vec::new(),
        from: cell,
        effect: Some(0.0),
        interval: None,
    };
    let mut sum = Some(Sum::none(cell));
    while !is_reached(way.from) {
        let index = *by_candidate.get(&way.from)?;
        let step = &comparisons[index];
        way.steps.push(index);
        way.from = step.pair.baseline;
        let both = way.effect.zip(step.effect);
        way.effect = both.map(|(sum, effect)| sum + effect);
        sum = sum
            .filter(|_| step.sessions > 1)
            .and_then(|sum| sum.and(step));
    }
    let known = sum.filter(|sum| sum.variance > 0.0);
    way.interval = known.map(|sum| sum.interval(alpha));
    Some(way)
}

/// The way from a version back to the first of its line, or to a flagged step.
struct Climb {
    cell: usize,
    since_flag: bool,
    metric: Metric,
    /// The versions before it.
    passed: Vec<usize>,
    /// The way to the best of them.
    worst: Sum,
}

impl Climb {
    /// Goes back from a version; none where that is not a way.
    fn new(cell: usize, steps: &HashMap<usize, &Comparison>) -> Option<Self> {
        let mut sum = Sum::none(cell);
        let mut climb = Self {
            cell,
            since_flag: false,
            metric: steps.get(&cell)?.metric,
            passed: Vec::new(),
            worst: sum,
        };
        while let Some(step) = steps.get(&sum.from) {
            climb.since_flag = is_flagged(step);
            match sum.and(step).filter(|_| !climb.since_flag) {
                Some(longer) => sum = longer,
                None => break,
            }
            if climb.passed.is_empty() || sum.effect < climb.worst.effect {
                climb.worst = sum;
            }
            climb.passed.push(sum.from);
        }
        (climb.passed.len() >= LEAST_STEPS).then_some(climb)
    }

    /// Returns p of the way to the best, which was chosen among all.
    fn p(&self) -> f64 {
        (self.worst.p() * real(self.passed.len())).min(1.0)
    }

    fn boil(&self, adjusted_p: f64, level: f64) -> Boil {
        let worst = &self.worst;
        Boil {
            candidate: self.cell,
            best: worst.from,
            since_flag: self.since_flag,
            metric: self.metric,
            effect: worst.effect,
            interval: worst.interval(level),
            adjusted_p,
        }
    }
}

fn is_flagged(step: &Comparison) -> bool {
    match step.verdict {
        Verdict::Regression | Verdict::Improvement => true,
        Verdict::Same | Verdict::Unknown | Verdict::Incomparable => false,
    }
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};
    use rand_pcg::Pcg64;

    use super::super::fixture::{NOISE, RULE};
    use super::*;
    use crate::stats::Family;
    use crate::version::Pair;

    /// Sessions of each pair.
    const SESSIONS: usize = 8;

    /// Makes the comparisons of a chain of sessions' log ratios, none of them flagged.
    fn chain(pairs: &[Vec<f64>]) -> Vec<Comparison> {
        let family = Family::of(pairs.iter().map(Vec::as_slice));
        let comparison = |(baseline, values): (usize, &Vec<f64>)| {
            let test = family.test(values).unwrap().test;
            Comparison {
                pair: Pair {
                    baseline,
                    candidate: baseline + 1,
                    skipped: Vec::new(),
                },
                metric: Metric::Throughput,
                verdict: Verdict::Unknown,
                effect: Some(test.mean),
                interval: None,
                adjusted_p: None,
                sd: Some(test.sd),
                sessions: test.count,
                detectable: None,
                confirmed: None,
                sessions_needed: None,
                warnings: Vec::new(),
            }
        };
        pairs.iter().enumerate().map(comparison).collect()
    }

    /// Returns a chain of steps with the noise of a fixture, other noise for each.
    fn quiet(steps: &[f64]) -> Vec<Comparison> {
        let pair = |(place, step): (usize, &f64)| {
            let noise = NOISE.iter().cycle().skip(3 * place).take(SESSIONS);
            noise.map(|noise| step + noise).collect()
        };
        chain(&steps.iter().enumerate().map(pair).collect::<Vec<_>>())
    }

    /// Returns a chain as races of so many pairs give it: what a launch was like enters both pairs of its version.
    fn raced(versions: usize, group: usize, step: f64, random: &mut Pcg64) -> Vec<Comparison> {
        // The sum of twelve uniform values less six: near enough to normal, with sd 1; a pair's sd is then 1 %.
        let mut noise = || (0..12).map(|_| random.random::<f64>()).sum::<f64>() - 6.0;
        let mut pairs = vec![Vec::new(); versions - 1];
        for _ in 0..SESSIONS {
            for group in pairs.chunks_mut(group) {
                let mut before = noise();
                for pair in group {
                    let after = noise();
                    pair.push(step + (after - before) * 0.01 / 2.0_f64.sqrt());
                    before = after;
                }
            }
        }
        chain(&pairs)
    }

    #[test]
    fn small_steps_add_up_and_the_newest_version_is_told() {
        let found = boils(&quiet(&[0.004, -0.007, -0.007, -0.007, -0.007]), &RULE);
        let [boil] = &found[..] else {
            panic!("{found:?}");
        };
        assert_eq!((boil.best, boil.candidate, boil.since_flag), (1, 5, false));
        assert!((boil.effect + 0.028).abs() < 1e-9);
        assert!(boil.interval.0 < boil.effect && boil.effect < boil.interval.1);
        assert!(boil.interval.1 < 0.0);
    }

    #[test]
    fn a_flagged_step_is_no_boil_and_ends_the_way_back() {
        let mut steps = quiet(&[-0.007, -0.05, -0.01, -0.01, -0.01]);
        steps[1].verdict = Verdict::Regression;
        let found = boils(&steps, &RULE);
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].best, found[0].candidate), (2, 5));
        assert!(found[0].since_flag);
        steps[3].verdict = Verdict::Regression;
        assert_eq!(boils(&steps, &RULE), []);
    }

    #[test]
    fn what_is_less_than_the_minimum_or_went_up_or_has_no_error_is_silent() {
        assert_eq!(boils(&quiet(&[-0.003, -0.003]), &RULE), []);
        assert_eq!(boils(&quiet(&[0.02, 0.02, 0.02]), &RULE), []);
        assert_eq!(boils(&[], &RULE), []);
        let mut single = quiet(&[-0.05, -0.05]);
        for step in &mut single {
            (step.sd, step.sessions) = (None, 1);
        }
        assert_eq!(boils(&single, &RULE), []);
    }

    #[test]
    fn a_way_adds_up_its_steps_and_is_less_sure_than_each() {
        let mut steps = quiet(&[-0.01, 0.004, -0.02]);
        let found = way(&steps, 3, RULE.alpha, |cell| cell == 1).unwrap();
        assert_eq!((found.from, found.steps), (1, vec![2, 1]));
        assert!((found.effect.unwrap() + 0.016).abs() < 1e-9);
        let wide = |ends: (f64, f64)| ends.1 - ends.0;
        let both = wide(found.interval.unwrap());
        let alone = way(&steps, 3, RULE.alpha, |cell| cell == 2).unwrap();
        assert!(wide(alone.interval.unwrap()) < both);
        assert_eq!(way(&steps, 3, RULE.alpha, |_| false), None);
        (steps[1].effect, steps[1].sd) = (None, None);
        let unknown = way(&steps, 3, RULE.alpha, |cell| cell == 0).unwrap();
        assert_eq!(
            (unknown.from, unknown.effect, unknown.interval),
            (0, None, None)
        );
    }

    #[test]
    fn a_branch_has_its_own_way_back() {
        let mut steps = quiet(&[-0.012, -0.012, -0.012]);
        // 0 → 1 → 2, and 1 → 3.
        steps[2].pair.baseline = 1;
        let found = boils(&steps, &RULE);
        let ends: Vec<(usize, usize)> = found.iter().map(|b| (b.best, b.candidate)).collect();
        assert_eq!(ends, [(0, 2), (0, 3)]);
    }

    #[test]
    fn equal_versions_raise_a_false_alarm_in_at_most_one_run_of_twenty() {
        let rule = Rule {
            min_effect: 0.0,
            ..RULE
        };
        // In groups of four what neighbours share cancels; raced two by two nothing does.
        for (versions, group) in [(10, 3), (30, 3), (10, 1), (30, 1)] {
            let mut random = Pcg64::seed_from_u64(20);
            let mut alarms = 0;
            for _ in 0..400 {
                let run = raced(versions, group, 0.0, &mut random);
                alarms += usize::from(!boils(&run, &rule).is_empty());
            }
            assert!(
                alarms <= 20,
                "{alarms} of 400 with {versions} versions, {group} pairs a race"
            );
        }
    }

    #[test]
    fn ten_steps_of_seven_in_a_thousand_are_found_nearly_always() {
        let mut random = Pcg64::seed_from_u64(20);
        let found = (0..100)
            .filter(|_| !boils(&raced(11, 3, -0.007, &mut random), &RULE).is_empty())
            .count();
        assert!(found >= 98, "{found} of 100");
    }
}
