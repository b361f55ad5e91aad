//! The events of a run and their file.
//!
//! A run is a stream of [`RunEvent`]s. Terminal, documents, diagnosis and (later) browser and agents all read this one
//! stream, live or from the file of a run made last year; nothing else passes between a run and its readers.

mod calibration;
mod checked;
mod counts;
mod file;
mod follow;
pub mod frames;
mod host_counters;
mod latency;
mod listener;
mod named;
mod plausible;
mod read;
mod reference;
mod second;
mod spool;
#[cfg(test)]
mod tests;
mod traced;
mod wide;
mod words;

pub use calibration::Calibration;
pub use checked::Checked;
pub use file::Writer;
pub use follow::is_being_written;
pub use host_counters::{Carried, Changes, HostCounters, Number, increase};
pub use latency::Latency;
pub use listener::Listener;
pub use named::{Named, NamedCounts};
pub use read::{ReadFault, Reader, RecordFile};
pub use reference::Reference;
pub use second::{Bytes, Connections, Counts, Generator, Heartbeats, Second};
pub use spool::{Past, Spool};
pub use traced::{Rank, Ranks, Span, Spans, TraceId, Traced, is_slow, keep_slowest};
pub use words::{End, Kind, Phase, Subject};

use std::collections::BTreeMap;

use cause::Cause;
use measure::Nanos;
use plan::{Change, Plan};
use serde::{Deserialize, Serialize};

/// The version of the record's format; a reader refuses a higher one.
pub const SCHEMA: &str = "brunt-record/2";

/// One thing that happened in a run. A record begins with `Started`, ends with `Ended` (unless it was cut off) and holds
/// one `Second` for every second in between.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum RunEvent {
    /// What was asked, where and by whom.
    Started(Box<Started>),
    /// The first answer, counted apart from the figures.
    #[serde(rename = "probe")]
    FirstAnswer(FirstAnswer),
    /// When the window begins, from which all moments count.
    Began(Began),
    /// What one second held, all workers merged.
    Second(Box<Second>),
    /// The load was changed on the way.
    Changed(Changed),
    /// What a machine counted, once a second.
    Counters(HostCounters),
    /// What the client beside the load found, once a second.
    Reference(Box<Reference>),
    /// A machine under test tells its counters through a probe: told before the first of them, and once more at the run's end.
    Joined(Joined),
    /// The kept example of one kind of failure.
    Example(Example),
    /// Requests that spans are made of; in no record.
    #[serde(skip)]
    #[cfg_attr(feature = "schema", schemars(skip))]
    Spans(Spans),
    /// Something the reader should know.
    Notice(Notice),
    /// How the run ended.
    Ended(Ended),
    /// Something that a later brunt tells: readers go past it.
    #[serde(other)]
    #[cfg_attr(feature = "schema", schemars(skip))]
    Unknown,
}

/// The head of a record.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Started {
    /// [`SCHEMA`].
    pub schema: String,
    /// Version of brunt.
    pub brunt: String,
    /// Wall clock, milliseconds since 1970.
    pub unix_ms: u64,
    /// The command line, secrets masked.
    pub command: Vec<String>,
    /// The plan, secrets masked.
    pub plan: Plan,
    /// The machines of the generator, the coordinator's first. Older records name one.
    #[serde(alias = "host", deserialize_with = "one_or_many")]
    pub hosts: Vec<Host>,
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
    /// Of these the ones, by index, whose requests are sent before and after the load only (`setup`, `teardown`): they have no figures.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub around: Vec<u16>,
    /// What checks are called in figures.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub checks: Vec<String>,
}

/// The start of the window on two clocks, so that what others measured can be laid beside it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Began {
    /// The monotonic clock of the generator (`CLOCK_MONOTONIC`, nanoseconds).
    pub clock_ns: u64,
    /// Wall clock, nanoseconds since 1970.
    pub unix_ns: u64,
}

impl Started {
    /// The machine of the coordinator.
    pub fn host(&self) -> Option<&Host> {
        self.hosts.first()
    }
}

fn one_or_many<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Vec<Host>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Hosts {
        Many(Vec<Host>),
        One(Host),
    }
    Ok(match Hosts::deserialize(from)? {
        Hosts::Many(hosts) => hosts,
        Hosts::One(host) => vec![host],
    })
}

/// A change of load, requested during the run.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Changed {
    /// When it took effect, since the start of the window (nanoseconds); announced before that.
    pub at_ns: i64,
    /// What it was.
    pub change: Change,
}

/// A machine of the load generator.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
    /// Its maximum, if measured before the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub calibration: Option<Calibration>,
}

/// A machine under test that tells its counters itself (`brunt probe`), and its clock.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Joined {
    /// What it is called among the counters of this record.
    pub host: String,
    /// Where its probe was reached: `10.0.0.7:7070`.
    pub probe: String,
    /// `Linux 6.18.0`.
    pub kernel: String,
    /// Its cores.
    pub cores: f64,
    /// The address under load is one of its own, and somebody listens there.
    pub holds_target: bool,
    /// It runs on the kernel of the generator, and shares its cores.
    pub shares_kernel: bool,
    /// When its clock was compared best, since the start of the window (nanoseconds); None: before anybody knew when that begins.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_ns: Option<i64>,
    /// How far its monotonic clock was ahead of the generator's (nanoseconds); moments of its counters are told on the generator's.
    pub clock_ahead_ns: i64,
    /// The true difference is at most this far from that: half the round trip of the exchange that told it (nanoseconds).
    pub clock_within_ns: u64,
}

