//! Small pictures of characters.

use super::Step;
use crate::stats::median;

/// Columns on each side of the zero line.
const HALF: i32 = 20;

/// Columns of a version's bar.
pub(super) const BAR: usize = 12;

/// Draws the effects of all pairs with their intervals around a zero line, one line each, worse to the left; none without
/// an effect.
///
/// `o` is the effect, `-` its interval, `|` zero; `<` and `>` say that it goes on beyond the picture.
pub(super) fn forest(steps: &[Step]) -> Option<String> {
    let drawn = drawn(steps);
    if drawn.is_empty() {
        return None;
    }
    let scale = scale(&drawn);
    let names: Vec<String> = drawn
        .iter()
        .map(|(step, _)| super::words::one_line(&step.name()))
        .collect();
    let width = names
        .iter()
        .map(|name| name.chars().count())
        .max()
        .unwrap_or(0);
    let mut ends = (format!("-{scale} %"), format!("+{scale} %"));
    if drawn.iter().all(|(step, _)| step.better_smaller) {
        std::mem::swap(&mut ends.0, &mut ends.1);
    }
    let mut lines = vec![format!("{:width$}  {:<20}0{:>20}", "", ends.0, ends.1)];
    for (name, (step, effect)) in names.iter().zip(&drawn) {
        let row = row(*effect, interval(step), f64::from(scale));
        lines.push(format!("{name:width$}  {row}  {}", step.effect()));
    }
    Some(lines.join("\n"))
}

/// Returns the steps that have an effect, with it so that worse is negative.
pub(super) fn drawn(steps: &[Step]) -> Vec<(&Step, f64)> {
    let drawn = steps
        .iter()
        .filter_map(|step| Some((step, turned(step, step.effect_percent?))));
    drawn.collect()
}

/// Returns a change so that worse is negative.
fn turned(step: &Step, percent: f64) -> f64 {
    if step.better_smaller {
        -percent
    } else {
        percent
    }
}

/// Returns the interval of a change so that worse is left.
pub(super) fn interval(step: &Step) -> Option<(f64, f64)> {
    let (low, high) = step.interval_percent?;
    let (one, other) = (turned(step, low), turned(step, high));
    Some((one.min(other), one.max(other)))
}

/// Returns the percent at the picture's edges: enough for every effect and for the usual interval, so that one pair with
/// few sessions does not flatten all others.
pub(super) fn scale(drawn: &[(&Step, f64)]) -> i32 {
    let effects = drawn.iter().map(|(_, effect)| effect.abs() * 1.25);
    let reaches: Vec<f64> = drawn
        .iter()
        .filter_map(|(step, _)| interval(step))
        .map(|(low, high)| low.abs().max(high.abs()))
        .collect();
    let usual = median(&reaches).unwrap_or(0.0);
    edge(effects.fold(usual, f64::max))
}

/// Returns the least round percent that is at least this.
fn edge(wanted: f64) -> i32 {
    let steps = [1, 2, 5, 10, 20, 50, 100, 200, 500];
    steps
        .into_iter()
        .find(|step| f64::from(*step) >= wanted)
        .unwrap_or(1000)
}

fn row(effect: f64, interval: Option<(f64, f64)>, scale: f64) -> String {
    let (low, high) = interval.unwrap_or((effect, effect));
    let (from, to, at) = (
        column(low, scale),
        column(high, scale),
        column(effect, scale),
    );
    let picture = |place: i32| match place {
        _ if place == at => 'o',
        _ if place == -HALF && low < -scale => '<',
        _ if place == HALF && high > scale => '>',
        0 => '|',
        _ if (from..=to).contains(&place) => '-',
        _ => ' ',
    };
    (-HALF..=HALF).map(picture).collect()
}

