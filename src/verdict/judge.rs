//! Evidence → comparisons. The rule, in one place.

use super::bimodal::bimodal_cells;
use super::evidence::{Evidence, gather};
use super::levels;
use super::state::{State, solo_rates, state};
use super::{Comparison, Judgement, Verdict, Warning};
use crate::journal::{Built, Run};
use crate::matrix::{Design, Rule};
use crate::stats::{TTest, Thresholds, holm, mean, median, paired, sessions_until, signed_rank_p};
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
        levels,
        gaps,
        pending,
    }
}

/// Judges all pairs of a run together.
///
/// With m pairs: each pair's sessions held to measure give a paired t test; Holm's correction over all m makes its
/// adjusted p; its interval has level alpha ÷ m, so that all intervals hold at once with chance 1 − alpha. A pair with
/// fewer than three sessions is `unknown` and counts in m, so that m does not depend on how far the run has come.
pub(crate) fn decide(evidence: Vec<Evidence>, rule: &Rule) -> Vec<Comparison> {
    let thresholds = thresholds(rule, evidence.len());
    let tests: Vec<Option<TTest>> = evidence.iter().map(|pair| tested(&pair.measure)).collect();
    let p_values: Vec<f64> = tests
        .iter()
        .map(|test| test.map_or(1.0, |test| test.p))
        .collect();
    let adjusted = std::iter::zip(tests, holm(&p_values));
    std::iter::zip(evidence, adjusted)
        .map(|(pair, (test, p))| compare(pair, test.map(|_| p), rule, &thresholds))
        .collect()
}

/// Returns what decides one pair among `count`. Sizes are logarithms, so that a step and its way back weigh the same.
fn thresholds(rule: &Rule, count: usize) -> Thresholds {
    Thresholds {
        level: rule.alpha / crate::stats::real(count.max(1)),
        least: rule.min_effect.ln_1p(),
        margin: rule.same_within.ln_1p(),
    }
}

/// Tests sessions if there are enough to decide anything.
fn tested(values: &[f64]) -> Option<TTest> {
    paired(values).filter(|test| test.count >= LEAST_SESSIONS)
}

/// Concludes about one pair.
///
/// - `regression`: adjusted p ≤ alpha, and the signed-rank test of the same sessions has p ≤ 5 % (below six sessions:
///   all have the same sign), and the mean log ratio is at most −ln(1 + `min_effect`); and, where fresh sessions were
///   held, they confirm it ([`confirms`]).
/// - `improvement`: the mirror image.
/// - `same`: not flagged, and the interval lies inside ± ln(1 + `same_within`).
/// - `unknown`: everything else, a flag that was not confirmed too.
///
/// Once enough fresh sessions were held, effect and interval are of all sessions together. The first ones alone would
/// overstate a flagged effect, for they were picked because they showed it; the fresh ones were not picked.
fn compare(
    evidence: Evidence,
    adjusted_p: Option<f64>,
    rule: &Rule,
    thresholds: &Thresholds,
) -> Comparison {
    let flag = flag(&evidence.measure, adjusted_p, rule.alpha, thresholds.least);
    let confirmed = flag
        .filter(|_| rule.confirm && evidence.confirm.len() >= CONFIRM_SESSIONS)
        .map(|_| confirms(&evidence, rule.alpha, thresholds.least));
    let values = match confirmed {
        Some(_) => [evidence.measure.as_slice(), &evidence.confirm].concat(),
        None => evidence.measure,
    };
    let verdict = match (flag, confirmed) {
        (Some(verdict), None | Some(true)) => verdict,
        (Some(_), Some(false)) => Verdict::Unknown,
        (None, _) => unflagged(&values, thresholds),
    };
    let mut warnings = evidence.warnings;
    warnings.extend((confirmed == Some(false)).then_some(Warning::NotConfirmed));
    let test = paired(&values);
    Comparison {
        pair: evidence.pair,
        metric: evidence.metric,
        verdict,
        effect: mean(&values),
        interval: test.map(|test| test.interval(thresholds.level)),
        adjusted_p,
        sd: test.map(|test| test.sd),
        sessions: values.len(),
        confirmed,
        sessions_needed: needed(&values, verdict, confirmed, thresholds),
        warnings,
    }
}

/// Returns the verdict that the sessions held to measure call for, if they call for a flag.
fn flag(values: &[f64], adjusted_p: Option<f64>, alpha: f64, least: f64) -> Option<Verdict> {
    let effect = mean(values)?;
    if adjusted_p? > alpha || !passes_gate(values) {
        return None;
    }
    if effect <= -least {
        Some(Verdict::Regression)
    } else if effect >= least {
        Some(Verdict::Improvement)
    } else {
        None
    }
}

/// Returns whether the signs and ranks agree that there is a difference, whatever the tails of the noise.
fn passes_gate(values: &[f64]) -> bool {
    if values.len() >= RANKED_SESSIONS {
        return signed_rank_p(values).is_some_and(|p| p <= RANK_LEVEL);
    }
    values.iter().all(|value| *value > 0.0) || values.iter().all(|value| *value < 0.0)
}

/// Returns whether fresh sessions confirm a flag: alone they differ from zero at level alpha, with the same sign, and
/// all sessions together still show an effect worth a flag.
///
/// Alpha is not divided here: only flagged pairs come to this, and each has passed the corrected test before.
fn confirms(evidence: &Evidence, alpha: f64, least: f64) -> bool {
    let (Some(first), Some(fresh)) = (mean(&evidence.measure), paired(&evidence.confirm)) else {
        return false;
    };
    let all = mean(&[evidence.measure.as_slice(), &evidence.confirm].concat());
    fresh.p <= alpha
        && fresh.mean.signum().total_cmp(&first.signum()).is_eq()
        && all.is_some_and(|all| all.abs() >= least)
}

/// Returns `same` or `unknown`.
fn unflagged(values: &[f64], thresholds: &Thresholds) -> Verdict {
    match tested(values) {
        Some(test) if test.within(thresholds.level, thresholds.margin) => Verdict::Same,
        Some(_) | None => Verdict::Unknown,
    }
}

/// Returns how many more sessions would decide an unknown pair; none where a flag was refuted, for then the question is
/// no longer one of number.
fn needed(
    values: &[f64],
    verdict: Verdict,
    confirmed: Option<bool>,
    thresholds: &Thresholds,
) -> Option<u32> {
    if verdict != Verdict::Unknown || confirmed.is_some() {
        return None;
    }
    sessions_until(&tested(values)?, thresholds)
}

/// Warns where fewer sessions count than were planned.
fn warn_of_few(comparison: &mut Comparison, planned: u32) {
    let held = comparison.sessions;
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
