//! Objectives on any stretch of a run: `p95<300ms for 10s`.
//!
//! Each stretch is judged by the requests that ended in it and the iterations that were dropped in it; if requests were
//! in flight and none ended, the objective is missed. Live runs and records are judged in the same way.

use std::collections::VecDeque;

use brunt_measure::Nanos;
use brunt_record::{End, Notice, RunEnd, RunEvent, RunListener, RunPart, RunStarted, Second};

use super::{JudgedObjective, Objective, ObjectiveInputs, ObjectiveOutcome};
use crate::numbers;
use crate::sums::SumsBuilder;

/// Number of times an objective is judged per length of its stretch.
const STEPS: u64 = 10;

/// The objectives that apply to stretches of a run, or may stop it.
#[derive(Clone, Debug, Default)]
pub struct StretchObjectives {
    started: Option<Box<RunStarted>>,
    each: Vec<StretchObjective>,
    /// Last seconds of the run's window, as many as the longest stretch needs.
    seconds: VecDeque<Second>,
    /// Sums of the run so far, if an objective on the whole run may stop it.
    so_far: Option<SumsBuilder>,
}

/// The state of an objective that applies to stretches or may stop the run.
#[derive(Clone, Debug)]
struct StretchObjective {
    objective: Objective,
    /// Length of the stretch; `None` if the objective applies to the run so far and may stop it.
    length: Option<Nanos>,
    /// Time of the next judgement (nanoseconds since the beginning of the run's window).
    next_ns: i64,
    judged: u64,
    missed: u64,
    /// Set if a stretch was neither met nor missed for certain.
    undecided: bool,
    /// Set if the objective was missed at a time when a miss stops the run.
    stops: bool,
    /// First stretch that missed the objective, or else the last one judged.
    result: Option<JudgedStretch>,
}

/// A stretch of a run (nanoseconds since the beginning of its window), and its result.
#[derive(Clone, Debug)]
struct JudgedStretch {
    from_ns: i64,
    to_ns: i64,
    judged: JudgedObjective,
}

impl RunListener for StretchObjectives {
    fn observe(&mut self, event: &RunEvent) -> Result<(), Notice> {
        self.add(event);
        Ok(())
    }
}

impl StretchObjectives {
    /// Handles the next event.
    pub fn add(&mut self, event: &RunEvent) {
        match event {
            RunEvent::Started(started) => {
                let parsed = started.plan.objectives.iter().filter_map(|text| Objective::parse(text).ok());
                self.each = parsed.filter_map(StretchObjective::of).collect();
                self.started = (!self.each.is_empty()).then(|| started.clone());
                self.so_far = self.each.iter().any(|window| window.length.is_none()).then(|| empty_sums(Some(started)));
            }
            RunEvent::Second(second) if second.part == RunPart::Window && !self.each.is_empty() => {
                self.seconds.push_back((**second).clone());
                self.so_far.iter_mut().for_each(|so_far| so_far.add_second(second));
                self.judge(second.to_ns);
                let longest = self.each.iter().filter_map(|window| window.length).max().unwrap_or_default();
                let from = second.to_ns.saturating_sub(i64::try_from(longest.0).unwrap_or(i64::MAX));
                while self.seconds.front().is_some_and(|second| second.to_ns <= from) {
                    self.seconds.pop_front();
                }
            }
            _ => {}
        }
    }

    /// Returns the first objective that was missed and stops the run.
    pub fn stops(&self) -> Option<&str> {
        self.each.iter().find(|window| window.stops).map(|window| window.objective.text.as_str())
    }

    /// Returns the result of an objective; `None` if it does not apply to stretches, or if the run was shorter than its
    /// stretch, so that it is judged on the whole run.
    pub(super) fn judged(&self, text: &str) -> Option<JudgedObjective> {
        let window = self.each.iter().find(|window| window.objective.text == text)?;
        let JudgedStretch { from_ns, to_ns, judged } = window.result.as_ref()?;
        let [from, to] = [from_ns, to_ns].map(|ns| (*ns as f64 / 1e9).round());
        let (missed, all) = (numbers::count(window.missed), numbers::count(window.judged));
        let measured = format!("{} ({from}–{to} s; {missed}/{all})", judged.measured);
        let outcome = match window.missed {
            0 if window.undecided => ObjectiveOutcome::Undecided,
            0 => ObjectiveOutcome::Met,
            _ => ObjectiveOutcome::Missed,
        };
        Some(JudgedObjective { outcome, measured, counted: None, failed: 0, ..judged.clone() })
    }

