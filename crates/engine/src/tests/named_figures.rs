//! Figures by name: each name has its own figures, which add up to those of the run.

use std::collections::BTreeMap;

use brunt_contract::ServerRequest;
use brunt_measure::{Histogram, Nanos};
use brunt_plan::Arrivals;
use brunt_record::{NamedCounts, NamedFigures, Second};
use brunt_sim::SimReply;

use super::harness::{MS, SECOND, SimPlan, after};

/// Checks the invariants of every second of a run with several names, whatever went wrong in it.
#[track_caller]
pub fn check(second: &Second) {
    let mut sum = NamedFigures::default();
    second.named.iter().for_each(|named| sum.merge(named));
    let counts = NamedCounts {
        due: second.due,
        finished: second.finished,
        failed: second.failed,
        censored: second.censored,
        finished_of_warmup: second.finished_of_warmup,
        payload: second.bytes.payload,
        ..NamedCounts::default()
    };
    assert_eq!(sum.counts, counts, "names add up to the whole in {}", second.from_ns);
    assert_eq!(sum.status, second.status, "in {}", second.from_ns);
    let l = &second.latency;
    let open = l.gen_late.count() + l.response.count() + l.response_at_least.count() > 0;
    let (finished, at_least) =
        if open { (&l.response, &l.response_at_least) } else { (&l.service, &l.service_at_least) };
    for (packed, whole) in [(&sum.latency, finished), (&sum.at_least, at_least)] {
        let mut read = Histogram::new();
        packed.add_to(&mut read);
        let exact = |h: &Histogram| (h.count(), h.sum(), h.min(), h.max());
        assert_eq!(exact(&read), exact(whole), "in {}", second.from_ns);
    }
    assert!(second.named.windows(2).all(|pair| pair[0].name < pair[1].name), "in the order of names, each once");
}

fn sums(seconds: &[Second]) -> BTreeMap<u16, NamedFigures> {
    let mut all = BTreeMap::<u16, NamedFigures>::new();
    for named in seconds.iter().flat_map(|second| &second.named) {
        all.entry(named.name).or_default().merge(named);
    }
    all
}

fn latency(named: &NamedFigures) -> Histogram {
    let mut histogram = Histogram::new();
    named.latency.add_to(&mut histogram);
    histogram
}

/// Returns the reply of a server that is fast, slow or broken by path.
fn by_path(now: Nanos, ask: &ServerRequest<'_>) -> (Nanos, SimReply) {
    match ask.path.split('?').next().unwrap_or_default() {
        "/fast" => (now + MS, SimReply::new(200, b"ok")),
        "/slow" => (now + Nanos::from_millis(50), SimReply::new(200, b"slowly")),
        _ => (now + MS, SimReply::new(503, b"")),
    }
}

const URLS: [(&str, f64); 3] = [("http://a/fast?x=1", 3.0), ("http://b/slow", 1.0), ("http://a/broken", 1.0)];

#[test]
fn each_name_has_its_own_latency_statuses_and_failures() {
    for scene in
        [SimPlan::open(500.0, Arrivals::Constant, Nanos::from_secs(4)), SimPlan::closed(20, Nanos::from_secs(4))]
    {
        let scene = scene.urls(&URLS).with(|plan| (plan.workers, plan.warmup) = (2, SECOND));
        let played = scene.play(|| by_path);
        played.check();
        let all = sums(&played.seconds);
        let [fast, slow, broken] = [0, 1, 2].map(|name| &all[&name]);
        assert!(latency(fast).max() < 20_000_000, "{fast:?}");
        assert!(latency(slow).min() >= 50_000_000, "{slow:?}");
        assert_eq!((fast.counts.failed, slow.counts.failed, broken.counts.finished), (0, 0, 0));
        assert_eq!(broken.status.keys().collect::<Vec<_>>(), ["503"]);
        assert_eq!(fast.counts.payload, 2 * fast.status["200"]);
        assert!(fast.counts.finished > 2 * slow.counts.finished, "{fast:?} {slow:?}");
        assert!(broken.counts.failed > 100, "{broken:?}");
        let example = played.examples.iter().find(|e| e.name == Some(2)).expect("an example of what is broken");
        assert_eq!((&*example.status, &*example.kind), ("503", "wrong_status"));
        assert!(example.at_ns.is_some_and(|at| at < 4_000_000_000), "{example:?}");
    }
}

