//! Objectives: `p99<50ms`, `mean<10ms`, `max<2s`, `failed<0.1%`, `rate>=1000/s`; for the requests of one name
//! `p99{checkout}<50ms`.
//!
//! A quantile is judged by counting, over all requests that were due: `p99<50ms` holds if at least 99 % of them
//! completed in less than 50 ms. A failed or unfinished request did not. Failures therefore never improve a
//! figure, and a quantile that cannot be shown (too few requests, or only a lower bound) can still be judged.

#[cfg(test)]
mod tests;
mod windows;

use std::borrow::Cow;

use brunt_cause::{Complaint, complaint};
use brunt_measure::{Histogram, Nanos};
use brunt_plan::quantity;
use brunt_plan::scenarios::SpanName;
use brunt_record::End;

use crate::iterations::{ScenarioRow, SpanRow};
use crate::name_totals::NamedTotals;
use crate::numbers;
use crate::ranked::{Band, Figure, RankedLatency};
use crate::sums::RunSums;
use crate::text::Lang;

pub use self::windows::StretchObjectives;

/// Minimum length of a stretch, which is one second of a record, and the maximum length, because stretches are held in
/// memory.
const SHORTEST: Nanos = Nanos::from_secs(1);
const LONGEST: Nanos = Nanos::from_secs(600);

/// A parsed objective.
#[derive(Clone, Debug, PartialEq)]
pub struct Objective {
    /// Text as written.
    pub text: String,
    /// Name of the requests that the objective applies to; `None` for all.
    name_filter: Option<String>,
    metric: Criterion,
    strict: bool,
    /// Length of the stretches that the objective applies to; `None` for the whole run.
    stretch: Option<Nanos>,
    /// Time after the beginning of the window from which a miss stops the run.
    stop_after: Option<Nanos>,
}

#[derive(Clone, Debug, PartialEq)]
enum Criterion {
    /// Quantile: at least `share` of `whole` due requests complete within the limit.
    Quantile {
        name: String,
        share: u64,
        whole: u64,
        limit: Nanos,
    },
    Mean(Nanos),
    Max(Nanos),
    /// Share of failures, as a fraction.
    Failed(f64),
    Rate(f64),
}

/// The figures by which an objective is judged.
#[derive(Clone, Copy, Debug)]
pub struct ObjectiveInputs<'a> {
    /// Requests that were due.
    pub due: u64,
    /// Failures.
    pub failed: u64,
    /// Requests still unfinished when the run ended.
    pub censored: u64,
    /// Iterations that were due and never began because no user was free.
    pub dropped: u64,
    /// Set if the run, or a part of it, was cut off, so that its last requests might have completed in time.
    pub cut: bool,
    /// Successes.
    pub finished: u64,
    /// Successes within the window ÷ its length.
    pub throughput_per_s: f64,
    /// The same if brunt had not been away from its users' responses: an upper bound.
    pub throughput_at_most_per_s: f64,
    /// Failures of which brunt does not know whether they are any, because it did not check the response.
    pub unchecked: u64,
    /// The headline latency.
    pub latency: RankedLatency<'a>,
    /// Requests that count as complete within any limit: 0 as measured, and in the better case those of which nothing
    /// else is known.
    granted: u64,
}

/// A judged objective.
#[derive(Clone, Debug, PartialEq)]
pub struct JudgedObjective {
    /// Text as written.
    pub objective: String,
    /// Whether it was met, as far as can be told.
    pub outcome: ObjectiveOutcome,
    /// Measured value, for people: `p99 31.2 ms`.
    pub measured: String,
    /// Due requests within the limit, and due requests; `None` for `rate` and `mean`.
    pub counted: Option<(u64, u64)>,
    /// Number of failed requests, if each of them counts as one beyond the limit.
    pub failed: u64,
    /// Set if there were too few requests to show the quantile, so that the count alone decided.
    pub too_few_requests: bool,
    /// Set if the objective concerns the failures of all requests.
    pub is_of_failures: bool,
}

