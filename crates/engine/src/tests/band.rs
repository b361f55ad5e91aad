//! The band of each latency (docs/measurement.md 2.5): whatever disturbs the generator or the server, the true quantiles,
//! as the server knows them, lie between those with and without the delays that may be brunt's own.

use std::sync::{Arc, Mutex};

use brunt_contract::ServerRequest;
use brunt_measure::random::Rng;
use brunt_measure::{Histogram, Nanos, PackedHistogram};
use brunt_plan::flow::{Flow, OnFailure, Pause, Step};
use brunt_plan::{Arrivals, Load, Share, WeightedUrl};
use brunt_record::{Latency, NamedFigures};
use brunt_sim::{SimDelay, SimInterval, SimReply};

use super::harness::{MS, SECOND, SimPlan, SimResult, US, each_seed};
use super::queueing_laws::StallLaw;

/// Times of one request, as the server knows them.
#[derive(Clone, Copy, Debug)]
struct ServedRequest {
    /// Index of its name.
    name: u16,
    came: Nanos,
    /// Time at which the last byte of the response was in the client's socket.
    answered: Nanos,
}

type ServedLog = Arc<Mutex<Vec<ServedRequest>>>;

/// One-way latency of the network.
const WAY: Nanos = Nanos(1);

/// Returns a server whose service takes `service` of a random number from 0 to 1; it does nothing in its stalls.
fn server<S: Fn(f64) -> Nanos + Send + 'static>(
    log: &ServedLog,
    stalls: &[SimInterval],
    service: S,
    seed: u64,
) -> impl FnMut(Nanos, &ServerRequest<'_>) -> (Nanos, SimReply) + Send + use<S> {
    let (log, stalls, mut rng) = (Arc::clone(log), stalls.to_vec(), Rng::new(seed));
    let reply = SimReply::new(200, b"x");
    move |now, ask| {
        let stalled = |at: Nanos| stalls.iter().find(|s| s.from <= at && at < s.to).map_or(at, |s| s.to);
        let due = stalled(stalled(now) + service(rng.f64()));
        let name = u16::from(ask.path == "/b");
        log.lock().unwrap().push(ServedRequest { name, came: now, answered: due + WAY });
        (due, reply.clone())
    }
}

/// Makes the network and its connections immediate.
fn near(scene: SimPlan) -> SimPlan {
    scene.on(|sim| {
        sim.latency = SimDelay::fixed(WAY);
        sim.connect_delay = SimDelay::fixed(Nanos(2));
    })
}

/// Returns random intervals within the first `lasts` of the run.
fn intervals(rng: &mut Rng, scene: &SimPlan, lasts: Nanos, every: Nanos, length: Nanos) -> Vec<SimInterval> {
    let mut all = Vec::new();
    let mut from = scene.sim.starts_at + MS;
    loop {
        from += Nanos((every.0 as f64 * rng.exponential()) as u64) + MS;
        let to = from + US + Nanos((length.0 as f64 * rng.exponential()) as u64);
        if to > scene.sim.starts_at + lasts {
            return all;
        }
        all.push(SimInterval { from, to });
        from = to;
    }
}

/// A histogram, and the same without the delays that may be brunt's own.
#[derive(Debug)]
struct BandUnderTest {
    most: Histogram,
    least: Histogram,
}

impl BandUnderTest {
    fn of(whole: &Histogram, delayed: &Histogram, undelayed: &Histogram) -> BandUnderTest {
        BandUnderTest { most: whole.clone(), least: whole.with_replaced(delayed, undelayed) }
    }

    fn response(l: &Latency) -> BandUnderTest {
        BandUnderTest::of(&l.response, &l.response_delayed, &l.response_undelayed)
    }

    fn service(l: &Latency) -> BandUnderTest {
        BandUnderTest::of(&l.service, &l.service_delayed, &l.service_undelayed)
    }

    fn named(played: &SimResult, name: u16) -> BandUnderTest {
        let mut all = NamedFigures::default();
        let rows = played.seconds.iter().flat_map(|s| &s.named).filter(|named| named.name == name);
        rows.for_each(|named| all.merge(named));
        let read = |packed: &PackedHistogram| {
            let mut histogram = Histogram::new();
            packed.add_to(&mut histogram);
            histogram
        };
        BandUnderTest::of(&read(&all.latency), &read(&all.latency_delayed), &read(&all.latency_undelayed))
    }

    fn at(&self, q: f64) -> (Nanos, Nanos) {
        let at = |h: &Histogram| h.at_rank(rank(h.count(), q)).unwrap_or_default();
        (at(&self.least), at(&self.most))
    }

