//! Connections that are part of the plan (WebSocket, `--hold`): each user opens its own first, says what it has to say, and
//! with `--hold` keeps it until so long after the last connection of the run stands.

use std::sync::Arc;

use measure::Nanos;
use scenario::News;
use wire::Network;

use crate::barrier::Barrier;

use super::failing::Cause;
use super::{Next, Worker};

/// Connections that one run has on their way at a time: what a usual listen queue takes (net.core.somaxconn is 4096).
const COMING: u32 = 1024;
/// The fewest a worker has on their way.
const COMING_AT_LEAST: u32 = 8;
/// Whoever may not connect yet, because too many do, asks again after so long.
const TURN: Nanos = Nanos::from_millis(100);

/// What one worker holds.
#[derive(Debug)]
pub(crate) struct HeldConnections {
    /// How long connections are kept after all stand; None: until the run ends otherwise.
    hold: Option<Nanos>,
    /// Most connections on their way.
    most_coming: u32,
    users: Vec<UserState>,
    /// Users that have come to hold, or could not.
    settled: u32,
    barrier: Arc<Barrier>,
    reported: bool,
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
    /// Of a worker among `of`; all workers wait for each other at `barrier`.
    pub fn new(hold: Option<Nanos>, of: u32, barrier: Arc<Barrier>) -> HeldConnections {
        let most_coming = (COMING / of).max(COMING_AT_LEAST);
        HeldConnections { hold, most_coming, users: Vec::new(), settled: 0, barrier, reported: false }
    }

    fn user(&mut self, user: u32) -> &mut UserState {
        if self.users.len() <= user as usize {
            self.users.resize(user as usize + 1, UserState::default());
        }
        &mut self.users[user as usize]
    }

    fn settle(&mut self, user: u32) {
        let settled = std::mem::replace(&mut self.user(user).settled, true);
        self.settled += u32::from(!settled);
    }

    /// Says that all of `users` have settled, once; the moment from which on all of the run hold, where it is known.
    fn all_hold(&mut self, users: u32, now: Nanos) -> Option<Nanos> {
        if self.settled == users && !std::mem::replace(&mut self.reported, true) {
            self.barrier.ready(now);
        }
        self.barrier.starts_at()
    }
}

impl<N: Network> Worker<N> {
    /// True where another connection may be begun now.
    pub(super) fn may_come(&self) -> bool {
        self.held.as_ref().is_none_or(|held| self.pools.opening() < held.most_coming)
    }

    /// A user has said everything, and keeps its connection.
    pub(super) fn user_holds(&mut self, user: u32) {
        match &mut self.held {
            Some(held) => {
                held.user(user).holds = true;
                held.settle(user);
            }
            // Nobody holds where connections are not part of the plan.
            None => self.user_ends(user),
        }
    }

    /// A user whose connection is its own opens it first.
    pub(super) fn user_connects(&mut self, user: u32) {
        if let Some(conn) = self.pools.all().iter().find_map(|pool| pool.idle.last().copied()) {
            // Opened ahead, for a common start.
            let origin = self.links.conn(conn).origin;
            self.pools.get_mut(origin).unmake_idle(self.links.conns_mut(), conn);
            self.own(user, conn);
            return self.user_goes_on_connected(user);
        }
        if !self.may_come() || !self.source.only().pace_allows(self.stamp) {
            // Many that were lost together come back as slowly as they came.
            return self.source.pause(user, self.stamp + TURN);
        }
        let origin = self.source.only().leads_to(user);
        self.mark();
        match self.dial(origin) {
            Ok(conn) => {
                self.pools.get_mut(origin).opening += 1;
                self.own(user, conn);
            }
            Err(errno) => {
                self.books.counts().connections.failed += 1;
                let cause = self.not_dialled(origin, errno);
                self.consider_lookup(origin);
                if self.users_speak() {
                    return self.could_not_be_said(user, &cause);
                }
                self.connection_failed(&cause);
                self.user_stays_without(user, true);
            }
        }
    }

    fn own(&mut self, user: u32, conn: u32) {
        self.links.conn_mut(conn).user = user;
        self.source.only().users().own(user, conn);
    }

    /// True of a connection that is part of the plan. Nobody needs that of a user who is done: it is kept for a final read.
    pub(super) fn is_wanted(&mut self, conn: u32) -> bool {
        let user = self.links.conn(conn).user;
        self.held.is_some() && !self.source.only().users().is_done(user)
    }

