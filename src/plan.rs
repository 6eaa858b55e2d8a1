//! What was measured so far → the next session. Pure.
//!
//! Every answer is a function of the journal alone (its seed, its cells, what was built and what each session gave), so
//! a run that was killed goes on exactly as it would have. The order is: one solo trial of each cell, which shows what
//! cannot be started, checked or loaded before groups are made; then races, with the other solo trials spread among
//! them; then fresh sessions that confirm the flagged pairs.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use rand::seq::{IndexedRandom, SliceRandom};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;

use crate::journal::{Built, Purpose, Run, SessionRecord};
use crate::matrix::Design;
use crate::outcome::{Class, Gap};

use crate::verdict::Held;
use crate::verdict::pollution::{may_be_the_machines, polluted};
use crate::verdict::state::{gap, held, is_interrupted, launches, sample, solo_samples};
use crate::version::Pair;

/// Failed launches, all told, after which a cell that mostly fails is given up: with a permanent gap …
const PERMANENT_FAILURES: usize = 2;

/// … and with one that trying again may help.
const TRANSIENT_FAILURES: usize = 4;

/// The next session to hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionPlan {
    /// Why it is held.
    pub purpose: Purpose,
    /// Race or solo.
    pub design: Design,
    /// The cells, in the order in which they are launched.
    pub cells: Vec<usize>,
    /// What every order inside the session is drawn from.
    pub seed: u64,
}

/// One thing that could be measured next.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Task {
    purpose: Purpose,
    design: Design,
    cells: Vec<usize>,
    /// Sessions still wanted of it.
    wanted: usize,
    /// Sessions held of it so far, whatever they gave.
    attempts: usize,
}

/// Returns the next session, or none when all that is wanted was held.
///
/// `held` says what is still wanted of each pair ([`crate::verdict::so_far`]). Among the tasks of a kind, one with the fewest
/// attempts is drawn: so they go in rounds, each in a random order. Nothing is tried more than twice as often as it is
/// wanted, plus two.
pub fn next(run: &Run, held: &[Held]) -> Option<SessionPlan> {
    let mut random = Pcg64::seed_from_u64(mixed(run.header.seed, run.sessions.len()));
    let state = Progress::new(run, held);
    [
        state.solo_trials(),
        state.filled(state.races(|held| held.wanted)),
        state.confirmations(),
        state.confirmations_alone(),
    ]
    .into_iter()
    .find_map(|tasks| draw(tasks, &mut random))
}

/// Returns the next session when nothing more is measured: one that confirms a flagged pair.
pub fn next_to_confirm(run: &Run, held: &[Held]) -> Option<SessionPlan> {
    let mut random = Pcg64::seed_from_u64(mixed(run.header.seed, run.sessions.len()));
    let state = Progress::new(run, held);
    [state.confirmations(), state.confirmations_alone()]
        .into_iter()
        .find_map(|tasks| draw(tasks, &mut random))
}

/// Returns how many sessions it takes to confirm what is flagged if no launch fails.
pub fn left_to_confirm(run: &Run, held: &[Held]) -> usize {
    let state = Progress::new(run, held);
    let tasks = [state.confirmations(), state.confirmations_alone()];
    tasks.into_iter().flatten().map(|task| task.wanted).sum()
}

/// Returns how many sessions are left at most if no launch fails from here on and no further pair is flagged.
pub fn estimate(run: &Run, held: &[Held]) -> usize {
    let expected = expected(run, held);
    let mut state = Progress::new(run, &expected);
    state.racing.clone_from(&state.live);
    let solo = state.trials(state.solo_count(), |held| held.at_most);
    let races = state.races(|held| held.at_most);
    let tasks = solo.into_iter().chain(races).map(|task| task.wanted);
    tasks.sum::<usize>() + left_to_confirm(run, held)
}

/// Returns what each pair may get at most, also of cells that have still to show a server.
fn expected(run: &Run, held: &[Held]) -> Vec<Held> {
    let live = Progress::new(run, held).live;
    let pairs = run.header.pairs(&|cell| live.contains(&cell)).into_iter();
    let count = usize::try_from(run.header.sessions.count).unwrap_or(usize::MAX / 4);
    pairs
        .map(|pair| match held.iter().find(|held| held.pair == pair) {
            Some(held) => held.clone(),
            None => Held {
                at_most: count,
                ..Held::new(pair)
            },
        })
        .collect()
}

/// Returns the next session of just these cells.
pub fn session_of(run: &Run, purpose: Purpose, cells: &[usize]) -> SessionPlan {
    let mut random = Pcg64::seed_from_u64(mixed(run.header.seed, run.sessions.len()));
    let mut cells = cells.to_vec();
    cells.shuffle(&mut random);
    SessionPlan {
        purpose,
        design: run.header.sessions.design,
        cells,
        seed: random.random(),
    }
}

