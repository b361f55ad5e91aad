//! Waking of users: after an event, the scenario decides the next actions of the user, within the limits of the run.

use brunt_contract::{Network, RequestDraft, UserValues};
use brunt_measure::Nanos;
use brunt_scenario::{Action, Actions, BatchMember, ENDLESS, UnsolicitedMessage, UserEvent, Wakeup};

use crate::connections::WorkerConnections;
use crate::due_request::DueRequest;
use crate::ids::{RequestId, UserId};

use super::WorkerUsers;

/// Pause after every thousand steps of a user in a loop that sends nothing.
const ENDLESS_PAUSE: Nanos = Nanos::from_millis(10);

/// The result of sending a prepared request.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum SendResult {
    /// The request was submitted.
    Submitted,
    /// The user's cache has the answer, which is a page that is parsed first.
    CachedPage,
    /// The user's cache has the answer.
    Cached,
}

impl WorkerUsers {
    /// Step 2: applies the limits of the run to the scenario's choice of what a user does next. A request that the user
    /// sends is due at `due`.
    #[inline]
    pub(crate) fn advance<N: Network>(
        &mut self,
        c: &mut WorkerConnections<N>,
        user: UserId,
        due: Nanos,
        event: UserEvent,
    ) {
        let source = self.sources.of(user);
        let (arrives, iterates) = (source.users().by_arrivals(), source.iterates());
        let news = if arrives || self.may_go_on(c, user, event) { event } else { UserEvent::NoMoreVisits };
        if iterates && news == UserEvent::Begin {
            let prepares = self.sources.of(user).prepares(user);
            self.iteration_begins(c, user, !prepares);
        }
        let on = c.user_origin(user);
        let waits = if arrives { Nanos::ZERO } else { c.backoff_until(user) };
        let rests = waits > c.now() && self.others_in_flight(user, news) == 0;
        if !rests && !arrives && on.is_none() && c.are_fixed() && news != UserEvent::NoMoreVisits {
            return self.user_connects(c, user);
        }
        match self.wake_and_act(
            c,
            user,
            Wakeup { origin: on, disconnected: rests, ..Wakeup::new(user.index(), news, due) },
        ) {
            None | Some(Action::Wait) if rests => {
                c.keep_out(waits);
                self.sources.pause(user, waits);
            }
            last => self.finish_actions(c, user, due, last),
        }
    }

    /// Performs the final action of a user, after its requests.
    #[inline]
    fn finish_actions<N: Network>(
        &mut self,
        c: &mut WorkerConnections<N>,
        user: UserId,
        due: Nanos,
        last: Option<Action>,
    ) {
        let source = self.sources.of(user);
        let (arrives, iterates) = (source.users().by_arrivals(), source.iterates());
        match last {
            None | Some(Action::Wait) => {}
            Some(Action::Yielded(turns)) => self.reschedule(c, user, due, turns),
            Some(Action::Pause(pause)) if iterates => self.sources.pause(user, due.saturating_add(pause)),
            Some(Action::Pause(pause)) => self.sources.pause(user, c.now() + pause),
            Some(Action::Hold) => self.user_holds(c, user),
            // The next iteration is due when this one ended, however late we are.
            Some(Action::Done) if iterates && !arrives => self.advance(c, user, due, UserEvent::Begin),
            Some(_) => self.user_ends(c, user),
        }
    }

    /// Passes an unsolicited message to its user. A user that must start nothing new still receives it, but sends
    /// nothing in response.
    #[cold]
    pub(super) fn receive_message<N: Network>(&mut self, c: &mut WorkerConnections<N>, user: UserId, message: &[u8]) {
        let source = self.sources.of(user);
        if !source.hears() || !source.users().is_running(user) {
            return;
        }
        let mut acts = std::mem::take(&mut self.actions);
        let (mut none, at) = (UserValues::default(), c.event_time());
        let values = c.traffic().values(user, &mut none);
        source.hear(UnsolicitedMessage { user: user.index(), at, message }, values, &mut acts);
        if !self.may_go_on(c, user, UserEvent::Resumed) {
            acts.retain(|act| matches!(act, Action::Report(_) | Action::Stop(_) | Action::Leave));
        }
        let last = self.perform(c, (user, at), acts);
        self.finish_actions(c, user, at, last);
    }

    /// Returns `false` if a user in closed load must start nothing new, even if it has something left to do. An
    /// iteration in progress continues even if its user is retired, the quota is used up, or the window is over; the
    /// end of the drain cuts it.
    #[inline]
    fn may_go_on<N: Network>(&mut self, c: &mut WorkerConnections<N>, user: UserId, event: UserEvent) -> bool {
        let over = c.window_over();
        let source = self.sources.of(user);
        let iterates = source.iterates();
        if iterates && event != UserEvent::Begin {
            return true;
        }
        let spent = source.quota_spent(c.limits(), c.now()) && !(iterates && c.traffic().has_number(user));
        !over && source.users().may_go_on(user) && !spent && source.has_iteration_left(user)
    }

    /// Returns the number of a user's requests in flight, excluding the one whose end `event` reports.
    fn others_in_flight(&mut self, user: UserId, event: UserEvent) -> u32 {
        let ended = matches!(event, UserEvent::Ended { .. } | UserEvent::Cached);
        self.sources.of(user).under_way(user).saturating_sub(u32::from(ended))
    }

