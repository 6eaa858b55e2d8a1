//! The calibration suite in its full form: `cargo bench --bench calibration` prints the tables of `docs/method.md`.
//!
//! It takes no time and needs no machine of its own: everything is simulated from fixed seeds.
#![expect(
    clippy::print_stdout,
    reason = "the tables are for the person who asked"
)]

#[path = "../tests/calibration/suite/mod.rs"]
mod suite;

use suite::pairs::Tool;
use suite::series::Watch;
use suite::{looking, rows, table};

/// Simulated runs of each row.
const RUNS: usize = 10_000;

fn main() {
    let mut reached = rows::alarms(RUNS, &rows::SIZES);
    reached.extend(rows::alarms_worth_a_flag(RUNS));
    reached.extend(rows::steps_found(RUNS));
    reached.extend(rows::steps_found_among_spikes(RUNS));
    reached.extend(rows::intervals_that_hold(RUNS));
    reached.extend(looking::alarms(RUNS, &[10, 30]));
    reached.extend(looking::clear_cases(RUNS));
    reached.extend(looking::alarms_of_two_metrics(RUNS));
    reached.extend(looking::alarms_worth_a_flag(RUNS));
    reached.extend(looking::steps_found(RUNS));
    reached.extend(looking::intervals_that_hold(RUNS));
    reached.extend(rows::series_without_a_step(RUNS / 5));
    reached.extend(rows::steps_in_series(RUNS / 5));
    println!("{}", table::reached(&reached));
    println!("{}", table::costs(&looking::costs(RUNS)));
    let tools = rows::tools(RUNS / 10);
    println!("{}", table::beside(&Tool::ALL.map(Tool::name), &tools));
    let watches = rows::watches(RUNS / 10);
    println!("{}", table::beside(&Watch::ALL.map(Watch::name), &watches));
}
