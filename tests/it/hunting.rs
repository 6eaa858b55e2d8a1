//! A search that is stopped after any record and goes on ends as one that was never stopped.
//!
//! The one seam is used here: a script of outcomes in place of real builds and servers.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use harness::bisect::Ending;
use harness::error::{Kind, Result};
use harness::hunt;
use harness::journal::{Built, Header, Hunted, Journal, Run, SessionRecord};
use harness::outcome::{Class, Gap, GapKind};
use harness::pipeline::{Bench, Recorder};
use harness::plan::SessionPlan;
use jiff::Timestamp;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;

use crate::resuming::{artifact, cell, header, session};

const COMMITS: usize = 24;
const CULPRIT: usize = 15;

/// Commits 6 and 7 do not build, 11 crashes under load, and all from 15 on are 10 % slower.
#[derive(Clone, Copy, Default)]
struct Script {
    /// A commit for which the disk is full.
    full: Option<usize>,
}

impl Bench for Script {
    async fn prepare(&self, cell: usize) -> Result<Built> {
        if self.full == Some(cell) {
            let gap = Gap::new(GapKind::Failed, "the disk is full").with_class(Class::Transient);
            return Ok(Built::Gap(gap));
        }
        if cell == 6 || cell == 7 {
            return Ok(Built::Gap(Gap::new(GapKind::Failed, "it does not build")));
        }
        Ok(Built::Artifact(artifact(cell)))
    }

    async fn session(
        &self,
        plan: &SessionPlan,
        index: u32,
        _builds: &BTreeMap<usize, Built>,
    ) -> Result<SessionRecord> {
        let mut random = Pcg64::seed_from_u64(u64::from(index));
        let rate =
            |cell: usize, chance: u64| (if cell >= CULPRIT { 9_000 } else { 10_000 }) + chance;
        let cells = plan.cells.iter();
        let rates: Vec<(usize, Option<u64>)> = cells
            .map(|&cell| {
                let rate = rate(cell, random.random_range(0..100));
                (cell, Some(rate).filter(|_| cell != 11))
            })
            .collect();
        Ok(session((plan, index), &rates))
    }
}

fn searched() -> Header {
    Header {
        cells: (0..COMMITS).map(|number| cell(number as u64)).collect(),
        bisect: Some(Hunted {
            parents: (0..COMMITS)
                .map(|commit| commit.checked_sub(1).into_iter().collect())
                .collect(),
            improvement: false,
            certainty: 0.95,
            most_sessions: 100,
        }),
        ..header()
    }
}

async fn go(script: Script, mut recorder: Recorder) -> (Result<Ending>, Run) {
    let ending = hunt::hunt(&Arc::new(script), &mut recorder, None, &mut |_, _, _| {}).await;
    (ending, recorder.run)
}

fn begun(path: &Path) -> Recorder {
    let header = searched();
    Recorder {
        journal: Journal::create(path, &header).unwrap(),
        run: Run::new(header),
    }
}

fn culprit(ending: Result<Ending>) -> Vec<usize> {
    match ending.unwrap() {
        Ending::Found(culprit) | Ending::FoundWithin(culprit) => culprit.members,
        other @ (Ending::NoChange(_) | Ending::EndsAlike(_) | Ending::Unresolved(_)) => {
            panic!("{other:?}")
        }
    }
}

fn sessions_in(lines: &[&str]) -> usize {
    let session = |line: &&&str| line.starts_with("{\"record\":\"session\"");
    lines.iter().filter(session).count()
}

#[tokio::test]
async fn a_search_stopped_after_any_record_ends_as_one_that_was_not() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("whole.jsonl");
    let (ending, whole) = go(Script::default(), begun(&path)).await;
    assert_eq!(culprit(ending), [CULPRIT]);
    let text = std::fs::read_to_string(&path).unwrap();
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    for kept in 1..lines.len() {
        let path = folder.path().join(format!("{kept}.jsonl"));
        // The next record was torn.
        let torn = &lines[kept][..lines[kept].len() / 2];
        std::fs::write(&path, lines[..kept].concat() + torn).unwrap();
        let (journal, run) = Journal::resume(&path, Timestamp::UNIX_EPOCH).unwrap();
        let (ending, run) = go(Script::default(), Recorder { run, journal }).await;
        assert_eq!(culprit(ending), [CULPRIT], "after {kept} records");
        // What was held before counts as it did; how it goes on may differ where two builds were under way.
        let held = sessions_in(&lines[..kept]);
        assert_eq!(run.sessions[..held], whole.sessions[..held]);
    }
}

#[tokio::test]
async fn a_full_disk_stops_the_search_and_blames_no_commit() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("full.jsonl");
    // Every commit that is not an end is built at some time or never: whichever comes first after the ends.
    let (_, whole) = go(Script::default(), begun(&folder.path().join("whole.jsonl"))).await;
    let full = whole
        .builds
        .keys()
        .copied()
        .find(|cell| (1..COMMITS - 1).contains(cell));
    let (ending, run) = go(Script { full }, begun(&path)).await;
    let error = ending.unwrap_err();
    assert_eq!(error.kind, Kind::Machine, "{error}");
    assert!(error.message.contains("no fault of its own"), "{error}");
    assert!(!run.builds.contains_key(&full.unwrap()));
    // With room on the disk the same search goes on and finds it.
    let (journal, run) = Journal::resume(&path, Timestamp::UNIX_EPOCH).unwrap();
    let (ending, _) = go(Script::default(), Recorder { run, journal }).await;
    assert_eq!(culprit(ending), [CULPRIT]);
}
