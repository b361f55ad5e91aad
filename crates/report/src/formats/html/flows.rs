//! Scenarios in a second: their users, iterations and requests. A run with one flow has one entry.

use crate::summary::Summary;
use brunt_record::{NamedCounts, Second};

/// The figures of each flow in a second.
pub(super) type FlowFigures = Vec<[u64; 9]>;

/// The positions of the rows of each flow among those of a second.
pub(super) struct Flows {
    flows: Vec<FlowRows>,
}

struct FlowRows {
    /// Name, if there are several flows.
    name: Option<String>,
    iterations: usize,
    /// Row of the flow's requests; `None` if the run has no others.
    requests: Option<usize>,
}

impl Flows {
    /// Creates the flows of a run; empty in a run without flows.
    pub fn of(summary: &Summary) -> Flows {
        let spans: Vec<_> = summary.spans().collect();
        let (first, behind) = (summary.names().len(), summary.names().len() + 2 * spans.len());
        let whole = spans.iter().enumerate().filter(|(_, span)| span.group.is_none());
        let flow = |(number, (at, span)): (usize, (usize, &crate::iterations::SpanRow<'_>))| FlowRows {
            name: span.scenario.map(|name| brunt_measure::sanitize::line(name).into_owned()),
            iterations: first + 2 * at,
            requests: span.scenario.map(|_| behind + number),
        };
        Flows { flows: whole.enumerate().map(flow).collect() }
    }

    /// Returns the names of the flows, in the order of their rows.
    pub fn names(&self) -> Vec<Option<&str>> {
        self.flows.iter().map(|flow| flow.name.as_deref()).collect()
    }

    /// Returns for each flow `[users, scheduled, succeeded, failed, iterations started, iterations succeeded,
    /// iterations failed, iterations dropped, milliseconds of users]`; `None` without flows.
    pub fn of_second(&self, second: &Second) -> Option<FlowFigures> {
        let rows = self.flows.iter().map(|flow| {
            let iterations = counts(second, flow.iterations);
            let [users, due, finished, failed, users_ns] = match flow.requests {
                Some(row) => requests(&counts(second, row)),
                None => {
                    let ended = second.finished.saturating_add(second.finished_of_warmup);
                    [u64::from(second.users), second.due, ended, second.failed, 0]
                }
            };
            // Older records contain only the number of users at the end of a second.
            let users_ms = if users_ns > 0 { users_ns / 1_000_000 } else { users.saturating_mul(1000) };
            let started = iterations.due.saturating_sub(iterations.dropped);
            [
                users,
                due,
                finished,
                failed,
                started,
                iterations.finished,
                iterations.failed,
                iterations.dropped,
                users_ms,
            ]
        });
        (!self.flows.is_empty()).then(|| rows.collect())
    }
}

fn requests(counts: &NamedCounts) -> [u64; 5] {
    let ended = counts.finished.saturating_add(counts.finished_of_warmup);
    [counts.users, counts.due, ended, counts.failed, counts.users_ns]
}

fn counts(second: &Second, row: usize) -> NamedCounts {
    let at = u16::try_from(row).ok().and_then(|row| second.named.binary_search_by_key(&row, |named| named.name).ok());
    at.map(|at| second.named[at].counts).unwrap_or_default()
}
