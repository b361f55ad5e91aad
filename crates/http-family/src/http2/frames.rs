//! Frames (RFC 9113 4 and 6): the nine bytes before each, the kinds, the settings; stateless.

/// Bytes before a frame's payload.
pub const HEAD: usize = 9;
/// The largest payload we take, and the largest everybody must take (6.5.2).
pub const PAYLOAD_BOUND: usize = 16_384;
/// What a client sends first (3.4).
pub const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
/// The largest a window may be (6.9.1).
pub const WINDOW_BOUND: i64 = (1 << 31) - 1;
/// What a window is before anybody says otherwise (6.9.2).
pub const WINDOW_START: i64 = 65_535;

/// DATA: a piece of a body.
pub const DATA: u8 = 0;
/// HEADERS: the beginning of a head or trailer.
pub const HEADERS: u8 = 1;
/// PRIORITY: ignored, deprecated.
pub const PRIORITY: u8 = 2;
/// RST_STREAM: a stream is over at once.
pub const RST_STREAM: u8 = 3;
/// SETTINGS: what the other end must keep to.
pub const SETTINGS: u8 = 4;
/// PUSH_PROMISE: never allowed here.
pub const PUSH_PROMISE: u8 = 5;
/// PING.
pub const PING: u8 = 6;
/// GOAWAY: no stream beyond this one will be served.
pub const GOAWAY: u8 = 7;
/// WINDOW_UPDATE: more may be sent.
pub const WINDOW_UPDATE: u8 = 8;
/// CONTINUATION: more of a HEADERS.
pub const CONTINUATION: u8 = 9;

/// DATA, HEADERS: the last of the stream.
pub const END_STREAM: u8 = 1;
/// SETTINGS, PING: an answer to one.
pub const ACK: u8 = 1;
/// HEADERS, CONTINUATION: the block is whole.
pub const END_HEADERS: u8 = 4;
/// DATA, HEADERS: the first byte says how much padding ends the payload.
pub const PADDED: u8 = 8;
/// HEADERS: five bytes of priority come first.
pub const PRIORITIZED: u8 = 0x20;

/// The head of a frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FrameHead {
    /// Bytes of payload.
    pub length: usize,
    /// [`DATA`] and its like.
    pub kind: u8,
    /// [`END_STREAM`] and its like; meaning depends on the kind.
    pub flags: u8,
    /// 0: the connection.
    pub stream: u32,
}

impl FrameHead {
    /// Reads one.
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

    /// As bytes; the length must be below 2^24.
    #[inline]
    pub fn bytes(self) -> [u8; HEAD] {
        let [_, a, b, c] = (self.length as u32).to_be_bytes();
        let [s0, s1, s2, s3] = self.stream.to_be_bytes();
        [a, b, c, self.kind, self.flags, s0, s1, s2, s3]
    }

    /// True where a flag is set.
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

/// Appends a frame whose payload is one number: WINDOW_UPDATE, RST_STREAM.
pub fn put_number(kind: u8, stream: u32, number: u32, out: &mut Vec<u8>) {
    put(kind, 0, stream, &number.to_be_bytes(), out);
}

/// Appends a header block as HEADERS, and CONTINUATION where the peer takes no frame so large.
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

/// Why a stream or a connection ends (7).
pub mod code {
    use cause::{Fixed, Plain};

    /// Nothing is wrong.
    pub const NO_ERROR: u32 = 0;
    /// The peer does not follow the protocol.
    pub const PROTOCOL_ERROR: u32 = 1;
    /// Something went wrong that is nobody's business.
    pub const INTERNAL_ERROR: u32 = 2;
    /// A window was overrun, or is too large.
    pub const FLOW_CONTROL_ERROR: u32 = 3;
    /// A frame on a stream that is over.
    pub const STREAM_CLOSED: u32 = 5;
    /// A frame of a wrong size.
    pub const FRAME_SIZE_ERROR: u32 = 6;
    /// Nothing was done for this stream.
    pub const REFUSED_STREAM: u32 = 7;
    /// Nobody needs it any more.
    pub const CANCEL: u32 = 8;
    /// A header block that cannot be read.
    pub const COMPRESSION_ERROR: u32 = 9;
    /// A flood.
    pub const ENHANCE_YOUR_CALM: u32 = 11;

