//! The history in a mirror, as git2 reads it. Edge only by the repository that it reads.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use git2::{Commit, Oid, Repository, Sort};
use regex::Regex;

use super::Available;
use crate::error::{Error, Kind, Result};
use crate::matrix::did_you_mean;
use crate::version::Version;

/// Digits in a commit's name: one of a million objects shares so many with another once in a million repositories.
pub(super) const DIGITS: usize = 10;

/// What a shallow repository is to a person who wants its history.
const CUT: &str = "the repository is shallow: its history is cut, and what lies before is missing";

/// The history of a repository. Its `HEAD` is never looked at: it says what is checked out there, not what there is.
pub(super) struct History {
    repository: Repository,
}

/// A tag and the commit that it stands at.
struct Tag<'a> {
    name: String,
    commit: Commit<'a>,
}

impl History {
    /// Opens a mirror.
    pub(super) fn open(mirror: &Path) -> Result<Self> {
        let repository = Repository::open_bare(mirror).map_err(|error| {
            let delete = format!(
                "delete it to have it fetched again: rm -r {}",
                mirror.display()
            );
            unreadable(&error).hint(delete)
        })?;
        Ok(Self { repository })
    }

    /// Returns what a person should know of the whole history.
    pub(super) fn warning(&self) -> Option<String> {
        let cut = self.repository.is_shallow();
        cut.then(|| format!("{CUT}; `git fetch --unshallow` in it brings the rest"))
    }

    /// Returns a version for each tag that the pattern matches, by the age of their commits, or with `topo` after all
    /// those that they grew out of.
    pub(super) fn tags(&self, pattern: &str, topo: bool) -> Result<Available> {
        let tags = self.all_tags()?;
        let all = tags.iter().map(|tag| tag.name.clone()).collect::<Vec<_>>();
        let matching = Regex::new(pattern).map_err(|error| no_pattern(pattern, &error))?;
        let mut chosen: BTreeMap<String, Tag> = BTreeMap::new();
        let mut twice = Vec::new();
        for tag in tags {
            let Some(name) = version_name(&matching, &tag.name) else {
                continue;
            };
            match chosen.get(&name) {
                None => drop(chosen.insert(name, tag)),
                Some(first) if first.commit.id() == tag.commit.id() => {}
                Some(first) => twice.push(format!(
                    "`{name}` is both the tag `{}` and `{}`",
                    first.name, tag.name
                )),
            }
        }
        if chosen.is_empty() {
            return Err(no_tag(pattern, &all));
        }
        let tags = chosen.into_iter().collect();
        Ok(Available {
            versions: if topo {
                self.by_descent(tags)?
            } else {
                by_age(tags)
            },
            warnings: first_taken(&twice).into_iter().collect(),
        })
    }

    /// Returns a version for each of these branches, as listed. One that is not there has no commit and so becomes a
    /// gap in its place.
    pub(super) fn branches(&self, names: &[String]) -> Result<Available> {
        let mut available = Available::default();
        for name in names {
            if let Some(commit) = self.branch(name) {
                available
                    .versions
                    .push(version(name.clone(), None, &commit));
                continue;
            }
            let near = self
                .nearest(name)?
                .map_or(String::new(), |near| format!(": {near}"));
            available
                .warnings
                .push(format!("the repository has no branch `{name}`{near}"));
            available.versions.push(Version::listed(name.clone()));
        }
        Ok(available)
    }

