//! Compiles a JSON message with slots into a template.
//!
//! A slot may be part of a string, or stand alone as a number, a bool or an enum (`{"id": {counter}}`) or as a time
//! (`{"at": "{time iso}"}`). Fields without slots are encoded like those of any other message. Values that are known
//! before the run are tried then; captured ones are checked when they are sent.

use brunt_cause::{Complaint, complaint};
use brunt_contract::{SlotContext, UsageError};
use prost_reflect::prost::encoding::encode_varint;
use prost_reflect::{FieldDescriptor, Kind, MessageDescriptor};
use serde_json::{Map, Value};

use super::json;
use super::message_template::{MessageNode, MessageTemplate, MessageValues, ScalarEncoding, TypedSlot};
use crate::placeholders::Placeholders;
use brunt_values::template::reserved_digits::TRIAL;
use brunt_values::template::{MOST_MARKS, Template};

/// The type of a field of bytes: a slot must have that encoding, or a captured value must be in it.
const BASE64_BYTES: &str = "bytes, which JSON has in Base64";

/// Minimum number of requests for which numeric slots are tried before the run; more are tried if the data has more
/// rows.
const TRIALS: u64 = 10_000;

/// Compiles a message whose slots have been replaced with placeholders.
///
/// # Errors
/// Fails if the message is invalid.
pub fn compiled(
    kind: &MessageDescriptor,
    json: &str,
    place: &str,
    marks: &mut Placeholders,
) -> Result<MessageTemplate, UsageError> {
    let wrong = |trouble: Complaint| UsageError::new(place, trouble);
    let value: Value = serde_json::from_str(json)
        .map_err(|error| wrong(complaint!("this is not JSON ({error})", "这不是 JSON（{error}）")))?;
    let Value::Object(object) = value else {
        return Err(wrong(complaint!(
            "a slot cannot stand for all of {}; write it as a JSON object",
            "占位符不能代表整个 {}；请写成 JSON 对象",
            kind.full_name()
        )));
    };
    let mut compiler = MessageCompiler { marks, texts: Vec::new(), typed: Vec::new() };
    let nodes = compiler.message(kind, object).map_err(wrong)?;
    let MessageCompiler { texts, typed, .. } = compiler;
    if texts.len() > MOST_MARKS {
        return Err(wrong(complaint!(
            "more than {MOST_MARKS} fields have slots; use fewer",
            "含占位符的字段超过 {MOST_MARKS} 个；请减少"
        )));
    }
    let known: Vec<&TypedSlot> = typed.iter().filter(|slot| !marks.hold_variable(texts[slot.at].as_bytes())).collect();
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
    let all = template()?;
    if known.is_empty() {
        return Ok(MessageTemplate { template: all, nodes, typed });
    }
    try_values(all, &known).map_err(wrong)?;
    Ok(MessageTemplate { template: template()?, nodes, typed })
}

/// Tries the slots whose values must be of a type with many values before the run.
///
/// # Errors
/// Returns a description of the first value that is not of its type.
fn try_values(template: Template, slots: &[&TypedSlot]) -> Result<(), Complaint> {
    let (template, all_rows) = template.for_rehearsal();
    let (mut bytes, mut ends, mut out) = (Vec::new(), [0; MOST_MARKS], Vec::new());
    let trials = (0..=TRIALS.max(all_rows)).map(|number| SlotContext {
        number,
        random: number.wrapping_mul(0x9e37_79b9_7f4a_7c15),
        ..TRIAL
    });
    for fill in trials.chain([TRIAL]) {
        bytes.clear();
        template.fill_marked(&fill, &mut bytes, &mut ends);
        let values = MessageValues { bytes: &bytes, ends: &ends };
        for TypedSlot { at, scalar, field, kind } in slots {
            out.clear();
            if !scalar.put(values.get(*at), &mut out) {
                let value = String::from_utf8_lossy(values.get(*at)).into_owned();
                return Err(complaint!(
                    "{field} is {kind}, but its slot yields \"{value}\"; use a slot that yields such a value",
                    "{field} 的类型为 {kind}，而占位符给出“{value}”；请用能给出这种值的占位符"
                ));
            }
        }
    }
    Ok(())
}

struct MessageCompiler<'m> {
    marks: &'m mut Placeholders,
    /// The values of fields with slots.
    texts: Vec<String>,
    typed: Vec<TypedSlot>,
}

