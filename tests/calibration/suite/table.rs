//! Rows as Markdown.

use std::fmt::Write as _;

use super::bound::Share;
use super::looking::Cost;
use super::rows::{Row, Target};

/// Returns the table of what the product reaches.
pub(crate) fn reached(rows: &[Row]) -> String {
    let mut text =
        "| | what | must reach | found | 95 % interval | of | |\n|---|---|---|---|---|---|---|\n"
            .to_owned();
    for row in rows {
        let (low, high) = row.found.interval(0.05);
        let target = match row.target {
            Target::AtMost(most) => format!("≤ {}", percent(most)),
            Target::AtLeast(least) => format!("≥ {}", percent(least)),
            Target::Between(least, most) => format!("{} to {}", percent(least), percent(most)),
            Target::Shown => String::new(),
        };
        let mark = match reaches(row) {
            Some(true) => "yes",
            Some(false) => "no",
            None => "",
        };
        let _unfailing = writeln!(
            text,
            "| {} | {} | {target} | {} | {} to {} | {} | {mark} |",
            row.line,
            row.what,
            percent(row.found.value()),
            percent(low),
            percent(high),
            row.found.of,
        );
    }
    text
}

/// Returns a table of shares with a column for each tool.
pub(crate) fn beside(names: &[&str], rows: &[(String, Vec<Share>)]) -> String {
    let mut text = format!(
        "| what | {} |\n|---|{}\n",
        names.join(" | "),
        "---|".repeat(names.len())
    );
    for (what, shares) in rows {
        let cells: Vec<String> = shares.iter().map(|share| percent(share.value())).collect();
        let _unfailing = writeln!(text, "| {what} | {} |", cells.join(" | "));
    }
    text
}

/// Returns a table of what runs that look hold of a pair.
pub(crate) fn costs(rows: &[Cost]) -> String {
    let mut text = "| pair | sessions | fresh ones to confirm |\n|---|---|---|\n".to_owned();
    for row in rows {
        let _unfailing = writeln!(
            text,
            "| {} | {:.1} | {:.1} |",
            row.what, row.sessions, row.fresh
        );
    }
    text
}

/// Returns whether the share found is what must be reached; none where nothing must.
fn reaches(row: &Row) -> Option<bool> {
    let found = row.found.value();
    match row.target {
        Target::AtMost(most) => Some(found <= most),
        Target::AtLeast(least) => Some(found >= least),
        Target::Between(least, most) => Some(least <= found && found <= most),
        Target::Shown => None,
    }
}

/// Returns a share as percent.
fn percent(share: f64) -> String {
    if share > 0.0 && share < 0.001 {
        return format!("{:.3} %", 100.0 * share);
    }
    format!("{:.1} %", 100.0 * share)
}
