//! Users whose connections are part of the plan (WebSocket, `--hold`): who holds, and when all do.

use std::sync::Arc;

use measure::Nanos;

use crate::barrier::Barrier;
use crate::ids::UserId;

/// Those of one worker.
#[derive(Debug)]
pub(crate) struct Holders {
    /// How long connections are kept after all stand; None: until the run ends otherwise.
    hold: Option<Nanos>,
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

impl Holders {
    /// Nobody yet; all workers wait for each other at `barrier`.
    pub fn new(hold: Option<Nanos>, barrier: Arc<Barrier>) -> Holders {
        Holders { hold, users: Vec::new(), settled: 0, barrier, reported: false }
    }

    fn user(&mut self, user: UserId) -> &mut UserState {
        if self.users.len() <= user.at() {
            self.users.resize(user.at() + 1, UserState::default());
        }
        &mut self.users[user.at()]
    }

    /// A user holds, or failed to: nobody waits for it any more.
    pub fn settle(&mut self, user: UserId) {
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

    /// A user has said everything, and keeps its connection.
    pub fn user_holds(&mut self, user: UserId) {
        self.user(user).holds = true;
        self.settle(user);
    }

    /// True once of a user who kept its connection.
    pub fn lets_go(&mut self, user: UserId) -> bool {
        std::mem::take(&mut self.user(user).holds)
    }

    /// All who keep theirs, who do so no longer.
    pub fn let_all_go(&mut self) -> Vec<UserId> {
        (0..self.users.len()).map(UserId::of).filter(|user| self.lets_go(*user)).collect()
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
        let mut held = Holders::new(Some(Nanos(1)), Barrier::of(1));
        held.settle(UserId(1));
        held.settle(UserId(1));
        assert_eq!(held.all_hold(2, Nanos(5)), None);
        held.settle(UserId(0));
        assert!(held.all_hold(2, Nanos(5)).is_some_and(|go| go > Nanos(5)));
    }
}
