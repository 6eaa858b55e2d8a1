//! A step of somebody else's bisection: what one checkout came to, what is still to be measured of it, and what git is told. Pure.
//!
//! `log` reads what git has written down.

mod log;
#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};

pub use log::Bisection;

use crate::bisect::{BAD, CANDIDATE, GOOD, Likeness, Side, likeness};
use crate::exit::Exit;
use crate::hunt::LEAST;
use crate::journal::{Built, Purpose, Run};
use crate::matrix::{Metric, Rule};
use crate::outcome::{Class, Gap, GapKind};
use crate::verdict::{Comparison, Held, Judgement, Verdict, facts, levels, metric_of};
use crate::version::{Pair, Version};

/// What is asked of a checkout.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Asked {
    /// The commit that is the good reference, the first cell of the run.
    pub good: String,
    /// The one that is the bad reference, the third cell, if there is one; the second cell is the checkout.
    pub bad: Option<String>,
    /// By which number.
    pub metric: Metric,
    /// Whether it is an improvement that is looked for.
    pub invert: bool,
    /// Whether it is asked only if there is a number at all.
    pub only_gaps: bool,
}

/// What a step came to: a line of the journal.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StepRecord {
    /// The commit that was checked out.
    pub commit: String,
    /// The first line of its message.
    pub subject: String,
    /// Whether files that git follows differed from it.
    pub modified: bool,
    /// What was asked.
    pub asked: Asked,
    /// What it is.
    pub answer: Answer,
    /// Why, in one line.
    pub why: String,
    /// The number that decided.
    pub metric: Metric,
    /// The effect against the good reference, as in a comparison: a log ratio, negative is worse.
    pub effect: Option<f64>,
    /// Its interval.
    pub interval: Option<(f64, f64)>,
    /// Sessions that count.
    pub sessions: usize,
    /// The chances of either side, where there is a bad reference.
    pub likeness: Option<Likeness>,
    /// The exit code.
    pub exit: u8,
}

/// What a checkout is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Answer {
    /// Like the good reference.
    Good,
    /// Like the bad reference, or worse than the good one.
    Bad,
    /// It could not be decided.
    Undecided,
    /// It has no number, by its own fault.
    Gap,
    /// Nothing can be said of any commit: a reference has no number, or something is wrong with the machine.
    NoFault,
    /// Nothing can be said of any commit: the references do not differ.
    Alike,
}

/// What is concluded of a step.
#[derive(Debug, Clone, PartialEq)]
pub struct Conclusion {
    /// What the checkout is.
    pub answer: Answer,
    /// Why, in one line.
    pub why: String,
    /// The comparison with the good reference, if both have a number.
    pub comparison: Option<Comparison>,
    /// The chances of either side, where there is a bad reference.
    pub likeness: Option<Likeness>,
}

impl Answer {
    /// Returns what git is told. What is no fault of the commit never reads as bad to git.
    pub fn exit(self, asked: &Asked) -> Exit {
        match self {
            Self::Good => Exit::Done,
            Self::Bad => Exit::Regression,
            Self::Gap if asked.only_gaps => Exit::Regression,
            Self::Undecided | Self::Gap => Exit::Undecided,
            Self::NoFault | Self::Alike => Exit::CannotRun,
        }
    }
}

/// Returns what is still to be held of each pair, given what the verdicts ask for.
///
/// Nothing once one of the cells has no number, nor where only that is asked. With a bad reference one session after
/// the other of all three, until it is clear which of the two the checkout is like. With the good one alone what the verdict asks for,
/// but no more once the checkout is surely not worse by as much as counts: how much better it may be nobody asks.
pub fn wanted(run: &Run, judgement: &Judgement, asked: &Asked) -> Vec<Held> {
    if asked.only_gaps || !all_may_have_a_number(run) {
        return Vec::new();
    }
    if asked.bad.is_none() {
        let is_good = against_good(judgement, &run.header.rule, asked) == Answer::Good;
        return if is_good {
            Vec::new()
        } else {
            judgement.held.clone()
        };
    }
    let most = most_sessions(run);
    let held = together(run).len();
    let tried = run.sessions.len();
    let is_over = held >= most || tried >= 2 * most + 2;
    if is_over || likeness_of(run, asked).side != Side::Open {
        return Vec::new();
    }
    let one = |held: &Held| Held {
        wanted: 1,
        at_most: most.saturating_sub(tried).max(1),
        ..Held::new(held.pair.clone())
    };
    judgement.held.iter().map(one).collect()
}

