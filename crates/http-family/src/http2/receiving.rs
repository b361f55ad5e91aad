//! Splits bytes into frames and handles DATA, HEADERS and CONTINUATION (RFC 9113 4.3, 6.1, 6.2, 6.10).
//!
//! A frame that arrives whole is processed in place; an incomplete one is kept until the rest arrives. DATA is never
//! kept: it is passed on as it arrives.

use brunt_cause::StaticCause;

use super::connection::{
    ConnectionError, DataFrame, Http2Connection, STREAM_WINDOW, StreamDecision, StreamListener, WINDOW,
};
use super::frames::{self, FrameHead, HEAD, PAYLOAD_BOUND, code};
use super::hpack::LIST_BOUND;
use crate::detect::{DetectedProtocol, detect};
use brunt_values::budget::NO_ROOM_FOR_HEADS;

/// Maximum number of consecutive frames without effect.
const FLOOD_BOUND: u32 = 65_536;

impl<T> Http2Connection<T> {
    pub(super) fn read(
        &mut self,
        bytes: &[u8],
        out: &mut Vec<u8>,
        ear: &mut impl StreamListener<T>,
    ) -> Result<(), ConnectionError> {
        let mut rest = bytes;
        while !self.partial_frame.is_empty() {
            let missing = self.needed(&self.partial_frame)?.saturating_sub(self.partial_frame.len());
            if missing == 0 {
                let mut unit = std::mem::take(&mut self.partial_frame);
                self.process_frame(&unit, out, ear)?;
                unit.clear();
                self.partial_frame = unit;
                break;
            }
            if rest.is_empty() {
                return Ok(());
            }
            let (part, more) = rest.split_at(missing.min(rest.len()));
            self.partial_frame.extend_from_slice(part);
            rest = more;
        }
        loop {
            if self.data.under_way {
                rest = self.more_data(rest, out, ear);
            }
            if rest.is_empty() {
                return Ok(());
            }
            let needed = self.needed(rest)?;
            let Some((unit, more)) = rest.split_at_checked(needed) else {
                self.partial_frame.extend_from_slice(rest);
                return Ok(());
            };
            self.process_frame(unit, out, ear)?;
            rest = more;
        }
    }

    /// Returns the number of bytes needed to continue: a whole frame, or for DATA its header alone.
    #[inline]
    fn needed(&self, bytes: &[u8]) -> Result<usize, ConnectionError> {
        let head = bytes.first_chunk::<HEAD>();
        if !self.settled {
            reject_other_protocols(bytes)?;
        }
        let Some(head) = head else { return Ok(HEAD) };
        let head = FrameHead::read(head);
        if head.length > PAYLOAD_BOUND {
            return Err(ConnectionError(code::FRAME_SIZE_ERROR, brunt_cause::http2::too_long()));
        }
        if let Some((stream, _)) = self.assembling
            && (head.kind != frames::CONTINUATION || head.stream != stream)
        {
            return Err(ConnectionError(code::PROTOCOL_ERROR, brunt_cause::http2::interrupted()));
        }
        if !self.settled && (head.kind != frames::SETTINGS || head.has(frames::ACK)) {
            return Err(ConnectionError(code::PROTOCOL_ERROR, brunt_cause::http2::no_settings()));
        }
        if head.kind != frames::DATA {
            return Ok(HEAD + head.length);
        }
        if head.has(frames::PADDED) && head.length == 0 {
            return Err(TOO_PADDED);
        }
        Ok(HEAD + usize::from(head.has(frames::PADDED)))
    }

    /// Processes one whole frame, or the beginning of DATA.
    #[inline]
    fn process_frame(
        &mut self,
        unit: &[u8],
        out: &mut Vec<u8>,
        ear: &mut impl StreamListener<T>,
    ) -> Result<(), ConnectionError> {
        let Some((head, payload)) = unit.split_first_chunk::<HEAD>() else { return Ok(()) };
        let head = FrameHead::read(head);
        match head.kind {
            frames::DATA => {
                let padding = if head.has(frames::PADDED) { payload.first().copied() } else { None };
                self.begin_data(head, padding, out)?;
                if self.data.left + self.data.padding == 0 {
                    self.more_data(&[], out, ear);
                }
                Ok(())
            }
            frames::HEADERS => self.headers(head, payload, out, ear),
            frames::CONTINUATION => self.continuation(head, payload, out, ear),
            _ => self.control(head, payload, out, ear),
        }
    }

