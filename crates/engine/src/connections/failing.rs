//! Failures as data: counted by sort, their first example kept, their users going on.

use std::collections::HashSet;

use scenario::News;
use wire::{Errno, ExchangeId, FaultKind, Fill, Network, Phase, Trace};

use crate::exchange::{Exchange, NONE, REUSED, Standing};
use crate::message::{Message, RawExample};
use crate::tally::Sort;
use crate::traces;

use super::Connections;
use crate::outcome::{Outcome, Over};

/// So many examples are kept beyond the first of each sort, one of each name, sort and status.
pub(crate) const EXAMPLES_BY_NAME: usize = 256;
/// Failures of a kind that a session is asked to attach what came back to, where the run has several names.
const EXCERPTS: u32 = 1000;

/// Why something failed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cause<'a> {
    pub sort: Sort,
    /// The status code with which the peer refused; 0: none.
    pub code: u32,
    /// What is known beyond the sort: the peer's last words, or ours.
    pub why: Option<&'a cause::Cause>,
}

impl<'a> Cause<'a> {
    pub fn new(kind: FaultKind, phase: Phase) -> Cause<'a> {
        Cause { sort: Sort { kind, phase, errno: None }, code: 0, why: None }
    }

    /// Because of what the operating system said.
    pub fn of_system(self, errno: Option<Errno>) -> Cause<'a> {
        Cause { sort: Sort { errno: errno.map(|e| e.0), ..self.sort }, ..self }
    }

    pub fn saying(self, why: impl Into<Option<&'a cause::Cause>>) -> Cause<'a> {
        Cause { why: why.into(), ..self }
    }

    pub fn with_code(self, code: u32) -> Cause<'a> {
        Cause { code, ..self }
    }

    pub fn in_phase(self, phase: Phase) -> Cause<'a> {
        Cause { sort: Sort { phase, ..self.sort }, ..self }
    }
}

/// Which failures an example was kept of.
#[derive(Debug, Default)]
pub(super) struct Examples {
    /// The run has several names.
    by_name: bool,
    sorts: Vec<Sort>,
    named: HashSet<(u16, u32, Sort)>,
    excerpts: [u32; FaultKind::ALL.len()],
}

impl Examples {
    /// Of a run with so many names.
    pub fn of(names: usize) -> Examples {
        Examples { by_name: names > 1, ..Examples::default() }
    }

    /// True where an example of such a failure is wanted, which is kept then; `of`: name and status code of the request.
    fn is_new(&mut self, sort: Sort, of: Option<(u16, u32)>) -> bool {
        let first = !self.sorts.contains(&sort);
        if first {
            self.sorts.push(sort);
        }
        let named = of.filter(|_| self.by_name && self.named.len() < EXAMPLES_BY_NAME);
        named.is_some_and(|(name, code)| self.named.insert((name, code, sort))) || first
    }

    /// Takes another failure of a kind that came with what came back; true where no more of them are of use.
    fn seen_enough(&mut self, kind: FaultKind) -> bool {
        let seen = &mut self.excerpts[kind as usize];
        *seen = seen.saturating_add(1);
        !self.by_name || *seen >= EXCERPTS
    }
}

impl<N: Network> Connections<N> {
    /// An exchange fails here and now.
    pub(crate) fn fail_now(&mut self, id: ExchangeId, cause: &Cause<'_>, back_off: bool) {
        self.fail_with(id, cause, None, back_off);
    }

    /// The same; `came` is what came of its response.
    pub(crate) fn fail_with(&mut self, id: ExchangeId, cause: &Cause<'_>, came: Option<&[u8]>, back_off: bool) {
        let x = self.flights.take(id);
        self.books.over(&x, self.stamp, false);
        self.books.code(&x, cause.code);
        self.failed(&x, id, cause, came);
        self.flights.forget(&x, id);
        let fault = Some(cause.sort.kind);
        let news = News::Ended { code: cause.code, fault, on_failure: x.on_failure() };
        self.outcomes.push(Outcome::Over(Over { name: x.name, back_off, ..Over::of(x.user, news) }));
    }