    /// Checks that the quantiles of the true values, of which there are as many, lie within the band; `unproved` is
    /// what brunt does not count as a delay.
    #[track_caller]
    fn holds(&self, mut truth: Vec<Nanos>, unproved: Nanos, what: &str) {
        truth.sort_unstable();
        assert_eq!(self.most.count(), truth.len() as u64, "{what}");
        assert_eq!(self.least.count(), truth.len() as u64, "{what}");
        for q in [0.5, 0.9, 0.99, 0.999] {
            let (known, (least, most)) = (truth[rank(truth.len() as u64, q) as usize - 1], self.at(q));
            let bucket = Nanos(known.0 / 100);
            assert!(least <= known + bucket + unproved, "{what} p{q}: {least:?} is above {known:?}, {most:?}");
            assert!(most + bucket >= known, "{what} p{q}: {most:?} is below {known:?}");
        }
    }

    /// Checks that brunt has delayed nothing, as far as a bucket and the shortest waits show.
    #[track_caller]
    fn has_no_width(&self, what: &str) {
        for q in [0.5, 0.99, 0.999] {
            let (least, most) = self.at(q);
            assert!(most - least <= Nanos(least.0 / 50) + Nanos::from_micros(10), "{what} p{q}: {least:?} to {most:?}");
        }
    }
}

fn rank(count: u64, q: f64) -> u64 {
    (count as f64 * q).ceil() as u64
}

/// Returns the time that brunt counts as no delay: its resolution.
fn resolution(played: &SimResult) -> Nanos {
    Nanos(played.seconds.iter().map(|s| s.generator.resolution_ns).max().unwrap_or_default())
}

/// Returns when the requests of an open load were due.
fn due_times(scene: &SimPlan) -> Vec<Nanos> {
    let plan = &scene.plan;
    let began = scene.sim.starts_at + MS;
    let mut due = brunt_load::arrivals(&plan.load, Nanos::ZERO, None, plan.duration, Share::WHOLE, plan.seed);
    std::iter::from_fn(|| due.next_due()).map(|at| began + at).collect()
}

fn chance(rng: &mut Rng, p: f64) -> bool {
    rng.f64() < p
}

/// Creates a load of a second or two: constant, Poisson or of users, in each of which what may differ is drawn.
fn random_load(rng: &mut Rng, seed: u64) -> SimPlan {
    let lasts = SECOND + Nanos(rng.below(1_000_000_000));
    let rate = 100.0 + 900.0 * rng.f64();
    let mut scene = near(match rng.below(3) {
        0 => SimPlan::open(rate, Arrivals::Constant, lasts),
        1 => SimPlan::open(rate, Arrivals::Poisson, lasts),
        _ => SimPlan::closed(1 + rng.below(10) as u32, lasts),
    });
    (scene.plan.seed, scene.plan.drain) = (seed, Nanos::from_secs(9));
    if chance(rng, 0.3) {
        scene.plan.max_connections = 2 + rng.below(9) as u32;
    }
    let scheme = if chance(rng, 0.2) { "https" } else { "http" };
    let urls = [(format!("{scheme}://test/a"), 1.0), (format!("{scheme}://test/b"), 3.0)];
    let urls: Vec<(&str, f64)> = urls[..1 + rng.below(2) as usize].iter().map(|(u, w)| (u.as_str(), *w)).collect();
    scene = scene.urls(&urls);
    if chance(rng, 0.2) {
        scene = scene.option("no-keepalive", "");
    } else if matches!(scene.plan.load, Load::Open { .. }) {
        // Connections that no request opens for itself are in no service time, however long that takes.
        scene.sim.connect_delay = SimDelay::fixed(Nanos(2 + rng.below(1_000_000)));
    }
    if chance(rng, 0.4) {
        let sim = &mut scene.sim;
        (sim.clock_cost, sim.send_cost, sim.event_cost) = (Nanos(20), Nanos(rng.below(4_000)), Nanos(rng.below(2_000)));
        (sim.connect_cost, sim.wait_cost) = (Nanos(rng.below(20_000)), US);
        sim.oversleep = SimDelay { fixed: Nanos(rng.below(60_000)), jitter: Nanos(rng.below(20_000)) };
    }
    scene
}

