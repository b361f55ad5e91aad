use std::collections::BTreeMap;

use brunt_contract::{FaultKind, RequestId};
use brunt_plan::flow::{Branch, Flow as Tree, LoopList, NamedFlow, RepeatCount, Step};

use super::*;

const USER: UserIndex = UserIndex(0);
const OK: UserEvent = UserEvent::Ended { code: 200, fault: None, on_failure: OnFailure::GoOn };
const BAD: UserEvent = failing(OnFailure::NextIteration);

/// Returns the event of a failed batch request with its failure policy.
const fn failing(on_failure: OnFailure) -> UserEvent {
    UserEvent::Ended { code: 500, fault: Some(FaultKind::WrongStatus), on_failure }
}

fn send(url: u32) -> Step {
    Step::Request { url, on_failure: OnFailure::default() }
}

fn program(steps: Vec<Step>) -> FlowProgram {
    let variables = vec!["state".to_owned(), "page".to_owned()];
    FlowProgram::of(&Tree { steps, variables, ..Tree::default() }).expect("conditions that can be read")
}

/// Returns a flow of users who do not begin another iteration by themselves.
fn flow(steps: Vec<Step>) -> FlowScenario {
    FlowScenario::new(Arc::new(program(steps)), 1).with_arrivals(true)
}

fn wake(flow: &mut FlowScenario, event: UserEvent, at: u64) -> Action {
    flow.apply_event(USER, event, Nanos(at));
    let act = flow.next_action(USER, Nanos(at), &mut UserValues::default());
    if matches!(act, Action::Send(_)) {
        flow.begin_groups(USER, Nanos(at));
    }
    act
}

fn told(flow: &mut FlowScenario) -> Vec<(u16, SpanEventKind)> {
    std::mem::take(&mut flow.span_events).into_iter().map(|told| (told.span, told.kind)).collect()
}

#[test]
fn steps_follow_each_other_and_loops_end() {
    let mut flow = flow(vec![send(0), Step::Repeat { times: 2.into(), steps: vec![send(1)] }, send(2)]);
    for _ in 0..2 {
        assert_eq!(wake(&mut flow, UserEvent::Begin, 0), Action::Send(RequestId(0)));
        let rest = [Action::Send(RequestId(1)), Action::Send(RequestId(1)), Action::Send(RequestId(2)), Action::Done];
        assert_eq!([(); 4].map(|()| wake(&mut flow, OK, 0)), rest);
    }
}

#[test]
fn a_group_lasts_from_its_first_request_to_its_last_response_and_an_iteration_to_its_last_step() {
    let pause = |nanos| Step::Pause(Pause::Uniform { from: Nanos(nanos), to: Nanos(nanos) });
    let group = Step::Group { name: "g".into(), steps: vec![pause(10), send(0), pause(5), send(1), pause(7)] };
    let mut flow = flow(vec![group]);
    assert_eq!(wake(&mut flow, UserEvent::Begin, 100), Action::Pause(Nanos(10)));
    assert_eq!(wake(&mut flow, UserEvent::Resumed, 110), Action::Send(RequestId(0)));
    assert_eq!(wake(&mut flow, OK, 120), Action::Pause(Nanos(5)));
    assert_eq!(wake(&mut flow, UserEvent::Resumed, 125), Action::Send(RequestId(1)));
    assert_eq!(told(&mut flow), [(0, SpanEventKind::Began), (1, SpanEventKind::Began)]);
    assert_eq!(wake(&mut flow, OK, 140), Action::Pause(Nanos(7)));
    assert_eq!(wake(&mut flow, UserEvent::Resumed, 147), Action::Done);
    let ended = |lasted, active| SpanEventKind::Ended {
        passed: true,
        lasted: Nanos(lasted),
        active: Nanos(active),
        own: Nanos::ZERO,
    };
    assert_eq!(
        told(&mut flow),
        [(1, ended(30, 25)), (0, ended(47, 25))],
        "the pause behind the last response is none of the group's"
    );
}

