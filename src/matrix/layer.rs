//! Tables of a matrix that hold for some of its cells only: which cells, and how they are laid over the matrix. Pure.

use std::collections::{BTreeMap, HashSet};

use super::diagnostic::Problem;
use super::document::{Node, Value};
use super::{Axis, Matrix, Wanted};
use crate::version::{Cell, List, Unlisted};

/// Keys that tell which cells a table is for.
const SELECTORS: [&str; 3] = ["version", "versions", "axes"];

/// What is the same for all cells.
const FIXED: [&[&str]; 5] = [
    &["load"],
    &["check"],
    &["sessions"],
    &["verdict"],
    &["start", "cpus"],
];

/// Which cells a table is for.
#[derive(Debug, Clone, PartialEq)]
pub struct Scope {
    /// Their versions.
    pub versions: Wanted,
    /// Their values of some axes, any value of the others.
    pub axes: BTreeMap<String, Vec<String>>,
    /// The line of the file on which the table begins, counted from 1.
    pub line: usize,
}

/// A cell that is named.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Include {
    /// Its version.
    pub version: String,
    /// Its value of each axis.
    pub axes: BTreeMap<String, String>,
    /// The line of the file on which the table begins, counted from 1.
    pub line: usize,
}

/// Cells that are not measured.
#[derive(Debug, Clone, PartialEq)]
pub struct Exclude {
    /// Which.
    pub scope: Scope,
    /// Why.
    pub reason: String,
}

/// A table that is laid over the matrix for some cells, by its place among its like. Those that are laid first come
/// first in their order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Layer {
    /// An `[[override]]`.
    Override(usize),
    /// An `[[include]]`.
    Include(usize),
}

impl Layer {
    fn key(self) -> &'static str {
        match self {
            Self::Override(_) => "override",
            Self::Include(_) => "include",
        }
    }

    fn index(self) -> usize {
        match self {
            Self::Override(index) | Self::Include(index) => index,
        }
    }

    /// Returns what a person knows it by: `[[override]]` and the line of the file on which it begins.
    pub fn name(self, matrix: &Matrix) -> String {
        named(self, self.line(matrix))
    }

    /// Returns the line of the file on which the table begins.
    pub fn line(self, matrix: &Matrix) -> usize {
        match self {
            Self::Override(index) => matrix.overrides[index].line,
            Self::Include(index) => matrix.includes[index].line,
        }
    }
}

/// Returns what a person knows a table by.
pub(super) fn named(layer: Layer, line: usize) -> String {
    format!("`[[{}]]` of line {line}", layer.key())
}

impl Scope {
    /// Returns whether a cell is among those that it is for, of which `versions` are the versions.
    fn holds(&self, cell: &Cell, versions: &HashSet<String>) -> bool {
        let value = |axis: &String| cell.axes.get(axis);
        versions.contains(&cell.version.name)
            && self
                .axes
                .iter()
                .all(|(axis, values)| value(axis).is_some_and(|value| values.contains(value)))
    }

    /// Returns the names of the versions that it is for. A pre-release counts as what it leads up to, whether the source
    /// takes them or not: here no cell is chosen.
    fn versions(&self, list: &List) -> Result<HashSet<String>, Unlisted> {
        let name = |place: usize| list.versions[place].name.clone();
        let range = match &self.versions {
            Wanted::All => None,
            Wanted::Range(range) => Some(range),
            Wanted::Names(names) => {
                let places = names.iter().filter_map(|name| list.find(name));
                return Ok(places.map(name).collect());
            }
        };
        let reasons = list.unwanted(range, true)?.into_iter().enumerate();
        let inside = reasons.filter(|(_, reason)| reason.is_none());
        Ok(inside.map(|(place, _)| name(place)).collect())
    }
}

/// The names of the versions that each table is for.
#[derive(Debug)]
pub(super) struct Held {
    overrides: Vec<HashSet<String>>,
    excludes: Vec<HashSet<String>>,
    /// The name of each included version as the source has it, by whatever tag or hash it is called.
    includes: Vec<String>,
}

