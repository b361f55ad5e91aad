//! A whole simulated run: its input is a plan, a network and a server, its output events and sums.
//!
//! Each worker has its own simulation; their reports go to the real collector. If workers wait for each other, they run
//! on threads kept in step, otherwise one after another on the calling thread. A watchdog around the network requests a
//! stop at the given time, and ends a worker that spins.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex};

use brunt_contract::{Origin, PeerAddress, Protocol, ProtocolConfig, RequestedUrl, ServerRequest};
use brunt_measure::Nanos;
use brunt_plan::{Arrivals, Change, Load, NetKind, Plan, Share, Stage, Tls, WeightedUrl};
use brunt_protocols::http1::{Http1, Http1Server};
use brunt_sim::{FakeSecurity, FakeSettings, SecurePeer, ServerPeer, Sim, SimPeer, SimReply, SimSettings};

pub use super::sim_result::SimResult;
use super::watched_network::{StepLock, WatchedNetwork};
use crate::barrier::Barrier;
use crate::builder::{WorkerBuilder, requests};
use crate::collector::Collector;
use crate::connections::SpinBudget;
use crate::control::{Control, ScheduledChange};
use crate::lookup::Lookups;
use crate::run::worker_count;
use crate::worker_message::WorkerMessage;
use crate::{MakeScenario, Resolver, Setup, Stop};

pub const SECOND: Nanos = Nanos::from_secs(1);
pub const MINUTE: Nanos = Nanos::from_secs(60);
pub const MS: Nanos = Nanos::from_millis(1);
pub const US: Nanos = Nanos::from_micros(1);

/// The definition of a simulated run.
#[derive(Clone)]
pub struct SimPlan {
    pub plan: Plan,
    pub sim: SimSettings,
    pub security: FakeSettings,
    pub resolver: Arc<dyn Resolver>,
    /// Time at which a stop is requested, on the clock of the simulation.
    pub stop_at: Option<Nanos>,
    /// A worker whose process is lost, and the number of seconds that it reports first.
    pub lost: Option<(u32, u32)>,
    /// Changes of the load, by the time since the start of the run.
    pub changes: Vec<(Nanos, Change)>,
    /// The time that a worker may spend polling; none by default, because polling in a simulation takes many turns.
    pub spinning: SpinBudget,
    /// The scenario of users in place of the plan's own.
    pub scenario: Option<MakeScenario>,
}

/// A resolver that gives every origin the same address.
pub struct FixedResolver;

impl Resolver for FixedResolver {
    fn resolve(&self, _origin: &Origin) -> Result<Vec<PeerAddress>, brunt_cause::Cause> {
        Ok(vec![PeerAddress::Tcp(([127, 0, 0, 1], 80).into())])
    }
}

impl SimPlan {
    fn of(load: Load, lasts: Nanos) -> SimPlan {
        let plan = Plan {
            protocol: "http".into(),
            urls: vec![WeightedUrl::plain("http://test/")].into(),
            more_urls: 0,
            options: Default::default(),
            load,
            flow: None,
            scenarios: Vec::new(),
            common: None,
            requests: None,
            duration: Some(lasts),
            warmup: Nanos::ZERO,
            drain: SECOND,
            timeout: Nanos::from_secs(10),
            connect_timeout: Nanos::from_secs(5),
            max_connections: 1000,
            workers: 1,
            pin: false,
            precise: false,
            slack: Nanos::ZERO,
            connect_rate: None,
            reference: None,
            trace: None,
            hold: None,
            heartbeat: None,
            net: NetKind::Auto,
            sources: vec![],
            connect_to: vec![],
            proxies: brunt_plan::ProxySettings::default(),
            unix_socket: None,
            tls: Tls::default(),
            objectives: vec![],
            trust: Default::default(),
            seed: 1,
        };
        SimPlan {
            plan,
            sim: SimSettings::default(),
            security: FakeSettings::default(),
            resolver: Arc::new(FixedResolver),
            stop_at: None,
            lost: None,
            changes: Vec::new(),
            spinning: SpinBudget::Never,
            scenario: None,
        }
    }

    /// Creates a run with arrivals at a rate.
    pub fn open(rate: f64, arrivals: Arrivals, lasts: Nanos) -> SimPlan {
        SimPlan::of(Load::Open { stages: vec![Stage { lasts, from: rate, to: rate }], arrivals }, lasts)
    }

    /// Creates a run with users, each sending one request after another.
    pub fn closed(users: u32, lasts: Nanos) -> SimPlan {
        let level = f64::from(users);
        let stages = vec![Stage { lasts, from: level, to: level }];
        SimPlan::of(Load::Closed { stages, think: None, together: false }, lasts)
    }

