//! The client session on one connection: replies in the order of the commands, read in place.
//!
//! A reply is only counted: the state consists of the number of values and bytes still to come, whatever the nesting.
//! Buffers for a split line, for an error that becomes an example, and for a searched text are allocated when they are
//! first needed.

use std::collections::VecDeque;
use std::sync::Arc;

use cause::Cause;
use memchr::memchr;
use wire::{Broken, Done, Ended, Event, ExchangeId, FaultKind, Fill, Full, Lesson, Out, Sent, Session};

use super::codec::{self, Head, LINE_BOUND};
use super::dialogue::{Rules, Step};
use super::options::Checks;
use super::reply;
use super::request::{Request, heartbeat};
use super::words::{self, NIL, OK};
use values::capture::{self, Answer};
use values::kept::Kept;
use values::verify;
use values::watch::Watch;

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
/// Flag: the server refused the connection, or a step of the opening.
const REFUSES: u8 = 64;
/// Flag: some replies of this exchange have arrived, and more are expected.
const CONTINUED: u8 = 128;

/// An exchange in flight: one command or several.
#[derive(Clone, Copy, Debug, Default)]
struct Pending {
    id: u32,
    replies: u32,
    /// Index of the checks of its replies.
    checks: u16,
    /// Random bits for captures that choose at random.
    random: u16,
    /// Total number of its replies.
    of: u32,
}

/// The id of a heartbeat.
const HEARTBEAT: u32 = u32::MAX;
/// The id of a cancelled exchange.
const FORGOTTEN: u32 = u32::MAX - 1;

/// The client side of a Redis connection.
#[derive(Debug)]
pub struct RedisSession {
    rules: Arc<Rules>,
    rare: Option<Box<Rare>>,
    /// Oldest exchange in flight, unless `in_flight` is 0.
    first: Pending,
    /// Exchanges after the first, in order.
    more: VecDeque<Pending>,
    /// Number of values of the reply still to come; 0 between replies.
    values: u64,
    /// Number of bytes of a string still to come, including its CR LF.
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
    beats: bool,
    marks: u8,
    /// Set once the server has answered a command.
    answered: bool,
}

/// The state that most replies never need.
#[derive(Debug, Default)]
struct Rare {
    /// Incomplete line.
    line: Vec<u8>,
    /// Text of an error.
    error: Vec<u8>,
    /// Received part of a reply that may be a push message, if push messages are reported.
    begun: Vec<u8>,
    /// Beginning of a reply that may become an example.
    kept: Vec<u8>,
    /// Whole reply that values are captured from.
    whole: Kept,
    /// Set if the reply could not be kept.
    lost: bool,
    /// Search for the expected text.
    watch: Watch,
    /// State to return to after a push message between the replies of an exchange.
    before: Before,
}

/// The state that a push message between two replies of an exchange must not change.
#[derive(Clone, Copy, Debug, Default)]
struct Before {
    payload: u64,
    kept: usize,
    whole: usize,
    found: bool,
}

const UNASKED: Broken = Broken(cause::redis::unsolicited());
const UNENDED: Broken = Broken(cause::redis::unended());
const ENDLESS: Broken = Broken(cause::redis::endless());
const REFUSED: Broken = Broken(cause::redis::refused());

impl RedisSession {
    pub(super) fn new(rules: Arc<Rules>, bound: u32) -> RedisSession {
        let steps = rules.openings.get(bound as usize).map_or(0, |opening| opening.steps.len() as u8);
        RedisSession {
            rules,
            rare: None,
            first: Pending { id: FORGOTTEN, ..Pending::default() },
            more: VecDeque::new(),
            values: 0,
            bytes: 0,
            payload: 0,
            error: 0,
            in_flight: 0,
            bound,
            steps,
            beats: false,
            marks: 0,
            answered: false,
        }
    }

    fn rare(&mut self) -> &mut Rare {
        self.rare.get_or_insert_default()
    }

    /// Returns `true` if replies are kept, for captures or as an example of a missing text.
    fn captures(&self, done: &Done) -> bool {
        if !self.rules.looks || self.marks & PUSHED != 0 {
            return false;
        }
        let checks = self.checks();
        checks.keep() || (checks.expect.is_some() && done.wants_example(FaultKind::WrongBody))
    }

