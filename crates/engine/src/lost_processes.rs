//! Workers lost with their process. The figures already reported are kept, and requests in progress count as
//! unfinished.
//!
//! The start of those requests was not reported, so the lower bound of their latency is zero. Like any bound, it ranks
//! them above all finished requests.

use std::collections::BTreeMap;

use brunt_measure::{Nanos, PackedHistogram};
use brunt_record::{Notice, RunPart, Second, Subject};

use crate::tally::Snapshot;

/// Work in progress of one worker, as reported.
#[derive(Clone, Debug, Default)]
pub(crate) struct OpenWork {
    /// Number of requests that were due and whose end was not counted.
    pub requests: u64,
    /// Number of those requests that have not been sent.
    waiting: u64,
    /// Number of unanswered heartbeats.
    pub beats: u64,
    /// The part of the run reported last.
    pub part: RunPart,
    /// End of the last reported second of the window, in nanoseconds.
    pub window_ns: i64,
    /// Number of requests by name, if the run has several.
    named: BTreeMap<u16, u64>,
}

impl OpenWork {
    /// Adds a second.
    pub fn add(&mut self, s: &Snapshot) {
        let c = &s.counts;
        let over = |finished: u64, failed, censored| finished.saturating_add(failed).saturating_add(censored);
        self.requests = self.requests.saturating_add(c.due).saturating_sub(over(c.finished, c.failed, c.censored));
        self.waiting = c.apart.waiting;
        for told in &s.named {
            let (c, open) = (&told.counts, self.named.entry(told.name).or_default());
            *open = open.saturating_add(c.due).saturating_sub(over(c.finished, c.failed, c.censored));
        }
        self.beats = (self.beats + c.heartbeats.sent)
            .saturating_sub(c.heartbeats.answered + c.heartbeats.missed + c.heartbeats.open);
        self.part = s.part;
        if s.part == RunPart::Window {
            self.window_ns = s.to_ns;
        }
    }

    /// Counts the work as unfinished; `open` is set if arrivals do not wait for answers.
    pub fn count_unfinished(&self, second: &mut Second, open: bool) {
        second.censored += self.requests;
        second.heartbeats.open += self.beats;
        let unsent = self.waiting.min(self.requests);
        let latency = &mut second.latency;
        if open {
            latency.response_at_least.record_n(Nanos::ZERO, self.requests);
        }
        latency.wait_conn_at_least.record_n(Nanos::ZERO, unsent);
        latency.service_at_least.record_n(Nanos::ZERO, self.requests - unsent);
        latency.heartbeat_at_least.record_n(Nanos::ZERO, self.beats);
        for (name, requests) in self.named.iter().filter(|(_, requests)| **requests > 0) {
            let named = brunt_record::NamedFigures::entry(&mut second.named, *name);
            named.counts.censored += requests;
            named.at_least.merge(&PackedHistogram::of(Nanos::ZERO, *requests));
        }
    }
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
