//! The client session on one connection: replies in the order of the commands, read in place.
//!
//! Replies are only counted: the state consists of the number of values and bytes that have not arrived yet, whatever
//! the nesting. Buffers for a split line, for an error that becomes an example, and for a searched text are allocated
//! when they are first needed.

use std::collections::VecDeque;
use std::sync::Arc;

use brunt_cause::Cause;
use brunt_contract::{
    Event, EventBuffer, ExchangeEnd, ExchangeId, FaultKind, OutputBuffer, ProtocolError, Session, SessionFull,
    SlotContext, StateUpdate, SubmitOutcome,
};
use memchr::memchr;

use super::codec::{self, LINE_BOUND, ReplyLine};
use super::error_words::{self, NIL, OK};
use super::options::RedisChecks;
use super::reply;
use super::request::{RedisRequest, heartbeat};
use super::workload::{RedisOpeningStep, RedisRules};
use brunt_values::budget::BudgetedBuffer;
use brunt_values::capture::{self, CaptureInput};
use brunt_values::text_search::TextSearch;
use brunt_values::verify;

/// Maximum size of a reply kept as an example, in bytes.
const EXCERPT_BOUND: usize = 4096;

/// Flag: the first byte of the reply was reported.
const BEGUN: u8 = 1;
/// Flag: the next value is the outermost value of a reply, or its attributes.
const OUTERMOST: u8 = 2;
/// Flag: the current reply is a push message.
const PUSHED: u8 = 4;
/// Flag: the text of a bulk error follows.
const ERROR_TEXT: u8 = 8;
/// Flag: the session is closed.
const OVER: u8 = 16;
/// Flag: the outermost value was null.
const NOTHING: u8 = 32;
/// Flag: the server refused the connection or a step of its opening.
const REFUSES: u8 = 64;
/// Flag: some replies of this exchange have arrived, and more are expected.
const CONTINUED: u8 = 128;

/// An exchange in flight: one command or several.
#[derive(Clone, Copy, Debug, Default)]
struct PendingExchange {
    id: u32,
    replies: u32,
    /// Index of the checks of its replies.
    checks: u16,
    /// Random bits for captures that choose at random.
    random: u16,
    /// Total number of its replies.
    total_replies: u32,
}

/// The id of a heartbeat.
const HEARTBEAT: u32 = u32::MAX;
/// The id of a cancelled exchange.
const FORGOTTEN: u32 = u32::MAX - 1;

/// The client side of a Redis connection.
#[derive(Debug)]
pub struct RedisSession {
    rules: Arc<RedisRules>,
    extras: Option<Box<RedisExtras>>,
    /// Oldest exchange in flight, unless `in_flight` is 0.
    first: PendingExchange,
    /// Exchanges after the first, in order.
    queued: VecDeque<PendingExchange>,
    /// Number of values of the reply that have not arrived yet; 0 between replies.
    values: u64,
    /// Number of bytes of a string that have not arrived yet, including its CR LF.
    bytes: u64,
    /// Number of payload bytes so far.
    payload: u64,
    /// Code of the first error of the exchange.
    error: u32,
    in_flight: u32,
    bound: u32,
    /// Number of unanswered steps of the opening.
    steps: u8,
    /// Set if a heartbeat is in flight.
    heartbeat_in_flight: bool,
    flags: u8,
    /// Set once the server has answered a command.
    answered: bool,
}

/// The state that most replies never need.
#[derive(Debug, Default)]
struct RedisExtras {
    /// Incomplete line.
    line: Vec<u8>,
    /// Text of an error.
    error: Vec<u8>,
    /// Received part of a reply that may be a push message, if push messages are reported.
    maybe_push: Vec<u8>,
    /// Beginning of a reply that may become an example.
    excerpt: Vec<u8>,
    /// Whole reply from which values are captured.
    whole_reply: BudgetedBuffer,
    /// Set if the reply could not be kept.
    over_budget: bool,
    /// Search for the expected text.
    watch: TextSearch,
    /// State to return to after a push message between the replies of an exchange.
    checkpoint: ExchangeCheckpoint,
}

