//! What is known from before a run: the run before it, and which gaps somebody accepts. Pure.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use super::words::{list, stopped};
use crate::journal::Run;
use crate::matrix::Metric;
use crate::nightly::Matter;
use crate::outcome::{Gap, GapKind, Stage};
use crate::verdict::state::{State, state};

/// What a report holds its run against.
#[derive(Debug, Clone, Copy, Default)]
pub struct Past<'a> {
    /// The last whole run of the same matrix before it.
    pub before: Option<&'a Run>,
    /// The gaps that are accepted.
    pub accepted: &'a [Acknowledgement],
    /// Whom bisections have found.
    pub culprits: &'a [Blamed],
}

/// Whom a bisection found between two cells.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Blamed {
    /// The good end's name.
    pub baseline: String,
    /// The bad end's name.
    pub candidate: String,
    /// Who did it, in few words.
    pub culprit: String,
}

/// Something wrong that somebody accepts: it is no news, for as long as it stays what it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Acknowledgement {
    /// The matrix's name.
    pub matrix: String,
    /// The cell's name.
    pub cell: String,
    /// What of it.
    #[serde(flatten)]
    pub what: Accepted,
    /// Why that is accepted.
    pub reason: String,
}

/// What of a cell is accepted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Accepted {
    /// That it has no number.
    Gap {
        /// Where it stops.
        stage: Stage,
        /// What happens.
        kind: GapKind,
    },
    /// That it is worse than another.
    Regression {
        /// The name of the cell that it is compared with.
        baseline: String,
        /// By which of the further numbers that decide; none for the main one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        metric: Option<Metric>,
    },
}

/// Returns why something that a night found is accepted; none if nobody has said so.
pub fn accepted(all: &[Acknowledgement], matrix: &str, matter: &Matter) -> Option<String> {
    let (cell, what) = match matter {
        Matter::Gap(gap) => (
            &gap.cell,
            Accepted::Gap {
                stage: gap.stage,
                kind: gap.kind,
            },
        ),
        Matter::Regression(step) => (
            &step.candidate,
            Accepted::Regression {
                baseline: step.baseline.clone(),
                metric: step.number(),
            },
        ),
        Matter::Failure(_) => return None,
    };
    let is_it = |known: &&Acknowledgement| {
        known.matrix == matrix && known.cell == *cell && known.what == what
    };
    all.iter().find(is_it).map(|known| known.reason.clone())
}

/// What changed since the run before.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct News {
    /// When that run began, as text; empty where there is none.
    pub since: String,
    /// Cells that had no number then and have one now, with what they were.
    pub healed: Vec<(String, String)>,
    /// Cells that had a number then and have none now.
    pub lost: Vec<String>,
    /// Cells that were not part of it, have no number, and are not accepted so.
    pub new_gaps: Vec<String>,
}

impl Past<'_> {
    /// Returns who made the step between two cells; none where nobody was found.
    pub(super) fn culprit(&self, baseline: &str, candidate: &str) -> Option<String> {
        let is_it = |one: &&Blamed| one.baseline == baseline && one.candidate == candidate;
        let found = self.culprits.iter().find(is_it);
        found.map(|one| one.culprit.clone())
    }

    /// Returns why a gap is accepted; none if nobody has said so, or if it has become another.
    pub(super) fn acknowledged(&self, matrix: &str, cell: &str, gap: &Gap) -> Option<String> {
        let known = self.accepted.iter().find(|known| {
            known.matrix == matrix
                && known.cell == cell
                && known.what
                    == Accepted::Gap {
                        stage: gap.stage,
                        kind: gap.kind,
                    }
        });
        known.map(|known| known.reason.clone())
    }

    /// Returns what changed since the run before, cell by cell.
    pub(super) fn news(&self, run: &Run) -> News {
        let Some(before) = self.before else {
            return News::default();
        };
        let mut news = News {
            since: format!("{:.0}", before.header.started),
            ..News::default()
        };
        let names = before.header.cells.iter().map(|cell| cell.id.as_str());
        let places: HashMap<&str, usize> = names.zip(0..).collect();
        for (index, cell) in run.header.cells.iter().enumerate() {
            let then = places.get(cell.id.as_str());
            let then = then.map(|then| state(before, *then));
            match (then, state(run, index)) {
                (Some(State::Gap(gap)), State::Measured) if gap.kind != GapKind::Excluded => {
                    let was = format!("{}: {}", stopped(gap.stage, gap.kind), gap.cause);
                    news.healed.push((cell.id.clone(), was));
                }
                (Some(State::Measured), State::Gap(gap)) if self.is_news(run, &cell.id, &gap) => {
                    news.lost.push(cell.id.clone());
                }
                (None, State::Gap(gap)) if self.is_news(run, &cell.id, &gap) => {
                    news.new_gaps.push(cell.id.clone());
                }
                (Some(_) | None, _) => {}
            }
        }
        news
    }

    fn is_news(&self, run: &Run, cell: &str, gap: &Gap) -> bool {
        let known = self.acknowledged(&run.header.matrix.name, cell, gap);
        known.is_none() && gap.kind != GapKind::Excluded
    }
}

