//! Client side of a connection: one exchange at a time, with keep-alive.
//!
//! A response that arrives whole is parsed in place, without a copy or an allocation. State that is rarely needed (a
//! split head, a redirect, an expected text, an excerpt for an example) is boxed and exists only as long as needed, so
//! an idle connection takes a few dozen bytes. Pipelining is not supported; every server that allows it is faster with
//! more connections.

use std::sync::Arc;

use wire::{Broken, Done, Ended, Established, Event, ExchangeId, FaultKind, Fill, Full, Memory, Out, Sent, Session};

use super::body::{Body, Part};
use super::codec::{CHUNKED, CODED, HEAD_BOUND, Head, SIZED, response_head};
use super::filled::FilledWith;
use super::judge::{EXCERPT_BOUND, Judge};
use super::redirect::Hop;
use super::request::{Recipe, Request, Rules};
use super::withheld::Withheld;
use crate::cookies::{self, Jar};
use values::kept::{Kept, NO_ROOM_FOR_HEADS};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// No exchange in flight.
    Idle,
    /// Waiting for a head.
    Head,
    /// Receiving a body.
    Body,
    /// No exchange in flight, and no further request is accepted.
    Over,
}

// Flags of the current request and its response, in one byte.

/// Flag: no exchange may follow.
pub const LAST: u8 = 1;
/// Flag: the response has no body, whatever its head says.
pub const NO_BODY: u8 = 2;
/// Flag: the request asked for an upgrade, so 101 is a final response.
pub const UPGRADES: u8 = 4;
/// Flag: the first byte was reported.
pub const BEGUN: u8 = 8;
/// Flag: the response is kept for an example.
pub const CAPTURES: u8 = 16;
/// Flag: the request has slots.
pub const SLOTS: u8 = 32;
/// Flag: the body waits for `100 Continue`.
pub const EXPECTS: u8 = 64;
/// Flag: the request goes over TLS.
pub const SECURE: u8 = 128;

/// State that most exchanges do not need.
#[derive(Debug, Default)]
struct Rare {
    /// An incomplete head; later the beginning of a response that may become an example.
    kept: Kept,
    /// Parser state of that head.
    head: Head,
    /// Bytes of interim responses so far.
    interim: usize,
    /// Recipe of a request that is not in the list, made by a redirect.
    own: Option<Arc<Recipe>>,
    /// Template and context of a request with slots, if redirects may be made from it.
    filled: Option<FilledWith>,
    /// The body, while it waits for `100 Continue`.
    withheld: Withheld,
    /// State of the checks.
    judge: Judge,
}

/// An HTTP/1.1 connection, client side.
#[derive(Debug)]
pub struct Http1Session {
    rules: Arc<Rules>,
    rare: Option<Box<Rare>>,
    body: Body,
    payload: u64,
    id: ExchangeId,
    listed: u32,
    status: u16,
    state: State,
    marks: u8,
    checks: u16,
}

impl Http1Session {
    pub(super) fn new(rules: Arc<Rules>) -> Http1Session {
        Http1Session {
            rules,
            rare: None,
            body: Body::of_length(0),
            payload: 0,
            id: ExchangeId(0),
            listed: 0,
            status: 0,
            state: State::Idle,
            marks: 0,
            checks: 0,
        }
    }

    fn rare(&mut self) -> &mut Rare {
        self.rare.get_or_insert_default()
    }

    /// Reads on from `bytes`. Returns `true` once the exchange is over. `at` is advanced past what was read, `kept_to`
    /// past what is buffered.
    #[inline]
    fn advance(&mut self, bytes: &[u8], at: &mut usize, kept_to: &mut usize, done: &Done) -> Result<bool, Broken> {
        while self.state == State::Head {
            let mut head = Head::default();
            let over = if self.rare.as_ref().is_none_or(|r| r.kept.is_empty()) {
                let rest = &bytes[*at..];
                if rest.is_empty() {
                    return Ok(false);
                }
                if !response_head(rest, &mut head)? {
                    self.keep_part(rest, head)?;
                    (*at, *kept_to) = (bytes.len(), bytes.len());
                    return Ok(false);
                }
                *at += head.at;
                self.answered(&head, &rest[..head.at], done)?
            } else {
                // All of it is kept by now, in case of an error too.
                *kept_to = bytes.len();
                let Some(over) = self.complete_head(bytes, at, done)? else { return Ok(false) };
                *kept_to = *at;
                over
            };
            if over {
                return Ok(true);
            }
        }
        let rest = &bytes[*at..];
        if self.body.ends_with_connection() || !rest.is_empty() {
            return self.feed(rest, at);
        }
        Ok(false)
    }

