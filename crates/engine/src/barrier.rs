//! `--together`: all users of all workers start at one moment, once every connection stands or has failed.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use measure::Nanos;
use wire::{Dialogue, Network};

use crate::worker::Worker;

/// The barrier point of the workers; touched only before the start.
#[derive(Default)]
pub(crate) struct Barrier {
    missing: AtomicU32,
    go: AtomicU64,
    /// Where other processes take part: tells that all of this one are ready; the moment comes from outside.
    report: Option<Box<dyn Fn() + Send + Sync>>,
}

impl std::fmt::Debug for Barrier {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Barrier({} missing)", self.missing.load(Ordering::Relaxed))
    }
}

/// From the moment the last one is ready to the start, so that everybody sees it.
pub(crate) const NOTICE: Nanos = Nanos::from_millis(20);

impl Barrier {
    pub fn of(workers: u32) -> Arc<Barrier> {
        Arc::new(Barrier { missing: AtomicU32::new(workers), ..Barrier::default() })
    }
    /// A barrier of the workers of one process among several.
    pub fn reporting(workers: u32, report: Box<dyn Fn() + Send + Sync>) -> Arc<Barrier> {
        Arc::new(Barrier { missing: AtomicU32::new(workers), report: Some(report), ..Barrier::default() })
    }
    /// One worker fewer is missing.
    pub fn ready(&self, now: Nanos) {
        if self.missing.fetch_sub(1, Ordering::AcqRel) == 1 {
            match &self.report {
                Some(report) => report(),
                None => self.go_at(now + NOTICE),
            }
        }
    }
    /// Sets the moment.
    pub fn go_at(&self, at: Nanos) {
        self.go.store(at.0, Ordering::Release);
    }
    pub fn starts_at(&self) -> Option<Nanos> {
        Some(Nanos(self.go.load(Ordering::Acquire))).filter(|go| *go > Nanos::ZERO)
    }
}

/// One worker on its way to the start.
#[derive(Debug)]
pub(crate) struct CommonStart {
    pub barrier: Arc<Barrier>,
    /// Connections not yet begun.
    pub to_open: u32,
    /// Connections begun and neither standing nor failed.
    pub pending: u32,
    pub told: bool,
    /// When it began to open them, and how long that took.
    pub since: Nanos,
    pub took: Nanos,
    /// When the first arrival was due, had the run begun when it was meant to.
    pub first_due: Nanos,
}

impl<N: Network, D: Dialogue> Worker<N, D> {
    /// A connection opened ahead stands or has failed.
    pub fn opened_ahead_or_failed(&mut self) {
        if let Some(common_start) = &mut self.common_start {
            common_start.pending = common_start.pending.saturating_sub(1);
        }
    }

    /// Opens the connections, then waits for the start; the whole run is shifted to it.
    pub fn await_common_start(&mut self) {
        let Some(mut common_start) = self.common_start.take() else { return };
        for _ in 0..common_start.to_open.min(32) {
            if !self.may_come() || !self.pace_allows() {
                break;
            }
            common_start.to_open -= 1;
            let origin = self.origin_of_next(common_start.to_open);
            common_start.pending += u32::from(self.open_ahead(origin));
        }
        if common_start.to_open == 0 && common_start.pending == 0 && !common_start.told {
            common_start.told = true;
            common_start.took = self.stamp - common_start.since;
            common_start.barrier.ready(self.stamp);
        }
        // Never before the run was meant to begin: everything until then would be sent as a warm-up nobody asked for.
        match common_start.barrier.starts_at().map(|go| go.max(self.limits.start)) {
            Some(go) if go <= self.stamp => self.shift_start(go, &common_start),
            _ => self.common_start = Some(common_start),
        }
    }

    fn shift_start(&mut self, go: Nanos, common_start: &CommonStart) {
        let by = go - self.limits.start;
        self.limits.start += by;
        self.limits.window += by;
        if let Some(end) = &mut self.limits.end {
            *end += by;
        }
        if let Some(crowd) = &mut self.crowd {
            crowd.next_change = go;
        }
        self.next_due = common_start.first_due.saturating_add(by);
        // They are told of with the first second, and were not opened in it.
        (self.tally.counts.connections.ahead, self.tally.counts.apart.ahead_ns) =
            (self.tally.counts.connections.opened, common_start.took.0);
        self.begin_second(go);
    }
}
