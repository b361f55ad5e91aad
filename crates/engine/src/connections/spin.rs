//! Exact waiting: a worker sleeps until shortly before a request is due, and polls for the rest.
//!
//! An idle core is not available at once: on a virtual machine, a timer or a response wakes a thread 50 to 120 µs late,
//! which is as long as a fast server takes to answer. Polling needs no wakeup, but uses CPU time that other threads may
//! need, so it is bounded ([`SpinBudget`]), counted (`spun_ns`), and abandoned if it does not help or takes the core
//! from others.
//!
//! - The worker wakes ahead of a due time by a lead learned from the lateness of earlier wakeups, such that 1 wakeup in
//!   250 is late.
//! - After sending a request, the worker polls for the response for as long as most responses take, if that is short.
//! - A long poll means that the core was given to another thread. If that happens often, polling is suspended.
//! - A budget that is exhausted before requests are due is useless and not spent.

use brunt_measure::Nanos;
use brunt_plan::Plan;

/// Default share of one core for a whole run (documented in the guide).
const DEFAULT_SHARE: f64 = 0.25;
/// Maximum unused budget that is saved.
const MAX_SAVED: Nanos = Nanos::from_millis(200);
/// Target share of wakeups after the due time.
const MISSES: f64 = 0.004;
/// Change of the wake-up lead after a miss, and the bounds of the lead, in nanoseconds.
const STEP: f64 = 8_000.0;
const LEAD_BOUNDS: (f64, f64) = (10_000.0, 400_000.0);
const INITIAL_LEAD: f64 = 100_000.0;
/// Initial and maximum time for which responses are polled, in nanoseconds. If most responses take longer, there is no
/// polling for them.
const INITIAL_RESPONSE: f64 = 400_000.0;
const MAX_RESPONSE: f64 = 1_000_000.0;
/// Minimum length of a disturbed poll; an undisturbed poll takes 1 to 2 µs.
const DISTURBED: Nanos = Nanos::from_micros(30);
/// Disturbed time above which polling is suspended, if it is also more than a quarter of all time polled.
const MIN_DISTURBED: Nanos = Nanos::from_millis(1);
const REST: Nanos = Nanos::from_millis(500);
/// Maximum suspension. Each is twice as long as the previous one, unless polling was undisturbed for long enough in
/// between.
const MAX_REST: Nanos = Nanos::from_secs(16);
/// Number of due times after which the budget is evaluated, and the pause if it did not last.
const MOMENTS: u32 = 100;
const PAUSE: Nanos = Nanos::from_secs(5);

/// The amount of CPU time a worker may spend polling.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum SpinBudget {
    /// No polling.
    Never,
    /// Polling for at most this share of a core.
    Share(f64),
    /// Polling instead of any sleep.
    Always,
}

impl SpinBudget {
    /// Returns the budget of each of `workers`; no polling if the plan does not schedule requests, or allows slack.
    pub fn of(plan: &Plan, workers: u32) -> SpinBudget {
        match plan.load.is_open() && plan.slack == Nanos::ZERO {
            _ if plan.precise => SpinBudget::Always,
            true => SpinBudget::Share(DEFAULT_SHARE / f64::from(workers.max(1))),
            false => SpinBudget::Never,
        }
    }
}

/// How to wait for the next events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wait {
    /// Sleep until the first time, which is ahead of the second: the due time of a request, if any.
    Sleep(Nanos, Option<Nanos>),
    /// Poll the sockets without sleeping.
    Poll,
}

