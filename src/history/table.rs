//! Versions × nights → a level of each version, an effect of each night, and what is left. Pure.

use crate::stats::median;

/// One row for each version, one column for each night; not every version was measured every night.
pub(super) type Table = Vec<Vec<Option<f64>>>;

/// Sweeps end when none moves anything by more than this, a part in a million …
const STILL: f64 = 1e-6;

/// … or after so many.
const SWEEPS: usize = 200;

/// What a table was taken apart into: value = level of the version + effect of the night + what is left.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Fit {
    /// The effect of each night; their median is zero.
    pub(super) nights: Vec<f64>,
    /// The level of each version in the median night; none where it was never measured.
    pub(super) levels: Vec<Option<f64>>,
    /// What is left of each value.
    pub(super) residuals: Table,
}

/// Returns which nights are connected with the last one by versions measured in both, directly or by way of others. What
/// lies between two nights that are not is unknown.
pub(super) fn linked(table: &Table, nights: usize) -> Vec<bool> {
    let mut linked = vec![false; nights];
    let mut reached = vec![false; table.len()];
    let mut open: Vec<usize> = nights.checked_sub(1).into_iter().collect();
    while let Some(night) = open.pop() {
        if std::mem::replace(&mut linked[night], true) {
            continue;
        }
        for (row, values) in table.iter().enumerate() {
            if values[night].is_some() && !std::mem::replace(&mut reached[row], true) {
                open.extend((0..nights).filter(|other| values[*other].is_some()));
            }
        }
    }
    linked
}

/// Takes a table apart by Tukey's median polish: level and effect are in turn the median of what the other leaves, so
/// that neither a version that changed nor a bad night moves the rest.
///
/// A version measured in one night only has nothing to say of nights. Levels and effects begin with what one walk through
/// the nights gives, for where versions come and go each sweep carries news only from a night to its neighbours.
pub(super) fn fit(table: &Table, nights: usize) -> Fit {
    let mut fit = Fit {
        nights: vec![0.0; nights],
        levels: vec![None; table.len()],
        residuals: Vec::new(),
    };
    for night in 0..nights {
        fit.walk(table, night);
    }
    let telling: Vec<usize> = (0..table.len())
        .filter(|row| table[*row].iter().flatten().count() > 1)
        .collect();
    for _ in 0..SWEEPS {
        if fit.sweep(table, &telling) <= STILL {
            break;
        }
    }
    fit.centre();
    let left = |(values, level): (&Vec<Option<f64>>, &Option<f64>)| {
        let left = |(value, night): (&Option<f64>, &f64)| Some((*value)? - (*level)? - night);
        std::iter::zip(values, &fit.nights).map(left).collect()
    };
    let residuals = std::iter::zip(table, &fit.levels).map(left).collect();
    Fit { residuals, ..fit }
}

impl Fit {
    /// Takes the effect of a night from the versions known by then, and the level of the others from that.
    fn walk(&mut self, table: &Table, night: usize) {
        let values = || table.iter().map(|row| row[night]);
        let known = std::iter::zip(values(), &self.levels);
        let known: Vec<f64> = known
            .filter_map(|(value, level)| Some(value? - (*level)?))
            .collect();
        let effect = median(&known).unwrap_or(0.0);
        self.nights[night] = effect;
        for (value, level) in std::iter::zip(values(), &mut self.levels) {
            *level = level.or(value.map(|value| value - effect));
        }
    }

    /// Fits each level and then each effect once more; returns the greatest move.
    fn sweep(&mut self, table: &Table, telling: &[usize]) -> f64 {
        let mut greatest = 0.0_f64;
        let mut moved = |from: &mut f64, to: Option<f64>| {
            let to = to.unwrap_or(*from);
            greatest = greatest.max((to - *from).abs());
            *from = to;
        };
        for (values, level) in std::iter::zip(table, &mut self.levels) {
            let left = std::iter::zip(values, &self.nights);
            let left = left.filter_map(|(value, night)| Some((*value)? - night));
            if let Some(level) = level {
                moved(level, median(&left.collect::<Vec<_>>()));
            }
        }
        for (night, effect) in self.nights.iter_mut().enumerate() {
            let left = telling.iter();
            let left = left.filter_map(|row| Some(table[*row][night]? - self.levels[*row]?));
            moved(effect, median(&left.collect::<Vec<_>>()));
        }
        greatest
    }

    /// Makes the median of the nights' effects zero.
    fn centre(&mut self) {
        let centre = median(&self.nights).unwrap_or(0.0);
        for effect in &mut self.nights {
            *effect -= centre;
        }
        for level in self.levels.iter_mut().flatten() {
            *level += centre;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Versions in the columns of nights where they are measured.
    fn table(rows: &[&[Option<f64>]]) -> Table {
        rows.iter().map(|row| row.to_vec()).collect()
    }

    fn assert_near(got: &[f64], wanted: &[f64]) {
        assert_eq!(got.len(), wanted.len());
        for (got, wanted) in std::iter::zip(got, wanted) {
            assert!((got - wanted).abs() < 1e-5, "{got} is not {wanted}");
        }
    }

    #[test]
    fn levels_and_nights_come_apart_and_a_version_that_changed_moves_neither() {
        let (levels, nights) = ([1.0, 2.0, 4.0, 8.0], [0.1, 0.0, -0.2, 0.0, 0.3]);
        let mut values: Table = levels
            .iter()
            .map(|level| nights.iter().map(|night| Some(level + night)).collect())
            .collect();
        values[2][3] = Some(4.0 - 0.5);
        values[2][4] = Some(4.3 - 0.5);
        values[1][0] = None;
        let fit = fit(&values, 5);
        assert_near(&fit.nights, &nights);
        let found: Vec<f64> = fit.levels.iter().copied().flatten().collect();
        assert_near(&found, &levels);
        let left: Vec<f64> = fit.residuals[2].iter().copied().flatten().collect();
        assert_near(&left, &[0.0, 0.0, 0.0, -0.5, -0.5]);
        assert_eq!(fit.residuals[1][0], None);
    }

    #[test]
    fn a_machine_that_drifts_is_followed_through_versions_that_come_and_go() {
        // Of each version three nights; the machine loses 1 % a night.
        let nights = 60;
        let value = |row: usize, night: usize| {
            let known = (row..row + 3).contains(&night);
            known.then(|| crate::stats::real(row % 7) - 0.01 * crate::stats::real(night))
        };
        let rows = 0..nights - 2;
        let values: Table = rows
            .map(|row| (0..nights).map(|night| value(row, night)).collect())
            .collect();
        let fit = fit(&values, nights);
        let lost = fit.nights[nights - 1] - fit.nights[0];
        assert!((lost + 0.59).abs() < 1e-4, "{lost}");
    }

    #[test]
    fn a_version_of_one_night_does_not_hold_that_night_where_it_was() {
        let fit = fit(
            &table(&[
                &[Some(1.0), Some(0.8)],
                &[None, Some(5.0)],
                &[None, Some(6.0)],
                &[None, Some(7.0)],
            ]),
            2,
        );
        assert_near(&fit.nights, &[0.1, -0.1]);
        assert_near(&[fit.levels[1].unwrap()], &[5.1]);
    }

    #[test]
    fn nights_without_a_version_in_common_are_not_linked() {
        let values = table(&[
            &[Some(1.0), Some(1.0), None, None],
            &[None, None, Some(1.0), None],
            &[None, None, Some(1.0), Some(1.0)],
        ]);
        assert_eq!(linked(&values, 4), [false, false, true, true]);
        assert_eq!(linked(&table(&[]), 0), Vec::<bool>::new());
    }
}
