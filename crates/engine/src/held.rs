//! Connections that are part of the plan (WebSocket, `--hold`): each user opens its own first, says what it has to say, and
//! with `--hold` keeps it until so long after the last connection of the run stands.

use std::sync::Arc;

use measure::Nanos;
use scenario::Mix;
use wire::{Dialogue, Errno, FaultKind, Network, Phase, Session};

use crate::barrier::Barrier;
use crate::exchange::NONE;
use crate::tally::Sort;
use crate::worker::{Next, Worker};

/// Connections that one run has on their way at a time: what a usual listen queue takes (net.core.somaxconn is 4096).
const COMING: u32 = 1024;
/// Whoever may not connect yet, because too many do, asks again after so long.
const TURN: Nanos = Nanos::from_millis(100);
/// The fewest a worker has on their way.
const COMING_AT_LEAST: u32 = 8;

/// What one worker holds, and what it says on it.
#[derive(Debug)]
pub(crate) struct HeldConnections {
    /// For each origin: its requests, and the choice among them.
    said_to: Vec<(Vec<u32>, Mix)>,
    /// How long connections are kept after all stand; None: until the run ends otherwise.
    hold: Option<Nanos>,
    /// Most connections on their way.
    most_coming: u32,
    /// With `hold`: what each user has said so far.
    said: Vec<u32>,
    users: Vec<UserState>,
    /// Users that have come to hold, or could not.
    settled: u32,
    barrier: Arc<Barrier>,
    told: bool,
}

/// Where a user stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct UserState {
    /// Has said everything and keeps its connection.
    holds: bool,
    /// Has held, or failed to connect: nobody waits for it any more.
    settled: bool,
}

impl HeldConnections {
    pub fn new<D: Dialogue>(
        dialogue: &D,
        hold: Option<Nanos>,
        users: u32,
        of: u32,
        seed: u64,
        barrier: Arc<Barrier>,
    ) -> HeldConnections {
        let said_to = (0..dialogue.origins().len()).map(|origin| {
            let its = dialogue.requests().iter().enumerate().filter(|(_, r)| r.origin == origin);
            let (list, weights): (Vec<u32>, Vec<f64>) = its.map(|(i, r)| (i as u32, r.weight)).unzip();
            let mix = Mix::new(&weights, seed.wrapping_add(origin as u64));
            (list, mix)
        });
        HeldConnections {
            said_to: said_to.collect(),
            hold,
            most_coming: (COMING / of).max(COMING_AT_LEAST),
            said: vec![0; if hold.is_some() { users as usize } else { 0 }],
            users: vec![UserState::default(); users as usize],
            settled: 0,
            barrier,
            told: false,
        }
    }

    /// The next thing a user says on its connection to `origin`; None where it has said everything.
    fn next(&mut self, user: u32, origin: u32) -> Option<u32> {
        let (list, mix) = &mut self.said_to[origin as usize];
        if self.hold.is_none() {
            return list.get(mix.next()).copied();
        }
        let said = &mut self.said[user as usize];
        let next = list.get(*said as usize).copied();
        *said += u32::from(next.is_some());
        next
    }

    fn settle(&mut self, user: u32) {
        let stand = &mut self.users[user as usize];
        self.settled += u32::from(!std::mem::replace(&mut stand.settled, true));
    }
}

impl<N: Network, D: Dialogue> Worker<N, D> {
    /// True where another connection may be begun now.
    pub fn may_come(&self) -> bool {
        let coming: u32 = self.pools.iter().map(|p| p.opening).sum();
        self.held.as_ref().is_none_or(|h| coming < h.most_coming)
    }

    /// A user whose connection is its own: opened first, then used.
    pub fn user_sends_on_its_own(&mut self, user: u32) {
        let Some(conn) = self.crowd.as_ref().and_then(|c| c.conns.get(user as usize)).copied() else { return };
        if conn == NONE {
            return self.user_connects(user);
        }
        let origin = self.conns[conn as usize].origin;
        let silent = self.dialogue.silent();
        let Some(held) = &mut self.held else { return };
        let request = if silent { None } else { held.next(user, origin) };
        match request {
            Some(request) => {
                self.started += u64::from(self.stamp >= self.limits.window);
                self.arrive(self.stamp, request, user);
            }
            None => {
                held.users[user as usize].holds = true;
                held.settle(user);
            }
        }
    }

    fn user_connects(&mut self, user: u32) {
        if let Some(conn) = self.pools.iter().find_map(|pool| pool.idle.last().copied()) {
            // Opened ahead, for a common start.
            let origin = self.conns[conn as usize].origin as usize;
            self.pools[origin].unmake_idle(&mut self.conns, conn);
            self.own(user, conn);
            return self.user_goes_on_connected(user);
        }
        if !self.may_come() || !self.pace_allows() {
            // Many that were lost together come back as slowly as they came.
            return self.pauses.add(self.stamp + TURN, user);
        }
        let origin = self.origin_of_next(user);
        self.mark();
        match self.dial(origin) {
            Ok(conn) => {
                self.pools[origin as usize].opening += 1;
                self.own(user, conn);
            }
            Err(errno) => {
                self.tally.counts.connections.failed += 1;
                let (kind, phase) = self.not_dialled(origin, errno);
                self.look_up_after_failure(origin);
                if self.users_speak() {
                    return self.could_not_be_said(user, kind, phase, Some(errno), "");
                }
                self.connection_failed(Sort { kind, phase, errno: Some(errno.0) }, "");
                self.user_stays_without(user, true);
            }
        }
    }

    /// Where the next connection leads that is opened before it is known what is said on it; `nth`: its number.
    pub fn origin_of_next(&mut self, nth: u32) -> u32 {
        match self.dialogue.silent() {
            true => nth % self.dialogue.origins().len().max(1) as u32,
            false => self.dialogue.requests()[self.mix.next()].origin as u32,
        }
    }

