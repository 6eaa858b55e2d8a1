//! How many sessions it takes to see a change, from the spread of pairs that have none.

use statrs::distribution::{ChiSquared, ContinuousCDF, Normal};

use super::{TTest, quantile, real};

/// More sessions than this nobody waits for.
const MOST: u32 = 999;
/// With fewer sessions nothing is decided.
const LEAST: u32 = 3;

/// What is asked of a number of sessions.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Power {
    /// Level of the paired t test.
    pub level: f64,
    /// Least estimate worth a flag, in log units.
    pub least: f64,
    /// The chance that a change is flagged.
    pub power: f64,
}

/// Returns the least number of sessions that flag a change of that size, where pairs have that spread; none if 999 do
/// not.
pub fn sessions_to_see(change: f64, sd: f64, wanted: &Power) -> Option<u32> {
    (LEAST..=MOST).find(|&sessions| {
        let sessions = sessions as usize;
        let found = chance_of_significance(change, sd, (sessions, wanted.level));
        let large = normal((change - wanted.least) * real(sessions).sqrt() / sd);
        found.min(large) >= wanted.power
    })
}

/// Returns the least size of a change that sessions like those of a test flag with the chance asked for; none where they
/// cannot.
///
/// The t test's part is the same approximation the other way round: with three sessions 2 % too great, with eight 0.4 %.
pub fn smallest_effect(test: &TTest, wanted: &Power) -> Option<f64> {
    let (t, freedom) = (quantile(wanted.level, test.freedom), test.freedom);
    if !t.is_finite() {
        return None;
    }
    let chance = Normal::standard().inverse_cdf(wanted.power);
    let scale = (1.0 + t * t / (2.0 * freedom)).sqrt();
    let found = t * (1.0 - 1.0 / (4.0 * freedom)) + chance * scale;
    let error = test.standard_error();
    Some((found * error).max(wanted.least + chance * error))
}

/// Returns the chance that the paired t test finds a change, by the normal approximation of the noncentral t distribution
/// (Abramowitz and Stegun 26.7.10).
fn chance_of_significance(change: f64, sd: f64, (sessions, level): (usize, f64)) -> f64 {
    let freedom = real(sessions - 1);
    let (t, shift) = (
        quantile(level, freedom),
        change * real(sessions).sqrt() / sd,
    );
    let scale = (1.0 + t * t / (2.0 * freedom)).sqrt();
    normal((shift - t * (1.0 - 1.0 / (4.0 * freedom))) / scale)
}

/// Returns the chance that a normal value is below; of no number none.
fn normal(value: f64) -> f64 {
    if value.is_nan() {
        return 0.0;
    }
    Normal::standard().cdf(value)
}

