//! Whole runs with steps that have their own timeout, and with steps that wait for their turns (`at-most`).

use std::collections::BTreeMap;

use brunt_contract::ServerRequest;
use brunt_measure::Nanos;
use brunt_plan::flow::{Flow, OnFailure, Step};
use brunt_plan::scenarios::{ScenarioPlan, total_load};
use brunt_plan::{Arrivals, Load, Stage, WeightedUrl};
use brunt_record::{NamedFigures, Second};
use brunt_sim::SimReply;

use super::harness::{MS, SimPlan, each_seed};
use super::sim_result::SimResult;

/// Returns a server that takes 50 ms for slow paths and 1 ms for the rest; its page names two resources of each kind.
fn serving() -> impl FnMut(Nanos, &ServerRequest<'_>) -> (Nanos, SimReply) + Send + Clone {
    move |now, ask| {
        let html = b"<img src=/slow/1><img src=/quick/1><img src=/slow/2><img src=/quick/2>";
        let headers = std::sync::Arc::from(&b"Content-Type: text/html\r\n"[..]);
        match ask.path {
            "/page" => (now + MS, SimReply { headers, ..SimReply::new(200, html) }),
            "/moved" => {
                let headers = std::sync::Arc::from(&b"Location: /slow\r\n"[..]);
                (now + MS, SimReply { headers, ..SimReply::new(302, b"") })
            }
            path if path.starts_with("/slow") => (now + Nanos::from_millis(50), SimReply::new(200, b"x")),
            _ => (now + MS, SimReply::new(200, b"x")),
        }
    }
}

fn url(path: &str, options: &[(&str, &str)]) -> WeightedUrl {
    let own = options.iter().map(|(name, value)| ((*name).to_owned(), vec![(*value).to_owned()]));
    let plain = WeightedUrl { name: Some(path.into()), ..WeightedUrl::plain(format!("http://test{path}")) };
    WeightedUrl { options: own.collect(), ..plain }
}

fn flowing(scene: SimPlan, urls: Vec<WeightedUrl>, steps: Vec<Step>) -> SimPlan {
    scene.with(|plan| {
        let flow = Flow { steps, ..Flow::default() }.with_pages(&urls, &plan.options);
        (plan.urls, plan.flow) = (urls.into(), Some(flow));
    })
}

fn send(url: u32) -> Step {
    Step::Request { url, on_failure: OnFailure::GoOn }
}

/// Returns how many requests of a row were due, succeeded and failed.
fn row(played: &SimResult, name: u16) -> [u64; 3] {
    let mut all = BTreeMap::<u16, NamedFigures>::new();
    played.seconds.iter().flat_map(|s| &s.named).for_each(|named| all.entry(named.name).or_default().merge(named));
    all.get(&name).map_or([0; 3], |n| [n.counts.due, n.counts.finished, n.counts.failed])
}

fn timeouts(played: &SimResult) -> u64 {
    let failures =
        |second: &Second| second.failures.iter().filter(|f| f.kind == "timeout").map(|f| f.count).sum::<u64>();
    played.seconds.iter().map(failures).sum()
}

#[test]
fn a_step_has_a_timeout_of_its_own_and_so_have_its_redirects_and_what_its_page_names() {
    each_seed(1..6, |seed| {
        let own = [("timeout", "20ms")];
        let urls = vec![
            url("/slow", &own),
            url("/quick", &[]),
            url("/slow/all", &[]),
            url("/moved", &[("timeout", "20ms"), ("redirects", "3")]),
            url("/page", &[("timeout", "20ms"), ("resources", "4"), ("resources-may-fail", "")]),
            url("/slow/batch", &own),
        ];
        let batch = Step::Batch { at_most: 6, urls: vec![1, 5, 2], on_failure: OnFailure::GoOn, own: Vec::new() };
        let steps = vec![send(0), send(1), send(2), send(3), send(4), batch];
        let scene = flowing(SimPlan::closed(4, Nanos::from_secs(3600)), urls, steps);
        let played =
            scene.with(|plan| (plan.requests, plan.duration, plan.seed) = (Some(20), None, seed)).play(serving);
        // The redirect comes in time, but its target takes too long, and so do two resources of each page and one request
        // of a batch.
        assert_eq!([row(&played, 0), row(&played, 1), row(&played, 2)], [[20, 0, 20], [40, 40, 0], [40, 40, 0]]);
        assert_eq!([row(&played, 3), row(&played, 4), row(&played, 5)], [[20, 0, 20], [20, 20, 0], [20, 0, 20]]);
        assert_eq!(row(&played, 6), [80, 40, 40]);
        assert_eq!((timeouts(&played), played.sum.failed), (100, 100));
        assert_eq!((played.sum.due + played.sum.hops, played.sum.hops), (played.heard, 20));
    });
}

