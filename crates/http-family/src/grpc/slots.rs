//! Compiles a JSON message with slots to its template.
//!
//! A slot may be part of a string, or stand alone as a number, a bool or an enum (`{"id": {counter}}`) or as a time
//! (`{"at": "{time iso}"}`). Fields without slots are encoded like those of any other message.

use prost_reflect::prost::encoding::encode_varint;
use prost_reflect::{FieldDescriptor, Kind, MessageDescriptor};
use serde_json::{Map, Value};
use wire::{Complaint, Fill};

use super::filled::{Filled, Node, Scalar, Values};
use super::json;
use crate::marks::Marks;
use values::template::room::TRIAL;
use values::template::{MOST_MARKS, Template};

/// Minimum number of requests tried before the run if numbers are expected; more if the data has more rows.
const TRIALS: u64 = 10_000;

/// Compiles a message in which placeholders stand for slots.
///
/// # Errors
/// Fails if the message is invalid.
pub fn compiled(kind: &MessageDescriptor, json: &str, place: &str, marks: &mut Marks) -> Result<Filled, Complaint> {
    let wrong = |trouble: String| Complaint::new(place, trouble);
    let value: Value = serde_json::from_str(json).map_err(|error| wrong(format!("this is not JSON ({error})")))?;
    let Value::Object(object) = value else {
        return Err(wrong(format!("a slot cannot stand for all of {}; write it as a JSON object", kind.full_name())));
    };
    let mut compiler = Compiler { marks, texts: Vec::new(), numbers: Vec::new() };
    let nodes = compiler.message(kind, object).map_err(wrong)?;
    let Compiler { texts, numbers, .. } = compiler;
    if texts.len() > MOST_MARKS {
        return Err(wrong(format!("more than {MOST_MARKS} fields have slots; use fewer")));
    }
    let pieces: Vec<_> = texts.iter().map(|text| marks.split(text.as_bytes())).collect();
    let mut template = || {
        marks.template(|building| {
            pieces.iter().try_for_each(|pieces| {
                pieces.iter().try_for_each(|piece| building.piece(piece))?;
                building.mark();
                Ok(())
            })
        })
    };
    if !numbers.is_empty() {
        try_numbers(template()?, &numbers).map_err(wrong)?;
    }
    Ok(Filled { template: template()?, nodes })
}

/// # Errors
/// Fails with a value that is not a number where one is expected.
fn try_numbers(template: Template, numbers: &[Number]) -> Result<(), String> {
    let (template, all_rows) = template.rehearsed();
    let (mut bytes, mut ends, mut out) = (Vec::new(), [0; MOST_MARKS], Vec::new());
    let trials = (0..=TRIALS.max(all_rows)).map(|number| Fill {
        number,
        random: number.wrapping_mul(0x9e37_79b9_7f4a_7c15),
        ..TRIAL
    });
    for fill in trials.chain([TRIAL]) {
        bytes.clear();
        template.fill_marked(&fill, &mut bytes, &mut ends);
        let values = Values { bytes: &bytes, ends: &ends };
        for Number { at, scalar, field, kind } in numbers {
            out.clear();
            if !scalar.put(values.get(*at), &mut out) {
                let value = String::from_utf8_lossy(values.get(*at)).into_owned();
                return Err(format!(
                    "{field} is {kind}, but its slot yields \"{value}\"; use a slot that yields such a value"
                ));
            }
        }
    }
    Ok(())
}

/// A field whose values must be numbers.
struct Number {
    at: usize,
    scalar: Scalar,
    field: String,
    kind: String,
}

struct Compiler<'m> {
    marks: &'m mut Marks,
    /// The values of fields with slots.
    texts: Vec<String>,
    numbers: Vec<Number>,
}