impl MessageCompiler<'_> {
    fn varies(&self, value: &Value) -> bool {
        match value {
            Value::String(text) => self.marks.occur_in(text.as_bytes()),
            Value::Array(values) => values.iter().any(|value| self.varies(value)),
            Value::Object(object) => {
                object.iter().any(|(name, value)| self.marks.occur_in(name.as_bytes()) || self.varies(value))
            }
            _ => false,
        }
    }

    fn message(&mut self, kind: &MessageDescriptor, object: Map<String, Value>) -> Result<Vec<MessageNode>, Complaint> {
        let (varying, fixed): (Vec<_>, Vec<_>) =
            object.into_iter().partition(|(name, value)| self.marks.occur_in(name.as_bytes()) || self.varies(value));
        let mut nodes = Vec::new();
        if !fixed.is_empty() {
            nodes.push(encoded(kind, fixed.into_iter().collect())?);
        }
        for (name, value) in varying {
            let known = kind.get_field_by_json_name(&name).or_else(|| kind.get_field_by_name(&name));
            match known {
                Some(field) => self.field(&field, value, &mut nodes)?,
                None if self.marks.occur_in(name.as_bytes()) => {
                    return Err(complaint!(
                        "the field name \"{name}\" has a slot; write field names without slots",
                        "字段名“{name}”含有占位符；字段名中不能写占位符"
                    ));
                }
                // An unknown field gives the same error as in any other message.
                None => nodes.push(encoded(kind, Map::from_iter([(name, Value::Null)]))?),
            }
        }
        Ok(nodes)
    }

    fn field(&mut self, field: &FieldDescriptor, value: Value, nodes: &mut Vec<MessageNode>) -> Result<(), Complaint> {
        match (field.kind(), value) {
            (Kind::Message(entry), Value::Object(object)) if field.is_map() => {
                let (key, held) = (entry.map_entry_key_field(), entry.map_entry_value_field());
                for (name, value) in object {
                    let mut inner = Vec::new();
                    self.single_value(&key, Value::String(name), &mut inner)?;
                    self.single_value(&held, value, &mut inner)?;
                    nodes.push(MessageNode::Message(tag(field, 2), inner));
                }
                Ok(())
            }
            (_, Value::Array(values)) if field.is_list() => {
                values.into_iter().try_for_each(|value| self.single_value(field, value, nodes))
            }
            (_, _) if field.is_list() || field.is_map() => Err(complaint!(
                "{} is a list or a map; write slots for its values, not for the whole",
                "{} 是列表或映射；请为其中的各个值写占位符，而不是整体",
                field.json_name()
            )),
            (_, value) => self.single_value(field, value, nodes),
        }
    }

    fn single_value(
        &mut self,
        field: &FieldDescriptor,
        value: Value,
        nodes: &mut Vec<MessageNode>,
    ) -> Result<(), Complaint> {
        let name = field.json_name();
        if !self.varies(&value) {
            let value = if field.is_list() { Value::Array(vec![value]) } else { value };
            nodes.push(encoded(field.parent_message(), Map::from_iter([(name.to_owned(), value)]))?);
            return Ok(());
        }
        let node = match (field.kind(), value) {
            (Kind::Message(inner), _) if field.is_group() => {
                return Err(complaint!(
                    "{name} is a group ({}), which cannot have slots",
                    "{name} 是 group（{}），不能含有占位符",
                    inner.full_name()
                ));
            }
            (Kind::Message(inner), value) if is_wrapper(inner.full_name()) => {
                let mut nodes = Vec::new();
                inner.fields().try_for_each(|only| self.single_value(&only, value.clone(), &mut nodes))?;
                MessageNode::Message(tag(field, 2), nodes)
            }
            (Kind::Message(inner), Value::Object(object)) if !inner.full_name().starts_with("google.protobuf.") => {
                MessageNode::Message(tag(field, 2), self.message(&inner, object)?)
            }
            (Kind::Message(inner), Value::String(text)) if inner.full_name() == "google.protobuf.Timestamp" => {
                let kind = format!("{} (such as {{time iso}} is)", inner.full_name());
                self.number(field, ScalarEncoding::Timestamp, kind, text)
            }
            (Kind::Message(inner), Value::String(text)) if inner.full_name() == "google.protobuf.Duration" => {
                self.number(field, ScalarEncoding::Duration, format!("{} (such as 1.5s is)", inner.full_name()), text)
            }
            (Kind::Message(inner), _) => {
                let all = inner.full_name();
                return Err(complaint!(
                    "{name} is {all}, and slots do not work inside it; write the value itself",
                    "{name} 的类型为 {all}，其中不能用占位符；请写值本身"
                ));
            }
            (Kind::String, Value::String(text)) => MessageNode::Text(tag(field, 2), self.text(text)),
            (Kind::Bytes, Value::String(text)) => match self.marks.without_encoding(&text, "base64") {
                Some(bytes) => MessageNode::Text(tag(field, 2), self.text(bytes)),
                None if self.marks.hold_variable(text.as_bytes()) => {
                    self.number(field, ScalarEncoding::Base64, BASE64_BYTES.to_owned(), text)
                }
                None => {
                    return Err(complaint!(
                        "{name} is {BASE64_BYTES}; write one slot and its encoding, as in {{random 16 bytes | base64}}",
                        "{name} 的类型为 bytes，在 JSON 中用 Base64 表示；请写一个占位符及其编码，例如 {{random 16 bytes | base64}}"
                    ));
                }
            },
            (kind, Value::String(text)) => {
                let Some(scalar) = scalar(&kind) else {
                    return Err(complaint!("{name} cannot have a slot", "{name} 不能含有占位符"));
                };
                self.number(field, scalar, kind_name(&kind), text)
            }
            (kind, _) => {
                return Err(complaint!(
                    "{name} is {}; write a value, not a list or object",
                    "{name} 的类型为 {}；请写值，而不是列表或对象",
                    kind_name(&kind)
                ));
            }
        };
        nodes.push(node);
        Ok(())
    }

    /// Adds a value that must be of a type.
    fn number(&mut self, field: &FieldDescriptor, scalar: ScalarEncoding, kind: String, text: String) -> MessageNode {
        let (tag, at) = (tag(field, scalar.wire_type()), self.text(text));
        self.typed.push(TypedSlot { at, scalar: scalar.clone(), field: field.json_name().to_owned(), kind });
        MessageNode::Number(tag, at, scalar)
    }

    fn text(&mut self, text: String) -> usize {
        self.texts.push(text);
        self.texts.len() - 1
    }
}