impl Held {
    /// Finds them in a list of all versions, those that are only named included. The error tells the table whose range is
    /// not in the list.
    pub(super) fn new(matrix: &Matrix, list: &List) -> Result<Self, (String, Unlisted)> {
        let versions = |table: &str, scope: &Scope| {
            let told = |unlisted| (format!("`[[{table}]]` of line {}", scope.line), unlisted);
            scope.versions(list).map_err(told)
        };
        let overrides = matrix.overrides.iter();
        let overrides = overrides.map(|scope| versions("override", scope));
        let excludes = matrix.excludes.iter();
        let excludes = excludes.map(|exclude| versions("exclude", &exclude.scope));
        let includes = matrix.includes.iter().map(|include| {
            let place = list.find(&include.version);
            place.map_or_else(
                || include.version.clone(),
                |place| list.versions[place].name.clone(),
            )
        });
        Ok(Self {
            overrides: overrides.collect::<Result<_, _>>()?,
            excludes: excludes.collect::<Result<_, _>>()?,
            includes: includes.collect(),
        })
    }

    /// Lists the tables that are for none of the cells: what each is called, which cells it names, and whether at least
    /// some cell has such a version.
    pub(super) fn idle<'a>(
        &self,
        matrix: &'a Matrix,
        cells: &[Cell],
    ) -> Vec<(&'static str, &'a Scope, bool)> {
        let overrides = matrix.overrides.iter().map(|scope| ("override", scope));
        let excludes = matrix.excludes.iter().map(|it| ("exclude", &it.scope));
        let overrides = overrides.zip(&self.overrides);
        let tables = overrides.chain(excludes.zip(&self.excludes));
        let idle = tables
            .filter(|((_, scope), versions)| !cells.iter().any(|cell| scope.holds(cell, versions)));
        let measured = |versions: &HashSet<String>| {
            cells
                .iter()
                .any(|cell| versions.contains(&cell.version.name))
        };
        idle.map(|((table, scope), versions)| (table, scope, measured(versions)))
            .collect()
    }
}

impl Matrix {
    /// Returns whether a cell is included by name.
    pub(super) fn is_included(&self, cell: &Cell, held: &Held) -> bool {
        self.inclusions(cell, held).next().is_some()
    }

    /// Returns the places of the tables that include a cell by name.
    fn inclusions(&self, cell: &Cell, held: &Held) -> impl Iterator<Item = usize> {
        let includes = self.includes.iter().zip(&held.includes).enumerate();
        let names = move |(_, (include, version)): &(usize, (&Include, &String))| {
            **version == cell.version.name && include.axes == cell.axes
        };
        includes.filter(names).map(|(index, _)| index)
    }

    /// Returns the tables that are laid over the matrix for a cell, in the order in which they are.
    pub(super) fn layers(&self, cell: &Cell, held: &Held) -> Vec<Layer> {
        let overrides = self.overrides.iter().zip(&held.overrides).enumerate();
        let overrides = overrides.filter(|(_, (scope, versions))| scope.holds(cell, versions));
        overrides
            .map(|(index, _)| Layer::Override(index))
            .chain(self.inclusions(cell, held).map(Layer::Include))
            .collect()
    }

    /// Returns why a cell is not measured; none if it is. What is included by name is not excluded.
    pub(super) fn excluded(&self, cell: &Cell, held: &Held) -> Option<&str> {
        if self.is_included(cell, held) {
            return None;
        }
        let mut excludes = self.excludes.iter().zip(&held.excludes);
        let (exclude, _) = excludes.find(|(it, versions)| it.scope.holds(cell, versions))?;
        Some(&exclude.reason)
    }
}

/// Returns all values of an axis: its own, then those that only included cells have.
pub(super) fn values(axis: &Axis, includes: &[Include]) -> Vec<String> {
    let mut values = axis.values.clone();
    for value in includes.iter().filter_map(|it| it.axes.get(&axis.name)) {
        if !values.contains(value) {
            values.push(value.clone());
        }
    }
    values
}