/// The outcome of an objective. What may be brunt's own, and what it does not know, is judged both ways
/// (`docs/measurement.md` 2.5, 3.5).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ObjectiveOutcome {
    /// Met, even if nothing of the figure is brunt's own.
    Met,
    /// Met in the better case, missed in the worse; or there was nothing to judge.
    Undecided,
    /// Missed, even in the better case.
    Missed,
}

impl ObjectiveOutcome {
    /// Returns the outcome of an objective that is met `as_measured`, or would be in the better case.
    fn of(as_measured: bool, better: impl FnOnce() -> bool) -> ObjectiveOutcome {
        match as_measured {
            true => ObjectiveOutcome::Met,
            false if better() => ObjectiveOutcome::Undecided,
            false => ObjectiveOutcome::Missed,
        }
    }

    /// Returns the identifier used in documents.
    pub fn name(self) -> &'static str {
        match self {
            ObjectiveOutcome::Met => "met",
            ObjectiveOutcome::Undecided => "undecided",
            ObjectiveOutcome::Missed => "missed",
        }
    }
}

/// The limit of an objective on latency.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct LatencyLimit {
    /// The quantile; `None` for the maximum and the mean.
    pub quantile: Option<f64>,
    /// The name of the requests; `None` for all.
    pub name: Option<String>,
    /// The limit.
    pub limit: Nanos,
}

/// The loss that an objective allows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AllowedLoss {
    /// Largest share of due requests that may miss it.
    pub share: f64,
    /// Limit of the latency; `None` if only failures miss it.
    pub limit: Option<Nanos>,
    /// Set if it is of all requests, and not of those of a name.
    pub is_of_all: bool,
}

impl Objective {
    /// Returns the loss that the objective allows; `None` if it is not judged by counting requests over the whole run.
    pub fn allowed_loss(&self) -> Option<AllowedLoss> {
        let (share, limit) = match &self.metric {
            Criterion::Quantile { share, whole, limit, .. } => ((whole - share) as f64 / *whole as f64, Some(*limit)),
            Criterion::Max(limit) => (0.0, Some(*limit)),
            Criterion::Failed(share) => (*share, None),
            Criterion::Mean(_) | Criterion::Rate(_) => return None,
        };
        self.stretch.is_none().then_some(AllowedLoss { share, limit, is_of_all: self.name_filter.is_none() })
    }

    /// Returns the limit of an objective on latency.
    pub(crate) fn latency_limit(self) -> Option<LatencyLimit> {
        let (quantile, limit) = match self.metric {
            Criterion::Quantile { share, whole, limit, .. } => (Some(share as f64 / whole as f64), limit),
            Criterion::Mean(limit) | Criterion::Max(limit) => (None, limit),
            Criterion::Failed(_) | Criterion::Rate(_) => return None,
        };
        Some(LatencyLimit { quantile, name: self.name_filter, limit })
    }
}

impl JudgedObjective {
    /// Returns `true` if it was met for certain.
    pub fn is_met(&self) -> bool {
        self.outcome == ObjectiveOutcome::Met
    }

    /// Creates the result for a recorded objective that this version cannot parse; it is never met.
    pub fn unreadable(text: &str) -> JudgedObjective {
        let measured = numbers::WITHHELD.into();
        JudgedObjective {
            objective: text.into(),
            outcome: ObjectiveOutcome::Missed,
            measured,
            counted: None,
            failed: 0,
            too_few_requests: false,
            is_of_failures: false,
        }
    }
}