    fn judge(&mut self, now_ns: i64) {
        let (seconds, started) = (&self.seconds, &self.started);
        let under_way = seconds.back().is_some_and(|second| second.in_flight > 0 || second.waiting > 0);
        for window in self.each.iter_mut().filter(|window| now_ns >= window.next_ns) {
            let Some(lasts) = window.length else {
                let so_far = self.so_far.clone().unwrap_or_default();
                window.misses(
                    judge(&window.objective, so_far, under_way)
                        .is_some_and(|judged| judged.outcome == ObjectiveOutcome::Missed),
                    now_ns,
                );
                continue;
            };
            window.next_ns = now_ns.saturating_add(span(Nanos(lasts.0 / STEPS)));
            let within = within(seconds, lasts);
            let from_ns = within.first().map_or(now_ns, |second| second.from_ns);
            let mut adding = empty_sums(started.as_deref());
            within.iter().for_each(|second| adding.add_second(second));
            let Some(judged) = judge(&window.objective, adding, under_way) else { continue };
            window.judged += 1;
            if window.shows_more_than_known(judged.outcome) {
                window.result = Some(JudgedStretch { from_ns, to_ns: now_ns, judged: judged.clone() });
            }
            window.undecided |= judged.outcome == ObjectiveOutcome::Undecided;
            window.misses(judged.outcome == ObjectiveOutcome::Missed, now_ns);
        }
    }
}

impl StretchObjective {
    /// Creates the state; `None` if the objective neither applies to stretches nor may stop the run.
    fn of(objective: Objective) -> Option<StretchObjective> {
        let (lasts, stops) = (objective.stretch, objective.stop_after);
        let next_ns = span(lasts.or(stops)?);
        Some(StretchObjective {
            objective,
            length: lasts,
            next_ns,
            judged: 0,
            missed: 0,
            undecided: false,
            stops: false,
            result: None,
        })
    }

    /// Returns `true` if a stretch with this outcome is to be shown instead of the one kept: the first that was missed, or
    /// else the first that is undecided, or else the last.
    fn shows_more_than_known(&self, outcome: ObjectiveOutcome) -> bool {
        self.missed == 0 && (outcome == ObjectiveOutcome::Missed || !self.undecided)
    }

    /// Records whether the latest judgement was a miss.
    fn misses(&mut self, missed: bool, now_ns: i64) {
        self.missed += u64::from(missed);
        self.stops |= missed && self.objective.stop_after.is_some_and(|after| now_ns >= span(after));
    }
}

/// Returns the last seconds, which make up a stretch; its length is rounded to whole seconds. The partial second at the
/// end of a run is thus judged together with those before it, never in place of a whole one.
fn within(seconds: &VecDeque<Second>, lasts: Nanos) -> Vec<&Second> {
    const WHOLE: i64 = 1_000_000_000;
    // The length of a second is measured, not exact.
    let wanted = (span(lasts).saturating_add(WHOLE / 2) / WHOLE) * WHOLE - WHOLE / 20;
    let mut length = 0;
    let take = |second: &&Second| {
        let more = length < wanted;
        length += second.to_ns.saturating_sub(second.from_ns);
        more
    };
    let mut all: Vec<&Second> = seconds.iter().rev().take_while(take).collect();
    all.reverse();
    all
}

fn span(span: Nanos) -> i64 {
    i64::try_from(span.0).unwrap_or(i64::MAX)
}

/// Creates empty sums with the head of the run.
fn empty_sums(started: Option<&RunStarted>) -> SumsBuilder {
    let mut adding = SumsBuilder::default();
    started.into_iter().for_each(|started| adding.add(&RunEvent::Started(Box::new(started.clone()))));
    adding
}

