//! A message with slots as it is sent: fields that do not change are encoded before the run, of the others all but the value.
//!
//! A call so costs what its values cost: nothing of its JSON is read again, and nothing is allocated.

use prost_reflect::EnumDescriptor;
use prost_reflect::prost::encoding::encode_varint;
use wire::Fill;

use super::framing::PREFIX;
use super::times;
use values::template::{MOST_MARKS, Template};

/// A message with slots.
#[derive(Debug)]
pub struct Filled {
    /// All values, a mark behind each.
    pub template: Template,
    pub nodes: Vec<Node>,
}

/// A piece of a message.
#[derive(Debug)]
pub enum Node {
    /// Fields that do not change.
    Bytes(Box<[u8]>),
    /// A text or bytes: the tag, and which of the values.
    Text(Box<[u8]>, usize),
    /// A number: the tag, which of the values, and how it is written.
    Number(Box<[u8]>, usize, Scalar),
    /// A message within this one.
    Message(Box<[u8]>, Vec<Node>),
}

/// How a number is written, or a message that JSON has as a text.
#[derive(Clone, Debug)]
pub enum Scalar {
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

impl Filled {
    /// Appends the message with its prefix; `scratch` holds the values meanwhile.
    pub fn put(&self, fill: &Fill, scratch: &mut Vec<u8>, out: &mut Vec<u8>) {
        scratch.clear();
        let mut ends = [0; MOST_MARKS];
        self.template.fill_marked(fill, scratch, &mut ends);
        let from = out.len();
        out.extend_from_slice(&[0; PREFIX]);
        put(&self.nodes, &Values { bytes: scratch, ends: &ends }, out);
        let size = (out.len() - from - PREFIX) as u32;
        out[from + 1..from + PREFIX].copy_from_slice(&size.to_be_bytes());
    }
}

/// What the slots of a message stand for.
pub struct Values<'a> {
    pub bytes: &'a [u8],
    pub ends: &'a [usize],
}

impl Values<'_> {
    /// One of them.
    pub fn get(&self, at: usize) -> &[u8] {
        let from = if at == 0 { 0 } else { self.ends[at - 1] };
        &self.bytes[from..self.ends[at]]
    }
}

fn put(nodes: &[Node], values: &Values<'_>, out: &mut Vec<u8>) {
    for node in nodes {
        match node {
            Node::Bytes(bytes) => out.extend_from_slice(bytes),
            Node::Text(tag, at) => {
                let text = values.get(*at);
                out.extend_from_slice(tag);
                encode_varint(text.len() as u64, out);
                out.extend_from_slice(text);
            }
            Node::Number(tag, at, scalar) => {
                out.extend_from_slice(tag);
                // That all values are such was tried before the run.
                if !scalar.put(values.get(*at), out) {
                    scalar.put_nothing(out);
                }
            }
            Node::Message(tag, nodes) => {
                out.extend_from_slice(tag);
                // Most are short: the length takes a byte, and what follows moves where it takes more.
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
                    // The length goes from behind the message to its front.
                    out[at + 1..].rotate_right(digits);
                    out.remove(at);
                }
            }
        }
    }
}

impl Scalar {
    /// Its wire type (protobuf, «Message Structure»).
    pub fn wire_type(&self) -> u64 {
        match self {
            Scalar::FixedSigned { bits: 64 } | Scalar::FixedUnsigned { bits: 64 } | Scalar::Double => 1,
            Scalar::FixedSigned { .. } | Scalar::FixedUnsigned { .. } | Scalar::Float => 5,
            Scalar::Timestamp | Scalar::Duration => 2,
            _ => 0,
        }
    }

    /// Appends the number that a text says; false: it says none that fits, and nothing was appended.
    pub fn put(&self, text: &[u8], out: &mut Vec<u8>) -> bool {
        let Ok(text) = std::str::from_utf8(text) else { return false };
        let signed = |bits: u32| text.parse().ok().filter(|n: &i64| bits == 64 || i32::try_from(*n).is_ok());
        let unsigned = |bits: u32| text.parse().ok().filter(|n: &u64| bits == 64 || u32::try_from(*n).is_ok());
        match self {
            Scalar::Signed { bits } => signed(*bits).map(|n| encode_varint(n as u64, out)),
            Scalar::Unsigned { bits } => unsigned(*bits).map(|n| encode_varint(n, out)),
            Scalar::Zigzag { bits } => signed(*bits).map(|n| encode_varint((n << 1 ^ n >> 63) as u64, out)),
            Scalar::FixedSigned { bits } => signed(*bits).map(|n| fixed(n as u64, *bits, out)),
            Scalar::FixedUnsigned { bits } => unsigned(*bits).map(|n| fixed(n, *bits, out)),
            Scalar::Float => text.parse().ok().map(|n: f32| out.extend_from_slice(&n.to_le_bytes())),
            Scalar::Double => text.parse().ok().map(|n: f64| out.extend_from_slice(&n.to_le_bytes())),
            Scalar::Bool => {
                let known = [("true", 1), ("1", 1), ("false", 0), ("0", 0)];
                known.iter().find(|(name, _)| *name == text).map(|(_, byte)| out.push(*byte))
            }
            Scalar::Enum(names) => {
                let named = names.get_value_by_name(text).map(|value| value.number());
                named.or_else(|| text.parse().ok()).map(|n: i32| encode_varint(i64::from(n) as u64, out))
            }
            Scalar::Timestamp => times::timestamp(text).map(|time| seconds_and_nanos(time, out)),
            Scalar::Duration => times::duration(text).map(|time| seconds_and_nanos(time, out)),
        }
        .is_some()
    }

    /// Appends what stands for a value that is none.
    #[cold]
    fn put_nothing(&self, out: &mut Vec<u8>) {
        match self {
            Scalar::Timestamp | Scalar::Duration => out.push(0),
            number => _ = number.put(b"0", out),
        }
    }
}

/// Appends a `Timestamp` or a `Duration`: its length and its two fields, of which none is sent where it is 0.
fn seconds_and_nanos((seconds, nanos): (i64, i32), out: &mut Vec<u8>) {
    let from = out.len();
    out.push(0);
    for (tag, number) in [(0x08, seconds), (0x10, i64::from(nanos))] {
        if number != 0 {
            out.push(tag);
            encode_varint(number as u64, out);
        }
    }
    // Twice a byte and ten at the most.
    out[from] = (out.len() - from - 1) as u8;
}

fn fixed(number: u64, bits: u32, out: &mut Vec<u8>) {
    out.extend_from_slice(&number.to_le_bytes()[..bits as usize / 8]);
}
