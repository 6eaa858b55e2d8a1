//! What git has written down of a bisection. Pure.

use std::collections::BTreeMap;

/// A bisection as git knows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bisection {
    /// What the older state is called, `good` or `fast`.
    pub good_term: String,
    /// What the newer state is called, `bad` or `slow`.
    pub bad_term: String,
    /// The first commit that was marked good: the older end.
    pub good: Option<String>,
    /// The first commit that was marked bad: the newer end.
    pub bad: Option<String>,
    /// The last mark of each commit.
    pub marks: BTreeMap<String, String>,
}

impl Bisection {
    /// Reads `BISECT_LOG`, which is what `git bisect log` prints, and `BISECT_TERMS`: the newer term, then the older one.
    ///
    /// The ends are those that the bisection began with, and not `refs/bisect/*`, which come closer to each other with every step:
    /// so each step is held against the same two.
    pub fn read(log: &str, terms: Option<&str>) -> Self {
        let mut terms = terms.unwrap_or_default().lines().map(str::trim);
        let mut term = |usual: &str| {
            let named = terms.next().filter(|term| !term.is_empty());
            named.unwrap_or(usual).to_owned()
        };
        let (bad_term, good_term) = (term("bad"), term("good"));
        let marks: Vec<(&str, &str)> = log.lines().filter_map(mark).collect();
        let first = |term: &str| {
            let mut own = marks.iter().filter(|(mark, _)| *mark == term);
            own.next().map(|(_, commit)| (*commit).to_owned())
        };
        Self {
            good: first(&good_term),
            bad: first(&bad_term),
            marks: marks
                .iter()
                .map(|(mark, commit)| ((*commit).to_owned(), (*mark).to_owned()))
                .collect(),
            good_term,
            bad_term,
        }
    }
}

/// Returns mark and commit of a line such as `# bad: [1f3a…] Subject`.
fn mark(line: &str) -> Option<(&str, &str)> {
    let (mark, rest) = line.strip_prefix("# ")?.split_once(": [")?;
    let (commit, _) = rest.split_once(']')?;
    let is_hash = commit.len() >= 40 && commit.chars().all(|digit| digit.is_ascii_hexdigit());
    (is_hash && !mark.contains(' ')).then_some((mark, commit))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hash(digit: char) -> String {
        digit.to_string().repeat(40)
    }

    fn log(good: &str, bad: &str) -> String {
        let line = |mark: &str, digit| format!("# {mark}: [{}] A [subject]: in it\n", hash(digit));
        [
            "# status: waiting for both good and bad commits\n".to_owned(),
            line(bad, 'b'),
            line(good, 'a'),
            "git bisect start 'bad' 'good'\n".to_owned(),
            line(bad, 'd'),
            format!("git bisect {bad} {}\n", hash('d')),
            line("skip", 'c'),
            line(good, 'c'),
            format!("# first {bad} commit: [{}] X\n", hash('d')),
        ]
        .concat()
    }

    #[test]
    fn the_ends_are_those_that_it_began_with_and_the_last_mark_counts() {
        let usual = Bisection::read(&log("good", "bad"), None);
        assert_eq!(usual.good, Some(hash('a')));
        assert_eq!(usual.bad, Some(hash('b')));
        assert_eq!(usual.marks[&hash('c')], "good");
        assert_eq!(usual.marks.len(), 4);
        let own = Bisection::read(&log("fast", "slow"), Some("slow\nfast\n"));
        assert_eq!((own.good, own.bad), (usual.good, usual.bad));
        assert_eq!(own.marks[&hash('d')], "slow");
        assert_eq!(
            (own.good_term, own.bad_term),
            ("fast".into(), "slow".into())
        );
    }

    #[test]
    fn a_bisection_that_has_only_begun_has_no_ends() {
        let begun = Bisection::read("git bisect start\n", None);
        assert_eq!((begun.good, begun.bad), (None, None));
        assert_eq!(begun.bad_term, "bad");
    }
}
