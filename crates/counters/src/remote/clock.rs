//! The clock offset of another host, and its maximum error.

use brunt_measure::Nanos;

/// Inverse of the maximum drift between two unsynchronized clocks (100 ppm; a crystal has 10 to 50).
const DRIFT: u64 = 10_000;

/// The timestamps of an exchange, two on each clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ClockExchange {
    /// Time of the request, on our clock.
    pub sent: Nanos,
    /// Time at which the request arrived, on their clock.
    pub received: Nanos,
    /// Time at which the response was sent, on their clock.
    pub replied: Nanos,
    /// Time at which the response arrived, on our clock.
    pub arrived: Nanos,
}

/// A comparison of two clocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClockReading {
    /// Time of the comparison, on our clock.
    pub at: Nanos,
    /// Offset of their clock ahead of ours (nanoseconds).
    pub ahead_ns: i64,
    /// Maximum error of the offset in either direction (nanoseconds).
    pub error_ns: u64,
}

impl ClockExchange {
    /// Computes the offset; `None` if the timestamps are impossible.
    pub fn reading(&self) -> Option<ClockReading> {
        let [asked, heard, told, came] =
            [self.sent, self.received, self.replied, self.arrived].map(|at| i128::from(at.0));
        let round = (came - asked) - (told - heard);
        if came < asked || told < heard || round < 0 {
            return None;
        }
        let ahead = ((heard - asked) + (told - came)) / 2;
        let within_ns = u64::try_from(round / 2 + 1).ok()?;
        Some(ClockReading { at: self.arrived, ahead_ns: i64::try_from(ahead).ok()?, error_ns: within_ns })
    }
}

impl ClockReading {
    /// Returns the maximum error at a given time.
    fn error_at(&self, now: Nanos) -> u64 {
        self.error_ns.saturating_add(now.0.saturating_sub(self.at.0) / DRIFT)
    }

    /// Returns the better of two readings: the later one, unless its error is larger.
    pub(super) fn better_of(self, later: ClockReading) -> ClockReading {
        if later.error_ns <= self.error_at(later.at) { later } else { self }
    }

    /// Converts a time on their clock to ours; saturates if it is out of range.
    pub(super) fn to_local(self, theirs: i64) -> i64 {
        theirs.saturating_sub(self.ahead_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exchange(asked: u64, there: u64, spent: u64, back: u64, ahead: i64) -> ClockExchange {
        let theirs = |ours: u64| Nanos(ours.saturating_add_signed(ahead));
        let (heard, told) = (asked + there, asked + there + spent);
        ClockExchange {
            sent: Nanos(asked),
            received: theirs(heard),
            replied: theirs(told),
            arrived: Nanos(told + back),
        }
    }

    #[test]
    fn the_true_difference_is_within_half_the_round_trip() {
        for ahead in [0, 1, -1, 5_000_000_000, -9_000, 1 << 50] {
            for (there, spent, back) in [(100, 50, 100), (0, 0, 0), (1_000, 7, 3), (3, 9_000, 2_000)] {
                let reading = exchange(10_000_000, there, spent, back, ahead).reading().unwrap();
                assert!(reading.ahead_ns.abs_diff(ahead) <= reading.error_ns, "{reading:?} of {ahead}");
                assert_eq!(reading.error_ns, (there + back) / 2 + 1);
            }
        }
    }

    #[test]
    fn stamps_that_cannot_be_true_tell_nothing() {
        let good = exchange(1_000, 10, 10, 10, 7);
        assert!(good.reading().is_some());
        for wrong in [
            ClockExchange { arrived: Nanos(999), ..good },
            ClockExchange { replied: Nanos(good.received.0 - 1), ..good },
            ClockExchange { replied: Nanos(good.received.0 + 31), ..good },
            ClockExchange { received: Nanos(0), replied: Nanos(u64::MAX), ..good },
        ] {
            assert_eq!(wrong.reading(), None, "{wrong:?}");
        }
        let far =
            ClockExchange { sent: Nanos(0), received: Nanos(u64::MAX), replied: Nanos(u64::MAX), arrived: Nanos(1) };
        assert_eq!(far.reading(), None, "no clock is so far ahead");
    }

    #[test]
    fn a_reading_is_kept_until_its_age_makes_it_worse_than_a_new_one() {
        let reading =
            |at_s: u64, within_ns| ClockReading { at: Nanos::from_secs(at_s), ahead_ns: 0, error_ns: within_ns };
        let sharp = reading(0, 1_000);
        assert_eq!(sharp.better_of(reading(1, 200_000)), sharp);
        assert_eq!(sharp.better_of(reading(1, 900)), reading(1, 900));
        // In ten seconds clocks drift by a millisecond at most.
        assert_eq!(sharp.better_of(reading(10, 1_000_000)), reading(10, 1_000_000));
        assert_eq!(sharp.better_of(reading(9, 1_000_000)), sharp);
    }
}
