//! Packets and the fields in them ("MySQL Source Code Documentation, Client/Server Protocol"), as far as two questions need them.

use std::io::{self, ErrorKind};

use crate::conversation::Conversation;

/// First byte of an OK packet.
pub const OK: u8 = 0x00;
/// First byte of an EOF packet, and of a request for another way of authentication.
pub const END: u8 = 0xfe;
/// First byte of an ERR packet.
pub const ERROR: u8 = 0xff;

/// Something that no server of this kind says.
pub fn invalid(what: &str) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, what.to_owned())
}

fn short() -> io::Error {
    invalid("it does not speak the MySQL protocol: a packet ends too early")
}

/// Packets out of the bytes of a connection.
#[derive(Debug, Default)]
pub struct Packets {
    heard: Vec<u8>,
    read: usize,
}

impl Packets {
    /// The number and the bytes of the next one.
    ///
    /// # Errors
    /// It did not come.
    pub fn next(&mut self, talk: &mut Conversation) -> io::Result<(u8, Vec<u8>)> {
        loop {
            if let Some((number, packet, length)) = first(&self.heard[self.read..]) {
                self.read += length;
                return Ok((number, packet.to_vec()));
            }
            if !talk.more(&mut self.heard)? {
                return Err(ErrorKind::UnexpectedEof.into());
            }
        }
    }
}

/// The first whole packet: its number, its bytes, and its length with the header.
fn first(heard: &[u8]) -> Option<(u8, &[u8], usize)> {
    let (&[a, b, c, number], rest) = heard.split_first_chunk::<4>()?;
    let length = u32::from_le_bytes([a, b, c, 0]) as usize;
    Some((number, rest.get(..length)?, length + 4))
}

/// A packet with its header. None of ours comes near the 16 MiB at which one would be split.
pub fn packet(number: u8, bytes: &[u8]) -> Vec<u8> {
    let [a, b, c, ..] = (bytes.len() as u32).to_le_bytes();
    let mut packet = vec![a, b, c, number];
    packet.extend_from_slice(bytes);
    packet
}

/// Reads fields from the front of a packet.
#[derive(Debug)]
pub struct Fields<'a>(pub &'a [u8]);

impl<'a> Fields<'a> {
    /// The next so many bytes.
    ///
    /// # Errors
    /// The packet is shorter.
    pub fn bytes(&mut self, count: usize) -> io::Result<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count).ok_or_else(short)?;
        self.0 = rest;
        Ok(taken)
    }

    /// One byte.
    ///
    /// # Errors
    /// The packet is at its end.
    pub fn byte(&mut self) -> io::Result<u8> {
        Ok(self.bytes(1)?[0])
    }

    /// Up to a zero byte, which is passed over, or to the end.
    pub fn text(&mut self) -> &'a [u8] {
        let end = self.0.iter().position(|byte| *byte == 0);
        let text = &self.0[..end.unwrap_or(self.0.len())];
        self.0 = &self.0[end.map_or(self.0.len(), |end| end + 1)..];
        text
    }

    /// A length-encoded integer.
    fn integer(&mut self) -> io::Result<u64> {
        let size = match self.byte()? {
            small @ 0..=0xfa => return Ok(small.into()),
            0xfc => 2,
            0xfd => 3,
            0xfe => 8,
            _ => return Err(short()),
        };
        Ok(self.bytes(size)?.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte)))
    }

    /// A text behind its length; NULL is empty.
    fn counted_text(&mut self) -> io::Result<String> {
        if self.0.first() == Some(&0xfb) {
            self.0 = &self.0[1..];
            return Ok(String::new());
        }
        let length = usize::try_from(self.integer()?).map_err(|_| short())?;
        Ok(String::from_utf8_lossy(self.bytes(length)?).into_owned())
    }
}

/// How many columns an answer has.
///
/// # Errors
/// The server refused the question, or answers without rows.
pub fn columns(packet: &[u8]) -> io::Result<u64> {
    fail_on_error(packet)?;
    Fields(packet).integer()
}

/// A name and its value.
///
/// # Errors
/// The packet is no row of two texts.
pub fn pair(packet: &[u8]) -> io::Result<(String, String)> {
    let mut fields = Fields(packet);
    Ok((fields.counted_text()?, fields.counted_text()?))
}

/// True for the packet that ends columns, or rows.
///
/// # Errors
/// The server broke off with an error.
pub fn is_end(packet: &[u8]) -> io::Result<bool> {
    fail_on_error(packet)?;
    Ok(packet.first() == Some(&END) && packet.len() < 9)
}

/// What the server says where it refuses.
///
/// # Errors
/// It does: its number and words.
pub fn fail_on_error(packet: &[u8]) -> io::Result<()> {
    let Some((&ERROR, rest)) = packet.split_first() else { return Ok(()) };
    let mut fields = Fields(rest);
    let code = fields.bytes(2)?;
    let code = u16::from_le_bytes([code[0], code[1]]);
    // `#` and five letters of SQLSTATE, once both sides know each other.
    let said = if fields.0.first() == Some(&b'#') { fields.0.get(6..).unwrap_or_default() } else { fields.0 };
    let said: String = String::from_utf8_lossy(said).chars().take(200).collect();
    Err(invalid(&format!("it responded: {} (error {code})", measure::plain::line(&said))))
}
