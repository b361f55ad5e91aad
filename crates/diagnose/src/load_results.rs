//! The results of the load that the rules need, taken from the record.

use std::collections::BTreeMap;

use brunt_i18n::numbers;
use brunt_i18n::text::{Text, text};

use crate::load_seconds::{CurvePoint, Knee, SecondFigures};
use crate::repeat_command::RepeatCommand;

/// A count of failures of one kind and phase.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FailureCount {
    /// Kind, as in records: `timeout`, `no_ports` …
    pub kind: String,
    /// Phase: `connect`, `first_byte` …
    pub phase: String,
    /// Number of failures.
    pub count: u64,
}

/// Summary statistics of durations, in seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct DurationStats {
    /// Number of durations.
    pub count: u64,
    /// Shortest duration.
    pub min: f64,
    /// Mean.
    pub mean: f64,
    /// Standard deviation.
    pub deviation: f64,
    /// Longest duration.
    pub longest: f64,
    /// Share of durations of 0.9 s and longer.
    pub second_or_more: f64,
}

impl DurationStats {
    /// Returns the coefficient of variation: 0 if all durations are equal.
    pub fn variation(&self) -> f64 {
        if self.mean > 0.0 { self.deviation / self.mean } else { 0.0 }
    }
}

/// A distribution of durations in seconds with their counts, shortest first.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DurationCounts(Vec<(f64, u64)>);

impl DurationCounts {
    /// Creates the distribution from durations and counts, shortest first.
    pub fn new(times: impl IntoIterator<Item = (f64, u64)>) -> DurationCounts {
        DurationCounts(times.into_iter().collect())
    }

    /// Returns the total count.
    pub fn count(&self) -> u64 {
        total(self.0.iter())
    }

    /// Returns the number of durations from `from` to below `to`.
    pub fn within(&self, from: f64, to: f64) -> u64 {
        total(self.0.iter().filter(|(time, _)| (from..to).contains(time)))
    }

    /// Returns the duration at this rank, with 1 as the shortest; `None` if there are fewer.
    pub fn at_rank(&self, rank: u64) -> Option<f64> {
        let mut seen = 0u64;
        let found = self.0.iter().find(|(_, n)| {
            seen = seen.saturating_add(*n);
            seen >= rank
        });
        found.map(|(time, _)| *time)
    }

    /// Returns the median; 0 if there are no durations.
    pub fn median(&self) -> f64 {
        self.at_rank(self.count().div_ceil(2)).unwrap_or(0.0)
    }
}

/// Sums counts with saturation, because a record from another source may contain any counts.
fn total<'a>(times: impl Iterator<Item = &'a (f64, u64)>) -> u64 {
    times.fold(0, |sum, (_, n)| sum.saturating_add(*n))
}

/// The longest period of the window in which requests were due or in flight but none succeeded.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Outage {
    /// Start, in seconds since the start of the window.
    pub from_s: f64,
    /// Time of the next success or of the end of the run, in seconds since the start of the window.
    pub to_s: f64,
    /// Set if there was no later success.
    pub to_the_end: bool,
    /// Number of other periods without successes.
    pub more: u64,
}

/// Addresses of a name that failed, while others did not.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FailedAddresses {
    /// Name that was looked up.
    pub host: String,
    /// Number of its addresses.
    pub of: u64,
    /// Addresses that could not be connected to.
    pub addresses: Vec<String>,
    /// Number of failed connects.
    pub count: u64,
    /// Set if all of them were refused.
    pub are_refused: bool,
}

const REFUSE: Text = text(
    "{k} of the {of} addresses of {host} {k|refuses|refuse}: {addresses}",
    "{host} 的 {of} 个地址中有 {k} 个拒绝连接：{addresses}",
);
const FAIL: Text = text(
    "{k} of the {of} addresses of {host} cannot be connected to: {addresses}",
    "{host} 的 {of} 个地址中有 {k} 个无法连接：{addresses}",
);

