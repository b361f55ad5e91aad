//! Histograms in the format of pages: a list of numbers, at the resolution that fits the size limit.

use std::collections::BTreeMap;

use brunt_measure::{Histogram, PackedHistogram};

/// Finest and coarsest number of buckets per power of two, as a power of two. The finest is that of the record, with
/// which a decoded value is off by at most 0.2 %; the error doubles with each step (1.6 % with 32 buckets).
pub(super) const FINEST: u32 = 8;
pub(super) const COARSEST: u32 = 4;

/// Returns the bucket of a value, with `1 << grouping` buckets per power of two.
pub(super) fn bucket_of(value: u64, grouping: u32) -> u64 {
    const TOP: u64 = (1 << 42) - 1;
    let value = value.min(TOP);
    let shift = 63 - (value | (1 << grouping)).leading_zeros() - grouping;
    (u64::from(shift) << grouping) + (value >> shift)
}

/// Returns the numbers of a histogram at this bucket size: `[min, max, sum in µs, first bucket, its count, then for each
/// further bucket its distance from the previous one, and its count]`; empty without values. Times other than the sum are
/// in nanoseconds.
pub(super) fn numbers(histogram: &Histogram, grouping: u32) -> Vec<u64> {
    if histogram.is_empty() {
        return Vec::new();
    }
    let sum_us = u64::try_from(histogram.sum().saturating_add(500) / 1000).unwrap_or(u64::MAX);
    let mut all = vec![histogram.min(), histogram.max(), sum_us];
    let mut before = None;
    // A coarse bucket consists of consecutive fine ones.
    for (low, _, n) in histogram.cells() {
        let bucket = bucket_of(low.0, grouping);
        match (before.replace(bucket), all.last_mut()) {
            (Some(last), Some(count)) if last == bucket => *count = count.saturating_add(n),
            (last, _) => all.extend([bucket - last.unwrap_or(0), n]),
        }
    }
    all
}

/// A sum of packed histograms at a coarse resolution, of which only the filled buckets are held.
#[derive(Clone, Debug, Default)]
pub(super) struct CoarseHistogram {
    min: u64,
    max: u64,
    sum: u128,
    counts: BTreeMap<u64, u64>,
}

impl CoarseHistogram {
    /// Adds a histogram, with `1 << grouping` buckets per power of two: the same for all that are added.
    pub fn add(&mut self, packed: &PackedHistogram, grouping: u32) {
        let Some((min, max, sum)) = packed.bounds_and_sum() else { return };
        self.min = if self.counts.is_empty() { min } else { self.min.min(min) };
        (self.max, self.sum) = (self.max.max(max), self.sum.saturating_add(sum));
        for (middle, n) in packed.buckets() {
            let count = self.counts.entry(bucket_of(middle.0, grouping)).or_default();
            *count = count.saturating_add(n);
        }
    }

    /// Returns the same numbers as [`numbers`].
    pub fn numbers(&self) -> Vec<u64> {
        if self.counts.is_empty() {
            return Vec::new();
        }
        let sum_us = u64::try_from(self.sum.saturating_add(500) / 1000).unwrap_or(u64::MAX);
        let mut all = vec![self.min, self.max, sum_us];
        let mut before = 0;
        for (bucket, n) in &self.counts {
            all.extend([bucket - std::mem::replace(&mut before, *bucket), *n]);
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use brunt_measure::Nanos;

    use super::*;

    #[test]
    fn the_finest_buckets_are_those_of_the_record() {
        for value in [0, 1, 511, 512, 513, 1_000_000, 123_456_789, u64::MAX] {
            let floor = Histogram::floor_of(Nanos(value));
            assert_eq!(bucket_of(value, FINEST), bucket_of(floor.0, FINEST), "{value}");
            assert!(floor.0 == 0 || bucket_of(floor.0 - 1, FINEST) < bucket_of(floor.0, FINEST), "{value}");
        }
        assert_eq!(bucket_of(1 << 20, COARSEST), (16 << COARSEST) + 16);
    }

    #[test]
    fn a_sum_of_packed_histograms_has_the_numbers_of_an_unpacked_one() {
        let (mut coarse, mut unpacked) = (CoarseHistogram::default(), Histogram::new());
        assert!(coarse.numbers().is_empty());
        for (value, n) in [(700, 3), (1_000_000, 1), (5, 2), (123_456_789, 7), (1_003_000, 1)] {
            let packed = PackedHistogram::of(Nanos(value), n);
            coarse.add(&packed, 5);
            packed.add_to(&mut unpacked);
        }
        assert_eq!(coarse.numbers(), numbers(&unpacked, 5));
    }

    #[test]
    fn numbers_hold_every_count() {
        let mut histogram = Histogram::new();
        for value in [5, 5, 700, 1_000_000] {
            histogram.record(Nanos(value));
        }
        assert_eq!(numbers(&histogram, 8), [5, 1_000_000, 1001, 5, 2, 601, 1, 2698, 1]);
        let coarse = numbers(&histogram, 4);
        let counts: u64 = coarse[3..].chunks(2).map(|pair| pair[1]).sum();
        assert_eq!((counts, coarse[3]), (4, 5));
        assert!(numbers(&Histogram::new(), 8).is_empty());
    }
}
