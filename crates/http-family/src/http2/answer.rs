//! The state of one exchange: judges response heads, trailers and bodies by RFC 9113 8.1 to 8.3.

use std::sync::Arc;

use cause::{Cause, Plain};
use wire::{Done, Ended, Event, ExchangeId, FaultKind};

use super::connection::{Listener, Next};
use super::frames::code;
use super::head::{self, Said, UNKNOWN, Wrong};
use super::hpack::{Fields, Malformed};
use crate::cache::Condition;
use crate::http1::Request;
use crate::http1::filled::FilledWith;
use crate::http1::judge::{EXCERPT_BOUND, Judge};
use crate::http1::redirect::Hop;
use crate::http1::request::{Recipe, Rules};
use crate::http1::session::NO_BODY;

/// Set once the response's head has arrived; it may be earlier than the bytes at hand.
const BEGUN: u8 = 128;

const TOO_SHORT: Plain = cause::http2::body_too_short();
const BAD_TRAILER: Plain = cause::http2::bad_trailer();
const TOO_LONG: Plain = cause::http2::body_too_long();

/// One exchange in flight.
#[derive(Debug)]
pub struct Exchange {
    /// Identifies the exchange.
    pub id: ExchangeId,
    payload: u64,
    announced: u64,
    listed: u32,
    /// Status code, 0 until the final head arrives.
    status: u16,
    marks: u8,
    checks: u16,
    rare: Option<Box<Rare>>,
}

/// State that most exchanges never need.
#[derive(Debug, Default)]
struct Rare {
    /// The beginning of the response, for an example of a failure.
    kept: Vec<u8>,
    /// The recipe of a request that is not in the list (a redirect's).
    own: Option<Arc<Recipe>>,
    /// The slot values of the request, kept if redirects have to repeat them.
    filled: Option<FilledWith>,
    judge: Judge,
}

impl Exchange {
    /// Creates the exchange of a request that was just sent.
    #[inline]
    pub fn new(id: ExchangeId, request: &Request) -> Exchange {
        let rare = request.own.as_ref().map(|own| Box::new(Rare { own: Some(Arc::clone(own)), ..Rare::default() }));
        let (listed, marks, checks) = (request.listed, request.marks & !BEGUN, request.checks);
        Exchange { id, payload: 0, announced: UNKNOWN, listed, status: 0, marks, checks, rare }
    }
}

impl Exchange {
    /// Sets the random bits used to choose captures from the response; 0 if nothing is captured.
    #[inline]
    pub fn drawing(mut self, random: u64) -> Exchange {
        if random != 0 {
            self.rare.get_or_insert_default().judge.random = random;
        }
        self
    }

    /// Records the cached answer that the request revalidates, if there is one.
    #[inline]
    pub fn having(mut self, condition: Option<&Condition>) -> Exchange {
        if let Some(condition) = condition {
            self.rare.get_or_insert_default().judge.cache.has = Some(Arc::clone(&condition.answer));
        }
        self
    }

    /// Like [`Exchange::new`], for a request with slots: also takes the slot values (if redirects have to repeat them)
    /// and the checks of the response body.
    pub fn filled(id: ExchangeId, request: &Request, filled: Option<FilledWith>, judge: Judge) -> Exchange {
        let closely = filled.is_some() || judge.expected.is_some() || judge.random != 0;
        let rare = closely.then(|| Box::new(Rare { filled, judge, ..Rare::default() }));
        Exchange { rare, ..Exchange::new(id, request) }
    }
}

/// The beginning of the body received most recently, in case the stream is cut off. Kept for one exchange per
/// connection: this costs a copy of a few bytes and no memory per exchange.
#[derive(Debug, Default)]
pub struct Came {
    of: Option<ExchangeId>,
    bytes: Vec<u8>,
}

/// Maximum number of body bytes kept.
const CAME_BOUND: usize = 512;

