//! The build key: the hash of everything known that decides what a build gives. Pure.

use std::collections::BTreeMap;

use data_encoding::HEXLOWER;
use sha2::{Digest, Sha256};

use crate::matrix::Command;

/// The number of the key's recipe, raised by any change to how builds are made that the rest does not show.
const FORMAT: u64 = 3;

/// What decides a build. Templates stand in it with the values of the version and of the environment filled in, but
/// not with the folders of this machine.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Ingredients {
    /// The source's kind, package and version, or the hash of a path's content.
    pub(super) source: Vec<String>,
    /// The steps in order.
    pub(super) steps: Vec<Command>,
    /// Extra environment.
    pub(super) env: BTreeMap<String, String>,
    /// Settings of installers that decide what they install.
    pub(super) settings: BTreeMap<String, String>,
    /// The program that must exist afterwards.
    pub(super) binary: Option<String>,
    /// The command that proves its version, and the pattern that it must match.
    pub(super) proof: (Vec<Command>, Vec<String>),
    /// Whether the steps may reach the network.
    pub(super) network: bool,
    /// The values of the axes that change the build.
    pub(super) axes: BTreeMap<String, String>,
    /// The hashes of the inputs' content, in the matrix's order.
    pub(super) inputs: Vec<String>,
    /// What the tools say of their own version.
    pub(super) toolchain: Vec<String>,
    /// Operating system and architecture.
    pub(super) platform: Vec<String>,
}

/// Returns the build key, 64 hexadecimal digits.
pub(super) fn key(ingredients: &Ingredients) -> String {
    let mut feed = Feed(Sha256::new());
    feed.number(FORMAT);
    feed.texts(&ingredients.source);
    feed.commands(&ingredients.steps);
    feed.pairs(&ingredients.env);
    feed.pairs(&ingredients.settings);
    feed.texts(ingredients.binary.as_slice());
    feed.commands(&ingredients.proof.0);
    feed.texts(&ingredients.proof.1);
    feed.number(u64::from(ingredients.network));
    feed.pairs(&ingredients.axes);
    feed.texts(&ingredients.inputs);
    feed.texts(&ingredients.toolchain);
    feed.texts(&ingredients.platform);
    HEXLOWER.encode(&feed.0.finalize())
}

/// Feeds a hash with values that each tell their length first, so that no two lists give the same bytes.
struct Feed(Sha256);

impl Feed {
    fn number(&mut self, number: u64) {
        self.0.update(number.to_le_bytes());
    }

    fn text(&mut self, text: &str) {
        self.number(text.len() as u64);
        self.0.update(text.as_bytes());
    }

    fn texts(&mut self, texts: &[String]) {
        self.number(texts.len() as u64);
        for text in texts {
            self.text(text);
        }
    }

    fn pairs(&mut self, pairs: &BTreeMap<String, String>) {
        self.number(pairs.len() as u64);
        for (name, value) in pairs {
            self.text(name);
            self.text(value);
        }
    }

    fn commands(&mut self, commands: &[Command]) {
        self.number(commands.len() as u64);
        for command in commands {
            match command {
                Command::Argv(argv) => {
                    self.number(0);
                    self.texts(argv);
                }
                Command::Shell(line) => {
                    self.number(1);
                    self.text(line);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    fn texts(texts: &[&str]) -> Vec<String> {
        texts.iter().map(|&text| text.to_owned()).collect()
    }

    #[test]
    fn a_key_has_64_digits_and_stays_the_same() {
        let key = key(&Ingredients::default());
        assert_eq!(key.len(), 64);
        assert!(
            key.chars()
                .all(|digit| digit.is_ascii_hexdigit() && !digit.is_ascii_uppercase())
        );
        assert_eq!(key, super::key(&Ingredients::default()));
    }

    #[test]
    fn every_ingredient_changes_the_key() {
        let plain = Ingredients::default;
        let one = || texts(&["a"]);
        let pair = || BTreeMap::from([("a".to_owned(), "b".to_owned())]);
        let all = [
            plain(),
            Ingredients {
                source: one(),
                ..plain()
            },
            Ingredients {
                source: texts(&["a", ""]),
                ..plain()
            },
            Ingredients {
                source: texts(&["", "a"]),
                ..plain()
            },
            Ingredients {
                steps: vec![Command::Argv(one())],
                ..plain()
            },
            Ingredients {
                steps: vec![Command::Argv(Vec::new()), Command::Argv(one())],
                ..plain()
            },
            Ingredients {
                steps: vec![Command::Shell("a".to_owned())],
                ..plain()
            },
            Ingredients {
                env: pair(),
                ..plain()
            },
            Ingredients {
                binary: Some("a".to_owned()),
                ..plain()
            },
            Ingredients {
                network: true,
                ..plain()
            },
            Ingredients {
                axes: pair(),
                ..plain()
            },
            Ingredients {
                inputs: one(),
                ..plain()
            },
            Ingredients {
                toolchain: one(),
                ..plain()
            },
            Ingredients {
                platform: one(),
                ..plain()
            },
        ];
        let keys: BTreeSet<String> = all.iter().map(key).collect();
        assert_eq!(keys.len(), all.len());
    }
}
