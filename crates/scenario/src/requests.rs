//! A repeated weighted choice among the requests of a run.

use std::sync::Arc;

use measure::{Nanos, Rng};
use wire::{OriginId, RequestId, Values};

use crate::{Act, Acts, Mix, News, Scenario, Woken};

/// The default scenario: every user sends randomly chosen requests.
#[derive(Clone, Debug)]
pub struct Requests {
    mix: Mix,
    /// Origin of each request; empty if all go to the first origin.
    origins: Arc<[OriginId]>,
    /// Set if a user sends one request after the other; otherwise each visit is one request.
    again: bool,
    /// Range of the pause between two requests.
    think: Option<(Nanos, Nanos)>,
    rng: Rng,
}

impl Requests {
    /// Creates the scenario for requests given as weight and origin; one request per visit.
    pub fn new(requests: impl Iterator<Item = (f64, OriginId)>) -> Requests {
        let (weights, mut origins): (Vec<f64>, Vec<OriginId>) = requests.unzip();
        if origins.iter().all(|origin| *origin == OriginId(0)) {
            origins = Vec::new();
        }
        let mix = Mix::new(&weights, 0);
        Requests { mix, origins: origins.into(), again: false, think: None, rng: Rng::new(0) }
    }

    /// Returns the same choice with its own seed.
    pub fn seeded(&self, seed: u64) -> Requests {
        let rng = Rng::new(seed).fork(1);
        Requests { mix: self.mix.seeded(seed), origins: Arc::clone(&self.origins), rng, ..*self }
    }

    /// Repeats requests within a visit, with a pause drawn from this range between two.
    pub fn again(self, think: Option<(Nanos, Nanos)>) -> Requests {
        Requests { again: true, think, ..self }
    }
}

impl Scenario for Requests {
    #[inline]
    fn wake(&mut self, Woken { news, rests, .. }: Woken, _values: &mut Values, acts: &mut Acts) {
        acts.extend(match (news, self.think) {
            (News::NoMore, _) => Some(Act::Leave),
            (News::Ended { .. }, Some((from, to))) => Some(Act::Pause(self.rng.between(from, to))),
            _ if rests => None,
            (News::Ended { .. }, _) if !self.again => Some(Act::Done),
            _ => Some(Act::Send(RequestId::of(self.mix.next()))),
        });
    }

    fn leads_to(&mut self, _nth: u32) -> OriginId {
        self.origins.get(self.mix.next()).copied().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::UserIndex;

    /// Returns the next act of a user.
    fn next(requests: &mut Requests, news: News) -> Act {
        let mut acts = Acts::new();
        requests.wake(Woken::new(UserIndex(0), news, Nanos::ZERO), &mut Values::default(), &mut acts);
        assert_eq!(acts.len(), 1);
        acts.remove(0).expect("one")
    }

    const ENDED: News = News::Ended { code: 200, fault: None, on_failure: plan::flow::OnFailure::NextIteration };

    #[test]
    fn a_visit_is_one_request_and_a_user_sends_one_after_the_other() {
        let requests = Requests::new([(1.0, OriginId(0))].into_iter());
        let mut visit = requests.seeded(1);
        assert_eq!([next(&mut visit, News::Begin), next(&mut visit, ENDED)], [Act::Send(RequestId(0)), Act::Done]);
        let mut user = requests.seeded(1).again(None);
        assert_eq!([next(&mut user, News::Begin), next(&mut user, ENDED)], [const { Act::Send(RequestId(0)) }; 2]);
    }

    #[test]
    fn users_think_between_two_requests_and_not_before_the_first() {
        let range = (Nanos::from_millis(5), Nanos::from_millis(9));
        let mut user = Requests::new([(1.0, OriginId(0))].into_iter()).seeded(1).again(Some(range));
        assert_eq!(next(&mut user, News::Begin), Act::Send(RequestId(0)));
        for _ in 0..100 {
            let Act::Pause(pause) = next(&mut user, ENDED) else { panic!("no pause") };
            assert!((range.0..=range.1).contains(&pause), "{pause}");
            assert_eq!(next(&mut user, News::Awake), Act::Send(RequestId(0)));
        }
    }

    #[test]
    fn connections_lead_where_requests_go_in_their_proportions() {
        let mut requests = Requests::new([(1.0, OriginId(4)), (3.0, OriginId(7))].into_iter()).seeded(3);
        let sevens = (0..4000).filter(|n| requests.leads_to(*n) == OriginId(7)).count();
        assert!((2800..3200).contains(&sevens), "{sevens}");
    }
}
