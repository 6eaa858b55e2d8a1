//! What was wrong with a server under load, from what the client counted. Pure.

use super::measure::Server;
use crate::matrix::Workload;
use crate::outcome::{ErrorKind, Gap, GapKind, LoadFigures};

/// A kept connection that the server closes without a word is opened again and its request sent again, as HTTP has it; a
/// server that does so more often than in this share of its answers loses requests.
const RESENT_SHARE: f64 = 0.01;

/// Returns whether most failures were of the client's own system calls: then nothing is known of the server.
pub(super) fn is_clients(load: &LoadFigures) -> bool {
    count(load, ErrorKind::Client) * 2 > load.failed()
}

/// Returns what was wrong with a server under load, given what of it has ended and how; none if its figures count.
pub(super) fn under_load(
    server: &Server,
    ended: Option<String>,
    workload: &Workload,
) -> Option<Gap> {
    if let Some(ended) = ended {
        // Of a server that dies while it warms up the measured part knows nothing.
        let answers = server.answers;
        let cause = format!("{ended} under load, after {answers} answers");
        return Some(Gap::new(GapKind::Crashed, cause));
    }
    let load = &server.load;
    let failed = load.failed();
    if count(load, ErrorKind::PortsExhausted) * 2 > failed {
        let cause = "the client ran out of local ports; this is not the server's fault";
        return Some(Gap::new(GapKind::PortsExhausted, cause));
    }
    if load.answers == 0 {
        return Some(no_answer(load));
    }
    let total = load.answers + failed;
    if share(failed, total) > workload.max_error_rate {
        let cause = format!("{failed} of {total} requests failed{}", in_words(load));
        return Some(Gap::new(GapKind::Errors, cause));
    }
    if share(load.resent, load.answers) > RESENT_SHARE {
        let (resent, answers) = (load.resent, load.answers);
        let cause = format!(
            "{resent} kept connections were dropped under {answers} answers without a word"
        );
        return Some(Gap::new(GapKind::Errors, cause));
    }
    server.hidden.then(hidden_by_the_client)
}

/// Returns the gap of a server of which only the client's own speed was seen.
fn hidden_by_the_client() -> Gap {
    let cause =
        "the load used all of its CPUs and set the pace, and the server's CPU time is not known";
    let hint = "give the load more CPUs with `--load-cpus`";
    Gap::new(GapKind::GeneratorBound, cause).with_hint(Some(hint.to_owned()))
}

/// A server that lets time pass has stalled; one that does anything else fails each request in a way of its own.
fn no_answer(load: &LoadFigures) -> Gap {
    let kind = if count(load, ErrorKind::Timeout) * 2 < load.failed() {
        GapKind::Errors
    } else {
        GapKind::Stalled
    };
    Gap::new(
        kind,
        format!("no right answer under load{}", in_words(load)),
    )
}

fn count(load: &LoadFigures, kind: ErrorKind) -> u64 {
    load.errors.get(&kind).copied().unwrap_or(0)
}

#[expect(clippy::cast_precision_loss, reason = "counts stay far below 2^53")]
fn share(part: u64, whole: u64) -> f64 {
    part as f64 / whole.max(1) as f64
}

