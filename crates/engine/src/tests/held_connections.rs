//! Connections that are part of the plan: opened first, held, kept alive, replaced; and requests without a response.

use std::sync::{Arc, Mutex};

use brunt_contract::ServerRequest;
use brunt_measure::Nanos;
use brunt_protocols::http1::Http1Server;
use brunt_protocols::websocket::{WebSocketProtocol, WebSocketServer};
use brunt_sim::{PeerActions, ReplyFault, ServerPeer, SimDelay, SimPeer, SimReply};

use super::filtered_peer::FilteredPeer;
use super::harness::{MS, SECOND, ServerLog, SimPlan, SimResult};

/// Runs the scene against a server that answers each message after `delay`, and cuts the connection of every `cut`-th
/// message.
pub(super) fn play(scene: &SimPlan, delay: Nanos, cut: u64) -> SimResult {
    let books = Arc::new(ServerLog::default());
    let counted = Arc::clone(&books);
    scene.play_protocol(&WebSocketProtocol, books, |_| {
        let books = Arc::clone(&counted);
        let mut heard = 0;
        Box::new(ServerPeer::new(WebSocketServer::new, move |now: Nanos, ask: &ServerRequest<'_>| {
            books.record(now, ask);
            heard += 1;
            let reply = SimReply::new(200, ask.body);
            (now + delay, if cut > 0 && heard % cut == 0 { reply.with(ReplyFault::Reset) } else { reply })
        }))
    })
}

pub(super) fn held(users: u32, hold: Nanos) -> SimPlan {
    SimPlan::closed(users, SECOND).urls(&[("ws://test/echo", 1.0)]).with(|p| {
        (p.hold, p.duration, p.requests) = (Some(hold), None, None);
    })
}

fn beats(played: &SimResult) -> (u64, u64, u64, u64) {
    let beats = played.seconds.iter().map(|s| s.heartbeats);
    beats.fold((0, 0, 0, 0), |(a, b, c, d), h| (a + h.sent, b + h.answered, c + h.missed, d + h.open))
}

#[test]
fn silent_connections_are_opened_once_and_held_so_long_after_the_last_stands() {
    let played = play(&held(20, Nanos::from_secs(3)), MS, 0);
    let s = &played.sum;
    assert_eq!((s.due, s.finished, s.failed, s.censored), (0, 0, 0, 0));
    assert_eq!((s.opened, s.connect_failed), (20, 0));
    assert_eq!((s.latency.connect.count(), s.latency.greeting.count()), (20, 20));
    assert!(played.ended.window >= Nanos::from_secs(3), "{:?}", played.ended);
    assert!(played.ended.window < Nanos::from_millis(3500), "{:?}", played.ended);
    assert!(played.seconds[1..3].iter().all(|s| s.connections.open == 20 && s.connections.opened == 0));
}

#[test]
fn what_stood_when_a_run_was_stopped_is_told() {
    for stopped in [Nanos::from_millis(400), Nanos::from_millis(1700)] {
        let mut scene = held(20, Nanos::from_secs(3));
        scene.stop_at = Some(scene.sim.starts_at + stopped);
        let played = play(&scene, MS, 0);
        assert_eq!(played.ended.reason, brunt_record::End::Interrupted);
        let open: Vec<u32> = played.seconds.iter().map(|s| s.connections.open).collect();
        let began = stopped.0.div_ceil(1_000_000_000) as usize;
        assert!(open.len() >= began && open[..began].iter().all(|open| *open == 20), "{stopped}: {open:?}");
    }
}

#[test]
fn each_connection_says_everything_once_before_it_is_held() {
    let scene = held(7, SECOND).with(|p| {
        p.options.insert("data".into(), vec!["one".into(), "two".into(), "three".into()]);
    });
    let played = play(&scene, Nanos::from_millis(5), 0);
    let s = &played.sum;
    assert_eq!((s.due, s.finished, s.failed, s.censored, played.heard), (21, 21, 0, 0, 21));
    assert_eq!(s.opened, 7);
}

