//! The state of one exchange: checks response heads, trailers and bodies against RFC 9113 8.1 to 8.3.

use std::sync::Arc;

use brunt_cause::{Cause, StaticCause};
use brunt_contract::{Event, EventBuffer, ExchangeEnd, ExchangeId, FaultKind};

use super::connection::{StreamDecision, StreamListener};
use super::frames::code;
use super::head::{self, HeadSummary, MalformedHead, UNKNOWN};
use super::hpack::{HeaderFields, HpackError};
use crate::cache::Revalidation;
use crate::http1::HttpRequest;
use crate::http1::evaluation::{EXCERPT_BOUND, ResponseEvaluation};
use crate::http1::redirect::Redirect;
use crate::http1::request::{HttpRules, Recipe};
use crate::http1::session::NO_BODY;
use crate::http1::slots::FilledRequest;

/// Flag: the response's head has arrived, possibly before the bytes being processed.
const BEGUN: u8 = 128;

const TOO_SHORT: StaticCause = brunt_cause::http2::body_too_short();
const BAD_TRAILER: StaticCause = brunt_cause::http2::bad_trailer();
const TOO_LONG: StaticCause = brunt_cause::http2::body_too_long();

/// One exchange in flight.
#[derive(Debug)]
pub struct Http2Exchange {
    /// Identifies the exchange.
    pub id: ExchangeId,
    payload: u64,
    announced: u64,
    listed: u32,
    /// Status code, 0 until the final head arrives.
    status: u16,
    flags: u8,
    checks: u16,
    extras: Option<Box<ExchangeExtras>>,
}

/// State that most exchanges never need.
#[derive(Debug, Default)]
struct ExchangeExtras {
    /// The beginning of the response, for an example of a failure.
    excerpt: Vec<u8>,
    /// The recipe of a request that is not in the list, made by a redirect.
    recipe: Option<Arc<Recipe>>,
    /// The slot values of the request, kept if redirects have to repeat them.
    filled: Option<FilledRequest>,
    judge: ResponseEvaluation,
}

impl Http2Exchange {
    /// Creates the exchange of a request that was just sent.
    #[inline]
    pub fn new(id: ExchangeId, request: &HttpRequest) -> Http2Exchange {
        let rare = request.recipe.as_ref().map(|own| {
            let judge = ResponseEvaluation::expecting(own.expected.clone(), 0);
            Box::new(ExchangeExtras { recipe: Some(Arc::clone(own)), judge, ..ExchangeExtras::default() })
        });
        let (listed, marks, checks) = (request.recipe_index, request.flags & !BEGUN, request.checks);
        Http2Exchange { id, payload: 0, announced: UNKNOWN, listed, status: 0, flags: marks, checks, extras: rare }
    }
}

impl Http2Exchange {
    /// Sets the random bits used to choose captures from the response; 0 if nothing is captured.
    #[inline]
    pub fn with_random(mut self, random: u64) -> Http2Exchange {
        if random != 0 {
            self.extras.get_or_insert_default().judge.random = random;
        }
        self
    }

    /// Records the cached response that the request revalidates, if there is one.
    #[inline]
    pub fn revalidating(mut self, condition: Option<&Revalidation>) -> Http2Exchange {
        if let Some(condition) = condition {
            self.extras.get_or_insert_default().judge.cache.stored = Some(Arc::clone(&condition.response));
        }
        self
    }

    /// Like [`Http2Exchange::new`], for a request with slots: also takes the slot values (if redirects have to repeat
    /// them) and the checks of the response body.
    pub fn with_slots(
        id: ExchangeId,
        request: &HttpRequest,
        filled: Option<FilledRequest>,
        judge: ResponseEvaluation,
    ) -> Http2Exchange {
        let closely = filled.is_some() || judge.expected.is_some() || judge.random != 0;
        let rare = closely.then(|| Box::new(ExchangeExtras { filled, judge, ..ExchangeExtras::default() }));
        Http2Exchange { extras: rare, ..Http2Exchange::new(id, request) }
    }
}

/// The beginning of the body received most recently, in case the stream is cut off. Kept for one exchange per
/// connection: this costs a copy of a few bytes and no memory per exchange.
#[derive(Debug, Default)]
pub struct BodyPrefix {
    of: Option<ExchangeId>,
    bytes: Vec<u8>,
}

/// Maximum number of body bytes kept.
const CAME_BOUND: usize = 512;

impl BodyPrefix {
    /// Adds a piece of an exchange's body. The last piece (`end`) is not kept, as the body can no longer be cut off.
    #[inline]
    fn add(&mut self, id: ExchangeId, bytes: &[u8], end: bool) {
        if self.of != Some(id) {
            (self.of, _) = (Some(id), self.bytes.clear());
        }
        let room = CAME_BOUND.saturating_sub(self.bytes.len());
        if room > 0 && !end {
            self.bytes.extend_from_slice(&bytes[..bytes.len().min(room)]);
        }
    }

