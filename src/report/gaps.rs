//! What is said of the cells without a number: equal neighbours together, and which are known.

use std::path::PathBuf;
use std::sync::LazyLock;

use regex::Regex;
use serde::Serialize;

use super::words::{count, list};
use super::{Past, axes_name};
use crate::journal::Run;
use crate::outcome::{Class, Gap, GapKind, Stage};
use crate::version::Cell;

/// Cells of a group that are named one by one; a longer stretch is named by its ends.
const NAMED: usize = 3;

/// A stretch of cells without a number for the same reason.
#[derive(Debug, Clone, PartialEq, Serialize, schemars::JsonSchema)]
pub struct GapGroup {
    /// Their names, in order.
    pub cells: Vec<String>,
    /// What they are called together: `8.4.1 and 8.5.0 (node=12.13.1, body=json or text)`.
    pub name: String,
    /// Where they stopped.
    pub stage: Stage,
    /// What happened.
    pub kind: GapKind,
    /// Whether trying again may help.
    pub class: Class,
    /// One line for a person.
    pub cause: String,
    /// What could be tried; none where that is not sure.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// The first real error lines.
    pub errors: Vec<String>,
    /// The whole logs.
    pub logs: Vec<PathBuf>,
    /// Why somebody accepts it; none if nobody has said so.
    pub acknowledged: Option<String>,
}

/// Groups gaps of neighbouring cells that have the same reason, whatever versions and folders it names.
pub(super) fn groups(run: &Run, gaps: &[(usize, Gap)], past: &Past<'_>) -> Vec<GapGroup> {
    let cells = &run.header.cells;
    let reason = |cell: usize, gap: &Gap| {
        let general = |text: &String| general(text, &cells[cell]);
        let errors: Vec<String> = gap.errors.iter().map(general).collect();
        let known = past.acknowledged(&run.header.matrix.name, &cells[cell].id, gap);
        (gap.stage, gap.kind, general(&gap.cause), errors, known)
    };
    let alike = |(left, one): &(usize, Gap), (right, other): &(usize, Gap)| {
        left + 1 == *right && reason(*left, one) == reason(*right, other)
    };
    let group = |group: &[(usize, Gap)]| {
        let (cell, first) = group.first()?;
        let members: Vec<&Cell> = group.iter().map(|(cell, _)| &cells[*cell]).collect();
        let logs = group.iter().filter_map(|(_, gap)| gap.log.clone());
        Some(GapGroup {
            cells: members.iter().map(|cell| cell.id.clone()).collect(),
            name: name_of(&members),
            stage: first.stage,
            kind: first.kind,
            class: first.class,
            cause: first.cause.clone(),
            hint: first.hint.clone(),
            errors: first.errors.clone(),
            logs: logs.collect(),
            acknowledged: past.acknowledged(&run.header.matrix.name, &cells[*cell].id, first),
        })
    };
    gaps.chunk_by(alike).filter_map(group).collect()
}

/// Returns what cells are called together: where they are some versions with some values of each axis, neither is
/// repeated.
pub(super) fn name_of(cells: &[&Cell]) -> String {
    let versions = distinct(cells.iter().map(|cell| cell.version.name.as_str()));
    let words: Vec<Vec<&str>> = cells
        .iter()
        .map(|cell| axes_name(cell).split_whitespace().collect())
        .collect();
    let axes = words.iter().map(Vec::len).min().unwrap_or(0);
    let values = |axis: usize| distinct(words.iter().map(move |words| words[axis]));
    let axes: Vec<Vec<String>> = (0..axes).map(values).collect();
    let all = axes.iter().map(Vec::len).product::<usize>() * versions.len();
    if axes.is_empty() || cells.len() == 1 || all != cells.len() {
        let names: Vec<String> = cells.iter().map(|cell| cell.id.clone()).collect();
        return stretch(&names, "cell");
    }
    let axes: Vec<String> = axes.iter().map(|values| either(values)).collect();
    format!("{} ({})", stretch(&versions, "version"), axes.join(", "))
}

/// Returns `body=json or text` for values of the same axis.
fn either(pairs: &[String]) -> String {
    let value = |pair: &String| pair.split_once('=').map(|(_, value)| value.to_owned());
    let rest = pairs.iter().skip(1).filter_map(value);
    let words: Vec<String> = pairs.iter().take(1).cloned().chain(rest).collect();
    list(&words, "or")
}

fn distinct<'a>(words: impl Iterator<Item = &'a str>) -> Vec<String> {
    let mut seen: Vec<String> = Vec::new();
    for word in words {
        if !seen.iter().any(|known| known == word) {
            seen.push(word.to_owned());
        }
    }
    seen
}

/// Returns `0.5.0`, `0.5.0 and 0.5.1`, or `0.5.0 – 0.5.9 (10 versions)`.
fn stretch(names: &[String], noun: &str) -> String {
    match names {
        [first, .., last] if names.len() > NAMED => {
            format!("{first} – {last} ({})", count(names.len(), noun))
        }
        names => list(names, "and"),
    }
}

/// Returns a reason without what differs from version to version: its name, hashes and numbers of processes.
fn general(text: &str, cell: &Cell) -> String {
    static HASH: LazyLock<Option<Regex>> =
        LazyLock::new(|| Regex::new(r"\b[0-9a-f]{7,64}\b|\b(?:\d+\.)*\d{4,}\b").ok());
    let version = &cell.version;
    let named = [&version.tag, &version.commit];
    let text = named
        .into_iter()
        .flatten()
        .fold(text.to_owned(), |text, name| {
            text.replace(name.as_str(), "{version}")
        });
    let text = text
        .replace(&cell.id, "{version}")
        .replace(&version.name, "{version}");
    match &*HASH {
        Some(hash) => hash.replace_all(&text, "#").into_owned(),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::version::Version;

    #[test]
    fn a_reason_is_the_same_for_two_versions() {
        let reason = |name: &str, key: &str| {
            let cell = Cell {
                id: name.to_owned(),
                version: Version::listed(name),
                axes: std::collections::BTreeMap::new(),
            };
            let text =
                format!("cannot find .harness/builds/x/{name}-{key}/work/a.c (process 4711)");
            general(&text, &cell)
        };
        assert_eq!(
            reason("1.2.3", "0123456789ab"),
            reason("1.2.4", "fedcba987654")
        );
        assert_ne!(reason("1.2.3", "0123456789ab"), "");
    }
}
