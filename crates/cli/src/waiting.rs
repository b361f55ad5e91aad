//! What happens after a time unless something else comes before: a word for those who wait, the end of a run's time.

use std::io;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::Duration;

use crate::screen;

/// Silence below this needs no explanation.
const PATIENCE: Duration = Duration::from_secs(1);

/// Acts after a time on a thread of its own, unless what this gives back is dropped before.
///
/// # Errors
/// No thread could be started.
pub fn after(name: &str, time: Duration, act: impl FnOnce() + Send + 'static) -> io::Result<Sender<()>> {
    let (cancel, cancelled) = channel::<()>();
    std::thread::Builder::new().name(name.into()).spawn(move || {
        if cancelled.recv_timeout(time) == Err(RecvTimeoutError::Timeout) {
            act();
        }
    })?;
    Ok(cancel)
}

/// Says something unless what this gives back is dropped within a second: the first answer may take as long as the timeout, and a silent
/// program looks dead.
pub fn begin(said: String) -> Option<Sender<()>> {
    // Where no thread can be started nothing is said: the run itself tells why it cannot begin.
    after("waiting", PATIENCE, move || screen::complain(&said)).ok()
}