impl Objective {
    /// Parses an objective.
    ///
    /// # Errors
    ///
    /// Returns one sentence that states what is wrong and an accepted form.
    pub fn parse(text: &str) -> Result<Objective, Complaint> {
        let wrong = |why: Complaint| {
            Complaint::new(format!("objective `{text}`: {why}"), format!("目标 `{text}`：{}", why.zh()))
        };
        let (figure, lasts, stops) = stretch(text).map_err(wrong)?;
        let (whole, of) = split_name(figure).map_err(wrong)?;
        let at = whole.find(['<', '>', '=']).ok_or_else(|| {
            wrong(complaint!(
                "has no comparison; add one, for example p99<50ms, failed<0.1% or rate>=1000/s",
                "缺少比较符；请补上，例如 p99<50ms、failed<0.1% 或 rate>=1000/s"
            ))
        })?;
        let (name, rest) = (whole[..at].trim(), &whole[at..]);
        let (less, strict, limit) = match rest.as_bytes() {
            [b'<', b'=', ..] => (true, false, &rest[2..]),
            [b'>', b'=', ..] => (false, false, &rest[2..]),
            [b'<', ..] => (true, true, &rest[1..]),
            [b'>', ..] => (false, true, &rest[1..]),
            _ => {
                return Err(wrong(complaint!(
                    "a figure is never exactly equal; compare with <, <=, > or >=",
                    "测得的值不会恰好相等；请用 <、<=、> 或 >= 比较"
                )));
            }
        };
        let limit = limit.trim();
        let wants = |less_wanted: bool, example: &str| {
            if less == less_wanted {
                Ok(())
            } else {
                Err(wrong(complaint!(
                    "the comparison is the wrong way round; use {example}",
                    "比较方向反了；请用 {example}"
                )))
            }
        };
        let time = || quantity::positive_duration(limit).map_err(|why| wrong(about("the limit", "上限", &why)));
        let metric = match name {
            "mean" | "avg" => {
                wants(true, "mean<10ms")?;
                Criterion::Mean(time()?)
            }
            "max" => {
                wants(true, "max<2s")?;
                Criterion::Max(time()?)
            }
            "failed" => {
                wants(true, "failed<0.1%")?;
                Criterion::Failed(share_of_failures(limit).ok_or_else(|| {
                    wrong(complaint!(
                        "`{limit}` is not a share; use a percentage from 0% to 100%, such as 0.1%",
                        "`{limit}` 不是比例；请用 0% 到 100% 之间的百分数，例如 0.1%"
                    ))
                })?)
            }
            "rate" => {
                wants(false, "rate>=1000/s")?;
                Criterion::Rate(quantity::rate(limit).map_err(|why| wrong(about("the limit", "下限", &why)))?)
            }
            _ => {
                let (share, whole) = name.strip_prefix('p').and_then(percentile).ok_or_else(|| {
                    wrong(from_other_tool(name, &rest[..rest.len() - limit.len()], limit).unwrap_or_else(|| {
                        complaint!(
                            "`{name}` is not a metric; write p50, p99, p99.9, mean, max, failed or rate",
                            "`{name}` 不是指标；请写 p50、p99、p99.9、mean、max、failed 或 rate"
                        )
                    }))
                })?;
                wants(true, &format!("{name}<50ms"))?;
                Criterion::Quantile { name: name.into(), share, whole, limit: time()? }
            }
        };
        Ok(Objective {
            text: text.into(),
            name_filter: of.map(str::to_owned),
            metric,
            strict,
            stretch: lasts,
            stop_after: stops,
        })
    }

    /// Returns the name of the requests that the objective applies to; `None` for all.
    pub fn name(&self) -> Option<&str> {
        self.name_filter.as_deref()
    }

    /// Returns `true` if the objective concerns the number of failures.
    pub fn is_of_failures(&self) -> bool {
        matches!(self.metric, Criterion::Failed(_))
    }

    /// Returns `true` if the objective concerns a latency or a duration.
    pub fn is_of_time(&self) -> bool {
        matches!(self.metric, Criterion::Quantile { .. } | Criterion::Mean(_) | Criterion::Max(_))
    }

