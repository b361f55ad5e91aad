//! Signals such as Ctrl-C: the first asks for an orderly end, the second ends the process at once.
//!
//! Before a run has begun there is nothing to save, so the first one ends the process at once, too, with a word about what
//! was not done. The closing of a terminal (SIGHUP) counts as well, unless the parent process has set it to be ignored
//! (`nohup`).

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use brunt_engine::Stop;
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGXFSZ};
use signal_hook::iterator::Signals;

/// The exit code of an interrupted shell command: 128 plus the number of SIGINT.
const INTERRUPTED: i32 = 130;

/// Returns the signals that ask for an end.
pub fn ending() -> Vec<i32> {
    [SIGINT, SIGTERM].into_iter().chain(unless_ignored(SIGHUP)).collect()
}

/// Returns the signal, unless the parent process set it to be ignored.
fn unless_ignored(signal: i32) -> Option<i32> {
    let ignored = std::fs::read_to_string("/proc/self/status").is_ok_and(|status| ignores(&status, signal));
    (!ignored).then_some(signal)
}

/// Returns `true` if the process with this `/proc` status ignores a signal.
fn ignores(status: &str, signal: i32) -> bool {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).is_some_and(|mask| mask >> (signal - 1) & 1 == 1)
}

/// Ignores SIGXFSZ, so that reaching a file size limit is reported like a full disk instead of
/// ending the process.
pub fn ignore_file_size_signal() {
    let _ = signal_hook::flag::register(SIGXFSZ, Arc::default());
}

/// A handler of SIGINT, SIGTERM and SIGHUP.
#[derive(Clone)]
pub struct Interrupts {
    stop: Stop,
    orderly: Arc<AtomicBool>,
    /// Said when a signal ends the process at once because there is nothing to save.
    last_word: Arc<OnceLock<String>>,
}

impl Interrupts {
    /// Starts handling signals on a separate thread. SIGQUIT ends the process at once, after restoring the terminal.
    ///
    /// # Errors
    /// Returns the error of the operating system.
    pub fn listen() -> std::io::Result<Interrupts> {
        let mut signals = Signals::new(ending().into_iter().chain(unless_ignored(SIGQUIT)))?;
        let interrupts = Interrupts { stop: Stop::default(), orderly: Arc::default(), last_word: Arc::default() };
        let heard = interrupts.clone();
        std::thread::Builder::new().name("signals".into()).spawn(move || {
            for signal in signals.forever() {
                if signal == SIGQUIT {
                    // The signal ends the process as usual, including a core dump, but with the terminal's echo
                    // restored.
                    crate::keyboard::restore();
                    let _ = signal_hook::low_level::emulate_default_handler(signal);
                }
                if heard.stop.requested() {
                    end(INTERRUPTED);
                }
                if !heard.orderly.load(Ordering::Relaxed) {
                    heard.last_word.get().into_iter().for_each(|said| crate::screen::print_error(said));
                    end(i32::from(brunt_report::Exit::Interrupted.code()));
                }
                heard.stop.request();
            }
        })?;
        Ok(interrupts)
    }

    /// Sets what is said if a signal ends the process at once because nothing needs an orderly end yet.
    pub fn set_last_word(&self, said: impl Into<String>) {
        let _ = self.last_word.set(said.into());
    }

    /// Makes the first signal ask for an orderly end from now on.
    pub fn enable_graceful_stop(&self) {
        self.orderly.store(true, Ordering::Relaxed);
    }

    /// Ends the run after its timeout, in an orderly way if there is something to save; prints
    /// `said` otherwise.
    pub fn end_by_timeout(&self, said: &str) {
        if !self.orderly.load(Ordering::Relaxed) {
            crate::screen::print_error(said);
            end(i32::from(brunt_report::Exit::Interrupted.code()));
        }
        self.stop.request();
    }

    /// Returns the stop flag for a run.
    pub fn stop(&self) -> &Stop {
        &self.stop
    }
}

/// Ends the process after restoring the terminal.
fn end(code: i32) -> ! {
    crate::keyboard::restore();
    std::process::exit(code)
}

/// The signals that end a command which only waits.
pub struct EndSignals(Signals);

impl EndSignals {
    /// Registers the signals, which no longer end the process by themselves.
    ///
    /// # Errors
    /// Returns the error of the operating system.
    pub fn register() -> std::io::Result<EndSignals> {
        Signals::new(ending()).map(EndSignals)
    }

    /// Waits for a signal; the next one ends the process at once.
    pub fn wait(mut self) {
        self.0.forever().next();
        let mut next = self.0;
        let end_at_once = move || {
            next.forever().next();
            end(INTERRUPTED)
        };
        drop(std::thread::Builder::new().name("signals".into()).spawn(end_at_once));
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
