//! When requests of a given rate are due, whatever the server does. Pure; times are arguments, in nanoseconds.

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;

use crate::matrix::Arrivals;

const SECOND: u64 = 1_000_000_000;
/// Arrivals at random are the same in every load, so that all servers are asked in the same rhythm.
const SEED: u64 = 2012;

/// The rate of one target.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rate {
    /// Requests per second over all threads.
    pub(super) per_second: u64,
    /// How they follow each other.
    pub(super) arrivals: Arrivals,
}

/// Which part of a target's requests is one thread's: it has every `threads`th of the target's connections, and of the
/// requests as many.
#[derive(Debug, Clone, Copy)]
pub(super) struct Part {
    /// The target's place among the loaded ones.
    pub(super) target: usize,
    /// How many targets are loaded.
    pub(super) targets: usize,
    /// The thread's place among the threads.
    pub(super) thread: usize,
    /// How many threads there are.
    pub(super) threads: usize,
    /// The target's connections over all threads.
    pub(super) connections: usize,
}

impl Part {
    /// Returns how many of the connections are the thread's.
    pub(super) fn connections(self) -> usize {
        (self.thread..self.connections).step_by(self.threads).len()
    }
}

/// The times at which one thread's requests to one target are due. They never wait for anything.
#[derive(Debug)]
pub(super) struct Pace {
    next: u64,
    distances: Distances,
}

#[derive(Debug)]
enum Distances {
    Even(Even),
    Poisson {
        random: Pcg64,
        /// Mean distance, ns.
        mean: f64,
        seed: u64,
    },
}

/// Equal distances over all threads: the target's nth request is that of the nth connection, round and round.
#[derive(Debug)]
struct Even {
    began: u64,
    /// Which of the target's requests is next.
    number: u64,
    per_second: u64,
    part: Part,
}

impl Pace {
    /// Makes the times of a thread's part; none if it has no connection, and so no part.
    pub(super) fn new(rate: Rate, part: Part) -> Option<Self> {
        let share = part.connections();
        if share == 0 || rate.per_second == 0 {
            return None;
        }
        let distances = match rate.arrivals {
            Arrivals::Even => Distances::Even(Even {
                began: 0,
                number: 0,
                per_second: rate.per_second,
                part,
            }),
            Arrivals::Poisson => {
                let seed = SEED + (part.target * part.threads + part.thread) as u64;
                Distances::Poisson {
                    random: Pcg64::seed_from_u64(seed),
                    mean: mean_distance(rate.per_second, share, part.connections),
                    seed,
                }
            }
        };
        let mut pace = Self { next: 0, distances };
        pace.start(0);
        Some(pace)
    }

    /// Begins anew at this time.
    pub(super) fn start(&mut self, now: u64) {
        self.next = now;
        match &mut self.distances {
            Distances::Even(even) => {
                even.began = now;
                even.number = even.part.thread as u64;
                self.next = even.due();
            }
            Distances::Poisson { random, seed, .. } => {
                *random = Pcg64::seed_from_u64(*seed);
                self.advance();
            }
        }
    }

    /// Returns when the next request is due.
    pub(super) fn due(&self) -> u64 {
        self.next
    }

    /// Returns when the next request is due and goes on to the one after it.
    pub(super) fn advance(&mut self) -> u64 {
        let due = self.next;
        self.next = match &mut self.distances {
            Distances::Even(even) => even.after(),
            Distances::Poisson { random, mean, .. } => {
                due.saturating_add(exponential(random.random(), *mean))
            }
        };
        due
    }

    /// Puts off all that is not begun by as much: the time did not count.
    pub(super) fn put_off(&mut self, by: u64) {
        self.next += by;
        if let Distances::Even(even) = &mut self.distances {
            even.began += by;
        }
    }
}

impl Even {
    fn due(&self) -> u64 {
        let targets = self.part.targets as u64;
        // The targets take turns within each distance, so that none is always asked right after another.
        let steps = u128::from(self.number * targets + self.part.target as u64);
        let since = steps * u128::from(SECOND) / u128::from(self.per_second * targets);
        self.began
            .saturating_add(u64::try_from(since).unwrap_or(u64::MAX))
    }

