//! The search as a state machine: [`Search::next`] says what to do, the caller does it and reports back.
//!
//! Loads are doubled from below in short trials until one is lost, then the bracket is halved in log space by full ones.
//! A trial is extended up to three times while the exact interval of its loss contains the limit. Short trials only say
//! where to look: both ends of the result are classified by full trials, and the lower one is tried once more after all
//! overloads.

use brunt_measure::Nanos;

use super::goal::{Bound, Goal};
use super::known::{GoalBounds, KnownLoads, TrialOutcome};

/// Number of parts to which an undecided trial is extended.
const MOST_PARTS: u32 = 3;
/// Trials at one load in a row that may be in doubt before the search ends.
const MOST_UNTRUSTED: u32 = 3;
/// A trial on the way up takes this part of a full one.
const CLIMBING_PART: u64 = 4;
/// Full trials that one halving takes, for the estimate of the time that remains.
const TRIALS_A_HALVING: f64 = 2.5;
/// Shortfall of a ratio of loads that is rounding.
const ROUNDING: f64 = 1e-9;

/// What is searched for, and within which limits.
#[derive(Clone, Debug, PartialEq)]
pub struct SearchPlan {
    /// Goals, all of which must be kept.
    pub goals: Vec<Goal>,
    /// First and lowest load: requests per second, or users; above 0.
    pub lowest: f64,
    /// Highest load.
    pub highest: f64,
    /// Set if loads are whole numbers, as users are.
    pub whole: bool,
    /// Distance of both bounds that is asked for, as a share of the lower one.
    pub width: f64,
    /// Length of a full trial.
    pub trial: Nanos,
    /// Length of the warm-up at the lowest load.
    pub warm_up: Nanos,
}

/// What to do next.
#[derive(Clone, Debug, PartialEq)]
pub enum SearchStep {
    /// Send load that counts as no trial, then call [`Search::warmed_up`].
    WarmUp {
        /// Load.
        load: f64,
        /// Time.
        duration: Nanos,
    },
    /// Measure a load, then call [`Search::add`].
    Trial {
        /// Load.
        load: f64,
        /// Time.
        duration: Nanos,
    },
    /// Wait until nothing of an overload is left, then call [`Search::settled`].
    Settle,
    /// The search is over.
    Done(SearchEnd),
}

/// Why a search is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SearchEnd {
    /// Both bounds are known as closely as was asked for.
    Found,
    /// The highest load is held.
    HighestHeld,
    /// Not even the lowest load is held.
    LowestMissed,
    /// Trials stayed in doubt: brunt, or its machine, was the limit.
    GeneratorLimited,
    /// There was no time for another trial.
    OutOfTime,
    /// The caller stopped it.
    Stopped,
}

/// What a search knows in the end, or so far.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SearchResult {
    /// Why it is over; `None` while it is not.
    pub end: Option<SearchEnd>,
    /// Bounds of all goals together, each from full trials.
    pub bounds: GoalBounds,
    /// The interval that remains, by short trials too: the highest load that seems held, the lowest that seems not.
    pub bracket: [Option<f64>; 2],
    /// Bounds of each goal.
    pub goals: Vec<GoalBounds>,
    /// Time that was spent.
    pub elapsed: Nanos,
    /// Trials and parts of trials, those in doubt included.
    pub trials: u32,
}

/// A search on its way.
#[derive(Clone, Debug)]
pub struct Search {
    plan: SearchPlan,
    known: KnownLoads,
    /// Loads tried on the way up, with what the trial said.
    climbed: Vec<(f64, bool)>,
    /// The full trial that is being extended, and its number of parts.
    open: Option<(TrialOutcome, u32)>,
    /// The load that is tried until it is classified.
    at: Option<f64>,
    /// The lowest load at which trials stayed in doubt, or that this machine cannot send.
    ceiling: Option<f64>,
    /// The lower bound that is tried again at the end, and the one that was.
    confirming: Option<f64>,
    confirmed: Option<f64>,
    untrusted: u32,
    warm: bool,
    disturbed: bool,
    elapsed: Nanos,
    trials: u32,
    end: Option<SearchEnd>,
}

impl Search {
    /// Begins a search. The highest load is at least the lowest one.
    pub fn new(plan: SearchPlan) -> Search {
        let highest = plan.highest.max(plan.lowest);
        Search {
            warm: plan.warm_up == Nanos::ZERO,
            plan: SearchPlan { highest, ..plan },
            known: KnownLoads::default(),
            climbed: Vec::new(),
            open: None,
            at: None,
            ceiling: None,
            confirming: None,
            confirmed: None,
            untrusted: 0,
            disturbed: false,
            elapsed: Nanos::ZERO,
            trials: 0,
            end: None,
        }
    }

