//! `hey`: a worker for each connection, in Go. Pure.

use super::text::{Line, Text};
use super::{
    Aim, BODY, Call, Misread, Program, Said, args, failures, headers, kind_of, url, whole_seconds,
};
use crate::matrix::{Stop, Workload};
use crate::outcome::{ErrorKind, Latency, LoadFigures, Spread};

pub(super) const PROGRAM: Program = Program {
    name: "hey",
    install: "apt install hey",
    version: None,
    major: "0",
    least_busy: 0.25,
    counts_connecting: true,
    call,
    read,
};

fn call(workload: &Workload, aim: &Aim) -> Call {
    let connections = u64::from(workload.connections);
    let mut words = args(&[&"-c", &connections, &"-t", &whole_seconds(workload.timeout)]);
    words.extend(args(&[&"-cpus", &aim.cpus, &"-m", &workload.method]));
    match aim.stop {
        Stop::Duration(duration) => {
            words.extend(["-z".to_owned(), format!("{}ms", duration.as_millis())]);
        }
        // It leaves out what is left over when each worker has had the same number.
        Stop::Requests(requests) => {
            words.extend(args(&[
                &"-n",
                &(requests.div_ceil(connections) * connections),
            ]));
        }
    }
    words.extend(["-disable-compression", "-disable-redirects"].map(str::to_owned));
    if !workload.keep_alive {
        words.push("-disable-keepalive".to_owned());
    }
    words.extend(headers(workload, "-H"));
    let host = workload
        .headers
        .iter()
        .find(|(name, _)| name.eq_ignore_ascii_case("host"));
    if let Some((_, host)) = host {
        words.extend(["-host".to_owned(), host.clone()]);
    }
    if workload.body.is_some() {
        words.extend(["-D", BODY].map(str::to_owned));
    }
    words.push(url(workload, &aim.address));
    Call::with_body(words, workload, aim.cpus)
}

fn read(said: &str) -> Result<Said, Misread> {
    let text = Text::new(said);
    let mut counts = Vec::new();
    let mut answers = 0;
    text.need("Status code distribution:")?;
    for line in text.below("Status code distribution:") {
        match (line.word(0)?, line.count(1)?) {
            (code, count) if code.starts_with('2') => answers += count,
            (_, count) => counts.push((ErrorKind::BadStatus, count)),
        }
    }
    for line in text.below("Error distribution:") {
        counts.push((kind_of(line.rest()), line.count(0)?));
    }
    Ok(Said {
        version: None,
        connections: None,
        requests: answers + counts.iter().map(|(_, count)| count).sum::<u64>(),
        rate: text.need("Requests/sec:")?.real(0)?,
        bytes_rate: 0.0,
        figures: LoadFigures {
            answers,
            seconds: text.need("Total:")?.real(0)?,
            body_bytes: text.count("Total data:")?,
            first_response: first_response(&text, answers)?,
            latency: latency(&text)?,
            errors: failures(&counts),
            ..LoadFigures::default()
        },
    })
}

/// Reads the wait for an answer: average, fastest, slowest. What it says of connecting are times of whole requests.
fn first_response(text: &Text<'_>, count: u64) -> Result<Spread, Misread> {
    let line = text.need("resp wait:")?;
    Ok(Spread {
        mean: line.real(0)? * 1e3,
        min: line.real(2)? * 1e3,
        max: line.real(4)? * 1e3,
        count,
    })
}

fn latency(text: &Text<'_>) -> Result<Latency, Misread> {
    // Some versions end the share with two signs.
    let at = |share: &str| {
        let line = text.find(&format!("{share}% in"));
        let line = line.or_else(|| text.find(&format!("{share}%% in")));
        line.map_or(Ok(0.0), |line: Line<'_>| Ok(line.real(0)? * 1e3))
    };
    Ok(Latency {
        mean: text.need("Average:")?.real(0)? * 1e3,
        max: text.need("Slowest:")?.real(0)? * 1e3,
        p50: at("50")?,
        p75: at("75")?,
        p90: at("90")?,
        p95: at("95")?,
        p99: at("99")?,
        ..Latency::default()
    })
}
