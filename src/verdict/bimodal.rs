//! Versions whose launches settle at two levels.

use std::collections::{BTreeMap, BTreeSet};

use super::evidence::cpu_per_answer;
use super::state::sample;
use crate::journal::{Run, SessionRecord};
use crate::stats::{median, sorted};

/// Two levels lie at least this far apart, as a log ratio.
const LEAST: f64 = 0.03;

/// Returns the cells whose launches, in the design of the run, settle at two levels of CPU time per answer.
///
/// Only sessions of the same cells are held against each other, for CPU time per answer depends on the company; and none
/// that the machine spoilt.
pub(crate) fn bimodal_cells(run: &Run, polluted: &BTreeSet<usize>) -> BTreeSet<usize> {
    let mut alike: BTreeMap<Vec<usize>, Vec<&SessionRecord>> = BTreeMap::new();
    let design = run.header.sessions.design;
    let sessions = run.sessions.iter().enumerate();
    for (_, session) in
        sessions.filter(|(place, session)| session.design == design && !polluted.contains(place))
    {
        let mut cells: Vec<usize> = session.launches.iter().map(|launch| launch.cell).collect();
        cells.sort_unstable();
        alike.entry(cells).or_default().push(session);
    }
    alike
        .iter()
        .flat_map(|(cells, sessions)| split_cells(cells, sessions))
        .collect()
}

/// Returns those of the cells that settle at two levels over sessions in which all of them were launched.
///
/// What a session does to all its servers is taken out first: from each launch its cell's median, then the session's
/// median of what is left. In a race of two that leaves half of a jump with each, so both may be named.
fn split_cells(cells: &[usize], sessions: &[&SessionRecord]) -> Vec<usize> {
    let logs: Vec<BTreeMap<usize, f64>> = sessions.iter().map(|session| logs(session)).collect();
    let of = |cell: usize| logs.iter().filter_map(move |logs| logs.get(&cell).copied());
    let usual = |cell: usize| median(&of(cell).collect::<Vec<_>>()).unwrap_or(0.0);
    let medians: BTreeMap<usize, f64> = cells.iter().map(|cell| (*cell, usual(*cell))).collect();
    let moved = |logs: &BTreeMap<usize, f64>| -> BTreeMap<usize, f64> {
        let rest: BTreeMap<usize, f64> = logs
            .iter()
            .map(|(cell, log)| (*cell, log - medians[cell]))
            .collect();
        let shift = median(&rest.values().copied().collect::<Vec<_>>()).unwrap_or(0.0);
        let shift = if cells.len() > 1 { shift } else { 0.0 };
        rest.into_iter()
            .map(|(cell, log)| (cell, log - shift))
            .collect()
    };
    let moved: Vec<BTreeMap<usize, f64>> = logs.iter().map(moved).collect();
    let split = |cell: &usize| {
        let own = moved.iter().filter_map(|logs| logs.get(cell).copied());
        is_split(&own.collect::<Vec<_>>())
    };
    cells.iter().copied().filter(split).collect()
}

/// Returns the log of CPU time per answer of each cell of a session.
fn logs(session: &SessionRecord) -> BTreeMap<usize, f64> {
    let log = |sample| cpu_per_answer(sample).map(f64::ln);
    let launches = session.launches.iter();
    launches
        .filter_map(|launch| Some((launch.cell, log(sample(launch)?)?)))
        .collect()
}

/// Returns whether values fall into two clusters: the widest step between neighbours with at least two values on each
/// side is more than 3 %, and wider than either cluster.
///
/// In simulated normal noise of one level, 10 values, that holds for 1 % of sets at sd 2 % and for 4 % at sd 4 % and
/// 10 %; of sets with two levels 27 % apart and sd 2 % within, for 98 %.
fn is_split(values: &[f64]) -> bool {
    let sorted = sorted(values);
    let borders = 2..sorted.len().saturating_sub(1);
    let step = |border: &usize| sorted[*border] - sorted[border - 1];
    let Some(border) = borders.max_by(|left, right| f64::total_cmp(&step(left), &step(right)))
    else {
        return false;
    };
    let (low, high) = sorted.split_at(border);
    let width = |cluster: &[f64]| cluster[cluster.len() - 1] - cluster[0];
    step(&border) > LEAST && step(&border) > width(low).max(width(high))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_levels_with_two_launches_each_are_split() {
        assert!(is_split(&[0.0, 0.3, 0.01, 0.31]));
    }

    #[test]
    fn one_odd_launch_is_no_level() {
        assert!(!is_split(&[0.0, 0.01, 0.02, 0.03, 0.9]));
        assert!(!is_split(&[0.0, 0.3, 0.31]));
        assert!(!is_split(&[]));
    }

    #[test]
    fn levels_nearer_than_3_percent_and_even_spreads_are_not_split() {
        assert!(!is_split(&[0.0, 0.001, 0.02, 0.021]));
        assert!(!is_split(&[0.0, 0.1, 0.2, 0.3, 0.4, 0.5]));
    }
}
