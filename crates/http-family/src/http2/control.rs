//! Connection frames, and frames that end a stream or widen its window (RFC 9113 6.3 to 6.9).

use super::connection::{ConnectionError, Http2Connection, StreamListener};
use super::frames::{self, FrameHead, PAYLOAD_BOUND, code, setting};
use super::streams::Http2Stream;

impl<T> Http2Connection<T> {
    /// Handles frames of the connection, and frames that refer to a stream but carry no content.
    #[cold]
    pub(super) fn control(
        &mut self,
        head: FrameHead,
        payload: &[u8],
        out: &mut Vec<u8>,
        ear: &mut impl StreamListener<T>,
    ) -> Result<(), ConnectionError> {
        const ON_STREAM: ConnectionError = ConnectionError(code::PROTOCOL_ERROR, brunt_cause::http2::on_stream());
        self.count_idle()?;
        match head.kind {
            frames::SETTINGS | frames::PING | frames::GOAWAY if head.stream != 0 => Err(ON_STREAM),
            frames::SETTINGS => self.settings(head, payload, out),
            frames::PING => {
                let payload = payload.as_array::<8>().ok_or(WRONG_SIZE)?;
                if !head.has(frames::ACK) {
                    self.count_reply()?;
                    frames::put(frames::PING, frames::ACK, 0, payload, out);
                } else if self.pinging && *payload == u64::from(self.pings).to_be_bytes() {
                    self.pinging = false;
                    self.idle_frames = 0;
                    ear.pong();
                }
                Ok(())
            }
            frames::GOAWAY => {
                let last = payload.first_chunk::<4>().filter(|_| payload.len() >= 8).ok_or(WRONG_SIZE)?;
                let (last, said) = (u32::from_be_bytes(*last) & 0x7fff_ffff, &payload[4..]);
                self.peer_goaway(last, said, ear);
                Ok(())
            }
            frames::WINDOW_UPDATE => self.window_update(head.stream, payload, out),
            frames::RST_STREAM => self.peer_reset(head.stream, payload, ear),
            frames::PRIORITY if payload.len() != 5 => Err(WRONG_SIZE),
            frames::PUSH_PROMISE => Err(ConnectionError(code::PROTOCOL_ERROR, brunt_cause::http2::pushes())),
            // PRIORITY and unknown frame types are ignored (5.5).
            _ => Ok(()),
        }
    }

    fn settings(&mut self, head: FrameHead, payload: &[u8], out: &mut Vec<u8>) -> Result<(), ConnectionError> {
        if head.has(frames::ACK) {
            return if payload.is_empty() { Ok(()) } else { Err(WRONG_SIZE) };
        }
        if !payload.len().is_multiple_of(6) {
            return Err(WRONG_SIZE);
        }
        for (number, value) in frames::settings(payload) {
            match number {
                setting::HEADER_TABLE_SIZE => self.encoder.resize(value),
                setting::ENABLE_PUSH if value != 0 => {
                    return Err(ConnectionError(code::PROTOCOL_ERROR, brunt_cause::http2::enables_push()));
                }
                setting::MAX_CONCURRENT_STREAMS => self.max_streams = value,
                setting::INITIAL_WINDOW_SIZE => self.sending.resize(value, &mut self.streams).ok_or(TOO_WIDE)?,
                setting::MAX_FRAME_SIZE => {
                    let size = (PAYLOAD_BOUND as u32..1 << 24).contains(&value);
                    size.then(|| self.sending.set_largest(value as usize))
                        .ok_or(ConnectionError(code::PROTOCOL_ERROR, brunt_cause::http2::wrong_frame_size()))?;
                }
                _ => {}
            }
        }
        self.settled = true;
        self.count_reply()?;
        frames::put(frames::SETTINGS, frames::ACK, 0, &[], out);
        self.sending.flush(&mut self.streams, out);
        Ok(())
    }

    /// Counts a reply to be sent. A peer that requests replies without reading them would otherwise fill our memory.
    fn count_reply(&mut self) -> Result<(), ConnectionError> {
        self.replies += 1;
        let unread = ConnectionError(code::ENHANCE_YOUR_CALM, brunt_cause::http2::flood_of_acknowledgements());
        if self.replies > REPLIES_BOUND { Err(unread) } else { Ok(()) }
    }

