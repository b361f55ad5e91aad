//! Client side of a connection: one exchange at a time, with keep-alive.
//!
//! A response that arrives whole is parsed in place, without a copy or an allocation. State that is rarely needed (a
//! split head, a redirect, an expected text, an excerpt for an example) is boxed and exists only as long as needed, so
//! an idle connection takes a few dozen bytes. Pipelining is not supported; every server that allows it is faster with
//! more connections.

use std::sync::Arc;

use brunt_contract::{
    EstablishedConnection, Event, EventBuffer, ExchangeEnd, ExchangeId, FaultKind, OutputBuffer, ProtocolError,
    Session, SessionFull, SlotContext, SubmitOutcome, UserState,
};

use super::body::{BodyDecoder, BodyPart};
use super::codec::{self, CHUNKED, CODED, HEAD_BOUND, HttpHead, SIZED, response_head};
use super::evaluation::{EXCERPT_BOUND, ResponseEvaluation};
use super::expect_continue::DeferredBody;
use super::redirect::Redirect;
use super::request::{HttpRequest, HttpRules, Recipe};
use super::slots::FilledRequest;
use crate::cookies::{self, CookieJar};
use brunt_values::budget::{BudgetedBuffer, NO_ROOM_FOR_HEADS};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Http1State {
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

/// Flag: this is the last exchange of the connection.
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
struct Http1SessionExtras {
    /// An incomplete head; later the beginning of a response that may become an example.
    kept: BudgetedBuffer,
    /// Parser state of that head.
    head: HttpHead,
    /// Bytes of interim responses so far.
    interim: usize,
    /// Recipe of a request that is not in the list, made by a redirect.
    recipe: Option<Arc<Recipe>>,
    /// Template and context of a request with slots, if redirects are followed.
    filled: Option<FilledRequest>,
    /// The body, while it waits for `100 Continue`.
    deferred_body: DeferredBody,
    /// State of the checks.
    evaluation: ResponseEvaluation,
}

/// An HTTP/1.1 connection, client side.
#[derive(Debug)]
pub struct Http1Session {
    rules: Arc<HttpRules>,
    extras: Option<Box<Http1SessionExtras>>,
    body: BodyDecoder,
    payload: u64,
    id: ExchangeId,
    recipe_index: u32,
    status: u16,
    state: Http1State,
    flags: u8,
    /// The line end that some servers send behind a response, or before the first one, which is skipped (RFC 9112 2.2).
    line_end: StrayLineEnd,
    checks: u16,
}

/// How much of a line end behind a response has arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum StrayLineEnd {
    Nothing,
    CarriageReturn,
    /// Another one is not skipped.
    Whole,
}

impl Http1Session {
    pub(super) fn new(rules: Arc<HttpRules>) -> Http1Session {
        Http1Session {
            rules,
            extras: None,
            body: BodyDecoder::of_length(0),
            payload: 0,
            id: ExchangeId(0),
            recipe_index: 0,
            status: 0,
            state: Http1State::Idle,
            flags: 0,
            line_end: StrayLineEnd::Nothing,
            checks: 0,
        }
    }

    fn extras(&mut self) -> &mut Http1SessionExtras {
        self.extras.get_or_insert_default()
    }

