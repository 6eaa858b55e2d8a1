//! Files as programs write them, whole and cut short.
#![expect(
    clippy::float_cmp,
    reason = "what was printed must come in to the last digit"
)]

use super::*;

const HTTP_LOAD: &str = include_str!("../../tests/data/published/http_load/node-2012/0.6.0.txt");
const WRK: &str = include_str!("../../tests/data/published/wrk/languages-2019/go.txt");
const AB: &str = include_str!("../../tests/data/published/ab/buffer-vs-string-2010/buffer.txt");
const HTTPBENCH: &str =
    include_str!("../../tests/data/published/httpbench/windows-2012/tomcat.txt");

const AUTOCANNON: &str = r#"{"url":"http://localhost:3000","duration":10.04,"connections":10,"errors":3,"timeouts":1,
"non2xx":2,"2xx":150000,"requests":{"average":14940.5,"total":150002},
"latency":{"average":0.24,"stddev":0.6,"p50":0,"p75":0,"p90":1,"p99":1,"p99_9":3,"max":32},
"throughput":{"average":2600000,"total":27000000}}"#;

const K6: &str = r#"{"root_group":{},"metrics":{
"http_reqs":{"count":1000,"rate":99.5},
"http_req_duration":{"avg":3.5,"min":1.0,"med":3.0,"max":40.5,"p(90)":5.5,"p(95)":6.5},
"http_req_connecting":{"avg":0.01,"min":0,"med":0,"max":0.5,"p(90)":0,"p(95)":0},
"http_req_waiting":{"avg":3.2,"min":0.9,"med":2.9,"max":40.0,"p(90)":5.1,"p(95)":6.1},
"http_req_failed":{"passes":0,"fails":1000,"value":0},
"data_received":{"count":120000,"rate":11940.1}}}"#;

const HYPERFINE: &str = r#"{"results":[
{"command":"node --version","mean":0.04,"stddev":0.001,"median":0.0395,"user":0.02,"system":0.01,"min":0.038,"max":0.045,"times":[0.04,0.038,0.045,0.037]},
{"command":"go version","mean":0.01,"stddev":null,"median":0.01,"user":0.0,"system":0.0,"min":0.01,"max":0.01,"times":[0.01]}]}"#;

const GO: &str = "goos: linux\nBenchmarkHello-8   \t   10000\t    125000 ns/op\t  12 B/op\nBenchmarkHello-8   10000   126000 ns/op\n\
BenchmarkJSON/small-8 500 2000000.5 ns/op\nPASS\n";

const CSV: &str = "version,status,fetches_per_sec,connect_max_ms,cause\n0.7.0,ok,7675.8,1.047,\n0.5.4,gap,,,\"it says \"\"no\"\", twice\"\n";

const ALL: [(Format, &str); 9] = [
    (Format::HttpLoad, HTTP_LOAD),
    (Format::Wrk, WRK),
    (Format::Ab, AB),
    (Format::Httpbench, HTTPBENCH),
    (Format::Autocannon, AUTOCANNON),
    (Format::K6, K6),
    (Format::Hyperfine, HYPERFINE),
    (Format::GoBench, GO),
    (Format::Csv, CSV),
];

fn figures(entry: &Entry) -> &LoadFigures {
    match &entry.outcome {
        Outcome::Figures(figures) => figures,
        Outcome::Gap(gap) => panic!("{gap:?}"),
    }
}

fn rates(format: Format, text: &str) -> Vec<f64> {
    let entries = read(format, text).unwrap();
    entries
        .iter()
        .map(|entry| figures(entry).fetches_per_second())
        .collect()
}

#[test]
fn what_a_file_is_shows_in_it() {
    for (format, text) in ALL {
        assert_eq!(guess(text), Some(format), "{text}");
    }
    assert_eq!(guess("Dear all, our server is fast."), None);
    assert_eq!(guess("{\"fast\": true}"), None);
}

