//! The first request of a user, which is also the probe, with the values that the user has at that point.

use std::sync::Arc;

use brunt_contract::UserValues;
use brunt_measure::Nanos;
use brunt_plan::Plan;
use brunt_plan::flow::Flow;
use brunt_scenario::{Action, Actions, FlowProgram, Scenario, UserEvent, UserIndex, Wakeup};

use crate::api::CHECKED;

/// Number of pauses, iterations and thousands of steps without a request after which the search is abandoned.
const MOST: usize = 1000;

/// Returns the index of the request that a user of a plan sends first, in one of the earliest scenarios if there are
/// several. `values` receives the list items and arguments of called flows that the user has at that point. `None` if
/// every request depends on responses to others.
pub(crate) fn first_request(plan: &Plan, values: &mut UserValues) -> Option<usize> {
    let Some((_, flow)) = plan.flows().next() else { return Some(0) };
    let user = Flow { start: flow.start.clone(), ..flow.with_steps(&flow.steps) };
    let program = FlowProgram::of(&user).expect(CHECKED);
    let mut user = brunt_scenario::FlowScenario::new(Arc::new(program), plan.seed);
    let (mut now, mut news, mut acts) = (Nanos::ZERO, UserEvent::Begin, Actions::new());
    for _ in 0..MOST {
        user.wake(Wakeup::new(UserIndex(0), news, now), values, &mut acts);
        news = UserEvent::Resumed;
        for act in acts.drain(..) {
            match act {
                Action::Send(request) | Action::SendInBatch(request, _) => return Some(request.at()),
                Action::Compose(draft) => return Some(draft.base.at()),
                Action::Pause(pause) => now = now.saturating_add(pause),
                Action::Done => news = UserEvent::Begin,
                Action::Wait | Action::Hold | Action::Leave => return None,
                Action::Yielded(_) | Action::Close(_) | Action::Report(_) | Action::Stop(_) => {}
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use brunt_plan::WeightedUrl;
    use brunt_plan::flow::{LoopList, NamedFlow, OnFailure, Pause, Step};

    use super::*;
    use crate::tests::harness::{SECOND, SimPlan};

    fn send(url: u32) -> Step {
        Step::Request { url, on_failure: OnFailure::default() }
    }

    fn each(list: LoopList, steps: Vec<Step>) -> Step {
        Step::ForEach { name: "item".into(), list, steps }
    }

    /// Returns the first request, and the value of `item` at that point; `ids` is a list that `setup` captured.
    fn first(flow: Flow) -> (Option<usize>, Option<String>) {
        let plan = SimPlan::closed(1, SECOND).plan;
        let urls = ["h/0", "h/1?{item}", "h/2"].map(WeightedUrl::plain).to_vec();
        let variables = ["ids", "item", "state"].map(str::to_owned).to_vec();
        let plan = Plan { urls: urls.into(), flow: Some(Flow { variables, ..flow }), ..plan };
        let mut values = UserValues::default();
        values.set_list(0, b"7,8", &[1, 3]);
        let first = first_request(&plan, &mut values);
        (first, values.get(1).map(|value| String::from_utf8_lossy(value).into_owned()))
    }

    #[test]
    fn what_is_sent_first_has_the_first_value_of_what_it_goes_over_and_of_what_it_is_given() {
        let fixed = LoopList::Fixed(vec!["a".into(), "b".into()]);
        let steps = vec![each(fixed.clone(), vec![send(1)]), send(2)];
        assert_eq!(first(Flow { steps: steps.clone(), ..Flow::default() }), (Some(1), Some("a".into())));
        let captured = vec![each(LoopList::Captured("ids".into()), vec![send(1)])];
        assert_eq!(first(Flow { steps: captured, ..Flow::default() }), (Some(1), Some("7".into())));
        let called = vec![NamedFlow { name: "show".into(), steps: vec![send(1)] }];
        let with = BTreeMap::from([("item".to_owned(), "x{ids}".to_owned())]);
        let call = Step::Call { flow: "show".into(), with };
        assert_eq!(first(Flow { steps: vec![call], flows: called, ..Flow::default() }), (Some(1), Some("x7,8".into())));
        // A user's `start` section comes first.
        assert_eq!(first(Flow { steps, start: vec![send(2)], ..Flow::default() }), (Some(2), None));
    }

    #[test]
    fn what_is_not_reached_without_an_answer_is_not_sent_first() {
        let nothing = each(LoopList::Fixed(Vec::new()), vec![send(1)]);
        let unless = |steps| Step::If { condition: "state".into(), steps, otherwise: Vec::new() };
        let time = Nanos::from_secs(9);
        let pause = Step::Pause(Pause::Uniform { from: time, to: time });
        let steps = vec![nothing.clone(), unless(vec![send(0)]), pause, send(2)];
        assert_eq!(first(Flow { steps, ..Flow::default() }), (Some(2), None));
        assert_eq!(first(Flow { steps: vec![nothing, unless(vec![send(0)])], ..Flow::default() }), (None, None));
    }
}
