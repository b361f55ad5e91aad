//! Steps of a flow that are reached through calls, and renumbering of requests.

use super::{CAPTURE, Flow, Step, each};
use crate::WeightedUrl;

impl Flow {
    /// Returns for each variable whether it lasts as long as the user because `setup` or `start` captures it. `urls`
    /// are the URLs of the plan.
    pub fn lasting_variables(&self, urls: &[WeightedUrl]) -> Vec<bool> {
        let mut lasting = vec![false; self.variables.len()];
        let mut hear = |step: &Step| {
            let captured = step.urls().iter().filter_map(|url| urls.get(*url as usize)?.options.get(CAPTURE)).flatten();
            for name in captured.filter_map(|text| text.split(' ').next()) {
                let at = self.variables.iter().position(|known| known == name);
                at.into_iter().for_each(|at| lasting[at] = true);
            }
        };
        for section in [&self.setup, &self.start] {
            self.reached(&[section]).iter().for_each(|step| hear(step));
        }
        lasting
    }

    /// Returns the indices of the URLs that are requested once, before or after the run.
    pub fn setup_and_teardown_urls(&self) -> Vec<u32> {
        self.reached(&[&self.setup, &self.teardown]).iter().flat_map(|step| step.urls()).copied().collect()
    }

    /// Removes the flows that no step calls.
    pub fn remove_uncalled(&mut self) {
        let mut called: Vec<String> = Vec::new();
        for step in self.reached(&[&self.steps, &self.start, &self.end, &self.setup, &self.teardown]) {
            if let Step::Call { flow, .. } = step {
                called.push(flow.clone());
            }
        }
        self.flows.retain(|flow| called.contains(&flow.name));
    }

    /// Returns these steps and those of the flows that they call, directly or indirectly.
    fn reached<'a>(&'a self, from: &[&'a [Step]]) -> Vec<&'a Step> {
        let (mut all, mut known, mut next) = (Vec::new(), Vec::<&str>::new(), from.to_vec());
        next.reverse();
        while let Some(steps) = next.pop() {
            each(steps, &mut |step| {
                all.push(step);
                if let Step::Call { flow, .. } = step
                    && !known.contains(&flow.as_str())
                {
                    known.push(flow);
                    next.extend(self.named_flow(flow).map(|called| &called.steps[..]));
                }
            });
        }
        all
    }

    /// Renumbers the requests of the flow.
    pub fn renumber(&mut self, number: &mut impl FnMut(&mut u32)) {
        let called = self.flows.iter_mut().map(|called| &mut called.steps);
        let all = [&mut self.steps, &mut self.start, &mut self.end, &mut self.setup, &mut self.teardown];
        called.chain(all).for_each(|steps| renumber(steps, number));
    }
}

fn renumber(steps: &mut [Step], number: &mut impl FnMut(&mut u32)) {
    for step in steps {
        match step {
            Step::Request { url, .. } => number(url),
            Step::Batch { urls, .. } => urls.iter_mut().for_each(&mut *number),
            Step::Group { steps, .. }
            | Step::Repeat { steps, .. }
            | Step::While { steps, .. }
            | Step::ForEach { steps, .. }
            | Step::Once { steps } => renumber(steps, number),
            Step::If { steps, otherwise, .. } => {
                renumber(steps, number);
                renumber(otherwise, number);
            }
            Step::Choose { ways } => ways.iter_mut().for_each(|way| renumber(&mut way.steps, number)),
            Step::Pause(_) | Step::Pace(_) | Step::Close { .. } | Step::Call { .. } => {}
        }
    }
}

#[cfg(test)]
mod tests {

    use super::super::testing::{call, request};
    use super::super::{Branch, NamedFlow, OnFailure};
    use super::*;

    #[test]
    fn what_setup_and_start_capture_lasts() {
        let capturing = |name: &str| {
            let options = [(CAPTURE.to_owned(), vec![format!("{name} status")])].into();
            WeightedUrl { options, ..WeightedUrl::plain("h") }
        };
        let urls = ["a", "b", "c", "d"].map(capturing);
        let flow = Flow {
            steps: vec![request(0), call("f")],
            flows: vec![NamedFlow { name: "f".into(), steps: vec![request(1)] }],
            start: vec![Step::Once { steps: vec![call("f")] }],
            setup: vec![Step::Batch { at_most: 6, urls: vec![2, 3], on_failure: OnFailure::StopRun, own: Vec::new() }],
            ..Flow::default()
        };
        let flow = flow.with_variables(&urls);
        assert_eq!((flow.lasting_variables(&urls), flow.urls()), (vec![false, true, true, true], vec![0, 1, 2, 3]));
        assert_eq!((flow.max_in_flight(), flow.may_stop_run()), (1, false), "what is done once for all is no user's");
    }

    #[test]
    fn what_is_called_by_nobody_is_left_out_and_requests_get_other_numbers() {
        let called = |name: &str, steps| NamedFlow { name: name.into(), steps };
        let mut flow = Flow {
            steps: vec![
                Step::Choose { ways: vec![Branch { weight: 1.0, steps: vec![request(1), call("a")] }] },
                Step::If { condition: "x".into(), steps: vec![request(2)], otherwise: vec![request(3)] },
            ],
            flows: vec![called("a", vec![call("b")]), called("b", vec![request(4)]), called("c", vec![request(5)])],
            end: vec![Step::Batch { at_most: 2, urls: vec![6, 7], on_failure: OnFailure::default(), own: Vec::new() }],
            teardown: vec![call("c")],
            ..Flow::default()
        };
        assert_eq!(flow.setup_and_teardown_urls(), [5]);
        flow.teardown.clear();
        flow.remove_uncalled();
        assert_eq!(flow.flows.iter().map(|called| &*called.name).collect::<Vec<_>>(), ["a", "b"]);
        flow.renumber(&mut |url| *url += 10);
        assert_eq!(flow.urls(), [11, 12, 13, 14, 16, 17]);
    }
}