/// Lists the tables of a file that are laid over it for some cells.
pub(super) fn all(tree: &Node) -> Vec<Layer> {
    let count = |key: &str| match tree.find(&[key]).map(|node| &node.value) {
        Some(Value::Array(elements)) => elements.len(),
        Some(_) | None => 0,
    };
    let overrides = (0..count("override")).map(Layer::Override);
    overrides
        .chain((0..count("include")).map(Layer::Include))
        .collect()
}

/// Returns one of a file's tables.
pub(super) fn find(tree: &Node, layer: Layer) -> Option<&Node> {
    tree.find(&[layer.key(), &layer.index().to_string()])
}

/// Lays one of its tables over a file.
pub(super) fn lay(tree: Node, layer: Layer) -> Node {
    let Some(mut over) = find(&tree, layer).cloned() else {
        return tree;
    };
    for key in SELECTORS {
        over.take(key);
    }
    tree.under(over)
}

/// Takes what is the same for all cells out of the tables that are for some, and reports it.
pub(super) fn refuse_fixed(tree: &mut Node) -> Vec<Problem> {
    let mut problems = Vec::new();
    for table in ["override", "include"] {
        let value = tree.entry(table).map(|node| &mut node.value);
        let Some(Value::Array(elements)) = value else {
            continue;
        };
        for element in elements {
            for path in FIXED {
                problems.extend(take(element, path).map(|node| fixed(table, path, &node)));
            }
        }
    }
    problems
}

fn take(node: &mut Node, path: &[&str]) -> Option<Node> {
    let (last, above) = path.split_last()?;
    let table = above.iter().try_fold(node, |node, key| node.entry(key))?;
    table.take(last)
}

