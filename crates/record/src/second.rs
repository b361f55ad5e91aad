//! Results of a second of a run.

use std::collections::BTreeMap;

use brunt_measure::Nanos;
use serde::{Deserialize, Serialize};

use crate::counts::{counts, second};
use crate::{CheckResults, ConnectionLoss, Failure, Latency, NamedFigures, RunPart, TracedRequest, wide_numbers};

second! {
    /// Results of one second (or the shorter remainder at either end).
    counts {
        /// Requests whose intended time lies in the second (closed: requests started), warm-up excluded.
        #[serde(rename = "scheduled", alias = "due")]
        due,
        /// Requests whose first write lies in the second, warm-up excluded.
        sent,
        /// Successes that ended in the second.
        #[serde(rename = "succeeded", alias = "finished")]
        finished,
        /// Failures that ended in the second.
        failed,
        /// Requests abandoned unfinished at the end of the run (only in the last second).
        #[serde(rename = "unfinished", alias = "censored")]
        censored,
        /// Requests intended within the warm-up that were sent in the second; in no other count.
        warmup,
        /// Successes of requests of the warm-up that ended in the second: in throughput, in no other figure.
        #[serde(default, rename = "succeeded_of_warmup", alias = "finished_of_warmup")]
        finished_of_warmup,
        /// Requests scheduled in the second that waited because the limit of connections was reached (open load).
        #[serde(default)]
        limited,
        /// Failures whose response came after the timeout; its status code is not counted.
        #[serde(default)]
        late,
        /// Unsolicited messages.
        unsolicited,
        /// Unsolicited messages that were surplus responses, if responses are matched only by order.
        #[serde(default)]
        strays,
        /// Messages that opened connections before any request on them; not requests.
        #[serde(default)]
        opening_messages,
        /// Messages sent in reply to unsolicited messages of the peer; not requests.
        #[serde(default)]
        replies,
        /// Requests sent again because the peer had not processed them; each is one request in all other counts.
        #[serde(default)]
        resent,
        /// Requests that followed a redirect (`-L`), warm-up excluded: each is part of the request that led to it, and
        /// in no other count.
        #[serde(default)]
        hops,
        /// Requests whose response came before the part that was held back (`Expect: 100-continue`), which was never
        /// sent.
        #[serde(default)]
        declined,
        /// Requests whose held-back part was sent because the wait for the peer to ask for it timed out.
        #[serde(default)]
        released,
        /// Messages in exchanges whose responses are streams.
        #[serde(default)]
        messages,
        /// One-way requests, complete when written: in `succeeded`, in no histogram.
        #[serde(default)]
        one_way,
        /// CPU time that the worker threads used in the second (nanoseconds).
        cpu_ns,
        /// Part of the CPU time that was spent polling so that requests leave when they are due (nanoseconds).
        #[serde(default)]
        spun_ns,
        /// Time within the window that requests which timed out in the second, or were cut off at the end, had spent
        /// waiting (nanoseconds), requests of the warm-up included.
        #[serde(default)]
        unanswered_ns,
        /// Time of the window that users of closed load spent in backoff because their connections were refused or
        /// unusable (nanoseconds).
        #[serde(default)]
        kept_out_ns,
        /// Time integral of the users of closed load, in user-nanoseconds; 0 in older records.
        #[serde(default)]
        users_ns,
        /// Time of the window by which pauses and think times of users in closed load lasted longer than requested because brunt
        /// woke the users late (nanoseconds).
        #[serde(default)]
        woken_late_ns,
        /// Time of the window in which workers with requests in flight were away from their sockets for longer than
        /// their loops take, summed over the workers (nanoseconds).
        #[serde(default)]
        away_ns,
        /// Part of `away_ns` for which the worker's thread was ready to run and had no core (nanoseconds).
        #[serde(default)]
        away_ready_ns,
        /// Failed steps of a flow that end the run (`on-failure: stop-run`).
        #[serde(default)]
        run_stops,
        /// Users of a flow that stopped because a step failed (`on-failure: stop-user`).
        #[serde(default)]
        user_stops,
        /// Users found in an endless loop of a flow that sends nothing.
        #[serde(default)]
        endless,
        /// Resources of pages that were not fetched because they are on other hosts.
        #[serde(default)]
        resources_elsewhere,
        /// Resources of pages that were not fetched because there were too many, or their URLs too long.
        #[serde(default)]
        resources_beyond,
        /// Pages that were only partly searched for resources.
        #[serde(default)]
        pages_cut,
        /// Responses that users had in their caches: not requests, and in no other count.
        #[serde(default)]
        from_cache,
        /// Successes that confirmed a cached response (304).
        #[serde(default)]
        not_modified,
        /// Bytes of bodies that were not transferred thanks to the cache, for both kinds of response.
        #[serde(default)]
        cache_bytes,
        /// Responses that users would have cached but had no room for.
        #[serde(default)]
        not_cached,
    }
    rest {
        /// Start, since the start of the window (nanoseconds; negative during the warm-up).
        from_ns: i64,
        /// End, since the start of the window (nanoseconds).
        to_ns: i64,
        /// Part of the run that the second belongs to.
        part: RunPart,
        /// Users (closed) alive at the end.
        users: u32,
        /// Requests in flight at the end (sent, not ended).
        in_flight: u32,
        /// Arrivals waiting for a connection at the end.
        waiting: u32,
        /// Time integral of the number of requests in flight, in request-nanoseconds, over all requests.
        #[serde(deserialize_with = "wide_numbers::read")]
        in_flight_ns: u128,
        /// An estimate of that integral from independent counters: summed service times of requests that ended in the
        /// second, plus the boundary terms.
        #[serde(deserialize_with = "wide_numbers::read")]
        service_ns: i128,
        /// Status code → count, of successes and failures that carried one.
        status: BTreeMap<String, u64>,
        /// Code that peers sent for the end of a connection or an exchange (`GOAWAY ENHANCE_YOUR_CALM`, `RST_STREAM
        /// CANCEL`) → count, independent of the outcome of requests.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        words: BTreeMap<String, u64>,
        /// Failures by kind, phase and errno.
        failures: Vec<Failure>,
        /// Bytes on the wire and of payload.
        bytes: ByteCounts,
        /// Connections opened, failed, reused and lost.
        connections: ConnectionFigures,
        /// Connections that are part of the plan and were lost, by cause; they add up to `connections.lost`.
        #[serde(default)]
        losses: Vec<ConnectionLoss>,
        /// Connections that failed to open without failing a request (a pool that was to grow, connections to be
        /// held), by cause; the others are in `failures`.
        #[serde(default)]
        unopened: Vec<ConnectionLoss>,
        /// Connects to names with several addresses that failed, by address, whether or not a request failed with
        /// them: the cause names the address (`brunt_cause::connecting::one_address`).
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        failed_addresses: Vec<ConnectionLoss>,
        /// Heartbeats.
        #[serde(default)]
        heartbeats: HeartbeatCounts,
        /// Histograms of latency.
        latency: Latency,
        /// Scheduling of the generator itself.
        #[serde(default)]
        generator: GeneratorUsage,
        /// End of the first success in the second, since the start of the window (nanoseconds); null if there was
        /// none.
        #[serde(default)]
        first_success_ns: Option<i64>,
        /// End of the last success in the second, in the same format.
        #[serde(default)]
        last_success_ns: Option<i64>,
        /// End of the first failure in the second, in the same format.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        first_failure_ns: Option<i64>,
        /// End of the last failure in the second, in the same format.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        last_failure_ns: Option<i64>,
        /// Start of the uninterrupted period with requests in flight that includes the first success in the second, or
        /// else its end; null if none were in flight.
        #[serde(default)]
        busy_since_ns: Option<i64>,
        /// Figures by name, in the order of names, if the run has several names: only those with any figures.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        named: Vec<NamedFigures>,
        /// Results of checks in the second, in the order of their names: only those with any results.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        checks: Vec<CheckResults>,
        /// The slowest requests that ended in the second and announced a trace; sampled ones and others kept apart.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        slowest: Vec<TracedRequest>,
        /// Share of the run whose figures are missing from this second because agents were lost, from 0 to 1.
        #[serde(default, skip_serializing_if = "is_nothing")]
        missing_share: f64,
    }
}