impl Compiler<'_> {
    fn varies(&self, value: &Value) -> bool {
        match value {
            Value::String(text) => self.marks.are_in(text.as_bytes()),
            Value::Array(values) => values.iter().any(|value| self.varies(value)),
            Value::Object(object) => {
                object.iter().any(|(name, value)| self.marks.are_in(name.as_bytes()) || self.varies(value))
            }
            _ => false,
        }
    }

    fn message(&mut self, kind: &MessageDescriptor, object: Map<String, Value>) -> Result<Vec<Node>, String> {
        let (varying, fixed): (Vec<_>, Vec<_>) =
            object.into_iter().partition(|(name, value)| self.marks.are_in(name.as_bytes()) || self.varies(value));
        let mut nodes = Vec::new();
        if !fixed.is_empty() {
            nodes.push(encoded(kind, fixed.into_iter().collect())?);
        }
        for (name, value) in varying {
            let known = kind.get_field_by_json_name(&name).or_else(|| kind.get_field_by_name(&name));
            match known {
                Some(field) => self.field(&field, value, &mut nodes)?,
                None if self.marks.are_in(name.as_bytes()) => {
                    return Err(format!("the field name \"{name}\" has a slot; write field names without slots"));
                }
                // The error for an unknown field is that of any other message.
                None => nodes.push(encoded(kind, Map::from_iter([(name, Value::Null)]))?),
            }
        }
        Ok(nodes)
    }

    fn field(&mut self, field: &FieldDescriptor, value: Value, nodes: &mut Vec<Node>) -> Result<(), String> {
        match (field.kind(), value) {
            (Kind::Message(entry), Value::Object(object)) if field.is_map() => {
                let (key, held) = (entry.map_entry_key_field(), entry.map_entry_value_field());
                for (name, value) in object {
                    let mut inner = Vec::new();
                    self.one(&key, Value::String(name), &mut inner)?;
                    self.one(&held, value, &mut inner)?;
                    nodes.push(Node::Message(tag(field, 2), inner));
                }
                Ok(())
            }
            (_, Value::Array(values)) if field.is_list() => {
                values.into_iter().try_for_each(|value| self.one(field, value, nodes))
            }
            (_, _) if field.is_list() || field.is_map() => {
                Err(format!("{} is a list or a map; write slots for its values, not for the whole", field.json_name()))
            }
            (_, value) => self.one(field, value, nodes),
        }
    }

    fn one(&mut self, field: &FieldDescriptor, value: Value, nodes: &mut Vec<Node>) -> Result<(), String> {
        let name = field.json_name();
        if !self.varies(&value) {
            let value = if field.is_list() { Value::Array(vec![value]) } else { value };
            nodes.push(encoded(field.parent_message(), Map::from_iter([(name.to_owned(), value)]))?);
            return Ok(());
        }
        let node = match (field.kind(), value) {
            (Kind::Message(inner), _) if field.is_group() => {
                return Err(format!("{name} is a group ({}), which cannot have slots", inner.full_name()));
            }
            (Kind::Message(inner), value) if is_wrapper(inner.full_name()) => {
                let mut nodes = Vec::new();
                inner.fields().try_for_each(|only| self.one(&only, value.clone(), &mut nodes))?;
                Node::Message(tag(field, 2), nodes)
            }
            (Kind::Message(inner), Value::Object(object)) if !inner.full_name().starts_with("google.protobuf.") => {
                Node::Message(tag(field, 2), self.message(&inner, object)?)
            }
            (Kind::Message(inner), Value::String(text)) if inner.full_name() == "google.protobuf.Timestamp" => {
                let kind = format!("{} (such as {{time iso}} is)", inner.full_name());
                self.number(field, Scalar::Timestamp, kind, text)
            }
            (Kind::Message(inner), Value::String(text)) if inner.full_name() == "google.protobuf.Duration" => {
                self.number(field, Scalar::Duration, format!("{} (such as 1.5s is)", inner.full_name()), text)
            }
            (Kind::Message(inner), _) => {
                let all = inner.full_name();
                return Err(format!("{name} is {all}, and slots do not work inside it; write the value itself"));
            }
            (Kind::String, Value::String(text)) => Node::Text(tag(field, 2), self.text(text)),
            (Kind::Bytes, Value::String(text)) => {
                let bytes = self.bytes(name, &text)?;
                Node::Text(tag(field, 2), self.text(bytes))
            }
            (kind, Value::String(text)) => {
                let Some(scalar) = scalar(&kind) else { return Err(format!("{name} cannot have a slot")) };
                self.number(field, scalar, said(&kind), text)
            }
            (kind, _) => return Err(format!("{name} is {}; write a value, not a list or object", said(&kind))),
        };
        nodes.push(node);
        Ok(())
    }

    /// Adds a value that must be numeric.
    fn number(&mut self, field: &FieldDescriptor, scalar: Scalar, kind: String, text: String) -> Node {
        let (tag, at) = (tag(field, scalar.wire_type()), self.text(text));
        self.numbers.push(Number { at, scalar: scalar.clone(), field: field.json_name().to_owned(), kind });
        Node::Number(tag, at, scalar)
    }

    fn text(&mut self, text: String) -> usize {
        self.texts.push(text);
        self.texts.len() - 1
    }

    /// Bytes are Base64 in JSON: the slot must use that encoding, and the decoded bytes are sent.
    fn bytes(&mut self, name: &str, text: &str) -> Result<String, String> {
        self.marks.without_encoding(text, "base64").ok_or_else(|| {
            format!("{name} is bytes, which JSON has in Base64; write one slot and its encoding, as in {{random 16 bytes | base64}}")
        })
    }
}

