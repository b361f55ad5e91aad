//! The parts of a report's plan with a form of their own, as JSON: load, flows and scenarios.

use plan::yaml::{Node, Value};

use super::reader::Entry;

/// Converts a tree to JSON.
pub(super) fn json_of(node: &Node) -> serde_json::Value {
    match &node.value {
        Value::Null => serde_json::Value::Null,
        Value::Text(text) => serde_json::from_str(text).unwrap_or_else(|_| serde_json::Value::String(text.clone())),
        Value::List(items) => items.iter().map(json_of).collect(),
        Value::Map(entries) => entries.iter().map(|(name, _, node)| (name.clone(), json_of(node))).collect(),
    }
}

/// Keys in the flow of a report whose values are JSON numbers or words; all others are text, whatever they look like.
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

/// Converts the flow of a report to JSON.
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

/// Converts a map of texts, whatever its keys.
fn texts(node: &Node) -> serde_json::Value {
    match &node.value {
        Value::Map(entries) => entries.iter().map(|(name, _, node)| (name.clone(), part(node, false))).collect(),
        _ => json_of(node),
    }
}

/// Converts the scenarios of a report to JSON: the values in their flows are text, whatever they look like.
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
