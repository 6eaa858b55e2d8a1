//! Numbers and lists as words. Every figure gets its unit where it is used.

use crate::matrix::Metric;
use crate::outcome::{GapKind, Stage};

/// Returns `1 version` or `3 versions`.
pub(super) fn count(number: usize, noun: &str) -> String {
    let ending = if number == 1 { "" } else { "s" };
    format!("{number} {noun}{ending}")
}

/// Returns a log ratio as percent of the baseline.
pub(super) fn as_percent(log_ratio: f64) -> f64 {
    log_ratio.exp_m1() * 100.0
}

/// Returns by how much a metric changed, percent of the baseline, from an effect whose negative is worse.
pub(super) fn change_percent(metric: Metric, effect: f64) -> f64 {
    as_percent(if is_better_smaller(metric) {
        -effect
    } else {
        effect
    })
}

/// Returns the ends of an interval so, the lower change first.
pub(super) fn changes_percent(metric: Metric, (low, high): (f64, f64)) -> (f64, f64) {
    let ends = (change_percent(metric, low), change_percent(metric, high));
    if is_better_smaller(metric) {
        (ends.1, ends.0)
    } else {
        ends
    }
}

/// Returns whether less of a metric is better.
pub(super) fn is_better_smaller(metric: Metric) -> bool {
    match metric {
        // Shown as its reciprocal, answers per CPU second.
        Metric::Throughput | Metric::CpuPerAnswer => false,
        Metric::Memory | Metric::Startup | Metric::Latency => true,
    }
}

/// Returns what a metric is called.
pub(super) fn quantity(metric: Metric) -> &'static str {
    match metric {
        Metric::Throughput => "answers per second",
        Metric::CpuPerAnswer => "answers per CPU second",
        Metric::Memory => "memory",
        Metric::Startup => "time to start",
        Metric::Latency => "latency",
    }
}

/// Returns a change as one says it: `3.1 % fewer answers per second`, `latency 4.0 % higher`.
pub(super) fn change_in_words(metric: Metric, percent: f64) -> String {
    let grows = percent >= 0.0;
    let (size, quantity) = (format!("{:.1} %", percent.abs()), quantity(metric));
    match metric {
        Metric::Throughput | Metric::CpuPerAnswer => {
            format!("{size} {} {quantity}", if grows { "more" } else { "fewer" })
        }
        Metric::Memory | Metric::Startup => {
            format!("{size} {} {quantity}", if grows { "more" } else { "less" })
        }
        Metric::Latency => {
            format!(
                "{quantity} {size} {}",
                if grows { "higher" } else { "lower" }
            )
        }
    }
}

/// Returns what a version does against another: `answers 3.1 % fewer requests per second`, `takes 4.0 % more memory`.
pub(super) fn claim(metric: Metric, percent: f64) -> String {
    let change = change_in_words(metric, percent);
    match metric {
        Metric::Throughput | Metric::CpuPerAnswer => {
            format!("answers {}", change.replace("answers", "requests"))
        }
        Metric::Memory | Metric::Startup => format!("takes {change}"),
        Metric::Latency => format!("answers with {change}"),
    }
}

/// Returns `+3.1 %` or `-3.1 %`.
pub(super) fn signed_percent(percent: f64) -> String {
    format!("{} %", signed(percent))
}

/// Returns `-3.8 to -2.4 %`.
pub(super) fn percent_range((low, high): (f64, f64)) -> String {
    format!("{} to {} %", signed(low), signed(high))
}

/// Returns a number with one decimal and its sign; a zero has none.
fn signed(number: f64) -> String {
    let text = format!("{number:+.1}");
    let zero = text.ends_with("0.0") && text.len() == 4;
    if zero { "0.0".to_owned() } else { text }
}

/// Returns a share as percent without a sign, with no more decimals than it needs: `5 %`, `99.44 %`.
pub(super) fn share(share: f64) -> String {
    let text = format!("{:.2}", share * 100.0);
    let text = text.trim_end_matches('0').trim_end_matches('.');
    format!("{text} %")
}

/// Returns a positive number with three or four digits: `7676`, `512.3`, `12.6`, `0.051`.
pub(super) fn number(number: f64) -> String {
    let decimals = match number.abs() {
        size if size >= 1000.0 => 0,
        size if size >= 10.0 => 1,
        size if size >= 1.0 => 2,
        _ => 3,
    };
    format!("{number:.decimals$}")
}

