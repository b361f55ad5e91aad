//! `--run-timeout`: an end that comes from outside the engine, as Ctrl-C does.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;
use std::time::{Duration, Instant};

use measure::Nanos;

use crate::signals::Interrupts;
use crate::{patient, waiting};

/// What is left after the run is given at least so long, so that a run that was stopped does not leave behind what it made.
const AT_LEAST: Duration = Duration::from_secs(1);

/// Stops a run after `--run-timeout`, wherever it stands.
pub struct Timer {
    /// Dropping it ends the thread that waits.
    cancel: Option<Sender<()>>,
    fired: Arc<AtomicBool>,
    ends: Instant,
}

impl Timer {
    /// Starts to wait. Where nothing was begun when the time is over that needs an orderly end, `said` is said and the
    /// process ends.
    ///
    /// # Errors
    /// What the operating system refused.
    pub fn start(after: Nanos, interrupts: &Interrupts, said: String) -> io::Result<Timer> {
        let after = Duration::from_nanos(after.0);
        let ends = Instant::now() + after;
        patient::limit(ends);
        let fired = Arc::new(AtomicBool::new(false));
        let (interrupts, flag) = (interrupts.clone(), Arc::clone(&fired));
        let cancel = waiting::after("timer", after, move || {
            flag.store(!interrupts.stop().requested(), Ordering::Relaxed);
            interrupts.time_is_up(&said);
        })?;
        Ok(Timer { cancel: Some(cancel), fired, ends })
    }

    /// Returns `true` if it was this that stopped the run.
    pub fn passed(&self) -> bool {
        self.fired.load(Ordering::Relaxed)
    }

    /// The run is over: from now on nothing is stopped. How long what follows it may take.
    pub fn rest(&mut self) -> Nanos {
        self.cancel = None;
        let left = self.ends.saturating_duration_since(Instant::now()).max(AT_LEAST);
        Nanos(left.as_nanos() as u64)
    }
}
