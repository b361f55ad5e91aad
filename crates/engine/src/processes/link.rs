//! The link between a coordinator and a process that takes a share of its run.
//!
//! The only links so far are pipes to a child process (`child.rs`). Another transport needs only another [`Launcher`];
//! the rest of the engine does not depend on it.

use std::io::{self, Read, Write};
use std::sync::Arc;

use brunt_measure::Nanos;
use brunt_record::GeneratorHost;

use super::task::Task;

/// The coordinator's end of a link.
pub struct ProcessLink {
    /// The input of the process.
    pub to: Box<dyn Write + Send>,
    /// The output of the process.
    pub from: Box<dyn Read + Send>,
    /// The process itself.
    pub process: Arc<dyn ProcessHandle>,
    /// The offset of the process's clock.
    pub clock: ClockOffset,
}

/// A handle that detects the end of a process, and can kill the process.
pub trait ProcessHandle: Send + Sync {
    /// Returns how the process ended, as text such as `exit code 3`; `None` while it runs.
    ///
    /// # Errors
    /// The state of the process cannot be determined.
    fn exit_text(&self) -> io::Result<Option<String>>;
    /// Kills the process, which breaks its link.
    fn kill(&self);
    /// Returns `true` if the process is suspended.
    fn is_stopped(&self) -> bool {
        false
    }
    /// Returns the CPU time that the process has used; `None` if it is unknown.
    fn cpu_time(&self) -> Option<Nanos> {
        None
    }
}

/// Offset of a process's clock from the coordinator's, in nanoseconds; zero on one machine. Times are converted when
/// they cross a link: a run uses the coordinator's clock, and each process reads its own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClockOffset(pub i64);

impl ClockOffset {
    /// Converts a time to the clock of the process.
    pub fn to_process(self, ours: Nanos) -> Nanos {
        Nanos(ours.0.saturating_add_signed(self.0))
    }
    /// Converts a time of the process to our clock.
    pub fn to_coordinator(self, theirs: Nanos) -> Nanos {
        Nanos(theirs.0.saturating_add_signed(self.0.saturating_neg()))
    }
}

/// A launcher of processes that take shares of a run.
pub trait Launcher: Send + Sync {
    /// Starts a process that reads an [`crate::Assignment`] from its end of the link and performs it.
    ///
    /// # Errors
    /// The reason why the process cannot be started.
    fn launch(&self, task: &Task) -> io::Result<ProcessLink>;
    /// Returns the machines on which the processes run, excluding the coordinator's.
    fn hosts(&self) -> Vec<GeneratorHost> {
        Vec::new()
    }
}
