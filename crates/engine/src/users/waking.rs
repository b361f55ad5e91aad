//! A user to whom something happened: what its scenario says that it does next, within the limits of the run.

use measure::Nanos;
use scenario::{Act, ENDLESS, InBatch, News, Woken};
use wire::{Network, Values};

use crate::connections::Connections;
use crate::exchange::NONE;
use crate::sources::scenario_of;
use crate::want::Want;

use super::Users;

/// So long whoever is in a loop that sends nothing rests after each thousand steps.
const ENDLESS_PAUSE: Nanos = Nanos::from_millis(10);

/// What became of a prepared request that a user was to send.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Sent {
    /// It is on its way.
    Wanted,
    /// Its user has the answer, a page that is looked into first.
    Looked,
    /// Its user has the answer.
    Recalled,
}

impl Users {
    /// 2. What a user does next; a request it sends is due at `due`. The place where the choice of the scenario meets the limits of
    ///    the run.
    #[inline]
    pub(crate) fn ask<N: Network>(&mut self, c: &mut Connections<N>, user: u32, due: Nanos, news: News) {
        let source = self.source.of(user);
        let (arrives, iterates) = (source.users().arrive(), source.iterates());
        let news = if arrives || self.may_go_on(c, user, news) { news } else { News::NoMore };
        if iterates && news == News::Begin {
            let prepares = self.source.of(user).prepares(user);
            self.iteration_begins(c, user, !prepares);
        }
        let conn = c.conn_of(user);
        let waits = if arrives || conn != NONE { Nanos::ZERO } else { c.waits(user) };
        let rests = waits > c.stamp && self.others_under_way(user, news) == 0;
        if !rests && !arrives && conn == NONE && c.held.is_some() && news != News::NoMore {
            return self.user_connects(c, user);
        }
        let on = if conn == NONE { None } else { Some(c.links.conn(conn).origin) };
        let last = self.acts(c, Woken { on, rests, ..Woken::new(user, news, due) });
        match last {
            None if rests => self.source.pause(user, waits),
            None | Some(Act::Wait) => {}
            Some(Act::Busy(turns)) => self.goes_on_later(c, user, due, turns),
            Some(Act::Pause(pause)) if iterates => self.source.pause(user, due.saturating_add(pause)),
            Some(Act::Pause(pause)) => self.source.pause(user, c.stamp + pause),
            Some(Act::Hold) => self.user_holds(c, user),
            // The next begins when this one was over, however late we are.
            Some(Act::Done) if iterates && !arrives => self.ask(c, user, due, News::Begin),
            Some(_) => self.user_ends(c, user),
        }
    }

    /// False: a user in closed load begins nothing further, though it may have something left to do. An iteration that began goes on though its
    /// user is retired, all were started that were asked for, or the window is over; the end of the drain cuts it.
    #[inline]
    fn may_go_on<N: Network>(&mut self, c: &mut Connections<N>, user: u32, news: News) -> bool {
        let over = c.window_over();
        let source = self.source.of(user);
        let iterates = source.iterates();
        if iterates && news != News::Begin {
            return true;
        }
        let spent = source.quota_spent(&c.limits, c.stamp) && !(iterates && c.flights.has_number(user));
        !over && source.users().may_go_on(user) && !spent && source.has_another(user)
    }

    /// Requests of a user that are under way beside the one whose end it is told of.
    fn others_under_way(&mut self, user: u32, news: News) -> u32 {
        let ended = matches!(news, News::Ended { .. } | News::Recalled);
        self.source.of(user).under_way(user).saturating_sub(u32::from(ended))
    }

    /// A user does what its scenario says: all that it sends at once leaves. What it comes to in the end; None: it waits for that.
    #[inline]
    fn acts<N: Network>(&mut self, c: &mut Connections<N>, mut woken: Woken) -> Option<Act> {
        let user = woken.user;
        let mut acts = std::mem::take(&mut self.acts);
        let (mut last, mut recalled) = (None, 0_u32);
        loop {
            let mut none = Values::default();
            let values = c.memories.as_mut().map_or(&mut none, |memories| &mut memories.of(user).values);
            self.source.of(user).wake(woken, values, &mut acts);
            while let Some(act) = acts.pop_front() {
                let sent = match act {
                    Act::Send(request) => self.sends(c, (user, woken.at), request, None),
                    Act::SendTogether(request, batch) => self.sends(c, (user, woken.at), request, Some(batch)),
                    act => {
                        last = self.notes(c, user, act).or(last);
                        continue;
                    }
                };
                match sent {
                    Sent::Recalled => recalled += 1,
                    Sent::Looked => {}
                    Sent::Wanted => self.source.of(user).sends(user, woken.at, &mut acts),
                }
            }
            // Whoever had the answer goes on as if it had come.
            if recalled == 0 {
                break;
            }
            recalled -= 1;
            woken = Woken { news: News::Recalled, rests: false, ..woken };
        }
        self.acts = acts;
        last
    }

    /// What is only to be noted of a user; else that is handed back.
    #[inline]
    pub(super) fn notes<N: Network>(&mut self, c: &mut Connections<N>, user: u32, act: Act) -> Option<Act> {
        match act {
            Act::Tell(told) => self.tell(c, scenario_of(user), &told),
            Act::Stop(stops) => c.books.steps_stop(stops, self.source.of(user).users().arrive()),
            Act::Close(which) => {
                if c.anew.is_some() {
                    let ending = self.is_ending(c);
                    c.goes_away(user, which, ending);
                }
            }
            act => return Some(act),
        }
        None
    }

    /// A user is to send a prepared request.
    #[inline]
    fn sends<N: Network>(
        &mut self,
        c: &mut Connections<N>,
        (user, due): (u32, Nanos),
        request: u32,
        batch: Option<InBatch>,
    ) -> Sent {
        let source = self.source.of(user);
        if source.iterates() {
            if c.recalls
                && let Some(sent) = self.is_there(c, user, request, due)
            {
                return sent;
            }
        } else if !source.users().arrive() {
            source.start_request(&c.limits, c.stamp);
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

    /// A user could reach nobody: it is woken after a while. One whom an arrival brought leaves.
    pub(crate) fn user_backs_off<N: Network>(&mut self, c: &mut Connections<N>, user: u32, news: News) {
        let rests = Woken { rests: true, ..Woken::new(user, news, c.stamp) };
        if self.acts(c, rests) == Some(Act::Wait) {
            return;
        }
        if self.source.of(user).users().arrive() {
            return self.user_ends(c, user);
        }
        let until = c.user_set_back(user);
        self.source.pause(user, until);
    }

    /// A user has gone through many steps that send nothing: others have their turn. What it sends next is due when it would have been
    /// without. One that seems never to send anything takes little of the processor from then on.
    #[cold]
    fn goes_on_later<N: Network>(&mut self, c: &mut Connections<N>, user: u32, due: Nanos, turns: u32) {
        c.books.counts().endless += u64::from(turns == ENDLESS);
        let until = if turns < ENDLESS { due } else { c.stamp + ENDLESS_PAUSE };
        self.source.pause(user, until);
    }
}
