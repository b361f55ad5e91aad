//! Encodes messages given as JSON (the canonical mapping of protobuf), before the run.
//!
//! An error names the line, the field and a correct alternative.

use brunt_cause::{Complaint, complaint};
use brunt_contract::UsageError;
use prost_reflect::prost::Message as _;
use prost_reflect::{
    Cardinality, DeserializeOptions, DynamicMessage, FieldDescriptor, Kind, MessageDescriptor, ReflectMessage as _,
    Value,
};
use serde_json::Deserializer;
use serde_path_to_error::{Path, Segment};

use super::message_template::MessageTemplate;
use super::slots;
use super::suggestion::nearest;
use crate::placeholders::Placeholders;

/// A message ready to be sent.
#[derive(Debug)]
pub enum PreparedMessage {
    /// A constant message.
    Fixed(Vec<u8>),
    /// A message with slots.
    Filled(MessageTemplate),
}

/// Encodes the messages of a text: consecutive JSON objects, usually one per line.
///
/// # Errors
/// Fails with the place (`place`, and the line if there are several) and a description.
pub fn messages(
    kind: &MessageDescriptor,
    text: &str,
    place: &str,
    marks: &mut Placeholders,
) -> Result<Vec<PreparedMessage>, UsageError> {
    let mut all = Vec::new();
    let text = &*marks.replace_json_slots(text, place)?;
    let mut values = Deserializer::from_str(text).into_iter::<serde::de::IgnoredAny>();
    let several = text.trim_end().contains('\n');
    let (mut counted, mut before) = (0, 0);
    loop {
        let from = values.byte_offset();
        let from = from + (text[from..].len() - text[from..].trim_start().len());
        before += text[counted..from].bytes().filter(|b| *b == b'\n').count();
        counted = from;
        let at =
            |line: usize| if several { format!("{place} line {}", before + line.max(1)) } else { place.to_owned() };
        match values.next() {
            None => return Ok(all),
            Some(Err(error)) => {
                // The lines of this error are counted over the whole text.
                let at = if several { format!("{place} line {}", error.line().max(1)) } else { place.to_owned() };
                return Err(UsageError::new(
                    at,
                    complaint!(
                        "this is not JSON ({}); write {}",
                        "这不是 JSON（{}）；请写 {}",
                        bare(&error),
                        example(kind)
                    ),
                ));
            }
            Some(Ok(_)) => {
                let value = &text[from..values.byte_offset()];
                if marks.occur_in(value.as_bytes()) {
                    all.push(PreparedMessage::Filled(slots::compiled(kind, value, &at(1), marks)?));
                    continue;
                }
                let encoded = encode(kind, value).map_err(|(line, trouble)| UsageError::new(at(line), trouble))?;
                all.push(PreparedMessage::Fixed(encoded));
            }
        }
    }
}

/// Encodes one message; the error is a line number within it and a description.
pub fn encode(kind: &MessageDescriptor, json: &str) -> Result<Vec<u8>, (usize, Complaint)> {
    let message = read(kind, json)?;
    match missing(&message) {
        None => Ok(message.encode_to_vec()),
        Some(field) => Err((1, complaint!("{field} is required and missing; write it", "缺少必需的 {field}；请写上"))),
    }
}

/// Encodes some of a message's fields; the others are encoded elsewhere.
pub fn encode_part(kind: &MessageDescriptor, json: &str) -> Result<Vec<u8>, (usize, Complaint)> {
    read(kind, json).map(|message| message.encode_to_vec())
}

fn read(kind: &MessageDescriptor, json: &str) -> Result<DynamicMessage, (usize, Complaint)> {
    let mut text = Deserializer::from_str(json);
    let mut track = serde_path_to_error::Track::new();
    let tracked = serde_path_to_error::Deserializer::new(&mut text, &mut track);
    let options = DeserializeOptions::new().deny_unknown_fields(true);
    DynamicMessage::deserialize_with_options(kind.clone(), tracked, &options)
        .map_err(|error| (error.line(), describe_error(kind, &track.path(), &bare(&error))))
}

