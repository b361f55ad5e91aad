//! Goals, and what the trials at one load say about them: the pseudo-code of MLRsearch (draft 15, appendix).

use brunt_measure::Nanos;

/// A goal of a search.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Goal {
    /// Greatest share of lost requests: 1 − q for an objective on the quantile q.
    pub loss_ratio: f64,
    /// Greatest share of time that trials with more loss may take, below 1.
    pub exceed_ratio: f64,
    /// Least duration of a trial that can make a load a bound by itself.
    pub final_trial: Nanos,
    /// Least total duration of the trials behind a decision.
    pub duration_sum: Nanos,
}

impl Goal {
    /// Returns a goal with brunt's defaults: three trials' worth of time, of which one in three may exceed the ratio.
    pub fn of_requests(loss_ratio: f64, trial: Nanos) -> Goal {
        Goal { loss_ratio, exceed_ratio: 0.34, final_trial: trial, duration_sum: Nanos(trial.0.saturating_mul(3)) }
    }

    fn is_full(&self, trial: &LossTrial) -> bool {
        trial.duration >= self.final_trial
    }
}

/// A trial at a load, as one goal sees it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LossTrial {
    /// Duration.
    pub duration: Nanos,
    /// Share of due requests that were lost.
    pub loss: f64,
}

/// What a load is for a goal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bound {
    /// The service holds it: a bound from below.
    Lower,
    /// The service does not hold it: a bound from above.
    Upper,
    /// Further trials decide.
    Undecided,
}

/// Classifies a load by the trials at it.
pub fn classify(goal: &Goal, trials: &[LossTrial]) -> Bound {
    let sum = |full: bool, low: bool| -> f64 {
        let chosen = |t: &&LossTrial| goal.is_full(t) == full && (t.loss <= goal.loss_ratio) == low;
        trials.iter().filter(chosen).map(|t| t.duration.as_secs_f64()).sum()
    };
    let balance = sum(false, true) * goal.exceed_ratio / (1.0 - goal.exceed_ratio);
    let excess = (sum(false, false) - balance).max(0.0);
    let (low, high) = (sum(true, true), sum(true, false) + excess);
    let whole = (low + high).max(goal.duration_sum.as_secs_f64());
    let allowed = whole * goal.exceed_ratio;
    match (high <= allowed, whole - low <= allowed) {
        (true, true) => Bound::Lower,
        (false, false) => Bound::Upper,
        _ => Bound::Undecided,
    }
}

/// Returns the conditional throughput at a lower bound `load`: the load less the loss of the worst trial that counts.
pub fn conditional_throughput(goal: &Goal, load: f64, trials: &[LossTrial]) -> f64 {
    let mut full: Vec<&LossTrial> = trials.iter().filter(|trial| goal.is_full(trial)).collect();
    full.sort_by(|a, b| a.loss.total_cmp(&b.loss));
    let total: f64 = full.iter().map(|trial| trial.duration.as_secs_f64()).sum();
    let mut remaining = total.max(goal.duration_sum.as_secs_f64()) * (1.0 - goal.exceed_ratio);
    for trial in full {
        remaining -= trial.duration.as_secs_f64();
        if remaining <= 0.0 {
            return load * (1.0 - trial.loss);
        }
    }
    0.0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn goal(final_trial: u64, sum: u64, loss_ratio: f64, exceed_ratio: f64) -> Goal {
        let (final_trial, duration_sum) = (Nanos::from_secs(final_trial), Nanos::from_secs(sum));
        Goal { loss_ratio, exceed_ratio, final_trial, duration_sum }
    }

    /// Returns the six points of the draft's appendix, each with all trials so far.
    fn points() -> Vec<Vec<LossTrial>> {
        let trial = |seconds, loss| LossTrial { duration: Nanos::from_secs(seconds), loss };
        let added =
            [(59, trial(1, 0.0)), (1, trial(1, 0.01)), (59, trial(1, 0.01)), (1, trial(1, 0.0)), (1, trial(60, 0.001))];
        let added = added.into_iter().chain([(1, trial(60, 0.0))]);
        let mut trials = Vec::new();
        added
            .map(|(times, trial)| {
                trials.extend(std::iter::repeat_n(trial, times));
                trials.clone()
            })
            .collect()
    }

    #[test]
    fn loads_are_classified_as_in_the_draft() {
        use Bound::{Lower as L, Undecided as N, Upper as U};
        let table = [
            (goal(60, 60, 0.0, 0.0), [N, U, U, U, U, U]),
            (goal(60, 120, 0.0, 0.5), [N, N, N, N, N, L]),
            (goal(1, 120, 0.005, 0.5), [N, N, N, L, L, L]),
        ];
        for (goal, right) in table {
            let found: Vec<Bound> = points().iter().map(|trials| classify(&goal, trials)).collect();
            assert_eq!(found, right, "{goal:?}");
        }
    }

    #[test]
    fn conditional_throughput_is_that_of_the_draft() {
        let all = points().pop().expect("six points");
        for goal in [goal(60, 120, 0.0, 0.5), goal(1, 120, 0.005, 0.5)] {
            assert_eq!(conditional_throughput(&goal, 1e6, &all), 1e6, "{goal:?}");
        }
        let lossy = [LossTrial { duration: Nanos::from_secs(60), loss: 0.2 }; 2];
        let goal = goal(60, 120, 0.5, 0.5);
        assert_eq!(conditional_throughput(&goal, 1000.0, &lossy), 800.0, "it is what gets through");
        assert_eq!(conditional_throughput(&goal, 1000.0, &lossy[..0]), 0.0, "too few trials are all loss");
    }

    #[test]
    fn two_of_three_trials_decide_by_default() {
        let goal = Goal::of_requests(0.01, Nanos::from_secs(10));
        let trial = |loss| LossTrial { duration: Nanos::from_secs(10), loss };
        let table: [(&[f64], Bound); 5] = [
            (&[0.0], Bound::Undecided),
            (&[0.0, 0.0], Bound::Lower),
            (&[0.0, 0.1], Bound::Undecided),
            (&[0.0, 0.1, 0.01], Bound::Lower),
            (&[0.1, 0.1], Bound::Upper),
        ];
        for (losses, right) in table {
            let trials: Vec<LossTrial> = losses.iter().copied().map(trial).collect();
            assert_eq!(classify(&goal, &trials), right, "{losses:?}");
        }
    }
}
