//! Where the links of an archive lead. Edge only by the links that it reads.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::fs;
use std::path::{Component, Path, PathBuf};

use super::{Flaw, shown};

/// Links in a row that are followed; the system itself follows 40.
const MOST_LINKS: usize = 40;

/// Refuses a link that leads out of the folder, by itself or through others, whether or not anything is at its end.
///
/// The way is walked step by step, since a `..` behind a link leads to where the link's target lies and not to where
/// the link does. What turns in a circle leads nowhere and is harmless.
pub(super) fn stays_inside(root: &Path, link: &Path) -> Result<(), Flaw> {
    let refused = || {
        let name = link.strip_prefix(root).unwrap_or(link);
        Flaw::Archive(format!("the link {} leads out of it", shown(name)))
    };
    let mut at = link.parent().unwrap_or(root).to_owned();
    let mut followed = 1;
    let mut way = steps(link).ok_or_else(refused)?;
    while let Some(step) = way.pop_front() {
        let Step::Into(name) = step else {
            if at == root {
                return Err(refused());
            }
            at.pop();
            continue;
        };
        let next = at.join(name);
        if !next.is_symlink() {
            at = next;
            continue;
        }
        followed += 1;
        if followed > MOST_LINKS {
            return Ok(());
        }
        let mut further = steps(&next).ok_or_else(refused)?;
        further.append(&mut way);
        way = further;
    }
    Ok(())
}

/// One step of a way.
#[derive(Debug, PartialEq, Eq)]
enum Step {
    Into(OsString),
    Up,
}

/// Returns the steps that a link's target tells; none if it begins elsewhere, or cannot be read.
fn steps(link: &Path) -> Option<VecDeque<Step>> {
    let target: PathBuf = fs::read_link(link).ok()?;
    let parts = target
        .components()
        .filter(|part| *part != Component::CurDir);
    parts
        .map(|part| match part {
            Component::Normal(name) => Some(Step::Into(name.to_owned())),
            Component::ParentDir => Some(Step::Up),
            Component::CurDir | Component::RootDir | Component::Prefix(_) => None,
        })
        .collect()
}
