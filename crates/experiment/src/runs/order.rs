//! The order of runs of two sides: whatever drifts meanwhile must not fall on one of them.

use brunt_measure::Rng;

/// A side of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunSide {
    /// The one compared with.
    Before,
    /// The one compared.
    After,
}

use RunSide::{After, Before};

/// Returns the order A B B A A B B A …, with this many runs of each side: a steady drift falls on both alike.
pub fn alternating(runs: usize) -> Vec<RunSide> {
    (0..runs).flat_map(|pair| if pair % 2 == 0 { [Before, After] } else { [After, Before] }).collect()
}

/// Returns a random order of this many runs of each side, the same for the same seed: what recurs at an even pace falls on
/// both alike.
pub fn shuffled(runs: usize, seed: u64) -> Vec<RunSide> {
    let mut order = alternating(runs);
    shuffle(&mut order, seed);
    order
}

/// Puts runs into a random order, the same for the same seed (Fisher and Yates).
pub(crate) fn shuffle<T>(order: &mut [T], seed: u64) {
    let mut rng = Rng::new(seed);
    for last in (1..order.len()).rev() {
        order.swap(last, rng.below(last as u64 + 1) as usize);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn letters(order: &[RunSide]) -> String {
        order.iter().map(|side| if *side == Before { 'A' } else { 'B' }).collect()
    }

    #[test]
    fn sides_alternate_in_mirrored_pairs() {
        assert_eq!(letters(&alternating(4)), "ABBAABBA");
        assert_eq!(letters(&alternating(0)), "");
    }

    #[test]
    fn a_seed_gives_one_order_with_as_many_of_each() {
        let of = |seed| letters(&shuffled(6, seed));
        assert_eq!(of(1), of(1));
        let different: std::collections::BTreeSet<String> = (0..50).map(of).collect();
        assert!(different.len() > 40, "{different:?}");
        assert!(different.iter().all(|order| order.matches('A').count() == 6 && order.len() == 12));
        // Each place is taken by either side about as often.
        let first = (0..400).filter(|seed| of(*seed).starts_with('A')).count();
        assert!((160..240).contains(&first), "{first}");
    }
}