    fn window_update(&mut self, id: u32, payload: &[u8], out: &mut Vec<u8>) -> Result<(), ConnectionError> {
        let increment = u32::from_be_bytes(*payload.as_array::<4>().ok_or(WRONG_SIZE)?) & 0x7fff_ffff;
        if increment == 0 {
            return Err(ConnectionError(code::PROTOCOL_ERROR, brunt_cause::http2::empty_window_update()));
        }
        if id == 0 {
            self.sending.widen(increment).ok_or(TOO_WIDE)?;
        } else if let Some(stream) = self.streams.get(id) {
            stream.window = stream.window.checked_add(increment as i32).ok_or(TOO_WIDE)?;
        } else if self.streams.is_idle(id) {
            return Err(ConnectionError(code::PROTOCOL_ERROR, brunt_cause::http2::never_opened()));
        }
        if self.sending.flush(&mut self.streams, out) {
            self.idle_frames = 0;
        }
        Ok(())
    }

    fn peer_reset(&mut self, id: u32, payload: &[u8], ear: &mut impl StreamListener<T>) -> Result<(), ConnectionError> {
        let code = u32::from_be_bytes(*payload.as_array::<4>().ok_or(WRONG_SIZE)?);
        if self.streams.is_idle(id) {
            return Err(ConnectionError(code::PROTOCOL_ERROR, brunt_cause::http2::never_opened()));
        }
        ear.end_code(code::EndCode::Reset(code));
        match self.forget(id) {
            Some(Http2Stream { answered: false, state: own, .. }) if code == code::REFUSED_STREAM => ear.refused(own),
            Some(stream) => ear.reset(stream.state, code),
            // A stream that is over may still be reset: the peer did not need the rest of our request (8.1).
            None => {}
        }
        Ok(())
    }

    /// Handles GOAWAY. `said` holds the error code and optional debug data.
    fn peer_goaway(&mut self, last: u32, said: &[u8], ear: &mut impl StreamListener<T>) {
        let code = said.first_chunk::<4>().map_or(code::NO_ERROR, |code| u32::from_be_bytes(*code));
        // Servers that shut down gracefully send GOAWAY twice: an announcement, then the last stream they processed.
        let before = self.going_away.then(|| self.goaway.as_ref().map_or(code::NO_ERROR, |said| said.0));
        if before != Some(code) {
            ear.end_code(code::EndCode::GoAway(code));
        }
        self.going_away = true;
        if let Some((code, text)) = said.split_first_chunk::<4>()
            && *code != code::NO_ERROR.to_be_bytes()
        {
            let text = text[..text.len().min(TEXT_BOUND)].to_vec();
            self.goaway = Some(Box::new((u32::from_be_bytes(*code), text)));
        }
        // A stream whose response has begun was processed, whatever this frame says: it continues and must not be
        // retried.
        let unserved = self.streams.iter_mut().filter(|s| s.id > last && !s.answered);
        let mut unserved: Vec<u32> = unserved.map(|s| s.id).collect();
        unserved.sort_unstable();
        for id in unserved {
            match (self.forget(id), code) {
                (Some(stream), code::NO_ERROR) => ear.refused(stream.state),
                (Some(stream), code) => ear.turned_away(stream.state, code),
                (None, _) => {}
            }
        }
        // Further frames for these streams are ignored.
        self.cancelled = true;
    }
}

/// Maximum number of replies that may wait for the peer to read them.
const REPLIES_BOUND: u32 = 32_768;
/// Maximum number of bytes kept of a GOAWAY's debug data.
const TEXT_BOUND: usize = 1024;
const WRONG_SIZE: ConnectionError = ConnectionError(code::FRAME_SIZE_ERROR, brunt_cause::http2::wrong_size());
const TOO_WIDE: ConnectionError = ConnectionError(code::FLOW_CONTROL_ERROR, brunt_cause::http2::too_wide());