#[test]
fn every_heartbeat_is_accounted_for() {
    let scene = held(10, Nanos::from_secs(5)).with(|p| p.heartbeat = Some(SECOND));
    let (sent, answered, missed, open) = beats(&play(&scene, MS, 0));
    assert_eq!((missed, open), (0, 0));
    assert_eq!(sent, answered);
    // Five seconds on ten connections, less the wait before the first heartbeat.
    assert!((35..=50).contains(&sent), "{sent}");
}

/// A server that accepts all connections and then stays silent.
struct SilentServer;

impl SimPeer for SilentServer {
    fn opened(&mut self, _now: Nanos, _conn: u32) {}
    fn received(&mut self, _now: Nanos, conn: u32, bytes: &[u8], say: &mut PeerActions) {
        if bytes.starts_with(b"GET ") {
            say.send(conn, &upgrade_response(bytes));
        }
    }
    fn closed(&mut self, _now: Nanos, _conn: u32) {}
}

/// Returns the response of a server to an upgrade.
pub(super) fn upgrade_response(upgrade: &[u8]) -> Vec<u8> {
    let (mut server, mut out) = (WebSocketServer::new(), brunt_contract::OutputBuffer::default());
    brunt_contract::ServerSession::receive(&mut server, upgrade, &mut |_| {}).expect("an upgrade");
    brunt_contract::ServerSession::write_due(&mut server, &mut out);
    out.bytes().to_vec()
}

#[test]
fn heartbeats_that_nobody_answers_took_at_least_the_interval() {
    let scene = held(5, Nanos::from_secs(4)).with(|p| p.heartbeat = Some(SECOND));
    let played = scene.play_protocol(&WebSocketProtocol, Arc::default(), |_| Box::new(SilentServer));
    let (sent, answered, missed, open) = beats(&played);
    assert_eq!((answered, sent), (0, missed + open));
    assert!(missed >= 5, "{missed}");
    let l = &played.sum.latency;
    assert_eq!((l.heartbeat.count(), l.heartbeat_at_least.count()), (0, sent));
    assert!(l.heartbeat_at_least.max() >= 990_000_000, "{}", l.heartbeat_at_least.max());
}

#[test]
fn a_rate_goes_over_the_connections_in_turn() {
    let scene =
        SimPlan::open(100.0, brunt_plan::Arrivals::Constant, SECOND).urls(&[("ws://test/echo", 1.0)]).with(|p| {
            p.max_connections = 4;
            p.options.insert("data".into(), vec!["x".into()]);
        });
    let played = play(&scene, Nanos::from_millis(200), 0);
    let s = &played.sum;
    assert_eq!((s.due, s.finished, s.failed, s.opened, played.heard), (100, 100, 0, 4, 100));
    // All connections were open before the first request was due: no request waited for one, and none was late.
    assert_eq!((s.latency.wait_conn.max(), s.latency.gen_late.max()), (0, 0));
    assert_eq!(s.reused, 96);
}

#[test]
fn one_way_messages_end_when_they_are_written_and_have_no_latency() {
    let scene = SimPlan::closed(3, SECOND).urls(&[("ws://test/echo", 1.0)]).with(|p| {
        p.options.insert("data".into(), vec!["x".into()]);
        p.options.insert("one-way".into(), vec![String::new()]);
        (p.requests, p.duration) = (Some(60), None);
        let brunt_plan::Load::Closed { think, .. } = &mut p.load else { unreachable!() };
        *think = Some((Nanos::from_millis(10), Nanos::from_millis(10)));
    });
    let played = play(&scene, MS, 0);
    let s = &played.sum;
    let one_way: u64 = played.seconds.iter().map(|s| s.one_way).sum();
    assert_eq!((s.due, s.finished, one_way, s.failed, s.censored), (60, 60, 60, 0, 0));
    let served = played.seconds.iter().filter(|s| s.one_way > 0);
    for second in served {
        assert!(second.first_success_ns.is_some() && second.last_success_ns >= second.first_success_ns, "{second:?}");
    }
    assert_eq!(s.latency.service.count(), 0);
    assert_eq!(played.heard, 60, "the last request of each user was still on its way when it ended");
}

