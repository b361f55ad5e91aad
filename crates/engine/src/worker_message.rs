//! Messages from a worker to the collector.

use std::ops::Range;

use brunt_contract::Trace;
use brunt_measure::Nanos;

use crate::early_failures::EarlyFailures;
use crate::failure_class::FailureClass;
use crate::used_values::RequestValue;

/// Maximum number of shown bytes of a request or a response.
pub(crate) const EXCERPT: usize = 4096;

/// A message from a worker to the collector.
#[derive(Debug)]
pub(crate) enum WorkerMessage {
    /// A second, encoded by [`crate::tally::encode`].
    Snapshot(Vec<u8>),
    /// Failures of the first moments.
    Early(EarlyFailures),
    /// An example of a failure.
    Example(RawExample),
    /// The worker is done; `window` is the length of its window.
    Over { window: Nanos, interrupted: bool },
    /// The worker could not start.
    Broken(String),
    /// The process of these workers ended before they were done, or never started.
    Lost { workers: Range<u32>, how: String },
}

/// An example of a failure, as bytes.
#[derive(Clone, Debug)]
pub(crate) struct RawExample {
    pub sort: FailureClass,
    /// Name of the request, if the run has several names.
    pub name: Option<u16>,
    /// Status code of the response; 0 if none.
    pub code: u32,
    /// Time since the start of the window.
    pub at_ns: i64,
    /// Details of the failure.
    pub why: Option<brunt_cause::Cause>,
    pub sent: Vec<u8>,
    pub received: Vec<u8>,
    pub reused: bool,
    /// Trace that the request carried, if any.
    pub trace: Option<Trace>,
    /// Values of the user that the request uses.
    pub values: Vec<RequestValue>,
}
