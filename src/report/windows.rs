//! What the servers of one session did, moment by moment. Pure.

use serde::Serialize;

use crate::journal::{Purpose, Run, SessionRecord};
use crate::matrix::Design;
use crate::stats::real;
use crate::verdict::state::sample;
use crate::verdict::{Comparison, Judgement, Verdict};

/// The windows of one session.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Windows {
    /// The session's number in the run, from 0.
    pub session: u32,
    /// Why it was held.
    pub purpose: Purpose,
    /// The names of the cells that were loaded.
    pub cells: Vec<String>,
    /// The length of each window, s.
    pub seconds: Vec<f64>,
    /// Answers per second of each cell in each window, cell by cell.
    pub rates: Vec<Vec<f64>>,
}

impl Windows {
    /// Takes the last session of the pair that a reader wonders most about: the worst regression before any other flagged
    /// pair, and that before the rest. None where no session of it has windows.
    pub(super) fn of(run: &Run, judgement: &Judgement) -> Option<Self> {
        let rank = |pair: &Comparison| match pair.verdict {
            Verdict::Regression => 0,
            Verdict::Improvement => 1,
            Verdict::Same | Verdict::Unknown | Verdict::Incomparable => 2,
        };
        let effect = |pair: &Comparison| pair.effect.unwrap_or(0.0);
        let worst = judgement.comparisons.iter().min_by(|one, other| {
            let by_effect = effect(one).total_cmp(&effect(other));
            rank(one).cmp(&rank(other)).then(by_effect)
        });
        let pair = &worst?.pair;
        let cells = [pair.baseline, pair.candidate];
        let together = |session: &&SessionRecord| {
            let loaded = loaded(session);
            session.design != Design::Solo && cells.iter().all(|cell| loaded.contains(cell))
        };
        let mut sessions = run.sessions.iter().rev().filter(together);
        sessions.find_map(|session| Self::of_session(run, session))
    }

    fn of_session(run: &Run, session: &SessionRecord) -> Option<Self> {
        let cells = loaded(session);
        let whole = session.windows.iter();
        let whole: Vec<_> = whole
            .filter(|window| window.answers.len() == cells.len() && window.seconds > 0.0)
            .collect();
        let rates = |place: usize| -> Vec<f64> {
            let rate = whole.iter().map(|window| {
                let answers = usize::try_from(window.answers[place]).unwrap_or(usize::MAX);
                real(answers) / window.seconds
            });
            rate.collect()
        };
        (whole.len() > 1).then(|| Self {
            session: session.index,
            purpose: session.purpose,
            seconds: whole.iter().map(|window| window.seconds).collect(),
            rates: (0..cells.len()).map(rates).collect(),
            cells: cells
                .into_iter()
                .map(|cell| run.header.cells[cell].id.clone())
                .collect(),
        })
    }
}

/// Returns the cells of a session that gave a sample, in the order of its windows.
fn loaded(session: &SessionRecord) -> Vec<usize> {
    let launches = session.launches.iter();
    let sampled = launches.filter(|launch| sample(launch).is_some());
    sampled.map(|launch| launch.cell).collect()
}
