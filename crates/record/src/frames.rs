//! Frames exchanged between processes of brunt: a length, then a number, a kind and a body, all little-endian.
//! Protocols built on top define the contents; this module delimits frames and trusts neither lengths nor contents.
//!
//! Before the first frame each side sends a human-readable hello line, so that a connection to something else, or to
//! another version of brunt, is reported in a sentence.

use std::io::{self, BufRead, Read, Write};

/// Maximum memory allocated for a frame before its bytes have arrived, in bytes.
pub const MEMORY: u32 = 64 << 10;
/// Length of number and kind, in bytes.
const HEAD: u32 = 5;
/// Maximum length of a hello, and of the text quoted if something else arrives, in bytes.
const HELLO_BOUND: u64 = 100;

/// A protocol of frames over one kind of connection.
#[derive(Clone, Copy, Debug)]
pub struct FrameProtocol {
    /// First word of the hello.
    pub hello: &'static str,
    /// Version of the frames' meaning; a peer with another version is refused.
    pub version: u32,
    /// Noun phrase for the component that this version refers to, used in error messages.
    pub description: &'static str,
    /// Maximum length of a received frame, without its length field, in bytes.
    pub max_length: u32,
}

impl FrameProtocol {
    /// Writes the hello.
    ///
    /// # Errors
    /// Returns the error of the write.
    pub fn write_hello(&self, to: &mut dyn Write) -> io::Result<()> {
        to.write_all(format!("{} {} {}\n", self.hello, self.version, env!("CARGO_PKG_VERSION")).as_bytes())?;
        to.flush()
    }

    /// Reads the peer's hello.
    ///
    /// # Errors
    /// Returns an error if the hello cannot be read, or one that explains in a sentence why the peer's frames would not
    /// be understood.
    pub fn read_hello(&self, from: &mut dyn BufRead) -> io::Result<()> {
        let mut line = Vec::new();
        from.take(HELLO_BOUND).read_until(b'\n', &mut line)?;
        let FrameProtocol { hello, version, description: what, .. } = self;
        let said = brunt_measure::sanitize::bytes(line.trim_ascii_end());
        let mut words = said.split(' ');
        let (word, spoken, brunt) =
            (words.next(), words.next().and_then(|v| v.parse::<u32>().ok()), words.next().unwrap_or("?"));
        match (word, spoken) {
            (Some(word), Some(spoken)) if word == *hello && spoken == *version => Ok(()),
            (Some(word), Some(other)) if word == *hello => Err(io::Error::other(format!(
                "it is brunt {brunt} with version {other} of {what}, and this is brunt {} with version {version}; \
                    run the same version on both sides",
                env!("CARGO_PKG_VERSION")
            ))),
            _ if said.is_empty() => Err(io::ErrorKind::UnexpectedEof.into()),
            _ => Err(io::Error::other(format!(
                "it sent `{said}` instead of `{hello} {version}`; the other end is not brunt"
            ))),
        }
    }

    /// Writes a frame.
    ///
    /// # Errors
    /// Returns an error if the frame cannot be written or is too long.
    pub fn write_frame(&self, to: &mut dyn Write, number: u32, kind: u8, body: &[u8]) -> io::Result<()> {
        if body.len() + HEAD as usize > self.max_length as usize {
            return Err(io::Error::other("no frame is that long"));
        }
        let mut frame = Vec::with_capacity(body.len() + HEAD as usize + 4);
        frame.extend((body.len() as u32 + HEAD).to_le_bytes());
        frame.extend(number.to_le_bytes());
        frame.push(kind);
        frame.extend(body);
        to.write_all(&frame)?;
        to.flush()
    }

    /// Reads the next frame, without its length field; returns `None` at the end of the input.
    ///
    /// # Errors
    /// Returns an error if the frame cannot be read, has an impossible length or is truncated.
    pub fn read_frame(&self, from: &mut dyn Read) -> io::Result<Option<Vec<u8>>> {
        FrameBuffer::default().read_frame(self, from)
    }
}

/// A partially received frame, which is kept when a read times out.
#[derive(Debug, Default)]
pub struct FrameBuffer(Vec<u8>);

