//! The state of an incoming message that did not arrive whole: fragments, control frames between them, pieces of both.
//!
//! The state exists only while there is such a message. The content is kept only if it has to be examined; otherwise it
//! is counted and, if it is text, validated as it arrives.

use brunt_contract::ProtocolError;

use super::codec::{BINARY, CONTINUATION, FrameHeader, FrameSender, HEAD_BOUND, TEXT, frame};
use super::deflate::DeflateStreams;
use super::utf8::Utf8Validator;
use brunt_values::budget::{BudgetedBuffer, MemoryBudget, NO_ROOM};

/// Maximum size of a message that is not examined, in bytes.
pub const MESSAGE_BOUND: u64 = 1 << 30;
/// Maximum size of a message that is kept whole to be examined, in bytes.
pub const KEPT_BOUND: u64 = 16 << 20;

/// The error for text that is not UTF-8.
pub const NO_TEXT: ProtocolError = ProtocolError(brunt_cause::websocket::not_text());

/// The frame and message being received.
#[derive(Debug, Default)]
pub struct IncomingFrames {
    /// An incomplete header.
    head: [u8; HEAD_BOUND],
    have: usize,
    /// The frame whose payload is being received.
    frame: Option<FrameHeader>,
    /// Payload bytes still to come.
    left: u64,
    /// The payload of a control frame.
    pub control: Vec<u8>,
    /// The message that data frames belong to.
    pub part: Option<PartialMessage>,
}

/// A partial message.
#[derive(Debug, Default)]
pub struct PartialMessage {
    /// Set if the message is compressed.
    pub deflated: bool,
    /// Set once the first byte was reported.
    pub first_byte_reported: bool,
    /// Size so far in bytes, decompressed.
    pub size: u64,
    /// Content of the message, if it is kept.
    pub kept: BudgetedBuffer,
    text: Option<Utf8Validator>,
}

impl PartialMessage {
    /// Returns the opcode: text or binary.
    pub fn kind(&self) -> u8 {
        if self.text.is_some() { TEXT } else { BINARY }
    }

    /// Adds content, and keeps it within the budget if there is one.
    ///
    /// # Errors
    /// Fails for text that is not UTF-8, or if the message is too large.
    pub fn add(&mut self, content: &[u8], keep: Option<&MemoryBudget>) -> Result<(), ProtocolError> {
        self.size += content.len() as u64;
        if self.size > MESSAGE_BOUND {
            return Err(ProtocolError(brunt_cause::websocket::long_message()));
        }
        if let Some(budget) = keep {
            if self.size > KEPT_BOUND {
                return Err(ProtocolError(brunt_cause::websocket::long_for_checks()));
            }
            if !self.kept.extend(content, budget) {
                return Err(ProtocolError(NO_ROOM));
            }
        }
        let good = self.text.as_mut().is_none_or(|text| text.feed(content));
        if good { Ok(()) } else { Err(NO_TEXT) }
    }

    /// Finishes the message.
    ///
    /// # Errors
    /// Fails for text that ends within a character.
    pub fn end(&self) -> Result<(), ProtocolError> {
        if self.text.is_some_and(|text| !text.is_whole()) { Err(NO_TEXT) } else { Ok(()) }
    }
}

impl IncomingFrames {
    /// Returns `true` if nothing is being received.
    pub fn is_idle(&self) -> bool {
        self.have == 0 && self.frame.is_none() && self.part.is_none()
    }

    /// Returns the current frame, reading its header from `bytes` first if needed; `at` advances beyond the bytes read.
    /// Returns `None` if the header is incomplete.
    ///
    /// # Errors
    /// Fails if the header is not valid in WebSocket.
    pub fn frame(
        &mut self,
        bytes: &[u8],
        at: &mut usize,
        sender: FrameSender,
        deflates: bool,
    ) -> Result<Option<FrameHeader>, ProtocolError> {
        if let Some(frame) = self.frame {
            return Ok(Some(frame));
        }
        let before = self.have;
        let n = (HEAD_BOUND - before).min(bytes.len() - *at);
        self.head[before..before + n].copy_from_slice(&bytes[*at..*at + n]);
        let Some(begun) = frame(&self.head[..before + n], sender, deflates)? else {
            self.have += n;
            *at += n;
            return Ok(None);
        };
        *at += begun.head - before;
        (self.have, self.left, self.frame) = (0, begun.size, Some(begun));
        if begun.is_control() {
            self.control.clear();
        } else {
            self.begin_or_continue(&begun)?;
        }
        Ok(Some(begun))
    }

    /// Checks that a data frame begins or continues a message (RFC 6455 5.4).
    fn begin_or_continue(&mut self, frame: &FrameHeader) -> Result<(), ProtocolError> {
        match (frame.kind == CONTINUATION, &self.part) {
            (true, None) => Err(ProtocolError(brunt_cause::websocket::lone_fragment())),
            (false, Some(_)) => Err(ProtocolError(brunt_cause::websocket::message_within())),
            (true, Some(_)) => Ok(()),
            (false, None) => {
                let text = (frame.kind == TEXT).then(Utf8Validator::default);
                self.part = Some(PartialMessage { deflated: frame.deflated, text, ..PartialMessage::default() });
                Ok(())
            }
        }
    }

    /// Returns the next bytes of the frame's payload and whether they complete it; `at` advances beyond them.
    pub fn payload<'a>(&mut self, bytes: &'a [u8], at: &mut usize) -> (&'a [u8], bool) {
        let rest = &bytes[*at..];
        let n = usize::try_from(self.left).unwrap_or(usize::MAX).min(rest.len());
        self.left -= n as u64;
        *at += n;
        if self.left == 0 {
            self.frame = None;
        }
        (&rest[..n], self.left == 0)
    }
}

/// Adds a piece to a [`PartialMessage`], decompressed if needed.
pub fn unpack(
    deflate: Option<&mut DeflateStreams>,
    part: &mut PartialMessage,
    piece: &[u8],
    whole: bool,
    keep: Option<&MemoryBudget>,
) -> Result<(), ProtocolError> {
    match deflate.filter(|_| part.deflated) {
        None => part.add(piece, keep),
        Some(deflate) => {
            let mut take = |plain: &[u8]| part.add(plain, keep);
            deflate.decompress(piece, &mut take)?;
            if whole { deflate.finish_message(&mut take) } else { Ok(()) }
        }
    }
}
