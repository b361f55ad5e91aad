//! The figures of a run so far, shared between the run that adds to them and those who read them.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use record::{RunListener, Notice, RunPart, RunEvent, Second};
use report::{SoFar, Summing};

/// What the last second found, and where the run stands.
#[derive(Clone, Debug, Default)]
pub(crate) struct Now {
    /// The last second without its histograms and names, which are in the sums; None: the first is not over.
    pub second: Option<Moment>,
    /// The run is over: nothing changes any more.
    pub ended: bool,
    /// Nanoseconds since 1970 of what is told.
    pub unix_ns: u64,
    /// Nanoseconds since 1970 of the start of the run.
    pub began_unix_ns: u64,
}

/// The gauges of a second.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Moment {
    pub part: RunPart,
    pub users: u32,
    pub in_flight: u32,
    pub waiting: u32,
    pub connections: u32,
    /// Requests that became due, those of the warm-up included, per second.
    pub offered_per_s: f64,
}

impl Moment {
    fn of(second: &Second) -> Moment {
        let length = second.length().as_secs_f64();
        let due = second.due.saturating_add(second.warmup) as f64;
        Moment {
            part: second.part,
            users: second.users,
            in_flight: second.in_flight,
            waiting: second.waiting,
            connections: second.connections.open,
            offered_per_s: if length > 0.0 { due / length } else { 0.0 },
        }
    }
}

/// The figures of a run, told to it as a listener and read by whoever exports them.
#[derive(Clone, Default)]
pub struct Figures(Arc<Shared>);

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    /// Something was added, or told.
    changed: Condvar,
}

#[derive(Default)]
struct State {
    summing: Summing,
    now: Now,
    /// Start of the window, nanoseconds since 1970.
    window_unix_ns: Option<u64>,
    /// How many seconds were added.
    seconds: u64,
    /// The final figures were read so often.
    read_to_the_end: u64,
    /// They were read so often before.
    read: u64,
}

/// The figures at one moment.
pub(crate) struct Reading {
    pub so_far: SoFar,
    pub now: Now,
}

impl Figures {
    /// Of a run that has not begun.
    pub fn new() -> Figures {
        Figures::default()
    }

    /// What they are now. The run waits while they are copied, not while they are written.
    pub(crate) fn read(&self) -> Reading {
        let state = self.lock();
        Reading { so_far: state.summing.so_far(), now: state.now.clone() }
    }

    /// Somebody was told a reading to its last byte.
    pub(crate) fn told(&self, reading: &Now) {
        let mut state = self.lock();
        if reading.ended {
            state.read_to_the_end += 1
        } else {
            state.read += 1
        }
        self.0.changed.notify_all();
    }

    /// True where anybody read them while the run went on.
    pub(crate) fn were_read(&self) -> bool {
        self.lock().read > 0
    }

    /// Waits until more seconds are known than these, or the run is over; how many there are, and whether it is.
    pub(crate) fn wait_for_more(&self, than: u64) -> (u64, bool) {
        let waits = |state: &mut State| state.seconds <= than && !state.now.ended;
        let state = self.0.changed.wait_while(self.lock(), waits).unwrap_or_else(PoisonError::into_inner);
        (state.seconds, state.now.ended)
    }

    /// Nothing changes any more: who reads from now on has the final figures.
    pub fn end(&self) {
        self.lock().now.ended = true;
        self.0.changed.notify_all();
    }

    /// Waits until somebody has read the final figures, so long at most; `given_up` is asked on the way. True where they were read.
    pub(crate) fn wait_for_reader(&self, at_most: Duration, given_up: &dyn Fn() -> bool) -> bool {
        const LOOK: Duration = Duration::from_millis(50);
        let until = Instant::now() + at_most;
        let mut state = self.lock();
        while state.read_to_the_end == 0 {
            let rest = until.saturating_duration_since(Instant::now());
            if rest.is_zero() || given_up() {
                return false;
            }
            state = self.0.changed.wait_timeout(state, rest.min(LOOK)).unwrap_or_else(PoisonError::into_inner).0;
        }
        true
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Sums of a run that broke off while it added to them are as good as they were.
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl RunListener for Figures {
    fn observe(&mut self, event: &RunEvent) -> Result<(), Notice> {
        let mut state = self.lock();
        state.summing.add(event);
        match event {
            RunEvent::Started(started) => {
                state.now.began_unix_ns = started.unix_ms.saturating_mul(1_000_000);
                state.now.unix_ns = state.now.began_unix_ns;
            }
            RunEvent::Began(began) => state.window_unix_ns = Some(began.unix_ns),
            RunEvent::Second(second) => {
                state.now.second = Some(Moment::of(second));
                let window = state.window_unix_ns.unwrap_or(state.now.began_unix_ns);
                let moment = window.saturating_add_signed(second.to_ns);
                state.now.unix_ns = moment.max(state.now.unix_ns);
                state.seconds += 1;
            }
            RunEvent::Ended(_) => state.now.ended = true,
            _ => return Ok(()),
        }
        self.0.changed.notify_all();
        Ok(())
    }
}
