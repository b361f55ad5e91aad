//! The flow of a plan: what users do in order.
//!
//! A flow is a tree of steps. Its requests are indices into the URLs of the plan, so that code for the requests of a
//! plan also covers those of a flow.

mod calls;
mod pages;
mod requests;
#[cfg(test)]
pub(crate) mod testing;
mod values;

use std::collections::BTreeMap;

use brunt_measure::Nanos;
use serde::{Deserialize, Serialize};

use crate::{WeightedUrl, quantity};

pub use pages::is_page;
pub use values::{TextPiece, pieces, values_of};

/// Maximum number of requests in a flow.
pub const REQUESTS: usize = 1000;
/// Name of the option for the number of page resources that are fetched concurrently.
pub const RESOURCES: &str = "resources";
/// Name of the option for the number of redirects that a request follows.
pub const REDIRECTS: &str = "redirects";
/// Maximum number of rounds of a loop.
pub const ROUNDS: u32 = 1_000_000;
/// Maximum number of distinct groups.
pub const GROUPS: usize = 64;

/// The steps that a user goes through in one iteration.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Flow {
    /// The steps, in order.
    pub steps: Vec<Step>,
    /// Flows that can be called by name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub flows: Vec<NamedFlow>,
    /// Steps of each user before its first iteration.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub start: Vec<Step>,
    /// Steps of each user after its last iteration.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub end: Vec<Step>,
    /// Steps run once before the run, not counted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub setup: Vec<Step>,
    /// Steps run once after the run, not counted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub teardown: Vec<Step>,
    /// Values that every user starts with: captured in `setup`. Set only in a plan that is being run, not in reports.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub known: Vec<SetupValue>,
    /// Names of the values of a user, each once: captures of steps, loop variables and arguments of called flows.
    #[serde(default)]
    pub variables: Vec<String>,
    /// Set if cookies last for one iteration; otherwise they last as long as the user.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub clear_cookies: bool,
}

/// One step of a flow.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Step {
    /// Sends a request and waits for its response.
    Request {
        /// Index into the URLs of the plan.
        url: u32,
        /// Policy if it fails.
        #[serde(default)]
        on_failure: OnFailure,
    },
    /// Sends several requests in parallel, and continues once all are done.
    Batch {
        /// Maximum number of requests in flight.
        at_most: u32,
        /// Indices into the URLs of the plan, in the order of sending.
        urls: Vec<u32>,
        /// Policy if one of them fails.
        #[serde(default)]
        on_failure: OnFailure,
        /// Policy of each request, in order, if that request fails; `None`: that of the batch. Empty if none has its
        /// own.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        own: Vec<Option<OnFailure>>,
    },
    /// Does nothing for a while.
    Pause(Pause),
    /// Steps timed together as one transaction.
    Group {
        /// The name in results.
        name: String,
        /// The steps.
        steps: Vec<Step>,
    },
    /// Repeats steps.
    Repeat {
        /// Number of rounds.
        times: RepeatCount,
        /// The steps.
        steps: Vec<Step>,
    },
    /// Runs one of several branches, chosen at random.
    Choose {
        /// The branches.
        ways: Vec<Branch>,
    },
    /// Runs steps under a condition on the user's values.
    If {
        /// The condition as written: `state == 'open' and items > 0`.
        condition: String,
        /// Steps if it holds.
        steps: Vec<Step>,
        /// Steps if it does not hold.
        #[serde(default, skip_serializing_if = "Vec::is_empty", rename = "else")]
        otherwise: Vec<Step>,
    },
    /// Repeats steps as long as a condition holds, checked before each round.
    While {
        /// The condition as written.
        condition: String,
        /// The steps.
        steps: Vec<Step>,
    },
    /// Runs steps in the first iteration of each user only.
    Once {
        /// The steps.
        steps: Vec<Step>,
    },
    /// Closes the user's connections; its next request opens a new one.
    Close {
        /// The servers to disconnect from, as a URL of each; empty: all.
        #[serde(default)]
        servers: Vec<String>,
    },
    /// Waits until this much time has passed since the iteration started (nanoseconds).
    Pace(Nanos),
    /// Runs steps for each element of a list.
    ForEach {
        /// Name of the element.
        name: String,
        /// The list.
        list: LoopList,
        /// The steps.
        steps: Vec<Step>,
    },
    /// Runs the steps of another flow.
    Call {
        /// The name.
        flow: String,
        /// Values passed to it, by name; they can contain other values as `{name}`.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        with: BTreeMap<String, String>,
    },
}

/// The number of rounds of a loop.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum RepeatCount {
    /// This many.
    Times(u32),
    /// As many as the user's value with this name says; none if it is not a whole number.
    Value(String),
}

impl From<u32> for RepeatCount {
    fn from(times: u32) -> RepeatCount {
        RepeatCount::Times(times)
    }
}