/// The one counted request before the run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FirstAnswer {
    /// The requested URL.
    pub url: String,
    /// The address connected to.
    pub address: String,
    /// The proxy that this is the address of, if there is one: `http://proxy:3128`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub through: Option<String>,
    /// `HTTP/1.1`, with TLS version and cipher suite if used.
    pub spoken: String,
    /// Status in the protocol's notation.
    pub status: String,
    /// Bytes of payload received.
    pub payload: u64,
    /// From connect to the last byte (nanoseconds).
    pub took: Nanos,
    /// Requests it sent (redirects are requests).
    pub requests: u64,
    /// What went wrong, if anything, in English.
    pub failure: Option<String>,
    /// The same as a sentence of brunt; None: an older record does not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<Cause>,
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

/// Which part of a run a second belongs to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Part {
    /// Before the window: excluded from the results.
    Warmup,
    /// The window: what throughput is computed over.
    #[default]
    Window,
    /// After the window: unfinished requests may still finish.
    Drain,
}

/// A count of failures of one kind.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
pub struct Loss {
    /// As in [`Failure`]: `closed`, `reset`, `timeout` (a missed heartbeat) …
    pub kind: String,
    /// As in [`Failure`]; `hold` for those that had been open.
    #[serde(default)]
    pub phase: String,
    /// As in [`Failure`].
    pub errno: Option<String>,
    /// What is known beyond the kind, in English: the code and reason that the peer closed with, the heartbeat that was missed.
    pub detail: String,
    /// The same as a sentence of brunt; None: nothing is known, or an older record does not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<Cause>,
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
            Some(known) => known.count = known.count.saturating_add(loss.count),
            None if full => all.push(Loss { detail: String::new(), cause: None, ..loss.clone() }),
            None => all.push(loss.clone()),
        }
    }
}

/// The kept example of a failure.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Example {
    /// As in [`Failure`].
    pub kind: String,
    /// As in [`Failure`].
    pub phase: String,
    /// As in [`Failure`].
    pub errno: Option<String>,
    /// What is known beyond the kind, in English.
    pub detail: String,
    /// The same as a sentence of brunt; None: nothing is known, or an older record does not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<Cause>,
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
    /// The trace that its request said it belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<TraceId>,
    /// The values of its user that its request was made of, in a flow: secrets masked, each cut at 256 bytes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub values: Vec<UsedValue>,
}

/// A value of a user in a flow, as a request was made of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct UsedValue {
    /// What the flow calls it.
    pub name: String,
    /// What it was (text where it is text, else with \x escapes); null: it was not known, and nothing stood in its place.
    pub value: Option<String>,
}

/// Something the reader should know.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Notice {
    /// A stable word, those of [`Subject`] or of another version: `only_errors`, `only_redirects`, `disk_full` …
    pub code: String,
    /// What the sentence is about, by name.
    pub facts: BTreeMap<String, String>,
    /// Those of the facts that are sentences of brunt. Older records have none.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub causes: BTreeMap<String, Cause>,
    /// Until when the run was known when it was said, since the start of the window (nanoseconds); None: before its first
    /// second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_ns: Option<i64>,
}

impl Notice {
    /// With its facts, said without a moment.
    pub fn new<const N: usize>(subject: Subject, facts: [(&str, String); N]) -> Notice {
        let facts = facts.into_iter().map(|(name, fact)| (name.to_owned(), fact)).collect();
        Notice { code: subject.name().into(), facts, causes: BTreeMap::new(), at_ns: None }
    }

    /// The same with another fact, which is a sentence.
    pub fn because(mut self, name: &str, cause: Cause) -> Notice {
        self.facts.insert(name.to_owned(), cause.to_string());
        self.causes.insert(name.to_owned(), cause);
        self
    }

    /// What it is about; None: a record of another version knows.
    pub fn subject(&self) -> Option<Subject> {
        Subject::of(&self.code)
    }
}

/// The end of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Ended {
    /// Why it ended: `completed`, `interrupted`, `partial` (workers were lost on the way), `aborted`.
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub reason: End,
    /// Length of the window (nanoseconds): what throughput is divided by.
    pub window: Nanos,
    /// From the first connect to the end of the drain (nanoseconds), warm-up included.
    pub elapsed: Nanos,
}

/// JSON Schema of one line of a record, generated from the types (`docs/schema/record.json`).
#[cfg(feature = "schema")]
#[cfg(feature = "schema")]
pub fn schema_json() -> String {
    let schema = schemars::schema_for!(RunEvent);
    serde_json::to_string_pretty(&schema).expect("a schema is plain JSON") + "\n"
}
