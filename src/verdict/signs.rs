//! What the figures of one version give away of how they came about: by queueing theory, by TCP, by who was busy. Pure.

use super::Sign;
use super::state::{is_client_bound, launches, sample};
use crate::journal::{Run, SessionRecord};
use crate::matrix::{Design, Tool, Workload};
use crate::outcome::{Latency, LoadFigures, Sample};
use crate::stats::median;

/// Part by which answers per second × mean latency may differ from the requests under way.
const LITTLES_PART: f64 = 0.05;

/// The two are held against each other over at least this many answers …
const ENOUGH_ANSWERS: u64 = 500;

/// … and over this many times the 99th percentile of latency, so that what began before the measured part weighs little.
const ENOUGH_TIME: f64 = 50.0;

/// An acknowledgement that TCP holds back comes after 40 ms, at one of the next turns of a clock of 250 Hz, ms.
const HELD_BACK: std::ops::Range<f64> = 39.0..49.0;

/// Nobody is busy who uses less than this share of the CPU.
const IDLE: f64 = 0.5;

/// Less than this share of a given rate is not the rate.
const KEPT: f64 = 0.95;

/// Returns what a reader of a version's figures should know.
pub(crate) fn signs(run: &Run, cell: usize) -> Vec<Sign> {
    let signs = [
        at_least(run, cell),
        rate_not_kept(run, cell),
        against_littles_law(run, cell),
        delayed_ack(run, cell),
    ];
    signs.into_iter().flatten().collect()
}

/// Returns a version's samples with their sessions.
fn samples(run: &Run, cell: usize) -> impl Iterator<Item = (&SessionRecord, &Sample)> {
    launches(run, cell).filter_map(|(session, launch)| Some((session, sample(launch)?)))
}

/// Warns where a version was alone only with a client that set the pace.
fn at_least(run: &Run, cell: usize) -> Option<Sign> {
    let mut alone = samples(run, cell).filter(|(session, _)| session.design == Design::Solo);
    let bound = |(session, _): (&SessionRecord, _)| is_client_bound(run, session);
    let any = alone.next().is_some_and(bound);
    (any && alone.all(bound)).then_some(Sign::AtLeast { cell })
}

/// Warns where a version did not come up to a given rate.
fn rate_not_kept(run: &Run, cell: usize) -> Option<Sign> {
    #[expect(clippy::cast_precision_loss, reason = "a rate is far below 2^53")]
    let rate = run.header.workload.manner.rate? as f64;
    let kept = |(_, sample): (_, &Sample)| sample.load.fetches_per_second() / rate;
    let share = median(&samples(run, cell).map(kept).collect::<Vec<_>>())?;
    (share < KEPT).then_some(Sign::RateNotKept { cell, share })
}

/// Warns where most samples of a version contradict Little's law.
fn against_littles_law(run: &Run, cell: usize) -> Option<Sign> {
    let of = |(session, sample): (&SessionRecord, &Sample)| {
        contradiction(&sample.load, &run.header.workload, session.design)
    };
    let found: Vec<Option<(f64, f64)>> = samples(run, cell).map(of).collect();
    let wrong: Vec<(f64, f64)> = found.iter().copied().flatten().collect();
    if wrong.len() * 2 <= found.len() {
        return None;
    }
    let middle = |part: fn(&(f64, f64)) -> f64| median(&wrong.iter().map(part).collect::<Vec<_>>());
    Some(Sign::LittlesLaw {
        cell,
        expected: middle(|pair| pair.0)?,
        found: middle(|pair| pair.1)?,
    })
}

/// Returns the requests under way, as counted and as answers per second × mean latency, where the two differ by more than
/// they may. By Little's law they are one number, whatever the server does: a load that finds two has counted wrongly.
pub(crate) fn contradiction(
    load: &LoadFigures,
    workload: &Workload,
    design: Design,
) -> Option<(f64, f64)> {
    // With a given rate both count from the time at which a request was due.
    let found = load.fetches_per_second() * load.latency.mean / 1e3;
    let counted = (load.in_flight > 0.0).then_some(load.in_flight);
    let known = always_under_way(load, workload, design);
    let long = load.seconds * 1e3 >= ENOUGH_TIME * load.latency.p99;
    let enough = long && load.answers >= ENOUGH_ANSWERS;
    let wrong = |expected: &f64| enough && (found / expected - 1.0).abs() > LITTLES_PART;
    let expected = counted.into_iter().chain(known).find(wrong)?;
    Some((expected, found))
}

