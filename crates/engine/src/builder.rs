//! A worker before it runs: everything it is made of but its network.

use std::net::IpAddr;
use std::sync::Arc;

use load::{Schedule, Users};
use measure::Nanos;
use measure::random::Rng;
use plan::{Load, Plan, Share};
use scenario::Mix;
use wire::{Dialogue, Done, Network, Origin, Out, Place};

use crate::barrier::{Barrier, CommonStart};
use crate::batching::Batching;
use crate::early::EarlyFailures;
use crate::exchange::{Exchanges, NONE};
use crate::failing::Kept;
use crate::filling::FillSource;
use crate::health::Health;
use crate::heartbeat::Beat;
use crate::held::HeldConnections;
use crate::lookup::Lookups;
use crate::message::Message;
use crate::one_way::OneWay;
use crate::pool::Pool;
use crate::tally::{InFlight, Tally};
use crate::timers::{Pauses, Wheel};
use crate::turn::Turn;
use crate::users::VirtualUsers;
use crate::worker::{Limits, Worker};
use crate::{Setup, Stop};

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
    /// The choice among all requests, for each worker to seed.
    pub mix: &'a Mix,
    pub report: Box<dyn FnMut(Message) + Send>,
    pub stop: Stop,
}

/// The choice among all requests of a run.
pub(crate) fn mix<D: Dialogue>(dialogue: &D) -> Mix {
    let weights: Vec<f64> = dialogue.requests().iter().map(|r| r.weight).collect();
    Mix::new(&weights, 0)
}

impl<D: Dialogue> WorkerBuilder<'_, D> {
    /// Runs the worker on `net` to its end.
    pub fn run<N: Network>(self, net: N, lookups: Lookups) {
        let stop = self.stop.clone();
        self.grow(net, lookups).run(&stop);
    }

    fn limits(&self) -> Limits {
        let plan = &self.setup.plan;
        let window = self.start + plan.warmup;
        let nominal = load::nominal_end(plan);
        let ends = [load::run_ends(plan), nominal].into_iter().flatten().min();
        Limits {
            index: self.share.index,
            open: plan.load.is_open(),
            start: self.start,
            window,
            end: ends.filter(|_| plan.hold.is_none()).map(|since_start| self.start + since_start),
            until_quota: plan.requests.is_some() && nominal.is_none(),
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
            think: match plan.load {
                Load::Closed { think, .. } => think,
                Load::Open { .. } => None,
            },
            one_shot: self.dialogue.one_exchange_per_connection(),
            shared: self.dialogue.exchanges_per_connection().max(1),
            per_user: self.dialogue.exchanges_per_user().max(1),
            connect_rate: plan.connect_rate.map(|rate| rate / f64::from(self.share.of)),
            sources: self.sources.clone(),
        }
    }

    /// Connections that are opened before the run begins: for a common start, or because arrivals go over all of them.
    fn common_start(&self, limits: &Limits, users: u32) -> Option<CommonStart> {
        let together = matches!(self.setup.plan.load, Load::Closed { together: true, .. });
        (together || (limits.open && self.fixed)).then(|| CommonStart {
            barrier: Arc::clone(&self.barriers[0]),
            to_open: if limits.open { limits.max_connections } else { users },
            pending: 0,
            told: false,
            since: Nanos::MAX,
            took: Nanos::ZERO,
            first_due: Nanos::MAX,
        })
    }

    /// When requests are due: by a schedule in open load, by users in closed.
    fn load(&self, limits: &Limits) -> (Option<Box<dyn Schedule>>, Option<VirtualUsers>) {
        let Plan { load, warmup, requests, duration, seed, .. } = &*self.setup.plan;
        match limits.open {
            true => (Some(load::arrivals(load, *warmup, *requests, *duration, self.share, *seed)), None),
            false => (None, Some(VirtualUsers::new(Users::new(load, *warmup, self.share).each(limits.per_user)))),
        }
    }

    /// Its connections to each origin; none stands yet.
    fn pools(&self) -> Vec<Pool> {
        let pool = |(origin, places): &(Origin, Vec<Place>)| {
            Pool::new(origin.clone(), places.clone(), self.share.index as usize)
        };
        self.pools.iter().map(pool).collect()
    }

    /// Where the number of connections is part of the plan: what they are held by.
    fn held(&self, users: u32, seed: u64) -> Option<HeldConnections> {
        let all_hold = || Arc::clone(&self.barriers[1]);
        let hold = self.setup.plan.hold;
        self.fixed.then(|| HeldConnections::new(&*self.dialogue, hold, users, self.share.of, seed, all_hold()))
    }

    fn grow<N: Network>(self, mut net: N, lookups: Lookups) -> Worker<N, D> {
        let limits = self.limits();
        let stamp = net.now();
        let seed = Rng::new(self.setup.plan.seed).fork(u64::from(self.share.index)).next_u64();
        let fills = self.dialogue.has_slots();
        let plan = &self.setup.plan;
        let dealt = load::dealt_before(plan, self.share);
        let serial = FillSource::new(self.share, limits.per_user, (seed, plan.seed), dealt, fills);
        let (schedule, crowd) = self.load(&limits);
        let users = crowd.as_ref().map_or(0, VirtualUsers::peak);
        let names = self.dialogue.names().list().len();
        Worker {
            net,
            security: Arc::clone(&self.setup.security),
            lookups,
            stamp,
            turn: Turn::begin(stamp),
            schedule,
            next_due: Nanos::MAX,
            crowd,
            common_start: self.common_start(&limits, users),
            held: self.held(users, seed.wrapping_add(2)),
            heartbeat: self.setup.plan.heartbeat.map(|interval| Beat::new(interval, limits.start)),
            next_start: Nanos::ZERO,
            one_way: OneWay::default(),
            mix: self.mix.seeded(seed),
            rng: Rng::new(seed.wrapping_add(1)),
            serial,
            seeds: Rng::new(seed).fork(3),
            started: 0,
            closing: false,
            over: false,
            conns: Vec::new(),
            connections: 0,
            exchanges: Exchanges::default(),
            alive: 0,
            follows: Default::default(),
            pools: self.pools(),
            retry_at: Nanos::MAX,
            next: Vec::new(),
            next_source: self.share.index as usize,
            timeouts: Wheel::new(limits.timeout, stamp),
            connect_timeouts: Wheel::new(limits.connect_timeout, stamp),
            watched: Vec::new(),
            pauses: Pauses::default(),
            came_up: Vec::new(),
            out: Out::default(),
            out_for: NONE,
            cipher: Out::default(),
            plain: Vec::new(),
            done: Done::default(),
            tally: Tally::new(names),
            in_flight: InFlight::begin(stamp),
            second_from: limits.start,
            second_to: Nanos::MAX,
            bytes_sent: 0,
            refused: 0,
            cpu: Nanos::ZERO,
            kept: Kept::of(names),
            refused_with: 0,
            early: Some(EarlyFailures::set(limits.start)),
            batching: Batching::NONE,
            health: Health::default(),
            dialogue: self.dialogue,
            report: self.report,
            limits,
        }
    }
}
