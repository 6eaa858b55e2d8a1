//! The same questions asked of runs that are looked at while they go on: after 4, 6, 8, 10 and 12 sessions.

use harness::matrix::Rule;
use harness::verdict::{
    Comparison, Evidence, Judged, Looks, Metric, Spending, Verdict, Warning, decide_with,
};

use super::bound::Share;
use super::noise::{Noise, Plan, Random};
use super::pairs::{RULE, evidence, is_flag};
use super::real;
use super::rows::{EFFECTS, NOISES, Row, Target, step};

/// When pairs are looked at.
const LOOKS: Looks = Looks {
    least: 4,
    most: 12,
    over: true,
};

/// A rule that flags effects of any size.
const ANY_SIZE: Rule = Rule {
    min_effect: 0.0,
    ..RULE
};

/// The mean number of sessions that a run holds of a pair.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Cost {
    /// Of which pair.
    pub(crate) what: String,
    /// Sessions to measure.
    pub(crate) sessions: f64,
    /// Fresh sessions to confirm a flag.
    pub(crate) fresh: f64,
}

/// Runs simulated one after the other.
struct Runs<'rule> {
    rule: &'rule Rule,
    random: Random,
    spending: Spending,
}

impl<'rule> Runs<'rule> {
    fn new(rule: &'rule Rule, seed: u64) -> Self {
        Self {
            rule,
            random: Random::new(seed),
            spending: Spending::default(),
        }
    }

    fn measure(&mut self, plan: &Plan) -> Vec<Evidence> {
        let sets = plan.differences(&mut self.random).into_iter();
        sets.enumerate().map(evidence).collect()
    }

    fn judge(&mut self, pairs: &[Evidence]) -> Vec<Judged> {
        decide_with(pairs, self.rule, LOOKS, &mut self.spending)
    }

    /// Returns what is reported of one run. Where the rule asks for confirmation, a flagged pair gets as many fresh sessions
    /// as raised the flag.
    fn reported(&mut self, plan: &Plan) -> Vec<Comparison> {
        let mut pairs = self.measure(plan);
        let mut judged = self.judge(&pairs);
        if judged.iter().any(|one| one.fresh > 0) {
            let sets = plan.differences(&mut self.random);
            for ((pair, one), mut fresh) in pairs.iter_mut().zip(&judged).zip(sets) {
                fresh.truncate(one.fresh);
                pair.confirm = fresh;
            }
            judged = self.judge(&pairs);
        }
        judged.into_iter().map(|one| one.comparison).collect()
    }
}

/// The fifth pair of ten versions slower by a share, sd 1 %.
fn stepped(noise: Noise, slower: f64) -> Plan {
    Plan {
        sessions: LOOKS.most,
        ..step(noise, slower)
    }
}

/// S1: runs of equal versions with any flag at any look, whatever its size.
pub(crate) fn alarms(runs: usize, sizes: &[usize]) -> Vec<Row> {
    let mut rows = Vec::new();
    for &versions in sizes {
        for (noise, most) in NOISES {
            let plan = Plan::null(noise, versions, LOOKS.most);
            let mut simulated = Runs::new(&ANY_SIZE, 6);
            let alarm = || simulated.reported(&plan).iter().any(is_flag);
            rows.push(Row {
                line: "S1",
                what: format!(
                    "any false alarm at any look, {versions} versions, {}",
                    noise.name()
                ),
                target: Target::AtMost(most),
                found: Share::count(runs, alarm),
            });
        }
    }
    rows
}

/// S1: great effects decided by the second look.
pub(crate) fn clear_cases(runs: usize) -> Vec<Row> {
    let second = |one: &Comparison| one.sessions <= 6 && one.verdict == Verdict::Regression;
    [(5.0, Target::AtLeast(0.9)), (2.0, Target::Shown)]
        .map(|(sds, target)| {
            let plan = stepped(Noise::Normal, 0.01 * sds);
            let mut simulated = Runs::new(&RULE, 7);
            Row {
                line: "S1",
                what: format!("{sds} sd slower found by the second look"),
                target,
                found: Share::count(runs, || second(&simulated.reported(&plan)[4])),
            }
        })
        .to_vec()
}

/// A1: runs of equal versions judged by two metrics that vary each by itself, with any flag at any look.
pub(crate) fn alarms_of_two_metrics(runs: usize) -> Vec<Row> {
    let plan = Plan::null(Noise::Normal, 10, LOOKS.most);
    let mut simulated = Runs::new(&ANY_SIZE, 12);
    let alarm = || {
        let mut both = simulated.measure(&plan);
        let mut others = simulated.measure(&plan);
        for other in &mut others {
            other.metric = Metric::Memory;
        }
        both.append(&mut others);
        let judged = simulated.judge(&both);
        judged.iter().any(|one| is_flag(&one.comparison))
    };
    vec![Row {
        line: "A1",
        what: "any false alarm at any look by any of two metrics, 10 versions, normal".to_owned(),
        target: Target::AtMost(0.05),
        found: Share::count(runs, alarm),
    }]
}