/// Judges a stretch by the requests that ended in it; `None` if none were expected to end. Requests in flight at the
/// end of the stretch are judged in the one in which they end.
fn judge(objective: &Objective, mut adding: SumsBuilder, under_way: bool) -> Option<JudgedObjective> {
    // Requests in flight at the end of this stretch belong to a later one.
    adding.add(&RunEvent::Ended(RunEnd { reason: End::Completed, ..RunEnd::default() }));
    let sums = adding.finish();
    let facts = ObjectiveInputs::of(&sums, objective)?;
    let due = facts.finished + facts.failed + facts.censored + facts.dropped;
    if objective.is_of_rate() {
        // If no request completed, the rate is 0.
        return Some(objective.judge(&ObjectiveInputs { due, ..facts }));
    }
    // Requests are counted by name when they are due, but not while in flight.
    let hangs = if objective.name().is_some() { facts.due > 0 } else { under_way };
    // A hang counts as one due request without a response.
    let due = if due == 0 && hangs { 1 } else { due };
    (due > 0).then(|| objective.judge(&ObjectiveInputs { due, ..facts }))
}

#[cfg(test)]
mod tests {
    use brunt_measure::Histogram;

    use super::*;

    const S: i64 = 1_000_000_000;

    /// Creates a run of seconds, each given by its number of successes, their latency in milliseconds, and its number
    /// of failures. Requests are in flight throughout.
    fn run(objective: &str, seconds: &[(u64, u64, u64)]) -> StretchObjectives {
        run_with_rest(objective, seconds, S)
    }

    /// Creates such a run whose last second is `rest` nanoseconds long.
    fn run_with_rest(objective: &str, seconds: &[(u64, u64, u64)], rest: i64) -> StretchObjectives {
        let mut windows = StretchObjectives::default();
        let parsed = Objective::parse(objective).expect("an objective");
        windows.so_far = parsed.stretch.is_none().then(SumsBuilder::default);
        windows.each = vec![StretchObjective::of(parsed).expect("one to be looked at")];
        for (at, (ended, ms, failed)) in seconds.iter().enumerate() {
            let from_ns = at as i64 * S;
            let to_ns = from_ns + if at + 1 == seconds.len() { rest } else { S };
            let mut second = Second { from_ns, to_ns, part: RunPart::Window, ..Second::default() };
            (second.due, second.finished, second.failed) = (ended + failed, *ended, *failed);
            second.in_flight = 100;
            second.latency.service = Histogram::new();
            second.latency.service.record_n(Nanos::from_millis(*ms), *ended);
            windows.add(&RunEvent::Second(Box::new(second)));
        }
        windows
    }

    fn judged(objective: &str, seconds: &[(u64, u64, u64)]) -> Option<(bool, String)> {
        run(objective, seconds).judged(objective).map(|judged| (judged.is_met(), judged.measured))
    }

    #[test]
    fn one_bad_stretch_misses_an_objective_that_the_whole_run_meets() {
        let mut seconds = vec![(100, 10, 0); 60];
        seconds[30] = (100, 900, 0);
        let whole = judged("p95<300ms for 20s", &seconds).expect("judged");
        assert_eq!(whole, (true, "p95 10.0 ms (40–60 s; 0/21)".into()));
        let part = judged("p95<300ms for 2s", &seconds).expect("judged");
        assert_eq!(part, (false, "p95 900 ms (29–31 s; 2/59)".into()), "the first that missed it");
    }

    #[test]
    fn failures_are_those_of_the_stretch_and_a_run_in_which_nothing_ends_is_missed() {
        let seconds = [(100, 1, 0), (100, 1, 0), (80, 1, 20), (100, 1, 0)];
        assert_eq!(judged("failed<15% for 1s", &seconds).map(|(met, _)| met), Some(false));
        assert_eq!(judged("failed<15% for 2s", &seconds).map(|(met, _)| met), Some(true));
        let hangs = [(100, 1, 0), (0, 0, 0), (0, 0, 0), (100, 1, 0)];
        assert_eq!(judged("p50<1s for 2s", &hangs).map(|(met, _)| met), Some(false));
        assert_eq!(judged("p50<1s for 3s", &hangs).map(|(met, _)| met), Some(true));
        assert_eq!(judged("p50<1s for 30s", &hangs), None, "shorter than a stretch");
    }

