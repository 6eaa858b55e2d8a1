//! What programs write as JSON: autocannon, k6, hyperfine.

use serde::Deserialize;
use serde_json::Value;

use super::{Entry, Format, Outcome, Wrong};
use crate::outcome::{ErrorKind, Latency, LoadFigures, Spread};

/// Guesses whose it is.
pub(super) fn guess(text: &str) -> Option<Format> {
    let value: Value = serde_json::from_str(text).ok()?;
    let has = |names: &[&str]| names.iter().all(|name| value.get(name).is_some());
    let marks: [(&[&str], Format); 4] = [
        (&["metrics", "root_group"], Format::K6),
        (&["requests", "latency", "throughput"], Format::Autocannon),
        (&["summary", "statusCodeDistribution"], Format::Oha),
        (&["results"], Format::Hyperfine),
    ];
    let found = marks.into_iter().find(|(names, _)| has(names));
    found.map(|(_, format)| format)
}

fn parsed<'a, T: Deserialize<'a>>(text: &'a str, whose: &str) -> Result<T, Wrong> {
    serde_json::from_str(text).map_err(|error| {
        let what = format!("this is not the JSON of {whose}: {error}");
        Wrong::at(error.line(), what)
    })
}

/// What autocannon writes with `--json`; times in ms.
#[derive(Debug, Deserialize)]
struct Autocannon {
    duration: f64,
    connections: u64,
    errors: u64,
    timeouts: u64,
    #[serde(rename = "non2xx")]
    wrong: u64,
    #[serde(rename = "2xx")]
    right: u64,
    latency: AutocannonLatency,
    throughput: AutocannonTotal,
}

#[derive(Debug, Deserialize)]
struct AutocannonLatency {
    average: f64,
    stddev: f64,
    p50: f64,
    p75: f64,
    p90: f64,
    p99: f64,
    p99_9: f64,
    max: f64,
}

#[derive(Debug, Deserialize)]
struct AutocannonTotal {
    total: u64,
}

pub(super) fn autocannon(text: &str) -> Result<Outcome, Wrong> {
    let told: Autocannon = parsed(text, "autocannon")?;
    let latency = &told.latency;
    let errors = [
        (ErrorKind::BadStatus, told.wrong),
        (ErrorKind::Timeout, told.timeouts),
        // Timeouts are counted among the errors as well.
        (ErrorKind::Closed, told.errors.saturating_sub(told.timeouts)),
    ];
    Ok(Outcome::Figures(Box::new(LoadFigures {
        answers: told.right,
        seconds: told.duration,
        wire_bytes: told.throughput.total,
        connections_opened: told.connections,
        latency: Latency {
            mean: latency.average,
            sd: latency.stddev,
            p50: latency.p50,
            p75: latency.p75,
            p90: latency.p90,
            p99: latency.p99,
            p99_9: latency.p99_9,
            max: latency.max,
            ..Latency::default()
        },
        errors: errors.into_iter().filter(|(_, count)| *count > 0).collect(),
        ..LoadFigures::default()
    })))
}

/// What k6 writes with `--summary-export`; times in ms.
#[derive(Debug, Deserialize)]
struct K6 {
    metrics: K6Metrics,
}

#[derive(Debug, Deserialize)]
struct K6Metrics {
    http_reqs: K6Count,
    http_req_duration: K6Trend,
    http_req_connecting: K6Trend,
    http_req_waiting: K6Trend,
    #[serde(default)]
    http_req_failed: Option<K6Rate>,
    data_received: K6Count,
}

#[derive(Debug, Deserialize)]
struct K6Count {
    count: f64,
    rate: f64,
}

#[derive(Debug, Deserialize)]
struct K6Rate {
    /// Requests for which it is true that they failed.
    passes: u64,
}

#[derive(Debug, Deserialize)]
struct K6Trend {
    avg: f64,
    min: f64,
    med: f64,
    max: f64,
    #[serde(rename = "p(90)")]
    p90: f64,
    #[serde(rename = "p(99)", default)]
    p99: f64,
}

impl K6Trend {
    fn spread(&self, count: u64) -> Spread {
        Spread {
            mean: self.avg,
            max: self.max,
            min: self.min,
            count,
        }
    }
}

pub(super) fn k6(text: &str) -> Result<Outcome, Wrong> {
    let told: K6 = parsed(text, "k6")?;
    let metrics = &told.metrics;
    let failed = metrics
        .http_req_failed
        .as_ref()
        .map_or(0, |rate| rate.passes);
    let requests = whole(metrics.http_reqs.count);
    let right = requests.saturating_sub(failed);
    let seconds = metrics.http_reqs.count / metrics.http_reqs.rate;
    let latency = &metrics.http_req_duration;
    Ok(Outcome::Figures(Box::new(LoadFigures {
        answers: right,
        seconds: if seconds.is_finite() { seconds } else { 0.0 },
        told_rate: Some(metrics.http_reqs.rate).filter(|rate| failed == 0 && *rate > 0.0),
        wire_bytes: whole(metrics.data_received.count),
        connect: metrics.http_req_connecting.spread(requests),
        first_response: metrics.http_req_waiting.spread(requests),
        latency: Latency {
            mean: latency.avg,
            p50: latency.med,
            p90: latency.p90,
            p99: latency.p99,
            max: latency.max,
            ..Latency::default()
        },
        errors: Some((ErrorKind::BadStatus, failed))
            .filter(|(_, failed)| *failed > 0)
            .into_iter()
            .collect(),
        ..LoadFigures::default()
    })))
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a count that a program wrote as a real number"
)]
fn whole(number: f64) -> u64 {
    number.round() as u64
}

/// What hyperfine writes with `--export-json`; times in s.
#[derive(Debug, Deserialize)]
struct Hyperfine {
    results: Vec<HyperfineResult>,
}

#[derive(Debug, Deserialize)]
struct HyperfineResult {
    command: String,
    times: Vec<f64>,
    mean: f64,
    median: f64,
    min: f64,
    max: f64,
}

pub(super) fn hyperfine(text: &str) -> Result<Vec<Entry>, Wrong> {
    let told: Hyperfine = parsed(text, "hyperfine")?;
    if told.results.is_empty() {
        return Err(Wrong::whole("it has no result"));
    }
    Ok(told.results.iter().map(command).collect())
}

fn command(result: &HyperfineResult) -> Entry {
    let ms = |seconds: f64| seconds * 1e3;
    let spread = Spread {
        mean: ms(result.mean),
        max: ms(result.max),
        min: ms(result.min),
        count: result.times.len() as u64,
    };
    let name = result.command.split_whitespace().collect::<Vec<_>>();
    Entry {
        version: Some(name.join("-")),
        axes: Vec::new(),
        outcome: Outcome::Figures(Box::new(LoadFigures {
            answers: result.times.len() as u64,
            seconds: result.times.iter().sum(),
            first_response: spread,
            latency: Latency {
                mean: spread.mean,
                p50: ms(result.median),
                max: spread.max,
                ..Latency::default()
            },
            ..LoadFigures::default()
        })),
    }
}
