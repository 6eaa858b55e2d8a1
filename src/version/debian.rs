//! Debian's order of versions, that of `dpkg --compare-versions`. Pure.

use super::number::{Number, begins_with_digit, runs};

/// A version as dpkg compares it: epoch, then what its author calls it, then the packager's revision.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Version {
    epoch: Number,
    upstream: Vec<Token>,
    revision: Vec<Token>,
}

/// A piece of a version. What comes first here comes first in the order; numbers only ever meet numbers.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Token {
    /// `~`, before everything, even before the end.
    Tilde,
    /// The end of a run of other characters, which may be empty.
    Stop,
    Letter(u8),
    /// Any other character, after all letters.
    Sign(u8),
    Number(Number),
}

impl Version {
    /// Reads a name; none if dpkg would not take it.
    pub(crate) fn parse(name: &str) -> Option<Self> {
        let (epoch, rest) = name.split_once(':').unwrap_or(("", name));
        let (upstream, revision) = rest.rsplit_once('-').unwrap_or((rest, ""));
        let known = |more: &'static str| {
            move |letter: char| letter.is_ascii_alphanumeric() || more.contains(letter)
        };
        let is_version = epoch.bytes().all(|digit| digit.is_ascii_digit())
            && !(epoch.is_empty() && name.starts_with(':'))
            && begins_with_digit(upstream)
            && upstream.chars().all(known(".+-~:"))
            && revision.chars().all(known(".+~"))
            && !rest.ends_with('-');
        is_version.then(|| Self {
            epoch: Number::new(epoch),
            upstream: tokens(upstream),
            revision: tokens(revision),
        })
    }

    /// Returns whether its author's name for it has a `~`; the packager's revision does not count.
    pub(crate) fn is_prerelease(&self) -> bool {
        self.upstream.contains(&Token::Tilde)
    }

    /// Returns the release that a pre-release leads up to, without a revision.
    pub(crate) fn release(&self) -> Self {
        let tilde = self
            .upstream
            .iter()
            .position(|token| *token == Token::Tilde);
        let mut upstream = self.upstream[..tilde.unwrap_or(self.upstream.len() - 1)].to_vec();
        if !matches!(upstream.last(), Some(Token::Number(_))) {
            upstream.extend([Token::Stop, Token::Number(Number::new(""))]);
        }
        upstream.push(Token::Stop);
        Self {
            epoch: self.epoch.clone(),
            upstream,
            revision: tokens(""),
        }
    }
}

/// Cuts text into pieces: runs of other characters and numbers by turns, whichever the text begins and ends with. An empty
/// run ends the last number, so that what goes on there is compared with a stop.
fn tokens(text: &str) -> Vec<Token> {
    let mut tokens = Vec::new();
    let mut runs = runs(text).peekable();
    loop {
        if let Some(run) = runs.next_if(|run| !begins_with_digit(run)) {
            tokens.extend(run.bytes().map(token));
        }
        tokens.push(Token::Stop);
        tokens.push(Token::Number(Number::new(runs.next().unwrap_or(""))));
        if runs.peek().is_none() {
            tokens.push(Token::Stop);
            return tokens;
        }
    }
}

fn token(byte: u8) -> Token {
    match byte {
        b'~' => Token::Tilde,
        letter if letter.is_ascii_alphabetic() => Token::Letter(letter),
        sign => Token::Sign(sign),
    }
}
