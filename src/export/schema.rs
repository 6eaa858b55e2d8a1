//! JSON Schema of a report as JSON. Pure.

use schemars::generate::SchemaSettings;

use crate::report::Report;

/// Returns the JSON Schema (draft 2020-12) of what `report --format json` writes, pretty-printed.
pub fn report() -> String {
    let settings = SchemaSettings::draft2020_12().for_serialize();
    let schema = settings.into_generator().into_root_schema_for::<Report>();
    format!("{:#}\n", schema.to_value())
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::super::fixture::{forget, story};

    #[test]
    fn a_report_is_what_its_schema_says_and_no_other_form() {
        let schema: Value = serde_json::from_str(&super::report()).unwrap();
        assert!(jsonschema::meta::is_valid(&schema));
        let (_, mut report) = story("1.2.0 \"of\"\nnew");
        for _ in 0..2 {
            let json = report.json().unwrap();
            let written: Value = serde_json::from_str(&json).unwrap();
            let errors = jsonschema::validator_for(&schema).unwrap();
            let errors: Vec<String> = errors
                .iter_errors(&written)
                .map(|error| error.to_string())
                .collect();
            assert!(errors.is_empty(), "{errors:?}");
            forget(&mut report);
        }
        let mut other: Value = serde_json::from_str(&report.json().unwrap()).unwrap();
        other["pairs"][0]["verdict"] = "slower".into();
        assert!(!jsonschema::is_valid(&schema, &other));
    }
}
