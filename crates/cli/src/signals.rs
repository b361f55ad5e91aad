//! Ctrl-C and its kin: the first asks for an orderly end, the second ends at once.
//!
//! Before a run has begun there is nothing to save, so the first one ends at once there, too. A terminal that is closed
//! (SIGHUP) is one of them, unless whoever started us said that it is none (`nohup`).

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use engine::Stop;
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGXFSZ};
use signal_hook::iterator::Signals;

/// What an interrupted shell command answers, where nothing is said in order: 128 and the number of SIGINT.
const INTERRUPTED: i32 = 130;

/// The signals that ask for an end.
pub fn ending() -> Vec<i32> {
    [SIGINT, SIGTERM].into_iter().chain(heeded(SIGHUP)).collect()
}

/// A signal, unless whoever started us said that it is none.
fn heeded(signal: i32) -> Option<i32> {
    let ignored = std::fs::read_to_string("/proc/self/status").is_ok_and(|status| ignores(&status, signal));
    (!ignored).then_some(signal)
}

/// Whether the process of this status ignores a signal.
fn ignores(status: &str, signal: i32) -> bool {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).is_some_and(|mask| mask >> (signal - 1) & 1 == 1)
}

/// A file that may not grow further is a full disk, told as one, and no reason to end without a report.
pub fn survive_full_quotas() {
    let _ = signal_hook::flag::register(SIGXFSZ, Arc::default());
}

/// Listens for SIGINT, SIGTERM and SIGHUP.
#[derive(Clone)]
pub struct Interrupts {
    stop: Stop,
    orderly: Arc<AtomicBool>,
}

impl Interrupts {
    /// Starts to listen, on a thread of its own. SIGQUIT ends the process at once, and gives the terminal back before.
    ///
    /// # Errors
    /// What the operating system refused.
    pub fn listen() -> std::io::Result<Interrupts> {
        let mut signals = Signals::new(ending().into_iter().chain(heeded(SIGQUIT)))?;
        let interrupts = Interrupts { stop: Stop::default(), orderly: Arc::default() };
        let heard = interrupts.clone();
        std::thread::Builder::new().name("signals".into()).spawn(move || {
            for signal in signals.forever() {
                if signal == SIGQUIT {
                    // It ends the process as ever, core and all; but not with a terminal that shows nothing.
                    crate::keys::restore();
                    let _ = signal_hook::low_level::emulate_default_handler(signal);
                }
                if heard.stop.requested() {
                    end(INTERRUPTED);
                }
                if !heard.orderly.load(Ordering::Relaxed) {
                    end(i32::from(report::Exit::Interrupted.code()));
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

    /// The time of the run is over: an orderly end, where there is something to save.
    pub fn time_is_up(&self, said: &str) {
        if !self.orderly.load(Ordering::Relaxed) {
            crate::screen::complain(said);
            end(i32::from(report::Exit::Interrupted.code()));
        }
        self.stop.request();
    }

    /// What a run watches.
    pub fn stop(&self) -> &Stop {
        &self.stop
    }
}

/// Ends the process, and leaves the terminal as it was.
fn end(code: i32) -> ! {
    crate::keys::restore();
    std::process::exit(code)
}

/// Signals that a command waits for and that do nothing else.
pub struct Awaited(Signals);

impl Awaited {
    /// From now on the signals no longer end the process by themselves.
    ///
    /// # Errors
    /// What the operating system refused.
    pub fn register() -> std::io::Result<Awaited> {
        Signals::new(ending()).map(Awaited)
    }

    /// Waits for one.
    pub fn wait(mut self) {
        self.0.forever().next();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_ignored_is_read_from_the_status() {
        let status = "Name:\tbrunt\nSigIgn:\t0000000000001001\nSigCgt:\t0000000000000000\n";
        assert!(ignores(status, SIGHUP) && !ignores(status, SIGINT));
        assert!(!ignores("", SIGHUP));
    }
}
