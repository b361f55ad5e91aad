//! The figures of a run so far, shared between the run, which adds to them, and their readers.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use brunt_record::{Notice, RunEvent, RunListener, RunPart, Second};
use brunt_report::{InterimSummary, SummaryBuilder};

/// The last second and the current phase of a run.
#[derive(Clone, Debug, Default)]
pub(crate) struct RunStatus {
    /// Last second, without its histograms and names, which are in the sums; `None` until the first second is over.
    pub second: Option<SecondGauges>,
    /// Set if the run is over, so that nothing changes any more.
    pub ended: bool,
    /// Time of the reading, nanoseconds since 1970.
    pub unix_ns: u64,
    /// Start of the run, nanoseconds since 1970.
    pub began_unix_ns: u64,
}

/// The gauges of a second.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SecondGauges {
    pub part: RunPart,
    pub users: u32,
    pub in_flight: u32,
    pub waiting: u32,
    pub connections: u32,
    /// Requests that became due per second, including those of the warm-up.
    pub offered_per_s: f64,
}

impl SecondGauges {
    fn of(second: &Second) -> SecondGauges {
        let length = second.length().as_secs_f64();
        let due = second.due.saturating_add(second.warmup) as f64;
        SecondGauges {
            part: second.part,
            users: second.users,
            in_flight: second.in_flight,
            waiting: second.waiting,
            connections: second.connections.open,
            offered_per_s: if length > 0.0 { due / length } else { 0.0 },
        }
    }
}

/// The figures of a run, updated by its events (as a listener) and read by exporters.
#[derive(Clone, Default)]
pub struct LiveFigures(Arc<SharedFigures>);

#[derive(Default)]
struct SharedFigures {
    state: Mutex<FiguresState>,
    /// Notified when figures are added or read.
    changed: Condvar,
}

#[derive(Default)]
struct FiguresState {
    summing: SummaryBuilder,
    now: RunStatus,
    /// Start of the window, nanoseconds since 1970.
    window_unix_ns: Option<u64>,
    /// Number of seconds added.
    seconds: u64,
    /// Number of times the final figures were read.
    read_to_the_end: u64,
    /// Number of times the figures were read before the end.
    read: u64,
}

/// A snapshot of the figures.
pub(crate) struct FiguresSnapshot {
    pub so_far: InterimSummary,
    pub now: RunStatus,
}

impl LiveFigures {
    /// Creates the figures of a run that has not begun.
    pub fn new() -> LiveFigures {
        LiveFigures::default()
    }

    /// Returns the current figures. The run is blocked while they are copied, but not while they are encoded.
    pub(crate) fn read(&self) -> FiguresSnapshot {
        let state = self.lock();
        FiguresSnapshot { so_far: state.summing.so_far(), now: state.now.clone() }
    }

    /// Records that a snapshot was sent completely.
    pub(crate) fn mark_read(&self, reading: &RunStatus) {
        let mut state = self.lock();
        if reading.ended {
            state.read_to_the_end += 1
        } else {
            state.read += 1
        }
        self.0.changed.notify_all();
    }

    /// Returns `true` if the figures were read during the run.
    pub(crate) fn was_read(&self) -> bool {
        self.lock().read > 0
    }

    /// Waits until there are more than `than` seconds or the run is over; returns the number of seconds and whether the
    /// run is over.
    pub(crate) fn wait_for_more(&self, than: u64) -> (u64, bool) {
        let waits = |state: &mut FiguresState| state.seconds <= than && !state.now.ended;
        let state = self.0.changed.wait_while(self.lock(), waits).unwrap_or_else(PoisonError::into_inner);
        (state.seconds, state.now.ended)
    }

    /// Marks the figures as final.
    pub fn end(&self) {
        self.lock().now.ended = true;
        self.0.changed.notify_all();
    }

    /// Waits for at most `at_most` until the final figures have been read, polling `given_up` meanwhile. Returns `true`
    /// if they were read.
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

    fn lock(&self) -> MutexGuard<'_, FiguresState> {
        // If the run panicked while adding to the sums, they are still usable.
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl RunListener for LiveFigures {
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
                state.now.second = Some(SecondGauges::of(second));
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
