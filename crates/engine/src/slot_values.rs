//! Slot values of requests. Numbers are unique within a run, regardless of the number of workers.

use std::time::{SystemTime, UNIX_EPOCH};

use brunt_contract::SlotContext;
use brunt_load::NumberSequence;
use brunt_measure::random::{Rng, scramble};
use brunt_measure::{Clock, Nanos};
use brunt_plan::Share;

use crate::exchange::Exchange;
use crate::ids::{RequestId, UserId};

/// The slot values of one worker.
#[derive(Debug)]
pub(crate) struct SlotSource {
    numbers: NumberSequence,
    /// This worker's share of the users, for each scenario.
    shares: Vec<Share>,
    /// Number of requests that each user keeps in flight; the engine handles each as a separate user.
    per_user: u32,
    random: u64,
    /// Random bits of the run, the same for all workers.
    run: u64,
    /// Iteration numbers of each scenario, if users run flows; if empty, each request has its own number.
    iterations: Vec<IterationNumbers>,
    /// Set, by user, if its number is for an iteration that it has not begun.
    fresh: Vec<bool>,
    /// Set if requests have slots.
    pub has_slots: bool,
    /// Offset of the run's clock from nanoseconds since 1970.
    unix: i128,
}

/// The iteration numbers of one scenario, each shared by all requests of an iteration.
#[derive(Debug)]
struct IterationNumbers {
    /// Current number of each user.
    of_users: Vec<u64>,
    numbers: NumberSequence,
}

impl IterationNumbers {
    fn of(numbers: NumberSequence) -> IterationNumbers {
        IterationNumbers { of_users: Vec::new(), numbers }
    }
}

impl SlotSource {
    /// Creates the source for the worker with this share, whose requests use these numbers.
    pub fn new(
        share: Share,
        per_user: u32,
        (seed, run): (u64, u64),
        numbers: NumberSequence,
        fills: bool,
    ) -> SlotSource {
        let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos() as i128;
        let unix = since_1970 - i128::from(Clock.now().0);
        // Stream 0 is used by the probe.
        let random = Rng::new(seed).fork(2).next_u64();
        let (shares, iterations, fresh) = (vec![share], Vec::new(), Vec::new());
        SlotSource { numbers, shares, per_user, random, run, iterations, fresh, has_slots: fills, unix }
    }

    /// Gives all requests of an iteration the same number. Scenarios number their users and iterations independently;
    /// `scenarios` holds the share and the numbers of each.
    pub fn by_iteration(self, scenarios: &[(Share, NumberSequence)]) -> SlotSource {
        if scenarios.is_empty() {
            return SlotSource { iterations: vec![IterationNumbers::of(self.numbers)], ..self };
        }
        let iterations = scenarios.iter().map(|(_, numbers)| IterationNumbers::of(*numbers)).collect();
        SlotSource { iterations, shares: scenarios.iter().map(|(share, _)| *share).collect(), ..self }
    }

    /// Returns `true` if a user has a number for an iteration that it has not begun.
    pub fn is_fresh(&self, user: UserId) -> bool {
        self.fresh.get(user.at()).copied().unwrap_or(false)
    }

    /// Sets whether the number of a user is for an iteration that it has not begun.
    pub fn set_fresh(&mut self, user: UserId, fresh: bool) {
        let user = user.at();
        if self.fresh.len() <= user && fresh {
            self.fresh.resize(user + 1, false);
        }
        self.fresh.get_mut(user).into_iter().for_each(|known| *known = fresh);
    }

    /// Starts another iteration of a user.
    pub fn iteration_begins(&mut self, user: UserId) {
        let Some(IterationNumbers { of_users, numbers }) = self.iterations.get_mut(user.scenario().at()) else {
            return;
        };
        let user = user.index().at();
        if of_users.len() <= user {
            of_users.resize(user + 1, 0);
        }
        of_users[user] = numbers.take();
    }

    /// Creates the source for connections outside the load, whose requests all have the number 0.
    pub fn for_one_shots(run: u64) -> SlotSource {
        SlotSource::new(Share::WHOLE, 1, (0, run), NumberSequence::constant(0), true)
    }

    /// Converts a moment to nanoseconds since 1970.
    #[inline]
    pub fn unix_ns(&self, now: Nanos) -> u64 {
        (i128::from(now.0) + self.unix) as u64
    }

