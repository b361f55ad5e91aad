//! The connections that a share of a run can have at once, for the owner of a machine who bounds them.

use brunt_plan::{Load, Plan, PlanShare};

use crate::{PreparedRun, Task};

/// The connections of some of the workers of a run.
#[derive(Clone, Debug)]
pub struct ShareConnections {
    task: Task,
    /// Exchanges that a user has in flight, and that share a connection.
    exchanges: (u64, u64),
    /// Servers to each of which a user has connections of its own; `None` if responses can lead it to any.
    servers: Option<u64>,
}

impl ShareConnections {
    /// Describes the connections of these workers.
    pub fn of(run: &PreparedRun, plan: &Plan, task: Task) -> ShareConnections {
        let (per_user, shared) = run.exchanges_per_user_and_connection();
        let in_flight = plan.flows().map(|(_, flow)| flow.max_in_flight()).max().unwrap_or(1);
        let is_open_ended = run.follows_links() || plan.follows_responses();
        let servers = (!is_open_ended).then(|| run.origins().len().max(1) as u64);
        ShareConnections { task, exchanges: (in_flight.max(per_user).into(), shared.into()), servers }
    }

    /// Adds up over the workers of the share what each makes of its part of a total; parts differ by at most one.
    fn sum(&self, total: u64, of_part: impl Fn(u64) -> u64) -> u64 {
        let Task { from, to, of } = self.task;
        let (part, larger) = (total / u64::from(of.max(1)), total % u64::from(of.max(1)));
        let with_one_more = u64::from(to).min(larger).saturating_sub(from.into());
        let others = u64::from(to - from) - with_one_more;
        with_one_more.saturating_mul(of_part(part + 1)).saturating_add(others.saturating_mul(of_part(part)))
    }

    fn of_users(&self, users: u64) -> Option<u64> {
        let (servers, (each, shared)) = (self.servers?, self.exchanges);
        Some(self.sum(users, |users| users.saturating_mul(each).div_ceil(shared).saturating_mul(servers)))
    }

    /// Returns the most connections of the share; `None` if nothing bounds them. Arrivals share theirs, and each worker has at
    /// least one.
    pub fn at_most(&self, plan: &Plan) -> Option<u64> {
        let of_load = |load: &Load, most: u32| match load {
            Load::Open { .. } => Some(self.sum(most.into(), |part| part.max(1))),
            Load::Closed { .. } => self.of_users(load.peak().round() as u64),
        };
        let loads = plan.scenarios.iter().map(|scenario| (&scenario.load, scenario.max_connections));
        let mut loads = loads.chain(plan.scenarios.is_empty().then_some((&plan.load, plan.max_connections)));
        loads.try_fold(0, |sum: u64, (load, most)| Some(sum.saturating_add(of_load(load, most)?)))
    }

    /// Returns the share as its owner's ceilings look at it.
    pub fn plan_share<'a>(&self, run: &'a PreparedRun, plan: &'a Plan) -> PlanShare<'a> {
        let Task { from, to, of } = self.task;
        let messages = run.messages_per_request();
        PlanShare { plan, workers: (to - from, of), messages, connections: self.at_most(plan) }
    }

    /// Returns the most users of the whole run with which the share has at most this many connections.
    pub fn users_within(&self, most: u64) -> Option<u32> {
        let (mut within, mut beyond) = (0, u64::from(u32::MAX) + 1);
        while beyond - within > 1 {
            let users = within.midpoint(beyond);
            if self.of_users(users)? <= most { within = users } else { beyond = users }
        }
        Some(within.max(1) as u32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_are_counted_by_the_workers_that_have_them() {
        for (task, exchanges, servers, users, expected) in [
            ((0, 8, 8), (1, 1), 1, 10, 10),
            ((0, 4, 8), (1, 1), 1, 10, 6),
            ((4, 8, 8), (1, 1), 1, 10, 4),
            ((0, 1, 1), (1, 1), 5, 10, 50),
            ((0, 1, 1), (6, 1), 2, 10, 120),
            ((0, 2, 2), (1, 100), 1, 10, 2),
        ] {
            let (from, to, of) = task;
            let connections = ShareConnections { task: Task { from, to, of }, exchanges, servers: Some(servers) };
            assert_eq!(connections.of_users(users), Some(expected), "{connections:?}");
            let most = connections.users_within(expected).unwrap().into();
            assert!(most >= users && connections.of_users(most) == Some(expected), "{connections:?}: {most}");
            assert!(connections.of_users(most + 1) > Some(expected) || u64::from(to - from) < u64::from(of));
        }
        let endless = ShareConnections { task: Task { from: 0, to: 1, of: 1 }, exchanges: (1, 1), servers: None };
        assert_eq!((endless.of_users(1), endless.users_within(1)), (None, None));
    }
}
