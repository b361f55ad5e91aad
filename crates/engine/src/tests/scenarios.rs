//! Concurrent scenarios: counts are exact for any number of workers, and no scenario waits for the server of another.

use std::collections::BTreeMap;

use brunt_contract::ServerRequest;
use brunt_measure::{Histogram, Nanos};
use brunt_plan::flow::{Branch, Flow, NamedFlow, OnFailure, Pause, Step};
use brunt_plan::scenarios::{ScenarioPlan, total_load};
use brunt_plan::{Arrivals, Load, Stage, WeightedUrl};
use brunt_record::NamedFigures;
use brunt_sim::{SimReply, SimSettings};

use super::harness::{MS, SECOND, SimPlan, after, each_seed};
use super::sim_result::SimResult;

/// Number of names in these tests: `/a` and `/b`.
const NAMES: u16 = 2;

fn send(url: u32) -> Step {
    Step::Request { url, on_failure: OnFailure::default() }
}

fn pause(millis: u64) -> Step {
    let time = Nanos::from_millis(millis);
    Step::Pause(Pause::Uniform { from: time, to: time })
}

/// Creates a scenario that lasts as long as its load, with defaults for everything else.
pub fn scenario(name: &str, load: Load, steps: Vec<Step>) -> ScenarioPlan {
    let lasts = load.stages().iter().fold(Nanos::ZERO, |sum, stage| sum + stage.lasts);
    ScenarioPlan {
        name: name.into(),
        load,
        start: Nanos::ZERO,
        duration: Some(lasts),
        iterations: None,
        iterations_per_user: None,
        graceful_stop: SECOND,
        spawn_rate: None,
        max_users: None,
        max_connections: 100,
        flow: Flow { steps, ..Flow::default() },
    }
}

fn users(level: u32, lasts: Nanos) -> Load {
    let level = f64::from(level);
    Load::Closed { stages: vec![Stage { lasts, from: level, to: level }], think: None, together: false }
}

fn rate(level: f64, lasts: Nanos, arrivals: Arrivals) -> Load {
    Load::Open { stages: vec![Stage { lasts, from: level, to: level }], arrivals }
}

fn scene(scenarios: Vec<ScenarioPlan>) -> SimPlan {
    SimPlan::closed(1, SECOND).with(|plan| {
        let url = |path: &str, name: &str| WeightedUrl { name: Some(name.into()), ..WeightedUrl::plain(path) };
        plan.urls = vec![url("http://one/a", "a"), url("http://two/b", "b")].into();
        (plan.load, plan.duration) = (total_load(&scenarios), None);
        plan.scenarios = scenarios;
    })
}

/// The result of a scenario.
#[derive(Debug)]
struct ScenarioResult {
    /// Numbers of iterations due, succeeded, failed, cut and dropped.
    iterations: [u64; 5],
    took: Histogram,
    at_least: Histogram,
    /// Numbers of requests due, succeeded, failed and unfinished.
    requests: [u64; 4],
    /// Sum of the users at the end of each second.
    users: u64,
    /// Time integral of its users, in user-nanoseconds.
    users_ns: u64,
}

/// Returns the result of a scenario by its number, among `of` scenarios without groups.
fn scenario_result(played: &SimResult, number: u16, of: u16) -> ScenarioResult {
    let mut rows = BTreeMap::<u16, NamedFigures>::new();
    for named in played.seconds.iter().flat_map(|second| &second.named) {
        rows.entry(named.name).or_default().merge(named);
    }
    let row = |at: u16| rows.get(&at).cloned().unwrap_or_default();
    let (span, sum) = (row(NAMES + 2 * number), row(NAMES + 2 * of + number));
    let histogram = |packed: &brunt_measure::PackedHistogram| {
        let mut histogram = Histogram::new();
        packed.add_to(&mut histogram);
        histogram
    };
    let counts = &span.counts;
    ScenarioResult {
        iterations: [counts.due, counts.finished, counts.failed, counts.censored, counts.dropped],
        took: histogram(&span.latency),
        at_least: histogram(&span.at_least),
        requests: [sum.counts.due, sum.counts.finished, sum.counts.failed, sum.counts.censored],
        users: sum.counts.users,
        users_ns: sum.counts.users_ns,
    }
}

/// Returns the milliseconds since the run began.
fn since_start(at: Nanos) -> u64 {
    (at - SimSettings::default().starts_at).0 / 1_000_000
}

fn heard(played: &SimResult, path: &str) -> u64 {
    played.asks.iter().filter(|(_, asked)| asked.starts_with(path)).count() as u64
}