fn encoded(kind: &MessageDescriptor, fields: Map<String, Value>) -> Result<Node, String> {
    let json = Value::Object(fields).to_string();
    json::encode_part(kind, &json).map(|bytes| Node::Bytes(bytes.into())).map_err(|(_, trouble)| trouble)
}

fn tag(field: &FieldDescriptor, wire_type: u64) -> Box<[u8]> {
    let mut tag = Vec::new();
    encode_varint(u64::from(field.number()) << 3 | wire_type, &mut tag);
    tag.into()
}

/// Returns `true` for wrapper messages, which are the value of their only field in JSON.
fn is_wrapper(name: &str) -> bool {
    let kinds = ["Double", "Float", "Int64", "UInt64", "Int32", "UInt32", "Bool", "String", "Bytes"];
    let inner = name.strip_prefix("google.protobuf.").and_then(|name| name.strip_suffix("Value"));
    inner.is_some_and(|inner| kinds.contains(&inner))
}

fn scalar(kind: &Kind) -> Option<Scalar> {
    Some(match kind {
        Kind::Int32 => Scalar::Signed { bits: 32 },
        Kind::Int64 => Scalar::Signed { bits: 64 },
        Kind::Uint32 => Scalar::Unsigned { bits: 32 },
        Kind::Uint64 => Scalar::Unsigned { bits: 64 },
        Kind::Sint32 => Scalar::Zigzag { bits: 32 },
        Kind::Sint64 => Scalar::Zigzag { bits: 64 },
        Kind::Sfixed32 => Scalar::FixedSigned { bits: 32 },
        Kind::Sfixed64 => Scalar::FixedSigned { bits: 64 },
        Kind::Fixed32 => Scalar::FixedUnsigned { bits: 32 },
        Kind::Fixed64 => Scalar::FixedUnsigned { bits: 64 },
        Kind::Float => Scalar::Float,
        Kind::Double => Scalar::Double,
        Kind::Bool => Scalar::Bool,
        Kind::Enum(names) => Scalar::Enum(names.clone()),
        _ => return None,
    })
}

/// Returns the name of a field's type in `.proto` files.
fn said(kind: &Kind) -> String {
    match kind {
        Kind::Enum(names) => names.full_name().to_owned(),
        kind => format!("{kind:?}").to_lowercase(),
    }
}
