//! What a second of a run held.

use std::collections::BTreeMap;

use measure::Nanos;
use serde::{Deserialize, Serialize};

use crate::counts::{counts, second};
use crate::{Checked, Failure, Latency, Loss, Named, Part, Traced, wide};

second! {
    /// What one second (or the shorter rest at either end) held.
    counts {
        /// Requests whose intended time lies in it (closed: requests started), warm-up left out.
        #[serde(rename = "scheduled", alias = "due")]
        due,
        /// Requests whose first write lies in it, warm-up left out.
        sent,
        /// Successes that ended in it.
        #[serde(rename = "succeeded", alias = "finished")]
        finished,
        /// Failures that ended in it.
        failed,
        /// Requests given up unfinished at the end of the run (only in the last second).
        #[serde(rename = "unfinished", alias = "censored")]
        censored,
        /// Requests intended within the warm-up that were sent in it; in no other count.
        warmup,
        /// Successes of such requests that ended in it: in throughput, in no other figure.
        #[serde(default, rename = "succeeded_of_warmup", alias = "finished_of_warmup")]
        finished_of_warmup,
        /// Of the requests scheduled in it, those that found every connection taken that the run may have (open load).
        #[serde(default)]
        limited,
        /// Of the failures, those whose answer came after their timeout; it is in no count of status codes.
        #[serde(default)]
        late,
        /// Unsolicited messages.
        unsolicited,
        /// Of these, surplus responses where responses are matched only by order.
        #[serde(default)]
        strays,
        /// Messages that opened connections before any request on them; not requests.
        #[serde(default)]
        opening_messages,
        /// Messages said because the peer had said something of its own accord; no requests.
        #[serde(default)]
        replies,
        /// Requests sent again because the peer had not processed them; each is one request in all other counts.
        #[serde(default)]
        resent,
        /// Requests whose answer came before the part that was withheld (`Expect: 100-continue`), which was never sent.
        #[serde(default)]
        declined,
        /// Requests whose withheld part was sent once the wait for the peer to ask for it was over.
        #[serde(default)]
        released,
        /// Messages in exchanges whose responses are streams.
        #[serde(default)]
        messages,
        /// One-way requests, complete when written: in `succeeded`, in no histogram.
        #[serde(default)]
        one_way,
        /// CPU time the worker threads used in it (nanoseconds).
        cpu_ns,
        /// Of that time, what was spent polling so that requests leave when they are due (nanoseconds).
        #[serde(default)]
        spun_ns,
        /// Time of the window spent waiting in requests that timed out, or were cut at the end, in it (nanoseconds), those of the
        /// warm-up included.
        #[serde(default)]
        unanswered_ns,
        /// Time of the window that users of closed load spent in pauses because their connections were refused or of no use
        /// (nanoseconds).
        #[serde(default)]
        kept_out_ns,
        /// Time of the window by which the pauses of users of flows in closed load lasted longer than asked for, because brunt woke them
        /// late (nanoseconds).
        #[serde(default)]
        woken_late_ns,
        /// Failures of steps of a flow that are to end the run (`on-failure: stop-run`).
        #[serde(default)]
        run_stops,
        /// Users of a flow who left for good because a step failed (`on-failure: stop-user`).
        #[serde(default)]
        user_stops,
        /// Users found to be in a loop of a flow that sends nothing and does not end.
        #[serde(default)]
        endless,
        /// Resources of pages that were not fetched because they are of other hosts.
        #[serde(default)]
        resources_elsewhere,
        /// Resources of pages that were not fetched because there were too many, or their URLs too long.
        #[serde(default)]
        resources_beyond,
        /// Pages of which not all was looked into for what they name.
        #[serde(default)]
        pages_cut,
        /// Answers that users had in their caches: no requests, and in no other count.
        #[serde(default)]
        from_cache,
        /// Of the successes, those that said that what their user has in its cache is still good (304).
        #[serde(default)]
        not_modified,
        /// Bytes of bodies that did not come for either.
        #[serde(default)]
        cache_bytes,
        /// Answers that users would have kept and had no room for.
        #[serde(default)]
        not_cached,
    }
    rest {
        /// Its start, from the start of the window (nanoseconds; negative during the warm-up).
        from_ns: i64,
        /// Its end, likewise.
        to_ns: i64,
        /// Which part of the run it belongs to.
        part: Part,
        /// Users (closed) alive at its end.
        users: u32,
        /// Requests in flight at its end (sent, not ended).
        in_flight: u32,
        /// Arrivals waiting for a connection at its end.
        waiting: u32,
        /// Time integral of the requests in flight, in request-nanoseconds, all requests.
        #[serde(deserialize_with = "wide::read")]
        in_flight_ns: u128,
        /// The same from independent counters: summed service of those that ended in it, plus the boundary terms.
        #[serde(deserialize_with = "wide::read")]
        service_ns: i128,
        /// Status code → count, of successes and failures that carried one.
        status: BTreeMap<String, u64>,
        /// What peers said of how connections and exchanges end (`GOAWAY ENHANCE_YOUR_CALM`, `RST_STREAM CANCEL`) → how often, whatever
        /// became of the requests.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        words: BTreeMap<String, u64>,
        /// Failures by kind, phase and errno.
        failures: Vec<Failure>,
        /// Bytes.
        bytes: Bytes,
        /// Connections.
        connections: Connections,
        /// Connections that are part of the plan and were lost, by what ended them; they add up to `connections.lost`.
        #[serde(default)]
        losses: Vec<Loss>,
        /// Connections that did not come to stand and by which no request failed (a pool that was to grow, connections to be
        /// held), by what prevented them; the others are in `failures`.
        #[serde(default)]
        unopened: Vec<Loss>,
        /// Signs of life.
        #[serde(default)]
        heartbeats: Heartbeats,
        /// The histograms.
        latency: Latency,
        /// How the generator itself ran.
        #[serde(default)]
        generator: Generator,
        /// When the first success in it ended, since the start of the window (nanoseconds); None where there was none.
        #[serde(default)]
        first_success_ns: Option<i64>,
        /// When the last one did.
        #[serde(default)]
        last_success_ns: Option<i64>,
        /// Since when requests had been in flight without a break, at the first success in it or else at its end; None where
        /// none was.
        #[serde(default)]
        busy_since_ns: Option<i64>,
        /// The same by name, in the order of names, where the run has several: those with anything to tell.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        named: Vec<Named>,
        /// What checks came to in it, in the order of their names: those with anything to tell.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        checks: Vec<Checked>,
        /// The slowest requests that ended in it and say to which trace they belong, of those that are sampled and of the others.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        slowest: Vec<Traced>,
    }
}