/// A2: pairs of equal versions reported as changed at any look.
pub(crate) fn alarms_worth_a_flag(runs: usize) -> Vec<Row> {
    let mut rows = Vec::new();
    for (confirm, target) in [(true, Target::AtMost(0.001)), (false, Target::Shown)] {
        let rule = Rule { confirm, ..RULE };
        for sd in [0.005, 0.01] {
            let plan = Plan {
                sd,
                ..Plan::null(Noise::Normal, 10, LOOKS.most)
            };
            let mut simulated = Runs::new(&rule, 13);
            let reported = (0..runs).flat_map(|_| simulated.reported(&plan));
            let hits = reported.filter(is_flag).count();
            let when = if confirm {
                "and confirmed"
            } else {
                "without confirmation"
            };
            rows.push(Row {
                line: "A2",
                what: format!("a pair flagged at any look {when}, sd {} %", 100.0 * sd),
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

/// P1 and P2: steps found at any look, the latter although one launch in twenty is slow.
pub(crate) fn steps_found(runs: usize) -> Vec<Row> {
    let row = |line, noise: Noise, slower: f64, target| {
        let plan = stepped(noise, slower);
        let mut simulated = Runs::new(&RULE, 14);
        Row {
            line,
            what: format!(
                "{} % slower found at any look, {}",
                100.0 * slower,
                noise.name()
            ),
            target,
            found: Share::count(runs, || is_flag(&simulated.reported(&plan)[4])),
        }
    };
    let quiet = row("P1", Noise::Normal, 0.02, Target::AtLeast(0.93));
    let least = Target::AtLeast(quiet.found.value() - 0.10);
    let mut rows = vec![
        quiet,
        row("P1", Noise::Normal, 0.03, Target::AtLeast(0.99)),
        row("P2", Noise::Spikes(3.0, 30.0), 0.02, least),
    ];
    let sizes = [5.0, 10.0, 30.0].into_iter();
    rows.extend(sizes.map(|size| row("P2", Noise::Spikes(size, size), 0.02, Target::Shown)));
    rows
}

/// P3: intervals that hold the true effect although the run stopped where it was sure. Those of a run of one pair are at
/// 95 %; those of nine are at 99.4 %, as alpha is divided.
pub(crate) fn intervals_that_hold(runs: usize) -> Vec<Row> {
    let mut rows = Vec::new();
    for confirm in [false, true] {
        for slower in EFFECTS {
            let nine = stepped(Noise::Normal, slower);
            let one = Plan {
                effects: vec![nine.effects[4]],
                ..nine.clone()
            };
            let within = Target::Between(0.93, 0.97);
            rows.push(interval(runs, confirm, (&one, 0), within));
            rows.push(interval(runs, confirm, (&nine, 4), Target::Shown));
        }
    }
    rows
}

fn interval(runs: usize, confirm: bool, (plan, pair): (&Plan, usize), target: Target) -> Row {
    let rule = Rule { confirm, ..RULE };
    let mut simulated = Runs::new(&rule, 15);
    let effect = plan.effects[pair];
    let holds = || {
        let interval = simulated.reported(plan)[pair].interval;
        interval.is_some_and(|(low, high)| low <= effect && effect <= high)
    };
    let pairs = plan.effects.len();
    let when = if confirm { "with" } else { "without" };
    Row {
        line: "P3",
        what: format!(
            "interval at {:.1} % after looks holds {:.0} %, pairs: {pairs}, {when} confirmation",
            100.0 * (1.0 - RULE.alpha / real(pairs)),
            100.0 * (1.0 - effect.exp()).abs(),
        ),
        target,
        found: Share::count(runs, holds),
    }
}

/// Sessions that runs hold of a pair until they are sure.
pub(crate) fn costs(runs: usize) -> Vec<Cost> {
    let rule = Rule {
        confirm: true,
        ..RULE
    };
    let cost = |slower: f64| {
        let plan = stepped(Noise::Normal, slower);
        let mut simulated = Runs::new(&rule, 16);
        let (mut sessions, mut fresh) = (0, 0);
        for _ in 0..runs {
            let pairs = simulated.measure(&plan);
            let judged = &simulated.judge(&pairs)[4];
            sessions += held(&judged.comparison);
            fresh += judged.fresh;
        }
        Cost {
            what: format!("{:.0} % slower, sd 1 %, 10 versions", 100.0 * slower),
            sessions: real(sessions) / real(runs),
            fresh: real(fresh) / real(runs),
        }
    };
    [0.0, 0.02, 0.05].map(cost).to_vec()
}

/// Returns how many sessions were held, those set aside included.
fn held(comparison: &Comparison) -> usize {
    let mut held = comparison.sessions;
    for warning in &comparison.warnings {
        if let Warning::SetAside { sessions } = warning {
            held += sessions;
        }
    }
    held
}