#[test]
fn an_example_of_each_status_of_each_name_is_kept() {
    let brain = |now: Nanos, ask: &ServerRequest<'_>| {
        let status = if now.0.is_multiple_of(2) { 500 } else { 404 };
        let status = if ask.path == "/b" && status == 404 { 200 } else { status };
        (now + Nanos(1001), SimReply::new(status, ask.path.as_bytes()))
    };
    let scene = SimPlan::open(997.0, Arrivals::Poisson, SECOND).urls(&[("http://h/a", 1.0), ("http://h/b", 1.0)]);
    let played = scene.with(|plan| plan.workers = 2).play(|| brain);
    let mut kept: Vec<_> = played.examples.iter().map(|e| (e.name.unwrap(), e.status.clone())).collect();
    kept.sort();
    assert_eq!(kept, [(0, "404".into()), (0, "500".into()), (1, "500".into())]);
    for example in &played.examples {
        let path = ["/a", "/b"][usize::from(example.name.unwrap())];
        assert!(example.sent.contains(path) && example.received.contains(path), "{example:?}");
    }
}

#[test]
fn urls_of_one_name_share_a_row_and_a_run_of_one_name_has_none() {
    let pages = [("http://h/item?id=1", 1.0), ("http://h/item?id=2", 1.0)];
    let one = SimPlan::closed(3, SECOND).urls(&pages).play(|| after(MS));
    one.check();
    assert!(one.sum.finished > 1000 && one.seconds.iter().all(|second| second.named.is_empty()));
    let two = SimPlan::closed(3, SECOND).urls(&[pages[0], ("http://h/other", 1.0), pages[1]]).play(|| after(MS));
    two.check();
    let all = sums(&two.seconds);
    assert_eq!(all.len(), 2);
    assert!(all[&0].counts.finished > all[&1].counts.finished, "{all:?}");
}

#[test]
fn what_a_lost_process_had_open_is_unfinished_by_name_too() {
    let urls = [("http://h/a", 1.0), ("http://h/b", 1.0)];
    for scene in
        [SimPlan::closed(10, Nanos::from_secs(4)), SimPlan::open(100.0, Arrivals::Constant, Nanos::from_secs(4))]
    {
        let scene = SimPlan { lost: Some((1, 2)), ..scene.urls(&urls).with(|plan| plan.workers = 2) };
        let played = scene.play(|| after(Nanos::from_millis(30)));
        assert!(played.sum.censored > 0);
        played.seconds.iter().for_each(check);
    }
}

#[test]
fn a_visit_goes_by_the_name_of_its_first_request() {
    let brain = |now: Nanos, ask: &ServerRequest<'_>| {
        let mut reply = SimReply::new(if ask.path == "/a" { 302 } else { 200 }, b"");
        if reply.status == 302 {
            reply.headers = std::sync::Arc::from(&b"location: /elsewhere\r\n"[..]);
        }
        (now + MS, reply)
    };
    let scene = SimPlan::closed(2, SECOND).urls(&[("http://h/b", 1.0), ("http://h/a", 1.0)]).option("redirects", "3");
    let played = scene.play(|| brain);
    played.check();
    let all = sums(&played.seconds);
    let heard = |path: &str| played.asks.iter().filter(|(_, asked)| asked == path).count() as u64;
    assert_eq!((all[&1].status["200"], all[&1].status.len()), (heard("/elsewhere"), 1), "{all:?}");
    assert_eq!((all[&0].status["200"], all[&0].status.len()), (heard("/b"), 1), "{all:?}");
}
