//! `[source]` and `[axes]`.

use std::collections::{BTreeMap, HashSet};
use std::path::Path;

use super::Reader;
use crate::matrix::values;
use crate::matrix::wire::{self, AxisValue, Versions};
use crate::matrix::{Axis, Select, Source, SourceKind, Wanted};
use crate::version::{Order, Version};

/// Combinations of axis values at most: a typing error must not plan a month.
const MOST_COMBINATIONS: usize = 1000;

impl Reader<'_> {
    pub(super) fn source(&mut self, wire: Option<&wire::Source>, dir: &Path) -> Option<Source> {
        let wire = wire?;
        let kind = self.kind(wire, dir)?;
        let order = wire.order.unwrap_or(match kind {
            SourceKind::Crates { .. } | SourceKind::Npm { .. } => Order::Semver,
            SourceKind::List | SourceKind::Path { .. } => Order::Listed,
        });
        Some(Source {
            versions: self.versions(wire.versions.as_ref(), &kind, order),
            select: self.select(wire.select.as_deref(), order),
            kind,
            prerelease: wire.prerelease.unwrap_or(false),
            order,
        })
    }

    /// Returns the one kind of source; none if it is reported that there is none, or none that can be read.
    fn kind(&mut self, wire: &wire::Source, dir: &Path) -> Option<SourceKind> {
        let kinds = ["crates", "npm", "list", "path"];
        let given: Vec<&str> = kinds
            .into_iter()
            .filter(|kind| self.tree.find(&["source", kind]).is_some())
            .collect();
        let help =
            "write one of `[source.crates]`, `[source.npm]`, `[source.list]` and `[source.path]`";
        match given.as_slice() {
            [] => {
                if !self.found.has_cut("source") {
                    self.report(
                        &["source"],
                        "the source has no kind",
                        "which versions are these of?",
                        help,
                    );
                }
                None
            }
            [only] => self.one_kind(only, wire, dir),
            [.., last] => {
                let what = format!("the source has more than one kind: {}", given.join(", "));
                self.report(&["source", last], what, "one matrix has one source", help);
                None
            }
        }
    }

    fn one_kind(&mut self, kind: &str, wire: &wire::Source, dir: &Path) -> Option<SourceKind> {
        match kind {
            "crates" => {
                let crates = wire.crates.as_ref()?;
                Some(SourceKind::Crates {
                    package: self
                        .package(&["source", "crates", "package"], crates.package.as_deref()?),
                    server: dir.join(crates.server.as_ref()?),
                })
            }
            "npm" => Some(SourceKind::Npm {
                package: self.package(
                    &["source", "npm", "package"],
                    wire.npm.as_ref()?.package.as_deref()?,
                ),
            }),
            "path" => Some(SourceKind::Path {
                dir: dir.join(wire.path.as_ref()?.dir.as_ref()?),
            }),
            _ => Some(SourceKind::List),
        }
    }

    /// A package's name goes to its registry's client, which must not take it for an option.
    fn package(&mut self, path: &[&str], name: &str) -> String {
        let odd = |letter: char| !(letter.is_ascii_alphanumeric() || "-_.@/~".contains(letter));
        if name.is_empty() || name.starts_with('-') || name.contains(odd) {
            let help = "write it as the registry does, such as \"hyper\" or \"@hapi/hapi\"";
            self.report(
                path,
                format!("`{name}` is not a package's name"),
                "not a name",
                help,
            );
        }
        name.to_owned()
    }

    fn versions(&mut self, wire: Option<&Versions>, kind: &SourceKind, order: Order) -> Wanted {
        let path = ["source", "versions"];
        let list = *kind == SourceKind::List;
        let help = "write `versions = [\"first\", \"second\"]` in `[source]`";
        match wire {
            None => {
                if list && !self.found.has_cut("source.versions") {
                    self.report(
                        &["source"],
                        "a list needs `versions`",
                        "which versions?",
                        help,
                    );
                }
                Wanted::All
            }
            Some(Versions::Range(_)) if list => {
                self.report(
                    &path,
                    "a list has no range",
                    "this must be an array of names",
                    help,
                );
                Wanted::All
            }
            Some(Versions::Range(text)) => match values::range(text) {
                Ok(range) => Wanted::Range(range),
                Err(wrong) => {
                    self.wrong(&path, wrong);
                    Wanted::All
                }
            },
            Some(Versions::Names(names)) => {
                self.names(names, order);
                Wanted::Names(names.clone())
            }
        }
    }

    fn names(&mut self, names: &[String], order: Order) {
        let mut seen = HashSet::new();
        for (index, name) in names.iter().enumerate() {
            let path = ["source", "versions", &index.to_string()];
            if name.trim().is_empty() || name.contains(char::is_control) {
                self.report(
                    &path,
                    "a version needs a name",
                    "no name",
                    "write the name as the source does",
                );
            } else if !seen.insert(name) {
                self.report(
                    &path,
                    format!("version `{name}` is named twice"),
                    "again here",
                    "name it once",
                );
            } else if order == Order::Semver && Version::semantic(name).is_none() {
                let what = format!("`{name}` is not a semantic version");
                let help = format!(
                    "write it in full, or `versions = \"^{name}\"` for a range; `order = \"listed\"` takes any name"
                );
                self.report(&path, what, "it has no place in the order `semver`", help);
            }
        }
    }

    fn select(&mut self, wire: Option<&str>, order: Order) -> Select {
        let path = ["source", "select"];
        let selected = match wire.map_or(Ok(Select::All), values::select) {
            Ok(select) => select,
            Err(wrong) => {
                self.wrong(&path, wrong);
                return Select::All;
            }
        };
        if order == Order::Listed && selected.needs_lines() {
            let what = "versions in the order `listed` have no lines to select the last of";
            let help = "write `order = \"semver\"`, or select with \"last:N\" or \"every:N\"";
            self.report(&path, what, "this needs semantic versions", help);
        }
        selected
    }

    pub(super) fn axes(&mut self, wire: &BTreeMap<String, wire::Axis>) -> Vec<Axis> {
        let mut axes: Vec<Axis> = wire
            .iter()
            .map(|(name, axis)| self.axis(name, axis))
            .collect();
        // The order of the file decides in which order cells are measured and shown.
        axes.sort_by_key(|axis| {
            self.tree
                .find(&["axes", &axis.name])
                .map(|node| node.key.start)
        });
        let count = |product: usize, axis: &Axis| product.saturating_mul(axis.values.len());
        let combinations = axes.iter().fold(1, count);
        if combinations > MOST_COMBINATIONS {
            let what = format!("the axes have {combinations} combinations");
            let why = format!("each is measured for each version; at most {MOST_COMBINATIONS}");
            self.report(&["axes"], what, why, "take values out, or split the matrix");
        }
        axes
    }

    fn axis(&mut self, name: &str, wire: &wire::Axis) -> Axis {
        let mut letters = name.chars();
        let first = letters
            .next()
            .is_some_and(|letter| letter.is_ascii_lowercase());
        if !first || !letters.all(|letter| matches!(letter, 'a'..='z' | '0'..='9' | '_')) {
            let place = self
                .tree
                .find(&["axes", name])
                .unwrap_or(self.tree)
                .at_key();
            let what = format!("`{name}` cannot name an axis");
            let problem = super::Problem::new(place, what, "not a name");
            let help = "write small letters, digits and `_`, with a letter first";
            self.found.problems.push(problem.help(help));
        }
        let values: Vec<String> = wire.values.iter().flatten().map(text).collect();
        self.axis_values(name, &values);
        Axis {
            name: name.to_owned(),
            values,
            build: wire.build.unwrap_or(false),
        }
    }

    /// Values stand in the names of cells (`20.11.0 body=buffer`), which must stay unambiguous.
    fn axis_values(&mut self, name: &str, values: &[String]) {
        let mut seen = HashSet::new();
        for (index, value) in values.iter().enumerate() {
            let path = ["axes", name, "values", &index.to_string()];
            if value.is_empty()
                || value.contains(|letter: char| letter.is_whitespace() || letter.is_control())
            {
                let help = "write a short word; the start command can make more of it";
                self.report(
                    &path,
                    "an axis value is a word",
                    "empty, or with spaces",
                    help,
                );
            } else if !seen.insert(value) {
                self.report(
                    &path,
                    format!("value `{value}` is given twice"),
                    "again here",
                    "give it once",
                );
            }
        }
    }
}

fn text(value: &AxisValue) -> String {
    match value {
        AxisValue::Text(text) => text.clone(),
        AxisValue::Number(number) => number.to_string(),
        AxisValue::Switch(switch) => switch.to_string(),
    }
}