    /// Returns a version for each commit of a range `A..B`, oldest first, and before them the one that they grew out of:
    /// `A`, or where the history of `B` left that of `A`.
    pub(super) fn commits(&self, range: &str, first_parent: bool) -> Result<Available> {
        // Only `A..B` comes in at the matrix's door.
        let (older, newer) = range.split_once("..").unwrap_or((range, range));
        let (from, to) = (self.revision(older)?, self.revision(newer)?);
        let mut commits = self.walk(Some(from), &[to], first_parent)?;
        if commits.is_empty() && from != to {
            return Err(backwards(older, newer));
        }
        let base = self.base(&commits, (from, to), first_parent);
        let base = base.ok_or_else(|| unrelated(older, newer))?;
        commits.insert(
            0,
            self.repository
                .find_commit(base)
                .map_err(|error| unreadable(&error))?,
        );
        let versions = self.each(&commits)?;
        let left = (base != from).then(|| {
            let line = if first_parent {
                "not on the first-parent line"
            } else {
                "no part of the history"
            };
            let at = &versions[0].name;
            format!(
                "`{older}` is {line} of `{newer}`: the range begins where the two parted, at {at}"
            )
        });
        Ok(Available {
            versions,
            warnings: left.into_iter().collect(),
        })
    }
}

impl History {
    /// Returns the whole hash of the commit that a person names.
    pub(super) fn commit(&self, revision: &str) -> Result<String> {
        Ok(self.revision(revision)?.to_string())
    }

    /// Returns of each of these commits, named by their whole hashes, the places among them of all that it grew out of.
    pub(super) fn parents(&self, commits: &[&str]) -> Result<Vec<Vec<usize>>> {
        let places: HashMap<&str, usize> = commits.iter().copied().zip(0..).collect();
        let parents = |commit: &&str| -> std::result::Result<Vec<usize>, git2::Error> {
            let commit = self.repository.find_commit(Oid::from_str(commit)?)?;
            let parents = commit.parent_ids().map(|id| id.to_string());
            Ok(parents
                .filter_map(|id| places.get(id.as_str()).copied())
                .collect())
        };
        let all: std::result::Result<_, _> = commits.iter().map(parents).collect();
        all.map_err(|error| unreadable(&error))
    }

