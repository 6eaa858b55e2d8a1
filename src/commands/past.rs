//! What a report holds its run against: the run before it, and the gaps that are accepted. Edge by what it reads.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use crate::error::{Error, Kind, Result};
use crate::journal::{self, Run};
use crate::report::{Acknowledgement, Past};
use crate::workplace::{self, Workplace};

/// What is known from before a run.
#[derive(Debug, Default)]
pub(super) struct Known {
    before: Option<Run>,
    accepted: Vec<Acknowledgement>,
}

impl Known {
    /// Reads what is known from before this run.
    pub(super) fn before(workplace: &Workplace, run: &Run) -> Result<Self> {
        Ok(Self {
            before: run_before(workplace, run),
            accepted: read_accepted(workplace)?,
        })
    }

    /// Returns it as the report takes it.
    pub(super) fn past(&self) -> Past<'_> {
        Past {
            before: self.before.as_ref(),
            accepted: &self.accepted,
        }
    }
}

/// Returns the last finished run of the same matrix before this one that had at least half of its cells. One that had
/// fewer was a look at other versions, beside which all would be news.
fn run_before(workplace: &Workplace, run: &Run) -> Option<Run> {
    let header = &run.header;
    let journals = journal::list(&workplace.journals(&header.matrix.name));
    let runs = journals.iter().filter_map(|path| journal::read(path).ok());
    let names: HashSet<&str> = header.cells.iter().map(|cell| cell.id.as_str()).collect();
    let shared = |other: &Run| {
        let cells = other.header.cells.iter();
        cells
            .filter(|cell| names.contains(cell.id.as_str()))
            .count()
    };
    let mut earlier = runs.filter(|other| {
        other.header.started < header.started
            && other.summary.is_some()
            && shared(other) * 2 >= header.cells.len()
    });
    earlier.next()
}

fn file(workplace: &Workplace) -> PathBuf {
    workplace.reports().join("acknowledged.json")
}

/// Reads the gaps that are accepted; none where nobody has accepted any.
pub(super) fn read_accepted(workplace: &Workplace) -> Result<Vec<Acknowledgement>> {
    let file = file(workplace);
    if !exists(&file) {
        return Ok(Vec::new());
    }
    let text = workplace::read(&file)?;
    serde_json::from_str(&text).map_err(|error| {
        let message = format!("{} is not a list of acknowledgements", file.display());
        let hint = "mend it, or delete it and say `harness ack` again";
        Error::new(Kind::Configuration, message)
            .because(error)
            .hint(hint)
    })
}

/// Writes the gaps that are accepted.
pub(super) fn write_accepted(workplace: &Workplace, accepted: &[Acknowledgement]) -> Result<()> {
    let text = serde_json::to_string_pretty(accepted).unwrap_or_default();
    workplace::write(&file(workplace), &format!("{text}\n"))
}

fn exists(file: &Path) -> bool {
    rustix::fs::access(file, rustix::fs::Access::EXISTS).is_ok()
}
