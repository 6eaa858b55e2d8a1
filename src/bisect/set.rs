//! Sets of small numbers, a bit each. Pure.

/// Numbers of one word.
const WORD: usize = 64;

/// A set of numbers below a bound that was given at first.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Set(Vec<u64>);

impl Set {
    /// Returns the empty set of numbers below `bound`.
    pub(super) fn new(bound: usize) -> Self {
        Self(vec![0; bound.div_ceil(WORD)])
    }

    /// Adds a number.
    pub(super) fn insert(&mut self, number: usize) {
        self.0[number / WORD] |= 1 << (number % WORD);
    }

    /// Adds all that another set of the same bound holds.
    pub(super) fn join(&mut self, other: &Self) {
        for (word, more) in std::iter::zip(&mut self.0, &other.0) {
            *word |= more;
        }
    }

    /// Returns whether it holds a number.
    pub(super) fn holds(&self, number: usize) -> bool {
        let word = self.0.get(number / WORD);
        word.is_some_and(|word| word >> (number % WORD) & 1 == 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_put_in_is_held_and_nothing_else() {
        let (mut one, mut other) = (Set::new(130), Set::new(130));
        for number in [0, 63, 64] {
            one.insert(number);
        }
        other.insert(129);
        one.join(&other);
        let held: Vec<usize> = (0..200).filter(|number| one.holds(*number)).collect();
        assert_eq!(held, [0, 63, 64, 129]);
    }
}
