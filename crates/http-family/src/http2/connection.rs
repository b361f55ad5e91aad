//! The client's end of an HTTP/2 connection (RFC 9113), whatever its streams mean: HTTP and gRPC are two owners of it.
//!
//! Spoken: streams, header blocks, bodies under flow control both ways, SETTINGS at any time, PING, GOAWAY, RST_STREAM.
//! What the peer says of a stream goes to a [`Listener`], by static dispatch; the rest is answered here. Whatever the
//! peer sends, memory stays bounded: a frame is kept until it is whole, a header block up to 256 KiB, bodies not at
//! all, and frames that lead to nothing are counted. A stream error of the peer's framing is taken as one of the
//! connection (5.4.1 allows it). Left out: priorities, and push, which is refused.

use std::sync::Arc;

use cause::{Cause, Plain};
use wire::{Broken, Out};

use super::frames::{self, FrameHead, HEAD, code, setting};
use super::hpack::{Decoder, Encoder, Fields, LIST_BOUND, Lexicon, List, Malformed};
use super::sending::Sending;
use super::streams::{Stream, Streams};
use values::kept::{Budget, Kept};

/// What a stream may send us without hearing from us.
pub(super) const STREAM_WINDOW: u32 = 1 << 24;
/// What all streams together may.
pub(super) const WINDOW: u32 = 1 << 30;
/// Streams we open before the peer says how many it takes (6.5.2 wants it to take a hundred).
const STREAMS_START: u32 = 100;

/// So many bytes of a GOAWAY's debug data are told in a sentence.
const FAREWELL_BOUND: usize = 160;

/// What is said of a server that ends the connection before its SETTINGS.
const SILENT: Plain = cause::http2::silent_in_clear();
/// The same where TLS is spoken.
const SILENT_IN_TLS: Plain = cause::http2::silent();

/// What to do with a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// Go on, or forget it where this was its end.
    Go,
    /// Reset it with this code and forget it.
    Reset(u32),
}

/// Hears what the peer says of streams. `T` is what it keeps of each.
pub trait Listener<T> {
    /// A head, an interim head or a trailer. Fields that are not read are read over.
    ///
    /// # Errors
    /// Passes on those of [`Fields::next`].
    fn head(&mut self, own: &mut T, fields: &mut Fields<'_>, end: bool) -> Result<Next, Malformed>;
    /// A piece of the body, perhaps an empty one; `end`: the last.
    fn data(&mut self, own: &mut T, bytes: &[u8], end: bool) -> Next;
    /// The peer reset the stream.
    fn reset(&mut self, own: T, code: u32);
    /// The peer did nothing for the stream and never will.
    fn refused(&mut self, own: T);
    /// The peer answered [`Connection::ping`].
    fn alive(&mut self) {}
    /// The peer ends the connection, or a stream; told beside what becomes of streams by it.
    fn word(&mut self, _word: code::Word) {}
}

const TURNED_AWAY: Plain = cause::http2::turned_away();
const REFUSED: Plain = cause::http2::refused();

/// Why the connection cannot go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Fault(pub(super) u32, pub(super) Plain);

impl From<Malformed> for Fault {
    fn from(malformed: Malformed) -> Fault {
        Fault(code::COMPRESSION_ERROR, malformed.0)
    }
}

/// A DATA frame under way.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Data {
    /// 0: nobody's.
    pub(super) stream: u32,
    /// Bytes of content to come.
    pub(super) left: u32,
    /// Bytes of padding to come.
    pub(super) padding: u32,
    pub(super) end: bool,
    pub(super) under_way: bool,
}

