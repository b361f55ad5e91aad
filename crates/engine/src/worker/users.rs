//! Users: started and retired (closed load), woken when something happened to them, and asked what they do next.

use measure::Nanos;
use scenario::{Act, News};
use wire::{Belongs, Network};

use crate::exchange::NONE;
use crate::sources::within;

use super::Worker;

/// Where waking users takes longer, what else there is to do is done before the rest of them.
const LONG: Nanos = Nanos::from_millis(1);
/// Users started in one turn of the loop, so that responses are read while many still connect.
const STARTS: usize = 32;

impl<N: Network> Worker<N> {
    /// 2. What a user does next; a request it sends is due at `due`. The place where the choice of the scenario meets the limits of
    ///    the run.
    #[inline]
    pub(super) fn ask(&mut self, user: u32, due: Nanos, news: News) {
        if self.source.has_flows() {
            return self.ask_in_flow(user, due, news);
        }
        let source = self.source.of(user);
        let users = source.users();
        let (arrives, conn, may) = (users.arrive(), users.conn(user), users.may_go_on(user));
        if !arrives {
            if !may || self.window_over() || self.source.of(user).quota_spent(&self.limits, self.stamp) {
                return self.user_ends(user);
            }
            let waits = self.source.of(user).users().troubled().waits(user);
            if waits > self.stamp && conn == NONE {
                return self.source.pause(user, waits);
            }
            if self.held.is_some() && conn == NONE {
                return self.user_connects(user);
            }
        }
        let on = if conn == NONE { None } else { Some(self.links.conn(conn).origin) };
        match self.source.wake(user, on, news, due) {
            Act::Send(request) => {
                if !arrives {
                    self.source.of(user).start_request(&self.limits, self.stamp);
                }
                self.arrive(due, request, user);
            }
            Act::Pause(pause) => self.source.pause(user, self.stamp + pause),
            Act::Hold => self.user_holds(user),
            // Only flows have steps that send nothing.
            Act::Wait | Act::Busy(_) => {}
            Act::Done | Act::Leave => self.user_ends(user),
        }
    }

    /// A user could reach nobody: it is woken after a while. One whom an arrival brought leaves.
    pub(super) fn user_backs_off(&mut self, user: u32, news: News) {
        let source = self.source.of(user);
        let arrives = source.users().arrive();
        if let Some(flow) = source.flow() {
            flow.hear(within(user), news, self.stamp);
            // Of several requests under way the last says what its user does.
            let waits = flow.flying(within(user)) > 0;
            let stops = flow.stops();
            self.books.steps_stop(stops, arrives);
            if waits {
                return;
            }
        }
        if arrives {
            return self.user_ends(user);
        }
        let until = self.user_set_back(user);
        self.source.pause(user, until);
    }

    /// Starts and retires users as the profile says.
    pub(super) fn change_users(&mut self) {
        for scenario in 0..self.source.all().len() {
            let source = &mut self.source.all_mut()[scenario];
            if self.stamp >= source.users().next_change() && !self.closing {
                source.change_users(&self.limits, self.stamp);
            }
            self.start_users(scenario);
        }
    }

    fn start_users(&mut self, scenario: usize) {
        for _ in 0..STARTS {
            let source = &self.source.all()[scenario];
            if !source.has_to_start() || !self.may_come() || !source.pace_is_due(self.stamp) {
                break;
            }
            let source = &mut self.source.all_mut()[scenario];
            let Some(user) = source.users().start(self.stamp) else { break };
            // Who has a connection of its own spends it when that is begun.
            let _ = self.held.is_some() || source.pace_allows(self.stamp);
            self.ask(user, self.stamp, News::Begin);
            self.go_on_without();
            self.mark();
        }
    }

    /// Users whose pause is over.
    pub(super) fn wake_users(&mut self) {
        let (flows, began) = (self.source.has_flows(), self.stamp);
        while let Some((until, user)) = self.source.awake(self.stamp) {
            if flows && !self.source.of(user).users().arrive() {
                self.books.counts().woken_late_ns += self.limits.in_window(until, self.stamp).0;
            }
            // The next step of a flow is due when its pause is over, however late we are.
            self.ask(user, if flows { until } else { self.stamp }, News::Awake);
            self.go_on_without();
            self.mark();
            if self.stamp > began + LONG {
                break;
            }
        }
    }

    /// The user has no further request: its connection is closed.
    #[inline]
    pub(super) fn user_ends(&mut self, user: u32) {
        self.leaves_flow(user);
        self.pages.leave(user);
        let Some(conn) = self.source.of(user).users().end(user, self.stamp) else { return };
        if let Some(memories) = &mut self.memories {
            memories.forget(user);
        }
        if self.anew.is_some() {
            self.comes_no_more(user);
        }
        if conn != NONE && self.links.conn(conn).in_flight == 0 && !self.is_kept_for_final_read(conn) {
            self.let_go(conn);
        }
    }

    /// The user's own connection, where it leads to this origin and has room.
    #[inline]
    pub(super) fn own_connection(&mut self, user: u32, origin: u32) -> Option<u32> {
        let conn = self.source.of(user).users().conn(user);
        if conn == NONE {
            return None;
        }
        let c = self.links.conn(conn);
        let room = c.session.as_ref().map_or(0, |session| session.room());
        (c.origin == origin && room > 0).then_some(conn)
    }

    /// Gives a connection to a user; the one it had goes to whoever comes.
    pub(super) fn give_connection(&mut self, user: u32, conn: u32) {
        let belongs = self.belongs(self.links.conn(conn).origin);
        let arrives = self.source.of(user).users().arrive();
        if self.limits.shared > 1 || arrives || belongs != Belongs::ToNobody {
            return;
        }
        let Some(had) = self.source.of(user).users().own(user, conn) else { return };
        self.links.conn_mut(conn).user = user;
        if had != NONE && had != conn {
            self.links.conn_mut(had).user = NONE;
            self.offer(had);
        }
    }
}
