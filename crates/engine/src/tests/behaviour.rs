//! Behaviour of the engine with timeouts, failures, redirects, several URLs, a common start and a quota.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use brunt_contract::{BodyFraming, Origin, PeerAddress, ServerRequest};
use brunt_measure::Nanos;
use brunt_plan::{Arrivals, Load, Stage};
use brunt_record::RunPart;
use brunt_sim::{ConnectDecision, FakeFailure, PeerActions, SimDelay, SimInterval, SimPeer, SimReply};

use super::harness::{FixedResolver, MS, SECOND, ServerLog, SimPlan, US, after, never};
use crate::Resolver;

fn ms(n: u64) -> Nanos {
    Nanos::from_millis(n)
}

/// A server that responds to connection attempts with the given decision.
struct WelcomePeer(ConnectDecision);

impl SimPeer for WelcomePeer {
    fn connecting(&mut self, _now: Nanos, _to: &PeerAddress) -> ConnectDecision {
        self.0
    }
    fn opened(&mut self, _now: Nanos, _conn: u32) {}
    fn received(&mut self, _now: Nanos, _conn: u32, _bytes: &[u8], _say: &mut PeerActions) {}
    fn closed(&mut self, _now: Nanos, _conn: u32) {}
}

#[test]
fn a_timeout_fires_once_closes_the_connection_and_the_user_goes_on() {
    let scene = SimPlan::closed(3, SECOND).with(|p| (p.timeout, p.drain) = (ms(100), ms(200)));
    let played = scene.play(never);
    played.check();
    let s = &played.sum;
    // Ten rounds of 100 ms and the opening; each ends late by at most half a percent of the timeout.
    assert_eq!((s.finished, s.censored), (0, 0));
    assert_eq!(s.failures("timeout/first_byte/"), s.failed);
    assert!((27..=30).contains(&s.failed), "{}", s.failed);
    assert_eq!((s.opened, s.reused), (s.failed, 0), "a connection for each");
    assert_eq!(s.latency.failed.count(), s.failed);
    assert_eq!(s.latency.failed_responses.count(), 0, "nobody answered");
    assert!(s.latency.failed.min() >= 100_000_000, "{}", s.latency.failed.min());
    assert!(s.latency.failed.max() <= 102_000_000, "{}", s.latency.failed.max());
}

#[test]
fn an_answer_after_the_timeout_is_no_success_and_one_before_it_is() {
    let timeout = ms(100);
    // The first request also opens its connection, which takes 0.1 ms.
    for (delay, in_time) in [(99_700, true), (100_100, false), (100_300, false)] {
        for scene in [SimPlan::closed(2, SECOND), SimPlan::open(20.0, Arrivals::Constant, SECOND)] {
            let played = scene.with(|p| p.timeout = timeout).play(|| after(Nanos::from_micros(delay)));
            played.check();
            let s = &played.sum;
            assert!(s.due >= 18, "{}", s.due);
            assert_eq!((s.finished, s.failed), if in_time { (s.due, 0) } else { (0, s.due) }, "{delay}");
            assert_eq!(s.failures("timeout/first_byte/"), s.failed);
            assert!(in_time || s.latency.service_at_least.min() > timeout.0, "{delay}");
            // Answers read after the timeout are counted separately from the answers of the run.
            let late: u64 = played.seconds.iter().map(|s| s.late).sum();
            let answered: u64 = s.status.values().sum();
            assert_eq!(answered, s.finished, "{delay}");
            assert!(late <= s.failed && (!in_time || late == 0), "{late} late at {delay}");
        }
    }
}

#[test]
fn an_answer_that_lay_in_its_socket_because_we_were_late_did_not_time_out() {
    let scene = SimPlan::closed(3, ms(400)).with(|p| p.timeout = ms(100));
    let from = scene.sim.starts_at + ms(50);
    // The thread does not run from before the answers until long after the timeout.
    let played = scene.on(|s| s.pauses.push(SimInterval { from, to: from + ms(200) })).play(|| after(ms(80)));
    played.check();
    assert_eq!((played.sum.failed, played.sum.censored), (0, 0));
    assert!(played.sum.latency.service.max() > 190_000_000, "the time is told as it was");
}

