//! The noise of a machine, for a person. Pure.

use super::curve::{Cell, Curve, Reach, Row};
use super::figures::{Cost, DesignNoise, Noise};
use crate::matrix::Design;

/// Columns on each side of the zero line.
const HALF: i32 = 20;
/// Columns of the longest bar.
const BAR: f64 = 30.0;

pub(super) fn text(noise: &Noise) -> String {
    let mut lines = vec![
        format!("{}: {} against itself", noise.title, noise.version),
        String::new(),
        heading(noise),
    ];
    lines.extend(noise.designs.iter().map(row));
    lines.push(String::new());
    lines.extend(plots(&noise.designs));
    lines.push(String::new());
    lines.extend(conclusion(noise));
    if !noise.curves.is_empty() {
        lines.extend(
            noise
                .curves
                .iter()
                .flat_map(|curve| curve_lines(curve, noise.design)),
        );
        lines.push(String::new());
        lines.extend(legend(noise));
    }
    lines.join("\n")
}

fn heading(noise: &Noise) -> String {
    let changes = noise
        .designs
        .first()
        .map_or(&[][..], |design| &design.costs);
    let changes: Vec<String> = changes
        .iter()
        .map(|cost| {
            format!(
                "{:>16}",
                format!("to see {:.3} %", Trimmed(cost.change_percent))
            )
        })
        .collect();
    format!(
        "design  pairs  sd of a pair           a pair takes{}",
        changes.concat()
    )
}

/// A number without needless decimals.
struct Trimmed(f64);

impl std::fmt::Display for Trimmed {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let text = format!("{:.2}", self.0);
        formatter.write_str(text.trim_end_matches('0').trim_end_matches('.'))
    }
}

fn name(design: Design) -> &'static str {
    match design {
        Design::Race => "race",
        Design::Slices => "slices",
        Design::Solo => "solo",
    }
}

fn row(design: &DesignNoise) -> String {
    let (low, high) = design.sd_interval_percent;
    let sd = format!("{:.2} % ({low:.1} to {high:.1})", design.sd_percent);
    let costs: Vec<String> = design.costs.iter().map(cost).collect();
    format!(
        "{:6}  {:>5}  {sd:21}  {:>10.1} s{}",
        name(design.design),
        design.differences_percent.len(),
        design.seconds_per_pair,
        costs.concat()
    )
}

fn cost(cost: &Cost) -> String {
    let text = match (cost.sessions, cost.minutes) {
        (Some(sessions), Some(minutes)) => format!("{minutes:.1} min ({sessions})"),
        _ => "never".to_owned(),
    };
    format!("{text:>16}")
}

/// Draws the differences of each design around a zero line: `o` is one pair, `O` are several, `|` zero.
fn plots(designs: &[DesignNoise]) -> Vec<String> {
    let all = designs
        .iter()
        .flat_map(|design| &design.differences_percent);
    let greatest = all.map(|percent| percent.abs()).fold(0.0, f64::max);
    let scales = [1, 2, 5, 10, 20, 50, 100];
    let scale = scales
        .into_iter()
        .find(|scale| f64::from(*scale) >= greatest);
    let scale = scale.unwrap_or(200);
    let ends = (format!("-{scale} %"), format!("+{scale} %"));
    let scale_line = format!("{:6}  {:<20}0{:>20}", "", ends.0, ends.1);
    let rows = designs
        .iter()
        .map(|design| format!("{:6}  {}", name(design.design), plot(design, scale)));
    std::iter::once(scale_line).chain(rows).collect()
}

fn plot(design: &DesignNoise, scale: i32) -> String {
    let column = |percent: &f64| {
        let place = (percent / f64::from(scale) * f64::from(HALF)).round();
        #[expect(clippy::cast_possible_truncation, reason = "clamped to ± 20")]
        let place = place.clamp(f64::from(-HALF), f64::from(HALF)) as i32;
        place
    };
    let columns: Vec<i32> = design.differences_percent.iter().map(column).collect();
    let picture = |place: i32| match columns.iter().filter(|column| **column == place).count() {
        0 if place == 0 => '|',
        0 => ' ',
        1 => 'o',
        _ => 'O',
    };
    (-HALF..=HALF)
        .map(picture)
        .collect::<String>()
        .trim_end()
        .to_owned()
}

