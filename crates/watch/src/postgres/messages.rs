//! Messages of PostgreSQL's protocol 3.0 ("Frontend/Backend Protocol"), as far as a few questions need them.

use std::io::{self, ErrorKind};

use crate::conversation::Conversation;

/// The version of the protocol, at the start of a connection.
const VERSION: u32 = 3 << 16;

/// Something that no server of this kind says.
pub fn invalid(what: &str) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, what.to_owned())
}

pub fn strange() -> io::Error {
    invalid("it does not speak the PostgreSQL protocol")
}

/// A connection, and what it said that was not read yet.
#[derive(Debug)]
pub struct Talk {
    conversation: Conversation,
    heard: Vec<u8>,
}

impl Talk {
    pub fn new(conversation: Conversation) -> Talk {
        Talk { conversation, heard: Vec::new() }
    }

    /// Says something; the time for its answer begins.
    pub fn say(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.conversation.say(bytes)
    }

    /// Type and body of the next message; what the server tells anybody at any time is passed over.
    ///
    /// # Errors
    /// It did not come in time, or is none.
    pub fn next(&mut self) -> io::Result<(u8, Vec<u8>)> {
        loop {
            if let Some((kind, body, length)) = first(&self.heard)? {
                let message = (kind, body.to_vec());
                self.heard.drain(..length);
                // Settings, notices and notifications.
                if !matches!(kind, b'S' | b'N' | b'A') {
                    return Ok(message);
                }
            } else if !self.conversation.more(&mut self.heard)? {
                return Err(ErrorKind::UnexpectedEof.into());
            }
        }
    }
}

/// The first whole message: its type, its body, and its length with both; None: not whole yet.
///
/// # Errors
/// It is none: what speaks other protocols is found by its first bytes, before it is waited for.
pub fn first(heard: &[u8]) -> io::Result<Option<(u8, &[u8], usize)>> {
    let Some((&[kind, a, b, c, d], rest)) = heard.split_first_chunk::<5>() else { return Ok(None) };
    let length = u32::from_be_bytes([a, b, c, d]) as usize;
    if !kind.is_ascii_alphanumeric() || !(4..=1 << 24).contains(&length) {
        return Err(strange());
    }
    Ok(rest.get(..length - 4).map(|body| (kind, body, length + 1)))
}

/// A message of ours.
pub fn message(kind: u8, body: &[u8]) -> Vec<u8> {
    let mut message = vec![kind];
    message.extend_from_slice(&(body.len() as u32 + 4).to_be_bytes());
    message.extend_from_slice(body);
    message
}

/// "StartupMessage": who asks for which database.
pub fn startup(user: &[u8], database: &[u8]) -> Vec<u8> {
    let mut body = VERSION.to_be_bytes().to_vec();
    for (name, value) in [
        (&b"user"[..], user),
        (b"database", database),
        (b"application_name", b"brunt --watch"),
        (b"client_encoding", b"UTF8"),
    ] {
        for text in [name, value] {
            body.extend_from_slice(text);
            body.push(0);
        }
    }
    body.push(0);
    // It has no type.
    message(0, &body).split_off(1)
}

/// What the server says in an "ErrorResponse": its words and its code.
pub fn refusal(body: &[u8]) -> String {
    let field = |name: u8| {
        let text = body.split(|byte| *byte == 0).find_map(|field| field.strip_prefix(&[name]))?;
        let text: String = String::from_utf8_lossy(text).chars().take(200).collect();
        Some(measure::plain::line(&text).into_owned())
    };
    let said = field(b'M').unwrap_or_else(|| "an error without a message".to_owned());
    format!("it responded: {said} (error {})", field(b'C').unwrap_or_else(|| "without a code".to_owned()))
}

/// The texts of a "DataRow"; None for NULL.
///
/// # Errors
/// It is none.
pub fn row(body: &[u8]) -> io::Result<Vec<Option<String>>> {
    let (count, mut rest) = body.split_first_chunk::<2>().ok_or_else(strange)?;
    let mut texts = Vec::new();
    for _ in 0..u16::from_be_bytes(*count) {
        let (length, behind) = rest.split_first_chunk::<4>().ok_or_else(strange)?;
        let length = i32::from_be_bytes(*length);
        let bytes = behind.get(..length.max(0) as usize).filter(|_| length >= -1).ok_or_else(strange)?;
        rest = &behind[bytes.len()..];
        texts.push((length >= 0).then(|| String::from_utf8_lossy(bytes).into_owned()));
    }
    Ok(texts)
}
