//! A worker before it runs: everything it is made of but its network.

use std::net::IpAddr;
use std::sync::Arc;

use load::Users;
use measure::Nanos;
use measure::random::Rng;
use plan::{Load, Plan, Share};
use scenario::{Choice, Flow, OwnConnections, Program, Requests};
use wire::{Dialogue, Network, Origin, Place, Values};

use crate::barrier::Barrier;
use crate::books::Books;
use crate::control::Heeding;
use crate::filling::FillSource;
use crate::flights::Flights;
use crate::limits::Limits;
use crate::links::Links;
use crate::lookup::Lookups;
use crate::message::Message;
use crate::patience::{LONGEST, LONGEST_OF_ARRIVALS};
use crate::pool::Pools;
use crate::source::Source;
use crate::virtual_users::VirtualUsers;
use crate::worker::{Belongings, CommonStart, Heartbeats, HeldConnections, Parts, Spinning, Worker};
use crate::{Setup, Stop};

/// So many arrivals of a run may wait for a connection (some hundred bytes each), and so many of each worker in any case.
const QUEUE: u64 = 1 << 20;
const QUEUE_OF_ONE: u64 = 1 << 14;

/// Everything a worker is made of but its network.
pub(crate) struct WorkerBuilder<'a, D: Dialogue> {
    pub dialogue: Arc<D>,
    pub setup: &'a Setup,
    /// Source addresses used in turn; empty: the system's choice.
    pub sources: Vec<IpAddr>,
    /// The number of connections is part of the plan.
    pub fixed: bool,
    pub share: Share,
    pub start: Nanos,
    /// Where workers wait for each other: before a common start, and before connections are held.
    pub barriers: [Arc<Barrier>; 2],
    pub pools: &'a [(Origin, Vec<Place>)],
    /// What users choose from, for each worker to seed.
    pub requests: &'a Requests,
    pub report: Box<dyn FnMut(Message) + Send>,
    pub spinning: Spinning,
    pub stop: Stop,
}

/// What users of a run choose from.
pub(crate) fn requests<D: Dialogue>(dialogue: &D) -> Requests {
    Requests::new(dialogue.requests().iter().map(|r| (r.weight, r.origin as u32)))
}

