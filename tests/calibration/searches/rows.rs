//! Histories to search, what came of the searches, and what must.

use harness::bisect::{Settings, Spent};

use super::ours::{SETTINGS, Searched, search};
use super::rivals::{Given, Rival};
use super::world::World;
use crate::suite::bound::Share;
use crate::suite::noise::{Noise, Random};
use crate::suite::real;
use crate::suite::rows::{Row, Target};

/// A kind of history.
#[derive(Clone, Copy)]
pub(crate) struct Kind {
    /// The line of the table of targets.
    pub(crate) line: &'static str,
    pub(crate) what: &'static str,
    make: fn(&mut Random) -> World,
    /// How often the culprit must be named; without one, nobody must.
    right: Target,
    /// Launches that may be needed on average.
    pub(crate) launches: Option<f64>,
}

/// Noise with a twentieth of all launches slow.
const SPIKES: Noise = Noise::Spikes(3.0, 30.0);

/// All kinds of histories. The least effect that searches look for is one standard deviation.
pub(crate) const KINDS: [Kind; 15] = [
    kind("B1", "1 sd slower", |r| World::line(1.0, r), (0.95, 135.0)),
    kind("B1", "2 sd slower", |r| World::line(2.0, r), (0.97, 40.0)),
    kind("B1", "3 sd slower", |r| World::line(3.0, r), (0.97, 24.0)),
    kind("B1", "5 sd slower", |r| World::line(5.0, r), (0.99, 18.0)),
    none("no change", |r| World::line(3.0, r).without_change()),
    none("no change, t with 5 degrees of freedom", |r| {
        World::line(3.0, r).without_change().with(Noise::Student(5))
    }),
    none("no change, 5 % of launches slow by 3 to 30 sd", |r| {
        World::line(3.0, r).without_change().with(SPIKES)
    }),
    shown("", "half of the least effect slower", |r| {
        World::line(0.5, r)
    }),
    shown("B4", "2 sd slower, 22 % cannot be built", |r| {
        World::line(2.0, r).with_gaps(r)
    }),
    shown("B4", "3 sd slower, 22 % cannot be built", |r| {
        World::line(3.0, r).with_gaps(r)
    }),
    shown("", "3 sd slower, t with 5 degrees of freedom", |r| {
        World::line(3.0, r).with(Noise::Student(5))
    }),
    shown("", "3 sd slower, 5 % of launches slow by 3 to 30 sd", |r| {
        World::line(3.0, r).with(SPIKES)
    }),
    shown("", "3 sd slower, another commit alone 3 sd faster", |r| {
        World::line(3.0, r).with_decoy(3.0, r)
    }),
    shown("", "3 sd slower, another commit alone 10 sd faster", |r| {
        World::line(3.0, r).with_decoy(10.0, r)
    }),
    shown("", "3 sd slower, a graph with merges", |r| {
        World::graph(3.0, r)
    }),
];

const fn kind(
    line: &'static str,
    what: &'static str,
    make: fn(&mut Random) -> World,
    (right, launches): (f64, f64),
) -> Kind {
    Kind {
        line,
        what,
        make,
        right: Target::AtLeast(right),
        launches: Some(launches),
    }
}

const fn shown(line: &'static str, what: &'static str, make: fn(&mut Random) -> World) -> Kind {
    Kind {
        line,
        what,
        make,
        right: Target::Shown,
        launches: None,
    }
}

const fn none(what: &'static str, make: fn(&mut Random) -> World) -> Kind {
    Kind {
        launches: Some(60.0),
        ..shown("B2", what, make)
    }
}

/// What came of the searches of one kind of history.
pub(crate) struct Searches {
    pub(crate) kind: Kind,
    worlds: Vec<(World, Searched)>,
}

/// Searches so many histories of a kind.
pub(crate) fn searches(kind: Kind, runs: usize) -> Searches {
    let mut random = Random::new(21);
    let mut one = |place: usize| {
        let world = (kind.make)(&mut random);
        let settings = Settings {
            seed: place as u64,
            ..SETTINGS
        };
        let searched = search(&world, settings, &mut random);
        (world, searched)
    };
    Searches {
        kind,
        worlds: (0..runs).map(&mut one).collect(),
    }
}

impl Searches {
    fn count(&self, happens: impl Fn(&World, &Searched) -> bool) -> Share {
        let hits = self
            .worlds
            .iter()
            .filter(|(world, searched)| happens(world, searched));
        Share {
            hits: hits.count(),
            of: self.worlds.len(),
        }
    }

    /// Returns how often the culprit was named, or is among several that were.
    pub(crate) fn right(&self) -> Share {
        self.count(|world, searched| searched.is_right(world))
    }