/// Returns the causes of lost connections, with their counts.
fn losses(played: &SimResult) -> Vec<(String, String, u64)> {
    let mut all = Vec::new();
    played.seconds.iter().flat_map(|s| &s.losses).for_each(|loss| brunt_record::ConnectionLoss::add(&mut all, loss));
    let lost: u64 = played.seconds.iter().map(|s| s.connections.lost).sum();
    assert_eq!(all.iter().map(|loss| loss.count).sum::<u64>(), lost, "each is counted by what ended it");
    all.into_iter().map(|loss| (loss.kind, loss.detail, loss.count)).collect()
}

#[test]
fn lost_connections_are_told_apart_by_what_ended_them() {
    let scene = held(5, Nanos::from_secs(4)).with(|p| p.heartbeat = Some(SECOND));
    let played = scene.play_protocol(&WebSocketProtocol, Arc::default(), |_| Box::new(SilentServer));
    let [(kind, detail, count)] = &losses(&played)[..] else { panic!("{:?}", losses(&played)) };
    assert_eq!((&**kind, &**detail), ("timeout", "no response to a heartbeat within 1.00 s"));
    assert!(*count >= 5, "{count}");
    let scene = sending(SimPlan::closed(4, SECOND)).with(|p| (p.requests, p.duration) = (Some(60), None));
    let played = play(&scene, MS, 7);
    let [(kind, _, _)] = &losses(&played)[..] else { panic!("{:?}", losses(&played)) };
    assert_eq!(kind, "reset");
    let scene = held(2, SECOND).with(|p| p.heartbeat = Some(Nanos::from_millis(200)));
    let played = scene.play_protocol(&WebSocketProtocol, Arc::default(), |_| Box::new(DismissingServer));
    assert_eq!(
        losses(&played)[0],
        ("closed".into(), "the server closed with 4001 (private): moved".into(), losses(&played)[0].2)
    );
}

/// A server that accepts all connections and closes them a little later.
struct DismissingServer;

impl SimPeer for DismissingServer {
    fn opened(&mut self, _now: Nanos, _conn: u32) {}
    fn received(&mut self, _now: Nanos, conn: u32, bytes: &[u8], say: &mut PeerActions) {
        if bytes.starts_with(b"GET ") {
            return say.send(conn, &upgrade_response(bytes));
        }
        say.send(conn, b"\x88\x07\x0f\xa1moved");
    }
    fn closed(&mut self, _now: Nanos, _conn: u32) {}
}

#[test]
fn full_sockets_of_one_way_messages_are_not_looked_at_again() {
    let scene = sending(SimPlan::open(200.0, brunt_plan::Arrivals::Constant, SECOND)).with(|p| {
        p.options.insert("one-way".into(), vec![String::new()]);
        p.max_connections = 100;
    });
    // A message is in transit for 300 ms, during which its socket is full; two are sent on each connection.
    let full = |s: &mut brunt_sim::SimSettings| {
        (s.window, s.latency) = (Some(1), SimDelay::fixed(Nanos::from_millis(300)));
    };
    let played = play(&scene.on(full), MS, 0);
    let s = &played.sum;
    assert_eq!((s.due, s.finished, s.failed, s.censored), (200, 200, 0, 0));
    assert_eq!(played.looks, 200, "each is looked at once, when it is sent");
    let under_way: u128 = played.seconds.iter().map(|s| s.in_flight_ns).sum();
    assert_eq!(under_way, 200 * 300_000_000, "each is over when its socket has taken it");
}

#[test]
fn connections_that_are_lost_are_counted_and_opened_again() {
    let scene = SimPlan::closed(4, SECOND).urls(&[("ws://test/echo", 1.0)]).with(|p| {
        p.options.insert("data".into(), vec!["x".into()]);
    });
    let played = play(&scene, Nanos::from_millis(10), 50);
    let s = &played.sum;
    let lost: u64 = played.seconds.iter().map(|s| s.connections.lost).sum();
    assert!(lost > 2, "{lost}");
    assert_eq!((s.failed, s.failures("reset/")), (lost, lost));
    assert_eq!(s.due, s.finished + s.failed + s.censored);
    assert_eq!(s.opened, 4 + lost);
}

