//! Annotations of a GitHub Actions step: lines that the runner takes for commands. Pure.

use crate::journal::Run;
use crate::report::{CellReport, CellState, Report, Step};
use crate::verdict::Verdict;

/// So many annotations of a kind GitHub shows of one step; it drops the others without a word.
const SHOWN: usize = 10;

/// An annotation: its title and what it says.
type Annotation = (String, String);

/// Returns an error for each regression, a warning for each gap that is news, and notices of the rest that is worth telling.
pub fn render(run: &Run, report: &Report) -> String {
    let with = |verdict: Verdict, word: &str| -> Vec<Annotation> {
        let all = report.pairs.iter().chain(&report.others);
        let steps = all.filter(|step| step.verdict == verdict);
        steps.map(|step| of_step(step, word)).collect()
    };
    let gaps = report.cells.iter();
    let gaps = gaps.filter(|cell| report.news.tells_of(&cell.id));
    let mut notices = vec![(report.title.clone(), report.status_line())];
    notices.extend(with(Verdict::Improvement, "improvement"));
    let file = run.header.matrix.file.display().to_string();
    [
        commands("error", &file, with(Verdict::Regression, "regression")),
        commands("warning", &file, gaps.filter_map(of_gap).collect()),
        commands("notice", &file, notices),
    ]
    .concat()
}

fn of_step(step: &Step, word: &str) -> Annotation {
    (format!("{word}: {}", step.name()), step.sentence())
}

fn of_gap(cell: &CellReport) -> Option<Annotation> {
    match &cell.state {
        CellState::Gap { gap } => Some((format!("gap: {}", cell.id), gap.in_one_line())),
        CellState::Measured { .. } | CellState::Pending => None,
    }
}

/// Returns the annotations of a kind, a line each; where there are too many, the last one names the rest.
fn commands(kind: &str, file: &str, mut all: Vec<Annotation>) -> String {
    if all.len() > SHOWN {
        let rest = all.split_off(SHOWN - 1);
        let titles: Vec<String> = rest.into_iter().map(|(title, _)| title).collect();
        all.push((format!("{} more", titles.len()), titles.join("\n")));
    }
    let line = |(title, said): &Annotation| {
        let (file, title) = (property(file), property(title));
        format!("::{kind} file={file},title={title}::{}\n", data(said))
    };
    all.iter().map(line).collect()
}

/// Returns text that reads as itself after the second `::`.
fn data(text: &str) -> String {
    let text = text.replace('%', "%25");
    text.replace('\r', "%0D").replace('\n', "%0A")
}

/// Returns text that reads as itself in a property.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::fixture::{NASTY, story};
    use super::*;

    #[test]
    fn a_story_as_github_reads_it() {
        let (run, mut report) = story("1.2.0, 100% ::error::\nnew");
        report.news.lost.push("1.1.0".to_owned());
        insta::assert_snapshot!(render(&run, &report));
    }

    #[test]
    fn more_than_github_shows_are_told_in_the_last_one() {
        let all =
            (0..25).map(|number| (format!("regression: {number}"), "it is slower".to_owned()));
        let text = commands("error", "a.toml", all.collect());
        assert_eq!(text.lines().count(), SHOWN);
        let last = text.lines().last().unwrap();
        assert!(last.contains("title=16 more::regression: 9%0A"), "{last}");
        assert!(last.ends_with("%0Aregression: 24"), "{last}");
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, cases: 64, ..ProptestConfig::default() })]

        #[test]
        fn any_name_stays_on_its_line_and_in_its_property(name in NASTY) {
            let (run, report) = story(&name);
            let text = render(&run, &report);
            prop_assert_eq!(text.lines().count(), 2, "one regression and the notice");
            for line in text.lines() {
                let [before, properties, _] = line.splitn(3, "::").collect::<Vec<_>>()[..] else {
                    panic!("not a command: {line}");
                };
                prop_assert_eq!((before, properties.matches(',').count()), ("", 1));
            }
        }
    }
}
