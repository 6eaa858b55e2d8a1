//! Times in, latency figures out. Pure; times are arguments, in nanoseconds.

use std::io;
use std::time::Duration;

use hdrhistogram::Histogram;

use crate::outcome::{Latency, Spread};

/// The longest time told apart from longer ones.
const LONGEST: Duration = Duration::from_mins(10);
/// Significant digits kept of each time.
const DIGITS: u8 = 3;

/// The distribution of times, of fixed size: recording never allocates.
#[derive(Debug, Clone)]
pub(crate) struct Recorder {
    histogram: Histogram<u64>,
}

impl Recorder {
    /// Makes an empty recorder.
    pub(crate) fn new() -> io::Result<Self> {
        let longest = nanoseconds(LONGEST);
        let histogram = Histogram::new_with_bounds(1, longest, DIGITS).map_err(io::Error::other)?;
        Ok(Self { histogram })
    }

    /// Records one time; one above ten minutes counts as ten minutes.
    pub(crate) fn record(&mut self, nanoseconds: u64) {
        self.histogram.saturating_record(nanoseconds);
    }

    /// Forgets every time.
    pub(crate) fn clear(&mut self) {
        self.histogram.reset();
    }

    /// Adds the times of another recorder.
    pub(crate) fn merge(&mut self, other: &Self) {
        self.histogram += &other.histogram;
    }

    /// Returns the figures of all times so far, zeros when there are none.
    pub(crate) fn latency(&self) -> Latency {
        if self.histogram.is_empty() {
            return Latency::default();
        }
        let at = |quantile| milliseconds(self.histogram.value_at_quantile(quantile));
        Latency {
            mean: self.histogram.mean() / 1e6,
            sd: self.histogram.stdev() / 1e6,
            p50: at(0.5),
            p75: at(0.75),
            p90: at(0.9),
            p95: at(0.95),
            p99: at(0.99),
            p99_9: at(0.999),
            p99_99: at(0.9999),
            max: milliseconds(self.histogram.max()),
            within_sd: self.within_sd(),
        }
    }

    /// Returns the share of times within one standard deviation of the mean.
    fn within_sd(&self) -> f64 {
        let (mean, sd) = (self.histogram.mean(), self.histogram.stdev());
        #[expect(clippy::cast_precision_loss, reason = "times stay far below 2^53 ns")]
        let inside = |value: u64| (value as f64 - mean).abs() <= sd;
        let near = self.histogram.iter_recorded();
        let near = near.filter(|step| inside(step.value_iterated_to()));
        let count: u64 = near.map(|step| step.count_at_value()).sum();
        #[expect(clippy::cast_precision_loss, reason = "counts stay far below 2^53")]
        return count as f64 / self.histogram.len() as f64;
    }
}

/// Mean, least and greatest of times.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct SpreadRecorder {
    count: u64,
    sum: u64,
    min: u64,
    max: u64,
}

impl SpreadRecorder {
    /// Records one time.
    pub(crate) fn record(&mut self, nanoseconds: u64) {
        self.min = if self.count == 0 {
            nanoseconds
        } else {
            self.min.min(nanoseconds)
        };
        self.max = self.max.max(nanoseconds);
        // 584 years of waiting fit.
        self.sum = self.sum.saturating_add(nanoseconds);
        self.count += 1;
    }

    /// Adds the times of another recorder.
    pub(crate) fn merge(&mut self, other: &Self) {
        if other.count == 0 {
            return;
        }
        self.min = if self.count == 0 {
            other.min
        } else {
            self.min.min(other.min)
        };
        self.max = self.max.max(other.max);
        self.sum = self.sum.saturating_add(other.sum);
        self.count += other.count;
    }

    /// Returns the figures of all times so far, zeros when there are none.
    pub(crate) fn spread(&self) -> Spread {
        #[expect(clippy::cast_precision_loss, reason = "counts stay far below 2^53")]
        let count = self.count.max(1) as f64;
        Spread {
            mean: milliseconds(self.sum) / count,
            max: milliseconds(self.max),
            min: milliseconds(self.min),
            count: self.count,
        }
    }
}

/// Returns a duration in whole nanoseconds, at most `u64::MAX`.
pub(crate) fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

fn milliseconds(nanoseconds: u64) -> f64 {
    Duration::from_nanos(nanoseconds).as_secs_f64() * 1e3
}

#[cfg(test)]
mod tests {
    use super::*;

    const MILLISECOND: u64 = 1_000_000;

    /// Three digits leave an error of at most one in a thousand.
    fn assert_close(measured: f64, expected: f64) {
        assert!(
            (measured - expected).abs() <= expected * 1e-3,
            "{measured} is not {expected}"
        );
    }

    #[test]
    fn percentiles_are_those_of_the_recorded_times() {
        let mut recorder = Recorder::new().unwrap();
        (1..=1000).for_each(|time| recorder.record(time * MILLISECOND));
        let latency = recorder.latency();
        assert_close(latency.p50, 500.0);
        assert_close(latency.p75, 750.0);
        assert_close(latency.p90, 900.0);
        assert_close(latency.p99, 990.0);
        assert_close(latency.p99_9, 999.0);
        assert_close(latency.max, 1000.0);
        assert_close(latency.mean, 500.5);
        // The standard deviation of 1..=n is the root of (n² − 1) ÷ 12.
        assert_close(latency.sd, 288.675);
        // 212 to 789 of 1,000, but for the width of the steps at either end.
        assert!(
            (latency.within_sd - 0.578).abs() < 0.003,
            "{}",
            latency.within_sd
        );
    }

    #[test]
    fn a_time_above_the_longest_is_kept_as_the_longest() {
        let mut recorder = Recorder::new().unwrap();
        recorder.record(u64::MAX);
        assert_close(recorder.latency().max, 600_000.0);
    }

    #[test]
    fn short_times_keep_their_digits() {
        let mut recorder = Recorder::new().unwrap();
        recorder.record(0);
        recorder.record(12_345);
        assert_close(recorder.latency().max, 0.012_345);
    }

    #[test]
    fn merged_recorders_are_as_one() {
        let mut all = Recorder::new().unwrap();
        let mut parts = [Recorder::new().unwrap(), Recorder::new().unwrap()];
        for time in 0..100 {
            all.record(time * time * MILLISECOND);
            parts[usize::from(time % 3 == 0)].record(time * time * MILLISECOND);
        }
        let [mut merged, other] = parts;
        merged.merge(&other);
        assert_eq!(merged.latency(), all.latency());
    }

    #[test]
    fn nothing_recorded_gives_zeros() {
        let mut recorder = Recorder::new().unwrap();
        assert_eq!(recorder.latency(), Latency::default());
        recorder.record(MILLISECOND);
        recorder.clear();
        assert_eq!(recorder.latency(), Latency::default());
        assert_eq!(SpreadRecorder::default().spread(), Spread::default());
    }

    #[test]
    fn a_spread_holds_mean_least_and_greatest_also_when_merged() {
        let mut first = SpreadRecorder::default();
        first.record(4 * MILLISECOND);
        first.record(2 * MILLISECOND);
        let mut merged = SpreadRecorder::default();
        merged.merge(&first);
        merged.merge(&SpreadRecorder::default());
        let mut last = SpreadRecorder::default();
        last.record(9 * MILLISECOND);
        merged.merge(&last);
        let expected = Spread {
            mean: 5.0,
            max: 9.0,
            min: 2.0,
            count: 3,
        };
        assert_eq!(merged.spread(), expected);
    }
}