/// One connection, client side.
#[derive(Debug)]
pub struct Connection<T> {
    pub(super) streams: Streams<T>,
    pub(super) encoder: Encoder,
    pub(super) decoder: Decoder,
    pub(super) sending: Sending,
    /// The beginning of a frame.
    pub(super) kept: Vec<u8>,
    /// The beginning of a header block, of this stream and with this end.
    pub(super) block: Kept,
    pub(super) assembling: Option<(u32, bool)>,
    /// What that is kept within, of all connections of a run together.
    pub(super) budget: Budget,
    pub(super) data: Data,
    /// Bytes received since the connection's window was last topped up.
    pub(super) received: u32,
    /// Streams the peer takes at once.
    pub(super) most: u32,
    /// Frames since the last that led to something.
    pub(super) idle_frames: u32,
    /// PING and SETTINGS answered, of which it is not known that the answers have left.
    pub(super) replies: u32,
    pub(super) pings: u32,
    /// The peer's first SETTINGS came.
    pub(super) settled: bool,
    pub(super) going_away: bool,
    /// The code of the peer's GOAWAY, and what it said beside it.
    pub(super) goodbye: Option<Box<(u32, Vec<u8>)>>,
    /// We gave up a stream about which the peer may still talk.
    pub(super) cancelled: bool,
    pub(super) pinging: bool,
    /// TLS is spoken.
    pub(super) tls: bool,
}

impl<T> Default for Connection<T> {
    fn default() -> Self {
        Connection::over(false, Budget::default())
    }
}

impl<T> Connection<T> {
    /// A connection of which is known whether it speaks TLS, and within what it keeps heads that arrive in pieces.
    pub fn over(tls: bool, budget: Budget) -> Connection<T> {
        Connection {
            streams: Streams::default(),
            encoder: Encoder::default(),
            decoder: Decoder::default(),
            sending: Sending::default(),
            kept: Vec::new(),
            block: Kept::default(),
            budget,
            assembling: None,
            data: Data::default(),
            received: 0,
            most: STREAMS_START,
            idle_frames: 0,
            replies: 0,
            pings: 0,
            settled: false,
            going_away: false,
            goodbye: None,
            cancelled: false,
            pinging: false,
            tls,
        }
    }

