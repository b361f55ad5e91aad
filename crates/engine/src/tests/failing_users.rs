//! Users whose requests all fail: whatever fails and however the plan is written, nobody begins an iteration sooner, or
//! much later, than the plan says.

use std::collections::BTreeMap;

use brunt_contract::ServerRequest;
use brunt_measure::Nanos;
use brunt_plan::flow::{Flow, LoopList, NamedFlow, OnFailure, Pause, Step};
use brunt_plan::scenarios::{ScenarioPlan, total_load};
use brunt_plan::{Load, Stage, WeightedUrl};
use brunt_sim::{ReplyFault, SimReply};

use super::harness::{SECOND, SimPlan, SimResult};

/// Duration of a run, and its number of users.
const LASTS: Nanos = Nanos::from_secs(60);
const USERS: u32 = 3;
/// Time after which a request fails that nobody answers.
const TIMEOUT: Nanos = Nanos::from_millis(100);

/// What makes every request of a run fail.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Failing {
    Status,
    Timeout,
    Reset,
    Refused,
    Check,
    Capture,
}

const FAILING: [Failing; 6] =
    [Failing::Status, Failing::Timeout, Failing::Reset, Failing::Refused, Failing::Check, Failing::Capture];

/// How a plan is written.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Writing {
    Flow,
    Scenarios,
    CalledFlow,
    Start,
}

const WRITINGS: [Writing; 4] = [Writing::Flow, Writing::Scenarios, Writing::CalledFlow, Writing::Start];

fn send(url: u32) -> Step {
    Step::Request { url, on_failure: OnFailure::default() }
}

fn pause(millis: u64) -> Step {
    let time = Nanos::from_millis(millis);
    Step::Pause(Pause::Uniform { from: time, to: time })
}

fn scenario(flow: Flow) -> ScenarioPlan {
    let users = f64::from(USERS);
    let stages = vec![Stage { lasts: LASTS, from: users, to: users }];
    ScenarioPlan {
        name: "only".into(),
        load: Load::Closed { stages, think: None, together: false },
        start: Nanos::ZERO,
        duration: Some(LASTS),
        iterations: None,
        iterations_per_user: None,
        graceful_stop: Nanos::ZERO,
        spawn_rate: None,
        max_users: None,
        max_connections: 100,
        flow,
    }
}

/// Creates a plan of these steps.
fn written(writing: Writing, steps: Vec<Step>) -> SimPlan {
    let variables = vec!["token".to_owned()];
    let flow = match writing {
        Writing::Flow | Writing::Scenarios => Flow { steps, variables, ..Flow::default() },
        Writing::CalledFlow => {
            let steps_of_called = NamedFlow { name: "called".into(), steps };
            let call = Step::Call { flow: "called".into(), with: BTreeMap::new() };
            Flow { steps: vec![call], flows: vec![steps_of_called], variables, ..Flow::default() }
        }
        Writing::Start => {
            let start = vec![Step::Request { url: 1, on_failure: OnFailure::GoOn }, pause(300)];
            Flow { steps, start, variables, ..Flow::default() }
        }
    };
    SimPlan::closed(USERS, LASTS).with(|plan| {
        let mut urls = ["http://test/a", "http://test/b"].map(WeightedUrl::plain).to_vec();
        urls[0].name = Some("a".into());
        urls[1].name = Some("b".into());
        (plan.urls, plan.drain) = (urls.into(), Nanos::ZERO);
        if writing == Writing::Scenarios {
            let scenarios = vec![scenario(flow)];
            (plan.load, plan.duration, plan.scenarios) = (total_load(&scenarios), None, scenarios);
        } else {
            plan.flow = Some(flow);
        }
    })
}

/// Lets every request of a plan fail, and runs it.
fn play(failing: Failing, plan: SimPlan) -> SimResult {
    let plan = plan.on(|sim| sim.refuse = f64::from(u8::from(failing == Failing::Refused))).with(|plan| {
        plan.timeout = TIMEOUT;
        let option = match failing {
            Failing::Check => ("expect-body", "welcome"),
            Failing::Capture => ("capture", "token json $.token"),
            _ => return,
        };
        plan.urls.make_mut().iter_mut().for_each(|url| _ = url.options.insert(option.0.into(), vec![option.1.into()]));
    });
    plan.play(|| {
        move |now: Nanos, _: &ServerRequest<'_>| {
            let reply = SimReply::new(if failing == Failing::Status { 503 } else { 200 }, b"{}");
            match failing {
                Failing::Timeout => (Nanos::MAX, reply),
                Failing::Reset => (now + Nanos(1), reply.with(ReplyFault::Reset)),
                _ => (now + Nanos(1), reply),
            }
        }
    })
}