    /// Wakes a user and performs its actions: all its requests are submitted. Returns its final action, or `None` if it
    /// waits for a response.
    #[inline]
    fn wake_and_act<N: Network>(
        &mut self,
        c: &mut WorkerConnections<N>,
        user: UserId,
        wakeup: Wakeup,
    ) -> Option<Action> {
        let mut acts = std::mem::take(&mut self.actions);
        self.wake(c, user, wakeup, &mut acts);
        self.perform(c, (user, wakeup.at), acts)
    }

    #[inline]
    fn wake<N: Network>(&mut self, c: &mut WorkerConnections<N>, user: UserId, wakeup: Wakeup, actions: &mut Actions) {
        let mut none = UserValues::default();
        let values = c.traffic().values(user, &mut none);
        self.sources.of(user).wake(wakeup, values, actions);
    }

    /// Performs a user's actions: all its requests are submitted. Returns its final action, or `None` if it waits for a
    /// response.
    #[inline]
    fn perform<N: Network>(
        &mut self,
        c: &mut WorkerConnections<N>,
        (user, at): (UserId, Nanos),
        mut actions: Actions,
    ) -> Option<Action> {
        let (mut last, mut recalled) = (None, 0_u32);
        loop {
            while let Some(act) = actions.pop_front() {
                let sent = match act {
                    Action::Send(request) => self.send_request(c, (user, at), request, None),
                    Action::SendInBatch(request, batch) => self.send_request(c, (user, at), request, Some(batch)),
                    Action::Compose(draft) => self.send_composed(c, (user, at), &draft),
                    act => {
                        last = self.record_action(c, user, act).or(last);
                        continue;
                    }
                };
                match sent {
                    SendResult::Cached => recalled += 1,
                    SendResult::CachedPage => {}
                    SendResult::Submitted => self.sources.of(user).sends(user, at, &mut actions),
                }
            }
            // A user whose cache has the answer continues as if a response had arrived.
            if recalled == 0 {
                break;
            }
            recalled -= 1;
            self.wake(c, user, Wakeup::new(user.index(), UserEvent::Cached, at), &mut actions);
        }
        self.actions = actions;
        last
    }

    /// Performs an action that only has to be recorded; returns any other action.
    #[inline]
    pub(super) fn record_action<N: Network>(
        &mut self,
        c: &mut WorkerConnections<N>,
        user: UserId,
        act: Action,
    ) -> Option<Action> {
        match act {
            Action::Report(told) => self.record_span(c, user.scenario(), &told),
            Action::Stop(stops) => {
                c.traffic().recorder().count_stops(stops, self.sources.of(user).users().by_arrivals())
            }
            Action::Close(which) => {
                let ending = self.is_ending(c);
                c.disconnect_user(user, which, ending);
            }
            act => return Some(act),
        }
        None
    }

    /// Sends a prepared request of a user.
    #[inline]
    fn send_request<N: Network>(
        &mut self,
        c: &mut WorkerConnections<N>,
        (user, due): (UserId, Nanos),
        request: RequestId,
        batch: Option<BatchMember>,
    ) -> SendResult {
        let source = self.sources.of(user);
        if source.iterates() {
            if c.traffic().caches()
                && let Some(sent) = self.cached(c, user, request, due)
            {
                return sent;
            }
        } else if !source.users().by_arrivals() {
            source.start_request(c.limits(), c.now());
        }
        let want = DueRequest::prepared(user, due, request);
        c.add_request(match batch {
            None => want,
            Some(BatchMember { began, on_failure }) => {
                DueRequest { due: began, on_failure: Some(on_failure), held_back: began < due, ..want }
            }
        });
        SendResult::Submitted
    }

    /// Sends a request composed for a user; a request that cannot be composed has failed.
    #[cold]
    fn send_composed<N: Network>(
        &mut self,
        c: &mut WorkerConnections<N>,
        (user, due): (UserId, Nanos),
        draft: &RequestDraft,
    ) -> SendResult {
        let source = self.sources.of(user);
        if !source.iterates() && !source.users().by_arrivals() {
            source.start_request(c.limits(), c.now());
        }
        c.add_composed(user, due, draft);
        SendResult::Submitted
    }

    /// Makes a user that could not reach its server wait before its next request; pauses of the plan pass meanwhile, so
    /// that a failure makes the user neither faster than the plan nor slower than it must be. A user brought by an
    /// arrival does not wait: it continues as after any failed request.
    pub(crate) fn user_backs_off<N: Network>(&mut self, c: &mut WorkerConnections<N>, user: UserId, event: UserEvent) {
        if !self.sources.of(user).users().by_arrivals() {
            if self.others_in_flight(user, event) > 0 {
                // The last request to end decides what the user does.
                let rests = Wakeup { disconnected: true, ..Wakeup::new(user.index(), event, c.event_time()) };
                self.wake_and_act(c, user, rests);
                return;
            }
            c.back_off_user(user);
        }
        self.advance(c, user, c.event_time(), event);
    }

    /// Reschedules a user that used up its step budget without sending: other users run first. The due time of its next
    /// request is unaffected. A user that appears never to send is slowed down, so that it uses little CPU time.
    #[cold]
    fn reschedule<N: Network>(&mut self, c: &mut WorkerConnections<N>, user: UserId, due: Nanos, turns: u32) {
        c.traffic().recorder().counts().endless += u64::from(turns == ENDLESS);
        let until = if turns < ENDLESS { due } else { c.now() + ENDLESS_PAUSE };
        self.sources.pause(user, until);
    }
}
