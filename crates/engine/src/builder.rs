//! The components of a worker except for its network.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;

use brunt_contract::{Network, Origin, PeerAddress, SlotContext, UserValues, Workload};
use brunt_load::{NumberSequence, ScenarioCourse, UserProfile};
use brunt_measure::Nanos;
use brunt_measure::random::Rng;
use brunt_plan::{Load, Plan, Share};
use brunt_scenario::{DedicatedConnections, FlowProgram, FlowScenario, RateLimit, RequestMix, Scenario};

use crate::api::CHECKED;
use crate::barrier::Barrier;
use crate::connections::{
    ConnectionParts, FixedConnections, HeartbeatRounds, Reconnects, SpinBudget, UserConnections, WorkerConnections,
    traffic,
};
use crate::control::ControlCursor;
use crate::holding_users::HoldingUsers;
use crate::ids::{OriginId, ScenarioId};
use crate::in_flight::InFlight;
use crate::limits::Limits;
use crate::links::Links;
use crate::lookup::Lookups;
use crate::named_checks::NamedChecks;
use crate::pool::{PoolGroup, Pools};
use crate::population::Population;
use crate::recorder::Recorder;
use crate::slot_values::SlotSource;
use crate::source::{self, Bounds, LoadSource};
use crate::sources::LoadSources;
use crate::user_states::UserStates;
use crate::users;
use crate::virtual_users::VirtualUsers;
use crate::worker::{self, CommonStart, Worker};
use crate::worker_message::WorkerMessage;
use crate::{Setup, Stop};

/// Maximum number of queued arrivals of a run (a few hundred bytes each), and the minimum queue capacity per worker.
const QUEUE: u64 = 1 << 20;
const QUEUE_OF_ONE: u64 = 1 << 14;

/// The components of a worker except for its network.
pub(crate) struct WorkerBuilder<'a> {
    pub workload: Arc<dyn Workload>,
    pub setup: &'a Setup,
    /// Source addresses, used in turn; if empty, the system chooses.
    pub sources: Vec<IpAddr>,
    /// Set if the number of connections is part of the plan.
    pub fixed: bool,
    pub share: Share,
    pub start: Nanos,
    /// Barriers of the workers: before a common start, and before connections are held.
    pub barriers: [Arc<Barrier>; 2],
    pub pools: &'a [(Origin, Vec<PeerAddress>)],
    /// The requests from which users choose; each worker seeds its own copy.
    pub requests: &'a RequestMix,
    pub report: Box<dyn FnMut(WorkerMessage) + Send>,
    pub spinning: SpinBudget,
    /// The named checks, if any.
    pub checks: Option<Arc<NamedChecks>>,
    pub stop: Stop,
}

/// Returns the requests from which the users of a run choose.
pub(crate) fn requests(workload: &dyn Workload) -> RequestMix {
    RequestMix::new(workload.requests().iter().map(|r| (r.weight, OriginId::of(r.origin))))
}

