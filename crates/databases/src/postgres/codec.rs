//! Messages of the protocol: a type, a length that includes itself, and a body ("Message Formats"). Stateless.

use brunt_contract::ProtocolError;

/// Protocol version of a startup message: 3.0.
const VERSION: u32 = 3 << 16;
/// Code that requests TLS, in place of a version.
const SSL: u32 = 80_877_103;
/// Size of type and length, in bytes.
pub const HEAD: usize = 5;
/// Maximum size of a message that is read (errors, authentication), in bytes; rows may have any size.
pub const READ_BOUND: usize = 64 * 1024;

/// The head of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MessageHead {
    /// Message type.
    pub kind: u8,
    /// Size of the body in bytes.
    pub size: u32,
}

/// Parses type and length.
///
/// # Errors
/// Returns an error if the length is smaller than its own field, or if no message of a server has this type.
#[inline]
pub fn parse_head(bytes: &[u8; HEAD]) -> Result<MessageHead, ProtocolError> {
    let size = u32::from_be_bytes([bytes[1], bytes[2], bytes[3], bytes[4]]);
    if !(4..=i32::MAX as u32).contains(&size) {
        return Err(ProtocolError(brunt_cause::postgres::wrong_length()));
    }
    if !b"DCTZ12snStNAERKIGHdcWVv3".contains(&bytes[0]) {
        return Err(ProtocolError(brunt_cause::postgres::wrong_type()));
    }
    Ok(MessageHead { kind: bytes[0], size: size - 4 })
}

/// Appends a message whose body is written by `write`.
pub fn put_message(kind: u8, out: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>)) {
    out.push(kind);
    put_sized(out, write);
}

/// Appends the bytes written by `write` after a length that includes itself.
#[inline]
fn put_sized(out: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>)) {
    let from = out.len();
    out.extend_from_slice(&[0; 4]);
    write(out);
    let size = (out.len() - from) as u32;
    out[from..from + 4].copy_from_slice(&size.to_be_bytes());
}

/// Appends text with a terminating zero.
pub fn put_text(text: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(text);
    out.push(0);
}

/// Appends an SSLRequest.
pub fn ssl_request(out: &mut Vec<u8>) {
    put_sized(out, |out| out.extend_from_slice(&SSL.to_be_bytes()));
}

/// Appends a StartupMessage.
pub fn startup(user: &[u8], database: &[u8], out: &mut Vec<u8>) {
    put_sized(out, |out| {
        out.extend_from_slice(&VERSION.to_be_bytes());
        let parameters: [(&[u8], &[u8]); 4] =
            [(b"user", user), (b"database", database), (b"application_name", b"brunt"), (b"client_encoding", b"UTF8")];
        for (name, value) in parameters.into_iter().filter(|(_, value)| !value.is_empty()) {
            put_text(name, out);
            put_text(value, out);
        }
        out.push(0);
    });
}

/// The content of an ErrorResponse.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ErrorResponse<'a> {
    /// ERROR, FATAL or PANIC.
    pub severity: &'a [u8],
    /// SQLSTATE.
    pub state: &'a [u8],
    /// Error message.
    pub message: &'a [u8],
    /// Detail message.
    pub detail: &'a [u8],
}

/// Parses the fields of an ErrorResponse ("Error and Notice Message Fields").
pub fn parse_error(body: &[u8]) -> ErrorResponse<'_> {
    let mut refusal = ErrorResponse::default();
    for field in body.split(|byte| *byte == 0) {
        match field.split_first() {
            // V is S without translation, and follows it.
            Some((b'S' | b'V', value)) => refusal.severity = value,
            Some((b'C', value)) => refusal.state = value,
            Some((b'M', value)) => refusal.message = value,
            Some((b'D', value)) => refusal.detail = value,
            _ => {}
        }
    }
    refusal
}

/// Extracts the code and the message from an excerpt made by `ErrorResponse::excerpt`; `None` for any other text.
pub fn parse_excerpt(shown: &[u8]) -> Option<(&[u8], &[u8])> {
    let (head, message) = shown.split_at(memchr::memmem::find(shown, b": ")?);
    Some((head.rsplit(|byte| *byte == b' ').next()?, message[2..].split(|byte| *byte == b'\n').next()?))
}

impl ErrorResponse<'_> {
    /// Formats the error as `ERROR 23505: duplicate key`, with the detail on a second line, in at most `bound` bytes.
    pub fn excerpt(&self, bound: usize) -> Vec<u8> {
        let mut text = [self.severity, b" ", self.state, b": ", self.message].concat();
        if !self.detail.is_empty() {
            text.push(b'\n');
            text.extend_from_slice(self.detail);
        }
        text.truncate(bound);
        text
    }
}

/// Returns the number of rows in a CommandComplete: the last word of its tag, or 0 if that is not a number.
pub fn completed_rows(tag: &[u8]) -> u64 {
    let word = tag.strip_suffix(b"\0").unwrap_or(tag).rsplit(|b| *b == b' ').next().unwrap_or_default();
    std::str::from_utf8(word).ok().and_then(|word| word.parse().ok()).unwrap_or(0)
}
