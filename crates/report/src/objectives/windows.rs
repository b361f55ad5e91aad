//! Objectives about any stretch of a run: `p95<300ms for 10s`.
//!
//! Of each stretch those requests are judged that ended in it, and where requests were in flight and none ended, it is missed. Live and
//! from a record alike.

use std::collections::VecDeque;

use measure::Nanos;
use record::{End, Ended, Listener, Notice, Part, RunEvent, Second, Started};

use super::{Facts, Judged, Objective};
use crate::show;
use crate::sums::Adding;

/// A stretch is looked at so often while it passes.
const STEPS: u64 = 10;

/// The objectives of a run that are about stretches of it.
#[derive(Clone, Debug, Default)]
pub struct Windows {
    started: Option<Box<Started>>,
    each: Vec<Window>,
    /// The last seconds of the window of the run, as many as the longest stretch needs.
    seconds: VecDeque<Second>,
}

/// One of them, as far as it was judged.
#[derive(Clone, Debug)]
struct Window {
    objective: Objective,
    lasts: Nanos,
    /// When it is looked at again (nanoseconds since the window of the run began).
    next_ns: i64,
    judged: u64,
    missed: u64,
    /// The first stretch that missed it, or else the last that was judged.
    shown: Option<Shown>,
}

/// A stretch of a run (nanoseconds since its window began), and what was measured in it.
#[derive(Clone, Debug)]
struct Shown {
    from_ns: i64,
    to_ns: i64,
    judged: Judged,
}

impl Listener for Windows {
    fn see(&mut self, event: &RunEvent) -> Result<(), Notice> {
        self.add(event);
        Ok(())
    }
}

impl Windows {
    /// Takes the next event.
    pub fn add(&mut self, event: &RunEvent) {
        match event {
            RunEvent::Started(started) => {
                let parsed = started.plan.objectives.iter().filter_map(|text| Objective::parse(text).ok());
                let window = |objective: Objective| {
                    let lasts = objective.lasts?;
                    let next_ns = i64::try_from(lasts.0).unwrap_or(i64::MAX);
                    Some(Window { objective, lasts, next_ns, judged: 0, missed: 0, shown: None })
                };
                self.each = parsed.filter_map(window).collect();
                self.started = (!self.each.is_empty()).then(|| started.clone());
            }
            RunEvent::Second(second) if second.part == Part::Window && !self.each.is_empty() => {
                self.seconds.push_back((**second).clone());
                self.judge(second.to_ns);
                let longest = self.each.iter().map(|window| window.lasts).max().unwrap_or_default();
                let from = second.to_ns.saturating_sub(i64::try_from(longest.0).unwrap_or(i64::MAX));
                while self.seconds.front().is_some_and(|second| second.to_ns <= from) {
                    self.seconds.pop_front();
                }
            }
            _ => {}
        }
    }

    /// The first objective that was missed and asks the run to stop where it is.
    pub fn stops(&self) -> Option<&str> {
        let missed = |window: &&Window| window.objective.stops && window.missed > 0;
        self.each.iter().find(missed).map(|window| window.objective.text.as_str())
    }

    /// What an objective came to; None: it is about no stretch, or the run was shorter than one and is a stretch itself.
    pub(super) fn judged(&self, text: &str) -> Option<Judged> {
        let window = self.each.iter().find(|window| window.objective.text == text)?;
        let Shown { from_ns, to_ns, judged } = window.shown.as_ref()?;
        let [from, to] = [from_ns, to_ns].map(|ns| (*ns as f64 / 1e9).round());
        let (missed, all) = (show::count(window.missed), show::count(window.judged));
        let measured = format!("{} ({from}–{to} s; {missed}/{all})", judged.measured);
        Some(Judged { met: window.missed == 0, measured, counted: None, ..judged.clone() })
    }

