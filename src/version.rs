//! Versions, their order and lineage, and neighbours across gaps. Pure.

use std::collections::{BTreeMap, HashSet};

use serde::{Deserialize, Serialize};

use crate::matrix::{Range, Select, Wanted};

/// One entry of the ordered list that a source gives.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Version {
    /// The name as the source writes it.
    pub name: String,
    /// The parsed form where the order is `semver`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub semver: Option<semver::Version>,
    /// The tag that it is, in git.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tag: Option<String>,
    /// The whole hash of its commit, in git.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// When it was made, where the source tells.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub date: Option<jiff::Timestamp>,
    /// The first line of its commit's message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subject: Option<String>,
    /// The name of the version that it grew out of, where the source tells.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
    /// Why its publisher took it back, where the source still has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub withdrawn: Option<String>,
}

/// How the versions of a matrix are ordered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Order {
    /// Semantic versioning's precedence.
    Semver,
    /// That of Python's PEP 440.
    Pep440,
    /// That of Maven's `ComparableVersion`.
    Maven,
    /// That of Debian's `dpkg --compare-versions`.
    Debian,
    /// Commits after all those that they grew out of.
    Topo,
    /// By the time at which they were made.
    Date,
    /// As listed.
    Listed,
}

impl Order {
    /// Returns its name in a matrix.
    pub fn name(self) -> &'static str {
        match self {
            Self::Semver => "semver",
            Self::Pep440 => "pep440",
            Self::Maven => "maven",
            Self::Debian => "debian",
            Self::Topo => "topo",
            Self::Date => "date",
            Self::Listed => "listed",
        }
    }

    /// Returns whether versions in this order have release lines.
    pub fn has_lines(self) -> bool {
        match self {
            Self::Semver | Self::Pep440 | Self::Maven => true,
            Self::Debian | Self::Topo | Self::Date | Self::Listed => false,
        }
    }
}

/// A version × one value of each axis.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cell {
    /// `20.11.0`, or `20.11.0 body=buffer` where there are axes; unique in a matrix.
    pub id: String,
    /// The version.
    pub version: Version,
    /// One value of each axis.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub axes: BTreeMap<String, String>,
}

/// Two neighbours, baseline → candidate, with the versions skipped between them. Indices into the list of cells.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Pair {
    /// The earlier cell.
    pub baseline: usize,
    /// The later cell.
    pub candidate: usize,
    /// Cells between them that have no number.
    pub skipped: Vec<usize>,
}

impl Version {
    /// Makes a version whose place is where it is listed.
    pub fn listed(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            ..Self::default()
        }
    }

    /// Makes a version ordered by semantic versioning; none if the name is not one.
    pub fn semantic(name: &str) -> Option<Self> {
        let semver = semver::Version::parse(name.strip_prefix('v').unwrap_or(name)).ok()?;
        Some(Self {
            name: name.to_owned(),
            semver: Some(semver),
            ..Self::default()
        })
    }

    /// Returns its semantic version, whatever the order is; none if the name is not one.
    pub fn parsed(&self) -> Option<semver::Version> {
        let parse = || Self::semantic(&self.name).and_then(|version| version.semver);
        self.semver.clone().or_else(parse)
    }
}

/// Returns the release line of a version: `20` from 1.0 on, `0.12` below it. A name that is not a semantic version is
/// a line of its own.
pub fn line(version: &Version) -> String {
    match version.parsed() {
        Some(parsed) if parsed.major > 0 => parsed.major.to_string(),
        Some(parsed) => format!("0.{}", parsed.minor),
        None => version.name.clone(),
    }
}

/// Puts versions in order. Those of equal precedence are ordered by their names, so that the order never depends on
/// that of the input. Of two of the same name the first counts.
///
/// Returns the versions and, for [`Order::Semver`], the names that have no place in it.
pub fn order(versions: &[Version], order: Order) -> (Vec<Version>, Vec<String>) {
    let mut seen = HashSet::new();
    let versions = versions
        .iter()
        .filter(|version| seen.insert(version.name.as_str()));
    match order {
        Order::Listed
        | Order::Pep440
        | Order::Maven
        | Order::Debian
        | Order::Topo
        | Order::Date => (versions.cloned().collect(), Vec::new()),
        Order::Semver => {
            let mut ordered = Vec::new();
            let mut placeless = Vec::new();
            for version in versions {
                match version.parsed() {
                    Some(semver) => ordered.push(Version {
                        semver: Some(semver),
                        ..version.clone()
                    }),
                    None => placeless.push(version.name.clone()),
                }
            }
            ordered.sort_by(|a, b| (&a.semver, &a.name).cmp(&(&b.semver, &b.name)));
            (ordered, placeless)
        }
    }
}

