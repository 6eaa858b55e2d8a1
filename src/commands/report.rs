//! `harness report`: the report again, from the journal alone.

use std::io::IsTerminal;
use std::path::{Path, PathBuf};

use super::past::Known;
use super::print;
use crate::cli::{Format, ReportArgs, ReportFormat, Style};
use crate::error::{Error, Kind, Result};
use crate::exit::Exit;
use crate::journal::{self, Run};
use crate::matrix::did_you_mean;
use crate::report::{Report, Span};
use crate::verdict;
use crate::workplace::{self, Workplace};

pub(super) fn run(workplace: &Workplace, arguments: &ReportArgs) -> Result<Exit> {
    let release = match arguments.style {
        Style::Full => false,
        Style::Release => true,
        Style::Nightly => return night(workplace, arguments),
    };
    only_markdown(arguments)?;
    only_release(arguments)?;
    let path = journal_of(workplace, arguments.of.as_deref())?;
    let run = journal::read(&path)?;
    let judgement = verdict::judge(&run);
    let known = Known::before(workplace, &run)?;
    let mut report = Report::new(&run, &judgement, &known.past());
    if release {
        report = report.between(&run, &judgement, span(arguments, &run)?);
        reached(arguments, &report)?;
    }
    let text = |root: &str| {
        if release {
            report.notes()
        } else {
            rendered(&report, arguments.format, root)
        }
    };
    match &arguments.output {
        Some(file) if !release && arguments.format == ReportFormat::Md => save(file, &report)?,
        Some(file) => workplace::write(file, &text(&way(&workplace.root, file)))?,
        None => print(&text(""))?,
    }
    Ok(super::run::exit_of(&judgement))
}

/// Makes sure that a style that is Markdown alone is asked for as such.
fn only_markdown(arguments: &ReportArgs) -> Result<()> {
    let style = match arguments.style {
        Style::Full => return Ok(()),
        Style::Release => "release",
        Style::Nightly => "nightly",
    };
    if arguments.format == ReportFormat::Md {
        return Ok(());
    }
    let message = format!("the style `{style}` is Markdown and nothing else");
    Err(Error::new(Kind::Usage, message).hint("leave `--format` out"))
}

/// Makes sure that two versions are named only where a report is of two.
fn only_release(arguments: &ReportArgs) -> Result<()> {
    let named = arguments.from.is_some() || arguments.to.is_some();
    if arguments.style == Style::Release || !named {
        return Ok(());
    }
    let message = "`--from` and `--to` are of the style `release`";
    let error = Error::new(Kind::Usage, message).because("the others tell of all versions");
    Err(error.hint("add `--style release`"))
}

/// Returns between which versions is asked, which must be in the run.
fn span<'a>(arguments: &'a ReportArgs, run: &Run) -> Result<Span<'a>> {
    let (from, to) = (arguments.from.as_deref(), arguments.to.as_deref());
    for name in [from, to].into_iter().flatten() {
        let cells = &run.header.cells;
        if !cells.iter().any(|cell| cell.version.name == name) {
            let all: Vec<&str> = cells
                .iter()
                .map(|cell| cell.version.name.as_str())
                .collect();
            let message = format!("the run {} has no version `{name}`", run.header.run);
            let error = Error::new(Kind::Usage, message);
            let near = did_you_mean(name, all.iter().copied());
            return Err(error.hint(near.unwrap_or_else(|| format!("it has {}", all.join(", ")))));
        }
    }
    Ok(Span { from, to })
}

/// Makes sure that what was asked for leads somewhere: there are pairs from the one version to the other.
fn reached(arguments: &ReportArgs, report: &Report) -> Result<()> {
    let Some(from) = &arguments.from else {
        return Ok(());
    };
    if report.releases.iter().any(|one| !one.against.is_empty()) {
        return Ok(());
    }
    let to = arguments.to.as_deref().unwrap_or("the newest version");
    let message = format!("no pairs lead from {from} to {to}");
    let why = "one of the two has no number, or the second does not come after the first";
    let hint = "`harness report` shows which versions are compared with which";
    Err(Error::new(Kind::Usage, message).because(why).hint(hint))
}

