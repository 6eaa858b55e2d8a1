//! What each kind of source needs to be built: one arm a kind, the work in a file of its own. Edge only by those.

use std::path::{Path, PathBuf};

use super::{Bench, Fetched, OrStop, Workshop};
use super::{attach, crates, git, go, hash, is_program, maven, npm, pypi, tree, url};
use crate::error::Result;
use crate::matrix::{GoSubject, Matrix, SourceKind};
use crate::outcome::{Gap, GapKind};
use crate::source;
use crate::version::Cell;

/// Finds the file or folder of this machine that a version is; none where it is none, or is gone.
pub(super) fn entry(matrix: &Matrix, cell: &Cell) -> Result<Option<PathBuf>> {
    match &matrix.source.kind {
        SourceKind::Path(path) => source::path_entry(path, &cell.version.name),
        SourceKind::Crates(_)
        | SourceKind::Npm(_)
        | SourceKind::Pypi(_)
        | SourceKind::Go(_)
        | SourceKind::Maven(_)
        | SourceKind::Git(_)
        | SourceKind::Url(_)
        | SourceKind::Attach(_)
        | SourceKind::List(_) => Ok(None),
    }
}

/// The gap of a version that the source does not have.
pub(super) fn not_found(matrix: &Matrix, cell: &Cell) -> Gap {
    let version = &cell.version.name;
    let cause = match &matrix.source.kind {
        SourceKind::Crates(crates) => {
            format!("the crate `{}` has no version {version}", crates.package)
        }
        SourceKind::Npm(npm) => {
            let package = &npm.package;
            format!(
                "the npm package `{package}` has no version {version}: unpublished, or never published"
            )
        }
        SourceKind::Pypi(pypi) => {
            format!(
                "the Python package `{}` has no version {version}",
                pypi.package
            )
        }
        SourceKind::Go(go) => match &go.subject {
            GoSubject::Module(module) => {
                format!("the Go module `{module}` has no version {version}")
            }
            GoSubject::Toolchain => format!("there is no Go toolchain {version} for this machine"),
        },
        SourceKind::Maven(maven) => {
            let (group, artifact) = (&maven.group, &maven.artifact);
            format!("the Maven artifact `{group}:{artifact}` has no version {version}")
        }
        SourceKind::Git(git) => format!("{} has no {version}", git.repository),
        SourceKind::Url(_) => format!("the matrix has no checksum of {version}"),
        SourceKind::Path(path) => format!("{} has no entry {version}", path.dir.display()),
        SourceKind::Attach(_) => format!("the matrix has no address of {version}"),
        SourceKind::List(_) => format!("the matrix lists no version {version}"),
    };
    Gap::new(GapKind::NotFound, cause)
}

/// Returns what tells one version of a source from all others: its kind, package and version, or the hash of its
/// content.
pub(super) async fn identity(
    shop: &Workshop,
    matrix: &Matrix,
    cell: &Cell,
    entry: Option<&Path>,
) -> Result<Vec<String>> {
    let version = &cell.version;
    match &matrix.source.kind {
        SourceKind::Crates(crates) => crates::identity(shop, crates, version).await,
        SourceKind::Npm(npm) => npm::identity(shop, npm, version).await,
        SourceKind::Pypi(pypi) => Ok(pypi::identity(pypi, version)),
        SourceKind::Go(go) => go::identity(shop, go, version).await,
        SourceKind::Maven(maven) => maven::identity(shop, maven, version).await,
        SourceKind::Git(git) => Ok(git::identity(git, version)),
        SourceKind::Url(url) => Ok(url::identity(url, version)),
        SourceKind::Attach(attach) => Ok(attach::identity(attach, version)),
        SourceKind::List(_) => Ok(vec!["list".to_owned(), version.name.clone()]),
        SourceKind::Path(path) => {
            let content = match (entry, &path.copied) {
                (Some(entry), Some(left_out)) => hash(entry, tree::checked_out(left_out)).await?,
                (Some(entry), None) => hash(entry, tree::everything).await?,
                (None, _) => String::new(),
            };
            let how = path.copied.as_ref().map_or("path", |_| "copy");
            Ok(vec![how.to_owned(), version.name.clone(), content])
        }
    }
}