/// The polling state of a worker, and the statistics on which its decisions are based.
#[derive(Debug)]
pub(super) struct SpinWait {
    budget: SpinBudget,
    /// Polling time left in the budget in nanoseconds, and the time at which it was last replenished.
    available_ns: i64,
    filled_at: Nanos,
    /// Lead with which sleep ends before a due time, in nanoseconds.
    lead_ns: f64,
    /// Time within which most responses follow their request, in nanoseconds.
    response_ns: f64,
    /// Time at which the last request was sent; `None` once data has arrived.
    sent_at: Option<Nanos>,
    /// Time at which the poll of the current turn began; `None` without a poll, or once data has arrived or been sent.
    polled_at: Option<Nanos>,
    /// The due time for which the worker polls, and whether the budget has lasted so far.
    next_due: Option<(Nanos, bool)>,
    met: u32,
    missed: u32,
    /// Total time polled, and the part of it in disturbed polls.
    polled: Nanos,
    disturbed: Nanos,
    rest_until: Nanos,
    /// Length of the last suspension caused by disturbances.
    rest: Nanos,
    spun: Nanos,
}

impl SpinWait {
    pub fn new(spinning: SpinBudget, now: Nanos) -> SpinWait {
        let mut spin = SpinWait {
            budget: spinning,
            available_ns: 0,
            filled_at: now,
            lead_ns: INITIAL_LEAD,
            response_ns: INITIAL_RESPONSE,
            sent_at: None,
            polled_at: None,
            next_due: None,
            met: 0,
            missed: 0,
            polled: Nanos::ZERO,
            disturbed: Nanos::ZERO,
            rest_until: Nanos::ZERO,
            rest: Nanos::ZERO,
            spun: Nanos::ZERO,
        };
        spin.available_ns = spin.max_saved();
        spin
    }

    fn max_saved(&self) -> i64 {
        match self.budget {
            SpinBudget::Never => 0,
            SpinBudget::Share(part) => (part * MAX_SAVED.0 as f64) as i64,
            SpinBudget::Always => i64::MAX,
        }
    }

    fn replenish(&mut self, now: Nanos) {
        if let SpinBudget::Share(part) = self.budget {
            let more = (part * (now - self.filled_at).0 as f64) as i64;
            // Fractions of a nanosecond are left for the next time.
            if more > 0 {
                self.available_ns = (self.available_ns + more).min(self.max_saved());
                self.filled_at = now;
            }
        }
    }

    fn spend(&mut self, time: Nanos) {
        // The rest of a disturbed poll was CPU time used by another thread.
        self.spun += time.min(DISTURBED);
        if let SpinBudget::Share(_) = self.budget {
            self.available_ns -= time.0 as i64;
        }
    }

    /// Decides how to wait from `now` for events until `until` at the latest; a request is due at `due`.
    #[inline]
    pub fn wait(&mut self, now: Nanos, until: Nanos, due: Nanos) -> Wait {
        if until <= now || now < self.rest_until {
            return Wait::Sleep(until, None);
        }
        self.replenish(now);
        let wake = due - Nanos(self.lead_ns as u64);
        match self.budget {
            SpinBudget::Never => Wait::Sleep(until, None),
            SpinBudget::Always => Wait::Poll,
            SpinBudget::Share(_) if due <= until && now >= wake => self.approach(due),
            SpinBudget::Share(_) if self.expects_response(now) => Wait::Poll,
            SpinBudget::Share(_) => Wait::Sleep(until.min(wake), (wake <= until).then_some(due)),
        }
    }

    /// Decides how to wait for an imminent due time: by polling, while the budget lasts.
    fn approach(&mut self, due: Nanos) -> Wait {
        let lasted = self.available_ns > 0;
        match &mut self.next_due {
            Some((moment, lasts)) if *moment == due => *lasts &= lasted,
            coming => *coming = Some((due, lasted)),
        }
        if lasted { Wait::Poll } else { Wait::Sleep(due, None) }
    }

    /// Returns `true` if a response is likely to arrive next; half of the budget is reserved for requests.
    fn expects_response(&self, now: Nanos) -> bool {
        let soon = |sent: Nanos| now < sent + Nanos((1.25 * self.response_ns + self.lead_ns) as u64);
        self.response_ns <= MAX_RESPONSE && self.available_ns > self.max_saved() / 2 && self.sent_at.is_some_and(soon)
    }

