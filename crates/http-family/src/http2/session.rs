//! HTTP over an HTTP/2 connection, client side: each exchange is a stream.
//!
//! Servers send the same head in response after response, so the meaning of a head (status, length, well-formedness) is
//! remembered as one number per connection, and an identical head is not read again. Only if more than the status
//! matters, or an example is wanted, is a head written out in HTTP/1 syntax and judged like an HTTP/1 head. A malformed
//! response (RFC 9113 8.1.1) fails only its own exchange.

use std::sync::Arc;

use brunt_cause::{Cause, StaticCause};
use brunt_contract::{
    Event, EventBuffer, ExchangeId, OutputBuffer, ProtocolError, Session, SessionFull, SlotContext, SubmitOutcome,
    UserState,
};

use super::answer::{BodyPrefix, Http2EventHandler, Http2Exchange};
use super::connection::Http2Connection;
use super::frames::code;
use super::hpack::{Lexicon, literal};
use super::receiving::SPEAKS_HTTP1;
use super::request::{self, Http2Request};
use super::slots::{Http2SlotValues, Http2Template};
use crate::cache::Revalidation;
use crate::cookies::{self, CookieJar};
use crate::http1::HttpRequest;
use crate::http1::evaluation::ResponseEvaluation;
use crate::http1::request::HttpRules;
use crate::http1::session::{LAST, SECURE};
use crate::http1::slots::FilledRequest;

/// An HTTP/2 session, client side.
#[derive(Debug)]
pub struct Http2Session {
    connection: Http2Connection<Http2Exchange>,
    rules: Arc<HttpRules>,
    lexicon: Arc<Lexicon>,
    /// Exchanges whose response began in the bytes being processed.
    begun: Vec<ExchangeId>,
    prefix: BodyPrefix,
    /// Maximum number of exchanges that may share the connection.
    streams: u32,
    tls: bool,
    /// Set if no further exchange may be started.
    last: bool,
    /// Buffer for the slot values of a request.
    slot_values: Http2SlotValues,
    /// The cookies of the current request, and a buffer for its head.
    cookie: Vec<u8>,
    head: Vec<u8>,
    /// The conditional request fields for a response in the user's cache.
    condition: Option<Revalidation>,
}

impl Http2Session {
    pub(crate) fn new(rules: Arc<HttpRules>, lexicon: Arc<Lexicon>, streams: u32, tls: bool) -> Http2Session {
        let connection = Http2Connection::with_budget(tls, rules.budget.clone());
        let (begun, said) = (Vec::new(), Http2SlotValues::default());
        let (came, cookie, head) = (BodyPrefix::default(), Vec::new(), Vec::new());
        Http2Session {
            connection,
            rules,
            lexicon,
            begun,
            prefix: came,
            streams,
            tls,
            last: false,
            slot_values: said,
            cookie,
            head,
            condition: None,
        }
    }

    /// Collects the cookies of the next request, its own and those of its user, and prepares the revalidation of a
    /// cached response.
    fn load_user_state(&mut self, request: &HttpRequest, context: &SlotContext, memory: &UserState) {
        self.cookie.clear();
        self.head.clear();
        match &request.slots {
            Some(slots) => drop(slots.put_bytes(context, &mut self.head)),
            None => self.head.extend_from_slice(&request.text()),
        }
        let Some(asked) = cookies::site(&self.head, request.flags & SECURE != 0) else { return };
        let own = asked.own.map_or(&[][..], |own| &self.head[own]);
        let jar = memory.get::<CookieJar>();
        if !jar.is_some_and(|jar| jar.put(&asked.site, own, context.seconds(), &mut self.cookie)) {
            self.cookie.extend_from_slice(own);
        }
        if self.rules.caches {
            self.revalidate(request, context, memory);
        }
    }

    /// Prepares the revalidation of the response that the user's cache holds for this request, if any.
    fn revalidate(&mut self, request: &HttpRequest, context: &SlotContext, memory: &UserState) {
        let secure = request.flags & SECURE != 0;
        if let Some(jar) = memory.get::<CookieJar>() {
            jar.put_into(&mut self.head, 0, secure, context.seconds());
        }
        let expects = request.slots.as_ref().is_some_and(|slots| slots.fills_checks());
        let need = self.rules.checks(request.checks).needed_parts(expects);
        self.condition = self.rules.condition(request.checks, memory, context, (&self.head, secure), need);
    }

    fn submit_now(
        &mut self,
        id: ExchangeId,
        request: &HttpRequest,
        context: &SlotContext,
        out: &mut OutputBuffer,
    ) -> SubmitOutcome {
        self.last |= request.flags & LAST != 0;
        let made;
        let prepared = match &request.http2 {
            Some(prepared) => prepared,
            // The next hop of a redirect.
            None => {
                made = request::prepare(request, self.tls, self.rules.keep_state());
                &made
            }
        };
        if let Some(slots) = &prepared.slots {
            self.submit_filled(id, request, (slots, prepared), context, out);
            return SubmitOutcome::AwaitingResponse;
        }
        let end = prepared.body.is_none();
        let captures = !self.rules.checks(request.checks).captures.is_empty();
        let condition = self.condition.take();
        let own = Http2Exchange::new(id, request)
            .with_random(if captures { context.random } else { 0 })
            .revalidating(condition.as_ref());
        let (lexicon, list, cookie) = (&self.lexicon, &prepared.list, &self.cookie);
        let stream = self.connection.begin_with(own, end, out, |encoder, out| {
            match list.leaves_path_out() {
                true => encoder.write_with(lexicon, list, request.path(), out),
                false => encoder.write(lexicon, list, out),
            }
            put_cookie(cookie, out);
            put_condition(condition.as_ref(), out);
        });
        if let Some(body) = &prepared.body {
            self.connection.send(stream, body, true, out);
        }
        SubmitOutcome::AwaitingResponse
    }

