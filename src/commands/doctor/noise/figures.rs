//! From pairs of launches to what seeing a change costs. Pure.

use serde::Serialize;

use super::curve::{Curve, curves};
use crate::matrix::{Design, Rule, Sessions};
use crate::stats::{self, Power};

/// The chance with which a change is to be seen.
const POWER: f64 = 0.9;
/// The chance that the interval of a spread misses it.
const MISS: f64 = 0.1;
/// Changes that are looked at beside the least one of the matrix, as shares.
const CHANGES: [f64; 2] = [0.02, 0.05];
/// The change by whose cost a design is chosen, as a share.
const CHOOSING: f64 = 0.02;
/// Fewer pairs than this say nothing of a spread.
const LEAST_PAIRS: usize = 3;

/// What was seen of pairs of launches in one design.
#[derive(Debug, Clone)]
pub(super) struct Pairs {
    design: Design,
    /// Log ratios of answers per second, twin against twin.
    differences: Vec<f64>,
    /// Pairs of which a launch failed.
    failed: usize,
    /// Wall time of all, s.
    seconds: f64,
}

impl Pairs {
    /// Makes none.
    pub(super) fn of(design: Design) -> Self {
        Self {
            design,
            differences: Vec::new(),
            failed: 0,
            seconds: 0.0,
        }
    }

    /// Adds one pair: the rates of the launches that counted, and what it took.
    pub(super) fn add(&mut self, rates: &[f64], seconds: f64) {
        self.seconds += seconds;
        match rates {
            [one, other] if *one > 0.0 && *other > 0.0 => {
                self.differences.push((other / one).ln());
            }
            _ => self.failed += 1,
        }
    }
}

/// How much two launches of the same artifact differ on this machine.
#[derive(Debug, Serialize)]
pub(super) struct Noise {
    pub(super) title: String,
    pub(super) version: String,
    /// Level of the test by which a change is seen.
    pub(super) alpha: f64,
    /// Chance that it is seen.
    pub(super) power: f64,
    /// Whether a run would hold as many sessions again to confirm it.
    pub(super) confirmed: bool,
    pub(super) designs: Vec<DesignNoise>,
    /// The design that sees a change of 2 % soonest; none if no one can.
    pub(super) recommended: Option<Design>,
    /// The design of the matrix.
    pub(super) design: Design,
    /// What is seen with it in runs that end pairs when they are decided.
    pub(super) curves: Vec<Curve>,
}

/// The noise of one design. Percents are of log ratios.
#[derive(Debug, Serialize)]
pub(super) struct DesignNoise {
    pub(super) design: Design,
    pub(super) differences_percent: Vec<f64>,
    pub(super) failed: usize,
    pub(super) sd_percent: f64,
    pub(super) sd_interval_percent: (f64, f64),
    pub(super) seconds_per_pair: f64,
    pub(super) costs: Vec<Cost>,
}

/// What it costs to see a change.
#[derive(Debug, Serialize)]
pub(super) struct Cost {
    pub(super) change_percent: f64,
    /// Sessions of the pair; none if 999 would not do.
    pub(super) sessions: Option<u32>,
    pub(super) minutes: Option<f64>,
}

impl Noise {
    /// Works it out for so many versions; none if some design has too few pairs to say anything.
    pub(super) fn new(
        (title, version): (String, String),
        pairs: &[Pairs],
        rule: &Rule,
        (sessions, versions): (&Sessions, usize),
    ) -> Option<Self> {
        let designs: Option<Vec<DesignNoise>> = pairs
            .iter()
            .map(|pairs| DesignNoise::new(pairs, rule))
            .collect();
        let designs = designs?;
        let own = designs.iter().find(|it| it.design == sessions.design);
        Some(Self {
            title,
            version,
            alpha: rule.alpha,
            power: POWER,
            confirmed: rule.confirm,
            recommended: recommended(&designs),
            design: sessions.design,
            curves: own.map_or_else(Vec::new, |own| curves(own, rule, (sessions, versions))),
            designs,
        })
    }
}

/// Returns the design that sees the change to choose by soonest; of equals the first.
fn recommended(designs: &[DesignNoise]) -> Option<Design> {
    let minutes = |design: &DesignNoise| {
        let mut costs = design.costs.iter();
        let chosen = costs.find(|cost| (cost.change_percent - CHOOSING * 100.0).abs() < 1e-9);
        chosen.and_then(|cost| cost.minutes)
    };
    let known = designs
        .iter()
        .filter_map(|it| Some((it.design, minutes(it)?)));
    let soonest = known.min_by(|one, other| one.1.total_cmp(&other.1));
    soonest.map(|(design, _)| design)
}

