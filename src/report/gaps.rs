//! What is said of the cells without a number: equal neighbours together, and which are known.

use std::path::PathBuf;
use std::sync::LazyLock;

use regex::Regex;
use serde::Serialize;

use super::Past;
use super::words::{count, list};
use crate::journal::Run;
use crate::outcome::{Class, Gap, GapKind, Stage};
use crate::version::Cell;

/// Cells of a group that are named one by one; a longer stretch is named by its ends.
const NAMED: usize = 3;

/// A stretch of cells without a number for the same reason.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct GapGroup {
    /// Their names, in order.
    pub cells: Vec<String>,
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

impl GapGroup {
    /// Returns `0.5.0`, `0.5.0 and 0.5.1`, or `0.5.0 – 0.5.9 (10 cells)`.
    pub(super) fn name(&self) -> String {
        match self.cells.as_slice() {
            [first, .., last] if self.cells.len() > NAMED => {
                format!("{first} – {last} ({})", count(self.cells.len(), "cell"))
            }
            cells => list(cells, "and"),
        }
    }
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
        left + 1 == *right
            && cells[*left].axes == cells[*right].axes
            && reason(*left, one) == reason(*right, other)
    };
    let group = |group: &[(usize, Gap)]| {
        let (cell, first) = group.first()?;
        let names = group.iter().map(|(cell, _)| cells[*cell].id.clone());
        let logs = group.iter().filter_map(|(_, gap)| gap.log.clone());
        Some(GapGroup {
            cells: names.collect(),
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

/// Returns a reason without what differs from version to version: its name, hashes and numbers of processes.
fn general(text: &str, cell: &Cell) -> String {
    static HASH: LazyLock<Option<Regex>> =
        LazyLock::new(|| Regex::new(r"\b[0-9a-f]{7,64}\b|\b(?:\d+\.)*\d{3,}\b").ok());
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
