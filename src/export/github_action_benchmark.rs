//! JSON of github-action-benchmark's tool `customBiggerIsBetter`. Pure.

use serde_json::{Value, json};

use super::{benchmark, ends, level};
use crate::journal::Run;
use crate::report::{CellReport, Report};

/// Returns an entry for each version that has a level.
pub fn render(run: &Run, report: &Report) -> String {
    let cells = report.cells.iter();
    let entries: Vec<Value> = cells.filter_map(|cell| entry(run, report, cell)).collect();
    format!("{:#}\n", Value::Array(entries))
}

fn entry(run: &Run, report: &Report, cell: &CellReport) -> Option<Value> {
    let level = level(cell)?;
    let mut entry = json!({
        "name": benchmark(&run.header.matrix.name, cell),
        "unit": "answers/s",
        "value": level.fetches_per_second,
        "extra": format!("{}\n{}", report.run, report.machine_in_short),
    });
    if let Some((low, high)) = ends(level) {
        entry["range"] = json!(format!("± {:.1}", (high - low) / 2.0));
    }
    Some(entry)
}

#[cfg(test)]
mod tests {
    use super::super::fixture::story;
    use super::*;

    #[test]
    fn a_story_as_the_action_reads_it() {
        let (run, report) = story("a \"name\"\n<of> one");
        insta::assert_snapshot!(render(&run, &report));
    }
}
