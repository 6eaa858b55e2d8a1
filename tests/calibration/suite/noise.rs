//! Simulated launches, seeded: versions, sessions, groups as the plan makes them, and the noise of a launch.

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;

use super::real;

/// How the launches of one and the same program differ. The unit is the standard deviation of a pair's difference.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Noise {
    /// Normal.
    Normal,
    /// Student's t with this many degrees of freedom, more than two, scaled to the same variance.
    Student(usize),
    /// Normal, and one launch in twenty is slower by a size drawn between these.
    Spikes(f64, f64),
    /// Normal, and the machine drifts: an AR(1) process from session to session with this correlation and ten times the
    /// standard deviation. The servers of one race share it, but each launch feels it by a factor of its own, 1 ± 0.1.
    Drift(f64),
    /// Normal, with a standard deviation for each version between half and twice the usual one.
    Graded,
    /// Normal, and every third version varies three times as much.
    Wild,
}

impl Noise {
    /// Returns what a table calls it.
    pub(crate) fn name(self) -> String {
        match self {
            Self::Normal => "normal".to_owned(),
            Self::Student(freedom) => format!("t with {freedom} degrees of freedom"),
            Self::Spikes(least, most) if least < most => {
                format!("5 % of launches slow by {least} to {most} sd")
            }
            Self::Spikes(size, _) => format!("5 % of launches slow by {size} sd"),
            Self::Drift(correlation) => format!("machine drifts, ρ = {correlation}"),
            Self::Graded => "sd of each version ×½ to ×2".to_owned(),
            Self::Wild => "every third version with three times the sd".to_owned(),
        }
    }
}

/// The source of all chance in a simulation.
pub(crate) struct Random(Pcg64);

impl Random {
    /// Starts from a seed.
    pub(crate) fn new(seed: u64) -> Self {
        Self(Pcg64::seed_from_u64(seed))
    }

    /// Returns a value between 0 and 1, all alike likely.
    pub(crate) fn uniform(&mut self) -> f64 {
        self.0.random::<f64>()
    }

    /// Returns a whole number below `count`.
    pub(crate) fn below(&mut self, count: usize) -> usize {
        self.0.random_range(0..count)
    }

    /// Returns a standard normal value, by the method of Box and Muller.
    pub(crate) fn normal(&mut self) -> f64 {
        let radius = (-2.0 * (1.0 - self.uniform()).ln()).sqrt();
        radius * (std::f64::consts::TAU * self.uniform()).cos()
    }

    /// Returns normal values with variance 1, each correlated with the next.
    pub(crate) fn series(&mut self, length: usize, correlation: f64) -> Vec<f64> {
        let fresh = (1.0 - correlation * correlation).sqrt();
        let mut value = self.normal();
        let mut next = || {
            let now = value;
            value = correlation * value + fresh * self.normal();
            now
        };
        (0..length).map(|_| next()).collect()
    }

    /// Returns what one launch adds to its log speed, if `sd` is the standard deviation of launches and `pair` that of the
    /// difference of two. What a machine adds to all that runs on it, and a version to all its launches, is no part of it.
    pub(crate) fn launch(&mut self, noise: Noise, sd: f64, pair: f64) -> f64 {
        match noise {
            Noise::Student(freedom) => sd * self.student(freedom),
            Noise::Spikes(least, most) => {
                let slow = self.uniform() < 0.05;
                let by = pair * (least + (most - least) * self.uniform());
                sd * self.normal() - if slow { by } else { 0.0 }
            }
            Noise::Normal | Noise::Drift(_) | Noise::Graded | Noise::Wild => sd * self.normal(),
        }
    }

    /// Returns a value of Student's t, scaled to variance 1.
    fn student(&mut self, freedom: usize) -> f64 {
        let squares: f64 = (0..freedom).map(|_| self.normal().powi(2)).sum();
        let freedom = real(freedom);
        self.normal() * ((freedom - 2.0) / squares).sqrt()
    }
}

/// A machine with versions on it.
struct Machine<'plan> {
    plan: &'plan Plan,
    /// The standard deviation of each version's launches.
    sds: Vec<f64>,
    /// What the machine adds to the log speed of whatever runs now.
    level: f64,
}