/// Tells the last night again.
fn night(workplace: &Workplace, arguments: &ReportArgs) -> Result<Exit> {
    only_markdown(arguments)?;
    only_release(arguments)?;
    let (text, exit) = super::nightly::again(workplace, arguments.of.as_deref())?;
    match &arguments.output {
        Some(file) => workplace::write(file, &text)?,
        None => print(&text)?,
    }
    Ok(exit)
}

/// Writes a report as Markdown, with its charts beside it.
pub(super) fn save(file: &Path, report: &Report) -> Result<()> {
    let stem = file.file_stem().unwrap_or_default().to_string_lossy();
    let pictures = report.pictures();
    for picture in &pictures {
        workplace::write(&file.with_file_name(picture.file(&stem)), &picture.svg)?;
    }
    workplace::write(file, &report.markdown_beside(&stem, &pictures))
}

/// Writes a report to stdout.
pub(super) fn show(report: &Report, format: Format) -> Result<()> {
    print(&rendered(report, format.into(), ""))
}

/// Returns the report as text; `root` is the way from where it is written to the project's folder.
fn rendered(report: &Report, format: ReportFormat, root: &str) -> String {
    match format {
        ReportFormat::Human => report.terminal(width(), colour()),
        ReportFormat::Json => report.json().unwrap_or_default(),
        ReportFormat::Md => report.markdown(),
        ReportFormat::Html => report.html(root),
    }
}

/// Returns the way from a file's folder to the project's, as a relative address; nothing where there is none.
fn way(root: &Path, file: &Path) -> String {
    let file = std::path::absolute(file).unwrap_or_default();
    let below = file
        .parent()
        .and_then(|folder| folder.strip_prefix(root).ok());
    below.map_or_else(String::new, |below| {
        "../".repeat(below.components().count())
    })
}

/// Returns the terminal's width in columns; a wide page where there is no terminal.
pub(super) fn width() -> u16 {
    match rustix::termios::tcgetwinsize(std::io::stdout()) {
        // A terminal that does not know its width says 0.
        Ok(size) if size.ws_col > 0 => size.ws_col.max(40),
        Ok(_) | Err(_) => 120,
    }
}

/// Returns whether colour helps: a terminal, and nobody said no.
pub(super) fn colour() -> bool {
    std::io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|no| no.is_empty())
}

/// Returns the journal that is meant: that file, or the newest one of a matrix that can be read.
pub(super) fn journal_of(workplace: &Workplace, of: Option<&Path>) -> Result<PathBuf> {
    if let Some(path) = of.filter(|path| path.extension().is_some_and(|end| end == "jsonl")) {
        return Ok(path.to_owned());
    }
    let (matrix, name) = matrix_of(workplace, of)?;
    let folder = workplace.journals(&name);
    let journals = journal::list(&folder);
    let readable = journals.iter().find(|path| journal::read(path).is_ok());
    match (readable, journals.first()) {
        (Some(path), _) => Ok(path.clone()),
        // None can be read: reading the newest says why.
        (None, Some(newest)) => Ok(newest.clone()),
        (None, None) => Err(no_journal(&matrix, &name, &folder)),
    }
}

/// Returns the file and the name of the matrix that is meant: the first of harness.toml by default.
pub(super) fn matrix_of(workplace: &Workplace, named: Option<&Path>) -> Result<(PathBuf, String)> {
    let file = match named {
        Some(file) => file.to_owned(),
        None => workplace
            .default_matrices()?
            .into_iter()
            .next()
            .unwrap_or_default(),
    };
    let name = file
        .file_stem()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned();
    Ok((file, name))
}

/// The error where a matrix has no journal.
pub(super) fn no_journal(matrix: &Path, name: &str, folder: &Path) -> Error {
    if !matrix.is_file() {
        return Error::new(
            Kind::Configuration,
            format!("cannot read {}", matrix.display()),
        )
        .because("there is no such file")
        .hint("name a matrix (*.toml) or a journal (*.jsonl)");
    }
    Error::new(
        Kind::Configuration,
        format!("there is no journal of {name} yet"),
    )
    .because(format!("{} holds none", folder.display()))
    .hint(format!("harness run {}", matrix.display()))
}
