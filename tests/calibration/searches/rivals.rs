//! What other searches are given, and what comes of them.

use super::world::{World, moment};
use super::{bayesect, git, pinpoint};
use crate::suite::noise::Random;

/// How another search measures a commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Given {
    /// It races each commit with the good end, as the product does; two launches.
    Races,
    /// One launch by itself, on a machine that is as still at all times as it is within one race.
    Still,
    /// One launch by itself, on the machine as it was measured.
    Alone,
}

impl Given {
    /// Returns how far a launch of a commit is above the good end, as a log ratio.
    pub(crate) fn measure(self, world: &World, commit: usize, random: &mut Random) -> f64 {
        match self {
            Self::Races => world.launch(commit, random) - world.launch(0, random),
            Self::Still => world.launch(commit, random),
            Self::Alone => world.launch(commit, random) + moment(random),
        }
    }

    /// Returns whether a measurement is slower than the threshold, half way between the ends as they truly are.
    pub(crate) fn is_slow(self, world: &World, commit: usize, random: &mut Random) -> bool {
        self.measure(world, commit, random) < world.fall / 2.0
    }

    /// Returns how many launches a measurement takes.
    pub(crate) const fn launches(self) -> usize {
        match self {
            Self::Races => 2,
            Self::Still | Self::Alone => 1,
        }
    }

    /// Returns what a table calls it.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Races => "in races with the good end",
            Self::Still => "alone, machine always still",
            Self::Alone => "alone, machine as measured",
        }
    }
}

/// Those that a search names, one or several that it cannot tell apart, or nobody; and how many launches it took.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Named {
    pub(crate) named: Vec<usize>,
    pub(crate) launches: usize,
}

impl Named {
    /// Returns whether those named hold the culprit.
    pub(crate) fn is_right(&self, world: &World) -> bool {
        world.culprit.is_some_and(|one| self.named.contains(&one))
    }
}

/// Another way to search.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rival {
    /// `git bisect run` with a threshold, and the majority of so many measurements.
    Git(usize),
    /// Pinpoint's rule.
    Pinpoint,
    /// The model of `git_bayesect`, with the same threshold.
    Bayesect,
}

impl Rival {
    /// All of them, in the order of a table's columns.
    pub(crate) const ALL: [Self; 5] = [
        Self::Git(1),
        Self::Git(3),
        Self::Git(5),
        Self::Pinpoint,
        Self::Bayesect,
    ];

    /// Returns what a table calls it.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Git(3) => "git bisect run, best of 3",
            Self::Git(5) => "git bisect run, best of 5",
            Self::Git(_) => "git bisect run",
            Self::Pinpoint => "Pinpoint",
            Self::Bayesect => "git_bayesect",
        }
    }

    /// Searches to the end; none where it knows no way to search such a history.
    pub(crate) fn search(self, world: &World, given: Given, random: &mut Random) -> Option<Named> {
        let is_line = (1..world.lineage.count()).all(|one| world.lineage.parents(one) == [one - 1]);
        match self {
            Self::Git(repeats) => Some(git::search(world, (given, repeats), random)),
            Self::Pinpoint if is_line => Some(pinpoint::search(world, given, random)),
            Self::Bayesect if is_line => Some(bayesect::search(world, given, random)),
            Self::Pinpoint | Self::Bayesect => None,
        }
    }
}

/// Returns the commits of a line that can be built, both ends included: what the others are told beforehand.
pub(crate) fn buildable(world: &World) -> Vec<usize> {
    let all = 0..world.lineage.count();
    all.filter(|commit| !world.gaps.contains(commit)).collect()
}
