//! Backoff from a server that refuses or drops connections: it is not flooded, and the effect on waiting requests is
//! reported.

use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;

use brunt_contract::ServerRequest;
use brunt_measure::Nanos;
use brunt_plan::Arrivals;
use brunt_protocols::http::Http;
use brunt_protocols::http1::Http1Server;
use brunt_protocols::redis::RedisProtocol;
use brunt_sim::{PeerActions, ReplyFault, SecurePeer, ServerPeer, SimPeer, SimReply};

use super::filtered_peer::FilteredPeer;
use super::harness::{MS, SECOND, SimPlan, SimResult};

/// Wraps a server so that it accepts a limited number of simultaneous connections.
fn with_capacity<P: SimPeer>(server: P, room: usize) -> FilteredPeer<P> {
    let inside = Arc::new(AtomicUsize::new(0));
    let left = Arc::clone(&inside);
    let comes = move |_| inside.fetch_update(Relaxed, Relaxed, |inside| (inside < room).then_some(inside + 1)).is_ok();
    FilteredPeer::new(server).accept_when(comes).on_close(move || _ = left.fetch_sub(1, Relaxed))
}

/// A server that accepts all connections and closes each at the first input.
struct DroppingServer;

impl SimPeer for DroppingServer {
    fn opened(&mut self, _now: Nanos, _conn: u32) {}
    fn received(&mut self, _now: Nanos, conn: u32, _bytes: &[u8], say: &mut PeerActions) {
        say.close(conn);
    }
    fn closed(&mut self, _now: Nanos, _conn: u32) {}
}

/// Returns the connections requested in each second.
fn attempts(played: &SimResult) -> Vec<u64> {
    played.seconds.iter().map(|s| s.connections.opened + s.connections.failed).collect()
}

#[test]
fn a_server_that_takes_no_more_connections_is_asked_a_few_times_a_second_and_said_to_refuse() {
    let scene = SimPlan::open(300.0, Arrivals::Constant, Nanos::from_secs(10)).with(|p| p.timeout = SECOND);
    let played = scene.play_with(Arc::default(), |_| {
        // Three connections carry 150 requests a second, half of the arrivals.
        let answer = |now: Nanos, _: &ServerRequest<'_>| (now + Nanos::from_millis(20), SimReply::new(200, b"x"));
        Box::new(with_capacity(ServerPeer::new(Http1Server::new, answer), 3))
    });
    let s = &played.sum;
    assert_eq!(s.due, s.finished + s.failed + s.censored, "{s:?}");
    assert!(s.finished > 1000 && s.failures("timeout/wait/") > 500, "{:?}", s.failures);
    let attempts = attempts(&played);
    assert!(attempts[0] <= 25 && attempts[1..].iter().all(|n| *n <= 11), "{attempts:?}");
    let unopened: Vec<_> = played.seconds.iter().flat_map(|s| &s.unopened).collect();
    assert_eq!(unopened.iter().map(|loss| loss.count).sum::<u64>(), s.connect_failed, "each is told");
    assert!(s.connect_failed > 10, "{}", s.connect_failed);
    let sorts: Vec<_> = unopened.iter().map(|loss| (&*loss.kind, &*loss.phase, loss.errno.as_deref())).collect();
    assert!(sorts.iter().all(|sort| *sort == ("refused", "connect", Some("ECONNREFUSED"))), "{sorts:?}");
    assert!(played.examples.iter().any(|example| example.kind == "refused"), "{:?}", played.examples);
}