impl News {
    /// Returns whether a cell is a gap that is news.
    pub(crate) fn tells_of(&self, cell: &str) -> bool {
        let mut gaps = self.lost.iter().chain(&self.new_gaps);
        gaps.any(|gap| gap == cell)
    }

    /// Returns one sentence for each kind of news.
    pub(super) fn sentences(&self) -> Vec<String> {
        let since = &self.since;
        let mut sentences: Vec<String> = self
            .healed
            .iter()
            .map(|(cell, was)| {
                format!("{cell} has a number again; in the run of {since} it was a gap: {was}.")
            })
            .collect();
        if !self.lost.is_empty() {
            let cells = list(&self.lost, "and");
            sentences.push(format!(
                "New gaps since the run of {since}, which measured them: {cells}."
            ));
        }
        if !self.new_gaps.is_empty() {
            let cells = list(&self.new_gaps, "and");
            sentences.push(format!(
                "Gaps that were not part of the run of {since}: {cells}."
            ));
        }
        sentences
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::journal::{Built, Purpose};
    use crate::verdict::fixture::{NOISE, measure, run};

    fn gap() -> Gap {
        Gap::new(GapKind::Failed, "no such function")
    }

    fn accepted(kind: GapKind) -> Acknowledgement {
        Acknowledgement {
            matrix: run(&["1"]).header.matrix.name,
            cell: "3".to_owned(),
            what: Accepted::Gap {
                stage: kind.stage(),
                kind,
            },
            reason: "old".to_owned(),
        }
    }

    /// Version 1 heals, 2 is lost, 3 is a new gap.
    fn story() -> (Run, Run) {
        let mut before = run(&["1", "2"]);
        before.builds.insert(0, Built::Gap(gap()));
        measure(&mut before, Purpose::Measure, &[(1, 100.0)], &NOISE);
        let mut now = run(&["1", "2", "3"]);
        now.builds.insert(1, Built::Gap(gap()));
        now.builds.insert(2, Built::Gap(gap()));
        measure(&mut now, Purpose::Measure, &[(0, 100.0)], &NOISE);
        (before, now)
    }

    #[test]
    fn what_heals_is_lost_or_is_new_is_told() {
        let (before, now) = story();
        let past = Past {
            before: Some(&before),
            accepted: &[],
            culprits: &[],
        };
        let news = past.news(&now);
        assert_eq!(
            news.healed,
            [("1".to_owned(), "build failed: no such function".to_owned())]
        );
        assert_eq!(
            (news.lost.as_slice(), news.new_gaps.as_slice()),
            (&["2".to_owned()][..], &["3".to_owned()][..])
        );
        assert_eq!(news.sentences().len(), 3);
        assert!(Past::default().news(&now).sentences().is_empty());
    }

    #[test]
    fn what_the_matrix_excludes_or_takes_back_is_no_news() {
        let (mut before, mut now) = story();
        let excluded = || Built::Gap(Gap::new(GapKind::Excluded, "broken"));
        before.builds.insert(0, excluded());
        now.builds.insert(1, excluded());
        let past = Past {
            before: Some(&before),
            accepted: &[],
            culprits: &[],
        };
        let news = past.news(&now);
        assert!(news.healed.is_empty() && news.lost.is_empty(), "{news:?}");
    }

    #[test]
    fn an_accepted_gap_is_no_news_until_it_becomes_another() {
        let (before, now) = story();
        for (kind, is_news) in [(GapKind::Failed, false), (GapKind::Timeout, true)] {
            let past = Past {
                before: Some(&before),
                accepted: &[accepted(kind)],
                culprits: &[],
            };
            assert_eq!(!past.news(&now).new_gaps.is_empty(), is_news);
        }
    }
}
