//! A weighted choice among requests, in constant time and without allocation (alias method, Vose 1991).

use measure::Rng;

/// Chooses indices at random with given weights.
#[derive(Clone, Debug)]
pub struct Mix {
    /// For each column: the chance (of 2^32) to stay in it, and where to go otherwise.
    columns: Vec<(u64, usize)>,
    rng: Rng,
}

/// One, in the fixed point of the chances.
const ONE: f64 = (1u64 << 32) as f64;

impl Mix {
    /// A choice among `weights.len()` entries. Weights need not add up to one; those that are not positive numbers are
    /// never chosen, unless none is positive: then all are equal.
    pub fn new(weights: &[f64], seed: u64) -> Mix {
        let mut weights: Vec<f64> = weights.iter().map(|&w| if w.is_finite() { w.max(0.0) } else { 0.0 }).collect();
        // Divided by the greatest first, so that huge weights do not add up to infinity.
        let greatest = weights.iter().copied().fold(0.0, f64::max);
        weights.iter_mut().for_each(|w| *w = if greatest > 0.0 { *w / greatest } else { 1.0 });
        Mix { columns: columns(&weights), rng: Rng::new(seed) }
    }

    /// The index of the next entry; 0 where there is but one (or none), and then no random number is drawn.
    #[inline]
    #[expect(clippy::should_implement_trait, reason = "a mix never ends, so callers are spared the Option")]
    pub fn next(&mut self) -> usize {
        let n = self.columns.len();
        if n <= 1 {
            return 0;
        }
        let column = self.rng.below(n as u64) as usize;
        let (stay, other) = self.columns[column];
        if self.rng.next_u64() >> 32 < stay { column } else { other }
    }
}

/// Columns of equal height, each holding at most two entries.
fn columns(weights: &[f64]) -> Vec<(u64, usize)> {
    let mean = weights.iter().sum::<f64>() / weights.len() as f64;
    let mut heights: Vec<f64> = weights.iter().map(|w| w / mean).collect();
    let (mut low, mut high): (Vec<usize>, Vec<usize>) = (0..heights.len()).partition(|&i| heights[i] < 1.0);
    let mut columns: Vec<(u64, usize)> = (0..heights.len()).map(|i| (1 << 32, i)).collect();
    while let (Some(&giver), Some(taker)) = (high.last(), low.pop()) {
        columns[taker] = ((heights[taker] * ONE) as u64, giver);
        heights[giver] -= 1.0 - heights[taker];
        if heights[giver] < 1.0 {
            high.pop();
            low.push(giver);
        }
    }
    columns
}