impl FailedAddresses {
    /// Returns the sentence that names them, without a full stop, and its placeholder values.
    pub fn sentence(&self) -> (Text, [(&'static str, String); 4]) {
        let facts = [
            ("k", numbers::count(self.addresses.len() as u64)),
            ("of", numbers::count(self.of)),
            ("host", self.host.clone()),
            ("addresses", self.addresses.join(", ")),
        ];
        (if self.are_refused { REFUSE } else { FAIL }, facts)
    }
}

/// A stretch of the window in which a watched service gave no reply, although it did before.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SilentStretch {
    /// Name of the watch.
    pub name: String,
    /// Time of the last reply before it and of the next after it, or of the last query, in seconds since the start of
    /// the window.
    pub from_s: f64,
    /// See `from_s`.
    pub to_s: f64,
    /// Number of queries without a reply in it.
    pub unanswered: u64,
    /// Number of all queries.
    pub queries: u64,
}

/// What the responses with a failing status of a proxy say about where they come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RejectionSign {
    /// A proxy says that the service behind it failed; holds the name of the proxy, if it is known.
    Upstream(Option<&'static str>),
    /// A limiter says when to come again.
    RetryLater,
}

/// A watched service that gave no reply during an outage.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SilentService {
    /// Name of the watch: `mysql=127.0.0.1:3306`.
    pub name: String,
    /// Number of queries in the outage, none of which was answered.
    pub unanswered: u64,
}

/// A constant rate of open load that was not sustained.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RateShortfall {
    /// Requests succeeded per second.
    pub sustained_per_s: f64,
    /// Requests scheduled per second.
    pub scheduled_per_s: f64,
    /// Growth of the queue per second; `None` if timeouts kept it from growing.
    pub growth_per_s: Option<f64>,
}

/// Connections that a run kept open, and what became of them.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct HeldConnections {
    /// Maximum number open at the same time.
    pub most: u64,
    /// Number lost after they had been established.
    pub lost: u64,
    /// Number of attempts to open a connection that were refused.
    pub refused: u64,
    /// Start of the first second in which connections were lost, since the start of the window.
    pub lost_from_s: f64,
    /// Set if all lost connections were opened again.
    pub restored: bool,
}

/// Shortest retransmission timeout of a segment, in seconds (`TCP_RTO_MIN`).
const SENT_AGAIN: f64 = 0.2;