impl FrameBuffer {
    /// Reads the next frame, without its length field, once it is complete; returns `None` at the end of the input. May
    /// be called again after a read timed out.
    ///
    /// # Errors
    /// As for [`FrameProtocol::read_frame`].
    pub fn read_frame(&mut self, speech: &FrameProtocol, from: &mut dyn Read) -> io::Result<Option<Vec<u8>>> {
        if !self.fill(4, from)? {
            return if self.0.is_empty() { Ok(None) } else { Err(io::ErrorKind::UnexpectedEof.into()) };
        }
        let length = self.0.first_chunk().map_or(0, |length| u32::from_le_bytes(*length));
        if !(HEAD..=speech.max_length).contains(&length) {
            return Err(io::Error::other("it sent a frame with an impossible length"));
        }
        if !self.fill(4 + length as usize, from)? {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(Some(std::mem::take(&mut self.0).split_off(4)))
    }

    /// Reads until `wanted` bytes are buffered; returns `false` if the input ends first. Memory is allocated for bytes
    /// that arrive, not for bytes that are announced.
    fn fill(&mut self, wanted: usize, from: &mut dyn Read) -> io::Result<bool> {
        let mut have = self.0.len();
        while have < wanted {
            self.0.resize(wanted.min(have + MEMORY as usize), 0);
            let read = from.read(&mut self.0[have..]);
            self.0.truncate(have + *read.as_ref().unwrap_or(&0));
            match read {
                Ok(0) => return Ok(false),
                Ok(more) => have += more,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PROTOCOL: FrameProtocol =
        FrameProtocol { hello: "brunt-x", version: 3, description: "the x", max_length: 100 };

    /// A reader that returns a limited number of bytes at a time, and times out on every second call.
    struct HaltingReader<'a>(&'a [u8], usize, bool);

    impl Read for HaltingReader<'_> {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            self.2 = !self.2;
            if self.2 {
                return Err(io::ErrorKind::WouldBlock.into());
            }
            let most = self.1.min(into.len());
            self.0.read(&mut into[..most])
        }
    }

    #[test]
    fn frames_are_read_alike_however_they_come() {
        let mut bytes = Vec::new();
        for (number, kind, body) in [(7, 1, &b"abc"[..]), (u32::MAX, 255, b""), (0, 0, &[9; 95])] {
            PROTOCOL.write_frame(&mut bytes, number, kind, body).unwrap();
        }
        assert!(PROTOCOL.write_frame(&mut Vec::new(), 0, 0, &[0; 96]).is_err(), "too long");
        for at_once in [1, 2, 3, 5, 64, 1000] {
            let (mut from, mut pieces, mut found) =
                (HaltingReader(&bytes, at_once, false), FrameBuffer::default(), Vec::new());
            loop {
                match pieces.read_frame(&PROTOCOL, &mut from) {
                    Ok(Some(frame)) => found.push(frame),
                    Ok(None) => break,
                    Err(error) => assert_eq!(error.kind(), io::ErrorKind::WouldBlock),
                }
            }
            assert_eq!(found.len(), 3, "{at_once}");
            assert_eq!((&found[0][..], &found[1][..]), (&b"\x07\0\0\0\x01abc"[..], &b"\xff\xff\xff\xff\xff"[..]));
            assert_eq!(found[2].len(), 100);
        }
        for cut in [1, 3, 4, 8, 11] {
            let error = PROTOCOL.read_frame(&mut &bytes[..cut]).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof, "{cut}");
        }
    }

    #[test]
    fn impossible_lengths_take_no_memory() {
        for length in [0, 4, 101, u32::MAX] {
            let error = PROTOCOL.read_frame(&mut &length.to_le_bytes()[..]).unwrap_err();
            assert_eq!(error.to_string(), "it sent a frame with an impossible length");
        }
        let announced = FrameProtocol { max_length: u32::MAX, ..PROTOCOL };
        let mut pieces = FrameBuffer::default();
        assert!(pieces.read_frame(&announced, &mut HaltingReader(&[255; 9], 9, true)).is_err());
        assert!(pieces.0.capacity() <= 2 * MEMORY as usize);
    }

    #[test]
    fn a_hello_that_is_another_is_told_in_a_sentence() {
        let mut hello = Vec::new();
        PROTOCOL.write_hello(&mut hello).unwrap();
        PROTOCOL.read_hello(&mut hello.as_slice()).unwrap();
        let said = |bytes: &[u8]| PROTOCOL.read_hello(&mut &*bytes).unwrap_err().to_string();
        assert!(said(b"brunt-x 4 0.9\n").starts_with("it is brunt 0.9 with version 4 of the x"));
        assert!(said(b"HTTP/1.1 400 Bad\r\n").starts_with("it sent `HTTP/1.1 400 Bad` instead of `brunt-x 3`"));
        assert!(said(b"brunt-link 3 0.9\n").contains("the other end is not brunt"));
        assert!(said(&[b'a'; 5000]).len() < 250);
    }
}
