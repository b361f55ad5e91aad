//! What the peer takes: its windows and frame size, and the bodies that wait for them (RFC 9113 5.2 and 6.9).

use std::collections::VecDeque;
use std::sync::Arc;

use super::frames::{self, FrameHead, PAYLOAD_BOUND, WINDOW_BOUND, WINDOW_START};
use super::streams::{Block, Stream, Streams, Waiting};

/// The sending half of flow control.
#[derive(Debug)]
pub struct Sending {
    /// Bytes the connection takes now.
    window: i64,
    /// Bytes a new stream takes.
    start: i32,
    /// The largest payload.
    largest: usize,
    /// Streams with something that waits, in turn.
    waiting: VecDeque<u32>,
    /// Bytes that our own side takes now, whatever the windows allow: what is put beyond would only fill our memory.
    room: usize,
    /// Something waits for that room and for nothing else.
    short: bool,
    /// Bytes that wait and are nobody else's.
    held: usize,
}

impl Default for Sending {
    fn default() -> Sending {
        Sending {
            window: WINDOW_START,
            start: WINDOW_START as i32,
            largest: PAYLOAD_BOUND,
            waiting: VecDeque::new(),
            room: usize::MAX,
            short: false,
            held: 0,
        }
    }
}

impl Sending {
    /// The largest payload the peer takes.
    #[inline]
    pub fn largest(&self) -> usize {
        self.largest
    }
    /// The peer's SETTINGS_MAX_FRAME_SIZE. More than 64 KiB is of no use to anybody.
    pub fn set_largest(&mut self, size: usize) {
        self.largest = size.min(4 * PAYLOAD_BOUND);
    }
    /// The window of a new stream.
    #[inline]
    pub fn stream_window(&self) -> i32 {
        self.start
    }

    /// The peer's SETTINGS_INITIAL_WINDOW_SIZE, for streams in flight too (6.9.2). None: a window is too large.
    pub fn resize<T>(&mut self, size: u32, streams: &mut Streams<T>) -> Option<()> {
        let size = i32::try_from(size).ok()?;
        let more = i64::from(size) - i64::from(self.start);
        for stream in streams.iter_mut() {
            stream.window = i32::try_from(i64::from(stream.window) + more).ok()?;
        }
        self.start = size;
        Some(())
    }

    /// WINDOW_UPDATE of the connection. None: the window is too large.
    pub fn widen(&mut self, increment: u32) -> Option<()> {
        self.window += i64::from(increment);
        (self.window <= WINDOW_BOUND).then_some(())
    }

    /// Bytes that may leave on this stream now.
    pub fn window_for<T>(&self, stream: &Stream<T>) -> usize {
        usize::try_from(self.window.min(i64::from(stream.window))).unwrap_or(0)
    }

    /// Sends a block, or as much as leaves now; the rest waits.
    pub fn send<T>(&mut self, stream: &mut Stream<T>, block: &Arc<[u8]>, end: bool, out: &mut Vec<u8>) {
        if stream.said {
            return;
        }
        let sent = if stream.waiting.is_some() { 0 } else { self.write(stream, block, end, out) };
        if stream.said || (sent == block.len() && !end && stream.waiting.is_none()) {
            return;
        }
        let block = Block { bytes: Arc::clone(block), sent, times: 1, own: block.len() };
        self.wait(stream, block, end);
    }

    /// The same with bytes that are nobody else's: copied only where some of them must wait.
    pub fn send_bytes<T>(&mut self, stream: &mut Stream<T>, bytes: &[u8], end: bool, out: &mut Vec<u8>) {
        if stream.said {
            return;
        }
        let sent = if stream.waiting.is_some() { 0 } else { self.write(stream, bytes, end, out) };
        if stream.said || (sent == bytes.len() && !end && stream.waiting.is_none()) {
            return;
        }
        let rest: Arc<[u8]> = Arc::from(&bytes[sent..]);
        let block = Block { own: rest.len(), bytes: rest, sent: 0, times: 1 };
        self.wait(stream, block, end);
    }

    /// A block waits.
    fn wait<T>(&mut self, stream: &mut Stream<T>, block: Block, end: bool) {
        if stream.waiting.is_none() {
            self.waiting.push_back(stream.id);
        }
        self.held += block.own;
        let waiting = stream.waiting.get_or_insert_with(Box::<Waiting>::default);
        waiting.blocks.push_back(block);
        waiting.end = end;
    }

    /// Ends a stream with `size` bytes of a block that is said over and over; what does not leave now holds next to nothing.
    pub fn flood<T>(&mut self, stream: &mut Stream<T>, block: &Arc<[u8]>, size: usize, out: &mut Vec<u8>) {
        let (times, rest) = (size / block.len(), size % block.len());
        if times > 0 {
            let whole = Block { bytes: Arc::clone(block), sent: 0, times: times as u64, own: 0 };
            self.wait(stream, whole, true);
        }
        if rest > 0 || times == 0 {
            let last = Block { bytes: Arc::from(&block[..rest]), sent: 0, times: 1, own: rest };
            self.wait(stream, last, true);
        }
        if self.go_on_with(stream, out) {
            self.waiting.pop_back();
        }
    }

    /// So much our own side takes now.
    #[inline]
    pub fn make_room(&mut self, room: usize) {
        self.room = room;
    }

    /// True where something waits that would leave if our own side took it.
    pub fn is_short(&self) -> bool {
        self.short
    }

    /// Bytes that wait and are nobody else's.
    pub fn held(&self) -> usize {
        self.held
    }

    /// Appends as much of `bytes` as the windows allow and says how much; all of it with the end, if `end`.
    pub fn write<T>(&mut self, stream: &mut Stream<T>, bytes: &[u8], end: bool, out: &mut Vec<u8>) -> usize {
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
                stream.said = end;
                return sent;
            }
        }
    }

    /// True where something waits.
    #[inline]
    pub fn waits(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// A stream that is over: nothing of it waits any more.
    #[cold]
    pub fn forget<T>(&mut self, stream: &Stream<T>) {
        if let Some(waiting) = &stream.waiting {
            self.held -= waiting.blocks.iter().map(|block| block.own).sum::<usize>();
            self.waiting.retain(|waiting| *waiting != stream.id);
        }
    }

    /// Sends what waits, as far as the windows allow now; true where anything left.
    pub fn go_on<T>(&mut self, streams: &mut Streams<T>, out: &mut Vec<u8>) -> bool {
        let before = out.len();
        self.short = false;
        for _ in 0..self.waiting.len() {
            let Some(id) = self.waiting.pop_front() else { break };
            // One that is over waits for nothing.
            let Some(stream) = streams.get(id) else { continue };
            if !self.go_on_with(stream, out) {
                self.waiting.push_back(id);
            }
        }
        out.len() > before
    }

    /// True where nothing of this stream waits any more.
    fn go_on_with<T>(&mut self, stream: &mut Stream<T>, out: &mut Vec<u8>) -> bool {
        let Some(mut waiting) = stream.waiting.take() else { return true };
        while let Some(block) = waiting.blocks.front().cloned() {
            let last = waiting.end && waiting.blocks.len() == 1 && block.times == 1;
            let now = self.write(stream, &block.bytes[block.sent..], last, out);
            let Some(front) = waiting.blocks.front_mut() else { break };
            front.sent += now;
            if front.sent < block.bytes.len() || (last && !stream.said) {
                stream.waiting = Some(waiting);
                return false;
            }
            (front.sent, front.times) = (0, block.times - 1);
            if front.times == 0 {
                self.held -= block.own;
                waiting.blocks.pop_front();
            }
        }
        true
    }
}
