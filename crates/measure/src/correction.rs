//! HdrHistogram's correction after the fact (MEASUREMENT 1.2): an estimate, never a headline.
//!
//! A closed user that sends every E stops sampling while it waits; for each value v it missed, had it kept its
//! schedule, the values v−E, v−2E … down to E.

use crate::{Histogram, Nanos};

/// A copy of a histogram with the missing values added; unchanged where `expected` is zero.
pub fn corrected(raw: &Histogram, expected: Nanos) -> Histogram {
    let mut with = raw.clone();
    if expected == Nanos::ZERO {
        return with;
    }
    for (value, count) in raw.buckets() {
        let mut next = (value - expected).0;
        while next >= expected.0 {
            // All that fall into one bucket at once, so that a tiny interval costs no more than the buckets there are.
            let floor = Histogram::floor_of(Nanos(next)).0.max(expected.0);
            let steps = (next - floor) / expected.0;
            let middle = next - steps * expected.0 / 2;
            with.record_n(Nanos(middle), count * (steps + 1));
            next = (next - steps * expected.0).saturating_sub(expected.0);
        }
    }
    with
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agrees_with_the_vector_of_hdrhistogram() {
        let mut raw = Histogram::new();
        raw.record_n(Nanos::from_micros(1000), 10_000);
        raw.record(Nanos::from_micros(100_000_000));
        let fixed = corrected(&raw, Nanos::from_micros(10_000));
        assert_eq!(raw.count(), 10_001);
        // The stop is known to a bucket's width, 0.4 %, and so is the number of values it hid.
        assert!(fixed.count().abs_diff(20_000) <= 40, "{}", fixed.count());

        let check = |h: &Histogram, percent: f64, micros: f64| {
            let rank = crate::quantile::rank_of(h.count(), percent / 100.0);
            let found = h.at_rank(rank).expect("a value").as_micros_f64();
            assert!((found / micros - 1.0).abs() <= 0.004, "p{percent} is {found} us, not {micros}");
        };
        for (percent, micros) in [(30.0, 1000.0), (99.0, 1000.0), (99.99, 1000.0), (99.999, 1e8), (100.0, 1e8)] {
            check(&raw, percent, micros);
        }
        let vector = [(30.0, 1e3), (50.0, 1e3), (75.0, 5e7), (90.0, 8e7), (99.0, 9.8e7), (99.999, 1e8), (100.0, 1e8)];
        for (percent, micros) in vector {
            check(&fixed, percent, micros);
        }
    }

    #[test]
    fn adds_as_many_as_the_loop_would_whatever_the_interval() {
        for expected in [1, 3, 7, 100, 511, 512, 1000, 99_999, 100_000, 100_001] {
            let mut raw = Histogram::new();
            raw.record_n(Nanos(100_000), 2);
            let mut by_loop = raw.clone();
            let mut m = 100_000_u64.saturating_sub(expected);
            while m >= expected {
                by_loop.record_n(Nanos(m), 2);
                m = m.saturating_sub(expected);
            }
            let fixed = corrected(&raw, Nanos(expected));
            assert_eq!(fixed.count(), by_loop.count(), "every {expected} ns");
            let counts = |h: &Histogram| h.buckets().map(|(_, n)| n).collect::<Vec<_>>();
            assert_eq!(counts(&fixed), counts(&by_loop), "every {expected} ns");
        }
    }

    #[test]
    fn nothing_is_missing_from_quick_answers() {
        let mut raw = Histogram::new();
        raw.record_n(Nanos(100), 5);
        assert_eq!(corrected(&raw, Nanos(100)), raw);
        assert_eq!(corrected(&raw, Nanos::ZERO), raw);
    }
}
