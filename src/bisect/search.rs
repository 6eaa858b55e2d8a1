//! The search itself: a fold of answers, and what follows from it. Pure.

use std::collections::BTreeSet;
use std::iter;

use super::classes::{Class, around, classes, entropy, range};
use super::costs::{Costs, State};
use super::ends::Looks;
use super::evidence::Evidence;
use super::lineage::Lineage;
use super::posterior::{Posterior, posterior};
use super::question::{ALL, Asking, Form, OF_ENDS, Question};
use super::reading::reading;
use super::sandwich::{Outcome, Sandwich};
use super::{Answer, Culprit, Effect, Ending, Odds, Settings, Spent, Stage, Step, Unresolved, Why};
use crate::stats::real;

/// After so many sessions in a row without two numbers to compare the search gives up.
const MOST_EMPTY: usize = 4;

/// A commit that was launched so often in a row and gave no number, where others did, is taken for a gap.
const MOST_MISSES: usize = 3;

/// Which part of the doubt that may be left the search itself may leave; the rest is for the fresh sessions at its end.
const OF_SEARCH: f64 = 0.5;

/// Which part of it may be left of a change when none is claimed: the chance is looked at after every session, and
/// would be passed by accident too often.
const OF_NOTHING: f64 = 0.2;

/// Sessions of both ends before it is claimed that there is no change: a few may lie close together by accident.
const LEAST_FOR_NOTHING: usize = 8;

/// A commit that stands at a level of its own with a chance of more than this is no witness.
const ODD: f64 = 0.5;

/// A search is futile when it is expected to take so many times the sessions that are left.
const FUTILE: f64 = 2.0;

/// A search for the commit that made it slower.
///
/// Its state is the fold of the answers, so one that was killed goes on where it was if it is given them again.
#[derive(Debug, Clone)]
pub struct Search {
    lineage: Lineage,
    settings: Settings,
    looks: Looks,
    states: Vec<State>,
    costs: Costs,
    evidence: Evidence,
    posterior: Posterior,
    /// The levels of the sessions that confirm.
    fresh: Vec<Vec<(usize, f64)>>,
    /// Classes that those contradicted, and the log of how many times likelier these make them; far below 0.
    rejected: Vec<(Vec<usize>, f64)>,
    /// Whether the ends were found to differ.
    differ: bool,
    /// Of each commit, how often in a row it was launched and gave no number.
    misses: Vec<usize>,
    /// Sessions in a row without two numbers.
    empty: usize,
    spent: Spent,
    answers: u64,
}

impl Search {
    /// Begins a search.
    pub fn new(lineage: Lineage, settings: Settings) -> Self {
        let evidence = Evidence::default();
        Self {
            looks: Looks::new(settings.most_sessions, settings.certainty),
            states: vec![State::Unknown; lineage.count()],
            costs: Costs::default(),
            posterior: posterior(&lineage, &evidence, settings.least_effect),
            evidence,
            fresh: Vec::new(),
            rejected: Vec::new(),
            differ: false,
            misses: vec![0; lineage.count()],
            empty: 0,
            spent: Spent::default(),
            answers: 0,
            lineage,
            settings,
        }
    }

    /// Takes in what came of a step.
    pub fn answer(&mut self, answer: &Answer) {
        self.answers += 1;
        match answer {
            Answer::Built { commit, seconds } => {
                self.states[*commit] = State::Built;
                self.costs.builds.push(*seconds);
            }
            Answer::Gap { commit } => self.states[*commit] = State::Gap,
            Answer::Session {
                confirm,
                members,
                seconds,
                levels,
            } => {
                self.costs.sessions.push((members.len(), *seconds));
                self.count(*confirm, members.len());
                self.miss(members, levels);
                if *confirm {
                    self.fresh.push(levels.clone());
                    self.reject();
                } else {
                    self.read(levels);
                }
            }
        }
    }

    fn count(&mut self, confirm: bool, launches: usize) {
        let count = match (confirm, self.differ) {
            (true, _) => &mut self.spent.confirm,
            (false, true) => &mut self.spent.search,
            (false, false) => &mut self.spent.ends,
        };
        count.sessions += 1;
        count.launches += launches;
    }

    /// Counts who gave no number.
    fn miss(&mut self, members: &[usize], levels: &[(usize, f64)]) {
        self.empty = if levels.len() < 2 { self.empty + 1 } else { 0 };
        if levels.is_empty() {
            return;
        }
        for member in members {
            let has_one = levels.iter().any(|(commit, _)| commit == member);
            let misses = if has_one { 0 } else { self.misses[*member] + 1 };
            self.misses[*member] = misses;
            if misses >= MOST_MISSES {
                self.states[*member] = State::Gap;
            }
        }
    }

