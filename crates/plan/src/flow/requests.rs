//! The most requests that an iteration can send.

use std::collections::BTreeMap;

use super::{Flow, LoopList, REDIRECTS, RESOURCES, RepeatCount, Step};
use crate::{Plan, WeightedUrl};

/// Redirects followed by a request whose number of them is not understood, which its protocol refuses later.
const MOST_REDIRECTS: u64 = 100;

/// Options that send messages of their own.
const ON_CONNECT: &str = "on-connect";
const REPLY: &str = "reply";

impl Plan {
    /// Returns the most requests of one iteration of any user, with the redirects that they may follow; without a flow, an
    /// iteration is one request. A request counts as the `messages` of its URL, the most that one of the prepared calls sends;
    /// one without counts as one, and one that sends none (it ends a stream) as none. `None` if responses decide how many there
    /// are.
    pub fn requests_per_iteration(&self, messages: &[u64]) -> Option<u64> {
        let of_url = |(at, url): (usize, &WeightedUrl)| {
            let of_call = messages.get(at).copied().unwrap_or(1);
            self.requests_of(url)?.checked_mul(self.messages_of(url, of_call)?)
        };
        let mut flows = self.flows().map(|(_, flow)| flow).peekable();
        if flows.peek().is_none() {
            return self.urls.iter().enumerate().map(of_url).try_fold(1, |most, of_url| Some(most.max(of_url?)));
        }
        let all: Vec<Option<u64>> = self.urls.iter().enumerate().map(of_url).collect();
        let of_flow = |flow| RequestCount { flow, urls: &all, called: BTreeMap::new() }.of_iteration();
        flows.try_fold(1, |most, flow| Some(most.max(of_flow(flow)?)))
    }

    /// Returns `true` if responses can lead to further URLs: by redirects, or by the resources of a page.
    pub fn follows_responses(&self) -> bool {
        self.urls.iter().any(|url| self.requests_of(url) != Some(1))
    }

    /// Returns the most messages that one request to this URL sends: those of a gRPC stream, and the one on a new connection.
    /// `None` if what the server sends decides.
    fn messages_of(&self, url: &WeightedUrl, of_call: u64) -> Option<u64> {
        let option = |name: &str| url.options.get(name).or_else(|| self.options.get(name));
        let count = |name: &str| option(name).map_or(0, |all| all.len() as u64);
        if count(REPLY) > 0 {
            return None;
        }
        of_call.checked_add(count(ON_CONNECT))
    }

    /// Returns the most requests that one to this URL becomes; `None` if its response decides.
    fn requests_of(&self, url: &WeightedUrl) -> Option<u64> {
        let option = |name: &str| url.options.get(name).or_else(|| self.options.get(name)).and_then(|all| all.last());
        if option(RESOURCES).is_some_and(|number| number.trim() != "0") {
            return None;
        }
        Some(option(REDIRECTS).map_or(0, |number| number.parse().unwrap_or(MOST_REDIRECTS).min(MOST_REDIRECTS)) + 1)
    }
}

/// The counting of the requests of a flow.
struct RequestCount<'a> {
    flow: &'a Flow,
    /// The most requests that each URL of the plan becomes.
    urls: &'a [Option<u64>],
    /// Those of the flows that were called already; one that is being counted has no bound, because it calls itself.
    called: BTreeMap<&'a str, Option<u64>>,
}

impl<'a> RequestCount<'a> {
    /// Counts an iteration, and with it what a user does before its first one and after its last.
    fn of_iteration(&mut self) -> Option<u64> {
        let flow = self.flow;
        [&flow.start, &flow.steps, &flow.end]
            .into_iter()
            .try_fold(0, |sum: u64, steps| sum.checked_add(self.of(steps)?))
    }

    fn of(&mut self, steps: &'a [Step]) -> Option<u64> {
        steps.iter().try_fold(0, |sum: u64, step| sum.checked_add(self.of_step(step)?))
    }