fn encoded(kind: &MessageDescriptor, fields: Map<String, Value>) -> Result<MessageNode, Complaint> {
    let json = Value::Object(fields).to_string();
    json::encode_part(kind, &json).map(|bytes| MessageNode::Bytes(bytes.into())).map_err(|(_, trouble)| trouble)
}

fn tag(field: &FieldDescriptor, wire_type: u64) -> Box<[u8]> {
    let mut tag = Vec::new();
    encode_varint(u64::from(field.number()) << 3 | wire_type, &mut tag);
    tag.into()
}

/// Returns `true` for wrapper messages, which JSON represents by the value of their only field.
fn is_wrapper(name: &str) -> bool {
    let kinds = ["Double", "Float", "Int64", "UInt64", "Int32", "UInt32", "Bool", "String", "Bytes"];
    let inner = name.strip_prefix("google.protobuf.").and_then(|name| name.strip_suffix("Value"));
    inner.is_some_and(|inner| kinds.contains(&inner))
}

fn scalar(kind: &Kind) -> Option<ScalarEncoding> {
    Some(match kind {
        Kind::Int32 => ScalarEncoding::Signed { bits: 32 },
        Kind::Int64 => ScalarEncoding::Signed { bits: 64 },
        Kind::Uint32 => ScalarEncoding::Unsigned { bits: 32 },
        Kind::Uint64 => ScalarEncoding::Unsigned { bits: 64 },
        Kind::Sint32 => ScalarEncoding::Zigzag { bits: 32 },
        Kind::Sint64 => ScalarEncoding::Zigzag { bits: 64 },
        Kind::Sfixed32 => ScalarEncoding::FixedSigned { bits: 32 },
        Kind::Sfixed64 => ScalarEncoding::FixedSigned { bits: 64 },
        Kind::Fixed32 => ScalarEncoding::FixedUnsigned { bits: 32 },
        Kind::Fixed64 => ScalarEncoding::FixedUnsigned { bits: 64 },
        Kind::Float => ScalarEncoding::Float,
        Kind::Double => ScalarEncoding::Double,
        Kind::Bool => ScalarEncoding::Bool,
        Kind::Enum(names) => ScalarEncoding::Enum(names.clone()),
        _ => return None,
    })
}

/// Returns the name of a field's type in `.proto` files.
fn kind_name(kind: &Kind) -> String {
    match kind {
        Kind::Enum(names) => names.full_name().to_owned(),
        kind => format!("{kind:?}").to_lowercase(),
    }
}
