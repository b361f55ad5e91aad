//! The virtual users of one worker. A closed load starts and retires them according to its profile; in an open load,
//! each arrival is the visit of a user, which leaves at the end of the visit.

use brunt_load::UserProfile;
use brunt_measure::Nanos;
use brunt_plan::Change;
use brunt_scenario::UserIndex;

use crate::ids::{ScenarioId, UserId};

/// The virtual users, by their numbers.
#[derive(Debug)]
pub(crate) struct VirtualUsers {
    /// Number of users over time; `None` if arrivals bring them.
    profile: Option<UserProfile>,
    /// The scenario of the users.
    scenario: ScenarioId,
    /// Set for each user that runs or is about to start.
    running: Vec<bool>,
    /// Free user numbers, in an open load.
    free: Vec<UserIndex>,
    alive: u32,
    /// Number of users that may run.
    target: u32,
    next_change: Nanos,
    /// Users to be started, the next one last.
    starting: Vec<UserIndex>,
    /// Set once the first users are due to start.
    begun: bool,
}

impl VirtualUsers {
    /// Creates the users of a scenario according to a profile; without a profile, arrivals bring them.
    pub fn new(profile: Option<UserProfile>, scenario: ScenarioId) -> VirtualUsers {
        let peak = profile.as_ref().map_or(0, UserProfile::peak) as usize;
        VirtualUsers {
            profile,
            scenario,
            running: vec![false; peak],
            free: Vec::new(),
            alive: 0,
            target: 0,
            next_change: Nanos::MAX,
            starting: Vec::new(),
            begun: false,
        }
    }

    /// Returns `true` if arrivals bring the users.
    #[inline]
    pub fn by_arrivals(&self) -> bool {
        self.profile.is_none()
    }

    /// Returns the maximum number of users of a closed load.
    pub fn peak(&self) -> u32 {
        self.profile.as_ref().map_or(0, UserProfile::peak)
    }

    /// Returns the number of running users, excluding those still to be started.
    pub fn alive(&self) -> u32 {
        self.alive
    }

    /// Adds the user brought by an arrival.
    #[inline]
    pub fn add_arrival(&mut self) -> UserId {
        self.alive += 1;
        let user = match self.free.pop() {
            Some(user) => user,
            None => {
                self.running.push(false);
                UserIndex::of(self.running.len() - 1)
            }
        };
        self.running[user.at()] = true;
        UserId::within(self.scenario, user)
    }

    /// Returns when the number of users changes next.
    pub fn next_change(&self) -> Nanos {
        self.next_change
    }

    /// Sets when the number of users first changes; no effect if arrivals bring them.
    pub fn begin_at(&mut self, at: Nanos) {
        if !self.by_arrivals() {
            self.next_change = at;
        }
    }

    /// Stops changing the number of users, and cancels pending starts.
    pub fn stop_starting(&mut self) {
        self.next_change = Nanos::MAX;
        self.cancel_starts_from(0);
    }

    /// Cancels the start of the users from `first` on.
    fn cancel_starts_from(&mut self, first: u32) {
        let running = &mut self.running;
        self.starting.retain(|user| {
            let starts = user.0 < first;
            running[user.at()] &= starts;
            starts
        });
    }

    /// Changes the number of users from `at` on (since the start of the run); `now` is the time since `start`.
    pub fn replan(&mut self, at: Nanos, change: Change, (now, start): (Nanos, Nanos)) {
        let Some(profile) = &mut self.profile else { return };
        profile.change(at, change);
        if self.begun {
            let next = if at <= now { Some(now) } else { profile.next_change(now) };
            self.next_change = next.map_or(Nanos::MAX, |t| start + t);
        }
    }

    /// Sets the number of users for a time since the start of the run.
    pub fn change(&mut self, since_start: Nanos, start: Nanos) {
        let Some(profile) = &self.profile else { return };
        self.begun = true;
        self.target = profile.at(since_start);
        self.next_change = profile.next_change(since_start).map_or(Nanos::MAX, |t| start + t);
        if self.running.len() < self.target as usize {
            self.running.resize(self.target as usize, false);
        }
        self.cancel_starts_from(self.target);
        for user in (0..self.target).rev().map(UserIndex) {
            if !std::mem::replace(&mut self.running[user.at()], true) {
                self.starting.push(user);
            }
        }
    }

    /// Returns the fraction of a round of dealing that precedes this worker's first user, if users that start at this
    /// time (since the start of the run) are dealt to the workers in turn.
    pub fn part_before(&self, since_start: Nanos) -> f64 {
        self.profile.as_ref().map_or(0.0, |profile| profile.part_before(since_start))
    }

    /// Returns `true` if users remain to be started.
    pub fn any_to_start(&self) -> bool {
        !self.starting.is_empty()
    }

    /// Starts the next user.
    pub fn start(&mut self) -> Option<UserId> {
        let user = self.starting.pop()?;
        self.alive += 1;
        Some(UserId::within(self.scenario, user))
    }

    /// Returns `true` if the first users are due to start and no user is left to be started.
    pub fn all_started(&self) -> bool {
        self.begun && self.starting.is_empty()
    }

