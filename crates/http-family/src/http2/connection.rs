//! The client end of an HTTP/2 connection (RFC 9113), independent of what its streams carry; used for HTTP and gRPC.
//!
//! Supports streams, header blocks, bodies under flow control in both directions, SETTINGS at any time, PING, GOAWAY
//! and RST_STREAM. Stream events go to a [`StreamListener`] by static dispatch; everything else is handled here. Memory
//! stays bounded whatever the peer sends: a frame is kept until it is complete, a header block up to 256 KiB, bodies
//! not at all, and frames that have no effect are counted. A stream error in the peer's framing is treated as a
//! connection error (allowed by 5.4.1). Not supported: priorities, and push, which is refused.

use std::sync::Arc;

use brunt_cause::{Cause, StaticCause};
use brunt_contract::{OutputBuffer, ProtocolError};

use super::frames::{self, FrameHead, HEAD, code, setting};
use super::hpack::{HeaderFields, HeaderList, HpackDecoder, HpackEncoder, HpackError, LIST_BOUND, Lexicon};
use super::sending::SendFlow;
use super::streams::{Http2Stream, StreamTable};
use brunt_values::budget::{BudgetedBuffer, MemoryBudget};

/// Receive window of a stream.
pub(super) const STREAM_WINDOW: u32 = 1 << 24;
/// Receive window of the connection, shared by all streams.
pub(super) const WINDOW: u32 = 1 << 30;
/// Number of streams that may be opened before the peer's SETTINGS arrive (6.5.2 recommends at least 100).
const STREAMS_START: u32 = 100;

/// Maximum number of bytes of a GOAWAY's debug data shown in a message.
const FAREWELL_BOUND: usize = 160;

/// The cause reported if a server closes the connection before its SETTINGS.
const SILENT: StaticCause = brunt_cause::http2::silent_in_clear();
/// Like [`SILENT`], for a connection over TLS.
const SILENT_IN_TLS: StaticCause = brunt_cause::http2::silent();

/// A listener's decision about a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StreamDecision {
    /// Go on, or forget the stream if it has ended.
    Continue,
    /// Reset the stream with this code and forget it.
    Reset(u32),
}

/// Receives the events of streams. `T` is the state kept for each stream.
pub trait StreamListener<T> {
    /// Handles a head, an interim head or a trailer. Fields that it does not read are skipped.
    ///
    /// # Errors
    /// Returns the errors of [`HeaderFields::next`].
    fn head(&mut self, own: &mut T, fields: &mut HeaderFields<'_>, end: bool) -> Result<StreamDecision, HpackError>;
    /// Handles a piece of the body, which may be empty; `end` is set for the last piece.
    fn data(&mut self, own: &mut T, bytes: &[u8], end: bool) -> StreamDecision;
    /// Handles a reset of the stream by the peer.
    fn reset(&mut self, own: T, code: u32);
    /// Handles a stream that the peer has not processed and never will.
    fn refused(&mut self, own: T);
    /// Handles a stream that the peer has not processed because it gave up the connection with this error. Sent again at
    /// once, it would only repeat the error: a peer that says ENHANCE_YOUR_CALM wants fewer requests.
    fn turned_away(&mut self, own: T, code: u32);
    /// Handles the peer's reply to [`Http2Connection::ping`].
    fn pong(&mut self) {}
    /// Handles a GOAWAY or RST_STREAM code; called in addition to the events of the affected streams.
    fn end_code(&mut self, _word: code::EndCode) {}
}

const TURNED_AWAY: StaticCause = brunt_cause::http2::turned_away();
const REFUSED: StaticCause = brunt_cause::http2::refused();

/// A connection error: its code and its cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ConnectionError(pub(super) u32, pub(super) StaticCause);

impl From<HpackError> for ConnectionError {
    fn from(malformed: HpackError) -> ConnectionError {
        ConnectionError(code::COMPRESSION_ERROR, malformed.0)
    }
}

/// A DATA frame being received.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct DataFrame {
    /// Stream identifier, 0 if the stream is not in flight.
    pub(super) stream: u32,
    /// Bytes of content still to come.
    pub(super) left: u32,
    /// Bytes of padding still to come.
    pub(super) padding: u32,
    pub(super) end: bool,
    pub(super) under_way: bool,
}

