//! Sessions in which the machine was busy with something else: found by its own signs, before any value is looked at. Pure.

use std::collections::BTreeSet;

use super::state::gap;
use crate::journal::{Launch, Run, SessionRecord};
use crate::matrix::Design;
use crate::outcome::GapKind;
use crate::stats::real;

/// By how much the burden of a session must exceed what is usual …
const MORE: f64 = 0.10;

/// … and how many times what is usual it must be.
const TIMES: f64 = 2.0;

/// Of a shorter measured part nothing is said: in a second ticks of 4 ms tell a share of two CPUs to 2 points (sd), in less
/// they tell little more than noise.
const LEAST_SECONDS: f64 = 1.0;

/// The journal's schema from which on sessions say what others took.
const SAYS_WHAT_OTHERS_TOOK: u32 = 4;

/// Returns which sessions of a run do not count, by their places in it.
///
/// A session's burden is what kept its servers and its load from their CPUs: CPU time stolen by the hypervisor and used by
/// others, as shares of all CPUs in use, and time in which the load's threads were ready and waited, as a share of theirs. It
/// is polluted when that is more than twice the median over the sessions of its design up to it, and more than 10 points
/// above that. A tenth of the CPU is what one busy process on two CPUs takes in a fifth of the time. Against the median,
/// because a machine that is always busy is so for all versions.
///
/// Nothing of what the servers gave or used goes into it, so leaving such sessions out favours no version; and nothing that
/// came later, so a session that counted once counts for ever.
pub(crate) fn polluted(run: &Run) -> BTreeSet<usize> {
    if run.header.schema < SAYS_WHAT_OTHERS_TOOK {
        return BTreeSet::new();
    }
    let mut polluted = BTreeSet::new();
    for design in [Design::Race, Design::Slices, Design::Solo] {
        // In order, for the median.
        let mut burdens: Vec<f64> = Vec::new();
        let sessions = run.sessions.iter().enumerate();
        for (place, session) in sessions.filter(|(_, session)| session.design == design) {
            let Some(burden) = burden(session, run.header.cpus.load.len()) else {
                continue;
            };
            burdens.insert(burdens.partition_point(|other| *other < burden), burden);
            let usual = middle(&burdens);
            if burden > usual * TIMES && burden > usual + MORE {
                polluted.insert(place);
            }
        }
    }
    polluted
}

/// Returns the median of values in ascending order; of an even number the lower of the middle two.
fn middle(sorted: &[f64]) -> f64 {
    sorted[(sorted.len() - 1) / 2]
}

/// Returns what kept servers and load from their CPUs, as a share; none where too little was measured to tell.
fn burden(session: &SessionRecord, load_cpus: usize) -> Option<f64> {
    let seconds: f64 = session.windows.iter().map(|window| window.seconds).sum();
    let waited = session.client.run_delay_seconds / (seconds * real(load_cpus.max(1)));
    (seconds >= LEAST_SECONDS).then_some(session.steal_share + session.others_share + waited)
}

