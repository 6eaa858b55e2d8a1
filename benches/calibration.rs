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
use suite::{rows, table};

/// Simulated runs of each row.
const RUNS: usize = 10_000;

fn main() {
    let mut reached = rows::alarms(RUNS, &rows::SIZES);
    reached.extend(rows::alarms_worth_a_flag(RUNS));
    reached.extend(rows::steps_found(RUNS));
    reached.extend(rows::steps_found_among_spikes(RUNS));
    reached.extend(rows::intervals_that_hold(RUNS));
    reached.extend(rows::looks(RUNS));
    reached.extend(rows::series_without_a_step(RUNS / 5));
    reached.extend(rows::steps_in_series(RUNS / 5));
    println!("{}", table::reached(&reached));
    let tools = rows::tools(RUNS / 10);
    println!("{}", table::beside(&Tool::ALL.map(Tool::name), &tools));
    let watches = rows::watches(RUNS / 10);
    println!("{}", table::beside(&Watch::ALL.map(Watch::name), &watches));
}
