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

/// Builds every cell, at most `parallel` at a time; nothing is measured meanwhile.
pub async fn build<B: Bench>(
    bench: &Arc<B>,
    recorder: &mut Recorder,
    parallel: usize,
    watch: &mut Watch<'_>,
) -> Result<()> {
    let mut waiting = 0..recorder.run.header.cells.len();
    let mut building = JoinSet::new();
    loop {
        while building.len() < parallel.max(1) {
            let Some(cell) = waiting.next() else { break };
            watch(&Event::BuildStarted(cell), &recorder.run);
            let bench = Arc::clone(bench);
            building.spawn(async move { (cell, bench.prepare(cell).await) });
        }
        let Some(joined) = building.join_next().await else {
            return Ok(());
        };
        let (cell, built) = match joined {
            Ok((cell, built)) => (cell, built?),
            Err(error) => match error.try_into_panic() {
                Ok(panic) => std::panic::resume_unwind(panic),
                Err(_) => continue,
            },
        };
        watch(&Event::Built(cell, &built), &recorder.run);
        if recorder.run.builds.get(&cell) != Some(&built) {
            recorder.record(Record::Build(BuildRecord {
                cell,
                outcome: built,
            }))?;
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