/// Returns what the tools that build a source say of their own versions.
pub(super) async fn toolchain(shop: &Workshop, matrix: &Matrix) -> Result<Vec<String>> {
    match &matrix.source.kind {
        SourceKind::Crates(crates) => crates::toolchain(shop, crates).await,
        SourceKind::Npm(npm) => npm::toolchain(shop, npm).await,
        SourceKind::Pypi(pypi) => pypi::toolchain(shop, pypi, &matrix.dir).await,
        SourceKind::Go(_) => go::toolchain(shop).await,
        SourceKind::Maven(_) => maven::toolchain(shop).await,
        SourceKind::Git(_)
        | SourceKind::Url(_)
        | SourceKind::Path(_)
        | SourceKind::Attach(_)
        | SourceKind::List(_) => Ok(Vec::new()),
    }
}

/// Gets what the source has of the version.
pub(super) async fn fetch(bench: &Bench<'_>, entry: Option<PathBuf>) -> OrStop<Fetched> {
    match &bench.matrix.source.kind {
        SourceKind::Crates(crates) => crates::fetch(bench, crates).await,
        SourceKind::Npm(npm) => npm::fetch(bench, npm).await,
        SourceKind::Pypi(pypi) => pypi::fetch(bench, pypi).await,
        SourceKind::Go(go) => go::fetch(bench, go).await,
        SourceKind::Maven(maven) => maven::fetch(bench, maven).await,
        SourceKind::Git(git) => git::fetch(bench, git).await,
        SourceKind::Url(url) => url::fetch(bench, url).await,
        SourceKind::Attach(_) | SourceKind::List(_) => Ok(bench.nothing_fetched()),
        SourceKind::Path(path) => {
            let plain = bench.nothing_fetched();
            let src = match (entry, &path.copied) {
                (Some(entry), Some(left_out)) => {
                    bench.copy(&entry, tree::checkout(left_out)).await?;
                    bench.folder.work.clone()
                }
                (Some(entry), None) => entry,
                (None, _) => plain.src.clone(),
            };
            let binary = is_program(&src).then(|| src.clone());
            Ok(Fetched {
                src,
                binary,
                ..plain
            })
        }
    }
}

/// Returns what the environment of the steps has for a source, the matrix's own variables apart.
pub(super) fn environment(bench: &Bench<'_>) -> Vec<(String, String)> {
    let work = &bench.folder.work;
    match &bench.matrix.source.kind {
        SourceKind::Crates(_) => {
            let target = work.join("target").to_string_lossy().into_owned();
            vec![("CARGO_TARGET_DIR".to_owned(), target)]
        }
        SourceKind::Pypi(_) => pypi::environment(work),
        SourceKind::Go(go) => go::environment(bench, go),
        SourceKind::Npm(_)
        | SourceKind::Maven(_)
        | SourceKind::Git(_)
        | SourceKind::Url(_)
        | SourceKind::Path(_)
        | SourceKind::Attach(_)
        | SourceKind::List(_) => Vec::new(),
    }
}

/// Looks at what the steps made: the program, where it could not be known before, and what was built into it.
pub(super) async fn finish(bench: &Bench<'_>, fetched: Fetched) -> OrStop<Fetched> {
    match &bench.matrix.source.kind {
        SourceKind::Crates(crates) => crates::finish(bench, crates, fetched).await,
        SourceKind::Npm(npm) => Ok(npm::finish(npm, fetched)),
        SourceKind::Maven(_) => maven::finish(bench, fetched).await,
        SourceKind::Pypi(pypi) => Ok(pypi::finish(bench, pypi, fetched).await),
        SourceKind::Go(_) => Ok(go::finish(fetched).await),
        SourceKind::Git(_)
        | SourceKind::Url(_)
        | SourceKind::Path(_)
        | SourceKind::Attach(_)
        | SourceKind::List(_) => Ok(fetched),
    }
}