/// The state that a push message between two replies of an exchange must not change.
#[derive(Clone, Copy, Debug, Default)]
struct ExchangeCheckpoint {
    payload: u64,
    kept: usize,
    whole: usize,
    found: bool,
}

const UNASKED: ProtocolError = ProtocolError(brunt_cause::redis::unsolicited());
const UNENDED: ProtocolError = ProtocolError(brunt_cause::redis::unended());
const ENDLESS: ProtocolError = ProtocolError(brunt_cause::redis::endless());
const REFUSED: ProtocolError = ProtocolError(brunt_cause::redis::refused());

impl RedisSession {
    pub(super) fn new(rules: Arc<RedisRules>, bound: u32) -> RedisSession {
        let steps = rules.openings.get(bound as usize).map_or(0, |opening| opening.steps.len() as u8);
        RedisSession {
            rules,
            extras: None,
            first: PendingExchange { id: FORGOTTEN, ..PendingExchange::default() },
            queued: VecDeque::new(),
            values: 0,
            bytes: 0,
            payload: 0,
            error: 0,
            in_flight: 0,
            bound,
            steps,
            heartbeat_in_flight: false,
            flags: 0,
            answered: false,
        }
    }

    fn extras(&mut self) -> &mut RedisExtras {
        self.extras.get_or_insert_default()
    }

    /// Returns `true` if replies are kept, for captures or as an example of a reply without the expected text.
    fn keeps_bytes(&self, done: &EventBuffer) -> bool {
        if !self.rules.searches_replies || self.flags & PUSHED != 0 {
            return false;
        }
        let checks = self.checks();
        checks.keeps_reply() || (checks.expect.is_some() && done.wants_example(FaultKind::WrongBody))
    }

    /// Returns the checks of the current replies.
    fn checks(&self) -> &RedisChecks {
        &self.rules.checks[usize::from(self.first.checks)]
    }

    fn has_partial_line(&self) -> bool {
        self.extras.as_ref().is_some_and(|rare| !rare.line.is_empty())
    }

    fn send(&mut self, pending: PendingExchange) {
        if self.in_flight == 0 {
            self.first = pending;
        } else {
            self.queued.push_back(pending);
        }
        self.in_flight += 1;
    }

    /// Continues to read. `at` is the position in `bytes`, and `from` the beginning of the current reply.
    #[inline]
    fn advance(
        &mut self,
        bytes: &[u8],
        at: &mut usize,
        from: &mut usize,
        done: &mut EventBuffer,
    ) -> Result<(), ProtocolError> {
        while *at < bytes.len() {
            let rest = &bytes[*at..];
            if self.bytes > 0 {
                *at += self.consume_string(rest)?;
                if self.bytes > 0 {
                    return Ok(());
                }
                self.on_string_end();
                self.values -= 1;
            } else if self.has_partial_line() {
                let Some(used) = self.complete_line(rest)? else {
                    *at = bytes.len();
                    return Ok(());
                };
                *at += used;
            } else {
                if self.values == 0 {
                    self.reject_unsolicited(rest[0])?;
                }
                let Some(end) = memchr(b'\n', rest) else {
                    codec::check_first_byte(rest[0])?;
                    if rest.len() > LINE_BOUND {
                        return Err(ENDLESS);
                    }
                    self.extras().line.extend_from_slice(rest);
                    *at = bytes.len();
                    return Ok(());
                };
                self.on_line(&rest[..=end])?;
                *at += end + 1;
            }
            if self.values == 0 && self.bytes == 0 {
                self.on_reply_end(bytes, *at, from, done)?;
            }
        }
        Ok(())
    }

    /// Consumes bytes of a string; returns how many.
    #[inline]
    fn consume_string(&mut self, rest: &[u8]) -> Result<usize, ProtocolError> {
        let data = (self.bytes - self.bytes.min(2)).min(rest.len() as u64);
        let text = &rest[..data as usize];
        self.bytes -= data;
        self.payload += data;
        if self.flags & ERROR_TEXT != 0 || self.rules.searches_replies {
            self.on_text(text);
        }
        let mut used = text.len();
        // The string is followed by CR LF.
        while self.bytes > 0 && self.bytes <= 2 && used < rest.len() {
            if rest[used] != if self.bytes == 2 { b'\r' } else { b'\n' } {
                return Err(UNENDED);
            }
            self.bytes -= 1;
            used += 1;
        }
        Ok(used)
    }

