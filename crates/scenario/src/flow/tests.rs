use std::collections::BTreeMap;

use plan::flow::{Called, Flow as Tree, List, Step, Way};
use wire::{FaultKind, RequestId};

use super::*;

const USER: UserIndex = UserIndex(0);
const OK: News = News::Ended { code: 200, fault: None, on_failure: OnFailure::GoOn };
const BAD: News = failing(OnFailure::NextIteration);

/// Returns the event of a failed batch request with its failure policy.
const fn failing(on_failure: OnFailure) -> News {
    News::Ended { code: 500, fault: Some(FaultKind::WrongStatus), on_failure }
}

fn send(url: u32) -> Step {
    Step::Request { url, on_failure: OnFailure::default() }
}

fn program(steps: Vec<Step>) -> Program {
    let variables = vec!["state".to_owned(), "page".to_owned()];
    Program::of(&Tree { steps, variables, ..Tree::default() }).expect("conditions that can be read")
}

fn flow(steps: Vec<Step>) -> Flow {
    Flow::new(Arc::new(program(steps)), 1)
}

fn wake(flow: &mut Flow, news: News, at: u64) -> Act {
    flow.hear(USER, news, Nanos(at));
    let act = flow.next(USER, Nanos(at), &mut Values::default());
    if matches!(act, Act::Send(_)) {
        flow.groups_begin(USER, Nanos(at));
    }
    act
}

fn told(flow: &mut Flow) -> Vec<(u16, What)> {
    std::mem::take(&mut flow.told).into_iter().map(|told| (told.span, told.what)).collect()
}

#[test]
fn steps_follow_each_other_and_loops_end() {
    let mut flow = flow(vec![send(0), Step::Repeat { times: 2, steps: vec![send(1)] }, send(2)]);
    for _ in 0..2 {
        assert_eq!(wake(&mut flow, News::Begin, 0), Act::Send(RequestId(0)));
        let rest = [Act::Send(RequestId(1)), Act::Send(RequestId(1)), Act::Send(RequestId(2)), Act::Done];
        assert_eq!([(); 4].map(|()| wake(&mut flow, OK, 0)), rest);
    }
}

#[test]
fn a_group_lasts_from_its_first_request_to_its_last_response_and_an_iteration_to_its_last_step() {
    let pause = |nanos| Step::Pause(Pause::Uniform { from: Nanos(nanos), to: Nanos(nanos) });
    let group = Step::Group { name: "g".into(), steps: vec![pause(10), send(0), pause(5), send(1), pause(7)] };
    let mut flow = flow(vec![group]);
    assert_eq!(wake(&mut flow, News::Begin, 100), Act::Pause(Nanos(10)));
    assert_eq!(wake(&mut flow, News::Awake, 110), Act::Send(RequestId(0)));
    assert_eq!(wake(&mut flow, OK, 120), Act::Pause(Nanos(5)));
    assert_eq!(wake(&mut flow, News::Awake, 125), Act::Send(RequestId(1)));
    assert_eq!(told(&mut flow), [(0, What::Began), (1, What::Began)]);
    assert_eq!(wake(&mut flow, OK, 140), Act::Pause(Nanos(7)));
    assert_eq!(wake(&mut flow, News::Awake, 147), Act::Done);
    let ended = |lasted, active| What::Ended { passed: true, lasted: Nanos(lasted), active: Nanos(active) };
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
    let looped = Step::Repeat { times: 5, steps: vec![send(0), pause(3), send(1)] };
    let pauses = |steps, at: u64| {
        let mut flow = flow(steps);
        assert_eq!(wake(&mut flow, News::Begin, 0), Act::Send(RequestId(0)));
        let (mut at, mut waited) = (at, Vec::new());
        let mut act = wake(&mut flow, BAD, at);
        while let Act::Pause(pause) = act {
            waited.push(pause.0);
            at += pause.0;
            act = wake(&mut flow, News::Awake, at);
        }
        assert_eq!(act, Act::Done);
        let iteration = told(&mut flow).pop().expect("an iteration that ended");
        let slept: u64 = waited.iter().sum();
        assert_eq!(iteration, (0, What::Ended { passed: false, lasted: Nanos(at), active: Nanos(at - slept) }));
        waited
    };
    assert_eq!(pauses(vec![send(0), send(1), pause(7)], 1), [7]);
    assert_eq!(pauses(vec![send(0), Step::Pace(Nanos(50))], 1), [49]);
    assert_eq!(pauses(vec![send(0), pause(7), Step::Pace(Nanos(50)), send(1)], 1), [7, 42]);
    assert_eq!(pauses(vec![send(0), Step::Pace(Nanos(50))], 60), [0; 0], "it took longer than the pace");
    assert_eq!(pauses(vec![group(vec![send(0), pause(2)]), optional, pause(4)], 1), [2, 4]);
    assert_eq!(pauses(vec![looped, pause(9)], 1), [3, 9], "the loop is not gone through again");
    let batch = Step::Batch { at_most: 1, urls: vec![0, 1], on_failure: OnFailure::default(), own: Vec::new() };
    assert_eq!(pauses(vec![batch, pause(6)], 1), [6]);
    // Loops that the user never reached: one round each, even though the list they iterate over was never captured.
    let captured = List::Captured("state".into());
    let over = Step::ForEach { name: "element".into(), list: captured, steps: vec![send(1), pause(5)] };
    let polled = Step::While { condition: "state != \"done\"".into(), steps: vec![send(1), pause(8)] };
    assert_eq!(pauses(vec![send(0), over, polled], 1), [5, 8]);
}