/// An HTTP/2 connection, client side. `T` is the state kept for each stream.
#[derive(Debug)]
pub struct Http2Connection<T> {
    pub(super) streams: StreamTable<T>,
    pub(super) encoder: HpackEncoder,
    pub(super) decoder: HpackDecoder,
    pub(super) sending: SendFlow,
    /// The beginning of an incomplete frame.
    pub(super) partial_frame: Vec<u8>,
    /// The beginning of an incomplete header block; `assembling` holds its stream and its END_STREAM flag.
    pub(super) block: BudgetedBuffer,
    pub(super) assembling: Option<(u32, bool)>,
    /// The memory budget for `block`, shared by all connections of a run.
    pub(super) budget: MemoryBudget,
    pub(super) data: DataFrame,
    /// Bytes received since the last WINDOW_UPDATE for the connection.
    pub(super) received: u32,
    /// Maximum number of concurrent streams that the peer allows.
    pub(super) max_streams: u32,
    /// Number of frames since the last one that had an effect.
    pub(super) idle_frames: u32,
    /// Number of replies to PING and SETTINGS that may still be unsent.
    pub(super) replies: u32,
    pub(super) pings: u32,
    /// Set once the peer's first SETTINGS have arrived.
    pub(super) settled: bool,
    pub(super) going_away: bool,
    /// The code of the peer's GOAWAY and its debug data.
    pub(super) goaway: Option<Box<(u32, Vec<u8>)>>,
    /// Set once a stream was given up for which the peer may still send frames.
    pub(super) cancelled: bool,
    pub(super) pinging: bool,
    /// Set if the connection uses TLS.
    pub(super) tls: bool,
}

impl<T> Default for Http2Connection<T> {
    fn default() -> Self {
        Http2Connection::with_budget(false, MemoryBudget::default())
    }
}

impl<T> Http2Connection<T> {
    /// Creates a connection. `tls` is set if it uses TLS; `budget` bounds the memory for incomplete header blocks.
    pub fn with_budget(tls: bool, budget: MemoryBudget) -> Http2Connection<T> {
        Http2Connection {
            streams: StreamTable::default(),
            encoder: HpackEncoder::default(),
            decoder: HpackDecoder::default(),
            sending: SendFlow::default(),
            partial_frame: Vec::new(),
            block: BudgetedBuffer::default(),
            budget,
            assembling: None,
            data: DataFrame::default(),
            received: 0,
            max_streams: STREAMS_START,
            idle_frames: 0,
            replies: 0,
            pings: 0,
            settled: false,
            going_away: false,
            goaway: None,
            cancelled: false,
            pinging: false,
            tls,
        }
    }

    /// Appends the connection preface and SETTINGS, with windows so large that they rarely need an update.
    pub fn open(&mut self, out: &mut OutputBuffer) {
        let out = out.buffer();
        out.extend_from_slice(frames::PREFACE);
        let settings = [
            (setting::ENABLE_PUSH, 0),
            (setting::INITIAL_WINDOW_SIZE, STREAM_WINDOW),
            (setting::MAX_HEADER_LIST_SIZE, LIST_BOUND as u32),
        ];
        frames::put_settings(&settings, out);
        frames::put_number(frames::WINDOW_UPDATE, 0, WINDOW - frames::WINDOW_START as u32, out);
    }

    /// Returns the number of streams that may be opened now.
    #[inline]
    pub fn room(&self) -> usize {
        if self.going_away || self.streams.exhausted() {
            return 0;
        }
        (self.max_streams as usize).saturating_sub(self.streams.live())
    }

    /// Returns the number of streams that may be opened now if at most `streams` may share the connection.
    #[inline]
    pub fn room_of(&self, streams: u32) -> usize {
        (streams as usize).saturating_sub(self.live()).min(self.room())
    }

