//! A whole run on the simulation: a plan, a network and a server in, events and sums out.
//!
//! Workers run one after the other on the calling thread, each with a simulation of its own; what they tell goes to the
//! real collector. A watchman around the network asks for a stop when it is time, and ends a worker that spins.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};

use measure::Nanos;
use net::sim::{FakeSecurity, FakeSettings, Peer, ReplyOwned, SecurePeer, ServerPeer, Sim, SimSettings};
use plan::{Arrivals, Load, NetKind, Plan, Share, Stage, Tls, WeightedUrl};
use protocols::http1::{Http1, Http1Server};
use record::{Ended, Example, Latency, Part, RunEvent, Second};
use wire::{Arrival, Ask, Asked, AskedUrl, ConnId, Dial, Errno, ListenerId, Network, Origin, Out, Place, Protocol};

use crate::collector::Collector;
use crate::gather::Meeting;
use crate::lookup::Lookups;
use crate::run::worker_count;
use crate::seed::WorkerSeed;
use crate::{Resolver, Setup, Stop};

pub const SECOND: Nanos = Nanos::from_secs(1);
pub const MINUTE: Nanos = Nanos::from_secs(60);
pub const MS: Nanos = Nanos::from_millis(1);
pub const US: Nanos = Nanos::from_micros(1);
/// Turns of the loop without time passing after which a worker is taken to spin.
const SPINS: u32 = 100_000;

/// What is to be played.
#[derive(Clone)]
pub struct Scene {
    pub plan: Plan,
    pub sim: SimSettings,
    pub security: FakeSettings,
    pub resolver: Arc<dyn Resolver>,
    /// When a stop is asked for, on the clock of the simulation.
    pub stop_at: Option<Nanos>,
}

/// Every origin is one address.
pub struct Fixed;

impl Resolver for Fixed {
    fn resolve(&self, _origin: &Origin) -> Result<Vec<Place>, String> {
        Ok(vec![Place::Tcp(([127, 0, 0, 1], 80).into())])
    }
}

impl Scene {
    fn of(load: Load, lasts: Nanos) -> Scene {
        let plan = Plan {
            protocol: "http".into(),
            urls: vec![WeightedUrl::plain("http://test/")],
            options: Default::default(),
            load,
            requests: None,
            duration: Some(lasts),
            warmup: Nanos::ZERO,
            drain: SECOND,
            timeout: Nanos::from_secs(10),
            connect_timeout: Nanos::from_secs(5),
            max_connections: 1000,
            workers: 1,
            pin: false,
            slack: Nanos::ZERO,
            connect_rate: None,
            hold: None,
            heartbeat: None,
            net: NetKind::Auto,
            sources: vec![],
            connect_to: vec![],
            unix_socket: None,
            tls: Tls::default(),
            objectives: vec![],
            seed: 1,
        };
        Scene {
            plan,
            sim: SimSettings::default(),
            security: FakeSettings::default(),
            resolver: Arc::new(Fixed),
            stop_at: None,
        }
    }

    /// Arrivals at a rate.
    pub fn open(rate: f64, arrivals: Arrivals, lasts: Nanos) -> Scene {
        Scene::of(Load::Open { stages: vec![Stage { lasts, from: rate, to: rate }], arrivals }, lasts)
    }

    /// Users, each one request after the other.
    pub fn closed(users: u32, lasts: Nanos) -> Scene {
        let level = f64::from(users);
        let stages = vec![Stage { lasts, from: level, to: level }];
        Scene::of(Load::Closed { stages, think: None, together: false }, lasts)
    }

    pub fn with(mut self, change: impl FnOnce(&mut Plan)) -> Scene {
        change(&mut self.plan);
        self
    }

    pub fn on(mut self, change: impl FnOnce(&mut SimSettings)) -> Scene {
        change(&mut self.sim);
        self
    }

    pub fn option(mut self, name: &str, value: &str) -> Scene {
        self.plan.options.insert(name.into(), vec![value.into()]);
        self
    }

    pub fn urls(mut self, urls: &[(&str, f64)]) -> Scene {
        self.plan.urls = urls.iter().map(|(u, w)| WeightedUrl { weight: *w, ..WeightedUrl::plain(*u) }).collect();
        self
    }

