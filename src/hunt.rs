//! The loop of a bisection: asks [`bisect`](crate::bisect) for the next step, has it built or raced, and writes down what came
//! of it.
//!
//! As in a run, what comes next is a function of what the journal holds, so a search that was killed goes on.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::bisect::{Answer, Ending, Lineage, Odds, Search, Settings, Step, Why};
use crate::error::{Error, Kind, Result};
use crate::host;
use crate::journal::{BuildRecord, Built, Hunted, Purpose, Record, Run, SessionRecord};
use crate::matrix::Metric;
use crate::outcome::{Class, Gap, GapKind};
use crate::pipeline::{self, Bench, Budget, Event, Recorder, build_each};
use crate::plan;
use crate::verdict::{facts, levels, metric_of};
use crate::version::Pair;

/// The least change that is looked for where the matrix calls none too small, as a share.
pub(crate) const LEAST: f64 = 0.002;

/// Is told of every event, with the run and the odds as they stand.
pub type Watch<'a> = dyn FnMut(&Event<'_>, &Run, &Odds) + Send + 'a;

/// Searches until it is decided, or until the time is up.
pub async fn hunt<B: Bench>(
    bench: &Arc<B>,
    recorder: &mut Recorder,
    budget: Option<Budget>,
    watch: &mut Watch<'_>,
) -> Result<Ending> {
    let mut trail = Trail::new(&recorder.run);
    loop {
        give_up(recorder, &trail, watch)?;
        trail.follow(&recorder.run);
        if is_over(&recorder.run, budget) {
            return Ok(trail.search.stopped(Why::OutOfTime));
        }
        match trail.search.next() {
            Step::Build(commits) => build(bench, recorder, (&commits, &trail), watch).await?,
            Step::Race(members) => {
                let asked = (Purpose::Measure, members.as_slice());
                race(&**bench, recorder, (asked, &trail), watch).await?;
            }
            Step::Confirm(members) => {
                let asked = (Purpose::Confirm, members.as_slice());
                race(&**bench, recorder, (asked, &trail), watch).await?;
            }
            Step::End(ending) => return Ok(ending),
        }
    }
}

/// Has the cells that an earlier part of the search built made anew, which a cache makes short. Returns whether they are the same
/// still; if not, the search must not go on: its sessions would be of two things.
pub async fn rebuilt<B: Bench>(bench: &Arc<B>, run: &Run) -> Result<bool> {
    let built = run
        .builds
        .iter()
        .filter(|(_, built)| matches!(built, Built::Artifact(_)));
    let cells: Vec<usize> = built.map(|(cell, _)| *cell).collect();
    let mut same = true;
    build_each(bench, cells, jobs(), &mut |step| {
        if let pipeline::Step::Ended(cell, now) = step {
            same &= !pipeline::is_another(run.builds.get(&cell), &now);
        }
        Ok(())
    })
    .await?;
    Ok(same)
}

fn jobs() -> usize {
    host::allowed_cpus().len()
}

/// Returns whether there is no time left for another step.
fn is_over(run: &Run, budget: Option<Budget>) -> bool {
    budget.is_some_and(|budget| {
        let left = budget.time.saturating_sub(host::since(budget.begun));
        left.as_secs_f64() <= pipeline::usual_seconds(run)
    })
}

/// Builds what is needed now, and what may be needed next beside it: nothing is measured meanwhile.
async fn build<B: Bench>(
    bench: &Arc<B>,
    recorder: &mut Recorder,
    (commits, trail): (&[usize], &Trail),
    watch: &mut Watch<'_>,
) -> Result<()> {
    let odds = trail.search.odds();
    let commits: Vec<usize> = commits.to_vec();
    build_each(bench, commits, jobs(), &mut |step| match step {
        pipeline::Step::Started(cell) => {
            watch(&Event::BuildStarted(cell), &recorder.run, &odds);
            Ok(())
        }
        pipeline::Step::Ended(cell, built) => {
            is_its_own(&recorder.run, cell, &built)?;
            watch(&Event::Built(cell, &built), &recorder.run, &odds);
            recorder.record(Record::Build(BuildRecord {
                cell,
                outcome: *built,
            }))
        }
    })
    .await
}

/// Makes sure that a gap is the commit's own. A network that is down or a disk that is full would make a stretch of the history
/// look as if it could not be built.
fn is_its_own(run: &Run, cell: usize, built: &Built) -> Result<()> {
    let Built::Gap(gap) = built else {
        return Ok(());
    };
    if gap.class != Class::Transient || gap.kind == GapKind::Timeout {
        return Ok(());
    }
    let id = &run.header.cells[cell].id;
    let message = format!("{id} could not be built, which is no fault of its own");
    let error = Error::new(Kind::Machine, message).because(gap.in_one_line());
    let next = "put that right and give the same command again: the search goes on";
    let hint = gap.hint.as_ref();
    Err(error.hint(hint.map_or_else(|| next.to_owned(), |hint| format!("{hint}; then {next}"))))
}

async fn race<B: Bench>(
    bench: &B,
    recorder: &mut Recorder,
    ((purpose, members), trail): ((Purpose, &[usize]), &Trail),
    watch: &mut Watch<'_>,
) -> Result<()> {
    let plan = plan::session_of(&recorder.run, purpose, members);
    let odds = trail.search.odds();
    watch(&Event::SessionStarted(&plan), &recorder.run, &odds);
    let index = u32::try_from(recorder.run.sessions.len()).unwrap_or(u32::MAX);
    let session = bench.session(&plan, index, &recorder.run.builds).await?;
    watch(&Event::SessionEnded(&session), &recorder.run, &odds);
    recorder.record(Record::Session(Box::new(session)))
}

