//! Holds a tree against the JSON Schema of its file: unknown keys, wrong types, missing keys, numbers out of range.
//!
//! One definition, the wire types, thus serves the editor and the parser. Whatever is wrong is reported and cut out of
//! the tree, so that everything else can still be checked. Pure.

use std::collections::BTreeMap;

use serde_json::Value as Schema;

use super::diagnostic::{Problem, did_you_mean};
use super::document::{Node, Value};

/// What did not fit.
#[derive(Debug, Clone, Default)]
pub(super) struct Found {
    /// What is wrong.
    pub(super) problems: Vec<Problem>,
    /// Dotted paths of what was cut out: it is wrong, not missing.
    cut: Vec<String>,
}

impl Found {
    /// Adds what was found elsewhere.
    pub(super) fn extend(&mut self, other: Found) {
        self.problems.extend(other.problems);
        self.cut.extend(other.cut);
    }

    /// Returns whether something at or under a dotted path was cut out.
    pub(super) fn has_cut(&self, path: &str) -> bool {
        let inside = |cut: &String| {
            cut.strip_prefix(path)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        };
        self.cut.iter().any(inside)
    }
}

/// Reports everything about `tree` that its schema forbids, and cuts it out. `name` is how the tree is called.
pub(super) fn check(tree: &mut Node, schema: &Schema, name: &str) -> Found {
    let mut checker = Checker {
        root: schema,
        name,
        is_listed: false,
        found: Found::default(),
    };
    if !checker.fits(tree, schema, name) {
        tree.value = Value::Table(BTreeMap::new());
    }
    checker.found
}

struct Checker<'a> {
    root: &'a Schema,
    name: &'a str,
    /// Whether it is one of an array of tables.
    is_listed: bool,
    found: Found,
}

impl Checker<'_> {
    /// Checks a node and what is in it; false if it must be cut out.
    fn fits(&mut self, node: &mut Node, schema: &Schema, path: &str) -> bool {
        let Some(schema) = branch(schema, &node.value) else {
            self.found.problems.push(wrong_type(node, schema, path));
            self.found.cut.push(self.plain(path));
            return false;
        };
        if let Some(problem) = out_of_range(node, schema, path) {
            self.found.problems.push(problem);
            self.found.cut.push(self.plain(path));
            return false;
        }
        match &mut node.value {
            Value::Table(_) => self.table(node, schema, path),
            Value::Array(_) => self.array(node, schema, path),
            Value::String(_)
            | Value::Integer(_)
            | Value::Float(_)
            | Value::Boolean(_)
            | Value::Datetime => {}
        }
        true
    }

    /// Returns a path as it is in a matrix: without the `defaults` that it has in `harness.toml`.
    fn plain(&self, path: &str) -> String {
        let rest = path.strip_prefix(self.name).unwrap_or(path);
        rest.trim_start_matches('.').to_owned()
    }

    fn array(&mut self, node: &mut Node, schema: &Schema, path: &str) {
        let Value::Array(elements) = &mut node.value else {
            return;
        };
        let items = &schema["items"];
        if items["properties"].is_null() {
            elements.retain_mut(|element| self.fits(element, items, path));
            return;
        }
        // Each is held against its own schema, and what is cut out of it is not missing in the matrix itself.
        let mut inner = Checker {
            root: items,
            name: path,
            is_listed: true,
            found: Found::default(),
        };
        elements.retain_mut(|element| inner.fits(element, items, path));
        let cut = inner.found.cut.iter().map(|cut| join(path, cut));
        self.found.cut.extend(cut);
        self.found.problems.extend(inner.found.problems);
    }

    fn table(&mut self, node: &mut Node, schema: &Schema, path: &str) {
        self.missing(node, schema, path);
        let Value::Table(entries) = &mut node.value else {
            return;
        };
        entries.retain(|key, child| {
            let inner = join(path, key);
            let known = schema["properties"].get(key);
            match (known, &schema["additionalProperties"]) {
                (Some(expected), _) => self.fits(child, expected, &inner),
                (None, Schema::Object(_)) => {
                    self.fits(child, &schema["additionalProperties"], &inner)
                }
                (None, _) => {
                    let problem = self.unknown_key(child, key, schema, path);
                    self.found.problems.push(problem);
                    self.found.cut.push(self.plain(&inner));
                    false
                }
            }
        });
    }

    fn missing(&mut self, node: &Node, schema: &Schema, path: &str) {
        for key in needed(schema) {
            if node.find(&[key]).is_none() {
                let description = schema["properties"][key]["description"]
                    .as_str()
                    .unwrap_or_default();
                let problem = Problem::new(
                    node.at_value(),
                    format!("{} needs `{key}`", self.table_name(path)),
                    format!("`{key}` is missing"),
                );
                let description = one_line(description);
                let help = match example(&schema["properties"][key]) {
                    Some(example) => format!("write `{key} = {example}`: {description}"),
                    None => format!("`{key}`: {description}"),
                };
                self.found.problems.push(problem.help(help));
            }
        }
    }

    fn unknown_key(&self, node: &Node, key: &str, schema: &Schema, path: &str) -> Problem {
        let known = keys(schema);
        let homes = self.homes(key);
        let takes = match known.as_slice() {
            [] => format!("{} has no keys", self.table_name(path)),
            known => format!("{} takes {}", self.table_name(path), known.join(", ")),
        };
        let (why, help) = match did_you_mean(key, known.iter().copied()) {
            Some(suggestion) => (suggestion, takes),
            None if homes.is_empty() => ("not a key of this table".to_owned(), takes),
            None => {
                let why = format!("`{key}` is a key of {}", homes.join(" and of "));
                (why, format!("move it there; {takes}"))
            }
        };
        let what = format!("unknown key `{key}` in {}", self.table_name(path));
        Problem::new(node.at_key(), what, why).help(help)
    }

    /// Returns the tables that do have this key: often it only stands under the wrong header.
    fn homes(&self, key: &str) -> Vec<String> {
        fn walk(schema: &Schema, path: &str, key: &str, found: &mut Vec<String>) {
            for (name, inner) in schema["properties"].as_object().into_iter().flatten() {
                if name == key {
                    found.push(path.to_owned());
                }
                walk(inner, &join(path, name), key, found);
            }
        }
        let mut found = Vec::new();
        walk(self.root, self.name, key, &mut found);
        found.iter().map(|path| self.table_name(path)).collect()
    }

    /// Returns how a table is called in messages.
    fn table_name(&self, path: &str) -> String {
        match path {
            "" => "the top level".to_owned(),
            path if self.is_listed && path == self.name => format!("`[[{path}]]`"),
            path => format!("`[{path}]`"),
        }
    }
}

