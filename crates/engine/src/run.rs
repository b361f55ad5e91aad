//! A run from its plan to its last event: workers are started, heard and joined.

use std::sync::Arc;
use std::sync::mpsc::channel;

use load::Users;
use measure::random::Rng;
use measure::{Clock, Nanos};
use plan::{Load, Plan, Share};
use record::{RunEvent, Started};
use scenario::Mix;
use wire::{Asked, Complaint, Dialogue, Done, Network, OptionSpec, Origin, Out, Protocol, Scheme};

use crate::alarm::Alarm;
use crate::carrier::{self, Carrier};
use crate::collector::Collector;
use crate::exchange::{Exchanges, NONE};
use crate::gather::{Gathering, Meeting};
use crate::lookup::Lookups;
use crate::message::Message;
use crate::pool::Pool;
use crate::tally::{InFlight, Tally};
use crate::timers::{Pauses, Wheel};
use crate::users::Crowd;
use crate::worker::{Terms, Worker};
use crate::{PreparedRun, ProbeFailure, ProbeResult, Runner, Setup, Stop, probe};

/// From the decision to start to the start: workers have made their networks by then.
const LEAD: Nanos = Nanos::from_millis(20);

/// Makes a protocol one the program can list.
pub fn runner<P: Protocol>(protocol: P) -> Box<dyn Runner> {
    Box::new(Driver(protocol))
}

struct Driver<P>(P);

impl<P: Protocol> Runner for Driver<P> {
    fn name(&self) -> &'static str {
        self.0.name()
    }
    fn schemes(&self) -> &'static [Scheme] {
        self.0.schemes()
    }
    fn options(&self) -> &'static [OptionSpec] {
        self.0.options()
    }
    fn prepare(&self, asked: &Asked) -> Result<Arc<dyn PreparedRun>, Complaint> {
        Ok(Arc::new(Prepared { dialogue: Arc::new(self.0.prepare(asked)?) }))
    }
}

struct Prepared<D> {
    dialogue: Arc<D>,
}

impl<D: Dialogue> PreparedRun for Prepared<D> {
    fn origins(&self) -> &[Origin] {
        self.dialogue.origins()
    }

    fn probe(&self, setup: &Setup, stop: &Stop) -> Result<ProbeResult, Box<ProbeFailure>> {
        probe::probe(&*self.dialogue, setup, stop)
    }

    fn run(self: Arc<Self>, setup: &Setup, stop: &Stop, sink: &mut dyn FnMut(RunEvent)) {
        let plan = &setup.plan;
        let workers = worker_count(plan);
        let carrier = carrier::choose(plan.net);
        sink(RunEvent::Started(Box::new(started(setup, carrier.name(), workers))));
        if plan.net == plan::NetKind::Uring && carrier != Carrier::Uring {
            let facts = Default::default();
            sink(RunEvent::Notice(record::Notice { code: "uring_unavailable".into(), facts }));
        }
        let pools = pools(self.dialogue.origins(), setup);
        let start = Clock.now() + LEAD;
        let gathered = Meeting::of(workers);
        let (tell, told) = channel();
        std::thread::scope(|scope| {
            for index in 0..workers {
                let share = Share { index, of: workers };
                let (dialogue, worker_tell, stop) = (Arc::clone(&self.dialogue), tell.clone(), stop.clone());
                let (meeting, pools) = (Arc::clone(&gathered), &pools);
                let body = move || {
                    if plan.pin {
                        pin(index);
                    }
                    let (failed, absent) = (worker_tell.clone(), Arc::clone(&meeting));
                    let tell = Box::new(move |message| drop(worker_tell.send((index as usize, message))));
                    let begun = carrier.with(WorkerSeed { dialogue, setup, share, start, meeting, pools, tell, stop });
                    if let Err(why) = begun {
                        absent.ready(Clock.now());
                        let _ = failed.send((index as usize, Message::Broken(why)));
                    }
                };
                let name = format!("worker-{index}");
                if std::thread::Builder::new().name(name).spawn_scoped(scope, body).is_err() {
                    gathered.ready(Clock.now());
                    let _ = tell.send((index as usize, Message::Broken("no thread could be started".into())));
                }
            }
            drop(tell);
            let code_name = |code| self.dialogue.code_name(code);
            Collector::new(workers as usize, &code_name, sink).listen(&told, plan.warmup);
        });
    }
}

/// Workers = min(asked, users or connections).
pub(crate) fn worker_count(plan: &Plan) -> u32 {
    let most = match &plan.load {
        Load::Closed { .. } => plan.load.peak().round() as u32,
        Load::Open { .. } => plan.max_connections,
    };
    plan.workers.clamp(1, most.max(1))
}

fn started(setup: &Setup, net: &str, workers: u32) -> Started {
    let since_1970 = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    Started {
        schema: record::SCHEMA.into(),
        brunt: env!("CARGO_PKG_VERSION").into(),
        unix_ms: since_1970.as_millis() as u64,
        command: setup.command.clone(),
        plan: setup.shown.clone(),
        host: setup.host.clone(),
        net: net.into(),
        workers,
    }
}