impl<D: Dialogue> WorkerBuilder<'_, D> {
    /// Runs the worker on `net` to its end.
    pub fn run<N: Network>(self, net: N, lookups: Lookups) {
        let stop = self.stop.clone();
        self.build(net, lookups).run(&stop);
    }

    fn limits(&self) -> Limits {
        let plan = &self.setup.plan;
        let window = self.start + plan.warmup;
        let nominal = load::nominal_end(plan);
        let ends = [load::run_ends(plan), nominal].into_iter().flatten().min();
        // Iterations take as long as they take, however many.
        let by_iterations = plan.flow.is_some() && plan.requests.is_some();
        let nominal = nominal.filter(|_| !by_iterations);
        let ends = ends.filter(|_| !by_iterations).or_else(|| load::run_ends(plan));
        Limits {
            open: plan.load.is_open(),
            start: self.start,
            window,
            end: ends.filter(|_| plan.hold.is_none()).map(|since_start| self.start + since_start),
            until_quota: plan.requests.is_some() && nominal.is_none(),
            otherwise: nominal.map(|_| load::run_ends(plan).map(|since_start| self.start + since_start)),
            quota: plan.requests.map(|total| match plan.load.is_open() {
                true => self.share.of_total(total),
                false => Users::new(&plan.load, plan.warmup, self.share).of_requests(total),
            }),
            slack: plan.slack,
            drain: plan.drain,
            timeout: plan.timeout,
            connect_timeout: plan.connect_timeout,
            max_connections: match plan.load.is_open() {
                true => self.share.of_total(u64::from(plan.max_connections)).max(1) as u32,
                false => u32::MAX,
            },
            queue: (QUEUE / u64::from(self.share.of)).max(QUEUE_OF_ONE),
            one_shot: self.dialogue.one_exchange_per_connection(),
            shared: self.dialogue.exchanges_per_connection().max(1),
            per_user: match plan.load.is_open() {
                true => 1,
                false => self.dialogue.exchanges_per_user().max(1),
            },
            connect_rate: plan.connect_rate.map(|rate| rate / f64::from(self.share.of)),
        }
    }

    /// Connections that are opened before the run begins: for a common start, or because arrivals go over all of them.
    fn common_start(&self, limits: &Limits, users: u32) -> Option<CommonStart> {
        let together = matches!(self.setup.plan.load, Load::Closed { together: true, .. });
        let to_open = if limits.open { limits.max_connections } else { users };
        let ahead = together || (limits.open && self.fixed);
        ahead.then(|| CommonStart::new(Arc::clone(&self.barriers[0]), to_open))
    }

    /// What the users of this worker do.
    fn scenario(&self, seed: u64) -> Choice {
        let plan = &self.setup.plan;
        if let Some(flow) = &plan.flow {
            // Its conditions were read when the plan was checked.
            let program = Program::of(flow).unwrap_or_default();
            return Choice::Flow(Box::new(Flow::new(Arc::new(program), seed)));
        }
        let Load::Closed { think, .. } = plan.load else { return Choice::Requests(self.requests.seeded(seed)) };
        if !self.fixed {
            return Choice::Requests(self.requests.seeded(seed).again(think));
        }
        let requests: Vec<(f64, u32)> = self.dialogue.requests().iter().map(|r| (r.weight, r.origin as u32)).collect();
        let silent = self.dialogue.silent();
        let own = OwnConnections::new(self.dialogue.origins().len(), &requests, silent, seed).thinking(think);
        Choice::Other(Box::new(if plan.hold.is_some() { own.once() } else { own }))
    }

    /// When requests are due: by a schedule in open load, by users in closed.
    fn source(&self, limits: &Limits, seed: u64) -> Source {
        let Plan { load, warmup, requests, duration, seed: run, .. } = &*self.setup.plan;
        let (schedule, profile) = match limits.open {
            true => (Some(load::arrivals(load, *warmup, *requests, *duration, self.share, *run)), None),
            false => (None, Some(Users::new(load, *warmup, self.share).each(limits.per_user))),
        };
        let rng = Rng::new(seed.wrapping_add(1));
        Source::new(schedule, VirtualUsers::new(profile), self.scenario(seed), limits.quota, rng)
    }

    /// Rows of figures: of names, and two of each span of a flow.
    fn rows(&self) -> usize {
        let spans = self.setup.plan.flow.as_ref().map_or(0, |flow| 1 + flow.groups().len());
        self.dialogue.names().list().len() + 2 * spans
    }

    fn fills(&self, limits: &Limits, seed: u64) -> FillSource {
        let plan = &self.setup.plan;
        let dealt = load::dealt_before(plan, self.share);
        let fills = FillSource::new(self.share, limits.per_user, (seed, plan.seed), dealt, self.dialogue.has_slots());
        if plan.flow.is_some() { fills.by_iteration() } else { fills }
    }

    fn build<N: Network>(self, mut net: N, lookups: Lookups) -> Worker<N, D> {
        let plan = &self.setup.plan;
        let (limits, now) = (self.limits(), net.now());
        let seed = Rng::new(plan.seed).fork(u64::from(self.share.index)).next_u64();
        let mut source = self.source(&limits, seed);
        let users = source.users().peak();
        let pause = if limits.open { LONGEST_OF_ARRIVALS } else { LONGEST };
        let (dialogue, security) = (Arc::clone(&self.dialogue), Arc::clone(&self.setup.security));
        // Connections have numbers of their own.
        let fills = FillSource::new(self.share, limits.per_user, (!seed, plan.seed), None, true);
        let links = Links::new(net, dialogue, security, limits.connect_timeout, (Rng::new(seed).fork(3), fills));
        let held = || HeldConnections::new(plan.hold, self.share.of, Arc::clone(&self.barriers[1]));
        Worker::new(Parts {
            now,
            source,
            links: links.leaving_from(self.sources.clone(), self.share.index as usize),
            pools: Pools::new(self.pools, self.share.index, pause),
            lookups,
            flights: Flights::new(limits.timeout, now, self.fills(&limits, seed)),
            common_start: self.common_start(&limits, users),
            held: self.fixed.then(held),
            heartbeats: plan.heartbeat.map(|interval| Heartbeats::new(interval, limits.start)),
            books: Books::new(&limits, self.rows(), now, self.report),
            belongings: self.setup.plan.flow.as_ref().and_then(|_| Belongings::of(&*self.dialogue)),
            values: self.setup.plan.flow.is_some(),
            clears: self.setup.plan.flow.as_ref().is_some_and(|flow| flow.clear_cookies),
            lasting: self
                .setup
                .plan
                .flow
                .as_ref()
                .map(|flow| (flow.lasting(&plan.urls), known(flow)))
                .unwrap_or_default(),
            heeding: Heeding::new(self.setup.control.clone()),
            spinning: self.spinning,
            dialogue: self.dialogue,
            limits,
        })
    }
}

/// What users of a flow know from their beginning.
pub(crate) fn known(flow: &plan::flow::Flow) -> Values {
    let mut values = Values::default();
    flow.known.iter().for_each(|known| values.set_list(known.variable, &known.value, &known.ends));
    values
}
