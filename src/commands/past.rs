//! What a report holds its run against: the run before it, and the gaps that are accepted. Edge by what it reads.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use crate::error::{Error, Kind, Result};
use crate::hunt;
use crate::journal::{self, Run};
use crate::report::{Acknowledgement, Blamed, Hunt, Past};
use crate::version::Cell;
use crate::workplace::{self, Workplace};

/// What is known from before a run.
#[derive(Debug, Default)]
pub(super) struct Known {
    before: Option<Run>,
    accepted: Vec<Acknowledgement>,
    culprits: Vec<Blamed>,
}

impl Known {
    /// Reads what is known from before this run.
    pub(super) fn before(workplace: &Workplace, run: &Run) -> Result<Self> {
        Ok(Self {
            before: run_before(workplace, run),
            accepted: read_accepted(workplace)?,
            culprits: culprits(workplace, run),
        })
    }

    /// Returns it as the report takes it.
    pub(super) fn past(&self) -> Past<'_> {
        Past {
            before: self.before.as_ref(),
            accepted: &self.accepted,
            culprits: &self.culprits,
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

/// Returns whom bisections have found between cells of this run, the newest first.
fn culprits(workplace: &Workplace, run: &Run) -> Vec<Blamed> {
    let cells = &run.header.cells;
    if cells.iter().all(|cell| cell.version.commit.is_none()) {
        return Vec::new();
    }
    let name = super::bisect::name(&run.header.matrix.name);
    let journals = journal::list(&workplace.journals(&name)).into_iter();
    let searches = journals.filter_map(|path| journal::read(&path).ok());
    let alike = searches.filter(|search| {
        search.summary.is_some()
            && search.header.workload_key == run.header.workload_key
            && search.header.machine.class == run.header.machine.class
    });
    let same = |one: &Cell, other: &Cell| {
        one.version.commit == other.version.commit && one.axes == other.axes
    };
    let blamed = |search: Run| {
        let ends = (search.header.cells.first()?, search.header.cells.last()?);
        let find = |end: &Cell| cells.iter().find(|cell| same(cell, end));
        let (baseline, candidate) = (find(ends.0)?.id.clone(), find(ends.1)?.id.clone());
        let told = hunt::told(&search);
        let hunt = Hunt::new(&search, &told.ending, (&told.odds, told.metric))?;
        Some(Blamed {
            baseline,
            candidate,
            culprit: hunt.culprit()?,
        })
    };
    alike.filter_map(blamed).collect()
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
