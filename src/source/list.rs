//! Versions listed in the matrix, or by a command of its own. Edge only by the program that it runs.

use std::path::Path;

use super::Available;
use crate::error::{Error, Kind, Result};
use crate::matrix::{List, Wanted};

/// Returns the names listed.
#[expect(clippy::unused_async, reason = "it will run the command")]
pub(super) async fn available(list: &List, wanted: &Wanted, _dir: &Path) -> Result<Available> {
    if list.command.is_some() {
        return Err(Error::new(
            Kind::Source,
            "a list's command cannot be run yet",
        ));
    }
    Ok(Available::named(names(wanted)))
}

/// Returns the names of a list without a command.
fn names(wanted: &Wanted) -> Vec<String> {
    match wanted {
        Wanted::Names(names) => names.clone(),
        Wanted::All | Wanted::Range(_) => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_names_come_as_listed() {
        let listed = vec!["b".to_owned(), "a".to_owned()];
        assert_eq!(names(&Wanted::Names(listed.clone())), listed);
        assert!(names(&Wanted::All).is_empty());
    }
}
