//! Delayed actions that can be cancelled: a message for a waiting user, or the timeout of a run.

use std::io;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::Duration;

use crate::screen;

/// Delay after which the user gets a message.
const PATIENCE: Duration = Duration::from_secs(1);

/// Runs `act` on a separate thread after a delay, unless the returned value is dropped before then.
///
/// # Errors
/// Returns an error if no thread can be started.
pub fn after(name: &str, time: Duration, act: impl FnOnce() + Send + 'static) -> io::Result<Sender<()>> {
    let (cancel, cancelled) = channel::<()>();
    std::thread::Builder::new().name(name.into()).spawn(move || {
        if cancelled.recv_timeout(time) == Err(RecvTimeoutError::Timeout) {
            act();
        }
    })?;
    Ok(cancel)
}

/// Prints a message unless the returned value is dropped within a second: the first answer may take
/// as long as the timeout, and a silent program seems to hang.
pub fn announce_wait(said: String) -> Option<Sender<()>> {
    // If no thread can be started, nothing is printed: the run itself reports why it cannot begin.
    after("waiting", PATIENCE, move || screen::print_error(&said)).ok()
}
