//! Which versions of a list a range takes. Pure.

use std::borrow::Cow;

use super::{List, Parsed, Version};
use crate::matrix::{Operator, Range};

/// Why a range has no meaning in a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unlisted {
    /// This end of it is not in the list.
    Missing(String),
    /// Its first end comes after its last.
    Backwards(String, String),
}

/// A range, read for one list.
#[derive(Debug)]
struct Limits<'a> {
    kind: Kind<'a>,
    /// The versions that it names.
    named: Vec<Parsed>,
}

#[derive(Debug)]
enum Kind<'a> {
    All,
    Requirement(&'a semver::VersionReq),
    Specifiers(&'a pep440_rs::VersionSpecifiers),
    Compared(Vec<(Operator, Parsed)>),
    Between(Parsed, Parsed),
    Places(usize, usize),
}

impl List {
    /// Returns for each version why it is not wanted; none if it is. Without a range every one is.
    ///
    /// A pre-release is wanted where the range names one of the same release, or with `prerelease`. A version that its
    /// publisher took back is not.
    pub fn unwanted(
        &self,
        range: Option<&Range>,
        prerelease: bool,
    ) -> Result<Vec<Option<Cow<'static, str>>>, Unlisted> {
        let limits = self.limits(range)?;
        let versions = self.versions.iter().enumerate();
        let reason = |(place, version)| self.reason(&limits, (place, version), prerelease);
        Ok(versions.map(reason).collect())
    }

    fn reason(
        &self,
        limits: &Limits<'_>,
        (place, version): (usize, &Version),
        prerelease: bool,
    ) -> Option<Cow<'static, str>> {
        let parsed = version.parsed(self.order);
        if matches!(limits.kind, Kind::Requirement(_)) && parsed.is_none() {
            return Some("not a semantic version".into());
        }
        if !limits.take(place, parsed.as_ref(), true) {
            return Some("outside the range".into());
        }
        if let Some(why) = &version.withdrawn {
            return Some(format!("withdrawn: {why}").into());
        }
        let taken = limits.take(place, parsed.as_ref(), prerelease);
        (!taken).then_some("pre-release".into())
    }

    /// Reads a range.
    fn limits<'a>(&self, range: Option<&'a Range>) -> Result<Limits<'a>, Unlisted> {
        let parse = |name: &String| self.order.parse(name);
        let (kind, named) = match range {
            None => (Kind::All, Vec::new()),
            // Cargo's own matching looks after the pre-releases that are named.
            Some(Range::Requirement(requirement)) => (Kind::Requirement(requirement), Vec::new()),
            Some(Range::Specifiers(specifiers)) => {
                let named = specifiers.iter().map(|one| one.version().clone());
                (
                    Kind::Specifiers(specifiers),
                    named.map(Parsed::Pep440).collect(),
                )
            }
            Some(Range::Compared(all)) => {
                let all = all
                    .iter()
                    .filter_map(|(operator, name)| Some((*operator, parse(name)?)));
                let all: Vec<(Operator, Parsed)> = all.collect();
                let named = all.iter().map(|(_, end)| end.clone()).collect();
                (Kind::Compared(all), named)
            }
            Some(Range::Between(first, last)) => {
                let named = [first, last].into_iter().filter_map(parse).collect();
                (self.between(first, last)?, named)
            }
        };
        Ok(Limits { kind, named })
    }

    /// Returns what lies between two ends: by their names where those decide the order, else by their places.
    fn between<'a>(&self, first: &str, last: &str) -> Result<Kind<'a>, Unlisted> {
        let parsed = self.order.parse(first).zip(self.order.parse(last));
        if let Some((first, last)) = parsed.filter(|_| self.order.is_by_name()) {
            return Ok(Kind::Between(first, last));
        }
        let place = |name: &str| {
            let missing = || Unlisted::Missing(name.to_owned());
            self.find(name).ok_or_else(missing)
        };
        match (place(first)?, place(last)?) {
            (from, to) if from > to => Err(Unlisted::Backwards(first.to_owned(), last.to_owned())),
            (from, to) => Ok(Kind::Places(from, to)),
        }
    }
}

impl Limits<'_> {
    /// Returns whether a version lies inside; a pre-release that is not named only with `prerelease`.
    fn take(&self, place: usize, parsed: Option<&Parsed>, prerelease: bool) -> bool {
        let named = parsed.is_none_or(|parsed| !parsed.is_prerelease() || self.name(parsed));
        let allowed = named || prerelease;
        match (&self.kind, parsed) {
            (Kind::All, _) => allowed,
            (Kind::Places(from, to), _) => allowed && (*from..=*to).contains(&place),
            (Kind::Between(first, last), Some(parsed)) => {
                allowed && first <= parsed && parsed <= last
            }
            (Kind::Requirement(requirement), Some(Parsed::Semver(version))) => {
                // It takes a pre-release only where a comparator names one of the same release.
                let release = semver::Version::new(version.major, version.minor, version.patch);
                requirement.matches(version) || (prerelease && requirement.matches(&release))
            }
            (Kind::Specifiers(specifiers), Some(Parsed::Pep440(version))) => {
                let holds = |one| holds(one, version);
                allowed && specifiers.iter().all(holds)
            }
            (Kind::Compared(all), Some(parsed)) => {
                let release = parsed.release();
                let holds = |version| {
                    all.iter()
                        .all(|(operator, end)| operator.holds(version, end))
                };
                // `<2` is not meant to take what leads up to 2.
                allowed && holds(parsed) && (named || holds(&release))
            }
            (
                Kind::Between(..) | Kind::Requirement(_) | Kind::Specifiers(_) | Kind::Compared(_),
                _,
            ) => false,
        }
    }

    /// Returns whether the range names a pre-release of the same release.
    fn name(&self, parsed: &Parsed) -> bool {
        let release = parsed.release();
        let mut named = self.named.iter();
        named.any(|end| end.is_prerelease() && end.release() == release)
    }
}

/// Returns whether a specifier holds of a version.
fn holds(specifier: &pep440_rs::VersionSpecifier, version: &pep440_rs::Version) -> bool {
    // `2` is `2.0`, but `contains` would find it in `==2.1.*`, for it compares only the numbers that are there.
    let mut numbers = version.release().to_vec();
    let length = numbers.len().max(specifier.version().release().len());
    numbers.resize(length, 0);
    specifier.contains(&version.clone().with_release(numbers))
}

impl Operator {
    fn holds(self, version: &Parsed, end: &Parsed) -> bool {
        match self {
            Self::Less => version < end,
            Self::LessOrEqual => version <= end,
            Self::Greater => version > end,
            Self::GreaterOrEqual => version >= end,
        }
    }
}