    /// Buffers the beginning of a head until the rest arrives.
    #[cold]
    fn keep_part(&mut self, part: &[u8], head: Head) -> Result<(), Broken> {
        let rare = self.rare.get_or_insert_default();
        if rare.interim + part.len() > HEAD_BOUND {
            return Err(ENDLESS);
        }
        rare.head = head;
        if rare.kept.add(part, &self.rules.kept) { Ok(()) } else { Err(Broken(NO_ROOM_FOR_HEADS)) }
    }

    /// Continues a buffered head. Returns `None` if it is still incomplete.
    #[cold]
    fn complete_head(&mut self, bytes: &[u8], at: &mut usize, done: &Done) -> Result<Option<bool>, Broken> {
        let rare = self.rare.get_or_insert_default();
        let before = rare.kept.len();
        let room = HEAD_BOUND + 1 - before;
        if !rare.kept.add(&bytes[..bytes.len().min(room)], &self.rules.kept) {
            return Err(Broken(NO_ROOM_FOR_HEADS));
        }
        let whole = response_head(&rare.kept, &mut rare.head)?;
        let seen = if whole { rare.head.at } else { rare.kept.len() };
        if rare.interim + seen > HEAD_BOUND {
            return Err(ENDLESS);
        }
        *at = seen - before;
        if !whole {
            return Ok(None);
        }
        let (mut kept, head) = (std::mem::take(&mut rare.kept), std::mem::take(&mut rare.head));
        kept.truncate(head.at);
        let over = self.answered(&head, &kept, done);
        if over.is_err() || self.marks & CAPTURES != 0 {
            self.rare().kept = Kept::beginning(&kept[..kept.len().min(EXCERPT_BOUND)]);
        }
        over.map(Some)
    }

    /// Processes a complete head. Returns `true` if the response ends with it.
    #[inline]
    fn answered(&mut self, head: &Head, text: &[u8], done: &Done) -> Result<bool, Broken> {
        if text.len() > HEAD_BOUND {
            return Err(ENDLESS);
        }
        if head.status < 200 {
            return self.interim(head);
        }
        self.status = head.status;
        if !head.keeps_alive() {
            self.marks |= LAST;
        }
        let checks = self.rules.checks(self.checks);
        let plain = checks.plain || (checks.but_cookies && !cookies::are_set(text));
        if !plain || !checks.success.has(head.status) {
            self.look_closer(text, done)?;
        }
        if self.marks & NO_BODY != 0 || head.status == 204 || head.status == 304 {
            return Ok(true);
        }
        self.state = State::Body;
        if head.has(CHUNKED) {
            self.body = Body::chunked();
        } else if head.has(SIZED) && !head.has(CODED) {
            self.body = Body::of_length(head.length);
            return Ok(head.length == 0);
        } else {
            self.marks |= LAST;
            self.body = Body::until_close();
        }
        Ok(false)
    }

    /// Handles 1xx: another head follows, unless the server switches the protocol.
    #[cold]
    fn interim(&mut self, head: &Head) -> Result<bool, Broken> {
        if head.status == 101 {
            if self.marks & UPGRADES == 0 {
                return Err(Broken(cause::http1::unrequested_101()));
            }
            self.status = 101;
            self.marks |= LAST;
            return Ok(true);
        }
        let rare = self.rare();
        rare.withheld.asked_for |= head.status == 100;
        rare.interim += head.at;
        if rare.interim > HEAD_BOUND { Err(ENDLESS) } else { Ok(false) }
    }

