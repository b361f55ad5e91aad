//! Accounting for every request: hundreds of random plans on random networks with random faults, each generated from a
//! seed.

use std::sync::Arc;

use brunt_contract::{BodyFraming, ServerRequest};
use brunt_measure::{Nanos, Rng};
use brunt_plan::{Arrivals, Load, Stage};
use brunt_sim::{FakeFailure, ReplyFault, SimDelay, SimInterval, SimReply};

use super::harness::{MS, SECOND, SimPlan, SimResult, US, each_seed};

/// Returns one of the choices at random, each equally likely.
fn one_of<T: Copy>(rng: &mut Rng, choices: &[T]) -> T {
    choices[rng.below(choices.len() as u64) as usize]
}

fn chance(rng: &mut Rng, p: f64) -> bool {
    rng.f64() < p
}

fn span(rng: &mut Rng, longest: Nanos) -> Nanos {
    Nanos(rng.below(longest.0) + 1)
}

fn random_load(rng: &mut Rng) -> Load {
    let level = |rng: &mut Rng, most: u64| (rng.below(most) + 1) as f64;
    let stages = |rng: &mut Rng, most: u64| {
        let count = one_of(rng, &[1, 1, 1, 2, 3]);
        let mut stages = Vec::new();
        for _ in 0..count {
            let from = level(rng, most);
            let to = if count == 1 || chance(rng, 0.5) { from } else { level(rng, most) };
            stages.push(Stage { lasts: span(rng, Nanos::from_millis(1500)), from, to });
        }
        stages
    };
    if chance(rng, 0.5) {
        let arrivals = one_of(rng, &[Arrivals::Poisson, Arrivals::Constant, Arrivals::Burst]);
        Load::Open { stages: stages(rng, 400), arrivals }
    } else {
        let think = chance(rng, 0.4).then(|| (MS, Nanos::from_millis(1 + rng.below(60))));
        Load::Closed { stages: stages(rng, 40), think, together: false }
    }
}

/// Creates a random plan, including TLS, keep-alive and redirects.
fn random_scene(seed: u64) -> SimPlan {
    let mut rng = Rng::new(seed);
    let rng = &mut rng;
    let mut scene = SimPlan::closed(1, SECOND);
    let plan = &mut scene.plan;
    plan.seed = seed;
    plan.load = random_load(rng);
    plan.duration = chance(rng, 0.6).then(|| span(rng, Nanos::from_secs(3)));
    plan.requests = chance(rng, 0.3).then(|| 1 + rng.below(500));
    plan.warmup = if chance(rng, 0.3) { span(rng, SECOND) } else { Nanos::ZERO };
    plan.drain = one_of(rng, &[Nanos::ZERO, MS, SECOND, Nanos::from_secs(5)]);
    plan.timeout = one_of(rng, &[Nanos::from_millis(20), Nanos::from_millis(200), Nanos::from_secs(10)]);
    plan.connect_timeout = one_of(rng, &[Nanos::from_millis(20), Nanos::from_secs(5)]);
    plan.max_connections = one_of(rng, &[1, 2, 8, 1000]);
    plan.workers = one_of(rng, &[1, 1, 2, 3]);
    let scheme = one_of(rng, &["http", "http", "https"]);
    let hosts = one_of(rng, &[1, 1, 2, 3]);
    let urls: Vec<(String, f64)> = (0..hosts).map(|i| (format!("{scheme}://host{i}/{i}"), 1.0 + i as f64)).collect();
    let urls: Vec<(&str, f64)> = urls.iter().map(|(u, w)| (u.as_str(), *w)).collect();
    scene = scene.urls(&urls);
    if chance(rng, 0.25) {
        scene = scene.option("no-keepalive", "");
    }
    if chance(rng, 0.3) {
        scene = scene.option("redirects", "2");
    }
    if chance(rng, 0.2) {
        scene.stop_at = Some(scene.sim.starts_at + span(rng, Nanos::from_secs(2)));
    }
    scene
}

