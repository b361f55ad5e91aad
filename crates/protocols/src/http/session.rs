//! A conversation in the version its connection speaks.
//!
//! The larger of the two is behind a pointer, so that a connection of HTTP/1.1 stays as small as it was.

use std::borrow::Cow;

use wire::{Broken, Done, ExchangeId, Fill, Full, Memory, Out, Sent, Session};

use crate::http1::{Http1Session, Request};
use crate::http2::Http2Session;

/// A conversation in HTTP, client side.
#[derive(Debug)]
pub enum HttpSession {
    /// HTTP/1.1.
    One(Http1Session),
    /// HTTP/2.
    Two(Box<Http2Session>),
}

/// Asks the one that is there.
macro_rules! either {
    ($self:ident, $session:ident => $answer:expr) => {
        match $self {
            HttpSession::One($session) => $answer,
            HttpSession::Two($session) => $answer,
        }
    };
}

impl Session for HttpSession {
    type Request = Request;
    const SLOTS: bool = true;

    fn open(&mut self, out: &mut Out) {
        either!(self, s => s.open(out));
    }
    #[inline]
    fn submit(&mut self, id: ExchangeId, request: &Request, fill: &Fill, out: &mut Out) -> Result<Sent, Full> {
        either!(self, s => s.submit(id, request, fill, out))
    }
    fn submit_with(
        &mut self,
        id: ExchangeId,
        request: &Request,
        fill: &Fill,
        memory: &Memory,
        out: &mut Out,
    ) -> Result<Sent, Full> {
        either!(self, s => s.submit_with(id, request, fill, memory, out))
    }
    fn release(&mut self, id: ExchangeId, out: &mut Out) -> bool {
        either!(self, s => s.release(id, out))
    }
    fn cancel(&mut self, id: ExchangeId, out: &mut Out) -> bool {
        either!(self, s => s.cancel(id, out))
    }
    #[inline]
    fn receive(&mut self, bytes: &[u8], out: &mut Out, done: &mut Done<Request>) -> Result<(), Broken> {
        either!(self, s => s.receive(bytes, out, done))
    }
    fn closed(&mut self, done: &mut Done<Request>) {
        either!(self, s => s.closed(done));
    }
    fn begun(&self) -> &[u8] {
        either!(self, s => s.begun())
    }
    #[inline]
    fn replies(&self) -> u32 {
        either!(self, s => s.replies())
    }
    fn replies_left(&mut self) {
        either!(self, s => s.replies_left());
    }
    fn goodbye(&self) -> &'static str {
        either!(self, s => s.goodbye())
    }
    fn farewell(&self) -> Cow<'static, str> {
        either!(self, s => s.farewell())
    }
    fn why_refused(&self) -> &'static str {
        either!(self, s => s.why_refused())
    }
    fn heartbeat(&mut self, out: &mut Out) -> bool {
        either!(self, s => s.heartbeat(out))
    }
    fn finish(&mut self, out: &mut Out) {
        either!(self, s => s.finish(out));
    }
    #[inline]
    fn room(&self) -> usize {
        either!(self, s => s.room())
    }
}
