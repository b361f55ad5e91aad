//! Connections that are part of the plan (WebSocket, `--hold`): each user first opens its own, then sends its requests,
//! and with `--hold` keeps it until a set time after the last connection of the run was opened.

use brunt_contract::Network;
use brunt_measure::Nanos;
use brunt_scenario::UserEvent;

use crate::connections::WorkerConnections;
use crate::ids::UserId;
use crate::outcome::{FinishedRequest, NotSentCause, UserOutcome};

use super::WorkerUsers;

/// Pause of a user that may not connect yet because too many connections are being opened.
const CONNECT_RETRY: Nanos = Nanos::from_millis(100);

impl WorkerUsers {
    /// Lets a user hold its connection after its last request.
    pub(crate) fn user_holds<N: Network>(&mut self, c: &mut WorkerConnections<N>, user: UserId) {
        match &mut self.holding {
            Some(held) => held.user_holds(user),
            // Connections are not held if they are not part of the plan.
            None => self.user_ends(c, user),
        }
    }

    /// Opens the connection that a user will own, before its first request.
    pub(crate) fn user_connects<N: Network>(&mut self, c: &mut WorkerConnections<N>, user: UserId) {
        if c.take_preopened(user) {
            return self.user_connected(c, user);
        }
        if !c.may_open() || !self.sources.only().take_start_permit(c.now()) {
            // Connections lost together are reopened as slowly as they were first opened.
            return self.sources.pause(user, c.now() + CONNECT_RETRY);
        }
        let origin = self.sources.only().origin(user.index().0);
        let Err(cause) = c.connect_for(user, origin) else { return };
        if c.users_send_on_own() {
            return self.opening_failed(c, user, &NotSentCause::of(&cause));
        }
        c.traffic().connection_failed(&cause);
        self.user_unconnected(c, user, true);
    }

    /// Starts the requests of a user whose connection is open.
    pub(crate) fn user_connected<N: Network>(&mut self, c: &mut WorkerConnections<N>, user: UserId) {
        // Continues at once: pauses belong between messages, and one before the first message would be repeated with
        // each connection.
        self.advance(c, user, c.now(), UserEvent::Resumed);
        self.process_outcomes(c);
    }

    /// Handles the loss of an idle user's connection: it connects again, a little later if the connection was useless.
    pub(crate) fn user_lost_connection<N: Network>(
        &mut self,
        c: &mut WorkerConnections<N>,
        user: UserId,
        stood: bool,
        in_vain: bool,
    ) {
        if in_vain {
            c.back_off_user(user);
        }
        let Some(held) = &mut self.holding else { return };
        // A pausing user notices the loss when it wakes.
        if stood && !held.release(user) {
            return;
        }
        self.user_unconnected(c, user, in_vain);
    }

    /// Handles a connection that failed to open, so that the request its user would have sent has failed.
    pub(crate) fn opening_failed<N: Network>(
        &mut self,
        c: &mut WorkerConnections<N>,
        user: UserId,
        why: &NotSentCause,
    ) {
        if c.window_over() || self.sources.only().quota_spent(c.limits(), c.now()) {
            return self.user_ends(c, user);
        }
        self.sources.only().start_request(c.limits(), c.now());
        c.traffic().fail_unsent(user, &why.cause());
        self.process_and_flush(c);
    }

    pub(crate) fn user_unconnected<N: Network>(&mut self, c: &mut WorkerConnections<N>, user: UserId, back_off: bool) {
        if let Some(held) = &mut self.holding {
            held.settle(user);
        }
        c.traffic().push_outcome(UserOutcome::Finished(FinishedRequest {
            own: Nanos::ZERO,
            back_off,
            ..FinishedRequest::of(user, UserEvent::Resumed)
        }));
    }

    /// Returns when connections kept by `--hold` may be closed, once all users of all workers hold (or failed to).
    pub(crate) fn hold_ends<N: Network>(&mut self, c: &WorkerConnections<N>) -> Option<Nanos> {
        let held = self.holding.as_mut()?;
        let users = self.sources.only().users();
        if c.limits().end.is_some() || !users.all_started() {
            return None;
        }
        held.ends(users.alive(), c.limits().window, c.now())
    }

    /// Ends the users that only hold their connection, because there is nothing to wait for at the end.
    pub(crate) fn end_holding_users<N: Network>(&mut self, c: &mut WorkerConnections<N>) {
        let holders = self.holding.as_mut().map(|held| held.release_all()).unwrap_or_default();
        for user in holders {
            self.user_ends(c, user);
        }
    }
}
