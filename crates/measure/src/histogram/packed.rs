//! Compact histograms for use by the thousand: recorded in rows of plain integers, and encoded in a few hundred bytes.
//!
//! Figures by name need a histogram per second and name. Buckets are twice as wide as those of [`Histogram`]: every
//! power of two is divided into 128 buckets, so that the middle of a bucket is off by at most 0.4 %. Count, sum,
//! minimum and maximum are exact.

use base64::Engine as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{BUCKETS, Histogram, get_varint, index_in, index_of, middle_in, put_varint};
use crate::Nanos;

const GROUPING: u32 = 7;
const WIDTH: usize = super::buckets::<GROUPING>();

/// Many histograms of equal size in one allocation. Recording allocates nothing, and memory pages without values are
/// never touched.
#[derive(Clone, Debug)]
pub struct HistogramRows {
    counts: Vec<u32>,
    heads: Vec<RowSummary>,
}

/// The exact figures of a row.
#[derive(Clone, Copy, Debug)]
struct RowSummary {
    sum: u128,
    min: u64,
    max: u64,
}

const EMPTY: RowSummary = RowSummary { sum: 0, min: u64::MAX, max: 0 };

impl HistogramRows {
    /// Creates `rows` empty histograms.
    pub fn new(rows: usize) -> HistogramRows {
        HistogramRows { counts: vec![0; rows * WIDTH], heads: vec![EMPTY; rows] }
    }

    /// Records a value in a row.
    #[inline]
    pub fn record(&mut self, row: usize, value: Nanos) {
        self.record_n(row, value, 1);
    }

    /// Records a value `n` times in a row. A bucket saturates at `u32::MAX`.
    #[inline]
    pub fn record_n(&mut self, row: usize, value: Nanos, n: u32) {
        let (head, v) = (&mut self.heads[row], value.0);
        let count = &mut self.counts[row * WIDTH + index_in::<GROUPING>(v)];
        let n = n.min(u32::MAX - *count);
        if n == 0 {
            return;
        }
        *count += n;
        head.sum += u128::from(v) * u128::from(n);
        head.min = head.min.min(v);
        head.max = head.max.max(v);
    }

    /// Appends a row in packed form; nothing if it is empty.
    pub fn pack(&self, row: usize, into: &mut Vec<u8>) {
        let head = self.heads[row];
        if head.min > head.max {
            return;
        }
        let filled = self.filled(row);
        let from = filled.start - row * WIDTH;
        let counts = self.counts[filled].iter().enumerate();
        let pairs = counts.filter(|(_, n)| **n > 0).map(|(at, n)| (from + at, u64::from(*n)));
        encode(into, head, pairs);
    }

    /// Removes the values of a row and keeps the memory; touches only filled buckets.
    pub fn clear(&mut self, row: usize) {
        if self.heads[row].min <= self.heads[row].max {
            let filled = self.filled(row);
            self.counts[filled].fill(0);
        }
        self.heads[row] = EMPTY;
    }

    /// Returns the range of the filled buckets of a row that is not empty.
    fn filled(&self, row: usize) -> std::ops::Range<usize> {
        let RowSummary { min, max, .. } = self.heads[row];
        let at = |value| row * WIDTH + index_in::<GROUPING>(value);
        at(min)..at(max) + 1
    }
}

/// A validated histogram in few bytes, which can be merged without unpacking.
///
/// The bytes are LEB128 varints: `grouping, min, max, sum`, then for each filled bucket in ascending order twice its
/// count, plus one if empty buckets precede it, whose number then follows. An empty histogram has no bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PackedHistogram(Box<[u8]>);

