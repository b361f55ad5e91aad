//! Keys while a run goes on: more, less, a pause, the end. Only where a person sits at the terminal that the run is shown on, and
//! the run is in the foreground.
//!
//! The terminal then hands over each key as it is pressed and does not show it. However the program ends, it gets its ways back: at
//! the end of the run, where a signal or a bug ends the process, and after it was stopped and goes on.

use std::io::{IsTerminal, stdin};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::JoinHandle;
use std::time::Instant;

use engine::{Control, Stop};
use measure::Nanos;
use plan::{Change, Load, Plan};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcgetpgrp, tcsetattr};

/// So often it is looked whether the run still goes on, and whether the terminal is still ours.
const LOOK: Timespec = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };

/// How much more or less one key asks for.
const STEP: f64 = 1.1;

/// No key asks for more than this: a key that is held down must not ask for what no machine sends or holds.
const MOST_RATE: f64 = 1e7;
const MOST_USERS: u32 = 1_000_000;

/// The ways of the terminal before we changed them.
static BEFORE: Mutex<Option<Termios>> = Mutex::new(None);

fn before() -> MutexGuard<'static, Option<Termios>> {
    BEFORE.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// Gives the terminal its ways back, where they were changed; whoever ends the process calls this before.
pub fn restore() {
    let mut before = before();
    if let Some(ways) = before.take()
        && are_ours()
    {
        let _ = tcsetattr(stdin(), OptionalActions::Now, &ways);
    }
}

/// True where keys can be listened to. In the background a terminal is not to be touched: whoever tries is stopped.
pub fn are_ours() -> bool {
    stdin().is_terminal() && tcgetpgrp(stdin()).is_ok_and(|group| group == rustix::process::getpgrp())
}

/// Keys are handed over as they are pressed, and not shown.
fn take_over() -> bool {
    let mut before = before();
    let Ok(ways) = tcgetattr(stdin()) else { return false };
    let taken = hand_over_keys(&ways);
    *before = Some(ways);
    taken
}

/// A stop and a `fg` of the shell may have undone it. Never once the terminal was given back: the process may be about to end.
fn take_over_again() -> bool {
    let before = before();
    match (&*before, tcgetattr(stdin())) {
        (Some(_), Ok(ways)) => !ways.local_modes.contains(LocalModes::ICANON) || hand_over_keys(&ways),
        _ => false,
    }
}

fn hand_over_keys(ways: &Termios) -> bool {
    let mut ours = ways.clone();
    ours.local_modes.remove(LocalModes::ICANON | LocalModes::ECHO);
    tcsetattr(stdin(), OptionalActions::Now, &ours).is_ok()
}

/// Listens to keys until it is dropped.
pub struct Keys {
    over: Arc<AtomicBool>,
    listening: Option<JoinHandle<()>>,
}

impl Keys {
    /// Listens, where there is somebody to listen to.
    pub fn listen(plan: &Plan, control: &Control, stop: &Stop) -> Option<Keys> {
        if !are_ours() || !take_over() {
            return None;
        }
        let over = Arc::new(AtomicBool::new(false));
        let (ended, stop) = (Arc::clone(&over), stop.clone());
        let mut load = Pressed::of(plan, control);
        let listening = std::thread::Builder::new().name("keys".into()).spawn(move || {
            while !ended.load(Ordering::Relaxed) && !stop.requested() {
                if let Some(key) = next() {
                    load.press(key, &stop);
                }
            }
        });
        Some(Keys { over, listening: listening.ok() })
    }
}

impl Drop for Keys {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        // It looks soon; until then it might take the terminal over once more.
        let _ = self.listening.take().map(JoinHandle::join);
        restore();
    }
}

/// The next key, if one is pressed soon.
fn next() -> Option<u8> {
    let input = stdin();
    let pressed = poll(&mut [PollFd::new(&input, PollFlags::IN)], Some(&LOOK));
    // Who was put in the background meanwhile would be stopped for reading.
    if !are_ours() || !take_over_again() {
        // What is typed is for somebody else, and there until that one reads it.
        std::thread::sleep(std::time::Duration::from_millis(100));
        return None;
    }
    let mut key = [0];
    let some = pressed.is_ok_and(|ready| ready > 0) && rustix::io::read(&input, &mut key).is_ok_and(|bytes| bytes > 0);
    some.then_some(key[0])
}

/// What keys have asked for so far.
struct Pressed {
    plan: Plan,
    control: Control,
    since: Instant,
    /// What the load was changed to.
    level: Option<f64>,
    paused: bool,
}