#[test]
fn a_keep_alive_that_the_server_ends_is_no_loss() {
    for (close, shape) in [(true, BodyFraming::Length), (false, BodyFraming::UntilClose)] {
        let mut reply = SimReply::new(200, b"x");
        (reply.close, reply.shape) = (close, shape);
        let brain = move |now: Nanos, _: &ServerRequest<'_>| (now + MS, reply.clone());
        let played = SimPlan::closed(4, SECOND).play(|| brain.clone());
        played.check();
        let lost: u64 = played.seconds.iter().map(|s| s.connections.lost).sum();
        assert!(played.sum.opened > 100, "{}", played.sum.opened);
        assert_eq!((played.sum.failed, lost), (0, 0), "{shape:?}");
    }
}

#[test]
fn attempts_to_connect_time_out() {
    let scene = SimPlan::closed(2, SECOND).with(|p| p.connect_timeout = ms(100));
    let played = scene.play_with(Arc::default(), |_| Box::new(WelcomePeer(ConnectDecision::Ignore)));
    played.check();
    let s = &played.sum;
    assert_eq!(s.failures("timeout/connect/"), s.failed);
    // 100 ms until the timeout, and pauses between 5 and 320 ms before each further attempt.
    assert!((8..=14).contains(&s.failed), "{}", s.failed);
    assert_eq!((s.connect_failed, s.opened), (s.failed, 0));
    assert_eq!(s.latency.connect.count(), 0);
}

#[test]
fn a_target_that_refuses_is_not_hammered() {
    let played =
        SimPlan::closed(4, SECOND).play_with(Arc::default(), |_| Box::new(WelcomePeer(ConnectDecision::Refuse)));
    played.check();
    let s = &played.sum;
    assert_eq!(s.failures("refused/connect/ECONNREFUSED"), s.failed);
    assert!((24..=40).contains(&s.failed), "{}: each user waits longer after each refusal", s.failed);
    assert_eq!(s.connect_failed, s.failed);
    assert_eq!(played.examples.len(), 1);
}

#[test]
fn open_arrivals_at_a_target_that_refuses_fail_without_an_attempt_for_each() {
    let scene = SimPlan::open(100.0, Arrivals::Constant, SECOND);
    let played = scene.play_with(Arc::default(), |_| Box::new(WelcomePeer(ConnectDecision::Refuse)));
    played.check();
    let s = &played.sum;
    assert_eq!((s.due, s.failed, s.failures("refused/connect/ECONNREFUSED")), (100, 100, 100));
    assert!((4..=14).contains(&s.connect_failed), "{}", s.connect_failed);
}

#[test]
fn no_descriptors_left_is_a_failure_and_a_failed_connection() {
    for keep_alive in [true, false] {
        let mut scene = SimPlan::open(100.0, Arrivals::Constant, SECOND).on(|s| s.max_descriptors = Some(0));
        if !keep_alive {
            scene = scene.option("no-keepalive", "");
        }
        let played = scene.play(|| after(MS));
        played.check();
        let s = &played.sum;
        assert_eq!(s.failures("no_descriptors/connect/EMFILE"), 100);
        // Without keep-alive each arrival makes its own attempt, as requested.
        let attempts = if keep_alive { 4..=14 } else { 100..=100 };
        assert!(attempts.contains(&s.connect_failed), "keep-alive {keep_alive}: {}", s.connect_failed);
    }
}

#[test]
fn a_common_start_is_one_instant() {
    let mut scene = SimPlan::closed(300, SECOND);
    scene.plan.load = together(300);
    scene = scene.on(|s| s.connect_delay = SimDelay { fixed: MS, jitter: ms(300) });
    let played = scene.play(|| after(ms(10)));
    played.check();
    let first = played.asks[0].0;
    assert!(played.asks[..300].iter().all(|(at, _)| *at == first), "all at once");
    assert_eq!(played.sum.opened, 300);
    assert_eq!(played.sum.latency.service.max(), 10_100_000, "no request opens a connection");
}

fn together(users: u32) -> Load {
    let level = f64::from(users);
    let stages = vec![Stage { lasts: SECOND, from: level, to: level }];
    Load::Closed { stages, think: None, together: true }
}

#[test]
fn a_common_start_that_comes_late_shifts_the_whole_run() {
    let mut scene = SimPlan::closed(10, SECOND);
    scene.plan.load = together(10);
    scene = scene.on(|s| s.connect_delay = SimDelay::fixed(ms(3400)));
    let played = scene.play(|| after(ms(10)));
    played.check();
    assert_eq!(played.ended.window, SECOND);
    let first = &played.seconds[0];
    assert_eq!(first.from_ns, 0);
    // The connections are reported with the first second, but were opened before it.
    assert_eq!((first.connections.opened, first.connections.ahead), (10, 10));
    assert!((3_400_000_000..3_403_000_000).contains(&first.connections.ahead_ns), "{}", first.connections.ahead_ns);
    // 10 ms of service and 0.1 ms of network: 99 complete rounds, and one that finishes during the drain.
    assert_eq!((played.sum.finished, played.sum.censored), (1000, 0));
    let window = played.part(RunPart::Window);
    assert_eq!(window.finished, 990);
}