impl PackedHistogram {
    /// Validates packed bytes; `None` if they are invalid.
    pub fn from_bytes(bytes: &[u8]) -> Option<PackedHistogram> {
        if bytes.is_empty() {
            return Some(PackedHistogram::default());
        }
        let mut rest = bytes;
        let head = decode_head(&mut rest)?;
        let (mut count, mut last) = (0u64, 0);
        for pair in PackedPairs::new(rest, head.min) {
            let (index, n) = pair?;
            count = count.checked_add(n)?;
            last = index;
        }
        let bounds = head.min <= head.max && count > 0 && last == index_in::<GROUPING>(head.max);
        let at_least = u128::from(head.min).checked_mul(count.into())?;
        let at_most = u128::from(head.max).checked_mul(count.into())?;
        (bounds && at_least <= head.sum && head.sum <= at_most).then(|| PackedHistogram(bytes.into()))
    }

    /// Creates a histogram of one value, recorded `n` times.
    pub fn of(value: Nanos, n: u64) -> PackedHistogram {
        if n == 0 {
            return PackedHistogram::default();
        }
        let (mut bytes, v) = (Vec::new(), value.0);
        let head = RowSummary { sum: u128::from(v) * u128::from(n), min: v, max: v };
        encode(&mut bytes, head, [(index_in::<GROUPING>(v), n)].into_iter());
        PackedHistogram(bytes.into())
    }

    /// Returns the packed bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// Returns `true` if no value was recorded.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the number of recorded values.
    pub fn count(&self) -> u64 {
        self.pairs().map(|(_, n)| n).sum()
    }

    /// Adds the counts to a histogram, each at the middle of its bucket. Does nothing if the result would overflow.
    pub fn add_to(&self, to: &mut Histogram) {
        let Some(head) = decode_head(&mut &*self.0) else { return };
        let total = self.pairs().try_fold(to.total, |sum, (_, n)| sum.checked_add(n));
        let (Some(total), Some(sum)) = (total, to.sum.checked_add(head.sum)) else { return };
        for (index, n) in self.pairs() {
            to.counts_mut()[index_of(middle_in::<GROUPING>(index).clamp(head.min, head.max)).min(BUCKETS - 1)] += n;
        }
        // Minimum and maximum are exact, and must fall into buckets that are counted.
        (to.total, to.sum) = (total, sum);
        (to.min, to.max) = (to.min.min(head.min), to.max.max(head.max));
    }

    /// Returns the minimum, the maximum and the sum of the recorded values, in nanoseconds; `None` if there are none.
    pub fn bounds_and_sum(&self) -> Option<(u64, u64, u128)> {
        decode_head(&mut &*self.0).map(|head| (head.min, head.max, head.sum))
    }

    /// Returns the filled buckets in ascending order: middle value and count.
    pub fn buckets(&self) -> impl Iterator<Item = (Nanos, u64)> + '_ {
        let (min, max, _) = self.bounds_and_sum().unwrap_or_default();
        self.pairs().map(move |(index, n)| (Nanos(middle_in::<GROUPING>(index).clamp(min, max)), n))
    }

    /// Adds the counts of another histogram.
    pub fn merge(&mut self, other: &PackedHistogram) {
        let (Some(a), Some(b)) = (decode_head(&mut &*self.0), decode_head(&mut &*other.0)) else {
            if self.is_empty() {
                self.clone_from(other);
            }
            return;
        };
        let head = RowSummary { sum: a.sum.saturating_add(b.sum), min: a.min.min(b.min), max: a.max.max(b.max) };
        let (mut mine, mut theirs) = (self.pairs().peekable(), other.pairs().peekable());
        let both = std::iter::from_fn(|| match (mine.peek().copied(), theirs.peek().copied()) {
            (Some((i, n)), Some((k, m))) if i == k => {
                mine.next();
                theirs.next();
                Some((i, n.saturating_add(m)))
            }
            (Some((i, _)), Some((k, _))) if i < k => mine.next(),
            (Some(_), None) => mine.next(),
            _ => theirs.next(),
        });
        let mut bytes = Vec::with_capacity(self.0.len() + other.0.len());
        encode(&mut bytes, head, both);
        drop(mine);
        self.0 = bytes.into();
    }

    fn pairs(&self) -> impl Iterator<Item = (usize, u64)> + '_ {
        let mut rest = &*self.0;
        let min = decode_head(&mut rest).map_or(0, |head| head.min);
        PackedPairs::new(rest, min).map_while(|pair| pair)
    }
}

