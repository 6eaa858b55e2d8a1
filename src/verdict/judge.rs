//! Evidence → comparisons. The rule, in one place.

use super::bimodal::bimodal_cells;
use super::evidence::{Evidence, Facts, gather, gather_others};
use super::levels;
use super::looks::{Judged, Looks, decide};
use super::pollution::polluted;
use super::state::{State, solo_rates, state};
use super::{Comparison, Held, Judgement, Verdict, Warning};
use crate::journal::{Built, Run};
use crate::matrix::{Design, Rule};
use crate::stats::{
    Family, Power, TTest, Tested, Thresholds, mean, median, paired, real, sessions_until,
    signed_rank_p, smallest_effect,
};

/// Fewer sessions than this decide nothing.
const LEAST_SESSIONS: usize = 3;

/// From this many sessions on the signed-rank test can reach its level; below, all signs must agree.
const RANKED_SESSIONS: usize = 6;

/// Level of the signed-rank gate, which keeps one wild session from deciding alone.
const RANK_LEVEL: f64 = 0.05;

/// Fewer fresh sessions than this confirm nothing.
pub(crate) const CONFIRM_SESSIONS: usize = 4;

/// The journal's schema from which on pairs are judged while the run goes on.
const LOOKS: u32 = 4;

/// Level at which solo trials that point the other way refute a flag.
const SOLO_LEVEL: f64 = 0.05;

/// The chance with which the smallest effect that could have been seen is seen.
const SEEN: f64 = 0.8;

/// Judges a run from its journal alone.
///
/// The order of the cells, the sessions and the rule of the header decide everything; nothing is random. While the run goes
/// on, pairs that no look has decided yet are `unknown`; of a run that ended, and of one that holds a fixed number of
/// sessions, all are judged with what there is.
pub fn judge(run: &Run) -> Judgement {
    let sessions = &run.header.sessions;
    let fixed = run.header.schema < LOOKS || sessions.least >= sessions.count;
    judged(run, run.summary.is_some() || fixed)
}

/// Judges a run of which nothing more will be measured.
pub fn conclude(run: &Run) -> Judgement {
    judged(run, true)
}

/// Judges a run that goes on, to see what is to be held next.
pub fn so_far(run: &Run) -> Judgement {
    judged(run, false)
}

fn judged(run: &Run, over: bool) -> Judgement {
    let states: Vec<State> = (0..run.header.cells.len())
        .map(|cell| state(run, cell))
        .collect();
    let measured = |cell: usize| states.get(cell) == Some(&State::Measured);
    let facts = facts(run);
    let pairs = run.header.pairs(&measured);
    let count = pairs.len();
    let further: Vec<Evidence> = pairs
        .iter()
        .flat_map(|pair| gather_others(run, pair, &facts))
        .collect();
    let mut evidence: Vec<Evidence> = pairs
        .into_iter()
        .map(|pair| gather(run, pair, &facts))
        .collect();
    evidence.extend(further);
    let judged = decide(&evidence, &run.header.rule, looks(run, over));
    let held = held(&judged);
    let sessions = &run.header.sessions;
    let mut comparisons: Vec<Comparison> = judged.into_iter().map(|one| one.comparison).collect();
    let others = comparisons.split_off(count);
    for comparison in &mut comparisons {
        warn_of_few(comparison, sessions.least.min(sessions.count));
        warn_of_same_program(run, comparison);
    }
    if sessions.design == Design::Race {
        let of_speed = |one: &&mut Comparison| levels::is_of_speed(one.metric);
        for comparison in comparisons.iter_mut().filter(of_speed) {
            warn_of_solo(run, comparison, &facts);
        }
    }
    let levels = levels::fit(run, (&measured, &facts.polluted), &comparisons);
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
        others,
        held,
        levels,
        gaps,
        pending,
    }
}

/// Returns what the sessions of a run say of each pair, by the main metric.
pub fn evidence(run: &Run) -> Vec<Evidence> {
    let measured = |cell: usize| state(run, cell) == State::Measured;
    let pairs = run.header.pairs(&measured).into_iter();
    let facts = facts(run);
    pairs.map(|pair| gather(run, pair, &facts)).collect()
}

/// Returns what is known of the run as a whole before any pair is looked at.
pub(crate) fn facts(run: &Run) -> Facts {
    let polluted = polluted(run);
    Facts {
        bimodal: bimodal_cells(run, &polluted),
        polluted,
    }
}

