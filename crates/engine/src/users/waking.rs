//! Waking of users: after an event, the scenario decides what the user does next, within the limits of the run.

use measure::Nanos;
use scenario::{Act, Acts, ENDLESS, InBatch, News, Unasked, Woken};
use wire::{Draft, Network, Values};

use crate::connections::Connections;
use crate::ids::{RequestId, UserId};
use crate::want::Want;

use super::Users;

/// Pause after each thousand steps of a user in a loop that sends nothing.
const ENDLESS_PAUSE: Nanos = Nanos::from_millis(10);

/// The result of sending a prepared request.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Sent {
    /// The request was submitted.
    Wanted,
    /// The user's cache has the answer, a page that is parsed first.
    Looked,
    /// The user's cache has the answer.
    Recalled,
}

impl Users {
    /// Step 2: decides what a user does next; a request it sends is due at `due`. This is where the scenario's choice
    /// meets the limits of the run.
    #[inline]
    pub(crate) fn ask<N: Network>(&mut self, c: &mut Connections<N>, user: UserId, due: Nanos, news: News) {
        let source = self.source.of(user);
        let (arrives, iterates) = (source.users().arrive(), source.iterates());
        let news = if arrives || self.may_go_on(c, user, news) { news } else { News::NoMore };
        if iterates && news == News::Begin {
            let prepares = self.source.of(user).prepares(user);
            self.iteration_begins(c, user, !prepares);
        }
        let on = c.own_leads_to(user);
        let waits = if arrives || on.is_some() { Nanos::ZERO } else { c.waits(user) };
        let rests = waits > c.now() && self.others_under_way(user, news) == 0;
        if !rests && !arrives && on.is_none() && c.are_fixed() && news != News::NoMore {
            return self.user_connects(c, user);
        }
        match self.acts(c, user, Woken { on, rests, ..Woken::new(user.index(), news, due) }) {
            None if rests => self.source.pause(user, waits),
            last => self.comes_to(c, user, due, last),
        }
    }

    /// Performs the final action of a user, after its requests.
    #[inline]
    fn comes_to<N: Network>(&mut self, c: &mut Connections<N>, user: UserId, due: Nanos, last: Option<Act>) {
        let source = self.source.of(user);
        let (arrives, iterates) = (source.users().arrive(), source.iterates());
        match last {
            None | Some(Act::Wait) => {}
            Some(Act::Busy(turns)) => self.goes_on_later(c, user, due, turns),
            Some(Act::Pause(pause)) if iterates => self.source.pause(user, due.saturating_add(pause)),
            Some(Act::Pause(pause)) => self.source.pause(user, c.now() + pause),
            Some(Act::Hold) => self.user_holds(c, user),
            // The next iteration begins when this one was over, however late we are.
            Some(Act::Done) if iterates && !arrives => self.ask(c, user, due, News::Begin),
            Some(_) => self.user_ends(c, user),
        }
    }

    /// Passes an unsolicited message to its user. A user that begins nothing further receives it, but sends nothing in
    /// response.
    #[cold]
    pub(super) fn hears<N: Network>(&mut self, c: &mut Connections<N>, user: UserId, message: &[u8]) {
        let source = self.source.of(user);
        if !source.hears() || !source.users().is_running(user) {
            return;
        }
        let mut acts = std::mem::take(&mut self.acts);
        let (mut none, at) = (Values::default(), c.heard());
        let values = c.traffic().values(user, &mut none);
        source.hear(Unasked { user: user.index(), at, message }, values, &mut acts);
        if !self.may_go_on(c, user, News::Awake) {
            acts.retain(|act| matches!(act, Act::Tell(_) | Act::Stop(_) | Act::Leave));
        }
        let last = self.does(c, (user, at), acts);
        self.comes_to(c, user, at, last);
    }

    /// Returns `false` if a user in closed load begins nothing further, though it may have something left to do. An
    /// iteration that began goes on even if its user is retired, the quota is used up, or the window is over; the end
    /// of the drain cuts it.
    #[inline]
    fn may_go_on<N: Network>(&mut self, c: &mut Connections<N>, user: UserId, news: News) -> bool {
        let over = c.window_over();
        let source = self.source.of(user);
        let iterates = source.iterates();
        if iterates && news != News::Begin {
            return true;
        }
        let spent = source.quota_spent(c.limits(), c.now()) && !(iterates && c.traffic().has_number(user));
        !over && source.users().may_go_on(user) && !spent && source.has_another(user)
    }

    /// Returns the number of a user's requests in flight, apart from the one whose end it is told of.
    fn others_under_way(&mut self, user: UserId, news: News) -> u32 {
        let ended = matches!(news, News::Ended { .. } | News::Recalled);
        self.source.of(user).under_way(user).saturating_sub(u32::from(ended))
    }