    pub fn with(mut self, change: impl FnOnce(&mut Plan)) -> SimPlan {
        change(&mut self.plan);
        self
    }

    pub fn on(mut self, change: impl FnOnce(&mut SimSettings)) -> SimPlan {
        change(&mut self.sim);
        self
    }

    pub fn option(mut self, name: &str, value: &str) -> SimPlan {
        self.plan.options.insert(name.into(), vec![value.into()]);
        self
    }

    pub fn urls(mut self, urls: &[(&str, f64)]) -> SimPlan {
        self.plan.urls = urls.iter().map(|(u, w)| WeightedUrl { weight: *w, ..WeightedUrl::plain(*u) }).collect();
        self
    }

    /// Runs the plan against servers that answer as `brain` decides; every worker has its own server.
    pub fn play<B>(&self, mut brain: impl FnMut() -> B) -> SimResult
    where
        B: FnMut(Nanos, &ServerRequest<'_>) -> (Nanos, SimReply) + Send + 'static,
    {
        let books = Arc::new(ServerLog::default());
        let counted = Arc::clone(&books);
        let secure = self.plan.urls.iter().any(|u| u.url.starts_with("https"));
        self.play_with(books, |_| -> Box<dyn SimPeer> {
            let mut brain = brain();
            let books = Arc::clone(&counted);
            let counting = move |now: Nanos, ask: &ServerRequest<'_>| {
                books.record(now, ask);
                brain(now, ask)
            };
            let server = ServerPeer::new(Http1Server::new, counting);
            if secure { Box::new(SecurePeer::new(server)) } else { Box::new(server) }
        })
    }

    /// Runs the plan against any peer at the other end of each worker's network.
    pub fn play_with<P: SimPeer + ?Sized + 'static>(
        &self,
        books: Arc<ServerLog>,
        peer: impl FnMut(u32) -> Box<P>,
    ) -> SimResult {
        self.play_protocol(&Http1, books, peer)
    }

    /// Like [`SimPlan::play_with`], with another protocol.
    pub fn play_protocol<P: SimPeer + ?Sized + 'static>(
        &self,
        protocol: &impl Protocol,
        books: Arc<ServerLog>,
        mut peer: impl FnMut(u32) -> Box<P>,
    ) -> SimResult {
        // The worker is compiled once for all peers, not once for each.
        self.play_peers(protocol, books, &mut |index| -> Box<dyn SimPeer> { Box::new(peer(index)) })
    }

    fn play_peers(
        &self,
        protocol: &impl Protocol,
        books: Arc<ServerLog>,
        peer: &mut dyn FnMut(u32) -> Box<dyn SimPeer>,
    ) -> SimResult {
        let plan = &self.plan;
        let asked = ProtocolConfig {
            urls: plan.urls.iter().map(|u| RequestedUrl { url: u.url.clone(), weight: u.weight }).collect(),
            options: plan.options.clone(),
            seed: plan.seed,
            url_options: plan.urls.iter().map(|u| u.options.clone()).collect(),
            names: plan.urls.iter().map(|u| u.name.clone()).collect(),
            variables: plan.variables().into(),
            composes_requests: self.scenario.is_some(),
            ..ProtocolConfig::default()
        };
        let dialogue = protocol.prepare(&crate::run::without_names(&asked)).expect("the plan can be said");
        let checks = brunt_contract::Checks::read(&asked, |url| protocol.checks(url)).expect("checks");
        let checks = checks.and_then(|checks| crate::named_checks::NamedChecks::of(checks, &*dialogue)).map(Arc::new);
        let setup = Setup {
            plan: Arc::new(plan.clone()),
            shown: plan.clone(),
            command: vec![],
            host: Default::default(),
            resolver: Arc::clone(&self.resolver),
            security: Arc::new(FakeSecurity::new(self.security.clone())),
            sources: vec![],
            processes: None,
            control: self.control(),
            read_late: None,
            scenario: self.scenario.clone(),
        };
        let origins = dialogue.origins().iter();
        let pools: Vec<_> = origins.map(|o| (o.clone(), self.resolver.resolve(o).unwrap_or_default())).collect();
        let (workers, requests) = (worker_count(plan), requests(&*dialogue));
        let barriers = [Barrier::for_workers(workers), Barrier::for_workers(workers)];
        let fixed = protocol.description().fixed_connections || plan.hold.is_some();
        let meets = workers > 1 && (fixed || matches!(plan.load, Load::Closed { together: true, .. }));
        let step = meets.then(|| Arc::new(StepLock::new(workers)));
        let (report, told) = channel();
        let mut all = Vec::new();
        for index in 0..workers {
            let stop = Stop::default();
            let sim = Sim::new(plan.seed.wrapping_add(u64::from(index)), self.sim.clone(), peer(index));
            let step = step.clone().map(|step| (step, index));
            let net = WatchedNetwork::new(sim, self.stop_at, stop.clone(), Arc::clone(&books), step);
            let seed = WorkerBuilder {
                workload: Arc::clone(&dialogue),
                setup: &setup,
                share: Share { index, of: workers },
                start: self.sim.starts_at + MS,
                sources: vec![],
                fixed,
                barriers: barriers.clone(),
                pools: &pools,
                requests: &requests,
                report: self.reporter(index, report.clone()),
                spinning: self.spinning,
                checks: checks.clone(),
                stop,
            };
            all.push(move || seed.run(net, Lookups::at_once(Arc::clone(&self.resolver))));
        }
        if meets {
            std::thread::scope(|scope| all.into_iter().for_each(|worker| drop(scope.spawn(worker))));
        } else {
            all.into_iter().for_each(|worker| worker());
        }
        let mut events = Vec::new();
        let code_name = |code: u32| code.to_string();
        let mut sink = |event| events.push(event);
        Collector::new(workers as usize, plan.load.is_open(), &code_name, &mut sink)
            .with_control(&setup.control)
            .listen(&told, plan.warmup);
        SimResult::of(events, &books)
    }
}

