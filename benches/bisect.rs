//! How often the search for a culprit is right: `cargo bench --bench bisect` prints the tables of `docs/bisect.md`.
//!
//! It takes no time and needs no machine of its own: everything is simulated from fixed seeds.
#![expect(
    clippy::print_stdout,
    reason = "the tables are for the person who asked"
)]

#[expect(
    dead_code,
    reason = "the rules that compare versions are for the other table"
)]
#[path = "../tests/calibration/suite/mod.rs"]
mod suite;

#[path = "../tests/calibration/searches/mod.rs"]
mod searches;

use searches::rivals::Given;
use searches::{rows, table};
use suite::table::reached;

/// Simulated searches of each kind.
const RUNS: usize = 200;

fn main() {
    let all: Vec<rows::Searches> = rows::KINDS
        .into_iter()
        .map(|kind| rows::searches(kind, RUNS))
        .collect();
    let mut reach: Vec<_> = all.iter().flat_map(rows::Searches::rows).collect();
    let (declared, odds) = rows::declared(&all);
    reach.push(declared);
    println!("{}", reached(&reach));
    println!("Said on average of those named: {:.1} %.\n", 100.0 * odds);
    println!("{}", table::costs(&all));
    let races = (0..rows::KINDS.len()).map(|place| (place, Given::Races));
    let alone = [Given::Still, Given::Alone]
        .into_iter()
        .flat_map(|given| (0..4).map(move |place| (place, given)));
    let beside = |(place, given)| (place, given, rows::beside(rows::KINDS[place], given, RUNS));
    let rivals: Vec<_> = races.chain(alone).map(beside).collect();
    println!("{}", table::beside(&all, &rivals));
}
