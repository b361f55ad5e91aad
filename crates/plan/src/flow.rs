//! What users do in order: a flow, as a plan holds it.
//!
//! A flow is a tree of steps. Its requests are the URLs of the plan, by their index, so that whatever reads a plan's requests
//! reads a flow's as well.

mod pages;
mod reached;
mod values;

use std::collections::BTreeMap;

use measure::Nanos;
use serde::{Deserialize, Serialize};

use crate::{WeightedUrl, quantity};

pub use pages::is_page;
pub use values::{Piece, pieces, values_of};

/// A flow has at most so many requests.
pub const REQUESTS: usize = 1000;
/// The option that says how many of the resources of a page are fetched at once.
pub const RESOURCES: &str = "resources";
/// So many groups are told apart.
pub const GROUPS: usize = 64;

/// What a user does in one iteration.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Flow {
    /// The steps, in order.
    pub steps: Vec<Step>,
    /// Steps that can be called by name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub flows: Vec<Called>,
    /// What each user does before its first iteration.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub start: Vec<Step>,
    /// What each user does after its last iteration.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub end: Vec<Step>,
    /// Steps once before the run, not counted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub setup: Vec<Step>,
    /// Steps once after the run, not counted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub teardown: Vec<Step>,
    /// Values that every user starts with: captured in `setup`. Only in a plan that is being run, not in reports.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub known: Vec<Known>,
    /// What users know by name, each once: all that steps capture, that goes over a list, and that is given to flows that are called.
    #[serde(default)]
    pub variables: Vec<String>,
    /// Cookies last for one iteration; otherwise as long as the user.
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
        /// What happens if it fails.
        #[serde(default)]
        on_failure: OnFailure,
    },
    /// Sends several requests in parallel, and continues once all are done.
    Batch {
        /// Requests in flight at once.
        at_most: u32,
        /// Indices into the URLs of the plan, in the order they are sent in.
        urls: Vec<u32>,
        /// What happens if one of them fails.
        #[serde(default)]
        on_failure: OnFailure,
        /// Of each request in their order what follows where that one fails; none: as of the batch. Empty where none says so itself.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        own: Vec<Option<OnFailure>>,
    },
    /// Does nothing for a while.
    Pause(Pause),
    /// Steps timed together as one transaction.
    Group {
        /// Its name in results.
        name: String,
        /// Its steps.
        steps: Vec<Step>,
    },
    /// Repeats steps.
    Repeat {
        /// How often.
        times: u32,
        /// Its steps.
        steps: Vec<Step>,
    },
    /// One of several branches, at random.
    Choose {
        /// The branches.
        ways: Vec<Way>,
    },
    /// Steps under a condition on the user's values.
    If {
        /// As it was written: `state == 'open' and items > 0`.
        condition: String,
        /// Steps if it holds.
        steps: Vec<Step>,
        /// Steps if it does not hold.
        #[serde(default, skip_serializing_if = "Vec::is_empty", rename = "else")]
        otherwise: Vec<Step>,
    },
    /// Repeats steps as long as a condition holds, checked before each round.
    While {
        /// As it was written.
        condition: String,
        /// Its steps.
        steps: Vec<Step>,
    },
    /// Steps in the first iteration of each user only.
    Once {
        /// Its steps.
        steps: Vec<Step>,
    },
    /// The user goes away: its connections are closed, and its next request opens a new one.
    Close {
        /// The servers it disconnects from, as a URL of each; empty: all.
        #[serde(default)]
        servers: Vec<String>,
    },
    /// Waits until this long after the iteration started (nanoseconds), if not yet reached.
    Pace(Nanos),
    /// Steps for each element of a list.
    ForEach {
        /// Name of the element.
        name: String,
        /// The list.
        list: List,
        /// Its steps.
        steps: Vec<Step>,
    },
    /// The steps of another flow.
    Call {
        /// Its name.
        flow: String,
        /// Values passed to it, by name; can contain other values as `{name}`.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        with: BTreeMap<String, String>,
    },
}

/// The server that a URL leads to: its scheme, its host and its port, as they are written.
pub fn server_of(url: &str) -> String {
    let (scheme, behind) = url.split_once("://").unwrap_or(("http", url));
    let authority = behind.split(['/', '?', '#']).next().unwrap_or_default();
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    format!("{scheme}://{host}").to_ascii_lowercase()
}

/// What is gone over, element by element.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum List {
    /// What a step captured, by its name.
    Captured(String),
    /// These, with `{name}` where a value stands.
    Fixed(Vec<String>),
}

/// A value that is known.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Known {
    /// The index of its variable.
    pub variable: u16,
    /// Its bytes.
    pub value: Vec<u8>,
    /// Of a list: where its elements end in it.
    pub ends: Vec<u32>,
}

/// Steps that can be called by name.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Called {
    /// Its name.
    pub name: String,
    /// Its steps.
    pub steps: Vec<Step>,
}

/// One of several branches.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Way {
    /// How often it is chosen, relative to the others.
    pub weight: f64,
    /// Its steps.
    pub steps: Vec<Step>,
}

/// How long a pause is (nanoseconds).
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

/// What a user does when a step fails.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum OnFailure {
    /// Ends this iteration, which failed, and starts the next.
    #[default]
    NextIteration,
    /// Continues with the next step; the iteration still counts as failed.
    GoOn,
    /// Stops. Under open load, the same as the next iteration.
    StopUser,
    /// Stops the run, like an objective with `stop`.
    StopRun,
}

