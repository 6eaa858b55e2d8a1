//! What is asked, how often it came out, and what must be reached.

use harness::matrix::Rule;
use harness::stats::suspects;
use harness::verdict::{Comparison, Evidence};

use super::bound::Share;
use super::noise::{Noise, Plan, Random};
use super::pairs::{RULE, Tool, at_once, evidence, is_flag, judged};
use super::real;
use super::series::Watch;

/// What a share must reach.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Target {
    /// At most this.
    AtMost(f64),
    /// At least this.
    AtLeast(f64),
    /// Between these.
    Between(f64, f64),
    /// Nothing; it is shown for comparison.
    Shown,
}

/// One row of the table.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Row {
    /// The line of the table of targets.
    pub(crate) line: &'static str,
    /// Under which conditions.
    pub(crate) what: String,
    /// What it must reach.
    pub(crate) target: Target,
    /// How often it came out.
    pub(crate) found: Share,
}

/// Noise of which the documentation says that the rule withstands it, and the share of false alarms it may raise.
pub(crate) const NOISES: [(Noise, f64); 7] = [
    (Noise::Normal, 0.05),
    (Noise::Student(5), 0.05),
    (Noise::Student(3), 0.05),
    (Noise::Spikes(3.0, 30.0), 0.05),
    (Noise::Drift(0.95), 0.05),
    (Noise::Graded, 0.06),
    (Noise::Wild, 0.06),
];

/// The number of versions and of sessions.
pub(crate) const SIZES: [(usize, usize); 4] = [(10, 8), (10, 12), (30, 8), (30, 12)];

/// The effects whose interval is looked at, and those that must be found.
pub(crate) const EFFECTS: [f64; 5] = [0.0, 0.01, 0.02, 0.03, 0.05];

/// A1: runs of equal versions with any flag, whatever its size.
pub(crate) fn alarms(runs: usize, sizes: &[(usize, usize)]) -> Vec<Row> {
    let rule = Rule {
        min_effect: 0.0,
        ..RULE
    };
    let mut rows = Vec::new();
    for &(versions, sessions) in sizes {
        for (noise, most) in NOISES {
            let plan = Plan::null(noise, versions, sessions);
            let mut random = Random::new(1);
            let alarm = || {
                judged(plan.differences(&mut random), &rule)
                    .iter()
                    .any(is_flag)
            };
            rows.push(Row {
                line: "A1",
                what: format!(
                    "any false alarm, {versions} versions, {sessions} sessions, {}",
                    noise.name()
                ),
                target: Target::AtMost(most),
                found: Share::count(runs, alarm),
            });
        }
    }
    rows
}

/// A2: pairs of equal versions reported as changed by the rule as it is, with and without its confirmation.
pub(crate) fn alarms_worth_a_flag(runs: usize) -> Vec<Row> {
    let mut rows = Vec::new();
    for (confirm, target) in [(true, Target::AtMost(0.001)), (false, Target::Shown)] {
        for sd in [0.005, 0.01] {
            let plan = Plan {
                sd,
                ..Plan::null(Noise::Normal, 10, 8)
            };
            let mut random = Random::new(2);
            let flags = (0..runs).flat_map(|_| reported(&plan, confirm, &mut random));
            let hits = flags.filter(is_flag).count();
            let when = if confirm {
                "and confirmed"
            } else {
                "without confirmation"
            };
            rows.push(Row {
                line: "A2",
                what: format!(
                    "a pair flagged {when}, minimum effect 1 %, sd {} %",
                    100.0 * sd
                ),
                target,
                found: Share {
                    hits,
                    of: runs * plan.effects.len(),
                },
            });
        }
    }
    rows
}

