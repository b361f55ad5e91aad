//! Figures compared with formulas: a stall, a queue with one server, known delays, a server that hangs.

use std::sync::{Arc, Mutex};

use super::queueing_laws::{StallLaw, mm1_mean, mm1_quantile};
use brunt_contract::ServerRequest;
use brunt_measure::{Histogram, Nanos, QuantileValue, Rng, quantile};
use brunt_plan::Arrivals;
use brunt_sim::{SimDelay, SimInterval, SimQueue, SimReply, SimSettings};

use super::harness::{MINUTE, MS, SECOND, SimPlan, SimResult, after, never};

/// Sets the network's round trip to 2 ns, so that only the server counts.
fn near(sim: &mut SimSettings) {
    sim.latency = SimDelay::fixed(Nanos(1));
    sim.connect_delay = SimDelay::fixed(Nanos(2));
}

/// Returns a server with one queue, first come, first served.
fn queue(station: SimQueue) -> impl FnMut(Nanos, &ServerRequest<'_>) -> (Nanos, SimReply) + Send + Clone {
    let station = Arc::new(Mutex::new(station));
    let reply = SimReply::new(200, b"x");
    move |now, _| (station.lock().unwrap().due(now), reply.clone())
}

fn at(histogram: &Histogram, q: f64) -> f64 {
    match quantile(histogram, &Histogram::new(), q).value {
        QuantileValue::Value(value) => value.as_secs_f64(),
        other => panic!("{q}: {other:?}"),
    }
}

#[test]
fn a_stall_is_seen_as_the_law_says() {
    for (rate, capacity, run, stall) in [(1000.0, 5000.0, 60.0, 1.0), (500.0, 2000.0, 20.0, 0.4)] {
        let law = StallLaw { rate, capacity, run, stall };
        let lasts = Nanos::from_secs_f64(run);
        let scene = SimPlan::open(rate, Arrivals::Constant, lasts).on(near);
        let from = scene.sim.starts_at + Nanos(lasts.0 / 2);
        let station = || SimQueue::constant(1, Nanos::from_secs_f64(1.0 / capacity));
        let stalled = SimInterval { from, to: from + Nanos::from_secs_f64(stall) };
        let played = scene.play(|| queue(station().stalled(stalled)));
        played.check();
        assert_eq!(played.sum.finished, (rate * run) as u64);
        let l = &played.sum.latency;
        for q in [0.5, 0.9, 0.98, 0.99, 0.999] {
            let (found, expected) = (at(&l.response, q), law.quantile(q));
            // Arrivals are 1/λ apart, and so are delayed responses; the buckets are 1 % wide.
            let within = 0.01 * expected + 1.0 / rate;
            assert!((found - expected).abs() <= within, "p{q}: {found} and {expected}");
        }
        let longest = Nanos(l.response.max()).as_secs_f64();
        assert!((longest - (stall + 1.0 / capacity)).abs() <= 1.0 / rate, "{longest}");
    }
}

#[test]
fn the_row_of_the_table() {
    let scene = SimPlan::open(1000.0, Arrivals::Constant, MINUTE).on(near);
    let from = scene.sim.starts_at + MS + Nanos::from_secs(20);
    let station = || SimQueue::constant(1, Nanos::from_micros(200)).stalled(SimInterval { from, to: from + SECOND });
    let l = scene.play(|| queue(station())).sum.latency;
    for (q, expected) in [(0.98, 0.0402), (0.99, 0.5202), (0.999, 0.9522)] {
        let found = at(&l.response, q);
        assert!((found - expected).abs() <= 0.01 * expected + 0.001, "p{q}: {found}");
    }
    assert!((1_000_190_000..=1_000_210_000).contains(&l.response.max()), "{}", l.response.max());
    // The wait is attributed to the server, and none of it to us.
    assert_eq!(l.gen_late.max(), 0);
    // One user of the same server sees one slow answer.
    let one = SimPlan::closed(1, MINUTE).on(near).play(|| queue(station())).sum.latency;
    let slow: u64 = one.service.buckets().filter(|(value, _)| *value > MS).map(|(_, n)| n).sum();
    assert_eq!((slow, one.response.count()), (1, 0));
    assert_eq!(at(&one.service, 0.999) * 1e6, at(&one.service, 0.5) * 1e6);
}