    fn read(&mut self, levels: &[(usize, f64)]) {
        if let Some((candidate, reading)) = reading(levels, self.lineage.last()) {
            self.evidence.add(candidate, reading);
            self.differ |= self.looks.differ(&self.evidence.falls);
            let least = self.settings.least_effect;
            self.posterior = posterior(&self.lineage, &self.evidence, least);
            for (members, log) in &self.rejected {
                self.posterior.reweigh(members, *log);
            }
        }
    }

    /// Turns from a class that fresh sessions have contradicted to the others, once from each.
    fn reject(&mut self) {
        let Some(class) = self.suspected() else {
            return;
        };
        let sandwich = self.sandwich(&class);
        let against = sandwich.contradiction(&self.posterior, self.settings.certainty);
        let is_known = self.rejected.iter().any(|one| one.0 == class.members);
        if let (Some(log), false) = (against, is_known) {
            self.posterior.reweigh(&class.members, log);
            self.rejected.push((class.members, log));
        }
    }

    /// Returns what to do next. It follows from the answers so far, and where several questions are alike from the seed.
    pub fn next(&self) -> Step {
        if let Some(why) = self.broken() {
            return self.unresolved(why);
        }
        let missing = self.unbuilt(&[0, self.lineage.last()]);
        if !missing.is_empty() {
            return Step::Build(missing);
        }
        let is_over = self.spent.total().sessions >= self.settings.most_sessions;
        match self.step() {
            Step::Build(_) | Step::Race(_) | Step::Confirm(_) if is_over => {
                self.unresolved(Why::TooManySessions)
            }
            step @ (Step::Build(_) | Step::Race(_) | Step::Confirm(_) | Step::End(_)) => step,
        }
    }

    fn step(&self) -> Step {
        let odds = self.no_change();
        let falls = &self.evidence.falls;
        let is_alike = falls.len() >= LEAST_FOR_NOTHING && odds >= self.allow(OF_NOTHING);
        let alike = || self.looks.alike(falls, odds, self.spent);
        match (self.differ, is_alike) {
            (true, true) => Step::End(Ending::NoChange(alike())),
            (true, false) => self.search(),
            (false, false) if !self.looks.are_over(falls) => self.ask(&OF_ENDS),
            (false, _) => Step::End(Ending::EndsAlike(alike())),
        }
    }

    /// Returns why nothing can be measured, if so.
    fn broken(&self) -> Option<Why> {
        let ends = [0, self.lineage.last()];
        let gap = ends.into_iter().find(|end| self.states[*end] == State::Gap);
        let no_numbers = || (self.empty >= MOST_EMPTY).then_some(Why::NoNumbers);
        gap.map(|commit| Why::EndIsGap { commit })
            .or_else(no_numbers)
    }

    /// Returns those that are not built yet, ascending.
    fn unbuilt(&self, commits: &[usize]) -> Vec<usize> {
        let unknown = commits
            .iter()
            .filter(|commit| self.states[**commit] == State::Unknown);
        let unknown: BTreeSet<usize> = unknown.copied().collect();
        unknown.into_iter().collect()
    }

    /// Asks who it is, until one class is likely enough; then asks fresh sessions.
    fn search(&self) -> Step {
        let Some(class) = self.suspected() else {
            return self.ask(&ALL);
        };
        let sandwich = self.sandwich(&class);
        let missing = self.unbuilt(&sandwich.members());
        match sandwich.outcome(&self.posterior, self.settings.certainty) {
            Outcome::Open if missing.is_empty() => Step::Confirm(sandwich.members()),
            Outcome::Open => Step::Build(missing),
            Outcome::Confirmed => self.found(class, &sandwich),
            Outcome::Contradicted => self.unresolved(Why::NotConfirmed),
        }
    }

    fn ask(&self, forms: &[Form]) -> Step {
        let Some(question) = self.question(forms) else {
            return self.unresolved(Why::Futile);
        };
        if self.states[question.candidate] == State::Unknown {
            let ahead = self.asking().ahead(forms, question.candidate);
            return Step::Build(iter::once(question.candidate).chain(ahead).collect());
        }
        Step::Race(question.members(self.lineage.last()))
    }

