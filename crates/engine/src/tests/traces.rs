//! Traces of slow and failed requests: the reported ids are those sent, and belong to the slow requests.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

use brunt_contract::ServerRequest;
use brunt_measure::Nanos;
use brunt_plan::flow::{Flow, OnFailure, Step};
use brunt_plan::{Arrivals, WeightedUrl};
use brunt_protocols::redis::{RedisProtocol, RedisServer};
use brunt_record::TracedRequest;
use brunt_sim::{ServerPeer, SimReply};

use super::harness::{MS, SECOND, SimPlan};
use super::sim_result::SimResult;

/// Service times by span id, as recorded by the service.
type SpanTimes = Arc<Mutex<BTreeMap<String, Nanos>>>;

/// Creates requests that carry their trace where the simulated service can see it.
fn scene(share: &str) -> SimPlan {
    SimPlan::open(200.0, Arrivals::Constant, Nanos::from_secs(3)).with(|plan| {
        let url = WeightedUrl::plain(format!("http://test/?{{traceparent {share}}}"));
        plan.urls = vec![url].into();
        let header = vec![format!("traceparent: {{traceparent {share}}}")];
        plan.options.insert("header".into(), header);
    })
}

/// Returns a service in which the last digits of a request's span give its duration in milliseconds, except that every
/// fiftieth takes half a second.
fn service(heard: &SpanTimes) -> impl FnMut(Nanos, &ServerRequest<'_>) -> (Nanos, SimReply) + Send + use<> {
    let (heard, mut asked) = (Arc::clone(heard), 0u64);
    move |now, ask| {
        let span = ask.path.split('-').nth(2).unwrap_or_default().to_owned();
        asked += 1;
        let digits = u64::from_str_radix(&span[14..], 16).unwrap_or(0);
        let took = if asked.is_multiple_of(50) { 500 * MS.0 } else { digits * MS.0 / 16 };
        heard.lock().unwrap().insert(span, Nanos(took));
        (now + Nanos(took), SimReply::new(200, b""))
    }
}

fn slowest(played: &SimResult) -> Vec<&TracedRequest> {
    played.seconds.iter().flat_map(|second| &second.slowest).collect()
}

#[test]
fn the_slowest_of_each_second_are_told_by_the_ids_that_were_sent() {
    for workers in [1, 3] {
        let heard = SpanTimes::default();
        let played = scene("100%").with(|plan| plan.workers = workers).play(|| service(&heard));
        let heard = heard.lock().unwrap();
        for second in &played.seconds {
            assert!(second.slowest.len() <= 8);
            for told in &second.slowest {
                let took = heard.get(&told.trace.span).unwrap_or_else(|| panic!("never sent: {told:?}"));
                assert!(told.latency_ns >= took.0 && told.latency_ns < took.0 + 5 * MS.0, "{told:?}, {took:?}");
                assert!(told.trace.sampled && told.scheduled_ns <= told.sent_ns && told.sent_ns < told.ended_ns);
            }
        }
        let mut slow: Vec<&String> =
            heard.iter().filter(|(_, took)| took.0 == 500 * MS.0).map(|(span, _)| span).collect();
        let mut told: Vec<&String> = slowest(&played)
            .into_iter()
            .filter(|one| one.latency_ns >= 500 * MS.0)
            .map(|one| &one.trace.span)
            .collect();
        slow.sort();
        told.sort();
        assert_eq!(played.spans.len(), 600, "each is sampled");
        assert!(played.spans.iter().all(|span| heard.contains_key(&format!("{:016x}", span.span))));
        assert_eq!(told, slow, "{workers} workers: no second has more of them than are kept");
    }
}

#[test]
fn of_a_share_those_that_can_be_looked_up_are_kept_beside_the_slowest() {
    let heard = SpanTimes::default();
    let played = scene("10%").play(|| service(&heard));
    for second in &played.seconds[..3] {
        let sampled = second.slowest.iter().filter(|one| one.trace.sampled).count();
        assert_eq!((sampled, second.slowest.len()), (8, 16), "of 200 requests 20 are sampled");
    }
}

