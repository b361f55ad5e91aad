//! Memory use: it does not grow with time, and a request allocates nothing. An allocator counts allocations on the
//! worker thread.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::Arc;

use brunt_contract::{ProtocolConfig, RequestedUrl};
use brunt_measure::Nanos;
use brunt_plan::flow::{Branch, Flow, OnFailure, Pause, Step};
use brunt_plan::{Arrivals, WeightedUrl};
use brunt_protocols::http1::Http1;
use brunt_record::RunEvent;
use brunt_sim::{PeerActions, Sim, SimPeer};

use super::harness::{MS, SimPlan};
use crate::{Setup, simulation};

thread_local! {
    static CALLS: Cell<u64> = const { Cell::new(0) };
    static LIVE: Cell<isize> = const { Cell::new(0) };
    static PEAK: Cell<isize> = const { Cell::new(0) };
}

struct EngineTestAllocator;

fn count(calls: u64, bytes: isize) {
    CALLS.set(CALLS.get() + calls);
    LIVE.set(LIVE.get() + bytes);
    PEAK.set(PEAK.get().max(LIVE.get()));
}

// SAFETY: everything is handed to the system's allocator unchanged; only numbers of this thread are added up.
unsafe impl GlobalAlloc for EngineTestAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(1, layout.size() as isize);
        // SAFETY: the caller's promise is passed on.
        unsafe { System.alloc(layout) }
    }
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(1, layout.size() as isize);
        // SAFETY: the caller's promise is passed on.
        unsafe { System.alloc_zeroed(layout) }
    }
    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(1, size as isize - layout.size() as isize);
        // SAFETY: the caller's promise is passed on.
        unsafe { System.realloc(at, layout, size) }
    }
    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        count(0, -(layout.size() as isize));
        // SAFETY: the caller's promise is passed on.
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: EngineTestAllocator = EngineTestAllocator;

const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\nServer: nginx/1.22.1\r\nContent-Type: text/plain\r\n\
    Content-Length: 1\r\nConnection: keep-alive\r\n\r\nx";

/// A server that answers any input at once and allocates nothing; it may close after each answer.
struct ConstantServer {
    close: bool,
}

impl SimPeer for ConstantServer {
    fn opened(&mut self, _now: Nanos, _conn: u32) {}
    fn received(&mut self, _now: Nanos, conn: u32, _bytes: &[u8], say: &mut PeerActions) {
        say.send(conn, ANSWER);
        if self.close {
            say.close(conn);
        }
    }
    fn closed(&mut self, _now: Nanos, _conn: u32) {}
}

#[derive(Debug)]
struct RunCost {
    finished: u64,
    failed: u64,
    seconds: u64,
    calls: u64,
    peak: isize,
}

/// Runs one worker, its collector and its server on this thread; the events are checked and dropped.
fn cost(scene: &SimPlan, close: bool) -> RunCost {
    let plan = &scene.plan;
    let setup = Setup {
        plan: Arc::new(plan.clone()),
        shown: plan.clone(),
        command: vec![],
        host: Default::default(),
        resolver: Arc::clone(&scene.resolver),
        security: Arc::new(brunt_sim::FakeSecurity::new(scene.security.clone())),
        sources: vec![],
        processes: None,
        control: Default::default(),
        read_late: None,
        scenario: None,
    };
    let urls = plan.urls.iter().map(|url| RequestedUrl { url: url.url.clone(), weight: url.weight }).collect();
    let own = plan.urls.iter().map(|u| u.options.clone()).collect();
    let variables = plan.flow.iter().flat_map(|flow| flow.variables.clone()).collect();
    let asked = ProtocolConfig {
        urls,
        options: plan.options.clone(),
        url_options: own,
        variables,
        ..ProtocolConfig::default()
    };
    let sim = Sim::new(plan.seed, scene.sim.clone(), Box::new(ConstantServer { close }));
    let mut cost = RunCost { finished: 0, failed: 0, seconds: 0, calls: CALLS.get(), peak: 0 };
    let before = LIVE.get();
    PEAK.set(before);
    let mut sink = |event: RunEvent| {
        if let RunEvent::Second(second) = event {
            cost.finished += second.finished;
            cost.failed += second.failed;
            cost.seconds += 1;
        }
    };
    simulation::run(&Http1, &asked, &setup, scene.sim.starts_at + MS, sim, &mut sink).expect("a good plan");
    cost.calls = CALLS.get() - cost.calls;
    cost.peak = PEAK.get() - before;
    cost
}

fn secs(n: u64) -> Nanos {
    Nanos::from_secs(n)
}

#[test]
fn two_hours_take_the_memory_of_ten_minutes() {
    let open = |lasts| SimPlan::open(20.0, Arrivals::Poisson, lasts);
    let closed = |lasts| {
        let mut scene = SimPlan::closed(3, lasts);
        let brunt_plan::Load::Closed { think, .. } = &mut scene.plan.load else { unreachable!() };
        *think = Some((MS, Nanos::from_millis(300)));
        scene
    };
    let scenes: [(&str, &dyn Fn(Nanos) -> SimPlan); 3] = [
        ("open", &open),
        ("closed", &closed),
        ("a connection for each", &|lasts| open(lasts).option("no-keepalive", "")),
    ];
    for (name, scene) in scenes {
        let (short, long) = (cost(&scene(secs(600)), false), cost(&scene(secs(7200)), false));
        assert!(long.finished > 11 * short.finished && long.seconds >= 7200, "{name}: {short:?} {long:?}");
        // More requests may coincide in one second and need more space: kilobytes, not growth per request or second.
        assert!(long.peak - short.peak < 20_000, "{name}: {short:?} {long:?}");
    }
}