    /// Appends what a client says first: preface, settings, and windows so large that topping up is rare.
    pub fn open(&mut self, out: &mut Out) {
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

    /// Streams that may be begun now.
    #[inline]
    pub fn room(&self) -> usize {
        if self.going_away || self.streams.exhausted() {
            return 0;
        }
        (self.most as usize).saturating_sub(self.streams.live())
    }

    /// Exchanges that may be begun now, where at most so many share the connection.
    #[inline]
    pub fn room_of(&self, streams: u32) -> usize {
        (streams as usize).saturating_sub(self.live()).min(self.room())
    }

    /// Streams in flight.
    #[inline]
    pub fn live(&self) -> usize {
        self.streams.live()
    }

    /// True once the peer has said what it takes.
    pub fn settled(&self) -> bool {
        self.settled
    }

    /// Begins a stream with this head and returns its id; `end`: nothing follows. Not to be called without
    /// [`Self::room`].
    #[inline]
    pub fn begin(&mut self, own: T, end: bool, lexicon: &Lexicon, list: &List, out: &mut Out) -> u32 {
        self.begin_with(own, end, out, |encoder, out| encoder.write(lexicon, list, out))
    }

    /// The same with a head that `write` writes.
    #[inline]
    pub fn begin_with(
        &mut self,
        own: T,
        end: bool,
        out: &mut Out,
        write: impl FnOnce(&mut Encoder, &mut Vec<u8>),
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

    /// Sends a block of a stream's body; what the peer does not take yet waits here. `end`: the last of it.
    pub fn send(&mut self, id: u32, block: &Arc<[u8]>, end: bool, out: &mut Out) {
        if let Some(stream) = self.streams.get(id) {
            self.idle_frames = 0;
            self.sending.send(stream, block, end, out.buffer());
        }
    }

    /// The same with bytes that are nobody else's: copied only where some of them must wait.
    pub fn send_bytes(&mut self, id: u32, bytes: &[u8], end: bool, out: &mut Out) {
        if let Some(stream) = self.streams.get(id) {
            self.idle_frames = 0;
            self.sending.send_bytes(stream, bytes, end, out.buffer());
        }
    }

    /// Bytes that [`Self::send`] would send at once.
    pub fn sendable(&mut self, id: u32) -> usize {
        let Some(stream) = self.streams.get(id) else { return 0 };
        if stream.waiting.is_some() { 0 } else { self.sending.window_for(stream) }
    }

    /// Sends a block of a stream's body if the peer takes it now; false: nothing was sent.
    pub fn try_send(&mut self, id: u32, block: &[u8], end: bool, out: &mut Out) -> bool {
        let Some(stream) = self.streams.get(id).filter(|s| s.waiting.is_none() && !s.said) else { return false };
        if self.sending.window_for(stream) < block.len() {
            return false;
        }
        self.sending.write(stream, block, end, out.buffer());
        true
    }

    /// The first stream of which this holds.
    pub fn find(&mut self, which: impl Fn(&T) -> bool) -> Option<u32> {
        self.streams.iter_mut().find(|s| which(&s.own)).map(|s| s.id)
    }

    /// What the owner keeps of a stream in flight.
    #[inline]
    pub fn own(&mut self, id: u32) -> Option<&mut T> {
        self.streams.get(id).map(|s| &mut s.own)
    }

    /// Gives a stream up, and tells the peer.
    pub fn reset(&mut self, id: u32, code: u32, out: &mut Out) -> Option<T> {
        let stream = self.forget(id)?;
        frames::put_number(frames::RST_STREAM, id, code, out.buffer());
        self.cancelled = true;
        Some(stream.own)
    }

    /// Forgets a stream, and what of it waits: a peer that never widens a window would have us keep a trace of each.
    #[inline]
    pub(super) fn forget(&mut self, id: u32) -> Option<Stream<T>> {
        let stream = self.streams.remove(id)?;
        if stream.waiting.is_some() {
            self.sending.forget(&stream);
        }
        Some(stream)
    }

    /// As [`wire::Session::replies`].
    #[inline]
    pub fn replies(&self) -> u32 {
        self.replies
    }

    /// As [`wire::Session::replies_left`].
    pub fn replies_left(&mut self) {
        self.replies = 0;
    }

    /// The error that the peer named when it said GOAWAY, in a sentence; None where it named none.
    pub fn goodbye(&self) -> Option<Plain> {
        match &self.goodbye {
            Some(said) => Some(code::of_goaway(said.0)),
            // A server of TLS that hears HTTP/2 in the clear mostly closes without a word.
            None if self.settled || self.live() == 0 => None,
            None if self.tls => Some(SILENT_IN_TLS),
            None => Some(SILENT),
        }
    }

    /// The same with what the peer said beside it (the debug data of its GOAWAY).
    pub fn farewell(&self) -> Option<Cause> {
        let (goodbye, data) = (self.goodbye(), self.goodbye_text());
        if data.is_empty() {
            return goodbye.map(Cause::from);
        }
        let data = data[..data.len().min(FAREWELL_BOUND)].escape_ascii().to_string();
        Some(match goodbye {
            Some(goodbye) => cause::http2::with_data(goodbye, data),
            None => cause::http2::data_alone(data),
        })
    }

    /// Why the peer did nothing for a stream: on a connection that goes on it refused it, and nothing else ended.
    pub fn why_refused(&self) -> Plain {
        if self.going_away { TURNED_AWAY } else { REFUSED }
    }

    /// What the peer said beside that.
    pub fn goodbye_text(&self) -> &[u8] {
        self.goodbye.as_ref().map_or(&[], |said| &said.1)
    }

    /// Asks for a sign of life; false where one is on its way.
    pub fn ping(&mut self, out: &mut Out) -> bool {
        if self.pinging {
            return false;
        }
        self.pings = self.pings.wrapping_add(1);
        self.pinging = true;
        frames::put(frames::PING, 0, 0, &u64::from(self.pings).to_be_bytes(), out.buffer());
        true
    }

    /// Appends GOAWAY: we open no more streams, and close.
    pub fn finish(&mut self, out: &mut Out) {
        put_goaway(code::NO_ERROR, out);
        self.going_away = true;
    }

    /// Takes bytes from the peer, cut anywhere.
    ///
    /// # Errors
    /// What about them is not HTTP/2; a GOAWAY that says so was appended, and the connection must be closed.
    #[inline]
    pub fn receive(&mut self, bytes: &[u8], out: &mut Out, ear: &mut impl Listener<T>) -> Result<(), Broken> {
        self.read(bytes, out.buffer(), ear).map_err(|Fault(code, what)| {
            put_goaway(code, out);
            self.going_away = true;
            Broken(what)
        })
    }
}

fn put_goaway(code: u32, out: &mut Out) {
    let mut payload = [0; 8];
    payload[4..].copy_from_slice(&code.to_be_bytes());
    frames::put(frames::GOAWAY, 0, 0, &payload, out.buffer());
}
