//! The events of a run and their file.
//!
//! A run is a stream of [`RunEvent`]s. The terminal, the documents, the diagnosis and (later) the browser and agents
//! all read this one stream, live or from a file recorded long ago; nothing else is exchanged between a run and its
//! readers.

mod agents;
mod calibration;
mod check_results;
mod counts;
mod figures_by_name;
pub mod frames;
mod growing_file;
mod host_counters;
mod latency;
mod listener;
mod merge;
mod named_enums;
mod open_requests;
mod plausibility;
mod reader;
mod reference;
mod second;
mod series;
mod spool;
#[cfg(test)]
mod tests;
mod traced_requests;
mod wide_numbers;
mod writer;

pub use agents::{AgentEvent, AgentHead, WorkerRange};
pub use calibration::Calibration;
pub use check_results::CheckResults;
pub use figures_by_name::{NamedCounts, NamedFigures};
pub use growing_file::is_being_written;
pub use host_counters::{ChangeEncoder, CounterState, CounterValue, HostCounters, increase};
pub use latency::Latency;
pub use listener::RunListener;
pub use merge::{RunBounds, SLOWEST_OF_SECOND};
pub use named_enums::{End, Kind, Phase, Subject};
pub use open_requests::OpenRequests;
pub use reader::{EventDecoder, ReadFault, RecordFile, RecordReader};
pub use reference::ReferenceSecond;
pub use second::{ByteCounts, ConnectionFigures, Counts, GeneratorUsage, HeartbeatCounts, Second};
pub use series::{SERIES_ENDING, SeriesEntry, SeriesReader, SeriesRun, SeriesWriter};
pub use spool::{ReplaySource, Spool};
pub use traced_requests::{HasRank, Rank, RequestSpan, RequestSpans, TraceId, TracedRequest, is_slow, keep_slowest};
pub use writer::{EventEncoder, RecordWriter};

use std::collections::BTreeMap;

use brunt_cause::Cause;
use brunt_measure::Nanos;
use brunt_plan::{Change, Plan};
use serde::{Deserialize, Serialize};

/// Version of the record's format; a reader refuses a higher one.
pub const SCHEMA: &str = "brunt-record/2";

/// A single event of a run. A record begins with `RunStarted`, ends with `RunEnd` (unless it was cut off) and holds one
/// `Second` for every second in between.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum RunEvent {
    /// Head of the record: the plan, the machines and the version of brunt.
    Started(Box<RunStarted>),
    /// The first response, counted apart from the figures.
    #[serde(rename = "probe")]
    FirstResponse(FirstResponse),
    /// Start of the window, from which all times are measured.
    Began(WindowStart),
    /// Results of one second, all workers merged.
    Second(Box<Second>),
    /// A change of the load during the run.
    Changed(LoadChange),
    /// Counters of a machine, once a second.
    Counters(HostCounters),
    /// Results of the reference client, once a second.
    Reference(Box<ReferenceSecond>),
    /// A machine under test sends its counters through a probe: recorded before the first of them, and again at the
    /// end of the run.
    Joined(ProbedHost),
    /// An example of one kind of failure.
    Example(FailureExample),
    /// Requests to export as spans; never in a record.
    #[serde(skip)]
    #[cfg_attr(feature = "schema", schemars(skip))]
    Spans(RequestSpans),
    /// A notice for the reader.
    Notice(Notice),
    /// An event of one agent's record, beside the whole.
    OfAgent(AgentEvent),
    /// A second of which some agents have told nothing yet; never in a record, and followed by the whole one. Only for
    /// screens.
    #[serde(skip)]
    #[cfg_attr(feature = "schema", schemars(skip))]
    Provisional(Box<Second>),
    /// End of the run.
    Ended(RunEnd),
    /// An event of a later version of brunt: readers skip it.
    #[serde(other)]
    #[cfg_attr(feature = "schema", schemars(skip))]
    Unknown,
}

impl RunEvent {
    /// Returns `true` if the event is part of a record; the others only pass by during a run.
    pub fn is_recorded(&self) -> bool {
        match self {
            RunEvent::Spans(_) | RunEvent::Provisional(_) | RunEvent::Unknown => false,
            RunEvent::OfAgent(AgentEvent { event, .. }) => event.is_recorded(),
            _ => true,
        }
    }
}

