//! `harness.toml`: the matrices of a project, where reports go, and the defaults under every matrix. Pure.

use std::path::{Component, Path, PathBuf};

use super::diagnostic::{Origin, Problem, Texts};
use super::document::{self, Node};
use super::parse::{fill, other_format};
use super::{schema, shape, wire};
use crate::error::Error;

/// A project, as its `harness.toml` describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Project {
    /// The matrix files in order, relative to the folder of `harness.toml`.
    pub matrices: Vec<PathBuf>,
    /// The folder of reports and journals, relative to it.
    pub reports: PathBuf,
    /// The folder of fetched and built versions, relative to it.
    pub cache: PathBuf,
    /// Whether there are `[defaults]`: the text of the file then belongs into [`super::parse()`] with every matrix.
    pub has_defaults: bool,
}

impl Default for Project {
    /// Returns what holds where there is no `harness.toml`.
    fn default() -> Self {
        Self {
            matrices: Vec::new(),
            reports: PathBuf::from("reports"),
            cache: PathBuf::from(".harness"),
            has_defaults: false,
        }
    }
}

/// Reads a `harness.toml`; `file` is its path, for messages. The error shows every problem, each with its place.
///
/// Of the defaults, keys and types are checked here, values together with each matrix.
pub fn parse_project(text: &str, file: &Path) -> Result<Project, Error> {
    let texts = Texts {
        file: (text, file),
        defaults: None,
    };
    read(text).map_err(|problems| texts.error(problems))
}

fn read(text: &str) -> Result<Project, Vec<Problem>> {
    let (mut tree, problems) = document::parse(text, Origin::File);
    if !problems.is_empty() {
        return Err(problems);
    }
    if let Some(problem) = other_format(&tree) {
        return Err(vec![problem]);
    }
    let mut found = shape::check(&mut tree, &schema::project(), "");
    let wire: wire::Project = fill(&tree, &mut found);
    let default = Project::default();
    let project = Project {
        matrices: wire.matrices,
        reports: wire.reports.unwrap_or(default.reports),
        cache: wire.cache.unwrap_or(default.cache),
        has_defaults: tree.find(&["defaults"]).is_some(),
    };
    let mut problems = found.problems;
    problems.extend(folders(&project, &tree));
    match problems.as_slice() {
        [] => Ok(project),
        _ => Err(problems),
    }
}

/// The cache is a folder that Harness deletes from, and both are written to: neither may be the project itself.
fn folders(project: &Project, tree: &Node) -> Vec<Problem> {
    let own = |path: &Path| {
        path.components()
            .any(|part| matches!(part, Component::Normal(_)) && !path.ends_with(".."))
    };
    let wrong = [("reports", &project.reports), ("cache", &project.cache)];
    let wrong = wrong.into_iter().filter(|(_, path)| !own(path));
    let problems = wrong.filter_map(|(key, _)| {
        let place = tree.find(&[key])?.at_value();
        let what = format!("`{key}` needs a folder of its own");
        let problem = Problem::new(place, what, "this is not a name of a folder");
        Some(problem.help("write a folder inside the project, such as \"reports\" or \".harness\""))
    });
    let mut problems: Vec<Problem> = problems.collect();
    let inside =
        project.reports.starts_with(&project.cache) || project.cache.starts_with(&project.reports);
    if let Some(node) = tree
        .find(&["cache"])
        .or_else(|| tree.find(&["reports"]))
        .filter(|_| inside)
    {
        let what = "`cache` and `reports` need folders apart";
        let why = "the cache may be deleted at any time, and journals with it";
        problems.push(
            Problem::new(node.at_value(), what, why)
                .help("leave both out, or give them different names"),
        );
    }
    problems
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn parse(text: &str) -> Result<Project, Error> {
        parse_project(text, Path::new("/p/harness.toml"))
    }

    #[test]
    fn a_project_names_its_matrices_and_folders() {
        let text = "schema = 1\nmatrices = [\"b.toml\", \"a.toml\"]\nreports = \"out\"\ncache = \"/var/cache/h\"\n\
                    [defaults.sessions]\ncount = 3\n";
        let project = parse(text).unwrap();
        assert_eq!(
            project.matrices,
            [PathBuf::from("b.toml"), PathBuf::from("a.toml")]
        );
        assert_eq!(project.reports, PathBuf::from("out"));
        assert_eq!(project.cache, PathBuf::from("/var/cache/h"));
        assert!(project.has_defaults);
    }

    #[test]
    fn the_folders_have_defaults() {
        assert_eq!(parse("schema = 1\n").unwrap(), Project::default());
    }

    #[test]
    fn everything_wrong_is_shown_with_its_place() {
        let text =
            "matrixes = []\nreports = \".\"\n[defaults.load]\nwindow = 3\n[defaults.source]\n";
        insta::assert_snapshot!(parse(text).unwrap_err().to_string(), @r#"
        error: the top level needs `schema`
         --> /p/harness.toml:1:1
          |
        1 | matrixes = []
          | ^ `schema` is missing
          |
          = help: write `schema = 1`: The number of the file format.

        error: unknown key `matrixes` in the top level
         --> /p/harness.toml:1:1
          |
        1 | matrixes = []
          | ^^^^^^^^ did you mean `matrices`?
          |
          = help: the top level takes cache, defaults, matrices, reports, schema

        error: `reports` needs a folder of its own
         --> /p/harness.toml:2:11
          |
        2 | reports = "."
          |           ^^^ this is not a name of a folder
          |
          = help: write a folder inside the project, such as "reports" or ".harness"

        error: `defaults.load.window` takes a string such as "250ms"
         --> /p/harness.toml:4:10
          |
        4 | window = 3
          |          ^ this is a number

        error: unknown key `source` in `[defaults]`
         --> /p/harness.toml:5:11
          |
        5 | [defaults.source]
          |           ^^^^^^ not a key of this table
          |
          = help: `[defaults]` takes build, check, load, ready, sessions, start, verdict
          try: correct these 5 problems, then `harness check`
        "#);
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn no_text_panics(text in "(schema = 1\n)?[\\[\\]{}=\"'\\.,#\\na-z0-9é🦀 ]{0,60}") {
            if let Err(error) = parse(&text) {
                prop_assert!(error.message.starts_with("error: "), "{}", error.message);
            }
        }
    }
}
