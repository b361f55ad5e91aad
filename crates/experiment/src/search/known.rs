//! What a search knows: the trials at each load, and the bounds that follow for each goal.

use brunt_measure::Nanos;

use crate::binomial::clopper_pearson;

use super::goal::{Bound, Goal, LossTrial, classify, conditional_throughput};

/// Confidence of the decision of a single trial.
const LEVEL: f64 = 0.95;
/// Design effect where a trial is too short to show its own: that of a queue at about four fifths of its capacity.
const USUAL_EFFECT: f64 = 20.0;

/// Requests of a trial, as one goal sees them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GoalCount {
    /// Requests that did not meet the objective.
    pub violations: u64,
    /// Requests that were due.
    pub due: u64,
    /// Number of correlated requests that are worth one independent request, at least 1; `None` if the trial is too
    /// short to tell.
    pub design_effect: Option<f64>,
}

/// The outcome of a trial, or of a part of it.
#[derive(Clone, Debug, PartialEq)]
pub struct TrialOutcome {
    /// Load that was asked for: requests per second, or users.
    pub load: f64,
    /// Length of the window.
    pub duration: Nanos,
    /// Counts for each goal, in their order.
    pub counts: Vec<GoalCount>,
    /// Set unless the figures are in doubt for a reason on brunt's own side: then they are no evidence.
    pub trusted: bool,
}

/// The bounds of one goal.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct GoalBounds {
    /// Largest load below `upper` that is held; `None` if none is known.
    pub lower: Option<f64>,
    /// Smallest load that is not held; `None` if none is known.
    pub upper: Option<f64>,
    /// Requests per second, or users, that got through at the lower bound (conditional throughput).
    pub throughput: Option<f64>,
    /// Set if a higher load was held than one that was not (loss inversion).
    pub inverted: bool,
}

impl GoalCount {
    /// Returns the share of lost requests; of none, all are lost: nothing was served.
    pub fn loss(&self) -> f64 {
        if self.due == 0 { 1.0 } else { self.violations as f64 / self.due as f64 }
    }

    /// Decides by the exact interval of the share of lost requests; `Undecided` if it contains the limit.
    pub fn decide(&self, loss_ratio: f64) -> Bound {
        let effect = self.effect();
        let [low, high] = clopper_pearson(self.violations as f64 / effect, self.due as f64 / effect, LEVEL);
        match () {
            () if high <= loss_ratio => Bound::Lower,
            () if low > loss_ratio => Bound::Upper,
            () => Bound::Undecided,
        }
    }

    fn effect(&self) -> f64 {
        self.design_effect.unwrap_or(USUAL_EFFECT).max(1.0)
    }

    /// Returns the counts of two parts of one trial; the design effect is their mean, weighted by violations.
    fn with(self, other: GoalCount) -> GoalCount {
        let weight = |count: GoalCount| count.violations as f64 + f64::MIN_POSITIVE;
        let (a, b) = (weight(self), weight(other));
        let design_effect = Some((self.effect() * a + other.effect() * b) / (a + b));
        let (violations, due) = (self.violations + other.violations, self.due + other.due);
        GoalCount { violations, due, design_effect }
    }
}

impl TrialOutcome {
    /// Adds a further part of the same trial.
    pub(super) fn extend(&mut self, part: &TrialOutcome) {
        self.duration += part.duration;
        self.counts.iter_mut().zip(&part.counts).for_each(|(count, more)| *count = count.with(*more));
    }

    /// Decides over all goals: one that is missed decides, and all must be held.
    pub(super) fn decide(&self, goals: &[Goal]) -> Bound {
        joint(self.counts.iter().zip(goals).map(|(count, goal)| count.decide(goal.loss_ratio)))
    }

    /// Returns `true` unless a goal is missed, with requests taken for independent: a short trial only says where to look,
    /// and an overload is worth stopping at early.
    pub(super) fn seems_held(&self, goals: &[Goal]) -> bool {
        let alone = |count: &GoalCount| GoalCount { design_effect: Some(1.0), ..*count };
        self.counts.iter().zip(goals).all(|(count, goal)| alone(count).decide(goal.loss_ratio) != Bound::Upper)
    }

    /// Returns `true` if a goal allows less loss than there was.
    pub(super) fn is_lossy(&self, goals: &[Goal]) -> bool {
        self.counts.iter().zip(goals).any(|(count, goal)| count.loss() > goal.loss_ratio)
    }
}

/// Combines the verdicts of several goals on one load.
fn joint(bounds: impl IntoIterator<Item = Bound>) -> Bound {
    bounds.into_iter().fold(Bound::Lower, |all, bound| match (all, bound) {
        (Bound::Upper, _) | (_, Bound::Upper) => Bound::Upper,
        (Bound::Undecided, _) | (_, Bound::Undecided) => Bound::Undecided,
        _ => Bound::Lower,
    })
}

/// All trusted trials, by load, ascending.
#[derive(Clone, Debug, Default)]
pub(super) struct KnownLoads {
    loads: Vec<(f64, Vec<TrialOutcome>)>,
}

impl KnownLoads {
    pub fn add(&mut self, outcome: TrialOutcome) {
        match self.loads.binary_search_by(|(load, _)| load.total_cmp(&outcome.load)) {
            Ok(at) => self.loads[at].1.push(outcome),
            Err(at) => self.loads.insert(at, (outcome.load, vec![outcome])),
        }
    }

    /// Classifies a load over all goals.
    pub fn classify(&self, load: f64, goals: &[Goal]) -> Bound {
        let trials = self.loads.iter().find(|(known, _)| *known == load).map_or(&[][..], |(_, trials)| trials);
        joint(goals.iter().enumerate().map(|(i, goal)| classify(goal, &as_seen(trials, i))))
    }

