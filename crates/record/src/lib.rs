//! The events of a run and their file.
//!
//! A run is a stream of [`RunEvent`]s. Terminal, documents, diagnosis and (later) browser and agents all read this one
//! stream, live or from the file of a run made last year; nothing else passes between a run and its readers.

mod counts;
mod file;
mod latency;
mod named;
mod read;
mod spool;
#[cfg(test)]
mod tests;
mod wide;

pub use file::Writer;
pub use latency::Latency;
pub use named::{Named, NamedCounts};
pub use read::{ReadFault, Reader, RecordFile};
pub use spool::{Past, Spool};

use std::collections::BTreeMap;

use measure::Nanos;
use plan::Plan;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The version of the record's format; a reader refuses a higher one.
pub const SCHEMA: &str = "brunt-record/1";

/// One thing that happened in a run. A record begins with `Started`, ends with `Ended` (unless it was cut off) and holds
/// one `Second` for every second in between.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum RunEvent {
    /// What was asked, where and by whom.
    Started(Box<Started>),
    /// The first answer, counted apart from the figures.
    Probe(Probe),
    /// What one second held, all workers merged.
    Second(Box<Second>),
    /// The kept example of one kind of failure.
    Example(Example),
    /// Something the reader should know.
    Notice(Notice),
    /// How the run ended.
    Ended(Ended),
    /// Something that a later brunt tells: readers go past it.
    #[serde(other)]
    #[schemars(skip)]
    Unknown,
}

/// The head of a record.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Started {
    /// [`SCHEMA`].
    pub schema: String,
    /// Version of brunt.
    pub brunt: String,
    /// Wall clock, milliseconds since 1970.
    pub unix_ms: u64,
    /// The command line, secrets masked.
    pub command: Vec<String>,
    /// What was asked, secrets masked.
    pub plan: Plan,
    /// The machine of the generator.
    pub host: Host,
    /// Which network carried the bytes: `epoll`, `uring`, `sim`.
    pub net: String,
    /// Worker threads that ran.
    pub workers: u32,
    /// True where nothing was to be said: connections are opened and held. None: an older record does not tell.
    #[serde(default)]
    pub silent: Option<bool>,
    /// What requests are called in figures by name. Where there is but one, the whole run has its figures.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub names: Vec<String>,
}

/// The machine of the generator.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Host {
    /// Host name.
    pub name: String,
    /// `Linux 6.18.0`.
    pub kernel: String,
    /// Cores available to the process (affinity and cgroup quota included).
    pub cores: f64,
    /// Soft limit of descriptors.
    pub descriptors: u64,
    /// Memory in bytes.
    pub memory: u64,
}

/// The one counted request before the run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Probe {
    /// The URL asked.
    pub url: String,
    /// The address connected to.
    pub address: String,
    /// `HTTP/1.1`, with TLS version and suite where spoken.
    pub spoken: String,
    /// Status as the protocol names it.
    pub status: String,
    /// Bytes of payload received.
    pub payload: u64,
    /// From connect to the last byte (nanoseconds).
    pub took: Nanos,
    /// Requests it sent (redirects are requests).
    pub requests: u64,
    /// What went wrong, if anything.
    pub failure: Option<String>,
}

