//! Silence of agents: it is said, and who is silent for too long is given up. One that closes its connections works, and is
//! waited for.

use std::time::{Duration, Instant};

use brunt_cause::agents;
use brunt_engine::PREPARED;
use brunt_record::{Notice, RunEvent, Subject};

use super::{Conductor, SETTLED};

/// Time without figures after which an agent is said to be silent.
const SILENT: Duration = Duration::from_secs(3);
/// Time for which a silent agent is waited for once the run was stopped.
const AFTER_STOP: Duration = Duration::from_secs(10);
/// Time for which agents that prepare are waited for, once one is ready; and at all.
const PREPARES: Duration = Duration::from_secs(60);
const PREPARES_AT_ALL: Duration = Duration::from_secs(600);
/// Time for which agents are waited for that have nothing more to load but still work: they close their connections.
const CLOSES: Duration = Duration::from_secs(600);

impl Conductor {
    /// Says who is silent, shows the seconds that only they hold up, and gives up those that were silent for too long.
    pub(super) fn look_at_silence(&mut self, sink: &mut dyn FnMut(RunEvent)) {
        let now = Instant::now();
        for agent in 0..self.status.len() {
            if !self.merger.grows(agent) {
                continue;
            }
            if self.status[agent].heard_again.is_some_and(|(heard, _)| now.duration_since(heard) > SETTLED) {
                self.say_back(agent, sink);
            }
            let silence = self.silence(agent, now);
            if let Some(patience) = self.patience(agent)
                && silence > patience
            {
                let time = format!("{} s", silence.as_secs());
                let why = match self.wires.troubles.of(agent) {
                    Some(trouble) => agents::unkept(trouble).to_string(),
                    None if silence > CLOSES => agents::endless(time).to_string(),
                    None => agents::silent(time).to_string(),
                };
                self.status[agent].given_up = Some(now);
                self.lose(agent, &why, sink);
            } else if silence > SILENT && self.owes_figures(agent) && self.status[agent].silent_since.is_none() {
                self.status[agent].silent_since = Some(self.merger.reached(agent));
                let facts = [("agent", self.name(agent)), ("silent", format!("{} s", silence.as_secs()))];
                sink(RunEvent::Notice(Notice::new(Subject::AgentLate, facts)));
            } else if silence <= SILENT {
                self.say_closing(agent, now, sink);
            }
        }
        let silent: Vec<bool> = self.status.iter().map(|status| status.silent_since.is_some()).collect();
        if silent.contains(&true) {
            let seconds = self.merger.provisional(|agent| silent.get(agent).is_some_and(|silent| *silent));
            seconds.into_iter().for_each(|second| sink(RunEvent::Provisional(Box::new(second))));
        }
    }

    /// Says once of an agent that it has reported nothing for a while because it closes its connections.
    fn say_closing(&mut self, agent: usize, now: Instant, sink: &mut dyn FnMut(RunEvent)) {
        let status = &mut self.status[agent];
        if now.duration_since(status.heard) > SILENT && !std::mem::replace(&mut status.closes, true) {
            sink(RunEvent::Notice(Notice::new(Subject::AgentCloses, [("agent", self.name(agent))])));
        }
    }

    /// Says once of each agent that another machine has its token, too: orders may reach either.
    pub(super) fn look_for_twins(&mut self, sink: &mut dyn FnMut(RunEvent)) {
        for agent in 0..self.status.len() {
            let name = self.name(agent);
            if !self.status[agent].is_twice && self.merger.grows(agent) && self.fleet.times(&name) > 1 {
                self.status[agent].is_twice = true;
                sink(RunEvent::Notice(Notice::new(Subject::AgentTwice, [("agent", name)])));
            }
        }
    }

    /// Returns `true` if an agent has begun, or was told to. One that first opens connections to hold may take its time.
    pub(super) fn owes_figures(&self, agent: usize) -> bool {
        let told = self.status[agent].released[PREPARED] && self.head.started.plan.hold.is_none();
        self.merger.has_begun(agent) || told
    }

    /// Returns how long nothing was heard of an agent. One that has no load left and works is not silent.
    fn silence(&self, agent: usize, now: Instant) -> Duration {
        let status = &self.status[agent];
        let silence = now.duration_since(status.heard);
        match self.is_closing(agent) && silence <= CLOSES {
            true => silence.min(now.duration_since(status.worked)),
            false => silence,
        }
    }

    /// Returns `true` if an agent has nothing more to load: it was stopped, or has reported its last second.
    fn is_closing(&self, agent: usize) -> bool {
        let plan = &self.head.started.plan;
        let lasts = plan.duration.or(plan.hold);
        self.stopped.is_some() || lasts.is_some_and(|lasts| self.merger.reached_ns(agent) >= lasts.0 as i64)
    }

    /// Returns how long a silent agent is waited for.
    fn patience(&self, agent: usize) -> Option<Duration> {
        let lost_after = Duration::from_nanos(self.head.terms.lost_after.0);
        if !self.owes_figures(agent) {
            let prepares = self.first_ready.is_some() && !self.status[agent].ready[PREPARED];
            return Some(if self.stopped.is_some() {
                AFTER_STOP
            } else if prepares {
                PREPARES
            } else {
                PREPARES_AT_ALL
            });
        }
        Some(if self.stopped.is_some() { lost_after.min(AFTER_STOP) } else { lost_after })
    }
}
