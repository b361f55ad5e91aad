//! Closed load: users, each one request after the other.

use load::Users;
use measure::Nanos;
use wire::{Dialogue, Network, Session};

use crate::exchange::NONE;
use crate::patience::Troubled;
use crate::worker::Worker;

/// With a rate of connecting, so much of a delay is made up for at once.
const CATCH_UP: Nanos = Nanos::from_millis(100);
/// Users started in one turn of the loop, so that answers are read while many still connect.
const STARTS: usize = 32;

/// The users of one worker.
#[derive(Debug)]
pub(crate) struct VirtualUsers {
    profile: Users,
    pub running: Vec<bool>,
    /// The connection each user has; users do not share.
    pub conns: Vec<u32>,
    pub alive: u32,
    target: u32,
    /// When the number changes next.
    pub next_change: Nanos,
    /// Users to start, the next one last.
    pub starting: Vec<u32>,
    /// The first of them have been told to start.
    pub begun: bool,
    /// Those whose last connection was of no use.
    pub troubled: Troubled,
}

impl VirtualUsers {
    pub fn new(profile: Users) -> VirtualUsers {
        let running = vec![false; profile.peak() as usize];
        let conns = vec![NONE; running.len()];
        let starting = Vec::new();
        let troubled = Troubled::default();
        VirtualUsers {
            profile,
            running,
            conns,
            alive: 0,
            target: 0,
            next_change: Nanos::ZERO,
            starting,
            begun: false,
            troubled,
        }
    }

    pub fn peak(&self) -> u32 {
        self.running.len() as u32
    }

    /// Sets the number of users for a time since the start of the run.
    fn change(&mut self, since_start: Nanos, start: Nanos) {
        self.begun = true;
        self.target = self.profile.at(since_start);
        self.next_change = self.profile.next_change(since_start).map_or(Nanos::MAX, |t| start + t);
        let to_start = (0..self.target).filter(|u| !self.running[*u as usize]).rev();
        let before = self.starting.len();
        self.starting.extend(to_start);
        for user in &self.starting[before..] {
            self.running[*user as usize] = true;
        }
        self.alive += (self.starting.len() - before) as u32;
    }
}

impl<N: Network, D: Dialogue> Worker<N, D> {
    /// Starts and retires users as the profile says.
    pub fn change_users(&mut self) {
        let (stamp, start) = (self.stamp, self.limits.start);
        let Some(crowd) = self.crowd.as_mut() else { return };
        if stamp >= crowd.next_change && !self.closing {
            crowd.change(stamp - start, start);
        }
        for _ in 0..STARTS {
            if !self.may_come() || !self.pace_is_due() {
                break;
            }
            let Some(user) = self.crowd.as_mut().and_then(|c| c.starting.pop()) else { break };
            // Who has a connection of its own spends it when that is begun.
            let _ = self.held.is_some() || self.pace_allows();
            self.user_sends(user);
            self.go_on_without();
            self.mark();
        }
    }

    fn pace_is_due(&self) -> bool {
        self.limits.connect_rate.is_none() || self.next_start <= self.stamp
    }

    /// True where a connection may be begun now, as far as `--connect-rate` goes; it is then spent.
    pub fn pace_allows(&mut self) -> bool {
        let Some(rate) = self.limits.connect_rate else { return true };
        if !self.pace_is_due() {
            return false;
        }
        // What was missed while the loop was busy is made up for, but no more than a little of it.
        let from = self.next_start.max(Nanos(self.stamp.0.saturating_sub(CATCH_UP.0)));
        self.next_start = from + Nanos::from_secs_f64(1.0 / rate);
        true
    }

    /// A user's request is over: the next one, after a pause where one is due.
    #[inline]
    pub fn user_goes_on(&mut self, user: u32, back_off: bool) {
        let until = match self.limits.think {
            _ if back_off => self.user_set_back(user),
            Some((from, to)) => self.stamp + self.rng.between(from, to),
            None => return self.user_sends(user),
        };
        self.pauses.add(until, user);
    }

    /// Users whose pause is over.
    pub fn wake_users(&mut self) {
        while let Some((_, user)) = self.pauses.due(self.stamp) {
            self.user_sends(user);
            self.go_on_without();
            self.mark();
        }
    }

    #[inline]
    pub fn user_sends(&mut self, user: u32) {
        let Some(crowd) = &self.crowd else { return };
        if self.window_over() || user >= crowd.target || self.quota_spent() {
            return self.user_ends(user);
        }
        let waits = crowd.troubled.waits(user);
        if waits > self.stamp && crowd.conns[user as usize] == NONE {
            return self.pauses.add(waits, user);
        }
        if self.held.is_some() {
            return self.user_sends_on_its_own(user);
        }
        self.started += u64::from(self.stamp >= self.limits.window);
        let request = self.mix.next() as u32;
        self.arrive(self.stamp, request, user);
    }

    /// True where all requests asked for were started; the warm-up's are not counted.
    #[inline]
    pub fn quota_spent(&self) -> bool {
        self.limits.quota.is_some_and(|quota| self.started >= quota) && self.stamp >= self.limits.window
    }

    /// The user has no further request: its connection is closed.
    pub fn user_ends(&mut self, user: u32) {
        let Some(crowd) = self.crowd.as_mut() else { return };
        let Some(running) = crowd.running.get_mut(user as usize) else { return };
        if !std::mem::take(running) {
            return;
        }
        crowd.alive -= 1;
        let conn = crowd.conns[user as usize];
        if conn != NONE && self.conns[conn as usize].in_flight == 0 && !self.is_kept_for_final_read(conn) {
            self.let_go(conn);
        }
    }

    /// The user's own connection, where it leads to this origin and has room.
    #[inline]
    pub fn own_connection(&self, user: u32, origin: u32) -> Option<u32> {
        let conn = *self.crowd.as_ref()?.conns.get(user as usize)?;
        let c = self.conns.get(conn as usize)?;
        let room = c.session.as_ref().map_or(0, |session| session.room());
        (c.origin == origin && room > 0).then_some(conn)
    }

    /// Gives a connection to a user; the one it had goes to whoever comes.
    pub fn give_connection(&mut self, user: u32, conn: u32) {
        if self.limits.shared > 1 {
            return;
        }
        let Some(had) = self.crowd.as_mut().and_then(|c| c.conns.get_mut(user as usize)) else { return };
        let had = std::mem::replace(had, conn);
        self.conns[conn as usize].user = user;
        if had != NONE && had != conn {
            self.conns[had as usize].user = NONE;
            self.offer(had);
        }
    }

    /// What follows an exchange that ended without an arrival on a connection.
    pub fn go_on_without(&mut self) {
        self.go_on_all();
        self.flush();
    }
}
