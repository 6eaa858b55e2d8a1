//! The orders of versions, and names as they read them. Pure.

use serde::{Deserialize, Serialize};

use super::number::begins_with_digit;
use super::{debian, maven};

/// How the versions of a matrix are ordered.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Order {
    /// Semantic versioning's precedence.
    #[default]
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

    /// Returns whether the names alone decide it; else it is the source that does.
    pub(crate) fn is_by_name(self) -> bool {
        match self {
            Self::Semver | Self::Pep440 | Self::Maven | Self::Debian => true,
            Self::Topo | Self::Date | Self::Listed => false,
        }
    }

    /// Returns why a version may have no place in it.
    pub(crate) fn no_place(self) -> &'static str {
        match self {
            Self::Semver => "not a semantic version",
            Self::Pep440 => "not a version of PEP 440",
            Self::Maven => "not a version of Maven",
            Self::Debian => "not a version of Debian",
            Self::Date => "without a date",
            Self::Topo | Self::Listed => "not listed",
        }
    }

    /// Reads a name as this order does, or as a semantic version where names decide nothing; none if it is not one.
    ///
    /// A `v` before the first digit, as in tags, says nothing.
    pub(crate) fn parse(self, name: &str) -> Option<Parsed> {
        let bare = name
            .strip_prefix('v')
            .filter(|bare| begins_with_digit(bare));
        let bare = bare.unwrap_or(name);
        match self {
            Self::Semver | Self::Topo | Self::Date | Self::Listed => {
                semver::Version::parse(bare).ok().map(Parsed::Semver)
            }
            Self::Pep440 => bare.parse().ok().map(Parsed::Pep440),
            Self::Maven => maven::Version::parse(bare).map(Parsed::Maven),
            Self::Debian => debian::Version::parse(bare).map(Parsed::Debian),
        }
    }

    /// Returns whether two names mean the same version: equal, or equal as this order reads them.
    pub fn same(self, a: &str, b: &str) -> bool {
        a == b || self.parse(a).is_some_and(|a| Some(a) == self.parse(b))
    }
}

/// A name as an order reads it. All of one list are of one kind.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Parsed {
    /// A semantic version.
    Semver(semver::Version),
    /// A version of PEP 440.
    Pep440(pep440_rs::Version),
    /// A version of Maven.
    Maven(maven::Version),
    /// A version of Debian.
    Debian(debian::Version),
}

impl Parsed {
    /// Returns whether it comes before the release that it is named after.
    pub(crate) fn is_prerelease(&self) -> bool {
        match self {
            Self::Semver(version) => !version.pre.is_empty(),
            Self::Pep440(version) => version.any_prerelease(),
            Self::Maven(version) => version.is_prerelease(),
            Self::Debian(version) => version.is_prerelease(),
        }
    }

    /// Returns the release that a pre-release leads up to.
    pub(crate) fn release(&self) -> Self {
        match self {
            Self::Semver(version) => Self::Semver(semver::Version::new(
                version.major,
                version.minor,
                version.patch,
            )),
            Self::Pep440(version) => {
                Self::Pep440(version.only_release().with_epoch(version.epoch()))
            }
            Self::Maven(version) => Self::Maven(version.release()),
            Self::Debian(version) => Self::Debian(version.release()),
        }
    }

    /// Returns the numbers that release lines are told by, the first of them with its epoch where it has one; none where
    /// there are no lines.
    pub(crate) fn numbers(&self) -> Option<(String, u64, u64)> {
        let (epoch, numbers) = match self {
            Self::Semver(version) => (0, vec![version.major, version.minor]),
            Self::Pep440(version) => (version.epoch(), version.release().to_vec()),
            Self::Maven(version) => (0, version.numbers()),
            Self::Debian(_) => return None,
        };
        let epoch = match epoch {
            0 => String::new(),
            epoch => format!("{epoch}!"),
        };
        let minor = numbers.get(1).copied().unwrap_or(0);
        Some((epoch, *numbers.first()?, minor))
    }
}
