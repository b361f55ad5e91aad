//! A dead end is never silent: a run in which nothing but failures came back says so within its first second.

use measure::Nanos;
use wire::{Dialogue, Network};

use crate::message::Message;
use crate::tally::Sort;
use crate::worker::Worker;

/// How long a run may only fail before it says so.
const PATIENCE: Nanos = Nanos::from_millis(600);

/// What came back since the start, warm-up included.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Alarm {
    at: Nanos,
    pub finished: u64,
    pub failed: u64,
    /// The first failure.
    pub sort: Option<Sort>,
}

impl Alarm {
    pub fn set(start: Nanos) -> Alarm {
        Alarm { at: start + PATIENCE, finished: 0, failed: 0, sort: None }
    }

    /// Adds what another worker saw.
    pub fn add(&mut self, other: &Alarm) {
        self.finished += other.finished;
        self.failed += other.failed;
        self.sort = self.sort.or(other.sort);
    }
}

impl<N: Network, D: Dialogue> Worker<N, D> {
    /// Tells what came back so far, once: when its time has come or the run ends before.
    pub fn tell_early(&mut self, now_or_never: bool) {
        if let Some(alarm) = self.alarm.filter(|alarm| now_or_never || self.stamp >= alarm.at) {
            self.alarm = None;
            (self.tell)(Message::Early(alarm));
        }
    }
}