#[test]
fn after_a_failed_step_the_pauses_and_the_pace_of_the_iteration_hold() {
    let pause = |nanos| Step::Pause(Pause::Uniform { from: Nanos(nanos), to: Nanos(nanos) });
    let group = |steps| Step::Group { name: "g".into(), steps };
    let optional = Step::If { condition: "state == \"x\"".into(), steps: vec![pause(100)], otherwise: vec![] };
    let looped = Step::Repeat { times: 5.into(), steps: vec![send(0), pause(3), send(1)] };
    let pauses = |steps, at: u64| {
        let mut flow = flow(steps);
        assert_eq!(wake(&mut flow, UserEvent::Begin, 0), Action::Send(RequestId(0)));
        let (mut at, mut waited) = (at, Vec::new());
        let mut act = wake(&mut flow, BAD, at);
        while let Action::Pause(pause) = act {
            waited.push(pause.0);
            at += pause.0;
            act = wake(&mut flow, UserEvent::Resumed, at);
        }
        assert_eq!(act, Action::Done);
        let iteration = told(&mut flow).pop().expect("an iteration that ended");
        let slept: u64 = waited.iter().sum();
        assert_eq!(
            iteration,
            (0, SpanEventKind::Ended { passed: false, lasted: Nanos(at), active: Nanos(at - slept), own: Nanos::ZERO })
        );
        waited
    };
    assert_eq!(pauses(vec![send(0), send(1), pause(7)], 1), [7]);
    assert_eq!(pauses(vec![send(0), Step::Pace(Nanos(50))], 1), [49]);
    assert_eq!(pauses(vec![send(0), pause(7), Step::Pace(Nanos(50)), send(1)], 1), [7, 42]);
    assert_eq!(pauses(vec![send(0), Step::Pace(Nanos(50))], 60), [0; 0], "it took longer than the pace");
    assert_eq!(pauses(vec![group(vec![send(0), pause(2)]), optional, pause(4)], 1), [2, 4]);
    assert_eq!(pauses(vec![looped, pause(9)], 1), [3, 3, 3, 3, 3, 9], "each round has its pause");
    let sends = Step::Repeat { times: u32::MAX.into(), steps: vec![send(0)] };
    assert_eq!(pauses(vec![sends, pause(9)], 1), [9], "a loop without pauses is not gone through again");
    let fixed = LoopList::Fixed(vec!["a".into(), "b".into()]);
    let listed = Step::ForEach { name: "page".into(), list: fixed, steps: vec![send(1), pause(5)] };
    assert_eq!(pauses(vec![send(0), listed], 1), [5, 5]);
    let batch = Step::Batch { at_most: 1, urls: vec![0, 1], on_failure: OnFailure::default(), own: Vec::new() };
    assert_eq!(pauses(vec![batch, pause(6)], 1), [6]);
    // Loops after the failed step: one round each, even though the list they iterate over was never captured.
    let captured = LoopList::Captured("state".into());
    let over = Step::ForEach { name: "element".into(), list: captured, steps: vec![send(1), pause(5)] };
    let polled = Step::While { condition: "state != \"done\"".into(), steps: vec![send(1), pause(8)] };
    assert_eq!(pauses(vec![send(0), over, polled], 1), [5, 8]);
}

/// Returns how long an iteration of two requests lasts that begins at `at` and whose first request fails at once.
fn cut_short(flow: &mut FlowScenario, at: u64) -> u64 {
    assert_eq!(wake(flow, UserEvent::Begin, at), Action::Send(RequestId(0)));
    let (mut now, mut act) = (at + 1, wake(flow, BAD, at + 1));
    while let Action::Pause(pause) = act {
        now += pause.0;
        act = wake(flow, UserEvent::Resumed, now);
    }
    assert_eq!(act, Action::Done);
    now - at
}

