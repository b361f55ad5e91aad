//! Estimates with 95 % intervals, and their differences and ratios.

/// The 97.5 % quantile of the normal distribution.
pub(crate) const NORMAL: f64 = 1.96;
/// The 97.5 % quantiles of Student's distribution with 1, 2, … degrees of freedom.
const STUDENT: [f64; 10] = [12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228];

/// Returns the 97.5 % quantile of Student's distribution with `freedom` degrees of freedom, 1 to 10.
pub(crate) fn student_quantile(freedom: usize) -> f64 {
    STUDENT[freedom.clamp(1, STUDENT.len()) - 1]
}

/// An estimate with a 95 % interval that contains it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// Estimated value.
    pub value: f64,
    /// Lower end of the interval.
    pub low: f64,
    /// Upper end of the interval; infinite if it is unbounded.
    pub high: f64,
}

impl Estimate {
    /// Creates an estimate; an interval that does not contain the value is widened.
    pub fn new(value: f64, low: f64, high: f64) -> Estimate {
        Estimate { value, low: low.min(value), high: high.max(value) }
    }

    /// Estimates a rate from blocks of a run, given as the count and the duration in seconds of each. `None` for fewer
    /// than two blocks, or a total duration of zero.
    ///
    /// Computes the ratio of two sums, with the error of batch means (Law and Kelton, *Simulation Modeling and
    /// Analysis*, 9.5.3).
    pub fn rate(blocks: &[(f64, f64)]) -> Option<Estimate> {
        let many = blocks.len();
        let (came, time) = blocks.iter().fold((0.0, 0.0), |sum, block| (sum.0 + block.0, sum.1 + block.1));
        if many < 2 || time <= 0.0 {
            return None;
        }
        let rate = came / time;
        let squares: f64 = blocks.iter().map(|(came, time)| (came - rate * time).powi(2)).sum();
        let error = (squares * many as f64 / (many - 1) as f64).sqrt() / time * student_quantile(many - 1);
        Some(Estimate::new(rate, (rate - error).max(0.0), rate + error))
    }

    /// Estimates a share from blocks of a run, given as the number of hits and the total of each. `None` for fewer than
    /// two blocks, or a total of zero.
    ///
    /// Uses the interval of Wilson (1927) for the equivalent number of independent observations: the total, reduced by
    /// the design effect if hits are clustered (as failures are). The interval is defined even without hits. If all
    /// hits are in one or two blocks, they may be a single event: the interval of [`Estimate::rate`] is then wider, and
    /// the result covers both.
    pub fn share(blocks: &[(f64, f64)]) -> Option<Estimate> {
        let many = blocks.len();
        let (have, all) = blocks.iter().fold((0.0, 0.0), |sum, block| (sum.0 + block.0, sum.1 + block.1));
        if many < 2 || all <= 0.0 {
            return None;
        }
        let share = (have / all).clamp(0.0, 1.0);
        let worth = all / Estimate::design_effect(blocks)?;
        let (alone, by_blocks) = (Estimate::wilson(share, worth), Estimate::rate(blocks)?);
        Some(Estimate::new(share, alone.low.min(by_blocks.low), alone.high.max(by_blocks.high).min(1.0)))
    }

    /// Returns the number of observations that are worth one independent observation, at least 1: the factor by which the
    /// hits of blocks vary more than random draws do. `None` for fewer than two blocks, or a total of zero.
    pub fn design_effect(blocks: &[(f64, f64)]) -> Option<f64> {
        let many = blocks.len();
        let (have, all) = blocks.iter().fold((0.0, 0.0), |sum, block| (sum.0 + block.0, sum.1 + block.1));
        if many < 2 || all <= 0.0 {
            return None;
        }
        let share = (have / all).clamp(0.0, 1.0);
        let independent = all * share * (1.0 - share);
        let squares: f64 = blocks.iter().map(|(have, all)| (have - share * all).powi(2)).sum();
        let observed = squares * many as f64 / (many - 1) as f64;
        let together = if independent > 0.0 { (observed / independent).max(1.0) } else { 1.0 };
        // The fewer blocks there are, the less is known about their variation.
        Some(together * (student_quantile(many - 1) / NORMAL).powi(2))
    }

    /// Returns the interval of a share of `of` independent observations.
    fn wilson(share: f64, of: f64) -> Estimate {
        let squared = NORMAL * NORMAL / of;
        let middle = (share + squared / 2.0) / (1.0 + squared);
        let error = (share * (1.0 - share) * squared + squared * squared / 4.0).sqrt() / (1.0 + squared);
        Estimate::new(share, (middle - error).max(0.0), (middle + error).min(1.0))
    }

    /// Returns `self` − `other`.
    ///
    /// The interval is computed from both intervals (Zou and Donner 2008, Newcombe 1998 for shares), so that it
    /// reflects their asymmetry.
    #[must_use]
    pub fn minus(self, other: Estimate) -> Estimate {
        let value = self.value - other.value;
        let (below, above) = (self.value - self.low, self.high - self.value);
        let (below_other, above_other) = (other.value - other.low, other.high - other.value);
        Estimate::new(value, value - below.hypot(above_other), value + above.hypot(below_other))
    }