/// Returns the last gap of a cell that should not be tried again.
///
/// A launch that ended only because its neighbours failed counts neither way, nor one that was late in a session that the
/// machine spoilt. A cell is given up if of its launches more than half failed, and at least two (four when the last gap is
/// not permanent).
pub fn give_up(run: &Run, cell: usize) -> Option<Gap> {
    let polluted = polluted(run);
    let excused = |session: &SessionRecord, launch| {
        let late = is_in(&polluted, session) && may_be_the_machines(launch);
        late || is_interrupted(launch)
    };
    let tried = || launches(run, cell).filter(|(session, launch)| !excused(session, launch));
    let failures: Vec<Gap> = tried().filter_map(|(_, launch)| gap(launch)).collect();
    let last = failures.last()?;
    let enough = match last.class {
        Class::Permanent => PERMANENT_FAILURES,
        Class::Transient | Class::Policy => TRANSIENT_FAILURES,
    };
    (failures.len() >= enough && failures.len() * 2 > tried().count()).then(|| last.clone())
}

/// Returns whether a session is one of those at these places in the run.
fn is_in(places: &BTreeSet<usize>, session: &SessionRecord) -> bool {
    usize::try_from(session.index).is_ok_and(|place| places.contains(&place))
}

/// Spreads the seed and the number of the session over all bits, by the step of the golden ratio.
fn mixed(seed: u64, session: usize) -> u64 {
    let session = u64::try_from(session).unwrap_or(u64::MAX);
    seed.wrapping_add(session.wrapping_mul(0x9E37_79B9_7F4A_7C15))
}

/// Draws one of the tasks with the fewest attempts, and the order of its launches.
fn draw(tasks: Vec<Task>, random: &mut Pcg64) -> Option<SessionPlan> {
    let fewest = tasks.iter().map(|task| task.attempts).min()?;
    let round: Vec<Task> = tasks
        .into_iter()
        .filter(|task| task.attempts == fewest)
        .collect();
    let task = round.choose(random)?;
    let mut cells = task.cells.clone();
    cells.shuffle(random);
    Some(SessionPlan {
        purpose: task.purpose,
        design: task.design,
        cells,
        seed: random.random(),
    })
}

/// Cuts pairs into groups of at most `size` cells, so that the two of each pair are together in one group.
///
/// Chains of neighbours are cut so that the parts overlap by one. Of the pairs that have only their baseline in common with
/// others, such as those of a reference, several go into one group with that baseline. The groups of a chain, and those
/// around one baseline, are as equal in size as can be, so that their servers share the machine alike.
fn groups(pairs: &[Pair], size: usize) -> Vec<Vec<usize>> {
    let pairs_at_most = size.max(2) - 1;
    let mut groups = Vec::new();
    let mut fans: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for chain in chains(pairs) {
        match chain.as_slice() {
            [baseline, candidate] => fans.entry(*baseline).or_default().push(*candidate),
            chain => groups.extend(
                cut(chain.len() - 1, pairs_at_most)
                    .map(|part| chain[part.start..=part.end].to_vec()),
            ),
        }
    }
    for (baseline, candidates) in fans {
        groups.extend(
            cut(candidates.len(), pairs_at_most)
                .map(|part| [&[baseline], &candidates[part]].concat()),
        );
    }
    packed(groups, size.max(2))
}

/// Joins groups that fit into one, the first with the next that does: a session of two costs as much time as one of four.
fn packed(groups: Vec<Vec<usize>>, size: usize) -> Vec<Vec<usize>> {
    let mut packed: Vec<Vec<usize>> = Vec::new();
    for group in groups {
        let more = |other: &[usize]| -> Vec<usize> {
            let new = group.iter().filter(|cell| !other.contains(cell));
            new.copied().collect()
        };
        let fits = |other: &&mut Vec<usize>| other.len() + more(other).len() <= size;
        match packed.iter_mut().find(fits) {
            Some(other) => other.extend(more(other)),
            None => packed.push(group),
        }
    }
    packed
}

/// Cuts `length` things into as few parts of at most `most` as can be, as equal as can be.
fn cut(length: usize, most: usize) -> impl Iterator<Item = Range<usize>> {
    let count = length.div_ceil(most);
    let border = move |place: usize| length * place / count;
    (0..count).map(move |place| border(place)..border(place + 1))
}

/// Joins pairs into chains of neighbours.
fn chains(pairs: &[Pair]) -> Vec<Vec<usize>> {
    let mut chains: Vec<Vec<usize>> = Vec::new();
    for pair in pairs {
        match chains
            .iter_mut()
            .find(|chain| chain.last() == Some(&pair.baseline))
        {
            Some(chain) => chain.push(pair.candidate),
            None => chains.push(vec![pair.baseline, pair.candidate]),
        }
    }
    chains
}

