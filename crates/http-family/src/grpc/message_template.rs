//! Messages with slots: everything but the values of slots is encoded before the run.
//!
//! A call therefore costs only the encoding of its values: its JSON is not parsed again, and nothing is allocated.

use base64::Engine as _;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use brunt_cause::Cause;
use brunt_contract::SlotContext;
use prost_reflect::EnumDescriptor;
use prost_reflect::prost::encoding::encode_varint;

use super::framing::PREFIX;
use super::times;
use brunt_values::template::{MOST_MARKS, Template};

/// A message with slots.
#[derive(Debug)]
pub struct MessageTemplate {
    /// All values, with a mark after each.
    pub template: Template,
    pub nodes: Vec<MessageNode>,
    /// The fields whose values must be of a type, for error messages.
    pub typed: Vec<TypedSlot>,
}

/// A field whose value must be of a type.
#[derive(Debug)]
pub struct TypedSlot {
    /// Index of the value.
    pub at: usize,
    pub scalar: ScalarEncoding,
    /// Name and type of the field.
    pub field: String,
    pub kind: String,
}

/// Maximum number of characters of a value shown in an error.
const SHOWN: usize = 60;

/// A part of a message.
#[derive(Debug)]
pub enum MessageNode {
    /// Constant fields.
    Bytes(Box<[u8]>),
    /// A string or bytes field: the tag and the index of the value.
    Text(Box<[u8]>, usize),
    /// A numeric field: the tag, the index of the value, and its encoding.
    Number(Box<[u8]>, usize, ScalarEncoding),
    /// A nested message.
    Message(Box<[u8]>, Vec<MessageNode>),
}

/// The encoding of a number, or of a message that is a string in JSON.
#[derive(Clone, Debug)]
pub enum ScalarEncoding {
    Signed {
        bits: u32,
    },
    Unsigned {
        bits: u32,
    },
    Zigzag {
        bits: u32,
    },
    FixedSigned {
        bits: u32,
    },
    FixedUnsigned {
        bits: u32,
    },
    Float,
    Double,
    Bool,
    Enum(EnumDescriptor),
    Timestamp,
    Duration,
    /// Bytes, which are Base64 in JSON.
    Base64,
}

/// Both alphabets and missing padding are accepted, as in protobuf's JSON form.
const BASE64: [GeneralPurpose; 2] = {
    let config = GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent);
    [GeneralPurpose::new(&base64::alphabet::STANDARD, config), GeneralPurpose::new(&base64::alphabet::URL_SAFE, config)]
};

impl MessageTemplate {
    /// Appends the message with its prefix; `scratch` is a buffer for the values.
    ///
    /// # Errors
    /// A value is not of the type of its field; what was appended is then incomplete.
    pub fn put(&self, context: &SlotContext, scratch: &mut Vec<u8>, out: &mut Vec<u8>) -> Result<(), Cause> {
        scratch.clear();
        let mut ends = [0; MOST_MARKS];
        self.template.fill_marked(context, scratch, &mut ends);
        let from = out.len();
        out.extend_from_slice(&[0; PREFIX]);
        let values = MessageValues { bytes: scratch, ends: &ends };
        put(&self.nodes, &values, out).map_err(|at| self.misfit(at, values.get(at)))?;
        let size = (out.len() - from - PREFIX) as u32;
        out[from + 1..from + PREFIX].copy_from_slice(&size.to_be_bytes());
        Ok(())
    }

    /// Returns the cause for a value that is not of the type of its field.
    #[cold]
    fn misfit(&self, at: usize, value: &[u8]) -> Cause {
        let slot = self.typed.iter().find(|slot| slot.at == at);
        let (field, kind) = slot.map_or(("", ""), |slot| (&slot.field, &slot.kind));
        let shown: String = String::from_utf8_lossy(value).chars().take(SHOWN).collect();
        brunt_cause::grpc::misfit(field, kind, brunt_measure::sanitize::line(&shown))
    }
}

/// The values of a message's slots.
pub struct MessageValues<'a> {
    pub bytes: &'a [u8],
    pub ends: &'a [usize],
}

impl MessageValues<'_> {
    /// Returns the value with index `at`.
    pub fn get(&self, at: usize) -> &[u8] {
        let from = if at == 0 { 0 } else { self.ends[at - 1] };
        &self.bytes[from..self.ends[at]]
    }
}