    /// Returns the checks of the current replies.
    fn checks(&self) -> &Checks {
        &self.rules.checks[usize::from(self.first.checks)]
    }

    fn has_partial_line(&self) -> bool {
        self.rare.as_ref().is_some_and(|rare| !rare.line.is_empty())
    }

    fn send(&mut self, pending: Pending) {
        if self.in_flight == 0 {
            self.first = pending;
        } else {
            self.more.push_back(pending);
        }
        self.in_flight += 1;
    }

    /// Reads on. `at` is the position in `bytes`, `from` the beginning of the current reply.
    #[inline]
    fn advance(&mut self, bytes: &[u8], at: &mut usize, from: &mut usize, done: &mut Done) -> Result<(), Broken> {
        while *at < bytes.len() {
            let rest = &bytes[*at..];
            if self.bytes > 0 {
                *at += self.string(rest)?;
                if self.bytes > 0 {
                    return Ok(());
                }
                self.string_over();
                self.values -= 1;
            } else if self.has_partial_line() {
                let Some(used) = self.complete_line(rest)? else {
                    *at = bytes.len();
                    return Ok(());
                };
                *at += used;
            } else {
                if self.values == 0 {
                    self.known_unasked(rest[0])?;
                }
                let Some(end) = memchr(b'\n', rest) else {
                    codec::may_begin(rest[0])?;
                    if rest.len() > LINE_BOUND {
                        return Err(ENDLESS);
                    }
                    self.rare().line.extend_from_slice(rest);
                    *at = bytes.len();
                    return Ok(());
                };
                self.line(&rest[..=end])?;
                *at += end + 1;
            }
            if self.values == 0 && self.bytes == 0 {
                self.reply_over(bytes, *at, from, done)?;
            }
        }
        Ok(())
    }