/// Returns when the pairs of a run are looked at.
fn looks(run: &Run, over: bool) -> Looks {
    let sessions = &run.header.sessions;
    let number = |count: u32| usize::try_from(count).unwrap_or(usize::MAX / 4);
    Looks {
        least: number(sessions.least.min(sessions.count)),
        most: number(sessions.count),
        over,
    }
}

/// Returns what is still to be held of each pair, by whatever metric needs most.
fn held(judged: &[Judged]) -> Vec<Held> {
    let mut all: Vec<Held> = Vec::new();
    for one in judged {
        let pair = &one.comparison.pair;
        let place = all.iter().position(|held| held.pair == *pair);
        let place = place.unwrap_or_else(|| {
            all.push(Held::new(pair.clone()));
            all.len() - 1
        });
        let held = &mut all[place];
        held.wanted = held.wanted.max(one.wanted);
        held.at_most = held.at_most.max(one.at_most);
        held.fresh = held.fresh.max(one.fresh);
    }
    all
}

/// What a look at a pair says.
#[derive(Debug, Clone)]
pub(super) struct Standing {
    pub(super) comparison: Comparison,
    /// Whether the sessions held to measure flag the pair, whatever fresh ones say of it.
    pub(super) flagged: bool,
    /// Whether the look decides.
    pub(super) decided: bool,
}

/// What all pairs of a run are held to by one metric.
pub(super) struct Standard<'run> {
    rule: &'run Rule,
    /// Of a test that is not one of several looks.
    thresholds: Thresholds,
    family: Family,
}

impl<'run> Standard<'run> {
    /// Learns from the sessions of each pair, in the order of pairs. `pairs` counts those of all metrics.
    pub(super) fn learn(samples: &[&[f64]], pairs: usize, rule: &'run Rule) -> Self {
        let enough = samples
            .iter()
            .copied()
            .filter(|sample| sample.len() >= LEAST_SESSIONS);
        Self {
            rule,
            thresholds: thresholds(rule, pairs),
            family: Family::of(enough),
        }
    }

    /// Tests sessions if there are enough to decide anything.
    pub(super) fn tested(&self, values: &[f64]) -> Option<Tested> {
        let tested = self.family.test(values)?;
        (values.len() >= LEAST_SESSIONS).then_some(tested)
    }

    /// Concludes about one pair from its first `seen` sessions, at the level of a look.
    ///
    /// - `regression`: adjusted p ≤ alpha, and the signed-rank test of the sessions that count has p ≤ 5 % (below six: all
    ///   have the same sign), and their mean log ratio is at most −ln(1 + `min_effect`); and, where fresh sessions were
    ///   held, they confirm it ([`Standard::refuted`]).
    /// - `improvement`: the mirror image.
    /// - `same`: not flagged, and the interval lies inside ± ln(1 + `same_within`).
    /// - `unknown`: everything else, a flag that was not confirmed too.
    ///
    /// Once enough fresh sessions were held, effect and interval are of all sessions together. The first ones alone would
    /// overstate a flagged effect, for they were picked because they showed it; the fresh ones were not picked.
    pub(super) fn conclude(
        &self,
        evidence: &Evidence,
        seen: usize,
        (level, adjusted_p): (f64, Option<f64>),
    ) -> Standing {
        let first = self.tested(&evidence.measure[..seen]);
        let adjusted_p = first.as_ref().and(adjusted_p);
        let flag = first
            .filter(|_| adjusted_p.is_some_and(|p| p <= self.rule.alpha))
            .and_then(|first| self.flag(&first));
        let fresh = self.rule.confirm && evidence.confirm.len() >= CONFIRM_SESSIONS;
        let refuted = flag
            .filter(|_| fresh)
            .map(|_| self.refuted(&evidence.measure[..seen], evidence));
        let (values, level) = match refuted {
            Some(_) => (
                [&evidence.measure[..seen], &evidence.confirm].concat(),
                self.thresholds.level,
            ),
            None => (evidence.measure[..seen].to_vec(), level),
        };
        let verdict = match (flag, &refuted) {
            (Some(verdict), None | Some(None)) => verdict,
            (Some(_), Some(Some(_))) => Verdict::Unknown,
            (None, _) => self.unflagged(&values, level),
        };
        let mut comparison = self.comparison(evidence, &values, (level, adjusted_p));
        comparison.verdict = verdict;
        comparison.confirmed = refuted.as_ref().map(Option::is_none);
        if verdict == Verdict::Unknown && refuted.is_none() {
            comparison.sessions_needed = self.needed(&values);
        }
        comparison
            .warnings
            .extend(refuted.into_iter().flatten().flatten());
        Standing {
            flagged: flag.is_some(),
            decided: flag.is_some() || verdict == Verdict::Same,
            comparison,
        }
    }