/// The results of the load, as recorded.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LoadResults {
    /// Target, secrets masked.
    pub url: String,
    /// Command line, from which the commands of experiments are made.
    pub repeat: RepeatCommand,
    /// Set for open load: arrivals did not wait for responses.
    pub is_open: bool,
    /// Set if arrivals of open load come in bursts.
    pub arrives_in_bursts: bool,
    /// Maximum number of users of closed load.
    pub users: u32,
    /// Set if the load was changed during the run, or a part of it was lost or not sent: averages then mix several loads.
    pub load_changed: bool,
    /// Set if users paused between requests, or waited for their turn.
    pub has_pauses: bool,
    /// Step of the plan that was sent at its maximum rate (`at-most`), and this rate per second.
    pub at_most: Option<(String, f64)>,
    /// Maximum number of connections of open load.
    pub connections: u32,
    /// Length of the window in seconds.
    pub window_s: f64,
    /// Requests scheduled within the window.
    pub scheduled: u64,
    /// Requests per iteration; `None` unless the load is a flow, whose rate counts iterations.
    pub per_iteration: Option<f64>,
    /// Set if there are several scenarios, so that no option of the command line sets the whole load.
    pub has_scenarios: bool,
    /// Successes ÷ the length of the window.
    pub succeeded_per_s: f64,
    /// Upper bound of that: users of closed load stood still while brunt was away.
    pub could_succeed_per_s: f64,
    /// Median of the successes per second in the whole seconds of the window; 0 if there are none.
    pub usual_second_per_s: f64,
    /// Requests that ended within the window ÷ its length, failures included.
    pub ended_per_s: f64,
    /// Durations from the first write to the last byte, of responses that failed a check or whose status counts as a
    /// failure.
    pub failed_responses: DurationStats,
    /// Maximum number of concurrent requests on a connection of open load.
    pub per_connection: u32,
    /// Number of connections that a database refused with an error about its connection limit.
    pub refused_by_database: u64,
    /// Set if the server did not sustain the rate of open load.
    pub is_overloaded: bool,
    /// Set if iterations were dropped because all users of a rate were busy when they were due.
    pub dropped_iterations: bool,
    /// Arrivals that waited because the connection limit was reached.
    pub waited_for_connection: u64,
    /// Mean number of requests in flight.
    pub in_flight: f64,
    /// Bytes received on the wire within the window ÷ its length.
    pub received_per_s: f64,
    /// Durations from the first write to the last byte, of successes.
    pub service: DurationStats,
    /// Durations from `connect` to the established connection.
    pub connect: DurationStats,
    /// Number of connections established.
    pub opened: u64,
    /// Addresses of a name that failed, while others did not.
    pub failed_addresses: Option<FailedAddresses>,
    /// Failures by kind and phase.
    pub failures: Vec<FailureCount>,
    /// Status code → count.
    pub status: BTreeMap<String, u64>,
    /// Set if status codes of failures were expected (`--expect-status`).
    pub expects_status: bool,
    /// Doubt that the trust rules raise about the generator, which is then the limit.
    pub generator_doubt: Option<GeneratorDoubt>,
    /// Figures that delays of brunt itself may have changed materially.
    pub widened: Vec<WidenedFigure>,
    /// Time for which workers with requests in flight were away from their sockets, in seconds, summed over the
    /// workers; 0 in old records.
    pub away_s: f64,
    /// Part of `away_s` for which a worker was ready to run and had no core.
    pub away_ready_s: f64,
    /// Requests that had not ended at the end of the run.
    pub unfinished: u64,
    /// Failures on reused connections that the peer closed before the first byte of the response.
    pub closed_when_reused: u64,
    /// Maximum number of failures in two adjacent seconds that may be caused by such closes.
    pub closed_at_once: u64,
    /// Longest time without a success.
    pub outage: Option<Outage>,
    /// Watched services that gave no reply in that time.
    pub silent: Vec<SilentService>,
    /// Stretches in which watched services gave no reply, with or without an outage.
    pub silent_stretches: Vec<SilentStretch>,
    /// What the kept examples of responses with these status codes say about their origin.
    pub rejections: BTreeMap<String, RejectionSign>,
    /// Response times of each name, if there are several; otherwise `times` has them all.
    pub named_times: Vec<(String, DurationCounts)>,
    /// Seconds of the window.
    pub seconds: Vec<SecondFigures>,
    /// Set if the plan varied the load.
    pub is_varied: bool,
    /// Load against throughput and latency, if the load was varied.
    pub curve: Vec<CurvePoint>,
    /// The rate that was not sustained, if there was a single one.
    pub shortfall: Option<RateShortfall>,
    /// Set if, at the end of open load, requests were in flight or waiting because fewer ended than were scheduled.
    pub fell_behind: bool,
    /// Connections that were kept open, if that is what the run was for.
    pub held: Option<HeldConnections>,
    /// Distribution of the durations from `connect` to the established connection.
    pub connects: DurationCounts,
    /// Distribution of the service times of all complete responses.
    pub times: DurationCounts,
    /// Distribution of the times of responses including the warm-up, in which the first requests met an unloaded
    /// service: service times, or, where responses are short, the times to their first byte, which include no connect.
    pub times_from_start: DurationCounts,
    /// Distribution of the durations from the first byte of a response to its last.
    pub transfers: DurationCounts,
    /// Third-slowest response time in each whole second of the window, in seconds; 0 if brunt itself was delayed.
    pub slow_each_second: Vec<f64>,
    /// Arrivals of open load waiting for a connection at the end of each second of the window.
    pub waiting_each_second: Vec<f64>,
    /// Number of worker threads.
    pub workers: u32,
    /// CPU time of the busiest worker ÷ the length of the window.
    pub busiest_worker: f64,
    /// CPU time of all workers, in cores, including the part spent polling.
    pub generator_cores: f64,
    /// Part of `generator_cores` that was spent polling and was available to any other process.
    pub polled_cores: f64,
}

/// A quantile that delays of brunt itself may have raised.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WidenedFigure {
    /// Name of the quantile: `p99`.
    pub quantile: &'static str,
    /// Its value without any delay that may be brunt's, in seconds.
    pub least_s: f64,
    /// Its value as measured, in seconds.
    pub most_s: f64,
}

/// The reason why the generator's results are doubted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GeneratorDoubt {
    /// A worker was saturated.
    Busy,
    /// A worker waited for a core that others used.
    Starved,
    /// The CPU quota of the generator's cgroup was used up.
    Throttled,
    /// A worker did not read its sockets for a while.
    Absent,
    /// Requests were sent late.
    Late,
    /// The process was stopped or suspended.
    StoodStill,
}

/// Maximum ratio of the mean response time to the shortest one (which included no queueing) if there was no queue, and
/// the minimum number of responses that shows it.
const ALONE: f64 = 1.5;
const LEAST_JUDGED: u64 = 30;

impl LoadResults {
    /// Returns the argument of `-r` for this many requests per second.
    pub fn rate_for(&self, requests_per_s: f64) -> String {
        let rate = requests_per_s / self.per_iteration.filter(|requests| *requests > 0.0).unwrap_or(1.0);
        format!("{:.0}/s", rate.max(1.0).round())
    }

