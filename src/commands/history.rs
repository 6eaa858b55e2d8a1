//! `harness history`: all runs of a matrix that may be compared, together.

use std::path::{Path, PathBuf};

use super::log::nearest;
use super::{is_matrix, print, report};
use crate::cli::{Format, HistoryArgs};
use crate::error::{Error, Kind, Result};
use crate::exit::Exit;
use crate::history::{History, LeftOut, Night, Why, why_not};
use crate::journal::{self, Run};
use crate::report::boils;
use crate::verdict::{Judgement, judge};
use crate::workplace::Workplace;

pub(super) fn run(workplace: &Workplace, arguments: &HistoryArgs) -> Result<Exit> {
    let (matrix, names) = asked(&arguments.what)?;
    let of = report::matrix_of(workplace, matrix.as_deref())?;
    let history = history(workplace, of, &names, arguments)?;
    print(&match arguments.format {
        Format::Human => history.terminal(),
        Format::Json => history.json().unwrap_or_default(),
        Format::Md => history.markdown(),
    })?;
    Ok(exit_of(&history))
}

/// Returns the history of all runs of a matrix.
pub(super) fn of_all(workplace: &Workplace, name: &str) -> Result<History> {
    let arguments = HistoryArgs {
        what: Vec::new(),
        since: None,
        last: None,
        format: Format::Human,
    };
    let file = PathBuf::from(format!("{name}.toml"));
    history(workplace, (file, name.to_owned()), &[], &arguments)
}

fn history(
    workplace: &Workplace,
    (matrix, name): (PathBuf, String),
    names: &[String],
    arguments: &HistoryArgs,
) -> Result<History> {
    let folder = workplace.journals(&name);
    let journals = journal::list(&folder);
    if journals.is_empty() {
        return Err(report::no_journal(&matrix, &name, &folder));
    }
    let found = Found::read(&journals, arguments);
    let Some((newest, judgement)) = &found.newest else {
        return Err(found.nothing(&name, &matrix));
    };
    let cells = cells(&found.nights, names)?;
    let mut history = History::new(&newest.header, found.nights, &cells, found.left_out);
    history.boils = boils(newest, judgement);
    Ok(history)
}

fn exit_of(history: &History) -> Exit {
    if history.has_regression() {
        Exit::Regression
    } else if history.nights.len() < 2 {
        Exit::Undecided
    } else {
        Exit::Done
    }
}

/// Returns the matrix and the versions that the command line names.
fn asked(words: &[String]) -> Result<(Option<PathBuf>, Vec<String>)> {
    let (files, names): (Vec<String>, Vec<String>) =
        words.iter().cloned().partition(|word| is_matrix(word));
    match files.as_slice() {
        [] => Ok((None, names)),
        [file] => Ok((Some(PathBuf::from(file)), names)),
        [first, ..] => Err(Error::new(
            Kind::Usage,
            "a history is of one matrix, and several are named",
        )
        .because("runs of different matrices are never compared")
        .hint(format!("harness history {first}"))),
    }
}

/// Returns the cells of the versions that are named.
fn cells(nights: &[Night], names: &[String]) -> Result<Vec<String>> {
    let known: Vec<&str> = nights.iter().flat_map(Night::cells).collect();
    let mut cells = Vec::new();
    for name in names {
        let before = cells.len();
        let version = format!("{name} ");
        let of = |cell: &&&str| **cell == name || cell.starts_with(&version);
        cells.extend(known.iter().filter(of).map(|cell| (*cell).to_owned()));
        if cells.len() == before {
            return Err(unknown(&known, name));
        }
    }
    Ok(cells)
}

fn unknown(known: &[&str], name: &str) -> Error {
    let error = Error::new(
        Kind::Usage,
        format!("there is no version {name} in any run that is looked at"),
    )
    .because("a version has a history once a finished run has measured it");
    match nearest(known, name) {
        Some(near) => error.hint(format!("harness history '{near}'")),
        None => error,
    }
}

/// What the journals hold.
#[derive(Default)]
struct Found {
    /// The newest run that has ended.
    newest: Option<(Run, Judgement)>,
    /// It and all that may be held against it.
    nights: Vec<Night>,
    left_out: Vec<LeftOut>,
}

impl Found {
    /// Reads journals, the newest first, until there are enough.
    fn read(journals: &[PathBuf], arguments: &HistoryArgs) -> Self {
        let mut found = Self::default();
        let most = arguments.last.unwrap_or(usize::MAX);
        for path in journals {
            let run = journal::read(path);
            let begins = arguments.since;
            let old = |run: &Run| begins.is_some_and(|since| run.header.started < since);
            if found.nights.len() == most || run.as_ref().is_ok_and(old) {
                break;
            }
            match run {
                Ok(run) => found.take(run),
                Err(error) => found.leave_out(file_name(path), Why::Unreadable(reason(&error))),
            }
        }
        found
    }

    fn take(&mut self, run: Run) {
        let newest = self.newest.as_ref().map(|(newest, _)| &newest.header);
        let why = match newest {
            _ if run.summary.is_none() => Some(Why::Unfinished),
            Some(newest) => why_not(newest, &run.header),
            None => None,
        };
        if let Some(why) = why {
            return self.leave_out(run.header.run, why);
        }
        let judgement = judge(&run);
        self.nights.push(Night::new(&run, &judgement));
        self.newest.get_or_insert((run, judgement));
    }

    fn leave_out(&mut self, run: String, why: Why) {
        self.left_out.push(LeftOut { run, why });
    }

    /// The error where no run can be looked at.
    fn nothing(&self, name: &str, matrix: &Path) -> Error {
        let message = format!("no run of {name} can be looked at");
        let mut error = Error::new(Kind::Configuration, message);
        for one in &self.left_out {
            error = error.because(match &one.why {
                Why::Unreadable(why) => format!("{}: {why}", one.run),
                Why::Unfinished
                | Why::OtherLoad
                | Why::OtherMetric
                | Why::OtherMachine(_)
                | Why::Unlinked => format!("{} has not ended", one.run),
            });
        }
        if self.left_out.is_empty() {
            error = error.because("all of its runs began before the day that `--since` names");
        }
        error.hint(format!("harness run {}", matrix.display()))
    }
}

fn file_name(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default();
    name.to_string_lossy().into_owned()
}

/// Returns why a journal cannot be read, in one line.
fn reason(error: &Error) -> String {
    let causes = error.causes.join(": ");
    if causes.is_empty() {
        return error.message.clone();
    }
    format!("{}: {causes}", error.message)
}
