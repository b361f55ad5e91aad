//! Fields that proto2 (or an edition) requires: a server cannot read a message without them.

use prost_reflect::{Cardinality, DynamicMessage, ReflectMessage as _, Value};

/// The first that is not there, with the way to it: `order.id of shop.Order`.
pub fn missing(message: &DynamicMessage) -> Option<String> {
    walk(message, "")
}

fn walk(message: &DynamicMessage, way: &str) -> Option<String> {
    let kind = message.descriptor();
    let needed = |field: &prost_reflect::FieldDescriptor| field.cardinality() == Cardinality::Required;
    if let Some(field) = kind.fields().find(|field| needed(field) && !message.has_field(field)) {
        return Some(format!("{way}{} of {}", field.json_name(), kind.full_name()));
    }
    message.fields().find_map(|(field, value)| within(value, &format!("{way}{}.", field.json_name())))
}

fn within(value: &Value, way: &str) -> Option<String> {
    match value {
        Value::Message(message) => walk(message, way),
        Value::List(values) => values.iter().find_map(|value| within(value, way)),
        Value::Map(values) => values.values().find_map(|value| within(value, way)),
        _ => None,
    }
}
