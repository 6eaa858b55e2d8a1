//! Nights made by hand, and what is told after each.

use std::collections::BTreeMap;

use super::*;
use crate::matrix::Compare;
use crate::report::nightly as words;
use crate::version::{Cell, Order, Version};

const MIN_EFFECT: f64 = 0.01;

/// The night of a day of May 2026.
fn night(day: u32, outcome: Outcome) -> Night {
    let started = format!("2026-05-{day:02}T02:00:00Z").parse().unwrap();
    Night { started, outcome }
}

fn measured(day: u32, levels: &[(&str, f64)]) -> Measured {
    let level = |(cell, rate): &(&str, f64)| Level {
        cell: (*cell).to_owned(),
        commit: None,
        fetches_per_second: *rate,
    };
    Measured {
        run: format!("run-{day}"),
        min_effect: MIN_EFFECT,
        steps: Vec::new(),
        gaps: Vec::new(),
        levels: levels.iter().map(level).collect(),
        waiting: 0,
        health: None,
        notes: Vec::new(),
    }
}

fn step(baseline: &str, candidate: &str, verdict: Verdict, percent: f64) -> Seen {
    let effect = (percent / 100.0).ln_1p();
    Seen {
        baseline: baseline.to_owned(),
        candidate: candidate.to_owned(),
        main: true,
        metric: Metric::Throughput,
        verdict,
        effect: Some(effect),
        interval: Some((effect - 0.01, effect + 0.01)),
        confirmed: Some(true),
    }
}

fn gap(cell: &str, kind: GapKind, cause: &str) -> Lost {
    Lost {
        cell: cell.to_owned(),
        commit: None,
        stage: kind.stage(),
        kind,
        class: kind.class(),
        cause: cause.to_owned(),
    }
}

fn health(percent: f64) -> Health {
    let effect = (percent / 100.0).ln_1p();
    Health {
        cell: "1.2.0".to_owned(),
        sessions: 6,
        effect,
        interval: (effect - 0.01, effect + 0.01),
        sd: 0.009,
    }
}

fn with(mut measured: Measured, change: impl FnOnce(&mut Measured)) -> Outcome {
    change(&mut measured);
    Outcome::Measured(measured)
}

/// The step that is worse.
fn slower() -> Seen {
    step("1.1.0", "1.2.0", Verdict::Regression, -5.0)
}

fn same(from: &str, to: &str) -> Seen {
    step(from, to, Verdict::Same, 0.1)
}

/// Three nights: all well; a regression; too little seen of it, and a gap.
fn first_nights() -> Vec<Night> {
    let first = [("1.0.0", 8000.0), ("1.1.0", 8010.0)];
    let slow = [("1.0.0", 7900.0), ("1.1.0", 7900.0), ("1.2.0", 7500.0)];
    let cause = "no such file | `x` <script>\n@everybody";
    let well = with(measured(1, &first), |night| {
        night.steps.push(same("1.0.0", "1.1.0"));
        night.health = Some(health(0.1));
    });
    let worse = with(measured(2, &slow), |night| {
        night.steps = vec![same("1.0.0", "1.1.0"), slower()];
    });
    let broken = with(measured(3, &slow), |night| {
        night.steps = vec![step("1.1.0", "1.2.0", Verdict::Unknown, -4.0)];
        night.gaps.push(gap("1.3.0", GapKind::NotFound, cause));
        night.waiting = 2;
    });
    vec![night(1, well), night(2, worse), night(3, broken)]
}

/// Seven nights: the first three; the registry is down; the gap heals and the step is seen again; a later version makes up for
/// it; all well.
fn week() -> Vec<Night> {
    let healed = [("1.1.0", 8000.0), ("1.2.0", 7600.0), ("1.3.0", 7610.0)];
    let fast = [("1.2.0", 7600.0), ("1.3.0", 7600.0), ("1.4.0", 8050.0)];
    let down = Outcome::Failed {
        why: "npm view hello: no route to host".to_owned(),
    };
    let healed = with(measured(5, &healed), |night| {
        night.steps = vec![slower(), same("1.2.0", "1.3.0")];
    });
    let made_up = with(measured(6, &fast), |night| {
        let better = step("1.3.0", "1.4.0", Verdict::Improvement, 5.5);
        night.steps = vec![same("1.2.0", "1.3.0"), better];
        night.health = Some(health(3.0));
    });
    let well = with(measured(7, &fast), |night| {
        night.steps = vec![same("1.2.0", "1.3.0")];
    });
    let rest = [(4, down), (5, healed), (6, made_up), (7, well)];
    let rest = rest.into_iter().map(|(day, outcome)| night(day, outcome));
    first_nights().into_iter().chain(rest).collect()
}

/// Tells the last of some nights where all before it were told.
fn told(nights: &[Night]) -> Story {
    Story::new("hello", nights, nights.len() - 1, &|_| None).unwrap()
}

#[test]
fn a_week_is_told_night_by_night() {
    let week = week();
    let nights = (1..=week.len()).map(|night| words::news(&[told(&week[..night])]));
    insta::assert_snapshot!(nights.collect::<Vec<_>>().join("\n---\n"));
}