#[test]
fn each_counts_what_is_its_own_exactly_with_one_worker_and_with_four() {
    each_seed(1..12, |seed| {
        let four = Nanos::from_secs(4);
        let shop = scenario("shop", rate(50.0, four, Arrivals::Constant), vec![send(0), pause(30), send(0)]);
        let admin = ScenarioPlan { iterations: Some(33), ..scenario("admin", users(5, four), vec![send(1), pause(7)]) };
        for workers in [1, 4] {
            let scene = scene(vec![shop.clone(), admin.clone()]);
            let played = scene.with(|plan| (plan.workers, plan.seed) = (workers, seed)).play(|| after(MS));
            let (shop, admin) = (scenario_result(&played, 0, 2), scenario_result(&played, 1, 2));
            assert_eq!(shop.iterations, [200, 200, 0, 0, 0], "{workers} workers");
            assert_eq!(admin.iterations, [33, 33, 0, 0, 0], "{workers} workers");
            assert_eq!((shop.requests, admin.requests), ([400, 400, 0, 0], [33, 33, 0, 0]));
            assert_eq!((heard(&played, "/a"), heard(&played, "/b")), (400, 33));
            // Little's law for iterations: the mean number of users is the rate of iterations times their duration.
            let (users_ns, lasted) = (shop.users_ns as f64, shop.took.sum() as f64);
            assert!((users_ns / lasted - 1.0).abs() < 0.01, "{users_ns} {lasted}");
            let sum = &played.sum;
            assert_eq!((sum.due, sum.finished, sum.failed, sum.censored), (433, 433, 0, 0));
        }
    });
}

#[test]
fn users_of_each_do_once_what_comes_first_and_last_and_call_the_flows_of_all() {
    let two = Nanos::from_secs(2);
    let call = || Step::Call { flow: "called".into(), with: BTreeMap::new() };
    let called = vec![NamedFlow { name: "called".into(), steps: vec![send(0), pause(3), send(0)] }];
    let flow = |steps, start, end| Flow { steps, start, end, flows: called.clone(), ..Flow::default() };
    let each = ScenarioPlan {
        iterations_per_user: Some(5),
        flow: flow(vec![call()], vec![send(1)], vec![send(1), send(1)]),
        ..scenario("each", users(6, two), vec![])
    };
    let calls = ScenarioPlan {
        flow: flow(vec![send(1), call()], vec![], vec![]),
        ..scenario("calls", rate(40.0, two, Arrivals::Constant), vec![])
    };
    for workers in [1, 2] {
        let played = scene(vec![each.clone(), calls.clone()]).with(|plan| plan.workers = workers).play(|| after(MS));
        let (each, calls) = (scenario_result(&played, 0, 2), scenario_result(&played, 1, 2));
        assert_eq!((each.iterations, calls.iterations), ([30, 30, 0, 0, 0], [80, 80, 0, 0, 0]), "{workers} workers");
        // Six users send three requests plus two per iteration; eighty arrivals send three each.
        assert_eq!((each.requests, calls.requests), ([78, 78, 0, 0], [240, 240, 0, 0]), "{workers} workers");
        assert_eq!((heard(&played, "/a"), heard(&played, "/b")), (60 + 160, 18 + 80));
    }
}

#[test]
fn a_server_that_stands_still_keeps_no_other_scenario_from_its_schedule() {
    let stalls = || {
        move |now: Nanos, ask: &ServerRequest<'_>| {
            // Between the first second and the third, one of them gets no answers.
            let stalled = ask.path == "/a" && (1_000_000_000..3_000_000_000).contains(&now.0);
            (if stalled { Nanos::from_secs(3) } else { now } + MS, SimReply::new(200, b"x"))
        }
    };
    let four = Nanos::from_secs(4);
    let stalled = scenario("a", rate(500.0, four, Arrivals::Constant), vec![send(0)]);
    let other = scenario("b", rate(100.0, four, Arrivals::Constant), vec![send(1)]);
    // The first scenario has no connection left after a fifth of a second.
    let played = scene(vec![stalled, other]).play(stalls);
    let (stalled, other) = (scenario_result(&played, 0, 2), scenario_result(&played, 1, 2));
    assert_eq!((stalled.iterations, other.iterations), ([2000, 2000, 0, 0, 0], [400, 400, 0, 0, 0]));
    assert!(stalled.took.max() > 1_900_000_000, "{}", stalled.took.max());
    assert!(other.took.max() < 5_000_000, "{}", other.took.max());
}

