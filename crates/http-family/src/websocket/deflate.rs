//! permessage-deflate (RFC 7692), client side: the offer, the accepted answers, and the two streams.
//!
//! The offer allows the server every parameter. A connection that uses compression holds two windows, about 300 KiB,
//! which is why compression is off by default.

use brunt_contract::ProtocolError;
use flate2::{Compress, Compression, Decompress, FlushCompress, FlushDecompress, Status};

/// The value of `Sec-WebSocket-Extensions`.
pub const OFFER: &str = "permessage-deflate; client_max_window_bits";

/// The end of every flushed message, which is not sent (7.2.1).
const TAIL: [u8; 4] = [0, 0, 0xff, 0xff];

/// The agreed parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeflateParameters {
    /// Set if the server begins every message with an empty window.
    pub server_forgets: bool,
    /// Set if the client begins every message with an empty window.
    pub client_forgets: bool,
    /// Size of our window as a power of 2.
    pub client_bits: u8,
}

const UNOFFERED: ProtocolError = ProtocolError(brunt_cause::websocket::other_extension());
const PARAMETER: ProtocolError = ProtocolError(brunt_cause::websocket::wrong_parameter());

/// Parses the server's answers to [`OFFER`], one element per extension; returns `None` if there are none.
///
/// # Errors
/// Fails for an extension or parameter that was not offered.
pub fn agreement<'a>(extensions: impl Iterator<Item = &'a [u8]>) -> Result<Option<DeflateParameters>, ProtocolError> {
    let mut agreed = None;
    for extension in extensions {
        let mut parts = extension.split(|&b| b == b';').map(<[u8]>::trim_ascii);
        if parts.next() != Some(b"permessage-deflate") || agreed.is_some() {
            return Err(UNOFFERED);
        }
        agreed = Some(parameters(parts)?);
    }
    Ok(agreed)
}

fn parameters<'a>(parts: impl Iterator<Item = &'a [u8]>) -> Result<DeflateParameters, ProtocolError> {
    let mut agreed = DeflateParameters { server_forgets: false, client_forgets: false, client_bits: 15 };
    let mut seen = Vec::new();
    for part in parts {
        let mut halves = part.splitn(2, |&b| b == b'=').map(<[u8]>::trim_ascii);
        let (name, value) = (halves.next().unwrap_or_default(), halves.next());
        if seen.contains(&name) {
            return Err(PARAMETER);
        }
        seen.push(name);
        match (name, value) {
            (b"server_no_context_takeover", None) => agreed.server_forgets = true,
            (b"client_no_context_takeover", None) => agreed.client_forgets = true,
            // Our window for reading has the full size, regardless of the server's.
            (b"server_max_window_bits", Some(value)) => drop(bits(value)?),
            (b"client_max_window_bits", Some(value)) => agreed.client_bits = bits(value)?,
            _ => return Err(PARAMETER),
        }
    }
    Ok(agreed)
}

/// Parses 8 to 15, without a leading zero, with or without quotation marks (7.1.2).
fn bits(value: &[u8]) -> Result<u8, ProtocolError> {
    let plain = value.strip_prefix(b"\"").and_then(|v| v.strip_suffix(b"\"")).unwrap_or(value);
    match plain {
        [digit @ b'8'..=b'9'] => Ok(digit - b'0'),
        [b'1', digit @ b'0'..=b'5'] => Ok(10 + digit - b'0'),
        _ => Err(PARAMETER),
    }
}

/// The two compression streams of a connection.
#[derive(Debug)]
pub struct DeflateStreams {
    agreed: DeflateParameters,
    compress: Compress,
    decompress: Decompress,
    /// The last message, compressed.
    packed: Vec<u8>,
    /// Set if the incoming stream has ended and no data has followed.
    ended: bool,
}

impl DeflateStreams {
    /// Creates the streams.
    pub fn new(agreed: DeflateParameters) -> DeflateStreams {
        // zlib does not support windows of 256 bytes: for these, nothing is compressed.
        let level = if agreed.client_bits < 9 { Compression::none() } else { Compression::default() };
        let compress = Compress::new_with_window_bits(level, false, agreed.client_bits.max(9));
        DeflateStreams { agreed, compress, decompress: Decompress::new(false), packed: Vec::new(), ended: false }
    }

    /// Compresses a whole message (7.2.1).
    pub fn compress(&mut self, plain: &[u8]) -> &[u8] {
        self.packed.clear();
        let mut used = 0;
        loop {
            self.packed.reserve(plain.len() / 2 + 64);
            let before = self.compress.total_in();
            // Fails only if an earlier call ended the stream, which never happens.
            let _ = self.compress.compress_vec(&plain[used..], &mut self.packed, FlushCompress::Sync);
            used += (self.compress.total_in() - before) as usize;
            if used == plain.len() && self.packed.len() < self.packed.capacity() {
                break;
            }
        }
        if self.packed.ends_with(&TAIL) {
            self.packed.truncate(self.packed.len() - TAIL.len());
        }
        if self.packed.is_empty() {
            self.packed.push(0);
        }
        if self.agreed.client_forgets {
            self.compress.reset();
        }
        &self.packed
    }

    /// Decompresses a piece of a message and passes the result on.
    ///
    /// # Errors
    /// Fails if it is not deflate data, or with the error of `take`.
    pub fn decompress(
        &mut self,
        piece: &[u8],
        take: &mut dyn FnMut(&[u8]) -> Result<(), ProtocolError>,
    ) -> Result<(), ProtocolError> {
        const WRONG: ProtocolError = ProtocolError(brunt_cause::websocket::not_deflate());
        let (mut buffer, mut at) = ([0; 4096], 0);
        while at < piece.len() {
            self.ended = false;
            let (read, written) = (self.decompress.total_in(), self.decompress.total_out());
            let status = self.decompress.decompress(&piece[at..], &mut buffer, FlushDecompress::Sync);
            let used = (self.decompress.total_in() - read) as usize;
            let made = (self.decompress.total_out() - written) as usize;
            at += used;
            // Output before an error counts, so the result does not depend on how the data is split.
            take(&buffer[..made])?;
            if status.map_err(|_| WRONG)? == Status::StreamEnd {
                self.decompress.reset(false);
                self.ended = true;
            } else if used == 0 && made == 0 {
                return Err(WRONG);
            }
        }
        self.rest(take)
    }

    /// Passes on output that exceeds one buffer.
    fn rest(&mut self, take: &mut dyn FnMut(&[u8]) -> Result<(), ProtocolError>) -> Result<(), ProtocolError> {
        let mut buffer = [0; 4096];
        while !self.ended {
            let written = self.decompress.total_out();
            let status = self.decompress.decompress(&[], &mut buffer, FlushDecompress::Sync);
            let made = (self.decompress.total_out() - written) as usize;
            take(&buffer[..made])?;
            match status {
                Ok(Status::StreamEnd) => {
                    self.decompress.reset(false);
                    self.ended = true;
                }
                Ok(_) if made > 0 => {}
                _ => break,
            }
        }
        Ok(())
    }

    /// Finishes the message.
    ///
    /// # Errors
    /// Fails like [`DeflateStreams::decompress`].
    pub fn finish_message(
        &mut self,
        take: &mut dyn FnMut(&[u8]) -> Result<(), ProtocolError>,
    ) -> Result<(), ProtocolError> {
        if !self.ended {
            self.decompress(&TAIL, take)?;
        }
        if self.agreed.server_forgets {
            self.decompress.reset(false);
        }
        self.ended = false;
        Ok(())
    }
}

#[cfg(test)]
mod tests;
