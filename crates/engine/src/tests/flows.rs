//! Flows: the order of steps, the counts of iterations and groups, and the times from which steps are measured.

use std::collections::BTreeMap;

use brunt_contract::ServerRequest;
use brunt_measure::{Histogram, Nanos};
use brunt_plan::flow::{Branch, Flow, LoopList, NamedFlow, OnFailure, Pause, SetupValue, Step};
use brunt_plan::{Arrivals, WeightedUrl};
use brunt_record::NamedFigures;
use brunt_sim::SimReply;

use super::harness::{MS, SECOND, SimPlan, after, each_seed};
use super::sim_result::{SecondSums, SimResult};

/// Number of names in these tests: `/a`, `/b` and `/c`.
const NAMES: u16 = 3;
const ITERATIONS: u16 = NAMES;
const GROUP: u16 = NAMES + 2;

fn send(url: u32) -> Step {
    Step::Request { url, on_failure: OnFailure::default() }
}

fn pause(millis: u64) -> Step {
    let time = Nanos::from_millis(millis);
    Step::Pause(Pause::Uniform { from: time, to: time })
}

fn group(steps: Vec<Step>) -> Step {
    Step::Group { name: "group".into(), steps }
}

/// Creates a flow over three requests, the second of which carries a value captured by the first.
fn flowing(scene: SimPlan, steps: Vec<Step>) -> SimPlan {
    scene.with(|plan| {
        let url = |path: &str, name: &str| WeightedUrl { name: Some(name.into()), ..WeightedUrl::plain(path) };
        let mut urls = vec![url("http://test/a", "a"), url("http://test/b?t={token}", "b"), url("http://test/c", "c")];
        urls[0].options.insert("capture".into(), vec!["token json $.token".into()]);
        plan.urls = urls.into();
        plan.flow = Some(Flow { steps, variables: vec!["token".into()], ..Flow::default() });
    })
}

