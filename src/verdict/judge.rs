//! Evidence → comparisons. The rule, in one place.

use super::bimodal::bimodal_cells;
use super::evidence::{Evidence, gather};
use super::levels;
use super::state::{State, solo_rates, state};
use super::{Comparison, Judgement, Verdict, Warning};
use crate::journal::{Built, Run};
use crate::matrix::{Design, Rule};
use crate::stats::{Family, Tested, Thresholds, holm, mean, median, sessions_until, signed_rank_p};
use crate::version::Pair;

/// Fewer sessions than this decide nothing.
const LEAST_SESSIONS: usize = 3;

/// From this many sessions on the signed-rank test can reach its level; below, all signs must agree.
const RANKED_SESSIONS: usize = 6;

/// Level of the signed-rank gate, which keeps one wild session from deciding alone.
const RANK_LEVEL: f64 = 0.05;

/// Fewer fresh sessions than this confirm nothing.
pub(crate) const CONFIRM_SESSIONS: usize = 4;

/// Judges a run from its journal alone.
///
/// The order of the cells, the sessions and the rule of the header decide everything; nothing is random.
pub fn judge(run: &Run) -> Judgement {
    let states: Vec<State> = (0..run.header.cells.len())
        .map(|cell| state(run, cell))
        .collect();
    let measured = |cell: usize| states.get(cell) == Some(&State::Measured);
    let bimodal = bimodal_cells(run);
    let pairs = run.header.pairs(&measured).into_iter();
    let evidence: Vec<Evidence> = pairs.map(|pair| gather(run, pair, &bimodal)).collect();
    let mut comparisons = decide(evidence, &run.header.rule);
    for comparison in &mut comparisons {
        warn_of_few(comparison, run.header.sessions.count);
        warn_of_same_program(run, comparison);
    }
    if run.header.sessions.design == Design::Race {
        for comparison in &mut comparisons {
            warn_of_solo(run, comparison);
        }
    }
    let levels = levels::fit(run, &measured, &comparisons);
    let (mut gaps, mut pending) = (Vec::new(), Vec::new());
    for (cell, state) in states.into_iter().enumerate() {
        match state {
            State::Gap(gap) => gaps.push((cell, gap)),
            State::Pending => pending.push(cell),
            State::Measured => {}
        }
    }
    Judgement {
        comparisons,
        others: Vec::new(),
        levels,
        gaps,
        pending,
    }
}

/// Judges all pairs of a run together.
///
/// With m pairs: the sessions held to measure of all of them say how much a pair varies from session to session
/// ([`Family`]). In each pair, sessions far outside the others are set aside, a third of them at most; what is kept gives
/// a paired t test with a variance moderated by all pairs; Holm's correction over all m makes its adjusted p; its
/// interval has level alpha ÷ m, so that all intervals hold at once with chance 1 − alpha. A pair with fewer than three
/// sessions is `unknown` and counts in m, so that m does not depend on how far the run has come.
pub fn decide(evidence: Vec<Evidence>, rule: &Rule) -> Vec<Comparison> {
    let standard = Standard::of(&evidence, rule);
    let p_values: Vec<f64> = evidence
        .iter()
        .map(|pair| standard.tested(&pair.measure))
        .map(|tested| tested.map_or(1.0, |tested| tested.test.p))
        .collect();
    std::iter::zip(evidence, holm(&p_values))
        .map(|(pair, adjusted_p)| standard.compare(pair, adjusted_p))
        .collect()
}

/// What all pairs of a run are held to.
pub(super) struct Standard<'run> {
    pub(super) rule: &'run Rule,
    pub(super) thresholds: Thresholds,
    family: Family,
}

impl<'run> Standard<'run> {
    fn of(evidence: &[Evidence], rule: &'run Rule) -> Self {
        Self::learn(evidence.iter().map(|pair| pair.measure.as_slice()), rule)
    }

