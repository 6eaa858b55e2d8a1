//! Scales: where a value stands, at which values lines are drawn, and which labels have room.

/// A scale from values to places.
#[derive(Debug, Clone, Copy)]
pub(super) struct Axis {
    /// The values at its two ends.
    pub(super) values: (f64, f64),
    /// The places of these two.
    pub(super) places: (f64, f64),
}

/// Lines across a chart, about.
const LINES: f64 = 5.0;

impl Axis {
    /// Makes a scale that holds some values with a little room around them: at least a twentieth of their middle, so that
    /// noise does not look like mountains.
    pub(super) fn around(values: impl Iterator<Item = f64>, places: (f64, f64)) -> Self {
        let finite = values.filter(|value| value.is_finite());
        let (low, high) = finite.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| {
            (low.min(value), high.max(value))
        });
        if low > high {
            return Self {
                values: (0.0, 1.0),
                places,
            };
        }
        let middle = f64::midpoint(low, high);
        let half = ((high - low) * 0.6).max(middle.abs() * 0.05).max(1e-9);
        let bottom = middle - half;
        let bottom = if low >= 0.0 { bottom.max(0.0) } else { bottom };
        Self {
            values: (bottom, middle + half),
            places,
        }
    }

    /// Returns the place of a value; what lies beyond an end is at that end.
    pub(super) fn place(&self, value: f64) -> f64 {
        let (low, high) = self.values;
        let part = ((value - low) / (high - low)).clamp(0.0, 1.0);
        self.places.0 + part * (self.places.1 - self.places.0)
    }

    /// Returns round values for lines across the chart, with how they are written.
    pub(super) fn lines(&self) -> Vec<(f64, String)> {
        let (low, high) = self.values;
        let rough = (high - low) / LINES;
        let power = 10_f64.powf(rough.log10().floor());
        let steps = [1.0, 2.0, 5.0, 10.0].map(|step| step * power);
        let step = steps.into_iter().find(|step| *step >= rough);
        let step = step.unwrap_or(rough);
        let decimals = match step {
            step if step >= 1.0 => 0,
            step if step >= 0.1 => 1,
            _ => 3,
        };
        let first = (low / step).ceil() * step;
        let values = std::iter::successors(Some(first), |value| Some(value + step));
        let values = values.take_while(|value| *value <= high + step / 1e6);
        values
            .map(|value| (value, format!("{value:.decimals$}")))
            .collect()
    }
}

/// Returns which labels are shown, so that no two are nearer than `distance`: those that come first have the first choice.
pub(super) fn with_room(
    places: &[f64],
    order: impl Iterator<Item = usize>,
    distance: f64,
) -> Vec<usize> {
    let mut shown: Vec<usize> = Vec::new();
    for index in order {
        let near = |other: &usize| (places[*other] - places[index]).abs() < distance;
        if !shown.iter().any(near) {
            shown.push(index);
        }
    }
    shown.sort_unstable();
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_at_round_values_inside_the_axis() {
        let axis = Axis::around([8000.0, 7600.0].into_iter(), (200.0, 0.0));
        let lines = axis.lines();
        let texts: Vec<&str> = lines.iter().map(|(_, text)| text.as_str()).collect();
        assert_eq!(texts, ["7600", "7800", "8000"]);
        assert!(axis.place(8000.0) < axis.place(7600.0));
        assert!(axis.place(1e9).abs() < 1e-9);
    }

    #[test]
    fn equal_values_are_no_mountains_and_none_is_no_panic() {
        let axis = Axis::around([100.0, 100.1].into_iter(), (1.0, 0.0));
        assert!(axis.values.0 < 96.0 && axis.values.1 > 104.0, "{axis:?}");
        assert_eq!(
            Axis::around(std::iter::empty(), (1.0, 0.0)).values,
            (0.0, 1.0)
        );
        assert!(Axis::around([0.0].into_iter(), (1.0, 0.0)).lines().len() < 20);
    }

    #[test]
    fn labels_that_matter_keep_their_place() {
        let places: Vec<f64> = (0..10).map(f64::from).collect();
        assert_eq!(
            with_room(&places, [9, 4].into_iter().chain(0..10), 3.0),
            [0, 4, 9]
        );
    }
}