/// Returns the failures by kind in brackets: " (reset 3, timeout 1)"; nothing where there are none.
pub(super) fn in_words(load: &LoadFigures) -> String {
    let name = |kind: &ErrorKind| serde_json::to_value(kind).unwrap_or_default();
    let words: Vec<String> = load
        .errors
        .iter()
        .map(|(kind, count)| format!("{} {count}", name(kind).as_str().unwrap_or("other")))
        .collect();
    if words.is_empty() {
        String::new()
    } else {
        format!(" ({})", words.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::time::Duration;

    use super::*;
    use crate::matrix::{Manner, Stop};
    use crate::outcome::Class;

    fn workload(max_error_rate: f64) -> Workload {
        Workload {
            name: "hello".to_owned(),
            method: "GET".to_owned(),
            path: "/".to_owned(),
            headers: BTreeMap::new(),
            body: None,
            connections: 1,
            keep_alive: true,
            stop: Stop::Requests(1),
            warmup_answers: 0,
            warmup_at_most: Duration::ZERO,
            window: Duration::from_millis(250),
            timeout: Duration::from_secs(1),
            max_error_rate,
            manner: Manner::default(),
        }
    }

    fn figures(answers: u64, errors: &[(ErrorKind, u64)]) -> LoadFigures {
        LoadFigures {
            answers,
            seconds: 1.0,
            errors: errors.iter().copied().collect(),
            ..LoadFigures::default()
        }
    }

    fn server(load: LoadFigures) -> Server {
        Server {
            load,
            ..Server::default()
        }
    }

    fn kind(load: &LoadFigures, ended: Option<String>, rate: f64) -> Option<GapKind> {
        under_load(&server(load.clone()), ended, &workload(rate)).map(|gap| gap.kind)
    }

    #[test]
    fn a_clean_load_has_no_fault() {
        assert_eq!(kind(&figures(100, &[]), None, 0.0), None);
    }

    #[test]
    fn a_dead_server_has_crashed_however_many_answers_it_gave() {
        // It died in the warm-up: none of its answers was measured.
        let dead = Server {
            answers: 4352,
            ..server(figures(0, &[(ErrorKind::Reset, 1)]))
        };
        let ended = "the server ended with code 1".to_owned();
        let gap = under_load(&dead, Some(ended), &workload(1.0)).unwrap();
        assert_eq!(gap.kind, GapKind::Crashed);
        assert!(gap.cause.ends_with("after 4352 answers"), "{}", gap.cause);
    }

    #[test]
    fn a_server_that_the_client_hid_is_no_number_and_may_be_tried_again() {
        let hidden = Server {
            hidden: true,
            ..server(figures(100, &[]))
        };
        let gap = under_load(&hidden, None, &workload(0.0)).unwrap();
        assert_eq!(
            (gap.kind, gap.class),
            (GapKind::GeneratorBound, Class::Transient)
        );
    }

    #[test]
    fn silence_is_a_stall_and_all_other_failures_are_errors() {
        assert_eq!(kind(&figures(0, &[]), None, 0.0), Some(GapKind::Stalled));
        let late = figures(0, &[(ErrorKind::Timeout, 9)]);
        assert_eq!(kind(&late, None, 0.0), Some(GapKind::Stalled));
        for failure in [
            ErrorKind::BadStatus,
            ErrorKind::Malformed,
            ErrorKind::Reset,
            ErrorKind::Short,
        ] {
            let wrong = figures(0, &[(failure, 9), (ErrorKind::Timeout, 1)]);
            assert_eq!(
                kind(&wrong, None, 0.0),
                Some(GapKind::Errors),
                "{failure:?}"
            );
        }
    }

    #[test]
    fn errors_count_against_the_allowed_rate() {
        let load = figures(99, &[(ErrorKind::Closed, 1)]);
        assert_eq!(kind(&load, None, 0.0), Some(GapKind::Errors));
        assert_eq!(kind(&load, None, 0.01), None);
    }

    #[test]
    fn the_clients_own_failures_are_never_the_servers_fault() {
        for answers in [0, 10] {
            let ports = figures(
                answers,
                &[(ErrorKind::PortsExhausted, 90), (ErrorKind::Closed, 1)],
            );
            assert_eq!(kind(&ports, None, 0.0), Some(GapKind::PortsExhausted));
            assert!(is_clients(&figures(
                answers,
                &[(ErrorKind::Client, 9), (ErrorKind::Closed, 8)]
            )));
        }
        assert!(!is_clients(&figures(10, &[(ErrorKind::Closed, 8)])));
        assert!(!is_clients(&figures(10, &[])));
    }

    #[test]
    fn connections_dropped_without_a_word_are_forgiven_only_while_they_are_few() {
        let load = |resent| LoadFigures {
            resent,
            ..figures(1000, &[])
        };
        assert_eq!(kind(&load(10), None, 0.0), None);
        assert_eq!(kind(&load(11), None, 0.0), Some(GapKind::Errors));
    }
}
