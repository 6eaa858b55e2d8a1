//! The rank tests of other tools.

use statrs::distribution::{ContinuousCDF, Normal};

use super::real;

/// Returns the U of Mann and Whitney: in how many pairs of one value of each sample the first is greater; ties count half.
pub(crate) fn u(left: &[f64], right: &[f64]) -> f64 {
    let against = |one: &f64| -> f64 {
        let wins = right.iter().map(|other| match one.total_cmp(other) {
            std::cmp::Ordering::Greater => 1.0,
            std::cmp::Ordering::Equal => 0.5,
            std::cmp::Ordering::Less => 0.0,
        });
        wins.sum()
    };
    left.iter().map(against).sum()
}

/// Returns the exact two-sided p of Mann and Whitney for samples without ties, of 400 pairs of values at most.
pub(crate) fn mann_whitney(left: &[f64], right: &[f64]) -> f64 {
    harness::stats::mann_whitney_p(left, right).unwrap_or(1.0)
}

/// Returns the two-sided p of Mann and Whitney by the normal distribution, with the correction for continuity.
pub(crate) fn mann_whitney_normal(left: &[f64], right: &[f64]) -> f64 {
    let (n, m) = (real(left.len()), real(right.len()));
    let off = (u(left, right) - n * m / 2.0).abs() - 0.5;
    let z = off.max(0.0) / (n * m * (n + m + 1.0) / 12.0).sqrt();
    2.0 * Normal::standard().sf(z)
}

/// Returns the two-sided p of Kolmogorov and Smirnov by their limit, with the correction of Stephens (1970).
pub(crate) fn kolmogorov_smirnov(left: &[f64], right: &[f64]) -> f64 {
    let share = |sample: &[f64], at: f64| {
        real(sample.iter().filter(|value| **value <= at).count()) / real(sample.len())
    };
    let gaps = left
        .iter()
        .chain(right)
        .map(|at| (share(left, *at) - share(right, *at)).abs());
    let gap = gaps.fold(0.0, f64::max);
    let root = (real(left.len()) * real(right.len()) / real(left.len() + right.len())).sqrt();
    let reach = (root + 0.12 + 0.11 / root) * gap;
    let term = |k: i32| {
        let sign = if k % 2 == 1 { 2.0 } else { -2.0 };
        sign * (-2.0 * f64::from(k * k) * reach * reach).exp()
    };
    (1..=100).map(term).sum::<f64>().clamp(0.0, 1.0)
}