/// Returns the server of a URL: scheme, host and port as written, in lower case.
pub fn server_of(url: &str) -> String {
    let (scheme, behind) = url.split_once("://").unwrap_or(("http", url));
    let authority = behind.split(['/', '?', '#']).next().unwrap_or_default();
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    format!("{scheme}://{host}").to_ascii_lowercase()
}

/// The list of a loop.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum LoopList {
    /// A captured list, by name.
    Captured(String),
    /// Fixed elements, with `{name}` as placeholder for a value.
    Fixed(Vec<String>),
}

/// A value captured before the run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SetupValue {
    /// The index of its variable.
    pub variable: u16,
    /// The bytes of the value.
    pub value: Vec<u8>,
    /// End offsets of the elements in `value`, if it is a list.
    pub ends: Vec<u32>,
}

/// Steps that can be called by name.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct NamedFlow {
    /// The name.
    pub name: String,
    /// The steps.
    pub steps: Vec<Step>,
}

/// One of several branches.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Branch {
    /// Relative weight of the branch.
    pub weight: f64,
    /// The steps.
    pub steps: Vec<Step>,
}

/// The length of a pause (nanoseconds).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Pause {
    /// Uniform between the two bounds; constant if they are equal.
    Uniform {
        /// The shortest.
        from: Nanos,
        /// The longest.
        to: Nanos,
    },
    /// Normally distributed, and not below zero.
    Normal {
        /// The mean.
        mean: Nanos,
        /// The standard deviation.
        deviation: Nanos,
    },
    /// Exponentially distributed, like independent visitors.
    Exponential {
        /// The mean.
        mean: Nanos,
    },
}

/// The policy if a step fails.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum OnFailure {
    /// Ends this iteration as failed and starts the next.
    #[default]
    NextIteration,
    /// Continues with the next step; the iteration still counts as failed.
    GoOn,
    /// Stops the user. Under open load, the same as `NextIteration`.
    StopUser,
    /// Stops the run, like an objective with `stop`.
    StopRun,
}

impl OnFailure {
    /// The policies, with their names in plans.
    pub const WORDS: [(&'static str, OnFailure); 4] = [
        ("next-iteration", OnFailure::NextIteration),
        ("go-on", OnFailure::GoOn),
        ("stop-user", OnFailure::StopUser),
        ("stop-run", OnFailure::StopRun),
    ];

    /// Returns the name used in plans.
    pub fn name(self) -> &'static str {
        OnFailure::WORDS.iter().find(|(_, other)| *other == self).map_or("", |(word, _)| word)
    }
}

impl Flow {
    /// Visits every step that users run, including those of nested steps and called flows.
    pub fn visit_steps<'a>(&'a self, hear: &mut impl FnMut(&'a Step)) {
        each(&self.steps, hear);
        self.flows.iter().for_each(|called| each(&called.steps, hear));
        each(&self.start, hear);
        each(&self.end, hear);
    }

    /// Visits every step that users run, and those of `setup` and `teardown`.
    pub fn visit_all_steps<'a>(&'a self, hear: &mut impl FnMut(&'a Step)) {
        self.visit_steps(hear);
        each(&self.setup, hear);
        each(&self.teardown, hear);
    }

    /// Returns a flow with only these steps and the same values.
    pub fn with_steps(&self, steps: &[Step]) -> Flow {
        let (flows, variables) = (self.flows.clone(), self.variables.clone());
        Flow { steps: steps.to_vec(), flows, variables, ..Flow::default() }
    }

    /// Returns the maximum number of requests that a user has in flight.
    pub fn max_in_flight(&self) -> u32 {
        let mut most = 1;
        self.visit_steps(&mut |step| {
            if let Step::Batch { at_most, urls, .. } = step {
                most = most.max((*at_most).min(urls.len() as u32));
            }
        });
        most
    }

    /// Returns the names of the groups, each once, in order of appearance.
    pub fn groups(&self) -> Vec<&str> {
        let mut names = Vec::new();
        self.visit_steps(&mut |step| match step {
            Step::Group { name, .. } if !names.contains(&name.as_str()) => names.push(name),
            _ => {}
        });
        names
    }

    /// Returns `true` if any step pauses.
    pub fn has_pauses(&self) -> bool {
        let mut pauses = false;
        self.visit_steps(&mut |step| pauses |= matches!(step, Step::Pause(_) | Step::Pace(_)));
        pauses
    }

    /// Returns `true` if the failure of a step can end the run.
    pub fn may_stop_run(&self) -> bool {
        let mut may = false;
        self.visit_steps(&mut |step| may |= step.requests().any(|(_, on_failure)| on_failure == OnFailure::StopRun));
        may
    }

    /// Returns the conditions of the steps, as written.
    pub fn conditions(&self) -> Vec<&str> {
        let mut all = Vec::new();
        self.visit_steps(&mut |step| match step {
            Step::If { condition, .. } | Step::While { condition, .. } => all.push(condition.as_str()),
            _ => {}
        });
        all
    }