impl WorkerBuilder<'_> {
    /// Runs the worker on `net` to its end.
    pub fn run<N: Network>(self, net: N, lookups: Lookups) {
        let stop = self.stop.clone();
        self.build(net, lookups).run(&stop);
    }

    fn limits(&self) -> Limits {
        let plan = &self.setup.plan;
        let window = self.start + plan.warmup;
        let nominal = brunt_load::nominal_end(plan);
        let ends = [brunt_load::run_ends(plan), nominal].into_iter().flatten().min();
        // The duration of iterations cannot be predicted, even if their number is fixed.
        let by_iterations = plan.has_flows() && plan.requests.is_some();
        let nominal = nominal.filter(|_| !by_iterations);
        let ends = ends.filter(|_| !by_iterations).or_else(|| brunt_load::run_ends(plan));
        Limits {
            open: plan.load.is_open(),
            flows: plan.has_flows(),
            start: self.start,
            window,
            end: ends.filter(|_| plan.hold.is_none()).map(|since_start| self.start + since_start),
            until_quota: plan.requests.is_some() && nominal.is_none(),
            end_at_other_rate: nominal.map(|_| brunt_load::run_ends(plan).map(|since_start| self.start + since_start)),
            slack: plan.slack,
            drain: self.drain(),
            timeout: plan.timeout,
            connect_timeout: plan.connect_timeout,
            dns_refresh: plan.dns_refresh,
            queue: (QUEUE / u64::from(self.share.of)).max(QUEUE_OF_ONE),
            one_exchange_per_connection: self.workload.prepared().one_exchange_per_connection,
            exchanges_per_connection: self.workload.prepared().exchanges_per_connection.max(1),
            per_user: match plan.load.is_open() {
                true => 1,
                false => self.workload.prepared().exchanges_per_user.max(1),
            },
        }
    }

    /// Returns the drain time for requests in flight at the end of the run; with scenarios, the time from then to the
    /// end of the last graceful stop.
    fn drain(&self) -> Nanos {
        let plan = &self.setup.plan;
        let Some(end) = brunt_load::run_ends(plan).filter(|_| !plan.scenarios.is_empty()) else { return plan.drain };
        let cut_at = |(number, scenario): (usize, &brunt_plan::ScenarioPlan)| {
            ScenarioCourse::of(plan, number, self.share)?.ends().map(|end| end.saturating_add(scenario.graceful_stop))
        };
        let last = plan.scenarios.iter().enumerate().filter_map(cut_at).max();
        last.map_or(plan.drain, |last| last - end)
    }

    /// Returns the groups that share connections, with their limits: one for the run, or one per scenario.
    fn groups(&self) -> Vec<PoolGroup> {
        let plan = &self.setup.plan;
        let group = |load: &Load, most: u32, share: Share| {
            let most = if load.is_open() { share.of_total(u64::from(most)).max(1) as u32 } else { u32::MAX };
            PoolGroup { by_arrivals: load.is_open(), limit: most, count: 0 }
        };
        if plan.scenarios.is_empty() {
            return vec![group(&plan.load, plan.max_connections, self.share)];
        }
        plan.scenarios.iter().map(|scenario| group(&scenario.load, scenario.max_connections, self.share)).collect()
    }

    /// Returns the connections to open before the run begins, for a common start or because arrivals are spread over
    /// all of them.
    fn common_start(&self, limits: &Limits, users: u32) -> Option<CommonStart> {
        let together = matches!(self.setup.plan.load, Load::Closed { together: true, .. });
        let to_open = if limits.open { self.groups()[0].limit } else { users };
        let ahead = together || (limits.open && self.fixed);
        ahead.then(|| CommonStart::new(Arc::clone(&self.barriers[0]), to_open))
    }

    /// Creates the scenario of this worker's users.
    fn scenario(&self, seed: u64) -> Box<dyn Scenario> {
        let plan = &self.setup.plan;
        if let Some(make) = &self.setup.scenario {
            return make(seed);
        }
        if let Some(flow) = &plan.flow {
            let program = FlowProgram::of(flow).expect(CHECKED);
            let flow = FlowScenario::new(Arc::new(program), seed).with_rate_limits(self.turns());
            return Box::new(flow.with_arrivals(plan.load.is_open()));
        }
        let Load::Closed { think, .. } = plan.load else { return Box::new(self.requests.seeded(seed)) };
        if !self.fixed {
            return Box::new(self.requests.seeded(seed).repeated(think));
        }
        let requests: Vec<(f64, OriginId)> =
            self.workload.requests().iter().map(|r| (r.weight, OriginId::of(r.origin))).collect();
        let silent = self.workload.prepared().holds_only;
        let own =
            DedicatedConnections::new(self.workload.origins().len(), &requests, silent, seed).with_think_time(think);
        Box::new(if plan.hold.is_some() { own.once() } else { own })
    }

    /// Creates the state of the users, which starts with the values that all of them share.
    fn memories(&self) -> UserStates {
        let plan = &self.setup.plan;
        let clears = plan.flows().map(|(_, flow)| flow.clear_cookies).collect();
        let known = plan.setup_flow().map(initial_values).unwrap_or_default();
        let one_each = plan.urls.len() == self.workload.requests().len();
        UserStates::new(clears, (user_lifetime_values(plan), known)).of_plan(one_each.then(|| Arc::clone(plan)))
    }

    /// Creates the load of this worker: one source for the run, or one per scenario.
    fn sources(&self, limits: &Limits, seed: u64) -> LoadSources {
        if self.setup.plan.scenarios.is_empty() {
            return LoadSources::new(vec![self.source(limits, seed)]);
        }
        let mut spans_before = 0;
        let mut all = Vec::new();
        let turns = self.turns();
        for (number, scenario) in self.setup.plan.scenarios.iter().enumerate() {
            let seed = Rng::new(seed).fork(number as u64).next_u64();
            all.extend(self.source_of((number, scenario), spans_before, seed, turns.clone()));
            spans_before += 1 + scenario.flow.groups().len() as u16;
        }
        LoadSources::new(all)
    }

    /// Returns the rate limit of each request, shared by all steps of the same name and rate in all scenarios; empty if
    /// no request has one.
    fn turns(&self) -> Vec<Option<RateLimit>> {
        let urls = &self.setup.plan.urls;
        if urls.iter().all(|url| url.max_rate().is_none()) {
            return Vec::new();
        }
        let names = self.workload.names();
        let named = urls.len() == self.workload.requests().len() && !names.list().is_empty();
        let mut known = HashMap::<(usize, u64), RateLimit>::new();
        let turns = |(request, url): (usize, &brunt_plan::WeightedUrl)| {
            let rate = url.max_rate()?;
            let name = if named { usize::from(names.index_of(request)) } else { request };
            let new = || RateLimit::of(rate, (self.share.index, self.share.of), self.start);
            Some(known.entry((name, rate.to_bits())).or_insert_with(new).clone())
        };
        urls.iter().enumerate().map(turns).collect()
    }

    /// Creates the source of one scenario among several.
    fn source_of(
        &self,
        (number, scenario): (usize, &brunt_plan::ScenarioPlan),
        spans_before: u16,
        seed: u64,
        turns: Vec<Option<RateLimit>>,
    ) -> Option<LoadSource> {
        let course = ScenarioCourse::of(&self.setup.plan, number, self.share)?;
        let program = FlowProgram::of(&scenario.flow).expect(CHECKED);
        let flow = FlowScenario::new(Arc::new(program), seed).with_rate_limits(turns);
        let flow = Box::new(flow.with_arrivals(scenario.load.is_open()));
        let since_start = |at: Nanos| self.start.saturating_add(at);
        let ends = course.ends().filter(|_| !scenario.counts_iterations()).map(since_start);
        let cut_at = course.ends().map(|end| since_start(end.saturating_add(scenario.graceful_stop)));
        let bounds = Bounds {
            quota: course.iterations(),
            rows_once: self.workload.prepared().max_requests.is_some(),
            iterations_per_user: scenario.iterations_per_user,
            start_rate: scenario.spawn_rate.map(|rate| rate / f64::from(self.share.of)),
            max_users: scenario.max_users.map(|most| course.share().of_total(u64::from(most)) as u32),
            end: Some(source::ScenarioEnd { ends, cut_at: cut_at.unwrap_or(Nanos::MAX) }),
            spans_before,
        };
        let users = VirtualUsers::new(course.users(), ScenarioId::of(number));
        Some(LoadSource::new(course.arrivals(), users, flow, bounds))
    }

    /// Creates the source of requests: a schedule in open load, users in closed load.
    fn source(&self, limits: &Limits, seed: u64) -> LoadSource {
        let Plan { load, warmup, requests, duration, seed: run, .. } = &*self.setup.plan;
        let (schedule, profile) = match limits.open {
            true => (Some(brunt_load::arrivals(load, *warmup, *requests, *duration, self.share, *run)), None),
            false => (None, Some(UserProfile::new(load, *warmup, self.share).each(limits.per_user))),
        };
        let quota = requests.map(|total| match limits.open {
            true => self.share.of_total(total),
            false => UserProfile::new(load, *warmup, self.share).of_requests(total),
        });
        let start_rate = self.setup.plan.connect_rate.map(|rate| rate / f64::from(self.share.of));
        let rows_once = self.workload.prepared().max_requests.is_some();
        let bounds = Bounds { quota, start_rate, rows_once, ..Bounds::default() };
        LoadSource::new(schedule, VirtualUsers::new(profile, ScenarioId(0)), self.scenario(seed), bounds)
    }

    /// Returns the total number of counter rows (one per name, two per span of a flow, one per scenario), and the
    /// number of scenario rows.
    fn rows(&self) -> (usize, usize) {
        let plan = &self.setup.plan;
        let scenarios = plan.scenarios.len();
        (self.workload.names().list().len() + 2 * plan.spans().len() + scenarios, scenarios)
    }

    fn fills(&self, limits: &Limits, seed: u64) -> SlotSource {
        let plan = &self.setup.plan;
        let numbers = brunt_load::numbers(plan, self.share);
        let fills = SlotSource::new(
            self.share,
            limits.per_user,
            (seed, plan.seed),
            numbers,
            self.workload.prepared().has_slots,
        );
        let course = |number| ScenarioCourse::of(plan, number, self.share);
        let courses = (0..plan.scenarios.len()).filter_map(course);
        let scenarios: Vec<_> = courses.map(|course| (course.share(), course.numbers())).collect();
        if plan.has_flows() { fills.by_iteration(&scenarios) } else { fills }
    }

    fn build<N: Network>(self, mut net: N, lookups: Lookups) -> Worker<N> {
        let plan = &self.setup.plan;
        let (limits, now) = (self.limits(), net.now());
        let seed = Rng::new(plan.seed).fork(u64::from(self.share.index)).next_u64();
        let mut source = self.sources(&limits, seed);
        let users = source.only().users().peak();
        let (dialogue, security) = (Arc::clone(&self.workload), Arc::clone(&self.setup.security));
        // Connections are numbered independently of requests.
        let fills =
            SlotSource::new(self.share, limits.per_user, (!seed, plan.seed), NumberSequence::in_turn(self.share), true);
        let mut links = Links::new(net, dialogue, security, limits.connect_timeout, (Rng::new(seed).fork(3), fills));
        if source.all_mut().iter().any(|source| source.hears()) {
            links.done().report_unsolicited();
        }
        let held = || HoldingUsers::new(plan.hold, Arc::clone(&self.barriers[1]));
        let rows = self.rows();
        let tracing = traces(&*self.workload, plan.trace);
        let common_start = self.common_start(&limits, users);
        let held = self.fixed.then(held);
        let pools = Pools::new(self.pools, self.share.index, self.groups()).with_limits(&limits);
        let arrive: Vec<bool> = source.all_mut().iter_mut().map(|source| source.users().by_arrivals()).collect();
        let population = Population::of(arrive.iter().map(|arrive| !arrive || limits.flows));
        let traffic = traffic::TrafficParts {
            now,
            in_flight: InFlight::new(limits.timeout, now, self.fills(&limits, seed))
                .with_timeouts(&own_timeouts(plan), now),
            user_states: (self.workload.prepared().keeps_state || plan.has_flows()).then(|| self.memories()),
            recorder: Recorder::new(&limits, rows, population, now, self.report)
                .with_checks(self.checks.as_ref().map_or(0, |checks| checks.names().len()))
                .with_traces(tracing, plan.trace),
            checks: self.checks,
            workload: Arc::clone(&self.workload),
            limits,
        };
        let connections = WorkerConnections::new(ConnectionParts {
            links: links.with_sources(self.sources.clone(), self.share.index as usize),
            pools,
            traffic,
            lookups,
            fixed: self.fixed.then(|| FixedConnections::new(plan.hold.is_some(), self.share.of)),
            heartbeats: plan.heartbeat.map(|interval| HeartbeatRounds::new(interval, self.start)),
            by_arrivals: arrive,
            owned: plan.has_flows().then(|| UserConnections::of(&*self.workload, plan.flows().count())).flatten(),
            reconnects: Reconnects::of(plan, &*self.workload),
            spinning: self.spinning,
            rng: Rng::new(seed.wrapping_add(1)),
        });
        Worker::new(worker::WorkerParts {
            users: users::WorkerUsers::new(source, held),
            connections,
            common_start,
            control: ControlCursor::new(self.setup.control.clone()),
        })
    }
}

