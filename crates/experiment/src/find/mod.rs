//! `brunt find`: a search whose trials are runs of a bench.
//!
//! Each trial has a short warm-up of its own, so that connections are open when it counts. After an overload, runs at the
//! lowest load are repeated until their median is again what it was before the search.

mod document;
mod evidence;
mod failures;
mod report;
mod story;

use brunt_contract::UsageError;
use brunt_diagnose::{Conclusion, LimitFinding, PathStage};
use brunt_engine::Stop;
use brunt_measure::quantile::quantile;
use brunt_measure::{Nanos, QuantileValue, Rng};
use brunt_plan::{Load, Stage, Trial};
use brunt_report::{AllowedLoss, Exit, Finding, JudgedObjective, Objective, Summary};
use serde::{Deserialize, Serialize};

use self::failures::FailedSeconds;
use crate::runner::{RunOf, RunResult, TrialRunner};
use crate::search::{Goal, GoalCount, Search, SearchEnd, SearchPlan, SearchResult, SearchStep, TrialOutcome};

#[cfg(feature = "schema")]
pub(crate) use document::FindReport;
pub use evidence::{MainFailure, TooFewRequests};
pub use story::{outlook, trial_line};

/// Part of a trial that its warm-up takes.
const WARMING_PART: u64 = 10;
/// Runs after an overload, of this length, until the search goes on in any case.
const MOST_PROBES: u32 = 10;
const PROBE: Nanos = Nanos::from_secs(1);
/// Times its earlier median at which the service counts as recovered.
const RECOVERED: f64 = 1.1;
/// Trials' worth of time that a search may take without `--run-timeout`.
const MOST_TRIALS: u64 = 60;

/// What a search asks, and how.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FindPlan {
    /// What is loaded, as written.
    pub target: String,
    /// Objectives, as written.
    pub objectives: Vec<String>,
    /// Load that it begins with; trials change its level.
    pub load: Load,
    /// Index and name of the scenario whose load it is; `None` for the load of the plan.
    pub scenario: Option<(u16, String)>,
    /// Highest load to try: requests per second, or users.
    pub highest: f64,
    /// Distance of both bounds that is asked for, as a share of the lower one.
    pub width: f64,
    /// Length of a full trial.
    pub trial: Nanos,
    /// Length of the warm-up at the lowest load.
    pub warm_up: Nanos,
    /// Seed of the trials.
    pub seed: u64,
}

impl FindPlan {
    /// Returns the losses that the objectives allow; those that are not judged by counting requests are left out.
    fn allowed(&self) -> Vec<AllowedLoss> {
        let allowed = |text: &String| Objective::parse(text).ok()?.allowed_loss();
        self.objectives.iter().filter_map(allowed).collect()
    }

    /// Returns the time that the search may take without a bound of one's own.
    pub fn usual_limit(&self) -> Nanos {
        Nanos(self.trial.0.saturating_mul(MOST_TRIALS))
    }

    /// Returns the arithmetic of the search.
    pub fn search(&self) -> SearchPlan {
        let goals = self.allowed().into_iter().map(|loss| Goal::of_requests(loss.share, self.trial));
        SearchPlan {
            goals: goals.collect(),
            lowest: self.load.peak(),
            highest: self.highest,
            whole: !self.load.is_open(),
            width: self.width,
            trial: self.trial,
            warm_up: if self.warm_up > Nanos::ZERO { self.warm_up } else { Nanos(self.trial.0 / 2) },
        }
    }
}

/// A trial that was made, and what was known after it.
#[derive(Clone, Debug)]
pub struct TrialRow {
    /// Load: requests per second, or users.
    pub load: f64,
    /// Length of its window.
    pub duration: Nanos,
    /// Objectives, as judged.
    pub objectives: Vec<JudgedObjective>,
    /// Set if it counts as evidence.
    pub trusted: bool,
    /// The interval that remains.
    pub bracket: [Option<f64>; 2],
    /// Time that the rest takes, about.
    pub remaining: Nanos,
    /// Time spent on the search up to its end.
    pub elapsed: Nanos,
}

