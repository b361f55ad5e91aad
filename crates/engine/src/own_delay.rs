//! Delays that may be brunt's own: an upper bound for each response, from which the band of each latency is made
//! (`docs/measurement.md` 2.5).
//!
//! A response is read late if it lay in its socket: at most since the loop last looked there and found nothing. How
//! long that is follows from the waits of the loop. A wait that ended by an event, in time, ended when the event came,
//! except for the time the thread then waited for a core, which the scheduler counts. A wait that ended late proves
//! only that the event came after its beginning, so waits are kept short while responses are expected.
//!
//! Ordinary turns are no disturbance: the median gap, the *resolution* of the worker, is subtracted.

use brunt_contract::Network;
use brunt_measure::Nanos;

use crate::recorder::Recorder;

/// Length of a wait above which the loop slept: a look at sockets that finds something takes 1 to 3 µs.
const SLEPT: Nanos = Nanos::from_micros(10);
/// Length of a wait above which the scheduler's counter is read: shorter ones cannot hide more.
const COUNTED: Nanos = Nanos::from_micros(50);
/// Lateness of a timer that is ordinary on a virtual machine; a later one may have begun before the timer.
const TIMER: Nanos = Nanos::from_micros(200);
/// Length of an ordinary turn at most; turns are interrupted for timers after that long.
const LONGEST_TURN: f64 = 1e6;
const INITIAL_RESOLUTION: f64 = 20e3;
const INITIAL_SERVICE: f64 = 4e6;
/// Divisor of a usual service time that gives the longest wait while responses are expected, and its bounds.
const WAIT_DIVISOR: f64 = 8.0;
const WAIT_BOUNDS: (f64, f64) = (500e3, 10e6);

/// The gaps between looks at the sockets.
#[derive(Debug)]
pub(crate) struct ReadGaps {
    /// Time since when the bytes read in this turn may have been there.
    since: Nanos,
    /// End of the latest wait: the sockets were looked at then.
    looked: Nanos,
    /// Reading of the scheduler's counter of time ready without a core.
    ready: Option<Nanos>,
    /// Running medians, in nanoseconds: the gap at a response, and the service time.
    resolution_ns: f64,
    service_ns: f64,
}

/// The wait of a turn.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EndedWait {
    pub began: Nanos,
    /// Time at which it should have ended, if nothing arrived.
    pub until: Nanos,
    pub ended: Nanos,
    /// Time up to which everything that had arrived was read, if the turn before left something unread.
    pub unread_since: Option<Nanos>,
    /// Set if requests are in flight.
    pub expecting: bool,
}

impl ReadGaps {
    pub fn new(now: Nanos) -> ReadGaps {
        ReadGaps {
            since: now,
            looked: now,
            ready: None,
            resolution_ns: INITIAL_RESOLUTION,
            service_ns: INITIAL_SERVICE,
        }
    }

    /// Records the end of a wait, and time in which the worker was away from its sockets.
    #[inline]
    pub fn end_wait(&mut self, wait: EndedWait, net: &mut impl Network, recorder: &mut Recorder) {
        let EndedWait { began, until, ended, .. } = wait;
        let lasted = ended - began;
        let waited = if lasted >= COUNTED { self.time_ready(net) } else { None };
        if let Some(waited) = waited {
            recorder.times().wake_delay.record(waited.min(lasted));
        }
        let late = ended - until.max(began);
        let since = match () {
            () if lasted < SLEPT => self.looked,
            () if late > TIMER => began,
            () => (ended - late).min(ended - waited.unwrap_or_default().min(lasted)),
        };
        self.since = wait.unread_since.map_or(since, |unread| since.min(unread));
        if wait.expecting {
            let turn = (began - self.looked) - Nanos(LONGEST_TURN as u64);
            let away = (if lasted < SLEPT { Nanos::ZERO } else { ended - since }) + turn - self.resolution();
            let counts = recorder.counts();
            counts.away_ns += away.0;
            counts.away_ready_ns += waited.unwrap_or_default().min(away).0;
        }
        self.looked = ended;
    }

