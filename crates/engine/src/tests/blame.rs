//! Attribution of waits: to the server (or the connection limit), or to the generator.

use brunt_measure::Nanos;
use brunt_plan::Arrivals;
use brunt_sim::SimInterval;

use super::harness::{MS, SECOND, SimPlan, SimResult, after};

/// Returns the total and its three parts, which add up exactly because all requests finished.
fn parts(played: &SimResult) -> (u128, u128, u128, u128) {
    played.check();
    assert_eq!(played.sum.finished, played.sum.due);
    let l = &played.sum.latency;
    (l.response.sum(), l.wait_conn.sum(), l.gen_late.sum(), l.service.sum())
}

#[test]
fn too_few_connections_are_a_wait_for_connections() {
    // Two connections at 1 ms plus 0.1 ms of network serve 1818/s; 3000/s arrive for 100 ms.
    let scene = SimPlan::open(3000.0, Arrivals::Constant, Nanos::from_millis(100)).with(|p| p.max_connections = 2);
    let (response, wait, late, service) = parts(&scene.play(|| after(MS)));
    assert_eq!(response, wait + late + service);
    assert_eq!(late, 0, "the generator was never late");
    assert_eq!(service, 300 * 1_100_000);
    assert!(wait > 300 * 15_000_000, "{wait}");
}

#[test]
fn a_slow_send_is_the_generator_being_late() {
    // Ten at once, each taking 20 µs of our CPU time: the n-th is n · 20 µs late.
    let scene = SimPlan::open(10.0, Arrivals::Burst, SECOND).with(|p| p.warmup = SECOND);
    let scene = scene.on(|s| s.send_cost = Nanos::from_micros(20));
    let played = scene.play(|| after(MS));
    let (response, wait, late, service) = parts(&played);
    assert_eq!(response, wait + late + service);
    assert_eq!((wait, late), (0, (0..10).map(|n| n * 20_000).sum()));
}

#[test]
fn a_generator_that_was_stopped_is_late_and_the_server_is_not_blamed() {
    // The thread does not run for 200 ms; in that time 200 arrivals are due, and ten connections are idle.
    let scene = SimPlan::open(1000.0, Arrivals::Constant, SECOND);
    let from = scene.sim.starts_at + Nanos::from_millis(500);
    let pause = SimInterval { from, to: from + Nanos::from_millis(200) };
    let played = scene.on(|s| s.pauses.push(pause)).play(|| after(MS));
    let (response, wait, late, service) = parts(&played);
    assert_eq!(response, wait + late + service);
    // Their lateness is 200, 199 … 1 ms; the wait for connections to open is 0.1 ms each.
    let owed: u128 = (1..=200).map(|n| n * 1_000_000).sum();
    assert!(late.abs_diff(owed) < owed / 50, "late {late}, owed {owed}, blamed on connections {wait}");
}

#[test]
fn arrivals_of_a_generator_that_was_stopped_over_the_end_are_due_all_the_same() {
    // Stopped for the last 100 ms of a second, and until the drain has begun, or until after it.
    let stopped = |until: u64| {
        let scene = SimPlan::open(1000.0, Arrivals::Constant, SECOND);
        let start = scene.sim.starts_at;
        let pause = SimInterval { from: start + Nanos::from_millis(900), to: start + Nanos::from_millis(until) };
        scene.on(|s| s.pauses.push(pause)).play(|| after(MS))
    };
    let sent_late = stopped(1200);
    sent_late.check();
    assert_eq!((sent_late.sum.due, sent_late.sum.finished), (1000, 1000));
    let never_sent = stopped(2500);
    never_sent.check();
    let sum = &never_sent.sum;
    assert_eq!(sum.due, 1000);
    assert!((90..110).contains(&sum.censored), "{}", sum.censored);
    assert!(sum.due - sum.sent >= 90, "{} sent", sum.sent);
    let late = sum.latency.gen_late.max();
    assert!(late >= 1_500_000_000, "they are late by us, and by nobody else: {late}");
}

#[test]
fn opening_for_a_request_is_its_service_and_growing_the_pool_is_a_wait() {
    for keep_alive in [true, false] {
        let mut scene = SimPlan::open(10.0, Arrivals::Constant, SECOND);
        if !keep_alive {
            scene = scene.option("no-keepalive", "");
        }
        let (_, wait, late, service) = parts(&scene.play(|| after(MS)));
        assert_eq!(late, 0);
        // Opening takes 0.1 ms, once for the pool or for each request.
        let expected = if keep_alive { (100_000, 10 * 1_100_000) } else { (0, 10 * 1_200_000) };
        assert_eq!((wait, service), expected, "keep-alive {keep_alive}");
    }
}

#[test]
fn a_pause_over_the_end_of_the_window_counts_in_both_parts() {
    let lasts = Nanos::from_secs(3);
    let played = [SimPlan::closed(4, lasts), SimPlan::open(500.0, Arrivals::Constant, lasts)].map(|scene| {
        let ends = scene.sim.starts_at + lasts;
        let pause = SimInterval { from: ends - Nanos::from_millis(400), to: ends + Nanos::from_millis(1200) };
        scene.on(|s| s.pauses.push(pause)).play(|| after(MS))
    });
    for played in played {
        played.check();
        let gaps = |part: brunt_record::RunPart| {
            let of = |s: &&brunt_record::Second| s.part == part;
            let longest = played.seconds.iter().filter(of).map(|s| s.latency.loop_gap.max()).max();
            longest.unwrap_or_default() / 1_000_000
        };
        let (window, drain) = (gaps(brunt_record::RunPart::Window), gaps(brunt_record::RunPart::Drain));
        // While responses are awaited, a wait lasts 10 ms at most, and it is unknown when during the wait the pause
        // began.
        assert!((380..=401).contains(&window) && (1_190..=1_200).contains(&drain), "{window} {drain}");
    }
}
