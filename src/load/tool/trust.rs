//! Whether what a program says of a load can be: its own faults must never look like a slow version. Pure.

use crate::matrix::Stop;
use crate::outcome::LoadFigures;

use super::Said;

/// How far figures that should be equal may be apart: programs end their parts of a load at different moments.
const APART: f64 = 0.02;
/// Half of the last digit of the seconds that programs print.
const LAST_DIGIT: f64 = 0.005;
/// How far percentiles may seem to fall, because they are rounded in different ways.
const ROUNDED: f64 = 0.01;
/// Digits that the shortest form of a number of bytes keeps, `1.28786e+06`.
const SHORT_FORM: f64 = 1e-5;

/// What a program was asked for.
#[derive(Debug, Clone, Copy)]
pub struct Asked {
    /// Connections at once.
    pub connections: u32,
    /// When it was to end.
    pub stop: Stop,
    /// The length of every answer's body, where that is fixed.
    pub body_length: Option<u64>,
    /// Least share of the connections that must have been under way on average.
    pub least_busy: f64,
}

/// Why figures are no figures.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Doubt {
    /// They contradict each other, or what was asked for.
    Contradiction(String),
    /// Answers had another length than the checked one.
    Length(String),
    /// Most connections did nothing.
    Idle(String),
}

/// Returns why the figures cannot be, or do not count; none if nothing speaks against them.
///
/// Failures that the program tells of are no reason: they are judged as those of the engine are.
pub fn doubt(said: &Said, asked: &Asked) -> Option<Doubt> {
    let contradictions = [
        connections(said, asked),
        rate(said),
        end(said, asked),
        percentiles(&said.figures),
        wire(&said.figures, asked),
    ];
    let contradiction = contradictions.into_iter().flatten().next();
    contradiction
        .map(Doubt::Contradiction)
        .or_else(|| length(&said.figures, asked).map(Doubt::Length))
        .or_else(|| idle(&said.figures, asked).map(Doubt::Idle))
}

fn connections(said: &Said, asked: &Asked) -> Option<String> {
    let (told, wanted) = (said.connections?, u64::from(asked.connections));
    (told < wanted).then(|| format!("it had {told} connections at once and not {wanted}"))
}

fn rate(said: &Said) -> Option<String> {
    let seconds = said.figures.seconds;
    let (counted, reckoned) = (real(said.requests), said.rate * seconds);
    let apart = (counted - reckoned).abs();
    // One request is as much as a short load may be apart.
    let allowed = counted * (APART + LAST_DIGIT / seconds.max(LAST_DIGIT)) + 1.0;
    (apart > allowed).then(|| {
        format!(
            "{counted} requests in {seconds} s are not the {:.1} per second that it says",
            said.rate
        )
    })
}

fn end(said: &Said, asked: &Asked) -> Option<String> {
    match asked.stop {
        Stop::Duration(duration) => {
            let (wanted, took) = (duration.as_secs_f64(), said.figures.seconds);
            let early = took < wanted * (1.0 - APART) - LAST_DIGIT;
            early.then(|| format!("it took {took} s and not {wanted} s"))
        }
        Stop::Requests(wanted) => {
            let ended = said.figures.answers.saturating_add(said.figures.failed());
            (ended < wanted).then(|| format!("it ended {ended} requests and not {wanted}"))
        }
    }
}

fn percentiles(figures: &LoadFigures) -> Option<String> {
    let latency = &figures.latency;
    let all = [
        latency.p50,
        latency.p75,
        latency.p90,
        latency.p95,
        latency.p99,
        latency.p99_9,
        latency.p99_99,
        latency.max,
    ];
    // One that is not told is 0.
    let told: Vec<f64> = all.into_iter().filter(|&time| time > 0.0).collect();
    let falls = told
        .windows(2)
        .find(|pair| pair[1] < pair[0] * (1.0 - ROUNDED));
    falls.map(|pair| format!("its percentiles fall from {} to {} ms", pair[0], pair[1]))
}

fn wire(figures: &LoadFigures, asked: &Asked) -> Option<String> {
    let least = real(figures.answers.saturating_mul(asked.body_length?));
    let got = real(figures.wire_bytes);
    (got > 0.0 && got < least * (1.0 - ROUNDED)).then(|| {
        format!(
            "{got} bytes cannot hold {} answers of that length",
            figures.answers
        )
    })
}

/// Answers that were cut off when the load ended may count in bytes and not as answers.
fn length(figures: &LoadFigures, asked: &Asked) -> Option<String> {
    let (answers, got) = (figures.answers, figures.body_bytes);
    if got == 0 || figures.failed() > 0 {
        return None;
    }
    let length = asked.body_length?;
    let least = real(answers.saturating_mul(length)) * (1.0 - SHORT_FORM);
    let cut_off = answers.saturating_add(u64::from(asked.connections));
    let most = real(cut_off.saturating_mul(length)) * (1.0 + SHORT_FORM);
    (!(least..=most).contains(&real(got))).then(|| {
        format!("{answers} answers had {got} bytes, and not {length} each as the checked one")
    })
}

