//! `[[override]]`, `[[include]]` and `[[exclude]]`: which cells they are for.

use std::collections::BTreeMap;

use super::Reader;
use super::source::text;
use crate::matrix::diagnostic::{Problem, did_you_mean};
use crate::matrix::wire::{self, AxisChoice, Versions};
use crate::matrix::{Axis, Exclude, Include, Scope, Wanted, layer, values};
use crate::version::Order;

/// Why a cell is excluded where the matrix does not say.
const NO_REASON: &str = "excluded by the matrix";

/// The tables that are for some cells only.
pub(super) struct Special {
    pub(super) overrides: Vec<Scope>,
    pub(super) includes: Vec<Include>,
    pub(super) excludes: Vec<Exclude>,
}

/// All values of each axis, those of included cells among them.
type Values = BTreeMap<String, Vec<String>>;

/// One of an array of tables: its key and its place.
type Table<'a> = (&'a str, &'a str);

impl Reader<'_> {
    pub(super) fn special(
        &mut self,
        wire: &wire::Matrix,
        axes: &[Axis],
        order: Option<Order>,
    ) -> Special {
        let mut includes = Vec::new();
        for (index, include) in wire.includes.iter().enumerate() {
            includes.extend(self.include(&index.to_string(), include, (axes, order)));
        }
        let known = all_values(axes, &includes);
        let mut overrides = Vec::new();
        for (index, one) in wire.overrides.iter().enumerate() {
            let chosen = (one.versions.as_ref(), &one.axes);
            overrides.push(self.scope(("override", &index.to_string()), chosen, (&known, order)));
        }
        let mut excludes = Vec::new();
        for (index, one) in wire.excludes.iter().enumerate() {
            let index = index.to_string();
            let chosen = (one.versions.as_ref(), &one.axes);
            self.excludes_something(&index, chosen);
            excludes.push(Exclude {
                scope: self.scope(("exclude", &index), chosen, (&known, order)),
                reason: one.reason.clone().unwrap_or_else(|| NO_REASON.to_owned()),
            });
        }
        Special {
            overrides,
            includes,
            excludes,
        }
    }

    fn include(
        &mut self,
        index: &str,
        wire: &wire::Include,
        (axes, order): (&[Axis], Option<Order>),
    ) -> Option<Include> {
        let version = wire.version.clone()?;
        if let Some(order) = order
            && order.is_by_name()
            && order.parse(&version).is_none()
        {
            let what = format!("`{version}` is {}", order.no_place());
            let why = format!("it has no place in the order `{}`", order.name());
            let path = ["include", index, "version"];
            self.report(&path, what, why, "write it in full");
        }
        for axis in axes {
            let given = wire.axes.contains_key(&axis.name);
            if !given && !self.found.has_cut(&format!("include.axes.{}", axis.name)) {
                self.no_value(index, axis);
            }
        }
        let known = all_values(axes, &[]);
        let mut values = BTreeMap::new();
        for (name, value) in &wire.axes {
            let value = text(value);
            let path = ["include", index, "axes", name];
            self.is_word(&path, &value);
            match axes.iter().find(|it| it.name == *name) {
                Some(own) => self.is_of_program(&path, own, &value),
                None => self.no_axis(("include", index), name, &known),
            }
            values.insert(name.clone(), value);
        }
        Some(Include {
            version,
            axes: values,
            line: self.line(("include", index)),
        })
    }

    fn no_value(&mut self, index: &str, axis: &Axis) {
        let name = &axis.name;
        let what = format!("`[[include]]` needs a value of the axis `{name}`");
        let example = axis.values.first().map_or("…", String::as_str);
        let help =
            format!("write `axes.{name} = \"{example}\"`; it may be one beyond the axis's own");
        self.report(
            &["include", index],
            what,
            "a cell has one of each axis",
            help,
        );
    }

    /// An exclusion of every cell is a forgotten key.
    fn excludes_something(
        &mut self,
        index: &str,
        (versions, axes): (Option<&Versions>, &BTreeMap<String, AxisChoice>),
    ) {
        let cut = self.found.has_cut("exclude.versions") || self.found.has_cut("exclude.axes");
        if versions.is_none() && axes.is_empty() && !cut {
            let help = "write `versions = \">=9\"`, `axes = { … }` or both";
            let what = "`[[exclude]]` needs `versions` or `axes`";
            self.report(&["exclude", index], what, "it would leave no cell", help);
        }
    }

    fn scope(
        &mut self,
        table: Table<'_>,
        (versions, axes): (Option<&Versions>, &BTreeMap<String, AxisChoice>),
        (known, order): (&Values, Option<Order>),
    ) -> Scope {
        let mut chosen = BTreeMap::new();
        for (name, choice) in axes {
            let values = match choice {
                AxisChoice::One(value) => vec![text(value)],
                AxisChoice::Many(values) => values.iter().map(text).collect(),
            };
            match known.get(name) {
                Some(known) => self.values_exist(table, (name, &values), known),
                None => self.no_axis(table, name, known),
            }
            chosen.insert(name.clone(), values);
        }
        Scope {
            versions: self.scope_versions(table, versions, order),
            axes: chosen,
            line: self.line(table),
        }
    }

    fn scope_versions(
        &mut self,
        (key, index): Table<'_>,
        wire: Option<&Versions>,
        order: Option<Order>,
    ) -> Wanted {
        match wire {
            None => Wanted::All,
            Some(Versions::Names(names)) => Wanted::Names(names.clone()),
            // Without a source there is no order, and its absence is reported.
            Some(Versions::Range(text)) => {
                match values::range(text, order.unwrap_or(Order::Semver)) {
                    Ok(range) => Wanted::Range(range),
                    Err(wrong) => {
                        self.report(
                            &[key, index, "versions"],
                            format!("`{key}.versions` {}", wrong.what),
                            wrong.why,
                            wrong.help,
                        );
                        Wanted::All
                    }
                }
            }
        }
    }

    fn no_axis(&mut self, (key, index): Table<'_>, name: &str, known: &Values) {
        let node = self.tree.find(&[key, index, "axes", name]);
        let place = node.unwrap_or(self.tree).at_key();
        let names = known.keys().map(String::as_str);
        let why = did_you_mean(name, names.clone()).unwrap_or_else(|| "no such axis".to_owned());
        let problem = Problem::new(place, format!("there is no axis `{name}`"), why);
        let help = match names.collect::<Vec<_>>().as_slice() {
            [] => "the matrix has no `[axes]`".to_owned(),
            names => format!("the axes are {}", names.join(", ")),
        };
        self.found.problems.push(problem.help(help));
    }

    fn values_exist(
        &mut self,
        (key, index): Table<'_>,
        (axis, values): (&str, &[String]),
        known: &[String],
    ) {
        for (place, value) in values.iter().enumerate() {
            if known.contains(value) {
                continue;
            }
            // One value stands there by itself, several in an array.
            let place = place.to_string();
            let path = [key, index, "axes", axis, &place];
            let path = match self.tree.find(&path) {
                Some(_) => &path[..],
                None => &path[..4],
            };
            let what = format!("the axis `{axis}` has no value `{value}`");
            let why = did_you_mean(value, known.iter().map(String::as_str));
            let why = why.unwrap_or_else(|| "no such value".to_owned());
            self.report(
                path,
                what,
                why,
                format!("its values are {}", known.join(", ")),
            );
        }
    }

    /// Returns the line on which a table begins.
    fn line(&self, (key, index): Table<'_>) -> usize {
        self.texts.line(&self.place(&[key, index]))
    }
}

fn all_values(axes: &[Axis], includes: &[Include]) -> Values {
    let values = |axis: &Axis| (axis.name.clone(), layer::values(axis, includes));
    axes.iter().map(values).collect()
}