    /// Returns the indices of the URLs that the steps request, in order of appearance.
    pub fn urls(&self) -> Vec<u32> {
        let mut urls = Vec::new();
        self.visit_all_steps(&mut |step| urls.extend(step.urls()));
        urls
    }

    /// Returns the named flow with this name.
    pub fn named_flow(&self, name: &str) -> Option<&NamedFlow> {
        self.flows.iter().find(|called| called.name == name)
    }

    /// Sets the names of the values: captures of these URLs, loop variables and arguments of called flows.
    pub fn with_variables(mut self, urls: &[WeightedUrl]) -> Flow {
        let mut names = variables(urls);
        self.visit_all_steps(&mut |step| match step {
            Step::ForEach { name, .. } => add(&mut names, name),
            Step::Call { with, .. } => with.keys().for_each(|name| add(&mut names, name)),
            _ => {}
        });
        self.variables = names;
        self
    }
}

impl Step {
    /// Returns the indices of the URLs that the step itself requests, without nested steps.
    pub fn urls(&self) -> &[u32] {
        match self {
            Step::Request { url, .. } => std::slice::from_ref(url),
            Step::Batch { urls, .. } => urls,
            _ => &[],
        }
    }

    /// Returns the indices of the URLs that the step itself requests, each with its policy on failure.
    pub fn requests(&self) -> impl Iterator<Item = (u32, OnFailure)> + '_ {
        let (of_all, own) = match self {
            Step::Request { on_failure, .. } => (*on_failure, &[][..]),
            Step::Batch { on_failure, own, .. } => (*on_failure, &own[..]),
            _ => (OnFailure::default(), &[][..]),
        };
        let on_failure = move |nth: usize| own.get(nth).copied().flatten().unwrap_or(of_all);
        self.urls().iter().enumerate().map(move |(nth, url)| (*url, on_failure(nth)))
    }
}

fn add(names: &mut Vec<String>, name: &str) {
    if !names.iter().any(|known| known == name) {
        names.push(name.to_owned());
    }
}

/// Name of the URL option that lists the captures from a response, each as `NAME SOURCE`.
pub const CAPTURE: &str = "capture";
/// Name of the URL option that gives names to checks.
pub const CHECK_NAMES: &str = "check-names";

/// Name of the URL option for the timeout of a step: `500ms`.
pub const TIMEOUT: &str = "timeout";
/// Name of the URL option that limits the total rate of a step over all users of its flow: `50/s`.
pub const AT_MOST: &str = "at-most";

impl WeightedUrl {
    /// Returns the timeout of the request, if the step sets one.
    pub fn timeout(&self) -> Option<Nanos> {
        quantity::positive_duration(self.options.get(TIMEOUT)?.last()?).ok()
    }

    /// Returns the maximum total rate per second over all users of the flow, if the step sets one.
    pub fn max_rate(&self) -> Option<f64> {
        quantity::rate(self.options.get(AT_MOST)?.last()?).ok()
    }
}

/// Returns the names of all captures of these URLs, each once, in order.
fn variables<'a>(urls: impl IntoIterator<Item = &'a WeightedUrl>) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for captured in urls.into_iter().filter_map(|url| url.options.get(CAPTURE)).flatten() {
        add(&mut names, captured.split(' ').next().unwrap_or_default());
    }
    names
}

/// Visits each step, including nested ones.
pub fn each<'a>(steps: &'a [Step], hear: &mut impl FnMut(&'a Step)) {
    for step in steps {
        hear(step);
        match step {
            Step::Group { steps, .. }
            | Step::Repeat { steps, .. }
            | Step::While { steps, .. }
            | Step::ForEach { steps, .. }
            | Step::Once { steps } => each(steps, hear),
            Step::If { steps, otherwise, .. } => {
                each(steps, hear);
                each(otherwise, hear);
            }
            Step::Choose { ways } => ways.iter().for_each(|way| each(&way.steps, hear)),
            Step::Request { .. }
            | Step::Batch { .. }
            | Step::Pause(_)
            | Step::Pace(_)
            | Step::Close { .. }
            | Step::Call { .. } => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_and_requests_are_found_at_any_depth() {
        let request = |url| Step::Request { url, on_failure: OnFailure::default() };
        let group = |name: &str, steps| Step::Group { name: name.into(), steps };
        let flow = Flow {
            steps: vec![
                request(0),
                group(
                    "a",
                    vec![request(1), Step::Repeat { times: 2.into(), steps: vec![group("b", vec![request(2)])] }],
                ),
                Step::Choose { ways: vec![Branch { weight: 1.0, steps: vec![group("a", vec![request(3)])] }] },
                Step::Once { steps: vec![Step::Pace(Nanos(1))] },
            ],
            variables: vec!["x".into()],
            clear_cookies: true,
            ..Flow::default()
        };
        assert_eq!((flow.groups(), flow.urls()), (vec!["a", "b"], vec![0, 1, 2, 3]));
        let text = serde_json::to_string(&flow).expect("JSON");
        assert_eq!(serde_json::from_str::<Flow>(&text).expect("the same"), flow);
    }
}
