//! A TOML file as a tree whose every node knows where it was written, so that files merge and still report. Pure.

use std::collections::BTreeMap;
use std::ops::Range;

use toml::Spanned;
use toml::de::{DeInteger, DeTable, DeValue};

use super::diagnostic::{Origin, Place, Problem};

/// A value and where it was written.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Node {
    /// The file.
    pub(super) origin: Origin,
    /// Bytes of its key; those of the value itself where it has none.
    pub(super) key: Range<usize>,
    /// Bytes of the value; of the header for a table.
    pub(super) span: Range<usize>,
    /// The value.
    pub(super) value: Value,
}

/// What TOML can hold.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Value {
    /// Text.
    String(String),
    /// A whole number; none if it does not fit 64 bits.
    Integer(Option<i64>),
    /// A number with a fraction, as written.
    Float(String),
    /// True or false.
    Boolean(bool),
    /// A date or time.
    Datetime,
    /// An array.
    Array(Vec<Node>),
    /// A table.
    Table(BTreeMap<String, Node>),
}

/// Reads a file; with syntax errors the tree holds what could be read.
pub(super) fn parse(text: &str, origin: Origin) -> (Node, Vec<Problem>) {
    let (table, errors) = DeTable::parse_recoverable(text);
    let root = Node {
        origin,
        key: 0..0,
        span: 0..0,
        value: Value::Table(entries(table.get_ref(), origin)),
    };
    let problems = errors.iter().map(|error| syntax(error, text, origin));
    (root, problems.collect())
}

fn syntax(error: &toml::de::Error, text: &str, origin: Origin) -> Problem {
    let span = error.span().unwrap_or(text.len()..text.len());
    let (what, why) = match error.message().split_once(", ") {
        Some((what, why)) => (what, why.to_owned()),
        None if error.message() == "duplicate key" => {
            ("duplicate key", "given again here".to_owned())
        }
        None => (error.message(), "here".to_owned()),
    };
    Problem::new(
        Place { origin, span },
        format!("not valid TOML: {what}"),
        why,
    )
}

fn entries(table: &DeTable<'_>, origin: Origin) -> BTreeMap<String, Node> {
    let entry = |(key, value): (&Spanned<_>, &Spanned<DeValue<'_>>)| {
        let name: &std::borrow::Cow<'_, str> = key.get_ref();
        (name.to_string(), node(key.span(), value, origin))
    };
    table.iter().map(entry).collect()
}

fn node(key: Range<usize>, value: &Spanned<DeValue<'_>>, origin: Origin) -> Node {
    let element = |value: &Spanned<DeValue<'_>>| node(value.span(), value, origin);
    let inner = match value.get_ref() {
        DeValue::String(text) => Value::String(text.to_string()),
        DeValue::Integer(number) => Value::Integer(integer(number)),
        DeValue::Float(number) => Value::Float(number.as_str().to_owned()),
        DeValue::Boolean(switch) => Value::Boolean(*switch),
        DeValue::Datetime(_) => Value::Datetime,
        DeValue::Array(values) => Value::Array(values.iter().map(element).collect()),
        DeValue::Table(table) => Value::Table(entries(table, origin)),
    };
    Node {
        origin,
        key,
        span: value.span(),
        value: inner,
    }
}

fn integer(number: &DeInteger<'_>) -> Option<i64> {
    i64::from_str_radix(number.as_str(), number.radix()).ok()
}

impl Node {
    /// Returns what lies at a path of keys and array indices.
    pub(super) fn find(&self, path: &[&str]) -> Option<&Node> {
        let Some((first, rest)) = path.split_first() else {
            return Some(self);
        };
        let child = match &self.value {
            Value::Table(entries) => entries.get(*first),
            Value::Array(elements) => elements.get(first.parse::<usize>().ok()?),
            Value::String(_)
            | Value::Integer(_)
            | Value::Float(_)
            | Value::Boolean(_)
            | Value::Datetime => None,
        };
        child?.find(rest)
    }

    /// Returns where its key is written.
    pub(super) fn at_key(&self) -> Place {
        Place {
            origin: self.origin,
            span: self.key.clone(),
        }
    }

