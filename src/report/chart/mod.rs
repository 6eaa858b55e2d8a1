//! Charts as SVG, drawn by hand: the same report gives the same bytes. Pure.
//!
//! `svg` writes, `axis` divides; `series` shows the levels of all versions, `effects` the pairs, `windows` one session. They
//! carry their own colours for light and dark, and say in words what they show.

mod axis;
mod effects;
mod series;
mod svg;
#[cfg(test)]
mod tests;
mod windows;

use super::Report;

/// Width of every chart.
const WIDTH: f64 = 960.0;

/// Height of the title.
const TITLE: f64 = 34.0;

/// A chart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Picture {
    /// Which: `series`, `effects` or `windows`.
    pub name: &'static str,
    /// What it shows, in words.
    pub alternative: String,
    /// The SVG.
    pub svg: String,
}

impl Picture {
    /// Returns the name of its file beside a report whose file is called so.
    pub fn file(&self, stem: &str) -> String {
        format!("{stem}-{}.svg", self.name)
    }
}

/// Returns all charts that there is something to show in.
pub(super) fn pictures(report: &Report) -> Vec<Picture> {
    let pictures = [
        series::picture(report),
        effects::picture(report),
        windows::picture(report),
    ];
    pictures.into_iter().flatten().collect()
}