impl Pressed {
    fn of(plan: &Plan, control: &Control) -> Pressed {
        let (plan, control) = (plan.clone(), control.clone());
        Pressed { plan, control, since: Instant::now(), level: None, paused: false }
    }

    fn press(&mut self, key: u8, stop: &Stop) {
        let change = match key {
            b'q' | b'Q' => return stop.request(),
            b'p' | b'P' | b' ' if self.paused => Some(Change::Resume),
            b'p' | b'P' | b' ' => Some(Change::Pause),
            b'+' | b'=' => self.step(true),
            b'-' | b'_' => self.step(false),
            _ => None,
        };
        let Some(change) = change else { return };
        if self.control.change(&self.plan, change).is_err() {
            return;
        }
        match change {
            Change::Pause => self.paused = true,
            Change::Resume => self.paused = false,
            Change::Rate(rate) => self.level = Some(rate),
            Change::Users(users) => self.level = Some(f64::from(users)),
        }
    }

    /// The step from where the load is now.
    fn step(&self, more: bool) -> Option<Change> {
        let elapsed = Nanos::from_secs_f64(self.since.elapsed().as_secs_f64());
        let level = self.level.unwrap_or_else(|| load::level(&self.plan.load, self.plan.warmup, elapsed));
        step(&self.plan.load, level, more)
    }
}

/// About a tenth more or less; None where there is no more, or no less.
fn step(load: &Load, level: f64, more: bool) -> Option<Change> {
    if load.is_open() {
        return Some(stepped_rate(level, more)).filter(|rate| *rate != level).map(Change::Rate);
    }
    let users = stepped_users(level, more);
    (f64::from(users) != level.round()).then_some(Change::Users(users))
}

/// In three digits, so that it can be read.
fn stepped_rate(rate: f64, more: bool) -> f64 {
    let wanted = if more { rate * STEP } else { rate / STEP }.max(0.01);
    let scale = 10_f64.powf(wanted.log10().floor() - 2.0);
    if more && rate.max(wanted) > MOST_RATE {
        return rate.max(MOST_RATE);
    }
    // Multiplied by what is whole above one: 0.1 has no end in binary.
    if scale >= 1.0 { (wanted / scale).round() * scale } else { (wanted / scale).round() / (1.0 / scale).round() }
}

/// At least one more or less, and at least one.
fn stepped_users(users: f64, more: bool) -> u32 {
    let users = users.round() as u32;
    let step = (f64::from(users) * (STEP - 1.0)).round().max(1.0) as u32;
    if more { users.saturating_add(step).min(MOST_USERS.max(users)) } else { users.saturating_sub(step).max(1) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_that_changes_nothing_asks_for_nothing() {
        let closed = |users: f64| plan::Load::Closed {
            stages: vec![plan::Stage { lasts: Nanos::from_secs(60), from: users, to: users }],
            think: None,
            together: false,
        };
        for (users, key, asked) in [(1.0, b'-', None), (1.0, b'+', Some(2)), (2.0, b'-', Some(1)), (3e6, b'+', None)] {
            let load = closed(users);
            let found = step(&load, users, key == b'+');
            assert_eq!(found, asked.map(Change::Users), "{users}");
        }
        let open = plan::Load::Open { stages: Vec::new(), arrivals: plan::Arrivals::Poisson };
        assert_eq!(step(&open, 0.01, false), None);
        assert_eq!(step(&open, 1e7, true), None);
        assert_eq!(step(&open, 100.0, true), Some(Change::Rate(110.0)));
    }

    #[test]
    fn a_step_is_about_a_tenth_and_can_be_read() {
        for (rate, more, less) in [
            (100.0, 110.0, 90.9),
            (110.0, 121.0, 100.0),
            (12_345.0, 13_600.0, 11_200.0),
            (1.0, 1.1, 0.909),
            (0.005, 0.01, 0.01),
            (9.5e6, 1e7, 8.64e6),
            (1e7, 1e7, 9.09e6),
            (1e9, 1e9, 9.09e8),
        ] {
            assert_eq!((stepped_rate(rate, true), stepped_rate(rate, false)), (more, less), "{rate}");
        }
        for (users, more, less) in [
            (1.0, 2, 1),
            (10.0, 11, 9),
            (99.6, 110, 90),
            (1000.0, 1100, 900),
            (0.0, 1, 1),
            (999_999.0, 1_000_000, 899_999),
            (2e6, 2_000_000, 1_800_000),
        ] {
            assert_eq!((stepped_users(users, true), stepped_users(users, false)), (more, less), "{users}");
        }
    }
}