impl DesignNoise {
    fn new(pairs: &Pairs, rule: &Rule) -> Option<Self> {
        let count = pairs.differences.len();
        if count < LEAST_PAIRS {
            return None;
        }
        let sd = stats::sd(&pairs.differences)?;
        let (low, high) = stats::sd_interval(sd, count, MISS);
        let seconds_per_pair = pairs.seconds / stats::real(count + pairs.failed);
        let mut changes = vec![rule.min_effect];
        changes.extend(CHANGES.iter().filter(|change| **change > rule.min_effect));
        let cost = |change| cost(change, (sd, seconds_per_pair), rule);
        Some(Self {
            design: pairs.design,
            failed: pairs.failed,
            sd_percent: sd * 100.0,
            sd_interval_percent: (low * 100.0, high * 100.0),
            seconds_per_pair,
            costs: changes.into_iter().map(cost).collect(),
            differences_percent: pairs.differences.iter().map(|it| it * 100.0).collect(),
        })
    }
}

/// Returns what it costs to see a change. One of exactly the least size worth a flag is shown to be a change at all, as
/// half of all estimates of it stay below that size however many sessions there are.
fn cost(change: f64, (sd, seconds): (f64, f64), rule: &Rule) -> Cost {
    let least = if change > rule.min_effect {
        rule.min_effect
    } else {
        0.0
    };
    let power = Power {
        level: rule.alpha,
        least,
        power: POWER,
    };
    let sessions = stats::sessions_to_see(change, sd, &power);
    Cost {
        change_percent: change * 100.0,
        sessions,
        minutes: sessions.map(|sessions| f64::from(sessions) * seconds / 60.0),
    }
}

#[cfg(test)]
pub(super) mod tests {
    use std::sync::LazyLock;

    use super::*;

    pub(in super::super) const RULE: Rule = Rule {
        alpha: 0.05,
        min_effect: 0.01,
        same_within: 0.02,
        confirm: true,
    };

    pub(in super::super) const SESSIONS: Sessions = Sessions {
        count: 12,
        least: 4,
        group: 4,
        solo: 3,
        design: Design::Race,
        slice: std::time::Duration::from_millis(20),
    };

    /// Makes pairs with that spread, each taking so long.
    pub(in super::super) fn pairs(design: Design, spread: f64, seconds: f64) -> Pairs {
        let mut pairs = Pairs::of(design);
        for sign in [1.0, -1.0, 1.0, -1.0, 1.0, -1.0_f64] {
            pairs.add(&[1000.0, 1000.0 * (sign * spread).exp()], seconds);
        }
        pairs
    }

    /// Returns the same noise to all tests, as its curves take long.
    pub(in super::super) fn noise() -> &'static Noise {
        static NOISE: LazyLock<Noise> = LazyLock::new(some);
        &NOISE
    }

    fn some() -> Noise {
        let mut solo = pairs(Design::Solo, 0.12, 12.0);
        solo.add(&[1000.0], 12.0);
        let all = [
            pairs(Design::Race, 0.01, 6.0),
            pairs(Design::Slices, 0.01, 9.0),
            solo,
        ];
        Noise::new(
            ("a title".to_owned(), "1.0".to_owned()),
            &all,
            &RULE,
            (&SESSIONS, 10),
        )
        .unwrap()
    }

    #[test]
    fn of_designs_that_are_as_exact_the_cheaper_one_is_recommended() {
        assert_eq!(noise().recommended, Some(Design::Race));
    }

    #[test]
    fn a_pair_of_which_a_launch_failed_costs_its_time_and_gives_no_difference() {
        let noise = noise();
        let solo = &noise.designs[2];
        assert_eq!((solo.failed, solo.differences_percent.len()), (1, 6));
        assert!((solo.seconds_per_pair - 12.0).abs() < 1e-9);
    }

    #[test]
    fn a_smaller_change_and_more_noise_cost_more() {
        let noise = noise();
        let sessions = |design: usize, change: usize| noise.designs[design].costs[change].sessions;
        assert!(sessions(0, 0) > sessions(0, 1) && sessions(0, 1) > sessions(0, 2));
        assert!(sessions(2, 2) > sessions(0, 2));
    }

    #[test]
    fn two_pairs_say_nothing_of_a_spread() {
        let mut few = Pairs::of(Design::Race);
        (0..2).for_each(|_| few.add(&[1.0, 1.1], 1.0));
        let names = ("a title".to_owned(), "1.0".to_owned());
        assert!(Noise::new(names, &[few], &RULE, (&SESSIONS, 10)).is_none());
    }
}
