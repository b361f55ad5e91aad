//! Sources of requests: when arrivals are due, how many users there are, which of them run or pause, and what each does
//! next.

use brunt_contract::UserValues;
use brunt_load::Schedule;
use brunt_measure::Nanos;
use brunt_plan::Change;
use brunt_scenario::{Actions, Scenario, UnsolicitedMessage, Wakeup};

use crate::ids::{OriginId, UserId};
use crate::limits::Limits;
use crate::timers::Pauses;
use crate::virtual_users::VirtualUsers;

/// Maximum delay that is caught up at once if connections are started at a rate.
const CATCH_UP: Nanos = Nanos::from_millis(100);

/// The bounds of a source beyond its schedule or profile.
#[derive(Clone, Debug, Default)]
pub(crate) struct Bounds {
    /// Number of requests (in a flow: iterations) to start, warm-up not counted.
    pub quota: Option<u64>,
    /// Set if each row of a data file is used only once: an iteration number counts when it is assigned, even if the
    /// iteration never begins.
    pub rows_once: bool,
    /// Number of iterations of each user, warm-up not counted.
    pub iterations_per_user: Option<u32>,
    /// Number of users or connections started per second.
    pub start_rate: Option<f64>,
    /// Maximum number of simultaneous users brought by arrivals.
    pub max_users: Option<u32>,
    /// End of the scenario, if it is one of several.
    pub end: Option<ScenarioEnd>,
    /// Number of iterations and groups of the scenarios before this one.
    pub spans_before: u16,
}

/// The end of one scenario among several.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ScenarioEnd {
    /// Time after which no iteration begins; `None` if the scenario ends with its number of iterations.
    pub ends: Option<Nanos>,
    /// Time at which unfinished work is cut; `MAX` if it is never cut.
    pub cut_at: Nanos,
}

/// One worker's share of the load of a scenario.
pub(crate) struct LoadSource {
    schedule: Option<Box<dyn Schedule>>,
    next_due: Nanos,
    scenario: Box<dyn Scenario>,
    users: VirtualUsers,
    pauses: Pauses,
    /// Set if the load is paused, as opposed to over.
    paused: bool,
    /// Number of requests started since the window began.
    started: u64,
    /// Number of iterations that already have a number but begin only after the start steps of their users.
    reserved: u64,
    bounds: Bounds,
    /// Number of iterations of each user since the window began, if that number is limited.
    done: Vec<u32>,
    /// Time at which the next connection may be started, if they are started at a rate.
    next_start: Nanos,
}

impl LoadSource {
    /// Creates a source whose arrivals follow a schedule, or whose users follow a profile; the scenario decides what
    /// they do.
    pub fn new(
        schedule: Option<Box<dyn Schedule>>,
        users: VirtualUsers,
        scenario: Box<dyn Scenario>,
        bounds: Bounds,
    ) -> LoadSource {
        LoadSource {
            schedule,
            next_due: Nanos::MAX,
            scenario,
            users,
            pauses: Pauses::default(),
            paused: false,
            started: 0,
            reserved: 0,
            bounds,
            done: Vec::new(),
            next_start: Nanos::ZERO,
        }
    }

    /// Returns when the next arrival is due; `MAX` if there is none.
    #[inline]
    pub fn next_due(&self) -> Nanos {
        self.next_due
    }

    /// Takes the arrival that is due next.
    #[inline]
    pub fn take_arrival(&mut self, limits: &Limits) -> Nanos {
        let next = match self.schedule.as_mut().and_then(|schedule| schedule.next_due()) {
            Some(since_start) => limits.start + since_start,
            None => Nanos::MAX,
        };
        std::mem::replace(&mut self.next_due, next)
    }