    /// Returns the number of streams in flight.
    #[inline]
    pub fn live(&self) -> usize {
        self.streams.live()
    }

    /// Returns `true` once the peer's SETTINGS have arrived.
    pub fn settled(&self) -> bool {
        self.settled
    }

    /// Opens a stream with this head and returns its identifier; `end` is set if no body follows. Must not be called if
    /// [`Self::room`] is 0.
    #[inline]
    pub fn begin(&mut self, own: T, end: bool, lexicon: &Lexicon, list: &HeaderList, out: &mut OutputBuffer) -> u32 {
        self.begin_with(own, end, out, |encoder, out| encoder.write(lexicon, list, out))
    }

    /// Like [`Self::begin`], with a head written by `write`.
    #[inline]
    pub fn begin_with(
        &mut self,
        own: T,
        end: bool,
        out: &mut OutputBuffer,
        write: impl FnOnce(&mut HpackEncoder, &mut Vec<u8>),
    ) -> u32 {
        let id = self.streams.open(self.sending.stream_window(), end, own).id;
        let out = out.buffer();
        let at = out.len();
        let flags = frames::END_HEADERS | if end { frames::END_STREAM } else { 0 };
        out.extend_from_slice(&FrameHead { length: 0, kind: frames::HEADERS, flags, stream: id }.bytes());
        write(&mut self.encoder, out);
        let length = out.len() - at - HEAD;
        if length > self.sending.largest() {
            let block = out.split_off(at + HEAD);
            out.truncate(at);
            frames::put_block(flags & frames::END_STREAM, id, &block, self.sending.largest(), out);
        } else {
            out[at..at + 3].copy_from_slice(&(length as u32).to_be_bytes()[1..]);
        }
        id
    }

    /// Sends a block of a stream's body, queueing the part that exceeds the peer's window. `end` is set for the last
    /// block.
    pub fn send(&mut self, id: u32, block: &Arc<[u8]>, end: bool, out: &mut OutputBuffer) {
        if let Some(stream) = self.streams.get(id) {
            self.idle_frames = 0;
            self.sending.send(stream, block, end, out.buffer());
        }
    }

    /// Like [`Self::send`], with borrowed bytes, of which only the part that has to be queued is copied.
    pub fn send_bytes(&mut self, id: u32, bytes: &[u8], end: bool, out: &mut OutputBuffer) {
        if let Some(stream) = self.streams.get(id) {
            self.idle_frames = 0;
            self.sending.send_bytes(stream, bytes, end, out.buffer());
        }
    }

    /// Returns the number of bytes that [`Self::send`] would send at once.
    pub fn sendable(&mut self, id: u32) -> usize {
        let Some(stream) = self.streams.get(id) else { return 0 };
        if stream.queue.is_some() { 0 } else { self.sending.window_for(stream) }
    }

    /// Returns `true` if bytes of a stream are queued for the peer's window.
    pub fn has_queued(&mut self, id: u32) -> bool {
        self.streams.get(id).is_some_and(|stream| stream.queue.is_some())
    }

    /// Sends a block of a stream's body if it fits the peer's window; returns `false` if nothing was sent.
    pub fn try_send(&mut self, id: u32, block: &[u8], end: bool, out: &mut OutputBuffer) -> bool {
        let Some(stream) = self.streams.get(id).filter(|s| s.queue.is_none() && !s.closed_locally) else {
            return false;
        };
        if self.sending.window_for(stream) < block.len() {
            return false;
        }
        self.sending.write(stream, block, end, out.buffer());
        true
    }

    /// Returns the first stream whose state matches `which`.
    pub fn find(&mut self, which: impl Fn(&T) -> bool) -> Option<u32> {
        self.streams.iter_mut().find(|s| which(&s.state)).map(|s| s.id)
    }

    /// Returns the state kept for a stream in flight.
    #[inline]
    pub fn stream_state(&mut self, id: u32) -> Option<&mut T> {
        self.streams.get(id).map(|s| &mut s.state)
    }