impl TrialRow {
    /// Returns `true` if all objectives were met.
    pub fn is_held(&self) -> bool {
        self.objectives.iter().all(JudgedObjective::is_met)
    }
}

/// The end of a search.
#[derive(Debug)]
pub struct FindOutcome {
    /// What is loaded, as written.
    pub target: String,
    /// Bounds, and why it is over.
    pub result: SearchResult,
    /// Objectives as written, in the order of the goals.
    pub objectives: Vec<String>,
    /// Set if loads are rates; users otherwise.
    pub is_rate: bool,
    /// Width that was asked for.
    pub width: f64,
    /// All trials.
    pub rows: Vec<TrialRow>,
    /// What limited the service at a load that it did not hold, with that load: the lowest one whose limit is known, or
    /// else the lowest.
    pub limit: Option<(f64, Conclusion)>,
    /// How most requests failed at that load, if many did.
    pub failing: Option<MainFailure>,
    /// An objective that too few requests were made for at the lower bound.
    pub too_few: Option<TooFewRequests>,
    /// Why the last trial in doubt was.
    pub doubts: Vec<Finding>,
    /// Why the next load could not be sent from this machine at all.
    pub refused: Option<UsageError>,
    /// Times that trials went on although the service was still slower than before its overload.
    pub unsettled: u32,
    /// Set if the target was lost.
    pub unreachable: bool,
    /// Which agent or process was lost, or could not be had, if that ended it.
    pub lost_part: Option<UsageError>,
}

impl FindOutcome {
    /// Returns the exit code.
    pub fn exit(&self) -> Exit {
        match self.result.end {
            _ if self.unreachable => Exit::Unreachable,
            Some(SearchEnd::Found | SearchEnd::HighestHeld) if self.too_few.is_some() => Exit::NotTrusted,
            Some(SearchEnd::Found | SearchEnd::HighestHeld) => Exit::Ok,
            Some(SearchEnd::LowestMissed) => Exit::Missed,
            Some(SearchEnd::GeneratorLimited) => Exit::NotTrusted,
            Some(SearchEnd::OutOfTime | SearchEnd::Stopped) | None => Exit::Interrupted,
        }
    }
}

/// Searches; `tell` gets each trial as it is done. `stop` ends the search with what is known.
///
/// # Errors
/// Returns an error if the first load does not fit the requests, or that of the runner.
pub fn find(
    plan: &FindPlan,
    runner: &mut dyn TrialRunner,
    stop: &Stop,
    tell: &mut dyn FnMut(&TrialRow),
) -> Result<FindOutcome, UsageError> {
    let mut finder = Finder {
        runner,
        stop,
        load: plan.load.clone(),
        scenario: plan.scenario.as_ref().map(|(at, _)| *at),
        allowed: plan.allowed(),
        lowest: plan.load.peak(),
        seeds: Rng::new(plan.seed),
        search: Search::new(plan.search()),
        baseline: None,
        missed: Vec::new(),
        outcome: FindOutcome {
            result: SearchResult::default(),
            target: plan.target.clone(),
            objectives: plan.objectives.clone(),
            is_rate: plan.load.is_open(),
            width: plan.width,
            rows: Vec::new(),
            limit: None,
            failing: None,
            too_few: None,
            doubts: Vec::new(),
            refused: None,
            unsettled: 0,
            unreachable: false,
            lost_part: None,
        },
    };
    while finder.step(tell)? {}
    let result = finder.search.result();
    let above = limit_above(finder.missed, result.bounds.lower);
    let (limit, failing) = above.map(|missed| ((missed.load, missed.limit), missed.failing)).unzip();
    let too_few = evidence::too_few(plan, result.bounds.lower, &finder.outcome.rows);
    Ok(FindOutcome { result, limit, failing: failing.flatten(), too_few, ..finder.outcome })
}