    /// Returns `self` ÷ `other`, computed as the difference of logarithms. `None` unless both are above 0.
    pub fn divided_by(self, other: Estimate) -> Option<Estimate> {
        let log = |one: Estimate| Estimate { value: one.value.ln(), low: one.low.max(0.0).ln(), high: one.high.ln() };
        let ratio = || log(self).minus(log(other));
        (self.value > 0.0 && other.value > 0.0).then(ratio).map(|ratio| {
            // The quotient is exact; logarithms are not.
            Estimate::new(self.value / other.value, ratio.low.exp(), ratio.high.exp())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(found: f64, right: f64) -> bool {
        (found - right).abs() < 5e-4
    }

    #[test]
    fn a_difference_of_shares_is_that_of_newcombe() {
        // Newcombe 1998, method 10, of 56/70 and 48/80, and of 10/10 and 0/10.
        let alone = |have: f64, all: f64| Estimate::wilson(have / all, all);
        for (a, b, [low, high]) in [
            (alone(56.0, 70.0), alone(48.0, 80.0), [0.0524, 0.3339]),
            (alone(9.0, 10.0), alone(3.0, 10.0), [0.1705, 0.8090]),
            (alone(10.0, 10.0), alone(0.0, 10.0), [0.6075, 1.0]),
        ] {
            let found = a.minus(b);
            assert!(near(found.low, low) && near(found.high, high), "{found:?}");
        }
    }

    #[test]
    fn a_share_of_none_is_no_certainty_and_what_comes_together_is_worth_less() {
        let none = Estimate::share(&[(0.0, 11.0); 5]).expect("a share");
        assert!(none.value == 0.0 && none.low == 0.0 && none.high > 0.065, "{none:?}");
        let spread = Estimate::share(&[(10.0, 1000.0); 10]).expect("a share");
        let mut burst = [(0.0, 1000.0); 10];
        burst[3].0 = 100.0;
        let burst = Estimate::share(&burst).expect("a share");
        assert_eq!(spread.value, burst.value);
        assert!(burst.high - burst.low > 3.0 * (spread.high - spread.low), "{spread:?} {burst:?}");
        assert!(spread.low > 0.005 && burst.low == 0.0, "one burst is one event: {burst:?}");
        assert_eq!([Estimate::share(&[(0.0, 9.0)]), Estimate::share(&[(0.0, 0.0); 5])], [None, None]);
    }

    #[test]
    fn hits_that_come_together_are_worth_less() {
        let effect = |blocks: &[(f64, f64)]| Estimate::design_effect(blocks).expect("an effect");
        let (none, even) = (effect(&[(0.0, 1000.0); 10]), effect(&[(10.0, 1000.0); 10]));
        // 2.262 ÷ 1.96 squared, for nine degrees of freedom.
        assert!(near(none, 1.332) && even == none, "{none} {even}");
        let mut burst = [(0.0, 1000.0); 10];
        burst[3].0 = 100.0;
        // Blocks vary by 100² · 0.9 · 10 ÷ 9, draws by 10,000 · 0.01 · 0.99.
        assert!(near(effect(&burst) / none, 101.01), "{}", effect(&burst) / none);
        assert_eq!(Estimate::design_effect(&[(1.0, 9.0)]), None);
    }

    #[test]
    fn a_rate_is_known_as_far_as_its_blocks_agree() {
        let even = Estimate::rate(&[(100.0, 1.0), (200.0, 2.0), (50.0, 0.5)]).expect("a rate");
        assert_eq!([even.value, even.low, even.high], [100.0; 3]);
        // The mean of 90, 100, 110, 100, 100 is 100 ± 2.776 · 7.071 ÷ √5.
        let scattered = [90.0, 100.0, 110.0, 100.0, 100.0].map(|came| (came, 1.0));
        let scattered = Estimate::rate(&scattered).expect("a rate");
        assert!((scattered.high - 100.0 - 8.778).abs() < 0.01, "{scattered:?}");
    }

    #[test]
    fn a_ratio_holds_its_value_and_may_have_no_end() {
        let (a, b) = (Estimate::new(100.0, 95.0, 110.0), Estimate::new(150.0, 140.0, 160.0));
        let ratio = b.divided_by(a).expect("a ratio");
        assert!(ratio.low < 1.5 && ratio.value == 1.5 && ratio.high > 1.5, "{ratio:?}");
        assert!(ratio.low > 140.0 / 110.0 && ratio.high < 160.0 / 95.0, "{ratio:?}");
        let unbounded = Estimate { high: f64::INFINITY, ..b }.divided_by(a).expect("a ratio");
        assert!(unbounded.high.is_infinite() && unbounded.low == ratio.low, "{unbounded:?}");
        assert_eq!(Estimate { low: 0.0, ..a }.divided_by(b).map(|ratio| ratio.low), Some(0.0));
        assert_eq!(
            [a.divided_by(Estimate::new(0.0, 0.0, 1.0)), Estimate::new(0.0, 0.0, 1.0).divided_by(a)],
            [None, None]
        );
    }
}
