//! Pages of flows over whole runs: each resource is fetched once, within the concurrency limit, and counted once.

use std::collections::BTreeMap;

use brunt_contract::ServerRequest;
use brunt_measure::Nanos;
use brunt_plan::flow::{Flow, OnFailure, Step};
use brunt_plan::{Arrivals, WeightedUrl};
use brunt_protocols::http::Http;
use brunt_protocols::http2::Http2Server;
use brunt_record::NamedFigures;
use brunt_sim::{ServerPeer, SimReply};

use super::harness::{MS, SECOND, ServerLog, SimPlan, each_seed};
use super::sim_result::SimResult;

/// Rows: the two requests and the page's resources, followed by two each for iterations and the group.
const PAGE: u16 = 0;
const AFTER: u16 = 1;
const RESOURCES: u16 = 2;
const ITERATIONS: u16 = 3;
const GROUP: u16 = 5;
/// A page with five resources of its own origin, one of them named twice, and two of another origin.
const HTML: &str = "<html><link rel=stylesheet href=/r/1><script src=r/2></script><img src=/r/3><img src='/r/3#x'><img src=/r/4>\
    <img src=/r/5><img src=http://elsewhere/x><img src=//elsewhere/y>";

/// Creates users that load a page with its resources, two at once, and then another page.
fn paging(scene: SimPlan, options: &[(&str, &str)]) -> SimPlan {
    scene.with(|plan| {
        let url = |url: &str, name: &str| WeightedUrl { name: Some(name.into()), ..WeightedUrl::plain(url) };
        let mut urls = vec![url("http://test/page", "page"), url("http://test/after", "after")];
        let own = options.iter().map(|(name, value)| ((*name).to_owned(), vec![(*value).to_owned()]));
        urls[0].options.extend(own.chain([("resources".to_owned(), vec!["2 at once".to_owned()])]));
        let send = |url| Step::Request { url, on_failure: OnFailure::default() };
        let flow = Flow { steps: vec![send(0), send(1)], ..Flow::default() }.with_pages(&urls, &plan.options);
        (plan.urls, plan.flow) = (urls.into(), Some(flow));
    })
}

/// Creates a run of `count` iterations by `users` users.
fn iterations(users: u32, count: u64, options: &[(&str, &str)]) -> SimPlan {
    paging(SimPlan::closed(users, Nanos::from_secs(3600)), options)
        .with(|plan| (plan.requests, plan.duration) = (Some(count), None))
}

fn reply(path: &str, third: &SimReply) -> SimReply {
    let headers = std::sync::Arc::from(&b"Content-Type: text/html; charset=utf-8\r\n"[..]);
    match path {
        "/page" => SimReply { headers, ..SimReply::new(200, HTML.as_bytes()) },
        "/r/3" => third.clone(),
        _ => SimReply::new(200, b"x"),
    }
}

/// Returns a server of the page, with `third` as its third resource, that takes 1 ms for each response.
fn serving(third: SimReply) -> impl FnMut(Nanos, &ServerRequest<'_>) -> (Nanos, SimReply) + Send + Clone {
    move |now, ask| (now + MS, reply(ask.path, &third))
}

fn ok() -> SimReply {
    SimReply::new(200, b"x")
}

/// Returns how many requests of a row were due, succeeded, failed and stayed unfinished.
fn row(played: &SimResult, name: u16) -> [u64; 4] {
    let mut all = BTreeMap::<u16, NamedFigures>::new();
    played.seconds.iter().flat_map(|s| &s.named).for_each(|named| all.entry(named.name).or_default().merge(named));
    all.get(&name).map_or([0; 4], |n| [n.counts.due, n.counts.finished, n.counts.failed, n.counts.censored])
}

fn heard(played: &SimResult, path: &str) -> u64 {
    played.asks.iter().filter(|(_, asked)| asked.starts_with(path)).count() as u64
}

fn elsewhere(played: &SimResult) -> u64 {
    played.seconds.iter().map(|second| second.resources_elsewhere).sum()
}

#[test]
fn what_a_page_names_is_fetched_once_each_by_its_user_before_it_goes_on() {
    each_seed(1..10, |seed| {
        let played = iterations(7, 60, &[]).with(|plan| (plan.seed, plan.workers) = (seed, 2)).play(|| serving(ok()));
        assert_eq!(
            [row(&played, PAGE), row(&played, AFTER), row(&played, RESOURCES)],
            [[60, 60, 0, 0], [60, 60, 0, 0], [300, 300, 0, 0]]
        );
        assert_eq!([row(&played, ITERATIONS), row(&played, GROUP)], [[60, 60, 0, 0]; 2]);
        for path in ["/page", "/after", "/r/1", "/r/2", "/r/3", "/r/4", "/r/5"] {
            assert_eq!(heard(&played, path), 60, "{path}");
        }
        assert_eq!((heard(&played, "/x") + heard(&played, "/y"), elsewhere(&played)), (0, 120));
        let sum = &played.sum;
        assert_eq!((sum.due, sum.finished, sum.failed, sum.censored), (played.heard, played.heard, 0, 0));
    });
}

