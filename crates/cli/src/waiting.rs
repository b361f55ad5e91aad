//! A word for those who wait: the first answer may take as long as the timeout, and a silent program looks dead.

use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::Duration;

use crate::screen;

/// Silence below this needs no explanation.
const PATIENCE: Duration = Duration::from_secs(1);

/// Says something unless it is dropped within a second.
pub struct Waiting {
    /// Dropping it ends the thread that waits.
    _cancel: Sender<()>,
}

impl Waiting {
    /// Starts to wait.
    pub fn begin(said: String) -> Waiting {
        let (cancel, cancelled) = channel::<()>();
        let wait = move || {
            if cancelled.recv_timeout(PATIENCE) == Err(RecvTimeoutError::Timeout) {
                screen::complain(&said);
            }
        };
        // Where no thread can be started nothing is said: the run itself tells why it cannot begin.
        let _ = std::thread::Builder::new().name("waiting".into()).spawn(wait);
        Waiting { _cancel: cancel }
    }
}