    /// Learns from the sessions of each pair, in the order of pairs.
    pub(super) fn learn<'sample, I>(samples: I, rule: &'run Rule) -> Self
    where
        I: Iterator<Item = &'sample [f64]> + Clone,
    {
        Self {
            rule,
            thresholds: thresholds(rule, samples.clone().count()),
            family: Family::of(samples.filter(|sample| sample.len() >= LEAST_SESSIONS)),
        }
    }

    /// Tests sessions if there are enough to decide anything.
    pub(super) fn tested(&self, values: &[f64]) -> Option<Tested> {
        let tested = self.family.test(values)?;
        (values.len() >= LEAST_SESSIONS).then_some(tested)
    }

    /// Concludes about one pair.
    ///
    /// - `regression`: adjusted p ≤ alpha, and the signed-rank test of the sessions that count has p ≤ 5 % (below six: all
    ///   have the same sign), and their mean log ratio is at most −ln(1 + `min_effect`); and, where fresh sessions were
    ///   held, they confirm it ([`Standard::confirms`]).
    /// - `improvement`: the mirror image.
    /// - `same`: not flagged, and the interval lies inside ± ln(1 + `same_within`).
    /// - `unknown`: everything else, a flag that was not confirmed too.
    ///
    /// Once enough fresh sessions were held, effect and interval are of all sessions together. The first ones alone would
    /// overstate a flagged effect, for they were picked because they showed it; the fresh ones were not picked.
    fn compare(&self, evidence: Evidence, adjusted_p: f64) -> Comparison {
        let first = self.tested(&evidence.measure);
        let adjusted_p = first.as_ref().map(|_| adjusted_p);
        let flag = first
            .filter(|_| adjusted_p <= Some(self.rule.alpha))
            .and_then(|first| self.flag(&first));
        let confirmed = flag
            .filter(|_| self.rule.confirm && evidence.confirm.len() >= CONFIRM_SESSIONS)
            .map(|_| self.confirms(&evidence));
        let values = match confirmed {
            Some(_) => [evidence.measure.as_slice(), &evidence.confirm].concat(),
            None => evidence.measure,
        };
        let tested = self.family.test(&values);
        let verdict = match (flag, confirmed) {
            (Some(verdict), None | Some(true)) => verdict,
            (Some(_), Some(false)) => Verdict::Unknown,
            (None, _) => self.unflagged(&values),
        };
        let mut warnings = evidence.warnings;
        warnings.extend(tested.as_ref().and_then(set_aside));
        warnings.extend((confirmed == Some(false)).then_some(Warning::NotConfirmed));
        let test = tested.map(|tested| tested.test);
        Comparison {
            pair: evidence.pair,
            metric: evidence.metric,
            verdict,
            effect: test.map(|test| test.mean).or_else(|| mean(&values)),
            interval: test.map(|test| test.interval(self.thresholds.level)),
            adjusted_p,
            sd: test.map(|test| test.sd),
            sessions: test.map_or(values.len(), |test| test.count),
            confirmed,
            detectable: None,
            sessions_needed: self.needed(&values, verdict, confirmed),
            warnings,
        }
    }

    /// Returns the verdict that sessions which surely differ from zero call for, if they call for a flag.
    pub(super) fn flag(&self, first: &Tested) -> Option<Verdict> {
        if !passes_gate(&first.kept) {
            return None;
        }
        if first.test.mean <= -self.thresholds.least {
            Some(Verdict::Regression)
        } else if first.test.mean >= self.thresholds.least {
            Some(Verdict::Improvement)
        } else {
            None
        }
    }

    /// Returns whether fresh sessions confirm a flag: alone they differ from zero at level alpha, with the same sign, and
    /// all sessions together still show an effect worth a flag.
    ///
    /// Alpha is not divided here: only flagged pairs come to this, and each has passed the corrected test before.
    fn confirms(&self, evidence: &Evidence) -> bool {
        let all = [evidence.measure.as_slice(), &evidence.confirm].concat();
        let tests =
            [&evidence.measure, &evidence.confirm, &all].map(|values| self.family.test(values));
        let [Some(first), Some(fresh), Some(all)] = tests.map(|tested| Some(tested?.test)) else {
            return false;
        };
        fresh.p <= self.rule.alpha
            && fresh.mean.signum().total_cmp(&first.mean.signum()).is_eq()
            && all.mean.abs() >= self.thresholds.least
    }

    /// Returns `same` or `unknown`.
    pub(super) fn unflagged(&self, values: &[f64]) -> Verdict {
        let within = |tested: Tested| {
            tested
                .test
                .within(self.thresholds.level, self.thresholds.margin)
        };
        if self.tested(values).is_some_and(within) {
            Verdict::Same
        } else {
            Verdict::Unknown
        }
    }

    /// Returns how many more sessions would decide an unknown pair; none where a flag was refuted, for then the question
    /// is no longer one of number.
    fn needed(&self, values: &[f64], verdict: Verdict, confirmed: Option<bool>) -> Option<u32> {
        if verdict != Verdict::Unknown || confirmed.is_some() {
            return None;
        }
        sessions_until(&self.tested(values)?.test, &self.thresholds)
    }
}