    /// Handles the text of a value: searches it, or keeps it if it is an error.
    #[cold]
    fn on_text(&mut self, text: &[u8]) {
        let expect = self.checks().expect.as_ref().map(|_| Arc::clone(&self.rules));
        let (is_error, checks) = (self.flags & ERROR_TEXT != 0, usize::from(self.first.checks));
        let rare = self.extras();
        if is_error {
            let room = EXCERPT_BOUND.saturating_sub(rare.error.len());
            rare.error.extend_from_slice(&text[..text.len().min(room)]);
        } else if let Some(text_wanted) = expect.as_ref().and_then(|rules| rules.checks[checks].expect.as_ref()) {
            rare.watch.feed(text, text_wanted);
        }
    }

    /// Handles the end of a string.
    #[inline]
    fn on_string_end(&mut self) {
        if self.flags & ERROR_TEXT != 0 {
            self.flags &= !ERROR_TEXT;
            let text = std::mem::take(&mut self.extras().error);
            self.on_error(&text);
        } else if self.rules.searches_replies {
            self.extras().watch.mark_gap();
        }
    }

    /// Continues a partly received line; `None` if it is still incomplete.
    #[cold]
    fn complete_line(&mut self, rest: &[u8]) -> Result<Option<usize>, ProtocolError> {
        let rare = self.extras();
        let end = memchr(b'\n', rest);
        let part = end.map_or(rest, |end| &rest[..=end]);
        if rare.line.len() + part.len() > LINE_BOUND + usize::from(end.is_some()) {
            return Err(ENDLESS);
        }
        rare.line.extend_from_slice(part);
        let Some(end) = end else { return Ok(None) };
        let mut line = std::mem::take(&mut rare.line);
        let read = self.on_line(&line);
        line.clear();
        self.extras().line = line;
        read.map(|()| Some(end + 1))
    }

    /// Rejects the beginning of an unsolicited reply, unless it is a push message or attributes.
    #[inline]
    fn reject_unsolicited(&self, kind: u8) -> Result<(), ProtocolError> {
        if self.in_flight > 0 || self.steps > 0 || kind == b'>' || kind == b'|' {
            return Ok(());
        }
        Err(if kind == b'-' { REFUSED } else { UNASKED })
    }

    /// Handles a whole line including its end.
    #[inline]
    fn on_line(&mut self, line: &[u8]) -> Result<(), ProtocolError> {
        let Some(line) = line.strip_suffix(b"\r\n").filter(|line| line.len() < LINE_BOUND) else {
            codec::check_first_byte(line[0])?;
            return Err(if line.len() > LINE_BOUND { ENDLESS } else { ProtocolError(brunt_cause::redis::line_end()) });
        };
        if self.values == 0 {
            self.values = 1;
            self.flags |= OUTERMOST;
        }
        let outermost = self.flags & OUTERMOST != 0 && self.values == 1;
        match codec::parse_line(line)? {
            ReplyLine::Bytes(count) => {
                self.bytes = count + 2;
                return Ok(());
            }
            ReplyLine::Value => {
                self.payload += line.len() as u64 - 1;
                if self.rules.searches_replies {
                    self.on_text(&line[1..]);
                    self.extras().watch.mark_gap();
                }
            }
            ReplyLine::Null if outermost => self.flags |= NOTHING,
            ReplyLine::Null => {}
            ReplyLine::Error => {
                self.payload += line.len() as u64 - 1;
                self.on_error(&line[1..]);
            }
            ReplyLine::LongError(count) => {
                if self.error == 0 && self.flags & PUSHED == 0 {
                    self.flags |= ERROR_TEXT;
                    self.extras().error.clear();
                }
                self.bytes = count + 2;
                return Ok(());
            }
            ReplyLine::Values(count) => {
                self.flags &= !OUTERMOST;
                self.values = self.values.saturating_add(count);
            }
            ReplyLine::Attributes(count) => {
                self.values = self.values.saturating_add(count);
                return Ok(());
            }
            ReplyLine::Push(count) if outermost => {
                self.flags = self.flags & !OUTERMOST | PUSHED;
                self.values = self.values.saturating_add(count);
            }
            ReplyLine::Push(_) => return Err(ProtocolError(brunt_cause::redis::push_within())),
        }
        self.values -= 1;
        Ok(())
    }

