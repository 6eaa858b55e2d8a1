//! What is news tonight, and what is still open: a fold over all nights. Pure.

use jiff::Timestamp;
use serde::Serialize;

use super::{Health, Lost, Measured, Night, Outcome, Seen};
use crate::verdict::Verdict;

/// Nights of a trend.
const NIGHTS: usize = 30;

/// Something that is wrong.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Matter {
    /// A version is worse than the one that it is compared with.
    Regression(Seen),
    /// A cell has no number.
    Gap(Lost),
    /// Nothing could be measured.
    Failure(String),
}

/// Something wrong that has not been put right.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Open {
    /// What.
    pub matter: Matter,
    /// When the night began that found it.
    pub since: Timestamp,
    /// Nights since then, that one included.
    pub nights: usize,
}

/// Something that was wrong and is no longer.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Recovery {
    /// What it was.
    pub matter: Matter,
    /// When the night began that found it.
    pub since: Timestamp,
    /// How it was seen to be right again.
    pub how: How,
}

/// How something was seen to be right again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum How {
    /// The same pair was raced again and is not worse.
    RacedAgain,
    /// A later version made up for it.
    MadeUp {
        /// That version's cell.
        by: String,
    },
    /// The cell has a number, or the matrix could be measured.
    Measured,
}

/// The levels of one cell over the last nights.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Trend {
    /// The cell's name.
    pub cell: String,
    /// Fetches per second, night by night; none where a night did not measure it.
    pub levels: Vec<Option<f64>>,
}

/// What is to be told of one matrix after a night.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Story {
    /// The matrix's name.
    pub matrix: String,
    /// When the night began.
    pub started: Timestamp,
    /// The run's name; none where nothing could be measured.
    pub run: Option<String>,
    /// Cells with a number, pairs compared, pairs of which too little is known.
    pub counts: (usize, usize, usize),
    /// What is wrong since the last night that was told.
    pub new: Vec<Open>,
    /// What was wrong then and is no longer.
    pub recovered: Vec<Recovery>,
    /// What was told before and is still wrong.
    pub open: Vec<Open>,
    /// What is wrong and accepted, with the reason.
    pub accepted: Vec<(Matter, String)>,
    /// Improvements found tonight.
    pub improved: Vec<Seen>,
    /// The last nights' levels of the cells that were measured tonight.
    pub trends: Vec<Trend>,
    /// Versions that no night has come to yet.
    pub waiting: usize,
    /// What else a reader should know.
    pub notes: Vec<String>,
    /// The newest version against itself.
    pub health: Option<Health>,
}

/// Says why something wrong is accepted; none if it is not.
pub(super) type Accepted<'a> = dyn Fn(&Matter) -> Option<String> + 'a;

impl Story {
    /// Tells the last of these nights; the first `told` of them are known already. None without a night.
    pub fn new(
        matrix: &str,
        nights: &[Night],
        told: usize,
        accepted: &Accepted<'_>,
    ) -> Option<Self> {
        let tonight = nights.last()?;
        let before = State::after(&nights[..told.min(nights.len() - 1)]);
        let now = State::after(nights);
        let measured = match &tonight.outcome {
            Outcome::Measured(measured) => Some(measured),
            Outcome::Failed { .. } => None,
        };
        let mut story = Self::of_night(matrix, tonight.started, measured);
        story.trends = measured.map_or_else(Vec::new, |measured| trends(nights, measured));
        for open in &now.open {
            match accepted(&open.matter) {
                Some(reason) => story.accepted.push((open.matter.clone(), reason)),
                None if before.find(&open.matter).is_some() => story.open.push(open.clone()),
                None => story.new.push(open.clone()),
            }
        }
        let healed = now.closed.into_iter().filter(|closed| {
            before.find(&closed.matter).is_some() && accepted(&closed.matter).is_none()
        });
        story.recovered = healed.collect();
        Some(story)
    }

    fn of_night(matrix: &str, started: Timestamp, measured: Option<&Measured>) -> Self {
        let steps = measured.map_or(&[][..], |measured| measured.steps.as_slice());
        let with = |verdict| steps.iter().filter(move |step| step.verdict == verdict);
        Self {
            matrix: matrix.to_owned(),
            started,
            run: measured.map(|measured| measured.run.clone()),
            counts: (
                measured.map_or(0, |measured| measured.levels.len()),
                steps.len(),
                with(Verdict::Unknown).count(),
            ),
            improved: with(Verdict::Improvement).cloned().collect(),
            waiting: measured.map_or(0, |measured| measured.waiting),
            notes: measured.map_or_else(Vec::new, |measured| measured.notes.clone()),
            health: measured.and_then(|measured| measured.health.clone()),
            new: Vec::new(),
            recovered: Vec::new(),
            open: Vec::new(),
            accepted: Vec::new(),
            trends: Vec::new(),
        }
    }

    /// Returns whether anybody has to be told.
    pub fn has_news(&self) -> bool {
        !self.new.is_empty() || !self.recovered.is_empty()
    }

    /// Returns whether something of this kind is new.
    pub fn has_new(&self, kind: fn(&Matter) -> bool) -> bool {
        self.new.iter().any(|open| kind(&open.matter))
    }
}

