//! Ends of requests: their results are counted, the first failure of each kind is kept, state is updated from
//! responses, and users are told.

use cause::Plain;
use measure::Nanos;
use scenario::News;
use wire::{Done, Ended, FaultKind, Fill, Found, Lesson, Memory, Phase, Request, Trace};

use crate::exchange::{Exchange, OF_PAGE, REUSED, Standing};
use crate::failing::Cause;
use crate::ids::{ExchangeId, RequestId, UserId};
use crate::message::{Message, RawExample};
use crate::outcome::{Outcome, Over};
use crate::sort::Sort;
use crate::traces;

use super::Traffic;

impl Traffic {
    /// Ends the run: requests in flight are counted as unfinished.
    pub fn censor_all(&mut self) {
        for id in self.flights.all() {
            let x = self.flights.take(id);
            self.books.unfinished(&x, &self.limits, self.stamp);
        }
    }

    /// Reports failures of the first moments, once: when it is time, or `now_or_never`.
    pub fn report_early(&mut self, now_or_never: bool) {
        self.books.report_early(self.stamp, now_or_never);
    }

    /// Ends an exchange that its session ended. `late` is set if it had timed out before; `broken` is the protocol
    /// error, if any.
    #[inline]
    pub fn ended(&mut self, x: &Exchange, ended: Ended, (late, broken): (bool, Option<Plain>), done: &mut Done) {
        self.books.over(x, self.stamp, ended.fault.is_none() && !x.warmup);
        self.books.responded(x, ended.code, ended.payload, late);
        if let Some(checks) = &self.checks {
            let failed = match ended.fault {
                None => Some(0),
                Some(_) => done.take_failed(ended.id),
            };
            // The response that a redirect leads to is checked in its place; resources of a page have no checks.
            if let Some(failed) = failed.filter(|_| ended.follow.is_none() && x.marks & OF_PAGE == 0) {
                self.books.checked(x.warmup, checks.set(x), failed);
            }
        }
        match ended.fault {
            None => {
                self.books.succeeded(x, self.stamp);
                self.traced(x, ended.id, traces::Outcome { code: ended.code, failed: None });
            }
            Some(kind) => self.ended_badly(x, &ended, kind, broken),
        }
        let lesson = self.lesson.take();
        let found = lesson.and_then(|lesson| self.learn(x, ended.id, lesson)).filter(|_| ended.fault.is_none());
        self.flights.forget(x, ended.id);
        let news = News::Ended { code: ended.code, fault: ended.fault, on_failure: x.on_failure() };
        let (within, follow) = (self.flights.timeout(ended.id), ended.follow);
        let (user, name, hops) = (x.user, x.name, x.hops);
        let over = Over { user, name, hops, follow, page: found, within, news, back_off: false };
        self.outcomes.push(Outcome::Over(over));
    }

    /// Updates a user's state with what the response to its request set.
    #[cold]
    fn learn(&mut self, x: &Exchange, id: ExchangeId, lesson: Lesson) -> Option<Found> {
        let fill = self.flights.filled(x, id);
        let request = self.flights.request(&*self.dialogue, x, id)?;
        let mut none = Memory::default();
        let memory = self.memories.as_mut().map_or(&mut none, |memories| memories.of(x.user));
        let found = self.dialogue.learn(request, &fill, lesson, memory);
        if self.recalls {
            self.books.cached(x, std::mem::take(&mut memory.saved));
        }
        found
    }

    fn ended_badly(&mut self, x: &Exchange, ended: &Ended, kind: FaultKind, broken: Option<Plain>) {
        let phase = match kind {
            // A stream whose messages came has begun to be answered, whatever its final status.
            FaultKind::WrongStatus if x.last_message > Nanos::ZERO => Phase::Transfer,
            // A fault of a whole response does not depend on the pieces it came in.
            FaultKind::WrongStatus | FaultKind::WrongHeader | FaultKind::TooManyRedirects => Phase::FirstByte,
            FaultKind::WrongBody => Phase::Transfer,
            FaultKind::Timeout if self.flights.began_late(ended.id, x) => Phase::FirstByte,
            _ if x.first_byte == Nanos::ZERO => Phase::FirstByte,
            _ => Phase::Transfer,
        };
        let known = || match kind {
            FaultKind::BrokenProtocol => broken,
            FaultKind::Timeout => Some(cause::response::late()),
            _ => self.dialogue.code_meaning(ended.code),
        };
        let known = if ended.why.is_none() { known().map(cause::Cause::from) } else { None };
        let why = ended.why.as_ref().or(known.as_ref());
        let cause = Cause { sort: Sort { kind, phase, errno: None }, code: ended.code, why };
        self.failed(x, ended.id, &cause, ended.excerpt.as_deref());
    }