/// Returns what a checkout is, of which nothing more will be measured.
pub fn conclude(run: &Run, judgement: &Judgement, asked: &Asked) -> Conclusion {
    let comparison = judgement.comparisons.iter();
    let mut comparison = comparison.filter(|one| one.pair.candidate == CANDIDATE);
    let likeness = asked.bad.as_ref().map(|_| likeness_of(run, asked));
    let (answer, why) = without_a_number(run, judgement)
        .or_else(|| asked.only_gaps.then(it_runs))
        .unwrap_or_else(|| match &likeness {
            Some(likeness) => by_likeness(run, likeness),
            None => by_verdict(judgement, &run.header.rule, asked),
        });
    Conclusion {
        answer,
        why,
        comparison: comparison.next().cloned(),
        likeness: likeness.filter(|_| !asked.only_gaps),
    }
}

/// Returns whether no cell was found to have no number.
fn all_may_have_a_number(run: &Run) -> bool {
    let is_gap = |built: &Built| matches!(built, Built::Gap(_));
    run.given_up.is_empty() && !run.builds.values().any(is_gap)
}

fn most_sessions(run: &Run) -> usize {
    usize::try_from(run.header.sessions.count).unwrap_or(usize::MAX / 4)
}

/// Returns what each session held to measure said of all three, by the number by which the two references are judged.
fn together(run: &Run) -> Vec<Vec<(usize, f64)>> {
    let references = Pair {
        baseline: GOOD,
        candidate: BAD,
        skipped: Vec::new(),
    };
    let metric = metric_of(run, references, &facts(run));
    let places = run.sessions.iter().enumerate();
    let held = places.filter(|(_, session)| {
        session.purpose == Purpose::Measure && session.design == run.header.sessions.design
    });
    let of = held.map(|(place, _)| levels(run, place, metric));
    of.filter(|levels| levels.len() > 1).collect()
}

/// Weighs the sessions so far, turned so that what is looked for is a fall.
fn likeness_of(run: &Run, asked: &Asked) -> Likeness {
    let mut sessions = together(run);
    if asked.invert {
        for (_, level) in sessions.iter_mut().flatten() {
            *level = -*level;
        }
    }
    let least = run.header.rule.min_effect.max(LEAST).ln_1p();
    likeness(&sessions, least, most_sessions(run))
}

/// Returns what it is if a number is missing.
fn without_a_number(run: &Run, judgement: &Judgement) -> Option<(Answer, String)> {
    let name = |cell: usize| run.header.cells[cell].id.as_str();
    let gaps = || judgement.gaps.iter();
    let reference = gaps().find(|(cell, gap)| *cell != CANDIDATE && !is_of_time(gap));
    if let Some((cell, gap)) = reference {
        let which = if *cell < CANDIDATE { "good" } else { "bad" };
        let why = format!(
            "the {which} reference {} has no number: {}",
            name(*cell),
            gap.in_one_line()
        );
        return Some((Answer::NoFault, why));
    }
    let own = gaps().find(|(cell, _)| *cell == CANDIDATE);
    if let Some((_, gap)) = own.filter(|(_, gap)| !is_of_time(gap)) {
        let answer = if is_the_machines(gap) {
            Answer::NoFault
        } else if gap.class == Class::Permanent {
            Answer::Gap
        } else {
            Answer::Undecided
        };
        return Some((answer, gap.in_one_line()));
    }
    let pending = judgement.pending.first().copied();
    let left = gaps().next().map(|(cell, _)| *cell).or(pending)?;
    let why = format!("the time was up before {} was measured", name(left));
    Some((Answer::Undecided, why))
}