#[test]
fn one_queue_with_exponential_service_is_the_formula() {
    // Mean 2 ms and ρ = 0.8: 400/s for 20 simulated minutes.
    let (mu, lambda) = (500.0, 400.0);
    for seed in [1, 2, 3] {
        let scene = SimPlan::open(lambda, Arrivals::Poisson, Nanos::from_secs(1200)).with(|p| p.seed = seed).on(near);
        let played = scene.play(|| queue(SimQueue::exponential(1, Nanos::from_millis(2), 100 + seed)));
        played.check();
        let l = &played.sum.latency.response;
        // Successive responses are correlated: at this utilisation, 480,000 of them are worth about 4,000 independent
        // ones.
        let mean = l.mean().unwrap().as_secs_f64();
        let expected = mm1_mean(mu, lambda);
        assert!((mean / expected - 1.0).abs() < 0.08, "seed {seed}: mean {mean}, {expected}");
        for q in [0.5, 0.9, 0.99] {
            let (found, expected) = (at(l, q), mm1_quantile(mu, lambda, q));
            assert!((found / expected - 1.0).abs() < 0.12, "seed {seed}, p{q}: {found}, {expected}");
        }
    }
}

/// Returns the response times of `servers` that each take `service`, first come, first served (an arrival is served
/// once the arrival `servers` before it has been served), and how many of them waited.
fn in_one_queue(due: &[Nanos], servers: usize, service: Nanos) -> (Histogram, u64) {
    let (mut begun, mut responses, mut waited) = (Vec::with_capacity(due.len()), Histogram::new(), 0);
    for (i, due) in due.iter().enumerate() {
        let free = i.checked_sub(servers).map_or(Nanos::ZERO, |before: usize| begun[before] + service);
        begun.push(free.max(*due));
        waited += u64::from(free > *due);
        responses.record(begun[i] + service - *due);
    }
    (responses, waited)
}

#[test]
fn a_limit_of_connections_is_one_queue_for_all_arrivals() {
    // M/D/c: connections, rate, service, and p50 and p99 of the law.
    let table = [(2, 32.0, 50, 0.0772, 0.3032), (8, 72.0, 100, 0.1247, 0.3580), (5, 18.0, 250, 0.3683, 1.2983)];
    for (limit, rate, service, p50, p99) in table {
        let lasts = Nanos::from_secs_f64(40_000.0 / rate);
        let scene = SimPlan::open(rate, Arrivals::Poisson, lasts).on(near).with(|p| p.max_connections = limit);
        let (service, plan) = (Nanos::from_millis(service), &scene.plan);
        let played = scene.play(|| after(service));
        played.check();
        let arrivals = |lasts| {
            let mut due =
                brunt_load::arrivals(&plan.load, Nanos::ZERO, None, Some(lasts), brunt_plan::Share::WHOLE, plan.seed);
            std::iter::from_fn(|| due.next_due()).collect::<Vec<Nanos>>()
        };
        let due = arrivals(lasts);
        let (found, (law, waited)) = (&played.sum.latency.response, in_one_queue(&due, limit as usize, service));
        for q in [0.5, 0.9, 0.99, 0.999] {
            // With the same arrivals, the results are equal except for the buckets and the nanoseconds of the network.
            let (found, expected) = (at(found, q), at(&law, q));
            assert!((found / expected - 1.0).abs() < 0.01, "{limit} connections, {q}: {found}, {expected}");
        }
        // The reference is the law itself, in a run a hundred times as long.
        let (long, _) = in_one_queue(&arrivals(Nanos(lasts.0 * 100)), limit as usize, service);
        for (q, expected) in [(0.5, p50), (0.99, p99)] {
            let found = at(&long, q);
            assert!((found / expected - 1.0).abs() < 0.08, "{limit} connections, {q}: {found}, by the law {expected}");
        }
        let limited: u64 = played.seconds.iter().map(|s| s.limited).sum();
        assert!(limited.abs_diff(waited) < 20, "{limited} are said to have waited, {waited} had to");
    }
}

#[test]
fn one_user_of_that_queue_sees_service_only() {
    let scene = SimPlan::closed(1, Nanos::from_secs(600)).on(near);
    let played = scene.play(|| queue(SimQueue::exponential(1, Nanos::from_millis(2), 5)));
    played.check();
    let (found, expected) = (at(&played.sum.latency.service, 0.99), mm1_quantile(500.0, 0.0, 0.99));
    assert!((found / expected - 1.0).abs() < 0.02, "{found}, {expected}");
    assert_eq!(played.sum.latency.response.count(), 0, "nobody's intended time is known");
}

