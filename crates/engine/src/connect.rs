//! The life of a worker's connections: opened, shaken hands on, lost, let go.

use measure::Nanos;
use wire::{
    Broken, ConnId, Dial, Dialogue, Errno, Established, ExchangeId, FaultKind, Fed, Network, Origin, Phase, Session,
};

use crate::exchange::{Exchange, NONE, Standing};
use crate::message::{Message, RawExample};
use crate::pool::{Conn, Pool, Stage};
use crate::tally::Sort;
use crate::worker::{Next, Worker};

/// No growth of a pool for so long after an attempt failed while others live.
const GROWTH_PAUSE: Nanos = Nanos::from_millis(10);
/// Addresses are looked up again at most so often.
const LOOKUP_PAUSE: Nanos = Nanos::from_secs(1);

/// The kind of failure an errno means.
pub(crate) fn kind_of(errno: Option<Errno>) -> FaultKind {
    match errno.map(|e| e.0) {
        None => FaultKind::Closed,
        Some(libc::ECONNREFUSED | libc::ENOENT) => FaultKind::Refused,
        Some(libc::EHOSTUNREACH | libc::ENETUNREACH) => FaultKind::Unreachable,
        Some(libc::EADDRNOTAVAIL) => FaultKind::NoPorts,
        Some(libc::EMFILE | libc::ENFILE) => FaultKind::NoDescriptors,
        Some(libc::ECONNRESET | libc::EPIPE | libc::ECONNABORTED) => FaultKind::Reset,
        Some(libc::ETIMEDOUT) => FaultKind::Timeout,
        Some(_) => FaultKind::Io,
    }
}

impl<N: Network, D: Dialogue> Worker<N, D> {
    /// The pool of an origin, new where a redirect leads somewhere new.
    pub fn pool_of(&mut self, origin: &Origin) -> u32 {
        if let Some(known) = self.pools.iter().position(|p| p.origin == *origin) {
            return known as u32;
        }
        self.pools.push(Pool::new(origin.clone(), Vec::new(), self.terms.index as usize));
        (self.pools.len() - 1) as u32
    }

    /// No idle connection: open one for this exchange (closed load, one exchange a connection), or wait for the first to
    /// become free while the pool grows (open load).
    pub fn open_for(&mut self, id: ExchangeId, origin: u32) {
        let at_limit = self.terms.open && self.connections >= self.terms.max_connections;
        let pool = &self.pools[origin as usize];
        if pool.places.is_empty() || at_limit || (self.terms.open && !self.terms.one_shot) {
            self.watch_waiting(id);
            self.pools[origin as usize].waiting.push_back(id);
            return self.grow(origin);
        }
        let ready = self.exchanges.get(id).intended;
        self.dial_for(id, origin, ready);
    }

    fn watch_waiting(&mut self, id: ExchangeId) {
        let x = self.exchanges.get(id);
        if !x.watched {
            x.watched = true;
            self.timeouts.watch(id.0, x.intended + self.terms.timeout);
        }
    }

    /// Opens a connection that belongs to one exchange: its start is now, and service includes the opening.
    /// `ready` is when a connection was permitted: what came before is the bound's fault, what comes after ours.
    fn dial_for(&mut self, id: ExchangeId, origin: u32, ready: Nanos) {
        let now = self.stamp;
        let x = self.exchanges.get(id);
        (x.state, x.started) = (Standing::Connecting, now);
        self.in_flight.start(now);
        if self.terms.open && !x.warmup {
            let (wait, late) = x.blame(ready);
            self.tally.latency.wait_conn.record(wait);
            self.tally.latency.gen_late.record(late);
        }
        if !x.watched {
            x.watched = true;
            self.timeouts.watch(id.0, now + self.terms.timeout);
        }
        match self.dial(origin) {
            Ok(conn) => {
                self.conns[conn as usize].last = id.0;
                self.exchanges.get(id).conn = conn;
            }
            Err(errno) => {
                self.tally.counts.connect_failed += 1;
                self.fail_now(id, kind_of(Some(errno)), Phase::Connect, Some(errno), "", true);
            }
        }
    }

    fn dial(&mut self, origin: u32) -> Result<u32, Errno> {
        let source = self.terms.sources.get(self.next_source % self.terms.sources.len().max(1)).copied();
        self.next_source = self.next_source.wrapping_add(1);
        let to = self.pools[origin as usize].place().ok_or(Errno(libc::EADDRNOTAVAIL))?;
        let ConnId(conn) = self.net.connect(&Dial { to, source, nodelay: !self.terms.one_shot })?;
        while self.conns.len() <= conn as usize {
            self.conns.push(Conn::vacant());
            self.watched.push(false);
        }
        let since = self.net.now();
        self.conns[conn as usize] = Conn { origin, stage: Stage::Connecting, since, ..Conn::vacant() };
        self.connections += 1;
        if !std::mem::replace(&mut self.watched[conn as usize], true) {
            self.connect_timeouts.watch(conn, since + self.terms.connect_timeout);
        }
        Ok(conn)
    }

