//! Exact waiting: a worker sleeps until shortly before a request is due, and polls for the rest.
//!
//! An idle core is not available at once: on a virtual machine a timer wakes a thread 50 to 120 µs late, as late as a
//! fast server takes to answer, and so does a response. Polling needs no wakeup. It costs CPU time that other threads
//! cannot use, so it is bounded ([`Spinning`]), counted (`spun_ns`), and given up where it does not help or takes the
//! core from others.
//!
//! - How long before a moment the worker wakes is learned from how late it woke, so that 1 wakeup in 250 misses its
//!   moment.
//! - After a request it polls for the response for as long as most of them take, where that is short.
//! - A poll that takes long means that the core was given to another thread. If that is frequent, polling rests.
//! - A budget that does not last until the requests are due is of no use, and is not spent.

use measure::Nanos;
use plan::Plan;

/// Part of one core for a whole run by default: a quarter (our choice, stated in the guide).
const PART: f64 = 0.25;
/// Maximum time of the budget that may be saved up.
const SAVED: Nanos = Nanos::from_millis(200);
/// Intended share of wakeups that are too late for their moment.
const MISSES: f64 = 0.004;
/// Change of the wake-up lead after a miss, and the bounds of the lead, in nanoseconds.
const STEP: f64 = 8_000.0;
const EARLY: (f64, f64) = (10_000.0, 400_000.0);
const EARLY_AT_FIRST: f64 = 100_000.0;
/// Nanoseconds for which responses are polled for at first, and the maximum: if most take longer, they are not polled
/// for.
const WATCH_AT_FIRST: f64 = 400_000.0;
const WATCH_AT_MOST: f64 = 1_000_000.0;
/// Minimum length of a disturbed poll: an undisturbed one takes 1 to 2 µs.
const DISTURBED: Nanos = Nanos::from_micros(30);
/// Disturbance after which polling rests, if it is also a quarter of all time polled.
const TAKEN: Nanos = Nanos::from_millis(1);
const REST: Nanos = Nanos::from_millis(500);
/// Maximum rest: each is twice as long as the one before, unless polling went well for as long in between.
const REST_AT_MOST: Nanos = Nanos::from_secs(16);
/// Number of moments after which it is decided whether the budget lasts, and the pause if it does not.
const MOMENTS: u32 = 100;
const PAUSE: Nanos = Nanos::from_secs(5);

/// The amount of CPU time a worker may spend polling.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Spinning {
    /// No polling.
    Never,
    /// Polling for at most this part of a core.
    Part(f64),
    /// All of its time.
    Always,
}

impl Spinning {
    /// Returns the amount for each of `workers`: none if the plan sets no times, or allows slack.
    pub fn of(plan: &Plan, workers: u32) -> Spinning {
        match plan.load.is_open() && plan.slack == Nanos::ZERO {
            _ if plan.precise => Spinning::Always,
            true => Spinning::Part(PART / f64::from(workers.max(1))),
            false => Spinning::Never,
        }
    }
}

/// The way in which the next stretch of time is waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wait {
    /// Sleep until the first time, to be early for the other one, if any.
    Asleep(Nanos, Option<Nanos>),
    /// Poll the sockets without sleeping.
    Poll,
}

/// A worker's statistics of its waits.
#[derive(Debug)]
pub(super) struct Spin {
    spinning: Spinning,
    /// Time that may be polled now, and when it was last added to.
    purse: i64,
    filled: Nanos,
    /// Nanoseconds before a moment at which sleep ends.
    early: f64,
    /// Nanoseconds within which most responses come after their request.
    watch: f64,
    /// Time when the last request was sent whose response is polled for.
    sent: Option<Nanos>,
    /// Set if the current turn began with a poll: when.
    polled_at: Option<Nanos>,
    /// The moment that is polled for, and whether the budget lasted.
    coming: Option<(Nanos, bool)>,
    met: u32,
    missed: u32,
    /// Time polled, and time taken from it by others.
    polled: Nanos,
    taken: Nanos,
    rests_until: Nanos,
    /// Length of the last rest due to disturbances.
    rest: Nanos,
    spun: Nanos,
}

impl Spin {
    pub fn new(spinning: Spinning, now: Nanos) -> Spin {
        let mut spin = Spin {
            spinning,
            purse: 0,
            filled: now,
            early: EARLY_AT_FIRST,
            watch: WATCH_AT_FIRST,
            sent: None,
            polled_at: None,
            coming: None,
            met: 0,
            missed: 0,
            polled: Nanos::ZERO,
            taken: Nanos::ZERO,
            rests_until: Nanos::ZERO,
            rest: Nanos::ZERO,
            spun: Nanos::ZERO,
        };
        spin.purse = spin.most_saved();
        spin
    }

    fn most_saved(&self) -> i64 {
        match self.spinning {
            Spinning::Never => 0,
            Spinning::Part(part) => (part * SAVED.0 as f64) as i64,
            Spinning::Always => i64::MAX,
        }
    }

