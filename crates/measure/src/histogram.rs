//! A mergeable log-linear histogram of nanoseconds.
//!
//! Layout: each value below 512 ns has its own bucket. Above that, every power of two is divided into 256 equal
//! buckets, so that a bucket is at most 0.4 % wide and its middle is off by at most 0.2 %. Recording is a shift, a mask
//! and an add. Merging adds counters and loses nothing. (The layout is that of H2 histograms and of HdrHistogram at
//! base 2.)

mod packed;
mod spare;

use std::ops::Range;

use base64::Engine as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};

pub use packed::{HistogramRows, PackedHistogram};

use crate::Nanos;

/// Number of buckets per power of two, as a power of two: the parameter G of the functions below.
const GROUPING: u32 = 8;
/// Lower bound of the last bucket (73 minutes). The maximum and the sum are exact even for larger values.
const TOP: u64 = (1 << 42) - 1;
const BUCKETS: usize = buckets::<GROUPING>();

/// Returns the number of buckets.
const fn buckets<const G: u32>() -> usize {
    (((41 - G) as usize) << G) + (2 << G)
}

/// Counts of values in nanoseconds, with exact count, sum, minimum and maximum.
pub struct Histogram {
    /// Count of each bucket; empty before the first value, because most of the many histograms of a run stay empty.
    counts: Box<[u64]>,
    total: u64,
    sum: u128,
    min: u64,
    max: u64,
}

impl Default for Histogram {
    fn default() -> Self {
        Histogram::new()
    }
}

/// Keeps the memory for the next histogram.
impl Drop for Histogram {
    fn drop(&mut self) {
        if !self.counts.is_empty() {
            self.clear();
            spare::keep(std::mem::take(&mut self.counts));
        }
    }
}

/// Clones without touching the memory of empty buckets.
impl Clone for Histogram {
    fn clone(&self) -> Histogram {
        let mut copy = Histogram::new();
        copy.merge(self);
        copy
    }
}

impl PartialEq for Histogram {
    fn eq(&self, other: &Histogram) -> bool {
        (self.total, self.sum, self.min, self.max) == (other.total, other.sum, other.min, other.max)
            && self.counts[self.filled()] == other.counts[other.filled()]
    }
}

impl Eq for Histogram {}

impl std::fmt::Debug for Histogram {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Histogram({} values, {}..{})", self.total, Nanos(self.min()), Nanos(self.max))
    }
}

#[inline(always)]
fn index_of(value: u64) -> usize {
    index_in::<GROUPING>(value)
}

#[inline(always)]
fn index_in<const G: u32>(value: u64) -> usize {
    let value = value.min(TOP);
    // Below 2^(G+1) the shift is 0 and the index is the value.
    let shift = (63 - (value | (1 << G)).leading_zeros()) - G;
    ((shift as usize) << G) + (value >> shift) as usize
}

/// Returns the lowest value of a bucket and its width.
fn bucket(index: usize) -> (u64, u64) {
    bucket_in::<GROUPING>(index)
}

fn bucket_in<const G: u32>(index: usize) -> (u64, u64) {
    let shift = (index >> G).saturating_sub(1) as u32;
    let base = (index - ((shift as usize) << G)) as u64;
    (base << shift, 1 << shift)
}

/// Returns the middle of a bucket, its representative value.
fn middle_of(index: usize) -> u64 {
    middle_in::<GROUPING>(index)
}

fn middle_in<const G: u32>(index: usize) -> u64 {
    let (low, width) = bucket_in::<G>(index);
    low + width / 2
}

impl Histogram {
    /// Creates an empty histogram. Its first value allocates 72 KB, the only allocation it ever makes.
    pub fn new() -> Histogram {
        Histogram { counts: Box::default(), total: 0, sum: 0, min: u64::MAX, max: 0 }
    }

    /// Returns the counts for writing, allocated if necessary.
    fn counts_mut(&mut self) -> &mut [u64] {
        if self.counts.is_empty() {
            self.counts = spare::take();
        }
        &mut self.counts
    }

    /// Returns the buckets from that of the minimum to that of the maximum.
    fn filled(&self) -> Range<usize> {
        if self.total == 0 { 0..0 } else { index_of(self.min)..index_of(self.max) + 1 }
    }

    /// Records a value.
    #[inline]
    pub fn record(&mut self, value: Nanos) {
        self.record_n(value, 1);
    }

