//! The trait of listeners, which process the events of a run.

use crate::{Notice, RunEvent};

/// A consumer of the events of a run in progress, such as a screen, a file, or the totals; later a browser or another
/// program.
///
/// Listeners are kept in a list and are independent of each other. A listener that fails returns a notice and is not
/// called again; the run and the other listeners go on.
pub trait RunListener {
    /// Processes the next event. Its content may be shown and stored, because secrets have been removed.
    ///
    /// # Errors
    /// Returns a notice that explains why the listener processes no more events; the other listeners receive it.
    fn observe(&mut self, event: &RunEvent) -> Result<(), Notice>;

    /// Returns a notice to issue during the run, if any; called after each second.
    fn next_notice(&mut self) -> Option<Notice> {
        None
    }

    /// Announces that the run is over, before [`Self::final_notices`] of any listener: what several of them wait for then
    /// passes at the same time.
    fn run_over(&mut self) {}

    /// Returns the notices to issue at the end of the run, before the summary.
    fn final_notices(&mut self) -> Vec<Notice> {
        Vec::new()
    }

    /// Returns `true` while this listener requires the run to go on.
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
