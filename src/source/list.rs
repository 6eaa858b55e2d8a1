//! Versions listed in the matrix. Pure.

use crate::matrix::Wanted;

/// Returns the names listed; a matrix without a list has none.
pub(super) fn names(wanted: &Wanted) -> Vec<String> {
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