/// Returns how many requests were under way all the time: in a closed loop as many as there are connections, as long as
/// each asks again at once.
fn always_under_way(load: &LoadFigures, workload: &Workload, design: Design) -> Option<f64> {
    let manner = &workload.manner;
    let closed = manner.rate.is_none() && manner.tool == Tool::Native;
    let one_at_a_time = manner.pipeline.is_none() && manner.streams.is_none();
    let connections = u64::from(workload.connections);
    // Opening a connection takes time that is no latency, and so does the pause after a failure.
    let kept = workload.keep_alive && load.connections_opened <= connections + load.answers / 100;
    let whole = load.failed() <= load.answers / 100;
    // Between two turns of a server nothing is asked of it.
    let steady = design != Design::Slices;
    (closed && one_at_a_time && kept && whole && steady).then_some(f64::from(workload.connections))
}

/// Warns where most samples that nobody was busy in show answers which wait for an acknowledgement.
fn delayed_ack(run: &Run, cell: usize) -> Option<Sign> {
    let idle: Vec<bool> = samples(run, cell)
        .filter(|(session, _)| is_idle(session))
        .map(|(_, sample)| shows_held_back(&sample.load.latency))
        .collect();
    let waiting = idle.iter().filter(|waits| **waits).count();
    (waiting * 2 > idle.len()).then_some(Sign::DelayedAck { cell })
}

/// Returns whether the answers of a sample wait for an acknowledgement, as far as its session tells.
///
/// A server that writes an answer in two pieces, and lets TCP hold the second back until the first is acknowledged
/// (Nagle's algorithm), waits for a client that holds its acknowledgement back for 40 ms in the hope of something to send
/// with it. Meanwhile nobody has anything to do.
pub(crate) fn waits_for_acknowledgements(session: &SessionRecord, sample: &Sample) -> bool {
    is_idle(session) && shows_held_back(&sample.load.latency)
}

fn is_idle(session: &SessionRecord) -> bool {
    session.client_share < IDLE && session.server_share < IDLE
}