    /// Takes all remaining arrivals due until `now`, in a few lumps, except those of the warm-up. `lump` receives the
    /// due time of the last arrival of each lump and the number of arrivals.
    pub fn take_rest(&mut self, limits: &Limits, now: Nanos, mut lump: impl FnMut(Nanos, u64)) {
        if self.next_due > now {
            return;
        }
        let next = std::mem::replace(&mut self.next_due, Nanos::MAX);
        if next >= limits.window {
            lump(next, 1);
        }
        if let Some(schedule) = &mut self.schedule {
            let (from, until) = (limits.window - limits.start, now - limits.start);
            schedule.take_rest(from, until, &mut |due, many| lump(limits.start + due, many));
        }
    }

    /// Changes the load from `at` on. Arrivals due earlier are unchanged.
    pub fn change(&mut self, limits: &Limits, at: Nanos, change: Change, now: Nanos) {
        let since_start = at - limits.start;
        match change {
            Change::Pause | Change::Drain => self.paused = true,
            Change::Resume => self.paused = false,
            Change::Rate(_) | Change::Users(_) => {}
        }
        if let Some(schedule) = &mut self.schedule {
            let next = schedule.change(since_start, change);
            self.next_due = next.map_or(Nanos::MAX, |since_start| limits.start + since_start);
        }
        // Users running at the end of the window may finish their iterations, as at any end.
        if change != Change::Drain {
            self.users.replan(since_start, change, (now - limits.start, limits.start));
        }
    }

    /// Suspends arrivals until [`LoadSource::resume`]; returns when the next one would have been due.
    pub fn suspend(&mut self) -> Nanos {
        std::mem::replace(&mut self.next_due, Nanos::MAX)
    }

    /// Sets when the next arrival is due.
    pub fn resume(&mut self, next_due: Nanos) {
        self.next_due = next_due;
    }

    /// Calls [`Scenario::wake`].
    #[inline]
    pub fn wake(&mut self, wakeup: Wakeup, values: &mut UserValues, actions: &mut Actions) {
        self.scenario.wake(wakeup, values, actions);
    }

    /// Calls [`Scenario::handles_unsolicited`].
    pub fn hears(&self) -> bool {
        self.scenario.handles_unsolicited()
    }

    /// Calls [`Scenario::on_unsolicited`].
    pub fn hear(&mut self, unasked: UnsolicitedMessage<'_>, values: &mut UserValues, actions: &mut Actions) {
        self.scenario.on_unsolicited(unasked, values, actions);
    }

    /// Calls [`Scenario::on_sent`].
    #[inline]
    pub fn sends(&mut self, user: UserId, at: Nanos, actions: &mut Actions) {
        self.scenario.on_sent(user.index(), at, actions);
    }

    /// Calls [`Scenario::on_delayed`].
    #[inline]
    pub fn delayed(&mut self, user: UserId, own: Nanos, at: Nanos) {
        self.scenario.on_delayed(user.index(), own, at);
    }

    /// Calls [`Scenario::on_leave`]: a user brought by an arrival makes room for another.
    #[inline]
    pub fn leaves(&mut self, user: UserId, at: Nanos, actions: &mut Actions) {
        self.scenario.on_leave(user.index(), at, self.users.by_arrivals(), actions);
    }

    /// Calls [`Scenario::has_iterations`].
    #[inline]
    pub fn iterates(&self) -> bool {
        self.scenario.has_iterations()
    }

    /// Calls [`Scenario::has_start_section`].
    pub fn prepares(&self, user: UserId) -> bool {
        self.scenario.has_start_section(user.index())
    }

    /// Calls [`Scenario::in_flight`].
    pub fn under_way(&self, user: UserId) -> u32 {
        self.scenario.in_flight(user.index())
    }

    /// Calls [`Scenario::is_in_batch`].
    pub fn is_in_batch(&self, user: UserId) -> bool {
        self.scenario.is_in_batch(user.index())
    }

    /// Returns the user brought by an arrival; `None` if the maximum is reached.
    #[inline]
    pub fn add_arrival(&mut self) -> Option<UserId> {
        match self.bounds.max_users {
            Some(most) if self.users.alive() >= most => None,
            _ => Some(self.users.add_arrival()),
        }
    }

