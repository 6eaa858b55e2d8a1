//! Searches as Markdown.

use std::fmt::Write as _;

use harness::bisect::Spent;

use super::rivals::{Given, Rival};
use super::rows::{Beside, Kind, Searches};

/// Returns what searches took.
pub(crate) fn costs(all: &[Searches]) -> String {
    let mut text = "| | what | must reach | launches | 90th percentile | for the ends | to search | to confirm | sessions |\n\
         |---|---|---|---|---|---|---|---|---|\n"
        .to_owned();
    for one in all {
        let launches = one.launches();
        let Kind {
            line,
            what,
            launches: most,
            ..
        } = one.kind;
        let most = most.map(|most| format!("≤ {most}")).unwrap_or_default();
        let tenth = launches[launches.len() * 9 / 10];
        let part = |count: fn(&Spent) -> usize| format!("{:.1}", one.mean(count));
        let _unfailing = writeln!(
            text,
            "| {line} | {what} | {most} | {} | {tenth} | {} | {} | {} | {} |",
            part(|spent| spent.total().launches),
            part(|spent| spent.ends.launches),
            part(|spent| spent.search.launches),
            part(|spent| spent.confirm.launches),
            part(|spent| spent.total().sessions),
        );
    }
    text
}

/// Returns what others come to on the same histories; each cell is how often the culprit is named, others are, and launches.
pub(crate) fn beside(all: &[Searches], rivals: &[(usize, Given, Beside)]) -> String {
    let names: Vec<&str> = Rival::ALL.iter().map(|rival| rival.name()).collect();
    let mut text = format!(
        "| what | measured | Harness | {} |\n|---|---|---|{}\n",
        names.join(" | "),
        "---|".repeat(names.len())
    );
    for (place, given, beside) in rivals {
        let ours = &all[*place];
        let own = cell(
            ours.right().value(),
            ours.wrong().value(),
            ours.mean(|spent| spent.total().launches),
        );
        let _unfailing = write!(text, "| {} | {} | {own} |", ours.kind.what, given.name());
        for one in beside {
            let cell = one.map_or("–".to_owned(), |(right, wrong, launches)| {
                cell(right.value(), wrong.value(), launches)
            });
            let _unfailing = write!(text, " {cell} |");
        }
        text.push('\n');
    }
    text
}

fn cell(right: f64, wrong: f64, launches: f64) -> String {
    format!(
        "{:.0} %, {:.0} %, {launches:.0}",
        100.0 * right,
        100.0 * wrong
    )
}
