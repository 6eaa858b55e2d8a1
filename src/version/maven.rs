//! Maven's order of versions, that of its `ComparableVersion`. Pure.
//!
//! It is built as Maven's documentation describes it, as a sequence of tokens; `ComparableVersion` itself nests lists. The
//! two differ on `final` before a number, and on a qualifier between a dot and another separator. Of those
//! `ComparableVersion` makes no order: it puts `1.foo.1` after `1`, and before `1-alpha`, which it puts before `1`.

use super::number::{Number, begins_with_digit, runs};

/// A version as Maven compares it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Version(Vec<Token>);

/// A piece of a version. What comes first here comes first in the order.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Token {
    Alpha,
    Beta,
    Milestone,
    Candidate,
    Snapshot,
    /// The end of every version: what has one more of the above comes before it, of those below after it.
    End,
    /// `final`, `ga` or `release`, where something follows.
    Final,
    ServicePack,
    Other(String),
    /// A number after a hyphen, or after letters.
    Dashed(Number),
    /// A number after a dot.
    Dotted(Number),
}

impl Version {
    /// Reads a name; none if it is empty. Any other has a place.
    pub(crate) fn parse(name: &str) -> Option<Self> {
        let name = name.to_lowercase();
        let mut tokens = Vec::new();
        let mut dashed = false;
        for part in name.split_inclusive(['.', '-']) {
            let text = part.strip_suffix(['.', '-']).unwrap_or(part);
            for token in tokens_of(text, dashed) {
                if !matches!(token, Token::Dotted(_)) {
                    trim(&mut tokens);
                }
                tokens.push(token);
            }
            dashed = part.ends_with('-');
        }
        trim(&mut tokens);
        tokens.push(Token::End);
        (!name.is_empty()).then_some(Self(tokens))
    }

    /// Returns whether it comes before the release that it is named after.
    pub(crate) fn is_prerelease(&self) -> bool {
        self.0.iter().any(Token::is_early)
    }

    /// Returns the release that a pre-release leads up to; any other version is its own.
    pub(crate) fn release(&self) -> Self {
        let early = self.0.iter().position(Token::is_early);
        let mut tokens = self.0[..early.unwrap_or(self.0.len() - 1)].to_vec();
        tokens.push(Token::End);
        Self(tokens)
    }

    /// Returns the numbers that it begins with, without zeros at their end.
    pub(crate) fn numbers(&self) -> Vec<u64> {
        let number = |token: &Token| match token {
            Token::Dotted(number) => Some(number.value()),
            Token::Alpha
            | Token::Beta
            | Token::Milestone
            | Token::Candidate
            | Token::Snapshot
            | Token::End
            | Token::Final
            | Token::ServicePack
            | Token::Other(_)
            | Token::Dashed(_) => None,
        };
        self.0.iter().map_while(number).collect()
    }
}

impl Token {
    fn is_early(&self) -> bool {
        *self < Self::End
    }

    /// Returns whether it says nothing where nothing follows.
    fn is_null(&self) -> bool {
        match self {
            Self::Final => true,
            Self::Dashed(number) | Self::Dotted(number) => number.is_zero(),
            Self::Alpha
            | Self::Beta
            | Self::Milestone
            | Self::Candidate
            | Self::Snapshot
            | Self::End
            | Self::ServicePack
            | Self::Other(_) => false,
        }
    }
}

/// Returns the tokens of what stands between two separators, of which the first was a hyphen or not.
fn tokens_of(text: &str, dashed: bool) -> Vec<Token> {
    let mut dashed = dashed;
    let mut tokens = Vec::new();
    let mut runs = runs(text).peekable();
    if runs.peek().is_none() {
        return vec![number("", dashed)];
    }
    while let Some(run) = runs.next() {
        tokens.push(if begins_with_digit(run) {
            number(run, dashed)
        } else {
            qualifier(run, runs.peek().is_some())
        });
        dashed = true;
    }
    tokens
}

fn number(digits: &str, dashed: bool) -> Token {
    if dashed {
        Token::Dashed(Number::new(digits))
    } else {
        Token::Dotted(Number::new(digits))
    }
}

fn qualifier(word: &str, before_number: bool) -> Token {
    match word {
        "alpha" => Token::Alpha,
        "a" if before_number => Token::Alpha,
        "beta" => Token::Beta,
        "b" if before_number => Token::Beta,
        "milestone" => Token::Milestone,
        "m" if before_number => Token::Milestone,
        "rc" | "cr" => Token::Candidate,
        "snapshot" => Token::Snapshot,
        "final" | "ga" | "release" => Token::Final,
        "sp" => Token::ServicePack,
        other => Token::Other(other.to_owned()),
    }
}

/// Takes off what says nothing: before each hyphen and each qualifier, and at the end.
fn trim(tokens: &mut Vec<Token>) {
    while tokens.last().is_some_and(Token::is_null) {
        tokens.pop();
    }
}
