//! What the plan of a report has in a form of its own, as JSON: its load, its flows and scenarios.

use plan::yaml::{Node, Value};

use super::reader::Entry;

/// The tree as JSON.
pub(super) fn json_of(node: &Node) -> serde_json::Value {
    match &node.value {
        Value::Null => serde_json::Value::Null,
        Value::Text(text) => serde_json::from_str(text).unwrap_or_else(|_| serde_json::Value::String(text.clone())),
        Value::List(items) => items.iter().map(json_of).collect(),
        Value::Map(entries) => entries.iter().map(|(name, _, node)| (name.clone(), json_of(node))).collect(),
    }
}

/// What in the flow of a report is a number or a word of JSON, by its key; all else is text, whatever it looks like.
const NO_TEXTS: [&str; 14] = [
    "url",
    "urls",
    "times",
    "weight",
    "from",
    "to",
    "mean",
    "deviation",
    "pace",
    "at_most",
    "clear_cookies",
    "variable",
    "value",
    "ends",
];

/// A flow of a report as JSON.
pub(super) fn flow(node: &Node) -> serde_json::Value {
    part(node, false)
}

fn part(node: &Node, no_text: bool) -> serde_json::Value {
    match &node.value {
        Value::List(items) => items.iter().map(|item| part(item, no_text)).collect(),
        Value::Map(entries) => {
            let entry = |(name, _, node): &Entry| {
                let value = match name.as_str() {
                    "with" => texts(node),
                    name => part(node, NO_TEXTS.contains(&name)),
                };
                (name.clone(), value)
            };
            entries.iter().map(entry).collect()
        }
        Value::Text(text) if !no_text => serde_json::Value::String(text.clone()),
        Value::Null | Value::Text(_) => json_of(node),
    }
}

/// A map of texts, whatever they are called.
fn texts(node: &Node) -> serde_json::Value {
    match &node.value {
        Value::Map(entries) => entries.iter().map(|(name, _, node)| (name.clone(), part(node, false))).collect(),
        _ => json_of(node),
    }
}

/// The scenarios of a report as JSON: what their flows say is text, whatever it looks like.
pub(super) fn scenarios(node: &Node) -> serde_json::Value {
    let one = |node: &Node| {
        let Value::Map(entries) = &node.value else { return json_of(node) };
        let entry = |(name, _, node): &Entry| {
            let value = match name.as_str() {
                "flow" | "name" => flow(node),
                _ => json_of(node),
            };
            (name.clone(), value)
        };
        entries.iter().map(entry).collect()
    };
    match &node.value {
        Value::List(items) => items.iter().map(one).collect(),
        _ => json_of(node),
    }
}
