//! The rules that judge a run's own validity: one rule per file, and the list of them.
//!
//! A rule reads the sums of a completed run; one that needs more also sees the events as they pass. It returns
//! findings, each with a grade and its sentences in every language. Rules are independent of each other: adding one
//! takes a new file and a line in `all`.

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
pub(crate) mod late_change;
mod littles_law;
mod local_limit;
pub(crate) mod lower_bound;
pub(crate) mod missing;
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
mod uneven_stop;
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

/// The machine that made the figures under judgement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum JudgedPart {
    /// A run that one machine made.
    Run,
    /// One agent of a run of many.
    Agent,
    /// The whole of a run of many agents, whose machines are judged one by one.
    Whole,
}

/// Returns the rules for a part, in the order in which findings are shown.
pub(crate) fn of(part: JudgedPart) -> Vec<Box<dyn TrustRule>> {
    all().into_iter().filter(|(subject, _)| subject.concerns(part)).map(|(_, rule)| rule).collect()
}

/// What a rule judges.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RuleSubject {
    /// The load and the responses: the sum of all agents.
    Load,
    /// The machine that generates the load.
    Machine,
    /// Both: the counts and figures of each, which hold for the sum only if they hold for the parts.
    Both,
}

impl RuleSubject {
    fn concerns(self, part: JudgedPart) -> bool {
        match part {
            JudgedPart::Run => true,
            JudgedPart::Agent => self != RuleSubject::Load,
            JudgedPart::Whole => self != RuleSubject::Machine,
        }
    }
}

/// Returns every rule, in the order in which findings are shown, and what it judges.
fn all() -> Vec<(RuleSubject, Box<dyn TrustRule>)> {
    use RuleSubject::{Both, Load, Machine};
    let of_sums = |judge| Box::new(SumsRule(judge)) as Box<dyn TrustRule>;
    vec![
        (Both, of_sums(accounting::judge)),
        (Both, Box::new(littles_law::LittlesLawRule::default())),
        (Load, Box::new(missing::MissingShareRule::default())),
        (Load, of_sums(late_change::judge)),
        (Load, Box::new(uneven_stop::UnevenStopRule::default())),
        (Load, of_sums(held_connections::fewer)),
        (Load, of_sums(held_connections::lost)),
        (Load, of_sums(heartbeats::judge)),
        (Load, of_sums(answers::judge)),
        (Both, of_sums(not_sent::judge)),
        (Load, of_sums(lower_bound::judge)),
        (Load, of_sums(users::refused)),
        (Both, of_sums(users::woken_late)),
        (Load, of_sums(failures::judge)),
        (Load, of_sums(few_requests::too_short)),
        (Load, of_sums(few_requests::no_iteration)),
        (Load, of_sums(few_requests::judge)),
        (Load, Box::new(outages::Outages::default())),
        (Load, of_sums(users::stuck)),
        (Load, of_sums(users::ended_by_failure)),
        (Load, of_sums(users::endless)),
        (Load, of_sums(scenarios::idle)),
        (Load, Box::new(steady_state::SteadyStateRule::default())),
        (Machine, of_sums(local_limit::judge)),
        (Load, of_sums(unchecked::judge)),
        (Load, of_sums(refused_datagrams::judge)),
        (Load, of_sums(pairing::judge)),
        (Load, of_sums(pushes::judge)),
        (Load, of_sums(split_limit::judge)),
        (Load, of_sums(dropped_iterations::judge)),
        (Load, of_sums(scenarios::split)),
        (Both, Box::new(band::BandRule::default())),
        (Machine, of_sums(generator::throttled)),
        (Machine, Box::new(generator::AbsentWorkersRule::default())),
        (Machine, of_sums(generator::starved)),
        (Machine, Box::new(generator::BusyWorkersRule::default())),
        (Machine, of_sums(generator::late)),
        (Load, Box::new(reference::ReferenceRule::default())),
        (Load, of_sums(resolution::judge)),
        (Machine, Box::new(own_counters::OwnCountersRule::default())),
        (Machine, Box::new(clock::ClockRule::default())),
        (Both, of_sums(ending::judge)),
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
