//! Stateless handling of frames (RFC 9113 4 and 6): the nine-byte header, frame types, settings and codes.

/// Length of a frame header in bytes.
pub const HEAD: usize = 9;
/// The largest payload we accept, which is also the limit that every endpoint must accept (6.5.2).
pub const PAYLOAD_BOUND: usize = 16_384;
/// The client connection preface (3.4).
pub const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
/// The largest window size (6.9.1).
pub const WINDOW_BOUND: i64 = (1 << 31) - 1;
/// The initial window size (6.9.2).
pub const WINDOW_START: i64 = 65_535;

/// DATA: a piece of a body.
pub const DATA: u8 = 0;
/// HEADERS: the beginning of a head or trailer.
pub const HEADERS: u8 = 1;
/// PRIORITY: deprecated and ignored.
pub const PRIORITY: u8 = 2;
/// RST_STREAM: ends a stream at once.
pub const RST_STREAM: u8 = 3;
/// SETTINGS: parameters that the receiver must respect.
pub const SETTINGS: u8 = 4;
/// PUSH_PROMISE: not allowed here.
pub const PUSH_PROMISE: u8 = 5;
/// PING.
pub const PING: u8 = 6;
/// GOAWAY: streams beyond the given one will not be processed.
pub const GOAWAY: u8 = 7;
/// WINDOW_UPDATE: allows the receiver to send more.
pub const WINDOW_UPDATE: u8 = 8;
/// CONTINUATION: the rest of a header block.
pub const CONTINUATION: u8 = 9;

/// DATA, HEADERS: the last frame of the stream.
pub const END_STREAM: u8 = 1;
/// SETTINGS, PING: an acknowledgement.
pub const ACK: u8 = 1;
/// HEADERS, CONTINUATION: the header block is complete.
pub const END_HEADERS: u8 = 4;
/// DATA, HEADERS: the payload is padded; its first byte is the length of the padding.
pub const PADDED: u8 = 8;
/// HEADERS: the payload begins with five bytes of priority.
pub const PRIORITIZED: u8 = 0x20;

/// A frame header.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FrameHead {
    /// Payload length in bytes.
    pub length: usize,
    /// Frame type, such as [`DATA`].
    pub kind: u8,
    /// Flags, such as [`END_STREAM`]; their meaning depends on the type.
    pub flags: u8,
    /// Stream identifier, 0 for the connection.
    pub stream: u32,
}

impl FrameHead {
    /// Parses a frame header.
    #[inline]
    pub fn read(bytes: &[u8; HEAD]) -> FrameHead {
        let [a, b, c, kind, flags, s0, s1, s2, s3] = *bytes;
        FrameHead {
            length: (usize::from(a) << 16) | (usize::from(b) << 8) | usize::from(c),
            kind,
            flags,
            // The highest bit is reserved and ignored (4.1).
            stream: u32::from_be_bytes([s0, s1, s2, s3]) & 0x7fff_ffff,
        }
    }

    /// Encodes the header; the length must be below 2^24.
    #[inline]
    pub fn bytes(self) -> [u8; HEAD] {
        let [_, a, b, c] = (self.length as u32).to_be_bytes();
        let [s0, s1, s2, s3] = self.stream.to_be_bytes();
        [a, b, c, self.kind, self.flags, s0, s1, s2, s3]
    }

    /// Returns `true` if the flag is set.
    #[inline]
    pub fn has(self, flag: u8) -> bool {
        self.flags & flag != 0
    }
}

/// Appends a frame.
pub fn put(kind: u8, flags: u8, stream: u32, payload: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(&FrameHead { length: payload.len(), kind, flags, stream }.bytes());
    out.extend_from_slice(payload);
}

/// Appends a frame whose payload is one number: WINDOW_UPDATE or RST_STREAM.
pub fn put_number(kind: u8, stream: u32, number: u32, out: &mut Vec<u8>) {
    put(kind, 0, stream, &number.to_be_bytes(), out);
}

/// Appends a header block as HEADERS, followed by CONTINUATION frames if it exceeds the peer's maximum frame size.
pub fn put_block(flags: u8, stream: u32, block: &[u8], most: usize, out: &mut Vec<u8>) {
    let mut pieces = block.chunks(most.max(1)).peekable();
    let (mut kind, mut flags) = (HEADERS, flags);
    loop {
        let piece = pieces.next().unwrap_or_default();
        let last = if pieces.peek().is_none() { END_HEADERS } else { 0 };
        put(kind, flags | last, stream, piece, out);
        if last != 0 {
            return;
        }
        (kind, flags) = (CONTINUATION, 0);
    }
}

/// Error codes (7).
pub mod code {
    use brunt_cause::{StaticCause, StaticSentence};

    /// No error.
    pub const NO_ERROR: u32 = 0;
    /// The peer violated the protocol.
    pub const PROTOCOL_ERROR: u32 = 1;
    /// An internal error.
    pub const INTERNAL_ERROR: u32 = 2;
    /// A window was exceeded, or is too large.
    pub const FLOW_CONTROL_ERROR: u32 = 3;
    /// A frame for a closed stream.
    pub const STREAM_CLOSED: u32 = 5;
    /// A frame of invalid size.
    pub const FRAME_SIZE_ERROR: u32 = 6;
    /// The stream was not processed.
    pub const REFUSED_STREAM: u32 = 7;
    /// The stream is no longer needed.
    pub const CANCEL: u32 = 8;
    /// A header block that cannot be decoded.
    pub const COMPRESSION_ERROR: u32 = 9;
    /// The peer causes excessive load.
    pub const ENHANCE_YOUR_CALM: u32 = 11;