#[test]
fn what_cannot_be_said_because_nobody_lets_us_in_has_failed() {
    let scene = SimPlan::closed(2, SECOND).urls(&[("ws://test/echo", 1.0)]).with(|p| {
        p.options.insert("data".into(), vec!["x".into()]);
        (p.requests, p.duration) = (Some(6), None);
    });
    // A server of another protocol.
    let played = scene.play_protocol(&WebSocketProtocol, Arc::default(), |_| {
        let answer = |now: Nanos, _: &ServerRequest<'_>| (now, SimReply::new(403, b"no"));
        Box::new(ServerPeer::new(Http1Server::new, answer))
    });
    let s = &played.sum;
    assert_eq!((s.due, s.failed, s.finished, s.opened, s.connect_failed), (6, 6, 0, 0, 6));
    assert_eq!(s.failures("wrong_status/greeting/"), 6);
    assert!(played.examples[0].received.contains("403"), "{:?}", played.examples);
}

#[test]
fn connections_are_begun_at_the_rate_asked_for() {
    let scene = held(30, SECOND).with(|p| p.connect_rate = Some(10.0));
    let played = play(&scene, MS, 0);
    let opened: Vec<u64> = played.seconds.iter().map(|s| s.connections.opened).take(3).collect();
    assert!(opened.iter().all(|n| (9..=11).contains(n)), "{opened:?}");
    assert_eq!(played.sum.opened, 30);
}

pub(super) fn sending(scene: SimPlan) -> SimPlan {
    scene.urls(&[("ws://test/echo", 1.0)]).with(|p| drop(p.options.insert("data".into(), vec!["x".into()])))
}

#[test]
fn a_rate_opens_no_more_connections_than_it_may_and_no_faster() {
    let scene = sending(SimPlan::open(100.0, brunt_plan::Arrivals::Constant, SECOND)).with(|p| p.max_connections = 100);
    assert_eq!(play(&scene, MS, 0).sum.opened, 100);
    let paced = play(&scene.with(|p| (p.max_connections, p.connect_rate) = (10, Some(20.0))), MS, 0);
    assert_eq!((paced.sum.opened, paced.sum.due), (10, 100));
    let first = paced.asks[0].0;
    assert!(first >= Nanos::from_millis(450), "ten of twenty a second were open at {first}");
}

#[test]
fn users_start_together_on_connections_that_say_nothing_and_are_then_held() {
    let together = |p: &mut brunt_plan::Plan| {
        let brunt_plan::Load::Closed { together, .. } = &mut p.load else { unreachable!() };
        *together = true;
    };
    let played = play(&held(40, SECOND).with(together), MS, 0);
    assert_eq!((played.sum.opened, played.sum.due), (40, 0));
    // The hold time begins when everything is sent, not before the start.
    let slow =
        sending(held(4, SECOND)).with(together).on(|s| s.connect_delay = SimDelay::fixed(Nanos::from_millis(300)));
    let played = play(&slow, Nanos::from_millis(800), 0);
    assert_eq!((played.sum.opened, played.sum.finished), (4, 4));
    assert!(played.ended.window >= Nanos::from_millis(1800), "{:?}", played.ended);
}

#[test]
fn no_more_fails_than_was_asked_for() {
    let scene = sending(SimPlan::closed(10, SECOND)).with(|p| (p.requests, p.duration) = (Some(6), None));
    let played = scene.play_protocol(&WebSocketProtocol, Arc::default(), |_| {
        let answer = |now: Nanos, _: &ServerRequest<'_>| (now, SimReply::new(403, b"no"));
        Box::new(ServerPeer::new(Http1Server::new, answer))
    });
    assert_eq!((played.sum.due, played.sum.failed), (6, 6));
}

/// Wraps a server so that it gracefully closes `left` connections, each when it receives a heartbeat.
fn leaving<P: SimPeer>(server: P, mut left: u32) -> FilteredPeer<P> {
    FilteredPeer::new(server).with_input_filter(move |_, conn, bytes, say| {
        let leaves = bytes[0] == 0x89 && left > 0;
        if leaves {
            left -= 1;
            // A close frame: going away.
            say.send(conn, &[0x88, 2, 0x03, 0xe9]);
        }
        leaves
    })
}

