//! Messages out of bytes that arrive in pieces of any size.
//!
//! Rows and what else is only counted is passed over wherever it is cut. A message that is read (an error, what ends a
//! statement) is read where it lies when it arrives whole; otherwise it is put together in a buffer that exists from then on.

use wire::Broken;

use super::codec::{HEAD, READ_BOUND, head};

/// A whole message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message<'a> {
    /// Its type.
    pub kind: u8,
    /// Bytes of its body.
    pub size: u32,
    /// The body, of messages that are read.
    pub body: &'a [u8],
}

/// Where in a message we are.
#[derive(Debug, Default)]
pub struct Reader {
    /// What came of a message that is read and came in pieces.
    kept: Vec<u8>,
    /// Bytes of the body to come.
    left: u32,
    head: [u8; HEAD],
    /// Bytes of type and length that are here.
    have: u8,
    /// Rows and what describes them are read too.
    pub rows: bool,
}

impl Reader {
    /// Messages that are read: errors, authentication, ends of statements and of exchanges.
    fn is_read(&self, kind: u8) -> bool {
        matches!(kind, b'E' | b'R' | b'C' | b'Z') || (self.rows && matches!(kind, b'T' | b'D'))
    }

    /// Bytes of the body of the message under way, those that came and those that will; 0 where none is.
    pub fn under_way(&self) -> usize {
        if usize::from(self.have) < HEAD { 0 } else { head(&self.head).map_or(0, |head| head.size as usize) }
    }

    /// The next whole message of `bytes` from `at` on, which moves behind it; None once all of them were taken.
    ///
    /// # Errors
    /// What comes is no message.
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
