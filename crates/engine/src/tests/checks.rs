//! Checks by name: the passes and failures of each are exact, whatever else was wrong with the response.

use std::collections::BTreeMap;
use std::sync::Arc;

use brunt_contract::ServerRequest;
use brunt_measure::Nanos;
use brunt_plan::WeightedUrl;
use brunt_plan::flow::{Flow, OnFailure, Step};
use brunt_sim::{PeerActions, SimPeer, SimReply};

use super::harness::{MS, SECOND, SimPlan};
use super::sim_result::SimResult;

/// Returns the passes and failures of each check, by its index.
fn checks(played: &SimResult) -> BTreeMap<u16, [u64; 2]> {
    let mut all = BTreeMap::<u16, [u64; 2]>::new();
    for told in played.seconds.iter().flat_map(|second| &second.checks) {
        let [passed, failed] = all.entry(told.check).or_default();
        (*passed, *failed) = (*passed + told.passed, *failed + told.failed);
    }
    all
}

fn url(path: &str, options: &[(&str, &[&str])]) -> WeightedUrl {
    let options = options.iter().map(|(name, values)| {
        let values = values.iter().map(|value| (*value).to_owned()).collect();
        ((*name).to_owned(), values)
    });
    WeightedUrl { options: options.collect(), ..WeightedUrl::plain(format!("http://test{path}")) }
}

/// Creates users that request `/a`, which has four checks, and `/b`, which has one.
fn scene(iterations: u64) -> SimPlan {
    SimPlan::closed(3, SECOND).with(|plan| {
        let rules: &[&str] = &["$.ok == true", "$.n < 3"];
        plan.urls = vec![
            url("/a", &[("expect-status", &["200"]), ("expect-body", &["ok"]), ("expect-json", rules)]),
            url("/b", &[("expect-status", &["200,404"])]),
        ]
        .into();
        let send = |url| Step::Request { url, on_failure: OnFailure::GoOn };
        plan.flow = Some(Flow { steps: vec![send(0), send(1)], ..Flow::default() });
        (plan.requests, plan.duration) = (Some(iterations), None);
    })
}

/// Returns a server that answers `/a` with these responses in turn.
fn in_turn(
    replies: &'static [(u16, &'static str)],
) -> impl FnMut(Nanos, &ServerRequest<'_>) -> (Nanos, SimReply) + Send {
    let mut at = 0;
    move |now, ask| {
        if ask.path != "/a" {
            return (now + MS, SimReply::new(404, b""));
        }
        let (status, body) = replies[at % replies.len()];
        at += 1;
        (now + MS, SimReply::new(status, body.as_bytes()))
    }
}

#[test]
fn each_check_counts_what_it_looked_at_whatever_the_others_found() {
    let replies: &[(u16, &str)] = &[
        (200, r#"{"ok": true, "n": 1}"#),
        (200, r#"{"ok": true, "n": 7}"#),
        (500, r#"{"ok": true, "n": 1}"#),
        (200, r#"{"n": 2}"#),
        (503, "down"),
    ];
    for workers in [1, 3] {
        let played = scene(60).with(|plan| plan.workers = workers).play(|| in_turn(replies));
        assert_eq!((played.sum.due, played.sum.failed), (120, 48), "{:?}", played.sum.failures);
        // Of sixty responses, two fifths fail each check: status, text, and both rules. The other request has only its
        // status checked.
        let expected = [[36, 24], [36, 24], [36, 24], [36, 24], [60, 0]];
        assert_eq!(checks(&played).into_values().collect::<Vec<_>>(), expected, "{workers} workers");
    }
}

#[test]
fn what_was_not_answered_or_came_too_late_is_in_no_check() {
    let slow = || {
        let mut asked = 0u64;
        move |now: Nanos, ask: &ServerRequest<'_>| {
            asked += u64::from(ask.path == "/a");
            let late = ask.path == "/a" && asked.is_multiple_of(2);
            (now + if late { SECOND } else { MS }, SimReply::new(200, br#"{"ok": true, "n": 1}"#))
        }
    };
    let played = scene(40).with(|plan| plan.timeout = Nanos::from_millis(50)).play(slow);
    assert_eq!(played.sum.failures("timeout"), 20, "{:?}", played.sum.failures);
    let expected = [[20, 0], [20, 0], [20, 0], [20, 0], [40, 0]];
    assert_eq!(checks(&played).into_values().collect::<Vec<_>>(), expected);
    let warm = scene(40).with(|plan| plan.warmup = SECOND).play(slow);
    assert_eq!(checks(&warm).values().next().map(|[passed, _]| passed), Some(&40), "the warm-up is in none");
}

#[test]
fn a_run_without_checks_tells_of_none() {
    let played =
        scene(10).with(|plan| plan.urls = vec![url("/a", &[]), url("/b", &[])].into()).play(|| in_turn(&[(200, "")]));
    assert!(checks(&played).is_empty());
}

/// A server that sends the number of requests so far in a trailer of each response, except every fourth.
#[derive(Default)]
struct TrailerServer(u64);

impl SimPeer for TrailerServer {
    fn opened(&mut self, _now: Nanos, _conn: u32) {}
    fn received(&mut self, _now: Nanos, conn: u32, bytes: &[u8], say: &mut PeerActions) {
        let asked = String::from_utf8_lossy(bytes).into_owned();
        if let Some(number) = asked.split("/of/").nth(1).and_then(|rest| rest.split(' ').next()) {
            assert_eq!(number, self.0.to_string(), "the number that came last");
        }
        self.0 += 1;
        let trailer = if self.0.is_multiple_of(4) { String::new() } else { format!("X-Sum: {}\r\n", self.0) };
        say.send(conn, b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n");
        say.send(conn, format!("{trailer}\r\n").as_bytes());
    }
    fn closed(&mut self, _now: Nanos, _conn: u32) {}
}

#[test]
fn what_comes_behind_a_body_is_checked_and_goes_into_the_next_request() {
    let scene = SimPlan::closed(1, SECOND).with(|plan| {
        let taken = ("capture", &["sum trailer X-Sum"][..]);
        plan.urls = vec![url("/a", &[("expect-trailer", &["x-sum: *"]), taken]), url("/of/{sum}", &[])].into();
        let send = |url| Step::Request { url, on_failure: OnFailure::NextIteration };
        plan.flow = Some(Flow { steps: vec![send(0), send(1)], variables: vec!["sum".into()], ..Flow::default() });
        (plan.requests, plan.duration) = (Some(30), None);
    });
    let played =
        scene.play_protocol(&brunt_protocols::http::Http, Arc::default(), |_| Box::new(TrailerServer::default()));
    // Requests 1 and 3 are for pages with a checksum, 2 and 4 follow them, so the response without a checksum is never
    // a page.
    assert_eq!((played.sum.due, played.sum.failed), (60, 0), "{:?}", played.sum.failures);
    assert_eq!(checks(&played)[&0], [30, 0]);
}