#[test]
fn users_wait_for_their_turns_and_no_two_workers_take_the_same() {
    each_seed(1..6, |seed| {
        let urls = vec![url("/quick", &[("at-most", "50/s")]), url("/other", &[])];
        let scene = flowing(SimPlan::closed(10, Nanos::from_secs(5)), urls, vec![send(1), send(0)]);
        let played = scene.with(|plan| (plan.seed, plan.workers) = (seed, 2)).play(serving);
        let mut at: Vec<u64> =
            played.asks.iter().filter(|(_, path)| path == "/quick").map(|(at, _)| at.0 / 1_000_000).collect();
        at.sort_unstable();
        // The turns in the window except the first two, which came before any user requested them, plus one for each
        // user that was waiting at its end.
        assert!((255..=260).contains(&at.len()), "{}", at.len());
        assert!(at.windows(2).all(|pair| (19..=21).contains(&(pair[1] - pair[0]))), "{at:?}");
        assert_eq!((played.sum.failed, played.sum.due), (0, played.heard));
        let slowest = played.seconds.iter().map(|second| second.latency.service.max()).max();
        assert!(slowest.is_some_and(|took| took < 2 * MS.0), "{slowest:?}: to wait is no latency");
    });
}

#[test]
fn steps_of_one_name_and_bound_share_it_in_all_scenarios() {
    let named =
        |name: &str, path: &str, rate: &str| WeightedUrl { name: Some(name.into()), ..url(path, &[("at-most", rate)]) };
    let urls = || vec![named("search", "/a", "50/s"), named("search", "/b", "50/s"), named("other", "/c", "50/s")];
    // Counts requests in the window, which begins a second after the clock: a user that waits at its end has its turn
    // in the drain.
    let heard = |played: &SimResult, path: &str| {
        let asks = played.asks.iter().filter(|(at, asked)| *at < Nanos::from_secs(6) && asked == path);
        asks.count()
    };
    // Two steps of one flow, and the same steps called in two scenarios; separate limits would give 500.
    each_seed(1..4, |seed| {
        let steps = vec![send(0), send(1), send(2)];
        let scene = flowing(SimPlan::closed(20, Nanos::from_secs(5)), urls(), steps);
        let played = scene.with(|plan| (plan.seed, plan.workers) = (seed, 2)).play(serving);
        let both = heard(&played, "/a") + heard(&played, "/b");
        assert!((245..=251).contains(&both) && heard(&played, "/c") > 100, "{both} {}", heard(&played, "/c"));
        let scenario = |name: &str, steps| ScenarioPlan {
            name: name.into(),
            load: Load::Closed {
                stages: vec![Stage { lasts: Nanos::from_secs(5), from: 10.0, to: 10.0 }],
                think: None,
                together: false,
            },
            start: Nanos::ZERO,
            duration: Some(Nanos::from_secs(5)),
            iterations: None,
            iterations_per_user: None,
            graceful_stop: Nanos::from_secs(1),
            spawn_rate: None,
            max_users: None,
            max_connections: 100,
            flow: Flow { steps, ..Flow::default() },
        };
        let scenarios = vec![scenario("one", vec![send(0)]), scenario("two", vec![send(0), send(1)])];
        let scene = SimPlan::closed(1, Nanos::from_secs(5)).with(|plan| {
            (plan.urls, plan.load, plan.duration) = (urls().into(), total_load(&scenarios), None);
            (plan.scenarios, plan.seed, plan.workers) = (scenarios, seed, 2);
        });
        let played = scene.play(serving);
        let both = heard(&played, "/a") + heard(&played, "/b");
        assert!((245..=251).contains(&both) && played.sum.due == played.heard, "{both}");
    });
}

#[test]
fn a_turn_that_nobody_takes_is_lost() {
    let urls = vec![url("/slow", &[("at-most", "25/s")])];
    let closed = flowing(SimPlan::closed(1, Nanos::from_secs(2)), urls.clone(), vec![send(0)]);
    let played = closed.with(|plan| plan.workers = 1).play(serving);
    // Each request takes 50 ms, so that every other turn is taken (at 0, 80, 160 ms …), plus a last one of an iteration
    // in progress.
    assert_eq!(played.heard, 26);
    let open = flowing(SimPlan::open(10.0, Arrivals::Constant, Nanos::from_secs(2)), urls, vec![send(0)]);
    let played = open.with(|plan| plan.workers = 1).play(serving);
    assert_eq!((played.heard, played.sum.finished), (20, 20));
}