/// What the journal says of the plan.
struct Progress<'run> {
    run: &'run Run,
    /// What is still wanted of each pair.
    held: &'run [Held],
    /// Cells that were built and not given up.
    live: Vec<usize>,
    /// Those of them that have given a sample alone: the others have shown no server to race with.
    racing: Vec<usize>,
    /// Sessions that the machine spoilt.
    polluted: BTreeSet<usize>,
}

impl<'run> Progress<'run> {
    fn new(run: &'run Run, held: &'run [Held]) -> Self {
        let built = |cell: &usize| matches!(run.builds.get(cell), Some(Built::Artifact(_)));
        let dropped =
            |cell: usize| run.given_up.contains_key(&cell) || give_up(run, cell).is_some();
        let live = (0..run.header.cells.len())
            .filter(built)
            .filter(|cell| !dropped(*cell));
        let live: Vec<usize> = live.collect();
        let shown = |cell: &usize| solo_samples(run, *cell).next().is_some();
        Self {
            run,
            held,
            polluted: polluted(run),
            racing: live.iter().copied().filter(shown).collect(),
            live,
        }
    }

    /// Returns the pairs that can race of which something is wanted.
    fn wanting(&self, wanted: impl Fn(&Held) -> usize) -> Vec<(&'run Pair, usize)> {
        let shown = |cell: usize| self.racing.contains(&cell);
        let held = self.held.iter().map(|held| (&held.pair, wanted(held)));
        held.filter(|(pair, wanted)| *wanted > 0 && shown(pair.baseline) && shown(pair.candidate))
            .collect()
    }

    /// Returns how often all of some cells were launched together, and how often all of them gave a sample that counts.
    fn counts(&self, of: (Purpose, Design), cells: &[usize]) -> (usize, usize) {
        let valid = |session: &&SessionRecord| {
            let own = session.launches.iter();
            let mut own = own.filter(|launch| cells.contains(&launch.cell));
            !is_in(&self.polluted, session) && own.all(|launch| sample(launch).is_some())
        };
        let attempts = held(self.run, of, cells).count();
        (attempts, held(self.run, of, cells).filter(valid).count())
    }

    /// Returns what is still wanted of cells in a design: `count` sessions in which each of them gave a sample.
    fn task(&self, (purpose, design): (Purpose, Design), cells: Vec<usize>, count: usize) -> Task {
        let (attempts, valid) = self.counts((purpose, design), &cells);
        let left = (2 * count + 2).saturating_sub(attempts);
        Task {
            purpose,
            design,
            cells,
            wanted: count.saturating_sub(valid).min(left),
            attempts,
        }
    }

    /// Returns how many sessions a pair gets before it is first judged.
    fn least(&self) -> usize {
        let sessions = &self.run.header.sessions;
        usize::try_from(sessions.least.min(sessions.count)).unwrap_or(usize::MAX / 4)
    }

    /// Returns how many solo trials each cell gets in all, at least one.
    fn solo_count(&self) -> usize {
        let solo = usize::try_from(self.run.header.sessions.solo).unwrap_or(usize::MAX / 4);
        solo.max(1)
    }

    /// Returns the solo trials that are due.
    fn solo_trials(&self) -> Vec<Task> {
        let first = self.trials(1, |_| 0);
        if first.is_empty() {
            return self.trials(self.solo_due(), |held| held.wanted);
        }
        first
    }

    /// Returns the trials still wanted of each cell alone: `count` of each, and in the design that has no others what its
    /// pairs want.
    fn trials(&self, count: usize, wanted: impl Fn(&Held) -> usize) -> Vec<Task> {
        let alone = |cell: &usize| {
            let mut task = self.task((Purpose::Measure, Design::Solo), vec![*cell], count);
            if self.run.header.sessions.design == Design::Solo {
                task.wanted = task.wanted.max(self.wanted_alone(*cell, &wanted));
            }
            task
        };
        let tasks = self.live.iter().map(alone);
        tasks.filter(|task| task.wanted > 0).collect()
    }

    /// Returns the trials that the pairs of a cell want of it: of one that is ahead of the other fewer.
    fn wanted_alone(&self, cell: usize, wanted: impl Fn(&Held) -> usize) -> usize {
        let valid = |cell: usize| self.counts((Purpose::Measure, Design::Solo), &[cell]).1;
        let pairs = self.wanting(wanted).into_iter();
        let own = pairs.filter(|(pair, _)| pair.baseline == cell || pair.candidate == cell);
        let ahead = |pair: &Pair| valid(cell) - valid(pair.baseline).min(valid(pair.candidate));
        own.map(|(pair, wanted)| wanted.saturating_sub(ahead(pair)))
            .max()
            .unwrap_or(0)
    }

