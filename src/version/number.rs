//! Whole numbers of any length, as they stand in the names of versions. Pure.

/// A whole number, ordered by its value.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Number {
    /// How many digits, without leading zeros.
    length: usize,
    digits: String,
}

impl Number {
    /// Reads digits; none are zero.
    pub(super) fn new(digits: &str) -> Self {
        let digits = digits.trim_start_matches('0');
        Self {
            length: digits.len(),
            digits: digits.to_owned(),
        }
    }

    /// Returns whether it is zero.
    pub(super) fn is_zero(&self) -> bool {
        self.length == 0
    }

    /// Returns its value, or the greatest there is.
    pub(super) fn value(&self) -> u64 {
        if self.is_zero() {
            return 0;
        }
        self.digits.parse().unwrap_or(u64::MAX)
    }
}

/// Cuts text where digits begin and end.
pub(super) fn runs(mut text: &str) -> impl Iterator<Item = &str> {
    let is_digit = |letter: char| letter.is_ascii_digit();
    std::iter::from_fn(move || {
        let digits = text.starts_with(is_digit);
        let end = text.find(|letter| is_digit(letter) != digits);
        let (run, rest) = text.split_at(end.unwrap_or(text.len()));
        text = rest;
        (!run.is_empty()).then_some(run)
    })
}

/// Returns whether text begins with a digit.
pub(super) fn begins_with_digit(text: &str) -> bool {
    text.starts_with(|letter: char| letter.is_ascii_digit())
}