#[test]
fn an_iteration_that_is_cut_short_lasts_as_long_as_one_that_is_not() {
    let two = || FlowScenario::new(Arc::new(program(vec![send(0), send(1)])), 1);
    let mut closed = two();
    for nth in 0..20 {
        let whole = (10_000_000_u64 << nth.min(9)).min(500_000_000);
        let lasted = cut_short(&mut closed, 0);
        assert!((whole / 2..=whole).contains(&lasted), "{nth}: {lasted}, nothing is known yet");
    }
    wake(&mut closed, UserEvent::Begin, 0);
    wake(&mut closed, OK, 100);
    assert_eq!(wake(&mut closed, OK, 300), Action::Done);
    assert_eq!([(); 3].map(|()| cut_short(&mut closed, 1000)), [300; 3]);
    // The last request of an iteration leaves nothing out, and neither does a failure that is passed over.
    wake(&mut closed, UserEvent::Begin, 0);
    wake(&mut closed, OK, 100);
    assert_eq!(wake(&mut closed, BAD, 101), Action::Done);
    // Arrivals do not depend on each other, and pauses of the plan are enough.
    assert_eq!(cut_short(&mut two().with_arrivals(true), 0), 1);
    let pause = Step::Pause(Pause::Uniform { from: Nanos(7), to: Nanos(7) });
    let mut paused = FlowScenario::new(Arc::new(program(vec![send(0), send(1), pause])), 1);
    assert_eq!(cut_short(&mut paused, 0), 8);
}

#[test]
fn a_user_who_cannot_connect_pauses_and_stops_before_its_next_request() {
    let pause = |nanos| Step::Pause(Pause::Uniform { from: Nanos(nanos), to: Nanos(nanos) });
    let mut flow = flow(vec![pause(5), send(0), Step::Pace(Nanos(90))]);
    let mut woken = |event, at, disconnected| {
        let mut acts = Actions::new();
        let wakeup = Wakeup { disconnected, ..Wakeup::new(USER, event, Nanos(at)) };
        flow.wake(wakeup, &mut UserValues::default(), &mut acts);
        acts.retain(|act| !matches!(act, Action::Report(_)));
        acts
    };
    assert_eq!(woken(UserEvent::Begin, 0, true), [Action::Pause(Nanos(5))]);
    assert_eq!(woken(UserEvent::Resumed, 5, true), [Action::Wait]);
    assert_eq!(woken(UserEvent::Resumed, 9, false), [Action::Send(RequestId(0))]);
    assert_eq!(woken(BAD, 10, true), [Action::Pause(Nanos(80))]);
    assert_eq!(woken(UserEvent::Resumed, 90, true), [Action::Done]);
}

#[test]
fn a_value_says_how_often_steps_are_repeated() {
    let text = |text: &str| rounds(Some(text.as_bytes()));
    assert_eq!([text("3"), text(" 0 "), text("-1"), text("2.5"), text("x"), rounds(None)], [3, 0, 0, 0, 0, 0]);
    assert_eq!(text("4000000000"), ROUNDS);
    let times = RepeatCount::Value("state".into());
    let steps = vec![send(0), Step::Repeat { times, steps: vec![send(1)] }];
    for (value, requests) in [("2", 2), ("0", 0), ("none", 0)] {
        let (mut flow, mut values, mut acts) = (flow(steps.clone()), UserValues::default(), Actions::new());
        values.set(0, value.as_bytes());
        flow.wake(Wakeup::new(USER, UserEvent::Begin, Nanos(0)), &mut values, &mut acts);
        (0..=requests).for_each(|_| flow.wake(Wakeup::new(USER, OK, Nanos(1)), &mut values, &mut acts));
        let again = acts.iter().filter(|act| **act == Action::Send(RequestId(1))).count();
        assert_eq!((again, acts.back()), (requests, Some(&Action::Done)), "{value}");
    }
}

#[test]
fn a_group_that_sent_nothing_was_none() {
    let group = |steps| Step::Group { name: "g".into(), steps };
    let mut flow = flow(vec![group(vec![]), send(0)]);
    assert_eq!(wake(&mut flow, UserEvent::Begin, 0), Action::Send(RequestId(0)));
    assert_eq!(wake(&mut flow, OK, 5), Action::Done);
    assert!(told(&mut flow).iter().all(|(span, _)| *span == 0));
}

