//! The text of `httpbench`, a client of its own: `Label: number` in each line.

use super::{Outcome, Wrong};
use crate::outcome::{ErrorKind, LoadFigures};

/// Reads it.
pub(super) fn read(text: &str) -> Result<Outcome, Wrong> {
    let answers = count(text, "Total completed requests:")?;
    let failed = count(text, "Failed requests:")?;
    let figures = LoadFigures {
        answers: answers.saturating_sub(failed),
        seconds: number(text, "Total time taken by this program (seconds):")?,
        thread_seconds: number(text, "Sum total of thread times (seconds):")?,
        body_bytes: count(text, "Total bytes:")?,
        errors: [(ErrorKind::BadStatus, failed)]
            .into_iter()
            .filter(|(_, failed)| *failed > 0)
            .collect(),
        ..LoadFigures::default()
    };
    Ok(Outcome::Figures(Box::new(figures)))
}

/// Returns what stands behind a label, with its line.
fn find<'a>(text: &'a str, label: &str) -> Result<(usize, &'a str), Wrong> {
    let lines = (1..).zip(text.lines());
    let mut found =
        lines.filter_map(|(line, words)| Some((line, words.trim().strip_prefix(label)?)));
    let found = found.next().map(|(line, rest)| (line, rest.trim()));
    found.ok_or_else(|| {
        Wrong::whole(format!(
            "no line begins with `{label}`: it is cut short, or not of httpbench"
        ))
    })
}

fn number(text: &str, label: &str) -> Result<f64, Wrong> {
    let (line, word) = find(text, label)?;
    let number = word
        .parse()
        .ok()
        .filter(|number: &f64| number.is_finite() && *number >= 0.0);
    number.ok_or_else(|| Wrong::at(line, format!("`{word}` is no number")))
}

fn count(text: &str, label: &str) -> Result<u64, Wrong> {
    let (line, word) = find(text, label)?;
    let count = word.parse().ok();
    count.ok_or_else(|| Wrong::at(line, format!("`{word}` is no count")))
}