#[test]
fn a_request_with_its_hops_is_one_visit() {
    for shape in [BodyFraming::Length, BodyFraming::Chunked(3), BodyFraming::UntilClose] {
        let brain = move |now: Nanos, ask: &ServerRequest<'_>| {
            let mut reply = SimReply::new(302, b"moved");
            reply.shape = shape;
            match ask.path {
                "/" => reply.headers = Arc::from(&b"location: /a\r\n"[..]),
                "/a" => reply.headers = Arc::from(&b"location: http://other/b\r\n"[..]),
                _ => reply = SimReply::new(200, b"here"),
            }
            (now + MS, reply)
        };
        for (open, scene) in [
            (true, SimPlan::open(20.0, Arrivals::Constant, SECOND)),
            (false, SimPlan::closed(2, SECOND).with(|p| p.requests = Some(20))),
        ] {
            let played = scene.option("redirects", "5").play(|| brain);
            played.check();
            let s = &played.sum;
            assert_eq!((s.due, s.sent, s.finished, s.hops), (20, 20, 20, 40), "{shape:?}, open {open}");
            let asked = |path: &str| played.asks.iter().filter(|(_, p)| p == path).count();
            assert_eq!([asked("/"), asked("/a"), asked("/b")], [20, 20, 20]);
            assert_eq!((s.status["200"], s.status.len()), (20, 1), "of the last responses");
            // Each of the three responses takes a millisecond to come.
            let took = if open { &s.latency.response } else { &s.latency.service };
            assert!(took.min() >= 3 * MS.0 && took.max() < 5 * MS.0, "{} to {}", took.min(), took.max());
            assert!(s.latency.first_byte.max() < 2 * MS.0, "of the last hop");
        }
    }
}

#[test]
fn too_many_redirects_are_failures_of_the_visit() {
    let mut reply = SimReply::new(301, b"");
    reply.headers = Arc::from(&b"location: /\r\n"[..]);
    let brain = move |now: Nanos, _: &ServerRequest<'_>| (now + MS, reply.clone());
    let scene = SimPlan::open(10.0, Arrivals::Constant, SECOND).option("redirects", "2");
    let played = scene.play(|| brain.clone());
    played.check();
    let s = &played.sum;
    assert_eq!((s.due, s.finished, s.failed, s.hops), (10, 0, 10, 20));
    assert_eq!(s.status["301"], 10);
    assert_eq!(played.sum.failures("too_many_redirects/"), 10);
}

#[test]
fn a_quota_is_split_over_workers_and_kept_to_the_request() {
    for (workers, requests) in [(1, 7), (3, 100), (4, 3), (4, 1001)] {
        for open in [true, false] {
            let scene = match open {
                true => SimPlan::open(2000.0, Arrivals::Poisson, SECOND),
                false => SimPlan::closed(8, SECOND),
            };
            let scene = scene.with(|p| (p.workers, p.requests, p.duration) = (workers, Some(requests), None));
            let played = scene.play(|| after(MS));
            played.check();
            assert_eq!(played.sum.finished, requests, "{workers} workers, open {open}");
            assert_eq!(played.heard, requests);
            assert_eq!(played.ended.reason, brunt_record::End::Completed);
        }
    }
}

#[test]
fn users_of_a_quota_all_have_as_much_to_do() {
    let scene = SimPlan::closed(3, SECOND).with(|p| (p.workers, p.requests, p.duration) = (2, Some(30), None));
    let played = scene.play(|| after(ms(10)));
    played.check();
    assert_eq!(played.sum.finished, 30);
    // Ten rounds of 10.1 ms; with an even split, the user that is alone on its worker would have fifteen.
    assert!(played.ended.window >= ms(100) && played.ended.window < ms(110), "{}", played.ended.window);
}

#[test]
fn a_quota_that_is_done_ends_the_run_whatever_stages_are_left() {
    let mut scene = SimPlan::closed(1, SECOND).with(|p| (p.requests, p.duration) = (Some(50), None));
    let stage = |users| Stage { lasts: Nanos::from_secs(60), from: users, to: users };
    scene.plan.load = Load::Closed { stages: vec![stage(5.0), stage(10.0)], think: None, together: false };
    let played = scene.play(|| after(ms(10)));
    played.check();
    assert_eq!(played.sum.finished, 50);
    assert!(played.ended.window < ms(200), "{}", played.ended.window);
}

