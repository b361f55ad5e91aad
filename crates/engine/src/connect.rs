//! The life of a worker's connections: opened, shaken hands on, lost, let go.

use measure::Nanos;
use wire::{ConnId, Dial, Dialogue, Ended, Errno, Event, ExchangeId, FaultKind, Network, Origin, Phase, Session};

use crate::exchange::{NONE, Standing};
use crate::greeting::{CLOSED_IN_HANDSHAKE, CLOSED_IN_TUNNEL};
use crate::pool::{Conn, Pool, Stage};
use crate::tally::Sort;
use crate::worker::Worker;

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

/// What is wrong with an answer that ends with a TLS connection which was closed without close_notify.
pub(crate) const CUT: &str =
    "the answer ends with its TLS connection, which was closed without close_notify: nobody knows whether it is whole";

/// Answers that would end well with their connection do not where it was cut off (RFC 8446 6.1, RFC 9112 9.8).
pub(crate) fn fail_cut<R>(events: &mut [Event<R>], came: Box<[u8]>) {
    for event in events {
        if let Event::Ended(ended @ Ended { fault: None, .. }) = event {
            (ended.fault, ended.follow, ended.why) = (Some(FaultKind::Closed), None, CUT.into());
            ended.excerpt = Some(came.clone()).filter(|came| !came.is_empty());
        }
    }
}

impl<N: Network, D: Dialogue> Worker<N, D> {
    /// The pool of an origin, new where a redirect leads somewhere new.
    pub fn pool_of(&mut self, origin: &Origin) -> u32 {
        if let Some(known) = self.pools.iter().position(|p| p.origin == *origin) {
            return known as u32;
        }
        self.pools.push(Pool::new(origin.clone(), Vec::new(), self.limits.index as usize));
        (self.pools.len() - 1) as u32
    }

    /// No idle connection: open one for this exchange (closed load, one exchange a connection), or wait for the first to
    /// become free while the pool grows (open load).
    pub fn open_for(&mut self, id: ExchangeId, origin: u32) {
        let at_limit = self.limits.open && self.connections >= self.limits.max_connections;
        if self.pools[origin as usize].places.is_empty() || at_limit || self.is_pooled() {
            self.tally.counts.limited += u64::from(at_limit && !self.exchanges.get(id).warmup);
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
            self.timeouts.watch(id.0, x.intended + self.limits.timeout);
        }
    }

    /// Opens a connection that belongs to one exchange: its start is now, and service includes the opening.
    /// `ready` is when a connection was permitted: what came before is the bound's fault, what comes after ours.
    fn dial_for(&mut self, id: ExchangeId, origin: u32, ready: Nanos) {
        // What was done since the last reading (closing the connection before this one) is no part of this request.
        self.mark();
        let now = self.stamp;
        let x = self.exchanges.get(id);
        x.state = Standing::Connecting;
        if x.resent == 0 {
            x.started = now;
            self.in_flight.start(now);
        }
        if self.limits.open && !x.warmup && x.resent == 0 {
            let (wait, late) = x.blame(ready);
            self.tally.latency.wait_conn.record(wait);
            self.tally.latency.gen_late.record(late);
        }
        if !x.watched {
            x.watched = true;
            self.timeouts.watch(id.0, now + self.limits.timeout);
        }
        match self.dial(origin) {
            Ok(conn) => {
                self.conns[conn as usize].last = id.0;
                self.exchanges.get(id).conn = conn;
            }
            Err(errno) => {
                self.tally.counts.connections.failed += 1;
                self.fail_now(id, kind_of(Some(errno)), Phase::Connect, Some(errno), "", true);
            }
        }
    }

    /// Begins to connect. The caller has just read the clock: the call itself may take longer than what is left after it.
    pub fn dial(&mut self, origin: u32) -> Result<u32, Errno> {
        let since = self.stamp;
        let source = self.limits.sources.get(self.next_source % self.limits.sources.len().max(1)).copied();
        self.next_source = self.next_source.wrapping_add(1);
        let to = self.pools[origin as usize].place().ok_or(Errno(libc::EADDRNOTAVAIL))?;
        let ConnId(conn) = self.net.connect(&Dial { to, source, once: self.limits.one_shot })?;
        while self.conns.len() <= conn as usize {
            self.conns.push(Conn::vacant());
            self.watched.push(false);
        }
        self.conns[conn as usize] = Conn { origin, stage: Stage::Connecting, since, ..Conn::vacant() };
        self.connections += 1;
        if !std::mem::replace(&mut self.watched[conn as usize], true) {
            self.connect_timeouts.watch(conn, since + self.limits.connect_timeout);
        }
        Ok(conn)
    }

