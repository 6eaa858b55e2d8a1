//! What is shipped holds: matrices read without a complaint, schemas are current, the documentation names every key.

use std::path::{Path, PathBuf};

use harness::matrix::{self, project, reference, schema};

fn repository() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn read(file: impl AsRef<Path>) -> String {
    std::fs::read_to_string(repository().join(file)).unwrap()
}

fn matrices() -> Vec<PathBuf> {
    let files = std::fs::read_dir(repository().join("matrices")).unwrap();
    let files = files.map(|file| file.unwrap().path());
    files
        .filter(|file| file.extension().is_some_and(|end| end == "toml"))
        .collect()
}

#[test]
fn every_matrix_reads_without_a_complaint_and_points_to_the_schema() {
    let project = read("harness.toml");
    let defaults = repository().join("harness.toml");
    assert!(matrices().len() >= 3);
    for file in matrices() {
        let text = std::fs::read_to_string(&file).unwrap();
        assert!(
            text.starts_with("#:schema ./matrix.schema.json\n"),
            "{}",
            file.display()
        );
        matrix::parse(&text, &file, Some((&project, &defaults))).unwrap();
    }
}

#[test]
fn the_project_names_matrices_that_exist() {
    let file = repository().join("harness.toml");
    let project = project::parse_project(&read("harness.toml"), &file).unwrap();
    assert!(!project.matrices.is_empty());
    for matrix in project.matrices {
        assert!(repository().join(&matrix).is_file(), "{}", matrix.display());
    }
}

/// `harness check --print-schema > matrices/matrix.schema.json` makes them current again.
#[test]
fn the_schemas_that_editors_read_are_current() {
    assert_eq!(
        read("matrices/matrix.schema.json").trim_end(),
        schema::json_schema().trim_end()
    );
    let project = schema::project_json_schema();
    assert_eq!(
        read("matrices/project.schema.json").trim_end(),
        project.trim_end()
    );
}

/// `harness check --print-schema reference > docs/reference.md` makes it current again.
#[test]
fn the_page_of_all_keys_is_current() {
    assert_eq!(
        read("docs/reference.md").trim_end(),
        reference::reference().trim_end()
    );
}

/// `harness check --print-schema report > docs/report.schema.json` makes it current again.
#[test]
fn the_schema_of_reports_is_current() {
    assert_eq!(
        read("docs/report.schema.json").trim_end(),
        harness::export::schema::report().trim_end()
    );
}

#[test]
fn the_documentation_names_every_key() {
    let documentation = read("docs/matrix.md");
    for text in [schema::json_schema(), schema::project_json_schema()] {
        let schema: serde_json::Value = serde_json::from_str(&text).unwrap();
        let mut keys = Vec::new();
        collect_keys(&schema, &mut keys);
        assert!(keys.len() > 5);
        for key in keys.iter().filter(|key| *key != "shell") {
            let named = [
                format!("`{key}`"),
                format!(".{key}]`"),
                format!(".{key}`"),
                format!("[{key}]`"),
                format!("[[{key}]]`"),
                format!("`{key} "),
                format!(" {key} ="),
            ];
            assert!(
                named.iter().any(|form| documentation.contains(form)),
                "{key} is not described"
            );
        }
    }
}

/// Collects the names of properties, wherever they stand in a schema.
fn collect_keys(schema: &serde_json::Value, keys: &mut Vec<String>) {
    let serde_json::Value::Object(object) = schema else {
        return;
    };
    for (name, inner) in object {
        if let ("properties", serde_json::Value::Object(properties)) = (name.as_str(), inner) {
            keys.extend(properties.keys().cloned());
            properties
                .values()
                .for_each(|property| collect_keys(property, keys));
        } else {
            collect_keys(inner, keys);
        }
    }
}

/// The README's examples are matrices, and its commands are commands.
#[test]
fn the_readme_shows_a_matrix_that_reads_and_verbs_that_exist() {
    let readme = read("README.md");
    let examples: Vec<&str> = readme
        .split("```toml\n")
        .skip(1)
        .filter_map(|rest| rest.split("```").next())
        .collect();
    assert!(examples.len() > 1);
    for example in examples {
        matrix::parse(example, &repository().join("matrices/example.toml"), None).unwrap();
    }
    for line in readme
        .lines()
        .filter_map(|line| line.strip_prefix("| `harness "))
    {
        let verb = line.split([' ', '`']).next().unwrap();
        let help = std::process::Command::new(env!("CARGO_BIN_EXE_harness"))
            .args([verb, "--help"])
            .output()
            .unwrap();
        assert!(help.status.success(), "{verb}");
    }
}