#[test]
fn no_more_than_so_many_are_under_way_and_the_next_step_comes_after_the_last() {
    let played = iterations(1, 3, &[]).play(|| serving(ok()));
    let asks: Vec<_> = played.asks.iter().collect();
    for pair in asks.windows(3) {
        assert!(pair[2].0.0 - pair[0].0.0 >= MS.0, "three under way: {pair:?}");
    }
    for iteration in asks.chunks(7) {
        let [(_, first), .., (end, last)] = iteration else { panic!("{iteration:?}") };
        assert_eq!((&**first, &**last), ("/page", "/after"));
        assert!(
            iteration[1..6].iter().all(|(at, path)| path.starts_with("/r/") && at.0 + MS.0 <= end.0),
            "{iteration:?}"
        );
    }
}

#[test]
fn http2_does_the_same() {
    let scene = iterations(3, 20, &[]).option("http", "2");
    let books = std::sync::Arc::new(ServerLog::default());
    let played = scene.play_protocol(&Http, std::sync::Arc::clone(&books), |_| {
        let (books, mut serve) = (std::sync::Arc::clone(&books), serving(ok()));
        Box::new(ServerPeer::new(Http2Server::new, move |now: Nanos, ask: &ServerRequest<'_>| {
            books.record(now, ask);
            serve(now, ask)
        }))
    });
    assert_eq!([row(&played, RESOURCES), row(&played, AFTER)], [[100, 100, 0, 0], [20, 20, 0, 0]]);
    assert_eq!((heard(&played, "/r/"), elsewhere(&played)), (100, 40));
}

#[test]
fn a_resource_that_fails_fails_its_page_unless_it_may() {
    let failing = || serving(SimReply::new(500, b"no"));
    let played = iterations(2, 10, &[]).play(failing);
    assert_eq!([row(&played, PAGE), row(&played, RESOURCES)], [[10, 10, 0, 0], [50, 40, 10, 0]]);
    assert_eq!([row(&played, ITERATIONS), row(&played, GROUP)], [[10, 0, 10, 0]; 2]);
    assert_eq!((heard(&played, "/r/"), heard(&played, "/after")), (50, 0), "the rest are fetched, and the step failed");
    let played = iterations(2, 10, &[("resources-may-fail", "")]).play(failing);
    assert_eq!([row(&played, RESOURCES), row(&played, ITERATIONS)], [[50, 40, 10, 0], [10, 10, 0, 0]]);
    assert_eq!(heard(&played, "/after"), 10);
}

#[test]
fn redirects_of_resources_are_followed_where_resources_may_be_fetched_from() {
    let to = |place: &str| {
        let headers = format!("Location: {place}\r\n").into_bytes().into();
        serving(SimReply { headers, ..SimReply::new(302, b"") })
    };
    let play = |place: &str| iterations(2, 10, &[("redirects", "3")]).play(|| to(place));
    let played = play("/moved");
    assert_eq!((row(&played, RESOURCES), heard(&played, "/moved"), elsewhere(&played)), ([50, 50, 0, 0], 10, 20));
    let played = play("http://elsewhere/moved");
    assert_eq!((row(&played, RESOURCES), heard(&played, "/moved"), elsewhere(&played)), ([50, 50, 0, 0], 0, 30));
    assert_eq!(row(&played, ITERATIONS), [10, 10, 0, 0]);
}

#[test]
fn pages_that_end_early_or_are_cut_leave_every_request_accounted_for() {
    each_seed(1..10, |seed| {
        let slow = || move |now, ask: &ServerRequest<'_>| (now + Nanos::from_millis(70), reply(ask.path, &ok()));
        let closed = paging(SimPlan::closed(5, SECOND), &[]).with(|plan| plan.drain = Nanos::from_millis(30));
        let open = paging(SimPlan::open(40.0, Arrivals::Poisson, SECOND), &[]);
        let open = open.with(|plan| plan.drain = Nanos::from_millis(50));
        for scene in [closed, open] {
            let played = scene.with(|plan| plan.seed = seed).play(slow);
            let sum = &played.sum;
            assert_eq!(sum.due, sum.finished + sum.failed + sum.censored);
            assert!(sum.censored > 0 && sum.failed == 0, "{sum:?}");
            let [due, finished, _, censored] = row(&played, RESOURCES);
            assert!(due == finished + censored && due == heard(&played, "/r/"), "what was not sent was not due");
        }
    });
}
