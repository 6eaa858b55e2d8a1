//! The loop: build all, then sessions until every pair is decided or has had its share; each step goes to the journal.
//!
//! What comes next is a pure function of what the journal holds, so a run that was killed goes on as if nothing had
//! happened.

use std::collections::BTreeMap;
use std::sync::Arc;

use tokio::task::JoinSet;

use crate::error::Result;
use crate::journal::{BuildRecord, Built, Journal, Record, Run, SessionRecord};
use crate::outcome::Gap;
use crate::plan::{self, SessionPlan};
use crate::verdict::{self, Judgement};

/// The one seam: prepare a version, run a session. Live it builds, serves and loads; in tests it is a script of outcomes.
pub trait Bench: Send + Sync + 'static {
    /// Fetches and builds one cell.
    fn prepare(&self, cell: usize) -> impl Future<Output = Result<Built>> + Send;

    /// Holds one session of cells that have been built.
    fn session(
        &self,
        plan: &SessionPlan,
        index: u32,
        builds: &BTreeMap<usize, Built>,
    ) -> impl Future<Output = Result<SessionRecord>> + Send;
}

/// What is told to whoever watches.
#[derive(Debug)]
pub enum Event<'a> {
    /// A build began.
    BuildStarted(usize),
    /// A build ended.
    Built(usize, &'a Built),
    /// A session begins.
    SessionStarted(&'a SessionPlan),
    /// A session ended.
    SessionEnded(&'a SessionRecord),
    /// A cell is given up.
    GivenUp(usize, &'a Gap),
}

/// Is told of every event, with the run as it stands.
pub type Watch<'a> = dyn FnMut(&Event<'_>, &Run) + Send + 'a;

/// A run with its journal.
#[derive(Debug)]
pub struct Recorder {
    /// What has been recorded.
    pub run: Run,
    /// Where it is written.
    pub journal: Journal,
}

impl Recorder {
    /// Writes a record down, then takes it in.
    pub fn record(&mut self, record: Record) -> Result<()> {
        self.journal.append(&record)?;
        self.run.apply(record);
        Ok(())
    }
}

/// Builds every cell and writes down what came of it; nothing is measured meanwhile.
///
/// Returns whether earlier sessions of the run have measured the same artifacts. If not, nothing is written of those
/// that differ, and the run must not go on: its sessions would be of two things.
pub async fn build<B: Bench>(
    bench: &Arc<B>,
    recorder: &mut Recorder,
    parallel: usize,
    watch: &mut Watch<'_>,
) -> Result<bool> {
    let mut same = true;
    let cells = recorder.run.header.cells.len();
    build_each(bench, cells, parallel, &mut |step| match step {
        Step::Started(cell) => {
            watch(&Event::BuildStarted(cell), &recorder.run);
            Ok(())
        }
        Step::Ended(cell, built) => {
            watch(&Event::Built(cell, &built), &recorder.run);
            let before = recorder.run.builds.get(&cell);
            if before == Some(&*built) {
                return Ok(());
            }
            if !recorder.run.sessions.is_empty() && is_another(before, &built) {
                same = false;
                return Ok(());
            }
            recorder.record(Record::Build(BuildRecord {
                cell,
                outcome: *built,
            }))
        }
    })
    .await?;
    Ok(same)
}

/// Returns whether two builds gave different things.
fn is_another(before: Option<&Built>, now: &Built) -> bool {
    match (before, now) {
        (Some(Built::Artifact(before)), Built::Artifact(now)) => before.key != now.key,
        (Some(Built::Artifact(_)), Built::Gap(_)) | (Some(Built::Gap(_)), Built::Artifact(_)) => {
            true
        }
        (Some(Built::Gap(_)), Built::Gap(_)) | (None, _) => false,
    }
}

/// A step of [`build_each`].
#[derive(Debug)]
pub enum Step {
    /// The build of a cell began.
    Started(usize),
    /// It ended.
    Ended(usize, Box<Built>),
}

/// Builds the cells from 0 to `cells`, at most `parallel` at a time. The first error stops all.
pub async fn build_each<B: Bench>(
    bench: &Arc<B>,
    cells: usize,
    parallel: usize,
    step: &mut (dyn FnMut(Step) -> Result<()> + Send),
) -> Result<()> {
    let mut waiting = 0..cells;
    let mut building = JoinSet::new();
    loop {
        while building.len() < parallel.max(1) {
            let Some(cell) = waiting.next() else { break };
            step(Step::Started(cell))?;
            let bench = Arc::clone(bench);
            building.spawn(async move { (cell, bench.prepare(cell).await) });
        }
        match building.join_next().await {
            None => return Ok(()),
            Some(Ok((cell, built))) => step(Step::Ended(cell, Box::new(built?)))?,
            Some(Err(error)) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
            Some(Err(_)) => {}
        }
    }
}

/// Holds sessions until the plan has no more, and judges.
pub async fn measure<B: Bench>(
    bench: &B,
    recorder: &mut Recorder,
    watch: &mut Watch<'_>,
) -> Result<Judgement> {
    loop {
        give_up(recorder, watch)?;
        let Some(next) = next(&recorder.run) else {
            break;
        };
        watch(&Event::SessionStarted(&next), &recorder.run);
        let index = u32::try_from(recorder.run.sessions.len()).unwrap_or(u32::MAX);
        let session = bench.session(&next, index, &recorder.run.builds).await?;
        watch(&Event::SessionEnded(&session), &recorder.run);
        recorder.record(Record::Session(Box::new(session)))?;
    }
    let judgement = verdict::judge(&recorder.run);
    for comparison in &judgement.comparisons {
        recorder.record(Record::Verdict(comparison.clone()))?;
    }
    Ok(judgement)
}

/// Writes down the cells that should not be tried again.
fn give_up(recorder: &mut Recorder, watch: &mut Watch<'_>) -> Result<()> {
    for cell in 0..recorder.run.header.cells.len() {
        if recorder.run.given_up.contains_key(&cell) {
            continue;
        }
        if let Some(gap) = plan::give_up(&recorder.run, cell) {
            watch(&Event::GivenUp(cell, &gap), &recorder.run);
            recorder.record(Record::Gap { cell, gap })?;
        }
    }
    Ok(())
}

/// Returns the next session: to measure first, then to confirm what that has flagged.
fn next(run: &Run) -> Option<SessionPlan> {
    plan::next(run, &[]).or_else(|| {
        let flagged = run
            .header
            .rule
            .confirm
            .then(|| verdict::judge(run).flagged());
        plan::next(run, &flagged.unwrap_or_default())
    })
}

/// Returns how many sessions are left if no launch fails from here on; confirmations are known only at their time.
pub fn sessions_left(run: &Run) -> u64 {
    let left = match plan::estimate(run, &[]) {
        0 => plan::estimate(run, &verdict::judge(run).flagged()),
        left => left,
    };
    left as u64
}
