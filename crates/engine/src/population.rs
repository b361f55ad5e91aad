//! How many users there are, over time.

use measure::Nanos;

use crate::ids::ScenarioId;

/// The users of one scenario.
#[derive(Clone, Copy, Debug, Default)]
struct Users {
    /// They are told of: those whom arrivals bring are the requests in flight.
    told: bool,
    alive: u32,
    /// Until when they are in `area`.
    since: Nanos,
    /// User-nanoseconds that nobody asked for yet.
    area: u64,
}

/// The users of all scenarios, counted in one place.
#[derive(Debug, Default)]
pub(crate) struct Population(Vec<Users>);

impl Population {
    /// Of scenarios, whose users are told of or not.
    pub fn of(told: impl Iterator<Item = bool>) -> Population {
        Population(told.map(|told| Users { told, ..Users::default() }).collect())
    }

    /// So many are there from now on.
    #[inline]
    pub fn set(&mut self, scenario: ScenarioId, alive: u32, now: Nanos) {
        let users = &mut self.0[scenario.at()];
        users.area += u64::from(users.alive) * (now - users.since).0;
        (users.alive, users.since) = (alive, now);
    }

    /// Of which scenarios.
    pub fn scenarios(&self) -> impl Iterator<Item = ScenarioId> + use<> {
        (0..self.0.len()).map(ScenarioId::of)
    }

    /// Users that are there, of which each keeps so many requests in flight.
    pub fn users(&self, per_user: u32) -> u64 {
        self.0.iter().filter(|users| users.told).map(|users| u64::from(users.alive / per_user)).sum()
    }

    /// How many there are of a scenario, and its user-nanoseconds since this was last asked.
    pub fn take_area(&mut self, scenario: ScenarioId, now: Nanos) -> (u64, u64) {
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
        assert_eq!(population.take_area(ScenarioId(0), Nanos(30)), (3, 10 + 30));
        assert_eq!(
            (population.take_area(ScenarioId(0), Nanos(30)), population.take_area(ScenarioId(1), Nanos(21))),
            ((3, 0), (9, 9))
        );
    }
}
