//! The engine's cost per request, in CPU time and allocations, measured by whole runs on the simulated network, without
//! a kernel.
//!
//! The cost of the simulation itself is measured by a bare loop that only sends the same bytes over the same network,
//! and must be subtracted. Run it with `cargo bench -p brunt-engine --features simulation`.

use std::alloc::{GlobalAlloc, Layout, System};
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use brunt_contract::{
    ConnectParameters, Network, NetworkEvent, Origin, OutputBuffer, PeerAddress, ProtocolConfig, RequestedUrl,
};
use brunt_engine::{Resolver, Setup, simulation};
use brunt_measure::{Clock, Nanos};
use brunt_plan::{Arrivals, Load, NetKind, Plan, Stage, Tls, WeightedUrl};
use brunt_protocols::http1::Http1;
use brunt_record::RunEvent;
use brunt_sim::{FakeSecurity, FakeSettings, PeerActions, Sim, SimPeer, SimSettings};

/// Runs per case; the best and the median are shown.
const ROUNDS: usize = 9;
/// Simulated duration of a run.
const LASTS: Nanos = Nanos::from_secs(5);

const REQUEST: &[u8] = b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nUser-Agent: brunt/0.1.0\r\nAccept: */*\r\n\r\n";
const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\nServer: nginx/1.22.1\r\nDate: Sat, 21 Nov 2026 06:24:27 GMT\r\n\
    Content-Type: application/octet-stream\r\nContent-Length: 1\r\nLast-Modified: Sat, 21 Nov 2026 06:00:00 GMT\r\n\
    Connection: keep-alive\r\nETag: \"691ffd00-1\"\r\nAccept-Ranges: bytes\r\n\r\nx";

struct Counting;

static CALLS: AtomicU64 = AtomicU64::new(0);

// SAFETY: every call is forwarded to the system allocator unchanged; calls are only counted.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        CALLS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the caller upholds the same contract.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        // SAFETY: the caller upholds the same contract.
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn main() {
    let http = |load, option: Option<&'static str>| move || run(&load, option);
    let rows: [(&str, Box<Round>); 6] = [
        ("bare loop, 100 connections", Box::new(|| bare(100))),
        ("closed, 100 users", Box::new(http(closed(100.0), None))),
        ("bare loop, 10,000 connections", Box::new(|| bare(10_000))),
        ("closed, 10,000 users", Box::new(http(closed(10_000.0), None))),
        ("open, 100,000/s, constant", Box::new(http(open(100_000.0), None))),
        ("closed, 100 users, a connection for each", Box::new(http(closed(100.0), Some("no-keepalive")))),
    ];
    println!("{:<42}{:>10}{:>10}{:>12}{:>14}", "", "best ns", "median ns", "requests", "allocations");
    for (name, round) in rows {
        let mut costs: Vec<Cost> = (0..ROUNDS).map(|_| round()).collect();
        costs.sort_by_key(|c| c.cpu.0 / c.requests.max(1));
        let each = |c: &Cost| c.cpu.0 as f64 / c.requests as f64;
        let (best, median) = (each(&costs[0]), each(&costs[ROUNDS / 2]));
        let allocations = costs[0].calls as f64 / costs[0].requests as f64;
        println!("{name:<42}{best:>10.1}{median:>10.1}{:>12}{allocations:>14.5}", costs[0].requests);
    }
}

type Round = dyn Fn() -> Cost;

/// The CPU time, requests and allocations of one run, including startup and snapshots.
struct Cost {
    cpu: Nanos,
    requests: u64,
    calls: u64,
}

fn measured(work: impl FnOnce() -> u64) -> Cost {
    let (cpu, calls) = (Clock.thread_cpu_time(), CALLS.load(Ordering::Relaxed));
    let requests = work();
    Cost { cpu: Clock.thread_cpu_time() - cpu, requests, calls: CALLS.load(Ordering::Relaxed) - calls }
}

/// A peer that immediately answers everything it receives.
struct Answers;

impl SimPeer for Answers {
    fn opened(&mut self, _now: Nanos, _conn: u32) {}
    fn received(&mut self, _now: Nanos, conn: u32, _bytes: &[u8], say: &mut PeerActions) {
        say.send(conn, ANSWER);
    }
    fn closed(&mut self, _now: Nanos, _conn: u32) {}
}

/// A simulated network whose round trip is 1 ms for 100 connections and proportionally longer for more, so that the
/// number of requests stays the same.
fn sim(connections: f64) -> Sim<Answers> {
    let mut settings = SimSettings::default();
    settings.latency.fixed = Nanos((5_000.0 * connections) as u64);
    Sim::new(1, settings, Box::new(Answers))
}

/// Sends the same traffic without an engine.
fn bare(connections: u32) -> Cost {
    let mut net = sim(f64::from(connections));
    let dial = ConnectParameters {
        to: PeerAddress::Tcp(SocketAddr::from((Ipv4Addr::LOCALHOST, 80))),
        source: None,
        single_use: false,
    };
    measured(|| {
        for _ in 0..connections {
            net.connect(&dial).expect("the simulation has enough descriptors");
        }
        let (mut out, mut requests, end) = (OutputBuffer::default(), 0, net.now() + LASTS);
        while net.now() < end {
            net.wait(end);
            while let Some(arrival) = net.next() {
                let conn = match arrival {
                    NetworkEvent::Connected(conn) => conn,
                    NetworkEvent::Received(conn, _) => {
                        requests += 1;
                        conn
                    }
                    NetworkEvent::Closed(..) | NetworkEvent::Accepted(..) | NetworkEvent::Sent(_) => continue,
                };
                out.put(REQUEST);
                net.send(conn, &mut out);
            }
        }
        requests
    })
}

fn closed(users: f64) -> Load {
    let stages = vec![Stage { lasts: LASTS, from: users, to: users }];
    Load::Closed { stages, think: None, together: false }
}

fn open(rate: f64) -> Load {
    Load::Open { stages: vec![Stage { lasts: LASTS, from: rate, to: rate }], arrivals: Arrivals::Constant }
}

struct Direct;

impl Resolver for Direct {
    fn resolve(&self, _: &Origin) -> Result<Vec<PeerAddress>, brunt_cause::Cause> {
        Ok(vec![PeerAddress::Tcp(SocketAddr::from((Ipv4Addr::LOCALHOST, 80)))])
    }
}

/// Performs a whole run, from the plan to the merged seconds.
fn run(load: &Load, option: Option<&str>) -> Cost {
    let url = "http://127.0.0.1/";
    let options: brunt_plan::PlanOptions =
        option.map(|name| (name.to_owned(), vec![String::new()])).into_iter().collect();
    let plan = Plan {
        protocol: "http".into(),
        urls: vec![WeightedUrl::plain(url)].into(),
        more_urls: 0,
        options: options.clone(),
        load: load.clone(),
        flow: None,
        scenarios: Vec::new(),
        common: None,
        requests: None,
        duration: Some(LASTS),
        warmup: Nanos::ZERO,
        drain: Nanos::ZERO,
        timeout: Nanos::from_secs(10),
        connect_timeout: Nanos::from_secs(5),
        dns_refresh: None,
        max_connections: 1000,
        workers: 1,
        pin: false,
        precise: false,
        slack: Nanos::ZERO,
        connect_rate: None,
        reference: None,
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
        trace: None,
    };
    let setup = Setup {
        plan: Arc::new(plan.clone()),
        shown: plan,
        command: vec![],
        host: Default::default(),
        resolver: Arc::new(Direct),
        security: Arc::new(FakeSecurity::new(FakeSettings::default())),
        sources: vec![],
        processes: None,
        control: Default::default(),
        read_late: None,
        scenario: None,
    };
    let asked = ProtocolConfig {
        urls: vec![RequestedUrl { url: url.into(), weight: 1.0 }],
        options,
        ..ProtocolConfig::default()
    };
    let net = sim(if load.is_open() { 100.0 } else { load.peak() });
    let start = SimSettings::default().starts_at;
    measured(|| {
        let mut finished = 0;
        let mut sink = |event: RunEvent| {
            if let RunEvent::Second(second) = event {
                finished += second.finished;
            }
        };
        simulation::run(&Http1, &asked, &setup, start, net, &mut sink).expect("a good plan");
        finished
    })
}
