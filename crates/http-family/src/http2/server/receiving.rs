//! Frames from a client, and the requests they form (RFC 9113 6 and 8.3.1).

use brunt_contract::{RequestPart, ServerRequest};

use super::{Http2Server, RequestHead, STREAMS, ServerError, ServerExchange, WINDOW};
use crate::http2::frames::{self, FrameHead, HEAD, PAYLOAD_BOUND, PREFACE, code, setting};
use crate::http2::head::is_field;
use crate::http2::hpack::{HeaderFields, HpackError, LIST_BOUND};
use crate::http2::streams::Http2Stream;

/// Maximum number of body bytes kept for the report of a request.
const SHOWN_BOUND: usize = 64 * 1024;
/// Maximum number of bytes kept for incomplete requests.
const ASKING_BOUND: usize = 16 << 20;
/// Maximum number of consecutive frames without effect.
const FLOOD_BOUND: u32 = 65_536;

const WRONG_SIZE: ServerError = ServerError(code::FRAME_SIZE_ERROR, brunt_cause::http2::wrong_size());
const TOO_PADDED: ServerError = ServerError(code::PROTOCOL_ERROR, brunt_cause::http2::too_padded());
const NO_STREAM: ServerError = ServerError(code::PROTOCOL_ERROR, brunt_cause::http2::never_opened());
const TOO_WIDE: ServerError = ServerError(code::FLOW_CONTROL_ERROR, brunt_cause::http2::too_wide());

impl From<HpackError> for ServerError {
    fn from(malformed: HpackError) -> ServerError {
        ServerError(code::COMPRESSION_ERROR, malformed.0)
    }
}

