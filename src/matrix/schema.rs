//! JSON Schema of the files, for editors and for the check of keys and types. Pure.

use schemars::generate::SchemaSettings;
use schemars::transform::{RecursiveTransform, Transform};
use schemars::{JsonSchema, Schema};
use serde_json::Value;

use super::wire;

/// Returns the JSON Schema (draft 2020-12) of a matrix file, pretty-printed.
pub fn json_schema() -> String {
    pretty(&matrix())
}

/// Returns the JSON Schema (draft 2020-12) of `harness.toml`, pretty-printed.
pub fn project_json_schema() -> String {
    pretty(&project())
}

/// Returns the schema of a matrix file.
pub(super) fn matrix() -> Value {
    schema_of::<wire::Matrix>()
}

/// Returns the schema of `[defaults]`.
pub(super) fn defaults() -> Value {
    schema_of::<wire::Defaults>()
}

/// Returns the schema of `harness.toml`.
pub(super) fn project() -> Value {
    schema_of::<wire::Project>()
}

fn pretty(schema: &Value) -> String {
    format!("{schema:#}\n")
}

/// Subschemas are written in place, so that a reader of the schema needs to follow no references.
fn schema_of<T: JsonSchema>() -> Value {
    let settings =
        SchemaSettings::draft2020_12().with(|settings| settings.inline_subschemas = true);
    let mut schema = settings.into_generator().into_root_schema_for::<T>();
    RecursiveTransform(simplify).transform(&mut schema);
    schema.to_value()
}

/// Removes what TOML has no use for: `null` beside the real type of an optional key, and Rust's integer formats.
fn simplify(schema: &mut Schema) {
    schema.remove("format");
    if let Some(Value::Array(types)) = schema.get_mut("type") {
        types.retain(|name| name != "null");
        if let [only] = types.as_slice() {
            let only = only.clone();
            schema.insert("type".to_owned(), only);
        }
    }
    if let Some(Value::Array(branches)) = schema.get_mut("anyOf") {
        branches.retain(|branch| branch.get("type") != Some(&Value::from("null")));
        if let [Value::Object(only)] = branches.as_slice() {
            let only = only.clone();
            schema.remove("anyOf");
            for (key, value) in only {
                if schema.get(&key).is_none() {
                    schema.insert(key, value);
                }
            }
        }
    }
    if let Some(Value::Array(values)) = schema.get_mut("enum") {
        values.retain(|value| !value.is_null());
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::matrix::diagnostic::Origin;
    use crate::matrix::document;
    use crate::matrix::parse;
    use crate::matrix::parse::tests::{FULL, mutated};

    fn as_json(text: &str) -> Value {
        document::parse(text, Origin::File).0.to_json()
    }

    fn accepts(schema: &str, instance: &Value) -> bool {
        let schema = serde_json::from_str(schema).unwrap();
        jsonschema::draft202012::is_valid(&schema, instance)
    }

    #[test]
    fn the_schema_is_itself_valid() {
        for schema in [json_schema(), project_json_schema()] {
            let schema: Value = serde_json::from_str(&schema).unwrap();
            assert!(jsonschema::meta::is_valid(&schema));
        }
    }

    #[test]
    fn a_full_matrix_is_accepted_and_a_wrong_one_is_not() {
        assert!(accepts(&json_schema(), &as_json(FULL)));
        for (right, wrong) in [
            ("connections = 32", "conections = 32"),
            ("connections = 32", "connections = 0"),
            ("timeout = \"5m\"", "timeout = 5"),
            ("timeout = \"5m\"", "timeout = \"5 minutes\""),
            ("schema = 1", "schema = 5"),
            ("schema = 1", ""),
            ("design = \"slices\"", "design = \"duo\""),
            ("ready.timeout = \"9s\"", "load.timeout = \"9s\""),
            ("start.stop.grace", "start.cpus"),
            ("features = [\"x\"]", "package = \"x\""),
            ("version = \"2.0.0-rc.1\"", ""),
        ] {
            let text = FULL.replacen(right, wrong, 1);
            assert_ne!(text, FULL);
            assert!(!accepts(&json_schema(), &as_json(&text)), "{wrong}");
        }
    }

    #[test]
    fn the_project_has_a_schema_as_well() {
        let text = "schema = 1\nmatrices = [\"a.toml\"]\n[defaults.load]\nconnections = 3\n";
        assert!(accepts(&project_json_schema(), &as_json(text)));
        assert!(!accepts(
            &project_json_schema(),
            &json!({"schema": 1, "matrixes": []})
        ));
        assert!(!accepts(
            &project_json_schema(),
            &json!({"schema": 1, "defaults": {"source": {}}})
        ));
    }

    #[test]
    fn every_key_is_explained() {
        fn unexplained(schema: &Value, path: &str, found: &mut Vec<String>) {
            for (key, inner) in schema["properties"].as_object().into_iter().flatten() {
                let path = format!("{path}.{key}");
                if inner["description"].as_str().is_none_or(str::is_empty) {
                    found.push(path.clone());
                }
                unexplained(inner, &path, found);
                unexplained(&inner["items"], &path, found);
            }
        }
        let mut found = Vec::new();
        unexplained(&matrix(), "", &mut found);
        unexplained(&project(), "", &mut found);
        assert!(found.is_empty(), "{found:?}");
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn what_the_parser_takes_the_schema_takes(text in mutated()) {
            if parse(&text, std::path::Path::new("/m/a.toml"), None).is_ok() {
                prop_assert!(accepts(&json_schema(), &as_json(&text)));
            }
        }
    }
}
