//! A step of `git bisect run`, and all steps of a bisection. Pure.

use std::fmt::Write as _;

use serde::Serialize;

use super::columns::{Column, lines};
use super::words::{
    change_in_words, change_percent, changes_percent, clipped, count, one_line, percent_range,
    signed_percent,
};
use crate::bisect::CANDIDATE;
use crate::journal::Run;
use crate::step::{Answer, Asked, Bisection, StepRecord};

/// Letters of a subject that are shown at most.
const SUBJECT: usize = 48;

/// Digits of a commit in a table.
const DIGITS: usize = 10;

/// A step in the table of all.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct StepRow {
    /// The commit.
    pub commit: String,
    /// The first line of its message.
    pub subject: String,
    /// Whether files differed from it.
    pub modified: bool,
    /// What it is; none where the step was stopped before its end.
    pub answer: Option<Answer>,
    /// The change against the good reference, percent.
    pub change_percent: Option<f64>,
    /// Its interval.
    pub interval_percent: Option<(f64, f64)>,
    /// Sessions that count.
    pub sessions: usize,
    /// The chances of being like the good and like the bad reference.
    pub chances: Option<(f64, f64)>,
    /// Why, in one line.
    pub why: String,
    /// The exit code.
    pub exit: Option<u8>,
    /// How git has marked the commit since, in its own word.
    pub git: Option<String>,
}

/// Returns what is said of a step that has ended. `terms` are what git calls good and bad.
pub fn told(step: &StepRecord, terms: &(String, String)) -> String {
    let modified = if step.modified {
        ", with changes that are not committed"
    } else {
        ""
    };
    let commit = clipped(&step.commit, DIGITS + 1);
    let commit = commit.trim_end_matches('…');
    let head = format!("{commit} {}{modified}", step.subject);
    let change = step.effect.map(|effect| {
        let percent = change_percent(step.metric, effect);
        let interval = step.interval.map(|ends| changes_percent(step.metric, ends));
        let interval =
            interval.map_or_else(String::new, |ends| format!(" ({})", percent_range(ends)));
        let sessions = count(step.sessions, "session");
        let words = change_in_words(step.metric, percent);
        format!("\n  {words} than the good reference{interval}, {sessions}")
    });
    format!(
        "{}\n  {}: {}{}\n  exit {}: {}",
        one_line(&head),
        word(step.answer, &step.asked),
        one_line(&step.why),
        change.unwrap_or_default(),
        step.exit,
        told_to_git(step.exit, terms)
    )
}

/// Returns what git makes of a code.
fn told_to_git(exit: u8, (good, bad): &(String, String)) -> String {
    match exit {
        0 => format!("git marks it {good}"),
        125 => "git skips it".to_owned(),
        1..=127 => format!("git marks it {bad}"),
        128.. => "git stops, and marks nothing".to_owned(),
    }
}

fn word(answer: Answer, asked: &Asked) -> &'static str {
    match answer {
        Answer::Good if asked.only_gaps => "it runs",
        Answer::Good => "like good",
        Answer::Bad if asked.bad.is_some() => "like bad",
        Answer::Bad if asked.invert => "better",
        Answer::Bad => "worse",
        Answer::Undecided => "undecided",
        Answer::Gap => "gap",
        Answer::NoFault => "no fault of the commit",
        Answer::Alike => "no difference to look for",
    }
}

/// Returns the steps that asked the same as the newest, in the order in which they were held, with git's marks.
pub fn rows(runs: &[Run], bisection: Option<&Bisection>) -> Vec<StepRow> {
    let newest = runs.iter().rev().find_map(|run| run.step.as_ref());
    let asked = newest.map(|step| &step.asked);
    let own = runs.iter().filter(|run| {
        let of = run.step.as_ref().map(|step| &step.asked);
        of.is_none() || of == asked
    });
    own.map(|run| row(run, bisection)).collect()
}

fn row(run: &Run, bisection: Option<&Bisection>) -> StepRow {
    let version = run.header.cells.get(CANDIDATE).map(|cell| &cell.version);
    let step = run.step.as_ref();
    let commit = step.map(|step| step.commit.clone());
    let commit = commit
        .or_else(|| version?.commit.clone())
        .unwrap_or_default();
    let subject = step.map(|step| step.subject.clone());
    let why = step.map(|step| step.why.clone());
    StepRow {
        git: bisection.and_then(|own| own.marks.get(&commit).cloned()),
        commit,
        subject: subject
            .or_else(|| version?.subject.clone())
            .unwrap_or_default(),
        modified: step.is_some_and(|step| step.modified),
        answer: step.map(|step| step.answer),
        change_percent: step.and_then(|step| Some(change_percent(step.metric, step.effect?))),
        interval_percent: step.and_then(|step| Some(changes_percent(step.metric, step.interval?))),
        sessions: step.map_or(run.sessions.len(), |step| step.sessions),
        chances: step.and_then(|step| step.likeness.map(|own| (own.good, own.bad))),
        why: why.unwrap_or_else(|| "stopped before its end; the same step goes on".to_owned()),
        exit: step.map(|step| step.exit),
    }
}

