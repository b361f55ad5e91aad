//! A conversation that can continue on a connection owned by a user.

use std::time::{SystemTime, UNIX_EPOCH};

use brunt_contract::{ConnectionOwner, ExchangeEnd, Request, SlotContext, UserState};
use brunt_measure::Nanos;

use super::{ConnectionTranscript, OneShot, OneShotConversation, OneShotError};
use crate::ids::UserId;
use crate::links::Destination;

/// Returns the destination of the connection.
pub(super) fn led<'a>(one_shot: &OneShot<'a>, memory: &'a UserState) -> Destination<'a> {
    let owned = one_shot.workload.connection_owner(one_shot.origin) == ConnectionOwner::User;
    let fill = SlotContext {
        unix_ns: unix_ns(),
        run: one_shot.setup.plan.seed,
        values: &memory.values,
        ..SlotContext::default()
    };
    Destination { origin: one_shot.origin, user: UserId::NONE, fill: owned.then_some(fill) }
}

/// Returns the time in nanoseconds since 1970.
pub(crate) fn unix_ns() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos() as u64
}

/// The outcomes of the first requests, and the conversation.
pub(super) type StartedConversation<'a> = (Vec<ExchangeEnd>, OpenConversation<'a>);

/// A conversation that can continue, and the peer of its connection.
pub(crate) struct OpenConversation<'a> {
    pub(super) conversation: OneShotConversation<'a>,
    /// The connected address.
    pub(super) address: String,
    /// The proxy at that address, if any.
    pub(super) through: Option<String>,
}

impl<'a> OpenConversation<'a> {
    /// Sends another request on the connection, with the timeout of its response.
    pub fn send(
        &mut self,
        (request, patience): (&'a Request, Nanos),
        transcribed: &mut ConnectionTranscript,
    ) -> Result<Vec<ExchangeEnd>, OneShotError> {
        self.conversation.add_request(request, patience);
        let outcome = self.conversation.converse();
        self.copy_transcript(transcribed);
        outcome
    }

    pub(super) fn copy_transcript(&mut self, transcribed: &mut ConnectionTranscript) {
        (transcribed.address, transcribed.through) = (self.address.clone(), self.through.clone());
        transcribed.spoken.clone_from(&self.conversation.spoken);
        transcribed.established = self.conversation.established.clone().or(transcribed.established.take());
        let [sent, received] = std::mem::take(&mut *self.conversation.ears.both());
        (transcribed.sent, transcribed.received) = (sent, received);
        transcribed.failed_checks = self.conversation.failed_checks.take();
    }

    /// Closes the connection gracefully.
    pub fn end(mut self) {
        self.conversation.links.close_gracefully(self.conversation.conn);
    }

    /// Like [`Self::end`], and appends the closing bytes to the transcript.
    pub(super) fn end_transcribed(mut self, transcribed: &mut ConnectionTranscript) {
        self.conversation.links.close_gracefully(self.conversation.conn);
        let [said, _] = std::mem::take(&mut *self.conversation.ears.both());
        transcribed.sent.append(&said.head);
    }
}
