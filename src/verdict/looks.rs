//! Looks: pairs are judged while a run goes on, and one that is decided gets no more sessions. Pure.

use std::collections::BTreeMap;

use super::judge::{CONFIRM_SESSIONS, Standard, Standing};
use super::{Comparison, Evidence, Metric, Verdict};
use crate::matrix::Rule;
use crate::stats::{Look, bounds, level_of, real};

/// Sessions from one look to the next.
const STEP: usize = 2;

/// When the pairs of a run are looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Looks {
    /// Sessions of a pair before the first look at it.
    pub least: usize,
    /// Sessions of a pair at the last one.
    pub most: usize,
    /// Whether nothing more will be measured: then each pair that is not decided is looked at once more, for the last time.
    pub over: bool,
}

impl Looks {
    /// Returns a single look, at whatever there is.
    pub const fn once() -> Self {
        Self {
            least: usize::MAX,
            most: usize::MAX,
            over: true,
        }
    }

    /// Returns how many sessions the next look waits for; none after the last.
    fn after(&self, seen: usize) -> Option<usize> {
        if seen >= self.most {
            return None;
        }
        let next = if seen < self.least {
            self.least
        } else {
            seen + STEP - (seen - self.least) % STEP
        };
        Some(next.min(self.most))
    }

    /// Returns after how many launched sessions a pair is given up, whatever they gave.
    pub(crate) fn most_attempts(&self) -> usize {
        self.most.saturating_mul(2).saturating_add(2)
    }
}

/// What is concluded of a pair by one metric, and what is still to be held of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Judged {
    /// The conclusion.
    pub comparison: Comparison,
    /// Further sessions that the next look waits for; 0 when it is decided, or waits for others.
    pub wanted: usize,
    /// Further sessions that it may get at most.
    pub at_most: usize,
    /// Fresh sessions that are to confirm it, those already held included; 0 where nothing is flagged.
    pub fresh: usize,
}

/// Judges all pairs of a run together, each by one metric or several.
///
/// A look is held at the pairs that no look has decided yet once each has `least` sessions, then at every second further
/// one, and at `most`; one that cannot get so many is looked at for the last time with what it has. At each look:
///
/// - the sessions seen so far say how much a pair varies from session to session, for each metric of its own (a
///   [`Family`](crate::stats::Family)); sessions far outside the others are set aside; a paired t test has its variance
///   moderated by all pairs.
/// - With m pairs × metrics of which f are flagged already, a pair's level is alpha ÷ (m − f), spent over its looks
///   ([`bounds`]). Holm's steps go through the pairs of one look and on to the next: a true null hypothesis can only be
///   rejected first while m − f is at least the number of true ones, and what is spent on each is at most alpha ÷ that,
///   so all looks together raise a false alarm with chance alpha at most, in whatever order pairs are looked at (Bartroff
///   and Song 2014).
/// - `same` asks for the interval at the level of this look, alpha ÷ m spent over the looks.
/// - A pair that even the last look would not decide, if mean and spread stayed as seen, is put off until nothing else is open.
///
/// What one look has decided no later one changes. With [`Looks::once`] this is Holm's correction of plain tests.
pub fn decide(evidence: &[Evidence], rule: &Rule, looks: Looks) -> Vec<Judged> {
    decide_with(evidence, rule, looks, &mut Spending::default())
}

/// Judges as [`decide`] does, and keeps what it worked out for the next run.
pub fn decide_with(
    evidence: &[Evidence],
    rule: &Rule,
    looks: Looks,
    spending: &mut Spending,
) -> Vec<Judged> {
    let mut course = Course {
        evidence,
        rule,
        looks,
        places: vec![Place::default(); evidence.len()],
        spending,
    };
    while let Some(due) = course.due() {
        course.look(&due);
    }
    if looks.over {
        let last = course.last_looks();
        course.look(&last);
    }
    course.conclude()
}

/// Levels of looks that were worked out before. They depend on no measurement, and take long to integrate.
#[derive(Debug, Clone, Default)]
pub struct Spending {
    levels: BTreeMap<Spent, f64>,
}

/// The looks held, whether the last of these is the last there is, how many sessions that would have at most, and the
/// bits of the level that all looks share.
type Spent = (Vec<usize>, bool, usize, u64);

/// How far a pair has come by one metric.
#[derive(Debug, Clone, Default)]
struct Place {
    /// Sessions seen at each look so far.
    seen: Vec<usize>,
    /// Whether the last of these looks was the last there is.
    ended: bool,
    /// Whether other pairs go first.
    put_off: bool,
    /// What the last look said.
    said: Option<Standing>,
    /// Whether that stays.
    decided: bool,
}