/// Returns a number with six digits at most and no zeros at its end, as `%g` of C has it: `7675.8`, `0.050985`.
pub(super) fn digits(number: f64) -> String {
    let mut decimals = 5;
    let mut size = number.abs();
    while size >= 10.0 && decimals > 0 {
        (size, decimals) = (size / 10.0, decimals - 1);
    }
    while size > 0.0 && size < 1.0 && decimals < 15 {
        (size, decimals) = (size * 10.0, decimals + 1);
    }
    let text = format!("{number:.decimals$}");
    if !text.contains('.') {
        return text;
    }
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Returns `p = 0.012` or `p < 0.0001`.
pub(super) fn p_value(p: f64) -> String {
    match p {
        p if p < 0.0001 => "p < 0.0001".to_owned(),
        p if p < 0.001 => format!("p = {p:.4}"),
        p if p < 0.1 => format!("p = {p:.3}"),
        p => format!("p = {p:.2}"),
    }
}

/// Returns `a`, `a or b`, `a, b or c`.
pub(super) fn list(items: &[String], conjunction: &str) -> String {
    match items {
        [] => String::new(),
        [only] => only.clone(),
        [most @ .., last] => format!("{} {conjunction} {last}", most.join(", ")),
    }
}

/// Returns where a cell stopped and how, `fetch not-found`; only `excluded` where nothing was begun with it.
pub(super) fn stopped(stage: Stage, kind: GapKind) -> String {
    match stage {
        Stage::Plan => kind.to_string(),
        Stage::Fetch | Stage::Build | Stage::Start | Stage::Check | Stage::Load => {
            format!("{stage} {kind}")
        }
    }
}

/// Returns a command line that a shell reads as these words.
pub(super) fn command(words: &[String]) -> String {
    let quoted: Vec<String> = words.iter().map(|word| quoted(word)).collect();
    quoted.join(" ")
}

/// Returns a word in single quotes if a shell would not take it as it is.
fn quoted(word: &str) -> String {
    let plain =
        |character: char| character.is_ascii_alphanumeric() || "_./:=@%+,-".contains(character);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// Returns text in one line of so many characters at most; what is left out of a longer one is shown as `…`.
pub(super) fn clipped(text: &str, most: usize) -> String {
    let text = one_line(text);
    if text.chars().count() <= most {
        return text;
    }
    let kept: String = text.chars().take(most.saturating_sub(1)).collect();
    format!("{kept}…")
}

/// Returns text without control characters: each becomes a space, and so a line break does.
pub(crate) fn one_line(text: &str) -> String {
    text.chars()
        .map(|character| {
            if character.is_control() {
                ' '
            } else {
                character
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn effects_read_as_percent_of_the_baseline() {
        assert_eq!(signed_percent(as_percent(0.95_f64.ln())), "-5.0 %");
        assert_eq!(signed_percent(as_percent(1.2_f64.ln())), "+20.0 %");
        assert_eq!(signed_percent(-0.04), "0.0 %");
        assert_eq!(signed_percent(10.0), "+10.0 %");
        assert_eq!(percent_range((-3.84, 0.02)), "-3.8 to 0.0 %");
    }

    #[test]
    fn changes_read_in_the_direction_of_their_metric() {
        let worse = 0.9_f64.ln();
        let told = |metric| change_in_words(metric, change_percent(metric, worse));
        assert_eq!(told(Metric::Throughput), "10.0 % fewer answers per second");
        assert_eq!(
            told(Metric::CpuPerAnswer),
            "10.0 % fewer answers per CPU second"
        );
        assert_eq!(told(Metric::Memory), "11.1 % more memory");
        assert_eq!(told(Metric::Startup), "11.1 % more time to start");
        assert_eq!(told(Metric::Latency), "latency 11.1 % higher");
        let better = |metric| change_in_words(metric, change_percent(metric, -worse));
        assert_eq!(better(Metric::Throughput), "11.1 % more answers per second");
        assert_eq!(better(Metric::Memory), "10.0 % less memory");
        assert_eq!(better(Metric::Latency), "latency 10.0 % lower");
        let claims = |metric| claim(metric, change_percent(metric, worse));
        assert_eq!(
            claims(Metric::Throughput),
            "answers 10.0 % fewer requests per second"
        );
        assert_eq!(claims(Metric::Memory), "takes 11.1 % more memory");
        assert_eq!(
            claims(Metric::Latency),
            "answers with latency 11.1 % higher"
        );
    }

    #[test]
    fn numbers_keep_three_or_four_digits() {
        let texts = [7675.8, 512.34, 12.6, 0.051].map(number);
        assert_eq!(texts, ["7676", "512.3", "12.6", "0.051"]);
        assert_eq!(share(0.05), "5 %");
        assert_eq!(share(1.0 - 0.05 / 9.0), "99.44 %");
    }

    #[test]
    fn a_number_of_another_program_keeps_its_digits() {
        let texts = [
            7675.8,
            92109.6,
            0.050_985,
            0.051_763_9,
            12.9343,
            0.02,
            100.0,
            123_456.0,
        ]
        .map(digits);
        let told = [
            "7675.8",
            "92109.6",
            "0.050985",
            "0.0517639",
            "12.9343",
            "0.02",
            "100",
            "123456",
        ];
        assert_eq!(texts, told);
        assert_eq!(digits(0.0), "0");
    }

    #[test]
    fn long_texts_are_clipped_and_short_ones_are_not() {
        assert_eq!(clipped("1.2.3\n", 6), "1.2.3 ");
        assert_eq!(clipped("1.2.3-beta", 6), "1.2.3…");
    }

    #[test]
    fn small_chances_are_not_zero() {
        let texts = [0.5, 0.012, 0.000_56, 1e-9].map(p_value);
        assert_eq!(texts, ["p = 0.50", "p = 0.012", "p = 0.0006", "p < 0.0001"]);
    }

    #[test]
    fn lists_end_with_the_conjunction() {
        let names = ["v4", "v5", "v6"].map(str::to_owned);
        assert_eq!(list(&names, "or"), "v4, v5 or v6");
        assert_eq!(list(&names[..2], "and"), "v4 and v5");
        assert_eq!(list(&names[..1], "and"), "v4");
        assert_eq!(count(1, "gap"), "1 gap");
        assert_eq!(count(0, "gap"), "0 gaps");
    }

    #[test]
    fn a_shell_reads_the_same_words() {
        let words = ["harness", "run", "a b.toml", "it's", ""].map(str::to_owned);
        assert_eq!(command(&words), r"harness run 'a b.toml' 'it'\''s' ''");
    }
}
