//! What runs of two and three cells come to.

use super::*;
use crate::matrix::Compare;
use crate::verdict::fixture::{self, NOISE};
use crate::verdict::{conclude as judged, so_far};
use crate::version::Order;

fn asked() -> Asked {
    Asked {
        good: "a".repeat(40),
        bad: None,
        metric: Metric::Throughput,
        invert: false,
        only_gaps: false,
    }
}

fn with_bad() -> Asked {
    Asked {
        bad: Some("b".repeat(40)),
        ..asked()
    }
}

/// A run of the good reference, a checkout and perhaps the bad reference, which looks as often as it may.
fn run(cells: &[&str]) -> Run {
    let mut run = fixture::run(cells);
    run.header.order = Order::Listed;
    run.header.compare = Compare::Reference("good".to_owned());
    run.header.sessions.least = 4;
    run.header.sessions.count = 12;
    run.header.rule.confirm = false;
    run
}

/// Such a run with this many sessions, and rates of the two, or three.
fn raced(rates: &[f64], sessions: usize) -> Run {
    let mut run = run(&["good", "checkout", "bad"][..rates.len()]);
    let rates: Vec<(usize, f64)> = rates.iter().copied().enumerate().collect();
    let noise: Vec<f64> = NOISE.iter().cycle().take(sessions).copied().collect();
    fixture::measure(&mut run, Purpose::Measure, &rates, &noise);
    run
}

fn answer(run: &Run, asked: &Asked) -> (Answer, u8) {
    let conclusion = conclude(run, &judged(run), asked);
    (conclusion.answer, conclusion.answer.exit(asked).code())
}

fn is_over(run: &Run, asked: &Asked) -> bool {
    wanted(run, &so_far(run), asked)
        .iter()
        .all(|held| held.wanted == 0)
}

#[test]
fn against_the_good_reference_alone_slower_is_bad_and_anything_else_is_good() {
    let slower = raced(&[1000.0, 800.0], 4);
    assert_eq!(answer(&slower, &asked()), (Answer::Bad, 1));
    let faster = raced(&[1000.0, 1250.0], 4);
    assert_eq!(answer(&faster, &asked()), (Answer::Good, 0));
    let same = raced(&[1000.0, 1000.0], 12);
    assert_eq!(answer(&same, &asked()), (Answer::Good, 0));
    let few = raced(&[1000.0, 990.0], 2);
    assert_eq!(answer(&few, &asked()), (Answer::Undecided, 125));
}

#[test]
fn how_much_better_it_is_nobody_asks() {
    let faster = raced(&[1000.0, 1250.0], 4);
    assert!(is_over(&faster, &asked()));
    let mut confirming = raced(&[1000.0, 800.0], 4);
    confirming.header.rule.confirm = true;
    let held = wanted(&confirming, &so_far(&confirming), &asked());
    assert_eq!(held[0].fresh, 4);
}

#[test]
fn inverted_what_is_faster_is_bad() {
    let inverted = |asked: Asked| Asked {
        invert: true,
        ..asked
    };
    let faster = raced(&[1000.0, 1250.0], 4);
    assert_eq!(answer(&faster, &inverted(asked())), (Answer::Bad, 1));
    let slower = raced(&[1000.0, 800.0], 4);
    assert_eq!(answer(&slower, &inverted(asked())), (Answer::Good, 0));
    let like_bad = raced(&[1000.0, 1250.0, 1250.0], 4);
    assert_eq!(answer(&like_bad, &inverted(with_bad())), (Answer::Bad, 1));
    let like_good = raced(&[1000.0, 1000.0, 1250.0], 4);
    assert_eq!(answer(&like_good, &inverted(with_bad())), (Answer::Good, 0));
}

#[test]
fn with_a_bad_reference_the_nearer_one_counts_and_nothing_more_is_held() {
    for (rate, wanted) in [
        (1000.0, (Answer::Good, 0)),
        (960.0, (Answer::Good, 0)),
        (840.0, (Answer::Bad, 1)),
        (800.0, (Answer::Bad, 1)),
        (1050.0, (Answer::Good, 0)),
    ] {
        let run = raced(&[1000.0, rate, 800.0], 4);
        assert_eq!(answer(&run, &with_bad()), wanted, "{rate}");
        assert!(is_over(&run, &with_bad()), "{rate}");
    }
}