/// What is known after some nights.
#[derive(Default)]
struct State {
    open: Vec<Open>,
    closed: Vec<Recovery>,
    /// The last word on each pair.
    steps: Vec<Seen>,
}

impl State {
    fn after(nights: &[Night]) -> Self {
        let mut state = Self::default();
        for night in nights {
            for open in &mut state.open {
                open.nights += 1;
            }
            match &night.outcome {
                Outcome::Failed { why } => state.found(Matter::Failure(why.clone()), night.started),
                Outcome::Measured(measured) => state.take(measured, night.started),
            }
        }
        state
    }

    fn take(&mut self, measured: &Measured, started: Timestamp) {
        self.close(&How::Measured, |matter| {
            matches!(matter, Matter::Failure(_))
        });
        for level in &measured.levels {
            self.close(
                &How::Measured,
                |matter| matches!(matter, Matter::Gap(gap) if gap.cell == level.cell),
            );
        }
        for gap in measured.gaps.iter().filter(|gap| gap.is_told()) {
            self.found(Matter::Gap(gap.clone()), started);
        }
        for step in &measured.steps {
            self.steps.retain(|known| !known.is_of(step));
            self.steps.push(step.clone());
            match step.verdict {
                Verdict::Regression => self.found(Matter::Regression(step.clone()), started),
                Verdict::Same | Verdict::Improvement => self.close(
                    &How::RacedAgain,
                    |matter| matches!(matter, Matter::Regression(known) if known.is_of(step)),
                ),
                Verdict::Unknown | Verdict::Incomparable => {}
            }
        }
        self.make_up(measured.min_effect.ln_1p());
    }

    /// Closes regressions that later versions made up for.
    fn make_up(&mut self, least: f64) {
        let made_up: Vec<(Seen, String)> = self
            .open
            .iter()
            .filter_map(|open| match &open.matter {
                Matter::Regression(step) => Some((step.clone(), self.made_up_by(step, least)?)),
                Matter::Gap(_) | Matter::Failure(_) => None,
            })
            .collect();
        for (step, by) in made_up {
            self.close(
                &How::MadeUp { by },
                |matter| matches!(matter, Matter::Regression(known) if known.is_of(&step)),
            );
        }
    }

    /// Returns the first version after a regression whose flagged steps since then make up for it but for less than the
    /// least effect worth a flag.
    fn made_up_by(&self, step: &Seen, least: f64) -> Option<String> {
        let mut sum = step.effect?;
        let mut at = &step.candidate;
        // No more steps than there are: a reference may make a circle of them.
        for _ in &self.steps {
            let next = self
                .steps
                .iter()
                .find(|next| next.number() == step.number() && next.baseline == *at)?;
            if matches!(next.verdict, Verdict::Improvement | Verdict::Regression) {
                sum += next.effect.unwrap_or(0.0);
            }
            if sum >= -least {
                return Some(next.candidate.clone());
            }
            at = &next.candidate;
        }
        None
    }

    fn find(&self, matter: &Matter) -> Option<&Open> {
        self.open.iter().find(|open| open.matter.is_of(matter))
    }

    /// Opens a matter, or brings it up to date if it is open.
    fn found(&mut self, matter: Matter, since: Timestamp) {
        match self.open.iter_mut().find(|open| open.matter.is_of(&matter)) {
            Some(open) => open.matter = matter,
            None => self.open.push(Open {
                matter,
                since,
                nights: 1,
            }),
        }
    }

    fn close(&mut self, how: &How, which: impl Fn(&Matter) -> bool) {
        let closed = self.open.extract_if(.., |open| which(&open.matter));
        for open in closed {
            self.closed
                .retain(|known| !known.matter.is_of(&open.matter));
            self.closed.push(Recovery {
                matter: open.matter,
                since: open.since,
                how: how.clone(),
            });
        }
    }
}

impl Matter {
    /// Returns whether another is about the same thing, whatever its figures.
    fn is_of(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Regression(one), Self::Regression(other)) => one.is_of(other),
            (Self::Gap(one), Self::Gap(other)) => {
                one.cell == other.cell && one.stage == other.stage && one.kind == other.kind
            }
            (Self::Failure(_), Self::Failure(_)) => true,
            (Self::Regression(_) | Self::Gap(_) | Self::Failure(_), _) => false,
        }
    }
}

/// Returns the last nights' levels of the cells that were measured tonight.
fn trends(nights: &[Night], tonight: &Measured) -> Vec<Trend> {
    let last = &nights[nights.len().saturating_sub(NIGHTS)..];
    let level = |night: &Night, cell: &str| match &night.outcome {
        Outcome::Measured(measured) => {
            let levels = &mut measured.levels.iter();
            let found = levels.find(|level| level.cell == cell);
            found.map(|level| level.fetches_per_second)
        }
        Outcome::Failed { .. } => None,
    };
    let cells = tonight.levels.iter().map(|level| level.cell.as_str());
    cells
        .map(|cell| Trend {
            cell: cell.to_owned(),
            levels: last.iter().map(|night| level(night, cell)).collect(),
        })
        .collect()
}
