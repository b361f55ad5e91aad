//! The stop flag of a run.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

/// A flag that stops a run, set from a signal handler or another thread.
#[derive(Clone, Debug, Default)]
pub struct Stop(Arc<AtomicU8>);

impl Stop {
    /// Requests a stop (Ctrl-C): nothing more is sent, unfinished requests count as censored, and the results are
    /// reported.
    pub fn request(&self) {
        self.0.fetch_max(1, Ordering::Relaxed);
    }
    /// Returns `true` once a stop was requested.
    pub fn requested(&self) -> bool {
        self.0.load(Ordering::Relaxed) > 0
    }
}
