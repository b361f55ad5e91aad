//! The number of answers that may be waited for before they are read together.
//!
//! A wakeup for each answer costs more than reading it, so a network that can wait for several is asked to, within a
//! bound: by the density of arrivals, waiting must not add more than 2 % to the service times, not even to the
//! shortest. The beginning of every second is measured without waiting, because a density caused by our own waiting
//! proves nothing. When fewer are in flight than were then, arrivals are not waited for.

use brunt_contract::Network;
use brunt_measure::Nanos;

use crate::recorder::Recorder;

/// Time at the beginning of each second without waiting.
const MEASURE_TIME: Nanos = Nanos::from_millis(20);
/// Minimum number of answers from which a short service time can be estimated.
const MIN_ANSWERS: u64 = 200;
/// Divisor of a short service time that the first of those read together may wait: 4 %; on average they wait half of
/// it.
const WAIT_DIVISOR: u64 = 25;
/// Divisor of the rank of a short service time: one in 20 is no longer.
const SHORT_RANK_DIVISOR: u64 = 20;
/// Maximum number read together: more save nothing.
const MAX_TOGETHER: u32 = 16;
/// Number of connections per arrival that may be waited for: the others may be silent.
const CONNECTIONS_PER_ARRIVAL: u32 = 2;

/// Arrivals counted since the second began, and the decision made from them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Batching {
    from: Nanos,
    /// Time at which the count is evaluated; `MAX` once it was.
    until: Nanos,
    /// Reads that brought something.
    reads: u64,
    /// Minimum number of requests in flight for arrivals to be waited for together; 0 if they are not.
    in_flight: u64,
}

impl Batching {
    pub const NONE: Batching = Batching { from: Nanos::ZERO, until: Nanos::MAX, reads: 0, in_flight: 0 };

    /// Counts a read that brought bytes.
    #[inline]
    pub fn count_read(&mut self) {
        self.reads += 1;
    }

    /// Begins a second: waits for single arrivals until enough were counted.
    pub fn begin_second(&mut self, now: Nanos, net: &mut impl Network) {
        net.wait_for_at_least(1);
        *self = Batching { from: now, until: now + MEASURE_TIME, ..Batching::NONE };
    }

    /// Evaluates the count when it is due: arrivals that come close enough are waited for together, while enough
    /// requests are in flight.
    #[inline]
    pub fn evaluate_if_due(&mut self, now: Nanos, net: &mut impl Network, recorder: &mut Recorder, connections: u32) {
        if now >= self.until {
            self.evaluate(now, net, recorder, connections);
        } else if recorder.in_flight() < self.in_flight {
            self.in_flight = 0;
            net.wait_for_at_least(1);
        }
    }

    #[cold]
    fn evaluate(&mut self, now: Nanos, net: &mut impl Network, recorder: &mut Recorder, connections: u32) {
        let service = &recorder.times().service;
        let answers = service.count();
        let Some(short) = service.at_rank(answers.div_ceil(SHORT_RANK_DIVISOR)).filter(|_| answers >= MIN_ANSWERS)
        else {
            return self.begin_second(now, net);
        };
        let Batching { from, reads, .. } = std::mem::replace(self, Batching::NONE);
        let arrivals = arrivals_together(reads, now - from, short, connections);
        if arrivals > 1 {
            // An eighth has been answered and has not been sent again yet.
            self.in_flight = recorder.in_flight() - recorder.in_flight() / 8;
            net.wait_for_at_least(arrivals);
        }
    }
}

/// Returns the number of arrivals to wait for together, where `reads` came within `span`.
fn arrivals_together(reads: u64, span: Nanos, short: Nanos, connections: u32) -> u32 {
    // Those that come in the allowed part of a short service time, in addition to the one that is waited for anyway.
    let part = u128::from(span.0.max(1)) * u128::from(WAIT_DIVISOR);
    let more = (u128::from(reads) * u128::from(short.0) + part / 2) / part;
    (1 + more).min(u128::from((connections / CONNECTIONS_PER_ARRIVAL).clamp(1, MAX_TOGETHER))) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_are_waited_for_than_come_within_four_percent_of_a_short_service_time() {
        let ms = Nanos::from_millis;
        let table = [
            // A hundred users that take 1 ms each: a read every 10 µs, four in 40 µs.
            (2_000, 20, Nanos(1_000_000), 100, 5),
            // Ten of them.
            (200, 20, Nanos(1_000_000), 10, 1),
            // Slow ones among fast ones: the fast ones decide.
            (220, 20, Nanos(1_000_000), 100, 1),
            // Ten thousand users.
            (2_000, 20, Nanos(100_000_000), 10_000, 16),
            // Two connections: the other one may be silent.
            (2_000, 20, Nanos(1_000_000), 2, 1),
            (2_000, 20, Nanos(1_000_000), 6, 3),
            (0, 0, Nanos(0), 0, 1),
        ];
        for (reads, span, short, connections, expected) in table {
            assert_eq!(arrivals_together(reads, ms(span), short, connections), expected, "{reads} reads");
        }
    }
}
