//! A series of versions with one value each, such as a published table gives. Pure.
//!
//! One run of a version cannot tell a change from a bad moment. So nothing here is a verdict: what stands out is a
//! suspect, with the command that would decide it.

use std::collections::HashMap;

use serde::Serialize;

use super::Night;
use super::change::levels;
use crate::journal::Header;
use crate::stats::{mean, suspects as find};
use crate::version::{Cell, chains};

/// Sessions asked for where the run itself had too few to decide anything.
const SESSIONS: u32 = 8;

/// What deserves to be measured again.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Suspect {
    /// How it stands out.
    pub shape: Shape,
    /// The cell.
    pub version: String,
    /// The one before it that has a number.
    pub before: String,
    /// By how much its level differs from the one before, or a single value from its neighbours; a log ratio.
    pub effect: f64,
    /// The command that would decide it.
    pub rerun: Vec<String>,
}

/// How a version stands out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Shape {
    /// A new level begins with it.
    Step,
    /// It lies far from its neighbours, which agree with each other.
    Single,
}

/// Looks along the versions of the newest run, if none of its pairs was raced; versions without a number are skipped.
pub(super) fn suspects(
    newest: &Header,
    nights: &[Night],
    levels: &HashMap<&str, f64>,
) -> Vec<Suspect> {
    let raced = |night: &Night| !night.effects.is_empty();
    if nights.last().is_none_or(raced) {
        return Vec::new();
    }
    let chains = chains(&newest.cells).into_iter();
    let chains = chains.map(|chain| {
        let cells = chain.into_iter().map(|cell| &newest.cells[cell]);
        cells
            .filter_map(|cell| Some((cell, *levels.get(cell.id.as_str())?)))
            .collect()
    });
    chains
        .flat_map(|chain: Vec<(&Cell, f64)>| along(newest, &chain))
        .collect()
}

fn along(newest: &Header, chain: &[(&Cell, f64)]) -> Vec<Suspect> {
    let series: Vec<Option<f64>> = chain.iter().map(|(_, level)| Some(*level)).collect();
    let suspect = |shape, place: usize, effect, to: usize| Suspect {
        shape,
        version: chain[place].0.id.clone(),
        before: chain[place - 1].0.id.clone(),
        effect,
        rerun: rerun(newest, chain[place - 1].0, chain[to].0),
    };
    let levels = levels(&series);
    let height = |level: &[(usize, f64)]| {
        let values: Vec<f64> = level.iter().map(|(_, value)| *value).collect();
        mean(&values)
    };
    let steps = levels.windows(2).filter_map(|two| {
        let place = two[1].first()?.0;
        let effect = height(&two[1])? - height(&two[0])?;
        Some(suspect(Shape::Step, place, effect, place))
    });
    // The search leaves two values on either side of a single one.
    let singles = find(&series).singles.into_iter().map(|place| {
        let around = f64::midpoint(chain[place - 1].1, chain[place + 1].1);
        suspect(Shape::Single, place, chain[place].1 - around, place + 1)
    });
    let mut suspects: Vec<Suspect> = steps.collect();
    suspects.extend(singles);
    suspects
}

/// Returns the command that races the versions from one to another.
fn rerun(newest: &Header, from: &Cell, to: &Cell) -> Vec<String> {
    let file = newest.matrix.file.display().to_string();
    let range = format!("{}..{}", from.version.name, to.version.name);
    let mut words = vec!["harness".to_owned(), "run".to_owned(), file, range];
    for (axis, value) in &to.axes {
        words.extend(["--only".to_owned(), format!("{axis}={value}")]);
    }
    if newest.sessions.count < SESSIONS {
        words.extend(["--sessions".to_owned(), SESSIONS.to_string()]);
    }
    words
}