/// Checks the bands of a run against the server's log.
fn check_bands(scene: &SimPlan, played: &SimResult, log: &ServedLog, disturbed: bool) {
    played.check();
    let log = std::mem::take(&mut *log.lock().unwrap());
    let l = &played.sum.latency;
    // One reading of the clock serves for system calls of 20 µs, and in waits of less than 50 µs nothing is counted.
    let mut unproved = resolution(played) + Nanos::from_micros(20 + 50);
    if !scene.sim.pauses.is_empty() && !scene.sim.pauses_count {
        // A stop that is over before a wait should have ended leaves no sign: waits are an eighth of a usual service.
        let usual = BandUnderTest::service(l).at(0.9).1;
        unproved += Nanos((usual.0 / 8).clamp(500_000, 10_000_000));
    }
    let open = matches!(scene.plan.load, Load::Open { .. });
    let service: Vec<(u16, Nanos)> = log.iter().map(|r| (r.name, r.answered - (r.came - WAY))).collect();
    BandUnderTest::service(l).holds(service.iter().map(|s| s.1).collect(), unproved, "service");
    let mut shown = service;
    if open {
        // Requests are sent in the order in which they are due.
        let due = due_times(scene);
        assert_eq!(due.len(), log.len());
        shown = due.iter().zip(&log).map(|(due, r)| (r.name, r.answered - *due)).collect();
        BandUnderTest::response(l).holds(shown.iter().map(|s| s.1).collect(), unproved, "response");
    }
    if scene.plan.urls.len() > 1 {
        for name in 0..2 {
            let of = shown.iter().filter(|s| s.0 == name).map(|s| s.1).collect();
            BandUnderTest::named(played, name).holds(of, unproved, "a name");
        }
    }
    if !disturbed && scene.sim.wait_cost == Nanos::ZERO {
        BandUnderTest::service(l).has_no_width("service");
        BandUnderTest::response(l).has_no_width("response");
    }
}

/// Number of seeds: `BAND_SEEDS`, or few, for every change.
fn seeds() -> std::ops::Range<u64> {
    let many = std::env::var("BAND_SEEDS").ok().and_then(|many| many.parse().ok());
    1..many.unwrap_or(100) + 1
}

/// Plays a load whose server, generator, both or neither stand still now and then, and checks its bands.
fn stand_still(seed: u64) {
    let rng = &mut Rng::new(seed);
    let mut scene = random_load(rng, seed);
    let lasts = scene.plan.duration.unwrap_or_default();
    let length = [MS, Nanos::from_millis(10), Nanos::from_millis(100)][rng.below(3) as usize];
    let (of_server, of_generator) = (chance(rng, 0.5), chance(rng, 0.66));
    let mut stalls = Vec::new();
    if of_server {
        stalls = intervals(rng, &scene, lasts, Nanos(length.0 * 5), length);
    }
    if of_generator {
        let every = Nanos(length.0 * (2 + rng.below(10)));
        scene.sim.pauses = intervals(rng, &scene, lasts, every, length);
        (scene.sim.pauses_count, scene.sim.pauses_interrupt) = (chance(rng, 0.5), chance(rng, 0.5));
    }
    let usual = US.0 * [100, 1_000, 5_000][rng.below(3) as usize];
    let constant = chance(rng, 0.5);
    let service = move |drawn: f64| Nanos(if constant { usual } else { (usual as f64 * -(1.0 - drawn).ln()) as u64 });
    let log = ServedLog::default();
    let played = scene.play(|| server(&log, &stalls, service, seed));
    check_bands(&scene, &played, &log, of_generator);
}

#[test]
fn the_band_holds_the_truth_whoever_stands_still() {
    each_seed(seeds(), stand_still);
    // Stops that were shorter than a tenth of a service time, and turns that a backlog made long.
    [238, 254, 946].into_iter().for_each(|seed| each_seed(seed..seed + 1, stand_still));
}

/// Returns stops of `length` every `every`.
fn regularly(scene: &SimPlan, every: Nanos, length: Nanos, lasts: Nanos) -> Vec<SimInterval> {
    let stops = 1..lasts.0 / every.0;
    // In the middle of a gap between two arrivals of a constant load.
    let from = |n: u64| scene.sim.starts_at + MS + Nanos(every.0 * n) + Nanos(500_123);
    stops.map(|n| SimInterval { from: from(n), to: from(n) + length }).collect()
}