    /// Returns what to do next.
    #[expect(clippy::should_implement_trait, reason = "a step may be asked for again, and the last one repeats")]
    pub fn next(&mut self) -> SearchStep {
        if self.end.is_none() && !self.warm {
            return SearchStep::WarmUp { load: self.plan.lowest, duration: self.plan.warm_up };
        }
        if self.end.is_none() && self.disturbed {
            return SearchStep::Settle;
        }
        let wanted = match self.end {
            Some(end) => Err(end),
            None => self.choose(),
        };
        match wanted {
            Ok((load, duration)) => SearchStep::Trial { load, duration },
            Err(end) => {
                self.end = Some(end);
                SearchStep::Done(end)
            }
        }
    }

    /// Notes that the warm-up took this time.
    pub fn warmed_up(&mut self, took: Nanos) {
        self.warm = true;
        self.elapsed += took;
    }

    /// Notes that the service had recovered after this time.
    pub fn settled(&mut self, took: Nanos) {
        self.disturbed = false;
        self.elapsed += took;
    }

    /// Notes time that was spent beside the windows of trials, such as for connections to open.
    pub fn spend(&mut self, took: Nanos) {
        self.elapsed += took;
    }

    /// Adds what the trial found that [`Search::next`] asked for.
    pub fn add(&mut self, outcome: TrialOutcome) {
        self.elapsed += outcome.duration;
        self.trials += 1;
        self.disturbed = outcome.is_lossy(&self.plan.goals);
        if !outcome.trusted {
            self.untrusted += 1;
            if self.untrusted >= MOST_UNTRUSTED {
                self.limit_to_below(outcome.load);
            }
            return;
        }
        self.untrusted = 0;
        if self.at.is_none() {
            self.climbed.push((outcome.load, outcome.seems_held(&self.plan.goals)));
            self.known.add(outcome);
            return;
        }
        let (trial, parts) = match self.open.take() {
            None => (outcome, 1),
            Some((mut trial, parts)) => {
                trial.extend(&outcome);
                (trial, parts + 1)
            }
        };
        let decided = trial.decide(&self.plan.goals);
        if parts < MOST_PARTS && decided == Bound::Undecided && self.confirming.is_none() {
            self.open = Some((trial, parts));
            return;
        }
        if decided != Bound::Upper {
            self.confirmed = self.confirming.or(self.confirmed);
        }
        self.confirming = None;
        self.known.add(trial);
    }

    /// Ends the search with what is known.
    pub fn stop(&mut self) {
        self.end.get_or_insert(SearchEnd::Stopped);
    }

    /// Ends the search because there is no time for another trial.
    pub fn run_out_of_time(&mut self) {
        self.end.get_or_insert(SearchEnd::OutOfTime);
    }

    /// Notes that this machine cannot measure this load. What seemed held below it only in short trials is tried fully
    /// before the search ends; where nothing was held, it ends.
    pub fn limit_to_below(&mut self, load: f64) {
        (self.untrusted, self.at, self.open, self.confirming) = (0, None, None, None);
        match self.bracket()[0] {
            Some(low) if low < load => self.ceiling = Some(load),
            _ => self.end = self.end.or(Some(SearchEnd::GeneratorLimited)),
        }
    }

    /// Returns what is known.
    pub fn result(&self) -> SearchResult {
        let goals = self.plan.goals.iter().enumerate().map(|(i, goal)| self.known.bounds(i, goal)).collect::<Vec<_>>();
        // What gets through under all goals is what gets through under the strictest.
        let joint = self.known.joint_bounds(&self.plan.goals);
        let throughput = goals.iter().filter(|goal| goal.lower == joint.lower).filter_map(|goal| goal.throughput);
        let bounds = GoalBounds { throughput: throughput.reduce(f64::min), ..joint };
        let (bracket, elapsed) = (self.bracket(), self.elapsed);
        SearchResult { end: self.end, bounds, bracket, goals, elapsed, trials: self.trials }
    }

    /// Returns the interval that remains: the highest load that seems held, the lowest that seems not.
    pub fn bracket(&self) -> [Option<f64>; 2] {
        let bounds = self.known.joint_bounds(&self.plan.goals);
        let (goals, is) = (&self.plan.goals, |load, bound| self.known.classify(load, &self.plan.goals) == bound);
        let lost = self.climbed.iter().filter(|(load, held)| !held && !is(*load, Bound::Lower)).map(|(load, _)| *load);
        let high = lost.chain(bounds.upper).reduce(f64::min);
        let below = |load: &f64| high.is_none_or(|high| *load < high);
        let held =
            self.climbed.iter().filter(|(load, held)| *held && self.known.classify(*load, goals) != Bound::Upper);
        let low = held.map(|(load, _)| *load).chain(bounds.lower).filter(below).reduce(f64::max);
        [low, high]
    }