#[test]
fn one_begins_later_and_ends_earlier_and_what_is_left_of_it_is_cut() {
    let long = scenario("long", users(2, Nanos::from_secs(6)), vec![send(0), pause(100)]);
    let short = ScenarioPlan {
        start: Nanos::from_secs(2),
        graceful_stop: Nanos::from_millis(200),
        ..scenario("short", users(3, SECOND), vec![send(1), pause(900), send(1), pause(900)])
    };
    for workers in [1, 2] {
        let played = scene(vec![long.clone(), short.clone()]).with(|plan| plan.workers = workers).play(|| after(MS));
        let short = scenario_result(&played, 1, 2);
        // Each user begins once, sends two requests, and is in the middle of its second pause when the time is over.
        assert_eq!((short.iterations, short.requests), ([3, 0, 0, 3, 0], [6, 6, 0, 0]));
        assert!((1_199_000_000..1_210_000_000).contains(&short.at_least.max()), "{}", short.at_least.max());
        let asked: Vec<Nanos> = played.asks.iter().filter(|(_, path)| path == "/b").map(|(at, _)| *at).collect();
        assert!(asked.iter().all(|at| (2_000..3_000).contains(&since_start(*at))), "{asked:?}");
        assert!(scenario_result(&played, 0, 2).iterations[1] > 100, "the other goes on");
        // Three users at the end of the one second in which they were running.
        assert_eq!(short.users, 3);
        // They ran until they were cut.
        assert!((3_590_000_000..3_620_000_000).contains(&short.users_ns), "{}", short.users_ns);
    }
}

#[test]
fn a_request_that_is_cut_is_unfinished() {
    let slow = |now: Nanos, ask: &ServerRequest<'_>| {
        (now + if ask.path == "/b" { Nanos::from_secs(3) } else { MS }, SimReply::new(200, b"x"))
    };
    let long = scenario("long", users(1, Nanos::from_secs(5)), vec![send(0), pause(50)]);
    let short = scenario("short", users(4, SECOND), vec![send(1)]);
    let played = scene(vec![long, short]).play(|| slow);
    let short = scenario_result(&played, 1, 2);
    assert_eq!((short.iterations, short.requests), ([4, 0, 0, 4, 0], [4, 0, 0, 4]));
    assert_eq!((played.sum.due, played.sum.censored), (played.sum.finished + 4, 4));
}

#[test]
fn arrivals_beyond_the_users_there_may_be_are_dropped_and_counted() {
    let visits = scenario("visits", rate(10.0, Nanos::from_secs(2), Arrivals::Constant), vec![send(0), pause(449)]);
    let visits = ScenarioPlan { max_users: Some(3), ..visits };
    let played = scene(vec![visits]).play(|| after(MS));
    // Each visit takes 450 ms, and of the five arrivals in that time only three may begin.
    let visits = scenario_result(&played, 0, 1);
    let [due, finished, failed, cut, dropped] = visits.iterations;
    assert_eq!((due, failed, cut), (20, 0, 0));
    assert_eq!((finished, dropped), (12, 8));
    assert_eq!(visits.requests, [12, 12, 0, 0]);
}

#[test]
fn each_user_has_so_many_iterations_and_they_come_at_a_rate() {
    let each = ScenarioPlan {
        iterations_per_user: Some(4),
        duration: None,
        spawn_rate: Some(10.0),
        ..scenario("each", users(6, Nanos::from_secs(86_400)), vec![send(0)])
    };
    for workers in [1, 2, 3] {
        let played = scene(vec![each.clone()]).with(|plan| plan.workers = workers).play(|| after(MS));
        let came = scenario_result(&played, 0, 1);
        assert_eq!(came.iterations, [24, 24, 0, 0, 0]);
        // A user starts every tenth of a second, whichever worker it belongs to, and runs until its four iterations are
        // over.
        let tenths = played.asks.iter().fold([0; 7], |mut tenths, (at, _)| {
            tenths[(since_start(*at) as usize / 100).min(6)] += 1;
            tenths
        });
        assert_eq!(tenths, [4, 4, 4, 4, 4, 4, 0], "{workers} workers");
        assert!((20_000_000..40_000_000).contains(&came.users_ns), "{} with {workers} workers", came.users_ns);
    }
}

#[test]
fn users_are_counted_from_when_they_start() {
    let four = Nanos::from_secs(4);
    let slow = ScenarioPlan { spawn_rate: Some(4.0), ..scenario("slow", users(10, four), vec![send(0), pause(50)]) };
    for workers in [1, 3] {
        let played = scene(vec![slow.clone()]).with(|plan| plan.workers = workers).play(|| after(MS));
        // A quarter of a second apart: 4 + 3.75 + … + 1.75 user-seconds, and the iterations in progress at the end.
        let users_ns = scenario_result(&played, 0, 1).users_ns as f64 / 1e9;
        assert!((28.7..29.4).contains(&users_ns), "{users_ns} user-seconds with {workers} workers");
    }
}