    /// Returns the slot values of a request submitted now. A resent request keeps its values. A request caused by a
    /// response has no slots, because its text is already complete.
    #[inline]
    pub fn fill_for(&mut self, x: &mut Exchange, now: Nanos) -> SlotContext<'static> {
        if x.request == RequestId::NONE {
            return self.for_hop(now);
        }
        if x.resent > 0 {
            return self.repeat(x.serial, x.user, now);
        }
        let (fill, known_by) = self.fill(x.user, now);
        x.serial = known_by;
        fill
    }

    /// Returns the slot values of a redirect hop, which has only a time.
    pub fn for_hop(&self, now: Nanos) -> SlotContext<'static> {
        SlotContext { unix_ns: self.unix_ns(now), ..SlotContext::default() }
    }

    /// Returns the slot values of a request that may be answered from the user's cache; its number remains available
    /// for the next request.
    pub fn peek(&self, user: UserId, now: Nanos) -> SlotContext<'static> {
        self.of(self.numbers.peek(), user, now)
    }

    /// Returns the slot values of the next request, and the key for [`SlotSource::repeat`].
    #[inline]
    pub fn fill(&mut self, user: UserId, now: Nanos) -> (SlotContext<'static>, u32) {
        let number = self.numbers.take();
        (self.of(number, user, now), number as u32)
    }

    /// Returns the slot values of a request in flight; `known_by` holds the lower bits of its number.
    pub fn repeat(&self, known_by: u32, user: UserId, now: Nanos) -> SlotContext<'static> {
        let next = self.numbers.peek();
        let back = (next as u32).wrapping_sub(known_by);
        self.of(next.wrapping_sub(u64::from(back)), user, now)
    }

    /// Derives all values from the number, the user and the time, so that none has to be stored.
    #[inline]
    fn of(&self, number: u64, user: UserId, now: Nanos) -> SlotContext<'static> {
        let (scenario, sender) = (user.scenario().at(), user);
        let share = self.shares.get(scenario).copied().unwrap_or(Share::WHOLE);
        let user = match user {
            UserId::NONE => 0,
            user => u64::from(user.index().0 / self.per_user) * u64::from(share.of) + u64::from(share.index),
        };
        let unix_ns = self.unix_ns(now);
        let random = scramble(self.random ^ number);
        let number = match self.iterations.get(scenario) {
            Some(iterations) => iterations.of_users.get(sender.index().at()).copied().unwrap_or(0),
            None => number,
        };
        SlotContext { number, user, random, unix_ns, run: self.run, ..SlotContext::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::ScenarioId;

    fn source(share: Share, per_user: u32, seed: u64) -> SlotSource {
        SlotSource::new(share, per_user, (seed, seed), NumberSequence::in_turn(share), true)
    }

    #[test]
    fn users_are_numbered_from_0_however_many_requests_each_keeps_in_flight() {
        for per_user in [1, 3] {
            let mut numbers = Vec::new();
            // Five users: three of the first worker, two of the second.
            for (index, users) in [(0, 3), (1, 2)] {
                let mut serial = source(Share { index, of: 2 }, per_user, 1);
                numbers.extend((0..users * per_user).map(|user| serial.fill(UserId(user), Nanos::ZERO).0.user));
                assert_eq!(serial.fill(UserId::NONE, Nanos::ZERO).0.user, 0, "nobody's");
            }
            numbers.sort_unstable();
            let expected: Vec<u64> = (0..5).flat_map(|user| (0..per_user).map(move |_| user)).collect();
            assert_eq!(numbers, expected, "{per_user} in flight");
        }
    }

    #[test]
    fn a_request_that_is_sent_once_more_is_filled_as_it_was_and_a_hop_takes_no_number() {
        let waiting =
            |request, resent| Exchange { resent, ..Exchange::due(Nanos::ZERO, Nanos::ZERO, request, 0, UserId(3)) };
        let mut serial = source(Share { index: 0, of: 2 }, 1, 1);
        let mut x = waiting(RequestId(0), 0);
        let first = serial.fill_for(&mut x, Nanos::ZERO);
        let other = serial.fill_for(&mut waiting(RequestId(0), 0), Nanos::ZERO);
        assert_eq!(serial.fill_for(&mut waiting(RequestId::NONE, 0), Nanos::ZERO).random, 0);
        x.resent = 1;
        let again = serial.fill_for(&mut x, Nanos::ZERO);
        assert_eq!(format!("{again:?}"), format!("{first:?}"));
        let next = serial.fill_for(&mut waiting(RequestId(0), 0), Nanos::ZERO);
        assert_eq!([first.number, other.number, next.number], [1, 3, 5]);
    }

    #[test]
    fn what_a_request_was_filled_with_is_known_while_it_is_under_way() {
        for beyond in [0, 3 * (u64::from(u32::MAX) - 10)] {
            let numbers = NumberSequence::from(beyond);
            let mut serial = SlotSource::new(Share { index: 1, of: 3 }, 2, (7, 7), numbers, true);
            let told: Vec<_> = (0..20).map(|user| serial.fill(UserId(user), Nanos(u64::from(user)))).collect();
            for (user, (fill, known_by)) in told.into_iter().enumerate() {
                let again = serial.repeat(known_by, UserId::of(user), Nanos(user as u64));
                assert_eq!(format!("{again:?}"), format!("{fill:?}"));
            }
        }
    }

    #[test]
    fn each_scenario_numbers_its_users_and_its_iterations_from_the_beginning() {
        let second = Share { index: 1, of: 2 };
        let shares = [(second, NumberSequence::in_turn(second)), (Share { index: 0, of: 2 }, NumberSequence::from(41))];
        let mut source = source(second, 1, 1).by_iteration(&shares);
        let [first, second] = [0, 1].map(|scenario| UserId::within(ScenarioId(scenario), brunt_scenario::UserIndex(3)));
        let mut begun = |user| {
            source.iteration_begins(user);
            let (fill, _) = source.fill(user, Nanos::ZERO);
            (fill.user, fill.number)
        };
        assert_eq!([begun(first), begun(second), begun(first), begun(second)], [(7, 2), (6, 41), (7, 4), (6, 42)]);
    }

    #[test]
    fn random_bits_of_requests_and_of_workers_differ() {
        let bits = |index, seed| -> Vec<u64> {
            let mut serial = source(Share { index, of: 2 }, 1, seed);
            (0..500).map(|_| serial.fill(UserId::NONE, Nanos::ZERO).0.random).collect()
        };
        let mut all = [bits(0, 1), bits(1, 1), bits(0, 2)].concat();
        let ones: u32 = all.iter().map(|bits| bits.count_ones()).sum();
        assert!((46_000..50_000).contains(&ones), "{ones} of 96,000");
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), 1500);
        assert_eq!(bits(0, 1), bits(0, 1), "a run repeats with its seed");
    }
}