impl Http2Server {
    pub(super) fn read(&mut self, bytes: &[u8], hear: &mut dyn FnMut(ServerRequest<'_>)) -> Result<(), ServerError> {
        let mut rest = bytes;
        while !self.partial_frame.is_empty() {
            let missing = self.needed(&self.partial_frame)?.saturating_sub(self.partial_frame.len());
            if missing == 0 {
                let mut unit = std::mem::take(&mut self.partial_frame);
                self.process_frame(&unit, hear)?;
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
        while !rest.is_empty() {
            let needed = self.needed(rest)?;
            let Some((unit, more)) = rest.split_at_checked(needed) else {
                self.partial_frame.extend_from_slice(rest);
                return Ok(());
            };
            self.process_frame(unit, hear)?;
            rest = more;
        }
        Ok(())
    }

    /// Returns the number of bytes needed to continue: the preface, or a whole frame.
    fn needed(&self, bytes: &[u8]) -> Result<usize, ServerError> {
        if !self.greeted {
            let seen = bytes.len().min(PREFACE.len());
            let good = bytes[..seen] == PREFACE[..seen];
            return good
                .then_some(PREFACE.len())
                .ok_or(ServerError(code::PROTOCOL_ERROR, brunt_cause::http2::no_preface()));
        }
        let Some(head) = bytes.first_chunk::<HEAD>() else { return Ok(HEAD) };
        let head = FrameHead::read(head);
        if head.length > PAYLOAD_BOUND {
            return Err(ServerError(code::FRAME_SIZE_ERROR, brunt_cause::http2::too_long()));
        }
        if let Some((stream, _)) = self.assembling
            && (head.kind != frames::CONTINUATION || head.stream != stream)
        {
            return Err(ServerError(code::PROTOCOL_ERROR, brunt_cause::http2::interrupted()));
        }
        Ok(HEAD + head.length)
    }

    fn process_frame(&mut self, unit: &[u8], hear: &mut dyn FnMut(ServerRequest<'_>)) -> Result<(), ServerError> {
        if !self.greeted {
            self.greeted = true;
            return Ok(());
        }
        let Some((head, payload)) = unit.split_first_chunk::<HEAD>() else { return Ok(()) };
        let head = FrameHead::read(head);
        match head.kind {
            frames::HEADERS => {
                let mut block = frames::without_padding(head, payload).ok_or(TOO_PADDED)?;
                if head.has(frames::PRIORITIZED) {
                    block = block.get(5..).ok_or(WRONG_SIZE)?;
                }
                let end = head.has(frames::END_STREAM);
                if head.has(frames::END_HEADERS) {
                    return self.block(head.stream, block, end, hear);
                }
                self.assembling = Some((head.stream, end));
                self.block.extend_from_slice(block);
                Ok(())
            }
            frames::CONTINUATION => self.continuation(head, payload, hear),
            frames::DATA => self.body(head, payload, hear),
            _ => self.control(head, payload, hear),
        }
    }

    #[cold]
    fn continuation(
        &mut self,
        head: FrameHead,
        payload: &[u8],
        hear: &mut dyn FnMut(ServerRequest<'_>),
    ) -> Result<(), ServerError> {
        let Some((stream, end)) = self.assembling else {
            return Err(ServerError(code::PROTOCOL_ERROR, brunt_cause::http2::lone_continuation()));
        };
        if self.block.len() + payload.len() > LIST_BOUND {
            return Err(ServerError(code::ENHANCE_YOUR_CALM, brunt_cause::http2::endless_headers()));
        }
        self.count_idle()?;
        self.block.extend_from_slice(payload);
        if !head.has(frames::END_HEADERS) {
            return Ok(());
        }
        self.assembling = None;
        let block = std::mem::take(&mut self.block);
        self.block(stream, &block, end, hear)
    }

    /// Handles a whole header block: the head of a request, or its trailer.
    fn block(
        &mut self,
        id: u32,
        block: &[u8],
        end: bool,
        hear: &mut dyn FnMut(ServerRequest<'_>),
    ) -> Result<(), ServerError> {
        if id.is_multiple_of(2) {
            return Err(NO_STREAM);
        }
        let mut fields = self.decoder.read(block);
        if id <= self.last_id {
            fields.finish()?;
            return match self.streams.get(id) {
                Some(stream) if end && stream.state.open => self.report_request(id, hear),
                Some(_) => Err(ServerError(code::PROTOCOL_ERROR, brunt_cause::http2::open_trailer())),
                None => self.count_idle(),
            };
        }
        self.last_id = id;
        if fields.remembered_digest(0) != Some(self.texts) {
            let Some(text) = text(&mut fields)? else {
                fields.finish()?;
                frames::put_number(frames::RST_STREAM, id, code::PROTOCOL_ERROR, &mut self.due_replies);
                return self.count_idle();
            };
            self.texts += 1;
            self.text = text;
            self.text.in_pieces = (self.in_pieces)(self.text.method(), &self.text.bytes);
            fields.remember(0, self.texts)?;
        }
        fields.finish()?;
        if self.shutting_down {
            // A stream beyond the last one named in our GOAWAY.
            return self.count_idle();
        }
        let (head_only, in_pieces) = (self.text.method() == "HEAD", self.text.in_pieces);
        let asked = ServerExchange { head_only, in_pieces, open: !end, ..ServerExchange::default() };
        let window = self.sending.stream_window();
        let full = self.streams.live() >= STREAMS as usize;
        let Some(stream) = (!full).then(|| self.streams.insert(id, window, asked)).flatten() else {
            frames::put_number(frames::RST_STREAM, id, code::REFUSED_STREAM, &mut self.due_replies);
            return self.count_idle();
        };
        if !end && !in_pieces {
            stream.state.text = self.text.clone();
            let length = self.text.bytes.len();
            return self.keep(length);
        }
        self.idle_frames = 0;
        let (method, path) = (self.text.method(), self.text.path());
        let extent = if in_pieces { RequestPart::Head } else { RequestPart::Whole };
        hear(ServerRequest { id, method, path, head: &self.text.bytes, part: extent, ..ServerRequest::default() });
        if in_pieces && end {
            hear(ServerRequest { id, part: RequestPart::LastChunk, ..ServerRequest::default() });
        }
        Ok(())
    }

    fn body(
        &mut self,
        head: FrameHead,
        payload: &[u8],
        hear: &mut dyn FnMut(ServerRequest<'_>),
    ) -> Result<(), ServerError> {
        let content = frames::without_padding(head, payload).ok_or(TOO_PADDED)?;
        let id = head.stream;
        if id.is_multiple_of(2) || id > self.last_id {
            return Err(NO_STREAM);
        }
        self.received += payload.len() as u32;
        if self.received > WINDOW / 2 {
            frames::put_number(frames::WINDOW_UPDATE, 0, self.received, &mut self.due_replies);
            self.received = 0;
        }
        let end = head.has(frames::END_STREAM);
        let Some(stream) = self.streams.get(id) else { return self.count_idle() };
        if !stream.state.open {
            return Err(ServerError(code::STREAM_CLOSED, brunt_cause::http2::closed_stream()));
        }
        stream.received += payload.len() as u32;
        if stream.received > WINDOW / 2 && !end {
            frames::put_number(frames::WINDOW_UPDATE, id, stream.received, &mut self.due_replies);
            stream.received = 0;
        }
        let asked = &mut stream.state;
        asked.body_bytes += content.len() as u64;
        if asked.in_pieces {
            if !content.is_empty() {
                self.idle_frames = 0;
                hear(ServerRequest {
                    id,
                    body_bytes: content.len() as u64,
                    body: content,
                    part: RequestPart::BodyChunk,
                    ..ServerRequest::default()
                });
            }
            return match (end, content.is_empty()) {
                (true, _) => self.report_request(id, hear),
                (false, true) => self.count_idle(),
                (false, false) => Ok(()),
            };
        }
        let room = SHOWN_BOUND.saturating_sub(asked.shown.len());
        let shown = content.len().min(room);
        asked.shown.extend_from_slice(&content[..shown]);
        self.keep(shown)?;
        if end {
            return self.report_request(id, hear);
        }
        if content.is_empty() { self.count_idle() } else { Ok(()) }
    }

    /// Reports a request whose body is complete.
    fn report_request(&mut self, id: u32, hear: &mut dyn FnMut(ServerRequest<'_>)) -> Result<(), ServerError> {
        self.idle_frames = 0;
        if let Some(stream) = self.streams.get(id) {
            let ServerExchange { text, body_bytes, shown, open, in_pieces, .. } = &mut stream.state;
            *open = false;
            if *in_pieces {
                hear(ServerRequest { id, part: RequestPart::LastChunk, ..ServerRequest::default() });
                return Ok(());
            }
            let (text, body) = (std::mem::take(text), std::mem::take(shown));
            self.request_bytes -= text.bytes.len() + body.len();
            let (method, path) = (text.method(), text.path());
            let (body_bytes, extent) = (*body_bytes, RequestPart::Whole);
            hear(ServerRequest { id, method, path, head: &text.bytes, body_bytes, body: &body, part: extent });
        }
        Ok(())
    }

    /// Counts bytes kept for incomplete requests: a few bytes on the wire may expand to a long head.
    fn keep(&mut self, bytes: usize) -> Result<(), ServerError> {
        self.request_bytes += bytes;
        let few = self.request_bytes <= ASKING_BOUND;
        few.then_some(()).ok_or(ServerError(code::ENHANCE_YOUR_CALM, brunt_cause::http2::no_room_for_requests()))
    }

    fn count_idle(&mut self) -> Result<(), ServerError> {
        self.idle_frames += 1;
        if self.idle_frames > FLOOD_BOUND {
            return Err(ServerError(code::ENHANCE_YOUR_CALM, brunt_cause::http2::flood()));
        }
        Ok(())
    }

    #[cold]
    fn control(
        &mut self,
        head: FrameHead,
        payload: &[u8],
        hear: &mut dyn FnMut(ServerRequest<'_>),
    ) -> Result<(), ServerError> {
        self.count_idle()?;
        let id = head.stream;
        let of_connection = matches!(head.kind, frames::SETTINGS | frames::PING | frames::GOAWAY);
        let of_stream = matches!(head.kind, frames::RST_STREAM | frames::PRIORITY);
        if (of_connection && id != 0) || (of_stream && id == 0) {
            return Err(ServerError(code::PROTOCOL_ERROR, brunt_cause::http2::misplaced()));
        }
        match head.kind {
            frames::SETTINGS => self.settings(head, payload),
            frames::PING if payload.len() != 8 => Err(WRONG_SIZE),
            frames::PING if head.has(frames::ACK) => Ok(()),
            frames::PING => {
                frames::put(frames::PING, frames::ACK, 0, payload, &mut self.due_replies);
                self.heartbeats += 1;
                Ok(())
            }
            frames::GOAWAY if payload.len() < 8 => Err(WRONG_SIZE),
            frames::RST_STREAM if payload.len() != 4 => Err(WRONG_SIZE),
            frames::RST_STREAM if id > self.last_id => Err(NO_STREAM),
            frames::RST_STREAM => {
                if self.forget(id).is_some_and(|stream| stream.state.in_pieces) {
                    hear(ServerRequest { id, part: RequestPart::Aborted, ..ServerRequest::default() });
                }
                Ok(())
            }
            frames::PRIORITY if payload.len() != 5 => Err(WRONG_SIZE),
            frames::PUSH_PROMISE => Err(ServerError(code::PROTOCOL_ERROR, brunt_cause::http2::client_pushes())),
            frames::WINDOW_UPDATE => self.window_update(id, payload),
            _ => Ok(()),
        }
    }

    fn settings(&mut self, head: FrameHead, payload: &[u8]) -> Result<(), ServerError> {
        if head.has(frames::ACK) {
            return if payload.is_empty() { Ok(()) } else { Err(WRONG_SIZE) };
        }
        if !payload.len().is_multiple_of(6) {
            return Err(WRONG_SIZE);
        }
        for (number, value) in frames::settings(payload) {
            match number {
                setting::HEADER_TABLE_SIZE => self.encoder.resize(value),
                setting::ENABLE_PUSH if value > 1 => return Err(OUT_OF_RANGE),
                setting::INITIAL_WINDOW_SIZE => self.sending.resize(value, &mut self.streams).ok_or(TOO_WIDE)?,
                setting::MAX_FRAME_SIZE if !(PAYLOAD_BOUND as u32..1 << 24).contains(&value) => {
                    return Err(OUT_OF_RANGE);
                }
                setting::MAX_FRAME_SIZE => self.sending.set_largest(value as usize),
                _ => {}
            }
        }
        frames::put(frames::SETTINGS, frames::ACK, 0, &[], &mut self.due_replies);
        self.flush();
        Ok(())
    }

    fn window_update(&mut self, id: u32, payload: &[u8]) -> Result<(), ServerError> {
        let increment = u32::from_be_bytes(*payload.as_array::<4>().ok_or(WRONG_SIZE)?) & 0x7fff_ffff;
        if increment == 0 {
            return Err(ServerError(code::PROTOCOL_ERROR, brunt_cause::http2::empty_window_update()));
        }
        if id == 0 {
            self.sending.widen(increment).ok_or(TOO_WIDE)?;
        } else if let Some(stream) = self.streams.get(id) {
            stream.window = stream.window.checked_add(increment as i32).ok_or(TOO_WIDE)?;
        } else if id > self.last_id {
            return Err(NO_STREAM);
        }
        self.flush();
        Ok(())
    }

    /// Sends queued blocks and the trailers after them, and removes the streams that are over.
    pub(super) fn flush(&mut self) {
        if self.sending.has_queued() && self.sending.flush(&mut self.streams, &mut self.due_replies) {
            self.idle_frames = 0;
            let is_over = |s: &&mut Http2Stream<ServerExchange>| {
                s.closed_locally || (s.queue.is_none() && s.state.trailer.is_some())
            };
            let over = self.streams.iter_mut().filter(is_over).map(|s| (s.id, s.state.trailer.take()));
            for (id, trailer) in over.collect::<Vec<_>>() {
                let Some(trailer) = trailer else {
                    self.streams.remove(id);
                    continue;
                };
                let mut owed = std::mem::take(&mut self.due_replies);
                self.put_trailer(id, &trailer, &mut owed);
                self.due_replies = owed;
            }
        }
    }
}

const OUT_OF_RANGE: ServerError = ServerError(code::PROTOCOL_ERROR, brunt_cause::http2::setting());

/// Converts the head of a request to text; `None` if it is malformed (8.3.1).
fn text(fields: &mut HeaderFields<'_>) -> Result<Option<RequestHead>, HpackError> {
    let (mut method, mut path, mut authority) = (Vec::new(), Vec::new(), Vec::new());
    let (mut scheme, mut lines) = (false, Vec::new());
    while let Some((name, value)) = fields.next()? {
        let known = match name {
            b":method" => Some(&mut method),
            b":path" => Some(&mut path),
            b":authority" => Some(&mut authority),
            _ => None,
        };
        let first = lines.is_empty();
        let visible = !value.is_empty() && value.iter().all(u8::is_ascii_graphic);
        match known {
            Some(place) if first && visible && place.is_empty() => place.extend_from_slice(value),
            None if name == b":scheme" && first && !scheme => scheme = true,
            None if is_field(name, value) => {
                for part in [name, b": ", value, b"\r\n"] {
                    lines.extend_from_slice(part);
                }
            }
            _ => return Ok(None),
        }
    }
    if method.is_empty() || path.is_empty() || !scheme {
        return Ok(None);
    }
    let path_end = method.len() + 1 + path.len();
    let mut text = RequestHead { method: method.len(), path: path_end, bytes: method, in_pieces: false };
    text.bytes.push(b' ');
    text.bytes.extend_from_slice(&path);
    text.bytes.extend_from_slice(b" HTTP/2\r\n");
    if !authority.is_empty() && !lines.starts_with(b"host:") {
        for part in [b"host: ", &authority[..], b"\r\n"] {
            text.bytes.extend_from_slice(part);
        }
    }
    text.bytes.extend_from_slice(&lines);
    text.bytes.extend_from_slice(b"\r\n");
    Ok(Some(text))
}
