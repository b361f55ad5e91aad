//! Users whose connections are part of the plan (WebSocket, `--hold`): which of them hold their connection, and since
//! when all of them do.

use std::sync::Arc;

use brunt_measure::Nanos;

use crate::barrier::Barrier;
use crate::ids::UserId;

/// The holding users of one worker.
#[derive(Debug)]
pub(crate) struct HoldingUsers {
    /// Time for which connections are kept after all are open; `None` if the run ends otherwise.
    hold: Option<Nanos>,
    users: Vec<HoldState>,
    /// Number of users that hold their connection or failed to open it.
    settled: u32,
    barrier: Arc<Barrier>,
    reported: bool,
}

/// The state of a user.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct HoldState {
    /// Set while the user has sent everything and keeps its connection.
    holds: bool,
    /// Set once the user has held its connection or failed to connect, and is no longer waited for.
    settled: bool,
}

impl HoldingUsers {
    /// Creates an empty set; the workers wait for each other at `barrier`.
    pub fn new(hold: Option<Nanos>, barrier: Arc<Barrier>) -> HoldingUsers {
        HoldingUsers { hold, users: Vec::new(), settled: 0, barrier, reported: false }
    }

    fn user(&mut self, user: UserId) -> &mut HoldState {
        if self.users.len() <= user.at() {
            self.users.resize(user.at() + 1, HoldState::default());
        }
        &mut self.users[user.at()]
    }

    /// Records that a user holds its connection or failed to connect, and is no longer waited for.
    pub fn settle(&mut self, user: UserId) {
        let settled = std::mem::replace(&mut self.user(user).settled, true);
        self.settled += u32::from(!settled);
    }

    /// Reports, once, that all of `users` have settled. Returns the time since which all users of the run hold their
    /// connections, if it is known.
    fn hold_began(&mut self, users: u32, now: Nanos) -> Option<Nanos> {
        if self.settled == users && !std::mem::replace(&mut self.reported, true) {
            self.barrier.ready(now);
        }
        self.barrier.starts_at()
    }

    /// Records that a user has sent everything and keeps its connection.
    pub fn user_holds(&mut self, user: UserId) {
        self.user(user).holds = true;
        self.settle(user);
    }

    /// Releases a user; returns `true` if it kept its connection until now.
    pub fn release(&mut self, user: UserId) -> bool {
        std::mem::take(&mut self.user(user).holds)
    }

    /// Releases all users that keep their connection, and returns them.
    pub fn release_all(&mut self) -> Vec<UserId> {
        (0..self.users.len()).map(UserId::of).filter(|user| self.release(*user)).collect()
    }

    /// Returns when held connections may be closed: the hold time after the last user of any worker began to hold. This
    /// worker has `users` users.
    pub fn ends(&mut self, users: u32, window: Nanos, now: Nanos) -> Option<Nanos> {
        let hold = self.hold?;
        // Processes may connect shortly before the run starts; the hold time counts from the start.
        self.hold_began(users, now).map(|go| go.max(window) + hold)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_hold_once_every_user_has_settled_and_none_counts_twice() {
        let mut held = HoldingUsers::new(Some(Nanos(1)), Barrier::for_workers(1));
        held.settle(UserId(1));
        held.settle(UserId(1));
        assert_eq!(held.hold_began(2, Nanos(5)), None);
        held.settle(UserId(0));
        assert!(held.hold_began(2, Nanos(5)).is_some_and(|go| go > Nanos(5)));
    }
}
