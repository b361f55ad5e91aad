//! A distribution for display: bins of equal width on a logarithmic scale, with round limits.
//!
//! The limits come from the finest of several series of round numbers that needs at most a dozen rows, so that a narrow
//! distribution shows its shape and a wide one its far tail.

use brunt_measure::{Histogram, Nanos};

const MOST_ROWS: usize = 12;
/// Inverse of half a bucket's relative width. A histogram reports the middle of a bucket, which may begin up to 1/512
/// lower: a request of 2 ms, reported as slightly more, still counts as `≤ 2 ms`.
const BUCKET: u64 = 512;
const SERIES: [&[u64]; 6] = [
    &[
        100, 110, 120, 130, 150, 160, 180, 200, 220, 240, 270, 300, 330, 360, 390, 430, 470, 510, 560, 620, 680, 750,
        820, 910,
    ],
    &[100, 120, 150, 180, 220, 270, 330, 390, 470, 560, 680, 820],
    &[100, 150, 200, 300, 500, 700],
    &[100, 200, 500],
    &[100, 300],
    &[100],
];

/// A bin of a distribution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bin {
    /// Upper limit of its values (within the precision of the histogram, 0.2 %).
    pub up_to: Nanos,
    /// Number of values.
    pub count: u64,
}

/// Returns the bins of a histogram in ascending order, including empty ones between filled ones.
pub fn bins(h: &Histogram) -> Vec<Bin> {
    if h.is_empty() {
        return Vec::new();
    }
    let limits = SERIES.iter().map(|series| limits(series, h.min(), h.max()));
    let limits = limits.into_iter().find(|l| l.len() <= MOST_ROWS).unwrap_or_else(|| limits_of_decades(h));
    let mut bins: Vec<Bin> = limits.into_iter().map(|l| Bin { up_to: Nanos(l), count: 0 }).collect();
    let mut at = 0;
    for (value, count) in h.buckets() {
        while at + 1 < bins.len() && value.0 - value.0 / BUCKET > bins[at].up_to.0 {
            at += 1;
        }
        bins[at].count += count;
    }
    bins
}

fn limits_of_decades(h: &Histogram) -> Vec<u64> {
    limits(SERIES[SERIES.len() - 1], h.min(), h.max())
}

/// Returns the round numbers from the first that is at least `min` to the first that is at least `max`.
fn limits(series: &[u64], min: u64, max: u64) -> Vec<u64> {
    let mut out = Vec::new();
    for decade in 0..18u32 {
        for &round in series {
            let limit = round.saturating_mul(10u64.pow(decade));
            if limit >= min {
                out.push(limit);
                if limit >= max {
                    return out;
                }
            }
        }
    }
    out
}

/// Returns a bar of `count` relative to `most`, at most `cells` long; any nonzero count is visible.
pub fn bar(count: u64, most: u64, cells: usize) -> String {
    const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    if count == 0 || most == 0 {
        return String::new();
    }
    let eighths = (u128::from(count) * cells as u128 * 8 / u128::from(most)).max(1) as usize;
    "█".repeat(eighths / 8) + EIGHTHS[eighths % 8]
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn shown(values: &[(u64, u64)]) -> String {
        let mut h = Histogram::new();
        values.iter().for_each(|&(us, n)| h.record_n(Nanos::from_micros(us), n));
        let rows = bins(&h).into_iter().map(|b| format!("{}:{}", brunt_measure::format_duration(b.up_to), b.count));
        rows.collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn round_limits_as_fine_as_there_is_room() {
        assert_eq!(shown(&[]), "");
        assert_eq!(shown(&[(1000, 5)]), "1.00 ms:5");
        assert_eq!(shown(&[(1000, 5), (1250, 7)]), "1.00 ms:5 1.10 ms:0 1.20 ms:0 1.30 ms:7");
        assert_eq!(
            shown(&[(60, 1), (5000, 2)]),
            "70.0 µs:1 100 µs:0 150 µs:0 200 µs:0 300 µs:0 500 µs:0 700 µs:0 1.00 ms:0 1.50 ms:0 2.00 ms:0 3.00 ms:0 5.00 ms:2"
        );
        assert_eq!(
            shown(&[(40, 9), (1_000_000, 1)]),
            "100 µs:9 300 µs:0 1.00 ms:0 3.00 ms:0 10.0 ms:0 30.0 ms:0 100 ms:0 300 ms:0 1.00 s:1"
        );
    }

    #[test]
    fn bars_show_whatever_is_there() {
        assert_eq!(bar(0, 10, 10), "");
        assert_eq!(bar(1, 1_000_000, 10), "▏");
        assert_eq!(bar(5, 10, 10), "█████");
        assert_eq!(bar(10, 10, 10), "██████████");
    }

    proptest! {
        #[test]
        fn every_value_is_in_a_bin(values in proptest::collection::vec(0u64..=u64::MAX / 2, 1..50)) {
            let mut h = Histogram::new();
            values.iter().for_each(|&v| h.record(Nanos(v)));
            let bins = bins(&h);
            prop_assert!(bins.len() <= 20);
            prop_assert_eq!(bins.iter().map(|b| b.count).sum::<u64>(), h.count());
        }
    }
}
