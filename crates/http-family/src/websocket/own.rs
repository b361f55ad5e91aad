//! What only some runs have on a connection: compression, messages beside requests, answers of which each must hold a text of its
//! own. In one box, so that the others pay a pointer for it.

use std::collections::VecDeque;

use wire::ExchangeId;

use super::deflate::Deflate;
use super::steps::Inbox;
use values::beside::Talk;

/// All of it.
#[derive(Debug, Default)]
pub struct Own {
    /// The two streams of compression.
    pub deflate: Option<Deflate>,
    /// What is said beside requests.
    pub talk: Option<Talk>,
    /// What the answers of messages in flight must hold.
    pub expected: Expected,
    /// What steps of a flow await.
    pub inbox: Inbox,
}

/// What answers must hold, where that is another for each; memory is used again, so that a message allocates nothing.
#[derive(Debug, Default)]
pub struct Expected {
    due: VecDeque<(ExchangeId, Vec<u8>)>,
    spare: Vec<Vec<u8>>,
}

impl Expected {
    /// The answer of a message must hold a text.
    pub fn add(&mut self, id: ExchangeId, text: &[u8]) {
        let mut kept = self.spare.pop().unwrap_or_default();
        kept.extend_from_slice(text);
        self.due.push_back((id, kept));
    }

    /// The text that the answer of a message must hold; it is given back.
    pub fn take(&mut self, id: ExchangeId) -> Option<Vec<u8>> {
        // Answers come in nearly the order of the messages, so that the search is short.
        let at = self.due.iter().position(|(due, _)| *due == id)?;
        self.due.remove(at).map(|(_, text)| text)
    }

    /// Its memory again.
    pub fn give_back(&mut self, text: Option<Vec<u8>>) {
        if let Some(mut text) = text {
            text.clear();
            self.spare.push(text);
        }
    }
}