fn fixed(table: &str, path: &[&str], node: &Node) -> Problem {
    let what = format!("`[[{table}]]` cannot change `{}`", path.join("."));
    let why = "it is the same for all cells, or these could not be compared";
    let help = "take it out, or write a matrix of its own for these cells";
    Problem::new(node.at_key(), what, why).help(help)
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};
    use std::time::Duration;

    use super::*;
    use crate::matrix::parse::tests::{FULL, SMALL, file, map, message, strings};
    use crate::matrix::{Command, SourceKind, parse};

    #[test]
    fn layers_are_laid_over_the_matrix_and_nothing_else_changes() {
        let matrix = parse(FULL, file(), None).unwrap();
        let variant = matrix.variant(&[Layer::Override(0)]).unwrap();
        let mut expected = matrix.clone();
        if let SourceKind::Crates(crates) = &mut expected.source.kind {
            crates.server = Some(PathBuf::from("/p/matrices/../servers/old"));
            crates.features = strings(&["x"]);
            crates.with = strings(&["time@0.3.36"]);
        }
        expected.build.env.extend(map("OLD", "{axis.size}"));
        expected.start.stop_grace = Duration::from_secs(1);
        expected.ready.timeout = Duration::from_secs(9);
        assert_eq!(variant, expected);

        let both = matrix.variant(&[Layer::Override(0), Layer::Include(0)]);
        expected.build.steps = vec![Command::Argv(strings(&["make", "rc"]))];
        assert_eq!(both.unwrap(), expected);
        assert_eq!(matrix.variant(&[]).unwrap(), matrix);
    }

    #[test]
    fn a_later_layer_lies_over_an_earlier_one_and_over_the_defaults() {
        let defaults =
            "schema = 1\n[defaults.build]\nenv = { A = \"0\", B = \"0\", C = \"0\", D = \"0\" }\n";
        let text = format!(
            "{SMALL}[build]\nenv = {{ B = \"1\", C = \"1\", D = \"1\" }}\n\
             [[include]]\nversion = \"1.0.0\"\nbuild.env.D = \"3\"\n\
             [[override]]\nbuild.env = {{ C = \"2\", D = \"2\" }}\n"
        );
        let defaults = Some((defaults, Path::new("/p/harness.toml")));
        let matrix = parse(&text, file(), defaults).unwrap();
        let env = |layers: &[Layer]| -> Vec<String> {
            let variant = matrix.variant(layers).unwrap();
            variant.build.env.into_values().collect()
        };
        assert_eq!(env(&[]), ["0", "1", "1", "1"]);
        assert_eq!(env(&[Layer::Override(0)]), ["0", "1", "2", "2"]);
        assert_eq!(
            env(&[Layer::Override(0), Layer::Include(0)]),
            ["0", "1", "2", "3"]
        );
    }

    #[test]
    fn layers_that_contradict_each_other_are_an_error_of_the_cells_that_have_both() {
        let text = format!(
            "{SMALL}[[override]]\nbuild.version_match = \"x\"\nbuild.version_cmd = [\"a\"]\n\
             [[override]]\nstart.cmd = [\"b\"]\nsource.npm.server = \"server.js\"\n\
             [[override]]\nstart.cmd = [\"{{binary}}\"]\n"
        );
        let matrix = parse(&text, file(), None).unwrap();
        assert!(
            matrix
                .variant(&[Layer::Override(0), Layer::Override(1)])
                .is_ok()
        );
        let error = matrix
            .variant(&[Layer::Override(1), Layer::Override(2)])
            .unwrap_err();
        let message = &error.message;
        assert!(message.contains("no `[build] binary` names a program"));
        assert!(message.contains(":13:"), "{message}");
        assert_eq!(
            error.causes,
            ["some cells have `[[override]]` of line 9 and `[[override]]` of line 12"]
        );
    }

    #[test]
    fn what_the_command_line_changed_stays_changed() {
        let mut matrix = parse(FULL, file(), None).unwrap();
        matrix.sessions.count = 77;
        matrix.load.connections = 1;
        let variant = matrix.variant(&[Layer::Override(0)]).unwrap();
        assert_eq!((variant.sessions.count, variant.load.connections), (77, 1));
    }

    #[test]
    fn a_single_table_where_there_may_be_many_is_told_how_to_be_written() {
        let text = format!("{SMALL}[override]\nbuild.timeout = \"1m\"\n");
        insta::assert_snapshot!(message(&text), @r"
        error: `override` takes an array, each a table
         --> /m/a.toml:6:1
          |
        6 | [override]
          | ^^^^^^^^^^ this is a table
          |
          = help: write `[[override]]`
        ");
    }

    #[test]
    fn a_layer_is_checked_by_itself_and_in_its_place() {
        let more = r#"[[override]]
versions = "<1"
build.timeout = "9 m"
[[override]]
start.cmd = ["{binary}", "--port={prot}"]
[[include]]
version = "1.0.0"
source.npm = { server = "x.js" }
"#;
        insta::assert_snapshot!(message(&format!("{SMALL}{more}")), @r#"
        error: unknown variable `{binary}`
         --> /m/a.toml:5:9
          |
        5 | cmd = ["{binary}"]
          |         ^^^^^^^^ no `[build] binary` names a program (with `[[include]]` of line 11)
          |
          = help: known here are {version} {src} {work} {out} {host} {port} {instance} {cpus} {matrix_dir} {package} and {env:NAME}; for a literal brace write `{{`

        error: `build.timeout` is not a duration
         --> /m/a.toml:8:17
          |
        8 | build.timeout = "9 m"
          |                 ^^^^^ the units are `ms`, `s`, `m` and `h`
          |
          = help: write a whole number and a unit: "250ms", "90s", "2m" or "1h"

        error: unknown variable `{prot}`
          --> /m/a.toml:10:34
           |
        10 | start.cmd = ["{binary}", "--port={prot}"]
           |                                  ^^^^^^ did you mean `{port}`?
           |
           = help: known here are {version} {src} {work} {out} {host} {port} {instance} {cpus} {matrix_dir} {binary} {package} and {env:NAME}; for a literal brace write `{{`
        "#);
    }

    #[test]
    fn a_layer_may_not_change_everything() {
        let more = r#"[[override]]
start.cpus = [1]
raedy.timeout = "1s"
[[include]]
version = "1.0.0"
load.connections = 5
source.npm = { package = "other" }
"#;
        insta::assert_snapshot!(message(&format!("{SMALL}{more}")), @r#"
        error: `[[override]]` cannot change `start.cpus`
         --> /m/a.toml:7:7
          |
        7 | start.cpus = [1]
          |       ^^^^ it is the same for all cells, or these could not be compared
          |
          = help: take it out, or write a matrix of its own for these cells

        error: unknown key `raedy` in `[[override]]`
         --> /m/a.toml:8:1
          |
        8 | raedy.timeout = "1s"
          | ^^^^^ did you mean `ready`?
          |
          = help: `[[override]]` takes axes, build, ready, source, start, versions

        error: `[[include]]` cannot change `load`
          --> /m/a.toml:11:1
           |
        11 | load.connections = 5
           | ^^^^ it is the same for all cells, or these could not be compared
           |
           = help: take it out, or write a matrix of its own for these cells

        error: unknown key `package` in `[include.source.npm]`
          --> /m/a.toml:12:16
           |
        12 | source.npm = { package = "other" }
           |                ^^^^^^^ not a key of this table
           |
           = help: `[include.source.npm]` takes scripts, server, with
        "#);
    }

    #[test]
    fn selectors_name_what_there_is() {
        let more = r#"[axes]
node = { values = ["10.17.0", "12.13.1"] }
[[override]]
versions = "8.5.0"
axes = { nod = "10.17.0" }
[[override]]
axes = { node = ["10.17.0", "12.13.0", "14.1.0"] }
[[include]]
version = "9.0.0"
axes = { node = "14.1.0" }
[[exclude]]
reason = "no"
"#;
        insta::assert_snapshot!(message(&format!("{SMALL}{more}")), @r#"
        error: `override.versions` is a version, not a range
         --> /m/a.toml:9:12
          |
        9 | versions = "8.5.0"
          |            ^^^^^^^ this could mean that version or all that are compatible with it
          |
          = help: write ["8.5.0"] for that one, or "^8.5.0" for the range

        error: there is no axis `nod`
          --> /m/a.toml:10:10
           |
        10 | axes = { nod = "10.17.0" }
           |          ^^^ did you mean `node`?
           |
           = help: the axes are node

        error: the axis `node` has no value `12.13.0`
          --> /m/a.toml:12:29
           |
        12 | axes = { node = ["10.17.0", "12.13.0", "14.1.0"] }
           |                             ^^^^^^^^^ did you mean `12.13.1`?
           |
           = help: its values are 10.17.0, 12.13.1, 14.1.0

        error: `[[exclude]]` needs `versions` or `axes`
          --> /m/a.toml:16:1
           |
        16 | [[exclude]]
           | ^^^^^^^^^^^ it would leave no cell
           |
           = help: write `versions = ">=9"`, `axes = { … }` or both
        "#);
    }

    #[test]
    fn an_include_names_one_cell() {
        let more = r#"[axes]
node = { values = ["10.17.0", "12.13.1"] }
[[include]]
version = "^9"
axes = { node = "14.1.0 beta" }
[[include]]
versions = "9.0.0"
axes = { node = "14.1.0" }
[[include]]
version = "9.0.0"
"#;
        insta::assert_snapshot!(message(&format!("{SMALL}{more}")), @r#"
        error: `^9` is not a semantic version
         --> /m/a.toml:9:11
          |
        9 | version = "^9"
          |           ^^^^ it has no place in the order `semver`
          |
          = help: write it in full

        error: an axis value is a word
          --> /m/a.toml:10:17
           |
        10 | axes = { node = "14.1.0 beta" }
           |                 ^^^^^^^^^^^^^ empty, or with spaces
           |
           = help: write a short word; the start command can make more of it

        error: `[[include]]` needs `version`
          --> /m/a.toml:11:1
           |
        11 | [[include]]
           | ^^^^^^^^^^^ `version` is missing
           |
           = help: write `version = "2.0.0-rc.1"`: Its version.

        error: unknown key `versions` in `[[include]]`
          --> /m/a.toml:12:1
           |
        12 | versions = "9.0.0"
           | ^^^^^^^^ did you mean `version`?
           |
           = help: `[[include]]` takes axes, build, ready, source, start, version

        error: `[[include]]` needs a value of the axis `node`
          --> /m/a.toml:14:1
           |
        14 | [[include]]
           | ^^^^^^^^^^^ a cell has one of each axis
           |
           = help: write `axes.node = "10.17.0"`; it may be one beyond the axis's own
        "#);
    }
}
