//! A run and its report → what other tools read. Pure.
//!
//! One file for each format. Whatever a version is called and a log says, none breaks: each writes it as the format escapes
//! it. A gap is told where the format has a place for it, and never becomes a zero.

pub mod annotations;
pub mod bencher;
pub mod benchstat;
pub mod csv;
pub mod github_action_benchmark;
pub mod junit;
pub mod openmetrics;
pub mod otava;
pub mod schema;
#[cfg(test)]
mod fixture;

use serde::Serialize;

use crate::report::words::one_line;
use crate::report::{CellReport, CellState, Figures};
use crate::verdict::Level;

/// Returns a cell's level; none of one that has no number or was not measured alone.
fn level(cell: &CellReport) -> Option<&Level> {
    match &cell.state {
        CellState::Measured { level, .. } => level.as_ref(),
        CellState::Gap { .. } | CellState::Pending => None,
    }
}

/// Returns the figures of a cell's solo trials; none of one that had none.
fn figures(cell: &CellReport) -> Option<&Figures> {
    match &cell.state {
        CellState::Measured { figures, .. } => figures.as_deref(),
        CellState::Gap { .. } | CellState::Pending => None,
    }
}

/// Returns a figure that is known. None can be zero: that is how a journal says that whatever sent the requests tells none.
fn told(figure: Option<f64>) -> Option<f64> {
    figure.filter(|figure| figure.is_finite() && *figure > 0.0)
}

/// Returns two standard errors to each side of a level; none where there is too little to tell.
fn ends(level: &Level) -> Option<(f64, f64)> {
    let error = level.relative_error?;
    let end = |errors: f64| level.fetches_per_second * (errors * error).exp();
    Some((end(-2.0), end(2.0)))
}

/// Returns what a value is called in journals.
fn name(value: impl Serialize) -> String {
    let value = serde_json::to_value(value).unwrap_or_default();
    value.as_str().unwrap_or_default().to_owned()
}

/// Returns what a benchmark is called where those of all matrices stand in one list.
fn benchmark(matrix: &str, cell: &CellReport) -> String {
    let name = one_line(&format!("{matrix} {}", cell.id));
    name.trim().to_owned()
}

/// Returns text without the characters that XML cannot hold and programs that read tables stumble over.
fn legible(text: &str) -> String {
    let strange = |letter: char| {
        let is_kept = matches!(letter, '\t' | '\n' | '\r');
        (letter < ' ' && !is_kept) || matches!(letter, '\u{fffe}' | '\u{ffff}')
    };
    let shown = |letter| if strange(letter) { '\u{fffd}' } else { letter };
    text.chars().map(shown).collect()
}