#[test]
fn a_generator_that_stops_follows_the_law_of_a_stall_and_without_its_stops_there_is_only_service() {
    let service = Nanos::from_millis(2);
    for (every, length) in [(1_000, 100), (500, 50), (200, 30)] {
        let (every, length, lasts) = (Nanos::from_millis(every), Nanos::from_millis(length), Nanos::from_secs(10));
        let mut scene = near(SimPlan::open(1000.0, Arrivals::Constant, lasts));
        scene.sim.pauses = regularly(&scene, every, length, lasts);
        let law = StallLaw {
            rate: 1000.0,
            // The server has no queue: its capacity has no bound.
            capacity: 1e12,
            run: lasts.as_secs_f64() / scene.sim.pauses.len() as f64,
            stall: length.as_secs_f64(),
        };
        let log = ServedLog::default();
        let played = scene.play(|| server(&log, &[], move |_| service, 1));
        check_bands(&scene, &played, &log, true);
        let band = BandUnderTest::response(&played.sum.latency);
        for q in [0.5, 0.95, 0.99, 0.999] {
            let ((least, most), law) = (band.at(q), law.quantile(q) + service.as_secs_f64());
            let near = |found: Nanos, known: f64, room: f64| (found.as_secs_f64() - known).abs() <= 0.01 * known + room;
            // What was under way when the worker stopped is late as well: the stall is longer by a service time.
            assert!(
                near(most, law, 0.001 + service.as_secs_f64()),
                "p{q} of {length:?} each {every:?}: {most:?}, by the law {law}"
            );
            assert!(near(least, service.as_secs_f64(), 2e-5), "p{q} of {length:?} each {every:?}: {least:?}");
        }
    }
}

#[test]
fn a_server_that_stops_leaves_the_band_without_width() {
    let lasts = Nanos::from_secs(10);
    for arrivals in [Arrivals::Constant, Arrivals::Poisson] {
        let scene = near(SimPlan::open(1000.0, arrivals, lasts));
        let stalls = regularly(&scene, SECOND, Nanos::from_millis(100), lasts);
        let log = ServedLog::default();
        let played = scene.play(|| server(&log, &stalls, |_| MS, 1));
        check_bands(&scene, &played, &log, false);
        assert!(BandUnderTest::response(&played.sum.latency).at(0.99).0 > Nanos::from_millis(80));
    }
}

#[test]
fn arrivals_that_wait_for_a_connection_inherit_the_delay_of_what_freed_it() {
    // Two connections of 2 ms each serve 900/s: after a stop, the backlog lasts for nine times as long.
    for reuse in [true, false] {
        let lasts = Nanos::from_secs(5);
        let mut scene = near(SimPlan::open(900.0, Arrivals::Constant, lasts)).with(|p| p.max_connections = 2);
        if !reuse {
            scene = scene.option("no-keepalive", "");
        }
        scene.sim.pauses = regularly(&scene, SECOND, Nanos::from_millis(30), lasts);
        let log = ServedLog::default();
        let played = scene.play(|| server(&log, &[], |_| Nanos::from_millis(2), 1));
        check_bands(&scene, &played, &log, true);
        let (least, most) = BandUnderTest::response(&played.sum.latency).at(0.9);
        // Without the stops, no arrival waits: of any three in a row, the first has ended before the third is due.
        assert!(least <= Nanos::from_micros(2_060), "{least:?}");
        assert!(most >= Nanos::from_millis(15), "{most:?}");
    }
}

#[test]
fn a_flow_is_without_its_delays_as_long_as_its_steps_and_pauses() {
    let send = |url| Step::Request { url, on_failure: OnFailure::default() };
    let pause = Step::Pause(Pause::Uniform { from: Nanos::from_millis(7), to: Nanos::from_millis(7) });
    let batch = || Step::Batch { urls: vec![0, 1, 0, 1, 0], at_most: 2, on_failure: OnFailure::default(), own: vec![] };
    for (steps, lasts) in [(vec![send(0), pause, send(1)], 11), (vec![send(0), batch(), send(1)], 10)] {
        for open in [true, false] {
            let (run, truth) = (Nanos::from_secs(4), Nanos::from_millis(lasts));
            let mut scene = near(match open {
                true => SimPlan::open(100.0, Arrivals::Poisson, run),
                false => SimPlan::closed(5, run),
            });
            let url = |name: &str| WeightedUrl {
                name: Some(name.into()),
                ..WeightedUrl::plain(format!("http://test/{name}"))
            };
            scene.plan.urls = vec![url("a"), url("b")].into();
            scene.plan.flow = Some(Flow { steps: steps.clone(), ..Flow::default() });
            scene.sim.pauses = regularly(&scene, Nanos::from_millis(200), Nanos::from_millis(40), run);
            let log = ServedLog::default();
            let played = scene.play(|| server(&log, &[], |_| Nanos::from_millis(2), 1));
            let band = BandUnderTest::named(&played, 2);
            band.holds(vec![truth; band.most.count() as usize], resolution(&played), "iterations");
            let (least, most) = band.at(0.99);
            assert!(least.0 >= truth.0 * 3 / 4, "{least:?}: at most what a stop was long is brunt's own");
            assert!(most > Nanos::from_millis(30), "{most:?}");
        }
    }
}