/// Appends the nodes of a message; the error is the index of a value that does not fit.
fn put(nodes: &[MessageNode], values: &MessageValues<'_>, out: &mut Vec<u8>) -> Result<(), usize> {
    for node in nodes {
        match node {
            MessageNode::Bytes(bytes) => out.extend_from_slice(bytes),
            MessageNode::Text(tag, at) => {
                let text = values.get(*at);
                out.extend_from_slice(tag);
                encode_varint(text.len() as u64, out);
                out.extend_from_slice(text);
            }
            MessageNode::Number(tag, at, scalar) => {
                out.extend_from_slice(tag);
                if !scalar.put(values.get(*at), out) {
                    return Err(*at);
                }
            }
            MessageNode::Message(tag, nodes) => {
                out.extend_from_slice(tag);
                // Most messages are short: one byte is reserved for the length, and the content is moved if it needs
                // more.
                let at = out.len();
                out.push(0);
                put(nodes, values, out)?;
                let size = out.len() - at - 1;
                if size < 0x80 {
                    out[at] = size as u8;
                } else {
                    let end = out.len();
                    encode_varint(size as u64, out);
                    let digits = out.len() - end;
                    // The length is moved from the end of the message to its front.
                    out[at + 1..].rotate_right(digits);
                    out.remove(at);
                }
            }
        }
    }
    Ok(())
}

impl ScalarEncoding {
    /// Returns the wire type (protobuf, "Message Structure").
    pub fn wire_type(&self) -> u64 {
        match self {
            ScalarEncoding::FixedSigned { bits: 64 }
            | ScalarEncoding::FixedUnsigned { bits: 64 }
            | ScalarEncoding::Double => 1,
            ScalarEncoding::FixedSigned { .. } | ScalarEncoding::FixedUnsigned { .. } | ScalarEncoding::Float => 5,
            ScalarEncoding::Timestamp | ScalarEncoding::Duration | ScalarEncoding::Base64 => 2,
            _ => 0,
        }
    }

    /// Appends the number given as text; returns `false`, appending nothing, if the text is not a number that fits.
    pub fn put(&self, text: &[u8], out: &mut Vec<u8>) -> bool {
        let Ok(text) = std::str::from_utf8(text) else { return false };
        let signed = |bits: u32| text.parse().ok().filter(|n: &i64| bits == 64 || i32::try_from(*n).is_ok());
        let unsigned = |bits: u32| text.parse().ok().filter(|n: &u64| bits == 64 || u32::try_from(*n).is_ok());
        match self {
            ScalarEncoding::Signed { bits } => signed(*bits).map(|n| encode_varint(n as u64, out)),
            ScalarEncoding::Unsigned { bits } => unsigned(*bits).map(|n| encode_varint(n, out)),
            ScalarEncoding::Zigzag { bits } => signed(*bits).map(|n| encode_varint((n << 1 ^ n >> 63) as u64, out)),
            ScalarEncoding::FixedSigned { bits } => signed(*bits).map(|n| fixed(n as u64, *bits, out)),
            ScalarEncoding::FixedUnsigned { bits } => unsigned(*bits).map(|n| fixed(n, *bits, out)),
            ScalarEncoding::Float => text.parse().ok().map(|n: f32| out.extend_from_slice(&n.to_le_bytes())),
            ScalarEncoding::Double => text.parse().ok().map(|n: f64| out.extend_from_slice(&n.to_le_bytes())),
            ScalarEncoding::Bool => {
                let known = [("true", 1), ("1", 1), ("false", 0), ("0", 0)];
                known.iter().find(|(name, _)| *name == text).map(|(_, byte)| out.push(*byte))
            }
            ScalarEncoding::Enum(names) => {
                let named = names.get_value_by_name(text).map(|value| value.number());
                named.or_else(|| text.parse().ok()).map(|n: i32| encode_varint(i64::from(n) as u64, out))
            }
            ScalarEncoding::Timestamp => times::timestamp(text).map(|time| seconds_and_nanos(time, out)),
            ScalarEncoding::Duration => times::duration(text).map(|time| seconds_and_nanos(time, out)),
            ScalarEncoding::Base64 => BASE64.iter().find_map(|engine| engine.decode(text).ok()).map(|bytes| {
                encode_varint(bytes.len() as u64, out);
                out.extend_from_slice(&bytes);
            }),
        }
        .is_some()
    }
}

/// Appends a `Timestamp` or a `Duration`: its length and its two fields, of which those equal to 0 are left out.
fn seconds_and_nanos((seconds, nanos): (i64, i32), out: &mut Vec<u8>) {
    let from = out.len();
    out.push(0);
    for (tag, number) in [(0x08, seconds), (0x10, i64::from(nanos))] {
        if number != 0 {
            out.push(tag);
            encode_varint(number as u64, out);
        }
    }
    // At most two tags of one byte and two numbers of ten bytes.
    out[from] = (out.len() - from - 1) as u8;
}

fn fixed(number: u64, bits: u32, out: &mut Vec<u8>) {
    out.extend_from_slice(&number.to_le_bytes()[..bits as usize / 8]);
}
