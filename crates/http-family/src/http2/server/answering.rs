//! Responses: complete ones, and responses in parts for servers that send more than a status and a body, or less than
//! announced.

use std::fmt::Write as _;
use std::sync::Arc;

use wire::{Out, Reply};

use super::{Asked, Http2Server};
use crate::http2::frames::{self, FrameHead, HEAD, code};
use crate::http2::hpack::List;
use crate::http2::streams::Stream;

/// The last response head sent, kept for reuse.
#[derive(Debug, Default)]
pub struct Said {
    status: u16,
    length: Option<usize>,
    headers: Vec<u8>,
    list: List,
}

impl Said {
    fn is(&self, status: u16, headers: &[u8], length: Option<usize>) -> bool {
        self.status == status && self.length == length && *self.headers == *headers
    }

    fn of(status: u16, headers: &[u8], length: Option<usize>) -> Said {
        let mut list = List::default();
        let mut text = String::new();
        let _ = write!(text, "{status}");
        list.put(":status", &text);
        if let Some(length) = length {
            text.clear();
            let _ = write!(text, "{length}");
            list.put("content-length", &text);
        }
        put_lines(headers, &mut list);
        Said { status, length, headers: headers.to_vec(), list }
    }
}

/// Converts header lines of HTTP/1 to fields.
fn put_lines(lines: &[u8], list: &mut List) {
    let lines = String::from_utf8_lossy(lines);
    for (name, value) in lines.split("\r\n").filter_map(|line| line.split_once(':')) {
        let name = name.to_ascii_lowercase();
        if name != "connection" && name != "transfer-encoding" {
            list.put(&name, value.trim());
        }
    }
}

impl Http2Server {
    /// Sends the head of a response: header lines in HTTP/1 syntax and the announced length; `last` if no body follows.
    /// Returns `true` if a body still has to be sent.
    pub fn head(
        &mut self,
        id: u32,
        status: u16,
        headers: &[u8],
        length: Option<usize>,
        last: bool,
        out: &mut Out,
    ) -> bool {
        let Some(stream) = self.streams.get(id).filter(|s| !s.said) else { return false };
        let last = last || stream.own.head_only;
        (stream.said, stream.own.begun) = (last, true);
        if !self.said.is(status, headers, length) {
            self.said = Said::of(status, headers, length);
        }
        let said = std::mem::take(&mut self.said);
        self.put_head(id, &said.list, last, out.buffer());
        self.said = said;
        !last
    }

    /// Sends a trailer, which ends the response; queued behind blocks that wait for the client's window.
    pub fn trailer(&mut self, id: u32, headers: &[u8], out: &mut Out) {
        let Some(stream) = self.streams.get(id).filter(|s| !s.said) else { return };
        if stream.waiting.is_some() {
            stream.own.trailer = Some(headers.into());
        } else {
            self.put_trailer(id, headers, out.buffer());
        }
    }

    pub(super) fn put_trailer(&mut self, id: u32, headers: &[u8], out: &mut Vec<u8>) {
        let mut list = List::default();
        put_lines(headers, &mut list);
        self.put_head(id, &list, true, out);
    }

    fn put_head(&mut self, id: u32, list: &List, last: bool, out: &mut Vec<u8>) {
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
    pub fn data(&mut self, id: u32, bytes: &[u8], last: bool, out: &mut Out) {
        let Some(stream) = self.streams.get(id).filter(|s| !s.said && s.own.trailer.is_none()) else { return };
        let out = out.buffer();
        let sent = if stream.waiting.is_some() { 0 } else { self.sending.write(stream, bytes, last, out) };
        if sent < bytes.len() {
            self.sending.send(stream, &Arc::from(&bytes[sent..]), last, out);
        } else if stream.said {
            self.streams.remove(id);
        }
    }

    /// Responds with `size` bytes of a repeated block, as fast as the client and our output allow.
    pub fn flood(&mut self, id: u32, reply: &Reply<'_>, size: usize, block: &Arc<[u8]>, out: &mut Out) {
        if self.head(id, reply.status, reply.headers, Some(size), size == 0, out)
            && let Some(stream) = self.streams.get(id)
        {
            self.sending.flood(stream, block, size, out.buffer());
            if stream.said {
                self.streams.remove(id);
            }
        }
        self.close_after(reply);
    }

    /// Sends GOAWAY after a response that is the connection's last.
    pub(super) fn close_after(&mut self, reply: &Reply<'_>) {
        if reply.close && !self.going {
            self.say_goodbye(code::NO_ERROR);
        }
    }

    /// Sets the number of body bytes that may leave from now on, whatever the client accepts. The rest is queued here,
    /// where a flood takes next to no memory.
    #[inline]
    pub fn make_room(&mut self, room: usize) {
        self.sending.make_room(room);
    }

    /// Sends queued responses as far as the client and our output allow.
    pub fn go_on_in_room(&mut self, out: &mut Out) {
        self.go_on();
        out.put(&std::mem::take(&mut self.owed));
    }

    /// Returns the number of response bytes queued for the client's windows.
    #[inline]
    pub fn untaken(&self) -> usize {
        self.sending.held()
    }

    /// Returns `true` if responses are held back by our output alone.
    pub fn waits_for_room(&self) -> bool {
        self.sending.is_short()
    }

    /// Returns the number of bytes held for requests and responses in progress.
    pub fn held(&self) -> usize {
        self.sending.held() + self.asking + self.kept.len() + self.block.len() + self.owed.len()
    }

    /// Resets a stream.
    pub fn reset(&mut self, id: u32, code: u32, out: &mut Out) {
        if self.forget(id).is_some() {
            frames::put_number(frames::RST_STREAM, id, code, out.buffer());
        }
    }

    /// Removes a stream and its queued blocks.
    pub(super) fn forget(&mut self, id: u32) -> Option<Stream<Asked>> {
        let stream = self.streams.remove(id)?;
        self.sending.forget(&stream);
        if stream.own.open && !stream.own.in_pieces {
            self.asking -= stream.own.size();
        }
        Some(stream)
    }

    /// Sends GOAWAY: requests after those already received are not answered.
    pub(super) fn say_goodbye(&mut self, code: u32) {
        self.going = true;
        let payload = [self.last_id.to_be_bytes(), code.to_be_bytes()].concat();
        frames::put(frames::GOAWAY, 0, 0, &payload, &mut self.owed);
    }
}
