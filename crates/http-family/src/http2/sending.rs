//! Flow control of what we send: the peer's windows and frame size, and the bodies queued for them (RFC 9113 5.2 and
//! 6.9).

use std::collections::VecDeque;
use std::sync::Arc;

use super::frames::{self, FrameHead, PAYLOAD_BOUND, WINDOW_BOUND, WINDOW_START};
use super::streams::{Http2Stream, QueuedBlock, SendQueue, StreamTable};

/// The sending half of flow control.
#[derive(Debug)]
pub struct SendFlow {
    /// Bytes that the connection's window allows.
    window: i64,
    /// Initial window of a new stream in bytes.
    start: i32,
    /// Maximum payload of a frame.
    largest: usize,
    /// Streams with queued blocks, served in turn.
    waiting: VecDeque<u32>,
    /// Bytes that our own output accepts now, whatever the windows allow: more would only fill our memory.
    room: usize,
    /// Set if blocks are held back by `room` alone.
    short: bool,
    /// Queued bytes that are not shared.
    queued_bytes: usize,
}

impl Default for SendFlow {
    fn default() -> SendFlow {
        SendFlow {
            window: WINDOW_START,
            start: WINDOW_START as i32,
            largest: PAYLOAD_BOUND,
            waiting: VecDeque::new(),
            room: usize::MAX,
            short: false,
            queued_bytes: 0,
        }
    }
}

impl SendFlow {
    /// Returns the largest payload that the peer accepts.
    #[inline]
    pub fn largest(&self) -> usize {
        self.largest
    }
    /// Applies the peer's SETTINGS_MAX_FRAME_SIZE, capped at 64 KiB; larger frames have no benefit.
    pub fn set_largest(&mut self, size: usize) {
        self.largest = size.min(4 * PAYLOAD_BOUND);
    }
    /// Returns the initial window of a new stream.
    #[inline]
    pub fn stream_window(&self) -> i32 {
        self.start
    }

    /// Applies the peer's SETTINGS_INITIAL_WINDOW_SIZE, also to streams in flight (6.9.2). Returns `None` if a window
    /// becomes too large.
    pub fn resize<T>(&mut self, size: u32, streams: &mut StreamTable<T>) -> Option<()> {
        let size = i32::try_from(size).ok()?;
        let more = i64::from(size) - i64::from(self.start);
        for stream in streams.iter_mut() {
            stream.window = i32::try_from(i64::from(stream.window) + more).ok()?;
        }
        self.start = size;
        Some(())
    }

    /// Applies a WINDOW_UPDATE of the connection. Returns `None` if the window becomes too large.
    pub fn widen(&mut self, increment: u32) -> Option<()> {
        self.window += i64::from(increment);
        (self.window <= WINDOW_BOUND).then_some(())
    }

    /// Returns the number of bytes that may be sent on this stream now.
    pub fn window_for<T>(&self, stream: &Http2Stream<T>) -> usize {
        usize::try_from(self.window.min(i64::from(stream.window))).unwrap_or(0)
    }

    /// Sends as much of a block as possible now and queues the rest.
    pub fn send<T>(&mut self, stream: &mut Http2Stream<T>, block: &Arc<[u8]>, end: bool, out: &mut Vec<u8>) {
        if stream.closed_locally {
            return;
        }
        let sent = if stream.queue.is_some() { 0 } else { self.write(stream, block, end, out) };
        if stream.closed_locally || (sent == block.len() && !end && stream.queue.is_none()) {
            return;
        }
        let block = QueuedBlock { bytes: Arc::clone(block), sent, times: 1, owned_bytes: block.len() };
        self.enqueue(stream, block, end);
    }

    /// Like [`Self::send`], with borrowed bytes, of which only the part that has to be queued is copied.
    pub fn send_bytes<T>(&mut self, stream: &mut Http2Stream<T>, bytes: &[u8], end: bool, out: &mut Vec<u8>) {
        if stream.closed_locally {
            return;
        }
        let sent = if stream.queue.is_some() { 0 } else { self.write(stream, bytes, end, out) };
        if stream.closed_locally || (sent == bytes.len() && !end && stream.queue.is_none()) {
            return;
        }
        let rest: Arc<[u8]> = Arc::from(&bytes[sent..]);
        let block = QueuedBlock { owned_bytes: rest.len(), bytes: rest, sent: 0, times: 1 };
        self.enqueue(stream, block, end);
    }

