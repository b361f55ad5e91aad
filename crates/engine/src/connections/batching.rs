//! Batching of arrivals: how many answers to wait for before reading them together.
//!
//! A wakeup for each answer costs more than reading it, so a network that can wait for several is made to do so, within
//! a bound: at the measured rate of arrivals, waiting must not add more than 2 % to service times, not even to the
//! shortest. The rate is measured at the beginning of every second, without such waiting, which would distort it. If
//! fewer requests are in flight later in the second, arrivals are read one by one again.

use brunt_contract::Network;
use brunt_measure::Nanos;

use crate::recorder::Recorder;

/// Time at the beginning of each second during which arrivals are read one by one.
const MEASURE_TIME: Nanos = Nanos::from_millis(20);
/// Minimum number of answers needed to estimate a short service time.
const MIN_ANSWERS: u64 = 200;
/// Divisor of a short service time that gives the longest time an answer waits for those read with it: 4 %. The average
/// wait is half of that.
const WAIT_DIVISOR: u64 = 25;
/// Divisor of the number of answers that gives the rank of a short service time: one answer in 20 takes no longer.
const SHORT_RANK_DIVISOR: u64 = 20;
/// Maximum number of arrivals read together; more would not save anything.
const MAX_TOGETHER: u32 = 16;
/// Number of connections required for each arrival waited for, because some connections may be silent.
const CONNECTIONS_PER_ARRIVAL: u32 = 2;

/// Arrivals counted since the second began, and the resulting decision.
#[derive(Clone, Copy, Debug)]
pub(super) struct Batching {
    from: Nanos,
    /// Time at which the count is evaluated; `MAX` afterwards.
    until: Nanos,
    /// Number of reads that returned bytes.
    reads: u64,
    /// Minimum number of requests in flight for which arrivals are waited for together; 0 if they are read one by one.
    in_flight: u64,
}

impl Batching {
    pub const NONE: Batching = Batching { from: Nanos::ZERO, until: Nanos::MAX, reads: 0, in_flight: 0 };

    /// Counts a read that returned bytes.
    #[inline]
    pub fn count_read(&mut self) {
        self.reads += 1;
    }

    /// Begins a second: arrivals are read one by one until enough were counted.
    pub fn begin_second(&mut self, now: Nanos, net: &mut impl Network) {
        net.wait_for_at_least(1);
        *self = Batching { from: now, until: now + MEASURE_TIME, ..Batching::NONE };
    }

    /// Evaluates the count when due: if arrivals are dense enough, they are waited for together while enough requests
    /// are in flight.
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
            // Allows for an eighth that were answered and whose users have not sent the next request yet.
            self.in_flight = recorder.in_flight() - recorder.in_flight() / 8;
            net.wait_for_at_least(arrivals);
        }
    }
}

/// Returns the number of arrivals to wait for together, given that `reads` came within `span`.
fn arrivals_together(reads: u64, span: Nanos, short: Nanos, connections: u32) -> u32 {
    // Number of arrivals expected within the allowed fraction of a short service time, in addition to the first.
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
            // A hundred users with 1 ms per request: one read every 10 µs, four in 40 µs.
            (2_000, 20, Nanos(1_000_000), 100, 5),
            // Ten of these users.
            (200, 20, Nanos(1_000_000), 10, 1),
            // Slow requests among fast ones: the fast ones decide.
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