impl Second {
    /// How long it was.
    pub fn length(&self) -> Nanos {
        Nanos(u64::try_from(self.to_ns.saturating_sub(self.from_ns)).unwrap_or(0))
    }

    /// Every success that ended in it, whenever its request began: what throughput counts.
    pub fn successes(&self) -> u64 {
        self.finished.saturating_add(self.finished_of_warmup)
    }
}

/// How the generator itself ran in a second: of each figure, that of the worker that was worst off.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Generator {
    /// CPU time of the busiest worker (nanoseconds).
    pub busiest_cpu_ns: u64,
    /// The longest that a worker was ready to run without a core to run on, added up over the second (nanoseconds).
    pub ready_ns: u64,
    /// Enforcement periods of the CPU quota that the generator ran under (cgroup `nr_periods`).
    pub periods: u64,
    /// Of these, those in which it was throttled (`nr_throttled`).
    pub throttled: u64,
}

impl Generator {
    /// Takes in how a worker ran.
    pub fn see(&mut self, cpu_ns: u64, ready_ns: u64, (throttled, periods): (u64, u64)) {
        self.busiest_cpu_ns = self.busiest_cpu_ns.max(cpu_ns);
        self.ready_ns = self.ready_ns.max(ready_ns);
        (self.throttled, self.periods) = (self.throttled, self.periods).max((throttled, periods));
    }
}

counts! {
    /// Bytes on the wire (below TLS).
    #[derive(Serialize, Deserialize)]
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
    pub struct Bytes {
        /// Sent.
        sent,
        /// Received.
        received,
        /// Payload of the responses (bodies).
        payload,
    }
}

counts! {
    /// Connections.
    #[derive(Serialize, Deserialize)]
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
    pub struct Connections {
        /// That stood (TLS included).
        opened,
        /// Of these, opened before a common start (`--together`, a rate over a fixed number): told with the first second after it.
        #[serde(default)]
        ahead,
        /// That failed.
        failed,
        /// Requests sent on a connection that had served one before.
        reused,
        /// TLS handshakes completed.
        handshakes,
        /// Of these, resumed.
        resumed,
        /// Of connections that are part of the plan: stood and were lost, because the peer closed or they broke.
        #[serde(default)]
        lost,
        /// Of sockets of datagrams: refusals (ICMP) that came when nothing was in flight that they could fail.
        #[serde(default)]
        refused,
    } and {
        /// How long that took (nanoseconds).
        #[serde(default)]
        ahead_ns: u64,
        /// Open at the end of the second.
        open: u32,
    }
}

counts! {
    /// Heartbeats on open connections, separate from requests.
    #[derive(Serialize, Deserialize)]
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
    pub struct Heartbeats {
        /// Sent.
        sent,
        /// With a response before the next one was due.
        answered,
        /// Without a response by then, or with the connection lost before.
        missed,
        /// Still without a response at the end of the run.
        open,
    }
}