/// A trial that missed an objective.
#[derive(Debug)]
struct MissedTrial {
    load: f64,
    limit: Conclusion,
    failing: Option<MainFailure>,
}

/// A search on its way.
struct Finder<'a> {
    runner: &'a mut dyn TrialRunner,
    stop: &'a Stop,
    /// The load model; trials change its level.
    load: Load,
    scenario: Option<u16>,
    allowed: Vec<AllowedLoss>,
    lowest: f64,
    /// Seeds of the trials: no two have the same arrivals.
    seeds: Rng,
    search: Search,
    /// Median at the lowest load before any overload.
    baseline: Option<Nanos>,
    /// Trials that missed an objective.
    missed: Vec<MissedTrial>,
    outcome: FindOutcome,
}

impl Finder<'_> {
    /// Makes the next step; returns `false` at the end.
    fn step(&mut self, tell: &mut dyn FnMut(&TrialRow)) -> Result<bool, UsageError> {
        if self.stop.requested() {
            self.search.stop();
        }
        let before = self.runner.elapsed();
        match self.search.next() {
            SearchStep::Done(_) => return Ok(false),
            SearchStep::WarmUp { load, duration } => {
                if let Some((summary, _)) = self.measure((load, duration), true)? {
                    self.baseline = median(&summary).map(|(at, _)| at);
                }
                self.search.warmed_up(self.runner.elapsed() - before);
            }
            SearchStep::Settle => {
                self.settle()?;
                self.search.settled(self.runner.elapsed() - before);
            }
            SearchStep::Trial { load, duration } => {
                if let Some((summary, failed)) = self.measure((load, duration), false)? {
                    self.judge((load, duration), &summary, &failed, tell);
                }
                self.search.spend((self.runner.elapsed() - before) - duration);
            }
        }
        Ok(true)
    }

    /// Runs a load with a warm-up of its own; `None` if it was not made.
    fn measure(
        &mut self,
        (level, duration): (f64, Nanos),
        is_aside: bool,
    ) -> Result<Option<(Summary, FailedSeconds)>, UsageError> {
        let warmup = Nanos(duration.0 / WARMING_PART);
        let stages = vec![Stage { lasts: warmup.saturating_add(duration), from: level, to: level }];
        let load = match self.load.clone() {
            Load::Open { arrivals, .. } => Load::Open { stages, arrivals },
            Load::Closed { think, together, .. } => Load::Closed { stages, think, together },
        };
        let seed = Some(self.seeds.next_u64());
        let trial = Trial { load, requests: None, duration: Some(duration), warmup, seed, scenario: self.scenario };
        let mut failed = FailedSeconds::default();
        match self.runner.run(RunOf { subject: 0, is_aside }, &trial, self.stop, &mut [&mut failed])? {
            RunResult::Made(summary) => return Ok(Some((*summary, failed))),
            RunResult::Lost => {
                self.outcome.unreachable = true;
                self.search.stop();
            }
            RunResult::Partial(why) => {
                self.outcome.lost_part = Some(why);
                self.search.stop();
            }
            RunResult::Stopped => self.search.stop(),
            RunResult::OutOfTime => self.search.run_out_of_time(),
            // A load that does not fit this machine ends the search, unless it is the first.
            RunResult::Refused(complaint) if self.outcome.rows.is_empty() => return Err(complaint),
            RunResult::Refused(complaint) => {
                self.outcome.refused = Some(complaint);
                self.search.limit_to_below(level);
            }
        }
        Ok(None)
    }

    /// Turns a summary into an outcome.
    fn judge(
        &mut self,
        (load, duration): (f64, Nanos),
        summary: &Summary,
        failed: &FailedSeconds,
        tell: &mut dyn FnMut(&TrialRow),
    ) {
        let trusted = matches!(summary.exit, Exit::Ok | Exit::Missed);
        let counted = summary.objectives.iter().zip(&self.allowed);
        let counts = counted.map(|(judged, allowed)| count(summary, failed, judged, allowed));
        let counts: Vec<GoalCount> = counts.collect();
        let is_over = counts.iter().zip(&self.allowed).any(|(count, allowed)| count.loss() > allowed.share);
        self.search.add(TrialOutcome { load, duration, counts, trusted });
        if !trusted {
            self.outcome.doubts = summary.trust.against().cloned().collect();
        } else if is_over {
            let (limit, failing) = (summary.limits.clone(), MainFailure::of(summary));
            self.missed.push(MissedTrial { load, limit, failing });
        }
        let row = TrialRow {
            load,
            duration,
            objectives: summary.objectives.clone(),
            trusted,
            bracket: self.search.bracket(),
            remaining: self.search.remaining(),
            elapsed: self.runner.elapsed(),
        };
        tell(&row);
        self.outcome.rows.push(row);
    }

    /// Waits until the median at the lowest load is what it was, or at least not shown to be more.
    fn settle(&mut self) -> Result<(), UsageError> {
        let Some(baseline) = self.baseline else { return Ok(()) };
        for _ in 0..MOST_PROBES {
            let Some((summary, _)) = self.measure((self.lowest, PROBE), true)? else { return Ok(()) };
            let most = Nanos::from_secs_f64(baseline.as_secs_f64() * RECOVERED);
            let is_higher = median(&summary).is_some_and(|(at, low)| low.unwrap_or(at) > most);
            // A service that answers nothing has no median, and has not recovered.
            let is_away = summary.totals.finished == 0 && summary.totals.failed > 0;
            if self.stop.requested() || !(is_higher || is_away) {
                return Ok(());
            }
        }
        self.outcome.unsettled += 1;
        Ok(())
    }
}

