//! What the record says of the load, as far as rules ask for it.

use std::collections::BTreeMap;

/// Failures of a sort.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Failures {
    /// `timeout`, `no_ports` … as records spell them.
    pub kind: String,
    /// `connect`, `first_byte` …
    pub phase: String,
    /// How many.
    pub count: u64,
}

/// How long something took, in seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Spread {
    /// How many took that long.
    pub count: u64,
    /// The shortest.
    pub min: f64,
    /// The mean.
    pub mean: f64,
    /// The standard deviation.
    pub deviation: f64,
    /// The longest.
    pub longest: f64,
    /// The share that took 0.9 s and longer.
    pub second_or_more: f64,
}

impl Spread {
    /// The deviation in units of the mean: 0 where all took the same.
    pub fn variation(&self) -> f64 {
        if self.mean > 0.0 { self.deviation / self.mean } else { 0.0 }
    }
}

/// Times and how many took each, in seconds, shortest first.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Times(Vec<(f64, u64)>);

impl Times {
    /// Of these, shortest first.
    pub fn of(times: impl IntoIterator<Item = (f64, u64)>) -> Times {
        Times(times.into_iter().collect())
    }

    /// How many there are.
    pub fn count(&self) -> u64 {
        total(self.0.iter())
    }

    /// How many took from `from` to below `to`.
    pub fn within(&self, from: f64, to: f64) -> u64 {
        total(self.0.iter().filter(|(time, _)| (from..to).contains(time)))
    }

    /// The longest at this rank, the shortest being the first; None where there are fewer.
    pub fn at_rank(&self, rank: u64) -> Option<f64> {
        let mut seen = 0u64;
        let found = self.0.iter().find(|(_, n)| {
            seen = seen.saturating_add(*n);
            seen >= rank
        });
        found.map(|(time, _)| *time)
    }

    /// What half of them took at most; 0 of none.
    pub fn median(&self) -> f64 {
        self.at_rank(self.count().div_ceil(2)).unwrap_or(0.0)
    }
}

/// A record from elsewhere may count anything.
fn total<'a>(times: impl Iterator<Item = &'a (f64, u64)>) -> u64 {
    times.fold(0, |sum, (_, n)| sum.saturating_add(*n))
}

/// A stretch of the window in which nothing succeeded though something was asked for: the longest of them.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Outage {
    /// When it began, in seconds since the window did.
    pub from_s: f64,
    /// When the next success came, or the run ended.
    pub to_s: f64,
    /// No success came after it.
    pub to_the_end: bool,
    /// How many others there were.
    pub more: u64,
}

/// The shortest wait before a segment is sent again, in seconds (`TCP_RTO_MIN`).
const SENT_AGAIN: f64 = 0.2;

/// The load, as it was kept.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Run {
    /// What was loaded, secrets masked.
    pub url: String,
    /// The command line without the size of the load, quoted for a shell; empty where it is not known.
    pub command: String,
    /// Arrivals did not wait for responses.
    pub is_open: bool,
    /// The most users of closed load.
    pub users: u32,
    /// The load was changed on the way: averages are of several loads.
    pub was_changed: bool,
    /// Users paused between their requests, or waited for their turns.
    pub has_pauses: bool,
    /// The step of the plan that was sent as often as it may be (`at-most`), and how often a second that is.
    pub at_most: Option<(String, f64)>,
    /// Most connections of open load.
    pub connections: u32,
    /// Length of the window in seconds.
    pub window_s: f64,
    /// Requests scheduled within it.
    pub scheduled: u64,
    /// In a flow: requests of an iteration, for a rate is one of iterations there.
    pub per_iteration: Option<f64>,
    /// Several scenarios: no option of the command line says how much of them.
    pub has_scenarios: bool,
    /// Successes ÷ the window.
    pub succeeded_per_s: f64,
    /// Requests that ended within the window ÷ the window, failures included.
    pub ended_per_s: f64,
    /// Responses that failed a check, or whose status counts as a failure: from the first write to the last byte.
    pub failed_responses: Spread,
    /// Requests that may share a connection of open load.
    pub per_connection: u32,
    /// Connections that a database refused because it had all it takes, by its own word.
    pub turned_away: u64,
    /// The server did not keep up with the rate of open load.
    pub is_overloaded: bool,
    /// Iterations were dropped, as all users of a rate were busy when they were due.
    pub dropped_iterations: bool,
    /// Arrivals that found every connection taken.
    pub waited_for_connection: u64,
    /// Mean of the requests in flight.
    pub in_flight: f64,
    /// Bytes received on the wire within the window ÷ its length.
    pub received_per_s: f64,
    /// From the first write to the last byte.
    pub service: Spread,
    /// From `connect` to the connection.
    pub connect: Spread,
    /// Connections that stood.
    pub opened: u64,
    /// Failures of each sort.
    pub failures: Vec<Failures>,
    /// Status code → count.
    pub status: BTreeMap<String, u64>,
    /// Status codes of failures were asked for (`--expect-status`).
    pub expects_status: bool,
    /// What the trust rules doubt of the generator itself; its words then stand for the limit.
    pub generator_doubt: Option<GeneratorDoubt>,
    /// Requests that had no end when the run was over.
    pub unfinished: u64,
    /// Failures on connections that had served before, closed by the other side before a byte of the response came.
    pub closed_when_reused: u64,
    /// The most failures that may be such in two neighbouring seconds.
    pub closed_at_once: u64,
    /// The longest time without a success.
    pub outage: Option<Outage>,
    /// From `connect` to the connection, each.
    pub connects: Times,
    /// Service times of all complete responses.
    pub times: Times,
    /// The same with those of the warm-up, where the first requests met a service that nobody used.
    pub times_from_start: Times,
    /// From the first byte of a response to its last.
    pub transfers: Times,
    /// Of each whole second of the window, what its slow responses took at least (the third slowest), in seconds; 0 where brunt itself was
    /// held up.
    pub slow_each_second: Vec<f64>,
    /// Arrivals of open load that waited for a connection at the end of each second of the window.
    pub waiting_each_second: Vec<f64>,
    /// Worker threads.
    pub workers: u32,
    /// CPU time of the busiest worker ÷ the window.
    pub busiest_worker: f64,
    /// CPU time of all workers in cores, that which was polled away included.
    pub generator_cores: f64,
    /// What of it was polled away: free for whoever wanted the core.
    pub polled_cores: f64,
}

