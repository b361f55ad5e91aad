//! What connects a coordinator to a process that takes a share of its run: what goes there, what comes back, and its end.
//!
//! Pipes to a child are one such link (`child.rs`), and the only one so far. Another carrier is another [`Launcher`]: nothing else
//! of the engine knows what carries a link.

use std::io::{self, Read, Write};
use std::sync::Arc;

use measure::Nanos;
use record::GeneratorHost;

use super::task::Task;

/// The coordinator's end of a link.
pub struct Link {
    /// What is written here the process reads.
    pub to: Box<dyn Write + Send>,
    /// What the process writes is read here.
    pub from: Box<dyn Read + Send>,
    /// The process itself.
    pub ending: Arc<dyn Ending>,
    /// Its clock.
    pub clock: ClockOffset,
}

/// The end of a process: to be looked for, and to be brought about.
pub trait Ending: Send + Sync {
    /// How it ended, in words such as `exit code 3`; None: it has not.
    ///
    /// # Errors
    /// Nobody knows, and nobody will.
    fn ended(&self) -> io::Result<Option<String>>;
    /// Ends it; its link then breaks.
    fn kill(&self);
    /// True where it does not run because somebody stopped it.
    fn stands_still(&self) -> bool {
        false
    }
}

/// How far the clock of a process is ahead of the coordinator's, in nanoseconds; zero on one machine. Moments are translated where they
/// pass a link, and nowhere else: all of a run speaks of the coordinator's clock, and each process reads its own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClockOffset(pub i64);

impl ClockOffset {
    /// A moment of ours on the clock of the process.
    pub(crate) fn theirs(self, ours: Nanos) -> Nanos {
        Nanos(ours.0.saturating_add_signed(self.0))
    }
    /// A moment on the clock of the process on ours.
    pub(crate) fn ours(self, theirs: Nanos) -> Nanos {
        Nanos(theirs.0.saturating_add_signed(self.0.saturating_neg()))
    }
}

/// Brings up processes that take shares of a run.
pub trait Launcher: Send + Sync {
    /// A process that reads an [`crate::Assignment`] from its end of the link and takes it.
    ///
    /// # Errors
    /// What was refused.
    fn launch(&self, task: &Task) -> io::Result<Link>;
    /// The machines they run on, beside the coordinator's.
    fn hosts(&self) -> Vec<GeneratorHost> {
        Vec::new()
    }
}
