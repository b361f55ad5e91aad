//! Delays that may be brunt's own: an upper bound for each response, from which the band of each latency is made
//! (`docs/measurement.md` 2.5).
//!
//! A response is read late if it lay in its socket: at most since the loop last looked there and found nothing. How
//! long that is follows from the waits of the loop. A wait that ended by an event, in time, ended when the event came,
//! except for the time the thread then waited for a core, which the scheduler counts. A wait that ended late, or that
//! need not have slept at all, proves nothing of when the event came, so waits are kept short while responses are
//! expected.
//!
//! Stretches in which the clock stood for long are kept as [`Absence`]s: they bound what happened between reading the
//! clock and writing a request, and between the pieces of a response.
//!
//! Ordinary turns and wake-ups are no disturbance: the median gap, the *resolution* of the worker, is subtracted. Waits
//! count in it up to the time an idle virtual machine takes to wake up.

use std::collections::VecDeque;

use brunt_contract::Network;
use brunt_measure::Nanos;

use crate::exchange::Exchange;
use crate::recorder::Recorder;

/// Length of a wait above which the loop slept: a look at sockets that finds something takes 1 to 3 µs.
const SLEPT: Nanos = Nanos::from_micros(10);
/// The same after a disturbed turn, when caches are cold and many sockets are ready.
const SLEPT_THOUGH_DISTURBED: Nanos = Nanos::from_micros(100);
/// Divisor of a usual service time that gives the length of a wait above which the scheduler's counter is read, and its
/// bounds in nanoseconds: shorter waits cannot hide more, and a reading costs about a microsecond.
const COUNTED_DIVISOR: f64 = 50.0;
const COUNTED_BOUNDS: (f64, f64) = (50e3, 1e6);
/// Longest delay of a timer that is ordinary on a virtual machine (a later one may have begun before the timer), and
/// longest ordinary time between two readings of the clock.
const ORDINARY: Nanos = Nanos::from_micros(200);
/// Length of an ordinary turn at most; turns are interrupted for timers after that long.
const LONGEST_TURN: f64 = 1e6;
const INITIAL_RESOLUTION: f64 = 20e3;
const INITIAL_SERVICE: f64 = 4e6;
/// Divisor of a usual service time that gives the longest wait while responses are expected, and its bounds.
const WAIT_DIVISOR: f64 = 8.0;
const WAIT_BOUNDS: (f64, f64) = (500e3, 10e6);
/// Number of absences kept.
const MAX_ABSENCES: usize = 1024;

/// The gaps between looks at the sockets.
#[derive(Debug)]
pub(crate) struct ReadGaps {
    /// Time since when the bytes read in this turn may have been there, and the same if the wait was undisturbed.
    since: Nanos,
    turn_since: Nanos,
    /// End of the latest wait, and time at which the sockets were certainly looked at: a thread that has lost its core
    /// may have looked before, and one that a signal woke has not looked at all.
    ended: Nanos,
    looked: Nanos,
    /// Reading of the scheduler's counter of time ready without a core.
    ready: Option<Nanos>,
    /// Running medians, in nanoseconds: the gap of turns at a response, and the service time.
    resolution_ns: f64,
    /// The same of the whole gap, with waits: the usual time to wake up, of a machine that is not disturbed.
    wake_ns: f64,
    service_ns: f64,
    /// The latest absences, in order.
    absences: VecDeque<Absence>,
}

