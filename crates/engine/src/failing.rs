//! Failures as data: counted by sort, their first example kept, their users going on.

use std::collections::HashSet;

use wire::{Dialogue, Errno, ExchangeId, FaultKind, Network, Phase, Session};

use crate::exchange::{Exchange, NONE, REUSED, Standing};
use crate::message::{Message, RawExample};
use crate::tally::Sort;
use crate::worker::{Next, Worker};

/// So many examples are kept beyond the first of each sort, one of each name, sort and status.
pub(crate) const EXAMPLES_BY_NAME: usize = 256;
/// Failures of a kind that a session is asked to attach what came back to, where the run has several names.
const EXCERPTS: u32 = 1000;

/// Which failures an example was kept of.
#[derive(Debug, Default)]
pub(crate) struct Kept {
    /// The run has several names.
    by_name: bool,
    sorts: Vec<Sort>,
    named: HashSet<(u16, u32, Sort)>,
    excerpts: [u32; FaultKind::ALL.len()],
}

impl Kept {
    /// Of a run with so many names.
    pub fn of(names: usize) -> Kept {
        Kept { by_name: names > 1, ..Kept::default() }
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

impl<N: Network, D: Dialogue> Worker<N, D> {
    /// An exchange fails here and now.
    pub fn fail_now(
        &mut self,
        id: ExchangeId,
        kind: FaultKind,
        phase: Phase,
        errno: Option<Errno>,
        detail: &str,
        back_off: bool,
    ) {
        let x = self.take_out(id);
        // With one refusal all those fail who had nobody else to wait for.
        let code = self.refused_with;
        if !x.warmup {
            self.tally.code(x.name, code);
        }
        let sort = Sort { kind, phase, errno: errno.map(|e| e.0) };
        self.failed(&x, id, sort, code, detail, None);
        self.user_after(&x, id, back_off);
    }

    /// A session refuses what it was thought to have room for: nothing leaves, and nothing counts as sent. Without room and
    /// without anything in flight its connection is over.
    #[cold]
    pub fn not_taken(&mut self, id: ExchangeId, conn: u32) {
        self.exchanges.get(id).state = Standing::Connecting;
        let c = &self.conns[conn as usize];
        let (origin, idle) = (c.origin as usize, c.in_flight == 0);
        let words = c.session.as_ref().map_or("", |session| session.goodbye());
        self.pools[origin].unmake_idle(&mut self.conns, conn);
        if idle {
            self.retire(conn);
        }
        self.fail_now(id, FaultKind::Closed, Phase::FirstByte, None, words, true);
        self.nobody_answers(origin as u32, Sort { kind: FaultKind::Closed, phase: Phase::Wait, errno: None }, words);
        self.go_on_without();
    }

    pub fn take_out(&mut self, id: ExchangeId) -> Exchange {
        let x = self.exchanges.remove(id);
        self.over_with(&x, false);
        x
    }

    /// A failed exchange is forgotten, and its user goes on.
    pub fn user_after(&mut self, x: &Exchange, id: ExchangeId, back_off: bool) {
        self.follows.remove(&id.0);
        if x.user != NONE {
            self.next.push(Next { user: x.user, name: x.name, hops: 0, follow: None, back_off });
        }
    }

    /// Counts a failure and keeps the first example of its sort.
    pub fn failed(
        &mut self,
        x: &Exchange,
        id: ExchangeId,
        sort: Sort,
        code: u32,
        detail: &str,
        excerpt: Option<&[u8]>,
    ) {
        if let Some(early) = &mut self.early {
            early.failed(sort);
        }
        if sort.kind == FaultKind::Timeout {
            self.unanswered(x);
        }
        if x.warmup {
            return;
        }
        let now = self.stamp;
        self.tally.failure(x.name, sort);
        let sent = x.state != Standing::Waiting;
        let since = if self.limits.open || !sent { x.intended } else { x.started };
        let latency = &mut self.tally.latency;
        latency.failed.record(now - since);
        if sort.kind.is_answer() && sort.phase != Phase::Greeting {
            latency.failed_responses.record(now - since);
        }
        if sort.kind == FaultKind::Timeout {
            if self.limits.open {
                latency.response_at_least.record(now - x.intended);
            }
            if sent {
                latency.service_at_least.record(now - x.started);
            } else {
                latency.wait_conn_at_least.record(now - x.intended);
            }
            self.bound_by_name(x);
        }
        self.keep_example(sort, Some((x, id, code)), detail, excerpt);
    }

    /// One that did not finish ranks last among those of its name, too.
    pub fn bound_by_name(&mut self, x: &Exchange) {
        let Some(named) = &mut self.tally.named else { return };
        if self.limits.open {
            named.at_least(x.name, self.stamp - x.intended);
        } else if x.state != Standing::Waiting {
            named.at_least(x.name, self.stamp - x.started);
        }
    }

    /// A connection that no request waits for did not come to stand: no request fails, but it does not go unseen.
    pub fn connection_failed(&mut self, sort: Sort, detail: &str) {
        if let Some(early) = &mut self.early {
            early.failed(sort);
        }
        let code = Some(self.refused_with).filter(|code| *code > 0).map(|code| self.dialogue.code_name(code));
        match code.filter(|code| !detail.contains(code)) {
            Some(code) => self.tally.not_opened(sort, &format!("{code} · {detail}")),
            None => self.tally.not_opened(sort, detail),
        }
        self.keep_example(sort, None, detail, None);
    }

    /// What a peer said that turned us away.
    pub fn keep_greeting(&mut self, conn: u32, sort: Sort, detail: &str) {
        let came = self.conns[conn as usize].session.as_ref().map(|session| session.begun().to_vec());
        let came = came.filter(|came| !came.is_empty());
        self.keep_example(sort, None, detail, came.as_deref());
    }

    pub fn keep_example(
        &mut self,
        sort: Sort,
        of: Option<(&Exchange, ExchangeId, u32)>,
        detail: &str,
        excerpt: Option<&[u8]>,
    ) {
        if excerpt.is_some() && self.kept.seen_enough(sort.kind) {
            self.done.example_kept(sort.kind);
        }
        if !self.kept.is_new(sort, of.map(|(x, _, code)| (x.name, code))) {
            return;
        }
        let sent = match of {
            Some((x, id, _)) if x.state == Standing::InFlight => self.sent_of(x, id),
            _ => Vec::new(),
        };
        let reused = of.is_some_and(|(x, ..)| x.marks & REUSED != 0);
        let name = of.filter(|_| self.tally.named.is_some()).map(|(x, ..)| x.name);
        let code = of.map_or(0, |(.., code)| code);
        let at_ns = self.stamp.0 as i64 - self.limits.window.0 as i64;
        let received = excerpt.unwrap_or_default().to_vec();
        let detail = detail.to_owned();
        (self.report)(Message::Example(RawExample { sort, name, code, at_ns, detail, sent, received, reused }));
    }

    /// What was sent: the same bytes, made again from what they were made of.
    fn sent_of(&self, x: &Exchange, id: ExchangeId) -> Vec<u8> {
        let prepared = self.dialogue.requests().get(x.request as usize).map(|prepared| &prepared.request);
        let Some(request) = prepared.or_else(|| self.follows.get(&id.0)) else { return Vec::new() };
        if !D::Session::SLOTS || !self.serial.fills || x.request == NONE {
            return self.dialogue.sent(request);
        }
        self.dialogue.sent_with(request, &self.serial.again(x.serial, x.user, x.written))
    }
}