    /// Handles an error without its type byte: the first error determines the result of the exchange.
    #[cold]
    fn on_error(&mut self, text: &[u8]) {
        if self.flags & PUSHED != 0 || self.error != 0 {
            return;
        }
        self.error = self.rules.error_words.code(text);
        let rare = self.extras();
        rare.error.clear();
        rare.error.extend_from_slice(&text[..text.len().min(EXCERPT_BOUND)]);
    }

    /// Handles the end of a reply that lies in `from..at`.
    #[inline]
    fn on_reply_end(
        &mut self,
        bytes: &[u8],
        at: usize,
        from: &mut usize,
        done: &mut EventBuffer,
    ) -> Result<(), ProtocolError> {
        if self.flags & PUSHED != 0 {
            self.flags &= !PUSHED;
            self.on_push_end(&bytes[*from..at], done);
            *from = at;
            return Ok(());
        }
        if done.reports_unsolicited()
            && let Some(rare) = &mut self.extras
        {
            rare.maybe_push.clear();
        }
        if self.steps > 0 {
            self.on_opening_reply()?;
            *from = at;
            return Ok(());
        }
        if self.in_flight == 0 {
            // An unsolicited value after attributes.
            return Err(UNASKED);
        }
        if self.error != 0 && !self.answered {
            self.check_refusal()?;
        }
        self.answered = true;
        if self.first.replies > 1 {
            self.first.replies -= 1;
            self.flags = self.flags & !(NOTHING | OUTERMOST) | CONTINUED;
            self.on_intermediate_reply(&bytes[*from..at], done);
            *from = at;
            return Ok(());
        }
        if self.keeps_bytes(done) {
            self.keep_bytes(&bytes[*from..at]);
        }
        *from = at;
        self.end_exchange(done);
        Ok(())
    }

    /// Handles the answer to a step of the opening.
    #[cold]
    fn on_opening_reply(&mut self) -> Result<(), ProtocolError> {
        let steps = &self.rules.openings[self.bound as usize].steps;
        let step = steps[steps.len() - usize::from(self.steps)];
        self.payload = 0;
        self.flags = 0;
        if self.error == 0 {
            self.steps -= 1;
            return Ok(());
        }
        self.flags = REFUSES;
        let rare = self.extras();
        rare.excerpt = [b"-", &rare.error[..], b"\r\n"].concat();
        let word = self.rules.error_words.name(self.error);
        Err(ProtocolError(match (step, word.as_str()) {
            (_, "WRONGPASS") => brunt_cause::redis::wrong_password(),
            (_, "NOAUTH") => brunt_cause::redis::no_password(),
            (RedisOpeningStep::Hello, _) => brunt_cause::redis::no_hello(),
            (RedisOpeningStep::Login, _) => brunt_cause::redis::no_auth(),
            (RedisOpeningStep::Database, "NOPERM") => brunt_cause::redis::select_not_permitted(),
            (RedisOpeningStep::Database, _) => brunt_cause::redis::no_select(),
        }))
    }