    /// Counts a failure and keeps the first example of its sort.
    pub(crate) fn failed(&mut self, x: &Exchange, id: ExchangeId, cause: &Cause<'_>, excerpt: Option<&[u8]>) {
        self.books.failed(x, cause.sort, &self.limits, self.stamp);
        self.traced(x, id, traces::Outcome { code: cause.code, failed: Some(cause.sort) });
        if !x.warmup {
            self.keep_example(cause, Some((x, id)), excerpt);
        }
    }

    /// A session refuses what it was thought to have room for: nothing leaves, and nothing counts as sent. Without room and
    /// without anything in flight its connection is over.
    #[cold]
    pub(crate) fn not_taken(&mut self, id: ExchangeId, conn: u32) {
        self.flights.get(id).state = Standing::Connecting;
        let c = self.links.conn(conn);
        let (origin, idle) = (c.origin, c.in_flight == 0);
        let words = c.session.as_ref().and_then(|session| session.goodbye()).map(cause::Cause::from);
        self.pools.get_mut(origin).unmake_idle(self.links.conns_mut(), conn);
        if idle {
            self.retire(conn);
        }
        let cause = Cause::new(FaultKind::Closed, Phase::FirstByte).saying(words.as_ref());
        self.fail_now(id, &cause, true);
        self.nobody_answers(origin, &cause.in_phase(Phase::Wait));
    }

    /// A connection that no request waits for did not come to stand: no request fails, but it does not go unseen.
    pub(crate) fn connection_failed(&mut self, cause: &Cause<'_>) {
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

    /// Keeps an example of a failure, where one of its kind is wanted; `of`: the request that failed.
    pub(crate) fn keep_example(
        &mut self,
        cause: &Cause<'_>,
        of: Option<(&Exchange, ExchangeId)>,
        excerpt: Option<&[u8]>,
    ) {
        let Cause { sort, code, why } = *cause;
        if excerpt.is_some() && self.examples.seen_enough(sort.kind) {
            self.links.done().example_kept(sort.kind);
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

    /// What it waited for in vain, where messages came that were others.
    fn awaited_of(&self, x: &Exchange, id: ExchangeId) -> Option<cause::Cause> {
        let request = self.flights.request(&*self.dialogue, x, id).filter(|_| x.state == Standing::InFlight)?;
        Some(cause::reaching::none_like(self.dialogue.awaited(request)?))
    }

    /// A request is over: its trace is kept where it is among the slowest.
    #[inline]
    pub(crate) fn traced(&mut self, x: &Exchange, id: ExchangeId, outcome: traces::Outcome) {
        if self.books.traces()
            && !x.warmup
            && let Some(trace) = self.trace_of(x, id)
        {
            self.books.traced(x, trace, outcome, self.stamp);
        }
    }

    /// The trace that it belongs to; None where it was never sent.
    fn trace_of(&self, x: &Exchange, id: ExchangeId) -> Option<Trace> {
        if x.state != Standing::InFlight {
            return None;
        }
        let request = self.flights.request(&*self.dialogue, x, id)?;
        let fill = self.flights.filled(x, id);
        let unsaid = || self.dialogue.says_no_trace(request).then(|| self.books.unsaid(&fill)).flatten();
        self.dialogue.trace(request, &fill).or_else(unsaid)
    }

    /// What was sent: the same bytes, made again from what they were made of.
    fn sent_of(&mut self, x: &Exchange, id: ExchangeId) -> Vec<u8> {
        let Some(request) = self.flights.request(&*self.dialogue, x, id) else { return Vec::new() };
        if let Some(memories) = &mut self.memories {
            let memory = memories.of(x.user);
            let fill = Fill { values: &memory.values, ..self.flights.filled(x, id) };
            return self.dialogue.sent_with(request, &fill, Some(memory));
        }
        if !self.flights.fills() || x.request == NONE {
            return self.dialogue.sent(request);
        }
        self.dialogue.sent_with(request, &self.flights.filled(x, id), None)
    }
}
