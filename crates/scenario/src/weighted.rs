//! A weighted choice among requests, in constant time and without allocation (alias method, Vose 1991).

use std::sync::Arc;

use brunt_measure::Rng;

/// A random choice of indices with given weights.
#[derive(Clone, Debug)]
pub struct WeightedChoice {
    entries: WeightTable,
    rng: Rng,
}

/// The entries to choose from. There may be a million URLs, so clones share the table.
#[derive(Clone, Debug)]
enum WeightTable {
    /// Number of entries of equal weight, which need no table.
    Equal(u64),
    /// For each column, the probability of staying in it (times 2^32), and the alternative; the alternative of a full
    /// column is the column itself.
    Columns(Arc<[(u32, u32)]>),
}

/// The value 1 in the fixed-point format of the probabilities.
const ONE: f64 = (1u64 << 32) as f64;

impl WeightedChoice {
    /// Creates a choice among `weights.len()` entries. Weights need not add up to one. An entry whose weight is not a
    /// positive number is never chosen, unless no weight is positive, in which case all entries are equally likely.
    pub fn new(weights: &[f64], seed: u64) -> WeightedChoice {
        let rng = Rng::new(seed);
        if weights.windows(2).all(|pair| pair[0] == pair[1]) {
            return WeightedChoice { entries: WeightTable::Equal(weights.len() as u64), rng };
        }
        let mut weights: Vec<f64> = weights.iter().map(|&w| if w.is_finite() { w.max(0.0) } else { 0.0 }).collect();
        // Weights are first divided by the greatest, so that huge ones do not add up to infinity.
        let greatest = weights.iter().copied().fold(0.0, f64::max);
        weights.iter_mut().for_each(|w| *w = if greatest > 0.0 { *w / greatest } else { 1.0 });
        WeightedChoice { entries: WeightTable::Columns(columns(weights).into()), rng }
    }

    /// Returns the same choice with another seed.
    pub fn seeded(&self, seed: u64) -> WeightedChoice {
        WeightedChoice { entries: self.entries.clone(), rng: Rng::new(seed) }
    }

    /// Returns the index of the next entry; 0 if there is at most one, in which case no random number is drawn.
    #[inline]
    #[expect(clippy::should_implement_trait, reason = "a mix never ends, so callers are spared the Option")]
    pub fn next(&mut self) -> usize {
        self.entries.draw(&mut self.rng)
    }

    /// Like [`WeightedChoice::next`], with an external random number generator.
    pub fn next_from(&self, rng: &mut Rng) -> usize {
        self.entries.draw(rng)
    }
}

impl WeightTable {
    #[inline]
    fn draw(&self, rng: &mut Rng) -> usize {
        match self {
            WeightTable::Equal(..=1) => 0,
            WeightTable::Equal(entries) => rng.below(*entries) as usize,
            WeightTable::Columns(columns) => {
                let column = rng.below(columns.len() as u64) as usize;
                let (stay, other) = columns[column];
                if rng.next_u64() >> 32 < u64::from(stay) { column } else { other as usize }
            }
        }
    }
}

/// Builds columns of equal height, each holding at most two entries.
fn columns(weights: Vec<f64>) -> Vec<(u32, u32)> {
    let mean = weights.iter().sum::<f64>() / weights.len() as f64;
    let mut heights = weights;
    heights.iter_mut().for_each(|height| *height /= mean);
    let all = 0..heights.len() as u32;
    let (mut low, mut high): (Vec<u32>, Vec<u32>) = all.clone().partition(|&i| heights[i as usize] < 1.0);
    let mut columns: Vec<(u32, u32)> = all.map(|i| (u32::MAX, i)).collect();
    while let (Some(&giver), Some(taker)) = (high.last(), low.pop()) {
        let height = heights[taker as usize];
        columns[taker as usize] = ((height * ONE) as u32, giver);
        heights[giver as usize] -= 1.0 - height;
        if heights[giver as usize] < 1.0 {
            high.pop();
            low.push(giver);
        }
    }
    columns
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_follow_the_weights() {
        let table: [&[f64]; 8] = [
            &[2.0, 1.0],
            &[1.0, 2.0],
            &[1.0, 1.0, 1.0],
            &[1.0, 0.0, 3.0],
            &[0.1, 0.2, 0.3, 0.4],
            &[1000.0, 1.0, 1.0, 1.0, 500.0],
            &[f64::MAX, f64::MAX, f64::MAX / 2.0],
            &[0.5; 100],
        ];
        let draws = 200_000;
        for weights in table {
            let mut mix = WeightedChoice::new(weights, 42);
            let mut counts = vec![0u32; weights.len()];
            (0..draws).for_each(|_| counts[mix.next()] += 1);
            let sum: f64 = weights.iter().map(|w| w / f64::MAX.sqrt()).sum();
            for (i, &count) in counts.iter().enumerate() {
                let share = weights[i] / f64::MAX.sqrt() / sum;
                let (expected, found) = (share * f64::from(draws), f64::from(count));
                // Five standard deviations of a binomial count; exactly zero if the weight is zero.
                let allowed = 5.0 * (f64::from(draws) * share * (1.0 - share)).sqrt();
                assert!((found - expected).abs() <= allowed, "{weights:?}[{i}]: {found} not {expected}");
            }
        }
    }

    #[test]
    fn columns_hold_exactly_the_weights() {
        for weights in [vec![2.0, 1.0], vec![1.0, 0.0, 7.0, 3.5], vec![1e-9, 1.0], vec![5.0; 7]] {
            let columns = columns(weights.clone());
            let mut shares = vec![0.0; weights.len()];
            for (i, &(stay, other)) in columns.iter().enumerate() {
                shares[i] += f64::from(stay) / ONE;
                shares[other as usize] += 1.0 - f64::from(stay) / ONE;
            }
            let scale = weights.len() as f64 / weights.iter().sum::<f64>();
            for (share, weight) in shares.iter().zip(&weights) {
                assert!((share - weight * scale).abs() < 1e-8, "{weights:?}: {shares:?}");
            }
        }
    }

    #[test]
    fn a_single_entry_draws_nothing() {
        for weights in [&[5.0][..], &[]] {
            let mut mix = WeightedChoice::new(weights, 1);
            assert_eq!([mix.next(), mix.next()], [0, 0]);
            assert_eq!(mix.rng, Rng::new(1));
        }
    }

    #[test]
    fn weights_that_are_none_are_never_chosen_unless_all_are() {
        let mut mix = WeightedChoice::new(&[f64::NAN, 1.0, -3.0, f64::INFINITY], 1);
        assert!((0..1000).all(|_| mix.next() == 1));
        let mut mix = WeightedChoice::new(&[0.0, 0.0], 1);
        let second = (0..1000).filter(|_| mix.next() == 1).count();
        assert!((400..600).contains(&second), "{second}");
    }

    #[test]
    fn a_seed_is_a_sequence() {
        let sequence = |seed| {
            let mut mix = WeightedChoice::new(&[1.0, 2.0, 3.0], seed);
            [(); 50].map(|()| mix.next())
        };
        assert_eq!(sequence(1), sequence(1));
        let mut seeded = WeightedChoice::new(&[1.0, 2.0, 3.0], 2).seeded(1);
        assert_eq!(sequence(1), [(); 50].map(|()| seeded.next()));
        assert_ne!(sequence(1), sequence(2));
    }
}
