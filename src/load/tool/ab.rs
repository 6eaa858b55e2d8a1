//! `ab`, of the Apache server: HTTP/1.0 from one thread. Pure.

use super::text::{Line, Text, real};
use super::{Aim, BODY, Call, Misread, Program, Said, args, failures, headers, url, whole_seconds};
use crate::matrix::{Stop, Workload};
use crate::outcome::{ErrorKind, Latency, LoadFigures, Spread};

pub(super) const PROGRAM: Program = Program {
    name: "ab",
    install: "apt install apache2-utils",
    version: Some("-V"),
    major: "2",
    least_busy: 0.25,
    counts_connecting: true,
    call,
    read,
};

/// The file with the share of requests by time, to a microsecond where the output rounds to milliseconds.
const SHARES: &str = "shares.csv";
/// The head of that file.
const SHARES_HEAD: &str = "Percentage served,";
/// Requests per second that it never reaches: with a given time it must be told a number too.
const BEYOND: u64 = 1_000_000;

fn call(workload: &Workload, aim: &Aim) -> Call {
    // A failure of one connection must not end all; counts are for this program.
    let mut words = args(&[&"-q", &"-r", &"-c", &workload.connections]);
    words.extend(args(&[
        &"-s",
        &whole_seconds(workload.timeout),
        &"-e",
        &SHARES,
    ]));
    match aim.stop {
        Stop::Duration(duration) => {
            let seconds = whole_seconds(duration);
            // In this order: the time sets a number of its own.
            words.extend(args(&[&"-t", &seconds, &"-n", &(seconds * BEYOND)]));
        }
        Stop::Requests(requests) => words.extend(args(&[&"-n", &requests])),
    }
    words.push(
        if workload.keep_alive {
            "-k"
        } else {
            "-HConnection: close"
        }
        .to_owned(),
    );
    if !aim.same_length {
        words.push("-l".to_owned());
    }
    words.extend(request(workload));
    words.push(url(workload, &aim.address));
    Call {
        writes: Some(SHARES),
        ..Call::with_body(words, workload, 1)
    }
}

fn request(workload: &Workload) -> Vec<String> {
    let mut workload = workload.clone();
    // It writes this header itself, and would write it twice.
    let is_type = |name: &String| name.eq_ignore_ascii_case("content-type");
    let name = workload.headers.keys().find(|name| is_type(name)).cloned();
    let kind = name.and_then(|name| workload.headers.remove(&name));
    let mut words = headers(&workload, "-H");
    if let Some(kind) = kind {
        words.extend(["-T".to_owned(), kind]);
    }
    if workload.body.is_some() {
        words.extend(["-p", BODY].map(str::to_owned));
    }
    match workload.method.as_str() {
        // Only so does it know that no body comes.
        "HEAD" => words.push("-i".to_owned()),
        "GET" if workload.body.is_none() => {}
        method => words.extend(["-m".to_owned(), method.to_owned()]),
    }
    words
}

fn read(said: &str) -> Result<Said, Misread> {
    let text = Text::new(said);
    let version = text.find("This is ApacheBench, Version");
    let version = version.and_then(|line| Some(line.word(0).ok()?.to_owned()));
    let Some(complete) = text.find("Complete requests:") else {
        return Err(gave_up(&text)?);
    };
    let complete = complete.count(0)?;
    let (errors, failed) = errors(&text)?;
    let kept = text.find("Keep-Alive requests:");
    let kept = kept.map_or(Ok(0), |line| line.count(0))?;
    let connections = text.need("Concurrency Level:")?.count(0)?;
    let opened = complete.saturating_sub(kept) + connections.min(kept);
    Ok(Said {
        figures: LoadFigures {
            answers: complete.saturating_sub(failed),
            seconds: text.need("Time taken for tests:")?.real(0)?,
            body_bytes: text.need("HTML transferred:")?.count(0)?,
            wire_bytes: text.need("Total transferred:")?.count(0)?,
            connections_opened: opened,
            connections_measured: opened,
            connect: spread(text.need("Connect:")?, opened)?,
            first_response: spread(text.need("Waiting:")?, complete)?,
            latency: latency(&text)?,
            errors,
            ..LoadFigures::default()
        },
        version,
        connections: Some(connections),
        requests: complete,
        rate: text.need("Requests per second:")?.real(0)?,
        bytes_rate: 0.0,
    })
}

/// Returns why there are no figures: it stops at the first failure of some kinds.
fn gave_up(text: &Text<'_>) -> Result<Misread, Misread> {
    let total = text
        .lines()
        .find(|line| line.rest().ends_with("requests completed"));
    let answers = total.map_or(Ok(0), |line| line.count_before("requests"))?;
    let why = text.lines().find(|line| line.rest().starts_with("apr_"));
    Ok(match why {
        Some(why) => Misread::GaveUp {
            why: why.rest().to_owned(),
            answers,
        },
        None => Misread::Missing("Complete requests:"),
    })
}

/// Returns the failures, and how many of the complete requests they were.
///
/// A wrong status mostly has another length too and is counted under both; those that fail while they are read are
/// among the complete ones as well.
fn errors(text: &Text<'_>) -> Result<(std::collections::BTreeMap<ErrorKind, u64>, u64), Misread> {
    let kinds = text.find("(Connect:");
    let of = |word| kinds.map_or(Ok(0), |line: Line<'_>| line.count_after(word));
    let connect = kinds.map_or(Ok(0), |line| line.count(0))?;
    let (receive, length, other) = (of("Receive")?, of("Length")?, of("Exceptions")?);
    let status = text.count("Non-2xx responses:")?;
    let counts = [
        (ErrorKind::Refused, connect),
        (ErrorKind::Reset, receive + text.count("Write errors:")?),
        (ErrorKind::Malformed, other),
        (ErrorKind::BadStatus, status),
        (ErrorKind::BadLength, length.saturating_sub(status)),
    ];
    Ok((failures(&counts), receive + other + length.max(status)))
}

/// Reads `min mean[+/-sd] median max`.
fn spread(line: Line<'_>, count: u64) -> Result<Spread, Misread> {
    Ok(Spread {
        min: line.real(0)?,
        mean: line.real(1)?,
        max: line.real(4)?,
        count,
    })
}

fn latency(text: &Text<'_>) -> Result<Latency, Misread> {
    let total = text.need("Total:")?;
    let at = |share| {
        text.find(share)
            .map_or(Ok(0.0), |line: Line<'_>| line.real(0))
    };
    let coarse = Latency {
        mean: total.real(1)?,
        sd: total.real(2)?,
        p50: at("50%")?,
        p75: at("75%")?,
        p90: at("90%")?,
        p95: at("95%")?,
        p99: at("99%")?,
        max: total.real(4)?,
        ..Latency::default()
    };
    let shares = shares(text)?;
    let (Some(max), true) = (shares.last(), shares.len() == 101) else {
        return Ok(coarse);
    };
    Ok(Latency {
        // Each of a hundred equal parts of the answers stands for itself by its slowest.
        mean: shares[1..].iter().sum::<f64>() / 100.0,
        p50: shares[50],
        p75: shares[75],
        p90: shares[90],
        p95: shares[95],
        p99: shares[99],
        max: *max,
        ..coarse
    })
}

/// Reads the file of shares, where it follows: one line for each percent.
fn shares(text: &Text<'_>) -> Result<Vec<f64>, Misread> {
    let lines = text.below(SHARES_HEAD);
    lines
        .map(|line| {
            let time = line.rest().split_once(',').and_then(|(_, time)| real(time));
            time.ok_or_else(|| line.misread())
        })
        .collect()
}
