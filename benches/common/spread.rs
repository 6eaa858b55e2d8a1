//! Medians.

/// Returns the median with the least and the greatest.
pub(crate) fn median_and_range(values: &[f64]) -> Option<(f64, f64, f64)> {
    let least = values.iter().copied().min_by(f64::total_cmp)?;
    let greatest = values.iter().copied().max_by(f64::total_cmp)?;
    Some((harness::stats::median(values)?, least, greatest))
}