/// A run to simulate. All sizes are log ratios.
#[derive(Debug, Clone)]
pub(crate) struct Plan {
    /// The noise of launches.
    pub(crate) noise: Noise,
    /// Standard deviation of a pair's difference.
    pub(crate) sd: f64,
    /// Sessions of each pair.
    pub(crate) sessions: usize,
    /// The true effect of each pair of neighbours.
    pub(crate) effects: Vec<f64>,
}

/// Cells of a group at most, as in the product.
const GROUP: usize = 4;

impl Plan {
    /// Returns a plan without any effect.
    pub(crate) fn null(noise: Noise, versions: usize, sessions: usize) -> Self {
        Self {
            noise,
            sd: 0.03,
            sessions,
            effects: vec![0.0; versions - 1],
        }
    }

    /// Returns for each pair one difference for each session. Neighbours in one group share the launch of the version
    /// between them; groups overlap by one version, which is launched in each.
    pub(crate) fn differences(&self, random: &mut Random) -> Vec<Vec<f64>> {
        let pairs = self.effects.len();
        let mut sets = vec![Vec::with_capacity(self.sessions); pairs];
        let mut machine = Machine::new(self, random);
        let groups = pairs.div_ceil(GROUP - 1);
        for _ in 0..self.sessions {
            for group in 0..groups {
                machine.go_on(random);
                let inside = pairs * group / groups..pairs * (group + 1) / groups;
                let mut before = machine.launch(inside.start, random);
                for pair in inside {
                    let after = machine.launch(pair + 1, random);
                    sets[pair].push(self.effects[pair] + after - before);
                    before = after;
                }
            }
        }
        sets
    }

    /// Returns for each version as many log speeds as there are sessions, measured one after the other, version by
    /// version, as tools without races do.
    pub(crate) fn levels(&self, random: &mut Random) -> Vec<Vec<f64>> {
        let mut machine = Machine::new(self, random);
        let mut level = 0.0;
        let mut sets = Vec::new();
        for version in 0..=self.effects.len() {
            let mut launches = Vec::with_capacity(self.sessions);
            for _ in 0..self.sessions {
                machine.go_on(random);
                launches.push(level + machine.launch(version, random));
            }
            sets.push(launches);
            level += self.effects.get(version).unwrap_or(&0.0);
        }
        sets
    }
}

impl<'plan> Machine<'plan> {
    fn new(plan: &'plan Plan, random: &mut Random) -> Self {
        let launch = plan.sd * std::f64::consts::FRAC_1_SQRT_2;
        let sd = |version: usize| match plan.noise {
            Noise::Graded => launch * 2_f64.powf(2.0 * random.uniform() - 1.0),
            Noise::Wild if version.is_multiple_of(3) => 3.0 * launch,
            Noise::Wild
            | Noise::Normal
            | Noise::Student(_)
            | Noise::Spikes(..)
            | Noise::Drift(_) => launch,
        };
        let sds = (0..=plan.effects.len()).map(sd).collect();
        let level = match plan.noise {
            Noise::Drift(_) => 10.0 * plan.sd * random.normal(),
            Noise::Normal | Noise::Student(_) | Noise::Spikes(..) | Noise::Graded | Noise::Wild => {
                0.0
            }
        };
        Self { plan, sds, level }
    }

    /// Lets some time pass.
    fn go_on(&mut self, random: &mut Random) {
        if let Noise::Drift(correlation) = self.plan.noise {
            let fresh = (1.0 - correlation * correlation).sqrt() * 10.0 * self.plan.sd;
            self.level = correlation * self.level + fresh * random.normal();
        }
    }

    /// Returns what one launch of a version adds to its log speed.
    fn launch(&self, version: usize, random: &mut Random) -> f64 {
        let own = random.launch(self.plan.noise, self.sds[version], self.plan.sd);
        match self.plan.noise {
            Noise::Drift(_) => own + self.level * (1.0 + 0.1 * random.normal()),
            Noise::Normal | Noise::Student(_) | Noise::Spikes(..) | Noise::Graded | Noise::Wild => {
                own
            }
        }
    }
}
