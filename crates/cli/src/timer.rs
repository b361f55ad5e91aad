//! `--run-timeout`: an end that comes from outside the engine, as Ctrl-C does.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::Duration;

use engine::Stop;

/// Stops a run after `--run-timeout`.
pub struct Timer {
    stop: Stop,
    /// Dropping it ends the thread that waits.
    _cancel: Sender<()>,
    fired: Arc<AtomicBool>,
}

impl Timer {
    /// Starts to wait.
    pub fn start(after: Duration, stop: Stop) -> Timer {
        let (cancel, cancelled) = channel::<()>();
        let fired = Arc::new(AtomicBool::new(false));
        let (mine, flag) = (stop.clone(), Arc::clone(&fired));
        std::thread::spawn(move || {
            if cancelled.recv_timeout(after) == Err(RecvTimeoutError::Timeout) {
                flag.store(!mine.requested(), Ordering::Relaxed);
                mine.request();
            }
        });
        Timer { stop, _cancel: cancel, fired }
    }

    /// True where it was this that stopped the run.
    pub fn passed(&self) -> bool {
        self.stop.requested() && self.fired.load(Ordering::Relaxed)
    }
}
