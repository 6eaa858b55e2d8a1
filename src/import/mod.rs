//! What other programs said of a load, or published tables → figures and gaps. Pure.
//!
//! Each file is one program's own output. What does not read as that is an error with its line: a figure that was guessed would
//! look like one that was measured.

mod csv;
mod go;
mod httpbench;
mod json;

use crate::load::tool::{self, Misread, Said};
use crate::matrix::Tool;
use crate::outcome::{Gap, GapKind, LoadFigures};

/// What a file is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    /// What `http_load` printed.
    HttpLoad,
    /// What `ab` printed.
    Ab,
    /// What `wrk` printed, with or without `--latency`.
    Wrk,
    /// What `hey` printed.
    Hey,
    /// JSON of `oha`.
    Oha,
    /// What `h2load` printed.
    H2load,
    /// JSON of `autocannon`.
    Autocannon,
    /// JSON of `k6 run --summary-export`.
    K6,
    /// What `httpbench` printed.
    Httpbench,
    /// JSON of `hyperfine`: a command is a version, a run of it an answer.
    Hyperfine,
    /// What `go test -bench` printed: a benchmark is a value of the axis `benchmark`.
    GoBench,
    /// A table with a column `version` and others of figures.
    Csv,
}

/// One result that a file holds.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// Which version it is of, where the file tells.
    pub version: Option<String>,
    /// Values of axes, where the file tells.
    pub axes: Vec<(String, String)>,
    /// What came of it.
    pub outcome: Outcome,
}

/// What came of one version.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    /// It was loaded.
    Figures(Box<LoadFigures>),
    /// It has no number.
    Gap(Gap),
}

/// Why a file is not what it is said to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wrong {
    /// The line, from 1; none where it is the file as a whole.
    pub line: Option<usize>,
    /// What is wrong.
    pub what: String,
}

impl Wrong {
    fn whole(what: impl Into<String>) -> Self {
        Self {
            line: None,
            what: what.into(),
        }
    }

    fn at(line: usize, what: impl Into<String>) -> Self {
        Self {
            line: Some(line),
            what: what.into(),
        }
    }
}

/// Reads a file of a format.
pub fn read(format: Format, text: &str) -> Result<Vec<Entry>, Wrong> {
    let entries = match format {
        Format::HttpLoad => said(Tool::HttpLoad, text).map(one),
        Format::Ab => said(Tool::Ab, text).map(one),
        Format::Wrk => said(Tool::Wrk, text).map(one),
        Format::Hey => said(Tool::Hey, text).map(one),
        Format::Oha => said(Tool::Oha, text).map(one),
        Format::H2load => said(Tool::H2load, text).map(one),
        Format::Autocannon => json::autocannon(text).map(one),
        Format::K6 => json::k6(text).map(one),
        Format::Httpbench => httpbench::read(text).map(one),
        Format::Hyperfine => json::hyperfine(text),
        Format::GoBench => go::read(text),
        Format::Csv => csv::read(text),
    }?;
    for entry in &entries {
        if let Outcome::Figures(figures) = &entry.outcome
            && figures.fetches_per_second() <= 0.0
        {
            return Err(Wrong::whole("it tells of no answer in any time"));
        }
    }
    Ok(entries)
}

/// Guesses what a file is from what only one program writes; none where that is not sure.
pub fn guess(text: &str) -> Option<Format> {
    let begun = text.trim_start();
    if begun.starts_with('{') {
        return json::guess(begun);
    }
    let marks = [
        ("This is ApacheBench", Format::Ab),
        (" fetches/sec", Format::HttpLoad),
        ("Latency Distribution", Format::Wrk),
        ("Thread Stats", Format::Wrk),
        ("Status code distribution:", Format::Hey),
        ("finished in ", Format::H2load),
        ("Total completed requests:", Format::Httpbench),
        (" ns/op", Format::GoBench),
    ];
    let found = marks.into_iter().find(|(mark, _)| text.contains(mark));
    let table = || {
        let head = begun.lines().next()?;
        let is_table = head.split(',').any(|name| name.trim() == "version");
        is_table.then_some(Format::Csv)
    };
    found.map(|(_, format)| format).or_else(table)
}

fn one(outcome: Outcome) -> Vec<Entry> {
    vec![Entry {
        version: None,
        axes: Vec::new(),
        outcome,
    }]
}

/// Reads what a program said that Harness can also run.
fn said(tool: Tool, text: &str) -> Result<Outcome, Wrong> {
    let program = tool::program(tool).ok_or_else(|| Wrong::whole("nothing prints that"))?;
    match program.read(text) {
        Ok(said) if is_cut(tool, &said) => Err(Wrong::whole(
            "it ends before the times that the program prints last",
        )),
        Ok(said) => Ok(Outcome::Figures(Box::new(figures(said)))),
        Err(Misread::GaveUp { why, answers }) => {
            let cause = format!("{why}, after {answers} answers");
            Ok(Outcome::Gap(Gap::new(GapKind::Crashed, cause)))
        }
        Err(Misread::Line { number, line }) => {
            let what = format!("this is not what {} prints: `{line}`", program.name);
            Err(Wrong::at(number, what))
        }
        Err(Misread::Missing(what)) => Err(Wrong::whole(format!(
            "no line begins with `{what}`: it is not what {} prints, or it is cut short",
            program.name
        ))),
    }
}

/// Returns whether figures that stand last are missing.
fn is_cut(tool: Tool, said: &Said) -> bool {
    tool == Tool::HttpLoad && said.figures.first_response.max <= 0.0
}

/// Keeps the rates that the program printed: they may be rounded, and are what was published.
fn figures(said: Said) -> LoadFigures {
    let told = |rate: f64| Some(rate).filter(|rate| *rate > 0.0);
    let whole = said.figures.failed() == 0;
    LoadFigures {
        told_rate: told(said.rate).filter(|_| whole),
        told_bytes_rate: told(said.bytes_rate),
        ..said.figures
    }
}

#[cfg(test)]
mod tests;
