//! What the reference client of a run found: a client beside the load, timed apart from it.

use measure::Histogram;
use serde::{Deserialize, Serialize};

/// A second (or the shorter rest at either end) of the reference client: a few requests a second on one connection, sent by a thread that
/// carries no load. In no other count or figure of the run. (Lancet and mutilate measure so: a light client beside the heavy ones.)
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Reference {
    /// Its beginning since the start of the window of the load (nanoseconds; negative within the warm-up).
    pub from_ns: i64,
    /// Its end, likewise.
    pub to_ns: i64,
    /// Requests scheduled in it, warm-up left out.
    pub scheduled: u64,
    /// Successes that ended in it.
    pub succeeded: u64,
    /// Failures that ended in it.
    pub failed: u64,
    /// Given up without a response at the end of the run.
    pub unfinished: u64,
    /// From the write of a request to the last byte of its response: successes.
    pub service: Histogram,
    /// From the kernel's receive stamp of a segment to the read that took it; empty where there are no stamps (Unix sockets).
    pub read_late: Histogram,
}
