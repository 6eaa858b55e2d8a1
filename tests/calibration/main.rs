//! The calibration suite in its fast form: few trials of each row, held to its target as far as so few can refute it.
//!
//! `cargo test --test calibration -- --nocapture` prints the rows; `cargo bench --bench calibration` prints them with many.
#![expect(clippy::print_stdout, reason = "the rows are for the person who asked")]

mod published;
mod searches;
mod suite;
mod tools;

use searches::rivals::{Given, Rival};
use searches::rows::{KINDS, Searches};
use suite::looking;
use suite::pairs::Tool;
use suite::rows::{self, Row, Target};
use suite::series::Watch;
use suite::table;

/// Simulated runs of each row.
const RUNS: usize = 30;

/// Simulated searches of each kind that is searched here.
const SEARCHES: usize = 12;

/// Returns whether the count does not refute that the target is reached: if the chance were just what it must be, a
/// count this far on the wrong side would come for one seed in a thousand.
fn may_hold(row: &Row) -> bool {
    let (low, high) = row.found.interval(0.002);
    match row.target {
        Target::AtMost(most) => low <= most,
        Target::AtLeast(least) => high >= least,
        Target::Between(least, most) => high >= least && low <= most,
        Target::Shown => true,
    }
}

/// Asserts that no row is refuted.
fn hold(rows: &[Row]) {
    print!("{}", table::reached(rows));
    for row in rows {
        assert!(may_hold(row), "{row:?}");
    }
}

#[test]
fn equal_versions_raise_few_alarms() {
    hold(&rows::alarms(RUNS, &rows::SIZES[..1]));
    hold(&rows::alarms_worth_a_flag(RUNS));
}

#[test]
fn steps_are_found() {
    hold(&rows::steps_found(RUNS));
    hold(&rows::steps_found_among_spikes(RUNS));
}

#[test]
fn intervals_hold_the_true_effect() {
    hold(&rows::intervals_that_hold(RUNS));
}

#[test]
fn looking_often_raises_no_more_alarms_and_ends_clear_cases_early() {
    hold(&looking::alarms(RUNS, &[10]));
    hold(&looking::clear_cases(RUNS));
    hold(&looking::alarms_of_two_metrics(RUNS));
    hold(&looking::alarms_worth_a_flag(RUNS));
}

#[test]
fn runs_that_look_find_steps_and_hold_few_sessions_of_great_ones() {
    hold(&looking::steps_found(RUNS));
    let costs = looking::costs(RUNS);
    print!("{}", table::costs(&costs));
    let [none, small, great] = &costs[..] else {
        panic!("{costs:?}");
    };
    assert!(great.sessions < small.sessions && none.fresh < great.fresh);
}

#[test]
fn intervals_of_pairs_that_stopped_early_hold_the_true_effect() {
    hold(&looking::intervals_that_hold(RUNS));
}

#[test]
fn series_without_a_step_show_none_and_steps_are_found() {
    hold(&rows::series_without_a_step(RUNS));
    hold(&rows::steps_in_series(RUNS)[1..]);
}

#[test]
fn without_a_correction_most_runs_of_ten_equal_versions_raise_an_alarm() {
    let tools = rows::tools(RUNS);
    print!("{}", table::beside(&Tool::ALL.map(Tool::name), &tools));
    let (_, normal) = &tools[0];
    let alarms = |tool| normal[Tool::ALL.iter().position(|one| *one == tool).unwrap()];
    // Nine pairs at 5 %: 37 % if they were independent.
    assert!(alarms(Tool::Benchstat).interval(0.002).0 > 0.05);
    assert!(alarms(Tool::Harness).interval(0.002).0 <= 0.05);
}

#[test]
fn a_watch_that_takes_wandering_for_steps_raises_alarms() {
    let watches = rows::watches(RUNS / 3);
    print!("{}", table::beside(&Watch::ALL.map(Watch::name), &watches));
    let of = |row: usize, watch| {
        let place = Watch::ALL.iter().position(|one| *one == watch).unwrap();
        watches[row].1[place].value()
    };
    // The fourth row is of series without a step whose neighbours correlate by 0.6.
    assert!(of(3, Watch::Otava) > 3.0 * of(3, Watch::Harness));
    // The last is a step of five sd with room on either side: all but the one that looks at single changes find it.
    for watch in [Watch::Harness, Watch::Otava, Watch::Perfherder, Watch::Asv] {
        assert!(of(7, watch) > 0.8, "{watch:?}");
    }
}

/// Searches some kinds of histories, by how they are called, and asserts that no row is refuted.
fn hold_searches(kinds: &[&str]) -> Vec<Searches> {
    let kinds = KINDS.into_iter().filter(|kind| kinds.contains(&kind.what));
    let all: Vec<Searches> = kinds
        .map(|kind| searches::rows::searches(kind, SEARCHES))
        .collect();
    assert!(!all.is_empty());
    for one in &all {
        hold(&one.rows());
    }
    print!("{}", searches::table::costs(&all));
    let (declared, _) = searches::rows::declared(&all);
    assert!(
        declared.found.of == 0 || may_hold(&declared),
        "{declared:?}"
    );
    all
}

#[test]
fn searches_name_the_culprit_and_take_few_launches_for_a_great_change() {
    let all = hold_searches(&["3 sd slower", "5 sd slower"]);
    let [great, greater] = &all[..] else {
        panic!("two kinds");
    };
    let launches = |one: &Searches| one.mean(|spent| spent.total().launches);
    assert!(launches(greater) < launches(great) && launches(great) < 60.0);
}

#[test]
fn searches_without_a_change_name_nobody() {
    hold_searches(&["no change", "no change, t with 5 degrees of freedom"]);
}

#[test]
fn searches_name_no_single_commit_of_a_stretch_that_cannot_be_built() {
    hold_searches(&["3 sd slower, 22 % cannot be built"]);
}

#[test]
fn searches_are_not_led_astray_by_another_commit_or_by_merges() {
    let others = [
        "3 sd slower, another commit alone 10 sd faster",
        "3 sd slower, a graph with merges",
    ];
    for one in hold_searches(&others) {
        // At 95 %, fewer than 8 of 12 would come for one seed in a thousand.
        assert!(one.right().hits >= 8, "{:?}", one.right());
    }
}

#[test]
fn other_searches_find_a_great_change_and_a_threshold_names_somebody_without_one() {
    let beside = |what: &str, given| {
        let kind = KINDS.into_iter().find(|kind| kind.what == what).unwrap();
        let found = searches::rows::beside(kind, given, SEARCHES);
        let ours = [searches::rows::searches(kind, 1)];
        print!(
            "{}",
            searches::table::beside(&ours, &[(0, given, found.clone())])
        );
        found
    };
    for (rival, found) in Rival::ALL.iter().zip(beside("5 sd slower", Given::Still)) {
        let (right, _, launches) = found.unwrap();
        assert!(
            right.hits >= 9 && launches >= 7.0,
            "{rival:?} {right:?} {launches}"
        );
    }
    // Halving by launches that differ by 15 % finds 5 % in few of seven steps and nearly never in all of them.
    let (right, ..) = beside("5 sd slower", Given::Alone)[0].unwrap();
    assert!(right.hits <= 3, "{right:?}");
    let (_, wrong, launches) = beside("no change", Given::Races)[0].unwrap();
    assert!(
        wrong.hits == SEARCHES && launches < 15.0,
        "{wrong:?} {launches}"
    );
    let graph = beside("3 sd slower, a graph with merges", Given::Races);
    assert_eq!(
        graph.iter().flatten().count(),
        3,
        "the others search lines alone"
    );
}
