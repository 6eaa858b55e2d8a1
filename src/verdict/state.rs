//! What a journal says of each cell: measured, a gap, or not come to yet.

use std::collections::BTreeSet;

use crate::journal::{Built, Client, Launch, Launched, Purpose, Run, SessionRecord};
use crate::matrix::Design;
use crate::outcome::{Gap, GapKind, Sample};

/// The journal's schema from which on a session says itself whether the client set its pace.
const SAYS_WHO_SET_THE_PACE: u32 = 3;

/// What is known of one cell.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum State {
    /// It has at least one sample.
    Measured,
    /// It has no number, and this is why.
    Gap(Gap),
    /// The run has not come to it.
    Pending,
}

/// Returns what is known of a cell: its being given up, then its build, then its samples, then its last failed launch.
pub(crate) fn state(run: &Run, cell: usize) -> State {
    if let Some(gap) = run.given_up.get(&cell) {
        return State::Gap(gap.clone());
    }
    if let Some(Built::Gap(gap)) = run.builds.get(&cell) {
        return State::Gap(gap.clone());
    }
    if launches(run, cell).any(|(_, launch)| sample(launch).is_some()) {
        return State::Measured;
    }
    match launches(run, cell)
        .filter(|(_, launch)| !is_interrupted(launch))
        .filter_map(|(_, launch)| gap(launch))
        .last()
    {
        Some(gap) => State::Gap(gap),
        None => State::Pending,
    }
}

/// Returns every launch of a cell with its session, in order.
pub(crate) fn launches(run: &Run, cell: usize) -> impl Iterator<Item = (&SessionRecord, &Launch)> {
    run.sessions.iter().flat_map(move |session| {
        let own = session
            .launches
            .iter()
            .filter(move |launch| launch.cell == cell);
        own.map(move |launch| (session, launch))
    })
}

/// Returns the sessions of a purpose and a design in which all of some cells were launched.
pub(crate) fn held<'run>(
    run: &'run Run,
    (purpose, design): (Purpose, Design),
    cells: &[usize],
) -> impl Iterator<Item = &'run SessionRecord> {
    let of_kind =
        move |session: &&SessionRecord| session.purpose == purpose && session.design == design;
    let all_there = move |session: &&SessionRecord| {
        let there = |cell: &usize| session.launches.iter().any(|launch| launch.cell == *cell);
        cells.iter().all(there)
    };
    run.sessions.iter().filter(of_kind).filter(all_there)
}

/// Returns the samples of a cell's solo trials, in order.
pub(crate) fn solo_samples(run: &Run, cell: usize) -> impl Iterator<Item = &Sample> {
    launches(run, cell)
        .filter(|(session, _)| session.design == Design::Solo)
        .filter_map(|(_, launch)| sample(launch))
}

/// Returns the logarithms of answers per second of a cell's solo trials. Those that the machine spoilt, and those in which
/// the client set the pace, are among them only where there are no others: of the latter the server gives at least as many.
pub(crate) fn solo_rates(run: &Run, cell: usize, polluted: &BTreeSet<usize>) -> Vec<f64> {
    let rates = |spoilt: bool, bound: bool| -> Vec<f64> {
        let sessions = run.sessions.iter().enumerate();
        let kind = sessions.filter(|(place, session)| {
            session.design == Design::Solo
                && (spoilt || !polluted.contains(place))
                && is_client_bound(run, session) == bound
        });
        let launches = kind.flat_map(|(_, session)| &session.launches);
        let own = launches.filter(|launch| launch.cell == cell);
        own.filter_map(sample)
            .map(|sample| sample.load.fetches_per_second().ln())
            .collect()
    };
    let choices = [(false, false), (true, false), (false, true), (true, true)];
    let found = choices.map(|(spoilt, bound)| rates(spoilt, bound));
    let first = found.into_iter().find(|rates| !rates.is_empty());
    first.unwrap_or_default()
}

/// Returns whether the client and not the servers set the pace of a session.
pub(crate) fn is_client_bound(run: &Run, session: &SessionRecord) -> bool {
    let says = run.header.schema >= SAYS_WHO_SET_THE_PACE;
    session.client.generator_bound
        || (!says && Client::sets_the_pace(session.client_share, session.server_share))
}

/// Returns a launch's sample if it counted at least one answer in some time; never a zero.
pub(crate) fn sample(launch: &Launch) -> Option<&Sample> {
    match &launch.outcome {
        Launched::Sample(sample) if sample.load.fetches_per_second() > 0.0 => Some(sample),
        Launched::Sample(_) | Launched::Gap(_) => None,
    }
}

/// Returns whether a launch ended through no fault of its own: there was nobody left to race against.
pub(crate) fn is_interrupted(launch: &Launch) -> bool {
    matches!(&launch.outcome, Launched::Gap(gap) if gap.kind == GapKind::Interrupted)
}

/// Returns why a launch gave no sample.
pub(crate) fn gap(launch: &Launch) -> Option<Gap> {
    match &launch.outcome {
        Launched::Gap(gap) => Some(gap.clone()),
        Launched::Sample(_) if sample(launch).is_none() => Some(Gap::new(
            GapKind::Stalled,
            "no right answer was counted in the measured part",
        )),
        Launched::Sample(_) => None,
    }
}