#[test]
fn a_night_reads_from_its_news_to_its_machine() {
    let week = week();
    for night in [3, 6] {
        let text = words::markdown("2026-05-06", &[told(&week[..night])]);
        assert!(
            !text.contains("<script>") && !text.contains("\n@"),
            "{text}"
        );
        insta::assert_snapshot!(format!("night {night}"), text);
    }
}

#[test]
fn each_thing_is_told_once_and_again_if_nobody_could_be_told() {
    let week = week();
    let third = Story::new("hello", &week[..3], 2, &|_| None).unwrap();
    assert!(third.has_new(words::is_gap) && !third.has_new(words::is_regression));
    assert_eq!(third.open.len(), 1);
    // The second night's message did not get through.
    let third = Story::new("hello", &week[..3], 1, &|_| None).unwrap();
    assert!(third.has_new(words::is_gap) && third.has_new(words::is_regression));
}

#[test]
fn a_step_is_the_same_whichever_number_told_it_that_night() {
    let mut week = week();
    let mut by_cpu = slower();
    by_cpu.metric = Metric::CpuPerAnswer;
    let outcome = with(measured(3, &[("1.2.0", 1.0)]), |night| {
        night.steps = vec![by_cpu];
    });
    week[2] = night(3, outcome);
    assert!(!told(&week[..3]).has_news());
}

#[test]
fn what_is_accepted_is_no_news() {
    let week = week();
    let reason = |matter: &Matter| words::is_regression(matter).then(|| "wanted".to_owned());
    let second = Story::new("hello", &week[..2], 1, &reason).unwrap();
    assert!(!second.has_news());
    assert_eq!(second.accepted[0].1, "wanted");
    let sixth = Story::new("hello", &week[..6], 5, &reason).unwrap();
    assert!(sixth.recovered.is_empty(), "{:?}", sixth.recovered);
}

#[test]
fn a_partial_recovery_and_a_circle_of_references_leave_a_regression_open() {
    let slower = step("a", "b", Verdict::Regression, -5.0);
    for steps in [
        vec![slower.clone(), step("b", "c", Verdict::Improvement, 2.0)],
        vec![slower.clone(), step("b", "a", Verdict::Unknown, 0.0)],
    ] {
        let outcome = with(measured(1, &[("a", 1.0)]), |night| night.steps = steps);
        assert_eq!(told(&[night(1, outcome)]).new.len(), 1);
    }
}

fn cells(names: &[&str]) -> Vec<Cell> {
    let cell = |name: &&str| Cell {
        id: (*name).to_owned(),
        version: Version::semantic(name).unwrap(),
        axes: BTreeMap::new(),
    };
    names.iter().map(cell).collect()
}

fn picked(names: &[&str], nights: &[Night], again: usize, new: usize) -> Picked {
    let settled = Settled::after(nights);
    let order = (Order::Semver, &Compare::Lineage);
    pick(&cells(names), order, &settled, Wish { again, new })
}

#[test]
fn a_night_measures_the_newest_of_what_is_new_and_the_last_few_again() {
    let names = ["1.0.0", "1.1.0", "1.2.0", "1.3.0", "1.4.0", "1.5.0"];
    let first = picked(&names, &[], 3, 2);
    assert_eq!(
        (first.versions, first.waiting),
        (vec!["1.4.0".to_owned(), "1.5.0".to_owned()], 4)
    );
    let known = with(
        measured(1, &[("1.0.0", 1.0), ("1.1.0", 1.0), ("1.2.0", 1.0)]),
        |night| {
            night
                .gaps
                .push(gap("1.3.0", GapKind::Failed, "it does not compile"));
            night
                .gaps
                .push(gap("1.4.0", GapKind::Network, "no route to host"));
        },
    );
    let second = picked(&names, &[night(1, known)], 1, 9);
    // 1.4.0 may be there by now, and whether 1.3.0 compiles costs little to see.
    assert_eq!(
        (second.versions, second.waiting),
        (
            ["1.2.0", "1.3.0", "1.4.0", "1.5.0"]
                .map(str::to_owned)
                .to_vec(),
            0
        )
    );
}

#[test]
fn what_a_new_version_is_compared_with_is_measured_with_it() {
    let names = ["1.0.0", "1.0.1", "2.0.0", "2.1.0"];
    let known = with(
        measured(1, &[("1.0.0", 1.0), ("2.0.0", 1.0), ("2.1.0", 1.0)]),
        |_| {},
    );
    let picked = picked(&names, &[night(1, known)], 1, 9);
    assert_eq!(picked.versions, ["1.0.0", "1.0.1", "2.1.0"]);
}

#[test]
fn a_branch_that_went_on_is_new_and_one_that_did_not_is_not() {
    let branch = |commit: &str| Cell {
        id: "main".to_owned(),
        version: Version {
            commit: Some(commit.to_owned()),
            ..Version::listed("main")
        },
        axes: BTreeMap::new(),
    };
    let known = with(measured(1, &[("main", 1.0)]), |night| {
        night.levels[0].commit = Some("aaaa".to_owned());
    });
    let settled = Settled::after(&[night(1, known)]);
    let order = (Order::Listed, &Compare::Previous);
    let wish = Wish { again: 0, new: 9 };
    let pick = |commit: &str| pick(&[branch(commit)], order, &settled, wish).versions;
    assert_eq!(pick("bbbb"), ["main"]);
    assert!(pick("aaaa").is_empty());
}