fn pools(origins: &[Origin], setup: &Setup) -> Vec<(Origin, Vec<wire::Place>)> {
    // An origin that does not resolve now is looked up again by the workers; its requests wait and then fail.
    origins.iter().map(|o| (o.clone(), setup.resolver.resolve(o).unwrap_or_default())).collect()
}

/// Keeps the calling thread on one of the cores the process may use.
fn pin(index: u32) {
    let Ok(allowed) = rustix::thread::sched_getaffinity(None) else { return };
    let cores: Vec<usize> = (0..rustix::thread::CpuSet::MAX_CPU).filter(|c| allowed.is_set(*c)).collect();
    let Some(core) = cores.get(index as usize % cores.len().max(1)) else { return };
    let mut only = rustix::thread::CpuSet::new();
    only.set(*core);
    let _ = rustix::thread::sched_setaffinity(None, &only);
}

/// Everything a worker is made of but its network.
pub(crate) struct WorkerSeed<'a, D: Dialogue> {
    pub dialogue: Arc<D>,
    pub setup: &'a Setup,
    pub share: Share,
    pub start: Nanos,
    pub meeting: Arc<Meeting>,
    pub pools: &'a [(Origin, Vec<wire::Place>)],
    pub tell: Box<dyn FnMut(Message) + Send>,
    pub stop: Stop,
}

impl<D: Dialogue> WorkerSeed<'_, D> {
    /// Runs the worker on `net` to its end.
    pub fn run<N: Network>(self, net: N, lookups: Lookups) {
        let stop = self.stop.clone();
        self.grow(net, lookups).run(&stop);
    }

    fn terms(&self) -> Terms {
        let plan = &self.setup.plan;
        let window = self.start + plan.warmup;
        let nominal = load::nominal_end(plan);
        let ends = [load::run_ends(plan), nominal].into_iter().flatten().min();
        Terms {
            index: self.share.index,
            open: plan.load.is_open(),
            start: self.start,
            window,
            end: ends.map(|since_start| self.start + since_start),
            until_quota: plan.requests.is_some() && nominal.is_none(),
            quota: plan.requests.map(|total| self.share.of_total(total)),
            slack: plan.slack,
            drain: plan.drain,
            timeout: plan.timeout,
            connect_timeout: plan.connect_timeout,
            max_connections: self.share.of_total(u64::from(plan.max_connections)).max(1) as u32,
            think: match plan.load {
                Load::Closed { think, .. } => think,
                Load::Open { .. } => None,
            },
            one_shot: self.dialogue.one_exchange_per_connection(),
            sources: self.setup.sources.clone(),
        }
    }

    fn grow<N: Network>(self, mut net: N, lookups: Lookups) -> Worker<N, D> {
        let plan = &self.setup.plan;
        let terms = self.terms();
        let stamp = net.now();
        let seed = Rng::new(plan.seed).fork(u64::from(self.share.index)).next_u64();
        let weights: Vec<f64> = self.dialogue.requests().iter().map(|r| r.weight).collect();
        let schedule = terms
            .open
            .then(|| load::arrivals(&plan.load, plan.warmup, plan.requests, plan.duration, self.share, plan.seed));
        let crowd = (!terms.open).then(|| Crowd::new(Users::new(&plan.load, plan.warmup, self.share)));
        let together = matches!(plan.load, Load::Closed { together: true, .. });
        let to_open = crowd.as_ref().map_or(0, Crowd::peak);
        let gathering = together.then_some(Gathering { meeting: self.meeting, to_open, pending: 0, told: false });
        let first = self.share.index as usize;
        let pools = self.pools.iter().map(|(o, places)| Pool::new(o.clone(), places.clone(), first)).collect();
        Worker {
            net,
            dialogue: self.dialogue,
            security: Arc::clone(&self.setup.security),
            lookups,
            tell: self.tell,
            stamp,
            schedule,
            next_due: Nanos::MAX,
            crowd,
            gathering,
            mix: Mix::new(&weights, seed),
            rng: Rng::new(seed.wrapping_add(1)),
            started: 0,
            closing: false,
            over: false,
            conns: Vec::new(),
            connections: 0,
            exchanges: Exchanges::default(),
            alive: 0,
            follows: Default::default(),
            pools,
            next: Vec::new(),
            next_source: self.share.index as usize,
            busy_turns: 0,
            heard: false,
            timeouts: Wheel::new(terms.timeout, stamp),
            connect_timeouts: Wheel::new(terms.connect_timeout, stamp),
            watched: Vec::new(),
            pauses: Pauses::default(),
            came_up: Vec::new(),
            out: Out::default(),
            out_for: NONE,
            cipher: Out::default(),
            plain: Vec::new(),
            done: Done::default(),
            tally: Tally::new(),
            in_flight: InFlight::begin(stamp),
            second_from: terms.start,
            second_to: Nanos::MAX,
            bytes_sent: 0,
            cpu: Nanos::ZERO,
            sorts: Vec::new(),
            alarm: Some(Alarm::set(terms.start)),
            terms,
        }
    }
}
