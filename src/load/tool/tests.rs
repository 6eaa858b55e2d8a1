//! What real programs said of real servers, some of which failed. `tests/tools` holds the texts: those of the programs
//! named in the files' names, and some that others have published.
#![expect(clippy::disallowed_methods, reason = "the recorded texts are files")]

use std::collections::BTreeMap;
use std::fmt::Write;

use proptest::prelude::*;

use super::*;
use crate::matrix::{Manner, Protocol};
use crate::outcome::ErrorKind::{
    BadLength, BadStatus, Closed, Malformed, Refused, Reset, Short, Timeout,
};
use crate::outcome::Spread;

const TOOLS: [Tool; 6] = [
    Tool::Wrk,
    Tool::Ab,
    Tool::Hey,
    Tool::Oha,
    Tool::H2load,
    Tool::HttpLoad,
];

fn text(name: &str) -> String {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/tools");
    std::fs::read_to_string(format!("{folder}/{name}.txt")).unwrap()
}

/// Returns the program that said a recorded text.
fn speaker(name: &str) -> &'static Program {
    let of = |tool: &Tool| {
        program(*tool).filter(|program| name.starts_with(&format!("{}-", program.name)))
    };
    TOOLS.iter().find_map(of).unwrap()
}

fn said(name: &str) -> Said {
    speaker(name)
        .read(&text(name))
        .unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn asked(said: &Said, name: &str) -> Asked {
    Asked {
        connections: 8,
        stop: Stop::Duration(Duration::from_secs_f64(said.figures.seconds)),
        body_length: Some(12),
        least_busy: speaker(name).least_busy,
    }
}

fn assert_close(told: f64, expected: f64) {
    assert!(
        (told - expected).abs() <= expected * 1e-4,
        "{told} is not {expected}"
    );
}

#[test]
fn a_load_that_went_well_gives_the_programs_own_figures() {
    for (name, answers, seconds, body, wire) in [
        ("wrk-4.1.0-well", 80_044, 1.1, 0, 6_165_627),
        ("wrk-4.1.0-exact", 89_094, 2.004_578, 0, 6_860_238),
        ("ab-2.3-well", 2000, 0.031, 24_000, 202_000),
        ("ab-2.3-shares", 59_520, 1.0, 714_240, 6_011_520),
        ("hey-0.1.4-well", 42_581, 1.0013, 510_972, 0),
        ("oha-1.16.0-well", 147_570, 2.003_228_281, 1_770_840, 0),
        ("h2load-1.52.0-well", 79_682, 1.0, 956_256, 6_135_514),
        ("h2load-1.52.0-requests", 2000, 0.034_05, 24_000, 154_000),
        ("http_load-2006-well", 14_494, 1.0, 173_928, 0),
        ("http_load-2006-requests", 1000, 0.078_858, 12_000, 0),
    ] {
        let said = said(name);
        let figures = &said.figures;
        assert_eq!(
            (figures.answers, &figures.errors),
            (answers, &BTreeMap::new()),
            "{name}"
        );
        assert_eq!(
            (figures.body_bytes, figures.wire_bytes),
            (body, wire),
            "{name}"
        );
        assert_close(figures.seconds, seconds);
        assert_eq!(doubt(&said, &asked(&said, name)), None, "{name}");
    }
}

#[test]
fn failures_have_their_kinds_and_are_no_answers() {
    for (name, answers, errors) in [
        ("wrk-4.1.0-answers-500", 71_707, vec![(BadStatus, 71_706)]),
        ("wrk-4.1.0-closes", 136_308, vec![(Closed, 2781)]),
        ("wrk-4.1.0-dies", 2000, vec![(Closed, 13), (Reset, 99_927)]),
        ("ab-2.3-answers-500", 1000, vec![(BadStatus, 1000)]),
        ("ab-2.3-length", 1800, vec![(BadLength, 200)]),
        ("ab-2.3-closes", 1960, vec![(BadLength, 40)]),
        ("ab-2.3-refused", 0, vec![(Reset, 2000), (Malformed, 1000)]),
        ("hey-0.1.4-answers-500", 42_661, vec![(BadStatus, 42_660)]),
        ("hey-0.1.4-closes", 68_714, vec![(Closed, 2)]),
        ("hey-0.1.4-dies", 2000, vec![(Refused, 57_858)]),
        ("hey-0.1.4-garbage", 61_851, vec![(Malformed, 1262)]),
        ("hey-0.1.4-stall", 784, vec![(Timeout, 16)]),
        ("hey-0.1.4-silent", 0, vec![(Timeout, 16)]),
        ("hey-0.1.4-refused", 0, vec![(Refused, 96)]),
        ("oha-1.16.0-answers-500", 13_973, vec![(BadStatus, 13_973)]),
        ("oha-1.16.0-closes", 54_459, vec![(Closed, 1111)]),
        ("oha-1.16.0-short", 89_174, vec![(Short, 1819)]),
        (
            "oha-1.16.0-dies",
            2000,
            vec![(Closed, 8), (Refused, 84_788)],
        ),
        ("oha-1.16.0-stall", 784, vec![(Timeout, 8)]),
        ("oha-1.16.0-silent", 0, vec![(Timeout, 8)]),
        ("oha-1.16.0-refused", 0, vec![(Refused, 100)]),
        (
            "h2load-1.52.0-answers-500",
            75_059,
            vec![(BadStatus, 75_059)],
        ),
        ("h2load-1.52.0-closes-requests", 392, vec![(Closed, 1608)]),
        (
            "http_load-2006-answers-500",
            17_298,
            vec![(BadStatus, 17_297)],
        ),
        ("http_load-2006-dies", 2000, vec![(Refused, 9356)]),
        ("http_load-2006-length", 9445, vec![(BadLength, 1049)]),
        ("http_load-2006-stall", 784, vec![(Timeout, 8)]),
        ("http_load-2006-silent", 0, vec![(Timeout, 8)]),
        ("http_load-2006-refused", 0, vec![(Refused, 66_440)]),
    ] {
        let figures = said(name).figures;
        let errors: BTreeMap<ErrorKind, u64> = errors.into_iter().collect();
        assert_eq!(
            (figures.answers, figures.errors),
            (answers, errors),
            "{name}"
        );
    }
}

/// `wrk` and `h2load` say nothing of connections that wait in vain or were closed, `hey` nothing of bodies cut short.
#[test]
fn faults_that_a_program_hides_are_seen_in_its_figures() {
    let doubted = |name: &str| doubt(&said(name), &asked(&said(name), name));
    for name in [
        "wrk-4.1.0-stall",
        "wrk-4.1.0-exact-stall",
        "h2load-1.52.0-closes",
    ] {
        assert!(matches!(doubted(name), Some(Doubt::Idle(_))), "{name}");
    }
    for name in [
        "hey-0.1.4-length",
        "oha-1.16.0-length",
        "h2load-1.52.0-length",
    ] {
        assert!(matches!(doubted(name), Some(Doubt::Length(_))), "{name}");
    }
    for name in [
        "wrk-4.1.0-silent",
        "h2load-1.52.0-silent",
        "h2load-1.52.0-refused",
    ] {
        let figures = said(name).figures;
        assert_eq!((figures.answers, figures.failed()), (0, 0), "{name}");
    }
}

/// Recorded from a server that closes each connection as it was asked to, without a header that says so.
#[test]
fn a_connection_that_is_closed_as_it_was_asked_to_is_no_failure_of_wrk() {
    let recorded = text("wrk-4.1.0-exact-closing");
    let errors = |text: &str| speaker("wrk-").read(text).unwrap().figures.errors;
    assert_eq!(errors(&recorded), BTreeMap::new());
    let asked_to_keep = recorded.replace("\"closing\":1", "\"closing\":0");
    assert!(errors(&asked_to_keep)[&Closed] > 1000);
    let some_fail = recorded.replace("\"read\":", "\"read\":9");
    assert!(errors(&some_fail)[&Closed] > 1000);
}

#[test]
fn a_program_that_gives_up_says_why() {
    for (name, kind, completed) in [
        ("wrk-4.1.0-refused", Refused, 0),
        ("ab-2.3-stall", Timeout, 392),
        ("ab-2.3-silent", Timeout, 0),
        ("ab-published-fibjs", Reset, 4352),
    ] {
        match speaker(name).read(&text(name)) {
            Err(Misread::GaveUp { why, answers }) => {
                assert_eq!((kind_of(&why), answers), (kind, completed), "{name}");
            }
            other => panic!("{name}: {other:?}"),
        }
    }
    let aborted = speaker("h2load-").read(&text("h2load-1.52.0-aborts"));
    assert_eq!(aborted, Err(Misread::Missing("finished in")));
}

#[test]
fn times_are_in_milliseconds_whatever_unit_they_are_told_in() {
    let wrk = said("wrk-4.1.0-well").figures.latency;
    assert_close(wrk.mean, 0.110_68);
    assert_close(wrk.max, 4.78);
    assert_close(wrk.p99, 2.01);
    assert_close(wrk.within_sd, 0.9771);
    let exact = said("wrk-4.1.0-exact").figures.latency;
    assert_close(exact.p99_9, 46.862);
    assert_close(exact.p99_99, 55.369);
    assert_close(said("hey-0.1.4-well").figures.latency.max, 8.2);
    let oha = said("oha-1.16.0-well").figures;
    assert_close(oha.latency.p99_9, 1.049_815);
    assert_close(oha.connect.max, 1.060_662);
    assert_close(oha.first_response.min, 0.014_111);
    let h2load = said("h2load-1.52.0-well").figures;
    assert_close(h2load.latency.max, 8.15);
    assert_close(h2load.connect.mean, 0.033);
    assert_close(h2load.latency.within_sd, 0.9968);
    let shares = said("ab-2.3-shares").figures.latency;
    assert_close(shares.max, 10.757);
    assert_close(shares.p99, 1.447);
}

#[test]
fn published_figures_are_read_as_they_were_printed() {
    let go = said("wrk-published-go");
    assert_eq!((go.connections, go.figures.answers), (Some(100), 540_458));
    assert_close(go.figures.latency.max, 229.69);
    assert_close(go.rate, 53_843.81);
    let string = said("ab-published-string");
    assert_eq!(string.version.as_deref(), Some("2.3"));
    assert_eq!(
        (string.connections, string.figures.answers),
        (Some(300), 10_000)
    );
    assert_close(string.figures.latency.mean, 83.0);
    assert_close(string.figures.connect.max, 3008.0);
    // The page of 2012 left the first lines out: rate and times are all there is.
    let node = said("http_load-published-0.2.0");
    assert_eq!((node.figures.answers, node.connections), (0, None));
    assert_close(node.rate, 7129.99);
    let connect = Spread {
        mean: 0.056_561_8,
        max: 0.356,
        min: 0.02,
        count: 0,
    };
    assert_eq!(node.figures.connect, connect);
    let asked = asked(&node, "http_load-");
    assert!(
        doubt(
            &node,
            &Asked {
                stop: Stop::Duration(Duration::from_secs(10)),
                ..asked
            }
        )
        .is_some()
    );
}

#[test]
fn an_output_that_breaks_off_is_never_a_smaller_figure() {
    for name in [
        "wrk-4.1.0-exact",
        "ab-2.3-shares",
        "hey-0.1.4-well",
        "oha-1.16.0-well",
        "h2load-1.52.0-well",
        "http_load-2006-well",
    ] {
        let whole = text(name);
        let full = said(name);
        for end in (0..whole.len()).filter(|end| whole.is_char_boundary(*end)) {
            let Ok(said) = speaker(name).read(&whole[..end]) else {
                continue;
            };
            let sound = said.figures.failed() == 0 && doubt(&said, &asked(&full, name)).is_none();
            if sound {
                assert_eq!(
                    said.figures.answers, full.figures.answers,
                    "{name} to {end}"
                );
            }
        }
    }
}

#[test]
fn versions_are_found_in_what_programs_say_of_themselves() {
    for (name, told, version) in [
        (
            "wrk-",
            "wrk debian/4.1.0-3+b2 [epoll] Copyright (C) 2012 Will Glozer",
            "4.1.0",
        ),
        (
            "wrk-",
            "wrk 4.2.0 [epoll] Copyright (C) 2012 Will Glozer",
            "4.2.0",
        ),
        (
            "ab-",
            "This is ApacheBench, Version 2.3 <$Revision: 655654 $>",
            "2.3",
        ),
        ("oha-", "oha 1.16.0", "1.16.0"),
        ("h2load-", "h2load nghttp2/1.52.0", "1.52.0"),
    ] {
        let program = speaker(name);
        assert_eq!(
            Program::version_in(told).as_deref(),
            Some(version),
            "{told}"
        );
        assert!(program.knows(version), "{told}");
        assert!(!program.knows("10.0"), "{told}");
    }
    assert_eq!(Program::version_in("no number here"), None);
}

fn workload(tool: Tool) -> Workload {
    Workload {
        name: "hello".to_owned(),
        method: "GET".to_owned(),
        path: "/users?name=J".to_owned(),
        headers: BTreeMap::new(),
        body: None,
        connections: 100,
        keep_alive: tool != Tool::HttpLoad,
        stop: Stop::Duration(Duration::from_secs(3)),
        warmup_answers: 0,
        warmup_at_most: Duration::ZERO,
        window: Duration::from_millis(250),
        timeout: Duration::from_secs(5),
        max_error_rate: 0.0,
        manner: Manner {
            tool,
            ..Manner::default()
        },
    }
}

fn call(workload: &Workload, stop: Stop) -> Call {
    let aim = Aim {
        address: Address::Tcp("127.0.0.1:80".parse().unwrap()),
        cpus: 3,
        stop,
        same_length: true,
    };
    program(workload.manner.tool).unwrap().call(workload, &aim)
}

#[test]
fn each_program_is_called_for_a_time_and_for_a_number_of_requests() {
    let stops = [Stop::Duration(Duration::from_secs(3)), Stop::Requests(5010)];
    let mut lines = String::new();
    for tool in TOOLS {
        for stop in stops {
            let call = call(&workload(tool), stop);
            let name = program(tool).unwrap().name;
            let args = call.args.join(" ");
            writeln!(lines, "{name} {args} ({} threads)", call.threads).unwrap();
        }
    }
    insta::assert_snapshot!(lines);
}

#[test]
fn method_headers_and_body_reach_each_program_in_its_own_way() {
    let mut lines = String::new();
    for tool in [Tool::Wrk, Tool::Ab, Tool::Hey, Tool::Oha, Tool::H2load] {
        let mut workload = workload(tool);
        workload.method = "PATCH".to_owned();
        workload.body = Some("a=\"1\"\n".to_owned());
        workload.headers = [("Content-Type", "text/x"), ("Host", "here"), ("X-A", "b c")]
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .into();
        let call = call(&workload, workload.stop);
        let name = program(tool).unwrap().name;
        let (file, content) = &call.files[0];
        let first: Vec<&str> = content.lines().take(2).collect();
        let (args, first) = (call.args.join(" "), first.join("; "));
        writeln!(lines, "{name} {args}\n  {file}: {first}").unwrap();
    }
    insta::assert_snapshot!(lines);
}

#[test]
fn protocols_connections_and_sockets_have_their_arguments() {
    let with = |tool, change: fn(&mut Workload)| {
        let mut workload = workload(tool);
        change(&mut workload);
        call(&workload, workload.stop).args.join(" ")
    };
    let close = |workload: &mut Workload| workload.keep_alive = false;
    assert!(with(Tool::Wrk, close).contains("-H Connection: close"));
    assert!(with(Tool::Ab, close).contains("-HConnection: close"));
    assert!(!with(Tool::Ab, close).contains(" -k"));
    assert!(with(Tool::Hey, close).contains("-disable-keepalive"));
    assert!(with(Tool::Oha, close).contains("--disable-keepalive"));
    let two = |workload: &mut Workload| {
        workload.manner.protocol = Protocol::Http2;
        workload.manner.streams = Some(7);
        workload.manner.tls = true;
    };
    assert!(with(Tool::Oha, two).contains("--http2 -p 7"));
    assert!(with(Tool::H2load, two).contains("-m 7"));
    assert!(!with(Tool::H2load, two).contains("--h1"));
    assert!(with(Tool::Wrk, two).ends_with(" https://127.0.0.1:80/users?name=J"));
    let head = |workload: &mut Workload| workload.method = "HEAD".to_owned();
    assert!(with(Tool::Ab, head).contains(" -i "));
    let socket = Aim {
        address: Address::Unix("/run/here".into()),
        cpus: 1,
        stop: Stop::Requests(1),
        same_length: false,
    };
    let of = |tool| {
        program(tool)
            .unwrap()
            .call(&workload(tool), &socket)
            .args
            .join(" ")
    };
    assert!(of(Tool::Oha).contains("--unix-socket /run/here"));
    assert!(of(Tool::H2load).contains("-B unix:/run/here"));
    assert!(of(Tool::Ab).contains(" -l "));
}

/// Texts that look like what the programs say, and are not.
fn nonsense() -> impl Strategy<Value = String> {
    let names: Vec<String> = std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/tools"))
        .unwrap()
        .map(|entry| std::fs::read_to_string(entry.unwrap().path()).unwrap())
        .collect();
    let number = "(-?[0-9]{1,25}(\\.[0-9]{1,3})?|nan|inf|1e999|[^0-9]{0,3})";
    (proptest::sample::select(names), 0..4000_usize, number).prop_map(|(text, at, number)| {
        let digits = text.match_indices(|letter: char| letter.is_ascii_digit());
        let places: Vec<usize> = digits.map(|(place, _)| place).collect();
        let Some(&place) = places.get(at % places.len().max(1)) else {
            return text;
        };
        format!("{}{number}{}", &text[..place], &text[place + 1..])
    })
}

proptest! {
    #[test]
    fn no_text_makes_a_reader_panic(text in nonsense(), other in "\\PC{0,200}") {
        for tool in TOOLS {
            let program = program(tool).unwrap();
            for text in [&text, &other] {
                if let Ok(said) = program.read(text) {
                    let asked = Asked {
                        connections: 8,
                        stop: Stop::Requests(1),
                        body_length: Some(12),
                        least_busy: program.least_busy,
                    };
                    drop(doubt(&said, &asked));
                }
            }
        }
    }
}