/// A stretch in which the worker may not have run: longer than is ordinary, and without a reading of the clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Absence {
    from: Nanos,
    to: Nanos,
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
            turn_since: now,
            ended: now,
            looked: now,
            ready: None,
            resolution_ns: INITIAL_RESOLUTION,
            wake_ns: INITIAL_RESOLUTION,
            service_ns: INITIAL_SERVICE,
            absences: VecDeque::new(),
        }
    }

    /// Records the end of a wait, and time in which the worker was away from its sockets.
    #[inline]
    pub fn end_wait(&mut self, wait: EndedWait, net: &mut impl Network, recorder: &mut Recorder) {
        let lasted = wait.ended - wait.began;
        let waited = if lasted >= self.least_counted() { self.time_ready(net) } else { None };
        if let Some(waited) = waited {
            recorder.times().wake_delay.record(waited.min(lasted));
        }
        let waited = waited.unwrap_or_default();
        let away = self.set_wait(wait, waited);
        if wait.expecting {
            let counts = recorder.counts();
            counts.away_ns += away.0;
            counts.away_ready_ns += waited.min(away).0;
        }
    }

    /// Sets since when the bytes read next may have been there, after a wait of which the thread was ready without a
    /// core for `waited`. Returns how long the worker was away from its sockets.
    fn set_wait(&mut self, wait: EndedWait, waited: Nanos) -> Nanos {
        let EndedWait { began, until, ended, .. } = wait;
        let (lasted, late, turn) = (ended - began, ended - until.max(began), began - self.ended);
        let slept = if turn > ORDINARY { SLEPT_THOUGH_DISTURBED } else { SLEPT };
        let unproved = if late > ORDINARY { lasted } else { late.max(waited).min(lasted) };
        let at_once = lasted - unproved < slept;
        let since = if at_once { self.looked } else { ended - unproved };
        let unread = wait.unread_since.unwrap_or(Nanos::MAX);
        self.since = since.min(unread);
        self.turn_since = if lasted < slept { self.ended } else { ended }.min(unread);
        self.add_absence(since.max(began), ended);
        (self.ended, self.looked) = (ended, ended - unproved);
        let in_wait = if lasted < slept { Nanos::ZERO } else { ended - since.max(began) };
        in_wait + (turn - Nanos(LONGEST_TURN as u64)) - self.resolution()
    }

    /// Returns the time for which the thread was ready without a core since the last call.
    fn time_ready(&mut self, net: &mut impl Network) -> Option<Nanos> {
        let now = net.ready_time()?;
        let before = self.ready.replace(now)?;
        Some(now - before)
    }

    /// Records that the clock was read at `now`, within a turn and next after `before`.
    #[inline]
    pub fn read_clock(&mut self, before: Nanos, now: Nanos) {
        if now > before + ORDINARY {
            self.add_absence(before, now);
        }
    }

    fn add_absence(&mut self, from: Nanos, to: Nanos) {
        if to - from <= ORDINARY {
            return;
        }
        if self.absences.len() == MAX_ABSENCES {
            self.absences.pop_front();
        }
        self.absences.push_back(Absence { from, to });
    }

    /// Returns how long something begun at `at`, by the clock, may really have begun later.
    #[inline]
    pub fn began_late(&self, at: Nanos) -> Nanos {
        let after = self.absences.iter().rev().take_while(|absence| absence.to > at);
        after.last().map_or(Nanos::ZERO, |first| if first.from <= at { first.to - at } else { Nanos::ZERO })
    }

    /// Returns the time since `at` in which the worker may have been away.
    #[inline]
    pub fn away_since(&self, at: Nanos) -> Nanos {
        let after = self.absences.iter().rev().take_while(|absence| absence.to > at);
        after.fold(Nanos::ZERO, |sum, absence| sum + (absence.to - absence.from.max(at)))
    }

    /// Returns how long bytes read at `read` may have waited for brunt beyond its resolution.
    #[inline]
    pub fn read_late(&self, read: Nanos) -> Nanos {
        (read - self.since) - self.resolution()
    }

    /// Returns how long brunt itself may have delayed an exchange after it was sent, whose response ended at `read`.
    #[inline]
    pub fn delay_of(&self, x: &Exchange, sent_in_pieces: bool, read: Nanos) -> Nanos {
        // Nothing was there before the request was written.
        let last = (read - self.since.max(x.written)) - self.resolution();
        // Of a message in several pieces, each may have waited, and held back the ones after it.
        let pieces = match x.first_byte {
            _ if sent_in_pieces => self.away_since(x.written),
            began if began > Nanos::ZERO && began < read => self.away_since(began),
            _ => Nanos::ZERO,
        };
        last.max(pieces) + self.began_late(x.written)
    }

    /// Records the end of a response, read at `read` after `service`, to a request that was delayed before it was sent
    /// by `delayed`.
    #[inline]
    pub fn record_response(&mut self, read: Nanos, service: Nanos, delayed: Nanos) {
        approach_median(&mut self.service_ns, service);
        if delayed > ORDINARY {
            // The turns that work off a backlog are part of what caused it.
            return;
        }
        approach_median(&mut self.resolution_ns, read - self.turn_since);
        approach_median(&mut self.wake_ns, read - self.since);
        self.resolution_ns = self.resolution_ns.min(LONGEST_TURN);
        self.wake_ns = self.wake_ns.min(ORDINARY.0 as f64);
    }

    /// Returns the length of a wait above which the scheduler's counter is read: a tenth of a service time, within bounds.
    #[inline]
    fn least_counted(&self) -> Nanos {
        Nanos((self.service_ns / COUNTED_DIVISOR).clamp(COUNTED_BOUNDS.0, COUNTED_BOUNDS.1) as u64)
    }

    /// Returns the resolution: the usual time from the last look at a socket to the reading of a response.
    #[inline]
    pub fn resolution(&self) -> Nanos {
        Nanos(self.resolution_ns.max(self.wake_ns) as u64)
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
    use crate::ids::{RequestId, UserId};

    fn us(n: u64) -> Nanos {
        Nanos::from_micros(n)
    }

    /// A worker in a second of its own: times are in microseconds since then.
    struct SteppedLoop {
        gaps: ReadGaps,
    }

    impl SteppedLoop {
        /// Creates one that looked at its sockets last at 0, with a resolution of 20 µs.
        fn new() -> SteppedLoop {
            SteppedLoop { gaps: ReadGaps::new(Nanos::from_secs(1)) }
        }

        fn at(n: u64) -> Nanos {
            Nanos::from_secs(1) + us(n)
        }

        /// Waits, and returns how long the worker was away.
        fn wait(&mut self, (began, until, ended): (u64, u64, u64), waited: u64) -> Nanos {
            let [began, until, ended] = [began, until, ended].map(SteppedLoop::at);
            self.gaps.set_wait(EndedWait { began, until, ended, unread_since: None, expecting: true }, us(waited))
        }

        fn read_late(&self, read: u64) -> Nanos {
            self.gaps.read_late(SteppedLoop::at(read))
        }

        /// Returns the delay of an exchange written at one time, whose first byte and last byte were read at others.
        fn delay_of(&self, (written, first_byte, read): (u64, u64, u64), sent_in_pieces: bool) -> Nanos {
            let mut x = Exchange::due(SteppedLoop::at(0), SteppedLoop::at(0), RequestId(0), 0, UserId(0));
            x.written = SteppedLoop::at(written);
            x.first_byte = if first_byte > 0 { SteppedLoop::at(first_byte) } else { Nanos::ZERO };
            self.gaps.delay_of(&x, sent_in_pieces, SteppedLoop::at(read))
        }
    }

    #[test]
    fn what_wakes_the_loop_in_time_has_just_come() {
        let mut it = SteppedLoop::new();
        assert_eq!(it.wait((10, 500, 400), 0), Nanos::ZERO);
        assert_eq!((it.read_late(405), it.read_late(430)), (Nanos::ZERO, us(10)));
    }

    #[test]
    fn a_wait_that_ended_late_proves_only_that_nothing_was_there_when_the_loop_looked_last() {
        let mut it = SteppedLoop::new();
        // As late as is ordinary: it came since the wait should have ended.
        it.wait((10, 500, 600), 0);
        assert_eq!(it.read_late(600), us(80));
        // Later: it came at any time.
        let away = it.wait((610, 1_110, 5_600), 0);
        assert_eq!((it.read_late(5_600), away), (us(5_600 - 500 - 20), us(4_970)));
    }

    #[test]
    fn what_the_scheduler_counts_is_a_delay_though_the_timer_had_not_run_out() {
        let mut it = SteppedLoop::new();
        it.wait((10, 5_000, 3_400), 3_000);
        assert_eq!(it.read_late(3_400), us(2_980));
        // Of a wait in which the thread did not sleep at all, it is not known that nothing was there before.
        let mut it = SteppedLoop::new();
        it.wait((3_500, 9_000, 4_500), 995);
        assert_eq!(it.read_late(4_500), us(4_480));
    }

    #[test]
    fn what_is_there_at_once_may_have_come_since_the_last_look() {
        let mut it = SteppedLoop::new();
        assert_eq!(it.wait((150, 650, 152), 0), Nanos::ZERO);
        assert_eq!(it.read_late(155), us(135));
        // After a long turn, a look takes longer than usual.
        assert_eq!(it.wait((100_152, 100_652, 100_192), 0), us(98_980));
        assert_eq!(it.read_late(100_192), us(100_020));
    }

    #[test]
    fn a_disturbed_wait_looked_at_the_sockets_before_it_was_disturbed_or_not_at_all() {
        let mut it = SteppedLoop::new();
        // Stopped, and woken by the signal that ended that: what came meanwhile is found by the next look.
        it.wait((10, 510, 100_000), 0);
        it.wait((100_005, 100_505, 100_007), 0);
        assert_eq!(it.read_late(100_007), us(100_007 - 10 - 20));
        // Without a core just after it had looked.
        let mut it = SteppedLoop::new();
        it.wait((10, 9_000, 5_000), 4_900);
        it.wait((5_005, 9_005, 5_007), 0);
        assert_eq!(it.read_late(5_007), us(5_007 - 100 - 20));
    }

    #[test]
    fn what_an_earlier_turn_left_unread_has_been_there_since() {
        let mut it = SteppedLoop::new();
        let unread_since = Some(SteppedLoop::at(100));
        let wait = EndedWait {
            began: SteppedLoop::at(300),
            until: SteppedLoop::at(900),
            ended: SteppedLoop::at(800),
            unread_since,
            expecting: true,
        };
        it.gaps.set_wait(wait, Nanos::ZERO);
        assert_eq!(it.read_late(800), us(680));
    }

    #[test]
    fn the_resolution_is_the_usual_turn_whatever_disturbs_the_waits() {
        let mut it = SteppedLoop::new();
        let mut now = 0;
        for n in 0..2_000 {
            // Every response waits 3 ms for a core; turns take 40 to 60 µs, and every tenth 5 ms.
            it.wait((now + 10, now + 9_000, now + 4_000), 3_000);
            let turn = if n % 10 == 0 { 5_000 } else { 40 + n % 21 };
            now += 4_000 + turn;
            it.gaps.record_response(SteppedLoop::at(now), us(2_000), us(n % 150));
            it.gaps.record_response(SteppedLoop::at(now + 900), us(2_000), us(1_000));
        }
        let resolution = it.gaps.resolution();
        assert!(resolution >= us(190) && resolution <= ORDINARY, "an ordinary wake-up at most: {resolution:?}");
        assert_eq!(it.read_late(now), us(3_000) + us(40 + 1_999 % 21) - resolution);
        assert_eq!(it.gaps.longest_wait(), Nanos(500_000), "an eighth, but not less");
        (0..1_000).for_each(|_| it.gaps.record_response(SteppedLoop::at(now), us(40_000), Nanos::ZERO));
        let longest = it.gaps.longest_wait();
        assert!(longest > us(4_700) && longest < us(5_300), "{longest:?}");
    }

    #[test]
    fn what_was_written_after_a_look_was_not_answered_before() {
        let mut it = SteppedLoop::new();
        it.wait((2_000, 2_500, 2_002), 0);
        assert_eq!(it.read_late(2_002), us(1_982));
        assert_eq!(it.delay_of((1_900, 0, 2_002), false), us(82));
    }

    #[test]
    fn a_stop_between_the_clock_and_the_write_delays_the_request() {
        let mut it = SteppedLoop::new();
        it.gaps.read_clock(SteppedLoop::at(50), SteppedLoop::at(90));
        it.gaps.read_clock(SteppedLoop::at(90), SteppedLoop::at(30_090));
        it.wait((30_090, 30_590, 30_400), 0);
        let delays = [(40, us(0)), (50, us(0)), (90, us(30_000)), (100, us(29_990)), (30_090, us(0))];
        for (written, delay) in delays {
            assert_eq!(it.delay_of((written, 0, 30_400), false), delay, "{written}");
        }
    }

    #[test]
    fn of_a_message_in_pieces_each_may_have_waited() {
        let mut it = SteppedLoop::new();
        it.wait((10, 510, 400), 0);
        it.wait((450, 950, 7_000), 0);
        it.wait((7_010, 7_510, 7_400), 0);
        assert_eq!(it.delay_of((100, 7_400, 7_400), false), Nanos::ZERO, "it came when the stop was over");
        assert_eq!(it.delay_of((100, 400, 7_400), false), us(6_550), "it had begun before");
        assert_eq!(it.delay_of((440, 7_400, 7_400), true), us(6_550), "the request took as long");
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