    /// Ends the oldest exchange.
    #[inline]
    fn end_exchange(&mut self, done: &mut EventBuffer) {
        let ended = self.first;
        let id = ended.id;
        let nothing = self.flags & NOTHING != 0;
        self.in_flight -= 1;
        if let Some(next) = self.queued.pop_front() {
            self.first = next;
        }
        let (payload, error) = (std::mem::take(&mut self.payload), std::mem::take(&mut self.error));
        self.flags = 0;
        if id >= FORGOTTEN {
            return self.end_untracked(id, done);
        }
        let code = match error {
            0 if nothing => NIL,
            0 => OK,
            error => error,
        };
        if error != 0 || self.rules.searches_replies {
            return self.end_with_checks(ended, (code, error != 0), payload, done);
        }
        done.push(Event::Ended(ExchangeEnd {
            id: ExchangeId(id),
            fault: None,
            code,
            payload,
            excerpt: None,
            follow_up: None,
            cause: None,
        }));
    }

    #[cold]
    fn end_untracked(&mut self, id: u32, done: &mut EventBuffer) {
        if let Some(rare) = &mut self.extras {
            (rare.watch, _) = (TextSearch::default(), rare.excerpt.clear());
            (rare.whole_reply, rare.over_budget) = (BudgetedBuffer::default(), false);
        }
        if id == HEARTBEAT {
            self.heartbeat_in_flight = false;
            done.push(Event::Heartbeat);
        }
    }

    /// Ends the session after a protocol error; the oldest exchange ends with the received part of its reply.
    #[cold]
    fn abort(&mut self, fresh: &[u8], done: &mut EventBuffer) {
        if self.is_opening() || self.in_flight == 0 || self.flags & REFUSES != 0 {
            if self.extras().excerpt.is_empty() {
                self.keep_bytes(fresh);
            }
        } else if self.in_flight > 0 && self.first.id < FORGOTTEN {
            let excerpt = done.wants_example(FaultKind::BrokenProtocol).then(|| {
                self.keep_bytes(fresh);
                std::mem::take(&mut self.extras().excerpt).into_boxed_slice()
            });
            let (id, fault, payload) = (ExchangeId(self.first.id), Some(FaultKind::BrokenProtocol), self.payload);
            done.push(Event::Ended(ExchangeEnd { id, fault, code: 0, payload, excerpt, follow_up: None, cause: None }));
            self.first.id = FORGOTTEN;
        }
        self.flags |= OVER;
    }
}

impl Session for RedisSession {
    fn open(&mut self, out: &mut OutputBuffer) {
        if let Some(opening) = self.rules.openings.get(self.bound as usize) {
            out.put(&opening.bytes);
        }
    }

    #[inline]
    fn submit(
        &mut self,
        id: ExchangeId,
        request: &brunt_contract::Request,
        context: &SlotContext,
        out: &mut OutputBuffer,
    ) -> Result<SubmitOutcome, SessionFull> {
        let request = request.downcast::<RedisRequest>();
        if self.room() == 0 {
            return Err(SessionFull);
        }
        request.append(context, out);
        let RedisRequest { replies, checks, .. } = *request;
        self.send(PendingExchange { id: id.0, replies, checks, random: context.random as u16, total_replies: replies });
        Ok(SubmitOutcome::AwaitingResponse)
    }

    fn cancel(&mut self, id: ExchangeId, _out: &mut OutputBuffer) -> bool {
        if self.rules.pipeline == 1 {
            return false;
        }
        // Its reply still arrives in order.
        let of_it = |pending: &&mut PendingExchange| pending.id == id.0;
        if let Some(pending) = std::iter::once(&mut self.first).chain(&mut self.queued).find(of_it) {
            pending.id = FORGOTTEN;
        }
        true
    }

    #[inline]
    fn receive(&mut self, bytes: &[u8], _out: &mut OutputBuffer, done: &mut EventBuffer) -> Result<(), ProtocolError> {
        if self.flags & OVER != 0 {
            return Err(UNASKED);
        }
        let (mut at, mut from) = (0, 0);
        if let Err(broken) = self.advance(bytes, &mut at, &mut from, done) {
            self.flags |= if broken == REFUSED { REFUSES } else { 0 };
            if broken == UNASKED {
                done.push(Event::SurplusResponse(u32::try_from(bytes.len() - from).unwrap_or(u32::MAX)));
            }
            self.abort(&bytes[from..], done);
            return Err(broken);
        }
        if from < bytes.len() || self.flags & CONTINUED != 0 {
            self.on_partial_reply(&bytes[from..], done);
        }
        Ok(())
    }

