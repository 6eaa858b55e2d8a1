//! How many more sessions a question would take.

use super::{TTest, real};

/// More sessions than this nobody waits for.
const MOST: usize = 999;

/// What decides one pair among many, in log units.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Thresholds {
    /// Level of one pair's interval and test: that of the whole run ÷ its number of pairs.
    pub level: f64,
    /// Least size of an effect worth a flag.
    pub least: f64,
    /// A pair is the same when its interval lies inside ± this.
    pub margin: f64,
}

/// Returns how many more sessions would decide, if mean and spread stayed as seen; none if 999 would not.
///
/// The smallest number is found by bisection: with mean and spread held, more sessions only ever narrow the interval.
pub fn sessions_until(test: &TTest, thresholds: &Thresholds) -> Option<u32> {
    let (mut low, mut high) = (0, MOST);
    if !decides(test, high, thresholds) {
        return None;
    }
    while high - low > 1 {
        let middle = usize::midpoint(low, high);
        if decides(test, middle, thresholds) {
            high = middle;
        } else {
            low = middle;
        }
    }
    u32::try_from(high).ok()
}

/// Returns whether `more` sessions of the same kind would flag the pair or call it the same.
fn decides(test: &TTest, more: usize, thresholds: &Thresholds) -> bool {
    let count = test.count + more;
    let longer = TTest::new(test.mean, test.sd, count, test.freedom + real(more));
    let flagged = test.mean.abs() >= thresholds.least && longer.p <= thresholds.level;
    flagged || longer.within(thresholds.level, thresholds.margin)
}

#[cfg(test)]
mod tests {
    use super::super::{mean, paired, sd};
    use super::*;

    const THRESHOLDS: Thresholds = Thresholds {
        level: 0.05,
        least: 0.01,
        margin: 0.02,
    };

    /// Makes `count` differences with exactly this mean and spread: half above, half below, an odd one in the middle.
    fn spread(centre: f64, deviation: f64, count: usize) -> Vec<f64> {
        let apart = count - count % 2;
        let half = deviation * (real(count - 1) / real(apart)).sqrt();
        let around = |index: usize| if index.is_multiple_of(2) { half } else { -half };
        let mut values: Vec<f64> = (0..apart).map(|index| centre + around(index)).collect();
        values.resize(count, centre);
        values
    }

    /// Judges differences of that mean and spread as a run would.
    fn decided(centre: f64, deviation: f64, count: usize) -> bool {
        let test = paired(&spread(centre, deviation, count)).unwrap();
        (centre.abs() >= 0.01 && test.p <= 0.05) || test.within(0.05, 0.02)
    }

    #[test]
    fn the_number_named_decides_and_one_less_does_not() {
        for (centre, deviation) in [(-0.015, 0.02), (0.0, 0.03), (0.012, 0.018), (0.05, 0.2)] {
            let test = paired(&spread(centre, deviation, 8)).unwrap();
            assert!(!decided(centre, deviation, 8));
            let more = usize::try_from(sessions_until(&test, &THRESHOLDS).unwrap()).unwrap();
            assert!(
                decided(centre, deviation, 8 + more),
                "{centre} {deviation} {more}"
            );
            assert!(
                !decided(centre, deviation, 7 + more),
                "{centre} {deviation} {more}"
            );
        }
    }

    #[test]
    fn an_effect_on_the_margin_of_sameness_and_below_notice_is_never_decided() {
        let thresholds = Thresholds {
            least: 0.03,
            ..THRESHOLDS
        };
        let test = paired(&spread(0.02, 0.01, 8)).unwrap();
        assert_eq!(sessions_until(&test, &thresholds), None);
    }

    #[test]
    fn the_spread_of_the_helper_is_what_it_says() {
        let values = spread(0.3, 0.02, 8);
        assert!((mean(&values).unwrap() - 0.3).abs() < 1e-12);
        assert!((sd(&values).unwrap() - 0.02).abs() < 1e-12);
    }
}
