//! Decoder of message bodies, delimited by length, by chunks (RFC 9112 7.1) or by the end of the connection. It keeps
//! no buffer, only a count and a state, so the bytes may be split anywhere.
//!
//! Chunk lines must end in CR LF. Extensions and trailers are bounded in size and skipped, except that the caller can
//! ask for trailers.

use brunt_contract::ProtocolError;

use super::codec::HEAD_BOUND;

/// State of the decoder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BodyState {
    /// `left` more bytes of a body of known length.
    Length,
    /// Body that ends with the connection.
    UntilClose,
    /// Start of a chunk's size, before its first digit.
    Size,
    /// Later in a chunk's size, after a digit.
    MoreSize,
    /// Extension of a chunk.
    Extension,
    /// Between CR and LF of a size line.
    SizeEnd,
    /// `left` more bytes of a chunk.
    Data,
    /// CR expected after a chunk.
    DataCr,
    /// LF expected after a chunk.
    DataLf,
    /// Start of a trailer line.
    Trailer,
    /// Inside a trailer line.
    TrailerLine,
    /// Between CR and LF of a trailer line.
    TrailerEnd,
    /// Between the last CR and LF.
    LastLf,
}

/// A part of a body.
#[derive(Clone, Copy, Debug)]
pub enum BodyPart<'a> {
    /// Content.
    Content(&'a [u8]),
    /// A piece of the trailer section.
    Trailer(&'a [u8]),
}

/// A body being decoded.
#[derive(Clone, Copy, Debug)]
pub struct BodyDecoder {
    /// Remaining bytes of the body or of the chunk.
    left: u64,
    /// Bytes of extensions and trailers so far.
    overhead: u32,
    step: BodyState,
}

impl BodyDecoder {
    /// Creates a decoder for a body of a known length; a length of 0 needs no decoding.
    pub fn of_length(length: u64) -> BodyDecoder {
        BodyDecoder { left: length, overhead: 0, step: BodyState::Length }
    }
    /// Creates a decoder for a chunked body.
    pub fn chunked() -> BodyDecoder {
        BodyDecoder { left: 0, overhead: 0, step: BodyState::Size }
    }
    /// Creates a decoder for a body that ends with the connection.
    pub fn until_close() -> BodyDecoder {
        BodyDecoder { left: 0, overhead: 0, step: BodyState::UntilClose }
    }
    /// Returns `true` if the end of the connection ends the body.
    pub fn ends_with_connection(&self) -> bool {
        self.step == BodyState::UntilClose
    }

    /// Decodes bytes and passes the content to `data`. Returns how many bytes belonged to the body, and whether it is
    /// complete.
    ///
    /// # Errors
    /// Returns an error for malformed chunks.
    #[inline]
    pub fn feed(&mut self, bytes: &[u8], mut data: impl FnMut(&[u8])) -> Result<(usize, bool), ProtocolError> {
        match self.step {
            BodyState::Length => {
                let n = self.take(bytes, &mut data);
                Ok((n, self.left == 0))
            }
            BodyState::UntilClose => {
                data(bytes);
                Ok((bytes.len(), false))
            }
            _ => self.feed_chunks(bytes, |part| {
                if let BodyPart::Content(bytes) = part {
                    data(bytes);
                }
            }),
        }
    }

    /// Like [`BodyDecoder::feed`], but also passes on the trailers.
    ///
    /// # Errors
    /// Like [`BodyDecoder::feed`].
    pub fn feed_with_trailers(
        &mut self,
        bytes: &[u8],
        mut hear: impl FnMut(BodyPart<'_>),
    ) -> Result<(usize, bool), ProtocolError> {
        match self.step {
            BodyState::Length | BodyState::UntilClose => self.feed(bytes, |data| hear(BodyPart::Content(data))),
            _ => self.feed_chunks(bytes, hear),
        }
    }

    #[inline]
    fn take(&mut self, bytes: &[u8], data: &mut impl FnMut(&[u8])) -> usize {
        let n = usize::try_from(self.left).unwrap_or(usize::MAX).min(bytes.len());
        self.left -= n as u64;
        if n > 0 {
            data(&bytes[..n]);
        }
        n
    }

    fn feed_chunks(
        &mut self,
        bytes: &[u8],
        mut hear: impl FnMut(BodyPart<'_>),
    ) -> Result<(usize, bool), ProtocolError> {
        let mut at = 0;
        while at < bytes.len() {
            if self.step == BodyState::Data {
                at += self.take(&bytes[at..], &mut |data: &[u8]| hear(BodyPart::Content(data)));
                if self.left == 0 {
                    self.step = BodyState::DataCr;
                }
                continue;
            }
            let byte = bytes[at];
            if matches!(self.step, BodyState::Trailer | BodyState::TrailerLine | BodyState::TrailerEnd) {
                hear(BodyPart::Trailer(&bytes[at..=at]));
            }
            at += 1;
            if self.step == BodyState::LastLf {
                return if byte == b'\n' { Ok((at, true)) } else { Err(NO_END) };
            }
            self.framing_byte(byte)?;
        }
        Ok((at, false))
    }

    /// Processes one byte of the chunk framing.
    fn framing_byte(&mut self, byte: u8) -> Result<(), ProtocolError> {
        self.step = match (self.step, byte) {
            (BodyState::Size | BodyState::MoreSize, b'0'..=b'9' | b'a'..=b'f' | b'A'..=b'F') => {
                if self.left >> 60 != 0 {
                    return Err(ProtocolError(brunt_cause::http1::chunk_out_of_range()));
                }
                self.left = self.left << 4 | (byte as char).to_digit(16).map_or(0, u64::from);
                BodyState::MoreSize
            }
            (BodyState::MoreSize, b';' | b' ' | b'\t') => BodyState::Extension,
            (BodyState::MoreSize | BodyState::Extension, b'\r') => BodyState::SizeEnd,
            (BodyState::Extension, b'\t' | b' '..=b'~' | 0x80..) => self.count_overhead(BodyState::Extension)?,
            (BodyState::SizeEnd, b'\n') => self.size_read(),
            (BodyState::DataCr, b'\r') => BodyState::DataLf,
            (BodyState::DataLf, b'\n') => BodyState::Size,
            (BodyState::Trailer, b'\r') => BodyState::LastLf,
            (BodyState::Trailer | BodyState::TrailerLine, b'\t' | b' '..=b'~' | 0x80..) => {
                self.count_overhead(BodyState::TrailerLine)?
            }
            (BodyState::TrailerLine, b'\r') => BodyState::TrailerEnd,
            (BodyState::TrailerEnd, b'\n') => BodyState::Trailer,
            (BodyState::Size | BodyState::MoreSize, _) => {
                return Err(ProtocolError(brunt_cause::http1::chunk_not_hex()));
            }
            (BodyState::DataCr | BodyState::DataLf, _) => {
                return Err(ProtocolError(brunt_cause::http1::chunk_too_long()));
            }
            _ => return Err(NO_END),
        };
        Ok(())
    }

    fn size_read(&mut self) -> BodyState {
        self.overhead = 0;
        if self.left == 0 { BodyState::Trailer } else { BodyState::Data }
    }

    fn count_overhead(&mut self, next: BodyState) -> Result<BodyState, ProtocolError> {
        self.overhead += 1;
        if self.overhead as usize > HEAD_BOUND {
            Err(ProtocolError(brunt_cause::http1::endless_chunks()))
        } else {
            Ok(next)
        }
    }
}

const NO_END: ProtocolError = ProtocolError(brunt_cause::http1::chunk_line_end());