#[test]
fn a_held_connection_that_the_server_ends_in_order_is_lost_and_opened_again() {
    let scene = held(5, Nanos::from_secs(4)).with(|p| p.heartbeat = Some(SECOND));
    let played = scene.play_protocol(&WebSocketProtocol, Arc::default(), |_| {
        let answer = |now: Nanos, ask: &ServerRequest<'_>| (now, SimReply::new(200, ask.body));
        Box::new(leaving(ServerPeer::new(WebSocketServer::new, answer), 3))
    });
    let lost: u64 = played.seconds.iter().map(|s| s.connections.lost).sum();
    assert_eq!((lost, played.sum.opened), (3, 8));
    let (sent, answered, missed, open) = beats(&played);
    assert_eq!((missed, sent), (3, answered + missed + open));
    let l = &played.sum.latency;
    assert_eq!((l.heartbeat.count(), l.heartbeat_at_least.count()), (answered, missed + open));
    let phases: Vec<&str> = played.examples.iter().map(|example| example.phase.as_str()).collect();
    assert_eq!(phases, ["hold"], "nothing was under way on them");
    assert!(answered > 3, "{answered}");
}

/// A server that accepts every upgrade and sends a close frame (1013 "busy") in the same write as the 101 response.
struct BusyServer {
    /// Set if the server also closes the connection.
    hangs_up: bool,
}

impl SimPeer for BusyServer {
    fn opened(&mut self, _now: Nanos, _conn: u32) {}
    fn received(&mut self, _now: Nanos, conn: u32, bytes: &[u8], say: &mut PeerActions) {
        if !bytes.starts_with(b"GET ") {
            return;
        }
        say.send(conn, &[&upgrade_response(bytes)[..], b"\x88\x06\x03\xf5busy"].concat());
        if self.hangs_up {
            say.close(conn);
        }
    }
    fn closed(&mut self, _now: Nanos, _conn: u32) {}
}

#[test]
fn a_server_that_lets_in_and_closes_in_one_write_is_not_held_and_tried_again_slowly() {
    for hangs_up in [false, true] {
        let played = held(3, Nanos::from_secs(2))
            .play_protocol(&WebSocketProtocol, Arc::default(), |_| Box::new(BusyServer { hangs_up }));
        let s = &played.sum;
        let open: u32 = played.seconds.iter().map(|s| s.connections.open).max().unwrap_or(0);
        assert_eq!((s.opened, open, s.latency.greeting.count()), (0, 0, 0), "none stood");
        assert!((10..=80).contains(&s.connect_failed), "{}: each user tries a few times a second", s.connect_failed);
        let [example] = &played.examples[..] else { panic!("{:?}", played.examples) };
        assert_eq!((&*example.kind, &*example.phase), ("closed", "greeting"));
        assert_eq!(example.detail, "the server closed with 1013 (try again later)");
        assert_eq!(example.received, "close 1013 (try again later) busy");
    }
}

#[test]
fn what_was_to_be_said_to_a_server_that_closed_at_once_was_not_sent() {
    let scene = sending(SimPlan::closed(2, SECOND)).with(|p| (p.requests, p.duration) = (Some(6), None));
    for hangs_up in [false, true] {
        let played = scene.play_protocol(&WebSocketProtocol, Arc::default(), |_| Box::new(BusyServer { hangs_up }));
        let s = &played.sum;
        assert_eq!((s.due, s.sent, s.finished, s.failed, s.opened), (6, 0, 0, 6, 0));
        assert_eq!(s.failures("closed/greeting/"), 6);
        assert!(played.ended.elapsed >= Nanos::from_millis(15), "{:?}: a pause before each attempt", played.ended);
    }
}

/// A server that ends every connection a fixed time after accepting it.
struct ImpatientServer<P>(P, std::collections::VecDeque<(Nanos, u32)>);

