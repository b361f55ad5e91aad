//! Rates and intended times, with one worker and with several.

use brunt_contract::ServerRequest;
use brunt_measure::Nanos;
use brunt_plan::Arrivals;
use brunt_sim::SimReply;

use super::harness::{MINUTE, MS, SECOND, SimPlan, US, after};

#[test]
fn a_constant_rate_is_kept_to_the_request_in_every_second() {
    let played = SimPlan::open(1000.0, Arrivals::Constant, MINUTE).play(|| after(MS));
    played.check();
    let window: Vec<_> = played.seconds.iter().filter(|s| s.part == brunt_record::RunPart::Window).collect();
    assert_eq!(window.len(), 60);
    for second in window {
        assert_eq!((second.due, second.sent), (1000, 1000), "second {}", second.from_ns);
        assert_eq!((second.to_ns - second.from_ns) as u64, SECOND.0);
    }
    assert_eq!((played.sum.due, played.sum.finished), (60_000, 60_000));
    // Each request arrives at its due time plus the latency of the network.
    let start = SimPlan::open(1.0, Arrivals::Constant, SECOND).sim.starts_at + MS;
    let grown = 10;
    for (i, (at, _)) in played.asks.iter().enumerate().skip(grown) {
        assert_eq!(*at, start + Nanos(MS.0 * i as u64 + 50 * US.0), "request {i}");
    }
}

#[test]
fn one_worker_and_four_make_the_same_merged_record() {
    let scene = |workers| {
        let scene = SimPlan::open(1000.0, Arrivals::Constant, Nanos::from_secs(5)).with(|p| p.workers = workers);
        // Each worker opens its own connection before the window begins.
        scene.with(|p| p.warmup = SECOND).play(|| after(US))
    };
    let (one, four) = (scene(1), scene(4));
    one.check();
    four.check();
    assert_eq!(one.seconds.len(), four.seconds.len());
    for (a, b) in one.seconds.iter().zip(&four.seconds) {
        let plain = |s: &brunt_record::Second| brunt_record::Second {
            cpu_ns: 0,
            connections: Default::default(),
            latency: brunt_record::Latency { connect: Default::default(), ..s.latency.clone() },
            ..s.clone()
        };
        assert_eq!(plain(a), plain(b), "second {}", a.from_ns);
    }
    assert_eq!(one.ended, four.ended);
    let times = |p: &super::harness::SimResult| {
        let mut times: Vec<Nanos> = p.asks.iter().map(|(at, _)| *at).collect();
        times.sort_unstable();
        times
    };
    // The server cannot distinguish them, except for the first request of each worker, which opens its connection.
    assert_eq!(times(&one)[4..], times(&four)[4..]);
}

#[test]
fn intended_times_are_kept_while_the_server_does_not_answer() {
    // Nothing is answered in the first second, but arrivals continue.
    let brain = |now: Nanos, _: &brunt_contract::ServerRequest<'_>| {
        (now.max(SECOND + SECOND), brunt_sim::SimReply::new(200, b""))
    };
    let played = SimPlan::open(500.0, Arrivals::Constant, SECOND).play(|| brain);
    played.check();
    let gaps = played.asks.windows(2).map(|w| w[1].0 - w[0].0);
    assert!(gaps.skip(1).all(|gap| gap == MS + MS), "one every 2 ms");
    assert_eq!(played.sum.latency.response.max(), 999_050_000);
}

#[test]
fn after_a_warm_up_throughput_is_what_the_server_answers_however_slow_it_is() {
    let slow = Nanos::from_millis(250);
    let open = SimPlan::open(100.0, Arrivals::Constant, SECOND + SECOND);
    for scene in [open, SimPlan::closed(25, SECOND + SECOND)] {
        let played = scene.with(|p| p.warmup = SECOND + SECOND).play(|| after(slow - Nanos(100 * US.0)));
        played.check();
        for second in played.seconds.iter().filter(|s| s.part == brunt_record::RunPart::Window) {
            assert_eq!(second.successes(), 100, "in the second from {} on", second.from_ns);
        }
        // Counts and latency are still attributed by the due time of requests.
        let window = played.part(brunt_record::RunPart::Window);
        assert_eq!((window.due, window.finished, window.latency.service.count()), (200, 175, 175));
        assert_eq!((played.sum.due, played.sum.finished), (200, 200));
    }
}

#[test]
fn stages_rise_and_fall_as_asked() {
    let mut scene = SimPlan::open(1.0, Arrivals::Constant, SECOND).with(|p| p.duration = None);
    let stage = |from, to| brunt_plan::Stage { lasts: Nanos::from_secs(2), from, to };
    let stages = vec![stage(100.0, 100.0), stage(100.0, 300.0), stage(0.0, 0.0), stage(50.0, 50.0)];
    scene.plan.load = brunt_plan::Load::Open { stages, arrivals: Arrivals::Constant };
    let played = scene.play(|| after(MS));
    played.check();
    let due: Vec<u64> = played.seconds.iter().map(|s| s.due).collect();
    assert_eq!(due, [100, 100, 150, 250, 0, 0, 50, 50]);
}

#[test]
fn users_think_between_requests() {
    let mut scene = SimPlan::closed(10, Nanos::from_secs(10));
    let brunt_plan::Load::Closed { think, .. } = &mut scene.plan.load else { unreachable!() };
    *think = Some((Nanos::from_millis(90), Nanos::from_millis(90)));
    let played = scene.play(|| after(Nanos(9_900_000)));
    played.check();
    // N = X·(R + Z): ten users, 10 ms and 90 ms.
    assert_eq!(played.sum.finished, 1000);
    assert_eq!(played.sum.opened, 10, "users do not share connections");
}

#[test]
fn users_think_after_failed_requests_as_after_others() {
    let thinking = || {
        let mut scene = SimPlan::closed(3, Nanos::from_secs(3));
        let brunt_plan::Load::Closed { think, .. } = &mut scene.plan.load else { unreachable!() };
        *think = Some((SECOND, SECOND));
        scene
    };
    let missing = || |now: Nanos, _: &ServerRequest<'_>| (now + Nanos(1), SimReply::new(404, b""));
    let sum = thinking().play(missing).sum;
    assert_eq!((sum.due, sum.failed), (9, 9), "answered with a 404");
    let refused = thinking().on(|sim| sim.refuse = 1.0).play(|| after(MS));
    assert_eq!((refused.sum.due, refused.sum.failed), (9, 9), "refused connections");
    let kept_out: i64 = refused.seconds.iter().map(|second| second.kept_out_ns as i64).sum();
    assert_eq!(kept_out, 0, "nobody sent less than the plan says");
}

#[test]
fn a_number_of_requests_is_done_with_the_last_whoever_still_thinks() {
    for refuse in [0.0, 1.0] {
        let mut scene = SimPlan::closed(5, MINUTE).with(|plan| (plan.requests, plan.duration) = (Some(7), None));
        let brunt_plan::Load::Closed { think, .. } = &mut scene.plan.load else { unreachable!() };
        *think = Some((SECOND, Nanos::from_secs(30)));
        let played = scene.on(|sim| sim.refuse = refuse).play(|| after(MS));
        assert_eq!(played.sum.due, 7);
        let last_sent = played.seconds.iter().filter(|second| second.due > 0).map(|s| s.to_ns).max();
        assert_eq!(played.seconds.last().map(|s| s.to_ns), last_sent, "nothing is waited for");
    }
}