    /// Records a value `n` times.
    #[inline]
    pub fn record_n(&mut self, value: Nanos, n: u64) {
        if n == 0 {
            return;
        }
        let v = value.0;
        match self.counts.get_mut(index_of(v)) {
            Some(count) => *count += n,
            None => self.counts_mut()[index_of(v)] += n,
        }
        self.total += n;
        self.sum += u128::from(v) * u128::from(n);
        self.min = self.min.min(v);
        self.max = self.max.max(v);
    }

    /// Returns the number of recorded values.
    pub fn count(&self) -> u64 {
        self.total
    }
    /// Returns `true` if no value was recorded.
    pub fn is_empty(&self) -> bool {
        self.total == 0
    }
    /// Returns the exact sum of the values in nanoseconds.
    pub fn sum(&self) -> u128 {
        self.sum
    }
    /// Returns the exact mean; `None` if no value was recorded.
    pub fn mean(&self) -> Option<Nanos> {
        (self.total > 0).then(|| Nanos((self.sum / u128::from(self.total)) as u64))
    }
    /// Returns the exact minimum; 0 if no value was recorded.
    pub fn min(&self) -> u64 {
        if self.total == 0 { 0 } else { self.min }
    }
    /// Returns the exact maximum; 0 if no value was recorded.
    pub fn max(&self) -> u64 {
        self.max
    }

    /// Returns the value at a rank, 1 being the smallest; `None` if the rank is 0 or above the count.
    pub fn at_rank(&self, rank: u64) -> Option<Nanos> {
        if rank == 0 || rank > self.total {
            return None;
        }
        let mut seen = 0;
        let first = index_of(self.min);
        for (i, &n) in self.counts[first..].iter().enumerate() {
            seen += n;
            if seen >= rank {
                return Some(Nanos(middle_of(first + i).clamp(self.min, self.max)));
            }
        }
        Some(Nanos(self.max))
    }

    /// Returns the value at a rank among the values of two histograms, like [`Histogram::at_rank`] of both merged.
    pub fn at_rank_of_both(&self, other: &Histogram, rank: u64) -> Option<Nanos> {
        if rank == 0 || rank > self.total + other.total {
            return None;
        }
        let (min, max) = (self.min.min(other.min), self.max.max(other.max));
        let mut seen = 0;
        for i in index_of(min)..=index_of(max) {
            seen += [self, other].iter().filter_map(|of| of.counts.get(i)).sum::<u64>();
            if seen >= rank {
                return Some(Nanos(middle_of(i).clamp(min, max)));
            }
        }
        Some(Nanos(max))
    }

    /// Returns the lowest value that falls into the same bucket as `value`.
    pub fn floor_of(value: Nanos) -> Nanos {
        Nanos(bucket(index_of(value.0)).0)
    }

    /// Returns the upper bound of the values that fall into the same bucket as `value`.
    pub fn ceiling_of(value: Nanos) -> Nanos {
        let (low, width) = bucket(index_of(value.0));
        Nanos(low + width).max(value)
    }

    /// Returns `true` if both values fall into the same bucket.
    #[inline]
    pub fn same_bucket(a: Nanos, b: Nanos) -> bool {
        index_of(a.0) == index_of(b.0)
    }

    /// Returns a copy in which the values of `old`, a subset, are replaced by those of `new`. The copy's minimum and
    /// maximum are as exact as a bucket.
    pub fn with_replaced(&self, old: &Histogram, new: &Histogram) -> Histogram {
        let mut copy = Histogram::new();
        for (index, left) in self.filled().zip(self.without(old)) {
            if left > 0 {
                copy.record_n(Nanos(middle_of(index).clamp(self.min, self.max)), left);
            }
        }
        copy.merge(new);
        copy.sum = (self.sum + new.sum).saturating_sub(old.sum);
        copy
    }

    /// Returns the counts of the filled buckets without those of a subset. The subset may have been packed, in wider
    /// buckets: what a bucket lacks is taken from the nearest one.
    fn without(&self, subset: &Histogram) -> Vec<u64> {
        let filled = self.filled();
        let mut left = self.counts[filled.clone()].to_vec();
        let mut lacking = Vec::new();
        for index in subset.filled() {
            let (gone, at) = (subset.counts[index], index.clamp(filled.start, filled.end.max(1) - 1) - filled.start);
            let Some(count) = left.get_mut(at) else { break };
            let here = gone.min(*count);
            *count -= here;
            if here < gone {
                lacking.push((at, gone - here));
            }
        }
        for (at, mut gone) in lacking {
            for away in 1..left.len() {
                for near in [at.checked_sub(away), Some(at + away)].into_iter().flatten() {
                    let Some(count) = left.get_mut(near) else { continue };
                    let here = gone.min(*count);
                    (*count, gone) = (*count - here, gone - here);
                }
                if gone == 0 {
                    break;
                }
            }
        }
        left
    }