impl SimPlan {
    /// Returns the control that changes the load during the run.
    fn control(&self) -> Control {
        let control = Control::default();
        let start = self.sim.starts_at + MS;
        self.changes
            .iter()
            .for_each(|(at, change)| control.add_scheduled(ScheduledChange { at: start + *at, change: *change }));
        control
    }

    /// Adds a change at a time after the start.
    pub fn changed(mut self, at: Nanos, change: Change) -> SimPlan {
        self.changes.push((at, change));
        self
    }

    /// Returns the function with which a worker reports, which stops when its process is lost.
    fn reporter(&self, index: u32, report: Sender<(usize, WorkerMessage)>) -> Box<dyn FnMut(WorkerMessage) + Send> {
        let mut left = self.lost.filter(|(lost, _)| *lost == index).map(|(_, seconds)| seconds);
        let mut dead = false;
        Box::new(move |message| {
            let second = matches!(message, WorkerMessage::Snapshot(_));
            let message = match left {
                _ if dead => return,
                Some(0) => {
                    dead = true;
                    WorkerMessage::Lost { workers: index..index + 1, how: "killed by SIGKILL".into() }
                }
                _ => message,
            };
            left = left.map(|left| left - u32::from(second && left > 0));
            // The receiver is gone only if the test has failed.
            let _ = report.send((index as usize, message));
        })
    }
}

/// Counts kept by the servers and the networks of a run.
#[derive(Debug, Default)]
pub struct ServerLog {
    /// Requests received.
    pub heard: AtomicU64,
    /// Time and target of each request.
    pub asks: Mutex<Vec<(Nanos, String)>>,
    /// Bytes sent in each direction, as seen by the networks.
    pub sent: AtomicU64,
    pub received: AtomicU64,
    /// Number of calls that asked for unsent bytes.
    pub looks: AtomicU64,
}

impl ServerLog {
    pub fn record(&self, now: Nanos, ask: &ServerRequest<'_>) {
        self.heard.fetch_add(1, Ordering::Relaxed);
        let mut asks = self.asks.lock().unwrap();
        if asks.len() < 20_000 {
            asks.push((now, ask.path.to_owned()));
        }
    }
}

/// Runs `test` for every seed and names a failing seed; `SEED=n` runs only seed n.
pub fn each_seed(seeds: std::ops::Range<u64>, test: impl Fn(u64)) {
    let alone: Option<u64> = std::env::var("SEED").ok().and_then(|s| s.parse().ok());
    let seeds = alone.map_or(seeds, |seed| seed..seed + 1);
    for seed in seeds {
        let tried = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| test(seed)));
        if let Err(why) = tried {
            eprintln!("failing seed: {seed} (SEED={seed} runs it alone)");
            std::panic::resume_unwind(why);
        }
    }
}

/// Returns a brain that answers everything after `delay`.
pub fn after(delay: Nanos) -> impl FnMut(Nanos, &ServerRequest<'_>) -> (Nanos, SimReply) + Send + Clone {
    let reply = SimReply::new(200, b"x");
    move |now, _| (now + delay, reply.clone())
}

/// Returns a brain that never answers.
pub fn never() -> impl FnMut(Nanos, &ServerRequest<'_>) -> (Nanos, SimReply) + Send + Clone {
    |_, _| (Nanos::MAX, SimReply::new(200, b""))
}