    /// A connection that is part of the plan is lost: counted by what ended it. The peer's own words say more than ours.
    pub(super) fn count_loss(&mut self, conn: u32, cause: &Cause<'_>) {
        let words = self.links.session(conn).map(|session| session.farewell()).filter(|words| !words.is_empty());
        let detail = words.as_deref().unwrap_or(cause.detail);
        self.books.connection_lost(cause.sort.kind, cause.sort.errno, detail);
    }

    /// The user's connection stands: what it says begins.
    pub(super) fn user_goes_on_connected(&mut self, user: u32) {
        // At once: a pause is between messages, and one before the first would begin anew with each connection.
        self.ask(user, self.stamp, News::Awake);
        self.go_on_all();
    }

    /// The connection of a user who has nothing in flight is gone: it connects again, a little later where the connection was
    /// of no use.
    pub(super) fn user_lost_connection(&mut self, user: u32, stood: bool, in_vain: bool) {
        if in_vain {
            self.user_set_back(user);
        }
        let Some(held) = &mut self.held else { return };
        // Who pauses finds out when it wakes.
        if stood && !std::mem::take(&mut held.user(user).holds) {
            return;
        }
        self.user_stays_without(user, in_vain);
    }

    /// True where a user opens its connection to say something, again and again: then what it could not say is a request.
    pub(super) fn users_speak(&self) -> bool {
        self.held.as_ref().is_some_and(|held| held.hold.is_none()) && !self.limits.open && !self.dialogue.silent()
    }

    /// The connection that a user was about to speak on did not come to stand: what it would have said has failed.
    pub(super) fn could_not_be_said(&mut self, user: u32, cause: &Cause<'_>) {
        if self.window_over() || self.source.only().quota_spent(&self.limits, self.stamp) {
            return self.user_ends(user);
        }
        self.source.only().start_request(&self.limits, self.stamp);
        let id = self.new_exchange(self.stamp, 0, self.dialogue.names().of(0), user, 0);
        self.fail_now(id, cause, true);
        self.go_on_without();
    }

    fn user_stays_without(&mut self, user: u32, back_off: bool) {
        if let Some(held) = &mut self.held {
            held.settle(user);
        }
        self.next.push(Next { user, name: 0, hops: 0, follow: None, within: Nanos::ZERO, news: News::Awake, back_off });
    }

    /// With `--hold`: once every worker's users hold (or failed to), the end of the run is known.
    pub(super) fn await_hold(&mut self) {
        let Some(held) = &mut self.held else { return };
        let users = self.source.only().users();
        let begun = self.limits.end.is_none() && users.have_all_begun();
        let Some(hold) = held.hold.filter(|_| begun) else { return };
        if let Some(go) = held.all_hold(users.alive(), self.stamp) {
            // Processes connect before the start of the run, which is a little ahead: held is held from then.
            let end = go.max(self.limits.window) + hold;
            self.limits.end = Some(end);
            self.books.ends_at(end);
        }
    }

    /// Users who only hold have nothing to wait for at the end.
    pub(super) fn let_holders_go(&mut self) {
        let Some(held) = &mut self.held else { return };
        let holders: Vec<u32> =
            (0..held.users.len() as u32).filter(|user| std::mem::take(&mut held.user(*user).holds)).collect();
        for user in holders {
            self.user_ends(user);
        }
    }

    /// With a rate over a fixed number of connections: one that was lost is opened again.
    pub(super) fn replace_lost(&mut self) {
        let all = self.closing || self.common_start.is_some() || self.pools.group(0).is_full();
        if self.held.is_none() || !self.limits.open || all {
            return;
        }
        let origin = self.source.only().leads_to(0);
        let pool = self.pools.get(origin);
        let may = self.stamp >= pool.setbacks.until && pool.opening < pool.at_once;
        if may && self.may_come() && self.source.only().pace_allows(self.stamp) {
            self.open_ahead(origin);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_hold_once_every_user_has_settled_and_none_counts_twice() {
        let mut held = HeldConnections::new(Some(Nanos(1)), 1, Barrier::of(1));
        held.settle(1);
        held.settle(1);
        assert_eq!(held.all_hold(2, Nanos(5)), None);
        held.settle(0);
        assert!(held.all_hold(2, Nanos(5)).is_some_and(|go| go > Nanos(5)));
    }
}