#[test]
fn the_warm_up_is_counted_apart() {
    let warm = |p: &mut brunt_plan::Plan| p.warmup = Nanos::from_millis(1500);
    let played = SimPlan::open(100.0, Arrivals::Constant, SECOND).with(warm).play(|| after(MS));
    played.check();
    assert_eq!((played.sum.due, played.sum.warmup, played.heard), (100, 150, 250));
    let parts: Vec<(i64, RunPart)> = played.seconds.iter().map(|s| (s.from_ns / 1_000_000, s.part)).collect();
    assert_eq!(parts[..3], [(-1500, RunPart::Warmup), (-1000, RunPart::Warmup), (0, RunPart::Window)]);
    let played = SimPlan::closed(2, SECOND).with(warm).with(|p| p.requests = Some(40)).play(|| after(ms(10)));
    played.check();
    assert_eq!(played.sum.finished, 40, "the quota begins with the window");
    assert_eq!(played.heard, 40 + played.sum.warmup);
    // Twenty rounds of 10.1 ms, the first of them after the requests in flight when the window began.
    assert!(played.ended.window >= ms(202) && played.ended.window < ms(213), "{}", played.ended.window);
}

#[test]
fn weights_choose_urls() {
    let scene = SimPlan::open(10_000.0, Arrivals::Constant, SECOND);
    let scene = scene.urls(&[("http://a/one", 1.0), ("http://a/two", 2.0), ("http://b/five", 5.0)]);
    let played = scene.play(|| after(US));
    played.check();
    for (path, share) in [("/one", 0.125), ("/two", 0.25), ("/five", 0.625)] {
        let n = played.asks.iter().filter(|(_, p)| p == path).count() as f64;
        let expected: f64 = 10_000.0 * share;
        assert!((n - expected).abs() < 4.0 * (expected * (1.0 - share)).sqrt(), "{path}: {n} of {expected}");
    }
}

#[test]
fn requests_to_a_second_origin_are_served_at_the_bound_of_connections() {
    for keep_alive in [true, false] {
        let mut scene = SimPlan::open(1000.0, Arrivals::Constant, ms(20)).with(|p| p.max_connections = 1);
        scene = scene.urls(&[("http://a/", 1.0), ("http://b/", 1.0)]);
        if !keep_alive {
            scene = scene.option("no-keepalive", "");
        }
        let played = scene.play(|| after(ms(15)));
        played.check();
        // Twenty simultaneous requests take 15 ms each plus the network time, whatever their origin.
        assert_eq!(played.sum.finished, 20, "keep-alive {keep_alive}");
        assert!(played.sum.latency.wait_conn.max() < 310_000_000, "keep-alive {keep_alive}");
    }
}

/// A resolver that fails a number of times before it succeeds.
struct LateResolver(AtomicU32);

impl Resolver for LateResolver {
    fn resolve(&self, origin: &Origin) -> Result<Vec<PeerAddress>, brunt_cause::Cause> {
        if self.0.load(Ordering::Relaxed) == 0 {
            return FixedResolver.resolve(origin);
        }
        self.0.fetch_sub(1, Ordering::Relaxed);
        Err(brunt_cause::verbatim(format!("{} is not known", origin.host)))
    }
}

#[test]
fn users_go_on_after_a_look_up_that_failed() {
    // A name is looked up at most once a second.
    let mut scene = SimPlan::closed(2, Nanos::from_secs(5));
    scene.resolver = Arc::new(LateResolver(AtomicU32::new(3)));
    let played = scene.play(|| after(ms(10)));
    played.check();
    assert!(played.sum.failures("resolve/resolve/") >= 2);
    assert!(played.sum.finished > 100, "{:?}", played.sum);
    let example = &played.examples[0];
    assert_eq!((example.kind.as_str(), example.detail.as_str()), ("resolve", "test is not known"));
}

