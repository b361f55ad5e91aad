//! Connections that are part of the plan (WebSocket, `--hold`): each user opens its own first, sends its requests, and
//! with `--hold` keeps it until a set time after the last connection of the run is open.

use measure::Nanos;
use scenario::News;
use wire::Network;

use crate::connections::Connections;
use crate::ids::UserId;
use crate::outcome::{Outcome, Over, Unspoken};

use super::Users;

/// Pause of a user that may not connect yet because too many do.
const TURN: Nanos = Nanos::from_millis(100);

impl Users {
    /// Lets a user hold its connection after its last request.
    pub(crate) fn user_holds<N: Network>(&mut self, c: &mut Connections<N>, user: UserId) {
        match &mut self.held {
            Some(held) => held.user_holds(user),
            // Connections are not held if they are not part of the plan.
            None => self.user_ends(c, user),
        }
    }

    /// Opens the connection that a user will own, before its first request.
    pub(crate) fn user_connects<N: Network>(&mut self, c: &mut Connections<N>, user: UserId) {
        if c.takes_one_opened_ahead(user) {
            return self.user_goes_on_connected(c, user);
        }
        if !c.may_come() || !self.source.only().pace_allows(c.now()) {
            // Many that were lost together reconnect as slowly as they first connected.
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

    /// Starts the requests of a user whose connection is open.
    pub(crate) fn user_goes_on_connected<N: Network>(&mut self, c: &mut Connections<N>, user: UserId) {
        // At once: a pause is between messages, and one before the first would be repeated with each connection.
        self.ask(c, user, c.now(), News::Awake);
        self.go_on_all(c);
    }

    /// Handles the loss of an idle user's connection: it connects again, a little later if the connection was of no
    /// use.
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
        // A user that pauses notices when it wakes.
        if stood && !held.lets_go(user) {
            return;
        }
        self.user_stays_without(c, user, in_vain);
    }

    /// Handles a connection that failed to open: the request that its user would have sent has failed.
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

    /// Returns when connections kept by `--hold` may be closed, once all users of all workers hold (or failed to).
    pub(crate) fn hold_ends<N: Network>(&mut self, c: &Connections<N>) -> Option<Nanos> {
        let held = self.held.as_mut()?;
        let users = self.source.only().users();
        if c.limits().end.is_some() || !users.have_all_begun() {
            return None;
        }
        held.ends(users.alive(), c.limits().window, c.now())
    }

    /// Ends the users that only hold: they have nothing to wait for at the end.
    pub(crate) fn let_holders_go<N: Network>(&mut self, c: &mut Connections<N>) {
        let holders = self.held.as_mut().map(|held| held.let_all_go()).unwrap_or_default();
        for user in holders {
            self.user_ends(c, user);
        }
    }
}