    fn partial_response(&self) -> &[u8] {
        self.extras.as_ref().map_or(&[], |rare| if rare.excerpt.is_empty() { &rare.line } else { &rare.excerpt })
    }

    fn heartbeat(&mut self, out: &mut OutputBuffer) -> bool {
        // After a blocking command (BLPOP), a heartbeat would be answered no earlier than the command and would end a
        // healthy connection; pending replies are covered by the request timeout.
        if self.is_opening() || self.heartbeat_in_flight || self.in_flight > 0 || self.flags & OVER != 0 {
            return false;
        }
        out.put(heartbeat());
        self.send(PendingExchange { id: HEARTBEAT, replies: 1, ..PendingExchange::default() });
        self.heartbeat_in_flight = true;
        true
    }

    #[inline]
    fn room(&self) -> usize {
        if self.flags & OVER != 0 || self.is_opening() {
            return 0;
        }
        (self.rules.pipeline + u32::from(self.heartbeat_in_flight)).saturating_sub(self.in_flight) as usize
    }

    fn refusal_kind(&self) -> FaultKind {
        if self.flags & REFUSES != 0 { FaultKind::WrongStatus } else { FaultKind::BrokenProtocol }
    }

    fn refusal_code(&self) -> u32 {
        if self.flags & REFUSES != 0 { self.error } else { 0 }
    }

    #[inline]
    fn is_opening(&self) -> bool {
        self.steps > 0 && self.flags & OVER == 0
    }
}

const FULL: ProtocolError = ProtocolError(brunt_cause::redis::full());

impl RedisSession {
    /// Handles an error before any answer: a server that accepts no more connections sends it in response to any
    /// command, and closes the connection.
    #[cold]
    fn check_refusal(&mut self) -> Result<(), ProtocolError> {
        let code = self.error;
        let rare = self.extras();
        let why = match &rare.error[..] {
            text if text.starts_with(b"ERR max number of clients") => FULL,
            text if text.starts_with(b"DENIED ") => error_words::meaning(code).map_or(FULL, ProtocolError),
            _ => return Ok(()),
        };
        rare.excerpt = [b"-", &rare.error[..], b"\r\n"].concat();
        self.flags = REFUSES;
        Err(why)
    }

    /// Handles the end of the received bytes within a reply.
    #[cold]
    fn on_partial_reply(&mut self, fresh: &[u8], done: &mut EventBuffer) {
        let of_exchange =
            self.in_flight > 0 && !self.is_opening() && self.flags & PUSHED == 0 && self.first.id < FORGOTTEN;
        if of_exchange && self.flags & BEGUN == 0 {
            self.flags |= BEGUN;
            done.push(Event::FirstByte(ExchangeId(self.first.id)));
        }
        if self.keeps_bytes(done) {
            self.keep_bytes(fresh);
        }
        if done.reports_unsolicited() {
            // The head may be incomplete, so whether this is a push message is known only later.
            let begun = &mut self.extras().maybe_push;
            begun.extend_from_slice(&fresh[..fresh.len().min(WHOLE_BOUND - begun.len())]);
        }
    }

    /// Handles the end of a push message whose last bytes are `last`, and restores the state of the exchange around it.
    #[cold]
    fn on_push_end(&mut self, last: &[u8], done: &mut EventBuffer) {
        let (mut before, mut message) = (ExchangeCheckpoint::default(), Vec::new());
        if let Some(rare) = &mut self.extras {
            before = if self.flags & CONTINUED != 0 { rare.checkpoint } else { before };
            rare.excerpt.truncate(before.kept);
            rare.whole_reply.truncate(before.whole);
            message = std::mem::take(&mut rare.maybe_push);
            if !before.found {
                rare.watch = TextSearch::default();
            }
        }
        message.extend_from_slice(last);
        done.push_unsolicited(self.payload - before.payload, &message);
        self.payload = before.payload;
    }