    /// Returns the time for which the thread was ready without a core since the last call.
    fn time_ready(&mut self, net: &mut impl Network) -> Option<Nanos> {
        let now = net.ready_time()?;
        let before = self.ready.replace(now)?;
        Some(now - before)
    }

    /// Returns how long bytes read at `read` may have waited for brunt beyond its resolution.
    #[inline]
    pub fn read_late(&self, read: Nanos) -> Nanos {
        (read - self.since) - self.resolution()
    }

    /// Records the end of a response, read at `read` after `service`.
    #[inline]
    pub fn record_response(&mut self, read: Nanos, service: Nanos) {
        approach_median(&mut self.resolution_ns, read - self.since);
        approach_median(&mut self.service_ns, service);
        self.resolution_ns = self.resolution_ns.min(LONGEST_TURN);
    }

    /// Returns the resolution: the usual time from the last look at a socket to the reading of a response.
    #[inline]
    pub fn resolution(&self) -> Nanos {
        Nanos(self.resolution_ns as u64)
    }

    /// Returns the longest wait while responses are expected: one that ends later was disturbed.
    #[inline]
    pub fn longest_wait(&self) -> Nanos {
        Nanos((self.service_ns / WAIT_DIVISOR).clamp(WAIT_BOUNDS.0, WAIT_BOUNDS.1) as u64)
    }
}

/// Moves a running median towards a value: by Robbins–Monro stochastic approximation, in proportion.
#[inline]
fn approach_median(median_ns: &mut f64, value: Nanos) {
    let step = if value.0 as f64 > *median_ns { 1.0 / 32.0 } else { -1.0 / 32.0 };
    *median_ns = (*median_ns * (1.0 + step)).max(1e3);
}

/// A delay in two bytes, rounded up by less than 0.1 %: an exchange has no room for more.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct CompactDelay(u16);

/// Bits of the mantissa; the exponent is above it.
const MANTISSA: u32 = 11;

impl CompactDelay {
    pub const NONE: CompactDelay = CompactDelay(0);

    /// Compacts a delay; those of more than an hour are cut.
    #[inline]
    pub fn new(delay: Nanos) -> CompactDelay {
        let mut exponent = (u64::BITS - delay.0.leading_zeros()).saturating_sub(MANTISSA);
        let mut mantissa = delay.0.div_ceil(1 << exponent);
        if mantissa >> MANTISSA > 0 {
            (mantissa, exponent) = (mantissa.div_ceil(2), exponent + 1);
        }
        match exponent < u16::BITS * 2 {
            true => CompactDelay((exponent << MANTISSA) as u16 | mantissa as u16),
            false => CompactDelay(u16::MAX),
        }
    }

    #[inline]
    pub fn get(self) -> Nanos {
        Nanos(u64::from(self.0 & ((1 << MANTISSA) - 1)) << (self.0 >> MANTISSA))
    }

    /// Adds a delay.
    #[inline]
    pub fn add(&mut self, delay: Nanos) {
        if delay > Nanos::ZERO {
            *self = CompactDelay::new(self.get() + delay);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn us(n: u64) -> Nanos {
        Nanos::from_micros(n)
    }

    #[test]
    fn a_compact_delay_is_never_shorter_and_hardly_longer() {
        for n in (0..42).flat_map(|bit| [(1u64 << bit) - 1, 1 << bit, (1 << bit) + 1, (5 << bit) / 3]) {
            let got = CompactDelay::new(Nanos(n)).get().0;
            assert!(got >= n && got as f64 <= n as f64 * 1.001 + 1.0, "{n}: {got}");
        }
        assert_eq!(CompactDelay::new(Nanos::MAX), CompactDelay(u16::MAX));
        let mut delay = CompactDelay::NONE;
        delay.add(us(3));
        delay.add(us(4));
        assert!(delay.get() >= us(7) && delay.get() < us(8));
    }
}
