//! A conversation that continues on a connection owned by a user.

use std::time::{SystemTime, UNIX_EPOCH};

use measure::Nanos;
use wire::{ConnectionOwner, ExchangeEnd, SlotContext, UserState, Request};

use super::{Conversation, OneShot, Transcribed, Trouble};
use crate::ids::UserId;
use crate::links::Destination;

/// Returns the destination of the connection.
pub(super) fn led<'a>(one_shot: &OneShot<'a>, memory: &'a UserState) -> Destination<'a> {
    let owned = one_shot.dialogue.connection_owner(one_shot.origin) == ConnectionOwner::User;
    let fill = SlotContext { unix_ns: unix_ns(), run: one_shot.setup.plan.seed, values: &memory.values, ..SlotContext::default() };
    Destination { origin: one_shot.origin, user: UserId::NONE, fill: owned.then_some(fill) }
}

/// Returns the time in nanoseconds since 1970.
pub(crate) fn unix_ns() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos() as u64
}

/// The outcomes of the first requests, and the conversation.
pub(super) type Begun<'a> = (Vec<ExchangeEnd>, Kept<'a>);

/// A conversation that continues, with the peer of its connection.
pub(crate) struct Kept<'a> {
    pub(super) talk: Conversation<'a>,
    /// The connected address.
    pub(super) address: String,
    /// The proxy at that address, if any.
    pub(super) through: Option<String>,
}

impl<'a> Kept<'a> {
    /// Sends another request on the connection, with the timeout of its response.
    pub fn go_on(
        &mut self,
        (request, patience): (&'a Request, Nanos),
        transcribed: &mut Transcribed,
    ) -> Result<Vec<ExchangeEnd>, Trouble> {
        self.talk.adds(request, patience);
        let outcome = self.talk.converse();
        self.write_down(transcribed);
        outcome
    }

    pub(super) fn write_down(&mut self, transcribed: &mut Transcribed) {
        (transcribed.address, transcribed.through) = (self.address.clone(), self.through.clone());
        transcribed.spoken.clone_from(&self.talk.spoken);
        transcribed.established = self.talk.established.clone().or(transcribed.established.take());
        let [sent, received] = std::mem::take(&mut *self.talk.ears.both());
        (transcribed.sent, transcribed.received) = (sent, received);
        transcribed.failed_checks = self.talk.failed_checks.take();
    }

    /// Closes the connection in order.
    pub fn end(mut self) {
        self.talk.links.close_gracefully(self.talk.conn);
    }

    /// Like [`Kept::end`], and appends the closing bytes to the transcript.
    pub(super) fn end_heard(mut self, transcribed: &mut Transcribed) {
        self.talk.links.close_gracefully(self.talk.conn);
        let [said, _] = std::mem::take(&mut *self.talk.ears.both());
        transcribed.sent.take(&said.head);
    }
}
