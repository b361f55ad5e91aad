//! Connections that are part of the plan (WebSocket, `--hold`): what one worker holds, and where each user stands.

use std::sync::Arc;

use measure::Nanos;

use crate::barrier::Barrier;

/// Connections that one run has on their way at a time: what a usual listen queue takes (net.core.somaxconn is 4096).
const COMING: u32 = 1024;
/// The fewest a worker has on their way.
const COMING_AT_LEAST: u32 = 8;

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
    /// Was there, and does nothing more.
    done: bool,
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

    /// A user holds, or failed to: nobody waits for it any more.
    pub fn settle(&mut self, user: u32) {
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

    /// True where another connection may be begun beside so many that are on their way.
    pub fn may_come(&self, opening: u32) -> bool {
        opening < self.most_coming
    }

    /// True where connections are kept once everything was said on them.
    pub fn holds(&self) -> bool {
        self.hold.is_some()
    }

    /// A user has said everything, and keeps its connection.
    pub fn user_holds(&mut self, user: u32) {
        self.user(user).holds = true;
        self.settle(user);
    }

    /// True once of a user who kept its connection.
    pub fn lets_go(&mut self, user: u32) -> bool {
        std::mem::take(&mut self.user(user).holds)
    }

    /// All who keep theirs, who do so no longer.
    pub fn let_all_go(&mut self) -> Vec<u32> {
        (0..self.users.len() as u32).filter(|user| self.lets_go(*user)).collect()
    }

    /// A user is there, or does nothing more.
    pub fn is_there(&mut self, user: u32, there: bool) {
        self.user(user).done = !there;
    }

    /// True of a user who was there and is done.
    pub fn is_done(&self, user: u32) -> bool {
        self.users.get(user as usize).is_some_and(|user| user.done)
    }

    /// When all that is held may go: so long after the last of all workers held, where `users` of this one do.
    pub fn ends(&mut self, users: u32, window: Nanos, now: Nanos) -> Option<Nanos> {
        let hold = self.hold?;
        // Processes connect before the start of the run, which is a little ahead: held is held from then.
        self.all_hold(users, now).map(|go| go.max(window) + hold)
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