impl OnFailure {
    /// As people write them.
    pub const WORDS: [(&'static str, OnFailure); 4] = [
        ("next-iteration", OnFailure::NextIteration),
        ("go-on", OnFailure::GoOn),
        ("stop-user", OnFailure::StopUser),
        ("stop-run", OnFailure::StopRun),
    ];

    /// The word for it.
    pub fn word(self) -> &'static str {
        OnFailure::WORDS.iter().find(|(_, other)| *other == self).map_or("", |(word, _)| word)
    }
}

impl Flow {
    /// Hears of each step of its users, those within others and those of the flows they call too.
    pub fn each<'a>(&'a self, hear: &mut impl FnMut(&'a Step)) {
        each(&self.steps, hear);
        self.flows.iter().for_each(|called| each(&called.steps, hear));
        each(&self.start, hear);
        each(&self.end, hear);
    }

    /// The same, and of what is done once for all of them.
    pub fn each_of_run<'a>(&'a self, hear: &mut impl FnMut(&'a Step)) {
        self.each(hear);
        each(&self.setup, hear);
        each(&self.teardown, hear);
    }

    /// A flow of these steps alone, over the same values.
    pub fn of(&self, steps: &[Step]) -> Flow {
        let (flows, variables) = (self.flows.clone(), self.variables.clone());
        Flow { steps: steps.to_vec(), flows, variables, ..Flow::default() }
    }

    /// The most requests that a user has under way at once.
    pub fn at_once(&self) -> u32 {
        let mut most = 1;
        self.each(&mut |step| {
            if let Step::Batch { at_most, urls, .. } = step {
                most = most.max((*at_most).min(urls.len() as u32));
            }
        });
        most
    }

    /// The names of its groups, each once, in the order they stand in.
    pub fn groups(&self) -> Vec<&str> {
        let mut names = Vec::new();
        self.each(&mut |step| match step {
            Step::Group { name, .. } if !names.contains(&name.as_str()) => names.push(name),
            _ => {}
        });
        names
    }

    /// True where its users pause at all.
    pub fn has_pauses(&self) -> bool {
        let mut pauses = false;
        self.each(&mut |step| pauses |= matches!(step, Step::Pause(_) | Step::Pace(_)));
        pauses
    }

    /// True where a step that fails ends the run.
    pub fn may_stop_run(&self) -> bool {
        let mut may = false;
        self.each(&mut |step| may |= step.sends().any(|(_, on_failure)| on_failure == OnFailure::StopRun));
        may
    }

    /// The conditions of its steps, as they were written.
    pub fn conditions(&self) -> Vec<&str> {
        let mut all = Vec::new();
        self.each(&mut |step| match step {
            Step::If { condition, .. } | Step::While { condition, .. } => all.push(condition.as_str()),
            _ => {}
        });
        all
    }

    /// The URLs that its steps send, by their indices, in the order they stand in.
    pub fn urls(&self) -> Vec<u32> {
        let mut urls = Vec::new();
        self.each_of_run(&mut |step| urls.extend(step.urls()));
        urls
    }

    /// The flow that is called so.
    pub fn called(&self, name: &str) -> Option<&Called> {
        self.flows.iter().find(|called| called.name == name)
    }

    /// The same with its variables: what these URLs capture, what goes over lists, and what is given to those who are called.
    pub fn with_variables(mut self, urls: &[WeightedUrl]) -> Flow {
        let mut names = variables(urls);
        self.each_of_run(&mut |step| match step {
            Step::ForEach { name, .. } => add(&mut names, name),
            Step::Call { with, .. } => with.keys().for_each(|name| add(&mut names, name)),
            _ => {}
        });
        self.variables = names;
        self
    }
}

impl Step {
    /// The URLs that it sends itself, by their indices.
    pub fn urls(&self) -> &[u32] {
        match self {
            Step::Request { url, .. } => std::slice::from_ref(url),
            Step::Batch { urls, .. } => urls,
            _ => &[],
        }
    }

    /// The same, each with what follows where it fails.
    pub fn sends(&self) -> impl Iterator<Item = (u32, OnFailure)> + '_ {
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

/// What a step takes out of its response, among the options of its URL: `NAME SOURCE` each.
pub const CAPTURE: &str = "capture";
/// That under which checks are given names, in the same place.
pub const CHECK_NAMES: &str = "check-names";

/// What a step may take, in the same place: `500ms`.
pub const TIMEOUT: &str = "timeout";
/// How often a step is sent by all users of its flow together: `50/s`.
pub const AT_MOST: &str = "at-most";

impl WeightedUrl {
    /// What the request may take, where that was said at its step.
    pub fn own_timeout(&self) -> Option<Nanos> {
        quantity::positive_duration(self.options.get(TIMEOUT)?.last()?).ok()
    }

    /// How often it is sent in a second at most, by all users of its flow together.
    pub fn at_most(&self) -> Option<f64> {
        quantity::rate(self.options.get(AT_MOST)?.last()?).ok()
    }
}

/// All that the steps of a flow over these URLs capture, each once, in their order.
fn variables<'a>(urls: impl IntoIterator<Item = &'a WeightedUrl>) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for captured in urls.into_iter().filter_map(|url| url.options.get(CAPTURE)).flatten() {
        add(&mut names, captured.split(' ').next().unwrap_or_default());
    }
    names
}

/// Hears of each step, those within others too.
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
                group("a", vec![request(1), Step::Repeat { times: 2, steps: vec![group("b", vec![request(2)])] }]),
                Step::Choose { ways: vec![Way { weight: 1.0, steps: vec![group("a", vec![request(3)])] }] },
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
