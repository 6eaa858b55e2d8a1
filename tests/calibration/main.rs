//! The calibration suite in its fast form: few trials of each row, held to its target as far as so few can refute it.
//!
//! `cargo test --test calibration -- --nocapture` prints the rows; `cargo bench --bench calibration` prints them with many.
#![expect(clippy::print_stdout, reason = "the rows are for the person who asked")]

mod published;
mod suite;
mod tools;

use suite::looking;
use suite::pairs::Tool;
use suite::rows::{self, Row, Target};
use suite::series::Watch;
use suite::table;

/// Simulated runs of each row.
const RUNS: usize = 30;

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