#[test]
fn a_group_that_sent_nothing_was_none() {
    let group = |steps| Step::Group { name: "g".into(), steps };
    let mut flow = flow(vec![group(vec![]), send(0)]);
    assert_eq!(wake(&mut flow, News::Begin, 0), Act::Send(RequestId(0)));
    assert_eq!(wake(&mut flow, OK, 5), Act::Done);
    assert!(told(&mut flow).iter().all(|(span, _)| *span == 0));
}

#[test]
fn what_comes_from_a_cache_begins_and_ends_no_group() {
    let pause = || Step::Pause(Pause::Uniform { from: Nanos(30), to: Nanos(30) });
    let group = |name: &str, steps| Step::Group { name: name.into(), steps };
    let cached = group("cached", vec![send(0)]);
    let both = group("both", vec![send(0), pause(), send(1), pause(), send(0)]);
    let mut flow = flow(vec![cached, both]);
    let recalled = |flow: &mut Flow, at| {
        flow.hear(USER, News::Recalled, Nanos(at));
        flow.next(USER, Nanos(at), &mut Values::default())
    };
    flow.hear(USER, News::Begin, Nanos(100));
    assert_eq!(flow.next(USER, Nanos(100), &mut Values::default()), Act::Send(RequestId(0)));
    assert_eq!(recalled(&mut flow, 100), Act::Send(RequestId(0)), "of the first group all is there");
    assert_eq!(recalled(&mut flow, 100), Act::Pause(Nanos(30)));
    assert_eq!(wake(&mut flow, News::Awake, 130), Act::Send(RequestId(1)));
    assert_eq!(wake(&mut flow, OK, 135), Act::Pause(Nanos(30)));
    flow.hear(USER, News::Awake, Nanos(165));
    assert_eq!(flow.next(USER, Nanos(165), &mut Values::default()), Act::Send(RequestId(0)));
    assert_eq!(recalled(&mut flow, 165), Act::Done);
    let ended = |lasted, active| What::Ended { passed: true, lasted: Nanos(lasted), active: Nanos(active) };
    assert_eq!(told(&mut flow), [(0, What::Began), (2, What::Began), (2, ended(5, 5)), (0, ended(65, 5))]);
}

#[test]
fn an_iteration_that_sends_nothing_keeps_no_core_busy() {
    let ways = vec![Way { weight: 1.0, steps: vec![] }];
    let mut flow = flow(vec![Step::Choose { ways }]);
    assert_eq!(wake(&mut flow, News::Begin, 0), Act::Pause(IDLE));
    assert_eq!(wake(&mut flow, News::Awake, IDLE.0), Act::Done);
    let mut endless = self::flow(vec![Step::Repeat { times: u32::MAX, steps: vec![] }]);
    assert_eq!(wake(&mut endless, News::Begin, 0), Act::Busy(1), "others have their turn");
    assert_eq!([(); 2].map(|()| wake(&mut endless, News::Awake, 1)), [Act::Busy(2), Act::Busy(3)]);
}

