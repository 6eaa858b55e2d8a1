//! Which commit made it slower, asked one session at a time: the next question out, its answer in. Pure.
//!
//! `lineage` says which commit holds which, `reading` turns a session's levels into differences, `likelihood` says how well an effect and a noise
//! explain them, `posterior` weighs every culprit and "no change", `classes` joins the culprits that no question can tell
//! apart, `question` chooses what to ask, `ends` says whether there is a change at all, and `sandwich` looks once more at the
//! culprit with fresh sessions. `likeness` asks of one commit alone which end it is like.

mod classes;
mod costs;
mod ends;
mod evidence;
mod grid;
mod information;
mod likelihood;
mod likeness;
mod lineage;
mod posterior;
mod question;
mod reading;
mod sandwich;
mod search;
mod set;
#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};

pub use likeness::{BAD, CANDIDATE, GOOD, Likeness, Side, likeness};
pub use lineage::Lineage;
pub use search::Search;

/// What a search keeps to.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Settings {
    /// The least change that counts, as a log ratio greater than 0.
    pub least_effect: f64,
    /// How sure a culprit must be, below 1.
    pub certainty: f64,
    /// Sessions at most, those of the ends and of the confirmation included.
    pub most_sessions: usize,
    /// What ties are drawn from.
    pub seed: u64,
}

/// What to do next.
#[derive(Debug, Clone, PartialEq)]
pub enum Step {
    /// Build the first, which is needed now; a second one would be asked next, and may be built ahead. None of them is built.
    Build(Vec<usize>),
    /// Hold one session of these together, all built: both ends, or a candidate and one or both ends, in ascending order.
    Race(Vec<usize>),
    /// Hold one fresh session of the culprit (the last of these) and what it is compared with.
    Confirm(Vec<usize>),
    /// It is over.
    End(Ending),
}

/// What came of a step.
#[derive(Debug, Clone, PartialEq)]
pub enum Answer {
    /// A commit is built.
    Built {
        /// The commit.
        commit: usize,
        /// How long it took; next to nothing where it was kept from before.
        seconds: f64,
    },
    /// A commit has no number and never will: it cannot be built, started or loaded.
    Gap {
        /// The commit.
        commit: usize,
    },
    /// A session was held.
    Session {
        /// Whether it was one that confirms.
        confirm: bool,
        /// The commits that were launched.
        members: Vec<usize>,
        /// How long it took.
        seconds: f64,
        /// Natural logs of what was measured, turned so that the change looked for is a fall. A member without a number is left
        /// out; none at all is the machine's fault, counts as a session and says nothing.
        levels: Vec<(usize, f64)>,
    },
}

/// What came of a search.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ending {
    /// One commit, confirmed.
    Found(Culprit),
    /// One of several commits that cannot be told apart, confirmed.
    FoundWithin(Culprit),
    /// The ends differed at first, but what was seen since says that there is no change worth the name.
    NoChange(Alike),
    /// The ends do not differ, as far as can be seen.
    EndsAlike(Alike),
    /// It could not be decided.
    Unresolved(Unresolved),
}

/// Who did it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Culprit {
    /// The commit, or those that cannot be told apart, ascending.
    pub members: Vec<usize>,
    /// The chance that it is one of these.
    pub odds: f64,
    /// The effect, from all sessions but those that confirm.
    pub effect: Effect,
    /// What confirmed it: the commit that was raced …
    pub raced: usize,
    /// … against these …
    pub against: Vec<usize>,
    /// … and what it differed by, from these fresh sessions alone; of several the least.
    pub confirmed: Effect,
    /// What it took.
    pub spent: Spent,
}

/// Why nobody did it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Alike {
    /// The chance that there is no change that counts.
    pub odds: f64,
    /// By how much the bad end differs from the good one; none of fewer than two sessions.
    pub effect: Option<Effect>,
    /// The least change, as a log ratio greater than 0, that such sessions would have shown with a chance of 80 %.
    pub detectable: Option<f64>,
    /// What it took.
    pub spent: Spent,
}

/// What is known of an open question.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Unresolved {
    /// Why it ended.
    pub why: Why,
    /// The fewest commits that hold the culprit with the certainty asked for, if there is one, ascending.
    pub range: Vec<usize>,
    /// The chance that it is one of these.
    pub odds: f64,
    /// The chance that there is no change that counts.
    pub no_change: f64,
    /// The effect, from all sessions but those that confirm; none where nothing was measured.
    pub effect: Option<Effect>,
    /// What the fresh sessions said of the likeliest culprit, where there were any.
    pub confirmed: Option<Effect>,
    /// What it took.
    pub spent: Spent,
}

/// Why a search ended without an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Why {
    /// This end has no number.
    EndIsGap {
        /// The end.
        commit: usize,
    },
    /// Several sessions in a row gave no number at all.
    NoNumbers,
    /// All sessions that were allowed are held.
    TooManySessions,
    /// The time was up.
    OutOfTime,
    /// The sessions that are left would not decide, by what one of them tells.
    Futile,
    /// The fresh sessions did not show what the search had found.
    NotConfirmed,
}

/// A difference as a log ratio, below 0 for the change looked for.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Effect {
    /// The best guess.
    pub estimate: f64,
    /// Holds the truth with 95 %.
    pub interval: (f64, f64),
}

/// How much was done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Count {
    /// Sessions.
    pub sessions: usize,
    /// Servers launched in them.
    pub launches: usize,
}

/// How much was done for what.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Spent {
    /// Until it was clear that the ends differ, candidates that raced with them included.
    pub ends: Count,
    /// From then on.
    pub search: Count,
    /// To confirm.
    pub confirm: Count,
}

/// What a search is at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stage {
    /// Whether the ends differ.
    Ends,
    /// Which commit it is.
    Search,
    /// Whether fresh sessions say so too.
    Confirm,
}

/// What is known so far.
#[derive(Debug, Clone, PartialEq)]
pub struct Odds {
    /// What the search is at.
    pub stage: Stage,
    /// The chance of each commit that it is the culprit.
    pub commits: Vec<f64>,
    /// The chance that there is no change that counts.
    pub no_change: f64,
    /// The fewest commits that hold the culprit with the certainty asked for, if there is one, ascending.
    pub range: Vec<usize>,
    /// The effect; none where nothing was measured.
    pub effect: Option<Effect>,
    /// What it took so far.
    pub spent: Spent,
    /// Sessions still expected; none where it cannot be said.
    pub left: Option<f64>,
}

impl Spent {
    /// Returns all of it.
    pub const fn total(&self) -> Count {
        let Self {
            ends,
            search,
            confirm,
        } = self;
        Count {
            sessions: ends.sessions + search.sessions + confirm.sessions,
            launches: ends.launches + search.launches + confirm.launches,
        }
    }
}
