//! What a session says, with all that its members share gone. Pure.

/// The differences of one session, as log ratios.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Reading {
    /// The ends alone: bad − good.
    Ends(f64),
    /// A candidate − the good end.
    Good(f64),
    /// A candidate − the bad end.
    Bad(f64),
    /// All three. The two differences of a candidate have its launch in common; their difference and their sum have nothing.
    Both {
        /// Bad − good, which says how great the effect is.
        ends: f64,
        /// Twice the candidate − good − bad, which says on which side it stands.
        sum: f64,
    },
}

/// Turns the levels of a session into differences, and says whose; none where no two can be compared.
pub(super) fn reading(levels: &[(usize, f64)], last: usize) -> Option<(Option<usize>, Reading)> {
    let finite = levels.iter().filter(|(_, level)| level.is_finite());
    let known: Vec<(usize, f64)> = finite.copied().collect();
    let find = |wanted: &dyn Fn(usize) -> bool| known.iter().find(|(commit, _)| wanted(*commit));
    let end = |end: usize| find(&|commit| commit == end).map(|(_, level)| *level);
    let candidate = find(&|commit| commit != 0 && commit != last);
    let reading = match (candidate, end(0), end(last)) {
        (None, Some(good), Some(bad)) => Reading::Ends(bad - good),
        (Some((_, level)), Some(good), None) => Reading::Good(level - good),
        (Some((_, level)), None, Some(bad)) => Reading::Bad(level - bad),
        (Some((_, level)), Some(good), Some(bad)) => Reading::Both {
            ends: bad - good,
            sum: 2.0 * level - good - bad,
        },
        (None, None, _) | (None, Some(_), None) | (Some(_), None, None) => return None,
    };
    Some((candidate.map(|(commit, _)| *commit), reading))
}

impl Reading {
    /// Returns by how much the bad end differs from the good one, where both were there.
    pub(super) const fn ends(self) -> Option<f64> {
        match self {
            Self::Ends(ends) | Self::Both { ends, .. } => Some(ends),
            Self::Good(_) | Self::Bad(_) => None,
        }
    }

    /// Returns how far the candidate stands above the good end, if the bad one stands at `fall`; 0 where there is none.
    pub(super) const fn level(self, fall: f64) -> f64 {
        match self {
            Self::Ends(_) => 0.0,
            Self::Good(above) => above,
            Self::Bad(above) => above + fall,
            Self::Both { sum, .. } => f64::midpoint(sum, fall),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_there_is_used() {
        let (good, candidate, bad) = ((0, 1.0), (4, 1.5), (9, 3.0));
        let both = Reading::Both {
            ends: 2.0,
            sum: -1.0,
        };
        for (levels, wanted) in [
            (vec![bad, good], Some((None, Reading::Ends(2.0)))),
            (vec![good, candidate], Some((Some(4), Reading::Good(0.5)))),
            (vec![candidate, bad], Some((Some(4), Reading::Bad(-1.5)))),
            (vec![good, candidate, bad], Some((Some(4), both))),
            (
                vec![good, (4, f64::NAN), bad],
                Some((None, Reading::Ends(2.0))),
            ),
            (vec![good], None),
            (vec![candidate], None),
            (Vec::new(), None),
        ] {
            assert_eq!(reading(&levels, 9), wanted, "{levels:?}");
        }
    }

    #[test]
    fn the_level_of_a_candidate_is_the_same_in_every_form() {
        // Good 0, bad −2, candidate −0.5.
        let both = Reading::Both {
            ends: -2.0,
            sum: 1.0,
        };
        for reading in [Reading::Good(-0.5), Reading::Bad(1.5), both] {
            assert!((reading.level(-2.0) + 0.5).abs() < 1e-12, "{reading:?}");
        }
    }
}