    /// The peer takes nothing more on a connection that is idle now. One that is part of the plan is lost with it.
    pub fn retire(&mut self, conn: u32) {
        let user = self.conns[conn as usize].user;
        let lost = self.is_wanted(conn) && !self.closing;
        let in_vain = self.is_in_vain(conn, FaultKind::Closed);
        if in_vain {
            self.pool_set_back(self.conns[conn as usize].origin);
        }
        if lost {
            self.count_loss(conn, FaultKind::Closed, None, "");
            self.tally.counts.heartbeats.missed += self.beat_unanswered(conn);
            let sort = Sort { kind: FaultKind::Closed, phase: Phase::Hold, errno: None };
            let session = self.conns[conn as usize].session.as_ref();
            let words = session.map_or("", |session| session.goodbye());
            let came = session.map(|session| session.begun().to_vec()).filter(|came| !came.is_empty());
            self.keep_example(sort, None, words, came.as_deref());
        }
        self.let_go(conn);
        if lost && user != NONE {
            self.user_lost_connection(user, true, in_vain);
        }
    }

    /// True of a connection that is part of the plan. Nobody needs that of a user who is done: it is kept for a last look.
    pub fn is_wanted(&self, conn: u32) -> bool {
        let user = self.conns[conn as usize].user;
        let done = self.crowd.as_ref().is_some_and(|crowd| crowd.running.get(user as usize) == Some(&false));
        self.held.is_some() && !done
    }

    /// A connection that is part of the plan is lost: counted by what ended it. The peer's own words say more than ours.
    pub fn count_loss(&mut self, conn: u32, kind: FaultKind, errno: Option<Errno>, detail: &str) {
        let session = self.conns[conn as usize].session.as_ref();
        let words = session.map(|session| session.farewell()).filter(|words| !words.is_empty());
        self.tally.lost(kind, errno.map(|e| e.0), words.as_deref().unwrap_or(detail));
    }

    fn own(&mut self, user: u32, conn: u32) {
        self.conns[conn as usize].user = user;
        if let Some(crowd) = &mut self.crowd {
            crowd.conns[user as usize] = conn;
        }
    }

    /// The user's connection stands: what it says begins.
    pub fn user_goes_on_connected(&mut self, user: u32) {
        // At once: a pause is between messages, and one before the first would begin anew with each connection.
        self.user_sends(user);
        self.go_on_all();
    }

    /// The connection of a user who has nothing in flight is gone: it connects again, a little later where the connection was
    /// of no use.
    pub fn user_lost_connection(&mut self, user: u32, stood: bool, in_vain: bool) {
        if in_vain {
            self.user_set_back(user);
        }
        let Some(held) = &mut self.held else { return };
        // Who pauses finds out when it wakes.
        if stood && !std::mem::take(&mut held.users[user as usize].holds) {
            return;
        }
        self.user_stays_without(user, in_vain);
    }

    /// True where a user opens its connection to say something, again and again: then what it could not say is a request.
    pub fn users_speak(&self) -> bool {
        self.held.as_ref().is_some_and(|h| h.hold.is_none()) && !self.limits.open && !self.dialogue.silent()
    }

    /// The connection that a user was about to speak on did not come to stand: what it would have said has failed.
    pub fn could_not_be_said(&mut self, user: u32, kind: FaultKind, phase: Phase, errno: Option<Errno>, detail: &str) {
        if self.window_over() || self.quota_spent() {
            return self.user_ends(user);
        }
        self.started += u64::from(self.stamp >= self.limits.window);
        let id = self.new_exchange(self.stamp, 0, self.dialogue.names().of(0), user, 0);
        self.fail_now(id, kind, phase, errno, detail, true);
        self.refused_with = 0;
        self.go_on_without();
    }

    fn user_stays_without(&mut self, user: u32, back_off: bool) {
        if let Some(held) = &mut self.held {
            held.settle(user);
        }
        self.next.push(Next { user, name: 0, hops: 0, follow: None, back_off });
    }

    /// With `--hold`: once every worker's users hold (or failed to), the end of the run is known.
    pub fn await_hold(&mut self) {
        let (Some(held), Some(crowd)) = (&mut self.held, &self.crowd) else { return };
        let Some(hold) = held.hold.filter(|_| self.limits.end.is_none() && crowd.begun) else { return };
        if !held.told && crowd.starting.is_empty() && held.settled == crowd.alive {
            held.told = true;
            held.barrier.ready(self.stamp);
        }
        if let Some(go) = held.barrier.starts_at() {
            // Processes connect before the start of the run, which is a little ahead: held is held from then.
            let end = go.max(self.limits.window) + hold;
            self.limits.end = Some(end);
            self.second_to = self.second_to.min(end);
        }
    }

    /// Users who only hold have nothing to wait for at the end.
    pub fn let_holders_go(&mut self) {
        let Some(held) = &mut self.held else { return };
        let holders: Vec<u32> =
            (0..held.users.len() as u32).filter(|u| std::mem::take(&mut held.users[*u as usize].holds)).collect();
        for user in holders {
            self.user_ends(user);
        }
    }

    /// With a rate over a fixed number of connections: one that was lost is opened again.
    pub fn replace_lost(&mut self) {
        let all = self.closing || self.common_start.is_some() || self.connections >= self.limits.max_connections;
        if self.held.is_none() || !self.limits.open || all {
            return;
        }
        let origin = self.origin_of_next(0);
        let pool = &self.pools[origin as usize];
        let may = self.stamp >= pool.setbacks.until && pool.opening < pool.at_once;
        if may && self.may_come() && self.pace_allows() {
            self.open_ahead(origin);
        }
    }
}