/// Returns what decides one pair among `count`. Sizes are logarithms, so that a step and its way back weigh the same.
fn thresholds(rule: &Rule, count: usize) -> Thresholds {
    Thresholds {
        level: rule.alpha / crate::stats::real(count.max(1)),
        least: rule.min_effect.ln_1p(),
        margin: rule.same_within.ln_1p(),
    }
}

/// Returns whether the signs and ranks agree that there is a difference, whatever the tails of the noise.
fn passes_gate(values: &[f64]) -> bool {
    if values.len() >= RANKED_SESSIONS {
        return signed_rank_p(values).is_some_and(|p| p <= RANK_LEVEL);
    }
    values.iter().all(|value| *value > 0.0) || values.iter().all(|value| *value < 0.0)
}

/// Warns where sessions were set aside.
fn set_aside(tested: &Tested) -> Option<Warning> {
    let sessions = tested.aside;
    (sessions > 0).then_some(Warning::SetAside { sessions })
}

/// Warns where fewer sessions count than were planned.
fn warn_of_few(comparison: &mut Comparison, planned: u32) {
    let mut held = comparison.sessions;
    for warning in &comparison.warnings {
        if let Warning::SetAside { sessions } = warning {
            held += sessions;
        }
    }
    if u32::try_from(held).is_ok_and(|held| held < planned) {
        comparison
            .warnings
            .insert(0, Warning::FewSessions { held, planned });
    }
}

/// Warns where both sides are one program.
fn warn_of_same_program(run: &Run, comparison: &mut Comparison) {
    let content = |cell| match run.builds.get(&cell) {
        Some(Built::Artifact(artifact)) => artifact.content.as_ref(),
        Some(Built::Gap(_)) | None => None,
    };
    let before = content(comparison.pair.baseline);
    if before.is_some() && before == content(comparison.pair.candidate) {
        comparison.warnings.push(Warning::SameProgram);
    }
}

/// Warns where a flagged pair's solo trials point the other way by as much as would be worth a flag.
fn warn_of_solo(run: &Run, comparison: &mut Comparison) {
    let level = |cell| median(&solo_rates(run, cell));
    let pair = &comparison.pair;
    let Some((baseline, candidate)) = level(pair.baseline).zip(level(pair.candidate)) else {
        return;
    };
    let solo = candidate - baseline;
    let against = match comparison.verdict {
        Verdict::Regression => solo,
        Verdict::Improvement => -solo,
        Verdict::Same | Verdict::Unknown | Verdict::Incomparable => return,
    };
    if against >= run.header.rule.min_effect.ln_1p() {
        comparison.warnings.push(Warning::SoloDisagrees { solo });
    }
}

impl Judgement {
    /// Returns the pairs that the sessions held to measure flag, whatever fresh sessions said of them since.
    ///
    /// Sessions to confirm are planned for these. If a pair left the list as soon as some fresh sessions spoke against
    /// it, the end of its confirmation would depend on its outcome.
    pub fn flagged(&self) -> Vec<Pair> {
        let flagged = |comparison: &&Comparison| {
            comparison.warnings.contains(&Warning::NotConfirmed)
                || matches!(
                    comparison.verdict,
                    Verdict::Regression | Verdict::Improvement
                )
        };
        let flagged = self.comparisons.iter().filter(flagged);
        flagged.map(|comparison| comparison.pair.clone()).collect()
    }
}