    /// Queues a block.
    fn enqueue<T>(&mut self, stream: &mut Http2Stream<T>, block: QueuedBlock, end: bool) {
        if stream.queue.is_none() {
            self.waiting.push_back(stream.id);
        }
        self.queued_bytes += block.owned_bytes;
        let waiting = stream.queue.get_or_insert_with(Box::<SendQueue>::default);
        waiting.blocks.push_back(block);
        waiting.end = end;
    }

    /// Ends a stream with `size` bytes of a repeated block; the part that has to wait takes next to no memory.
    pub fn flood<T>(&mut self, stream: &mut Http2Stream<T>, block: &Arc<[u8]>, size: usize, out: &mut Vec<u8>) {
        let (times, rest) = (size / block.len(), size % block.len());
        if times > 0 {
            let whole = QueuedBlock { bytes: Arc::clone(block), sent: 0, times: times as u64, owned_bytes: 0 };
            self.enqueue(stream, whole, true);
        }
        if rest > 0 || times == 0 {
            let last = QueuedBlock { bytes: Arc::from(&block[..rest]), sent: 0, times: 1, owned_bytes: rest };
            self.enqueue(stream, last, true);
        }
        if self.flush_stream(stream, out) {
            self.waiting.pop_back();
        }
    }

    /// Sets the number of bytes that our own output accepts now.
    #[inline]
    pub fn set_room(&mut self, room: usize) {
        self.room = room;
    }

    /// Returns `true` if only our own output holds queued blocks back.
    pub fn is_short(&self) -> bool {
        self.short
    }

    /// Returns the number of queued bytes that are not shared.
    pub fn queued_bytes(&self) -> usize {
        self.queued_bytes
    }

    /// Appends as much of `bytes` as the windows allow and returns the number of bytes; if `end` is set, ends the
    /// stream after the last byte.
    pub fn write<T>(&mut self, stream: &mut Http2Stream<T>, bytes: &[u8], end: bool, out: &mut Vec<u8>) -> usize {
        let mut sent = 0;
        loop {
            let allowed = (bytes.len() - sent).min(self.window_for(stream)).min(self.largest);
            let length = allowed.min(self.room);
            self.short |= length < allowed;
            let last = sent + length == bytes.len();
            if length == 0 && !(last && end) {
                return sent;
            }
            let flags = if last && end { frames::END_STREAM } else { 0 };
            out.extend_from_slice(&FrameHead { length, kind: frames::DATA, flags, stream: stream.id }.bytes());
            out.extend_from_slice(&bytes[sent..sent + length]);
            sent += length;
            self.room -= length;
            self.window -= length as i64;
            stream.window -= length as i32;
            if last {
                stream.closed_locally = end;
                return sent;
            }
        }
    }

    /// Returns `true` if blocks are queued.
    #[inline]
    pub fn has_queued(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Drops the queued blocks of a stream that is over.
    #[cold]
    pub fn forget<T>(&mut self, stream: &Http2Stream<T>) {
        if let Some(waiting) = &stream.queue {
            self.queued_bytes -= waiting.blocks.iter().map(|block| block.owned_bytes).sum::<usize>();
            self.waiting.retain(|waiting| *waiting != stream.id);
        }
    }

    /// Sends queued blocks as far as the windows allow; returns `true` if any byte was sent.
    pub fn flush<T>(&mut self, streams: &mut StreamTable<T>, out: &mut Vec<u8>) -> bool {
        let before = out.len();
        self.short = false;
        for _ in 0..self.waiting.len() {
            let Some(id) = self.waiting.pop_front() else { break };
            // A stream that is over has nothing to send.
            let Some(stream) = streams.get(id) else { continue };
            if !self.flush_stream(stream, out) {
                self.waiting.push_back(id);
            }
        }
        out.len() > before
    }

    /// Sends queued blocks of one stream; returns `true` if none is left.
    fn flush_stream<T>(&mut self, stream: &mut Http2Stream<T>, out: &mut Vec<u8>) -> bool {
        let Some(mut waiting) = stream.queue.take() else { return true };
        while let Some(block) = waiting.blocks.front().cloned() {
            let last = waiting.end && waiting.blocks.len() == 1 && block.times == 1;
            let now = self.write(stream, &block.bytes[block.sent..], last, out);
            let Some(front) = waiting.blocks.front_mut() else { break };
            front.sent += now;
            if front.sent < block.bytes.len() || (last && !stream.closed_locally) {
                stream.queue = Some(waiting);
                return false;
            }
            (front.sent, front.times) = (0, block.times - 1);
            if front.times == 0 {
                self.queued_bytes -= block.owned_bytes;
                waiting.blocks.pop_front();
            }
        }
        true
    }
}
