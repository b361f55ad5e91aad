//! The session of a composite connection, which forwards calls to the member's session and converts its events.

use std::sync::Arc;

use brunt_cause::{Cause, StaticCause};
use brunt_contract::{
    EstablishedConnection, Event, EventBuffer, ExchangeId, FaultKind, Origin, OutputBuffer, ProtocolError, Session,
    SessionFull, SlotContext, SubmitOutcome, UserState, Workload,
};

use super::member_ids::{CompositeRequest, to_composite_code};
use super::workload::to_composite_follow;

/// The client side of a connection in a mixed flow.
pub(super) struct CompositeSession {
    /// Index of the protocol.
    member: usize,
    /// Workload of the member.
    workload: Arc<dyn Workload>,
    session: Box<dyn Session>,
    /// Buffer for the member's events before they are converted.
    events: Vec<Event>,
}

impl CompositeSession {
    /// Creates a session in the protocol with this index, for a connection to `to`.
    pub fn new(
        part: usize,
        workload: Arc<dyn Workload>,
        (to, established): (&Origin, &EstablishedConnection),
    ) -> CompositeSession {
        let session = workload.session(to, established);
        CompositeSession { member: part, workload, session, events: Vec::new() }
    }

    /// Runs `hear` on the member's session and converts the events it reports.
    fn forward_events<T>(
        &mut self,
        done: &mut EventBuffer,
        hear: impl FnOnce(&mut dyn Session, &mut EventBuffer) -> T,
    ) -> T {
        let mut heard = EventBuffer::with_settings_of(done, std::mem::take(&mut self.events));
        let answer = hear(&mut *self.session, &mut heard);
        let part = self.member;
        for event in heard.events.drain(..) {
            done.push(event.map_inner(|code| to_composite_code(part, code), |next| to_composite_follow(part, next)));
        }
        done.merge_failed_checks(&mut heard);
        self.events = heard.events;
        answer
    }
}

impl Session for CompositeSession {
    fn open(&mut self, out: &mut OutputBuffer) {
        self.session.open(out);
    }
    fn open_with(&mut self, context: &SlotContext<'_>, out: &mut OutputBuffer) {
        self.session.open_with(context, out);
    }
    fn submit(
        &mut self,
        id: ExchangeId,
        request: &brunt_contract::Request,
        context: &SlotContext<'_>,
        out: &mut OutputBuffer,
    ) -> Result<SubmitOutcome, SessionFull> {
        self.session.submit(id, request.downcast::<CompositeRequest>().member_request(&*self.workload), context, out)
    }
    fn submit_with(
        &mut self,
        id: ExchangeId,
        request: &brunt_contract::Request,
        context: &SlotContext<'_>,
        memory: &UserState,
        out: &mut OutputBuffer,
    ) -> Result<SubmitOutcome, SessionFull> {
        self.session.submit_with(
            id,
            request.downcast::<CompositeRequest>().member_request(&*self.workload),
            context,
            memory,
            out,
        )
    }
    fn continue_request(&mut self, id: ExchangeId, out: &mut OutputBuffer) -> bool {
        self.session.continue_request(id, out)
    }
    fn cancel(&mut self, id: ExchangeId, out: &mut OutputBuffer) -> bool {
        self.session.cancel(id, out)
    }
    fn receive(&mut self, bytes: &[u8], out: &mut OutputBuffer, done: &mut EventBuffer) -> Result<(), ProtocolError> {
        self.forward_events(done, |session, done| session.receive(bytes, out, done))
    }
    fn peer_closed(&mut self, done: &mut EventBuffer) {
        self.forward_events(done, |session, done| session.peer_closed(done));
    }
    fn sequence(&self) -> u64 {
        self.session.sequence()
    }
    fn unread_messages(&self) -> u32 {
        self.session.unread_messages()
    }
    fn opening_messages(&self) -> u32 {
        self.session.opening_messages()
    }
    fn write_replies(&mut self, unix_ns: u64, out: &mut OutputBuffer) -> u32 {
        self.session.write_replies(unix_ns, out)
    }
    fn partial_response(&self) -> &[u8] {
        self.session.partial_response()
    }
    fn pending_replies(&self) -> u32 {
        self.session.pending_replies()
    }
    fn reset_pending_replies(&mut self) {
        self.session.reset_pending_replies();
    }
    fn close_reason(&self) -> Option<StaticCause> {
        self.session.close_reason()
    }
    fn close_cause(&self) -> Option<Cause> {
        self.session.close_cause()
    }
    fn not_processed_reason(&self) -> StaticCause {
        self.session.not_processed_reason()
    }
    fn heartbeat(&mut self, out: &mut OutputBuffer) -> bool {
        self.session.heartbeat(out)
    }
    fn finish(&mut self, out: &mut OutputBuffer) {
        self.session.finish(out);
    }
    fn room(&self) -> usize {
        self.session.room()
    }
    fn refusal_kind(&self) -> FaultKind {
        self.session.refusal_kind()
    }
    fn refusal_code(&self) -> u32 {
        to_composite_code(self.member, self.session.refusal_code())
    }
    fn is_opening(&self) -> bool {
        self.session.is_opening()
    }
    fn starts_tls(&self) -> bool {
        self.session.starts_tls()
    }
    fn tls_established(&mut self, out: &mut OutputBuffer) {
        self.session.tls_established(out);
    }
}