    /// Records the end of a wait that began at `from`.
    #[inline]
    pub fn end_wait(&mut self, wait: Wait, from: Nanos, now: Nanos) {
        match wait {
            Wait::Sleep(_, None) => {}
            Wait::Sleep(until, Some(due)) => self.record_wakeup(due, until, now),
            Wait::Poll => self.record_poll(from, now),
        }
    }

    /// Records that a sleep that should have ended at `wake`, ahead of `due`, ended at `now`. Sleeps that an event
    /// ended before `wake` are ignored.
    fn record_wakeup(&mut self, due: Nanos, wake: Nanos, now: Nanos) {
        if now < wake {
            return;
        }
        // The lead is a quantile of the lateness, and is estimated as one: by Robbins–Monro stochastic approximation.
        let step = if now > due { STEP * (1.0 - MISSES) } else { -STEP * MISSES };
        self.lead_ns = (self.lead_ns + step).clamp(LEAD_BOUNDS.0, LEAD_BOUNDS.1);
    }

    /// Records a poll that began at `from` and ended at `now`.
    fn record_poll(&mut self, from: Nanos, now: Nanos) {
        let took = now - from;
        self.polled_at = Some(from);
        self.polled += took;
        if took <= DISTURBED {
            return;
        }
        self.disturbed += took;
        if self.disturbed > MIN_DISTURBED && self.disturbed.0 > self.polled.0 / 4 {
            let well = now > self.rest_until + self.rest + self.rest;
            self.rest = if well { REST } else { (self.rest + self.rest).clamp(REST, MAX_REST) };
            self.rest_until = now + self.rest;
            (self.polled, self.disturbed) = (Nanos::ZERO, Nanos::ZERO);
        }
    }

    /// Records an arrival: the current turn was not idle.
    #[inline]
    pub fn record_arrival(&mut self, now: Nanos) {
        self.polled_at = None;
        if let Some(sent) = self.sent_at.take() {
            // 9 of 10 responses arrive within `response_ns`; steps are proportional, because service times differ by
            // orders of magnitude.
            let step = if (now - sent).0 as f64 > self.response_ns { 0.9 } else { -0.1 };
            self.response_ns = (self.response_ns * (1.0 + step / 16.0)).clamp(LEAD_BOUNDS.0, 2.0 * MAX_RESPONSE);
        }
    }

    /// Records that a due request has been sent.
    #[inline]
    pub fn record_send(&mut self, now: Nanos) {
        self.polled_at = None;
        self.sent_at = Some(now);
        let Some((_, lasted)) = self.next_due.take() else { return };
        self.met += u32::from(lasted);
        self.missed += u32::from(!lasted);
        if self.met + self.missed >= MOMENTS {
            if self.missed * 20 > self.met {
                self.rest_until = now + PAUSE;
            }
            (self.met, self.missed) = (0, 0);
        }
    }

    /// Ends a turn at `now`. If its poll found nothing, its whole time counts as polling.
    #[inline]
    pub fn end_turn(&mut self, now: Nanos) {
        if let Some(from) = self.polled_at.take() {
            self.spend(now - from);
        }
    }

