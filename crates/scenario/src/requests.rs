//! A repeated weighted choice among the requests of a run.

use std::sync::Arc;

use brunt_contract::{OriginId, RequestId, UserValues};
use brunt_measure::{Nanos, Rng};

use crate::{Action, Actions, Scenario, UserEvent, Wakeup, WeightedChoice};

/// The default scenario: every user sends randomly chosen requests.
#[derive(Clone, Debug)]
pub struct RequestMix {
    mix: WeightedChoice,
    /// Origin of each request; empty if all go to the first origin.
    origins: Arc<[OriginId]>,
    /// Set if a user sends one request after another; otherwise each visit is one request.
    repeats: bool,
    /// Range of the pause between two requests; `None` for no pause.
    think: Option<(Nanos, Nanos)>,
    rng: Rng,
}

impl RequestMix {
    /// Creates the scenario for requests given as weight and origin; one request per visit.
    pub fn new(requests: impl Iterator<Item = (f64, OriginId)>) -> RequestMix {
        let (weights, mut origins): (Vec<f64>, Vec<OriginId>) = requests.unzip();
        if origins.iter().all(|origin| *origin == OriginId(0)) {
            origins = Vec::new();
        }
        let mix = WeightedChoice::new(&weights, 0);
        RequestMix { mix, origins: origins.into(), repeats: false, think: None, rng: Rng::new(0) }
    }

    /// Returns the same choice with another seed.
    pub fn seeded(&self, seed: u64) -> RequestMix {
        let rng = Rng::new(seed).fork(1);
        RequestMix { mix: self.mix.seeded(seed), origins: Arc::clone(&self.origins), rng, ..*self }
    }

    /// Repeats requests within a visit, with a pause from this range between them.
    pub fn repeated(self, think: Option<(Nanos, Nanos)>) -> RequestMix {
        RequestMix { repeats: true, think, ..self }
    }
}

impl Scenario for RequestMix {
    #[inline]
    fn wake(
        &mut self,
        Wakeup { event: news, disconnected: rests, .. }: Wakeup,
        _values: &mut UserValues,
        actions: &mut Actions,
    ) {
        actions.extend(match (news, self.think) {
            (UserEvent::NoMoreVisits, _) => Some(Action::Leave),
            (UserEvent::Ended { .. }, Some((from, to))) => Some(Action::Pause(self.rng.between(from, to))),
            _ if rests => None,
            (UserEvent::Ended { .. }, _) if !self.repeats => Some(Action::Done),
            _ => Some(Action::Send(RequestId::of(self.mix.next()))),
        });
    }

    fn origin_of(&mut self, _nth: u32) -> OriginId {
        self.origins.get(self.mix.next()).copied().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::UserIndex;

    /// Returns the next action of a user.
    fn next(requests: &mut RequestMix, event: UserEvent) -> Action {
        let mut acts = Actions::new();
        requests.wake(Wakeup::new(UserIndex(0), event, Nanos::ZERO), &mut UserValues::default(), &mut acts);
        assert_eq!(acts.len(), 1);
        acts.remove(0).expect("one")
    }

    const ENDED: UserEvent =
        UserEvent::Ended { code: 200, fault: None, on_failure: brunt_plan::flow::OnFailure::NextIteration };

    #[test]
    fn a_visit_is_one_request_and_a_user_sends_one_after_the_other() {
        let requests = RequestMix::new([(1.0, OriginId(0))].into_iter());
        let mut visit = requests.seeded(1);
        assert_eq!(
            [next(&mut visit, UserEvent::Begin), next(&mut visit, ENDED)],
            [Action::Send(RequestId(0)), Action::Done]
        );
        let mut user = requests.seeded(1).repeated(None);
        assert_eq!(
            [next(&mut user, UserEvent::Begin), next(&mut user, ENDED)],
            [const { Action::Send(RequestId(0)) }; 2]
        );
    }

    #[test]
    fn users_think_between_two_requests_and_not_before_the_first() {
        let range = (Nanos::from_millis(5), Nanos::from_millis(9));
        let mut user = RequestMix::new([(1.0, OriginId(0))].into_iter()).seeded(1).repeated(Some(range));
        assert_eq!(next(&mut user, UserEvent::Begin), Action::Send(RequestId(0)));
        for _ in 0..100 {
            let Action::Pause(pause) = next(&mut user, ENDED) else { panic!("no pause") };
            assert!((range.0..=range.1).contains(&pause), "{pause}");
            assert_eq!(next(&mut user, UserEvent::Resumed), Action::Send(RequestId(0)));
        }
    }

    #[test]
    fn connections_lead_where_requests_go_in_their_proportions() {
        let mut requests = RequestMix::new([(1.0, OriginId(4)), (3.0, OriginId(7))].into_iter()).seeded(3);
        let sevens = (0..4000).filter(|n| requests.origin_of(*n) == OriginId(7)).count();
        assert!((2800..3200).contains(&sevens), "{sevens}");
    }
}