/// Returns whether a launch failed as a busy machine makes it fail: in a polluted session that is held against nobody.
pub(crate) fn may_be_the_machines(launch: &Launch) -> bool {
    gap(launch).is_some_and(|gap| matches!(gap.kind, GapKind::NotReady | GapKind::Stalled))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::fixture::{NOISE, measure, measured_for, race, run, sample};
    use super::super::{Verdict, Warning, judge, so_far};
    use super::*;
    use crate::journal::{Launched, Purpose};
    use crate::outcome::Gap;

    /// Makes a run of races with these burdens: the first thing of three that can be one, in turn.
    fn burdened(burdens: &[f64]) -> Run {
        let mut run = run(&["1.0.0", "2.0.0"]);
        for (place, burden) in burdens.iter().enumerate() {
            race(&mut run, Purpose::Measure, &[(0, 8000.0), (1, 8000.0)]);
            let session = run.sessions.last_mut().unwrap();
            measured_for(session, 2.0);
            match place % 3 {
                0 => session.steal_share = *burden,
                1 => session.others_share = *burden,
                _ => session.client.run_delay_seconds = *burden * 2.0,
            }
        }
        run
    }

    fn places(burdens: &[f64]) -> Vec<usize> {
        polluted(&burdened(burdens)).into_iter().collect()
    }

    #[test]
    fn a_session_far_above_what_is_usual_does_not_count() {
        assert_eq!(places(&[0.01, 0.02, 0.01, 0.30, 0.02, 0.2]), [3, 5]);
    }

    #[test]
    fn little_more_than_usual_and_what_is_always_so_count() {
        assert_eq!(places(&[0.01, 0.10, 0.02, 0.11]), [0; 0]);
        assert_eq!(places(&[0.4, 0.45, 0.5, 0.4, 0.6]), [0; 0]);
        assert_eq!(places(&[0.4, 0.45, 0.5, 0.4, 0.95]), [4]);
    }

    #[test]
    fn the_first_session_has_nothing_to_be_held_against() {
        assert_eq!(places(&[0.9]), [0; 0]);
    }

    #[test]
    fn what_was_hardly_measured_is_neither_spoilt_nor_usual() {
        let mut run = burdened(&[0.02, 0.02, 0.9, 0.4, 0.45]);
        for place in [0, 1, 2] {
            measured_for(&mut run.sessions[place], 0.9);
        }
        assert_eq!(polluted(&run).len(), 0);
        measured_for(&mut run.sessions[0], 1.0);
        assert_eq!(polluted(&run).into_iter().collect::<Vec<_>>(), [3]);
    }

    #[test]
    fn only_what_waiting_explains_may_be_the_machines() {
        let launch = |outcome| Launch {
            cell: 0,
            outcome,
            log: None,
        };
        let gap = |kind| launch(Launched::Gap(Gap::new(kind, "it failed")));
        assert!(may_be_the_machines(&gap(GapKind::NotReady)));
        assert!(may_be_the_machines(&gap(GapKind::Stalled)));
        assert!(!may_be_the_machines(&gap(GapKind::Exited)));
        let measured = Launched::Sample(Box::new(sample(1.0, 1.0)));
        assert!(!may_be_the_machines(&launch(measured)));
    }

    #[test]
    fn journals_that_do_not_say_it_have_none() {
        let mut run = burdened(&[0.0, 0.0, 0.9]);
        assert_eq!(polluted(&run).len(), 1);
        run.header.schema = 3;
        assert_eq!(polluted(&run).len(), 0);
    }

    #[test]
    fn a_polluted_session_gives_no_value_and_is_held_again() {
        let mut run = run(&["1.0.0", "2.0.0"]);
        let step = [(0, 8000.0), (1, 8000.0)];
        measure(&mut run, Purpose::Measure, &step, &NOISE);
        for session in &mut run.sessions {
            measured_for(session, 2.0);
        }
        let whole = so_far(&run).held;
        run.sessions[5].steal_share = 0.5;
        let judged = judge(&run).comparisons.remove(0);
        assert_eq!((judged.verdict, judged.sessions), (Verdict::Same, 7));
        assert!(judged.warnings.contains(&Warning::Polluted { sessions: 1 }));
        let held = so_far(&run).held;
        assert_eq!((whole[0].wanted, held[0].wanted), (0, 1));
        assert!(crate::plan::next(&run, &held).is_some());
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn what_comes_later_and_what_servers_gave_change_nothing(
            burdens in prop::collection::vec(0.0..1.0_f64, 1..30), kept in 0..30_usize, rate in 1.0..1e6_f64,
        ) {
            let whole = burdened(&burdens);
            let mut cut = whole.clone();
            cut.sessions.truncate(kept);
            let before: BTreeSet<usize> = polluted(&whole).into_iter().filter(|place| *place < kept).collect();
            prop_assert_eq!(polluted(&cut), before);
            let mut other = run(&["1.0.0", "2.0.0"]);
            for session in &whole.sessions {
                race(&mut other, Purpose::Measure, &[(0, rate), (1, 2.0 * rate)]);
                let last = other.sessions.last_mut().unwrap();
                measured_for(last, 2.0);
                (last.steal_share, last.others_share) = (session.steal_share, session.others_share);
                last.client = session.client.clone();
            }
            prop_assert_eq!(polluted(&other), polluted(&whole));
        }
    }
}
