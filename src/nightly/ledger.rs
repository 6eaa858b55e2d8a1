//! What the nights before have found and told: one file of JSON Lines per matrix, append-only, torn tail tolerated. Edge.
//!
//! It is made of the journals and is small beside them: a night must not read a thousand runs to know what is news.
#![expect(
    clippy::disallowed_methods,
    reason = "this module writes and reads the ledger"
)]

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::Night;
use crate::error::{Error, Kind, Result};
use crate::workplace;

/// The format's number, raised by any change that an older reader would misread.
const SCHEMA: u32 = 1;

/// One line.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "record", rename_all = "kebab-case")]
enum Line {
    /// A night has ended.
    Night {
        schema: u32,
        #[serde(flatten)]
        night: Box<Night>,
    },
    /// All nights so far have been told.
    Told,
}

/// The nights of one matrix.
#[derive(Debug)]
pub struct Ledger {
    path: PathBuf,
    /// Every night, in order.
    pub nights: Vec<Night>,
    /// The first so many of them have been told.
    pub told: usize,
    /// The length of the text up to the last whole line; what stands behind it was torn.
    whole: u64,
}

impl Ledger {
    /// Reads a ledger; an empty one where there is none yet.
    pub fn open(path: &Path) -> Result<Self> {
        let bytes = match std::fs::read(path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            Err(error) => return Err(cannot(path, "read", &error)),
        };
        let text = String::from_utf8_lossy(&bytes);
        let mut ledger = Self {
            path: path.to_owned(),
            nights: Vec::new(),
            told: 0,
            whole: 0,
        };
        for (number, line) in text.split_inclusive('\n').enumerate() {
            if !line.ends_with('\n') {
                break;
            }
            let line: Line = serde_json::from_str(line).map_err(|error| {
                let message = format!(
                    "{}:{}: this is not a ledger of nights",
                    path.display(),
                    number + 1
                );
                Error::new(Kind::Machine, message)
                    .because(error)
                    .hint("move the file away: then all is news once more, and no journal is lost")
            })?;
            ledger.take(line);
        }
        ledger.whole = whole(&bytes);
        Ok(ledger)
    }

    fn take(&mut self, line: Line) {
        match line {
            Line::Told => self.told = self.nights.len(),
            Line::Night { night, .. } => match self.nights.iter_mut().find(|one| one.is_of(&night))
            {
                Some(one) => *one = *night,
                None => self.nights.push(*night),
            },
        }
    }

    /// Writes a night down.
    pub fn add(&mut self, night: Night) -> Result<()> {
        self.append(Line::Night {
            schema: SCHEMA,
            night: Box::new(night),
        })
    }

    /// Notes that all nights so far have been told.
    pub fn tell(&mut self) -> Result<()> {
        self.append(Line::Told)
    }

    fn append(&mut self, line: Line) -> Result<()> {
        let cannot = |error: io::Error| cannot(&self.path, "write", &error);
        if let Some(folder) = self.path.parent() {
            workplace::make_folder(folder)?;
        }
        let mut text = serde_json::to_vec(&line).map_err(|error| cannot(error.into()))?;
        text.push(b'\n');
        let mut options = OpenOptions::new();
        let options = options.create(true).truncate(false).write(true);
        let mut file = options.open(&self.path).map_err(cannot)?;
        // What was torn goes; what is whole is never touched.
        file.set_len(self.whole).map_err(cannot)?;
        io::Seek::seek(&mut file, io::SeekFrom::End(0)).map_err(cannot)?;
        file.write_all(&text)
            .and_then(|()| file.sync_data())
            .map_err(cannot)?;
        self.whole += text.len() as u64;
        self.take(line);
        Ok(())
    }
}

/// Returns the length up to the end of the last whole line.
fn whole(bytes: &[u8]) -> u64 {
    let end = bytes.iter().rposition(|&byte| byte == b'\n');
    end.map_or(0, |end| end as u64 + 1)
}

fn cannot(path: &Path, what: &str, error: &io::Error) -> Error {
    let message = format!("cannot {what} the ledger of nights {}", path.display());
    Error::new(Kind::Machine, message).because(error).hint(
        "make the folder writable and free some space; the next night goes on from what is written",
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nightly::Outcome;

    fn night(second: i64) -> Night {
        Night {
            started: jiff::Timestamp::from_second(second).unwrap(),
            outcome: Outcome::Failed {
                why: "the registry is down".to_owned(),
            },
        }
    }

    #[test]
    fn a_ledger_torn_anywhere_goes_on_from_its_last_whole_line() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("nights/m.jsonl");
        let mut ledger = Ledger::open(&path).unwrap();
        ledger.add(night(1)).unwrap();
        ledger.tell().unwrap();
        let kept = std::fs::read(&path).unwrap().len();
        ledger.add(night(2)).unwrap();
        let whole = std::fs::read(&path).unwrap();
        for length in kept..whole.len() {
            std::fs::write(&path, &whole[..length]).unwrap();
            let mut ledger = Ledger::open(&path).unwrap();
            assert_eq!((ledger.nights.len(), ledger.told), (1, 1), "{length}");
            ledger.add(night(2)).unwrap();
            assert_eq!(std::fs::read(&path).unwrap(), whole, "{length}");
        }
    }

    #[test]
    fn the_order_is_that_of_the_nights_though_the_clock_was_set_back() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("m.jsonl");
        for second in [9, 5, 7] {
            Ledger::open(&path).unwrap().add(night(second)).unwrap();
        }
        let ledger = Ledger::open(&path).unwrap();
        let seconds = ledger.nights.iter().map(|night| night.started.as_second());
        assert_eq!(seconds.collect::<Vec<_>>(), [9, 5, 7]);
    }

    #[test]
    fn what_is_no_ledger_is_an_error_with_its_line() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("m.jsonl");
        std::fs::write(&path, "{\"record\":\"told\"}\nnonsense\n").unwrap();
        let error = Ledger::open(&path).unwrap_err();
        assert!(error.message.contains("m.jsonl:2:"), "{error}");
    }
}
