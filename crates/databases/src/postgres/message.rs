//! Message framing of bytes that arrive in pieces of any size.
//!
//! Rows and other messages that are only counted are skipped wherever they are split. A message that is read (an error,
//! the end of a statement) is read in place if it arrives whole; otherwise it is reassembled in a buffer, which is kept
//! from then on.

use brunt_contract::ProtocolError;

use super::codec::{HEAD, READ_BOUND, parse_head};

/// A whole message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BackendMessage<'a> {
    /// Message type.
    pub kind: u8,
    /// Size of the body in bytes.
    pub size: u32,
    /// Body of a message that is read; otherwise empty.
    pub body: &'a [u8],
}

/// The position within the current message.
#[derive(Debug, Default)]
pub struct MessageReader {
    /// Received part of a split message that is read.
    kept: Vec<u8>,
    /// Number of body bytes that have not arrived yet.
    remaining: u32,
    head: [u8; HEAD],
    /// Number of bytes of type and length received.
    head_bytes: u8,
    /// Set if rows and their descriptions are read too.
    pub rows: bool,
}

impl MessageReader {
    /// Returns `true` for messages that are read: errors, authentication, ends of statements and of exchanges.
    fn is_read(&self, kind: u8) -> bool {
        matches!(kind, b'E' | b'R' | b'C' | b'Z') || (self.rows && matches!(kind, b'T' | b'D'))
    }

    /// Returns the size of the body of the current message; 0 if there is none.
    pub fn body_size(&self) -> usize {
        if usize::from(self.head_bytes) < HEAD {
            0
        } else {
            parse_head(&self.head).map_or(0, |head| head.size as usize)
        }
    }

    /// Returns the next whole message of `bytes` from `at` on and advances `at`; `None` once all bytes are consumed.
    ///
    /// # Errors
    /// Returns an error if the bytes are not a valid message.
    #[inline]
    pub fn next<'a>(
        &'a mut self,
        bytes: &'a [u8],
        at: &mut usize,
    ) -> Result<Option<BackendMessage<'a>>, ProtocolError> {
        if usize::from(self.head_bytes) < HEAD {
            let from = usize::from(self.head_bytes);
            let rest = &bytes[*at..];
            let count = rest.len().min(HEAD - from);
            self.head[from..from + count].copy_from_slice(&rest[..count]);
            (self.head_bytes, *at) = ((from + count) as u8, *at + count);
            if from + count < HEAD {
                return Ok(None);
            }
            self.remaining = parse_head(&self.head)?.size;
            if self.is_read(self.head[0]) && self.remaining as usize > READ_BOUND {
                return Err(ProtocolError(brunt_cause::postgres::too_large()));
            }
            self.kept.clear();
        }
        let head = parse_head(&self.head)?;
        let rest = &bytes[*at..];
        let here = rest.len().min(self.remaining as usize);
        let (part, whole) = (&rest[..here], here == self.remaining as usize);
        *at += here;
        self.remaining -= here as u32;
        let in_pieces = here < head.size as usize;
        let is_read = self.is_read(head.kind);
        if is_read && in_pieces {
            self.kept.extend_from_slice(part);
        }
        if !whole {
            return Ok(None);
        }
        self.head_bytes = 0;
        let body = match (is_read, in_pieces) {
            (false, _) => &[][..],
            (true, true) => &self.kept,
            (true, false) => part,
        };
        Ok(Some(BackendMessage { kind: head.kind, size: head.size, body }))
    }
}