/// Returns why a version that exists is not wanted; none if it is.
///
/// Pre-releases are wanted when they are named, when the range names one of the same release, or with `prerelease`.
pub fn unwanted(version: &Version, wanted: &Wanted, prerelease: bool) -> Option<&'static str> {
    let parsed = version.parsed();
    match (wanted, parsed) {
        (Wanted::Names(names), _) => {
            let asked = names.iter().any(|name| same_version(name, &version.name));
            (!asked).then_some("not asked for")
        }
        (Wanted::All, Some(parsed)) => {
            (!parsed.pre.is_empty() && !prerelease).then_some("pre-release")
        }
        (Wanted::All, None) => None,
        (Wanted::Range(_), None) => Some("not a semantic version"),
        (Wanted::Range(range), Some(parsed)) => match (
            in_range(&parsed, range, prerelease),
            in_range(&parsed, range, true),
        ) {
            (true, _) => None,
            (false, true) => Some("pre-release"),
            (false, false) => Some("outside the range"),
        },
    }
}

/// Returns whether two names mean the same version: equal, or equal as semantic versions (`v1.2.3` and `1.2.3`).
pub fn same_version(a: &str, b: &str) -> bool {
    let parsed = |name: &str| Version::semantic(name).and_then(|version| version.semver);
    a == b || parsed(a).is_some_and(|a| Some(a) == parsed(b))
}

fn in_range(version: &semver::Version, range: &Range, prerelease: bool) -> bool {
    let release = semver::Version::new(version.major, version.minor, version.patch);
    match range {
        // Cargo's own matching takes a pre-release only where a comparator names one of the same release.
        Range::Requirement(requirement) => {
            requirement.matches(version) || (prerelease && requirement.matches(&release))
        }
        Range::Between(first, last) => {
            let names_it = |end: &semver::Version| {
                !end.pre.is_empty()
                    && (end.major, end.minor, end.patch)
                        == (release.major, release.minor, release.patch)
            };
            let allowed = version.pre.is_empty() || prerelease || names_it(first) || names_it(last);
            allowed && first <= version && version <= last
        }
    }
}

/// Decides which of the versions, in order, are measured: for each, why it is not, or none if it is.
pub fn select(versions: &[Version], select: Select) -> Vec<Option<&'static str>> {
    let count = versions.len();
    let from_last = |index: usize| count - 1 - index;
    match select {
        Select::All => vec![None; count],
        Select::Last(wanted) => reasons(
            count,
            |index| from_last(index) < wanted,
            "not among the last",
        ),
        Select::Every(step) => reasons(
            count,
            |index| from_last(index).is_multiple_of(step.max(1)),
            "between those that `every` selects",
        ),
        Select::LastPerMajor => {
            let lines: Vec<String> = versions.iter().map(line).collect();
            last_of_each(&lines, "not the last of its line")
        }
        Select::LastPatchPerMinor => {
            let lines: Vec<String> = versions.iter().map(minor_line).collect();
            last_of_each(&lines, "not the last patch of its minor version")
        }
    }
}

fn minor_line(version: &Version) -> String {
    match version.parsed() {
        Some(parsed) => format!("{}.{}", parsed.major, parsed.minor),
        None => version.name.clone(),
    }
}

fn last_of_each(lines: &[String], reason: &'static str) -> Vec<Option<&'static str>> {
    let is_last = |index: usize| !lines[index + 1..].contains(&lines[index]);
    reasons(lines.len(), is_last, reason)
}

fn reasons(
    count: usize,
    chosen: impl Fn(usize) -> bool,
    reason: &'static str,
) -> Vec<Option<&'static str>> {
    (0..count)
        .map(|index| (!chosen(index)).then_some(reason))
        .collect()
}

/// Pairs each measured cell with the one measured before it in its chain: the cells with the same axes, in the order
/// given. What lies between and has no number is listed as skipped.
pub fn pairs(cells: &[Cell], measured: &dyn Fn(usize) -> bool) -> Vec<Pair> {
    let mut pairs = Vec::new();
    for chain in chains(cells) {
        let mut baseline = None;
        let mut skipped = Vec::new();
        for cell in chain {
            if !measured(cell) {
                skipped.push(cell);
                continue;
            }
            let between = std::mem::take(&mut skipped);
            if let Some(baseline) = baseline.replace(cell) {
                pairs.push(Pair {
                    baseline,
                    candidate: cell,
                    skipped: between,
                });
            }
        }
    }
    pairs
}