    /// Submits a request with slots; the slot values are kept if redirects have to repeat them.
    fn submit_filled(
        &mut self,
        id: ExchangeId,
        request: &HttpRequest,
        (slots, prepared): (&Http2Template, &Http2Request),
        context: &SlotContext,
        out: &mut OutputBuffer,
    ) {
        let cookie = &self.cookie;
        let checks = self.rules.checks(request.checks);
        let kept = request.slots.as_ref().filter(|_| checks.redirects > 0);
        let expected = request.slots.as_ref().and_then(|slots| slots.expected(context));
        let own = Http2Exchange::with_slots(
            id,
            request,
            kept.map(|slots| FilledRequest::new(slots, context)),
            ResponseEvaluation::expecting(expected, if checks.captures.is_empty() { 0 } else { context.random }),
        );
        let condition = self.condition.take();
        let own = own.revalidating(condition.as_ref());
        let said = &mut self.slot_values;
        slots.fill(context, said);
        let end = prepared.body.is_none() && !slots.body;
        let lexicon = &self.lexicon;
        let stream = self.connection.begin_with(own, end, out, |encoder, out| {
            slots.head(said, &prepared.list, lexicon, encoder, out);
            put_cookie(cookie, out);
            put_condition(condition.as_ref(), out);
        });
        if slots.body {
            self.connection.send_bytes(stream, slots.body_of(said), true, out);
        } else if let Some(body) = &prepared.body {
            self.connection.send(stream, body, true, out);
        }
    }
}

/// Appends the cookies of a request as a field that is not indexed, since it changes each time.
#[inline]
fn put_cookie(cookie: &[u8], out: &mut Vec<u8>) {
    if !cookie.is_empty() {
        literal(b"cookie", cookie, out);
    }
}

/// Appends the conditional request fields for a cached response.
#[inline]
fn put_condition(condition: Option<&Revalidation>, out: &mut Vec<u8>) {
    for (name, value) in condition.iter().flat_map(|condition| condition.lines.iter().flatten()) {
        literal(name.to_ascii_lowercase().as_bytes(), value, out);
    }
}

/// Replacement for [`SPEAKS_HTTP1`] whose message suggests leaving out the HTTP/2 option.
const LEAVE_IT_OUT: StaticCause = brunt_cause::http2::leave_it_out();

impl Session for Http2Session {
    fn open(&mut self, out: &mut OutputBuffer) {
        self.connection.open(out);
    }

    #[inline]
    fn submit(
        &mut self,
        id: ExchangeId,
        request: &brunt_contract::Request,
        context: &SlotContext,
        out: &mut OutputBuffer,
    ) -> Result<SubmitOutcome, SessionFull> {
        let request = request.downcast::<HttpRequest>();
        if self.room() == 0 {
            return Err(SessionFull);
        }
        Ok(self.submit_now(id, request, context, out))
    }

    fn submit_with(
        &mut self,
        id: ExchangeId,
        request: &brunt_contract::Request,
        context: &SlotContext,
        memory: &UserState,
        out: &mut OutputBuffer,
    ) -> Result<SubmitOutcome, SessionFull> {
        let request = request.downcast::<HttpRequest>();
        if self.room() == 0 {
            return Err(SessionFull);
        }
        if self.rules.keep_state() {
            self.load_user_state(request, context, memory);
        }
        Ok(self.submit_now(id, request, context, out))
    }

    fn cancel(&mut self, id: ExchangeId, out: &mut OutputBuffer) -> bool {
        if let Some(stream) = self.connection.find(|exchange| exchange.id == id) {
            self.connection.reset(stream, code::CANCEL, out);
        }
        true
    }

    #[inline]
    fn receive(&mut self, bytes: &[u8], out: &mut OutputBuffer, done: &mut EventBuffer) -> Result<(), ProtocolError> {
        let mut ear = Http2EventHandler { rules: &self.rules, done, begun: &mut self.begun, prefix: &mut self.prefix };
        let read = self.connection.receive(bytes, out, &mut ear);
        for id in self.begun.drain(..) {
            done.push(Event::FirstByte(id));
        }
        read.map_err(|ProtocolError(what)| ProtocolError(if what == SPEAKS_HTTP1 { LEAVE_IT_OUT } else { what }))
    }

    fn partial_response(&self) -> &[u8] {
        match self.connection.goaway_debug_data() {
            // If several exchanges fail together, it is not known which of them the body belongs to.
            b"" if self.connection.live() == 1 => self.prefix.bytes(),
            said => said,
        }
    }

    #[inline]
    fn pending_replies(&self) -> u32 {
        self.connection.replies()
    }

    fn reset_pending_replies(&mut self) {
        self.connection.replies_left();
    }

    fn close_reason(&self) -> Option<StaticCause> {
        self.connection.goodbye()
    }

    fn close_cause(&self) -> Option<Cause> {
        self.connection.farewell()
    }

    fn not_processed_reason(&self) -> StaticCause {
        self.connection.why_refused()
    }

    fn heartbeat(&mut self, out: &mut OutputBuffer) -> bool {
        self.connection.ping(out)
    }

    fn finish(&mut self, out: &mut OutputBuffer) {
        self.connection.finish(out);
    }

    #[inline]
    fn room(&self) -> usize {
        if self.last { 0 } else { self.connection.room_of(self.streams) }
    }
}