/// Returns whether the median is what a held back acknowledgement takes, or two neighbouring percentiles above it are: then
/// enough answers to matter take just as long.
fn shows_held_back(latency: &Latency) -> bool {
    let above = [latency.p75, latency.p90, latency.p95, latency.p99];
    // Older journals do not have all of them.
    let above: Vec<f64> = above.into_iter().filter(|value| *value > 0.0).collect();
    let held_back = |value: &f64| HELD_BACK.contains(value);
    held_back(&latency.p50) || above.windows(2).any(|two| two.iter().all(held_back))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::journal::{Launched, Purpose};
    use crate::matrix::Manner;
    use crate::verdict::fixture::{run, sample, session, solo};

    /// Makes a run of one version with three solo trials, each changed in the same way.
    fn trials(change: impl Fn(&mut Sample)) -> Run {
        let mut run = run(&["1.0.0"]);
        for _ in 0..3 {
            let mut sample = sample(8000.0, 9.9);
            change(&mut sample);
            let launch = Launched::Sample(Box::new(sample));
            session(&mut run, Purpose::Measure, Design::Solo, vec![(0, launch)]);
        }
        run
    }

    #[test]
    fn ordinary_figures_give_nothing_away() {
        assert_eq!(signs(&trials(|_| {}), 0), []);
    }

    #[test]
    fn latency_that_does_not_fit_the_connections_is_a_contradiction() {
        let run = trials(|sample| sample.load.latency.mean *= 0.94);
        let [
            Sign::LittlesLaw {
                cell: 0,
                expected,
                found,
            },
        ] = signs(&run, 0)[..]
        else {
            panic!("{:?}", signs(&run, 0));
        };
        assert!((expected - 100.0).abs() < 1e-9 && (found - 94.0).abs() < 1e-9);
        assert_eq!(
            signs(&trials(|sample| sample.load.latency.mean *= 0.96), 0),
            []
        );
    }

    #[test]
    fn requests_under_way_are_held_against_what_was_counted_in_any_load() {
        let mut run = trials(|sample| {
            sample.load.latency.mean = 2.5;
            sample.load.in_flight = 20.0;
        });
        run.header.workload.manner.rate = Some(8000);
        assert_eq!(signs(&run, 0), []);
        for session in &mut run.sessions {
            if let Launched::Sample(sample) = &mut session.launches[0].outcome {
                sample.load.in_flight = 25.0;
            }
        }
        let expected = (25.0, 20.0);
        let found = Sign::LittlesLaw {
            cell: 0,
            expected: expected.0,
            found: expected.1,
        };
        assert_eq!(signs(&run, 0), [found]);
    }

    /// Returns whether latency that fits no connections is told, with that change to load and figures.
    fn told(change: impl Fn(&mut LoadFigures), manner: Manner, design: Design) -> bool {
        let mut run = trials(|sample| {
            sample.load.latency.mean /= 2.0;
            change(&mut sample.load);
        });
        run.header.workload.manner = manner;
        for session in &mut run.sessions {
            session.design = design;
        }
        !signs(&run, 0).is_empty()
    }

    #[test]
    fn connections_say_nothing_where_they_do_not_ask_all_the_time() {
        let plain = Manner::default;
        assert!(told(|_| {}, plain(), Design::Race));
        assert!(!told(|_| {}, plain(), Design::Slices));
        let pipelined = Manner {
            pipeline: Some(4),
            ..plain()
        };
        assert!(!told(|_| {}, pipelined, Design::Race));
        let reconnecting = |load: &mut LoadFigures| load.connections_opened = load.answers;
        assert!(!told(reconnecting, plain(), Design::Race));
        let few = |load: &mut LoadFigures| load.answers = 400;
        assert!(!told(few, plain(), Design::Race));
        let short = |load: &mut LoadFigures| load.latency.p99 = 250.0;
        assert!(!told(short, plain(), Design::Race));
    }

    /// Returns whether a session is idle and shows answers that wait, with these percentiles from the median to the 99th.
    fn waits(percentiles: [f64; 5], shares: (f64, f64)) -> bool {
        let mut run = trials(|sample| {
            let latency = &mut sample.load.latency;
            [
                latency.p50,
                latency.p75,
                latency.p90,
                latency.p95,
                latency.p99,
            ] = percentiles;
        });
        for session in &mut run.sessions {
            (session.client_share, session.server_share) = shares;
        }
        signs(&run, 0) == [Sign::DelayedAck { cell: 0 }]
    }

    #[test]
    fn answers_of_forty_milliseconds_while_nobody_is_busy_wait_for_an_acknowledgement() {
        // Node 0.10.32 over 50 connections, from a journal without the 95th percentile.
        assert!(waits([44.0, 44.1, 44.2, 0.0, 47.6], (0.02, 0.05)));
        // The same on a busier machine, a turn of the clock later.
        assert!(waits([48.04, 48.1, 52.0, 52.0, 52.0], (0.01, 0.01)));
        // One answer in five waits.
        assert!(waits([0.3, 0.4, 40.1, 41.0, 41.2], (0.1, 0.2)));
        assert!(waits([0.3, 0.4, 40.1, 0.0, 41.2], (0.1, 0.2)));
    }

    #[test]
    fn slow_answers_of_another_kind_do_not() {
        assert!(!waits([44.0; 5], (0.02, 0.99)), "the server is busy");
        assert!(!waits([44.0; 5], (0.99, 0.05)), "the client is busy");
        assert!(!waits([1.0, 12.0, 25.0, 39.5, 60.0], (0.1, 0.1)));
        assert!(!waits([50.1; 5], (0.1, 0.1)));
        assert!(!waits([0.0; 5], (0.1, 0.1)));
    }

    #[test]
    fn a_rate_that_is_not_kept_is_told() {
        let mut run = run(&["1.0.0"]);
        run.header.workload.manner.rate = Some(10_000);
        solo(&mut run, 0, 9600.0);
        assert_eq!(signs(&run, 0), []);
        solo(&mut run, 0, 7000.0);
        solo(&mut run, 0, 7200.0);
        let kept = Sign::RateNotKept {
            cell: 0,
            share: 0.72,
        };
        assert_eq!(signs(&run, 0), [kept]);
    }
}
