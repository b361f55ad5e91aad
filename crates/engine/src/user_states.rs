//! State that users keep from answers for later requests, from their first request to their last.

use std::sync::Arc;

use brunt_contract::{UserState, UserValues};
use brunt_plan::Plan;

use crate::ids::{RequestId, UserId};
use crate::used_values::{RequestValue, used_values};

/// The states of one worker's users, by their numbers in each scenario.
#[derive(Debug, Default)]
pub(crate) struct UserStates {
    states: Vec<Vec<UserState>>,
    /// Set, by scenario, if its users start each iteration with a cleared state.
    clears: Vec<bool>,
    /// Set, by scenario, for each value that lasts as long as its user.
    lasting: Vec<Vec<bool>>,
    /// Values that all users have from the start.
    initial: UserValues,
    /// The plan, if each request is one of its URLs.
    plan: Option<Arc<Plan>>,
}

impl UserStates {
    /// Creates an empty set. If `clears` is set for a scenario, the state of its users is cleared with each iteration,
    /// except for lasting values and the initial values of all users.
    pub fn new(clears: Vec<bool>, (lasting, known): (Vec<Vec<bool>>, UserValues)) -> UserStates {
        UserStates { states: Vec::new(), clears, lasting, initial: known, plan: None }
    }

    /// Sets the plan, whose URLs correspond to the requests by index.
    pub fn of_plan(self, plan: Option<Arc<Plan>>) -> UserStates {
        UserStates { plan, ..self }
    }

    /// Returns the values used in a request of a user.
    pub fn used_values(&self, user: UserId, request: RequestId) -> Vec<RequestValue> {
        self.plan.as_ref().map_or_else(Vec::new, |plan| used_values(plan, request.at(), self.values_of(user)))
    }

    /// Begins another iteration of a user: the values of the previous one are cleared.
    pub fn iteration_begins(&mut self, user: UserId) {
        let clears = self.clears.get(user.scenario().at()).is_some_and(|clears| *clears);
        let (scenario, at) = self.index_of(user);
        let memory = &mut self.states[scenario][at];
        memory.values.retain(self.lasting.get(scenario).map_or(&[], Vec::as_slice));
        memory.begin_iteration(clears);
    }

    /// Returns the state of a user.
    pub fn of(&mut self, user: UserId) -> &mut UserState {
        let (scenario, at) = self.index_of(user);
        &mut self.states[scenario][at]
    }

    fn index_of(&mut self, user: UserId) -> (usize, usize) {
        // Requests without a user share a short-lived state.
        let (scenario, user) = (user.scenario().at(), if user == UserId::NONE { 0 } else { user.index().at() + 1 });
        if self.states.len() <= scenario {
            self.states.resize_with(scenario + 1, Vec::new);
        }
        let each = &mut self.states[scenario];
        if each.len() <= user {
            let known = &self.initial;
            each.resize_with(user + 1, || UserState::with_values(known.clone()));
        }
        (scenario, user)
    }

    /// Returns the values of a user.
    pub fn values_of(&self, user: UserId) -> &UserValues {
        let each = self.states.get(user.scenario().at()).filter(|_| user != UserId::NONE);
        let memory = each.and_then(|each| each.get(user.index().at() + 1));
        memory.map_or(UserValues::NONE, |memory| &memory.values)
    }

    /// Clears the state of a user that has left, because its number may be assigned to another user.
    pub fn forget(&mut self, user: UserId) {
        let each = self.states.get_mut(user.scenario().at());
        if let Some(memory) = each.and_then(|each| each.get_mut(user.index().at() + 1)) {
            let mut values = std::mem::take(&mut memory.values);
            values.copy_from(&self.initial);
            *memory = UserState::with_values(values);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::ScenarioId;

    #[test]
    fn an_iteration_begins_without_values_and_where_asked_without_anything() {
        for clears in [false, true] {
            let mut memories = UserStates::new(vec![clears], Default::default());
            *memories.of(UserId(1)).get_mut::<u32>().expect("a number") = 7;
            memories.of(UserId(1)).values.set(0, b"a");
            memories.iteration_begins(UserId(1));
            assert_eq!(memories.of(UserId(1)).values.get(0), None);
            assert_eq!(memories.of(UserId(1)).get::<u32>().is_none(), clears);
        }
    }

    #[test]
    fn what_lasts_for_the_users_of_one_scenario_does_not_last_for_those_of_another() {
        let mut memories = UserStates::new(vec![false; 2], (vec![vec![true], vec![false]], UserValues::default()));
        for (scenario, lasts) in [(0, true), (1, false)] {
            let user = UserId::within(ScenarioId(scenario), brunt_scenario::UserIndex(3));
            memories.of(user).values.set(0, b"a");
            memories.iteration_begins(user);
            assert_eq!(memories.of(user).values.get(0).is_some(), lasts, "scenario {scenario}");
        }
    }

    #[test]
    fn each_user_has_its_own_until_it_is_gone() {
        let mut memories = UserStates::default();
        for user in [3, 1] {
            *memories.of(UserId(user)).get_mut::<u32>().expect("a number") = user;
        }
        memories.forget(UserId(3));
        memories.forget(UserId(900));
        assert_eq!([0, 1, 3].map(|user| memories.of(UserId(user)).get::<u32>().copied()), [None, Some(1), None]);
    }

    #[test]
    fn what_all_know_and_what_lasts_survives_iterations_and_what_is_a_users_own_does_not_survive_it() {
        let mut known = UserValues::default();
        known.set(0, b"all");
        for clears in [false, true] {
            let mut memories = UserStates::new(vec![clears], (vec![vec![true, true, false]], known.clone()));
            memories.of(UserId(1)).values.set(1, b"own");
            memories.of(UserId(1)).values.set(2, b"gone");
            memories.iteration_begins(UserId(1));
            let values = |memories: &mut UserStates| {
                let values = &memories.of(UserId(1)).values;
                [0, 1, 2].map(|at| values.get(at).map(<[u8]>::to_vec))
            };
            assert_eq!(values(&mut memories), [Some(b"all".to_vec()), Some(b"own".to_vec()), None]);
            memories.of(UserId(1)).values.set(0, b"another");
            memories.forget(UserId(1));
            assert_eq!(values(&mut memories), [Some(b"all".to_vec()), None, None]);
        }
    }
}