    fn fill(&mut self, now: Nanos) {
        if let Spinning::Part(part) = self.spinning {
            let more = (part * (now - self.filled).0 as f64) as i64;
            // Left for later if it is less than can be counted.
            if more > 0 {
                self.purse = (self.purse + more).min(self.most_saved());
                self.filled = now;
            }
        }
    }

    fn spend(&mut self, time: Nanos) {
        // Time taken by a disturbance was CPU time of another thread.
        self.spun += time.min(DISTURBED);
        if let Spinning::Part(_) = self.spinning {
            self.purse -= time.0 as i64;
        }
    }

    /// Decides how to wait at `now` for events until `until` at the latest; a request is due at `due`.
    #[inline]
    pub fn wait(&mut self, now: Nanos, until: Nanos, due: Nanos) -> Wait {
        if until <= now || now < self.rests_until {
            return Wait::Asleep(until, None);
        }
        self.fill(now);
        let wake = due - Nanos(self.early as u64);
        match self.spinning {
            Spinning::Never => Wait::Asleep(until, None),
            Spinning::Always => Wait::Poll,
            Spinning::Part(_) if due <= until && now >= wake => self.come_near(due),
            Spinning::Part(_) if self.awaits_soon(now) => Wait::Poll,
            Spinning::Part(_) => Wait::Asleep(until.min(wake), (wake <= until).then_some(due)),
        }
    }

    /// Polls for a moment that is near, while the budget lasts.
    fn come_near(&mut self, due: Nanos) -> Wait {
        let lasted = self.purse > 0;
        match &mut self.coming {
            Some((moment, lasts)) if *moment == due => *lasts &= lasted,
            coming => *coming = Some((due, lasted)),
        }
        if lasted { Wait::Poll } else { Wait::Asleep(due, None) }
    }

    /// Returns `true` if a response is likely to come next; half the budget is kept for requests.
    fn awaits_soon(&self, now: Nanos) -> bool {
        let soon = |sent: Nanos| now < sent + Nanos((1.25 * self.watch + self.early) as u64);
        self.watch <= WATCH_AT_MOST && self.purse > self.most_saved() / 2 && self.sent.is_some_and(soon)
    }

    /// Records the end of a wait that began at `from`.
    #[inline]
    pub fn waited(&mut self, wait: Wait, from: Nanos, now: Nanos) {
        match wait {
            Wait::Asleep(_, None) => {}
            Wait::Asleep(until, Some(due)) => self.woke(due, until, now),
            Wait::Poll => self.polled(from, now),
        }
    }

    /// Records the end at `now`, by its timer, of a sleep that was to end at `wake`, early for `due`.
    fn woke(&mut self, due: Nanos, wake: Nanos, now: Nanos) {
        if now < wake {
            return;
        }
        // The share of misses is a quantile, and is estimated as one: Robbins and Monro's stochastic approximation.
        let step = if now > due { STEP * (1.0 - MISSES) } else { -STEP * MISSES };
        self.early = (self.early + step).clamp(EARLY.0, EARLY.1);
    }

    /// Records a poll that began at `from` and ended at `now`.
    fn polled(&mut self, from: Nanos, now: Nanos) {
        let took = now - from;
        self.polled_at = Some(from);
        self.polled += took;
        if took <= DISTURBED {
            return;
        }
        self.taken += took;
        if self.taken > TAKEN && self.taken.0 > self.polled.0 / 4 {
            let well = now > self.rests_until + self.rest + self.rest;
            self.rest = if well { REST } else { (self.rest + self.rest).clamp(REST, REST_AT_MOST) };
            self.rests_until = now + self.rest;
            (self.polled, self.taken) = (Nanos::ZERO, Nanos::ZERO);
        }
    }

    /// Records an arrival: the current turn is not an idle one.
    #[inline]
    pub fn heard(&mut self, now: Nanos) {
        self.polled_at = None;
        if let Some(sent) = self.sent.take() {
            // 9 of 10 come within `watch`; steps are proportional, as services differ by orders of magnitude.
            let step = if (now - sent).0 as f64 > self.watch { 0.9 } else { -0.1 };
            self.watch = (self.watch * (1.0 + step / 16.0)).clamp(EARLY.0, 2.0 * WATCH_AT_MOST);
        }
    }

    /// Records that a request that was due has been sent.
    #[inline]
    pub fn sent(&mut self, now: Nanos) {
        self.polled_at = None;
        self.sent = Some(now);
        let Some((_, lasted)) = self.coming.take() else { return };
        self.met += u32::from(lasted);
        self.missed += u32::from(!lasted);
        if self.met + self.missed >= MOMENTS {
            if self.missed * 20 > self.met {
                self.rests_until = now + PAUSE;
            }
            (self.met, self.missed) = (0, 0);
        }
    }

    /// Ends a turn at `now`: if it was a poll without an arrival, its time was spent polling.
    #[inline]
    pub fn turn_is_over(&mut self, now: Nanos) {
        if let Some(from) = self.polled_at.take() {
            self.spend(now - from);
        }
    }

