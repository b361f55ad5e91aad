//! `brunt ladder`: rungs that each do one thing more, measured with 1, 2, 4 … users until throughput stops rising.

mod document;
mod report;
mod story;
#[cfg(test)]
mod tests;

use brunt_contract::UsageError;
use brunt_engine::Stop;
use brunt_measure::quantile::quantile;
use brunt_measure::{Histogram, Nanos, QuantileValue, Rng};
use brunt_plan::{Load, Stage, Trial};
use brunt_report::{Exit, Finding, Summary};
use serde::{Deserialize, Serialize};

use crate::compare::with_warm_up;
use crate::laws::ladder::{LadderRung, LadderStep, step};
use crate::runner::{RunOf, RunResult, TrialRunner};

#[cfg(feature = "schema")]
pub(crate) use document::LadderReport;
pub use story::{outlook, run_line};

/// Gain of throughput by twice as many users below which a rung is at its capacity.
const RISING: f64 = 0.05;
/// Runs in a row that must not rise: one that is lower by chance does not end a rung.
const FLAT: usize = 2;
/// Share of the highest throughput up to which the CPU of a request is measured: queues and retries would add to it.
const MODERATE: f64 = 0.8;

/// How a ladder is climbed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LadderPlan {
    /// Rungs, the lowest first.
    pub rungs: Vec<RungPlan>,
    /// Highest number of users.
    pub up_to: u32,
    /// Sizes of pools that the services have.
    pub pools: Vec<u32>,
    /// Seed of the runs.
    pub seed: u64,
}

/// A rung, before it is climbed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RungPlan {
    /// Name.
    pub name: String,
    /// A run of it, without its seed, with any number of users.
    pub trial: Trial,
}

/// A run of a rung.
#[derive(Clone, Debug, PartialEq)]
pub struct RungRun {
    /// Users.
    pub users: u32,
    /// Successes per second.
    pub throughput_per_s: f64,
    /// Median service time, in seconds; `None` if withheld.
    pub median_s: Option<f64>,
    /// CPU seconds of the watched service for a request; `None` if it is not watched.
    pub cpu_s: Option<f64>,
    /// Set if its objectives, if there are any, were met.
    pub is_met: bool,
    /// Why it is no evidence.
    pub doubt: Option<Finding>,
}

/// A rung with its runs.
#[derive(Clone, Debug, PartialEq)]
pub struct ClimbedRung {
    /// Name.
    pub name: String,
    /// Runs, by users, ascending.
    pub runs: Vec<RungRun>,
    /// Set if throughput had stopped rising, or an objective was missed: then the highest throughput is the capacity.
    pub is_full: bool,
}

impl ClimbedRung {
    /// Returns `true` if a single user already misses its objectives: its capacity is less than that.
    pub fn misses_alone(&self) -> bool {
        self.runs.first().is_some_and(|run| run.doubt.is_none() && !run.is_met)
    }

    /// Returns the rung as the rules see it; `None` if a user alone was not measured, or nothing succeeded.
    pub fn measured(&self) -> Option<LadderRung> {
        let sound = || self.runs.iter().filter(|run| run.doubt.is_none());
        let alone_s = sound().find(|run| run.users == 1)?.median_s?;
        let full = sound().filter(|run| run.is_met).max_by(|a, b| a.throughput_per_s.total_cmp(&b.throughput_per_s))?;
        let capacity_per_s = full.throughput_per_s;
        // With more users than at the capacity, a low throughput is an overload.
        let moderate = sound().filter(|run| run.users < full.users);
        let moderate = moderate.filter(|run| run.throughput_per_s <= MODERATE * capacity_per_s);
        let moderate = moderate.max_by(|a, b| a.throughput_per_s.total_cmp(&b.throughput_per_s));
        let cpu_s = moderate.or_else(|| sound().next()).and_then(|run| run.cpu_s);
        (capacity_per_s > 0.0).then_some(LadderRung { alone_s, capacity_per_s, cpu_s })
    }
}

/// The end of a ladder.
#[derive(Clone, Debug)]
pub struct LadderOutcome {
    /// How it was climbed.
    pub plan: LadderPlan,
    /// Rungs that were measured, the lowest first.
    pub rungs: Vec<ClimbedRung>,
    /// Cores of the machine of the service; `None` if it was not watched.
    pub cores: Option<f64>,
    /// Time that was spent.
    pub elapsed: Nanos,
    /// Set if a target was lost.
    pub unreachable: bool,
    /// Which agent or process was lost, or could not be had, if that ended it.
    pub lost_part: Option<UsageError>,
    /// Set if all rungs were climbed.
    pub is_complete: bool,
}

impl LadderOutcome {
    /// Returns what each rung but the lowest adds; `None` for one that cannot be told.
    pub fn steps(&self) -> Vec<Option<LadderStep>> {
        let measured: Vec<Option<LadderRung>> = self.rungs.iter().map(ClimbedRung::measured).collect();
        let pair = |pair: &[Option<LadderRung>]| {
            Some(step(&pair[0]?, &pair[1]?, self.cores.unwrap_or(f64::INFINITY), &self.plan.pools))
        };
        measured.windows(2).map(pair).collect()
    }

