//! `http_load`, of ACME: a new connection for each request, HTTP/1.0, from one thread. Pure.

use super::text::{Line, Text, whole};
use super::{Aim, Call, Misread, Program, Said, args, failures, kind_of, url, whole_seconds};
use crate::matrix::{Stop, Workload};
use crate::outcome::{ErrorKind, LoadFigures, Spread};

pub(super) const PROGRAM: Program = Program {
    name: "http_load",
    install: "build it from its source, at acme.com/software/http_load",
    version: None,
    major: "0",
    least_busy: 0.25,
    counts_connecting: true,
    call,
    read,
};

/// The file of addresses, of which it takes one at random each time.
const ADDRESSES: &str = "addresses";

fn call(workload: &Workload, aim: &Aim) -> Call {
    let mut words = args(&[&"-parallel", &workload.connections]);
    words.extend(args(&[&"-timeout", &whole_seconds(workload.timeout)]));
    words.extend(match aim.stop {
        Stop::Duration(duration) => args(&[&"-seconds", &whole_seconds(duration)]),
        Stop::Requests(requests) => args(&[&"-fetches", &requests]),
    });
    words.push(ADDRESSES.to_owned());
    Call {
        args: words,
        files: vec![(ADDRESSES, url(workload, &aim.address) + "\n")],
        writes: None,
        threads: 1,
    }
}

/// A fetch is whatever has ended, answered or not: only the codes tell of answers.
///
/// Where the first line is missing, as in figures that somebody has copied, only rate and times are known.
fn read(said: &str) -> Result<Said, Misread> {
    let text = Text::new(said);
    let rate = text
        .lines()
        .find(|line| line.rest().contains(" fetches/sec"));
    let bytes_rate = rate.map_or(Ok(0.0), |line| line.real(2))?;
    let rate = rate.map_or(Ok(0.0), |line| line.real(0))?;
    let first = text
        .lines()
        .find(|line| line.rest().contains(" max parallel"));
    let counted = match first {
        Some(first) => counted(&text, first)?,
        None if rate > 0.0 => Said::default(),
        None => return Err(Misread::Missing("… fetches, … max parallel")),
    };
    let fetches = counted.requests;
    Ok(Said {
        rate,
        bytes_rate,
        figures: LoadFigures {
            connect: spread(&text, "msecs/connect:", fetches)?,
            first_response: spread(&text, "msecs/first-response:", counted.figures.answers)?,
            ..counted.figures
        },
        ..counted
    })
}

/// Reads `9 fetches, 8 max parallel, 108 bytes, in 1 seconds` and what came of the fetches.
fn counted(text: &Text<'_>, first: Line<'_>) -> Result<Said, Misread> {
    let fetches = first.count_before("fetches")?;
    let (right, wrong) = codes(text)?;
    let late = before(text, "timeouts")?;
    let silent = fetches.saturating_sub(right + wrong + late);
    // The first answer sets the length of all, so that each failure mostly is one of these too.
    let odd = before(text, "bad byte counts")?.saturating_sub(wrong + late + silent);
    let errors = [
        (ErrorKind::BadStatus, wrong),
        (ErrorKind::Timeout, late),
        (ErrorKind::BadLength, odd),
        (ErrorKind::BadBody, before(text, "bad checksums")?),
        (silence(text), silent),
    ];
    Ok(Said {
        version: None,
        connections: Some(first.count_before("max")?),
        requests: fetches,
        rate: 0.0,
        bytes_rate: 0.0,
        figures: LoadFigures {
            answers: right.saturating_sub(odd),
            seconds: first.real(8)?,
            body_bytes: whole(first.real(5)?),
            connections_opened: fetches,
            connections_measured: fetches,
            errors: failures(&errors),
            ..LoadFigures::default()
        },
    })
}

/// Returns how many answers had a right status and how many a wrong one.
fn codes(text: &Text<'_>) -> Result<(u64, u64), Misread> {
    text.need("HTTP response codes:")?;
    let (mut right, mut wrong) = (0, 0);
    for line in text.lines().filter_map(|line| line.after("code ")) {
        let count = line.count(2)?;
        if line.word(0)?.starts_with('2') {
            right += count;
        } else {
            wrong += count;
        }
    }
    Ok((right, wrong))
}

/// Returns the count on the line that ends with these words; 0 where there is none.
fn before(text: &Text<'_>, words: &str) -> Result<u64, Misread> {
    let line = text.lines().find(|line| line.rest().ends_with(words));
    line.map_or(Ok(0), |line| line.count(0))
}

/// Returns why nothing came, from what it complained of beside answers that were not as they should be.
fn silence(text: &Text<'_>) -> ErrorKind {
    let complaints = text.lines().filter(|line| line.rest().starts_with("http"));
    let kinds = complaints.map(|line| kind_of(line.rest()));
    let kinds = kinds.filter(|kind| !matches!(kind, ErrorKind::Malformed | ErrorKind::Timeout));
    kinds.take(1).next().unwrap_or(ErrorKind::Closed)
}

/// Reads `0.0566 mean, 0.356 max, 0.02 min`; zeros where there is no such line.
fn spread(text: &Text<'_>, label: &str, count: u64) -> Result<Spread, Misread> {
    let Some(line) = text.find(label) else {
        return Ok(Spread::default());
    };
    Ok(Spread {
        mean: line.real(0)?,
        max: line.real(2)?,
        min: line.real(4)?,
        count,
    })
}
