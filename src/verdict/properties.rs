//! What changes no verdict but its sign, for every number that decides.

use proptest::prelude::*;
use proptest::strategy::ValueTree;

use super::fixture::{run, sample, session};
use super::{Comparison, Judgement, Verdict, conclude};
use crate::journal::{Launched, Purpose, Run};
use crate::matrix::{Design, Metric};
use crate::outcome::Sample;

/// Versions of a run.
const CELLS: usize = 3;

/// What one launch shows: answers, CPU time, memory, time to start and latency, in small whole parts.
type Shown = [u16; 5];

/// The sessions of a run, each with what its launches show, and how much greater each number of each version is, percent.
#[derive(Debug, Clone)]
struct Shape {
    sessions: Vec<[Shown; CELLS]>,
    fresh: Vec<[Shown; CELLS]>,
    steps: [Shown; CELLS],
    /// Whether requests come at a given rate, so that latency decides too.
    has_rate: bool,
    /// Whether pairs are looked at while the run goes on.
    looks: bool,
}

/// How a run is made of a shape.
#[derive(Debug, Clone, Copy)]
struct Making {
    names: [&'static str; CELLS],
    /// Whether the newest version comes first.
    backwards: bool,
    /// Whether the launches of each session come in the other order.
    last_first: bool,
    /// What each number is multiplied by.
    scale: [u16; 5],
}

const PLAIN: Making = Making {
    names: ["1.0.0", "2.0.0", "3.0.0"],
    backwards: false,
    last_first: false,
    scale: [1; 5],
};

fn made(shape: &Shape, making: &Making) -> Run {
    let mut run = run(&making.names);
    run.header.metrics = vec![Metric::Throughput, Metric::Memory, Metric::Startup];
    run.header.metrics.push(Metric::CpuPerAnswer);
    // A step of 1 % would lie on a threshold of 1 %, and how a number is rounded would decide.
    run.header.rule.min_effect = 0.008;
    if shape.has_rate {
        run.header.workload.manner.rate = Some(1000);
        run.header.metrics.push(Metric::Latency);
    }
    if shape.looks {
        (run.header.sessions.least, run.header.sessions.count) = (4, 12);
    }
    for (purpose, sessions) in [
        (Purpose::Measure, &shape.sessions),
        (Purpose::Confirm, &shape.fresh),
    ] {
        for shown in sessions {
            let launch = |version: usize| {
                let cell = if making.backwards {
                    CELLS - 1 - version
                } else {
                    version
                };
                let sample = launched(&shown[version], &shape.steps[version], &making.scale);
                (cell, Launched::Sample(Box::new(sample)))
            };
            let mut launches: Vec<(usize, Launched)> = (0..CELLS).map(launch).collect();
            if making.last_first {
                launches.reverse();
            }
            session(&mut run, purpose, Design::Race, launches);
        }
    }
    run
}

/// Returns the sample of a launch; its numbers are whole, so that scaling them rounds nothing.
fn launched(shown: &Shown, steps: &Shown, scale: &[u16; 5]) -> Sample {
    let part = |place: usize| {
        let whole = (2000 + u32::from(shown[place])) * (100 + u32::from(steps[place]));
        whole * u32::from(scale[place])
    };
    let [answers, cpu, memory, startup, latency] = [0, 1, 2, 3, 4].map(part);
    let mut sample = sample(f64::from(answers) / 10.0, f64::from(cpu) / 1e5);
    sample.resources.pss_bytes = Some(u64::from(memory) * 100);
    sample.startup_ms = f64::from(startup) / 1e3;
    sample.load.latency.mean = f64::from(latency) / 1e4;
    sample
}

fn shapes() -> impl Strategy<Value = Shape> {
    let shown = || prop::array::uniform5(0..60_u16);
    let cells = move || prop::array::uniform3(shown());
    let step = prop_oneof![Just(0_u16), Just(1), Just(3), Just(12)];
    (
        prop::collection::vec(cells(), 2..13),
        prop::collection::vec(cells(), 0..7),
        prop::array::uniform3(prop::array::uniform5(step)),
        any::<bool>(),
        any::<bool>(),
    )
        .prop_map(|(sessions, fresh, steps, has_rate, looks)| Shape {
            sessions,
            fresh,
            steps,
            has_rate,
            looks,
        })
}

fn concluded(shape: &Shape, making: &Making) -> Judgement {
    conclude(&made(shape, making))
}

fn mirror(verdict: Verdict) -> Verdict {
    match verdict {
        Verdict::Regression => Verdict::Improvement,
        Verdict::Improvement => Verdict::Regression,
        Verdict::Same | Verdict::Unknown | Verdict::Incomparable => verdict,
    }
}

fn near(one: Option<f64>, other: Option<f64>) -> bool {
    match (one, other) {
        (Some(one), Some(other)) => (one - other).abs() <= 1e-9 * (1.0 + one.abs()),
        (None, None) => true,
        (Some(_), None) | (None, Some(_)) => false,
    }
}

/// Returns whether all that has no sign is the same of two.
fn alike(one: &Comparison, other: &Comparison) -> bool {
    one.metric == other.metric
        && one.sessions == other.sessions
        && one.sessions_needed == other.sessions_needed
        && one.confirmed == other.confirmed
        && near(one.adjusted_p, other.adjusted_p)
        && near(one.sd, other.sd)
        && near(one.detectable, other.detectable)
}

fn is_same(one: &Comparison, other: &Comparison) -> bool {
    let ends = |of: &Comparison| of.interval.unzip();
    let ((low, high), (other_low, other_high)) = (ends(one), ends(other));
    alike(one, other)
        && one.verdict == other.verdict
        && near(one.effect, other.effect)
        && near(low, other_low)
        && near(high, other_high)
}

fn is_mirrored(one: &Comparison, other: &Comparison) -> bool {
    let turned = Comparison {
        verdict: mirror(other.verdict),
        effect: other.effect.map(|effect| -effect),
        interval: other.interval.map(|(low, high)| (-high, -low)),
        ..other.clone()
    };
    is_same(one, &turned)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn names_and_the_order_of_launches_change_nothing(shape in shapes()) {
        let plain = concluded(&shape, &PLAIN);
        let renamed = Making { names: ["zebra", "ape", "cat"], ..PLAIN };
        prop_assert_eq!(&plain, &concluded(&shape, &renamed));
        let reordered = Making { last_first: true, ..PLAIN };
        prop_assert_eq!(&plain, &concluded(&shape, &reordered));
    }

    #[test]
    fn scaling_any_number_changes_no_verdict(
        shape in shapes(), scale in prop::array::uniform5(1..60_u16),
    ) {
        let (plain, scaled) = (concluded(&shape, &PLAIN), concluded(&shape, &Making { scale, ..PLAIN }));
        prop_assert_eq!(plain.all().count(), scaled.all().count());
        for (one, other) in std::iter::zip(plain.all(), scaled.all()) {
            prop_assert!(is_same(one, other), "{one:?} {other:?}");
        }
    }

    #[test]
    fn the_other_way_round_every_number_changes_its_sign_alone(shape in shapes()) {
        let there = concluded(&shape, &PLAIN);
        let back = concluded(&shape, &Making { backwards: true, ..PLAIN });
        prop_assert_eq!(there.all().count(), back.all().count());
        for one in there.all() {
            let turned = |other: &&Comparison| {
                let from_end = |cell| CELLS - 1 - cell;
                other.metric == one.metric
                    && from_end(other.pair.candidate) == one.pair.baseline
            };
            let other = back.all().find(turned);
            prop_assert!(other.is_some_and(|other| is_mirrored(one, other)), "{one:?} {other:?}");
        }
    }
}

#[test]
fn the_shapes_hold_every_verdict_of_every_number() {
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let mut seen = std::collections::BTreeSet::new();
    for _ in 0..200 {
        let shape = shapes().new_tree(&mut runner).unwrap().current();
        let judgement = concluded(&shape, &PLAIN);
        seen.extend(
            judgement
                .all()
                .map(|one| format!("{:?} {:?}", one.metric, one.verdict)),
        );
    }
    // Five numbers, each with four verdicts; nothing here is incomparable.
    assert_eq!(seen.len(), 20, "{seen:?}");
}