#[test]
fn rates_are_those_that_were_printed() {
    assert_eq!(rates(Format::HttpLoad, HTTP_LOAD), [8157.38]);
    assert_eq!(rates(Format::K6, K6), [99.5]);
    assert_eq!(
        rates(Format::GoBench, GO),
        [8000.0, 1e9 / 126_000.0, 1e9 / 2_000_000.5]
    );
    assert_eq!(rates(Format::Httpbench, HTTPBENCH), [20_000.0]);
    let entries = read(Format::Autocannon, AUTOCANNON).unwrap();
    let told = figures(&entries[0]);
    assert_eq!(
        (told.answers, told.failed(), told.latency.p99_9),
        (150_000, 5, 3.0)
    );
    let entries = read(Format::Hyperfine, HYPERFINE).unwrap();
    assert_eq!(entries[0].version.as_deref(), Some("node---version"));
    assert_eq!(figures(&entries[0]).latency.max, 45.0);
    assert!((figures(&entries[0]).fetches_per_second() - 25.0).abs() < 1e-9);
    let entries = read(Format::GoBench, GO).unwrap();
    assert_eq!(
        entries[2].axes,
        [("benchmark".to_owned(), "JSON/small".to_owned())]
    );
}

#[test]
fn a_table_has_gaps_with_their_reason() {
    let entries = read(Format::Csv, CSV).unwrap();
    assert_eq!(figures(&entries[0]).connect.max, 1.047);
    let Outcome::Gap(gap) = &entries[1].outcome else {
        panic!("{entries:?}");
    };
    assert_eq!(
        (gap.kind, gap.cause.as_str()),
        (GapKind::Failed, "it says \"no\", twice")
    );
}

#[test]
fn wrong_tables_are_told_with_their_line() {
    for (text, line, words) in [
        ("name,fetches_per_sec\na,1\n", 1, "no column `version`"),
        ("version,speed\na,1\n", 1, "`speed` is not known"),
        ("version,fetches_per_sec\na,1\nb,fast\n", 3, "`fast` below"),
        (
            "version,fetches_per_sec\na,1\nb\n",
            3,
            "1 values stand below 2",
        ),
        ("version,fetches_per_sec\na,-1\n", 2, "`-1` below"),
        ("version,fetches_per_sec\n\"a,1\n", 2, "a quote is opened"),
        (
            "version,status,fetches_per_sec\na,bad,1\n",
            2,
            "the status `bad`",
        ),
    ] {
        let wrong = read(Format::Csv, text).unwrap_err();
        assert_eq!(wrong.line, Some(line), "{wrong:?}");
        assert!(wrong.what.contains(words), "{wrong:?}");
    }
}

#[test]
fn nonsense_is_an_error_in_every_format() {
    let formats = <Format as clap::ValueEnum>::value_variants();
    for format in formats {
        for text in [
            "",
            "\n\n",
            "Dear all, our server is fast.",
            "{}",
            "{\"results\": []}",
        ] {
            assert!(read(*format, text).is_err(), "{format:?} {text}");
        }
    }
}

/// A file that breaks off inside a number looks like a whole one, so it is cut where lines end.
#[test]
fn a_file_that_is_cut_short_is_an_error_or_says_no_other_number() {
    for (format, text) in ALL {
        let whole = read(format, text).unwrap();
        let ends = text.match_indices('\n').map(|(place, _)| place);
        for end in ends {
            let Ok(cut) = read(format, &text[..end]) else {
                continue;
            };
            for entry in &cut {
                let known = whole.iter().any(|other| {
                    let same = |one: &Entry, other: &Entry| match (&one.outcome, &other.outcome) {
                        (Outcome::Figures(one), Outcome::Figures(other)) => {
                            one.fetches_per_second() == other.fetches_per_second()
                        }
                        (one, other) => one == other,
                    };
                    same(entry, other)
                });
                assert!(known, "{format:?} cut to {:?}", &text[..end]);
            }
        }
    }
}
