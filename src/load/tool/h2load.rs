//! `h2load`, of nghttp2: HTTP/2, and HTTP/1.1 where it is asked for. Pure.

use super::text::{Line, Text};
use super::{Aim, BODY, Call, Misread, Program, Said, args, failures, headers, url};
use crate::address::Address;
use crate::matrix::{Protocol, Stop, Workload};
use crate::outcome::{ErrorKind, Latency, LoadFigures, Spread};

pub(super) const PROGRAM: Program = Program {
    name: "h2load",
    install: "apt install nghttp2-client",
    version: Some("--version"),
    major: "1",
    // A connection that the server closes it never opens again and says nothing of: only by this can it be seen.
    least_busy: 0.75,
    counts_connecting: false,
    call,
    read,
};

/// Its own time-outs are left alone: where one passes, version 1.52 aborts.
fn call(workload: &Workload, aim: &Aim) -> Call {
    let threads = aim.cpus.min(workload.connections as usize).max(1);
    let mut words = args(&[&"-c", &workload.connections, &"-t", &threads]);
    words.extend(match aim.stop {
        Stop::Duration(duration) => ["-D".to_owned(), format!("{}ms", duration.as_millis())],
        Stop::Requests(requests) => ["-n".to_owned(), requests.to_string()],
    });
    match workload.manner.protocol {
        Protocol::Http1 => words.push("--h1".to_owned()),
        Protocol::Http2 => words.extend(args(&[&"-m", &workload.manner.streams.unwrap_or(1)])),
    }
    if workload.body.is_some() {
        words.extend(["-d", BODY].map(str::to_owned));
    }
    words.extend(["-H".to_owned(), format!(":method: {}", workload.method)]);
    words.extend(headers(workload, "-H"));
    if let Address::Unix(path) = &aim.address {
        words.extend(["-B".to_owned(), format!("unix:{}", path.display())]);
    }
    words.push(url(workload, &aim.address));
    Call::with_body(words, workload, threads)
}

fn read(said: &str) -> Result<Said, Misread> {
    let text = Text::new(said);
    let finished = text.need("finished in")?;
    let requests = text.need("requests:")?;
    let codes = text.need("status codes:")?;
    let of = |word| requests.count_before(word);
    let (failed, errored, late) = (of("failed")?, of("errored")?, of("timeout")?);
    let moved = codes.count_before("3xx")?;
    let errors = [
        (ErrorKind::BadStatus, failed.saturating_sub(errored) + moved),
        (ErrorKind::Closed, errored.saturating_sub(late)),
        (ErrorKind::Timeout, late),
    ];
    let traffic = text.need("traffic:")?;
    let times = Times::new(&text)?;
    Ok(Said {
        version: None,
        connections: None,
        requests: of("done")?,
        rate: finished.real(1)?,
        bytes_rate: 0.0,
        figures: LoadFigures {
            answers: of("succeeded")?.saturating_sub(moved),
            seconds: finished.time(0)? / 1e3,
            body_bytes: traffic.count_before("data")?,
            wire_bytes: traffic.count_before("total")?,
            connect: times.spread(&text, "time for connect:")?,
            // That of the first request of each connection, from the moment at which that began to open.
            first_response: Spread::default(),
            latency: times.latency(text.need("time for request:")?)?,
            errors: failures(&errors),
            ..LoadFigures::default()
        },
    })
}

/// The table of times. Its columns have grown with the versions, so they are found by name.
struct Times<'a> {
    columns: Vec<&'a str>,
}

impl<'a> Times<'a> {
    fn new(text: &Text<'a>) -> Result<Self, Misread> {
        let head = text.lines().find(|line| line.rest().starts_with("min "));
        let head = head.ok_or(Misread::Missing("min"))?;
        Ok(Self {
            columns: head.words().collect(),
        })
    }

    /// Returns the time in a column; 0 where this version has no such column.
    fn at(&self, line: Line<'_>, column: &str) -> Result<f64, Misread> {
        let place = self.columns.iter().position(|name| *name == column);
        place.map_or(Ok(0.0), |place| line.time(place))
    }

    fn spread(&self, text: &Text<'_>, label: &'static str) -> Result<Spread, Misread> {
        let line = text.need(label)?;
        Ok(Spread {
            mean: self.at(line, "mean")?,
            min: self.at(line, "min")?,
            max: self.at(line, "max")?,
            count: 0,
        })
    }

    fn latency(&self, line: Line<'_>) -> Result<Latency, Misread> {
        // Two words of the head, `+/- sd`, are one column.
        let within = line.real(self.columns.len().saturating_sub(2))?;
        Ok(Latency {
            mean: self.at(line, "mean")?,
            sd: self.at(line, "sd")?,
            p50: self.at(line, "median")?,
            p95: self.at(line, "p95")?,
            p99: self.at(line, "p99")?,
            max: self.at(line, "max")?,
            within_sd: within / 100.0,
            ..Latency::default()
        })
    }
}
