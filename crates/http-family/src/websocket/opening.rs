//! Side messages on a WebSocket connection: messages that open it, and replies to messages from the server.

use brunt_contract::{EventBuffer, OutputBuffer, ProtocolError};

use super::extras::ConnectionExtras;
use super::rules::WebSocketRules;
use super::session::{ClientStage, EXCERPT_BOUND, ReceiveState, SessionOutput, WebSocketSession};
use brunt_values::side_messages::{SideMessageState, UnsolicitedKind};

/// Passes a message to the reply rules; returns `true` if one of them recognizes it.
#[inline]
pub fn handle_prompt(
    rules: &WebSocketRules,
    own: Option<&mut ConnectionExtras>,
    (size, content): (u64, &[u8]),
    done: &mut EventBuffer,
) -> Result<bool, ProtocolError> {
    if !rules.side_messages.has_replies() {
        return Ok(false);
    }
    let Some(talk) = own.and_then(|own| own.side_conversation.as_mut()) else { return Ok(false) };
    let heard = talk.on_message(&rules.side_messages, content)?;
    if heard != UnsolicitedKind::Unknown {
        heard.report(size, content, done);
    }
    Ok(heard != UnsolicitedKind::Unknown)
}

impl WebSocketSession {
    /// Returns the side conversation, if there is one.
    #[inline]
    pub(super) fn side_conversation(&self) -> Option<&SideMessageState> {
        self.extras.as_ref().and_then(|own| own.side_conversation.as_ref())
    }

    /// Sends as many opening messages as possible.
    #[cold]
    pub(super) fn send_opening(&mut self, out: &mut OutputBuffer) {
        let WebSocketSession { rules, extras: own, masks, stage, .. } = self;
        if *stage != ClientStage::SendingOpening {
            return;
        }
        if let Some(ConnectionExtras { side_conversation: Some(talk), deflate, .. }) = own.as_deref_mut() {
            talk.continue_opening(&rules.side_messages, |message, fill| {
                message.write(fill.into(), deflate.as_mut(), masks.key(), out.buffer(), |_, _| {});
            });
            if talk.is_opening(&rules.side_messages) {
                return;
            }
        }
        *stage = ClientStage::Open;
    }

    /// Handles a message during the opening.
    #[cold]
    pub(super) fn receive_opening(
        &mut self,
        size: u64,
        content: &[u8],
        (out, done): SessionOutput<'_>,
    ) -> Result<(), ProtocolError> {
        let WebSocketSession { rules, extras: own, .. } = self;
        let Some(talk) = own.as_mut().and_then(|own| own.side_conversation.as_mut()) else { return Ok(()) };
        match talk.on_opening_message(&rules.side_messages, content) {
            Ok(None) => self.send_opening(out),
            Ok(Some(heard)) => heard.report(size, content, done),
            Err(refused) => {
                self.stage = ClientStage::OpeningRejected;
                self.receiving = Some(ReceiveState::with_text(&content[..content.len().min(EXCERPT_BOUND)]));
                return Err(refused);
            }
        }
        Ok(())
    }
}
