//! Length-prefixed messages (gRPC over HTTP/2, "Length-Prefixed-Message"): a flag, four bytes of length, the message.
//!
//! Messages are counted, not kept: five bytes of state are enough for a stream, whatever the size of its messages.

/// Length of a message's prefix in bytes.
pub const PREFIX: usize = 5;

/// The read position in a stream of messages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MessageFraming {
    prefix: [u8; PREFIX],
    /// Number of prefix bytes received.
    have: u8,
    /// Number of message bytes still to come.
    left: u32,
}

/// A message that has just been completed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FramedMessage {
    /// Size on the wire in bytes.
    pub size: u32,
    /// Set if the message is compressed.
    pub compressed: bool,
}

/// An invalid prefix: the flag is neither 0 nor 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InvalidFlag;

impl MessageFraming {
    /// Consumes bytes up to the end of the next message; returns the rest, and the message if it is now complete.
    ///
    /// # Errors
    /// Fails if the bytes are not a message.
    #[inline]
    pub fn feed<'a>(&mut self, bytes: &'a [u8]) -> Result<(&'a [u8], Option<FramedMessage>), InvalidFlag> {
        let mut rest = bytes;
        let have = usize::from(self.have);
        if have < PREFIX {
            let (part, more) = rest.split_at((PREFIX - have).min(rest.len()));
            self.prefix[have..have + part.len()].copy_from_slice(part);
            self.have += part.len() as u8;
            rest = more;
            if self.have > 0 && self.prefix[0] > 1 {
                return Err(InvalidFlag);
            }
            if usize::from(self.have) < PREFIX {
                return Ok((rest, None));
            }
            self.left = self.size();
        }
        let taken = (self.left as usize).min(rest.len());
        self.left -= taken as u32;
        rest = &rest[taken..];
        if self.left > 0 {
            return Ok((rest, None));
        }
        self.have = 0;
        Ok((rest, Some(FramedMessage { size: self.size(), compressed: self.prefix[0] == 1 })))
    }

    /// Returns `true` if no message is incomplete.
    #[inline]
    pub fn is_between(&self) -> bool {
        self.have == 0
    }

    fn size(&self) -> u32 {
        let [_, a, b, c, d] = self.prefix;
        u32::from_be_bytes([a, b, c, d])
    }
}

/// Appends an uncompressed message with its prefix.
pub fn put(message: &[u8], out: &mut Vec<u8>) {
    out.push(0);
    out.extend_from_slice(&(message.len() as u32).to_be_bytes());
    out.extend_from_slice(message);
}

/// Appends a compressed message with its prefix.
pub fn put_compressed(message: &[u8], out: &mut Vec<u8>) {
    let flag = out.len();
    put(message, out);
    out[flag] = 1;
}

/// Returns the whole messages in `bytes`, up to the first compressed one.
pub fn messages(bytes: &[u8]) -> Vec<&[u8]> {
    let mut all = Vec::new();
    let mut rest = bytes;
    while let Some((&[flag, a, b, c, d], behind)) = rest.split_first_chunk::<PREFIX>() {
        let Some((message, more)) = behind.split_at_checked(u32::from_be_bytes([a, b, c, d]) as usize) else { break };
        if flag != 0 {
            break;
        }
        all.push(message);
        rest = more;
    }
    all
}