fn conclusion(noise: &Noise) -> Vec<String> {
    let power = noise.power * 100.0;
    let mut lines = vec![
        format!(
            "Minutes (sessions) for one pair, to see a change with a chance of {power:.0} % at alpha {}; of many pairs each",
            noise.alpha
        ),
        "takes some more. A change of the least size worth a flag is seen as a change; half of such are flagged.".to_owned(),
    ];
    if noise.confirmed {
        lines.push("A flagged pair is then confirmed by as many sessions again.".to_owned());
    }
    lines.push(match noise.recommended {
        Some(design) => format!("Recommended here: `design = \"{}\"`.", name(design)),
        None => {
            "Recommended here: a quieter machine. No design can see 2 % in 999 sessions.".to_owned()
        }
    });
    lines
}

/// Returns the table and the picture of a curve.
fn curve_lines(curve: &Curve, design: Design) -> Vec<String> {
    let whose = match curve.pairs {
        1 => "One pair, as in `harness compare`".to_owned(),
        pairs => format!("All {pairs} pairs of the matrix"),
    };
    let mut lines = vec![
        String::new(),
        format!(
            "{whose}: {}, level {:.2} %, a session of each takes {:.1} s",
            name(design),
            curve.level * 100.0,
            curve.seconds_per_round
        ),
        curve_heading(curve),
    ];
    lines.extend(curve.rows.iter().map(curve_row));
    let greatest = |reach: &Reach| reach.change_percent.unwrap_or(0.0);
    let greatest = curve.reach.iter().map(greatest).fold(0.0, f64::max);
    lines.push(String::new());
    lines.extend(curve.reach.iter().map(|reach| reach_line(reach, greatest)));
    lines
}

fn curve_heading(curve: &Curve) -> String {
    let cells = curve.rows.first().map_or(&[][..], |row| &row.cells);
    let certainty = |cell: &Cell| {
        let text = format!("with {:.0} %", cell.certainty_percent);
        format!("  {text:<32}")
    };
    let cells: Vec<String> = cells.iter().map(certainty).collect();
    format!("change{}", cells.concat()).trim_end().to_owned()
}

fn curve_row(row: &Row) -> String {
    let cells: Vec<String> = row.cells.iter().map(cell).collect();
    let cells = cells.concat();
    let text = format!("{:>4.0} %{cells}", row.change_percent);
    text.trim_end().to_owned()
}

fn cell(cell: &Cell) -> String {
    let (Some(sessions), Some(mean), Some(minutes)) =
        (cell.sessions, cell.mean_sessions, cell.minutes)
    else {
        return format!("  {:<32}", "-");
    };
    let (low, high) = cell.minutes_interval;
    let (low, high) = (or_none(low, 1), or_none(high, 1));
    let text = format!("{sessions} ({mean:.1})");
    format!(
        "  {text:<11} {:<20}",
        format!("{minutes:.1} min ({low} to {high})")
    )
}

/// Writes a number, or a dash where there is none.
fn or_none(number: Option<f64>, decimals: usize) -> String {
    number.map_or_else(|| "-".to_owned(), |number| format!("{number:.decimals$}"))
}

/// Says which change is seen in some time, with a bar as long as it is great.
fn reach_line(reach: &Reach, greatest: f64) -> String {
    let minutes = reach.minutes;
    let Some(change) = reach.change_percent else {
        return format!("in {minutes:>2} min  nothing");
    };
    let (low, high) = reach.change_interval_percent;
    let (low, high) = (or_none(low, 1), or_none(high, 1));
    let range = format!("{change:.1} % ({low} to {high})");
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "between 0 and 30"
    )]
    let columns = (change / greatest * BAR).round() as usize;
    let bar = "#".repeat(columns);
    format!("in {minutes:>2} min  {range:<21} {bar}")
}

fn legend(noise: &Noise) -> Vec<String> {
    let mut lines = vec![
        "Above, by simulated runs: the `sessions.count` that sees a change of one pair, with such a chance (sessions on".to_owned(),
        "average, as a run ends a pair that is decided), and what these take at most, with 90 % of certainty about the noise.".to_owned(),
        "Below each table: the smallest change that is seen with 80 % in so many minutes. Pairs are looked at again and again,".to_owned(),
        "as runs do. What many pairs tell of each other's noise is left out, so it may take less; builds and solo trials come on top.".to_owned(),
    ];
    if noise.curves.iter().any(|curve| {
        curve
            .rows
            .iter()
            .any(|row| row.cells.iter().any(|cell| cell.sessions.is_none()))
    }) {
        lines.push("`-`: more than 300 sessions, or never: a change of no more than `min_effect` is flagged half the time at most.".to_owned());
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::super::figures::tests::noise;
    use super::*;

    #[test]
    fn the_noise_of_a_machine_is_a_table_a_picture_and_a_recommendation() {
        insta::assert_snapshot!(text(noise()));
    }
}