fn encode(into: &mut Vec<u8>, head: RowSummary, pairs: impl Iterator<Item = (usize, u64)>) {
    into.push(GROUPING as u8);
    [u128::from(head.min), u128::from(head.max), head.sum].into_iter().for_each(|v| put_varint(into, v));
    let mut expected = index_in::<GROUPING>(head.min);
    for (index, n) in pairs {
        let left_out = index - expected;
        put_varint(into, u128::from(n) << 1 | u128::from(left_out > 0));
        if left_out > 0 {
            put_varint(into, left_out as u128);
        }
        expected = index + 1;
    }
}

fn decode_head(bytes: &mut &[u8]) -> Option<RowSummary> {
    let (&grouping, rest) = bytes.split_first()?;
    *bytes = rest;
    let (min, max, sum) = (get_varint(bytes)?, get_varint(bytes)?, get_varint(bytes)?);
    let head = RowSummary { min: u64::try_from(min).ok()?, max: u64::try_from(max).ok()?, sum };
    (u32::from(grouping) == GROUPING).then_some(head)
}

/// An iterator over the buckets after the head: index and count, or `None` for invalid bytes.
struct PackedPairs<'a> {
    bytes: &'a [u8],
    expected: usize,
}

impl<'a> PackedPairs<'a> {
    fn new(bytes: &'a [u8], min: u64) -> PackedPairs<'a> {
        PackedPairs { bytes, expected: index_in::<GROUPING>(min) }
    }

    fn read(&mut self) -> Option<(usize, u64)> {
        let token = get_varint(&mut self.bytes)?;
        let left_out = if token & 1 == 1 { usize::try_from(get_varint(&mut self.bytes)?).ok()? } else { 0 };
        let index = self.expected.checked_add(left_out).filter(|index| *index < WIDTH)?;
        self.expected = index + 1;
        let n = u64::try_from(token >> 1).ok().filter(|n| *n > 0)?;
        (token & 1 == 0 || left_out > 0).then_some((index, n))
    }
}

impl Iterator for PackedPairs<'_> {
    type Item = Option<(usize, u64)>;

    fn next(&mut self) -> Option<Self::Item> {
        (!self.bytes.is_empty()).then(|| self.read())
    }
}

/// Serialized as text: base64 of the bytes.
impl Serialize for PackedHistogram {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&base64::engine::general_purpose::STANDARD_NO_PAD.encode(&self.0))
    }
}

impl<'de> Deserialize<'de> for PackedHistogram {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        use serde::de::Error as _;
        let text = std::borrow::Cow::<'de, str>::deserialize(from)?;
        let bytes = base64::engine::general_purpose::STANDARD_NO_PAD.decode(text.as_bytes());
        let packed = bytes.ok().and_then(|bytes| PackedHistogram::from_bytes(&bytes));
        packed.ok_or_else(|| D::Error::custom("a packed histogram is cut short or damaged"))
    }
}

