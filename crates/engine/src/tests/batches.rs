//! Requests of a batch with their own reaction to failure: counts are exact, regardless of the other requests in
//! flight.

use std::collections::BTreeMap;

use brunt_contract::ServerRequest;
use brunt_measure::Nanos;
use brunt_plan::WeightedUrl;
use brunt_plan::flow::{Flow, OnFailure, Step};
use brunt_record::NamedFigures;
use brunt_sim::SimReply;

use super::harness::{MS, SECOND, SimPlan, each_seed};
use super::sim_result::SimResult;

const USERS: u32 = 3;
const ITERATIONS: u64 = 30;
/// Number of names: `/fails`, `/slow`, `/later`, `/after`.
const NAMES: u16 = 4;

/// Creates a batch of three requests, two at once, followed by a step. The first fails while the second is in flight
/// and the third has not been sent. The batch and its other requests have the opposite reaction to failure.
fn scene(of_first: OnFailure, path: &str) -> SimPlan {
    let opposite = if of_first == OnFailure::GoOn { OnFailure::StopRun } else { OnFailure::GoOn };
    SimPlan::closed(USERS, SECOND).with(|plan| {
        let url = |path: &str| {
            let url = WeightedUrl::plain(format!("http://test{path}"));
            WeightedUrl { options: [("redirects".into(), vec!["2".into()])].into(), ..url }
        };
        plan.urls = [path, "/slow", "/later", "/after"].map(url).to_vec().into();
        let own = vec![Some(of_first), Some(opposite), None];
        let batch = Step::Batch { at_most: 2, urls: vec![0, 1, 2], on_failure: opposite, own };
        let after = Step::Request { url: 3, on_failure: OnFailure::default() };
        plan.flow = Some(Flow { steps: vec![batch, after], ..Flow::default() });
        // Users who only fail are held back, so it is not the time that ends the run.
        (plan.requests, plan.duration, plan.workers) = (Some(ITERATIONS), None, 1);
    })
}

fn serving(now: Nanos, ask: &ServerRequest<'_>) -> (Nanos, SimReply) {
    match ask.path {
        "/fails" => (now + MS, SimReply::new(500, b"")),
        "/moved" => {
            let headers = std::sync::Arc::from(&b"Location: /fails\r\n"[..]);
            (now + MS, SimReply { headers, ..SimReply::new(302, b"") })
        }
        "/slow" => (now + Nanos::from_millis(8), SimReply::new(200, b"")),
        _ => (now + MS, SimReply::new(200, b"")),
    }
}

/// Returns how many requests of a row succeeded, failed and stayed unfinished.
fn row(played: &SimResult, name: u16) -> [u64; 3] {
    let mut all = BTreeMap::<u16, NamedFigures>::new();
    for named in played.seconds.iter().flat_map(|second| &second.named) {
        all.entry(named.name).or_default().merge(named);
    }
    all.get(&name).map_or([0; 3], |named| [named.counts.finished, named.counts.failed, named.counts.censored])
}

#[test]
fn a_request_of_a_batch_says_what_follows_where_it_fails_and_those_under_way_end_first_and_are_counted() {
    for (of_first, iterations, goes_on) in [
        (OnFailure::GoOn, ITERATIONS, true),
        (OnFailure::NextIteration, ITERATIONS, false),
        (OnFailure::StopUser, u64::from(USERS), false),
        (OnFailure::StopRun, u64::from(USERS), false),
    ] {
        // The failure may be at the target of a redirect.
        for (path, hops) in [("/fails", 0), ("/moved", 1)] {
            each_seed(1..4, |seed| {
                let played = scene(of_first, path).with(|plan| plan.seed = seed).play(|| serving);
                let rows = [0, 1, 2, 3].map(|name| row(&played, name));
                let others = if goes_on { iterations } else { 0 };
                let expected = [[0, iterations, 0], [iterations, 0, 0], [others, 0, 0], [others, 0, 0]];
                assert_eq!(rows, expected, "{of_first:?} {path}");
                assert_eq!(row(&played, NAMES), [0, iterations, 0], "iterations: {of_first:?} {path}");
                let (sum, heard) = (&played.sum, played.heard);
                assert_eq!((sum.due + sum.hops, sum.hops, sum.failed), (heard, hops * iterations, iterations));
                let stops = |count: fn(&brunt_record::Second) -> u64| played.seconds.iter().map(count).sum::<u64>();
                let stopped = |when| if of_first == when { u64::from(USERS) } else { 0 };
                let stops = (stops(|second| second.user_stops), stops(|second| second.run_stops));
                assert_eq!(stops, (stopped(OnFailure::StopUser), stopped(OnFailure::StopRun)));
            });
        }
    }
}