/// Simulates a run as it is reported: flagged pairs are raced again as often as before, if that is asked for.
fn reported(plan: &Plan, confirm: bool, random: &mut Random) -> Vec<Comparison> {
    let rule = Rule { confirm, ..RULE };
    let mut pairs: Vec<Evidence> = plan
        .differences(random)
        .into_iter()
        .enumerate()
        .map(evidence)
        .collect();
    let first = at_once(&pairs, &rule);
    if confirm {
        for (pair, fresh) in std::iter::zip(&mut pairs, plan.differences(random)) {
            if is_flag(&first[pair.pair.baseline]) {
                pair.confirm = fresh;
            }
        }
    }
    at_once(&pairs, &rule)
}

/// A run of ten versions, eight sessions, sd 1 %, the fifth pair slower by a share.
pub(crate) fn step(noise: Noise, slower: f64) -> Plan {
    let mut plan = Plan {
        sd: 0.01,
        ..Plan::null(noise, 10, 8)
    };
    plan.effects[4] = (1.0 - slower).ln();
    plan
}

/// Returns how often a tool flags the one step.
fn power(tool: Tool, noise: Noise, slower: f64, runs: usize) -> Share {
    let plan = step(noise, slower);
    let mut random = Random::new(3);
    Share::count(runs, || tool.flags(&plan, &mut random)[4])
}

/// P1: a step found.
pub(crate) fn steps_found(runs: usize) -> Vec<Row> {
    [(0.02, 0.93), (0.03, 0.99)]
        .map(|(slower, least)| Row {
            line: "P1",
            what: format!("{} % slower found, sd 1 %, 8 sessions", 100.0 * slower),
            target: Target::AtLeast(least),
            found: power(Tool::Harness, Noise::Normal, slower, runs),
        })
        .to_vec()
}

/// P2: a step of 2 % found although one launch in twenty is slow.
pub(crate) fn steps_found_among_spikes(runs: usize) -> Vec<Row> {
    let quiet = power(Tool::Harness, Noise::Normal, 0.02, runs).value();
    let headline = Noise::Spikes(3.0, 30.0);
    let noises = [5.0, 10.0, 30.0].map(|size| Noise::Spikes(size, size));
    let mut rows = vec![Row {
        line: "P2",
        what: format!("2 % slower found, {}", headline.name()),
        target: Target::AtLeast(quiet - 0.10),
        found: power(Tool::Harness, headline, 0.02, runs),
    }];
    rows.extend(noises.map(|noise| Row {
        line: "P2",
        what: format!("the same, {}", noise.name()),
        target: Target::Shown,
        found: power(Tool::Harness, noise, 0.02, runs),
    }));
    rows.push(Row {
        line: "P2",
        what: format!("the same by a plain paired t test, {}", headline.name()),
        target: Target::Shown,
        found: power(Tool::PlainT, headline, 0.02, runs),
    });
    rows
}

/// P3: intervals of one pair at 95 % that hold its true effect.
pub(crate) fn intervals_that_hold(runs: usize) -> Vec<Row> {
    let noises = [Noise::Normal, Noise::Student(5), Noise::Spikes(3.0, 30.0)];
    let mut rows = Vec::new();
    for noise in noises {
        for slower in EFFECTS {
            let plan = step(noise, slower);
            let rule = Rule {
                alpha: 0.05 * real(plan.effects.len()),
                ..RULE
            };
            let mut random = Random::new(4 + rows.len() as u64);
            let holds = || {
                let judged = judged(plan.differences(&mut random), &rule);
                let within = |(low, high)| low <= plan.effects[4] && plan.effects[4] <= high;
                judged[4].interval.is_some_and(within)
            };
            rows.push(Row {
                line: "P3",
                what: format!("interval holds {} %, {}", 100.0 * slower, noise.name()),
                target: Target::Between(0.93, 0.97),
                found: Share::count(runs, holds),
            });
        }
    }
    rows
}

