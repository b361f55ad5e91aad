//! Concurrent scenarios, each with its own load and flow.
//!
//! Their requests are URLs of the plan, like those of a flow. Settings for the whole run (warm-up, timeouts, workers)
//! apply to all scenarios.

use brunt_measure::Nanos;
use serde::{Deserialize, Serialize};

use crate::flow::Flow;
use crate::{Load, Plan, Stage};

/// Maximum number of scenarios in a run.
pub const SCENARIOS: usize = 32;

/// One scenario of several.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ScenarioPlan {
    /// The name in results.
    pub name: String,
    /// The load model: the times at which its users start iterations.
    pub load: Load,
    /// Start, counted from the beginning of the window (nanoseconds); zero starts it with the run, warm-up included.
    #[serde(default)]
    pub start: Nanos,
    /// Time after which no iteration is started (nanoseconds). None: until its iterations are done.
    pub duration: Option<Nanos>,
    /// Total number of iterations of all its users.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub iterations: Option<u64>,
    /// Number of iterations after which each user leaves.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub iterations_per_user: Option<u32>,
    /// Time given to iterations in progress at its end (nanoseconds); they are aborted afterwards.
    pub graceful_stop: Nanos,
    /// Users started per second; None: as fast as possible.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spawn_rate: Option<f64>,
    /// Arrivals: maximum number of iterations in progress. Further arrivals are dropped. None: no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_users: Option<u32>,
    /// Arrivals: maximum number of connections.
    pub max_connections: u32,
    /// The steps of its users.
    pub flow: Flow,
}

impl ScenarioPlan {
    /// Returns `true` if the scenario ends after a number of iterations.
    pub fn counts_iterations(&self) -> bool {
        self.iterations.is_some() || self.iterations_per_user.is_some()
    }

    /// Returns the levels at both ends of an interval within which no stage begins or ends; times are since the
    /// beginning of the window.
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

    /// Returns the times since the beginning of the window at which the slope of the level changes.
    fn slope_changes(&self) -> Vec<Nanos> {
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

/// Returns the total load of scenarios: arrivals if any scenario has arrivals, otherwise users.
pub fn total_load(scenarios: &[ScenarioPlan]) -> Load {
    let open = scenarios.iter().any(|scenario| scenario.load.is_open());
    let counted: Vec<&ScenarioPlan> = scenarios.iter().filter(|scenario| scenario.load.is_open() == open).collect();
    let mut turns: Vec<Nanos> =
        counted.iter().flat_map(|scenario| scenario.slope_changes()).chain([Nanos::ZERO]).collect();
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

/// The name of an iteration or a group that is timed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SpanName<'a> {
    /// The scenario; `None` in a run with a single flow.
    pub scenario: Option<&'a str>,
    /// The group; `None` for the whole iteration.
    pub group: Option<&'a str>,
}

impl SpanName<'_> {
    /// Name of the whole iteration in lists of named groups.
    pub const ITERATION: &'static str = "iteration";
    /// What follows a name in objectives on the duration without pauses: `iteration active`.
    pub const ACTIVE: &'static str = " active";

    /// Returns the name used by objectives: `iteration`, `browse`; with several scenarios `iteration shop`,
    /// `shop/browse`.
    pub fn objective_name(&self) -> String {
        match (self.scenario, self.group) {
            (None, group) => group.unwrap_or(SpanName::ITERATION).to_owned(),
            (Some(scenario), None) => format!("{} {scenario}", SpanName::ITERATION),
            (Some(scenario), Some(group)) => format!("{scenario}/{group}"),
        }
    }
}

impl Plan {
    /// Returns the flows of the plan, each with its scenario if there are any.
    pub fn flows(&self) -> impl Iterator<Item = (Option<&ScenarioPlan>, &Flow)> {
        let alone = self.flow.iter().map(|flow| (None, flow));
        alone.chain(self.scenarios.iter().map(|scenario| (Some(scenario), &scenario.flow)))
    }

    /// Returns the flow that contains `setup` and `teardown`.
    pub fn setup_flow(&self) -> Option<&Flow> {
        self.flow.as_ref().or(self.common.as_ref())
    }