#[test]
fn known_delays_come_back_as_their_quantiles() {
    // Lognormal, median 5 ms, σ 0.8. The delays drawn are kept, so that the comparison is exact to the bucket.
    let drawn = Arc::new(Mutex::new(Vec::new()));
    let (kept, mut rng) = (Arc::clone(&drawn), Rng::new(7));
    let reply = SimReply::new(200, b"x");
    let mut brain = Some(move |now: Nanos, _: &ServerRequest<'_>| {
        let delay = Nanos((5e6 * (0.8 * rng.normal()).exp()) as u64);
        kept.lock().unwrap().push(delay.0);
        (now + delay, reply.clone())
    });
    let played = SimPlan::open(2000.0, Arrivals::Poisson, MINUTE).on(near).play(|| brain.take().unwrap());
    played.check();
    let mut drawn = std::mem::take(&mut *drawn.lock().unwrap());
    drawn.sort_unstable();
    assert_eq!(drawn.len() as u64, played.sum.finished);
    let service = &played.sum.latency.service;
    for (q, z) in [(0.5, 0.0_f64), (0.9, 1.281_551_6), (0.99, 2.326_347_9), (0.999, 3.090_232_3)] {
        let rank = (drawn.len() as f64 * q).ceil() as usize;
        let (found, exact) = (at(service, q), drawn[rank - 1] as f64 / 1e9);
        assert!((found / exact - 1.0).abs() < 0.01, "p{q}: {found}, drawn {exact}");
        let formula = 0.005 * (0.8 * z).exp();
        assert!((found / formula - 1.0).abs() < 0.06, "p{q}: {found}, formula {formula}");
    }
    assert!(service.max() - drawn[drawn.len() - 1] < 1000, "{} {:?}", service.max(), drawn.last());
}

fn at_least(played: &SimResult, q: f64) -> Nanos {
    let l = &played.sum.latency;
    match quantile(&l.response, &l.response_at_least, q).value {
        QuantileValue::AtLeast(value) => value,
        other => panic!("p{q} of a server that hangs is {other:?}"),
    }
}

#[test]
fn a_server_that_hangs_leaves_lower_bounds_only() {
    // The run ends before anything times out: all requests are censored, each at its own age.
    let played = SimPlan::open(100.0, Arrivals::Constant, Nanos::from_secs(4)).play(never);
    played.check();
    assert_eq!((played.sum.due, played.sum.finished, played.sum.censored), (400, 0, 400));
    let bounds = &played.sum.latency.response_at_least;
    // Ages at the end of the drain of one second: 1.01 s, 1.02 s … 5 s.
    assert_eq!((bounds.min(), bounds.max()), (1_010_000_000, 5_000_000_000));
    assert!(at_least(&played, 0.5) >= Nanos::from_millis(2980));
    // With a timeout of 500 ms.
    let scene = SimPlan::open(100.0, Arrivals::Constant, Nanos::from_secs(4));
    let played = scene.with(|p| p.timeout = Nanos::from_millis(500)).play(never);
    played.check();
    assert_eq!((played.sum.finished, played.sum.failures("timeout/")), (0, 400));
    assert!(at_least(&played, 0.5) >= Nanos::from_millis(500));
}

#[test]
fn a_server_that_hangs_for_a_few_hides_nothing() {
    // Every hundredth request is never answered: p99 and all above are bounds, p95 is a number.
    let (mut n, reply) = (0, SimReply::new(200, b"x"));
    let mut brain = Some(move |now: Nanos, _: &ServerRequest<'_>| {
        n += 1;
        (if n % 100 < 2 { Nanos::MAX } else { now + MS }, reply.clone())
    });
    let played = SimPlan::open(1000.0, Arrivals::Constant, Nanos::from_secs(5)).play(|| brain.take().unwrap());
    played.check();
    assert_eq!((played.sum.finished, played.sum.censored), (4900, 100));
    let l = &played.sum.latency;
    assert!(matches!(quantile(&l.response, &l.response_at_least, 0.95).value, QuantileValue::Value(_)));
    assert!(at_least(&played, 0.99) >= SECOND);
}

#[test]
fn service_in_a_faultless_network_is_exact() {
    let played = SimPlan::closed(5, SECOND).play(|| after(MS));
    let l = &played.sum.latency;
    // Opening takes 0.1 ms, the network 0.1 ms, the server 1 ms.
    assert_eq!((l.service.min(), l.service.max()), (1_100_000, 1_200_000));
    assert_eq!((l.connect.count(), l.connect.max()), (5, 100_000));
    assert_eq!((l.first_byte.max(), l.transfer.max()), (1_100_000, 0));
}