#[test]
fn what_comes_from_a_cache_begins_and_ends_no_group() {
    let pause = || Step::Pause(Pause::Uniform { from: Nanos(30), to: Nanos(30) });
    let group = |name: &str, steps| Step::Group { name: name.into(), steps };
    let cached = group("cached", vec![send(0)]);
    let both = group("both", vec![send(0), pause(), send(1), pause(), send(0)]);
    let mut flow = flow(vec![cached, both]);
    let recalled = |flow: &mut FlowScenario, at| {
        flow.apply_event(USER, UserEvent::Cached, Nanos(at));
        flow.next_action(USER, Nanos(at), &mut UserValues::default())
    };
    flow.apply_event(USER, UserEvent::Begin, Nanos(100));
    assert_eq!(flow.next_action(USER, Nanos(100), &mut UserValues::default()), Action::Send(RequestId(0)));
    assert_eq!(recalled(&mut flow, 100), Action::Send(RequestId(0)), "of the first group all is there");
    assert_eq!(recalled(&mut flow, 100), Action::Pause(Nanos(30)));
    assert_eq!(wake(&mut flow, UserEvent::Resumed, 130), Action::Send(RequestId(1)));
    assert_eq!(wake(&mut flow, OK, 135), Action::Pause(Nanos(30)));
    flow.apply_event(USER, UserEvent::Resumed, Nanos(165));
    assert_eq!(flow.next_action(USER, Nanos(165), &mut UserValues::default()), Action::Send(RequestId(0)));
    assert_eq!(recalled(&mut flow, 165), Action::Done);
    let ended = |lasted, active| SpanEventKind::Ended {
        passed: true,
        lasted: Nanos(lasted),
        active: Nanos(active),
        own: Nanos::ZERO,
    };
    assert_eq!(
        told(&mut flow),
        [(0, SpanEventKind::Began), (2, SpanEventKind::Began), (2, ended(5, 5)), (0, ended(65, 5))]
    );
}

#[test]
fn an_iteration_that_sends_nothing_keeps_no_core_busy() {
    let ways = vec![Branch { weight: 1.0, steps: vec![] }];
    let mut flow = flow(vec![Step::Choose { ways }]);
    assert_eq!(wake(&mut flow, UserEvent::Begin, 0), Action::Pause(IDLE));
    assert_eq!(wake(&mut flow, UserEvent::Resumed, IDLE.0), Action::Done);
    let mut endless = self::flow(vec![Step::Repeat { times: u32::MAX.into(), steps: vec![] }]);
    assert_eq!(wake(&mut endless, UserEvent::Begin, 0), Action::Yielded(1), "others have their turn");
    assert_eq!([(); 2].map(|()| wake(&mut endless, UserEvent::Resumed, 1)), [Action::Yielded(2), Action::Yielded(3)]);
}

#[test]
fn what_failed_is_left_and_what_is_left_in_the_middle_is_cut() {
    let steps = || vec![Step::Group { name: "g".into(), steps: vec![send(0), send(1)] }];
    let mut failing = flow(steps());
    wake(&mut failing, UserEvent::Begin, 0);
    assert_eq!(wake(&mut failing, BAD, 9), Action::Done);
    let failed = SpanEventKind::Ended { passed: false, lasted: Nanos(9), active: Nanos(9), own: Nanos::ZERO };
    assert_eq!(told(&mut failing)[2..], [(1, failed), (0, failed)]);
    let mut cut = flow(steps());
    wake(&mut cut, UserEvent::Begin, 0);
    wake(&mut cut, OK, 4);
    told(&mut cut);
    cut.cut_spans(USER, Nanos(6), false);
    assert_eq!(told(&mut cut), [(0, SpanEventKind::Cut(Nanos(6))), (1, SpanEventKind::Cut(Nanos(6)))]);
    cut.cut_spans(USER, Nanos(8), true);
    assert_eq!(told(&mut cut), [], "once");
    let mut unreachable = flow(steps());
    wake(&mut unreachable, UserEvent::Begin, 0);
    unreachable.apply_event(USER, BAD, Nanos(3));
    unreachable.cut_spans(USER, Nanos(3), true);
    assert_eq!(
        told(&mut unreachable).last().map(|(_, what)| matches!(what, SpanEventKind::Ended { passed: false, .. })),
        Some(true)
    );
}

#[test]
fn once_is_the_first_iteration_of_each_user_and_anew_for_who_takes_its_number() {
    let mut flow = flow(vec![Step::Once { steps: vec![send(7)] }, send(0)]);
    assert_eq!(wake(&mut flow, UserEvent::Begin, 0), Action::Send(RequestId(7)));
    wake(&mut flow, OK, 0);
    assert_eq!(wake(&mut flow, OK, 0), Action::Done);
    assert_eq!(wake(&mut flow, UserEvent::Begin, 0), Action::Send(RequestId(0)));
    flow.cut_spans(USER, Nanos(0), true);
    assert_eq!(wake(&mut flow, UserEvent::Begin, 0), Action::Send(RequestId(7)));
}

