//! What looking again and again at one pair comes to, by simulation.

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;

use super::walsh::from_the_side;
use super::{Look, Thresholds, bounds, level_of, quantile, real};

/// Level of the signed-rank test that a flag must pass too, as in the rule of a run.
const RANK_LEVEL: f64 = 0.05;

/// Normal noise of standard deviation 1 for many runs, the same for whatever is rehearsed on it.
#[derive(Debug, Clone)]
pub struct Draws {
    runs: Vec<Vec<Value>>,
}

/// One value of a run, with mean and standard deviation of it and those before it.
#[derive(Debug, Clone, Copy)]
struct Value {
    itself: f64,
    mean: f64,
    sd: f64,
}

impl Draws {
    /// Draws so many runs of so many values.
    pub fn new(runs: usize, values: usize, seed: u64) -> Self {
        let mut random = Pcg64::seed_from_u64(seed);
        let runs = (0..runs).map(|_| run(values, &mut random)).collect();
        Self { runs }
    }

    /// Returns the values of each run.
    #[cfg(test)]
    pub(crate) fn values(&self) -> impl Iterator<Item = impl Iterator<Item = f64>> {
        let itself = |value: &Value| value.itself;
        self.runs.iter().map(move |run| run.iter().map(itself))
    }
}

fn run(values: usize, random: &mut Pcg64) -> Vec<Value> {
    let (mut mean, mut squares) = (0.0, 0.0);
    let draw = |place: usize| {
        // Box and Muller's normal value, and Welford's running variance.
        let (one, two): (f64, f64) = (1.0 - random.random::<f64>(), random.random());
        let itself = (-2.0 * one.ln()).sqrt() * (std::f64::consts::TAU * two).cos();
        let off = itself - mean;
        mean += off / real(place + 1);
        squares += off * (itself - mean);
        let sd = (squares / real(place.max(1))).sqrt();
        Value { itself, mean, sd }
    };
    (0..values).map(draw).collect()
}

/// The looks at one pair, and what it takes to be flagged at each.
#[derive(Debug, Clone)]
pub struct Rehearsal {
    thresholds: Thresholds,
    looks: Vec<Standard>,
}

/// What one look asks for.
#[derive(Debug, Clone, Copy)]
struct Standard {
    seen: usize,
    /// The t that the level of this look asks for.
    t: f64,
    /// The rank sum of the rarer sign at most; none where even 0 says too little: then all have the same sign.
    ranks: Option<usize>,
}

/// What a rehearsal came to.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rehearsed {
    /// The share of runs that flag the change, with its sign.
    pub flagged: f64,
    /// Sessions of a run on average, until it is flagged, found the same or at its end.
    pub sessions: f64,
}

impl Rehearsal {
    /// Prepares looks after so many sessions, ascending; the level of the thresholds is spent over them ([`bounds`]).
    pub fn new(seen: &[usize], thresholds: Thresholds) -> Self {
        let most = real(seen.last().copied().unwrap_or(0));
        let look = |&seen: &usize| Look {
            seen: real(seen),
            time: real(seen) / most,
        };
        let looks: Vec<Look> = seen.iter().map(look).collect();
        let standard = |(&seen, z): (&usize, f64)| Standard {
            seen,
            t: quantile(level_of(z), real(seen.saturating_sub(1))),
            ranks: from_the_side(seen, RANK_LEVEL),
        };
        let bounds = bounds(&looks, thresholds.level);
        Self {
            thresholds,
            looks: std::iter::zip(seen, bounds).map(standard).collect(),
        }
    }

    /// Rehearses the looks at a pair that differs by `change` and varies by `sd`, both in log units.
    ///
    /// Each run ends as one of a single pair does: at the first look at which the t test at its level, the signed-rank test and
    /// the least effect flag the pair, or the interval lies inside the margin.
    pub fn hold(&self, draws: &Draws, change: f64, sd: f64) -> Rehearsed {
        let ended = draws.runs.iter().map(|run| self.end(run, (change, sd)));
        let (flagged, sessions) = ended.fold((0, 0), |(flags, sum), (flag, sessions)| {
            (flags + usize::from(flag), sum + sessions)
        });
        let runs = real(draws.runs.len());
        Rehearsed {
            flagged: real(flagged) / runs,
            sessions: real(sessions) / runs,
        }
    }

