//! Stateless encoding and decoding of frame headers (RFC 6455 5.2).

use brunt_contract::ProtocolError;

/// A frame that continues a message.
pub const CONTINUATION: u8 = 0;
/// A text message.
pub const TEXT: u8 = 1;
/// A binary message.
pub const BINARY: u8 = 2;
/// The closing handshake.
pub const CLOSE: u8 = 8;
/// A ping, which must be answered.
pub const PING: u8 = 9;
/// The answer to a ping.
pub const PONG: u8 = 10;

/// Maximum length of a header in bytes.
pub const HEAD_BOUND: usize = 14;

/// The sender of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameSender {
    /// The client, which must mask its frames.
    Client,
    /// The server, which must not mask its frames.
    Server,
}

/// A frame header.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FrameHeader {
    /// Set for the last frame of a message.
    pub last: bool,
    /// The first reserved bit: the message is compressed (RFC 7692 6).
    pub deflated: bool,
    /// Opcode, such as [`TEXT`].
    pub kind: u8,
    /// Payload length in bytes.
    pub size: u64,
    /// Masking key, zero if there is none.
    pub key: [u8; 4],
    /// Length of the header in bytes.
    pub head: usize,
}

impl FrameHeader {
    /// Returns `true` for close, ping and pong.
    pub fn is_control(&self) -> bool {
        self.kind & 8 != 0
    }
}

/// Parses a header; returns `None` if it is incomplete. `deflates` is set if permessage-deflate was agreed on.
///
/// # Errors
/// Fails if the header is not a valid WebSocket frame header.
#[inline]
pub fn frame(bytes: &[u8], sender: FrameSender, deflates: bool) -> Result<Option<FrameHeader>, ProtocolError> {
    let [first, second, rest @ ..] = bytes else { return Ok(None) };
    let kind = first & 0x0f;
    let mut frame = FrameHeader { last: first & 0x80 != 0, kind, ..FrameHeader::default() };
    if first & 0x70 != 0 {
        if first & 0x30 != 0 || !deflates || !matches!(kind, TEXT | BINARY) {
            return Err(ProtocolError(brunt_cause::websocket::reserved_bits()));
        }
        frame.deflated = true;
    }
    if second & 0x80 != 0 && sender == FrameSender::Server {
        return Err(ProtocolError(brunt_cause::websocket::masked()));
    }
    if second & 0x80 == 0 && sender == FrameSender::Client {
        return Err(ProtocolError(brunt_cause::websocket::unmasked()));
    }
    let short = second & 0x7f;
    match kind {
        CONTINUATION | TEXT | BINARY => {}
        CLOSE | PING | PONG if !frame.last => {
            return Err(ProtocolError(brunt_cause::websocket::control_in_fragments()));
        }
        CLOSE | PING | PONG if short > 125 => return Err(ProtocolError(brunt_cause::websocket::long_control())),
        CLOSE | PING | PONG => {}
        _ => return Err(ProtocolError(brunt_cause::websocket::unknown_opcode())),
    }
    let (size, used) = match short {
        126 => {
            let Some(size) = rest.first_chunk::<2>() else { return Ok(None) };
            (u64::from(u16::from_be_bytes(*size)), 2)
        }
        127 => {
            let Some(size) = rest.first_chunk::<8>() else { return Ok(None) };
            (u64::from_be_bytes(*size), 8)
        }
        short => (u64::from(short), 0),
    };
    if (used == 2 && size < 126) || (used == 8 && size <= 0xffff) {
        return Err(ProtocolError(brunt_cause::websocket::long_form()));
    }
    if size >> 63 != 0 {
        return Err(ProtocolError(brunt_cause::websocket::out_of_range()));
    }
    (frame.size, frame.head) = (size, 2 + used);
    if sender == FrameSender::Client {
        let Some(key) = rest[used..].first_chunk::<4>() else { return Ok(None) };
        (frame.key, frame.head) = (*key, 6 + used);
    }
    Ok(Some(frame))
}

/// Appends a header for `size` bytes in the shortest form; `first` holds opcode and flags. If `masked`, the caller must
/// append the key.
#[inline]
pub fn put_head(first: u8, size: usize, masked: bool, out: &mut Vec<u8>) {
    let mask = u8::from(masked) << 7;
    match size {
        0..=125 => out.extend_from_slice(&[first, mask | size as u8]),
        126..=0xffff => {
            let size = (size as u16).to_be_bytes();
            out.extend_from_slice(&[first, mask | 126, size[0], size[1]]);
        }
        _ => {
            out.extend_from_slice(&[first, mask | 127]);
            out.extend_from_slice(&(size as u64).to_be_bytes());
        }
    }
}
