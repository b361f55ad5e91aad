//! Barriers for the workers: before a common start, and before connections are held.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use brunt_measure::Nanos;

/// A barrier for all workers of a run.
#[derive(Default)]
pub(crate) struct Barrier {
    missing: AtomicU32,
    go: AtomicU64,
    /// Callback that reports this process as ready if there are several processes; the coordinator then sets the time
    /// of release.
    report: Option<Box<dyn Fn() + Send + Sync>>,
}

impl std::fmt::Debug for Barrier {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Barrier({} missing)", self.missing.load(Ordering::Relaxed))
    }
}

/// Delay between the last worker becoming ready and the start, so that every worker sees the start in time.
pub(crate) const NOTICE: Nanos = Nanos::from_millis(20);

impl Barrier {
    pub fn for_workers(workers: u32) -> Arc<Barrier> {
        Arc::new(Barrier { missing: AtomicU32::new(workers), ..Barrier::default() })
    }
    /// Creates a barrier for the workers of one process among several.
    pub fn reporting(workers: u32, report: Box<dyn Fn() + Send + Sync>) -> Arc<Barrier> {
        Arc::new(Barrier { missing: AtomicU32::new(workers), report: Some(report), ..Barrier::default() })
    }
    /// Marks one worker as ready.
    pub fn ready(&self, now: Nanos) {
        if self.missing.fetch_sub(1, Ordering::AcqRel) == 1 {
            match &self.report {
                Some(report) => report(),
                None => self.release_at(now + NOTICE),
            }
        }
    }
    /// Sets the time of release.
    pub fn release_at(&self, at: Nanos) {
        self.go.store(at.0, Ordering::Release);
    }
    pub fn starts_at(&self) -> Option<Nanos> {
        Some(Nanos(self.go.load(Ordering::Acquire))).filter(|go| *go > Nanos::ZERO)
    }
}