    /// Returns whether a run flags the change, and after how many sessions it ends.
    fn end(&self, run: &[Value], (change, sd): (f64, f64)) -> (bool, usize) {
        let mut held = 0;
        for look in &self.looks {
            let Some(last) = look.seen.checked_sub(1).and_then(|last| run.get(last)) else {
                break;
            };
            held = look.seen;
            let mean = change + sd * last.mean;
            let half = look.t * sd * last.sd / real(held).sqrt();
            let large = mean.abs() >= self.thresholds.least;
            if mean.abs() >= half && large && look.passes(&run[..held], change / sd) {
                return (mean.signum() * change > 0.0, held);
            }
            if mean.abs() + half <= self.thresholds.margin {
                return (false, held);
            }
        }
        (false, held)
    }
}

impl Standard {
    /// Returns whether signs and ranks agree that values differ from zero, all shifted by as much.
    fn passes(&self, values: &[Value], shift: f64) -> bool {
        let mut values: Vec<f64> = values.iter().map(|value| value.itself + shift).collect();
        values.sort_by(|left, right| f64::total_cmp(&left.abs(), &right.abs()));
        let ranked = values.iter().zip(1..);
        let positive: usize = ranked
            .filter(|(value, _)| **value > 0.0)
            .map(|(_, rank)| rank)
            .sum();
        let all = values.len() * (values.len() + 1) / 2;
        positive.min(all - positive) <= self.ranks.unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::super::signed_rank_p;
    use super::*;

    const THRESHOLDS: Thresholds = Thresholds {
        level: 0.05,
        least: 0.0,
        margin: 0.0,
    };

    #[test]
    fn what_differs_from_nothing_is_flagged_with_the_level_at_most() {
        // 4,000 runs at 5 %, both signs: more than 261 with a chance of 1 in 100,000 (binomial). The gate of ranks costs some.
        let draws = Draws::new(4000, 12, 1);
        let rehearsal = Rehearsal::new(&[4, 6, 8, 10, 12], THRESHOLDS);
        let both = [1e-12, -1e-12].map(|change| rehearsal.hold(&draws, change, 1.0).flagged);
        let share = both[0] + both[1];
        assert!(share <= 261.0 / 4000.0, "{share}");
        assert!(share > 0.02, "{share}");
    }

    #[test]
    fn one_look_has_the_power_of_the_t_test() {
        // scipy: the noncentral t with 19 degrees, sqrt(20) × 0.8 from zero, beyond 2.093: 0.923899. In 4,000 runs the share is
        // off by more than 4.5 standard errors, 1.9 points, with a chance of 7 in a million. The gate of ranks costs some.
        let draws = Draws::new(4000, 20, 2);
        let power = Rehearsal::new(&[20], THRESHOLDS).hold(&draws, 0.8, 1.0);
        assert!((power.flagged - 0.923_899).abs() < 0.019, "{power:?}");
        assert!((power.sessions - 20.0).abs() < 1e-9);
    }

    #[test]
    fn a_great_change_ends_at_the_first_look_and_sameness_too() {
        let draws = Draws::new(200, 12, 3);
        let wide = Thresholds {
            margin: 100.0,
            ..THRESHOLDS
        };
        let seen = [4, 6, 8, 10, 12];
        let great = Rehearsal::new(&seen, THRESHOLDS).hold(&draws, 100.0, 1.0);
        assert!(great.flagged >= 1.0 && great.sessions < 4.1, "{great:?}");
        let same = Rehearsal::new(&seen, wide).hold(&draws, 0.01, 1.0);
        assert!(same.sessions < 4.1, "{same:?}");
    }

    #[test]
    fn ranks_pass_where_the_signed_rank_test_does() {
        let draws = Draws::new(200, 12, 4);
        for (count, run) in (6..=12).cycle().zip(&draws.runs) {
            let values: Vec<f64> = run[..count]
                .iter()
                .map(|value| value.itself + 0.7)
                .collect();
            let standard = Rehearsal::new(&[count], THRESHOLDS).looks[0];
            let passes = standard.passes(&run[..count], 0.7);
            assert_eq!(passes, signed_rank_p(&values).unwrap() <= RANK_LEVEL);
        }
    }
}