/// What tools that compare pairs do on the same noise, each by its defaults.
pub(crate) fn tools(runs: usize) -> Vec<(String, Vec<Share>)> {
    let mut table = Vec::new();
    let mut add = |what: String, share: &dyn Fn(Tool) -> Share| {
        table.push((what, Tool::ALL.into_iter().map(share).collect()));
    };
    for (noise, _) in NOISES {
        let plan = Plan::null(noise, 10, 8);
        add(format!("any false alarm, {}", noise.name()), &|tool| {
            let mut random = Random::new(5);
            Share::count(runs, || tool.flags(&plan, &mut random).contains(&true))
        });
    }
    for (noise, slower) in [
        (Noise::Normal, 0.02),
        (Noise::Normal, 0.03),
        (Noise::Spikes(3.0, 30.0), 0.02),
        (Noise::Drift(0.95), 0.02),
    ] {
        let what = format!("{} % slower found, {}", 100.0 * slower, noise.name());
        add(what, &|tool| power(tool, noise, slower, runs));
    }
    table
}

/// Values of a series.
const LENGTHS: [usize; 4] = [20, 50, 100, 200];

/// L1: series of single values without a step in which any is suspected.
pub(crate) fn series_without_a_step(runs: usize) -> Vec<Row> {
    let mut rows = Vec::new();
    for length in LENGTHS {
        for (correlation, most) in [(0.0, 0.05), (0.3, 0.07), (0.6, 0.07)] {
            for missing in [false, true] {
                let mut random = Random::new(8);
                let mut any = || {
                    let series = random.series(length, correlation);
                    let there = |value| (!missing || random.uniform() < 0.5).then_some(value);
                    let series: Vec<Option<f64>> = series.into_iter().map(there).collect();
                    !suspects(&series).steps.is_empty()
                };
                let gaps = if missing {
                    ", half of them missing"
                } else {
                    ""
                };
                rows.push(Row {
                    line: "L1",
                    what: format!("any suspect among {length} values, ρ = {correlation}{gaps}"),
                    target: Target::AtMost(most),
                    found: Share::count(runs, &mut any),
                });
            }
        }
    }
    rows
}

/// L2: a step of three standard deviations, with five values after it.
pub(crate) fn steps_in_series(runs: usize) -> Vec<Row> {
    let row = |length: usize| {
        let mut random = Random::new(9);
        let found = || {
            let mut series = random.series(length, 0.0);
            for value in &mut series[length - 5..] {
                *value -= 3.0;
            }
            let series: Vec<Option<f64>> = series.into_iter().map(Some).collect();
            suspects(&series)
                .steps
                .iter()
                .any(|step| step.abs_diff(length - 5) <= 1)
        };
        Row {
            line: "L2",
            what: format!("3 sd step, 5 of {length} values after it, found within ± 1"),
            target: Target::AtLeast(0.9),
            found: Share::count(runs, found),
        }
    };
    LENGTHS.map(row).to_vec()
}

/// What tools that watch series do on the same ones, each by its defaults.
pub(crate) fn watches(runs: usize) -> Vec<(String, Vec<Share>)> {
    let mut table = Vec::new();
    for (length, correlation) in [(50, 0.0), (100, 0.0), (100, 0.3), (100, 0.6)] {
        let any = |watch: Watch| {
            let mut random = Random::new(10);
            Share::count(runs, || {
                !watch.steps(&random.series(length, correlation)).is_empty()
            })
        };
        let what = format!("any step among {length} values without one, ρ = {correlation}");
        table.push((what, Watch::ALL.into_iter().map(any).collect()));
    }
    for (size, after) in [(3.0, 5), (5.0, 5), (3.0, 20), (5.0, 20)] {
        let found = |watch: Watch| {
            let mut random = Random::new(11);
            Share::count(runs, || {
                let mut series = random.series(100, 0.0);
                for value in &mut series[100 - after..] {
                    *value -= size;
                }
                let steps = watch.steps(&series);
                steps.iter().any(|step| step.abs_diff(100 - after) <= 1)
            })
        };
        let what = format!("step of {size} sd found within ± 1, {after} of 100 values after it");
        table.push((what, Watch::ALL.into_iter().map(found).collect()));
    }
    table
}
