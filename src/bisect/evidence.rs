//! All that the sessions of a search said. Pure.

use std::collections::BTreeMap;

use super::reading::Reading;

/// What the sessions said, but for those that confirm.
#[derive(Debug, Clone, Default)]
pub(super) struct Evidence {
    /// By how much the bad end differed from the good one, in the order of the sessions in which both were there.
    pub(super) falls: Vec<f64>,
    /// The readings of the ends alone.
    pub(super) ends: Vec<Reading>,
    /// Those of each candidate.
    pub(super) asked: BTreeMap<usize, Vec<Reading>>,
}

impl Evidence {
    /// Adds what a session said.
    pub(super) fn add(&mut self, candidate: Option<usize>, reading: Reading) {
        self.falls.extend(reading.ends());
        match candidate {
            Some(candidate) => self.asked.entry(candidate).or_default().push(reading),
            None => self.ends.push(reading),
        }
    }

    /// Returns how many sessions said something.
    pub(super) fn count(&self) -> usize {
        self.ends.len() + self.asked.values().map(Vec::len).sum::<usize>()
    }
}