    /// Returns the number of values that are certainly at most `limit`: those whose whole bucket is, and all values if
    /// the exact maximum is.
    pub fn count_at_most(&self, limit: Nanos) -> u64 {
        if limit.0 >= self.max {
            return self.total;
        }
        let last = index_of(limit.0);
        let (low, width) = bucket(last);
        let whole = last + usize::from(low + (width - 1) <= limit.0);
        self.counts[..whole].iter().sum()
    }

    /// Returns the number of values in the bucket of `value` or below it.
    pub fn count_through(&self, value: Nanos) -> u64 {
        self.counts.iter().take(index_of(value.0) + 1).sum()
    }

    /// Returns the filled buckets in ascending order: middle value and count.
    pub fn buckets(&self) -> impl Iterator<Item = (Nanos, u64)> + '_ {
        let filled = self.filled();
        let counts = &self.counts[filled.clone()];
        let buckets = filled.zip(counts).filter(|&(_, &n)| n > 0);
        buckets.map(|(i, &n)| (Nanos(middle_of(i).clamp(self.min, self.max)), n))
    }

    /// Returns the filled buckets in ascending order: lowest value, width and count. Unlike the middles that
    /// [`Histogram::buckets`] returns, these do not depend on other values.
    pub fn cells(&self) -> impl Iterator<Item = (Nanos, Nanos, u64)> + '_ {
        let filled = self.filled();
        let counts = &self.counts[filled.clone()];
        filled.zip(counts).filter(|&(_, &n)| n > 0).map(|(index, &n)| {
            let (low, width) = bucket(index);
            (Nanos(low), Nanos(width), n)
        })
    }

    /// Adds the counts of another histogram.
    pub fn merge(&mut self, other: &Histogram) {
        if other.total == 0 {
            return;
        }
        let filled = other.filled();
        for (mine, theirs) in self.counts_mut()[filled.clone()].iter_mut().zip(&other.counts[filled]) {
            *mine += theirs;
        }
        self.total += other.total;
        self.sum += other.sum;
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
    }

    /// Removes all values and keeps the memory; touches only filled buckets.
    pub fn clear(&mut self) {
        let filled = self.filled();
        self.counts[filled].fill(0);
        (self.total, self.sum, self.min, self.max) = (0, 0, u64::MAX, 0);
    }

    /// Appends the compact form: `min, max, sum, pairs`, then a pair (gap to the previous bucket, count) for every
    /// filled bucket, all as LEB128 varints. An empty histogram has a pair count of zero and no pairs.
    pub fn encode(&self, into: &mut Vec<u8>) {
        put_varint(into, u128::from(self.min()));
        put_varint(into, u128::from(self.max));
        put_varint(into, self.sum);
        let filled = self.filled();
        let range = &self.counts[filled.clone()];
        put_varint(into, range.iter().filter(|&&n| n > 0).count() as u128);
        let mut previous = 0;
        for (i, &n) in range.iter().enumerate().filter(|&(_, &n)| n > 0) {
            let index = filled.start + i;
            put_varint(into, (index - previous) as u128);
            put_varint(into, u128::from(n));
            previous = index;
        }
    }

    /// Decodes the compact form at the front of `bytes` and advances past it; `None` if it is invalid.
    pub fn decode(bytes: &mut &[u8]) -> Option<Histogram> {
        let mut h = Histogram::new();
        h.decode_into(bytes)?;
        Some(h)
    }

    /// Adds the counts of a compact form at the front of `bytes` and advances past it; `None`, with nothing added, if
    /// it is invalid.
    pub fn decode_into(&mut self, bytes: &mut &[u8]) -> Option<()> {
        let head = HistogramHead::read(bytes)?;
        let pairs = *bytes;
        let count = head.check(bytes)?;
        let (total, sum) = (self.total.checked_add(count)?, self.sum.checked_add(head.sum)?);
        if count == 0 {
            return Some(());
        }
        let counts = self.counts_mut();
        for pair in HistogramPairs::new(pairs, head.pairs) {
            let (index, n) = pair?;
            counts[index] += n;
        }
        (self.total, self.sum) = (total, sum);
        self.min = self.min.min(head.min);
        self.max = self.max.max(head.max);
        Some(())
    }
}