/// Returns the interval of a standard deviation of `count` values that misses the true one with chance `alpha`, half of
/// that on each side.
pub fn sd_interval(sd: f64, count: usize, alpha: f64) -> (f64, f64) {
    let freedom = real(count.saturating_sub(1));
    let Ok(distribution) = ChiSquared::new(freedom) else {
        return (0.0, f64::INFINITY);
    };
    let end = |chance: f64| sd * (freedom / distribution.inverse_cdf(chance)).sqrt();
    (end(1.0 - alpha / 2.0), end(alpha / 2.0))
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};
    use rand_pcg::Pcg64;

    use super::super::paired;
    use super::super::reference::assert_close;
    use super::*;

    const WANTED: Power = Power {
        level: 0.05,
        least: 0.01,
        power: 0.9,
    };

    #[test]
    fn the_interval_of_a_spread_agrees_with_the_tables() {
        // χ² with 7 degrees: 2.167 349 909 and 14.067 140 449 at 5 and 95 %.
        let (low, high) = sd_interval(1.0, 8, 0.1);
        assert_close(low, (7.0 / 14.067_140_449_340_169_f64).sqrt(), 1e-6);
        assert_close(high, (7.0 / 2.167_349_909_298_057_f64).sqrt(), 1e-6);
        assert_eq!(sd_interval(1.0, 1, 0.1), (0.0, f64::INFINITY));
    }

    #[test]
    fn the_chance_of_a_finding_agrees_with_published_power() {
        // R: power.t.test(n = 20, delta = 1, sd = 1), a mean √10 errors from zero with 38 degrees of freedom.
        let scale = 10.0_f64.sqrt() / 39.0_f64.sqrt();
        let r = chance_of_significance(scale, 1.0, (39, 0.05));
        assert!((r - 0.868_952_8).abs() < 2e-3, "{r}");
    }

    #[test]
    fn the_smallest_effect_agrees_with_the_noncentral_t() {
        // Errors from zero that are found with a chance of 80 %, by integrating the noncentral t distribution.
        let table = [
            (3, 0.05, 5.653),
            (4, 0.05, 4.256),
            (8, 0.05, 3.270),
            (8, 0.01, 4.514),
            (12, 0.05 / 30.0, 5.151),
            (31, 0.01, 3.620),
        ];
        for (count, level, wanted) in table {
            let asked = Power {
                level,
                least: 0.0,
                power: 0.8,
            };
            let test = of_spread(count);
            let found = smallest_effect(&test, &asked).unwrap() / test.standard_error();
            let most = if count < 5 { 0.02 } else { 0.004 };
            assert!(
                (found / wanted - 1.0).abs() < most,
                "{count} {level}: {found}"
            );
        }
    }

    /// A test of so many values of sd 1 %, whose own spread is all that is known.
    fn of_spread(count: usize) -> TTest {
        TTest::new(0.0, 0.01, count, real(count - 1))
    }

    #[test]
    fn the_smallest_effect_is_found_as_often_as_asked() {
        // 10,000 tries at 80 %: five standard errors are 2 points.
        for (count, level) in [(4, 0.05), (8, 0.05 / 9.0), (12, 0.001)] {
            let wanted = Power {
                level,
                least: 0.0,
                power: 0.8,
            };
            let effect = smallest_effect(&of_spread(count), &wanted).unwrap();
            let mut random = Pcg64::seed_from_u64(11);
            let tries = 10_000;
            let found = (0..tries).filter(|_| {
                let values = (0..count).map(|_| effect + 0.01 * gauss(&mut random));
                let test = paired(&values.collect::<Vec<_>>()).unwrap();
                test.p <= level && test.mean > 0.0
            });
            let share = real(found.count()) / real(tries);
            assert!((share - 0.8).abs() < 0.02, "{count} {level} {share}");
        }
    }

    #[test]
    fn nothing_smaller_than_what_is_worth_a_flag_is_seen() {
        let wanted = Power {
            level: 0.05,
            least: 0.05,
            power: 0.8,
        };
        let error = of_spread(100).standard_error();
        let effect = smallest_effect(&of_spread(100), &wanted).unwrap();
        assert!((effect - 0.05 - 0.841_621_233_572_914 * error).abs() < 1e-9);
        let still = TTest::new(0.0, 0.0, 8, 7.0);
        assert_eq!(smallest_effect(&still, &wanted), Some(0.05));
        assert_eq!(
            smallest_effect(&TTest::new(0.0, 0.1, 1, 0.0), &wanted),
            None
        );
    }

    #[test]
    fn the_smallest_effect_of_so_many_sessions_takes_so_many_to_see() {
        let effect = smallest_effect(&of_spread(12), &WANTED).unwrap();
        assert_eq!(sessions_to_see(effect * 1.0001, 0.01, &WANTED), Some(12));
    }

    #[test]
    fn a_change_of_the_least_size_is_flagged_by_half_at_most_and_so_never() {
        assert_eq!(sessions_to_see(0.01, 0.01, &WANTED), None);
        let any = Power {
            least: 0.0,
            ..WANTED
        };
        assert!(sessions_to_see(0.01, 0.01, &any).is_some());
    }

    #[test]
    fn without_noise_the_fewest_sessions_do() {
        assert_eq!(sessions_to_see(0.02, 0.0, &WANTED), Some(LEAST));
    }

    #[test]
    fn so_many_sessions_find_a_change_as_often_as_asked() {
        // 4,000 tries at 90 %: five standard errors are 2.4 points; one session less must do worse than asked.
        for (change, sd) in [(0.02, 0.013), (0.02, 0.03), (0.05, 0.05)] {
            let any = Power {
                least: 0.0,
                ..WANTED
            };
            let sessions = sessions_to_see(change, sd, &any).unwrap() as usize;
            let mut random = Pcg64::seed_from_u64(7);
            let mut found = |sessions: usize| {
                let tries = 4000;
                let flagged = (0..tries).filter(|_| {
                    let values = (0..sessions).map(|_| change + sd * gauss(&mut random));
                    paired(&values.collect::<Vec<_>>()).unwrap().p <= any.level
                });
                real(flagged.count()) / real(tries)
            };
            assert!(found(sessions) >= 0.9 - 0.024, "{change} {sd} {sessions}");
            assert!(
                found(sessions - 1) <= 0.9 + 0.024,
                "{change} {sd} {sessions}"
            );
        }
    }

    /// A normal value, by the method of Box and Muller.
    fn gauss(random: &mut Pcg64) -> f64 {
        let (one, other): (f64, f64) = (random.random(), random.random());
        (-2.0 * (1.0 - one).ln()).sqrt() * (std::f64::consts::TAU * other).cos()
    }
}
