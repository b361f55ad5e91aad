//! Changes of the load: they go out to the agents, and each says from when on it follows. One that was out of reach follows
//! late, and until then does not carry what it was given of the load of lost ones.

use std::time::Instant;

use brunt_cause::{Cause, agents};
use brunt_engine::Control;
use brunt_measure::{Clock, Nanos};
use brunt_plan::{Change, Share};
use brunt_record::{LoadChange, Notice, RunEvent, Subject, WorkerRange};

use super::super::directory::{CarriedLoad, LostAgent};
use super::super::group::lead;
use super::super::merge::RunTime;
use super::super::orders::FollowedChange;
use super::{Conductor, LOOK, SETTLED};

/// Lateness up to which an agent follows a change in time.
const LATE: Nanos = Nanos::from_millis(100);

/// A change of the load that was passed on.
#[derive(Clone, Copy)]
pub(super) struct PassedChange {
    /// Time at which agents shall follow it.
    at: Nanos,
    /// The level of the load that agents are told, if it is one.
    level: Option<f64>,
    /// The multiple of its share that each carries from then on, if it gives them the load of lost ones.
    multiple: Option<f64>,
}

impl Conductor {
    /// Passes on new changes of the load, and records them once the start of the window is known.
    pub(super) fn pass_on_changes(&mut self, control: &Control, sink: &mut dyn FnMut(RunEvent)) {
        for (at, change) in control.scheduled_since(self.changes_seen) {
            self.changes_seen += 1;
            if self.is_past(at) {
                continue;
            }
            self.unrecorded.push((at, change));
            self.change_level(at, change);
        }
        let Some(window) = self.merger.window() else { return };
        let warmup = self.head.started.plan.warmup.0 as i64;
        for (at, change) in std::mem::take(&mut self.unrecorded).into_iter().filter(|(at, _)| !self.is_past(*at)) {
            let change = LoadChange { at_ns: (at.0 as i64).saturating_sub(window.0 as i64).max(-warmup), change };
            // Without a disk, a coordinator that is started again would not know the change; the load is right anyway.
            let _ = self.directory.add_change(&change);
            sink(RunEvent::Changed(change));
        }
    }

    /// Returns `true` for a time at which the load is over, so that nobody follows a change.
    pub(super) fn is_past(&self, at: Nanos) -> bool {
        let lasts = self.head.started.plan.duration;
        let end = self.merger.window().zip(lasts).map(|(window, lasts)| window.saturating_add(lasts));
        self.stopped.is_some() || end.is_some_and(|end| at >= end)
    }

    /// Passes on a change that a person or the plan asked for.
    fn change_level(&mut self, at: Nanos, change: Change) {
        if let (Some(level), Change::Rate(_) | Change::Users(_)) = (&mut self.level, change) {
            *level = change;
        }
        self.change(at, change);
    }

    /// Tells the agents that are not lost of a change, with the part of those whose load was given to them.
    fn change(&mut self, at: Nanos, change: Change) {
        let multiple = 1.0 / (1.0 - self.taken_over).max(f64::EPSILON);
        let (change, level) = match change {
            Change::Rate(rate) => (Change::Rate(rate * multiple), Some(rate * multiple)),
            Change::Users(users) => {
                let users = self.level_of(users);
                (Change::Users(users), Some(f64::from(users)))
            }
            other => (other, None),
        };
        let number = self.passed.len();
        self.passed.push(PassedChange {
            at,
            level,
            multiple: level.map(|_| multiple).filter(|_| self.taken_over > 0.0),
        });
        let lines = self.wires.orders.iter_mut().enumerate();
        let there = lines.filter(|(agent, _)| !self.merger.is_lost(*agent));
        there.for_each(|(_, line)| line.change(number, at, change));
    }

    /// Returns the level at which the agents that carry the load have this many users: levels are of all workers, and those
    /// of lost agents have theirs no more.
    fn level_of(&self, users: u32) -> u32 {
        let agents = &self.head.started.agents;
        let all = agents.iter().map(|agent| agent.workers.count()).sum();
        let carry = (0..agents.len()).filter(|agent| self.taken_over == 0.0 || !self.merger.is_lost(*agent));
        level_with(users, all, &carry.map(|agent| agents[agent].workers).collect::<Vec<_>>())
    }

    /// Gives the load of all lost agents to the others; returns the time from which they shall carry it, in nanoseconds since
    /// the start of the window.
    pub(super) fn redistribute(&mut self, agent: usize, level: Change, sink: &mut dyn FnMut(RunEvent)) -> i64 {
        let at = Clock.now() + lead(&self.head.started.agents);
        self.give_to_others(at, level, self.merger.lost_share());
        let since = self.since(at);
        self.say_replaced(agent, since, sink);
        since
    }

    fn give_to_others(&mut self, at: Nanos, level: Change, lost_share: f64) {
        self.taken_over = lost_share;
        self.change(at, level);
    }

    /// Returns a time since the start of the window. One before it is known is missing from the first second.
    fn since(&self, at: Nanos) -> i64 {
        self.merger.window().map_or(1, |window| (at.0 as i64).saturating_sub(window.0 as i64))
    }