/// Draws the sessions of one pair: a row for each list of values, then the effect with its interval, then what is worth a
/// flag; all in percent. `.`, `:` and `*` are one, two and more sessions in a column.
pub(super) fn sessions(
    rows: &[(&str, &[f64])],
    (effect, interval): (f64, Option<(f64, f64)>),
    least: f64,
) -> String {
    let values = rows.iter().flat_map(|(_, values)| *values);
    let ends = interval.map_or([0.0; 2], |(low, high)| [low, high]);
    let reach = values.chain(&ends).map(|value| value.abs());
    let scale = edge(reach.fold(least * 1.25, f64::max));
    let head = (format!("-{scale} %"), format!("+{scale} %"));
    let mut lines = vec![format!("{:12}  {:<20}0{:>20}", "", head.0, head.1)];
    let scale = f64::from(scale);
    for (name, values) in rows.iter().filter(|(_, values)| !values.is_empty()) {
        lines.push(format!("{name:12}  {}", dots(values, scale).trim_end()));
    }
    let together = row(effect, interval, scale);
    lines.push(format!("{:12}  {}", "together", together.trim_end()));
    let flag = |place: i32| match place {
        _ if place.abs() == column(least, scale) => '!',
        0 => '|',
        _ => ' ',
    };
    let flags: String = (-HALF..=HALF).map(flag).collect();
    lines.push(format!("{:12}  {}", "flagged from", flags.trim_end()));
    lines.join("\n")
}

/// Draws values as dots around a zero line.
fn dots(values: &[f64], scale: f64) -> String {
    let picture = |place: i32| {
        let here = values
            .iter()
            .filter(|value| column(**value, scale) == place);
        match (here.count(), place) {
            (0, 0) => '|',
            (0, _) => ' ',
            (1, _) => '.',
            (2, _) => ':',
            _ => '*',
        }
    };
    (-HALF..=HALF).map(picture).collect()
}

/// Returns the column of a percent, from −20 to 20.
fn column(percent: f64, scale: f64) -> i32 {
    let place = (percent / scale * f64::from(HALF)).round();
    let half = f64::from(HALF);
    #[expect(clippy::cast_possible_truncation, reason = "clamped to ± 20")]
    let place = place.clamp(-half, half) as i32;
    place
}

/// Draws values as a line of blocks, the higher the greater, between two ends; a dot where there is none.
///
/// What does not fit into so many columns is drawn by the median of those that share one.
pub(super) fn spark(values: &[Option<f64>], (low, high): (f64, f64), columns: usize) -> String {
    let columns = values.len().min(columns).max(1);
    let border = |column: usize| values.len() * column / columns;
    let block = |column: usize| {
        let part = &values[border(column)..border(column + 1)];
        let known: Vec<f64> = part.iter().copied().flatten().collect();
        median(&known).map_or('·', |value| height((value - low) / (high - low)))
    };
    (0..columns).map(block).collect()
}

/// Returns the block that fills this part of its place, from an eighth to all of it.
fn height(part: f64) -> char {
    let blocks = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let steps = [0.125, 0.25, 0.375, 0.5, 0.625, 0.75, 0.875];
    blocks[steps.iter().filter(|step| part >= **step).count()]
}

/// Draws a bar from zero, as long as a number's part of the greatest.
pub(super) fn bar(number: f64, greatest: f64) -> String {
    let part = if greatest > 0.0 {
        (number / greatest).clamp(0.0, 1.0)
    } else {
        0.0
    };
    let eighths = (part * crate::stats::real(BAR * 8)).round();
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "between 0 and 96"
    )]
    let eighths = eighths as usize;
    let rest = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"][eighths % 8];
    format!("{}{rest}", "█".repeat(eighths / 8))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_effect_stands_in_its_interval_beside_the_zero_line() {
        let row = row(-5.0, Some((-7.0, -3.0)), 10.0);
        assert_eq!(row.trim_end(), "      ----o----     |");
        assert_eq!(row.chars().count(), 41);
    }

    #[test]
    fn an_interval_beyond_the_picture_says_so() {
        assert_eq!(
            row(0.0, Some((-80.0, 90.0)), 10.0),
            format!("<{0}o{0}>", "-".repeat(19))
        );
    }

    #[test]
    fn a_line_of_blocks_keeps_gaps_and_folds_what_is_too_long() {
        let values = [Some(-1.0), None, Some(0.0), Some(1.0)];
        assert_eq!(spark(&values, (-1.0, 1.0), 60), "▁·▅█");
        assert_eq!(spark(&values, (-1.0, 1.0), 2), "▁▇");
        assert_eq!(spark(&[], (-1.0, 1.0), 2), "·");
    }

    #[test]
    fn bars_begin_at_zero() {
        assert_eq!(bar(50.0, 100.0), "██████");
        assert_eq!(bar(100.0, 100.0).chars().count(), BAR);
        assert_eq!(bar(1.0, 96.0), "▏");
        assert_eq!(bar(0.0, 0.0), "");
    }
}