    /// Clears the buffer if it belongs to this exchange, which is over.
    #[inline]
    fn clear_for(&mut self, id: ExchangeId) {
        if self.of == Some(id) {
            (self.of, _) = (None, self.bytes.clear());
        }
    }

    /// Returns the beginning of the exchange's body; empty if another exchange's body is kept.
    fn of(&self, id: ExchangeId) -> &[u8] {
        if self.of == Some(id) { &self.bytes } else { &[] }
    }

    /// Returns the kept bytes, whichever exchange they belong to.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

/// Receives the events of a connection's streams and turns them into results of exchanges.
#[derive(Debug)]
pub struct Http2EventHandler<'a> {
    pub rules: &'a HttpRules,
    pub done: &'a mut EventBuffer,
    pub begun: &'a mut Vec<ExchangeId>,
    pub prefix: &'a mut BodyPrefix,
}

impl StreamListener<Http2Exchange> for Http2EventHandler<'_> {
    #[inline]
    fn head(
        &mut self,
        x: &mut Http2Exchange,
        fields: &mut HeaderFields<'_>,
        end: bool,
    ) -> Result<StreamDecision, HpackError> {
        if x.status != 0 {
            return self.trailer(x, fields, end);
        }
        let (checks, done) = (self.rules.checks(x.checks), &*self.done);
        let closely = |status| {
            !checks.status_only || (!checks.success.contains(status) && done.wants_example(FaultKind::WrongStatus))
        };
        let known = fields.remembered_digest(0).map(HeadSummary::from_digest).filter(|said| !closely(said.status));
        let mut text = Vec::new();
        let said = match known {
            Some(said) => said,
            None => match head::read(fields, &closely, &mut text)? {
                Ok(said) => {
                    if let Some(digest) = said.digest() {
                        fields.remember(0, digest)?;
                    }
                    said
                }
                Err(MalformedHead(why)) => return Ok(self.fail(x, why)),
            },
        };
        if said.status < 200 {
            // Interim responses carry nothing that is counted; 101 does not exist in HTTP/2 (8.6).
            return Ok(match said.status {
                101 => self.fail(x, brunt_cause::http2::switches()),
                _ if end => self.fail(x, brunt_cause::http2::ends_interim()),
                _ => StreamDecision::Continue,
            });
        }
        (x.status, x.announced) = (said.status, said.announced);
        if !text.is_empty() && !self.examine_head(x, text) {
            return Ok(self.fail(x, brunt_cause::http2::no_redirect_url()));
        }
        if end {
            return Ok(self.complete(x));
        }
        x.flags |= BEGUN;
        self.begun.push(x.id);
        Ok(StreamDecision::Continue)
    }

    #[inline]
    fn data(&mut self, x: &mut Http2Exchange, bytes: &[u8], end: bool) -> StreamDecision {
        if x.status == 0 {
            return self.fail(x, brunt_cause::http2::body_first());
        }
        x.payload += bytes.len() as u64;
        if let Some(rare) = &mut x.extras {
            rare.judge.feed((self.rules, self.rules.checks(x.checks)), bytes);
            let room = EXCERPT_BOUND.saturating_sub(rare.excerpt.len());
            rare.excerpt.extend_from_slice(&bytes[..bytes.len().min(room)]);
        } else {
            self.prefix.add(x.id, bytes, end);
        }
        if end { self.complete(x) } else { StreamDecision::Continue }
    }

    fn reset(&mut self, mut x: Http2Exchange, code: u32) {
        if x.status != 0 && self.done.wants_example(FaultKind::Reset) {
            let came = self.prefix.of(x.id);
            let kept = &mut x.extras.get_or_insert_default().excerpt;
            if kept.is_empty() {
                *kept = [format!("HTTP/2 {}\r\n\r\n", x.status).as_bytes(), came].concat();
            }
        }
        self.end(&mut x, Some(FaultKind::Reset), Some(code::of_reset(code)));
    }

    fn refused(&mut self, x: Http2Exchange) {
        self.done.push(Event::Refused(x.id));
    }

    fn turned_away(&mut self, mut x: Http2Exchange, code: u32) {
        self.end(&mut x, Some(FaultKind::Closed), Some(code::of_goaway(code)));
    }

    fn pong(&mut self) {
        self.done.push(Event::Heartbeat);
    }

    fn end_code(&mut self, word: code::EndCode) {
        self.done.push(Event::PeerCode(word.number()));
    }
}

