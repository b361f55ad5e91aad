//! Caches of users over whole runs: fresh answers are not requested, stale ones are revalidated, and everything is
//! counted once.

use std::collections::BTreeMap;
use std::sync::Arc;

use brunt_contract::ServerRequest;
use brunt_measure::Nanos;
use brunt_plan::flow::{Flow, OnFailure, Pause, Step};
use brunt_plan::{Arrivals, WeightedUrl};
use brunt_protocols::http::Http;
use brunt_protocols::http2::Http2Server;
use brunt_record::{NamedFigures, Second};
use brunt_sim::{ServerPeer, SimReply};

use super::harness::{MS, SECOND, ServerLog, SimPlan, each_seed};
use super::sim_result::SimResult;

/// Rows: the requests and the page's resources, followed by two each for iterations and the group.
const PAGE: u16 = 0;
const AFTER: u16 = 1;
const RESOURCES: u16 = 2;
const ITERATIONS: u16 = 3;
/// A page with four resources: fresh for an hour, revalidated each time, not cached, and fresh forever.
const HTML: &str =
    "<html><link rel=stylesheet href=/r/fresh><script src=r/asked></script><img src=/r/none><img src=/r/unchanged>";

/// Returns a page that is revalidated each time, its resources, or a JSON document that is fresh for an hour and
/// contains a value that the user captures.
fn reply(ask: &ServerRequest<'_>) -> SimReply {
    let with =
        |headers: &str, body: &[u8]| SimReply { headers: Arc::from(headers.as_bytes()), ..SimReply::new(200, body) };
    let has = |mark: &str| String::from_utf8_lossy(ask.head).to_ascii_lowercase().contains(mark);
    match ask.path {
        "/page" | "/r/asked" if has("\"v1\"") => SimReply::new(304, b""),
        "/page" => with("Content-Type: text/html\r\nETag: \"v1\"\r\nCache-Control: no-cache\r\n", HTML.as_bytes()),
        "/r/fresh" => with("Cache-Control: max-age=3600\r\n", b"0123456789"),
        "/r/asked" => with("ETag: \"v1\"\r\nCache-Control: max-age=0, must-revalidate\r\n", b"01234567890123456789"),
        "/r/unchanged" => with("Expires: Thu, 01 Dec 2098 16:00:00 GMT\r\n", b"x"),
        "/after" => with("Cache-Control: private, max-age=3600\r\n", b"{\"a\": \"7\"}"),
        _ => with("Cache-Control: no-store\r\n", b"x"),
    }
}

/// Creates users that load a page with its resources, capture a value from a second response, and send the value with a
/// third request.
fn caching(scene: SimPlan, how: &str) -> SimPlan {
    scene.option("cache", how).with(|plan| {
        let url = |url: &str, name: &str| WeightedUrl { name: Some(name.into()), ..WeightedUrl::plain(url) };
        let mut urls = vec![url("http://test/page", "page"), url("http://test/after", "after")];
        let own = |name: &str, value: &str| (name.to_owned(), vec![value.to_owned()]);
        urls[0].options.extend([own("resources", "2"), own("expect-status", "200")]);
        urls[1].options.extend([own("capture", "a json $.a"), own("expect-json", "$.a == \"7\"")]);
        let send = |url| Step::Request { url, on_failure: OnFailure::default() };
        let steps = vec![send(0), send(1)];
        let flow = Flow { steps, ..Flow::default() }.with_pages(&urls, &plan.options).with_variables(&urls);
        (plan.urls, plan.flow) = (urls.into(), Some(flow));
    })
}

fn iterations(users: u32, count: u64, how: &str) -> SimPlan {
    caching(SimPlan::closed(users, Nanos::from_secs(3600)), how)
        .with(|plan| (plan.requests, plan.duration) = (Some(count), None))
}

fn serving() -> impl FnMut(Nanos, &ServerRequest<'_>) -> (Nanos, SimReply) + Send + Clone {
    move |now, ask| (now + MS, reply(ask))
}

/// Returns how many requests of a row were due, succeeded, failed, and were answered from the cache.
fn row(played: &SimResult, name: u16) -> [u64; 4] {
    let mut all = BTreeMap::<u16, NamedFigures>::new();
    played.seconds.iter().flat_map(|s| &s.named).for_each(|named| all.entry(named.name).or_default().merge(named));
    all.get(&name).map_or([0; 4], |n| [n.counts.due, n.counts.finished, n.counts.failed, n.counts.from_cache])
}

fn sum(played: &SimResult, of: impl Fn(&Second) -> u64) -> u64 {
    played.seconds.iter().map(of).sum()
}

fn heard(played: &SimResult, path: &str) -> u64 {
    played.asks.iter().filter(|(_, asked)| asked == path).count() as u64
}