/// Adds network faults, and CPU time used by the generator.
fn with_faults(mut scene: SimPlan, seed: u64) -> SimPlan {
    let mut rng = Rng::new(seed ^ 0xfa17);
    let rng = &mut rng;
    let often = |rng: &mut Rng, p: f64| if chance(rng, 0.4) { p * rng.f64() } else { 0.0 };
    let sim = &mut scene.sim;
    sim.latency = SimDelay { fixed: span(rng, MS), jitter: if chance(rng, 0.5) { span(rng, MS) } else { Nanos::ZERO } };
    (sim.split, sim.merge) = (often(rng, 1.0), often(rng, 1.0));
    (sim.loss, sim.reset, sim.refuse) = (often(rng, 0.05), often(rng, 0.05), often(rng, 0.3));
    sim.read_size = one_of(rng, &[1, 7, 65536]);
    sim.max_descriptors = chance(rng, 0.3).then(|| 1 + rng.below(20) as usize);
    sim.max_ports = chance(rng, 0.2).then(|| 1 + rng.below(50) as usize);
    sim.time_wait = one_of(rng, &[MS, Nanos::from_millis(300), Nanos::from_secs(60)]);
    if chance(rng, 0.3) {
        let from = sim.starts_at + span(rng, SECOND);
        sim.outages.push(SimInterval { from, to: from + span(rng, SECOND) });
    }
    if chance(rng, 0.5) {
        (sim.clock_cost, sim.send_cost, sim.event_cost) = (Nanos(20), span(rng, US), span(rng, US));
        (sim.connect_cost, sim.wait_cost) = (span(rng, Nanos(30_000)), span(rng, US));
    }
    if chance(rng, 0.2) {
        let from = sim.starts_at + span(rng, SECOND);
        sim.pauses.push(SimInterval { from, to: from + span(rng, Nanos::from_millis(400)) });
    }
    let failures = [
        FakeFailure::BadName,
        FakeFailure::BadCertificate,
        FakeFailure::Refused,
        FakeFailure::NoTls,
        FakeFailure::Silent,
        FakeFailure::DamagedRecord,
    ];
    scene.security.failure = chance(rng, 0.4).then(|| (one_of(rng, &failures), 1 + rng.below(6)));
    scene.security.round_trips = one_of(rng, &[1, 2]);
    scene.security.resume = chance(rng, 0.5);
    scene.sim.bandwidth = chance(rng, 0.2).then(|| 20_000 + rng.below(10_000_000));
    scene.sim.window = chance(rng, 0.2).then(|| 1 + rng.below(3000) as usize);
    if chance(rng, 0.3) {
        scene = scene.option("data", &"d".repeat(rng.below(10_000) as usize));
    }
    if chance(rng, 0.2) {
        scene.plan.slack = span(rng, Nanos::from_millis(2));
    }
    scene
}

/// Maximum number of pieces in which a body is read; more would reveal nothing new, and dominate the run time of the
/// test.
const PIECES: usize = 300;

/// Creates a server that makes every kind of mistake, with a frequency of `trouble`. Its bodies are at most `longest`
/// bytes long.
fn random_brain(
    seed: u64,
    trouble: f64,
    longest: usize,
) -> impl FnMut(Nanos, &ServerRequest<'_>) -> (Nanos, SimReply) + Send + Clone + 'static {
    let mut rng = Rng::new(seed ^ 0xb4a1);
    let mean = one_of(&mut rng, &[US, Nanos::from_millis(2), Nanos::from_millis(20)]);
    let hops = one_of(&mut rng, &[0.0, 0.3]);
    move |now, ask| {
        let rng = &mut rng;
        let mut due = now + Nanos((mean.0 as f64 * rng.exponential()) as u64);
        let body = vec![b'x'; one_of(rng, &[0, 1, 1000, 20_000]).min(longest)];
        let mut reply = SimReply::new(one_of(rng, &[200, 200, 204, 404, 503]), &body);
        if reply.status == 204 {
            reply.body = Arc::default();
        }
        if chance(rng, hops) && !ask.path.starts_with("/hop/hop") {
            let status = one_of(rng, &[301, 302, 307]);
            reply = SimReply { status, ..reply };
            let to = one_of(rng, &["", "//elsewhere", "//host1"]);
            reply.headers = Arc::from(format!("location: {to}/hop{}\r\n", ask.path).as_bytes());
        }
        if reply.status != 204 {
            reply.shape = one_of(rng, &[BodyFraming::Length, BodyFraming::Chunked(700), BodyFraming::UntilClose]);
        }
        reply.close = chance(rng, 0.1);
        if chance(rng, trouble) {
            reply.mishap = Some(match rng.below(7) {
                0 => ReplyFault::Reset,
                1 => ReplyFault::Close,
                2 => ReplyFault::Cut(rng.below(200) as usize),
                3 => ReplyFault::CutReset(rng.below(200) as usize),
                4 => ReplyFault::Garbage(Arc::from(&b"\x16\x03 garbage\r\n\r\n"[..])),
                5 => ReplyFault::Surplus(Arc::from(&b"more"[..])),
                _ => {
                    due = Nanos::MAX;
                    return (due, reply);
                }
            });
        }
        (due, reply)
    }
}

fn play(seed: u64, faults: bool) -> SimResult {
    let mut scene = random_scene(seed);
    if faults {
        scene = with_faults(scene, seed);
    } else if !seed.is_multiple_of(8) {
        // Without latency, there would be half a million requests per second.
        scene.sim.latency = SimDelay::fixed(MS);
    }
    let (mut worker, longest) = (0, scene.sim.read_size.saturating_mul(PIECES));
    scene.play(|| {
        worker += 1;
        random_brain(seed.wrapping_mul(31) + worker, if faults { 0.1 } else { 0.0 }, longest)
    })
}

#[test]
fn random_plans_with_random_faults_account_for_every_request() {
    each_seed(0..400, |seed| play(seed, true).check());
}

#[test]
fn random_plans_on_a_faultless_network_account_for_every_request() {
    each_seed(1000..1200, |seed| {
        let played = play(seed, false);
        played.check();
        let s = &played.sum;
        let cut = s.censored + s.failures("timeout") > 0;
        if !cut && played.ended.reason == brunt_record::End::Completed {
            assert_eq!(
                played.heard,
                s.finished + s.failed + s.hops + s.warmup,
                "nothing was cut: our count is the server's"
            );
        }
    });
}

#[test]
fn the_same_seed_is_the_same_run() {
    each_seed(2000..2020, |seed| {
        let (one, two) = (play(seed, true), play(seed, true));
        assert_eq!(one.timeless(), two.timeless());
        assert_eq!(one.examples, two.examples);
        assert_eq!(one.ended, two.ended);
    });
}
