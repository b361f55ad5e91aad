//! Bytes and packets: headers, length-encoded integers, and the three generic response packets (OK, EOF, ERR).
//!
//! Stateless. Everything is read from whole packets without a copy; a packet that is shorter than its content requires
//! is rejected. Names follow the protocol's documentation ("MySQL Source Code Documentation, Client/Server Protocol",
//! and "MariaDB Knowledge Base, Client/Server Protocol").

use brunt_contract::ProtocolError;

/// Size of a packet header in bytes: length and sequence number ("Protocol Basics, Packets").
pub const HEADER: usize = 4;

/// Maximum payload of one packet in bytes; a payload of this size continues in the next packet.
pub const WHOLE: usize = 0xff_ffff;

/// First byte of an OK packet.
pub const OK: u8 = 0x00;
/// First byte of a packet that requests a file from the client.
pub const LOCAL_INFILE: u8 = 0xfb;
/// First byte of an EOF packet, and of the OK packet that ends rows.
pub const EOF: u8 = 0xfe;
/// First byte of an ERR packet.
pub const ERR: u8 = 0xff;

/// Status flag: a transaction is open.
pub const IN_TRANSACTION: u16 = 0x0001;
/// Status flag: another result follows.
pub const MORE_RESULTS: u16 = 0x0008;

/// `COM_QUIT`.
pub const COM_QUIT: u8 = 0x01;
/// `COM_QUERY`.
pub const COM_QUERY: u8 = 0x03;
/// `COM_PING`.
pub const COM_PING: u8 = 0x0e;
/// `COM_STMT_PREPARE`.
pub const COM_STMT_PREPARE: u8 = 0x16;
/// `COM_STMT_EXECUTE`.
pub const COM_STMT_EXECUTE: u8 = 0x17;

const SHORT: ProtocolError = ProtocolError(brunt_cause::mysql::short_packet());

/// Returns the payload length from a packet header.
#[inline]
pub fn payload_length(header: &[u8]) -> usize {
    usize::from(header[0]) | usize::from(header[1]) << 8 | usize::from(header[2]) << 16
}

/// A reader of fields from the front of a packet.
#[derive(Clone, Copy, Debug)]
pub struct PacketReader<'a>(pub &'a [u8]);

impl<'a> PacketReader<'a> {
    /// Reads the next `count` bytes.
    ///
    /// # Errors
    /// Returns an error if the packet is shorter.
    #[inline]
    pub fn bytes(&mut self, count: usize) -> Result<&'a [u8], ProtocolError> {
        let (taken, rest) = self.0.split_at_checked(count).ok_or(SHORT)?;
        self.0 = rest;
        Ok(taken)
    }

    /// Reads one byte.
    ///
    /// # Errors
    /// Returns an error at the end of the packet.
    #[inline]
    pub fn byte(&mut self) -> Result<u8, ProtocolError> {
        Ok(self.bytes(1)?[0])
    }

    /// Reads a two-byte little-endian integer.
    ///
    /// # Errors
    /// Returns an error if the packet is shorter.
    #[inline]
    pub fn u16(&mut self) -> Result<u16, ProtocolError> {
        let bytes = self.bytes(2)?;
        Ok(u16::from_le_bytes([bytes[0], bytes[1]]))
    }

    /// Reads a four-byte little-endian integer.
    ///
    /// # Errors
    /// Returns an error if the packet is shorter.
    #[inline]
    pub fn u32(&mut self) -> Result<u32, ProtocolError> {
        let bytes = self.bytes(4)?;
        Ok(u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
    }

    /// Reads a length-encoded integer ("Integer Types").
    ///
    /// # Errors
    /// Returns an error if the packet is shorter, or if the first byte is not valid.
    #[inline]
    pub fn length_encoded(&mut self) -> Result<u64, ProtocolError> {
        let size = match self.byte()? {
            small @ 0..=0xfa => return Ok(small.into()),
            0xfc => 2,
            0xfd => 3,
            0xfe => 8,
            _ => return Err(ProtocolError(brunt_cause::mysql::wrong_integer())),
        };
        Ok(self.bytes(size)?.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte)))
    }

    /// Reads up to a zero byte, which is skipped, or to the end.
    pub fn text(&mut self) -> &'a [u8] {
        let end = memchr::memchr(0, self.0);
        let text = &self.0[..end.unwrap_or(self.0.len())];
        self.0 = &self.0[end.map_or(self.0.len(), |end| end + 1)..];
        text
    }
}

