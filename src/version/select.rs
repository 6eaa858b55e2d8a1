//! Release lines, and which of the wanted versions are measured. Pure.

use std::collections::HashSet;

use super::{Order, Version};
use crate::matrix::Select;

/// Returns the release line of a version: `20` from 1.0 on, `0.12` below it. A version that the order finds no numbers in is
/// of no line.
pub fn line(version: &Version, order: Order) -> Option<String> {
    let (epoch, major, minor) = version.parsed(order)?.numbers()?;
    Some(match major {
        0 => format!("{epoch}0.{minor}"),
        _ => format!("{epoch}{major}"),
    })
}

/// Returns the minor line of a version, `1.4` of 1.4.2; none where the order finds no numbers in it.
pub fn minor_line(version: &Version, order: Order) -> Option<String> {
    let (epoch, major, minor) = version.parsed(order)?.numbers()?;
    Some(format!("{epoch}{major}.{minor}"))
}

/// Decides which of the versions, in order, are measured: for each, why it is not, or none if it is.
pub fn select(versions: &[&Version], order: Order, select: Select) -> Vec<Option<&'static str>> {
    let count = versions.len();
    let from_last = |index: usize| count - 1 - index;
    match select {
        Select::All => vec![None; count],
        Select::Last(wanted) => reasons(
            count,
            |index| from_last(index) < wanted,
            "not among the last",
        ),
        Select::Every(step) => reasons(
            count,
            |index| from_last(index).is_multiple_of(step.max(1)),
            "between those that `every` selects",
        ),
        Select::LastPerMajor => last_of_each(versions, "not the last of its line", |version| {
            line(version, order)
        }),
        Select::LastPatchPerMinor => last_of_each(
            versions,
            "not the last patch of its minor version",
            |version| minor_line(version, order),
        ),
    }
}

/// Keeps the last of each line, and every version that is of none.
fn last_of_each(
    versions: &[&Version],
    reason: &'static str,
    line: impl Fn(&Version) -> Option<String>,
) -> Vec<Option<&'static str>> {
    let mut seen = HashSet::new();
    let is_last = |version: &&Version| line(version).is_none_or(|line| seen.insert(line));
    let lasts: Vec<bool> = versions.iter().rev().map(is_last).collect();
    reasons(
        versions.len(),
        |index| lasts[versions.len() - 1 - index],
        reason,
    )
}

fn reasons(
    count: usize,
    chosen: impl Fn(usize) -> bool,
    reason: &'static str,
) -> Vec<Option<&'static str>> {
    (0..count)
        .map(|index| (!chosen(index)).then_some(reason))
        .collect()
}