#[test]
fn a_request_allocates_nothing() {
    let latency =
        |us| move |s: &mut brunt_sim::SimSettings| s.latency = brunt_sim::SimDelay::fixed(Nanos::from_micros(us));
    let short = |scene: SimPlan| scene.option("no-keepalive", "");
    let pairs = [
        ("closed", SimPlan::closed(20, secs(10)).on(latency(500)), SimPlan::closed(20, secs(10)).on(latency(250))),
        (
            "open",
            SimPlan::open(10_000.0, Arrivals::Constant, secs(10)),
            SimPlan::open(20_000.0, Arrivals::Constant, secs(10)),
        ),
        (
            "a connection for each",
            short(SimPlan::closed(20, secs(10)).on(latency(500))),
            short(SimPlan::closed(20, secs(10)).on(latency(250))),
        ),
    ];
    for (name, once, twice) in pairs {
        let (once, twice) = (cost(&once, false), cost(&twice, false));
        assert_eq!(once.failed + twice.failed, 0, "{name}");
        let more = twice.finished - once.finished;
        assert!(more > 90_000, "{name}: {once:?} {twice:?}");
        let spent = twice.calls.abs_diff(once.calls);
        // Only snapshots remain: the same number of seconds, with a few more buckets to write.
        assert!(spent < 100, "{name}: {spent} allocations for {more} requests more: {once:?} {twice:?}");
    }
}

/// Sets the number of names.
fn named(scene: SimPlan, names: usize) -> SimPlan {
    let urls: Vec<String> = (0..names).map(|n| format!("http://test/{n}")).collect();
    scene.urls(&urls.iter().map(|url| (url.as_str(), 1.0)).collect::<Vec<_>>())
}

#[test]
fn with_fifty_names_a_request_allocates_nothing_and_memory_does_not_grow_with_time() {
    let scene = |rate| named(SimPlan::open(rate, Arrivals::Constant, secs(10)), 50);
    let (once, twice) = (cost(&scene(10_000.0), false), cost(&scene(20_000.0), false));
    assert_eq!(once.failed + twice.failed, 0);
    // Each second of a name takes a few allocations, regardless of the number of requests; buffers for more buckets
    // grow more often.
    let spent = twice.calls.abs_diff(once.calls);
    assert!(twice.finished - once.finished > 90_000 && spent < 3_000, "{spent}: {once:?} {twice:?}");
    let lasts = |seconds| cost(&named(SimPlan::open(100.0, Arrivals::Poisson, secs(seconds)), 50), false);
    let (short, long) = (lasts(60), lasts(1200));
    assert!(long.finished > 19 * short.finished && long.peak - short.peak < 60_000, "{short:?} {long:?}");
    assert!(long.peak < 8 << 20, "{long:?}");
}

#[test]
fn requests_that_fail_allocate_nothing_either() {
    let scene = |rate| SimPlan::open(rate, Arrivals::Constant, secs(10)).option("expect-status", "204");
    let (once, twice) = (cost(&scene(5_000.0), false), cost(&scene(10_000.0), false));
    assert_eq!((once.failed, twice.failed), (50_000, 100_000));
    assert!(twice.calls.abs_diff(once.calls) < 100, "{once:?} {twice:?}");
}

/// Creates users with all kinds of steps; the first request of each iteration captures a value according to `capture`.
fn flowing(scene: SimPlan, capture: &str) -> SimPlan {
    let send = |url| Step::Request { url, on_failure: OnFailure::default() };
    let mean = Nanos::from_micros(100);
    let group = |name: &str, steps| Step::Group { name: name.into(), steps };
    scene.with(|plan| {
        let mut urls =
            ["http://test/a", "http://test/b?n={counter}&t={token}", "http://test/c?u={user}"].map(WeightedUrl::plain);
        if !capture.is_empty() {
            urls[0].options.insert("capture".into(), vec![format!("token {capture}")]);
        }
        plan.urls = urls.to_vec().into();
        let ways =
            vec![Branch { weight: 1.0, steps: vec![send(2)] }, Branch { weight: 2.0, steps: vec![send(1), send(1)] }];
        let steps = vec![
            send(0),
            Step::Pause(Pause::Exponential { mean }),
            group("browse", vec![Step::Repeat { times: 3.into(), steps: vec![send(1), Step::Choose { ways }] }]),
            Step::If { condition: "token != 'x'".into(), steps: vec![send(2)], otherwise: vec![send(1)] },
            Step::Once { steps: vec![send(2)] },
            Step::Pace(Nanos::from_millis(1)),
        ];
        plan.flow = Some(Flow { steps, variables: vec!["token".into()], ..Flow::default() });
    })
}

#[test]
fn a_flow_allocates_nothing_for_its_steps_and_little_for_what_it_takes_out_of_heads() {
    let latency =
        |us| move |s: &mut brunt_sim::SimSettings| s.latency = brunt_sim::SimDelay::fixed(Nanos::from_micros(us));
    for (capture, at_most) in [("", 0), ("header Server", 4), ("status", 4)] {
        let run = |us| cost(&flowing(SimPlan::closed(20, secs(10)).on(latency(us)), capture), false);
        let (once, twice) = (run(500), run(250));
        assert_eq!(once.failed + twice.failed, 0, "{capture}");
        let more = twice.finished - once.finished;
        assert!(more > 90_000, "{capture}: {once:?} {twice:?}");
        // One request in nine or more captures; snapshots of names and groups take a few allocations per second.
        let spent = twice.calls.abs_diff(once.calls);
        let bound = 3_000 + at_most * more / 9;
        assert!(spent < bound, "{capture}: {spent} allocations for {more} requests more: {once:?} {twice:?}");
    }
}
