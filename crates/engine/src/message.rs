//! What leaves a worker.

use std::ops::Range;

use measure::Nanos;
use wire::Trace;

use crate::early_failures::EarlyFailures;
use crate::failure_class::FailureClass;
use crate::used_values::RequestValue;

/// Cut of what is shown of a request or an answer.
pub(crate) const EXCERPT: usize = 4096;

/// One thing a worker tells the collector.
#[derive(Debug)]
pub(crate) enum Message {
    /// A second, encoded by [`crate::tally::encode`].
    Snapshot(Vec<u8>),
    /// What came back in the first moments.
    Early(EarlyFailures),
    /// The first failure of a sort.
    Example(RawExample),
    /// The worker is done; its window had this length.
    Over { window: Nanos, interrupted: bool },
    /// The worker could not start.
    Broken(String),
    /// The process of these workers ended before they were done, or never began.
    Lost { workers: Range<u32>, how: String },
}

/// A kept failure, as bytes.
#[derive(Clone, Debug)]
pub(crate) struct RawExample {
    pub sort: FailureClass,
    /// What its request is called, where the run has several names.
    pub name: Option<u16>,
    /// The status code of its answer; 0: none.
    pub code: u32,
    /// When, since the start of the window.
    pub at_ns: i64,
    /// What is known beyond the sort.
    pub why: Option<cause::Cause>,
    pub sent: Vec<u8>,
    pub received: Vec<u8>,
    pub reused: bool,
    /// The trace that its request said it belongs to.
    pub trace: Option<Trace>,
    /// The values of its user that it was made of.
    pub values: Vec<RequestValue>,
}