    /// Consumes bytes of a string; returns how many.
    #[inline]
    fn string(&mut self, rest: &[u8]) -> Result<usize, Broken> {
        let data = (self.bytes - self.bytes.min(2)).min(rest.len() as u64);
        let text = &rest[..data as usize];
        self.bytes -= data;
        self.payload += data;
        if self.marks & ERROR_TEXT != 0 || self.rules.looks {
            self.text(text);
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

    /// Handles the text of a value: searched, or kept if it is an error.
    #[cold]
    fn text(&mut self, text: &[u8]) {
        let expect = self.checks().expect.as_ref().map(|_| Arc::clone(&self.rules));
        let (is_error, checks) = (self.marks & ERROR_TEXT != 0, usize::from(self.first.checks));
        let rare = self.rare();
        if is_error {
            let room = EXCERPT_BOUND.saturating_sub(rare.error.len());
            rare.error.extend_from_slice(&text[..text.len().min(room)]);
        } else if let Some(text_wanted) = expect.as_ref().and_then(|rules| rules.checks[checks].expect.as_ref()) {
            rare.watch.feed(text, text_wanted);
        }
    }

    /// Handles the end of a string.
    #[inline]
    fn string_over(&mut self) {
        if self.marks & ERROR_TEXT != 0 {
            self.marks &= !ERROR_TEXT;
            let text = std::mem::take(&mut self.rare().error);
            self.erred(&text);
        } else if self.rules.looks {
            self.rare().watch.pause();
        }
    }

    /// Continues a partly received line; `None` if it is still incomplete.
    #[cold]
    fn complete_line(&mut self, rest: &[u8]) -> Result<Option<usize>, Broken> {
        let rare = self.rare();
        let end = memchr(b'\n', rest);
        let part = end.map_or(rest, |end| &rest[..=end]);
        if rare.line.len() + part.len() > LINE_BOUND + usize::from(end.is_some()) {
            return Err(ENDLESS);
        }
        rare.line.extend_from_slice(part);
        let Some(end) = end else { return Ok(None) };
        let mut line = std::mem::take(&mut rare.line);
        let read = self.line(&line);
        line.clear();
        self.rare().line = line;
        read.map(|()| Some(end + 1))
    }

    /// Rejects the beginning of an unsolicited reply, unless it is a push message or attributes.
    #[inline]
    fn known_unasked(&self, kind: u8) -> Result<(), Broken> {
        if self.in_flight > 0 || self.steps > 0 || kind == b'>' || kind == b'|' {
            return Ok(());
        }
        Err(if kind == b'-' { REFUSED } else { UNASKED })
    }

    /// Handles a whole line including its end.
    #[inline]
    fn line(&mut self, line: &[u8]) -> Result<(), Broken> {
        let Some(line) = line.strip_suffix(b"\r\n").filter(|line| line.len() < LINE_BOUND) else {
            codec::may_begin(line[0])?;
            return Err(if line.len() > LINE_BOUND { ENDLESS } else { Broken(cause::redis::line_end()) });
        };
        if self.values == 0 {
            self.values = 1;
            self.marks |= OUTERMOST;
        }
        let outermost = self.marks & OUTERMOST != 0 && self.values == 1;
        match codec::head(line)? {
            Head::Bytes(count) => {
                self.bytes = count + 2;
                return Ok(());
            }
            Head::Value => {
                self.payload += line.len() as u64 - 1;
                if self.rules.looks {
                    self.text(&line[1..]);
                    self.rare().watch.pause();
                }
            }
            Head::Null if outermost => self.marks |= NOTHING,
            Head::Null => {}
            Head::Error => {
                self.payload += line.len() as u64 - 1;
                self.erred(&line[1..]);
            }
            Head::LongError(count) => {
                if self.error == 0 && self.marks & PUSHED == 0 {
                    self.marks |= ERROR_TEXT;
                    self.rare().error.clear();
                }
                self.bytes = count + 2;
                return Ok(());
            }
            Head::Values(count) => {
                self.marks &= !OUTERMOST;
                self.values = self.values.saturating_add(count);
            }
            Head::Attributes(count) => {
                self.values = self.values.saturating_add(count);
                return Ok(());
            }
            Head::Push(count) if outermost => {
                self.marks = self.marks & !OUTERMOST | PUSHED;
                self.values = self.values.saturating_add(count);
            }
            Head::Push(_) => return Err(Broken(cause::redis::push_within())),
        }
        self.values -= 1;
        Ok(())
    }

    /// Handles an error without its type byte: the first error determines the result of the exchange.
    #[cold]
    fn erred(&mut self, text: &[u8]) {
        if self.marks & PUSHED != 0 || self.error != 0 {
            return;
        }
        self.error = self.rules.words.code(text);
        let rare = self.rare();
        rare.error.clear();
        rare.error.extend_from_slice(&text[..text.len().min(EXCERPT_BOUND)]);
    }

    /// Handles the end of a reply that lies in `from..at`.
    #[inline]
    fn reply_over(&mut self, bytes: &[u8], at: usize, from: &mut usize, done: &mut Done) -> Result<(), Broken> {
        if self.marks & PUSHED != 0 {
            self.marks &= !PUSHED;
            self.push_over(&bytes[*from..at], done);
            *from = at;
            return Ok(());
        }
        if done.hears_unasked()
            && let Some(rare) = &mut self.rare
        {
            rare.begun.clear();
        }
        if self.steps > 0 {
            self.step_over()?;
            *from = at;
            return Ok(());
        }
        if self.in_flight == 0 {
            // An unsolicited value after attributes.
            return Err(UNASKED);
        }
        if self.error != 0 && !self.answered {
            self.turned_away()?;
        }
        self.answered = true;
        if self.first.replies > 1 {
            self.first.replies -= 1;
            self.marks = self.marks & !(NOTHING | OUTERMOST) | CONTINUED;
            self.one_of_several(&bytes[*from..at], done);
            *from = at;
            return Ok(());
        }
        if self.captures(done) {
            self.capture(&bytes[*from..at]);
        }
        *from = at;
        self.end(done);
        Ok(())
    }

    /// Handles the answer to a step of the opening.
    #[cold]
    fn step_over(&mut self) -> Result<(), Broken> {
        let steps = &self.rules.openings[self.bound as usize].steps;
        let step = steps[steps.len() - usize::from(self.steps)];
        self.payload = 0;
        self.marks = 0;
        if self.error == 0 {
            self.steps -= 1;
            return Ok(());
        }
        self.marks = REFUSES;
        let rare = self.rare();
        rare.kept = [b"-", &rare.error[..], b"\r\n"].concat();
        let word = self.rules.words.name(self.error);
        Err(Broken(match (step, word.as_str()) {
            (_, "WRONGPASS") => cause::redis::wrong_password(),
            (_, "NOAUTH") => cause::redis::no_password(),
            (Step::Hello, _) => cause::redis::no_hello(),
            (Step::Login, _) => cause::redis::no_auth(),
            (Step::Database, "NOPERM") => cause::redis::select_not_permitted(),
            (Step::Database, _) => cause::redis::no_select(),
        }))
    }

    /// Ends the oldest exchange.
    #[inline]
    fn end(&mut self, done: &mut Done) {
        let ended = self.first;
        let id = ended.id;
        let nothing = self.marks & NOTHING != 0;
        self.in_flight -= 1;
        if let Some(next) = self.more.pop_front() {
            self.first = next;
        }
        let (payload, error) = (std::mem::take(&mut self.payload), std::mem::take(&mut self.error));
        self.marks = 0;
        if id >= FORGOTTEN {
            return self.end_silently(id, done);
        }
        let code = match error {
            0 if nothing => NIL,
            0 => OK,
            error => error,
        };
        if error != 0 || self.rules.looks {
            return self.end_closely(ended, (code, error != 0), payload, done);
        }
        done.push(Event::Ended(Ended {
            id: ExchangeId(id),
            fault: None,
            code,
            payload,
            excerpt: None,
            follow: None,
            why: None,
        }));
    }

    #[cold]
    fn end_silently(&mut self, id: u32, done: &mut Done) {
        if let Some(rare) = &mut self.rare {
            (rare.watch, _) = (Watch::default(), rare.kept.clear());
            (rare.whole, rare.lost) = (Kept::default(), false);
        }
        if id == HEARTBEAT {
            self.beats = false;
            done.push(Event::Heartbeat);
        }
    }

    /// Ends the session after a protocol error; the oldest exchange ends with the received part of its reply.
    #[cold]
    fn break_off(&mut self, fresh: &[u8], done: &mut Done) {
        if self.opening() || self.in_flight == 0 || self.marks & REFUSES != 0 {
            if self.rare().kept.is_empty() {
                self.capture(fresh);
            }
        } else if self.in_flight > 0 && self.first.id < FORGOTTEN {
            let excerpt = done.wants_example(FaultKind::BrokenProtocol).then(|| {
                self.capture(fresh);
                std::mem::take(&mut self.rare().kept).into_boxed_slice()
            });
            let (id, fault, payload) = (ExchangeId(self.first.id), Some(FaultKind::BrokenProtocol), self.payload);
            done.push(Event::Ended(Ended { id, fault, code: 0, payload, excerpt, follow: None, why: None }));
            self.first.id = FORGOTTEN;
        }
        self.marks |= OVER;
    }
}

impl Session for RedisSession {
    fn open(&mut self, out: &mut Out) {
        if let Some(opening) = self.rules.openings.get(self.bound as usize) {
            out.put(&opening.bytes);
        }
    }

    #[inline]
    fn submit(&mut self, id: ExchangeId, request: &wire::Request, fill: &Fill, out: &mut Out) -> Result<Sent, Full> {
        let request = request.of::<Request>();
        if self.room() == 0 {
            return Err(Full);
        }
        request.append(fill, out);
        let Request { replies, checks, .. } = *request;
        self.send(Pending { id: id.0, replies, checks, random: fill.random as u16, of: replies });
        Ok(Sent::Asked)
    }

    fn cancel(&mut self, id: ExchangeId, _out: &mut Out) -> bool {
        if self.rules.pipeline == 1 {
            return false;
        }
        // Its reply still arrives in order.
        let of_it = |pending: &&mut Pending| pending.id == id.0;
        if let Some(pending) = std::iter::once(&mut self.first).chain(&mut self.more).find(of_it) {
            pending.id = FORGOTTEN;
        }
        true
    }

    #[inline]
    fn receive(&mut self, bytes: &[u8], _out: &mut Out, done: &mut Done) -> Result<(), Broken> {
        if self.marks & OVER != 0 {
            return Err(UNASKED);
        }
        let (mut at, mut from) = (0, 0);
        if let Err(broken) = self.advance(bytes, &mut at, &mut from, done) {
            self.marks |= if broken == REFUSED { REFUSES } else { 0 };
            if broken == UNASKED {
                done.push(Event::Stray(u32::try_from(bytes.len() - from).unwrap_or(u32::MAX)));
            }
            self.break_off(&bytes[from..], done);
            return Err(broken);
        }
        if from < bytes.len() || self.marks & CONTINUED != 0 {
            self.more_to_come(&bytes[from..], done);
        }
        Ok(())
    }

    fn begun(&self) -> &[u8] {
        self.rare.as_ref().map_or(&[], |rare| if rare.kept.is_empty() { &rare.line } else { &rare.kept })
    }

    fn heartbeat(&mut self, out: &mut Out) -> bool {
        // After a blocking command (BLPOP) a heartbeat would be answered as late as the command and would end a healthy
        // connection; pending replies are covered by the request timeout.
        if self.opening() || self.beats || self.in_flight > 0 || self.marks & OVER != 0 {
            return false;
        }
        out.put(heartbeat());
        self.send(Pending { id: HEARTBEAT, replies: 1, ..Pending::default() });
        self.beats = true;
        true
    }

    #[inline]
    fn room(&self) -> usize {
        if self.marks & OVER != 0 || self.opening() {
            return 0;
        }
        (self.rules.pipeline + u32::from(self.beats)).saturating_sub(self.in_flight) as usize
    }

    fn refusal(&self) -> FaultKind {
        if self.marks & REFUSES != 0 { FaultKind::WrongStatus } else { FaultKind::BrokenProtocol }
    }

    fn refusal_code(&self) -> u32 {
        if self.marks & REFUSES != 0 { self.error } else { 0 }
    }

    #[inline]
    fn opening(&self) -> bool {
        self.steps > 0 && self.marks & OVER == 0
    }
}

const FULL: Broken = Broken(cause::redis::full());

impl RedisSession {
    /// Handles an error before any answer: a server that accepts no connections sends it whatever the command is, and
    /// closes.
    #[cold]
    fn turned_away(&mut self) -> Result<(), Broken> {
        let code = self.error;
        let rare = self.rare();
        let why = match &rare.error[..] {
            text if text.starts_with(b"ERR max number of clients") => FULL,
            text if text.starts_with(b"DENIED ") => words::meaning(code).map_or(FULL, Broken),
            _ => return Ok(()),
        };
        rare.kept = [b"-", &rare.error[..], b"\r\n"].concat();
        self.marks = REFUSES;
        Err(why)
    }

    /// Handles the end of the received bytes within a reply.
    #[cold]
    fn more_to_come(&mut self, fresh: &[u8], done: &mut Done) {
        let of_exchange =
            self.in_flight > 0 && !self.opening() && self.marks & PUSHED == 0 && self.first.id < FORGOTTEN;
        if of_exchange && self.marks & BEGUN == 0 {
            self.marks |= BEGUN;
            done.push(Event::FirstByte(ExchangeId(self.first.id)));
        }
        if self.captures(done) {
            self.capture(fresh);
        }
        if done.hears_unasked() {
            // The head may be incomplete: whether this is a push message is known only later.
            let begun = &mut self.rare().begun;
            begun.extend_from_slice(&fresh[..fresh.len().min(WHOLE_BOUND - begun.len())]);
        }
    }

    /// Handles the end of a push message with these bytes; the state of the exchange around it is restored.
    #[cold]
    fn push_over(&mut self, last: &[u8], done: &mut Done) {
        let (mut before, mut message) = (Before::default(), Vec::new());
        if let Some(rare) = &mut self.rare {
            before = if self.marks & CONTINUED != 0 { rare.before } else { before };
            rare.kept.truncate(before.kept);
            rare.whole.truncate(before.whole);
            message = std::mem::take(&mut rare.begun);
            if !before.found {
                rare.watch = Watch::default();
            }
        }
        message.extend_from_slice(last);
        done.unasked(self.payload - before.payload, &message);
        self.payload = before.payload;
    }

    /// Handles a reply of an exchange that has more of them.
    #[cold]
    fn one_of_several(&mut self, fresh: &[u8], done: &Done) {
        if self.captures(done) {
            self.capture(fresh);
        }
        let payload = self.payload;
        let rare = self.rare();
        let (kept, whole) = (rare.kept.len(), rare.whole.len());
        rare.before = Before { payload, kept, whole, found: rare.watch.found() };
    }
}

/// Maximum size of a reply that is kept whole for captures, in bytes.
const WHOLE_BOUND: usize = 16 << 20;

/// Evaluates the captures on the replies of an exchange.
fn taken(checks: &Checks, whole: &[u8], (lost, of): (bool, Pending)) -> Result<Lesson, Cause> {
    if lost {
        return Err(cause::redis::too_large().into());
    }
    let said = reply::said(whole, of.of)?;
    if checks.answers {
        return Ok(Box::new(wire::Answer::Body(said.body)));
    }
    let answer = Answer { body: &said.body, nothing: said.nothing, ..Answer::default() };
    Ok(Box::new(capture::take_all(&checks.captures, &answer, u64::from(of.random))?))
}

impl RedisSession {
    /// Like [`Self::end`], for an error or an exchange with checks.
    #[cold]
    fn end_closely(&mut self, ended: Pending, (code, erred): (u32, bool), payload: u64, done: &mut Done) {
        let (rules, id) = (Arc::clone(&self.rules), ExchangeId(ended.id));
        let checks = &rules.checks[usize::from(ended.checks)];
        let rare = self.rare();
        let found = std::mem::take(&mut rare.watch).found();
        let (kept, error) = (std::mem::take(&mut rare.kept), std::mem::take(&mut rare.error));
        let (whole, lost) = (std::mem::take(&mut rare.whole), std::mem::take(&mut rare.lost));
        let (mut fault, excerpt) = if erred {
            (Some(FaultKind::WrongStatus), [b"-", &error[..], b"\r\n"].concat())
        } else {
            ((checks.expect.is_some() && !found).then_some(FaultKind::WrongBody), kept)
        };
        let mut why = match (fault.filter(|kind| done.wants_example(*kind)), &checks.expect) {
            (Some(FaultKind::WrongBody), Some(text)) => {
                Some(verify::lacks(cause::checks::reply_lacks, text.needle(), &excerpt, payload))
            }
            _ => None,
        };
        if fault.is_none() && checks.keep() {
            match taken(checks, &whole, (lost, ended)) {
                Ok(taken) => done.push(Event::Learnt(id, taken)),
                Err(missing) => (fault, why) = (Some(FaultKind::WrongBody), Some(missing)),
            }
        }
        let excerpt = fault.filter(|kind| done.wants_example(*kind)).map(|_| excerpt.into_boxed_slice());
        if fault.is_some() && checks.expect.is_some() {
            done.failed(id, u32::from(!found));
        }
        done.push(Event::Ended(Ended { id, fault, code, payload, excerpt, follow: None, why }));
    }

    #[cold]
    fn capture(&mut self, fresh: &[u8]) {
        let rules = Arc::clone(&self.rules);
        let takes = self.in_flight > 0 && self.checks().keep();
        let rare = self.rare();
        let kept = &mut rare.kept;
        kept.extend_from_slice(&fresh[..fresh.len().min(EXCERPT_BOUND.saturating_sub(kept.len()))]);
        if takes && !rare.lost {
            rare.lost = rare.whole.len() + fresh.len() > WHOLE_BOUND || !rare.whole.add(fresh, &rules.kept);
        }
    }
}