/// By Little's law, requests under way are answers per second × their mean time. Each connection sends its next request
/// as soon as it has an answer, so where that is far below the connections, some of them were closed or wait in vain.
fn idle(figures: &LoadFigures, asked: &Asked) -> Option<String> {
    let time = mean_time(figures);
    if time <= 0.0 || figures.failed() > 0 {
        return None;
    }
    let busy = figures.fetches_per_second() * time / 1e3;
    let connections = f64::from(asked.connections);
    (busy < connections * asked.least_busy).then(|| {
        format!(
            "of {connections} connections {busy:.1} were under way on average: the others were closed, or wait for \
             answers that do not come"
        )
    })
}

/// Returns the mean time of a request, ms; that to the first byte of an answer where no other is told.
fn mean_time(figures: &LoadFigures) -> f64 {
    if figures.latency.mean > 0.0 {
        return figures.latency.mean;
    }
    figures.connect.mean + figures.first_response.mean
}

#[expect(clippy::cast_precision_loss, reason = "counts stay far below 2^53")]
fn real(count: u64) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::outcome::{ErrorKind, Latency};

    fn asked() -> Asked {
        Asked {
            connections: 10,
            stop: Stop::Duration(Duration::from_secs(2)),
            body_length: Some(12),
            least_busy: 0.25,
        }
    }

    /// A thousand answers a second on ten connections, ten milliseconds each.
    fn said() -> Said {
        Said {
            bytes_rate: 0.0,
            figures: LoadFigures {
                answers: 2000,
                seconds: 2.0,
                body_bytes: 24_000,
                wire_bytes: 200_000,
                latency: Latency {
                    mean: 10.0,
                    p50: 9.0,
                    p99: 40.0,
                    max: 41.0,
                    ..Latency::default()
                },
                ..LoadFigures::default()
            },
            version: None,
            connections: Some(10),
            requests: 2000,
            rate: 1000.0,
        }
    }

    fn change(change: impl FnOnce(&mut Said)) -> Option<Doubt> {
        let mut said = said();
        change(&mut said);
        doubt(&said, &asked())
    }

    fn is_contradiction(doubt: Option<Doubt>, words: &str) -> bool {
        matches!(doubt, Some(Doubt::Contradiction(why)) if why.contains(words))
    }

    #[test]
    fn sound_figures_raise_no_doubt() {
        assert_eq!(change(|_| {}), None);
        assert_eq!(change(|said| said.connections = None), None);
        assert_eq!(change(|said| said.rate = 1019.0), None);
        assert_eq!(change(|said| said.figures.body_bytes += 12), None);
    }

    #[test]
    fn figures_that_contradict_each_other_are_refused() {
        let too_few = change(|said| said.connections = Some(9));
        assert!(is_contradiction(too_few, "9 connections"));
        assert!(is_contradiction(
            change(|said| said.rate = 900.0),
            "per second"
        ));
        assert!(is_contradiction(
            change(|said| said.rate = f64::MAX),
            "per second"
        ));
        let early = change(|said| {
            said.figures.seconds = 1.0;
            said.rate = 2000.0;
        });
        assert!(is_contradiction(early, "took 1 s"));
        let falling = change(|said| said.figures.latency.p99 = 45.0);
        assert!(is_contradiction(falling, "fall from 45 to 41"));
        let light = change(|said| said.figures.wire_bytes = 20_000);
        assert!(is_contradiction(light, "cannot hold"));
    }

    #[test]
    fn fewer_requests_than_asked_for_are_refused() {
        let stop = |requests| Asked {
            stop: Stop::Requests(requests),
            ..asked()
        };
        assert_eq!(doubt(&said(), &stop(2000)), None);
        assert!(is_contradiction(
            doubt(&said(), &stop(2001)),
            "2000 requests"
        ));
    }

    #[test]
    fn answers_of_another_length_are_seen_by_their_sum() {
        let long = change(|said| said.figures.body_bytes += 121);
        assert!(matches!(long, Some(Doubt::Length(_))), "{long:?}");
        let short = change(|said| said.figures.body_bytes -= 1);
        assert!(matches!(short, Some(Doubt::Length(_))), "{short:?}");
        let any = Asked {
            body_length: None,
            ..asked()
        };
        let mut said = said();
        said.figures.body_bytes = 5;
        assert_eq!(doubt(&said, &any), None);
    }

    #[test]
    fn connections_that_do_nothing_are_no_slow_server() {
        let idle = change(|said| said.figures.latency.mean = 2.4);
        assert!(matches!(idle, Some(Doubt::Idle(_))), "{idle:?}");
        let busy = change(|said| said.figures.latency.mean = 2.6);
        assert_eq!(busy, None);
        // What failed is told, and judged elsewhere.
        let failed = change(|said| {
            said.figures.latency.mean = 2.4;
            said.figures.errors.insert(ErrorKind::Timeout, 1);
        });
        assert_eq!(failed, None);
    }
}