    fn asking(&self) -> Asking<'_> {
        // The seed and the number of the question, spread over all bits by the step of the golden ratio.
        let number = self.answers.wrapping_mul(0x9E37_79B9_7F4A_7C15);
        Asking {
            lineage: &self.lineage,
            posterior: &self.posterior,
            states: &self.states,
            costs: &self.costs,
            seed: self.settings.seed.wrapping_add(number),
        }
    }

    fn is_futile(&self, question: &Question) -> bool {
        let held = self.spent.total().sessions;
        let left = self.settings.most_sessions.saturating_sub(held);
        self.differ && self.expected(question) > FUTILE * real(left)
    }

    /// Returns how many sessions it takes to know the class, if all tell as much as this question.
    fn expected(&self, question: &Question) -> f64 {
        entropy(&self.classes()) / question.bits
    }

    fn classes(&self) -> Vec<Class> {
        classes(&self.lineage, &self.witnesses(), &self.posterior.culprits)
    }

    /// Returns what is known of each commit, one that stands at a level of its own taken for a gap: what it shows tells no more of
    /// the culprit than if it had no number.
    fn witnesses(&self) -> Vec<State> {
        let mut states = self.states.clone();
        for (commit, odd) in &self.posterior.odd {
            if odd.iter().sum::<f64>() > ODD {
                states[*commit] = State::Gap;
            }
        }
        states
    }

    /// Returns the class that is likely enough to be confirmed: more than the certainty asked for, unless no question would lead
    /// farther.
    fn suspected(&self) -> Option<Class> {
        let likeliest = self.classes().into_iter().next();
        likeliest.filter(|class| {
            let is_clear = class.odds >= self.allow(OF_SEARCH);
            let is_enough = class.odds >= self.settings.certainty;
            self.differ && (is_clear || is_enough && self.question(&ALL).is_none())
        })
    }

    /// Returns what to ask next; none where that is futile.
    fn question(&self, forms: &[Form]) -> Option<Question> {
        let best = self.asking().best(forms);
        best.filter(|question| !self.is_futile(question))
    }

    /// Returns the chance that leaves this part of the doubt that may be left.
    fn allow(&self, part: f64) -> f64 {
        1.0 - (1.0 - self.settings.certainty) * part
    }

    fn no_change(&self) -> f64 {
        self.posterior.no_change(self.settings.least_effect)
    }

    fn sandwich(&self, class: &Class) -> Sandwich<'_> {
        let (raced, against) = around(&self.lineage, &self.witnesses(), class);
        Sandwich {
            raced,
            against,
            fresh: &self.fresh,
        }
    }

    /// Returns what fresh sessions said of a class.
    fn confirmed(&self, sandwich: &Sandwich<'_>) -> Option<Effect> {
        sandwich.effect(&self.posterior, self.evidence.count())
    }

    fn found(&self, class: Class, sandwich: &Sandwich<'_>) -> Step {
        let Some(confirmed) = self.confirmed(sandwich) else {
            return self.unresolved(Why::NotConfirmed);
        };
        let is_one = class.members.len() == 1;
        let culprit = Culprit {
            members: class.members,
            odds: class.odds,
            effect: self.posterior.effect(),
            raced: sandwich.raced,
            against: sandwich.against.clone(),
            confirmed,
            spent: self.spent,
        };
        Step::End(if is_one {
            Ending::Found(culprit)
        } else {
            Ending::FoundWithin(culprit)
        })
    }

    fn unresolved(&self, why: Why) -> Step {
        Step::End(self.stopped(why))
    }

    /// Returns what is known where it ends before it is decided.
    pub fn stopped(&self, why: Why) -> Ending {
        let (range, odds) = range(&self.classes(), self.settings.certainty);
        let suspected = self.suspected();
        Ending::Unresolved(Unresolved {
            why,
            range,
            odds,
            no_change: self.no_change(),
            effect: self.effect(),
            confirmed: suspected.and_then(|class| self.confirmed(&self.sandwich(&class))),
            spent: self.spent,
        })
    }

    /// Returns the effect; none where nothing was measured.
    fn effect(&self) -> Option<Effect> {
        (self.evidence.count() > 0).then(|| self.posterior.effect())
    }

    /// Returns how it stands.
    pub fn odds(&self) -> Odds {
        let (range, _) = range(&self.classes(), self.settings.certainty);
        let suspected = self.suspected();
        Odds {
            stage: match (self.differ, &suspected) {
                (false, _) => Stage::Ends,
                (true, None) => Stage::Search,
                (true, Some(_)) => Stage::Confirm,
            },
            commits: self.posterior.culprits.clone(),
            no_change: self.no_change(),
            range,
            effect: self.effect(),
            spent: self.spent,
            left: self.left(suspected.as_ref()),
        }
    }

    /// Returns how many sessions are still expected; none where nothing can be asked.
    fn left(&self, suspected: Option<&Class>) -> Option<f64> {
        let to_confirm = Sandwich::expected(&self.posterior, self.settings.certainty);
        if let Some(class) = suspected {
            return Some((to_confirm - real(self.sandwich(class).held())).max(1.0));
        }
        let forms: &[Form] = if self.differ { &ALL } else { &OF_ENDS };
        let question = self.asking().best(forms)?;
        Some(self.expected(&question) + to_confirm)
    }
}