    /// Continues with `bytes`. Returns `true` once the exchange is over. `at` is advanced past what was read, `kept_to`
    /// past what is buffered.
    #[inline]
    fn advance(
        &mut self,
        bytes: &[u8],
        at: &mut usize,
        kept_to: &mut usize,
        done: &EventBuffer,
    ) -> Result<bool, ProtocolError> {
        while self.state == Http1State::Head {
            let mut head = HttpHead::default();
            let over = if self.extras.as_ref().is_none_or(|r| r.kept.is_empty()) {
                let rest = &bytes[*at..];
                if rest.is_empty() {
                    return Ok(false);
                }
                if !response_head(rest, &mut head)? {
                    self.buffer_head(rest, head)?;
                    (*at, *kept_to) = (bytes.len(), bytes.len());
                    return Ok(false);
                }
                *at += head.at;
                self.on_head(&head, &rest[..head.at], done)?
            } else {
                // All bytes are buffered by now, even in case of an error.
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
    fn buffer_head(&mut self, part: &[u8], head: HttpHead) -> Result<(), ProtocolError> {
        let rare = self.extras.get_or_insert_default();
        if rare.interim + part.len() > HEAD_BOUND {
            return Err(ENDLESS);
        }
        rare.head = head;
        if rare.kept.extend(part, &self.rules.budget) { Ok(()) } else { Err(ProtocolError(NO_ROOM_FOR_HEADS)) }
    }

    /// Continues a buffered head. Returns `None` if it is still incomplete.
    #[cold]
    fn complete_head(
        &mut self,
        bytes: &[u8],
        at: &mut usize,
        done: &EventBuffer,
    ) -> Result<Option<bool>, ProtocolError> {
        let rare = self.extras.get_or_insert_default();
        let before = rare.kept.len();
        let room = HEAD_BOUND + 1 - before;
        if !rare.kept.extend(&bytes[..bytes.len().min(room)], &self.rules.budget) {
            return Err(ProtocolError(NO_ROOM_FOR_HEADS));
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
        let over = self.on_head(&head, &kept, done);
        if over.is_err() || self.flags & CAPTURES != 0 {
            self.extras().kept = BudgetedBuffer::from_beginning(&kept[..kept.len().min(EXCERPT_BOUND)]);
        }
        over.map(Some)
    }

    /// Processes a complete head. Returns `true` if the response ends with it.
    #[inline]
    fn on_head(&mut self, head: &HttpHead, text: &[u8], done: &EventBuffer) -> Result<bool, ProtocolError> {
        if head.folded {
            return self.on_folded_head(head, text, done);
        }
        self.on_plain_head(head, text, done)
    }

    /// Like [`Self::on_head`], for a head with folded lines.
    #[cold]
    fn on_folded_head(&mut self, head: &HttpHead, text: &[u8], done: &EventBuffer) -> Result<bool, ProtocolError> {
        self.on_plain_head(head, &codec::unfolded(text), done)
    }

    /// Like [`Self::on_head`], for a head without folded lines.
    #[inline]
    fn on_plain_head(&mut self, head: &HttpHead, text: &[u8], done: &EventBuffer) -> Result<bool, ProtocolError> {
        if text.len() > HEAD_BOUND {
            return Err(ENDLESS);
        }
        if head.status < 200 {
            return self.interim(head);
        }
        self.status = head.status;
        if !head.keeps_alive() {
            self.flags |= LAST;
        }
        let checks = self.rules.checks(self.checks);
        let plain = checks.status_only || (checks.status_only_unless_cookies && !cookies::has_set_cookie(text));
        if !plain || !checks.success.contains(head.status) {
            self.examine_head(text, done)?;
        }
        if self.flags & NO_BODY != 0 || head.status == 204 || head.status == 304 {
            return Ok(true);
        }
        self.state = Http1State::Body;
        if head.has(CHUNKED) {
            self.body = BodyDecoder::chunked();
        } else if head.has(SIZED) && !head.has(CODED) {
            self.body = BodyDecoder::of_length(head.length);
            return Ok(head.length == 0);
        } else {
            self.flags |= LAST;
            self.body = BodyDecoder::until_close();
        }
        Ok(false)
    }

    /// Handles 1xx: another head follows, unless the server switches protocols.
    #[cold]
    fn interim(&mut self, head: &HttpHead) -> Result<bool, ProtocolError> {
        if head.status == 101 {
            if self.flags & UPGRADES == 0 {
                return Err(ProtocolError(brunt_cause::http1::unrequested_101()));
            }
            self.status = 101;
            self.flags |= LAST;
            return Ok(true);
        }
        let rare = self.extras();
        rare.deferred_body.requested |= head.status == 100;
        rare.interim += head.at;
        if rare.interim > HEAD_BOUND { Err(ENDLESS) } else { Ok(false) }
    }

    /// Handles statuses that may redirect or fail, and responses with further checks.
    #[cold]
    fn examine_head(&mut self, text: &[u8], done: &EventBuffer) -> Result<(), ProtocolError> {
        let rules = Arc::clone(&self.rules);
        if self.flags & EXPECTS != 0 && self.extras().deferred_body.decline() {
            // The server waits for a body that will not come (RFC 9110 10.1.1).
            self.flags |= LAST;
        }
        let checks = rules.checks(self.checks);
        if !checks.status_only {
            let (status, listed) = (self.status, self.recipe_index);
            let Http1SessionExtras { recipe: own, filled, evaluation: judge, .. } = self.extras();
            let recipe = own.as_deref().or_else(|| rules.recipes.get(listed as usize));
            let filled = rules.filled_recipe(recipe, filled.as_ref(), status);
            judge.head((&rules, checks), filled.as_ref().or(recipe), status, text)?;
        }
        if self.verdict().is_some_and(|kind| done.wants_example(kind)) {
            self.flags |= CAPTURES;
        }
        Ok(())
    }

    #[inline]
    fn feed(&mut self, rest: &[u8], at: &mut usize) -> Result<bool, ProtocolError> {
        let (payload, rare, rules) = (&mut self.payload, &mut self.extras, &self.rules);
        let checks = rules.checks(self.checks);
        if checks.trailers {
            return self.feed_with_trailers(rest, at);
        }
        let (used, over) = self.body.feed(rest, |data| {
            *payload += data.len() as u64;
            if let Some(rare) = rare.as_mut() {
                rare.evaluation.feed((rules, checks), data);
            }
        })?;
        *at += used;
        Ok(over)
    }

    /// Returns the fault of a complete response.
    fn complete(&mut self) -> Option<FaultKind> {
        if let Some(rare) = &mut self.extras {
            rare.evaluation.complete((&self.rules, self.rules.checks(self.checks)), self.status);
        }
        self.verdict()
    }

    /// Returns the fault of the response, if one is known yet.
    fn verdict(&self) -> Option<FaultKind> {
        let rules = (&*self.rules, self.rules.checks(self.checks));
        match &self.extras {
            Some(rare) => rare.evaluation.verdict(rules, self.status),
            None => ResponseEvaluation::default().verdict(rules, self.status),
        }
    }

    /// Ends the exchange; `fresh` holds the bytes of the response that are not buffered yet.
    #[inline]
    fn end(&mut self, fault: Option<FaultKind>, fresh: &[u8], done: &mut EventBuffer) {
        self.state = if self.flags & LAST != 0 { Http1State::Over } else { Http1State::Idle };
        self.line_end = StrayLineEnd::Nothing;
        if fault.is_some() || self.extras.is_some() {
            return self.end_with_details(fault, fresh, done);
        }
        let code = u32::from(self.status);
        done.push(Event::Ended(ExchangeEnd {
            id: self.id,
            fault,
            code,
            payload: self.payload,
            excerpt: None,
            follow_up: None,
            cause: None,
        }));
    }

    /// Like [`Self::end`], for a failure, a redirect, or a response in pieces.
    #[cold]
    fn end_with_details(&mut self, fault: Option<FaultKind>, fresh: &[u8], done: &mut EventBuffer) {
        let mut rare = self.extras.take().map(|r| *r).unwrap_or_default();
        let excerpt = fault.is_some_and(|kind| done.wants_example(kind)).then(|| {
            let mut excerpt = rare.kept[..rare.kept.len().min(EXCERPT_BOUND)].to_vec();
            excerpt.extend_from_slice(&fresh[..fresh.len().min(EXCERPT_BOUND - excerpt.len())]);
            excerpt.into_boxed_slice()
        });
        let why = match fault.filter(|kind| done.wants_example(*kind)) {
            Some(kind) => rare.deferred_body.why(rare.evaluation.why(
                (&self.rules, self.rules.checks(self.checks)),
                kind,
                self.payload,
            )),
            None => None,
        };
        let rules = (&*self.rules, self.rules.checks(self.checks));
        if let Some(checks) = fault.and_then(|kind| rare.evaluation.failed(rules, self.status, kind)) {
            done.record_failed_checks(self.id, checks);
        }
        if let Some(lesson) = rare.evaluation.state_update(fault.is_none()) {
            done.push(Event::StateUpdate(self.id, lesson));
        }
        if rare.deferred_body.declined {
            done.push(Event::RestNotSent(self.id));
        }
        let code = u32::from(self.status);
        let follow = match rare.evaluation.hop {
            Redirect::Follow(follow) if fault.is_none() => Some(follow),
            _ => None,
        };
        done.push(Event::Ended(ExchangeEnd {
            id: self.id,
            fault,
            code,
            payload: self.payload,
            excerpt,
            follow_up: follow,
            cause: why,
        }));
    }

    /// Sends the body once the server has asked for it.
    fn send_deferred_body(&mut self, out: &mut OutputBuffer) {
        if let Some(rare) = self.extras.as_mut().filter(|rare| rare.deferred_body.requested) {
            rare.deferred_body.put(out);
        }
    }

    /// Writes a request with slots; its context is kept if redirects are followed.
    fn put_filled(&mut self, request: &HttpRequest, context: &SlotContext, out: &mut OutputBuffer) {
        let Some(filled) = &request.slots else { return };
        if request.flags & EXPECTS == 0 {
            filled.put(context, out);
        } else {
            self.extras().deferred_body = DeferredBody::of_template(filled, context, out);
        }
        if self.rules.checks(request.checks).redirects > 0 {
            self.extras().filled = Some(FilledRequest::new(filled, context));
        }
        if let Some(expected) = filled.expected(context) {
            self.extras().evaluation.expected = Some(expected);
        }
    }

    /// Makes the request that begins at `from` conditional if the user's cache has a response to validate.
    fn revalidate(
        &mut self,
        (request, from): (&HttpRequest, usize),
        context: &SlotContext,
        memory: &UserState,
        out: &mut OutputBuffer,
    ) {
        let rules = Arc::clone(&self.rules);
        let expects = self.extras.as_ref().is_some_and(|rare| rare.evaluation.expected.is_some());
        let (need, bytes) = (rules.checks(request.checks).needed_parts(expects), out.bytes_mut());
        let head = (&bytes[from..], request.flags & SECURE != 0);
        if let Some(condition) = rules.condition(request.checks, memory, context, head, need) {
            condition.put_into(bytes, from);
            self.extras().evaluation.cache.stored = Some(condition.response);
        }
    }

    /// Records that the response is incomplete.
    #[inline]
    fn on_partial_response(&mut self, fresh: &[u8], done: &mut EventBuffer) {
        if self.flags & BEGUN == 0 {
            self.flags |= BEGUN;
            done.push(Event::FirstByte(self.id));
        }
        // The beginning is kept as long as an example of an aborted response is wanted.
        let cut = [FaultKind::Closed, FaultKind::Reset, FaultKind::Timeout];
        if self.state == Http1State::Body && cut.into_iter().any(|kind| done.wants_example(kind)) {
            self.flags |= CAPTURES;
        }
        if self.flags & CAPTURES != 0 && !fresh.is_empty() {
            let kept = &mut self.extras.get_or_insert_default().kept;
            // Such a small amount always fits.
            let _ =
                kept.extend(&fresh[..fresh.len().min(EXCERPT_BOUND.saturating_sub(kept.len()))], &self.rules.budget);
        }
    }
}

const ENDLESS: ProtocolError = ProtocolError(brunt_cause::http1::endless_headers());

impl Session for Http1Session {
    fn restart(&mut self, established: &EstablishedConnection) -> bool {
        let is_ours = established.alpn.as_deref().is_none_or(|chosen| chosen == b"http/1.1");
        if is_ours {
            *self = Http1Session::new(Arc::clone(&self.rules));
        }
        is_ours
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
        if self.state != Http1State::Idle {
            return Err(SessionFull);
        }
        match request.flags & (SLOTS | EXPECTS) {
            0 => {
                out.put(&request.bytes);
                if let Some(common) = &request.tail {
                    out.put(&common.text);
                    if let Some(body) = &common.body {
                        out.put_shared(body);
                    }
                }
            }
            EXPECTS => self.extras().deferred_body = DeferredBody::of_request(request, out),
            _ => self.put_filled(request, context, out),
        }
        self.id = id;
        self.recipe_index = request.recipe_index;
        (self.flags, self.checks) = (request.flags, request.checks);
        self.state = Http1State::Head;
        self.payload = 0;
        self.status = 0;
        if let Some(own) = &request.recipe {
            let extras = self.extras();
            (extras.recipe, extras.evaluation.expected) = (Some(Arc::clone(own)), own.expected.clone());
        }
        if !self.rules.checks(request.checks).captures.is_empty() {
            self.extras().evaluation.random = context.random;
        }
        Ok(if request.flags & EXPECTS == 0 {
            SubmitOutcome::AwaitingResponse
        } else {
            SubmitOutcome::AwaitingContinue(self.rules.continue_wait)
        })
    }

    fn submit_with(
        &mut self,
        id: ExchangeId,
        request: &brunt_contract::Request,
        context: &SlotContext,
        memory: &UserState,
        out: &mut OutputBuffer,
    ) -> Result<SubmitOutcome, SessionFull> {
        let from = out.buffer().len();
        let sent = self.submit(id, request, context, out)?;
        let request = request.downcast::<HttpRequest>();
        if let Some(jar) = memory.get::<CookieJar>() {
            jar.put_into(out.bytes_mut(), from, request.flags & SECURE != 0, context.seconds());
        }
        if self.rules.caches {
            self.revalidate((request, from), context, memory, out);
        }
        Ok(sent)
    }

    fn continue_request(&mut self, id: ExchangeId, out: &mut OutputBuffer) -> bool {
        let waits = self.id == id && self.state == Http1State::Head;
        waits && self.extras.as_mut().is_some_and(|rare| rare.deferred_body.put(out))
    }

    #[inline]
    fn receive(&mut self, bytes: &[u8], out: &mut OutputBuffer, done: &mut EventBuffer) -> Result<(), ProtocolError> {
        if bytes.is_empty() {
            return Ok(());
        }
        if matches!(self.state, Http1State::Idle | Http1State::Over) {
            return self.on_unsolicited(bytes, done);
        }
        let (mut at, mut kept_to) = (0, 0);
        match self.advance(bytes, &mut at, &mut kept_to, done) {
            Ok(true) => {
                let checks = self.rules.checks(self.checks);
                let plain = checks.status_only || checks.status_only_unless_cookies;
                let fault = if plain && self.extras.is_none() && checks.success.contains(self.status) {
                    None
                } else {
                    self.send_deferred_body(out);
                    self.complete()
                };
                self.end(fault, &bytes[kept_to..at], done);
                if at < bytes.len() {
                    return self.on_unsolicited(&bytes[at..], done);
                }
                Ok(())
            }
            Ok(false) => {
                if self.flags & EXPECTS != 0 {
                    self.send_deferred_body(out);
                    if self.state == Http1State::Head && self.extras().kept.is_empty() {
                        // `100 Continue` is not the first byte of the response.
                        return Ok(());
                    }
                }
                self.on_partial_response(&bytes[kept_to..], done);
                Ok(())
            }
            Err(broken) => {
                // An interim response is followed by another head, and by no line end.
                let fresh = self.extras.as_ref().is_none_or(|rare| rare.kept.is_empty() && rare.interim == 0);
                if at == 0 && self.state == Http1State::Head && fresh {
                    match self.skip_line_end(bytes) {
                        0 => {}
                        n => return self.receive(&bytes[n..], out, done),
                    }
                }
                self.flags |= LAST;
                self.end(Some(FaultKind::BrokenProtocol), &bytes[kept_to..], done);
                Err(broken)
            }
        }
    }

    fn peer_closed(&mut self, done: &mut EventBuffer) {
        if self.state == Http1State::Body && self.body.ends_with_connection() {
            let fault = self.complete();
            self.end(fault, &[], done);
        }
        self.state = Http1State::Over;
    }

    fn partial_response(&self) -> &[u8] {
        let kept = self.extras.as_ref().map_or(&[][..], |rare| &rare.kept[..]);
        &kept[..kept.len().min(EXCERPT_BOUND)]
    }

    #[inline]
    fn room(&self) -> usize {
        usize::from(self.state == Http1State::Idle)
    }
}

const UNASKED: ProtocolError = ProtocolError(brunt_cause::http1::unsolicited());

impl Http1Session {
    /// Like [`Self::feed`], but keeps the trailers too.
    #[cold]
    fn feed_with_trailers(&mut self, rest: &[u8], at: &mut usize) -> Result<bool, ProtocolError> {
        let rules = Arc::clone(&self.rules);
        let checks = rules.checks(self.checks);
        let (payload, body) = (&mut self.payload, &mut self.body);
        let judge = &mut self.extras.get_or_insert_default().evaluation;
        let (used, over) = body.feed_with_trailers(rest, |part| match part {
            BodyPart::Content(data) => {
                *payload += data.len() as u64;
                judge.feed((&rules, checks), data);
            }
            BodyPart::Trailer(piece) => judge.trailers.push_raw(piece, &rules.budget),
        })?;
        *at += used;
        Ok(over)
    }

    /// Handles bytes received without a request: a stray response, except for a line end behind the last one and for
    /// the 408 with which a server closes an idle connection (RFC 9110 15.5.9).
    #[cold]
    fn on_unsolicited(&mut self, bytes: &[u8], done: &mut EventBuffer) -> Result<(), ProtocolError> {
        let bytes = &bytes[self.skip_line_end(bytes)..];
        if bytes.is_empty() {
            return Ok(());
        }
        self.state = Http1State::Over;
        if !bytes.starts_with(b"HTTP/1.1 408") && !bytes.starts_with(b"HTTP/1.0 408") {
            done.push(Event::SurplusResponse(u32::try_from(bytes.len()).unwrap_or(u32::MAX)));
        }
        Err(UNASKED)
    }

    /// Returns the number of bytes that belong to the line end behind the last response.
    #[cold]
    fn skip_line_end(&mut self, bytes: &[u8]) -> usize {
        let (skipped, line_end) = match (self.line_end, bytes) {
            (StrayLineEnd::Nothing, [b'\r', b'\n', ..]) => (2, StrayLineEnd::Whole),
            // What follows may not have arrived; a lone one is skipped in any case, so that pieces make no difference.
            (StrayLineEnd::Nothing, [b'\r', ..]) => (1, StrayLineEnd::CarriageReturn),
            (StrayLineEnd::Nothing | StrayLineEnd::CarriageReturn, [b'\n', ..]) => (1, StrayLineEnd::Whole),
            (line_end, _) => (0, line_end),
        };
        self.line_end = line_end;
        skipped
    }
}
