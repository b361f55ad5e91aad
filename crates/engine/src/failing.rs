//! Failures as data: counted by sort, their first example kept, their users going on.

use wire::{Dialogue, Errno, ExchangeId, FaultKind, Network, Phase, Session};

use crate::exchange::{Exchange, NONE, Standing};
use crate::message::{Message, RawExample};
use crate::tally::Sort;
use crate::worker::{Next, Worker};

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
            self.tally.code(code);
        }
        let sort = Sort { kind, phase, errno: errno.map(|e| e.0) };
        self.failed(&x, id, sort, detail, None);
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
            self.next.push(Next { user: x.user, hops: 0, follow: None, back_off });
        }
    }

    /// Counts a failure and keeps the first example of its sort.
    pub fn failed(&mut self, x: &Exchange, id: ExchangeId, sort: Sort, detail: &str, excerpt: Option<&[u8]>) {
        if let Some(alarm) = &mut self.alarm {
            alarm.failed(sort);
        }
        if sort.kind == FaultKind::Timeout {
            self.unanswered(x);
        }
        if x.warmup {
            return;
        }
        let now = self.stamp;
        self.tally.failure(sort);
        let sent = x.state != Standing::Waiting;
        let since = if self.terms.open || !sent { x.intended } else { x.started };
        let latency = &mut self.tally.latency;
        latency.failed.record(now - since);
        if sort.kind == FaultKind::Timeout {
            if self.terms.open {
                latency.response_at_least.record(now - x.intended);
            }
            if sent {
                latency.service_at_least.record(now - x.started);
            } else {
                latency.wait_conn_at_least.record(now - x.intended);
            }
        }
        self.keep_example(sort, Some((x, id)), detail, excerpt);
    }

    /// A connection that no request waits for did not come to stand: no request fails, but it does not go unseen.
    pub fn connection_failed(&mut self, sort: Sort, detail: &str) {
        if let Some(alarm) = &mut self.alarm {
            alarm.failed(sort);
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
        of: Option<(&Exchange, ExchangeId)>,
        detail: &str,
        excerpt: Option<&[u8]>,
    ) {
        if self.sorts.contains(&sort) {
            return;
        }
        self.sorts.push(sort);
        if excerpt.is_some() {
            self.done.example_kept(sort.kind);
        }
        let sent = match of {
            Some((x, id)) if x.state == Standing::InFlight => self.sent_of(x, id),
            _ => Vec::new(),
        };
        let reused = of.is_some_and(|(x, _)| x.reused);
        let received = excerpt.unwrap_or_default().to_vec();
        (self.tell)(Message::Example(RawExample { sort, detail: detail.to_owned(), sent, received, reused }));
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