#[cfg(feature = "schema")]
#[cfg(feature = "schema")]
impl schemars::JsonSchema for PackedHistogram {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Packed".into()
    }
    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "type": "string",
            "description": "base64 (no padding) of a byte 7 and varints: min, max, sum (ns), then per filled bucket, from that of min on, its count times two; plus one where empty buckets come before it, whose number follows; buckets: index = value below 256 ns, else 128 equal ones per power of two. Empty: nothing was counted"
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn packed(values: &[u64]) -> PackedHistogram {
        let mut rows = HistogramRows::new(3);
        rows.record(0, Nanos(1));
        values.iter().for_each(|v| rows.record(1, Nanos(*v)));
        let mut bytes = Vec::new();
        rows.pack(1, &mut bytes);
        let packed = PackedHistogram::from_bytes(&bytes).expect("what was packed is whole");
        rows.clear(1);
        let mut nothing = Vec::new();
        rows.pack(1, &mut nothing);
        assert!(nothing.is_empty(), "a cleared row holds nothing");
        rows.pack(0, &mut nothing);
        assert!(!nothing.is_empty(), "and another row is not touched");
        packed
    }

    fn times() -> impl Strategy<Value = Vec<u64>> {
        let time = prop_oneof![0..300u64, 1_000..100_000u64, 1_000_000..5_000_000_000u64, Just(u64::MAX >> 8)];
        proptest::collection::vec(time, 0..200)
    }

    proptest! {
        #[test]
        fn what_replaces_a_subset_keeps_the_count(values in times(), part in 0.0..1.0f64, by in 0..2_000_000u64) {
            let old = &values[..(values.len() as f64 * part) as usize];
            let new: Vec<u64> = old.iter().map(|v| v.saturating_sub(by)).collect();
            let [whole, old, new] = [&values[..], old, &new[..]].map(|values| {
                let mut histogram = Histogram::new();
                packed(values).add_to(&mut histogram);
                histogram
            });
            let replaced = whole.with_replaced(&old, &new);
            prop_assert_eq!(replaced.count(), values.len() as u64);
            for q in 1..=replaced.count() {
                let [least, most] = [&replaced, &whole].map(|h| h.at_rank(q).unwrap_or_default());
                prop_assert!(least.0 as f64 <= most.0 as f64 * 1.02 + 1.0, "{} {} {}", q, least.0, most.0);
            }
        }

        #[test]
        fn ranks_are_off_by_half_a_bucket_at_most_and_sums_are_exact(values in times()) {
            let (packed, mut read) = (packed(&values), Histogram::new());
            packed.add_to(&mut read);
            let mut whole = Histogram::new();
            values.iter().for_each(|v| whole.record(Nanos(*v)));
            prop_assert_eq!((read.count(), read.sum(), read.min(), read.max()), (whole.count(), whole.sum(), whole.min(), whole.max()));
            prop_assert_eq!(packed.count(), whole.count());
            for rank in 1..=whole.count() {
                let (a, b) = (read.at_rank(rank).unwrap().0, whole.at_rank(rank).unwrap().0);
                // Half a bucket of 1/128, and half of the other's of 1/256; values beyond the last bucket share it.
                prop_assert!(a.abs_diff(b) as f64 <= b as f64 * 0.0079 + 1.0 || b > super::super::TOP / 2, "{} {}", a, b);
            }
            let mut cleared = read.clone();
            cleared.clear();
            prop_assert_eq!(cleared, Histogram::new(), "every count lies between minimum and maximum");
        }

        #[test]
        fn merged_is_as_counted_together(a in times(), b in times()) {
            let mut merged = packed(&a);
            merged.merge(&packed(&b));
            prop_assert_eq!(&merged, &packed(&[a, b].concat()));
            prop_assert_eq!(PackedHistogram::from_bytes(merged.bytes()), Some(merged.clone()));
            let text = serde_json::to_string(&merged).unwrap();
            prop_assert_eq!(serde_json::from_str::<PackedHistogram>(&text).unwrap(), merged);
        }

        #[test]
        fn damaged_bytes_are_refused_or_mean_something_and_never_a_panic(values in times(), at in 0..500usize, bits in 1..256u32) {
            let mut bytes = packed(&values).bytes().to_vec();
            if let Some(byte) = bytes.get_mut(at) {
                *byte ^= bits as u8;
            }
            if let Some(packed) = PackedHistogram::from_bytes(&bytes) {
                let mut to = Histogram::new();
                packed.add_to(&mut to);
                prop_assert_eq!(to.count(), packed.count());
                to.clear();
                prop_assert_eq!(to, Histogram::new());
            }
        }
    }

    #[test]
    fn many_of_one_value_are_one_bucket() {
        let packed = PackedHistogram::of(Nanos::from_millis(3), 7);
        let mut read = Histogram::new();
        packed.add_to(&mut read);
        assert_eq!((read.count(), read.min(), read.max()), (7, 3_000_000, 3_000_000));
        assert!(PackedHistogram::of(Nanos::from_millis(3), 0).is_empty());
        assert_eq!(PackedHistogram::from_bytes(&[8, 0, 0, 0, 2]), None, "another layout");
    }
}