    /// Returns `true` if a user may begin another iteration.
    #[inline]
    pub fn has_iteration_left(&self, user: UserId) -> bool {
        let Some(each) = self.bounds.iterations_per_user else { return true };
        self.done.get(user.index().at()).is_none_or(|done| *done < each)
    }

    /// Counts an iteration that a user begins, unless it belongs to the warm-up.
    #[inline]
    pub fn count_iteration(&mut self, user: UserId, limits: &Limits, now: Nanos) {
        if self.bounds.iterations_per_user.is_none() || now < limits.window {
            return;
        }
        let user = user.index().at();
        if self.done.len() <= user {
            self.done.resize(user + 1, 0);
        }
        self.done[user] += 1;
    }

    /// Returns when unfinished work of the scenario is cut; `MAX` if never.
    pub fn next_end(&self) -> Nanos {
        self.bounds.end.map_or(Nanos::MAX, |course| course.cut_at)
    }

    /// Returns `true` once, when unfinished work of the scenario must be cut.
    pub fn is_cut(&mut self, now: Nanos) -> bool {
        let cut = self.bounds.end.as_mut().filter(|course| course.cut_at <= now);
        cut.is_some_and(|course| std::mem::replace(&mut course.cut_at, Nanos::MAX) <= now)
    }

    /// Sets the number of users to that of the profile at `now`. If they start at a rate, the users of all workers take
    /// turns.
    pub fn change_users(&mut self, limits: &Limits, now: Nanos) {
        let (at, waited) = (self.users.next_change(), self.users.any_to_start());
        self.users.change(now - limits.start, limits.start);
        if let Some(rate) = self.bounds.start_rate
            && !waited
            && self.users.any_to_start()
        {
            let later = Nanos::from_secs_f64(self.users.part_before(at - limits.start) / rate);
            self.next_start = self.next_start.max(at.saturating_add(later));
        }
    }

    /// Returns `true` if users are to be started.
    pub fn any_to_start(&self) -> bool {
        self.users.any_to_start()
    }

    /// Returns the origin of the `nth` connection opened ahead of time.
    pub fn origin(&mut self, nth: u32) -> OriginId {
        self.scenario.origin_of(nth)
    }

    #[inline]
    pub fn users(&mut self) -> &mut VirtualUsers {
        &mut self.users
    }

    /// Pauses a user until `until`.
    pub fn pause(&mut self, user: UserId, until: Nanos) {
        self.pauses.add(until, user);
    }

    /// Returns the pausing users.
    pub fn pauses(&mut self) -> &mut Pauses {
        &mut self.pauses
    }

    /// Returns the number of iterations and groups of the scenarios before this one.
    pub fn spans_before(&self) -> u16 {
        self.bounds.spans_before
    }

    /// Returns when the next pause is over.
    #[inline]
    pub fn next_wake(&self) -> Nanos {
        self.pauses.next()
    }

    /// Returns the next user whose pause is over, and when it was.
    #[inline]
    pub fn take_woken(&mut self, now: Nanos) -> Option<(Nanos, UserId)> {
        self.pauses.due(now)
    }

    /// Counts a request started by a user of a closed load; those of the warm-up are not counted.
    #[inline]
    pub fn start_request(&mut self, limits: &Limits, now: Nanos) {
        self.started += u64::from(now >= limits.window);
    }

    /// Records that a user has the number of its first iteration, but start steps to perform first.
    pub fn reserve_iteration(&mut self) {
        self.reserved += 1;
    }

    /// Records that a reserved iteration begins, or that its user leaves first.
    pub fn release_reserved(&mut self, begins: bool) {
        self.reserved -= 1;
        self.started += u64::from(!begins && self.bounds.rows_once);
    }

    /// Returns `true` if the quota of requests was started.
    #[inline]
    pub fn quota_spent(&self, limits: &Limits, now: Nanos) -> bool {
        self.bounds.quota.is_some_and(|quota| self.started + self.reserved >= quota) && now >= limits.window
    }