/// Returns the table of all steps, and below it the reasons of those that are no answer.
pub fn table(rows: &[StepRow], terms: &(String, String), width: u16) -> String {
    let column =
        |entry: &dyn Fn(&StepRow) -> String| -> Vec<String> { rows.iter().map(entry).collect() };
    let some = |text: Option<String>| text.unwrap_or_default();
    let columns = vec![
        Column::text("commit", column(&short)),
        Column::text("subject", column(&|row| clipped(&row.subject, SUBJECT))).giving_way(4),
        Column::text("verdict", column(&|row| verdict(row).to_owned())),
        Column::numbers(
            "change",
            1,
            column(&|row| some(row.change_percent.map(signed_percent))),
        ),
        Column::text(
            "interval",
            column(&|row| some(row.interval_percent.map(percent_range))),
        )
        .giving_way(3),
        Column::numbers("sessions", 5, column(&|row| row.sessions.to_string())),
        Column::numbers(
            "exit",
            2,
            column(&|row| some(row.exit.map(|exit| exit.to_string()))),
        ),
        Column::text("git", column(&|row| row.git.clone().unwrap_or_default())),
    ];
    let mut text = lines(columns, width).join("\n");
    let open = rows
        .iter()
        .filter(|row| !matches!(row.answer, Some(Answer::Good | Answer::Bad)));
    for row in open {
        let _ = write!(text, "\n{}: {}", short(row), one_line(&row.why));
    }
    let (good, bad) = terms;
    let legend = "change: against the good reference; git";
    let _ = writeln!(
        text,
        "\n{legend}: {good}, {bad} or skip, as `git bisect log` has it"
    );
    text
}

fn short(row: &StepRow) -> String {
    let commit: String = row.commit.chars().take(DIGITS).collect();
    format!("{commit}{}", if row.modified { "+" } else { "" })
}

fn verdict(row: &StepRow) -> &'static str {
    match row.answer {
        Some(Answer::Good) => "like good",
        Some(Answer::Bad) => "like bad",
        Some(Answer::Undecided) => "undecided",
        Some(Answer::Gap) => "gap",
        Some(Answer::NoFault) => "no fault",
        Some(Answer::Alike) => "ends alike",
        None => "not ended",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matrix::Metric;
    use crate::verdict::fixture;

    fn step(answer: Answer, exit: u8) -> StepRecord {
        StepRecord {
            commit: "0123456789abcdef0123456789abcdef01234567".to_owned(),
            subject: "Look at each request\u{1b}[2J more closely".to_owned(),
            modified: false,
            asked: Asked {
                good: "a".repeat(40),
                bad: None,
                metric: Metric::Throughput,
                invert: false,
                only_gaps: false,
            },
            answer,
            why: "surely worse than the good reference".to_owned(),
            metric: Metric::Throughput,
            effect: Some(-0.5),
            interval: Some((-0.55, -0.45)),
            sessions: 4,
            likeness: None,
            exit,
        }
    }

    fn terms() -> (String, String) {
        ("fast".to_owned(), "slow".to_owned())
    }

    #[test]
    fn a_step_says_what_it_is_by_how_much_and_what_git_makes_of_it() {
        insta::assert_snapshot!(told(&step(Answer::Bad, 1), &terms()), @"
        0123456789 Look at each request [2J more closely
          worse: surely worse than the good reference
          39.3 % fewer answers per second than the good reference (-42.3 to -36.2 %), 4 sessions
          exit 1: git marks it slow
        ");
        let mut gap = step(Answer::Gap, 125);
        gap.effect = None;
        "build: failed: error: no such header".clone_into(&mut gap.why);
        insta::assert_snapshot!(told(&gap, &terms()), @"
        0123456789 Look at each request [2J more closely
          gap: build: failed: error: no such header
          exit 125: git skips it
        ");
    }

    #[test]
    fn git_reads_codes_as_it_does() {
        let of = |exit| told_to_git(exit, &terms());
        assert_eq!(of(0), "git marks it fast");
        for exit in [1, 2, 101, 124, 126, 127] {
            assert_eq!(of(exit), "git marks it slow", "{exit}");
        }
        assert_eq!(of(125), "git skips it");
        for exit in [128, 129, 130, 143, 255] {
            assert_eq!(of(exit), "git stops, and marks nothing", "{exit}");
        }
    }

    #[test]
    fn the_table_shows_the_steps_of_the_newest_question_with_gits_marks() {
        let run = |step: Option<StepRecord>| {
            let mut run = fixture::run(&["good", "checkout"]);
            run.header.cells[CANDIDATE].version.commit = Some("f".repeat(40));
            run.step = step;
            run
        };
        let mut other = step(Answer::Good, 0);
        "b".repeat(40).clone_into(&mut other.asked.good);
        let mut gap = step(Answer::Gap, 125);
        (gap.effect, gap.interval) = (None, None);
        "c".repeat(40).clone_into(&mut gap.commit);
        "build: failed: error: no such header".clone_into(&mut gap.why);
        let runs = [
            run(Some(other)),
            run(None),
            run(Some(gap)),
            run(Some(step(Answer::Bad, 1))),
        ];
        let log = format!(
            "# slow: [{}] A\n# skip: [{}] B\n",
            step(Answer::Bad, 1).commit,
            "c".repeat(40)
        );
        let bisection = Bisection::read(&log, Some("slow\nfast\n"));
        let rows = rows(&runs, Some(&bisection));
        assert_eq!(rows.len(), 3);
        insta::assert_snapshot!(table(&rows, &terms(), 120), @"
         commit       subject                                 verdict      change   interval           sessions   exit   git
        ──────────────────────────────────────────────────────────────────────────────────────────────────────────────────────
         ffffffffff                                           not ended                                       0
         cccccccccc   Look at each request [2J more closely   gap                                             4    125   skip
         0123456789   Look at each request [2J more closely   like bad    -39.3 %   -42.3 to -36.2 %          4      1   slow
        ffffffffff: stopped before its end; the same step goes on
        cccccccccc: build: failed: error: no such header
        change: against the good reference; git: fast, slow or skip, as `git bisect log` has it
        ");
        assert!(super::rows(&[], None).is_empty());
    }
}
