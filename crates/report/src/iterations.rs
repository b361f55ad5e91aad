//! The rows of a flow: its iterations as a whole, and its groups.

use crate::named::NamedTotals;
use crate::ranked::Ranked;
use crate::sums::Sums;

/// What iterations are called among groups, which have names of their own.
pub const ITERATION: &str = "iteration";

/// Iterations, or groups of one name.
#[derive(Clone, Copy, Debug)]
pub struct SpanRow<'a> {
    /// The group's name; None: iterations as a whole.
    pub group: Option<&'a str>,
    /// How many there were, and how long they took: from when an iteration was due, or a group's first request was, to the end.
    pub totals: &'a NamedTotals,
    /// How long they took without their pauses.
    active: &'a NamedTotals,
}

impl<'a> SpanRow<'a> {
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
    /// Iterations first, then each group; nothing in a run without a flow. Two rows each stand behind those of the names.
    pub fn spans(&self) -> impl Iterator<Item = SpanRow<'_>> {
        let flow = self.started.as_ref().and_then(|started| started.plan.flow.as_ref());
        let groups = flow.map(|flow| std::iter::once(None).chain(flow.groups().into_iter().map(Some)));
        let (rows, names) = (self.totals.named.each(), self.names().len());
        let row = move |at: usize| rows.get(at).unwrap_or(crate::by_name::nothing());
        groups.into_iter().flatten().enumerate().map(move |(at, group)| {
            let first = names + 2 * at;
            SpanRow { group, totals: row(first), active: row(first + 1) }
        })
    }
}