#[test]
fn a_server_that_accepts_and_drops_is_not_stormed() {
    let lasts = Nanos::from_secs(6);
    let (open, closed) = (SimPlan::open(1000.0, Arrivals::Constant, lasts), SimPlan::closed(4, lasts));
    let bare = SimPlan::closed(4, lasts).option("no-keepalive", "");
    let shared = SimPlan::closed(40, lasts).option("http", "2").option("streams", "10");
    // Open load and shared connections have one pool; users with their own connections retry independently. Arrivals
    // are not held back for longer than a tenth of a second.
    let scenes = [("open", open, 1, 11), ("closed", closed, 4, 6), ("bare", bare, 4, 6), ("shared", shared, 1, 6)];
    for (name, scene, who, most) in scenes {
        let played = scene.play_protocol(&Http, Arc::default(), |_| Box::new(DroppingServer));
        let s = &played.sum;
        assert_eq!((s.due, s.finished), (s.failed + s.censored, 0), "{name}: {s:?}");
        assert_eq!(s.failures("closed/"), s.failed, "{name}: {:?}", s.failures);
        let attempts = attempts(&played);
        assert!(attempts[0] <= 2 * most * who, "{name}: {attempts:?}");
        assert!(attempts[1..6].iter().all(|n| (who..=most * who).contains(n)), "{name}: {attempts:?}");
        assert!(name != "open" || s.failed > 5900, "those who wait are told: {}", s.failed);
    }
}

#[test]
fn a_connection_that_has_served_is_reopened_at_once() {
    let mut heard = 0;
    let brain = move |now: Nanos, _: &ServerRequest<'_>| {
        heard += 1;
        let reply = SimReply::new(200, b"x");
        (now + MS, if heard % 2 == 0 { reply.with(ReplyFault::Reset) } else { reply })
    };
    let played = SimPlan::closed(1, SECOND).play(|| brain);
    played.check();
    let s = &played.sum;
    // A request takes 1.1 ms and an opening 0.1 ms, so there is no pause between them.
    assert!(s.due > 800 && s.failed >= s.due / 2 - 1, "{} due, {} failed", s.due, s.failed);
}

#[test]
fn a_pool_grows_to_what_is_needed_once_the_server_takes_connections_again() {
    let scene = SimPlan::open(1000.0, Arrivals::Constant, Nanos::from_secs(6));
    let back = scene.sim.starts_at + Nanos::from_secs(2);
    let played = scene.play_with(Arc::default(), |_| {
        let answer = |now: Nanos, _: &ServerRequest<'_>| (now + Nanos::from_millis(100), SimReply::new(200, b"x"));
        Box::new(FilteredPeer::new(ServerPeer::new(Http1Server::new, answer)).accept_when(move |now| now >= back))
    });
    let s = &played.sum;
    assert_eq!((s.due, s.censored), (s.finished + s.failed, 0));
    assert!((1500..=2600).contains(&s.failed), "{}: two seconds' worth, and a pause", s.failed);
    // A hundred requests are in flight at a time, each on its own connection.
    let last = &played.seconds[5];
    assert!(last.finished > 950 && last.waiting < 20, "{} finished, {} wait", last.finished, last.waiting);
}