    /// Opens what those who wait may use.
    pub fn grow(&mut self, origin: u32) {
        let p = origin as usize;
        if self.pools[p].places.is_empty() {
            return self.look_up(origin);
        }
        if self.terms.one_shot || !self.terms.open {
            while self.connections < self.terms.max_connections || !self.terms.open {
                let Some(id) = self.pools[p].waiting.pop_front() else { return };
                let ready = self.stamp.max(self.exchanges.get(id).intended);
                self.dial_for(id, origin, ready);
            }
            return;
        }
        while (self.pools[p].opening as usize) < self.pools[p].waiting.len() {
            if self.connections >= self.terms.max_connections && !self.spare_one(origin) {
                return;
            }
            let others = self.pools[p].alive + self.pools[p].opening;
            if others > 0 && self.stamp < self.pools[p].grow_after {
                return;
            }
            match self.dial(origin) {
                Ok(_) => self.pools[p].opening += 1,
                Err(errno) => {
                    self.tally.counts.connect_failed += 1;
                    self.growth_failed(origin, kind_of(Some(errno)), Phase::Connect, Some(errno), "");
                }
            }
        }
    }

    /// At the bound of connections: an idle one to another origin makes room.
    fn spare_one(&mut self, origin: u32) -> bool {
        let other = self.pools.iter().enumerate().find(|(i, p)| *i != origin as usize && !p.idle.is_empty());
        match other.and_then(|(_, p)| p.idle.first().copied()) {
            Some(conn) => {
                self.say_goodbye(conn);
                true
            }
            None => false,
        }
    }

    /// Opens a connection that belongs to nobody yet.
    pub fn open_ahead(&mut self, origin: u32) -> bool {
        let opened = self.dial(origin).is_ok();
        if opened {
            self.pools[origin as usize].opening += 1;
        } else {
            self.tally.counts.connect_failed += 1;
        }
        opened
    }

    fn look_up(&mut self, origin: u32) {
        let pool = &mut self.pools[origin as usize];
        if pool.unknown.is_some() && self.stamp < pool.looked_up + LOOKUP_PAUSE {
            return self.fail_unknown(origin);
        }
        if !std::mem::replace(&mut pool.looking_up, true) {
            pool.looked_up = self.stamp;
            self.lookups.ask(origin, &pool.origin);
        }
    }

    /// Nobody knows the way: those who wait for it fail.
    fn fail_unknown(&mut self, origin: u32) {
        let pool = &mut self.pools[origin as usize];
        let why = pool.unknown.clone().unwrap_or_default();
        for id in std::mem::take(&mut pool.waiting) {
            self.fail_now(id, FaultKind::Resolve, Phase::Resolve, None, &why, true);
        }
    }

    /// Answers of look-ups.
    pub fn looked_up(&mut self) {
        while let Some((origin, found)) = self.lookups.found() {
            let pool = &mut self.pools[origin as usize];
            pool.looking_up = false;
            match found {
                Ok(places) => {
                    (pool.places, pool.unknown) = (places, None);
                    self.grow(origin);
                }
                Err(why) if pool.places.is_empty() => {
                    pool.unknown = Some(why);
                    self.fail_unknown(origin);
                }
                Err(_) => {}
            }
            self.go_on_without();
        }
    }

    /// The connection stands.
    pub fn connected(&mut self, conn: u32) {
        self.mark();
        let c = &mut self.conns[conn as usize];
        self.tally.latency.connect.record(self.stamp - c.since);
        c.since = self.stamp;
        let origin = &self.pools[c.origin as usize].origin;
        if !origin.tls {
            return self.ready(conn, Established::default());
        }
        c.stage = Stage::Handshaking;
        match self.security.client(origin, self.dialogue.alpn()) {
            Ok(mut channel) => {
                channel.start(&mut self.cipher);
                self.net.send(ConnId(conn), &mut self.cipher);
                c.secure = Some(channel);
            }
            Err(why) => self.break_off(conn, FaultKind::Tls, None, &why),
        }
    }

