//! `harness report`: the report again, from the journal alone.

use std::io::IsTerminal;
use std::path::{Path, PathBuf};

use super::print;
use crate::cli::{Format, ReportArgs};
use crate::error::{Error, Kind, Result};
use crate::exit::Exit;
use crate::journal;
use crate::report::Report;
use crate::verdict;
use crate::workplace::{self, Workplace};

pub(super) fn run(workplace: &Workplace, arguments: &ReportArgs) -> Result<Exit> {
    let path = journal_of(workplace, arguments.of.as_deref())?;
    let run = journal::read(&path)?;
    let judgement = verdict::judge(&run);
    let report = Report::new(&run, &judgement);
    match &arguments.output {
        Some(file) => workplace::write(file, &rendered(&report, arguments.format))?,
        None => show(&report, arguments.format)?,
    }
    Ok(super::run::exit_of(&judgement))
}

/// Writes a report to stdout.
pub(super) fn show(report: &Report, format: Format) -> Result<()> {
    print(&rendered(report, format))
}

fn rendered(report: &Report, format: Format) -> String {
    match format {
        Format::Human => report.terminal(width(), colour()),
        Format::Json => report.json().unwrap_or_default(),
        Format::Md => report.markdown(),
    }
}

/// Returns the terminal's width in columns; a wide page where there is no terminal.
fn width() -> u16 {
    rustix::termios::tcgetwinsize(std::io::stdout()).map_or(120, |size| size.ws_col.max(40))
}

/// Returns whether colour helps: a terminal, and nobody said no.
fn colour() -> bool {
    std::io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|no| no.is_empty())
}

/// Returns the journal that is meant.
pub(super) fn journal_of(workplace: &Workplace, of: Option<&Path>) -> Result<PathBuf> {
    let matrix = match of {
        Some(path)
            if path
                .extension()
                .is_some_and(|extension| extension == "jsonl") =>
        {
            return Ok(path.to_owned());
        }
        Some(path) => path.to_owned(),
        None => workplace
            .default_matrices()?
            .into_iter()
            .next()
            .unwrap_or_default(),
    };
    let name = matrix
        .file_stem()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned();
    let folder = workplace.journals(&name);
    journal::list(&folder).into_iter().next().ok_or_else(|| {
        Error::new(
            Kind::Configuration,
            format!("there is no journal of {name} yet"),
        )
        .because(format!("{} holds none", folder.display()))
        .hint(format!("harness run {}", matrix.display()))
    })
}