    /// Handles statuses that may redirect or fail, and responses with further checks.
    #[cold]
    fn look_closer(&mut self, text: &[u8], done: &Done) -> Result<(), Broken> {
        let rules = Arc::clone(&self.rules);
        if self.marks & EXPECTS != 0 && self.rare().withheld.decline() {
            // The server waits for a body that will not come (RFC 9110 10.1.1).
            self.marks |= LAST;
        }
        let checks = rules.checks(self.checks);
        if !checks.plain {
            let (status, listed) = (self.status, self.listed);
            let Rare { own, filled, judge, .. } = self.rare();
            let recipe = own.as_deref().or_else(|| rules.recipes.get(listed as usize));
            let filled = rules.filled(recipe, filled.as_ref(), status);
            judge.head((&rules, checks), filled.as_ref().or(recipe), status, text)?;
        }
        if self.verdict().is_some_and(|kind| done.wants_example(kind)) {
            self.marks |= CAPTURES;
        }
        Ok(())
    }

    #[inline]
    fn feed(&mut self, rest: &[u8], at: &mut usize) -> Result<bool, Broken> {
        let (payload, rare, rules) = (&mut self.payload, &mut self.rare, &self.rules);
        let checks = rules.checks(self.checks);
        if checks.trailers {
            return self.feed_with_trailers(rest, at);
        }
        let (used, over) = self.body.feed(rest, |data| {
            *payload += data.len() as u64;
            if let Some(rare) = rare.as_mut() {
                rare.judge.feed((rules, checks), data);
            }
        })?;
        *at += used;
        Ok(over)
    }

    /// Returns the fault of a complete response.
    fn judged(&mut self) -> Option<FaultKind> {
        if let Some(rare) = &mut self.rare {
            rare.judge.whole((&self.rules, self.rules.checks(self.checks)), self.status);
        }
        self.verdict()
    }

    /// Returns the fault of the response, as far as it is known.
    fn verdict(&self) -> Option<FaultKind> {
        let rules = (&*self.rules, self.rules.checks(self.checks));
        match &self.rare {
            Some(rare) => rare.judge.verdict(rules, self.status),
            None => Judge::default().verdict(rules, self.status),
        }
    }

    /// Ends the exchange; `fresh` are its bytes that are not kept yet.
    #[inline]
    fn end(&mut self, fault: Option<FaultKind>, fresh: &[u8], done: &mut Done) {
        self.state = if self.marks & LAST != 0 { State::Over } else { State::Idle };
        if fault.is_some() || self.rare.is_some() {
            return self.end_closely(fault, fresh, done);
        }
        let code = u32::from(self.status);
        done.push(Event::Ended(Ended {
            id: self.id,
            fault,
            code,
            payload: self.payload,
            excerpt: None,
            follow: None,
            why: None,
        }));
    }

    /// Like [`Self::end`], for a failure, a redirect, or a response in pieces.
    #[cold]
    fn end_closely(&mut self, fault: Option<FaultKind>, fresh: &[u8], done: &mut Done) {
        let mut rare = self.rare.take().map(|r| *r).unwrap_or_default();
        let excerpt = fault.is_some_and(|kind| done.wants_example(kind)).then(|| {
            let mut excerpt = rare.kept[..rare.kept.len().min(EXCERPT_BOUND)].to_vec();
            excerpt.extend_from_slice(&fresh[..fresh.len().min(EXCERPT_BOUND - excerpt.len())]);
            excerpt.into_boxed_slice()
        });
        let why = match fault.filter(|kind| done.wants_example(*kind)) {
            Some(kind) => {
                rare.withheld.why(rare.judge.why((&self.rules, self.rules.checks(self.checks)), kind, self.payload))
            }
            None => None,
        };
        let rules = (&*self.rules, self.rules.checks(self.checks));
        if let Some(checks) = fault.and_then(|kind| rare.judge.failed(rules, self.status, kind)) {
            done.failed(self.id, checks);
        }
        if let Some(lesson) = rare.judge.lesson(fault.is_none()) {
            done.push(Event::Learnt(self.id, lesson));
        }
        if rare.withheld.declined {
            done.push(Event::Declined(self.id));
        }
        let code = u32::from(self.status);
        let follow = match rare.judge.hop {
            Hop::To(follow) if fault.is_none() => Some(follow),
            _ => None,
        };
        done.push(Event::Ended(Ended { id: self.id, fault, code, payload: self.payload, excerpt, follow, why }));
    }