    /// Plays it against servers that answer as `brain` says; every worker has one of its own.
    pub fn play<B>(&self, mut brain: impl FnMut() -> B) -> Played
    where
        B: FnMut(Nanos, &Ask<'_>) -> (Nanos, ReplyOwned) + Send + 'static,
    {
        let books = Arc::new(Books::default());
        let counted = Arc::clone(&books);
        let secure = self.plan.urls.iter().any(|u| u.url.starts_with("https"));
        self.play_with(books, |_| -> Box<dyn Peer> {
            let mut brain = brain();
            let books = Arc::clone(&counted);
            let counting = move |now: Nanos, ask: &Ask<'_>| {
                books.hear(now, ask);
                brain(now, ask)
            };
            let server = ServerPeer::new(Http1Server::new, counting);
            if secure { Box::new(SecurePeer::new(server)) } else { Box::new(server) }
        })
    }

    /// Plays it against whatever stands at the other end of each worker's network.
    pub fn play_with<P: Peer + ?Sized>(&self, books: Arc<Books>, peer: impl FnMut(u32) -> Box<P>) -> Played {
        self.speak(&Http1, books, peer)
    }

    /// As [`Scene::play_with`], in another protocol.
    pub fn speak<P: Peer + ?Sized>(
        &self,
        protocol: &impl Protocol,
        books: Arc<Books>,
        mut peer: impl FnMut(u32) -> Box<P>,
    ) -> Played {
        let plan = &self.plan;
        let asked = Asked {
            urls: plan.urls.iter().map(|u| AskedUrl { url: u.url.clone(), weight: u.weight }).collect(),
            options: plan.options.clone(),
            seed: plan.seed,
            ..Asked::default()
        };
        let dialogue = Arc::new(protocol.prepare(&asked).expect("the plan can be said"));
        let setup = Setup {
            plan: Arc::new(plan.clone()),
            shown: plan.clone(),
            command: vec![],
            host: Default::default(),
            resolver: Arc::clone(&self.resolver),
            security: Arc::new(FakeSecurity::new(self.security.clone())),
            sources: vec![],
            processes: None,
        };
        let origins = wire::Dialogue::origins(&*dialogue).iter();
        let pools: Vec<_> = origins.map(|o| (o.clone(), self.resolver.resolve(o).unwrap_or_default())).collect();
        let workers = worker_count(plan);
        let meetings = [Meeting::of(workers), Meeting::of(workers)];
        let (tell, told) = channel();
        for index in 0..workers {
            let stop = Stop::default();
            let sim = Sim::new(plan.seed.wrapping_add(u64::from(index)), self.sim.clone(), peer(index));
            let net = Watched::new(sim, self.stop_at, stop.clone(), Arc::clone(&books));
            let tell = tell.clone();
            let seed = WorkerSeed {
                dialogue: Arc::clone(&dialogue),
                setup: &setup,
                share: Share { index, of: workers },
                start: self.sim.starts_at + MS,
                sources: vec![],
                fixed: protocol.fixed_connections() || plan.hold.is_some(),
                meetings: meetings.clone(),
                pools: &pools,
                tell: Box::new(move |message| drop(tell.send((index as usize, message)))),
                stop,
            };
            seed.run(net, Lookups::at_once(Arc::clone(&self.resolver)));
        }
        let mut events = Vec::new();
        Collector::new(workers as usize, &|code| code.to_string(), &mut |e| events.push(e)).listen(&told, plan.warmup);
        Played::of(events, &books)
    }
}

/// What the servers and the networks of a run counted.
#[derive(Debug, Default)]
pub struct Books {
    /// Requests heard.
    pub heard: AtomicU64,
    /// When, and what was asked for.
    pub asks: Mutex<Vec<(Nanos, String)>>,
    /// Bytes that went each way, as the networks saw them.
    pub sent: AtomicU64,
    pub received: AtomicU64,
}

impl Books {
    pub fn hear(&self, now: Nanos, ask: &Ask<'_>) {
        self.heard.fetch_add(1, Ordering::Relaxed);
        let mut asks = self.asks.lock().unwrap();
        if asks.len() < 20_000 {
            asks.push((now, ask.path.to_owned()));
        }
    }
}

/// What came of a run.
#[derive(Debug)]
pub struct Played {
    pub seconds: Vec<Second>,
    pub examples: Vec<Example>,
    pub ended: Ended,
    pub sum: Sum,
    pub heard: u64,
    pub asks: Vec<(Nanos, String)>,
    pub wire_sent: u64,
    pub wire_received: u64,
}

/// The seconds of a run added up, the warm-up's apart from its counts of connections and bytes left out as in a report.
#[derive(Debug, Default)]
pub struct Sum {
    pub due: u64,
    pub sent: u64,
    pub finished: u64,
    pub failed: u64,
    pub censored: u64,
    pub warmup: u64,
    pub opened: u64,
    pub connect_failed: u64,
    pub reused: u64,
    pub handshakes: u64,
    pub resumed: u64,
    pub bytes_sent: u64,
    pub bytes_received: u64,
    pub payload: u64,
    pub latency: Latency,
    /// `kind/phase/errno` → count.
    pub failures: std::collections::BTreeMap<String, u64>,
    pub status: std::collections::BTreeMap<String, u64>,
}