/// Returns the number of iterations that began, the first row behind the two names.
fn iterations(played: &SimResult) -> u64 {
    let rows = played.seconds.iter().flat_map(|second| &second.named);
    rows.filter(|row| row.name == 2).map(|row| row.counts.due).sum()
}

#[test]
fn paced_users_keep_their_pace_whatever_fails_and_however_it_is_written() {
    // The second is kept by a pace, by a pause behind the failing step, and by the pauses of a loop.
    let rounds = Step::Repeat { times: 4.into(), steps: vec![send(1), pause(250)] };
    let plans = [
        vec![send(0), send(1), Step::Pace(SECOND)],
        vec![send(0), send(1), pause(600), send(1), pause(400)],
        vec![send(0), rounds],
    ];
    for (failing, writing) in FAILING.iter().flat_map(|failing| WRITINGS.map(|writing| (*failing, writing))) {
        for (number, steps) in plans.iter().enumerate() {
            let played = play(failing, written(writing, steps.clone()));
            // A pace holds whatever a step takes; a pause follows it.
            let took = if failing == Failing::Timeout && number > 0 { SECOND + TIMEOUT } else { SECOND };
            let expected = f64::from(USERS) * LASTS.0 as f64 / took.0 as f64;
            let began = iterations(&played);
            let case = format!("{failing:?} {writing:?} {number}: {began} iterations, {expected} expected");
            assert!((began as f64 / expected - 1.0).abs() <= 0.02, "{case}");
            let first = if writing == Writing::Start { u64::from(USERS) } else { 0 };
            let sum = &played.sum;
            assert_eq!((sum.due, sum.finished), (began + first, 0), "{case}");
            let most = played.seconds.iter().map(|second| second.due).max().unwrap_or_default();
            assert!(most <= u64::from(USERS) + first, "{case}: {most} in a second");
        }
    }
}

#[test]
fn users_whose_start_fails_leave_and_send_nothing_more() {
    for failing in FAILING {
        let plan = written(Writing::Start, vec![send(0)]).with(|plan| {
            plan.flow = plan.flow.take().map(|flow| Flow { start: vec![send(1), pause(100)], ..flow });
        });
        let played = play(failing, plan);
        assert_eq!((played.sum.due, iterations(&played)), (u64::from(USERS), 0), "{failing:?}");
    }
}

#[test]
fn users_who_fail_at_once_and_never_pause_do_not_hammer() {
    for (failing, writing) in FAILING.iter().flat_map(|failing| WRITINGS.map(|writing| (*failing, writing))) {
        let played = play(failing, written(writing, vec![send(0), send(1)]));
        let most = played.seconds[2..].iter().map(|second| second.due).max().unwrap_or_default();
        // Each user waits for up to half a second, drawn between its half and its whole.
        let at_most = if failing == Failing::Timeout { 30 } else { 4 * u64::from(USERS) };
        assert!(most <= at_most, "{failing:?} {writing:?}: {most} in a second");
        assert!(played.sum.due >= 100 * u64::from(USERS), "{failing:?} {writing:?}: {} in all", played.sum.due);
    }
}

/// Checks that the first of three steps, which fails from the tenth second on, is requested as often as before.
#[test]
fn a_step_that_fails_is_asked_as_often_as_when_it_passed() {
    let from = Nanos::from_secs(11);
    for fails in [false, true] {
        let plan = written(Writing::Flow, vec![send(0), send(1), send(1)]).with(|plan| plan.timeout = SECOND);
        let played = plan.play(|| {
            move |now: Nanos, ask: &ServerRequest<'_>| {
                let status = if fails && now >= from && ask.path == "/a" { 401 } else { 200 };
                (now + if status == 401 { Nanos(1) } else { Nanos::from_millis(100) }, SimReply::new(status, b"x"))
            }
        });
        let asked = played.asks.iter().filter(|(at, path)| *at >= from && path == "/a").count();
        // Three users for fifty seconds, with iterations of 300 ms.
        assert!((485..=505).contains(&asked), "fails: {fails}, {asked}");
    }
}

#[test]
fn a_failure_within_a_loop_leaves_the_pauses_of_its_other_rounds() {
    let list = LoopList::Fixed(["a", "b", "c", "d"].map(str::to_owned).to_vec());
    let steps = vec![Step::ForEach { name: "token".into(), list, steps: vec![pause(250), send(0)] }];
    for writing in WRITINGS {
        let played = play(Failing::Status, written(writing, steps.clone()));
        assert!((175..=181).contains(&iterations(&played)), "{writing:?}: {}", iterations(&played));
    }
}