    /// Handles a reply of an exchange that expects further replies.
    #[cold]
    fn on_intermediate_reply(&mut self, fresh: &[u8], done: &EventBuffer) {
        if self.keeps_bytes(done) {
            self.keep_bytes(fresh);
        }
        let payload = self.payload;
        let rare = self.extras();
        let (kept, whole) = (rare.excerpt.len(), rare.whole_reply.len());
        rare.checkpoint = ExchangeCheckpoint { payload, kept, whole, found: rare.watch.found() };
    }
}

/// Maximum size of a reply that is kept whole for captures, in bytes.
const WHOLE_BOUND: usize = 16 << 20;

/// Evaluates the captures on the replies of an exchange.
fn evaluate_captures(
    checks: &RedisChecks,
    whole: &[u8],
    (lost, of): (bool, PendingExchange),
) -> Result<StateUpdate, Cause> {
    if lost {
        return Err(brunt_cause::redis::too_large().into());
    }
    let said = reply::convert_replies(whole, of.total_replies)?;
    if checks.answers {
        return Ok(Box::new(brunt_contract::ResponseContent::Body(said.body)));
    }
    let answer = CaptureInput { body: &said.body, is_nil: said.is_nil, ..CaptureInput::default() };
    Ok(Box::new(capture::take_all(&checks.captures, &answer, u64::from(of.random))?))
}

impl RedisSession {
    /// Like [`Self::end_exchange`], for an error or an exchange with checks.
    #[cold]
    fn end_with_checks(
        &mut self,
        ended: PendingExchange,
        (code, erred): (u32, bool),
        payload: u64,
        done: &mut EventBuffer,
    ) {
        let (rules, id) = (Arc::clone(&self.rules), ExchangeId(ended.id));
        let checks = &rules.checks[usize::from(ended.checks)];
        let rare = self.extras();
        let found = std::mem::take(&mut rare.watch).found();
        let (kept, error) = (std::mem::take(&mut rare.excerpt), std::mem::take(&mut rare.error));
        let (whole, lost) = (std::mem::take(&mut rare.whole_reply), std::mem::take(&mut rare.over_budget));
        let (mut fault, excerpt) = if erred {
            (Some(FaultKind::WrongStatus), [b"-", &error[..], b"\r\n"].concat())
        } else {
            ((checks.expect.is_some() && !found).then_some(FaultKind::WrongBody), kept)
        };
        let mut why = match (fault.filter(|kind| done.wants_example(*kind)), &checks.expect) {
            (Some(FaultKind::WrongBody), Some(text)) => {
                Some(verify::missing_text(brunt_cause::checks::reply_lacks, text.needle(), &excerpt, payload))
            }
            _ => None,
        };
        if fault.is_none() && checks.keeps_reply() {
            match evaluate_captures(checks, &whole, (lost, ended)) {
                Ok(taken) => done.push(Event::StateUpdate(id, taken)),
                Err(missing) => {
                    (fault, why) = (Some(FaultKind::WrongBody.unless_own_limit(&missing)), Some(missing));
                }
            }
        }
        let excerpt = fault.filter(|kind| done.wants_example(*kind)).map(|_| excerpt.into_boxed_slice());
        if fault.is_some() && checks.expect.is_some() {
            done.record_failed_checks(id, u32::from(!found));
        }
        done.push(Event::Ended(ExchangeEnd { id, fault, code, payload, excerpt, follow_up: None, cause: why }));
    }

    #[cold]
    fn keep_bytes(&mut self, fresh: &[u8]) {
        let rules = Arc::clone(&self.rules);
        let takes = self.in_flight > 0 && self.checks().keeps_reply();
        let rare = self.extras();
        let kept = &mut rare.excerpt;
        kept.extend_from_slice(&fresh[..fresh.len().min(EXCERPT_BOUND.saturating_sub(kept.len()))]);
        if takes && !rare.over_budget {
            rare.over_budget = rare.whole_reply.len() + fresh.len() > WHOLE_BOUND
                || !rare.whole_reply.extend(fresh, &rules.reply_budget);
        }
    }
}
