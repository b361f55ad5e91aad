//! Objectives that stop a run where they are missed: `failed<5% for 10s stop`.

use engine::Stop;
use record::{Notice, RunEvent, Subject};
use report::Windows;

/// Judges a run while it goes on.
#[derive(Default)]
pub struct Stopping {
    windows: Windows,
    stopped: bool,
}

impl Stopping {
    /// Takes the next event; where it is the last one that was to come, the run is asked to stop, and why is told.
    pub fn see(&mut self, event: &RunEvent, stop: &Stop) -> Option<Notice> {
        self.windows.add(event);
        let missed = self.windows.stops().filter(|_| !self.stopped && !stop.requested())?;
        self.stopped = true;
        stop.request();
        Some(Notice::new(Subject::ObjectiveStop, [("objective", missed.to_owned())]))
    }
}