    /// Returns `true` if a user may continue, i.e. it was not retired.
    #[inline]
    pub fn may_go_on(&self, user: UserId) -> bool {
        self.by_arrivals() || user.index().0 < self.target
    }

    /// Ends a user's visit; returns `false` if it had already ended.
    #[inline]
    pub fn end(&mut self, user: UserId) -> bool {
        let user = user.index();
        let ended = self.running.get_mut(user.at()).is_some_and(std::mem::take);
        if ended {
            self.alive -= 1;
            if self.profile.is_none() {
                self.free.push(user);
            }
        }
        ended
    }

    /// Returns `true` if a user is running.
    pub fn is_running(&self, user: UserId) -> bool {
        self.running.get(user.index().at()).copied().unwrap_or(false)
    }

    /// Returns the running users.
    pub fn running(&self) -> Vec<UserId> {
        let running = self.running.iter().enumerate().filter(|(_, running)| **running);
        running.map(|(number, _)| UserId::within(self.scenario, UserIndex::of(number))).collect()
    }
}

#[cfg(test)]
mod tests {
    use brunt_plan::{Load, Share, Stage};

    use super::*;

    fn closed(from: f64, to: f64) -> VirtualUsers {
        let stages = vec![Stage { lasts: Nanos::from_secs(10), from, to }, Stage { lasts: Nanos(1), from: to, to }];
        let load = Load::Closed { stages, think: None, together: false };
        VirtualUsers::new(Some(UserProfile::new(&load, Nanos::ZERO, Share::WHOLE)), ScenarioId(0))
    }

    #[test]
    fn arrivals_bring_users_and_take_the_numbers_of_those_who_left() {
        let mut users = VirtualUsers::new(None, ScenarioId(0));
        assert_eq!([(); 3].map(|()| users.add_arrival()), [0, 1, 2].map(UserId));
        assert_eq!((users.end(UserId(1)), users.end(UserId(1)), users.alive()), (true, false, 2));
        assert_eq!([users.add_arrival(), users.add_arrival()], [1, 3].map(UserId));
        assert!(users.may_go_on(UserId(3)) && users.next_change() == Nanos::MAX);
        users.begin_at(Nanos(5));
        assert_eq!(users.next_change(), Nanos::MAX, "no profile ever changes their number");
    }

    #[test]
    fn a_profile_starts_users_in_order_and_retires_the_last_ones() {
        let mut users = closed(3.0, 1.0);
        users.change(Nanos::ZERO, Nanos::ZERO);
        assert_eq!(users.alive(), 0, "nobody has started");
        assert_eq!([(); 4].map(|()| users.start()), [Some(UserId(0)), Some(UserId(1)), Some(UserId(2)), None]);
        assert!(users.all_started() && users.alive() == 3);
        users.change(Nanos::from_secs(10), Nanos::ZERO);
        assert!(users.may_go_on(UserId(0)) && !users.may_go_on(UserId(1)));
        assert_eq!((users.end(UserId(2)), users.alive(), users.any_to_start()), (true, 2, false));
    }

    #[test]
    fn another_number_is_started_at_its_moment_and_beyond_what_was_planned() {
        let mut users = closed(3.0, 3.0);
        users.begin_at(Nanos(5));
        users.replan(Nanos::ZERO, Change::Users(2), (Nanos::ZERO, Nanos(5)));
        assert_eq!(users.next_change(), Nanos(5), "the run has not begun");
        users.change(Nanos::ZERO, Nanos(5));
        let start_all = |users: &mut VirtualUsers| while users.start().is_some() {};
        start_all(&mut users);
        assert_eq!(users.alive(), 2);
        users.replan(Nanos(100), Change::Users(6), (Nanos(10), Nanos(5)));
        assert_eq!(users.next_change(), Nanos(105));
        users.change(Nanos(100), Nanos(5));
        start_all(&mut users);
        assert_eq!((users.alive(), users.next_change()), (6, Nanos::MAX));
        users.replan(Nanos(120), Change::Pause, (Nanos(150), Nanos(5)));
        assert_eq!(users.next_change(), Nanos(155), "heard of too late: at once");
        users.change(Nanos(150), Nanos(5));
        assert!(!users.may_go_on(UserId(0)));
    }

    #[test]
    fn what_was_to_start_does_not_once_the_end_has_come() {
        let mut users = closed(4.0, 4.0);
        users.begin_at(Nanos(7));
        assert_eq!(users.next_change(), Nanos(7));
        users.change(Nanos::ZERO, Nanos::ZERO);
        assert_eq!(users.start(), Some(UserId(0)));
        users.stop_starting();
        assert_eq!((users.start(), users.running(), users.next_change()), (None, vec![UserId(0)], Nanos::MAX));
    }

    #[test]
    fn who_is_retired_before_its_start_is_not_started() {
        let mut users = closed(4.0, 1.0);
        users.change(Nanos::ZERO, Nanos::ZERO);
        assert_eq!(users.start(), Some(UserId(0)));
        users.change(Nanos::from_secs(10), Nanos::ZERO);
        assert_eq!((users.start(), users.alive(), users.running()), (None, 1, vec![UserId(0)]));
    }
}