/// Returns the part of the schema that a value of this type is held against.
fn branch<'a>(schema: &'a Schema, value: &Value) -> Option<&'a Schema> {
    if let Some(branches) = schema["anyOf"].as_array() {
        return branches.iter().find_map(|schema| branch(schema, value));
    }
    let expected = match schema["oneOf"].as_array() {
        Some(_) => "string",
        None => schema["type"].as_str().unwrap_or_default(),
    };
    let given = match value {
        Value::String(_) => "string",
        Value::Integer(_) => "integer",
        Value::Float(_) => "number",
        Value::Boolean(_) => "boolean",
        Value::Datetime => "datetime",
        Value::Array(_) => "array",
        Value::Table(_) => "object",
    };
    (given == expected).then_some(schema)
}

fn wrong_type(node: &Node, schema: &Schema, path: &str) -> Problem {
    let (given, literal) = match &node.value {
        Value::String(text) => ("a string", Some(text.clone())),
        Value::Integer(number) => ("a number", number.map(|number| number.to_string())),
        Value::Float(number) => ("a number", Some(number.clone())),
        Value::Boolean(switch) => ("true or false", Some(switch.to_string())),
        Value::Datetime => ("a date", None),
        Value::Array(_) => ("an array", None),
        Value::Table(_) => ("a table", None),
    };
    let what = format!("`{path}` takes {}", describe(schema));
    let problem = Problem::new(node.at_value(), what, format!("this is {given}"));
    match literal.and_then(|literal| other_quotes(&literal, schema)) {
        Some(literal) => problem.help(format!("write {literal}")),
        None if is_table(node) && schema["items"]["properties"].is_object() => {
            problem.help(format!("write `[[{path}]]`"))
        }
        None => problem,
    }
}

fn is_table(node: &Node) -> bool {
    matches!(node.value, Value::Table(_))
}

