//! Encodes messages as frames: once before the run if they are constant, else from a template.
//!
//! Sending a constant message is one copy and one pass that masks it. A message with slots is filled in the output
//! buffer, after room for the longest header, and then moved up to its actual header.

use brunt_contract::SlotContext;

use super::codec::{BINARY, HEAD_BOUND, TEXT, put_head};
use super::deflate::DeflateStreams;
use super::mask::mask;
use brunt_values::side_messages::SideMessage;
use brunt_values::template::{CapturedGroups, Template};

/// A message ready to be sent.
#[derive(Debug)]
pub struct WebSocketMessage {
    body: MessageBody,
    /// First byte of its frame: FIN and opcode.
    first: u8,
    /// The value of the matching field; for a message with slots, it is determined when the slots are filled.
    pub(super) key: u64,
}

#[derive(Debug)]
enum MessageBody {
    /// The whole frame with a zero masking key, and the offset of the payload.
    Fixed { frame: Box<[u8]>, payload_at: usize },
    /// Filled for each message; if `expects` is set, the text expected in the answer follows after a mark.
    Slots { template: Template, expects: bool },
}

/// The values for a message.
#[derive(Clone, Copy, Debug)]
pub struct MessageInput<'a> {
    /// The values of its slots.
    pub context: &'a SlotContext<'a>,
    /// The text captured by a pattern from the message that is replied to.
    pub captured: CapturedGroups<'a>,
}

impl<'a> From<&'a SlotContext<'a>> for MessageInput<'a> {
    fn from(context: &'a SlotContext<'a>) -> MessageInput<'a> {
        MessageInput { context, captured: CapturedGroups::default() }
    }
}

impl SideMessage for WebSocketMessage {
    fn template(&self) -> Option<&Template> {
        match &self.body {
            MessageBody::Slots { template, .. } => Some(template),
            MessageBody::Fixed { .. } => None,
        }
    }
}

impl WebSocketMessage {
    /// Encodes a message.
    pub fn new(template: Template, binary: bool, key: u64) -> WebSocketMessage {
        let first = 0x80 | if binary { BINARY } else { TEXT };
        let body = match template.fixed_bytes() {
            None => MessageBody::Slots { template, expects: false },
            Some(payload) => {
                let mut frame = Vec::with_capacity(payload.len() + HEAD_BOUND);
                put_head(first, payload.len(), true, &mut frame);
                frame.extend_from_slice(&[0; 4]);
                let payload_at = frame.len();
                frame.extend_from_slice(payload);
                MessageBody::Fixed { frame: frame.into_boxed_slice(), payload_at }
            }
        };
        WebSocketMessage { body, first, key }
    }

    /// Creates a message whose answer must contain the text after the template's mark.
    pub fn expecting(template: Template, binary: bool, key: u64) -> WebSocketMessage {
        let first = 0x80 | if binary { BINARY } else { TEXT };
        WebSocketMessage { body: MessageBody::Slots { template, expects: true }, first, key }
    }

    /// Returns the payload with its slots filled.
    pub fn payload(&self, context: &SlotContext) -> Vec<u8> {
        let mut payload = Vec::new();
        self.put_payload(context.into(), &mut payload, |_, _| {});
        payload
    }

    /// Returns the first byte of the message's frame.
    #[cfg(test)]
    pub(super) fn first(&self) -> u8 {
        self.first
    }

    /// Returns `true` if the message has its own expected text.
    pub(super) fn expects(&self) -> bool {
        matches!(self.body, MessageBody::Slots { expects: true, .. })
    }

    /// Returns `true` if the message contains its sequence number on the connection.
    #[inline]
    pub(super) fn is_numbered(&self) -> bool {
        matches!(&self.body, MessageBody::Slots { template, .. } if template.is_numbered())
    }

    /// Returns `true` if the message has slots.
    #[inline]
    pub(super) fn has_slots(&self) -> bool {
        matches!(self.body, MessageBody::Slots { .. })
    }

    /// Returns the number of messages after which the data of the slots is exhausted; `None` if it never is.
    pub(super) fn end(&self) -> Option<u64> {
        match &self.body {
            MessageBody::Slots { template, .. } => template.data_end(),
            MessageBody::Fixed { .. } => None,
        }
    }

    /// Appends the message as a masked frame, compressed if compression was agreed on. `look` receives the payload of a
    /// message with slots, and the text expected in the answer.
    #[inline]
    pub(super) fn write(
        &self,
        filling: MessageInput<'_>,
        deflate: Option<&mut DeflateStreams>,
        key: [u8; 4],
        out: &mut Vec<u8>,
        look: impl FnOnce(&[u8], &[u8]),
    ) {
        let Some(deflate) = deflate else { return self.put(filling, key, out, look) };
        let start = out.len();
        self.put_payload(filling, out, look);
        let packed = deflate.compress(&out[start..]);
        out.truncate(start);
        // RSV1 marks a compressed message (RFC 7692 7.2.1).
        put_frame(self.first | 0x40, packed, key, out);
    }

    /// Appends the payload.
    fn put_payload(&self, filling: MessageInput<'_>, out: &mut Vec<u8>, look: impl FnOnce(&[u8], &[u8])) {
        let start = out.len();
        let mut end = [usize::MAX];
        match &self.body {
            MessageBody::Fixed { frame, payload_at } => return out.extend_from_slice(&frame[*payload_at..]),
            MessageBody::Slots { template, expects: true } => template.fill_marked(filling.context, out, &mut end),
            MessageBody::Slots { template, .. } => template.fill_captured(filling.context, filling.captured, out),
        }
        let end = end[0].min(out.len());
        let (payload, expected) = out[start..].split_at(end - start);
        look(payload, expected);
        out.truncate(end);
    }

    /// Appends the message as a masked frame.
    #[inline]
    fn put(&self, filling: MessageInput<'_>, key: [u8; 4], out: &mut Vec<u8>, look: impl FnOnce(&[u8], &[u8])) {
        let start = out.len();
        let MessageBody::Fixed { frame, payload_at } = &self.body else {
            out.extend_from_slice(&[0; HEAD_BOUND]);
            self.put_payload(filling, out, look);
            return finish_frame(self.first, start, key, out);
        };
        out.extend_from_slice(frame);
        let (head, payload) = out[start..].split_at_mut(*payload_at);
        head[payload_at - 4..].copy_from_slice(&key);
        mask(payload, key, 0);
    }
}

/// Turns a payload that follows room for the longest header into a frame.
fn finish_frame(first: u8, start: usize, key: [u8; 4], out: &mut Vec<u8>) {
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

/// Appends a frame built at run time: a control frame or a compressed message.
pub(super) fn put_frame(first: u8, payload: &[u8], key: [u8; 4], out: &mut Vec<u8>) {
    put_head(first, payload.len(), true, out);
    out.extend_from_slice(&key);
    let start = out.len();
    out.extend_from_slice(payload);
    mask(&mut out[start..], key, 0);
}
