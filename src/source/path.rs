//! Versions that are the entries of a folder. Edge.

#![expect(clippy::disallowed_methods, reason = "it lists a folder of the user's")]

use std::cmp::Ordering;
use std::path::{Path, PathBuf};

use crate::error::{Error, Kind, Result};

/// Returns the names of the folder's entries in natural order (`v9` before `v10`); hidden ones are left out.
pub(super) fn names(dir: &Path) -> Result<Vec<String>> {
    let mut names: Vec<String> = entries(dir)?.into_iter().map(|(name, _)| name).collect();
    names.sort_by(|a, b| natural(a, b));
    if let Some([twice, ..]) = names.windows(2).find(|pair| pair[0] == pair[1]) {
        let message = format!(
            "{} has two entries for the version `{}`",
            dir.display(),
            twice
        );
        return Err(Error::new(Kind::Source, message).hint("rename or remove one of them"));
    }
    Ok(names)
}

/// Finds the entry that a version's name stands for.
pub(super) fn entry(dir: &Path, name: &str) -> Result<Option<PathBuf>> {
    Ok(entries(dir)?
        .into_iter()
        .find(|(found, _)| found == name)
        .map(|(_, path)| path))
}

/// Finds a folder by its whole name.
pub(super) fn folder(dir: &Path, name: &str) -> Option<PathBuf> {
    Some(dir.join(name)).filter(|path| path.is_dir())
}

/// Lists the entries that are not hidden, each with the version's name.
fn entries(dir: &Path) -> Result<Vec<(String, PathBuf)>> {
    let failed = |error: std::io::Error| {
        Error::new(
            Kind::Source,
            format!("the versions in {} could not be listed", dir.display()),
        )
        .because(error)
        .hint("check `source.path.dir` in the matrix")
    };
    let mut found = Vec::new();
    for entry in std::fs::read_dir(dir).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        if let Some(name) = version_name(&path) {
            found.push((name, path));
        }
    }
    Ok(found)
}

/// Returns the name of the version: a folder's name, or a file's name without its extension.
///
/// What follows the last dot of a file is its extension unless it begins with a digit, so that a program called
/// `server-1.2.0` keeps its whole name. A name that is not UTF-8 cannot be written in a matrix and is left out.
fn version_name(path: &Path) -> Option<String> {
    let name = path.file_name()?.to_str()?;
    if name.starts_with('.') {
        return None;
    }
    let is_extension =
        |extension: &str| extension.starts_with(|first: char| first.is_ascii_alphabetic());
    match name.rsplit_once('.') {
        Some((stem, extension)) if is_extension(extension) && !path.is_dir() => {
            Some(stem.to_owned())
        }
        Some(_) | None => Some(name.to_owned()),
    }
}

/// Compares names with the numbers in them by value, and by their text where that makes no difference.
fn natural(a: &str, b: &str) -> Ordering {
    pieces(a).cmp(&pieces(b)).then_with(|| a.cmp(b))
}

/// One stretch of a name: a number sorts before a text, and by its length without leading zeros, then by its digits.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Piece<'name> {
    Number(usize, &'name str),
    Text(&'name str),
}

/// Cuts a name where digits begin and end.
fn pieces(name: &str) -> Vec<Piece<'_>> {
    let mut pieces = Vec::new();
    let mut rest = name;
    while let Some(first) = rest.chars().next() {
        let is_number = first.is_ascii_digit();
        let end = rest
            .find(|letter: char| letter.is_ascii_digit() != is_number)
            .unwrap_or(rest.len());
        let (piece, after) = rest.split_at(end);
        pieces.push(if is_number {
            let digits = piece.trim_start_matches('0');
            Piece::Number(digits.len(), digits)
        } else {
            Piece::Text(piece)
        });
        rest = after;
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn entries_come_in_natural_order_without_hidden_ones() {
        let dir = tempfile::tempdir().unwrap();
        for file in ["v10.js", "v9.js", ".hidden", "hello-1.2.10", "hello-1.2.9"] {
            std::fs::write(dir.path().join(file), "").unwrap();
        }
        std::fs::create_dir(dir.path().join("v2.old")).unwrap();
        assert_eq!(
            names(dir.path()).unwrap(),
            ["hello-1.2.9", "hello-1.2.10", "v2.old", "v9", "v10"]
        );
        assert_eq!(
            entry(dir.path(), "v9").unwrap(),
            Some(dir.path().join("v9.js"))
        );
        assert_eq!(entry(dir.path(), "v11").unwrap(), None);
    }

    #[test]
    fn two_entries_of_one_name_are_an_error() {
        let dir = tempfile::tempdir().unwrap();
        for file in ["a.js", "a.py"] {
            std::fs::write(dir.path().join(file), "").unwrap();
        }
        let error = names(dir.path()).unwrap_err();
        assert_eq!(error.kind, Kind::Source);
        assert!(error.message.contains("`a`"));
    }

    #[test]
    fn a_missing_folder_is_an_error_with_its_name() {
        let error = names(Path::new("/nowhere/at/all")).unwrap_err();
        assert!(error.message.contains("/nowhere/at/all"));
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn numbers_are_ordered_by_value(a in any::<u64>(), b in any::<u64>()) {
            prop_assert_eq!(natural(&format!("v{a}.js"), &format!("v{b}.js")), a.cmp(&b));
        }

        #[test]
        fn only_equal_names_compare_equal(a in "[a0-2.]{0,6}", b in "[a0-2.]{0,6}") {
            prop_assert_eq!(natural(&a, &b) == Ordering::Equal, a == b);
            prop_assert_eq!(natural(&a, &b), natural(&b, &a).reverse());
        }
    }
}
