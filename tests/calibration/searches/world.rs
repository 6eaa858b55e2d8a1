//! Simulated histories, one commit of which may have made it slower, and machines to launch their commits on.

use harness::bisect::Lineage;

use crate::suite::noise::{Noise, Random};

/// Standard deviation of the difference of two launches that race, as a log ratio.
pub(crate) const SD: f64 = 0.01;

/// The same of two launches one after the other: 10.5 % and 19.6 % were measured where races had 1.3 %.
const ALONE: f64 = 0.15;

/// The last commit of a history; the culprit is one of the first to this one.
const LAST: usize = 128;

/// A history.
#[derive(Debug, Clone)]
pub(crate) struct World {
    pub(crate) lineage: Lineage,
    pub(crate) culprit: Option<usize>,
    /// What it adds to the log speed.
    pub(crate) fall: f64,
    pub(crate) noise: Noise,
    /// Commits that cannot be built, ascending.
    pub(crate) gaps: Vec<usize>,
    /// A commit that is faster by itself, and by how much.
    pub(crate) faster: Option<(usize, f64)>,
}

impl World {
    /// Returns a line of commits of which one, drawn at random, is slower by so many standard deviations.
    pub(crate) fn line(effect: f64, random: &mut Random) -> Self {
        Self {
            lineage: Lineage::line(LAST + 1),
            culprit: Some(1 + random.below(LAST)),
            fall: -effect * SD,
            noise: Noise::Normal,
            gaps: Vec::new(),
            faster: None,
        }
    }

    /// Returns the same on a graph: two branches, each merged after a while, and one inside of another.
    pub(crate) fn graph(effect: f64, random: &mut Random) -> Self {
        let parents = (0..=LAST).map(|commit| match commit {
            0 => Vec::new(),
            // From 20 on the main line skips 30 to 59, of which 40 to 49 are a branch of their own.
            60 => vec![29],
            40 => vec![35],
            50 => vec![39],
            55 => vec![54, 49],
            80 => vec![79, 59],
            30 => vec![20],
            // And from 90 on 100 to 109.
            110 => vec![99],
            100 => vec![90],
            120 => vec![119, 109],
            commit => vec![commit - 1],
        });
        Self {
            lineage: Lineage::graph(&parents.collect::<Vec<_>>()),
            ..Self::line(effect, random)
        }
    }

    /// Makes 28 of the commits between the ends impossible to build, in three stretches of 9, 9 and 10.
    pub(crate) fn with_gaps(mut self, random: &mut Random) -> Self {
        let room = LAST - 1 - 28 - 2;
        let mut starts = [0; 3].map(|_| random.below(room + 1));
        starts.sort_unstable();
        for (place, (start, length)) in starts.into_iter().zip([9, 9, 10]).enumerate() {
            // At least one commit between two of them builds.
            let first = 1 + start + place * 10;
            self.gaps.extend(first..first + length);
        }
        self
    }

    /// Makes one commit between the ends faster by itself, by so many standard deviations.
    pub(crate) fn with_decoy(mut self, by: f64, random: &mut Random) -> Self {
        self.faster = Some((1 + random.below(LAST - 1), by * SD));
        self
    }

    /// Takes the change away; how great it would have been is what a threshold is set by.
    pub(crate) fn without_change(mut self) -> Self {
        self.culprit = None;
        self
    }

    /// Changes the noise of launches.
    pub(crate) fn with(mut self, noise: Noise) -> Self {
        self.noise = noise;
        self
    }

    /// Returns whether a commit has the change.
    pub(crate) fn is_bad(&self, commit: usize) -> bool {
        self.culprit
            .is_some_and(|culprit| self.lineage.holds(commit, culprit))
    }

    /// Returns the log speed of a commit, that of the good end being 0.
    fn speed(&self, commit: usize) -> f64 {
        let own = self.faster.filter(|(faster, _)| *faster == commit);
        let fall = if self.is_bad(commit) { self.fall } else { 0.0 };
        fall + own.map_or(0.0, |(_, by)| by)
    }

    /// Returns what a race of these shows: each by itself, and one after the other what the machine adds to all.
    pub(crate) fn race(&self, members: &[usize], random: &mut Random) -> Vec<(usize, f64)> {
        let moment = moment(random);
        let mut launch = |commit: usize| (commit, moment + self.launch(commit, random));
        members.iter().map(|commit| launch(*commit)).collect()
    }

    /// Returns what a launch shows on a machine that never changes.
    pub(crate) fn launch(&self, commit: usize, random: &mut Random) -> f64 {
        let sd = SD * std::f64::consts::FRAC_1_SQRT_2;
        self.speed(commit) + random.launch(self.noise, sd, SD)
    }
}

/// Returns what the machine adds to whatever is launched now.
pub(crate) fn moment(random: &mut Random) -> f64 {
    let of_pair = (ALONE * ALONE - SD * SD).sqrt();
    of_pair * std::f64::consts::FRAC_1_SQRT_2 * random.normal()
}
