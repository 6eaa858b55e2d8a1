//! Which pairs are decided while a run goes on.

use std::collections::BTreeMap;

use super::judge::Standard;
use super::{Evidence, Verdict};
use crate::matrix::Rule;
use crate::stats::{bounds, level_of, real};

/// Sessions before the first look.
const FIRST: usize = 4;

/// Sessions from one look to the next.
const STEP: usize = 2;

/// A pair that needs no more sessions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Decided {
    /// How many sessions of it the look had seen that decided.
    pub sessions: usize,
    /// What it decided.
    pub verdict: Verdict,
}

/// Returns for each pair what the looks so far decided, with at most `most` sessions of each pair.
///
/// A look is held after 4, 6, 8 … sessions and after the last, once every pair that no look has decided yet has that many.
/// At each, the pairs are judged by the rule of [`super::decide`] with two differences. A pair's level, alpha ÷ the number
/// of pairs not flagged yet, is spent over the looks ([`bounds`]), so that looking often raises no more false alarms than
/// looking once; Holm's steps go through the pairs of one look and on to the next. And `same` asks for the interval at the
/// level of that look, alpha ÷ all pairs spent over the looks. A decided pair stays as it is, whatever is measured later.
pub fn decided(evidence: &[Evidence], rule: &Rule, most: usize) -> Vec<Option<Decided>> {
    let mut decided = vec![None; evidence.len()];
    let looks = looks(most);
    for (place, &sessions) in looks.iter().enumerate() {
        let come = |(pair, decided): (&Evidence, &Option<Decided>)| {
            decided.is_some() || pair.measure.len() >= sessions
        };
        if !std::iter::zip(evidence, &decided).all(come) {
            break;
        }
        let levels = Levels::new(&looks, place);
        let mut look = Look::new(evidence, &decided, rule, (sessions, levels));
        let is_open = |pair: &usize| decided[*pair].is_none();
        let open: Vec<usize> = (0..decided.len()).filter(is_open).collect();
        let flags = decided
            .iter()
            .flatten()
            .filter(|one| one.verdict != Verdict::Same);
        let differing = look.differing(&open, decided.len() - flags.count());
        for pair in open {
            let verdict = look.verdict(pair, differing.contains(&pair));
            decided[pair] = (verdict != Verdict::Unknown).then_some(Decided { sessions, verdict });
        }
    }
    decided
}

/// Returns after how many sessions to look.
fn looks(most: usize) -> Vec<usize> {
    let mut looks: Vec<usize> = (FIRST..most).step_by(STEP).collect();
    looks.push(most);
    looks
}

/// The level that one look may spend of a pair's.
struct Levels {
    times: Vec<f64>,
    place: usize,
    known: BTreeMap<usize, f64>,
}

impl Levels {
    fn new(looks: &[usize], place: usize) -> Self {
        let most = looks.last().copied().unwrap_or(FIRST);
        let time = |sessions: &usize| real(*sessions) / real(most);
        Self {
            times: looks.iter().map(time).collect(),
            place,
            known: BTreeMap::new(),
        }
    }

    /// Returns the level of this look for one pair among `pairs`.
    fn among(&mut self, pairs: usize, alpha: f64) -> f64 {
        let (times, place) = (&self.times, self.place);
        let spend = || level_of(bounds(times, alpha / real(pairs))[place]);
        *self.known.entry(pairs).or_insert_with(spend)
    }
}

/// One look at all pairs.
struct Look<'run> {
    standard: Standard<'run>,
    /// What it has seen of each pair.
    samples: Vec<&'run [f64]>,
    levels: Levels,
}

impl<'run> Look<'run> {
    /// Looks at the first `sessions` of each open pair, and at what the look that decided saw of the others.
    fn new(
        evidence: &'run [Evidence],
        decided: &[Option<Decided>],
        rule: &'run Rule,
        (sessions, mut levels): (usize, Levels),
    ) -> Self {
        let seen = |(pair, decided): (&'run Evidence, &Option<Decided>)| {
            &pair.measure[..decided.map_or(sessions, |decided| decided.sessions)]
        };
        let samples: Vec<&[f64]> = std::iter::zip(evidence, decided).map(seen).collect();
        let mut standard = Standard::learn(samples.iter().copied(), rule);
        standard.thresholds.level = levels.among(evidence.len().max(1), rule.alpha);
        Self {
            standard,
            samples,
            levels,
        }
    }

