//! Responses: complete ones, and responses in parts for servers that send more than a status and a body, or less than
//! announced.

use std::fmt::Write as _;
use std::sync::Arc;

use brunt_contract::{OutputBuffer, ServerResponse};

use super::{Http2Server, ServerExchange};
use crate::http2::frames::{self, FrameHead, HEAD, code};
use crate::http2::hpack::HeaderList;
use crate::http2::streams::Http2Stream;

/// The last response head sent, kept for reuse.
#[derive(Debug, Default)]
pub struct EncodedHead {
    status: u16,
    length: Option<usize>,
    headers: Vec<u8>,
    list: HeaderList,
}

impl EncodedHead {
    fn is(&self, status: u16, headers: &[u8], length: Option<usize>) -> bool {
        self.status == status && self.length == length && *self.headers == *headers
    }

    fn of(status: u16, headers: &[u8], length: Option<usize>) -> EncodedHead {
        let mut list = HeaderList::default();
        let mut text = String::new();
        let _ = write!(text, "{status}");
        list.put(":status", &text);
        if let Some(length) = length {
            text.clear();
            let _ = write!(text, "{length}");
            list.put("content-length", &text);
        }
        put_lines(headers, &mut list);
        EncodedHead { status, length, headers: headers.to_vec(), list }
    }
}

/// Converts HTTP/1 header lines to fields.
fn put_lines(lines: &[u8], list: &mut HeaderList) {
    let lines = String::from_utf8_lossy(lines);
    for (name, value) in lines.split("\r\n").filter_map(|line| line.split_once(':')) {
        let name = name.to_ascii_lowercase();
        if name != "connection" && name != "transfer-encoding" {
            list.put(&name, value.trim());
        }
    }
}

impl Http2Server {
    /// Sends the head of a response: header lines in HTTP/1 syntax and the announced length; `last` is set if no body
    /// follows. Returns `true` if a body still has to be sent.
    pub fn head(
        &mut self,
        id: u32,
        status: u16,
        headers: &[u8],
        length: Option<usize>,
        last: bool,
        out: &mut OutputBuffer,
    ) -> bool {
        let Some(stream) = self.streams.get(id).filter(|s| !s.closed_locally) else { return false };
        let last = last || stream.state.head_only;
        (stream.closed_locally, stream.state.head_sent) = (last, true);
        if !self.last_head.is(status, headers, length) {
            self.last_head = EncodedHead::of(status, headers, length);
        }
        let said = std::mem::take(&mut self.last_head);
        self.put_head(id, &said.list, last, out.buffer());
        self.last_head = said;
        !last
    }

    /// Sends a trailer, which ends the response; queued behind blocks that wait for the client's window.
    pub fn trailer(&mut self, id: u32, headers: &[u8], out: &mut OutputBuffer) {
        let Some(stream) = self.streams.get(id).filter(|s| !s.closed_locally) else { return };
        if stream.queue.is_some() {
            stream.state.trailer = Some(headers.into());
        } else {
            self.put_trailer(id, headers, out.buffer());
        }
    }

    pub(super) fn put_trailer(&mut self, id: u32, headers: &[u8], out: &mut Vec<u8>) {
        let mut list = HeaderList::default();
        put_lines(headers, &mut list);
        self.put_head(id, &list, true, out);
    }

    fn put_head(&mut self, id: u32, list: &HeaderList, last: bool, out: &mut Vec<u8>) {
        let at = out.len();
        let flags = frames::END_HEADERS | if last { frames::END_STREAM } else { 0 };
        out.extend_from_slice(&FrameHead { length: 0, kind: frames::HEADERS, flags, stream: id }.bytes());
        self.encoder.write(&self.lexicon, list, out);
        let length = out.len() - at - HEAD;
        if length > self.sending.largest() {
            let block = out.split_off(at + HEAD);
            out.truncate(at);
            frames::put_block(flags & frames::END_STREAM, id, &block, self.sending.largest(), out);
        } else {
            out[at..at + 3].copy_from_slice(&(length as u32).to_be_bytes()[1..]);
        }
        if last {
            self.streams.remove(id);
        }
    }

    /// Sends a piece of the body, queueing the part that exceeds the client's window.
    pub fn data(&mut self, id: u32, bytes: &[u8], last: bool, out: &mut OutputBuffer) {
        let Some(stream) = self.streams.get(id).filter(|s| !s.closed_locally && s.state.trailer.is_none()) else {
            return;
        };
        let out = out.buffer();
        let sent = if stream.queue.is_some() { 0 } else { self.sending.write(stream, bytes, last, out) };
        if sent < bytes.len() {
            self.sending.send(stream, &Arc::from(&bytes[sent..]), last, out);
        } else if stream.closed_locally {
            self.streams.remove(id);
        }
    }

    /// Responds with `size` bytes of a repeated block, as fast as the client and our output allow.
    pub fn flood(
        &mut self,
        id: u32,
        reply: &ServerResponse<'_>,
        size: usize,
        block: &Arc<[u8]>,
        out: &mut OutputBuffer,
    ) {
        if self.head(id, reply.status, reply.headers, Some(size), size == 0, out)
            && let Some(stream) = self.streams.get(id)
        {
            self.sending.flood(stream, block, size, out.buffer());
            if stream.closed_locally {
                self.streams.remove(id);
            }
        }
        self.close_after(reply);
    }

    /// Sends GOAWAY after a response that is the connection's last.
    pub(super) fn close_after(&mut self, reply: &ServerResponse<'_>) {
        if reply.close && !self.shutting_down {
            self.send_goaway(code::NO_ERROR);
        }
    }

    /// Sets the number of body bytes that may be sent from now on, whatever the client accepts. The rest is queued
    /// here, where a flood takes next to no memory.
    #[inline]
    pub fn set_room(&mut self, room: usize) {
        self.sending.set_room(room);
    }

    /// Sends queued responses as far as the client and our output allow.
    pub fn flush_within_room(&mut self, out: &mut OutputBuffer) {
        self.flush();
        out.put(&std::mem::take(&mut self.due_replies));
    }

    /// Returns the number of response bytes queued for the client's windows.
    #[inline]
    pub fn queued_bytes(&self) -> usize {
        self.sending.queued_bytes()
    }

    /// Returns `true` if only our own output holds responses back.
    pub fn is_short_of_room(&self) -> bool {
        self.sending.is_short()
    }

    /// Returns the number of bytes held for requests and responses in progress.
    pub fn held_bytes(&self) -> usize {
        self.sending.queued_bytes()
            + self.request_bytes
            + self.partial_frame.len()
            + self.block.len()
            + self.due_replies.len()
    }

    /// Resets a stream.
    pub fn reset(&mut self, id: u32, code: u32, out: &mut OutputBuffer) {
        if self.forget(id).is_some() {
            frames::put_number(frames::RST_STREAM, id, code, out.buffer());
        }
    }

    /// Removes a stream and its queued blocks.
    pub(super) fn forget(&mut self, id: u32) -> Option<Http2Stream<ServerExchange>> {
        let stream = self.streams.remove(id)?;
        self.sending.forget(&stream);
        if stream.state.open && !stream.state.in_pieces {
            self.request_bytes -= stream.state.size();
        }
        Some(stream)
    }

    /// Sends GOAWAY: requests after those already received are not answered.
    pub(super) fn send_goaway(&mut self, code: u32) {
        self.shutting_down = true;
        let payload = [self.last_id.to_be_bytes(), code.to_be_bytes()].concat();
        frames::put(frames::GOAWAY, 0, 0, &payload, &mut self.due_replies);
    }
}
