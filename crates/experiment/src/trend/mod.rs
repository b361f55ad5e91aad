//! `brunt trend`: the history of a test, and where its figures changed to another level.
//!
//! A comparison of the last run with the one before it says little: both vary. Change points (E-divisive with means, Matteson
//! and James 2014) are found in the whole history.

mod document;
mod report;
mod story;
#[cfg(test)]
mod tests;

use brunt_measure::Rng;
use brunt_measure::steady::{change_points, median};
use brunt_plan::Plan;
use brunt_report::Summary;
use brunt_report::contrast::{ChangeVerdict, ComparedFigures, MEASURES, Measure};

#[cfg(feature = "schema")]
pub(crate) use document::TrendReport;

/// Fewest runs in which a change can be found.
pub const LEAST_RUNS: usize = 8;
/// Smallest share and ratio whose logarithm is taken.
const LEAST: f64 = 1e-12;

/// A run of the history.
#[derive(Clone, Debug)]
pub struct TrendRun {
    /// Name of its record.
    pub name: String,
    /// Start, milliseconds since 1970.
    pub unix_ms: u64,
    /// Figures.
    pub figures: ComparedFigures,
}

/// A change of a figure to another level.
#[derive(Clone, Debug, PartialEq)]
pub struct LevelChange {
    /// Figure.
    pub measure: Measure,
    /// Index of the first run of the new level.
    pub at: usize,
    /// Medians of the level before and of the new one.
    pub levels: [f64; 2],
    /// Whether it matters, and in which direction.
    pub verdict: ChangeVerdict,
}

/// The history of a test.
#[derive(Clone, Debug)]
pub struct TestHistory {
    /// Runs of one test, by their time.
    pub runs: Vec<TrendRun>,
    /// Changes, by time.
    pub changes: Vec<LevelChange>,
    /// Records of another test, and runs in doubt for a reason without a size: both are left out.
    pub others: usize,
    /// See `others`.
    pub doubtful: usize,
}

impl TestHistory {
    /// Creates the history of the test that the latest of these runs is of. `seed` is that of the permutation tests.
    pub fn of(records: Vec<(String, Summary)>, seed: u64) -> TestHistory {
        let mut all = records;
        let start = |summary: &Summary| summary.started.as_ref().map_or(0, |started| started.unix_ms);
        all.sort_by_key(|(_, summary)| start(summary));
        let key = |summary: &Summary| summary.started.as_ref().map(|started| test_key(&started.plan));
        let wanted = all.last().and_then(|(_, summary)| key(summary));
        let count = all.len();
        all.retain(|(_, summary)| key(summary) == wanted);
        let others = count - all.len();
        let run = |(name, summary): &(String, Summary)| TrendRun {
            name: name.clone(),
            unix_ms: start(summary),
            figures: ComparedFigures::of_sums(summary),
        };
        let runs: Vec<TrendRun> = all.iter().map(run).filter(|run| run.figures.is_sound()).collect();
        let doubtful = all.len() - runs.len();
        let mut changes: Vec<LevelChange> =
            MEASURES.iter().flat_map(|measure| level_changes(&runs, measure, seed)).collect();
        changes.sort_by_key(|change| change.at);
        TestHistory { runs, changes, others, doubtful }
    }
}

/// Returns what makes a plan the same test: all of it but the seed and what it is judged by.
fn test_key(plan: &Plan) -> serde_json::Value {
    let mut key = serde_json::to_value(plan).unwrap_or_default();
    if let Some(fields) = key.as_object_mut() {
        ["seed", "objectives", "trust"].iter().for_each(|field| drop(fields.remove(*field)));
    }
    key
}

/// Finds the changes of one figure that matter.
fn level_changes(runs: &[TrendRun], measure: &Measure, seed: u64) -> Vec<LevelChange> {
    let open = runs.iter().all(|run| run.figures.is_open());
    let known = |(at, run): (usize, &TrendRun)| Some((at, run.figures.value(measure, open)?.0));
    let known: Vec<(usize, f64)> = runs.iter().enumerate().filter_map(known).collect();
    if known.len() < LEAST_RUNS {
        return Vec::new();
    }
    let values: Vec<f64> = known.iter().map(|(_, value)| *value).collect();
    // Twice as slow and twice as fast are the same distance.
    let scale = |value: &f64| if measure.is_share { *value } else { value.max(LEAST).ln() };
    let series: Vec<f64> = values.iter().map(scale).collect();
    let points = change_points(&series, &mut Rng::new(seed));
    let ends: Vec<usize> = std::iter::once(0).chain(points).chain([values.len()]).collect();
    let change = |ends: &[usize]| {
        let levels = [&values[ends[0]..ends[1]], &values[ends[1]..ends[2]]].map(median);
        let change = if measure.is_share { levels[1] - levels[0] } else { levels[1] / levels[0].max(LEAST) };
        let verdict = measure.verdict(Some([change; 2]));
        let matters = matches!(verdict, ChangeVerdict::Better | ChangeVerdict::Worse);
        matters.then(|| LevelChange { measure: *measure, at: known[ends[1]].0, levels, verdict })
    };
    ends.windows(3).filter_map(change).collect()
}
