//! The published series of Node.js 0.1.0 to 0.7.0, one run of each version.

use harness::stats::suspects;

/// Newest first, as it was published; a gap has no figure.
const SERIES: &str = include_str!("../data/node-2012.csv");

#[test]
fn the_steps_that_a_careful_reader_sees_come_out_as_suspects() {
    let mut rows: Vec<Vec<&str>> = SERIES
        .lines()
        .skip(1)
        .map(|line| line.split(',').collect())
        .collect();
    rows.reverse();
    let log = |row: &Vec<&str>| row[2].parse::<f64>().ok().map(f64::ln);
    let series: Vec<Option<f64>> = rows.iter().map(log).collect();
    assert_eq!(series.iter().filter(|value| value.is_none()).count(), 5);
    let found = suspects(&series);
    let names =
        |places: &[usize]| -> Vec<&str> { places.iter().map(|place| rows[*place][0]).collect() };
    // Down after 0.1.93, up at 0.3.1 across the gap 0.3.0, down at 0.3.6, and a dip from 0.5.6 to 0.5.9.
    assert_eq!(
        names(&found.steps),
        ["0.1.94", "0.3.1", "0.3.6", "0.5.6", "0.5.10"]
    );
    assert_eq!(names(&found.singles), ["0.4.8"]);
}