    /// Returns `true` if the source has no further requests.
    pub fn is_over(&self, limits: &Limits, now: Nanos) -> bool {
        if self.users.by_arrivals() {
            // Without a number of requests, the run lasts for the requested time, even if the last arrival is earlier.
            let no_more = self.next_due == Nanos::MAX && !self.paused;
            let ends = match self.bounds.end {
                None => limits.until_quota || limits.end.is_none(),
                Some(course) => course.ends.is_none_or(|end| now >= end),
            };
            return no_more && ends && !self.is_within_iterations();
        }
        let no_more = self.users.next_change() == Nanos::MAX && !self.paused;
        let all_have = self.bounds.iterations_per_user.is_some() && self.users.all_started();
        let nobody_comes = no_more && !self.users.any_to_start();
        self.users.alive() == 0 && (nobody_comes || all_have || self.quota_spent(limits, now))
    }

    /// Returns `true` if users are in the middle of an iteration.
    pub fn is_within_iterations(&self) -> bool {
        self.iterates() && self.users.alive() > 0
    }

    /// Returns when the next connection may be started according to `--connect-rate`.
    pub fn next_start(&self) -> Nanos {
        self.next_start
    }

    /// Returns `true` if a connection may be started now.
    pub fn start_is_due(&self, now: Nanos) -> bool {
        self.next_start <= now
    }

    /// Like [`LoadSource::start_is_due`], but also consumes the permit.
    pub fn take_start_permit(&mut self, now: Nanos) -> bool {
        let Some(rate) = self.bounds.start_rate else { return true };
        if !self.start_is_due(now) {
            return false;
        }
        // Delays while the loop was busy are caught up, up to a limit.
        let from = self.next_start.max(Nanos(now.0.saturating_sub(CATCH_UP.0)));
        self.next_start = from + Nanos::from_secs_f64(1.0 / rate);
        true
    }
}

#[cfg(test)]
mod tests {
    use brunt_scenario::RequestMix;

    use super::*;
    use crate::ids::ScenarioId;

    struct EveryTenNanos(u64);

    impl Schedule for EveryTenNanos {
        fn next_due(&mut self) -> Option<Nanos> {
            self.0 += 10;
            (self.0 <= 30).then_some(Nanos(self.0))
        }
        fn change(&mut self, _: Nanos, _: brunt_plan::Change) -> Option<Nanos> {
            self.next_due()
        }
        fn take_rest(&mut self, _: Nanos, until: Nanos, lump: &mut dyn FnMut(Nanos, u64)) {
            while let Some(due) = self.next_due().filter(|due| *due <= until) {
                lump(due, 1);
            }
        }
    }

    fn source(schedule: Option<Box<dyn Schedule>>, quota: Option<u64>) -> LoadSource {
        let scenario = Box::new(RequestMix::new([(1.0, OriginId(0))].into_iter()));
        LoadSource::new(
            schedule,
            VirtualUsers::new(None, ScenarioId(0)),
            scenario,
            Bounds { quota, ..Bounds::default() },
        )
    }

    fn limits() -> Limits {
        Limits { window: Nanos(100), start: Nanos(1000), ..Limits::default() }
    }

    #[test]
    fn arrivals_are_due_on_the_clock_of_the_run_and_each_is_taken_once() {
        let (mut source, limits) = (source(Some(Box::new(EveryTenNanos(0))), None), limits());
        assert_eq!(source.take_arrival(&limits), Nanos::MAX, "before the first is drawn");
        let taken: Vec<u64> = (0..3).map(|_| source.take_arrival(&limits).0).collect();
        assert_eq!((taken, source.next_due()), (vec![1010, 1020, 1030], Nanos::MAX));
        assert!(source.is_over(&limits, Nanos(5000)));
    }