    /// Returns what is to be said of sessions whatever is concluded from them.
    fn comparison(
        &self,
        evidence: &Evidence,
        values: &[f64],
        (level, adjusted_p): (f64, Option<f64>),
    ) -> Comparison {
        let tested = self.family.test(values);
        let mut warnings = evidence.warnings.clone();
        warnings.extend(tested.as_ref().and_then(set_aside));
        let test = tested.map(|tested| tested.test);
        Comparison {
            pair: evidence.pair.clone(),
            metric: evidence.metric,
            verdict: Verdict::Unknown,
            effect: test.map(|test| test.mean).or_else(|| mean(values)),
            interval: test.map(|test| test.interval(level)),
            adjusted_p,
            sd: test.map(|test| test.sd),
            sessions: test.map_or(values.len(), |test| test.count),
            detectable: test.and_then(|test| self.detectable(&test, level)),
            confirmed: None,
            sessions_needed: None,
            warnings,
        }
    }

    /// Returns the least size of an effect that such sessions would have shown.
    fn detectable(&self, test: &TTest, level: f64) -> Option<f64> {
        let wanted = Power {
            level,
            least: self.thresholds.least,
            power: SEEN,
        };
        smallest_effect(test, &wanted)
    }

    /// Returns the verdict that sessions which surely differ from zero call for, if they call for a flag.
    fn flag(&self, first: &Tested) -> Option<Verdict> {
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

    /// Returns what speaks against a flag; nothing where it is confirmed.
    ///
    /// Fresh sessions confirm it when alone they differ from zero at level alpha, with the same sign, and all sessions together
    /// still show an effect worth a flag. Alpha is not divided here: only flagged pairs come to this, and each has passed
    /// the corrected test before. And the solo trials must not surely point the other way.
    fn refuted(&self, measure: &[f64], evidence: &Evidence) -> Option<Vec<Warning>> {
        let all = [measure, &evidence.confirm].concat();
        let tests = [measure, &evidence.confirm, &all].map(|values| self.family.test(values));
        let [Some(first), Some(fresh), Some(all)] = tests.map(|tested| Some(tested?.test)) else {
            return Some(vec![Warning::NotConfirmed]);
        };
        if let Some(solo) = self.solo_against(first.mean, &evidence.alone) {
            return Some(vec![Warning::NotConfirmed, Warning::SoloDisagrees { solo }]);
        }
        let confirmed = fresh.p <= self.rule.alpha
            && fresh.mean.signum().total_cmp(&first.mean.signum()).is_eq()
            && all.mean.abs() >= self.thresholds.least;
        (!confirmed).then(|| vec![Warning::NotConfirmed])
    }

    /// Returns the mean of solo trials that surely point the other way, by an effect worth a flag.
    fn solo_against(&self, effect: f64, alone: &[f64]) -> Option<f64> {
        let test = paired(alone)?;
        let against = -test.mean * effect.signum() >= self.thresholds.least;
        (against && alone.len() >= LEAST_SESSIONS && test.p <= SOLO_LEVEL).then_some(test.mean)
    }

    /// Returns `same` or `unknown`.
    fn unflagged(&self, values: &[f64], level: f64) -> Verdict {
        let within = |tested: Tested| tested.test.within(level, self.thresholds.margin);
        if self.tested(values).is_some_and(within) {
            Verdict::Same
        } else {
            Verdict::Unknown
        }
    }

    /// Returns how many more sessions would decide an unknown pair. Where a flag was refuted the question is no longer one
    /// of number.
    fn needed(&self, values: &[f64]) -> Option<u32> {
        sessions_until(&self.tested(values)?.test, &self.thresholds)
    }
}

/// Returns what decides one pair among `count`. Sizes are logarithms, so that a step and its way back weigh the same.
fn thresholds(rule: &Rule, count: usize) -> Thresholds {
    Thresholds {
        level: rule.alpha / real(count.max(1)),
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
fn warn_of_solo(run: &Run, comparison: &mut Comparison, facts: &Facts) {
    let level = |cell| median(&solo_rates(run, cell, &facts.polluted));
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