#[test]
fn what_fails_in_tls_fails_in_its_phase() {
    let table = [
        (FakeFailure::BadName, "tls/tls/", false),
        (FakeFailure::BadCertificate, "tls/tls/", false),
        (FakeFailure::Refused, "tls/tls/", false),
        (FakeFailure::NoTls, "tls/tls/", false),
        (FakeFailure::Silent, "timeout/tls/", false),
        (FakeFailure::DamagedRecord, "tls/first_byte/", true),
    ];
    for (failure, sort, stands) in table {
        let mut scene = SimPlan::open(10.0, Arrivals::Constant, SECOND).urls(&[("https://a/", 1.0)]);
        scene.security.failure = Some((failure, 1));
        scene.plan.connect_timeout = ms(50);
        let played = scene.play(|| after(MS));
        played.check();
        let s = &played.sum;
        // Requests that waited for an attempt fail with it.
        let kind = sort.split_once('/').unwrap().0;
        assert_eq!((s.failures(kind), s.failed, s.due), (10, 10, 10), "{failure:?}: {:?}", s.failures);
        assert!(s.failures(sort) >= 5, "{failure:?}: {:?}", s.failures);
        let (attempts, none) = if stands { (s.opened, s.connect_failed) } else { (s.connect_failed, s.opened) };
        assert!((5..=12).contains(&attempts) && none == 0, "{failure:?}: {attempts} and {none}");
        assert_eq!(&*played.examples[0].kind, kind);
    }
}

#[test]
fn handshakes_are_counted_and_timed_apart() {
    let mut scene = SimPlan::open(10.0, Arrivals::Constant, SECOND).urls(&[("https://a/", 1.0)]);
    scene.security.round_trips = 2;
    scene.security.resume = true;
    let played = scene.option("no-keepalive", "").play(|| after(MS));
    played.check();
    let s = &played.sum;
    assert_eq!((s.finished, s.opened, s.handshakes, s.resumed), (10, 10, 10, 9));
    assert_eq!(s.latency.tls.count(), 10);
    // Two round trips of 0.1 ms each, after the 0.1 ms of connecting.
    assert_eq!((s.latency.tls.max(), s.latency.connect.max()), (200_000, 100_000));
    assert_eq!(s.latency.service.max(), 1_400_000, "service holds the opening");
}

#[test]
fn the_phases_of_a_request_that_opens_its_connection_add_up_to_its_service() {
    let scene = SimPlan::closed(1, SECOND).option("no-keepalive", "").on(|s| {
        // The call itself takes longer than the rest.
        (s.connect_cost, s.connect_delay, s.event_cost) =
            (Nanos::from_micros(30), SimDelay::fixed(US), Nanos::from_micros(5));
    });
    let played = scene.play(|| after(MS));
    played.check();
    let l = &played.sum.latency;
    assert!(l.connect.min() >= 30_000, "{} ns: the call to connect is a part of connecting", l.connect.min());
    let parts = l.connect.sum() + l.first_byte.sum() + l.transfer.sum();
    assert!(played.sum.finished > 500);
    // The last connections may have been opened for requests that did not end within the run.
    let off = parts.abs_diff(l.service.sum());
    assert!(off < 2_000_000, "{off} ns of {} in no phase", l.service.sum());
}

#[test]
fn a_failed_answer_is_kept_as_an_example() {
    let brain = |now: Nanos, _: &ServerRequest<'_>| (now + MS, SimReply::new(503, b"too busy"));
    let played = SimPlan::open(10.0, Arrivals::Constant, SECOND).play(|| brain);
    played.check();
    assert_eq!(played.sum.failures("wrong_status/"), 10);
    let answered = &played.sum.latency.failed_responses;
    assert!(answered.count() == 10 && answered.min() >= MS.0, "whatever the server answered is an answer");
    assert_eq!(played.examples.len(), 1);
    let example = &played.examples[0];
    assert!(example.sent.starts_with("GET / HTTP/1.1\r\n"), "{}", example.sent);
    assert!(example.received.contains("503") && example.received.ends_with("too busy"), "{}", example.received);
}

#[test]
fn books_of_the_harness_count() {
    let books = Arc::new(ServerLog::default());
    let played =
        SimPlan::closed(1, SECOND).play_with(Arc::clone(&books), |_| Box::new(WelcomePeer(ConnectDecision::Accept)));
    assert_eq!((played.sum.opened, played.sum.censored), (1, 1));
}

#[test]
fn the_window_is_tied_to_the_clock_after_the_warm_up_and_before_the_first_second() {
    for together in [false, true] {
        let mut scene = SimPlan::closed(4, SECOND).with(|plan| (plan.warmup, plan.workers) = (SECOND, 2));
        if let brunt_plan::Load::Closed { together: asked, .. } = &mut scene.plan.load {
            *asked = together;
        }
        let played = scene.play(|| after(MS));
        let meant = scene.sim.starts_at + MS + SECOND;
        let began = played.began.expect("it began").clock_ns;
        // A common start is delayed until the last connection is open.
        let late = if together { 0..SECOND.0 } else { 0..1 };
        assert!(late.contains(&(began - meant.0)), "{began} {meant:?}");
    }
}