/// Appends a length-encoded integer.
#[inline]
pub fn put_integer(number: usize, out: &mut Vec<u8>) {
    let bytes = (number as u64).to_le_bytes();
    match number {
        0..=0xfa => out.push(bytes[0]),
        0xfb..=0xffff => {
            out.push(0xfc);
            out.extend_from_slice(&bytes[..2]);
        }
        0x1_0000..=0xff_ffff => {
            out.push(0xfd);
            out.extend_from_slice(&bytes[..3]);
        }
        _ => {
            out.push(0xfe);
            out.extend_from_slice(&bytes);
        }
    }
}

/// Appends a packet of less than [`WHOLE`] bytes.
pub fn put_packet(number: u8, payload: &[u8], out: &mut Vec<u8>) {
    let size = (payload.len() as u32).to_le_bytes();
    out.extend_from_slice(&[size[0], size[1], size[2], number]);
    out.extend_from_slice(payload);
}

/// Turns the bytes from `from` on, the first [`HEADER`] of which are reserved, into packets numbered from 0. A payload
/// of [`WHOLE`] bytes or more is split ("Sending More Than 16Mb"). Returns the sequence number expected of the answer.
#[inline]
pub fn close_packet(from: usize, out: &mut Vec<u8>) -> u8 {
    let mut left = out.len() - from - HEADER;
    let (mut at, mut number) = (from, 0_u8);
    loop {
        let size = left.min(WHOLE);
        let bytes = (size as u32).to_le_bytes();
        out[at..at + HEADER].copy_from_slice(&[bytes[0], bytes[1], bytes[2], number]);
        number = number.wrapping_add(1);
        if size < WHOLE {
            return number;
        }
        left -= size;
        at += HEADER + size;
        out.splice(at..at, [0; HEADER]);
    }
}

/// The content of an OK packet ("OK_Packet", with CLIENT_PROTOCOL_41).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OkPacket {
    /// Number of rows changed.
    pub affected: u64,
    /// Status flags.
    pub status: u16,
}

/// Parses an OK packet, or the packet of the same form that ends rows.
///
/// # Errors
/// Returns an error if the packet is too short.
#[inline]
pub fn parse_ok(packet: &[u8]) -> Result<OkPacket, ProtocolError> {
    let mut fields = PacketReader(&packet[1..]);
    let affected = fields.length_encoded()?;
    fields.length_encoded()?;
    Ok(OkPacket { affected, status: fields.u16()? })
}

/// Returns the status flags of an EOF packet ("EOF_Packet", with CLIENT_PROTOCOL_41).
///
/// # Errors
/// Returns an error if the packet is too short.
pub fn parse_eof(packet: &[u8]) -> Result<u16, ProtocolError> {
    let mut fields = PacketReader(&packet[1..]);
    fields.u16()?;
    fields.u16()
}

/// The content of an ERR packet ("ERR_Packet").
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ErrPacket<'a> {
    /// Error number of the server.
    pub code: u16,
    /// SQLSTATE; empty if the server sent none, as before it knows the client.
    pub state: &'a [u8],
    /// Error message.
    pub message: &'a [u8],
}

/// Parses an ERR packet.
///
/// # Errors
/// Returns an error if the packet is too short.
pub fn parse_err(packet: &[u8]) -> Result<ErrPacket<'_>, ProtocolError> {
    let mut fields = PacketReader(&packet[1..]);
    let code = fields.u16()?;
    let state = match fields.0.first() {
        Some(b'#') if fields.0.len() >= 6 => &fields.bytes(6)?[1..],
        _ => &[],
    };
    Ok(ErrPacket { code, state, message: fields.0 })
}

/// Extracts the error number and the message from an excerpt made by `ErrPacket::excerpt`; `None` for any other text.
pub fn parse_excerpt(shown: &[u8]) -> Option<(&[u8], &[u8])> {
    let rest = shown.strip_prefix(b"ERROR ")?;
    let (head, message) = rest.split_at(memchr::memmem::find(rest, b": ")?);
    Some((head.split(|byte| *byte == b' ').next()?, &message[2..]))
}

impl ErrPacket<'_> {
    /// Formats the error like `mysql`, in at most `bound` bytes: `ERROR 1062 (23000): Duplicate entry …`.
    pub fn excerpt(&self, bound: usize) -> Box<[u8]> {
        let mut text = format!("ERROR {}", self.code).into_bytes();
        if !self.state.is_empty() {
            text.extend_from_slice(b" (");
            text.extend_from_slice(self.state);
            text.push(b')');
        }
        text.extend_from_slice(b": ");
        text.extend_from_slice(self.message);
        text.truncate(bound);
        text.into()
    }
}
