//! Other programs that send the requests: what each is called with, and what it says of a load. Pure, but for `run`.
//!
//! What they say is text that others wrote, so it is never believed as it stands: see `trust`.

mod text;
mod errors;
mod trust;
mod wrk;
mod ab;
mod hey;
mod oha;
mod h2load;
mod http_load;
pub mod run;
#[cfg(test)]
mod tests;

use std::fmt;
use std::time::Duration;

use crate::address::Address;
use crate::matrix::{Stop, Tool, Workload};
use crate::outcome::{ErrorKind, LoadFigures};

pub use errors::kind_of;
pub use trust::{Asked, Doubt, doubt};

/// One program: all that is known of it.
#[derive(Debug)]
pub struct Program {
    /// Its name, by which it is found on the path.
    pub name: &'static str,
    /// What to do where it is missing.
    pub install: &'static str,
    /// The argument that makes it tell its version; none where it tells none.
    version: Option<&'static str>,
    /// The major version whose output is known.
    major: &'static str,
    /// Least share of its connections that are under way on average by its own figures, when it is well.
    least_busy: f64,
    /// Whether the time of a request counts from before its connection, where it opens one.
    counts_connecting: bool,
    call: fn(&Workload, &Aim) -> Call,
    read: fn(&str) -> Result<Said, Misread>,
}

/// What a load is aimed at, and for how long.
#[derive(Debug, Clone)]
pub struct Aim {
    /// Where the server listens.
    pub address: Address,
    /// How many CPUs there are for the program.
    pub cpus: usize,
    /// When it ends.
    pub stop: Stop,
    /// Whether every answer must be as long as the first.
    pub same_length: bool,
}

/// What a program is run with. The names of its files are relative to the folder that it runs in.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Call {
    /// The arguments.
    pub args: Vec<String>,
    /// The files that it reads: name and content.
    pub files: Vec<(&'static str, String)>,
    /// The file that it writes, to be read after its output.
    pub writes: Option<&'static str>,
    /// Threads that send requests.
    pub threads: usize,
}

/// The file of a request's body.
const BODY: &str = "body";

impl Call {
    /// Makes a call that reads the workload's body, if it has one, from its file.
    fn with_body(args: Vec<String>, workload: &Workload, threads: usize) -> Self {
        let body = workload.body.clone().into_iter();
        Self {
            args,
            files: body.map(|body| (BODY, body)).collect(),
            writes: None,
            threads,
        }
    }
}

/// What a program says of a load.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Said {
    /// The figures; what it does not tell is 0.
    pub figures: LoadFigures,
    /// Its version, where the output tells.
    pub version: Option<String>,
    /// Connections at once, where the output tells.
    pub connections: Option<u64>,
    /// Every request that it counts in `rate`.
    pub requests: u64,
    /// Requests per second, by its own reckoning.
    pub rate: f64,
    /// Body bytes per second, by its own reckoning; 0 where it does not tell.
    pub bytes_rate: f64,
}

/// Why what a program said is no figures.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Misread {
    /// A line does not read as it should.
    Line {
        /// Its number, from 1.
        number: usize,
        /// The line.
        line: String,
    },
    /// It ends without this.
    Missing(&'static str),
    /// The program says that it gave up.
    GaveUp {
        /// Why, in its own words.
        why: String,
        /// Answers that it had got by then.
        answers: u64,
    },
}

impl fmt::Display for Misread {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Line { number, line } => write!(formatter, "line {number} says `{line}`"),
            Self::Missing(what) => write!(formatter, "nothing begins with `{what}`"),
            Self::GaveUp { why, answers } => {
                write!(formatter, "it gave up after {answers} answers: {why}")
            }
        }
    }
}

/// Returns the program that sends the requests; none where the engine of Harness does.
pub fn program(tool: Tool) -> Option<&'static Program> {
    match tool {
        Tool::Native => None,
        Tool::Wrk => Some(&wrk::PROGRAM),
        Tool::Ab => Some(&ab::PROGRAM),
        Tool::Hey => Some(&hey::PROGRAM),
        Tool::Oha => Some(&oha::PROGRAM),
        Tool::H2load => Some(&h2load::PROGRAM),
        Tool::HttpLoad => Some(&http_load::PROGRAM),
    }
}

impl Program {
    /// Returns what it is run with.
    pub fn call(&self, workload: &Workload, aim: &Aim) -> Call {
        (self.call)(workload, aim)
    }

    /// Returns the least share of the connections that are under way when all is well; 0 where that cannot be told.
    fn least_busy(&self, workload: &Workload) -> f64 {
        if workload.keep_alive || self.counts_connecting {
            self.least_busy
        } else {
            0.0
        }
    }

    /// Reads what it said, its output with that of its errors after it.
    pub fn read(&self, text: &str) -> Result<Said, Misread> {
        (self.read)(text)
    }

    /// Returns its version from what it says of itself: `4.1.0` of `wrk debian/4.1.0-3+b2 [epoll]`.
    fn version_in(told: &str) -> Option<String> {
        let is_part = |letter: char| letter.is_ascii_digit() || letter == '.';
        let mut numbers = told.split(|letter| !is_part(letter));
        // h2load has a digit in its own name.
        let number = numbers.find(|number| number.trim_matches('.').contains('.'))?;
        Some(number.trim_matches('.').to_owned())
    }

    /// Returns whether the output of this version is known.
    fn knows(&self, version: &str) -> bool {
        version.split('.').next() == Some(self.major)
    }
}

/// Returns the address to ask for.
fn url(workload: &Workload, address: &Address) -> String {
    let scheme = if workload.manner.tls { "https" } else { "http" };
    format!("{scheme}://{}{}", address.host(), workload.path)
}

/// Returns each header after the flag that gives it, as most programs have it.
fn headers(workload: &Workload, flag: &str) -> Vec<String> {
    let lines = workload.headers.iter();
    lines
        .flat_map(|(name, value)| [flag.to_owned(), format!("{name}: {value}")])
        .collect()
}

/// Returns arguments from words and numbers.
fn args(words: &[&dyn fmt::Display]) -> Vec<String> {
    words.iter().map(ToString::to_string).collect()
}

/// Returns whole seconds, for programs that know no shorter time; at least one.
fn whole_seconds(duration: Duration) -> u64 {
    (duration.as_secs() + u64::from(duration.subsec_nanos() > 0)).max(1)
}

/// Returns the failures that happened at all, by kind.
fn failures(counts: &[(ErrorKind, u64)]) -> std::collections::BTreeMap<ErrorKind, u64> {
    let mut failures = std::collections::BTreeMap::new();
    for &(kind, count) in counts.iter().filter(|(_, count)| *count > 0) {
        *failures.entry(kind).or_default() += count;
    }
    failures
}