    /// Returns how many solo trials of each cell are due: the k-th once (k − 1) ÷ all of the races before the first look
    /// are held.
    fn solo_due(&self) -> usize {
        let least = self.least();
        let of = (Purpose::Measure, self.run.header.sessions.design);
        let raced: Vec<usize> = self
            .held
            .iter()
            .filter(|held| self.live.contains(&held.pair.candidate))
            .map(|held| {
                self.counts(of, &[held.pair.baseline, held.pair.candidate])
                    .1
            })
            .collect();
        let whole = raced.len() * least;
        if of.1 == Design::Solo || whole == 0 {
            return self.solo_count();
        }
        let held: usize = raced.iter().map(|raced| least.min(*raced)).sum();
        (1 + held * self.solo_count() / whole).min(self.solo_count())
    }

    /// Returns the races that pairs want.
    fn races(&self, wanted: impl Fn(&Held) -> usize) -> Vec<Task> {
        let design = self.run.header.sessions.design;
        if design == Design::Solo {
            return Vec::new();
        }
        let task = |(pair, wanted): (&'run Pair, usize)| {
            let of = (Purpose::Measure, design);
            let cells = vec![pair.baseline, pair.candidate];
            let attempts = self.counts(of, &cells).0;
            let task = Task {
                purpose: of.0,
                design,
                cells,
                wanted,
                attempts,
            };
            (pair, task)
        };
        self.grouped(
            &self
                .wanting(wanted)
                .into_iter()
                .map(task)
                .collect::<Vec<_>>(),
        )
    }

    /// Adds pairs that wait for others to groups that have room: the session takes no longer for them.
    fn filled(&self, mut groups: Vec<Task>) -> Vec<Task> {
        let size = self.run.header.sessions.group.max(2);
        let waiting = |held: &&Held| held.wanted == 0 && held.at_most > 0;
        let racing = |cell: usize| self.racing.contains(&cell);
        for held in self.held.iter().filter(waiting) {
            let cells = [held.pair.baseline, held.pair.candidate];
            let more = |group: &Task| -> Vec<usize> {
                let new = cells.iter().filter(|cell| !group.cells.contains(cell));
                new.copied().collect()
            };
            let fits = |group: &&mut Task| group.cells.len() + more(group).len() <= size;
            let nearest = groups.iter_mut().filter(fits);
            let nearest = nearest.min_by_key(|group| more(group).len());
            if let Some(group) = nearest.filter(|_| cells.into_iter().all(racing)) {
                let more = more(group);
                group.cells.extend(more);
            }
        }
        groups
    }

    /// Returns the fresh sessions still wanted of flagged pairs: races as before, flagged neighbours in one group, or
    /// solo trials in that design.
    fn confirmations(&self) -> Vec<Task> {
        let of = (Purpose::Confirm, self.run.header.sessions.design);
        let flagged = self.wanting(|held| held.fresh);
        if of.1 == Design::Solo {
            return self.each_alone(&flagged);
        }
        let task = |(pair, fresh): (&'run Pair, usize)| {
            (
                pair,
                self.task(of, vec![pair.baseline, pair.candidate], fresh),
            )
        };
        let tasks = flagged.into_iter().map(task);
        self.grouped(
            &tasks
                .filter(|(_, task)| task.wanted > 0)
                .collect::<Vec<_>>(),
        )
    }

    /// Returns the fresh solo trial of each cell of a flagged pair, in designs that hold others.
    fn confirmations_alone(&self) -> Vec<Task> {
        let flagged = self.wanting(|held| held.fresh.min(1));
        match self.run.header.sessions.design {
            Design::Race | Design::Slices => self.each_alone(&flagged),
            Design::Solo => Vec::new(),
        }
    }

