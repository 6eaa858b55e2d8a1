//! What sessions and builds take, and whether a commit will build, as far as answers tell. Pure.

use crate::stats::{mean, median, real};

/// What one server adds to a session, and what a build takes, s, before anything is known.
const A_MEMBER: f64 = 10.0;
const A_BUILD: f64 = 60.0;

/// Of so many commits one is thought not to build, before anything is known.
const ONE_IN: f64 = 10.0;

/// The chance that a neighbour of one that does not build does not either.
const CONTAGION: f64 = 0.9;

/// What is known of a commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    /// Nothing.
    Unknown,
    /// It is built.
    Built,
    /// It has no number and never will.
    Gap,
}

/// What took how long so far, s.
#[derive(Debug, Clone, Default)]
pub(super) struct Costs {
    pub(super) builds: Vec<f64>,
    /// Sessions, each with the number of its members.
    pub(super) sessions: Vec<(usize, f64)>,
}

impl Costs {
    /// Returns what a build takes.
    pub(super) fn build(&self) -> f64 {
        median(&self.builds).unwrap_or(A_BUILD)
    }

    /// Returns what a session of so many takes: as those before did, or else as much for each member as in all others.
    pub(super) fn session(&self, members: usize) -> f64 {
        let alike = self.sessions.iter().filter(|(count, _)| *count == members);
        let alike: Vec<f64> = alike.map(|(_, seconds)| *seconds).collect();
        let each = self
            .sessions
            .iter()
            .map(|(count, seconds)| seconds / real(*count).max(1.0));
        let each: Vec<f64> = each.collect();
        let guess = || real(members) * mean(&each).unwrap_or(A_MEMBER);
        // Never for nothing, or one question would be worth any number of others.
        mean(&alike).unwrap_or_else(guess).max(1e-3)
    }
}

/// Returns of each commit the chance that it will build.
///
/// What does not build comes in stretches: near a known gap, with nothing that builds between, the chance falls, so that a search
/// leaves a stretch in a leap rather than by one commit after the other.
pub(super) fn buildable(states: &[State]) -> Vec<f64> {
    let count = |wanted| real(states.iter().filter(|state| **state == wanted).count());
    let (built, gaps) = (count(State::Built), count(State::Gap));
    let usual = (built + ONE_IN - 1.0) / (built + gaps + ONE_IN);
    let before = fears(states.iter());
    let after = fears(states.iter().rev());
    let fears = std::iter::zip(before, after.into_iter().rev());
    let chance = |(state, (one, other)): (&State, (f64, f64))| match state {
        State::Built => 1.0,
        State::Gap => 0.0,
        State::Unknown => usual * (1.0 - CONTAGION * f64::max(one, other)),
    };
    states.iter().zip(fears).map(chance).collect()
}

/// Returns of each commit how near the last gap before it is: 1 is at it, 0 out of reach.
fn fears<'a>(states: impl ExactSizeIterator<Item = &'a State>) -> Vec<f64> {
    // Stretches are the longer the longer the history.
    let fading = (-1.0 / (real(states.len()) / 20.0 + 1.0)).exp();
    let mut fear = 0.0;
    let mut next = |state: &State| {
        fear = match state {
            State::Unknown => fear * fading,
            State::Built => 0.0,
            State::Gap => 1.0,
        };
        fear
    };
    states.map(&mut next).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sessions_and_builds_take_what_they_took() {
        let mut costs = Costs::default();
        assert!((costs.session(3) - 30.0).abs() < 1e-9 && (costs.build() - 60.0).abs() < 1e-9);
        costs.sessions = vec![(2, 8.0), (2, 12.0)];
        costs.builds = vec![3.0, 0.0, 4.0];
        assert!((costs.session(2) - 10.0).abs() < 1e-9 && (costs.session(3) - 15.0).abs() < 1e-9);
        assert!((costs.build() - 3.0).abs() < 1e-9);
    }

    #[test]
    fn near_a_gap_a_commit_will_hardly_build_unless_something_between_does() {
        let mut states = vec![State::Unknown; 9];
        (states[0], states[4], states[6]) = (State::Built, State::Gap, State::Built);
        let chances = buildable(&states);
        assert!(chances[3] < chances[2] && chances[2] < chances[1] && chances[1] < chances[7]);
        assert!(chances[5] < 0.5 && (chances[7] - chances[8]).abs() < 1e-12);
        assert!(chances[0] >= 1.0 && chances[4] <= 0.0);
    }
}
