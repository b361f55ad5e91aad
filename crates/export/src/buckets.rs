//! Conversion of our histograms to the buckets of other systems: fixed bounds, and exponential ones.
//!
//! Each of our buckets is represented by its middle, so that all its values are exported in one bucket and no exported
//! count ever decreases, which readers would take for a restart. In both conversions, a value is off by at most 0.2 %
//! before it is assigned to a bucket of the other system.

use brunt_measure::Histogram;

/// Upper bounds of the classic buckets, in seconds: from a tenth of a millisecond to a minute.
pub(crate) const BOUNDS: [f64; 18] =
    [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0];

/// Threshold (seconds) below which values count as zero: there are none between zero and a nanosecond.
pub(crate) const ZERO: f64 = 1e-9;

/// Finest scale: 256 buckets per power of two, as many as ours. Prometheus supports no finer one.
const FINEST: i32 = 8;

/// Returns the cumulative counts: for each of [`BOUNDS`], the number of values up to it.
pub(crate) fn classic(of: &Histogram) -> [u64; BOUNDS.len()] {
    let mut counts = [0; BOUNDS.len()];
    for (low, width, n) in of.cells() {
        let middle = middle(low.0, width.0);
        if let Some(at) = BOUNDS.iter().position(|bound| middle <= *bound) {
            counts[at] += n;
        }
    }
    let mut below = 0;
    counts.map(|n| {
        below += n;
        below
    })
}

/// A histogram with exponential buckets: bucket `i` holds values above base^i and at most base^(i+1), with base
/// = 2^(2^-scale).
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct ExponentialBuckets {
    pub scale: i32,
    /// Number of zero values.
    pub zero: u64,
    /// Index of the first of `counts`.
    pub offset: i32,
    /// Counts of consecutive buckets, without gaps.
    pub counts: Vec<u64>,
}

impl ExponentialBuckets {
    /// Converts a histogram to at most `most` buckets, as fine as that allows.
    pub fn of(of: &Histogram, most: usize) -> ExponentialBuckets {
        let mut zero = 0;
        let mut cells: Vec<(i32, u64)> = Vec::new();
        for (low, width, n) in of.cells() {
            match (low.0, middle(low.0, width.0)) {
                (0, _) => zero += n,
                (_, middle) => cells.push((index(middle), n)),
            }
        }
        let (Some((first, _)), Some((last, _))) = (cells.first(), cells.last()) else {
            return ExponentialBuckets { scale: FINEST, zero, ..ExponentialBuckets::default() };
        };
        let coarser = (0..i32::BITS).find(|by| ((last >> by) - (first >> by)) < most as i32).unwrap_or(0);
        let (offset, end) = (first >> coarser, last >> coarser);
        let mut counts = vec![0; (end - offset) as usize + 1];
        for (index, n) in &cells {
            counts[((index >> coarser) - offset) as usize] += n;
        }
        ExponentialBuckets { scale: FINEST - coarser as i32, zero, offset, counts }
    }
}

/// Returns the value that represents one of our buckets, in seconds.
fn middle(low: u64, width: u64) -> f64 {
    (low as f64 + (width - 1) as f64 / 2.0) / 1e9
}

/// Returns the index of the bucket of the finest scale that contains a value.
fn index(seconds: f64) -> i32 {
    (seconds.log2() * f64::from(1 << FINEST)).ceil() as i32 - 1
}

#[cfg(test)]
mod tests {
    use brunt_measure::{Nanos, Rng};

    use super::*;

    fn histogram(values: &[u64]) -> Histogram {
        let mut histogram = Histogram::new();
        values.iter().for_each(|v| histogram.record(Nanos(*v)));
        histogram
    }

    #[test]
    fn a_value_lies_in_the_bucket_that_is_told_for_it() {
        let mut rng = Rng::new(3);
        for _ in 0..2000 {
            let value = (rng.f64() * 36.0).exp2() as u64 + 1;
            let told = ExponentialBuckets::of(&histogram(&[value]), 160);
            let base = f64::from(-told.scale).exp2().exp2();
            let (low, high) = (base.powi(told.offset), base.powi(told.offset + 1));
            let seconds = value as f64 / 1e9;
            assert_eq!((told.scale, told.counts.iter().sum::<u64>()), (8, 1));
            assert!(low * 0.998 <= seconds && seconds <= high * 1.002, "{value} ns in {low}..{high}");
        }
    }

    #[test]
    fn many_buckets_become_coarser_ones_and_nothing_is_lost() {
        let mut rng = Rng::new(5);
        let values: Vec<u64> = (0..5000).map(|_| (rng.f64() * 30.0 + 5.0).exp2() as u64).collect();
        for (most, scale) in [(10_000, 8), (160, 2), (20, -1)] {
            let told = ExponentialBuckets::of(&histogram(&values), most);
            assert!(told.counts.len() <= most && told.scale == scale, "{} at {}", told.counts.len(), told.scale);
            assert_eq!(told.counts.iter().sum::<u64>(), 5000);
            assert!(told.counts[0] > 0 && told.counts.last() > Some(&0));
        }
        let told = ExponentialBuckets::of(&histogram(&[0, 0, 7]), 160);
        assert_eq!((told.zero, told.counts), (2, vec![1]));
        assert_eq!(
            ExponentialBuckets::of(&Histogram::new(), 160),
            ExponentialBuckets { scale: 8, ..ExponentialBuckets::default() }
        );
    }

    #[test]
    fn what_was_told_of_a_bucket_never_becomes_less() {
        let (mut rng, mut histogram) = (Rng::new(9), Histogram::new());
        let (mut classic_before, mut fine_before) = ([0; BOUNDS.len()], ExponentialBuckets::of(&histogram, 100_000));
        for _ in 0..300 {
            histogram.record(Nanos((rng.f64() * 36.0).exp2() as u64));
            let (classic, fine) = (classic(&histogram), ExponentialBuckets::of(&histogram, 100_000));
            assert!(classic.iter().zip(&classic_before).all(|(now, before)| now >= before));
            for (at, n) in fine_before.counts.iter().enumerate() {
                let at = (fine_before.offset - fine.offset) as usize + at;
                assert!(fine.counts[at] >= *n);
            }
            (classic_before, fine_before) = (classic, fine);
        }
    }

    #[test]
    fn classic_buckets_hold_what_is_at_most_their_bound() {
        let ms = |n: u64| n * 1_000_000;
        let told = classic(&histogram(&[0, 50_000, ms(1) - 10_000, ms(3), ms(90), ms(70_000)]));
        let of = |bound: f64| told[BOUNDS.iter().position(|b| *b == bound).unwrap()];
        assert_eq!([of(0.0001), of(0.001), of(0.0025), of(0.005), of(0.1), of(60.0)], [2, 3, 3, 4, 5, 5]);
    }
}