/// Returns whether it was only not come to.
fn is_of_time(gap: &Gap) -> bool {
    matches!(gap.kind, GapKind::Budget | GapKind::Interrupted)
}

/// Returns whether the next commit would fare no better: a full disk, too little memory, a network that is away, a port that somebody
/// else holds. A build that does not end in time may well be the commit's own fault.
fn is_the_machines(gap: &Gap) -> bool {
    gap.class == Class::Transient && gap.kind != GapKind::Timeout
}

fn it_runs() -> (Answer, String) {
    let why = "it builds, starts and answers under load";
    (Answer::Good, why.to_owned())
}

fn by_likeness(run: &Run, likeness: &Likeness) -> (Answer, String) {
    let chance = |chance: f64| format!("with {:.1} %", 100.0 * chance);
    let sessions = together(run).len();
    match likeness.side {
        Side::Good => (
            Answer::Good,
            format!("like the good reference {}", chance(likeness.good)),
        ),
        Side::Bad => (
            Answer::Bad,
            format!("like the bad reference {}", chance(likeness.bad)),
        ),
        Side::Alike => {
            let why = "the references do not differ by anything that counts, so no commit can be like one of them";
            (Answer::Alike, why.to_owned())
        }
        Side::Open => {
            let why = format!(
                "like the good reference {}, like the bad one {}, after {sessions} sessions",
                chance(likeness.good),
                chance(likeness.bad)
            );
            (Answer::Undecided, why)
        }
    }
}

fn by_verdict(judgement: &Judgement, rule: &Rule, asked: &Asked) -> (Answer, String) {
    let answer = against_good(judgement, rule, asked);
    let way = if asked.invert { "better" } else { "worse" };
    let why = match answer {
        Answer::Good => format!("surely not {way} than the good reference by as much as counts"),
        Answer::Bad => format!("surely {way} than the good reference"),
        Answer::Undecided | Answer::Gap | Answer::NoFault | Answer::Alike => {
            format!("it may be {way} than the good reference, or not")
        }
    };
    (answer, why)
}

/// Returns what a checkout is that is held against the good reference alone.
///
/// *Bad* is what the verdict flags. *Good* asks less than `same` does: the interval need only end on the side that is looked for
/// before `same_within`, however far it reaches on the other.
fn against_good(judgement: &Judgement, rule: &Rule, asked: &Asked) -> Answer {
    let (looked_for, margin) = if asked.invert {
        (Verdict::Improvement, rule.same_within.ln_1p())
    } else {
        (Verdict::Regression, rule.same_within.ln_1p())
    };
    let mut all = judgement.comparisons.iter();
    let Some(own) = all.find(|one| one.pair.candidate == CANDIDATE) else {
        return Answer::Undecided;
    };
    let worst = own
        .interval
        .map(|(low, high)| if asked.invert { high } else { -low });
    if own.verdict == looked_for {
        Answer::Bad
    } else if own.confirmed != Some(false) && worst.is_some_and(|worst| worst < margin) {
        Answer::Good
    } else {
        Answer::Undecided
    }
}

/// Returns the record of a step.
pub fn record(run: &Run, conclusion: Conclusion, asked: Asked, modified: bool) -> StepRecord {
    let version = run.header.cells.get(CANDIDATE).map(|cell| &cell.version);
    let of = |text: fn(&Version) -> &Option<String>| {
        version
            .and_then(|version| text(version).clone())
            .unwrap_or_default()
    };
    let own = conclusion.comparison.as_ref();
    StepRecord {
        commit: of(|version| &version.commit),
        subject: of(|version| &version.subject),
        modified,
        exit: conclusion.answer.exit(&asked).code(),
        answer: conclusion.answer,
        why: conclusion.why,
        metric: own.map_or(asked.metric, |own| own.metric),
        effect: own.and_then(|own| own.effect),
        interval: own.and_then(|own| own.interval),
        sessions: own.map_or(0, |own| own.sessions),
        likeness: conclusion.likeness,
        asked,
    }
}