/// A look at one pair that is due: which, how many sessions it sees, and whether it is the last.
#[derive(Debug, Clone, Copy)]
struct Due {
    place: usize,
    sessions: usize,
    last: bool,
}

/// The looks of a run.
struct Course<'run> {
    evidence: &'run [Evidence],
    rule: &'run Rule,
    looks: Looks,
    places: Vec<Place>,
    spending: &'run mut Spending,
}

impl<'run> Course<'run> {
    /// Returns the looks that are due now; none while one of the pairs to be looked at has too few sessions.
    fn due(&mut self) -> Option<Vec<Due>> {
        loop {
            let due = self.due_among(|place| !place.put_off)?;
            if !due.is_empty() {
                return Some(due);
            }
            let off = |place: &&mut Place| place.put_off && !place.decided;
            let mut recalled = 0;
            for place in self.places.iter_mut().filter(off) {
                place.put_off = false;
                recalled += 1;
            }
            if recalled == 0 {
                return None;
            }
        }
    }

    /// Returns the looks at some of the open pairs; none if one of them has to wait.
    fn due_among(&self, wanted: impl Fn(&Place) -> bool) -> Option<Vec<Due>> {
        let mut due = Vec::new();
        for place in self.open().filter(|place| wanted(&self.places[*place])) {
            let Some(next) = self.looks.after(self.seen(place)) else {
                continue;
            };
            let has = self.evidence[place].measure.len();
            if has >= next {
                due.push(Due {
                    place,
                    sessions: next,
                    last: next == self.looks.most,
                });
            } else if self.is_exhausted(place) {
                due.push(Due {
                    place,
                    sessions: has,
                    last: true,
                });
            } else if !self.lags(place, next) {
                return None;
            }
        }
        Some(due)
    }

    /// Returns a last look at each open pair.
    fn last_looks(&self) -> Vec<Due> {
        let last = |place: usize| Due {
            place,
            sessions: self.evidence[place].measure.len(),
            last: true,
        };
        self.open().map(last).collect()
    }

    fn open(&self) -> impl Iterator<Item = usize> {
        (0..self.places.len()).filter(|place| !self.places[*place].decided)
    }

    /// Returns how many sessions the last look at a pair has seen.
    fn seen(&self, place: usize) -> usize {
        self.places[place].seen.last().copied().unwrap_or(0)
    }

    /// Returns how many sessions of a pair are shown: all, until a look decides.
    fn shown(&self, place: usize) -> usize {
        if self.places[place].decided {
            self.seen(place)
        } else {
            self.evidence[place].measure.len()
        }
    }

    /// Returns whether a pair was launched so often that it is tried no more.
    fn is_exhausted(&self, place: usize) -> bool {
        self.evidence[place].attempts >= self.looks.most_attempts()
    }

    /// Returns whether it is only this further metric that was not measured in some of a pair's sessions: nobody waits
    /// for that.
    fn lags(&self, place: usize, next: usize) -> bool {
        let this = &self.evidence[place];
        let further = self.evidence[..place]
            .iter()
            .any(|other| other.pair == this.pair);
        further && this.attempts >= next
    }

    /// Holds looks.
    fn look(&mut self, due: &[Due]) {
        for one in due {
            let place = &mut self.places[one.place];
            if place.seen.last() == Some(&one.sessions) {
                place.seen.pop();
            }
            place.seen.push(one.sessions);
            place.ended = one.last;
        }
        let standards = self.standards(Self::seen);
        for (place, adjusted_p) in self.adjusted(due, &standards) {
            let level = self.level(place, self.evidence.len());
            let this = &self.evidence[place];
            let said =
                standards[&this.metric].conclude(this, self.seen(place), (level, Some(adjusted_p)));
            self.take(place, said);
        }
    }

    /// Takes in what a look said.
    fn take(&mut self, place: usize, said: Standing) {
        let left = self.looks.most - self.seen(place);
        let hopeless = said.comparison.sessions_needed;
        let hopeless = hopeless.is_none_or(|needed| needed as usize > left);
        let here = &mut self.places[place];
        here.decided = here.ended || said.decided;
        here.put_off = !here.decided && hopeless;
        here.said = Some(said);
    }