    /// The names by number, and the sentences that hold them: nothing is put together where a request fails.
    macro_rules! names {
        ($($name:literal),*) => {
            const NAMES: &[&str] = &[$($name),*];
            const RESETS: &[Fixed] = &[$(cause::http2::reset($name)),*];
            const GOODBYES: &[Fixed] = &[$(cause::http2::goaway($name)),*];
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

    /// The name of a code.
    pub fn name(code: u32) -> &'static str {
        NAMES.get(code as usize).copied().unwrap_or("an unknown code")
    }

    /// What a peer says of a connection or a stream, as one number beside the status codes.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Word {
        /// GOAWAY with this code.
        GoAway(u32),
        /// RST_STREAM with this code.
        Reset(u32),
    }

    const GOAWAYS: u32 = 1 << 24;
    const STREAMS: u32 = 2 << 24;

    impl Word {
        /// Its number; codes that nobody knows share one.
        pub fn number(self) -> u32 {
            let known = |code: u32| code.min(NAMES.len() as u32);
            match self {
                Word::GoAway(code) => GOAWAYS + known(code),
                Word::Reset(code) => STREAMS + known(code),
            }
        }

        /// What a number says; None: it is no such word.
        pub fn named(number: u32) -> Option<String> {
            let code = |from: u32| number.checked_sub(from).filter(|code| *code <= NAMES.len() as u32);
            let reset = code(STREAMS).map(|code| format!("RST_STREAM {}", name(code)));
            reset.or_else(|| code(GOAWAYS).map(|code| format!("GOAWAY {}", name(code))))
        }
    }

    /// That the server reset a stream with a code, in a sentence.
    pub fn of_reset(code: u32) -> Plain {
        RESETS.get(code as usize).map_or(cause::http2::reset_unknown(), Fixed::plain)
    }

    /// That the server said GOAWAY with a code, in a sentence.
    pub fn of_goaway(code: u32) -> Plain {
        GOODBYES.get(code as usize).map_or(cause::http2::goaway_unknown(), Fixed::plain)
    }
}

/// A setting (6.5.2), by its number.
pub mod setting {
    /// The largest table for reading header blocks.
    pub const HEADER_TABLE_SIZE: u16 = 1;
    /// Whether the other end may push.
    pub const ENABLE_PUSH: u16 = 2;
    /// The most streams at once.
    pub const MAX_CONCURRENT_STREAMS: u16 = 3;
    /// The window every stream begins with.
    pub const INITIAL_WINDOW_SIZE: u16 = 4;
    /// The largest payload.
    pub const MAX_FRAME_SIZE: u16 = 5;
    /// The largest header list.
    pub const MAX_HEADER_LIST_SIZE: u16 = 6;
}

/// Appends SETTINGS.
pub fn put_settings(settings: &[(u16, u32)], out: &mut Vec<u8>) {
    let head = FrameHead { length: settings.len() * 6, kind: SETTINGS, flags: 0, stream: 0 };
    out.extend_from_slice(&head.bytes());
    for (number, value) in settings {
        out.extend_from_slice(&number.to_be_bytes());
        out.extend_from_slice(&value.to_be_bytes());
    }
}

/// The settings in a payload, whose length must be a multiple of six.
pub fn settings(payload: &[u8]) -> impl Iterator<Item = (u16, u32)> {
    payload
        .as_chunks::<6>()
        .0
        .iter()
        .map(|&[n0, n1, v0, v1, v2, v3]| (u16::from_be_bytes([n0, n1]), u32::from_be_bytes([v0, v1, v2, v3])))
}

/// The payload of DATA or HEADERS without its padding; None where the padding is longer than the payload (6.1).
pub fn without_padding(head: FrameHead, payload: &[u8]) -> Option<&[u8]> {
    if !head.has(PADDED) {
        return Some(payload);
    }
    let (&padding, rest) = payload.split_first()?;
    rest.len().checked_sub(usize::from(padding)).map(|length| &rest[..length])
}