#[test]
fn pauses_have_the_means_they_are_asked_for() {
    let mut rng = Rng::new(3);
    let (mean, deviation) = (Nanos::from_millis(200), Nanos::from_millis(20));
    for (pause, spread) in [
        (Pause::Uniform { from: Nanos::from_millis(100), to: Nanos::from_millis(300) }, 0.2887),
        (Pause::Normal { mean, deviation }, 0.1),
        (Pause::Exponential { mean }, 1.0),
    ] {
        let drawn: Vec<f64> = (0..20_000).map(|_| draw_pause(&pause, &mut rng).as_secs_f64() / 0.2).collect();
        let mean = drawn.iter().sum::<f64>() / drawn.len() as f64;
        let variance = drawn.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / drawn.len() as f64;
        assert!((mean - 1.0).abs() < 5.0 * spread / 141.0, "{pause:?}: {mean}");
        assert!((variance.sqrt() - spread).abs() < 0.05 * spread.max(0.3), "{pause:?}: {}", variance.sqrt());
    }
}

#[test]
fn conditions_look_at_what_the_user_knows_then() {
    let condition = |text: &str| text.to_owned();
    let choice = Step::If { condition: condition("state == 'open'"), steps: vec![send(1)], otherwise: vec![send(2)] };
    let pages = Step::While { condition: condition("page < 3"), steps: vec![send(3)] };
    let only = Step::If { condition: condition("state"), steps: vec![send(4)], otherwise: vec![] };
    let mut flow = flow(vec![send(0), choice, pages, only]);
    let mut values = UserValues::default();
    flow.apply_event(USER, UserEvent::Begin, Nanos(0));
    assert_eq!(flow.next_action(USER, Nanos(0), &mut values), Action::Send(RequestId(0)));
    let mut after = |flow: &mut FlowScenario, page: &[u8], state: &[u8]| {
        values.set(1, page);
        values.set(0, state);
        flow.apply_event(USER, OK, Nanos(0));
        flow.next_action(USER, Nanos(0), &mut values)
    };
    assert_eq!(after(&mut flow, b"0", b"open"), Action::Send(RequestId(1)));
    assert_eq!(
        [&b"1"[..], b"2", b"3"].map(|page| after(&mut flow, page, b"open")),
        [Action::Send(RequestId(3)), Action::Send(RequestId(3)), Action::Send(RequestId(4))]
    );
    assert_eq!(after(&mut flow, b"3", b""), Action::Done);
    flow.apply_event(USER, UserEvent::Begin, Nanos(0));
    flow.next_action(USER, Nanos(0), &mut UserValues::default());
    assert_eq!(after(&mut flow, b"9", b"shut"), Action::Send(RequestId(2)), "the other way");
    let tree = Tree { steps: vec![Step::While { condition: "stat".into(), steps: vec![] }], ..Tree::default() };
    assert!(FlowProgram::of(&tree).is_err());
}

#[test]
fn lists_are_gone_over_and_flows_are_called_with_what_they_are_given() {
    let element = Step::ForEach {
        name: "state".into(),
        list: LoopList::Captured("page".into()),
        steps: vec![Step::Call { flow: "show".into(), with: [("x".to_owned(), "<{state}>".to_owned())].into() }],
    };
    let fixed = Step::ForEach {
        name: "state".into(),
        list: LoopList::Fixed(vec!["a".into(), "b{x}".into()]),
        steps: vec![send(2)],
    };
    let called = |name: &str, steps| NamedFlow { name: name.into(), steps };
    let inner =
        Step::Repeat { times: 2.into(), steps: vec![Step::Call { flow: "inner".into(), with: BTreeMap::new() }] };
    let tree = Tree {
        steps: vec![send(0), element, fixed],
        flows: vec![called("inner", vec![send(3)]), called("show", vec![send(1), inner])],
        variables: ["state", "page", "x"].map(String::from).into(),
        ..Tree::default()
    };
    let mut flow = FlowScenario::new(Arc::new(FlowProgram::of(&tree).expect("a program")), 1);
    let mut values = UserValues::default();
    for _ in 0..2 {
        flow.apply_event(USER, UserEvent::Begin, Nanos(0));
        assert_eq!(flow.next_action(USER, Nanos(0), &mut values), Action::Send(RequestId(0)));
        values.set_list(1, b"k,l", &[1, 3]);
        let mut seen = Vec::new();
        loop {
            flow.apply_event(USER, OK, Nanos(0));
            let Action::Send(sent) = flow.next_action(USER, Nanos(0), &mut values) else { break };
            let text = |at| String::from_utf8_lossy(values.get(at).unwrap_or_default()).into_owned();
            seen.push((sent.0, text(0), text(2)));
        }
        let told = |sent, state: &str, x: &str| (sent, state.to_owned(), x.to_owned());
        let shown = |name: &str| [1, 3, 3].map(|sent| told(sent, name, &format!("<{name}>")));
        let rest = [told(2, "a", "<l>"), told(2, "b<l>", "<l>")];
        assert_eq!(seen, [&shown("k")[..], &shown("l"), &rest].concat());
        values.clear();
    }
}

