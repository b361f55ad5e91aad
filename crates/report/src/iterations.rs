//! The rows of flows (iterations as a whole, and their groups), and those of scenarios, with the sums of their
//! requests.

use brunt_plan::scenarios::SpanName;

use crate::name_totals::NamedTotals;
use crate::ranked::RankedLatency;
use crate::sums::RunSums;

/// The row of a flow's iterations, or of its groups of one name.
#[derive(Clone, Copy, Debug)]
pub struct SpanRow<'a> {
    /// Name of the scenario; `None` in a run with one flow.
    pub scenario: Option<&'a str>,
    /// Name of the group; `None` for iterations as a whole.
    pub group: Option<&'a str>,
    /// Counts and durations; a duration begins when the iteration, or the group's first request, was due.
    pub totals: &'a NamedTotals,
    /// Durations without pauses.
    active: &'a NamedTotals,
}

/// The requests of one scenario.
#[derive(Clone, Copy, Debug)]
pub struct ScenarioRow<'a> {
    /// Name of the scenario.
    pub name: &'a str,
    /// Totals of its requests.
    pub totals: &'a NamedTotals,
    /// Iterations of the scenario.
    pub iterations: SpanRow<'a>,
}

impl ScenarioRow<'_> {
    /// Returns the name that objectives use for this row.
    pub fn objective_name(&self) -> String {
        format!("scenario {}", self.name)
    }
}

impl<'a> SpanRow<'a> {
    /// Returns the name that objectives use for this row.
    pub fn objective_name(&self) -> String {
        SpanName { scenario: self.scenario, group: self.group }.objective_name()
    }

    /// Returns the number of iterations or groups that were due and not dropped: those that began, and those that only
    /// the end of the run prevented.
    pub fn started(&self) -> u64 {
        self.totals.counts.due.saturating_sub(self.totals.counts.dropped)
    }

    /// Returns the durations; those cut off are lower bounds.
    pub fn duration(&self) -> RankedLatency<'a> {
        self.totals.ranked()
    }

    /// Returns the durations without pauses, of those that succeeded.
    pub fn active(&self) -> RankedLatency<'a> {
        self.active.ranked()
    }
}

impl RunSums {
    /// Returns, for each flow, its iterations first, then each group; empty in a run without flows. Each span has two
    /// rows of totals, after those of the names.
    pub fn spans(&self) -> impl Iterator<Item = SpanRow<'_>> {
        let spans = self.started.as_ref().map(|started| started.plan.spans()).unwrap_or_default();
        let names = self.names().len();
        spans.into_iter().enumerate().map(move |(at, SpanName { scenario, group })| {
            let first = names + 2 * at;
            SpanRow { scenario, group, totals: self.row(first), active: self.row(first + 1) }
        })
    }

    /// Returns the totals of each scenario, if there are any; their rows follow all others.
    pub fn scenarios(&self) -> impl Iterator<Item = ScenarioRow<'_>> {
        let before = self.names().len() + 2 * self.spans().count();
        let iterations = self.spans().filter(|row| row.scenario.is_some() && row.group.is_none());
        iterations.enumerate().filter_map(move |(at, iterations)| {
            Some(ScenarioRow { name: iterations.scenario?, totals: self.row(before + at), iterations })
        })
    }

    fn row(&self, at: usize) -> &NamedTotals {
        self.totals.named.each().get(at).unwrap_or(crate::name_rows::empty_totals())
    }
}
