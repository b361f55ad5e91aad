//! Who watches a run: everything that happens with its events stands behind one trait.

use crate::{Notice, RunEvent};

/// A reader of a run while it goes on: a screen, a file, the sums; later a browser or another program.
///
/// Listeners stand in a list and know nothing of each other. One that can go on no more says so and is left alone; the run
/// and the other listeners go on.
pub trait Listener {
    /// Takes the next event. What it holds may be shown and kept: secrets are out of it.
    ///
    /// # Errors
    /// It takes no more, and why: the other listeners are told.
    fn see(&mut self, event: &RunEvent) -> Result<(), Notice>;

    /// What there is to say while the run goes on; asked after each second.
    fn meanwhile(&mut self) -> Option<Notice> {
        None
    }

    /// The run is over but for its last words; its summary follows them. What this one has to say before it ends.
    fn ending(&mut self) -> Vec<Notice> {
        Vec::new()
    }

    /// True while the run is to go on for its sake.
    fn wants_more(&self) -> bool {
        false
    }
}

/// Keeps everything.
impl Listener for Vec<RunEvent> {
    fn see(&mut self, event: &RunEvent) -> Result<(), Notice> {
        self.push(event.clone());
        Ok(())
    }
}