    /// Processes the beginning of DATA: updates the windows and finds the stream. The peer is granted more as soon as
    /// half of a window is used, so it never exceeds the window as counted here, and no check is needed.
    #[inline]
    fn begin_data(&mut self, head: FrameHead, padding: Option<u8>, out: &mut Vec<u8>) -> Result<(), ConnectionError> {
        let (length, end) = (head.length as u32, head.has(frames::END_STREAM));
        let padding_left = padding.map_or(0, u32::from);
        let content = length - u32::from(padding.is_some());
        let left = content.checked_sub(padding_left).ok_or(TOO_PADDED)?;
        self.received += length;
        if self.received > WINDOW / 2 {
            frames::put_number(frames::WINDOW_UPDATE, 0, self.received, out);
            self.received = 0;
        }
        let mut stream = head.stream;
        if let Some(known) = self.streams.get(stream) {
            known.received += length;
            if known.received > STREAM_WINDOW / 2 && !end {
                frames::put_number(frames::WINDOW_UPDATE, stream, known.received, out);
                known.received = 0;
            }
        } else {
            self.check_closed(stream)?;
            stream = 0;
        }
        if left > 0 && stream != 0 {
            self.idle_frames = 0;
        } else if stream != 0 && !end {
            self.count_idle()?;
        }
        self.data = DataFrame { stream, left, padding: padding_left, end, under_way: true };
        Ok(())
    }

