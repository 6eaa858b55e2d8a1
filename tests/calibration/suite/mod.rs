//! How often the product's rules are right where the answer is known, beside the rules of other tools on the same noise.
//!
//! All of it is simulated and seeded. Each function in `rows` gives the rows of one line of the table in `docs/method.md`; the
//! tests hold few trials of each to its target, `cargo bench --bench calibration` prints the table with many.

pub(crate) mod asv;
pub(crate) mod bound;
pub(crate) mod looking;
pub(crate) mod noise;
pub(crate) mod pairs;
pub(crate) mod rank;
pub(crate) mod rows;
pub(crate) mod series;
pub(crate) mod table;

/// Returns a count as a real number.
#[expect(clippy::cast_precision_loss, reason = "counts stay far below 2^53")]
pub(crate) fn real(count: usize) -> f64 {
    count as f64
}

/// Returns the arithmetic mean of some values.
pub(crate) fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / real(values.len())
}
