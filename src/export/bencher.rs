//! Bencher Metric Format: JSON that `bencher run --adapter json` takes. Pure.

use serde_json::{Map, Value, json};

use super::{benchmark, ends, figures, level, told};
use crate::journal::Run;
use crate::report::{CellReport, Figures, Report};

/// Bytes of a MiB.
const MIB: f64 = 1_048_576.0;

/// A measure beside the throughput: its slug, and its value where there is one.
type Measure = (&'static str, fn(&Figures) -> Option<f64>);

const MEASURES: [Measure; 3] = [
    ("cpu-ns-per-answer", |figures| {
        Some(figures.cpu_us_per_answer? * 1e3)
    }),
    ("rss-peak-bytes", |figures| {
        Some(figures.rss_peak_mib? * MIB)
    }),
    ("startup-ms", |figures| figures.startup_ms),
];

/// Returns a benchmark for each version that has a level.
pub fn render(run: &Run, report: &Report) -> String {
    let matrix = &run.header.matrix.name;
    let measured = report.cells.iter();
    let benchmarks: Map<String, Value> = measured
        .filter_map(|cell| Some((benchmark(matrix, cell), measures(cell)?)))
        .collect();
    format!("{:#}\n", Value::Object(benchmarks))
}

/// Returns what was measured of a cell. Latency is no part of it: in a closed loop it is throughput, told again.
fn measures(cell: &CellReport) -> Option<Value> {
    let level = level(cell)?;
    let mut throughput = json!({ "value": level.fetches_per_second });
    if let Some((low, high)) = ends(level) {
        throughput["lower_value"] = json!(low);
        throughput["upper_value"] = json!(high);
    }
    let mut measures = Map::new();
    measures.insert("throughput".to_owned(), throughput);
    for (slug, measure) in MEASURES {
        if let Some(value) = told(figures(cell).and_then(measure)) {
            measures.insert(slug.to_owned(), json!({ "value": value }));
        }
    }
    Some(Value::Object(measures))
}

#[cfg(test)]
mod tests {
    use super::super::fixture::story;
    use super::*;

    /// What Bencher says of its format, as JSON Schema.
    fn is_valid(text: &str) -> bool {
        let metric = json!({
            "type": "object",
            "properties": {
                "value": { "type": "number" },
                "lower_value": { "type": "number" },
                "upper_value": { "type": "number" },
            },
            "required": ["value"],
        });
        let schema = json!({
            "type": "object",
            "patternProperties": { ".+": { "type": "object", "patternProperties": { ".+": metric } } },
        });
        jsonschema::is_valid(&schema, &serde_json::from_str(text).unwrap())
    }

    #[test]
    fn a_story_as_bencher_reads_it() {
        let (run, report) = story("a \"name\"\n<of> one");
        let text = render(&run, &report);
        assert!(is_valid(&text), "{text}");
        insta::assert_snapshot!(text);
    }
}
