//! The programs that axes choose between: each is fetched once, as if it were a matrix of its own. Edge only by that.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::template::Variables;
use super::{Job, OrStop, Stop, Workshop, build_axes, folder};
use crate::error::Result;
use crate::journal::Built;
use crate::matrix::{Axis, Build, Matrix, Npm, Provider, SourceKind};
use crate::outcome::{Class, Gap, GapKind, Outcome};
use crate::version::{Cell, Version};

/// Programs by the names of their axes.
pub(super) type Programs = BTreeMap<String, PathBuf>;

/// What the folders of programs begin with, beside those of the matrices: none of these has such a name.
const FOLDER: &str = "_axes-";

/// Returns the programs of a cell's axes; the gap of the first that cannot be had is the cell's.
pub(super) async fn programs(shop: &Workshop, matrix: &Matrix, cell: &Cell) -> OrStop<Programs> {
    let mut programs = Programs::new();
    for axis in &matrix.axes {
        if let (Some(provider), Some(value)) = (&axis.from, cell.axes.get(&axis.name)) {
            // A whole build hangs on it, which would make every build's future as large again.
            let find = Box::pin(fetch(shop, matrix, (provider, value)));
            let identity = identity(provider, value);
            let program = shop.programs.once(identity.clone(), find).await?;
            let program = program.map_err(|gap| {
                if gap.class == Class::Transient {
                    shop.programs.forget(&identity);
                }
                of_axis(axis, value, gap)
            })?;
            programs.insert(axis.name.clone(), program);
        }
    }
    Ok(programs)
}

/// Returns what tells one program from all others.
fn identity(Provider::Npm { package }: &Provider, value: &str) -> String {
    format!("npm {package} {value}")
}

/// Names the value in the gap that comes of it.
fn of_axis(axis: &Axis, value: &str, gap: Gap) -> Stop {
    Stop::Gap(Gap {
        cause: format!("{} {value}: {}", axis.name, gap.cause),
        ..gap
    })
}

async fn fetch(
    shop: &Workshop,
    matrix: &Matrix,
    (Provider::Npm { package }, value): (&Provider, &str),
) -> Result<Outcome<PathBuf>> {
    let cell = Cell {
        id: value.to_owned(),
        version: Version::listed(value),
        axes: BTreeMap::new(),
    };
    let name = format!("{FOLDER}{}", folder::safe(&format!("npm-{package}")));
    let job = Job {
        builds: shop.cache.join("builds").join(name),
        entry: None,
        programs: Programs::new(),
    };
    let built = shop.made(&of_package(matrix, package), &cell, job).await?;
    Ok(match built {
        Built::Gap(gap) => Err(gap),
        Built::Artifact(artifact) => artifact.binary.ok_or_else(|| {
            let cause = format!("the npm package `{package}` names no program");
            Gap::new(GapKind::NoBinary, cause)
        }),
    })
}

/// Returns the matrix whose versions are those of a package that holds a program: it fetches with the time-out and the
/// limits of the other, and does nothing more.
fn of_package(matrix: &Matrix, package: &str) -> Matrix {
    let npm = Npm {
        package: package.to_owned(),
        server: None,
        scripts: false,
        with: Vec::new(),
    };
    let mut program = matrix.clone();
    program.source.kind = SourceKind::Npm(npm);
    program.axes = Vec::new();
    program.build = Build {
        steps: Vec::new(),
        binary: None,
        inputs: Vec::new(),
        patches: Vec::new(),
        env: BTreeMap::new(),
        proof: None,
        ..program.build
    };
    program
}

/// Returns the programs of the axes that change what is built. The others must not: one build serves all their values.
pub(super) fn of_build(matrix: &Matrix, programs: &Programs) -> Programs {
    let axes = matrix.axes.iter().filter(|axis| axis.build);
    axes.filter_map(|axis| Some((axis.name.clone(), programs.get(&axis.name)?.clone())))
        .collect()
}

/// Returns what of a cell's axes decides its build: the values, and of which program they are versions.
pub(super) fn ingredients(matrix: &Matrix, cell: &Cell) -> BTreeMap<String, String> {
    let mut axes = build_axes(matrix, cell);
    for axis in &matrix.axes {
        if let (Some(provider), Some(value)) = (&axis.from, axes.get_mut(&axis.name)) {
            *value = identity(provider, value);
        }
    }
    axes
}

/// Returns what stands in a build key for the programs, which does not depend on where the cache lies.
pub(super) fn placeholders(matrix: &Matrix) -> Programs {
    let axes = matrix
        .axes
        .iter()
        .filter(|axis| axis.build && axis.from.is_some());
    let placeholder = |name: &str| PathBuf::from(format!("{{axis.{name}.binary}}"));
    axes.map(|axis| (axis.name.clone(), placeholder(&axis.name)))
        .collect()
}

/// Gives `{axis.NAME.binary}` its value.
pub fn set_programs(variables: &mut Variables, programs: &BTreeMap<String, PathBuf>) {
    for (axis, program) in programs {
        variables.set(format!("axis.{axis}.binary"), program.to_string_lossy());
    }
}

/// Puts the folders of the programs first in the `PATH` of a child, so that what asks for `node` gets the axis's.
pub fn put_first(env: &mut BTreeMap<String, String>, programs: &BTreeMap<String, PathBuf>) {
    if programs.is_empty() {
        return;
    }
    let folders = programs.values().filter_map(|program| program.parent());
    let folders = folders.map(|folder| folder.to_string_lossy().into_owned());
    let path: Vec<String> = folders
        .chain(env.get("PATH").filter(|path| !path.is_empty()).cloned())
        .collect();
    env.insert("PATH".to_owned(), path.join(":"));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_come_before_whatever_else_is_on_the_path() {
        let programs = ["/a/bin/node", "/b/npm"].map(PathBuf::from);
        let programs = BTreeMap::from([
            ("node".to_owned(), programs[0].clone()),
            ("npm".to_owned(), programs[1].clone()),
        ]);
        let path = |path: Option<&str>| {
            let mut env = BTreeMap::new();
            env.extend(path.map(|path| ("PATH".to_owned(), path.to_owned())));
            put_first(&mut env, &programs);
            env.remove("PATH").unwrap()
        };
        assert_eq!(path(Some("/usr/bin:/bin")), "/a/bin:/b:/usr/bin:/bin");
        // An empty part of a path would stand for the child's own folder.
        assert_eq!(path(Some("")), "/a/bin:/b");
        assert_eq!(path(None), "/a/bin:/b");
    }
}
