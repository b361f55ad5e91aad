//! Messages with slots: everything but the values of slots is encoded before the run.
//!
//! A call therefore costs only the encoding of its values: its JSON is not parsed again, and nothing is allocated.

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
}

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
    Signed { bits: u32 },
    Unsigned { bits: u32 },
    Zigzag { bits: u32 },
    FixedSigned { bits: u32 },
    FixedUnsigned { bits: u32 },
    Float,
    Double,
    Bool,
    Enum(EnumDescriptor),
    Timestamp,
    Duration,
}

impl MessageTemplate {
    /// Appends the message with its prefix; `scratch` is a buffer for the values.
    pub fn put(&self, context: &SlotContext, scratch: &mut Vec<u8>, out: &mut Vec<u8>) {
        scratch.clear();
        let mut ends = [0; MOST_MARKS];
        self.template.fill_marked(context, scratch, &mut ends);
        let from = out.len();
        out.extend_from_slice(&[0; PREFIX]);
        put(&self.nodes, &MessageValues { bytes: scratch, ends: &ends }, out);
        let size = (out.len() - from - PREFIX) as u32;
        out[from + 1..from + PREFIX].copy_from_slice(&size.to_be_bytes());
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

fn put(nodes: &[MessageNode], values: &MessageValues<'_>, out: &mut Vec<u8>) {
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
                // All values were tried before the run, so this is a fallback.
                if !scalar.put(values.get(*at), out) {
                    scalar.put_nothing(out);
                }
            }
            MessageNode::Message(tag, nodes) => {
                out.extend_from_slice(tag);
                // Most messages are short: one byte is reserved for the length, and the content is moved if it needs
                // more.
                let at = out.len();
                out.push(0);
                put(nodes, values, out);
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
}

impl ScalarEncoding {
    /// Returns the wire type (protobuf, "Message Structure").
    pub fn wire_type(&self) -> u64 {
        match self {
            ScalarEncoding::FixedSigned { bits: 64 }
            | ScalarEncoding::FixedUnsigned { bits: 64 }
            | ScalarEncoding::Double => 1,
            ScalarEncoding::FixedSigned { .. } | ScalarEncoding::FixedUnsigned { .. } | ScalarEncoding::Float => 5,
            ScalarEncoding::Timestamp | ScalarEncoding::Duration => 2,
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
        }
        .is_some()
    }

    /// Appends the encoding of a missing value.
    #[cold]
    fn put_nothing(&self, out: &mut Vec<u8>) {
        match self {
            ScalarEncoding::Timestamp | ScalarEncoding::Duration => out.push(0),
            number => _ = number.put(b"0", out),
        }
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