    /// Returns fresh solo trials of the cells of some pairs, so many of each.
    fn each_alone(&self, pairs: &[(&'run Pair, usize)]) -> Vec<Task> {
        let mut trials: BTreeMap<usize, usize> = BTreeMap::new();
        for (pair, wanted) in pairs {
            for cell in [pair.baseline, pair.candidate] {
                let most = trials.entry(cell).or_default();
                *most = (*most).max(*wanted);
            }
        }
        let task = |(cell, wanted)| self.task((Purpose::Confirm, Design::Solo), vec![cell], wanted);
        let tasks = trials.into_iter().map(task);
        tasks.filter(|task| task.wanted > 0).collect()
    }

    /// Puts pairs into groups. A group wants what its worst pair wants, and was tried as often as its least tried pair.
    fn grouped(&self, wanting: &[(&'run Pair, Task)]) -> Vec<Task> {
        let pairs: Vec<Pair> = wanting.iter().map(|(pair, _)| (*pair).clone()).collect();
        let group = |cells: Vec<usize>| {
            let inside =
                |pair: &Pair| cells.contains(&pair.baseline) && cells.contains(&pair.candidate);
            let tasks = || {
                wanting
                    .iter()
                    .filter(|(pair, _)| inside(pair))
                    .map(|(_, task)| task)
            };
            let first = tasks().next()?;
            Some(Task {
                purpose: first.purpose,
                design: first.design,
                wanted: tasks().map(|task| task.wanted).max()?,
                attempts: tasks().map(|task| task.attempts).min()?,
                cells,
            })
        };
        let groups = groups(&pairs, self.run.header.sessions.group);
        groups.into_iter().filter_map(group).collect()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::journal::Launched;
    use crate::matrix::Compare;
    use crate::outcome::GapKind;
    use crate::verdict::{self, fixture};

    fn run(count: usize) -> Run {
        let names: Vec<String> = (1..=count).map(|major| format!("{major}.0.0")).collect();
        fixture::run(&names.iter().map(String::as_str).collect::<Vec<_>>())
    }

    /// Holds a session; `fails` says which launches end in a gap of which kind.
    fn hold(run: &mut Run, plan: &SessionPlan, fails: &mut dyn FnMut(usize) -> Option<GapKind>) {
        let launch = |&cell: &usize| match fails(cell) {
            Some(kind) => (cell, Launched::Gap(Gap::new(kind, "it failed"))),
            None => (
                cell,
                Launched::Sample(Box::new(fixture::sample(1000.0, 2.5))),
            ),
        };
        let launches = plan.cells.iter().map(launch).collect();
        fixture::session(run, plan.purpose, plan.design, launches);
        for cell in &plan.cells {
            if let Some(gap) = give_up(run, *cell) {
                run.given_up.insert(*cell, gap);
            }
        }
    }

    /// Returns what is wanted of each pair, with eight fresh sessions of the flagged ones.
    fn held(run: &Run, flagged: &[Pair]) -> Vec<Held> {
        let mut held = verdict::so_far(run).held;
        for pair in &mut held {
            let is_flagged = flagged.contains(&pair.pair) && run.header.rule.confirm;
            pair.fresh = if is_flagged { 8 } else { 0 };
        }
        held
    }

    /// Holds every session that is planned and returns the plans.
    fn finish(
        run: &mut Run,
        flagged: &[Pair],
        fails: &mut dyn FnMut(usize) -> Option<GapKind>,
    ) -> Vec<SessionPlan> {
        let mut plans = Vec::new();
        while let Some(plan) = next(run, &held(run, flagged)) {
            assert!(plans.len() < 10_000, "the plan does not end");
            hold(run, &plan, fails);
            plans.push(plan);
        }
        plans
    }

    fn pair(baseline: usize, candidate: usize) -> Pair {
        Pair {
            baseline,
            candidate,
            skipped: vec![],
        }
    }

    fn count(plans: &[SessionPlan], purpose: Purpose, design: Design, cells: &[usize]) -> usize {
        let holds = |plan: &&SessionPlan| {
            let all = cells.iter().all(|cell| plan.cells.contains(cell));
            plan.purpose == purpose && plan.design == design && all
        };
        plans.iter().filter(holds).count()
    }

    #[test]
    fn each_cell_is_tried_alone_before_any_race_and_then_every_pair_races_as_often_as_asked() {
        let mut run = run(6);
        let plans = finish(&mut run, &[], &mut |_| None);
        let first: BTreeSet<usize> = plans[..6].iter().map(|plan| plan.cells[0]).collect();
        assert!(plans[..6].iter().all(|plan| plan.design == Design::Solo));
        assert_eq!(first.len(), 6);
        for cell in 0..6 {
            assert_eq!(count(&plans, Purpose::Measure, Design::Solo, &[cell]), 3);
        }
        for cell in 0..5 {
            assert_eq!(
                count(&plans, Purpose::Measure, Design::Race, &[cell, cell + 1]),
                8
            );
        }
    }

    #[test]
    fn solo_trials_are_spread_over_the_races() {
        let mut run = run(4);
        let plans = finish(&mut run, &[], &mut |_| None);
        let designs: String = plans
            .iter()
            .map(|plan| {
                if plan.design == Design::Solo {
                    's'
                } else {
                    'r'
                }
            })
            .collect();
        // One group, eight races: the second trials are due at a third of eight, the last at two thirds.
        assert_eq!(designs, "ssssrrrssssrrrssssrr");
    }

    #[test]
    fn pairs_that_wait_for_others_fill_the_groups_that_have_room() {
        let mut run = run(6);
        run.header.sessions.least = 4;
        finish(&mut run, &[], &mut |_| None);
        let cells = |wanted: &[usize]| {
            let held = |baseline: usize| Held {
                wanted: if wanted.contains(&baseline) { 2 } else { 0 },
                at_most: 4,
                ..Held::new(pair(baseline, baseline + 1))
            };
            let held: Vec<Held> = (0..5).map(held).collect();
            let mut cells = next(&run, &held).unwrap().cells;
            cells.sort_unstable();
            cells
        };
        // The next neighbour and the one after it have room beside the pair that is wanted.
        assert_eq!(cells(&[1]), [0, 1, 2, 3]);
        assert_eq!(cells(&[4]), [0, 1, 4, 5]);
    }

    #[test]
    fn groups_go_in_rounds() {
        let mut run = run(10);
        let plans = finish(&mut run, &[], &mut |_| None);
        let races: Vec<BTreeSet<usize>> = plans
            .iter()
            .filter(|plan| plan.design == Design::Race)
            .map(|plan| plan.cells.iter().copied().collect())
            .collect();
        assert_eq!(races.len(), 3 * 8);
        for round in races.chunks(3) {
            assert_eq!(round.iter().collect::<BTreeSet<_>>().len(), 3);
        }
        let first: BTreeSet<&BTreeSet<usize>> = races.chunks(3).map(|round| &round[0]).collect();
        assert!(first.len() > 1, "every round begins with the same group");
    }

    #[test]
    fn flagged_pairs_are_raced_again_alone_when_all_else_is_done() {
        let mut run = run(4);
        let before = finish(&mut run, &[], &mut |_| None).len();
        let flagged = [pair(1, 2)];
        assert_eq!(estimate(&run, &held(&run, &flagged)), 10);
        let after = finish(&mut run, &flagged, &mut |_| None);
        assert_eq!(count(&after, Purpose::Confirm, Design::Race, &[1, 2]), 8);
        for cell in [1, 2] {
            assert_eq!(count(&after, Purpose::Confirm, Design::Solo, &[cell]), 1);
        }
        assert_eq!((before, after.len()), (20, 10));
        run.header.rule.confirm = false;
        run.sessions.truncate(before);
        assert_eq!(next(&run, &held(&run, &flagged)), None);
    }

    #[test]
    fn in_the_solo_design_each_block_holds_each_cell_once_and_confirmation_is_alone_too() {
        let mut run = run(3);
        run.header.sessions.design = Design::Solo;
        let plans = finish(&mut run, &[], &mut |_| None);
        assert_eq!(plans.len(), 3 * 8);
        for block in plans.chunks(3) {
            let cells: BTreeSet<usize> = block.iter().flat_map(|plan| plan.cells.clone()).collect();
            assert_eq!(cells.len(), 3);
        }
        let confirm = finish(&mut run, &[pair(0, 1), pair(1, 2)], &mut |_| None);
        assert_eq!(count(&confirm, Purpose::Confirm, Design::Solo, &[1]), 8);
        assert_eq!(confirm.len(), 3 * 8);
    }

    #[test]
    fn every_race_of_a_star_holds_the_reference() {
        let mut run = run(8);
        run.header.compare = Compare::Reference("3.0.0".to_owned());
        let plans = finish(&mut run, &[], &mut |_| None);
        let races = plans.iter().filter(|plan| plan.design == Design::Race);
        // Seven others, at most three at once with the reference.
        assert_eq!(races.clone().count(), 3 * 8);
        assert!(races.clone().all(|plan| plan.cells.contains(&2)));
        for cell in [0, 1, 3, 4, 5, 6, 7] {
            assert_eq!(count(&plans, Purpose::Measure, Design::Race, &[2, cell]), 8);
        }
        let confirm = finish(&mut run, &[pair(2, 0), pair(2, 6)], &mut |_| None);
        assert_eq!(
            count(&confirm, Purpose::Confirm, Design::Race, &[0, 2, 6]),
            8
        );
        assert_eq!(confirm.len(), 8 + 3);
    }

    #[test]
    fn a_cell_that_never_starts_is_given_up_after_two_trials_and_its_neighbours_meet() {
        let mut run = run(3);
        let plans = finish(&mut run, &[], &mut |cell| {
            (cell == 1).then_some(GapKind::Exited)
        });
        assert_eq!(count(&plans, Purpose::Measure, Design::Solo, &[1]), 2);
        assert_eq!(count(&plans, Purpose::Measure, Design::Race, &[0, 2]), 8);
        assert_eq!(run.given_up[&1].kind, GapKind::Exited);
    }

    #[test]
    fn a_passing_trouble_is_tried_four_times() {
        let mut run = run(2);
        let plans = finish(&mut run, &[], &mut |cell| {
            (cell == 1).then_some(GapKind::PortTaken)
        });
        assert_eq!(count(&plans, Purpose::Measure, Design::Solo, &[1]), 4);
        assert_eq!(count(&plans, Purpose::Measure, Design::Race, &[]), 0);
    }

    /// Says of the last session how busy the machine was with something else.
    fn burden(run: &mut Run, share: f64) {
        let session = run.sessions.last_mut().unwrap();
        fixture::measured_for(session, 2.0);
        session.others_share = share;
    }

    /// Holds every session that is planned; in some, by their number, the machine is busy with something else.
    fn finish_amid_others(
        run: &mut Run,
        is_busy: &dyn Fn(usize) -> bool,
        fails: &mut dyn FnMut(usize) -> Option<GapKind>,
    ) -> Vec<SessionPlan> {
        let mut plans = Vec::new();
        while let Some(plan) = next(run, &held(run, &[])) {
            assert!(plans.len() < 10_000, "the plan does not end");
            hold(run, &plan, fails);
            burden(run, if is_busy(plans.len()) { 0.5 } else { 0.02 });
            plans.push(plan);
        }
        plans
    }

    #[test]
    fn sessions_that_the_machine_spoilt_are_held_again() {
        let mut run = run(2);
        let is_busy = |number: usize| [1, 4, 7].contains(&number);
        let plans = finish_amid_others(&mut run, &is_busy, &mut |_| None);
        let spoilt: Vec<usize> = polluted(&run).into_iter().collect();
        assert_eq!(spoilt, [1, 4, 7]);
        let of = |design| {
            let all = plans.iter().filter(|plan| plan.design == design).count();
            let spoilt = spoilt.iter().filter(|at| plans[**at].design == design);
            (all, spoilt.count())
        };
        let (solos, races) = (of(Design::Solo), of(Design::Race));
        assert_eq!(solos.0, 6 + solos.1);
        assert_eq!(races.0, 8 + races.1);
        assert_eq!(plans[1].cells, plans[2].cells, "before any race");
    }

    #[test]
    fn a_version_that_was_late_only_on_a_busy_machine_is_not_given_up() {
        let given_up = |share: f64, kind| {
            let mut run = run(2);
            let failed = || Launched::Gap(Gap::new(kind, "it was late"));
            for number in 0..8 {
                fixture::race(&mut run, Purpose::Measure, &[(0, 500.0), (1, 500.0)]);
                burden(&mut run, if number % 2 == 1 { share } else { 0.02 });
                // In the quiet sessions it has no part.
                let launches = &mut run.sessions[number].launches;
                launches[1].outcome = failed();
                launches.truncate(1 + number % 2);
            }
            give_up(&run, 1).map(|gap| gap.kind)
        };
        assert_eq!(given_up(0.02, GapKind::Stalled), Some(GapKind::Stalled));
        assert_eq!(given_up(0.5, GapKind::Exited), Some(GapKind::Exited));
        assert_eq!(given_up(0.5, GapKind::Stalled), None);
    }

    #[test]
    fn one_failure_in_three_launches_is_not_the_end_of_a_cell() {
        let mut run = run(1);
        let mut outcomes = [Some(GapKind::Crashed), None, None].into_iter();
        for _ in 0..3 {
            let plan = SessionPlan {
                purpose: Purpose::Measure,
                design: Design::Solo,
                cells: vec![0],
                seed: 0,
            };
            hold(&mut run, &plan, &mut |_| outcomes.next().flatten());
            assert_eq!(give_up(&run, 0), None);
        }
    }

    #[test]
    fn what_was_not_built_is_not_launched_and_one_cell_does_not_race() {
        let mut run = run(2);
        run.builds
            .insert(0, Built::Gap(Gap::new(GapKind::Failed, "it did not link")));
        let plans = finish(&mut run, &[], &mut |_| None);
        assert_eq!(plans.len(), 3);
        assert!(plans.iter().all(|plan| plan.cells == [1]));
    }

    #[test]
    fn another_seed_gives_another_order() {
        let orders = |seed| {
            let mut run = run(5);
            run.header.seed = seed;
            finish(&mut run, &[], &mut |_| None)
        };
        assert_eq!(orders(1), orders(1));
        assert_ne!(orders(1), orders(2));
        let seeds: BTreeSet<u64> = orders(1).iter().map(|plan| plan.seed).collect();
        assert_eq!(seeds.len(), orders(1).len(), "each session has its own");
    }

    /// Returns a launch's fate by chance: fails with `percent` %.
    fn chance(percent: u32, seed: u64) -> impl FnMut(usize) -> Option<GapKind> {
        let mut random = Pcg64::seed_from_u64(seed);
        move |_| {
            let kinds = [GapKind::Crashed, GapKind::PortTaken, GapKind::NotReady];
            let kind = kinds.choose(&mut random).copied();
            kind.filter(|_| random.random_range(0..100) < percent)
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, cases: 64, ..ProptestConfig::default() })]

        #[test]
        fn the_two_of_each_pair_share_one_group_no_greater_than_asked(
            parents in prop::collection::vec(prop::option::weighted(0.9, 0..40_usize), 0..40), size in 0..9_usize,
        ) {
            let baseline = |(candidate, parent): (usize, &Option<usize>)| {
                parent.filter(|_| candidate > 0).map(|parent| pair(parent % candidate, candidate))
            };
            let pairs: Vec<Pair> = parents.iter().enumerate().filter_map(baseline).collect();
            let groups = groups(&pairs, size);
            for group in &groups {
                prop_assert!((2..=size.max(2)).contains(&group.len()));
                prop_assert_eq!(group.iter().collect::<BTreeSet<_>>().len(), group.len());
            }
            for pair in &pairs {
                let both = |group: &&Vec<usize>| group.contains(&pair.baseline) && group.contains(&pair.candidate);
                prop_assert!(groups.iter().any(|group| both(&group)));
            }
        }

        #[test]
        fn chains_and_stars_are_cut_into_as_few_groups_as_can_be_of_nearly_one_size(
            length in 0..40_usize, size in 2..9_usize, star: bool,
        ) {
            let step = |place: usize| pair(if star { 0 } else { place }, place + 1);
            let pairs: Vec<Pair> = (0..length).map(step).collect();
            let groups = groups(&pairs, size);
            prop_assert_eq!(groups.len(), length.div_ceil(size - 1));
            let sizes = || groups.iter().map(Vec::len);
            prop_assert!(sizes().max().unwrap_or(0) - sizes().min().unwrap_or(0) <= 1);
            prop_assert!(!star || groups.iter().all(|group| group[0] == 0));
        }

        #[test]
        fn whatever_fails_the_plan_ends_and_tries_nothing_without_bound(
            cells in 0..7_usize, percent in 0..=100_u32, seed: u64, solo: bool,
        ) {
            let mut run = run(cells);
            run.header.seed = seed;
            run.header.sessions.design = if solo { Design::Solo } else { Design::Race };
            let flagged = if cells > 1 { vec![pair(0, 1)] } else { vec![] };
            let plans = finish(&mut run, &flagged, &mut chance(percent, seed));
            for cell in 1..cells {
                let races = count(&plans, Purpose::Confirm, Design::Race, &[cell - 1, cell]);
                prop_assert!(races <= 2 * 8 + 2);
            }
            for cell in 0..cells {
                prop_assert!(count(&plans, Purpose::Measure, Design::Solo, &[cell]) <= 2 * 8 + 2);
            }
        }

        #[test]
        fn however_busy_the_machine_is_the_plan_ends_and_repeats_nothing_without_bound(
            cells in 1..5_usize, percent in 0..=100_u32, seed: u64,
        ) {
            let mut run = run(cells);
            run.header.seed = seed;
            let mut random = Pcg64::seed_from_u64(seed);
            let busy: Vec<bool> = (0..10_000).map(|_| random.random_range(0..100) < percent).collect();
            let plans = finish_amid_others(&mut run, &|number| busy[number], &mut chance(10, seed));
            for cell in 1..cells {
                prop_assert!(count(&plans, Purpose::Measure, Design::Race, &[cell - 1, cell]) <= 2 * 8 + 2);
            }
            for cell in 0..cells {
                prop_assert!(count(&plans, Purpose::Measure, Design::Solo, &[cell]) <= 2 * 3 + 2);
            }
        }

        #[test]
        fn a_run_killed_anywhere_goes_on_as_it_would_have(
            cells in 1..6_usize, percent in 0..60_u32, seed: u64, cut in 0.0..1.0_f64,
        ) {
            let mut whole = run(cells);
            whole.header.seed = seed;
            let plans = finish(&mut whole, &[], &mut chance(percent, seed));
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a share of a small count")]
            let kept = (cut * crate::stats::real(plans.len())) as usize;
            let mut again = run(cells);
            again.header.seed = seed;
            again.sessions = whole.sessions[..kept].to_vec();
            // The line that gives a cell up may have been torn off; then it is written again before anything is planned.
            for cell in 0..cells {
                again.given_up.extend(give_up(&again, cell).map(|gap| (cell, gap)));
            }
            prop_assert_eq!(next(&again, &held(&again, &[])), plans.get(kept).cloned());
        }

        #[test]
        fn the_estimate_is_what_it_takes_when_nothing_fails(
            cells in 0..9_usize, done in 0..60_usize, seed: u64, star: bool,
        ) {
            let mut run = run(cells);
            run.header.seed = seed;
            if star {
                run.header.compare = Compare::Reference("3.0.0".to_owned());
            }
            for _ in 0..done {
                if let Some(plan) = next(&run, &held(&run, &[])) {
                    hold(&mut run, &plan, &mut |_| None);
                }
            }
            let left = estimate(&run, &held(&run, &[]));
            prop_assert_eq!(finish(&mut run, &[], &mut |_| None).len(), left);
        }
    }
}