    /// Returns the number of complete responses per second, including those that failed a check, because the service
    /// processed them as well.
    pub fn answered_per_s(&self) -> f64 {
        let failed = if self.window_s > 0.0 { self.failed_responses.count as f64 / self.window_s } else { 0.0 };
        self.succeeded_per_s + failed
    }

    /// Returns the share of the window for which the workers were away from their sockets with requests in flight.
    pub fn away_share(&self) -> f64 {
        // A worker without users is never away from them.
        let workers = if self.is_open { self.workers } else { self.workers.min(self.users) };
        let whole = self.window_s * f64::from(workers.max(1));
        if whole > 0.0 { (self.away_s / whole).min(1.0) } else { 0.0 }
    }

    /// Returns `true` if the generator changed its own figures: a doubt, except one that is known to have moved no
    /// quantile, nor the throughput of closed load, by a tenth.
    pub fn is_distorted(&self) -> bool {
        let is_little = self.away_s > 0.0 && self.widened.is_empty() && (self.is_open || self.away_share() < 0.1);
        self.generator_doubt.is_some_and(|doubt| doubt == GeneratorDoubt::Busy || !is_little)
    }

    /// Returns the work per second that the run reached: on average, or in half of its seconds.
    pub fn reached_per_s(&self) -> f64 {
        self.worked_per_s().max(self.usual_second_per_s)
    }

    /// Returns the service's work per second, in successful responses; a response that failed sooner than the shortest
    /// success counts as a fraction.
    pub fn worked_per_s(&self) -> f64 {
        let part = if self.service.min > 0.0 { (self.failed_responses.mean / self.service.min).min(1.0) } else { 1.0 };
        self.succeeded_per_s + part * (self.answered_per_s() - self.succeeded_per_s)
    }

    /// Returns the number of failures of this kind.
    pub fn failed_by(&self, kind: &str) -> u64 {
        self.failures.iter().filter(|f| f.kind == kind).map(|f| f.count).sum()
    }

    /// Returns the number of failures of this kind in this phase.
    pub fn failed_in(&self, kind: &str, phase: &str) -> u64 {
        self.failures.iter().filter(|f| f.kind == kind && f.phase == phase).map(|f| f.count).sum()
    }

    /// Returns `true` if a segment of this run may have been lost: something took as long as a retransmission, or
    /// failed. Counters cover the whole machine, and losses may belong to other programs.
    pub fn may_have_lost_segments(&self) -> bool {
        self.service.longest.max(self.connect.longest) >= SENT_AGAIN || !self.failures.is_empty()
    }

    /// Returns `true` if any connect failed or took as long as one with a second SYN.
    pub fn waited_to_connect(&self) -> bool {
        self.connect.second_or_more > 0.0 || self.failures.iter().any(|f| f.phase == "connect")
    }

    /// Returns `true` if more was requested than was served: users who never pause, or a rate that was not sustained.
    /// If a rate was sustained, no limit was reached.
    pub fn is_saturated(&self) -> bool {
        if self.is_open { self.is_overloaded || self.dropped_iterations } else { !self.has_pauses }
    }

    /// Returns `true` if a full resource can be what limited the run: it is saturated, and the users waited for each
    /// other. If hardly any did, more users would have got more.
    pub fn is_pressed(&self) -> bool {
        self.is_saturated() && (self.is_open || !self.users_hardly_wait())
    }

    /// Returns `true` if most responses were failures: what they keep busy is not what keeps requests from succeeding.
    pub fn mostly_fails(&self) -> bool {
        self.failed_responses.count > self.service.count
    }

    /// Returns `true` if users never pause and hardly wait for each other, so that more users would increase throughput.
    pub fn users_hardly_wait(&self) -> bool {
        self.is_saturated() && self.serves_alone()
    }

    /// Returns `true` if requests take hardly longer than the shortest, so that the service has no queue.
    pub fn serves_alone(&self) -> bool {
        self.service.count >= LEAST_JUDGED && self.service.mean <= ALONE * self.service.min
    }

    /// Returns the point from which more load gave no more throughput, if the load was varied. An outage, and what
    /// followed it, is not judged.
    pub fn knee(&self) -> Option<Knee> {
        let until = self.outage.map_or(f64::INFINITY, |outage| outage.from_s);
        let whole = self.seconds.iter().take_while(|s| s.from_s + s.length_s <= until).count();
        Knee::of(self.seconds.get(..whole).filter(|_| self.is_varied)?)
    }

    /// Returns the number of responses with one of these status codes.
    pub fn answered(&self, codes: &[&str]) -> u64 {
        codes.iter().filter_map(|code| self.status.get(*code)).sum()
    }
}