    /// Goes on to the thread's next request.
    fn after(&mut self) -> u64 {
        let (connections, threads) = (self.part.connections as u64, self.part.threads as u64);
        let connection = self.number % connections;
        self.number += if connection + threads < connections {
            threads
        } else {
            connections - connection + self.part.thread as u64
        };
        self.due()
    }
}

/// Returns the mean distance of one thread's requests, ns.
#[expect(
    clippy::cast_precision_loss,
    reason = "rates and connections stay far below 2^53"
)]
fn mean_distance(per_second: u64, share: usize, connections: usize) -> f64 {
    SECOND as f64 * connections as f64 / (per_second as f64 * share as f64)
}

/// Returns an exponential distance in whole nanoseconds for a number of equal chances in [0, 1).
fn exponential(uniform: f64, mean: f64) -> u64 {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "it is not negative, and a greater one than fits becomes the greatest"
    )]
    return (-(1.0 - uniform).ln() * mean).round() as u64;
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(thread: usize, threads: usize, connections: usize) -> Part {
        Part {
            target: 0,
            targets: 1,
            thread,
            threads,
            connections,
        }
    }

    fn times(arrivals: Arrivals, per_second: u64, part: Part, count: usize) -> Vec<u64> {
        let rate = Rate {
            per_second,
            arrivals,
        };
        let mut pace = Pace::new(rate, part).unwrap();
        pace.start(1000);
        (0..count).map(|_| pace.advance()).collect()
    }

    #[test]
    fn even_requests_lie_at_equal_distances_without_drift() {
        let due = times(Arrivals::Even, 3, part(0, 1, 7), 7);
        let third = |steps: u64| 1000 + steps * SECOND / 3;
        assert_eq!(due, (0..7).map(third).collect::<Vec<_>>());
    }

    #[test]
    fn threads_share_the_requests_as_they_share_the_connections() {
        let of = |thread| times(Arrivals::Even, 1000, part(thread, 2, 3), 4);
        let at = |steps: [u64; 4]| steps.map(|step| 1000 + step * 1_000_000);
        assert_eq!(of(0), at([0, 2, 3, 5]));
        assert_eq!(of(1), at([1, 4, 7, 10]));
        let rate = Rate {
            per_second: 9,
            arrivals: Arrivals::Even,
        };
        assert!(Pace::new(rate, part(3, 4, 3)).is_none());
    }

    #[test]
    fn targets_are_asked_in_turn_within_a_distance() {
        let second = Part {
            target: 1,
            targets: 2,
            ..part(0, 1, 1)
        };
        assert_eq!(times(Arrivals::Even, 10, second, 1), [1000 + SECOND / 20]);
    }

    #[test]
    fn random_requests_have_the_mean_and_the_spread_of_an_exponential_distance() {
        let count = 60_000_u16;
        let due = times(Arrivals::Poisson, 500, part(0, 2, 4), usize::from(count));
        let distances: Vec<f64> = due
            .windows(2)
            .map(|pair| f64::from(u32::try_from(pair[1] - pair[0]).unwrap()))
            .collect();
        let mean = distances.iter().sum::<f64>() / f64::from(count - 1);
        let variance = distances
            .iter()
            .map(|distance| (distance - mean).powi(2))
            .sum::<f64>()
            / f64::from(count - 1);
        // Half of 500 in a second; both have a standard error of about half a percent.
        assert!((mean / 4e6 - 1.0).abs() < 0.02, "{mean}");
        assert!((variance.sqrt() / mean - 1.0).abs() < 0.02, "{variance}");
        assert_eq!(due, times(Arrivals::Poisson, 500, part(0, 2, 4), due.len()));
        assert_ne!(due, times(Arrivals::Poisson, 500, part(1, 2, 4), due.len()));
    }

    #[test]
    fn what_is_put_off_keeps_its_distances() {
        for arrivals in [Arrivals::Even, Arrivals::Poisson] {
            let rate = Rate {
                per_second: 100,
                arrivals,
            };
            let mut pace = Pace::new(rate, part(0, 1, 1)).unwrap();
            let mut other = Pace::new(rate, part(0, 1, 1)).unwrap();
            assert_eq!(pace.advance(), other.advance());
            pace.put_off(77);
            for _ in 0..3 {
                assert_eq!(pace.advance(), other.advance() + 77);
            }
        }
    }
}