    /// Says that the others shall carry the load of a lost agent from a time since the start of the window on (nanoseconds).
    pub(super) fn say_replaced(&self, agent: usize, since: i64, sink: &mut dyn FnMut(RunEvent)) {
        let others = (0..self.status.len()).filter(|other| !self.merger.is_lost(*other));
        let others: Vec<String> = others.map(|other| self.name(other)).collect();
        let at = format!("{:.1} s", since.max(0) as f64 / 1e9);
        let facts = [("agents", self.name(agent)), ("to", others.join(", ")), ("at", at)];
        sink(RunEvent::Notice(Notice::new(Subject::AgentsReplaced, facts)));
    }

    /// Takes what agents say of the changes that they follow.
    pub(super) fn heed_followers(&mut self, sink: &mut dyn FnMut(RunEvent)) {
        while let Ok(followed) = self.wires.followed.try_recv() {
            self.note_followed(&followed, sink);
        }
    }

    fn note_followed(
        &mut self,
        &FollowedChange { agent, change, from }: &FollowedChange,
        sink: &mut dyn FnMut(RunEvent),
    ) {
        let Some(PassedChange { at, level, multiple }) = self.passed.get(change).copied() else { return };
        let late = Nanos(from.0.saturating_sub(at.0));
        if late > LATE {
            let facts = [("agent", self.name(agent)), ("late", format!("{:.1} s", late.0 as f64 / 1e9))];
            sink(RunEvent::Notice(Notice::new(Subject::AgentChangedLate, facts)));
        }
        // What its owner does not allow, the agent does not carry.
        let ceiling = self.head.ceilings.get(agent).copied().flatten();
        let allowed = level.zip(ceiling).map_or(1.0, |(level, ceiling)| (ceiling / level).min(1.0));
        if allowed < 1.0 {
            let facts = [("agent", self.name(agent)), ("remark", Cause::from(agents::held()).to_string())];
            sink(RunEvent::Notice(Notice::new(Subject::AgentRemark, facts)));
        }
        if let Some(multiple) = multiple.map(|multiple| multiple * allowed) {
            self.merger.carries(agent, RunTime::At(from), multiple);
            // Without a disk, it counts as missing for whoever goes on.
            let _ = self.directory.add_carried(&CarriedLoad { agent, since_ns: self.since(from), multiple });
        }
    }

    /// Orders again what a coordinator before this one ordered, which may not have arrived; agents follow no change twice. Waits
    /// a moment for what they say, before seconds are passed on.
    pub(super) fn order_again(&mut self, losses: &[LostAgent], sink: &mut dyn FnMut(RunEvent)) {
        let changed =
            self.directory.changes().into_iter().map(|LoadChange { at_ns, change }| (at_ns, Some(change), 0.0));
        let mut lost_share = 0.0;
        let redistributed = losses.iter().filter_map(|loss| {
            lost_share += self.merger.share(loss.agent);
            Some((loss.taken_over_ns?, None, lost_share))
        });
        let mut orders: Vec<(i64, Option<Change>, f64)> = changed.chain(redistributed).collect();
        orders.sort_by_key(|(at_ns, ..)| *at_ns);
        for (at_ns, change, lost_share) in orders {
            let at = self.merger.window().map_or(Clock.now(), |window| Nanos(window.0.saturating_add_signed(at_ns)));
            match (change, self.level) {
                (Some(change), _) => self.change_level(at, change),
                (None, Some(level)) => self.give_to_others(at, level, lost_share),
                (None, None) => {}
            }
        }
        let growing = (0..self.status.len()).filter(|agent| self.merger.grows(*agent)).count();
        let mut awaited = growing * self.passed.len();
        let since = Instant::now();
        while awaited > 0 && since.elapsed() < SETTLED {
            if let Ok(followed) = self.wires.followed.recv_timeout(LOOK) {
                self.note_followed(&followed, sink);
                awaited -= 1;
            }
        }
    }
}

/// Returns the lowest number of users of a run on `all` workers of which these have as many as asked for.
fn level_with(users: u32, all: u32, workers: &[WorkerRange]) -> u32 {
    let there: u32 = workers.iter().map(|range| range.count()).sum();
    if there == 0 {
        return users;
    }
    let have = |level: u64| -> u64 {
        let of = |index| Share { index, of: all }.of_total(level);
        workers.iter().flat_map(|range| range.from..range.to).map(of).sum()
    };
    // At each multiple of all workers, all have as many.
    let whole = u64::from(users / there) * u64::from(all);
    let level = (whole..=whole + u64::from(all)).find(|level| have(*level) >= u64::from(users));
    u32::try_from(level.unwrap_or(whole)).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_of_lost_agents_are_there_again_whichever_workers_have_them() {
        let range = |from, to| WorkerRange { from, to };
        let but_first = [range(2, 4), range(4, 6), range(6, 8)];
        for (users, expected) in [(4, 6), (9, 13), (8, 12), (0, 0), (6, 8), (600, 800)] {
            let level = level_with(users, 8, &but_first);
            assert_eq!(level, expected, "{users} users");
        }
        assert_eq!(level_with(9, 8, &[range(0, 2), range(2, 4), range(4, 6)]), 11);
        assert_eq!([0, 1, 7, 9].map(|users| level_with(users, 8, &[range(0, 8)])), [0, 1, 7, 9]);
        assert_eq!(level_with(5, 8, &[]), 5);
    }
}
