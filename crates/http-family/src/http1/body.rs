//! Decoder of message bodies, delimited by length, by chunks (RFC 9112 7.1) or by the end of the connection. It keeps
//! no buffer, only a count and a state, so the bytes may be split anywhere.
//!
//! Chunk lines must end in CR LF. Extensions are skipped, and so are trailers unless they are asked for, up to a bound.

use wire::Broken;

use super::codec::HEAD_BOUND;

/// State of the decoder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
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
pub enum Part<'a> {
    /// Content.
    Content(&'a [u8]),
    /// A piece of the trailer section.
    Trailer(&'a [u8]),
}

/// A body being decoded.
#[derive(Clone, Copy, Debug)]
pub struct Body {
    /// Remaining bytes of the body or of the chunk.
    left: u64,
    /// Bytes of extensions and trailers so far.
    spent: u32,
    step: Step,
}

impl Body {
    /// Creates a decoder for a body of a known length; a length of 0 needs no decoding.
    pub fn of_length(length: u64) -> Body {
        Body { left: length, spent: 0, step: Step::Length }
    }
    /// Creates a decoder for a chunked body.
    pub fn chunked() -> Body {
        Body { left: 0, spent: 0, step: Step::Size }
    }
    /// Creates a decoder for a body that ends with the connection.
    pub fn until_close() -> Body {
        Body { left: 0, spent: 0, step: Step::UntilClose }
    }
    /// Returns `true` if the end of the connection ends the body.
    pub fn ends_with_connection(&self) -> bool {
        self.step == Step::UntilClose
    }

    /// Decodes bytes and passes the content to `data`. Returns how many bytes belonged to the body, and whether it is
    /// complete.
    ///
    /// # Errors
    /// Returns an error for malformed chunks.
    #[inline]
    pub fn feed(&mut self, bytes: &[u8], mut data: impl FnMut(&[u8])) -> Result<(usize, bool), Broken> {
        match self.step {
            Step::Length => {
                let n = self.take(bytes, &mut data);
                Ok((n, self.left == 0))
            }
            Step::UntilClose => {
                data(bytes);
                Ok((bytes.len(), false))
            }
            _ => self.feed_chunks(bytes, |part| {
                if let Part::Content(bytes) = part {
                    data(bytes);
                }
            }),
        }
    }

    /// Like [`Body::feed`], but passes on the trailers too.
    ///
    /// # Errors
    /// Like [`Body::feed`].
    pub fn feed_both(&mut self, bytes: &[u8], mut hear: impl FnMut(Part<'_>)) -> Result<(usize, bool), Broken> {
        match self.step {
            Step::Length | Step::UntilClose => self.feed(bytes, |data| hear(Part::Content(data))),
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

    fn feed_chunks(&mut self, bytes: &[u8], mut hear: impl FnMut(Part<'_>)) -> Result<(usize, bool), Broken> {
        let mut at = 0;
        while at < bytes.len() {
            if self.step == Step::Data {
                at += self.take(&bytes[at..], &mut |data: &[u8]| hear(Part::Content(data)));
                if self.left == 0 {
                    self.step = Step::DataCr;
                }
                continue;
            }
            let byte = bytes[at];
            if matches!(self.step, Step::Trailer | Step::TrailerLine | Step::TrailerEnd) {
                hear(Part::Trailer(&bytes[at..=at]));
            }
            at += 1;
            if self.step == Step::LastLf {
                return if byte == b'\n' { Ok((at, true)) } else { Err(NO_END) };
            }
            self.mark(byte)?;
        }
        Ok((at, false))
    }

    /// Processes one byte of the chunk framing.
    fn mark(&mut self, byte: u8) -> Result<(), Broken> {
        self.step = match (self.step, byte) {
            (Step::Size | Step::MoreSize, b'0'..=b'9' | b'a'..=b'f' | b'A'..=b'F') => {
                if self.left >> 60 != 0 {
                    return Err(Broken(cause::http1::chunk_out_of_range()));
                }
                self.left = self.left << 4 | (byte as char).to_digit(16).map_or(0, u64::from);
                Step::MoreSize
            }
            (Step::MoreSize, b';' | b' ' | b'\t') => Step::Extension,
            (Step::MoreSize | Step::Extension, b'\r') => Step::SizeEnd,
            (Step::Extension, b'\t' | b' '..=b'~' | 0x80..) => self.spend(Step::Extension)?,
            (Step::SizeEnd, b'\n') => self.size_read(),
            (Step::DataCr, b'\r') => Step::DataLf,
            (Step::DataLf, b'\n') => Step::Size,
            (Step::Trailer, b'\r') => Step::LastLf,
            (Step::Trailer | Step::TrailerLine, b'\t' | b' '..=b'~' | 0x80..) => self.spend(Step::TrailerLine)?,
            (Step::TrailerLine, b'\r') => Step::TrailerEnd,
            (Step::TrailerEnd, b'\n') => Step::Trailer,
            (Step::Size | Step::MoreSize, _) => return Err(Broken(cause::http1::chunk_not_hex())),
            (Step::DataCr | Step::DataLf, _) => return Err(Broken(cause::http1::chunk_too_long())),
            _ => return Err(NO_END),
        };
        Ok(())
    }

    fn size_read(&mut self) -> Step {
        self.spent = 0;
        if self.left == 0 { Step::Trailer } else { Step::Data }
    }

    fn spend(&mut self, next: Step) -> Result<Step, Broken> {
        self.spent += 1;
        if self.spent as usize > HEAD_BOUND { Err(Broken(cause::http1::endless_chunks())) } else { Ok(next) }
    }
}

const NO_END: Broken = Broken(cause::http1::chunk_line_end());
