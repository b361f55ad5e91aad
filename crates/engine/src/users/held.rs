//! Connections that are part of the plan (WebSocket, `--hold`): each user opens its own first, says what it has to say, and
//! with `--hold` keeps it until so long after the last connection of the run stands.

use measure::Nanos;
use scenario::News;
use wire::Network;

use crate::connections::Connections;
use crate::ids::UserId;
use crate::outcome::{Outcome, Over, Unspoken};

use super::Users;

/// Whoever may not connect yet, because too many do, asks again after so long.
const TURN: Nanos = Nanos::from_millis(100);

impl Users {
    /// A user has said everything, and keeps its connection.
    pub(crate) fn user_holds<N: Network>(&mut self, c: &mut Connections<N>, user: UserId) {
        match &mut self.held {
            Some(held) => held.user_holds(user),
            // Nobody holds where connections are not part of the plan.
            None => self.user_ends(c, user),
        }
    }

    /// A user whose connection is its own opens it first.
    pub(crate) fn user_connects<N: Network>(&mut self, c: &mut Connections<N>, user: UserId) {
        if c.takes_one_opened_ahead(user) {
            return self.user_goes_on_connected(c, user);
        }
        if !c.may_come() || !self.source.only().pace_allows(c.now()) {
            // Many that were lost together come back as slowly as they came.
            return self.source.pause(user, c.now() + TURN);
        }
        let origin = self.source.only().leads_to(user.index().0);
        let Err(cause) = c.connect_for(user, origin) else { return };
        if c.users_speak() {
            return self.could_not_be_said(c, user, &Unspoken::of(&cause));
        }
        c.traffic().connection_failed(&cause);
        self.user_stays_without(c, user, true);
    }

    /// The user's connection stands: what it says begins.
    pub(crate) fn user_goes_on_connected<N: Network>(&mut self, c: &mut Connections<N>, user: UserId) {
        // At once: a pause is between messages, and one before the first would begin anew with each connection.
        self.ask(c, user, c.now(), News::Awake);
        self.go_on_all(c);
    }

    /// The connection of a user who has nothing in flight is gone: it connects again, a little later where the connection was
    /// of no use.
    pub(crate) fn user_lost_connection<N: Network>(
        &mut self,
        c: &mut Connections<N>,
        user: UserId,
        stood: bool,
        in_vain: bool,
    ) {
        if in_vain {
            c.user_set_back(user, Nanos::ZERO);
        }
        let Some(held) = &mut self.held else { return };
        // Who pauses finds out when it wakes.
        if stood && !held.lets_go(user) {
            return;
        }
        self.user_stays_without(c, user, in_vain);
    }

    /// The connection that a user was about to speak on did not come to stand: what it would have said has failed.
    pub(crate) fn could_not_be_said<N: Network>(&mut self, c: &mut Connections<N>, user: UserId, why: &Unspoken) {
        if c.window_over() || self.source.only().quota_spent(c.limits(), c.now()) {
            return self.user_ends(c, user);
        }
        self.source.only().start_request(c.limits(), c.now());
        c.traffic().fail_unsaid(user, &why.cause());
        self.go_on(c);
    }

    pub(crate) fn user_stays_without<N: Network>(&mut self, c: &mut Connections<N>, user: UserId, back_off: bool) {
        if let Some(held) = &mut self.held {
            held.settle(user);
        }
        c.traffic().comes_of(Outcome::Over(Over { back_off, ..Over::of(user, News::Awake) }));
    }

    /// With `--hold`: when what is held may go, once all of all workers hold (or failed to).
    pub(crate) fn hold_ends<N: Network>(&mut self, c: &Connections<N>) -> Option<Nanos> {
        let held = self.held.as_mut()?;
        let users = self.source.only().users();
        if c.limits().end.is_some() || !users.have_all_begun() {
            return None;
        }
        held.ends(users.alive(), c.limits().window, c.now())
    }

    /// Users who only hold have nothing to wait for at the end.
    pub(crate) fn let_holders_go<N: Network>(&mut self, c: &mut Connections<N>) {
        let holders = self.held.as_mut().map(|held| held.let_all_go()).unwrap_or_default();
        for user in holders {
            self.user_ends(c, user);
        }
    }
}