impl Sum {
    pub fn failures(&self, sort: &str) -> u64 {
        self.failures.iter().filter(|(k, _)| k.starts_with(sort)).map(|(_, n)| n).sum()
    }

    fn add(&mut self, s: &Second) {
        self.due += s.due;
        self.sent += s.sent;
        self.finished += s.finished;
        self.failed += s.failed;
        self.censored += s.censored;
        self.warmup += s.warmup;
        self.opened += s.connections.opened;
        self.connect_failed += s.connections.failed;
        self.reused += s.connections.reused;
        self.handshakes += s.connections.handshakes;
        self.resumed += s.connections.resumed;
        self.bytes_sent += s.bytes.sent;
        self.bytes_received += s.bytes.received;
        self.payload += s.bytes.payload;
        self.latency.merge(&s.latency);
        for f in &s.failures {
            let sort = format!("{}/{}/{}", f.kind, f.phase, f.errno.as_deref().unwrap_or(""));
            *self.failures.entry(sort).or_default() += f.count;
        }
        for (code, n) in &s.status {
            *self.status.entry(code.clone()).or_default() += n;
        }
    }
}

impl Played {
    fn of(events: Vec<RunEvent>, books: &Books) -> Played {
        let mut played = Played {
            seconds: vec![],
            examples: vec![],
            ended: Ended::default(),
            sum: Sum::default(),
            heard: books.heard.load(Ordering::Relaxed),
            asks: std::mem::take(&mut books.asks.lock().unwrap()),
            wire_sent: books.sent.load(Ordering::Relaxed),
            wire_received: books.received.load(Ordering::Relaxed),
        };
        for event in events {
            match event {
                RunEvent::Second(second) => {
                    played.sum.add(&second);
                    played.seconds.push(*second);
                }
                RunEvent::Example(example) => played.examples.push(example),
                RunEvent::Ended(ended) => played.ended = ended,
                RunEvent::Notice(notice) if notice.code == "only_errors" => {}
                other => panic!("{other:?}"),
            }
        }
        played
    }

    /// Sums over one part of the run.
    pub fn part(&self, part: Part) -> Sum {
        let mut sum = Sum::default();
        self.seconds.iter().filter(|s| s.part == part).for_each(|s| sum.add(s));
        sum
    }

    /// Seconds without what no simulation can repeat: the CPU time of the thread that ran it.
    pub fn timeless(&self) -> Vec<Second> {
        self.seconds.iter().map(|s| Second { cpu_ns: 0, ..s.clone() }).collect()
    }

    /// What must hold for every run, whatever went wrong in it.
    pub fn check(&self) {
        let s = &self.sum;
        assert_eq!(s.due, s.finished + s.failed + s.censored, "every request is accounted for: {s:?}");
        assert!(s.finished <= self.heard, "{} finished, the server heard {}", s.finished, self.heard);
        let most = s.finished + s.failed + s.censored + s.warmup;
        assert!(self.heard <= most, "the server heard {}, we count {most}", self.heard);
        assert!(s.sent <= s.due, "{} sent, {} due", s.sent, s.due);
        assert_eq!(s.failures.values().sum::<u64>(), s.failed);
        for second in &self.seconds {
            assert_eq!(second.in_flight_ns as i128, second.service_ns, "Little's law in {}", second.from_ns);
        }
        for pair in self.seconds.windows(2) {
            assert_eq!(pair[0].to_ns, pair[1].from_ns, "no gap and no overlap between seconds");
        }
        for second in self.seconds.iter().filter(|s| s.part == Part::Warmup) {
            let counted = second.due + second.sent + second.finished + second.failed + second.censored;
            assert_eq!(counted, 0, "the warm-up is in no figure");
        }
        assert_eq!(s.bytes_sent, self.wire_sent, "bytes sent");
        assert_eq!(s.bytes_received, self.wire_received, "bytes received");
        self.check_latency();
        let handshakes = s.handshakes;
        assert!(handshakes == 0 || handshakes == s.opened, "{handshakes} handshakes, {} opened", s.opened);
        assert!(s.reused <= s.sent, "reused and sent");
        if self.ended.reason == "completed" {
            let of_window: i64 =
                self.seconds.iter().filter(|s| s.part == Part::Window).map(|s| s.to_ns - s.from_ns).sum();
            assert_eq!(of_window, self.ended.window.0 as i64, "the seconds of the window are the window");
        }
    }