/// Returns the limit of the service; what disturbed brunt is none.
fn service_limit(conclusion: &Conclusion) -> Option<&LimitFinding> {
    conclusion.principal().filter(|found| found.stage != PathStage::Generator)
}

/// Chooses the diagnosis that says most about the loads above the bound.
fn limit_above(missed: Vec<MissedTrial>, lower: Option<f64>) -> Option<MissedTrial> {
    let mut above: Vec<_> = missed.into_iter().filter(|trial| lower.is_none_or(|lower| trial.load > lower)).collect();
    above.sort_by(|one, other| {
        let is_known = |trial: &MissedTrial| service_limit(&trial.limit).is_some();
        is_known(other).cmp(&is_known(one)).then(one.load.total_cmp(&other.load))
    });
    above.into_iter().next()
}

/// Returns the median of a run and the lower end of its interval; `None` if it has too few requests.
fn median(summary: &Summary) -> Option<(Nanos, Option<Nanos>)> {
    let ranked = summary.headline();
    let none = brunt_measure::Histogram::new();
    let median = quantile(ranked.finished, ranked.at_least.unwrap_or(&none), 0.5);
    match median.value {
        QuantileValue::Value(at) | QuantileValue::AtLeast(at) => Some((at, median.low)),
        QuantileValue::Withheld => None,
    }
}

/// Counts the requests that missed an objective, and how far neighbours resemble each other at its limit.
fn count(summary: &Summary, failed: &FailedSeconds, judged: &JudgedObjective, allowed: &AllowedLoss) -> GoalCount {
    let (within, due) = judged.counted.unwrap_or_default();
    let design_effect = match allowed.limit {
        // How alike neighbours of one name are is not recorded.
        _ if !allowed.is_of_all => None,
        Some(limit) => summary.headline().blocks.and_then(|blocks| blocks.design_effect(limit)),
        None => failed.design_effect(),
    };
    GoalCount { violations: due.saturating_sub(within), due, design_effect }
}

#[cfg(test)]
mod tests;
