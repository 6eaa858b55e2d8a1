//! `oha`: a worker for each connection, in Rust; it says all in JSON. Pure.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::text::GREATEST;
use super::{Aim, BODY, Call, Misread, Program, Said, args, failures, headers, kind_of, url};
use crate::address::Address;
use crate::matrix::{Protocol, Stop, Workload};
use crate::outcome::{ErrorKind, Latency, LoadFigures, Spread};

pub(super) const PROGRAM: Program = Program {
    name: "oha",
    install: "cargo install oha --locked",
    version: Some("--version"),
    major: "1",
    least_busy: 0.25,
    counts_connecting: true,
    call,
    read,
};

/// What it calls requests that were under way when the time was up: no failures.
const UNDER_WAY: &str = "aborted due to deadline";

fn call(workload: &Workload, aim: &Aim) -> Call {
    let mut words = [
        "--no-tui",
        "--no-color",
        "--disable-compression",
        "--insecure",
    ]
    .map(str::to_owned)
    .to_vec();
    words.extend(args(&[&"--output-format", &"json", &"-r", &0]));
    words.extend(args(&[
        &"-c",
        &workload.connections,
        &"--worker-threads",
        &aim.cpus,
    ]));
    words.extend([
        "-t".to_owned(),
        format!("{}ms", workload.timeout.as_millis()),
    ]);
    words.extend(args(&[&"-m", &workload.method]));
    words.extend(match aim.stop {
        Stop::Duration(duration) => ["-z".to_owned(), format!("{}ms", duration.as_millis())],
        Stop::Requests(requests) => ["-n".to_owned(), requests.to_string()],
    });
    if !workload.keep_alive {
        words.push("--disable-keepalive".to_owned());
    }
    if workload.manner.protocol == Protocol::Http2 {
        words.extend(args(&[
            &"--http2",
            &"-p",
            &workload.manner.streams.unwrap_or(1),
        ]));
    }
    if let Address::Unix(path) = &aim.address {
        words.extend(args(&[&"--unix-socket", &path.display()]));
    }
    words.extend(headers(workload, "-H"));
    if workload.body.is_some() {
        words.extend(["-D", BODY].map(str::to_owned));
    }
    words.push(url(workload, &aim.address));
    Call::with_body(words, workload, aim.cpus)
}

/// Its summary. What has no values is null.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Output {
    summary: Summary,
    latency_percentiles: BTreeMap<String, Option<f64>>,
    details: Details,
    status_code_distribution: BTreeMap<String, u64>,
    error_distribution: BTreeMap<String, u64>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Summary {
    total: f64,
    slowest: Option<f64>,
    average: Option<f64>,
    requests_per_sec: f64,
    total_data: u64,
}

#[derive(Deserialize)]
struct Details {
    #[serde(rename = "DNSDialup")]
    connect: Times,
    /// Older versions do not tell it.
    #[serde(rename = "firstByte")]
    first_byte: Option<Times>,
}

#[derive(Clone, Copy, Deserialize)]
struct Times {
    average: Option<f64>,
    fastest: Option<f64>,
    slowest: Option<f64>,
}

fn read(said: &str) -> Result<Said, Misread> {
    let start = said.find('{').ok_or(Misread::Missing("{"))?;
    let mut values = serde_json::Deserializer::from_str(&said[start..]).into_iter::<Output>();
    match values.next() {
        Some(Ok(output)) if output.is_plausible() => Ok(output.said()),
        Some(Ok(_)) => Err(Misread::Missing("counts that can be")),
        Some(Err(error)) => {
            let number = said[..start].lines().count() + error.line();
            Err(Misread::Line {
                number,
                line: error.to_string(),
            })
        }
        None => Err(Misread::Missing("{")),
    }
}

impl Output {
    fn is_plausible(&self) -> bool {
        let counts = self.status_code_distribution.values();
        let mut counts = counts.chain(self.error_distribution.values());
        counts.all(|&count| count <= GREATEST)
    }

    fn said(&self) -> Said {
        let codes = || self.status_code_distribution.iter();
        let is_right = |code: &str| code.starts_with('2');
        let right = codes().filter(|(code, _)| is_right(code));
        let answers = right.map(|(_, count)| count).sum();
        let wrong = codes().filter(|(code, _)| !is_right(code));
        let mut counts: Vec<_> = wrong
            .map(|(_, &count)| (ErrorKind::BadStatus, count))
            .collect();
        let told = self.error_distribution.iter();
        let failed = told.filter(|(words, _)| *words != UNDER_WAY);
        counts.extend(failed.map(|(words, &count)| (kind_of(words), count)));
        let all = |counts: &BTreeMap<String, u64>| counts.values().sum::<u64>();
        Said {
            version: None,
            connections: None,
            requests: all(&self.status_code_distribution) + all(&self.error_distribution),
            rate: self.summary.requests_per_sec,
            bytes_rate: 0.0,
            figures: LoadFigures {
                answers,
                seconds: self.summary.total,
                body_bytes: self.summary.total_data,
                connect: self.details.connect.spread(0),
                first_response: self
                    .details
                    .first_byte
                    .map_or_else(Spread::default, |times| times.spread(answers)),
                latency: self.latency(),
                errors: failures(&counts),
                ..LoadFigures::default()
            },
        }
    }

    fn latency(&self) -> Latency {
        let at = |name: &str| {
            let told = self.latency_percentiles.get(name).copied().flatten();
            told.unwrap_or(0.0) * 1e3
        };
        Latency {
            mean: self.summary.average.unwrap_or(0.0) * 1e3,
            p50: at("p50"),
            p75: at("p75"),
            p90: at("p90"),
            p95: at("p95"),
            p99: at("p99"),
            p99_9: at("p99.9"),
            p99_99: at("p99.99"),
            max: self.summary.slowest.unwrap_or(0.0) * 1e3,
            ..Latency::default()
        }
    }
}

impl Times {
    fn spread(self, count: u64) -> Spread {
        let milliseconds = |time: Option<f64>| time.unwrap_or(0.0) * 1e3;
        Spread {
            mean: milliseconds(self.average),
            min: milliseconds(self.fastest),
            max: milliseconds(self.slowest),
            count,
        }
    }
}
