//! The keys of a matrix as a page to read, made from the schema that editors use. Pure.

use std::fmt::Write as _;

use serde_json::Value;

use super::schema;

const HEAD: &str = "\
# Keys of a matrix

Every key, made from the schema by `harness check --print-schema reference`. [matrix.md](matrix.md) tells how they work together.
";

/// Returns every key of a matrix as Markdown: a section for each table, a row for each of its keys.
pub fn reference() -> String {
    let schema = schema::matrix();
    let mut page = Page {
        top: &schema,
        text: HEAD.to_owned(),
    };
    page.keys("", &schema);
    page.text
}

struct Page<'a> {
    top: &'a Value,
    text: String,
}

impl Page<'_> {
    /// Writes the section of a table, then those of the tables in it.
    fn table(&mut self, name: &str, schema: &Value) {
        let path = name.trim_matches(['[', ']']);
        let _ = write!(self.text, "\n## `{name}`\n\n{}\n", described(schema));
        self.keys(path, schema);
    }

    fn keys(&mut self, path: &str, schema: &Value) {
        self.text
            .push_str("\n| key | value | default | meaning |\n|---|---|---|---|\n");
        let keys = || schema["properties"].as_object().into_iter().flatten();
        for (key, inner) in keys() {
            let value = self.value(key, inner);
            let default = default(schema, key, inner);
            let meaning = described(inner);
            let _ = writeln!(
                self.text,
                "| `{key}` | {} | {} | {} |",
                cell(&value),
                cell(&default),
                cell(&meaning)
            );
        }
        for (key, inner) in keys() {
            if let (Some((open, table, close)), None) = (nested(inner), self.twin(key, inner)) {
                let dot = if path.is_empty() { "" } else { "." };
                self.table(&format!("{open}{path}{dot}{key}{close}"), table);
            }
        }
    }

    /// Returns what a key takes.
    fn value(&self, key: &str, schema: &Value) -> String {
        if let Some(name) = self.twin(key, schema) {
            return format!("a table with keys of `[{name}]`");
        }
        match nested(schema) {
            Some(("[[", ..)) => "tables".to_owned(),
            Some((_, _, ".NAME]")) => "tables by name".to_owned(),
            Some(_) => "a table".to_owned(),
            None => kind(schema),
        }
    }

    /// Returns the top-level table of that name, where one within another table has no keys but its own.
    fn twin<'k>(&self, key: &'k str, schema: &Value) -> Option<&'k str> {
        let own = &self.top["properties"][key];
        let keys = own["properties"].as_object()?;
        let mut inner = schema["properties"].as_object()?.keys();
        let is_another = !std::ptr::eq(own, schema);
        (is_another && inner.all(|name| keys.contains_key(name))).then_some(key)
    }
}

/// Returns a table within a key, with what stands before and behind its name in TOML.
fn nested(schema: &Value) -> Option<(&'static str, &Value, &'static str)> {
    let has_keys = |schema: &&Value| schema["properties"].is_object();
    let alone = Some(schema).filter(has_keys);
    let listed = schema.get("items").filter(has_keys);
    let named = schema.get("additionalProperties").filter(has_keys);
    let alone = alone.map(|table| ("[", table, "]"));
    let listed = listed.map(|table| ("[[", table, "]]"));
    alone
        .or(listed)
        .or_else(|| named.map(|table| ("[", table, ".NAME]")))
}

/// Returns in words what a schema without keys of its own takes.
fn kind(schema: &Value) -> String {
    let each = |branches: &[Value]| branches.iter().map(kind).collect::<Vec<_>>();
    if let Some(value) = schema.get("const") {
        return format!("`{value}`");
    }
    if let Some(branches) = schema["oneOf"].as_array() {
        return each(branches).join(", ");
    }
    if let Some(branches) = schema["anyOf"].as_array() {
        return each(branches).join(" or ");
    }
    let words = match schema["type"].as_str() {
        Some("array") => format!("list of {}", kind(&schema["items"])),
        Some("object") => table(schema),
        Some("integer") => format!("whole number{}", range(schema)),
        Some("number") => format!("number{}", range(schema)),
        Some("boolean") => "`true`, `false`".to_owned(),
        Some(_) | None => "text".to_owned(),
    };
    words + &example(schema)
}

/// Returns a small table as it is written in one line.
fn table(schema: &Value) -> String {
    match schema["properties"].as_object() {
        Some(keys) => {
            let keys: Vec<String> = keys.keys().map(|key| format!("{key} = …")).collect();
            format!("`{{ {} }}`", keys.join(", "))
        }
        None => format!("{} by name", kind(&schema["additionalProperties"])),
    }
}

fn range(schema: &Value) -> String {
    match (schema.get("minimum"), schema.get("maximum")) {
        (Some(least), Some(most)) => format!(", {least} to {most}"),
        (Some(least), None) => format!(", at least {least}"),
        (None, Some(most)) => format!(", at most {most}"),
        (None, None) => String::new(),
    }
}

fn example(schema: &Value) -> String {
    let first = schema["examples"].get(0);
    first.map_or_else(String::new, |first| format!(", such as `{first}`"))
}

/// Returns what holds where a key is left out.
fn default(table: &Value, key: &str, schema: &Value) -> String {
    let required = table["required"].as_array();
    if required.is_some_and(|names| names.iter().any(|name| name == key)) {
        return "required".to_owned();
    }
    match schema.get("default") {
        None => String::new(),
        Some(default) => format!("`{default}`"),
    }
}

fn described(schema: &Value) -> String {
    let description = schema["description"].as_str().unwrap_or_default();
    description.replace('\n', " ")
}

/// Returns text that does not end an entry of a table.
fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_table_has_a_section_and_every_key_a_row() {
        let page = reference();
        for line in [
            "## `[source.npm]`",
            "## `[[override]]`",
            "## `[axes.NAME]`",
            "| `schema` | whole number, 1 to 4, such as `4` | required |",
            "| `keep_alive` | `true`, `false` | `true` |",
            "| `design` | `\"race\"`, `\"slices\"`, `\"solo\"` | `\"race\"` |",
            "| `build` | a table with keys of `[build]` |",
        ] {
            assert!(page.contains(line), "{line}\n{page}");
        }
    }

    #[test]
    fn every_row_has_four_entries() {
        for line in reference().lines().filter(|line| line.starts_with('|')) {
            let bars = line.matches('|').count() - line.matches("\\|").count();
            assert_eq!(bars, 5, "{line}");
        }
    }
}
