//! Which versions a night measures: what is new, and the last few again with it. Pure.

use std::collections::{BTreeMap, BTreeSet};

use super::{Night, Outcome};
use crate::matrix::Compare;
use crate::outcome::Class;
use crate::version::{Cell, Order, pairs};

/// What is wished for of a night.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wish {
    /// The last so many versions that were measured before are measured again.
    pub again: usize,
    /// So many new ones at most, the newest.
    pub new: usize,
}

/// What the nights before know of each cell: by its name and, in git, its commit, since a branch goes on.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Settled {
    /// Cells by whether they have a number. One that trying again may give a number is not among them.
    cells: BTreeMap<(String, Option<String>), bool>,
}

/// What a night measures.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Picked {
    /// The versions' names, in the order of the list.
    pub versions: Vec<String>,
    /// New ones that have to wait for another night.
    pub waiting: usize,
}

impl Settled {
    /// Returns what these nights know.
    pub fn after(nights: &[Night]) -> Self {
        let mut settled = Self::default();
        for night in nights {
            let Outcome::Measured(measured) = &night.outcome else {
                continue;
            };
            for level in &measured.levels {
                let key = (level.cell.clone(), level.commit.clone());
                settled.cells.insert(key, true);
            }
            for gap in &measured.gaps {
                let key = (gap.cell.clone(), gap.commit.clone());
                match gap.class {
                    Class::Permanent | Class::Policy if gap.is_told() => {
                        settled.cells.insert(key, false);
                    }
                    Class::Permanent | Class::Policy | Class::Transient => {}
                }
            }
        }
        settled
    }

    fn knows(&self, cell: &Cell) -> Option<bool> {
        let key = (cell.id.clone(), cell.version.commit.clone());
        self.cells.get(&key).copied()
    }
}

/// Picks the versions of a night: the newest of those that no night has settled, with what each of them is compared with,
/// and the last few that were measured before.
pub fn pick(
    cells: &[Cell],
    (order, compare): (Order, &Compare),
    settled: &Settled,
    wish: Wish,
) -> Picked {
    let versions = versions(cells);
    let any = |name: &str, wanted: Option<bool>| {
        let mut own = cells.iter().filter(|cell| cell.version.name == name);
        own.any(|cell| settled.knows(cell) == wanted)
    };
    let is_new = |name: &&str| any(name, None);
    let is_measured = |name: &str| any(name, Some(true));
    let (new, old): (Vec<&str>, Vec<&str>) = versions.iter().copied().partition(is_new);
    let waiting = new.len().saturating_sub(wish.new);
    let new: BTreeSet<&str> = new.into_iter().skip(waiting).collect();
    // Gaps among the last few are tried again with them: most are kept by the cache, and some heal.
    let measured: Vec<usize> = (0..old.len())
        .filter(|place| is_measured(old[*place]))
        .collect();
    let first = measured.get(measured.len().saturating_sub(wish.again));
    let again = first.map_or(&[][..], |first| &old[*first..]);
    let counts = |cell: usize| {
        let cell: &Cell = &cells[cell];
        new.contains(cell.version.name.as_str()) || settled.knows(cell) == Some(true)
    };
    let name = |cell: usize| cells[cell].version.name.as_str();
    let compared = pairs(cells, order, compare, &counts).into_iter();
    let baselines = compared
        .filter(|pair| new.contains(name(pair.candidate)))
        .map(|pair| name(pair.baseline));
    let chosen: BTreeSet<&str> = baselines
        .chain(new.iter().copied())
        .chain(again.iter().copied())
        .collect();
    let chosen = versions.into_iter().filter(|name| chosen.contains(name));
    Picked {
        versions: chosen.map(str::to_owned).collect(),
        waiting,
    }
}

/// Returns the names of the versions, each once, in the order of the list.
fn versions(cells: &[Cell]) -> Vec<&str> {
    let mut seen = BTreeSet::new();
    let names = cells.iter().map(|cell| cell.version.name.as_str());
    names.filter(|name| seen.insert(*name)).collect()
}