/// Checks that an incomplete or wrong answer counts as an answer: closed load continues at once, and arrivals are sent
/// on time.
#[test]
fn a_server_whose_answers_are_never_whole_is_asked_as_often_as_it_was_to_be() {
    for mishap in
        [ReplyFault::Cut(3), ReplyFault::Cut(500), ReplyFault::Garbage(Arc::from(&b"nothing of the kind"[..]))]
    {
        let kind = if matches!(mishap, ReplyFault::Garbage(_)) { "broken_protocol/" } else { "closed/transfer/" };
        for secure in [false, true] {
            let url = if secure { "https://test/" } else { "http://test/" };
            let open = SimPlan::open(100.0, Arrivals::Constant, Nanos::from_secs(3));
            for (scene, least) in [(open, 300), (SimPlan::closed(4, SECOND), 1000)] {
                let played = scene.urls(&[(url, 1.0)]).play_with(Arc::default(), |_| -> Box<dyn SimPeer> {
                    let reply = SimReply::new(200, &[b'x'; 1000]).with(mishap.clone());
                    let server =
                        ServerPeer::new(Http1Server::new, move |now, _: &ServerRequest<'_>| (now + MS, reply.clone()));
                    // Over TLS it sends no close_notify, as if the connection were truncated.
                    match secure {
                        true => Box::new(SecurePeer::new(server).without_close_notify()),
                        false => Box::new(server),
                    }
                });
                let s = &played.sum;
                assert_eq!((s.due, s.finished), (s.failed + s.censored, 0), "{mishap:?}: {s:?}");
                assert_eq!(s.failures(kind), s.failed, "{mishap:?} {secure}: {:?}", s.failures);
                assert!(s.due >= least && s.sent == s.due, "{mishap:?} {secure}: {} sent of {}", s.sent, s.due);
            }
        }
    }
}

/// A full Redis server: it accepts all connections, and replies to all but a few that there are too many.
struct FullRedisServer {
    room: usize,
    inside: Vec<u32>,
}

impl SimPeer for FullRedisServer {
    fn opened(&mut self, _now: Nanos, conn: u32) {
        if self.inside.len() < self.room {
            self.inside.push(conn);
        }
    }
    fn received(&mut self, _now: Nanos, conn: u32, _bytes: &[u8], say: &mut PeerActions) {
        if self.inside.contains(&conn) {
            return say.send(conn, b"+PONG\r\n");
        }
        say.send(conn, b"-ERR max number of clients reached\r\n");
        say.close(conn);
    }
    fn closed(&mut self, _now: Nanos, conn: u32) {
        self.inside.retain(|inside| *inside != conn);
    }
}

#[test]
fn a_server_that_answers_only_that_it_is_full_is_not_stormed_and_its_word_is_counted() {
    let lasts = Nanos::from_secs(3);
    // Two users are accepted and four are not; arrivals get only one connection.
    let scenes =
        [("closed", SimPlan::closed(6, lasts), 4), ("open", SimPlan::open(50_000.0, Arrivals::Poisson, lasts), 1)];
    for (name, scene, who) in scenes {
        let scene = scene.urls(&[("redis://test", 1.0)]).with(|p| p.timeout = Nanos::from_millis(50));
        let played = scene.play_protocol(&RedisProtocol, Arc::default(), |_| {
            Box::new(FullRedisServer { room: 2, inside: Vec::new() })
        });
        let s = &played.sum;
        assert_eq!(s.due, s.finished + s.failed + s.censored, "{name}: {s:?}");
        let refused = s.failures("wrong_status/first_byte/");
        // Codes are numbers here; ERR is the first known code.
        assert_eq!(s.status.get("10").copied(), Some(refused), "{name}: {:?}", s.status);
        assert!(s.finished > 1000 && refused >= 3 * who, "{name}: {} finished, {refused} refused", s.finished);
        let kept_out = Nanos(played.seconds.iter().map(|s| s.kept_out_ns).sum());
        // Four of six users are kept out for nearly three seconds each; arrivals have no users.
        let outside = if name == "closed" { 10_500..12_000 } else { 0..1 };
        assert!(outside.contains(&(kept_out.0 / 1_000_000)), "{name}: {kept_out}");
        let attempts = attempts(&played);
        // This includes attempts that arrivals started before the first was refused.
        assert!(attempts[0] <= 80 && attempts[1..].iter().all(|n| *n <= 12 * who), "{name}: {attempts:?}");
        let told = played.examples.iter().find(|example| example.kind == "wrong_status").expect("an example");
        assert!(told.detail.contains("maxclients") && told.received.contains("max number"), "{told:?}");
    }
}

#[test]
fn arrivals_wait_a_tenth_of_a_second_at_most_for_a_server_that_is_back() {
    let scene = SimPlan::open(100.0, Arrivals::Constant, Nanos::from_secs(6));
    let (from, to) = (scene.sim.starts_at + SECOND, scene.sim.starts_at + Nanos::from_secs(4));
    let played = scene.play_with(Arc::default(), |_| {
        let answer = move |now: Nanos, _: &ServerRequest<'_>| {
            // The server goes down with a reset, which also affects the connections that it still serves.
            let reply = SimReply::new(200, b"x");
            (now + MS, if (from..to).contains(&now) { reply.with(ReplyFault::Reset) } else { reply })
        };
        let server = ServerPeer::new(Http1Server::new, answer);
        Box::new(FilteredPeer::new(server).accept_when(move |now| !(from..to).contains(&now)))
    });
    let s = &played.sum;
    assert_eq!((s.due, s.censored), (s.finished + s.failed, 0));
    assert!(s.failures("refused/") > 200 && s.finished > 250, "{s:?}");
    assert!(s.latency.wait_conn.max() <= 105_000_000, "{}", s.latency.wait_conn.max());
    assert!(attempts(&played)[2] <= 11, "{:?}", attempts(&played));
}