    /// Returns the exit code: 20 if a rung cannot be told.
    pub fn exit(&self) -> Exit {
        match () {
            () if self.unreachable => Exit::Unreachable,
            () if !self.is_complete => Exit::Interrupted,
            () if self.rungs.iter().any(ClimbedRung::misses_alone) => Exit::Missed,
            () if self.rungs.iter().any(|rung| rung.measured().is_none()) => Exit::NotTrusted,
            () => Exit::Ok,
        }
    }
}

/// Climbs the rungs, one after the other; `tell` gets each run as it is done, with the name of its rung. `stop` ends it with
/// what is known.
///
/// # Errors
/// Returns an error if the first load of a rung does not fit its requests, or that of the runner.
pub fn climb(
    plan: &LadderPlan,
    runner: &mut dyn TrialRunner,
    stop: &Stop,
    tell: &mut dyn FnMut(&str, &RungRun),
) -> Result<LadderOutcome, UsageError> {
    let mut found = LadderOutcome {
        plan: plan.clone(),
        rungs: Vec::new(),
        cores: None,
        elapsed: Nanos::ZERO,
        unreachable: false,
        lost_part: None,
        is_complete: false,
    };
    let mut seeds = Rng::new(plan.seed);
    for at in 0..plan.rungs.len() {
        if !found.climb_rung(at, &mut seeds, (runner, stop), tell)? {
            found.elapsed = runner.elapsed();
            return Ok(found);
        }
    }
    (found.elapsed, found.is_complete) = (runner.elapsed(), true);
    Ok(found)
}

impl LadderOutcome {
    /// Measures a rung with 1, 2, 4 … users; returns `false` if the ladder ends there.
    fn climb_rung(
        &mut self,
        at: usize,
        seeds: &mut Rng,
        (runner, stop): (&mut dyn TrialRunner, &Stop),
        tell: &mut dyn FnMut(&str, &RungRun),
    ) -> Result<bool, UsageError> {
        let plan = &self.plan.clone();
        let RungPlan { name, trial } = &plan.rungs[at];
        self.rungs.push(ClimbedRung { name: name.clone(), runs: Vec::new(), is_full: false });
        let mut users = 1;
        while users <= plan.up_to && !self.rungs[at].is_full {
            if stop.requested() {
                return Ok(false);
            }
            let trial = Trial { seed: Some(seeds.next_u64()), ..with_users(trial, users) };
            match runner.run(RunOf::subject(at), &trial, stop, &mut [])? {
                RunResult::Made(summary) => self.add(users, &summary),
                RunResult::Refused(complaint) if users == 1 => return Err(complaint),
                // More users do not fit this machine: what was reached is what is known.
                RunResult::Refused(_) => return Ok(true),
                RunResult::Stopped | RunResult::OutOfTime => return Ok(false),
                RunResult::Partial(why) => {
                    self.lost_part = Some(why);
                    return Ok(false);
                }
                RunResult::Lost => {
                    self.unreachable = true;
                    return Ok(false);
                }
            }
            self.rungs[at].runs.last().into_iter().for_each(|run| tell(name, run));
            users = users.saturating_mul(2);
        }
        Ok(true)
    }

    fn add(&mut self, users: u32, summary: &Summary) {
        let shares = summary.limits.core_shares;
        self.cores = self.cores.or(shares.map(|shares| shares.cores));
        let Some(rung) = self.rungs.last_mut() else { return };
        let run = run_of(users, summary);
        // More users of a service that answers none get no more.
        let ends = !run.is_met || run.throughput_per_s <= 0.0;
        rung.runs.push(run);
        rung.is_full = ends || flat_runs(&rung.runs) >= FLAT;
    }
}

/// Returns the number of runs at the end that were hardly better than the best before them; those in doubt are left out.
fn flat_runs(runs: &[RungRun]) -> usize {
    let sound: Vec<f64> = runs.iter().filter(|run| run.doubt.is_none()).map(|run| run.throughput_per_s).collect();
    let is_flat = |at: &usize| {
        let best = sound[..*at].iter().copied().fold(0.0, f64::max);
        best > 0.0 && sound[*at] < (1.0 + RISING) * best
    };
    (0..sound.len()).rev().take_while(is_flat).count()
}

fn run_of(users: u32, summary: &Summary) -> RungRun {
    let ranked = summary.headline();
    let none = Histogram::new();
    let median_s = match quantile(ranked.finished, ranked.at_least.unwrap_or(&none), 0.5).value {
        QuantileValue::Value(at) => Some(at.as_secs_f64()),
        QuantileValue::AtLeast(_) | QuantileValue::Withheld => None,
    };
    let throughput_per_s = summary.throughput_per_s();
    let service = summary.limits.core_shares.map(|shares| shares.service);
    RungRun {
        users,
        throughput_per_s,
        median_s,
        cpu_s: service.filter(|_| throughput_per_s > 0.0).map(|cores| cores / throughput_per_s),
        is_met: summary.objectives.iter().all(|judged| judged.is_met()),
        doubt: summary.doubt_without_size().cloned(),
    }
}

/// Returns the trial with this many users.
fn with_users(trial: &Trial, users: u32) -> Trial {
    let (level, mut trial) = (f64::from(users), trial.clone());
    let lasts = trial.duration.unwrap_or(Nanos::from_secs(10));
    trial.duration = Some(lasts);
    if let Load::Closed { stages, .. } = &mut trial.load {
        *stages = vec![Stage { lasts, from: level, to: level }];
    }
    with_warm_up(trial)
}