impl<P: SimPeer> SimPeer for ImpatientServer<P> {
    fn opened(&mut self, now: Nanos, conn: u32) {
        self.1.push_back((now + Nanos::from_millis(300), conn));
        self.0.opened(now, conn);
    }
    fn received(&mut self, now: Nanos, conn: u32, bytes: &[u8], say: &mut PeerActions) {
        self.0.received(now, conn, bytes, say);
    }
    fn closed(&mut self, now: Nanos, conn: u32) {
        self.1.retain(|(_, known)| *known != conn);
        self.0.closed(now, conn);
    }
    fn next_timer(&self) -> Option<Nanos> {
        self.1.front().map(|(at, _)| *at).into_iter().chain(self.0.next_timer()).min()
    }
    fn timer(&mut self, now: Nanos, say: &mut PeerActions) {
        while let Some((_, conn)) = self.1.pop_front_if(|(at, _)| *at <= now) {
            self.0.closed(now, conn);
            say.close(conn);
        }
        if self.0.next_timer().is_some_and(|at| at <= now) {
            self.0.timer(now, say);
        }
    }
}

#[test]
fn a_pause_longer_than_the_servers_patience_does_not_keep_a_user_silent() {
    let pause = Nanos::from_millis(400);
    let scene = sending(SimPlan::closed(5, Nanos::from_secs(3))).with(|p| {
        let brunt_plan::Load::Closed { think, .. } = &mut p.load else { unreachable!() };
        *think = Some((pause, pause));
    });
    let played = scene.play_protocol(&WebSocketProtocol, Arc::default(), |_| {
        let answer = |now: Nanos, ask: &ServerRequest<'_>| (now + MS, SimReply::new(200, ask.body));
        Box::new(ImpatientServer(ServerPeer::new(WebSocketServer::new, answer), Default::default()))
    });
    let s = &played.sum;
    assert_eq!((s.failed, s.due), (0, s.finished));
    // The first request is sent at once, then one every 400 ms, each on its own connection: eight per user in three
    // seconds.
    assert!((35..=40).contains(&s.finished), "{}", s.finished);
}

#[test]
fn the_example_shows_what_was_sent_and_whether_its_connection_was_a_reused_one() {
    let scene = SimPlan::closed(1, SECOND).urls(&[("ws://test/echo", 1.0)]).with(|p| {
        p.options.insert("data".into(), vec!["n {counter} of {user}, {random 1000..9999}".into()]);
        (p.requests, p.duration) = (Some(5), None);
    });
    let books = Arc::new(ServerLog::default());
    let said = Arc::new(Mutex::new(Vec::new()));
    let played = scene.play_protocol(&WebSocketProtocol, books, |_| {
        let said = Arc::clone(&said);
        Box::new(ServerPeer::new(WebSocketServer::new, move |now: Nanos, ask: &ServerRequest<'_>| {
            let mut said = said.lock().unwrap();
            said.push(String::from_utf8(ask.body.to_vec()).unwrap());
            let reply = SimReply::new(200, ask.body);
            (now + MS, if said.len() == 3 { reply.with(ReplyFault::Reset) } else { reply })
        }))
    });
    let said = said.lock().unwrap();
    assert_eq!(played.sum.failures("reset/"), 1, "{:?}", played.sum.failures);
    let example = played.examples.iter().find(|example| !example.sent.is_empty()).expect("an example");
    assert_eq!((&example.sent, example.reused), (&said[2], true), "{said:?}");
}

#[test]
fn heartbeats_of_the_warm_up_are_in_no_figure() {
    // Each answer takes 1.2 s: those to the warm-up's last heartbeats arrive in the window.
    let scene = sending(SimPlan::closed(10, Nanos::from_secs(4))).with(|p| {
        (p.warmup, p.heartbeat) = (Nanos::from_secs(6), Some(Nanos::from_secs(2)));
        let brunt_plan::Load::Closed { think, .. } = &mut p.load else { unreachable!() };
        *think = Some((Nanos::from_secs(60), Nanos::from_secs(60)));
    });
    let played = play(&scene.on(|s| s.latency = SimDelay::fixed(Nanos::from_millis(600))), MS, 0);
    let mut warm = played.seconds.iter().filter(|s| s.part == brunt_record::RunPart::Warmup);
    assert!(warm.all(|s| s.heartbeats == brunt_record::HeartbeatCounts::default()));
    let (sent, answered, missed, open) = beats(&played);
    assert_eq!((missed, sent), (0, answered + open));
    assert!(sent > 0 && open > 0, "{sent} sent, {open} open");
    assert_eq!(played.sum.latency.heartbeat_at_least.count(), open, "a lower bound for each");
}