/// Why the generator is the first to be mended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GeneratorDoubt {
    /// A worker was full.
    Busy,
    /// It waited for a core that others had.
    Starved,
    /// It had used up the CPU quota of its group.
    Throttled,
    /// It did not look at its sockets for a while.
    Absent,
    /// It sent requests late.
    Late,
}

impl Run {
    /// What follows `brunt -c N` to load the same again.
    pub fn again(&self) -> String {
        if self.command.is_empty() { self.url.clone() } else { self.command.clone() }
    }

    /// What `-r` would have to say for so many requests a second.
    pub fn rate_for(&self, requests_per_s: f64) -> String {
        let rate = requests_per_s / self.per_iteration.filter(|requests| *requests > 0.0).unwrap_or(1.0);
        format!("{:.0}/s", rate.max(1.0).round())
    }

    /// Complete responses a second, those that failed a check too: the service worked for them as well.
    pub fn answered_per_s(&self) -> f64 {
        let failed = if self.window_s > 0.0 { self.failed_responses.count as f64 / self.window_s } else { 0.0 };
        self.succeeded_per_s + failed
    }

    /// As many responses a second, each of the shortest time there is, as the service worked for: one that failed sooner is a part of one.
    pub fn worked_per_s(&self) -> f64 {
        let part = if self.service.min > 0.0 { (self.failed_responses.mean / self.service.min).min(1.0) } else { 1.0 };
        self.succeeded_per_s + part * (self.answered_per_s() - self.succeeded_per_s)
    }

    /// Failures of this kind.
    pub fn failed_by(&self, kind: &str) -> u64 {
        self.failures.iter().filter(|f| f.kind == kind).map(|f| f.count).sum()
    }

    /// Failures of this kind in this phase.
    pub fn failed_in(&self, kind: &str, phase: &str) -> u64 {
        self.failures.iter().filter(|f| f.kind == kind && f.phase == phase).map(|f| f.count).sum()
    }

    /// A segment of this run may have been lost: something took as long as its second sending does, or failed. Counters are those of
    /// the whole machine, which may lose what is not ours.
    pub fn may_have_lost(&self) -> bool {
        self.service.longest.max(self.connect.longest) >= SENT_AGAIN || !self.failures.is_empty()
    }

    /// Connecting took as long as a second SYN does, or failed.
    pub fn waited_to_connect(&self) -> bool {
        self.connect.second_or_more > 0.0 || self.failures.iter().any(|f| f.phase == "connect")
    }

    /// More was asked for than came: users who never pause, or a rate that was not kept. Where a rate was kept nothing was at its
    /// limit.
    pub fn is_pressed(&self) -> bool {
        if self.is_open { self.is_overloaded || self.dropped_iterations } else { !self.has_pauses }
    }

    /// Responses with one of these codes.
    pub fn answered(&self, codes: &[&str]) -> u64 {
        codes.iter().filter_map(|code| self.status.get(*code)).sum()
    }
}
