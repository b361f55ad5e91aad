//! Ends of runs: the drain, and a stop at any moment.

use brunt_measure::Nanos;
use brunt_plan::Arrivals;
use brunt_record::RunPart;
use brunt_sim::SimSettings;

use super::harness::{SECOND, SimPlan, US, after};

fn ms(n: u64) -> Nanos {
    Nanos::from_millis(n)
}

#[test]
fn what_the_drain_does_not_finish_is_censored() {
    // Answers take 500 ms, so the last half of a second of load is unfinished at the end.
    for (drain, finished) in [(0, 50), (195, 70), (475, 98), (600, 100)] {
        let scene = SimPlan::open(100.0, Arrivals::Constant, SECOND).with(|p| p.drain = ms(drain));
        let played = scene.on(|s| s.connect_delay = s.latency).play(|| after(Nanos(499_880_000)));
        played.check();
        let s = &played.sum;
        // 499.98 ms with the network, and 0.05 more where the pool grows.
        assert_eq!((s.due, s.finished, s.censored), (100, finished, 100 - finished), "drain {drain}");
        assert_eq!(played.part(RunPart::Window).finished, 50, "the drain is no part of the window");
        assert_eq!(played.ended.window, SECOND);
        assert_eq!(played.ended.reason, brunt_record::End::Completed);
        assert!(played.ended.elapsed <= SECOND + ms(drain), "{}", played.ended.elapsed);
        let bounds = &s.latency.response_at_least;
        assert_eq!(bounds.count(), 100 - finished);
        if drain == 195 {
            assert_eq!((bounds.min(), bounds.max()), (205_000_000, 495_000_000));
        }
    }
}

#[test]
fn unsent_requests_are_censored_too() {
    let scene = SimPlan::open(100.0, Arrivals::Constant, SECOND).with(|p| (p.max_connections, p.drain) = (1, ms(0)));
    let played = scene.play(|| after(ms(99)));
    played.check();
    let s = &played.sum;
    assert_eq!((s.due, s.sent, s.censored), (100, s.finished + 1, 100 - s.finished));
    assert_eq!(s.latency.wait_conn_at_least.count(), 100 - s.sent);
    assert_eq!(s.latency.service_at_least.count(), 1);
    assert_eq!(s.latency.wait_conn_at_least.min(), 10_000_000, "the last was due 10 ms before the end");
}

#[test]
fn a_rate_far_beyond_what_can_be_sent_is_accounted_for_to_the_last_arrival() {
    let costs = |s: &mut SimSettings| (s.clock_cost, s.send_cost, s.event_cost) = (Nanos(20), US, US);
    for (rate, arrivals, workers, urls) in [
        (1e9, Arrivals::Constant, 1, &[("http://test/", 1.0)][..]),
        (1e9, Arrivals::Constant, 3, &[("http://test/a", 1.0), ("http://test/b", 3.0)]),
        (1e8, Arrivals::Burst, 1, &[("http://test/", 1.0)]),
        (1e9, Arrivals::Poisson, 2, &[("http://test/", 1.0)]),
    ] {
        let scene = SimPlan::open(rate, arrivals, SECOND).on(costs).urls(urls);
        let played = scene
            .with(|p| (p.max_connections, p.workers, p.drain, p.warmup) = (12, workers, ms(100), ms(50)))
            .play(|| after(ms(1)));
        played.check();
        let s = &played.sum;
        match arrivals {
            // Only the arrivals drawn are random.
            Arrivals::Poisson => assert!((s.due as f64 / rate - 1.0).abs() < 1e-4, "{}", s.due),
            _ => assert_eq!(s.due, rate as u64),
        }
        assert!(played.heard > 8_000, "{arrivals:?}: it goes on sending: {}", played.heard);
        assert!(played.ended.elapsed <= SECOND + ms(151), "{}", played.ended.elapsed);
        assert!(played.seconds.iter().all(|second| second.waiting < 1 << 21), "the queue has a bound");
        // Only the waiting times of unfinished requests are known; they are uniform from zero to the whole run.
        let bounds = &s.latency.response_at_least;
        assert_eq!(bounds.count(), s.censored);
        let median = bounds.at_rank(s.censored / 2).unwrap();
        let (from, to) = if arrivals == Arrivals::Burst { (SECOND, SECOND + ms(200)) } else { (ms(550), ms(650)) };
        assert!((from..to).contains(&median), "{arrivals:?}: {median}");
        assert_eq!(s.latency.wait_conn_at_least.count() + s.latency.service_at_least.count(), s.censored);
        assert!(s.latency.wait_conn_at_least.count() > s.censored / 2, "they waited for connections, not for us");
    }
}