#[test]
fn what_failed_is_left_and_what_is_left_in_the_middle_is_cut() {
    let steps = || vec![Step::Group { name: "g".into(), steps: vec![send(0), send(1)] }];
    let mut failing = flow(steps());
    wake(&mut failing, News::Begin, 0);
    assert_eq!(wake(&mut failing, BAD, 9), Act::Done);
    let failed = What::Ended { passed: false, lasted: Nanos(9), active: Nanos(9) };
    assert_eq!(told(&mut failing)[2..], [(1, failed), (0, failed)]);
    let mut cut = flow(steps());
    wake(&mut cut, News::Begin, 0);
    wake(&mut cut, OK, 4);
    told(&mut cut);
    cut.left(USER, Nanos(6), false);
    assert_eq!(told(&mut cut), [(0, What::Cut(Nanos(6))), (1, What::Cut(Nanos(6)))]);
    cut.left(USER, Nanos(8), true);
    assert_eq!(told(&mut cut), [], "once");
    let mut unreachable = flow(steps());
    wake(&mut unreachable, News::Begin, 0);
    unreachable.hear(USER, BAD, Nanos(3));
    unreachable.left(USER, Nanos(3), true);
    assert_eq!(
        told(&mut unreachable).last().map(|(_, what)| matches!(what, What::Ended { passed: false, .. })),
        Some(true)
    );
}

#[test]
fn once_is_the_first_iteration_of_each_user_and_anew_for_who_takes_its_number() {
    let mut flow = flow(vec![Step::Once { steps: vec![send(7)] }, send(0)]);
    assert_eq!(wake(&mut flow, News::Begin, 0), Act::Send(RequestId(7)));
    wake(&mut flow, OK, 0);
    assert_eq!(wake(&mut flow, OK, 0), Act::Done);
    assert_eq!(wake(&mut flow, News::Begin, 0), Act::Send(RequestId(0)));
    flow.left(USER, Nanos(0), true);
    assert_eq!(wake(&mut flow, News::Begin, 0), Act::Send(RequestId(7)));
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
        let drawn: Vec<f64> = (0..20_000).map(|_| drawn(&pause, &mut rng).as_secs_f64() / 0.2).collect();
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
    let mut values = Values::default();
    flow.hear(USER, News::Begin, Nanos(0));
    assert_eq!(flow.next(USER, Nanos(0), &mut values), Act::Send(RequestId(0)));
    let mut after = |flow: &mut Flow, page: &[u8], state: &[u8]| {
        values.set(1, page);
        values.set(0, state);
        flow.hear(USER, OK, Nanos(0));
        flow.next(USER, Nanos(0), &mut values)
    };
    assert_eq!(after(&mut flow, b"0", b"open"), Act::Send(RequestId(1)));
    assert_eq!(
        [&b"1"[..], b"2", b"3"].map(|page| after(&mut flow, page, b"open")),
        [Act::Send(RequestId(3)), Act::Send(RequestId(3)), Act::Send(RequestId(4))]
    );
    assert_eq!(after(&mut flow, b"3", b""), Act::Done);
    flow.hear(USER, News::Begin, Nanos(0));
    flow.next(USER, Nanos(0), &mut Values::default());
    assert_eq!(after(&mut flow, b"9", b"shut"), Act::Send(RequestId(2)), "the other way");
    let tree = Tree { steps: vec![Step::While { condition: "stat".into(), steps: vec![] }], ..Tree::default() };
    assert!(Program::of(&tree).is_err());
}

