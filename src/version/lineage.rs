//! Which two versions are compared: lineage, and neighbours across gaps. Pure.

use std::collections::{BTreeMap, HashMap};

use super::{Cell, Order, Pair, Parsed};
use crate::matrix::Compare;

/// Pairs each measured cell with the one that it is compared with, of those with the same axes. What lies between and has
/// no number is listed as skipped. No cell is the candidate of two pairs, and no pairs form a circle.
///
/// By lineage a commit follows the first of its ancestors, up the line of first parents, that was measured; one in a list
/// by date follows the one before it in semantic precedence, whenever that was made; any other the one before it.
pub fn pairs(
    cells: &[Cell],
    order: Order,
    compare: &Compare,
    measured: &dyn Fn(usize) -> bool,
) -> Vec<Pair> {
    let pairs_of = |chain: Vec<usize>| match (compare, order) {
        (Compare::Reference(name), _) => with_reference(cells, &chain, name, measured),
        (Compare::Lineage, Order::Topo) => with_ancestors(cells, &chain, measured),
        (Compare::Lineage, Order::Date) => neighbours(&by_precedence(cells, chain), measured),
        (
            Compare::Lineage,
            Order::Semver | Order::Pep440 | Order::Maven | Order::Debian | Order::Listed,
        )
        | (Compare::Previous, _) => neighbours(&chain, measured),
    };
    chains(cells).into_iter().flat_map(pairs_of).collect()
}

/// Returns the indices of the cells with equal axes, chain by chain in the order in which they first appear.
pub(crate) fn chains(cells: &[Cell]) -> Vec<Vec<usize>> {
    let mut chains: Vec<Vec<usize>> = Vec::new();
    let mut places: HashMap<&BTreeMap<String, String>, usize> = HashMap::new();
    for (index, cell) in cells.iter().enumerate() {
        let place = *places.entry(&cell.axes).or_insert(chains.len());
        match chains.get_mut(place) {
            Some(chain) => chain.push(index),
            None => chains.push(vec![index]),
        }
    }
    chains
}

/// Pairs each measured cell with the one measured before it.
fn neighbours(chain: &[usize], measured: &dyn Fn(usize) -> bool) -> Vec<Pair> {
    let mut pairs = Vec::new();
    let mut baseline = None;
    let mut skipped = Vec::new();
    for &candidate in chain {
        if !measured(candidate) {
            skipped.push(candidate);
            continue;
        }
        let skipped = std::mem::take(&mut skipped);
        if let Some(baseline) = baseline.replace(candidate) {
            pairs.push(Pair {
                baseline,
                candidate,
                skipped,
            });
        }
    }
    pairs
}

/// Pairs each measured cell with the reference, if that was measured.
fn with_reference(
    cells: &[Cell],
    chain: &[usize],
    name: &str,
    measured: &dyn Fn(usize) -> bool,
) -> Vec<Pair> {
    let is_reference = |index: &&usize| cells[**index].version.name == name && measured(**index);
    let Some(&baseline) = chain.iter().find(is_reference) else {
        return Vec::new();
    };
    let others = chain
        .iter()
        .filter(|index| **index != baseline && measured(**index));
    let pair = |&candidate| Pair {
        baseline,
        candidate,
        skipped: Vec::new(),
    };
    others.map(pair).collect()
}

/// Pairs each measured cell with the first measured one on its line of first parents.
fn with_ancestors(cells: &[Cell], chain: &[usize], measured: &dyn Fn(usize) -> bool) -> Vec<Pair> {
    let named = chain
        .iter()
        .map(|index| (cells[*index].version.name.as_str(), *index));
    let places: HashMap<&str, usize> = named.collect();
    let parent = |index: &usize| {
        let name = cells[*index].version.parent.as_deref()?;
        // A parent stands before its child; so no journal, whatever it holds, leads round in a circle.
        places.get(name).copied().filter(|place| place < index)
    };
    let pair = |&candidate: &usize| {
        let mut skipped = Vec::new();
        for ancestor in std::iter::successors(parent(&candidate), parent) {
            if measured(ancestor) {
                skipped.reverse();
                return Some(Pair {
                    baseline: ancestor,
                    candidate,
                    skipped,
                });
            }
            skipped.push(ancestor);
        }
        None
    };
    let measured = chain.iter().filter(|index| measured(**index));
    measured.filter_map(pair).collect()
}

/// Puts a chain in the order of semantic precedence, if all of its names have one.
fn by_precedence(cells: &[Cell], chain: Vec<usize>) -> Vec<usize> {
    let parsed = |index: &usize| Some((cells[*index].version.parsed(Order::Semver)?, *index));
    let parsed: Option<Vec<(Parsed, usize)>> = chain.iter().map(parsed).collect();
    let Some(mut parsed) = parsed else {
        return chain;
    };
    parsed.sort();
    parsed.into_iter().map(|(_, index)| index).collect()
}
