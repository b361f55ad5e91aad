//! Ctrl-C and its kin: the first asks for an orderly end, the second ends at once.
//!
//! Before a run has begun there is nothing to save, so the first one ends at once there, too.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use engine::Stop;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

/// What an interrupted shell command answers: 128 and the number of SIGINT.
const INTERRUPTED: i32 = 130;

/// Listens for SIGINT and SIGTERM.
#[derive(Clone)]
pub struct Interrupts {
    stop: Stop,
    orderly: Arc<AtomicBool>,
}

impl Interrupts {
    /// Starts to listen, on a thread of its own.
    ///
    /// # Errors
    /// What the operating system refused.
    pub fn listen() -> std::io::Result<Interrupts> {
        let mut signals = Signals::new([SIGINT, SIGTERM])?;
        let interrupts = Interrupts { stop: Stop::default(), orderly: Arc::default() };
        let heard = interrupts.clone();
        std::thread::Builder::new().name("signals".into()).spawn(move || {
            for _ in signals.forever() {
                if heard.stop.requested() || !heard.orderly.load(Ordering::Relaxed) {
                    std::process::exit(INTERRUPTED);
                }
                heard.stop.request();
            }
        })?;
        Ok(interrupts)
    }

    /// From now on the first signal asks for an orderly end.
    pub fn end_orderly(&self) {
        self.orderly.store(true, Ordering::Relaxed);
    }

    /// What a run watches.
    pub fn stop(&self) -> &Stop {
        &self.stop
    }
}

/// Signals that a command waits for and that do nothing else.
pub struct Awaited(Signals);

impl Awaited {
    /// From now on the signals no longer end the process by themselves.
    ///
    /// # Errors
    /// What the operating system refused.
    pub fn register() -> std::io::Result<Awaited> {
        Signals::new([SIGINT, SIGTERM]).map(Awaited)
    }

    /// Waits for one.
    pub fn wait(mut self) {
        self.0.forever().next();
    }
}
