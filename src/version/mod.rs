//! Versions, their order and lineage, and neighbours across gaps. Pure.
//!
//! `order` reads names, `list` holds a source's versions in order and finds them, `range` and `select` say which are
//! wanted, and `lineage` which two are compared.

mod debian;
mod lineage;
mod list;
mod maven;
mod number;
mod order;
mod range;
mod select;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

pub(crate) use lineage::chains;
pub use lineage::pairs;
pub use list::List;
pub use order::Order;
pub(crate) use order::Parsed;
pub use range::Unlisted;
pub use select::{line, minor_line, select};

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
    /// The name of the version that it grew out of, where the source tells; of a cell's version the nearest of those that
    /// are measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
    /// Why its publisher took it back, where the source still has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub withdrawn: Option<String>,
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

    /// Returns it as an order reads it; none if it cannot.
    pub(crate) fn parsed(&self, order: Order) -> Option<Parsed> {
        let reads_semver = order == Order::Semver || !order.is_by_name();
        match &self.semver {
            // The source may know better than the name tells.
            Some(known) if reads_semver => Some(Parsed::Semver(known.clone())),
            Some(_) | None => order.parse(&self.name),
        }
    }
}

#[cfg(test)]
mod tests;
