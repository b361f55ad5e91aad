//! Stops a run.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

/// Asks a run to stop, from a signal handler or another thread.
#[derive(Clone, Debug, Default)]
pub struct Stop(Arc<AtomicU8>);

impl Stop {
    /// Stop sending, count what is unfinished as censored and report: Ctrl-C.
    pub fn request(&self) {
        self.0.fetch_max(1, Ordering::Relaxed);
    }
    /// True once a stop was asked for.
    pub fn requested(&self) -> bool {
        self.0.load(Ordering::Relaxed) > 0
    }
}