    /// Returns about how long the rest takes, with trials of the usual number.
    pub fn remaining(&self) -> Nanos {
        if self.end.is_some() {
            return Nanos::ZERO;
        }
        let trial = self.plan.trial.as_secs_f64();
        // Where a single load is left, it takes as many trials as a halving.
        let single = (1.0 + self.narrow() * 2.0, 0.0);
        let (apart, climbing) = match self.bracket() {
            [Some(_), high] if self.is_limited(high) => single,
            [Some(low), Some(high)] => (high / low, 0.0),
            [Some(low), None] if low >= self.plan.highest => single,
            [low, None] => (2.0, (self.plan.highest / low.unwrap_or(self.plan.lowest)).log2().ceil().clamp(1.0, 8.0)),
            [None, Some(_)] => single,
        };
        let halvings = (apart.ln() / self.narrow().ln_1p()).log2().ceil().max(0.0);
        let trials = halvings * TRIALS_A_HALVING + climbing / CLIMBING_PART as f64 + 1.0;
        let warm_up = if self.warm { Nanos::ZERO } else { self.plan.warm_up };
        warm_up + Nanos::from_secs_f64(trials * trial)
    }

    /// Returns the next load and the length of its trial, or why there is none.
    fn choose(&mut self) -> Result<(f64, Nanos), SearchEnd> {
        if let Some(load) = self.at {
            if self.open.is_some() || self.confirming.is_some() || self.is_undecided(load) {
                return Ok((load, self.plan.trial));
            }
            self.at = None;
        }
        match self.bracket() {
            [Some(low), high] if self.is_limited(high) => self.settle_on(low, SearchEnd::GeneratorLimited),
            [None, None] => Ok((self.plan.lowest, self.climbing())),
            [Some(low), None] if low >= self.plan.highest => self.settle_on(low, SearchEnd::HighestHeld),
            [Some(low), None] => Ok((self.fit((low * 2.0).min(self.plan.highest)), self.climbing())),
            [None, Some(high)] => self.settle_on(high, SearchEnd::LowestMissed),
            [Some(low), Some(high)] => match self.between(low, high) {
                Some(middle) => Ok(self.try_fully(middle)),
                None => self.conclude(low, high),
            },
        }
    }

    /// Classifies the single bound that there is; the search ends with it.
    fn settle_on(&mut self, load: f64, end: SearchEnd) -> Result<(f64, Nanos), SearchEnd> {
        if self.is_undecided(load) { Ok(self.try_fully(load)) } else { Err(end) }
    }

    /// Returns `true` unless the search is already below the load that cannot be measured.
    fn is_limited(&self, high: Option<f64>) -> bool {
        self.ceiling.is_some_and(|ceiling| high.is_none_or(|high| ceiling <= high))
    }

    /// Classifies both ends of a narrow bracket by full trials, and tries the lower one again.
    fn conclude(&mut self, low: f64, high: f64) -> Result<(f64, Nanos), SearchEnd> {
        if let Some(open) = [low, high].into_iter().find(|load| self.is_undecided(*load)) {
            return Ok(self.try_fully(open));
        }
        if self.confirmed == Some(low) {
            return Err(SearchEnd::Found);
        }
        self.confirming = Some(low);
        Ok(self.try_fully(low))
    }

    fn is_undecided(&self, load: f64) -> bool {
        self.known.classify(load, &self.plan.goals) == Bound::Undecided
    }

    fn try_fully(&mut self, load: f64) -> (f64, Nanos) {
        self.at = Some(load);
        (load, self.plan.trial)
    }

    /// Returns the load halfway in log space; `None` if the bracket is as narrow as was asked for.
    fn between(&self, low: f64, high: f64) -> Option<f64> {
        let middle = self.fit((low * high).sqrt());
        let wide = high / low > 1.0 + self.narrow() + ROUNDING;
        (wide && middle > low && middle < high).then_some(middle)
    }

    /// Returns the distance at which halving ends: half of the width is left to what chance does to decisions.
    fn narrow(&self) -> f64 {
        self.plan.width / 2.0
    }

    fn fit(&self, load: f64) -> f64 {
        if self.plan.whole { load.round() } else { load }
    }

    fn climbing(&self) -> Nanos {
        Nanos(self.plan.trial.0 / CLIMBING_PART)
    }
}

#[cfg(test)]
mod tests;
