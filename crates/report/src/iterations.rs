//! The rows of flows: iterations as a whole, and their groups; and the rows of scenarios, which sum up the requests of each.

use plan::scenarios::SpanName;

use crate::named::NamedTotals;
use crate::ranked::Ranked;
use crate::sums::Sums;

/// Iterations, or groups of one name.
#[derive(Clone, Copy, Debug)]
pub struct SpanRow<'a> {
    /// Whose; None in a run of one flow.
    pub scenario: Option<&'a str>,
    /// The group's name; None: iterations as a whole.
    pub group: Option<&'a str>,
    /// How many there were, and how long they took: from when an iteration was due, or a group's first request was, to the end.
    pub totals: &'a NamedTotals,
    /// How long they took without their pauses.
    active: &'a NamedTotals,
}

/// The requests of one scenario.
#[derive(Clone, Copy, Debug)]
pub struct ScenarioRow<'a> {
    /// Its name.
    pub name: &'a str,
    /// What they come to.
    pub totals: &'a NamedTotals,
    /// Its iterations.
    pub iterations: SpanRow<'a>,
}

impl ScenarioRow<'_> {
    /// What objectives call them.
    pub fn called(&self) -> String {
        format!("scenario {}", self.name)
    }
}

impl<'a> SpanRow<'a> {
    /// What objectives call it.
    pub fn called(&self) -> String {
        SpanName { scenario: self.scenario, group: self.group }.objective_name()
    }

    /// Those that were begun, or would have been had the run not ended: all that were due but those that were dropped.
    pub fn started(&self) -> u64 {
        self.totals.counts.due.saturating_sub(self.totals.counts.dropped)
    }

    /// How long they took, those that were cut as lower bounds.
    pub fn duration(&self) -> Ranked<'a> {
        self.totals.ranked()
    }

    /// The same without pauses, of those that succeeded.
    pub fn active(&self) -> Ranked<'a> {
        self.active.ranked()
    }
}

impl Sums {
    /// Of each flow its iterations first, then each group; nothing in a run without one. Two rows each stand behind those of the
    /// names.
    pub fn spans(&self) -> impl Iterator<Item = SpanRow<'_>> {
        let spans = self.started.as_ref().map(|started| started.plan.spans()).unwrap_or_default();
        let names = self.names().len();
        spans.into_iter().enumerate().map(move |(at, SpanName { scenario, group })| {
            let first = names + 2 * at;
            SpanRow { scenario, group, totals: self.row(first), active: self.row(first + 1) }
        })
    }

    /// What each scenario comes to, where there are any; their rows stand behind all others.
    pub fn scenarios(&self) -> impl Iterator<Item = ScenarioRow<'_>> {
        let before = self.names().len() + 2 * self.spans().count();
        let iterations = self.spans().filter(|row| row.scenario.is_some() && row.group.is_none());
        iterations.enumerate().filter_map(move |(at, iterations)| {
            Some(ScenarioRow { name: iterations.scenario?, totals: self.row(before + at), iterations })
        })
    }

    fn row(&self, at: usize) -> &NamedTotals {
        self.totals.named.each().get(at).unwrap_or(crate::by_name::nothing())
    }
}
