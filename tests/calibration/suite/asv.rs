//! asv's search for steps: levels by least absolute deviations, their number by a penalty that fits itself.

use super::real;

/// The noise of a series in its own unit, as a share of the time.
const NOISE: f64 = 0.02;

/// A step to slower is reported from this share on.
const THRESHOLD: f64 = 0.05;

/// Levels longer than this are put together from shorter ones.
const LONGEST: usize = 20;

/// A level: its first place, the place behind its last, its median, and the mean distance from it.
#[derive(Debug, Clone, Copy)]
struct Piece {
    start: usize,
    end: usize,
    value: f64,
    distance: f64,
}

/// Returns the places where times step up for good, of a series of log speeds.
pub(crate) fn steps(series: &[f64]) -> Vec<usize> {
    let times: Vec<f64> = series.iter().map(|speed| (-NOISE * speed).exp()).collect();
    let count = real(times.len());
    let whole = piece(&times, 0, times.len()).distance;
    let mut best: Option<(f64, Vec<Piece>)> = None;
    let mut weigh = |exponent: f64| {
        let pieces = fit(&times, whole * exponent.exp());
        let cost = cost(&times, &pieces, 4.0 * count.ln() / count);
        if best.as_ref().is_none_or(|(least, _)| cost < *least) {
            best = Some((cost, pieces));
        }
        cost
    };
    let (low, high) = ((0.1 / count).ln(), 0.0);
    golden(&mut weigh, (low, high), 0.1 * low.abs());
    regressions(&best.map_or(Vec::new(), |(_, pieces)| pieces))
}

/// Describes a stretch; `distance` is the sum of distances from its median.
fn piece(times: &[f64], start: usize, end: usize) -> Piece {
    let value = harness::stats::median(&times[start..end]).unwrap_or(0.0);
    let distance = times[start..end]
        .iter()
        .map(|time| (time - value).abs())
        .sum();
    Piece {
        start,
        end,
        value,
        distance,
    }
}

/// Returns the levels with the least distance + `penalty` a level, short ones first, then joined where that pays.
fn fit(times: &[f64], penalty: f64) -> Vec<Piece> {
    let mut best: Vec<(f64, usize)> = vec![(0.0, 0)];
    for end in 1..=times.len() {
        let with = |start: usize| {
            (
                best[start].0 + piece(times, start, end).distance + penalty,
                start,
            )
        };
        let starts = end.saturating_sub(LONGEST)..end;
        let least = starts
            .map(with)
            .min_by(|left, right| f64::total_cmp(&left.0, &right.0));
        best.push(least.unwrap_or((f64::INFINITY, 0)));
    }
    let mut pieces = Vec::new();
    let mut end = times.len();
    while end > 0 {
        pieces.push(piece(times, best[end].1, end));
        end = best[end].1;
    }
    pieces.reverse();
    join(times, penalty, pieces)
}

/// Joins the two neighbours that lose least by it, while that is less than a level costs.
fn join(times: &[f64], penalty: f64, mut pieces: Vec<Piece>) -> Vec<Piece> {
    loop {
        let joined = pieces.windows(2).map(|two| {
            let both = piece(times, two[0].start, two[1].end);
            (
                both.distance - two[0].distance - two[1].distance - penalty,
                both,
            )
        });
        let least = joined
            .enumerate()
            .min_by(|a, b| f64::total_cmp(&a.1.0, &b.1.0));
        match least {
            Some((place, (change, both))) if change <= 0.0 => {
                pieces.splice(place..place + 2, [both]);
            }
            Some(_) | None => return pieces,
        }
    }
}

/// Returns what a fit costs: the logarithm of what it leaves, neighbours' correlation taken out, and so much for each level.
fn cost(times: &[f64], pieces: &[Piece], each: f64) -> f64 {
    let left: Vec<f64> = pieces
        .iter()
        .flat_map(|piece| {
            times[piece.start..piece.end]
                .iter()
                .map(|time| time - piece.value)
        })
        .collect();
    let rest = |pull: f64| {
        let later = left.windows(2).map(|two| (two[1] - pull * two[0]).abs());
        left[0].abs() + later.sum::<f64>()
    };
    let mut least = f64::INFINITY;
    let mut weigh = |pull: f64| {
        least = least.min(rest(pull));
        rest(pull)
    };
    golden(&mut weigh, (-1.0, 1.0), 0.05);
    let jumps = pieces
        .windows(2)
        .map(|two| (two[1].value - two[0].value).abs());
    let floor = match pieces {
        [_, _, ..] if pieces.len() > 2 => 0.1 * jumps.fold(f64::INFINITY, f64::min),
        _ => {
            0.001
                * pieces
                    .iter()
                    .map(|piece| piece.value)
                    .fold(f64::INFINITY, f64::min)
        }
    };
    each * real(pieces.len()) + (floor + least).ln()
}

/// Evaluates a function at ever nearer points around its least value, both ends first.
fn golden(weigh: &mut dyn FnMut(f64) -> f64, (mut low, mut high): (f64, f64), near: f64) {
    let part = (5_f64.sqrt() - 1.0) / 2.0;
    weigh(low);
    weigh(high);
    let (mut left, mut right) = (high - part * (high - low), low + part * (high - low));
    let (mut at_left, mut at_right) = (weigh(left), weigh(right));
    while high - low > near {
        if at_left < at_right {
            (high, right, at_right) = (right, left, at_left);
            left = high - part * (high - low);
            at_left = weigh(left);
        } else {
            (low, left, at_left) = (left, right, at_right);
            right = low + part * (high - low);
            at_right = weigh(right);
        }
    }
}

/// Returns the steps up that explain why the last level is worse than an earlier one, from the last one back.
fn regressions(pieces: &[Piece]) -> Vec<usize> {
    let error = |piece: &Piece| piece.distance / real(piece.end - piece.start);
    let Some(last) = pieces.last() else {
        return Vec::new();
    };
    let (mut best, mut best_error, mut next) = (last.value, error(last), last.start);
    let mut steps = Vec::new();
    for piece in pieces.iter().rev() {
        let margin = error(piece).max(best_error).max(THRESHOLD * piece.value);
        if best > piece.value + margin {
            steps.push(next);
            (best, best_error) = (piece.value, error(piece));
        }
        next = piece.start;
    }
    steps
}
