//! How sure a count of hits makes us.

use statrs::distribution::{Beta, ContinuousCDF};

use super::real;

/// Hits among independent trials.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Share {
    /// Hits.
    pub(crate) hits: usize,
    /// Trials.
    pub(crate) of: usize,
}

impl Share {
    /// Counts the trials in which something happened.
    pub(crate) fn count(trials: usize, mut happens: impl FnMut() -> bool) -> Self {
        let hits = (0..trials).filter(|_| happens()).count();
        Self { hits, of: trials }
    }

    /// Returns the share.
    pub(crate) fn value(self) -> f64 {
        real(self.hits) / real(self.of)
    }

    /// Returns the interval of Clopper and Pearson (1934), which misses the true chance with at most `alpha` ÷ 2 on each
    /// side.
    pub(crate) fn interval(self, alpha: f64) -> (f64, f64) {
        let (hits, misses) = (real(self.hits), real(self.of - self.hits));
        let low = Beta::new(hits, misses + 1.0).map_or(0.0, |beta| beta.inverse_cdf(alpha / 2.0));
        let high =
            Beta::new(hits + 1.0, misses).map_or(1.0, |beta| beta.inverse_cdf(1.0 - alpha / 2.0));
        (low, high)
    }
}