    #[test]
    fn the_rest_is_what_is_due_and_was_not_taken() {
        let rest = |now| {
            let (mut source, mut lumps) = (source(Some(Box::new(EveryTenNanos(0))), None), Vec::new());
            source.take_arrival(&limits());
            source.take_rest(&limits(), Nanos(now), |due, many| lumps.push((due.0, many)));
            lumps
        };
        assert_eq!(rest(1009), []);
        assert_eq!(rest(1015), [(1010, 1)]);
        assert_eq!(rest(9000), [(1010, 1), (1020, 1), (1030, 1)]);
    }

    #[test]
    fn what_was_suspended_is_due_when_it_is_told() {
        let (mut source, limits) = (source(Some(Box::new(EveryTenNanos(0))), None), limits());
        source.take_arrival(&limits);
        assert_eq!((source.suspend(), source.next_due()), (Nanos(1010), Nanos::MAX));
        source.resume(Nanos(7010));
        assert_eq!(source.take_arrival(&limits), Nanos(7010));
    }

    #[test]
    fn requests_of_the_warm_up_are_not_of_the_quota() {
        let (mut source, limits) = (source(None, Some(2)), limits());
        (0..5).for_each(|_| source.start_request(&limits, Nanos(99)));
        source.start_request(&limits, Nanos(100));
        assert!(!source.quota_spent(&limits, Nanos(100)));
        source.start_request(&limits, Nanos(101));
        assert!(source.quota_spent(&limits, Nanos(101)) && !source.quota_spent(&limits, Nanos(99)));
    }

    #[test]
    fn who_leaves_before_its_iteration_leaves_it_to_others_but_not_its_row() {
        let limits = limits();
        for rows_once in [false, true] {
            let mut source = source(None, Some(2));
            source.bounds.rows_once = rows_once;
            (0..2).for_each(|_| source.reserve_iteration());
            assert!(source.quota_spent(&limits, Nanos(100)), "both are spoken for");
            source.release_reserved(true);
            source.start_request(&limits, Nanos(100));
            source.release_reserved(false);
            assert_eq!(source.quota_spent(&limits, Nanos(100)), rows_once);
        }
    }

    #[test]
    fn no_more_users_come_than_there_may_be_and_each_has_so_many_iterations() {
        let mut source = source(None, None);
        (source.bounds.max_users, source.bounds.iterations_per_user) = (Some(2), Some(3));
        assert_eq!([(); 3].map(|()| source.add_arrival()), [Some(UserId(0)), Some(UserId(1)), None]);
        source.users().end(UserId(0));
        assert_eq!(source.add_arrival(), Some(UserId(0)));
        let limits = limits();
        (0..9).for_each(|_| source.count_iteration(UserId(1), &limits, Nanos(99)));
        let mut begins = |user| (source.has_iteration_left(user), source.count_iteration(user, &limits, Nanos(100))).0;
        let left = [UserId(1); 4].map(&mut begins);
        assert_eq!((left, source.has_iteration_left(UserId(0))), ([true, true, true, false], true));
    }

    #[test]
    fn what_is_left_of_a_scenario_is_cut_once() {
        let mut source = source(None, None);
        source.bounds.end = Some(ScenarioEnd { ends: Some(Nanos(10)), cut_at: Nanos(20) });
        assert_eq!(
            [source.is_cut(Nanos(19)), source.is_cut(Nanos(20)), source.is_cut(Nanos(30))],
            [false, true, false]
        );
        assert_eq!(source.next_end(), Nanos::MAX);
    }

    #[test]
    fn connections_are_begun_at_a_rate_and_little_of_a_delay_is_made_up_for() {
        let mut source = source(None, None);
        source.bounds.start_rate = Some(100.0);
        let begun = |source: &mut LoadSource, at: u64| {
            (0..1000).filter(|_| source.take_start_permit(Nanos::from_millis(at))).count()
        };
        begun(&mut source, 5000);
        assert_eq!([begun(&mut source, 5005), begun(&mut source, 5010)], [0, 1]);
        assert_eq!(begun(&mut source, 9000), 11, "a tenth of a second, not four");
    }
}