/// What one second (or the shorter rest at either end) held.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Second {
    /// Its beginning since the start of the window (nanoseconds; negative within the warm-up).
    pub from_ns: i64,
    /// Its end, likewise.
    pub to_ns: i64,
    /// Which part of the run it belongs to.
    pub part: Part,
    /// Requests whose intended time lies in it (closed: requests started), warm-up left out.
    #[serde(rename = "scheduled", alias = "due")]
    pub due: u64,
    /// Requests whose first write lies in it, warm-up left out.
    pub sent: u64,
    /// Successes that ended in it.
    #[serde(rename = "succeeded", alias = "finished")]
    pub finished: u64,
    /// Failures that ended in it.
    pub failed: u64,
    /// Requests given up unfinished at the end of the run (only in the last second).
    #[serde(rename = "unfinished", alias = "censored")]
    pub censored: u64,
    /// Requests intended within the warm-up that were sent in it; in no other count.
    pub warmup: u64,
    /// Successes of such requests that ended in it: in throughput, in no other figure.
    #[serde(default, rename = "succeeded_of_warmup", alias = "finished_of_warmup")]
    pub finished_of_warmup: u64,
    /// Of the requests scheduled in it, those that found every connection taken that the run may have (open load).
    #[serde(default)]
    pub limited: u64,
    /// Of the failures, those whose answer came after their timeout; it is in no count of status codes.
    #[serde(default)]
    pub late: u64,
    /// Users (closed) alive at its end.
    pub users: u32,
    /// Requests in flight at its end (sent, not ended).
    pub in_flight: u32,
    /// Arrivals waiting for a connection at its end.
    pub waiting: u32,
    /// Time integral of the requests in flight, in request-nanoseconds, all requests.
    #[serde(deserialize_with = "wide::read")]
    pub in_flight_ns: u128,
    /// The same from independent counters: summed service of those that ended in it, plus the boundary terms.
    #[serde(deserialize_with = "wide::read")]
    pub service_ns: i128,
    /// Status code → count, of successes and failures that carried one.
    pub status: BTreeMap<String, u64>,
    /// Failures by kind, phase and errno.
    pub failures: Vec<Failure>,
    /// Bytes.
    pub bytes: Bytes,
    /// Connections.
    pub connections: Connections,
    /// Connections that are part of the plan and were lost, by what ended them; they add up to `connections.lost`.
    #[serde(default)]
    pub losses: Vec<Loss>,
    /// Connections that did not come to stand and by which no request failed (a pool that was to grow, connections to be
    /// held), by what prevented them; the others are in `failures`.
    #[serde(default)]
    pub unopened: Vec<Loss>,
    /// Messages nobody asked for.
    pub unsolicited: u64,
    /// Of these, answers beyond those asked for where answers belong to requests by order alone.
    #[serde(default)]
    pub strays: u64,
    /// Requests that the peer did not touch and that were sent once more; each is one request in all other counts.
    #[serde(default)]
    pub resent: u64,
    /// Messages inside exchanges whose answers are streams.
    #[serde(default)]
    pub messages: u64,
    /// Requests that nobody answers, over when written: in `succeeded`, in no histogram.
    #[serde(default)]
    pub one_way: u64,
    /// Signs of life.
    #[serde(default)]
    pub heartbeats: Heartbeats,
    /// The histograms.
    pub latency: Latency,
    /// CPU time the worker threads used in it (nanoseconds).
    pub cpu_ns: u64,
    /// How the generator itself ran.
    #[serde(default)]
    pub generator: Generator,
    /// When the first success in it ended, since the start of the window (nanoseconds); None where there was none.
    #[serde(default)]
    pub first_success_ns: Option<i64>,
    /// When the last one did.
    #[serde(default)]
    pub last_success_ns: Option<i64>,
    /// Since when requests had been in flight without a break, at the first success in it or else at its end; None where
    /// none was.
    #[serde(default)]
    pub busy_since_ns: Option<i64>,
    /// Time of the window spent waiting in requests that timed out, or were cut at the end, in it (nanoseconds), those of the
    /// warm-up included.
    #[serde(default)]
    pub unanswered_ns: u64,
    /// Time of the window that users of closed load spent in pauses because their connections were refused or of no use
    /// (nanoseconds).
    #[serde(default)]
    pub kept_out_ns: u64,
    /// The same by name, in the order of names, where the run has several: those with anything to tell.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub named: Vec<Named>,
}

/// How the generator itself ran in a second: of each figure, that of the worker that was worst off.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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

/// Where status codes are counted once a run has shown [`CODES`] different ones: peers choose them.
pub const OTHER_CODES: &str = "other";
/// So many status codes are told apart.
pub const CODES: usize = 128;
/// The longest name of a status code, in bytes.
const CODE_NAME: usize = 64;

/// The name under which a status code is counted beside these.
pub fn counted_as<'a>(all: &BTreeMap<String, u64>, code: &'a str) -> &'a str {
    let code = &code[..code.floor_char_boundary(CODE_NAME)];
    if all.contains_key(code) || all.len() < CODES { code } else { OTHER_CODES }
}

/// Adds to the counts of status codes; those beyond the first many are counted together.
pub fn add_code(all: &mut BTreeMap<String, u64>, code: &str, count: u64) {
    let counted = all.entry(counted_as(all, code).to_owned()).or_default();
    *counted = counted.saturating_add(count);
}

impl Second {
    /// Every success that ended in it, whenever its request began: what throughput counts.
    pub fn successes(&self) -> u64 {
        self.finished.saturating_add(self.finished_of_warmup)
    }
}

/// Which part of a run a second belongs to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Part {
    /// Before the window: left out of the figures.
    Warmup,
    /// The window: what throughput is counted over.
    #[default]
    Window,
    /// After the window: unfinished requests may still finish.
    Drain,
}

/// A count of failures of one sort.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Failure {
    /// `refused`, `timeout`, `wrong_status` …
    pub kind: String,
    /// `connect`, `first_byte` …
    pub phase: String,
    /// `ECONNREFUSED` …
    pub errno: Option<String>,
    /// How many.
    pub count: u64,
}

/// The most frequent kinds of failure with their counts, at most three, equal ones as they came: `5 × refused
/// (ECONNREFUSED), 2 × timeout`. Phases are not told apart.
pub fn most_frequent(failures: &[Failure]) -> String {
    const NAMED: usize = 3;
    let mut kinds: Vec<(String, u64)> = Vec::new();
    for failure in failures {
        let errno = failure.errno.as_ref().map_or(String::new(), |errno| format!(" ({errno})"));
        let kind = format!("{}{errno}", failure.kind);
        match kinds.iter_mut().find(|(known, _)| *known == kind) {
            Some((_, count)) => *count += failure.count,
            None => kinds.push((kind, failure.count)),
        }
    }
    kinds.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let named: Vec<String> = kinds.iter().take(NAMED).map(|(kind, count)| format!("{count} × {kind}")).collect();
    named.join(", ") + if kinds.len() > NAMED { ", …" } else { "" }
}

