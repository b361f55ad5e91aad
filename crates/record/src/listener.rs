//! The trait of everything that processes the events of a run.

use crate::{Notice, RunEvent};

/// A consumer of the events of a run while it goes on: a screen, a file, the totals; later a browser or another
/// program.
///
/// Listeners are kept in a list and know nothing of each other. A listener that fails reports it and is not called
/// again; the run and the other listeners go on.
pub trait RunListener {
    /// Processes the next event. Its content may be shown and stored: secrets have been removed.
    ///
    /// # Errors
    /// Returns a notice that says why the listener takes no more events; the other listeners receive it.
    fn observe(&mut self, event: &RunEvent) -> Result<(), Notice>;

    /// Returns a notice to issue while the run goes on; called after each second.
    fn next_notice(&mut self) -> Option<Notice> {
        None
    }

    /// Returns the notices to issue at the end of the run, before the summary.
    fn final_notices(&mut self) -> Vec<Notice> {
        Vec::new()
    }

    /// Returns `true` while the run should go on for this listener.
    fn keeps_run_alive(&self) -> bool {
        false
    }
}

/// Collects all events.
impl RunListener for Vec<RunEvent> {
    fn observe(&mut self, event: &RunEvent) -> Result<(), Notice> {
        self.push(event.clone());
        Ok(())
    }
}
