//! Applying the matrix's patches to a version's own source. Edge only by the program that it runs.

use std::path::Path;

use super::{Bench, OrStop, Stop, steps};
use crate::matrix::Command;
use crate::outcome::Gap;

/// Applies the patches in order; the first that does not fit is the version's gap.
pub(super) async fn apply(bench: &Bench<'_>, src: &Path) -> OrStop<()> {
    for patch in &bench.matrix.build.patches {
        let file = patch.to_string_lossy().into_owned();
        let words = ["patch", "--strip=1", "--forward", "--batch", "--input"];
        let mut argv: Vec<String> = words.iter().map(|&word| word.to_owned()).collect();
        argv.push(file);
        // The path is no template: a brace in it is a brace.
        match steps::plain(bench, &Command::Argv(argv), src).await {
            Err(Stop::Gap(gap)) => return Err(unfit(gap, patch).into()),
            other => other?,
        }
    }
    Ok(())
}

fn unfit(gap: Gap, patch: &Path) -> Gap {
    let name = patch.file_name().unwrap_or_default().to_string_lossy();
    Gap {
        cause: format!("the patch {name} does not fit this version: {}", gap.cause),
        ..gap
    }
}