/// The head of a record.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RunStarted {
    /// Format version, [`SCHEMA`].
    pub schema: String,
    /// Version of brunt.
    pub brunt: String,
    /// Wall clock, milliseconds since 1970.
    pub unix_ms: u64,
    /// Command line, secrets masked.
    pub command: Vec<String>,
    /// Plan, secrets masked.
    pub plan: Plan,
    /// Machines of the generator, the coordinator's first. Older records name one.
    #[serde(alias = "host", deserialize_with = "one_or_many")]
    pub hosts: Vec<GeneratorHost>,
    /// Network backend: `epoll`, `uring`, `sim`.
    pub net: String,
    /// Number of worker threads.
    pub workers: u32,
    /// Set if nothing was sent: connections were opened and held. Null in older records that do not say.
    #[serde(default)]
    pub silent: Option<bool>,
    /// Names of requests in reports. If there is only one, the figures of the whole run are its figures.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub names: Vec<String>,
    /// Indices of the names whose requests are sent only before and after the load (`setup`, `teardown`): they have no
    /// figures.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub around: Vec<u16>,
    /// Names of checks in reports.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub checks: Vec<String>,
    /// Agents of a run of many machines, in the order of their workers; empty if one machine made the whole run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub agents: Vec<AgentHead>,
}

/// The start of the window on two clocks, to align it with measurements from other sources.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WindowStart {
    /// Monotonic clock of the generator (`CLOCK_MONOTONIC`, nanoseconds).
    pub clock_ns: u64,
    /// Wall clock, nanoseconds since 1970.
    pub unix_ns: u64,
}

impl RunStarted {
    /// Returns the machine of the coordinator.
    pub fn host(&self) -> Option<&GeneratorHost> {
        self.hosts.first()
    }
}

fn one_or_many<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Vec<GeneratorHost>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum OneOrManyHosts {
        Many(Vec<GeneratorHost>),
        One(GeneratorHost),
    }
    Ok(match OneOrManyHosts::deserialize(from)? {
        OneOrManyHosts::Many(hosts) => hosts,
        OneOrManyHosts::One(host) => vec![host],
    })
}

/// A change of load, requested during the run.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LoadChange {
    /// Time at which it took effect, since the start of the window (nanoseconds); announced before that.
    pub at_ns: i64,
    /// The change.
    pub change: Change,
}

/// A machine of the load generator.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct GeneratorHost {
    /// Host name.
    pub name: String,
    /// Kernel name and version: `Linux 6.18.0`.
    pub kernel: String,
    /// Cores available to the process (affinity and cgroup quota included).
    pub cores: f64,
    /// Soft limit of descriptors.
    pub descriptors: u64,
    /// Memory in bytes.
    pub memory: u64,
    /// Maximum rate, if measured before the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub calibration: Option<Calibration>,
}

/// A machine under test that sends its counters itself (`brunt probe`), and its clock.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ProbedHost {
    /// Name of the machine among the counters of this record.
    pub host: String,
    /// Address of its probe: `10.0.0.7:7070`.
    pub probe: String,
    /// Kernel name and version: `Linux 6.18.0`.
    pub kernel: String,
    /// Number of cores.
    pub cores: f64,
    /// Set if the address under load is one of its own, and some process listens there.
    pub holds_target: bool,
    /// Set if it runs on the kernel of the generator, and shares its cores.
    pub shares_kernel: bool,
    /// Time of the best clock comparison, since the start of the window (nanoseconds); null if it was made before that
    /// start was known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_ns: Option<i64>,
    /// Offset of its monotonic clock ahead of the generator's (nanoseconds); times of its counters are given on the
    /// generator's clock.
    pub clock_ahead_ns: i64,
    /// Maximum error of that offset: half the round trip of the exchange that measured it (nanoseconds).
    pub clock_within_ns: u64,
}