    /// Builds the tables of names and of messages, so that nothing is formatted when a request fails.
    macro_rules! names {
        ($($name:literal),*) => {
            const NAMES: &[&str] = &[$($name),*];
            const RESETS: &[StaticSentence] = &[$(brunt_cause::http2::reset($name)),*];
            const GOODBYES: &[StaticSentence] = &[$(brunt_cause::http2::goaway($name)),*];
        };
    }
    names!(
        "NO_ERROR",
        "PROTOCOL_ERROR",
        "INTERNAL_ERROR",
        "FLOW_CONTROL_ERROR",
        "SETTINGS_TIMEOUT",
        "STREAM_CLOSED",
        "FRAME_SIZE_ERROR",
        "REFUSED_STREAM",
        "CANCEL",
        "COMPRESSION_ERROR",
        "CONNECT_ERROR",
        "ENHANCE_YOUR_CALM",
        "INADEQUATE_SECURITY",
        "HTTP_1_1_REQUIRED"
    );

    /// Returns the name of a code.
    pub fn name(code: u32) -> &'static str {
        NAMES.get(code as usize).copied().unwrap_or("an unknown code")
    }

    /// The code with which the peer ended the connection or a stream. It can be encoded as a number alongside status
    /// codes.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum EndCode {
        /// GOAWAY with this code.
        GoAway(u32),
        /// RST_STREAM with this code.
        Reset(u32),
    }

    const GOAWAYS: u32 = 1 << 24;
    const STREAMS: u32 = 2 << 24;

    impl EndCode {
        /// Returns the number of this code; unknown codes share one.
        pub fn number(self) -> u32 {
            let known = |code: u32| code.min(NAMES.len() as u32);
            match self {
                EndCode::GoAway(code) => GOAWAYS + known(code),
                EndCode::Reset(code) => STREAMS + known(code),
            }
        }

        /// Describes a number returned by [`EndCode::number`]; `None` for any other number.
        pub fn describe(number: u32) -> Option<String> {
            let code = |from: u32| number.checked_sub(from).filter(|code| *code <= NAMES.len() as u32);
            let reset = code(STREAMS).map(|code| format!("RST_STREAM {}", name(code)));
            reset.or_else(|| code(GOAWAYS).map(|code| format!("GOAWAY {}", name(code))))
        }
    }

    /// Returns the cause for a stream that the server reset with this code.
    pub fn of_reset(code: u32) -> StaticCause {
        RESETS.get(code as usize).map_or(brunt_cause::http2::reset_unknown(), StaticSentence::plain)
    }

    /// Returns the cause for a GOAWAY with this code.
    pub fn of_goaway(code: u32) -> StaticCause {
        GOODBYES.get(code as usize).map_or(brunt_cause::http2::goaway_unknown(), StaticSentence::plain)
    }
}

/// Settings (6.5.2), by their identifiers.
pub mod setting {
    /// The maximum size of the table for decoding header blocks.
    pub const HEADER_TABLE_SIZE: u16 = 1;
    /// Whether the receiver of the setting may push.
    pub const ENABLE_PUSH: u16 = 2;
    /// The maximum number of concurrent streams.
    pub const MAX_CONCURRENT_STREAMS: u16 = 3;
    /// The initial window size of streams.
    pub const INITIAL_WINDOW_SIZE: u16 = 4;
    /// The largest accepted payload.
    pub const MAX_FRAME_SIZE: u16 = 5;
    /// The largest accepted header list.
    pub const MAX_HEADER_LIST_SIZE: u16 = 6;
}

/// Appends a SETTINGS frame.
pub fn put_settings(settings: &[(u16, u32)], out: &mut Vec<u8>) {
    let head = FrameHead { length: settings.len() * 6, kind: SETTINGS, flags: 0, stream: 0 };
    out.extend_from_slice(&head.bytes());
    for (number, value) in settings {
        out.extend_from_slice(&number.to_be_bytes());
        out.extend_from_slice(&value.to_be_bytes());
    }
}

/// Returns the settings in a payload, whose length must be a multiple of six.
pub fn settings(payload: &[u8]) -> impl Iterator<Item = (u16, u32)> {
    payload
        .as_chunks::<6>()
        .0
        .iter()
        .map(|&[n0, n1, v0, v1, v2, v3]| (u16::from_be_bytes([n0, n1]), u32::from_be_bytes([v0, v1, v2, v3])))
}

/// Returns the payload of DATA or HEADERS without its padding; `None` if the padding is longer than the payload (6.1).
pub fn without_padding(head: FrameHead, payload: &[u8]) -> Option<&[u8]> {
    if !head.has(PADDED) {
        return Some(payload);
    }
    let (&padding, rest) = payload.split_first()?;
    rest.len().checked_sub(usize::from(padding)).map(|length| &rest[..length])
}
