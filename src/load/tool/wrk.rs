//! `wrk`: keeps its connections busy from a few threads, for whole seconds. Pure.

use std::fmt::Write;

use serde::Deserialize;

use super::text::{Line, Text, whole};
use super::{Aim, Call, Misread, Program, Said, args, failures, headers, url, whole_seconds};
use crate::matrix::{Stop, Workload};
use crate::outcome::{ErrorKind, Latency, LoadFigures};

pub(super) const PROGRAM: Program = Program {
    name: "wrk",
    install: "apt install wrk",
    version: Some("-v"),
    major: "4",
    // Between an answer and the next request it goes once through all its connections: half of the time where it is
    // the limit itself.
    least_busy: 0.25,
    counts_connecting: false,
    call,
    read,
};

/// The script's file.
const SCRIPT: &str = "harness.lua";

/// What begins the line that the script prints.
const MARK: &str = "{\"harness\":1,";

/// Prints at the end what the text above it rounds to three digits. As it names no function that is called for each
/// request, `wrk` sends the same bytes each time, as without a script.
const DONE: &str = r#"done = function(summary, latency, requests)
  local errors = summary.errors
  local figures = {
    {"closing", closing}, {"requests", summary.requests}, {"duration_us", summary.duration}, {"bytes", summary.bytes},
    {"connect", errors.connect}, {"read", errors.read}, {"write", errors.write},
    {"status", errors.status}, {"timeout", errors.timeout},
    {"mean_us", latency.mean}, {"sd_us", latency.stdev}, {"max_us", latency.max},
    {"p50_us", latency:percentile(50)}, {"p75_us", latency:percentile(75)},
    {"p90_us", latency:percentile(90)}, {"p95_us", latency:percentile(95)},
    {"p99_us", latency:percentile(99)}, {"p99_9_us", latency:percentile(99.9)},
    {"p99_99_us", latency:percentile(99.99)},
  }
  local parts = {}
  for _, figure in ipairs(figures) do
    table.insert(parts, string.format('"%s":%.3f', figure[1], figure[2]))
  end
  io.write('{"harness":1,', table.concat(parts, ","), "}\n")
end
"#;

fn call(workload: &Workload, aim: &Aim) -> Call {
    let connections = workload.connections as usize;
    // It gives each thread the same number of connections and leaves out the rest.
    let even = |&threads: &usize| connections.is_multiple_of(threads);
    let threads = (1..=aim.cpus).rev().find(even).unwrap_or(1);
    let seconds = match aim.stop {
        Stop::Duration(duration) => whole_seconds(duration),
        Stop::Requests(_) => 1,
    };
    let timeout = whole_seconds(workload.timeout);
    let mut words = args(&[
        &"-t",
        &threads,
        &"-c",
        &connections,
        &"-d",
        &seconds,
        &"--timeout",
        &timeout,
    ]);
    words.extend(["--latency", "-s", SCRIPT].map(str::to_owned));
    words.extend(headers(workload, "-H"));
    if !workload.keep_alive {
        words.extend(["-H", "Connection: close"].map(str::to_owned));
    }
    words.push(url(workload, &aim.address));
    Call {
        args: words,
        files: vec![(SCRIPT, script(workload))],
        writes: None,
        threads,
    }
}

/// Method and body can only be given by a script, which also tells whether each request asked for the connection to be
/// closed after it.
fn script(workload: &Workload) -> String {
    let method = quoted(&workload.method);
    let body = workload.body.as_deref().map(quoted);
    let body = body.map_or_else(String::new, |body| format!("wrk.body = {body}\n"));
    let closing = u8::from(!workload.keep_alive);
    format!("wrk.method = {method}\n{body}local closing = {closing}\n{DONE}")
}

/// Returns a text as Lua reads it: three digits after a backslash are a byte.
fn quoted(text: &str) -> String {
    let mut quoted = "\"".to_owned();
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() {
            quoted.push(byte.into());
        } else {
            // Writing to a text never fails.
            let _ = write!(quoted, "\\{byte:03}");
        }
    }
    quoted + "\""
}

/// What the script printed.
#[derive(Deserialize)]
struct Exact {
    #[serde(default)]
    closing: f64,
    requests: f64,
    duration_us: f64,
    bytes: f64,
    connect: f64,
    read: f64,
    write: f64,
    status: f64,
    timeout: f64,
    mean_us: f64,
    sd_us: f64,
    max_us: f64,
    p50_us: f64,
    p75_us: f64,
    p90_us: f64,
    p95_us: f64,
    p99_us: f64,
    p99_9_us: f64,
    p99_99_us: f64,
}