    fn of_step(&mut self, step: &'a Step) -> Option<u64> {
        match step {
            Step::Request { .. } | Step::Batch { .. } => {
                let of_url = |url: &u32| self.urls.get(*url as usize).copied().flatten();
                step.urls().iter().try_fold(0, |sum: u64, url| sum.checked_add(of_url(url)?))
            }
            Step::Pause(_) | Step::Pace(_) | Step::Close { .. } => Some(0),
            Step::Group { steps, .. } | Step::Once { steps } => self.of(steps),
            Step::Repeat { times: RepeatCount::Times(times), steps } => self.of(steps)?.checked_mul((*times).into()),
            Step::ForEach { list: LoopList::Fixed(all), steps, .. } => self.of(steps)?.checked_mul(all.len() as u64),
            Step::Repeat { steps, .. } | Step::While { steps, .. } | Step::ForEach { steps, .. } => {
                self.of(steps).filter(|count| *count == 0)
            }
            Step::Choose { ways } => ways.iter().try_fold(0, |most, way| Some(self.of(&way.steps)?.max(most))),
            Step::If { steps, otherwise, .. } => Some(self.of(steps)?.max(self.of(otherwise)?)),
            Step::Call { flow: name, .. } => self.of_call(name),
        }
    }

    fn of_call(&mut self, name: &'a str) -> Option<u64> {
        if let Some(known) = self.called.get(name) {
            return *known;
        }
        self.called.insert(name, None);
        let count = self.flow.named_flow(name).and_then(|called| self.of(&called.steps));
        self.called.insert(name, count);
        count
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flow::testing::{call, request};
    use crate::flow::{Branch, NamedFlow, OnFailure};

    #[test]
    fn every_request_that_an_iteration_can_send_is_counted() {
        let urls = [Some(1), Some(11), None];
        let count = |steps: Vec<Step>| {
            let named = |name: &str, steps| NamedFlow { name: name.into(), steps };
            let flows = vec![named("two", vec![request(0); 2]), named("itself", vec![request(0), call("itself")])];
            let flow = Flow { steps, flows, ..Flow::default() };
            RequestCount { flow: &flow, urls: &urls, called: BTreeMap::new() }.of_iteration()
        };
        let repeat = |times, steps| Step::Repeat { times, steps };
        let batch = Step::Batch { at_most: 2, urls: vec![0, 0, 1], on_failure: OnFailure::default(), own: Vec::new() };
        let way = |steps| Branch { weight: 1.0, steps };
        let choose = Step::Choose { ways: vec![way(vec![request(0)]), way(vec![request(1)]), way(Vec::new())] };
        let either = |steps, otherwise| Step::If { condition: "a".into(), steps, otherwise };
        let each = |list, steps| Step::ForEach { name: "x".into(), list, steps };
        for (steps, expected) in [
            (vec![], Some(0)),
            (vec![request(0), request(1), batch], Some(25)),
            (vec![repeat(40.into(), vec![request(0), repeat(2.into(), vec![request(0)])])], Some(120)),
            (vec![choose, either(vec![request(0)], vec![request(0); 3])], Some(14)),
            (vec![each(LoopList::Fixed(vec!["a".into(), "b".into()]), vec![request(0)])], Some(2)),
            (vec![call("two"), repeat(3.into(), vec![call("two")])], Some(8)),
            (vec![repeat(RepeatCount::Value("n".into()), vec![request(0)])], None),
            (vec![repeat(RepeatCount::Value("n".into()), vec![Step::Pace(brunt_measure::Nanos(1))])], Some(0)),
            (vec![each(LoopList::Captured("l".into()), vec![request(0)])], None),
            (vec![Step::While { condition: "a".into(), steps: vec![request(0)] }], None),
            (vec![call("itself")], None),
            (vec![call("nobody")], None),
            (vec![request(2)], None),
            (vec![repeat(u32::MAX.into(), vec![repeat(u32::MAX.into(), vec![request(1)])])], None),
        ] {
            assert_eq!(count(steps.clone()), expected, "{steps:?}");
        }
    }
}