#[test]
fn in_the_middle_it_goes_on_to_the_end_and_stays_undecided() {
    let run = |sessions| raced(&[1000.0, 894.4, 800.0], sessions);
    assert!(!is_over(&run(4), &with_bad()));
    assert!(is_over(&run(12), &with_bad()));
    assert_eq!(answer(&run(12), &with_bad()), (Answer::Undecided, 125));
}

#[test]
fn references_that_do_not_differ_stop_git() {
    let run = raced(&[1000.0, 1000.0, 1000.0], 12);
    let (answer, code) = answer(&run, &with_bad());
    assert!(
        matches!(answer, Answer::Alike | Answer::Undecided),
        "{answer:?}"
    );
    assert!(code >= 125);
    let slow = raced(&[1000.0, 700.0, 1000.0], 12);
    assert_ne!(
        conclude(&slow, &judged(&slow), &with_bad()).answer,
        Answer::Bad
    );
}

#[test]
fn a_gap_of_the_checkout_is_skipped_or_looked_for_and_nothing_more_is_held() {
    let mut run = raced(&[1000.0, 800.0], 4);
    let gap = Gap::new(GapKind::Failed, "error: no such header");
    run.builds.insert(CANDIDATE, Built::Gap(gap));
    assert!(is_over(&run, &asked()));
    assert_eq!(answer(&run, &asked()), (Answer::Gap, 125));
    let only_gaps = Asked {
        only_gaps: true,
        ..asked()
    };
    assert_eq!(answer(&run, &only_gaps), (Answer::Gap, 1));
    let slower = raced(&[1000.0, 800.0], 4);
    assert_eq!(answer(&slower, &only_gaps), (Answer::Good, 0));
    assert!(is_over(&slower, &only_gaps));
}

#[test]
fn what_is_no_fault_of_the_commit_is_never_bad_to_git() {
    let questions = [
        asked(),
        with_bad(),
        Asked {
            only_gaps: true,
            ..asked()
        },
    ];
    let transient = |kind, words: &str| Gap::new(kind, words).with_class(Class::Transient);
    let no_fault = [
        (0, Gap::new(GapKind::Failed, "the good reference")),
        (0, Gap::new(GapKind::Crashed, "the good reference")),
        (1, transient(GapKind::Failed, "No space left on device")),
        (1, Gap::new(GapKind::PortTaken, "somebody else's server")),
        (1, Gap::new(GapKind::PortsExhausted, "no ports")),
        (1, Gap::new(GapKind::GeneratorBound, "too slow a client")),
    ];
    for asked in &questions {
        for (cell, gap) in &no_fault {
            let mut run = run(&["good", "checkout", "bad"]);
            run.given_up.insert(*cell, gap.clone());
            assert_eq!(answer(&run, asked), (Answer::NoFault, 128), "{gap:?}");
        }
        for kind in [GapKind::Timeout, GapKind::Budget, GapKind::Excluded] {
            let mut run = run(&["good", "checkout", "bad"]);
            run.given_up.insert(CANDIDATE, Gap::new(kind, "words"));
            assert_eq!(answer(&run, asked).1, 125, "{kind}");
        }
    }
    let mut run = run(&["good", "checkout"]);
    run.given_up.insert(0, Gap::new(GapKind::Budget, "time"));
    assert_eq!(answer(&run, &asked()), (Answer::Undecided, 125));
}

#[test]
fn a_record_holds_what_was_asked_and_answered() {
    let mut run = raced(&[1000.0, 800.0], 4);
    run.header.cells[CANDIDATE].version.commit = Some("c".repeat(40));
    let conclusion = conclude(&run, &judged(&run), &asked());
    let record = record(&run, conclusion, asked(), true);
    assert_eq!(
        (record.commit.as_str(), record.exit),
        ("c".repeat(40).as_str(), 1)
    );
    assert!(
        record
            .effect
            .is_some_and(|effect| (effect + 0.223).abs() < 0.02)
    );
    assert_eq!(record.sessions, 4);
    let text = serde_json::to_string(&record).unwrap();
    assert_eq!(serde_json::from_str::<StepRecord>(&text).unwrap(), record);
}