    /// Returns by metric what pairs are held to, from so many sessions of each.
    fn standards(
        &self,
        sessions: impl Fn(&Self, usize) -> usize,
    ) -> BTreeMap<Metric, Standard<'run>> {
        let mut samples: BTreeMap<Metric, Vec<&[f64]>> = BTreeMap::new();
        for (place, evidence) in self.evidence.iter().enumerate() {
            let seen = &evidence.measure[..sessions(self, place)];
            samples.entry(evidence.metric).or_default().push(seen);
        }
        let pairs = self.evidence.len();
        let learn = |(metric, samples): (Metric, Vec<&[f64]>)| {
            (metric, Standard::learn(&samples, pairs, self.rule))
        };
        samples.into_iter().map(learn).collect()
    }

    /// Returns for each pair that is looked at its p, adjusted so that it is at most alpha where the pair surely differs
    /// from zero, by Holm's steps among those that are not flagged yet.
    fn adjusted(
        &mut self,
        due: &[Due],
        standards: &BTreeMap<Metric, Standard<'_>>,
    ) -> Vec<(usize, f64)> {
        let flagged = self
            .places
            .iter()
            .filter(|place| place.is_flagged())
            .count();
        let among = self.evidence.len() - flagged;
        let mut steps: Vec<(f64, usize)> = Vec::new();
        for one in due {
            let this = &self.evidence[one.place];
            let tested = standards[&this.metric].tested(&this.measure[..one.sessions]);
            let p = tested.map_or(1.0, |tested| tested.test.p);
            // As the level shrinks with the number that shares it, the order hardly depends on that number.
            steps.push((
                p / self.level(one.place, among) * self.rule.alpha,
                one.place,
            ));
        }
        steps.sort_by(|left, right| f64::total_cmp(&left.0, &right.0));
        let mut greatest = 0.0_f64;
        let mut adjusted = Vec::new();
        for (step, (of_all, place)) in steps.into_iter().enumerate() {
            let left = among - step;
            // Once one does not differ none of the others does, and how its p is adjusted only shows how far it is from that.
            let scaled = if greatest > self.rule.alpha {
                of_all * real(left) / real(among)
            } else {
                of_all * self.level(place, among) / self.level(place, left)
            };
            greatest = greatest.max(scaled.min(1.0));
            adjusted.push((place, greatest));
        }
        adjusted
    }

    /// Returns the level of the last look at a pair, where so many share alpha.
    fn level(&mut self, place: usize, among: usize) -> f64 {
        let here = &self.places[place];
        let (most, alpha) = (real(self.looks.most), self.rule.alpha / real(among));
        let [before @ .., last] = here.seen.as_slice() else {
            return alpha;
        };
        if before.is_empty() && here.ended {
            return alpha;
        }
        let key = (
            here.seen.clone(),
            here.ended,
            self.looks.most,
            alpha.to_bits(),
        );
        *self.spending.levels.entry(key).or_insert_with(|| {
            let at = |&seen: &usize| Look {
                seen: real(seen),
                time: real(seen) / most,
            };
            let mut looks: Vec<Look> = before.iter().map(at).collect();
            looks.push(Look {
                time: if here.ended { 1.0 } else { at(last).time },
                ..at(last)
            });
            bounds(&looks, alpha).last().copied().map_or(0.0, level_of)
        })
    }

    /// Returns what is concluded of all pairs. Of one that is not decided all sessions are shown, with the interval at
    /// the level of the last look, or of the first where none was held.
    fn conclude(mut self) -> Vec<Judged> {
        let shown = self.standards(Self::shown);
        let waiting = !self.looks.over;
        (0..self.evidence.len())
            .map(|place| {
                let at_most = self.at_most(place);
                let wanted = self.wanted(place).min(at_most);
                let said = self.said(place, &shown);
                Judged {
                    wanted: if waiting { wanted } else { 0 },
                    at_most: if waiting { at_most } else { 0 },
                    fresh: self.fresh(place, &said),
                    comparison: said.comparison,
                }
            })
            .collect()
    }

    fn said(&mut self, place: usize, shown: &BTreeMap<Metric, Standard<'_>>) -> Standing {
        let here = &mut self.places[place];
        let last = here.said.take();
        let adjusted_p = match last {
            Some(said) if here.decided => return said,
            Some(said) => said.comparison.adjusted_p,
            None => None,
        };
        if here.seen.is_empty() {
            here.seen.push(self.looks.least);
        }
        let level = self.level(place, self.evidence.len());
        let this = &self.evidence[place];
        let mut said = shown[&this.metric].conclude(this, this.measure.len(), (level, None));
        said.comparison.verdict = Verdict::Unknown;
        said.comparison.adjusted_p = adjusted_p;
        said
    }

    /// Returns how many fresh sessions are to confirm a flag: as many as have raised it.
    fn fresh(&self, place: usize, said: &Standing) -> usize {
        if said.flagged && self.rule.confirm {
            self.seen(place).max(CONFIRM_SESSIONS)
        } else {
            0
        }
    }

    /// Returns how many more sessions the next look at a pair waits for.
    fn wanted(&self, place: usize) -> usize {
        let here = &self.places[place];
        if here.decided || here.put_off {
            return 0;
        }
        let next = self.looks.after(self.seen(place)).unwrap_or(0);
        if self.lags(place, next) {
            return 0;
        }
        next.saturating_sub(self.evidence[place].measure.len())
    }

    /// Returns how many more sessions a pair may get.
    fn at_most(&self, place: usize) -> usize {
        let this = &self.evidence[place];
        if self.places[place].decided {
            return 0;
        }
        let left = self.looks.most_attempts().saturating_sub(this.attempts);
        self.looks.most.saturating_sub(this.measure.len()).min(left)
    }
}