impl Came {
    /// Adds a piece of an exchange's body. The last piece (`end`) is not kept, as the body can no longer be cut off.
    #[inline]
    fn piece(&mut self, id: ExchangeId, bytes: &[u8], end: bool) {
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
    fn over(&mut self, id: ExchangeId) {
        if self.of == Some(id) {
            (self.of, _) = (None, self.bytes.clear());
        }
    }

    /// Returns the beginning of the exchange's body, or nothing if another exchange's is kept.
    fn of(&self, id: ExchangeId) -> &[u8] {
        if self.of == Some(id) { &self.bytes } else { &[] }
    }

    /// Returns the kept bytes of whichever exchange they come from.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

/// Receives the events of a connection's streams and turns them into results of exchanges.
#[derive(Debug)]
pub struct Ear<'a> {
    pub rules: &'a Rules,
    pub done: &'a mut Done,
    pub begun: &'a mut Vec<ExchangeId>,
    pub came: &'a mut Came,
}

impl Listener<Exchange> for Ear<'_> {
    #[inline]
    fn head(&mut self, x: &mut Exchange, fields: &mut Fields<'_>, end: bool) -> Result<Next, Malformed> {
        if x.status != 0 {
            return self.trailer(x, fields, end);
        }
        let (checks, done) = (self.rules.checks(x.checks), &*self.done);
        let closely =
            |status| !checks.plain || (!checks.success.has(status) && done.wants_example(FaultKind::WrongStatus));
        let known = fields.known(0).map(Said::of_digest).filter(|said| !closely(said.status));
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
                Err(Wrong(why)) => return Ok(self.fail(x, why)),
            },
        };
        if said.status < 200 {
            // Interim responses carry nothing that is counted; 101 does not exist in HTTP/2 (8.6).
            return Ok(match said.status {
                101 => self.fail(x, cause::http2::switches()),
                _ if end => self.fail(x, cause::http2::ends_interim()),
                _ => Next::Go,
            });
        }
        (x.status, x.announced) = (said.status, said.announced);
        if !text.is_empty() && !self.look_closer(x, text) {
            return Ok(self.fail(x, cause::http2::no_redirect_url()));
        }
        if end {
            return Ok(self.whole(x));
        }
        x.marks |= BEGUN;
        self.begun.push(x.id);
        Ok(Next::Go)
    }

    #[inline]
    fn data(&mut self, x: &mut Exchange, bytes: &[u8], end: bool) -> Next {
        if x.status == 0 {
            return self.fail(x, cause::http2::body_first());
        }
        x.payload += bytes.len() as u64;
        if let Some(rare) = &mut x.rare {
            rare.judge.feed((self.rules, self.rules.checks(x.checks)), bytes);
            let room = EXCERPT_BOUND.saturating_sub(rare.kept.len());
            rare.kept.extend_from_slice(&bytes[..bytes.len().min(room)]);
        } else {
            self.came.piece(x.id, bytes, end);
        }
        if end { self.whole(x) } else { Next::Go }
    }

    fn reset(&mut self, mut x: Exchange, code: u32) {
        if x.status != 0 && self.done.wants_example(FaultKind::Reset) {
            let came = self.came.of(x.id);
            let kept = &mut x.rare.get_or_insert_default().kept;
            if kept.is_empty() {
                *kept = [format!("HTTP/2 {}\r\n\r\n", x.status).as_bytes(), came].concat();
            }
        }
        self.end(&mut x, Some(FaultKind::Reset), Some(code::of_reset(code)));
    }

    fn refused(&mut self, x: Exchange) {
        self.done.push(Event::Refused(x.id));
    }

    fn alive(&mut self) {
        self.done.push(Event::Heartbeat);
    }

    fn word(&mut self, word: code::Word) {
        self.done.push(Event::Word(word.number()));
    }
}