    /// Gives up a stream with RST_STREAM and returns its state.
    pub fn reset(&mut self, id: u32, code: u32, out: &mut OutputBuffer) -> Option<T> {
        let stream = self.forget(id)?;
        frames::put_number(frames::RST_STREAM, id, code, out.buffer());
        self.cancelled = true;
        Some(stream.state)
    }

    /// Removes a stream and its queued blocks. Otherwise a peer that never opens its window would make us keep a
    /// remnant of every stream.
    #[inline]
    pub(super) fn forget(&mut self, id: u32) -> Option<Http2Stream<T>> {
        let stream = self.streams.remove(id)?;
        if stream.queue.is_some() {
            self.sending.forget(&stream);
        }
        Some(stream)
    }

    /// Implements [`brunt_contract::Session::pending_replies`].
    #[inline]
    pub fn replies(&self) -> u32 {
        self.replies
    }

    /// Implements [`brunt_contract::Session::reset_pending_replies`].
    pub fn replies_left(&mut self) {
        self.replies = 0;
    }

    /// Returns the cause named by the peer's GOAWAY, or the cause for a close before the peer's SETTINGS; `None` if
    /// neither applies.
    pub fn goodbye(&self) -> Option<StaticCause> {
        match &self.goaway {
            Some(said) => Some(code::of_goaway(said.0)),
            // A TLS server that receives cleartext HTTP/2 usually closes without sending anything.
            None if self.settled || self.live() == 0 => None,
            None if self.tls => Some(SILENT_IN_TLS),
            None => Some(SILENT),
        }
    }

    /// Like [`Self::goodbye`], with the debug data of the peer's GOAWAY.
    pub fn farewell(&self) -> Option<Cause> {
        let (goodbye, data) = (self.goodbye(), self.goaway_debug_data());
        if data.is_empty() {
            return goodbye.map(Cause::from);
        }
        let data = data[..data.len().min(FAREWELL_BOUND)].escape_ascii().to_string();
        Some(match goodbye {
            Some(goodbye) => brunt_cause::http2::with_data(goodbye, data),
            None => brunt_cause::http2::data_alone(data),
        })
    }

    /// Returns the cause for streams that the peer did not process: after GOAWAY it closes the connection, otherwise it
    /// refused the stream.
    pub fn why_refused(&self) -> StaticCause {
        if self.going_away { TURNED_AWAY } else { REFUSED }
    }

    /// Returns the debug data of the peer's GOAWAY.
    pub fn goaway_debug_data(&self) -> &[u8] {
        self.goaway.as_ref().map_or(&[], |said| &said.1)
    }

    /// Sends a PING; returns `false` if one is already outstanding.
    pub fn ping(&mut self, out: &mut OutputBuffer) -> bool {
        if self.pinging {
            return false;
        }
        self.pings = self.pings.wrapping_add(1);
        self.pinging = true;
        frames::put(frames::PING, 0, 0, &u64::from(self.pings).to_be_bytes(), out.buffer());
        true
    }

    /// Appends GOAWAY: no more streams are opened, and the connection will be closed.
    pub fn finish(&mut self, out: &mut OutputBuffer) {
        put_goaway(code::NO_ERROR, out);
        self.going_away = true;
    }

    /// Processes bytes from the peer, split anywhere.
    ///
    /// # Errors
    /// Fails if the bytes violate HTTP/2. A GOAWAY with the error code has then been appended, and the connection must
    /// be closed.
    #[inline]
    pub fn receive(
        &mut self,
        bytes: &[u8],
        out: &mut OutputBuffer,
        ear: &mut impl StreamListener<T>,
    ) -> Result<(), ProtocolError> {
        self.read(bytes, out.buffer(), ear).map_err(|ConnectionError(code, what)| {
            put_goaway(code, out);
            self.going_away = true;
            ProtocolError(what)
        })
    }
}

fn put_goaway(code: u32, out: &mut OutputBuffer) {
    let mut payload = [0; 8];
    payload[4..].copy_from_slice(&code.to_be_bytes());
    frames::put(frames::GOAWAY, 0, 0, &payload, out.buffer());
}
