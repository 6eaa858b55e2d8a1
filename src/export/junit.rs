//! JUnit XML, as Jenkins, GitLab and other CI servers show it. Pure.
//!
//! A test case is a pair of versions by a number that decides: a regression is a failure, and what is not known is skipped. A
//! version without a number is a case of its own: an error where that is news, and skipped where it is not.

use super::{legible, name};
use crate::journal::Run;
use crate::outcome::Gap;
use crate::report::{CellReport, CellState, News, Report, Step};
use crate::verdict::Verdict;

/// A test case.
struct Case<'a> {
    class: String,
    name: String,
    outcome: Outcome<'a>,
}

/// What came of it.
enum Outcome<'a> {
    Passed(String),
    Failed(String),
    Error(&'a Gap),
    Skipped(String),
}

/// Returns the whole document.
pub fn render(run: &Run, report: &Report) -> String {
    let cases = cases(run, report);
    let count = |is: fn(&Outcome<'_>) -> bool| {
        let cases = cases.iter();
        cases.filter(|case| is(&case.outcome)).count().to_string()
    };
    let ended = report.ended;
    let took = ended.map(|ended| ended.duration_since(report.started).as_secs_f64());
    let mut attributes = vec![
        ("name", run.header.matrix.name.clone()),
        ("tests", cases.len().to_string()),
        (
            "failures",
            count(|outcome| matches!(outcome, Outcome::Failed(_))),
        ),
        (
            "errors",
            count(|outcome| matches!(outcome, Outcome::Error(_))),
        ),
        (
            "skipped",
            count(|outcome| matches!(outcome, Outcome::Skipped(_))),
        ),
        ("timestamp", format!("{:.0}", report.started)),
        ("hostname", run.header.machine.host.clone()),
    ];
    attributes.extend(took.map(|seconds| ("time", format!("{seconds:.3}"))));
    let cases: String = cases.iter().map(Case::element).collect();
    let suite = element("testsuite", &attributes, &format!("\n{cases}"));
    format!("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n{suite}</testsuites>\n")
}

fn cases<'a>(run: &Run, report: &'a Report) -> Vec<Case<'a>> {
    let matrix = &run.header.matrix.name;
    let pairs = report.pairs.iter();
    let mut cases: Vec<Case<'_>> = pairs
        .map(|step| Case::of_step(matrix.clone(), step))
        .collect();
    cases.extend(report.others.iter().map(|step| {
        let class = format!("{matrix}.{}", name(step.metric));
        Case::of_step(class, step)
    }));
    let without = report.cells.iter();
    cases.extend(without.filter_map(|cell| {
        let outcome = outcome(cell, &report.news)?;
        let (class, name) = (format!("{matrix}.gaps"), cell.id.clone());
        Some(Case {
            class,
            name,
            outcome,
        })
    }));
    cases
}

/// Returns what a cell without a number is; none of one that has one.
fn outcome<'a>(cell: &'a CellReport, news: &News) -> Option<Outcome<'a>> {
    match &cell.state {
        CellState::Measured { .. } => None,
        CellState::Gap { gap } if news.tells_of(&cell.id) => Some(Outcome::Error(gap)),
        CellState::Gap { gap } => Some(Outcome::Skipped(gap.in_one_line())),
        CellState::Pending => Some(Outcome::Skipped("the run has not come to it".to_owned())),
    }
}

impl Case<'_> {
    fn of_step(class: String, step: &Step) -> Self {
        let outcome = match step.verdict {
            Verdict::Regression => Outcome::Failed(step.sentence()),
            Verdict::Improvement => Outcome::Passed(step.sentence()),
            Verdict::Same => Outcome::Passed(step.conclusion()),
            Verdict::Unknown | Verdict::Incomparable => Outcome::Skipped(step.conclusion()),
        };
        let name = step.name();
        Self {
            class,
            name,
            outcome,
        }
    }

    fn element(&self) -> String {
        let attributes = [
            ("classname", self.class.clone()),
            ("name", self.name.clone()),
        ];
        let inside = match &self.outcome {
            Outcome::Passed(said) => element("system-out", &[], &text(said)),
            Outcome::Failed(said) => {
                let about = [("type", "regression".to_owned()), ("message", said.clone())];
                element("failure", &about, "")
            }
            Outcome::Error(gap) => {
                let about = [
                    ("type", gap.kind.to_string()),
                    ("message", gap.in_one_line()),
                ];
                element("error", &about, &text(&gap.errors.join("\n")))
            }
            Outcome::Skipped(why) => element("skipped", &[("message", why.clone())], ""),
        };
        element("testcase", &attributes, &inside)
    }
}

/// Returns an element with what stands inside it, which must be escaped already, and a line break.
fn element(tag: &str, attributes: &[(&str, String)], inside: &str) -> String {
    let attributes: Vec<String> = attributes
        .iter()
        .map(|(name, value)| format!(" {name}=\"{}\"", attribute(value)))
        .collect();
    let attributes = attributes.concat();
    format!("<{tag}{attributes}>{inside}</{tag}>\n")
}

/// Returns text that reads as itself between tags.
fn text(text: &str) -> String {
    let text = legible(text).replace('&', "&amp;").replace('<', "&lt;");
    text.replace('>', "&gt;").replace('\r', "&#13;")
}

/// Returns text that reads as itself in an attribute, where a reader takes any white space for a space.
fn attribute(value: &str) -> String {
    let value = text(value).replace('"', "&quot;").replace('\n', "&#10;");
    value.replace('\t', "&#9;")
}

#[cfg(test)]
mod tests {
    use super::super::fixture::story;
    use super::*;

    #[test]
    fn a_story_as_a_ci_server_reads_it() {
        let (run, mut report) = story("a \"name\"\n<of> one & no ]]> other\u{1b}[0m");
        insta::assert_snapshot!(render(&run, &report));
        report.news.new_gaps.push("1.1.0".to_owned());
        let text = render(&run, &report);
        assert!(
            text.contains(" failures=\"1\" errors=\"1\" skipped=\"1\" "),
            "{text}"
        );
        assert!(
            text.contains("<error type=\"failed\" message=\"build: failed: "),
            "{text}"
        );
    }
}