fn read(said: &str) -> Result<Said, Misread> {
    let text = Text::new(said);
    if let Some(line) = text.find("unable to connect") {
        let why = format!("unable to connect {}", line.rest());
        return Err(Misread::GaveUp { why, answers: 0 });
    }
    let mut figures = rounded(&text)?;
    if let Some(line) = text.lines().find(|line| line.rest().starts_with(MARK)) {
        let exact: Exact = serde_json::from_str(line.rest()).map_err(|_| line.misread())?;
        let within_sd = figures.latency.within_sd;
        let connections = connections(&text)?.unwrap_or(0);
        figures = exact.figures(within_sd, connections);
    }
    let late = |kind| figures.errors.get(&kind).copied().unwrap_or(0);
    Ok(Said {
        version: None,
        connections: connections(&text)?,
        requests: figures.answers + late(ErrorKind::BadStatus) + late(ErrorKind::Timeout),
        rate: text.need("Requests/sec:")?.real(0)?,
        bytes_rate: 0.0,
        figures,
    })
}

/// Reads `2 threads and 100 connections`.
fn connections(text: &Text<'_>) -> Result<Option<u64>, Misread> {
    let line = text
        .lines()
        .find(|line| line.rest().ends_with(" connections"));
    line.map(|line| line.count_before("connections"))
        .transpose()
}

/// Reads what `wrk` itself prints.
fn rounded(text: &Text<'_>) -> Result<LoadFigures, Misread> {
    let counts = text
        .lines()
        .find(|line| line.rest().contains(" requests in "));
    let counts = counts.ok_or(Misread::Missing("… requests in"))?;
    let socket = text.find("Socket errors:");
    let of = |word| socket.map_or(Ok(0), |line| line.count_after(word));
    let errors = [
        (ErrorKind::Refused, of("connect")?),
        (ErrorKind::Closed, of("read")?),
        (ErrorKind::Reset, of("write")?),
        (ErrorKind::Timeout, of("timeout")?),
        (
            ErrorKind::BadStatus,
            text.count("Non-2xx or 3xx responses:")?,
        ),
    ];
    Ok(LoadFigures {
        answers: right(counts.count(0)?, &errors),
        seconds: counts.time(3)? / 1e3,
        wire_bytes: counts.size(4)?,
        latency: latency(text)?,
        errors: failures(&errors),
        ..LoadFigures::default()
    })
}

/// A whole answer that came late or has a wrong status is among the requests.
fn right(requests: u64, errors: &[(ErrorKind, u64)]) -> u64 {
    let whole = |kind| matches!(kind, ErrorKind::Timeout | ErrorKind::BadStatus);
    let wrong = errors.iter().filter(|(kind, _)| whole(*kind));
    requests.saturating_sub(wrong.map(|(_, count)| count).sum())
}

/// Reads the line of latency, and the distribution where it was asked for.
fn latency(text: &Text<'_>) -> Result<Latency, Misread> {
    let line = text.lines().filter_map(|line| line.after("Latency"));
    let line = line.filter(|line: &Line<'_>| line.word(0) != Ok("Distribution"));
    let line = line.take(1).next().ok_or(Misread::Missing("Latency"))?;
    let at = |share| {
        text.find(share)
            .map_or(Ok(0.0), |line: Line<'_>| line.time(0))
    };
    Ok(Latency {
        mean: line.time(0)?,
        sd: line.time(1)?,
        max: line.time(2)?,
        within_sd: line.real(3)? / 100.0,
        p50: at("50%")?,
        p75: at("75%")?,
        p90: at("90%")?,
        p99: at("99%")?,
        ..Latency::default()
    })
}

impl Exact {
    /// Returns how many connections failed while an answer was read.
    ///
    /// A server that closes a connection as it was asked to, and does not say so in its answer, makes `wrk` count one
    /// after each answer; but those whose end the load did not come to.
    fn closed(&self, connections: u64) -> u64 {
        let (read, requests) = (whole(self.read), whole(self.requests));
        if self.closing > 0.0 && read.saturating_add(connections) >= requests {
            read.saturating_sub(requests)
        } else {
            read
        }
    }

    fn figures(&self, within_sd: f64, connections: u64) -> LoadFigures {
        let errors = [
            (ErrorKind::Refused, whole(self.connect)),
            (ErrorKind::Closed, self.closed(connections)),
            (ErrorKind::Reset, whole(self.write)),
            (ErrorKind::Timeout, whole(self.timeout)),
            (ErrorKind::BadStatus, whole(self.status)),
        ];
        LoadFigures {
            answers: right(whole(self.requests), &errors),
            seconds: self.duration_us / 1e6,
            wire_bytes: whole(self.bytes),
            latency: Latency {
                mean: self.mean_us / 1e3,
                sd: self.sd_us / 1e3,
                p50: self.p50_us / 1e3,
                p75: self.p75_us / 1e3,
                p90: self.p90_us / 1e3,
                p95: self.p95_us / 1e3,
                p99: self.p99_us / 1e3,
                p99_9: self.p99_9_us / 1e3,
                p99_99: self.p99_99_us / 1e3,
                max: self.max_us / 1e3,
                within_sd,
            },
            errors: failures(&errors),
            ..LoadFigures::default()
        }
    }
}
