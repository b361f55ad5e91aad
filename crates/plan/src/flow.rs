//! What users do in order: a flow, as a plan holds it.
//!
//! A flow is a tree of steps. Its requests are the URLs of the plan, by their index, so that whatever reads a plan's requests
//! reads a flow's as well.

use measure::Nanos;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::WeightedUrl;

/// A flow has at most so many requests.
pub const REQUESTS: usize = 1000;
/// So many groups are told apart.
pub const GROUPS: usize = 64;

/// What a user does in one iteration.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Flow {
    /// One after the other.
    pub steps: Vec<Step>,
    /// What users know by name: all that steps capture, each once.
    #[serde(default)]
    pub variables: Vec<String>,
    /// The cookies of a user last for one iteration; otherwise as long as the user.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub clear_cookies: bool,
}

/// One step of a flow.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Step {
    /// Sends a request and waits for its response.
    Request {
        /// Index into the URLs of the plan.
        url: u32,
        /// What follows where it fails.
        #[serde(default)]
        on_failure: OnFailure,
    },
    /// Does nothing for a while.
    Pause(Pause),
    /// Steps whose time is told as that of one transaction.
    Group {
        /// What it is called in figures.
        name: String,
        /// Its steps.
        steps: Vec<Step>,
    },
    /// Steps so many times.
    Repeat {
        /// How often.
        times: u32,
        /// Its steps.
        steps: Vec<Step>,
    },
    /// One of several ways, at random.
    Choose {
        /// The ways.
        ways: Vec<Way>,
    },
    /// Steps where a condition over the user's values holds.
    If {
        /// As it was written: `state == 'open' and items > 0`.
        condition: String,
        /// What is done where it holds.
        steps: Vec<Step>,
        /// What is done where it does not.
        #[serde(default, skip_serializing_if = "Vec::is_empty", rename = "else")]
        otherwise: Vec<Step>,
    },
    /// Steps as long as a condition holds, looked at before each time.
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
    /// Waits until so long after the iteration began (nanoseconds); no longer where that is over.
    Pace(Nanos),
}

/// One way among several.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Way {
    /// How often it is taken, relative to the others.
    pub weight: f64,
    /// Its steps.
    pub steps: Vec<Step>,
}

/// How long a pause is (nanoseconds).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Pause {
    /// Between the two bounds, each as likely as another; the same twice: always that.
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
    /// Exponentially distributed: as people come who do not know of each other.
    Exponential {
        /// The mean.
        mean: Nanos,
    },
}

/// What a user does where a step failed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OnFailure {
    /// Leaves this iteration, which failed, and begins the next.
    #[default]
    NextIteration,
    /// Goes on with the next step, as if nothing were wrong; the iteration failed all the same.
    GoOn,
    /// Leaves for good. In open load this is as the next iteration.
    StopUser,
}

impl OnFailure {
    /// As people write them.
    pub const WORDS: [(&'static str, OnFailure); 3] =
        [("next-iteration", OnFailure::NextIteration), ("go-on", OnFailure::GoOn), ("stop-user", OnFailure::StopUser)];

    /// The word for it.
    pub fn word(self) -> &'static str {
        OnFailure::WORDS.iter().find(|(_, other)| *other == self).map_or("", |(word, _)| word)
    }
}

impl Flow {
    /// The names of its groups, each once, in the order they stand in.
    pub fn groups(&self) -> Vec<&str> {
        let mut names = Vec::new();
        each(&self.steps, &mut |step| match step {
            Step::Group { name, .. } if !names.contains(&name.as_str()) => names.push(name),
            _ => {}
        });
        names
    }

    /// True where its users pause at all.
    pub fn has_pauses(&self) -> bool {
        let mut pauses = false;
        each(&self.steps, &mut |step| pauses |= matches!(step, Step::Pause(_) | Step::Pace(_)));
        pauses
    }

    /// The conditions of its steps, as they were written.
    pub fn conditions(&self) -> Vec<&str> {
        let mut all = Vec::new();
        each(&self.steps, &mut |step| match step {
            Step::If { condition, .. } | Step::While { condition, .. } => all.push(condition.as_str()),
            _ => {}
        });
        all
    }

    /// The URLs that its steps send, by their indices, in the order they stand in.
    pub fn urls(&self) -> Vec<u32> {
        let mut urls = Vec::new();
        each(&self.steps, &mut |step| {
            if let Step::Request { url, .. } = step {
                urls.push(*url);
            }
        });
        urls
    }
}

/// What a step takes out of its response, among the options of its URL: `NAME SOURCE` each.
pub const CAPTURE: &str = "capture";

/// What users know by name: all that the steps of a flow over these URLs capture, each once, in their order.
pub fn variables<'a>(urls: impl IntoIterator<Item = &'a WeightedUrl>) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for captured in urls.into_iter().filter_map(|url| url.options.get(CAPTURE)).flatten() {
        let name = captured.split(' ').next().unwrap_or_default();
        if !names.iter().any(|known| known == name) {
            names.push(name.to_owned());
        }
    }
    names
}

/// Hears of each step, those within others too.
fn each<'a>(steps: &'a [Step], hear: &mut impl FnMut(&'a Step)) {
    for step in steps {
        hear(step);
        match step {
            Step::Group { steps, .. }
            | Step::Repeat { steps, .. }
            | Step::While { steps, .. }
            | Step::Once { steps } => each(steps, hear),
            Step::If { steps, otherwise, .. } => {
                each(steps, hear);
                each(otherwise, hear);
            }
            Step::Choose { ways } => ways.iter().for_each(|way| each(&way.steps, hear)),
            Step::Request { .. } | Step::Pause(_) | Step::Pace(_) => {}
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
        };
        assert_eq!((flow.groups(), flow.urls()), (vec!["a", "b"], vec![0, 1, 2, 3]));
        let text = serde_json::to_string(&flow).expect("JSON");
        assert_eq!(serde_json::from_str::<Flow>(&text).expect("the same"), flow);
    }
}