/// Connections that were lost, or did not come to stand, in one way.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Loss {
    /// As in [`Failure`]: `closed`, `reset`, `timeout` (a heartbeat was not answered) …
    pub kind: String,
    /// As in [`Failure`]; `hold` of those that had stood.
    #[serde(default)]
    pub phase: String,
    /// As in [`Failure`].
    pub errno: Option<String>,
    /// What is known beyond the kind: the code and reason that the peer closed with, the heartbeat that was missed.
    pub detail: String,
    /// How many.
    pub count: u64,
}

/// So many ways of losing connections are told apart in a run: peers choose the words.
const WAYS: usize = 64;

impl Loss {
    /// Adds to a list of losses, the same ones together. Once there are many, those with words of their own are counted
    /// without them.
    pub fn add(all: &mut Vec<Loss>, loss: &Loss) {
        fn sort(loss: &Loss) -> (&String, &String, &Option<String>) {
            (&loss.kind, &loss.phase, &loss.errno)
        }
        let same = |known: &&mut Loss| sort(known) == sort(loss);
        let full = all.len() >= WAYS;
        let mut alike = all.iter_mut().filter(same);
        match alike.find(|known| known.detail == loss.detail || (full && known.detail.is_empty())) {
            Some(known) => known.count += loss.count,
            None if full => all.push(Loss { detail: String::new(), ..loss.clone() }),
            None => all.push(loss.clone()),
        }
    }
}

/// The kept example of a failure.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Example {
    /// As in [`Failure`].
    pub kind: String,
    /// As in [`Failure`].
    pub phase: String,
    /// As in [`Failure`].
    pub errno: Option<String>,
    /// What is known beyond the kind, in words.
    pub detail: String,
    /// What was sent (text where it is text, else with \x escapes), secrets masked, cut at 4 KiB.
    pub sent: String,
    /// What came back, likewise.
    pub received: String,
    /// It was sent on a connection that had carried a request before.
    #[serde(default)]
    pub reused: bool,
    /// Index of what its request is called, where the run has several names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<u16>,
    /// The status code of its answer, where it had one.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub status: String,
    /// When it failed, since the start of the window (nanoseconds); None: an older record does not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_ns: Option<i64>,
}

/// Bytes on the wire (below TLS).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Bytes {
    /// Taken by the sockets.
    pub sent: u64,
    /// Given by the sockets.
    pub received: u64,
    /// Payload of the answers (bodies).
    pub payload: u64,
}

/// Connections.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Connections {
    /// That stood (TLS included).
    pub opened: u64,
    /// Of these, opened before a common start (`--together`, a rate over a fixed number): told with the first second after it.
    #[serde(default)]
    pub ahead: u64,
    /// How long that took (nanoseconds).
    #[serde(default)]
    pub ahead_ns: u64,
    /// That did not.
    pub failed: u64,
    /// Requests sent on a connection that had served one before.
    pub reused: u64,
    /// TLS handshakes completed.
    pub handshakes: u64,
    /// Of these, resumed.
    pub resumed: u64,
    /// Open at the end of the second.
    pub open: u32,
    /// Of connections that are part of the plan: stood and were lost, because the peer closed or they broke.
    #[serde(default)]
    pub lost: u64,
    /// Of sockets of datagrams: refusals (ICMP) that came when nothing was in flight that they could fail.
    #[serde(default)]
    pub refused: u64,
}

/// Signs of life on standing connections, apart from the requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Heartbeats {
    /// Sent.
    pub sent: u64,
    /// Answered before the next one was due.
    pub answered: u64,
    /// Not answered by then, or their connection was lost before.
    pub missed: u64,
    /// Still without an answer at the end of the run.
    pub open: u64,
}

/// Something the reader should know.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Notice {
    /// A stable word: `only_errors`, `only_redirects`, `disk_full` …
    pub code: String,
    /// What the sentence is about, by name.
    pub facts: BTreeMap<String, String>,
}

/// The end of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Ended {
    /// Why it ended: `completed`, `interrupted`, `partial` (workers were lost on the way), `aborted`.
    pub reason: String,
    /// Length of the window (nanoseconds): what throughput is divided by.
    pub window: Nanos,
    /// From the first connect to the end of the drain (nanoseconds), warm-up included.
    pub elapsed: Nanos,
}

/// JSON Schema of one line of a record, generated from the types (`docs/schema/record.json`).
pub fn schema_json() -> String {
    let schema = schemars::schema_for!(RunEvent);
    serde_json::to_string_pretty(&schema).expect("a schema is plain JSON") + "\n"
}