/// Describes an error together with a correct alternative.
fn describe_error(kind: &MessageDescriptor, path: &Path, said: &str) -> Complaint {
    if let Some(name) = said.strip_prefix("unrecognized field name '").and_then(|s| s.strip_suffix('\'')) {
        // The path ends with the unknown name, if it was reported at all.
        let holder = holder(kind, path, name).unwrap_or_else(|| kind.clone());
        let fields: Vec<String> = holder.fields().map(|f| f.json_name().to_owned()).collect();
        let right = match nearest(name, fields.iter().map(String::as_str)) {
            Some(meant) => complaint!("write \"{meant}\"", "请写“{meant}”"),
            None if fields.is_empty() => Complaint::new("it has none; write {}", "它没有字段；请写 {}"),
            None => complaint!("use one of {}", "可用的有 {}", fields.join(", ")),
        };
        let zh = right.zh();
        return complaint!("{} has no field \"{name}\"; {right}", "{} 没有字段“{name}”；{zh}", holder.full_name());
    }
    let field = path.to_string();
    if field == "." {
        return complaint!(
            "{said}; write {} as a JSON object, such as {}",
            "{said}；请把 {} 写成 JSON 对象，例如 {}",
            kind.full_name(),
            example(kind)
        );
    }
    complaint!("{field} of {}: {said}", "{} 的 {field}：{said}", kind.full_name())
}

/// Returns the message type that a path leads to, ignoring the last name if it is the unknown one.
fn holder(kind: &MessageDescriptor, path: &Path, wrong: &str) -> Option<MessageDescriptor> {
    let mut at = kind.clone();
    for segment in path {
        let Segment::Map { key } = segment else { continue };
        if key == wrong {
            break;
        }
        let found = at.get_field_by_json_name(key).or_else(|| at.get_field_by_name(key));
        // The keys of a map are not fields.
        let Some(field) = found else { continue };
        let inner = match field.kind() {
            Kind::Message(entry) if field.is_map() => entry.map_entry_value_field().kind(),
            other => other,
        };
        if let Kind::Message(inner) = inner {
            at = inner;
        }
    }
    Some(at)
}

/// Returns an error without the position that serde_json appends.
fn bare(error: &serde_json::Error) -> String {
    let text = error.to_string();
    text.rsplit_once(" at line ").map_or(text.clone(), |(said, _)| said.to_owned())
}

/// Returns an example of a message.
fn example(kind: &MessageDescriptor) -> String {
    let field = kind.fields().next();
    let value = |kind: Kind| match kind {
        Kind::String | Kind::Bytes => "\"...\"",
        Kind::Bool => "true",
        Kind::Message(_) => "{}",
        Kind::Enum(_) => "0",
        _ => "1",
    };
    field.map_or_else(
        || "{}".to_owned(),
        |field| {
            let inner = if field.is_map() { "{}" } else { value(field.kind()) };
            let inner = if field.is_list() { format!("[{inner}]") } else { inner.to_owned() };
            format!("{{\"{}\": {inner}}}", field.json_name())
        },
    )
}

/// Returns the first missing field that is required (by proto2 or an edition), with its path: `order.id of shop.Order`.
fn missing(message: &DynamicMessage) -> Option<String> {
    first_missing(message, "")
}

fn first_missing(message: &DynamicMessage, way: &str) -> Option<String> {
    let kind = message.descriptor();
    let needed = |field: &FieldDescriptor| field.cardinality() == Cardinality::Required;
    if let Some(field) = kind.fields().find(|field| needed(field) && !message.has_field(field)) {
        return Some(format!("{way}{} of {}", field.json_name(), kind.full_name()));
    }
    message.fields().find_map(|(field, value)| missing_within(value, &format!("{way}{}.", field.json_name())))
}

fn missing_within(value: &Value, way: &str) -> Option<String> {
    match value {
        Value::Message(message) => first_missing(message, way),
        Value::List(values) => values.iter().find_map(|value| missing_within(value, way)),
        Value::Map(values) => values.values().find_map(|value| missing_within(value, way)),
        _ => None,
    }
}