    fn check_latency(&self) {
        let (s, l) = (&self.sum, &self.sum.latency);
        assert_eq!(l.service.count(), s.finished);
        assert_eq!(l.first_byte.count(), s.finished);
        assert_eq!(l.transfer.count(), s.finished);
        assert_eq!(l.failed.count(), s.failed);
        let timeouts = s.failures("timeout");
        let unfinished = l.service_at_least.count() + l.wait_conn_at_least.count();
        assert_eq!(unfinished, s.censored + timeouts, "a lower bound for each that did not finish");
        if l.gen_late.count() > 0 || l.response.count() > 0 {
            assert_eq!(l.response.count(), s.finished);
            assert_eq!(l.response_at_least.count(), s.censored + timeouts);
            assert_eq!(l.gen_late.count(), l.wait_conn.count());
        }
        if s.finished == s.due && l.response.count() > 0 {
            let parts = l.wait_conn.sum() + l.gen_late.sum() + l.service.sum();
            assert_eq!(l.response.sum(), parts, "response = wait_conn + gen_late + service");
        }
    }
}

/// The simulation with a watchman: asks for the stop, counts bytes, and ends a loop that spins.
struct Watched<N: Network> {
    net: N,
    stop_at: Nanos,
    stop: Stop,
    books: Arc<Books>,
    last: Nanos,
    idle_turns: u32,
    received: u64,
    told: bool,
}

impl<N: Network> Watched<N> {
    fn new(net: N, stop_at: Option<Nanos>, stop: Stop, books: Arc<Books>) -> Watched<N> {
        let stop_at = stop_at.unwrap_or(Nanos::MAX);
        Watched { net, stop_at, stop, books, last: Nanos::ZERO, idle_turns: 0, received: 0, told: false }
    }
}

impl<N: Network> Network for Watched<N> {
    fn now(&mut self) -> Nanos {
        let now = self.net.now();
        if now >= self.stop_at {
            self.stop.request();
        }
        now
    }
    fn connect(&mut self, dial: &Dial) -> Result<ConnId, Errno> {
        self.told = true;
        self.net.connect(dial)
    }
    fn send(&mut self, conn: ConnId, out: &mut Out) {
        self.told = true;
        self.net.send(conn, out);
    }
    fn close(&mut self, conn: ConnId) {
        self.net.close(conn);
    }
    fn abort(&mut self, conn: ConnId) {
        self.net.abort(conn);
    }
    fn listen(&mut self, at: &Place, backlog: u32, shared: bool) -> Result<ListenerId, Errno> {
        self.net.listen(at, backlog, shared)
    }
    fn listening_at(&self, listener: ListenerId) -> Option<std::net::SocketAddr> {
        self.net.listening_at(listener)
    }
    fn set_accepting(&mut self, listener: ListenerId, accepting: bool) {
        self.net.set_accepting(listener, accepting);
    }
    fn wait(&mut self, until: Nanos) {
        self.net.wait(until);
        let now = self.net.now();
        let idle = now == self.last && !std::mem::take(&mut self.told);
        self.idle_turns = if idle { self.idle_turns + 1 } else { 0 };
        assert!(self.idle_turns < SPINS, "the worker spins at {now}, waiting until {until}");
        self.last = now;
    }
    fn next(&mut self) -> Option<Arrival<'_>> {
        let arrival = self.net.next();
        if let Some(Arrival::Received(_, bytes)) = &arrival {
            self.received += bytes.len() as u64;
        }
        self.told |= arrival.is_some();
        arrival
    }
    fn bytes_sent(&self) -> u64 {
        self.net.bytes_sent()
    }
    fn unsent(&self, conn: ConnId) -> usize {
        self.net.unsent(conn)
    }
}

impl<N: Network> Drop for Watched<N> {
    fn drop(&mut self) {
        self.books.sent.fetch_add(self.net.bytes_sent(), Ordering::Relaxed);
        self.books.received.fetch_add(self.received, Ordering::Relaxed);
    }
}

/// Runs `test` for every seed; a failing one is named, and `SEED=n` runs it alone.
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

/// A brain that answers everything after the same time.
pub fn after(delay: Nanos) -> impl FnMut(Nanos, &Ask<'_>) -> (Nanos, ReplyOwned) + Send + Clone {
    let reply = ReplyOwned::new(200, b"x");
    move |now, _| (now + delay, reply.clone())
}

/// A brain that never answers.
pub fn never() -> impl FnMut(Nanos, &Ask<'_>) -> (Nanos, ReplyOwned) + Send + Clone {
    |_, _| (Nanos::MAX, ReplyOwned::new(200, b""))
}
