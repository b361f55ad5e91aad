//! Scenarios side by side: each a load of its own, and what its users do.
//!
//! Their requests are the URLs of the plan, as those of a flow are. What the plan says of the whole run (warm-up, timeouts,
//! workers) holds for all of them.

use measure::Nanos;
use serde::{Deserialize, Serialize};

use crate::flow::Flow;
use crate::{Load, Plan, Stage};

/// A run has at most so many.
pub const SCENARIOS: usize = 32;

/// One scenario of several.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Scenario {
    /// Its name in results.
    pub name: String,
    /// When its users start iterations.
    pub load: Load,
    /// How long after the start of the window it starts (nanoseconds); zero: with the run, warm-up included.
    #[serde(default)]
    pub start: Nanos,
    /// It starts no iteration after this time (nanoseconds). None: until its iterations are done.
    pub duration: Option<Nanos>,
    /// Iterations of all its users together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub iterations: Option<u64>,
    /// Iterations of each user, which then leaves.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub iterations_per_user: Option<u32>,
    /// Iterations in progress at its end may continue for this time (nanoseconds), and are then cut.
    pub graceful_stop: Nanos,
    /// Users started per second; None: as fast as they come.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spawn_rate: Option<f64>,
    /// Arrivals: iterations in progress at a time. Those due beyond it are dropped. None: no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_users: Option<u32>,
    /// Arrivals: its connection limit.
    pub max_connections: u32,
    /// What its users do.
    pub flow: Flow,
}

impl Scenario {
    /// True where a number of iterations ends it.
    pub fn counts_iterations(&self) -> bool {
        self.iterations.is_some() || self.iterations_per_user.is_some()
    }

    /// Its levels at the beginning and at the end of a stretch of time since the window began in which no stage of it begins or ends.
    fn levels(&self, from: Nanos, to: Nanos) -> (f64, f64) {
        let middle = from + Nanos((to - from).0 / 2);
        if middle < self.start || self.duration.is_some_and(|lasts| middle >= self.start.saturating_add(lasts)) {
            return (0.0, 0.0);
        }
        let mut begins = self.start;
        for stage in self.load.stages() {
            let ends = begins.saturating_add(stage.lasts);
            if middle < ends {
                let at = |moment: Nanos| {
                    stage.from + (stage.to - stage.from) * (moment - begins).0 as f64 / stage.lasts.0.max(1) as f64
                };
                return (at(from), at(to));
            }
            begins = ends;
        }
        let last = self.load.stages().last().map_or(0.0, |stage| stage.to);
        (last, last)
    }

    /// Moments at which its level takes another course, since the window began.
    fn turns(&self) -> Vec<Nanos> {
        let mut at = self.start;
        let mut turns = vec![at];
        for stage in self.load.stages() {
            at = at.saturating_add(stage.lasts);
            turns.push(at);
        }
        turns.extend(self.duration.map(|lasts| self.start.saturating_add(lasts)));
        turns
    }
}

/// The load of scenarios together, for whoever asks how much it is in all: arrivals of those that have any, else users.
pub fn together(scenarios: &[Scenario]) -> Load {
    let open = scenarios.iter().any(|scenario| scenario.load.is_open());
    let counted: Vec<&Scenario> = scenarios.iter().filter(|scenario| scenario.load.is_open() == open).collect();
    let mut turns: Vec<Nanos> = counted.iter().flat_map(|scenario| scenario.turns()).chain([Nanos::ZERO]).collect();
    turns.sort_unstable();
    turns.dedup();
    let stretch = |ends: &[Nanos]| {
        let levels = counted.iter().map(|scenario| scenario.levels(ends[0], ends[1]));
        let (from, to) = levels.fold((0.0, 0.0), |sum, level| (sum.0 + level.0, sum.1 + level.1));
        Stage { lasts: ends[1] - ends[0], from, to }
    };
    let stages = turns.windows(2).map(stretch).collect();
    let arrivals = counted.iter().find_map(|scenario| match scenario.load {
        Load::Open { arrivals, .. } => Some(arrivals),
        Load::Closed { .. } => None,
    });
    match arrivals {
        Some(arrivals) => Load::Open { stages, arrivals },
        None => Load::Closed { stages, think: None, together: false },
    }
}