    /// Sends the body once the server has asked for it.
    fn give(&mut self, out: &mut Out) {
        if let Some(rare) = self.rare.as_mut().filter(|rare| rare.withheld.asked_for) {
            rare.withheld.put(out);
        }
    }

    /// Writes a request with slots; its context is kept if redirects may be made from it.
    fn put_filled(&mut self, request: &Request, fill: &Fill, out: &mut Out) {
        let Some(filled) = &request.slots else { return };
        if request.marks & EXPECTS == 0 {
            filled.put(fill, out);
        } else {
            self.rare().withheld = Withheld::filled(filled, fill, out);
        }
        if self.rules.checks(request.checks).redirects > 0 {
            self.rare().filled = Some(FilledWith::new(filled, fill));
        }
        if let Some(expected) = filled.expected(fill) {
            self.rare().judge.expected = Some(expected);
        }
    }

    /// Makes the request that begins at `from` conditional if the user's cache has a response to validate.
    fn asks_whether_good(&mut self, (request, from): (&Request, usize), fill: &Fill, memory: &Memory, out: &mut Out) {
        let rules = Arc::clone(&self.rules);
        let expects = self.rare.as_ref().is_some_and(|rare| rare.judge.expected.is_some());
        let (need, bytes) = (rules.checks(request.checks).need(expects), out.bytes_mut());
        if let Some(condition) = rules.condition(memory, fill, (&bytes[from..], request.marks & SECURE != 0), need) {
            condition.put_into(bytes, from);
            self.rare().judge.cache.has = Some(condition.answer);
        }
    }

    /// Notes that the response is incomplete.
    #[inline]
    fn more_to_come(&mut self, fresh: &[u8], done: &mut Done) {
        if self.marks & BEGUN == 0 {
            self.marks |= BEGUN;
            done.push(Event::FirstByte(self.id));
        }
        // The beginning is kept as long as an example of an aborted response is wanted.
        let cut = [FaultKind::Closed, FaultKind::Reset, FaultKind::Timeout];
        if self.state == State::Body && cut.into_iter().any(|kind| done.wants_example(kind)) {
            self.marks |= CAPTURES;
        }
        if self.marks & CAPTURES != 0 && !fresh.is_empty() {
            let kept = &mut self.rare.get_or_insert_default().kept;
            // Such a small amount always fits.
            let _ = kept.add(&fresh[..fresh.len().min(EXCERPT_BOUND.saturating_sub(kept.len()))], &self.rules.kept);
        }
    }
}

const ENDLESS: Broken = Broken(cause::http1::endless_headers());

impl Session for Http1Session {
    fn restart(&mut self, established: &Established) -> bool {
        let is_ours = established.alpn.as_deref().is_none_or(|chosen| chosen == b"http/1.1");
        if is_ours {
            *self = Http1Session::new(Arc::clone(&self.rules));
        }
        is_ours
    }
    #[inline]
    fn submit(&mut self, id: ExchangeId, request: &wire::Request, fill: &Fill, out: &mut Out) -> Result<Sent, Full> {
        let request = request.of::<Request>();
        if self.state != State::Idle {
            return Err(Full);
        }
        match request.marks & (SLOTS | EXPECTS) {
            0 => {
                out.put(&request.bytes);
                if let Some(common) = &request.common {
                    out.put(&common.text);
                    if let Some(body) = &common.body {
                        out.put_shared(body);
                    }
                }
            }
            EXPECTS => self.rare().withheld = Withheld::beside(request, out),
            _ => self.put_filled(request, fill, out),
        }
        self.id = id;
        self.listed = request.listed;
        (self.marks, self.checks) = (request.marks, request.checks);
        self.state = State::Head;
        self.payload = 0;
        self.status = 0;
        if let Some(own) = &request.own {
            self.rare().own = Some(Arc::clone(own));
        }
        if !self.rules.checks(request.checks).captures.is_empty() {
            self.rare().judge.random = fill.random;
        }
        Ok(if request.marks & EXPECTS == 0 { Sent::Asked } else { Sent::Withheld(self.rules.waits) })
    }

