//! Which commit grew out of which. Pure.

use super::set::Set;

/// The commits, or versions, of a search: 0 is the good end, the last one the bad end, and every parent comes before its
/// children.
#[derive(Debug, Clone)]
pub struct Lineage {
    parents: Vec<Vec<usize>>,
    /// Of each commit, itself and its ancestors.
    held: Vec<Set>,
}

impl Lineage {
    /// Returns so many commits each of which grew out of the one before.
    pub fn line(count: usize) -> Self {
        let parents = (0..count).map(|commit| commit.checked_sub(1).into_iter().collect());
        Self::new(parents.collect())
    }

    /// Returns commits with these parents, given by their places. One that does not come before its child is left out, as it
    /// is outside of the search.
    pub fn graph(parents: &[Vec<usize>]) -> Self {
        let before = |(commit, parents): (usize, &Vec<usize>)| {
            let earlier = parents.iter().filter(|parent| **parent < commit);
            earlier.copied().collect()
        };
        Self::new(parents.iter().enumerate().map(before).collect())
    }

    fn new(parents: Vec<Vec<usize>>) -> Self {
        let mut held: Vec<Set> = Vec::with_capacity(parents.len());
        for (commit, parents_of) in parents.iter().enumerate() {
            let mut own = Set::new(parents.len());
            own.insert(commit);
            for parent in parents_of {
                own.join(&held[*parent]);
            }
            held.push(own);
        }
        Self { parents, held }
    }

    /// Returns how many commits there are, both ends included.
    pub fn count(&self) -> usize {
        self.parents.len()
    }

    /// Returns the parents of a commit.
    pub fn parents(&self, commit: usize) -> &[usize] {
        &self.parents[commit]
    }

    /// Returns whether a commit is the culprit or has it among its ancestors.
    pub fn holds(&self, commit: usize, culprit: usize) -> bool {
        self.held[commit].holds(culprit)
    }

    /// Returns the bad end.
    pub(super) fn last(&self) -> usize {
        self.count().saturating_sub(1)
    }

    /// Returns the commits that may be the culprit: those behind the bad end, but for the good one.
    pub(super) fn suspects(&self) -> Vec<usize> {
        let behind = |commit: &usize| self.holds(self.last(), *commit);
        (1..self.count()).filter(behind).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn on_a_line_a_commit_holds_all_before_it() {
        let line = Lineage::line(4);
        assert_eq!((line.count(), line.last()), (4, 3));
        assert_eq!((line.parents(0), line.parents(3)), (&[][..], &[2][..]));
        assert!(line.holds(2, 2) && line.holds(2, 0) && !line.holds(2, 3));
        assert_eq!(line.suspects(), [1, 2, 3]);
    }

    #[test]
    fn on_a_graph_a_branch_holds_nothing_of_another_until_they_are_merged() {
        // 0 ─ 1 ─ 3 ─ 4, 0 ─ 2 ─ 3; 5 is no ancestor of the bad end, 6.
        let parents = [
            vec![],
            vec![0],
            vec![0, 9],
            vec![1, 2],
            vec![3],
            vec![1],
            vec![4],
        ];
        let graph = Lineage::graph(&parents);
        assert!(!graph.holds(1, 2) && !graph.holds(2, 1));
        assert!(graph.holds(3, 1) && graph.holds(3, 2) && graph.holds(6, 2));
        assert_eq!(graph.parents(2), [0]);
        assert_eq!(graph.suspects(), [1, 2, 3, 4, 6]);
    }
}