impl Place {
    /// Returns whether a look has flagged the pair, whatever fresh sessions said of that since.
    fn is_flagged(&self) -> bool {
        self.decided && self.said.as_ref().is_some_and(|said| said.flagged)
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{NOISE, RULE};
    use super::super::tests::evidence;
    use super::*;

    const LOOKS: Looks = Looks {
        least: 4,
        most: 12,
        over: false,
    };

    /// Returns the noise of so many sessions of one pair, other noise for each `shift`, around an effect.
    fn around(effect: f64, sessions: usize, shift: usize) -> Evidence {
        let noise = NOISE.iter().cycle().skip(shift);
        evidence(noise.take(sessions).map(|noise| effect + noise).collect())
    }

    /// Three pairs: one with a great step, one with a small one, one with none.
    fn three() -> [Evidence; 3] {
        [
            around(-0.2, 12, 0),
            around(-0.025, 12, 1),
            around(0.0, 12, 2),
        ]
    }

    fn cut(evidence: &Evidence, sessions: usize) -> Evidence {
        Evidence {
            measure: evidence.measure[..sessions].to_vec(),
            attempts: sessions,
            ..evidence.clone()
        }
    }

    fn verdicts(judged: &[Judged]) -> Vec<Verdict> {
        judged.iter().map(|one| one.comparison.verdict).collect()
    }

    #[test]
    fn looks_are_held_from_the_least_on_at_every_second_session_and_at_the_last() {
        let all = |least, most| {
            let looks = Looks {
                least,
                most,
                over: false,
            };
            std::iter::successors(looks.after(0), |seen| looks.after(*seen)).collect::<Vec<_>>()
        };
        assert_eq!(all(4, 12), [4, 6, 8, 10, 12]);
        assert_eq!(all(4, 9), [4, 6, 8, 9]);
        assert_eq!(all(8, 8), [8]);
        assert_eq!(all(5, 3), [3]);
    }

    #[test]
    fn a_great_effect_is_decided_at_once_and_a_small_one_later() {
        let judged = decide(&three(), &RULE, LOOKS);
        let [great, small, none] = &judged[..] else {
            panic!("{judged:?}");
        };
        let of = |one: &Judged| (one.comparison.verdict, one.comparison.sessions);
        assert_eq!(of(great), (Verdict::Regression, 4));
        assert_eq!(of(small).0, Verdict::Regression);
        assert!(of(small).1 > 4);
        assert_eq!(of(none).0, Verdict::Same);
        assert_eq!((great.wanted, great.at_most, great.fresh), (0, 0, 4));
        assert_eq!((small.fresh, none.fresh), (of(small).1, 0));
    }

    #[test]
    fn a_look_waits_for_every_open_pair_and_not_for_a_decided_one() {
        let judged = decide(&[around(-0.2, 4, 0), around(0.0, 3, 1)], &RULE, LOOKS);
        assert_eq!(verdicts(&judged), [Verdict::Unknown; 2]);
        assert_eq!((judged[0].wanted, judged[1].wanted), (0, 1));
        assert_eq!((judged[0].at_most, judged[1].at_most), (8, 9));
        let judged = decide(&[around(-0.2, 4, 0), around(0.0, 12, 1)], &RULE, LOOKS);
        assert_eq!(verdicts(&judged), [Verdict::Regression, Verdict::Same]);
    }

    #[test]
    fn nobody_waits_for_a_pair_that_was_tried_often_enough() {
        let mut tried = around(0.0, 5, 1);
        tried.attempts = 26;
        let judged = decide(&[around(-0.2, 4, 0), tried], &RULE, LOOKS);
        assert_eq!(judged[0].comparison.verdict, Verdict::Regression);
        assert_eq!(judged[1].comparison.sessions, 5);
        assert_eq!((judged[1].wanted, judged[1].at_most), (0, 0));
    }

    #[test]
    fn what_is_decided_stays_whatever_is_measured_later() {
        let whole = decide(&three(), &RULE, LOOKS);
        for held in 4..12 {
            let sofar = three().map(|pair| cut(&pair, held));
            for (then, at_last) in std::iter::zip(decide(&sofar, &RULE, LOOKS), &whole) {
                let open = then.at_most > 0;
                assert!(open || then.comparison == at_last.comparison, "{held}");
            }
        }
    }

    #[test]
    fn a_pair_that_even_the_last_look_would_not_decide_waits_for_the_others() {
        let wild: Vec<f64> = NOISE.iter().map(|noise| noise * 30.0).collect();
        let pairs = [evidence(wild[..4].to_vec()), around(-0.02, 4, 1)];
        let judged = decide(&pairs, &RULE, LOOKS);
        assert_eq!((judged[0].wanted, judged[0].at_most), (0, 8));
        assert_eq!(judged[1].wanted, 2);
        // Once nothing else is open it goes on.
        let pairs = [evidence(wild[..4].to_vec()), around(0.0, 12, 1)];
        let judged = decide(&pairs, &RULE, LOOKS);
        assert_eq!((judged[0].wanted, judged[1].at_most), (2, 0));
    }

    #[test]
    fn when_a_run_ends_each_open_pair_is_looked_at_with_what_it_has() {
        let over = Looks {
            over: true,
            ..LOOKS
        };
        // Five sessions are one more than the first look has seen.
        let pairs = [around(-0.025, 5, 1), around(0.0, 5, 2)];
        let judged = decide(&pairs, &RULE, over);
        let open = decide(&pairs, &RULE, LOOKS);
        assert_eq!(open[0].comparison.verdict, Verdict::Unknown);
        assert!(judged[0].comparison.adjusted_p <= open[0].comparison.adjusted_p);
        assert!(judged.iter().all(|one| one.wanted == 0 && one.at_most == 0));
        let width = |one: &Judged| one.comparison.interval.map(|(low, high)| high - low);
        assert!(width(&judged[1]) < width(&open[1]));
    }

    #[test]
    fn a_run_with_one_look_is_judged_by_holms_correction_of_plain_tests() {
        let pairs = [around(-0.02, 8, 0), around(0.004, 8, 1), around(0.03, 8, 3)];
        let samples: Vec<&[f64]> = pairs.iter().map(|pair| pair.measure.as_slice()).collect();
        let standard = Standard::learn(&samples, 3, &RULE);
        let p = samples
            .iter()
            .map(|sample| standard.tested(sample).unwrap().test.p);
        let wanted = crate::stats::holm(&p.collect::<Vec<_>>());
        for looks in [
            Looks::once(),
            Looks {
                least: 8,
                most: 8,
                over: false,
            },
        ] {
            let judged = decide(&pairs, &RULE, looks);
            for (one, wanted) in std::iter::zip(judged, &wanted) {
                let got = one.comparison.adjusted_p.unwrap();
                assert!((got - wanted).abs() < 1e-12 * wanted, "{got} {wanted}");
            }
        }
    }

    #[test]
    fn a_second_metric_has_noise_of_its_own_and_shares_the_level() {
        let second = |pair: &Evidence| Evidence {
            metric: Metric::Memory,
            measure: pair.measure.iter().map(|value| value / 100.0).collect(),
            ..pair.clone()
        };
        let pairs = [around(-0.004, 12, 0), around(0.0, 12, 2)];
        let both: Vec<Evidence> = pairs
            .iter()
            .cloned()
            .chain(pairs.iter().map(second))
            .collect();
        let alone = decide(&pairs, &RULE, Looks::once());
        let with = decide(&both, &RULE, Looks::once());
        let effect = |one: &Judged| one.comparison.effect;
        assert_eq!(effect(&alone[0]), effect(&with[0]));
        assert!(with[0].comparison.adjusted_p > alone[0].comparison.adjusted_p);
        assert!(with[2].comparison.sd.unwrap() < with[0].comparison.sd.unwrap() / 50.0);
    }

    #[test]
    fn no_pairs_are_no_decisions() {
        assert_eq!(decide(&[], &RULE, LOOKS), []);
    }
}
