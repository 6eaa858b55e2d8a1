//! What is held against each other, each in a matrix of its own: a folder, or a version of the source. Glue.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::{Loaded, run as of_run};
use crate::cli::RunArgs;
use crate::error::{Error, Kind, Result};
use crate::live::Live;
use crate::matrix::{Compare, Folder, Matrix, SourceKind, Wanted};
use crate::pipeline::Recorder;
use crate::progress::Progress;
use crate::version::Order;
use crate::workplace::Workplace;

/// Makes a run of sides, the first one's first, and has them built.
///
/// Its journals are called after the verb and lie beside the matrix's own, so that no report takes it for a run of the matrix.
pub(super) async fn built(
    workplace: &Workplace,
    sides: Vec<Loaded>,
    (verb, compare): (&str, Compare),
    how: &RunArgs,
    progress: &mut Progress,
) -> Result<(Arc<Live>, Recorder)> {
    let loaded = together(sides)?;
    loaded.warn(|text| progress.say(text));
    of_run::needs(&loaded)?;
    let mut header = of_run::header(workplace, &loaded, how).await?;
    header.matrix.name = journals_of(&header.matrix.name, verb);
    header.order = Order::Listed;
    header.compare = compare;
    let cpus = header.cpus.clone();
    let bench = Arc::new(Live::new(workplace, loaded, cpus, &header.run)?);
    let recorder = of_run::built(workplace, &bench, header, how, progress).await?;
    Ok((bench, recorder))
}

/// Returns what the journals of a verb that holds sides against each other are called.
pub(super) fn journals_of(matrix: &str, verb: &str) -> String {
    format!("{matrix}-{verb}")
}

/// Returns the matrix with a folder in place of its source: what is there is copied and built as a checkout would be.
pub(super) fn of_folder(workplace: &Workplace, mut matrix: Matrix, name: &str) -> Result<Matrix> {
    let usage = |message: String| Error::new(Kind::Usage, message);
    let buildable = match &matrix.source.kind {
        SourceKind::Git(_) | SourceKind::Url(_) | SourceKind::Path(_) => true,
        SourceKind::Crates(_)
        | SourceKind::Npm(_)
        | SourceKind::Pypi(_)
        | SourceKind::Go(_)
        | SourceKind::Maven(_)
        | SourceKind::Attach(_)
        | SourceKind::List(_) => false,
    };
    if !buildable {
        let why = format!(
            "{} takes its versions from elsewhere",
            matrix.file.display()
        );
        let hint = "name two of its versions, or a matrix with `[source.git]`, `[source.url]` or `[source.path]`";
        return Err(usage(format!("`{name}` is a folder"))
            .because(why)
            .hint(hint));
    }
    let cannot = |why: &dyn std::fmt::Display| {
        let hint = "a version's name has no `/` at its beginning; a folder must be there";
        usage(format!("there is no folder {name}"))
            .because(why)
            .hint(hint)
    };
    let folder = Path::new(name)
        .canonicalize()
        .map_err(|error| cannot(&error))?;
    let (Some(dir), Some(own)) = (
        folder.parent(),
        folder.file_name().and_then(|own| own.to_str()),
    ) else {
        return Err(cannot(&"it has no name of its own"));
    };
    if !folder.is_dir() {
        return Err(cannot(&"it is a file"));
    }
    matrix.source.kind = SourceKind::Path(Folder {
        dir: PathBuf::from(dir),
        copied: Some(left_out(workplace, &folder)),
    });
    matrix.source.versions = Wanted::Names(vec![own.to_owned()]);
    matrix.source.order = Order::Listed;
    matrix.source.compare = Compare::Previous;
    matrix.includes.clear();
    Ok(matrix)
}

/// Returns what is in a folder and not of it: what Harness writes, which changes with every comparison, and in a git
/// worktree the way to the repository, which a build in the copy could change.
fn left_out(workplace: &Workplace, folder: &Path) -> Vec<PathBuf> {
    let root = workplace.root.canonicalize();
    let root = root.unwrap_or_else(|_| workplace.root.clone());
    let inside = |path: PathBuf| {
        let path = root.join(path.strip_prefix(&workplace.root).unwrap_or(&path));
        path.strip_prefix(folder).map(Path::to_owned).ok()
    };
    let written = [workplace.cache(), workplace.reports()].into_iter();
    let link = folder.join(".git").is_file();
    let link = link.then(|| PathBuf::from(".git"));
    written.filter_map(inside).chain(link).collect()
}

/// Puts the cells of both sides into one run, the baseline's first.
fn together(sides: Vec<Loaded>) -> Result<Loaded> {
    let mut sides = sides.into_iter();
    let Some(mut all) = sides.next() else {
        return Err(Error::new(Kind::Usage, "there is nothing to compare"));
    };
    for other in sides {
        let before = all.expansion.cells.len();
        for mut cell in other.expansion.cells {
            if all.expansion.cells.iter().any(|known| known.id == cell.id) {
                cell.id.push_str(" again");
            }
            all.expansion.cells.push(cell);
        }
        let moved = |cell: usize| cell + before;
        all.expansion
            .missing
            .extend(other.expansion.missing.into_iter().map(moved));
        let excluded = other.expansion.excluded.into_iter();
        all.expansion
            .excluded
            .extend(excluded.map(|(cell, why)| (moved(cell), why)));
        all.expansion.layers.extend(other.expansion.layers);
        all.variants.extend(other.variants);
        for warning in other.warnings {
            if !all.warnings.contains(&warning) {
                all.warnings.push(warning);
            }
        }
    }
    Ok(all)
}

/// Makes each cell of a side keep the side's own source, also where a layer of the matrix was laid over the one that is written there.
pub(super) fn keep_source(side: &mut Loaded) {
    for variant in &mut side.variants {
        if variant.source != side.matrix.source {
            Arc::make_mut(variant).source = side.matrix.source.clone();
        }
    }
}