    fn judge(&mut self, now_ns: i64) {
        let (seconds, started) = (&self.seconds, &self.started);
        for window in self.each.iter_mut().filter(|window| now_ns >= window.next_ns) {
            let span = |span: u64| i64::try_from(span).unwrap_or(i64::MAX);
            window.next_ns = now_ns.saturating_add(span(window.lasts.0 / STEPS));
            let from_ns = now_ns.saturating_sub(span(window.lasts.0));
            // A second counts where its middle lies within.
            let within = seconds.iter().filter(|second| second.from_ns / 2 + second.to_ns / 2 >= from_ns);
            let Some(judged) = judge(&window.objective, started.as_deref(), within) else { continue };
            window.judged += 1;
            if window.missed == 0 {
                window.shown = Some(Shown { from_ns: from_ns.max(0), to_ns: now_ns, judged: judged.clone() });
            }
            window.missed += u64::from(!judged.met);
        }
    }
}

/// A stretch judged by what ended in it; None where nothing was to end. What is in flight beyond it is judged where it ends.
fn judge<'a>(
    objective: &Objective,
    started: Option<&Started>,
    seconds: impl Iterator<Item = &'a Second>,
) -> Option<Judged> {
    let mut adding = Adding::default();
    started.into_iter().for_each(|started| adding.add(&RunEvent::Started(Box::new(started.clone()))));
    let mut under_way = false;
    for second in seconds {
        under_way = second.in_flight > 0 || second.waiting > 0;
        adding.add_second(second);
    }
    // What is in flight beyond it ends in another.
    adding.add(&RunEvent::Ended(Ended { reason: End::Completed, ..Ended::default() }));
    let sums = adding.finish();
    let facts = Facts::of(&sums, objective)?;
    let due = facts.finished + facts.failed + facts.censored;
    // Of a name nobody counts what is in flight, but what began.
    let hangs = if objective.name().is_some() { facts.due > 0 } else { under_way };
    // One that is due and did not come back.
    let due = if due == 0 && hangs { 1 } else { due };
    (due > 0).then(|| objective.judge(&Facts { due, ..facts }))
}

#[cfg(test)]
mod tests {
    use measure::Histogram;

    use super::*;

    const S: i64 = 1_000_000_000;

    /// So many ended in each second, after so long (milliseconds), and so many failed; none ended: they are in flight.
    fn run(objective: &str, seconds: &[(u64, u64, u64)]) -> Windows {
        let mut windows = Windows::default();
        let parsed = Objective::parse(objective).expect("an objective");
        let (lasts, next_ns) = (parsed.lasts.expect("a stretch"), parsed.lasts.expect("a stretch").0 as i64);
        windows.each = vec![Window { objective: parsed, lasts, next_ns, judged: 0, missed: 0, shown: None }];
        for (at, (ended, ms, failed)) in seconds.iter().enumerate() {
            let from_ns = at as i64 * S;
            let mut second = Second { from_ns, to_ns: from_ns + S, part: Part::Window, ..Second::default() };
            (second.due, second.finished, second.failed) = (ended + failed, *ended, *failed);
            second.in_flight = 100;
            second.latency.service = Histogram::new();
            second.latency.service.record_n(Nanos::from_millis(*ms), *ended);
            windows.add(&RunEvent::Second(Box::new(second)));
        }
        windows
    }

    fn judged(objective: &str, seconds: &[(u64, u64, u64)]) -> Option<(bool, String)> {
        run(objective, seconds).judged(objective).map(|judged| (judged.met, judged.measured))
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
    fn what_is_in_flight_beyond_a_stretch_is_no_failure_of_it() {
        assert_eq!(judged("p95<2s for 2s", &[(100, 1000, 0); 6]).map(|(met, _)| met), Some(true));
        assert_eq!(judged("failed<1% for 1s stop", &[(100, 1000, 0); 6]).map(|(met, _)| met), Some(true));
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
    fn warm_up_is_not_judged_and_few_seconds_are_kept() {
        let mut windows = run("p50<1s for 5s", &[(10, 1, 0); 100]);
        assert_eq!(windows.seconds.len(), 5);
        let second = Second { part: Part::Warmup, failed: 9, ..Second::default() };
        windows.add(&RunEvent::Second(Box::new(second)));
        assert_eq!(windows.seconds.len(), 5);
    }
}