    /// Returns the time spent polling since the last call.
    pub fn take_spun(&mut self) -> Nanos {
        (self.polled, self.taken) = (Nanos(self.polled.0 / 2), Nanos(self.taken.0 / 2));
        std::mem::take(&mut self.spun)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn us(n: u64) -> Nanos {
        Nanos::from_micros(n)
    }

    fn spin(spinning: Spinning) -> Spin {
        Spin::new(spinning, Nanos::from_secs(1))
    }

    #[test]
    fn sleep_ends_before_a_moment_as_early_as_wakes_were_late() {
        let (mut spin, mut now) = (spin(Spinning::Part(0.25)), Nanos::from_secs(1));
        for n in 0..4_000_u64 {
            let due = now + Nanos::from_millis(3);
            let Wait::Asleep(wake, Some(for_due)) = spin.wait(now, due, due) else { panic!("{spin:?}") };
            assert_eq!(for_due, due);
            // One wake in a hundred takes 60 µs, the others between 20 and 40.
            let late = if n % 100 == 0 { us(60) } else { us(20 + n % 21) };
            spin.woke(due, wake, wake + late);
            now = due + us(1);
        }
        assert!((59_000.0..70_000.0).contains(&spin.early), "{}", spin.early);
    }

    #[test]
    fn no_more_is_polled_away_than_the_budget_holds() {
        let mut spin = spin(Spinning::Part(0.1));
        let (began, mut now) = (Nanos::from_secs(1), Nanos::from_secs(1));
        // Due in a stretch that never ends: each wait is near its moment.
        while now < began + Nanos::from_secs(10) {
            let due = now + us(5);
            match spin.wait(now, due, due) {
                Wait::Poll => {
                    spin.polled(now, now + us(1));
                    now += us(1);
                    spin.turn_is_over(now);
                }
                Wait::Asleep(until, _) => now = until.max(now + us(1)),
            }
        }
        // What was saved, and a tenth of ten seconds.
        let most = 0.02 + 1.001;
        let spun = spin.take_spun().0 as f64 / 1e9;
        assert!((0.9..most).contains(&spun), "{spun}");
    }

    #[test]
    fn a_budget_that_does_not_last_is_kept() {
        let mut spin = spin(Spinning::Part(0.01));
        let mut now = Nanos::from_secs(1);
        let end = now + Nanos::from_secs(4);
        while now < end {
            let due = now + us(50);
            while now < due {
                match spin.wait(now, due, due) {
                    Wait::Poll => {
                        spin.polled(now, now + us(1));
                        now += us(1);
                        spin.turn_is_over(now);
                    }
                    Wait::Asleep(until, _) => now = until.max(now + us(1)),
                }
            }
            spin.sent(now);
        }
        let spun = spin.take_spun();
        assert!(spun < Nanos::from_millis(15), "{spun:?}");
    }

    #[test]
    fn polling_rests_where_others_have_the_core() {
        let mut spin = spin(Spinning::Always);
        let mut now = Nanos::from_secs(1);
        assert_eq!(spin.wait(now, Nanos::MAX, Nanos::MAX), Wait::Poll);
        let from = now;
        now += Nanos::from_millis(4);
        spin.polled(from, now);
        assert_eq!(spin.wait(now, Nanos::MAX, Nanos::MAX), Wait::Asleep(Nanos::MAX, None));
        assert_eq!(spin.wait(now + REST, Nanos::MAX, Nanos::MAX), Wait::Poll);
        // If it goes on like that, each rest is longer; if it went well, they start over.
        let mut rest = |now: Nanos| {
            let from = now.max(spin.rests_until);
            spin.polled(from, from + Nanos::from_millis(4));
            spin.rests_until - from - Nanos::from_millis(4)
        };
        let mut rests: Vec<f64> = (0..6).map(|_| rest(now).as_secs_f64()).collect();
        rests.push(rest(now + Nanos::from_secs(1_000)).as_secs_f64());
        assert_eq!(rests, [1.0, 2.0, 4.0, 8.0, 16.0, 16.0, 0.5]);
    }

    #[test]
    fn a_response_is_polled_for_while_most_are_quick() {
        let mut spin = spin(Spinning::Part(0.25));
        let mut now = Nanos::from_secs(1);
        for _ in 0..1_000 {
            spin.sent(now);
            spin.heard(now + us(80));
            now += Nanos::from_millis(1);
        }
        spin.sent(now);
        let later = now + Nanos::from_millis(900);
        assert_eq!(spin.wait(now + us(50), later, later), Wait::Poll);
        assert_ne!(spin.wait(now + us(300), later, later), Wait::Poll);
        for _ in 0..200 {
            spin.sent(now);
            spin.heard(now + Nanos::from_millis(5));
        }
        spin.sent(now);
        assert_ne!(spin.wait(now + us(50), later, later), Wait::Poll);
    }
}