    /// Bytes went through TLS: what the session made of the plaintext; None where the connection is gone.
    pub fn fed(&mut self, conn: u32, fed: Result<Fed, String>) -> Option<Result<(), Broken>> {
        self.net.send(ConnId(conn), &mut self.cipher);
        match fed {
            Err(why) => {
                self.break_off(conn, FaultKind::Tls, None, &why);
                return None;
            }
            Ok(Fed::Established) => self.shaken_hands(conn),
            Ok(Fed::More | Fed::Ended) => {}
        }
        let ended = matches!(fed, Ok(Fed::Ended));
        let c = &mut self.conns[conn as usize];
        let mut read = Ok(());
        if let (Some(session), false) = (&mut c.session, self.plain.is_empty()) {
            self.out_for = conn;
            read = session.receive(&self.plain, &mut self.out, &mut self.done);
        }
        if ended && read.is_ok() {
            self.settle(conn, "");
            self.lost(conn, None);
            return None;
        }
        (self.conns[conn as usize].stage == Stage::Open).then_some(read)
    }

    fn shaken_hands(&mut self, conn: u32) {
        let c = &mut self.conns[conn as usize];
        self.tally.latency.tls.record(self.stamp - c.since);
        let settled = c.secure.as_ref().and_then(|s| s.handshake()).unwrap_or_default();
        self.tally.counts.handshakes += 1;
        self.tally.counts.resumed += u64::from(settled.resumed);
        let plain = std::mem::take(&mut self.plain);
        self.ready(conn, Established { alpn: settled.alpn, tls: true });
        self.plain = plain;
    }

    /// Connected and, where TLS is spoken, shaken hands: the conversation begins.
    fn ready(&mut self, conn: u32, established: Established) {
        let mut session = self.dialogue.session(&established);
        self.aim(conn);
        session.open(&mut self.out);
        let c = &mut self.conns[conn as usize];
        (c.session, c.stage, c.free_since) = (Some(session), Stage::Open, self.stamp);
        let (owner, origin) = (c.last, c.origin as usize);
        self.tally.counts.opened += 1;
        self.pools[origin].alive += 1;
        if owner == NONE {
            self.pools[origin].opening -= 1;
            self.gathered();
            self.offer(conn);
        } else {
            let id = ExchangeId(owner);
            let (ready, user) = (self.exchanges.get(id).started, self.exchanges.get(id).user);
            self.give_connection(user, conn);
            self.submit(id, conn, ready);
        }
        self.flush();
    }

    /// The peer closed, or the connection never stood.
    pub fn lost(&mut self, conn: u32, why: Option<Errno>) {
        self.mark();
        let c = &mut self.conns[conn as usize];
        if let (Stage::Open, None, Some(session)) = (c.stage, why, &mut c.session) {
            session.closed(&mut self.done);
            self.settle(conn, "");
        }
        self.break_off(conn, kind_of(why), why, "");
    }

    /// The connection is of no more use: what is on it fails.
    pub fn break_off(&mut self, conn: u32, kind: FaultKind, errno: Option<Errno>, detail: &str) {
        let c = &self.conns[conn as usize];
        let (stage, owner, origin) = (c.stage, c.last, c.origin);
        let phase = match stage {
            Stage::Vacant => return,
            Stage::Connecting => Phase::Connect,
            Stage::Handshaking => Phase::Tls,
            Stage::Open => Phase::FirstByte,
        };
        if stage == Stage::Open {
            let on_it = match c.in_flight {
                0 => Vec::new(),
                1 => vec![ExchangeId(owner)],
                _ => self.exchanges.on(conn),
            };
            let came = match &c.session {
                Some(session) if self.done.wants_example(kind) => session.begun().to_vec(),
                _ => Vec::new(),
            };
            // What the peer closed in order is closed in order; the rest of a broken conversation is cut off.
            self.discard(conn, kind != FaultKind::Closed);
            for id in on_it {
                let begun = self.exchanges.get(id).first_byte != Nanos::ZERO;
                let phase = if begun { Phase::Transfer } else { phase };
                let x = self.take_out(id);
                let sort = Sort { kind, phase, errno: errno.map(|e| e.0) };
                let came = Some(&came[..]).filter(|came| !came.is_empty());
                self.failed(&x, id, sort, detail, came);
                self.user_after(&x, id, false);
            }
        } else {
            self.tally.counts.connect_failed += 1;
            self.discard(conn, true);
            self.consider_lookup(origin);
            if owner == NONE {
                self.growth_failed(origin, kind, phase, errno, detail);
            } else {
                self.fail_now(ExchangeId(owner), kind, phase, errno, detail, true);
            }
        }
        self.grow(origin);
        self.grow_others(origin);
        self.go_on_without();
    }

