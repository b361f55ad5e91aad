//! Message framing of bytes that arrive in pieces of any size.
//!
//! Rows and other messages that are only counted are skipped wherever they are split. A message that is read (an error,
//! the end of a statement) is read in place if it arrives whole; otherwise it is reassembled in a buffer that is kept
//! from then on.

use wire::Broken;

use super::codec::{HEAD, READ_BOUND, head};

/// A whole message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message<'a> {
    /// Message type.
    pub kind: u8,
    /// Size of the body in bytes.
    pub size: u32,
    /// Body of a message that is read; otherwise empty.
    pub body: &'a [u8],
}

/// The position within the current message.
#[derive(Debug, Default)]
pub struct Reader {
    /// Received part of a split message that is read.
    kept: Vec<u8>,
    /// Number of body bytes still to come.
    left: u32,
    head: [u8; HEAD],
    /// Number of bytes of type and length received.
    have: u8,
    /// Set if rows and their descriptions are read too.
    pub rows: bool,
}

impl Reader {
    /// Returns `true` for messages that are read: errors, authentication, ends of statements and of exchanges.
    fn is_read(&self, kind: u8) -> bool {
        matches!(kind, b'E' | b'R' | b'C' | b'Z') || (self.rows && matches!(kind, b'T' | b'D'))
    }

    /// Returns the size of the body of the current message; 0 if there is none.
    pub fn under_way(&self) -> usize {
        if usize::from(self.have) < HEAD { 0 } else { head(&self.head).map_or(0, |head| head.size as usize) }
    }

    /// Returns the next whole message of `bytes` from `at` on and advances `at`; `None` once all bytes are consumed.
    ///
    /// # Errors
    /// The bytes are not a valid message.
    #[inline]
    pub fn next<'a>(&'a mut self, bytes: &'a [u8], at: &mut usize) -> Result<Option<Message<'a>>, Broken> {
        if usize::from(self.have) < HEAD {
            let from = usize::from(self.have);
            let rest = &bytes[*at..];
            let count = rest.len().min(HEAD - from);
            self.head[from..from + count].copy_from_slice(&rest[..count]);
            (self.have, *at) = ((from + count) as u8, *at + count);
            if from + count < HEAD {
                return Ok(None);
            }
            self.left = head(&self.head)?.size;
            if self.is_read(self.head[0]) && self.left as usize > READ_BOUND {
                return Err(Broken(cause::postgres::too_large()));
            }
            self.kept.clear();
        }
        let head = head(&self.head)?;
        let rest = &bytes[*at..];
        let here = rest.len().min(self.left as usize);
        let (part, whole) = (&rest[..here], here == self.left as usize);
        *at += here;
        self.left -= here as u32;
        let in_pieces = here < head.size as usize;
        let is_read = self.is_read(head.kind);
        if is_read && in_pieces {
            self.kept.extend_from_slice(part);
        }
        if !whole {
            return Ok(None);
        }
        self.have = 0;
        let body = match (is_read, in_pieces) {
            (false, _) => &[][..],
            (true, true) => &self.kept,
            (true, false) => part,
        };
        Ok(Some(Message { kind: head.kind, size: head.size, body }))
    }
}