#[test]
fn lists_are_gone_over_and_flows_are_called_with_what_they_are_given() {
    let element = Step::ForEach {
        name: "state".into(),
        list: List::Captured("page".into()),
        steps: vec![Step::Call { flow: "show".into(), with: [("x".to_owned(), "<{state}>".to_owned())].into() }],
    };
    let fixed = Step::ForEach {
        name: "state".into(),
        list: List::Fixed(vec!["a".into(), "b{x}".into()]),
        steps: vec![send(2)],
    };
    let called = |name: &str, steps| Called { name: name.into(), steps };
    let inner = Step::Repeat { times: 2, steps: vec![Step::Call { flow: "inner".into(), with: BTreeMap::new() }] };
    let tree = Tree {
        steps: vec![send(0), element, fixed],
        flows: vec![called("inner", vec![send(3)]), called("show", vec![send(1), inner])],
        variables: ["state", "page", "x"].map(String::from).into(),
        ..Tree::default()
    };
    let mut flow = Flow::new(Arc::new(Program::of(&tree).expect("a program")), 1);
    let mut values = Values::default();
    for _ in 0..2 {
        flow.hear(USER, News::Begin, Nanos(0));
        assert_eq!(flow.next(USER, Nanos(0), &mut values), Act::Send(RequestId(0)));
        values.set_list(1, b"k,l", &[1, 3]);
        let mut seen = Vec::new();
        loop {
            flow.hear(USER, OK, Nanos(0));
            let Act::Send(sent) = flow.next(USER, Nanos(0), &mut values) else { break };
            let text = |at| String::from_utf8_lossy(values.get(at).unwrap_or_default()).into_owned();
            seen.push((sent.0, text(0), text(2)));
        }
        let told = |sent, state: &str, x: &str| (sent, state.to_owned(), x.to_owned());
        let shown = |name: &str| [1, 3, 3].map(|sent| told(sent, name, &format!("<{name}>")));
        let rest = [told(2, "a", "<l>"), told(2, "b<l>", "<l>")];
        assert_eq!(seen, [&shown("k")[..], &shown("l"), &rest].concat());
        values.forget();
    }
}

#[test]
fn a_step_that_is_to_end_the_run_says_so_once() {
    let stops = Step::Request { url: 0, on_failure: OnFailure::StopRun };
    let mut flow = flow(vec![stops]);
    wake(&mut flow, News::Begin, 0);
    assert_eq!(wake(&mut flow, OK, 1), Act::Done);
    assert_eq!(std::mem::take(&mut flow.stops), Stops::default());
    wake(&mut flow, News::Begin, 2);
    assert_eq!(wake(&mut flow, BAD, 3), Act::Leave);
    let stops = Stops { run: true, user: false };
    assert_eq!((std::mem::take(&mut flow.stops), std::mem::take(&mut flow.stops)), (stops, Stops::default()));
}

fn batch(at_most: u32, urls: Vec<u32>, on_failure: OnFailure) -> Step {
    Step::Batch { at_most, urls, on_failure, own: Vec::new() }
}

#[test]
fn a_batch_has_so_many_under_way_and_ends_with_the_last() {
    let group = Step::Group { name: "g".into(), steps: vec![batch(2, vec![1, 2, 3], OnFailure::NextIteration)] };
    let mut flow = flow(vec![send(0), group, send(4)]);
    wake(&mut flow, News::Begin, 0);
    assert_eq!(wake(&mut flow, OK, 10), Act::Send(RequestId(1)));
    let more = |flow: &mut Flow, at| flow.next(USER, Nanos(at), &mut Values::default());
    assert_eq!((more(&mut flow, 10), more(&mut flow, 10)), (Act::Send(RequestId(2)), Act::Wait));
    assert_eq!((flow.under_way(USER), flow.batch(USER).map(|batch| batch.began)), (2, Some(Nanos(10))));
    assert_eq!(wake(&mut flow, OK, 20), Act::Send(RequestId(3)));
    assert_eq!(wake(&mut flow, News::Awake, 22), Act::Wait, "nobody is woken into sending twice");
    assert_eq!(wake(&mut flow, OK, 25), Act::Wait);
    assert_eq!(wake(&mut flow, OK, 40), Act::Send(RequestId(4)));
    assert_eq!((flow.under_way(USER), flow.batch(USER)), (1, None));
    assert_eq!(wake(&mut flow, OK, 50), Act::Done);
    let passed = |lasted| What::Ended { passed: true, lasted: Nanos(lasted), active: Nanos(lasted) };
    assert_eq!(told(&mut flow), [(0, What::Began), (1, What::Began), (1, passed(30)), (0, passed(50))]);
}

