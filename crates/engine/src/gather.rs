//! `--together`: all users of all workers start at one moment, once every connection stands or has failed.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use measure::Nanos;
use wire::{Dialogue, Network};

use crate::worker::Worker;

/// The meeting point of the workers; touched only before the start.
#[derive(Default)]
pub(crate) struct Meeting {
    missing: AtomicU32,
    go: AtomicU64,
    /// Where other processes take part: tells that all of this one are ready; the moment comes from outside.
    report: Option<Box<dyn Fn() + Send + Sync>>,
}

impl std::fmt::Debug for Meeting {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Meeting({} missing)", self.missing.load(Ordering::Relaxed))
    }
}

/// From the moment the last one is ready to the start, so that everybody sees it.
pub(crate) const NOTICE: Nanos = Nanos::from_millis(20);

impl Meeting {
    pub fn of(workers: u32) -> Arc<Meeting> {
        Arc::new(Meeting { missing: AtomicU32::new(workers), ..Meeting::default() })
    }
    /// A meeting of the workers of one process among several.
    pub fn reporting(workers: u32, report: Box<dyn Fn() + Send + Sync>) -> Arc<Meeting> {
        Arc::new(Meeting { missing: AtomicU32::new(workers), report: Some(report), ..Meeting::default() })
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
pub(crate) struct Gathering {
    pub meeting: Arc<Meeting>,
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
    pub fn gathered(&mut self) {
        if let Some(gathering) = &mut self.gathering {
            gathering.pending = gathering.pending.saturating_sub(1);
        }
    }

    /// Opens the connections, then waits for the start; the whole run is shifted to it.
    pub fn gather(&mut self) {
        let Some(mut gathering) = self.gathering.take() else { return };
        for _ in 0..gathering.to_open.min(32) {
            if !self.may_come() || !self.pace_allows() {
                break;
            }
            gathering.to_open -= 1;
            let origin = self.origin_of_next(gathering.to_open);
            gathering.pending += u32::from(self.open_ahead(origin));
        }
        if gathering.to_open == 0 && gathering.pending == 0 && !gathering.told {
            gathering.told = true;
            gathering.took = self.stamp - gathering.since;
            gathering.meeting.ready(self.stamp);
        }
        // Never before the run was meant to begin: everything until then would be sent as a warm-up nobody asked for.
        match gathering.meeting.starts_at().map(|go| go.max(self.terms.start)) {
            Some(go) if go <= self.stamp => self.shift_start(go, &gathering),
            _ => self.gathering = Some(gathering),
        }
    }

    fn shift_start(&mut self, go: Nanos, gathering: &Gathering) {
        let by = go - self.terms.start;
        self.terms.start += by;
        self.terms.window += by;
        if let Some(end) = &mut self.terms.end {
            *end += by;
        }
        if let Some(crowd) = &mut self.crowd {
            crowd.next_change = go;
        }
        self.next_due = gathering.first_due.saturating_add(by);
        // They are told of with the first second, and were not opened in it.
        (self.tally.counts.connections.ahead, self.tally.counts.apart.ahead_ns) =
            (self.tally.counts.connections.opened, gathering.took.0);
        self.begin_second(go);
    }
}
