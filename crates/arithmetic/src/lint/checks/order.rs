//! Figures that cannot be in this order: a mean below the shortest time, a percentile above the longest.

use brunt_i18n::LocalizedSentence;
use brunt_i18n::text::{Text, text};

use super::super::finding::{LintFinding, LintGrade};
use super::super::quantities::PrintedNumber;
use super::super::stated::{StatedRun, ToolName};
use super::{Examined, LintEvidence};
use crate::figures;

/// Relative error of a printed time beyond its digits.
const ROUNDED: f64 = 0.01;
/// The same of Locust, which rounds times to two digits.
const ROUNDED_BY_LOCUST: f64 = 0.06;

const SHORTEST: Text = text("the shortest time", "最短耗时");
const MEAN: Text = text("the mean", "平均值");
const FIRST_BAR: Text = text("the first bar of the histogram", "直方图的第一格");
const LONGEST: Text = text("the longest time", "最长耗时");
const PERCENTILE: Text = text("p{q}", "p{q}");
const ABOVE: Text = text(" of {high} is above ", " {high} 高于");
const IMPOSSIBLE: Text = text(" of {low}, which cannot be", " {low}，这不可能");

/// Compares the times of each run with each other.
pub fn examine(evidence: &LintEvidence<'_>, examined: &mut Examined) {
    for run in evidence.runs {
        let pairs = pairs(run);
        if !pairs.is_empty() {
            examined.add(pairs.iter().find_map(|pair| judge(run, pair)));
        }
    }
}

/// A time with its name.
type NamedTime = (LocalizedSentence, PrintedNumber);

/// Returns pairs of times of which the first may not exceed the second.
fn pairs(run: &StatedRun) -> Vec<(NamedTime, NamedTime)> {
    let named = |text: Text, time: Option<PrintedNumber>| time.map(|time| (LocalizedSentence::from(text), time));
    let [min, mean, max] = [named(SHORTEST, run.min), named(MEAN, run.mean), named(LONGEST, run.max)];
    let percentile = |at: usize| {
        let percentile = run.percentiles.get(at)?;
        let name = LocalizedSentence::new(PERCENTILE, [("q", figures::percentile(percentile.q))]);
        Some((name, percentile.time))
    };
    let neighbours = (0..run.percentiles.len()).map(|at| (percentile(at), percentile(at + 1)));
    let top = run.percentiles.len().checked_sub(1).and_then(percentile);
    let bar = named(FIRST_BAR, run.first_bar);
    let all = [(min.clone(), mean.clone()), (mean, max.clone()), (min.clone(), percentile(0)), (top, max), (min, bar)];
    all.into_iter().chain(neighbours).filter_map(|(low, high)| Some((low?, high?))).collect()
}

fn judge(run: &StatedRun, ((low_name, low), (high_name, high)): &(NamedTime, NamedTime)) -> Option<LintFinding> {
    let rounded = if run.tool == ToolName::Locust { ROUNDED_BY_LOCUST } else { ROUNDED };
    if low.at_least() <= high.at_most() * (1.0 + rounded) {
        return None;
    }
    let sentence = low_name
        .clone()
        .with_clause(ABOVE, [("high", figures::time(low.value))])
        .followed_by(high_name.clone())
        .with_clause(IMPOSSIBLE, [("low", figures::time(high.value))]);
    let found = LintFinding::of_run(run, LintGrade::Wrong, PERCENTILE, [("q", String::new())]);
    Some(LintFinding { sentence, ..found }.settled_by(run.brunt_again()))
}