/// An iteration, or a group of it, that figures are told of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SpanName<'a> {
    /// Whose; None in a run of one flow.
    pub scenario: Option<&'a str>,
    /// The group; None: iterations as a whole.
    pub group: Option<&'a str>,
}

impl SpanName<'_> {
    /// What iterations are called among groups, which have names of their own.
    pub const ITERATION: &'static str = "iteration";

    /// What objectives call it: `iteration`, `browse`; of one scenario among several `iteration shop`, `shop/browse`.
    pub fn called(&self) -> String {
        match (self.scenario, self.group) {
            (None, group) => group.unwrap_or(SpanName::ITERATION).to_owned(),
            (Some(scenario), None) => format!("{} {scenario}", SpanName::ITERATION),
            (Some(scenario), Some(group)) => format!("{scenario}/{group}"),
        }
    }
}

impl Plan {
    /// The flows of the plan, with the scenario of each where there are any.
    pub fn flows(&self) -> impl Iterator<Item = (Option<&Scenario>, &Flow)> {
        let alone = self.flow.iter().map(|flow| (None, flow));
        alone.chain(self.scenarios.iter().map(|scenario| (Some(scenario), &scenario.flow)))
    }

    /// The flow that has what is done once before the run and after it.
    pub fn around(&self) -> Option<&Flow> {
        self.flow.as_ref().or(self.common.as_ref())
    }

    /// The same, to change.
    pub fn around_mut(&mut self) -> Option<&mut Flow> {
        self.flow.as_mut().or(self.common.as_mut())
    }

    /// True where it asks for as much from its beginning to its end.
    pub fn is_level(&self) -> bool {
        let lasts = |scenario: &Scenario| {
            scenario.start == Nanos::ZERO && scenario.load.is_level() && scenario.duration == self.duration
        };
        self.load.is_level() && self.scenarios.iter().all(lasts)
    }

    /// True where users go through flows.
    pub fn has_flows(&self) -> bool {
        self.flow.is_some() || !self.scenarios.is_empty()
    }

    /// Iterations and groups in the order of their figures: of each flow its iterations, then its groups.
    pub fn spans(&self) -> Vec<SpanName<'_>> {
        let mut all = Vec::new();
        for (scenario, flow) in self.flows() {
            let scenario = scenario.map(|scenario| scenario.name.as_str());
            all.push(SpanName { scenario, group: None });
            all.extend(flow.groups().into_iter().map(|group| SpanName { scenario, group: Some(group) }));
        }
        all
    }

    /// What users of any flow know by name.
    pub fn variables(&self) -> &[String] {
        self.flows().next().map_or(&[], |(_, flow)| &flow.variables)
    }

    /// The plan with one of its scenarios alone, without the requests of the others; None where it has none of this name.
    pub fn only(mut self, name: &str) -> Option<Plan> {
        self.scenarios.retain(|scenario| scenario.name == name);
        self.load = together(&self.scenarios);
        let scenario = self.scenarios.first_mut()?;
        // What comes first is asked for before the run, to see who is there.
        let mut kept = scenario.flow.urls();
        kept.extend(self.common.iter().flat_map(Flow::urls_around));
        let mut seen = std::collections::BTreeSet::new();
        kept.retain(|url| seen.insert(*url));
        let mut place = |url: &mut u32| *url = kept.iter().position(|kept| kept == url).unwrap_or_default() as u32;
        scenario.flow.renumber(&mut place);
        if let Some(common) = &mut self.common {
            // What only the others call is gone with their requests.
            common.keep_reached();
            common.renumber(&mut place);
        }
        let urls = kept.iter().filter_map(|url| self.urls.get(*url as usize)).cloned().collect();
        self.urls = urls;
        Some(self)
    }
}