    /// Wakes a user and performs its actions: all its requests are submitted. Returns its final action, or `None` if it
    /// waits for a response.
    #[inline]
    fn acts<N: Network>(&mut self, c: &mut Connections<N>, user: UserId, woken: Woken) -> Option<Act> {
        let mut acts = std::mem::take(&mut self.acts);
        self.wake(c, user, woken, &mut acts);
        self.does(c, (user, woken.at), acts)
    }

    #[inline]
    fn wake<N: Network>(&mut self, c: &mut Connections<N>, user: UserId, woken: Woken, acts: &mut Acts) {
        let mut none = Values::default();
        let values = c.traffic().values(user, &mut none);
        self.source.of(user).wake(woken, values, acts);
    }

    /// Performs a user's actions: all its requests are submitted. Returns its final action, or `None` if it waits for a
    /// response.
    #[inline]
    fn does<N: Network>(&mut self, c: &mut Connections<N>, (user, at): (UserId, Nanos), mut acts: Acts) -> Option<Act> {
        let (mut last, mut recalled) = (None, 0_u32);
        loop {
            while let Some(act) = acts.pop_front() {
                let sent = match act {
                    Act::Send(request) => self.sends(c, (user, at), request, None),
                    Act::SendTogether(request, batch) => self.sends(c, (user, at), request, Some(batch)),
                    Act::Compose(draft) => self.sends_composed(c, (user, at), &draft),
                    act => {
                        last = self.notes(c, user, act).or(last);
                        continue;
                    }
                };
                match sent {
                    Sent::Recalled => recalled += 1,
                    Sent::Looked => {}
                    Sent::Wanted => self.source.of(user).sends(user, at, &mut acts),
                }
            }
            // A user whose cache had the answer goes on as if a response had come.
            if recalled == 0 {
                break;
            }
            recalled -= 1;
            self.wake(c, user, Woken::new(user.index(), News::Recalled, at), &mut acts);
        }
        self.acts = acts;
        last
    }

    /// Performs an action that is only recorded; any other is returned.
    #[inline]
    pub(super) fn notes<N: Network>(&mut self, c: &mut Connections<N>, user: UserId, act: Act) -> Option<Act> {
        match act {
            Act::Tell(told) => self.tell(c, user.scenario(), &told),
            Act::Stop(stops) => c.traffic().books().steps_stop(stops, self.source.of(user).users().arrive()),
            Act::Close(which) => {
                let ending = self.is_ending(c);
                c.goes_away(user, which, ending);
            }
            act => return Some(act),
        }
        None
    }

    /// Sends a prepared request of a user.
    #[inline]
    fn sends<N: Network>(
        &mut self,
        c: &mut Connections<N>,
        (user, due): (UserId, Nanos),
        request: RequestId,
        batch: Option<InBatch>,
    ) -> Sent {
        let source = self.source.of(user);
        if source.iterates() {
            if c.traffic().recalls()
                && let Some(sent) = self.is_there(c, user, request, due)
            {
                return sent;
            }
        } else if !source.users().arrive() {
            source.start_request(c.limits(), c.now());
        }
        let want = Want::prepared(user, due, request);
        c.want(match batch {
            None => want,
            Some(InBatch { began, on_failure }) => {
                Want { due: began, on_failure: Some(on_failure), held_back: began < due, ..want }
            }
        });
        Sent::Wanted
    }

    /// Sends a request composed for a user; one that cannot be composed has failed.
    #[cold]
    fn sends_composed<N: Network>(
        &mut self,
        c: &mut Connections<N>,
        (user, due): (UserId, Nanos),
        draft: &Draft,
    ) -> Sent {
        let source = self.source.of(user);
        if !source.iterates() && !source.users().arrive() {
            source.start_request(c.limits(), c.now());
        }
        c.want_composed(user, due, draft);
        Sent::Wanted
    }

    /// Lets a user that could not reach its server wait before it goes on. A user brought by an arrival is not held
    /// back: it goes on as after any failed request.
    pub(crate) fn user_backs_off<N: Network>(&mut self, c: &mut Connections<N>, user: UserId, news: News) {
        if self.source.of(user).users().arrive() {
            return self.ask(c, user, c.heard(), news);
        }
        let rests = Woken { rests: true, ..Woken::new(user.index(), news, c.now()) };
        // Failing makes no user faster: one that would have paused anyway pauses for the longer of both.
        let pause = match self.acts(c, user, rests) {
            Some(Act::Wait) => return,
            Some(Act::Pause(pause)) => pause,
            _ => Nanos::ZERO,
        };
        let until = c.user_set_back(user, pause);
        self.source.pause(user, until);
    }

    /// Reschedules a user that used up its step budget without sending: other users run first. Its next request is due
    /// when it would have been otherwise. A user that seems never to send takes little CPU time from then on.
    #[cold]
    fn goes_on_later<N: Network>(&mut self, c: &mut Connections<N>, user: UserId, due: Nanos, turns: u32) {
        c.traffic().books().counts().endless += u64::from(turns == ENDLESS);
        let until = if turns < ENDLESS { due } else { c.now() + ENDLESS_PAUSE };
        self.source.pause(user, until);
    }
}
