//! The noise of a machine, for a person. Pure.

use super::curve::{CHANCES, Seen};
use super::figures::{Cost, DesignNoise, Noise};
use crate::matrix::Design;

/// Columns on each side of the zero line.
const HALF: i32 = 20;

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
    lines.extend(power_curve(noise));
    lines.join("\n")
}

/// Says which change is seen, with what certainty, in how many minutes.
fn power_curve(noise: &Noise) -> Vec<String> {
    let mut lines = Vec::new();
    for curve in &noise.curves {
        lines.push(String::new());
        lines.push(match curve.pairs {
            1 => "One pair, as in `compare`: minutes (sessions) until a change is seen, with a chance of".to_owned(),
            pairs => format!("All {pairs} pairs of this matrix: minutes (sessions of each) until a change of one is seen"),
        });
        let chances = CHANCES.map(|chance| format!("{:>16}", format!("{:.0} %", chance * 100.0)));
        lines.push(format!("{:10}{}", "slower by", chances.concat()));
        lines.extend(curve.changes.iter().map(seen));
    }
    if noise.curves.is_empty() {
        return lines;
    }
    let (least, most) = noise.looks;
    lines.push(format!(
        "Simulated with this spread and the rule of `run`, which looks after {least} to {most} sessions; `-`: not by then."
    ));
    lines.push(String::new());
    lines.push("Smallest change of one pair that is seen with a chance of 80 % in".to_owned());
    let changes = noise.smallest.iter().filter_map(|one| one.change_percent);
    let greatest = changes.fold(0.0, f64::max);
    lines.extend(noise.smallest.iter().map(|one| {
        let change = one.change_percent.map_or_else(
            || "too short to decide anything".to_owned(),
            |change| format!("{change:>5.1} %  {}", bar(change / greatest)),
        );
        format!("{:>6} min  {change}", Trimmed(one.minutes).to_string())
    }));
    lines
}

fn seen(seen: &Seen) -> String {
    let needed = seen.needed.iter().map(|needed| {
        let text = needed.map_or_else(
            || "-".to_owned(),
            |needed| format!("{:.1} min ({})", needed.minutes, needed.sessions),
        );
        format!("{text:>16}")
    });
    let change = format!("{} %", Trimmed(seen.change_percent));
    format!("{change:>9} {}", needed.collect::<String>())
}

/// Draws a share of the widest bar.
fn bar(part: f64) -> String {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "between 0 and 40"
    )]
    let columns = (part.clamp(0.0, 1.0) * 40.0).round() as usize;
    "█".repeat(columns)
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

#[cfg(test)]
mod tests {
    use super::super::figures::tests::noise;
    use super::*;

    #[test]
    fn the_noise_of_a_machine_is_a_table_a_picture_and_a_recommendation() {
        insta::assert_snapshot!(text(noise()));
    }
}