/// Stops a run of 60 ms at every multiple of 100 µs, and beyond its end.
fn stop_everywhere(scene: &SimPlan, label: &str) {
    let begin = scene.sim.starts_at;
    for step in 0..=900 {
        let mut scene = scene.clone();
        scene.stop_at = Some(begin + Nanos(US.0 * 100 * step));
        let played = scene.play(|| after(Nanos::from_micros(2_345)));
        let tried = std::panic::catch_unwind(|| played.check());
        assert!(tried.is_ok(), "{label}, stopped at step {step}: {:?}", played.sum);
        assert!(!played.seconds.is_empty() || played.sum.due == 0, "{label}, step {step}");
        if played.ended.reason == brunt_record::End::Interrupted {
            let s = &played.sum;
            let seen = s.finished + s.failed + s.censored + s.warmup;
            // The stop is noticed within 50 ms: never more requests than in the whole run, never fewer than were
            // received.
            assert!(seen >= played.heard, "{label}, step {step}");
            assert!(played.ended.window <= ms(60), "{label}, step {step}: {}", played.ended.window);
        }
    }
}

#[test]
fn a_stop_between_arrivals_leaves_nothing_unfinished() {
    // A worker that waits for the next arrival notices a stop when it wakes for that arrival, which is not sent.
    for pause in (20..100).step_by(7) {
        let mut scene = SimPlan::open(400.0, Arrivals::Constant, Nanos::from_secs(9));
        scene.stop_at = Some(scene.sim.starts_at + SECOND + Nanos(US.0 * 25 * pause));
        let played = scene.play(|| after(Nanos(US.0 * 100)));
        played.check();
        assert_eq!(played.ended.reason, brunt_record::End::Interrupted);
        assert_eq!((played.sum.censored, played.sum.failed), (0, 0), "{pause}");
        assert!(played.sum.finished == played.sum.due && played.sum.due >= 399, "{pause}: {}", played.sum.due);
    }
}

#[test]
fn a_stop_at_any_moment_loses_nothing() {
    let costs = |s: &mut SimSettings| {
        (s.clock_cost, s.send_cost, s.connect_cost, s.event_cost) = (Nanos(20), US, Nanos(15_000), US);
    };
    let open = |rate| SimPlan::open(rate, Arrivals::Poisson, ms(60)).with(|p| p.drain = ms(20)).on(costs);
    let closed = || SimPlan::closed(5, ms(60)).with(|p| p.drain = ms(20)).on(costs);
    stop_everywhere(&open(1000.0), "open");
    stop_everywhere(&open(3000.0).with(|p| p.max_connections = 2), "open, 2 connections");
    stop_everywhere(&open(1000.0).with(|p| p.warmup = ms(20)), "open, warm-up");
    stop_everywhere(&closed(), "closed");
    stop_everywhere(&closed().option("no-keepalive", ""), "closed, a connection for each");
    stop_everywhere(&closed().urls(&[("https://a/", 1.0)]), "closed, TLS");
}

#[test]
fn a_stop_is_seen_soon_even_when_nothing_happens() {
    let mut scene = SimPlan::closed(1, Nanos::from_secs(60));
    scene.stop_at = Some(scene.sim.starts_at + SECOND);
    let played = scene.play(super::harness::never);
    played.check();
    assert_eq!(played.ended.reason, brunt_record::End::Interrupted);
    assert!(played.ended.elapsed <= SECOND + ms(50), "{}", played.ended.elapsed);
    assert_eq!((played.sum.censored, played.sum.due), (1, 1));
    assert!(played.ended.window > ms(990));
}