    /// Returns where its value is written.
    pub(super) fn at_value(&self) -> Place {
        Place {
            origin: self.origin,
            span: self.span.clone(),
        }
    }

    /// Returns an entry of a table, to be changed.
    pub(super) fn entry(&mut self, key: &str) -> Option<&mut Node> {
        self.entries()?.get_mut(key)
    }

    /// Takes an entry out of a table.
    pub(super) fn take(&mut self, key: &str) -> Option<Node> {
        self.entries()?.remove(key)
    }

    fn entries(&mut self) -> Option<&mut BTreeMap<String, Node>> {
        match &mut self.value {
            Value::Table(entries) => Some(entries),
            Value::String(_)
            | Value::Integer(_)
            | Value::Float(_)
            | Value::Boolean(_)
            | Value::Datetime
            | Value::Array(_) => None,
        }
    }

    /// Returns whether a place lies in what is written here, keys included.
    pub(super) fn holds(&self, place: &Place) -> bool {
        let around =
            |span: &Range<usize>| span.start <= place.span.start && place.span.end <= span.end;
        let own = self.origin == place.origin && (around(&self.key) || around(&self.span));
        own || match &self.value {
            Value::Array(elements) => elements.iter().any(|node| node.holds(place)),
            Value::Table(entries) => entries.values().any(|node| node.holds(place)),
            Value::String(_)
            | Value::Integer(_)
            | Value::Float(_)
            | Value::Boolean(_)
            | Value::Datetime => false,
        }
    }

    /// Returns this tree with `over` laid on it: tables merge by key, everything else is replaced.
    pub(super) fn under(self, over: Node) -> Node {
        match (self.value, over.value) {
            (Value::Table(mut below), Value::Table(above)) => {
                for (key, node) in above {
                    let merged = match below.remove(&key) {
                        Some(lower) => lower.under(node),
                        None => node,
                    };
                    below.insert(key, merged);
                }
                Node {
                    value: Value::Table(below),
                    origin: over.origin,
                    key: over.key,
                    span: over.span,
                }
            }
            (_, value) => Node { value, ..over },
        }
    }

    /// Returns the tree without places, for serde. Floats and dates, which no key takes, become text.
    pub(super) fn to_json(&self) -> serde_json::Value {
        match &self.value {
            Value::String(text) | Value::Float(text) => text.as_str().into(),
            Value::Integer(number) => (*number).into(),
            Value::Boolean(switch) => (*switch).into(),
            Value::Datetime => serde_json::Value::Null,
            Value::Array(elements) => elements.iter().map(Node::to_json).collect(),
            Value::Table(entries) => entries
                .iter()
                .map(|(key, node)| (key.clone(), node.to_json()))
                .collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str, origin: Origin) -> Node {
        let (node, problems) = parse(text, origin);
        assert!(problems.is_empty(), "{problems:?}");
        node
    }

    #[test]
    fn tables_merge_by_key_and_arrays_replace() {
        let below = read(
            "[a]\nx = 1\ny = [1, 2]\n[a.b]\nz = 'old'\n",
            Origin::Defaults,
        );
        let above = read("[a]\ny = [3]\nw = 4\n", Origin::File);
        let expected = serde_json::json!({"a": {"x": 1, "y": [3], "w": 4, "b": {"z": "old"}}});
        let merged = below.under(above);
        assert_eq!(merged.to_json(), expected);
        let origin = |path: &[&str]| merged.find(path).map(|node| node.origin);
        assert_eq!(origin(&["a", "b", "z"]), Some(Origin::Defaults));
        assert_eq!(origin(&["a", "y", "0"]), Some(Origin::File));
    }

    #[test]
    fn a_node_knows_its_bytes() {
        let text = "'é' = 'x'\n[t]\nkey = [true, 0x10]\n";
        let root = read(text, Origin::File);
        let node = root.find(&["t", "key", "1"]).unwrap();
        assert_eq!(&text[node.span.clone()], "0x10");
        assert_eq!(node.value, Value::Integer(Some(16)));
        let key = root.find(&["t", "key"]).unwrap();
        assert_eq!(&text[key.key.clone()], "key");
    }
}
