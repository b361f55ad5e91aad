//! The rules that judge a run's own validity: one rule per file, and the list of them.
//!
//! A rule reads the sums of a completed run; one that needs more also sees the events as they pass. It returns
//! findings, each with a grade and its sentences in every language. Rules are independent of each other: adding one
//! takes a new file and a line in [`all`].

mod accounting;
pub(crate) mod answers;
pub(crate) mod band;
mod clock;
pub(crate) mod dropped_iterations;
mod ending;
mod failures;
mod few_requests;
pub(crate) mod generator;
mod heartbeats;
pub(crate) mod held_connections;
mod littles_law;
mod local_limit;
mod lower_bound;
pub(crate) mod not_sent;
pub(crate) mod outages;
mod own_counters;
mod pairing;
mod pushes;
mod reference;
mod refused_datagrams;
mod resolution;
mod scenarios;
mod split_limit;
mod steady_state;
mod unchecked;
mod users;

use std::ops::Deref;

use brunt_record::RunEvent;

use crate::finding::Finding;
use crate::objectives::{self, JudgedObjective};
use crate::sums::RunSums;

/// A rule that checks a run.
pub(crate) trait TrustRule: Send {
    /// Processes the next event, for rules that need more than the sums.
    fn see(&mut self, _event: &RunEvent) {}

    /// Returns the findings on a completed run.
    fn findings(&self, run: &Evidence<'_>) -> Vec<Finding>;

    /// Returns the stretches in which no request succeeded, in nanoseconds since the start of the window, for the rule
    /// that looks for them.
    fn outages(&self, _run: &Evidence<'_>) -> Vec<(i64, i64)> {
        Vec::new()
    }
}

/// The input of a rule.
pub(crate) struct Evidence<'a> {
    /// Sums of the run.
    pub sums: &'a RunSums,
    /// Judged objectives.
    pub objectives: &'a [JudgedObjective],
}

impl Evidence<'_> {
    /// Returns `true` if an objective concerns the failures of all requests.
    fn failures_are_judged(&self) -> bool {
        objectives::any_of_failures(self.objectives)
    }
}

impl Deref for Evidence<'_> {
    type Target = RunSums;
    fn deref(&self) -> &RunSums {
        self.sums
    }
}

/// A rule that needs only the sums.
struct SumsRule(fn(&Evidence<'_>) -> Option<Finding>);

impl TrustRule for SumsRule {
    fn findings(&self, run: &Evidence<'_>) -> Vec<Finding> {
        (self.0)(run).into_iter().collect()
    }
}

/// Returns every rule, in the order in which findings are shown.
pub(crate) fn all() -> Vec<Box<dyn TrustRule>> {
    let of_sums = |judge| Box::new(SumsRule(judge)) as Box<dyn TrustRule>;
    vec![
        of_sums(accounting::judge),
        Box::new(littles_law::LittlesLawRule::default()),
        of_sums(held_connections::fewer),
        of_sums(held_connections::lost),
        of_sums(heartbeats::judge),
        of_sums(answers::judge),
        of_sums(lower_bound::judge),
        of_sums(users::refused),
        of_sums(users::woken_late),
        of_sums(failures::judge),
        of_sums(few_requests::too_short),
        of_sums(few_requests::no_iteration),
        of_sums(few_requests::judge),
        Box::new(outages::Outages::default()),
        of_sums(users::stuck),
        of_sums(users::ended_by_failure),
        of_sums(users::endless),
        of_sums(scenarios::idle),
        Box::new(steady_state::SteadyStateRule::default()),
        of_sums(local_limit::judge),
        of_sums(unchecked::judge),
        of_sums(refused_datagrams::judge),
        of_sums(pairing::judge),
        of_sums(pushes::judge),
        of_sums(split_limit::judge),
        of_sums(dropped_iterations::judge),
        of_sums(scenarios::split),
        Box::new(band::BandRule::default()),
        of_sums(not_sent::judge),
        of_sums(generator::throttled),
        Box::new(generator::AbsentWorkersRule::default()),
        of_sums(generator::starved),
        Box::new(generator::BusyWorkersRule::default()),
        of_sums(generator::late),
        Box::new(reference::ReferenceRule::default()),
        of_sums(resolution::judge),
        Box::new(own_counters::OwnCountersRule::default()),
        Box::new(clock::ClockRule::default()),
        of_sums(ending::judge),
    ]
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::sums::SumsBuilder;

    /// Returns the findings of a rule on a run of these events.
    pub fn found(mut rule: impl TrustRule, events: impl IntoIterator<Item = RunEvent>) -> Vec<Finding> {
        let mut adding = SumsBuilder::default();
        for event in events {
            rule.see(&event);
            adding.add(&event);
        }
        rule.findings(&Evidence { sums: &adding.finish(), objectives: &[] })
    }

    /// Returns the finding of a rule that needs only the sums, if any.
    pub fn of_sums(
        judge: fn(&Evidence<'_>) -> Option<Finding>,
        events: impl IntoIterator<Item = RunEvent>,
    ) -> Option<Finding> {
        found(SumsRule(judge), events).pop()
    }

    /// Returns the finding of such a rule, if any, on a run of a single second that ended in this way.
    pub fn of_second(
        judge: fn(&Evidence<'_>) -> Option<Finding>,
        second: brunt_record::Second,
        reason: brunt_record::End,
    ) -> Option<Finding> {
        let ended = brunt_record::RunEnd { reason, ..brunt_record::RunEnd::default() };
        of_sums(judge, [RunEvent::Second(Box::new(second)), RunEvent::Ended(ended)])
    }
}