/// Returns the value as its key wants it, where only quotes or brackets are missing or too many.
fn other_quotes(literal: &str, schema: &Schema) -> Option<String> {
    if schema["anyOf"][0]["type"] == "array" {
        let words: Vec<&str> = literal.split_whitespace().collect();
        return Some(format!("{words:?}, or {{ shell = {literal:?} }}"));
    }
    let text = || schema.get("pattern").is_none();
    match schema["type"].as_str()? {
        "string" => text().then(|| format!("{literal:?}")),
        "integer" => literal.parse::<i64>().ok().map(|number| number.to_string()),
        "boolean" => literal
            .parse::<bool>()
            .ok()
            .map(|switch| switch.to_string()),
        "array" if schema["items"]["type"] == "string" => Some(format!("[{literal:?}]")),
        _ => None,
    }
}

/// Says in words what a schema takes.
fn describe(schema: &Schema) -> String {
    if let Some(branches) = schema["anyOf"].as_array() {
        return branches
            .iter()
            .map(describe)
            .collect::<Vec<_>>()
            .join(" or ");
    }
    if schema["oneOf"].is_array() {
        return format!("one of {}", constants(schema).join(", "));
    }
    match schema["type"].as_str().unwrap_or_default() {
        "string" => match (schema.get("pattern"), example(schema)) {
            (Some(_), Some(example)) => format!("a string such as {example}"),
            _ => "a string".to_owned(),
        },
        "integer" => "a whole number".to_owned(),
        "boolean" => "true or false".to_owned(),
        "array" => format!("an array, each {}", describe(&schema["items"])),
        _ => match (needed(schema).as_slice(), keys(schema).as_slice()) {
            ([], [only]) => format!("{{ {only} = … }}"),
            ([], _) => "a table".to_owned(),
            (needed, _) => format!("{{ {} = … }}", needed.join(" = …, ")),
        },
    }
}

/// Returns the keys that a table must have.
fn needed(schema: &Schema) -> Vec<&str> {
    let required = schema["required"].as_array().into_iter().flatten();
    required.filter_map(Schema::as_str).collect()
}

fn example(schema: &Schema) -> Option<&Schema> {
    schema.get("default").or_else(|| schema["examples"].get(0))
}

fn constants(schema: &Schema) -> Vec<String> {
    let branches = schema["oneOf"].as_array().into_iter().flatten();
    branches.map(|branch| branch["const"].to_string()).collect()
}

fn out_of_range(node: &Node, schema: &Schema, path: &str) -> Option<Problem> {
    let (what, why) = match &node.value {
        Value::Integer(number) => (bounds(*number, schema, path)?, "out of range".to_owned()),
        Value::Array(elements) if elements.is_empty() && schema.get("minItems").is_some() => (
            format!("`{path}` must not be empty"),
            "give at least one".to_owned(),
        ),
        Value::String(text) if schema["oneOf"].is_array() => one_of(text, schema, path)?,
        Value::String(_)
        | Value::Float(_)
        | Value::Boolean(_)
        | Value::Datetime
        | Value::Array(_)
        | Value::Table(_) => return None,
    };
    Some(Problem::new(node.at_value(), what, why))
}

fn bounds(number: Option<i64>, schema: &Schema, path: &str) -> Option<String> {
    let least = schema["minimum"].as_i64().unwrap_or(i64::MIN);
    let most = schema["maximum"].as_i64().unwrap_or(i64::MAX);
    match number {
        Some(number) if (least..=most).contains(&number) => None,
        Some(_) | None if least == most => Some(format!("`{path}` must be {least}")),
        Some(_) | None => Some(format!("`{path}` must be from {least} to {most}")),
    }
}

fn one_of(text: &str, schema: &Schema, path: &str) -> Option<(String, String)> {
    let constants = constants(schema);
    if constants.contains(&Schema::from(text).to_string()) {
        return None;
    }
    let words: Vec<&str> = constants
        .iter()
        .map(|constant| constant.trim_matches('"'))
        .collect();
    let at_its_end = words
        .iter()
        .find(|word| text.to_uppercase().ends_with(**word));
    let why = match (did_you_mean(text, words.iter().copied()), at_its_end) {
        (Some(suggestion), _) => suggestion,
        (None, Some(word)) => format!("write \"{word}\""),
        (None, None) => "none of them".to_owned(),
    };
    Some((format!("`{path}` takes {}", describe(schema)), why))
}

fn keys(schema: &Schema) -> Vec<&str> {
    let properties = schema["properties"].as_object().into_iter().flatten();
    properties.map(|(key, _)| key.as_str()).collect()
}

fn join(path: &str, key: &str) -> String {
    match path {
        "" => key.to_owned(),
        path => format!("{path}.{key}"),
    }
}

fn one_line(description: &str) -> String {
    description.split_whitespace().collect::<Vec<_>>().join(" ")
}