#[test]
fn a_step_that_is_to_end_the_run_says_so_once() {
    let stops = Step::Request { url: 0, on_failure: OnFailure::StopRun };
    let mut flow = flow(vec![stops]);
    wake(&mut flow, UserEvent::Begin, 0);
    assert_eq!(wake(&mut flow, OK, 1), Action::Done);
    assert_eq!(std::mem::take(&mut flow.stops), StopScope::default());
    wake(&mut flow, UserEvent::Begin, 2);
    assert_eq!(wake(&mut flow, BAD, 3), Action::Leave);
    let stops = StopScope { run: true, user: false };
    assert_eq!((std::mem::take(&mut flow.stops), std::mem::take(&mut flow.stops)), (stops, StopScope::default()));
}

fn batch(at_most: u32, urls: Vec<u32>, on_failure: OnFailure) -> Step {
    Step::Batch { at_most, urls, on_failure, own: Vec::new() }
}

#[test]
fn a_batch_has_so_many_under_way_and_ends_with_the_last() {
    let group = Step::Group { name: "g".into(), steps: vec![batch(2, vec![1, 2, 3], OnFailure::NextIteration)] };
    let mut flow = flow(vec![send(0), group, send(4)]);
    wake(&mut flow, UserEvent::Begin, 0);
    assert_eq!(wake(&mut flow, OK, 10), Action::Send(RequestId(1)));
    let more = |flow: &mut FlowScenario, at| flow.next_action(USER, Nanos(at), &mut UserValues::default());
    assert_eq!((more(&mut flow, 10), more(&mut flow, 10)), (Action::Send(RequestId(2)), Action::Wait));
    assert_eq!((flow.in_flight(USER), flow.last_batch_member(USER).map(|batch| batch.began)), (2, Some(Nanos(10))));
    assert_eq!(wake(&mut flow, OK, 20), Action::Send(RequestId(3)));
    assert_eq!(wake(&mut flow, UserEvent::Resumed, 22), Action::Wait, "nobody is woken into sending twice");
    assert_eq!(wake(&mut flow, OK, 25), Action::Wait);
    assert_eq!(wake(&mut flow, OK, 40), Action::Send(RequestId(4)));
    assert_eq!((flow.in_flight(USER), flow.last_batch_member(USER)), (1, None));
    assert_eq!(wake(&mut flow, OK, 50), Action::Done);
    let passed =
        |lasted| SpanEventKind::Ended { passed: true, lasted: Nanos(lasted), active: Nanos(lasted), own: Nanos::ZERO };
    assert_eq!(
        told(&mut flow),
        [(0, SpanEventKind::Began), (1, SpanEventKind::Began), (1, passed(30)), (0, passed(50))]
    );
}