impl Ear<'_> {
    /// Handles a head after the final one: a trailer ends the response and holds nothing that is counted (RFC 9113
    /// 8.1).
    #[cold]
    fn trailer(&mut self, x: &mut Exchange, fields: &mut Fields<'_>, end: bool) -> Result<Next, Malformed> {
        let wanted = x.rare.as_deref_mut().filter(|_| self.rules.checks(x.checks).trailers);
        if let Some(rare) = wanted {
            let kept = &self.rules.kept;
            if !head::is_trailer(fields, |name, value| rare.judge.trailers.field(name, value, kept))? {
                return Ok(self.fail(x, BAD_TRAILER));
            }
        } else if fields.known(1).is_none() {
            if !head::is_trailer(fields, |_, _| ())? {
                return Ok(self.fail(x, BAD_TRAILER));
            }
            fields.remember(1, 0)?;
        }
        Ok(if end { self.whole(x) } else { self.fail(x, cause::http2::headers_within()) })
    }

    /// Examines a head whose status may redirect or be a failure, or whose body has to be checked. Returns `false` if
    /// the response is unusable.
    #[cold]
    fn look_closer(&mut self, x: &mut Exchange, text: Vec<u8>) -> bool {
        let (rules, status, listed) = (self.rules, x.status, x.listed);
        let rare = x.rare.get_or_insert_default();
        let recipe = rare.own.as_deref().or_else(|| rules.recipes.get(listed as usize));
        let filled = rules.filled(recipe, rare.filled.as_ref(), status);
        let checks = rules.checks(x.checks);
        let good = checks.plain || rare.judge.head((rules, checks), filled.as_ref().or(recipe), status, &text).is_ok();
        rare.kept = text;
        rare.kept.truncate(EXCERPT_BOUND);
        good
    }

    /// Finishes an exchange whose response is complete.
    #[inline]
    fn whole(&mut self, x: &mut Exchange) -> Next {
        let bodiless = x.marks & NO_BODY != 0 || x.status == 204 || x.status == 304;
        let length = if bodiless { 0 } else { x.announced };
        if length != UNKNOWN && length != x.payload {
            return self.fail(x, if length > x.payload { TOO_SHORT } else { TOO_LONG });
        }
        let checks = self.rules.checks(x.checks);
        let fault = match &mut x.rare {
            Some(rare) => {
                rare.judge.whole((self.rules, checks), x.status);
                rare.judge.verdict((self.rules, checks), x.status)
            }
            None if checks.success.has(x.status) => None,
            None => Some(FaultKind::WrongStatus),
        };
        self.end(x, fault, None);
        Next::Go
    }

    /// Fails an exchange whose response is malformed; other exchanges are not affected.
    #[cold]
    fn fail(&mut self, x: &mut Exchange, why: Plain) -> Next {
        self.end(x, Some(FaultKind::BrokenProtocol), Some(why));
        Next::Reset(code::PROTOCOL_ERROR)
    }

    /// Reports the named checks that the response failed.
    #[cold]
    fn tell_failed(&mut self, x: &Exchange, kind: FaultKind) {
        let rules = (self.rules, self.rules.checks(x.checks));
        let failed = match &x.rare {
            Some(rare) => rare.judge.failed(rules, x.status, kind),
            None => Judge::default().failed(rules, x.status, kind),
        };
        failed.into_iter().for_each(|failed| self.done.failed(x.id, failed));
    }

    #[inline]
    fn end(&mut self, x: &mut Exchange, fault: Option<FaultKind>, why: Option<Plain>) {
        if x.marks & BEGUN != 0
            && let Some(at) = self.begun.iter().rposition(|id| *id == x.id)
        {
            self.begun.swap_remove(at);
            if fault.is_some() {
                // A response that begins and fails reports both events, whether or not a single piece held all of it.
                self.done.push(Event::FirstByte(x.id));
            }
        }
        self.came.over(x.id);
        let (mut excerpt, mut follow, mut said) = (None, None, why.map(Cause::from));
        if let Some(kind) = fault {
            self.tell_failed(x, kind);
        }
        if let Some(rare) = x.rare.take() {
            let Rare { kept, mut judge, .. } = *rare;
            if let Some(lesson) = judge.lesson(fault.is_none()) {
                self.done.push(Event::Learnt(x.id, lesson));
            }
            if let Some(kind) = fault.filter(|kind| self.done.wants_example(*kind)) {
                if why.is_none() {
                    said = judge.why((self.rules, self.rules.checks(x.checks)), kind, x.payload);
                }
                excerpt = Some(kept.into_boxed_slice());
            }
            if let (Hop::To(next), None) = (judge.hop, fault) {
                follow = Some(next);
            }
        }
        let (code, payload) = (u32::from(x.status), x.payload);
        self.done.push(Event::Ended(Ended { id: x.id, fault, code, payload, excerpt, follow, why: said }));
    }
}
