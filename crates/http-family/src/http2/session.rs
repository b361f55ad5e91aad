//! HTTP over an HTTP/2 connection, client side: each exchange is a stream.
//!
//! Servers repeat the same head in response after response, so what a head means (status, length, well-formedness) is
//! remembered as one number per connection, and an identical head is not read again. Only if more than the status
//! matters, or an example is wanted, is a head written out in HTTP/1 syntax and judged like one. A malformed response
//! (RFC 9113 8.1.1) fails its exchange alone.

use std::sync::Arc;

use cause::{Cause, Plain};
use wire::{Broken, Done, Event, ExchangeId, Fill, Full, Memory, Out, Sent, Session};

use super::answer::{Came, Ear, Exchange};
use super::connection::Connection;
use super::filled::{Filled, Said};
use super::frames::code;
use super::hpack::{Lexicon, literal};
use super::receiving::SPEAKS_HTTP1;
use super::request::{self, Prepared};
use crate::cache::Condition;
use crate::cookies::{self, Jar};
use crate::http1::Request;
use crate::http1::filled::FilledWith;
use crate::http1::judge::Judge;
use crate::http1::request::Rules;
use crate::http1::session::{LAST, SECURE};

/// An HTTP/2 session, client side.
#[derive(Debug)]
pub struct Http2Session {
    connection: Connection<Exchange>,
    rules: Arc<Rules>,
    lexicon: Arc<Lexicon>,
    /// Exchanges whose response began in the bytes at hand.
    begun: Vec<ExchangeId>,
    came: Came,
    /// Maximum number of exchanges that may share the connection.
    streams: u32,
    tls: bool,
    /// Set if no further exchange may be started.
    last: bool,
    /// Buffer for the slot values of a request.
    said: Said,
    /// The cookies of the current request, and a buffer for its head.
    cookie: Vec<u8>,
    head: Vec<u8>,
    /// The conditional request fields for an answer in the user's cache.
    condition: Option<Condition>,
}

impl Http2Session {
    pub(crate) fn new(rules: Arc<Rules>, lexicon: Arc<Lexicon>, streams: u32, tls: bool) -> Http2Session {
        let connection = Connection::over(tls, rules.kept.clone());
        let (begun, said) = (Vec::new(), Said::default());
        let (came, cookie, head) = (Came::default(), Vec::new(), Vec::new());
        Http2Session {
            connection,
            rules,
            lexicon,
            begun,
            came,
            streams,
            tls,
            last: false,
            said,
            cookie,
            head,
            condition: None,
        }
    }

    /// Collects the cookies of the next request, its own and those of its user, and prepares revalidation of a cached
    /// answer.
    fn recall(&mut self, request: &Request, fill: &Fill, memory: &Memory) {
        self.cookie.clear();
        self.head.clear();
        match &request.slots {
            Some(slots) => drop(slots.put_bytes(fill, &mut self.head)),
            None => self.head.extend_from_slice(&request.text()),
        }
        let Some(asked) = cookies::site(&self.head, request.marks & SECURE != 0) else { return };
        let own = asked.own.map_or(&[][..], |own| &self.head[own]);
        let jar = memory.get::<Jar>();
        if !jar.is_some_and(|jar| jar.put(&asked.site, own, fill.seconds(), &mut self.cookie)) {
            self.cookie.extend_from_slice(own);
        }
        if self.rules.cache.is_some() {
            self.asks_whether_good(request, fill, memory);
        }
    }

    /// Prepares revalidation of the answer that the user has cached for this request, if any.
    fn asks_whether_good(&mut self, request: &Request, fill: &Fill, memory: &Memory) {
        let secure = request.marks & SECURE != 0;
        if let Some(jar) = memory.get::<Jar>() {
            jar.put_into(&mut self.head, 0, secure, fill.seconds());
        }
        let expects = request.slots.as_ref().and_then(|slots| slots.expected(fill)).is_some();
        let need = self.rules.checks(request.checks).need(expects);
        self.condition = self.rules.condition(memory, fill, (&self.head, secure), need);
    }

    fn submit_now(&mut self, id: ExchangeId, request: &Request, fill: &Fill, out: &mut Out) -> Sent {
        self.last |= request.marks & LAST != 0;
        let made;
        let prepared = match &request.two {
            Some(prepared) => prepared,
            // The next hop of a redirect.
            None => {
                made = request::prepare(request, self.tls, self.rules.remember());
                &made
            }
        };
        if let Some(slots) = &prepared.slots {
            self.submit_filled(id, request, (slots, prepared), fill, out);
            return Sent::Asked;
        }
        let end = prepared.body.is_none();
        let captures = !self.rules.checks(request.checks).captures.is_empty();
        let condition = self.condition.take();
        let own = Exchange::new(id, request).drawing(if captures { fill.random } else { 0 }).having(condition.as_ref());
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
        Sent::Asked
    }

