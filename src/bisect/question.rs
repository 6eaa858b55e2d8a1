//! What to ask next: what tells most in a second. Pure.

use rand::SeedableRng;
use rand::seq::IndexedRandom;
use rand_pcg::Pcg64;

use super::costs::{Costs, State, buildable};
use super::information::Gain;
use super::lineage::Lineage;
use super::posterior::Posterior;

/// The sum of the two differences of a candidate is so many times as far from that of the other side, in units of its noise, as one
/// difference alone: twice the effect, with three times the variance.
const OF_BOTH: f64 = 2.0 / 1.732_050_807_568_877_2;

/// Questions whose worth differs by less than this part are alike.
const ALIKE: f64 = 1e-6;

/// Who is in a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// The ends.
    Ends,
    /// A candidate and the good end.
    Good,
    /// A candidate and the bad end.
    Bad,
    /// A candidate and both ends.
    Both,
}

/// The forms that show whether the ends differ.
pub(super) const OF_ENDS: [Form; 2] = [Form::Ends, Form::Both];

/// All of them.
pub(super) const ALL: [Form; 4] = [Form::Ends, Form::Good, Form::Bad, Form::Both];

/// A question.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Question {
    form: Form,
    /// The candidate; the bad end where there is none.
    pub(super) candidate: usize,
    /// What it tells.
    pub(super) bits: f64,
    /// What it tells in a second, build and the chance that this fails counted.
    worth: f64,
}

impl Question {
    /// Returns who is in its session.
    pub(super) fn members(&self, last: usize) -> Vec<usize> {
        match self.form {
            Form::Ends => vec![0, last],
            Form::Good => vec![0, self.candidate],
            Form::Bad => vec![self.candidate, last],
            Form::Both => vec![0, self.candidate, last],
        }
    }
}

/// All that a question is chosen by.
pub(super) struct Asking<'search> {
    pub(super) lineage: &'search Lineage,
    pub(super) posterior: &'search Posterior,
    pub(super) states: &'search [State],
    pub(super) costs: &'search Costs,
    /// What ties are drawn from.
    pub(super) seed: u64,
}

impl Asking<'_> {
    /// Returns the question of one of these forms that tells most in a second.
    ///
    /// It tells on which side of the culprit a candidate stands, and the more forms the more of whether there is a change.
    /// Effect and noise are taken to be as likely whoever the culprit is.
    pub(super) fn best(&self, forms: &[Form]) -> Option<Question> {
        self.best_if(forms, &self.chances())
    }

    /// Returns the commit that would be asked after this one, if it turns out as is likelier and that one is not built yet.
    pub(super) fn ahead(&self, forms: &[Form], first: usize) -> Option<usize> {
        let chances = self.chances();
        let is_bad = self.chance_of_bad(first, &chances) > 0.5;
        let still = |(suspect, chance): (usize, &f64)| {
            let is_left = self.lineage.holds(first, suspect) == is_bad;
            if is_left { *chance } else { 0.0 }
        };
        let left: Vec<f64> = chances.iter().enumerate().map(still).collect();
        let all: f64 = left.iter().sum();
        let left: Vec<f64> = left.iter().map(|chance| chance / all).collect();
        let next = self.best_if(forms, &left)?.candidate;
        (next != first && self.states[next] == State::Unknown).then_some(next)
    }

    /// Returns the chance of each commit that it is the culprit, if there is a change.
    fn chances(&self) -> Vec<f64> {
        let culprits = self.posterior.culprits.iter();
        let change = self.posterior.change();
        culprits.map(|chance| chance / change).collect()
    }

    fn chance_of_bad(&self, candidate: usize, chances: &[f64]) -> f64 {
        let behind = |suspect: &usize| self.lineage.holds(candidate, *suspect);
        let behind = (1..=candidate).filter(behind);
        behind.map(|suspect| chances[suspect]).sum()
    }

    fn best_if(&self, forms: &[Form], chances: &[f64]) -> Option<Question> {
        let questions = self.questions(forms, chances);
        let best = questions.iter().map(|one| one.worth).fold(0.0, f64::max);
        let alike = |one: &&Question| one.worth > 0.0 && one.worth >= best * (1.0 - ALIKE);
        let alike: Vec<&Question> = questions.iter().filter(alike).collect();
        let mut random = Pcg64::seed_from_u64(self.seed);
        alike.choose(&mut random).map(|one| **one)
    }

    fn questions(&self, forms: &[Form], chances: &[f64]) -> Vec<Question> {
        let gains = [1.0, OF_BOTH].map(|times| Gain::of(&self.posterior.changes, times));
        let buildable = buildable(self.states);
        let last = self.lineage.last();
        let of = |candidate: usize| {
            let bad = self.chance_of_bad(candidate, chances);
            let question = |form: &Form| {
                let bits = self.bits(*form, (candidate, bad), &gains);
                self.question(*form, (candidate, bits), buildable[candidate])
            };
            let with = forms
                .iter()
                .filter(|form| (**form == Form::Ends) == (candidate == last));
            with.map(question).collect::<Vec<_>>()
        };
        self.lineage.suspects().into_iter().flat_map(of).collect()
    }

    /// Returns what a question tells. A candidate that may stand at a level of its own will stand there again: with that chance
    /// it tells nothing of the culprit that it has not told yet.
    fn bits(&self, form: Form, (candidate, bad): (usize, f64), [one, both]: &[Gain; 2]) -> f64 {
        let odd = self.posterior.odd.get(&candidate).copied();
        let [odd_and_good, odd_and_bad] = odd.unwrap_or_default();
        let usual = (1.0 - odd_and_good - odd_and_bad).max(f64::MIN_POSITIVE);
        let yes = (bad - odd_and_bad).max(0.0) / usual;
        let trust = self.posterior.change() * usual;
        let of_ends = one.bits(self.posterior.none);
        match form {
            Form::Ends => of_ends,
            // A candidate shows the effect only against the end that it is unlike.
            Form::Good => trust * one.bits(yes) + bad * of_ends,
            Form::Bad => trust * one.bits(yes) + (1.0 - bad) * of_ends,
            Form::Both => trust * both.bits(yes) + of_ends,
        }
    }

    fn question(&self, form: Form, (candidate, bits): (usize, f64), buildable: f64) -> Question {
        let members = match form {
            Form::Ends | Form::Good | Form::Bad => 2,
            Form::Both => 3,
        };
        let build = match self.states[candidate] {
            State::Unknown => self.costs.build(),
            State::Built | State::Gap => 0.0,
        };
        let seconds = buildable * self.costs.session(members) + build;
        Question {
            form,
            candidate,
            bits,
            worth: bits * buildable / seconds.max(f64::MIN_POSITIVE),
        }
    }
}