    /// Like [`Plan::setup_flow`], for modification.
    pub fn setup_flow_mut(&mut self) -> Option<&mut Flow> {
        self.flow.as_mut().or(self.common.as_mut())
    }

    /// Returns `true` if the level is constant from beginning to end.
    pub fn is_level(&self) -> bool {
        let lasts = |scenario: &ScenarioPlan| {
            scenario.start == Nanos::ZERO && scenario.load.is_level() && scenario.duration == self.duration
        };
        self.load.is_level() && self.scenarios.iter().all(lasts)
    }

    /// Returns `true` if users follow flows.
    pub fn has_flows(&self) -> bool {
        self.flow.is_some() || !self.scenarios.is_empty()
    }

    /// Returns the iterations and groups in the order of their results: for each flow its iterations, then its groups.
    pub fn spans(&self) -> Vec<SpanName<'_>> {
        let mut all = Vec::new();
        for (scenario, flow) in self.flows() {
            let scenario = scenario.map(|scenario| scenario.name.as_str());
            all.push(SpanName { scenario, group: None });
            all.extend(flow.groups().into_iter().map(|group| SpanName { scenario, group: Some(group) }));
        }
        all
    }

    /// Returns the names by which objectives call iterations and groups. A group of only one scenario may be named
    /// without the scenario.
    pub fn span_names(&self) -> Vec<String> {
        let spans = self.spans();
        let alone = |group: &&str| spans.iter().filter(|span| span.group == Some(*group)).count() == 1;
        let groups = spans.iter().filter_map(|span| span.group).filter(alone).map(str::to_owned);
        let mut names: Vec<String> = spans.iter().map(SpanName::objective_name).collect();
        names.extend(groups.filter(|group| !names.contains(group)).collect::<Vec<_>>());
        names
    }

    /// Returns the names of the users' values, which are the same in every flow.
    pub fn variables(&self) -> &[String] {
        self.flows().next().map_or(&[], |(_, flow)| &flow.variables)
    }

    /// Returns the plan with this load of one scenario. All scenarios run from beginning to end of the duration, the others
    /// at the highest level of their own loads.
    #[must_use]
    pub fn with_scenario_load(mut self, number: usize, load: Load) -> Plan {
        let lasts = self.duration.unwrap_or_default();
        let mut load = Some(load);
        for (at, scenario) in self.scenarios.iter_mut().enumerate() {
            if at == number {
                scenario.load = load.take().unwrap_or_else(|| scenario.load.clone());
            }
            let level = scenario.load.peak();
            let (Load::Open { stages, .. } | Load::Closed { stages, .. }) = &mut scenario.load;
            *stages = vec![Stage { lasts, from: level, to: level }];
            (scenario.start, scenario.duration) = (Nanos::ZERO, self.duration);
            (scenario.iterations, scenario.iterations_per_user) = (None, None);
        }
        self.load = total_load(&self.scenarios);
        self
    }

    /// Returns the plan with only this scenario and its requests; `None` if there is no such scenario.
    pub fn with_scenario(mut self, name: &str) -> Option<Plan> {
        self.scenarios.retain(|scenario| scenario.name == name);
        self.load = total_load(&self.scenarios);
        let scenario = self.scenarios.first_mut()?;
        // The first URL is requested before the run, to check that the target is available.
        let mut kept = scenario.flow.urls();
        kept.extend(self.common.iter().flat_map(Flow::setup_and_teardown_urls));
        let mut seen = std::collections::BTreeSet::new();
        kept.retain(|url| seen.insert(*url));
        let mut place = |url: &mut u32| *url = kept.iter().position(|kept| kept == url).unwrap_or_default() as u32;
        scenario.flow.renumber(&mut place);
        if let Some(common) = &mut self.common {
            // Flows that only other scenarios call are removed, together with their requests.
            common.remove_uncalled();
            common.renumber(&mut place);
        }
        let urls = kept.iter().filter_map(|url| self.urls.get(*url as usize)).cloned().collect();
        self.urls = urls;
        Some(self)
    }
}
