//! A conversation in whichever protocol its connection speaks.

use std::borrow::Cow;
use std::sync::Arc;

use wire::{
    Broken, Dialogue, Done, Established, Event, ExchangeId, FaultKind, Fill, Follow, Full, Memory, Origin, Out, Sent,
    Session,
};

use super::parts::{DialogueOf, Part, Parts, Request, RequestOf, SessionOf, found, inner, of_part, outer, outer_code};
use crate::{grpc::Grpc, http::Http, mysql::Mysql, postgres::Postgres, raw::Raw, redis::Redis, websocket::WebSocket};

/// A conversation, client side.
pub enum MixedSession {
    /// In HTTP.
    Http(Box<InPart<Http>>),
    /// In WebSocket.
    WebSocket(Box<InPart<WebSocket>>),
    /// In gRPC.
    Grpc(Box<InPart<Grpc>>),
    /// With Redis.
    Redis(Box<InPart<Redis>>),
    /// With MySQL.
    Mysql(Box<InPart<Mysql>>),
    /// With PostgreSQL.
    Postgres(Box<InPart<Postgres>>),
    /// Of declared framing.
    Raw(Box<InPart<Raw>>),
    /// In none that the flow speaks: nothing is sent on it.
    Nobody,
}

/// A conversation in one protocol.
pub struct InPart<P: Protocols> {
    dialogue: Arc<DialogueOf<P>>,
    session: SessionOf<P>,
    /// What happened, before it is told as the whole's; memory that is used again.
    events: Vec<Event<RequestOf<P>>>,
}

/// The protocols that a flow may speak.
#[allow(private_bounds)]
pub trait Protocols: Part {
    /// A conversation in it.
    fn talk(talk: InPart<Self>) -> MixedSession
    where
        Self: Sized;
}

macro_rules! talks {
    ($($part:ident)+) => {
        $(impl Protocols for $part {
            fn talk(talk: InPart<$part>) -> MixedSession {
                MixedSession::$part(Box::new(talk))
            }
        })+
    };
}

talks!(Http WebSocket Grpc Redis Mysql Postgres Raw);

/// Asks the one that is there.
macro_rules! any {
    ($self:expr, $talk:ident => $answer:expr, $otherwise:expr) => {
        match $self {
            MixedSession::Http($talk) => $answer,
            MixedSession::WebSocket($talk) => $answer,
            MixedSession::Grpc($talk) => $answer,
            MixedSession::Redis($talk) => $answer,
            MixedSession::Mysql($talk) => $answer,
            MixedSession::Postgres($talk) => $answer,
            MixedSession::Raw($talk) => $answer,
            MixedSession::Nobody => $otherwise,
        }
    };
}

impl MixedSession {
    /// On a connection to this origin.
    pub(super) fn new(parts: &Parts, origin: &Origin, established: &Established) -> MixedSession {
        let (part, origin) = inner(origin);
        let established = Established { bound: origin.bound, ..established.clone() };
        let talk = of_part!(parts, part, P, dialogue => {
            let session = dialogue.session(&origin, &established);
            P::talk(InPart { dialogue: Arc::clone(dialogue), session, events: Vec::new() })
        });
        talk.unwrap_or(MixedSession::Nobody)
    }
}

impl<P: Protocols> InPart<P> {
    fn submit(
        &mut self,
        id: ExchangeId,
        request: &Request,
        fill: &Fill<'_>,
        memory: Option<&Memory>,
        out: &mut Out,
    ) -> Result<Sent, Full> {
        let request = found::<P>(&self.dialogue, request).ok_or(Full)?;
        match memory {
            Some(memory) => self.session.submit_with(id, request, fill, memory, out),
            None => self.session.submit(id, request, fill, out),
        }
    }

    /// What the session says happened is told.
    fn tells<T>(
        &mut self,
        done: &mut Done<Request>,
        hear: impl FnOnce(&mut SessionOf<P>, &mut Done<RequestOf<P>>) -> T,
    ) -> T {
        let mut heard = Done::like(done, std::mem::take(&mut self.events));
        let answer = hear(&mut self.session, &mut heard);
        for event in heard.events.drain(..) {
            done.push(event.within(
                |code| outer_code(P::NUMBER, code),
                |next| Follow { origin: outer(P::NUMBER, &next.origin), request: P::hop(next.request) },
            ));
        }
        done.failed_as(&mut heard);
        self.events = heard.events;
        answer
    }
}