/// Returns a server that sends a new token with each `/a`, after `delay`.
fn token_server(delay: Nanos) -> impl FnMut(Nanos, &ServerRequest<'_>) -> (Nanos, SimReply) + Send + Clone {
    let mut given = 0;
    move |now, ask| {
        given += u32::from(ask.path == "/a");
        (now + delay, SimReply::new(200, format!(r#"{{"token":"t{given}"}}"#).as_bytes()))
    }
}

fn rows(played: &SimResult) -> BTreeMap<u16, NamedFigures> {
    let mut all = BTreeMap::<u16, NamedFigures>::new();
    for named in played.seconds.iter().flat_map(|second| &second.named) {
        all.entry(named.name).or_default().merge(named);
    }
    all
}

fn histogram(packed: &brunt_measure::PackedHistogram) -> Histogram {
    let mut histogram = Histogram::new();
    packed.add_to(&mut histogram);
    histogram
}

/// Returns the numbers of spans started, succeeded, failed and cut.
fn counts(named: Option<&NamedFigures>) -> [u64; 4] {
    named.map_or([0; 4], |named| [named.counts.due, named.counts.finished, named.counts.failed, named.counts.censored])
}

fn heard(played: &SimResult, path: &str) -> u64 {
    played.asks.iter().filter(|(_, asked)| asked.starts_with(path)).count() as u64
}

#[test]
fn every_branch_is_counted_exactly_and_every_iteration_ends_in_one_of_three_ways() {
    each_seed(1..20, |seed| {
        let way = |weight, steps| Branch { weight, steps };
        let steps = vec![
            Step::Once { steps: vec![send(2)] },
            send(0),
            group(vec![Step::Repeat { times: 3.into(), steps: vec![send(1), pause(1)] }]),
            Step::Choose { ways: vec![way(3.0, vec![send(2)]), way(1.0, vec![send(2), send(2)])] },
        ];
        let scene = flowing(SimPlan::closed(7, Nanos::from_secs(3600)), steps).with(|plan| {
            (plan.requests, plan.duration, plan.workers, plan.seed) = (Some(100), None, 2, seed);
        });
        let played = scene.play(|| token_server(MS));
        let rows = rows(&played);
        assert_eq!(counts(rows.get(&ITERATIONS)), [100, 100, 0, 0]);
        assert_eq!(counts(rows.get(&GROUP)), [100, 100, 0, 0]);
        assert_eq!((heard(&played, "/a"), heard(&played, "/b")), (100, 300));
        let chosen = heard(&played, "/c") - 7;
        assert!((100..200).contains(&chosen), "one or two each: {chosen}");
        for (name, path) in [(0, "/a"), (1, "/b"), (2, "/c")] {
            assert_eq!(counts(rows.get(&name)), [heard(&played, path), heard(&played, path), 0, 0], "{path}");
        }
        let sum = &played.sum;
        assert_eq!((sum.due, sum.finished, sum.failed, sum.censored), (played.heard, played.heard, 0, 0));
    });
}

#[test]
fn what_a_response_gave_is_in_the_requests_of_its_user_and_no_other() {
    let scene = flowing(SimPlan::closed(5, SECOND), vec![send(0), send(1), send(1)]);
    let played = scene.play(|| token_server(MS));
    let mut tokens = BTreeMap::<&str, u32>::new();
    for (_, path) in played.asks.iter().filter(|(_, path)| path.starts_with("/b")) {
        *tokens.entry(path).or_default() += 1;
    }
    assert!(tokens.len() > 300, "{}", tokens.len());
    assert!(tokens.keys().all(|path| path.starts_with("/b?t=t")), "none is empty");
    assert!(tokens.values().all(|times| *times <= 2), "each iteration has its own");
}

#[test]
fn a_step_that_fails_ends_its_iteration_unless_it_is_to_go_on() {
    // The token is missing in every second response.
    let brain = || {
        let mut asked = 0u32;
        move |now: Nanos, ask: &ServerRequest<'_>| {
            asked += u32::from(ask.path == "/a");
            let body: &[u8] = if asked.is_multiple_of(2) { br#"{"token":"t"}"# } else { br#"{"name":"n"}"# };
            (now + MS, SimReply::new(200, body))
        }
    };
    let play = |on_failure| {
        let steps = vec![group(vec![Step::Request { url: 0, on_failure }, send(1)])];
        let scene = flowing(SimPlan::closed(1, Nanos::from_secs(60)), steps);
        scene.with(|plan| (plan.requests, plan.duration) = (Some(10), None)).play(brain)
    };
    let played = play(OnFailure::NextIteration);
    let rows_of = rows(&played);
    assert_eq!((heard(&played, "/a"), heard(&played, "/b")), (10, 5));
    assert_eq!(counts(rows_of.get(&ITERATIONS)), [10, 5, 5, 0]);
    assert_eq!(counts(rows_of.get(&GROUP)), [10, 5, 5, 0]);
    assert_eq!(played.sum.failures("wrong_body"), 5);
    let example = &played.examples[0];
    assert!(example.detail.contains("json $.token found nothing; the body is"), "{}", example.detail);
    let played = play(OnFailure::GoOn);
    assert_eq!((heard(&played, "/a"), heard(&played, "/b")), (10, 10));
    assert_eq!(counts(rows(&played).get(&ITERATIONS)), [10, 5, 5, 0], "it failed all the same");
    let played = play(OnFailure::StopUser);
    assert_eq!((heard(&played, "/a"), heard(&played, "/b")), (1, 0));
    assert_eq!(counts(rows(&played).get(&ITERATIONS)), [1, 0, 1, 0]);
}

#[test]
fn iterations_are_timed_from_when_they_were_due_and_steps_from_when_the_one_before_was_over() {
    let steps = vec![send(0), pause(20), send(1), pause(5)];
    let scene = flowing(SimPlan::open(100.0, Arrivals::Constant, Nanos::from_secs(4)), steps);
    let played = scene.with(|plan| plan.drain = Nanos::ZERO).play(|| token_server(Nanos::from_millis(10)));
    let rows = rows(&played);
    let [started, ended, failed, cut] = counts(rows.get(&ITERATIONS));
    assert_eq!((started, failed, ended + cut), (400, 0, 400));
    assert!((1..=6).contains(&cut), "of those that began in the last 45 ms: {cut}");
    let near = |h: &Histogram, expected: u64, what: &str| {
        let (low, high) = (Nanos::from_millis(expected).0, Nanos::from_millis(expected + 2).0);
        assert!(h.min() >= low && h.max() <= high, "{what}: {} to {}", h.min(), h.max());
    };
    near(&histogram(&rows[&ITERATIONS].latency), 45, "with its pauses");
    near(&histogram(&rows[&(ITERATIONS + 1)].latency), 20, "without them");
    near(&histogram(&rows[&0].latency), 10, "the first step");
    near(&histogram(&rows[&1].latency), 10, "the second, without the pause before it");
    assert_eq!(played.sum.latency.gen_late.count(), played.sum.due, "what is late of a later step is ours");
}

#[test]
fn a_stall_of_the_server_is_in_the_iterations_that_were_due_during_it() {
    let second = Nanos::from_secs(1);
    let stalls = move |now: Nanos, _: &ServerRequest<'_>| {
        let since = now.0 % 5_000_000_000;
        // In every five seconds, nothing is answered from 2 s to 3 s.
        let wait = if (2_000_000_000..3_000_000_000).contains(&since) { 3_000_000_000 - since } else { 0 };
        (now + Nanos(wait) + MS, SimReply::new(200, br#"{"token":"t"}"#))
    };
    let scene = flowing(SimPlan::open(200.0, Arrivals::Constant, Nanos::from_secs(5)), vec![send(0), send(1)]);
    let played = scene.play(|| stalls);
    let rows = rows(&played);
    let durations = histogram(&rows[&ITERATIONS].latency);
    assert_eq!(counts(rows.get(&ITERATIONS))[..3], [1000, durations.count(), 0]);
    // A fifth of them were due in the stall; their waits are uniform from 0 to 1 s, so half waited for more than half
    // of it.
    let longer = |millis: u64| durations.count() - durations.count_at_most(Nanos::from_millis(millis));
    assert!((190..=210).contains(&longer(10)), "{}", longer(10));
    assert!((92..=108).contains(&longer(500)), "{}", longer(500));
    assert!(durations.max() < second.0 + 5_000_000);
}

#[test]
fn littles_law_holds_for_iterations() {
    let steps = vec![send(0), pause(30), send(1), Step::Pace(Nanos::from_millis(80))];
    let scene = flowing(SimPlan::closed(40, Nanos::from_secs(10)), steps).with(|plan| plan.drain = Nanos::ZERO);
    let played = scene.play(|| token_server(Nanos::from_millis(7)));
    let iterations = &rows(&played)[&ITERATIONS];
    let [started, ended, failed, cut] = counts(Some(iterations));
    assert_eq!((started, failed), (ended + cut, 0));
    let time = (histogram(&iterations.latency).sum() + histogram(&iterations.at_least).sum()) as f64;
    let users = time / 10e9;
    assert!((users - 40.0).abs() < 0.1, "{users} users at a time");
    let pace = histogram(&iterations.latency);
    assert!(pace.min() >= 80_000_000 && pace.max() <= 82_000_000, "{} to {}", pace.min(), pace.max());
}

/// Checks an open network of queues (Jackson 1957) with one station, visited twice: each visit takes 1 / (μ − 2λ) on
/// average.
#[test]
fn two_steps_at_one_queue_take_as_long_as_theory_says() {
    let (rate, service) = (20.0, 0.01);
    let queue = move || {
        let (mut rng, mut free) = (brunt_measure::Rng::new(7), Nanos::ZERO);
        move |now: Nanos, _: &ServerRequest<'_>| {
            free = free.max(now) + Nanos::from_secs_f64(service * rng.exponential());
            (free, SimReply::new(200, br#"{"token":"t"}"#))
        }
    };
    let scene = flowing(SimPlan::open(rate, Arrivals::Poisson, Nanos::from_secs(2000)), vec![send(0), send(1)]);
    let rows = rows(&scene.play(queue));
    let mean = |row: u16| histogram(&rows[&row].latency).mean().expect("some").as_secs_f64();
    let visit = 1.0 / (1.0 / service - 2.0 * rate);
    for (row, expected) in [(ITERATIONS, 2.0 * visit), (0, visit), (1, visit)] {
        let found = mean(row);
        assert!((found / expected - 1.0).abs() < 0.08, "row {row}: {found} s, {expected} s expected");
    }
}

#[test]
fn what_is_under_way_at_the_end_may_finish_as_long_as_the_drain_lasts() {
    for scene in [SimPlan::closed(10, SECOND), SimPlan::open(30.0, Arrivals::Constant, SECOND)] {
        // Iterations take half a second, and the drain is a second long.
        let steps = vec![send(0), pause(400), send(1), pause(90)];
        let played = flowing(scene.clone(), steps).play(|| token_server(MS));
        let [started, ended, failed, cut] = counts(rows(&played).get(&ITERATIONS));
        assert!(started >= 20 && (ended, failed, cut) == (started, 0, 0), "{started} {ended} {failed} {cut}");
        assert_eq!((played.sum.due, played.sum.finished, played.heard), (2 * started, 2 * started, 2 * started));
        // Iterations take two seconds: those in progress are cut at the end of the drain, which does not wait for
        // pauses beyond its end.
        let played = flowing(scene, vec![send(0), pause(2000), send(1)]).play(|| token_server(MS));
        let [started, ended, failed, cut] = counts(rows(&played).get(&ITERATIONS));
        assert!(started > 0 && (ended, failed, cut) == (0, 0, started), "{started} {ended} {failed} {cut}");
    }
}

#[test]
fn iterations_that_are_counted_are_all_finished_in_open_load_too() {
    let steps = vec![send(0), pause(500), send(1)];
    let scene = flowing(SimPlan::open(50.0, Arrivals::Constant, SECOND), steps);
    let scene = scene.with(|plan| (plan.requests, plan.duration, plan.drain) = (Some(30), None, Nanos::ZERO));
    let played = scene.play(|| token_server(MS));
    assert_eq!(counts(rows(&played).get(&ITERATIONS)), [30, 30, 0, 0]);
    assert_eq!((played.sum.due, played.sum.finished, played.heard), (60, 60, 60));
}

#[test]
fn a_dead_server_fails_iterations_and_loses_none() {
    let steps = vec![group(vec![send(0), send(1)])];
    for scene in [SimPlan::closed(3, SECOND), SimPlan::open(50.0, Arrivals::Constant, SECOND)] {
        let scene = flowing(scene, steps.clone()).on(|sim| sim.refuse = 1.0);
        let played = scene.play(|| after(MS));
        let rows = rows(&played);
        let [started, ended, failed, cut] = counts(rows.get(&ITERATIONS));
        assert!(started > 2 && ended == 0 && started == failed + cut, "{started} {ended} {failed} {cut}");
        assert_eq!((played.sum.due, played.sum.finished), (played.sum.failed + played.sum.censored, 0));
    }
}

#[test]
fn lists_are_gone_over_and_called_flows_are_counted_where_they_are_called() {
    // Each user has as many items as its token says, from one to three.
    let brain = || {
        let mut asked = 0u32;
        move |now: Nanos, ask: &ServerRequest<'_>| {
            asked += u32::from(ask.path == "/a");
            let ids = ["1", "1,2", "1,2,3"][asked as usize % 3];
            (now + MS, SimReply::new(200, format!(r#"{{"ids":[{ids}]}}"#).as_bytes()))
        }
    };
    let called = Step::Call { flow: "show".into(), with: [("token".to_owned(), "{id}-x".to_owned())].into() };
    let steps =
        vec![send(0), Step::ForEach { name: "id".into(), list: LoopList::Captured("ids".into()), steps: vec![called] }];
    let scene = flowing(SimPlan::closed(1, Nanos::from_secs(60)), steps).with(|plan| {
        plan.urls.make_mut()[0].options.insert("capture".into(), vec!["ids json $.ids[*] | all".into()]);
        let flows = vec![NamedFlow { name: "show".into(), steps: vec![group(vec![send(1), send(2)])] }];
        let variables = ["ids", "id", "token"].map(String::from).into();
        plan.flow = plan.flow.take().map(|flow| Flow { flows, variables, ..flow });
        (plan.requests, plan.duration) = (Some(30), None);
    });
    let played = scene.play(brain);
    let rows_of = rows(&played);
    assert_eq!(counts(rows_of.get(&ITERATIONS)), [30, 30, 0, 0]);
    assert_eq!(counts(rows_of.get(&GROUP)), [60, 60, 0, 0]);
    let shown = |id| heard(&played, &format!("/b?t={id}-x"));
    assert_eq!((heard(&played, "/a"), heard(&played, "/c")), (30, 60));
    assert_eq!([1, 2, 3, 4].map(shown), [30, 20, 10, 0]);
}

#[test]
fn a_step_that_is_to_end_the_run_is_counted_and_its_user_leaves() {
    let steps = vec![Step::Request { url: 0, on_failure: OnFailure::StopRun }, send(1)];
    let scene = flowing(SimPlan::closed(2, SECOND), steps);
    let played = scene.play(|| |now: Nanos, _: &ServerRequest<'_>| (now + MS, SimReply::new(500, b"")));
    assert_eq!(played.seconds.iter().map(|second| second.run_stops).sum::<u64>(), 2);
    assert_eq!(counts(rows(&played).get(&ITERATIONS)), [2, 0, 2, 0]);
    assert_eq!((heard(&played, "/a"), heard(&played, "/b")), (2, 0));
    let steps = vec![Step::Request { url: 0, on_failure: OnFailure::StopUser }];
    for (scene, left) in [(SimPlan::closed(2, SECOND), 2), (SimPlan::open(5.0, Arrivals::Constant, SECOND), 0)] {
        let played = flowing(scene, steps.clone())
            .play(|| |now: Nanos, _: &ServerRequest<'_>| (now + MS, SimReply::new(500, b"")));
        assert_eq!(played.seconds.iter().map(|second| second.user_stops).sum::<u64>(), left, "arrivals bring the next");
    }
}

#[test]
fn a_loop_that_sends_nothing_keeps_nobody_else_from_anything() {
    // The first response has no token, and neither has that of every second user.
    let steps = vec![send(0), Step::While { condition: "token == 't1'".into(), steps: vec![] }, send(1)];
    for pause_within in [false, true] {
        let mut steps = steps.clone();
        if pause_within {
            steps[1] = Step::While { condition: "token == 't1'".into(), steps: vec![pause(0)] };
        }
        let scene = flowing(SimPlan::closed(4, SECOND), steps).with(|plan| plan.workers = 1);
        let played = scene.play(|| token_server(MS));
        let rows = rows(&played);
        let [begun, succeeded, failed, cut] = counts(rows.get(&ITERATIONS));
        assert_eq!((begun, failed, cut), (succeeded + 1, 0, 1), "one is in the loop until the end");
        assert!(succeeded > 300, "{succeeded}");
        let found: u64 = played.seconds.iter().map(|second| second.endless).sum();
        assert_eq!(found, 1);
    }
}

#[test]
fn a_batch_is_sent_at_once_and_each_of_its_requests_is_counted_and_timed_from_when_it_began() {
    let batch = |on_failure| group(vec![Step::Batch { at_most: 2, urls: vec![0, 1, 2], on_failure, own: Vec::new() }]);
    let steps = || vec![batch(OnFailure::NextIteration), send(2)];
    for scene in
        [SimPlan::closed(5, Nanos::from_secs(3600)), SimPlan::open(20.0, Arrivals::Constant, Nanos::from_secs(3600))]
    {
        let open = scene.plan.load.is_open();
        let scene =
            flowing(scene, steps()).with(|plan| (plan.requests, plan.duration, plan.workers) = (Some(60), None, 2));
        let played = scene.play(|| token_server(Nanos::from_millis(10)));
        let rows = rows(&played);
        assert_eq!(counts(rows.get(&ITERATIONS)), [60, 60, 0, 0]);
        assert_eq!(counts(rows.get(&GROUP)), [60, 60, 0, 0]);
        assert_eq!(["/a", "/b", "/c"].map(|path| heard(&played, path)), [60, 60, 120]);
        assert_eq!((played.sum.due, played.sum.finished, played.heard), (240, 240, 240));
        let group = histogram(&rows[&GROUP].latency);
        let within = |h: &Histogram, from: u64, to: u64| {
            assert!(h.min() >= from * 1_000_000 && h.max() <= to * 1_000_000, "{open}: {} to {}", h.min(), h.max());
        };
        within(&group, 20, 24);
        within(&histogram(&rows[&0].latency), 10, 13);
        if open {
            // Of the two requests named c, one waited for the other requests of its batch.
            within(&histogram(&rows[&2].latency), 10, 24);
            assert!(histogram(&rows[&2].latency).count_at_most(Nanos::from_millis(15)) == 60);
            let late = &played.sum.latency.gen_late;
            assert!(late.max() < 1_000_000, "what waits for the batch is not late: {}", late.max());
        }
    }
    // One in three requests makes its iteration fail; none is lost.
    let failing = || {
        |now: Nanos, ask: &ServerRequest<'_>| {
            let status = if ask.path.starts_with("/b") { 500 } else { 200 };
            (now + MS, SimReply::new(status, br#"{"token":"t"}"#))
        }
    };
    for (on_failure, c) in [(OnFailure::NextIteration, 0), (OnFailure::GoOn, 40)] {
        let scene = flowing(SimPlan::closed(2, Nanos::from_secs(60)), vec![batch(on_failure), send(2)]);
        let played = scene.with(|plan| (plan.requests, plan.duration) = (Some(20), None)).play(failing);
        assert_eq!(counts(rows(&played).get(&ITERATIONS)), [20, 0, 20, 0]);
        assert_eq!(["/a", "/b"].map(|path| heard(&played, path)), [20, 20]);
        assert!(heard(&played, "/c") >= c && played.sum.due == played.heard, "{}", heard(&played, "/c"));
        assert_eq!((played.sum.due, played.sum.failed), (played.sum.finished + 20, 20));
    }
}

#[test]
fn a_dead_server_fails_batches_and_loses_no_request() {
    for scene in [SimPlan::closed(3, SECOND), SimPlan::open(50.0, Arrivals::Constant, SECOND)] {
        let batch = Step::Batch { at_most: 2, urls: vec![0, 1, 2], on_failure: OnFailure::GoOn, own: Vec::new() };
        let scene = flowing(scene, vec![batch]).on(|sim| sim.refuse = 1.0);
        let played = scene.play(|| after(MS));
        let [started, ended, failed, cut] = counts(rows(&played).get(&ITERATIONS));
        assert!(started > 2 && ended == 0 && started == failed + cut, "{started} {ended} {failed} {cut}");
        assert_eq!((played.sum.due, played.sum.finished), (played.sum.failed + played.sum.censored, 0));
        assert!(played.sum.due <= 3 * started && played.sum.due >= 3 * failed, "{} {started}", played.sum.due);
    }
}

#[test]
fn users_begin_and_end_once_and_what_they_captured_lasts() {
    each_seed(1..5, |seed| {
        let scene = flowing(SimPlan::closed(4, Nanos::from_secs(3600)), vec![send(1)]).with(|plan| {
            plan.flow = plan.flow.take().map(|flow| Flow { start: vec![send(0)], end: vec![send(2), send(1)], ..flow });
            (plan.requests, plan.duration, plan.workers, plan.seed) = (Some(50), None, 2, seed);
        });
        let played = scene.play(|| token_server(MS));
        let rows = rows(&played);
        assert_eq!(counts(rows.get(&ITERATIONS)), [50, 50, 0, 0]);
        assert_eq!(["/a", "/b", "/c"].map(|path| heard(&played, path)), [4, 54, 4]);
        assert_eq!((counts(rows.get(&0)), counts(rows.get(&2))), ([4, 4, 0, 0], [4, 4, 0, 0]), "in figures by name");
        let mut tokens: Vec<&str> =
            played.asks.iter().map(|(_, path)| path.as_str()).filter(|path| path.starts_with("/b")).collect();
        tokens.sort_unstable();
        tokens.dedup();
        assert!(
            tokens.len() <= 4 && tokens.iter().all(|path| path.starts_with("/b?t=t")),
            "each user its own: {tokens:?}"
        );
    });
}

#[test]
fn users_end_in_the_drain() {
    let scene = flowing(SimPlan::closed(4, SECOND), vec![send(1), pause(30)]).with(|plan| {
        plan.flow = plan.flow.take().map(|flow| Flow { end: vec![send(2)], ..flow });
    });
    let played = scene.play(|| token_server(MS));
    assert_eq!((heard(&played, "/c"), played.sum.due), (4, played.heard));
    assert_eq!(counts(rows(&played).get(&2)), [4, 4, 0, 0]);
}

#[test]
fn what_setup_captured_every_user_knows_from_its_beginning() {
    let scene = flowing(SimPlan::closed(3, SECOND), vec![send(1)]).with(|plan| {
        let known = vec![SetupValue { variable: 0, value: b"all".to_vec(), ends: Vec::new() }];
        plan.flow = plan.flow.take().map(|flow| Flow { setup: vec![send(0)], known, ..flow });
        plan.workers = 2;
    });
    let played = scene.play(|| token_server(MS));
    assert!(played.heard > 100);
    assert_eq!(heard(&played, "/b?t=all"), played.heard);
}

#[test]
fn what_looking_into_a_response_takes_makes_the_next_request_late_and_no_response_slow() {
    let look = Nanos::from_millis(7);
    for open in [false, true] {
        let scene = match open {
            true => SimPlan::open(10.0, Arrivals::Constant, Nanos::from_secs(5)),
            false => SimPlan::closed(1, Nanos::from_secs(5)),
        };
        let scene = flowing(scene, vec![send(0), send(1), send(1)]).on(|sim| sim.look_cost = look);
        let played = scene.play(|| token_server(MS));
        let SecondSums { finished, latency, .. } = &played.sum;
        assert!(*finished > 100, "{finished}");
        // 1 ms of the server and 0.1 ms of the network.
        assert!(latency.service.max() < 2 * MS.0, "open {open}: {}", latency.service.max());
        if open {
            let late = &latency.gen_late;
            let at_once = late.count_at_most(MS);
            assert_eq!((at_once, late.count()), (finished / 3, *finished), "the first of three waits for nobody");
            assert!(late.max() >= look.0 && latency.wait_conn.max() < MS.0, "{}", late.max());
        }
    }
}

#[test]
fn what_checking_a_response_takes_is_no_time_of_the_next_one() {
    for checks in [false, true] {
        let scene = SimPlan::closed(1, SECOND).on(|sim| sim.look_cost = Nanos::from_millis(7));
        let scene = if checks { scene.option("expect-json", "$.token") } else { scene };
        let slowest = scene.play(|| token_server(MS)).sum.latency.service.max();
        // Responses that are not checked are processed before the clock is read again.
        assert_eq!(slowest < 2 * MS.0, checks, "{slowest}");
    }
}

/// Returns the number of requests sent within three seconds by users whose first step fails at once.
fn failing_users(steps: Vec<Step>, change: impl Fn(&mut brunt_plan::Plan)) -> u64 {
    let missing = || |now: Nanos, _: &ServerRequest<'_>| (now + Nanos(1), SimReply::new(404, b""));
    let scene = flowing(SimPlan::closed(3, Nanos::from_secs(3)), steps).with(change);
    let played = scene.play(missing);
    let sum = &played.sum;
    assert_eq!((sum.due, sum.finished), (sum.failed + sum.censored, 0));
    sum.due
}

#[test]
fn a_failed_step_makes_no_iteration_begin_sooner_than_the_plan_says() {
    let second = Step::Pace(SECOND);
    // Three users try once a second for three seconds.
    assert_eq!(failing_users(vec![send(0), second.clone()], |_| {}), 9);
    assert_eq!(failing_users(vec![send(0), pause(300), second.clone()], |_| {}), 9);
    assert_eq!(failing_users(vec![send(0), send(1), pause(1000), send(2)], |_| {}), 9);
    assert_eq!(failing_users(vec![group(vec![send(0), send(1)]), pause(1000)], |_| {}), 9);
    // A failed check counts like a wrong status.
    let checked = |plan: &mut brunt_plan::Plan| {
        plan.urls.make_mut()[0].options.insert("expect-status".into(), vec!["404".into()]);
        plan.urls.make_mut()[0].options.insert("expect-body".into(), vec!["welcome".into()]);
    };
    assert_eq!(failing_users(vec![send(0), second.clone()], checked), 9);
    // Users that stop at the failed step are not replaced.
    for on_failure in [OnFailure::StopUser, OnFailure::StopRun] {
        let stops = Step::Request { url: 0, on_failure };
        assert_eq!(failing_users(vec![stops, pause(300), second.clone()], |_| {}), 3);
    }
}

#[test]
fn a_failed_step_keeps_what_named_flows_and_loops_behind_it_wait() {
    let rest = || vec![send(1), pause(1000)];
    let browse = |plan: &mut brunt_plan::Plan| {
        let flows = vec![NamedFlow { name: "browse".into(), steps: rest() }];
        plan.flow = plan.flow.take().map(|flow| Flow { flows, ..flow });
    };
    let called = Step::Call { flow: "browse".into(), with: BTreeMap::new() };
    assert_eq!(failing_users(vec![send(0), called], browse), 9);
    let each = Step::ForEach { name: "token".into(), list: LoopList::Captured("token".into()), steps: rest() };
    assert_eq!(failing_users(vec![send(0), each], |_| {}), 9);
    let polled = Step::While { condition: "token != \"done\"".into(), steps: rest() };
    assert_eq!(failing_users(vec![send(0), polled], |_| {}), 9);
    // Conditions are evaluated: no value was captured.
    let optional = |condition: &str, steps, otherwise| Step::If { condition: condition.into(), steps, otherwise };
    assert_eq!(failing_users(vec![send(0), optional("token == \"\"", rest(), vec![])], |_| {}), 9);
    assert_eq!(failing_users(vec![send(0), optional("token == \"x\"", vec![], rest())], |_| {}), 9);
}

#[test]
fn users_who_cannot_connect_keep_their_pace_and_without_one_back_off() {
    let refused = |steps| {
        let scene = flowing(SimPlan::closed(3, Nanos::from_secs(3)), steps).on(|sim| sim.refuse = 1.0);
        scene.play(|| after(MS)).sum.due
    };
    assert_eq!(refused(vec![send(0), Step::Pace(SECOND)]), 9);
    let plain = SimPlan::closed(3, Nanos::from_secs(3)).on(|sim| sim.refuse = 1.0).play(|| after(MS)).sum.due;
    let flow = refused(vec![send(0)]);
    assert!(flow <= plain.max(100), "{flow} requests, of a plain run {plain}");
}

#[test]
fn an_arrival_goes_on_behind_a_step_that_reached_nobody() {
    let steps = vec![Step::Request { url: 0, on_failure: OnFailure::GoOn }, send(1), send(2)];
    let scene = flowing(SimPlan::open(20.0, Arrivals::Constant, SECOND), steps).on(|sim| sim.refuse = 1.0);
    let played = scene.play(|| after(MS));
    assert_eq!((played.sum.due, played.sum.failed), (40, 40), "the second failed step ends the iteration");
    assert_eq!(counts(rows(&played).get(&ITERATIONS)), [20, 0, 20, 0], "none was cut");
}
