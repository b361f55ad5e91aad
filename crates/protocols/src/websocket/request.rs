//! From a message as asked for to a frame: encoded once before the run where it is the same each time, else from a template.
//!
//! Sending a fixed message is one copy and one pass that masks what was copied. One with slots is filled where it will
//! leave from, behind the longest header, and moved up to its own.

use wire::Fill;

use super::codec::{BINARY, HEAD_BOUND, TEXT, put_head};
use super::mask::mask;
use crate::template::Template;

/// A message ready to send.
#[derive(Debug)]
pub struct Message {
    body: Body,
    /// Its first byte: that it is whole, and its kind.
    first: u8,
    /// The value of the field that answers are matched by; of a message with slots it is known when they are filled.
    pub(super) key: u64,
}

#[derive(Debug)]
enum Body {
    /// The whole frame, with a mask key of zero, and where the payload begins.
    Fixed { frame: Box<[u8]>, payload_at: usize },
    /// Filled for each message.
    Slots(Template),
}

impl Message {
    /// Encodes a message.
    pub fn new(template: Template, binary: bool, key: u64) -> Message {
        let first = 0x80 | if binary { BINARY } else { TEXT };
        let body = match template.is_fixed() {
            None => Body::Slots(template),
            Some(payload) => {
                let mut frame = Vec::with_capacity(payload.len() + HEAD_BOUND);
                put_head(first, payload.len(), true, &mut frame);
                frame.extend_from_slice(&[0; 4]);
                let payload_at = frame.len();
                frame.extend_from_slice(payload);
                Body::Fixed { frame: frame.into_boxed_slice(), payload_at }
            }
        };
        Message { body, first, key }
    }

    /// What it says, slots filled.
    pub fn payload(&self, fill: &Fill) -> Vec<u8> {
        let mut payload = Vec::new();
        self.put_payload(fill, &mut payload);
        payload
    }

    /// Its first byte.
    pub(super) fn first(&self) -> u8 {
        self.first
    }

    /// True where it is filled anew each time.
    #[inline]
    pub(super) fn has_slots(&self) -> bool {
        matches!(self.body, Body::Slots(_))
    }

    /// After how many messages its data is at its end.
    pub(super) fn end(&self) -> Option<u64> {
        match &self.body {
            Body::Slots(template) => template.end(),
            Body::Fixed { .. } => None,
        }
    }

    /// Appends what it says.
    pub(super) fn put_payload(&self, fill: &Fill, out: &mut Vec<u8>) {
        match &self.body {
            Body::Fixed { frame, payload_at } => out.extend_from_slice(&frame[*payload_at..]),
            Body::Slots(template) => template.fill(fill, out),
        }
    }

    /// Appends it as a frame, masked. `look` sees the payload of a message with slots.
    #[inline]
    pub(super) fn put(&self, fill: &Fill, key: [u8; 4], out: &mut Vec<u8>, look: impl FnOnce(&[u8])) {
        let start = out.len();
        let (frame, payload_at) = match &self.body {
            Body::Fixed { frame, payload_at } => (frame, *payload_at),
            Body::Slots(template) => {
                out.extend_from_slice(&[0; HEAD_BOUND]);
                template.fill(fill, out);
                look(&out[start + HEAD_BOUND..]);
                return close_up(self.first, start, key, out);
            }
        };
        out.extend_from_slice(frame);
        let (head, payload) = out[start..].split_at_mut(payload_at);
        head[payload_at - 4..].copy_from_slice(&key);
        mask(payload, key, 0);
    }
}

/// Makes a frame of a payload that lies behind room for the longest header.
fn close_up(first: u8, start: usize, key: [u8; 4], out: &mut Vec<u8>) {
    let size = out.len() - start - HEAD_BOUND;
    let head = match size {
        0..=125 => 6,
        126..=0xffff => 8,
        _ => HEAD_BOUND,
    };
    out.copy_within(start + HEAD_BOUND.., start + head);
    out.truncate(start + head + size);
    mask(&mut out[start + head..], key, 0);
    let (begin, _) = out[start..].split_at_mut(head);
    begin[0] = first;
    match head {
        6 => begin[1] = 0x80 | size as u8,
        8 => {
            begin[1] = 0x80 | 126;
            begin[2..4].copy_from_slice(&(size as u16).to_be_bytes());
        }
        _ => {
            begin[1] = 0x80 | 127;
            begin[2..10].copy_from_slice(&(size as u64).to_be_bytes());
        }
    }
    begin[head - 4..].copy_from_slice(&key);
}

/// Appends a frame made on the way: a control frame, a compressed message.
pub(super) fn put_frame(first: u8, payload: &[u8], key: [u8; 4], out: &mut Vec<u8>) {
    put_head(first, payload.len(), true, out);
    out.extend_from_slice(&key);
    let start = out.len();
    out.extend_from_slice(payload);
    mask(&mut out[start..], key, 0);
}