    /// Returns the least rate that an objective on all requests of a whole run asks for, per second.
    pub(crate) fn least_rate(&self) -> Option<f64> {
        match self.metric {
            Criterion::Rate(limit) if self.name_filter.is_none() && self.stretch.is_none() => Some(limit),
            _ => None,
        }
    }

    /// Returns `true` if the objective concerns throughput.
    fn is_of_rate(&self) -> bool {
        matches!(self.metric, Criterion::Rate(_))
    }

    /// Judges the objective by these figures.
    pub fn judge(&self, facts: &ObjectiveInputs<'_>) -> JudgedObjective {
        match &self.metric {
            Criterion::Quantile { name, share, whole, limit } => {
                self.judge_quantile(facts, name, (*share, *whole), *limit)
            }
            Criterion::Max(limit) => {
                let (within, due) = (self.within(facts, *limit), self.due(facts, *limit));
                let outcome = self.outcome(facts, due, |facts| self.within(facts, *limit) == due);
                let shown = shown(outcome, facts.latency.max(), facts.latency.max_band());
                let measured = format!("max {shown}{}", facts.dropped_note());
                let judged = self.judged(outcome, measured, facts.counted(within, due));
                JudgedObjective { failed: facts.failed, ..judged }
            }
            Criterion::Mean(limit) => {
                let outcome = self.outcome(facts, facts.due, |facts| {
                    let mean = facts.latency.mean().exact().or((facts.granted > 0).then_some(Nanos::ZERO));
                    facts.dropped == 0 && mean.is_some_and(|m| if self.strict { m < *limit } else { m <= *limit })
                });
                // A lower bound below the limit shows neither.
                let at_least = facts.latency.mean().at_least().filter(|_| facts.dropped == 0);
                let outcome = match at_least {
                    Some(least) if least < *limit => ObjectiveOutcome::Undecided,
                    _ => outcome,
                };
                let shown = shown(outcome, facts.latency.mean(), facts.latency.mean_band());
                self.judged(outcome, format!("mean {shown}{}", facts.dropped_note()), None)
            }
            Criterion::Failed(limit) => {
                let (bad, due) = facts.failures();
                let limit = limit * due as f64;
                let outcome = self.outcome(facts, due, |facts| {
                    let bad = facts.failures().0 as f64;
                    if self.strict { bad < limit } else { bad <= limit }
                });
                let measured = format!("failed {}{}", numbers::percent(bad, due), facts.dropped_note());
                self.judged(outcome, measured, Some((due.saturating_sub(bad), due)))
            }
            Criterion::Rate(limit) => {
                let meets = |rate: f64| if self.strict { rate > *limit } else { rate >= *limit };
                let rate = facts.throughput_per_s;
                let outcome = ObjectiveOutcome::of(meets(rate), || meets(facts.throughput_at_most_per_s));
                self.judged(outcome, format!("rate {}/s", numbers::rate(rate)), None)
            }
        }
    }

    fn judge_quantile(
        &self,
        facts: &ObjectiveInputs<'_>,
        name: &str,
        (share, whole): (u64, u64),
        limit: Nanos,
    ) -> JudgedObjective {
        let (within, due) = (self.within(facts, limit), self.due(facts, limit));
        let outcome = self.outcome(facts, due, |facts| {
            let within = self.within(facts, limit);
            u128::from(within) * u128::from(whole) >= u128::from(due) * u128::from(share)
        });
        let quantile = facts.latency.quantile(share as f64 / whole as f64);
        let figure = quantile.figure;
        let measured = format!("{name} {}{}", shown(outcome, figure, quantile.band), facts.dropped_note());
        let mut judged = self.judged(outcome, measured, facts.counted(within, due));
        judged.failed = facts.failed;
        judged.too_few_requests = figure == Figure::Withheld && self.within(facts, Nanos::MAX) > 0;
        judged
    }