    #[test]
    fn a_stretch_in_which_nothing_came_misses_a_rate() {
        let mut windows = StretchObjectives::default();
        let text = "rate>=1/s for 1s";
        windows.each = vec![StretchObjective::of(Objective::parse(text).expect("an objective")).expect("a stretch")];
        for at in 0..4 {
            let (from_ns, to_ns, n) = (at * S, (at + 1) * S, u64::from(at % 2 == 0));
            let second = Second { from_ns, to_ns, part: RunPart::Window, due: n, finished: n, ..Second::default() };
            windows.add(&RunEvent::Second(Box::new(second)));
        }
        let judged = windows.judged(text).map(|judged| (judged.is_met(), judged.measured));
        assert_eq!(judged, Some((false, "rate 0/s (1–2 s; 2/4)".into())));
    }

    #[test]
    fn what_is_in_flight_beyond_a_stretch_is_no_failure_of_it() {
        assert_eq!(judged("p95<2s for 2s", &[(100, 1000, 0); 6]).map(|(met, _)| met), Some(true));
        assert_eq!(judged("failed<1% for 1s stop", &[(100, 1000, 0); 6]).map(|(met, _)| met), Some(true));
    }

    #[test]
    fn the_rest_of_a_second_is_judged_with_those_before_it_and_never_alone() {
        let mut seconds = vec![(100, 10, 0); 10];
        // All of its requests are slow, but they are few among those of the last two seconds.
        seconds.push((10, 900, 0));
        for rest in [S * 3 / 10, S * 6 / 10, S * 9 / 10] {
            let judged = run_with_rest("p50<300ms for 1s", &seconds, rest).judged("p50<300ms for 1s").expect("judged");
            assert!(judged.is_met(), "{rest}: {}", judged.measured);
        }
        assert_eq!(
            run("p50<300ms for 1s", &seconds).judged("p50<300ms for 1s").map(|judged| judged.is_met()),
            Some(false)
        );
        // A length that is not a whole number of seconds covers the seconds whose middle lies in it.
        let held = |lasts| within(&run("p50<1s for 9s", &[(1, 1, 0); 9]).seconds, Nanos::from_millis(lasts)).len();
        assert_eq!([1000, 1400, 1500, 2400, 2500].map(held), [1, 1, 2, 2, 3]);
    }

    #[test]
    fn only_who_asks_for_it_stops_a_run() {
        let bad = [(0, 0, 9); 3];
        assert_eq!(run("failed<5% for 2s stop", &bad).stops(), Some("failed<5% for 2s stop"));
        assert_eq!(run("failed<5% for 2s", &bad).stops(), None);
        assert_eq!(run("failed<5% for 9s stop", &bad).stops(), None);
        assert_eq!(run("failed<5% for 2s stop", &[(9, 1, 0); 3]).stops(), None);
    }

    #[test]
    fn a_run_is_not_stopped_before_its_time_and_what_was_missed_until_then_is_missed_all_the_same() {
        let early = |bad: usize| (0..20).map(|at| if at < bad { (0, 0, 9) } else { (9, 1, 0) }).collect::<Vec<_>>();
        let stretch = "failed<5% for 2s stop after 10s";
        let settled = run(stretch, &early(4));
        assert_eq!((settled.stops(), settled.judged(stretch).map(|judged| judged.is_met())), (None, Some(false)));
        assert_eq!(run(stretch, &early(10)).stops(), Some(stretch));
        // The run so far: half of it had failed by then.
        let whole = "failed<40% stop after 10s";
        assert_eq!(run(whole, &early(5)).stops(), Some(whole));
        assert_eq!(run(whole, &early(3)).stops(), None);
        assert_eq!(run(whole, &early(5)[..9]).stops(), None);
        assert_eq!(run(whole, &early(5)).judged(whole), None, "judged on the whole run");
    }

    #[test]
    fn warm_up_is_not_judged_and_few_seconds_are_kept() {
        let mut windows = run("p50<1s for 5s", &[(10, 1, 0); 100]);
        assert_eq!(windows.seconds.len(), 5);
        let second = Second { part: RunPart::Warmup, failed: 9, ..Second::default() };
        windows.add(&RunEvent::Second(Box::new(second)));
        assert_eq!(windows.seconds.len(), 5);
    }
}
