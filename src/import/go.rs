//! The text of `go test -bench`, in the form that its own tools read.
//!
//! Source: the benchmark data format of Go, golang.org/design/14313-benchmark-format.

use super::{Entry, Outcome, Wrong};
use crate::outcome::LoadFigures;

/// The axis whose values are the benchmarks.
const AXIS: &str = "benchmark";

/// Reads each result; a benchmark that stands several times has as many trials.
pub(super) fn read(text: &str) -> Result<Vec<Entry>, Wrong> {
    let lines = (1..).zip(text.lines());
    let results = lines.filter(|(_, line)| line.starts_with("Benchmark") && line.contains("ns/op"));
    let entries: Vec<Entry> = results
        .map(|(line, words)| result(line, words))
        .collect::<Result<_, _>>()?;
    if entries.is_empty() {
        return Err(Wrong::whole(
            "no line begins with `Benchmark` and tells `ns/op`",
        ));
    }
    Ok(entries)
}

/// Reads `BenchmarkHello-8  10000  123456 ns/op`.
fn result(line: usize, text: &str) -> Result<Entry, Wrong> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let wrong = || Wrong::at(line, format!("`{text}` is no result of a benchmark"));
    let place = words
        .iter()
        .position(|word| *word == "ns/op")
        .ok_or_else(wrong)?;
    let each: f64 = words
        .get(place.wrapping_sub(1))
        .and_then(|word| word.parse().ok())
        .ok_or_else(wrong)?;
    let turns: u64 = words
        .get(1)
        .and_then(|word| word.parse().ok())
        .ok_or_else(wrong)?;
    if !each.is_finite() || each <= 0.0 {
        return Err(wrong());
    }
    let name = words[0].trim_start_matches("Benchmark");
    // The number of CPUs stands behind the last dash.
    let name = match name.rsplit_once('-') {
        Some((name, cpus)) if cpus.parse::<u32>().is_ok() => name,
        Some(_) | None => name,
    };
    Ok(Entry {
        version: None,
        axes: vec![(AXIS.to_owned(), name.to_owned())],
        outcome: Outcome::Figures(Box::new(LoadFigures {
            answers: turns,
            told_rate: Some(1e9 / each),
            ..LoadFigures::default()
        })),
    })
}