#[test]
fn the_example_of_a_failure_has_its_trace_and_a_run_without_traces_has_none() {
    let failing = |heard: &SpanTimes| {
        let mut answer = service(heard);
        move |now: Nanos, ask: &ServerRequest<'_>| (answer(now, ask).0, SimReply::new(503, b""))
    };
    let example = |played: &SimResult| played.examples.first().cloned().expect("an example");
    let heard = SpanTimes::default();
    let failed = example(&scene("0%").play(|| failing(&heard)));
    let trace = failed.trace.expect("a trace");
    assert!(heard.lock().unwrap().contains_key(&trace.span) && !trace.sampled && failed.sent.contains(&trace.id));
    let plain = scene("0%").with(|plan| {
        plan.options.clear();
        plan.urls = vec![WeightedUrl::plain("http://test/?a-b-0000000000000000-c")].into();
        plan.duration = Some(SECOND);
    });
    let played = plain.play(|| failing(&heard));
    assert_eq!((example(&played).trace, slowest(&played).len()), (None, 0));
}

#[test]
fn a_request_that_timed_out_is_among_the_slowest() {
    let heard = SpanTimes::default();
    let played = scene("100%").with(|plan| plan.timeout = Nanos::from_millis(300)).play(|| service(&heard));
    let told = slowest(&played);
    let timed_out: Vec<&&TracedRequest> = told.iter().filter(|one| one.timed_out).collect();
    assert!(!timed_out.is_empty() && timed_out.iter().all(|one| one.latency_ns >= 300 * MS.0 && one.status.is_empty()));
}

#[test]
fn requests_that_cannot_say_their_trace_belong_to_one_each_or_to_that_of_their_iteration() {
    let answer = |now: Nanos, _: &ServerRequest<'_>| (now + MS, SimReply::new(200, b"x"));
    let play = |trace: Option<f64>, flow: bool| {
        let scene = SimPlan::open(100.0, Arrivals::Constant, SECOND).with(|plan| {
            plan.protocol = "redis".into();
            plan.trace = trace;
            let commands = if flow { vec!["GET a".into()] } else { vec!["GET a".into(), "GET b".into()] };
            plan.options.insert("command".into(), commands);
            plan.urls = vec![WeightedUrl::plain("redis://test"); if flow { 2 } else { 1 }].into();
            let send = |url| Step::Request { url, on_failure: OnFailure::default() };
            plan.flow = flow.then(|| Flow { steps: vec![send(0), send(1)], ..Flow::default() });
        });
        scene.play_protocol(&RedisProtocol, Arc::default(), |_| Box::new(ServerPeer::new(RedisServer::default, answer)))
    };
    let ids = |played: &SimResult| played.spans.iter().map(|span| span.trace).collect::<BTreeSet<u128>>().len();
    let alone = play(Some(1.0), false);
    assert_eq!((alone.sum.finished, alone.spans.len(), ids(&alone)), (100, 100, 100));
    assert!(alone.spans.iter().all(|span| span.sampled && span.ended_ns > span.scheduled_ns));
    let mut own: Vec<u64> = alone.spans.iter().map(|span| span.span).collect();
    own.sort_unstable();
    own.dedup();
    assert_eq!(own.len(), 100, "each has its own span");
    let steps = play(Some(1.0), true);
    assert_eq!((steps.spans.len(), ids(&steps)), (200, 100), "both requests of an iteration are in one trace");
    let none = play(None, false);
    assert_eq!((none.spans.len(), slowest(&none).len()), (0, 0));
    let few = play(Some(0.1), false);
    let sampled = few.spans.iter().filter(|span| span.sampled).count();
    assert!((1..40).contains(&sampled), "{sampled}");
}