#[test]
fn a_batch_in_which_one_fails_is_left_once_the_others_are_over() {
    for (on_failure, rest) in [
        (OnFailure::NextIteration, vec![Action::Wait, Action::Done]),
        (OnFailure::StopUser, vec![Action::Wait, Action::Leave]),
        (OnFailure::GoOn, vec![Action::Send(RequestId(2)), Action::Wait, Action::Send(RequestId(3))]),
    ] {
        let mut flow = flow(vec![batch(2, vec![0, 1, 2], on_failure), send(3)]);
        wake(&mut flow, UserEvent::Begin, 0);
        assert_eq!(flow.next_action(USER, Nanos(0), &mut UserValues::default()), Action::Send(RequestId(1)));
        let on_failure = flow.last_batch_member(USER).expect("in the middle of it").on_failure;
        let mut acts = vec![wake(&mut flow, failing(on_failure), 5)];
        acts.extend((1..rest.len()).map(|_| wake(&mut flow, OK, 6)));
        assert_eq!(acts, rest, "{on_failure:?}");
    }
}

#[test]
fn each_of_a_batch_says_itself_what_follows_where_it_fails_in_whichever_order_they_end() {
    let own = vec![Some(OnFailure::GoOn), None, Some(OnFailure::StopRun)];
    let mixed = Step::Batch { at_most: 6, urls: vec![0, 0, 0], on_failure: OnFailure::StopUser, own };
    for (failed, after, stops) in [
        (vec![0], Action::Send(RequestId(3)), StopScope::default()),
        (vec![1], Action::Leave, StopScope { run: false, user: true }),
        (vec![2], Action::Leave, StopScope { run: true, user: false }),
        (vec![1, 2, 0], Action::Leave, StopScope { run: true, user: true }),
        (vec![2, 0, 1], Action::Leave, StopScope { run: true, user: false }),
    ] {
        let mut flow = flow(vec![mixed.clone(), send(3)]);
        let mut sent = Vec::new();
        flow.apply_event(USER, UserEvent::Begin, Nanos(0));
        while let Action::Send(RequestId(0)) = flow.next_action(USER, Nanos(0), &mut UserValues::default()) {
            sent.push(flow.last_batch_member(USER).expect("a batch").on_failure);
        }
        assert_eq!(sent, [OnFailure::GoOn, OnFailure::StopUser, OnFailure::StopRun]);
        let others = (0..3).filter(|nth| !failed.contains(nth)).map(|_| OK);
        let mut news: Vec<UserEvent> = failed.iter().map(|nth| self::failing(sent[*nth])).chain(others).collect();
        let last = news.pop().expect("three");
        news.into_iter().for_each(|news| assert_eq!(wake(&mut flow, news, 1), Action::Wait));
        assert_eq!((wake(&mut flow, last, 2), std::mem::take(&mut flow.stops)), (after, stops), "{failed:?}");
    }
}

#[test]
fn users_begin_once_and_end_once_beside_their_iterations() {
    let tree = Tree { steps: vec![send(0)], start: vec![send(1), send(2)], end: vec![send(3)], ..Tree::default() };
    let new = || FlowScenario::new(Arc::new(FlowProgram::of(&tree).expect("a program")), 1);
    let mut flow = new();
    assert!(!flow.enter_end_section(USER, Nanos(0)), "who never began ends nothing");
    assert_eq!(wake(&mut flow, UserEvent::Begin, 0), Action::Send(RequestId(1)));
    assert!(flow.positions[0].section != FlowSection::Iterations);
    assert_eq!((wake(&mut flow, OK, 1), wake(&mut flow, OK, 2)), (Action::Send(RequestId(2)), Action::Done));
    assert!(told(&mut flow).is_empty(), "no part of an iteration");
    for at in [3, 5] {
        assert_eq!(
            (wake(&mut flow, UserEvent::Begin, at), flow.positions[0].section),
            (Action::Send(RequestId(0)), FlowSection::Iterations)
        );
        assert_eq!(wake(&mut flow, OK, at + 1), Action::Done);
    }
    assert_eq!(told(&mut flow).len(), 4);
    assert!(flow.enter_end_section(USER, Nanos(9)));
    assert_eq!(
        (flow.next_action(USER, Nanos(9), &mut UserValues::default()), wake(&mut flow, OK, 10)),
        (Action::Send(RequestId(3)), Action::Leave)
    );
    assert!(!flow.enter_end_section(USER, Nanos(11)) && told(&mut flow).is_empty());
    let mut failing = new();
    wake(&mut failing, UserEvent::Begin, 0);
    assert_eq!(wake(&mut failing, BAD, 1), Action::Leave, "who cannot begin does not go on");
    assert!(!failing.enter_end_section(USER, Nanos(2)));
}