fn is_nothing(share: &f64) -> bool {
    *share == 0.0
}

impl Second {
    /// Returns the length of the second.
    pub fn length(&self) -> Nanos {
        Nanos(u64::try_from(self.to_ns.saturating_sub(self.from_ns)).unwrap_or(0))
    }

    /// Returns the number of successes that ended in the second, including those of warm-up requests: the basis of
    /// throughput.
    pub fn successes(&self) -> u64 {
        self.finished.saturating_add(self.finished_of_warmup)
    }
}

/// Scheduling of the generator itself in a second: each figure is the value of the worst worker.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct GeneratorUsage {
    /// CPU time of the busiest worker (nanoseconds).
    pub busiest_cpu_ns: u64,
    /// Total time in the second for which a worker was runnable without a core to run on (nanoseconds).
    pub ready_ns: u64,
    /// Enforcement periods of the CPU quota that the generator ran under (cgroup `nr_periods`).
    pub periods: u64,
    /// Number of these periods in which the generator was throttled (`nr_throttled`).
    pub throttled: u64,
    /// Resolution of the coarsest worker: the median time from the last look at a socket to the reading of a response
    /// (nanoseconds).
    #[serde(default)]
    pub resolution_ns: u64,
}

impl GeneratorUsage {
    /// Merges the figures of one worker.
    pub fn merge_worker(&mut self, cpu_ns: u64, ready_ns: u64, (throttled, periods): (u64, u64), resolution_ns: u64) {
        self.busiest_cpu_ns = self.busiest_cpu_ns.max(cpu_ns);
        self.ready_ns = self.ready_ns.max(ready_ns);
        (self.throttled, self.periods) = (self.throttled, self.periods).max((throttled, periods));
        self.resolution_ns = self.resolution_ns.max(resolution_ns);
    }
}