impl Session for MixedSession {
    type Request = Request;
    const SLOTS: bool = true;
    const COUNTS: bool = true;

    fn open(&mut self, out: &mut Out) {
        any!(self, s => s.session.open(out), ());
    }
    fn open_with(&mut self, fill: &Fill<'_>, out: &mut Out) {
        any!(self, s => s.session.open_with(fill, out), ());
    }
    fn submit(&mut self, id: ExchangeId, request: &Request, fill: &Fill<'_>, out: &mut Out) -> Result<Sent, Full> {
        any!(self, s => s.submit(id, request, fill, None, out), Err(Full))
    }
    fn submit_with(
        &mut self,
        id: ExchangeId,
        request: &Request,
        fill: &Fill<'_>,
        memory: &Memory,
        out: &mut Out,
    ) -> Result<Sent, Full> {
        any!(self, s => s.submit(id, request, fill, Some(memory), out), Err(Full))
    }
    fn push(&mut self, id: ExchangeId, message: &[u8], last: bool, out: &mut Out) -> Result<(), Full> {
        any!(self, s => s.session.push(id, message, last, out), Err(Full))
    }
    fn release(&mut self, id: ExchangeId, out: &mut Out) -> bool {
        any!(self, s => s.session.release(id, out), false)
    }
    fn cancel(&mut self, id: ExchangeId, out: &mut Out) -> bool {
        any!(self, s => s.session.cancel(id, out), false)
    }
    fn receive(&mut self, bytes: &[u8], out: &mut Out, done: &mut Done<Request>) -> Result<(), Broken> {
        any!(self, s => s.tells(done, |session, done| session.receive(bytes, out, done)), Ok(()))
    }
    fn closed(&mut self, done: &mut Done<Request>) {
        any!(self, s => s.tells(done, |session, done| session.closed(done)), ());
    }
    fn sequence(&self) -> u64 {
        any!(self, s => s.session.sequence(), 0)
    }
    fn unheard(&self) -> u32 {
        any!(self, s => s.session.unheard(), 0)
    }
    fn opening_messages(&self) -> u32 {
        any!(self, s => s.session.opening_messages(), 0)
    }
    fn pay(&mut self, unix_ns: u64, out: &mut Out) -> u32 {
        any!(self, s => s.session.pay(unix_ns, out), 0)
    }
    fn begun(&self) -> &[u8] {
        any!(self, s => s.session.begun(), &[])
    }
    fn replies(&self) -> u32 {
        any!(self, s => s.session.replies(), 0)
    }
    fn replies_left(&mut self) {
        any!(self, s => s.session.replies_left(), ());
    }
    fn goodbye(&self) -> &'static str {
        any!(self, s => s.session.goodbye(), "")
    }
    fn farewell(&self) -> Cow<'static, str> {
        any!(self, s => s.session.farewell(), Cow::Borrowed(""))
    }
    fn why_refused(&self) -> &'static str {
        any!(self, s => s.session.why_refused(), "")
    }
    fn heartbeat(&mut self, out: &mut Out) -> bool {
        any!(self, s => s.session.heartbeat(out), false)
    }
    fn finish(&mut self, out: &mut Out) {
        any!(self, s => s.session.finish(out), ());
    }
    fn room(&self) -> usize {
        any!(self, s => s.session.room(), 0)
    }
    fn refusal(&self) -> FaultKind {
        any!(self, s => s.session.refusal(), FaultKind::BrokenProtocol)
    }
    fn refusal_code(&self) -> u32 {
        any!(self, s => s.refusal_code(), 0)
    }
    fn opening(&self) -> bool {
        any!(self, s => s.session.opening(), false)
    }
    fn secures_now(&self) -> bool {
        any!(self, s => s.session.secures_now(), false)
    }
    fn secured(&mut self, out: &mut Out) {
        any!(self, s => s.session.secured(out), ());
    }
}

impl<P: Protocols> InPart<P> {
    fn refusal_code(&self) -> u32 {
        outer_code(P::NUMBER, self.session.refusal_code())
    }
}
