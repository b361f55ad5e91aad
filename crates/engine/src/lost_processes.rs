//! Workers lost with their process. The figures already reported are kept, and requests in progress count as
//! unfinished ([`brunt_record::OpenRequests`]).

use brunt_measure::Nanos;
use brunt_record::{Notice, OpenRequests, Subject};

use crate::tally::Snapshot;

/// Adds what a worker reported of a second to its requests in progress.
pub(crate) fn add_snapshot(open: &mut OpenRequests, s: &Snapshot) {
    let c = &s.counts;
    open.add(&c.sums, c.apart.waiting, &c.heartbeats, s.named.iter().map(|told| (told.name, &told.counts)));
    open.reach(s.part, s.to_ns);
}

/// The processes that a run has lost.
#[derive(Debug, Default)]
pub(crate) struct LostProcesses {
    processes: u64,
    requests: u64,
    /// Time up to which all of them reported figures, in nanoseconds; `None` if one of them reported nothing.
    until: Option<i64>,
    how: Vec<String>,
}

impl LostProcesses {
    /// Adds a process, given how it ended, the number of its unfinished requests and the time of its last report.
    /// Returns the notice for all lost processes.
    pub fn add(&mut self, how: &str, requests: u64, until: Option<i64>) -> Notice {
        let until = until.filter(|until| *until > i64::MIN);
        self.until = if self.processes == 0 { until } else { self.until.min(until) };
        self.processes += 1;
        self.requests += requests;
        if !self.how.iter().any(|known| known == how) {
            self.how.push(how.to_owned());
        }
        let until = Nanos(self.until.map_or(0, |until| u64::try_from(until).unwrap_or(0)));
        let facts = [
            ("processes", self.processes.to_string()),
            ("how", self.how.join(", ")),
            ("until", if until == Nanos::ZERO { "0 s".to_owned() } else { brunt_measure::format_duration(until) }),
            ("requests", self.requests.to_string()),
        ];
        Notice::new(Subject::ProcessLost, facts)
    }
}