    /// Looks a request up in its user's cache: a hit is counted, and the user's state is updated from it. Returns the
    /// page resources to be found in it, if any.
    pub fn recalled(
        &mut self,
        (user, name): (UserId, u16),
        due: Nanos,
        (request, fill): (&Request, &Fill<'_>),
    ) -> Option<Option<Found>> {
        let memory = self.memories.as_mut()?.of(user);
        let recalled = self.dialogue.recall(request, fill, memory)?;
        let found = recalled.lesson.and_then(|lesson| self.dialogue.learn(request, fill, lesson, memory));
        self.books.recalled((name, user), recalled.bytes, due < self.limits.window);
        Some(found)
    }

    /// Fails an exchange now.
    pub fn fail(&mut self, id: ExchangeId, cause: &Cause<'_>, back_off: bool) {
        self.fail_with(id, cause, None, back_off);
    }

    /// Like [`Traffic::fail`]; `came` is the part of the response received.
    pub fn fail_with(&mut self, id: ExchangeId, cause: &Cause<'_>, came: Option<&[u8]>, back_off: bool) {
        let x = self.flights.take(id);
        self.books.over(&x, self.stamp, false);
        self.books.code(&x, cause.code);
        self.failed(&x, id, cause, came);
        self.flights.forget(&x, id);
        let fault = Some(cause.sort.kind);
        let news = News::Ended { code: cause.code, fault, on_failure: x.on_failure() };
        self.outcomes.push(Outcome::Over(Over { name: x.name, back_off, ..Over::of(x.user, news) }));
    }

    /// Counts a failure and keeps the first example of its kind.
    pub fn failed(&mut self, x: &Exchange, id: ExchangeId, cause: &Cause<'_>, excerpt: Option<&[u8]>) {
        self.books.failed(x, cause.sort, &self.limits, self.stamp);
        self.traced(x, id, traces::Outcome { code: cause.code, failed: Some(cause.sort) });
        if !x.warmup {
            self.keep_example(cause, Some((x, id)), excerpt);
        }
    }

    /// Records a failed connection that no request waits for: no request fails, but the failure is visible.
    pub fn connection_failed(&mut self, cause: &Cause<'_>) {
        self.books.saw_failure(cause.sort);
        let code = Some(cause.code).filter(|code| *code > 0).map(|code| self.dialogue.code_name(code));
        let unsaid = code.filter(|code| cause.why.is_none_or(|why| !why.en().contains(code)));
        let whole = unsaid.map(|code| match cause.why {
            Some(why) => cause::response::with_code(code, why.clone()),
            None => cause::response::code_alone(code),
        });
        self.books.connection_not_opened(cause.sort, whole.as_ref().or(cause.why));
        self.keep_example(cause, None, None);
    }

    /// Keeps an example of a failure, if one of its kind is wanted; `of` is the request that failed.
    pub fn keep_example(&mut self, cause: &Cause<'_>, of: Option<(&Exchange, ExchangeId)>, excerpt: Option<&[u8]>) {
        let Cause { sort, code, why } = *cause;
        if excerpt.is_some() {
            self.examples.came_with_response(sort.kind);
        }
        if !self.examples.is_new(sort, of.map(|(x, _)| (x.name, code))) {
            return;
        }
        let sent = match of {
            Some((x, id)) if x.state == Standing::InFlight => self.sent_of(x, id),
            _ => Vec::new(),
        };
        let values = of.zip(self.memories.as_ref()).map(|((x, _), memories)| memories.used(x.user, x.request));
        let trace = of.filter(|_| self.books.traces()).and_then(|(x, id)| self.trace_of(x, id));
        let reused = of.is_some_and(|(x, _)| x.marks & REUSED != 0);
        let name = of.filter(|_| self.books.by_name()).map(|(x, _)| x.name);
        let code = if of.is_some() { code } else { 0 };
        let at_ns = self.stamp.0 as i64 - self.limits.window.0 as i64;
        let received = excerpt.unwrap_or_default().to_vec();
        let awaited = match of {
            Some((x, id)) if sort.kind == FaultKind::Timeout && why.is_none() => self.awaited_of(x, id),
            _ => None,
        };
        let why = awaited.or_else(|| why.cloned());
        self.books.report(Message::Example(RawExample {
            sort,
            name,
            code,
            at_ns,
            why,
            sent,
            received,
            reused,
            trace,
            values: values.unwrap_or_default(),
        }));
    }

    /// Returns what the request waited for in vain, if other messages came.
    fn awaited_of(&self, x: &Exchange, id: ExchangeId) -> Option<cause::Cause> {
        let request = self.flights.request(&*self.dialogue, x, id).filter(|_| x.state == Standing::InFlight)?;
        Some(cause::reaching::none_like(self.dialogue.awaited(request)?))
    }

    /// Keeps the trace of a request that is over, if it is among the slowest.
    #[inline]
    pub fn traced(&mut self, x: &Exchange, id: ExchangeId, outcome: traces::Outcome) {
        if self.books.traces()
            && !x.warmup
            && let Some(trace) = self.trace_of(x, id)
        {
            self.books.traced(x, trace, outcome, self.stamp);
        }
    }

    /// Returns the trace of a request; `None` if it was never sent.
    fn trace_of(&self, x: &Exchange, id: ExchangeId) -> Option<Trace> {
        if x.state != Standing::InFlight {
            return None;
        }
        let request = self.flights.request(&*self.dialogue, x, id)?;
        let fill = self.flights.filled(x, id);
        let unsaid = || self.dialogue.says_no_trace(request).then(|| self.books.unsaid(&fill)).flatten();
        self.dialogue.trace(request, &fill).or_else(unsaid)
    }

    /// Returns the bytes that were sent, encoded again from their source.
    fn sent_of(&mut self, x: &Exchange, id: ExchangeId) -> Vec<u8> {
        let Some(request) = self.flights.request(&*self.dialogue, x, id) else { return Vec::new() };
        if let Some(memories) = &mut self.memories {
            let memory = memories.of(x.user);
            let fill = Fill { values: &memory.values, ..self.flights.filled(x, id) };
            return self.dialogue.sent_with(request, &fill, Some(memory));
        }
        if !self.flights.fills() || x.request == RequestId::NONE {
            return self.dialogue.sent_with(request, &Fill::default(), None);
        }
        self.dialogue.sent_with(request, &self.flights.filled(x, id), None)
    }
}
