//! The product's search, answered by a simulated machine.

use harness::bisect::{Answer, Count, Ending, Search, Settings, Spent, Step};

use super::world::{SD, World};
use crate::suite::noise::Random;
use crate::suite::real;

/// What searches keep to: the least effect is one standard deviation.
pub(crate) const SETTINGS: Settings = Settings {
    least_effect: SD,
    certainty: 0.95,
    most_sessions: 150,
    seed: 1,
};

/// What a launch adds to a session and what a build takes, s.
const A_LAUNCH: f64 = 3.0;
const A_BUILD: f64 = 0.0;

/// What came of a search.
#[derive(Debug, Clone)]
pub(crate) struct Searched {
    /// Those named as the culprit; none if nobody is.
    pub(crate) named: Vec<usize>,
    /// The chance that it is one of these, as it was told.
    pub(crate) odds: f64,
    /// Those that hold the culprit with the certainty asked for: the named ones, or else the range that is left; none where
    /// the search says that there is no change.
    pub(crate) range: Option<Vec<usize>>,
    /// What it took.
    pub(crate) spent: Spent,
}

/// Searches to the end.
pub(crate) fn search(world: &World, settings: Settings, random: &mut Random) -> Searched {
    let mut search = Search::new(world.lineage.clone(), settings);
    loop {
        match search.next() {
            Step::Build(commits) => {
                for commit in commits {
                    search.answer(&build(world, commit));
                }
            }
            Step::Race(members) => search.answer(&session(world, (members, false), random)),
            Step::Confirm(members) => search.answer(&session(world, (members, true), random)),
            Step::End(ending) => return ended(ending),
        }
    }
}

fn build(world: &World, commit: usize) -> Answer {
    if world.gaps.contains(&commit) {
        return Answer::Gap { commit };
    }
    Answer::Built {
        commit,
        seconds: A_BUILD,
    }
}

fn session(world: &World, (members, confirm): (Vec<usize>, bool), random: &mut Random) -> Answer {
    Answer::Session {
        confirm,
        seconds: A_LAUNCH * real(members.len()),
        levels: world.race(&members, random),
        members,
    }
}

fn ended(ending: Ending) -> Searched {
    match ending {
        Ending::Found(culprit) | Ending::FoundWithin(culprit) => Searched {
            range: Some(culprit.members.clone()),
            named: culprit.members,
            odds: culprit.odds,
            spent: culprit.spent,
        },
        Ending::NoChange(alike) | Ending::EndsAlike(alike) => Searched {
            named: Vec::new(),
            odds: 0.0,
            range: None,
            spent: alike.spent,
        },
        Ending::Unresolved(open) => Searched {
            named: Vec::new(),
            odds: 0.0,
            range: Some(open.range),
            spent: open.spent,
        },
    }
}

impl Searched {
    /// Returns whether those named hold the culprit.
    pub(crate) fn is_right(&self, world: &World) -> bool {
        world.culprit.is_some_and(|one| self.named.contains(&one))
    }

    /// Returns all that was launched and held.
    pub(crate) fn total(&self) -> Count {
        self.spent.total()
    }
}
