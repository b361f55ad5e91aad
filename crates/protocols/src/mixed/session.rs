//! The session of a composite connection: forwards to the member's session and converts its events.

use std::sync::Arc;

use cause::{Cause, Plain};
use wire::{
    Broken, Dialogue, Done, Established, Event, ExchangeId, FaultKind, Fill, Full, Memory, Origin, Out, Sent, Session,
};

use super::dialogue::outer_follow;
use super::parts::{Request, outer_code};

/// The client side of a connection in a mixed flow.
pub(super) struct MixedSession {
    /// Index of the protocol.
    part: usize,
    /// Workload of the member.
    dialogue: Arc<dyn Dialogue>,
    session: Box<dyn Session>,
    /// Buffer for the member's events before they are converted.
    events: Vec<Event>,
}

impl MixedSession {
    /// Creates a session in the protocol with this index, for a connection to `to`.
    pub fn new(part: usize, dialogue: Arc<dyn Dialogue>, (to, established): (&Origin, &Established)) -> MixedSession {
        let session = dialogue.session(to, established);
        MixedSession { part, dialogue, session, events: Vec::new() }
    }

    /// Runs `hear` on the member's session and converts the events it reports.
    fn tells<T>(&mut self, done: &mut Done, hear: impl FnOnce(&mut dyn Session, &mut Done) -> T) -> T {
        let mut heard = Done::like(done, std::mem::take(&mut self.events));
        let answer = hear(&mut *self.session, &mut heard);
        let part = self.part;
        for event in heard.events.drain(..) {
            done.push(event.within(|code| outer_code(part, code), |next| outer_follow(part, next)));
        }
        done.failed_as(&mut heard);
        self.events = heard.events;
        answer
    }
}

impl Session for MixedSession {
    fn open(&mut self, out: &mut Out) {
        self.session.open(out);
    }
    fn open_with(&mut self, fill: &Fill<'_>, out: &mut Out) {
        self.session.open_with(fill, out);
    }
    fn submit(
        &mut self,
        id: ExchangeId,
        request: &wire::Request,
        fill: &Fill<'_>,
        out: &mut Out,
    ) -> Result<Sent, Full> {
        self.session.submit(id, request.of::<Request>().own(&*self.dialogue), fill, out)
    }
    fn submit_with(
        &mut self,
        id: ExchangeId,
        request: &wire::Request,
        fill: &Fill<'_>,
        memory: &Memory,
        out: &mut Out,
    ) -> Result<Sent, Full> {
        self.session.submit_with(id, request.of::<Request>().own(&*self.dialogue), fill, memory, out)
    }
    fn release(&mut self, id: ExchangeId, out: &mut Out) -> bool {
        self.session.release(id, out)
    }
    fn cancel(&mut self, id: ExchangeId, out: &mut Out) -> bool {
        self.session.cancel(id, out)
    }
    fn receive(&mut self, bytes: &[u8], out: &mut Out, done: &mut Done) -> Result<(), Broken> {
        self.tells(done, |session, done| session.receive(bytes, out, done))
    }
    fn closed(&mut self, done: &mut Done) {
        self.tells(done, |session, done| session.closed(done));
    }
    fn sequence(&self) -> u64 {
        self.session.sequence()
    }
    fn unheard(&self) -> u32 {
        self.session.unheard()
    }
    fn opening_messages(&self) -> u32 {
        self.session.opening_messages()
    }
    fn pay(&mut self, unix_ns: u64, out: &mut Out) -> u32 {
        self.session.pay(unix_ns, out)
    }
    fn begun(&self) -> &[u8] {
        self.session.begun()
    }
    fn replies(&self) -> u32 {
        self.session.replies()
    }
    fn replies_left(&mut self) {
        self.session.replies_left();
    }
    fn goodbye(&self) -> Option<Plain> {
        self.session.goodbye()
    }
    fn farewell(&self) -> Option<Cause> {
        self.session.farewell()
    }
    fn why_refused(&self) -> Plain {
        self.session.why_refused()
    }
    fn heartbeat(&mut self, out: &mut Out) -> bool {
        self.session.heartbeat(out)
    }
    fn finish(&mut self, out: &mut Out) {
        self.session.finish(out);
    }
    fn room(&self) -> usize {
        self.session.room()
    }
    fn refusal(&self) -> FaultKind {
        self.session.refusal()
    }
    fn refusal_code(&self) -> u32 {
        outer_code(self.part, self.session.refusal_code())
    }
    fn opening(&self) -> bool {
        self.session.opening()
    }
    fn secures_now(&self) -> bool {
        self.session.secures_now()
    }
    fn secured(&mut self, out: &mut Out) {
        self.session.secured(out);
    }
}
