//! Versions, their order and lineage, and neighbours across gaps. Pure.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// One entry of the ordered list that a source gives.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Version {
    /// The name as the source writes it.
    pub name: String,
    /// The parsed form where the order is `semver`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub semver: Option<semver::Version>,
}

/// How the versions of a matrix are ordered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Order {
    /// Semantic versioning's precedence.
    Semver,
    /// As listed.
    Listed,
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
            semver: None,
        }
    }

    /// Makes a version ordered by semantic versioning; none if the name is not one.
    pub fn semantic(name: &str) -> Option<Self> {
        let semver = semver::Version::parse(name.strip_prefix('v').unwrap_or(name)).ok()?;
        Some(Self {
            name: name.to_owned(),
            semver: Some(semver),
        })
    }
}
