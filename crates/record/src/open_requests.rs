//! Requests in progress of a part of a run, in case that part is lost.
//!
//! The start of those requests was not reported, so the lower bound of their latency is zero; that of their service time is
//! a nanosecond, because zero is said of requests that were never sent. Like any bound, both rank them above all finished
//! requests.

use std::collections::BTreeMap;

use brunt_measure::{Nanos, PackedHistogram};

use crate::{Counts, HeartbeatCounts, NamedCounts, NamedFigures, RunPart, Second};

/// Lower bound of the service time of a request that was sent, whenever that was.
const SENT: Nanos = Nanos(1);

/// Requests in progress of one worker or one agent, as reported.
#[derive(Clone, Debug, Default)]
pub struct OpenRequests {
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

impl OpenRequests {
    /// Adds the counts of a second, the arrivals that wait at its end, its heartbeats, and its counts by name.
    pub fn add<'a>(
        &mut self,
        counts: &Counts,
        waiting: u64,
        heartbeats: &HeartbeatCounts,
        named: impl Iterator<Item = (u16, &'a NamedCounts)>,
    ) {
        let over = |finished: u64, failed, censored| finished.saturating_add(failed).saturating_add(censored);
        let c = counts;
        self.requests = self.requests.saturating_add(c.due).saturating_sub(over(c.finished, c.failed, c.censored));
        self.waiting = waiting;
        for (name, c) in named {
            let open = self.named.entry(name).or_default();
            *open = open.saturating_add(c.due).saturating_sub(over(c.finished, c.failed, c.censored));
        }
        let over = over(heartbeats.answered, heartbeats.missed, heartbeats.open);
        self.beats = self.beats.saturating_add(heartbeats.sent).saturating_sub(over);
    }

    /// Adds a second of a record.
    pub fn add_second(&mut self, s: &Second) {
        self.add(&s.counts(), u64::from(s.waiting), &s.heartbeats, s.named.iter().map(|row| (row.name, &row.counts)));
        self.reach(s.part, s.to_ns);
    }

    /// Notes how far the figures reach.
    pub fn reach(&mut self, part: RunPart, to_ns: i64) {
        self.part = part;
        if part == RunPart::Window {
            self.window_ns = to_ns;
        }
    }

    /// Returns `true` if something is in progress.
    pub fn is_any(&self) -> bool {
        self.requests > 0 || self.beats > 0
    }

    /// Counts the requests as unfinished; `open` is set if arrivals do not wait for answers.
    pub fn count_unfinished(&self, second: &mut Second, open: bool) {
        second.censored = second.censored.saturating_add(self.requests);
        second.heartbeats.open = second.heartbeats.open.saturating_add(self.beats);
        let unsent = self.waiting.min(self.requests);
        let latency = &mut second.latency;
        if open {
            latency.response_at_least.record_n(Nanos::ZERO, self.requests);
        }
        latency.wait_conn_at_least.record_n(Nanos::ZERO, unsent);
        latency.service_at_least.record_n(SENT, self.requests - unsent);
        latency.heartbeat_at_least.record_n(Nanos::ZERO, self.beats);
        let shown = if open { Nanos::ZERO } else { SENT };
        for (name, requests) in self.named.iter().filter(|(_, requests)| **requests > 0) {
            let named = NamedFigures::entry(&mut second.named, *name);
            named.counts.censored = named.counts.censored.saturating_add(*requests);
            named.at_least.merge(&PackedHistogram::of(shown, *requests));
        }
    }
}
