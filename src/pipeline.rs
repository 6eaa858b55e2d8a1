//! The loop: build all, then sessions until every pair is decided or has had its share; each step goes to the journal.
//!
//! What comes next is a pure function of what the journal holds, so a run that was killed goes on as if nothing had
//! happened.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinSet;

use crate::error::Result;
use crate::host;
use crate::journal::{BuildRecord, Built, Journal, Record, Run, SessionRecord};
use crate::outcome::{Gap, GapKind};
use crate::plan::{self, SessionPlan};
use crate::stats::real;
use crate::verdict::{self, Held, Judgement};

/// Sessions that tell how long the next one takes.
const USUAL: usize = 5;

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
    let cells = 0..recorder.run.header.cells.len();
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
pub(crate) fn is_another(before: Option<&Built>, now: &Built) -> bool {
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

/// Builds cells, at most `parallel` at a time. The first error stops all.
pub async fn build_each<B: Bench>(
    bench: &Arc<B>,
    cells: impl IntoIterator<Item = usize, IntoIter: Send>,
    parallel: usize,
    step: &mut (dyn FnMut(Step) -> Result<()> + Send),
) -> Result<()> {
    let mut waiting = cells.into_iter();
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

/// Until when a run may measure.
#[derive(Debug, Clone, Copy)]
pub struct Budget {
    /// When the run began, by [`host::monotonic`].
    pub begun: Duration,
    /// How long it may take from then on, builds included.
    pub time: Duration,
}

/// Says what is to be held of each pair, given what the verdicts ask for: while the run goes on, and as if it ended now.
pub type Asks<'a> = dyn Fn(&Run, &Judgement) -> Vec<Held> + Send + Sync + 'a;

/// Holds sessions until the plan has no more or the time is up, and judges.
pub async fn measure<B: Bench>(
    bench: &B,
    recorder: &mut Recorder,
    budget: Option<Budget>,
    watch: &mut Watch<'_>,
) -> Result<Judgement> {
    let all = |_: &Run, judgement: &Judgement| judgement.held.clone();
    measure_what(bench, recorder, budget, watch, &all).await
}

/// Does so where something else than a verdict is wanted of the pairs.
pub async fn measure_what<B: Bench>(
    bench: &B,
    recorder: &mut Recorder,
    budget: Option<Budget>,
    watch: &mut Watch<'_>,
    asks: &Asks<'_>,
) -> Result<Judgement> {
    loop {
        give_up(recorder, watch)?;
        let left = budget.map(|budget| budget.time.saturating_sub(host::since(budget.begun)));
        let Some(next) = next(&recorder.run, left, asks) else {
            break;
        };
        watch(&Event::SessionStarted(&next), &recorder.run);
        let index = u32::try_from(recorder.run.sessions.len()).unwrap_or(u32::MAX);
        let session = bench.session(&next, index, &recorder.run.builds).await?;
        watch(&Event::SessionEnded(&session), &recorder.run);
        recorder.record(Record::Session(Box::new(session)))?;
    }
    leave_the_rest(recorder, watch)?;
    let judgement = verdict::conclude(&recorder.run);
    for comparison in judgement.all() {
        recorder.record(Record::Verdict(comparison.clone()))?;
    }
    Ok(judgement)
}

/// Writes down the cells that the time did not reach.
fn leave_the_rest(recorder: &mut Recorder, watch: &mut Watch<'_>) -> Result<()> {
    for cell in verdict::so_far(&recorder.run).pending {
        let gap = Gap::new(GapKind::Budget, "the time was up before it was measured")
            .with_hint(Some("give more time with `--budget`".to_owned()));
        watch(&Event::GivenUp(cell, &gap), &recorder.run);
        recorder.record(Record::Gap { cell, gap })?;
    }
    Ok(())
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

/// Returns the next session for which there is time: to measure first, then to confirm what that has flagged. Time for
/// confirming is kept.
fn next(run: &Run, left: Option<Duration>, asks: &Asks<'_>) -> Option<SessionPlan> {
    let held = asks(run, &verdict::so_far(run));
    let Some(left) = left.map(|left| left.as_secs_f64()) else {
        return plan::next(run, &held);
    };
    let session = usual_seconds(run);
    // What is flagged when measuring ends here is all that there will be to confirm.
    let flagged = asks(run, &verdict::conclude(run));
    let confirming = real(plan::left_to_confirm(run, &flagged)) * session;
    let plan = if left > confirming + session {
        plan::next(run, &held)
    } else {
        plan::next_to_confirm(run, &flagged)
    };
    plan.filter(|_| left > session)
}

/// Returns how long a session takes, s: the longest of the last few.
pub(crate) fn usual_seconds(run: &Run) -> f64 {
    let last = run.sessions.iter().rev().take(USUAL);
    last.map(|session| session.seconds).fold(0.0, f64::max)
}

/// Returns how many sessions are left at most if no launch fails from here on; confirmations are known only at their time.
pub fn sessions_left(run: &Run) -> u64 {
    plan::estimate(run, &verdict::so_far(run).held) as u64
}