    /// Returns the relevant bounds over all goals.
    pub fn joint_bounds(&self, goals: &[Goal]) -> GoalBounds {
        self.relevant(|trials| joint(goals.iter().enumerate().map(|(i, goal)| classify(goal, &as_seen(trials, i)))))
    }

    /// Returns the relevant bounds of the goal with this index.
    pub fn bounds(&self, index: usize, goal: &Goal) -> GoalBounds {
        let bounds = self.relevant(|trials| classify(goal, &as_seen(trials, index)));
        let at = |load: f64| self.loads.iter().find(|(known, _)| *known == load);
        let lower = bounds.lower.and_then(at);
        let throughput = lower.map(|(load, trials)| conditional_throughput(goal, *load, &as_seen(trials, index)));
        GoalBounds { throughput, ..bounds }
    }

    /// Returns the smallest upper bound and the largest lower bound below it: with inverted losses, the lower pair.
    fn relevant(&self, classify: impl Fn(&[TrialOutcome]) -> Bound) -> GoalBounds {
        let classes: Vec<(f64, Bound)> = self.loads.iter().map(|(load, trials)| (*load, classify(trials))).collect();
        let upper = classes.iter().find(|(_, bound)| *bound == Bound::Upper).map(|(load, _)| *load);
        let lowers = || classes.iter().filter(|(_, bound)| *bound == Bound::Lower).map(|(load, _)| *load);
        let below = |load: &f64| upper.is_none_or(|upper| *load < upper);
        GoalBounds {
            lower: lowers().rfind(below),
            upper,
            throughput: None,
            inverted: lowers().any(|load| !below(&load)),
        }
    }
}

/// Returns the trials as the goal with this index sees them.
fn as_seen(trials: &[TrialOutcome], index: usize) -> Vec<LossTrial> {
    let seen =
        |trial: &TrialOutcome| Some(LossTrial { duration: trial.duration, loss: trial.counts.get(index)?.loss() });
    trials.iter().filter_map(seen).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRIAL: Nanos = Nanos::from_secs(30);

    fn outcome(load: f64, violations: &[u64]) -> TrialOutcome {
        let counts = violations.iter().map(|&violations| GoalCount { violations, due: 1000, design_effect: Some(1.0) });
        TrialOutcome { load, duration: TRIAL, counts: counts.collect(), trusted: true }
    }

    fn known(trials: &[(f64, &[u64])]) -> KnownLoads {
        let mut known = KnownLoads::default();
        trials.iter().for_each(|(load, violations)| known.add(outcome(*load, violations)));
        known
    }

    #[test]
    fn correlated_requests_decide_later() {
        let count = |violations, effect| GoalCount { violations, due: 10_000, design_effect: Some(effect) };
        let table = [
            (count(70, 1.0), Bound::Lower),
            (count(70, 20.0), Bound::Undecided),
            (count(100, 1.0), Bound::Undecided),
            (count(140, 1.0), Bound::Upper),
            (count(140, 20.0), Bound::Undecided),
            (count(0, 1.0), Bound::Lower),
            (GoalCount { due: 300, ..count(0, 1.0) }, Bound::Undecided),
            (GoalCount { due: 0, ..count(0, 1.0) }, Bound::Undecided),
            (GoalCount { design_effect: None, ..count(70, 1.0) }, Bound::Undecided),
            (GoalCount { design_effect: None, ..count(2000, 1.0) }, Bound::Upper),
        ];
        for (count, right) in table {
            assert_eq!(count.decide(0.01), right, "{count:?}");
        }
    }

    #[test]
    fn a_short_trial_that_loses_a_lot_is_seen() {
        let goals = [Goal::of_requests(0.01, TRIAL)];
        let short = |violations, due| {
            let counts = vec![GoalCount { violations, due, design_effect: None }];
            TrialOutcome { counts, ..outcome(100.0, &[]) }
        };
        let found = [short(24, 200), short(1, 25), short(0, 25)].map(|trial| trial.seems_held(&goals));
        assert_eq!(found, [false, true, true], "one late request of 25 is chance");
    }

    #[test]
    fn inverted_losses_leave_the_lower_pair() {
        let goal = Goal::of_requests(0.01, Nanos::from_secs(10));
        let known = known(&[(100.0, &[0]), (300.0, &[0]), (200.0, &[900])]);
        let bounds = known.bounds(0, &goal);
        assert_eq!((bounds.lower, bounds.upper, bounds.inverted), (Some(100.0), Some(200.0), true));
        assert_eq!(bounds.throughput, Some(100.0));
    }

    #[test]
    fn each_goal_has_its_own_bounds_and_the_strictest_decides() {
        let goals = [0.01, 0.5].map(|ratio| Goal::of_requests(ratio, Nanos::from_secs(10)));
        let known = known(&[(100.0, &[0, 0]), (200.0, &[400, 400]), (400.0, &[900, 900])]);
        let of = |bounds: GoalBounds| (bounds.lower, bounds.upper);
        assert_eq!(of(known.bounds(0, &goals[0])), (Some(100.0), Some(200.0)));
        assert_eq!(of(known.bounds(1, &goals[1])), (Some(200.0), Some(400.0)));
        assert_eq!(of(known.joint_bounds(&goals)), (Some(100.0), Some(200.0)));
        assert_eq!(known.classify(200.0, &goals), Bound::Upper);
        assert_eq!(known.classify(300.0, &goals), Bound::Undecided);
    }
}
