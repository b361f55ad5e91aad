//! The JSON Schema of plan files, for editors: `schema.json`, completed with the settings and protocol options.

use brunt_contract::OptionArity;
use serde_json::{Map, Value, json};

use super::keys::{NamedKey, PlanKeys};

/// Returns the schema.
pub fn schema(keys: &PlanKeys) -> Value {
    let mut schema: Value = serde_json::from_str(include_str!("schema.json")).expect("the schema is JSON");
    let parts = schema.as_object_mut().and_then(|schema| schema.remove("parts")).expect("the schema has parts");
    fill(&mut schema, &parts, keys);
    schema
}

/// Replaces each text `=NAME` with the part of that name, and each key `...` with properties.
fn fill(node: &mut Value, parts: &Value, keys: &PlanKeys) {
    if let Some(name) = node.as_str().and_then(|text| text.strip_prefix('=')) {
        *node = parts[name].clone();
    }
    match node {
        Value::Array(items) => items.iter_mut().for_each(|item| fill(item, parts, keys)),
        Value::Object(map) => {
            let which = map.remove("...");
            map.values_mut().for_each(|value| fill(value, parts, keys));
            let more = which.map(|which| properties(which.as_str().unwrap_or_default(), keys));
            for (name, property) in more.into_iter().flatten() {
                map.entry(name).or_insert(property);
            }
        }
        _ => {}
    }
}

fn properties(which: &str, keys: &PlanKeys) -> Map<String, Value> {
    let wanted = |known: &&NamedKey| match which {
        "own" => known.of_one_url,
        "options" => known.option,
        _ => known.is_key,
    };
    let mut all: Map<String, Value> =
        keys.named().filter(wanted).map(|known| (known.name.into(), property(known))).collect();
    if which == "all" {
        all.extend(keys.named().filter_map(|known| Some((known.alias?.to_owned(), property(known)))));
        for name in ["connect-timeout", "connect-rate", "max-connections", "connect-to", "unix-socket"] {
            all.insert(name.replace('-', "_"), all[name].clone());
        }
    }
    all
}

fn property(known: &NamedKey) -> Value {
    let scalar = json!({"type": ["string", "number"]});
    let mut schema = match known.takes {
        OptionArity::Switch => json!({"type": "boolean"}),
        OptionArity::Many(_) => json!({"anyOf": [scalar, {"type": "array", "items": scalar}]}),
        OptionArity::One("TIME") => json!({"type": ["string", "integer"], "examples": ["10s", "500ms", "1m30s"]}),
        OptionArity::One("RATE") => json!({"type": ["string", "number"], "examples": ["500/s", "300/min"]}),
        OptionArity::One(_) => scalar,
    };
    schema["description"] = json!(known.help);
    schema
}