    fn submit_with(
        &mut self,
        id: ExchangeId,
        request: &wire::Request,
        fill: &Fill,
        memory: &Memory,
        out: &mut Out,
    ) -> Result<Sent, Full> {
        let from = out.buffer().len();
        let sent = self.submit(id, request, fill, out)?;
        let request = request.of::<Request>();
        if let Some(jar) = memory.get::<Jar>() {
            jar.put_into(out.bytes_mut(), from, request.marks & SECURE != 0, fill.seconds());
        }
        if self.rules.cache.is_some() {
            self.asks_whether_good((request, from), fill, memory, out);
        }
        Ok(sent)
    }

    fn release(&mut self, id: ExchangeId, out: &mut Out) -> bool {
        let waits = self.id == id && self.state == State::Head;
        waits && self.rare.as_mut().is_some_and(|rare| rare.withheld.put(out))
    }

    #[inline]
    fn receive(&mut self, bytes: &[u8], out: &mut Out, done: &mut Done) -> Result<(), Broken> {
        if bytes.is_empty() {
            return Ok(());
        }
        if matches!(self.state, State::Idle | State::Over) {
            return Err(self.unasked(bytes, done));
        }
        let (mut at, mut kept_to) = (0, 0);
        match self.advance(bytes, &mut at, &mut kept_to, done) {
            Ok(true) => {
                let checks = self.rules.checks(self.checks);
                let plain = checks.plain || checks.but_cookies;
                let fault = if plain && self.rare.is_none() && checks.success.has(self.status) {
                    None
                } else {
                    self.give(out);
                    self.judged()
                };
                self.end(fault, &bytes[kept_to..at], done);
                if at < bytes.len() {
                    return Err(self.unasked(&bytes[at..], done));
                }
                Ok(())
            }
            Ok(false) => {
                if self.marks & EXPECTS != 0 {
                    self.give(out);
                    if self.state == State::Head && self.rare().kept.is_empty() {
                        // `100 Continue` is not the first byte of the response.
                        return Ok(());
                    }
                }
                self.more_to_come(&bytes[kept_to..], done);
                Ok(())
            }
            Err(broken) => {
                self.marks |= LAST;
                self.end(Some(FaultKind::BrokenProtocol), &bytes[kept_to..], done);
                Err(broken)
            }
        }
    }

    fn closed(&mut self, done: &mut Done) {
        if self.state == State::Body && self.body.ends_with_connection() {
            let fault = self.judged();
            self.end(fault, &[], done);
        }
        self.state = State::Over;
    }

    fn begun(&self) -> &[u8] {
        let kept = self.rare.as_ref().map_or(&[][..], |rare| &rare.kept[..]);
        &kept[..kept.len().min(EXCERPT_BOUND)]
    }

    #[inline]
    fn room(&self) -> usize {
        usize::from(self.state == State::Idle)
    }
}

const UNASKED: Broken = Broken(cause::http1::unsolicited());

impl Http1Session {
    /// Like [`Self::feed`], but keeps the trailers too.
    #[cold]
    fn feed_with_trailers(&mut self, rest: &[u8], at: &mut usize) -> Result<bool, Broken> {
        let rules = Arc::clone(&self.rules);
        let checks = rules.checks(self.checks);
        let (payload, body) = (&mut self.payload, &mut self.body);
        let judge = &mut self.rare.get_or_insert_default().judge;
        let (used, over) = body.feed_both(rest, |part| match part {
            Part::Content(data) => {
                *payload += data.len() as u64;
                judge.feed((&rules, checks), data);
            }
            Part::Trailer(piece) => judge.trailers.piece(piece, &rules.kept),
        })?;
        *at += used;
        Ok(over)
    }

    /// Handles bytes received without a request: a stray response, except for the 408 with which a server closes an
    /// idle connection (RFC 9110 15.5.9).
    #[cold]
    fn unasked(&mut self, bytes: &[u8], done: &mut Done) -> Broken {
        self.state = State::Over;
        if !bytes.starts_with(b"HTTP/1.1 408") && !bytes.starts_with(b"HTTP/1.0 408") {
            done.push(Event::Stray(u32::try_from(bytes.len()).unwrap_or(u32::MAX)));
        }
        UNASKED
    }
}
