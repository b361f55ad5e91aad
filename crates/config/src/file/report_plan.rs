//! Conversion to JSON of the parts of a report's plan that have their own format: load, flows and scenarios.

use brunt_plan::yaml::{YamlNode, YamlValue};

use super::reader::PlanFileEntry;

/// Converts a tree to JSON.
pub(super) fn json_of(node: &YamlNode) -> serde_json::Value {
    match &node.value {
        YamlValue::Null => serde_json::Value::Null,
        YamlValue::Text(text) => serde_json::from_str(text).unwrap_or_else(|_| serde_json::Value::String(text.clone())),
        YamlValue::List(items) => items.iter().map(json_of).collect(),
        YamlValue::Map(entries) => entries.iter().map(|(name, _, node)| (name.clone(), json_of(node))).collect(),
    }
}

/// Keys in the flow of a report whose values are JSON numbers or words. All other values are text, even if they look
/// like numbers.
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
pub(super) fn flow(node: &YamlNode) -> serde_json::Value {
    json_part(node, false)
}

fn json_part(node: &YamlNode, no_text: bool) -> serde_json::Value {
    match &node.value {
        YamlValue::List(items) => items.iter().map(|item| json_part(item, no_text)).collect(),
        YamlValue::Map(entries) => {
            let entry = |(name, _, node): &PlanFileEntry| {
                let value = match name.as_str() {
                    "with" => texts(node),
                    name => json_part(node, NO_TEXTS.contains(&name)),
                };
                (name.clone(), value)
            };
            entries.iter().map(entry).collect()
        }
        YamlValue::Text(text) if !no_text => serde_json::Value::String(text.clone()),
        YamlValue::Null | YamlValue::Text(_) => json_of(node),
    }
}

/// Converts a map with arbitrary keys and text values.
fn texts(node: &YamlNode) -> serde_json::Value {
    match &node.value {
        YamlValue::Map(entries) => {
            entries.iter().map(|(name, _, node)| (name.clone(), json_part(node, false))).collect()
        }
        _ => json_of(node),
    }
}

/// Converts the scenarios of a report to JSON; the values in their flows are text, even if they look like numbers.
pub(super) fn scenarios(node: &YamlNode) -> serde_json::Value {
    let one = |node: &YamlNode| {
        let YamlValue::Map(entries) = &node.value else { return json_of(node) };
        let entry = |(name, _, node): &PlanFileEntry| {
            let value = match name.as_str() {
                "flow" | "name" => flow(node),
                _ => json_of(node),
            };
            (name.clone(), value)
        };
        entries.iter().map(entry).collect()
    };
    match &node.value {
        YamlValue::List(items) => items.iter().map(one).collect(),
        _ => json_of(node),
    }
}
