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

/// What a rule judges.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RuleScope {
    /// The run as a whole.
    Run,
    /// A machine that generates load.
    Machine,
    /// Both: what of a latency may be brunt's own.
    Band,
}

/// Returns every rule, in the order in which findings are shown.
pub(crate) fn all() -> Vec<Box<dyn TrustRule>> {
    scoped().into_iter().map(|(_, rule)| rule).collect()
}

/// Returns the rules for the whole of a run that many machines made, each of which is judged by [`of_machine`].
pub(crate) fn of_whole() -> Vec<Box<dyn TrustRule>> {
    scoped().into_iter().filter(|(scope, _)| *scope != RuleScope::Machine).map(|(_, rule)| rule).collect()
}

/// Returns the rules for one of the machines that made a run.
pub(crate) fn of_machine() -> Vec<Box<dyn TrustRule>> {
    scoped().into_iter().filter(|(scope, _)| *scope != RuleScope::Run).map(|(_, rule)| rule).collect()
}

fn scoped() -> Vec<(RuleScope, Box<dyn TrustRule>)> {
    let of_sums = |judge| Box::new(SumsRule(judge)) as Box<dyn TrustRule>;
    vec![
        (RuleScope::Run, of_sums(accounting::judge)),
        (RuleScope::Run, Box::new(littles_law::LittlesLawRule::default())),
        (RuleScope::Run, of_sums(held_connections::fewer)),
        (RuleScope::Run, of_sums(held_connections::lost)),
        (RuleScope::Run, of_sums(heartbeats::judge)),
        (RuleScope::Run, of_sums(answers::judge)),
        (RuleScope::Run, of_sums(lower_bound::judge)),
        (RuleScope::Run, of_sums(users::refused)),
        (RuleScope::Run, of_sums(users::woken_late)),
        (RuleScope::Run, of_sums(failures::judge)),
        (RuleScope::Run, of_sums(few_requests::too_short)),
        (RuleScope::Run, of_sums(few_requests::no_iteration)),
        (RuleScope::Run, of_sums(few_requests::judge)),
        (RuleScope::Run, Box::new(outages::Outages::default())),
        (RuleScope::Run, of_sums(users::stuck)),
        (RuleScope::Run, of_sums(users::ended_by_failure)),
        (RuleScope::Run, of_sums(users::endless)),
        (RuleScope::Run, of_sums(scenarios::idle)),
        (RuleScope::Run, Box::new(steady_state::SteadyStateRule::default())),
        (RuleScope::Run, of_sums(local_limit::judge)),
        (RuleScope::Run, of_sums(unchecked::judge)),
        (RuleScope::Run, of_sums(refused_datagrams::judge)),
        (RuleScope::Run, of_sums(pairing::judge)),
        (RuleScope::Run, of_sums(pushes::judge)),
        (RuleScope::Run, of_sums(split_limit::judge)),
        (RuleScope::Run, of_sums(dropped_iterations::judge)),
        (RuleScope::Run, of_sums(scenarios::split)),
        (RuleScope::Band, Box::new(band::BandRule::default())),
        (RuleScope::Run, of_sums(not_sent::judge)),
        (RuleScope::Machine, of_sums(generator::throttled)),
        (RuleScope::Machine, Box::new(generator::AbsentWorkersRule::default())),
        (RuleScope::Machine, of_sums(generator::starved)),
        (RuleScope::Machine, Box::new(generator::BusyWorkersRule::default())),
        (RuleScope::Machine, of_sums(generator::late)),
        (RuleScope::Run, Box::new(reference::ReferenceRule::default())),
        (RuleScope::Machine, of_sums(resolution::judge)),
        (RuleScope::Machine, Box::new(own_counters::OwnCountersRule::default())),
        (RuleScope::Machine, Box::new(clock::ClockRule::default())),
        (RuleScope::Run, of_sums(ending::judge)),
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
