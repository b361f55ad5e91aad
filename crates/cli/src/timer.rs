//! `--run-timeout`: ends a run from outside the engine, like Ctrl-C.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;
use std::time::{Duration, Instant};

use brunt_measure::Nanos;

use crate::signals::Interrupts;
use crate::{delayed_actions, timed_writer};

/// Minimum time for the work after the run, so that a stopped run can clean up what it created.
const AT_LEAST: Duration = Duration::from_secs(1);

/// The timer that stops a run after `--run-timeout`.
pub struct Timer {
    /// Dropping it ends the waiting thread.
    cancel: Option<Sender<()>>,
    fired: Arc<AtomicBool>,
    ends: Instant,
}

impl Timer {
    /// Starts the timer. When it fires and nothing needs an orderly end, it prints `said` and ends the process.
    ///
    /// # Errors
    /// Returns the error of the operating system.
    pub fn start(after: Nanos, interrupts: &Interrupts, said: String) -> io::Result<Timer> {
        let after = Duration::from_nanos(after.0);
        let ends = Instant::now() + after;
        timed_writer::set_limit(ends);
        let fired = Arc::new(AtomicBool::new(false));
        let (interrupts, flag) = (interrupts.clone(), Arc::clone(&fired));
        let cancel = delayed_actions::after("timer", after, move || {
            flag.store(!interrupts.stop().requested(), Ordering::Relaxed);
            interrupts.end_by_timeout(&said);
        })?;
        Ok(Timer { cancel: Some(cancel), fired, ends })
    }

    /// Returns `true` if the timer stopped the run.
    pub fn has_fired(&self) -> bool {
        self.fired.load(Ordering::Relaxed)
    }

    /// Cancels the timer after the run; returns the time left for the work after it.
    pub fn cancel_and_remaining(&mut self) -> Nanos {
        self.cancel = None;
        let left = self.ends.saturating_duration_since(Instant::now()).max(AT_LEAST);
        Nanos(left.as_nanos() as u64)
    }
}