/// The single request sent before the run, counted apart from its figures.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FirstResponse {
    /// Requested URL.
    pub url: String,
    /// Address connected to.
    pub address: String,
    /// Proxy at that address, if there is one: `http://proxy:3128`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub through: Option<String>,
    /// Protocol, with TLS version and cipher suite if used: `HTTP/1.1`.
    pub spoken: String,
    /// Status in the protocol's notation.
    pub status: String,
    /// Bytes of payload received.
    pub payload: u64,
    /// Time from connect to the last byte (nanoseconds).
    pub took: Nanos,
    /// Number of requests sent (redirects are requests).
    pub requests: u64,
    /// Error in English, if any.
    pub failure: Option<String>,
    /// A translatable sentence for that error; null in older records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<Cause>,
}

/// Name under which all status codes beyond the first [`MAX_CODES`] distinct ones of a run are counted; the limit
/// exists because peers choose the codes.
pub const OTHER_CODES: &str = "other";
/// Maximum number of distinct status codes.
pub const MAX_CODES: usize = 128;
/// Maximum length of a status code's name, in bytes.
const MAX_CODE_BYTES: usize = 64;

/// Returns the name under which a status code is counted, given those counted so far.
pub fn counted_name<'a>(all: &BTreeMap<String, u64>, code: &'a str) -> &'a str {
    let code = &code[..code.floor_char_boundary(MAX_CODE_BYTES)];
    if all.contains_key(code) || all.len() < MAX_CODES { code } else { OTHER_CODES }
}

/// Adds to the counts of status codes; codes beyond the first [`MAX_CODES`] are counted together.
pub fn add_code(all: &mut BTreeMap<String, u64>, code: &str, count: u64) {
    let counted = all.entry(counted_name(all, code).to_owned()).or_default();
    *counted = counted.saturating_add(count);
}

/// Part of a run that a second belongs to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum RunPart {
    /// Time before the window: excluded from the results.
    Warmup,
    /// The window: the time over which throughput is computed.
    #[default]
    Window,
    /// Time after the window: unfinished requests may still finish.
    Drain,
}

/// A count of failures of one kind.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Failure {
    /// Kind of failure: `refused`, `timeout`, `wrong_status` …
    pub kind: String,
    /// Phase in which the requests failed: `connect`, `first_byte` …
    pub phase: String,
    /// Name of the error number: `ECONNREFUSED` …
    pub errno: Option<String>,
    /// Number of failures.
    pub count: u64,
}

/// Returns the most frequent kinds of failure with their counts, at most three, ties in order of occurrence: `5 ×
/// refused (ECONNREFUSED), 2 × timeout`. Phases are not distinguished.
pub fn most_frequent(failures: &[Failure]) -> String {
    const NAMED: usize = 3;
    let mut kinds: Vec<(String, u64)> = Vec::new();
    for failure in failures {
        let errno = failure.errno.as_ref().map_or(String::new(), |errno| format!(" ({errno})"));
        let kind = format!("{}{errno}", failure.kind);
        match kinds.iter_mut().find(|(known, _)| *known == kind) {
            Some((_, count)) => *count = count.saturating_add(failure.count),
            None => kinds.push((kind, failure.count)),
        }
    }
    kinds.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let named: Vec<String> = kinds.iter().take(NAMED).map(|(kind, count)| format!("{count} × {kind}")).collect();
    named.join(", ") + if kinds.len() > NAMED { ", …" } else { "" }
}

/// Connections that were lost or could not be opened, of one kind.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ConnectionLoss {
    /// Kind, as in [`Failure`]: `closed`, `reset`, `timeout` (a missed heartbeat) …
    pub kind: String,
    /// Phase, as in [`Failure`]; `hold` for connections that had been open.
    #[serde(default)]
    pub phase: String,
    /// Error number, as in [`Failure`].
    pub errno: Option<String>,
    /// Details beyond the kind, in English: the code and reason that the peer closed with, the heartbeat that was
    /// missed.
    pub detail: String,
    /// A translatable sentence for those details; null if nothing is known, or in older records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<Cause>,
    /// Number of connections.
    pub count: u64,
}

/// Maximum number of distinct losses in a run, limited because peers choose the texts.
const MAX_LOSSES: usize = 64;