impl Http2EventHandler<'_> {
    /// Handles a head after the final one: a trailer ends the response and holds nothing that is counted (RFC 9113
    /// 8.1).
    #[cold]
    fn trailer(
        &mut self,
        x: &mut Http2Exchange,
        fields: &mut HeaderFields<'_>,
        end: bool,
    ) -> Result<StreamDecision, HpackError> {
        let wanted = x.extras.as_deref_mut().filter(|_| self.rules.checks(x.checks).trailers);
        if let Some(rare) = wanted {
            let kept = &self.rules.budget;
            if !head::is_trailer(fields, |name, value| rare.judge.trailers.push_field(name, value, kept))? {
                return Ok(self.fail(x, BAD_TRAILER));
            }
        } else if fields.remembered_digest(1).is_none() {
            if !head::is_trailer(fields, |_, _| ())? {
                return Ok(self.fail(x, BAD_TRAILER));
            }
            fields.remember(1, 0)?;
        }
        Ok(if end { self.complete(x) } else { self.fail(x, brunt_cause::http2::headers_within()) })
    }

    /// Examines a head whose status may redirect or be a failure, or whose body has to be checked. Returns `false` if
    /// the response is unusable.
    #[cold]
    fn examine_head(&mut self, x: &mut Http2Exchange, text: Vec<u8>) -> bool {
        let (rules, status, listed) = (self.rules, x.status, x.listed);
        let rare = x.extras.get_or_insert_default();
        let recipe = rare.recipe.as_deref().or_else(|| rules.recipes.get(listed as usize));
        let filled = rules.filled_recipe(recipe, rare.filled.as_ref(), status);
        let checks = rules.checks(x.checks);
        let good =
            checks.status_only || rare.judge.head((rules, checks), filled.as_ref().or(recipe), status, &text).is_ok();
        rare.excerpt = text;
        rare.excerpt.truncate(EXCERPT_BOUND);
        good
    }

    /// Finishes an exchange whose response is complete.
    #[inline]
    fn complete(&mut self, x: &mut Http2Exchange) -> StreamDecision {
        let bodiless = x.flags & NO_BODY != 0 || x.status == 204 || x.status == 304;
        let length = if bodiless { 0 } else { x.announced };
        if length != UNKNOWN && length != x.payload {
            return self.fail(x, if length > x.payload { TOO_SHORT } else { TOO_LONG });
        }
        let checks = self.rules.checks(x.checks);
        let fault = match &mut x.extras {
            Some(rare) => {
                rare.judge.complete((self.rules, checks), x.status);
                rare.judge.verdict((self.rules, checks), x.status)
            }
            None if checks.success.contains(x.status) => None,
            None => Some(FaultKind::WrongStatus),
        };
        self.end(x, fault, None);
        StreamDecision::Continue
    }

    /// Fails an exchange whose response is malformed; other exchanges are not affected.
    #[cold]
    fn fail(&mut self, x: &mut Http2Exchange, why: StaticCause) -> StreamDecision {
        self.end(x, Some(FaultKind::BrokenProtocol), Some(why));
        StreamDecision::Reset(code::PROTOCOL_ERROR)
    }

    /// Reports the named checks that the response failed.
    #[cold]
    fn report_failed_checks(&mut self, x: &Http2Exchange, kind: FaultKind) {
        let rules = (self.rules, self.rules.checks(x.checks));
        let failed = match &x.extras {
            Some(rare) => rare.judge.failed(rules, x.status, kind),
            None => ResponseEvaluation::default().failed(rules, x.status, kind),
        };
        failed.into_iter().for_each(|failed| self.done.record_failed_checks(x.id, failed));
    }

    #[inline]
    fn end(&mut self, x: &mut Http2Exchange, fault: Option<FaultKind>, why: Option<StaticCause>) {
        if x.flags & BEGUN != 0
            && let Some(at) = self.begun.iter().rposition(|id| *id == x.id)
        {
            self.begun.swap_remove(at);
            if fault.is_some() {
                // A response that begins and fails reports both events, whether or not it arrived in one piece.
                self.done.push(Event::FirstByte(x.id));
            }
        }
        self.prefix.clear_for(x.id);
        let (mut excerpt, mut follow, mut said) = (None, None, why.map(Cause::from));
        if let Some(kind) = fault {
            self.report_failed_checks(x, kind);
        }
        if let Some(rare) = x.extras.take() {
            let ExchangeExtras { excerpt: kept, mut judge, .. } = *rare;
            if let Some(lesson) = judge.state_update(fault.is_none()) {
                self.done.push(Event::StateUpdate(x.id, lesson));
            }
            if let Some(kind) = fault.filter(|kind| self.done.wants_example(*kind)) {
                if why.is_none() {
                    said = judge.why((self.rules, self.rules.checks(x.checks)), kind, x.payload);
                }
                excerpt = Some(kept.into_boxed_slice());
            }
            if let (Redirect::Follow(next), None) = (judge.hop, fault) {
                follow = Some(next);
            }
        }
        let (code, payload) = (u32::from(x.status), x.payload);
        self.done.push(Event::Ended(ExchangeEnd {
            id: x.id,
            fault,
            code,
            payload,
            excerpt,
            follow_up: follow,
            cause: said,
        }));
    }
}
