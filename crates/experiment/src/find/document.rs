//! The result of a search as JSON.

use std::io::{self, Write};

use brunt_i18n::Lang;
use serde::Serialize;

use super::{FindOutcome, TrialRow, service_limit};
use crate::search::{GoalBounds, SearchEnd};

/// The result of a search.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct FindReport<'a> {
    /// Form of the document.
    schema: &'static str,
    /// Load that was varied: `rate` (requests per second) or `users`.
    load: &'static str,
    /// Why it ended: `found`, `highest_held`, `lowest_missed`, `generator_limited`, `out_of_time`, `stopped`.
    end: &'static str,
    /// Distance of both bounds that was asked for, as a share of the lower one.
    width: f64,
    /// Bounds of all objectives together.
    bounds: BoundsReport,
    /// The interval that remains, by short trials too; null: open.
    bracket: [Option<f64>; 2],
    /// Each objective with its own bounds.
    objectives: Vec<GoalReport<'a>>,
    /// What limited the service at the lowest load that it did not hold.
    limit: Option<SearchLimitReport>,
    /// How most requests failed at the load of `limit`, if many did.
    failing: Option<FailingReport>,
    /// An objective that too few requests were made for at the lower bound; null if none.
    too_few_requests: Option<TooFewReport<'a>>,
    /// Why the last trial in doubt was, why the next load could not be sent, or which agent was lost.
    doubts: Vec<String>,
    /// Times that trials went on although the service was still slower than before its overload.
    unsettled: u32,
    /// All trials.
    trials: Vec<TrialReport<'a>>,
    /// Time that was spent.
    elapsed_s: f64,
    /// Exit code.
    exit_code: u8,
}

/// Bounds; null where none is known.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct BoundsReport {
    /// Load that is held.
    lower: Option<f64>,
    /// Load that is not.
    upper: Option<f64>,
    /// What gets through at the lower bound (conditional throughput).
    throughput: Option<f64>,
    /// `true` if a higher load was held than one that was not.
    inverted: bool,
}

#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct GoalReport<'a> {
    /// As written.
    objective: &'a str,
    #[serde(flatten)]
    bounds: BoundsReport,
}

#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct SearchLimitReport {
    /// Load of the trial.
    load: f64,
    /// Outcome of the diagnosis: `limit`, `unknown`, …
    outcome: &'static str,
    /// Rule of the limit.
    rule: Option<&'static str>,
    /// `proved` or `consistent`.
    proof: Option<&'static str>,
    /// The limit in words.
    claim: Option<String>,
    /// Counters that show it.
    evidence: Option<String>,
    /// What to change.
    remedy: Option<String>,
}

#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct FailingReport {
    /// Share of all requests that failed, in any way.
    share: f64,
    /// The most frequent way.
    failure: String,
}

#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct TooFewReport<'a> {
    /// Objective, as written.
    objective: &'a str,
    /// Requests in full trials at the lower bound.
    requests: u64,
    /// Requests that it takes.
    least: u64,
}

#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct TrialReport<'a> {
    /// Load.
    load: f64,
    /// Length of its window.
    duration_s: f64,
    /// Measured value of each objective.
    measured: Vec<&'a str>,
    /// Outcome of each objective: `met`, `undecided`, `missed`.
    outcomes: Vec<&'static str>,
    /// `false` if it is no evidence.
    trusted: bool,
}

impl From<&GoalBounds> for BoundsReport {
    fn from(bounds: &GoalBounds) -> BoundsReport {
        let GoalBounds { lower, upper, throughput, inverted } = *bounds;
        BoundsReport { lower, upper, throughput, inverted }
    }
}

impl<'a> From<&'a TrialRow> for TrialReport<'a> {
    fn from(row: &'a TrialRow) -> TrialReport<'a> {
        TrialReport {
            load: row.load,
            duration_s: row.duration.as_secs_f64(),
            measured: row.objectives.iter().map(|judged| judged.measured.as_str()).collect(),
            outcomes: row.objectives.iter().map(|judged| judged.outcome.name()).collect(),
            trusted: row.trusted,
        }
    }
}

impl SearchEnd {
    /// Returns the identifier used in documents.
    pub fn name(self) -> &'static str {
        match self {
            SearchEnd::Found => "found",
            SearchEnd::HighestHeld => "highest_held",
            SearchEnd::LowestMissed => "lowest_missed",
            SearchEnd::GeneratorLimited => "generator_limited",
            SearchEnd::OutOfTime => "out_of_time",
            SearchEnd::Stopped => "stopped",
        }
    }
}

/// Writes the result of a search as JSON.
///
/// # Errors
/// Returns the error of writing.
pub(super) fn write_json(outcome: &FindOutcome, out: &mut dyn Write) -> io::Result<()> {
    let result = &outcome.result;
    let limit = outcome.limit.as_ref().map(|(load, conclusion)| {
        let found = service_limit(conclusion);
        SearchLimitReport {
            load: *load,
            outcome: conclusion.outcome.name(),
            rule: found.map(|found| found.rule),
            proof: found.map(|found| found.proof.name()),
            claim: found.map(|found| found.claim(Lang::En)),
            evidence: found.map(|found| found.evidence(Lang::En)),
            remedy: found.map(|found| found.remedy(Lang::En)),
        }
    });
    let objectives = outcome.objectives.iter().zip(&result.goals);
    let doubts = outcome.doubts.iter().map(|doubt| doubt.sentence(Lang::En));
    let report = FindReport {
        schema: "brunt-find/1",
        load: if outcome.is_rate { "rate" } else { "users" },
        end: result.end.unwrap_or(SearchEnd::Stopped).name(),
        width: outcome.width,
        bounds: BoundsReport::from(&result.bounds),
        bracket: result.bracket,
        objectives: objectives.map(|(objective, goal)| GoalReport { objective, bounds: goal.into() }).collect(),
        limit,
        failing: outcome
            .failing
            .as_ref()
            .map(|failing| FailingReport { share: failing.share, failure: failing.words(Lang::En) }),
        too_few_requests: outcome.too_few.as_ref().map(|few| TooFewReport {
            objective: &few.objective,
            requests: few.made,
            least: few.least,
        }),
        doubts: doubts.chain(outcome.refused.iter().chain(&outcome.lost_part).map(ToString::to_string)).collect(),
        unsettled: outcome.unsettled,
        trials: outcome.rows.iter().map(TrialReport::from).collect(),
        elapsed_s: result.elapsed.as_secs_f64(),
        exit_code: outcome.exit().code(),
    };
    serde_json::to_writer_pretty(&mut *out, &report)?;
    out.write_all(b"\n")
}
