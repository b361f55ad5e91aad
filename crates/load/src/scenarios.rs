//! Scenarios side by side: the course that each takes in the time of the run.
//!
//! A scenario that begins with the run takes part in its warm-up; one that begins later has none. All moments are since the
//! start of the run.

use measure::{Nanos, Rng};
use plan::{Change, Plan, Scenario, Share};

use crate::{Numbers, Schedule, Users, arrivals, ends, numbers_of};

/// One scenario's way through the run, as one worker takes its share of it.
#[derive(Clone, Copy, Debug)]
pub struct Course<'a> {
    scenario: &'a Scenario,
    /// When it begins.
    begins: Nanos,
    /// How much of the warm-up it takes part in.
    warmup: Nanos,
    share: Share,
    seed: u64,
}

impl<'a> Course<'a> {
    /// That of a plan's scenario of this number. The first worker does not have the first user, or the odd one, of all of them.
    pub fn of(plan: &'a Plan, number: usize, share: Share) -> Option<Course<'a>> {
        let scenario = plan.scenarios.get(number)?;
        let by = number as u32 % share.of;
        let share = Share { index: (share.index + share.of - by) % share.of, of: share.of };
        let seed = Rng::new(plan.seed).fork(1000 + number as u64).next_u64();
        let (begins, warmup) = match scenario.start {
            Nanos::ZERO => (Nanos::ZERO, plan.warmup),
            start => (plan.warmup.saturating_add(start), Nanos::ZERO),
        };
        Some(Course { scenario, begins, warmup, share, seed })
    }

    /// Its share of a number of things.
    pub fn share(&self) -> Share {
        self.share
    }

    /// When it begins nothing more; None: when its iterations are done.
    pub fn ends(&self) -> Option<Nanos> {
        let Scenario { load, iterations, iterations_per_user, duration, .. } = self.scenario;
        let counted = iterations.or(iterations_per_user.map(u64::from));
        Some(self.begins.saturating_add(ends(load.stages(), self.warmup, counted, *duration)?))
    }

    /// When its iterations are due, where arrivals bring them.
    pub fn arrivals(&self) -> Option<Box<dyn Schedule>> {
        let Scenario { load, iterations, duration, .. } = self.scenario;
        let schedule = || arrivals(load, self.warmup, *iterations, *duration, self.share, self.seed);
        load.is_open().then(|| Box::new(Later { schedule: schedule(), by: self.begins }) as Box<dyn Schedule>)
    }

    /// Its users over time, where it has them.
    pub fn users(&self) -> Option<Users> {
        let users = || {
            let users = Users::new(&self.scenario.load, self.warmup, self.share).later(self.begins);
            self.ends().into_iter().fold(users, Users::until)
        };
        (!self.scenario.load.is_open()).then(users)
    }

    /// How many of its iterations, where they are counted, fall to this share.
    pub fn iterations(&self) -> Option<u64> {
        let all = self.scenario.iterations?;
        Some(self.users().map_or_else(|| self.share.of_total(all), |users| users.of_requests(all)))
    }

    /// As [`crate::numbers`], of its iterations.
    pub fn numbers(&self) -> Numbers {
        numbers_of(&self.scenario.load, self.warmup, self.scenario.iterations, self.share, self.seed)
    }
}

/// When the last of a plan's scenarios ends; None: when the iterations of one are done.
pub(crate) fn all_end(plan: &Plan) -> Option<Nanos> {
    let courses = (0..plan.scenarios.len()).filter_map(|number| Course::of(plan, number, Share::WHOLE));
    courses.map(|course| course.ends()).try_fold(Nanos::ZERO, |last, end| Some(last.max(end?)))
}

/// A schedule so much later.
struct Later {
    schedule: Box<dyn Schedule>,
    by: Nanos,
}

impl Schedule for Later {
    fn next_due(&mut self) -> Option<Nanos> {
        self.schedule.next_due().map(|due| due.saturating_add(self.by))
    }

    fn change(&mut self, at: Nanos, change: Change) -> Option<Nanos> {
        self.schedule.change(at - self.by, change).map(|due| due.saturating_add(self.by))
    }

    fn take_rest(&mut self, from: Nanos, until: Nanos, lump: &mut dyn FnMut(Nanos, u64)) {
        if until >= self.by {
            let by = self.by;
            self.schedule.take_rest(from - by, until - by, &mut |due, many| lump(due.saturating_add(by), many));
        }
    }
}

#[cfg(test)]
mod tests;