#[test]
fn a_batch_in_which_one_fails_is_left_once_the_others_are_over() {
    for (on_failure, rest) in [
        (OnFailure::NextIteration, vec![Act::Wait, Act::Done]),
        (OnFailure::StopUser, vec![Act::Wait, Act::Leave]),
        (OnFailure::GoOn, vec![Act::Send(RequestId(2)), Act::Wait, Act::Send(RequestId(3))]),
    ] {
        let mut flow = flow(vec![batch(2, vec![0, 1, 2], on_failure), send(3)]);
        wake(&mut flow, News::Begin, 0);
        assert_eq!(flow.next(USER, Nanos(0), &mut Values::default()), Act::Send(RequestId(1)));
        let on_failure = flow.batch(USER).expect("in the middle of it").on_failure;
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
        (vec![0], Act::Send(RequestId(3)), Stops::default()),
        (vec![1], Act::Leave, Stops { run: false, user: true }),
        (vec![2], Act::Leave, Stops { run: true, user: false }),
        (vec![1, 2, 0], Act::Leave, Stops { run: true, user: true }),
        (vec![2, 0, 1], Act::Leave, Stops { run: true, user: false }),
    ] {
        let mut flow = flow(vec![mixed.clone(), send(3)]);
        let mut sent = Vec::new();
        flow.hear(USER, News::Begin, Nanos(0));
        while let Act::Send(RequestId(0)) = flow.next(USER, Nanos(0), &mut Values::default()) {
            sent.push(flow.batch(USER).expect("a batch").on_failure);
        }
        assert_eq!(sent, [OnFailure::GoOn, OnFailure::StopUser, OnFailure::StopRun]);
        let others = (0..3).filter(|nth| !failed.contains(nth)).map(|_| OK);
        let mut news: Vec<News> = failed.iter().map(|nth| self::failing(sent[*nth])).chain(others).collect();
        let last = news.pop().expect("three");
        news.into_iter().for_each(|news| assert_eq!(wake(&mut flow, news, 1), Act::Wait));
        assert_eq!((wake(&mut flow, last, 2), std::mem::take(&mut flow.stops)), (after, stops), "{failed:?}");
    }
}

#[test]
fn users_begin_once_and_end_once_beside_their_iterations() {
    let tree = Tree { steps: vec![send(0)], start: vec![send(1), send(2)], end: vec![send(3)], ..Tree::default() };
    let new = || Flow::new(Arc::new(Program::of(&tree).expect("a program")), 1);
    let mut flow = new();
    assert!(!flow.ends(USER, Nanos(0)), "who never began ends nothing");
    assert_eq!(wake(&mut flow, News::Begin, 0), Act::Send(RequestId(1)));
    assert!(flow.players[0].phase != Phase::Iterations);
    assert_eq!((wake(&mut flow, OK, 1), wake(&mut flow, OK, 2)), (Act::Send(RequestId(2)), Act::Done));
    assert!(told(&mut flow).is_empty(), "no part of an iteration");
    for at in [3, 5] {
        assert_eq!(
            (wake(&mut flow, News::Begin, at), flow.players[0].phase),
            (Act::Send(RequestId(0)), Phase::Iterations)
        );
        assert_eq!(wake(&mut flow, OK, at + 1), Act::Done);
    }
    assert_eq!(told(&mut flow).len(), 4);
    assert!(flow.ends(USER, Nanos(9)));
    assert_eq!(
        (flow.next(USER, Nanos(9), &mut Values::default()), wake(&mut flow, OK, 10)),
        (Act::Send(RequestId(3)), Act::Leave)
    );
    assert!(!flow.ends(USER, Nanos(11)) && told(&mut flow).is_empty());
    let mut failing = new();
    wake(&mut failing, News::Begin, 0);
    assert_eq!(wake(&mut failing, BAD, 1), Act::Leave, "who cannot begin does not go on");
    assert!(!failing.ends(USER, Nanos(2)));
}
