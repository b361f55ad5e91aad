//! Iterations and groups of a flow, counted in the rows that follow those of the names.

use brunt_measure::Nanos;
use brunt_scenario::{SpanEvent, SpanEventKind, StopScope};

use super::Recorder;
use crate::ids::ScenarioId;
use crate::limits::Limits;

impl Recorder {
    /// Counts the beginning or end of an iteration or group. `row` holds its figures with pauses, the next row those
    /// without.
    pub fn span(&mut self, row: u16, span_event: &SpanEvent, limits: &Limits) {
        let Some(named) = &mut self.tally.named else { return };
        let warmup = span_event.began < limits.window;
        match span_event.kind {
            SpanEventKind::Ended { passed: true, .. } if warmup => named.counts(row).finished_of_warmup += 1,
            _ if warmup => {}
            SpanEventKind::Began => named.counts(row).due += 1,
            SpanEventKind::Ended { passed: true, lasted, active, own } => {
                named.finished(row, lasted, own);
                named.finished(row + 1, active, own);
            }
            SpanEventKind::Ended { passed: false, .. } => named.counts(row).failed += 1,
            SpanEventKind::Cut(lasted) => {
                named.counts(row).censored += 1;
                named.at_least(row, lasted);
            }
        }
    }

    /// Counts a failed step that stops the user or the run. A user brought by an arrival leaves anyway, so its stop is
    /// not counted.
    #[inline]
    pub fn count_stops(&mut self, stops: StopScope, arrives: bool) {
        let counts = self.counts();
        counts.run_stops += u64::from(stops.run);
        counts.user_stops += u64::from(stops.user && !arrives);
    }

    /// Counts an iteration that was due and is dropped because the maximum number of users is reached.
    pub fn iteration_dropped(&mut self, row: u16, due: Nanos, limits: &Limits) {
        if let Some(named) = self.tally.named.as_mut().filter(|_| due >= limits.window) {
            named.counts(row).due += 1;
            named.counts(row).dropped += 1;
        }
    }

    /// Sets the number of users of a scenario.
    #[inline]
    pub fn set_users(&mut self, scenario: ScenarioId, alive: u32, now: Nanos) {
        self.population.set(scenario, alive, now);
    }

    /// Counts the users of each scenario at `to`, the end of a second, and their time in it. Each keeps `per_user` requests
    /// in flight.
    pub(super) fn count_users(&mut self, to: Nanos, per_user: u32) {
        for scenario in self.population.scenarios() {
            let (users, users_ns) = self.population.take_user_time(scenario, to);
            if self.population.is_reported(scenario) {
                self.tally.counts.users_ns += users_ns / u64::from(per_user);
            }
            if let Some(named) = &mut self.tally.named {
                named.users(scenario, users, users_ns);
            }
        }
    }

    /// Counts `many` iterations that were due and never begun, the last of them due `since` ago.
    pub fn iterations_unsent(&mut self, row: u16, since: Nanos, many: u64) {
        let Some(named) = &mut self.tally.named else { return };
        named.counts(row).due += many;
        named.counts(row).censored += many;
        named.at_least_n(row, since, many);
    }
}