#[test]
fn the_iterations_of_the_warm_up_are_in_no_number_of_iterations() {
    let all_day = Nanos::from_secs(86_400);
    let begun =
        |name, url| ScenarioPlan { duration: None, ..scenario(name, users(3, all_day), vec![send(url), pause(19)]) };
    let each = ScenarioPlan { iterations_per_user: Some(20), ..begun("each", 0) };
    let all = ScenarioPlan { iterations: Some(60), ..begun("all", 1) };
    for workers in [1, 2] {
        let scene = scene(vec![each.clone(), all.clone()]);
        let played = scene.with(|plan| (plan.workers, plan.warmup) = (workers, SECOND)).play(|| after(MS));
        let [each, all] = [0, 1].map(|number| scenario_result(&played, number, 2));
        assert_eq!((each.iterations, all.iterations), ([60, 60, 0, 0, 0], [60, 60, 0, 0, 0]), "{workers} workers");
        assert!(heard(&played, "/a") > 180, "as many again before, and more");
    }
}

#[test]
fn littles_law_holds_for_the_iterations_of_each() {
    let ten = Nanos::from_secs(10);
    let at_once =
        |all: Vec<ScenarioPlan>| all.into_iter().map(|s| ScenarioPlan { graceful_stop: Nanos::ZERO, ..s }).collect();
    let all: Vec<ScenarioPlan> = at_once(vec![
        scenario("closed", users(20, ten), vec![send(0), pause(30), send(0)]),
        scenario("open", rate(40.0, ten, Arrivals::Poisson), vec![send(1), pause(250)]),
    ]);
    let played = scene(all).play(|| after(Nanos::from_millis(7)));
    let (closed, open) = (scenario_result(&played, 0, 2), scenario_result(&played, 1, 2));
    let at_a_time = |came: &ScenarioResult| (came.took.sum() + came.at_least.sum()) as f64 / 10e9;
    assert!((at_a_time(&closed) - 20.0).abs() < 0.1, "{} users", at_a_time(&closed));
    // λ·W, for Poisson arrivals in ten seconds.
    let mean = open.iterations[0] as f64 / 10.0 * 0.257;
    assert!((at_a_time(&open) - mean).abs() < 0.2, "{} users, {mean} expected", at_a_time(&open));
}

/// Checks two scenarios, each with its own queue: both steps of each behave as if its M/M/1 queue were alone.
#[test]
fn two_steps_at_a_queue_take_as_long_beside_another_scenario_as_theory_says() {
    let (service, lasts) = (0.01, Nanos::from_secs(1500));
    let queue = move || {
        let (mut rng, mut free) = (brunt_measure::Rng::new(7), [Nanos::ZERO; 2]);
        move |now: Nanos, ask: &ServerRequest<'_>| {
            let free = &mut free[usize::from(ask.path == "/b")];
            *free = (*free).max(now) + Nanos::from_secs_f64(service * rng.exponential());
            (*free, SimReply::new(200, b"x"))
        }
    };
    let all = vec![
        scenario("two", rate(20.0, lasts, Arrivals::Poisson), vec![send(0), send(0)]),
        scenario("one", rate(60.0, lasts, Arrivals::Poisson), vec![send(1)]),
    ];
    let played = scene(all).play(queue);
    for (number, steps, rate) in [(0, 2.0, 40.0), (1, 1.0, 60.0)] {
        let expected = steps / (1.0 / service - rate);
        let found = scenario_result(&played, number, 2).took.mean().expect("some").as_secs_f64();
        assert!((found / expected - 1.0).abs() < 0.08, "scenario {number}: {found} s, {expected} s expected");
    }
}

/// Checks users of scenarios with `think`, which is a pause after each of their requests.
#[test]
fn think_and_pace_of_scenarios_hold_after_failures_in_closed_and_open_load() {
    let three = Nanos::from_secs(3);
    let think = || vec![send(0), pause(1000)];
    let way = |url| Branch { weight: 1.0, steps: vec![send(url)] };
    let closed = scenario("closed", users(3, three), think());
    let mixed = scenario("mixed", users(3, three), vec![Step::Choose { ways: vec![way(0), way(1)] }, pause(1000)]);
    let paced = scenario("paced", users(3, three), vec![send(0), send(1), Step::Pace(SECOND)]);
    let most = Some(3);
    let open = ScenarioPlan { max_users: most, ..scenario("open", rate(1000.0, three, Arrivals::Constant), think()) };
    let missing = || |now: Nanos, _: &ServerRequest<'_>| (now + Nanos(1), SimReply::new(404, b""));
    for workers in [1, 3] {
        let scene = scene(vec![closed.clone(), mixed.clone(), paced.clone(), open.clone()]);
        let played = scene.with(|plan| plan.workers = workers).play(missing);
        let of = |number| scenario_result(&played, number, 4).requests;
        for number in 0..4 {
            assert_eq!(of(number), [9, 0, 9, 0], "scenario {number}, {workers} workers");
        }
    }
}