/// Writes down the commits that should not be tried again: they build, and cannot be started, checked or loaded.
fn give_up(recorder: &mut Recorder, trail: &Trail, watch: &mut Watch<'_>) -> Result<()> {
    let tried: Vec<usize> = recorder.run.builds.keys().copied().collect();
    for cell in tried {
        if recorder.run.given_up.contains_key(&cell) {
            continue;
        }
        if let Some(gap) = plan::give_up(&recorder.run, cell) {
            let odds = trail.search.odds();
            watch(&Event::GivenUp(cell, &gap), &recorder.run, &odds);
            recorder.record(Record::Gap { cell, gap })?;
        }
    }
    Ok(())
}

/// What the journal of a search says.
#[derive(Debug)]
pub struct Told {
    /// How it ends by that.
    pub ending: Ending,
    /// The odds at its end.
    pub odds: Odds,
    /// The number that decides.
    pub metric: Metric,
}

/// Returns what the journal of a search says.
pub fn told(run: &Run) -> Told {
    let mut trail = Trail::new(run);
    trail.follow(run);
    let ending = match trail.search.next() {
        Step::End(ending) => ending,
        Step::Build(_) | Step::Race(_) | Step::Confirm(_) => trail.search.stopped(Why::OutOfTime),
    };
    Told {
        ending,
        odds: trail.search.odds(),
        metric: trail.metric,
    }
}

/// A search, and how far it has followed its journal.
#[derive(Debug)]
struct Trail {
    hunted: Hunted,
    search: Search,
    metric: Metric,
    built: BTreeSet<usize>,
    given_up: BTreeSet<usize>,
    sessions: usize,
}

impl Trail {
    fn new(run: &Run) -> Self {
        // A journal that is no bisection has no parents, and so no commits to search.
        let hunted = run.header.bisect.clone().unwrap_or_else(|| Hunted {
            parents: vec![Vec::new(), vec![0]],
            improvement: false,
            certainty: 1.0 - run.header.rule.alpha,
            most_sessions: 0,
        });
        Self {
            search: search(run, &hunted),
            hunted,
            metric: metric(run),
            built: BTreeSet::new(),
            given_up: BTreeSet::new(),
            sessions: 0,
        }
    }

    /// Takes in what was written down since. By which number sessions count is known better with each of them; where it becomes
    /// another, all is read again.
    fn follow(&mut self, run: &Run) {
        let metric = metric(run);
        if metric != self.metric {
            *self = Self {
                metric,
                ..Self::new(run)
            };
        }
        for (commit, built) in &run.builds {
            if self.built.insert(*commit) {
                self.search.answer(&answer_of(*commit, built));
            }
        }
        for commit in run.given_up.keys() {
            if self.given_up.insert(*commit) {
                self.search.answer(&Answer::Gap { commit: *commit });
            }
        }
        for place in self.sessions..run.sessions.len() {
            self.search.answer(&self.read(run, place));
        }
        self.sessions = run.sessions.len();
    }

    fn read(&self, run: &Run, place: usize) -> Answer {
        let session = &run.sessions[place];
        let sign = if self.hunted.improvement { -1.0 } else { 1.0 };
        let levels = levels(run, place, self.metric).into_iter();
        Answer::Session {
            confirm: session.purpose == Purpose::Confirm,
            members: members(session),
            seconds: session.seconds,
            levels: levels
                .map(|(commit, level)| (commit, sign * level))
                .collect(),
        }
    }
}

fn answer_of(commit: usize, built: &Built) -> Answer {
    match built {
        Built::Artifact(artifact) if artifact.cached => Answer::Built {
            commit,
            seconds: 0.0,
        },
        Built::Artifact(artifact) => Answer::Built {
            commit,
            seconds: artifact.seconds,
        },
        Built::Gap(_) => Answer::Gap { commit },
    }
}

fn search(run: &Run, hunted: &Hunted) -> Search {
    let settings = Settings {
        least_effect: run.header.rule.min_effect.max(LEAST).ln_1p(),
        certainty: hunted.certainty,
        most_sessions: hunted.most_sessions,
        seed: run.header.seed,
    };
    Search::new(Lineage::graph(&hunted.parents), settings)
}

/// Returns by which number the search goes: the one by which the two ends are judged.
fn metric(run: &Run) -> Metric {
    let ends = Pair {
        baseline: 0,
        candidate: run.header.cells.len() - 1,
        skipped: Vec::new(),
    };
    metric_of(run, ends, &facts(run))
}

fn members(session: &SessionRecord) -> Vec<usize> {
    let mut members: Vec<usize> = session.launches.iter().map(|launch| launch.cell).collect();
    members.sort_unstable();
    members
}

/// Returns the gaps of a search by commit.
pub fn gaps(run: &Run) -> Vec<(usize, Gap)> {
    let built = run.builds.iter().filter_map(|(cell, built)| match built {
        Built::Gap(gap) => Some((*cell, gap.clone())),
        Built::Artifact(_) => None,
    });
    let given_up = run.given_up.iter().map(|(cell, gap)| (*cell, gap.clone()));
    built.chain(given_up).collect()
}