    /// Returns the number of due requests, without those that a stop cut off before the limit had passed, because it is
    /// unknown whether they would have met it.
    fn due(&self, facts: &ObjectiveInputs<'_>, limit: Nanos) -> u64 {
        let waited_less = || facts.latency.at_least.map_or(0, |bounds| bounds.count_at_most(limit - Nanos(1)));
        let unknown = if facts.cut { waited_less().min(facts.censored) } else { 0 };
        facts.due.saturating_sub(unknown)
    }

    /// Returns the number of due requests known to have completed within the limit.
    fn within(&self, facts: &ObjectiveInputs<'_>, limit: Nanos) -> u64 {
        let limit = if self.strict { limit - Nanos(1) } else { limit };
        facts.latency.finished.count_at_most(limit) + facts.granted
    }

    /// Judges `due` requests both as measured and in the better case: without the delays that may be brunt's own, and
    /// with everything good of which the contrary is not known. Of none, nothing can be told.
    fn outcome(
        &self,
        facts: &ObjectiveInputs<'_>,
        due: u64,
        meets: impl Fn(&ObjectiveInputs<'_>) -> bool,
    ) -> ObjectiveOutcome {
        if due == 0 {
            return ObjectiveOutcome::Undecided;
        }
        ObjectiveOutcome::of(meets(facts), || {
            let undelayed = facts.latency.undelayed();
            let finished = undelayed.as_ref().unwrap_or(facts.latency.finished);
            meets(&facts.in_the_better_case(finished))
        })
    }

    fn judged(&self, outcome: ObjectiveOutcome, measured: String, counted: Option<(u64, u64)>) -> JudgedObjective {
        let all = self.name_filter.as_ref().is_none_or(|of| of == SpanName::ITERATION);
        let of_failures = all && matches!(self.metric, Criterion::Failed(_));
        JudgedObjective {
            objective: self.text.clone(),
            outcome,
            measured,
            counted,
            failed: 0,
            too_few_requests: false,
            is_of_failures: of_failures,
        }
    }
}

/// Formats a figure, or the band that leaves its objective undecided.
fn shown(outcome: ObjectiveOutcome, figure: Figure, band: Option<Band>) -> String {
    match (outcome, band) {
        (ObjectiveOutcome::Undecided, Some(band)) => band.show(Lang::En),
        _ => figure.show(),
    }
}

/// Judges the objectives of a run's plan.
pub(crate) fn judged(run: &RunSums, windows: &StretchObjectives) -> Vec<JudgedObjective> {
    let judged = |text: &String| {
        windows.judged(text).or_else(|| {
            let objective = Objective::parse(text).ok()?;
            Some(objective.judge(&ObjectiveInputs::of(run, &objective)?))
        })
    };
    let asked = run.started.iter().flat_map(|s| &s.plan.objectives);
    asked.map(|text| judged(text).unwrap_or_else(|| JudgedObjective::unreadable(text))).collect()
}

/// Returns `true` if one of the objectives concerns the failures of all requests.
pub(crate) fn any_of_failures(judged: &[JudgedObjective]) -> bool {
    judged.iter().any(|o| o.is_of_failures)
}

impl<'a> ObjectiveInputs<'a> {
    /// Returns the requests that failed, are unfinished or were never begun, and the total. Requests cut off by a stop
    /// might have succeeded and are in neither number.
    pub(crate) fn failures(&self) -> (u64, u64) {
        let cut = if self.cut { self.censored } else { 0 };
        let bad = self.failed.saturating_add(self.censored).saturating_add(self.dropped);
        (bad.saturating_sub(cut), self.due.saturating_sub(cut))
    }

    /// Returns the figures with these latencies, and with all requests good of which the contrary is not known.
    fn in_the_better_case<'b>(&'b self, finished: &'b Histogram) -> ObjectiveInputs<'b> {
        let latency = RankedLatency { finished, own: None, blocks: None, ..self.latency };
        let failed = self.failed.saturating_sub(self.unchecked);
        ObjectiveInputs { latency, failed, granted: self.unchecked.saturating_add(self.unmeasured()), ..*self }
    }