    /// A connection nobody owned did not come to stand: those who wait go on waiting where others live; else the oldest
    /// fails, so that one attempt answers for one request.
    fn growth_failed(&mut self, origin: u32, kind: FaultKind, phase: Phase, errno: Option<Errno>, detail: &str) {
        let pool = &mut self.pools[origin as usize];
        pool.grow_after = self.stamp + GROWTH_PAUSE;
        let alone = pool.alive == 0;
        let oldest = if alone { pool.waiting.pop_front() } else { None };
        self.gathered();
        if let Some(id) = oldest {
            self.fail_now(id, kind, phase, errno, detail, true);
        } else {
            let sort = Sort { kind, phase, errno: errno.map(|e| e.0) };
            self.keep_example(sort, None, detail, None);
        }
    }

    /// When connections fail, addresses are looked up again, at most once a second.
    fn consider_lookup(&mut self, origin: u32) {
        if self.stamp >= self.pools[origin as usize].looked_up + LOOKUP_PAUSE {
            self.look_up(origin);
        }
    }

    /// Closes in order: the session says goodbye first.
    pub fn let_go(&mut self, conn: u32) {
        let origin = self.conns[conn as usize].origin;
        self.say_goodbye(conn);
        if self.terms.open && !self.pools[origin as usize].waiting.is_empty() {
            self.grow(origin);
        }
        self.grow_others(origin);
    }

    fn say_goodbye(&mut self, conn: u32) {
        self.aim(conn);
        let c = &mut self.conns[conn as usize];
        if let Some(session) = &mut c.session {
            session.finish(&mut self.out);
        }
        self.flush();
        if let Some(channel) = &mut self.conns[conn as usize].secure {
            channel.finish(&mut self.cipher);
            self.net.send(ConnId(conn), &mut self.cipher);
        }
        self.discard(conn, false);
    }

    /// Near the bound of connections, what one origin has no use for serves those who wait for another.
    pub fn grow_others(&mut self, origin: u32) {
        if self.pools.len() < 2 || !self.terms.open || self.connections + 1 < self.terms.max_connections {
            return;
        }
        for other in 0..self.pools.len() {
            if other != origin as usize && !self.pools[other].waiting.is_empty() {
                self.grow(other as u32);
            }
        }
    }

    fn discard(&mut self, conn: u32, abort: bool) {
        if self.out_for == conn {
            self.out.clear();
            self.out_for = NONE;
        }
        let c = &self.conns[conn as usize];
        let (origin, stage, owner) = (c.origin as usize, c.stage, c.last);
        if let Some(had) = self.crowd.as_mut().and_then(|crowd| crowd.conns.get_mut(c.user as usize)) {
            *had = NONE;
        }
        self.pools[origin].unmake_idle(&mut self.conns, conn);
        match stage {
            Stage::Open => self.pools[origin].alive -= 1,
            _ if owner == NONE => self.pools[origin].opening -= 1,
            _ => {}
        }
        self.conns[conn as usize] = Conn::vacant();
        self.connections -= 1;
        if abort { self.net.abort(ConnId(conn)) } else { self.net.close(ConnId(conn)) }
    }

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
        let sort = Sort { kind, phase, errno: errno.map(|e| e.0) };
        self.failed(&x, id, sort, detail, None);
        self.user_after(&x, id, back_off);
    }

    fn take_out(&mut self, id: ExchangeId) -> Exchange {
        let x = self.exchanges.remove(id);
        self.over_with(&x, false);
        x
    }

    /// A failed exchange is forgotten, and its user goes on.
    fn user_after(&mut self, x: &Exchange, id: ExchangeId, back_off: bool) {
        self.follows.remove(&id.0);
        if x.user != NONE {
            self.next.push(Next { user: x.user, hops: 0, follow: None, back_off });
        }
    }

    /// Counts a failure and keeps the first example of its sort.
    pub fn failed(&mut self, x: &Exchange, id: ExchangeId, sort: Sort, detail: &str, excerpt: Option<&[u8]>) {
        if let Some(alarm) = &mut self.alarm {
            alarm.failed += 1;
            alarm.sort.get_or_insert(sort);
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

    fn keep_example(&mut self, sort: Sort, of: Option<(&Exchange, ExchangeId)>, detail: &str, excerpt: Option<&[u8]>) {
        if self.sorts.contains(&sort) {
            return;
        }
        self.sorts.push(sort);
        if excerpt.is_some() {
            self.done.example_kept(sort.kind);
        }
        let sent = match of {
            Some((x, id)) if x.state == Standing::InFlight => match self.dialogue.requests().get(x.request as usize) {
                Some(prepared) => self.dialogue.sent(&prepared.request),
                None => self.follows.get(&id.0).map(|r| self.dialogue.sent(r)).unwrap_or_default(),
            },
            _ => Vec::new(),
        };
        let received = excerpt.unwrap_or_default().to_vec();
        (self.tell)(Message::Example(RawExample { sort, detail: detail.to_owned(), sent, received }));
    }
}
