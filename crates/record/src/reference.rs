//! Results of the reference client: a client that runs alongside the load and is timed independently of it.

use brunt_measure::Histogram;
use serde::{Deserialize, Serialize};

/// Results of the reference client in a second (or the shorter remainder at either end): a few requests a second on one
/// connection, sent by a thread that carries no load. Not part of any other count or figure of the run. (Lancet and
/// mutilate measure this way: a light client beside the heavy ones.)
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ReferenceSecond {
    /// Start, since the start of the window of the load (nanoseconds; negative within the warm-up).
    pub from_ns: i64,
    /// End, since the start of the window of the load (nanoseconds).
    pub to_ns: i64,
    /// Requests scheduled in it, warm-up excluded.
    pub scheduled: u64,
    /// Successes that ended in it.
    pub succeeded: u64,
    /// Failures that ended in it.
    pub failed: u64,
    /// Requests abandoned without a response at the end of the run.
    pub unfinished: u64,
    /// Time from the write of a request to the last byte of its response, successes only.
    pub service: Histogram,
    /// Time from the kernel's receive timestamp of a segment to the read that took it; empty if there are no
    /// timestamps (Unix sockets).
    pub read_late: Histogram,
}