/// Checks that five users ran ten iterations each, of which `empty` began with an empty cache.
fn judge(played: &SimResult, empty: u64) {
    let all = 50;
    assert_eq!(row(played, ITERATIONS), [all, all, 0, 0]);
    assert_eq!(row(played, PAGE), [all, all, 0, 0]);
    assert_eq!(row(played, AFTER), [empty, empty, 0, all - empty]);
    let resources = 2 * all + 2 * empty;
    assert_eq!(row(played, RESOURCES), [resources, resources, 0, 2 * (all - empty)]);
    let at = |path: &str| heard(played, path);
    assert_eq!([at("/page"), at("/r/asked"), at("/r/none")], [all; 3]);
    assert_eq!([at("/after"), at("/r/fresh"), at("/r/unchanged")], [empty; 3]);
    assert_eq!(sum(played, |second| second.from_cache), 3 * (all - empty));
    assert_eq!(sum(played, |second| second.not_modified), 2 * (all - empty));
    let saved = HTML.len() as u64 + 20 + 10 + 1 + 10;
    assert_eq!(sum(played, |second| second.cache_bytes), saved * (all - empty));
    assert_eq!(sum(played, |second| second.not_cached), 0);
    // The status of the page and the content of the other response were checked, whether or not they came from the
    // cache.
    let checks = |check: u16| {
        let all = played.seconds.iter().flat_map(|second| &second.checks).filter(|told| told.check == check);
        all.fold((0, 0), |(passed, failed), told| (passed + told.passed, failed + told.failed))
    };
    assert_eq!([checks(0), checks(1)], [(all, 0); 2]);
    let code = |code: &str| sum(played, |second| second.status.get(code).copied().unwrap_or(0));
    assert_eq!((code("304"), code("200")), (2 * (all - empty), played.heard - 2 * (all - empty)));
    assert_eq!((played.sum.due, played.sum.finished), (played.heard, played.heard));
}

#[test]
fn what_is_fresh_is_not_asked_for_and_what_may_have_changed_is_asked_about() {
    each_seed(1..6, |seed| {
        let play = |how| {
            let scene = iterations(5, 50, how).with(|plan| (plan.seed, plan.workers) = (seed, 2));
            // One iteration after another, so that each of the five users has ten.
            scene.with(|plan| plan.flow.iter_mut().for_each(|flow| flow.steps.push(Step::Pace(SECOND)))).play(serving)
        };
        judge(&play("per-user"), 5);
        judge(&play("per-iteration"), 50);
    });
}

#[test]
fn http2_does_the_same() {
    let scene = iterations(5, 50, "yes").option("http", "2");
    let scene = scene.with(|plan| plan.flow.iter_mut().for_each(|flow| flow.steps.push(Step::Pace(SECOND))));
    let books = Arc::new(ServerLog::default());
    let played = scene.play_protocol(&Http, Arc::clone(&books), |_| {
        let (books, mut serve) = (Arc::clone(&books), serving());
        Box::new(ServerPeer::new(Http2Server::new, move |now: Nanos, ask: &ServerRequest<'_>| {
            books.record(now, ask);
            serve(now, ask)
        }))
    });
    judge(&played, 5);
}

#[test]
fn users_of_open_load_come_with_empty_caches_and_everything_is_accounted_for_at_the_end() {
    each_seed(1..6, |seed| {
        let played =
            caching(SimPlan::open(40.0, Arrivals::Poisson, SECOND), "yes").with(|plan| plan.seed = seed).play(serving);
        let sum = &played.sum;
        assert_eq!((sum.due, sum.due), (sum.finished + sum.failed + sum.censored, played.heard));
        assert_eq!(played.seconds.iter().map(|second| second.from_cache).sum::<u64>(), 0);
    });
}

#[test]
fn whoever_has_all_answers_gives_others_their_turn() {
    let scene = SimPlan::closed(3, SECOND).option("cache", "yes").with(|plan| {
        let url = |url: &str| WeightedUrl::plain(url);
        let send = |url| Step::Request { url, on_failure: OnFailure::default() };
        let (many, none) =
            (Step::Repeat { times: 5000.into(), steps: vec![send(0)] }, Pause::Uniform { from: MS, to: MS });
        let many = Step::Group { name: "many".into(), steps: vec![many] };
        let steps = vec![many, Step::Pause(none), send(1)];
        (plan.urls, plan.flow) = (
            vec![url("http://test/r/fresh"), url("http://test/r/none")].into(),
            Some(Flow { steps, ..Flow::default() }),
        );
    });
    let played = scene.play(serving);
    let times = heard(&played, "/r/none");
    assert_eq!((heard(&played, "/r/fresh"), times > 100), (3, true), "{times}");
    // Only the first group of each user sends a request; the others do not count as groups. Two names and two rows of
    // iterations precede the row.
    assert_eq!(row(&played, 4)[..3], [3, 3, 0]);
    let from_cache = sum(&played, |second| second.from_cache);
    assert!(from_cache >= 5000 * times - 3 && from_cache <= 5000 * (times + 3), "{from_cache} of {times}");
    assert_eq!(sum(&played, |second| second.endless), 0);
}