impl ConnectionLoss {
    /// Adds to a list of losses, merging equal ones. Once the list is full, new losses are counted without their
    /// details.
    pub fn add(all: &mut Vec<ConnectionLoss>, loss: &ConnectionLoss) {
        fn sort(loss: &ConnectionLoss) -> (&String, &String, &Option<String>) {
            (&loss.kind, &loss.phase, &loss.errno)
        }
        let same = |known: &&mut ConnectionLoss| sort(known) == sort(loss);
        let full = all.len() >= MAX_LOSSES;
        let mut alike = all.iter_mut().filter(same);
        match alike.find(|known| known.detail == loss.detail || (full && known.detail.is_empty())) {
            Some(known) => known.count = known.count.saturating_add(loss.count),
            None if full => all.push(ConnectionLoss { detail: String::new(), cause: None, ..loss.clone() }),
            None => all.push(loss.clone()),
        }
    }
}

/// An example of a failure, with the request and the response.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FailureExample {
    /// Kind, as in [`Failure`].
    pub kind: String,
    /// Phase, as in [`Failure`].
    pub phase: String,
    /// Error number, as in [`Failure`].
    pub errno: Option<String>,
    /// Details beyond the kind, in English.
    pub detail: String,
    /// A translatable sentence for those details; null if nothing is known, or in older records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<Cause>,
    /// Bytes sent (as text if they are text, else with \x escapes), secrets masked, cut at 4 KiB.
    pub sent: String,
    /// Bytes received, in the same format.
    pub received: String,
    /// Set if the request was sent on a connection that had carried one before.
    #[serde(default)]
    pub reused: bool,
    /// Index of the request's name, if the run has several names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<u16>,
    /// Status code of the response, if it had one.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub status: String,
    /// Time of the failure, since the start of the window (nanoseconds); null in older records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_ns: Option<i64>,
    /// Trace that the request announced.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<TraceId>,
    /// Captured values that went into the request, in a flow: secrets masked, each cut at 256 bytes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub values: Vec<UsedValue>,
}

/// A captured value of a flow's user, as used in a request.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct UsedValue {
    /// Name of the value in the flow.
    pub name: String,
    /// Value (as text if it is text, else with \x escapes); null if it was not set and the slot was left empty.
    pub value: Option<String>,
}

/// A notice for the reader of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Notice {
    /// Stable code, one of [`Subject`] or of another version: `only_errors`, `only_redirects`, `disk_full` …
    pub code: String,
    /// Facts that the notice is about, by name.
    pub facts: BTreeMap<String, String>,
    /// Facts that are translatable sentences. Empty in older records.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub causes: BTreeMap<String, Cause>,
    /// Time up to which results were known when the notice was issued, since the start of the window (nanoseconds);
    /// null before its first second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_ns: Option<i64>,
}

impl Notice {
    /// Creates a notice with these facts and without a time.
    pub fn new<const N: usize>(subject: Subject, facts: [(&str, String); N]) -> Notice {
        let facts = facts.into_iter().map(|(name, fact)| (name.to_owned(), fact)).collect();
        Notice { code: subject.name().into(), facts, causes: BTreeMap::new(), at_ns: None }
    }

    /// Adds another fact, which is a translatable sentence.
    pub fn with_cause(mut self, name: &str, cause: Cause) -> Notice {
        self.facts.insert(name.to_owned(), cause.to_string());
        self.causes.insert(name.to_owned(), cause);
        self
    }

    /// Returns the subject; `None` for a code of another version.
    pub fn subject(&self) -> Option<Subject> {
        Subject::of(&self.code)
    }
}

/// The end of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RunEnd {
    /// Reason for the end: `completed`, `interrupted`, `partial` (workers were lost during the run), `aborted`.
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub reason: End,
    /// Length of the window (nanoseconds): the divisor of throughput.
    pub window: Nanos,
    /// Time from the first connect to the end of the drain (nanoseconds), warm-up included.
    pub elapsed: Nanos,
}

/// Returns the JSON Schema of one line of a record, generated from the types (`docs/schema/record.json`).
#[cfg(feature = "schema")]
pub fn schema_json() -> String {
    let schema = schemars::schema_for!(RunEvent);
    serde_json::to_string_pretty(&schema).expect("a schema is plain JSON") + "\n"
}
