//! What the trials of a search rest on: how many requests they had, and how those that failed did.

use brunt_measure::Nanos;
use brunt_report::{Summary, failure_in_words};

use super::{FindPlan, TrialRow};

/// Probability below which chance is ruled out.
const CHANCE: f64 = 0.05;
/// Share of failures from which they are named.
const MANY: f64 = 0.01;

/// An objective that too few requests were made for.
#[derive(Clone, Debug, PartialEq)]
pub struct TooFewRequests {
    /// Objective, as written.
    pub objective: String,
    /// Requests at the lower bound.
    pub made: u64,
    /// Requests that it takes: with fewer, all of them could have met it by chance.
    pub least: u64,
    /// Length of trials with as many at that load.
    pub trial: Nanos,
}

/// Returns the objective that needs most requests more than the full trials at the lower bound had.
pub(super) fn too_few(plan: &FindPlan, lower: Option<f64>, rows: &[TrialRow]) -> Option<TooFewRequests> {
    let lower = lower?;
    let full: Vec<&TrialRow> =
        rows.iter().filter(|row| row.load == lower && row.trusted && row.duration >= plan.trial).collect();
    let wanting = plan.objectives.iter().zip(plan.allowed()).enumerate().filter_map(|(at, (objective, allowed))| {
        let counted = full.iter().filter_map(|row| row.objectives.get(at)?.counted);
        let made = counted.map(|(_, due)| due).sum();
        let least = least_requests(allowed.share);
        let longer = least as f64 / (made as f64).max(1.0);
        let trial = Nanos::from_secs_f64((plan.trial.as_secs_f64() * longer).ceil());
        (made < least).then(|| TooFewRequests { objective: objective.clone(), made, least, trial })
    });
    wanting.max_by_key(|found| found.least)
}

/// Returns the least number of requests of which all could not plausibly meet an objective that allows this loss.
fn least_requests(loss: f64) -> u64 {
    if loss > 0.0 && loss < 1.0 { (CHANCE.ln() / (1.0 - loss).ln()).ceil() as u64 } else { 1 }
}

/// The most frequent kind of failure of a trial.
#[derive(Clone, Debug, PartialEq)]
pub struct MainFailure {
    /// Share of all requests that failed, in any way.
    pub share: f64,
    kind: String,
    phase: String,
    errno: Option<String>,
}

impl MainFailure {
    /// Returns that of a trial in which many requests failed.
    pub(super) fn of(summary: &Summary) -> Option<MainFailure> {
        let totals = &summary.totals;
        let share = (totals.failed + totals.censored) as f64 / (totals.due as f64).max(1.0);
        let main = totals.failures.iter().max_by_key(|failure| failure.count).filter(|_| share >= MANY)?;
        Some(MainFailure {
            share,
            kind: main.kind.to_string(),
            phase: main.phase.to_string(),
            errno: main.errno.as_ref().map(ToString::to_string),
        })
    }

    /// Describes it.
    pub fn words(&self, lang: brunt_i18n::Lang) -> String {
        failure_in_words((&self.kind, &self.phase, self.errno.as_deref()), lang)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_numbers_are_those_of_withheld_quantiles() {
        let least = [0.5, 0.1, 0.05, 0.01, 0.001, 0.0].map(least_requests);
        assert_eq!(least, [5, 29, 59, 299, 2995, 1]);
    }
}
