//! Traffic of users with their own connections: each sends the requests for the origin of its connection.

use brunt_measure::{Nanos, Rng};

use brunt_contract::{OriginId, RequestId, UserValues};

use crate::{Action, Actions, Scenario, UserEvent, UserIndex, Wakeup, WeightedChoice};

/// The requests for one origin.
#[derive(Debug)]
struct OriginRequests {
    requests: Vec<RequestId>,
    mix: WeightedChoice,
}

/// Users that first open a connection and then send the requests for its origin.
#[derive(Debug)]
pub struct DedicatedConnections {
    /// Requests by origin.
    by_origin: Vec<OriginRequests>,
    /// The choice among all requests, which determines the origin of the next connection; `None` if nothing is sent and
    /// origins are used in turn.
    origin_choice: Option<(WeightedChoice, Vec<OriginId>)>,
    /// Number of requests that each user has sent, if each sends every request once and then holds its connection;
    /// `None` if users send indefinitely.
    progress: Option<Vec<u32>>,
    think: Option<(Nanos, Nanos)>,
    rng: Rng,
}

impl DedicatedConnections {
    /// Creates the scenario for a number of origins and for requests given as weight and origin. If `silent` is set,
    /// nothing is sent.
    pub fn new(origins: usize, requests: &[(f64, OriginId)], silent: bool, seed: u64) -> DedicatedConnections {
        let said = (0..origins).map(|origin| {
            let its = requests.iter().enumerate().filter(|(_, (_, to))| !silent && to.at() == origin);
            let (requests, weights): (Vec<_>, Vec<_>) = its.map(|(i, (weight, _))| (RequestId::of(i), *weight)).unzip();
            OriginRequests { requests, mix: WeightedChoice::new(&weights, seed.wrapping_add(2 + origin as u64)) }
        });
        let (weights, leads): (Vec<f64>, Vec<OriginId>) = requests.iter().copied().unzip();
        let all = (!silent).then(|| (WeightedChoice::new(&weights, seed), leads));
        DedicatedConnections {
            by_origin: said.collect(),
            origin_choice: all,
            progress: None,
            think: None,
            rng: Rng::new(seed).fork(1),
        }
    }

    /// Makes each user send every request once and then hold its connection.
    pub fn once(self) -> DedicatedConnections {
        DedicatedConnections { progress: Some(Vec::new()), ..self }
    }

    /// Sets a pause drawn from this range between two messages.
    pub fn with_think_time(self, think: Option<(Nanos, Nanos)>) -> DedicatedConnections {
        DedicatedConnections { think, ..self }
    }

    /// Returns the user's next request on a connection to `origin`.
    fn next(&mut self, user: UserIndex, origin: OriginId) -> Option<RequestId> {
        let OriginRequests { requests, mix } = self.by_origin.get_mut(origin.at())?;
        let Some(once) = &mut self.progress else { return requests.get(mix.next()).copied() };
        if once.len() <= user.at() {
            once.resize(user.at() + 1, 0);
        }
        let said = &mut once[user.at()];
        let next = requests.get(*said as usize).copied();
        *said += u32::from(next.is_some());
        next
    }
}

impl Scenario for DedicatedConnections {
    fn wake(
        &mut self,
        Wakeup { user, origin: on, event: news, disconnected: rests, .. }: Wakeup,
        _values: &mut UserValues,
        actions: &mut Actions,
    ) {
        actions.extend(match (news, self.think) {
            (UserEvent::NoMoreVisits, _) => Some(Action::Leave),
            (UserEvent::Ended { .. }, Some((from, to))) => Some(Action::Pause(self.rng.between(from, to))),
            _ if rests => None,
            _ => Some(on.and_then(|origin| self.next(user, origin)).map_or(Action::Hold, Action::Send)),
        });
    }

    fn origin_of(&mut self, nth: u32) -> OriginId {
        match &mut self.origin_choice {
            None => OriginId(nth % self.by_origin.len().max(1) as u32),
            Some((mix, leads)) => leads.get(mix.next()).copied().unwrap_or_default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const REQUESTS: [(f64, OriginId); 3] = [(1.0, OriginId(0)), (1.0, OriginId(1)), (1.0, OriginId(1))];

    /// Returns the next action of a user whose connection leads to origin `on`.
    fn next(own: &mut DedicatedConnections, user: u32, on: u32, event: UserEvent) -> Action {
        let mut acts = Actions::new();
        let woken = Wakeup { origin: Some(OriginId(on)), ..Wakeup::new(UserIndex(user), event, Nanos::ZERO) };
        own.wake(woken, &mut UserValues::default(), &mut acts);
        assert_eq!(acts.len(), 1);
        acts.remove(0).expect("one")
    }

    #[test]
    fn everything_that_leads_to_the_connection_is_said_once_by_each_user() {
        let mut own = DedicatedConnections::new(2, &REQUESTS, false, 1).once();
        let mut says =
            |user, on| -> Vec<Action> { (0..4).map(|_| next(&mut own, user, on, UserEvent::Resumed)).collect() };
        assert_eq!(says(5, 1), [Action::Send(RequestId(1)), Action::Send(RequestId(2)), Action::Hold, Action::Hold]);
        assert_eq!(says(0, 0), [Action::Send(RequestId(0)), Action::Hold, Action::Hold, Action::Hold]);
        assert_eq!(says(1, 1)[..2], [Action::Send(RequestId(1)), Action::Send(RequestId(2))], "each user for itself");
    }

    #[test]
    fn without_an_end_only_what_leads_there_is_said() {
        let mut own = DedicatedConnections::new(2, &REQUESTS, false, 1);
        let mut seen = [0; 3];
        for _ in 0..300 {
            let Action::Send(request) = next(&mut own, 0, 1, UserEvent::Begin) else { panic!("silent") };
            seen[request.at()] += 1;
        }
        assert!(seen[0] == 0 && seen[1] > 100 && seen[2] > 100, "{seen:?}");
    }

    #[test]
    fn who_has_nothing_to_say_holds_and_origins_take_turns() {
        let mut own = DedicatedConnections::new(2, &REQUESTS, true, 1);
        assert_eq!(next(&mut own, 0, 1, UserEvent::Begin), Action::Hold);
        assert_eq!((0..4).map(|n| own.origin_of(n)).collect::<Vec<_>>(), [0, 1, 0, 1].map(OriginId));
    }
}