/// The head of the compact form, which precedes the buckets.
struct HistogramHead {
    min: u64,
    max: u64,
    sum: u128,
    pairs: u128,
}

impl HistogramHead {
    fn read(bytes: &mut &[u8]) -> Option<HistogramHead> {
        let min = u64::try_from(get_varint(bytes)?).ok()?;
        let max = u64::try_from(get_varint(bytes)?).ok()?;
        Some(HistogramHead { min, max, sum: get_varint(bytes)?, pairs: get_varint(bytes)? })
    }

    /// Advances past the buckets and returns the number of values; `None` if they are truncated or contradict the head
    /// (the histogram relies on minimum and maximum to find the filled buckets).
    fn check(&self, bytes: &mut &[u8]) -> Option<u64> {
        if self.pairs == 0 {
            return (self.min == 0 && self.max == 0 && self.sum == 0).then_some(0);
        }
        let mut pairs = HistogramPairs::new(bytes, self.pairs);
        let (mut count, mut first, mut last) = (0u64, None, 0);
        for pair in pairs.by_ref() {
            let (index, n) = pair?;
            count = count.checked_add(n)?;
            first.get_or_insert(index);
            last = index;
        }
        *bytes = pairs.bytes;
        let bounds = first == Some(index_of(self.min)) && last == index_of(self.max) && self.min <= self.max;
        let (lowest, highest) = (u128::from(self.min) * u128::from(count), u128::from(self.max) * u128::from(count));
        (bounds && lowest <= self.sum && self.sum <= highest).then_some(count)
    }
}

/// An iterator over the buckets of the compact form: index and count, or `None` for invalid bytes.
struct HistogramPairs<'a> {
    bytes: &'a [u8],
    left: u128,
    previous: Option<usize>,
}

impl<'a> HistogramPairs<'a> {
    fn new(bytes: &'a [u8], left: u128) -> HistogramPairs<'a> {
        HistogramPairs { bytes, left, previous: None }
    }

    fn read(&mut self) -> Option<(usize, u64)> {
        let gap = usize::try_from(get_varint(&mut self.bytes)?).ok()?;
        let n = u64::try_from(get_varint(&mut self.bytes)?).ok()?;
        let index = self.previous.unwrap_or(0).checked_add(gap)?;
        let ascends = gap > 0 || self.previous.is_none();
        self.previous = Some(index);
        (ascends && n > 0 && index < BUCKETS).then_some((index, n))
    }
}

impl Iterator for HistogramPairs<'_> {
    type Item = Option<(usize, u64)>;

    fn next(&mut self) -> Option<Self::Item> {
        self.left = self.left.checked_sub(1)?;
        Some(self.read())
    }
}

fn put_varint(into: &mut Vec<u8>, mut v: u128) {
    while v >= 0x80 {
        into.push(v as u8 | 0x80);
        v >>= 7;
    }
    into.push(v as u8);
}

fn get_varint(bytes: &mut &[u8]) -> Option<u128> {
    let mut v = 0u128;
    for shift in (0..128).step_by(7) {
        let (&first, rest) = bytes.split_first()?;
        *bytes = rest;
        let part = u128::from(first & 0x7f);
        // The last byte can hold only two bits.
        if part << shift >> shift != part {
            return None;
        }
        v |= part << shift;
        if first & 0x80 == 0 {
            return Some(v);
        }
    }
    None
}

/// Serialized as text: base64 of the compact form.
impl Serialize for Histogram {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut bytes = Vec::new();
        self.encode(&mut bytes);
        to.serialize_str(&base64::engine::general_purpose::STANDARD_NO_PAD.encode(bytes))
    }
}

impl<'de> Deserialize<'de> for Histogram {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<'de, str>::deserialize(from)?;
        let bytes = base64::engine::general_purpose::STANDARD_NO_PAD
            .decode(text.as_bytes())
            .map_err(|_| D::Error::custom("a histogram is not base64"))?;
        let mut rest = bytes.as_slice();
        let histogram = Histogram::decode(&mut rest).filter(|_| rest.is_empty());
        histogram.ok_or_else(|| D::Error::custom("a histogram is cut short or damaged"))
    }
}

#[cfg(feature = "schema")]
#[cfg(feature = "schema")]
impl schemars::JsonSchema for Histogram {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Histogram".into()
    }
    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "type": "string",
            "description": "base64 (no padding) of varints: min, max, sum (ns), pairs, then per filled bucket the gap to the previous bucket's index and its count; buckets: index = value below 512 ns, else 256 equal ones per power of two"
        })
    }
}

#[cfg(test)]
mod tests;