    /// Returns the time spent polling since the last call.
    pub fn take_spun(&mut self) -> Nanos {
        (self.polled, self.disturbed) = (Nanos(self.polled.0 / 2), Nanos(self.disturbed.0 / 2));
        std::mem::take(&mut self.spun)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn us(n: u64) -> Nanos {
        Nanos::from_micros(n)
    }

    fn spin(spinning: SpinBudget) -> SpinWait {
        SpinWait::new(spinning, Nanos::from_secs(1))
    }

    #[test]
    fn sleep_ends_before_a_moment_as_early_as_wakes_were_late() {
        let (mut spin, mut now) = (spin(SpinBudget::Share(0.25)), Nanos::from_secs(1));
        for n in 0..4_000_u64 {
            let due = now + Nanos::from_millis(3);
            let Wait::Sleep(wake, Some(for_due)) = spin.wait(now, due, due) else { panic!("{spin:?}") };
            assert_eq!(for_due, due);
            // One wakeup in a hundred is 60 µs late, the others 20 to 40.
            let late = if n % 100 == 0 { us(60) } else { us(20 + n % 21) };
            spin.record_wakeup(due, wake, wake + late);
            now = due + us(1);
        }
        assert!((59_000.0..70_000.0).contains(&spin.lead_ns), "{}", spin.lead_ns);
    }

    #[test]
    fn no_more_is_polled_away_than_the_budget_holds() {
        let mut spin = spin(SpinBudget::Share(0.1));
        let (began, mut now) = (Nanos::from_secs(1), Nanos::from_secs(1));
        // Due times follow each other so closely that each wait is near the next one.
        while now < began + Nanos::from_secs(10) {
            let due = now + us(5);
            match spin.wait(now, due, due) {
                Wait::Poll => {
                    spin.record_poll(now, now + us(1));
                    now += us(1);
                    spin.end_turn(now);
                }
                Wait::Sleep(until, _) => now = until.max(now + us(1)),
            }
        }
        // The saved budget, and a tenth of ten seconds.
        let most = 0.02 + 1.001;
        let spun = spin.take_spun().0 as f64 / 1e9;
        assert!((0.9..most).contains(&spun), "{spun}");
    }

    #[test]
    fn a_budget_that_does_not_last_is_kept() {
        let mut spin = spin(SpinBudget::Share(0.01));
        let mut now = Nanos::from_secs(1);
        let end = now + Nanos::from_secs(4);
        while now < end {
            let due = now + us(50);
            while now < due {
                match spin.wait(now, due, due) {
                    Wait::Poll => {
                        spin.record_poll(now, now + us(1));
                        now += us(1);
                        spin.end_turn(now);
                    }
                    Wait::Sleep(until, _) => now = until.max(now + us(1)),
                }
            }
            spin.record_send(now);
        }
        let spun = spin.take_spun();
        assert!(spun < Nanos::from_millis(15), "{spun:?}");
    }

    #[test]
    fn polling_rests_where_others_have_the_core() {
        let mut spin = spin(SpinBudget::Always);
        let mut now = Nanos::from_secs(1);
        assert_eq!(spin.wait(now, Nanos::MAX, Nanos::MAX), Wait::Poll);
        let from = now;
        now += Nanos::from_millis(4);
        spin.record_poll(from, now);
        assert_eq!(spin.wait(now, Nanos::MAX, Nanos::MAX), Wait::Sleep(Nanos::MAX, None));
        assert_eq!(spin.wait(now + REST, Nanos::MAX, Nanos::MAX), Wait::Poll);
        // While disturbances continue, each suspension is longer than the last; after undisturbed polling, they are
        // short again.
        let mut rest = |now: Nanos| {
            let from = now.max(spin.rest_until);
            spin.record_poll(from, from + Nanos::from_millis(4));
            spin.rest_until - from - Nanos::from_millis(4)
        };
        let mut rests: Vec<f64> = (0..6).map(|_| rest(now).as_secs_f64()).collect();
        rests.push(rest(now + Nanos::from_secs(1_000)).as_secs_f64());
        assert_eq!(rests, [1.0, 2.0, 4.0, 8.0, 16.0, 16.0, 0.5]);
    }

    #[test]
    fn a_response_is_polled_for_while_most_are_quick() {
        let mut spin = spin(SpinBudget::Share(0.25));
        let mut now = Nanos::from_secs(1);
        for _ in 0..1_000 {
            spin.record_send(now);
            spin.record_arrival(now + us(80));
            now += Nanos::from_millis(1);
        }
        spin.record_send(now);
        let later = now + Nanos::from_millis(900);
        assert_eq!(spin.wait(now + us(50), later, later), Wait::Poll);
        assert_ne!(spin.wait(now + us(300), later, later), Wait::Poll);
        for _ in 0..200 {
            spin.record_send(now);
            spin.record_arrival(now + Nanos::from_millis(5));
        }
        spin.record_send(now);
        assert_ne!(spin.wait(now + us(50), later, later), Wait::Poll);
    }
}