    /// Returns the number of successes without a latency, as those of messages that nobody answers.
    fn unmeasured(&self) -> u64 {
        self.finished.saturating_sub(self.latency.finished.count())
    }

    /// Returns the requests within a limit and those due; `None` if no latency was measured.
    fn counted(&self, within: u64, due: u64) -> Option<(u64, u64)> {
        (self.unmeasured() == 0 || within > 0).then_some((within, due))
    }

    /// Returns the figures that an objective applies to; `None` if the run has no such name.
    fn of(run: &'a RunSums, objective: &Objective) -> Option<ObjectiveInputs<'a>> {
        objective.name().map_or_else(|| Some(ObjectiveInputs::of_all(run)), |name| ObjectiveInputs::of_name(run, name))
    }

    pub(crate) fn of_all(run: &'a RunSums) -> ObjectiveInputs<'a> {
        ObjectiveInputs {
            due: run.totals.due,
            failed: run.totals.failed,
            censored: run.totals.censored,
            dropped: 0,
            cut: matches!(run.end, End::Interrupted | End::Partial),
            finished: run.totals.finished,
            throughput_per_s: run.throughput_per_s(),
            throughput_at_most_per_s: run.with_the_lost(run.throughput_at_most_per_s()),
            unchecked: run.unchecked(),
            latency: run.headline(),
            granted: 0,
        }
    }

    /// Returns the figures of a name; `None` if the run has no such name.
    pub(crate) fn of_name(run: &'a RunSums, name: &str) -> Option<ObjectiveInputs<'a>> {
        if let [only] = run.names()
            && only == name
        {
            return Some(ObjectiveInputs::of_all(run));
        }
        let of_name = run.by_name().find(|row| row.name == name).map(|row| row.totals);
        let of_span = || span(run, name).map(|row| row.totals);
        let of_scenario = || run.scenarios().find(|row| row.objective_name() == name);
        let Some(totals) = of_name.or_else(of_span) else {
            return of_scenario()
                .map(|row| ObjectiveInputs::of_scenario(run, &row))
                .or_else(|| ObjectiveInputs::of_check(run, name))
                .or_else(|| ObjectiveInputs::of_active(run, name));
        };
        Some(ObjectiveInputs::of_totals(run, totals))
    }

    fn of_totals(run: &RunSums, totals: &'a NamedTotals) -> ObjectiveInputs<'a> {
        ObjectiveInputs {
            due: totals.counts.due,
            failed: totals.counts.failed,
            censored: totals.counts.censored,
            dropped: totals.counts.dropped,
            cut: matches!(run.end, End::Interrupted | End::Partial),
            finished: totals.counts.finished,
            throughput_per_s: run.per_s(totals.finished_in_window),
            throughput_at_most_per_s: run.with_the_lost(run.at_most(run.per_s(totals.finished_in_window))),
            // Kinds of failure are not counted by name.
            unchecked: run.unchecked().min(totals.counts.failed),
            latency: totals.ranked(),
            granted: 0,
        }
    }

    /// Returns the figures of iterations or groups without their pauses (`checkout active`). Whether one that was cut off
    /// by a stop would have met a limit is unknown.
    fn of_active(run: &'a RunSums, name: &str) -> Option<ObjectiveInputs<'a>> {
        let row = span(run, name.strip_suffix(SpanName::ACTIVE)?)?;
        let facts = ObjectiveInputs::of_totals(run, row.totals);
        let unknown = if facts.cut { facts.censored } else { 0 };
        Some(ObjectiveInputs {
            due: facts.due.saturating_sub(unknown),
            censored: facts.censored - unknown,
            latency: row.active(),
            ..facts
        })
    }

    /// Formats the note on dropped iterations, which follows a figure of those that began.
    fn dropped_note(&self) -> String {
        if self.dropped > 0 { format!(" ({} dropped)", numbers::count(self.dropped)) } else { String::new() }
    }

    /// Returns the figures of a scenario: a dropped iteration counts as one request that was due and never sent.
    fn of_scenario(run: &RunSums, row: &ScenarioRow<'a>) -> ObjectiveInputs<'a> {
        let dropped = row.iterations.totals.counts.dropped;
        let facts = ObjectiveInputs::of_totals(run, row.totals);
        ObjectiveInputs { due: facts.due.saturating_add(dropped), dropped, ..facts }
    }
}

impl<'a> ObjectiveInputs<'a> {
    /// Returns the figures of a check, which counts responses and has no latency of its own.
    fn of_check(run: &'a RunSums, name: &str) -> Option<ObjectiveInputs<'a>> {
        let row = run.checks().find(|row| row.objective_name() == name)?;
        Some(ObjectiveInputs {
            due: row.passed.saturating_add(row.failed),
            failed: row.failed,
            censored: 0,
            dropped: 0,
            cut: false,
            finished: row.passed,
            throughput_per_s: 0.0,
            throughput_at_most_per_s: 0.0,
            unchecked: run.unchecked().min(row.failed),
            latency: crate::name_rows::empty_totals().ranked(),
            granted: 0,
        })
    }
}

/// Returns the iterations or groups that objectives call by this name. A group of one of several scenarios needs only its
/// own name if no other scenario has a group of that name.
fn span<'a>(run: &'a RunSums, name: &str) -> Option<SpanRow<'a>> {
    let of_group = || run.spans().find(|row| row.group == Some(name));
    run.spans().find(|row| row.objective_name() == name).or_else(of_group)
}

/// Splits off the suffix: `for 10s`, and `stop` or `stop after 30s`.
fn stretch(text: &str) -> Result<(&str, Option<Nanos>, Option<Nanos>), Complaint> {
    let (rest, after) = match text.trim_end().strip_suffix(" stop") {
        Some(rest) => (rest, Some("")),
        // Names may contain these words.
        None => match text.rsplit_once(" stop after ").filter(|(_, time)| !time.contains('}')) {
            Some((rest, time)) => (rest, Some(time.trim())),
            None => (text, None),
        },
    };
    let delay = after.filter(|time| !time.is_empty()).map(quantity::positive_duration).transpose();
    let delay = delay.map_err(|why| about("the time to stop after", "停止前的时间", &why))?;
    let stops = after.map(|_| delay.unwrap_or_default());
    let Some((figure, time)) = rest.rsplit_once(" for ").filter(|(_, time)| !time.contains('}')) else {
        return match stops {
            Some(Nanos::ZERO) => Err(complaint!(
                "`stop` needs a time: write, for example, failed<5% for 10s stop, or failed<5% stop after 30s",
                "`stop` 需要时间：例如 failed<5% for 10s stop，或 failed<5% stop after 30s"
            )),
            stops => Ok((rest, None, stops)),
        };
    };
    let lasts = quantity::positive_duration(time.trim()).map_err(|why| about("the time", "时间", &why))?;
    match (SHORTEST..=LONGEST).contains(&lasts) {
        true => Ok((figure, Some(lasts), stops)),
        false => Err(complaint!(
            "`{}` is not between 1s and 10m; use a time in that range",
            "`{}` 不在 1s 到 10m 之间；请用此范围内的时间",
            time.trim()
        )),
    }
}

/// Returns a complaint about a part of an objective.
fn about(part: &str, part_zh: &str, why: &Complaint) -> Complaint {
    Complaint::new(format!("{part} {why}"), format!("{part_zh} {}", why.zh()))
}

/// Splits `p99{GET /items/{id}}<50ms` into `p99<50ms` and the name in its braces, which may contain others.
fn split_name(text: &str) -> Result<(Cow<'_, str>, Option<&str>), Complaint> {
    let Some(open) = text.find(['{', '<', '>', '=']).filter(|at| text[*at..].starts_with('{')) else {
        return Ok((text.into(), None));
    };
    let mut depth = 0;
    let close = text[open..].char_indices().find(|(_, c)| {
        depth += i32::from(*c == '{') - i32::from(*c == '}');
        depth == 0
    });
    let (close, _) = close.ok_or_else(|| {
        complaint!(
            "has an unclosed brace; write, for example, p99{{checkout}}<50ms",
            "花括号没有闭合；例如 p99{{checkout}}<50ms"
        )
    })?;
    match text[open + 1..open + close].trim() {
        "" => Err(complaint!(
            "has no name in the braces; write, for example, p99{{checkout}}<50ms",
            "花括号中没有名称；例如 p99{{checkout}}<50ms"
        )),
        name => Ok((format!("{}{}", &text[..open], &text[open + close + 1..]).into(), Some(name))),
    }
}

/// Translates another tool's name for a figure, with its limit, into ours.
fn from_other_tool(name: &str, sign: &str, limit: &str) -> Option<Complaint> {
    let sign = sign.trim();
    let number = limit.trim_end_matches(|c: char| !c.is_ascii_digit());
    let bare = limit == number;
    let ours = match name.to_ascii_lowercase().as_str() {
        // Rates in k6 are fractions.
        "errors"
        | "error"
        | "error_rate"
        | "err"
        | "fail"
        | "failures"
        | "http_req_failed"
        | "rate(http_req_failed)" => {
            let share = limit.parse::<f64>().ok().filter(|share| *share < 1.0);
            let limit = share.map_or_else(|| format!("{number}%"), |share| format!("{}%", share * 100.0));
            format!("failed{sign}{limit}")
        }
        "rps" | "qps" | "tps" | "throughput" | "req/s" => {
            format!("rate{sign}{}", if bare { format!("{limit}/s") } else { limit.to_owned() })
        }
        "min" => {
            return Some(complaint!(
                "`min` cannot be an objective; write p50, p99, mean or max",
                "`min` 不能作为目标；请写 p50、p99、mean 或 max"
            ));
        }
        "med" | "median" => format!("p50{sign}{}", time(limit, bare)),
        "average" => format!("mean{sign}{}", time(limit, bare)),
        other => {
            let inside = other.strip_prefix("p(").or_else(|| other.strip_prefix("p ("))?.strip_suffix(')')?;
            percentile(inside)?;
            format!("p{inside}{sign}{}", time(limit, bare))
        }
    };
    Some(complaint!("`{name}` has a different name here; use {ours}", "`{name}` 在这里的写法不同；请用 {ours}"))
}

/// Returns a time limit; if `bare`, a number without a unit is in milliseconds, as in k6.
fn time(limit: &str, bare: bool) -> String {
    if bare { format!("{limit}ms") } else { limit.to_owned() }
}

/// Parses `99.9` as 999 of 1000, exactly, so that 999 of 1000 requests meet the quantile.
fn percentile(text: &str) -> Option<(u64, u64)> {
    let (whole, decimals) = text.split_once('.').unwrap_or((text, ""));
    let digits = |t: &str| t.bytes().all(|b| b.is_ascii_digit());
    if whole.is_empty() || whole.len() > 2 || decimals.len() > 6 || !digits(whole) || !digits(decimals) {
        return None;
    }
    let share: u64 = format!("{whole}{decimals}").parse().ok()?;
    (share > 0).then(|| (share, 100 * 10u64.pow(decimals.len() as u32)))
}

fn share_of_failures(text: &str) -> Option<f64> {
    let percent: f64 = text.strip_suffix('%')?.trim().parse().ok()?;
    (0.0..=100.0).contains(&percent).then_some(percent / 100.0)
}
