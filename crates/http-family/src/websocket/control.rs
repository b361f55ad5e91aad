//! Control frames from the server: pings, pongs and close (RFC 6455 5.5).

use brunt_contract::{Event, EventBuffer, ExchangeEnd, FaultKind, ProtocolError};

use super::close;
use super::codec::{CLOSE, PING, PONG};
use super::pending::AnswerOwner;
use super::request::put_frame;
use super::session::{ClientStage, ReceiveState, SessionOutput, WebSocketSession};

/// Maximum number of pongs that may wait for the server to read them.
const REPLIES_BOUND: u16 = 32_768;
const UNREAD: ProtocolError = ProtocolError(brunt_cause::websocket::flood_of_pings());

impl WebSocketSession {
    /// Handles a control frame (5.5).
    #[cold]
    pub(super) fn control(
        &mut self,
        kind: u8,
        payload: &[u8],
        (out, done): SessionOutput<'_>,
    ) -> Result<(), ProtocolError> {
        match kind {
            PING if self.replies == REPLIES_BOUND => return Err(UNREAD),
            PING => {
                self.replies += 1;
                put_frame(0x80 | PONG, payload, self.masks.key(), out.buffer());
            }
            // An unsolicited pong is allowed and has no meaning.
            PONG if self.ping != 0 && payload == self.ping.to_be_bytes() => {
                self.ping = 0;
                done.push(Event::Heartbeat);
            }
            CLOSE => {
                let code = close::code(payload)?;
                let echo = payload.get(..2).unwrap_or_default();
                put_frame(0x80 | CLOSE, echo, self.masks.key(), out.buffer());
                self.stage = ClientStage::Over;
                self.closed_by(code, payload.get(2..).unwrap_or_default(), done);
            }
            _ => {}
        }
        Ok(())
    }

    /// Handles a close with a code: messages in flight will not be answered. The frame's text is kept to explain why
    /// nothing more is accepted.
    fn closed_by(&mut self, code: u16, reason: &[u8], done: &mut EventBuffer) {
        let words = close::describe_frame(code, reason);
        let words = words.as_bytes();
        self.closed_with = code;
        let mut step = self.extras.as_mut().and_then(|own| own.inbox.take_unanswered());
        while step.is_some() || self.pending.len() > 0 {
            let whose = step.take().map_or_else(|| self.pending.match_oldest(), AnswerOwner::Exchange);
            let AnswerOwner::Exchange(id) = whose else { continue };
            let fault = FaultKind::Closed;
            let excerpt = done.wants_example(fault).then(|| Box::from(words));
            let code = u32::from(code);
            done.push(Event::Ended(ExchangeEnd {
                id,
                fault: Some(fault),
                code,
                payload: 0,
                excerpt,
                follow_up: None,
                cause: None,
            }));
        }
        self.receiving = Some(ReceiveState::with_text(words));
    }
}