counts! {
    /// Bytes on the wire (below TLS).
    #[derive(Serialize, Deserialize)]
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
    pub struct ByteCounts {
        /// Bytes sent.
        sent,
        /// Bytes received.
        received,
        /// Bytes of payload of the responses (bodies).
        payload,
    }
}

counts! {
    /// Connections.
    #[derive(Serialize, Deserialize)]
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
    pub struct ConnectionFigures {
        /// Connections established (TLS included).
        opened,
        /// Connections established before a common start (`--together`, a rate over a fixed number of connections):
        /// reported with the first second after it.
        #[serde(default)]
        ahead,
        /// Connections that failed.
        failed,
        /// Requests sent on a connection that had served one before.
        reused,
        /// TLS handshakes completed.
        handshakes,
        /// Resumed TLS handshakes.
        resumed,
        /// Connections that are part of the plan and were lost after they had been established, because the peer
        /// closed or they broke.
        #[serde(default)]
        lost,
        /// Rejections of datagrams (ICMP) that arrived while no request was in flight that they could have failed.
        #[serde(default)]
        refused,
    } and {
        /// Time taken to open connections before the common start (nanoseconds).
        #[serde(default)]
        ahead_ns: u64,
        /// Connections open at the end of the second.
        open: u32,
    }
}

counts! {
    /// Heartbeats on open connections, separate from requests.
    #[derive(Serialize, Deserialize)]
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
    pub struct HeartbeatCounts {
        /// Heartbeats sent.
        sent,
        /// Heartbeats answered before the next one was due.
        answered,
        /// Heartbeats not answered by then, or whose connection was lost before.
        missed,
        /// Heartbeats still unanswered at the end of the run.
        open,
    }
}
