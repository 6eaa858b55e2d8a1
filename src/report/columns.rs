//! Tables of plain text that fit a terminal: columns give way, entries are never broken. Pure.

use comfy_table::{CellAlignment, ContentArrangement, LineStyle, Table, TableStyle};

use super::words::clipped;

/// Letters of a first column that is clipped, at least.
const LEAST: usize = 8;

/// A column of a table.
#[derive(Debug)]
pub(super) struct Column {
    header: &'static str,
    entries: Vec<String>,
    is_number: bool,
    /// The greater, the sooner it gives way; at 0 it stays.
    rank: u8,
    /// What takes its place when it gives way.
    shorter: Option<Vec<String>>,
}

impl Column {
    /// Makes a column of text that stays.
    pub(super) fn text(header: &'static str, entries: Vec<String>) -> Self {
        Self {
            header,
            entries,
            is_number: false,
            rank: 0,
            shorter: None,
        }
    }

    /// Makes a column of numbers that gives way.
    pub(super) fn numbers(header: &'static str, rank: u8, entries: Vec<String>) -> Self {
        Self {
            is_number: true,
            ..Self::text(header, entries).giving_way(rank)
        }
    }

    /// Returns whether any of its entries says something.
    pub(super) fn has_any(&self) -> bool {
        self.entries.iter().any(|entry| !entry.trim().is_empty())
    }

    /// Makes it give way.
    pub(super) fn giving_way(self, rank: u8) -> Self {
        Self { rank, ..self }
    }

    /// Makes it give way to shorter entries, which stay.
    pub(super) fn or(self, rank: u8, shorter: Vec<String>) -> Self {
        Self {
            shorter: Some(shorter),
            ..self.giving_way(rank)
        }
    }
}

/// Returns the lines of a table of at most so many columns of letters: two of header and rule or more, then one for each row.
///
/// Columns give way until it fits; if those that stay are too wide, the first one is clipped.
pub(super) fn lines(mut columns: Vec<Column>, width: u16) -> Vec<String> {
    let width = usize::from(width);
    while total(&columns) > width && give_way(&mut columns) {}
    let excess = total(&columns).saturating_sub(width);
    if let Some(first) = columns.first_mut().filter(|_| excess > 0) {
        let widest = first.entries.iter().map(|entry| entry.chars().count());
        let most = widest.max().unwrap_or(0).saturating_sub(excess).max(LEAST);
        for entry in &mut first.entries {
            *entry = clipped(entry, most);
        }
    }
    let table = table(&columns);
    let lines = table.lines().map(|line| line.trim_end().to_owned());
    lines.collect()
}

/// Lets the next column give way; returns whether there was one.
fn give_way(columns: &mut Vec<Column>) -> bool {
    let last = columns.iter().enumerate();
    let Some((place, _)) = last.max_by_key(|(_, column)| column.rank) else {
        return false;
    };
    let column = &mut columns[place];
    if column.rank == 0 {
        return false;
    }
    match column.shorter.take() {
        Some(shorter) => {
            column.entries = shorter;
            column.rank = 0;
        }
        None => drop(columns.remove(place)),
    }
    true
}

/// Returns how wide a table is: each entry has a space on either side, and columns are a space apart.
fn total(columns: &[Column]) -> usize {
    let widths = table(columns).column_max_content_widths();
    let entries: usize = widths.iter().map(|width| usize::from(*width) + 2).sum();
    entries + columns.len().saturating_sub(1)
}

fn table(columns: &[Column]) -> Table {
    let mut table = Table::new();
    let rule = LineStyle::none().fill('─').junction('─');
    table
        .load_style(TableStyle::new().header_separator(rule))
        .set_content_arrangement(ContentArrangement::Disabled)
        .set_header(columns.iter().map(|column| column.header));
    let rows = columns.first().map_or(0, |column| column.entries.len());
    for row in 0..rows {
        table.add_row(columns.iter().map(|column| column.entries[row].as_str()));
    }
    for (place, column) in columns.iter().enumerate() {
        let of_table = table.column_mut(place).filter(|_| column.is_number);
        if let Some(of_table) = of_table {
            of_table.set_cell_alignment(CellAlignment::Right);
        }
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    fn columns() -> Vec<Column> {
        let entries = |entry: &str| vec![entry.to_owned(), "-".to_owned()];
        vec![
            Column::text("version", entries("1.2.3-beta.1")),
            Column::numbers("fetches\n/sec", 1, entries("8000")),
            Column::text("", entries("████████████")).giving_way(3),
            Column::text("verdict", entries("regression, confirmed")).or(2, entries("regression")),
        ]
    }

    fn widest(lines: &[String]) -> usize {
        let widths = lines.iter().map(|line| line.chars().count());
        widths.max().unwrap()
    }

    #[test]
    fn columns_give_way_by_rank_and_entries_are_never_broken() {
        for width in 30..80 {
            let lines = lines(columns(), width);
            assert!(widest(&lines) <= usize::from(width), "{width}: {lines:?}");
            assert!(lines.iter().any(|line| line.contains("1.2.3-beta.1")));
            assert!(lines.iter().any(|line| line.contains(" regression")));
        }
        let text = |width| lines(columns(), width).join("\n");
        assert!(text(80).contains('█') && text(80).contains("confirmed"));
        assert!(!text(54).contains('█') && text(54).contains("confirmed"));
        assert!(!text(40).contains("confirmed") && text(40).contains("8000"));
        assert!(!text(30).contains("8000"));
    }

    #[test]
    fn what_stays_is_clipped_where_nothing_can_give_way_any_more() {
        let lines = lines(columns(), 25);
        assert!(widest(&lines) <= 25, "{lines:?}");
        assert!(
            lines.iter().any(|line| line.contains("1.2.3-bet…")),
            "{lines:?}"
        );
    }
}