    /// Opens what those who wait may use.
    pub fn grow(&mut self, origin: u32) {
        let p = origin as usize;
        if self.pools[p].places.is_empty() {
            return self.look_up(origin);
        }
        if self.limits.one_shot || (!self.limits.open && self.limits.shared == 1) {
            while self.connections < self.limits.max_connections || !self.limits.open {
                let Some(id) = self.pools[p].waiting.pop_front() else { return };
                let ready = self.stamp.max(self.exchanges.get(id).intended);
                self.dial_for(id, origin, ready);
            }
            return;
        }
        while (self.pools[p].opening as usize * self.limits.shared as usize) < self.pools[p].waiting.len() {
            if self.connections >= self.limits.max_connections && !self.spare_one(origin) {
                return;
            }
            let pool = &self.pools[p];
            if self.stamp < pool.setbacks.until || pool.opening >= pool.at_once {
                return;
            }
            self.mark();
            match self.dial(origin) {
                Ok(_) => self.pool_tries(origin),
                Err(errno) => {
                    self.tally.counts.connections.failed += 1;
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
        self.mark();
        let opened = self.dial(origin);
        match opened {
            Ok(_) => self.pool_tries(origin),
            Err(errno) => {
                self.tally.counts.connections.failed += 1;
                self.pool_set_back(origin);
                let (kind, phase) = self.not_dialled(origin, errno);
                self.connection_failed(Sort { kind, phase, errno: Some(errno.0) }, "");
            }
        }
        opened.is_ok()
    }

    /// Why a connection could not even be begun.
    pub fn not_dialled(&self, origin: u32, errno: Errno) -> (FaultKind, Phase) {
        match self.pools[origin as usize].places.is_empty() {
            true => (FaultKind::Resolve, Phase::Resolve),
            false => (kind_of(Some(errno)), Phase::Connect),
        }
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

    /// The peer closed, or the connection never stood.
    pub fn lost(&mut self, conn: u32, why: Option<Errno>) {
        // Where TLS is spoken its own word for the end comes first: without it anybody on the way may have cut the rest.
        let cut = self.conns[conn as usize].secure.is_some();
        self.ended_by_peer(conn, why, cut);
    }

    /// As [`Worker::lost`]; `cut`: what ends with the connection may not be whole.
    pub fn ended_by_peer(&mut self, conn: u32, why: Option<Errno>, cut: bool) {
        self.mark();
        self.see_refusal(conn, why);
        let c = &mut self.conns[conn as usize];
        if let (Stage::Open, None, Some(session)) = (c.stage, why, &mut c.session) {
            let wanted = cut && self.done.wants_example(FaultKind::Closed);
            let came: Box<[u8]> = if wanted { session.begun().into() } else { Box::default() };
            session.closed(&mut self.done);
            if cut {
                fail_cut(&mut self.done.events, came);
            }
            self.settle(conn, "");
        }
        let c = &self.conns[conn as usize];
        if c.stage == Stage::Connecting && c.secure.is_some() {
            return self.break_off(conn, FaultKind::Proxy, why, CLOSED_IN_TUNNEL);
        }
        let goodbye = match &c.session {
            Some(session) => session.farewell(),
            None if c.stage == Stage::Handshaking && why.is_none() => CLOSED_IN_HANDSHAKE.into(),
            None => "".into(),
        };
        self.break_off(conn, kind_of(why), why, &goodbye);
    }

    /// The connection is of no more use: what is on it fails.
    pub fn break_off(&mut self, conn: u32, kind: FaultKind, errno: Option<Errno>, detail: &str) {
        let c = &self.conns[conn as usize];
        let (stage, owner, origin, user) = (c.stage, c.last, c.origin, c.user);
        let idle_user = user != NONE && c.in_flight == 0;
        let in_vain = stage != Stage::Open || self.is_in_vain(conn, kind);
        if !in_vain && kind != FaultKind::Timeout {
            self.proved(conn);
        }
        let phase = match stage {
            Stage::Vacant => return,
            Stage::Connecting => Phase::Connect,
            Stage::Handshaking => Phase::Tls,
            Stage::Greeting => Phase::Greeting,
            Stage::Open => Phase::FirstByte,
        };
        self.tally.counts.heartbeats.missed += self.beat_unanswered(conn);
        let sort = Sort { kind, phase, errno: errno.map(|e| e.0) };
        if matches!(stage, Stage::Greeting | Stage::Open) {
            let session = self.conns[conn as usize].session.as_ref();
            self.refused_with = session.map_or(0, |session| session.refusal_code());
        }
        if stage == Stage::Open {
            self.fail_what_is_on(conn, sort, detail, in_vain);
            if in_vain {
                self.pool_set_back(origin);
                self.nobody_answers(origin, Sort { phase: Phase::Wait, ..sort }, detail);
            }
        } else {
            self.tally.counts.connections.failed += 1;
            if stage == Stage::Greeting {
                self.keep_greeting(conn, sort, detail);
            }
            self.discard(conn, true);
            self.consider_lookup(origin);
            if owner == NONE && user != NONE && self.users_speak() {
                return self.could_not_be_said(user, kind, phase, errno, detail);
            }
            if owner == NONE {
                self.growth_failed(origin, kind, phase, errno, detail);
            } else {
                self.fail_now(ExchangeId(owner), kind, phase, errno, detail, true);
            }
        }
        self.refused_with = 0;
        if idle_user {
            self.user_lost_connection(user, stage == Stage::Open, in_vain);
        }
        self.grow(origin);
        self.grow_others(origin);
        self.go_on_without();
    }

    /// Lets go of a connection that stood: what is on it fails.
    fn fail_what_is_on(&mut self, conn: u32, sort: Sort, detail: &str, in_vain: bool) {
        let c = &self.conns[conn as usize];
        let on_it = match c.in_flight {
            0 => Vec::new(),
            // Of several that shared the connection, the last one submitted need not be the one left.
            1 if self.exchanges.get(ExchangeId(c.last)).is_on(conn) => vec![ExchangeId(c.last)],
            _ => self.exchanges.on(conn),
        };
        let came = match &c.session {
            Some(session) if self.done.wants_example(sort.kind) => session.begun().to_vec(),
            _ => Vec::new(),
        };
        // Elsewhere connections come and go: a keep-alive that the peer ends is no loss.
        let wanted = self.is_wanted(conn);
        if wanted {
            self.count_loss(conn, sort.kind, sort.errno.map(Errno), detail);
        }
        if on_it.is_empty() && wanted {
            self.keep_example(Sort { phase: Phase::Hold, ..sort }, None, detail, Some(&came));
        }
        // What the peer closed in order is closed in order; the rest of a broken conversation is cut off.
        self.discard(conn, sort.kind != FaultKind::Closed);
        for id in on_it {
            let begun = self.exchanges.get(id).first_byte != Nanos::ZERO;
            let phase = if begun { Phase::Transfer } else { sort.phase };
            let x = self.take_out(id);
            let came = Some(&came[..]).filter(|came| !came.is_empty());
            if !x.warmup {
                self.tally.code(x.name, self.refused_with);
            }
            self.failed(&x, id, Sort { phase, ..sort }, self.refused_with, detail, came);
            self.user_after(&x, id, in_vain);
        }
    }

    /// A connection nobody owned did not come to stand: those who wait go on waiting where others live; else the oldest
    /// fails. With the last attempt that was under way all of them do: nobody is left whom they could wait for.
    fn growth_failed(&mut self, origin: u32, kind: FaultKind, phase: Phase, errno: Option<Errno>, detail: &str) {
        self.pool_set_back(origin);
        self.opened_ahead_or_failed();
        let sort = Sort { kind, phase, errno: errno.map(|e| e.0) };
        let pool = &mut self.pools[origin as usize];
        let oldest = if pool.alive == 0 { pool.waiting.pop_front() } else { None };
        match oldest {
            Some(id) => self.fail_now(id, kind, phase, errno, detail, true),
            None => self.connection_failed(sort, detail),
        }
        self.nobody_answers(origin, sort, detail);
    }

    /// Where no connection lives and none is on its way, those who wait for one fail as the last one did.
    pub fn nobody_answers(&mut self, origin: u32, sort: Sort, detail: &str) {
        let pool = &self.pools[origin as usize];
        if self.is_pooled() && pool.alive + pool.opening == 0 {
            for id in std::mem::take(&mut self.pools[origin as usize].waiting) {
                self.fail_now(id, sort.kind, sort.phase, sort.errno.map(Errno), detail, true);
            }
        }
    }

    /// An address that could not be used is looked up again.
    pub fn look_up_after_failure(&mut self, origin: u32) {
        self.consider_lookup(origin);
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
        if self.limits.open && !self.pools[origin as usize].waiting.is_empty() {
            self.grow(origin);
        }
        self.grow_others(origin);
    }

    pub fn say_goodbye(&mut self, conn: u32) {
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
        if self.pools.len() < 2 || !self.limits.open || self.connections + 1 < self.limits.max_connections {
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
        self.tally.counts.heartbeats.open += self.beat_unanswered(conn);
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
        self.one_way.forget(conn);
        if abort { self.net.abort(ConnId(conn)) } else { self.net.close(ConnId(conn)) }
    }
}
