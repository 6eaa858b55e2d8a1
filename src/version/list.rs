//! The versions of a source in order, and finding them by what they are called. Pure.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::{Order, Parsed, Version};

/// Fewer digits than this name no commit: a short word of hexadecimal digits may be anything.
const LEAST_DIGITS: usize = 7;

/// The versions of a source in order.
#[derive(Debug)]
pub struct List {
    /// How they are ordered.
    pub order: Order,
    /// The versions.
    pub versions: Vec<Version>,
    /// Their places by name, and by tag where no version has that name.
    words: HashMap<String, usize>,
    /// Their places by the name as the order reads it.
    parsed: BTreeMap<Parsed, usize>,
    /// Their places by commit.
    commits: BTreeMap<String, usize>,
}

impl List {
    /// Puts versions in order. Where names decide, those of equal precedence are ordered by their text, so that the order
    /// never depends on that of the input; where the source does, what is equal stays as it is. Of two of the same name
    /// the first counts.
    ///
    /// Returns the list and the names that have no place in the order.
    pub fn new(versions: &[Version], order: Order) -> (Self, Vec<String>) {
        let mut seen = HashSet::new();
        let versions = versions
            .iter()
            .filter(|version| seen.insert(version.name.as_str()));
        let (mut placed, mut placeless) = (Vec::new(), Vec::new());
        for version in versions {
            match with_place(version, order) {
                Some(version) => placed.push(version),
                None => placeless.push(version.name.clone()),
            }
        }
        sort(&mut placed, order);
        (Self::in_order(placed, order), placeless)
    }

    /// Makes a list of versions that are in order.
    fn in_order(versions: Vec<Version>, order: Order) -> Self {
        let places = || versions.iter().enumerate();
        let names = places().map(|(place, version)| (version.name.clone(), place));
        let mut words: HashMap<String, usize> = names.collect();
        for (place, version) in places() {
            if let Some(tag) = &version.tag {
                words.entry(tag.clone()).or_insert(place);
            }
        }
        // Backwards, for of equal keys the last one counts, and the first is to.
        let backwards = || places().rev();
        let parsed = backwards().filter_map(|(place, one)| Some((one.parsed(order)?, place)));
        let commits = backwards().filter_map(|(place, one)| Some((one.commit.clone()?, place)));
        Self {
            order,
            words,
            parsed: parsed.collect(),
            commits: commits.collect(),
            versions,
        }
    }

    /// Puts the versions first that these names stand for, in their order.
    #[must_use]
    pub fn led_by(self, names: &[String]) -> Self {
        let mut ranks: HashMap<usize, usize> = HashMap::new();
        for (rank, name) in names.iter().enumerate() {
            if let Some(place) = self.find(name) {
                ranks.entry(place).or_insert(rank);
            }
        }
        let mut versions: Vec<(usize, Version)> = self.versions.into_iter().enumerate().collect();
        versions.sort_by_key(|(place, _)| ranks.get(place).copied().unwrap_or(usize::MAX));
        let versions = versions.into_iter().map(|(_, version)| version);
        Self::in_order(versions.collect(), self.order)
    }

    /// Finds the version that is called so: by its name, its tag, its name as the order reads it (`v1.2.3` is `1.2.3`), or
    /// the first digits of its commit. None if there is none, or if more than one commit begins so.
    pub fn find(&self, word: &str) -> Option<usize> {
        let by_parsed = || self.parsed.get(&self.order.parse(word)?).copied();
        let by_word = self.words.get(word).copied();
        by_word.or_else(by_parsed).or_else(|| self.by_commit(word))
    }

    /// Returns for each version the nearest one, up the line of first parents, that is chosen. The list has parents before
    /// their children.
    pub(crate) fn nearest_chosen(&self, chosen: &HashSet<usize>) -> Vec<Option<usize>> {
        let mut nearest: Vec<Option<usize>> = Vec::with_capacity(self.versions.len());
        for version in &self.versions {
            let parent = version.parent.as_deref().and_then(|name| self.find(name));
            let up = parent.filter(|parent| !chosen.contains(parent));
            let further = up.and_then(|parent| nearest.get(parent).copied().flatten());
            nearest.push(match up {
                Some(_) => further,
                None => parent,
            });
        }
        nearest
    }

    fn by_commit(&self, word: &str) -> Option<usize> {
        if word.len() < LEAST_DIGITS {
            return None;
        }
        let mut commits = self.commits.range(word.to_owned()..);
        let mut next = || {
            commits
                .next()
                .filter(|(commit, _)| commit.starts_with(word))
        };
        match (next(), next()) {
            (Some((_, place)), None) => Some(*place),
            (Some(_), Some(_)) | (None, _) => None,
        }
    }
}

/// Returns a version as it stands in a list; none if it has no place in the order.
fn with_place(version: &Version, order: Order) -> Option<Version> {
    match order {
        Order::Topo | Order::Listed => Some(version.clone()),
        Order::Date => version.date.map(|_| version.clone()),
        Order::Pep440 | Order::Maven | Order::Debian => {
            version.parsed(order).map(|_| version.clone())
        }
        Order::Semver => {
            let Some(Parsed::Semver(semver)) = version.parsed(order) else {
                return None;
            };
            Some(Version {
                semver: Some(semver),
                ..version.clone()
            })
        }
    }
}

/// Sorts versions that all have a place in the order.
fn sort(versions: &mut [Version], order: Order) {
    match order {
        Order::Topo | Order::Listed => {}
        Order::Date => versions.sort_by_key(|version| version.date),
        Order::Semver | Order::Pep440 | Order::Maven | Order::Debian => {
            versions.sort_by_cached_key(|version| (version.parsed(order), version.name.clone()));
        }
    }
}