    /// Returns how often others were named.
    pub(crate) fn wrong(&self) -> Share {
        self.count(|world, searched| !searched.named.is_empty() && !searched.is_right(world))
    }

    /// Returns how often it is said that there is no change.
    pub(crate) fn alike(&self) -> Share {
        self.count(|_, searched| searched.range.is_none())
    }

    /// Returns the launches of all searches, ascending.
    pub(crate) fn launches(&self) -> Vec<usize> {
        let all = self
            .worlds
            .iter()
            .map(|(_, searched)| searched.total().launches);
        let mut all: Vec<usize> = all.collect();
        all.sort_unstable();
        all
    }

    /// Returns the mean of some count of what the searches took.
    pub(crate) fn mean(&self, count: impl Fn(&Spent) -> usize) -> f64 {
        let all = self
            .worlds
            .iter()
            .map(|(_, searched)| count(&searched.spent));
        real(all.sum()) / real(self.worlds.len())
    }

    /// Returns what must hold of this kind.
    pub(crate) fn rows(&self) -> Vec<Row> {
        if self.worlds.iter().all(|(world, _)| world.culprit.is_none()) {
            return self.rows_without_change();
        }
        let mut rows = vec![
            self.row("culprit named", self.kind.right, self.right()),
            self.row("others named", Target::Shown, self.wrong()),
        ];
        let held = self.count(holds);
        if self.kind.line == "B4" {
            let inside = self.count(|world, one| is_inside(world, &one.named));
            rows.push(self.row("range holds it", Target::AtLeast(0.95), held));
            rows.push(self.row("one of a stretch named alone", Target::AtMost(0.0), inside));
        } else {
            rows.push(self.row("range holds it", Target::Shown, held));
        }
        rows
    }

    fn rows_without_change(&self) -> Vec<Row> {
        let quick = |_: &World, one: &Searched| one.range.is_none() && one.total().launches <= 60;
        vec![
            self.row("anybody named", Target::AtMost(0.01), self.wrong()),
            self.row("said to be none", Target::Shown, self.alike()),
            self.row("so within 60 launches", Target::Shown, self.count(quick)),
        ]
    }

    fn row(&self, came: &str, target: Target, found: Share) -> Row {
        Row {
            line: self.kind.line,
            what: format!("{came}, {}", self.kind.what),
            target,
            found,
        }
    }
}

/// Returns whether those that are left hold the culprit.
fn holds(world: &World, searched: &Searched) -> bool {
    let mut range = searched.range.iter().flatten();
    world
        .culprit
        .is_some_and(|one| range.any(|left| *left == one))
}

/// Returns whether a single commit is named that cannot be built, or stands right after some that cannot.
fn is_inside(world: &World, named: &[usize]) -> bool {
    let [one] = named else {
        return false;
    };
    world.gaps.iter().any(|gap| gap == one || gap + 1 == *one)
}

/// B3: how often the culprit is among those named, whatever the history and the noise, and how likely that was said to be.
pub(crate) fn declared(all: &[Searches]) -> (Row, f64) {
    let named = || {
        let worlds = all.iter().flat_map(|one| &one.worlds);
        worlds.filter(|(_, searched)| !searched.named.is_empty())
    };
    let found = Share {
        hits: named()
            .filter(|(world, searched)| searched.is_right(world))
            .count(),
        of: named().count(),
    };
    let odds = named().map(|(_, searched)| searched.odds).sum::<f64>() / real(found.of);
    let row = Row {
        line: "B3",
        what: "those named hold the culprit, all of the above".to_owned(),
        target: Target::AtLeast(0.94),
        found,
    };
    (row, odds)
}

/// What other searches come to: how often they name the culprit, and others, and launches on average.
pub(crate) type Beside = Vec<Option<(Share, Share, f64)>>;

/// Searches histories of a kind by all the others.
pub(crate) fn beside(kind: Kind, given: Given, runs: usize) -> Beside {
    let one = |rival: Rival| {
        let mut random = Random::new(21);
        let (mut right, mut wrong, mut launches) = (0, 0, 0);
        for _ in 0..runs {
            let world = (kind.make)(&mut random);
            let named = rival.search(&world, given, &mut random)?;
            right += usize::from(named.is_right(&world));
            wrong += usize::from(!named.named.is_empty() && !named.is_right(&world));
            launches += named.launches;
        }
        let share = |hits| Share { hits, of: runs };
        Some((share(right), share(wrong), real(launches) / real(runs)))
    };
    Rival::ALL.into_iter().map(one).collect()
}