    /// Returns the pairs of these that surely differ from zero, by Holm's steps among `unflagged` pairs.
    fn differing(&mut self, open: &[usize], unflagged: usize) -> Vec<usize> {
        let p = |pair: usize| {
            self.standard
                .tested(self.samples[pair])
                .map_or(1.0, |t| t.test.p)
        };
        let mut steps: Vec<(f64, usize)> = open.iter().map(|pair| (p(*pair), *pair)).collect();
        steps.sort_by(|left, right| f64::total_cmp(&left.0, &right.0));
        let alpha = self.standard.rule.alpha;
        let mut differing = Vec::new();
        for (p, pair) in steps {
            if p > self.levels.among(unflagged - differing.len(), alpha) {
                break;
            }
            differing.push(pair);
        }
        differing
    }

    /// Returns what is concluded of a pair.
    fn verdict(&self, pair: usize, differs: bool) -> Verdict {
        let sample = self.samples[pair];
        let tested = self.standard.tested(sample).filter(|_| differs);
        match tested.and_then(|tested| self.standard.flag(&tested)) {
            Some(verdict) => verdict,
            None => self.standard.unflagged(sample),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixture::NOISE;
    use super::super::tests::evidence;
    use super::*;

    const RULE: Rule = Rule {
        alpha: 0.05,
        min_effect: 0.01,
        same_within: 0.02,
        confirm: true,
    };

    /// Returns the noise of so many sessions of one pair, other noise for each `shift`, around an effect.
    fn around(effect: f64, sessions: usize, shift: usize) -> Evidence {
        let noise = NOISE.iter().cycle().skip(shift);
        evidence(noise.take(sessions).map(|noise| effect + noise).collect())
    }

    #[test]
    fn looks_are_held_from_4_on_at_every_second_session_and_at_the_last() {
        assert_eq!(looks(12), [4, 6, 8, 10, 12]);
        assert_eq!(looks(9), [4, 6, 8, 9]);
        assert_eq!(looks(3), [3]);
    }

    #[test]
    fn a_great_effect_is_decided_at_once_and_a_small_one_later() {
        let pairs = [
            around(-0.2, 12, 0),
            around(-0.025, 12, 1),
            around(0.0, 12, 2),
        ];
        let decided = decided(&pairs, &RULE, 12);
        let [Some(great), Some(small), Some(none)] = decided[..] else {
            panic!("{decided:?}");
        };
        assert_eq!((great.sessions, great.verdict), (4, Verdict::Regression));
        assert_eq!(small.verdict, Verdict::Regression);
        assert!(small.sessions > 4);
        assert_eq!(none.verdict, Verdict::Same);
    }

    #[test]
    fn a_look_waits_for_every_open_pair_and_not_for_a_decided_one() {
        let pairs = [around(-0.2, 4, 0), around(0.0, 3, 1)];
        assert_eq!(decided(&pairs, &RULE, 12), [None, None]);
        let pairs = [around(-0.2, 4, 0), around(0.0, 12, 1)];
        assert!(decided(&pairs, &RULE, 12).iter().all(Option::is_some));
    }

    #[test]
    fn what_is_decided_stays_whatever_is_measured_later() {
        let pairs = [
            around(-0.2, 12, 0),
            around(-0.025, 12, 1),
            around(0.0, 12, 2),
        ];
        let whole = decided(&pairs, &RULE, 12);
        for held in 4..12 {
            let cut = pairs
                .clone()
                .map(|pair| evidence(pair.measure[..held].to_vec()));
            for (then, at_last) in std::iter::zip(decided(&cut, &RULE, 12), &whole) {
                assert!(then.is_none() || then == *at_last);
            }
        }
    }

    #[test]
    fn a_run_with_one_look_is_judged_by_the_rule_itself() {
        let pairs = [around(-0.02, 8, 0), around(0.004, 8, 1), around(0.03, 8, 3)];
        // 4 sessions are the first look already, so a run of at most 4 has but one.
        let cut: Vec<Evidence> = pairs
            .map(|pair| evidence(pair.measure[..4].to_vec()))
            .to_vec();
        let once = super::super::decide(cut.clone(), &RULE);
        for (look, once) in std::iter::zip(decided(&cut, &RULE, 4), once) {
            let verdict = look.map_or(Verdict::Unknown, |decided| decided.verdict);
            assert_eq!(verdict, once.verdict);
        }
    }

    #[test]
    fn no_pairs_are_no_decisions() {
        assert_eq!(decided(&[], &RULE, 12), []);
    }
}
