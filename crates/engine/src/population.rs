//! Number of users over time.

use brunt_measure::Nanos;

use crate::ids::ScenarioId;

/// The users of one scenario.
#[derive(Clone, Copy, Debug, Default)]
struct UserCount {
    /// Set if the number of users is reported. Users brought by arrivals are not, because they equal the requests in
    /// flight.
    reported: bool,
    alive: u32,
    /// Time up to which the users are counted in `area`.
    since: Nanos,
    /// User-nanoseconds not yet reported.
    area: u64,
}

/// The users of all scenarios.
#[derive(Debug, Default)]
pub(crate) struct Population(Vec<UserCount>);

impl Population {
    /// Creates the counts; for each scenario, `told` gives whether its users are reported.
    pub fn of(told: impl Iterator<Item = bool>) -> Population {
        Population(told.map(|told| UserCount { reported: told, ..UserCount::default() }).collect())
    }

    /// Sets the number of users of a scenario.
    #[inline]
    pub fn set(&mut self, scenario: ScenarioId, alive: u32, now: Nanos) {
        let users = &mut self.0[scenario.at()];
        users.area += u64::from(users.alive) * (now - users.since).0;
        (users.alive, users.since) = (alive, now);
    }

    /// Returns the ids of the scenarios.
    pub fn scenarios(&self) -> impl Iterator<Item = ScenarioId> + use<> {
        (0..self.0.len()).map(ScenarioId::of)
    }

    /// Returns the total number of users, each of which keeps `per_user` requests in flight.
    pub fn users(&self, per_user: u32) -> u64 {
        self.0.iter().filter(|users| users.reported).map(|users| u64::from(users.alive / per_user)).sum()
    }

    /// Returns `true` if the users of a scenario are those of the run.
    pub fn is_reported(&self, scenario: ScenarioId) -> bool {
        self.0[scenario.at()].reported
    }

    /// Returns the number of users of a scenario, and its user-nanoseconds since the last call.
    pub fn take_user_time(&mut self, scenario: ScenarioId, now: Nanos) -> (u64, u64) {
        self.set(scenario, self.0[scenario.at()].alive, now);
        let users = &mut self.0[scenario.at()];
        (u64::from(users.alive), std::mem::take(&mut users.area))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_are_counted_for_as_long_as_they_are_there() {
        let mut population = Population::of([true, false].into_iter());
        population.set(ScenarioId(0), 1, Nanos(10));
        population.set(ScenarioId(0), 3, Nanos(20));
        population.set(ScenarioId(1), 9, Nanos(20));
        assert_eq!((population.users(1), population.users(2)), (3, 1), "arrivals are no users");
        assert_eq!(population.take_user_time(ScenarioId(0), Nanos(30)), (3, 10 + 30));
        assert_eq!(
            (population.take_user_time(ScenarioId(0), Nanos(30)), population.take_user_time(ScenarioId(1), Nanos(21))),
            ((3, 0), (9, 9))
        );
    }
}
