//! Keyboard control during a run: more load, less load, pause, stop. It is active only if the run is shown on a
//! terminal and is in the foreground.
//!
//! The terminal then passes on each key as it is pressed, without echo. Its settings are restored no matter how the
//! program ends: normally, by a signal or by a panic. The mode is set again after the program was stopped and
//! continued.

use std::io::{IsTerminal, stdin};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::JoinHandle;

use brunt_engine::Stop;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcgetpgrp, tcsetattr};

use crate::load_control::{LoadControl, STEP};

/// Interval between checks that the run continues and the process is still in the foreground.
const LOOK: Timespec = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };

/// The original terminal settings.
static BEFORE: Mutex<Option<Termios>> = Mutex::new(None);

fn before() -> MutexGuard<'static, Option<Termios>> {
    BEFORE.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// Restores the terminal settings if they were changed; must be called before the process ends.
pub fn restore() {
    let mut before = before();
    if let Some(ways) = before.take()
        && is_foreground()
    {
        let _ = tcsetattr(stdin(), OptionalActions::Now, &ways);
    }
}

/// Returns `true` if keys can be read. A background process that touches the terminal is stopped.
pub fn is_foreground() -> bool {
    stdin().is_terminal() && tcgetpgrp(stdin()).is_ok_and(|group| group == rustix::process::getpgrp())
}

/// Switches the terminal to unbuffered input without echo.
fn enable_key_mode() -> bool {
    let mut before = before();
    let Ok(ways) = tcgetattr(stdin()) else { return false };
    let taken = set_key_mode(&ways);
    *before = Some(ways);
    taken
}

/// Sets the mode again, since stopping the process and continuing it with the shell's `fg` may have undone it. Does
/// nothing once the terminal has been restored, because the process may be about to end.
fn reenable_key_mode() -> bool {
    let before = before();
    match (&*before, tcgetattr(stdin())) {
        (Some(_), Ok(ways)) => !ways.local_modes.contains(LocalModes::ICANON) || set_key_mode(&ways),
        _ => false,
    }
}

fn set_key_mode(ways: &Termios) -> bool {
    let mut ours = ways.clone();
    ours.local_modes.remove(LocalModes::ICANON | LocalModes::ECHO);
    tcsetattr(stdin(), OptionalActions::Now, &ours).is_ok()
}

/// The thread that reads keys until it is dropped.
pub struct KeyListener {
    over: Arc<AtomicBool>,
    listening: Option<JoinHandle<()>>,
}

impl KeyListener {
    /// Starts reading keys if there is a terminal.
    pub fn listen(mut load: LoadControl, stop: &Stop) -> Option<KeyListener> {
        if !is_foreground() || !enable_key_mode() {
            return None;
        }
        let over = Arc::new(AtomicBool::new(false));
        let (ended, stop) = (Arc::clone(&over), stop.clone());
        let listening = std::thread::Builder::new().name("keys".into()).spawn(move || {
            while !ended.load(Ordering::Relaxed) && !stop.requested() {
                if let Some(key) = next() {
                    press(key, &mut load, &stop);
                }
            }
        });
        Some(KeyListener { over, listening: listening.ok() })
    }
}

impl Drop for KeyListener {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        // The thread ends at its next check; until then it might change the terminal once more.
        let _ = self.listening.take().map(JoinHandle::join);
        restore();
    }
}

/// Waits briefly for the next key.
fn next() -> Option<u8> {
    let input = stdin();
    let pressed = poll(&mut [PollFd::new(&input, PollFlags::IN)], Some(&LOOK));
    // Reading would stop a process that was moved to the background.
    if !is_foreground() || !reenable_key_mode() {
        // The input is meant for another process, and stays available until that process reads it.
        std::thread::sleep(std::time::Duration::from_millis(100));
        return None;
    }
    let mut key = [0];
    let some = pressed.is_ok_and(|ready| ready > 0) && rustix::io::read(&input, &mut key).is_ok_and(|bytes| bytes > 0);
    some.then_some(key[0])
}

fn press(key: u8, load: &mut LoadControl, stop: &Stop) {
    match key {
        b'q' | b'Q' => stop.request(),
        b'p' | b'P' | b' ' => load.toggle_pause(),
        b'+' | b'=' => load.scale(STEP),
        b'-' | b'_' => load.scale(1.0 / STEP),
        _ => {}
    }
}