    /// Submits a request with slots; the slot values are kept if redirects have to repeat them.
    fn submit_filled(
        &mut self,
        id: ExchangeId,
        request: &Request,
        (slots, prepared): (&Filled, &Prepared),
        fill: &Fill,
        out: &mut Out,
    ) {
        let cookie = &self.cookie;
        let checks = self.rules.checks(request.checks);
        let kept = request.slots.as_ref().filter(|_| checks.redirects > 0);
        let expected = request.slots.as_ref().and_then(|slots| slots.expected(fill));
        let own = Exchange::filled(
            id,
            request,
            kept.map(|slots| FilledWith::new(slots, fill)),
            Judge::expecting(expected, if checks.captures.is_empty() { 0 } else { fill.random }),
        );
        let condition = self.condition.take();
        let own = own.having(condition.as_ref());
        let said = &mut self.said;
        slots.fill(fill, said);
        let end = prepared.body.is_none() && !slots.body;
        let lexicon = &self.lexicon;
        let stream = self.connection.begin_with(own, end, out, |encoder, out| {
            slots.head(said, &prepared.list, lexicon, encoder, out);
            put_cookie(cookie, out);
            put_condition(condition.as_ref(), out);
        });
        if slots.body {
            self.connection.send_bytes(stream, slots.said_body(said), true, out);
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

/// Appends the conditional request fields for a cached answer.
#[inline]
fn put_condition(condition: Option<&Condition>, out: &mut Vec<u8>) {
    for (name, value) in condition.iter().flat_map(|condition| condition.lines.iter().flatten()) {
        literal(name.to_ascii_lowercase().as_bytes(), value, out);
    }
}

/// A replacement for [`SPEAKS_HTTP1`] whose message suggests leaving out the HTTP/2 option.
const LEAVE_IT_OUT: Plain = cause::http2::leave_it_out();

impl Session for Http2Session {
    fn open(&mut self, out: &mut Out) {
        self.connection.open(out);
    }

    #[inline]
    fn submit(&mut self, id: ExchangeId, request: &wire::Request, fill: &Fill, out: &mut Out) -> Result<Sent, Full> {
        let request = request.of::<Request>();
        if self.room() == 0 {
            return Err(Full);
        }
        Ok(self.submit_now(id, request, fill, out))
    }

    fn submit_with(
        &mut self,
        id: ExchangeId,
        request: &wire::Request,
        fill: &Fill,
        memory: &Memory,
        out: &mut Out,
    ) -> Result<Sent, Full> {
        let request = request.of::<Request>();
        if self.room() == 0 {
            return Err(Full);
        }
        if self.rules.remember() {
            self.recall(request, fill, memory);
        }
        Ok(self.submit_now(id, request, fill, out))
    }

    fn cancel(&mut self, id: ExchangeId, out: &mut Out) -> bool {
        if let Some(stream) = self.connection.find(|exchange| exchange.id == id) {
            self.connection.reset(stream, code::CANCEL, out);
        }
        true
    }

    #[inline]
    fn receive(&mut self, bytes: &[u8], out: &mut Out, done: &mut Done) -> Result<(), Broken> {
        let mut ear = Ear { rules: &self.rules, done, begun: &mut self.begun, came: &mut self.came };
        let read = self.connection.receive(bytes, out, &mut ear);
        for id in self.begun.drain(..) {
            done.push(Event::FirstByte(id));
        }
        read.map_err(|Broken(what)| Broken(if what == SPEAKS_HTTP1 { LEAVE_IT_OUT } else { what }))
    }

    fn begun(&self) -> &[u8] {
        match self.connection.goodbye_text() {
            // If several exchanges fail together, it is not known which of them the body belongs to.
            b"" if self.connection.live() == 1 => self.came.bytes(),
            said => said,
        }
    }

    #[inline]
    fn replies(&self) -> u32 {
        self.connection.replies()
    }

    fn replies_left(&mut self) {
        self.connection.replies_left();
    }

    fn goodbye(&self) -> Option<Plain> {
        self.connection.goodbye()
    }

    fn farewell(&self) -> Option<Cause> {
        self.connection.farewell()
    }

    fn why_refused(&self) -> Plain {
        self.connection.why_refused()
    }

    fn heartbeat(&mut self, out: &mut Out) -> bool {
        self.connection.ping(out)
    }

    fn finish(&mut self, out: &mut Out) {
        self.connection.finish(out);
    }

    #[inline]
    fn room(&self) -> usize {
        if self.last { 0 } else { self.connection.room_of(self.streams) }
    }
}
