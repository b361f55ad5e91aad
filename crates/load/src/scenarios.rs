//! Concurrent scenarios: the course of each within the run.
//!
//! A scenario that begins with the run takes part in the warm-up; one that begins later has no warm-up. All times are
//! relative to the start of the run.

use brunt_measure::{Nanos, Rng};
use brunt_plan::{Change, Plan, ScenarioPlan, Share};

use crate::{NumberSequence, Schedule, UserProfile, arrivals, ends, numbers_of};

/// The course of one worker's share of a scenario.
#[derive(Clone, Copy, Debug)]
pub struct ScenarioCourse<'a> {
    scenario: &'a ScenarioPlan,
    /// Start time of the scenario.
    begins: Nanos,
    /// Duration of the scenario's warm-up.
    warmup: Nanos,
    share: Share,
    seed: u64,
}

impl<'a> ScenarioCourse<'a> {
    /// Creates the course of the plan's scenario with this number. Each scenario starts dealing its users with a
    /// different worker, so that first and remaining users do not accumulate on one.
    pub fn of(plan: &'a Plan, number: usize, share: Share) -> Option<ScenarioCourse<'a>> {
        let scenario = plan.scenarios.get(number)?;
        let by = number as u32 % share.of;
        let share = Share { index: (share.index + share.of - by) % share.of, of: share.of };
        let seed = Rng::new(plan.seed).fork(1000 + number as u64).next_u64();
        let (begins, warmup) = match scenario.start {
            Nanos::ZERO => (Nanos::ZERO, plan.warmup),
            start => (plan.warmup.saturating_add(start), Nanos::ZERO),
        };
        Some(ScenarioCourse { scenario, begins, warmup, share, seed })
    }

    /// Returns this worker's share.
    pub fn share(&self) -> Share {
        self.share
    }

    /// Returns the time at which it stops starting iterations; `None` if it ends by its number of iterations.
    pub fn ends(&self) -> Option<Nanos> {
        let ScenarioPlan { load, iterations, iterations_per_user, duration, .. } = self.scenario;
        let counted = iterations.or(iterations_per_user.map(u64::from));
        Some(self.begins.saturating_add(ends(load.stages(), self.warmup, counted, *duration)?))
    }

    /// Returns the schedule of its iterations; `None` if users start them.
    pub fn arrivals(&self) -> Option<Box<dyn Schedule>> {
        let ScenarioPlan { load, iterations, duration, .. } = self.scenario;
        let schedule = || arrivals(load, self.warmup, *iterations, *duration, self.share, self.seed);
        load.is_open().then(|| Box::new(DelayedSchedule { schedule: schedule(), by: self.begins }) as Box<dyn Schedule>)
    }

    /// Returns the number of its users over time; `None` if arrivals start its iterations.
    pub fn users(&self) -> Option<UserProfile> {
        let users = || {
            let users = UserProfile::new(&self.scenario.load, self.warmup, self.share).delayed(self.begins);
            self.ends().into_iter().fold(users, UserProfile::until)
        };
        (!self.scenario.load.is_open()).then(users)
    }

    /// Returns this share's number of iterations; `None` if they are not limited.
    pub fn iterations(&self) -> Option<u64> {
        let all = self.scenario.iterations?;
        Some(self.users().map_or_else(|| self.share.of_total(all), |users| users.of_requests(all)))
    }

    /// Returns the sequence numbers of its iterations, like [`crate::numbers()`].
    pub fn numbers(&self) -> NumberSequence {
        numbers_of(&self.scenario.load, self.warmup, self.scenario.iterations, self.share, self.seed)
    }
}

/// Returns the end of the last scenario; `None` if one of them ends by its number of iterations.
pub(crate) fn all_end(plan: &Plan) -> Option<Nanos> {
    let courses = (0..plan.scenarios.len()).filter_map(|number| ScenarioCourse::of(plan, number, Share::WHOLE));
    courses.map(|course| course.ends()).try_fold(Nanos::ZERO, |last, end| Some(last.max(end?)))
}

/// A delayed schedule.
struct DelayedSchedule {
    schedule: Box<dyn Schedule>,
    by: Nanos,
}

impl Schedule for DelayedSchedule {
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