    /// Lists the tags of commits by name; those of other things, and names that no matrix can hold, are left out.
    fn all_tags(&self) -> Result<Vec<Tag<'_>>> {
        let references = self.repository.references_glob("refs/tags/*");
        let references = references.map_err(|error| unreadable(&error))?;
        let tag = |reference: git2::Reference<'_>| {
            let name = reference
                .name()
                .ok()?
                .strip_prefix("refs/tags/")?
                .to_owned();
            // By its number, as a commit got from a reference would not outlive it.
            let id = reference.peel_to_commit().ok()?.id();
            Some((name, id))
        };
        let mut tags = Vec::new();
        for (name, id) in references.filter_map(|reference| tag(reference.ok()?)) {
            let commit = self
                .repository
                .find_commit(id)
                .map_err(|error| unreadable(&error))?;
            tags.push(Tag { name, commit });
        }
        tags.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(tags)
    }

    /// Finds a branch of the repository, or one that a checkout has seen elsewhere, such as `origin/main`.
    fn branch(&self, name: &str) -> Option<Commit<'_>> {
        let id = ["refs/heads/", "refs/remotes/"].iter().find_map(|folder| {
            let reference = self
                .repository
                .find_reference(&format!("{folder}{name}"))
                .ok()?;
            Some(reference.peel_to_commit().ok()?.id())
        })?;
        self.repository.find_commit(id).ok()
    }

    /// Finds the commit that a person names.
    fn revision(&self, text: &str) -> Result<Oid> {
        if text.starts_with('@') || text.split(['~', '^', '@']).next() == Some("HEAD") {
            let message =
                format!("`{text}` is whatever is checked out in the repository at the moment");
            return Err(Error::new(Kind::Source, message)
                .hint("name a branch, a tag or a commit in `commits`"));
        }
        let found = self.repository.revparse_single(text);
        match found.and_then(|object| object.peel_to_commit()) {
            Ok(commit) => Ok(commit.id()),
            Err(error) => {
                let unknown = Error::new(
                    Kind::Source,
                    format!("the repository has no commit `{text}`"),
                );
                let near = self.nearest(text)?;
                let list = || {
                    format!(
                        "`git -C {} show-ref` lists its tags and branches",
                        self.repository.path().display()
                    )
                };
                Err(unknown
                    .because(error.message())
                    .hint(near.unwrap_or_else(list)))
            }
        }
    }

    /// Returns "did you mean `…`?" where a tag or branch is like this word or begins with it.
    fn nearest(&self, word: &str) -> Result<Option<String>> {
        let references = self
            .repository
            .references()
            .map_err(|error| unreadable(&error))?;
        let short = |reference: git2::Reference<'_>| reference.shorthand().map(str::to_owned).ok();
        let names: Vec<String> = references
            .filter_map(|reference| short(reference.ok()?))
            .collect();
        let longer = || {
            let begins = names.iter().find(|name| name.starts_with(word))?;
            Some(format!("did you mean `{begins}`?"))
        };
        Ok(did_you_mean(word, names.iter().map(String::as_str)).or_else(longer))
    }

    /// Returns the commits that the tips grew out of and that `from` did not, each after its parents.
    fn walk(&self, from: Option<Oid>, tips: &[Oid], first_parent: bool) -> Result<Vec<Commit<'_>>> {
        let walk = || -> std::result::Result<Vec<_>, git2::Error> {
            let mut walk = self.repository.revwalk()?;
            walk.set_sorting(Sort::TOPOLOGICAL | Sort::REVERSE)?;
            if first_parent {
                walk.simplify_first_parent()?;
            }
            for tip in tips {
                walk.push(*tip)?;
            }
            if let Some(from) = from {
                walk.hide(from)?;
            }
            walk.map(|id| self.repository.find_commit(id?)).collect()
        };
        walk().map_err(|error| {
            if self.repository.is_shallow() {
                // libgit2 does not stop at the cut, but looks for the commits behind it.
                return Error::new(Kind::Source, CUT).hint("run `git fetch --unshallow` in it");
            }
            unreadable(&error)
        })
    }

    /// Returns the commit that a range grew out of; none where its ends have no history in common.
    fn base(
        &self,
        walked: &[Commit<'_>],
        (from, to): (Oid, Oid),
        first_parent: bool,
    ) -> Option<Oid> {
        let Some(oldest) = walked.first() else {
            return Some(from);
        };
        if first_parent {
            return oldest.parent_ids().next();
        }
        // Whatever grew out of `from` did so through a commit of the range that has it as a parent.
        let grew = walked
            .iter()
            .any(|commit| commit.parent_ids().any(|parent| parent == from));
        if grew {
            return Some(from);
        }
        self.repository.merge_base(from, to).ok()
    }

    /// Makes a version of each commit, with its tag and its first parent where it has them.
    fn each(&self, commits: &[Commit<'_>]) -> Result<Vec<Version>> {
        let mut tags: HashMap<Oid, String> = HashMap::new();
        for tag in self.all_tags()? {
            // The first by name that looks like a version, as `latest` says less.
            let better = |known: &String| !has_digit(known) && has_digit(&tag.name);
            let id = tag.commit.id();
            if tags.get(&id).is_none_or(better) {
                tags.insert(id, tag.name);
            }
        }
        let ids: Vec<Oid> = commits.iter().map(Commit::id).collect();
        let names: HashMap<Oid, String> = ids.iter().copied().zip(short_names(&ids)).collect();
        let each = |commit: &Commit<'_>| {
            let parent = commit.parent_ids().next();
            Version {
                parent: parent.and_then(|parent| names.get(&parent)).cloned(),
                ..version(
                    names[&commit.id()].clone(),
                    tags.remove(&commit.id()),
                    commit,
                )
            }
        };
        Ok(commits.iter().map(each).collect())
    }

    /// Orders tags after all those that they grew out of; the parent of each is the nearest on its first-parent line.
    fn by_descent(&self, tags: Vec<(String, Tag<'_>)>) -> Result<Vec<Version>> {
        let tips: Vec<Oid> = tags.iter().map(|(_, tag)| tag.commit.id()).collect();
        let mut at: HashMap<Oid, Vec<(String, Tag)>> = HashMap::new();
        for (name, tag) in tags {
            at.entry(tag.commit.id()).or_default().push((name, tag));
        }
        let mut versions: Vec<Version> = Vec::new();
        let mut nearest: HashMap<Oid, usize> = HashMap::new();
        for commit in self.walk(None, &tips, false)? {
            let before = commit
                .parent_ids()
                .next()
                .and_then(|parent| nearest.get(&parent).copied());
            let own = at.remove(&commit.id()).unwrap_or_default();
            let reached = if own.is_empty() {
                before
            } else {
                Some(versions.len())
            };
            for (name, tag) in own {
                versions.push(Version {
                    parent: before.map(|index| versions[index].name.clone()),
                    ..version(name, Some(tag.name), &commit)
                });
            }
            nearest.extend(reached.map(|index| (commit.id(), index)));
        }
        Ok(versions)
    }
}

/// Makes versions of tags in the order in which their commits were made.
fn by_age(mut tags: Vec<(String, Tag<'_>)>) -> Vec<Version> {
    tags.sort_by_key(|(_, tag)| tag.commit.time().seconds());
    let versions = tags.into_iter();
    versions
        .map(|(name, tag)| version(name, Some(tag.name), &tag.commit))
        .collect()
}

/// Makes a version of a commit.
pub(super) fn version(name: String, tag: Option<String>, commit: &Commit<'_>) -> Version {
    Version {
        name,
        tag,
        commit: Some(commit.id().to_string()),
        date: jiff::Timestamp::from_second(commit.time().seconds()).ok(),
        subject: commit.summary_bytes().map(subject),
        ..Version::default()
    }
}

/// Returns a message's first line as it may be shown on a terminal.
fn subject(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).replace(char::is_control, " ")
}

/// Returns what a pattern makes of a tag: its first group, or all that it matches; none if it does not match.
fn version_name(pattern: &Regex, tag: &str) -> Option<String> {
    let captures = pattern.captures(tag)?;
    let name = captures.get(1).or_else(|| captures.get(0))?.as_str();
    (!name.is_empty()).then(|| name.to_owned())
}

/// Returns the first digits of each hash, or all of them where two have those in common.
fn short_names(ids: &[Oid]) -> Vec<String> {
    let whole: Vec<String> = ids.iter().map(Oid::to_string).collect();
    let mut count: HashMap<&str, usize> = HashMap::new();
    for id in &whole {
        *count.entry(&id[..DIGITS]).or_default() += 1;
    }
    let name = |id: &String| {
        if count[&id[..DIGITS]] == 1 {
            id[..DIGITS].to_owned()
        } else {
            id.clone()
        }
    };
    whole.iter().map(name).collect()
}

fn has_digit(tag: &str) -> bool {
    tag.contains(|letter: char| letter.is_ascii_digit())
}

/// The warning where two tags have the name of one version.
fn first_taken(twice: &[String]) -> Option<String> {
    let first = twice.first()?;
    let more = match twice.len() - 1 {
        0 => String::new(),
        more => format!(", and {more} more are twice there"),
    };
    Some(format!(
        "{first}, at another commit{more}; the first is taken: narrow `tags` in `[source.git]`"
    ))
}

fn no_pattern(pattern: &str, error: &regex::Error) -> Error {
    Error::new(
        Kind::Configuration,
        format!("`{pattern}` is not a regular expression"),
    )
    .because(error)
}

/// The error where no tag is a version.
fn no_tag(pattern: &str, all: &[String]) -> Error {
    let Some(last) = all.last() else {
        return Error::new(Kind::Source, "the repository has no tags")
            .hint("measure `branches` or `commits` in `[source.git]`");
    };
    let count = all.len();
    Error::new(
        Kind::Source,
        format!("no tag of the repository matches `{pattern}`"),
    )
    .because(format!(
        "it has {count} tags, such as `{}` and `{last}`",
        all[0]
    ))
    .hint("change `tags` in `[source.git]`")
}

/// The error for a range whose end lies before its beginning.
fn backwards(older: &str, newer: &str) -> Error {
    Error::new(
        Kind::Source,
        format!("there is no commit in {older}..{newer}"),
    )
    .because(format!("`{newer}` is part of the history of `{older}`"))
    .hint(format!("write \"{newer}..{older}\" in `commits`"))
}

/// The error for a range between two histories.
fn unrelated(older: &str, newer: &str) -> Error {
    Error::new(
        Kind::Source,
        format!("`{older}` and `{newer}` have no history in common"),
    )
    .hint("name two commits in `commits` of which one grew out of the other")
}

fn unreadable(error: &git2::Error) -> Error {
    Error::new(Kind::Source, "the mirror of the repository cannot be read").because(error.message())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A bare repository whose commits have empty trees and are a second apart.
    struct Graph {
        _dir: tempfile::TempDir,
        history: History,
        clock: std::cell::Cell<i64>,
    }

    impl Graph {
        fn new() -> Self {
            let dir = tempfile::tempdir().unwrap();
            let repository = Repository::init_bare(dir.path()).unwrap();
            Self {
                _dir: dir,
                history: History { repository },
                clock: std::cell::Cell::new(1_000_000_000),
            }
        }

        fn commit(&self, message: &str, parents: &[Oid]) -> Oid {
            let repository = &self.history.repository;
            let time = git2::Time::new(self.clock.replace(self.clock.get() + 1), 0);
            let author = git2::Signature::new("a", "a@example.org", &time).unwrap();
            let tree = repository.treebuilder(None).unwrap().write().unwrap();
            let tree = repository.find_tree(tree).unwrap();
            let find = |id: &Oid| repository.find_commit(*id).unwrap();
            let parents: Vec<Commit> = parents.iter().map(find).collect();
            let parents: Vec<&Commit> = parents.iter().collect();
            repository
                .commit(None, &author, &author, message, &tree, &parents)
                .unwrap()
        }

        fn point(&self, reference: &str, id: Oid) {
            let repository = &self.history.repository;
            repository.reference(reference, id, true, "test").unwrap();
        }

        fn tag(&self, name: &str, id: Oid) {
            self.point(&format!("refs/tags/{name}"), id);
        }

        /// Makes a tag object and returns its number.
        fn annotate(&self, name: &str, id: Oid) -> Oid {
            let repository = &self.history.repository;
            let object = repository.find_object(id, None).unwrap();
            let author = git2::Signature::now("a", "a@example.org").unwrap();
            repository
                .tag(name, &object, &author, "words", true)
                .unwrap()
        }

        fn tags(&self, pattern: &str) -> Available {
            self.history.tags(pattern, false).unwrap()
        }
    }

    /// A line of four commits with a branch that leaves it after the first and comes back in the third: r, a, s (the
    /// branch), m, b.
    fn merged() -> (Graph, [Oid; 5]) {
        let graph = Graph::new();
        let root = graph.commit("root", &[]);
        let line = graph.commit("line", &[root]);
        let side = graph.commit("side", &[root]);
        let merge = graph.commit("merge", &[line, side]);
        let last = graph.commit("last", &[merge]);
        graph.point("refs/heads/main", last);
        (graph, [root, line, side, merge, last])
    }

    fn names(available: &Available) -> Vec<&str> {
        let versions = available.versions.iter();
        versions.map(|version| version.name.as_str()).collect()
    }

    fn subjects(available: &Available) -> Vec<&str> {
        let versions = available.versions.iter();
        versions
            .map(|version| version.subject.as_deref().unwrap_or("none"))
            .collect()
    }

    #[test]
    fn tags_are_named_by_the_pattern_whether_light_or_annotated() {
        let graph = Graph::new();
        let first = graph.commit("first", &[]);
        let second = graph.commit("second", &[first]);
        graph.tag("v2.0.0", second);
        graph.annotate("4.17.0", first);
        graph.annotate("v4.18.0", graph.annotate("inner", first));
        graph.tag("latest", second);
        let blob = graph.history.repository.blob(b"key").unwrap();
        graph.annotate("v9.0.0", blob);
        let available = graph.tags("^v?([0-9].*)$");
        assert_eq!(names(&available), ["4.17.0", "4.18.0", "2.0.0"]);
        assert_eq!(available.versions[1].tag.as_deref(), Some("v4.18.0"));
        assert_eq!(available.versions[1].commit, Some(first.to_string()));
        assert_eq!(
            available.versions[2].date.unwrap().as_second(),
            1_000_000_001
        );
        assert_eq!(names(&graph.tags("in+er")), ["inner"]);
        assert_eq!(names(&graph.tags("^v4.1(.).0")), ["8"]);
    }

    #[test]
    fn of_two_tags_for_one_version_the_first_counts_and_it_is_said_if_they_differ() {
        let graph = Graph::new();
        let first = graph.commit("first", &[]);
        let second = graph.commit("second", &[first]);
        graph.tag("1.0.0", first);
        graph.tag("v1.0.0", first);
        assert_eq!(graph.tags("^v?(.*)$").warnings, [""; 0]);
        graph.tag("v1.0.0", second);
        let available = graph.tags("^v?(.*)$");
        assert_eq!(available.versions[0].commit, Some(first.to_string()));
        assert!(
            available.warnings[0].starts_with("`1.0.0` is both the tag `1.0.0` and `v1.0.0`"),
            "{:?}",
            available.warnings
        );
    }

    #[test]
    fn a_repository_without_such_tags_says_which_it_has() {
        let graph = Graph::new();
        let error = graph.history.tags("^v", false).unwrap_err();
        assert_eq!(error.message, "the repository has no tags");
        let first = graph.commit("first", &[]);
        graph.tag("axum-v0.6.0", first);
        graph.tag("axum-v0.7.0", first);
        let error = graph.history.tags("^v", false).unwrap_err();
        assert_eq!(
            error.causes,
            ["it has 2 tags, such as `axum-v0.6.0` and `axum-v0.7.0`"]
        );
    }

    #[test]
    fn tags_by_descent_know_the_nearest_on_their_own_line() {
        let (graph, [root, line, side, merge, last]) = merged();
        // Its date lies before that of what it grew out of.
        graph.clock.set(1);
        let early = graph.commit("early", &[last]);
        for (name, id) in [
            ("r", root),
            ("l", line),
            ("s", side),
            ("m", merge),
            ("e", early),
        ] {
            graph.tag(name, id);
        }
        let available = graph.history.tags(".*", true).unwrap();
        let place = |name: &str| names(&available).iter().position(|found| *found == name);
        assert!(place("r") < place("s") && place("s") < place("m") && place("m") < place("e"));
        let parents: BTreeMap<&str, Option<&str>> = available
            .versions
            .iter()
            .map(|version| (version.name.as_str(), version.parent.as_deref()))
            .collect();
        let expected = [
            ("e", Some("m")),
            ("l", Some("r")),
            ("m", Some("l")),
            ("r", None),
            ("s", Some("r")),
        ];
        assert_eq!(parents, BTreeMap::from(expected));
    }

    #[test]
    fn a_range_begins_with_what_it_grew_out_of_and_goes_along_the_line_or_the_whole_graph() {
        let (graph, [root, line, _, merge, last]) = merged();
        graph.tag("v1", root);
        graph.tag("latest", last);
        graph.tag("v2", last);
        let available = graph.history.commits("v1..main", true).unwrap();
        assert_eq!(subjects(&available), ["root", "line", "merge", "last"]);
        assert_eq!(available.warnings, [""; 0]);
        let tags: Vec<_> = available
            .versions
            .iter()
            .map(|version| version.tag.as_deref())
            .collect();
        assert_eq!(tags, [Some("v1"), None, None, Some("v2")]);
        let short = |id: Oid| id.to_string()[..10].to_owned();
        assert_eq!(available.versions[0].name, short(root));
        assert_eq!(available.versions[0].parent, None);
        assert_eq!(available.versions[3].parent, Some(short(merge)));

        let whole = graph.history.commits("v1..main", false).unwrap();
        let mut middle = subjects(&whole)[1..3].to_vec();
        middle.sort_unstable();
        assert_eq!(middle, ["line", "side"]);
        assert_eq!(subjects(&whole)[3..], ["merge", "last"]);
        assert_eq!(whole.versions[3].parent, Some(short(line)));
    }

    #[test]
    fn a_range_whose_beginning_lies_elsewhere_begins_where_the_two_parted() {
        let (graph, [root, ..]) = merged();
        let stable = graph.commit("fix", &[root]);
        graph.point("refs/heads/stable", stable);
        for first_parent in [true, false] {
            let available = graph.history.commits("stable..main", first_parent).unwrap();
            assert_eq!(subjects(&available)[0], "root");
            assert!(available.warnings[0].contains("begins where the two parted"));
        }
        let side = graph.history.commits("main^^2..main", true).unwrap();
        assert_eq!(subjects(&side), ["root", "line", "merge", "last"]);
        assert!(side.warnings[0].contains("not on the first-parent line"));
        let side = graph.history.commits("main^^2..main", false).unwrap();
        assert_eq!(subjects(&side), ["side", "line", "merge", "last"]);
    }

    #[test]
    fn a_range_of_nothing_is_its_beginning_or_an_error() {
        let (graph, _) = merged();
        graph.point("refs/heads/orphan", graph.commit("other", &[]));
        let error = |range: &str| graph.history.commits(range, true).unwrap_err();
        assert_eq!(
            names(&graph.history.commits("main..main", true).unwrap()).len(),
            1
        );
        assert_eq!(
            error("main..main~1").hint.unwrap(),
            "write \"main~1..main\" in `commits`"
        );
        for range in ["orphan..main", "main..orphan"] {
            assert!(error(range).message.ends_with("have no history in common"));
        }
    }

    #[test]
    fn an_unknown_commit_is_told_with_what_was_probably_meant() {
        let (graph, [root, ..]) = merged();
        graph.tag("v25.1.0", root);
        let hint = |text: &str| graph.history.revision(text).unwrap_err().hint.unwrap();
        assert_eq!(hint("v25.1.1"), "did you mean `v25.1.0`?");
        assert_eq!(hint("v25"), "did you mean `v25.1.0`?");
        assert!(hint("nothing-like-it").contains("show-ref"));
        for head in ["HEAD", "HEAD~2", "@", "@{upstream}"] {
            assert!(hint(head).starts_with("name a branch"), "{head}");
        }
        graph.tag("HEADER", root);
        assert_eq!(graph.history.revision("HEADER").unwrap(), root);
    }

    #[test]
    fn a_branch_that_is_not_there_keeps_its_place_without_a_commit() {
        let (graph, [root, ..]) = merged();
        graph.point("refs/remotes/origin/v1.x", root);
        let listed = ["mian", "origin/v1.x", "main"].map(str::to_owned);
        let available = graph.history.branches(&listed).unwrap();
        assert_eq!(names(&available), listed);
        assert_eq!(available.versions[0].commit, None);
        assert_eq!(available.versions[1].commit, Some(root.to_string()));
        assert_eq!(
            available.warnings,
            ["the repository has no branch `mian`: did you mean `main`?"]
        );
    }

    #[test]
    fn a_name_is_short_unless_two_begin_alike() {
        let id = |text: &str| Oid::from_str(text).unwrap();
        let alike = [
            "0123456789a".to_owned() + &"0".repeat(29),
            "0123456789b".to_owned() + &"0".repeat(29),
        ];
        let other = "f".repeat(40);
        let ids = [id(&alike[0]), id(&other), id(&alike[1])];
        assert_eq!(short_names(&ids), [&alike[0], "ffffffffff", &alike[1]]);
    }

    #[test]
    fn a_subject_cannot_steer_a_terminal() {
        assert_eq!(subject(b"fix \x1b[31mred\xff"), "fix  [31mred\u{fffd}");
    }
}
