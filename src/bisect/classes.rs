//! Culprits that no question can tell apart. Pure.

use std::collections::{BTreeMap, BTreeSet};

use super::costs::State;
use super::lineage::Lineage;
use super::set::Set;

/// Suspects that the same commits hold, of those that can be asked.
///
/// So the members of a stretch that cannot be built fall together with the first commit after it, on a graph too, and no single
/// commit inside a stretch is ever named.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Class {
    /// The suspects, ascending.
    pub(super) members: Vec<usize>,
    /// The chance that one of them is the culprit.
    pub(super) odds: f64,
}

/// Returns all classes, the likeliest first.
pub(super) fn classes(lineage: &Lineage, states: &[State], culprits: &[f64]) -> Vec<Class> {
    let suspects = lineage.suspects();
    let can_be_asked = |commit: &&usize| states[**commit] != State::Gap;
    let asked: Vec<usize> = suspects.iter().filter(can_be_asked).copied().collect();
    let mut groups: BTreeMap<Set, Vec<usize>> = BTreeMap::new();
    for suspect in suspects {
        let mut holders = Set::new(lineage.count());
        let later = asked.partition_point(|commit| *commit < suspect);
        for commit in &asked[later..] {
            if lineage.holds(*commit, suspect) {
                holders.insert(*commit);
            }
        }
        groups.entry(holders).or_default().push(suspect);
    }
    let class = |members: Vec<usize>| Class {
        odds: members.iter().map(|member| culprits[*member]).sum(),
        members,
    };
    let mut classes: Vec<Class> = groups.into_values().map(class).collect();
    classes.sort_by(|one, other| f64::total_cmp(&other.odds, &one.odds));
    classes
}

/// Returns the fewest suspects, ascending, that hold the culprit with that chance if there is one, and the chance that it is one
/// of them.
pub(super) fn range(classes: &[Class], certainty: f64) -> (Vec<usize>, f64) {
    let all: f64 = classes.iter().map(|class| class.odds).sum();
    let mut odds = 0.0;
    let mut members = Vec::new();
    for class in classes {
        if odds >= certainty * all {
            break;
        }
        odds += class.odds;
        members.extend_from_slice(&class.members);
    }
    members.sort_unstable();
    (members, odds)
}

/// Returns the bits that are missing to know the class.
pub(super) fn entropy(classes: &[Class]) -> f64 {
    let all: f64 = classes.iter().map(|class| class.odds).sum();
    let shares = classes.iter().map(|class| class.odds / all);
    let uncertain = shares.filter(|share| *share > 0.0);
    uncertain.map(|share| -share * share.log2()).sum()
}

/// Returns the first commit that can be asked and holds a class, and what to compare it with: of the commits behind it the
/// latest that can be asked and do not hold the class, all parents of a merge, or the good end.
pub(super) fn around(lineage: &Lineage, states: &[State], class: &Class) -> (usize, Vec<usize>) {
    let first = class.members[0];
    let can_be_asked = |commit: usize| states[commit] != State::Gap;
    let holder = |commit: &usize| can_be_asked(*commit) && lineage.holds(*commit, first);
    let raced = (first..lineage.count())
        .find(holder)
        .unwrap_or(lineage.last());
    let (mut against, mut seen) = (BTreeSet::new(), BTreeSet::new());
    let mut open: Vec<usize> = lineage.parents(raced).to_vec();
    while let Some(commit) = open.pop() {
        if !seen.insert(commit) {
            continue;
        }
        if can_be_asked(commit) && !class.members.contains(&commit) {
            against.insert(commit);
        } else {
            open.extend_from_slice(lineage.parents(commit));
        }
    }
    if against.is_empty() {
        against.insert(0);
    }
    (raced, against.into_iter().collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn states(count: usize, gaps: &[usize]) -> Vec<State> {
        let state = |commit| {
            if gaps.contains(&commit) {
                State::Gap
            } else {
                State::Built
            }
        };
        (0..count).map(state).collect()
    }

    fn members(classes: &[Class]) -> Vec<Vec<usize>> {
        classes.iter().map(|class| class.members.clone()).collect()
    }

    #[test]
    fn a_stretch_falls_together_with_the_commit_after_it() {
        let line = Lineage::line(7);
        let culprits = [0.0, 0.1, 0.1, 0.3, 0.1, 0.25, 0.15];
        let states = states(7, &[2, 3]);
        let classes = classes(&line, &states, &culprits);
        assert_eq!(
            members(&classes),
            [vec![2, 3, 4], vec![5], vec![6], vec![1]]
        );
        assert!((classes[0].odds - 0.5).abs() < 1e-12);
        assert_eq!(around(&line, &states, &classes[0]), (4, vec![1]));
        assert_eq!(around(&line, &states, &classes[3]), (1, vec![0]));
        assert_eq!(range(&classes, 0.7).0, [2, 3, 4, 5]);
        assert!(entropy(&classes) > 1.5 && entropy(&classes[..1]) < 1e-12);
    }

    #[test]
    fn on_a_graph_a_merge_is_compared_with_all_its_parents() {
        // 0 ─ 1 ─ 2 ─ 5 ─ 6 and 0 ─ 3 ─ 4 ─ 5.
        let parents = [
            vec![],
            vec![0],
            vec![1],
            vec![0],
            vec![3],
            vec![2, 4],
            vec![5],
        ];
        let graph = Lineage::graph(&parents);
        let culprits = [0.0, 0.1, 0.1, 0.1, 0.1, 0.5, 0.1];
        let all = states(7, &[]);
        let merge = &classes(&graph, &all, &culprits)[0];
        assert_eq!(
            (&merge.members[..], around(&graph, &all, merge)),
            (&[5][..], (5, vec![2, 4]))
        );
        // Where a parent cannot be built it cannot be told from the merge.
        let some = states(7, &[4]);
        let merge = &classes(&graph, &some, &culprits)[0];
        assert_eq!(merge.members, [4, 5]);
        assert_eq!(around(&graph, &some, merge), (5, vec![2, 3]));
    }

    #[test]
    fn what_forks_inside_a_stretch_is_raced_on_one_side() {
        // 0 ─ 1 ─ 2 ─ 4 and 1 ─ 3 ─ 4, where 1 cannot be built.
        let graph = Lineage::graph(&[vec![], vec![0], vec![1], vec![1], vec![2, 3]]);
        let states = states(5, &[1]);
        let classes = classes(&graph, &states, &[0.0, 0.7, 0.1, 0.1, 0.1]);
        assert_eq!(classes[0].members, [1]);
        assert_eq!(around(&graph, &states, &classes[0]), (2, vec![0]));
    }
}
