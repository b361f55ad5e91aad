//! Connection state that only some runs need: compression, side messages, and texts expected in individual answers. It
//! is boxed, so other runs pay only for a pointer.

use std::collections::VecDeque;

use brunt_contract::ExchangeId;

use super::deflate::DeflateStreams;
use super::steps::StepInbox;
use brunt_values::side_messages::SideMessageState;

/// The optional state of a connection.
#[derive(Debug, Default)]
pub struct ConnectionExtras {
    /// The two compression streams.
    pub deflate: Option<DeflateStreams>,
    /// The state of the side conversation.
    pub side_conversation: Option<SideMessageState>,
    /// The expected texts of messages in flight.
    pub expected: ExpectedTexts,
    /// The messages for steps of a flow.
    pub inbox: StepInbox,
}

/// Expected texts that differ per answer; buffers are reused, so nothing is allocated per message.
#[derive(Debug, Default)]
pub struct ExpectedTexts {
    due: VecDeque<(ExchangeId, Vec<u8>)>,
    spare: Vec<Vec<u8>>,
}

impl ExpectedTexts {
    /// Records the text expected in the answer to a message.
    pub fn add(&mut self, id: ExchangeId, text: &[u8]) {
        let mut kept = self.spare.pop().unwrap_or_default();
        kept.extend_from_slice(text);
        self.due.push_back((id, kept));
    }

    /// Returns the text expected in the answer to a message; the caller gives it back.
    pub fn take(&mut self, id: ExchangeId) -> Option<Vec<u8>> {
        // Answers arrive nearly in the order of the messages, so the search is short.
        let at = self.due.iter().position(|(due, _)| *due == id)?;
        self.due.remove(at).map(|(_, text)| text)
    }

    /// Takes a buffer back for reuse.
    pub fn recycle(&mut self, text: Option<Vec<u8>>) {
        if let Some(mut text) = text {
            text.clear();
            self.spare.push(text);
        }
    }
}