/// Returns the indices of the cells with equal axes, chain by chain in the order in which they first appear.
fn chains(cells: &[Cell]) -> Vec<Vec<usize>> {
    let mut chains: Vec<(&BTreeMap<String, String>, Vec<usize>)> = Vec::new();
    for (index, cell) in cells.iter().enumerate() {
        match chains.iter_mut().find(|(axes, _)| **axes == cell.axes) {
            Some((_, chain)) => chain.push(index),
            None => chains.push((&cell.axes, vec![index])),
        }
    }
    chains.into_iter().map(|(_, chain)| chain).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn listed<T: AsRef<str>>(names: &[T]) -> Vec<Version> {
        names
            .iter()
            .map(|name| Version::listed(name.as_ref()))
            .collect()
    }

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    fn semantic(list: &[&str]) -> Vec<Version> {
        order(&listed(list), Order::Semver).0
    }

    fn between(first: &str, last: &str) -> Wanted {
        let parse = |name: &str| semver::Version::parse(name).unwrap();
        Wanted::Range(Range::Between(parse(first), parse(last)))
    }

    fn requirement(text: &str) -> Wanted {
        Wanted::Range(Range::Requirement(semver::VersionReq::parse(text).unwrap()))
    }

    fn kept(list: &[&str], wanted: &Wanted, prerelease: bool) -> Vec<String> {
        let versions = semantic(list).into_iter();
        let wanted = versions.filter(|version| unwanted(version, wanted, prerelease).is_none());
        wanted.map(|version| version.name).collect()
    }

    fn selected(list: &[&str], choice: Select) -> Vec<String> {
        let versions = semantic(list);
        let reasons = select(&versions, choice);
        let kept = versions
            .into_iter()
            .zip(reasons)
            .filter(|(_, reason)| reason.is_none());
        kept.map(|(version, _)| version.name).collect()
    }

    #[test]
    fn a_line_is_a_major_version_and_below_one_a_minor_version() {
        let line_of = |name: &str| line(&Version::listed(name));
        assert_eq!(line_of("20.11.0"), "20");
        assert_eq!(line_of("v1.2.3"), "1");
        assert_eq!(line_of("0.12.18"), "0.12");
        assert_eq!(line_of("nightly"), "nightly");
    }

    #[test]
    fn semantic_order_knows_numbers_and_pre_releases() {
        let (versions, placeless) = order(
            &listed(&["1.10.0", "latest", "1.9.0", "1.10.0-rc.1", "1.9.0"]),
            Order::Semver,
        );
        let ordered: Vec<&str> = versions
            .iter()
            .map(|version| version.name.as_str())
            .collect();
        assert_eq!(ordered, ["1.9.0", "1.10.0-rc.1", "1.10.0"]);
        assert_eq!(placeless, ["latest"]);
    }

    #[test]
    fn a_requirement_follows_cargo_and_a_span_includes_both_ends() {
        let list = ["0.14.0", "0.14.32", "1.0.0", "1.9.0", "2.0.0"];
        assert_eq!(
            kept(&list, &requirement(">=0.14.1, <2"), false),
            ["0.14.32", "1.0.0", "1.9.0"]
        );
        assert_eq!(kept(&list, &requirement("^1"), false), ["1.0.0", "1.9.0"]);
        assert_eq!(
            kept(&list, &between("1.0.0", "2.0.0"), false),
            ["1.0.0", "1.9.0", "2.0.0"]
        );
    }

    #[test]
    fn pre_releases_come_only_when_asked_for() {
        let list = ["1.0.0-rc.1", "1.0.0", "1.1.0-rc.1", "2.0.0-rc.1"];
        assert_eq!(kept(&list, &Wanted::All, false), ["1.0.0"]);
        assert_eq!(kept(&list, &Wanted::All, true).len(), 4);
        assert_eq!(kept(&list, &requirement("^1"), false), ["1.0.0"]);
        assert_eq!(
            kept(&list, &requirement(">=1.0.0-rc.1, <2"), false),
            ["1.0.0-rc.1", "1.0.0"]
        );
        assert_eq!(
            kept(&list, &requirement("^1"), true),
            ["1.0.0-rc.1", "1.0.0", "1.1.0-rc.1"]
        );
        assert_eq!(
            kept(&list, &between("1.0.0-rc.1", "2.0.0"), false),
            ["1.0.0-rc.1", "1.0.0"]
        );
        assert_eq!(
            kept(&list, &Wanted::Names(names(&["v1.1.0-rc.1"])), false),
            ["1.1.0-rc.1"]
        );
    }

    #[test]
    fn the_reason_tells_a_pre_release_from_a_version_outside_the_range() {
        let reason = |name: &str| unwanted(&Version::listed(name), &requirement("^1"), false);
        assert_eq!(reason("1.2.0-rc.1"), Some("pre-release"));
        assert_eq!(reason("2.0.0"), Some("outside the range"));
        assert_eq!(reason("nightly"), Some("not a semantic version"));
        assert_eq!(reason("1.2.0"), None);
    }

    #[test]
    fn a_selection_keeps_the_last_of_each_line() {
        let list = ["0.12.1", "0.12.2", "0.13.0", "1.0.0", "1.0.1", "1.1.0"];
        assert_eq!(
            selected(&list, Select::LastPerMajor),
            ["0.12.2", "0.13.0", "1.1.0"]
        );
        assert_eq!(
            selected(&list, Select::LastPatchPerMinor),
            ["0.12.2", "0.13.0", "1.0.1", "1.1.0"]
        );
        assert_eq!(selected(&list, Select::Last(2)), ["1.0.1", "1.1.0"]);
        assert_eq!(selected(&list, Select::Last(99)).len(), 6);
        assert_eq!(
            selected(&list, Select::Every(2)),
            ["0.12.2", "1.0.0", "1.1.0"]
        );
        assert_eq!(selected(&list, Select::Every(0)).len(), 6);
        assert!(selected(&[], Select::Last(1)).is_empty());
    }

    fn cell(name: &str, body: &str) -> Cell {
        Cell {
            id: format!("{name} body={body}"),
            version: Version::listed(name),
            axes: BTreeMap::from([("body".to_owned(), body.to_owned())]),
        }
    }

    #[test]
    fn neighbours_are_paired_across_gaps_inside_their_chain() {
        let cells = [
            cell("1", "a"),
            cell("2", "a"),
            cell("3", "a"),
            cell("1", "b"),
            cell("2", "b"),
        ];
        let pair = |baseline, candidate, skipped: &[usize]| Pair {
            baseline,
            candidate,
            skipped: skipped.to_vec(),
        };
        assert_eq!(
            pairs(&cells, &|_| true),
            [pair(0, 1, &[]), pair(1, 2, &[]), pair(3, 4, &[])]
        );
        assert_eq!(
            pairs(&cells, &|index| index != 1),
            [pair(0, 2, &[1]), pair(3, 4, &[])]
        );
        assert_eq!(pairs(&cells, &|index| index > 1), [pair(3, 4, &[])]);
        assert!(pairs(&cells, &|_| false).is_empty());
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn the_order_is_total_and_that_of_the_input_does_not_matter(
            mut list in prop::collection::vec("v?[0-2]\\.[0-2]\\.[0-2](-rc\\.[0-2])?(\\+b[0-2])?", 0..12),
            swaps in prop::collection::vec((0_usize..12, 0_usize..12), 0..12),
        ) {
            let ordered = order(&listed(&list), Order::Semver).0;
            for neighbours in ordered.windows(2) {
                prop_assert!(neighbours[0].semver <= neighbours[1].semver);
                prop_assert_ne!(&neighbours[0].name, &neighbours[1].name);
            }
            for (a, b) in swaps {
                if a < list.len() && b < list.len() {
                    list.swap(a, b);
                }
            }
            prop_assert_eq!(ordered, order(&listed(&list), Order::Semver).0);
        }

        #[test]
        fn every_gap_lies_between_its_pair_and_every_measured_cell_but_a_first_is_a_candidate_once(
            chain in prop::collection::vec((0_usize..3, any::<bool>()), 0..24),
        ) {
            let cells: Vec<Cell> = chain.iter().enumerate().map(|(index, (axis, _))| cell(&index.to_string(), &axis.to_string())).collect();
            let pairs = pairs(&cells, &|index| chain[index].1);
            for (index, (axis, measured)) in chain.iter().enumerate() {
                let earlier = |other: &usize| chain[*other].0 == *axis && chain[*other].1;
                let baseline = (0..index).rev().find(earlier);
                let found: Vec<Pair> = pairs.iter().filter(|pair| pair.candidate == index).cloned().collect();
                match baseline {
                    Some(baseline) if *measured => {
                        let between: Vec<usize> = (baseline + 1..index).filter(|other| chain[*other].0 == *axis).collect();
                        prop_assert_eq!(found, vec![Pair { baseline, candidate: index, skipped: between }]);
                    }
                    Some(_) | None => prop_assert!(found.is_empty()),
                }
            }
        }
    }
}