/// Returns the timeout of each request; `None` if its step sets none.
fn own_timeouts(plan: &Plan) -> Vec<Option<Nanos>> {
    if plan.has_flows() { plan.urls.iter().map(brunt_plan::WeightedUrl::timeout).collect() } else { Vec::new() }
}

/// Returns `true` if requests carry a trace or, given a sampled `share`, belong to one that they cannot carry.
fn traces(workload: &dyn Workload, share: Option<f64>) -> bool {
    let fill = SlotContext::default();
    let belongs = |request: &brunt_contract::Request| {
        workload.trace(request, &fill).is_some() || share.is_some() && workload.carries_no_trace(request)
    };
    workload.prepared().has_slots && workload.requests().iter().any(|one| belongs(&one.request))
}

/// Returns, by scenario and value, whether the value lasts as long as its user.
fn user_lifetime_values(plan: &Plan) -> Vec<Vec<bool>> {
    let of_all = plan.common.as_ref().map(|common| common.lasting_variables(&plan.urls)).unwrap_or_default();
    let of_one = |flow: &brunt_plan::flow::Flow| {
        let mut own = flow.lasting_variables(&plan.urls);
        own.iter_mut().zip(&of_all).for_each(|(own, of_all)| *own |= of_all);
        own
    };
    plan.flows().map(|(_, flow)| of_one(flow)).collect()
}

/// Returns the values that users of a flow have from the start.
pub(crate) fn initial_values(flow: &brunt_plan::flow::Flow) -> UserValues {
    let mut values = UserValues::default();
    flow.known.iter().for_each(|known| values.set_list(known.variable, &known.value, &known.ends));
    values
}