    /// Processes bytes of the current DATA frame; returns the bytes that follow the frame.
    #[inline]
    fn more_data<'a>(&mut self, bytes: &'a [u8], out: &mut Vec<u8>, ear: &mut impl StreamListener<T>) -> &'a [u8] {
        let data = &mut self.data;
        let (piece, rest) = bytes.split_at((data.left as usize).min(bytes.len()));
        data.left -= piece.len() as u32;
        let (padding, rest) = rest.split_at((data.padding as usize).min(rest.len()));
        data.padding -= padding.len() as u32;
        let whole = data.left + data.padding == 0;
        data.under_way = !whole;
        let (id, end) = (data.stream, whole && data.end);
        if (!piece.is_empty() || end)
            && let Some(stream) = self.streams.get(id)
        {
            let next = ear.data(&mut stream.state, piece, end);
            // Whether the peer has finished must not depend on how its data was split.
            let ends = if next == StreamDecision::Continue { end } else { self.data.end };
            self.after(id, next, ends, out);
        }
        rest
    }

    #[inline]
    fn headers(
        &mut self,
        head: FrameHead,
        payload: &[u8],
        out: &mut Vec<u8>,
        ear: &mut impl StreamListener<T>,
    ) -> Result<(), ConnectionError> {
        let mut block = frames::without_padding(head, payload).ok_or(TOO_PADDED)?;
        if head.has(frames::PRIORITIZED) {
            block =
                block.get(5..).ok_or(ConnectionError(code::FRAME_SIZE_ERROR, brunt_cause::http2::short_headers()))?;
        }
        let end = head.has(frames::END_STREAM);
        if head.has(frames::END_HEADERS) {
            return self.head(head.stream, block, end, out, ear);
        }
        self.assembling = Some((head.stream, end));
        self.keep(block)
    }

    #[cold]
    fn continuation(
        &mut self,
        head: FrameHead,
        payload: &[u8],
        out: &mut Vec<u8>,
        ear: &mut impl StreamListener<T>,
    ) -> Result<(), ConnectionError> {
        let Some((stream, end)) = self.assembling else {
            return Err(ConnectionError(code::PROTOCOL_ERROR, brunt_cause::http2::lone_continuation()));
        };
        if self.block.len() + payload.len() > LIST_BOUND {
            return Err(ConnectionError(code::ENHANCE_YOUR_CALM, brunt_cause::http2::endless_headers()));
        }
        self.count_idle()?;
        self.keep(payload)?;
        if !head.has(frames::END_HEADERS) {
            return Ok(());
        }
        self.assembling = None;
        let block = std::mem::take(&mut self.block);
        self.head(stream, &block, end, out, ear)
    }

    /// Keeps a piece of a header block until the rest arrives.
    fn keep(&mut self, piece: &[u8]) -> Result<(), ConnectionError> {
        let there = self.block.extend(piece, &self.budget);
        if there { Ok(()) } else { Err(ConnectionError(code::ENHANCE_YOUR_CALM, NO_ROOM_FOR_HEADS)) }
    }

    /// Processes a whole header block.
    #[inline]
    fn head(
        &mut self,
        id: u32,
        block: &[u8],
        end: bool,
        out: &mut Vec<u8>,
        ear: &mut impl StreamListener<T>,
    ) -> Result<(), ConnectionError> {
        let mut fields = self.decoder.read(block);
        let Some(stream) = self.streams.get(id) else {
            fields.finish()?;
            return self.check_closed(id);
        };
        stream.answered = true;
        let next = ear.head(&mut stream.state, &mut fields, end)?;
        fields.finish()?;
        self.after(id, next, end, out);
        if end { Ok(()) } else { self.count_idle() }
    }

    /// Applies the listener's decision about a stream.
    #[inline]
    fn after(&mut self, id: u32, next: StreamDecision, end: bool, out: &mut Vec<u8>) {
        let code = match next {
            StreamDecision::Continue if !end => return,
            // The response is complete before the request was fully sent: the rest is no longer needed (8.1).
            StreamDecision::Continue => code::CANCEL,
            StreamDecision::Reset(code) => code,
        };
        self.idle_frames = 0;
        if let Some(stream) = self.forget(id)
            && !(end && stream.closed_locally)
        {
            frames::put_number(frames::RST_STREAM, id, code, out);
            // A peer that has ended its side of the stream has nothing in transit.
            self.cancelled |= !end;
        }
    }

    /// Checks a frame for a stream that is not in flight: allowed only while the peer may not know yet that we reset
    /// it.
    fn check_closed(&mut self, id: u32) -> Result<(), ConnectionError> {
        if self.streams.is_idle(id) {
            return Err(ConnectionError(code::PROTOCOL_ERROR, brunt_cause::http2::never_opened()));
        }
        if !self.cancelled {
            return Err(ConnectionError(code::STREAM_CLOSED, brunt_cause::http2::closed_stream()));
        }
        self.count_idle()
    }

    pub(super) fn count_idle(&mut self) -> Result<(), ConnectionError> {
        self.idle_frames += 1;
        if self.idle_frames > FLOOD_BOUND {
            return Err(ConnectionError(code::ENHANCE_YOUR_CALM, brunt_cause::http2::flood()));
        }
        Ok(())
    }
}

/// Rejects bytes that are known to be another protocol.
#[cold]
fn reject_other_protocols(first: &[u8]) -> Result<(), ConnectionError> {
    match detect(first) {
        Some(DetectedProtocol::Tls) => Err(ConnectionError(code::PROTOCOL_ERROR, SPEAKS_TLS)),
        Some(DetectedProtocol::Http1) => Err(ConnectionError(code::PROTOCOL_ERROR, SPEAKS_HTTP1)),
        Some(DetectedProtocol::Http2) | None => Ok(()),
    }
}

/// The server's first bytes are TLS.
pub(super) const SPEAKS_TLS: StaticCause = brunt_cause::http2::uses_tls();
/// The server's first bytes are HTTP/1.
pub(super) const SPEAKS_HTTP1: StaticCause = brunt_cause::http2::speaks_http1();

const TOO_PADDED: ConnectionError = ConnectionError(code::PROTOCOL_ERROR, brunt_cause::http2::too_padded());
