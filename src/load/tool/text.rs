//! Lines, words and numbers with units of what a program said. Pure.

use super::Misread;

/// Characters of a line that an error shows.
const SHOWN: usize = 160;

/// Greatest count that is believed: no load comes near it, and sums of some of them stay numbers.
pub(super) const GREATEST: u64 = 1 << 53;

/// What a program said, line by line.
pub(super) struct Text<'a>(Vec<Line<'a>>);

/// One line, from where its label ends.
#[derive(Debug, Clone, Copy)]
pub(super) struct Line<'a> {
    number: usize,
    whole: &'a str,
    rest: &'a str,
}

impl<'a> Text<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        let lines = text.lines().enumerate();
        Self(
            lines
                .map(|(index, whole)| Line {
                    number: index + 1,
                    whole,
                    rest: whole.trim(),
                })
                .collect(),
        )
    }

    /// Returns the lines, without the spaces around them.
    pub(super) fn lines(&self) -> impl Iterator<Item = Line<'a>> {
        self.0.iter().copied()
    }

    /// Returns what follows the label on the first line that begins with it.
    pub(super) fn find(&self, label: &str) -> Option<Line<'a>> {
        self.lines().find_map(|line| line.after(label))
    }

    /// Returns what follows the label, which must be there.
    pub(super) fn need(&self, label: &'static str) -> Result<Line<'a>, Misread> {
        self.find(label).ok_or(Misread::Missing(label))
    }

    /// Returns the count after the label; 0 where there is no such line.
    pub(super) fn count(&self, label: &str) -> Result<u64, Misread> {
        self.find(label).map_or(Ok(0), |line| line.count(0))
    }

    /// Returns the lines between the one that begins with the label and the next empty one.
    pub(super) fn below(&self, label: &str) -> impl Iterator<Item = Line<'a>> {
        let begun = self.lines().skip_while(move |line| !line.begins(label));
        begun.skip(1).take_while(|line| !line.rest.is_empty())
    }
}

impl<'a> Line<'a> {
    /// Returns what is left of the line.
    pub(super) fn rest(&self) -> &'a str {
        self.rest
    }

    /// Returns what follows the label, if the line begins with it.
    pub(super) fn after(&self, label: &str) -> Option<Self> {
        let rest = self.rest.strip_prefix(label)?.trim_start();
        Some(Self { rest, ..*self })
    }

    fn begins(&self, label: &str) -> bool {
        self.rest.starts_with(label)
    }

    /// Returns the error that this line was not understood.
    pub(super) fn misread(&self) -> Misread {
        Misread::Line {
            number: self.number,
            line: self.whole.trim().chars().take(SHOWN).collect(),
        }
    }

    /// Returns the words of the line without the marks around them.
    pub(super) fn words(&self) -> impl Iterator<Item = &'a str> {
        let marks = [',', ':', '(', ')', '[', ']'];
        self.rest
            .split_whitespace()
            .map(move |word| word.trim_matches(marks))
    }

    pub(super) fn word(&self, index: usize) -> Result<&'a str, Misread> {
        self.words().nth(index).ok_or_else(|| self.misread())
    }

    /// Returns the number at a place, never less than 0; one that is none, as of no values, is 0.
    pub(super) fn real(&self, index: usize) -> Result<f64, Misread> {
        real(self.word(index)?).ok_or_else(|| self.misread())
    }

    pub(super) fn count(&self, index: usize) -> Result<u64, Misread> {
        let count = self.word(index)?.parse().ok();
        count
            .filter(|&count| count <= GREATEST)
            .ok_or_else(|| self.misread())
    }

    /// Returns the time at a place, ms, from its own unit.
    pub(super) fn time(&self, index: usize) -> Result<f64, Misread> {
        time(self.word(index)?).ok_or_else(|| self.misread())
    }

    /// Returns the bytes at a place, from their own unit.
    pub(super) fn size(&self, index: usize) -> Result<u64, Misread> {
        size(self.word(index)?).ok_or_else(|| self.misread())
    }

    /// Returns the count right before a word.
    pub(super) fn count_before(&self, word: &str) -> Result<u64, Misread> {
        let place = self.words().position(|other| other == word);
        let before = place.and_then(|place| place.checked_sub(1));
        self.count(before.ok_or_else(|| self.misread())?)
    }

    /// Returns the count right after a word; 0 where there is no such word.
    pub(super) fn count_after(&self, word: &str) -> Result<u64, Misread> {
        match self.words().position(|other| other == word) {
            Some(place) => self.count(place + 1),
            None => Ok(0),
        }
    }
}

/// Reads a number, never less than 0 and never without end; `nan` is what a mean of no values is called.
pub(super) fn real(word: &str) -> Option<f64> {
    let number: f64 = word.trim_end_matches('%').parse().ok()?;
    if number.is_nan() {
        return Some(0.0);
    }
    (number.is_finite() && number >= 0.0).then_some(number)
}

/// Reads a time with its unit as milliseconds.
fn time(word: &str) -> Option<f64> {
    let units = [
        ("us", 1e-3),
        ("ms", 1.0),
        ("s", 1e3),
        ("m", 6e4),
        ("h", 3.6e6),
    ];
    with_unit(word, &units)
}

/// Reads bytes with their unit, of which each is 1024 of the one before.
fn size(word: &str) -> Option<u64> {
    let units = [
        ("KB", 1024.0),
        ("MB", 1_048_576.0),
        ("GB", 1_073_741_824.0),
        ("TB", 1_099_511_627_776.0),
        ("B", 1.0),
    ];
    with_unit(word, &units).map(whole)
}

fn with_unit(word: &str, units: &[(&str, f64)]) -> Option<f64> {
    let (number, unit) = units
        .iter()
        .find_map(|(name, unit)| Some((word.strip_suffix(name)?, unit)))?;
    real(number).map(|number| number * unit)
}

/// Returns the whole number next to one that is not less than 0.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "it is not less than 0, and one beyond the greatest becomes that"
)]
pub(super) fn whole(number: f64) -> u64 {
    number.round() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_and_sizes_have_their_units() {
        let times = ["110.68us", "4.78ms", "1.10s", "1.5m", "2h", "0us"];
        let expected = [0.11068, 4.78, 1100.0, 90_000.0, 7_200_000.0, 0.0];
        for (word, expected) in times.into_iter().zip(expected) {
            assert!((time(word).unwrap() - expected).abs() < 1e-9, "{word}");
        }
        let sizes = ["0.00B", "12B", "1.50KB", "5.88MB", "1.00GB", "2TB"];
        let expected = [0, 12, 1536, 6_165_627, 1 << 30, 2 << 40];
        assert_eq!(sizes.map(|word| size(word).unwrap()), expected);
        for wrong in ["", "ms", "-1ms", "infs", "1", "1,5ms"] {
            assert_eq!(time(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_mean_of_nothing_is_zero_and_no_number_is_endless() {
        assert_eq!(
            ["NaN", "-nan%", "50.5%"].map(real),
            [0.0, 0.0, 50.5].map(Some)
        );
        assert_eq!(["inf", "-1", "x", ""].map(real), [None; 4]);
    }

    #[test]
    fn a_line_that_is_not_understood_is_shown_with_its_number() {
        let text = Text::new("one\n  requests: many total, 2 started\n");
        let line = text.need("requests:").unwrap();
        assert_eq!(line.count_before("started"), Ok(2));
        let shown = line.count_before("total").unwrap_err().to_string();
        assert_eq!(shown, "line 2 says `requests: many total, 2 started`");
        assert_eq!(
            text.need("finished").unwrap_err(),
            Misread::Missing("finished")
        );
    }
}
